//! Triangle coverage in a tile (R-RAST-30 to 35): exact edge functions, rebased to the tile (law R1).
//!
//! ```text
//! e(P) = a*Px + b*Py + c, in 1/65536 pixel², P relative to the tile, 1 taken off unless the edge is top or left
//!   covered  <=>  e >= 0 on all three edges
//!   samples lie 256 units apart, so  e >= 0  <=>  E = (e >> 8) >= 0,  and E steps by a and b from pixel to pixel
//! ```
//!
//! E fits i32 wherever an edge crosses the tile, unless the triangle is tens of thousands of pixels large: then
//! [`wide`] counts in i64. Small triangles go straight over the pairs of their bounding box, larger ones by rows of
//! 8x8 blocks: 8 blocks are rejected or accepted at once.

use super::lanes::Lanes;
use super::pairs::{PairWord, TileArea, lane, lanes_inside};
use crate::geometry::{Rect, ScreenVertex, sample_extent, sample_offsets};

/// Pixels whose samples a triangle can touch, right and bottom exclusive. Of what lies exactly on the rightmost or
/// lowest vertex nothing is covered: no edge there is top or left.
#[inline(always)]
pub(crate) fn bounds(v: &[ScreenVertex; 3], samples: u32) -> Rect {
    let (low, high) = sample_extent(samples);
    let (x0, x1) = (v[0].x.min(v[1].x).min(v[2].x), v[0].x.max(v[1].x).max(v[2].x));
    let (y0, y1) = (v[0].y.min(v[1].y).min(v[2].y), v[0].y.max(v[1].y).max(v[2].y));
    Rect {
        x0: (x0 - high + 255) >> 8,
        y0: (y0 - high + 255) >> 8,
        x1: ((x1 - low - 1) >> 8) + 1,
        y1: ((y1 - low - 1) >> 8) + 1,
    }
}

/// Edge functions relative to a tile.
struct Edges {
    a: [i32; 3],
    b: [i32; 3],
    c: [i64; 3],
}

impl Edges {
    /// `v` in either winding; `None` if it has no area.
    #[inline(always)]
    fn new(v: &[ScreenVertex; 3], area: &TileArea) -> Option<Edges> {
        let [p, q, r] = v.map(|v| [v.x - (area.x << 8), v.y - (area.y << 8)]);
        let cross = i64::from(q[0] - p[0]) * i64::from(r[1] - p[1]) - i64::from(r[0] - p[0]) * i64::from(q[1] - p[1]);
        if cross == 0 {
            return None;
        }
        // Clockwise on screen.
        let (q, r) = if cross > 0 { (q, r) } else { (r, q) };
        let mut edges = Edges {
            a: [0; 3],
            b: [0; 3],
            c: [0; 3],
        };
        for (k, (from, to)) in [(p, q), (q, r), (r, p)].into_iter().enumerate() {
            let (a, b) = (from[1] - to[1], to[0] - from[0]);
            let top_left = a > 0 || (a == 0 && b > 0);
            edges.a[k] = a;
            edges.b[k] = b;
            edges.c[k] =
                -(i64::from(a) * i64::from(from[0]) + i64::from(b) * i64::from(from[1])) - i64::from(!top_left);
        }
        Some(edges)
    }

    /// E of edge k for a sample of the tile's pixel (x, y).
    #[inline(always)]
    fn at(&self, k: usize, x: i64, y: i64, offset: [i32; 2]) -> i64 {
        let (a, b) = (i64::from(self.a[k]), i64::from(self.b[k]));
        (a * (x * 256 + i64::from(offset[0])) + b * (y * 256 + i64::from(offset[1])) + self.c[k]) >> 8
    }
}

/// Pairs of a bounding box up to which the box is walked pair by pair.
const SMALL: i32 = 32;

/// Width and height in 1/256 pixel up to which edge functions near the triangle surely fit i32.
const SMALL_EXTENT: i32 = 1 << 15;

/// The part of a triangle's bounds that lies in a tile and in a rectangle of pixels, relative to the tile.
#[inline(always)]
pub(super) fn inside(area: &TileArea, all: Rect, rect: &Rect) -> Rect {
    area.local(all.intersect(*rect))
}

/// Writes the pairs that a triangle covers in a tile to `out`, which must have room for [`TileArea::pairs`]; gives
/// their number, and blocks that are covered whole (not all of them). `N` samples; `all` are the triangle's bounds;
/// `rect` are the pixels that may be covered, `inside` is their part in the tile and the bounds, not empty; pairs of
/// blocks in `skip` may be left out.
#[inline(always)]
pub(crate) fn triangle<P: PairWord, const N: usize, L: Lanes>(
    area: &TileArea,
    v: &[ScreenVertex; 3],
    all: Rect,
    rect: &Rect,
    inside: Rect,
    skip: u64,
    out: &mut [P],
) -> (usize, u64) {
    let clipped = !rect.contains(all);
    let clip = area.local(*rect);
    let Some(edges) = Edges::new(v, area) else {
        return (0, 0);
    };
    let (x0, y0) = (inside.x0 & !3, inside.y0 & !1);
    let pairs = ((inside.x1 - x0 + 3) >> 2) * ((inside.y1 - y0 + 1) >> 1);
    let small = pairs <= SMALL && all.x1 - all.x0 < SMALL_EXTENT >> 8 && all.y1 - all.y0 < SMALL_EXTENT >> 8;
    let clip = clipped.then_some(&clip);
    if small {
        (small_box::<P, N, L>(area, &edges, &inside, clip, out), 0)
    } else {
        blocks::<P, N, L>(area, edges, &inside, clip, skip, out)
    }
}

/// [`triangle`] with nothing known.
#[cfg(test)]
#[inline(always)]
pub(super) fn pairs_of<P: PairWord, const N: usize, L: Lanes>(
    area: &TileArea,
    v: &[ScreenVertex; 3],
    rect: &Rect,
    out: &mut [P],
) -> (usize, u64) {
    let all = bounds(v, N as u32);
    let inside = inside(area, all, rect);
    if inside.is_empty() {
        return (0, 0);
    }
    triangle::<P, N, L>(area, v, all, rect, inside, 0, out)
}

/// Offsets of the lanes within a pair times the steps.
#[inline(always)]
fn lane_steps<L: Lanes>(a: i32, b: i32) -> L {
    let (a2, a3) = (a.wrapping_mul(2), a.wrapping_mul(3));
    let (ab, a2b, a3b) = (a.wrapping_add(b), a2.wrapping_add(b), a3.wrapping_add(b));
    L::new([0, a, b, ab, a2, a3, a2b, a3b])
}

/// Lanes outside, as a mask, for every sample of a pair.
#[inline(always)]
fn outside<const N: usize, L: Lanes>(e: &[[L; 3]; N]) -> [u8; N] {
    let mut masks = [0; N];
    for s in 0..N {
        masks[s] = e[s][0].or(e[s][1]).or(e[s][2]).signs() as u8;
    }
    masks
}

#[inline(always)]
fn put<P: PairWord, const N: usize>(
    area: &TileArea,
    outside: [u8; N],
    clip: Option<&Rect>,
    (x, y): (usize, usize),
    out: &mut [P],
    n: &mut usize,
) {
    let allowed = match clip {
        Some(rect) => lanes_inside(rect, x, y),
        None => 0xff,
    };
    let coverage = outside.map(|m| !m & allowed);
    let any = coverage.iter().fold(0, |a, c| a | c);
    out[*n] = P::new(area.pair_index(x, y), x, y, coverage);
    *n += usize::from(any != 0);
}

/// The pairs of a block that is covered whole: their numbers follow one another.
#[inline(always)]
fn put_block<P: PairWord, const N: usize>(first: usize, (x, y): (usize, usize), out: &mut [P]) {
    for (p, pair) in out.iter_mut().enumerate() {
        *pair = P::new(first + p, x + 4 * (p & 1), y + (p & 6), [0xff; N]);
    }
}

/// Walks the pairs of a small box.
#[inline(always)]
fn small_box<P: PairWord, const N: usize, L: Lanes>(
    area: &TileArea,
    edges: &Edges,
    inside: &Rect,
    clip: Option<&Rect>,
    out: &mut [P],
) -> usize {
    let (x0, y0) = (inside.x0 & !3, inside.y0 & !1);
    let offsets = sample_offsets::<N>();
    let zero = L::splat(0);
    let (mut across, mut down, mut row) = ([zero; 3], [zero; 3], [[zero; 3]; N]);
    for k in 0..3 {
        across[k] = L::splat(edges.a[k] * 4);
        down[k] = L::splat(edges.b[k] * 2);
        let steps: L = lane_steps(edges.a[k], edges.b[k]);
        for s in 0..N {
            row[s][k] = steps.add(L::splat(edges.at(k, x0.into(), y0.into(), offsets[s]) as i32));
        }
    }
    let mut n = 0;
    let (mut y, x0) = (y0 as usize, x0 as usize);
    while y < inside.y1 as usize {
        let mut e = row;
        let mut x = x0;
        while x < inside.x1 as usize {
            put(area, outside(&e), clip, (x, y), out, &mut n);
            advance(&mut e, &across);
            x += 4;
        }
        advance(&mut row, &down);
        y += 2;
    }
    n
}

// Loops over lanes use no closures: those would be compiled without the wide instruction set and not inlined.
#[inline(always)]
fn advance<const N: usize, L: Lanes>(e: &mut [[L; 3]; N], step: &[L; 3]) {
    for s in 0..N {
        for k in 0..3 {
            e[s][k] = e[s][k].add(step[k]);
        }
    }
}

/// Walks rows of blocks.
#[inline(always)]
fn blocks<P: PairWord, const N: usize, L: Lanes>(
    area: &TileArea,
    mut edges: Edges,
    inside: &Rect,
    clip: Option<&Rect>,
    skip: u64,
    out: &mut [P],
) -> (usize, u64) {
    let offsets = sample_offsets::<N>();
    let last = area.edge as i64 - 1;
    let mut base = [[0i32; 3]; N];
    for k in 0..3 {
        let e = offsets.map(|o| edges.at(k, 0, 0, o));
        let (low, high) = e.iter().fold((i64::MAX, i64::MIN), |(l, h), &e| (l.min(e), h.max(e)));
        let (a, b) = (i64::from(edges.a[k]), i64::from(edges.b[k]));
        if high + last * (a.max(0) + b.max(0)) < 0 {
            return (0, 0);
        }
        if low + last * (a.min(0) + b.min(0)) >= 0 {
            // The whole tile is inside of this edge.
            (edges.a[k], edges.b[k]) = (0, 0);
            continue;
        }
        // The edge crosses the tile, so E is at most its change over the tile.
        if (a.abs() + b.abs()) * area.edge as i64 >= 1 << 30 {
            return (wide::<P, N>(area, &edges, base_is_inside(&edges), inside, clip, out), 0);
        }
        for s in 0..N {
            base[s][k] = e[s] as i32;
        }
    }
    let zero = L::splat(0);
    let (mut steps, mut across, mut down, mut block_steps) = ([zero; 3], [zero; 3], [zero; 3], [zero; 3]);
    // Most and least of E in a block, against the plain part at its first pixel, over all samples.
    let mut spread = [[0; 2]; 3];
    for k in 0..3 {
        let (a, b) = (edges.a[k], edges.b[k]);
        steps[k] = lane_steps(a, b);
        across[k] = L::splat(a.wrapping_mul(4));
        down[k] = L::splat(b.wrapping_mul(2));
        let a8 = a.wrapping_mul(8);
        let mut lanes = [0i32; 8];
        for i in 1..8 {
            lanes[i] = lanes[i - 1].wrapping_add(a8);
        }
        block_steps[k] = L::new(lanes);
        let (mut low, mut high) = (i32::MAX, i32::MIN);
        for e in &base {
            (low, high) = (low.min(e[k]), high.max(e[k]));
        }
        spread[k] = [low + 7 * (a.min(0) + b.min(0)), high + 7 * (a.max(0) + b.max(0))];
    }
    let (mut n, mut full) = (0, 0);
    for by in inside.y0 >> 3..(inside.y1 + 7) >> 3 {
        let (first, end) = (inside.x0 >> 3, (inside.x1 + 7) >> 3);
        let mut bx8 = first & !7;
        while bx8 < end {
            let (mut low, mut high) = (zero, zero);
            for k in 0..3 {
                let at = edges.a[k]
                    .wrapping_mul(8 * bx8)
                    .wrapping_add(edges.b[k].wrapping_mul(8 * by));
                let e = block_steps[k].add(L::splat(at));
                low = low.or(e.add(L::splat(spread[k][0])));
                high = high.or(e.add(L::splat(spread[k][1])));
            }
            let partial = low.signs();
            let mut live = !high.signs() & 0xff;
            live &= 0xff << (first - bx8).max(0);
            live &= 0xff >> (bx8 + 8 - end).max(0);
            let number = (by * (area.edge as i32 >> 3) + bx8) as u32;
            live &= !(skip.checked_shr(number).unwrap_or(0) as u32);
            while live != 0 {
                let i = live.trailing_zeros();
                live &= live - 1;
                let bx = bx8 + i as i32;
                let (x, y) = ((bx * 8) as usize, (by * 8) as usize);
                if partial >> i & 1 == 0 {
                    if clip.is_none_or(|r| r.contains(block(x, y))) {
                        full |= 1u64.checked_shl(number + i).unwrap_or(0);
                        put_block::<P, N>(area.pair_index(x, y), (x, y), &mut out[n..n + 8]);
                        n += 8;
                    } else {
                        for p in 0..8 {
                            put(area, [0; N], clip, (x + 4 * (p & 1), y + (p & 6)), out, &mut n);
                        }
                    }
                } else {
                    let mut row = [[zero; 3]; N];
                    for k in 0..3 {
                        let at = edges.a[k]
                            .wrapping_mul(8 * bx)
                            .wrapping_add(edges.b[k].wrapping_mul(8 * by));
                        for s in 0..N {
                            row[s][k] = steps[k].add(L::splat(base[s][k].wrapping_add(at)));
                        }
                    }
                    for r in 0..4 {
                        put(area, outside(&row), clip, (x, y + 2 * r), out, &mut n);
                        let mut right = row;
                        advance(&mut right, &across);
                        put(area, outside(&right), clip, (x + 4, y + 2 * r), out, &mut n);
                        advance(&mut row, &down);
                    }
                }
            }
            bx8 += 8;
        }
    }
    (n, full)
}

/// Pixels of the block at (x, y).
#[inline(always)]
fn block(x: usize, y: usize) -> Rect {
    let (x0, y0) = (x as i32, y as i32);
    Rect {
        x0,
        y0,
        x1: x0 + 8,
        y1: y0 + 8,
    }
}

/// Edges that [`blocks`] has already found to have the whole tile inside.
fn base_is_inside(edges: &Edges) -> [bool; 3] {
    std::array::from_fn(|k| edges.a[k] == 0 && edges.b[k] == 0)
}

/// The same in i64, pixel by pixel: for triangles of tens of thousands of pixels.
#[cold]
fn wide<P: PairWord, const N: usize>(
    area: &TileArea,
    edges: &Edges,
    ignore: [bool; 3],
    inside: &Rect,
    clip: Option<&Rect>,
    out: &mut [P],
) -> usize {
    let offsets = sample_offsets::<N>();
    let mut n = 0;
    for y in (inside.y0 as usize & !1..inside.y1 as usize).step_by(2) {
        for x in (inside.x0 as usize & !3..inside.x1 as usize).step_by(4) {
            let mut outside = [0u8; N];
            for i in 0..8 {
                let (px, py) = (x + (i & 3), y + (i >> 2));
                for (s, mask) in outside.iter_mut().enumerate() {
                    let e = |k: usize| edges.at(k, px as i64, py as i64, offsets[s]);
                    if (0..3).any(|k| !ignore[k] && e(k) < 0) {
                        *mask |= 1 << lane(px, py);
                    }
                }
            }
            put(area, outside, clip, (x, y), out, &mut n);
        }
    }
    n
}

#[cfg(test)]
#[path = "raster_tests.rs"]
mod tests;
