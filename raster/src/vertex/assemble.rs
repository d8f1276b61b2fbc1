//! Primitive assembly: which vertices primitive i of an instance has, by topology (R-RAST-130 to 133).

use crate::pipeline::{IndexFormat, PrimitiveState, PrimitiveTopology};
use std::borrow::Cow;

/// What primitives are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    Point,
    Line,
    Triangle,
}

impl Shape {
    pub fn of(topology: PrimitiveTopology) -> Shape {
        match topology {
            PrimitiveTopology::PointList => Shape::Point,
            PrimitiveTopology::LineList | PrimitiveTopology::LineStrip => Shape::Line,
            PrimitiveTopology::TriangleList | PrimitiveTopology::TriangleStrip => Shape::Triangle,
        }
    }

    pub fn corners(self) -> usize {
        match self {
            Shape::Point => 1,
            Shape::Line => 2,
            Shape::Triangle => 3,
        }
    }
}

/// The primitives of one instance of a draw. The first corner of each is its provoking vertex.
#[derive(Clone, Debug)]
pub(crate) struct Primitives<'a> {
    pub shape: Shape,
    topology: PrimitiveTopology,
    indices: Option<(&'a [u8], IndexFormat)>,
    first: u32,
    count: u32,
    base_vertex: i32,
    /// First position of each strip's primitive, where restarts make it irregular: (position, odd).
    strip: Option<Cow<'a, [(u32, bool)]>>,
    len: u32,
}

impl<'a> Primitives<'a> {
    pub fn new(
        state: &PrimitiveState,
        indices: Option<(&'a [u8], IndexFormat)>,
        first: u32,
        count: u32,
        base_vertex: i32,
    ) -> Primitives<'a> {
        let shape = Shape::of(state.topology);
        let mut p = Primitives {
            shape,
            topology: state.topology,
            indices,
            first,
            count,
            base_vertex,
            strip: None,
            len: match state.topology {
                PrimitiveTopology::PointList => count,
                PrimitiveTopology::LineList => count / 2,
                PrimitiveTopology::TriangleList => count / 3,
                PrimitiveTopology::LineStrip => count.saturating_sub(1),
                PrimitiveTopology::TriangleStrip => count.saturating_sub(2),
            },
        };
        let strip = matches!(
            state.topology,
            PrimitiveTopology::LineStrip | PrimitiveTopology::TriangleStrip
        );
        if let (true, Some(format), Some(_)) = (strip, state.strip_index_format, indices) {
            p.cut_strips(format, shape.corners() as u32);
        }
        p
    }

    /// Splits at the restart index; a strip's parity starts anew (R-RAST-133).
    fn cut_strips(&mut self, format: IndexFormat, corners: u32) {
        let cut = match format {
            IndexFormat::Uint16 => 0xffff,
            IndexFormat::Uint32 => u32::MAX,
        };
        let mut list = Vec::new();
        let mut start = 0;
        let mut any = false;
        for i in 0..=self.count {
            if i < self.count && self.index(i) != cut {
                continue;
            }
            any |= i < self.count;
            for p in start..i.saturating_sub(corners - 1).max(start) {
                list.push((p, (p - start) % 2 == 1));
            }
            start = i + 1;
        }
        if any {
            self.len = list.len() as u32;
            self.strip = Some(Cow::Owned(list));
        }
    }

    /// Number of primitives.
    pub fn len(&self) -> u32 {
        self.len
    }

    /// The index at position i of the draw; 0 outside of the buffer.
    #[inline(always)]
    fn index(&self, i: u32) -> u32 {
        let at = u64::from(self.first) + u64::from(i);
        match self.indices {
            None => at as u32,
            Some((bytes, IndexFormat::Uint16)) => {
                let at = at as usize * 2;
                bytes
                    .get(at..at + 2)
                    .map_or(0, |b| u16::from_le_bytes([b[0], b[1]]).into())
            }
            Some((bytes, IndexFormat::Uint32)) => {
                let at = at as usize * 4;
                bytes
                    .get(at..at + 4)
                    .map_or(0, |b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
            }
        }
    }

    /// The vertex at position i.
    #[inline(always)]
    fn vertex(&self, i: u32) -> u32 {
        let index = self.index(i);
        if self.indices.is_some() {
            index.wrapping_add_signed(self.base_vertex)
        } else {
            index
        }
    }

    /// Appends the vertices of some primitives, as many each as the shape has corners.
    pub fn vertices(&self, primitives: std::ops::Range<u32>, out: &mut Vec<u32>) {
        let k = self.shape.corners();
        let list = matches!(
            self.topology,
            PrimitiveTopology::PointList | PrimitiveTopology::LineList | PrimitiveTopology::TriangleList
        );
        if !list {
            for p in primitives {
                out.extend_from_slice(&self.corners(p)[..k]);
            }
            return;
        }
        // Lists read consecutive positions.
        let n = primitives.len() * k;
        let start = self.first as usize + primitives.start as usize * k;
        let base = |v: u32| v.wrapping_add_signed(self.base_vertex);
        match self.indices {
            None => out.extend((start..start + n).map(|i| i as u32)),
            Some((bytes, IndexFormat::Uint16)) if start + n <= bytes.len() / 2 => {
                let (words, _) = bytes[start * 2..(start + n) * 2].as_chunks::<2>();
                out.extend(words.iter().map(|&w| base(u16::from_le_bytes(w).into())));
            }
            Some((bytes, IndexFormat::Uint32)) if start + n <= bytes.len() / 4 => {
                let (words, _) = bytes[start * 4..(start + n) * 4].as_chunks::<4>();
                out.extend(words.iter().map(|&w| base(u32::from_le_bytes(w))));
            }
            Some(_) => {
                for p in primitives {
                    out.extend_from_slice(&self.corners(p)[..k]);
                }
            }
        }
    }

    /// Vertices of primitive p; corners beyond the shape's repeat the last.
    #[inline(always)]
    pub fn corners(&self, p: u32) -> [u32; 3] {
        match self.topology {
            PrimitiveTopology::PointList => [self.vertex(p); 3],
            PrimitiveTopology::LineList => {
                let b = self.vertex(2 * p + 1);
                [self.vertex(2 * p), b, b]
            }
            PrimitiveTopology::TriangleList => [self.vertex(3 * p), self.vertex(3 * p + 1), self.vertex(3 * p + 2)],
            PrimitiveTopology::LineStrip => {
                let at = self.strip_place(p).0;
                let b = self.vertex(at + 1);
                [self.vertex(at), b, b]
            }
            PrimitiveTopology::TriangleStrip => {
                let (at, odd) = self.strip_place(p);
                let (a, b, c) = (self.vertex(at), self.vertex(at + 1), self.vertex(at + 2));
                // R-RAST-131: odd triangles are (i, i+2, i+1), so that all face the same way.
                if odd { [a, c, b] } else { [a, b, c] }
            }
        }
    }

    #[inline(always)]
    fn strip_place(&self, p: u32) -> (u32, bool) {
        match &self.strip {
            Some(list) => list.get(p as usize).copied().unwrap_or((0, false)),
            None => (p, p % 2 == 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(topology: PrimitiveTopology) -> PrimitiveState {
        PrimitiveState {
            topology,
            ..PrimitiveState::default()
        }
    }

    #[test]
    fn r_rast_131_strips_keep_their_winding() {
        let p = Primitives::new(&state(PrimitiveTopology::TriangleStrip), None, 10, 5, 0);
        assert_eq!(p.len(), 3);
        assert_eq!(
            [p.corners(0), p.corners(1), p.corners(2)],
            [[10, 11, 12], [11, 13, 12], [12, 13, 14]]
        );
    }

    #[test]
    fn r_rast_133_restart_cuts_strips_and_drops_incomplete_ones() {
        let indices: Vec<u8> = [0u16, 1, 2, 3, 0xffff, 4, 5, 0xffff, 6, 7, 8]
            .iter()
            .flat_map(|i| i.to_le_bytes())
            .collect();
        let mut s = state(PrimitiveTopology::TriangleStrip);
        s.strip_index_format = Some(IndexFormat::Uint16);
        let p = Primitives::new(&s, Some((&indices, IndexFormat::Uint16)), 0, 11, 100);
        let all: Vec<_> = (0..p.len()).map(|i| p.corners(i)).collect();
        assert_eq!(all, [[100, 101, 102], [101, 103, 102], [106, 107, 108]]);
    }

    #[test]
    fn indices_outside_the_buffer_read_zero() {
        let p = Primitives::new(
            &state(PrimitiveTopology::TriangleList),
            Some((&[7, 0, 8, 0], IndexFormat::Uint16)),
            0,
            6,
            0,
        );
        assert_eq!([p.corners(0), p.corners(1)], [[7, 8, 0], [0, 0, 0]]);
        let mut all = Vec::new();
        p.vertices(0..2, &mut all);
        assert_eq!(all, [7, 8, 0, 0, 0, 0]);
    }

    #[test]
    fn vertices_of_a_range_are_the_corners() {
        let bytes: Vec<u8> = (0..60u16).flat_map(|i| (i * 31 % 60).to_le_bytes()).collect();
        for topology in [
            PrimitiveTopology::PointList,
            PrimitiveTopology::LineList,
            PrimitiveTopology::LineStrip,
            PrimitiveTopology::TriangleList,
            PrimitiveTopology::TriangleStrip,
        ] {
            for indices in [
                None,
                Some((&bytes[..], IndexFormat::Uint16)),
                Some((&bytes[..], IndexFormat::Uint32)),
            ] {
                let p = Primitives::new(&state(topology), indices, 3, 20, -2);
                let k = p.shape.corners();
                let mut all = Vec::new();
                p.vertices(1..p.len(), &mut all);
                let expected: Vec<u32> = (1..p.len()).flat_map(|i| p.corners(i)[..k].to_vec()).collect();
                assert_eq!(all, expected);
            }
        }
    }
}
