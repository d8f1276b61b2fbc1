//! Half precision: exact conversions both ways. No step makes or reads an f32 denormal, which would be slow.

use super::ops::Ops;
use crate::ir::Alu;

/// 2^-14, the smallest normal half.
const MIN_NORMAL: f32 = 6.103_515_6e-5;
/// Difference of the exponent biases, in place.
const REBIAS: u32 = (127 - 15) << 23;
const INFINITY: u32 = 0x7C00;
/// What every NaN becomes.
const NAN: u32 = 0x7E00;

/// Puts NaN and the sign to the magnitude bits of a half.
fn finish<O: Ops>(o: &mut O, x: O::V, half: O::V) -> O::V {
    let is_nan = o.ne(x, x);
    let nan = o.u(NAN);
    let zero = o.u(0);
    let sign = o.bits(x);
    let sign = o.shr(sign, 16);
    let sign = o.andc(sign, 0x8000);
    // A NaN's sign is not defined, so it must not show (law N3).
    let sign = o.select(is_nan, zero, sign);
    let half = o.select(is_nan, nan, half);
    o.or(half, sign)
}

/// Nearest even; infinite from 65520 on.
pub(super) fn to_bits<O: Ops>(o: &mut O, x: O::V) -> O::V {
    let a = o.abs(x);
    let bits = o.bits(a);
    // Normal: add half of what is dropped, less one where the kept part is even.
    let odd = o.shr(bits, 13);
    let odd = o.andc(odd, 1);
    let normal = o.iadd(bits, odd);
    let normal = o.iaddc(normal, 0xFFFu32.wrapping_sub(REBIAS));
    let normal = o.shr(normal, 13);
    // Denormal: in 1/2 + a the last bit is 2^-24, so the addition rounds.
    let half = o.f(0.5);
    let denormal = o.add(a, half);
    let denormal = o.bits(denormal);
    let denormal = o.iaddc(denormal, 0x3F00_0000u32.wrapping_neg());
    let limit = o.f(MIN_NORMAL);
    let tiny = o.lt(a, limit);
    let magnitude = o.select(tiny, denormal, normal);
    let infinity = o.u(INFINITY);
    let magnitude = o.alu(Alu::UMin, &[magnitude, infinity]);
    finish(o, x, magnitude)
}

/// Toward zero (R-PS-132): finite numbers stay finite.
pub(super) fn to_bits_toward_zero<O: Ops>(o: &mut O, x: O::V) -> O::V {
    let a = o.abs(x);
    let bits = o.bits(a);
    let normal = o.iaddc(bits, REBIAS.wrapping_neg());
    let normal = o.shr(normal, 13);
    let largest = o.u(0x7BFF);
    let normal = o.alu(Alu::UMin, &[normal, largest]);
    let scale = o.f(16_777_216.0);
    let steps = o.mul(a, scale);
    let steps = o.trunc(steps);
    // As an integer: the low bits of 2^23 + it.
    let magic = o.f(8_388_608.0);
    let denormal = o.add(steps, magic);
    let denormal = o.bits(denormal);
    let denormal = o.iaddc(denormal, 0x4B00_0000u32.wrapping_neg());
    let limit = o.f(MIN_NORMAL);
    let tiny = o.lt(a, limit);
    let magnitude = o.select(tiny, denormal, normal);
    let f32_infinity = o.f(f32::INFINITY);
    let infinite = o.eq(a, f32_infinity);
    let infinity = o.u(INFINITY);
    let magnitude = o.select(infinite, infinity, magnitude);
    finish(o, x, magnitude)
}

pub(super) fn from_bits<O: Ops>(o: &mut O, half: O::V) -> O::V {
    let magnitude = o.andc(half, 0x7FFF);
    let up = o.shl(magnitude, 13);
    let normal = o.iaddc(up, REBIAS);
    // Infinities and NaN: the exponent field becomes all ones.
    let special = o.u(0x7F80_0000);
    let special = o.or(up, special);
    let limit = o.u(INFINITY - 1);
    let is_special = o.alu(Alu::SLt, &[limit, magnitude]);
    let normal = o.select(is_special, special, normal);
    let denormal = o.s2f(magnitude);
    let step = o.f(1.0 / 16_777_216.0);
    let denormal = o.mul(denormal, step);
    let denormal = o.bits(denormal);
    let limit = o.u(0x400);
    let tiny = o.alu(Alu::SLt, &[magnitude, limit]);
    let bits = o.select(tiny, denormal, normal);
    let sign = o.andc(half, 0x8000);
    let sign = o.shl(sign, 16);
    let bits = o.or(bits, sign);
    o.float(bits)
}

/// To the nearest half and back: adds and takes away the number whose last bit is the half's.
pub(super) fn quantize<O: Ops>(o: &mut O, x: O::V) -> O::V {
    let a = o.abs(x);
    let bits = o.bits(a);
    let exponent = o.andc(bits, 0x7F80_0000);
    let least = o.f(MIN_NORMAL);
    let least = o.bits(least);
    let exponent = o.alu(Alu::UMax, &[exponent, least]);
    // Wraps for numbers far beyond a half's range, which the limit catches: what rounds to 65536 is infinite.
    let magic = o.iaddc(exponent, 13 << 23);
    let magic = o.float(magic);
    let sum = o.add(a, magic);
    let r = o.sub(sum, magic);
    let limit = o.f(65_520.0);
    let above = o.alu(Alu::FLe, &[limit, a]);
    let infinity = o.f(f32::INFINITY);
    let r = o.select(above, infinity, r);
    let sign = o.sign_bit(x);
    o.flip_sign(r, sign)
}
