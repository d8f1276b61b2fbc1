//! The straight path: 2d textures, clamped or repeated, and cubes, without offset. Nearly all samples are this, so that it is
//! compiled whole for the common format classes: a call is some 400 instructions from the cells to the cells. They
//! depend on one another, and only half as many more fit the processor's window, so what counts is the longest chain.
//!
//! It gives the same bits as the driver of `sample.rs` (tests compare the levels, and the portable one has no
//! straight path): same operations, same order.

use super::class::Class;
use super::coords::{Level, Reduced, fixed, reduce};
use super::cube::select as select_face;
use super::descriptor::{AddressMode, CompareFunction, FilterMode, Reduction, Sampler, SamplerDescriptor};
use super::lod::{isotropic, levels};
use super::sample::{Args, Cells, missing, quantise};
use super::select::{Line, Selection, select};
use super::surface::{Family, Texels, add, bilinear, compare, mix, weigh};
use super::taps::crossing;
use super::view::Kernel;
use crate::simd::{Floats, Ints, Simd, each, inlined};
use quadrille_frontend::ir::{Dim, Lod, SampleOp};
use quadrille_jit::abi::{Cell, RESULT_CELL};

/// A whole call of the straight path.
pub(super) type QuickFn<S> = fn(S, &Kernel, Texels<'_>, &SamplerDescriptor, u64, &mut Cells);

/// What a sampler lets the straight path do, worked out when it is made.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Straight {
    /// Clamped or repeated in u and v, one filter for minification and magnification, averaging.
    usable: bool,
    /// One filter for minification and magnification, averaging: what cubes need.
    averages: bool,
    /// Repeated in u or v: needs sizes of powers of two.
    repeats: bool,
    /// Several taps along a line.
    anisotropic: bool,
}

impl Straight {
    /// Whether address modes and filters are those of the straight path, with that view's sizes.
    #[inline(always)]
    pub fn fits(self, view: &Kernel) -> bool {
        self.usable && (view.power_of_two || !self.repeats)
    }

    pub fn of(d: &SamplerDescriptor) -> Straight {
        let [u, v, _] = d.address;
        let simple = |mode| matches!(mode, AddressMode::ClampToEdge | AddressMode::Repeat);
        let averages = d.mag_filter == d.min_filter && d.reduction == Reduction::WeightedAverage;
        Straight {
            usable: simple(u) && simple(v) && averages,
            averages,
            repeats: [u, v].contains(&AddressMode::Repeat),
            anisotropic: d.max_anisotropy > 1,
        }
    }
}

/// Whether the straight path serves a call; `word` is the encoded operation.
#[inline(always)]
pub(super) fn serves<S: Simd>(view: &Kernel, sampler: &Sampler, word: u64, family: &Family<S>) -> bool {
    // Everything but array, source of the LOD, comparison and mask is 0, and the shape is 2d, or a cube.
    const FREE: u64 = 1 << 2 | 7 << 3 | 15 << 10;
    let free = if family.compares { FREE | 1 << 6 } else { FREE };
    let straight = sampler.straight;
    if word & !(free & !(1 << 6)) == CUBE {
        return family.cube && straight.averages;
    }
    word & !free == 1 && straight.fits(view) && (family.line || !straight.anisotropic)
}

/// The operation word of a cube.
const CUBE: u64 = 3;

/// Filters, or compares.
#[inline(never)]
pub(super) fn quick<S: Simd, C: Class>(
    s: S,
    view: &Kernel,
    texels: Texels<'_>,
    d: &SamplerDescriptor,
    word: u64,
    cells: &mut Cells,
) {
    s.call(
        #[inline(always)]
        |s| {
            let op = SampleOp::decode(word);
            if C::CUBE && op.dim == Dim::Cube {
                return inside::<S, C, false, false, true>(s, view, texels, d, word, cells);
            }
            let line = C::LINE && d.max_anisotropy > 1 && !matches!(op.lod, Lod::Level | Lod::Zero);
            if line {
                inside::<S, C, false, true, false>(s, view, texels, d, word, cells);
            } else if !op.compare {
                inside::<S, C, false, false, false>(s, view, texels, d, word, cells);
            } else if C::COMPARE {
                inside::<S, C, true, false, false>(s, view, texels, d, word, cells);
            }
        },
    );
}

/// The general choice of levels, out of the way: its operands pass through memory.
#[inline(never)]
fn selected<S: Simd>(
    s: S,
    view: &Kernel,
    d: &SamplerDescriptor,
    word: u64,
    cells: &Cells,
    next: usize,
    uvw: [S::F; 3],
) -> Selection<S> {
    s.call(
        #[inline(always)]
        |s| select(s, view, d, &SampleOp::decode(word), &mut Args::at(cells, next), uvw),
    )
}

/// What taps share.
pub(super) struct Tap<'a, S: Simd> {
    pub s: S,
    pub view: &'a Kernel,
    pub texels: Texels<'a>,
    pub repeats: [bool; 2],
    pub linear: bool,
    pub half: S::F,
    pub layer: S::I,
    pub mask: u8,
    pub function: CompareFunction,
    pub reference: S::F,
}

impl<S: Simd> Tap<'_, S> {
    #[inline(always)]
    pub fn reduce(&self, uv: [S::F; 2]) -> [Reduced<S>; 2] {
        each!(2; c in [0, 1] => {
            let mode = if self.repeats[c] { AddressMode::Repeat } else { AddressMode::ClampToEdge };
            reduce(self.s, mode, uv[c])
        })
    }

    /// One level's value, in filtered units (comparisons: 0 to 1, in the first component).
    #[inline(always)]
    pub fn at<C: Class, const COMPARE: bool>(&self, uv: &[Reduced<S>; 2], level: &Level<S>) -> [S::F; 4] {
        let s = self.s;
        let zero = s.i32(0);
        if !COMPARE
            && self.linear
            && self.view.paired
            && let Some(rows) = self.pairs::<C>(uv, level)
        {
            return s.transpose(rows);
        }
        let axes = each!(2; c in [0, 1] => {
            let x = fixed(&uv[c], level.size[c], self.half);
            let (t, w) = (x.sar::<8>(), x & s.i32(255));
            let next = t + s.i32(1);
            let last = level.last[c];
            if self.repeats[c] {
                ([t & last, next & last], w)
            } else {
                ([t.max(zero).min(last), next.max(zero).min(last)], w)
            }
        });
        let [([x0, x1], wx), ([y0, y1], wy)] = axes;
        let base = level.base + self.layer;
        let (c0, r0) = (level.column(x0), base + level.line(y0));
        let Texels { words, bytes, .. } = self.texels;
        let mut out = [s.f32(0.0); 4];
        if self.linear {
            let (c1, r1) = (level.column(x1), base + level.line(y1));
            let index = [r0 + c0, r0 + c1, r1 + c0, r1 + c1];
            if COMPARE {
                let t = C::fetch::<S, 4>(s, self.view, words, bytes, index);
                let pass = each!(4; t in t => compare(s, self.function, self.reference, C::component(s, t, 0)));
                out[0] = weigh(s, pass, wx, wy);
                return out;
            }
            return C::fetch_bilinear(s, self.view, words, bytes, index, wx, wy, self.mask);
        }
        let [t] = C::fetch::<S, 1>(s, self.view, words, bytes, [r0 + c0]);
        if COMPARE {
            let pass = compare(s, self.function, self.reference, C::component(s, t, 0));
            out[0] = (pass & s.f32(1.0).bits()).as_f32();
            return out;
        }
        for (c, out) in out.iter_mut().enumerate() {
            if self.mask >> c & 1 != 0 {
                *out = C::component(s, t, c);
            }
        }
        out
    }
}

impl<S: Simd> Tap<'_, S> {
    /// The sum of the taps of a line, where [`pairs`](Self::pairs) serves: components stay together until all is summed. The same
    /// operations in the same order as tap by tap.
    #[inline(always)]
    fn line_of_pairs<C: Class>(
        &self,
        line: &Line<S>,
        count: i32,
        uv: [S::F; 2],
        levels: [&Level<S>; 2],
        weight: Option<S::F>,
    ) -> Option<[S::F; 4]> {
        let s = self.s;
        let mut fewest = count;
        for taps in line.taps.to_array() {
            fewest = fewest.min(taps);
        }
        let weights = s.spread(weight.unwrap_or(s.f32(0.0)));
        let mut sum = [s.f32(0.0); 4];
        for i in 1..=count {
            let point = self.reduce(line.tap(s, uv, i));
            let mut value = self.pairs::<C>(&point, levels[0])?;
            if weight.is_some() {
                let upper = self.pairs::<C>(&point, levels[1])?;
                value = each!(4; k in [0, 1, 2, 3] => value[k] + (upper[k] - value[k]) * weights[k]);
            }
            if i == 1 {
                sum = value;
                continue;
            }
            let more = each!(4; k in [0, 1, 2, 3] => sum[k] + value[k]);
            if i <= fewest {
                sum = more;
            } else {
                let lanes = s.spread((!s.i32(i).gt(line.taps)).as_f32());
                sum = each!(4; k in [0, 1, 2, 3] => lanes[k].bits().select_f(more[k], sum[k]));
            }
        }
        Some(s.transpose(sum))
    }

    /// As [`at`](Self::at), where the right neighbour stands behind every texel; components by lane.
    #[inline(always)]
    fn pairs<C: Class>(&self, uv: &[Reduced<S>; 2], level: &Level<S>) -> Option<[S::F; 4]> {
        let s = self.s;
        let (zero, one) = (s.i32(0), s.i32(1));
        let [x, y] = each!(2; c in [0, 1] => fixed(&uv[c], level.size[c], self.half));
        let [mut wx, wy] = [x & s.i32(255), y & s.i32(255)];
        let [tx, ty] = [x.sar::<8>(), y.sar::<8>()];
        let [last_x, last_y] = [level.last[0], level.last[1]];
        let x0 = if self.repeats[0] {
            tx & last_x
        } else {
            // Beyond the edge both texels are the same one: the second's weight may be 0.
            let x0 = tx.max(zero).min(last_x);
            wx = wx & x0.eq(tx) & last_x.gt(tx);
            x0
        };
        let [y0, y1] = if self.repeats[1] {
            [ty & last_y, (ty + one) & last_y]
        } else {
            each!(2; t in [ty, ty + one] => t.max(zero).min(last_y))
        };
        let column = level.base + self.layer + level.column(x0);
        C::fetch_pairs(
            s,
            self.texels.words,
            [column + level.line(y0), column + level.line(y1)],
            wx,
            wy,
        )
    }

    /// One level's value of a cube, in filtered units.
    #[inline(always)]
    fn on_cube<C: Class>(&self, face: S::I, uv: &[Reduced<S>; 2], level: &Level<S>) -> [S::F; 4] {
        let s = self.s;
        let (zero, one, low) = (s.i32(0), s.i32(1), s.i32(255));
        let last = level.last[0];
        let [x, y] = each!(2; c in [0, 1] => fixed(&uv[c], level.size[0], self.half));
        let ([tx, wx], [ty, wy]) = ([x.sar::<8>(), x & low], [y.sar::<8>(), y & low]);
        let base = level.base + self.layer;
        let Texels { words, bytes, .. } = self.texels;
        if !self.linear {
            // A point never leaves its face (R-SAMP-84).
            let at = level.line(ty.max(zero).min(last)) + level.column(tx.max(zero).min(last));
            let index = base + face * s.i32(self.view.layer_texels) + at;
            let [t] = C::fetch::<S, 1>(s, self.view, words, bytes, [index]);
            return each!(4; c in [0, 1, 2, 3] => C::component(s, t, c));
        }
        let outside = zero.gt(tx) | (tx + one).gt(last) | zero.gt(ty) | (ty + one).gt(last);
        if outside.any() {
            let mut out = [s.f32(0.0); 4];
            self.over_edge::<C>(base, face, [tx, ty], [wx, wy], level, &mut out);
            return out;
        }
        let base = base + face * s.i32(self.view.layer_texels);
        let (c0, r0) = (level.column(tx), base + level.line(ty));
        let (c1, r1) = (level.column(tx + one), base + level.line(ty + one));
        let index = [r0 + c0, r0 + c1, r1 + c0, r1 + c1];
        C::fetch_bilinear(s, self.view, words, bytes, index, wx, wy, self.mask)
    }

    /// Where some lane's texels lie on several faces: out of the way.
    #[inline(never)]
    fn over_edge<C: Class>(
        &self,
        base: S::I,
        face: S::I,
        at: [S::I; 2],
        w: [S::I; 2],
        level: &Level<S>,
        out: &mut [S::F; 4],
    ) {
        self.s.call(
            #[inline(always)]
            |s| {
                let Texels { words, bytes, .. } = self.texels;
                let (index, missing) = crossing(s, self.view, level, base, face, at, s.i32(-1));
                *out = match &missing {
                    None => C::fetch_bilinear(s, self.view, words, bytes, index, w[0], w[1], self.mask),
                    Some(_) => {
                        let t = C::fetch::<S, 4>(s, self.view, words, bytes, index);
                        bilinear::<S, C>(s, t, w[0], w[1], self.mask, missing.as_ref())
                    }
                };
            },
        );
    }
}

#[inline(always)]
fn inside<S: Simd, C: Class, const COMPARE: bool, const LINE: bool, const CUBE: bool>(
    s: S,
    view: &Kernel,
    texels: Texels<'_>,
    d: &SamplerDescriptor,
    word: u64,
    cells: &mut Cells,
) {
    let op = SampleOp::decode(word);
    let uv = [s.load_u32(&cells[1].0).as_f32(), s.load_u32(&cells[2].0).as_f32()];
    let zero = s.i32(0);
    let mut next = 3;
    let mut direction = [uv[0], uv[1], s.f32(0.0)];
    if CUBE {
        direction[2] = s.load_u32(&cells[3].0).as_f32();
        next += 1;
    }
    let mut layer = zero;
    if op.array {
        let surfaces = if CUBE { 6 } else { 1 };
        let index = s.load_u32(&cells[next].0).max(zero).min(s.i32(view.last_layer));
        layer = index * s.i32(view.layer_texels.wrapping_mul(surfaces));
        next += 1;
    }
    let faces = if CUBE { Some(select_face(s, direction)) } else { None };
    let mut reference = s.f32(0.0);
    if COMPARE {
        reference = quantise(s, view.format, s.load_u32(&cells[next].0).as_f32());
        next += 1;
    }
    let (mut level, mut fraction, mut count, mut line) = (zero, zero, 1, None);
    if LINE || (view.levels > 1 && op.lod != Lod::Implicit) {
        let chosen = selected(s, view, d, word, cells, next, direction);
        (level, fraction) = (chosen.levels.level, chosen.levels.weight);
        if LINE {
            (count, line) = (chosen.count, chosen.footprint);
        }
    } else if let (true, Some(faces)) = (view.levels > 1, &faces) {
        let first = each!(3; c in direction => c.quad::<0>());
        let size = s.f32(view.size[0]);
        let difference = inlined(
            #[inline(always)]
            |to: [S::F; 3]| faces.derivative(s, size, [to[0] - first[0], to[1] - first[1], to[2] - first[2]]),
        );
        let dx = difference(each!(3; c in direction => c.quad::<1>()));
        let dy = difference(each!(3; c in direction => c.quad::<2>()));
        let chosen = levels(s, d, view.levels, isotropic(s, &dx, &dy));
        (level, fraction) = (chosen.level, chosen.weight);
    } else if view.levels > 1 {
        let difference = inlined(
            #[inline(always)]
            |to: [S::F; 2]| each!(2; c in [0, 1] => (to[c] - uv[c].quad::<0>()) * s.f32(view.size[c])),
        );
        let dx = difference([uv[0].quad::<1>(), uv[1].quad::<1>()]);
        let dy = difference([uv[0].quad::<2>(), uv[1].quad::<2>()]);
        let chosen = levels(s, d, view.levels, isotropic(s, &dx, &dy));
        (level, fraction) = (chosen.level, chosen.weight);
    }
    let linear = d.mag_filter == FilterMode::Linear;
    let tap = Tap {
        s,
        view,
        texels,
        repeats: [d.address[0] == AddressMode::Repeat, d.address[1] == AddressMode::Repeat],
        linear,
        half: s.f32(if linear { 128.0 } else { 0.0 }),
        layer,
        mask: if COMPARE {
            1
        } else {
            view.in_memory_order(op.mask) & view.present
        },
        function: d.compare.unwrap_or(CompareFunction::Never),
        reference,
    };
    let mask = tap.mask;
    let blended = view.levels > 1 && fraction.gt(zero).any();
    let (lower, upper) = Level::pair(s, view, level, blended);
    let weight = fraction.to_f32() * s.f32(1.0 / 256.0);
    let join = inlined(
        #[inline(always)]
        |a: [S::F; 4], b: [S::F; 4]| mix(s, COMPARE || C::INTEGER, a, b, weight, mask),
    );
    let mut sum = [s.f32(0.0); 4];
    let mut divisor = s.f32(C::CODE * if linear { C::WEIGHT } else { 1.0 });
    let together = match &line {
        Some(line) if LINE && C::INTEGER && view.paired && linear => {
            let weight = if blended { Some(weight) } else { None };
            tap.line_of_pairs::<C>(line, count, uv, [&lower, &upper], weight)
        }
        _ => None,
    };
    if let (Some(line), Some(all)) = (&line, together) {
        sum = all;
        divisor = divisor * line.taps.to_f32();
    } else if let Some(line) = &line {
        for i in 1..=count {
            let point = tap.reduce(line.tap(s, uv, i));
            let mut value = [s.f32(0.0); 4];
            for k in 0..1 + usize::from(blended) {
                let v = tap.at::<C, COMPARE>(&point, if k == 0 { &lower } else { &upper });
                value = if k == 0 { v } else { join(value, v) };
            }
            sum = if i == 1 {
                value
            } else {
                add(s, sum, value, !s.i32(i).gt(line.taps))
            };
        }
        divisor = divisor * line.taps.to_f32();
    } else if let Some(faces) = &faces {
        let point = each!(2; u in faces.uv => reduce(s, AddressMode::ClampToEdge, u));
        sum = tap.on_cube::<C>(faces.face, &point, &lower);
        if blended {
            sum = join(sum, tap.on_cube::<C>(faces.face, &point, &upper));
        }
    } else {
        let point = tap.reduce(uv);
        sum = tap.at::<C, COMPARE>(&point, &lower);
        if blended {
            sum = join(sum, tap.at::<C, COMPARE>(&point, &upper));
        }
    }

    let divides = !COMPARE && (LINE || C::CODE != 1.0);
    for (c, value) in sum.into_iter().enumerate() {
        if mask >> c & 1 != 0 {
            let mut v = value;
            if divides {
                v = v / divisor;
            }
            if !COMPARE && !C::INTEGER && linear {
                v = v.ordered().select_f(v, s.i32(0x7fc0_0000).as_f32());
            }
            let to = if view.swap && c % 2 == 0 { 2 - c } else { c };
            cells[RESULT_CELL + to] = Cell(v.bits().to_u32());
        }
    }
    if COMPARE {
        cells[RESULT_CELL + 1] = Cell([u32::MAX; 8]);
        return;
    }
    if view.present != 15 {
        for c in 0..4 {
            if view.present >> c & 1 == 0 {
                cells[RESULT_CELL + c] = Cell(missing(s, view, c).bits().to_u32());
            }
        }
    }
    cells[RESULT_CELL + 4] = Cell([u32::MAX; 8]);
}
