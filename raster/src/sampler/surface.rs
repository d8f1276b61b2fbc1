//! What depends on the format class: the texels of one tap made into a value.
//!
//! [`Family`] is a class as the driver (`sample.rs`) sees it: functions and a few figures. The driver is compiled once per
//! instruction level and calls `tap` through a pointer; compiling all of it per class took minutes.

use super::class::{Class, Four, blend, blend4};
use super::descriptor::{CompareFunction, Reduction};
use super::quick::{QuickFn, quick};
use super::taps::{Tap, Taps, fill_corners};
use super::view::Kernel;
use crate::format::TextureFormat;
use crate::simd::{AnyWords, Floats, Ints, Simd, each, inlined};

/// What is made of the texels of a tap.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Mode {
    /// The first texel, in code units.
    Point,
    /// The weighted sum, in filtered units.
    Filter,
    /// The weight of the texels that pass, 0 to 1.
    Compare(CompareFunction),
    /// The extremum of the texels that have weight, in code units.
    Reduce(Reduction),
    /// One component of all four texels, in code units.
    Gather,
    /// Whether each of the four texels passes, 0 or 1.
    GatherCompare(CompareFunction),
}

/// A texture as one call reads it: the view's own texels, or the linear copy of an sRGB format.
#[derive(Clone, Copy)]
pub(super) struct Texels<'a> {
    pub words: AnyWords<'a>,
    pub bytes: u32,
    pub format: TextureFormat,
}

/// What all taps of a call share.
pub(super) struct Request<'a, S: Simd> {
    pub view: &'a Kernel,
    pub texels: Texels<'a>,
    pub mode: Mode,
    /// Components in use, in memory order.
    pub mask: u8,
    /// Depth reference in code units.
    pub reference: S::F,
    /// Border texel, where an axis has a border.
    pub border: Option<[u8; 16]>,
}

/// Values by component (gathers: by texel) of the first or second slice of the taps.
pub(super) type TapFn<S> = fn(S, &Request<'_, S>, &Taps<S>, bool, &mut [<S as Simd>::F; 4]);

/// A format class behind pointers.
pub(super) struct Family<S: Simd> {
    /// As [`Class::CODE`].
    pub code: f32,
    /// As [`Class::WEIGHT`].
    pub weight: f32,
    /// As [`Class::INTEGER`].
    pub integer: bool,
    pub tap: TapFn<S>,
    /// As [`Class::COMPARE`].
    pub compares: bool,
    /// As [`Class::LINE`].
    pub line: bool,
    /// As [`Class::CUBE`].
    pub cube: bool,
    /// Where it is worth its size.
    pub quick: Option<QuickFn<S>>,
}

/// Makes [`Family`] values that live forever.
pub(super) struct FamilyOf<S, C>(std::marker::PhantomData<(S, C)>);

impl<S: Simd, C: Class> FamilyOf<S, C> {
    pub const FAMILY: Family<S> = Family {
        code: C::CODE,
        weight: C::WEIGHT,
        integer: C::INTEGER,
        tap: tap::<S, C>,
        compares: C::COMPARE,
        line: C::LINE,
        cube: C::CUBE,
        quick: if S::FAST && C::QUICK { Some(quick::<S, C>) } else { None },
    };
}

#[inline(never)]
fn tap<S: Simd, C: Class>(s: S, r: &Request<'_, S>, taps: &Taps<S>, second: bool, out: &mut [S::F; 4]) {
    s.call(
        #[inline(always)]
        |s| {
            let one = match &taps.second {
                Some((t, _)) if second => t,
                _ => &taps.first,
            };
            *out = tap_inline::<S, C>(s, r, one, taps.missing.as_ref());
        },
    );
}

#[inline(always)]
fn tap_inline<S: Simd, C: Class>(s: S, r: &Request<'_, S>, tap: &Tap<S>, missing: Option<&[S::I; 4]>) -> [S::F; 4] {
    let Texels { words, bytes, .. } = r.texels;
    let zero = s.f32(0.0);
    let decode = inlined(
        #[inline(always)]
        |t: C::Texel<S>| {
            let mut out = [zero; 4];
            for (c, out) in out.iter_mut().enumerate() {
                if r.mask >> c & 1 != 0 {
                    *out = C::component(s, t, c);
                }
            }
            out
        },
    );
    if r.mode == Mode::Point {
        let mut t = C::fetch::<S, 1>(s, r.view, words, bytes, [tap.index[0]]);
        if let Some(border) = &r.border {
            t[0] = C::select::<S>(tap.border[0], C::splat(s, r.view, border), t[0]);
        }
        return decode(t[0]);
    }
    let mut t: Four<C::Texel<S>> = C::fetch(s, r.view, words, bytes, tap.index);
    if let Some(border) = &r.border {
        let border = C::splat(s, r.view, border);
        for (t, lanes) in t.iter_mut().zip(tap.border) {
            *t = C::select::<S>(lanes, border, *t);
        }
    }
    let (wx, wy) = (tap.wx, tap.wy);
    let unit = s.f32(1.0 / 256.0);
    if r.mode == Mode::Filter {
        return bilinear::<S, C>(s, t, wx, wy, r.mask, missing);
    }
    let blend_filled = inlined(
        #[inline(always)]
        |t: Four<S::F>, missing: &[S::I; 4]| {
            blend4(s, fill_corners(s, t, missing), wx.to_f32() * unit, wy.to_f32() * unit)
        },
    );
    match r.mode {
        Mode::Filter | Mode::Point => [zero; 4],
        Mode::Compare(function) => {
            let pass = each!(4; t in t => compare(s, function, r.reference, C::component(s, t, 0)));
            let mut out = weigh(s, pass, wx, wy);
            if let Some(missing) = missing {
                let lanes = missing[0] | missing[1] | missing[2] | missing[3];
                let one = s.f32(1.0).bits();
                out = lanes.select_f(blend_filled(each!(4; p in pass => (p & one).as_f32()), missing), out);
            }
            [out; 4]
        }
        Mode::Reduce(reduction) => {
            let mut texels = each!(4; t in t => decode(t));
            if let Some(missing) = missing {
                for c in 0..4 {
                    let filled = fill_corners(s, each!(4; t in texels => t[c]), missing);
                    for (t, f) in texels.iter_mut().zip(filled) {
                        t[c] = f;
                    }
                }
            }
            // The first texel always has weight, the others where their column's and row's isn't 0.
            let (x, y) = (wx.gt(s.i32(0)), wy.gt(s.i32(0)));
            let [mut out, right, below, across] = texels;
            for (texel, lanes) in [(right, x), (below, y), (across, x & y)] {
                out = extremum(reduction, out, texel, lanes);
            }
            out
        }
        Mode::Gather | Mode::GatherCompare(_) => {
            let mut values = [zero; 4];
            if let Mode::GatherCompare(function) = r.mode {
                let one = s.f32(1.0).bits();
                values = each!(4; t in t => (compare(s, function, r.reference, C::component(s, t, 0)) & one).as_f32());
            } else {
                for c in 0..4 {
                    if r.mask >> c & 1 != 0 {
                        values = each!(4; t in t => C::component(s, t, c));
                    }
                }
            }
            match missing {
                Some(missing) => fill_corners(s, values, missing),
                None => values,
            }
        }
    }
}

/// The weighted sum, corners of cubes filled in.
#[inline(always)]
pub(super) fn bilinear<S: Simd, C: Class>(
    s: S,
    t: Four<C::Texel<S>>,
    wx: S::I,
    wy: S::I,
    mask: u8,
    missing: Option<&[S::I; 4]>,
) -> [S::F; 4] {
    let mut out = C::bilinear(s, t, wx, wy, mask);
    if let Some(missing) = missing {
        let lanes = missing[0] | missing[1] | missing[2] | missing[3];
        let unit = s.f32(1.0 / 256.0);
        for (c, out) in out.iter_mut().enumerate() {
            if mask >> c & 1 != 0 {
                let texels = fill_corners(s, each!(4; t in t => C::component(s, t, c)), missing);
                let corner = blend4(s, texels, wx.to_f32() * unit, wy.to_f32() * unit) * s.f32(C::WEIGHT);
                *out = lanes.select_f(corner, *out);
            }
        }
    }
    out
}

/// The smaller or larger of each component, in `lanes`.
#[inline(always)]
pub(super) fn extremum<F, I>(reduction: Reduction, a: [F; 4], b: [F; 4], lanes: I) -> [F; 4]
where
    F: Floats<I = I>,
    I: Ints<F = F>,
{
    let mut out = a;
    for (c, out) in out.iter_mut().enumerate() {
        let best = if reduction == Reduction::Maximum {
            b[c].max(a[c])
        } else {
            b[c].min(a[c])
        };
        *out = lanes.select_f(best, a[c]);
    }
    out
}

/// The weighted part of the texels that pass, 0 to 1 (R-SAMP-64).
#[inline(always)]
pub(super) fn weigh<S: Simd>(s: S, pass: [S::I; 4], wx: S::I, wy: S::I) -> S::F {
    // 16-bit weights of the four texels; both factors are at most 256.
    let (x, y) = (wx.shl::<8>(), wy.shl::<8>());
    let both = wx.madd16(wy);
    let weights = [s.i32(65536) - x - y + both, x - both, y - both, both];
    let [a, b, c, d] = each!(4; i in [0, 1, 2, 3] => pass[i] & weights[i]);
    (a + b + c + d).to_f32() * s.f32(1.0 / 65536.0)
}

/// `reference FUNC texel` (R-OM-5's float rules: comparisons with NaN fail, but for NOT_EQUAL).
#[inline(always)]
pub(super) fn compare<S: Simd>(s: S, function: CompareFunction, reference: S::F, texel: S::F) -> S::I {
    match function {
        CompareFunction::Never => s.i32(0),
        CompareFunction::Less => reference.lt(texel),
        CompareFunction::Equal => reference.eq(texel),
        CompareFunction::LessEqual => reference.le(texel),
        CompareFunction::Greater => texel.lt(reference),
        CompareFunction::NotEqual => !reference.eq(texel),
        CompareFunction::GreaterEqual => texel.le(reference),
        CompareFunction::Always => s.i32(-1),
    }
}

/// A blend of two levels or slices.
#[inline(always)]
pub(super) fn mix<S: Simd>(s: S, integer: bool, a: [S::F; 4], b: [S::F; 4], w: S::F, mask: u8) -> [S::F; 4] {
    let mut out = a;
    for (c, out) in out.iter_mut().enumerate() {
        if mask >> c & 1 != 0 {
            *out = if integer {
                a[c] + (b[c] - a[c]) * w
            } else {
                blend(s, a[c], b[c], w)
            };
        }
    }
    out
}

/// A further anisotropic tap, in the lanes that have it.
#[inline(always)]
pub(super) fn add<S: Simd>(_: S, sum: [S::F; 4], tap: [S::F; 4], lanes: S::I) -> [S::F; 4] {
    each!(4; c in [0, 1, 2, 3] => lanes.select_f(sum[c] + tap[c], sum[c]))
}
