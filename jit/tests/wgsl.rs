//! WGSL through lowering, expansion and the executors: values, control flow, memory.

mod support;

use quadrille_frontend::ir::{Builtin, Semantic};
use quadrille_frontend::spirv;
use quadrille_frontend::wgsl::{Constants, Module};
use support::run_shader;

/// Runs an entry point on all executors, lowered from the text and, where naga can write it, from its SPIR-V.
fn run(text: &str, entry: &str, inputs: &[[u32; 8]], buffers: &mut [Vec<u32>]) -> Vec<[u32; 8]> {
    let module = Module::parse("test.wgsl", text).unwrap_or_else(|e| panic!("{}", e.render()));
    let shader = module
        .lower(entry, &Constants::new())
        .unwrap_or_else(|e| panic!("{}", e.render()));
    let before = buffers.to_vec();
    let outputs: Vec<_> = shader.outputs.iter().map(|o| o.semantic).collect();
    let want = run_shader(shader, inputs, buffers, text);
    if let Some(words) = spirv_of(text, entry) {
        let module = spirv::Module::parse_words("test.spv", words).unwrap_or_else(|e| panic!("{}", e.render()));
        let shader = module
            .lower(entry, &Constants::new())
            .unwrap_or_else(|e| panic!("{}\n{text}", e.render()));
        let order: Vec<_> = shader.outputs.iter().map(|o| o.semantic).collect();
        let mut own = before;
        let got = run_shader(shader, inputs, &mut own, module.text());
        for (semantic, want) in outputs.iter().zip(&want) {
            let at = order.iter().position(|s| s == semantic).expect("the same outputs");
            assert_eq!(
                got[at],
                *want,
                "{semantic:?} by way of SPIR-V: {text}\n{}",
                module.text()
            );
        }
        assert_eq!(own, buffers, "by way of SPIR-V: {text}");
    }
    want
}

/// naga's SPIR-V of a WGSL entry point; `None` where naga can't write it, or fails (it does so on some pointers).
fn spirv_of(text: &str, entry: &str) -> Option<Vec<u32>> {
    use naga::back::spv::{self, Capability as C};
    use naga::valid;
    let module = naga::front::wgsl::parse_str(text).ok()?;
    let mut validator = valid::Validator::new(valid::ValidationFlags::all(), valid::Capabilities::all());
    let info = validator.validate(&module).ok()?;
    let stage = module.entry_points.iter().find(|e| e.name == entry)?.stage;
    // Without Int8: with it, naga unpacks bytes by 8-bit arithmetic, which the executors refuse.
    let capabilities = [
        C::Shader,
        C::Matrix,
        C::Float16,
        C::Float64,
        C::Int16,
        C::Int64,
        C::StorageBuffer16BitAccess,
        C::UniformAndStorageBuffer16BitAccess,
        C::StorageInputOutput16,
        C::ImageQuery,
        C::Sampled1D,
        C::SampledCubeArray,
        C::DerivativeControl,
        C::SampleRateShading,
        C::ClipDistance,
        C::StorageImageExtendedFormats,
        C::GroupNonUniform,
        C::GroupNonUniformQuad,
    ];
    let options = spv::Options {
        flags: spv::WriterFlags::DEBUG | spv::WriterFlags::LABEL_VARYINGS,
        force_loop_bounding: false,
        capabilities: Some(capabilities.into_iter().collect()),
        ..spv::Options::default()
    };
    let pipeline = spv::PipelineOptions {
        shader_stage: stage,
        entry_point: entry.to_owned(),
    };
    let write = || spv::write_vec(&module, &info, &options, Some(&pipeline)).ok();
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(write))
        .ok()
        .flatten()
}

const X: [[f32; 8]; 4] = [
    [0.5, -1.25, 3.0, 0.0, 1e-3, -7.5, 100.0, 0.999],
    [2.0, 0.75, -3.5, 1.0, 4.0, -0.5, 1e4, -1.0],
    [-1.0, 5.0, 0.25, -0.0, 9.0, 2.5, -3.0, 0.1],
    [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0],
];
const I: [[i32; 8]; 4] = [
    [0, 1, 2, 3, -1, 7, i32::MIN, i32::MAX],
    [3, 0, -2, 5, -1, 2, -1, 31],
    [1, 2, 3, 4, 5, 6, 7, 40],
    [0, 1, 0, 1, 2, 3, 2, 3],
];

fn inputs() -> Vec<[u32; 8]> {
    let floats = X.iter().map(|lanes| lanes.map(f32::to_bits));
    floats.chain(I.iter().map(|lanes| lanes.map(|i| i as u32))).collect()
}

/// The four results of `body`, which returns a vec4u made from `x: vec4f` and `i: vec4i`.
fn words(globals: &str, body: &str) -> [[u32; 8]; 4] {
    let text = format!(
        "{globals} @fragment fn fs(@location(0) x: vec4f, @location(1) @interpolate(flat) i: vec4i)
             -> @location(0) vec4u {{ {body} }}"
    );
    let out = run(&text, "fs", &inputs(), &mut []);
    [out[0], out[1], out[2], out[3]]
}

fn ints(globals: &str, body: &str) -> [[i32; 8]; 4] {
    words(globals, body).map(|lanes| lanes.map(|w| w as i32))
}

fn floats(globals: &str, body: &str) -> [[f32; 8]; 4] {
    words(globals, body).map(|lanes| lanes.map(f32::from_bits))
}

#[track_caller]
fn close(got: [f32; 8], want: [f64; 8], tolerance: f64) {
    for (got, want) in got.into_iter().zip(want) {
        let error = (f64::from(got) - want).abs();
        assert!(
            error <= tolerance * want.abs().max(1.0) || f64::from(got) == want || got.is_nan() && want.is_nan(),
            "{got} instead of {want}"
        );
    }
}

/// R-WGSL-62 and 64.
#[test]
fn integer_operators() {
    let out = ints(
        "",
        "return bitcast<vec4u>(vec4i(i.x / i.y, i.x % i.y, i.x << bitcast<u32>(i.z), i.x >> bitcast<u32>(i.z)));",
    );
    for lane in 0..8 {
        let (x, y, z) = (I[0][lane], I[1][lane], I[2][lane] as u32);
        let quotient = if y == 0 { x } else { x.wrapping_div(y) };
        let remainder = if y == 0 { 0 } else { x.wrapping_rem(y) };
        assert_eq!(out[0][lane], quotient);
        assert_eq!(out[1][lane], remainder);
        assert_eq!(out[2][lane], x.wrapping_shl(z));
        assert_eq!(out[3][lane], x.wrapping_shr(z));
    }
    let out = words(
        "",
        "let u = bitcast<vec4u>(i); return vec4u(u.x / u.y, u.x % u.y, u32(i.x > i.y) + 2u * u32(u.x > u.y), ~(u.x ^ u.y | u.z & 3u));",
    );
    for lane in 0..8 {
        let (x, y, z) = (I[0][lane] as u32, I[1][lane] as u32, I[2][lane] as u32);
        assert_eq!(out[0][lane], x.checked_div(y).unwrap_or(x));
        assert_eq!(out[1][lane], x.checked_rem(y).unwrap_or(0));
        let order = u32::from(I[0][lane] > I[1][lane]) + 2 * u32::from(x > y);
        assert_eq!(out[2][lane], order);
        assert_eq!(out[3][lane], !(x ^ y | z & 3));
    }
}

/// R-WGSL-63.
#[test]
fn conversions_clamp() {
    let out = ints(
        "",
        "let big = x * 1e9; return bitcast<vec4u>(vec4i(i32(big.y), bitcast<i32>(u32(big.y)), i32(bool(i.x)), i32(f32(i.z) * 0.4)));",
    );
    for lane in 0..8 {
        let big = X[1][lane] * 1e9;
        assert_eq!(out[0][lane], (big as i32).min(2_147_483_520));
        assert_eq!(out[1][lane] as u32, (big as u32).min(4_294_967_040));
        assert_eq!(out[2][lane], i32::from(I[0][lane] != 0));
        assert_eq!(out[3][lane], (I[2][lane] as f32 * 0.4) as i32);
    }
}

#[test]
fn control_flow() {
    let collatz = "fn steps(start: u32) -> u32 {
        var n = start; var count = 0u;
        while n > 1u { if n % 2u == 0u { n /= 2u; continue; } n = 3u * n + 1u; count += 100u; if count > 5000u { return 7u; } }
        return count + n;
    }";
    let out = words(collatz, "return vec4u(steps(bitcast<u32>(i.z)), 0u, 0u, 0u);");
    let steps = |mut n: u32| {
        let mut count = 0;
        while n > 1 {
            if n.is_multiple_of(2) {
                n /= 2;
                continue;
            }
            n = 3 * n + 1;
            count += 100;
        }
        count + n
    };
    assert_eq!(out[0], I[2].map(|i| steps(i as u32)));

    let out = ints(
        "",
        "var r = vec4i(); var n = 0;
         loop { let twice = n * 2; if twice == i.w * 2 { r.x += 100; continue; } r.x += 1;
                continuing { n++; r.y += twice; break if n == max(i.z % 8, 1); } }
         switch i.x { case 0, 7: { r.z = 1; } case 2: { if i.y < 0 { break; } r.z = 2; } case 3: { r.z = 3; } default: { r.z = 9; } case -1: { r.z = -1; } }
         for (var k = 0; k < 10; k++) { if k == i.w { break; } for (var j = 0; j < 4; j++) { if j > k { continue; } r.w += j; } }
         return bitcast<vec4u>(r);",
    );
    for lane in 0..8 {
        let [x, y, z, w] = [0, 1, 2, 3].map(|k| I[k][lane]);
        let mut r = [0; 4];
        let mut n = 0;
        loop {
            let twice = n * 2;
            r[0] += if twice == w * 2 { 100 } else { 1 };
            n += 1;
            r[1] += twice;
            if n == (z % 8).max(1) {
                break;
            }
        }
        r[2] = match (x, y < 0) {
            (0 | 7, _) => 1,
            (2, true) => 0,
            (2, false) => 2,
            (3, _) => 3,
            (-1, _) => -1,
            _ => 9,
        };
        for k in 0..10 {
            if k == w {
                break;
            }
            r[3] += (0..4).filter(|&j| j <= k).sum::<i32>();
        }
        assert_eq!(out.map(|o| o[lane]), r, "lane {lane}");
    }
}

#[test]
fn short_circuits_have_effects_only_where_they_run() {
    let globals = "var<private> calls: u32; fn touch(r: bool) -> bool { calls += 1u; return r; }";
    let out = words(
        globals,
        "let a = i.w > 0 && touch(i.w > 1); let b = i.w > 1 || touch(i.w == 1); return vec4u(u32(a), u32(b), calls, 0u);",
    );
    for lane in 0..8 {
        let w = I[3][lane];
        let calls = u32::from(w > 0) + u32::from(w <= 1);
        assert_eq!(
            [out[0][lane], out[1][lane], out[2][lane]],
            [u32::from(w > 1), u32::from(w >= 1), calls]
        );
    }
}

/// Arrays clamp to the last element (R-WGSL-71).
#[test]
fn dynamic_indices() {
    let clamp = |i: i32, len: u32| (i as u32).min(len - 1) as usize;
    let out = words(
        "const TABLE = array<vec2u, 6>(vec2u(1, 2), vec2u(3, 4), vec2u(5, 6), vec2u(7, 8), vec2u(9, 10), vec2u(11, 12));",
        "var a: array<array<u32, 3>, 4>; for (var k = 0u; k < 12u; k++) { a[k / 3u][k % 3u] = k * 10u; }
         a[i.w][i.x] += 1u; let v = bitcast<vec4u>(i); let copy = a;
         return vec4u(a[i.w][i.x], TABLE[i.z].y, v[i.y], copy[i.y][2]);",
    );
    for lane in 0..8 {
        let [x, y, z, w] = [0, 1, 2, 3].map(|k| I[k][lane]);
        let (row, column) = (clamp(w, 4), clamp(x, 3));
        let at = |r: usize, c: usize| (r * 3 + c) as u32 * 10 + u32::from((r, c) == (row, column));
        assert_eq!(out[0][lane], at(row, column));
        assert_eq!(out[1][lane], [2, 4, 6, 8, 10, 12][clamp(z, 6)]);
        assert_eq!(out[2][lane], [x, y, z, w][clamp(y, 4)] as u32);
        assert_eq!(out[3][lane], at(clamp(y, 4), 2));
    }
    let out = floats(
        "",
        "var m = mat4x2f(x.x, x.y, 3, 4, x.z, x.w, 7, 8); m[i.w][i.w & 1] *= 2; m[2].x += 1;
         let n = m; return bitcast<vec4u>(vec4f(m[i.w], n[3 - i.w]));",
    );
    for lane in 0..8 {
        let w = I[3][lane] as usize;
        let mut m = [X[0][lane], X[1][lane], 3.0, 4.0, X[2][lane], X[3][lane], 7.0, 8.0];
        m[2 * w + w % 2] *= 2.0;
        m[4] += 1.0;
        let want = [m[2 * w], m[2 * w + 1], m[6 - 2 * w], m[7 - 2 * w]];
        assert_eq!(out.map(|o| o[lane]), want);
    }
}

#[test]
fn pointers_and_private_variables() {
    let globals = "
        struct S { a: vec2i, list: array<i32, 4> }
        var<private> state: S = S(vec2i(5, 6), array(1, 2, 3, 4));
        fn add(p: ptr<function, i32>, n: i32) -> i32 { if n < 0 { return 0; } *p += n; return *p; }
        fn fill(s: ptr<function, S>, at: i32) { for (var k = 0; k < 4; k++) { (*s).list[k] += at; } (*s).list[at] = 77; }
        fn step(p: ptr<private, S>) { (*p).a.x += 1; (*p).list[(*p).a.x & 3] = 9; }
        fn fresh(n: i32) -> i32 { var local: array<i32, 3>; local[n] += 1; step(&state); return local[n] + local[0]; }";
    let out = ints(
        globals,
        "var s = state; fill(&s, i.w); let r = add(&s.list[2], i.y); step(&state);
         let f = fresh(i.w & 1) + fresh(i.w & 1);
         return bitcast<vec4u>(vec4i(r, s.list[0] + 1000 * s.list[2], state.a.x * 100 + f, state.list[2] * 10 + state.list[0]));",
    );
    for lane in 0..8 {
        let (y, w) = (I[1][lane], I[3][lane]);
        let mut list = [1, 2, 3, 4].map(|v| v + w);
        list[w as usize] = 77;
        let r = if y < 0 {
            0
        } else {
            list[2] += y;
            list[2]
        };
        let fresh = if w & 1 == 0 { 2 } else { 1 };
        // Three steps: a.x is 6, 7, 8, so elements 2, 3, 0 become 9.
        assert_eq!(out.map(|o| o[lane]), [r, list[0] + 1000 * list[2], 800 + 2 * fresh, 99]);
    }
}

/// Uniform and storage layouts, out-of-bounds reads and writes (R-WGSL-71), lengths (R-WGSL-72).
#[test]
fn buffers() {
    let text = "
        struct A { v: vec3f, s: f32, m: mat3x3f, list: array<vec2u, 3> }
        struct B { n: atomic<u32>, tail: array<vec3u> }
        @group(0) @binding(0) var<uniform> a: array<A, 2>;
        @group(0) @binding(1) var<storage, read_write> b: B;
        @fragment fn fs(@location(0) x: vec4f, @location(1) @interpolate(flat) i: vec4i) -> @location(0) vec4u {
            let column = a[1].m[i.w];
            b.tail[i.z].y = 1000u + bitcast<u32>(i.z);
            let old = atomicAdd(&b.n, 2u);
            return vec4u(bitcast<u32>(column.z), arrayLength(&b.tail), b.tail[i.x].y, u32(a[i.w].s) + (old & 1u));
        }";
    // A: 12 + 4 + 3 columns of 16 + 3 * 8 = 88, rounded to 96 bytes; uniform strides are multiples of 16.
    let text = text.replace("list: array<vec2u, 3>", "list: array<vec4u, 2>");
    let uniform: Vec<u32> = (0..48).map(|w| (w as f32).to_bits()).collect();
    let storage: Vec<u32> = (0..4 + 4 * 8).map(|w| w as u32).collect();
    let mut buffers = [uniform, storage];
    let out = run(&text, "fs", &inputs(), &mut buffers);
    for lane in 0..8 {
        let (x, w) = (I[0][lane], I[3][lane] as usize);
        let column = if w < 3 {
            (24 + 4 + 4 * w + 2) as f32
        } else {
            24.0 + 4.0 + 14.0
        };
        assert_eq!(f32::from_bits(out[0][lane]), column, "lane {lane}");
        assert_eq!(out[1][lane], 8);
        let scalar = if w < 2 { 24 * w + 3 } else { 0 };
        assert_eq!(out[3][lane], scalar as u32);
        // Stores happen quad by quad; element 7 is the last one that exists.
        let written = I[2][..if lane < 4 { 4 } else { 8 }].contains(&x) && x < 8;
        let want = match x {
            0..8 if written => 1000 + x as u32,
            0..8 => 4 + 4 * x as u32 + 1,
            _ => 0,
        };
        assert_eq!(out[2][lane], want, "lane {lane}");
    }
    assert_eq!(buffers[1][0], 16);
}

#[test]
fn f16_in_memory_and_arithmetic() {
    let text = "enable f16;
        struct S { a: f16, b: f16, v: vec3h, list: array<f16, 8> }
        @group(0) @binding(0) var<storage, read_write> s: S;
        @fragment fn fs(@location(0) x: vec4f, @location(1) @interpolate(flat) i: vec4i) -> @location(0) vec4f {
            let h = f16(x.w) / 3.0h;
            s.list[i.z - 1] = h;
            return vec4f(f32(s.b), f32(s.v.z), f32(h * h + s.a), f32(s.list[i.z - 1]));
        }";
    // a b | unused | v.x v.y | v.z, and the list from byte 14.
    let half = |v: f32| {
        // Exact small values only.
        let bits = v.to_bits();
        if v == 0.0 {
            0
        } else {
            (bits >> 16 & 0x8000) | ((bits >> 23 & 255) - 112) << 10 | bits >> 13 & 0x3ff
        }
    };
    let mut buffers = [vec![
        half(0.5) | half(2.0) << 16,
        0,
        half(1.0) | half(4.0) << 16,
        half(-8.0),
        0,
        0,
        0,
        0,
    ]];
    let out = run(text, "fs", &inputs(), &mut buffers);
    for lane in 0..8 {
        let get = |k: usize| f32::from_bits(out[k][lane]);
        assert_eq!((get(0), get(1)), (2.0, -8.0));
        let third = f64::from(X[3][lane]) / 3.0;
        // Lane 7 is out of range: it meets the padding after the list.
        assert!((f64::from(get(3)) - third).abs() <= third / 2000.0, "lane {lane}");
        let sum = third * third + 0.5;
        assert!((f64::from(get(2)) - sum).abs() < sum / 500.0);
        assert_eq!(get(2).to_bits() & 0x1fff, 0, "rounded to 11 bits");
    }
}

#[test]
fn geometry() {
    let lane = |k: usize| std::array::from_fn::<f64, 8, _>(|l| f64::from(X[k][l]));
    let [x, y, z, w] = [0, 1, 2, 3].map(lane);
    let dot = std::array::from_fn::<f64, 8, _>(|l| x[l] * x[l] + y[l] * y[l] + z[l] * z[l] + w[l] * w[l]);
    let out = floats(
        "",
        "return bitcast<vec4u>(vec4f(dot(x, x), length(x), normalize(x).w, distance(x, x.yzwx)));",
    );
    close(out[0], dot, 1e-6);
    close(out[1], dot.map(f64::sqrt), 1e-6);
    close(out[2], std::array::from_fn(|l| w[l] / dot[l].sqrt()), 1e-6);
    let out = floats(
        "",
        "let c = cross(x.xyz, x.yzw); return bitcast<vec4u>(vec4f(c, dot(c, x.xyz)));",
    );
    close(out[1], std::array::from_fn(|l| z[l] * y[l] - x[l] * w[l]), 1e-5);
    let out = floats(
        "",
        "let n = normalize(x.xyz); let r = refract(n, -n, 0.5); return bitcast<vec4u>(vec4f(reflect(n, n) + n, r.x - n.x));",
    );
    for component in out {
        close(component, [0.0; 8], 1e-6);
    }
    let out = floats(
        "",
        "return bitcast<vec4u>(vec4f(mix(x.x, x.y, 0.25), smoothstep(0.0, 4.0, x.w), step(x.x, x.y), faceForward(x, x, x).y));",
    );
    close(out[0], std::array::from_fn(|l| x[l] * 0.75 + y[l] * 0.25), 1e-6);
    close(
        out[1],
        w.map(|w| (w / 4.0).min(1.0)).map(|t| t * t * (3.0 - 2.0 * t)),
        1e-6,
    );
    close(out[2], std::array::from_fn(|l| f64::from(u8::from(x[l] <= y[l]))), 0.0);
    close(out[3], y.map(|y| -y), 0.0);
}

#[test]
fn matrices() {
    let globals = "fn make(x: vec4f) -> mat3x3f { return mat3x3f(x.xyz * 0.1 + vec3f(1, 0, 0), x.yzw * 0.1 + vec3f(0, 2, 0), vec3f(0.5, x.w, 3)); }";
    let out = floats(
        globals,
        "let m = make(x); let v = m * x.xyz; let t = x.xyz * transpose(m); return bitcast<vec4u>(vec4f(v - t, determinant(m)));",
    );
    for lane in 0..8 {
        let [x, y, z, w] = [0, 1, 2, 3].map(|k| f64::from(X[k][lane]));
        let m = [
            [x * 0.1 + 1.0, y * 0.1, z * 0.1],
            [y * 0.1, z * 0.1 + 2.0, w * 0.1],
            [0.5, w, 3.0],
        ];
        let determinant = m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1])
            - m[1][0] * (m[0][1] * m[2][2] - m[0][2] * m[2][1])
            + m[2][0] * (m[0][1] * m[1][2] - m[0][2] * m[1][1]);
        assert_eq!([out[0][lane], out[1][lane], out[2][lane]], [0.0; 3]);
        let error = (f64::from(out[3][lane]) - determinant).abs();
        assert!(
            error < 1e-3 * determinant.abs().max(1.0),
            "{} {determinant}",
            out[3][lane]
        );
    }
    let out = floats(
        "",
        "let m = mat4x4f(2, 1, 0, 3, 0, 1, 4, 0, 1, 0, 1, 2, 5, 0, 0, 1); let p = m * m; let q = mat2x3f(1, 2, 3, 4, 5, 6) * x.xy;
         return bitcast<vec4u>(vec4f(determinant(m), p[2][1], q.z, (x * m).w));",
    );
    assert_eq!(out[0], [-49.0; 8]);
    assert_eq!(out[1], [1.0; 8]);
    assert_eq!(out[2], std::array::from_fn(|l| 3.0 * X[0][l] + 6.0 * X[1][l]));
    close(
        out[3],
        std::array::from_fn(|l| f64::from(5.0 * X[0][l] + X[3][l])),
        1e-6,
    );
}

#[test]
fn packing() {
    let out = words(
        "",
        "return vec4u(pack4x8snorm(x * 0.25), pack4x8unorm(x * 0.2), pack2x16snorm(x.xy), pack2x16float(x.zw));",
    );
    let norm = |v: f32, low: f32, max: f32| (0.5 + v.clamp(low, 1.0) * max).floor() as i32 as u32;
    for lane in 0..8 {
        let v = [0, 1, 2, 3].map(|k| X[k][lane]);
        let join = |words: &[u32], bits: u32| {
            let mask = u32::MAX >> (32 - bits);
            words
                .iter()
                .rev()
                .fold(0u32, |sum, w| sum.wrapping_shl(bits) | w & mask)
        };
        assert_eq!(out[0][lane], join(&v.map(|v| norm(v * 0.25, -1.0, 127.0)), 8));
        assert_eq!(out[1][lane], join(&v.map(|v| norm(v * 0.2, 0.0, 255.0)), 8));
        assert_eq!(out[2][lane], join(&[v[0], v[1]].map(|v| norm(v, -1.0, 32767.0)), 16));
    }
    let out = words(
        "",
        "let s = vec4i(i.xy, i.zw - 200); return vec4u(pack4xI8(s), pack4xI8Clamp(s), pack4xU8Clamp(bitcast<vec4u>(i)), bitcast<u32>(dot4I8Packed(0x80ff7f01u, 0x01020304u)));",
    );
    for lane in 0..8 {
        let s = [I[0][lane], I[1][lane], I[2][lane] - 200, I[3][lane] - 200];
        let bytes = |v: [u32; 4]| u32::from_le_bytes(v.map(|b| b as u8));
        assert_eq!(out[0][lane], bytes(s.map(|v| v as u32)));
        assert_eq!(out[1][lane], bytes(s.map(|v| v.clamp(-128, 127) as u32)));
        assert_eq!(out[2][lane], bytes([0, 1, 2, 3].map(|k| (I[k][lane] as u32).min(255))));
        assert_eq!(out[3][lane] as i32, 4 + 127 * 3 - 2 - 128);
    }
    let out = floats(
        "",
        "let w = 0x80ff7f01u; return bitcast<vec4u>(vec4f(unpack4x8snorm(w).w, unpack4x8unorm(w).z, unpack2x16snorm(w).x, unpack2x16float(0x3c00c400u).x));",
    );
    assert_eq!(out.map(|o| o[0]), [-1.0, 1.0, 32513.0 / 32767.0, -4.0]);
    let out = ints(
        "",
        "let w = 0x80ff7f01u; return bitcast<vec4u>(unpack4xI8(w) + bitcast<vec4i>(unpack4xU8(w)));",
    );
    assert_eq!(out.map(|o| o[0]), [2, 254, 254, 0]);
}

#[test]
fn decomposition_and_bits() {
    let out = floats(
        "",
        "let m = modf(x.y); let f = frexp(x.x); return bitcast<vec4u>(vec4f(m.fract, m.whole, ldexp(f.fract, f.exp), fract(x.z)));",
    );
    assert_eq!(out[0], X[1].map(f32::fract));
    assert_eq!(out[1], X[1].map(f32::trunc));
    assert_eq!(out[2], X[0]);
    assert_eq!(out[3], X[2].map(|v| v - v.floor()));
    let out = ints(
        "",
        "return bitcast<vec4u>(vec4i(firstLeadingBit(i.x), firstTrailingBit(i.x), extractBits(i.x, 1u, 5u), insertBits(i.x, 5, 4u, 3u)));",
    );
    for lane in 0..8 {
        let x = I[0][lane];
        let unlike = (0..31).rev().find(|&b| (x >> b ^ x >> 31) & 1 != 0).unwrap_or(-1);
        assert_eq!(out[0][lane], unlike);
        assert_eq!(out[1][lane], if x == 0 { -1 } else { x.trailing_zeros() as i32 });
        assert_eq!(out[2][lane], x << 26 >> 27);
        assert_eq!(out[3][lane], x & !0x70 | 0x50);
    }
}

/// Integer powers are products, others go by logarithms.
#[test]
fn powers() {
    let out = floats(
        "",
        "return bitcast<vec4u>(vec4f(pow(x.x, 5.0), pow(x.w, 2.0), pow(x.w, 1.7), pow(x.w, x.y)));",
    );
    let x5 = |x: f32| (x * x) * (x * x) * x;
    close(out[0], X[0].map(x5).map(f64::from), 1e-6);
    assert_eq!(out[1], X[3].map(|x| x * x));
    close(out[2], X[3].map(|x| libm::pow(f64::from(x), f64::from(1.7f32))), 1e-5);
    close(
        out[3],
        std::array::from_fn(|l| libm::pow(f64::from(X[3][l]), f64::from(X[1][l])))
            .map(|v: f64| v.min(f64::from(f32::MAX)))
            .map(|v| if v > 1e30 { f64::INFINITY } else { v }),
        1e-4,
    );
}

/// A derivative sees the whole quad: lanes 0 and 1 above, 2 and 3 below. R-PS-66: dpdx is the coarse one.
#[test]
fn derivatives() {
    let out = floats(
        "",
        "return bitcast<vec4u>(vec4f(dpdx(x.w), dpdyFine(x.w), fwidth(x.y), dpdxFine(x.y)));",
    );
    assert_eq!(out[0], [1.0; 8]);
    assert_eq!(out[1], [2.0; 8]);
    assert_eq!(out[2][..4], [6.75; 4]);
    assert_eq!(out[3][..4], [-1.25, -1.25, 4.5, 4.5]);
}

#[test]
fn outputs_of_a_vertex_shader() {
    let text =
        "struct Out { @location(1) a: vec2f, @builtin(position) pos: vec4f, @location(0) @interpolate(flat) b: u32 }
        @vertex fn vs(@builtin(vertex_index) i: u32) -> Out {
            var o: Out; o.b = i * 2u; if i > 4u { o.pos.w = 3.0; return o; } o.a = vec2f(f32(i), 1.0); return o;
        }";
    let module = Module::parse("v", text).unwrap();
    let shader = module.lower("vs", &Constants::new()).unwrap();
    assert_eq!(shader.outputs[2].semantic, Semantic::Builtin(Builtin::Position(0)));
    let lanes = [0, 1, 2, 3, 4, 5, 6, 7];
    let out = run(text, "vs", &[lanes], &mut []);
    assert_eq!(out[6], lanes.map(|i| i * 2));
    assert_eq!(out[0].map(f32::from_bits), [0.0, 1.0, 2.0, 3.0, 4.0, 0.0, 0.0, 0.0]);
    assert_eq!(out[5].map(f32::from_bits), [0.0, 0.0, 0.0, 0.0, 0.0, 3.0, 3.0, 3.0]);
}
