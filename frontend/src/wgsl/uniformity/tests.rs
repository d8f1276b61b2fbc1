//! The digest's test set (R-WGSL-30 to R-WGSL-45), and what messages show.

use crate::diagnostic::ShaderErrorKind;
use crate::wgsl::Module;

const HEAD: &str = "
struct U { flag: u32, list: array<vec4f, 4> }
@group(0) @binding(0) var<uniform> u: U;
@group(0) @binding(1) var t: texture_2d<f32>;
@group(0) @binding(2) var s: sampler;
@group(0) @binding(3) var<storage, read_write> w: array<u32>;
var<private> p: f32;
fn gradient(x: f32) -> f32 { return dpdx(x); }
fn branches(x: f32, y: f32) -> f32 { if x > 0.0 { return dpdx(y); } return 0.0; }
fn passes(x: f32) -> f32 { return x + 1.0; }
fn constant(x: f32) -> f32 { return 2.0; }
fn writes(q: ptr<function, f32>, x: f32) { *q = x; }
fn clears(q: ptr<function, f32>) { *q = 0.0; }
struct In { @builtin(position) pos: vec4f, @location(0) v: f32, @location(1) uv: vec2f, @location(2) @interpolate(flat) i: u32 }
";

fn parse(body: &str) -> Result<Module, String> {
    let text = format!("{HEAD}@fragment fn fs(v: In) -> @location(0) vec4f {{ var r = 0.0; {body} return vec4f(r); }}");
    Module::parse("u.wgsl", &text).map_err(|e| {
        assert_eq!(e.kind, ShaderErrorKind::Invalid, "{}", e.render());
        let rendered = e.render();
        assert!(rendered.contains("uniform control flow"), "{rendered}");
        rendered
    })
}

#[track_caller]
fn accepted(body: &str) {
    if let Err(e) = parse(body) {
        panic!("{body}\n{e}");
    }
}

#[track_caller]
fn refused(body: &str) -> String {
    match parse(body) {
        Ok(_) => panic!("accepted: {body}"),
        Err(e) => e,
    }
}

/// R-PS-88.
#[test]
fn branches_on_inputs_and_on_uniforms() {
    refused("if v.pos.x < 0.5 { r = textureSample(t, s, v.uv).x; }");
    accepted("if u.flag != 0 { r = textureSample(t, s, v.uv).x; }");
    accepted("let c = textureSample(t, s, v.uv).x; if v.pos.x < 0.5 { r = c; }");
    accepted("if v.pos.x < 0.5 { r = textureSampleLevel(t, s, v.uv, 0.0).x; }");
    accepted("if v.pos.x < 0.5 { r = 1.0; } r = dpdx(r);");
    accepted("if v.v > 0.0 { discard; } r = textureSample(t, s, v.uv).x;");
    refused("if v.v > 0.0 { return vec4f(1.0); } r = textureSample(t, s, v.uv).x;");
    refused("if v.v > 0.0 && dpdx(v.v) > 0.0 { r = 1.0; }");
    accepted("if u.flag > 0 && dpdx(v.v) > 0.0 { r = 1.0; }");
    refused("let far = v.v > 0.0; r = select(0.0, 1.0, far); if r > 0.5 { r = fwidth(v.v); }");
    refused("switch v.i { case 1 { r = dpdy(v.v); } default {} }");
    accepted("switch u.flag { case 1, 2 { r = dpdy(v.v); } default { r = dpdx(v.v); } } r += dpdx(r);");
    accepted("switch v.i { case 1 { r = 1.0; break; } default { r = 2.0; } } r += dpdx(v.v);");
    refused("switch v.i { case 1 { return vec4f(); } default { r = 2.0; } } r += dpdx(v.v);");
}

#[test]
fn loops() {
    refused("for (var i = 0u; i < 8; i++) { if v.v > f32(i) { break; } r += dpdx(v.v); }");
    accepted("for (var i = 0u; i < 8; i++) { if v.v > f32(i) { break; } r += 1.0; } r += dpdx(v.v);");
    accepted("for (var i = 0u; i < u.flag; i++) { r += dpdx(v.v); }");
    refused("for (var i = 0u; i < v.i; i++) { r += dpdx(v.v); }");
    refused("for (var i = 0u; i < 8; i++) { if v.v > f32(i) { continue; } r += dpdx(v.v); }");
    // The rules don't let those who continued meet the others again (R-WGSL-35).
    refused("for (var i = 0u; i < 8; i++) { r += dpdx(v.v); if v.v > f32(i) { continue; } r += 1.0; }");
    refused("for (var i = 0u; i < 8; i++) { r += dpdx(v.v); if v.v > f32(i) { return vec4f(); } }");
    refused("for (var i = 0u; i < 8; i++) { if v.v > f32(i) { return vec4f(); } } r += dpdx(v.v);");
    refused("loop { r += dpdx(v.v); continuing { r += 1.0; break if r > v.v; } }");
    accepted("var i = 0u; loop { r += dpdx(v.v); continuing { i++; break if i > u.flag; } }");
    // What a loop writes is what its next round reads.
    refused("var x = 0.0; for (var i = 0u; i < 8; i++) { if x > 0.5 { r += dpdx(v.v); } x = v.v; }");
    accepted("var x = 0.0; for (var i = 0u; i < 8; i++) { if x > 0.5 { r += dpdx(v.v); } x += 0.25; }");
    refused(
        "loop { if u.flag > 0 { break; } if v.v > 0.0 { continue; } switch u.flag { case 1 { r = dpdx(r); } default {} } }",
    );
}

#[test]
fn variables() {
    refused("var x = 0.0; if v.v > 0.0 { x = 1.0; } if x > 0.5 { r = dpdx(v.v); }");
    accepted("var x = v.v; x = 0.0; if x > 0.5 { r = dpdx(v.v); }");
    refused("var x = vec2f(v.v, 0.0); x.x = 0.0; if x.y > 0.5 { r = dpdx(v.v); }");
    accepted("var x = 0.0; if v.v > 0.0 { x = 1.0; return vec4f(x); } else { } let y = x;");
    refused("p = 1.0; if p > 0.5 { r = dpdx(v.v); }");
    refused("if w[0] > 0 { r = dpdx(v.v); }");
    accepted("if u.list[u.flag].x > 0.5 { r = dpdx(v.v); }");
    refused("if u.list[v.i & 3].x > 0.5 { r = dpdx(v.v); }");
    accepted("if textureLoad(t, vec2i(), 0).x > 0.5 { r = dpdx(v.v); }");
    refused("if textureLoad(t, vec2i(v.pos.xy), 0).x > 0.5 { r = dpdx(v.v); }");
    refused("if dpdx(v.v) > 0.5 { r = dpdx(v.v); }");
}

#[test]
fn calls() {
    accepted("r = gradient(v.v);");
    refused("if v.v > 0.0 { r = gradient(v.v); }");
    accepted("if u.flag > 0 { r = gradient(v.v); }");
    accepted("r = branches(f32(u.flag), v.v);");
    refused("r = branches(v.v, 0.0);");
    refused("if passes(v.v) > 0.0 { r = dpdx(v.v); }");
    accepted("if constant(v.v) > 0.0 { r = dpdx(v.v); }");
    refused("if v.v > 0.0 { r = constant(0.0); } if r > 0.0 { r = dpdx(v.v); }");
    refused("var x = 0.0; writes(&x, v.v); if x > 0.0 { r = dpdx(v.v); }");
    accepted("var x = 0.0; writes(&x, 1.0); if x > 0.0 { r = dpdx(v.v); }");
    accepted("var x = v.v; clears(&x); if x > 0.0 { r = dpdx(v.v); }");
    refused("var x = array(v.v, v.v); clears(&x[0]); if x[1] > 0.0 { r = dpdx(v.v); }");
}

#[test]
fn severities() {
    let text = |directive: &str, attribute: &str| {
        let body = "if v.v > 0.0 { return vec4f(dpdx(v.v)); } return vec4f();";
        format!("{directive}{HEAD}{attribute} @fragment fn fs(v: In) -> @location(0) vec4f {{ {body} }}")
    };
    let warnings = |text: String| Module::parse("u.wgsl", &text).map(|m| m.warnings().collect::<Vec<_>>());
    assert!(warnings(text("", "")).is_err());
    let off = "diagnostic(off, derivative_uniformity);";
    assert_eq!(warnings(text(off, "")).unwrap().len(), 0);
    assert_eq!(
        warnings(text("", "@diagnostic(off, derivative_uniformity)"))
            .unwrap()
            .len(),
        0
    );
    let warned = warnings(text(off, "@diagnostic(warning, derivative_uniformity)")).unwrap();
    assert_eq!(warned.len(), 1);
    assert!(warned[0].starts_with("warning: dpdx"), "{}", warned[0]);
    assert!(warnings(text(off, "@diagnostic(error, derivative_uniformity)")).is_err());
}

#[test]
fn messages_show_operation_branch_and_source() {
    let text = "fn slope(x: f32) -> f32 {
    return dpdx(x);
}
@fragment fn fs(@location(0) v: f32) -> @location(0) vec4f {
    let far = v > 0.5;
    if far {
        return vec4f(slope(v));
    }
    return vec4f();
}
";
    let error = Module::parse("u.wgsl", text).unwrap_err();
    assert_eq!(error.location(), Some((2, 12)));
    let rendered = error.render();
    for line in [
        "u.wgsl:2:12",
        "this operation",
        "u.wgsl:7:22",
        "called here",
        "u.wgsl:6:5",
        "some pixels may take this branch and others not",
        "u.wgsl:4:30",
        "`v` may differ from pixel to pixel",
    ] {
        assert!(rendered.contains(line), "{line} is missing in\n{rendered}");
    }
}

#[test]
fn large_functions_end_soon() {
    let start = std::time::Instant::now();
    let branches: String = (0..3000)
        .map(|i| format!("var x{i} = 0.0; if v.v > {i}.0 && v.uv.x > 0.5 {{ x{i} = r; r += x{i}; }}\n"))
        .collect();
    accepted(&branches);
    let open: String = (0..40)
        .map(|i| format!("for (var i{i} = 0u; i{i} < 2; i{i}++) {{ r += 1.0; if v.v > r {{ break; }}\n"))
        .collect();
    accepted(&format!("{open}{}", "}".repeat(40)));
    let gradients = "if u.flag > 3 { r += dpdx(r); }\n".repeat(1500);
    accepted(&gradients);
    // Far above what it takes; quadratic algorithms take minutes.
    assert!(
        start.elapsed() < std::time::Duration::from_secs(20),
        "{:?}",
        start.elapsed()
    );
}
