//! Inverse trigonometric functions.
//!
//! Bounds: the WGSL accuracy table (atan 4096 ULP, asin and acos absolute 6.8e-5); here a few ULP.

use super::ops::Ops;

/// `(asin(x)/x - 1) / x^2` in x^2 up to 1/4: relative error of the arc sine 8.9e-8.
const ASIN: [f32; 4] = [0.166_655_78, 0.075_405_49, 0.040_033_553, 0.049_956_445];
/// `(atan(t)/t - 1) / t^2` in t^2 up to 1: relative error of the arc tangent 1.1e-7.
const ATAN: [f32; 7] = [
    -0.333_323_93,
    0.199_742_29,
    -0.140_414_07,
    0.099_686_82,
    -0.060_205_97,
    0.024_736_002,
    -0.004_823_059,
];
const PI: f32 = std::f32::consts::PI;
const HALF_PI: f32 = std::f32::consts::FRAC_PI_2;

/// With a = |x|: whether a > 1/2, and asin(a) or else asin(sqrt((1-a)/2)), the half angle from 90 degrees.
fn asin_parts<O: Ops>(o: &mut O, a: O::V) -> (O::V, O::V) {
    let half = o.f(0.5);
    let big = o.lt(half, a);
    let minus_half = o.f(-0.5);
    let far = o.fma(a, minus_half, half);
    let near = o.mul(a, a);
    let z = o.select(big, far, near);
    // Of a negative number (|x| > 1) it is NaN, as it must be.
    let root = o.sqrt(far);
    let t = o.select(big, root, a);
    let p = o.poly(z, &ASIN);
    let zt = o.mul(z, t);
    let angle = o.fma(p, zt, t);
    (big, angle)
}

pub(super) fn asin<O: Ops>(o: &mut O, x: O::V) -> O::V {
    let a = o.abs(x);
    let (big, angle) = asin_parts(o, a);
    let minus_two = o.f(-2.0);
    let half_pi = o.f(HALF_PI);
    let far = o.fma(angle, minus_two, half_pi);
    let result = o.select(big, far, angle);
    let sign = o.sign_bit(x);
    o.flip_sign(result, sign)
}

pub(super) fn acos<O: Ops>(o: &mut O, x: O::V) -> O::V {
    let a = o.abs(x);
    let (big, angle) = asin_parts(o, a);
    let sign = o.sign_bit(x);
    let signed = o.flip_sign(angle, sign);
    let half_pi = o.f(HALF_PI);
    let near = o.sub(half_pi, signed);
    // |x| > 1/2: twice the half angle, or pi minus that.
    let zero = o.f(0.0);
    let negative = o.lt(x, zero);
    let pi = o.f(PI);
    let base = o.select(negative, pi, zero);
    let two = o.f(2.0);
    let far = o.fma(signed, two, base);
    o.select(big, far, near)
}

/// atan(t) for t in [0, 1].
fn atan_poly<O: Ops>(o: &mut O, t: O::V) -> O::V {
    let s = o.mul(t, t);
    let p = o.poly(s, &ATAN);
    let st = o.mul(s, t);
    o.fma(p, st, t)
}

pub(super) fn atan<O: Ops>(o: &mut O, x: O::V) -> O::V {
    let a = o.abs(x);
    let one = o.f(1.0);
    let steep = o.lt(one, a);
    let inverse = o.div(one, a);
    let t = o.select(steep, inverse, a);
    let angle = atan_poly(o, t);
    let half_pi = o.f(HALF_PI);
    let rest = o.sub(half_pi, angle);
    let result = o.select(steep, rest, angle);
    let sign = o.sign_bit(x);
    o.flip_sign(result, sign)
}

/// The angle of (x, y); as IEEE's atan2, signed zeros and infinities included.
pub(super) fn atan2<O: Ops>(o: &mut O, y: O::V, x: O::V) -> O::V {
    let ax = o.abs(x);
    let ay = o.abs(y);
    let steep = o.lt(ax, ay);
    let small = o.select(steep, ax, ay);
    let large = o.select(steep, ay, ax);
    let t = o.div(small, large);
    // Equal ones are at 45 degrees, infinities too, but (0, 0) is at 0.
    let equal = o.eq(small, large);
    let one = o.f(1.0);
    let t = o.select(equal, one, t);
    let zero = o.f(0.0);
    let origin = o.eq(large, zero);
    let t = o.select(origin, zero, t);
    let angle = atan_poly(o, t);
    let half_pi = o.f(HALF_PI);
    let rest = o.sub(half_pi, angle);
    let angle = o.select(steep, rest, angle);
    // Left of the axis, by the sign bit: -0 counts.
    let pi = o.f(PI);
    let other = o.sub(pi, angle);
    let x_bits = o.bits(x);
    let zero_bits = o.u(0);
    let left = o.alu(crate::ir::Alu::SLt, &[x_bits, zero_bits]);
    let angle = o.select(left, other, angle);
    let sign = o.sign_bit(y);
    o.flip_sign(angle, sign)
}
