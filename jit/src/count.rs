//! Counts the operations that programs execute: what "ns per operation" divides by.
//!
//! ```text
//! Program ─ a count in front of every instruction ─► interpreter ─► Context::invocations ─► Operations
//! ```
//!
//! An operation is an instruction of the optimised program in one active lane; constants cost nothing and don't count. The
//! figure is a property of program and data, the same whoever runs it.

use crate::abi::Context;
use crate::interp::Interpreter;
use crate::program::{CompileError, CompileStats, Compiled, Executor, Program};
use quadrille_frontend::ir::{Args, Body, Case, Function, Handle, Inst, Kind, Literal, Op, SpanId, Stmt, Value};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Operations executed so far, by lanes.
#[derive(Clone, Debug, Default)]
pub struct Operations(Arc<AtomicU64>);

impl Operations {
    /// The sum over all calls and lanes.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// The interpreter, counting what it executes in programs that `which` accepts. Invocation counts of such programs are
/// lost: the count takes their place.
#[derive(Clone, Debug)]
pub struct Counting {
    operations: Operations,
    which: fn(&Program) -> bool,
}

impl Counting {
    /// Counts in all programs that `which` accepts.
    pub fn new(which: fn(&Program) -> bool) -> Counting {
        Counting {
            operations: Operations::default(),
            which,
        }
    }

    /// The counter.
    pub fn operations(&self) -> &Operations {
        &self.operations
    }
}

impl Executor for Counting {
    fn name(&self) -> &'static str {
        "counting"
    }

    fn share(&self) -> Arc<dyn Executor> {
        Arc::new(self.clone())
    }

    fn compile(&self, program: &Program) -> Result<Arc<dyn Compiled>, CompileError> {
        if !(self.which)(program) {
            return Interpreter.compile(program);
        }
        let mut program = program.clone();
        count_everything(&mut program.function);
        Ok(Arc::new(Counted {
            inner: Interpreter.compile(&program)?,
            operations: self.operations.clone(),
        }))
    }
}

struct Counted {
    inner: Arc<dyn Compiled>,
    operations: Operations,
}

impl Compiled for Counted {
    unsafe fn run(&self, context: &mut Context) {
        let before = context.invocations;
        // SAFETY: the caller's promise; counts touch nothing but the context.
        unsafe { self.inner.run(context) };
        let executed = context.invocations.wrapping_sub(before);
        context.invocations = before;
        self.operations.0.fetch_add(executed, Ordering::Relaxed);
    }

    fn scratch_cells(&self) -> usize {
        self.inner.scratch_cells()
    }

    fn stats(&self) -> CompileStats {
        self.inner.stats()
    }

    fn loop_span(&self, index: u32) -> Option<SpanId> {
        self.inner.loop_span(index)
    }
}

fn push(f: &mut Function, op: Op, args: &[Value], result: Option<Kind>) -> Stmt {
    let id = Handle::from_index(f.insts.len());
    let first_result = result.map(|kind| {
        f.values.push(quadrille_frontend::ir::ValueData {
            kind,
            def: quadrille_frontend::ir::Def::Inst(id, 0),
        })
    });
    f.insts.push(Inst {
        op,
        args: Args::from_slice(args),
        first_result,
        result_count: u8::from(result.is_some()),
        span: None,
    });
    Stmt::Inst(id)
}

fn count_everything(f: &mut Function) {
    let body = std::mem::take(&mut f.body);
    let literal = Literal {
        kind: Kind::Bool,
        bits: 1,
    };
    let constant = push(f, Op::Const(literal), &[], Some(Kind::Bool));
    let Stmt::Inst(id) = constant else { return };
    let always = f.insts[id].result();
    let mut out = vec![constant];
    out.extend(counted(f, body, always));
    f.body = out;
}

fn counted(f: &mut Function, body: Body, always: Value) -> Body {
    let mut out = Vec::with_capacity(2 * body.len());
    for stmt in body {
        let stmt = match stmt {
            Stmt::Inst(id) => {
                match f.insts[id].op {
                    Op::Const(_) | Op::CountInvocations | Op::CountSamples | Op::Note(_) => {}
                    _ => out.push(push(f, Op::CountInvocations, &[always], None)),
                }
                stmt
            }
            Stmt::Block { label, body } => Stmt::Block {
                label,
                body: counted(f, body, always),
            },
            Stmt::If {
                cond,
                then,
                otherwise,
                span,
            } => Stmt::If {
                cond,
                then: counted(f, then, always),
                otherwise: counted(f, otherwise, always),
                span,
            },
            Stmt::Loop {
                label,
                body,
                continuing,
                break_if,
                bound,
                span,
            } => Stmt::Loop {
                label,
                body: counted(f, body, always),
                continuing: counted(f, continuing, always),
                break_if,
                bound,
                span,
            },
            Stmt::Switch {
                label,
                selector,
                cases,
                span,
            } => Stmt::Switch {
                label,
                selector,
                cases: cases
                    .into_iter()
                    .map(|case| Case {
                        body: counted(f, case.body, always),
                        ..case
                    })
                    .collect(),
                span,
            },
            Stmt::Break(_) | Stmt::Continue(_) | Stmt::Return(_) => stmt,
        };
        out.push(stmt);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::Cell;
    use crate::program::ProgramKind;
    use quadrille_frontend::ir::Arena;
    use quadrille_frontend::ir::text::parse_function;

    #[test]
    fn operations_of_active_lanes_count_and_constants_do_not() {
        // 8 lanes load, convert and compare; three of them multiply; all store.
        let text = r#"func fn0 "f"() -> () {
            local $0 "x": f32 = 0.0
            %0: f32 = const 2.5
            %1: f32 = cell.load(0)
            %2: bool = flt %1, %0
            if %2 {
                %3: f32 = fmul %1, %1
                set $0, %3
            }
            %4: f32 = get $0
            cell.store(0) %4
        }"#;
        let program = Program {
            name: "count".into(),
            kind: ProgramKind::Vertex {
                cells_in: 1,
                cells_out: 1,
            },
            function: parse_function(text).unwrap(),
            resources: Arena::new(),
            slots: Vec::new(),
            sources: Default::default(),
        };
        let counting = Counting::new(|_| true);
        let compiled = counting.compile(&program).unwrap();
        let input = [Cell(std::array::from_fn(|lane| (lane as f32).to_bits()))];
        let mut output = [Cell::default()];
        let mut scratch = vec![Cell::default(); compiled.scratch_cells()];
        let mut context = Context {
            count: 1,
            cells_in: input.as_ptr(),
            cells_out: output.as_mut_ptr(),
            scratch: scratch.as_mut_ptr(),
            ..Context::new(compiled.stats().lanes)
        };
        // SAFETY: one group of one cell each way, and the program's scratch.
        unsafe { compiled.run(&mut context) };
        assert_eq!(f32::from_bits(output[0].0[2]), 4.0);
        assert_eq!(counting.operations().get(), 8 * 4 + 3 * 2);
        assert_eq!(context.invocations, 0);
    }
}
