//! Several comparisons in one call (law S1): the taps of a shadow filter.
//!
//! ```text
//! grid: u's ─► columns of texels ┐                                  ┌─► rows of horizontal sums ─► one result a tap
//!       v's ─► rows of texels    ┴─► every texel once: passes or not ┘
//! list: taps one after the other, without the way in and out
//! ```
//!
//! Neighbouring taps of a grid share texels wherever all lanes agree that they do, so that a filter of 5x5 taps a texel
//! apart fetches 36 texels, not 100. Sums are integers, so the results are those of single samples to the bit (law S2).

use super::class::Class;
use super::coords::{Level, fixed, reduce};
use super::descriptor::{AddressMode, CompareFunction, FilterMode, Sampler};
use super::quick::Tap;
use super::sample::{Cells, quantise};
use super::surface::{Texels, compare};
use super::view::Kernel;
use crate::simd::{Floats, Ints, Simd};
use quadrille_frontend::ir::{Dim, Lod, SampleBatch, SampleOp};
use quadrille_jit::abi::{CALL_CELLS, Cell, RESULT_CELL};

/// Most taps along a side.
const SIDE: usize = SampleBatch::MAX_SIDE;

/// Whether [`compare_n`] serves a batch: bilinear comparisons of one level, clamped or repeated.
pub(super) fn serves(view: &Kernel, sampler: &Sampler, op: &SampleOp) -> bool {
    op.compare
        && op.gather.is_none()
        && op.dim == Dim::D2
        && op.lod != Lod::Grad
        && op.offset == [0; 3]
        && view.levels == 1
        && sampler.d.mag_filter == FilterMode::Linear
        && sampler.d.max_anisotropy == 1
        && sampler.straight.fits(view)
}

/// All comparisons of a batch.
#[inline(never)]
pub(super) fn compare_n<S: Simd, C: Class>(
    s: S,
    view: &Kernel,
    texels: Texels<'_>,
    sampler: &Sampler,
    op: &SampleOp,
    batch: SampleBatch,
    cells: &mut Cells,
) {
    let d = &sampler.d;
    let function = d.compare.unwrap_or(CompareFunction::Never);
    let repeats = [d.address[0] == AddressMode::Repeat, d.address[1] == AddressMode::Repeat];
    s.call(
        #[inline(always)]
        |s| {
            if batch.columns > 0 {
                grid::<S, C>(s, view, texels, repeats, function, op, batch, cells);
            } else {
                list::<S, C>(s, view, texels, repeats, function, op, batch, cells);
            }
            cells[(RESULT_CELL + usize::from(batch.count)) % CALL_CELLS] = Cell([u32::MAX; 8]);
        },
    );
}

/// Layer and reference of the operands from `next` on.
#[inline(always)]
fn shared<S: Simd>(s: S, view: &Kernel, op: &SampleOp, cells: &Cells, mut next: usize) -> (S::I, S::F) {
    let mut layer = s.i32(0);
    if op.array {
        let index = s.load_u32(&cells[next % CALL_CELLS].0);
        layer = index.max(s.i32(0)).min(s.i32(view.last_layer)) * s.i32(view.layer_texels);
        next += 1;
    }
    let reference = s.load_u32(&cells[next % CALL_CELLS].0).as_f32();
    (layer, quantise(s, view.format, reference))
}

#[inline(always)]
#[expect(
    clippy::too_many_arguments,
    reason = "a struct of them would be read back from memory in every use"
)]
fn list<S: Simd, C: Class>(
    s: S,
    view: &Kernel,
    texels: Texels<'_>,
    repeats: [bool; 2],
    function: CompareFunction,
    op: &SampleOp,
    batch: SampleBatch,
    cells: &mut Cells,
) {
    let level = Level::of(s, view, s.i32(0));
    let operands = op.arg_count();
    for i in 0..usize::from(batch.count) {
        let at = 1 + i * operands;
        let uv = [
            s.load_u32(&cells[at % CALL_CELLS].0).as_f32(),
            s.load_u32(&cells[(at + 1) % CALL_CELLS].0).as_f32(),
        ];
        let (layer, reference) = shared(s, view, op, cells, at + 2);
        let tap = Tap {
            s,
            view,
            texels,
            repeats,
            linear: true,
            half: s.f32(128.0),
            layer,
            mask: 1,
            function,
            reference,
        };
        let value = tap.at::<C, true>(&tap.reduce(uv), &level);
        cells[(RESULT_CELL + i) % CALL_CELLS] = Cell(value[0].bits().to_u32());
    }
}

/// The texels that the taps along an axis need.
struct Side<S: Simd> {
    /// Address modes applied.
    texels: [S::I; 2 * SIDE],
    count: usize,
    /// Places of both texels of each tap.
    first: [u8; SIDE],
    second: [u8; SIDE],
    /// Weight of the second.
    weight: [S::I; SIDE],
}

impl<S: Simd> Side<S> {
    #[inline(always)]
    fn new(s: S, repeats: bool, size: S::F, last: S::I, coordinates: &[Cell]) -> Side<S> {
        let zero = s.i32(0);
        let one = s.i32(1);
        let half = s.f32(128.0);
        let mut side = Side {
            texels: [zero; 2 * SIDE],
            count: 0,
            first: [0; SIDE],
            second: [0; SIDE],
            weight: [zero; SIDE],
        };
        let mode = if repeats {
            AddressMode::Repeat
        } else {
            AddressMode::ClampToEdge
        };
        let mut before = zero;
        for (i, u) in coordinates.iter().enumerate().take(SIDE) {
            let x = fixed(&reduce(s, mode, s.load_u32(&u.0).as_f32()), size, half);
            let t = x.sar::<8>();
            side.weight[i] = x & s.i32(255);
            let last_two = i > 0;
            let place = side.count;
            if last_two && t.eq(before + one).all() {
                // A texel further: its first is the second of the tap before.
                side.first[i] = side.second[i - 1];
            } else if last_two && t.eq(before).all() {
                (side.first[i], side.second[i]) = (side.first[i - 1], side.second[i - 1]);
                continue;
            } else {
                side.texels[place % (2 * SIDE)] = t;
                side.first[i] = place as u8;
                side.count += 1;
            }
            side.texels[side.count % (2 * SIDE)] = t + one;
            side.second[i] = side.count as u8;
            side.count += 1;
            before = t;
        }
        for i in 0..side.count.min(2 * SIDE) {
            let t: S::I = side.texels[i];
            side.texels[i] = if repeats { t & last } else { t.max(zero).min(last) };
        }
        side
    }
}

#[inline(always)]
#[expect(
    clippy::too_many_arguments,
    reason = "a struct of them would be read back from memory in every use"
)]
fn grid<S: Simd, C: Class>(
    s: S,
    view: &Kernel,
    texels: Texels<'_>,
    repeats: [bool; 2],
    function: CompareFunction,
    op: &SampleOp,
    batch: SampleBatch,
    cells: &mut Cells,
) {
    let (nu, nv) = (usize::from(batch.columns).min(SIDE), batch.rows().min(SIDE));
    let level = Level::of(s, view, s.i32(0));
    let mut columns = Side::new(s, repeats[0], level.size[0], level.last[0], &cells[1..1 + nu]);
    let mut rows = Side::new(s, repeats[1], level.size[1], level.last[1], &cells[1 + nu..1 + nu + nv]);
    let (layer, reference) = shared(s, view, op, cells, 1 + nu + nv);
    for t in &mut columns.texels[..columns.count.min(2 * SIDE)] {
        *t = level.column(*t);
    }
    let base = level.base + layer;
    for t in &mut rows.texels[..rows.count.min(2 * SIDE)] {
        *t = base + level.line(*t);
    }
    let full = s.i32(256);
    // Sums along each row for each column of taps: at most 256.
    let mut sums = [s.i32(0); 2 * SIDE * SIDE];
    for (r, sums) in sums.chunks_exact_mut(SIDE).enumerate().take(rows.count) {
        let line = rows.texels[r];
        let mut pass = [s.i32(0); 2 * SIDE];
        for c in 0..columns.count.min(2 * SIDE) {
            let index = [line + columns.texels[c]];
            let [texel] = C::fetch::<S, 1>(s, view, texels.words, texels.bytes, index);
            pass[c] = compare(s, function, reference, C::component(s, texel, 0));
        }
        for i in 0..nu {
            let w = columns.weight[i];
            let (a, b) = (
                columns.first[i] as usize % (2 * SIDE),
                columns.second[i] as usize % (2 * SIDE),
            );
            sums[i] = (pass[a] & (full - w)) + (pass[b] & w);
        }
    }
    let unit = s.f32(1.0 / 65536.0);
    for j in 0..nv {
        let w = rows.weight[j];
        let weights = full - w + w.shl::<16>();
        let (a, b) = (
            rows.first[j] as usize % (2 * SIDE),
            rows.second[j] as usize % (2 * SIDE),
        );
        for i in 0..nu {
            // Both rows as 16-bit halves.
            let pair = sums[a * SIDE + i] | sums[b * SIDE + i].shl::<16>();
            let value = pair.madd16(weights).to_f32() * unit;
            cells[(RESULT_CELL + j * nu + i) % CALL_CELLS] = Cell(value.bits().to_u32());
        }
    }
}
