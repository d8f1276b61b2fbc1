//! Coverage of primitives that go no common way, and clip distances (R-RAST-13, 50, 56, 60, 120).
//!
//! A clip distance d is linear over the triangle in clip space, so d/w is linear on the screen: a plane, evaluated at
//! every sample in f64. Samples where it isn't >= 0 are taken out of the pairs, so that all that follows sees coverage
//! as if the primitive ended there.

use super::batch::{Batch, BatchPair};
use super::pairs::{PairWord, TileArea, lane};
use super::{lines, polygon, raster, record};
use crate::binning::{Chunk, DrawState, Group, Prim, area};
use crate::geometry::{Gradients, ScreenVertex, sample_offsets};
use crate::pipeline::{LineMode, PointMode};
use crate::tile::lanes::Portable;
use crate::vertex::Shape;
use quadrille_jit::abi::{Pair, WidePair};

/// Adds a primitive to the batch at the samples of its pipeline, which aren't the pass' (R-RAST-110). True if the batch
/// must run now.
#[cold]
pub(super) fn push(
    batch: &mut Batch,
    tile: &TileArea,
    chunk: &Chunk,
    group: &Group,
    state: &DrawState<'_>,
    prim: &Prim,
) -> bool {
    match state.pipeline.raster_samples {
        1 => push_as::<Pair, 1>(batch, tile, chunk, group, state, prim),
        4 => push_as::<Pair, 4>(batch, tile, chunk, group, state, prim),
        8 => push_as::<WidePair, 8>(batch, tile, chunk, group, state, prim),
        _ => push_as::<WidePair, 16>(batch, tile, chunk, group, state, prim),
    }
}

fn push_as<P: BatchPair, const N: usize>(
    batch: &mut Batch,
    tile: &TileArea,
    chunk: &Chunk,
    group: &Group,
    state: &DrawState<'_>,
    prim: &Prim,
) -> bool {
    let v = prim.v.map(|i| chunk.screen[usize::from(i)]);
    let blocks = prim.v.map(|i| group.words_of(chunk, i));
    let count = cover::<P, N>(tile, group, state, &v, blocks, batch.free_pairs::<P>());
    if count == 0 {
        return false;
    }
    let blocks = prim.v.map(|i| group.block(chunk, i));
    let record = record(state, group, &v, blocks, prim.front(), prim.index);
    batch.push::<P>(record, count)
}

/// Writes the pairs that a primitive covers in a tile; `blocks` are its vertices' attribute blocks.
#[cold]
pub(super) fn cover<P: PairWord, const N: usize>(
    tile: &TileArea,
    group: &Group,
    state: &DrawState<'_>,
    v: &[ScreenVertex; 3],
    blocks: [&[u32]; 3],
    out: &mut [P],
) -> usize {
    let (rect, extended) = (&state.rect, &state.pipeline.primitive.extended);
    let ends = [v[0], v[1]];
    let count = match group.shape {
        Shape::Triangle if extended.conservative => polygon::conservative::<_, N>(tile, v, rect, out),
        Shape::Triangle => {
            let all = raster::bounds(v, N as u32);
            let inside = raster::inside(tile, all, rect);
            if inside.is_empty() {
                return 0;
            }
            raster::triangle::<_, N, Portable>(tile, v, all, rect, inside, 0, out).0
        }
        Shape::Line if extended.line_mode == LineMode::Rectangular => {
            polygon::rectangle::<_, N>(tile, &ends, rect, out)
        }
        Shape::Line => lines::line::<_, N>(tile, &ends, rect, out),
        Shape::Point if extended.point_mode == PointMode::Square => polygon::square::<_, N>(tile, &v[0], rect, out),
        Shape::Point => lines::point::<_, N>(tile, &v[0], rect, out),
    };
    let clip = &state.pipeline.routing.clip;
    if clip.is_empty() || count == 0 {
        return count;
    }
    let planes: Vec<Plane> = clip
        .clone()
        .filter_map(|word| {
            let d = blocks.map(|b| b.get(word as usize).map_or(0.0, |w| f32::from_bits(*w)));
            Plane::of_distance(group.shape, v, d)
        })
        .collect();
    if planes.is_empty() {
        return count;
    }
    keep::<P, N>(tile, &planes, count, out)
}

/// A value over the screen, by pixel position.
struct Plane {
    origin: [f64; 2],
    value: f64,
    slope: [f64; 2],
}

impl Plane {
    /// Of d/w; `None` if no vertex has a negative one.
    fn of_distance(shape: Shape, v: &[ScreenVertex; 3], d: [f32; 3]) -> Option<Plane> {
        if d.iter().all(|&d| d >= 0.0) {
            return None;
        }
        let q: [f64; 3] = std::array::from_fn(|k| f64::from(d[k]) * f64::from(v[k].iw));
        let gradients = match shape {
            Shape::Triangle => match area(v) {
                0 => Gradients::CONSTANT,
                area => Gradients::triangle(v, area),
            },
            Shape::Line => Gradients::line(&[v[0], v[1]]),
            Shape::Point => Gradients::CONSTANT,
        };
        Some(Plane {
            origin: [f64::from(v[0].x) / 256.0, f64::from(v[0].y) / 256.0],
            value: q[0],
            slope: gradients.slope(q),
        })
    }

    fn at(&self, x: f64, y: f64) -> f64 {
        self.value + (x - self.origin[0]) * self.slope[0] + (y - self.origin[1]) * self.slope[1]
    }
}

/// Takes samples out of pairs where a plane is negative; gives how many pairs are left.
fn keep<P: PairWord, const N: usize>(tile: &TileArea, planes: &[Plane], count: usize, out: &mut [P]) -> usize {
    let offsets = sample_offsets::<N>();
    let mut kept = 0;
    for n in 0..count {
        let (index, x, y) = out[n].position();
        let mut coverage: [u8; N] = std::array::from_fn(|s| out[n].coverage(s));
        for (j, i) in (0..2).flat_map(|j| (0..4).map(move |i| (j, i))) {
            let bit = 1 << lane(i, j);
            for (mask, [ox, oy]) in coverage.iter_mut().zip(offsets) {
                let at = |tile: i32, p: usize, o: i32| f64::from(tile) + p as f64 + f64::from(o) / 256.0;
                let (sx, sy) = (at(tile.x, x + i, ox), at(tile.y, y + j, oy));
                // NaN is not inside.
                if *mask & bit != 0 && !planes.iter().all(|p| p.at(sx, sy) >= 0.0) {
                    *mask &= !bit;
                }
            }
        }
        if coverage != [0; N] {
            out[kept] = P::new(index, x, y, coverage);
            kept += 1;
        }
    }
    kept
}
