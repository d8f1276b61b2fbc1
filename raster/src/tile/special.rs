//! Coverage of primitives that go no common way, and clip distances (R-RAST-13, 50, 56, 57, 60, 91, 120, 123).
//!
//! A clip distance d is linear over the triangle in clip space, so d/w is linear on the screen: a plane, evaluated at
//! every sample in f64. Samples where it isn't >= 0 are taken out of the pairs, so that all that follows sees coverage
//! as if the primitive ended there.
//!
//! The rule that must not break: sides of whole pairs and tiles are judged by the same evaluation as samples. Rounding
//! is monotone and so is the evaluation, in x and in y: what holds at the corners of a box holds in all of it.

use super::at_best_level;
use super::batch::{Batch, BatchPair};
use super::pairs::{PairWord, TileArea, lane};
use super::polygon::INNER_BYTE;
use super::{lines, polygon, raster, record, smooth};
use crate::binning::{Chunk, DrawState, Group, Prim, area};
use crate::geometry::{Gradients, ScreenVertex, sample_offsets};
use crate::pipeline::{CoverageForm, LineMode, PointMode};
use crate::vertex::Shape;
use quadrille_jit::abi::{Pair, WidePair};

/// Adds a primitive to the batch whose pipeline's pairs aren't the pass' (R-RAST-110, [`CoverageForm`]). True if the batch
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
    match state.pipeline.coverage.bytes() {
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
#[inline(never)]
pub(super) fn cover<P: PairWord, const N: usize>(
    tile: &TileArea,
    group: &Group,
    state: &DrawState<'_>,
    v: &[ScreenVertex; 3],
    blocks: [&[u32]; 3],
    out: &mut [P],
) -> usize {
    let mut cuts = Cuts::default();
    if !state.pipeline.routing.clip.is_empty() && !cuts.find(tile, group, state, v, blocks) {
        return 0;
    }
    let (rect, extended) = (&state.rect, &state.pipeline.primitive.extended);
    let form = state.pipeline.coverage;
    let ends = [v[0], v[1]];
    let count = match group.shape {
        Shape::Triangle if extended.conservative => {
            polygon::conservative::<_, N>(tile, v, rect, form == CoverageForm::Inner, out)
        }
        Shape::Triangle => {
            let all = raster::bounds(v, N as u32);
            let inside = raster::inside(tile, all, rect);
            if inside.is_empty() {
                return 0;
            }
            at_best_level!(L => raster::triangle::<_, N, L>(tile, v, all, rect, inside, 0, out).0)
        }
        Shape::Line => match extended.line_mode {
            LineMode::Aliased => lines::line::<_, N>(tile, &ends, rect, out),
            LineMode::Rectangular => polygon::rectangle::<_, N>(tile, &ends, rect, out),
            LineMode::AlphaAntialiased => smooth::line(tile, &ends, rect, out),
        },
        Shape::Point if extended.point_mode == PointMode::Square => polygon::square::<_, N>(tile, &v[0], rect, out),
        Shape::Point => lines::point::<_, N>(tile, &v[0], rect, out),
    };
    if cuts.count == 0 || count == 0 {
        return count;
    }
    let points = match form {
        _ if group.shape == Shape::Triangle && extended.conservative => Points::Square {
            inner: form == CoverageForm::Inner,
        },
        CoverageForm::Samples(_) => Points::Samples(sample_offsets::<N>()),
        _ => Points::Samples([[128; 2]; N]),
    };
    cuts.keep::<P, N>(tile, &points, count, out)
}

/// Where a pixel's coverage bytes are tested.
enum Points<const N: usize> {
    /// Each at its place, in 1/256 pixel.
    Samples([[i32; 2]; N]),
    /// All over the pixel's square, which goes if nothing of it stays; the inner coverage goes if not all of it does.
    Square { inner: bool },
}

/// Where a box lies.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Inside,
    Outside,
    Across,
}

/// A clip distance over the screen, by pixel position.
#[derive(Clone, Copy, Default)]
struct Plane {
    origin: [f64; 2],
    value: f64,
    slope: [f64; 2],
    /// Where some vertices have +infinity: their weight. It decides, and the rest only where it is 0.
    infinite: Option<(f64, [f64; 2])>,
}

impl Plane {
    /// Of d/w.
    fn of_distance(shape: Shape, v: &[ScreenVertex; 3], d: &[f32]) -> Plane {
        let gradients = match shape {
            Shape::Triangle => match area(v) {
                0 => Gradients::CONSTANT,
                area => Gradients::triangle(v, area),
            },
            Shape::Line => Gradients::line(&[v[0], v[1]]),
            Shape::Point => Gradients::CONSTANT,
        };
        let mut q = [0.0; 3];
        let mut weights = [0.0; 3];
        for (k, &d) in d.iter().enumerate() {
            let iw = f64::from(v[k].iw);
            if d == f32::INFINITY {
                weights[k] = iw;
            } else {
                q[k] = f64::from(d) * iw;
            }
        }
        Plane {
            origin: [f64::from(v[0].x) / 256.0, f64::from(v[0].y) / 256.0],
            value: q[0],
            slope: gradients.slope(q),
            infinite: d
                .contains(&f32::INFINITY)
                .then(|| (weights[0], gradients.slope(weights))),
        }
    }

    /// Whether a point stays (R-RAST-13); NaN doesn't.
    #[inline(always)]
    fn keeps(&self, x: f64, y: f64) -> bool {
        let (dx, dy) = (x - self.origin[0], y - self.origin[1]);
        let at = |value: f64, slope: [f64; 2]| value + dx * slope[0] + dy * slope[1];
        if let Some((value, slope)) = self.infinite {
            let weight = at(value, slope);
            if weight != 0.0 {
                return weight > 0.0;
            }
        }
        at(self.value, self.slope) >= 0.0
    }

    /// By the corners of the box from (x, y) on.
    #[inline(always)]
    fn corners(&self, x: f64, y: f64, width: f64, height: f64) -> Side {
        let corners = [
            self.keeps(x, y),
            self.keeps(x + width, y),
            self.keeps(x, y + height),
            self.keeps(x + width, y + height),
        ];
        match corners {
            [true, true, true, true] => Side::Inside,
            [false, false, false, false] => Side::Outside,
            _ => Side::Across,
        }
    }

    /// What is true of every point in a box, or that nothing is known. Corners say nothing where two planes decide.
    #[inline(always)]
    fn side(&self, x: f64, y: f64, width: f64, height: f64) -> Side {
        match self.infinite {
            Some(_) => Side::Across,
            None => self.corners(x, y, width, height),
        }
    }
}

/// The clip distances that matter in a tile.
#[derive(Default)]
struct Cuts {
    planes: [Plane; 8],
    count: usize,
}

impl Cuts {
    /// Collects those that cut the primitive in the tile; false if nothing is left there.
    fn find(
        &mut self,
        tile: &TileArea,
        group: &Group,
        state: &DrawState<'_>,
        v: &[ScreenVertex; 3],
        blocks: [&[u32]; 3],
    ) -> bool {
        let corners = match group.shape {
            Shape::Triangle => 3,
            Shape::Line => 2,
            Shape::Point => 1,
        };
        for word in state.pipeline.routing.clip.clone() {
            let d = blocks.map(|b| b.get(word as usize).map_or(0.0, |w| f32::from_bits(*w)));
            let d = &d[..corners];
            if d.iter().all(|&d| d >= 0.0) {
                continue;
            }
            if d.contains(&f32::NEG_INFINITY) {
                return false;
            }
            let plane = Plane::of_distance(group.shape, v, d);
            let edge = tile.edge as f64;
            match plane.side(tile.x.into(), tile.y.into(), edge, edge) {
                Side::Inside => {}
                Side::Outside => return false,
                Side::Across => {
                    self.planes[self.count] = plane;
                    self.count += 1;
                }
            }
        }
        true
    }

    /// Takes what is cut off out of pairs; gives how many pairs are left.
    fn keep<P: PairWord, const N: usize>(
        &self,
        tile: &TileArea,
        points: &Points<N>,
        count: usize,
        out: &mut [P],
    ) -> usize {
        let mut kept = 0;
        for n in 0..count {
            let pair = out[n];
            let (_, x, y) = pair.position();
            let (px, py) = (f64::from(tile.x) + x as f64, f64::from(tile.y) + y as f64);
            let mut across = [Plane::default(); 8];
            let (mut some, mut outside) = (0, false);
            for plane in &self.planes[..self.count] {
                match plane.side(px, py, 4.0, 2.0) {
                    Side::Inside => {}
                    Side::Outside => outside = true,
                    Side::Across => {
                        across[some] = *plane;
                        some += 1;
                    }
                }
            }
            if outside {
                continue;
            }
            let pair = match some {
                0 => pair,
                _ => match cut_pair::<P, N>(&across[..some], points, (px, py), &pair) {
                    Some(pair) => pair,
                    None => continue,
                },
            };
            out[kept] = pair;
            kept += 1;
        }
        kept
    }
}

/// What is left of a pair at a pixel position.
fn cut_pair<P: PairWord, const N: usize>(
    planes: &[Plane],
    points: &Points<N>,
    (px, py): (f64, f64),
    pair: &P,
) -> Option<P> {
    let (index, x, y) = pair.position();
    let mut coverage: [u8; N] = std::array::from_fn(|s| pair.coverage(s));
    for (j, i) in (0..2).flat_map(|j| (0..4).map(move |i| (j, i))) {
        let bit = 1u8 << lane(i, j);
        let (qx, qy) = (px + i as f64, py + j as f64);
        match points {
            Points::Samples(offsets) => {
                for (mask, [ox, oy]) in coverage.iter_mut().zip(offsets) {
                    let (sx, sy) = (qx + f64::from(*ox) / 256.0, qy + f64::from(*oy) / 256.0);
                    if *mask & bit != 0 && !planes.iter().all(|p| p.keeps(sx, sy)) {
                        *mask &= !bit;
                    }
                }
            }
            Points::Square { inner } => {
                let sides = |s| planes.iter().any(|p| p.corners(qx, qy, 1.0, 1.0) == s);
                if sides(Side::Outside) {
                    coverage.iter_mut().for_each(|mask| *mask &= !bit);
                } else if *inner && sides(Side::Across) {
                    coverage[INNER_BYTE] &= !bit;
                }
            }
        }
    }
    (coverage != [0; N]).then(|| P::new(index, x, y, coverage))
}
