//! Options that all commands share, and how a command fails.

use clap::builder::PossibleValue;
use clap::{Args, ValueEnum};
use quadrille::{Backend, Device, DeviceDescriptor, Lanes};
use std::error::Error;
use std::num::NonZeroUsize;
use std::str::FromStr;

/// Why a command ends early.
#[derive(Debug)]
pub enum Failure {
    /// The arguments make no sense together.
    Usage(String),
    /// It was tried and failed.
    Failed(Box<dyn Error + Send + Sync>),
    /// The user asked to stop.
    Interrupted,
}

impl Failure {
    /// The process' exit code.
    pub fn exit_code(&self) -> u8 {
        match self {
            Failure::Usage(_) => 2,
            Failure::Failed(_) => 1,
            Failure::Interrupted => 130,
        }
    }

    /// What the user hears of a panic.
    pub fn bug() -> Failure {
        let what = super::report::last_panic().unwrap_or_default();
        Failure::Failed(
            format!("internal error (a bug in quadrille, please report it with what you ran): {what}").into(),
        )
    }
}

impl<E: Error + Send + Sync + 'static> From<E> for Failure {
    fn from(error: E) -> Failure {
        Failure::Failed(Box::new(error))
    }
}

/// How pipelines are executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackendArg(pub Backend);

impl ValueEnum for BackendArg {
    fn value_variants<'a>() -> &'a [Self] {
        &[
            BackendArg(Backend::Auto),
            BackendArg(Backend::Jit),
            BackendArg(Backend::Interpreter),
        ]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(match self.0 {
            Backend::Auto => {
                PossibleValue::new("auto").help("native code, or the interpreter where that is impossible")
            }
            Backend::Jit => PossibleValue::new("jit").help("native code, or an error"),
            Backend::Interpreter => PossibleValue::new("interp")
                .alias("interpreter")
                .help("the reference interpreter"),
        })
    }
}

/// Lanes of native code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LanesArg(pub Lanes);

impl ValueEnum for LanesArg {
    fn value_variants<'a>() -> &'a [Self] {
        &[LanesArg(Lanes::Auto), LanesArg(Lanes::Four), LanesArg(Lanes::Eight)]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(match self.0 {
            Lanes::Auto => PossibleValue::new("auto").help("what the processor does best"),
            Lanes::Four => PossibleValue::new("4").help("one quad a step"),
            Lanes::Eight => PossibleValue::new("8").help("two quads a step"),
        })
    }
}

/// A number of bytes, with an optional suffix K, M, G (powers of 1024).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByteSize(pub u64);

impl FromStr for ByteSize {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let lower = text.to_ascii_lowercase();
        let number = lower.trim_end_matches("ib").trim_end_matches('b');
        let (digits, shift) = match number.chars().last() {
            Some('k') => (&number[..number.len() - 1], 10),
            Some('m') => (&number[..number.len() - 1], 20),
            Some('g') => (&number[..number.len() - 1], 30),
            _ => (number, 0),
        };
        digits
            .trim()
            .parse::<u64>()
            .ok()
            .and_then(|n| n.checked_mul(1 << shift))
            .map(ByteSize)
            .ok_or_else(|| format!("`{text}` is no size; examples are 500M, 4G and 1073741824"))
    }
}

/// What is told on standard error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum LogLevel {
    /// Errors only.
    Error,
    /// And what works differently from what was asked.
    Warn,
    /// And every pipeline that `render` compiles, every job of several that `run` runs.
    Info,
}

/// Options that every rendering command has.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Common options")]
pub struct CommonArgs {
    /// Threads to use; as many as the process may use by default. The image doesn't depend on it.
    #[arg(long, value_name = "N")]
    pub threads: Option<NonZeroUsize>,
    /// Most memory for buffers and textures, such as 500M or 4G.
    #[arg(long, value_name = "SIZE")]
    pub memory_limit: Option<ByteSize>,
    /// How shaders are executed. The image doesn't depend on it.
    #[arg(long, value_enum, default_value_t = BackendArg(Backend::Auto))]
    pub backend: BackendArg,
    /// Lanes of native code. The image doesn't depend on it.
    #[arg(long, value_enum, default_value_t = LanesArg(Lanes::Auto))]
    pub lanes: LanesArg,
    /// Print what was drawn and what it cost.
    #[arg(long)]
    pub stats: bool,
    /// Print errors only.
    #[arg(long, short)]
    pub quiet: bool,
    /// What to tell on standard error.
    #[arg(long, value_enum, value_name = "LEVEL", default_value_t = LogLevel::Warn)]
    pub log: LogLevel,
}

impl CommonArgs {
    /// A device by these options. Warnings go to standard error.
    pub fn device(&self) -> Result<Device, Failure> {
        let device = Device::new(&DeviceDescriptor {
            label: Some("quadrille"),
            threads: self.threads,
            memory_limit: self.memory_limit.map(|size| size.0),
            backend: self.backend.0,
            lanes: self.lanes.0,
            ..DeviceDescriptor::default()
        })?;
        if self.tells(LogLevel::Warn) {
            for warning in device.warnings() {
                super::report::warning(warning);
            }
        }
        Ok(device)
    }

    /// Warns of programs that could not be widened to 8 lanes, each once.
    pub fn tell_refusals(&self, device: &Device) {
        if self.tells(LogLevel::Warn) {
            for refusal in device.refusals() {
                super::report::warning(&format!(
                    "{} runs with 4 lanes, at about half the speed of 8: {}",
                    refusal.program, refusal.reason
                ));
            }
        }
    }

    /// Whether messages of a level are printed.
    pub fn tells(&self, level: LogLevel) -> bool {
        level <= if self.quiet { LogLevel::Error } else { self.log }
    }
}

/// What was compiled, by name.
pub fn compile_counts(device: &Device) -> [(&'static str, u64); 4] {
    let c = device.compile_counters();
    [
        ("programs", c.programs),
        ("programs_at_8_lanes", c.eight_lanes),
        ("programs_interleaved", c.interleaved),
        ("programs_refused", c.refused),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_suffixes() {
        let parse = |text: &str| text.parse::<ByteSize>().map(|b| b.0).ok();
        assert_eq!(parse("1234"), Some(1234));
        assert_eq!(parse("2K"), Some(2048));
        assert_eq!(parse("3 MiB"), Some(3 << 20));
        assert_eq!(parse("4gb"), Some(4 << 30));
        assert_eq!(parse(""), None);
        assert_eq!(parse("K"), None);
        assert_eq!(parse("-1"), None);
        assert_eq!(parse("99999999999999G"), None);
    }
}
