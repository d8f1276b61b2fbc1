//! `quadrille info`: what this build does on this machine.

use super::common::{CommonArgs, Failure};
use clap::Parser;

/// Print how this machine renders: back end, lanes, threads, limits.
#[derive(Parser, Debug)]
pub struct Args {
    #[command(flatten)]
    common: CommonArgs,
}

/// Prints it.
pub fn run(args: &Args) -> Result<(), Failure> {
    let device = args.common.device()?;
    println!("quadrille {}", env!("CARGO_PKG_VERSION"));
    println!("back end  {}", device.backend_name());
    println!("target    {}", device.target_name());
    println!("lanes     {}", device.lanes());
    println!("threads   {}", device.threads());
    println!("memory    {} MiB for resources", device.memory_limit() >> 20);
    println!("limits");
    for (name, value) in device.limits().fields() {
        println!("  {name:<44} {value}");
    }
    Ok(())
}
