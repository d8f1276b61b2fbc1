//! Executes a pass: plan, chunks, tiles.

use super::counters::{DrawCounters, count};
use super::target::Attachments;
use super::{BoundResource, Draw, Pass};
use crate::binning::{CHUNK, Chunk, ChunkJob, ChunkScratch, DrawState, Grid, Piece, build, plan};
use crate::format::Kind;
use crate::geometry::{BiasFormat, ClipPlanes, DepthBias, Rect, ViewTransform, Viewport};
use crate::layout::draw as words;
use crate::pipeline::{DepthStencilState, Form, PipelineError, RenderPipeline};
use crate::pool::{Pool, Worker, WorkerPanic};
use crate::sampler::{ReadGuard, SampledView, StoreGuard};
use crate::texture::TextureError;
use crate::tile::{DepthRule, OutOfBudget, TileJob, TileLists, TileStats, TileWorker};
use crate::vertex::Primitives;
use quadrille_jit::abi::Binding;
use quadrille_jit::order::Writes;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How a pass runs.
#[derive(Clone, Copy, Debug)]
pub struct PassOptions<'a> {
    /// Iterations an invocation may spend in loops of unknown length (law I7).
    pub loop_budget: u32,
    /// Set to non-zero by anyone to end the pass early.
    pub cancel: Option<&'a AtomicU32>,
    /// Bytes that chunks may take before tiles run (law R4).
    pub bin_budget: usize,
    /// Primitives of a chunk, 1 to 4096. Vertices that chunks share are shaded in each of them; else it changes nothing.
    pub chunk_primitives: u32,
    /// Whether depths already drawn hide whole blocks of what comes after (law R5). Changes no result.
    pub hierarchical_depth: bool,
    /// Draws with a counter run programs that show what they do ([`Note`](crate::pipeline::Note)), under the counter's number as
    /// [`Context::tag`](quadrille_jit::abi::Context::tag). Only the interpreter has them.
    pub traced: bool,
}

impl Default for PassOptions<'_> {
    fn default() -> Self {
        PassOptions {
            loop_budget: 1 << 22,
            cancel: None,
            bin_budget: 256 << 20,
            chunk_primitives: CHUNK,
            hierarchical_depth: true,
            traced: false,
        }
    }
}

/// Why a pass failed. The attachments' contents are then undefined.
#[derive(Clone, Debug, thiserror::Error)]
pub enum PassError {
    /// Attachments that don't go together or can't be used.
    #[error("pass '{label}': {reason}")]
    Attachments {
        /// The pass.
        label: String,
        /// What is wrong.
        reason: String,
    },
    /// A pipeline made for other attachments.
    #[error("pass '{label}': pipeline '{pipeline}' was made for other attachment formats or sample counts")]
    Pipeline {
        /// The pass.
        label: String,
        /// The pipeline.
        pipeline: String,
    },
    /// A form of a pipeline's program that the pass needs can't be compiled.
    #[error("pass '{label}': {error}")]
    Compile {
        /// The pass.
        label: String,
        /// Why.
        error: PipelineError,
    },
    /// A loop ran longer than the budget (law I7).
    #[error(
        "pass '{label}': pipeline '{pipeline}': {stage} shader: the loop at {place} ran over {budget} iterations; raise the loop budget if that is meant"
    )]
    LoopBudget {
        /// The pass.
        label: String,
        /// The pipeline.
        pipeline: String,
        /// "vertex" or "fragment".
        stage: &'static str,
        /// Source name, line and column.
        place: String,
        /// The budget.
        budget: u32,
    },
    /// Ended by the cancel flag.
    #[error("pass '{label}' was cancelled")]
    Cancelled {
        /// The pass.
        label: String,
    },
    /// A bug.
    #[error("pass '{label}': {panic}")]
    Panic {
        /// The pass.
        label: String,
        /// What happened.
        panic: WorkerPanic,
    },
}

/// What a pass did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PassStats {
    /// Primitives assembled.
    pub primitives: u64,
    /// Primitives left after clipping and culling.
    pub drawn: u64,
    /// Primitive-tile runs that covered something.
    pub runs: u64,
    /// Pairs of quads handed to fragment programs.
    pub pairs: u64,
    /// Vertex, geometry and binning.
    pub geometry: Duration,
    /// Tiles.
    pub tiles: Duration,
    /// Rounds (law R4).
    pub rounds: u32,
    /// Sums by [`Draw::counter`]; as many as there are up to the highest that counted anything.
    pub counters: Vec<DrawCounters>,
}

/// What passes reuse: kept by the pool's owner between passes and frames.
#[derive(Debug, Default)]
pub struct PassMemory {
    chunks: Mutex<Vec<Chunk>>,
    scratch: Mutex<Vec<ChunkScratch>>,
    tiles: Mutex<Vec<TileWorker>>,
    lists: Mutex<Vec<TileLists>>,
}

impl PassMemory {
    fn take<T: Default>(list: &Mutex<Vec<T>>) -> T {
        list.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop()
            .unwrap_or_default()
    }

    fn give<T>(list: &Mutex<Vec<T>>, item: T) {
        list.lock().unwrap_or_else(PoisonError::into_inner).push(item);
    }
}

/// Runs a pass to its end.
///
/// # Errors
/// [`PassError`]; attachments are undefined then.
pub fn execute(
    pool: &Pool,
    memory: &PassMemory,
    pass: &Pass<'_>,
    options: &PassOptions<'_>,
) -> Result<PassStats, PassError> {
    let label = || pass.label.to_string();
    let _reading = guards(pass).map_err(|e| PassError::Attachments {
        label: label(),
        reason: e.to_string(),
    })?;
    let attachments = Attachments::new(pass).map_err(|e| PassError::Attachments {
        label: label(),
        reason: e.to_string(),
    })?;
    for draw in &pass.draws {
        if draw.pipeline.planes != attachments.planes {
            return Err(PassError::Pipeline {
                label: label(),
                pipeline: draw.pipeline.label.clone(),
            });
        }
    }
    let run = Execution::new(pool, memory, pass, options, &attachments)
        .map_err(|error| PassError::Compile { label: label(), error })?;
    let stats = run.all()?;
    attachments.discard();
    if let Some(flag) = options.cancel
        && flag.load(Ordering::Relaxed) != 0
    {
        return Err(PassError::Cancelled { label: label() });
    }
    Ok(stats)
}

/// Texels that no one else may touch, or only read, while a pass runs.
type Guards = (Vec<ReadGuard>, Vec<StoreGuard>);

/// Holds every texture that the draws sample for reading, and those that they store to for writing, each once, and brings
/// derived copies up to date (laws S3, S4).
fn guards(pass: &Pass<'_>) -> Result<Guards, TextureError> {
    let mut held: BTreeSet<*const SampledView> = BTreeSet::new();
    let mut stored = BTreeSet::new();
    let (mut reads, mut stores) = (Vec::new(), Vec::new());
    let mut previous: *const [BoundResource<'_>] = &[];
    for draw in &pass.draws {
        // Draws in a row mostly share their table.
        if std::ptr::eq(draw.resources, previous) {
            continue;
        }
        previous = draw.resources;
        for resource in draw.resources {
            if let BoundResource::Texture(view) = resource
                && held.insert(Arc::as_ptr(view))
            {
                reads.push(view.begin_read()?);
            }
            if let BoundResource::Storage(view) = resource {
                stores.push(view.begin(&mut stored)?);
            }
        }
    }
    Ok((reads, stores))
}

/// A chunk, or a vertex program's status and the state's number.
type Built = Result<Chunk, (u32, u32)>;

/// Primitives up to which a pass's geometry is not worth waking anyone (law R7).
const ALONE_PRIMITIVES: u64 = 1500;
/// Tiles touched and instructions of a fragment program up to which the same goes for tiles.
const ALONE_TILES: usize = 16;
const ALONE_INSTRUCTIONS: usize = 100;

/// Primitives of a draw, its state's number, its first instance.
type PreparedDraw<'a> = (Primitives<'a>, u32, u32);

struct Execution<'a> {
    pool: &'a Pool,
    memory: &'a PassMemory,
    pass: &'a Pass<'a>,
    options: &'a PassOptions<'a>,
    attachments: &'a Attachments,
    states: Vec<DrawState<'a>>,
    draws: Vec<PreparedDraw<'a>>,
    /// The order of writes to memory shows: chunks and tiles run one by one (law N8).
    serial: bool,
    grid: Grid,
}

impl<'a> Execution<'a> {
    fn new(
        pool: &'a Pool,
        memory: &'a PassMemory,
        pass: &'a Pass<'a>,
        options: &'a PassOptions<'a>,
        attachments: &'a Attachments,
    ) -> Result<Execution<'a>, PipelineError> {
        let target = Rect {
            x0: 0,
            y0: 0,
            x1: attachments.width as i32,
            y1: attachments.height as i32,
        };
        let mut states: Vec<DrawState<'a>> = Vec::new();
        let mut draws: Vec<PreparedDraw<'a>> = Vec::with_capacity(pass.draws.len());
        let mut previous: Option<&Draw<'a>> = None;
        let mut first_state = 0;
        for draw in &pass.draws {
            if !previous.is_some_and(|p| same_state(p, draw)) {
                first_state = states.len() as u32;
                push_states(draw, target, options, &mut states)?;
            }
            previous = Some(draw);
            let indices = draw.indices.map(|i| (i.bytes, i.format));
            let primitives = Primitives::new(
                &draw.pipeline.primitive,
                indices,
                draw.first,
                draw.count,
                draw.base_vertex,
            );
            draws.push((primitives, first_state, draw.first_instance));
        }
        let edge = attachments.planes.tile_edge;
        let samples = pass.draws.iter().map(|d| d.pipeline.coverage.bytes());
        let samples = samples.fold(attachments.planes.samples, u32::max);
        let serial = states
            .iter()
            .flat_map(|s| [Some(&s.pipeline.vertex), s.pipeline.fragment.as_ref()])
            .flatten()
            .fold(Writes::Nothing, |all, program| all.and(program.stats().writes))
            .serial();
        Ok(Execution {
            pool,
            memory,
            pass,
            options,
            attachments,
            states,
            draws,
            serial,
            grid: Grid {
                edge,
                columns: attachments.width.div_ceil(edge),
                rows: attachments.height.div_ceil(edge),
                layers: attachments.layers,
                samples,
            },
        })
    }

    fn all(&self) -> Result<PassStats, PassError> {
        let chunk = self.options.chunk_primitives.clamp(1, CHUNK);
        let draws = self.draws.iter().zip(&self.pass.draws).map(|((p, state, _), d)| {
            let first = *state as usize;
            let views = &self.states[first..first + self.states[first].viewports as usize];
            // What is counted happens before the scissor, too.
            let empty = d.counter.is_none() && views.iter().all(|s| s.rect.is_empty());
            if empty { (0, 0) } else { (p.len(), d.instance_count) }
        });
        let pieces = plan(draws, chunk);
        // A chunk's memory grows with its primitives; budget and chunk size don't depend on the machine, nor do rounds.
        let per_round = (self.options.bin_budget / (chunk as usize * 80)).max(1);
        let rounds: Vec<&[Vec<Piece>]> = if pieces.is_empty() {
            vec![&[]]
        } else {
            pieces.chunks(per_round).collect()
        };
        let mut stats = PassStats {
            rounds: rounds.len() as u32,
            ..PassStats::default()
        };
        for (number, round) in rounds.iter().enumerate() {
            if self.is_cancelled() {
                break;
            }
            let clock = Instant::now();
            let chunks = self.chunks(round)?;
            stats.geometry += clock.elapsed();
            for chunk in &chunks {
                stats.primitives += chunk.assembled;
                stats.drawn += chunk.prims.len() as u64;
                for (state, sums) in &chunk.counted {
                    count(&mut stats.counters, self.states[*state as usize].counter, sums);
                }
            }
            let clock = Instant::now();
            let counted = self.tiles(&chunks, number == 0, number + 1 == rounds.len());
            for chunk in chunks {
                PassMemory::give(&self.memory.chunks, chunk);
            }
            let counted = counted?;
            stats.runs += counted.runs;
            stats.pairs += counted.pairs;
            for (counter, sums) in (0..).zip(&counted.counters) {
                count(&mut stats.counters, Some(counter), sums);
            }
            stats.tiles += clock.elapsed();
        }
        Ok(stats)
    }

    fn run(&self, tasks: usize, serial: bool, f: impl Fn(&Worker<'_>) + Sync) -> Result<(), PassError> {
        let result = if serial {
            self.pool.run_here(tasks, f)
        } else {
            self.pool.run(tasks, f)
        };
        result.map_err(|panic| PassError::Panic {
            label: self.pass.label.to_string(),
            panic,
        })
    }

    fn chunks(&self, round: &[Vec<Piece>]) -> Result<Vec<Chunk>, PassError> {
        let results: Vec<Mutex<Option<Built>>> = round.iter().map(|_| Mutex::new(None)).collect();
        let job = ChunkJob {
            draws: &self.draws,
            states: &self.states,
            grid: self.grid,
            loop_budget: self.options.loop_budget,
            cancel: self.cancel_address(),
        };
        let primitives: u64 = round
            .iter()
            .flatten()
            .map(|p| u64::from(p.count) * u64::from(p.instances))
            .sum();
        let alone = self.serial || primitives < ALONE_PRIMITIVES;
        self.run(round.len(), alone, |worker| {
            let mut scratch: ChunkScratch = PassMemory::take(&self.memory.scratch);
            while let Some(task) = worker.next_task() {
                if self.is_cancelled() {
                    break;
                }
                let mut chunk: Chunk = PassMemory::take(&self.memory.chunks);
                let built = build(&round[task], &job, &mut scratch, &mut chunk);
                if built.is_err() {
                    worker.stop();
                }
                *results[task].lock().unwrap_or_else(PoisonError::into_inner) = Some(built.map(|()| chunk));
            }
            PassMemory::give(&self.memory.scratch, scratch);
        })?;
        let mut chunks = Vec::with_capacity(results.len());
        for result in results {
            match result.into_inner().unwrap_or_else(PoisonError::into_inner) {
                Some(Ok(chunk)) => chunks.push(chunk),
                Some(Err((status, state))) => return Err(self.out_of_budget("vertex", state, status)),
                None => {}
            }
        }
        Ok(chunks)
    }

    fn tiles(&self, chunks: &[Chunk], first: bool, last: bool) -> Result<TileStats, PassError> {
        let mut lists: TileLists = PassMemory::take(&self.memory.lists);
        lists.fill(chunks, self.grid.tiles());
        let result = self.run_tiles(chunks, &lists, first, last);
        PassMemory::give(&self.memory.lists, lists);
        result
    }

    fn run_tiles(&self, chunks: &[Chunk], lists: &TileLists, first: bool, last: bool) -> Result<TileStats, PassError> {
        let (columns, per_layer, tiles) = (self.grid.columns as usize, self.grid.per_layer(), self.grid.tiles());
        let job = TileJob {
            chunks,
            lists,
            states: &self.states,
            planes: &self.attachments.planes,
            loop_budget: self.options.loop_budget,
            cancel: self.cancel_address(),
        };
        let alone = self.serial || self.is_small(lists, tiles);
        let total = Mutex::new(TileStats::default());
        // The failure of the lowest tile is reported, whoever finds one first; tiles after it needn't run.
        let lowest = AtomicUsize::new(usize::MAX);
        let failure: Mutex<Option<(usize, OutOfBudget)>> = Mutex::new(None);
        self.run(tiles, alone, |worker| {
            let mut tile: TileWorker = PassMemory::take(&self.memory.tiles);
            tile.stats = TileStats::default();
            while let Some(index) = worker.next_task() {
                if index > lowest.load(Ordering::Relaxed) || self.is_cancelled() {
                    break;
                }
                let (layer, place) = (index / per_layer, index % per_layer);
                let (tx, ty) = ((place % columns) as u32, (place / columns) as u32);
                let at = (layer, tx, ty);
                if lists.of(index).is_empty() && first && last && self.attachments.untouched(at) {
                    continue;
                }
                tile.memory
                    .resize(self.attachments.cells().max(tile.memory.len()), Default::default());
                self.attachments.load(at, &mut tile.memory, first);
                if let Err(error) = tile.run(&job, tx, ty, index) {
                    lowest.fetch_min(index, Ordering::Relaxed);
                    let mut failure = failure.lock().unwrap_or_else(PoisonError::into_inner);
                    if failure.is_none_or(|(i, _)| index < i) {
                        *failure = Some((index, error));
                    }
                    tile = TileWorker::default();
                    continue;
                }
                self.attachments.store(at, &tile.memory, last);
            }
            let mut total = total.lock().unwrap_or_else(PoisonError::into_inner);
            total.runs += tile.stats.runs;
            total.pairs += tile.stats.pairs;
            for (counter, sums) in (0..).zip(&tile.stats.counters) {
                count(&mut total.counters, Some(counter), sums);
            }
            drop(total);
            PassMemory::give(&self.memory.tiles, tile);
        })?;
        match failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some((_, e)) => Err(self.out_of_budget("fragment", e.state, e.status)),
            None => Ok(total.into_inner().unwrap_or_else(PoisonError::into_inner)),
        }
    }

    fn cancel_address(&self) -> *const u32 {
        self.options
            .cancel
            .map_or(std::ptr::null(), |c| c.as_ptr().cast_const())
    }

    fn is_cancelled(&self) -> bool {
        self.options.cancel.is_some_and(|c| c.load(Ordering::Relaxed) != 0)
    }

    /// Whether tiles surely take less than a fifth of a millisecond or so: then no one is woken (law R7).
    fn is_small(&self, lists: &TileLists, tiles: usize) -> bool {
        let touched = (0..tiles)
            .filter(|&t| !lists.of(t).is_empty())
            .take(ALONE_TILES + 1)
            .count();
        let program = |s: &DrawState<'_>| s.program.map_or(0, |p| p.stats().instructions);
        let longest = self.states.iter().map(program).max().unwrap_or(0);
        touched <= ALONE_TILES && tiles <= 4 * ALONE_TILES && longest <= ALONE_INSTRUCTIONS
    }

    fn out_of_budget(&self, stage: &'static str, state: u32, status: u32) -> PassError {
        let pipeline = self.states[state as usize].pipeline;
        let (program, sources) = match stage {
            "vertex" => (Some(&pipeline.vertex), &pipeline.sources[0]),
            _ => (pipeline.fragment.as_ref(), &pipeline.sources[1]),
        };
        let place = program
            .and_then(|p| p.loop_span(status - 1))
            .and_then(|span| sources.locate(span))
            .map_or_else(
                || "an unknown place".to_string(),
                |(name, line, column)| format!("{name}:{line}:{column}"),
            );
        PassError::LoopBudget {
            label: self.pass.label.to_string(),
            pipeline: pipeline.label.clone(),
            stage,
            place,
            budget: self.options.loop_budget,
        }
    }
}

/// Whether a batch may hold fragments of both draws.
fn same_state(a: &Draw<'_>, b: &Draw<'_>) -> bool {
    let same_buffers = std::ptr::eq(a.vertex_buffers, b.vertex_buffers)
        || a.vertex_buffers.len() == b.vertex_buffers.len()
            && a.vertex_buffers
                .iter()
                .zip(b.vertex_buffers)
                .all(|(x, y)| match (x, y) {
                    (Some(x), Some(y)) => std::ptr::eq(*x, *y),
                    (None, None) => true,
                    _ => false,
                });
    Arc::ptr_eq(a.pipeline, b.pipeline)
        && std::ptr::eq(a.resources, b.resources)
        && same_buffers
        && a.viewport == b.viewport
        && a.scissor == b.scissor
        && a.more_viewports == b.more_viewports
        && a.stencil_reference == b.stencil_reference
        && a.blend_constant.map(f32::to_bits) == b.blend_constant.map(f32::to_bits)
        && a.counter == b.counter
}

/// The states of a draw: one for every viewport that its vertex shader may choose.
fn push_states<'a>(
    draw: &Draw<'a>,
    target: Rect,
    options: &PassOptions<'_>,
    states: &mut Vec<DrawState<'a>>,
) -> Result<(), PipelineError> {
    let chooses = draw.pipeline.routing.viewport.is_some();
    let more = if chooses { draw.more_viewports } else { &[] };
    let all = std::iter::once((draw.viewport, draw.scissor)).chain(more.iter().copied().take(MAX_VIEWPORTS - 1));
    let first = states.len();
    for (viewport, scissor) in all {
        states.push(state(draw, &viewport, scissor.intersect(target), options)?);
    }
    states[first].viewports = (states.len() - first) as u32;
    Ok(())
}

/// Slots for viewports (R-RAST-21).
const MAX_VIEWPORTS: usize = 16;

/// `rect`: pixels of target and scissor.
fn state<'a>(
    draw: &Draw<'a>,
    viewport: &Viewport,
    rect: Rect,
    options: &PassOptions<'_>,
) -> Result<DrawState<'a>, PipelineError> {
    let pipeline: &'a RenderPipeline = draw.pipeline;
    let mut bindings: Vec<Binding> = draw.resources.iter().map(BoundResource::binding).collect();
    bindings.resize(pipeline.slot_count as usize, Binding::NULL);
    let view = ViewTransform::new(viewport, !pipeline.primitive.unclipped_depth);
    let mut block = [0; words::WORDS];
    block[words::MIN_DEPTH as usize] = viewport.min_depth.to_bits();
    block[words::MAX_DEPTH as usize] = viewport.max_depth.to_bits();
    block[words::STENCIL_REFERENCE as usize] = draw.stencil_reference & 0xff;
    for (word, value) in block[words::BLEND_CONSTANT as usize..]
        .iter_mut()
        .zip(draw.blend_constant)
    {
        *word = value.to_bits();
    }
    let depth_stencil = pipeline.depth_stencil.as_ref();
    let bias = depth_stencil.map(bias).filter(DepthBias::is_on);
    let range = [viewport.min_depth, viewport.max_depth];
    let hides = DepthRule::of(pipeline, range, bias.is_some()).filter(|_| options.hierarchical_depth);
    let form = match draw.counter {
        Some(_) if options.traced => Form::Traced,
        Some(_) => Form::Counting,
        None => Form::Whole,
    };
    Ok(DrawState {
        pipeline,
        program: pipeline.form(form)?,
        counter: draw.counter,
        bindings,
        vertex_buffers: draw.vertex_buffers,
        viewports: 1,
        planes: ClipPlanes::new(&view),
        view,
        rect: viewport.scissor().intersect(rect),
        bias,
        hides,
        writes_depth: depth_stencil.is_some_and(|d| d.depth_write_enabled),
        words: block,
    })
}

fn bias(state: &DepthStencilState) -> DepthBias {
    let info = state.format.info();
    DepthBias {
        constant: state.depth_bias,
        slope_scale: state.depth_bias_slope_scale,
        clamp: state.depth_bias_clamp,
        format: match info.kind {
            Kind::Float if info.depth => BiasFormat::Float,
            _ if info.depth => BiasFormat::Unorm {
                bits: info.fields[0].bits.into(),
            },
            _ => BiasFormat::Unorm { bits: 24 },
        },
    }
}
