#![no_main]

#[path = "../src/shaders.rs"]
#[allow(dead_code, reason = "each target is one of its readers")]
mod shaders;

libfuzzer_sys::fuzz_target!(|data: &[u8]| shaders::ir_text(data));
