//! Hostile shaders: whatever bytes a shader reader gets, it returns (law O4).
//!
//! The functions of `fuzz/` run on seeded mutations of the tree's shaders: a fixed number by default, with `FUZZ_MINUTES=60` each for
//! that long (`FUZZ_SEED` chooses the first seed).

#[path = "../fuzz/src/shaders.rs"]
#[allow(unreachable_pub, reason = "a library elsewhere")]
mod shaders;

use naga::valid::{Capabilities, ValidationFlags, Validator};
use quadrille_frontend::ir::text::print_shader;
use quadrille_frontend::{spirv, wgsl};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

/// The longest that one shader may take, generously: tests run on loaded machines.
const SLOW: Duration = Duration::from_secs(20);

const WGSL: [&str; 7] = [
    include_str!("jobs/checker/main.wgsl"),
    include_str!("jobs/deferred/main.wgsl"),
    include_str!("jobs/mandelbrot/main.wgsl"),
    include_str!("jobs/objects/main.wgsl"),
    include_str!("jobs/shadow-pcf/main.wgsl"),
    include_str!("jobs/stencil/main.wgsl"),
    include_str!("jobs/triangle/main.wgsl"),
];

const GLSL: &str = "#version 450
layout(location = 0) in vec4 color;
layout(location = 0) out vec4 result;
layout(set = 0, binding = 0) uniform Data { vec4 scale; mat4 turn; int count; } data;
float wave(float x, int n) { float sum = 0.0; for (int i = 0; i < n; i++) { sum += sin(x * float(i)); } return sum; }
void main() {
    vec4 c = data.turn * color;
    if (c.x > 0.5) { c.yz = vec2(wave(c.y, data.count), dFdx(c.z)); } else if (c.w < 0.0) { discard; }
    switch (data.count) { case 0: c.x = 1.0; break; case 2: c.x = 2.0; default: c.y = fract(c.z); }
    result = c * data.scale;
}
";

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

/// splitmix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }
}

/// Bytes changed, moved, doubled, dropped, and pieces of another seed put in; in units of 4 bytes for binaries.
fn damage(bytes: &mut Vec<u8>, other: &[u8], unit: usize, random: &mut Random) {
    for _ in 0..1 + random.below(4) {
        let units = bytes.len() / unit;
        let at = random.below(units) * unit;
        let end = (at + (1 + random.below(12)) * unit).min(bytes.len());
        match random.below(6) {
            0 if at < bytes.len() => bytes[at] = random.next() as u8,
            1 if at < bytes.len() => bytes[at] ^= 1 << random.below(8),
            2 => drop(bytes.drain(at..end)),
            3 => {
                let piece = bytes[at..end].to_vec();
                let to = random.below(units + 1) * unit;
                bytes.splice(to..to, piece);
            }
            4 => {
                let from = random.below(other.len() / unit) * unit;
                let piece = &other[from..(from + (1 + random.below(40)) * unit).min(other.len())];
                bytes.splice(at..at, piece.iter().copied());
            }
            _ if at < bytes.len() => {
                // A number of a text, or a word of a binary, that is none.
                let extreme = [
                    &b"4294967295"[..],
                    b"-1",
                    b"0",
                    b"1e39",
                    b"2147483648",
                    b"\xff\xff\xff\xff",
                ];
                let piece = extreme[random.below(extreme.len())];
                let end = (at + piece.len()).min(bytes.len());
                bytes.splice(at..end, piece.iter().copied());
            }
            _ => {}
        }
    }
}

fn run(kind: &str, seeds: &[Vec<u8>], rounds: u64, unit: usize, reader: fn(&[u8])) {
    let first = number("FUZZ_SEED").unwrap_or(1);
    let end = number("FUZZ_MINUTES").map(|minutes| Instant::now() + Duration::from_secs(60 * minutes));
    seeds.iter().for_each(|seed| reader(seed));
    let mut round = 0;
    while end.map_or(round < rounds, |end| Instant::now() < end) {
        let seed = first + round;
        let mut random = Random(seed);
        let mut file = seeds[random.below(seeds.len())].clone();
        damage(&mut file, &seeds[random.below(seeds.len())], unit, &mut random);
        let clock = Instant::now();
        let result = catch_unwind(AssertUnwindSafe(|| reader(&file)));
        if result.is_err() || clock.elapsed() > SLOW {
            let path = std::env::temp_dir().join(format!("quadrille-{kind}-{seed}.bin"));
            let kept = std::fs::write(&path, &file).map_or_else(|e| e.to_string(), |()| path.display().to_string());
            let what = if result.is_err() { "panicked" } else { "took too long" };
            panic!("{kind}: FUZZ_SEED={seed} {what} ({kept})");
        }
        round += 1;
    }
    println!("{kind}: {round} shaders");
}

fn wgsl_seeds() -> Vec<Vec<u8>> {
    WGSL.iter().map(|text| text.as_bytes().to_vec()).collect()
}

/// The tree's shaders by naga's SPIR-V writer.
fn spirv_seeds() -> Vec<Vec<u8>> {
    let write = |text: &&str| {
        let module = naga::front::wgsl::parse_str(text).expect("the tree's WGSL");
        let mut validator = Validator::new(ValidationFlags::all(), Capabilities::all());
        let info = validator.validate(&module).expect("valid");
        let options = naga::back::spv::Options::default();
        let words = naga::back::spv::write_vec(&module, &info, &options, None).expect("SPIR-V");
        words.iter().flat_map(|w| w.to_le_bytes()).collect()
    };
    WGSL.iter().map(write).collect()
}

#[test]
fn wgsl_files() {
    run("wgsl", &wgsl_seeds(), 400, 1, shaders::wgsl);
}

#[test]
fn glsl_files() {
    run("glsl", &[GLSL.as_bytes().to_vec()], 400, 1, shaders::glsl);
}

#[test]
fn spirv_binaries() {
    run("spirv", &spirv_seeds(), 1_500, 4, shaders::spirv);
}

#[test]
fn spirv_texts() {
    let texts: Vec<Vec<u8>> = spirv_seeds()
        .iter()
        .map(|binary| {
            let module = spirv::Module::parse("seed", binary).expect("naga's SPIR-V");
            module.text().as_bytes().to_vec()
        })
        .collect();
    run("spvasm", &texts, 400, 1, shaders::spirv_assembly);
}

#[test]
fn ir_texts() {
    let texts: Vec<Vec<u8>> = WGSL
        .iter()
        .flat_map(|text| {
            let module = wgsl::Module::parse("seed", text).expect("the tree's WGSL");
            let print = |name: &String| {
                let shader = module.lower(name, &Default::default()).expect("lowers");
                print_shader(&shader).into_bytes()
            };
            module.entry_points().iter().map(|e| print(&e.name)).collect::<Vec<_>>()
        })
        .collect();
    run("ir", &texts, 1_500, 1, shaders::ir_text);
}
