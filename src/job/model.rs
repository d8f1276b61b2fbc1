//! What a job file of format 1 says, as plain data.
//!
//! Field names and words are WebGPU's; what differs is in `docs/job-format.md`. Every struct refuses unknown fields and
//! every object refuses a name given twice, so that a typing error is an error and not a silent default.

use super::named::Named;
use super::words::{self, DimensionWord, LoadWord, StoreWord, UsageWord};
use crate::{
    AddressMode, BlendFactor, BlendOperation, CompareFunction, CullMode, FilterMode, FrontFace, IndexFormat,
    PrimitiveTopology, StencilOperation, TextureFormat, VertexFormat, VertexStepMode,
};
use serde::Deserialize;

/// A whole job.
#[derive(Deserialize, Debug)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Job {
    /// Version of the format; 1.
    pub format: u32,
    /// Its name.
    pub name: String,
    /// What it shows, in a sentence.
    #[serde(default)]
    pub about: String,
    /// What it stresses, one or two words each.
    #[serde(default)]
    pub stresses: Vec<String>,
    /// WGSL files by name.
    pub shaders: Named<String>,
    /// Buffers by name.
    #[serde(default)]
    pub buffers: Named<Buffer>,
    /// Textures by name: those with data are sampled, those without are rendered to.
    pub textures: Named<Texture>,
    /// Samplers by name.
    #[serde(default)]
    pub samplers: Named<Sampler>,
    /// Render pipelines by name.
    pub pipelines: Named<Pipeline>,
    /// Bind groups by name.
    #[serde(default)]
    pub bind_groups: Named<BindGroup>,
    /// Passes of a frame, in order.
    pub passes: Vec<Pass>,
    /// The texture that is the image.
    pub output: String,
}

/// A buffer: one of `file`, `f32` and `u32`.
#[derive(Deserialize, Debug)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Buffer {
    /// What it may be used for.
    #[serde(deserialize_with = "words::list")]
    pub usage: Vec<UsageWord>,
    /// A file of raw bytes.
    pub file: Option<String>,
    /// Numbers.
    pub f32: Option<Vec<f32>>,
    /// Numbers.
    pub u32: Option<Vec<u32>>,
}

/// A texture: with `png` or `file` it has data, without it is a render target.
#[derive(Deserialize, Debug)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Texture {
    /// Format of the texels.
    #[serde(deserialize_with = "words::one")]
    pub format: TextureFormat,
    /// Shape of the default view.
    #[serde(default = "two_dimensional", deserialize_with = "words::one")]
    pub dimension: DimensionWord,
    /// Width and height; needed unless `png` says it.
    pub size: Option<[u32; 2]>,
    /// Layers of a texture without data.
    pub layers: Option<u32>,
    /// Samples a pixel of a texture without data, 1 or 4.
    #[serde(default = "one")]
    pub sample_count: u32,
    /// A PNG for every array layer or cube face.
    pub png: Option<Vec<String>>,
    /// Raw texels of level 0, layer after layer.
    pub file: Option<String>,
    /// Whether to make the full mip chain of a texture with data.
    #[serde(default)]
    pub mipmaps: bool,
}

/// `GPUSamplerDescriptor`.
#[derive(Deserialize, Debug)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[expect(missing_docs, reason = "WebGPU's names")]
pub struct Sampler {
    #[serde(deserialize_with = "words::one")]
    pub address_mode_u: AddressMode,
    #[serde(deserialize_with = "words::one")]
    pub address_mode_v: AddressMode,
    #[serde(deserialize_with = "words::one")]
    pub address_mode_w: AddressMode,
    #[serde(deserialize_with = "words::one")]
    pub mag_filter: FilterMode,
    #[serde(deserialize_with = "words::one")]
    pub min_filter: FilterMode,
    #[serde(deserialize_with = "words::one")]
    pub mipmap_filter: FilterMode,
    pub lod_min_clamp: f32,
    pub lod_max_clamp: f32,
    #[serde(deserialize_with = "words::optional")]
    pub compare: Option<CompareFunction>,
    pub max_anisotropy: u16,
}

impl Default for Sampler {
    fn default() -> Self {
        Sampler {
            address_mode_u: AddressMode::ClampToEdge,
            address_mode_v: AddressMode::ClampToEdge,
            address_mode_w: AddressMode::ClampToEdge,
            mag_filter: FilterMode::Nearest,
            min_filter: FilterMode::Nearest,
            mipmap_filter: FilterMode::Nearest,
            lod_min_clamp: 0.0,
            lod_max_clamp: 32.0,
            compare: None,
            max_anisotropy: 1,
        }
    }
}

/// `GPURenderPipelineDescriptor` with the automatic layout.
#[derive(Deserialize, Debug)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Pipeline {
    /// The vertex stage.
    pub vertex: Vertex,
    /// The fragment stage.
    pub fragment: Option<Fragment>,
    /// How vertices form primitives.
    #[serde(default)]
    pub primitive: Primitive,
    /// Depth and stencil.
    pub depth_stencil: Option<DepthStencil>,
    /// Multisampling.
    #[serde(default)]
    pub multisample: Multisample,
}

/// `GPUVertexState`.
#[derive(Deserialize, Debug)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Vertex {
    /// Name of the shader.
    pub shader: String,
    /// Name of its entry point.
    pub entry_point: String,
    /// Vertex buffers by slot.
    #[serde(default)]
    pub buffers: Vec<VertexBuffer>,
}

/// `GPUVertexBufferLayout`.
#[derive(Deserialize, Debug)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct VertexBuffer {
    /// Bytes from one element to the next.
    pub array_stride: u64,
    /// Vertex or instance.
    #[serde(default, deserialize_with = "words::one")]
    pub step_mode: VertexStepMode,
    /// The attributes.
    pub attributes: Vec<Attribute>,
}

/// `GPUVertexAttribute`.
#[derive(Deserialize, Debug)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Attribute {
    /// Format in the buffer.
    #[serde(deserialize_with = "words::one")]
    pub format: VertexFormat,
    /// Byte offset in the element.
    pub offset: u64,
    /// The shader's location.
    pub shader_location: u32,
}

/// `GPUFragmentState`.
#[derive(Deserialize, Debug)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Fragment {
    /// Name of the shader.
    pub shader: String,
    /// Name of its entry point.
    pub entry_point: String,
    /// Colour targets by location.
    pub targets: Vec<Target>,
}

/// `GPUColorTargetState`.
#[derive(Deserialize, Debug)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Target {
    /// Format of the attachment.
    #[serde(deserialize_with = "words::one")]
    pub format: TextureFormat,
    /// Blending.
    pub blend: Option<Blend>,
    /// Components written: red 1, green 2, blue 4, alpha 8.
    #[serde(default = "write_all")]
    pub write_mask: u32,
}

/// `GPUBlendState`.
#[derive(Deserialize, Debug)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Blend {
    /// Red, green, blue.
    pub color: BlendPart,
    /// Alpha.
    pub alpha: BlendPart,
}

/// `GPUBlendComponent`.
#[derive(Deserialize, Debug)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BlendPart {
    /// The operation.
    #[serde(default, deserialize_with = "words::one")]
    pub operation: BlendOperation,
    /// Factor of the shader's value.
    #[serde(default = "factor_one", deserialize_with = "words::one")]
    pub src_factor: BlendFactor,
    /// Factor of the stored value.
    #[serde(default = "factor_zero", deserialize_with = "words::one")]
    pub dst_factor: BlendFactor,
}

/// `GPUPrimitiveState`.
#[derive(Deserialize, Debug, Default)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[expect(missing_docs, reason = "WebGPU's names")]
pub struct Primitive {
    #[serde(deserialize_with = "words::one")]
    pub topology: PrimitiveTopology,
    #[serde(deserialize_with = "words::optional")]
    pub strip_index_format: Option<IndexFormat>,
    #[serde(deserialize_with = "words::one")]
    pub front_face: FrontFace,
    #[serde(deserialize_with = "words::one")]
    pub cull_mode: CullMode,
}

/// `GPUDepthStencilState`.
#[derive(Deserialize, Debug)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(missing_docs, reason = "WebGPU's names")]
pub struct DepthStencil {
    #[serde(deserialize_with = "words::one")]
    pub format: TextureFormat,
    #[serde(default)]
    pub depth_write_enabled: bool,
    #[serde(default, deserialize_with = "words::one")]
    pub depth_compare: CompareFunction,
    #[serde(default)]
    pub stencil_front: StencilFace,
    #[serde(default)]
    pub stencil_back: StencilFace,
    #[serde(default = "mask_all")]
    pub stencil_read_mask: u32,
    #[serde(default = "mask_all")]
    pub stencil_write_mask: u32,
    #[serde(default)]
    pub depth_bias: i32,
    #[serde(default)]
    pub depth_bias_slope_scale: f32,
    #[serde(default)]
    pub depth_bias_clamp: f32,
}

/// `GPUStencilFaceState`.
#[derive(Deserialize, Debug, Default)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[expect(missing_docs, reason = "WebGPU's names")]
pub struct StencilFace {
    #[serde(deserialize_with = "words::one")]
    pub compare: CompareFunction,
    #[serde(deserialize_with = "words::one")]
    pub fail_op: StencilOperation,
    #[serde(deserialize_with = "words::one")]
    pub depth_fail_op: StencilOperation,
    #[serde(deserialize_with = "words::one")]
    pub pass_op: StencilOperation,
}

/// `GPUMultisampleState`.
#[derive(Deserialize, Debug)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[expect(missing_docs, reason = "WebGPU's names")]
pub struct Multisample {
    pub count: u32,
    pub mask: u32,
    pub alpha_to_coverage_enabled: bool,
}

impl Default for Multisample {
    fn default() -> Self {
        Multisample {
            count: 1,
            mask: u32::MAX,
            alpha_to_coverage_enabled: false,
        }
    }
}

/// A bind group.
#[derive(Deserialize, Debug)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BindGroup {
    /// The pipeline whose automatic layout it has.
    pub pipeline: String,
    /// Which of its groups.
    #[serde(default)]
    pub group: u32,
    /// What is bound.
    pub entries: Vec<Entry>,
}

/// A binding: one of `buffer`, `texture` and `sampler`.
#[derive(Deserialize, Debug)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Entry {
    /// Its number.
    pub binding: u32,
    /// Name of a buffer.
    pub buffer: Option<String>,
    /// First byte of the buffer.
    #[serde(default)]
    pub offset: u64,
    /// Bytes of the buffer; to its end if left out.
    pub size: Option<u64>,
    /// Name of a texture.
    pub texture: Option<String>,
    /// Name of a sampler.
    pub sampler: Option<String>,
}

/// A render pass.
#[derive(Deserialize, Debug)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Pass {
    /// For errors.
    #[serde(default)]
    pub label: String,
    /// Colour attachments by location.
    #[serde(default)]
    pub color_attachments: Vec<ColorAttachment>,
    /// Depth and stencil attachment.
    pub depth_stencil_attachment: Option<DepthStencilAttachment>,
    /// Draws, in order.
    pub draws: Vec<Draw>,
}

/// `GPURenderPassColorAttachment`.
#[derive(Deserialize, Debug)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ColorAttachment {
    /// Name of a texture.
    pub texture: String,
    /// Its layer.
    #[serde(default)]
    pub layer: u32,
    /// Name of the texture that gets the resolved image.
    pub resolve_target: Option<String>,
    /// What happens at the start.
    #[serde(default = "clear", deserialize_with = "words::one")]
    pub load_op: LoadWord,
    /// Red, green, blue, alpha.
    #[serde(default)]
    pub clear_value: [f64; 4],
    /// What happens at the end.
    #[serde(default = "store", deserialize_with = "words::one")]
    pub store_op: StoreWord,
}

/// `GPURenderPassDepthStencilAttachment`.
#[derive(Deserialize, Debug)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(missing_docs, reason = "WebGPU's names")]
pub struct DepthStencilAttachment {
    pub texture: String,
    #[serde(default = "clear", deserialize_with = "words::one")]
    pub depth_load_op: LoadWord,
    #[serde(default = "one_f32")]
    pub depth_clear_value: f32,
    #[serde(default = "store", deserialize_with = "words::one")]
    pub depth_store_op: StoreWord,
    #[serde(default = "clear", deserialize_with = "words::one")]
    pub stencil_load_op: LoadWord,
    #[serde(default)]
    pub stencil_clear_value: u32,
    #[serde(default = "store", deserialize_with = "words::one")]
    pub stencil_store_op: StoreWord,
}

/// A draw, or `repeat` of them.
#[derive(Deserialize, Debug)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Draw {
    /// Name of a pipeline.
    pub pipeline: String,
    /// Names of bind groups, set at group 0, 1, ...
    #[serde(default)]
    pub bind_groups: Vec<String>,
    /// Names of buffers, set at slot 0, 1, ...
    #[serde(default)]
    pub vertex_buffers: Vec<String>,
    /// Indices.
    pub index_buffer: Option<IndexBuffer>,
    /// Number of vertices of a draw without indices.
    pub vertex_count: Option<u32>,
    /// Number of indices.
    pub index_count: Option<u32>,
    /// First vertex.
    #[serde(default)]
    pub first_vertex: u32,
    /// First index.
    #[serde(default)]
    pub first_index: u32,
    /// Added to every index.
    #[serde(default)]
    pub base_vertex: i32,
    /// Number of instances.
    #[serde(default = "one")]
    pub instance_count: u32,
    /// First instance.
    #[serde(default)]
    pub first_instance: u32,
    /// Number of draw calls, `first_instance` growing by `instance_count` from one to the next.
    #[serde(default = "one")]
    pub repeat: u32,
    /// Stencil reference.
    #[serde(default)]
    pub stencil_reference: u32,
    /// Blend constant.
    #[serde(default)]
    pub blend_constant: [f64; 4],
    /// x, y, width, height, minimum and maximum depth; stays set until the pass ends.
    pub viewport: Option<[f32; 6]>,
    /// x, y, width, height; stays set until the pass ends.
    pub scissor: Option<[u32; 4]>,
}

/// An index buffer.
#[derive(Deserialize, Debug)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct IndexBuffer {
    /// Name of a buffer.
    pub buffer: String,
    /// Type of the indices.
    #[serde(deserialize_with = "words::one")]
    pub format: IndexFormat,
}

fn two_dimensional() -> DimensionWord {
    DimensionWord::D2
}

fn one() -> u32 {
    1
}

fn one_f32() -> f32 {
    1.0
}

fn write_all() -> u32 {
    15
}

fn mask_all() -> u32 {
    u32::MAX
}

fn factor_one() -> BlendFactor {
    BlendFactor::One
}

fn factor_zero() -> BlendFactor {
    BlendFactor::Zero
}

fn clear() -> LoadWord {
    LoadWord::Clear
}

fn store() -> StoreWord {
    StoreWord::Store
}
