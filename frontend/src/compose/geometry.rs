//! Vector geometry: dot, length, normalize, cross, reflect, refract, faceForward.

use super::{add, float_like, mul, sub};
use crate::ir::{Alu, FunctionBuilder, Value};

/// `x0*y0 + x1*y1 + ...`, left to right; floats or integers.
pub fn dot(b: &mut FunctionBuilder, x: &[Value], y: &[Value]) -> Value {
    let float = b.kind(x[0]).is_float();
    let (times, plus) = if float {
        (Alu::FMul, Alu::FAdd)
    } else {
        (Alu::IMul, Alu::IAdd)
    };
    let mut sum = b.alu(times, &[x[0], y[0]]);
    for (&x, &y) in x.iter().zip(y).skip(1) {
        let product = b.alu(times, &[x, y]);
        sum = b.alu(plus, &[sum, product]);
    }
    sum
}

/// `sqrt(dot(v, v))`; the absolute value of a scalar.
pub fn length(b: &mut FunctionBuilder, v: &[Value]) -> Value {
    if let [x] = v {
        return b.alu(Alu::FAbs, &[*x]);
    }
    let square = dot(b, v, v);
    b.alu(Alu::FSqrt, &[square])
}

/// `length(x - y)`.
pub fn distance(b: &mut FunctionBuilder, x: &[Value], y: &[Value]) -> Value {
    let difference: Vec<Value> = x.iter().zip(y).map(|(&x, &y)| sub(b, x, y)).collect();
    length(b, &difference)
}

/// `v * rsqrt(dot(v, v))`.
pub fn normalize(b: &mut FunctionBuilder, v: &[Value]) -> Vec<Value> {
    let square = dot(b, v, v);
    let scale = b.alu(Alu::FRsqrt, &[square]);
    v.iter().map(|&x| mul(b, x, scale)).collect()
}

/// The cross product of two 3-vectors.
pub fn cross(b: &mut FunctionBuilder, x: &[Value], y: &[Value]) -> Vec<Value> {
    [(1, 2), (2, 0), (0, 1)]
        .into_iter()
        .map(|(i, j)| {
            let p = mul(b, x[i], y[j]);
            let q = mul(b, x[j], y[i]);
            sub(b, p, q)
        })
        .collect()
}

/// `i - 2*dot(n, i) * n`.
pub fn reflect(b: &mut FunctionBuilder, i: &[Value], n: &[Value]) -> Vec<Value> {
    let d = dot(b, n, i);
    let twice = add(b, d, d);
    i.iter()
        .zip(n)
        .map(|(&i, &n)| {
            let along = mul(b, twice, n);
            sub(b, i, along)
        })
        .collect()
}

/// `k < 0 ? 0 : eta*i - (eta*d + sqrt(k)) * n` with `d = dot(n, i)` and `k = 1 - eta*eta*(1 - d*d)`.
pub fn refract(b: &mut FunctionBuilder, i: &[Value], n: &[Value], eta: Value) -> Vec<Value> {
    let (zero, one) = (float_like(b, eta, 0.0), float_like(b, eta, 1.0));
    let d = dot(b, n, i);
    let d2 = mul(b, d, d);
    let sine2 = sub(b, one, d2);
    let eta2 = mul(b, eta, eta);
    let bent = mul(b, eta2, sine2);
    let k = sub(b, one, bent);
    let total = b.alu(Alu::FLt, &[k, zero]);
    let root = b.alu(Alu::FSqrt, &[k]);
    let eta_d = mul(b, eta, d);
    let scale = add(b, eta_d, root);
    i.iter()
        .zip(n)
        .map(|(&i, &n)| {
            let (straight, back) = (mul(b, eta, i), mul(b, scale, n));
            let bent = sub(b, straight, back);
            b.select(total, zero, bent)
        })
        .collect()
}

/// `dot(reference, i) < 0 ? n : -n`.
pub fn face_forward(b: &mut FunctionBuilder, n: &[Value], i: &[Value], reference: &[Value]) -> Vec<Value> {
    let d = dot(b, reference, i);
    let zero = float_like(b, d, 0.0);
    let toward = b.alu(Alu::FLt, &[d, zero]);
    n.iter()
        .map(|&n| {
            let minus = b.alu(Alu::FNeg, &[n]);
            b.select(toward, n, minus)
        })
        .collect()
}
