//! Passes, copies and draws.

use super::numbers::{Data, Float, OneOrMany, OrName};
use crate::job::words::{self, AspectWord, LoadWord, StoreWord};
use crate::{IndexFormat, ResolveMode};
use serde::Deserialize;

/// A render pass; or a copy or write, which is then all that there is.
#[derive(Deserialize, Debug, Default)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Pass {
    /// For errors.
    pub label: String,
    /// Colour attachments by location.
    pub color_attachments: Vec<Option<ColorAttachment>>,
    /// Depth and stencil attachment.
    pub depth_stencil_attachment: Option<DepthStencilAttachment>,
    /// How colour is resolved.
    #[serde(deserialize_with = "words::one")]
    pub resolve_mode: ResolveMode,
    /// Size of a pass that has draws but no attachments.
    pub without_attachments: Option<Extent>,
    /// Name of the query set of the draws' `occlusionQuery`.
    pub occlusion_query_set: Option<String>,
    /// Draws, in order.
    pub draws: Option<Vec<Draw>>,
    /// Bytes from buffer to buffer.
    pub copy_buffer_to_buffer: Option<CopyBuffer>,
    /// Texels from a buffer.
    pub copy_buffer_to_texture: Option<CopyTexels>,
    /// Texels to a buffer.
    pub copy_texture_to_buffer: Option<CopyTexels>,
    /// Texels from texture to texture.
    pub copy_texture_to_texture: Option<CopyTexture>,
    /// Zeros to a buffer.
    pub clear_buffer: Option<BufferPart>,
    /// Bytes of the file to a buffer.
    pub write_buffer: Option<WriteBuffer>,
    /// Texels of the file to a texture.
    pub write_texture: Option<WriteTexture>,
    /// Results of queries to a buffer.
    pub resolve_query_set: Option<ResolveQuerySet>,
}

impl Pass {
    /// Whether draws choose among layers of its attachments.
    pub fn is_layered(&self) -> bool {
        let colors = self.color_attachments.iter().flatten().filter_map(|a| a.layer_count);
        let depth = self.depth_stencil_attachment.iter().filter_map(|a| a.layer_count);
        colors.chain(depth).any(|n| n > 1)
    }

    /// The commands that it has beside, or in place of, draws.
    pub fn commands(&self) -> Vec<&'static str> {
        [
            ("copyBufferToBuffer", self.copy_buffer_to_buffer.is_some()),
            ("copyBufferToTexture", self.copy_buffer_to_texture.is_some()),
            ("copyTextureToBuffer", self.copy_texture_to_buffer.is_some()),
            ("copyTextureToTexture", self.copy_texture_to_texture.is_some()),
            ("clearBuffer", self.clear_buffer.is_some()),
            ("writeBuffer", self.write_buffer.is_some()),
            ("writeTexture", self.write_texture.is_some()),
            ("resolveQuerySet", self.resolve_query_set.is_some()),
        ]
        .into_iter()
        .filter_map(|(name, there)| there.then_some(name))
        .collect()
    }
}

/// One level of one layer of a texture.
#[derive(Deserialize, Clone, Debug, Default)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Subresource {
    /// Name of a texture.
    pub texture: String,
    /// Its layer.
    #[serde(default)]
    pub layer: u32,
    /// Its mip level.
    #[serde(default)]
    pub mip_level: u32,
}

impl From<String> for Subresource {
    fn from(texture: String) -> Subresource {
        Subresource {
            texture,
            ..Subresource::default()
        }
    }
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
    /// Layers from that one on, for shaders that choose one.
    pub layer_count: Option<u32>,
    /// Its mip level.
    #[serde(default)]
    pub mip_level: u32,
    /// Depth slice of a 3d texture.
    pub depth_slice: Option<u32>,
    /// The texture's format, or its sRGB twin.
    #[serde(default, deserialize_with = "words::optional")]
    pub format: Option<crate::TextureFormat>,
    /// What gets the resolved image.
    pub resolve_target: Option<OrName<Subresource>>,
    /// What happens at the start.
    #[serde(default = "clear", deserialize_with = "words::one")]
    pub load_op: LoadWord,
    /// Red, green, blue, alpha.
    #[serde(default = "zeros")]
    pub clear_value: [Float; 4],
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
    #[serde(default)]
    pub layer: u32,
    pub layer_count: Option<u32>,
    #[serde(default)]
    pub mip_level: u32,
    #[serde(default = "clear", deserialize_with = "words::one")]
    pub depth_load_op: LoadWord,
    #[serde(default = "one_f32")]
    pub depth_clear_value: f32,
    #[serde(default = "store", deserialize_with = "words::one")]
    pub depth_store_op: StoreWord,
    #[serde(default)]
    pub depth_read_only: bool,
    #[serde(default = "clear", deserialize_with = "words::one")]
    pub stencil_load_op: LoadWord,
    #[serde(default)]
    pub stencil_clear_value: u32,
    #[serde(default = "store", deserialize_with = "words::one")]
    pub stencil_store_op: StoreWord,
    #[serde(default)]
    pub stencil_read_only: bool,
    /// What gets resolved depth and stencil.
    pub resolve_target: Option<OrName<Subresource>>,
    /// How depth is resolved.
    #[serde(default = "sample_zero", deserialize_with = "words::one")]
    pub depth_resolve_mode: ResolveMode,
    /// How stencil is resolved.
    #[serde(default = "sample_zero", deserialize_with = "words::one")]
    pub stencil_resolve_mode: ResolveMode,
}

/// A draw, or `repeat` of them.
#[derive(Deserialize, Debug)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Draw {
    /// Name of a pipeline.
    pub pipeline: String,
    /// Bind groups, set at group 0, 1, ...
    #[serde(default)]
    pub bind_groups: Vec<Option<OrName<SetBindGroup>>>,
    /// Buffers, set at slot 0, 1, ...
    #[serde(default)]
    pub vertex_buffers: Vec<Option<OrName<SetBuffer>>>,
    /// Indices.
    pub index_buffer: Option<IndexBuffer>,
    /// Number of vertices of a draw without indices.
    pub vertex_count: Option<u32>,
    /// Number of indices.
    pub index_count: Option<u32>,
    /// Where the numbers of an indirect draw are; it is indexed if there is an index buffer.
    pub indirect: Option<OrName<SetBuffer>>,
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
    #[serde(default = "zeros")]
    pub blend_constant: [Float; 4],
    /// x, y, width, height, minimum and maximum depth; stays set until the pass ends.
    pub viewport: Option<[f32; 6]>,
    /// x, y, width, height; stays set until the pass ends.
    pub scissor: Option<[u32; 4]>,
    /// Viewports of slots 1, 2, ...; stay set until the pass ends.
    #[serde(default)]
    pub more_viewports: Vec<[f32; 6]>,
    /// Scissors of slots 1, 2, ...; stay set until the pass ends.
    #[serde(default)]
    pub more_scissors: Vec<[u32; 4]>,
    /// Immediates (push constants), from byte 0 on.
    pub immediates: Option<OneOrMany<Data>>,
    /// The query of the pass' `occlusionQuerySet` that counts its samples.
    pub occlusion_query: Option<u32>,
    /// The query that counts what its pipeline does.
    pub statistics_query: Option<Query>,
}

/// What a pass without attachments renders to.
#[derive(Deserialize, Clone, Debug)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Extent {
    /// Width and height in pixels.
    pub size: [u32; 2],
}

/// A query of a set.
#[derive(Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Query {
    /// Name of a query set.
    pub query_set: String,
    /// Number of the query.
    pub index: u32,
}

/// A bind group with its dynamic offsets.
#[derive(Deserialize, Clone, Debug, Default)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SetBindGroup {
    /// Name of a bind group.
    pub group: String,
}

impl From<String> for SetBindGroup {
    fn from(group: String) -> SetBindGroup {
        SetBindGroup { group }
    }
}

/// A buffer from an offset on.
#[derive(Deserialize, Clone, Debug, Default)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SetBuffer {
    /// Name of a buffer.
    pub buffer: String,
    /// First byte.
    #[serde(default)]
    pub offset: u64,
}

impl From<String> for SetBuffer {
    fn from(buffer: String) -> SetBuffer {
        SetBuffer { buffer, offset: 0 }
    }
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
    /// First byte.
    #[serde(default)]
    pub offset: u64,
}

/// Part of a buffer; to its end if `size` is left out.
#[derive(Deserialize, Clone, Debug)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(missing_docs, reason = "the names say it")]
pub struct BufferPart {
    pub buffer: String,
    #[serde(default)]
    pub offset: u64,
    pub size: Option<u64>,
}

/// Bytes from a buffer to another.
#[derive(Deserialize, Debug)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(missing_docs, reason = "the names say it")]
pub struct CopyBuffer {
    pub source: OrName<SetBuffer>,
    pub destination: OrName<SetBuffer>,
    pub size: u64,
}

/// Rows of texels in a buffer.
#[derive(Deserialize, Debug)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(missing_docs, reason = "WebGPU's names")]
pub struct BufferRows {
    pub buffer: String,
    #[serde(default)]
    pub offset: u64,
    pub bytes_per_row: Option<u32>,
    pub rows_per_image: Option<u32>,
}

/// Where texels are in a texture.
#[derive(Deserialize, Debug, Default)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(missing_docs, reason = "WebGPU's names")]
pub struct TexturePlace {
    pub texture: String,
    #[serde(default)]
    pub mip_level: u32,
    #[serde(default)]
    pub origin: Vec<u32>,
    #[serde(default, deserialize_with = "words::one")]
    pub aspect: AspectWord,
}

impl From<String> for TexturePlace {
    fn from(texture: String) -> TexturePlace {
        TexturePlace {
            texture,
            ..TexturePlace::default()
        }
    }
}

/// Texels between a buffer and a texture.
#[derive(Deserialize, Debug)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(missing_docs, reason = "the names say it")]
pub struct CopyTexels {
    pub buffer: BufferRows,
    pub texture: OrName<TexturePlace>,
    pub size: Vec<u32>,
}

/// Texels from a texture to another.
#[derive(Deserialize, Debug)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(missing_docs, reason = "the names say it")]
pub struct CopyTexture {
    pub source: OrName<TexturePlace>,
    pub destination: OrName<TexturePlace>,
    pub size: Vec<u32>,
}

/// Bytes of the file to a buffer.
#[derive(Deserialize, Debug)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(missing_docs, reason = "the names say it")]
pub struct WriteBuffer {
    pub buffer: String,
    #[serde(default)]
    pub offset: u64,
    pub data: OneOrMany<Data>,
}

/// Texels of the file to a surface of a texture.
#[derive(Deserialize, Debug)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(missing_docs, reason = "the names say it")]
pub struct WriteTexture {
    pub texture: String,
    #[serde(default)]
    pub mip_level: u32,
    #[serde(default)]
    pub layer: u32,
    #[serde(default)]
    pub sample: u32,
    #[serde(default, deserialize_with = "words::one")]
    pub aspect: AspectWord,
    pub data: OneOrMany<Data>,
}

/// Results of queries to a buffer, each a u64.
#[derive(Deserialize, Debug)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(missing_docs, reason = "WebGPU's names")]
pub struct ResolveQuerySet {
    pub query_set: String,
    #[serde(default)]
    pub first_query: u32,
    pub query_count: Option<u32>,
    pub destination: String,
    #[serde(default)]
    pub destination_offset: u64,
}

pub(super) fn one() -> u32 {
    1
}

fn one_f32() -> f32 {
    1.0
}

fn zeros() -> [Float; 4] {
    [Float::Value(0.0); 4]
}

fn clear() -> LoadWord {
    LoadWord::Clear
}

fn store() -> StoreWord {
    StoreWord::Store
}

fn sample_zero() -> ResolveMode {
    ResolveMode::SampleZero
}
