//! Scalar interpolation and ranges: mix, step, smoothstep, clamp, degrees, radians, remainders of the family.

use super::{add, float_like, mul, sub};
use crate::ir::{Alu, FunctionBuilder, Kind, Value};

/// `x*(1-t) + y*t`, as `fma(t, y, fma(-t, x, x))`: exact at both ends, never worse than the plain expression.
pub fn mix(b: &mut FunctionBuilder, x: Value, y: Value, t: Value) -> Value {
    let minus = b.alu(Alu::FNeg, &[t]);
    let rest = b.alu(Alu::FFma, &[minus, x, x]);
    b.alu(Alu::FFma, &[t, y, rest])
}

/// `edge <= x ? 1 : 0`.
pub fn step(b: &mut FunctionBuilder, edge: Value, x: Value) -> Value {
    let (zero, one) = (float_like(b, x, 0.0), float_like(b, x, 1.0));
    let past = b.alu(Alu::FLe, &[edge, x]);
    b.select(past, one, zero)
}

/// `t*t*(3 - 2*t)` with `t = saturate((x - low) / (high - low))`.
pub fn smoothstep(b: &mut FunctionBuilder, low: Value, high: Value, x: Value) -> Value {
    let (two, three) = (float_like(b, x, 2.0), float_like(b, x, 3.0));
    let (above, range) = (sub(b, x, low), sub(b, high, low));
    let ratio = b.alu(Alu::FDiv, &[above, range]);
    let t = b.alu(Alu::FSaturate, &[ratio]);
    let twice = mul(b, two, t);
    let weight = sub(b, three, twice);
    let square = mul(b, t, t);
    mul(b, square, weight)
}

/// The lesser of two scalars of any kind but bool.
pub fn min(b: &mut FunctionBuilder, x: Value, y: Value) -> Value {
    let alu = by_kind(b.kind(x), Alu::FMin, Alu::SMin, Alu::UMin);
    b.alu(alu, &[x, y])
}

/// The greater of two scalars of any kind but bool.
pub fn max(b: &mut FunctionBuilder, x: Value, y: Value) -> Value {
    let alu = by_kind(b.kind(x), Alu::FMax, Alu::SMax, Alu::UMax);
    b.alu(alu, &[x, y])
}

/// `min(max(x, low), high)`.
pub fn clamp(b: &mut FunctionBuilder, x: Value, low: Value, high: Value) -> Value {
    let raised = max(b, x, low);
    min(b, raised, high)
}

/// Radians to degrees.
pub fn degrees(b: &mut FunctionBuilder, x: Value) -> Value {
    let factor = float_like(b, x, 180.0 / std::f64::consts::PI);
    mul(b, x, factor)
}

/// Degrees to radians.
pub fn radians(b: &mut FunctionBuilder, x: Value) -> Value {
    let factor = float_like(b, x, std::f64::consts::PI / 180.0);
    mul(b, x, factor)
}

/// `|d/dx| + |d/dy|` of two derivatives.
pub fn fwidth(b: &mut FunctionBuilder, ddx: Value, ddy: Value) -> Value {
    let (x, y) = (b.alu(Alu::FAbs, &[ddx]), b.alu(Alu::FAbs, &[ddy]));
    add(b, x, y)
}

/// One of three operations, by the kind's class.
pub fn by_kind(kind: Kind, float: Alu, signed: Alu, unsigned: Alu) -> Alu {
    if kind.is_float() {
        float
    } else if kind.is_signed() {
        signed
    } else {
        unsigned
    }
}
