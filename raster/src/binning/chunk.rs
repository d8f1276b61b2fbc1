//! Builds a chunk: shades the vertices of its pieces, makes primitives, bins them.

use super::plan::Piece;
use crate::geometry::{
    ClipPlanes, Clipped, DepthBias, Rect, ScreenVertex, ViewTransform, clip_line, clip_triangle, code, sample_extent,
};
use crate::pipeline::{CullMode, FrontFace, RenderPipeline};
use crate::vertex::{Primitives, Shaded, Shape, VertexIds, VertexScratch, shade};
use quadrille_frontend::ir::Interpolation;
use quadrille_jit::abi::Binding;
use rustc_hash::FxHashMap;

/// What consecutive draws share; one batch of the fragment program never crosses it.
#[derive(Debug)]
pub(crate) struct DrawState<'a> {
    pub pipeline: &'a RenderPipeline,
    pub bindings: Vec<Binding>,
    pub vertex_buffers: &'a [Option<&'a [u8]>],
    pub view: ViewTransform,
    pub planes: ClipPlanes,
    /// Pixels that may be written: target, viewport and scissor.
    pub rect: Rect,
    pub bias: Option<DepthBias>,
    pub words: [u32; crate::layout::draw::WORDS],
}

/// A primitive that may cover something.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Prim {
    /// Vertices of the chunk; the first is the provoking one.
    pub v: [u32; 3],
    /// The group, hence state and attribute blocks.
    pub group: u32,
    /// Primitive index in its draw.
    pub index: u32,
    pub shape: Shape,
    pub front: bool,
}

/// Vertices and primitives of equal state within a chunk.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Group {
    pub state: u32,
    pub first_vertex: u32,
    pub first_word: usize,
    pub words: usize,
}

/// A chunk's results, kept until all its tiles have run; reused from pass to pass.
#[derive(Debug, Default)]
pub(crate) struct Chunk {
    pub screen: Vec<ScreenVertex>,
    pub blocks: Vec<u32>,
    pub groups: Vec<Group>,
    pub prims: Vec<Prim>,
    /// Primitives of tile t: `list[starts[t]..starts[t + 1]]`.
    pub starts: Vec<u32>,
    pub list: Vec<u32>,
    /// Primitives that came in.
    pub assembled: u64,
}

impl Chunk {
    /// Primitives that touch a tile, in order.
    #[inline]
    pub fn bin(&self, tile: usize) -> &[u32] {
        match (self.starts.get(tile), self.starts.get(tile + 1)) {
            (Some(&a), Some(&b)) => &self.list[a as usize..b as usize],
            _ => &[],
        }
    }

    fn clear(&mut self) {
        self.screen.clear();
        self.blocks.clear();
        self.groups.clear();
        self.prims.clear();
        self.starts.clear();
        self.list.clear();
        self.assembled = 0;
    }
}

/// Buffers that a thread reuses for all its chunks.
#[derive(Debug, Default)]
pub(crate) struct ChunkScratch {
    ids: VertexIds,
    memory: VertexScratch,
    shaded: Shaded,
    screen: Vec<ScreenVertex>,
    codes: Vec<u16>,
    corners: Vec<[u32; 3]>,
    indices: Vec<u32>,
    /// Vertex number to slot in `ids`, valid where the stamp is the current one.
    seen: Vec<(u32, u32)>,
    stamp: u32,
    sparse: FxHashMap<u32, u32>,
    tiles: Vec<(u32, u32)>,
}

/// The tile grid of the target.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grid {
    pub edge: i32,
    pub columns: i32,
    pub rows: i32,
    pub samples: u32,
}

/// Index ranges up to this use a table; sparser ones a hash map.
const TABLE: u32 = 1 << 18;

/// Fills `chunk` from its pieces. An error is a vertex program's status and the state's number (law I7).
pub(crate) fn build<'a>(
    pieces: &[Piece],
    draws: &[(Primitives<'a>, u32, u32)],
    states: &[DrawState<'a>],
    grid: Grid,
    loop_budget: u32,
    scratch: &mut ChunkScratch,
    chunk: &mut Chunk,
) -> Result<(), (u32, u32)> {
    chunk.clear();
    let mut at = 0;
    while at < pieces.len() {
        let state = draws[pieces[at].draw as usize].1;
        let end = pieces[at..]
            .iter()
            .position(|p| draws[p.draw as usize].1 != state)
            .map_or(pieces.len(), |n| at + n);
        group(
            &pieces[at..end],
            draws,
            state,
            states,
            grid,
            loop_budget,
            scratch,
            chunk,
        )
        .map_err(|s| (s, state))?;
        at = end;
    }
    bin(chunk, states, grid, scratch);
    Ok(())
}

#[expect(clippy::too_many_arguments, reason = "one step of build, with its state")]
fn group<'a>(
    pieces: &[Piece],
    draws: &[(Primitives<'a>, u32, u32)],
    number: u32,
    states: &[DrawState<'a>],
    grid: Grid,
    loop_budget: u32,
    scratch: &mut ChunkScratch,
    chunk: &mut Chunk,
) -> Result<(), u32> {
    let state = &states[number as usize];
    scratch.ids.clear();
    scratch.corners.clear();
    scratch.indices.clear();
    for piece in pieces {
        let (primitives, _, first_instance) = &draws[piece.draw as usize];
        for instance in piece.instance..piece.instance + piece.instances {
            collect(primitives, piece, first_instance.wrapping_add(instance), scratch);
        }
    }
    chunk.assembled += scratch.corners.len() as u64;
    let shape = pieces
        .first()
        .map_or(Shape::Triangle, |p| draws[p.draw as usize].0.shape);
    shade(
        state.pipeline,
        &state.bindings,
        state.vertex_buffers,
        &scratch.ids,
        loop_budget,
        &mut scratch.memory,
        &mut scratch.shaded,
    )?;
    let positions = &scratch.shaded.positions;
    state.view.groups(
        positions.len(),
        |g| positions[g],
        &mut scratch.screen,
        &mut scratch.codes,
    );
    let group = Group {
        state: number,
        first_vertex: chunk.screen.len() as u32,
        first_word: chunk.blocks.len(),
        words: state.pipeline.varyings.len(),
    };
    let group_index = chunk.groups.len() as u32;
    chunk.groups.push(group);
    chunk.screen.extend_from_slice(&scratch.screen);
    chunk.blocks.extend_from_slice(&scratch.shaded.blocks);
    let mut maker = Maker {
        state,
        group,
        group_index,
        grid,
        shape,
        shaded: &scratch.shaded,
        chunk,
    };
    for (&corners, &index) in scratch.corners.iter().zip(&scratch.indices) {
        let codes = corners.map(|v| scratch.codes[v as usize]);
        let (any, all) = (codes[0] | codes[1] | codes[2], codes[0] & codes[1] & codes[2]);
        if all & code::REJECT != 0 || any & code::NAN != 0 {
            continue;
        }
        if any & code::CLIP == 0 {
            maker.push(corners.map(|v| v + group.first_vertex), index);
        } else {
            maker.clip(corners, index, any & code::CLIP);
        }
    }
    Ok(())
}

/// Adds an instance's primitives: their vertices, each once, and their corners.
fn collect(primitives: &Primitives<'_>, piece: &Piece, instance: u32, s: &mut ChunkScratch) {
    let first = s.corners.len();
    let used = primitives.shape.corners();
    let (mut low, mut high) = (u32::MAX, 0);
    for p in piece.first..piece.first + piece.count {
        let corners = primitives.corners(p);
        for &v in &corners[..used] {
            low = low.min(v);
            high = high.max(v);
        }
        s.corners.push(corners);
        s.indices.push(p);
    }
    if piece.count == 0 {
        return;
    }
    let range = high - low;
    let corners = &mut s.corners[first..];
    if range < 2 * piece.count + 6 {
        // Dense: shade the range as it is (law R3).
        let base = s.ids.len as u32;
        for v in low..=high {
            s.ids.push(v, instance);
        }
        for c in corners {
            *c = c.map(|v| v - low + base);
        }
    } else if range < TABLE {
        s.stamp = s.stamp.wrapping_add(1);
        if s.stamp == 0 {
            s.seen.clear();
            s.stamp = 1;
        }
        let (stamp, ids) = (s.stamp, &mut s.ids);
        if s.seen.len() <= range as usize {
            s.seen.resize(range as usize + 1, (0, 0));
        }
        for c in corners {
            *c = c.map(|v| {
                let entry = &mut s.seen[(v - low) as usize];
                if entry.0 != stamp {
                    *entry = (stamp, ids.push(v, instance));
                }
                entry.1
            });
        }
    } else {
        s.sparse.clear();
        let (sparse, ids) = (&mut s.sparse, &mut s.ids);
        for c in corners {
            *c = c.map(|v| *sparse.entry(v).or_insert_with(|| ids.push(v, instance)));
        }
    }
}

/// Makes the primitives of a group.
struct Maker<'a, 'b> {
    state: &'a DrawState<'a>,
    group: Group,
    group_index: u32,
    grid: Grid,
    shape: Shape,
    shaded: &'a Shaded,
    chunk: &'b mut Chunk,
}

/// Twice the signed area in 1/256 pixels; positive is clockwise on screen (R-RAST-40).
pub(crate) fn area(v: &[ScreenVertex; 3]) -> i64 {
    i64::from(v[1].x - v[0].x) * i64::from(v[2].y - v[0].y) - i64::from(v[2].x - v[0].x) * i64::from(v[1].y - v[0].y)
}

impl Maker<'_, '_> {
    fn vertices(&self, v: [u32; 3]) -> [ScreenVertex; 3] {
        v.map(|i| self.chunk.screen[i as usize])
    }

    fn is_front(&self, area: i64) -> bool {
        match self.state.pipeline.primitive.front_face {
            FrontFace::Ccw => area < 0,
            FrontFace::Cw => area > 0,
        }
    }

    fn is_culled(&self, front: bool) -> bool {
        match self.state.pipeline.primitive.cull_mode {
            CullMode::None => false,
            CullMode::Front => front,
            CullMode::Back => !front,
        }
    }

    fn push(&mut self, v: [u32; 3], index: u32) {
        let front = if self.shape == Shape::Triangle {
            let area = area(&self.vertices(v));
            // R-RAST-34: nothing to cover.
            if area == 0 {
                return;
            }
            let front = self.is_front(area);
            if self.is_culled(front) {
                return;
            }
            front
        } else {
            true
        };
        self.push_facing(v, index, front);
    }

    fn push_facing(&mut self, v: [u32; 3], index: u32, front: bool) {
        if bounds(&self.vertices(v), self.shape, self.grid.samples)
            .intersect(self.state.rect)
            .is_empty()
        {
            return;
        }
        self.chunk.prims.push(Prim {
            v,
            group: self.group_index,
            index,
            shape: self.shape,
            front,
        });
    }

    fn clip(&mut self, corners: [u32; 3], index: u32, planes: u16) {
        let position = |v: u32| {
            let g = &self.shaded.positions[v as usize / 8];
            std::array::from_fn(|k| g[k][v as usize % 8])
        };
        let p = corners.map(position);
        match self.shape {
            // A point is in or out by its centre (R-RAST-62).
            Shape::Point => {
                if planes & !(code::GUARD_LEFT | code::GUARD_RIGHT | code::GUARD_BELOW | code::GUARD_ABOVE) == 0 {
                    self.push(corners.map(|v| v + self.group.first_vertex), index);
                }
            }
            Shape::Line => {
                let c = clip_line(&self.state.planes, &[p[0], p[1]], planes);
                let v = self.place(&c, corners);
                if let [a, b] = v[..] {
                    self.push_facing([a, b, b], index, true);
                }
            }
            Shape::Triangle => {
                let mut c = clip_triangle(&self.state.planes, &p, planes);
                if let Some(first) = c.polygon().iter().position(|&i| i == 0) {
                    c.rotate(first);
                }
                let v = self.place(&c, corners);
                let fan: Vec<[u32; 3]> = (1..v.len().saturating_sub(1)).map(|i| [v[0], v[i], v[i + 1]]).collect();
                // R-RAST-17: facing is the whole's, not a splinter's.
                let total: i64 = fan.iter().map(|&t| area(&self.vertices(t))).sum();
                let front = self.is_front(total);
                if total == 0 || self.is_culled(front) {
                    return;
                }
                for t in fan {
                    let part = area(&self.vertices(t));
                    if part != 0 && (part > 0) == (total > 0) {
                        self.push_facing(t, index, front);
                    }
                }
            }
        }
    }

    /// Chunk vertices of a clipped polygon's corners. New points get blocks of their own, and so does a first corner
    /// that isn't the provoking vertex but must carry its constants (R-RAST-16).
    fn place(&mut self, c: &Clipped, corners: [u32; 3]) -> Vec<u32> {
        let words = self.group.words;
        let varyings = &self.state.pipeline.varyings;
        let block = |chunk: &Chunk, v: u32| {
            let start = self.group.first_word + v as usize * words;
            chunk.blocks[start..start + words].to_vec()
        };
        let originals = corners.map(|v| v + self.group.first_vertex);
        let given = self.shape.corners();
        let mut blocks: Vec<Vec<u32>> = corners[..given].iter().map(|&v| block(self.chunk, v)).collect();
        for mix in c.mixes().iter().skip(given) {
            let (from, to) = (&blocks[mix.from as usize], &blocks[mix.to as usize]);
            let mixed = (0..words)
                .map(|k| {
                    let (a, b) = (f32::from_bits(from[k]), f32::from_bits(to[k]));
                    match varyings[k].interpolation {
                        Interpolation::Perspective => (a + mix.t * (b - a)).to_bits(),
                        Interpolation::Linear => (a + mix.screen_t * (b - a)).to_bits(),
                        Interpolation::Flat => blocks[0][k],
                    }
                })
                .collect();
            blocks.push(mixed);
        }
        let flat = varyings.iter().any(|v| v.interpolation == Interpolation::Flat);
        let mut placed = Vec::with_capacity(c.polygon().len());
        for (n, &i) in c.polygon().iter().enumerate() {
            let i = i as usize;
            let stands_in = n == 0 && i != 0 && flat;
            if i < given && !stands_in {
                placed.push(originals[i]);
                continue;
            }
            let mut words = blocks[i].clone();
            for (k, word) in words.iter_mut().enumerate() {
                if varyings[k].interpolation == Interpolation::Flat {
                    *word = blocks[0][k];
                }
            }
            placed.push(self.chunk.screen.len() as u32);
            self.chunk.screen.push(self.state.view.vertex(c.points()[i]));
            self.chunk.blocks.extend_from_slice(&words);
        }
        placed
    }
}

/// Pixels whose samples a primitive may cover.
pub(crate) fn bounds(v: &[ScreenVertex; 3], shape: Shape, samples: u32) -> Rect {
    let (mut low, mut high) = sample_extent(samples);
    let (mut x0, mut x1) = (v[0].x.min(v[1].x).min(v[2].x), v[0].x.max(v[1].x).max(v[2].x));
    let (mut y0, mut y1) = (v[0].y.min(v[1].y).min(v[2].y), v[0].y.max(v[1].y).max(v[2].y));
    if shape != Shape::Triangle {
        // Half a pixel around; lines and points cover whole pixels.
        (low, high) = (128, 128);
        (x0, y0, x1, y1) = (x0 - 128, y0 - 128, x1 + 128, y1 + 128);
    }
    // The first pixel whose last sample isn't left of x0, and the last whose first sample isn't right of x1.
    Rect {
        x0: (x0 - high + 255) >> 8,
        y0: (y0 - high + 255) >> 8,
        x1: ((x1 - low) >> 8) + 1,
        y1: ((y1 - low) >> 8) + 1,
    }
}

/// Sorts primitives into tiles, keeping their order.
fn bin(chunk: &mut Chunk, states: &[DrawState<'_>], grid: Grid, scratch: &mut ChunkScratch) {
    let tiles = (grid.columns * grid.rows) as usize;
    let pairs = &mut scratch.tiles;
    pairs.clear();
    for (number, prim) in chunk.prims.iter().enumerate() {
        let v = prim.v.map(|i| chunk.screen[i as usize]);
        let rect = states[chunk.groups[prim.group as usize].state as usize].rect;
        let b = bounds(&v, prim.shape, grid.samples).intersect(rect);
        let (tx0, tx1) = (b.x0 / grid.edge, (b.x1 - 1) / grid.edge);
        let (ty0, ty1) = (b.y0 / grid.edge, (b.y1 - 1) / grid.edge);
        let many = prim.shape == Shape::Triangle && (tx1 > tx0 || ty1 > ty0);
        let edges = many.then(|| TileReject::new(&v, grid.edge));
        for ty in ty0..=ty1 {
            for tx in tx0..=tx1 {
                if edges.as_ref().is_none_or(|e| e.touches(tx, ty)) {
                    pairs.push(((ty * grid.columns + tx) as u32, number as u32));
                }
            }
        }
    }
    chunk.starts.resize(tiles + 1, 0);
    for &(tile, _) in pairs.iter() {
        chunk.starts[tile as usize + 1] += 1;
    }
    for t in 0..tiles {
        chunk.starts[t + 1] += chunk.starts[t];
    }
    chunk.list.resize(pairs.len(), 0);
    // Filling moves every start to its end; they are moved back after.
    for &(tile, number) in pairs.iter() {
        let at = &mut chunk.starts[tile as usize];
        chunk.list[*at as usize] = number;
        *at += 1;
    }
    for t in (1..=tiles).rev() {
        chunk.starts[t] = chunk.starts[t - 1];
    }
    if let Some(first) = chunk.starts.first_mut() {
        *first = 0;
    }
}

/// Rejects tiles that lie outside one edge of a triangle.
struct TileReject {
    /// a*x + b*y + c >= 0 inside, at the tile corner that is farthest inside; in units of tiles.
    edges: [[i64; 3]; 3],
}

impl TileReject {
    fn new(v: &[ScreenVertex; 3], edge: i32) -> TileReject {
        let mut v = *v;
        if area(&v) < 0 {
            v.swap(1, 2);
        }
        let step = i64::from(edge) * 256;
        let edges = std::array::from_fn(|i| {
            let (p, q) = (v[i], v[(i + 1) % 3]);
            // R-RAST-32: e(P) = (bx-ax)(py-ay) - (by-ay)(px-ax).
            let (dx, dy) = (i64::from(q.x - p.x), i64::from(q.y - p.y));
            let c = -dx * i64::from(p.y) + dy * i64::from(p.x);
            let corner = (if dy < 0 { -dy * step } else { 0 }) + (if dx > 0 { dx * step } else { 0 });
            [-dy * step, dx * step, c + corner]
        });
        TileReject { edges }
    }

    fn touches(&self, tx: i32, ty: i32) -> bool {
        self.edges
            .iter()
            .all(|[a, b, c]| a * i64::from(tx) + b * i64::from(ty) + c >= 0)
    }
}
