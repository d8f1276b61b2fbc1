//! WebGPU's strings in a job file, read straight into the pipeline's own enums.
//!
//! A wrong word is reported by the JSON reader at its line and column, with the words that would have been right.

use crate::{
    AddressMode, BlendFactor, BlendOperation, CompareFunction, CullMode, FillMode, FilterMode, FrontFace,
    GradientDivergence, IndexFormat, LineMode, LogicOperation, PipelineStatisticsTypes, PointMode, PrimitiveTopology,
    ProvokingVertex, Reduction, ResolveMode, Rules, SamplePattern, StencilOperation, TextureFormat, VertexFormat,
    VertexStepMode,
};
use serde::de::{Deserialize, Deserializer, Error};

/// An enum that has WebGPU's names.
pub trait Word: Copy + 'static {
    /// What the word stands for, for errors.
    const WHAT: &'static str;
    /// Every value.
    fn all() -> impl Iterator<Item = Self>;
    /// WebGPU's name of the value.
    fn text(self) -> &'static str;
}

macro_rules! words {
    ($($what:literal $name:ident;)*) => { $(
        impl Word for $name {
            const WHAT: &'static str = $what;
            fn all() -> impl Iterator<Item = Self> {
                $name::ALL.iter().copied()
            }
            fn text(self) -> &'static str {
                self.name()
            }
        }
    )* };
}

words! {
    "blend factor" BlendFactor;
    "blend operation" BlendOperation;
    "comparison" CompareFunction;
    "cull mode" CullMode;
    "front face" FrontFace;
    "gradient divergence" GradientDivergence;
    "index format" IndexFormat;
    "fill mode" FillMode;
    "line mode" LineMode;
    "sample pattern" SamplePattern;
    "point mode" PointMode;
    "provoking vertex" ProvokingVertex;
    "logic operation" LogicOperation;
    "set of rules" Rules;
    "topology" PrimitiveTopology;
    "stencil operation" StencilOperation;
    "texture format" TextureFormat;
    "vertex format" VertexFormat;
    "step mode" VertexStepMode;
}

macro_rules! word_tables {
    ($($what:literal $name:ident { $($variant:ident = $text:literal,)* })*) => { $(
        impl Word for $name {
            const WHAT: &'static str = $what;
            fn all() -> impl Iterator<Item = Self> {
                [$($name::$variant,)*].into_iter()
            }
            fn text(self) -> &'static str {
                match self {
                    $($name::$variant => $text,)*
                }
            }
        }
    )* };
}

word_tables! {
    "address mode" AddressMode {
        ClampToEdge = "clamp-to-edge",
        Repeat = "repeat",
        MirrorRepeat = "mirror-repeat",
        MirrorOnce = "mirror-once",
        ClampToBorder = "clamp-to-border",
    }
    "reduction" Reduction {
        WeightedAverage = "weighted-average",
        Minimum = "minimum",
        Maximum = "maximum",
    }
    "resolve mode" ResolveMode {
        Average = "average",
        SampleZero = "sample-zero",
        Min = "min",
        Max = "max",
    }
    "filter" FilterMode {
        Nearest = "nearest",
        Linear = "linear",
    }
}

impl Word for PipelineStatisticsTypes {
    const WHAT: &'static str = "pipeline statistic";
    fn all() -> impl Iterator<Item = Self> {
        PipelineStatisticsTypes::NAMES.into_iter().map(|(one, _)| one)
    }
    fn text(self) -> &'static str {
        self.names().next().unwrap_or_default()
    }
}

/// Words that only job files and render passes know.
macro_rules! own_words {
    ($($(#[$doc:meta])* $what:literal $name:ident { $($(#[$vdoc:meta])* $variant:ident = $text:literal,)* })*) => { $(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name { $($(#[$vdoc])* $variant,)* }

        impl Default for $name {
            /// The first word.
            fn default() -> Self {
                const ALL: &[$name] = &[$($name::$variant,)*];
                ALL[0]
            }
        }

        impl Word for $name {
            const WHAT: &'static str = $what;
            fn all() -> impl Iterator<Item = Self> {
                [$($name::$variant,)*].into_iter()
            }
            fn text(self) -> &'static str {
                match self { $($name::$variant => $text,)* }
            }
        }
    )* };
}

own_words! {
    /// What happens to an attachment at the start of a pass.
    "load op" LoadWord {
        /// Filled with the clear value.
        Clear = "clear",
        /// Kept.
        Load = "load",
    }
    /// What happens to an attachment at the end of a pass.
    "store op" StoreWord {
        /// Written back.
        Store = "store",
        /// Left undefined.
        Discard = "discard",
    }
    /// What a buffer may be used for.
    "buffer usage" BufferUsageWord {
        /// Vertex buffer.
        Vertex = "vertex",
        /// Index buffer.
        Index = "index",
        /// Uniform binding.
        Uniform = "uniform",
        /// Storage binding.
        Storage = "storage",
        /// Arguments of indirect draws.
        Indirect = "indirect",
        /// Source of copies.
        CopySrc = "copy-src",
        /// Destination of copies.
        CopyDst = "copy-dst",
        /// Destination of query results.
        QueryResolve = "query-resolve",
    }
    /// What a texture may be used for.
    "texture usage" TextureUsageWord {
        /// Sampled or loaded.
        TextureBinding = "texture-binding",
        /// Stored to.
        StorageBinding = "storage-binding",
        /// Rendered to.
        RenderAttachment = "render-attachment",
        /// Source of copies.
        CopySrc = "copy-src",
        /// Destination of copies.
        CopyDst = "copy-dst",
    }
    /// Shape of a texture's view.
    "texture dimension" DimensionWord {
        /// One image.
        D2 = "2d",
        /// A row of texels.
        D1 = "1d",
        /// Array layers.
        D2Array = "2d-array",
        /// Six faces.
        Cube = "cube",
        /// Six faces a cube.
        CubeArray = "cube-array",
        /// Depth slices.
        D3 = "3d",
    }
    /// Part of a depth-stencil format.
    "aspect" AspectWord {
        /// Depth where there is depth.
        All = "all",
        /// Depth.
        DepthOnly = "depth-only",
        /// Stencil.
        StencilOnly = "stencil-only",
    }
    /// A shader's language.
    "shader language" LanguageWord {
        /// WebGPU's.
        Wgsl = "wgsl",
        /// SPIR-V as binary.
        SpirV = "spirv",
        /// SPIR-V as text.
        SpirVAssembly = "spvasm",
        /// OpenGL's.
        Glsl = "glsl",
        /// Direct3D's.
        Hlsl = "hlsl",
        /// Direct3D's compiled container.
        Dxbc = "dxbc",
        /// Direct3D's shader assembly.
        Assembly = "asm",
    }
    /// What a query counts.
    "query type" QueryWord {
        /// Samples that pass.
        Occlusion = "occlusion",
        /// What the pipeline did.
        PipelineStatistics = "pipeline-statistics",
    }
}

fn look_up<W: Word, E: Error>(text: &str) -> Result<W, E> {
    W::all().find(|w| w.text() == text).ok_or_else(|| {
        let known: Vec<_> = W::all().map(Word::text).collect();
        E::custom(format!(
            "`{text}` is no {}; one of {} is expected",
            W::WHAT,
            known.join(", ")
        ))
    })
}

/// Reads a word; for `#[serde(deserialize_with = "words::one")]`.
pub fn one<'de, W: Word, D: Deserializer<'de>>(from: D) -> Result<W, D::Error> {
    look_up(&String::deserialize(from)?)
}

/// Reads a word that may be left out or null.
pub fn optional<'de, W: Word, D: Deserializer<'de>>(from: D) -> Result<Option<W>, D::Error> {
    Option::<String>::deserialize(from)?
        .map(|text| look_up(&text))
        .transpose()
}

/// Reads a list of words.
pub fn list<'de, W: Word, D: Deserializer<'de>>(from: D) -> Result<Vec<W>, D::Error> {
    Vec::<String>::deserialize(from)?
        .iter()
        .map(|text| look_up(text))
        .collect()
}
