//! Format classes: how eight texels are fetched, decoded and filtered.
//!
//! | class | formats | bilinear |
//! |---|---|---|
//! | [`Rgba8`] | rgba8unorm, bgra8unorm | exact integer sum, channels in 16-bit pairs |
//! | [`Norm8`] | r8unorm, rg8unorm | exact integer sum |
//! | [`Norm16`] | 16-bit unorm, depth16unorm, the linear copy of sRGB formats | exact integer sum |
//! | [`Float`] of a [`Decoder`] | 16- and 32-bit floats, depth24plus, sRGB at full precision | f32 lerps |
//! | [`Float`] of [`Any`] | everything else, integers (point only) | f32 lerps |
//!
//! Decoded values are in *code units*: `value * CODE` (255 for unorm8, 1 for floats), filtered ones in `WEIGHT` times
//! that, so that unorm sums stay integers until one division at the end (law S2, R-SAMP-88). f32 lerps are x first, then
//! y, and take a texel of weight 0 out exactly.
//!
//! A class serves all component counts of its family, decided by the view's texel size, so that kernels are compiled once
//! per family. Components are in memory order; whoever calls swaps those of bgra formats.

use super::view::Kernel;
use crate::format::{TextureFormat, srgb, texel};
use crate::simd::{AnyWords, Floats, Ints, Simd, each, inlined};

/// Four texels of eight lanes: (0,0) (1,0) (0,1) (1,1).
pub(super) type Four<T> = [T; 4];

/// One way to fetch and filter.
pub(super) trait Class: Copy + 'static {
    /// Code units of 1.0.
    const CODE: f32;
    /// Filtered units of a code unit.
    const WEIGHT: f32;
    /// Whether decoded values are integers, so that no NaN or infinity exists.
    const INTEGER: bool;
    /// Whether the straight path ([`super::quick`]) is compiled for it.
    const QUICK: bool;
    /// Whether anisotropic filtering has a straight path.
    const LINE: bool = false;
    /// Whether the straight path compares: single-component formats.
    const COMPARE: bool;
    /// Whether cube maps have a straight path.
    const CUBE: bool = false;
    /// Eight texels as fetched.
    type Texel<S: Simd>: Copy;

    /// Texels at indices, `bytes` each.
    fn fetch<S: Simd, const N: usize>(
        s: S,
        view: &Kernel,
        words: AnyWords<'_>,
        bytes: u32,
        index: [S::I; N],
    ) -> [Self::Texel<S>; N];
    /// The same texel in all lanes, from its bytes in the class's format.
    fn splat<S: Simd>(s: S, view: &Kernel, bytes: &[u8; 16]) -> Self::Texel<S>;
    /// `mask ? a : b`.
    fn select<S: Simd>(mask: S::I, a: Self::Texel<S>, b: Self::Texel<S>) -> Self::Texel<S>;
    /// Component `c` in code units.
    fn component<S: Simd>(s: S, texel: Self::Texel<S>, c: usize) -> S::F;
    /// The weighted sum, with the second column's and row's weights out of 256; components not in `mask` are anything.
    fn bilinear<S: Simd>(s: S, t: Four<Self::Texel<S>>, wx: S::I, wy: S::I, mask: u8) -> [S::F; 4];
    /// As [`fetch_bilinear`](Self::fetch_bilinear), from the first texel of each of two rows, and by lane
    /// ([`Simd::pairs64`]); `None` if there is no such way.
    #[inline(always)]
    fn fetch_pairs<S: Simd>(_: S, _: AnyWords<'_>, _index: [S::I; 2], _wx: S::I, _wy: S::I) -> Option<[S::F; 4]> {
        None
    }
    /// [`fetch`](Self::fetch) and [`bilinear`](Self::bilinear), where the level knows a shorter way.
    #[inline(always)]
    #[expect(clippy::too_many_arguments, reason = "those of the two functions it stands for")]
    fn fetch_bilinear<S: Simd>(
        s: S,
        view: &Kernel,
        words: AnyWords<'_>,
        bytes: u32,
        index: Four<S::I>,
        wx: S::I,
        wy: S::I,
        mask: u8,
    ) -> [S::F; 4] {
        let t = Self::fetch::<S, 4>(s, view, words, bytes, index);
        Self::bilinear(s, t, wx, wy, mask)
    }
}

#[inline(always)]
fn word(bytes: &[u8; 16], i: usize) -> i32 {
    i32::from_le_bytes([bytes[4 * i], bytes[4 * i + 1], bytes[4 * i + 2], bytes[4 * i + 3]])
}

/// One fetch per index.
#[inline(always)]
fn gather<I: Copy, T: Copy, const N: usize>(index: [I; N], fetch: impl Fn(I) -> T) -> [T; N] {
    let mut out = [fetch(index[0]); N];
    for i in 1..N {
        out[i] = fetch(index[i]);
    }
    out
}

/// Weights of both columns as 16-bit halves: `256 - w` low, `w` high.
#[inline(always)]
fn weight_pair<S: Simd>(s: S, w: S::I) -> S::I {
    s.i32(256) - w + w.shl::<16>()
}

/// Four unorm8 components in one word.
#[derive(Clone, Copy)]
pub(super) struct Rgba8;

impl Class for Rgba8 {
    const CODE: f32 = 255.0;
    const WEIGHT: f32 = 65536.0;
    const INTEGER: bool = true;
    const QUICK: bool = true;
    const LINE: bool = true;
    const CUBE: bool = true;
    const COMPARE: bool = false;
    type Texel<S: Simd> = S::I;

    #[inline(always)]
    fn fetch<S: Simd, const N: usize>(s: S, _: &Kernel, words: AnyWords<'_>, _: u32, index: [S::I; N]) -> [S::I; N] {
        let words = words.of();
        gather(
            index,
            #[inline(always)]
            |i| s.gather32(words, i),
        )
    }
    #[inline(always)]
    fn splat<S: Simd>(s: S, _: &Kernel, bytes: &[u8; 16]) -> S::I {
        s.i32(word(bytes, 0))
    }
    #[inline(always)]
    fn select<S: Simd>(mask: S::I, a: S::I, b: S::I) -> S::I {
        mask.select(a, b)
    }
    #[inline(always)]
    fn component<S: Simd>(s: S, t: S::I, c: usize) -> S::F {
        let byte = match c {
            0 => t,
            1 => t.shr::<8>(),
            2 => t.shr::<16>(),
            _ => return t.shr::<24>().to_f32(),
        };
        (byte & s.i32(255)).to_f32()
    }
    #[inline(always)]
    fn bilinear<S: Simd>(s: S, t: Four<S::I>, wx: S::I, wy: S::I, mask: u8) -> [S::F; 4] {
        let mut out = [s.f32(0.0); 4];
        let right = wx | wx.shl::<16>();
        let left = s.i32(0x0100_0100) - right;
        let rows = weight_pair(s, wy);
        let low = s.i32(0x00ff_00ff);
        let bias = s.i32(0x8000_8000u32 as i32);
        for pair in 0..2 {
            if mask & (0b0101 << pair) == 0 {
                continue;
            }
            let t = if pair == 0 {
                each!(4; t in t => t & low)
            } else {
                each!(4; t in t => t.shr::<8>() & low)
            };
            // Two channels of a row, at most 255 * 256 each, biased so that they are signed 16-bit numbers.
            let r0 = (t[0].mul_lo16(left) + t[1].mul_lo16(right)) ^ bias;
            let r1 = (t[2].mul_lo16(left) + t[3].mul_lo16(right)) ^ bias;
            // Each channel of both rows times the rows' weights, the bias (32768 * 256) taken off again.
            let even = r0.halves(r1.shl::<16>()).madd16(rows);
            let odd = r0.shr::<16>().halves(r1).madd16(rows);
            out[pair] = (even + s.i32(1 << 23)).to_f32();
            out[pair + 2] = (odd + s.i32(1 << 23)).to_f32();
        }
        out
    }
}

/// One or two unorm8 components.
#[derive(Clone, Copy)]
pub(super) struct Norm8;

impl Class for Norm8 {
    const CODE: f32 = 255.0;
    const WEIGHT: f32 = 65536.0;
    const INTEGER: bool = true;
    const QUICK: bool = true;
    const COMPARE: bool = false;
    type Texel<S: Simd> = S::I;

    #[inline(always)]
    fn fetch<S: Simd, const N: usize>(
        s: S,
        _: &Kernel,
        words: AnyWords<'_>,
        bytes: u32,
        index: [S::I; N],
    ) -> [S::I; N] {
        if bytes == 1 {
            let words = words.of();
            gather(
                index,
                #[inline(always)]
                |i| s.gather8(words, i),
            )
        } else {
            let words = words.of();
            gather(
                index,
                #[inline(always)]
                |i| s.gather16(words, i),
            )
        }
    }
    #[inline(always)]
    fn splat<S: Simd>(s: S, _: &Kernel, bytes: &[u8; 16]) -> S::I {
        s.i32(word(bytes, 0))
    }
    #[inline(always)]
    fn select<S: Simd>(mask: S::I, a: S::I, b: S::I) -> S::I {
        mask.select(a, b)
    }
    #[inline(always)]
    fn component<S: Simd>(s: S, t: S::I, c: usize) -> S::F {
        if c == 0 {
            (t & s.i32(255)).to_f32()
        } else {
            t.shr::<8>().to_f32()
        }
    }
    #[inline(always)]
    fn bilinear<S: Simd>(s: S, t: Four<S::I>, wx: S::I, wy: S::I, mask: u8) -> [S::F; 4] {
        let mut out = [s.f32(0.0); 4];
        let columns = weight_pair(s, wx);
        let wy = wy.to_f32();
        for (c, out) in out.iter_mut().enumerate().take(2) {
            if mask >> c & 1 != 0 {
                let t = if c == 0 {
                    each!(4; t in t => t & s.i32(255))
                } else {
                    each!(4; t in t => t.shr::<8>())
                };
                // All sums are integers below 2^24: exact in f32 whatever the order.
                let r0 = (t[0] | t[1].shl::<16>()).madd16(columns).to_f32();
                let r1 = (t[2] | t[3].shl::<16>()).madd16(columns).to_f32();
                *out = r0 * s.f32(256.0) + (r1 - r0) * wy;
            }
        }
        out
    }
}

/// One, two or four 16-bit fields: a word holds two.
#[inline(always)]
fn fetch16<S: Simd, const N: usize>(s: S, words: AnyWords<'_>, bytes: u32, index: [S::I; N]) -> [[S::I; 2]; N] {
    let zero = s.i32(0);
    match bytes {
        2 => {
            let words = words.of();
            gather(
                index,
                #[inline(always)]
                |i| [s.gather16(words, i), zero],
            )
        }
        4 => {
            let words = words.of();
            gather(
                index,
                #[inline(always)]
                |i| [s.gather32(words, i), zero],
            )
        }
        _ => {
            let words = words.of();
            gather(
                index,
                #[inline(always)]
                |i| s.gather64(words, i),
            )
        }
    }
}

/// One, two or four unorm16 components.
#[derive(Clone, Copy)]
pub(super) struct Norm16;

impl Class for Norm16 {
    const CODE: f32 = 65535.0;
    const WEIGHT: f32 = 65536.0;
    const INTEGER: bool = true;
    const QUICK: bool = true;
    const LINE: bool = true;
    const CUBE: bool = true;
    const COMPARE: bool = true;
    type Texel<S: Simd> = [S::I; 2];

    #[inline(always)]
    fn fetch<S: Simd, const N: usize>(
        s: S,
        _: &Kernel,
        words: AnyWords<'_>,
        bytes: u32,
        index: [S::I; N],
    ) -> [[S::I; 2]; N] {
        fetch16(s, words, bytes, index)
    }
    #[inline(always)]
    fn splat<S: Simd>(s: S, _: &Kernel, bytes: &[u8; 16]) -> [S::I; 2] {
        [s.i32(word(bytes, 0)), s.i32(word(bytes, 1))]
    }
    #[inline(always)]
    fn select<S: Simd>(mask: S::I, a: [S::I; 2], b: [S::I; 2]) -> [S::I; 2] {
        [mask.select(a[0], b[0]), mask.select(a[1], b[1])]
    }
    #[inline(always)]
    fn component<S: Simd>(s: S, t: [S::I; 2], c: usize) -> S::F {
        let w = t[c / 2];
        if c & 1 == 0 {
            (w & s.i32(0xffff)).to_f32()
        } else {
            w.shr::<16>().to_f32()
        }
    }
    #[inline(always)]
    fn bilinear<S: Simd>(s: S, t: Four<[S::I; 2]>, wx: S::I, wy: S::I, mask: u8) -> [S::F; 4] {
        let mut out = [s.f32(0.0); 4];
        let columns = weight_pair(s, wx);
        let bias = s.i32(0x8000_8000u32 as i32);
        for (c, out) in out.iter_mut().enumerate() {
            if mask >> c & 1 != 0 {
                let t = each!(4; t in t => t[c / 2]);
                let pair = inlined(
                    #[inline(always)]
                    |a: S::I, b: S::I| {
                        if c & 1 == 0 {
                            a.halves(b.shl::<16>())
                        } else {
                            a.shr::<16>().halves(b)
                        }
                    },
                );
                // Biased to signed 16 bits: a row is the true sum minus 2^23, both rows weighted are the true sum
                // minus 2^31.
                let r0 = (pair(t[0], t[1]) ^ bias).madd16(columns);
                let r1 = (pair(t[2], t[3]) ^ bias).madd16(columns);
                let sum = r0.shl::<8>() + (r1 - r0) * wy;
                *out = (sum ^ s.i32(i32::MIN)).unsigned_to_f32(s.i32(0xffff), s.f32(65536.0));
            }
        }
        out
    }
    #[inline(always)]
    fn fetch_pairs<S: Simd>(s: S, words: AnyWords<'_>, index: [S::I; 2], wx: S::I, wy: S::I) -> Option<[S::F; 4]> {
        s.pairs64(words.of(), index, wx, wy)
    }
    #[inline(always)]
    fn fetch_bilinear<S: Simd>(
        s: S,
        view: &Kernel,
        words: AnyWords<'_>,
        bytes: u32,
        index: Four<S::I>,
        wx: S::I,
        wy: S::I,
        mask: u8,
    ) -> [S::F; 4] {
        if bytes == 8
            && let Some(sums) = s.sum64(words.of(), index, wx, wy)
        {
            return sums;
        }
        let t = Self::fetch::<S, 4>(s, view, words, bytes, index);
        Self::bilinear(s, t, wx, wy, mask)
    }
}

/// How texels of a [`Float`] class become f32.
pub(super) trait Decoder: Copy + 'static {
    /// As [`Class::CODE`].
    const CODE: f32 = 1.0;
    /// As [`Class::QUICK`].
    const QUICK: bool = false;
    /// As [`Class::COMPARE`].
    const COMPARE: bool = false;
    /// As [`Class::CUBE`].
    const CUBE: bool = false;
    /// As fetched.
    type Raw<S: Simd>: Copy;
    /// As [`Class::fetch`].
    fn fetch<S: Simd, const N: usize>(
        s: S,
        view: &Kernel,
        words: AnyWords<'_>,
        bytes: u32,
        index: [S::I; N],
    ) -> [Self::Raw<S>; N];
    /// As [`Class::splat`].
    fn splat<S: Simd>(s: S, view: &Kernel, bytes: &[u8; 16]) -> Self::Raw<S>;
    /// As [`Class::select`].
    fn select<S: Simd>(mask: S::I, a: Self::Raw<S>, b: Self::Raw<S>) -> Self::Raw<S>;
    /// As [`Class::component`].
    fn component<S: Simd>(s: S, raw: Self::Raw<S>, c: usize) -> S::F;
    /// As [`Class::fetch_bilinear`], with weights from 0 to 1; `None` where there is no shorter way.
    #[inline(always)]
    fn fetch_bilinear<S: Simd>(
        _: S,
        _: AnyWords<'_>,
        _bytes: u32,
        _index: Four<S::I>,
        _wx: S::F,
        _wy: S::F,
    ) -> Option<[S::F; 4]> {
        None
    }
}

/// A class filtered in f32.
#[derive(Clone, Copy)]
pub(super) struct Float<D>(D);

impl<D: Decoder> Class for Float<D> {
    const CODE: f32 = D::CODE;
    const WEIGHT: f32 = 1.0;
    const INTEGER: bool = false;
    const QUICK: bool = D::QUICK;
    const COMPARE: bool = D::COMPARE;
    const CUBE: bool = D::CUBE;
    type Texel<S: Simd> = D::Raw<S>;

    #[inline(always)]
    fn fetch<S: Simd, const N: usize>(
        s: S,
        view: &Kernel,
        words: AnyWords<'_>,
        bytes: u32,
        index: [S::I; N],
    ) -> [D::Raw<S>; N] {
        D::fetch(s, view, words, bytes, index)
    }
    #[inline(always)]
    fn splat<S: Simd>(s: S, view: &Kernel, bytes: &[u8; 16]) -> D::Raw<S> {
        D::splat(s, view, bytes)
    }
    #[inline(always)]
    fn select<S: Simd>(mask: S::I, a: D::Raw<S>, b: D::Raw<S>) -> D::Raw<S> {
        D::select::<S>(mask, a, b)
    }
    #[inline(always)]
    fn component<S: Simd>(s: S, t: D::Raw<S>, c: usize) -> S::F {
        D::component(s, t, c)
    }
    #[inline(always)]
    fn bilinear<S: Simd>(s: S, t: Four<D::Raw<S>>, wx: S::I, wy: S::I, mask: u8) -> [S::F; 4] {
        let mut out = [s.f32(0.0); 4];
        let unit = s.f32(1.0 / 256.0);
        let (wx, wy) = (wx.to_f32() * unit, wy.to_f32() * unit);
        for (c, out) in out.iter_mut().enumerate() {
            if mask >> c & 1 != 0 {
                *out = blend4(s, each!(4; t in t => D::component(s, t, c)), wx, wy);
            }
        }
        out
    }
    #[inline(always)]
    fn fetch_bilinear<S: Simd>(
        s: S,
        view: &Kernel,
        words: AnyWords<'_>,
        bytes: u32,
        index: Four<S::I>,
        wx: S::I,
        wy: S::I,
        mask: u8,
    ) -> [S::F; 4] {
        let unit = s.f32(1.0 / 256.0);
        if let Some(v) = D::fetch_bilinear(s, words, bytes, index, wx.to_f32() * unit, wy.to_f32() * unit) {
            return v;
        }
        let t = D::fetch::<S, 4>(s, view, words, bytes, index);
        Self::bilinear(s, t, wx, wy, mask)
    }
}

/// An f32 lerp with its constants.
#[inline(always)]
pub(super) fn blend<S: Simd>(s: S, a: S::F, b: S::F, w: S::F) -> S::F {
    a.lerp(b, w, s.f32(0.0), s.f32(1.0), s.f32(f32::INFINITY))
}

/// The bilinear f32 lerps: x first.
#[inline(always)]
pub(super) fn blend4<S: Simd>(s: S, t: Four<S::F>, wx: S::F, wy: S::F) -> S::F {
    blend(s, blend(s, t[0], t[1], wx), blend(s, t[2], t[3], wx), wy)
}

/// Words of 32 bits, as they are: floats, and integers read by point.
#[derive(Clone, Copy)]
pub(super) struct Word32;

impl Decoder for Word32 {
    const QUICK: bool = true;
    const COMPARE: bool = true;
    type Raw<S: Simd> = [S::I; 4];

    #[inline(always)]
    fn fetch<S: Simd, const N: usize>(
        s: S,
        _: &Kernel,
        words: AnyWords<'_>,
        bytes: u32,
        index: [S::I; N],
    ) -> [[S::I; 4]; N] {
        let zero = s.i32(0);
        match bytes {
            4 => {
                let words = words.of();
                gather(
                    index,
                    #[inline(always)]
                    |i| [s.gather32(words, i), zero, zero, zero],
                )
            }
            8 => {
                let words = words.of();
                gather(
                    index,
                    #[inline(always)]
                    |i| {
                        let [r, g] = s.gather64(words, i);
                        [r, g, zero, zero]
                    },
                )
            }
            _ => {
                let words = words.of();
                gather(
                    index,
                    #[inline(always)]
                    |i| s.gather128(words, i),
                )
            }
        }
    }
    #[inline(always)]
    fn splat<S: Simd>(s: S, _: &Kernel, bytes: &[u8; 16]) -> [S::I; 4] {
        each!(4; c in [0, 1, 2, 3] => s.i32(word(bytes, c)))
    }
    #[inline(always)]
    fn select<S: Simd>(mask: S::I, a: [S::I; 4], b: [S::I; 4]) -> [S::I; 4] {
        each!(4; c in [0, 1, 2, 3] => mask.select(a[c], b[c]))
    }
    #[inline(always)]
    fn component<S: Simd>(_: S, raw: [S::I; 4], c: usize) -> S::F {
        raw[c].as_f32()
    }
}

/// Half floats.
#[derive(Clone, Copy)]
pub(super) struct Half;

impl Decoder for Half {
    const QUICK: bool = true;
    const CUBE: bool = true;
    type Raw<S: Simd> = [S::I; 2];

    #[inline(always)]
    fn fetch<S: Simd, const N: usize>(
        s: S,
        _: &Kernel,
        words: AnyWords<'_>,
        bytes: u32,
        index: [S::I; N],
    ) -> [[S::I; 2]; N] {
        fetch16(s, words, bytes, index)
    }
    #[inline(always)]
    fn splat<S: Simd>(s: S, view: &Kernel, bytes: &[u8; 16]) -> [S::I; 2] {
        Norm16::splat(s, view, bytes)
    }
    #[inline(always)]
    fn select<S: Simd>(mask: S::I, a: [S::I; 2], b: [S::I; 2]) -> [S::I; 2] {
        Norm16::select::<S>(mask, a, b)
    }
    #[inline(always)]
    fn component<S: Simd>(s: S, raw: [S::I; 2], c: usize) -> S::F {
        let w = raw[c / 2];
        if c & 1 == 0 {
            (w & s.i32(0xffff)).half_to_f32()
        } else {
            w.shr::<16>().half_to_f32()
        }
    }
    #[inline(always)]
    fn fetch_bilinear<S: Simd>(
        s: S,
        words: AnyWords<'_>,
        bytes: u32,
        index: Four<S::I>,
        wx: S::F,
        wy: S::F,
    ) -> Option<[S::F; 4]> {
        if bytes == 8 {
            s.lerp64(words.of(), index, wx, wy)
        } else {
            None
        }
    }
}

/// 24-bit depth codes in words: too wide for integer sums.
#[derive(Clone, Copy)]
pub(super) struct Depth24;

impl Decoder for Depth24 {
    const QUICK: bool = true;
    const COMPARE: bool = true;
    const CODE: f32 = 16_777_215.0;
    type Raw<S: Simd> = S::I;

    #[inline(always)]
    fn fetch<S: Simd, const N: usize>(
        s: S,
        view: &Kernel,
        words: AnyWords<'_>,
        bytes: u32,
        index: [S::I; N],
    ) -> [S::I; N] {
        Rgba8::fetch(s, view, words, bytes, index)
    }
    #[inline(always)]
    fn splat<S: Simd>(s: S, _: &Kernel, bytes: &[u8; 16]) -> S::I {
        s.i32(word(bytes, 0))
    }
    #[inline(always)]
    fn select<S: Simd>(mask: S::I, a: S::I, b: S::I) -> S::I {
        mask.select(a, b)
    }
    #[inline(always)]
    fn component<S: Simd>(s: S, raw: S::I, _: usize) -> S::F {
        (raw & s.i32(0xff_ffff)).to_f32()
    }
}

/// sRGB codes, decoded exactly: for point sampling, loads and gathers (R-SAMP-105).
#[derive(Clone, Copy)]
pub(super) struct Srgb8;

impl Decoder for Srgb8 {
    type Raw<S: Simd> = S::I;

    #[inline(always)]
    fn fetch<S: Simd, const N: usize>(
        s: S,
        view: &Kernel,
        words: AnyWords<'_>,
        bytes: u32,
        index: [S::I; N],
    ) -> [S::I; N] {
        Rgba8::fetch(s, view, words, bytes, index)
    }
    #[inline(always)]
    fn splat<S: Simd>(s: S, _: &Kernel, bytes: &[u8; 16]) -> S::I {
        s.i32(word(bytes, 0))
    }
    #[inline(always)]
    fn select<S: Simd>(mask: S::I, a: S::I, b: S::I) -> S::I {
        mask.select(a, b)
    }
    #[inline(always)]
    fn component<S: Simd>(s: S, raw: S::I, c: usize) -> S::F {
        let code = match c {
            0 => raw,
            1 => raw.shr::<8>(),
            2 => raw.shr::<16>(),
            _ => return raw.shr::<24>().to_f32() / s.f32(255.0),
        };
        s.pick256(&srgb::tables().to_linear, code)
    }
}

/// Any format through the scalar definition, a lane at a time: rare formats and small integers.
#[derive(Clone, Copy)]
pub(super) struct Any;

impl Decoder for Any {
    type Raw<S: Simd> = [S::I; 4];

    #[inline(always)]
    fn fetch<S: Simd, const N: usize>(
        s: S,
        view: &Kernel,
        words: AnyWords<'_>,
        _: u32,
        index: [S::I; N],
    ) -> [[S::I; 4]; N] {
        gather(
            index,
            #[inline(always)]
            |i| {
                let lanes = unpack_lanes(view.format, words, i.to_array());
                each!(4; c in [0, 1, 2, 3] => s.load_u32(&lanes[c]))
            },
        )
    }
    #[inline(always)]
    fn splat<S: Simd>(s: S, view: &Kernel, bytes: &[u8; 16]) -> [S::I; 4] {
        each!(4; c in texel::unpack(view.format, bytes) => s.i32(c as i32))
    }
    #[inline(always)]
    fn select<S: Simd>(mask: S::I, a: [S::I; 4], b: [S::I; 4]) -> [S::I; 4] {
        each!(4; c in [0, 1, 2, 3] => mask.select(a[c], b[c]))
    }
    #[inline(always)]
    fn component<S: Simd>(_: S, raw: [S::I; 4], c: usize) -> S::F {
        raw[c].as_f32()
    }
}

/// By component: the lanes.
#[inline(never)]
fn unpack_lanes(format: TextureFormat, words: AnyWords<'_>, index: [i32; 8]) -> [[u32; 8]; 4] {
    let texels = index.map(|index| match format.info().bytes {
        1 => texel::unpack(format, &words.of::<1>().read(index)),
        2 => texel::unpack(format, &words.of::<2>().read(index)),
        4 => texel::unpack(format, &words.of::<4>().read(index)),
        8 => texel::unpack(format, &words.of::<8>().read(index)),
        _ => texel::unpack(format, &words.of::<16>().read(index)),
    });
    [0, 1, 2, 3].map(|c| texels.map(|t| t[c]))
}
