//! Fragment shaders of any length, in the shapes that are hard on compilers.

use std::fmt::Write;

/// What a long shader is long of.
#[derive(Clone, Copy, Debug)]
pub enum Shape {
    /// Arithmetic on a handful of values: what unrolled code and noise functions look like.
    Straight,
    /// Arithmetic on 256 uniforms, over and over: what material and light arrays look like.
    Uniforms,
    /// As many values as a tenth of its instructions, all alive until the end.
    Live,
    /// A branch every few instructions, by pixel.
    Branches,
}

/// All shapes, and what the table calls them.
pub const SHAPES: [(&str, Shape); 4] = [
    ("straight", Shape::Straight),
    ("256 uniforms", Shape::Uniforms),
    ("many values alive", Shape::Live),
    ("branches", Shape::Branches),
];

const HEAD: &str = "struct Data { values: array<vec4<f32>, 64> }
@group(0) @binding(0) var<uniform> data: Data;
@fragment fn fs(@builtin(position) p: vec4<f32>) -> @location(0) vec4<f32> {
var a = p.x * 0.013; var b = p.y * 0.017; var c = p.x * p.y; var d = p.x - p.y;
";

/// A shader of about so many instructions, after the passes.
pub fn source(shape: Shape, instructions: usize) -> String {
    let mut text = HEAD.to_owned();
    let mut line = |line: std::fmt::Arguments<'_>| _ = writeln!(text, "{line}");
    match shape {
        Shape::Straight => {
            for i in 0..instructions / 8 {
                let k = 1.0 + i as f32 * 0.001;
                line(format_args!(
                    "a = a * {k} + b; b = b - c * d; c = max(c, a) * d; d = d + abs(a) * {k};"
                ));
            }
        }
        Shape::Uniforms => {
            for i in 0..instructions / 8 {
                let [u, v] = [i % 256, (i * 7) % 256].map(|i| format!("data.values[{}][{}]", i / 4, i % 4));
                line(format_args!(
                    "a = a * {u} + b; b = b - c * {v}; c = max(c, a) * {u}; d = d + abs(a) * {v};"
                ));
            }
        }
        Shape::Live => {
            let alive = instructions / 10;
            for i in 0..alive {
                line(format_args!(
                    "let v{i} = a * {}.5 + b; a = a + v{i} * c; b = b * 0.5 + d;",
                    i % 97
                ));
            }
            for i in 0..alive {
                line(format_args!("c = c * v{i} + a; a = a + max(c, v{i});"));
            }
        }
        Shape::Branches => {
            for i in 0..instructions / 7 {
                line(format_args!(
                    "if a > {}.0 {{ b = b * c + {}.0; a = a - b; }} else {{ c = c + d; }}",
                    i % 31,
                    i % 17
                ));
            }
        }
    }
    text.push_str("return vec4<f32>(a, b, c, d);\n}\n");
    text
}
