//! Instructions: what an [`Op`] is, which operands it takes, and what it may touch.

use super::alu::Alu;
use super::arena::Handle;
use super::kind::{Kind, Literal};
use super::shader::{Function, Input, Local, LocalArray, Resource};
use super::texture::{SampleOp, TexelOp, TextureQuery};

/// Reading other lanes of the quad. Lanes: 0 UL, 1 UR, 2 LL, 3 LR.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum QuadOp {
    /// Lane 1 minus lane 0, in all lanes (R-PS-65).
    DdxCoarse,
    /// Right minus left of the own row (R-PS-64).
    DdxFine,
    /// Lane 2 minus lane 0, in all lanes.
    DdyCoarse,
    /// Bottom minus top of the own column.
    DdyFine,
    /// The horizontal neighbour's value.
    SwapX,
    /// The vertical neighbour's value.
    SwapY,
    /// The opposite corner's value.
    SwapDiagonal,
    /// That lane's value in all lanes.
    Broadcast(u8),
}

/// What an access outside a buffer does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OutOfBounds {
    /// Loads and atomics give 0, stores vanish (R-WGSL-71).
    Zero,
    /// The access is inside whatever is bound: checked when the resource is bound (minimum binding size).
    Proved,
}

/// How memory is touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Access {
    /// Policy out of bounds.
    pub bounds: OutOfBounds,
    /// Known alignment of the byte offset.
    pub align: u8,
}

/// A resource operand. If `indexed`, the instruction's first operand(s) select the element of the binding array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ResourceRef {
    /// The resource.
    pub resource: Handle<Resource>,
    /// Whether a u32 operand selects an element.
    pub indexed: bool,
}

/// Read-modify-write operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names say it")]
pub enum AtomicOp {
    Add,
    Sub,
    And,
    Or,
    Xor,
    SMin,
    SMax,
    UMin,
    UMax,
    Exchange,
    /// Two results: the old value and whether the exchange happened. Operands: compare, value.
    CompareExchange,
}

/// Where [`Op::InputAt`] evaluates an input (R-RAST-147).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum InputPoint {
    /// At a sample (operand: index u32; beyond the last: the pixel's centre).
    Sample,
    /// At the centroid (R-RAST-99).
    Centroid,
    /// Off the pixel's centre (operands: x and y in pixels, f32).
    Offset,
}

/// An operation. Operand order is stated per variant; pure [`Alu`] operations have their own table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// A constant.
    Const(Literal),
    /// A pure scalar operation.
    Alu(Alu),
    /// The operand's bits as another kind of the same width.
    Bitcast(Kind),
    /// Conversion between kinds of different width or class that no [`Alu`] covers (8/16/64-bit, f16, f64).
    Convert(Kind),
    /// Reads other lanes (law L2).
    Quad(QuadOp),
    /// Reads a local.
    LocalGet(Handle<Local>),
    /// Writes a local (operand: value) in the lanes that are active. `merge` false: inactive lanes' old value is
    /// never observed again, so a back end may overwrite them (law L7); true is always right.
    LocalSet {
        /// The local.
        local: Handle<Local>,
        /// Whether inactive lanes must keep their value.
        merge: bool,
    },
    /// Reads an element of a per-lane array (operand: u32 index, clamped to the last; R-WGSL-71).
    ArrayGet(Handle<LocalArray>),
    /// Writes an element in the active lanes (operands: index, value), index clamped.
    ArraySet(Handle<LocalArray>),
    /// Sets all elements to the array's initial contents in the active lanes.
    ArrayReset(Handle<LocalArray>),
    /// A stage input.
    Input(Handle<Input>),
    /// A fragment input evaluated elsewhere than it is declared; its interpolation is kept. Built-ins can't be.
    InputAt {
        /// The input.
        input: Handle<Input>,
        /// Where.
        at: InputPoint,
    },
    /// A 32-bit scalar from a buffer (operands: `[element]`, byte offset u32).
    BufferLoad {
        /// The buffer.
        buffer: ResourceRef,
        /// Kind of the result.
        kind: Kind,
        /// Bounds and alignment.
        access: Access,
    },
    /// Stores a 32-bit scalar (operands: `[element]`, byte offset, value) in active lanes that aren't helpers.
    BufferStore {
        /// The buffer.
        buffer: ResourceRef,
        /// Bounds and alignment.
        access: Access,
    },
    /// Atomic on a 32-bit word (operands: `[element]`, byte offset, value or compare and value); gives the old
    /// value, 0 for helpers (R-PS-50).
    BufferAtomic {
        /// The buffer.
        buffer: ResourceRef,
        /// The operation.
        op: AtomicOp,
        /// Bounds and alignment.
        access: Access,
    },
    /// Accessible bytes of a buffer, u32 (operands: `[element]`).
    BufferSize(ResourceRef),
    /// Samples a texture (operands: `[texture element]`, `[sampler element]`, then as in [`SampleOp`]).
    Sample {
        /// The texture.
        texture: ResourceRef,
        /// The sampler.
        sampler: ResourceRef,
        /// What and how.
        op: SampleOp,
    },
    /// Loads a texel (operands: `[element]`, then as in [`TexelOp`]); 4 results of the kind.
    TexelLoad {
        /// The texture.
        texture: ResourceRef,
        /// What and how.
        op: TexelOp,
        /// F32, I32 or U32.
        kind: Kind,
    },
    /// Stores a texel (operands: `[element]`, coordinates, `[layer]`, 4 components).
    TexelStore {
        /// The storage texture.
        texture: ResourceRef,
        /// What and how.
        op: TexelOp,
    },
    /// Asks a texture's sizes, u32 (operands: `[element]`, level if the query takes one).
    TextureQuery {
        /// The texture.
        texture: ResourceRef,
        /// What is asked.
        query: TextureQuery,
    },
    /// Calls a function (operands: arguments); gone after inlining.
    Call(Handle<Function>),
    /// Turns the active lanes into helper invocations (R-WGSL-16).
    Discard,
    /// Whether the lane is a helper now.
    IsHelper,
    /// Workgroup barrier; executors refuse it until compute exists (law I6).
    Barrier,

    // Operations of assembled pipeline programs only: no front end makes them.
    /// A draw-rate word of the context's `draw` block.
    DrawLoad {
        /// Word index.
        word: u32,
        /// Kind of the result.
        kind: Kind,
    },
    /// A primitive-rate word of the run's primitive record.
    PrimLoad {
        /// Byte offset in the record.
        offset: u32,
        /// Kind of the result.
        kind: Kind,
    },
    /// A primitive-rate word of one of the primitive's vertex attribute blocks.
    PrimVertexLoad {
        /// 0, 1 or 2.
        vertex: u8,
        /// Byte offset in the block.
        offset: u32,
        /// Kind of the result.
        kind: Kind,
    },
    /// The lane's pixel x, u32, absolute in the target.
    PixelX,
    /// The lane's pixel y, u32, absolute in the target.
    PixelY,
    /// Whether the primitive covers sample `sample` of the lane's pixel.
    Coverage {
        /// Sample index.
        sample: u8,
    },
    /// The lane's word of a tile plane.
    TileLoad {
        /// Plane index.
        plane: u32,
        /// F32, I32 or U32.
        kind: Kind,
    },
    /// Writes the lane's word of a tile plane in active lanes where the mask is true (operands: value, mask bool).
    TileStore {
        /// Plane index.
        plane: u32,
    },
    /// The lane's word of an input cell (vertex programs).
    CellLoad {
        /// Slot within the group's cells.
        slot: u32,
        /// Kind of the result.
        kind: Kind,
    },
    /// Makes the active lanes helpers where the operand (bool) is true, and no helpers where it is false: how a program
    /// that shades sample by sample starts each sample's invocation (R-RAST-93, R-PS-55). Lanes that cover nothing must
    /// stay helpers: executors may leave quads of such lanes out.
    SetHelper,
    /// Writes the lane's word of an output cell (operand: value), all lanes.
    CellStore {
        /// Slot within the group's cells.
        slot: u32,
    },
    /// Adds the number of active lanes in which the operand (bool) is true to the context's invocation count.
    CountInvocations,
    /// The same to the context's count of samples that passed all tests.
    CountSamples,
    /// Shows its operands, any number of them, to whoever watches the program; the number says what they are. Nobody else
    /// has it in a program.
    Note(u32),
}

/// What an instruction may depend on or change, coarsest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Effect {
    /// Depends on operands only: may be merged, moved within its mask's meaning, removed.
    Pure,
    /// Depends on operands of other lanes too (law L2): may be removed; merged or moved only where no local that
    /// reaches its operands changes and the exec mask is the same.
    QuadRead,
    /// Reads memory or locals that may change.
    Reads,
    /// Changes memory, locals or the helper state.
    Writes,
}

impl Op {
    /// The operation's effect. Buffer and texel loads of read-only resources count as pure where `read_only` says so.
    pub fn effect(&self, read_only: impl Fn(Handle<Resource>) -> bool) -> Effect {
        match self {
            Op::Const(_)
            | Op::Alu(_)
            | Op::Bitcast(_)
            | Op::Convert(_)
            | Op::Input(_)
            | Op::InputAt { .. }
            | Op::BufferSize(_)
            | Op::TextureQuery { .. }
            | Op::DrawLoad { .. }
            | Op::PrimLoad { .. }
            | Op::PrimVertexLoad { .. }
            | Op::PixelX
            | Op::PixelY
            | Op::Coverage { .. }
            | Op::CellLoad { .. } => Effect::Pure,
            Op::Quad(_) => Effect::QuadRead,
            Op::Sample { op, .. } if op.is_quad_read() => Effect::QuadRead,
            Op::Sample { .. } => Effect::Pure,
            Op::BufferLoad { buffer, .. } if read_only(buffer.resource) => Effect::Pure,
            Op::TexelLoad { texture, .. } if read_only(texture.resource) => Effect::Pure,
            Op::BufferLoad { .. }
            | Op::TexelLoad { .. }
            | Op::LocalGet(_)
            | Op::ArrayGet(_)
            | Op::TileLoad { .. }
            | Op::IsHelper => Effect::Reads,
            Op::LocalSet { .. }
            | Op::ArraySet(_)
            | Op::ArrayReset(_)
            | Op::BufferStore { .. }
            | Op::BufferAtomic { .. }
            | Op::TexelStore { .. }
            | Op::Call(_)
            | Op::Discard
            | Op::SetHelper
            | Op::Barrier
            | Op::TileStore { .. }
            | Op::CellStore { .. }
            | Op::CountInvocations
            | Op::CountSamples
            | Op::Note(_) => Effect::Writes,
        }
    }
}
