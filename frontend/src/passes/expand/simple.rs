//! Small float functions: remainder, fraction, sign, clamping, taking numbers apart and scaling them.

use super::ops::Ops;
use crate::ir::Alu;

/// Largest f32 below 1.
const BELOW_ONE: f32 = f32::from_bits(0x3F7F_FFFF);
const MIN_NORMAL: f32 = f32::MIN_POSITIVE;

/// `a - b trunc(a/b)`, the product not rounded.
pub(super) fn rem<O: Ops>(o: &mut O, a: O::V, b: O::V) -> O::V {
    let q = o.div(a, b);
    let q = o.trunc(q);
    let q = o.neg(q);
    o.fma(q, b, a)
}

/// In [0, 1), -0 gives +0 (R-PS section 8, frc); without the limit a tiny negative number would give 1.
pub(super) fn fract<O: Ops>(o: &mut O, a: O::V) -> O::V {
    let floor = o.floor(a);
    let f = o.sub(a, floor);
    o.at_most(f, BELOW_ONE)
}

pub(super) fn sign<O: Ops>(o: &mut O, a: O::V) -> O::V {
    let (zero, one, minus_one) = (o.f(0.0), o.f(1.0), o.f(-1.0));
    let negative = o.lt(a, zero);
    let positive = o.lt(zero, a);
    let low = o.select(negative, minus_one, zero);
    o.select(positive, one, low)
}

/// R-PS-91. Comparisons that fail on NaN, so that it gives 0.
pub(super) fn saturate<O: Ops>(o: &mut O, a: O::V) -> O::V {
    let (zero, one) = (o.f(0.0), o.f(1.0));
    let positive = o.lt(zero, a);
    let a = o.select(positive, a, zero);
    let below = o.lt(a, one);
    o.select(below, a, one)
}

pub(super) fn rsqrt<O: Ops>(o: &mut O, a: O::V) -> O::V {
    let root = o.sqrt(a);
    let one = o.f(1.0);
    o.div(one, root)
}

/// (fraction, whole part), both of the operand's sign; infinities have fraction 0.
pub(super) fn modf<O: Ops>(o: &mut O, a: O::V) -> (O::V, O::V) {
    let whole = o.trunc(a);
    let fraction = o.sub(a, whole);
    let is_whole = o.eq(a, whole);
    let zero = o.f(0.0);
    let fraction = o.select(is_whole, zero, fraction);
    let fraction = o.abs(fraction);
    let sign = o.sign_bit(a);
    (o.flip_sign(fraction, sign), whole)
}

/// The parts of a number: mantissa bits with sign, biased exponent (below 1 for denormals), whether it is neither
/// zero nor infinite nor NaN.
fn parts<O: Ops>(o: &mut O, a: O::V) -> (O::V, O::V, O::V) {
    let magnitude = o.abs(a);
    let tiny = o.f(MIN_NORMAL);
    let tiny = o.lt(magnitude, tiny);
    let up = o.f((1u32 << 24) as f32);
    let scaled = o.mul(a, up);
    let scaled = o.select(tiny, scaled, a);
    let bits = o.bits(scaled);
    let exponent = o.shr(bits, 23);
    let exponent = o.andc(exponent, 255);
    let (down, zero) = (o.u(24), o.u(0));
    let shift = o.select(tiny, down, zero);
    let exponent = o.isub(exponent, shift);
    let mantissa = o.andc(bits, 0x807F_FFFF);
    let (zero, infinity) = (o.f(0.0), o.f(f32::INFINITY));
    let above = o.lt(zero, magnitude);
    let below = o.lt(magnitude, infinity);
    (mantissa, exponent, o.and(above, below))
}

/// (fraction in [0.5, 1), exponent); zeros, infinities and NaN are their own fraction with exponent 0.
pub(super) fn frexp<O: Ops>(o: &mut O, a: O::V) -> (O::V, O::V) {
    let (mantissa, exponent, ordinary) = parts(o, a);
    let half = o.u(0x3F00_0000);
    let fraction = o.or(mantissa, half);
    let fraction = o.float(fraction);
    let exponent = o.iaddc(exponent, 126u32.wrapping_neg());
    let zero = o.u(0);
    (o.select(ordinary, fraction, a), o.select(ordinary, exponent, zero))
}

fn clamp<O: Ops>(o: &mut O, a: O::V, low: i32, high: i32) -> O::V {
    let (low, high) = (o.u(low as u32), o.u(high as u32));
    let a = o.alu(Alu::SMax, &[a, low]);
    o.alu(Alu::SMin, &[a, high])
}

/// `a 2^n`: mantissa times two powers of two, of which only the second may round.
pub(super) fn ldexp<O: Ops>(o: &mut O, a: O::V, n: O::V) -> O::V {
    let (mantissa, exponent, ordinary) = parts(o, a);
    let one = o.u(0x3F80_0000);
    let m = o.or(mantissa, one);
    let m = o.float(m);
    let m = o.select(ordinary, m, a);
    let n = clamp(o, n, -400, 400);
    let e = o.iadd(exponent, n);
    let e = o.iaddc(e, 127u32.wrapping_neg());
    // 2^-152 rounds to zero, 2^129 overflows, whatever the mantissa.
    let e = clamp(o, e, -152, 129);
    let first = o.sar(e, 1);
    let second = o.isub(e, first);
    let mut m = m;
    for e in [first, second] {
        let e = o.iaddc(e, 127);
        let e = o.shl(e, 23);
        let power = o.float(e);
        m = o.mul(m, power);
    }
    m
}

/// Truncates; values above the largest f32 that fits give that (R-WGSL-63), NaN gives 0.
pub(super) fn to_signed_wgsl<O: Ops>(o: &mut O, a: O::V) -> O::V {
    let a = o.at_most(a, 2_147_483_520.0);
    o.f2s(a)
}

/// As [`to_signed_wgsl`].
pub(super) fn to_unsigned_wgsl<O: Ops>(o: &mut O, a: O::V) -> O::V {
    let a = o.at_most(a, 4_294_967_040.0);
    o.alu(Alu::FToU, &[a])
}
