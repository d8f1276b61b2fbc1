//! Coverage of aliased lines and points (R-RAST-50 to 55, 58, 61, 62), exact in 1/256 pixel.
//!
//! A pixel is drawn if the directed segment leaves the pixel's diamond on its way. A hit covers all samples.

use super::pairs::{PairWord, TileArea, lane};
use crate::geometry::{Rect, ScreenVertex};

/// Half the diagonal of a pixel's diamond.
const HALF: i64 = 128;

/// A fraction with a positive denominator.
#[derive(Clone, Copy)]
struct Fraction {
    num: i64,
    den: i64,
}

impl Fraction {
    fn less(self, other: Fraction) -> bool {
        // 27 bits times 27 bits.
        self.num * other.den < other.num * self.den
    }
}

/// Whether the point (dx, dy)/den from a pixel's centre belongs to its test area (R-RAST-52).
fn in_diamond(dx: i64, dy: i64, den: i64, x_major: bool) -> bool {
    let (sum, half) = (dx.abs() + dy.abs(), HALF * den);
    if sum != half {
        return sum < half;
    }
    // Lower edges and the bottom corner; the right corner only for y-major lines; no upper edge, no other corner.
    dy > 0 || (dx == half && dy == 0 && !x_major)
}

/// Whether the segment, given by its start relative to the pixel's centre and its extent, draws the pixel.
fn exits(ox: i64, oy: i64, dx: i64, dy: i64) -> bool {
    if dx == 0 && dy == 0 {
        return false;
    }
    let x_major = dx.abs() >= dy.abs();
    let (mut low, mut high) = (Fraction { num: 0, den: 1 }, Fraction { num: 1, den: 1 });
    let mut along = None;
    for (sx, sy) in [(1, 1), (1, -1), (-1, 1), (-1, -1)] {
        let (c, d) = (sx * ox + sy * oy, sx * dx + sy * dy);
        if d == 0 {
            if c > HALF {
                return false;
            }
            if c == HALF {
                along = Some(sy);
            }
        } else if d > 0 {
            let t = Fraction { num: HALF - c, den: d };
            if t.less(high) {
                high = t;
            }
        } else {
            let t = Fraction { num: c - HALF, den: -d };
            if low.less(t) {
                low = t;
            }
        }
    }
    if high.less(low) || in_diamond(ox + dx, oy + dy, 1, x_major) {
        return false;
    }
    if low.less(high) {
        return along.is_none_or(|sy| sy > 0);
    }
    in_diamond(
        ox * low.den + low.num * dx,
        oy * low.den + low.num * dy,
        low.den,
        x_major,
    )
}

/// Pixels that a line may draw.
pub(crate) fn line_bounds(v: &[ScreenVertex; 2]) -> Rect {
    let (x0, x1) = (v[0].x.min(v[1].x), v[0].x.max(v[1].x));
    let (y0, y1) = (v[0].y.min(v[1].y), v[0].y.max(v[1].y));
    Rect {
        x0: (x0 - 1) >> 8,
        y0: (y0 - 1) >> 8,
        x1: (x1 >> 8) + 1,
        y1: (y1 >> 8) + 1,
    }
}

/// The pixel that a point draws: that whose centre the 1x1 square around the position covers (R-RAST-61).
pub(crate) fn point_bounds(v: &ScreenVertex) -> Rect {
    let (x, y) = ((v.x - 1) >> 8, (v.y - 1) >> 8);
    Rect {
        x0: x,
        y0: y,
        x1: x + 1,
        y1: y + 1,
    }
}

/// Writes the pairs that a line covers in a tile; as [`super::triangle`].
pub(crate) fn line<P: PairWord, const N: usize>(
    area: &TileArea,
    v: &[ScreenVertex; 2],
    rect: &Rect,
    out: &mut [P],
) -> usize {
    let inside = area.local(line_bounds(v).intersect(*rect));
    if inside.is_empty() {
        return 0;
    }
    let [a, b] = v.map(|v| [i64::from(v.x - (area.x << 8)), i64::from(v.y - (area.y << 8))]);
    let d = [b[0] - a[0], b[1] - a[1]];
    let major = usize::from(d[1].abs() > d[0].abs());
    let minor = 1 - major;
    if d[major] == 0 {
        return 0;
    }
    let range = |axis: usize| {
        if axis == 0 {
            (i64::from(inside.x0), i64::from(inside.x1))
        } else {
            (i64::from(inside.y0), i64::from(inside.y1))
        }
    };
    let (low, high) = (a[major].min(b[major]), a[major].max(b[major]));
    let (first, end) = range(major);
    let minors = range(minor);
    let mut writer = Writer::<P, N>::new(area, major, out);
    let mut course = Course::new(a, d, major, first);
    for m in first..end {
        let crossed = course.next();
        if low < m * 256 && high > m * 256 + 256 && d[minor].abs() < d[major].abs() {
            // The line runs all through the column: it meets one pixel's diamond, that nearest to it at the middle.
            if crossed >= minors.0 && crossed < minors.1 {
                writer.set(m, crossed);
            }
            continue;
        }
        // Only diamonds whose centres are within a pixel or so of the line's course over the column are hit.
        let minor_at = |m: i64| a[minor] + (d[minor] * (m.clamp(low, high) - a[major])).div_euclid(d[major]);
        let (p, q) = (minor_at(m * 256), minor_at(m * 256 + 256));
        let near = ((p.min(q) - 129) >> 8).max(minors.0);
        for n in near..(((p.max(q) + 129) >> 8) + 1).min(minors.1) {
            let (x, y) = if major == 0 { (m, n) } else { (n, m) };
            if exits(a[0] - (x * 256 + 128), a[1] - (y * 256 + 128), d[0], d[1]) {
                writer.set(m, n);
            }
        }
    }
    writer.finish()
}

/// Where a line crosses the middles of columns (or rows, if it is y-major), one after the other: the pixel whose lower
/// or right half the crossing is in, borders taken as the diamonds take them (R-RAST-52).
struct Course {
    /// Pixel, and the rest in units of `divisor`.
    pixel: i64,
    rest: i64,
    step: (i64, i64),
    divisor: i64,
}

impl Course {
    fn new(a: [i64; 2], d: [i64; 2], major: usize, first: i64) -> Course {
        let minor = 1 - major;
        let (length, along) = (d[major].abs(), d[minor] * d[major].signum());
        // The crossing is number/divisor pixels away; a whole number belongs to the pixel before it.
        let number = a[minor] * length + along * (first * 256 + 128 - a[major]) - 1;
        let divisor = 256 * length;
        Course {
            pixel: number.div_euclid(divisor),
            rest: number.rem_euclid(divisor),
            step: ((along * 256).div_euclid(divisor), (along * 256).rem_euclid(divisor)),
            divisor,
        }
    }

    /// The pixel in the present column; goes on to the next.
    #[inline(always)]
    fn next(&mut self) -> i64 {
        let pixel = self.pixel;
        self.pixel += self.step.0;
        self.rest += self.step.1;
        if self.rest >= self.divisor {
            self.rest -= self.divisor;
            self.pixel += 1;
        }
        pixel
    }
}

/// Pixels of a line, column by column (or row by row), made into pairs.
struct Writer<'a, P, const N: usize> {
    area: &'a TileArea,
    out: &'a mut [P],
    count: usize,
    major: usize,
    /// The column of pairs that is being written, and its pairs: first row, lanes.
    column: i64,
    open: [(i64, u8); MAX_OPEN],
    opened: usize,
}

/// Pairs that a line may meet in one column of pairs, or row: it goes at most as far across as along, and half a pixel
/// on either side.
const MAX_OPEN: usize = 8;

impl<'a, P: PairWord, const N: usize> Writer<'a, P, N> {
    fn new(area: &'a TileArea, major: usize, out: &'a mut [P]) -> Self {
        Writer {
            area,
            out,
            count: 0,
            major,
            column: i64::MIN,
            open: [(0, 0); MAX_OPEN],
            opened: 0,
        }
    }

    #[inline(always)]
    fn set(&mut self, m: i64, n: i64) {
        // Pixels of a pair along the line and across it.
        let (along, across) = if self.major == 0 { (4, 2) } else { (2, 4) };
        let (column, row) = (m & -along, n & -across);
        if column != self.column {
            self.close();
            self.column = column;
        }
        let (x, y) = if self.major == 0 { (m, n) } else { (n, m) };
        let bit = 1 << lane((x & 3) as usize, (y & 1) as usize);
        for (at, lanes) in &mut self.open[..self.opened] {
            if *at == row {
                *lanes |= bit;
                return;
            }
        }
        self.open[self.opened] = (row, bit);
        self.opened += 1;
    }

    fn close(&mut self) {
        for &(row, lanes) in &self.open[..self.opened] {
            let (x, y) = if self.major == 0 {
                (self.column, row)
            } else {
                (row, self.column)
            };
            let (x, y) = (x as usize, y as usize);
            self.out[self.count] = P::new(self.area.pair_index(x, y), x, y, [lanes; N]);
            self.count += 1;
        }
        self.opened = 0;
    }

    fn finish(mut self) -> usize {
        self.close();
        self.count
    }
}

/// Writes the pair that a point covers, if it is in the tile; as [`super::triangle`].
pub(crate) fn point<P: PairWord, const N: usize>(
    area: &TileArea,
    v: &ScreenVertex,
    rect: &Rect,
    out: &mut [P],
) -> usize {
    let inside = area.local(point_bounds(v).intersect(*rect));
    if inside.is_empty() {
        return 0;
    }
    let (x, y) = (inside.x0 as usize, inside.y0 as usize);
    out[0] = P::new(area.pair_index(x, y), x & !3, y & !1, [1 << lane(x, y); N]);
    1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::snap;
    use quadrille_jit::abi::Pair;

    fn pixels(pairs: &[Pair]) -> Vec<(usize, usize)> {
        let mut out: Vec<_> = pairs
            .iter()
            .flat_map(|p| {
                let (_, x, y) = p.position();
                (0..4)
                    .flat_map(move |i| (0..2).map(move |j| (x + i, y + j)))
                    .filter(move |&(i, j)| {
                        assert!(p.coverage.iter().all(|&c| c == p.coverage[0]) || p.coverage[1] == 0);
                        p.coverage[0] >> lane(i, j) & 1 != 0
                    })
            })
            .collect();
        out.sort();
        out
    }

    fn vertex((x, y): (f32, f32)) -> ScreenVertex {
        ScreenVertex {
            x: snap(x),
            y: snap(y),
            z: 0.0,
            iw: 1.0,
        }
    }

    const ALL: Rect = Rect {
        x0: 0,
        y0: 0,
        x1: 16,
        y1: 16,
    };

    fn draw(a: (f32, f32), b: (f32, f32)) -> Vec<(usize, usize)> {
        let mut out = [Pair::default(); 32];
        let n = line::<_, 1>(&TileArea::new(0, 0, 16), &[vertex(a), vertex(b)], &ALL, &mut out);
        pixels(&out[..n])
    }

    /// The examples of section 6.
    #[test]
    fn r_rast_51_to_53_diamond_exit() {
        assert_eq!(draw((0.5, 0.5), (4.5, 0.5)), [(0, 0), (1, 0), (2, 0), (3, 0)]);
        assert_eq!(draw((4.5, 0.5), (0.5, 0.5)), [(1, 0), (2, 0), (3, 0), (4, 0)]);
        assert_eq!(draw((0.5, 2.0), (3.5, 2.0)), [(0, 1), (1, 1), (2, 1)]);
        assert_eq!(draw((2.0, 0.5), (2.0, 3.5)), [(1, 0), (1, 1), (1, 2)]);
        assert_eq!(draw((0.5, 0.5), (4.5, 4.5)), [(0, 0), (1, 1), (2, 2), (3, 3)]);
        assert_eq!(draw((3.5, 3.5), (3.5, 3.5)), []);
        assert_eq!(draw((3.4, 3.5), (3.6, 3.5)), []);
        assert_eq!(draw((4.0, 2.5), (8.5, 4.0)), [(4, 2), (5, 2), (6, 3), (7, 3)]);
        assert_eq!(
            draw((10.5, 2.0), (9.0, 6.5)),
            [(9, 3), (9, 4), (9, 5), (10, 1), (10, 2)]
        );
        assert_eq!(
            draw((0.25, 0.25), (7.25, 3.0)),
            [(0, 0), (1, 0), (2, 1), (3, 1), (4, 1), (5, 2), (6, 2)]
        );
        assert_eq!(
            draw((1.0, 0.0), (3.0, 7.0)),
            [(1, 0), (1, 1), (1, 2), (1, 3), (2, 4), (2, 5), (2, 6)]
        );
    }

    /// R-RAST-54, R-RAST-55, R-RAST-155: lines aren't clipped to the target, hit all samples of a pixel, and are the same
    /// whatever the tiles.
    #[test]
    fn lines_do_not_notice_tiles() {
        let mut seed = 7u32;
        let mut random = || {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (seed >> 12) as i32 % 20_000 - 4_000
        };
        let rect = Rect {
            x0: 0,
            y0: 0,
            x1: 64,
            y1: 64,
        };
        for _ in 0..300 {
            let v: [ScreenVertex; 2] = std::array::from_fn(|_| ScreenVertex {
                x: random(),
                y: random(),
                ..ScreenVertex::default()
            });
            let tiles = |edge: u32| {
                let mut all = Vec::new();
                for ty in (0..64).step_by(edge as usize) {
                    for tx in (0..64).step_by(edge as usize) {
                        let mut out = [Pair::default(); 512];
                        let n = line::<_, 4>(&TileArea::new(tx, ty, edge), &v, &rect, &mut out);
                        all.extend(
                            pixels(&out[..n])
                                .into_iter()
                                .map(|(x, y)| (x + tx as usize, y + ty as usize)),
                        );
                    }
                }
                all.sort();
                all
            };
            let brute: Vec<_> = (0..64usize)
                .flat_map(|x| (0..64usize).map(move |y| (x, y)))
                .filter(|&(x, y)| {
                    let o = |v: i32, p: usize| i64::from(v) - (p as i64 * 256 + 128);
                    exits(
                        o(v[0].x, x),
                        o(v[0].y, y),
                        (v[1].x - v[0].x).into(),
                        (v[1].y - v[0].y).into(),
                    )
                })
                .collect();
            assert_eq!(tiles(16), brute);
            assert_eq!(tiles(64), brute);
        }
    }

    #[test]
    fn r_rast_61_62_points_cover_a_pixel_with_all_samples() {
        let t = TileArea::new(0, 0, 16);
        for (p, expected) in [
            ((1.5, 1.5), Some((1, 1))),
            ((2.0, 2.0), Some((1, 1))),
            ((3.0, 1.5), Some((2, 1))),
            ((1.5, 3.0), Some((1, 2))),
            ((2.25, 2.75), Some((2, 2))),
            ((0.0, 0.0), None),
        ] {
            let mut out = [Pair::default(); 1];
            let n = point::<_, 4>(&t, &vertex(p), &ALL, &mut out);
            assert_eq!(pixels(&out[..n]).first().copied(), expected);
        }
    }
}
