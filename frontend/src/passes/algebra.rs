//! Algebraic rules. Each keeps every bit of every result; the only freedom is the bits of arithmetic NaNs (law N3).

use super::divide;
use super::fold::Maker;
use super::nan::bits_are_free;
use crate::ir::{Alu, Args, Function, Inst, InstId, Kind, Literal, Op, QuadOp, Value};
use smallvec::smallvec;

/// What an instruction with one result is.
pub(super) enum Outcome {
    /// No rule fits.
    Stays,
    /// That value.
    Is(Value),
    /// Another operation.
    Becomes(Op, Args),
}

use Outcome::{Becomes, Is, Stays};

fn alu(op: Alu, args: Args) -> Outcome {
    Becomes(Op::Alu(op), args)
}

/// Looks for a rule.
pub(super) fn simplify(m: &mut Maker, id: InstId) -> Outcome {
    let inst = &m.f.insts[id];
    if inst.result_count != 1 {
        return Stays;
    }
    match inst.op {
        Op::Bitcast(kind) => bitcast(m.f, inst.args[0], kind),
        Op::Quad(quad) => quad_of_constant(m, quad, inst.args[0]),
        Op::Alu(op) => {
            let (args, kind) = (inst.args.clone(), m.f.kind(inst.result()));
            match args.as_slice() {
                [a] => unary(m, op, *a),
                [a, b] => binary(m, op, *a, *b, kind),
                [a, b, c] => ternary(m, op, [*a, *b, *c]),
                _ => Stays,
            }
        }
        _ => Stays,
    }
}

/// The operands of the value's instruction, if it is that operation.
fn is(f: &Function, value: Value, op: Alu) -> Option<&[Value]> {
    match f.def_inst(value) {
        Some(Inst {
            op: Op::Alu(o), args, ..
        }) if *o == op => Some(args),
        _ => None,
    }
}

/// The operation that defines the value, with its operands.
fn alu_of(f: &Function, value: Value) -> Option<(Alu, &[Value])> {
    match f.def_inst(value) {
        Some(Inst {
            op: Op::Alu(o), args, ..
        }) => Some((*o, args)),
        _ => None,
    }
}

fn f32_of(f: &Function, value: Value) -> Option<f32> {
    f.constant(value).filter(|l| l.kind == Kind::F32).map(|l| l.as_f32())
}

fn is_bits(f: &Function, value: Value, bits: f32) -> bool {
    f.constant(value) == Some(Literal::f32(bits))
}

/// A 32-bit integer constant.
fn int_of(f: &Function, value: Value) -> Option<u32> {
    let literal = f.constant(value)?;
    matches!(literal.kind, Kind::I32 | Kind::U32).then_some(literal.bits as u32)
}

/// Whether the constant has no bit set, or all bits of its kind.
fn zeros(literal: Literal) -> bool {
    literal.bits == 0
}

fn ones(literal: Literal) -> bool {
    match literal.kind {
        Kind::Bool => literal.bits == 1,
        kind => literal.bits == u64::MAX >> (64 - kind.bits()),
    }
}

fn bitcast(f: &Function, a: Value, kind: Kind) -> Outcome {
    if f.kind(a) == kind {
        return Is(a);
    }
    match f.def_inst(a) {
        Some(Inst {
            op: Op::Bitcast(_),
            args,
            ..
        }) if f.kind(args[0]) == kind => Is(args[0]),
        // A float in between would be a float whose bits become visible: the same bits.
        Some(Inst {
            op: Op::Bitcast(_),
            args,
            ..
        }) => Becomes(Op::Bitcast(kind), args.clone()),
        _ => Stays,
    }
}

/// Differences of a constant, and the constant itself in other lanes.
fn quad_of_constant(m: &mut Maker, quad: QuadOp, a: Value) -> Outcome {
    if m.f.constant(a).is_none() {
        return Stays;
    }
    match quad {
        QuadOp::SwapX | QuadOp::SwapY | QuadOp::SwapDiagonal | QuadOp::Broadcast(_) => Is(a),
        _ if m.f.kind(a).is_float() => alu(Alu::FSub, smallvec![a, a]),
        _ => alu(Alu::ISub, smallvec![a, a]),
    }
}

fn unary(m: &mut Maker, op: Alu, a: Value) -> Outcome {
    let f = &*m.f;
    match (op, alu_of(f, a)) {
        (Alu::FNeg, Some((Alu::FNeg, x))) | (Alu::Not, Some((Alu::Not, x))) | (Alu::INeg, Some((Alu::INeg, x))) => {
            Is(x[0])
        }
        (Alu::FAbs, Some((Alu::FNeg, x))) => alu(Alu::FAbs, smallvec![x[0]]),
        (Alu::FAbs, Some((Alu::FAbs, _)))
        | (Alu::Canon, Some((Alu::Canon, _)))
        | (Alu::Flush, Some((Alu::Flush, _))) => Is(a),
        (Alu::INeg, Some((Alu::ISub, x))) => alu(Alu::ISub, smallvec![x[1], x[0]]),
        // Integers already.
        (
            Alu::FFloor | Alu::FCeil | Alu::FTrunc | Alu::FNearest,
            Some((Alu::FFloor | Alu::FCeil | Alu::FTrunc | Alu::FNearest | Alu::SToF | Alu::UToF, _)),
        ) => Is(a),
        (Alu::FSaturate, Some((Alu::FSaturate, _))) => Is(a),
        (Alu::Not, Some((compare, x))) => match compare {
            Alu::IEq => alu(Alu::INe, x.into()),
            Alu::INe => alu(Alu::IEq, x.into()),
            Alu::FEq => alu(Alu::FNe, x.into()),
            Alu::FNe => alu(Alu::FEq, x.into()),
            Alu::ULt => alu(Alu::ULe, smallvec![x[1], x[0]]),
            Alu::ULe => alu(Alu::ULt, smallvec![x[1], x[0]]),
            Alu::SLt => alu(Alu::SLe, smallvec![x[1], x[0]]),
            Alu::SLe => alu(Alu::SLt, smallvec![x[1], x[0]]),
            _ => Stays,
        },
        _ => Stays,
    }
}

fn binary(m: &mut Maker, op: Alu, a: Value, b: Value, kind: Kind) -> Outcome {
    // Constants go right.
    if m.f.constant(a).is_some() && m.f.constant(b).is_none() {
        let swaps = super::cse::commutes(op)
            || matches!(op, Alu::FMin | Alu::FMax) && f32_of(m.f, a).is_some_and(|c| c != 0.0 && !c.is_nan());
        if swaps {
            return alu(op, smallvec![b, a]);
        }
    }
    match op {
        Alu::FAdd | Alu::FSub | Alu::FMul | Alu::FDiv | Alu::FMin | Alu::FMax => float(m, op, a, b),
        Alu::FLt if a == b => Is(m.literal(Literal::bool(false))),
        Alu::And | Alu::Or | Alu::Xor => bits(m, op, a, b, kind),
        Alu::IAdd | Alu::ISub | Alu::IMul => sum(m, op, a, b, kind),
        Alu::Shl | Alu::ShrU | Alu::ShrS => shift(m, op, a, b, kind),
        Alu::UDiv | Alu::URem | Alu::SDiv | Alu::SRem => match int_of(m.f, b) {
            Some(divisor) => divide::by_constant(m, op, a, divisor).map_or(Stays, Is),
            None => Stays,
        },
        Alu::IEq | Alu::INe | Alu::SLt | Alu::SLe | Alu::ULt | Alu::ULe if a == b => {
            let holds = matches!(op, Alu::IEq | Alu::SLe | Alu::ULe);
            Is(m.literal(Literal::bool(holds)))
        }
        Alu::ULt if int_of(m.f, b) == Some(0) => Is(m.literal(Literal::bool(false))),
        Alu::ULe if int_of(m.f, a) == Some(0) => Is(m.literal(Literal::bool(true))),
        Alu::SMin | Alu::SMax | Alu::UMin | Alu::UMax if a == b => Is(a),
        Alu::UMin if int_of(m.f, b) == Some(u32::MAX) => Is(a),
        Alu::UMax if int_of(m.f, b) == Some(0) => Is(a),
        _ => Stays,
    }
}

fn float(m: &mut Maker, op: Alu, a: Value, b: Value) -> Outcome {
    let f = &*m.f;
    let neg = |v| is(f, v, Alu::FNeg).map(|x| x[0]);
    match op {
        Alu::FAdd => match (neg(a), neg(b)) {
            _ if is_bits(f, b, -0.0) && bits_are_free(f, a) => Is(a),
            (_, Some(y)) => alu(Alu::FSub, smallvec![a, y]),
            (Some(x), _) => alu(Alu::FSub, smallvec![b, x]),
            _ => Stays,
        },
        Alu::FSub => match neg(b) {
            _ if is_bits(f, b, 0.0) && bits_are_free(f, a) => Is(a),
            _ if is_bits(f, a, -0.0) && bits_are_free(f, b) => alu(Alu::FNeg, smallvec![b]),
            Some(y) => alu(Alu::FAdd, smallvec![a, y]),
            _ => Stays,
        },
        Alu::FMul | Alu::FDiv => match (neg(a), neg(b), f32_of(f, b)) {
            (_, _, Some(c)) if c == 1.0 && bits_are_free(f, a) => Is(a),
            (_, _, Some(c)) if c == -1.0 && bits_are_free(f, a) => alu(Alu::FNeg, smallvec![a]),
            (Some(x), Some(y), _) => alu(op, smallvec![x, y]),
            (Some(x), _, Some(c)) => {
                let c = m.literal(Literal::f32(-c));
                alu(op, smallvec![x, c])
            }
            // The reciprocal of a power of two is exact, and so rounds the quotient the same.
            (_, _, Some(c)) if op == Alu::FDiv && is_power_of_two(c) && is_power_of_two(1.0 / c) => {
                let c = m.literal(Literal::f32(1.0 / c));
                alu(Alu::FMul, smallvec![a, c])
            }
            _ => Stays,
        },
        // Any of two equal operands.
        Alu::FMin | Alu::FMax if a == b => Is(a),
        _ => Stays,
    }
}

/// A normal power of two, of either sign.
fn is_power_of_two(x: f32) -> bool {
    x.is_normal() && x.to_bits() & 0x7F_FFFF == 0
}

fn bits(m: &mut Maker, op: Alu, a: Value, b: Value, kind: Kind) -> Outcome {
    if a == b {
        return match op {
            Alu::Xor => Is(m.bits(kind, 0)),
            _ => Is(a),
        };
    }
    let f = &*m.f;
    let complement = |x, y| is(f, x, Alu::Not).is_some_and(|n| n[0] == y);
    if complement(a, b) || complement(b, a) {
        let all = u64::MAX >> (64 - if kind == Kind::Bool { 1 } else { kind.bits() });
        return Is(m.bits(kind, if op == Alu::And { 0 } else { all }));
    }
    if let Some(c) = f.constant(b) {
        match op {
            Alu::And if zeros(c) => return Is(b),
            Alu::And if ones(c) => return Is(a),
            Alu::Or if zeros(c) => return Is(a),
            Alu::Or if ones(c) => return Is(b),
            Alu::Xor if zeros(c) => return Is(a),
            Alu::Xor if ones(c) => return alu(Alu::Not, smallvec![a]),
            _ => {}
        }
        if let Some(x) = is(f, a, op)
            && f.constant(x[1]).is_some()
        {
            let (x, inner) = (x[0], x[1]);
            let c = m.alu(op, &[inner, b]);
            return alu(op, smallvec![x, c]);
        }
    }
    // Absorption: x & (x & y) and x | (x | y).
    if op != Alu::Xor {
        if is(f, b, op).is_some_and(|y| y.contains(&a)) {
            return Is(b);
        }
        if is(f, a, op).is_some_and(|x| x.contains(&b)) {
            return Is(a);
        }
    }
    Stays
}

fn sum(m: &mut Maker, op: Alu, a: Value, b: Value, kind: Kind) -> Outcome {
    let f = &*m.f;
    let neg = |v| is(f, v, Alu::INeg).map(|x| x[0]);
    match op {
        Alu::IAdd => {
            if let Some(c) = f.constant(b) {
                if zeros(c) {
                    return Is(a);
                }
                if let Some(x) = is(f, a, Alu::IAdd)
                    && f.constant(x[1]).is_some()
                {
                    let (x, inner) = (x[0], x[1]);
                    let c = m.alu(Alu::IAdd, &[inner, b]);
                    return alu(Alu::IAdd, smallvec![x, c]);
                }
            }
            match (neg(a), neg(b)) {
                (_, Some(y)) => alu(Alu::ISub, smallvec![a, y]),
                (Some(x), _) => alu(Alu::ISub, smallvec![b, x]),
                _ => Stays,
            }
        }
        Alu::ISub => {
            if a == b {
                return Is(m.bits(kind, 0));
            }
            if f.constant(b).is_some() {
                let c = m.alu(Alu::INeg, &[b]);
                return alu(Alu::IAdd, smallvec![a, c]);
            }
            if f.constant(a).is_some_and(zeros) {
                return alu(Alu::INeg, smallvec![b]);
            }
            match neg(b) {
                Some(y) => alu(Alu::IAdd, smallvec![a, y]),
                None => Stays,
            }
        }
        _ => {
            let Some(c) = f.constant(b) else { return Stays };
            if zeros(c) {
                return Is(b);
            }
            if c.bits == 1 {
                return Is(a);
            }
            if ones(c) {
                return alu(Alu::INeg, smallvec![a]);
            }
            if let Some(x) = is(f, a, Alu::IMul)
                && f.constant(x[1]).is_some()
            {
                let (x, inner) = (x[0], x[1]);
                let c = m.alu(Alu::IMul, &[inner, b]);
                return alu(Alu::IMul, smallvec![x, c]);
            }
            if c.bits.is_power_of_two() {
                let count = m.u32(c.bits.trailing_zeros());
                return alu(Alu::Shl, smallvec![a, count]);
            }
            Stays
        }
    }
}

fn shift(m: &mut Maker, op: Alu, a: Value, b: Value, kind: Kind) -> Outcome {
    if kind.bits() != 32 {
        return Stays;
    }
    let Some(count) = int_of(m.f, b) else { return Stays };
    let count = count & 31;
    if count == 0 {
        return Is(a);
    }
    let Some((inner, x)) = alu_of(m.f, a) else { return Stays };
    let x = (x[0], x.get(1).and_then(|&c| int_of(m.f, c)).map(|c| c & 31));
    let (x, Some(before)) = x else { return Stays };
    let total = before + count;
    match (inner, op) {
        (Alu::Shl, Alu::Shl) | (Alu::ShrU, Alu::ShrU) if total > 31 => Is(m.bits(kind, 0)),
        (Alu::ShrS, Alu::ShrS) | (Alu::Shl, Alu::Shl) | (Alu::ShrU, Alu::ShrU) => {
            let total = m.u32(total.min(31));
            alu(op, smallvec![x, total])
        }
        (Alu::ShrU, Alu::Shl) if before == count => {
            let mask = m.bits(kind, u64::from(u32::MAX << count));
            alu(Alu::And, smallvec![x, mask])
        }
        (Alu::Shl, Alu::ShrU) if before == count => {
            let mask = m.bits(kind, u64::from(u32::MAX >> count));
            alu(Alu::And, smallvec![x, mask])
        }
        _ => Stays,
    }
}

fn ternary(m: &mut Maker, op: Alu, [a, b, c]: [Value; 3]) -> Outcome {
    match op {
        Alu::FFma => fma(m, a, b, c),
        Alu::Select => select(m, a, b, c),
        _ => Stays,
    }
}

fn fma(m: &mut Maker, a: Value, b: Value, c: Value) -> Outcome {
    let f = &*m.f;
    let neg = |v| is(f, v, Alu::FNeg).map(|x| x[0]);
    if f.constant(a).is_some() && f.constant(b).is_none() {
        return alu(Alu::FFma, smallvec![b, a, c]);
    }
    match (neg(a), neg(b), f32_of(f, b)) {
        (_, _, Some(1.0)) => return alu(Alu::FAdd, smallvec![a, c]),
        (_, _, Some(-1.0)) => return alu(Alu::FSub, smallvec![c, a]),
        (Some(x), Some(y), _) => return alu(Alu::FFma, smallvec![x, y, c]),
        (Some(x), _, Some(k)) => {
            let k = m.literal(Literal::f32(-k));
            return alu(Alu::FFma, smallvec![x, k, c]);
        }
        _ => {}
    }
    // a*b + -0 is a*b, its zeros included.
    if is_bits(m.f, c, -0.0) {
        return alu(Alu::FMul, smallvec![a, b]);
    }
    if let (Some(x), Some(y)) = (f32_of(m.f, a), f32_of(m.f, b)) {
        let product = f64::from(x) * f64::from(y);
        // Exact in f64; if it is a float, the sum rounds once either way.
        if f64::from(product as f32) == product && product != 0.0 {
            let product = m.literal(Literal::f32(product as f32));
            return alu(Alu::FAdd, smallvec![product, c]);
        }
    }
    Stays
}

fn select(m: &mut Maker, cond: Value, a: Value, b: Value) -> Outcome {
    let f = &*m.f;
    if a == b {
        return Is(a);
    }
    if let Some(c) = f.constant(cond) {
        return Is(if c.bits != 0 { a } else { b });
    }
    if let Some(x) = is(f, cond, Alu::Not) {
        return alu(Alu::Select, smallvec![x[0], b, a]);
    }
    // A select of the same condition inside one of the sides is decided.
    if let Some(x) = is(f, a, Alu::Select)
        && x[0] == cond
    {
        return alu(Alu::Select, smallvec![cond, x[1], b]);
    }
    if let Some(x) = is(f, b, Alu::Select)
        && x[0] == cond
    {
        return alu(Alu::Select, smallvec![cond, a, x[2]]);
    }
    if f.kind(a) != Kind::Bool {
        return Stays;
    }
    let truth = |v| f.constant(v).map(|l| l.bits != 0);
    match (truth(a), truth(b)) {
        (Some(true), Some(false)) => Is(cond),
        (Some(false), Some(true)) => alu(Alu::Not, smallvec![cond]),
        (Some(true), _) => alu(Alu::Or, smallvec![cond, b]),
        (_, Some(false)) => alu(Alu::And, smallvec![cond, a]),
        (Some(false), _) => {
            let not = m.alu(Alu::Not, &[cond]);
            alu(Alu::And, smallvec![not, b])
        }
        (_, Some(true)) => {
            let not = m.alu(Alu::Not, &[cond]);
            alu(Alu::Or, smallvec![not, a])
        }
        _ => Stays,
    }
}
