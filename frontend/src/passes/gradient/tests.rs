//! R-PS-80 to R-PS-87: the digest's list of what is accepted and what isn't, and where the messages point.

use super::{Reading, judge, move_gradients};
use crate::ir::text::{parse_shader, print_shader};
use crate::ir::validate::validate;
use crate::ir::{Op, Shader, Stmt};
use crate::passes::inline_all;
use crate::wgsl::Module;

const HEAD: &str = "diagnostic(off, derivative_uniformity);
struct U { flag: u32, list: array<vec4f, 4> }
@group(0) @binding(0) var<uniform> u: U;
@group(0) @binding(1) var t: texture_2d<f32>;
@group(0) @binding(2) var s: sampler;
@group(0) @binding(3) var<storage, read_write> w: array<u32>;
@group(0) @binding(4) var z: texture_depth_2d;
@group(0) @binding(5) var c: sampler_comparison;
fn gradient(x: f32) -> f32 { return dpdx(x); }
fn leaves(x: f32, y: f32) -> f32 { if x > 0.0 { return 0.0; } return dpdx(y * 2.0); }
struct In {
    @builtin(position) pos: vec4f, @location(0) v: f32, @location(1) uv: vec2f, @location(2) @interpolate(flat) i: u32,
    @builtin(front_facing) front: bool,
}
";

fn shader(body: &str) -> Shader {
    let text = format!(
        "{HEAD}@fragment fn fs(v: In) -> @location(0) vec4f {{ var r = 0.0; var q = v.uv; {body} return vec4f(r); }}"
    );
    let module = Module::parse("g.wgsl", &text).unwrap_or_else(|e| panic!("{}", e.render()));
    module
        .lower("fs", &Default::default())
        .unwrap_or_else(|e| panic!("{}", e.render()))
}

#[track_caller]
fn accepted(body: &str) {
    let found = judge(&shader(body), Reading::Direct3D).expect("it inlines");
    assert!(found.is_empty(), "refused: {body}\n{}", found[0].render());
}

#[track_caller]
fn refused(body: &str) -> String {
    let shader = shader(body);
    let found = judge(&shader, Reading::Direct3D).expect("it inlines");
    assert!(!found.is_empty(), "accepted: {body}");
    found[0].render()
}

/// R-PS-86, R-PS-82.
#[test]
fn inputs_and_constants_are_known_anywhere() {
    // Directly on a shader input; also what a local was given in front of the branch (R-PS-82).
    accepted("if v.v > 0.0 { r = textureSample(t, s, v.uv).x; }");
    accepted("let a = v.uv * 2.0; if v.v > 0.0 { r = textureSample(t, s, a).x; }");
    accepted("q *= 2.0; if v.v > 0.0 { r = textureSample(t, s, q).x; } q = v.uv;");
    accepted("if v.v > 0.0 { r = dpdx(u.list[1].x) + fwidth(v.uv.y); }");
    accepted("if v.v > 0.0 { r = textureSampleCompare(z, c, v.uv, v.v * 2.0); }");
    accepted("if v.v > 0.0 { r = textureSampleBias(t, s, v.uv, v.v * 2.0).x; }");
}

/// R-PS-80, R-PS-85, R-PS-86; SEED-1.7 to 1.11.
#[test]
fn what_is_computed_in_varying_flow_has_no_gradient_there() {
    refused("if v.v > 0.0 { r = textureSample(t, s, v.uv * 2.0).x; }");
    refused("if v.v > 0.0 { q = v.uv; r = textureSample(t, s, q).x; }");
    refused("if v.v > 0.0 { r = dpdx(v.v * v.v); }");
    refused("if v.v > 0.0 { r = 1.0; } else { r = dpdyFine(v.v * v.v); }");
    refused("if v.v > 0.0 { if u.flag > 0 { r = dpdx(v.v * v.v); } }");
    refused("switch i32(v.v) { case 1 { r = dpdx(v.v * 2.0); } default {} }");
    refused("if v.v > 0.0 { r = textureSampleCompare(z, c, v.uv * 2.0, 0.5); }");
    // The loop changes what its next iteration reads.
    refused("if v.v > 0.0 { for (var i = 0u; i < u.flag; i++) { r += textureSample(t, s, q).x; q += 1.0; } }");
    // No gradient is asked for.
    accepted("if v.v > 0.0 { r = textureSampleLevel(t, s, v.uv * 2.0, 0.0).x; }");
    accepted("if v.v > 0.0 { r = textureSampleGrad(t, s, v.uv * 2.0, v.uv, v.uv).x; }");
    accepted("if v.v > 0.0 { r = textureGather(0, t, s, v.uv * 2.0).x; }");
}

/// R-PS-84.
#[test]
fn non_varying_conditions_divide_nobody() {
    // Constant buffers, literals, constant-mode inputs, reads with such addresses, and functions of these.
    accepted("if u.flag > 0 { r = textureSample(t, s, v.uv * 2.0).x; }");
    accepted("if v.i > 3 { r = dpdx(v.v * 2.0); }");
    accepted("if v.front { r = dpdx(v.v * 2.0); }");
    accepted("if textureLoad(t, vec2u(v.i), 0).x > 0.5 { r = dpdx(v.v * 2.0); }");
    accepted("for (var i = 0u; i < u.flag; i++) { r += dpdx(v.v * f32(i)); }");
    accepted("var n = v.v; n = 1.0; if n > 0.5 { r = dpdx(v.v * 2.0); }");
    // A varying condition makes the whole construct varying, not the one around it.
    accepted("if u.flag > 0 { if v.v > 0.0 { r = 1.0; } r = dpdx(v.v * 2.0); }");
    // What depends on interpolated inputs varies, and what is written in varying flow.
    refused("if textureLoad(t, vec2u(v.uv), 0).x > 0.5 { r = dpdx(v.v * 2.0); }");
    refused("if w[0] > 0 { r = dpdx(v.v * 2.0); }");
    refused("var n = 0.0; if v.v > 0.0 { n = 1.0; } if n > 0.5 { r = dpdx(v.v * 2.0); }");
    refused("var n = 0.0; for (var i = 0u; i < 4; i++) { if n > 0.5 { r = dpdx(v.v * 2.0); } n = v.v; }");
}

/// R-PS-84.
#[test]
fn exits_make_the_rest_of_the_scope_and_whole_loops_vary() {
    refused("if v.v > 0.0 { return vec4f(1.0); } r = dpdx(v.v * 2.0);");
    accepted("let a = v.v * 2.0; if v.v > 0.0 { return vec4f(1.0); } r = dpdx(a);");
    // The return of a function ends that function's scope alone.
    accepted("if v.v > 0.0 { r = 1.0; } r += gradient(v.v * 2.0);");
    refused("r = leaves(v.v, v.v);");
    accepted("r = leaves(u.list[0].x, v.v); r += dpdx(v.v * 3.0);");
    refused("loop { r += dpdx(v.v * 2.0); if v.v > r { break; } }");
    refused("loop { r += dpdx(v.v * 2.0); if v.v > 1.0 { continue; } if r > 3.0 { break; } }");
    refused("for (var x = v.v; x < 4.0; x += 1.0) { r += dpdx(v.uv.x * 2.0); }");
    accepted("let a = v.v * 2.0; for (var x = v.v; x < 4.0; x += 1.0) { r += dpdx(a); } r += dpdx(v.uv.x * 2.0);");
    // discard doesn't.
    accepted("if v.v > 0.0 { discard; } r = dpdx(v.v * 2.0);");
}

#[test]
fn messages_show_operation_calls_and_branch() {
    let text = refused("if v.v > 0.0 {\n r = gradient(v.v *\n 2.0);\n }");
    let line = |what: &str| text.lines().position(|l| l.contains(what)).expect(what);
    let (operation, call, branch) = (
        line("this operation"),
        line("called here"),
        line("may go different ways"),
    );
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[operation - 1].contains("return dpdx(x)"), "{text}");
    assert!(lines[call - 1].contains("gradient(v.v *"), "{text}");
    assert!(lines[branch - 1].contains("if v.v > 0.0"), "{text}");
    assert!(text.starts_with("error: a derivative compares"), "{text}");
}

#[test]
fn each_position_is_told_once() {
    let shader = shader("if v.v > 0.0 { r = dpdx(v.v * 2.0); r += fwidth(v.v * 2.0); }");
    let found = judge(&shader, Reading::Undefined).expect("it inlines");
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(
        found[0].diagnostic.message.contains("undefined"),
        "{}",
        found[0].render()
    );
}

/// Derivatives directly in the root body, and all of them.
fn derivatives(shader: &Shader) -> (usize, usize) {
    let f = &shader.functions[shader.entry];
    let is = |stmt: &Stmt| matches!(stmt, Stmt::Inst(id) if matches!(f.insts[*id].op, Op::Quad(_)));
    let mut all = 0;
    super::super::edit::any_stmt(&f.body, &mut |s| {
        all += usize::from(is(s));
        false
    });
    (f.body.iter().filter(|s| is(s)).count(), all)
}

/// R-PS-82.
#[test]
fn derivatives_move_in_front_of_the_construct() {
    for (body, moved) in [
        ("q *= 2.0; if v.v > 0.0 { r = dpdx(q.x); } q = v.uv;", true),
        (
            "if v.v > 0.0 { for (var i = 0u; i < 3; i++) { r += dpdx(v.uv.x); } }",
            true,
        ),
        ("for (var x = v.v; x < 4.0; x += 1.0) { r += dpdx(q.y); }", true),
        ("if v.v > 0.0 { r = dpdx(v.v * 2.0); }", false),
        ("if u.flag > 0 { r = dpdx(q.y); }", false),
    ] {
        let mut shader = shader(body);
        inline_all(&mut shader).expect("it inlines");
        let (_, all) = derivatives(&shader);
        let mut f = shader.functions[shader.entry].clone();
        move_gradients(&mut f, &shader.inputs, &shader.resources);
        shader.functions[shader.entry] = f;
        validate(&shader).unwrap_or_else(|e| panic!("{e}\n{}", print_shader(&shader)));
        let (root, after) = derivatives(&shader);
        // naga's blocks around bodies aren't the root, but these functions have none.
        assert_eq!(after, all, "{body}");
        assert_eq!(root > 0, moved, "{body}\n{}", print_shader(&shader));
        // The text form reads back: nothing stands out of order.
        parse_shader(&print_shader(&shader)).expect("valid text");
    }
}
