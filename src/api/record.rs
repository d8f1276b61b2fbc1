//! What commands are between recording and execution: plain data with clones of the objects they use.

use super::attachment::{Color, Operations};
use super::bind_group::BindGroup;
use super::buffer::Buffer;
use super::label::Label;
use super::pipeline::{RenderPipeline, VertexFootprint};
use super::query::{ActiveQueries, QueryRecord, QuerySet};
use super::texture::{Extent3d, Texture, TextureView};
use quadrille_raster::format::Aspect;
use quadrille_raster::pipeline::{IndexFormat, VertexStepMode};
use quadrille_raster::texture::ResolveMode;

/// A recorded command.
#[derive(Clone, Debug)]
pub(super) enum Command {
    RenderPass(Box<PassRecord>),
    CopyBuffer {
        source: BufferRange,
        destination: Buffer,
        offset: u64,
    },
    ClearBuffer(BufferRange),
    CopyBufferToTexture {
        source: BufferRows,
        destination: TextureRegion,
    },
    CopyTextureToBuffer {
        source: TextureRegion,
        destination: BufferRows,
    },
    CopyTexture {
        source: TextureRegion,
        destination: TextureRegion,
    },
    ResolveQueries {
        set: QuerySet,
        first: u32,
        count: u32,
        /// As many bytes as the results have.
        destination: BufferRange,
    },
}

/// Part of a buffer, known to be inside.
#[derive(Clone, Debug)]
pub(super) struct BufferRange {
    pub buffer: Buffer,
    pub offset: u64,
    pub size: u64,
}

impl BufferRange {
    pub fn is(&self, other: &BufferRange) -> bool {
        (self.buffer.id(), self.offset, self.size) == (other.buffer.id(), other.offset, other.size)
    }
}

/// Rows of texels in a buffer.
#[derive(Clone, Debug)]
pub(super) struct BufferRows {
    pub buffer: Buffer,
    pub offset: u64,
    pub bytes_per_row: usize,
    pub rows_per_image: usize,
}

/// A box of texels.
#[derive(Clone, Debug)]
pub(super) struct TextureRegion {
    pub texture: Texture,
    pub aspect: Aspect,
    pub mip_level: u32,
    pub origin: [u32; 3],
    pub size: Extent3d,
}

/// A recorded render pass.
#[derive(Clone, Debug)]
pub(super) struct PassRecord {
    pub label: Label,
    /// Width and height of the attachments.
    pub size: (u32, u32),
    pub samples: u32,
    pub colors: Vec<Option<ColorRecord>>,
    pub depth_stencil: Option<DepthStencilRecord>,
    pub resolve_mode: ResolveMode,
    /// View, and how depth and stencil get there.
    pub depth_stencil_resolve: Option<(TextureView, ResolveMode, ResolveMode)>,
    /// Pipelines in use, each once in a row.
    pub pipelines: Vec<RenderPipeline>,
    pub bindings: Vec<BindingRecord>,
    pub vertex_buffers: Vec<Vec<Option<BufferRange>>>,
    pub index_buffers: Vec<(BufferRange, IndexFormat)>,
    pub states: Vec<StateRecord>,
    /// Viewports and scissors of slots 1, 2, ...
    pub viewport_slots: Vec<Vec<ViewportSlot>>,
    /// Every query that is begun, once.
    pub queries: Vec<QueryRecord>,
    /// Counters of the draws: which queries each is part of.
    pub counters: Vec<ActiveQueries>,
    pub draws: Vec<DrawRecord>,
}

impl PassRecord {
    /// A pass of that size without attachments and draws.
    pub fn new(label: Label, size: (u32, u32), samples: u32) -> PassRecord {
        PassRecord {
            label,
            size,
            samples,
            colors: Vec::new(),
            depth_stencil: None,
            resolve_mode: ResolveMode::default(),
            depth_stencil_resolve: None,
            pipelines: Vec::new(),
            bindings: Vec::new(),
            vertex_buffers: Vec::new(),
            index_buffers: Vec::new(),
            states: Vec::new(),
            viewport_slots: Vec::new(),
            queries: Vec::new(),
            counters: Vec::new(),
            draws: Vec::new(),
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct ColorRecord {
    pub view: TextureView,
    pub slice: u32,
    pub resolve_target: Option<TextureView>,
    pub ops: Operations<Color>,
}

#[derive(Clone, Debug)]
pub(super) struct DepthStencilRecord {
    pub view: TextureView,
    /// `None`: read-only.
    pub depth: Option<Operations<f32>>,
    /// `None`: read-only.
    pub stencil: Option<Operations<u32>>,
}

/// Bind groups as a pipeline sees them.
#[derive(Clone, Debug)]
pub(super) struct BindingRecord {
    /// Whose slots they fill.
    pub pipeline: usize,
    pub groups: Vec<Option<(BindGroup, Vec<u32>)>>,
    /// Immediates, where the pipeline has some.
    pub immediates: Vec<u8>,
}

/// A viewport and a scissor rectangle for vertex shaders that choose one (R-RAST-22), which only Direct3D has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ViewportSlot {
    /// x, y, width, height, minimum and maximum depth.
    pub viewport: [f32; 6],
    /// x, y, width, height.
    pub scissor: [u32; 4],
}

/// What stays set from draw to draw.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct StateRecord {
    /// x, y, width, height, minimum and maximum depth.
    pub viewport: [f32; 6],
    /// x, y, width, height.
    pub scissor: [u32; 4],
    pub blend_constant: Color,
    pub stencil_reference: u32,
    /// One more than the place in the pass' `viewport_slots`; 0 for none.
    pub slots: usize,
}

/// A draw: indices into the pass' tables, and what is drawn.
#[derive(Clone, Debug)]
pub(super) struct DrawRecord {
    pub pipeline: usize,
    pub bindings: usize,
    pub vertex_buffers: usize,
    /// Into `index_buffers`, for indexed draws.
    pub index_buffer: Option<usize>,
    pub state: usize,
    /// Into `counters`, for draws in queries.
    pub counter: Option<usize>,
    pub kind: DrawKind,
}

#[derive(Clone, Debug)]
pub(super) enum DrawKind {
    /// Numbers known when recorded.
    Direct(DrawNumbers),
    /// Numbers in a buffer.
    Indirect(BufferRange),
}

/// What is drawn: vertices, or indices of an indexed draw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DrawNumbers {
    pub first: u32,
    pub count: u32,
    pub base_vertex: i32,
    pub first_instance: u32,
    pub instances: u32,
}

impl DrawNumbers {
    /// All vertices and instances must be in the vertex buffers, all indices in the index buffer. What vertices the
    /// indices name isn't known here: those outside read zeros (R-WGSL-73).
    pub fn check(
        &self,
        footprints: &[VertexFootprint],
        vertex_buffers: &[Option<BufferRange>],
        index_buffer: Option<&(BufferRange, IndexFormat)>,
    ) -> Result<(), String> {
        if self.count == 0 || self.instances == 0 {
            return Ok(());
        }
        let end = u64::from(self.first) + u64::from(self.count);
        let instances = u64::from(self.first_instance) + u64::from(self.instances);
        let vertices = index_buffer.is_none().then_some(end);
        if end > u64::from(u32::MAX) || instances > u64::from(u32::MAX) {
            return Err("its vertices, indices or instances reach beyond 2^32".into());
        }
        for (slot, &VertexFootprint { stride, last, step }) in footprints.iter().enumerate() {
            let (count, what) = match step {
                VertexStepMode::Vertex => (vertices, "vertices"),
                VertexStepMode::Instance => (Some(instances), "instances"),
            };
            let (Some(count), Some(Some(range))) = (count, vertex_buffers.get(slot)) else {
                continue;
            };
            let needed = (count - 1).saturating_mul(stride).saturating_add(last);
            if last > 0 && needed > range.size {
                return Err(format!(
                    "{count} {what} need {needed} bytes of vertex buffer {slot}, but {} bytes of buffer {} are set",
                    range.size,
                    range.buffer.label()
                ));
            }
        }
        if let Some((range, format)) = index_buffer {
            let available = range.size / index_bytes(*format);
            if end > available {
                return Err(format!(
                    "it reaches index {end}, but buffer {} has {available} indices",
                    range.buffer.label()
                ));
            }
        }
        Ok(())
    }
}

/// Bytes of an index.
pub(super) fn index_bytes(format: IndexFormat) -> u64 {
    match format {
        IndexFormat::Uint16 => 2,
        IndexFormat::Uint32 => 4,
    }
}
