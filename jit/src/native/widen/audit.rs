//! Looks at widened code from the other side: what must hold of it, whoever made it.
//!
//! The pass is checked by this in builds with debug assertions, hence by every test that compiles a program; tests
//! that break the pass on purpose rely on it too. It shares the table of forms with the pass, nothing else. Rules:
//! - no legacy SSE encoding touches a vector register, and `vzeroupper` stands before every call and return: no
//!   transition between SSE and AVX state, in the code or around it;
//! - no instruction of a lane form is left at 128 bits, and none is unknown;
//! - constants are 32 aligned bytes, both halves the same;
//! - vectors on the stack are 32 aligned bytes inside the frame, which is aligned and dropped through rbp;
//! - branches go to instructions, and past no `vzeroupper`.

use super::forms::{Form, form};
use super::{Declined, instructions, is_vector};
use iced_x86::{Code, EncodingKind, FlowControl, Instruction, OpKind, Register};
use std::collections::HashSet;

/// What is wrong with widened code.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Audit {
    /// It can't be read.
    #[error(transparent)]
    Unreadable(#[from] Declined),
    /// A transition of SSE and AVX state.
    #[error("{code} at {offset:#x} has a legacy encoding")]
    Legacy {
        /// Byte offset.
        offset: u32,
        /// The instruction's form.
        code: String,
    },
    /// A transition of SSE and AVX state.
    #[error("no vzeroupper before {code} at {offset:#x}")]
    DirtyUpper {
        /// Byte offset.
        offset: u32,
        /// The instruction's form.
        code: String,
    },
    /// A lane operation on one quad, or one that isn't known.
    #[error("{code} at {offset:#x} is no 8-lane instruction")]
    Narrow {
        /// Byte offset.
        offset: u32,
        /// The instruction's form.
        code: String,
    },
    /// A constant that isn't there for both quads.
    #[error("the constant at {offset:#x} is {what}")]
    Constant {
        /// Its byte offset.
        offset: u32,
        /// What is wrong.
        what: &'static str,
    },
    /// A stack frame that wouldn't hold what the code puts there.
    #[error("stack frame, at {offset:#x}: {what}")]
    Frame {
        /// Byte offset.
        offset: u32,
        /// What is wrong.
        what: &'static str,
    },
    /// A branch to no instruction, or past a `vzeroupper`.
    #[error("the branch at {offset:#x} goes to a wrong place")]
    Branch {
        /// Byte offset.
        offset: u32,
    },
}

/// Checks widened code.
///
/// # Errors
/// The first thing that is wrong.
pub fn audit(code: &[u8]) -> Result<(), Audit> {
    let all = instructions(code)?;
    let starts: HashSet<u64> = all.iter().map(Instruction::ip).collect();
    let mut frame = None;
    for (i, inst) in all.iter().enumerate() {
        let before = i.checked_sub(1).map(|i| &all[i]);
        width(inst)?;
        constant(inst, code)?;
        frame = stack(inst, before, all.get(i + 1), frame)?;
        match inst.flow_control() {
            FlowControl::Return | FlowControl::Call | FlowControl::IndirectCall => {
                if before.is_none_or(|b| b.code() != Code::VEX_Vzeroupper) {
                    return Err(Audit::DirtyUpper {
                        offset: inst.ip() as u32,
                        code: format!("{:?}", inst.code()),
                    });
                }
                if inst.flow_control() == FlowControl::Return && frame.is_some() && !drops_frame(&all[..i]) {
                    return Err(Audit::Frame {
                        offset: inst.ip() as u32,
                        what: "returns without dropping the frame",
                    });
                }
            }
            FlowControl::ConditionalBranch | FlowControl::UnconditionalBranch => {
                let target = inst.near_branch_target();
                let past = target.checked_sub(3).is_some_and(|before| {
                    all.binary_search_by_key(&before, Instruction::ip)
                        .is_ok_and(|at| all[at].code() == Code::VEX_Vzeroupper)
                });
                if !starts.contains(&target) || past {
                    return Err(Audit::Branch {
                        offset: inst.ip() as u32,
                    });
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// Whether the last instructions before a return set rsp back.
fn drops_frame(before: &[Instruction]) -> bool {
    before
        .iter()
        .rev()
        .take(4)
        .any(|i| i.op0_kind() == OpKind::Register && i.op0_register() == Register::RSP && i.op_count() == 2)
}

fn width(inst: &Instruction) -> Result<(), Audit> {
    if !is_vector(inst) {
        return Ok(());
    }
    let (offset, code) = (inst.ip() as u32, format!("{:?}", inst.code()));
    if inst.encoding() != EncodingKind::VEX {
        return Err(Audit::Legacy { offset, code });
    }
    let by_lane = |form: Option<Form>| {
        use Form::*;
        matches!(form, Some(Lane | Blend | Accumulate | Shift | Move | Broadcast | Test))
    };
    let scalar = matches!(form(inst.code()), Some(Form::ScalarDefine | Form::ScalarUse));
    // A VEX.256 form is listed right after its VEX.128 twin; two later where there are 32- and 64-bit general registers.
    let twin = |distance: usize| {
        let twin = (inst.code() as usize).checked_sub(distance)?;
        form(Code::try_from(twin).ok()?)
    };
    let wide = (0..inst.op_count()).any(|n| inst.op_kind(n) == OpKind::Register && inst.op_register(n).is_ymm());
    if scalar || wide && (by_lane(twin(1)) || by_lane(twin(2))) {
        Ok(())
    } else {
        Err(Audit::Narrow { offset, code })
    }
}

fn constant(inst: &Instruction, code: &[u8]) -> Result<(), Audit> {
    if !inst.is_ip_rel_memory_operand() {
        return Ok(());
    }
    let at = inst.ip_rel_memory_address();
    let wrong = |what| {
        Err(Audit::Constant {
            offset: at as u32,
            what,
        })
    };
    let Some(bytes) = usize::try_from(at).ok().and_then(|at| code.get(at..at + 32)) else {
        return wrong("outside of the code");
    };
    if !at.is_multiple_of(32) {
        return wrong("not aligned");
    }
    if bytes[..16] != bytes[16..] {
        return wrong("not the same in both halves");
    }
    Ok(())
}

/// Follows the frame's size through an instruction.
fn stack(
    inst: &Instruction,
    before: Option<&Instruction>,
    after: Option<&Instruction>,
    frame: Option<u64>,
) -> Result<Option<u64>, Audit> {
    let wrong = |what| {
        Err(Audit::Frame {
            offset: inst.ip() as u32,
            what,
        })
    };
    if matches!(inst.code(), Code::Sub_rm64_imm8 | Code::Sub_rm64_imm32) && inst.op0_register() == Register::RSP {
        let aligned = after.is_some_and(|i| {
            i.code() == Code::And_rm64_imm8 && i.op0_register() == Register::RSP && i.immediate(1) as i64 == -32
        });
        let kept = before.is_some_and(|i| i.op0_register() == Register::RBP && i.op1_register() == Register::RSP);
        return if !aligned {
            wrong("not aligned")
        } else if !kept {
            wrong("rbp doesn't keep the caller's")
        } else {
            Ok(Some(inst.immediate(1)))
        };
    }
    let in_memory = (0..inst.op_count()).any(|n| inst.op_kind(n) == OpKind::Memory);
    if !in_memory || inst.memory_base() != Register::RSP {
        return Ok(frame);
    }
    let size = inst.memory_size().size() as u64;
    let at = inst.memory_displacement64();
    let end = at.saturating_add(size);
    if frame.is_none_or(|frame| end > frame) {
        return wrong("an access outside");
    }
    if size == 32 && !at.is_multiple_of(32) {
        return wrong("a vector that isn't aligned");
    }
    if size == 16 {
        return wrong("half a vector");
    }
    Ok(frame)
}
