//! Integer division by constants: shifts for powers of two, else a multiplication by the reciprocal.
//!
//! The multipliers are those of Granlund and Montgomery, "Division by Invariant Integers using Multiplication" (1994).

use super::fold::Maker;
use crate::ir::{Alu, Kind, Value};

/// The value of `a op divisor` for `UDiv`, `URem`, `SDiv`, `SRem`; `None` if the operation should stay.
pub(super) fn by_constant(m: &mut Maker, op: Alu, a: Value, divisor: u32) -> Option<Value> {
    let kind = m.f.kind(a);
    if !matches!(kind, Kind::I32 | Kind::U32) {
        return None;
    }
    let quotient = match op {
        // x/0 = x and x%0 = 0 (R-WGSL-62), which is what division by 1 gives.
        _ if divisor <= 1 => a,
        Alu::UDiv | Alu::URem => unsigned(m, a, kind, divisor),
        // Negative divisors are rare; the expansion does them.
        _ if divisor > i32::MAX as u32 => return None,
        _ => signed(m, a, kind, divisor),
    };
    Some(match op {
        Alu::UDiv | Alu::SDiv => quotient,
        _ if divisor <= 1 => m.bits(kind, 0),
        Alu::URem if divisor.is_power_of_two() => {
            let mask = m.bits(kind, u64::from(divisor - 1));
            m.alu(Alu::And, &[a, mask])
        }
        _ => {
            let product = if divisor.is_power_of_two() {
                let count = m.u32(divisor.trailing_zeros());
                m.alu(Alu::Shl, &[quotient, count])
            } else {
                let d = m.bits(kind, u64::from(divisor));
                m.alu(Alu::IMul, &[quotient, d])
            };
            m.alu(Alu::ISub, &[a, product])
        }
    })
}

fn shift(m: &mut Maker, op: Alu, a: Value, count: u32) -> Value {
    if count == 0 {
        return a;
    }
    let count = m.u32(count);
    m.alu(op, &[a, count])
}

fn unsigned(m: &mut Maker, a: Value, kind: Kind, divisor: u32) -> Value {
    if divisor.is_power_of_two() {
        return shift(m, Alu::ShrU, a, divisor.trailing_zeros());
    }
    let d = u64::from(divisor);
    // 2^(32+s) / d rounded up, with the smallest s that makes the error small enough: s = ceil(log2 d).
    let s = 32 - (divisor - 1).leading_zeros();
    let multiplier = ((1u128 << (32 + s)) / u128::from(d) + 1) as u64;
    // 33 bits; if it is even it fits in 32 with a shift less.
    if multiplier & 1 == 0 && multiplier >> 1 <= u64::from(u32::MAX) && fits(multiplier >> 1, s - 1, d) {
        let factor = m.bits(kind, multiplier >> 1);
        let high = m.alu(Alu::UMulHi, &[a, factor]);
        return shift(m, Alu::ShrU, high, s - 1);
    }
    let factor = m.bits(kind, multiplier & u64::from(u32::MAX));
    let high = m.alu(Alu::UMulHi, &[a, factor]);
    // (a + high) >> s without the carry.
    let rest = m.alu(Alu::ISub, &[a, high]);
    let half = shift(m, Alu::ShrU, rest, 1);
    let sum = m.alu(Alu::IAdd, &[half, high]);
    shift(m, Alu::ShrU, sum, s - 1)
}

/// Whether floor(x * multiplier / 2^(32+s)) = floor(x / d) for all 32-bit x.
fn fits(multiplier: u64, s: u32, d: u64) -> bool {
    let product = u128::from(multiplier) * u128::from(d);
    let power = 1u128 << (32 + s);
    product >= power && product - power <= 1u128 << s
}

fn signed(m: &mut Maker, a: Value, kind: Kind, divisor: u32) -> Value {
    if divisor.is_power_of_two() {
        // Toward zero: negative dividends get divisor - 1 added.
        let count = divisor.trailing_zeros();
        let sign = shift(m, Alu::ShrS, a, 31);
        let bias = shift(m, Alu::ShrU, sign, 32 - count);
        let sum = m.alu(Alu::IAdd, &[a, bias]);
        return shift(m, Alu::ShrS, sum, count);
    }
    // Smallest s >= 0 with 2^(31+s) / d rounded up good for all magnitudes up to 2^31.
    let d = u128::from(divisor);
    let mut s = 0;
    let multiplier = loop {
        let power = 1u128 << (32 + s);
        let multiplier = power / d + 1;
        if multiplier * d - power <= 1u128 << (s + 1) {
            break multiplier;
        }
        s += 1;
    };
    // The multiplier as an i32; if it is 2^31 or more the product lacks a * 2^32.
    let factor = m.bits(kind, (multiplier as u64) & u64::from(u32::MAX));
    let mut high = m.alu(Alu::SMulHi, &[a, factor]);
    if multiplier > i32::MAX as u128 {
        high = m.alu(Alu::IAdd, &[high, a]);
    }
    let quotient = shift(m, Alu::ShrS, high, s);
    let sign = shift(m, Alu::ShrU, a, 31);
    m.alu(Alu::IAdd, &[quotient, sign])
}

#[cfg(test)]
mod tests {
    use super::by_constant;
    use crate::ir::{Alu, FunctionBuilder, Kind, Literal, eval};
    use crate::passes::fold::Maker;

    /// Builds the quotient of a constant dividend: the maker folds every step, so the result is a literal.
    fn divide(op: Alu, kind: Kind, a: u32, divisor: u32) -> Option<u64> {
        let mut f = FunctionBuilder::new("t").finish();
        let mut out = Vec::new();
        let mut m = Maker {
            f: &mut f,
            out: &mut out,
            span: None,
        };
        let a = m.bits(kind, u64::from(a));
        let result = by_constant(&mut m, op, a, divisor)?;
        Some(f.constant(result).expect("all steps fold").bits)
    }

    #[test]
    fn quotients_and_remainders_equal_the_definition() {
        let edges = [
            0u32,
            1,
            2,
            3,
            5,
            6,
            7,
            9,
            10,
            100,
            641,
            0x7FFF_FFFF,
            0x8000_0000,
            0x8000_0001,
            u32::MAX - 1,
            u32::MAX,
        ];
        let mut dividends: Vec<u32> = edges.to_vec();
        let mut divisors: Vec<u32> = edges.to_vec();
        let mut x = 12345u32;
        for i in 0..300 {
            x = x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            dividends.push(x >> (i % 31));
            if i % 5 == 0 {
                divisors.push(x >> (i % 29));
            }
        }
        for &d in &divisors {
            let near = [
                d.wrapping_sub(1),
                d,
                d.wrapping_mul(7),
                d.wrapping_mul(7).wrapping_sub(1),
                d.wrapping_neg(),
            ];
            for &a in dividends.iter().chain(&near) {
                for (op, kind) in [
                    (Alu::UDiv, Kind::U32),
                    (Alu::URem, Kind::U32),
                    (Alu::SDiv, Kind::I32),
                    (Alu::SRem, Kind::I32),
                ] {
                    let Some(got) = divide(op, kind, a, d) else { continue };
                    let bits = |b: u32| Literal {
                        kind,
                        bits: u64::from(b),
                    };
                    let want = eval::fold(op, &[bits(a), bits(d)]).expect("defined")[0];
                    assert_eq!(got, want.bits, "{op:?} {a} {d}");
                }
            }
        }
    }
}
