//! Primitive assembly: which vertices primitive i of an instance has, by topology (R-RAST-130 to 133).
//!
//! A triangle's first corner is its provoking vertex; a triangle is rotated to make it so, which keeps its winding. A
//! line keeps its direction, since that decides which pixels it draws: if its last vertex is the provoking one, those who
//! need constants look there.

use crate::pipeline::{IndexFormat, PrimitiveState, PrimitiveTopology, ProvokingVertex};

/// What primitives are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    Point,
    Line,
    Triangle,
}

impl Shape {
    pub fn of(topology: PrimitiveTopology) -> Shape {
        use PrimitiveTopology::*;
        match topology {
            PointList => Shape::Point,
            LineList | LineStrip | LineListAdjacency | LineStripAdjacency => Shape::Line,
            TriangleList | TriangleStrip | TriangleFan | TriangleListAdjacency | TriangleStripAdjacency => {
                Shape::Triangle
            }
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

/// How positions of the draw group into primitives.
#[derive(Clone, Copy, Debug)]
struct Grouping {
    /// Positions from a primitive's start to the next one's.
    step: u32,
    /// Positions of a primitive, adjacent ones included.
    span: u32,
    /// Its corners, from its start; for fans the last is the strip's start.
    corners: [u32; 3],
    /// Odd triangles wind the other way (R-RAST-131).
    alternates: bool,
    fan: bool,
}

impl Grouping {
    fn of(topology: PrimitiveTopology) -> Grouping {
        use PrimitiveTopology::*;
        let (step, span, corners) = match topology {
            PointList => (1, 1, [0, 0, 0]),
            LineList => (2, 2, [0, 1, 1]),
            LineStrip => (1, 2, [0, 1, 1]),
            TriangleList => (3, 3, [0, 1, 2]),
            TriangleStrip => (1, 3, [0, 1, 2]),
            TriangleFan => (1, 3, [1, 2, 0]),
            LineListAdjacency => (4, 4, [1, 2, 2]),
            LineStripAdjacency => (1, 4, [1, 2, 2]),
            TriangleListAdjacency => (6, 6, [0, 2, 4]),
            TriangleStripAdjacency => (2, 6, [0, 2, 4]),
        };
        Grouping {
            step,
            span,
            corners,
            alternates: matches!(topology, TriangleStrip | TriangleStripAdjacency),
            fan: topology == TriangleFan,
        }
    }

    /// Primitives that so many positions make; incomplete ones are dropped (R-RAST-133).
    fn count(&self, positions: u32) -> u32 {
        match positions.checked_sub(self.span) {
            Some(rest) => rest / self.step + 1,
            None => 0,
        }
    }
}

/// Where a primitive starts, and where its strip does.
type Place = (u32, u32);

/// The primitives of one instance of a draw.
#[derive(Clone, Debug)]
pub(crate) struct Primitives<'a> {
    pub shape: Shape,
    grouping: Grouping,
    /// Corners are consecutive positions.
    plain: bool,
    last: bool,
    indices: Option<(&'a [u8], IndexFormat)>,
    first: u32,
    base_vertex: i32,
    /// Of every primitive, where restarts make them irregular.
    places: Option<Vec<Place>>,
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
        use PrimitiveTopology::*;
        let shape = Shape::of(state.topology);
        let grouping = Grouping::of(state.topology);
        let last = state.extended.provoking_vertex == ProvokingVertex::Last;
        let list = matches!(state.topology, PointList | LineList | TriangleList);
        let mut p = Primitives {
            shape,
            grouping,
            plain: list && !(last && shape == Shape::Triangle),
            last,
            indices,
            first,
            base_vertex,
            places: None,
            len: grouping.count(count),
        };
        let strip = !matches!(
            state.topology,
            PointList | LineList | TriangleList | LineListAdjacency | TriangleListAdjacency
        );
        let cut = match (indices, state.strip_index_format) {
            (Some((_, format)), _) if state.extended.restart => Some(format),
            (Some(_), Some(format)) if strip => Some(format),
            _ => None,
        };
        if let Some(format) = cut {
            p.restart(format, count);
        }
        p
    }

    /// Splits at the restart index; parity starts anew (R-RAST-133).
    fn restart(&mut self, format: IndexFormat, positions: u32) {
        let cut = match format {
            IndexFormat::Uint16 => 0xffff,
            IndexFormat::Uint32 => u32::MAX,
        };
        let mut places = Vec::new();
        let mut start = 0;
        let mut any = false;
        for i in 0..=positions {
            if i < positions && self.index(i) != cut {
                continue;
            }
            any |= i < positions;
            let primitives = self.grouping.count(i - start);
            places.extend((0..primitives).map(|p| (start + p * self.grouping.step, start)));
            start = i + 1;
        }
        if any {
            self.len = places.len() as u32;
            self.places = Some(places);
            self.plain = false;
        }
    }

    /// Number of primitives.
    pub fn len(&self) -> u32 {
        self.len
    }

    /// Vertices that a range of primitives reads, adjacent ones included: of strips each once, the first ones with the
    /// first primitive.
    pub fn read(&self, primitives: std::ops::Range<u32>) -> u64 {
        let (n, g) = (primitives.len() as u64, &self.grouping);
        let head = if primitives.start == 0 && n > 0 {
            g.span - g.step
        } else {
            0
        };
        n * u64::from(g.step) + u64::from(head)
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
        if !self.plain {
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
        let (at, origin) = match &self.places {
            Some(places) => places.get(p as usize).copied().unwrap_or((0, 0)),
            None => (p * self.grouping.step, 0),
        };
        let g = &self.grouping;
        let mut positions = g.corners.map(|c| at + c);
        if g.fan {
            positions[2] = origin;
        }
        // What counts is the vertex' place in the primitive, not in the winding: the last of an odd triangle of a strip
        // is the one that it adds to the strip.
        let mut lead = if g.fan { 1 } else { 2 };
        if g.alternates && (at - origin) / g.step % 2 == 1 {
            // R-RAST-131: odd triangles are (i, i+2, i+1), so that all face the same way.
            positions.swap(1, 2);
            lead = 1;
        }
        if self.last && self.shape == Shape::Triangle {
            positions.rotate_left(lead);
        }
        positions.map(|i| self.vertex(i))
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

    fn all(p: &Primitives<'_>) -> Vec<[u32; 3]> {
        (0..p.len()).map(|i| p.corners(i)).collect()
    }

    #[test]
    fn r_rast_131_strips_keep_their_winding() {
        let p = Primitives::new(&state(PrimitiveTopology::TriangleStrip), None, 10, 5, 0);
        assert_eq!(all(&p), [[10, 11, 12], [11, 13, 12], [12, 13, 14]]);
    }

    /// Fans and adjacency as Vulkan and Direct3D have them; leading vertices are the first that aren't adjacent.
    #[test]
    fn r_rast_130_fans_and_adjacency() {
        use PrimitiveTopology::*;
        let corners = |topology, count| all(&Primitives::new(&state(topology), None, 0, count, 0));
        assert_eq!(corners(TriangleFan, 5), [[1, 2, 0], [2, 3, 0], [3, 4, 0]]);
        assert_eq!(corners(LineListAdjacency, 9), [[1, 2, 2], [5, 6, 6]]);
        assert_eq!(corners(LineStripAdjacency, 5), [[1, 2, 2], [2, 3, 3]]);
        assert_eq!(corners(TriangleListAdjacency, 12), [[0, 2, 4], [6, 8, 10]]);
        assert_eq!(corners(TriangleStripAdjacency, 10), [[0, 2, 4], [2, 6, 4], [4, 6, 8]]);
        assert_eq!(corners(TriangleStripAdjacency, 5), [[0; 3]; 0]);
    }

    /// The last vertex that a primitive adds provokes it; the winding stays.
    #[test]
    fn r_rast_130_provoking_vertex_last() {
        use PrimitiveTopology::*;
        let corners = |topology, count| {
            let mut s = state(topology);
            s.extended.provoking_vertex = ProvokingVertex::Last;
            let p = Primitives::new(&s, None, 0, count, 0);
            let (k, mut flat) = (p.shape.corners(), Vec::new());
            p.vertices(0..p.len(), &mut flat);
            let corners = all(&p);
            assert_eq!(flat, corners.iter().flat_map(|c| c[..k].to_vec()).collect::<Vec<_>>());
            corners
        };
        assert_eq!(corners(TriangleList, 6), [[2, 0, 1], [5, 3, 4]]);
        assert_eq!(corners(TriangleStrip, 5), [[2, 0, 1], [3, 2, 1], [4, 2, 3]]);
        assert_eq!(corners(TriangleFan, 4), [[2, 0, 1], [3, 0, 2]]);
        assert_eq!(corners(LineList, 2), [[0, 1, 1]]);
    }

    #[test]
    fn r_rast_133_restart_cuts_strips_and_drops_incomplete_ones() {
        let bytes = |indices: &[u16]| -> Vec<u8> { indices.iter().flat_map(|i| i.to_le_bytes()).collect() };
        let indices = bytes(&[0, 1, 2, 3, 0xffff, 4, 5, 0xffff, 6, 7, 8]);
        let mut s = state(PrimitiveTopology::TriangleStrip);
        s.strip_index_format = Some(IndexFormat::Uint16);
        let p = Primitives::new(&s, Some((&indices, IndexFormat::Uint16)), 0, 11, 100);
        assert_eq!(all(&p), [[100, 101, 102], [101, 103, 102], [106, 107, 108]]);
        s.topology = PrimitiveTopology::TriangleFan;
        let p = Primitives::new(&s, Some((&indices, IndexFormat::Uint16)), 0, 11, 0);
        assert_eq!(all(&p), [[1, 2, 0], [2, 3, 0], [7, 8, 6]]);
        // Lists are cut under Direct3D's rules only.
        let indices = bytes(&[0, 1, 0xffff, 3, 4, 5, 6, 0xffff, 7, 8, 9]);
        s.topology = PrimitiveTopology::TriangleList;
        let p = Primitives::new(&s, Some((&indices, IndexFormat::Uint16)), 0, 11, 0);
        assert_eq!(all(&p), [[0, 1, 0xffff], [3, 4, 5], [6, 0xffff, 7]]);
        s.extended.restart = true;
        let p = Primitives::new(&s, Some((&indices, IndexFormat::Uint16)), 0, 11, 0);
        assert_eq!(all(&p), [[3, 4, 5], [7, 8, 9]]);
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
        assert_eq!(all(&p), [[7, 8, 0], [0, 0, 0]]);
        let mut flat = Vec::new();
        p.vertices(0..2, &mut flat);
        assert_eq!(flat, [7, 8, 0, 0, 0, 0]);
    }

    #[test]
    fn vertices_of_a_range_are_the_corners() {
        let bytes: Vec<u8> = (0..60u16).flat_map(|i| (i * 31 % 60).to_le_bytes()).collect();
        for &topology in PrimitiveTopology::ALL {
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
