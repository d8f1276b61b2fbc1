//! Watching the interpreter: every instruction that a chosen quad executes, with its lanes' values.
//!
//! ```text
//! Watching (an executor) ─ compile ─► the same code ─ machine.rs ─ a wanted quad? ─► Watch::step for each instruction
//! ```
//!
//! The rule that must not break: watching changes nothing, and a program that isn't watched doesn't pay for it.

use super::lanes::Lanes;
use crate::program::Program;
use quadrille_frontend::ir::{InstId, SpanId, Value};
use std::fmt::Debug;

/// A quad of a fragment program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quad {
    /// [`Context::tag`](crate::abi::Context::tag).
    pub tag: u32,
    /// Upper left pixel in the target, both even.
    pub x: u32,
    /// See `x`.
    pub y: u32,
    /// Lanes that start as helpers, bit i = lane i.
    pub helpers: u8,
}

/// What is executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// An instruction.
    Inst(InstId),
    /// A branch on a bool, or a switch on a selector.
    Branch {
        /// What it depends on.
        on: Value,
        /// Source position.
        span: Option<SpanId>,
    },
    /// An iteration of a loop begins.
    Iteration {
        /// Source position of the loop.
        span: Option<SpanId>,
    },
}

/// Something that a watched quad has just executed.
#[derive(Debug)]
pub struct Step<'a> {
    /// Which quad.
    pub quad: Quad,
    /// Its program.
    pub program: &'a Program,
    /// What.
    pub what: What,
    /// Lanes that executed it, bit i = lane i; never none.
    pub active: u8,
    /// Lanes that are helpers afterwards.
    pub helpers: u8,
    pub(super) registers: &'a [Lanes],
}

impl Step<'_> {
    /// Bits of a value in the four lanes: upper left, upper right, lower left, lower right. Bools are zero or all ones.
    pub fn value(&self, value: Value) -> [u32; 4] {
        self.registers.get(value.index()).copied().unwrap_or_default()
    }
}

/// Who watches.
pub trait Watch: Send + Sync + Debug {
    /// Whether to be told of a quad's instructions; asked once for each quad and primitive.
    fn wants(&self, quad: Quad, program: &Program) -> bool;
    /// A wanted quad has executed something.
    fn step(&self, step: &Step<'_>);
}
