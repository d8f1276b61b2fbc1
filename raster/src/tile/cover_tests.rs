//! Coverage against the worked pictures and the rule itself.

use super::*;
use crate::binning::bounds;
use crate::geometry::snap;

const CENTRE: [[i32; 2]; 1] = [[128, 128]];

fn vertex(x: f32, y: f32) -> ScreenVertex {
    ScreenVertex {
        x: snap(x),
        y: snap(y),
        z: 0.0,
        iw: 1.0,
    }
}

/// Covered samples by pixel of the first `size` x `size` pixels, over tiles of 16.
fn masks(v: [ScreenVertex; 3], shape: Shape, offsets: &[[i32; 2]], size: i32) -> Vec<u8> {
    let mut out = vec![0u8; (size * size) as usize];
    let rect = Rect {
        x0: 0,
        y0: 0,
        x1: size,
        y1: size,
    };
    let b = bounds(&v, shape, offsets.len() as u32).intersect(rect);
    for ty in 0..(size + 15) / 16 {
        for tx in 0..(size + 15) / 16 {
            let tile = TileRect {
                x: tx * 16,
                y: ty * 16,
                edge: 16,
            };
            let mut pairs = Vec::new();
            Cover { tile, rect, offsets }.primitive(shape, &v, b, &mut pairs);
            for p in &pairs {
                for lane in 0..8 {
                    let (x, y) = (
                        tile.x + i32::from(p.x) + LANE_X[lane],
                        tile.y + i32::from(p.y) + LANE_Y[lane],
                    );
                    for s in 0..offsets.len() {
                        if p.coverage[s] >> lane & 1 != 0 {
                            assert!(x < size && y < size, "outside the rectangle");
                            let at = &mut out[(y * size + x) as usize];
                            assert_eq!(*at >> s & 1, 0, "a sample twice");
                            *at |= 1 << s;
                        }
                    }
                }
            }
        }
    }
    out
}

/// The ten-triangle picture of section 4.
#[test]
fn r_rast_31_the_ten_triangles() {
    let t = |p: [(f32, f32); 3]| p.map(|(x, y)| vertex(x, y));
    let triangles = [
        ('A', t([(1.0, 1.0), (6.0, 2.0), (2.0, 4.0)])),
        ('B', t([(8.0, 1.0), (13.0, 1.0), (8.0, 6.0)])),
        ('C', t([(13.0, 1.0), (13.0, 6.0), (8.0, 6.0)])),
        ('D', t([(1.5, 5.5), (4.5, 5.5), (1.5, 8.5)])),
        ('E', t([(4.5, 5.5), (4.5, 8.5), (1.5, 8.5)])),
        ('F', t([(6.25, 6.25), (6.75, 6.75), (6.25, 6.75)])),
        ('H', t([(0.0, 15.75), (16.0, 15.25), (16.0, 15.75)])),
        ('I', t([(10.0, 9.0), (15.0, 11.0), (9.0, 14.0)])),
        ('J', t([(2.0, 10.0), (2.0, 14.0), (5.0, 10.0)])),
    ];
    let mut picture = vec!['.'; 256];
    for (name, v) in triangles {
        for (i, m) in masks(v, Shape::Triangle, &CENTRE, 16).iter().enumerate() {
            if *m != 0 {
                assert_eq!(picture[i], '.', "{name} overlaps");
                picture[i] = name;
            }
        }
    }
    let rows: Vec<String> = picture.chunks(16).map(|r| r.iter().collect()).collect();
    let expected = "\
................
.AA.....BBBBC...
.AAAA...BBBCC...
..A.....BBCCC...
........BCCCC...
.DDD....CCCCC...
.DDE............
.DEE............
................
..........I.....
..JJJ.....IIII..
..JJ.....IIIII..
..J......III....
.........I......
................
........HHHHHHHH";
    assert_eq!(rows.join("\n"), expected);
}

/// Section 10: masks of triangle A at 4 samples.
#[test]
fn r_rast_35_sample_masks() {
    let v = [vertex(1.0, 1.0), vertex(6.0, 2.0), vertex(2.0, 4.0)];
    let offsets = crate::geometry::sample_offsets::<4>();
    let m = masks(v, Shape::Triangle, &offsets, 16);
    let row = |y: usize| m[y * 16..y * 16 + 7].to_vec();
    assert_eq!(row(1), [0, 0xb, 0xc, 0xc, 8, 0, 0]);
    assert_eq!(row(2), [0, 0xb, 0xf, 0xf, 7, 1, 0]);
    assert_eq!(row(3), [0, 2, 7, 1, 0, 0, 0]);
}

/// R-RAST-61.
#[test]
fn r_rast_61_points() {
    for (x, y, expected) in [
        (1.5, 1.5, Some((1, 1))),
        (2.0, 2.0, Some((1, 1))),
        (3.0, 1.5, Some((2, 1))),
        (1.5, 3.0, Some((1, 2))),
        (2.25, 2.75, Some((2, 2))),
        (0.0, 0.0, None),
    ] {
        let v = vertex(x, y);
        let m = masks([v; 3], Shape::Point, &CENTRE, 16);
        let found: Vec<(usize, usize)> = (0..256).filter(|&i| m[i] != 0).map(|i| (i % 16, i / 16)).collect();
        assert_eq!(found, expected.into_iter().collect::<Vec<_>>(), "({x}, {y})");
    }
}

/// The aliased line examples of section 6.
#[test]
fn r_rast_51_52_lines() {
    type Pixels = Vec<(usize, usize)>;
    let row = |y: usize, x: std::ops::Range<usize>| -> Pixels { x.map(|x| (x, y)).collect() };
    let cases: Vec<((f32, f32), (f32, f32), Pixels)> = vec![
        ((0.5, 0.5), (4.5, 0.5), row(0, 0..4)),
        ((4.5, 0.5), (0.5, 0.5), row(0, 1..5)),
        ((0.5, 2.0), (3.5, 2.0), row(1, 0..3)),
        ((2.0, 0.5), (2.0, 3.5), vec![(1, 0), (1, 1), (1, 2)]),
        ((0.5, 0.5), (4.5, 4.5), vec![(0, 0), (1, 1), (2, 2), (3, 3)]),
        ((4.0, 2.5), (8.5, 4.0), vec![(4, 2), (5, 2), (6, 3), (7, 3)]),
        ((10.5, 2.0), (9.0, 6.5), vec![(10, 1), (10, 2), (9, 3), (9, 4), (9, 5)]),
        (
            (0.25, 0.25),
            (7.25, 3.0),
            vec![(0, 0), (1, 0), (2, 1), (3, 1), (4, 1), (5, 2), (6, 2)],
        ),
    ];
    for (a, b, expected) in cases {
        let (p, q) = (vertex(a.0, a.1), vertex(b.0, b.1));
        let m = masks([p, q, q], Shape::Line, &CENTRE, 16);
        let mut found: Pixels = (0..256).filter(|&i| m[i] != 0).map(|i| (i % 16, i / 16)).collect();
        let mut expected = expected;
        found.sort();
        expected.sort();
        assert_eq!(found, expected, "{a:?} to {b:?}");
    }
}

/// R-RAST-32, independently: every sample of random triangles, small to far beyond the tile, at 1 and 4 samples.
#[test]
fn r_rast_32_random_triangles_equal_the_rule() {
    let mut seed = 12345u64;
    let mut next = |range: i64| {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((seed >> 33) as i64 % range) as i32
    };
    for round in 0..600 {
        let range = [600, 9000, 60_000, 16_000_000][round % 4];
        let shift = if range > 10_000 { range / 2 } else { 500 };
        let v: [ScreenVertex; 3] = std::array::from_fn(|_| ScreenVertex {
            x: next(range) - shift as i32,
            y: next(range) - shift as i32,
            z: 0.0,
            iw: 1.0,
        });
        if area(&v) == 0 {
            continue;
        }
        let four = crate::geometry::sample_offsets::<4>();
        for offsets in [&CENTRE[..], &four[..]] {
            let m = masks(v, Shape::Triangle, offsets, 24);
            for y in 0..24i64 {
                for x in 0..24i64 {
                    let mut expected = 0;
                    for (s, o) in offsets.iter().enumerate() {
                        let mut w = v;
                        if area(&w) < 0 {
                            w.swap(1, 2);
                        }
                        let inside = (0..3).all(|i| {
                            let (a, b) = (w[i], w[(i + 1) % 3]);
                            let (ax, ay, bx, by) = (i128::from(a.x), i128::from(a.y), i128::from(b.x), i128::from(b.y));
                            let (px, py) = (
                                i128::from(x) * 256 + i128::from(o[0]),
                                i128::from(y) * 256 + i128::from(o[1]),
                            );
                            let e = (bx - ax) * (py - ay) - (by - ay) * (px - ax);
                            e > 0 || (e == 0 && ((ay == by && bx > ax) || by < ay))
                        });
                        expected |= u8::from(inside) << s;
                    }
                    assert_eq!(m[(y * 24 + x) as usize], expected, "round {round} at ({x}, {y}): {v:?}");
                }
            }
        }
    }
}

/// R-RAST-33: a fan around a point covers every sample of the square once.
#[test]
fn r_rast_33_shared_edges_are_neither_doubled_nor_missed() {
    let four = crate::geometry::sample_offsets::<4>();
    for k in 0..40 {
        let centre = vertex(3.0 + k as f32 * 0.37, 17.0 - k as f32 * 0.23);
        let ring = [
            (0.0, 0.0),
            (9.5, 0.0),
            (24.0, 0.0),
            (24.0, 13.25),
            (24.0, 24.0),
            (7.75, 24.0),
            (0.0, 24.0),
        ];
        for offsets in [&CENTRE[..], &four[..]] {
            let mut total = vec![0u8; 24 * 24];
            for i in 0..ring.len() {
                let (a, b) = (ring[i], ring[(i + 1) % ring.len()]);
                let v = [centre, vertex(a.0, a.1), vertex(b.0, b.1)];
                if area(&v) == 0 {
                    continue;
                }
                for (t, m) in total.iter_mut().zip(masks(v, Shape::Triangle, offsets, 24)) {
                    assert_eq!(*t & m, 0);
                    *t |= m;
                }
            }
            assert!(total.iter().all(|&t| t == ((1u32 << offsets.len()) - 1) as u8));
        }
    }
}
