//! `quadrille inspect`: what a shader declares, and what becomes of it on the way to machine code.
//!
//! ```text
//! text ─► IR (ir) ─ assembled alone, passes ─► rates ─► CLIF (clif) ─► machine code (asm)
//!                             └───────────── sizes, choices, times of each step (stats)
//! ```
//!
//! Everything but `ir` is of the whole program: the entry point in a pipeline of the plainest state, with fixed function.

mod rates;
mod stats;

use super::common::{Failure, LanesArg};
use super::report::{print, warning};
use clap::{Parser, ValueEnum};
use quadrille::Lanes;
use quadrille::files::shader::ShaderFile;
use quadrille_frontend::ir::Shader;
use quadrille_frontend::ir::text::print_shader;
use quadrille_frontend::passes;
use quadrille_frontend::passes::gradient::{Reading, judge};
use quadrille_frontend::wgsl::{Constants, EntryPoint};
use quadrille_jit::{Interleave, Jit, JitOptions};
use quadrille_raster::pipeline::alone;
use std::path::PathBuf;
use std::time::Instant;

/// Print a shader's entry points, interface and resources, and what it becomes.
#[derive(Parser, Debug)]
pub struct Args {
    /// A shader: .wgsl, .vert, .frag, .glsl, .spv or .spvasm (.hlsl with an outside compiler).
    shader: PathBuf,
    /// Compile GLSL and HLSL with this glslangValidator or glslc.
    #[arg(long, value_name = "PATH")]
    glslang: Option<PathBuf>,
    /// Only this entry point.
    #[arg(long)]
    entry_point: Option<String>,
    /// What to print.
    #[arg(long, value_enum, value_name = "WHAT", default_value_t = Emit::Ir)]
    emit: Emit,
    /// Lanes of native code.
    #[arg(long, value_enum, default_value_t = LanesArg(Lanes::Auto))]
    lanes: LanesArg,
    /// Whether fragment programs take two pairs of quads at a time.
    #[arg(long, value_enum, value_name = "WHEN", default_value_t = When::Auto)]
    interleave: When,
}

/// What to print.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Emit {
    /// Inputs, outputs, resources and code as the front end makes them, calls inlined.
    Ir,
    /// The program after all passes; how often each value changes.
    Rates,
    /// The program in Cranelift's form.
    Clif,
    /// Machine code.
    Asm,
    /// Instructions before and after each pass, lanes and why, code size, spills, times.
    Stats,
}

/// Whether to do something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum When {
    /// Where it pays.
    Auto,
    /// Wherever it can be done.
    On,
    /// Never.
    Off,
}

/// The largest shader that is read.
const MAX_BYTES: u64 = 64 << 20;

/// Prints what was asked for, of every entry point.
pub fn run(args: &Args) -> Result<(), Failure> {
    let file = ShaderFile::read(&args.shader, MAX_BYTES, args.glslang.as_deref())?;
    let clock = Instant::now();
    let module = file.parse(&args.shader.display().to_string())?;
    let parse = clock.elapsed();
    for text in module.warnings() {
        warning(text.trim_start_matches("warning: ").trim_end());
    }
    let wanted: Vec<EntryPoint> = match &args.entry_point {
        Some(name) => vec![EntryPoint {
            name: name.clone(),
            stage: None,
        }],
        None => module.entry_points(),
    };
    for EntryPoint { name, stage } in wanted {
        let clock = Instant::now();
        let mut shader = module.lower(&name, stage, &Constants::new())?;
        passes::inline_all(&mut shader)?;
        if module.leaves_gradients_undefined() {
            for found in judge(&shader, Reading::Undefined)? {
                warning(found.render_warning().trim_start_matches("warning: ").trim_end());
            }
        }
        let front_end = parse + clock.elapsed();
        let text = match args.emit {
            Emit::Ir => print_shader(&shader),
            _ => emit(args, &shader, front_end)?,
        };
        print(&format!("{text}\n"));
    }
    Ok(())
}

fn emit(args: &Args, shader: &Shader, front_end: std::time::Duration) -> Result<String, Failure> {
    let (program, passes) = alone(shader)?;
    let heading = format!("{:?} {}\n", shader.stage, shader.name).to_lowercase();
    if args.emit == Emit::Rates {
        return Ok(heading + &rates::annotated(&program.function, &program.resources));
    }
    let jit = Jit::new(JitOptions {
        lanes: match args.lanes.0 {
            Lanes::Auto => quadrille_jit::Lanes::Auto,
            Lanes::Four => quadrille_jit::Lanes::Four,
            Lanes::Eight => quadrille_jit::Lanes::Eight,
        },
        interleave: match args.interleave {
            When::Auto => Interleave::default(),
            When::On => Interleave::Always,
            When::Off => Interleave::Never,
        },
        ..JitOptions::default()
    })?;
    Ok(heading
        + &match args.emit {
            Emit::Clif => jit.clif(&program, jit.report(&program)?.lanes)?,
            Emit::Asm => jit.disassemble(&program)?,
            Emit::Ir | Emit::Rates | Emit::Stats => stats::table(&jit, &program, &passes, front_end)?,
        })
}
