//! Indices to distinct vertices and corners (law R3).
//!
//! If the range of a piece's indices is small it is shaded as it is; else each index gets a place when it first comes.

use crate::vertex::Primitives;
use rustc_hash::FxHashMap;
use std::ops::Range;

/// The vertices and corners of a group.
#[derive(Clone, Debug, Default)]
pub(crate) struct Collected {
    /// Vertex numbers, filled up to whole groups of 8 by [`pad`](Self::pad).
    pub vertices: Vec<u32>,
    /// Instance of each.
    pub instances: Vec<u32>,
    /// Vertices, padding not counted.
    pub len: usize,
    /// Positions in `vertices`: as many a primitive as its shape has corners.
    pub corners: Vec<u32>,
    /// Runs of primitives with consecutive indices: (number of the first, its primitive index).
    pub runs: Vec<(u32, u32)>,
}

impl Collected {
    pub fn clear(&mut self) {
        self.vertices.clear();
        self.instances.clear();
        self.corners.clear();
        self.runs.clear();
        self.len = 0;
    }

    /// Fills the last group of 8 with repeats.
    pub fn pad(&mut self) {
        self.len = self.vertices.len();
        let padded = self.len.next_multiple_of(8);
        if let (Some(&v), Some(&i)) = (self.vertices.last(), self.instances.last()) {
            self.vertices.resize(padded, v);
            self.instances.resize(padded, i);
        }
    }

    #[inline(always)]
    fn push(&mut self, vertex: u32, instance: u32) -> u32 {
        self.vertices.push(vertex);
        self.instances.push(instance);
        self.vertices.len() as u32 - 1
    }
}

/// Tables that a thread reuses.
#[derive(Clone, Debug, Default)]
pub(crate) struct Collector {
    /// Vertex number (from the range's start) to (stamp, position), valid where the stamp is the current one.
    seen: Vec<(u32, u32)>,
    stamp: u32,
    sparse: FxHashMap<u32, u32>,
}

/// Index ranges up to this use a table; sparser ones a hash map.
const TABLE: u32 = 1 << 18;

impl Collector {
    /// Adds an instance's primitives.
    pub fn add(&mut self, primitives: &Primitives<'_>, range: Range<u32>, instance: u32, out: &mut Collected) {
        if range.is_empty() {
            return;
        }
        let count = range.len() as u32;
        let k = primitives.shape.corners();
        let first_corner = out.corners.len();
        out.runs.push(((first_corner / k) as u32, range.start));
        primitives.vertices(range, &mut out.corners);
        let (mut low, mut high) = (u32::MAX, 0);
        for &v in &out.corners[first_corner..] {
            (low, high) = (low.min(v), high.max(v));
        }
        let span = high - low;
        if span < (2 * count + 6).min(k as u32 * count) {
            // Dense: shade the range as it is, if that is never more than a vertex a corner.
            let base = out.vertices.len() as u32;
            out.vertices.extend(low..=high);
            out.instances.resize(out.vertices.len(), instance);
            for v in &mut out.corners[first_corner..] {
                *v = *v - low + base;
            }
            return;
        }
        let mut corners = std::mem::take(&mut out.corners);
        if span < TABLE {
            self.stamp = self.stamp.wrapping_add(1);
            if self.stamp == 0 {
                self.seen.clear();
                self.stamp = 1;
            }
            if self.seen.len() <= span as usize {
                self.seen.resize(span as usize + 1, (0, 0));
            }
            for v in &mut corners[first_corner..] {
                let entry = &mut self.seen[(*v - low) as usize];
                if entry.0 != self.stamp {
                    *entry = (self.stamp, out.push(*v, instance));
                }
                *v = entry.1;
            }
        } else {
            self.sparse.clear();
            for v in &mut corners[first_corner..] {
                *v = *self.sparse.entry(*v).or_insert_with(|| out.push(*v, instance));
            }
        }
        out.corners = corners;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::{IndexFormat, PrimitiveState};

    /// Whatever the way, every corner finds its vertex, and no vertex of a range comes twice.
    #[test]
    fn corners_find_their_vertices() {
        for spread in [1, 7, 500, 40_000_000] {
            let indices: Vec<u32> = (0..300u32).map(|i| i * 7919 % 100 * spread + 5).collect();
            let bytes: Vec<u8> = indices.iter().flat_map(|i| i.to_le_bytes()).collect();
            let p = Primitives::new(
                &PrimitiveState::default(),
                Some((&bytes, IndexFormat::Uint32)),
                0,
                300,
                2,
            );
            let (mut collector, mut out) = (Collector::default(), Collected::default());
            collector.add(&p, 0..100, 3, &mut out);
            collector.add(&p, 10..20, 4, &mut out);
            out.pad();
            assert_eq!(out.vertices.len(), out.len.next_multiple_of(8));
            assert_eq!(out.runs, [(0, 0), (100, 10)]);
            let expected: Vec<u32> = indices.iter().chain(&indices[30..60]).map(|i| i + 2).collect();
            let got: Vec<u32> = out.corners.iter().map(|&c| out.vertices[c as usize]).collect();
            assert_eq!(got, expected, "{spread}");
            assert!(out.corners[..300].iter().all(|&c| out.instances[c as usize] == 3));
            assert!(out.corners[300..].iter().all(|&c| out.instances[c as usize] == 4));
            assert!(out.len <= 130);
        }
    }
}
