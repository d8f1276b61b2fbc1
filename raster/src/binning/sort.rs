//! Sorts a chunk's primitives into tiles, stably, touching only the tiles that occur.

use super::chunk::Grid;

/// A tile's primitives: `list[start..end]` of its chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bin {
    pub tile: u32,
    pub start: u32,
    pub end: u32,
}

/// Collects (tile, primitive) and sorts them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sorter {
    entries: Vec<(u32, u16)>,
    /// Entries of each tile, then where the next goes; zero between chunks.
    counts: Vec<u32>,
    touched: Vec<u32>,
}

impl Sorter {
    pub fn start(&mut self) {
        self.entries.clear();
    }

    #[inline(always)]
    pub fn push(&mut self, tile: u32, prim: u16) {
        self.entries.push((tile, prim));
    }

    /// Writes bins and list of what was pushed.
    pub fn finish(&mut self, grid: &Grid, bins: &mut Vec<Bin>, list: &mut Vec<u16>) {
        let tiles = grid.tiles();
        if self.counts.len() < tiles {
            self.counts.resize(tiles, 0);
        }
        self.touched.clear();
        for &(tile, _) in &self.entries {
            let count = &mut self.counts[tile as usize];
            if *count == 0 {
                self.touched.push(tile);
            }
            *count += 1;
        }
        let mut start = 0;
        for &tile in &self.touched {
            let count = &mut self.counts[tile as usize];
            let end = start + *count;
            bins.push(Bin { tile, start, end });
            *count = start;
            start = end;
        }
        list.resize(self.entries.len(), 0);
        for &(tile, prim) in &self.entries {
            let at = &mut self.counts[tile as usize];
            list[*at as usize] = prim;
            *at += 1;
        }
        for &tile in &self.touched {
            self.counts[tile as usize] = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sorting_is_stable_and_leaves_no_trace() {
        let grid = Grid {
            edge: 64,
            columns: 3,
            rows: 2,
            layers: 1,
            samples: 1,
        };
        let mut sorter = Sorter::default();
        for _ in 0..2 {
            sorter.start();
            for (tile, prim) in [(4, 0), (1, 0), (4, 1), (1, 2), (4, 3)] {
                sorter.push(tile, prim);
            }
            let (mut bins, mut list) = (Vec::new(), Vec::new());
            sorter.finish(&grid, &mut bins, &mut list);
            assert_eq!(
                bins,
                [
                    Bin {
                        tile: 4,
                        start: 0,
                        end: 3
                    },
                    Bin {
                        tile: 1,
                        start: 3,
                        end: 5
                    }
                ]
            );
            assert_eq!(list, [0, 1, 3, 0, 2]);
        }
    }
}
