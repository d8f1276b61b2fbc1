//! Which values fill both halves: a forward data-flow over registers and spill slots.
//!
//! A scalar result, a register at entry or after a call is valid in the low quad only. Lane operations keep the
//! weakest of their sources; a broadcast fills all. Storing 32 bytes of such a value, or testing it as a mask, declines.

use super::forms::Form;
use super::{Declined, Step};
use iced_x86::{FlowControl, OpKind, Register};

/// What is known before an instruction: which registers and spill slots are full, as bits.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
struct State {
    full: u16,
    /// A bit for each 8 bytes of the frame.
    slots: Vec<u64>,
}

impl State {
    /// Keeps what both know; whether that is less than before.
    fn join(&mut self, other: &State) -> bool {
        let full = self.full & other.full;
        let mut changed = full != self.full;
        self.full = full;
        for (slots, &other) in self.slots.iter_mut().zip(&other.slots) {
            let both = *slots & other;
            changed |= both != *slots;
            *slots = both;
        }
        changed
    }

    fn reg(&self, r: Register) -> bool {
        self.full >> index(r) & 1 != 0
    }

    fn set(&mut self, r: Register, full: bool) {
        let bit = 1 << index(r);
        self.full = if full { self.full | bit } else { self.full & !bit };
    }

    fn slot(&self, displacement: u64) -> bool {
        let slot = displacement / 8;
        self.slots
            .get((slot / 64) as usize)
            .is_some_and(|word| word >> (slot % 64) & 1 != 0)
    }

    fn set_slot(&mut self, displacement: u64, full: bool) {
        let slot = displacement / 8;
        if let Some(word) = self.slots.get_mut((slot / 64) as usize) {
            let bit = 1 << (slot % 64);
            *word = if full { *word | bit } else { *word & !bit };
        }
    }
}

fn index(r: Register) -> u16 {
    // xmm and ymm of the same number share a slot; with `no_evex` there are 16 of each.
    (r.number() & 15) as u16
}

pub(super) fn check(steps: &[Step]) -> Result<(), Declined> {
    let index_of = |offset: u64| steps.binary_search_by_key(&offset, |s| s.inst.ip()).ok();
    let mut entry: Vec<Option<State>> = vec![None; steps.len()];
    let mut leader = vec![false; steps.len()];
    for (i, step) in steps.iter().enumerate() {
        let flow = step.inst.flow_control();
        if matches!(flow, FlowControl::ConditionalBranch | FlowControl::UnconditionalBranch) {
            let target =
                index_of(step.inst.near_branch_target()).ok_or(Declined::Undecodable { offset: step.offset() })?;
            leader[target] = true;
            if let Some(next) = leader.get_mut(i + 1) {
                *next = true;
            }
        }
    }
    let mut work = Vec::new();
    if let Some(first) = entry.first_mut() {
        let deepest = steps
            .iter()
            .filter(|s| s.is_stack())
            .map(|s| s.inst.memory_displacement64());
        // What lies above the largest frame is never full.
        let deepest = deepest.max().unwrap_or(0).min(1 << 17);
        *first = Some(State {
            full: 0,
            slots: vec![0; deepest as usize / 512 + 1],
        });
        work.push(0);
    }
    while let Some(start) = work.pop() {
        let Some(mut state) = entry[start].clone() else {
            continue;
        };
        let mut at = start;
        while let Some(step) = steps.get(at) {
            if at != start && leader[at] {
                flow_to(&mut entry, &mut work, at, &state);
                break;
            }
            transfer(step, &mut state)?;
            match step.inst.flow_control() {
                FlowControl::ConditionalBranch | FlowControl::UnconditionalBranch => {
                    if let Some(target) = index_of(step.inst.near_branch_target()) {
                        flow_to(&mut entry, &mut work, target, &state);
                    }
                    if step.inst.flow_control() == FlowControl::UnconditionalBranch {
                        break;
                    }
                }
                FlowControl::Return | FlowControl::Exception => break,
                _ => {}
            }
            at += 1;
        }
    }
    Ok(())
}

fn flow_to(entry: &mut [Option<State>], work: &mut Vec<usize>, target: usize, state: &State) {
    let changed = match &mut entry[target] {
        Some(known) => known.join(state),
        none => {
            *none = Some(state.clone());
            true
        }
    };
    if changed {
        work.push(target);
    }
}

/// Whether operand `n` fills both halves. Memory other than spills does: lane data has a 32-byte stride.
fn source(step: &Step, n: u32, state: &State) -> bool {
    match step.inst.op_kind(n) {
        OpKind::Register => {
            let r = step.inst.op_register(n);
            !r.is_vector_register() || state.reg(r)
        }
        OpKind::Memory if step.is_stack() => state.slot(step.inst.memory_displacement64()),
        _ => true,
    }
}

fn transfer(step: &Step, state: &mut State) -> Result<(), Declined> {
    let inst = &step.inst;
    let half = || Declined::HalfValue {
        offset: step.offset(),
        code: format!("{:?}", inst.code()),
    };
    let Some(form) = step.form else {
        match inst.flow_control() {
            FlowControl::Call | FlowControl::IndirectCall => state.full = 0,
            // An integer spill may reuse a vector's slot.
            _ if step.is_stack() && inst.op_kind(0) == OpKind::Memory => {
                let slot = inst.memory_displacement64();
                state.set_slot(slot, false);
                state.set_slot(slot & !15, false);
            }
            _ => {}
        }
        return Ok(());
    };
    match form {
        Form::Lane | Form::Blend | Form::Accumulate => {
            let count = inst.op_count();
            let same = count == 3
                && inst.op_kind(2) == OpKind::Register
                && inst.op_register(1) == inst.op_register(2)
                && is_idiom(inst.code());
            let first = if form == Form::Accumulate { 0 } else { 1 };
            let full = same || (first..count).all(|n| source(step, n, state));
            state.set(inst.op0_register(), full);
        }
        Form::Move | Form::LegacyMove(_) => {
            if inst.op_kind(0) == OpKind::Memory {
                let full = state.reg(inst.op1_register());
                if step.is_stack() {
                    state.set_slot(inst.memory_displacement64(), full);
                } else if !full {
                    return Err(half());
                }
            } else {
                let full = source(step, 1, state);
                state.set(inst.op0_register(), full);
            }
        }
        Form::LegacyIdiom(_) => {
            if inst.op_kind(1) != OpKind::Register || inst.op0_register() != inst.op1_register() {
                return Err(Declined::Instruction {
                    offset: step.offset(),
                    code: format!("{:?}", inst.code()),
                });
            }
            state.set(inst.op0_register(), true);
        }
        Form::Shift => {
            let full = source(step, 1, state);
            state.set(inst.op0_register(), full);
        }
        Form::Broadcast => state.set(inst.op0_register(), true),
        Form::Test => {
            if !(source(step, 0, state) && source(step, 1, state)) {
                return Err(half());
            }
        }
        Form::ScalarDefine | Form::LegacyDefine(_) => state.set(inst.op0_register(), false),
        Form::ScalarUse | Form::LegacyUse(_) => {
            if step.is_stack() && inst.op_kind(0) == OpKind::Memory {
                state.set_slot(inst.memory_displacement64(), false);
            } else if form == Form::LegacyUse(iced_x86::Code::VEX_Vmovss_m32_xmm) && inst.op0_kind() == OpKind::Register
            {
                // The other encoding of a move to a register's lowest lane.
                state.set(inst.op0_register(), false);
            }
        }
    }
    Ok(())
}

/// Operations whose result on equal operands doesn't depend on them.
fn is_idiom(code: iced_x86::Code) -> bool {
    use iced_x86::Code::*;
    matches!(
        code,
        VEX_Vpxor_xmm_xmm_xmmm128
            | VEX_Vxorps_xmm_xmm_xmmm128
            | VEX_Vxorpd_xmm_xmm_xmmm128
            | VEX_Vpcmpeqb_xmm_xmm_xmmm128
            | VEX_Vpcmpeqw_xmm_xmm_xmmm128
            | VEX_Vpcmpeqd_xmm_xmm_xmmm128
            | VEX_Vpcmpeqq_xmm_xmm_xmmm128
            | VEX_Vpsubd_xmm_xmm_xmmm128
    )
}
