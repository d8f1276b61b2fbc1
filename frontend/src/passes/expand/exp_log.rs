//! Exponentials and logarithms. Polynomials are minimax fits with coefficients rounded to f32.
//!
//! Bounds: R-PS section 8 (relative 2^-21; log2 within [0.5, 2] absolute 2^-21) and the WGSL accuracy table
//! (exp2 3+2|x| ULP, log2 3 ULP). Specials as the tables there. Results below the normal range are zero (law N1).

use super::ops::Ops;

/// `2^f - 1` over `f`, relative to `2^f`, on [0, 1): error 8.2e-8.
const EXP2: [f32; 6] = [
    1.0,
    0.693_151_3,
    0.240_164_6,
    0.055_799_514,
    0.009_017_481,
    0.001_866_951_6,
];

/// `log2(1+f)/f` on [sqrt(1/2)-1, sqrt(2)-1]: relative error 4.4e-8.
const LOG2: [f32; 9] = [
    LOG2_E,
    -0.721_347_33,
    0.480_910_63,
    -0.360_703_68,
    0.287_916_24,
    -0.238_944_83,
    0.215_715_66,
    -0.207_269_74,
    0.125_836_9,
];

/// Bits of sqrt(1/2): exponents are counted from here, so that 1+f lies around 1.
const SQRT_HALF: u32 = 0x3F35_04F3;
const MIN_NORMAL: f32 = f32::MIN_POSITIVE;
const LN_2: f32 = std::f32::consts::LN_2;
const LOG2_E: f32 = std::f32::consts::LOG2_E;
/// log2(e) - LOG2_E.
const LOG2_E_LOW: f32 = 1.925_963e-8;

/// 2^n for an integral float n in -127..=128; 0 and infinity at these ends.
fn power_of_two<O: Ops>(o: &mut O, n: O::V) -> O::V {
    // 1.5 * 2^23 + 127: the sum's low bits are the biased exponent.
    let shift = o.f(12_583_039.0);
    let t = o.add(n, shift);
    let t = o.bits(t);
    let t = o.shl(t, 23);
    o.float(t)
}

/// Keeps an exponent where [`power_of_two`] takes its floor: below -126 the result is 0 without a denormal on the way.
fn clamp_exponent<O: Ops>(o: &mut O, x: O::V) -> O::V {
    let x = o.at_most(x, 128.0);
    o.at_least(x, -127.0)
}

pub(super) fn exp2<O: Ops>(o: &mut O, x: O::V) -> O::V {
    let x = clamp_exponent(o, x);
    let n = o.floor(x);
    let f = o.sub(x, n);
    let scale = power_of_two(o, n);
    let p = o.poly(f, &EXP2);
    o.mul(p, scale)
}

pub(super) fn exp<O: Ops>(o: &mut O, x: O::V) -> O::V {
    exp_scaled(o, x, 0.0)
}

/// `e^x * 2^shift`; overflows where the result does, not where e^x does.
pub(super) fn exp_scaled<O: Ops>(o: &mut O, x: O::V, shift: f32) -> O::V {
    // Beyond these the result is 0 or infinite, and x stays finite: the reduction below needs that.
    let x = o.at_most(x, 90.0);
    let x = o.at_least(x, -90.0);
    let log2_e = o.f(LOG2_E);
    let low = o.f(LOG2_E_LOW);
    let y = o.mul(x, log2_e);
    let n = o.floor(y);
    let minus_n = o.neg(n);
    let f = o.fma(x, log2_e, minus_n);
    let f = o.fma(x, low, f);
    let exponent = if shift == 0.0 {
        n
    } else {
        let shift = o.f(shift);
        o.add(n, shift)
    };
    let exponent = clamp_exponent(o, exponent);
    let scale = power_of_two(o, exponent);
    let p = o.poly(f, &EXP2);
    o.mul(p, scale)
}

/// Binary logarithm of a positive normal number; anything safe for others. `bias` bits are added to the exponent
/// field's origin.
fn log2_core<O: Ops>(o: &mut O, x: O::V, origin: O::V) -> O::V {
    let bits = o.bits(x);
    let i = o.isub(bits, origin);
    let e = o.sar(i, 23);
    let e = o.s2f(e);
    let m = o.andc(i, 0x007F_FFFF);
    let m = o.iaddc(m, SQRT_HALF);
    let m = o.float(m);
    let one = o.f(1.0);
    let f = o.sub(m, one);
    let q = o.poly(f, &LOG2);
    o.fma(f, q, e)
}

pub(super) fn log2<O: Ops>(o: &mut O, x: O::V) -> O::V {
    let tiny = o.f(MIN_NORMAL);
    let tiny = o.lt(x, tiny);
    let up = o.f((1u32 << 24) as f32);
    let scaled = o.mul(x, up);
    let scaled = o.select(tiny, scaled, x);
    let origin = o.u(SQRT_HALF);
    let scaled_origin = o.u(SQRT_HALF + (24 << 23));
    let origin = o.select(tiny, scaled_origin, origin);
    let result = log2_core(o, scaled, origin);
    let zero = o.f(0.0);
    let negative = o.lt(x, zero);
    let nan = o.f(f32::NAN);
    let result = o.select(negative, nan, result);
    let is_zero = o.eq(x, zero);
    let minus_infinity = o.f(f32::NEG_INFINITY);
    let result = o.select(is_zero, minus_infinity, result);
    let infinity = o.f(f32::INFINITY);
    // Minus infinity counts as finite here; it is NaN by now.
    let finite = o.lt(x, infinity);
    o.select(finite, result, x)
}

pub(super) fn log<O: Ops>(o: &mut O, x: O::V) -> O::V {
    let l = log2(o, x);
    let ln_2 = o.f(LN_2);
    o.mul(l, ln_2)
}

/// `log(1 + u)` without loss near 0, for u >= -1; NaN below.
pub(super) fn log1p<O: Ops>(o: &mut O, u: O::V) -> O::V {
    let one = o.f(1.0);
    let w = o.add(u, one);
    let l = log(o, w);
    // What the sum lost, relative to it.
    let back = o.sub(w, one);
    let lost = o.sub(u, back);
    let correction = o.div(lost, w);
    let sum = o.add(l, correction);
    let infinity = o.f(f32::INFINITY);
    let zero = o.f(0.0);
    // At 0 and infinity the correction is NaN.
    let above = o.lt(zero, w);
    let below = o.lt(w, infinity);
    let inside = o.and(above, below);
    o.select(inside, sum, l)
}

/// `x^y` as `2^(y log2 x)`; NaN for x < 0. Denormal bases count as zero, and 0^0 is 1.
pub(super) fn pow<O: Ops>(o: &mut O, x: O::V, y: O::V) -> O::V {
    let origin = o.u(SQRT_HALF);
    let l = log2_core(o, x, origin);
    let tiny = o.f(MIN_NORMAL);
    let tiny = o.lt(x, tiny);
    // Finite, so that an exponent of 0 gives 1.
    let lowest = o.f(f32::MIN);
    let l = o.select(tiny, lowest, l);
    let zero = o.f(0.0);
    let negative = o.lt(x, zero);
    let nan = o.f(f32::NAN);
    let l = o.select(negative, nan, l);
    let infinity = o.f(f32::INFINITY);
    let finite = o.lt(x, infinity);
    let l = o.select(finite, l, x);
    let z = o.mul(y, l);
    exp2(o, z)
}
