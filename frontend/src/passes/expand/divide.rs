//! Integer division, exact for all operands, without a trap or a branch.
//!
//! A float estimate that never exceeds the quotient, then the same for what is left, then one correction:
//! with reciprocal `p < 1/b` of relative error below 2^-20.3, the first step leaves less than `b (2 + 2^11.7)`, the
//! second less than `b (1 + 2^-8)`.

use super::ops::Ops;
use crate::ir::Alu;

/// Quotient and remainder; anything for b = 0.
fn unsigned<O: Ops>(o: &mut O, a: O::V, b: O::V) -> (O::V, O::V) {
    let fa = o.alu(Alu::UToF, &[a]);
    let fb = o.alu(Alu::UToF, &[b]);
    // 1 - 2^-21, to stay below 1/b whatever the roundings.
    let less = o.f(1.0 - 1.0 / 2_097_152.0);
    let p = o.div(less, fb);
    // Half the quotient fits a signed conversion, which is the cheaper one.
    let half = o.f(0.5);
    let q = o.mul(fa, p);
    let q = o.mul(q, half);
    let q = o.f2s(q);
    let q = o.shl(q, 1);
    let product = o.imul(q, b);
    let r = o.isub(a, product);
    // Nearest of (estimate - 1/2), by the low bits of 1.5 * 2^23 + it.
    let fr = o.alu(Alu::UToF, &[r]);
    let minus_half = o.f(-0.5);
    let q1 = o.fma(fr, p, minus_half);
    let magic = o.f(12_582_912.0);
    let q1 = o.add(q1, magic);
    let q1 = o.bits(q1);
    let q1 = o.iaddc(q1, 0x4B40_0000u32.wrapping_neg());
    let product = o.imul(q1, b);
    let r = o.isub(r, product);
    let q = o.iadd(q, q1);
    let enough = o.alu(Alu::ULe, &[b, r]);
    let (zero, one) = (o.u(0), o.u(1));
    let more = o.select(enough, one, zero);
    let less = o.select(enough, b, zero);
    (o.iadd(q, more), o.isub(r, less))
}

/// x/0 = x, x%0 = 0 (R-WGSL-62).
pub(super) fn div_unsigned<O: Ops>(o: &mut O, a: O::V, b: O::V) -> O::V {
    let (q, _) = unsigned(o, a, b);
    let by_zero = o.is_zero(b);
    o.select(by_zero, a, q)
}

pub(super) fn rem_unsigned<O: Ops>(o: &mut O, a: O::V, b: O::V) -> O::V {
    let (_, r) = unsigned(o, a, b);
    let by_zero = o.is_zero(b);
    let zero = o.u(0);
    o.select(by_zero, zero, r)
}

/// Both all ones for b = 0 (R-PS-121).
pub(super) fn div_rem_d3d<O: Ops>(o: &mut O, a: O::V, b: O::V) -> (O::V, O::V) {
    let (q, r) = unsigned(o, a, b);
    let by_zero = o.is_zero(b);
    let ones = o.u(u32::MAX);
    (o.select(by_zero, ones, q), o.select(by_zero, ones, r))
}

/// `sign` is 0 or all ones: negates where it is all ones.
fn negate_where<O: Ops>(o: &mut O, value: O::V, sign: O::V) -> O::V {
    let value = o.xor(value, sign);
    o.isub(value, sign)
}

/// Signs and magnitudes; that of the smallest number is 2^31, so MIN/-1 comes out as MIN by itself.
fn magnitudes<O: Ops>(o: &mut O, a: O::V, b: O::V) -> (O::V, O::V, O::V, O::V) {
    let sa = o.sar(a, 31);
    let sb = o.sar(b, 31);
    let ma = negate_where(o, a, sa);
    let mb = negate_where(o, b, sb);
    (sa, sb, ma, mb)
}

pub(super) fn div_signed<O: Ops>(o: &mut O, a: O::V, b: O::V) -> O::V {
    let (sa, sb, ma, mb) = magnitudes(o, a, b);
    let (q, _) = unsigned(o, ma, mb);
    let sign = o.xor(sa, sb);
    let q = negate_where(o, q, sign);
    let by_zero = o.is_zero(b);
    o.select(by_zero, a, q)
}

pub(super) fn rem_signed<O: Ops>(o: &mut O, a: O::V, b: O::V) -> O::V {
    let (sa, _, ma, mb) = magnitudes(o, a, b);
    let (_, r) = unsigned(o, ma, mb);
    let r = negate_where(o, r, sa);
    let by_zero = o.is_zero(b);
    let zero = o.u(0);
    o.select(by_zero, zero, r)
}
