//! Alpha-antialiased lines (R-RAST-57): rectangles one pixel wide, and exactly how much of each pixel they cover.
//!
//! The area is a sum over the rectangle's edges: what lies between the edge and the pixel's upper side, within the
//! pixel, added or taken off by the edge's direction. It goes into the pair's coverage bytes as a binary number, a byte
//! a bit ([`CoverageForm::Area`](crate::pipeline::CoverageForm::Area)).
//!
//! The rule that must not break: the area is a function of line and pixel alone. Positions are relative to the line's
//! start, which is exact, never to the tile.

use super::pairs::{PairWord, TileArea, lane};
use super::polygon::around;
use crate::geometry::{Rect, ScreenVertex};
use crate::pipeline::CoverageForm;

const BITS: usize = CoverageForm::AREA_BITS as usize;

/// Half the width, in pixels.
const HALF_WIDTH: f64 = 0.5;

/// From a pixel's middle to its corners, and some: beyond the area is 0.
const PIXEL_REACH: f64 = 0.7072;

/// From a block's middle to its corners, half the line's width, and some.
const BLOCK_REACH: f64 = 5.657 + HALF_WIDTH + 0.01;

/// Pixels that an antialiased line may touch.
pub(crate) fn bounds(v: &[ScreenVertex; 2]) -> Rect {
    around(v, 129, (0, 256))
}

/// Writes the pairs that a line touches, with its area in each pixel, as [`super::raster::triangle`].
pub(super) fn line<P: PairWord>(area: &TileArea, v: &[ScreenVertex; 2], rect: &Rect, out: &mut [P]) -> usize {
    let inside = area.local(bounds(v).intersect(*rect));
    let (dx, dy) = (f64::from(v[1].x - v[0].x) / 256.0, f64::from(v[1].y - v[0].y) / 256.0);
    let length = (dx * dx + dy * dy).sqrt();
    if inside.is_empty() || length == 0.0 {
        return 0;
    }
    let (ux, uy) = (dx / length, dy / length);
    let (nx, ny) = (-uy * HALF_WIDTH, ux * HALF_WIDTH);
    // From the start, in pixels; clockwise on screen.
    let corners = [[-nx, -ny], [dx - nx, dy - ny], [dx + nx, dy + ny], [nx, ny]];
    // Exact: both are multiples of 1/256.
    let left = f64::from(area.x) - f64::from(v[0].x) / 256.0;
    let top = f64::from(area.y) - f64::from(v[0].y) / 256.0;
    let mut n = 0;
    for by in (inside.y0 & !7..inside.y1).step_by(8) {
        for bx in (inside.x0 & !7..inside.x1).step_by(8) {
            let (mx, my) = (left + f64::from(bx) + 4.0, top + f64::from(by) + 4.0);
            if (mx * uy - my * ux).abs() > BLOCK_REACH {
                continue;
            }
            for y in (by..by + 8).step_by(2) {
                for x in (bx..bx + 8).step_by(4) {
                    let mut bytes = [0u8; BITS];
                    for (py, px) in (y..y + 2).flat_map(|py| (x..x + 4).map(move |px| (py, px))) {
                        if px < inside.x0 || px >= inside.x1 || py < inside.y0 || py >= inside.y1 {
                            continue;
                        }
                        let (ox, oy) = (left + f64::from(px), top + f64::from(py));
                        let (mx, my) = (ox + 0.5, oy + 0.5);
                        let along = mx * ux + my * uy;
                        if (mx * uy - my * ux).abs() > PIXEL_REACH + HALF_WIDTH
                            || along < -PIXEL_REACH
                            || along > length + PIXEL_REACH
                        {
                            continue;
                        }
                        let covered = covered(&corners.map(|[x, y]| [x - ox, y - oy]));
                        let code = (covered * f64::from((1u32 << BITS) - 1)).round_ties_even() as u32;
                        for (n, byte) in bytes.iter_mut().enumerate() {
                            *byte |= ((code >> n & 1) as u8) << lane(px as usize, py as usize);
                        }
                    }
                    if bytes != [0; BITS] {
                        let (x, y) = (x as usize, y as usize);
                        out[n] = P::new(area.pair_index(x, y), x, y, bytes);
                        n += 1;
                    }
                }
            }
        }
    }
    n
}

/// The part of the unit square, 0 to 1, that a convex polygon covers.
fn covered(corners: &[[f64; 2]; 4]) -> f64 {
    let mut sum = 0.0;
    for k in 0..4 {
        sum += above(corners[k], corners[(k + 1) % 4]);
    }
    sum.abs().min(1.0)
}

/// The area between an edge and y = 0 within the unit square, negative if the edge runs to the left.
fn above(from: [f64; 2], to: [f64; 2]) -> f64 {
    if from[0] > to[0] {
        return -above(to, from);
    }
    let width = to[0] - from[0];
    let (x0, x1) = (from[0].clamp(0.0, 1.0), to[0].clamp(0.0, 1.0));
    if x0 >= x1 {
        return 0.0;
    }
    let y = |x: f64| from[1] + (to[1] - from[1]) * ((x - from[0]) / width);
    (x1 - x0) * mean(y(x0), y(x1))
}

/// The mean of a value that goes straight from `a` to `b`, cut to 0..1 on the way.
fn mean(a: f64, b: f64) -> f64 {
    let (low, high) = (a.min(b), a.max(b));
    let (cut_low, cut_high) = (low.clamp(0.0, 1.0), high.clamp(0.0, 1.0));
    if low == cut_low && high == cut_high || cut_low == cut_high {
        return (cut_low + cut_high) / 2.0;
    }
    let integral = |v: f64| match v {
        v if v <= 0.0 => 0.0,
        v if v <= 1.0 => v * v / 2.0,
        v => v - 0.5,
    };
    ((integral(high) - integral(low)) / (high - low)).clamp(cut_low, cut_high)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::snap;
    use quadrille_jit::abi::WidePair;

    const ALL: Rect = Rect {
        x0: -100,
        y0: -100,
        x1: 100,
        y1: 100,
    };

    fn vertex((x, y): (f32, f32)) -> ScreenVertex {
        ScreenVertex {
            x: snap(x),
            y: snap(y),
            z: 0.0,
            iw: 1.0,
        }
    }

    /// Areas of the tile's pixels.
    fn draw(tile: &TileArea, ends: [(f32, f32); 2]) -> Vec<Vec<f64>> {
        let mut out = vec![WidePair::default(); tile.pairs()];
        let n = line(tile, &ends.map(vertex), &ALL, &mut out);
        let mut areas = vec![vec![0.0; tile.edge]; tile.edge];
        for p in &out[..n] {
            let (_, x, y) = p.position();
            for (j, i) in (0..2).flat_map(|j| (0..4).map(move |i| (j, i))) {
                let code = (0..BITS).fold(0, |code, n| code | u32::from(p.coverage(n) >> lane(i, j) & 1) << n);
                areas[y + j][x + i] += f64::from(code) / 65535.0;
            }
        }
        areas
    }

    /// R-RAST-57: whole pixels and halves, ends cut square, no change along the line, the sum is length times width.
    #[test]
    fn r_rast_57_areas() {
        let tile = TileArea::new(0, 0, 16);
        let near = |a: f64, b: f64| (a - b).abs() < 1e-4;
        let areas = draw(&tile, [(2.0, 5.5), (9.5, 5.5)]);
        for (y, row) in areas.iter().enumerate() {
            for (x, &area) in row.iter().enumerate() {
                let expected = match (x, y) {
                    (2..9, 5) => 1.0,
                    (9, 5) => 0.5,
                    _ => 0.0,
                };
                assert!(near(area, expected), "{x} {y}: {area}");
            }
        }
        let areas = draw(&tile, [(6.0, 12.25), (6.0, 3.0)]);
        for (y, row) in areas.iter().enumerate() {
            for (x, &area) in row.iter().enumerate() {
                let expected = match (x, y) {
                    (5 | 6, 3..12) => 0.5,
                    (5 | 6, 12) => 0.125,
                    _ => 0.0,
                };
                assert!(near(area, expected), "{x} {y}: {area}");
            }
        }
        // Forty-five degrees: the pixels on the line are covered but for two corners, those beside it in one.
        let areas = draw(&tile, [(1.0, 1.0), (13.0, 13.0)]);
        let corner = (1.0 - 0.5f64.sqrt()) * (1.0 - 0.5f64.sqrt());
        for k in 3..11 {
            assert!(near(areas[k][k], 1.0 - corner), "{k}: {}", areas[k][k]);
            assert!(near(areas[k][k + 1], areas[5][6]) && near(areas[k + 1][k], areas[5][6]));
        }
        for (a, b) in [
            ((2.0, 3.0), (13.0, 7.3)),
            ((9.1, 1.6), (6.7, 14.2)),
            ((4.0, 4.0), (4.01, 4.02)),
        ] {
            let sum: f64 = draw(&tile, [a, b]).iter().flatten().sum();
            let (dx, dy) = (snap(b.0) - snap(a.0), snap(b.1) - snap(a.1));
            let length = f64::from(dx * dx + dy * dy).sqrt() / 256.0;
            assert!((sum - length).abs() < 1e-3, "{a:?} {b:?}: {sum} of {length}");
        }
        assert_eq!(draw(&tile, [(4.0, 4.0), (4.0, 4.0)]).iter().flatten().sum::<f64>(), 0.0);
    }

    /// R-RAST-155, and a line is the same either way.
    #[test]
    fn antialiased_lines_do_not_notice_tiles() {
        let mut seed = 11u32;
        let mut random = || {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            ((seed >> 12) as i32 % 20_000 - 4_000) as f32 / 256.0
        };
        for _ in 0..100 {
            let ends = [(random(), random()), (random(), random())];
            let whole = draw(&TileArea::new(0, 0, 64), ends);
            for (ty, tx) in (0..64)
                .step_by(16)
                .flat_map(|y| (0..64).step_by(16).map(move |x| (y, x)))
            {
                let part = draw(&TileArea::new(tx as i32, ty as i32, 16), ends);
                for (y, row) in part.iter().enumerate() {
                    assert_eq!(row[..], whole[ty + y][tx..tx + 16], "{ends:?}");
                }
            }
            let turned = draw(&TileArea::new(0, 0, 64), [ends[1], ends[0]]);
            for (a, b) in whole.iter().flatten().zip(turned.iter().flatten()) {
                assert!((a - b).abs() < 1e-4, "{ends:?}");
            }
        }
    }
}
