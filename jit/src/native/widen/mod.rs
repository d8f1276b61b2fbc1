//! Eight lanes from Cranelift's four: a pass over finished machine code that makes every lane value two quads in a
//! ymm register.
//!
//! ```text
//! Cranelift's bytes ─ decode ─ check which values fill both halves (flow) ─ rewrite ─► bytes, offset map
//!                                 └────────────── Declined{why}: the 128-bit code runs, always right
//! ```
//!
//! AVX2's in-lane semantics work on each 128-bit half by itself, which is exactly per-quad semantics; so packed
//! instructions keep their bytes and get VEX.L = 1. What changes besides: vector spills and constants are 32 bytes,
//! the frame doubles and is aligned, `vzeroupper` stands before every call and return (dirty upper halves made code
//! after it ten times slower), branches are re-targeted.
//!
//! Rules that must not break: every lane access of the code moves 32 bytes in memory laid out for it (crate::abi);
//! a value that is valid only in the low quad never reaches a 32-byte store or a mask test (flow.rs); an instruction
//! that isn't in the table (forms.rs) is never passed on.

mod audit;
mod flow;
mod forms;
mod rewrite;

pub use audit::{Audit, audit};

use iced_x86::{Code, Decoder, DecoderOptions, FlowControl, Instruction, OpKind, Register};

/// Why a function stays at four lanes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Declined {
    /// An instruction outside the table.
    #[error("instruction {code} at {offset:#x} has no known 8-lane form")]
    Instruction {
        /// Byte offset in the original code.
        offset: u32,
        /// The instruction's form.
        code: String,
    },
    /// A value that fills only the low quad is used for both.
    #[error("{code} at {offset:#x} would use the upper half of a value that has none")]
    HalfValue {
        /// Byte offset in the original code.
        offset: u32,
        /// The instruction's form.
        code: String,
    },
    /// The code's frame isn't what the pass knows how to widen.
    #[error("stack frame: {what} at {offset:#x}")]
    Frame {
        /// Byte offset in the original code.
        offset: u32,
        /// What is unexpected.
        what: &'static str,
    },
    /// Bytes that don't decode, or a branch to outside the function.
    #[error("undecodable code at {offset:#x}")]
    Undecodable {
        /// Byte offset in the original code.
        offset: u32,
    },
}

/// Widened code.
#[derive(Clone, Debug)]
pub struct Widened {
    /// Instructions, padding, constants. To be placed at an address that is a multiple of 32.
    pub code: Vec<u8>,
    /// Old and new byte offset of every instruction, ascending.
    pub offsets: Vec<(u32, u32)>,
}

impl Widened {
    /// The new place of a byte inside an instruction whose layout did not change (relocations, traps).
    pub fn map(&self, old: u32) -> Option<u32> {
        let at = self.offsets.partition_point(|&(o, _)| o <= old).checked_sub(1)?;
        let (o, n) = self.offsets[at];
        Some(n + (old - o))
    }
}

/// A decoded instruction and what happens to it.
struct Step {
    inst: Instruction,
    form: Option<forms::Form>,
}

impl Step {
    fn offset(&self) -> u32 {
        self.inst.ip() as u32
    }

    fn is_stack(&self) -> bool {
        let i = &self.inst;
        (0..i.op_count()).any(|n| i.op_kind(n) == OpKind::Memory) && i.memory_base() == Register::RSP
    }
}

/// Widens one function as Cranelift finished it (x86-64, AVX2, frame pointer, no stack probes, no explicit stack slots).
///
/// # Errors
/// [`Declined`], and the code runs as it is.
pub fn widen(code: &[u8]) -> Result<Widened, Declined> {
    let steps = decode(code)?;
    flow::check(&steps)?;
    rewrite::rewrite(code, &steps)
}

/// All instructions of a function, without the constants behind them.
///
/// # Errors
/// What doesn't decode, or branches elsewhere.
pub fn instructions(code: &[u8]) -> Result<Vec<Instruction>, Declined> {
    let mut decoder = Decoder::with_ip(64, code, 0, DecoderOptions::NONE);
    let mut all = Vec::with_capacity(code.len() / 5);
    // Constants follow the code; the nearest one that an instruction names is where the code ends at the latest.
    let mut end = code.len() as u64;
    let mut last_target = 0;
    let mut inst = Instruction::default();
    let mut open = true;
    while decoder.ip() < end {
        let offset = decoder.ip() as u32;
        if !open && last_target < u64::from(offset) {
            // Nothing flows or branches here: padding before the constants.
            break;
        }
        decoder.decode_out(&mut inst);
        if inst.is_invalid() {
            return Err(Declined::Undecodable { offset });
        }
        if inst.is_ip_rel_memory_operand() {
            end = end.min(inst.ip_rel_memory_address());
        }
        open = true;
        match inst.flow_control() {
            FlowControl::UnconditionalBranch | FlowControl::ConditionalBranch => {
                let target = inst.near_branch_target();
                if target >= code.len() as u64 {
                    return Err(Declined::Undecodable { offset });
                }
                last_target = last_target.max(target);
                open = inst.flow_control() == FlowControl::ConditionalBranch;
            }
            FlowControl::Return | FlowControl::Exception => open = false,
            FlowControl::Next | FlowControl::IndirectCall | FlowControl::Call => {}
            _ => {
                return Err(Declined::Instruction {
                    offset,
                    code: format!("{:?}", inst.code()),
                });
            }
        }
        all.push(inst);
    }
    Ok(all)
}

/// Whether an operand is a vector register.
fn is_vector(inst: &Instruction) -> bool {
    (0..inst.op_count()).any(|n| inst.op_kind(n) == OpKind::Register && inst.op_register(n).is_vector_register())
}

fn decode(code: &[u8]) -> Result<Vec<Step>, Declined> {
    let step = |inst: Instruction| {
        let known = !is_vector(&inst) && inst.code() != Code::VEX_Vzeroupper;
        let form = forms::form(inst.code()).filter(|_| !known);
        if known || form.is_some() {
            Ok(Step { inst, form })
        } else {
            Err(Declined::Instruction {
                offset: inst.ip() as u32,
                code: format!("{:?}", inst.code()),
            })
        }
    };
    instructions(code)?.into_iter().map(step).collect()
}

#[cfg(test)]
mod tests;
