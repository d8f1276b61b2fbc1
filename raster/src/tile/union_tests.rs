//! Shared edges at every sample count, and triangles as large as the guard band (R-RAST-8, 10, 33; REQ-R4, REQ-R6).

use super::lanes::Portable;
use super::pairs::{PairWord, TileArea, lane};
use super::raster::pairs_of;
use crate::geometry::{Rect, ScreenVertex, snap};
use quadrille_jit::abi::{Pair, WidePair};

const ALL: Rect = Rect {
    x0: 0,
    y0: 0,
    x1: 16,
    y1: 16,
};

fn vertex([x, y]: [i32; 2]) -> ScreenVertex {
    ScreenVertex { x, y, z: 0.0, iw: 1.0 }
}

/// Adds a triangle's samples of a 16x16 tile to the counts.
fn add<P: PairWord, const N: usize>(v: &[ScreenVertex; 3], counts: &mut [[u32; N]; 256]) {
    let mut out = [P::default(); 32];
    let area = TileArea::new(0, 0, 16);
    let best = crate::tile::at_best_level!(L => pairs_of::<P, N, L>(&area, v, &ALL, &mut out).0);
    let mut portable = [P::default(); 32];
    let n = pairs_of::<P, N, Portable>(&area, v, &ALL, &mut portable).0;
    assert_eq!(n, best);
    for p in &out[..n] {
        let (_, x, y) = p.position();
        for (i, j) in (0..2).flat_map(|j| (0..4).map(move |i| (i, j))) {
            for (s, count) in counts[(y + j) * 16 + x + i].iter_mut().enumerate() {
                *count += u32::from(p.coverage(s) >> lane(i, j) & 1);
            }
        }
    }
}

struct Random(u32);

impl Random {
    fn below(&mut self, n: i32) -> i32 {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (self.0 >> 8) as i32 % n
    }
}

/// The point that far along the square's border, clockwise from its top left corner.
fn border(at: i32) -> [i32; 2] {
    let (side, rest) = (at / 4096, at % 4096);
    match side {
        0 => [rest, 0],
        1 => [4096, rest],
        2 => [4096 - rest, 4096],
        _ => [0, 4096 - rest],
    }
}

fn fan<P: PairWord, const N: usize>(r: &mut Random, round: i32) {
    // Centres anywhere, on pixels' centres, on pixels' corners, on sample positions.
    let centre = match round % 4 {
        0 => [1 + r.below(4095), 1 + r.below(4095)],
        1 => [r.below(16) * 256 + 128, r.below(16) * 256 + 128],
        2 => [r.below(15) * 256 + 256, r.below(15) * 256 + 256],
        _ => [r.below(255) * 16 + 16, r.below(255) * 16 + 16],
    };
    let mut rim = vec![0, 4096, 8192, 12288];
    let step = [1, 16, 128][r.below(3) as usize];
    rim.extend((0..r.below(12)).map(|_| r.below(16384 / step) * step));
    rim.sort_unstable();
    rim.dedup();
    let mut counts = [[0; N]; 256];
    for (k, &at) in rim.iter().enumerate() {
        let next = rim[(k + 1) % rim.len()];
        let mut v = [centre, border(at), border(next)].map(vertex);
        if r.below(2) == 0 {
            v.swap(0, 1);
        }
        add::<P, N>(&v, &mut counts);
    }
    let wrong = counts.iter().position(|c| c.iter().any(|&n| n != 1));
    assert_eq!(wrong, None, "{N} samples, {centre:?}, {rim:?}");
}

#[test]
fn req_r4_r_rast_33_fans_cover_every_sample_once() {
    let mut r = Random(77);
    for round in 0..200 {
        fan::<Pair, 1>(&mut r, round);
        fan::<Pair, 2>(&mut r, round);
        fan::<Pair, 4>(&mut r, round);
        fan::<WidePair, 8>(&mut r, round);
        fan::<WidePair, 16>(&mut r, round);
    }
}

#[test]
fn req_r6_r_rast_8_10_huge_triangles() {
    let pixels = |p: [(f32, f32); 3]| {
        let mut counts = [[0; 1]; 256];
        add::<Pair, 1>(&p.map(|(x, y)| vertex([snap(x), snap(y)])), &mut counts);
        let rows: Vec<usize> = (0..16).filter(|y| counts[y * 16][0] == 1).collect();
        (counts.iter().filter(|c| c[0] == 1).count(), rows)
    };
    let all: Vec<usize> = (0..16).collect();
    assert_eq!(
        pixels([(-16000.0, -16000.0), (32000.0, -16000.0), (-16000.0, 32000.0)]),
        (256, all)
    );
    assert_eq!(
        pixels([(-16384.0, 0.0), (16384.0, 16.0), (-16384.0, 16.0)]),
        (128, (8..16).collect())
    );
    // The edge is 0.0002 pixels below the centres of row 8.
    assert_eq!(
        pixels([(-16384.0, 0.5), (16384.0, 16.5), (-16384.0, 16.5)]),
        (112, (9..16).collect())
    );
}

/// A fan as large as the guard band around a tile: shared edges hold there too.
#[test]
fn r_rast_8_33_huge_fans_cover_every_sample_once() {
    let mut r = Random(5);
    const FAR: i32 = 32767 * 256;
    for _ in 0..100 {
        let centre = [r.below(4096), r.below(4096)];
        // Corners, and points between them, clockwise.
        let mut between = || r.below(2 * FAR - 2) - FAR + 1;
        let rim = [
            [-FAR, -FAR],
            [between(), -FAR],
            [FAR, -FAR],
            [FAR, between()],
            [FAR, FAR],
            [between(), FAR],
            [-FAR, FAR],
            [-FAR, between()],
        ];
        let mut counts = [[0; 4]; 256];
        for k in 0..rim.len() {
            let v = [centre, rim[k], rim[(k + 1) % rim.len()]].map(vertex);
            add::<Pair, 4>(&v, &mut counts);
        }
        assert!(counts.iter().flatten().all(|&n| n == 1), "{centre:?} {rim:?}");
    }
}
