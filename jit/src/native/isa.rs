//! The machine that code is made for: which instructions Cranelift may use, and two optimisation levels of it.
//!
//! One [`Target`] serves the whole process: an ISA is `Send + Sync`, so any thread compiles with it. AVX-512 stays
//! off, because the widener knows no EVEX forms; frame pointers stay on, because the widener's epilogues restore the
//! stack pointer from them.

use crate::program::CompileError;
use cranelift_codegen::isa::{self, OwnedTargetIsa};
use cranelift_codegen::settings::{self, Configurable};
use std::sync::{Arc, OnceLock};
use target_lexicon::{Architecture, OperatingSystem, Triple};

/// Which instruction sets code may use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Features {
    /// What the CPU has (without AVX-512).
    #[default]
    Host,
    /// Without fused multiply-add: `fma` goes through the exact software function (law N2).
    NoFma,
    /// x86-64-v2: no AVX, no FMA. The same as `Host` on other architectures.
    Baseline,
}

/// A machine with everything that code generation asks about it.
pub struct Target {
    optimised: OwnedTargetIsa,
    plain: OwnedTargetIsa,
    /// Whether vector and scalar fused multiply-add are single instructions.
    pub fma: bool,
    /// x86-64, else aarch64.
    pub x86: bool,
    /// Whether code may be widened to 8 lanes.
    pub avx2: bool,
}

impl Target {
    /// The target for this process' CPU; made once for each set of features.
    pub fn get(features: Features) -> Result<Arc<Target>, CompileError> {
        static TARGETS: [OnceLock<Result<Arc<Target>, String>>; 3] =
            [OnceLock::new(), OnceLock::new(), OnceLock::new()];
        let slot = match features {
            Features::Host => 0,
            Features::NoFma => 1,
            Features::Baseline => 2,
        };
        let made = TARGETS[slot].get_or_init(|| Target::new(features).map(Arc::new));
        made.clone().map_err(|what| CompileError::Unsupported {
            what,
            executor: "jit",
            span: None,
        })
    }

    fn new(features: Features) -> Result<Target, String> {
        let triple = Triple::host();
        if triple.operating_system != OperatingSystem::Linux {
            return Err(format!("the operating system {}", triple.operating_system));
        }
        let x86 = match triple.architecture {
            Architecture::X86_64 => true,
            Architecture::Aarch64(_) => false,
            other => return Err(format!("the architecture {other}")),
        };
        let allowed = |has: bool, advanced: bool| has && !(advanced && features == Features::Baseline);
        let mut names: Vec<&'static str> = Vec::new();
        #[cfg(target_arch = "x86_64")]
        {
            macro_rules! feature {
                ($cpu:tt, $flag:literal, $advanced:expr) => {
                    if allowed(std::is_x86_feature_detected!($cpu), $advanced) {
                        names.push($flag);
                    }
                };
            }
            feature!("sse3", "has_sse3", false);
            feature!("ssse3", "has_ssse3", false);
            feature!("sse4.1", "has_sse41", false);
            feature!("sse4.2", "has_sse42", false);
            feature!("popcnt", "has_popcnt", false);
            feature!("avx", "has_avx", true);
            feature!("avx2", "has_avx2", true);
            feature!("bmi1", "has_bmi1", true);
            feature!("bmi2", "has_bmi2", true);
            feature!("lzcnt", "has_lzcnt", true);
            if features != Features::NoFma {
                feature!("fma", "has_fma", true);
            }
            for need in ["has_ssse3", "has_sse41", "has_sse42", "has_popcnt"] {
                if !names.contains(&need) {
                    return Err(format!(
                        "a CPU below x86-64-v2 (no {})",
                        need.trim_start_matches("has_")
                    ));
                }
            }
        }
        #[cfg(target_arch = "aarch64")]
        {
            if allowed(std::arch::is_aarch64_feature_detected!("lse"), false) {
                names.push("has_lse");
            }
        }
        let fma = if x86 {
            names.contains(&"has_fma")
        } else {
            features != Features::NoFma
        };
        let avx2 = names.contains(&"has_avx2");
        Ok(Target {
            optimised: build(&triple, &names, "speed")?,
            plain: build(&triple, &names, "none")?,
            fma,
            x86,
            avx2,
        })
    }

    /// The ISA, with or without optimisation.
    pub fn isa(&self, optimise: bool) -> &OwnedTargetIsa {
        if optimise { &self.optimised } else { &self.plain }
    }
}

fn build(triple: &Triple, features: &[&str], opt_level: &str) -> Result<OwnedTargetIsa, String> {
    let mut flags = settings::builder();
    let verifier = if cfg!(debug_assertions) { "true" } else { "false" };
    for (name, value) in [
        ("opt_level", opt_level),
        ("enable_verifier", verifier),
        ("preserve_frame_pointers", "true"),
        ("unwind_info", "false"),
        ("is_pic", "false"),
        ("enable_probestack", "false"),
    ] {
        flags
            .set(name, value)
            .map_err(|e| format!("the code generator's setting {name}: {e}"))?;
    }
    let mut builder = isa::lookup(triple.clone()).map_err(|e| format!("the target {triple}: {e}"))?;
    for name in features {
        builder
            .enable(name)
            .map_err(|e| format!("the instruction set {name}: {e}"))?;
    }
    builder
        .finish(settings::Flags::new(flags))
        .map_err(|e| format!("the target {triple}: {e}"))
}
