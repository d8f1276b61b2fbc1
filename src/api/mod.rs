//! The library's interface: WebGPU's objects and names, on the CPU.
//!
//! ```text
//! Device ─ Buffer, Texture ─ TextureView, Sampler, ShaderModule
//!    │       BindGroupLayout ─ PipelineLayout      BindGroup            RenderPipeline, QuerySet
//!    └─ CommandEncoder ─ RenderPass ─ CommandBuffer ─► Queue::submit ─► execute.rs ─► raster
//! ```
//!
//! Rules: every call returns a `Result`, and one that fails has changed nothing; everything a shader or a draw may touch is
//! checked here (usages, sizes, formats, binding sizes), because compiled code relies on it; a device does one thing at a time, in
//! the order of the calls (`turn.rs`). Law O2.

mod attachment;
mod bind_group;
mod buffer;
mod cancel;
mod capture;
mod device;
mod encoder;
mod error;
mod execute;
mod label;
mod layout;
mod limits;
mod pass_queries;
mod pipeline;
mod query;
mod queue;
mod record;
mod render;
mod render_pass;
mod sampler;
mod shader;
mod stats;
mod submit;
mod texture;
mod trace;
mod turn;
mod usage;

pub use attachment::{
    Color, DepthStencilResolve, LoadOp, Operations, PassExtent, RenderPassColorAttachment,
    RenderPassDepthStencilAttachment, RenderPassDescriptor, StoreOp,
};
pub use bind_group::{BindError, BindGroup, BindGroupDescriptor, BindGroupEntry, BindingResource, BufferBinding};
pub use buffer::{Buffer, BufferDescriptor, BufferError, BufferInitDescriptor};
pub use cancel::CancelFlag;
pub use capture::{Capture, CaptureError};
pub use device::{Backend, Device, DeviceDescriptor, DeviceError, Lanes, PassTuning};
pub use encoder::{
    CommandBuffer, CommandEncoder, CommandEncoderDescriptor, EncodeError, TexelCopyBufferInfo, TexelCopyBufferLayout,
    TexelCopyTextureInfo,
};
pub use error::{Error, Result};
pub use label::Label;
pub use layout::{
    BindGroupLayout, BindGroupLayoutDescriptor, BindGroupLayoutEntry, BindingType, BufferBindingType, PipelineLayout,
    PipelineLayoutDescriptor, SamplerBindingType, TextureSampleType,
};
pub use limits::Limits;
pub use pipeline::{FragmentState, RenderPipeline, RenderPipelineDescriptor, RenderPipelineError, VertexState};
pub use query::{PipelineStatisticsTypes, QueryError, QuerySet, QuerySetDescriptor, QueryType};
pub use queue::{OutputSlice, Queue, SubmitOptions};
pub use record::ViewportSlot;
pub use render_pass::RenderPass;
pub use sampler::{ExtendedSamplerState, Sampler, SamplerDescriptor, SamplerError};
pub use shader::{
    COMBINED_SAMPLER_OFFSET, ShaderError, ShaderErrorKind, ShaderModule, ShaderModuleDescriptor, ShaderSource,
    ShaderStage,
};
pub use stats::SubmitStats;
pub use submit::{Submission, SubmitError};
pub use texture::{
    Extent3d, Texture, TextureDescriptor, TextureError, TextureView, TextureViewDescriptor, TextureViewDimension,
};
pub(crate) use trace::TracedDraw;
pub use usage::{BufferUsages, ShaderStages, TextureUsages};

pub use quadrille_jit::{CompileCounters, Refusal};

// Shared with the rasterizer, so that there is one definition of each.
pub use quadrille_raster::format::{Aspect as TextureAspect, FormatInfo, Kind as FormatKind, TextureFormat};
pub use quadrille_raster::pipeline::{
    BlendComponent, BlendFactor, BlendOperation, BlendState, ColorTargetState, CompareFunction, CullMode,
    DepthStencilState, ExtendedPrimitiveState, ExtendedState, FillMode, FrontFace, GradientDivergence, IndexFormat,
    LineMode, LogicOperation, MultisampleState, PipelineStats, PointMode, PrimitiveState, PrimitiveTopology,
    ProvokingVertex, Rules, SamplePattern, StencilFaceState, StencilOperation, VertexAttribute, VertexBufferLayout,
    VertexStepMode,
};
pub use quadrille_raster::sampler::{AddressMode, FilterMode, Reduction};
pub use quadrille_raster::texture::{MipFilter, MipOptions, ResolveMode, Surface as TextureSurface, TextureDimension};
pub use quadrille_raster::vertex::VertexFormat;
