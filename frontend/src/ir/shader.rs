//! Shaders, functions and structured bodies.
//!
//! **Execution model.** Every value is one scalar per lane. An instruction in a body computes *all* lanes; only writes
//! (locals, arrays, memory, outputs, `Discard`) are limited to the lanes that are *active* there. A lane leaves a
//! body by `Break`, `Continue` or `Return`; it is active again after the construct it left. Where no lane is active
//! a body need not run, which nothing can observe. So a quad_read of a value computed from locals sees, for an
//! inactive lane, what that lane's locals last held (R-PS-71, law L2).
//!
//! Helper invocations are active like any other lane; they only don't store (R-PS-50). A value may be used in the
//! body that defines it and in bodies nested there, after its definition.

use super::arena::{Arena, Handle};
use super::kind::{Kind, Literal};
use super::op::Op;
use super::span::{Sources, SpanId};
use super::texture::Dim;
use smallvec::SmallVec;

/// Pipeline stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Stage {
    Vertex,
    Fragment,
    Compute,
}

/// How a fragment input is interpolated (R-RAST-140).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Interpolation {
    /// Perspective-correct.
    #[default]
    Perspective,
    /// Linear in screen space.
    Linear,
    /// The provoking vertex' bits.
    Flat,
}

/// Where a fragment input is evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Sampling {
    /// Pixel centre.
    #[default]
    Center,
    /// Centroid (R-RAST-99).
    Centroid,
    /// Each sample; makes the shader run at sample frequency.
    Sample,
}

/// Built-in inputs and outputs; vectors are taken apart, `u8` is the component.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Builtin {
    /// Clip position out of the vertex stage; fragment position (x, y, z, and w as the dialect defines it).
    Position(u8),
    /// Vertex index (with base vertex).
    VertexIndex,
    /// Instance index (with first instance).
    InstanceIndex,
    /// Bool.
    FrontFacing,
    /// u32.
    SampleIndex,
    /// u32, in and out.
    SampleMask,
    /// u32 in: bit 0 where the primitive covers the pixel whole (R-RAST-123). Bool for SPIR-V's `FullyCoveredEXT`.
    InnerCoverage,
    /// f32 out.
    FragDepth,
    /// u32.
    PrimitiveIndex,
    /// Clip distance i out of the vertex stage.
    ClipDistance(u8),
    /// Cull distance i.
    CullDistance(u8),
    /// u32 out of the vertex stage: which viewport and scissor the primitive takes (R-RAST-22); in: as it was written.
    ViewportIndex,
    /// u32 out of the vertex stage: layer of the attachments (R-RAST-27); in: as it was written.
    Layer,
    /// Point size; accepted and ignored where points are one pixel.
    PointSize,
    /// View index (0).
    ViewIndex,
}

/// What a fragment shader promises about the depth it writes (R-PS-28).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum DepthOutput {
    /// Nothing.
    #[default]
    Any,
    /// At least the rasterizer's depth.
    GreaterEqual,
    /// At most the rasterizer's depth.
    LessEqual,
}

/// What connects a stage input or output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Semantic {
    /// Component of a user location (or of a colour target for fragment outputs).
    Location {
        /// The location.
        location: u32,
        /// 0..4.
        component: u8,
        /// Second source of dual-source blending (fragment outputs).
        second_source: bool,
    },
    /// A built-in.
    Builtin(Builtin),
}

/// A scalar input of the entry point.
#[derive(Clone, Debug, PartialEq)]
pub struct Input {
    /// Name for diagnostics.
    pub name: String,
    /// What feeds it.
    pub semantic: Semantic,
    /// Its kind.
    pub kind: Kind,
    /// Fragment inputs: interpolation.
    pub interpolation: Interpolation,
    /// Fragment inputs: where.
    pub sampling: Sampling,
}

/// A scalar output of the entry point: a local of the entry function whose value at its end counts.
#[derive(Clone, Debug, PartialEq)]
pub struct Output {
    /// Name for diagnostics.
    pub name: String,
    /// What it feeds.
    pub semantic: Semantic,
    /// Its kind.
    pub kind: Kind,
    /// The entry function's local.
    pub local: Handle<Local>,
    /// Vertex outputs: no contraction in the backward slice (`@invariant`, positions, `precise`; law N2).
    pub invariant: bool,
}

/// Where a resource is bound (law I5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Binding {
    /// WebGPU, Vulkan.
    WebGpu {
        /// Bind group or descriptor set.
        group: u32,
        /// Binding in it.
        binding: u32,
    },
    /// Direct3D.
    Register {
        /// b, t, s or u.
        class: char,
        /// Number.
        register: u32,
        /// Space.
        space: u32,
    },
}

/// Component class of a texture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names say it")]
pub enum SampleKind {
    Float,
    UnfilterableFloat,
    Sint,
    Uint,
    Depth,
}

/// What a resource is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ResourceClass {
    /// Read-only buffer of bounded size.
    Uniform {
        /// Bytes that must be bound for `Proved` accesses.
        min_size: u64,
    },
    /// Storage buffer.
    Storage {
        /// Whether the shader may write it.
        writable: bool,
        /// Bytes that must be bound for `Proved` accesses.
        min_size: u64,
    },
    /// Sampled texture.
    Texture {
        /// Shape.
        dim: Dim,
        /// Whether it has array layers.
        array: bool,
        /// Whether it is multisampled.
        multisampled: bool,
        /// Component class.
        sample: SampleKind,
    },
    /// Storage texture.
    StorageTexture {
        /// Shape.
        dim: Dim,
        /// Whether it has array layers.
        array: bool,
        /// WebGPU's name of the texel format.
        format: String,
        /// Whether the shader reads it.
        readable: bool,
        /// Whether the shader writes it.
        writable: bool,
    },
    /// Sampler.
    Sampler {
        /// Comparison sampler.
        comparison: bool,
    },
    /// Immediates (push constants), read-only.
    Immediate {
        /// Bytes.
        size: u32,
    },
}

/// A resource that the shader names.
#[derive(Clone, Debug, PartialEq)]
pub struct Resource {
    /// Its name in the source.
    pub name: String,
    /// Declaration.
    pub span: Option<SpanId>,
    /// What it is.
    pub class: ResourceClass,
    /// Elements of a binding array; 1 if it isn't one.
    pub count: u32,
    /// Where it is bound.
    pub binding: Binding,
}

impl Resource {
    /// Whether nothing the shader does can change it.
    pub fn is_read_only(&self) -> bool {
        !matches!(
            self.class,
            ResourceClass::Storage { writable: true, .. } | ResourceClass::StorageTexture { writable: true, .. }
        )
    }
}

/// A per-lane mutable scalar.
#[derive(Clone, Debug, PartialEq)]
pub struct Local {
    /// Name for diagnostics, may be empty.
    pub name: String,
    /// Its kind.
    pub kind: Kind,
    /// Value at function entry.
    pub init: Literal,
}

/// A per-lane array of scalars with dynamic indexing.
#[derive(Clone, Debug, PartialEq)]
pub struct LocalArray {
    /// Name for diagnostics, may be empty.
    pub name: String,
    /// Kind of the elements.
    pub kind: Kind,
    /// Elements, at least 1. They start as zero, unless `init` says otherwise.
    pub len: u32,
    /// Constant contents at entry: empty (zeros) or `len` bit patterns.
    pub init: Vec<u32>,
}

/// Where a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Def {
    /// Parameter i of the function.
    Param(u32),
    /// Result i of an instruction.
    Inst(InstId, u8),
}

/// A value: one scalar per lane, defined once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValueData {
    /// Its kind.
    pub kind: Kind,
    /// Its definition.
    pub def: Def,
}

/// Handle of a value.
pub type Value = Handle<ValueData>;
/// Handle of an instruction.
pub type InstId = Handle<Inst>;
/// Operands of an instruction.
pub type Args = SmallVec<[Value; 4]>;

/// An instruction.
#[derive(Clone, Debug, PartialEq)]
pub struct Inst {
    /// What it does.
    pub op: Op,
    /// Its operands.
    pub args: Args,
    /// Its results: consecutive values from this one.
    pub first_result: Option<Value>,
    /// How many.
    pub result_count: u8,
    /// Source position.
    pub span: Option<SpanId>,
}

impl Inst {
    /// The results, in order.
    pub fn results(&self) -> impl ExactSizeIterator<Item = Value> + use<> {
        let first = self.first_result.map_or(0, |v| v.index());
        (first..first + usize::from(self.result_count)).map(Value::from_index)
    }

    /// The single result.
    ///
    /// # Panics
    /// If there isn't exactly one.
    pub fn result(&self) -> Value {
        assert!(
            self.result_count == 1,
            "{:?} has {} results",
            self.op,
            self.result_count
        );
        Value::from_index(self.first_result.map_or(0, |v| v.index()))
    }
}

/// Label of a `Block`, `Loop` or `Switch`, unique in its function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Label(pub u32);

/// Statements in order.
pub type Body = Vec<Stmt>;

/// A statement.
#[derive(Clone, Debug, PartialEq)]
pub enum Stmt {
    /// An instruction.
    Inst(InstId),
    /// A labelled sequence; `Break(label)` goes to its end.
    Block {
        /// Its label.
        label: Label,
        /// Its statements.
        body: Body,
    },
    /// Two-way branch on a bool.
    If {
        /// The condition.
        cond: Value,
        /// Lanes in which it is true.
        then: Body,
        /// The other lanes.
        otherwise: Body,
        /// Source position of the branch.
        span: Option<SpanId>,
    },
    /// A loop: `body`, then `continuing` (where `Continue(label)` goes too), then, unless `break_if` is true, again.
    Loop {
        /// Its label.
        label: Label,
        /// The body.
        body: Body,
        /// The continuing block: no `Break` of this loop, no `Continue`, no `Return` in it. Values of `body` are
        /// not visible in it.
        continuing: Body,
        /// Lanes in which it is true leave; a value of `continuing` or from outside the loop.
        break_if: Option<Value>,
        /// Iterations.
        bound: LoopBound,
        /// Source position.
        span: Option<SpanId>,
    },
    /// Multi-way branch.
    Switch {
        /// `Break(label)` goes to its end.
        label: Label,
        /// An i32 or u32.
        selector: Value,
        /// Cases in order.
        cases: Vec<Case>,
        /// Source position.
        span: Option<SpanId>,
    },
    /// To the end of the enclosing construct with that label.
    Break(Label),
    /// To the continuing block of the enclosing loop with that label.
    Continue(Label),
    /// Ends the function with these results.
    Return(Args),
}

/// How often a loop may run (law I7).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LoopBound {
    /// Not known: iterations count against the invocation's budget.
    Budgeted,
    /// Proved to run at most this often.
    AtMost(u32),
}

/// A case of a switch.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// Selector values (bits); none and `default` false never matches.
    pub values: Vec<u32>,
    /// Whether it takes what no case matches.
    pub default: bool,
    /// Its statements.
    pub body: Body,
    /// Whether its end goes on in the next case instead of the switch's end.
    pub falls_through: bool,
}

/// A function.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// Parameters, in order.
    pub params: Vec<Value>,
    /// Kinds of the results.
    pub results: Vec<Kind>,
    /// All values.
    pub values: Arena<ValueData>,
    /// All instructions; only those that the body names count.
    pub insts: Arena<Inst>,
    /// Locals.
    pub locals: Arena<Local>,
    /// Per-lane arrays.
    pub arrays: Arena<LocalArray>,
    /// Labels handed out.
    pub label_count: u32,
    /// The statements.
    pub body: Body,
}

impl Function {
    /// The literal, if the value is a constant.
    pub fn constant(&self, value: Value) -> Option<Literal> {
        match self.values[value].def {
            Def::Inst(inst, _) => match self.insts[inst].op {
                Op::Const(literal) => Some(literal),
                _ => None,
            },
            Def::Param(_) => None,
        }
    }

    /// The instruction that defines the value, unless it is a parameter.
    pub fn def_inst(&self, value: Value) -> Option<&Inst> {
        match self.values[value].def {
            Def::Inst(inst, _) => Some(&self.insts[inst]),
            Def::Param(_) => None,
        }
    }

    /// The value's kind.
    pub fn kind(&self, value: Value) -> Kind {
        self.values[value].kind
    }
}

/// A shader: one entry point with what it reaches.
#[derive(Clone, Debug, PartialEq)]
pub struct Shader {
    /// Name of the entry point.
    pub name: String,
    /// Stage.
    pub stage: Stage,
    /// Stage inputs.
    pub inputs: Arena<Input>,
    /// Stage outputs.
    pub outputs: Vec<Output>,
    /// Resources.
    pub resources: Arena<Resource>,
    /// Functions.
    pub functions: Arena<Function>,
    /// The entry function: no parameters, no results.
    pub entry: Handle<Function>,
    /// Fragment: `[earlydepthstencil]` and the like (R-PS-43).
    pub early_depth_stencil: bool,
    /// Fragment: what the depth output promises.
    pub depth_output: DepthOutput,
    /// Source texts and spans.
    pub sources: Sources,
}
