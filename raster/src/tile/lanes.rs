//! Eight i32 lanes for edge functions: portable, and AVX2. All operations wrap.

/// The 8 lanes of a pair.
pub(crate) trait Lanes: Copy {
    /// Whether `f32::mul_add` is an instruction in code for these lanes.
    const FUSED: bool;
    fn new(lanes: [i32; 8]) -> Self;
    fn splat(v: i32) -> Self;
    fn add(self, other: Self) -> Self;
    fn or(self, other: Self) -> Self;
    /// Bit i is lane i's sign.
    fn signs(self) -> u32;
}

/// Any machine.
#[derive(Clone, Copy)]
pub(crate) struct Portable([i32; 8]);

impl Lanes for Portable {
    const FUSED: bool = cfg!(target_arch = "aarch64");
    #[inline(always)]
    fn new(lanes: [i32; 8]) -> Self {
        Portable(lanes)
    }
    #[inline(always)]
    fn splat(v: i32) -> Self {
        Portable([v; 8])
    }
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Portable(std::array::from_fn(|i| self.0[i].wrapping_add(other.0[i])))
    }
    #[inline(always)]
    fn or(self, other: Self) -> Self {
        Portable(std::array::from_fn(|i| self.0[i] | other.0[i]))
    }
    #[inline(always)]
    fn signs(self) -> u32 {
        self.0
            .iter()
            .enumerate()
            .fold(0, |m, (i, v)| m | ((*v as u32) >> 31) << i)
    }
}

/// x86-64 with AVX2: used only at `dispatch::Level::Avx2`, inside of `dispatch::wide`.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
pub(crate) struct Avx2(std::arch::x86_64::__m256i);

#[cfg(target_arch = "x86_64")]
impl Lanes for Avx2 {
    const FUSED: bool = true;
    #[inline(always)]
    fn new(v: [i32; 8]) -> Self {
        // SAFETY: see the type; the pointer is to 8 lanes of the array.
        Avx2(unsafe { std::arch::x86_64::_mm256_loadu_si256(v.as_ptr().cast()) })
    }
    #[inline(always)]
    fn splat(v: i32) -> Self {
        // SAFETY: see the type.
        Avx2(unsafe { std::arch::x86_64::_mm256_set1_epi32(v) })
    }
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        // SAFETY: see the type.
        Avx2(unsafe { std::arch::x86_64::_mm256_add_epi32(self.0, other.0) })
    }
    #[inline(always)]
    fn or(self, other: Self) -> Self {
        // SAFETY: see the type.
        Avx2(unsafe { std::arch::x86_64::_mm256_or_si256(self.0, other.0) })
    }
    #[inline(always)]
    fn signs(self) -> u32 {
        use std::arch::x86_64::{_mm256_castsi256_ps, _mm256_movemask_ps};
        // SAFETY: see the type.
        unsafe { _mm256_movemask_ps(_mm256_castsi256_ps(self.0)) as u32 }
    }
}
