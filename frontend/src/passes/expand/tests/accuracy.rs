//! Dense sweeps against double precision. The bounds are what was measured, rounded up; each is within the stricter
//! of the WGSL accuracy table and R-PS section 8.

use super::call;
use crate::ir::Alu;

/// How an error counts.
#[derive(Clone, Copy)]
enum Unit {
    /// Units in the last place of the exact result.
    Ulp,
    Absolute,
}

const TWO_TO_MINUS_21: f64 = 1.0 / 2_097_152.0;

/// Spacing of f32 at x.
fn ulp(x: f64) -> f64 {
    let x = (x.abs() as f32).max(f32::MIN_POSITIVE);
    f64::from(f32::from_bits(x.to_bits() & 0x7F80_0000)) * f64::from(f32::EPSILON)
}

/// `steps` operands from `from` to `to`: evenly spaced in value, and again evenly spaced in bits.
fn operands(from: f32, to: f32, steps: u32) -> Vec<f32> {
    let even = (0..=steps).map(|i| from + (to - from) * (i as f32 / steps as f32));
    let key = |x: f32| i64::from((x.abs().to_bits() as i32) * if x.is_sign_negative() { -1 } else { 1 });
    let (low, high) = (key(from), key(to));
    let in_bits = (0..=i64::from(steps)).map(|i| {
        let k = low + (high - low) * i / i64::from(steps);
        let x = f32::from_bits(k.unsigned_abs() as u32);
        if k < 0 { -x } else { x }
    });
    even.chain(in_bits).filter(|x| (from..=to).contains(x)).collect()
}

/// Largest error and where.
fn worst(op: Alu, unit: Unit, xs: &[f32], exact: impl Fn(f64) -> f64) -> (f64, f32) {
    let mut worst = (0.0, 0.0);
    for &x in xs {
        let (got, want) = (call(op, &[x]), exact(f64::from(x)));
        let error = (f64::from(got) - want).abs();
        let error = match unit {
            Unit::Ulp => error / ulp(want),
            Unit::Absolute => error,
        };
        // A NaN counts as the worst.
        if error.is_nan() || error > worst.0 {
            worst = (error, x);
        }
    }
    worst
}

#[track_caller]
fn check(op: Alu, unit: Unit, range: (f32, f32), bound: f64, exact: impl Fn(f64) -> f64) {
    let (error, at) = worst(op, unit, &operands(range.0, range.1, 30_000), exact);
    println!("{op:?} on {range:?}: {error:.3e} at {at:e}, bound {bound:e}");
    assert!(
        error <= bound,
        "{op:?} on {range:?}: error {error:e} at {at:e}, more than {bound:e}"
    );
}

/// WGSL 3+2|x| ULP, Direct3D relative 2^-21 (4 ULP and more).
#[test]
fn exponentials() {
    check(Alu::FExp2, Unit::Ulp, (-125.99, 127.999), 2.4, libm::exp2);
    check(Alu::FExp2, Unit::Ulp, (-1.0, 1.0), 2.4, libm::exp2);
    check(Alu::FExp, Unit::Ulp, (-87.3, 88.72), 2.6, libm::exp);
    check(Alu::FExp, Unit::Ulp, (-1.0, 1.0), 2.6, libm::exp);
}

/// Absolute 2^-21 on [0.5, 2], else 3 ULP and relative 2^-21. Ours is within ULPs everywhere.
#[test]
fn logarithms() {
    for range in [(0.5, 2.0), (0.99, 1.01), (f32::MIN_POSITIVE, 0.5), (2.0, f32::MAX)] {
        check(Alu::FLog2, Unit::Ulp, range, 2.0, libm::log2);
        check(Alu::FLog, Unit::Ulp, range, 3.0, libm::log);
    }
    check(Alu::FLog2, Unit::Absolute, (0.5, 2.0), TWO_TO_MINUS_21, libm::log2);
    // Denormals are numbers (law N1).
    check(
        Alu::FLog2,
        Unit::Ulp,
        (f32::from_bits(1), f32::MIN_POSITIVE),
        2.0,
        libm::log2,
    );
}

/// Inherited from `exp2(y * log2(x))`: 3+2|z| ULP of the power and the rounding of z = y log2 x.
#[test]
fn powers() {
    for y in [0.5f32, 1.0, 1.0 / 2.4, 2.2, 2.4, -1.5, 5.0, 32.0] {
        let mut worst = 0.0f64;
        for x in operands(1e-3, 100.0, 20_000) {
            let want = libm::pow(f64::from(x), f64::from(y));
            if !(1.2e-38..3.4e38).contains(&want) {
                continue;
            }
            let z = f64::from(y) * libm::log2(f64::from(x));
            let error = (f64::from(call(Alu::FPow, &[x, y])) - want).abs() / ulp(want);
            worst = worst.max(error / (3.0 + 2.0 * z.abs()));
        }
        println!("pow y={y}: {worst:.3} of the bound");
        assert!(worst <= 0.8, "x^{y}: {worst} of the bound");
    }
}

#[test]
fn sines_and_cosines() {
    let two_to_minus_22 = TWO_TO_MINUS_21 / 2.0;
    for range in [(-3.2, 3.2), (-315.0, 315.0), (-1e4, 1e4), (1e4, 1e5)] {
        check(Alu::FSin, Unit::Absolute, range, two_to_minus_22, libm::sin);
        check(Alu::FCos, Unit::Absolute, range, two_to_minus_22, libm::cos);
    }
    // The sine keeps its relative accuracy near 0, the tangent near its poles too.
    check(Alu::FSin, Unit::Ulp, (-1.5, 1.5), 3.0, libm::sin);
    check(Alu::FTan, Unit::Ulp, (-1.57, 1.57), 6.0, libm::tan);
    check(Alu::FTan, Unit::Ulp, (1.571, 4.712), 6.0, libm::tan);
    check(Alu::FTan, Unit::Ulp, (-1e4, 1e4), 6.0, libm::tan);
    // Bounded wherever.
    for x in operands(1e4, f32::MAX, 10_000) {
        for op in [Alu::FSin, Alu::FCos] {
            let y = call(op, &[x]);
            assert!((-1.0..=1.0).contains(&y), "{op:?}({x:e}) = {y}");
        }
        assert!(!call(Alu::FTan, &[x]).is_nan(), "tan({x:e})");
    }
}

#[test]
fn arcs() {
    check(Alu::FAsin, Unit::Ulp, (-1.0, 1.0), 4.0, libm::asin);
    check(Alu::FAcos, Unit::Ulp, (-1.0, 1.0), 4.0, libm::acos);
    check(Alu::FAtan, Unit::Ulp, (-1e6, 1e6), 4.0, libm::atan);
    check(Alu::FAtan, Unit::Ulp, (-2.0, 2.0), 4.0, libm::atan);
    let mut worst = 0.0f64;
    for y in operands(-3.0, 3.0, 300) {
        for x in operands(-3.0, 3.0, 100) {
            let want = libm::atan2(f64::from(y), f64::from(x));
            if want.abs() > f64::from(f32::MIN_POSITIVE) {
                worst = worst.max((f64::from(call(Alu::FAtan2, &[y, x])) - want).abs() / ulp(want));
            }
        }
    }
    println!("atan2: {worst}");
    assert!(worst <= 4.0, "atan2: {worst} ULP");
}

#[test]
fn hyperbolics() {
    check(Alu::FSinh, Unit::Ulp, (-89.4, 89.4), 5.0, libm::sinh);
    check(Alu::FSinh, Unit::Ulp, (-1.5, 1.5), 5.0, libm::sinh);
    check(Alu::FCosh, Unit::Ulp, (-89.4, 89.4), 4.0, libm::cosh);
    check(Alu::FTanh, Unit::Ulp, (-20.0, 20.0), 4.0, libm::tanh);
    check(Alu::FTanh, Unit::Ulp, (-1.0, 1.0), 4.0, libm::tanh);
    check(Alu::FAsinh, Unit::Ulp, (-2.0, 2.0), 4.0, libm::asinh);
    check(Alu::FAsinh, Unit::Ulp, (-3e38, 3e38), 4.0, libm::asinh);
    check(Alu::FAcosh, Unit::Ulp, (1.0, 3e38), 5.0, libm::acosh);
    check(Alu::FAcosh, Unit::Ulp, (1.0, 2.0), 5.0, libm::acosh);
    check(Alu::FAtanh, Unit::Ulp, (-0.999_999, 0.999_999), 5.0, libm::atanh);
}

#[test]
fn roots() {
    check(Alu::FRsqrt, Unit::Ulp, (f32::MIN_POSITIVE, f32::MAX), 1.5, |x| {
        1.0 / x.sqrt()
    });
}

fn decode(c: f64) -> f64 {
    if c <= 0.04045 {
        c / 12.92
    } else {
        libm::pow((c + 0.055) / 1.055, 2.4)
    }
}

fn encode(c: f64) -> f64 {
    if c <= 0.003_130_8 {
        c * 12.92
    } else {
        1.055 * libm::pow(c, 1.0 / 2.4) - 0.055
    }
}

/// Law S5, R-SAMP-105, R-SAMP-106.
#[test]
fn srgb() {
    // Encoding, rounded to a code, is within 0.6 of the exact code: 0.5 comes from the rounding.
    check(Alu::SrgbEncode, Unit::Absolute, (0.0, 1.0), 0.02 / 255.0, encode);
    let mut worst = 0.0f64;
    for c in operands(0.0, 1.0, 50_000) {
        let back = encode(f64::from(call(Alu::SrgbDecode, &[c])));
        worst = worst.max((back - f64::from(c)).abs() * 255.0);
    }
    println!("srgb decode: {worst} codes");
    assert!(worst <= 0.01, "srgb decode: off by {worst} codes");
    for code in 0..=255u32 {
        let stored = f32::from_bits(super::eval(Alu::Unorm8ToF, crate::ir::Kind::U32, &[code])[0]);
        for linear in [call(Alu::SrgbDecode, &[stored]), decode(f64::from(stored)) as f32] {
            let again = call(Alu::SrgbEncode, &[linear]).to_bits();
            let again = super::eval(Alu::FToUnorm8, crate::ir::Kind::F32, &[again])[0];
            assert_eq!(again, code, "through {linear}");
        }
    }
    for (linear, code) in [(0.0003f32, 1), (0.0031308, 10), (0.01, 25), (0.18, 118), (0.5, 188)] {
        let encoded = call(Alu::SrgbEncode, &[linear]).to_bits();
        assert_eq!(
            super::eval(Alu::FToUnorm8, crate::ir::Kind::F32, &[encoded])[0],
            code,
            "{linear}"
        );
    }
    for op in [Alu::SrgbEncode, Alu::SrgbDecode] {
        for (x, y) in [(0.0f32, 0.0f32), (1.0, 1.0), (f32::NAN, 0.0), (-1.0, 0.0), (2.0, 1.0)] {
            assert_eq!(call(op, &[x]), y, "{op:?}({x})");
        }
        // Never above 1, never falling by more than the fit's ripple.
        let mut last = 0.0f32;
        for i in 0..=100_000 {
            let y = call(op, &[i as f32 / 100_000.0]);
            assert!((0.0..=1.0).contains(&y) && y >= last - 2e-5, "{op:?} at {i}");
            last = last.max(y);
        }
    }
}
