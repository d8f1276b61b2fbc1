//! The reference interpreter: obviously right, and as fast as a match loop over a compact program can be.
//!
//! ```text
//! Program ─ compile.rs ─► Code (flat instructions over registers of 4 lanes) ─ machine.rs ─► one quad at a time
//! ```
//!
//! [`Watching`] tells someone of every step on the way ([`watch`]).
//!
//! It is the oracle for native code and the baseline of the benchmarks. The rule that must not break: semantics are
//! per lane and those of `quadrille_frontend::ir::shader`; every instruction computes all lanes, only writes are
//! masked, and a quad never sees its neighbour (law L1).

mod code;
mod compile;
mod lanes;
mod machine;
mod memory;
pub mod watch;

use crate::abi::Context;
use crate::program::{CompileError, CompileStats, Compiled, Executor, Program, ProgramKind};
use std::sync::Arc;
use std::time::Instant;
use watch::Watch;

/// Compiles programs for interpretation, four lanes a step.
#[derive(Clone, Copy, Debug, Default)]
pub struct Interpreter;

impl Executor for Interpreter {
    fn name(&self) -> &'static str {
        "interp"
    }

    fn share(&self) -> Arc<dyn Executor> {
        Arc::new(*self)
    }

    fn compile(&self, program: &Program) -> Result<Arc<dyn Compiled>, CompileError> {
        interpret(program, None)
    }
}

/// An interpreter that is watched.
#[derive(Clone, Debug)]
pub struct Watching(pub Arc<dyn Watch>);

impl Executor for Watching {
    fn name(&self) -> &'static str {
        "interp"
    }

    fn share(&self) -> Arc<dyn Executor> {
        Arc::new(self.clone())
    }

    fn compile(&self, program: &Program) -> Result<Arc<dyn Compiled>, CompileError> {
        let watched = Watched {
            program: program.clone(),
            watch: self.0.clone(),
        };
        interpret(program, Some(watched))
    }
}

/// A program, and who watches it.
struct Watched {
    program: Program,
    watch: Arc<dyn Watch>,
}

fn interpret(program: &Program, watched: Option<Watched>) -> Result<Arc<dyn Compiled>, CompileError> {
    let start = Instant::now();
    let code = compile::compile(program)?;
    let stats = CompileStats {
        time: start.elapsed(),
        instructions: code.insts.len(),
        code_bytes: 0,
        lanes: 4,
        pairs: 1,
        writes: crate::order::writes(program),
    };
    Ok(Arc::new(Interpreted {
        kind: program.kind,
        code,
        stats,
        watched,
    }))
}

struct Interpreted {
    kind: ProgramKind,
    code: code::Code,
    stats: CompileStats,
    watched: Option<Watched>,
}

impl Compiled for Interpreted {
    unsafe fn run(&self, context: &mut Context) {
        // SAFETY: the caller's promise is the machine's.
        unsafe { machine::run(self.kind, &self.code, self.watched.as_ref(), context) }
    }

    fn scratch_cells(&self) -> usize {
        crate::abi::CALL_CELLS
    }

    fn stats(&self) -> CompileStats {
        self.stats
    }

    fn loop_span(&self, index: u32) -> Option<quadrille_frontend::ir::SpanId> {
        self.code.loop_spans.get(index as usize).copied().flatten()
    }
}

#[cfg(test)]
mod tests;
