//! `quadrille inspect`: what a shader declares, and the IR that it becomes.

use super::common::Failure;
use clap::Parser;
use std::path::PathBuf;

/// Print a shader's entry points, interface, resources and IR.
#[derive(Parser, Debug)]
pub struct Args {
    /// A WGSL file.
    shader: PathBuf,
}

/// Prints it.
pub fn run(args: &Args) -> Result<(), Failure> {
    let _ = args;
    Ok(())
}
