//! One broken function per rule.

use super::{Environment, Violation, validate, validate_function};
use crate::ir::text::{parse_function, parse_shader};
use crate::ir::{Arena, Stage};

fn check(text: &str) -> Result<(), Violation> {
    let function = parse_function(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let resources = Arena::new();
    let environment = Environment {
        stage: Some(Stage::Vertex),
        inputs: None,
        resources: &resources,
        functions: None,
    };
    validate_function(&function, &environment).map_err(|e| e.violation)
}

fn body(statements: &str) -> Result<(), Violation> {
    check(&format!(
        "func fn0 \"f\"(%0: f32, %1: bool, %2: u32) -> (f32) {{ local $0 \"a\": f32 = 0.0 {statements} return %0 }}"
    ))
}

#[test]
fn sound_bodies_pass() {
    let sound = [
        "",
        "%3: f32 = fadd %0, %0 set $0, %3",
        "loop L0 budgeted { if %1 { continue L0 } break L0 } continuing { %4: bool = not %1 } break_if %4",
        "block L0 { loop L1 budgeted { break L0 } }",
        "switch L0 %2 { case 1 { break L0 } case default { } }",
        "loop L0 budgeted { } continuing { block L1 { break L1 } }",
    ];
    for text in sound {
        assert_eq!(body(text), Ok(()), "{text}");
    }
}

#[test]
fn values_are_visible_in_their_body_only() {
    for text in [
        "if %1 { %3: f32 = fneg %0 } %4: f32 = fneg %3",
        "loop L0 budgeted { %3: f32 = fneg %0 } continuing { %4: f32 = fneg %3 }",
        "block L0 { %3: f32 = fneg %0 } set $0, %3",
        "loop L0 budgeted { %3: bool = not %1 break L0 } break_if %3",
    ] {
        assert!(matches!(body(text), Err(Violation::NotVisible(_))), "{text}");
    }
}

#[test]
fn exits_go_to_enclosing_constructs() {
    for text in [
        "block L0 { } break L0",
        "block L0 { continue L0 }",
        "switch L0 %2 { case default { continue L0 } }",
        "loop L0 budgeted { } continuing { break L0 }",
        "block L1 { loop L0 budgeted { } continuing { break L1 } }",
        "loop L0 budgeted { } continuing { continue L0 }",
    ] {
        assert!(matches!(body(text), Err(Violation::Exit(_))), "{text}");
    }
    let text = "loop L0 budgeted { } continuing { return %0 }";
    assert!(matches!(body(text), Err(Violation::Detail(_))));
}

#[test]
fn kinds_and_counts_fit() {
    assert!(matches!(body("%3: f32 = fadd %0"), Err(Violation::Count { .. })));
    assert!(matches!(body("%3: f32 = fadd %0, %2"), Err(Violation::Kind { .. })));
    assert!(matches!(body("%3: u32 = fadd %0, %0"), Err(Violation::Kind { .. })));
    assert!(matches!(body("if %0 { }"), Err(Violation::Kind { .. })));
    assert!(matches!(body("switch L0 %0 { }"), Err(Violation::Kind { .. })));
    assert!(matches!(body("set $0, %2"), Err(Violation::Kind { .. })));
    assert!(matches!(body("set $7, %2"), Err(Violation::Missing { .. })));
    assert!(matches!(body("%3: u64 = bitcast %0"), Err(Violation::Kind { .. })));
    assert!(matches!(body("%3: u32 = const 0x100000000"), Err(Violation::Detail(_))));
    assert!(matches!(
        body("switch L0 %2 { case 1 { } case 1 { } }"),
        Err(Violation::Case(_))
    ));
    assert!(matches!(body("return"), Err(Violation::Count { .. })));
    assert!(matches!(body("return %1"), Err(Violation::Kind { .. })));
}

#[test]
fn derivatives_stand_in_fragment_shaders_only() {
    assert_eq!(body("%3: f32 = quad.ddx_fine %0"), Err(Violation::Stage("fragment")));
    assert_eq!(body("discard"), Err(Violation::Stage("fragment")));
    assert_eq!(body("barrier"), Err(Violation::Stage("compute")));
}

#[test]
fn labels_are_unique() {
    let mut function = parse_function("func fn0 \"f\"() -> () { block L0 { } }").expect("parses");
    let block = function.body[0].clone();
    function.body.push(block);
    let resources = Arena::new();
    let environment = Environment {
        stage: None,
        inputs: None,
        resources: &resources,
        functions: None,
    };
    let error = validate_function(&function, &environment).expect_err("label twice");
    assert_eq!(error.violation, Violation::Label(0));
}

#[test]
fn resources_fit_their_operations() {
    let shader = |resource: &str, statement: &str| {
        let text = format!(
            "shader \"s\" fragment {{ resource r0 \"x\": {resource} = group(0, 0) count 1
             func fn0 \"main\"() -> () {{ %0: u32 = const 0 %1: f32 = const 0.0 {statement} }} entry fn0 }}"
        );
        let shader = parse_shader(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        validate(&shader).map_err(|e| e.violation)
    };
    let load = "%2: f32 = buffer.load(r0, zero, align=4) %0";
    assert_eq!(shader("uniform(16)", load), Ok(()));
    assert!(matches!(shader("sampler()", load), Err(Violation::Resource { .. })));
    let store = "buffer.store(r0, zero, align=4) %0, %1";
    assert_eq!(shader("storage(16, write)", store), Ok(()));
    assert!(matches!(shader("storage(16)", store), Err(Violation::Resource { .. })));
    let texel = "%2: f32, %3: f32, %4: f32, %5: f32 = texel.load(r0, d2, mask=xyzw) %0, %0, %0";
    assert_eq!(shader("texture(d2, float)", texel), Ok(()));
    assert!(matches!(
        shader("texture(d3, float)", texel),
        Err(Violation::Resource { .. })
    ));
}

#[test]
fn components_exist() {
    let with = |at: &str| {
        let text = format!(
            "shader \"s\" vertex {{ func fn0 \"main\"() -> () {{ local $0 \"o\": f32 = 0.0 }} output \"o\": f32 = {at} $0 entry fn0 }}"
        );
        let shader = parse_shader(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        validate(&shader).map_err(|e| e.violation)
    };
    for at in [
        "location(3, 3)",
        "builtin(position, 3)",
        "builtin(clip_distance, 7)",
        "builtin(cull_distance, 7)",
    ] {
        assert_eq!(with(at), Ok(()), "{at}");
    }
    for at in [
        "location(3, 4)",
        "builtin(position, 4)",
        "builtin(clip_distance, 8)",
        "builtin(cull_distance, 200)",
    ] {
        assert!(matches!(with(at), Err(Violation::Detail(_))), "{at}");
    }
}
