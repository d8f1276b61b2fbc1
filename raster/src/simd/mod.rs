//! Eight lanes at once, behind safe types: one source for every kernel, the same bits at every level.
//!
//! ```text
//! kernel<S: Simd>(s: S, ..)  ──►  S = Portable: arrays, any machine
//!                            └─►  S = Avx2: 256-bit registers, where the processor has them
//! ```
//!
//! A kernel is generic over [`Simd`] and `#[inline(always)]`, its closures too; [`Simd::call`] is its outermost frame and
//! enables the instructions. Values of the AVX2 types exist only if [`avx2::Avx2::new`] found the processor able, which is what makes their
//! safe methods safe. Nothing here rounds differently at different levels: there is no approximate reciprocal, no dependence on control
//! registers, and a fused multiply-add only inside of sums that are defined as exact and rounded once (law O6). Out-of-range indices of a gather are clamped to
//! the view's last element: [`Words`] fixes the bounds once.

#[cfg(target_arch = "x86_64")]
pub mod avx2;
pub mod portable;
pub mod words;

/// An array from an array of 2, 3 or 4, without a closure: closures are functions of their own, compiled without the
/// instructions that [`Simd::call`] enables unless inlined, which only `#[inline(always)]` assures.
macro_rules! each {
    (2; $v:pat in $a:expr => $e:expr) => {{
        let [a, b] = $a;
        [
            {
                let $v = a;
                $e
            },
            {
                let $v = b;
                $e
            },
        ]
    }};
    (3; $v:pat in $a:expr => $e:expr) => {{
        let [a, b, c] = $a;
        [
            {
                let $v = a;
                $e
            },
            {
                let $v = b;
                $e
            },
            {
                let $v = c;
                $e
            },
        ]
    }};
    (4; $v:pat in $a:expr => $e:expr) => {{
        let [a, b, c, d] = $a;
        [
            {
                let $v = a;
                $e
            },
            {
                let $v = b;
                $e
            },
            {
                let $v = c;
                $e
            },
            {
                let $v = d;
                $e
            },
        ]
    }};
}
pub(crate) use each;

/// The closure itself. Only as an argument may a closure carry `#[inline(always)]`, which kernels need.
#[inline(always)]
pub(crate) fn inlined<F>(f: F) -> F {
    f
}

use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Not, Sub};
pub use words::{AnyWords, Words};

/// Which instructions kernels use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Plain arrays.
    Portable,
    /// AVX2 and F16C.
    Avx2,
}

impl Level {
    /// The best level of this machine.
    pub fn detect() -> Level {
        #[cfg(target_arch = "x86_64")]
        if avx2::Avx2::new().is_some() {
            return Level::Avx2;
        }
        Level::Portable
    }
}

/// A set of instructions: makes values and reads memory.
pub trait Simd: Copy + Send + Sync + 'static {
    /// Whether kernels specialised for speed are worth compiling.
    const FAST: bool;
    /// 8 f32.
    type F: Floats<I = Self::I>;
    /// 8 i32 (or u32, or masks: 0 and -1).
    type I: Ints<F = Self::F>;

    /// Runs `f` with the instructions enabled; everything `#[inline(always)]` inside is compiled for them.
    fn call<R>(self, f: impl FnOnce(Self) -> R) -> R;
    /// The same number in all lanes.
    fn f32(self, v: f32) -> Self::F;
    /// The same number in all lanes.
    fn i32(self, v: i32) -> Self::I;
    /// Eight numbers.
    fn load_f32(self, v: &[f32; 8]) -> Self::F;
    /// Eight numbers.
    fn load_i32(self, v: &[i32; 8]) -> Self::I;
    /// Eight words.
    fn load_u32(self, v: &[u32; 8]) -> Self::I;
    /// `table[index & 15]`.
    fn pick16(self, table: &[i32; 16], index: Self::I) -> Self::I;
    /// One-byte elements, zero-extended.
    fn gather8(self, words: Words<'_, 1>, index: Self::I) -> Self::I;
    /// Two-byte elements, zero-extended.
    fn gather16(self, words: Words<'_, 2>, index: Self::I) -> Self::I;
    /// Four-byte elements.
    fn gather32(self, words: Words<'_, 4>, index: Self::I) -> Self::I;
    /// Eight-byte elements: lower and upper words.
    fn gather64(self, words: Words<'_, 8>, index: Self::I) -> [Self::I; 2];
    /// Sixteen-byte elements.
    fn gather128(self, words: Words<'_, 16>, index: Self::I) -> [Self::I; 4];

    /// Of texels of four 16-bit numbers, (0,0) (1,0) (0,1) (1,1): by component the sum weighted by 16-bit weights, `wx` and
    /// `wy` out of 256 being those of the second column and row. Exact, then rounded once. `None`: not at this level.
    #[inline(always)]
    fn sum64(self, _words: Words<'_, 8>, _index: [Self::I; 4], _wx: Self::I, _wy: Self::I) -> Option<[Self::F; 4]> {
        None
    }
    /// As [`sum64`](Self::sum64), of two rows of texels at `index` and behind it, by lane: number i holds the four components of
    /// lanes i and i + 4, as [`spread`](Self::spread) has them.
    #[inline(always)]
    fn pairs64(self, _words: Words<'_, 8>, _index: [Self::I; 2], _wx: Self::I, _wy: Self::I) -> Option<[Self::F; 4]> {
        None
    }
    /// Numbers of lanes i and i + 4 in all places of number i.
    #[inline(always)]
    fn spread(self, v: Self::F) -> [Self::F; 4] {
        [v.quad::<0>(), v.quad::<1>(), v.quad::<2>(), v.quad::<3>()]
    }
    /// From four components by lane to lanes by component, and back.
    fn transpose(self, rows: [Self::F; 4]) -> [Self::F; 4];
    /// Of texels of four half floats: by component the lerps along x, then y, as [`Floats::lerp`] has them. `None`: not at this
    /// level, or a texel isn't finite.
    #[inline(always)]
    fn lerp64(self, _words: Words<'_, 8>, _index: [Self::I; 4], _wx: Self::F, _wy: Self::F) -> Option<[Self::F; 4]> {
        None
    }

    /// f32 from table look-ups by lane: `table[index & 255]`.
    #[inline(always)]
    fn pick256(self, table: &[f32; 256], index: Self::I) -> Self::F {
        let mut out = [0.0; 8];
        for (out, i) in out.iter_mut().zip(index.to_array()) {
            *out = table[(i & 255) as usize];
        }
        self.load_f32(&out)
    }
}

/// Eight f32. Comparisons give masks.
pub trait Floats: Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self> {
    /// Their bits, and masks.
    type I: Ints<F = Self>;

    /// `a < b ? a : b`: `b` if either is NaN.
    fn min(self, b: Self) -> Self;
    /// `a > b ? a : b`: `b` if either is NaN.
    fn max(self, b: Self) -> Self;
    /// Less.
    fn lt(self, b: Self) -> Self::I;
    /// Less or equal.
    fn le(self, b: Self) -> Self::I;
    /// Equal.
    fn eq(self, b: Self) -> Self::I;
    /// Not NaN.
    fn ordered(self) -> Self::I;
    /// Without sign.
    fn abs(self) -> Self;
    /// Largest integer not above.
    fn floor(self) -> Self;
    /// Toward zero.
    fn trunc(self) -> Self;
    /// Correctly rounded.
    fn sqrt(self) -> Self;
    /// To nearest even. Values must fit.
    fn round_i32(self) -> Self::I;
    /// The bits.
    fn bits(self) -> Self::I;
    /// Each lane gets lane `LANE` (0..4) of its quad.
    fn quad<const LANE: usize>(self) -> Self;
    /// The numbers.
    fn to_array(self) -> [f32; 8];
    /// `a + (b - a) * w`, exactly `a` where `w` is 0 (even if `b` is NaN), and for infinities the weighted sum. Stays
    /// between `a` and `b`, and gives `a` where they are equal (R-SAMP-88, 89).
    #[inline(always)]
    fn lerp(self, b: Self, w: Self, zero: Self, one: Self, infinity: Self) -> Self {
        let d = b - self;
        let finite = d.abs().lt(infinity);
        let mut r = self + d * w;
        if !finite.all() {
            r = finite.select_f(r, self * (one - w) + b * w);
        }
        w.eq(zero).select_f(self, r)
    }
}

/// Eight 32-bit integers; arithmetic wraps.
pub trait Ints:
    Copy
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + BitAnd<Output = Self>
    + BitOr<Output = Self>
    + BitXor<Output = Self>
    + Not<Output = Self>
{
    /// The same lanes as floats.
    type F: Floats<I = Self>;

    /// Left.
    fn shl<const N: i32>(self) -> Self;
    /// Right, zeros enter.
    fn shr<const N: i32>(self) -> Self;
    /// Right, the sign enters.
    fn sar<const N: i32>(self) -> Self;
    /// Signed.
    fn min(self, b: Self) -> Self;
    /// Signed.
    fn max(self, b: Self) -> Self;
    /// Equal.
    fn eq(self, b: Self) -> Self;
    /// Signed greater.
    fn gt(self, b: Self) -> Self;
    /// Signed to f32, to nearest.
    fn to_f32(self) -> Self::F;
    /// Half floats in the low 16 bits (the rest 0) to f32.
    fn half_to_f32(self) -> Self::F;
    /// As f32 bits.
    fn as_f32(self) -> Self::F;
    /// Of each 32-bit lane's signed 16-bit halves: `a.lo * b.lo + a.hi * b.hi`.
    fn madd16(self, b: Self) -> Self;
    /// 16-bit lanes: low halves of the products.
    fn mul_lo16(self, b: Self) -> Self;
    /// 16-bit lanes: sums.
    fn add16(self, b: Self) -> Self;
    /// Low 16-bit halves of `self`, high halves of `b`.
    fn halves(self, b: Self) -> Self;
    /// Of masks: `self ? a : b`.
    fn select(self, a: Self, b: Self) -> Self;
    /// Of masks: `self ? a : b`.
    fn select_f(self, a: Self::F, b: Self::F) -> Self::F;
    /// Sign bits, lane 0 lowest.
    fn sign_bits(self) -> u32;
    /// Whether any lane of the mask is set.
    #[inline(always)]
    fn any(self) -> bool {
        self.sign_bits() != 0
    }
    /// Whether all lanes of the mask are set.
    #[inline(always)]
    fn all(self) -> bool {
        self.sign_bits() == 255
    }
    /// The numbers.
    fn to_array(self) -> [i32; 8];
    /// The numbers, unsigned.
    fn to_u32(self) -> [u32; 8];
    /// Unsigned 32-bit to f32, rounded once.
    #[inline(always)]
    fn unsigned_to_f32(self, low16: Self, scale: Self::F) -> Self::F {
        self.shr::<16>().to_f32() * scale + (self & low16).to_f32()
    }
}

#[cfg(test)]
mod tests;
