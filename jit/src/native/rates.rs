//! Which values and locals one scalar register can hold, and which instructions run once a draw or once a run.
//!
//! A value is *scalar* if all lanes that execute it hold the same bits; *invariant* if it doesn't change within the
//! draw or within a run either, and nothing it does can be noticed, so that it may run early (laws L8, L9).

use crate::program::{Program, ProgramKind};
use quadrille_frontend::ir::{Body, Def, Function, Handle, Local, Op, Stmt, Value};

/// How often a value changes, rarest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Rate {
    /// Never during a call of the program.
    Draw,
    /// With each run.
    Primitive,
    /// Whenever it is executed, but alike in all lanes.
    Uniform,
    /// By lane.
    Lane,
}

/// The rates of a function.
pub(crate) struct Rates {
    values: Vec<Rate>,
}

impl Rates {
    /// Rates of a program's values; locals count as lane-rate.
    pub fn of(program: &Program) -> Rates {
        let function = &program.function;
        let mut rates = Rates {
            values: vec![Rate::Lane; function.values.len()],
        };
        rates.body(program, function, &function.body);
        rates
    }

    /// The value's rate.
    pub fn value(&self, value: Value) -> Rate {
        self.values[value.index()]
    }

    /// Whether a scalar register holds the value.
    pub fn scalar(&self, value: Value) -> bool {
        self.value(value) != Rate::Lane
    }

    /// Whether a scalar register holds the local.
    pub fn scalar_local(&self, _: Handle<Local>) -> bool {
        false
    }

    fn body(&mut self, program: &Program, function: &Function, body: &Body) {
        for stmt in body {
            match stmt {
                Stmt::Inst(id) => {
                    let inst = &function.insts[*id];
                    let args = inst.args.iter().map(|&a| self.value(a)).max().unwrap_or(Rate::Draw);
                    let rate = match inst.op {
                        Op::Const(_)
                        | Op::Alu(_)
                        | Op::Bitcast(_)
                        | Op::Quad(_)
                        | Op::BufferSize(_)
                        | Op::TextureQuery { .. }
                        | Op::DrawLoad { .. } => args,
                        Op::TableLoad { .. } if program.kind == ProgramKind::Preamble => Rate::Uniform,
                        Op::TableLoad { .. } => Rate::Draw,
                        Op::PrimLoad { .. } | Op::PrimVertexLoad { .. } => Rate::Primitive,
                        Op::BufferLoad { buffer, .. } if program.resources[buffer.resource].is_read_only() => args,
                        Op::BufferLoad { .. } => args.max(Rate::Uniform),
                        _ => Rate::Lane,
                    };
                    for result in inst.results() {
                        debug_assert!(matches!(function.values[result].def, Def::Inst(..)));
                        self.values[result.index()] = rate;
                    }
                }
                Stmt::Block { body, .. } => self.body(program, function, body),
                Stmt::If { then, otherwise, .. } => {
                    self.body(program, function, then);
                    self.body(program, function, otherwise);
                }
                Stmt::Loop { body, continuing, .. } => {
                    self.body(program, function, body);
                    self.body(program, function, continuing);
                }
                Stmt::Switch { cases, .. } => {
                    for case in cases {
                        self.body(program, function, &case.body);
                    }
                }
                Stmt::Break(_) | Stmt::Continue(_) | Stmt::Return(_) => {}
            }
        }
    }
}
