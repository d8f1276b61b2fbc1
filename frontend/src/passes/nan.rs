//! What is known of a value's NaNs: the question behind `canon` and behind `x * 1` (law N3).
//!
//! An *arithmetic* NaN may have any bits, so nobody may see them before `canon`. All other NaNs (loaded, constant, made
//! of an integer's bits) keep theirs. Operations that hand an operand on hand its NaNs on.

use crate::ir::{Alu, Function, Op, QuadOp, Value};

/// What an operation does about NaNs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Nan {
    /// Its results are no NaNs, or no floats.
    Never,
    /// Any NaN it gives is arithmetic.
    Made,
    /// Gives an operand's bits, but flips or clears the sign.
    Signed,
    /// Gives one of its operands as it is.
    Passed,
    /// From elsewhere (a load, a constant), with bits that count.
    Foreign,
}

/// What the operation does.
pub(super) fn nan(op: &Op) -> Nan {
    match op {
        Op::Const(_) => Nan::Foreign,
        Op::Alu(alu) => match alu {
            Alu::FNeg | Alu::FAbs => Nan::Signed,
            Alu::FMin | Alu::FMax | Alu::Flush | Alu::Select => Nan::Passed,
            Alu::Canon | Alu::SToF | Alu::UToF | Alu::FSign | Alu::FSaturate | Alu::Unorm8ToF => Nan::Never,
            _ => Nan::Made,
        },
        Op::Quad(QuadOp::SwapX | QuadOp::SwapY | QuadOp::SwapDiagonal | QuadOp::Broadcast(_)) => Nan::Passed,
        Op::Quad(_) | Op::Convert(_) => Nan::Made,
        _ => Nan::Foreign,
    }
}

/// How far definitions are followed.
const DEPTH: usize = 6;

/// Whether the value certainly isn't a foreign NaN: it may be replaced by something that differs in NaN bits only.
pub(super) fn bits_are_free(f: &Function, value: Value) -> bool {
    free(f, value, DEPTH)
}

fn free(f: &Function, value: Value, depth: usize) -> bool {
    let Some(inst) = f.def_inst(value) else { return false };
    match nan(&inst.op) {
        Nan::Never | Nan::Made => true,
        Nan::Foreign => match inst.op {
            Op::Const(literal) => !literal.as_f32().is_nan(),
            _ => false,
        },
        Nan::Signed | Nan::Passed => depth > 0 && handed_on(inst).iter().all(|&a| free(f, a, depth - 1)),
    }
}

/// The operands of which an operation hands one on.
pub(super) fn handed_on(inst: &crate::ir::Inst) -> &[Value] {
    match inst.op {
        Op::Alu(Alu::Select) => &inst.args[1..],
        _ => &inst.args,
    }
}

/// Whether the f32 value is certainly no NaN at all.
pub(super) fn never(f: &Function, value: Value) -> bool {
    never_within(f, value, DEPTH)
}

fn never_within(f: &Function, value: Value, depth: usize) -> bool {
    let Some(inst) = f.def_inst(value) else { return false };
    if depth == 0 {
        return false;
    }
    let arg = |i: usize| never_within(f, inst.args[i], depth - 1);
    match inst.op {
        Op::Const(literal) => !literal.as_f32().is_nan(),
        // Of two operands the one that is no NaN wins.
        Op::Alu(Alu::FMin | Alu::FMax) => arg(0) || arg(1),
        Op::Alu(Alu::Select) => arg(1) && arg(2),
        // They map infinities to infinities.
        Op::Alu(Alu::FNeg | Alu::FAbs | Alu::Flush | Alu::FFloor | Alu::FCeil | Alu::FTrunc | Alu::FNearest) => arg(0),
        _ => nan(&inst.op) == Nan::Never,
    }
}
