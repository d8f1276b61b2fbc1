//! Eight edge values at once: which lanes of a pair are outside (law O6).

/// Sums `k[e] + steps[e][lane]` over three edges' lanes, as signs.
pub(super) trait Lanes {
    /// Bit i is set where lane i is outside an edge: where one of the sums is negative.
    fn outside(k: [i32; 3], steps: &[[i32; 8]; 3]) -> u8;
}

/// Any machine.
pub(super) struct Portable;

impl Lanes for Portable {
    #[inline(always)]
    fn outside(k: [i32; 3], steps: &[[i32; 8]; 3]) -> u8 {
        let mut bits = 0;
        for lane in 0..8 {
            let any = (k[0] + steps[0][lane]) | (k[1] + steps[1][lane]) | (k[2] + steps[2][lane]);
            bits |= ((any as u32 >> 31) as u8) << lane;
        }
        bits
    }
}

/// x86-64 with AVX2.
#[cfg(target_arch = "x86_64")]
pub(super) struct Avx2;

#[cfg(target_arch = "x86_64")]
impl Lanes for Avx2 {
    #[inline(always)]
    fn outside(k: [i32; 3], steps: &[[i32; 8]; 3]) -> u8 {
        use std::arch::x86_64::*;
        // SAFETY: only code compiled for the AVX2 level uses this type (see `cover`); the loads stay in the arrays.
        unsafe {
            let a = _mm256_add_epi32(_mm256_set1_epi32(k[0]), _mm256_loadu_si256(steps[0].as_ptr().cast()));
            let b = _mm256_add_epi32(_mm256_set1_epi32(k[1]), _mm256_loadu_si256(steps[1].as_ptr().cast()));
            let c = _mm256_add_epi32(_mm256_set1_epi32(k[2]), _mm256_loadu_si256(steps[2].as_ptr().cast()));
            let any = _mm256_or_si256(_mm256_or_si256(a, b), c);
            _mm256_movemask_ps(_mm256_castsi256_ps(any)) as u8
        }
    }
}
