//! Which parts of which chunks' lists belong to a tile, in submission order.

use crate::binning::Chunk;

/// A tile's primitives in a chunk: a range of the chunk's list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Span {
    pub chunk: u32,
    pub start: u32,
    pub end: u32,
}

/// The spans of all tiles.
#[derive(Debug, Default)]
pub(crate) struct TileLists {
    starts: Vec<u32>,
    spans: Vec<Span>,
}

impl TileLists {
    /// Gathers the chunks' bins.
    pub fn fill(&mut self, chunks: &[Chunk], tiles: usize) {
        self.starts.clear();
        self.starts.resize(tiles + 1, 0);
        let bins = |chunk: &Chunk| -> usize { chunk.bins.len() };
        for chunk in chunks {
            for bin in &chunk.bins {
                self.starts[bin.tile as usize + 1] += 1;
            }
        }
        for t in 0..tiles {
            self.starts[t + 1] += self.starts[t];
        }
        self.spans.clear();
        self.spans.resize(chunks.iter().map(bins).sum(), Span::default());
        // Filling moves every start to its end, which is the next tile's start; the shift after puts them back.
        for (number, chunk) in chunks.iter().enumerate() {
            for bin in &chunk.bins {
                let at = &mut self.starts[bin.tile as usize];
                self.spans[*at as usize] = Span {
                    chunk: number as u32,
                    start: bin.start,
                    end: bin.end,
                };
                *at += 1;
            }
        }
        self.starts.copy_within(..tiles, 1);
        self.starts[0] = 0;
    }

    /// A tile's spans.
    #[inline]
    pub fn of(&self, tile: usize) -> &[Span] {
        &self.spans[self.starts[tile] as usize..self.starts[tile + 1] as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::binning::Bin;

    #[test]
    fn spans_come_in_chunk_order() {
        let chunk = |bins: &[(u32, u32, u32)]| Chunk {
            bins: bins
                .iter()
                .map(|&(tile, start, end)| Bin { tile, start, end })
                .collect(),
            ..Chunk::default()
        };
        let chunks = [
            chunk(&[(0, 0, 2), (3, 2, 5)]),
            chunk(&[]),
            chunk(&[(2, 0, 1), (3, 1, 2)]),
        ];
        let mut lists = TileLists::default();
        for _ in 0..2 {
            lists.fill(&chunks, 5);
            let span = |chunk, start, end| Span { chunk, start, end };
            assert_eq!(lists.of(0), [span(0, 0, 2)]);
            assert_eq!(lists.of(1), []);
            assert_eq!(lists.of(2), [span(2, 0, 1)]);
            assert_eq!(lists.of(3), [span(0, 2, 5), span(2, 1, 2)]);
            assert_eq!(lists.of(4), []);
        }
    }
}
