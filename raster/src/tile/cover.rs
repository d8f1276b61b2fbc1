//! Coverage of a primitive in a tile, pair by pair, exactly (R-RAST-30 to 35, laws R1, N5).
//!
//! Edge functions are taken at sample positions in i64, rebased to the tile. Positions step by whole pixels, 256
//! units, so `e >> 8` decides the sign everywhere in the tile and steps by the edge's own deltas: 32 bits do for all
//! but huge triangles, which go by the 64-bit path.

use super::simd::{Lanes, Portable};
use crate::binning::area;
use crate::geometry::{Rect, ScreenVertex};
use crate::vertex::Shape;
use quadrille_jit::abi::Pair;

/// The tile in hand, in pixels of the target.
#[derive(Clone, Copy, Debug)]
pub(super) struct TileRect {
    pub x: i32,
    pub y: i32,
    pub edge: i32,
}

/// X of the lane within its pair.
const LANE_X: [i32; 8] = [0, 1, 0, 1, 2, 3, 2, 3];
/// Y of the lane within its pair.
const LANE_Y: [i32; 8] = [0, 0, 1, 1, 0, 0, 1, 1];

/// Lanes whose columns are in the 4-bit set.
const COLUMNS: [u8; 16] = {
    let mut table = [0; 16];
    let mut set = 0;
    while set < 16 {
        let mut lane = 0;
        while lane < 8 {
            if set >> LANE_X[lane] & 1 != 0 {
                table[set] |= 1 << lane;
            }
            lane += 1;
        }
        set += 1;
    }
    table
};
/// Lanes whose rows are in the 2-bit set.
const ROWS: [u8; 4] = [0, 0x33, 0xcc, 0xff];

/// Lanes of the pair at (x, y) that lie in a rectangle.
#[inline(always)]
fn inside_rect(rect: &Rect, x: i32, y: i32) -> u8 {
    let set = |low: i32, high: i32, n: i32| {
        let (low, high) = (low.clamp(0, n), high.clamp(0, n));
        ((1usize << high) - 1) & !((1usize << low) - 1)
    };
    COLUMNS[set(rect.x0 - x, rect.x1 - x, 4)] & ROWS[set(rect.y0 - y, rect.y1 - y, 2)]
}

#[inline(always)]
fn pair_at(x: i32, y: i32, edge: i32, coverage: [u8; 4]) -> Pair {
    let block = (y >> 3) * (edge >> 3) + (x >> 3);
    let index = block * 8 + ((y & 7) >> 1) * 2 + ((x & 7) >> 2);
    Pair {
        index: index as u16,
        x: x as u8,
        y: y as u8,
        coverage,
    }
}

/// What coverage is made of, besides the primitive.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cover<'a> {
    pub tile: TileRect,
    /// Pixels that may be written.
    pub rect: Rect,
    /// Sample positions in 1/256 pixel from the pixel's corner.
    pub offsets: &'a [[i32; 2]],
}

impl Cover<'_> {
    /// Appends the pairs that the primitive covers. `bounds` are its pixels, already cut to `rect`.
    pub fn primitive(&self, shape: Shape, v: &[ScreenVertex; 3], bounds: Rect, pairs: &mut Vec<Pair>) {
        match shape {
            Shape::Triangle => self.triangle(v, bounds, pairs),
            Shape::Point => self.point(v[0], pairs),
            Shape::Line => self.line(v[0], v[1], bounds, pairs),
        }
    }

    fn triangle(&self, v: &[ScreenVertex; 3], bounds: Rect, pairs: &mut Vec<Pair>) {
        match self.offsets.len() {
            1 => self.triangle_of::<1>(v, bounds, pairs),
            2 => self.triangle_of::<2>(v, bounds, pairs),
            _ => self.triangle_of::<4>(v, bounds, pairs),
        }
    }

    fn triangle_of<const N: usize>(&self, v: &[ScreenVertex; 3], bounds: Rect, pairs: &mut Vec<Pair>) {
        let mut v = *v;
        if area(&v) < 0 {
            v.swap(1, 2);
        }
        // Local pixels of the tile, rounded out to pairs.
        let tile = self.tile;
        let local = Rect {
            x0: (bounds.x0 - tile.x).max(0) & !3,
            y0: (bounds.y0 - tile.y).max(0) & !1,
            x1: (bounds.x1 - tile.x).min(tile.edge),
            y1: (bounds.y1 - tile.y).min(tile.edge),
        };
        let mut edges = Edges::<N>::default();
        let mut wide = false;
        for i in 0..3 {
            let (p, q) = (v[i], v[(i + 1) % 3]);
            let (dx, dy) = (i64::from(q.x - p.x), i64::from(q.y - p.y));
            let top_left = (dy == 0 && dx > 0) || dy < 0;
            let (a, b) = (-dy, dx);
            for (s, &[ox, oy]) in self.offsets.iter().enumerate().take(N) {
                let (x, y) = (
                    i64::from(tile.x) * 256 + i64::from(ox),
                    i64::from(tile.y) * 256 + i64::from(oy),
                );
                let e = dx * (y - i64::from(p.y)) - dy * (x - i64::from(p.x)) - i64::from(!top_left);
                edges.k[s][i] = e >> 8;
            }
            (edges.a[i], edges.b[i]) = (a, b);
            wide |= (a.abs() + b.abs()) * i64::from(tile.edge) >= 1 << 30;
        }
        let cut = !self.rect.contains(Rect {
            x0: tile.x + local.x0,
            y0: tile.y + local.y0,
            x1: tile.x + ((local.x1 + 3) & !3),
            y1: tile.y + ((local.y1 + 1) & !1),
        });
        if wide {
            self.wide_triangle(&edges, local, cut, pairs);
            return;
        }
        let Some(narrow) = Narrow::new(&edges, tile.edge) else {
            return;
        };
        crate::dispatch::wide(
            #[inline(always)]
            || match crate::dispatch::level() {
                crate::dispatch::Level::Baseline => self.narrow_triangle::<N, Portable>(&narrow, local, cut, pairs),
                #[cfg(target_arch = "x86_64")]
                crate::dispatch::Level::Avx2 => {
                    self.narrow_triangle::<N, super::simd::Avx2>(&narrow, local, cut, pairs);
                }
            },
        );
    }

    #[inline(always)]
    fn narrow_triangle<const N: usize, L: Lanes>(&self, n: &Narrow<N>, local: Rect, cut: bool, pairs: &mut Vec<Pair>) {
        let small = (local.x1 - local.x0) * (local.y1 - local.y0) <= 128;
        if small {
            let mut y = local.y0;
            while y < local.y1 {
                let mut x = local.x0;
                while x < local.x1 {
                    self.pair::<N, L>(n, cut, x, y, pairs);
                    x += 4;
                }
                y += 2;
            }
            return;
        }
        let mut by = local.y0 & !7;
        while by < local.y1 {
            let mut bx = local.x0 & !7;
            while bx < local.x1 {
                // A block by its corners: outside one edge, or inside all.
                let (mut out, mut full) = (false, !cut);
                for s in 0..N {
                    let k = n.at(s, bx, by);
                    for e in 0..3 {
                        out |= N == 1 && k[e] + n.high[e] < 0;
                        full &= k[e] + n.low[e] >= 0;
                    }
                }
                if full {
                    for p in 0..8 {
                        let mut coverage = [0; 4];
                        coverage[..N].fill(0xff);
                        pairs.push(pair_at(bx + (p & 1) * 4, by + (p >> 1) * 2, self.tile.edge, coverage));
                    }
                } else if !out {
                    for p in 0..8 {
                        self.pair::<N, L>(n, cut, bx + (p & 1) * 4, by + (p >> 1) * 2, pairs);
                    }
                }
                bx += 8;
            }
            by += 8;
        }
    }

    /// One pair by its lanes. Not a closure: the lanes' instructions are inlined only into functions that are.
    #[inline(always)]
    fn pair<const N: usize, L: Lanes>(&self, n: &Narrow<N>, cut: bool, x: i32, y: i32, pairs: &mut Vec<Pair>) {
        let mut coverage = [0u8; 4];
        let allowed = if cut {
            inside_rect(&self.rect, self.tile.x + x, self.tile.y + y)
        } else {
            0xff
        };
        let mut any = 0;
        for (s, c) in coverage.iter_mut().enumerate().take(N) {
            *c = !L::outside(n.at(s, x, y), &n.steps) & allowed;
            any |= *c;
        }
        if any != 0 {
            pairs.push(pair_at(x, y, self.tile.edge, coverage));
        }
    }

    fn wide_triangle<const N: usize>(&self, e: &Edges<N>, local: Rect, cut: bool, pairs: &mut Vec<Pair>) {
        for y in (local.y0..local.y1).step_by(2) {
            for x in (local.x0..local.x1).step_by(4) {
                let allowed = if cut {
                    inside_rect(&self.rect, self.tile.x + x, self.tile.y + y)
                } else {
                    0xff
                };
                let mut coverage = [0u8; 4];
                for (s, c) in coverage.iter_mut().enumerate().take(N) {
                    for lane in 0..8 {
                        let (lx, ly) = (i64::from(x + LANE_X[lane]), i64::from(y + LANE_Y[lane]));
                        let inside = (0..3).all(|i| e.k[s][i] + e.a[i] * lx + e.b[i] * ly >= 0);
                        *c |= u8::from(inside) << lane;
                    }
                    *c &= allowed;
                }
                if coverage.iter().any(|&c| c != 0) {
                    pairs.push(pair_at(x, y, self.tile.edge, coverage));
                }
            }
        }
    }

    /// One pixel, with all its samples: that whose centre the 1x1 square around the position covers (R-RAST-60, 62).
    fn point(&self, v: ScreenVertex, pairs: &mut Vec<Pair>) {
        let covering = |p: i32| (p - 256 + 255) >> 8;
        self.pixel(covering(v.x), covering(v.y), pairs);
    }

    fn pixel(&self, x: i32, y: i32, pairs: &mut Vec<Pair>) {
        let (lx, ly) = (x - self.tile.x, y - self.tile.y);
        let inside = |l: i32| (0..self.tile.edge).contains(&l);
        let rect = &self.rect;
        if !inside(lx) || !inside(ly) || x < rect.x0 || x >= rect.x1 || y < rect.y0 || y >= rect.y1 {
            return;
        }
        let lane = (0..8)
            .find(|&l| LANE_X[l] == lx & 3 && LANE_Y[l] == ly & 1)
            .unwrap_or(0);
        let mut coverage = [0; 4];
        coverage[..self.offsets.len().min(4)].fill(1 << lane);
        let pair = pair_at(lx & !3, ly & !1, self.tile.edge, coverage);
        match pairs.last_mut() {
            Some(last) if last.index == pair.index => {
                for (a, b) in last.coverage.iter_mut().zip(pair.coverage) {
                    *a |= b;
                }
            }
            _ => pairs.push(pair),
        }
    }

    /// Diamond exit (R-RAST-51, 52): a pixel is drawn if the segment meets its test area and doesn't end in it.
    fn line(&self, a: ScreenVertex, b: ScreenVertex, bounds: Rect, pairs: &mut Vec<Pair>) {
        let (dx, dy) = (i64::from(b.x - a.x), i64::from(b.y - a.y));
        if dx == 0 && dy == 0 {
            return;
        }
        let first = pairs.len();
        let x_major = dx.abs() >= dy.abs();
        let diamond = Diamond { x_major };
        let tile = self.tile;
        let cut = bounds.intersect(Rect {
            x0: tile.x,
            y0: tile.y,
            x1: tile.x + tile.edge,
            y1: tile.y + tile.edge,
        });
        // Along the major axis; across, only pixels near the segment can be met.
        let (m0, m1, c0, c1) = if x_major {
            (cut.x0, cut.x1, cut.y0, cut.y1)
        } else {
            (cut.y0, cut.y1, cut.x0, cut.x1)
        };
        let (am, ac, dm, dc) = if x_major {
            (i64::from(a.x), i64::from(a.y), dx, dy)
        } else {
            (i64::from(a.y), i64::from(a.x), dy, dx)
        };
        for m in m0..m1 {
            let centre = i64::from(m) * 256 + 128;
            let across = ac + (centre - am) * dc / dm;
            let near = (across >> 8) as i32;
            for c in (near - 2).max(c0)..(near + 3).min(c1) {
                let (x, y) = if x_major { (m, c) } else { (c, m) };
                if diamond.exits(a, b, x, y) {
                    self.pixel(x, y, pairs);
                }
            }
        }
        // A pixel row by row may have been split over entries: one entry a pair.
        merge(pairs, first);
    }
}

/// Joins entries of equal pairs behind `first`.
fn merge(pairs: &mut Vec<Pair>, first: usize) {
    let mut found = pairs.split_off(first);
    found.sort_by_key(|p| p.index);
    for pair in found {
        match pairs[first..].last_mut() {
            Some(last) if last.index == pair.index => {
                for (a, b) in last.coverage.iter_mut().zip(pair.coverage) {
                    *a |= b;
                }
            }
            _ => pairs.push(pair),
        }
    }
}

/// The test area of a pixel for aliased lines.
struct Diamond {
    x_major: bool,
}

impl Diamond {
    /// Whether the directed segment meets the area of pixel (x, y) and its end isn't in it.
    fn exits(&self, a: ScreenVertex, b: ScreenVertex, x: i32, y: i32) -> bool {
        // Relative to the centre, y down, in 1/256 pixel: the diamond is |x| + |y| <= 128.
        let rel = |v: ScreenVertex| {
            (
                i64::from(v.x) - i64::from(x) * 256 - 128,
                i64::from(v.y) - i64::from(y) * 256 - 128,
            )
        };
        let (a, b) = (rel(a), rel(b));
        !self.contains(b) && self.meets(a, b)
    }

    /// Open interior, the lower edges, the bottom corner, and for y-major lines the right corner.
    fn contains(&self, (x, y): (i64, i64)) -> bool {
        let sum = x.abs() + y.abs();
        sum < 128 || (sum == 128 && y > 0) || (!self.x_major && x == 128 && y == 0)
    }

    /// Whether a point of the segment lies in the area. The area is convex, so it suffices to look where the
    /// segment enters it: at its start, on the open interior, or at single boundary points.
    fn meets(&self, a: (i64, i64), b: (i64, i64)) -> bool {
        if self.contains(a) {
            return true;
        }
        // Does it cross the open interior? Clip against the four half planes |±x ± y| < 128 with exact fractions.
        let d = (b.0 - a.0, b.1 - a.1);
        let (mut t0, mut t1) = ((0i64, 1i64), (1i64, 1i64));
        let less = |p: (i64, i64), q: (i64, i64)| i128::from(p.0) * i128::from(q.1) < i128::from(q.0) * i128::from(p.1);
        for (sx, sy) in [(1, 1), (1, -1), (-1, 1), (-1, -1)] {
            let at = sx * a.0 + sy * a.1 - 128;
            let slope = sx * d.0 + sy * d.1;
            // Inside: at + t*slope < 0.
            if slope == 0 {
                if at >= 0 {
                    return self.touches(a, b);
                }
            } else if slope > 0 {
                let t = (-at, slope);
                if less(t, t1) {
                    t1 = t;
                }
            } else {
                let t = (at, -slope);
                if less(t0, t) {
                    t0 = t;
                }
            }
        }
        less(t0, t1) || self.touches(a, b)
    }

    /// Boundary points that belong to the area: the bottom corner, the lower edges' ends of the segment.
    fn touches(&self, a: (i64, i64), b: (i64, i64)) -> bool {
        let on = |p: (i64, i64)| {
            let cross = (b.0 - a.0) * (p.1 - a.1) - (b.1 - a.1) * (p.0 - a.0);
            let within = |u: i64, v: i64, w: i64| u.min(v) <= w && w <= u.max(v);
            cross == 0 && within(a.0, b.0, p.0) && within(a.1, b.1, p.1)
        };
        on((0, 128)) || (!self.x_major && on((128, 0)))
    }
}

/// A triangle's edges at the tile's first pixel, for each sample.
#[derive(Clone, Copy, Debug)]
struct Edges<const N: usize> {
    k: [[i64; 3]; N],
    a: [i64; 3],
    b: [i64; 3],
}

impl<const N: usize> Default for Edges<N> {
    fn default() -> Self {
        Edges {
            k: [[0; 3]; N],
            a: [0; 3],
            b: [0; 3],
        }
    }
}

/// The same in 32 bits, with what blocks and pairs need.
#[derive(Clone, Copy, Debug)]
struct Narrow<const N: usize> {
    k: [[i32; 3]; N],
    a: [i32; 3],
    b: [i32; 3],
    /// Lane offsets within a pair.
    steps: [[i32; 8]; 3],
    /// Smallest and largest change within an 8x8 block.
    low: [i32; 3],
    high: [i32; 3],
}

impl<const N: usize> Narrow<N> {
    /// Sample s's edge values at a pixel of the tile.
    #[inline(always)]
    fn at(&self, s: usize, x: i32, y: i32) -> [i32; 3] {
        let k = &self.k[s];
        [
            k[0] + self.a[0] * x + self.b[0] * y,
            k[1] + self.a[1] * x + self.b[1] * y,
            k[2] + self.a[2] * x + self.b[2] * y,
        ]
    }

    /// `None` if the tile is outside an edge for all samples.
    fn new(e: &Edges<N>, tile: i32) -> Option<Narrow<N>> {
        let mut n = Narrow {
            k: [[0; 3]; N],
            a: [0; 3],
            b: [0; 3],
            steps: [[0; 8]; 3],
            low: [0; 3],
            high: [0; 3],
        };
        let span = i64::from(tile - 1);
        for i in 0..3 {
            let (a, b) = (e.a[i], e.b[i]);
            let (low, high) = (a.min(0) * span + b.min(0) * span, a.max(0) * span + b.max(0) * span);
            if (0..N).all(|s| e.k[s][i] + high < 0) {
                return None;
            }
            if (0..N).all(|s| e.k[s][i] + low >= 0) {
                // Inside everywhere: a constant 0 keeps it out of 32-bit trouble.
                continue;
            }
            (n.a[i], n.b[i]) = (a as i32, b as i32);
            n.low[i] = (a.min(0) * 7 + b.min(0) * 7) as i32;
            n.high[i] = (a.max(0) * 7 + b.max(0) * 7) as i32;
            for s in 0..N {
                // Beyond the tile's own variation only the sign matters.
                n.k[s][i] = e.k[s][i].clamp(-(high - low) - 1, high - low) as i32;
            }
            for lane in 0..8 {
                n.steps[i][lane] = n.a[i] * LANE_X[lane] + n.b[i] * LANE_Y[lane];
            }
        }
        Some(n)
    }
}

#[cfg(test)]
#[path = "cover_tests.rs"]
mod tests;
