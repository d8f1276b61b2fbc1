//! Sine, cosine, tangent: one reduction to [-pi/2, pi/2] that `FSin` and `FCos` of the same operand share after CSE.
//!
//! Bounds: R-PS section 8 (absolute 0.0008 up to 100 pi, results in [-1, 1], specials of 22.10.20) and the WGSL
//! accuracy table (absolute 2^-11 on [-pi, pi]). Here: absolute 2^-22 up to 1e4 and beyond; past 2^22 pi, where a
//! float is no angle any more, results are just bounded.

use super::ops::Ops;

/// `(sin(r)/r - 1) / r^2` in r^2 up to (pi/2)^2: relative error of the sine 6.2e-9.
const SIN: [f32; 4] = [-0.166_666_6, 0.008_333_069, -0.000_198_097_77, 2.606_095_7e-6];
/// `cos(r)` in r^2: absolute error 5.4e-8.
const COS: [f32; 5] = [1.0, -0.499_999_3, 0.041_663_963, -0.001_385_570_9, 2.318_903_4e-5];

/// pi rounded down to f32, so that what is left is positive too: then -0 stays -0 through the reduction.
const PI_HIGH: f32 = f32::from_bits(0x4049_0FDA);
/// pi - PI_HIGH.
const PI_LOW: f32 = 1.509_958e-7;
const FRAC_1_PI: f32 = std::f32::consts::FRAC_1_PI;
/// pi/2 in two parts.
const HALF_PI: f32 = std::f32::consts::FRAC_PI_2;
const HALF_PI_LOW: f32 = -4.371_139e-8;

/// x = n pi + r: gives n, the sign bit of (-1)^n, and x - n PI_HIGH, which is exact: r but for n PI_LOW.
fn reduce_high<O: Ops>(o: &mut O, x: O::V) -> (O::V, O::V, O::V) {
    // 1.5 * 2^23: the sum's low bits are n.
    let magic = o.f(12_582_912.0);
    let per_pi = o.f(FRAC_1_PI);
    let t = o.fma(x, per_pi, magic);
    let n = o.sub(t, magic);
    let sign = o.bits(t);
    let sign = o.shl(sign, 31);
    let high = o.f(-PI_HIGH);
    let r = o.fma(n, high, x);
    (n, sign, r)
}

/// x = n pi + r: gives the sign bit of (-1)^n and r, rounded once.
fn reduce<O: Ops>(o: &mut O, x: O::V) -> (O::V, O::V) {
    let (n, sign, high) = reduce_high(o, x);
    let low = o.f(-PI_LOW);
    (sign, o.fma(n, low, high))
}

/// sin(r) for |r| <= pi/2.
fn sin_poly<O: Ops>(o: &mut O, r: O::V) -> O::V {
    let s = o.mul(r, r);
    let p = o.poly(s, &SIN);
    let one = o.f(1.0);
    let p = o.fma(p, s, one);
    o.mul(p, r)
}

/// Applies the sign and bounds the result; NaN (from infinities) stays.
fn finish<O: Ops>(o: &mut O, value: O::V, sign: O::V) -> O::V {
    let value = o.flip_sign(value, sign);
    let value = o.at_most(value, 1.0);
    o.at_least(value, -1.0)
}

pub(super) fn sin<O: Ops>(o: &mut O, x: O::V) -> O::V {
    let (sign, r) = reduce(o, x);
    let s = sin_poly(o, r);
    finish(o, s, sign)
}

pub(super) fn cos<O: Ops>(o: &mut O, x: O::V) -> O::V {
    let (sign, r) = reduce(o, x);
    let s = o.mul(r, r);
    let c = o.poly(s, &COS);
    finish(o, c, sign)
}

/// sin(r) / cos(r); the cosine as the sine of the distance to pi/2, taken from the exact part of r: so the tangent
/// keeps its relative precision near the poles.
pub(super) fn tan<O: Ops>(o: &mut O, x: O::V) -> O::V {
    let (n, _, high) = reduce_high(o, x);
    // Where r is no reduced angle any more (see above), finite at least.
    let high = o.at_most(high, 1.6);
    let high = o.at_least(high, -1.6);
    let n = o.at_most(n, 4_194_304.0);
    let n = o.at_least(n, -4_194_304.0);
    let minus_low = o.f(-PI_LOW);
    let low = o.mul(n, minus_low);
    let r = o.add(high, low);
    let s = sin_poly(o, r);
    let half_pi = o.f(HALF_PI);
    let half_pi_low = o.f(HALF_PI_LOW);
    let a = o.abs(high);
    let sign = o.sign_bit(high);
    let a_low = o.flip_sign(low, sign);
    let rest = o.sub(half_pi, a);
    let rest_low = o.sub(half_pi_low, a_low);
    let rest = o.add(rest, rest_low);
    let c = sin_poly(o, rest);
    o.div(s, c)
}
