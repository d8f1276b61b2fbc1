//! Render passes: attachments and draws, executed over all tiles by all threads.
//!
//! ```text
//! draws ─ plan ─► chunks ─ vertex, geometry, bins (parallel) ─► tiles: load or clear, replay chunks in order, store
//!                    └── rounds: when a round's chunks reach the memory budget, tiles run and the pass goes on (law R4)
//! ```
//!
//! Rules that must not break: fragments of a pixel run in submission order (R-RAST-36); a round boundary changes no
//! pixel; results don't depend on the number of threads.

pub(crate) mod counters;
mod execute;
mod resources;
mod target;

pub use counters::DrawCounters;
pub use execute::{PassError, PassMemory, PassOptions, PassStats, execute};
pub use resources::{BoundResource, WritableBytes};

use crate::geometry::{Rect, Viewport};
use crate::pipeline::{IndexFormat, RenderPipeline};
use crate::texture::{ResolveMode, TextureView};
use std::sync::Arc;

/// What an attachment starts with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LoadOp<T> {
    /// What it held.
    Load,
    /// This value.
    Clear(T),
}

/// A colour attachment.
#[derive(Debug)]
pub struct ColorAttachment {
    /// View of one level, and one layer; or several layers for vertex shaders that choose (R-RAST-27). All attachments
    /// have the same number.
    pub view: TextureView,
    /// Depth slice of a 3d view, else 0.
    pub slice: u32,
    /// Single-sample view that gets one value of each pixel's samples.
    pub resolve: Option<TextureView>,
    /// How it gets it.
    pub resolve_mode: ResolveMode,
    /// What it starts with.
    pub load: LoadOp<[f64; 4]>,
    /// Whether its contents are kept.
    pub store: bool,
}

/// The depth-stencil attachment.
#[derive(Debug)]
pub struct DepthStencilAttachment {
    /// View of one level and as many layers as the colours have.
    pub view: TextureView,
    /// What depth starts with.
    pub depth_load: LoadOp<f32>,
    /// Whether depth is kept.
    pub depth_store: bool,
    /// Depth is tested but never written; shaders may read it meanwhile.
    pub depth_read_only: bool,
    /// What stencil starts with.
    pub stencil_load: LoadOp<u32>,
    /// Whether stencil is kept.
    pub stencil_store: bool,
    /// Stencil is tested but never written.
    pub stencil_read_only: bool,
    /// Single-sample view that gets one value of each pixel's samples, of depth and of stencil.
    pub resolve: Option<TextureView>,
    /// How depth gets it; not as an average.
    pub depth_resolve_mode: ResolveMode,
    /// How stencil gets it; not as an average.
    pub stencil_resolve_mode: ResolveMode,
}

/// Indices of a draw.
#[derive(Clone, Copy, Debug)]
pub struct Indices<'a> {
    /// The bound part of the index buffer.
    pub bytes: &'a [u8],
    /// Type of the indices.
    pub format: IndexFormat,
}

/// A draw. Vertices and indices outside of the buffers read zeros (R-WGSL-73).
#[derive(Debug)]
pub struct Draw<'a> {
    /// The pipeline.
    pub pipeline: &'a Arc<RenderPipeline>,
    /// Resources by slot (see [`RenderPipeline::slots`]); missing ones read zero.
    pub resources: &'a [BoundResource<'a>],
    /// Vertex buffers by slot.
    pub vertex_buffers: &'a [Option<&'a [u8]>],
    /// Index buffer of indexed draws.
    pub indices: Option<Indices<'a>>,
    /// First vertex, or first index.
    pub first: u32,
    /// Vertices, or indices.
    pub count: u32,
    /// Added to every index.
    pub base_vertex: i32,
    /// First instance.
    pub first_instance: u32,
    /// Instances.
    pub instance_count: u32,
    /// Viewport.
    pub viewport: Viewport,
    /// Scissor, in pixels of the target.
    pub scissor: Rect,
    /// Viewports and scissors of slots 1, 2, ... for vertex shaders that choose (R-RAST-21, R-RAST-22): up to 15. A slot
    /// that isn't set draws nothing.
    pub more_viewports: &'a [(Viewport, Rect)],
    /// Stencil reference.
    pub stencil_reference: u32,
    /// Blend constant.
    pub blend_constant: [f32; 4],
    /// Which of [`PassStats::counters`] it counts into; small numbers, not necessarily used in order.
    pub counter: Option<u32>,
}

/// A render pass.
#[derive(Debug)]
pub struct Pass<'a> {
    /// Name for errors.
    pub label: &'a str,
    /// Colour attachments by location.
    pub color: Vec<Option<ColorAttachment>>,
    /// Depth-stencil attachment.
    pub depth_stencil: Option<DepthStencilAttachment>,
    /// Draws, in order.
    pub draws: Vec<Draw<'a>>,
}
