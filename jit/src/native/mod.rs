//! Native code: IR to CLIF (`emit`), CLIF to machine code by Cranelift, widened to 8 lanes where the CPU has AVX2
//! ([`widen`]), in memory of its own (`memory`).
//!
//! ```text
//! Program ─ rates, flow ─ emit ─► CLIF ─ Cranelift ─► bytes ─ widen ─► 8 lanes
//!                                                        └─ declined ─► emitted anew for 4 lanes
//! ```
//!
//! Code has no relocations: what it calls it finds through the context, or at addresses that stand in it. So a program
//! is one run of position-independent bytes, freed when the last [`Compiled`] of it is dropped.

mod emit;
mod flow;
mod interleave;
mod isa;
mod memory;
mod perf;
mod rates;
pub mod widen;

pub use isa::Features;

use crate::abi::Context;
use crate::program::{CompileError, CompileStats, Compiled, Executor, Program};
use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::{CodegenError, Context as Codegen};
use isa::Target;
use memory::CodeMemory;
use quadrille_frontend::ir::SpanId;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Instant;

/// Above this many CLIF instructions code is compiled without optimisation: time grows faster than size.
const OPTIMISED_INSTS: usize = 8_000;
/// Above this many, programs are refused.
const MAX_INSTS: usize = 600_000;
/// Largest stack frame; there are no stack probes.
const MAX_FRAME: u32 = 256 * 1024;

/// Lanes a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Lanes {
    /// 8 where the CPU can and the code allows, else 4.
    #[default]
    Auto,
    /// Always 4.
    Four,
    /// 8; 4 only for what can't be widened.
    Eight,
}

/// Options of the native back end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JitOptions {
    /// Lanes a step.
    pub lanes: Lanes,
    /// Instruction sets to use.
    pub features: Features,
    /// Whether fragment programs take two pairs at a time.
    pub interleave: Interleave,
}

/// Two pairs in flight (law L4). Off by default until it is measured on whole frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Interleave {
    /// Where a program's loops wait for their own results.
    Auto,
    /// Never.
    #[default]
    Never,
    /// Wherever it can be done.
    Always,
}

/// What the back end did so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JitCounters {
    /// Programs compiled.
    pub programs: u64,
    /// Programs that stayed at 4 lanes although 8 were wanted.
    pub declined: u64,
}

/// Told a program's name and why it stays at four lanes.
type DeclineReport = dyn Fn(&str, &widen::Declined) + Send + Sync;

/// Compiles programs to native code. Clones count together.
#[derive(Clone)]
pub struct Jit {
    target: Arc<Target>,
    wide: bool,
    interleave: Interleave,
    counts: Arc<Counts>,
    on_decline: Option<Arc<DeclineReport>>,
}

#[derive(Default)]
struct Counts {
    programs: AtomicU64,
    declined: AtomicU64,
    names: AtomicU32,
}

impl Jit {
    /// A back end for this CPU.
    ///
    /// # Errors
    /// If the system or the CPU isn't supported; the message names it.
    pub fn new(options: JitOptions) -> Result<Jit, CompileError> {
        let target = Target::get(options.features)?;
        Ok(Jit {
            wide: options.lanes != Lanes::Four && target.avx2,
            target,
            interleave: options.interleave,
            counts: Arc::default(),
            on_decline: None,
        })
    }

    /// Calls a function whenever a program can't be widened, with its name and the reason.
    pub fn on_decline(mut self, report: impl Fn(&str, &widen::Declined) + Send + Sync + 'static) -> Jit {
        self.on_decline = Some(Arc::new(report));
        self
    }

    /// What was compiled so far.
    pub fn counters(&self) -> JitCounters {
        JitCounters {
            programs: self.counts.programs.load(Ordering::Relaxed),
            declined: self.counts.declined.load(Ordering::Relaxed),
        }
    }

    /// The CLIF of a program, as emitted for that many lanes (4 or 8): for inspection.
    ///
    /// # Errors
    /// As [`Executor::compile`].
    pub fn clif(&self, program: &Program, lanes: u32) -> Result<String, CompileError> {
        Ok(emit::emit(program, &self.target, lanes, 1, 0)?
            .function
            .display()
            .to_string())
    }

    /// The machine code of a program as it would run, with its lanes: for inspection.
    ///
    /// # Errors
    /// As [`Executor::compile`].
    pub fn machine_code(&self, program: &Program) -> Result<(Vec<u8>, u32), CompileError> {
        let built = self.build(program)?;
        Ok((built.code, built.lanes))
    }

    fn build(&self, program: &Program) -> Result<Built, CompileError> {
        let name = self.counts.names.fetch_add(1, Ordering::Relaxed);
        if self.wide {
            let double = match self.interleave {
                Interleave::Auto => interleave::pays(program),
                Interleave::Never => false,
                Interleave::Always => true,
            };
            let pairs = if double { 2 } else { 1 };
            let built = self.generate(program, 8, pairs, name)?;
            match widen::widen(&built.code) {
                Ok(widened) => {
                    return Ok(Built {
                        code: widened.code,
                        ..built
                    });
                }
                Err(declined) => {
                    self.counts.declined.fetch_add(1, Ordering::Relaxed);
                    if let Some(report) = &self.on_decline {
                        report(&program.name, &declined);
                    }
                }
            }
        }
        self.generate(program, 4, 1, name)
    }

    fn generate(&self, program: &Program, lanes: u32, pairs: u32, name: u32) -> Result<Built, CompileError> {
        let mut emitted = emit::emit(program, &self.target, lanes, pairs, name)?;
        let mut pairs = 1;
        if let Some(region) = &emitted.region {
            match interleave::interleave(&mut emitted.function, region) {
                Ok(()) => pairs = 2,
                Err(interleave::Declined(_)) => emitted = emit::emit(program, &self.target, lanes, 1, name)?,
            }
        }
        let insts = emitted.function.dfg.num_insts();
        if insts > MAX_INSTS {
            return Err(CompileError::TooLarge {
                what: format!("{insts} instructions of machine-level code, the limit is {MAX_INSTS}"),
            });
        }
        let clif = perf::dump_directory().map(|_| emitted.function.display().to_string());
        let isa = self.target.isa(insts <= OPTIMISED_INSTS);
        let mut codegen = Codegen::for_function(emitted.function);
        let compiled = codegen
            .compile(&**isa, &mut ControlPlane::default())
            .map_err(|e| codegen_error(&e.inner))?;
        if !compiled.buffer.relocs().is_empty() {
            let names: Vec<String> = compiled
                .buffer
                .relocs()
                .iter()
                .map(|r| format!("{:?}", r.target))
                .collect();
            return Err(CompileError::Internal(format!("code calls {}", names.join(", "))));
        }
        let frame = compiled.buffer.frame_layout().map_or(0, |l| l.frame_to_fp_offset);
        if frame > MAX_FRAME {
            return Err(CompileError::TooLarge {
                what: format!("a stack frame of {frame} bytes, the limit is {MAX_FRAME}"),
            });
        }
        Ok(Built {
            code: compiled.buffer.data().to_vec(),
            clif,
            number: name,
            lanes,
            pairs,
            scratch_cells: emitted.scratch_cells,
            loops: emitted.loops,
            tables: emitted.tables,
            instructions: emitted.instructions,
        })
    }
}

/// Machine code with what belongs to it.
struct Built {
    code: Vec<u8>,
    /// For dumps only.
    clif: Option<String>,
    number: u32,
    lanes: u32,
    pairs: u32,
    scratch_cells: usize,
    loops: Vec<Option<SpanId>>,
    tables: Vec<Box<[u32]>>,
    instructions: usize,
}

fn codegen_error(error: &CodegenError) -> CompileError {
    match error {
        CodegenError::ImplLimitExceeded | CodegenError::CodeTooLarge => CompileError::TooLarge {
            what: "a limit of the code generator".into(),
        },
        CodegenError::Verifier(errors) => CompileError::Internal(errors.to_string()),
        other => CompileError::Internal(other.to_string()),
    }
}

impl Executor for Jit {
    fn name(&self) -> &'static str {
        "jit"
    }

    fn share(&self) -> Arc<dyn Executor> {
        Arc::new(self.clone())
    }

    fn compile(&self, program: &Program) -> Result<Arc<dyn Compiled>, CompileError> {
        let start = Instant::now();
        let built = self.build(program)?;
        if let (Some(directory), Some(clif)) = (perf::dump_directory(), &built.clif) {
            let ir = quadrille_frontend::ir::text::print_function(&program.function);
            perf::dump(directory, built.number, &program.name, &ir, clif, &built.code);
        }
        let memory = CodeMemory::new(&built.code)?;
        perf::record(memory.address(), memory.len(), &format!("quadrille:{}", program.name));
        self.counts.programs.fetch_add(1, Ordering::Relaxed);
        Ok(Arc::new(Native {
            stats: CompileStats {
                time: start.elapsed(),
                instructions: built.instructions,
                code_bytes: memory.len(),
                lanes: built.lanes,
                pairs: built.pairs,
            },
            memory,
            scratch_cells: built.scratch_cells,
            loops: built.loops,
            _tables: built.tables,
        }))
    }
}

/// A compiled program.
struct Native {
    memory: CodeMemory,
    stats: CompileStats,
    scratch_cells: usize,
    loops: Vec<Option<SpanId>>,
    /// The code names their addresses.
    _tables: Vec<Box<[u32]>>,
}

impl Compiled for Native {
    unsafe fn run(&self, context: &mut Context) {
        debug_assert!(context.lanes == self.stats.lanes, "the context is for other lanes");
        // SAFETY: the memory holds a function that `emit` made for this context type; the caller vouches for the
        // context's contents.
        unsafe { self.memory.call(context) };
    }

    fn scratch_cells(&self) -> usize {
        self.scratch_cells
    }

    fn stats(&self) -> CompileStats {
        self.stats
    }

    fn loop_span(&self, index: u32) -> Option<SpanId> {
        self.loops.get(index as usize).copied().flatten()
    }
}

#[cfg(test)]
mod fuzz;
#[cfg(test)]
mod tests;
