//! Coverage against the rules' worked examples and a reference that is written to be obviously right.

use super::*;
use crate::geometry::snap;
use crate::tile::lanes::Portable;
use quadrille_jit::abi::{Pair, WidePair};

struct Random(u64);

impl Random {
    fn next(&mut self) -> u32 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as u32
    }
    fn range(&mut self, low: i32, high: i32) -> i32 {
        low + (self.next() % (high - low) as u32) as i32
    }
}

fn vertex(x: i32, y: i32) -> ScreenVertex {
    ScreenVertex { x, y, z: 0.0, iw: 1.0 }
}

/// R-RAST-32 for a point in 1/256 pixel.
fn covers(v: &[ScreenVertex; 3], px: i64, py: i64) -> bool {
    let p = v.map(|v| (i64::from(v.x), i64::from(v.y)));
    let area = (p[1].0 - p[0].0) * (p[2].1 - p[0].1) - (p[2].0 - p[0].0) * (p[1].1 - p[0].1);
    let p = if area < 0 { [p[0], p[2], p[1]] } else { p };
    area != 0
        && (0..3).all(|k| {
            let ((ax, ay), (bx, by)) = (p[k], p[(k + 1) % 3]);
            let e = (bx - ax) * (py - ay) - (by - ay) * (px - ax);
            e > 0 || (e == 0 && ((ay == by && bx > ax) || by < ay))
        })
}

/// Masks of samples, by pixel.
type Masks = Vec<u32>;

fn reference<const N: usize>(v: &[ScreenVertex; 3], area: &TileArea, rect: &Rect) -> Masks {
    let mut out = vec![0; area.edge * area.edge];
    for (i, mask) in out.iter_mut().enumerate() {
        let (x, y) = (area.x + (i % area.edge) as i32, area.y + (i / area.edge) as i32);
        if x < rect.x0 || x >= rect.x1 || y < rect.y0 || y >= rect.y1 {
            continue;
        }
        for (s, [ox, oy]) in sample_offsets::<N>().into_iter().enumerate() {
            let p = |v: i32, o: i32| i64::from(v) * 256 + i64::from(o);
            *mask |= u32::from(covers(v, p(x, ox), p(y, oy))) << s;
        }
    }
    out
}

/// Pairs as masks; checks that none comes twice, lies wrong or is empty.
fn masks<P: PairWord, const N: usize>(area: &TileArea, pairs: &[P]) -> Masks {
    let mut out = vec![0; area.edge * area.edge];
    let mut seen = vec![false; area.pairs()];
    for p in pairs {
        let (index, x, y) = p.position();
        assert!(x % 4 == 0 && y % 2 == 0 && index == area.pair_index(x, y));
        assert!(!std::mem::replace(&mut seen[index], true));
        let mut any = 0;
        for j in 0..2 {
            for i in 0..4 {
                for s in 0..N {
                    let bit = p.coverage(s) >> lane(i, j) & 1;
                    any |= bit;
                    out[(y + j) * area.edge + x + i] |= u32::from(bit) << s;
                }
            }
        }
        assert!(any != 0);
    }
    out
}

/// At the machine's level, as tiles do it.
fn best<P: PairWord, const N: usize>(area: &TileArea, v: &[ScreenVertex; 3], rect: &Rect, out: &mut [P]) -> usize {
    crate::tile::at_best_level!(L => pairs_of::<P, N, L>(area, v, rect, out).0)
}

fn all_ways<P: PairWord, const N: usize>(v: &[ScreenVertex; 3], area: &TileArea, rect: &Rect) -> Masks {
    let mut out = vec![P::default(); area.pairs()];
    let expected = reference::<N>(v, area, rect);
    let check = |n: usize, out: &[P], what: &str| {
        assert_eq!(
            masks::<P, N>(area, &out[..n]),
            expected,
            "{what}, {N} samples, {v:?} in {area:?}, {rect:?}"
        );
    };
    let n = best::<P, N>(area, v, rect, &mut out);
    check(n, &out, "best level");
    let inside = inside(area, bounds(v, N as u32), rect);
    let (n, full) = pairs_of::<P, N, Portable>(area, v, rect, &mut out);
    check(n, &out, "baseline");
    for (i, &mask) in expected.iter().enumerate() {
        let block = area.pair_index(i % area.edge, i / area.edge) / 8;
        let whole = full.checked_shr(block as u32).unwrap_or(0) & 1 != 0;
        assert!(
            !whole || mask == (1 << N) - 1,
            "block {block} of {v:?} is not covered whole"
        );
    }
    if !inside.is_empty()
        && let Some(edges) = Edges::new(v, area)
    {
        let clip = area.local(*rect);
        let n = wide::<P, N>(area, &edges, [false; 3], &inside, Some(&clip), &mut out);
        check(n, &out, "i64");
        let (n, _) = blocks::<P, N, Portable>(area, edges, &inside, Some(&clip), 0, &mut out);
        check(n, &out, "blocks");
    }
    expected
}

fn points(p: [(f32, f32); 3]) -> [ScreenVertex; 3] {
    p.map(|(x, y)| vertex(snap(x), snap(y)))
}

const EVERYWHERE: Rect = Rect {
    x0: -40000,
    y0: -40000,
    x1: 40000,
    y1: 40000,
};

/// The picture of section 4.
#[test]
fn r_rast_30_to_34_ten_triangles() {
    let triangles = [
        ('A', [(1.0, 1.0), (6.0, 2.0), (2.0, 4.0)], 7),
        ('B', [(8.0, 1.0), (13.0, 1.0), (8.0, 6.0)], 10),
        ('C', [(13.0, 1.0), (13.0, 6.0), (8.0, 6.0)], 15),
        ('D', [(1.5, 5.5), (4.5, 5.5), (1.5, 8.5)], 6),
        ('E', [(4.5, 5.5), (4.5, 8.5), (1.5, 8.5)], 3),
        ('F', [(6.25, 6.25), (6.75, 6.75), (6.25, 6.75)], 0),
        ('G', [(8.0, 8.0), (12.0, 12.0), (10.0, 10.0)], 0),
        ('H', [(0.0, 15.75), (16.0, 15.25), (16.0, 15.75)], 8),
        ('I', [(10.0, 9.0), (15.0, 11.0), (9.0, 14.0)], 14),
        ('J', [(2.0, 10.0), (2.0, 14.0), (5.0, 10.0)], 6),
    ];
    let area = TileArea::new(0, 0, 16);
    let mut picture = vec!['.'; 256];
    for (name, p, count) in triangles {
        let masks = all_ways::<Pair, 1>(&points(p), &area, &EVERYWHERE);
        assert_eq!(masks.iter().filter(|&&m| m != 0).count(), count, "{name}");
        for (out, _) in picture.iter_mut().zip(masks).filter(|p| p.1 != 0) {
            assert_eq!(*out, '.');
            *out = name;
        }
    }
    let rows: Vec<String> = picture.chunks(16).map(|r| r.iter().collect()).collect();
    assert_eq!(
        rows,
        [
            "................",
            ".AA.....BBBBC...",
            ".AAAA...BBBCC...",
            "..A.....BBCCC...",
            "........BCCCC...",
            ".DDD....CCCCC...",
            ".DDE............",
            ".DEE............",
            "................",
            "..........I.....",
            "..JJJ.....IIII..",
            "..JJ.....IIIII..",
            "..J......III....",
            ".........I......",
            "................",
            "........HHHHHHHH",
        ]
    );
}

/// The masks of section 10.
#[test]
fn r_rast_35_90_sample_masks() {
    let v = points([(1.0, 1.0), (6.0, 2.0), (2.0, 4.0)]);
    let area = TileArea::new(0, 0, 16);
    let rows = |m: Masks| -> Vec<Vec<u32>> { (1..4).map(|y| m[y * 16..y * 16 + 7].to_vec()).collect() };
    assert_eq!(
        rows(all_ways::<Pair, 4>(&v, &area, &EVERYWHERE)),
        [
            [0, 0xb, 0xc, 0xc, 8, 0, 0],
            [0, 0xb, 0xf, 0xf, 7, 1, 0],
            [0, 2, 7, 1, 0, 0, 0]
        ]
    );
    assert_eq!(
        rows(all_ways::<WidePair, 8>(&v, &area, &EVERYWHERE)),
        [
            [0, 0x4f, 0x76, 0x72, 0x50, 0, 0],
            [0, 0xc5, 0xff, 0xff, 0xbf, 0x28, 0],
            [0, 0x80, 0xbf, 0x28, 0, 0, 0]
        ]
    );
    assert_eq!(
        rows(all_ways::<Pair, 2>(&v, &area, &EVERYWHERE)),
        [[0, 3, 1, 1, 0, 0, 0], [0, 1, 3, 3, 2, 2, 0], [0, 0, 2, 2, 0, 0, 0]]
    );
    assert_eq!(
        rows(all_ways::<WidePair, 16>(&v, &area, &EVERYWHERE)),
        [
            [0, 0x65ff, 0x597f, 0x5965, 0x4920, 0, 0],
            [0, 0x62eb, 0xffff, 0xffff, 0xbe9f, 0x8610, 0],
            [0, 0x2000, 0xbe9f, 0x8610, 0, 0, 0]
        ]
    );
}

/// R-RAST-7, R-RAST-8, R-RAST-30: from snapped integers, exact over the whole guard band.
#[test]
fn random_triangles_of_all_sizes_equal_the_reference() {
    let mut r = Random(11);
    for round in 0..600 {
        let edge = [16, 32, 64, 128][round % 4];
        let area = TileArea::new(r.range(0, 40) * edge as i32, r.range(0, 40) * edge as i32, edge);
        // From a pixel to the whole guard band, near the tile or anywhere.
        let size = [300, 3000, 20_000, 400_000, 8_388_000][r.next() as usize % 5];
        let (cx, cy) = (
            area.x * 256 + r.range(0, edge as i32 * 256),
            area.y * 256 + r.range(0, edge as i32 * 256),
        );
        let mut v: [ScreenVertex; 3] = std::array::from_fn(|_| {
            vertex(
                (cx + r.range(-size, size)).clamp(-8_388_352, 8_388_352),
                (cy + r.range(-size, size)).clamp(-8_388_352, 8_388_352),
            )
        });
        if r.next().is_multiple_of(3) {
            // Edges through sample positions.
            for v in &mut v {
                (v.x, v.y) = (v.x & !127, v.y & !127);
            }
        }
        let rect = match r.next() % 3 {
            0 => EVERYWHERE,
            1 => Rect {
                x0: area.x + 3,
                y0: area.y + 5,
                x1: area.x + 11,
                y1: area.y + 14,
            },
            _ => Rect {
                x0: 0,
                y0: 0,
                x1: area.x + edge as i32 - 5,
                y1: area.y + edge as i32 - 7,
            },
        };
        match round % 3 {
            0 => drop(all_ways::<Pair, 1>(&v, &area, &rect)),
            1 => drop(all_ways::<Pair, 4>(&v, &area, &rect)),
            _ if edge < 64 => drop(all_ways::<WidePair, 16>(&v, &area, &rect)),
            _ => {}
        }
    }
}

/// R-RAST-33: a mesh without overlap covers each sample of its area exactly once, whatever its vertices are.
#[test]
fn r_rast_33_meshes_cover_every_sample_once() {
    fn mesh<P: PairWord, const N: usize>(r: &mut Random) {
        const CELLS: usize = 4;
        let area = TileArea::new(64, 128, 32);
        let step = 32 * 256 / CELLS as i32;
        let jitter = [1, 128, 450][r.next() as usize % 3];
        let mut grid = [[(0, 0); CELLS + 1]; CELLS + 1];
        for (j, row) in grid.iter_mut().enumerate() {
            for (i, p) in row.iter_mut().enumerate() {
                let on_edge = |k: usize| k == 0 || k == CELLS;
                let shift = |r: &mut Random, k: usize| if on_edge(k) { 0 } else { r.range(-jitter, jitter) };
                *p = (
                    area.x * 256 + i as i32 * step + shift(r, i),
                    area.y * 256 + j as i32 * step + shift(r, j),
                );
            }
        }
        let mut count = [[0u32; N]; 1024];
        let mut out = vec![P::default(); area.pairs()];
        for j in 0..CELLS {
            for i in 0..CELLS {
                let [a, b, c, d] = [grid[j][i], grid[j][i + 1], grid[j + 1][i], grid[j + 1][i + 1]];
                let split = if r.next().is_multiple_of(2) {
                    [[a, b, d], [a, c, d]]
                } else {
                    [[a, b, c], [c, b, d]]
                };
                for t in split {
                    let v = t.map(|(x, y)| vertex(x, y));
                    let n = best::<P, N>(&area, &v, &EVERYWHERE, &mut out);
                    for (count, mask) in count.iter_mut().zip(masks::<P, N>(&area, &out[..n])) {
                        for (s, c) in count.iter_mut().enumerate() {
                            *c += mask >> s & 1;
                        }
                    }
                }
            }
        }
        assert!(count.iter().flatten().all(|&c| c == 1));
    }
    let mut r = Random(5);
    for _ in 0..60 {
        mesh::<Pair, 1>(&mut r);
        mesh::<Pair, 4>(&mut r);
        mesh::<WidePair, 8>(&mut r);
        mesh::<WidePair, 16>(&mut r);
    }
}
