//! `GPURenderPipelineDescriptor` with the automatic layout, and state that only Direct3D has.

use crate::job::named::Named;
use crate::job::words;
use crate::{
    BlendFactor, BlendOperation, CompareFunction, CullMode, FillMode, FrontFace, GradientDivergence, IndexFormat,
    LineMode, LogicOperation, PointMode, PrimitiveTopology, ProvokingVertex, Rules, SamplePattern, StencilOperation,
    TextureFormat, VertexFormat, VertexStepMode,
};
use serde::Deserialize;

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
    /// Whose rules hold where WebGPU and Direct3D differ.
    #[serde(default, deserialize_with = "words::one")]
    pub rules: Rules,
    /// What WebGPU doesn't have.
    #[serde(default)]
    pub extended: Extended,
}

/// State that WebGPU doesn't have.
#[derive(Deserialize, Debug, Default)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Extended {
    /// Logic operation.
    #[serde(deserialize_with = "words::optional")]
    pub logic_op: Option<LogicOperation>,
    /// Least and greatest stored depth.
    pub depth_bounds: Option<[f32; 2]>,
    /// Where the samples of a pixel are.
    #[serde(deserialize_with = "words::one")]
    pub sample_pattern: SamplePattern,
    /// What becomes of gradients in varying flow under Direct3D's rules.
    #[serde(deserialize_with = "words::one")]
    pub gradient_divergence: GradientDivergence,
    /// Triangles or their edges.
    #[serde(deserialize_with = "words::one")]
    pub fill_mode: FillMode,
    /// How lines are drawn.
    #[serde(deserialize_with = "words::one")]
    pub line_mode: LineMode,
    /// What a point covers.
    #[serde(deserialize_with = "words::one")]
    pub point_mode: PointMode,
    /// Which vertex gives constants.
    #[serde(deserialize_with = "words::one")]
    pub provoking_vertex: ProvokingVertex,
    /// Cuts any topology at an index of all ones.
    pub restart: bool,
    /// Triangles cover every pixel that they touch.
    pub conservative: bool,
    /// Samples of the rasterizer's own.
    pub forced_samples: u32,
}

/// `GPUVertexState`.
#[derive(Deserialize, Debug)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Vertex {
    /// Name of the shader.
    pub shader: String,
    /// Name of its entry point.
    pub entry_point: Option<String>,
    /// Values of `override` constants.
    #[serde(default)]
    pub constants: Named<f64>,
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
    pub entry_point: Option<String>,
    /// Values of `override` constants.
    #[serde(default)]
    pub constants: Named<f64>,
    /// Colour targets by location.
    #[serde(default)]
    pub targets: Vec<Option<Target>>,
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
    pub unclipped_depth: bool,
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
