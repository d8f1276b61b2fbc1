//! Sampling: arguments, the loops over taps, levels and slices, and the result (R-SAMP-60..66, 68, 69, 85).
//!
//! ```text
//! cells ─► coordinates, layer, reference ─► Selection (select.rs): levels, anisotropic taps
//!            └─► for each tap, level, slice: indices (taps.rs) ─► Family::tap (surface.rs) ─► blend ─► cells
//! ```
//!
//! Common cases take the straight path instead (quick.rs). A call serves 8 lanes. With 4 lanes the upper half of the cells is stale: whatever it holds only makes values that no
//! one reads.

use super::coords::Level;
use super::descriptor::{AddressMode, CompareFunction, Reduction, SamplerDescriptor};
use super::select::{Selection, select};
use super::surface::{Family, Mode, Request, Texels, add, extremum, mix};
use super::taps::Source;
use super::view::Kernel;
use crate::format::texel::{HalfRounding, pack};
use crate::format::{Kind, TextureFormat};
use crate::simd::{Floats, Ints, Simd, each, inlined};
use quadrille_frontend::ir::{Dim, SampleOp};
use quadrille_jit::abi::{CALL_CELLS, Cell, RESULT_CELL};

/// The scratch that a call gets.
pub(super) type Cells = [Cell; CALL_CELLS];

/// Reads arguments one after the other.
pub(super) struct Args<'a> {
    cells: &'a Cells,
    next: usize,
}

impl<'a> Args<'a> {
    #[inline(always)]
    pub fn at(cells: &'a Cells, next: usize) -> Args<'a> {
        Args { cells, next }
    }

    #[inline(always)]
    pub fn int<S: Simd>(&mut self, s: S) -> S::I {
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

/// Samples `view` and leaves results and the residency code in the cells.
#[inline(always)]
pub(super) fn sample<S: Simd>(
    s: S,
    view: &Kernel,
    texels: Texels<'_>,
    d: &SamplerDescriptor,
    op: SampleOp,
    family: &Family<S>,
    cells: &mut Cells,
) {
    let mut args = Args::at(cells, 1);
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
    let selection = select(s, view, d, &op, &mut args, uvw);
    // Components in memory order; those that the format lacks cost nothing.
    let wanted = match op.gather {
        _ if op.compare => 1,
        Some(c) => 1 << (c & 3),
        None => op.mask,
    };
    let mask = view.in_memory_order(wanted) & view.present;
    let linear = op.gather.is_some() || selection.levels.linear.any();
    let offset = op.offset.map(i32::from);
    let source = Source {
        s,
        view,
        sampler: d,
        dim: op.dim,
        offset,
        layer,
        linear,
    };
    let border = border(texels.format, d);
    let request = Request {
        view,
        texels,
        mode: mode(d, &op, linear),
        mask,
        reference,
        border,
    };
    let mut out = if op.gather.is_some() {
        gather(&source, &request, family, uvw)
    } else {
        filtered(&source, &request, family, uvw, &selection)
    };
    if let Some(c) = op.gather {
        if mask == 0 {
            out = [missing(s, view, usize::from(c & 3)); 4];
        }
    } else if !op.compare {
        if view.swap {
            out.swap(0, 2);
        }
        for (c, out) in out.iter_mut().enumerate() {
            if view.present >> c & 1 == 0 {
                *out = missing(s, view, c);
            }
        }
    }
    let count = op.components();
    for (c, r) in out.into_iter().enumerate().take(count) {
        cells[RESULT_CELL + c] = Cell(r.bits().to_u32());
    }
    cells[RESULT_CELL + count] = Cell([u32::MAX; 8]);
}

fn mode(d: &SamplerDescriptor, op: &SampleOp, linear: bool) -> Mode {
    let function = d.compare.unwrap_or(CompareFunction::Never);
    match (op.gather.is_some(), op.compare, d.reduction) {
        (true, true, _) => Mode::GatherCompare(function),
        (true, false, _) => Mode::Gather,
        (false, true, _) => Mode::Compare(function),
        (false, false, Reduction::WeightedAverage) if !linear => Mode::Point,
        (false, false, Reduction::WeightedAverage) => Mode::Filter,
        (false, false, reduction) => Mode::Reduce(reduction),
    }
}

/// R-SAMP-110.
#[inline(always)]
pub(super) fn missing<S: Simd>(s: S, view: &Kernel, c: usize) -> S::F {
    s.i32(if c == 3 { view.alpha as i32 } else { 0 }).as_f32()
}

/// The depth reference as a texel of the format holds it, in code units (R-SAMP-64, R-OM-4).
#[inline(always)]
pub(super) fn quantise<S: Simd>(s: S, format: TextureFormat, reference: S::F) -> S::F {
    use TextureFormat::*;
    let codes = match format {
        Depth16Unorm | R16Unorm => 65536.0,
        Depth24Plus => 16_777_216.0,
        R8Unorm => 256.0,
        _ => return reference,
    };
    // floor(x * (codes - 1) + 1/2) exactly: x * codes is exact, k its floor and f its fraction; then the result is k
    // plus floor(f - x + 1/2), and both comparisons below are of numbers that f32 subtracts exactly where it matters.
    let half = s.f32(0.5);
    let x = reference.max(s.f32(0.0)).min(s.f32(1.0));
    let scaled = x * s.f32(codes);
    let k = scaled.floor();
    let f = scaled - k;
    let one = s.f32(1.0).bits();
    let up = (x.le(f - half) & one).as_f32();
    let down = (f.lt(x - half) & one).as_f32();
    k + up - down
}

/// R-SAMP-21.
fn border(format: TextureFormat, d: &SamplerDescriptor) -> Option<[u8; 16]> {
    let used = d.address.contains(&AddressMode::ClampToBorder);
    // Integer formats have an integer border.
    let word = |v: f32| match format.info().kind {
        Kind::Uint => v as u32,
        Kind::Sint => (v as i32).cast_unsigned(),
        Kind::Unorm | Kind::Snorm | Kind::Float => v.to_bits(),
    };
    used.then(|| pack(format, d.border.map(word), HalfRounding::NearestEven))
}

/// The sampler's result, components in memory order.
#[inline(always)]
fn filtered<S: Simd>(
    source: &Source<'_, S>,
    request: &Request<'_, S>,
    family: &Family<S>,
    uvw: [S::F; 3],
    selection: &Selection<S>,
) -> [S::F; 4] {
    let (s, view, mode, mask) = (source.s, source.view, request.mode, request.mask);
    let lv = &selection.levels;
    let lower = Level::of(s, view, lv.level);
    // Where the weight isn't 0 the next level exists; elsewhere the table repeats the last.
    let blended = lv.weight.gt(s.i32(0)).any();
    let upper = if blended {
        Level::of(s, view, lv.level + s.i32(1))
    } else {
        lower
    };
    let unit = s.f32(1.0 / 256.0);
    let weight = lv.weight.to_f32() * unit;
    let join = inlined(
        #[inline(always)]
        |a: [S::F; 4], b: [S::F; 4], w: S::F| match mode {
            Mode::Reduce(r) => extremum(r, a, b, s.f32(0.0).lt(w)),
            Mode::Compare(_) => mix(s, true, a, b, w, 1),
            _ => mix(s, family.integer, a, b, w, mask),
        },
    );
    let mut sum = [s.f32(0.0); 4];
    for i in 1..=selection.count {
        let at = match &selection.footprint {
            Some(f) => {
                let [u, v] = f.tap(s, [uvw[0], uvw[1]], i);
                [u, v, uvw[2]]
            }
            None => uvw,
        };
        let point = source.point(at);
        let mut value = [s.f32(0.0); 4];
        for k in 0..1 + usize::from(blended) {
            let taps = source.taps(&point, if k == 0 { &lower } else { &upper }, lv.linear);
            let mut surface = [s.f32(0.0); 4];
            (family.tap)(s, request, &taps, false, &mut surface);
            if let Some((_, w)) = &taps.second {
                let mut next = surface;
                (family.tap)(s, request, &taps, true, &mut next);
                surface = join(surface, next, w.to_f32() * unit);
            }
            value = if k == 0 { surface } else { join(value, surface, weight) };
        }
        let further = inlined(
            #[inline(always)]
            |taps: S::I| !s.i32(i).gt(taps),
        );
        sum = match (&selection.footprint, mode) {
            (Some(f), Mode::Reduce(r)) if i > 1 => extremum(r, sum, value, further(f.taps)),
            (Some(f), _) if i > 1 => add(s, sum, value, further(f.taps)),
            _ => value,
        };
    }
    finish(s, family, mode, mask, sum, selection)
}

/// Division once; canonical NaNs (law N3) after arithmetic.
#[inline(always)]
fn finish<S: Simd>(
    s: S,
    family: &Family<S>,
    mode: Mode,
    mask: u8,
    sum: [S::F; 4],
    selection: &Selection<S>,
) -> [S::F; 4] {
    let divisor = match mode {
        Mode::Compare(_) => 1.0,
        Mode::Filter => family.code * family.weight,
        _ => family.code,
    };
    let mut by = s.f32(divisor);
    let mut divides = divisor != 1.0;
    if let Some(f) = &selection.footprint
        && selection.count > 1
        && !matches!(mode, Mode::Reduce(_))
    {
        by = by * f.taps.to_f32();
        divides = true;
    }
    let mut out = sum;
    for (c, out) in out.iter_mut().enumerate() {
        if mask >> c & 1 != 0 {
            if divides {
                *out = *out / by;
            }
            if !family.integer && mode != Mode::Point {
                *out = out.ordered().select_f(*out, s.i32(0x7fc0_0000).as_f32());
            }
        }
    }
    out
}

/// The four texels of a bilinear footprint in the view's first level, one component (R-SAMP-68, 69).
#[inline(always)]
fn gather<S: Simd>(source: &Source<'_, S>, request: &Request<'_, S>, family: &Family<S>, uvw: [S::F; 3]) -> [S::F; 4] {
    let s = source.s;
    let level = Level::of(s, source.view, s.i32(0));
    let taps = source.taps(&source.point(uvw), &level, s.i32(-1));
    let mut values = [s.f32(0.0); 4];
    (family.tap)(s, request, &taps, false, &mut values);
    if request.mode == Mode::Gather && family.code != 1.0 {
        values = each!(4; v in values => v / s.f32(family.code));
    }
    // Counter-clockwise from the lower left.
    let [upper_left, upper_right, lower_left, lower_right] = values;
    [lower_left, lower_right, upper_right, upper_left]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R-SAMP-21: integers are the border's numbers, not its bits.
    #[test]
    fn r_samp_21_borders_of_integers() {
        let d = SamplerDescriptor {
            address: [AddressMode::ClampToBorder; 3],
            border: [1.0, -3.0, 200.0, 70000.0],
            ..SamplerDescriptor::default()
        };
        let texel = |format, bytes: usize| border(format, &d).expect("a border")[..bytes].to_vec();
        assert_eq!(texel(TextureFormat::Rgba8Uint, 4), [1, 0, 200, 255]);
        assert_eq!(texel(TextureFormat::Rgba8Sint, 4), [1, 0xfd, 127, 127]);
        assert_eq!(texel(TextureFormat::Rg16Sint, 4), [1, 0, 0xfd, 0xff]);
        assert_eq!(texel(TextureFormat::Rg32Uint, 8), [1, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(texel(TextureFormat::R8Unorm, 1), [255]);
    }
}
