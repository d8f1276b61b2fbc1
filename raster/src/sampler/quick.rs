//! The straight path: 2d textures, clamped or repeated, no offset. Nearly all samples are this, so that it is
//! compiled whole for the common format classes: a call is some 400 instructions from the cells to the cells.
//!
//! It gives the same bits as the driver of `sample.rs` (a test compares them): same operations, same order.

use super::class::Class;
use super::coords::{Level, fixed, reduce};
use super::descriptor::{AddressMode, FilterMode, Reduction, Sampler, SamplerDescriptor};
use super::lod::{isotropic, levels};
use super::sample::{Args, Cells, missing, quantise};
use super::select::{Selection, select};
use super::surface::{Texels, add, compare, mix, weigh};
use super::view::Kernel;
use crate::simd::{Floats, Ints, Simd, each, inlined};
use quadrille_frontend::ir::{Dim, Lod, SampleOp};
use quadrille_jit::abi::{Cell, RESULT_CELL};

/// A whole call of the straight path.
pub(super) type QuickFn<S> = fn(S, &Kernel, Texels<'_>, &SamplerDescriptor, SampleOp, &mut Cells);

/// What a sampler lets the straight path do, worked out when it is made.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Straight {
    /// Clamped or repeated in u and v, one filter for minification and magnification, averaging.
    usable: bool,
    /// Repeated in u or v: needs sizes of powers of two.
    repeats: bool,
}

impl Straight {
    pub fn of(d: &SamplerDescriptor) -> Straight {
        let [u, v, _] = d.address;
        let simple = |mode| matches!(mode, AddressMode::ClampToEdge | AddressMode::Repeat);
        Straight {
            usable: simple(u) && simple(v) && d.mag_filter == d.min_filter && d.reduction == Reduction::WeightedAverage,
            repeats: [u, v].contains(&AddressMode::Repeat),
        }
    }
}

/// Whether the straight path serves a call; `word` is the encoded operation.
#[inline(always)]
pub(super) fn serves(view: &Kernel, sampler: &Sampler, word: u64) -> bool {
    // Everything but array, source of the LOD, comparison and mask is 0, and the shape is 2d.
    const FREE: u64 = 1 << 2 | 7 << 3 | 1 << 6 | 15 << 10;
    let straight = sampler.straight;
    word & !FREE == 1 && straight.usable && (view.power_of_two || !straight.repeats)
}

/// Filters, or compares.
#[inline(never)]
pub(super) fn quick<S: Simd, C: Class>(
    s: S,
    view: &Kernel,
    texels: Texels<'_>,
    d: &SamplerDescriptor,
    op: SampleOp,
    cells: &mut Cells,
) {
    s.call(
        #[inline(always)]
        |s| {
            if op.compare {
                inside::<S, C, true>(s, view, texels, d, op, cells);
            } else {
                inside::<S, C, false>(s, view, texels, d, op, cells);
            }
        },
    );
}

#[inline(never)]
fn selected<S: Simd>(
    s: S,
    view: &Kernel,
    d: &SamplerDescriptor,
    op: SampleOp,
    args: &mut Args<'_>,
    uvw: &[S::F; 3],
) -> Selection<S> {
    s.call(
        #[inline(always)]
        |s| select(s, view, d, &op, args, *uvw),
    )
}

#[inline(always)]
fn inside<S: Simd, C: Class, const COMPARE: bool>(
    s: S,
    view: &Kernel,
    texels: Texels<'_>,
    d: &SamplerDescriptor,
    op: SampleOp,
    cells: &mut Cells,
) {
    let op = SampleOp {
        dim: Dim::D2,
        gather: None,
        offset: [0; 3],
        compare: COMPARE,
        ..op
    };
    let mut args = Args::new(cells);
    let uvw = args.vector(s, 2);
    let layer = if op.array {
        args.int(s).max(s.i32(0)).min(s.i32(view.last_layer)) * s.i32(view.layer_texels)
    } else {
        s.i32(0)
    };
    let reference = if COMPARE {
        quantise(s, view.format, args.float(s))
    } else {
        s.f32(0.0)
    };
    let explicit = matches!(op.lod, Lod::Level | Lod::Zero);
    let linear = d.mag_filter == FilterMode::Linear;
    let selection = if op.lod == Lod::Implicit && d.max_anisotropy == 1 && view.levels > 1 {
        let difference = inlined(
            #[inline(always)]
            |lane: [S::F; 2]| each!(2; c in [0, 1] => (lane[c] - uvw[c].quad::<0>()) * s.i32(view.size[c][0]).as_f32()),
        );
        let dx = difference([uvw[0].quad::<1>(), uvw[1].quad::<1>()]);
        let dy = difference([uvw[0].quad::<2>(), uvw[1].quad::<2>()]);
        Selection {
            levels: levels(s, d, view.levels, isotropic(s, &dx, &dy)),
            count: 1,
            footprint: None,
        }
    } else if view.levels == 1 && (explicit || d.max_anisotropy == 1) {
        Selection::first_level(s, d)
    } else {
        selected(s, view, d, op, &mut args, &uvw)
    };
    let components = view.format.info().components;
    let mask = if COMPARE {
        1
    } else {
        view.in_memory_order(op.mask) & ((1 << components) - 1) as u8
    };

    let lv = &selection.levels;
    let blended = view.levels > 1 && lv.weight.gt(s.i32(0)).any();
    let (lower, upper) = Level::pair(s, view, lv.level, blended);
    let weight = lv.weight.to_f32() * s.f32(1.0 / 256.0);
    let half = s.f32(if linear { 0.5 } else { 0.0 });
    let function = d.compare.unwrap_or(super::descriptor::CompareFunction::Never);
    let mut sum = [s.f32(0.0); 4];
    for i in 1..=selection.count {
        let at = match &selection.footprint {
            Some(f) => f.tap(s, uvw, i),
            None => uvw,
        };
        let uv = each!(2; c in [0, 1] => {
            let mode = if d.address[c] == AddressMode::Repeat { AddressMode::Repeat } else { AddressMode::ClampToEdge };
            reduce(s, mode, at[c])
        });
        let mut value = [s.f32(0.0); 4];
        for k in 0..1 + usize::from(blended) {
            let level = if k == 0 { &lower } else { &upper };
            let axes = each!(2; c in [0, 1] => {
                let x = fixed(s, &uv[c], level.size[c], half);
                let (t, w) = (x.sar::<8>(), x & s.i32(255));
                let next = t + s.i32(1);
                let last = level.last[c];
                if d.address[c] == AddressMode::Repeat {
                    ([t & last, next & last], w)
                } else {
                    let zero = s.i32(0);
                    ([t.max(zero).min(last), next.max(zero).min(last)], w)
                }
            });
            let [([x0, x1], wx), ([y0, y1], wy)] = axes;
            let base = level.base + layer;
            let (c0, r0) = (level.column(s, x0), base + level.line(y0));
            let v = if linear {
                let (c1, r1) = (level.column(s, x1), base + level.line(y1));
                let index = [r0 + c0, r0 + c1, r1 + c0, r1 + c1];
                let t = C::fetch::<S, 4>(s, view, texels.words, texels.bytes, index);
                if COMPARE {
                    let pass = each!(4; t in t => compare(s, function, reference, C::component(s, t, 0)));
                    [weigh(s, pass, wx, wy); 4]
                } else {
                    C::bilinear(s, t, wx, wy, mask)
                }
            } else {
                let [t] = C::fetch::<S, 1>(s, view, texels.words, texels.bytes, [r0 + c0]);
                let mut out = [s.f32(0.0); 4];
                if COMPARE {
                    let pass = compare(s, function, reference, C::component(s, t, 0));
                    out[0] = (pass & s.f32(1.0).bits()).as_f32();
                } else {
                    for (c, out) in out.iter_mut().enumerate() {
                        if mask >> c & 1 != 0 {
                            *out = C::component(s, t, c);
                        }
                    }
                }
                out
            };
            value = if k == 0 {
                v
            } else {
                mix(s, COMPARE || C::INTEGER, value, v, weight, mask)
            };
        }
        sum = match &selection.footprint {
            Some(f) if i > 1 => add(s, sum, value, !s.i32(i).gt(f.taps)),
            _ => value,
        };
    }

    let weighs = if linear { C::WEIGHT } else { 1.0 };
    let mut divisor = s.f32(if COMPARE { 1.0 } else { C::CODE * weighs });
    let mut divides = !COMPARE && C::CODE != 1.0;
    if let Some(f) = &selection.footprint
        && selection.count > 1
    {
        divisor = divisor * f.taps.to_f32();
        divides = true;
    }
    let swap = view.swap;
    for (c, value) in sum.into_iter().enumerate() {
        if mask >> c & 1 != 0 {
            let mut v = value;
            if divides {
                v = v / divisor;
            }
            if !COMPARE && !C::INTEGER && linear {
                v = v.ordered().select_f(v, s.i32(0x7fc0_0000).as_f32());
            }
            let to = if swap && c.is_multiple_of(2) { 2 - c } else { c };
            cells[RESULT_CELL + to] = Cell(v.bits().to_u32());
        }
    }
    if COMPARE {
        cells[RESULT_CELL + 1] = Cell([u32::MAX; 8]);
        return;
    }
    for c in usize::from(components)..4 {
        cells[RESULT_CELL + c] = Cell(missing(s, view, c).bits().to_u32());
    }
    cells[RESULT_CELL + 4] = Cell([u32::MAX; 8]);
}
