//! A tile: coverage to runs of pairs, and the fragment program over them (laws L3, R1, R2).
//!
//! ```text
//! lists.rs: chunks' bins of the tile ─► raster.rs, lines.rs, special.rs: pairs of each primitive
//!     ─► batch.rs: records and runs of one state ─► program ─► tile memory
//! ```
//!
//! A batch ends where the state changes or its arrays are full; primitives are in submission order throughout.

mod batch;
mod hidden;
mod lanes;
mod lines;
mod lists;
mod pairs;
mod polygon;
mod raster;
mod smooth;
mod special;
#[cfg(test)]
mod union_tests;

pub(crate) use hidden::DepthRule;
pub(crate) use lines::{line_bounds, point_bounds};
pub(crate) use lists::TileLists;
pub(crate) use polygon::{conservative_bounds, rectangle_bounds, square_bounds};
pub(crate) use raster::bounds;
pub(crate) use smooth::bounds as smooth_bounds;

use crate::binning::{Chunk, DrawState, Group, Prim, area};
use crate::geometry::{Gradients, PrimRecord, Rect, ScreenVertex};
use crate::layout::PlaneLayout;
use crate::pass::DrawCounters;
use crate::pipeline::ProvokingVertex;
use crate::vertex::Shape;
use batch::{Batch, BatchPair};
use hidden::{Bounds, blocks_of};
use lanes::Lanes;
use pairs::TileArea;
use quadrille_jit::abi::{Cell, Pair, WidePair};

/// Evaluates an expression that is generic over [`Lanes`] at the machine's level. All that it calls must be
/// `#[inline(always)]` as far as it touches lanes.
macro_rules! at_best_level {
    ($lanes:ident => $call:expr) => {
        match crate::dispatch::level() {
            crate::dispatch::Level::Baseline => {
                type $lanes = $crate::tile::lanes::Portable;
                $call
            }
            #[cfg(target_arch = "x86_64")]
            crate::dispatch::Level::Avx2 => crate::dispatch::wide(
                #[inline(always)]
                || {
                    type $lanes = $crate::tile::lanes::Avx2;
                    $call
                },
            ),
        }
    };
}
pub(crate) use at_best_level;

/// What a thread reuses for all its tiles.
#[derive(Debug, Default)]
pub(crate) struct TileWorker {
    pub memory: Vec<Cell>,
    batch: Batch,
    bounds: Bounds,
    pub stats: TileStats,
}

/// What tiles counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TileStats {
    pub runs: u64,
    pub pairs: u64,
    /// By counter; empty if no draw has one.
    pub counters: Vec<DrawCounters>,
}

/// A program ran out of loop budget: the state's number and the program's status.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OutOfBudget {
    pub state: u32,
    pub status: u32,
}

/// What all tiles of a pass share.
#[derive(Clone, Copy)]
pub(crate) struct TileJob<'a> {
    pub chunks: &'a [Chunk],
    pub lists: &'a TileLists,
    pub states: &'a [DrawState<'a>],
    pub planes: &'a PlaneLayout,
    pub loop_budget: u32,
    pub cancel: *const u32,
}

// SAFETY: `cancel` is null or the address of an atomic that outlives the pass.
unsafe impl Sync for TileJob<'_> {}

impl TileWorker {
    /// Replays all chunks over tile (tx, ty), number `index`, in the memory already loaded.
    pub fn run(&mut self, job: &TileJob<'_>, tx: u32, ty: u32, index: usize) -> Result<(), OutOfBudget> {
        let edge = job.planes.tile_edge;
        let tile = TileArea::new((tx * edge) as i32, (ty * edge) as i32, edge);
        self.bounds.start();
        match job.planes.samples {
            1 => at_best_level!(L => self.replay::<Pair, 1, L>(job, &tile, index)),
            2 => at_best_level!(L => self.replay::<Pair, 2, L>(job, &tile, index)),
            4 => at_best_level!(L => self.replay::<Pair, 4, L>(job, &tile, index)),
            8 => at_best_level!(L => self.replay::<WidePair, 8, L>(job, &tile, index)),
            _ => at_best_level!(L => self.replay::<WidePair, 16, L>(job, &tile, index)),
        }
    }

    #[inline(always)]
    fn replay<P: BatchPair, const N: usize, L: Lanes>(
        &mut self,
        job: &TileJob<'_>,
        tile: &TileArea,
        index: usize,
    ) -> Result<(), OutOfBudget> {
        self.batch.start::<P>(*tile);
        if job.states.iter().any(|s| s.pipeline.coverage.bytes() != N as u32) {
            self.batch.reserve::<Pair>(tile);
            self.batch.reserve::<WidePair>(tile);
        }
        let mut state_number = u32::MAX;
        let mut place = (Rect::EMPTY, Rect::EMPTY);
        for span in job.lists.of(index) {
            let chunk = &job.chunks[span.chunk as usize];
            let mut group_number = usize::MAX;
            let mut group = None;
            for &number in &chunk.list[span.start as usize..span.end as usize] {
                let prim = &chunk.prims[usize::from(number)];
                if prim.group() != group_number {
                    group_number = prim.group();
                    let g = &chunk.groups[group_number];
                    if g.state != state_number {
                        self.flush(job, state_number)?;
                        state_number = g.state;
                    }
                    let state = &job.states[state_number as usize];
                    group = state.program.is_some().then_some((g, state));
                }
                let Some((group, state)) = group else { continue };
                let v = prim.v.map(|i| chunk.screen[usize::from(i)]);
                if state.pipeline.coverage.bytes() != N as u32 {
                    if state.writes_depth && self.bounds.any() {
                        self.bounds.written(state.hides.as_ref(), u64::MAX);
                    }
                    if special::push(&mut self.batch, tile, chunk, group, state, prim) {
                        self.flush(job, state_number)?;
                    }
                    continue;
                }
                let mut made = None;
                let known = self.bounds.any();
                let (mut touched, mut skip) = (u64::MAX, 0);
                if group.shape == Shape::Triangle && !group.special {
                    let all = raster::bounds(&v, N as u32);
                    let inside = raster::inside(tile, all, &state.rect);
                    if inside.is_empty() {
                        continue;
                    }
                    if known {
                        touched = blocks_of(tile, &inside);
                    }
                    if L::FUSED
                        && known
                        && let Some(rule) = &state.hides
                        && self.bounds.worth(rule, &v, touched)
                    {
                        let record = made.insert(prim_record(state, group, chunk, prim, &v));
                        skip = self.bounds.hidden::<N>(rule, record, tile, touched);
                        touched &= !skip;
                        if touched == 0 {
                            continue;
                        }
                    }
                    place = (all, inside);
                }
                let out = self.batch.free_pairs::<P>();
                let (count, full) = match group.shape {
                    _ if group.special => {
                        let blocks = prim.v.map(|i| group.words_of(chunk, i));
                        (special::cover::<_, N>(tile, group, state, &v, blocks, out), 0)
                    }
                    Shape::Triangle => {
                        let (all, inside) = place;
                        raster::triangle::<_, N, L>(tile, &v, all, &state.rect, inside, skip, out)
                    }
                    Shape::Line => (lines::line::<_, N>(tile, &[v[0], v[1]], &state.rect, out), 0),
                    Shape::Point => (lines::point::<_, N>(tile, &v[0], &state.rect, out), 0),
                };
                if count == 0 {
                    continue;
                }
                let record = match made {
                    Some(record) => record,
                    None => prim_record(state, group, chunk, prim, &v),
                };
                if state.writes_depth {
                    if known {
                        self.bounds.written(state.hides.as_ref(), touched);
                    }
                    if full != 0
                        && L::FUSED
                        && let Some(rule) = &state.hides
                    {
                        self.bounds.covered::<N>(rule, &record, tile, full);
                    }
                }
                if self.batch.push::<P>(record, count) {
                    self.flush(job, state_number)?;
                }
            }
        }
        self.flush(job, state_number)
    }

    /// Runs the fragment program over what is waiting.
    #[inline(never)]
    fn flush(&mut self, job: &TileJob<'_>, number: u32) -> Result<(), OutOfBudget> {
        if self.batch.is_empty() {
            return Ok(());
        }
        let state = &job.states[number as usize];
        let (runs, pairs) = self.batch.counts();
        self.stats.runs += runs as u64;
        self.stats.pairs += pairs as u64;
        match self.batch.run(job, state, &mut self.memory, &mut self.stats.counters) {
            0 => Ok(()),
            status => Err(OutOfBudget { state: number, status }),
        }
    }
}

#[inline(always)]
fn prim_record(state: &DrawState<'_>, group: &Group, chunk: &Chunk, prim: &Prim, v: &[ScreenVertex; 3]) -> PrimRecord {
    let mut blocks = [std::ptr::null(); 3];
    for i in 0..3 {
        blocks[i] = group.block(chunk, prim.v[i]);
    }
    record(state, group, v, blocks, prim.front(), prim.index)
}

/// The primitive's record: gradients, depth plane and bias (R-RAST-70 to 75: triangles only).
#[inline(always)]
fn record(
    state: &DrawState<'_>,
    group: &Group,
    v: &[ScreenVertex; 3],
    blocks: [*const u32; 3],
    front: bool,
    index: u32,
) -> PrimRecord {
    match group.shape {
        Shape::Triangle => {
            let area = area(v);
            if group.special && area == 0 {
                // R-RAST-122: vertex 0's values.
                return Gradients::CONSTANT.record(v, None, blocks, front, index);
            }
            let gradients = Gradients::triangle(v, area);
            let bias = bias(state, v, &gradients);
            gradients.record(v, bias, blocks, front, index)
        }
        Shape::Line => line_record(state, group, v, blocks, front, index),
        Shape::Point => Gradients::CONSTANT.record(v, None, blocks, true, index),
    }
}

/// The depth bias of a triangle.
#[inline(always)]
fn bias(state: &DrawState<'_>, v: &[ScreenVertex; 3], gradients: &Gradients) -> Option<f32> {
    state.bias.as_ref().map(|bias| {
        let z = [v[0].z, v[1].z, v[2].z];
        let [x, y] = gradients.depth(z);
        let largest = z[0].abs().max(z[1].abs()).max(z[2].abs());
        bias.value(largest, x.abs().max(y.abs()))
    })
}

/// A line's record; an edge of a triangle has the triangle's facing and bias (R-RAST-42, R-RAST-75).
#[inline(never)]
fn line_record(
    state: &DrawState<'_>,
    group: &Group,
    v: &[ScreenVertex; 3],
    blocks: [*const u32; 3],
    front: bool,
    index: u32,
) -> PrimRecord {
    let bias = match area(v) {
        area if group.wire && area != 0 => bias(state, v, &Gradients::triangle(v, area)),
        _ => None,
    };
    // Constants are vertex 0's: the line is turned round if its last vertex is the provoking one.
    let last = state.pipeline.primitive.extended.provoking_vertex == ProvokingVertex::Last;
    let (v, blocks) = match last && !group.wire {
        true => ([v[1], v[0], v[0]], [blocks[1], blocks[0], blocks[0]]),
        false => ([v[0], v[1], v[1]], [blocks[0], blocks[1], blocks[1]]),
    };
    Gradients::line(&[v[0], v[1]]).record(&v, bias, blocks, front, index)
}
