//! Pairs as the rasterizer writes them: numbering within the tile, coverage, clipping to a rectangle.

use crate::geometry::Rect;
use quadrille_jit::abi::{Pair, WidePair};

/// A pair and its coverage: [`Pair`] up to 4 samples, [`WidePair`] up to 16.
pub(crate) trait PairWord: Copy + Default + Send + Sync + 'static {
    /// A pair at these pixels of the tile; `coverage` has a byte a sample.
    fn new<const N: usize>(index: usize, x: usize, y: usize, coverage: [u8; N]) -> Self;
    /// Coverage of a sample.
    fn coverage(&self, sample: usize) -> u8;
    /// Number, pixel position.
    fn position(&self) -> (usize, usize, usize);
}

macro_rules! pair_word {
    ($type:ident, $samples:literal, $($rest:ident)?) => {
        impl PairWord for $type {
            #[inline(always)]
            fn new<const N: usize>(index: usize, x: usize, y: usize, coverage: [u8; N]) -> Self {
                let mut all = [0; $samples];
                for (out, c) in all.iter_mut().zip(coverage) {
                    *out = c;
                }
                $type { index: index as u16, x: x as u8, y: y as u8, $($rest: 0,)? coverage: all }
            }
            fn coverage(&self, sample: usize) -> u8 {
                self.coverage[sample]
            }
            fn position(&self) -> (usize, usize, usize) {
                (self.index.into(), self.x.into(), self.y.into())
            }
        }
    };
}

pair_word!(Pair, 4,);
pair_word!(WidePair, 16, reserved);

/// Where a tile is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TileArea {
    /// Pixel of the left edge.
    pub x: i32,
    /// Pixel of the top edge.
    pub y: i32,
    /// Pixels along an edge: 16, 32, 64 or 128.
    pub edge: usize,
}

impl TileArea {
    /// A tile at these pixels.
    pub fn new(x: i32, y: i32, edge: u32) -> TileArea {
        TileArea {
            x,
            y,
            edge: edge as usize,
        }
    }

    /// Pairs of a tile: the most that one primitive can give.
    pub fn pairs(&self) -> usize {
        self.edge * self.edge / 8
    }

    /// Number of the pair that holds a pixel: 8x8 blocks row-major, 4 rows of 2 pairs in each.
    #[inline(always)]
    pub fn pair_index(&self, x: usize, y: usize) -> usize {
        ((y >> 3) * (self.edge >> 3) + (x >> 3)) * 8 + (y & 6) + (x >> 2 & 1)
    }

    /// The tile's part of a rectangle of pixels, relative to the tile.
    #[inline(always)]
    pub fn local(&self, r: Rect) -> Rect {
        let edge = self.edge as i32;
        Rect {
            x0: r.x0.saturating_sub(self.x).max(0),
            y0: r.y0.saturating_sub(self.y).max(0),
            x1: r.x1.saturating_sub(self.x).min(edge),
            y1: r.y1.saturating_sub(self.y).min(edge),
        }
    }
}

/// Lanes of each column and row of a pair.
const COLUMNS: [u8; 4] = [0x05, 0x0a, 0x50, 0xa0];
const ROWS: [u8; 2] = [0x33, 0xcc];

/// Lanes of the pair at (x, y) that are inside of a rectangle.
#[inline]
pub(super) fn lanes_inside(r: &Rect, x: usize, y: usize) -> u8 {
    let (x, y) = (x as i32, y as i32);
    if x >= r.x0 && x + 4 <= r.x1 && y >= r.y0 && y + 2 <= r.y1 {
        return 0xff;
    }
    let mut columns = 0;
    for (i, lanes) in COLUMNS.iter().enumerate() {
        if x + i as i32 >= r.x0 && x + (i as i32) < r.x1 {
            columns |= lanes;
        }
    }
    let mut rows = 0;
    for (i, lanes) in ROWS.iter().enumerate() {
        if y + i as i32 >= r.y0 && y + (i as i32) < r.y1 {
            rows |= lanes;
        }
    }
    columns & rows
}

/// The lane of a pixel in its pair.
#[inline(always)]
pub(super) fn lane(x: usize, y: usize) -> usize {
    (x & 2) << 1 | (y & 1) << 1 | x & 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_numbered_block_by_block() {
        let t = TileArea::new(0, 0, 32);
        let mut seen = vec![0; t.pairs()];
        for y in (0..32).step_by(2) {
            for x in (0..32).step_by(4) {
                seen[t.pair_index(x, y)] += 1;
                assert_eq!(t.pair_index(x, y), t.pair_index(x + 3, y + 1));
            }
        }
        assert!(seen.iter().all(|&n| n == 1));
        assert_eq!(
            (
                t.pair_index(4, 0),
                t.pair_index(0, 2),
                t.pair_index(8, 0),
                t.pair_index(0, 8)
            ),
            (1, 2, 8, 32)
        );
    }

    /// R-RAST-150.
    #[test]
    fn lanes_are_those_of_the_context() {
        let c = quadrille_jit::abi::Context::new(8);
        for i in 0..8 {
            assert_eq!(lane(c.lane_x.0[i] as usize, c.lane_y.0[i] as usize), i);
        }
        let r = Rect {
            x0: 5,
            y0: 3,
            x1: 7,
            y1: 90,
        };
        assert_eq!(lanes_inside(&r, 4, 2), 1 << lane(1, 1) | 1 << lane(2, 1));
        assert_eq!(lanes_inside(&r, 8, 4), 0);
    }
}
