//! The compact program that the machine runs.

use super::watch::What;
use quadrille_frontend::ir::{Alu, AtomicOp, QuadOp, SampleOp, SpanId, TexelOp, TextureQuery};

/// A register: four lanes of 32 bits.
pub(super) type Reg = u32;
/// A mask slot: four bits.
pub(super) type Mask = u32;
/// An instruction's index.
pub(super) type Pc = u32;

/// A resource operand: first slot, and the register of the element if it is indexed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    pub first: u32,
    pub count: u32,
    pub element: Option<Reg>,
}

/// An instruction. Control instructions work on the active mask.
#[derive(Clone, Debug)]
pub(super) enum Inst {
    Alu1(Alu, Reg, Reg),
    Alu2(Alu, Reg, Reg, Reg),
    Alu3(Alu, Reg, Reg, Reg, Reg),
    Move(Reg, Reg),
    Quad {
        op: QuadOp,
        float: bool,
        to: Reg,
        from: Reg,
    },
    /// Masked move: writes to locals.
    Set(Reg, Reg),
    ArrayGet {
        array: u32,
        to: Reg,
        index: Reg,
    },
    ArraySet {
        array: u32,
        index: Reg,
        value: Reg,
    },
    ArrayReset {
        array: u32,
    },
    /// Checked whatever the access policy: it costs the oracle nothing.
    BufferLoad {
        slot: Slot,
        to: Reg,
        offset: Reg,
    },
    BufferStore {
        slot: Slot,
        offset: Reg,
        value: Reg,
    },
    BufferAtomic {
        slot: Slot,
        op: AtomicOp,
        to: Reg,
        exchanged: Option<Reg>,
        offset: Reg,
        value: Reg,
        compare: Reg,
    },
    BufferSize {
        slot: Slot,
        to: Reg,
    },
    Sample {
        texture: Slot,
        sampler: Slot,
        op: SampleOp,
        to: Reg,
        args: Box<[Reg]>,
    },
    TexelLoad {
        texture: Slot,
        op: TexelOp,
        to: Reg,
        args: Box<[Reg]>,
    },
    TexelStore {
        texture: Slot,
        op: TexelOp,
        args: Box<[Reg]>,
    },
    TextureQuery {
        texture: Slot,
        query: TextureQuery,
        to: Reg,
        level: Option<Reg>,
    },
    Discard,
    IsHelper(Reg),
    SetHelper(Reg),
    DrawLoad {
        word: u32,
        to: Reg,
    },
    PrimLoad {
        offset: u32,
        to: Reg,
    },
    PrimVertexLoad {
        vertex: u8,
        offset: u32,
        to: Reg,
    },
    PixelX(Reg),
    PixelY(Reg),
    Coverage {
        sample: u8,
        to: Reg,
    },
    TileLoad {
        plane: u32,
        to: Reg,
    },
    TileStore {
        plane: u32,
        value: Reg,
        mask: Reg,
    },
    CellLoad {
        slot: u32,
        to: Reg,
    },
    CellStore {
        slot: u32,
        value: Reg,
    },
    CountInvocations(Reg),
    CountSamples(Reg),
    /// Nothing, but for who watches.
    Note,

    /// Enters the then-side, or goes to `otherwise` (an `Else`) if no lane does.
    If {
        cond: Reg,
        saved: Mask,
        otherwise: Pc,
    },
    /// Leaves the then-side for the else-side, or goes to `end` (an `EndIf`) if no lane does.
    Else {
        cond: Reg,
        saved: Mask,
        then: Mask,
        end: Pc,
    },
    EndIf {
        then: Mask,
    },
    Block {
        broken: Mask,
    },
    EndBlock {
        broken: Mask,
    },
    /// Enters a loop, or goes to `end` (one past the loop) if no lane is active.
    Loop {
        broken: Mask,
        end: Pc,
    },
    /// Start of an iteration; `budget` is the loop's number if it counts.
    Iterate {
        continued: Mask,
        budget: Option<u32>,
    },
    Continuing {
        continued: Mask,
    },
    EndLoop {
        broken: Mask,
        break_if: Option<Reg>,
        head: Pc,
    },
    Break {
        broken: Mask,
    },
    Continue {
        continued: Mask,
    },
    /// Spreads the active lanes over the cases' entry masks; the rest goes to the default's, or to `broken`.
    Switch {
        selector: Reg,
        broken: Mask,
        fall: Mask,
        cases: Box<[(Box<[u32]>, Mask)]>,
        default: Option<Mask>,
    },
    Case {
        entry: Mask,
        fall: Mask,
    },
    EndCase {
        broken: Mask,
        fall: Mask,
        falls_through: bool,
    },
    EndSwitch {
        broken: Mask,
        fall: Mask,
    },
    Return,
}

/// A per-lane array: first word in the array storage (element-major, 4 lanes each).
#[derive(Clone, Debug)]
pub(super) struct Array {
    pub first: usize,
    pub len: u32,
    pub init: Vec<u32>,
}

/// A compiled program.
#[derive(Clone, Debug, Default)]
pub(super) struct Code {
    pub insts: Vec<Inst>,
    /// What each is to whoever watches.
    pub origins: Vec<Option<What>>,
    pub registers: usize,
    pub constants: Vec<(Reg, u32)>,
    /// Registers that start every invocation with a value: locals.
    pub inits: Vec<(Reg, u32)>,
    pub masks: usize,
    pub arrays: Vec<Array>,
    pub array_words: usize,
    pub loop_spans: Vec<Option<SpanId>>,
    pub plane_stride: usize,
    pub samples: usize,
    pub wide_pairs: bool,
    pub cells_in: usize,
    pub cells_out: usize,
}
