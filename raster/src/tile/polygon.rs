//! Coverage of what is neither a filled triangle nor an aliased line: lines as rectangles, points as squares,
//! conservative triangles (R-RAST-56, 60, 120 to 123). Exact, in i64. (Antialiased lines: `smooth.rs`.)
//!
//! All are convex: a set of half planes `a*x + b*y + c >= 0` over points in 1/256 pixel relative to the tile, and a box.

use super::pairs::{PairWord, TileArea, lane, lanes_inside};
use crate::geometry::{Rect, ScreenVertex, sample_extent, sample_offsets};

/// Half the width of a rectangular line, 0.7 pixels, in 1/256 pixel.
const HALF_WIDTH: f64 = 0.7 * 256.0;
/// The same, rounded up.
const HALF_WIDTH_UP: i32 = 180;

#[derive(Clone, Copy, Default)]
struct HalfPlane {
    a: i64,
    b: i64,
    c: i64,
}

impl HalfPlane {
    /// Inside of the edge of a clockwise polygon; on it, if it is a top or left edge (R-RAST-32).
    fn edge(from: [i64; 2], to: [i64; 2]) -> HalfPlane {
        let (a, b) = (from[1] - to[1], to[0] - from[0]);
        let top_left = a > 0 || (a == 0 && b > 0);
        HalfPlane {
            a,
            b,
            c: -(a * from[0] + b * from[1]) - i64::from(!top_left),
        }
    }

    fn at(&self, x: i64, y: i64) -> i64 {
        self.a * x + self.b * y + self.c
    }
}

/// Writes the pairs of pixels in `inside` with a point in all half planes. Points are given from the pixel's corner;
/// `masks` makes coverage of the points' lanes.
fn walk<P: PairWord, const M: usize, const N: usize>(
    area: &TileArea,
    planes: &[HalfPlane],
    points: &[[i64; 2]; M],
    inside: &Rect,
    masks: impl Fn([u8; M]) -> [u8; N],
    out: &mut [P],
) -> usize {
    let mut n = 0;
    for by in (inside.y0 & !7..inside.y1).step_by(8) {
        for bx in (inside.x0 & !7..inside.x1).step_by(8) {
            // The corner that is farthest inside decides whether a block is worth a look.
            let misses = planes.iter().any(|p| {
                let far = |a: i64, at: i32| i64::from(if a > 0 { at + 8 } else { at }) * 256;
                p.at(far(p.a, bx), far(p.b, by)) < 0
            });
            if misses {
                continue;
            }
            for y in (by..by + 8).step_by(2) {
                for x in (bx..bx + 8).step_by(4) {
                    if x + 4 <= inside.x0 || x >= inside.x1 || y + 2 <= inside.y0 || y >= inside.y1 {
                        continue;
                    }
                    // Planes that the whole pair is inside of need no look at its points.
                    let mut across = [HalfPlane::default(); MAX_PLANES];
                    let (mut some, mut outside) = (0, false);
                    for p in planes {
                        let corner = |far: bool| {
                            let at = |a: i64, at: i32, size: i32| {
                                i64::from(if (a > 0) == far { at + size } else { at }) * 256
                            };
                            p.at(at(p.a, x, 4), at(p.b, y, 2))
                        };
                        outside |= corner(true) < 0;
                        if corner(false) < 0 {
                            across[some] = *p;
                            some += 1;
                        }
                    }
                    if outside {
                        continue;
                    }
                    let clip = lanes_inside(inside, x as usize, y as usize);
                    let mut lanes = [clip; M];
                    if some != 0 {
                        lanes = [0; M];
                        for (py, px) in (y..y + 2).flat_map(|py| (x..x + 4).map(move |px| (py, px))) {
                            let bit = 1 << lane((px & 3) as usize, (py & 1) as usize);
                            let (sx, sy) = (i64::from(px) * 256, i64::from(py) * 256);
                            for (mask, [ox, oy]) in lanes.iter_mut().zip(points) {
                                if across[..some].iter().all(|p| p.at(sx + ox, sy + oy) >= 0) {
                                    *mask |= bit & clip;
                                }
                            }
                        }
                    }
                    if lanes != [0; M] {
                        let (x, y) = (x as usize, y as usize);
                        out[n] = P::new(area.pair_index(x, y), x, y, masks(lanes));
                        n += 1;
                    }
                }
            }
        }
    }
    n
}

/// Half planes of a shape, at most.
const MAX_PLANES: usize = 4;

fn sample_points<const N: usize>() -> [[i64; 2]; N] {
    sample_offsets::<N>().map(|o| o.map(i64::from))
}

/// Position relative to the tile.
fn local(area: &TileArea, x: i64, y: i64) -> [i64; 2] {
    [x - (i64::from(area.x) << 8), y - (i64::from(area.y) << 8)]
}

/// Pixels that have a sample within such a distance of a box around vertices.
pub(super) fn around(v: &[ScreenVertex], distance: i32, (low, high): (i32, i32)) -> Rect {
    let x = || v.iter().map(|v| v.x);
    let y = || v.iter().map(|v| v.y);
    let (x0, x1) = (x().min().unwrap_or(0) - distance, x().max().unwrap_or(0) + distance);
    let (y0, y1) = (y().min().unwrap_or(0) - distance, y().max().unwrap_or(0) + distance);
    Rect {
        x0: (x0 - high + 255) >> 8,
        y0: (y0 - high + 255) >> 8,
        x1: ((x1 - low) >> 8) + 1,
        y1: ((y1 - low) >> 8) + 1,
    }
}

/// Pixels that a rectangular line may touch.
pub(crate) fn rectangle_bounds(v: &[ScreenVertex; 2]) -> Rect {
    around(v, HALF_WIDTH_UP, (0, 255))
}

/// Corners of the rectangle around a line, clockwise on screen: half its width to both sides, ends perpendicular
/// (R-RAST-56). Rounded to 1/256 pixel; `None` for a line without length.
fn rectangle_corners(v: &[ScreenVertex; 2]) -> Option<[[i64; 2]; 4]> {
    let (dx, dy) = (f64::from(v[1].x - v[0].x), f64::from(v[1].y - v[0].y));
    let length = (dx * dx + dy * dy).sqrt();
    if length == 0.0 {
        return None;
    }
    let scale = HALF_WIDTH / length;
    let (nx, ny) = (-dy * scale, dx * scale);
    let round = |v: f64| v.round_ties_even() as i64;
    let corner = |v: &ScreenVertex, side: f64| [round(f64::from(v.x) + side * nx), round(f64::from(v.y) + side * ny)];
    // With y down the normal lies to the right of the line: clockwise is along the left side and back along the right.
    Some([
        corner(&v[0], -1.0),
        corner(&v[1], -1.0),
        corner(&v[1], 1.0),
        corner(&v[0], 1.0),
    ])
}

/// Writes the pairs that a line of 1.4 pixels' width covers, as [`super::raster::triangle`].
pub(crate) fn rectangle<P: PairWord, const N: usize>(
    area: &TileArea,
    v: &[ScreenVertex; 2],
    rect: &Rect,
    out: &mut [P],
) -> usize {
    let inside = area.local(rectangle_bounds(v).intersect(*rect));
    let Some(corners) = rectangle_corners(v) else { return 0 };
    if inside.is_empty() {
        return 0;
    }
    let corners = corners.map(|[x, y]| local(area, x, y));
    let planes: [HalfPlane; 4] = std::array::from_fn(|k| HalfPlane::edge(corners[k], corners[(k + 1) % 4]));
    walk(area, &planes, &sample_points::<N>(), &inside, |m| m, out)
}

/// Pixels with samples in the square around a point.
pub(crate) fn square_bounds(v: &ScreenVertex) -> Rect {
    around(&[*v], 128, sample_extent(16))
}

/// Writes the pairs with samples in a point's square of one pixel's size (R-RAST-60), as [`super::raster::triangle`].
pub(crate) fn square<P: PairWord, const N: usize>(
    area: &TileArea,
    v: &ScreenVertex,
    rect: &Rect,
    out: &mut [P],
) -> usize {
    let inside = area.local(square_bounds(v).intersect(*rect));
    if inside.is_empty() {
        return 0;
    }
    let corner = |dx: i64, dy: i64| local(area, i64::from(v.x) + dx, i64::from(v.y) + dy);
    let corners = [
        corner(-128, -128),
        corner(128, -128),
        corner(128, 128),
        corner(-128, 128),
    ];
    let planes: [HalfPlane; 4] = std::array::from_fn(|k| HalfPlane::edge(corners[k], corners[(k + 1) % 4]));
    walk(area, &planes, &sample_points::<N>(), &inside, |m| m, out)
}

/// Pixels that the box around a triangle touches.
pub(crate) fn conservative_bounds(v: &[ScreenVertex; 3]) -> Rect {
    around(v, 0, (0, 256))
}

/// Writes the pairs of all pixels that a triangle touches, all samples of each (R-RAST-120, R-RAST-121). Edges lie
/// 1/512 pixel outwards in x and y, as far as the snap may have moved the vertices, and count as inside. A triangle
/// without area is a line or a point (R-RAST-122).
///
/// With `inner` the second coverage byte has the pixels that lie inside of all edges, moved as far inwards
/// (R-RAST-123), and there are no more.
pub(crate) fn conservative<P: PairWord, const N: usize>(
    area: &TileArea,
    v: &[ScreenVertex; 3],
    rect: &Rect,
    inner: bool,
    out: &mut [P],
) -> usize {
    let inside = area.local(conservative_bounds(v).intersect(*rect));
    if inside.is_empty() {
        return 0;
    }
    let [p, q, r] = v.map(|v| local(area, v.x.into(), v.y.into()));
    let cross = (q[0] - p[0]) * (r[1] - p[1]) - (r[0] - p[0]) * (q[1] - p[1]);
    let corners = if cross >= 0 { [p, q, r] } else { [p, r, q] };
    // The point of a pixel's square that is farthest inside of a half plane, or with `whole` farthest outside, decides.
    // All doubled, for the half units.
    let planes = |whole: bool| -> [HalfPlane; 3] {
        std::array::from_fn(|k| {
            let (from, to) = (corners[k], corners[(k + 1) % 3]);
            let (a, b) = (from[1] - to[1], to[0] - from[0]);
            let c = -(a * from[0] + b * from[1]);
            let doubt = a.abs() + b.abs();
            HalfPlane {
                a: 2 * a,
                b: 2 * b,
                c: if whole {
                    2 * (c + 256 * (a.min(0) + b.min(0))) - doubt
                } else {
                    2 * (c + 256 * (a.max(0) + b.max(0))) + doubt
                },
            }
        })
    };
    let count = walk(area, &planes(false), &[[0; 2]], &inside, |[m]| [m; N], out);
    if !inner {
        return count;
    }
    let whole = planes(true);
    for pair in &mut out[..count] {
        let (index, x, y) = pair.position();
        let hit = pair.coverage(0);
        let mut within = 0;
        for (j, i) in (0..2).flat_map(|j| (0..4).map(move |i| (j, i))) {
            let (px, py) = ((x + i) as i64 * 256, (y + j) as i64 * 256);
            if cross != 0 && whole.iter().all(|p| p.at(px, py) >= 0) {
                within |= 1 << lane(i, j);
            }
        }
        let mut coverage = [0; N];
        coverage[0] = hit;
        coverage[INNER_BYTE] = hit & within;
        *pair = P::new(index, x, y, coverage);
    }
    count
}

/// The coverage byte of the pixels inside, for programs that ask (R-RAST-123).
pub(super) const INNER_BYTE: usize = 1;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::snap;
    use quadrille_jit::abi::{Pair, WidePair};

    const ALL: Rect = Rect {
        x0: 0,
        y0: 0,
        x1: 16,
        y1: 16,
    };

    fn vertex((x, y): (f32, f32)) -> ScreenVertex {
        ScreenVertex {
            x: snap(x),
            y: snap(y),
            z: 0.0,
            iw: 1.0,
        }
    }

    /// Masks by pixel.
    fn masks<P: PairWord, const N: usize>(pairs: &[P]) -> Vec<(usize, usize, u32)> {
        let mut out = Vec::new();
        for p in pairs {
            let (_, x, y) = p.position();
            for (i, j) in (0..2).flat_map(|j| (0..4).map(move |i| (i, j))) {
                let mask = (0..N).fold(0, |m, s| m | u32::from(p.coverage(s) >> lane(i, j) & 1) << s);
                if mask != 0 {
                    out.push((x + i, y + j, mask));
                }
            }
        }
        out.sort_by_key(|&(x, y, _)| (y, x));
        out
    }

    /// REQ-R16.
    #[test]
    fn req_r16_r_rast_56_rectangular_lines() {
        let t = TileArea::new(0, 0, 16);
        let mut out = [Pair::default(); 32];
        for ends in [[(2.0, 8.0), (14.0, 8.0)], [(14.0, 8.0), (2.0, 8.0)]] {
            let n = rectangle::<_, 1>(&t, &ends.map(vertex), &ALL, &mut out);
            let expected: Vec<_> = [7, 8].iter().flat_map(|&y| (2..14).map(move |x| (x, y, 1))).collect();
            assert_eq!(masks::<_, 1>(&out[..n]), expected);
        }
        let n = rectangle::<_, 1>(&t, &[(8.0, 2.0), (8.0, 5.0)].map(vertex), &ALL, &mut out);
        let expected: Vec<_> = (2..5).flat_map(|y| [(7, y, 1), (8, y, 1)]).collect();
        assert_eq!(masks::<_, 1>(&out[..n]), expected);
        let n = rectangle::<_, 1>(&t, &[(8.0, 2.0), (8.0, 2.0)].map(vertex), &ALL, &mut out);
        assert_eq!(n, 0);
        // A diagonal's area is its length times 1.4, up to sampling.
        let mut wide = [WidePair::default(); 32];
        let n = rectangle::<_, 16>(&t, &[(3.0, 4.0), (12.0, 13.0)].map(vertex), &ALL, &mut wide);
        let samples: u32 = masks::<_, 16>(&wide[..n]).iter().map(|m| m.2.count_ones()).sum();
        assert!(
            (f64::from(samples) / 16.0 - 162f64.sqrt() * 1.4).abs() < 0.5,
            "{samples}"
        );
    }

    /// R-RAST-60: samples within the square, over up to four pixels; one sample is R-RAST-61's list.
    #[test]
    fn req_r17_r_rast_60_61_square_points() {
        let t = TileArea::new(0, 0, 16);
        let mut out = [Pair::default(); 32];
        for (p, expected) in [
            ((1.5, 1.5), vec![(1, 1, 1)]),
            ((2.0, 2.0), vec![(1, 1, 1)]),
            ((3.0, 1.5), vec![(2, 1, 1)]),
            ((1.5, 3.0), vec![(1, 2, 1)]),
            ((2.25, 2.75), vec![(2, 2, 1)]),
            ((0.0, 0.0), vec![]),
        ] {
            let n = square::<_, 1>(&t, &vertex(p), &ALL, &mut out);
            assert_eq!(masks::<_, 1>(&out[..n]), expected);
        }
        let n = square::<_, 4>(&t, &vertex((1.5, 1.5)), &ALL, &mut out);
        assert_eq!(masks::<_, 4>(&out[..n]), [(1, 1, 15)]);
        // Around a corner each of the four pixels gives the samples of its inner quarter: one each.
        let n = square::<_, 4>(&t, &vertex((2.0, 2.0)), &ALL, &mut out);
        assert_eq!(masks::<_, 4>(&out[..n]), [(1, 1, 8), (2, 1, 4), (1, 2, 2), (2, 2, 1)]);
    }

    /// Every pixel whose square meets the triangle, by clipping the triangle to the square in exact arithmetic.
    fn touches(v: &[ScreenVertex; 3], px: i64, py: i64) -> bool {
        // Separating axes of a triangle and a box: the box' own, and the triangle's edges.
        let (x0, y0) = (px * 256, py * 256);
        let points = v.map(|v| [i64::from(v.x), i64::from(v.y)]);
        let boxes = [[x0, y0], [x0 + 256, y0], [x0, y0 + 256], [x0 + 256, y0 + 256]];
        let axes = [[1, 0], [0, 1]].into_iter().chain((0..3).map(|k| {
            let (a, b) = (points[k], points[(k + 1) % 3]);
            [a[1] - b[1], b[0] - a[0]]
        }));
        axes.into_iter().all(|[a, b]| {
            let at = |p: &[i64; 2]| a * p[0] + b * p[1];
            let range = |v: Vec<i64>| {
                (
                    v.iter().copied().min().unwrap_or(0),
                    v.iter().copied().max().unwrap_or(0),
                )
            };
            let (t, s) = (
                range(points.iter().map(at).collect()),
                range(boxes.iter().map(at).collect()),
            );
            t.1 >= s.0 && s.1 >= t.0
        })
    }

    /// R-RAST-120: no pixel that a triangle touches is missed; none farther than 1/256 pixel is hit.
    #[test]
    fn r_rast_120_to_122_conservative_triangles() {
        let mut seed = 3u32;
        let mut random = |range: i32| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (seed >> 10) as i32 % range
        };
        let t = TileArea::new(16, 16, 16);
        let everywhere = Rect {
            x0: -40000,
            y0: -40000,
            x1: 40000,
            y1: 40000,
        };
        for round in 0..300 {
            let size = [200, 3000, 60_000][round % 3];
            let mut v: [ScreenVertex; 3] = std::array::from_fn(|_| ScreenVertex {
                x: 16 * 256 + random(4096) + random(size) - size / 2,
                y: 16 * 256 + random(4096) + random(size) - size / 2,
                ..ScreenVertex::default()
            });
            match round % 10 {
                8 => v[2] = v[0],
                9 => v = [v[0]; 3],
                _ => {}
            }
            let mut out = [Pair::default(); 32];
            let n = conservative::<_, 4>(&t, &v, &everywhere, false, &mut out);
            let hit = masks::<_, 4>(&out[..n]);
            assert!(hit.iter().all(|h| h.2 == 15));
            for (y, x) in (0..16).flat_map(|y| (0..16).map(move |x| (y, x))) {
                let is_hit = hit.iter().any(|h| (h.0, h.1) == (x, y));
                let must = touches(&v, x as i64 + 16, y as i64 + 16);
                assert!(is_hit || !must, "{x} {y} of {v:?} is missed");
                // Whoever is hit is touched once the triangle's vertices move by a unit, the snap's own doubt.
                let may = (0..9).any(|k| {
                    let moved = v.map(|v| ScreenVertex {
                        x: v.x + k % 3 - 1,
                        y: v.y + k / 3 - 1,
                        ..v
                    });
                    touches(&moved, x as i64 + 16, y as i64 + 16)
                });
                assert!(may || !is_hit, "{x} {y} of {v:?} is far");
            }
        }
    }
}
