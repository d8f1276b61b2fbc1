//! What every [`Alu`] operation means, on scalars: the definition that the interpreter, the folder and every test of
//! a back end go by (law N7).
//!
//! * [`primitive32`] defines the primitive operations on 32-bit operands; a bool is a mask, 0 or `u32::MAX`.
//! * [`eval_alu`] evaluates any operation, primitive or not, on literals' bits; expanded operations run the very
//!   sequence that the expand pass emits.
//!
//! **NaN.** An arithmetic operation that gives NaN may give *any* NaN, and which one differs between machines; so
//! executors agree on the class only. `Canon` makes all of them 0x7FC00000; bits become visible only behind it (law
//! N3). `FNeg`, `FAbs`, `FMin`, `FMax`, `Flush` and `Select` hand operands on, bits and all. [`eval_alu`] returns
//! canonical NaNs where it may choose, so that a folded constant is the same on every host.

use super::alu::{Alu, Class};
use super::kind::{Kind, Literal};
use crate::passes::expand;
use smallvec::SmallVec;

/// Results of an operation: one or two.
pub type Results = SmallVec<[u64; 2]>;

/// The canonical NaN (law N3).
pub const CANONICAL_NAN: u32 = 0x7FC0_0000;
const CANONICAL_NAN64: u64 = 0x7FF8_0000_0000_0000;

#[inline(always)]
fn mask(condition: bool) -> u32 {
    if condition { u32::MAX } else { 0 }
}

/// Evaluates a primitive operation on 32-bit operands (unused ones: anything). Bools are masks.
///
/// With a constant `op` it compiles to that operation alone; the interpreter relies on it.
///
/// # Panics
/// If the operation is not primitive.
#[inline(always)]
pub fn primitive32(op: Alu, a: u32, b: u32, c: u32) -> u32 {
    let (x, y, z) = (f32::from_bits(a), f32::from_bits(b), f32::from_bits(c));
    let (i, j) = (a as i32, b as i32);
    match op {
        Alu::FAdd => (x + y).to_bits(),
        Alu::FSub => (x - y).to_bits(),
        Alu::FMul => (x * y).to_bits(),
        Alu::FDiv => (x / y).to_bits(),
        // Rust's mul_add is fused by contract: hardware where there is some, else libm's exact fmaf.
        Alu::FFma => x.mul_add(y, z).to_bits(),
        Alu::FSqrt => x.sqrt().to_bits(),
        Alu::FNeg => a ^ 0x8000_0000,
        Alu::FAbs => a & 0x7FFF_FFFF,
        Alu::FMin => {
            if x < y || y.is_nan() {
                a
            } else {
                b
            }
        }
        Alu::FMax => {
            if x > y || y.is_nan() {
                a
            } else {
                b
            }
        }
        Alu::FFloor => x.floor().to_bits(),
        Alu::FCeil => x.ceil().to_bits(),
        Alu::FTrunc => x.trunc().to_bits(),
        Alu::FNearest => x.round_ties_even().to_bits(),
        Alu::Canon => {
            if x.is_nan() {
                CANONICAL_NAN
            } else {
                a
            }
        }
        Alu::Flush => {
            if a & 0x7F80_0000 == 0 {
                a & 0x8000_0000
            } else {
                a
            }
        }
        Alu::FEq => mask(x == y),
        Alu::FNe => mask(x != y),
        Alu::FLt => mask(x < y),
        Alu::FLe => mask(x <= y),
        Alu::IAdd => a.wrapping_add(b),
        Alu::ISub => a.wrapping_sub(b),
        Alu::IMul => a.wrapping_mul(b),
        Alu::UMulHi => ((u64::from(a) * u64::from(b)) >> 32) as u32,
        Alu::SMulHi => ((i64::from(i) * i64::from(j)) >> 32) as u32,
        Alu::INeg => a.wrapping_neg(),
        Alu::And => a & b,
        Alu::Or => a | b,
        Alu::Xor => a ^ b,
        Alu::Not => !a,
        Alu::Shl => a << (b & 31),
        Alu::ShrU => a >> (b & 31),
        Alu::ShrS => (i >> (b & 31)) as u32,
        Alu::IEq => mask(a == b),
        Alu::INe => mask(a != b),
        Alu::SLt => mask(i < j),
        Alu::SLe => mask(i <= j),
        Alu::ULt => mask(a < b),
        Alu::ULe => mask(a <= b),
        Alu::SMin => i.min(j) as u32,
        Alu::SMax => i.max(j) as u32,
        Alu::UMin => a.min(b),
        Alu::UMax => a.max(b),
        Alu::Select => (b & a) | (c & !a),
        // Rust's casts truncate, saturate and send NaN to 0.
        Alu::FToS => x as i32 as u32,
        Alu::FToU => x as u32,
        Alu::SToF => (i as f32).to_bits(),
        Alu::UToF => (a as f32).to_bits(),
        _ => not_primitive(op),
    }
}

#[cold]
fn not_primitive(op: Alu) -> ! {
    panic!("{} is not a primitive operation", op.name())
}

/// Whether a NaN result was made by the operation, as opposed to handed on from an operand.
const fn makes_nan(op: Alu) -> bool {
    !matches!(
        op,
        Alu::FNeg | Alu::FAbs | Alu::FMin | Alu::FMax | Alu::Flush | Alu::Select
    )
}

/// Evaluates an operation on operand bits as a [`Literal`] has them (bools 0 or 1). `kind` is the kind that the
/// signature leaves open, if it does.
///
/// `None`: the operation is not defined here for this kind (f16, expanded operations on kinds other than f32, i32
/// and u32), or the operand count is wrong. Such an operation can't be folded.
pub fn eval_alu(op: Alu, kind: Kind, args: &[u64]) -> Option<Results> {
    let (params, results) = op.signature();
    if args.len() != params.len() {
        return None;
    }
    let open = |class: &Class| match class {
        Class::Is(kind) => *kind,
        _ => kind,
    };
    let narrow = params.iter().chain(results).all(|class| open(class).bits() == 32);
    if !narrow {
        return wide::eval(op, kind, args).map(|bits| Results::from_slice(&[bits]));
    }
    let arg = |i: usize| match (args.get(i), params.get(i).map(open)) {
        (Some(&bits), Some(Kind::Bool)) => mask(bits != 0),
        (Some(&bits), _) => bits as u32,
        _ => 0,
    };
    let raw: SmallVec<[u32; 2]> = if op.is_primitive() {
        SmallVec::from_slice(&[primitive32(op, arg(0), arg(1), arg(2))])
    } else {
        let operands: SmallVec<[u32; 4]> = (0..args.len()).map(arg).collect();
        expand::eval(op, kind, &operands)
    };
    let finish = |(bits, class): (u32, &Class)| match open(class) {
        Kind::Bool => u64::from(bits & 1),
        Kind::F32 if makes_nan(op) => u64::from(primitive32(Alu::Canon, bits, 0, 0)),
        _ => u64::from(bits),
    };
    Some(raw.into_iter().zip(results).map(finish).collect())
}

/// Evaluates an operation on literals: constant folding. `None` as for [`eval_alu`], and for operands of wrong kinds.
pub fn fold(op: Alu, args: &[Literal]) -> Option<SmallVec<[Literal; 2]>> {
    let kinds: SmallVec<[Kind; 4]> = args.iter().map(|a| a.kind).collect();
    let results = op.check(&kinds).ok()?;
    let (params, _) = op.signature();
    let open = params
        .iter()
        .zip(&kinds)
        .find(|(class, _)| !matches!(class, Class::Is(_)));
    let kind = open.map_or(Kind::U32, |(_, &kind)| kind);
    let bits: SmallVec<[u64; 4]> = args.iter().map(|a| a.bits).collect();
    let values = eval_alu(op, kind, &bits)?;
    Some(
        values
            .into_iter()
            .zip(results)
            .map(|(bits, kind)| Literal { kind, bits })
            .collect(),
    )
}

/// Primitive operations on kinds that aren't 32 bits wide: for folding only, no back end has them yet.
mod wide {
    use super::{Alu, CANONICAL_NAN64, Kind, makes_nan};

    pub(super) fn eval(op: Alu, kind: Kind, args: &[u64]) -> Option<u64> {
        match kind {
            Kind::F64 => float(op, args),
            _ if kind.is_int() => int(op, kind.bits(), args),
            _ => None,
        }
    }

    fn float(op: Alu, args: &[u64]) -> Option<u64> {
        let bits = |i: usize| args.get(i).copied().unwrap_or(0);
        let (a, b) = (bits(0), bits(1));
        let (x, y, z) = (f64::from_bits(a), f64::from_bits(b), f64::from_bits(bits(2)));
        let result = match op {
            Alu::FAdd => (x + y).to_bits(),
            Alu::FSub => (x - y).to_bits(),
            Alu::FMul => (x * y).to_bits(),
            Alu::FDiv => (x / y).to_bits(),
            Alu::FFma => x.mul_add(y, z).to_bits(),
            Alu::FSqrt => x.sqrt().to_bits(),
            Alu::FNeg => a ^ 1 << 63,
            Alu::FAbs => a & !(1 << 63),
            Alu::FMin if x < y || y.is_nan() => a,
            Alu::FMax if x > y || y.is_nan() => a,
            Alu::FMin | Alu::FMax => b,
            Alu::FFloor => x.floor().to_bits(),
            Alu::FCeil => x.ceil().to_bits(),
            Alu::FTrunc => x.trunc().to_bits(),
            Alu::FNearest => x.round_ties_even().to_bits(),
            Alu::Canon => a,
            Alu::Flush if x.is_subnormal() => a & 1 << 63,
            Alu::Flush => a,
            Alu::FEq => u64::from(x == y),
            Alu::FNe => u64::from(x != y),
            Alu::FLt => u64::from(x < y),
            Alu::FLe => u64::from(x <= y),
            Alu::Select => {
                if a != 0 {
                    b
                } else {
                    bits(2)
                }
            }
            _ => return None,
        };
        let compares = matches!(op, Alu::FEq | Alu::FNe | Alu::FLt | Alu::FLe);
        let made_nan = !compares && makes_nan(op) && f64::from_bits(result).is_nan();
        Some(if made_nan { CANONICAL_NAN64 } else { result })
    }

    /// Integers of any width in 128-bit arithmetic, which holds every product.
    fn int(op: Alu, width: u32, args: &[u64]) -> Option<u64> {
        let low = u64::MAX >> (64 - width);
        let raw = |i: usize| args.get(i).copied().unwrap_or(0) & low;
        let signed = |i: usize| i128::from((raw(i) << (64 - width)) as i64 >> (64 - width));
        let unsigned = |i: usize| i128::from(raw(i));
        let (a, b, s, t) = (unsigned(0), unsigned(1), signed(0), signed(1));
        let count = (args.get(1).copied().unwrap_or(0) as u32) & (width - 1);
        let result = match op {
            Alu::IAdd => a + b,
            Alu::ISub => a - b,
            // The low half: signed factors keep the product within 127 bits.
            Alu::IMul => s * t,
            Alu::UMulHi => return Some(((raw(0) as u128 * raw(1) as u128) >> width) as u64 & low),
            Alu::SMulHi => (s * t) >> width,
            Alu::INeg => -a,
            Alu::And => a & b,
            Alu::Or => a | b,
            Alu::Xor => a ^ b,
            Alu::Not => !a,
            Alu::Shl => a << count,
            Alu::ShrU => a >> count,
            Alu::ShrS => s >> count,
            Alu::IEq => i128::from(a == b),
            Alu::INe => i128::from(a != b),
            Alu::SLt => i128::from(s < t),
            Alu::SLe => i128::from(s <= t),
            Alu::ULt => i128::from(a < b),
            Alu::ULe => i128::from(a <= b),
            Alu::SMin => s.min(t),
            Alu::SMax => s.max(t),
            Alu::UMin => a.min(b),
            Alu::UMax => a.max(b),
            Alu::Select => {
                if args[0] != 0 {
                    b
                } else {
                    unsigned(2)
                }
            }
            _ => return None,
        };
        Some(result as u64 & low)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(op: Alu, kind: Kind, args: &[u64]) -> u64 {
        eval_alu(op, kind, args).unwrap_or_else(|| panic!("{op:?} on {kind}"))[0]
    }

    fn float(op: Alu, args: &[f32]) -> f32 {
        let bits: Vec<u64> = args.iter().map(|a| u64::from(a.to_bits())).collect();
        f32::from_bits(one(op, Kind::F32, &bits) as u32)
    }

    /// R-PS-104: a NaN loses against a number; both zeros: the second operand.
    #[test]
    fn min_and_max_prefer_numbers() {
        for op in [Alu::FMin, Alu::FMax] {
            assert_eq!(float(op, &[1.0, f32::NAN]), 1.0);
            assert_eq!(float(op, &[f32::NAN, 1.0]), 1.0);
            assert!(float(op, &[f32::NAN, f32::NAN]).is_nan());
            assert_eq!(float(op, &[0.0, -0.0]).to_bits(), (-0.0f32).to_bits());
            assert_eq!(float(op, &[-0.0, 0.0]).to_bits(), 0);
        }
        assert_eq!(float(Alu::FMin, &[1.0, 2.0]), 1.0);
        assert_eq!(float(Alu::FMax, &[1.0, 2.0]), 2.0);
    }

    /// R-PS-130 and the table of section 10.
    #[test]
    fn conversions_saturate() {
        let to = |op, x: f32| one(op, Kind::F32, &[u64::from(x.to_bits())]) as u32;
        assert_eq!(to(Alu::FToS, 1e20), 2147483647);
        assert_eq!(to(Alu::FToS, -1e20) as i32, i32::MIN);
        assert_eq!(to(Alu::FToU, 1e20), 4294967295);
        assert_eq!(to(Alu::FToU, -3.9), 0);
        assert_eq!(to(Alu::FToS, -3.9) as i32, -3);
        assert_eq!(to(Alu::FToS, f32::NAN), 0);
        assert_eq!(to(Alu::FToU, f32::NAN), 0);
        assert_eq!(to(Alu::FToSWgsl, 1e20), 2147483520);
        assert_eq!(to(Alu::FToUWgsl, 1e20), 4294967040);
        // R-PS-131: 2^24 + 1 lies between two floats.
        assert_eq!(
            one(Alu::UToF, Kind::U32, &[(1 << 24) + 1]),
            u64::from(16777216f32.to_bits())
        );
        assert_eq!(
            one(Alu::UToF, Kind::U32, &[(1 << 24) + 3]),
            u64::from(16777220f32.to_bits())
        );
    }

    /// R-PS-122.
    #[test]
    fn shift_counts_wrap() {
        assert_eq!(one(Alu::Shl, Kind::U32, &[1, 33]), 2);
        assert_eq!(one(Alu::ShrU, Kind::U32, &[0x8000_0000, 63]), 1);
        assert_eq!(one(Alu::ShrS, Kind::I32, &[0x8000_0000, 31]), 0xFFFF_FFFF);
        assert_eq!(one(Alu::Shl, Kind::U8, &[0x81, 9]), 2);
        assert_eq!(one(Alu::ShrS, Kind::I64, &[1 << 63, 127]), u64::MAX);
    }

    /// R-PS-102: what isn't a number, and what is infinite.
    #[test]
    fn special_values_of_arithmetic() {
        let (inf, nan) = (f32::INFINITY, f32::NAN);
        assert_eq!(float(Alu::FDiv, &[1.0, 0.0]), inf);
        assert_eq!(float(Alu::FDiv, &[1.0, -0.0]), -inf);
        for (op, a, b) in [
            (Alu::FDiv, 0.0, 0.0),
            (Alu::FSub, inf, inf),
            (Alu::FDiv, inf, inf),
            (Alu::FMul, inf, 0.0),
            (Alu::FMul, 0.0, -inf),
        ] {
            assert!(float(op, &[a, b]).is_nan(), "{op:?} {a} {b}");
        }
        for op in [Alu::FAdd, Alu::FSub, Alu::FMul, Alu::FDiv] {
            assert!(float(op, &[nan, 1.0]).is_nan() && float(op, &[1.0, nan]).is_nan());
        }
        assert!(float(Alu::FSqrt, &[-1.0]).is_nan());
        assert_eq!(float(Alu::FSqrt, &[-0.0]).to_bits(), (-0.0f32).to_bits());
        assert!(float(Alu::FLog2, &[-1.0]).is_nan());
        assert_eq!(float(Alu::FLog2, &[0.0]), -inf);
        assert_eq!(float(Alu::FRsqrt, &[0.0]), inf);
        assert_eq!(float(Alu::FRsqrt, &[-0.0]), -inf);
        // R-PS-91.
        assert_eq!(float(Alu::FSaturate, &[nan]).to_bits(), 0);
        assert_eq!(float(Alu::FSaturate, &[-inf]), 0.0);
        assert_eq!(float(Alu::FSaturate, &[inf]), 1.0);
    }

    /// R-PS-103: comparisons with a NaN are false but for inequality; zeros are equal. R-PS-105: identities hold.
    #[test]
    fn comparisons_and_identities() {
        let compare = |op, a: f32, b: f32| one(op, Kind::F32, &[u64::from(a.to_bits()), u64::from(b.to_bits())]) != 0;
        for (a, b) in [(f32::NAN, 1.0), (1.0, f32::NAN), (f32::NAN, f32::NAN)] {
            assert!(!compare(Alu::FEq, a, b) && !compare(Alu::FLt, a, b) && !compare(Alu::FLe, a, b));
            assert!(compare(Alu::FNe, a, b));
        }
        assert!(compare(Alu::FEq, 0.0, -0.0) && compare(Alu::FLe, 0.0, -0.0) && !compare(Alu::FLt, -0.0, 0.0));
        for x in [1.5f32, -3.0e38, 1.0e-44, -0.0, f32::INFINITY] {
            for (op, neutral) in [(Alu::FMul, 1.0), (Alu::FDiv, 1.0), (Alu::FSub, 0.0), (Alu::FAdd, -0.0)] {
                assert_eq!(float(op, &[x, neutral]).to_bits(), x.to_bits(), "{op:?} {x}");
            }
        }
        assert_eq!(float(Alu::FAdd, &[-0.0, 0.0]).to_bits(), 0);
    }

    /// R-PS-100: nearest, ties to even. R-PS-106, R-PS-94: a product and a sum round twice, only fma rounds once.
    #[test]
    fn arithmetic_rounds_to_the_nearest_even() {
        let ulp = f32::EPSILON;
        assert_eq!(float(Alu::FAdd, &[1.0, ulp / 2.0]), 1.0);
        assert_eq!(float(Alu::FAdd, &[1.0 + ulp, ulp / 2.0]), 1.0 + 2.0 * ulp);
        assert_eq!(float(Alu::FSub, &[16_777_218.0, 1.0]), 16_777_216.0);
        let x = 1.0 + ulp;
        let product = float(Alu::FMul, &[x, x]);
        assert_eq!(product, 1.0 + 2.0 * ulp);
        assert_eq!(float(Alu::FAdd, &[product, -1.0 - 2.0 * ulp]), 0.0);
    }

    /// R-PS-120: integers wrap, multiplication has both halves, addition its carry. R-PS-107: nothing traps.
    #[test]
    fn integers_wrap() {
        assert_eq!(one(Alu::IAdd, Kind::U32, &[0xFFFF_FFFF, 2]), 1);
        assert_eq!(one(Alu::ISub, Kind::I32, &[0x8000_0000, 1]), 0x7FFF_FFFF);
        assert_eq!(one(Alu::IMul, Kind::U32, &[0x1_0001, 0x1_0001]), 0x2_0001);
        assert_eq!(one(Alu::UMulHi, Kind::U32, &[0xFFFF_FFFF, 0xFFFF_FFFF]), 0xFFFF_FFFE);
        assert_eq!(one(Alu::SMulHi, Kind::I32, &[0xFFFF_FFFF, 2]), 0xFFFF_FFFF);
        assert_eq!(one(Alu::INeg, Kind::I32, &[0x8000_0000]), 0x8000_0000);
        let carry = eval_alu(Alu::AddCarry, Kind::U32, &[0xFFFF_FFFF, 1]).map(|r| r.to_vec());
        assert_eq!(carry, Some(vec![0, 1]));
        for op in [Alu::SDiv, Alu::SRem] {
            let edge = eval_alu(op, Kind::I32, &[0x8000_0000, 0xFFFF_FFFF]);
            let zero = eval_alu(op, Kind::I32, &[5, 0]);
            assert!(edge.is_some() && zero.is_some(), "{op:?}");
        }
    }

    #[test]
    fn fma_rounds_once() {
        let x = 1.0 + f32::EPSILON;
        assert_eq!(
            float(Alu::FFma, &[x, x, -1.0 - 2.0 * f32::EPSILON]),
            f32::EPSILON * f32::EPSILON
        );
    }

    /// Laws N1, N3.
    #[test]
    fn canon_and_flush() {
        assert_eq!(one(Alu::Canon, Kind::F32, &[0xFFC1_2345]), u64::from(CANONICAL_NAN));
        assert_eq!(one(Alu::Canon, Kind::F32, &[0x8000_0001]), 0x8000_0001);
        assert_eq!(one(Alu::Flush, Kind::F32, &[0x8000_0001]), 0x8000_0000);
        assert_eq!(one(Alu::Flush, Kind::F32, &[0x0080_0000]), 0x0080_0000);
        assert_eq!(one(Alu::Flush, Kind::F32, &[0xFFC1_2345]), 0xFFC1_2345);
        // Folded NaNs are the same on every host.
        assert_eq!(
            one(Alu::FSub, Kind::F32, &[0x7F80_0000, 0x7F80_0000]),
            u64::from(CANONICAL_NAN)
        );
        assert_eq!(one(Alu::FSqrt, Kind::F64, &[(-1f64).to_bits()]), CANONICAL_NAN64);
    }

    #[test]
    fn literals_fold_with_kinds() {
        let less = fold(Alu::FLt, &[Literal::f32(1.0), Literal::f32(2.0)]);
        assert_eq!(less.as_deref(), Some(&[Literal::bool(true)][..]));
        let not = fold(Alu::Not, &[Literal::bool(true)]);
        assert_eq!(not.as_deref(), Some(&[Literal::bool(false)][..]));
        let quotient = fold(Alu::SDiv, &[Literal::i32(-7), Literal::i32(2)]);
        assert_eq!(quotient.as_deref(), Some(&[Literal::i32(-3)][..]));
        let carry = fold(Alu::AddCarry, &[Literal::u32(u32::MAX), Literal::u32(2)]);
        assert_eq!(carry.as_deref(), Some(&[Literal::u32(1), Literal::u32(1)][..]));
        assert_eq!(fold(Alu::FLt, &[Literal::f32(1.0), Literal::u32(2)]), None);
        let chosen = fold(
            Alu::Select,
            &[Literal::bool(false), Literal::bool(false), Literal::bool(true)],
        );
        assert_eq!(chosen.as_deref(), Some(&[Literal::bool(true)][..]));
    }

    #[test]
    fn other_widths() {
        assert_eq!(one(Alu::UMulHi, Kind::U64, &[u64::MAX, u64::MAX]), u64::MAX - 1);
        assert_eq!(one(Alu::SMulHi, Kind::I64, &[u64::MAX, u64::MAX]), 0);
        assert_eq!(one(Alu::IMul, Kind::U16, &[0xFFFF, 0xFFFF]), 1);
        assert_eq!(one(Alu::SLt, Kind::I8, &[0x80, 0x7F]), 1);
        assert_eq!(one(Alu::ULt, Kind::U8, &[0x80, 0x7F]), 0);
        assert_eq!(
            one(Alu::FAdd, Kind::F64, &[1f64.to_bits(), 2f64.to_bits()]),
            3f64.to_bits()
        );
        assert!(
            eval_alu(Alu::FAdd, Kind::F16, &[0, 0]).is_none(),
            "f16 goes through f32"
        );
    }
}
