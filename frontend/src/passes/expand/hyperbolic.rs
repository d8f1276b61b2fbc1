//! Hyperbolic functions and their inverses, through `exp` and `log`; near zero by polynomials, where those cancel.
//!
//! Bounds: inherited from the formulas in the WGSL accuracy table; here a few ULP.

use super::exp_log::{exp_scaled, log, log1p};
use super::ops::Ops;

/// `(sinh(x)/x - 1) / x^2` in x^2 up to 1: relative error 2.4e-8.
const SINH: [f32; 3] = [0.166_667_16, 0.008_330_271, 0.000_203_733_4];
/// `(tanh(x)/x - 1) / x^2` in x^2 up to 0.625^2: relative error 4.5e-9.
const TANH: [f32; 5] = [
    -0.333_332_8,
    0.133_314_06,
    -0.053_736_515,
    0.020_628_167,
    -0.005_692_296_5,
];
/// `(asinh(x)/x - 1) / x^2` in x^2 up to 1/4: relative error 1.3e-9.
const ASINH: [f32; 5] = [
    -0.166_666_44,
    0.074_986_406,
    -0.044_382_93,
    0.028_160_654,
    -0.013_222_112,
];
const LN_2: f32 = std::f32::consts::LN_2;

/// `x + x^3 p(x^2)`.
fn odd<O: Ops>(o: &mut O, x: O::V, coefficients: &[f32]) -> O::V {
    let s = o.mul(x, x);
    let p = o.poly(s, coefficients);
    let sx = o.mul(s, x);
    o.fma(p, sx, x)
}

/// e^|x|/2 and e^-|x|/2.
fn halves<O: Ops>(o: &mut O, a: O::V) -> (O::V, O::V) {
    let up = exp_scaled(o, a, -1.0);
    let quarter = o.f(0.25);
    let down = o.div(quarter, up);
    (up, down)
}

pub(super) fn sinh<O: Ops>(o: &mut O, x: O::V) -> O::V {
    let a = o.abs(x);
    let (up, down) = halves(o, a);
    let far = o.sub(up, down);
    let near = odd(o, a, &SINH);
    let one = o.f(1.0);
    let is_near = o.lt(a, one);
    let result = o.select(is_near, near, far);
    let sign = o.sign_bit(x);
    o.flip_sign(result, sign)
}

pub(super) fn cosh<O: Ops>(o: &mut O, x: O::V) -> O::V {
    let a = o.abs(x);
    let (up, down) = halves(o, a);
    o.add(up, down)
}

pub(super) fn tanh<O: Ops>(o: &mut O, x: O::V) -> O::V {
    let a = o.abs(x);
    let minus_two = o.f(-2.0);
    let twice = o.mul(a, minus_two);
    let u = exp_scaled(o, twice, 0.0);
    let one = o.f(1.0);
    let up = o.sub(one, u);
    let down = o.add(one, u);
    let far = o.div(up, down);
    let near = odd(o, a, &TANH);
    let limit = o.f(0.625);
    let is_near = o.lt(a, limit);
    let result = o.select(is_near, near, far);
    let sign = o.sign_bit(x);
    o.flip_sign(result, sign)
}

pub(super) fn asinh<O: Ops>(o: &mut O, x: O::V) -> O::V {
    let a = o.abs(x);
    let one = o.f(1.0);
    let square = o.fma(a, a, one);
    let root = o.sqrt(square);
    let sum = o.add(a, root);
    // Where the square overflows, or the 1 no longer counts: 2a.
    let limit = o.f(1e10);
    let huge = o.lt(limit, a);
    let argument = o.select(huge, a, sum);
    let far = log(o, argument);
    let ln_2 = o.f(LN_2);
    let zero = o.f(0.0);
    let extra = o.select(huge, ln_2, zero);
    let far = o.add(far, extra);
    let near = odd(o, a, &ASINH);
    let half = o.f(0.5);
    let is_near = o.lt(a, half);
    let result = o.select(is_near, near, far);
    let sign = o.sign_bit(x);
    o.flip_sign(result, sign)
}

/// NaN below 1.
pub(super) fn acosh<O: Ops>(o: &mut O, x: O::V) -> O::V {
    let one = o.f(1.0);
    let two = o.f(2.0);
    let t = o.sub(x, one);
    let square = o.add(t, two);
    let square = o.mul(t, square);
    let root = o.sqrt(square);
    let u = o.add(t, root);
    let limit = o.f(1e10);
    let huge = o.lt(limit, x);
    let u = o.select(huge, x, u);
    let l = log1p(o, u);
    let ln_2 = o.f(LN_2);
    let zero = o.f(0.0);
    let extra = o.select(huge, ln_2, zero);
    let l = o.add(l, extra);
    let below = o.lt(x, one);
    let nan = o.f(f32::NAN);
    o.select(below, nan, l)
}

/// Infinite at +-1, NaN beyond.
pub(super) fn atanh<O: Ops>(o: &mut O, x: O::V) -> O::V {
    let a = o.abs(x);
    let one = o.f(1.0);
    let twice = o.add(a, a);
    let rest = o.sub(one, a);
    let u = o.div(twice, rest);
    let l = log1p(o, u);
    let half = o.f(0.5);
    let result = o.mul(l, half);
    let sign = o.sign_bit(x);
    o.flip_sign(result, sign)
}
