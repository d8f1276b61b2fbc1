//! Which values and locals one scalar register can hold, and which instructions run once a draw or once a run: the
//! analysis' answers ([`passes::Rates`]) as the emitter asks for them (laws L8, L9).

use crate::program::Program;
use quadrille_frontend::ir::{Handle, Local, Value};
use quadrille_frontend::passes;

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

/// The rates of a program's function.
pub(crate) struct Rates(passes::Rates);

impl Rates {
    /// Analyses a program.
    pub fn of(program: &Program) -> Rates {
        Rates(passes::Rates::compute(&program.function, &program.resources))
    }

    /// The value's rate.
    pub fn value(&self, value: Value) -> Rate {
        if !self.0.uniform(value) {
            return Rate::Lane;
        }
        match self.0.rate(value) {
            passes::Rate::Const | passes::Rate::Draw => Rate::Draw,
            passes::Rate::Primitive => Rate::Primitive,
            passes::Rate::Lane => Rate::Uniform,
        }
    }

    /// Whether a scalar register holds the value.
    pub fn scalar(&self, value: Value) -> bool {
        self.0.uniform(value)
    }

    /// Whether a scalar register holds the local.
    pub fn scalar_local(&self, local: Handle<Local>) -> bool {
        self.0.local_uniform(local)
    }
}
