//! The primitive operations on four lanes.

use quadrille_frontend::ir::{Alu, QuadOp};

/// Four lanes of 32 bits; bools are 0 or all ones.
pub(super) type Lanes = [u32; 4];

fn map(a: Lanes, f: impl Fn(u32) -> u32) -> Lanes {
    a.map(f)
}
fn map2(a: Lanes, b: Lanes, f: impl Fn(u32, u32) -> u32) -> Lanes {
    std::array::from_fn(|i| f(a[i], b[i]))
}
fn fmap(a: Lanes, f: impl Fn(f32) -> f32) -> Lanes {
    a.map(|x| f(f32::from_bits(x)).to_bits())
}
fn fmap2(a: Lanes, b: Lanes, f: impl Fn(f32, f32) -> f32) -> Lanes {
    std::array::from_fn(|i| f(f32::from_bits(a[i]), f32::from_bits(b[i])).to_bits())
}
fn mask(x: bool) -> u32 {
    if x { u32::MAX } else { 0 }
}
fn fcmp(a: Lanes, b: Lanes, f: impl Fn(f32, f32) -> bool) -> Lanes {
    std::array::from_fn(|i| mask(f(f32::from_bits(a[i]), f32::from_bits(b[i]))))
}
fn icmp(a: Lanes, b: Lanes, f: impl Fn(u32, u32) -> bool) -> Lanes {
    std::array::from_fn(|i| mask(f(a[i], b[i])))
}

/// An operation of one operand.
pub(super) fn alu1(op: Alu, a: Lanes) -> Lanes {
    match op {
        Alu::FSqrt => fmap(a, f32::sqrt),
        Alu::FNeg => map(a, |x| x ^ 0x8000_0000),
        Alu::FAbs => map(a, |x| x & 0x7fff_ffff),
        Alu::FFloor => fmap(a, f32::floor),
        Alu::FCeil => fmap(a, f32::ceil),
        Alu::FTrunc => fmap(a, f32::trunc),
        Alu::FNearest => fmap(a, f32::round_ties_even),
        Alu::Canon => map(a, |x| if f32::from_bits(x).is_nan() { 0x7fc0_0000 } else { x }),
        Alu::Flush => map(a, |x| if x & 0x7f80_0000 == 0 { x & 0x8000_0000 } else { x }),
        Alu::INeg => map(a, u32::wrapping_neg),
        Alu::Not => map(a, |x| !x),
        Alu::FToS => map(a, |x| f32::from_bits(x) as i32 as u32),
        Alu::FToU => map(a, |x| f32::from_bits(x) as u32),
        Alu::SToF => map(a, |x| (x as i32 as f32).to_bits()),
        Alu::UToF => map(a, |x| (x as f32).to_bits()),
        other => unreachable!("{} is not a primitive of one operand", other.name()),
    }
}

/// An operation of two operands.
pub(super) fn alu2(op: Alu, a: Lanes, b: Lanes) -> Lanes {
    match op {
        Alu::FAdd => fmap2(a, b, |x, y| x + y),
        Alu::FSub => fmap2(a, b, |x, y| x - y),
        Alu::FMul => fmap2(a, b, |x, y| x * y),
        Alu::FDiv => fmap2(a, b, |x, y| x / y),
        // Selections move bits, so they are written on bits (law N3).
        Alu::FMin => map2(a, b, |x, y| {
            let (fx, fy) = (f32::from_bits(x), f32::from_bits(y));
            if fx < fy || fy.is_nan() { x } else { y }
        }),
        Alu::FMax => map2(a, b, |x, y| {
            let (fx, fy) = (f32::from_bits(x), f32::from_bits(y));
            if fx > fy || fy.is_nan() { x } else { y }
        }),
        Alu::FEq => fcmp(a, b, |x, y| x == y),
        Alu::FNe => fcmp(a, b, |x, y| x != y),
        Alu::FLt => fcmp(a, b, |x, y| x < y),
        Alu::FLe => fcmp(a, b, |x, y| x <= y),
        Alu::IAdd => map2(a, b, u32::wrapping_add),
        Alu::ISub => map2(a, b, u32::wrapping_sub),
        Alu::IMul => map2(a, b, u32::wrapping_mul),
        Alu::UMulHi => map2(a, b, |x, y| ((u64::from(x) * u64::from(y)) >> 32) as u32),
        Alu::SMulHi => map2(a, b, |x, y| ((i64::from(x as i32) * i64::from(y as i32)) >> 32) as u32),
        Alu::And => map2(a, b, |x, y| x & y),
        Alu::Or => map2(a, b, |x, y| x | y),
        Alu::Xor => map2(a, b, |x, y| x ^ y),
        Alu::Shl => map2(a, b, |x, y| x << (y & 31)),
        Alu::ShrU => map2(a, b, |x, y| x >> (y & 31)),
        Alu::ShrS => map2(a, b, |x, y| (x as i32 >> (y & 31)) as u32),
        Alu::IEq => icmp(a, b, |x, y| x == y),
        Alu::INe => icmp(a, b, |x, y| x != y),
        Alu::SLt => icmp(a, b, |x, y| (x as i32) < y as i32),
        Alu::SLe => icmp(a, b, |x, y| x as i32 <= y as i32),
        Alu::ULt => icmp(a, b, |x, y| x < y),
        Alu::ULe => icmp(a, b, |x, y| x <= y),
        Alu::SMin => map2(a, b, |x, y| (x as i32).min(y as i32) as u32),
        Alu::SMax => map2(a, b, |x, y| (x as i32).max(y as i32) as u32),
        Alu::UMin => map2(a, b, u32::min),
        Alu::UMax => map2(a, b, u32::max),
        other => unreachable!("{} is not a primitive of two operands", other.name()),
    }
}

/// An operation of three operands.
pub(super) fn alu3(op: Alu, a: Lanes, b: Lanes, c: Lanes) -> Lanes {
    match op {
        Alu::FFma => std::array::from_fn(|i| {
            f32::from_bits(a[i])
                .mul_add(f32::from_bits(b[i]), f32::from_bits(c[i]))
                .to_bits()
        }),
        Alu::Select => std::array::from_fn(|i| if a[i] != 0 { b[i] } else { c[i] }),
        other => unreachable!("{} is not a primitive of three operands", other.name()),
    }
}

/// Reads across the quad; differences are of floats or of wrapping integers.
pub(super) fn quad(op: QuadOp, float: bool, a: Lanes) -> Lanes {
    let minus = |x: u32, y: u32| {
        if float {
            (f32::from_bits(x) - f32::from_bits(y)).to_bits()
        } else {
            x.wrapping_sub(y)
        }
    };
    let [ul, ur, ll, lr] = a;
    match op {
        QuadOp::DdxCoarse => [minus(ur, ul); 4],
        QuadOp::DdyCoarse => [minus(ll, ul); 4],
        QuadOp::DdxFine => {
            let (top, bottom) = (minus(ur, ul), minus(lr, ll));
            [top, top, bottom, bottom]
        }
        QuadOp::DdyFine => {
            let (left, right) = (minus(ll, ul), minus(lr, ur));
            [left, right, left, right]
        }
        QuadOp::SwapX => [ur, ul, lr, ll],
        QuadOp::SwapY => [ll, lr, ul, ur],
        QuadOp::SwapDiagonal => [lr, ll, ur, ul],
        QuadOp::Broadcast(lane) => [a[usize::from(lane & 3)]; 4],
    }
}
