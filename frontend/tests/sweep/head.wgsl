enable f16;
diagnostic(off, derivative_uniformity);
struct Light { p: vec3f, r: f32, c: array<vec4f, 2> }
struct U { v: vec4f, m: mat4x4f, list: array<vec4f, 8>, light: Light, q: mat2x3f, n: mat3x3f }
struct W { total: atomic<u32>, least: atomic<i32>, data: array<u32> }
@group(0) @binding(0) var<uniform> u: U;
@group(0) @binding(1) var<storage, read_write> w: W;
@group(0) @binding(2) var<storage> words: array<u32>;
@group(1) @binding(0) var t1: texture_1d<f32>;
@group(1) @binding(1) var t2: texture_2d<f32>;
@group(1) @binding(2) var ta: texture_2d_array<f32>;
@group(1) @binding(3) var t3: texture_3d<f32>;
@group(1) @binding(4) var tc: texture_cube<f32>;
@group(1) @binding(5) var tca: texture_cube_array<f32>;
@group(1) @binding(6) var tm: texture_multisampled_2d<f32>;
@group(1) @binding(7) var td: texture_depth_2d;
@group(1) @binding(8) var tda: texture_depth_2d_array;
@group(1) @binding(9) var tdc: texture_depth_cube;
@group(1) @binding(10) var tdca: texture_depth_cube_array;
@group(1) @binding(11) var tdm: texture_depth_multisampled_2d;
@group(1) @binding(12) var ti: texture_2d<i32>;
@group(1) @binding(13) var tu: texture_2d<u32>;
@group(1) @binding(14) var tsw: texture_storage_2d<rgba8unorm, write>;
@group(1) @binding(15) var tsr: texture_storage_2d<r32uint, read>;
@group(1) @binding(16) var tsrw: texture_storage_2d<r32float, read_write>;
@group(1) @binding(17) var ts3: texture_storage_3d<rgba16float, write>;
@group(1) @binding(18) var tsa: texture_storage_2d_array<rgba32sint, write>;
@group(1) @binding(19) var ts1: texture_storage_1d<rgba8uint, write>;
@group(1) @binding(20) var s: sampler;
@group(1) @binding(21) var sc: sampler_comparison;
struct In {
    @builtin(position) pos: vec4f,
    @location(0) a: vec4f,
    @location(1) b: vec4f,
    @location(2) @interpolate(flat) i: vec4i,
    @location(3) @interpolate(flat) j: vec4u,
}
var<private> count: u32 = 3u;
const TABLE = array<f32, 4>(1.0, 2.0, 4.0, 8.0);
const HALF: f32 = 0.5;
override SCALE: f32 = 2.0;
fn twice(x: f32) -> f32 { return x * 2.0; }
fn both(x: f32, y: ptr<function, f32>) -> f32 { *y += x; return x - 1.0; }
