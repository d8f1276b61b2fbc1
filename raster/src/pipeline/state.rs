//! Pipeline state, with WebGPU's names and defaults (`GPURenderPipelineDescriptor`).

use crate::format::TextureFormat;
use crate::vertex::VertexFormat;
use quadrille_frontend::ir::{Builtin, Semantic, Shader};

macro_rules! named_enum {
    ($(#[$doc:meta])* $name:ident default $default:ident { $($(#[$vdoc:meta])* $variant:ident = $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[expect(missing_docs, reason = "WebGPU's names")]
        pub enum $name { $($(#[$vdoc])* $variant,)* }

        impl $name {
            /// All values.
            pub const ALL: &[$name] = &[$($name::$variant,)*];

            /// WebGPU's name.
            pub const fn name(self) -> &'static str {
                match self { $($name::$variant => $text,)* }
            }

            /// The value of that name.
            pub fn from_name(name: &str) -> Option<$name> {
                $name::ALL.iter().copied().find(|v| v.name() == name)
            }
        }

        impl Default for $name {
            fn default() -> Self {
                $name::$default
            }
        }
    };
}

named_enum! {
    /// How vertices form primitives.
    PrimitiveTopology default TriangleList {
        PointList = "point-list",
        LineList = "line-list",
        LineStrip = "line-strip",
        TriangleList = "triangle-list",
        TriangleStrip = "triangle-strip",
        /// Triangles around the first vertex: (i+1, i+2, 0). An extension, as are those below.
        TriangleFan = "triangle-fan",
        /// Adjacent vertices are for geometry shaders; here they are ignored.
        LineListAdjacency = "line-list-adjacency",
        LineStripAdjacency = "line-strip-adjacency",
        TriangleListAdjacency = "triangle-list-adjacency",
        TriangleStripAdjacency = "triangle-strip-adjacency",
    }
}
impl PrimitiveTopology {
    /// Whether its primitives are triangles.
    pub const fn has_triangles(self) -> bool {
        use PrimitiveTopology::*;
        matches!(
            self,
            TriangleList | TriangleStrip | TriangleFan | TriangleListAdjacency | TriangleStripAdjacency
        )
    }
}
named_enum! {
    /// Which winding is the front, as seen with y up.
    FrontFace default Ccw { Ccw = "ccw", Cw = "cw", }
}
named_enum! {
    /// Which faces are dropped.
    CullMode default None { None = "none", Front = "front", Back = "back", }
}
named_enum! {
    /// Type of the indices.
    IndexFormat default Uint16 { Uint16 = "uint16", Uint32 = "uint32", }
}
named_enum! {
    /// `new FUNC stored` (R-OM-5).
    CompareFunction default Always {
        Never = "never",
        Less = "less",
        Equal = "equal",
        LessEqual = "less-equal",
        Greater = "greater",
        NotEqual = "not-equal",
        GreaterEqual = "greater-equal",
        Always = "always",
    }
}
named_enum! {
    /// What happens to the stencil value (R-OM-23).
    StencilOperation default Keep {
        Keep = "keep",
        Zero = "zero",
        Replace = "replace",
        Invert = "invert",
        IncrementClamp = "increment-clamp",
        DecrementClamp = "decrement-clamp",
        IncrementWrap = "increment-wrap",
        DecrementWrap = "decrement-wrap",
    }
}
named_enum! {
    /// Blend factors (R-OM-31).
    BlendFactor default One {
        Zero = "zero",
        One = "one",
        Src = "src",
        OneMinusSrc = "one-minus-src",
        SrcAlpha = "src-alpha",
        OneMinusSrcAlpha = "one-minus-src-alpha",
        Dst = "dst",
        OneMinusDst = "one-minus-dst",
        DstAlpha = "dst-alpha",
        OneMinusDstAlpha = "one-minus-dst-alpha",
        SrcAlphaSaturated = "src-alpha-saturated",
        Constant = "constant",
        OneMinusConstant = "one-minus-constant",
        Src1 = "src1",
        OneMinusSrc1 = "one-minus-src1",
        Src1Alpha = "src1-alpha",
        OneMinusSrc1Alpha = "one-minus-src1-alpha",
    }
}
named_enum! {
    /// Blend operations (R-OM-30).
    BlendOperation default Add {
        Add = "add",
        Subtract = "subtract",
        ReverseSubtract = "reverse-subtract",
        Min = "min",
        Max = "max",
    }
}
named_enum! {
    /// Whether a vertex buffer advances by vertex or by instance.
    VertexStepMode default Vertex { Vertex = "vertex", Instance = "instance", }
}

named_enum! {
    /// Which API's rules hold where they differ (law N6). Direct3D 11: position.w is w, positions stay where they are
    /// declared, half floats round toward zero, inputs that the vertex shader doesn't write are zero, registers have no
    /// kind, gradients in varying flow are illegal. WebGPU: position.w is 1/w, positions follow the sample, half floats round to nearest even.
    Rules default WebGpu { WebGpu = "webgpu", D3d11 = "d3d11", }
}
named_enum! {
    /// Logic operations (R-OM-50); s is the shader's value, d the stored one.
    LogicOperation default Copy {
        Clear = "clear",
        Set = "set",
        Copy = "copy",
        CopyInverted = "copy-inverted",
        Noop = "noop",
        Invert = "invert",
        And = "and",
        Nand = "nand",
        Or = "or",
        Nor = "nor",
        Xor = "xor",
        Equivalent = "equivalent",
        AndReverse = "and-reverse",
        AndInverted = "and-inverted",
        OrReverse = "or-reverse",
        OrInverted = "or-inverted",
    }
}

named_enum! {
    /// Where the samples of a pixel are: at the standard positions (R-RAST-90), or all at its centre (R-RAST-91), which
    /// excludes shading at sample frequency and rectangular lines.
    SamplePattern default Standard { Standard = "standard", Center = "center", }
}

named_enum! {
    /// What becomes of gradients in varying flow under Direct3D's rules (R-PS-80, R-PS-85): the pipeline is refused, or
    /// only warned of. WebGPU's languages judge for themselves.
    GradientDivergence default Error { Error = "error", Warning = "warning", }
}

/// State that WebGPU doesn't have; all of it is off by default.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ExtendedState {
    /// Combines integers with what is stored, in every target; excludes blending (R-OM-50).
    pub logic_op: Option<LogicOperation>,
    /// Samples whose *stored* depth lies outside of these bounds (least, greatest) are dropped before all other tests.
    pub depth_bounds: Option<[f32; 2]>,
    /// Where the samples of a pixel are.
    pub sample_pattern: SamplePattern,
    /// Gradients that compare pixels of which some may not come by, under Direct3D's rules.
    pub gradient_divergence: GradientDivergence,
}

/// Blending of colour or alpha.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BlendComponent {
    /// The operation.
    pub operation: BlendOperation,
    /// Factor of the shader's value.
    pub src_factor: BlendFactor,
    /// Factor of the stored value.
    pub dst_factor: BlendFactor,
}

impl Default for BlendComponent {
    fn default() -> Self {
        BlendComponent {
            operation: BlendOperation::Add,
            src_factor: BlendFactor::One,
            dst_factor: BlendFactor::Zero,
        }
    }
}

/// Blending of a target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct BlendState {
    /// Red, green and blue.
    pub color: BlendComponent,
    /// Alpha.
    pub alpha: BlendComponent,
}

impl BlendFactor {
    /// Needs the shader's second source (R-OM-40).
    pub const fn is_second_source(self) -> bool {
        use BlendFactor::*;
        matches!(self, Src1 | OneMinusSrc1 | Src1Alpha | OneMinusSrc1Alpha)
    }

    /// A colour, which Direct3D doesn't take for alpha (R-OM-31).
    pub const fn is_color(self) -> bool {
        use BlendFactor::*;
        matches!(self, Src | OneMinusSrc | Dst | OneMinusDst | Src1 | OneMinusSrc1)
    }
}

impl BlendComponent {
    /// Whether a factor counts and is the second source's.
    pub const fn uses_second_source(&self) -> bool {
        !matches!(self.operation, BlendOperation::Min | BlendOperation::Max)
            && (self.src_factor.is_second_source() || self.dst_factor.is_second_source())
    }
}

/// A colour target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ColorTargetState {
    /// Format of the attachment.
    pub format: TextureFormat,
    /// Blending, if any.
    pub blend: Option<BlendState>,
    /// Components written: red 1, green 2, blue 4, alpha 8.
    pub write_mask: u8,
}

impl ColorTargetState {
    /// A target that is overwritten.
    pub fn new(format: TextureFormat) -> Self {
        ColorTargetState {
            format,
            blend: None,
            write_mask: 15,
        }
    }
}

named_enum! {
    /// Triangles filled, or their edges as lines (R-RAST-80).
    FillMode default Solid { Solid = "solid", Wireframe = "wireframe", }
}
named_enum! {
    /// How lines are drawn (R-RAST-50): by the diamond exit rule with all samples of a pixel alike, as rectangles 1.4
    /// pixels wide, sample by sample (Direct3D's quadrilateral lines), or as rectangles one pixel wide with what they
    /// cover of a pixel as a factor of the first target's alpha (R-RAST-57).
    LineMode default Aliased {
        Aliased = "aliased",
        Rectangular = "rectangular",
        AlphaAntialiased = "alpha-antialiased",
    }
}
named_enum! {
    /// What a point covers: all samples of one pixel (WebGPU, R-RAST-62), or the samples within a square of one pixel's
    /// size around it (Direct3D, R-RAST-60).
    PointMode default Pixel { Pixel = "pixel", Square = "square", }
}
named_enum! {
    /// Which vertex gives a primitive its constants, viewport and layer (R-RAST-130).
    ProvokingVertex default First { First = "first", Last = "last", }
}

/// Primitive state that WebGPU doesn't have. The default is WebGPU's behaviour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ExtendedPrimitiveState {
    /// Triangles or their edges.
    pub fill_mode: FillMode,
    /// How lines are drawn; edges of triangles too.
    pub line_mode: LineMode,
    /// How points are drawn.
    pub point_mode: PointMode,
    /// Which vertex is the provoking one.
    pub provoking_vertex: ProvokingVertex,
    /// An index of all ones cuts any topology, lists too, whatever `strip_index_format` says (R-RAST-133, Direct3D).
    pub restart: bool,
    /// Triangles cover every pixel that they touch (R-RAST-120 to 124, tier 3).
    pub conservative: bool,
    /// Samples of the rasterizer where they aren't the attachments' (R-RAST-110, `ForcedSampleCount`): 1, 4, 8 or 16; 0 is
    /// off. Only without depth-stencil attachment and at pixel frequency; above 1 with attachments of one sample.
    pub forced_samples: u32,
}

/// Primitive state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct PrimitiveState {
    /// How vertices form primitives.
    pub topology: PrimitiveTopology,
    /// Index format of strips, for primitive restart.
    pub strip_index_format: Option<IndexFormat>,
    /// Which winding is the front.
    pub front_face: FrontFace,
    /// Which faces are dropped.
    pub cull_mode: CullMode,
    /// Clamp depth instead of clipping it (R-RAST-18).
    pub unclipped_depth: bool,
    /// What WebGPU doesn't have.
    pub extended: ExtendedPrimitiveState,
}

/// Stencil state of one face.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct StencilFaceState {
    /// The test.
    pub compare: CompareFunction,
    /// When the stencil test fails.
    pub fail_op: StencilOperation,
    /// When it passes and the depth test fails.
    pub depth_fail_op: StencilOperation,
    /// When both pass.
    pub pass_op: StencilOperation,
}

impl StencilFaceState {
    /// Always passes and changes nothing.
    pub fn is_trivial(&self) -> bool {
        *self == StencilFaceState::default()
    }
}

/// Depth and stencil state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DepthStencilState {
    /// Format of the attachment.
    pub format: TextureFormat,
    /// Whether depth is written.
    pub depth_write_enabled: bool,
    /// The depth test.
    pub depth_compare: CompareFunction,
    /// Front faces, points and lines.
    pub stencil_front: StencilFaceState,
    /// Back faces.
    pub stencil_back: StencilFaceState,
    /// Bits compared.
    pub stencil_read_mask: u32,
    /// Bits written.
    pub stencil_write_mask: u32,
    /// Constant bias in units of the format (R-RAST-71, 72).
    pub depth_bias: i32,
    /// Bias by slope (R-RAST-70).
    pub depth_bias_slope_scale: f32,
    /// Limit of the bias (R-RAST-73).
    pub depth_bias_clamp: f32,
}

impl DepthStencilState {
    /// No test, no write.
    pub fn new(format: TextureFormat) -> Self {
        DepthStencilState {
            format,
            depth_write_enabled: false,
            depth_compare: CompareFunction::Always,
            stencil_front: StencilFaceState::default(),
            stencil_back: StencilFaceState::default(),
            stencil_read_mask: u32::MAX,
            stencil_write_mask: u32::MAX,
            depth_bias: 0,
            depth_bias_slope_scale: 0.0,
            depth_bias_clamp: 0.0,
        }
    }

    /// Whether the stencil buffer is tested or changed.
    pub fn uses_stencil(&self) -> bool {
        self.format.info().stencil && !(self.stencil_front.is_trivial() && self.stencil_back.is_trivial())
    }

    /// Whether a fragment that fails a test may change the stencil.
    pub fn changes_stencil_on_failure(&self) -> bool {
        let keeps =
            |f: &StencilFaceState| f.fail_op == StencilOperation::Keep && f.depth_fail_op == StencilOperation::Keep;
        self.uses_stencil()
            && self.stencil_write_mask & 0xff != 0
            && !(keeps(&self.stencil_front) && keeps(&self.stencil_back))
    }
}

/// Multisample state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MultisampleState {
    /// Samples a pixel.
    pub count: u32,
    /// Samples that may be written (R-RAST-96).
    pub mask: u32,
    /// Coverage from the first target's alpha (R-RAST-102).
    pub alpha_to_coverage_enabled: bool,
}

impl Default for MultisampleState {
    fn default() -> Self {
        MultisampleState {
            count: 1,
            mask: u32::MAX,
            alpha_to_coverage_enabled: false,
        }
    }
}

/// A vertex attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct VertexAttribute {
    /// Format in the buffer.
    pub format: VertexFormat,
    /// Byte offset in the element.
    pub offset: u64,
    /// The shader's location.
    pub shader_location: u32,
}

/// Layout of a vertex buffer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct VertexBufferLayout {
    /// Bytes from one element to the next.
    pub array_stride: u64,
    /// Vertex or instance.
    pub step_mode: VertexStepMode,
    /// Attributes.
    pub attributes: Vec<VertexAttribute>,
}

/// Everything a render pipeline is made of.
#[derive(Clone, Debug)]
pub struct PipelineDescriptor<'a> {
    /// For errors and profiles.
    pub label: &'a str,
    /// The vertex shader.
    pub vertex: &'a Shader,
    /// Vertex buffers by slot.
    pub buffers: &'a [VertexBufferLayout],
    /// The fragment shader.
    pub fragment: Option<&'a Shader>,
    /// Colour targets by location.
    pub targets: &'a [Option<ColorTargetState>],
    /// Primitive state.
    pub primitive: PrimitiveState,
    /// Depth and stencil state.
    pub depth_stencil: Option<DepthStencilState>,
    /// Multisample state.
    pub multisample: MultisampleState,
    /// Whose rules hold.
    pub rules: Rules,
    /// State beyond WebGPU's.
    pub extended: ExtendedState,
}

impl PipelineDescriptor<'_> {
    /// Samples that the rasterizer decides about.
    pub fn raster_samples(&self) -> u32 {
        match self.primitive.extended.forced_samples {
            0 => self.multisample.count,
            forced => forced,
        }
    }

    /// Whether its primitives are drawn as lines.
    pub fn draws_lines(&self) -> bool {
        use PrimitiveTopology::*;
        match self.primitive.topology {
            PointList => false,
            LineList | LineStrip | LineListAdjacency | LineStripAdjacency => true,
            _ => self.primitive.extended.fill_mode == FillMode::Wireframe,
        }
    }

    /// Whether the fragment shader reads a built-in.
    pub(super) fn reads(&self, builtin: Builtin) -> bool {
        let wanted = Semantic::Builtin(builtin);
        self.fragment
            .is_some_and(|f| f.inputs.iter().any(|(_, i)| i.semantic == wanted))
    }

    /// What its pairs say about a pixel.
    pub(crate) fn coverage_form(&self) -> CoverageForm {
        let line_mode = self.primitive.extended.line_mode;
        if self.reads(Builtin::InnerCoverage) {
            CoverageForm::Inner
        } else if self.draws_lines() && line_mode == LineMode::AlphaAntialiased {
            CoverageForm::Area
        } else if self.extended.sample_pattern == SamplePattern::Center && self.raster_samples() > 1 {
            CoverageForm::Center
        } else {
            CoverageForm::Samples(self.raster_samples())
        }
    }

    /// Whether the rasterizer's samples aren't the attachments'.
    pub fn has_own_samples(&self) -> bool {
        self.primitive.extended.forced_samples != 0
            || self.targets.iter().all(Option::is_none) && self.depth_stencil.is_none()
    }
}

/// What the coverage bytes of a pair mean, each a bit a pixel. But for samples all that is about whole pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CoverageForm {
    /// Samples at their places.
    Samples(u32),
    /// One byte for all samples, at the pixel's centre (R-RAST-91).
    Center,
    /// Whether the pixel is hit, and whether it lies inside (R-RAST-123).
    Inner,
    /// How much of the pixel is covered, in 1/65535, bit after bit (R-RAST-57). None of them is no hit.
    Area,
}

impl CoverageForm {
    /// Bits of [`Area`](CoverageForm::Area).
    pub const AREA_BITS: u32 = 16;

    /// Bytes: what rasterizer and program take for their samples.
    pub const fn bytes(self) -> u32 {
        match self {
            CoverageForm::Samples(n) => n,
            CoverageForm::Center => 1,
            CoverageForm::Inner => 4,
            CoverageForm::Area => CoverageForm::AREA_BITS,
        }
    }
}
