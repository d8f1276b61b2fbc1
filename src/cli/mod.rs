//! The command line: subcommands over the library's public interface.
//!
//! ```text
//! main ──► clap ──► run | render | trace | inspect | compare | info ──► Result<(), Failure> ──► report ──► exit code
//! ```
//!
//! Exit codes (law O3): 0 done, 1 failed, 2 wrong usage, 130 interrupted. Whatever happens there is one error message on
//! standard error, no panic text, and no partial output file.

mod batch;
mod common;
mod compare;
mod info;
mod inspect;
mod interrupt;
mod render;
mod report;
mod run;
mod trace;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

pub use common::Failure;

/// A shader rasterizer for the CPU: pipelines compiled to native code, the same bits on every run.
#[derive(Parser, Debug)]
#[command(name = "quadrille", version, max_term_width = 110, disable_help_subcommand = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    Render(render::Args),
    Run(run::Args),
    Inspect(inspect::Args),
    Compare(compare::Args),
    Trace(trace::Args),
    Info(info::Args),
}

/// Runs the command that the process' arguments name.
pub fn main() -> ExitCode {
    let begun = std::time::Instant::now();
    // Clap prints its own messages and exits with 2, or with 0 after --help and --version.
    let cli = Cli::parse();
    report::quiet_panics();
    interrupt::install();
    let run = std::panic::AssertUnwindSafe(|| match &cli.command {
        Command::Render(args) => render::run(args),
        Command::Run(args) => run::run(args, begun),
        Command::Inspect(args) => inspect::run(args),
        Command::Compare(args) => compare::run(args),
        Command::Trace(args) => trace::run(args),
        Command::Info(args) => info::run(args),
    });
    let outcome = std::panic::catch_unwind(run).unwrap_or_else(|_| Err(Failure::bug()));
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            // After an interrupt other errors are its consequences.
            let failure = if interrupt::happened() {
                Failure::Interrupted
            } else {
                failure
            };
            report::failure(&failure);
            ExitCode::from(failure.exit_code())
        }
    }
}
