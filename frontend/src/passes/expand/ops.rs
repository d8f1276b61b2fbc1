//! The machine that expansions are written for: primitive operations on values that are either scalars (folding,
//! tests) or IR values (the pass). One source, so that both give the same bits (law N7).
//!
//! Integers inside expansions are u32 throughout; `SToF` and `FToS` are wrapped to fit.

use crate::ir::eval::primitive32;
use crate::ir::{Alu, Kind, Literal};

/// Emits or evaluates primitive operations.
pub trait Ops {
    /// A scalar of some kind.
    type V: Copy;

    /// A constant.
    fn constant(&mut self, literal: Literal) -> Self::V;
    /// A primitive operation with one result.
    fn alu(&mut self, op: Alu, args: &[Self::V]) -> Self::V;
    /// The same bits as another 32-bit kind, not bool.
    fn bitcast(&mut self, value: Self::V, kind: Kind) -> Self::V;

    /// An f32 constant.
    fn f(&mut self, value: f32) -> Self::V {
        self.constant(Literal::f32(value))
    }
    /// A u32 constant.
    fn u(&mut self, value: u32) -> Self::V {
        self.constant(Literal::u32(value))
    }

    /// a + b.
    fn add(&mut self, a: Self::V, b: Self::V) -> Self::V {
        self.alu(Alu::FAdd, &[a, b])
    }
    /// a - b.
    fn sub(&mut self, a: Self::V, b: Self::V) -> Self::V {
        self.alu(Alu::FSub, &[a, b])
    }
    /// a * b.
    fn mul(&mut self, a: Self::V, b: Self::V) -> Self::V {
        self.alu(Alu::FMul, &[a, b])
    }
    /// a / b.
    fn div(&mut self, a: Self::V, b: Self::V) -> Self::V {
        self.alu(Alu::FDiv, &[a, b])
    }
    /// a * b + c, rounded once.
    fn fma(&mut self, a: Self::V, b: Self::V, c: Self::V) -> Self::V {
        self.alu(Alu::FFma, &[a, b, c])
    }
    /// Square root.
    fn sqrt(&mut self, a: Self::V) -> Self::V {
        self.alu(Alu::FSqrt, &[a])
    }
    /// -a.
    fn neg(&mut self, a: Self::V) -> Self::V {
        self.alu(Alu::FNeg, &[a])
    }
    /// |a|.
    fn abs(&mut self, a: Self::V) -> Self::V {
        self.alu(Alu::FAbs, &[a])
    }
    /// Largest integer not above.
    fn floor(&mut self, a: Self::V) -> Self::V {
        self.alu(Alu::FFloor, &[a])
    }
    /// Toward zero.
    fn trunc(&mut self, a: Self::V) -> Self::V {
        self.alu(Alu::FTrunc, &[a])
    }
    /// a < b; false with a NaN.
    fn lt(&mut self, a: Self::V, b: Self::V) -> Self::V {
        self.alu(Alu::FLt, &[a, b])
    }
    /// a == b; false with a NaN.
    fn eq(&mut self, a: Self::V, b: Self::V) -> Self::V {
        self.alu(Alu::FEq, &[a, b])
    }
    /// a != b; true with a NaN.
    fn ne(&mut self, a: Self::V, b: Self::V) -> Self::V {
        self.alu(Alu::FNe, &[a, b])
    }

    /// a + b, wrapping.
    fn iadd(&mut self, a: Self::V, b: Self::V) -> Self::V {
        self.alu(Alu::IAdd, &[a, b])
    }
    /// a - b, wrapping.
    fn isub(&mut self, a: Self::V, b: Self::V) -> Self::V {
        self.alu(Alu::ISub, &[a, b])
    }
    /// a * b, wrapping.
    fn imul(&mut self, a: Self::V, b: Self::V) -> Self::V {
        self.alu(Alu::IMul, &[a, b])
    }
    /// a & b.
    fn and(&mut self, a: Self::V, b: Self::V) -> Self::V {
        self.alu(Alu::And, &[a, b])
    }
    /// a | b.
    fn or(&mut self, a: Self::V, b: Self::V) -> Self::V {
        self.alu(Alu::Or, &[a, b])
    }
    /// a ^ b.
    fn xor(&mut self, a: Self::V, b: Self::V) -> Self::V {
        self.alu(Alu::Xor, &[a, b])
    }
    /// ~a.
    fn not(&mut self, a: Self::V) -> Self::V {
        self.alu(Alu::Not, &[a])
    }
    /// a & constant.
    fn andc(&mut self, a: Self::V, bits: u32) -> Self::V {
        let bits = self.u(bits);
        self.and(a, bits)
    }
    /// a + constant.
    fn iaddc(&mut self, a: Self::V, value: u32) -> Self::V {
        let value = self.u(value);
        self.iadd(a, value)
    }
    /// a << count.
    fn shl(&mut self, a: Self::V, count: u32) -> Self::V {
        let count = self.u(count);
        self.alu(Alu::Shl, &[a, count])
    }
    /// a >> count, zeros in.
    fn shr(&mut self, a: Self::V, count: u32) -> Self::V {
        let count = self.u(count);
        self.alu(Alu::ShrU, &[a, count])
    }
    /// a >> count, sign in.
    fn sar(&mut self, a: Self::V, count: u32) -> Self::V {
        let count = self.u(count);
        self.alu(Alu::ShrS, &[a, count])
    }
    /// Whether the integer is zero.
    fn is_zero(&mut self, a: Self::V) -> Self::V {
        let zero = self.u(0);
        self.alu(Alu::IEq, &[a, zero])
    }

    /// `condition ? a : b`.
    fn select(&mut self, condition: Self::V, a: Self::V, b: Self::V) -> Self::V {
        self.alu(Alu::Select, &[condition, a, b])
    }
    /// A float's bits as u32.
    fn bits(&mut self, a: Self::V) -> Self::V {
        self.bitcast(a, Kind::U32)
    }
    /// A u32 as the float of those bits.
    fn float(&mut self, a: Self::V) -> Self::V {
        self.bitcast(a, Kind::F32)
    }
    /// The float of a u32 taken as signed.
    fn s2f(&mut self, a: Self::V) -> Self::V {
        let a = self.bitcast(a, Kind::I32);
        self.alu(Alu::SToF, &[a])
    }
    /// The signed integer of a float, saturating, as u32.
    fn f2s(&mut self, a: Self::V) -> Self::V {
        let a = self.alu(Alu::FToS, &[a]);
        self.bitcast(a, Kind::U32)
    }

    /// The smaller of `a` and a constant; NaN stays NaN. (In this form it is one machine instruction; `FMin`, which
    /// must prefer the number, is three.)
    fn at_most(&mut self, a: Self::V, limit: f32) -> Self::V {
        let limit = self.f(limit);
        let above = self.lt(limit, a);
        self.select(above, limit, a)
    }
    /// The larger of `a` and a constant; NaN stays NaN.
    fn at_least(&mut self, a: Self::V, limit: f32) -> Self::V {
        let limit = self.f(limit);
        let below = self.lt(a, limit);
        self.select(below, limit, a)
    }
    /// The sign bit of a float.
    fn sign_bit(&mut self, a: Self::V) -> Self::V {
        let bits = self.bits(a);
        self.andc(bits, 0x8000_0000)
    }
    /// A float with a sign bit flipped into it.
    fn flip_sign(&mut self, a: Self::V, sign: Self::V) -> Self::V {
        let bits = self.bits(a);
        let bits = self.xor(bits, sign);
        self.float(bits)
    }
    /// `c[0] + c[1] x + c[2] x^2 ...` by Horner's rule.
    fn poly(&mut self, x: Self::V, coefficients: &[f32]) -> Self::V {
        let (&last, rest) = coefficients.split_last().expect("a polynomial has a coefficient");
        let mut sum = self.f(last);
        for &c in rest.iter().rev() {
            let c = self.f(c);
            sum = self.fma(sum, x, c);
        }
        sum
    }
}

/// Evaluates on 32-bit scalars; bools are masks.
pub struct Scalar;

impl Ops for Scalar {
    type V = u32;

    #[inline]
    fn constant(&mut self, literal: Literal) -> u32 {
        match literal.kind {
            Kind::Bool => 0u32.wrapping_sub(literal.bits as u32),
            _ => literal.bits as u32,
        }
    }

    #[inline]
    fn alu(&mut self, op: Alu, args: &[u32]) -> u32 {
        let arg = |i: usize| args.get(i).copied().unwrap_or(0);
        primitive32(op, arg(0), arg(1), arg(2))
    }

    #[inline]
    fn bitcast(&mut self, value: u32, _: Kind) -> u32 {
        value
    }
}
