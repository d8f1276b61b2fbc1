//! `quadrille inspect`: what a shader declares, and the IR that it becomes.

use super::common::Failure;
use super::report::print;
use clap::Parser;
use quadrille_frontend::ir::text::print_shader;
use quadrille_frontend::passes;
use quadrille_frontend::wgsl::{Constants, Module};
use std::path::PathBuf;

/// Print a shader's entry points, interface, resources and IR.
#[derive(Parser, Debug)]
pub struct Args {
    /// A WGSL file.
    shader: PathBuf,
    /// Only this entry point.
    #[arg(long)]
    entry_point: Option<String>,
}

/// The largest shader that is read.
const MAX_BYTES: u64 = 64 << 20;

/// Prints the IR of every entry point, calls inlined: its text form begins with inputs, outputs and resources.
pub fn run(args: &Args) -> Result<(), Failure> {
    let text = quadrille::files::read_text(&args.shader, MAX_BYTES)?;
    let module = Module::parse(&args.shader.display().to_string(), &text)?;
    let wanted: Vec<String> = match &args.entry_point {
        Some(name) => vec![name.clone()],
        None => module.entry_points().into_iter().map(|e| e.name).collect(),
    };
    for name in wanted {
        let mut shader = module.lower(&name, &Constants::new())?;
        passes::inline_all(&mut shader)?;
        print(&format!("{}\n", print_shader(&shader)));
    }
    Ok(())
}
