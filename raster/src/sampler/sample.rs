//! Sampling: arguments, the taps of one or two levels, and the result (R-SAMP-60..66, 68, 69, 85).
//!
//! ```text
//! cells ─► coordinates, layer, reference ─► Selection (select.rs): levels, anisotropic taps
//!            └─► for each tap, each level: indices (taps.rs) ─► texels ─► filter | compare | min, max | gather ─► cells
//! ```
//!
//! A call serves 8 lanes. With 4 lanes the upper half of the cells is stale: whatever it holds only makes values that no
//! one reads. The loops hold one copy of fetch and filter, because a kernel is compiled for every class and level.

use super::class::{Class, blend, blend4};
use super::coords::Level;
use super::descriptor::{AddressMode, CompareFunction, Reduction, SamplerDescriptor};
use super::select::{Selection, select};
use super::taps::{Source, Tap, Taps, fill_corners};
use super::view::Kernel;
use crate::format::texel::{HalfRounding, pack};
use crate::format::{TextureFormat, scalar};
use crate::simd::{AnyWords, Floats, Ints, Simd};
use quadrille_frontend::ir::{Dim, SampleOp};
use quadrille_jit::abi::{CALL_CELLS, Cell, RESULT_CELL};

/// The scratch that a call gets.
pub(super) type Cells = [Cell; CALL_CELLS];

/// Reads arguments one after the other.
pub(super) struct Args<'a> {
    cells: &'a Cells,
    next: usize,
}

impl Args<'_> {
    #[inline(always)]
    fn int<S: Simd>(&mut self, s: S) -> S::I {
        let cell = &self.cells[self.next % CALL_CELLS];
        self.next += 1;
        s.load_u32(&cell.0)
    }

    #[inline(always)]
    pub fn float<S: Simd>(&mut self, s: S) -> S::F {
        self.int(s).as_f32()
    }

    #[inline(always)]
    pub fn vector<S: Simd>(&mut self, s: S, n: usize) -> [S::F; 3] {
        let mut v = [s.f32(0.0); 3];
        for v in v.iter_mut().take(n) {
            *v = self.float(s);
        }
        v
    }
}

/// What is made of the texels of a tap.
#[derive(Clone, Copy, PartialEq)]
enum Mode {
    Filter,
    Compare(CompareFunction),
    Reduce(Reduction),
}

/// A texture as one call reads it: the view's own texels, or the linear copy of an sRGB format.
#[derive(Clone, Copy)]
pub(super) struct Texels<'a> {
    pub words: AnyWords<'a>,
    pub bytes: u32,
    pub format: TextureFormat,
}

/// Samples `view` and leaves results and the residency code in the cells.
#[inline(always)]
pub(super) fn sample<S: Simd, C: Class>(
    s: S,
    view: &Kernel,
    texels: Texels<'_>,
    d: &SamplerDescriptor,
    op: SampleOp,
    cells: &mut Cells,
) {
    let mut args = Args { cells, next: 1 };
    let uvw = args.vector(s, op.dim.coords());
    let layer = if op.array {
        let index = args.int(s).max(s.i32(0)).min(s.i32(view.last_layer));
        let layers = if op.dim == Dim::Cube { 6 } else { 1 };
        index * s.i32(view.layer_texels.wrapping_mul(layers))
    } else {
        s.i32(0)
    };
    let reference = if op.compare {
        quantise(s, view.format, args.float(s))
    } else {
        s.f32(0.0)
    };
    let mode = match (op.compare, d.compare, d.reduction) {
        (true, function, _) => Mode::Compare(function.unwrap_or(CompareFunction::Never)),
        (false, _, Reduction::WeightedAverage) => Mode::Filter,
        (false, _, reduction) => Mode::Reduce(reduction),
    };
    let selection = select(s, view, d, &op, &mut args, uvw);
    let components = view.format.info().components;
    // Components in memory order; those that the format lacks cost nothing.
    let wanted = match op.gather {
        _ if op.compare => 1,
        Some(c) => 1 << (c & 3),
        None => op.mask,
    };
    let kernel = Sampling::<S, C> {
        source: Source {
            s,
            view,
            sampler: d,
            dim: op.dim,
            offset: op.offset.map(i32::from),
            layer,
            linear: op.gather.is_some() || selection.levels.linear.any(),
        },
        texels,
        mask: view.in_memory_order(wanted) & ((1 << components) - 1) as u8,
        mode,
        reference,
        border: border::<S, C>(s, view, texels.format, d),
    };
    let mut out = if op.gather.is_some() {
        kernel.gather(uvw)
    } else {
        kernel.filtered(uvw, &selection)
    };
    if op.gather.is_none() && !op.compare {
        if view.swap {
            out.swap(0, 2);
        }
        for c in usize::from(components)..4 {
            out[c] = if c == 3 {
                s.i32(view.alpha as i32).as_f32()
            } else {
                s.f32(0.0)
            };
        }
    } else if op.gather.is_some() && kernel.mask == 0 {
        out = [if wanted == 8 {
            s.i32(view.alpha as i32).as_f32()
        } else {
            s.f32(0.0)
        }; 4];
    }
    let count = op.components();
    for (c, r) in out.into_iter().enumerate().take(count) {
        cells[RESULT_CELL + c] = Cell(r.bits().to_array().map(|v| v as u32));
    }
    cells[RESULT_CELL + count] = Cell([u32::MAX; 8]);
}

/// The depth reference as a texel of the format holds it, in code units (R-SAMP-64).
#[inline(always)]
fn quantise<S: Simd>(s: S, format: TextureFormat, reference: S::F) -> S::F {
    use TextureFormat::*;
    let bits = match format {
        Depth16Unorm | R16Unorm => 16,
        Depth24Plus => 24,
        R8Unorm => 8,
        _ => return reference,
    };
    let codes = reference.to_array().map(|r| scalar::f32_to_unorm(r, bits) as f32);
    s.load_f32(&codes)
}

#[inline(always)]
fn border<S: Simd, C: Class>(s: S, view: &Kernel, format: TextureFormat, d: &SamplerDescriptor) -> Option<C::Texel<S>> {
    if !d.address.contains(&AddressMode::ClampToBorder) {
        return None;
    }
    let bytes = pack(format, d.border.map(f32::to_bits), HalfRounding::NearestEven);
    Some(C::splat(s, view, &bytes))
}

struct Sampling<'a, S: Simd, C: Class> {
    source: Source<'a, S>,
    texels: Texels<'a>,
    /// Components in use, in memory order.
    mask: u8,
    mode: Mode,
    reference: S::F,
    border: Option<C::Texel<S>>,
}

impl<S: Simd, C: Class> Sampling<'_, S, C> {
    #[inline(always)]
    fn fetch<const N: usize>(&self, tap: &Tap<S>) -> [C::Texel<S>; N] {
        let index = std::array::from_fn(|i| tap.index[i]);
        let mut t = C::fetch::<S, N>(
            self.source.s,
            self.source.view,
            self.texels.words,
            self.texels.bytes,
            index,
        );
        if let Some(border) = self.border {
            for (t, lanes) in t.iter_mut().zip(tap.border) {
                *t = C::select::<S>(lanes, border, *t);
            }
        }
        t
    }

    /// Code units of the components in use.
    #[inline(always)]
    fn decode(&self, t: C::Texel<S>) -> [S::F; 4] {
        let s = self.source.s;
        let mut out = [s.f32(0.0); 4];
        for (c, out) in out.iter_mut().enumerate() {
            if self.mask >> c & 1 != 0 {
                *out = C::component(s, t, c);
            }
        }
        out
    }

    /// The sampler's result, components in memory order.
    #[inline(always)]
    fn filtered(&self, uvw: [S::F; 3], selection: &Selection<S>) -> [S::F; 4] {
        let s = self.source.s;
        let lv = &selection.levels;
        let lower = Level::of(s, self.source.view, lv.level);
        // Where the weight isn't 0 the next level exists; elsewhere the table repeats the last.
        let blended = lv.weight.gt(s.i32(0)).any();
        let weight = lv.weight.to_f32() * s.f32(1.0 / 256.0);
        let upper = if blended {
            Level::of(s, self.source.view, lv.level + s.i32(1))
        } else {
            lower
        };

        let zero = s.i32(0);
        let mut sum = [s.f32(0.0); 4];
        for i in 1..=selection.count {
            // R-SAMP-44: tap i of N at i / (N + 1) - 1/2 along the axis.
            let (at, counts) = match &selection.footprint {
                Some(f) => (f.tap(s, uvw, i), !s.i32(i).gt(f.taps)),
                None => (uvw, zero.eq(zero)),
            };
            let point = self.source.point(at);
            let mut value = [s.f32(0.0); 4];
            for k in 0..1 + usize::from(blended) {
                let level = if k == 0 { &lower } else { &upper };
                let taps = self.source.taps(&point, level, lv.linear);
                let mut surface = [s.f32(0.0); 4];
                for slice in 0..1 + usize::from(taps.second.is_some()) {
                    let (tap, w) = match (slice, &taps.second) {
                        (1, Some((tap, w))) => (tap, w.to_f32() * s.f32(1.0 / 256.0)),
                        _ => (&taps.first, s.f32(0.0)),
                    };
                    let v = self.tap(tap, &taps);
                    surface = if slice == 0 { v } else { self.join(surface, v, w) };
                }
                value = if k == 0 {
                    surface
                } else {
                    self.join(value, surface, weight)
                };
            }
            sum = if i == 1 { value } else { self.add(sum, value, counts) };
        }
        self.finish(sum, selection)
    }

    /// One surface's tap, in filtered units (comparisons and extrema: in their own).
    #[inline(always)]
    fn tap(&self, tap: &Tap<S>, taps: &Taps<S>) -> [S::F; 4] {
        let s = self.source.s;
        if !self.source.linear {
            let [t] = self.fetch::<1>(tap);
            return match self.mode {
                Mode::Compare(function) => {
                    let pass = compare(s, function, self.reference, C::component(s, t, 0));
                    [(pass & s.f32(1.0).bits()).as_f32(); 4]
                }
                _ => self.decode(t),
            };
        }
        let t = self.fetch::<4>(tap);
        match self.mode {
            Mode::Compare(function) => {
                let pass = t.map(|t| compare(s, function, self.reference, C::component(s, t, 0)));
                [weigh(s, pass, tap, taps.missing.as_ref()); 4]
            }
            Mode::Filter => {
                let mut out = C::bilinear(s, t, tap.wx, tap.wy, self.mask);
                if let Some(missing) = &taps.missing {
                    let unit = s.f32(1.0 / 256.0);
                    let (wx, wy) = (tap.wx.to_f32() * unit, tap.wy.to_f32() * unit);
                    let lanes = missing[0] | missing[1] | missing[2] | missing[3];
                    let texels = t.map(|t| self.decode(t));
                    for (c, out) in out.iter_mut().enumerate() {
                        let t = fill_corners(s, texels.map(|t| t[c]), missing);
                        *out = lanes.select_f(blend4(s, t, wx, wy) * s.f32(C::WEIGHT), *out);
                    }
                }
                out
            }
            Mode::Reduce(_) => {
                let mut texels = t.map(|t| self.decode(t));
                if let Some(missing) = &taps.missing {
                    for c in 0..4 {
                        let filled = fill_corners(s, texels.map(|t| t[c]), missing);
                        for (t, f) in texels.iter_mut().zip(filled) {
                            t[c] = f;
                        }
                    }
                }
                // The first texel always has weight, the others where their column's and row's isn't 0.
                let (x, y) = (s.i32(0).gt(s.i32(0) - tap.wx), s.i32(0).gt(s.i32(0) - tap.wy));
                let [first, right, below, across] = texels;
                let out = self.extremum(first, right, x);
                let out = self.extremum(out, below, y);
                self.extremum(out, across, x & y)
            }
        }
    }

    /// Two levels or slices.
    #[inline(always)]
    fn join(&self, a: [S::F; 4], b: [S::F; 4], w: S::F) -> [S::F; 4] {
        let s = self.source.s;
        match self.mode {
            Mode::Reduce(_) => self.extremum(a, b, s.f32(0.0).lt(w)),
            Mode::Compare(_) => [a[0] + (b[0] - a[0]) * w; 4],
            Mode::Filter => {
                let mut out = a;
                for c in 0..4 {
                    if self.mask >> c & 1 != 0 {
                        out[c] = if C::INTEGER {
                            a[c] + (b[c] - a[c]) * w
                        } else {
                            blend(s, a[c], b[c], w)
                        };
                    }
                }
                out
            }
        }
    }

    /// A further anisotropic tap, in the lanes that have it.
    #[inline(always)]
    fn add(&self, sum: [S::F; 4], tap: [S::F; 4], lanes: S::I) -> [S::F; 4] {
        if matches!(self.mode, Mode::Reduce(_)) {
            return self.extremum(sum, tap, lanes);
        }
        let mut out = sum;
        for c in 0..4 {
            if self.mask >> c & 1 != 0 {
                out[c] = lanes.select_f(sum[c] + tap[c], sum[c]);
            }
        }
        out
    }

    /// The smaller or larger of each component, in `lanes`.
    #[inline(always)]
    fn extremum(&self, a: [S::F; 4], b: [S::F; 4], lanes: S::I) -> [S::F; 4] {
        let largest = self.mode == Mode::Reduce(Reduction::Maximum);
        let mut out = a;
        for c in 0..4 {
            let best = if largest { b[c].max(a[c]) } else { b[c].min(a[c]) };
            out[c] = lanes.select_f(best, a[c]);
        }
        out
    }

    /// Division once; canonical NaNs (law N3) after arithmetic.
    #[inline(always)]
    fn finish(&self, sum: [S::F; 4], selection: &Selection<S>) -> [S::F; 4] {
        let s = self.source.s;
        let weighed = self.source.linear && self.mode == Mode::Filter;
        let mut divisor = match self.mode {
            Mode::Compare(_) => 1.0,
            Mode::Filter if weighed => C::CODE * C::WEIGHT,
            _ => C::CODE,
        };
        let mut by = s.f32(divisor);
        if let Some(f) = &selection.footprint
            && selection.count > 1
            && !matches!(self.mode, Mode::Reduce(_))
        {
            by = by * f.taps.to_f32();
            divisor = f32::NAN;
        }
        let mut out = sum;
        for (c, out) in out.iter_mut().enumerate() {
            if self.mask >> c & 1 != 0 {
                if divisor != 1.0 {
                    *out = *out / by;
                }
                if !C::INTEGER && self.source.linear {
                    *out = out.ordered().select_f(*out, s.i32(0x7fc0_0000).as_f32());
                }
            }
        }
        out
    }

    /// The four texels of a bilinear footprint in the view's first level, one component (R-SAMP-68, 69).
    #[inline(always)]
    fn gather(&self, uvw: [S::F; 3]) -> [S::F; 4] {
        let s = self.source.s;
        let level = Level::of(s, self.source.view, s.i32(0));
        let taps = self.source.taps(&self.source.point(uvw), &level, s.i32(-1));
        let t = self.fetch::<4>(&taps.first);
        let mut values = match self.mode {
            Mode::Compare(function) => {
                let one = s.f32(1.0).bits();
                t.map(|t| (compare(s, function, self.reference, C::component(s, t, 0)) & one).as_f32())
            }
            _ => {
                let mut values = [s.f32(0.0); 4];
                for c in 0..4 {
                    if self.mask >> c & 1 != 0 {
                        values = t.map(|t| C::component(s, t, c));
                    }
                }
                if C::CODE == 1.0 {
                    values
                } else {
                    values.map(|v| v / s.f32(C::CODE))
                }
            }
        };
        if let Some(missing) = &taps.missing {
            values = fill_corners(s, values, missing);
        }
        // Counter-clockwise from the lower left.
        let [upper_left, upper_right, lower_left, lower_right] = values;
        [lower_left, lower_right, upper_right, upper_left]
    }
}

/// The weighted part of the texels that pass, 0 to 1 (R-SAMP-64).
#[inline(always)]
fn weigh<S: Simd>(s: S, pass: [S::I; 4], tap: &Tap<S>, missing: Option<&[S::I; 4]>) -> S::F {
    // 16-bit weights of the four texels; both factors are at most 256.
    let (x, y) = (tap.wx.shl::<8>(), tap.wy.shl::<8>());
    let both = tap.wx.madd16(tap.wy);
    let weights = [s.i32(65536) - x - y + both, x - both, y - both, both];
    let [a, b, c, d] = [0, 1, 2, 3].map(|i| pass[i] & weights[i]);
    let out = (a + b + c + d).to_f32() * s.f32(1.0 / 65536.0);
    let Some(missing) = missing else { return out };
    let (one, unit) = (s.f32(1.0).bits(), s.f32(1.0 / 256.0));
    let t = fill_corners(s, pass.map(|p| (p & one).as_f32()), missing);
    let lanes = missing[0] | missing[1] | missing[2] | missing[3];
    lanes.select_f(blend4(s, t, tap.wx.to_f32() * unit, tap.wy.to_f32() * unit), out)
}

/// `reference FUNC texel` (R-OM-5's float rules: comparisons with NaN fail, but for NOT_EQUAL).
#[inline(always)]
fn compare<S: Simd>(s: S, function: CompareFunction, reference: S::F, texel: S::F) -> S::I {
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
