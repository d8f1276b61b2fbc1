//! `quadrille info`: what this build does on this machine.

use super::common::{CommonArgs, Failure};
use super::report;
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
    let mut text = String::new();
    for (name, value) in [
        ("quadrille", env!("CARGO_PKG_VERSION").to_owned()),
        ("back end", device.backend_name().to_owned()),
        ("target", device.target_name().to_owned()),
        ("lanes", device.lanes().to_string()),
        ("threads", device.threads().to_string()),
        (
            "memory",
            format!("{} MiB for buffers and textures", device.memory_limit() >> 20),
        ),
    ] {
        text += &format!("{name:<10} {value}\n");
    }
    text += "limits\n";
    for (name, value) in device.limits().fields() {
        text += &format!("  {name:<44} {value}\n");
    }
    report::print(&text);
    Ok(())
}
