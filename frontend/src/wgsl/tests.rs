//! Lowering of small shaders and of every workload's; diagnostics; no panic on any text.

#[path = "../../tests/shaders/mod.rs"]
mod shaders;

use super::*;
use crate::ir::validate::validate;
use crate::ir::{Binding, Builtin, Interpolation, Op, OutOfBounds, ResourceClass, SampleKind, Semantic};

fn lower_with(text: &str, entry: &str, constants: &Constants) -> Result<Shader, ShaderError> {
    let shader = Module::parse("test.wgsl", text)?.lower(entry, constants)?;
    if let Err(error) = validate(&shader) {
        panic!("{error}\n{}", crate::ir::text::print_shader(&shader));
    }
    Ok(shader)
}

fn lower(text: &str, entry: &str) -> Shader {
    lower_with(text, entry, &Constants::new()).unwrap_or_else(|e| panic!("{}", e.render()))
}

/// A fragment shader whose body is given, with some inputs and resources to use.
fn fragment(body: &str) -> Shader {
    lower(&fragment_text(body), "fs")
}

fn fragment_text(body: &str) -> String {
    format!(
        "struct Uniforms {{ m: mat4x4f, v: vec4f, list: array<vec4f, 8>, i: i32, n: mat3x3f, k: u32 }}
         struct Node {{ pos: vec3f, next: u32, list: array<f32> }}
         @group(0) @binding(0) var<uniform> u: Uniforms;
         @group(0) @binding(1) var<storage, read> node: Node;
         @group(0) @binding(2) var<storage, read_write> out: array<u32>;
         @group(0) @binding(3) var<storage, read_write> count: atomic<u32>;
         @group(1) @binding(0) var t: texture_2d<f32>;
         @group(1) @binding(1) var s: sampler;
         @group(1) @binding(2) var cube: texture_cube_array<f32>;
         @group(1) @binding(3) var depth: texture_depth_2d;
         @group(1) @binding(4) var sc: sampler_comparison;
         @group(1) @binding(5) var ms: texture_multisampled_2d<f32>;
         @group(1) @binding(6) var st: texture_storage_2d<rgba8unorm, write>;
         @group(1) @binding(7) var ti: texture_2d_array<u32>;
         @group(1) @binding(8) var t3: texture_3d<f32>;
         var<private> counter: i32 = 3;
         struct In {{ @builtin(position) pos: vec4f, @location(0) uv: vec2f, @location(1) @interpolate(flat) id: vec2i,
                      @location(2) w: vec4f, @builtin(front_facing) front: bool }}
         @fragment fn fs(v: In) -> @location(0) vec4f {{ {body} }}"
    )
}

fn ops(shader: &Shader) -> Vec<Op> {
    let functions = shader.functions.iter();
    functions.flat_map(|(_, f)| f.insts.iter().map(|(_, i)| i.op)).collect()
}

#[test]
fn workloads_lower_to_valid_ir() {
    let shaders = shaders::all();
    assert!(shaders.len() >= 19);
    for (name, text) in shaders {
        let module = Module::parse(&name, &text).unwrap_or_else(|e| panic!("{}", e.render()));
        assert!(!module.entry_points().is_empty());
        for entry in module.entry_points() {
            let shader = module
                .lower(&entry.name, &Constants::new())
                .unwrap_or_else(|e| panic!("{}", e.render()));
            validate(&shader).unwrap_or_else(|e| panic!("{name} {}: {e}", entry.name));
            let printed = crate::ir::text::print_shader(&shader);
            let parsed = crate::ir::text::parse_shader(&printed).unwrap();
            assert_eq!(crate::ir::text::print_shader(&parsed), printed);
        }
    }
}

#[test]
fn the_interface_is_taken_apart() {
    let shader = fragment("return vec4f(v.uv, f32(v.id.y), select(0.0, 1.0, v.front));");
    let find = |semantic| shader.inputs.iter().map(|(_, i)| i).find(|i| i.semantic == semantic);
    let location = |location, component| Semantic::Location {
        location,
        component,
        second_source: false,
    };
    let uv = find(location(0, 1)).unwrap();
    assert_eq!((uv.name.as_str(), uv.kind), ("v.uv.y", Kind::F32));
    assert_eq!(uv.interpolation, Interpolation::Perspective);
    let id = find(location(1, 0)).unwrap();
    assert_eq!((id.kind, id.interpolation), (Kind::I32, Interpolation::Flat));
    assert_eq!(find(Semantic::Builtin(Builtin::FrontFacing)).unwrap().kind, Kind::Bool);
    assert_eq!(shader.inputs.len(), 4 + 2 + 2 + 4 + 1);
    assert_eq!(shader.outputs.len(), 4);
    // Declared, but not used by this entry point.
    assert!(shader.resources.is_empty());
}

#[test]
fn resources_are_those_in_use() {
    let shader =
        fragment("return textureSample(t, s, v.uv) + textureLoad(ms, vec2i(0), 0) * u.v + f32(arrayLength(&out));");
    let classes: Vec<_> = shader
        .resources
        .iter()
        .map(|(_, r)| (r.name.as_str(), &r.class))
        .collect();
    assert_eq!(classes.len(), 5);
    assert_eq!(classes[0].0, "u");
    assert_eq!(classes[0].1, &ResourceClass::Uniform { min_size: 288 });
    assert!(matches!(
        classes[1].1,
        ResourceClass::Storage {
            writable: true,
            min_size: 4
        }
    ));
    assert!(matches!(
        classes[2].1,
        ResourceClass::Texture {
            sample: SampleKind::Float,
            ..
        }
    ));
    assert!(matches!(
        classes[4].1,
        ResourceClass::Texture {
            sample: SampleKind::UnfilterableFloat,
            multisampled: true,
            ..
        }
    ));
    let (_, t) = shader.resources.iter().nth(2).unwrap();
    assert_eq!(t.binding, Binding::WebGpu { group: 1, binding: 0 });
}

#[test]
fn constant_offsets_are_proved_and_dynamic_ones_checked() {
    let access = |body: &str| -> Vec<_> {
        let loads = ops(&fragment(body)).into_iter();
        loads
            .filter_map(|op| match op {
                Op::BufferLoad { access, .. } => Some((access.bounds, access.align)),
                _ => None,
            })
            .collect()
    };
    // R-WGSL-71
    assert_eq!(
        access("return u.v;"),
        [
            (OutOfBounds::Proved, 16),
            (OutOfBounds::Proved, 4),
            (OutOfBounds::Proved, 8),
            (OutOfBounds::Proved, 4)
        ]
    );
    assert_eq!(access("return u.list[u.i].yyyy;").last(), Some(&(OutOfBounds::Zero, 4)));
    assert_eq!(access("return vec4f(node.list[0]);"), [(OutOfBounds::Proved, 16)]);
    assert_eq!(access("return vec4f(node.list[4]);"), [(OutOfBounds::Zero, 16)]);
}

#[test]
fn only_dynamically_indexed_levels_become_arrays() {
    let arrays = |body: &str| {
        let shader = fragment(body);
        let entry = &shader.functions[shader.entry];
        let mut arrays: Vec<u32> = entry.arrays.iter().map(|(_, a)| a.len).collect();
        arrays.sort();
        arrays
    };
    let none: [u32; 0] = [];
    assert_eq!(
        arrays("var a = array<vec4f, 3>(); a[1].x = 2.0; a[2] = v.w; return a[1] + a[2];"),
        none
    );
    assert_eq!(
        arrays("var a = array<vec4f, 3>(); a[v.id.x].x = 2.0; return a[1];"),
        [3, 3, 3, 3]
    );
    assert_eq!(arrays("var m = u.m; m[1][v.id.x] = 2.0; return m[2];"), [4, 4, 4, 4]);
    assert_eq!(arrays("var m = u.m; m[v.id.x][v.id.y] = 2.0; return m[2];"), [16]);
    assert_eq!(
        arrays("var a: array<array<f32, 5>, 3>; a[v.id.x][v.id.y] = 1.0; return vec4f(a[0][1], a[v.id.y][2], 0, 0);"),
        [15]
    );
    // A constant table.
    assert_eq!(
        arrays("let a = array(vec2f(1, 0), vec2f(2), vec2f(3), vec2f(4), vec2f(5)); return a[v.id.x].xyxy;"),
        [5, 5]
    );
    // Few elements: selects.
    assert_eq!(arrays("let a = array(v.w, v.w * 2, v.w * 3); return a[v.id.x];"), none);
    assert_eq!(arrays("return vec4f(v.w[v.id.x]);"), none);
}

#[test]
fn pointers_and_private_globals_are_inlined() {
    let text = "
        var<private> seed: u32;
        var<private> table: array<f32, 4> = array(1.0, 2.0, 3.0, 4.0);
        struct S { a: vec2f, list: array<i32, 3> }
        fn next() -> u32 { seed = seed * 1664525u + 1013904223u; return seed; }
        fn bump(p: ptr<function, i32>) { *p += 1; }
        fn put(p: ptr<function, S>, i: u32) -> i32 {
            if i > 7u { return -1; }
            (*p).list[i] = 5; bump(&(*p).list[0]); (*p).a.y = table[i];
            return (*p).list[1];
        }
        fn plain(x: f32) -> f32 { if x > 0.5 { return 1.0; } return x; }
        @fragment fn fs(@location(0) @interpolate(flat) i: u32) -> @location(0) vec4f {
            var s: S;
            seed = i;
            let r = put(&s, next() % 3u);
            return vec4f(s.a, f32(s.list[0] + r), plain(f32(next())));
        }";
    let shader = lower(text, "fs");
    let names: Vec<_> = shader.functions.iter().map(|(_, f)| f.name.as_str()).collect();
    assert_eq!(names, ["plain", "fs"]);
    // Inlined instructions say through which call they came (law I4).
    assert!(shader.sources.spans.iter().any(|(_, s)| s.inlined_at.is_some()));
}

#[test]
fn every_statement_lowers() {
    fragment("var x = 0; loop { if x > 3 { break; } continuing { x++; break if x == 7; } } return vec4f(f32(x));");
    fragment(
        "var x = 0; loop { let y = x * 2; if y == 8 { continue; } continuing { x += y + 1; break if y > 70; } } return vec4f(f32(x));",
    );
    fragment(
        "var x = 0; for (var i = 0; i < 9; i++) { if i == 3 { continue; } for (;;) { if x > i { break; } x++; } } return vec4f(f32(x));",
    );
    fragment("while u.i > 3 { if v.front && v.uv.x > 0.5 || v.id.x == 2 { return v.w; } } return vec4f();");
    fragment(
        "var r = 0.0; switch v.id.x { case 1, 2: { r = 1.0; } case 3: { if v.front { break; } return v.w; }
         case 4, default: { r = 2.0; } case -5: { r = 4.0; discard; } } return vec4f(r);",
    );
    fragment("loop { switch v.id.x { case 1: { continue; } default: { break; } } if v.front { break; } } return v.w;");
    fragment(
        "let d = vec4f(dpdx(v.uv), fwidth(v.uv)); if v.front { discard; } else if v.uv.x > 0.2 { return v.w; } return d;",
    );
    fragment("out[v.id.x] = 1u; out[2] += 7u; return vec4f(f32(out[u.k]));");
    fragment(
        "atomicAdd(&count, 2u); let r = atomicCompareExchangeWeak(&count, 1u, 2u); if r.exchanged { return v.w; } atomicStore(&count, r.old_value); return vec4f(f32(atomicLoad(&count)));",
    );
    fragment("counter += 1; let p = &counter; *p *= 2; return vec4f(f32(*p));");
    fragment("textureStore(st, vec2u(1, 2), v.w); return v.w;");
    fragment("_ = v.w; { const x = 4; var y = x; y += 1; return vec4f(f32(y)); }");
}

#[test]
fn every_operator_and_conversion_lowers() {
    fragment("let a = v.w * 2 + 3 / v.w - (v.w % 2); let b = -a; return select(a, b, a < b);");
    fragment(
        "let i = v.id * 3 / v.id % 2 - ~v.id; let j = (i << vec2u(2)) | (i >> vec2u(u.k)) & i ^ i; return vec4f(vec2f(j), vec2f(vec2u(j)));",
    );
    fragment(
        "let c = (v.id.x == 1) != v.front; let d = any(v.w > v.w.yxzw) | all(v.w >= v.w) & !c; return vec4f(f32(d), f32(i32(d)), f32(u32(d)), f32(bool(v.id.x)));",
    );
    fragment("return vec4f(f32(bool(v.uv.x)), bitcast<f32>(v.id.x), f32(u32(v.uv.x)), f32(bitcast<vec2i>(v.uv).x));");
    fragment("return u.m * v.w + v.w * u.m + (u.m * u.m * 2.0 + transpose(u.m) - u.m) * v.w * determinant(u.m);");
    fragment(
        "let m = mat2x3f(v.w.xyz, v.w.yzw); return vec4f(m * v.uv, dot(v.w.xyz * m, v.uv)) + determinant(u.n) * determinant(mat2x2f(v.uv, v.uv));",
    );
    fragment("var x = v.w; x.y = 3; x.z += x.y; x[1] *= 2; x = x.wzyx; return x;");
    fragment("let m = u.m; return m[v.id.x] + m[1][v.id.y];");
}

#[test]
fn every_builtin_lowers() {
    for call in [
        "abs(v.w) + min(v.w, v.w) + max(v.w, v.w.x * v.w) + clamp(v.w, v.w, v.w) + saturate(v.w) + sign(v.w)",
        "cos(v.w) + cosh(v.w) + sin(v.w) + sinh(v.w) + tan(v.w) + tanh(v.w) + acos(v.w) + asin(v.w) + atan(v.w)",
        "atan2(v.w, v.w) + asinh(v.w) + acosh(v.w) + atanh(v.w) + radians(v.w) + degrees(v.w)",
        "ceil(v.w) + floor(v.w) + round(v.w) + fract(v.w) + trunc(v.w)",
        "modf(v.w).fract + modf(v.w).whole + frexp(v.w).fract + vec4f(frexp(v.w).exp) + modf(v.uv.x).whole",
        "ldexp(v.w, vec4i(v.id, v.id)) + exp(v.w) + exp2(v.w) + log(v.w) + log2(v.w) + pow(v.w, v.w) + pow(v.w, vec4f(5))",
        "vec4f(dot(v.w, v.w), f32(dot(v.id, v.id)), distance(v.w, v.w), length(v.uv)) + length(v.uv.x)",
        "vec4f(cross(v.w.xyz, v.w.yzw), 1) + normalize(v.w) + reflect(v.w, v.w) + refract(v.w, v.w, v.uv.x)",
        "faceForward(v.w, v.w, v.w) + fma(v.w, v.w, v.w) + mix(v.w, v.w, v.w) + mix(v.w, v.w, v.uv.x) + step(v.w, v.w)",
        "smoothstep(v.w, v.w, v.w) + sqrt(v.w) + inverseSqrt(v.w) + quantizeToF16(v.w)",
        "vec4f(vec4u(countTrailingZeros(u.k), countLeadingZeros(u.k), countOneBits(u.k), reverseBits(u.k)))",
        "vec4f(vec4i(extractBits(u.i, 2u, 3u), insertBits(u.i, 4, 2u, u.k), firstTrailingBit(u.i), firstLeadingBit(u.i)))",
        "vec4f(vec4u(extractBits(u.k, 2u, 3u), firstLeadingBit(u.k), abs(u.k), max(u.k, 2u))) + f32(sign(u.i) + abs(u.i) + clamp(u.i, 1, 2))",
        "vec4f(vec4u(pack4x8snorm(v.w), pack4x8unorm(v.w), pack2x16snorm(v.uv), pack2x16unorm(v.uv)))",
        "vec4f(vec4u(pack2x16float(v.uv), pack4xI8(vec4i(u.i)), pack4xU8(vec4u(u.k)), pack4xI8Clamp(vec4i(u.i)))) + f32(pack4xU8Clamp(vec4u(u.k)))",
        "unpack4x8snorm(u.k) + unpack4x8unorm(u.k) + vec4f(unpack2x16snorm(u.k), unpack2x16unorm(u.k)) + unpack2x16float(u.k).xyxy",
        "vec4f(unpack4xI8(u.k)) + vec4f(unpack4xU8(u.k)) + f32(dot4U8Packed(u.k, 7u)) + f32(dot4I8Packed(u.k, 7u))",
        "dpdx(v.w) + dpdy(v.w) + dpdxFine(v.w) + dpdyFine(v.w) + dpdxCoarse(v.w) + dpdyCoarse(v.w) + fwidth(v.w) + fwidthFine(v.w) + fwidthCoarse(v.w)",
        "textureSample(t, s, v.uv) + textureSample(t, s, v.uv, vec2i(1, -8)) + textureSampleBias(t, s, v.uv, 2.0) + textureSampleLevel(t, s, v.uv, 1.5)",
        "textureSampleGrad(t, s, v.uv, v.uv, v.uv) + textureSampleBaseClampToEdge(t, s, v.uv) + textureSample(cube, s, v.w.xyz, v.id.x) + textureSample(t3, s, v.w.xyz)",
        "vec4f(textureSample(depth, s, v.uv) + textureSampleCompare(depth, sc, v.uv, 0.5) + textureSampleCompareLevel(depth, sc, v.uv, 0.5) + textureSampleLevel(depth, s, v.uv, 1))",
        "textureGather(2, t, s, v.uv) + textureGather(depth, s, v.uv) + textureGatherCompare(depth, sc, v.uv, 0.2)",
        "vec4f(textureLoad(ti, v.id, 1, 0)) + textureLoad(ms, v.id, 2) + textureLoad(t, vec2u(3), 1) + textureLoad(depth, v.id, 0) + textureLoad(t3, vec3u(1), 0u)",
        "vec4f(vec4u(textureDimensions(t), textureDimensions(t, 2))) + vec4f(vec3f(textureDimensions(t3)), f32(textureNumLevels(t) + textureNumLayers(cube) + textureNumSamples(ms)))",
        "vec4f(f32(arrayLength(&out) + arrayLength(&node.list)))",
    ] {
        fragment(&format!("return {call};"));
    }
}

#[test]
fn f16_is_f32_rounded_after_each_operation() {
    let text = "enable f16;
        struct S { a: f16, b: vec3h, c: array<f16, 3> }
        @group(0) @binding(0) var<storage, read_write> s: S;
        @fragment fn fs(@location(0) x: f16, @location(1) @interpolate(flat) i: u32) -> @location(0) vec4f {
            s.c[i] = x * s.a; s.b = vec3h(f16(i)) + s.b;
            return vec4f(f32(s.c[i] + 2.5h), vec3f(s.b * normalize(s.b)));
        }";
    let shader = lower(text, "fs");
    assert!(ops(&shader).iter().all(|op| !matches!(op, Op::Convert(_))));
    assert!(
        shader.functions[shader.entry]
            .values
            .iter()
            .all(|(_, v)| v.kind.bits() == 32)
    );
}

#[test]
fn wide_kinds_lower() {
    lower(
        "@group(0) @binding(0) var<storage, read_write> s: array<i64, 4>;
         @group(0) @binding(1) var<storage, read_write> d: array<f64, 4>;
         @fragment fn fs() -> @location(0) vec4f {
             s[1] = s[0] * 3li + i64(d[1]); d[2] = sqrt(d[0]) + f64(u64(s[3])); return vec4f(f32(s[2]), f32(d[3]), 0.0, 1.0);
         }",
        "fs",
    );
}

#[test]
fn textures_pass_as_arguments_and_in_arrays() {
    let text = "
        @group(0) @binding(0) var t: texture_2d<f32>;
        @group(0) @binding(1) var s: sampler;
        fn tap(t: texture_2d<f32>, s: sampler, uv: vec2f) -> vec4f {
            if uv.x > 0.5 { return vec4f(0); }
            return textureSampleLevel(t, s, uv, 0.0) + vec4f(f32(textureDimensions(t).x));
        }
        fn twice(t: texture_2d<f32>, s: sampler, uv: vec2f) -> vec4f { return tap(t, s, uv) + tap(t, s, uv.yx); }
        @fragment fn fs(@location(0) uv: vec2f) -> @location(0) vec4f { return twice(t, s, uv); }";
    let shader = lower(text, "fs");
    assert_eq!(shader.functions.len(), 1);
    assert_eq!(
        ops(&shader).iter().filter(|op| matches!(op, Op::Sample { .. })).count(),
        2
    );
    let text = "enable wgpu_binding_array;
        @group(0) @binding(0) var t: binding_array<texture_2d<f32>, 4>;
        @group(0) @binding(1) var s: binding_array<sampler, 4>;
        struct B { x: vec4f }
        @group(0) @binding(2) var<storage, read_write> b: binding_array<B, 3>;
        @fragment fn fs(@location(0) uv: vec2f, @location(1) @interpolate(flat) i: u32) -> @location(0) vec4f {
            b[i].x.y += 2.0;
            return textureSampleLevel(t[i], s[1], uv, 0.0) + b[2].x + vec4f(f32(textureNumLevels(t[i + 1])));
        }";
    let shader = lower(text, "fs");
    assert_eq!(
        shader.resources.iter().map(|(_, r)| r.count).collect::<Vec<_>>(),
        [4, 4, 3]
    );
}

#[test]
fn quads_and_storage_textures() {
    lower(
        "@group(0) @binding(0) var r: texture_storage_2d<r32uint, read_write>;
         @group(0) @binding(1) var w: texture_storage_2d_array<rgba16float, write>;
         @group(0) @binding(2) var l: texture_storage_3d<rgba8snorm, read>;
         @group(0) @binding(3) var o: texture_1d<f32>;
         @fragment fn fs(@builtin(position) p: vec4f) -> @location(0) vec4f {
             let at = vec2i(p.xy);
             textureStore(r, at, textureLoad(r, at) + vec4u(1));
             textureStore(w, at, 2, textureLoad(l, vec3i(at, 1)));
             let q = quadBroadcast(p.x, 2u) + quadSwapX(p.x) + quadSwapY(p.y) + quadSwapDiagonal(p.z);
             return vec4f(q) + textureLoad(o, at.x, 0) + vec4f(f32(textureDimensions(o)));
         }",
        "fs",
    );
    lower(
        "struct P { m: mat4x4f, n: u32 } var<immediate> p: P;
         @vertex fn vs(@location(0) v: vec4f) -> @builtin(position) vec4f { return p.m * v * f32(p.n); }",
        "vs",
    );
}

#[test]
fn overrides_take_values_by_name_and_id() {
    let text = "override scale: f32 = 2.0; @id(7) override on: bool; override n = i32(scale) * 3;
        const K = 4;
        @fragment fn fs() -> @location(0) vec4f { if on { return vec4f(scale * K); } return vec4f(f32(n)); }";
    let constants = |pairs: &[(&str, f64)]| pairs.iter().map(|&(k, v)| (k.to_owned(), v)).collect::<Constants>();
    lower_with(text, "fs", &constants(&[("7", 1.0)])).unwrap();
    lower_with(text, "fs", &constants(&[("7", 0.0), ("scale", 0.5), ("n", -3.0)])).unwrap();
    for (pairs, want) in [
        (&[][..], "pipeline constant `7` has neither"),
        (&[("7", 1.0), ("nope", 1.0)], "no pipeline constant `nope`"),
        (&[("7", 1.0), ("n", 3e9)], "`n` can't be 3000000000"),
        (&[("7", 1.0), ("scale", f64::NAN)], "`scale` can't be NaN"),
    ] {
        let error = lower_with(text, "fs", &constants(pairs)).unwrap_err();
        assert_eq!(error.kind, ShaderErrorKind::Constant);
        assert!(error.to_string().contains(want), "{error}");
    }
    let module = Module::parse("o.wgsl", text).unwrap();
    let names: Vec<_> = module
        .overrides()
        .into_iter()
        .map(|o| (o.id, o.kind, o.has_default))
        .collect();
    assert_eq!(
        names,
        [
            (None, Kind::F32, true),
            (Some(7), Kind::Bool, false),
            (None, Kind::I32, true)
        ]
    );
}

#[test]
fn vertex_outputs_and_special_interfaces() {
    let shader = lower(
        "enable clip_distances;
         struct Out { @invariant @builtin(position) pos: vec4f, @builtin(clip_distances) clip: array<f32, 3>,
                      @location(2) @interpolate(linear, centroid) uv: vec2f }
         @vertex fn vs(@builtin(vertex_index) i: u32, @builtin(instance_index) j: u32, @location(1) p: vec3f) -> Out {
             var o: Out; o.pos = vec4f(p, f32(i + j)); o.clip[1] = p.x; o.uv = p.yz; return o;
         }",
        "vs",
    );
    let semantics: Vec<_> = shader.outputs.iter().map(|o| (o.semantic, o.invariant)).collect();
    assert_eq!(semantics.len(), 9);
    assert_eq!(semantics[3], (Semantic::Builtin(Builtin::Position(3)), true));
    assert_eq!(semantics[6], (Semantic::Builtin(Builtin::ClipDistance(2)), false));
    let blend = lower(
        "enable dual_source_blending;
         struct Out { @location(0) @blend_src(0) a: vec4f, @location(0) @blend_src(1) b: vec4f }
         @fragment fn fs() -> Out { return Out(vec4f(1), vec4f(2)); }",
        "fs",
    );
    assert!(matches!(
        blend.outputs[4].semantic,
        Semantic::Location {
            second_source: true,
            location: 0,
            ..
        }
    ));
    lower(
        "enable primitive_index;
         struct Out { @builtin(frag_depth) d: f32, @builtin(sample_mask) m: u32 }
         @fragment fn fs(@builtin(sample_index) i: u32, @builtin(sample_mask) m: u32, @builtin(primitive_index) p: u32,
                         @location(0) @interpolate(perspective, sample) x: f32) -> Out { return Out(x, m ^ i ^ p); }",
        "fs",
    );
}

#[test]
fn mistakes_are_shown_with_line_and_caret() {
    for (text, kind, line, want) in [
        (
            "@fragment fn fs() -> @location(0) vec4f {\n  return vec4f(x);\n}",
            ShaderErrorKind::Syntax,
            2,
            "x",
        ),
        (
            "@fragment fn fs() {\n  let a = 1\n}",
            ShaderErrorKind::Syntax,
            3,
            "expected",
        ),
        ("fn f() {\n\n  let a: i32 = 1.5;\n}", ShaderErrorKind::Syntax, 3, ""),
        (
            "fn f(a: f32) -> f32 {\n  return a + vec3u(1);\n}",
            ShaderErrorKind::Invalid,
            2,
            "(of type vec3<f32>) and [2] (of type vec3<u32>)",
        ),
        (
            "fn f() -> f32 {\n  let v = vec3f(1);\n  return v.w;\n}",
            ShaderErrorKind::Syntax,
            3,
            "w",
        ),
        ("fn f() {\n  g();\n}", ShaderErrorKind::Syntax, 2, "g"),
        ("struct A { a: B }\nfn f(a: A) {}", ShaderErrorKind::Syntax, 1, "B"),
        ("fn f() { f(); }", ShaderErrorKind::Syntax, 1, ""),
        (
            "fn f() -> i32 {\n  if true { return 1; }\n}",
            ShaderErrorKind::Invalid,
            1,
            "",
        ),
        (
            "@group(0) @binding(0) var t: texture_2d<f32>;\n@fragment fn fs() {\n  let a = textureLoad(t, vec3i(0), 0);\n}",
            ShaderErrorKind::Syntax,
            0,
            "",
        ),
        ("fn f() {\n  break;\n}", ShaderErrorKind::Invalid, 2, ""),
        ("fn f() {\n  let a = 4;\n  a = 5;\n}", ShaderErrorKind::Syntax, 3, ""),
        (
            "fn f() {\n  let a = array(1, 2);\n  let b = a[2];\n}",
            ShaderErrorKind::Invalid,
            3,
            "",
        ),
        (
            "@fragment fn fs(@location(0) a: i32) {}",
            ShaderErrorKind::Invalid,
            1,
            "",
        ),
        ("fn f() { let a = 1 / 0; }", ShaderErrorKind::Syntax, 1, "zero"),
        ("var x: f32;\u{1b}[31m", ShaderErrorKind::Syntax, 1, ""),
    ] {
        let error = Module::parse("bad.wgsl", text).expect_err(text);
        let shown = error.render();
        assert!(shown.contains('^') && shown.contains("bad.wgsl:"), "{text}\n{shown}");
        assert!(!shown.contains('\u{1b}') && !shown.contains("naga::"), "{shown}");
        if line > 0 {
            assert_eq!(error.kind, kind, "{shown}");
            assert_eq!(error.location().map(|l| l.0), Some(line), "{shown}");
        }
        assert!(shown.contains(want), "{shown}");
    }
}

#[test]
fn what_is_missing_is_named() {
    for (text, entry, want) in [
        ("@compute @workgroup_size(1) fn cs() {}", "cs", "Compute stage"),
        ("@fragment fn fs() {}", "vs", "no entry point `vs`"),
        (
            "@fragment fn fs(@builtin(subgroup_size) n: u32) -> @location(0) vec4f { return vec4f(f32(n)); }",
            "fs",
            "SubgroupSize",
        ),
        (
            "@fragment fn fs() -> @location(0) vec4f { var a: array<f32, 100000>; let b = a; return vec4f(b[3]); }",
            "fs",
            "100000",
        ),
    ] {
        let error = lower_with(text, entry, &Constants::new()).expect_err(text);
        assert!(error.render().contains(want), "{}", error.render());
    }
}

#[test]
fn deep_and_long_texts_end() {
    let nested = |open: &str, close: &str, n: usize| {
        format!("fn f() -> f32 {{ return {}1.0{}; }}", open.repeat(n), close.repeat(n))
    };
    for n in [10, 300, 10_000] {
        let _ = Module::parse("deep.wgsl", &nested("(", ")", n));
        let _ = Module::parse("deep.wgsl", &nested("-(", ")", n));
        let _ = Module::parse(
            "deep.wgsl",
            &format!("fn f() {{ {} {} }}", "{".repeat(n), "}".repeat(n)),
        );
        let _ = Module::parse(
            "deep.wgsl",
            &format!("fn f(x: f32) -> f32 {{ return x{}; }}", " + x".repeat(n)),
        );
        let _ = Module::parse(
            "deep.wgsl",
            &format!("alias A = {}f32{};", "array<".repeat(n), ", 2>".repeat(n)),
        );
        let _ = Module::parse(
            "deep.wgsl",
            &format!("fn f(x: bool) -> bool {{ return x{}; }}", " && x".repeat(n)),
        );
        let _ = Module::parse(
            "deep.wgsl",
            &format!("fn f() {{ if true {{}} {} }}", "else if true {}".repeat(n)),
        );
    }
}

#[test]
fn mutated_shaders_never_panic() {
    let mut seed = 1u32;
    let mut random = move |n: usize| {
        seed ^= seed << 13;
        seed ^= seed >> 17;
        seed ^= seed << 5;
        seed as usize % n.max(1)
    };
    let source = fragment_text(
        "var a = array<vec4f, 3>(); for (var i = 0; i < 3; i++) { a[i] = textureSampleLevel(t, s, v.uv * f32(i), 0.0); if a[i].x > 0.5 { continue; } }
         switch v.id.x { case 1, 2: { counter += 1; } default: { discard; } } let m = u.m * a[1]; return mix(m, a[v.id.y], 0.5);",
    );
    let pieces = [
        "0", "vec4f", "(", ")", "{", "}", ";", "&", "*", "u.m", "a[", "]", "-1", "1e38", "loop", "return", "@", "é",
        "<", ">",
    ];
    for _ in 0..150 {
        let mut text: Vec<char> = source.chars().collect();
        for _ in 0..1 + random(3) {
            let at = random(text.len());
            match random(4) {
                0 => drop(text.drain(at..(at + random(12)).min(text.len()))),
                1 => drop(text.splice(at..at, pieces[random(pieces.len())].chars())),
                2 => {
                    let piece: Vec<char> = text[at..(at + random(20)).min(text.len())].to_vec();
                    let to = random(text.len());
                    text.splice(to..to, piece);
                }
                _ => text[at] = char::from(32 + random(95) as u8),
            }
        }
        let text: String = text.into_iter().collect();
        match Module::parse("mutant.wgsl", &text) {
            Err(error) => {
                assert_ne!(error.kind, ShaderErrorKind::Internal, "{text}");
                error.render();
            }
            Ok(module) => {
                for entry in module.entry_points() {
                    match module.lower(&entry.name, &Constants::new()) {
                        Ok(shader) => validate(&shader).unwrap_or_else(|e| panic!("{e}\n{text}")),
                        Err(error) => assert_ne!(error.kind, ShaderErrorKind::Internal, "{}\n{text}", error.render()),
                    }
                }
            }
        }
    }
}
