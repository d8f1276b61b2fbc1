//! Hostile files: whatever bytes a reader gets, it returns, in bounded time and memory (law O4).
//!
//! The functions of `fuzz/` run on seeded mutations of valid files. By default a fixed number of each; with `FUZZ_MINUTES=60` every test
//! goes on for that long, from new seeds (`FUZZ_SEED` chooses the first):
//!
//! ```text
//! FUZZ_MINUTES=60 cargo test --release --test hostile
//! ```
//!
//! A failure prints the kind and the seed, and writes the input to the directory for temporary files.

#[path = "../../fuzz/src/lib.rs"]
#[allow(unreachable_pub, reason = "a library elsewhere")]
mod fuzz;
#[path = "../support/texture_files.rs"]
mod make;
mod mutate;
mod seeds;

use mutate::{Random, damage};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

/// The longest that one small file may take, generously: tests run on loaded machines, without optimisation.
const SLOW: Duration = Duration::from_secs(20);

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

/// Runs `reader` on the seeds and on `rounds` mutations of them.
fn run(kind: &str, seeds: &[Vec<u8>], rounds: u64, reader: fn(&[u8])) {
    let first = number("FUZZ_SEED").unwrap_or(1);
    let end = number("FUZZ_MINUTES").map(|minutes| Instant::now() + Duration::from_secs(60 * minutes));
    seeds.iter().for_each(|seed| reader(seed));
    let mut round = 0;
    while end.map_or(round < rounds, |end| Instant::now() < end) {
        let seed = first + round;
        let mut random = Random::new(seed);
        let mut file = seeds[random.below(seeds.len())].clone();
        damage(&mut file, &seeds[random.below(seeds.len())], &mut random);
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
}

#[test]
fn texture_files() {
    run("texture_file", &seeds::texture_files(), 6_000, fuzz::texture_file);
}

#[test]
fn images() {
    run("image", &seeds::images(), 1_500, fuzz::image);
}

#[test]
fn environments() {
    run("environment", &seeds::environments(), 300, fuzz::environment);
}

#[test]
fn models() {
    run("gltf", &seeds::models(), 4_000, fuzz::gltf);
}

#[test]
fn jobs() {
    run("job", &seeds::jobs(), 1_000, fuzz::job);
}
