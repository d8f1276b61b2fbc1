#![no_main]

#[path = "../src/wgsl.rs"]
#[allow(dead_code, reason = "the tests use more of it")]
mod wgsl;

use std::sync::LazyLock;

static DEVICES: LazyLock<Vec<(&str, quadrille::Device)>> = LazyLock::new(wgsl::devices);

libfuzzer_sys::fuzz_target!(|data: &[u8]| wgsl::compare(&DEVICES, data));
