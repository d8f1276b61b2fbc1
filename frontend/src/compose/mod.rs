//! The one expansion of composite builtins, shared by all front ends (law N7).
//!
//! Front ends take vectors and matrices apart into slices of values and call these; so `normalize` of WGSL, GLSL and
//! SPIR-V are the same instructions and give the same bits. Matrices are column-major slices. Sums run left to right
//! as separate products and sums: the contraction pass makes them fused (law N2). Every function here works for f32,
//! f64 and f16 kinds unless it says otherwise.

pub mod blend;
pub mod geometry;
pub mod matrix;
pub mod pack;
pub mod power;

use crate::ir::{Alu, FunctionBuilder, Kind, Literal, Value};

/// A float constant of the given kind, rounded to it.
pub fn float(b: &mut FunctionBuilder, kind: Kind, value: f64) -> Value {
    let bits = match kind {
        Kind::F64 => value.to_bits(),
        Kind::F16 => u64::from(half::f16::from_f64(value).to_bits()),
        _ => return b.f32(value as f32),
    };
    b.constant(Literal { kind, bits })
}

/// An integer constant of the given kind (two's complement, cut to its width); floats and bools by value.
pub fn int(b: &mut FunctionBuilder, kind: Kind, value: i64) -> Value {
    match kind {
        Kind::F16 | Kind::F32 | Kind::F64 => float(b, kind, value as f64),
        Kind::Bool => b.bool(value != 0),
        _ => {
            let mask = u64::MAX >> (64 - kind.bits());
            b.constant(Literal {
                kind,
                bits: value as u64 & mask,
            })
        }
    }
}

/// A float constant of the same kind as `like`.
pub(crate) fn float_like(b: &mut FunctionBuilder, like: Value, value: f64) -> Value {
    let kind = b.kind(like);
    float(b, kind, value)
}

pub(crate) fn mul(b: &mut FunctionBuilder, x: Value, y: Value) -> Value {
    b.alu(Alu::FMul, &[x, y])
}

pub(crate) fn add(b: &mut FunctionBuilder, x: Value, y: Value) -> Value {
    b.alu(Alu::FAdd, &[x, y])
}

pub(crate) fn sub(b: &mut FunctionBuilder, x: Value, y: Value) -> Value {
    b.alu(Alu::FSub, &[x, y])
}

/// Direct3D's snapped offset (i32) as pixels from the centre: the low four bits, sign-extended, in sixteenths of a pixel
/// (R-RAST-147); an operand of [`InputPoint::Offset`](crate::ir::InputPoint).
pub fn snapped_offset(b: &mut FunctionBuilder, offset: Value) -> Value {
    let up = b.u32(28);
    let top = b.alu(Alu::Shl, &[offset, up]);
    let signed = b.alu(Alu::ShrS, &[top, up]);
    let units = b.alu(Alu::SToF, &[signed]);
    let sixteenth = b.f32(1.0 / 16.0);
    mul(b, units, sixteenth)
}
