//! Writes the still life of `assets/showpiece.glb`: `cargo run --example make_showpiece [-- OUT.glb]`.
//!
//! Everything in it is computed, geometry and pictures alike, so the file belongs to this project. A test holds the committed
//! file and this program together, byte for byte.

mod still_life;

use std::path::PathBuf;
use std::process::ExitCode;

fn main() -> ExitCode {
    let out = std::env::args_os()
        .nth(1)
        .map_or_else(|| PathBuf::from("assets/showpiece.glb"), PathBuf::from);
    let glb = still_life::glb();
    match std::fs::write(&out, &glb) {
        Ok(()) => {
            println!("{} bytes -> {}", glb.len(), out.display());
            ExitCode::SUCCESS
        }
        Err(e) => {
            eprintln!("error: cannot write {}: {e}", out.display());
            ExitCode::FAILURE
        }
    }
}
