//! What one call of a fragment program works on: records, pairs, and the runs that name them.
//!
//! The arrays never move while a batch is filled, so that runs can hold their addresses from the start.

use super::TileJob;
use super::pairs::{PairWord, TileArea};
use crate::binning::DrawState;
use crate::geometry::PrimRecord;
use crate::pass::DrawCounters;
use crate::pass::counters::count;
use quadrille_jit::abi::{Cell, Context, Pair, Run, WidePair};

/// Primitives of a batch, at most: small enough for records and pairs to stay in the nearest cache.
const MAX_RUNS: usize = 256;
/// Pairs of a batch after which it runs.
const MANY_PAIRS: usize = 2048;

/// A batch under construction.
#[derive(Debug, Default)]
pub(super) struct Batch {
    records: Vec<PrimRecord>,
    runs: Vec<Run>,
    pairs: Vec<Pair>,
    /// In their place with 8 or 16 samples.
    wide_pairs: Vec<WidePair>,
    pair_count: usize,
    scratch: Vec<Cell>,
    tile: Option<TileArea>,
}

// SAFETY: `runs` holds addresses of the batch's own vectors, and is empty whenever the batch changes threads.
unsafe impl Send for Batch {}

/// Pairs as programs of some sample count take them.
pub(super) trait BatchPair: PairWord {
    /// The batch's pairs of this kind.
    fn of(batch: &mut Batch) -> &mut Vec<Self>;
}

impl BatchPair for Pair {
    #[inline(always)]
    fn of(batch: &mut Batch) -> &mut Vec<Pair> {
        &mut batch.pairs
    }
}

impl BatchPair for WidePair {
    #[inline(always)]
    fn of(batch: &mut Batch) -> &mut Vec<WidePair> {
        &mut batch.wide_pairs
    }
}

impl Batch {
    /// Empties the batch for a tile.
    pub fn start<P: BatchPair>(&mut self, tile: TileArea) {
        self.runs.clear();
        self.records.clear();
        self.records.reserve_exact(MAX_RUNS);
        self.pair_count = 0;
        self.tile = Some(tile);
        self.reserve::<P>(&tile);
    }

    /// Makes room for pairs of a kind, before the first comes.
    pub fn reserve<P: BatchPair>(&mut self, tile: &TileArea) {
        let room = MANY_PAIRS + tile.pairs();
        let pairs = P::of(self);
        if pairs.len() < room {
            pairs.resize(room, P::default());
        }
    }

    /// Where the next primitive's pairs go; there is room for a whole tile's.
    #[inline(always)]
    pub fn free_pairs<P: BatchPair>(&mut self) -> &mut [P] {
        let first = self.pair_count;
        &mut P::of(self)[first..]
    }

    /// Adds a primitive with the first `count` free pairs. True if the batch must run now.
    #[inline(always)]
    pub fn push<P: BatchPair>(&mut self, record: PrimRecord, count: usize) -> bool {
        self.records.push(record);
        let prim = self.records.as_ptr().wrapping_add(self.records.len() - 1).cast();
        let first = self.pair_count;
        let pairs = P::of(self)[first..].as_ptr().cast();
        self.runs.push(Run {
            prim,
            pairs,
            count: count as u32,
            reserved: 0,
        });
        self.pair_count += count;
        self.records.len() == MAX_RUNS || self.pair_count >= MANY_PAIRS
    }

    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Runs and pairs waiting.
    pub fn counts(&self) -> (usize, usize) {
        (self.runs.len(), self.pair_count)
    }

    /// Runs the state's fragment program over the batch and empties it. Gives the program's status.
    pub fn run(
        &mut self,
        job: &TileJob<'_>,
        state: &DrawState<'_>,
        memory: &mut [Cell],
        counters: &mut Vec<DrawCounters>,
    ) -> u32 {
        let mut status = 0;
        let cells = (job.planes.plane_count() * job.planes.plane_stride()) as usize / size_of::<Cell>();
        if let (Some(program), Some(tile)) = (state.program, self.tile) {
            assert!(memory.len() >= cells, "tile memory holds all planes");
            if self.scratch.len() < program.scratch_cells() {
                self.scratch.resize(program.scratch_cells(), Cell::default());
            }
            let mut context = Context::new(program.stats().lanes);
            context.runs = self.runs.as_ptr();
            context.count = self.runs.len() as u32;
            context.bindings = state.bindings.as_ptr();
            context.draw = state.words.as_ptr();
            context.tile = memory.as_mut_ptr().cast();
            context.tile_x = tile.x as u32;
            context.tile_y = tile.y as u32;
            context.scratch = self.scratch.as_mut_ptr();
            context.loop_budget = job.loop_budget;
            context.cancel = job.cancel;
            context.tag = state.counter.unwrap_or(0);
            // SAFETY: runs name records and pairs (wide ones if the pass has more than 4 samples) of the vectors above, which have not moved since (`records` has its
            // full capacity, `pairs` its length, from `start` on), and blocks of the chunks, which nothing changes
            // meanwhile; tile memory has the planes of the pass, asserted above, which `execute` has checked against
            // the pipeline's; the bindings are the pipeline's slots, whose resources the pass borrows.
            unsafe { program.run(&mut context) };
            status = context.status;
            if state.counter.is_some() {
                let sums = DrawCounters {
                    samples_passed: context.samples_passed,
                    fragment_invocations: context.invocations,
                    ..DrawCounters::default()
                };
                count(counters, state.counter, &sums);
            }
        }
        self.records.clear();
        self.runs.clear();
        self.pair_count = 0;
        status
    }
}
