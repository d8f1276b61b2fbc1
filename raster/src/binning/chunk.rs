//! A chunk's contents, and how they come about.

use super::collect::{Collected, Collector};
use super::plan::Piece;
use super::prims::{GroupKey, Maker, MakerScratch};
use super::sort::{Bin, Sorter};
use crate::geometry::{ClipPlanes, DepthBias, Rect, ScreenVertex, ViewTransform};
use crate::pass::DrawCounters;
use crate::pipeline::{CoverageForm, LineMode, PointMode, ProvokingVertex, RenderPipeline};
use crate::tile::DepthRule;
use crate::vertex::{Primitives, Shape, VertexJob, VertexScratch, shade};
use quadrille_jit::Compiled;
use quadrille_jit::abi::Binding;

/// What consecutive draws share; one batch of the fragment program never crosses it.
pub(crate) struct DrawState<'a> {
    pub pipeline: &'a RenderPipeline,
    /// The fragment program; none if the draw does nothing to the tile.
    pub program: Option<&'a dyn Compiled>,
    /// Which counter the draws count into.
    pub counter: Option<u32>,
    pub bindings: Vec<Binding>,
    pub vertex_buffers: &'a [Option<&'a [u8]>],
    /// States of the draw's viewports: this one and those after it (R-RAST-22).
    pub viewports: u32,
    pub view: ViewTransform,
    pub planes: ClipPlanes,
    /// Pixels that may be written: target, viewport and scissor.
    pub rect: Rect,
    pub bias: Option<DepthBias>,
    /// How the depth test hides fragments, if it may (law R5).
    pub hides: Option<DepthRule>,
    pub writes_depth: bool,
    pub words: [u32; crate::layout::draw::WORDS],
}

/// A primitive that may cover something.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Prim {
    /// Vertices of the chunk; the first is the provoking one.
    pub v: [u16; 3],
    /// Bit 0: front-facing; above: the group.
    meta: u16,
    /// Primitive index in its draw.
    pub index: u32,
}

impl Prim {
    #[inline(always)]
    pub fn new(v: [u16; 3], group: usize, front: bool, index: u32) -> Prim {
        Prim {
            v,
            meta: (group as u16) << 1 | u16::from(front),
            index,
        }
    }

    /// Its group, hence state and attribute blocks.
    #[inline(always)]
    pub fn group(&self) -> usize {
        usize::from(self.meta >> 1)
    }

    #[inline(always)]
    pub fn front(&self) -> bool {
        self.meta & 1 != 0
    }
}

/// Vertices and primitives of equal state within a chunk.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Group {
    pub state: u32,
    pub shape: Shape,
    /// Edges of triangles (R-RAST-80).
    pub wire: bool,
    /// Whether tiles must look at the pipeline's extended state or at clip distances: then coverage comes from
    /// `tile::special` alone, and neither a triangle's bounds nor its whole blocks say what is covered.
    pub special: bool,
    pub first_vertex: u32,
    /// Where the blocks of the group's vertices are in [`Chunk::blocks`], `words` each.
    pub first_word: usize,
    pub words: usize,
}

impl Group {
    /// Address of a vertex' attribute block.
    #[inline(always)]
    pub fn block(&self, chunk: &Chunk, vertex: u16) -> *const u32 {
        let word = self.first_word + (u32::from(vertex) - self.first_vertex) as usize * self.words;
        chunk.blocks[word..].as_ptr()
    }

    /// A vertex' attribute block.
    pub fn words_of<'c>(&self, chunk: &'c Chunk, vertex: u16) -> &'c [u32] {
        let word = self.first_word + (u32::from(vertex) - self.first_vertex) as usize * self.words;
        &chunk.blocks[word..word + self.words]
    }
}

/// A chunk's results, kept until all its tiles have run; reused from pass to pass.
#[derive(Debug, Default)]
pub(crate) struct Chunk {
    /// Snapped vertices. Those that no primitive uses hold anything, as do their blocks.
    pub screen: Vec<ScreenVertex>,
    pub blocks: Vec<u32>,
    pub groups: Vec<Group>,
    pub prims: Vec<Prim>,
    /// Tiles that primitives touch.
    pub bins: Vec<Bin>,
    /// Primitives by tile, see `bins`.
    pub list: Vec<u16>,
    /// Primitives that came in.
    pub assembled: u64,
    /// Vertices shaded.
    pub shaded: u64,
    /// What groups of draws with a counter counted, by state.
    pub counted: Vec<(u32, DrawCounters)>,
    /// Vertices and words in use: the vectors are only ever grown.
    pub vertex_count: usize,
    pub word_count: usize,
}

impl Chunk {
    fn clear(&mut self) {
        self.groups.clear();
        self.prims.clear();
        self.bins.clear();
        self.list.clear();
        self.counted.clear();
        (self.assembled, self.shaded) = (0, 0);
        (self.vertex_count, self.word_count) = (0, 0);
    }

    /// Makes room for `vertices` more vertices with blocks of `words` words. What it holds is anything.
    pub(super) fn grow(&mut self, vertices: usize, words: usize) {
        self.vertex_count += vertices;
        self.word_count += vertices * words;
        if self.screen.len() < self.vertex_count {
            self.screen.resize(self.vertex_count, ScreenVertex::default());
        }
        // One word more: a block of no words still has an address inside.
        if self.blocks.len() <= self.word_count {
            self.blocks.resize(self.word_count + 1, 0);
        }
    }
}

/// Buffers that a thread reuses for all its chunks.
#[derive(Debug, Default)]
pub(crate) struct ChunkScratch {
    collector: Collector,
    collected: Collected,
    memory: VertexScratch,
    maker: MakerScratch,
    sorter: Sorter,
}

/// The tile grid of the target.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grid {
    /// Pixels of a tile's edge: a power of two.
    pub edge: u32,
    pub columns: u32,
    pub rows: u32,
    /// Layers of the attachments: tiles are numbered layer by layer.
    pub layers: u32,
    /// The most samples that any draw's rasterizer has.
    pub samples: u32,
}

impl Grid {
    /// Tiles of a layer.
    pub fn per_layer(&self) -> usize {
        self.columns as usize * self.rows as usize
    }

    /// Tiles of all layers.
    pub fn tiles(&self) -> usize {
        self.per_layer() * self.layers as usize
    }
}

/// A vertex program ran out of loop budget: the program's status and the state's number.
pub(crate) type VertexFailure = (u32, u32);

/// What chunks are built from.
#[derive(Clone, Copy)]
pub(crate) struct ChunkJob<'a, 'b> {
    /// Primitives of a draw, its state's number, its first instance.
    pub draws: &'b [(Primitives<'a>, u32, u32)],
    pub states: &'b [DrawState<'a>],
    pub grid: Grid,
    pub loop_budget: u32,
    pub cancel: *const u32,
}

// SAFETY: `cancel` is null or the address of an atomic that outlives the pass.
unsafe impl Sync for ChunkJob<'_, '_> {}

/// Fills `chunk` from its pieces (law I7 for the error).
pub(crate) fn build(
    pieces: &[Piece],
    job: &ChunkJob<'_, '_>,
    scratch: &mut ChunkScratch,
    chunk: &mut Chunk,
) -> Result<(), VertexFailure> {
    chunk.clear();
    scratch.sorter.start();
    let same = |a: &Piece, b: &Piece| job.draws[a.draw as usize].1 == job.draws[b.draw as usize].1;
    for pieces in pieces.chunk_by(same) {
        group(pieces, job, scratch, chunk)?;
    }
    scratch.sorter.finish(&job.grid, &mut chunk.bins, &mut chunk.list);
    Ok(())
}

/// Vertices that primitive assembly reads for a piece.
fn vertices_read(primitives: &Primitives<'_>, piece: &Piece) -> u64 {
    primitives.read(piece.first..piece.first + piece.count) * u64::from(piece.instances)
}

fn group(
    pieces: &[Piece],
    job: &ChunkJob<'_, '_>,
    scratch: &mut ChunkScratch,
    chunk: &mut Chunk,
) -> Result<(), VertexFailure> {
    let Some(first) = pieces.first() else { return Ok(()) };
    let (primitives, state_number, _) = &job.draws[first.draw as usize];
    let (shape, state_number) = (primitives.shape, *state_number);
    let state = &job.states[state_number as usize];
    let collected = &mut scratch.collected;
    collected.clear();
    for piece in pieces {
        let (primitives, _, first_instance) = &job.draws[piece.draw as usize];
        for instance in 0..piece.instances {
            let instance = first_instance.wrapping_add(piece.instance).wrapping_add(instance);
            scratch
                .collector
                .add(primitives, piece.first..piece.first + piece.count, instance, collected);
        }
    }
    collected.pad();
    let assembled = (collected.corners.len() / shape.corners()) as u64;
    chunk.assembled += assembled;
    chunk.shaded += collected.len as u64;
    let vertex_job = VertexJob {
        pipeline: state.pipeline,
        bindings: &state.bindings,
        buffers: state.vertex_buffers,
        loop_budget: job.loop_budget,
        cancel: job.cancel,
    };
    let cells = shade(
        &vertex_job,
        &collected.vertices,
        &collected.instances,
        &mut scratch.memory,
    )
    .map_err(|status| (status, state_number))?;
    let words = state.pipeline.varyings.len();
    let group = Group {
        state: state_number,
        shape,
        wire: false,
        special: special(state.pipeline, shape),
        first_vertex: chunk.vertex_count as u32,
        first_word: chunk.word_count,
        words,
    };
    chunk.groups.push(group);
    chunk.grow(collected.len, words);
    let views = state_number as usize..(state_number + state.viewports) as usize;
    let mut maker = Maker {
        state,
        views: &job.states[views],
        group,
        vertices: collected.len,
        groups: vec![(GroupKey::default(), chunk.groups.len() - 1)],
        cells,
        grid: &job.grid,
        chunk,
        sorter: &mut scratch.sorter,
        scratch: &mut scratch.maker,
        gained: 0,
    };
    maker.run(collected);
    let gained = maker.gained;
    if state.counter.is_some() {
        let sums = DrawCounters {
            vertices: pieces
                .iter()
                .map(|p| vertices_read(&job.draws[p.draw as usize].0, p))
                .sum(),
            primitives: assembled,
            vertex_invocations: collected.len as u64,
            clipper_invocations: assembled,
            clipper_primitives: assembled.saturating_add_signed(gained),
            ..DrawCounters::default()
        };
        chunk.counted.push((state_number, sums));
    }
    Ok(())
}

/// Whether tiles can't take a shape the common way.
pub(super) fn special(pipeline: &RenderPipeline, shape: Shape) -> bool {
    let extended = &pipeline.primitive.extended;
    pipeline.coverage != CoverageForm::Samples(pipeline.planes.samples)
        || match shape {
            Shape::Triangle => extended.conservative,
            Shape::Line => {
                extended.line_mode != LineMode::Aliased || extended.provoking_vertex == ProvokingVertex::Last
            }
            Shape::Point => extended.point_mode == PointMode::Square && pipeline.coverage.bytes() > 1,
        }
}
