//! Shaders, buffers, textures, samplers, query sets and bind groups.

use super::numbers::{Data, Float, Int, OneOrMany, Text};
use crate::PipelineStatisticsTypes;
use crate::job::words::{self, AspectWord, BufferUsageWord, DimensionWord, LanguageWord, QueryWord, TextureUsageWord};
use crate::{AddressMode, CompareFunction, FilterMode, Reduction, TextureFormat};
use serde::Deserialize;

/// A shader: a file, or its text, or its words in hexadecimal.
#[derive(Deserialize, Clone, Debug, Default)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Shader {
    /// The file.
    pub file: Option<String>,
    /// The text.
    pub text: Option<Text>,
    /// The bytes of a binary.
    pub hex: Option<Text>,
    /// The language; by the file's name if left out, else WGSL.
    #[serde(deserialize_with = "words::optional")]
    pub language: Option<LanguageWord>,
}

impl From<String> for Shader {
    fn from(file: String) -> Shader {
        Shader {
            file: Some(file),
            ..Shader::default()
        }
    }
}

/// A buffer: at most one of `data`, `file`, `f32` and `u32`, and `size` if it is larger or has no data.
#[derive(Deserialize, Debug, Default)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Buffer {
    /// What it may be used for; by default everything.
    #[serde(deserialize_with = "words::list")]
    pub usage: Vec<BufferUsageWord>,
    /// Bytes; what the data leaves out is zero.
    pub size: Option<u64>,
    /// Contents, one part after the other.
    pub data: OneOrMany<Data>,
    /// A file of raw bytes.
    pub file: Option<String>,
    /// Numbers.
    pub f32: Option<Vec<Float>>,
    /// Numbers.
    pub u32: Option<Vec<Int>>,
}

/// A texture. Without data it holds zeros.
#[derive(Deserialize, Debug)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Texture {
    /// Format of the texels.
    #[serde(deserialize_with = "words::one")]
    pub format: TextureFormat,
    /// Shape of the default view.
    #[serde(default = "two_dimensional", deserialize_with = "words::one")]
    pub dimension: DimensionWord,
    /// Width, height, and depth or layers; needed unless a file says it.
    pub size: Option<Vec<u32>>,
    /// Layers of a texture without data.
    pub layers: Option<u32>,
    /// Samples a pixel.
    #[serde(default = "super::pass::one")]
    pub sample_count: u32,
    /// Mip levels.
    pub mip_level_count: Option<u32>,
    /// What it may be used for; by default everything that its format allows.
    #[serde(default, deserialize_with = "words::list")]
    pub usage: Vec<TextureUsageWord>,
    /// A PNG, JPEG, TGA or WebP file for every array layer or cube face.
    #[serde(alias = "images")]
    pub png: Option<Vec<String>>,
    /// Raw texels of level 0, layer after layer; or a DDS or KTX2 file with levels, layers, faces or slices.
    pub file: Option<String>,
    /// Raw texels: level after level, in each layer after layer (or slice), in each sample after sample.
    pub data: Option<OneOrMany<Data>>,
    /// Raw texels of the stencil of a format with depth and stencil, as `data`, which is depth then.
    pub stencil_data: Option<OneOrMany<Data>>,
    /// Whether to make the full mip chain of a texture with data.
    #[serde(default)]
    pub mipmaps: bool,
}

fn two_dimensional() -> DimensionWord {
    DimensionWord::D2
}

/// `GPUSamplerDescriptor`, and what only Direct3D has.
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
    /// Added to every level of detail.
    pub lod_bias: f32,
    /// Colour of the address mode `clamp-to-border`.
    pub border_color: [Float; 4],
    /// How texels are combined.
    #[serde(deserialize_with = "words::one")]
    pub reduction: Reduction,
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
            lod_bias: 0.0,
            border_color: [Float::Value(0.0); 4],
            reduction: Reduction::WeightedAverage,
        }
    }
}

/// `GPUQuerySetDescriptor`.
#[derive(Deserialize, Debug)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct QuerySet {
    /// What is counted.
    #[serde(rename = "type", deserialize_with = "words::one")]
    pub ty: QueryWord,
    /// Number of queries.
    pub count: u32,
    /// Which statistics each query gives, in the order of the list of all; all if left out.
    #[serde(default, deserialize_with = "words::list")]
    pub statistics: Vec<PipelineStatisticsTypes>,
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
    /// Which part of the texture; its default view if left out.
    pub view: Option<View>,
    /// Name of a sampler.
    pub sampler: Option<String>,
}

/// `GPUTextureViewDescriptor`.
#[derive(Deserialize, Debug, Default)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[expect(missing_docs, reason = "WebGPU's names")]
pub struct View {
    #[serde(deserialize_with = "words::optional")]
    pub format: Option<TextureFormat>,
    #[serde(deserialize_with = "words::optional")]
    pub dimension: Option<DimensionWord>,
    #[serde(deserialize_with = "words::one")]
    pub aspect: AspectWord,
    pub base_mip_level: u32,
    pub mip_level_count: Option<u32>,
    pub base_array_layer: u32,
    pub array_layer_count: Option<u32>,
}
