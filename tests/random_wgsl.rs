//! Random WGSL gives the same texels by native code and by the interpreter (laws L1, O4).
//!
//! By default a fixed number of shaders; with `FUZZ_MINUTES=60` for that long, from new seeds (`FUZZ_SEED` chooses the first).

#[path = "../fuzz/src/wgsl.rs"]
#[allow(unreachable_pub, reason = "a library elsewhere")]
mod wgsl;

use std::time::{Duration, Instant};

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

/// Bytes of a seed (splitmix64).
fn bytes(seed: u64) -> Vec<u8> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    };
    (0..256).flat_map(|_| next().to_le_bytes()).collect()
}

#[test]
fn random_shaders_agree() {
    let devices = wgsl::devices();
    let first = number("FUZZ_SEED").unwrap_or(1);
    let end = number("FUZZ_MINUTES").map(|minutes| Instant::now() + Duration::from_secs(60 * minutes));
    let mut round = 0;
    while end.map_or(round < 60, |end| Instant::now() < end) {
        let seed = first + round;
        let run = std::panic::AssertUnwindSafe(|| wgsl::compare(&devices, &bytes(seed)));
        if let Err(panic) = std::panic::catch_unwind(run) {
            eprintln!("FUZZ_SEED={seed}");
            std::panic::resume_unwind(panic);
        }
        round += 1;
    }
    println!("{round} shaders");
}

/// The generator makes shaders of every kind of statement, not one trivial shader over and over.
#[test]
fn random_shaders_are_various() {
    let texts: Vec<String> = (1..60).map(|seed| wgsl::random_shader(&bytes(seed))).collect();
    for word in [
        "if ",
        "for ",
        "switch ",
        "discard;",
        "continue;",
        "fn f1",
        "select(",
        "dpdx(",
        "insertBits(",
        ".x = ",
    ] {
        assert!(texts.iter().any(|t| t.contains(word)), "no shader has `{word}`");
    }
    let long = texts.iter().filter(|t| t.lines().count() > 40).count();
    assert!(long > 20, "only {long} of 59 shaders are long");
}
