//! A tile: coverage to runs of pairs, and the fragment program over them (laws L3, R1, R2).
//!
//! ```text
//! chunks' bins ─► cover.rs: pairs of each primitive ─► batch: runs of one state ─► program ─► tile memory
//! ```
//!
//! A batch ends where the state changes or its arrays are full; primitives are in submission order throughout.

mod cover;
mod simd;

use crate::binning::{Chunk, DrawState, Prim, bounds};
use crate::geometry::{Gradients, PrimRecord, ScreenVertex};
use crate::layout::PlaneLayout;
use crate::vertex::Shape;
use cover::{Cover, TileRect};
use quadrille_jit::abi::{Cell, Context, Pair, Run};

/// Primitives of a batch, at most.
const MAX_RUNS: usize = 2048;
/// Pairs of a batch after which it runs.
const MANY_PAIRS: usize = 8192;

/// What a thread reuses for all its tiles.
#[derive(Debug, Default)]
pub(crate) struct TileWorker {
    pub memory: Vec<Cell>,
    scratch: Vec<Cell>,
    records: Vec<PrimRecord>,
    pairs: Vec<Pair>,
    /// First pair and number of pairs of each record.
    spans: Vec<(u32, u32)>,
    runs: Vec<Run>,
    pub stats: TileStats,
}

// SAFETY: `runs` holds addresses of the worker's own vectors, rebuilt before every use.
unsafe impl Send for TileWorker {}

/// What tiles counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TileStats {
    pub runs: u64,
    pub pairs: u64,
}

/// A program ran out of loop budget: the state's number and the program's status.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OutOfBudget {
    pub state: u32,
    pub status: u32,
}

/// What all tiles of a pass share.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TileJob<'a> {
    pub chunks: &'a [Chunk],
    pub states: &'a [DrawState<'a>],
    pub planes: &'a PlaneLayout,
    pub offsets: &'a [[i32; 2]],
    pub loop_budget: u32,
    pub cancel: *const u32,
}

// SAFETY: `cancel` is null or the address of an atomic that outlives the pass.
unsafe impl Sync for TileJob<'_> {}

impl TileWorker {
    /// Replays all chunks over tile (tx, ty), number `index`, in the memory already loaded.
    pub fn run(&mut self, job: &TileJob<'_>, tx: u32, ty: u32, index: usize) -> Result<(), OutOfBudget> {
        let edge = job.planes.tile_edge as i32;
        let tile = TileRect {
            x: tx as i32 * edge,
            y: ty as i32 * edge,
            edge,
        };
        let mut state = u32::MAX;
        for chunk in job.chunks {
            for &number in chunk.bin(index) {
                let prim = &chunk.prims[number as usize];
                let group = &chunk.groups[prim.group as usize];
                if group.state != state {
                    self.flush(job, state, tile)?;
                    state = group.state;
                }
                let s = &job.states[state as usize];
                if s.pipeline.fragment.is_none() {
                    continue;
                }
                let v = prim.v.map(|i| chunk.screen[i as usize]);
                let pixels = bounds(&v, prim.shape, job.planes.samples).intersect(s.rect);
                let first = self.pairs.len();
                Cover {
                    tile,
                    rect: s.rect,
                    offsets: job.offsets,
                }
                .primitive(prim.shape, &v, pixels, &mut self.pairs);
                let count = self.pairs.len() - first;
                if count == 0 {
                    continue;
                }
                let blocks = prim.v.map(|i| {
                    let word = group.first_word + (i - group.first_vertex) as usize * group.words;
                    chunk.blocks[word..].as_ptr()
                });
                self.records.push(record(s, prim, &v, blocks));
                self.spans.push((first as u32, count as u32));
                if self.records.len() >= MAX_RUNS || self.pairs.len() >= MANY_PAIRS {
                    self.flush(job, state, tile)?;
                }
            }
        }
        self.flush(job, state, tile)
    }

    /// Runs the fragment program over what is waiting.
    fn flush(&mut self, job: &TileJob<'_>, number: u32, tile: TileRect) -> Result<(), OutOfBudget> {
        if self.records.is_empty() {
            return Ok(());
        }
        let state = &job.states[number as usize];
        if let Some(program) = &state.pipeline.fragment {
            let pairs = self.pairs.as_ptr();
            self.runs.clear();
            self.runs.extend(
                self.records
                    .iter()
                    .zip(&self.spans)
                    .map(|(record, &(first, count))| Run {
                        prim: std::ptr::from_ref(record).cast(),
                        pairs: pairs.wrapping_add(first as usize),
                        count,
                        reserved: 0,
                    }),
            );
            self.scratch
                .resize(program.scratch_cells().max(self.scratch.len()), Cell::default());
            self.stats.runs += self.runs.len() as u64;
            self.stats.pairs += self.pairs.len() as u64;
            let mut context = Context::new(program.stats().lanes);
            context.runs = self.runs.as_ptr();
            context.count = self.runs.len() as u32;
            context.bindings = state.bindings.as_ptr();
            context.draw = state.words.as_ptr();
            context.tile = self.memory.as_mut_ptr().cast();
            context.tile_x = tile.x as u32;
            context.tile_y = tile.y as u32;
            context.scratch = self.scratch.as_mut_ptr();
            context.loop_budget = job.loop_budget;
            context.cancel = job.cancel;
            // SAFETY: runs, pairs, records and blocks are the vectors above and the chunks', which nothing changes
            // meanwhile; tile memory has the planes of the pass, which `execute` has checked against the pipeline's;
            // the bindings are the pipeline's slots, whose resources the pass borrows.
            unsafe { program.run(&mut context) };
            if context.status != 0 {
                return Err(OutOfBudget {
                    state: number,
                    status: context.status,
                });
            }
        }
        self.records.clear();
        self.pairs.clear();
        self.spans.clear();
        Ok(())
    }
}

/// The primitive's record: gradients, depth plane and bias (R-RAST-70 to 75: triangles only).
fn record(state: &DrawState<'_>, prim: &Prim, v: &[ScreenVertex; 3], blocks: [*const u32; 3]) -> PrimRecord {
    match prim.shape {
        Shape::Triangle => {
            let gradients = Gradients::triangle(v, crate::binning::area(v));
            let bias = state.bias.as_ref().map(|bias| {
                let z = [v[0].z, v[1].z, v[2].z];
                let [x, y] = gradients.depth(z);
                let largest = z[0].abs().max(z[1].abs()).max(z[2].abs());
                bias.value(largest, x.abs().max(y.abs()))
            });
            gradients.record(v, bias, blocks, prim.front, prim.index)
        }
        Shape::Line => Gradients::line(&[v[0], v[1]]).record(v, None, blocks, true, prim.index),
        Shape::Point => Gradients::CONSTANT.record(v, None, blocks, true, prim.index),
    }
}
