//! Traces of a pixel: what every draw of a job did to it and why, and what its shader computed on the way.
//!
//! ```text
//! job ─ a device of one thread, interpreted and watched ─► watcher.rs: notes and instructions of the pixel's quads
//!    └► log of the draws ──────────────────────────────────────────────┴─► Trace: draws ─ fragments ─ samples, colours, steps
//! ```
//!
//! The interpreter computes what native code computes, to the bit (law L1), so that a trace tells of any rendering. The rule
//! that must not break: watching changes nothing; the last colour of a trace is the pixel's.

mod watcher;

use crate::job::{JobError, Loaded, PrepareOptions};
use crate::{CancelFlag, Device, DeviceDescriptor, DeviceError, api};
use std::sync::Arc;
use watcher::Watcher;

/// Most fragments of a pixel that are recorded.
pub const MAX_FRAGMENTS: usize = 1_000;

/// What is traced.
#[derive(Clone, Debug)]
pub struct TraceOptions {
    /// Column and row of the pixel, from the top left.
    pub pixel: [u32; 2],
    /// Record instructions of this draw only (counted over all passes, from 0); of all draws if left out.
    pub draw: Option<usize>,
    /// Most instructions that are recorded; and, besides, at most [`MAX_FRAGMENTS`] fragments.
    pub limit: usize,
    /// Most bytes of buffers and textures.
    pub memory_limit: Option<u64>,
    /// How the job is prepared.
    pub prepare: PrepareOptions,
}

impl Default for TraceOptions {
    fn default() -> Self {
        TraceOptions {
            pixel: [0, 0],
            draw: None,
            limit: 20_000,
            memory_limit: None,
            prepare: PrepareOptions::default(),
        }
    }
}

/// Why nothing was traced.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The job could not be prepared or run.
    #[error(transparent)]
    Job(#[from] JobError),
    /// The device could not be made.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The job draws nothing.
    #[error("the job has no draws, so there is nothing to trace")]
    NoDraws,
    /// There is no such draw.
    #[error("there is no draw {draw}; the job has {count}, numbered from 0 over all passes")]
    NoSuchDraw {
        /// The draw.
        draw: usize,
        /// How many there are.
        count: usize,
    },
    /// No pass renders to the pixel.
    #[error("no pass has a pixel {}, {}; the largest is {} x {}", pixel[0], pixel[1], size[0], size[1])]
    Outside {
        /// The pixel.
        pixel: [u32; 2],
        /// Width and height of the largest pass.
        size: [u32; 2],
    },
}

/// What happened to a pixel.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Trace {
    /// Column and row.
    pub pixel: [u32; 2],
    /// Every draw, in the order of execution.
    pub draws: Vec<TracedDraw>,
    /// Instructions that were executed but not recorded, since the limit was reached.
    pub left_out: u64,
    /// Fragments of the pixel that were not recorded.
    pub fragments_left_out: u64,
}

/// A draw.
#[derive(Clone, Debug, serde::Serialize)]
pub struct TracedDraw {
    /// Label of its pass.
    pub pass: String,
    /// Its number in the pass.
    pub number: usize,
    /// Label of its pipeline.
    pub pipeline: String,
    /// Width and height of its pass.
    pub size: [u32; 2],
    /// Whether the pass has the pixel, and the scissor rectangle holds it.
    pub within_scissor: bool,
    /// Whether the viewport holds it.
    pub within_viewport: bool,
    /// The depth test, by WebGPU's name.
    pub depth_compare: Option<&'static str>,
    /// Primitives assembled.
    pub primitives: u64,
    /// Primitives that clipping left, before culling.
    pub clipped: u64,
    /// Invocations of its fragment shader, anywhere.
    pub invocations: u64,
    /// Samples that passed, anywhere.
    pub samples_passed: u64,
    /// Its fragments at the pixel, in order.
    pub fragments: Vec<Fragment>,
}

/// A primitive at the pixel.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct Fragment {
    /// Index of the primitive in its draw.
    pub primitive: u32,
    /// Whether it faces forward.
    pub front_facing: bool,
    /// The pixel's lane in its quad: 0 upper left, 1 upper right, 2 lower left, 3 lower right.
    pub lane: usize,
    /// By sample.
    pub samples: Vec<Sample>,
    /// Colours, by target and sample.
    pub colors: Vec<Color>,
    /// Where the shader discarded it.
    pub discarded: Option<Place>,
    /// What its quad executed.
    pub steps: Vec<Step>,
}

/// A sample of a fragment.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct Sample {
    /// The rasterizer covers it.
    pub covered: bool,
    /// It is in the pipeline's sample mask.
    pub in_mask: bool,
    /// Depth and stencil tests, if there were any.
    pub tests: Option<Tests>,
    /// What the shader left, if it ran.
    pub kept: Option<Kept>,
}

/// Tests of a sample.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Tests {
    /// Depth of the fragment: an f32, or the code of a unorm format.
    pub depth: Number,
    /// Depth that was stored.
    pub stored_depth: Number,
    /// Stencil that was stored.
    pub stored_stencil: u32,
    /// The stored depth is within the depth bounds.
    pub within_bounds: bool,
    /// The stencil test passes.
    pub stencil_passes: bool,
    /// The depth test passes.
    pub depth_passes: bool,
    /// The test came after the shader.
    pub late: bool,
}

/// A sample after the shader.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Kept {
    /// Not discarded.
    pub alive: bool,
    /// In the shader's sample mask, or in what alpha leaves.
    pub in_mask: bool,
    /// All in all: it is written.
    pub written: bool,
}

/// A colour of a sample.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Color {
    /// The target.
    pub target: u32,
    /// The sample.
    pub sample: u32,
    /// What the shader gave.
    pub source: [Number; 4],
    /// What was stored before.
    pub before: [Number; 4],
    /// What is stored afterwards.
    pub after: [Number; 4],
}

/// A number of a shader.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
#[serde(untagged)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Number {
    Bool(bool),
    I32(i32),
    U32(u32),
    F32(#[serde(serialize_with = "float")] f32),
}

/// JSON has no NaN and no infinities.
fn float<S: serde::Serializer>(v: &f32, to: S) -> Result<S::Ok, S::Error> {
    if v.is_finite() {
        to.serialize_f32(*v)
    } else {
        to.collect_str(v)
    }
}

impl std::fmt::Display for Number {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = match self {
            Number::Bool(v) => v.to_string(),
            Number::I32(v) => v.to_string(),
            Number::U32(v) => v.to_string(),
            Number::F32(v) => format!("{v:?}"),
        };
        f.pad(&text)
    }
}

/// A place in a source text.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Place {
    /// Name of the text.
    pub source: String,
    /// Line, from 1.
    pub line: usize,
    /// Column, from 1.
    pub column: usize,
    /// The line.
    pub text: String,
}

/// Something that a quad executed.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Step {
    /// Where it comes from; fixed function comes from nowhere.
    pub place: Option<Place>,
    /// The instruction, or "if", "loop".
    pub text: String,
    /// Lanes that executed it, in the order of [`Fragment::lane`].
    pub active: [bool; 4],
    /// Lanes that are helpers afterwards.
    pub helpers: [bool; 4],
    /// Its results by lane, or what it stores or branches on.
    pub values: Vec<[Number; 4]>,
}

/// Traces a pixel of a job: renders one frame, interpreted, on one thread.
///
/// # Errors
/// [`TraceError`].
pub fn trace_pixel(loaded: &Loaded, options: &TraceOptions, cancel: &CancelFlag) -> Result<Trace, TraceError> {
    let watcher = Arc::new(Watcher::new(options));
    let descriptor = DeviceDescriptor {
        label: Some("traced"),
        memory_limit: options.memory_limit,
        ..DeviceDescriptor::default()
    };
    let (device, log) = Device::traced(&descriptor, watcher.clone())?;
    loaded.prepare(&device, &options.prepare)?.frame(cancel)?;
    let logged = log.draws();
    let count = logged.len();
    if count == 0 {
        return Err(TraceError::NoDraws);
    }
    if let Some(draw) = options.draw.filter(|&d| d >= count) {
        return Err(TraceError::NoSuchDraw { draw, count });
    }
    let [x, y] = options.pixel;
    if logged.iter().all(|d| x >= d.size.0 || y >= d.size.1) {
        let largest = logged
            .iter()
            .map(|d| d.size)
            .max_by_key(|&(w, h)| u64::from(w) * u64::from(h));
        let size = largest.map_or([0, 0], |(w, h)| [w, h]);
        return Err(TraceError::Outside {
            pixel: options.pixel,
            size,
        });
    }
    let mut draws: Vec<TracedDraw> = logged.iter().map(|d| draw(d, options.pixel)).collect();
    let (left_out, fragments_left_out) = watcher.finish(&mut draws);
    Ok(Trace {
        pixel: options.pixel,
        draws,
        left_out,
        fragments_left_out,
    })
}

fn draw(d: &api::TracedDraw, [x, y]: [u32; 2]) -> TracedDraw {
    let inside = |[left, top, w, h]: [u32; 4]| (left..left + w).contains(&x) && (top..top + h).contains(&y);
    let [left, top, w, h, ..] = d.viewport;
    let (cx, cy) = (x as f32 + 0.5, y as f32 + 0.5);
    TracedDraw {
        pass: d.pass.clone(),
        number: d.number,
        pipeline: d.pipeline.clone(),
        size: [d.size.0, d.size.1],
        within_scissor: x < d.size.0 && y < d.size.1 && inside(d.scissor),
        within_viewport: left <= cx && cx <= left + w && top <= cy && cy <= top + h,
        depth_compare: d.depth_compare.map(|c| c.name()),
        primitives: d.counted.primitives,
        clipped: d.counted.clipper_primitives,
        invocations: d.counted.fragment_invocations,
        samples_passed: d.counted.samples_passed,
        fragments: Vec::new(),
    }
}
