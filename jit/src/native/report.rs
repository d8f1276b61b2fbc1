//! What compiling a program decided, cost and made: for `inspect`, for counters, for tests.

use super::widen;
use std::fmt;
use std::time::Duration;

/// Why a program has four lanes a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FourLanes {
    /// The options or the CPU want it.
    Chosen,
    /// The order of its writes would show (law N8).
    Ordered,
    /// A refusal: the widener doesn't know something in its code.
    Declined(widen::Declined),
}

impl fmt::Display for FourLanes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FourLanes::Chosen => f.write_str("as the options or the processor want it"),
            FourLanes::Ordered => f.write_str("what it writes to memory depends on the order of invocations"),
            FourLanes::Declined(why) => write!(f, "refused: {why}"),
        }
    }
}

/// What compiling a program decided, cost and made.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Lanes a step.
    pub lanes: u32,
    /// Why there are four.
    pub four: Option<FourLanes>,
    /// Pairs in flight at once (law L4).
    pub pairs: u32,
    /// Why there is one.
    pub single: Option<&'static str>,
    /// IR instructions that were emitted.
    pub instructions: usize,
    /// CLIF instructions.
    pub clif: usize,
    /// Bytes of machine code and constants.
    pub code_bytes: usize,
    /// Bytes of the stack frame, before widening.
    pub frame: u32,
    /// Time from IR to CLIF.
    pub emit: Duration,
    /// Time in Cranelift.
    pub codegen: Duration,
    /// Time in the widener.
    pub widen: Duration,
}

/// Vector registers that code keeps in memory for want of registers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spills {
    /// Stores of whole vectors to the stack.
    pub stores: usize,
    /// Reads of them.
    pub loads: usize,
}

impl Spills {
    /// Counts those of x86 code as Cranelift or the widener finished it; none if it can't be read.
    pub fn of(code: &[u8]) -> Option<Spills> {
        use iced_x86::{OpKind, Register};
        let mut spills = Spills::default();
        for inst in widen::instructions(code).ok()? {
            let count = inst.op_count();
            let vector =
                (0..count).any(|n| inst.op_kind(n) == OpKind::Register && inst.op_register(n).is_vector_register());
            if inst.memory_base() != Register::RSP || !vector {
                continue;
            }
            if inst.op_kind(0) == OpKind::Memory {
                spills.stores += 1;
            } else if (1..count).any(|n| inst.op_kind(n) == OpKind::Memory) {
                spills.loads += 1;
            }
        }
        Some(spills)
    }
}
