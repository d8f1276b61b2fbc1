//! Bit counting, finding, moving, and carries.

use super::ops::Ops;
use crate::ir::Alu;

pub(super) fn abs<O: Ops>(o: &mut O, a: O::V) -> O::V {
    let minus = o.alu(Alu::INeg, &[a]);
    o.alu(Alu::SMax, &[a, minus])
}

pub(super) fn sign<O: Ops>(o: &mut O, a: O::V) -> O::V {
    let (one, minus_one) = (o.u(1), o.u(u32::MAX));
    let a = o.alu(Alu::SMin, &[a, one]);
    o.alu(Alu::SMax, &[a, minus_one])
}

/// Sums of neighbouring fields, then all bytes at once by a product.
pub(super) fn pop_count<O: Ops>(o: &mut O, a: O::V) -> O::V {
    let t = o.shr(a, 1);
    let t = o.andc(t, 0x5555_5555);
    let a = o.isub(a, t);
    let high = o.shr(a, 2);
    let high = o.andc(high, 0x3333_3333);
    let low = o.andc(a, 0x3333_3333);
    let a = o.iadd(high, low);
    let t = o.shr(a, 4);
    let a = o.iadd(a, t);
    let a = o.andc(a, 0x0F0F_0F0F);
    let all = o.u(0x0101_0101);
    let a = o.imul(a, all);
    o.shr(a, 24)
}

/// Swaps neighbouring fields of 1, 2, 4, 8, 16 bits.
pub(super) fn reverse<O: Ops>(o: &mut O, a: O::V) -> O::V {
    let mut a = a;
    for (shift, mask) in [(1, 0x5555_5555), (2, 0x3333_3333), (4, 0x0F0F_0F0F), (8, 0x00FF_00FF)] {
        let high = o.shr(a, shift);
        let high = o.andc(high, mask);
        let low = o.andc(a, mask);
        let low = o.shl(low, shift);
        a = o.or(high, low);
    }
    let high = o.shr(a, 16);
    let low = o.shl(a, 16);
    o.or(high, low)
}

/// Number of the highest bit by the exponent of the float of `a`, which must not round up to the next power of two;
/// -1 for 0. With bit 31 set the float is negative and its sign makes the field large: limited to 31.
fn highest<O: Ops>(o: &mut O, a: O::V) -> O::V {
    let f = o.s2f(a);
    let f = o.bits(f);
    let e = o.shr(f, 23);
    let e = o.iaddc(e, 127u32.wrapping_neg());
    let (low, high) = (o.u(u32::MAX), o.u(31));
    let e = o.alu(Alu::SMax, &[e, low]);
    o.alu(Alu::SMin, &[e, high])
}

pub(super) fn first_leading_unsigned<O: Ops>(o: &mut O, a: O::V) -> O::V {
    // Clears the bit below the highest one, so that no run of ones rounds up.
    let t = o.shr(a, 1);
    let t = o.not(t);
    let a = o.and(a, t);
    highest(o, a)
}

pub(super) fn first_leading_signed<O: Ops>(o: &mut O, a: O::V) -> O::V {
    let sign = o.sar(a, 31);
    let a = o.xor(a, sign);
    first_leading_unsigned(o, a)
}

pub(super) fn first_trailing<O: Ops>(o: &mut O, a: O::V) -> O::V {
    let minus = o.alu(Alu::INeg, &[a]);
    let lowest = o.and(a, minus);
    highest(o, lowest)
}

pub(super) fn leading_zeros<O: Ops>(o: &mut O, a: O::V) -> O::V {
    let first = first_leading_unsigned(o, a);
    let top = o.u(31);
    o.isub(top, first)
}

pub(super) fn trailing_zeros<O: Ops>(o: &mut O, a: O::V) -> O::V {
    let first = first_trailing(o, a);
    let width = o.u(32);
    o.alu(Alu::UMin, &[first, width])
}

/// Offset and count limited to the word (WGSL extractBits); 32 - count; whether the count is 0.
fn field<O: Ops>(o: &mut O, offset: O::V, count: O::V) -> (O::V, O::V, O::V, O::V) {
    let width = o.u(32);
    let offset = o.alu(Alu::UMin, &[offset, width]);
    let room = o.isub(width, offset);
    let count = o.alu(Alu::UMin, &[count, room]);
    let rest = o.isub(width, count);
    let empty = o.is_zero(count);
    (offset, count, rest, empty)
}

/// Up to the top, then down; `down` decides what comes in from above.
fn extract<O: Ops>(o: &mut O, a: O::V, offset: O::V, count: O::V, down: Alu) -> O::V {
    let (offset, _, rest, empty) = field(o, offset, count);
    let up = o.isub(rest, offset);
    let a = o.alu(Alu::Shl, &[a, up]);
    let a = o.alu(down, &[a, rest]);
    let zero = o.u(0);
    o.select(empty, zero, a)
}

pub(super) fn extract_unsigned<O: Ops>(o: &mut O, a: O::V, offset: O::V, count: O::V) -> O::V {
    extract(o, a, offset, count, Alu::ShrU)
}

pub(super) fn extract_signed<O: Ops>(o: &mut O, a: O::V, offset: O::V, count: O::V) -> O::V {
    extract(o, a, offset, count, Alu::ShrS)
}

pub(super) fn insert<O: Ops>(o: &mut O, a: O::V, new: O::V, offset: O::V, count: O::V) -> O::V {
    let (offset, _, rest, empty) = field(o, offset, count);
    let ones = o.u(u32::MAX);
    let mask = o.alu(Alu::ShrU, &[ones, rest]);
    let mask = o.alu(Alu::Shl, &[mask, offset]);
    let zero = o.u(0);
    let mask = o.select(empty, zero, mask);
    let new = o.alu(Alu::Shl, &[new, offset]);
    let new = o.and(new, mask);
    let keep = o.not(mask);
    let a = o.and(a, keep);
    o.or(a, new)
}

pub(super) fn add_carry<O: Ops>(o: &mut O, a: O::V, b: O::V) -> (O::V, O::V) {
    let sum = o.iadd(a, b);
    let wrapped = o.alu(Alu::ULt, &[sum, a]);
    let (zero, one) = (o.u(0), o.u(1));
    (sum, o.select(wrapped, one, zero))
}

pub(super) fn sub_borrow<O: Ops>(o: &mut O, a: O::V, b: O::V) -> (O::V, O::V) {
    let difference = o.isub(a, b);
    let wrapped = o.alu(Alu::ULt, &[a, b]);
    let (zero, one) = (o.u(0), o.u(1));
    (difference, o.select(wrapped, one, zero))
}
