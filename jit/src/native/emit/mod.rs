//! IR to CLIF: one function `fn(*mut Context)` per program.
//!
//! ```text
//! entry ─ draw-rate values
//!   └─ runs (fragment) or groups (vertex) ─ primitive-rate values
//!        └─ pairs
//!             └─ steps: one of 8 lanes, or two of 4 ─ the body
//! ```
//!
//! A lane value is an `F32X4`/`I32X4`, a bool an `I32X4` of zeros and ones; a value alike in all lanes stays a scalar
//! and is splat where a lane operation needs it. With 8 lanes the same code is widened afterwards, so a vector means
//! "the value of one quad" and nothing here may look across quads (law L5): no vectors in signatures, no lane insertion
//! or extraction, no stack slots, jump tables, trapping operations or library calls.

mod alu;
mod arrays;
mod buffers;
mod calls;
mod control;
mod entry;
mod lanes;
mod parking;

use super::flow::{Flow, MAX_DEPTH};
use super::interleave::Region;
use super::isa::Target;
use super::rates::Rates;
use crate::abi::CALL_CELLS;
use crate::program::{CompileError, Program, ProgramKind};
use arrays::ArrayHome;
use cranelift_codegen::ir::{
    self as cl, AbiParam, Block, ConstantData, Endianness, InstBuilder, MemFlagsData, Signature, UserFuncName, types,
};
use cranelift_codegen::isa::TargetIsa;
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext, Variable};
use parking::Parking;
use quadrille_frontend::ir::{Body, Function, InstId, Kind, Literal, Op, SpanId, Stmt, Value};
use std::collections::HashMap;

/// Bytes of a cell.
const CELL: i32 = 32;
/// Most IR instructions of a program.
const MAX_INSTRUCTIONS: usize = 200_000;

/// Flags of memory that doesn't change during a call.
const CONSTANT: MemFlagsData = MemFlagsData::new().with_notrap().with_readonly().with_can_move();
/// Flags of memory that may change.
const MEMORY: MemFlagsData = MemFlagsData::new().with_notrap();
/// Flags of bitcasts.
const BITS: MemFlagsData = MemFlagsData::new().with_endianness(Endianness::Little);

/// Words that loads from nowhere read: a null texture's sizes, a word out of bounds.
static ZEROS: [u64; 8] = [0; 8];

/// Addresses that stand in code as numbers, and their names.
pub(super) fn known_addresses() -> Vec<(u64, &'static str)> {
    let mut known = calls::known_addresses();
    known.push((ZEROS.as_ptr().addr() as u64, "zeros"));
    known
}

/// A finished CLIF function with what belongs to it.
pub(crate) struct Emitted {
    /// The function.
    pub function: cl::Function,
    /// Scratch cells it needs.
    pub scratch_cells: usize,
    /// Spans of the budgeted loops, in program order.
    pub loops: Vec<Option<SpanId>>,
    /// Read-only tables whose addresses stand in the code.
    pub tables: Vec<Box<[u32]>>,
    /// IR instructions of the program.
    pub instructions: usize,
    /// The part to be doubled by [`interleave`](super::interleave::interleave).
    pub region: Option<Region>,
    /// Whether the program is short enough to be optimised.
    pub short: bool,
}

/// Translates a program for steps of `lanes` lanes.
///
/// Programs of more than `longest` instructions are made to be compiled fast, see [`parking`].
///
/// With `pairs` 2 a fragment program has a loop over two pairs at a time ahead of that over single ones, of which the
/// second pair is still missing: [`Emitted::region`].
pub(crate) fn emit(
    program: &Program,
    target: &Target,
    lanes: u32,
    pairs: u32,
    longest: usize,
    name: u32,
) -> Result<Emitted, CompileError> {
    let f = &program.function;
    if f.insts.len() > MAX_INSTRUCTIONS {
        return Err(CompileError::TooLarge {
            what: format!("{} instructions, the limit is {MAX_INSTRUCTIONS}", f.insts.len()),
        });
    }
    if nesting(&f.body, 0) > MAX_DEPTH {
        return Err(CompileError::TooLarge {
            what: format!("control flow is nested deeper than {MAX_DEPTH} levels"),
        });
    }
    let rates = Rates::of(program);
    let parking = Parking::of(f, &rates, longest);
    let short = parking.is_none();
    let flow = Flow::of(&f.body, f.label_count, &|v| !rates.scalar(v));
    let isa: &dyn TargetIsa = &**target.isa(true);
    let mut signature = Signature::new(isa.default_call_conv());
    signature.params.push(AbiParam::new(types::I64));
    let mut function = cl::Function::with_name_signature(UserFuncName::user(0, name), signature);
    let mut context = FunctionBuilderContext::new();
    let mut emitter = Emitter {
        b: FunctionBuilder::new(&mut function, &mut context),
        program,
        f,
        target,
        rates,
        flow,
        lanes,
        values: vec![None; f.values.len()],
        done: vec![false; f.insts.len()],
        locals: Vec::new(),
        arrays: Vec::new(),
        labels: HashMap::new(),
        constants: HashMap::new(),
        splats: HashMap::new(),
        parking,
        env: None,
        exec: Exec::Full,
        maybe_empty: false,
        exec_var: Variable::from_u32(0),
        helper_var: None,
        budget: None,
        tables: Vec::new(),
        scratch_cells: CALL_CELLS,
        instructions: 0,
        call_sig: None,
        // A long program keeps the CPU busy by itself.
        pairs: if short { pairs } else { 1 },
        region: None,
        counts: Vec::new(),
    };
    emitter.program()?;
    let loops = emitter.flow.loop_spans().to_vec();
    let Emitter {
        b,
        tables,
        scratch_cells,
        instructions,
        region,
        ..
    } = emitter;
    b.finalize(isa.frontend_config());
    Ok(Emitted {
        function,
        scratch_cells,
        loops,
        tables,
        instructions,
        region,
        short,
    })
}

/// Depth of nested bodies, followed no further than [`MAX_DEPTH`].
fn nesting(body: &Body, depth: usize) -> usize {
    if depth > MAX_DEPTH {
        return depth;
    }
    let deepest = |bodies: &mut dyn Iterator<Item = &Body>| bodies.map(|b| nesting(b, depth + 1)).max();
    body.iter()
        .filter_map(|stmt| match stmt {
            Stmt::Block { body, .. } => deepest(&mut [body].into_iter()),
            Stmt::If { then, otherwise, .. } => deepest(&mut [then, otherwise].into_iter()),
            Stmt::Loop { body, continuing, .. } => deepest(&mut [body, continuing].into_iter()),
            Stmt::Switch { cases, .. } => deepest(&mut cases.iter().map(|c| &c.body)),
            Stmt::Inst(_) | Stmt::Break(_) | Stmt::Continue(_) | Stmt::Return(_) => None,
        })
        .max()
        .unwrap_or(depth)
}

/// How a value is held.
#[derive(Clone, Copy)]
enum Val {
    /// A vector: `F32X4` for f32, else `I32X4`.
    Lane(cl::Value),
    /// `F32`, `I32`, or `I8` (0 or 1) for bools.
    Scalar(cl::Value),
}

/// How a local is held.
#[derive(Clone, Copy)]
enum LocalHome {
    /// Never written: its initial value.
    Constant,
    /// Alike in all lanes that look at it.
    Scalar(Variable),
    /// By lane.
    Lane(Variable),
}

/// The active lanes.
#[derive(Clone, Copy)]
enum Exec {
    /// All.
    Full,
    /// Those whose mask is set.
    Mask(cl::Value),
    /// None.
    Empty,
}

/// Where control goes after a statement or body.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    /// On.
    Falls,
    /// Nowhere: the block is terminated.
    Ended,
    /// On, but no lane is active until the enclosing body ends.
    Emptied,
}

/// Addresses that are live in the whole function, and those of the present run, pair and step.
#[derive(Clone, Copy)]
struct Env {
    ctx: cl::Value,
    bindings: cl::Value,
    draw: cl::Value,
    scratch: cl::Value,
    /// Where to go when the program is done or gives up.
    exit: Block,
    prim: Option<cl::Value>,
    pair: Option<cl::Value>,
    /// This step's bytes of plane 0, or of the group's first output cell.
    out: Option<cl::Value>,
    /// This step's bytes of the group's first input cell.
    cells_in: Option<cl::Value>,
    /// The context, advanced to this step's part of its cells.
    lanes: cl::Value,
    /// The end of the body.
    after_body: Block,
}

/// Budget of unbounded loops.
#[derive(Clone, Copy)]
struct Budget {
    /// Iterations of the step, any lane: an upper bound of each lane's.
    total: Variable,
    /// Iterations of each lane.
    lanes: Variable,
}

/// A construct that exits can name.
#[derive(Clone, Copy)]
struct LabelHome {
    /// Where breaks jump.
    end: Block,
    /// Where continues jump.
    continuing: Option<Block>,
    /// Lanes that left by masked breaks; only if some mask is needed after the construct.
    broken: Option<Variable>,
    /// Lanes that wait for the continuing block.
    continued: Option<Variable>,
}

struct Emitter<'p, 'b> {
    b: FunctionBuilder<'b>,
    program: &'p Program,
    f: &'p Function,
    target: &'p Target,
    rates: Rates,
    flow: Flow,
    lanes: u32,
    values: Vec<Option<Val>>,
    /// Instructions that were emitted ahead of the body.
    done: Vec<bool>,
    locals: Vec<LocalHome>,
    arrays: Vec<ArrayHome>,
    labels: HashMap<u32, LabelHome>,
    /// Constants and splats made in the current block.
    constants: HashMap<(u32, bool), cl::Value>,
    splats: HashMap<Value, cl::Value>,
    /// Of long programs: which values wait in memory.
    parking: Option<Parking>,
    env: Option<Env>,
    exec: Exec,
    /// Whether the mask may be empty here.
    maybe_empty: bool,
    exec_var: Variable,
    helper_var: Option<Variable>,
    budget: Option<Budget>,
    tables: Vec<Box<[u32]>>,
    scratch_cells: usize,
    instructions: usize,
    call_sig: Option<cl::SigRef>,
    /// Pairs in flight, 1 or 2.
    pairs: u32,
    region: Option<Region>,
    /// Values added to the invocation counter.
    counts: Vec<cl::Value>,
}

impl Emitter<'_, '_> {
    fn unsupported<T>(&self, what: impl Into<String>, span: Option<SpanId>) -> Result<T, CompileError> {
        Err(CompileError::Unsupported {
            what: what.into(),
            executor: "jit",
            span,
        })
    }

    fn env(&self) -> Env {
        self.env.expect("the entry block sets the environment first")
    }

    /// Goes on in another block; constants and splats of the old one may not dominate it.
    fn switch(&mut self, block: Block) {
        self.b.switch_to_block(block);
        self.constants.clear();
        self.splats.clear();
    }

    /// As [`switch`](Self::switch), for a block that has all its predecessors.
    fn enter(&mut self, block: Block) {
        self.switch(block);
        self.b.seal_block(block);
    }

    fn lane_type(kind: Kind) -> cl::Type {
        if kind == Kind::F32 { types::F32X4 } else { types::I32X4 }
    }

    fn scalar_type(kind: Kind) -> cl::Type {
        match kind {
            Kind::F32 => types::F32,
            Kind::Bool => types::I8,
            _ => types::I32,
        }
    }

    fn check_kind(&self, kind: Kind, span: Option<SpanId>) -> Result<(), CompileError> {
        match kind {
            Kind::Bool | Kind::I32 | Kind::U32 | Kind::F32 => Ok(()),
            other => self.unsupported(format!("the kind {other}"), span),
        }
    }

    /// A vector constant with the same bits in all lanes.
    fn splat_bits(&mut self, bits: u32, float: bool) -> cl::Value {
        if let Some(&v) = self.constants.get(&(bits, float)) {
            return v;
        }
        let bytes: Vec<u8> = bits.to_le_bytes().repeat(4);
        let data = self.b.func.dfg.constants.insert(ConstantData::from(bytes.as_slice()));
        let ty = if float { types::F32X4 } else { types::I32X4 };
        let v = self.b.ins().vconst(ty, data);
        self.constants.insert((bits, float), v);
        v
    }

    /// The bits that a literal has in a lane.
    fn lane_bits(literal: Literal) -> u32 {
        match literal.kind {
            Kind::Bool => u32::from(literal.bits != 0).wrapping_neg(),
            _ => literal.bits as u32,
        }
    }

    fn literal_scalar(&mut self, literal: Literal) -> cl::Value {
        match literal.kind {
            Kind::F32 => self.b.ins().f32const(literal.as_f32()),
            Kind::Bool => self.b.ins().iconst(types::I8, i64::from(literal.bits != 0)),
            _ => self.b.ins().iconst(types::I32, i64::from(literal.bits as u32)),
        }
    }

    /// The value as a vector of its own type.
    fn lane(&mut self, value: Value) -> cl::Value {
        if let Some(literal) = self.f.constant(value) {
            return self.splat_bits(Self::lane_bits(literal), literal.kind == Kind::F32);
        }
        if let Some(&v) = self.splats.get(&value) {
            return v;
        }
        match self.held(value).expect("values are defined before they are used") {
            Val::Lane(v) => v,
            Val::Scalar(s) => {
                let v = self.splat(s, self.f.kind(value));
                self.splats.insert(value, v);
                v
            }
        }
    }

    /// A scalar of that kind in all lanes.
    fn splat(&mut self, scalar: cl::Value, kind: Kind) -> cl::Value {
        match kind {
            Kind::Bool => {
                let mask = self.b.ins().bmask(types::I32, scalar);
                self.b.ins().splat(types::I32X4, mask)
            }
            _ => self.b.ins().splat(Self::lane_type(kind), scalar),
        }
    }

    /// The value as a scalar, if it is held as one.
    fn scalar(&mut self, value: Value) -> Option<cl::Value> {
        if let Some(literal) = self.f.constant(value) {
            return Some(self.literal_scalar(literal));
        }
        if !self.is_scalar(value) {
            return None;
        }
        match self.held(value) {
            Some(Val::Scalar(s)) => Some(s),
            _ => None,
        }
    }

    fn is_scalar(&self, value: Value) -> bool {
        self.f.constant(value).is_some() || matches!(self.values[value.index()], Some(Val::Scalar(_)))
    }

    /// The value's lanes as `I32X4`.
    fn lane_i(&mut self, value: Value) -> cl::Value {
        if let Some(literal) = self.f.constant(value) {
            return self.splat_bits(Self::lane_bits(literal), false);
        }
        let v = self.lane(value);
        self.as_i(v)
    }

    fn as_i(&mut self, v: cl::Value) -> cl::Value {
        if self.b.func.dfg.value_type(v) == types::I32X4 {
            v
        } else {
            self.b.ins().bitcast(types::I32X4, BITS, v)
        }
    }

    fn as_f(&mut self, v: cl::Value) -> cl::Value {
        if self.b.func.dfg.value_type(v) == types::F32X4 {
            v
        } else {
            self.b.ins().bitcast(types::F32X4, BITS, v)
        }
    }

    fn set(&mut self, value: Value, val: Val) {
        self.values[value.index()] = Some(val);
        self.park(value, val);
    }

    /// Sets an instruction's result from bits loaded as a vector or scalar of integers or the kind's own type.
    fn set_lane(&mut self, value: Value, v: cl::Value) {
        let v = if self.f.kind(value) == Kind::F32 {
            self.as_f(v)
        } else {
            self.as_i(v)
        };
        self.set(value, Val::Lane(v));
    }

    /// Loads a 32-bit scalar of a kind; bools are true unless zero.
    fn load_scalar(&mut self, kind: Kind, flags: MemFlagsData, address: cl::Value, offset: i32) -> cl::Value {
        match kind {
            Kind::Bool => {
                let word = self.b.ins().load(types::I32, flags, address, offset);
                self.b.ins().icmp_imm_u(cl::condcodes::IntCC::NotEqual, word, 0)
            }
            _ => self.b.ins().load(Self::scalar_type(kind), flags, address, offset),
        }
    }

    fn offset(&self, bytes: u64, span: Option<SpanId>) -> Result<i32, CompileError> {
        match i32::try_from(bytes) {
            Ok(offset) => Ok(offset),
            Err(_) => self.unsupported(format!("a byte offset of {bytes}"), span),
        }
    }

    /// Emits an instruction, unless it was emitted ahead.
    fn inst(&mut self, id: InstId) -> Result<(), CompileError> {
        if std::mem::replace(&mut self.done[id.index()], true) {
            return Ok(());
        }
        self.instructions += 1;
        self.forget();
        let inst = &self.f.insts[id];
        let span = inst.span;
        for value in inst.results().chain(inst.args.iter().copied()) {
            self.check_kind(self.f.kind(value), span)?;
        }
        match inst.op {
            Op::Const(_) => Ok(()),
            Op::Alu(alu) => self.alu(alu, inst),
            Op::Bitcast(kind) => {
                self.bitcast(inst, kind);
                Ok(())
            }
            Op::Convert(kind) => {
                let from = self.f.kind(inst.args[0]);
                self.unsupported(format!("the conversion from {from} to {kind}"), span)
            }
            Op::Quad(op) => {
                self.quad(inst, op);
                Ok(())
            }
            Op::LocalGet(local) => {
                let val = match self.locals[local.index()] {
                    LocalHome::Constant => Val::Scalar(self.literal_scalar(self.f.locals[local].init)),
                    LocalHome::Scalar(variable) => Val::Scalar(self.b.use_var(variable)),
                    LocalHome::Lane(variable) => Val::Lane(self.b.use_var(variable)),
                };
                match val {
                    Val::Scalar(s) => self.set_scalar_or_splat(inst.result(), s),
                    lane => self.set(inst.result(), lane),
                }
                Ok(())
            }
            Op::LocalSet { local, merge } => {
                match self.locals[local.index()] {
                    LocalHome::Constant => {}
                    LocalHome::Scalar(variable) => {
                        // Every lane that may look at the local is active here.
                        let Some(new) = self.scalar(inst.args[0]) else {
                            return Err(CompileError::Internal("a uniform local gets a lane value".into()));
                        };
                        self.b.def_var(variable, new);
                    }
                    LocalHome::Lane(variable) => {
                        let new = self.lane(inst.args[0]);
                        self.assign(variable, new, merge);
                    }
                }
                Ok(())
            }
            Op::ArrayGet(array) => {
                self.array_get(inst, array);
                Ok(())
            }
            Op::ArraySet(array) => {
                self.array_set(inst, array);
                Ok(())
            }
            Op::ArrayReset(array) => {
                self.array_reset(array);
                Ok(())
            }
            Op::Input(_) | Op::InputAt { .. } => self.unsupported("a stage input in an assembled program", span),
            Op::BufferLoad { buffer, kind, access } => self.buffer_load(id, inst, buffer, kind, access),
            Op::BufferStore { buffer, access } => self.buffer_store(inst, buffer, access),
            Op::BufferAtomic { buffer, op, access } => self.buffer_atomic(inst, buffer, op, access),
            Op::BufferSize(buffer) => self.buffer_size(inst, buffer),
            Op::Sample { texture, sampler, op } => self.sample(inst, texture, sampler, op),
            Op::TexelLoad { texture, op, .. } => self.texel_load(inst, texture, op),
            Op::TexelStore { texture, op } => self.texel_store(inst, texture, op),
            Op::TextureQuery { texture, query } => self.texture_query(inst, texture, query),
            Op::Call(_) => self.unsupported("a call that wasn't inlined", span),
            Op::Barrier => self.unsupported("a workgroup barrier", span),
            Op::Note(_) => self.unsupported("notes for whoever watches; the interpreter has them", span),
            Op::Discard
            | Op::IsHelper
            | Op::SetHelper
            | Op::DrawLoad { .. }
            | Op::PrimLoad { .. }
            | Op::PrimVertexLoad { .. }
            | Op::PixelX
            | Op::PixelY
            | Op::Coverage { .. }
            | Op::TileLoad { .. }
            | Op::TileStore { .. }
            | Op::CellLoad { .. }
            | Op::CellStore { .. }
            | Op::CountInvocations
            | Op::CountSamples => self.pipeline_op(inst),
        }
    }

    /// Assigns a lane variable in the active lanes.
    pub(super) fn assign(&mut self, variable: Variable, new: cl::Value, merge: bool) {
        let v = match self.exec {
            Exec::Mask(mask) if merge => {
                let old = self.b.use_var(variable);
                self.blend(mask, new, old)
            }
            Exec::Empty if merge => return,
            _ => new,
        };
        self.b.def_var(variable, v);
    }

    /// The kind of program, for messages.
    fn program_name(&self) -> &'static str {
        match self.program.kind {
            ProgramKind::Fragment { .. } => "a fragment program",
            ProgramKind::Vertex { .. } => "a vertex program",
        }
    }
}
