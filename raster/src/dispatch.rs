//! Runs safe, autovectorised Rust with the widest instruction set that the machine has (laws O1, O6).
//!
//! Only the instruction selection differs: no operation is contracted or reassociated, so results are the same.

/// Which instruction set [`wide`] uses, and [`crate::tile`]'s kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    /// What the target guarantees.
    Baseline,
    /// AVX2 with FMA and BMI: x86-64-v3.
    #[cfg(target_arch = "x86_64")]
    Avx2,
}

/// The level of this machine.
#[inline(always)]
pub(crate) fn level() -> Level {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2")
        && std::arch::is_x86_feature_detected!("fma")
        && std::arch::is_x86_feature_detected!("bmi1")
        && std::arch::is_x86_feature_detected!("bmi2")
        && std::arch::is_x86_feature_detected!("lzcnt")
        && std::arch::is_x86_feature_detected!("popcnt")
    {
        return Level::Avx2;
    }
    Level::Baseline
}

/// Calls `f`, compiled for the machine's level. `f` should be a loop over arrays, all of whose callees are inlined.
#[inline(always)]
pub(crate) fn wide<R>(f: impl FnOnce() -> R) -> R {
    match level() {
        Level::Baseline => f(),
        #[cfg(target_arch = "x86_64")]
        // SAFETY: `level` has found the features that the function enables.
        Level::Avx2 => unsafe { avx2(f) },
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
fn avx2<R>(f: impl FnOnce() -> R) -> R {
    f()
}
