//! Whether the upper halves of ymm registers are in use: code that leaves them so makes SSE code after it slow.

/// Whether upper halves are in use; `None` where the processor doesn't tell.
pub fn in_use() -> Option<bool> {
    #[cfg(target_arch = "x86_64")]
    {
        // XGETBV with ecx = 1 gives which parts of the extended state aren't in their initial configuration.
        let told = std::arch::x86_64::__cpuid_count(0xd, 1).eax & 4 != 0;
        if is_x86_feature_detected!("xsave") && is_x86_feature_detected!("avx2") && told {
            // SAFETY: the instruction exists, and takes this argument.
            return Some(unsafe { state() } & 4 != 0);
        }
    }
    None
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "xsave")]
fn state() -> u64 {
    // SAFETY: the caller has looked that 1 is a valid argument.
    unsafe { std::arch::x86_64::_xgetbv(1) }
}

/// Puts a value into an upper half and leaves it there.
#[cfg(target_arch = "x86_64")]
pub fn dirty() {
    if is_x86_feature_detected!("avx2") {
        // SAFETY: AVX2 exists; a register that calls clobber anyway is changed.
        unsafe {
            std::arch::asm!("vpcmpeqd ymm15, ymm15, ymm15", out("xmm15") _, options(nomem, nostack));
        }
    }
}
