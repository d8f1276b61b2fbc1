//! Builds programs, runs them on an executor with memory of the right shape, and hands back what they wrote.

pub mod alu;
pub mod control;
pub mod fragment;
pub mod memory;
pub mod quad;
pub mod refusals;
pub mod textures;

use quadrille_frontend::ir::{
    Alu, Arena, Function, FunctionBuilder, Handle, Kind, Literal, Op, Resource, ResourceClass, ResourceRef, Sources,
    Value,
};
use quadrille_frontend::passes::expand::expand;
use quadrille_jit::abi::{Binding, Cell, Context};
use quadrille_jit::interp::Interpreter;
use quadrille_jit::{Compiled, Executor, Features, Jit, JitOptions, Lanes, Program, ProgramKind};
use std::sync::Arc;

/// The interpreter.
pub fn interpreter() -> Interpreter {
    Interpreter
}

/// Runs a case on a variant of native code, if this machine has it.
pub fn native(variant: usize, case: fn(&dyn Executor)) {
    let (lanes, features) = [
        (Lanes::Auto, Features::Host),
        (Lanes::Four, Features::Host),
        (Lanes::Four, Features::Baseline),
    ][variant];
    match Jit::new(JitOptions {
        lanes,
        features,
        ..JitOptions::default()
    }) {
        // Four lanes are right too; that they are slower is for other tests.
        Ok(jit) => case(&jit.on_decline(|name, why| println!("{name} stays at 4 lanes: {why}"))),
        Err(error) => println!("skipped: {error}"),
    }
}

/// A small generator of bits (xorshift): the same tests every time.
pub struct Bits(pub u64);

impl Bits {
    pub fn next(&mut self) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 32) as u32
    }

    pub fn column(&mut self, rows: usize) -> Vec<u32> {
        (0..rows).map(|_| self.next()).collect()
    }
}

/// Resources: how many elements each has, all storage buffers unless said otherwise.
pub fn resources(counts: &[u32], class: &ResourceClass) -> (Arena<Resource>, Vec<u32>) {
    let (mut arena, mut slots, mut next) = (Arena::new(), Vec::new(), 0);
    for (i, &count) in counts.iter().enumerate() {
        arena.push(Resource {
            name: format!("r{i}"),
            span: None,
            class: class.clone(),
            count,
            binding: quadrille_frontend::ir::Binding::WebGpu {
                group: 0,
                binding: i as u32,
            },
        });
        slots.push(next);
        next += count;
    }
    (arena, slots)
}

pub const STORAGE: ResourceClass = ResourceClass::Storage {
    writable: true,
    min_size: 0,
};

/// Resource number `index`.
pub fn resource(index: usize, indexed: bool) -> ResourceRef {
    ResourceRef {
        resource: Handle::from_index(index),
        indexed,
    }
}

pub fn program(kind: ProgramKind, mut function: Function, counts: &[u32]) -> Program {
    expand(&mut function);
    let (resources, slots) = resources(counts, &STORAGE);
    Program {
        name: "test".into(),
        kind,
        function,
        resources,
        slots,
        sources: Sources::default(),
    }
}

/// A vertex-shaped program: operand i from input cell i, result j to output cell j (bools as 0 and 1).
pub fn cells_program(
    inputs: &[Kind],
    counts: &[u32],
    build: impl FnOnce(&mut FunctionBuilder, &[Value]) -> Vec<Value>,
) -> Program {
    let mut b = FunctionBuilder::new("test");
    let operands: Vec<Value> = inputs
        .iter()
        .enumerate()
        .map(|(i, &k)| load_cell(&mut b, i, k))
        .collect();
    let results = build(&mut b, &operands);
    for (j, &value) in results.iter().enumerate() {
        let value = as_word(&mut b, value);
        b.inst(Op::CellStore { slot: j as u32 }, &[value], &[]);
    }
    let kind = ProgramKind::Vertex {
        cells_in: inputs.len() as u32,
        cells_out: results.len() as u32,
    };
    program(kind, b.finish(), counts)
}

/// A word of memory as a value of a kind: a bool is true where the word is not 0.
pub fn from_word(b: &mut FunctionBuilder, word: Value, kind: Kind) -> Value {
    match kind {
        Kind::Bool => {
            let zero = b.u32(0);
            b.alu(Alu::INe, &[word, zero])
        }
        _ => b.bitcast(word, kind),
    }
}

pub fn as_word(b: &mut FunctionBuilder, value: Value) -> Value {
    match b.kind(value) {
        Kind::Bool => {
            let (one, zero) = (b.u32(1), b.u32(0));
            b.select(value, one, zero)
        }
        _ => value,
    }
}

fn load_cell(b: &mut FunctionBuilder, slot: usize, kind: Kind) -> Value {
    let of = if kind == Kind::Bool { Kind::U32 } else { kind };
    let op = Op::CellLoad {
        slot: slot as u32,
        kind: of,
    };
    let word = b.inst1(op, &[], of);
    from_word(b, word, kind)
}

/// A draw-rate word: scalar in native code.
pub fn draw_word(b: &mut FunctionBuilder, word: u32, kind: Kind) -> Value {
    let of = if kind == Kind::Bool { Kind::U32 } else { kind };
    let value = b.inst1(Op::DrawLoad { word, kind: of }, &[], of);
    from_word(b, value, kind)
}

/// A constant of a kind from a word.
pub fn constant(b: &mut FunctionBuilder, kind: Kind, word: u32) -> Value {
    let bits = if kind == Kind::Bool {
        u64::from(word != 0)
    } else {
        u64::from(word)
    };
    b.constant(Literal { kind, bits })
}

pub fn compile(executor: &dyn Executor, program: &Program) -> Arc<dyn Compiled> {
    executor.compile(program).unwrap_or_else(|error| {
        panic!("{}: {error}\n{:?}", executor.name(), program.function.body.len());
    })
}

/// What a call may touch besides cells and tiles.
pub struct Env {
    pub bindings: Vec<Binding>,
    pub draw: Vec<u32>,
    pub budget: u32,
    pub cancel: Option<u32>,
    /// Read after the call.
    pub status: u32,
    /// Read after the call.
    pub invocations: u64,
    pub samples_passed: u64,
}

impl Default for Env {
    fn default() -> Self {
        Env {
            bindings: Vec::new(),
            draw: vec![0; 16],
            budget: 1 << 22,
            cancel: None,
            status: 0,
            invocations: 0,
            samples_passed: 0,
        }
    }
}

/// A buffer binding on words.
pub fn buffer(words: &mut [u32]) -> Binding {
    Binding {
        data: words.as_mut_ptr().cast(),
        size: size_of_val(words) as u64,
        ..Binding::NULL
    }
}

/// Calls compiled code on a context that `fill` completes.
///
/// # Safety
/// With what `fill` sets, the context must be as the program needs it.
pub unsafe fn call(compiled: &dyn Compiled, env: &mut Env, fill: impl FnOnce(&mut Context)) {
    let mut scratch = vec![Cell([0xDEAD_BEEF; 8]); compiled.scratch_cells().max(1)];
    let mut context = Context::new(compiled.stats().lanes);
    context.bindings = env.bindings.as_ptr();
    context.draw = env.draw.as_ptr();
    context.scratch = scratch.as_mut_ptr();
    context.loop_budget = env.budget;
    context.cancel = env.cancel.as_ref().map_or(std::ptr::null(), |c| c);
    fill(&mut context);
    // SAFETY: the caller's promise; scratch is as large as the code says.
    unsafe { compiled.run(&mut context) };
    env.status = context.status;
    env.invocations = context.invocations;
    env.samples_passed = context.samples_passed;
}

/// Runs a vertex-shaped program on columns of operands; gives columns of results, as long as the operands'.
pub fn run_cells(compiled: &dyn Compiled, program: &Program, columns: &[Vec<u32>], env: &mut Env) -> Vec<Vec<u32>> {
    let ProgramKind::Vertex { cells_in, cells_out } = program.kind else {
        panic!("not a vertex-shaped program");
    };
    let (slots_in, slots_out) = (cells_in as usize, cells_out as usize);
    assert!(columns.len() == slots_in, "a column for each input cell");
    let rows = columns.first().map_or(8, Vec::len);
    let groups = rows.div_ceil(8);
    let mut input = vec![Cell::default(); groups * slots_in];
    for (slot, column) in columns.iter().enumerate() {
        for row in 0..groups * 8 {
            // Rows beyond the end repeat the first ones.
            input[row / 8 * slots_in + slot].0[row % 8] = column[row % rows];
        }
    }
    let mut output = vec![Cell([0xCAFE_F00D; 8]); groups * slots_out];
    // SAFETY: cells for every group, as many as the program says; draw words, table and bindings are the caller's.
    unsafe {
        call(compiled, env, |context| {
            context.count = groups as u32;
            context.cells_in = input.as_ptr();
            context.cells_out = output.as_mut_ptr();
        });
    }
    (0..slots_out)
        .map(|slot| {
            (0..rows)
                .map(|row| output[row / 8 * slots_out + slot].0[row % 8])
                .collect()
        })
        .collect()
}

/// As [`run_cells`], compiled on the spot, in a default environment.
pub fn run_once(executor: &dyn Executor, program: &Program, columns: &[Vec<u32>]) -> Vec<Vec<u32>> {
    let compiled = compile(executor, program);
    let mut env = Env::default();
    let out = run_cells(&*compiled, program, columns, &mut env);
    assert_eq!(env.status, 0, "ran out of budget");
    out
}

/// All NaNs as one.
pub fn canonical(word: u32) -> u32 {
    if f32::from_bits(word).is_nan() {
        0x7FC0_0000
    } else {
        word
    }
}
