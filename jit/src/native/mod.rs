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

mod disassemble;
mod emit;
mod flow;
mod interleave;
mod isa;
mod memory;
mod perf;
mod rates;
mod report;
pub mod widen;

pub use isa::Features;
pub use report::{FourLanes, Report, Spills};

use crate::abi::Context;
use crate::order;
use crate::program::{CompileCounters, CompileError, CompileStats, Compiled, Executor, Program, Refusal};
use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::{CodegenError, Context as Codegen};
use isa::Target;
use memory::CodeMemory;
use quadrille_frontend::ir::SpanId;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JitOptions {
    /// Lanes a step.
    pub lanes: Lanes,
    /// Instruction sets to use.
    pub features: Features,
    /// Whether fragment programs take two pairs at a time.
    pub interleave: Interleave,
    /// Take eight lanes even where the order in which invocations write memory shows then (law N8).
    pub relaxed: bool,
    /// Programs of more IR instructions than this are made to be compiled fast: values wait in memory rather than in
    /// registers, and Cranelift doesn't optimise. They run as fast, within a few hundredths.
    pub longest: usize,
}

impl Default for JitOptions {
    fn default() -> JitOptions {
        JitOptions {
            lanes: Lanes::default(),
            features: Features::default(),
            interleave: Interleave::default(),
            relaxed: false,
            longest: 3_000,
        }
    }
}

/// Two pairs in flight (law L4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Interleave {
    /// Where a program's loops wait for their own results.
    #[default]
    Auto,
    /// Never.
    Never,
    /// Wherever it can be done.
    Always,
}

/// Told a program's name and why it stays at four lanes.
type DeclineReport = dyn Fn(&str, &widen::Declined) + Send + Sync;

/// Compiles programs to native code. Clones count together.
#[derive(Clone)]
pub struct Jit {
    target: Arc<Target>,
    wide: bool,
    interleave: Interleave,
    relaxed: bool,
    longest: usize,
    counts: Arc<Counts>,
    on_decline: Option<Arc<DeclineReport>>,
}

#[derive(Default)]
struct Counts {
    programs: AtomicU64,
    eight_lanes: AtomicU64,
    interleaved: AtomicU64,
    refused: AtomicU64,
    names: AtomicU32,
    /// Each once.
    refusals: Mutex<Vec<Refusal>>,
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
            relaxed: options.relaxed,
            longest: options.longest,
            counts: Arc::default(),
            on_decline: None,
        })
    }

    /// Calls a function whenever a program can't be widened, with its name and the reason.
    pub fn on_decline(mut self, report: impl Fn(&str, &widen::Declined) + Send + Sync + 'static) -> Jit {
        self.on_decline = Some(Arc::new(report));
        self
    }

    /// The CLIF of a program, as emitted for that many lanes (4 or 8): for inspection.
    ///
    /// # Errors
    /// As [`Executor::compile`].
    pub fn clif(&self, program: &Program, lanes: u32) -> Result<String, CompileError> {
        Ok(emit::emit(program, &self.target, lanes, 1, self.longest, 0)?
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
        Ok((built.code, built.report.lanes))
    }

    /// The program's machine code as text, with names for branch targets, constants and known addresses.
    ///
    /// # Errors
    /// As [`Executor::compile`], and where the code isn't x86-64's.
    pub fn disassemble(&self, program: &Program) -> Result<String, CompileError> {
        if !self.target.x86 {
            return Err(CompileError::Unsupported {
                what: "disassembly of this architecture's code".into(),
                executor: "jit",
                span: None,
            });
        }
        let built = self.build(program)?;
        disassemble::disassemble(&built.code, &emit::known_addresses())
            .map_err(|e| CompileError::Internal(e.to_string()))
    }

    /// What compiling the program decides, costs and makes: for inspection. Counters stay as they are.
    ///
    /// # Errors
    /// As [`Executor::compile`].
    pub fn report(&self, program: &Program) -> Result<Report, CompileError> {
        Ok(self.build(program)?.report)
    }

    /// Why the program must have four lanes, whatever the widener says.
    fn must_be_four(&self, program: &Program) -> Option<FourLanes> {
        if !self.wide {
            Some(FourLanes::Chosen)
        } else if !self.relaxed && order::writes(program).four_lanes() {
            Some(FourLanes::Ordered)
        } else {
            None
        }
    }

    fn build(&self, program: &Program) -> Result<Built, CompileError> {
        let name = self.counts.names.fetch_add(1, Ordering::Relaxed);
        let why = match self.must_be_four(program) {
            Some(why) => why,
            None => {
                let single = match self.interleave {
                    Interleave::Auto => interleave::pays(program).err(),
                    Interleave::Never => Some(interleave::Declined("switched off")),
                    Interleave::Always => None,
                };
                let mut built = self.generate(program, 8, single, name)?;
                let start = Instant::now();
                match widen::widen(&built.code) {
                    Ok(widened) => {
                        built.report.widen = start.elapsed();
                        if cfg!(debug_assertions) {
                            widen::audit(&widened.code)
                                .map_err(|why| CompileError::Internal(format!("widened code: {why}")))?;
                        }
                        built.code = widened.code;
                        built.report.code_bytes = built.code.len();
                        return Ok(built);
                    }
                    Err(declined) => FourLanes::Declined(declined),
                }
            }
        };
        let single = interleave::Declined("four lanes: the pair's two steps follow one another");
        let mut built = self.generate(program, 4, Some(single), name)?;
        built.report.four = Some(why);
        Ok(built)
    }

    /// Code of one pair at a time if `single` says why, else of two where that can be done.
    fn generate(
        &self,
        program: &Program,
        lanes: u32,
        single: Option<interleave::Declined>,
        name: u32,
    ) -> Result<Built, CompileError> {
        let start = Instant::now();
        let mut single = single.map(|why| why.0);
        let pairs = 2 - u32::from(single.is_some());
        let mut emitted = emit::emit(program, &self.target, lanes, pairs, self.longest, name)?;
        if !emitted.short {
            single.get_or_insert("a long program");
        }
        if single.is_none() {
            let doubled = match &emitted.region {
                Some(region) => interleave::interleave(&mut emitted.function, region),
                None => Err(interleave::Declined("no fragment program")),
            };
            if let Err(interleave::Declined(why)) = doubled {
                single = Some(why);
                emitted = emit::emit(program, &self.target, lanes, 1, self.longest, name)?;
            }
        }
        let insts = emitted.function.dfg.num_insts();
        if insts > MAX_INSTS {
            return Err(CompileError::TooLarge {
                what: format!("{insts} instructions of machine-level code, the limit is {MAX_INSTS}"),
            });
        }
        let clif = perf::dump_directory().map(|_| emitted.function.display().to_string());
        let isa = self.target.isa(emitted.short && insts <= OPTIMISED_INSTS);
        let mut codegen = Codegen::for_function(emitted.function);
        let emit = start.elapsed();
        let start = Instant::now();
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
        let code = compiled.buffer.data().to_vec();
        Ok(Built {
            report: Report {
                lanes,
                four: None,
                pairs: 2 - u32::from(single.is_some()),
                single,
                instructions: emitted.instructions,
                clif: insts,
                code_bytes: code.len(),
                frame,
                emit,
                codegen: start.elapsed(),
                widen: Duration::ZERO,
            },
            code,
            clif,
            number: name,
            scratch_cells: emitted.scratch_cells,
            loops: emitted.loops,
            tables: emitted.tables,
        })
    }

    fn count(&self, program: &Program, report: &Report) {
        let add = |to: &AtomicU64| _ = to.fetch_add(1, Ordering::Relaxed);
        add(&self.counts.programs);
        if report.lanes == 8 {
            add(&self.counts.eight_lanes);
        }
        if report.pairs == 2 {
            add(&self.counts.interleaved);
        }
        let Some(FourLanes::Declined(declined)) = &report.four else {
            return;
        };
        add(&self.counts.refused);
        if let Some(report) = &self.on_decline {
            report(&program.name, declined);
        }
        let refusal = Refusal {
            program: program.name.clone(),
            reason: declined.to_string(),
        };
        let mut refusals = self.counts.refusals.lock().unwrap_or_else(PoisonError::into_inner);
        if !refusals.contains(&refusal) {
            refusals.push(refusal);
        }
    }
}

/// Machine code with what belongs to it.
struct Built {
    code: Vec<u8>,
    report: Report,
    /// For dumps only.
    clif: Option<String>,
    number: u32,
    scratch_cells: usize,
    loops: Vec<Option<SpanId>>,
    tables: Vec<Box<[u32]>>,
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

    fn counters(&self) -> CompileCounters {
        let get = |of: &AtomicU64| of.load(Ordering::Relaxed);
        CompileCounters {
            programs: get(&self.counts.programs),
            eight_lanes: get(&self.counts.eight_lanes),
            interleaved: get(&self.counts.interleaved),
            refused: get(&self.counts.refused),
        }
    }

    fn refusals(&self) -> Vec<Refusal> {
        self.counts
            .refusals
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
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
        self.count(program, &built.report);
        Ok(Arc::new(Native {
            stats: CompileStats {
                time: start.elapsed(),
                instructions: built.report.instructions,
                code_bytes: memory.len(),
                lanes: built.report.lanes,
                pairs: built.report.pairs,
                writes: order::writes(program),
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
#[cfg(test)]
mod upper;
