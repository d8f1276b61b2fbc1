//! What executors compile and run: an assembled [`Program`], the [`Executor`] that compiles it, the [`Compiled`] code.

use crate::abi::Context;
use crate::order::Writes;
use quadrille_frontend::ir::{Arena, Function, Resource, Sources, SpanId};
use std::sync::Arc;
use std::time::Duration;

/// What a program loops over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramKind {
    /// Runs of pairs in a tile.
    Fragment {
        /// Samples a pixel: 1, 4 (pairs are [`crate::abi::Pair`]), or 2, 8, 16 ([`crate::abi::WidePair`] above 4).
        samples: u8,
        /// Bytes from one tile plane to the next.
        plane_stride: u32,
    },
    /// Groups of 8 vertices.
    Vertex {
        /// Input cells of a group.
        cells_in: u32,
        /// Output cells of a group.
        cells_out: u32,
    },
}

/// A pipeline program: one function without calls, stage inputs or expandable operations.
#[derive(Clone, Debug)]
pub struct Program {
    /// For diagnostics and profiles.
    pub name: String,
    /// What it loops over.
    pub kind: ProgramKind,
    /// Its code.
    pub function: Function,
    /// The resources its instructions name.
    pub resources: Arena<Resource>,
    /// First slot in [`Context::bindings`] of each resource (by index); a binding array takes `count` slots.
    pub slots: Vec<u32>,
    /// Spans of the instructions.
    pub sources: Sources,
}

/// Why a program could not be compiled.
#[derive(Clone, Debug, thiserror::Error)]
pub enum CompileError {
    /// The executor lacks something the program needs; names it. An implementation limit.
    #[error("{what} is not supported by the {executor} back end")]
    Unsupported {
        /// The feature.
        what: String,
        /// Which executor.
        executor: &'static str,
        /// Where in the source.
        span: Option<SpanId>,
    },
    /// The program exceeds a size limit.
    #[error("the program is too large: {what}")]
    TooLarge {
        /// Which limit, with figures.
        what: String,
    },
    /// The system refused executable memory.
    #[error("no executable memory: {0}")]
    NoExecutableMemory(String),
    /// The code generator failed: always a bug.
    #[error("code generation failed (a bug): {0}")]
    Internal(String),
}

/// What compiling cost and made.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CompileStats {
    /// Time to compile.
    pub time: Duration,
    /// IR instructions.
    pub instructions: usize,
    /// Bytes of machine code (0 for the interpreter).
    pub code_bytes: usize,
    /// Lanes a step of the code.
    pub lanes: u32,
    /// Pairs in flight at once (law L4): 1 or 2.
    pub pairs: u32,
    /// Whether the order of invocations shows in memory (law N8).
    pub writes: Writes,
}

/// What an executor compiled so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CompileCounters {
    /// Programs.
    pub programs: u64,
    /// Programs with eight lanes a step.
    pub eight_lanes: u64,
    /// Programs with two pairs in flight (law L4).
    pub interleaved: u64,
    /// Programs that have four lanes only because their code could not be widened.
    pub refused: u64,
}

/// A program whose code could not be widened: it runs at half the speed that it could.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Its name.
    pub program: String,
    /// What stands in the way.
    pub reason: String,
}

/// Compiles programs. `Send + Sync`: any thread may compile.
pub trait Executor: Send + Sync {
    /// "jit" or "interp".
    fn name(&self) -> &'static str;
    /// The same executor, for whoever compiles more later.
    fn share(&self) -> Arc<dyn Executor>;
    /// Compiles a program.
    fn compile(&self, program: &Program) -> Result<Arc<dyn Compiled>, CompileError>;
    /// What was compiled so far, by this executor and those that it shares with.
    fn counters(&self) -> CompileCounters {
        CompileCounters::default()
    }
    /// Programs that could not be widened, each once, in the order in which they were compiled.
    fn refusals(&self) -> Vec<Refusal> {
        Vec::new()
    }
}

/// A compiled program; its code memory is freed with it.
pub trait Compiled: Send + Sync {
    /// Runs the program on what the context names.
    ///
    /// # Safety
    /// All that `context` points to must be as [`Context`] says, with room for what the program touches:
    /// [`scratch_cells`](Self::scratch_cells) cells of scratch, the program's slots, planes, cells and records.
    /// `context.lanes` must be [`CompileStats::lanes`].
    unsafe fn run(&self, context: &mut Context);

    /// Cells that [`Context::scratch`] must have.
    fn scratch_cells(&self) -> usize;

    /// Figures.
    fn stats(&self) -> CompileStats;

    /// The source position of a budgeted loop: `Context::status - 1` numbers them in the order of the program text.
    fn loop_span(&self, index: u32) -> Option<SpanId>;
}
