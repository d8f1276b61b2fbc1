//! 256-bit registers: AVX2 and FMA for lanes, F16C for half floats.
//!
//! Every method is one to four instructions. The types can't be made without an [`Avx2`], and an `Avx2` not without
//! [`Avx2::new`] having asked the processor; that is the safety argument of every block below.

use super::{Floats, Ints, Simd, Words, each, inlined};
use std::arch::x86_64::*;
use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Not, Sub};

/// Proof that the processor has AVX2, FMA and F16C.
#[derive(Clone, Copy, Debug)]
pub struct Avx2(());

/// 8 f32.
#[derive(Clone, Copy, Debug)]
pub struct F32x8(__m256);

/// 8 i32.
#[derive(Clone, Copy, Debug)]
pub struct I32x8(__m256i);

/// Runs intrinsics of AVX, AVX2, FMA or F16C.
macro_rules! have {
    ($($code:tt)*) => {
        // SAFETY: an Avx2, or a value that only an Avx2 makes, is in scope: the processor has the instructions. They read
        // no memory but where the block says so.
        unsafe { $($code)* }
    };
}

impl Avx2 {
    /// Asks the processor.
    pub fn new() -> Option<Avx2> {
        let all =
            is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") && is_x86_feature_detected!("f16c");
        all.then_some(Avx2(()))
    }

    /// The proof without asking.
    ///
    /// # Safety
    /// [`Avx2::new`] has succeeded on this machine.
    #[inline(always)]
    pub unsafe fn assume() -> Avx2 {
        Avx2(())
    }

    #[inline(always)]
    fn clamp<const B: usize>(self, words: Words<'_, B>, index: I32x8) -> __m256i {
        have!(_mm256_min_epu32(index.0, _mm256_set1_epi32(words.last() as i32)))
    }
}

impl Simd for Avx2 {
    const FAST: bool = true;
    type F = F32x8;
    type I = I32x8;

    #[inline(always)]
    fn call<R>(self, f: impl FnOnce(Self) -> R) -> R {
        #[target_feature(enable = "avx2,fma,f16c")]
        #[inline]
        fn enabled<R>(s: Avx2, f: impl FnOnce(Avx2) -> R) -> R {
            f(s)
        }
        have!(enabled(self, f))
    }
    #[inline(always)]
    fn f32(self, v: f32) -> F32x8 {
        have!(F32x8(_mm256_set1_ps(v)))
    }
    #[inline(always)]
    fn i32(self, v: i32) -> I32x8 {
        have!(I32x8(_mm256_set1_epi32(v)))
    }
    #[inline(always)]
    fn load_f32(self, v: &[f32; 8]) -> F32x8 {
        have!(F32x8(_mm256_loadu_ps(v.as_ptr())))
    }
    #[inline(always)]
    fn load_i32(self, v: &[i32; 8]) -> I32x8 {
        have!(I32x8(_mm256_loadu_si256(v.as_ptr().cast())))
    }
    #[inline(always)]
    fn load_u32(self, v: &[u32; 8]) -> I32x8 {
        have!(I32x8(_mm256_loadu_si256(v.as_ptr().cast())))
    }
    #[inline(always)]
    fn transpose(self, rows: [F32x8; 4]) -> [F32x8; 4] {
        transpose(each!(4; r in rows => r.0))
    }
    #[inline(always)]
    fn pick16(self, table: &[i32; 16], index: I32x8) -> I32x8 {
        have!({
            let lo = _mm256_loadu_si256(table.as_ptr().cast());
            let hi = _mm256_loadu_si256(table.as_ptr().add(8).cast());
            let lo = _mm256_castsi256_ps(_mm256_permutevar8x32_epi32(lo, index.0));
            let hi = _mm256_castsi256_ps(_mm256_permutevar8x32_epi32(hi, index.0));
            // Bit 3 chooses the half.
            let upper = _mm256_castsi256_ps(_mm256_slli_epi32::<28>(index.0));
            I32x8(_mm256_castps_si256(_mm256_blendv_ps(lo, hi, upper)))
        })
    }
    #[inline(always)]
    fn gather8(self, words: Words<'_, 1>, index: I32x8) -> I32x8 {
        let index = self.clamp(words, index);
        have!({
            // Reads 4 bytes at each element; the last one's are padding.
            let v = _mm256_i32gather_epi32::<1>(words.start().cast(), index);
            I32x8(_mm256_and_si256(v, _mm256_set1_epi32(0xff)))
        })
    }
    #[inline(always)]
    fn gather16(self, words: Words<'_, 2>, index: I32x8) -> I32x8 {
        let index = self.clamp(words, index);
        have!({
            // Reads 4 bytes at each element; the last one's upper half is padding.
            let v = _mm256_i32gather_epi32::<2>(words.start().cast(), index);
            I32x8(_mm256_and_si256(v, _mm256_set1_epi32(0xffff)))
        })
    }
    #[inline(always)]
    fn gather32(self, words: Words<'_, 4>, index: I32x8) -> I32x8 {
        let index = self.clamp(words, index);
        // Reads elements 0..=last only.
        have!(I32x8(_mm256_i32gather_epi32::<4>(words.start().cast(), index)))
    }
    #[inline(always)]
    fn gather64(self, words: Words<'_, 8>, index: I32x8) -> [I32x8; 2] {
        let index = self.clamp(words, index);
        have!({
            // Lanes 0 1 4 5, then 2 3 6 7, so that one shuffle per half puts all eight in order. Elements 0..=last only.
            let index = _mm256_permute4x64_epi64::<0b11_01_10_00>(index);
            let a = _mm256_i32gather_epi64::<8>(words.start().cast(), _mm256_castsi256_si128(index));
            let b = _mm256_i32gather_epi64::<8>(words.start().cast(), _mm256_extracti128_si256::<1>(index));
            let (a, b) = (_mm256_castsi256_ps(a), _mm256_castsi256_ps(b));
            let lower = _mm256_shuffle_ps::<0b10_00_10_00>(a, b);
            let upper = _mm256_shuffle_ps::<0b11_01_11_01>(a, b);
            [I32x8(_mm256_castps_si256(lower)), I32x8(_mm256_castps_si256(upper))]
        })
    }
    #[inline(always)]
    fn sum64(self, words: Words<'_, 8>, index: [I32x8; 4], wx: I32x8, wy: I32x8) -> Option<[F32x8; 4]> {
        let index = each!(4; i in index => self.clamp(words, i));
        have!({
            // Lanes 0 1 4 5, then 2 3 6 7, of texel i. Elements 0..=last only.
            let texels = inlined(
                #[inline(always)]
                |i: __m256i| {
                    let i = _mm256_permute4x64_epi64::<0b11_01_10_00>(i);
                    [
                        _mm256_i32gather_epi64::<8>(words.start().cast(), _mm256_castsi256_si128(i)),
                        _mm256_i32gather_epi64::<8>(words.start().cast(), _mm256_extracti128_si256::<1>(i)),
                    ]
                },
            );
            // Both texels of a row, component by component: a register holds lanes i and i + 4.
            let bias = _mm256_set1_epi16(i16::MIN);
            let row = inlined(
                #[inline(always)]
                |a: [__m256i; 2], b: [__m256i; 2]| {
                    [
                        _mm256_xor_si256(bias, _mm256_unpacklo_epi16(a[0], b[0])),
                        _mm256_xor_si256(bias, _mm256_unpackhi_epi16(a[0], b[0])),
                        _mm256_xor_si256(bias, _mm256_unpacklo_epi16(a[1], b[1])),
                        _mm256_xor_si256(bias, _mm256_unpackhi_epi16(a[1], b[1])),
                    ]
                },
            );
            let above = row(texels(index[0]), texels(index[1]));
            let below = row(texels(index[2]), texels(index[3]));
            Some(self.transpose(weigh_rows(above, below, wx, wy)))
        })
    }
    #[inline(always)]
    fn pairs64(self, words: Words<'_, 8>, index: [I32x8; 2], wx: I32x8, wy: I32x8) -> Option<[F32x8; 4]> {
        // Through memory: taking lanes out of registers costs two operations each.
        let index = std::hint::black_box(each!(2; i in index => I32x8(self.clamp(words, i)).to_u32()));
        have!({
            let order = _mm256_setr_epi8(
                0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15, 0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14,
                15,
            );
            let bias = _mm256_set1_epi16(i16::MIN);
            // Elements 0..=last and the one behind, which is padding then.
            let at = inlined(
                #[inline(always)]
                |i: u32| _mm_loadu_si128(words.start().add(i as usize * 8).cast()),
            );
            let pair = inlined(
                #[inline(always)]
                |index: &[u32; 8], i: usize| {
                    let both = _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(at(index[i])), at(index[i + 4]));
                    _mm256_xor_si256(bias, _mm256_shuffle_epi8(both, order))
                },
            );
            let row = inlined(
                #[inline(always)]
                |index: &[u32; 8]| [pair(index, 0), pair(index, 1), pair(index, 2), pair(index, 3)],
            );
            Some(weigh_rows(row(&index[0]), row(&index[1]), wx, wy))
        })
    }
    #[inline(always)]
    fn lerp64(self, words: Words<'_, 8>, index: [I32x8; 4], wx: F32x8, wy: F32x8) -> Option<[F32x8; 4]> {
        let index = each!(4; i in index => self.clamp(words, i));
        have!({
            // Lanes 0 4 1 5, then 2 6 3 7, of texel i. Elements 0..=last only.
            let texels = inlined(
                #[inline(always)]
                |i: __m256i| {
                    let i = _mm256_permutevar8x32_epi32(i, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
                    [
                        _mm256_i32gather_epi64::<8>(words.start().cast(), _mm256_castsi256_si128(i)),
                        _mm256_i32gather_epi64::<8>(words.start().cast(), _mm256_extracti128_si256::<1>(i)),
                    ]
                },
            );
            let raw = each!(4; i in index => texels(i));
            // Exponents of all ones: infinity or NaN.
            let top = _mm256_set1_epi16(0x7c00);
            let mut special = _mm256_setzero_si256();
            for i in 0..4 {
                for k in 0..2 {
                    let is = _mm256_cmpeq_epi16(_mm256_and_si256(raw[i][k], top), top);
                    special = _mm256_or_si256(special, is);
                }
            }
            if _mm256_testz_si256(special, special) == 0 {
                return None;
            }
            let (wx, wy) = (spread(wx), spread(wy));
            let zero = _mm256_setzero_ps();
            let lerp = inlined(
                #[inline(always)]
                |a: __m256, b: __m256, w: __m256| {
                    let r = _mm256_add_ps(a, _mm256_mul_ps(_mm256_sub_ps(b, a), w));
                    _mm256_blendv_ps(r, a, _mm256_cmp_ps::<_CMP_EQ_OQ>(w, zero))
                },
            );
            let wide = inlined(
                #[inline(always)]
                |t: [__m256i; 2], i: usize| {
                    _mm256_cvtph_ps(match i {
                        0 => _mm256_castsi256_si128(t[0]),
                        1 => _mm256_extracti128_si256::<1>(t[0]),
                        2 => _mm256_castsi256_si128(t[1]),
                        _ => _mm256_extracti128_si256::<1>(t[1]),
                    })
                },
            );
            let sum = inlined(
                #[inline(always)]
                |i: usize| {
                    let above = lerp(wide(raw[0], i), wide(raw[1], i), wx[i]);
                    let below = lerp(wide(raw[2], i), wide(raw[3], i), wx[i]);
                    lerp(above, below, wy[i])
                },
            );
            Some(transpose([sum(0), sum(1), sum(2), sum(3)]))
        })
    }
    #[inline(always)]
    fn gather128(self, words: Words<'_, 16>, index: I32x8) -> [I32x8; 4] {
        let index = I32x8(self.clamp(words, index)).to_array();
        have!({
            // Elements 0..=last only. Lanes i and i + 4 share a register, then a 4x4 transpose per half.
            let at = inlined(
                #[inline(always)]
                |i: usize| _mm_loadu_ps(words.start().add(index[i] as usize * 16).cast()),
            );
            let pair = inlined(
                #[inline(always)]
                |i: usize| _mm256_insertf128_ps::<1>(_mm256_castps128_ps256(at(i)), at(i + 4)),
            );
            let out = transpose([pair(0), pair(1), pair(2), pair(3)]);
            each!(4; v in out => v.bits())
        })
    }
}

/// Sums of [`Simd::sum64`] from two rows: register i holds, of lanes i and i + 4, each component of both texels side by side,
/// as signed 16-bit numbers, 32768 less than they are.
#[inline(always)]
fn weigh_rows(above: [__m256i; 4], below: [__m256i; 4], wx: I32x8, wy: I32x8) -> [F32x8; 4] {
    have!({
        let weights = _mm256_or_si256(
            _mm256_sub_epi32(_mm256_set1_epi32(256), wx.0),
            _mm256_slli_epi32::<16>(wx.0),
        );
        let weights = [
            _mm256_shuffle_epi32::<0x00>(weights),
            _mm256_shuffle_epi32::<0x55>(weights),
            _mm256_shuffle_epi32::<0xaa>(weights),
            _mm256_shuffle_epi32::<0xff>(weights),
        ];
        let wy = spread(F32x8(_mm256_cvtepi32_ps(wy.0)));
        let sum = inlined(
            #[inline(always)]
            |i: usize| {
                // Row sums are below 2^24, so exact in f32, and so is their difference.
                let unbias = _mm256_set1_epi32(1 << 23);
                let a = _mm256_add_epi32(_mm256_madd_epi16(above[i], weights[i]), unbias);
                let b = _mm256_add_epi32(_mm256_madd_epi16(below[i], weights[i]), unbias);
                let (a, b) = (_mm256_cvtepi32_ps(a), _mm256_cvtepi32_ps(b));
                let first = _mm256_mul_ps(a, _mm256_set1_ps(256.0));
                _mm256_fmadd_ps(_mm256_sub_ps(b, a), wy[i], first)
            },
        );
        [F32x8(sum(0)), F32x8(sum(1)), F32x8(sum(2)), F32x8(sum(3))]
    })
}

/// Registers of the four components of lanes i and i + 4 to registers of a component each.
#[inline(always)]
fn transpose(rows: [__m256; 4]) -> [F32x8; 4] {
    let [a, b, c, d] = rows;
    have!({
        let (ab_lo, ab_hi) = (_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b));
        let (cd_lo, cd_hi) = (_mm256_unpacklo_ps(c, d), _mm256_unpackhi_ps(c, d));
        [
            F32x8(_mm256_shuffle_ps::<0b01_00_01_00>(ab_lo, cd_lo)),
            F32x8(_mm256_shuffle_ps::<0b11_10_11_10>(ab_lo, cd_lo)),
            F32x8(_mm256_shuffle_ps::<0b01_00_01_00>(ab_hi, cd_hi)),
            F32x8(_mm256_shuffle_ps::<0b11_10_11_10>(ab_hi, cd_hi)),
        ]
    })
}

/// Numbers of lanes i and i + 4 in all four places of register i.
#[inline(always)]
fn spread(v: F32x8) -> [__m256; 4] {
    [v.quad::<0>().0, v.quad::<1>().0, v.quad::<2>().0, v.quad::<3>().0]
}

macro_rules! operators {
    ($type:ident: $($trait:ident $method:ident $f:ident),*) => {$(
        impl $trait for $type {
            type Output = $type;
            #[inline(always)]
            fn $method(self, b: $type) -> $type {
                have!($type($f(self.0, b.0)))
            }
        }
    )*};
}
operators!(F32x8: Add add _mm256_add_ps, Sub sub _mm256_sub_ps, Mul mul _mm256_mul_ps, Div div _mm256_div_ps);
operators!(I32x8: Add add _mm256_add_epi32, Sub sub _mm256_sub_epi32, Mul mul _mm256_mullo_epi32,
    BitAnd bitand _mm256_and_si256, BitOr bitor _mm256_or_si256, BitXor bitxor _mm256_xor_si256);

impl Not for I32x8 {
    type Output = I32x8;
    #[inline(always)]
    fn not(self) -> I32x8 {
        have!(I32x8(_mm256_xor_si256(self.0, _mm256_set1_epi32(-1))))
    }
}

macro_rules! compare {
    ($a:expr, $b:expr, $predicate:ident) => {
        have!(I32x8(_mm256_castps_si256(_mm256_cmp_ps::<$predicate>($a, $b))))
    };
}

impl Floats for F32x8 {
    type I = I32x8;

    #[inline(always)]
    fn min(self, b: Self) -> Self {
        have!(F32x8(_mm256_min_ps(self.0, b.0)))
    }
    #[inline(always)]
    fn max(self, b: Self) -> Self {
        have!(F32x8(_mm256_max_ps(self.0, b.0)))
    }
    #[inline(always)]
    fn lt(self, b: Self) -> I32x8 {
        compare!(self.0, b.0, _CMP_LT_OQ)
    }
    #[inline(always)]
    fn le(self, b: Self) -> I32x8 {
        compare!(self.0, b.0, _CMP_LE_OQ)
    }
    #[inline(always)]
    fn eq(self, b: Self) -> I32x8 {
        compare!(self.0, b.0, _CMP_EQ_OQ)
    }
    #[inline(always)]
    fn ordered(self) -> I32x8 {
        compare!(self.0, self.0, _CMP_ORD_Q)
    }
    #[inline(always)]
    fn abs(self) -> Self {
        have!(F32x8(_mm256_andnot_ps(_mm256_set1_ps(-0.0), self.0)))
    }
    #[inline(always)]
    fn floor(self) -> Self {
        have!(F32x8(_mm256_floor_ps(self.0)))
    }
    #[inline(always)]
    fn trunc(self) -> Self {
        have!(F32x8(_mm256_round_ps::<{ _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC }>(
            self.0
        )))
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        have!(F32x8(_mm256_sqrt_ps(self.0)))
    }
    #[inline(always)]
    fn round_i32(self) -> I32x8 {
        // The control register's rounding is never changed from nearest even (law N1).
        have!(I32x8(_mm256_cvtps_epi32(self.0)))
    }
    #[inline(always)]
    fn bits(self) -> I32x8 {
        have!(I32x8(_mm256_castps_si256(self.0)))
    }
    #[inline(always)]
    fn quad<const LANE: usize>(self) -> Self {
        have!(F32x8(match LANE {
            0 => _mm256_permute_ps::<0x00>(self.0),
            1 => _mm256_permute_ps::<0x55>(self.0),
            2 => _mm256_permute_ps::<0xaa>(self.0),
            _ => _mm256_permute_ps::<0xff>(self.0),
        }))
    }
    #[inline(always)]
    fn to_array(self) -> [f32; 8] {
        let mut out = [0.0; 8];
        // Writes the local array.
        have!(_mm256_storeu_ps(out.as_mut_ptr(), self.0));
        out
    }
}

impl Ints for I32x8 {
    type F = F32x8;

    #[inline(always)]
    fn shl<const N: i32>(self) -> Self {
        have!(I32x8(_mm256_slli_epi32::<N>(self.0)))
    }
    #[inline(always)]
    fn shr<const N: i32>(self) -> Self {
        have!(I32x8(_mm256_srli_epi32::<N>(self.0)))
    }
    #[inline(always)]
    fn sar<const N: i32>(self) -> Self {
        have!(I32x8(_mm256_srai_epi32::<N>(self.0)))
    }
    #[inline(always)]
    fn min(self, b: Self) -> Self {
        have!(I32x8(_mm256_min_epi32(self.0, b.0)))
    }
    #[inline(always)]
    fn max(self, b: Self) -> Self {
        have!(I32x8(_mm256_max_epi32(self.0, b.0)))
    }
    #[inline(always)]
    fn eq(self, b: Self) -> Self {
        have!(I32x8(_mm256_cmpeq_epi32(self.0, b.0)))
    }
    #[inline(always)]
    fn gt(self, b: Self) -> Self {
        have!(I32x8(_mm256_cmpgt_epi32(self.0, b.0)))
    }
    #[inline(always)]
    fn to_f32(self) -> F32x8 {
        have!(F32x8(_mm256_cvtepi32_ps(self.0)))
    }
    #[inline(always)]
    fn half_to_f32(self) -> F32x8 {
        have!({
            let packed = _mm256_packus_epi32(self.0, self.0);
            let packed = _mm256_permute4x64_epi64::<0b10_00_10_00>(packed);
            F32x8(_mm256_cvtph_ps(_mm256_castsi256_si128(packed)))
        })
    }
    #[inline(always)]
    fn as_f32(self) -> F32x8 {
        have!(F32x8(_mm256_castsi256_ps(self.0)))
    }
    #[inline(always)]
    fn madd16(self, b: Self) -> Self {
        have!(I32x8(_mm256_madd_epi16(self.0, b.0)))
    }
    #[inline(always)]
    fn mul_lo16(self, b: Self) -> Self {
        have!(I32x8(_mm256_mullo_epi16(self.0, b.0)))
    }
    #[inline(always)]
    fn add16(self, b: Self) -> Self {
        have!(I32x8(_mm256_add_epi16(self.0, b.0)))
    }
    #[inline(always)]
    fn halves(self, b: Self) -> Self {
        have!(I32x8(_mm256_blend_epi16::<0b1010_1010>(self.0, b.0)))
    }
    #[inline(always)]
    fn select(self, a: Self, b: Self) -> Self {
        have!({
            let (a, b) = (_mm256_castsi256_ps(a.0), _mm256_castsi256_ps(b.0));
            I32x8(_mm256_castps_si256(_mm256_blendv_ps(b, a, _mm256_castsi256_ps(self.0))))
        })
    }
    #[inline(always)]
    fn select_f(self, a: F32x8, b: F32x8) -> F32x8 {
        have!(F32x8(_mm256_blendv_ps(b.0, a.0, _mm256_castsi256_ps(self.0))))
    }
    #[inline(always)]
    fn sign_bits(self) -> u32 {
        have!(_mm256_movemask_ps(_mm256_castsi256_ps(self.0)) as u32)
    }
    #[inline(always)]
    fn to_u32(self) -> [u32; 8] {
        let mut out = [0; 8];
        // Writes the local array.
        have!(_mm256_storeu_si256(out.as_mut_ptr().cast(), self.0));
        out
    }
    #[inline(always)]
    fn to_array(self) -> [i32; 8] {
        let mut out = [0; 8];
        // Writes the local array.
        have!(_mm256_storeu_si256(out.as_mut_ptr().cast(), self.0));
        out
    }
}
