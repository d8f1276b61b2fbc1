//! Numbers to codes and back, as IR: the fields of texels (R-SAMP-100..107, R-OM-38, R-OM-39).
//!
//! A code is a component's bits, not shifted. [`crate::format::scalar`] has the same conversions in Rust.

use super::emit::Emit;
use super::state::Rules;
use crate::format::{FormatInfo, Kind as FormatKind};
use quadrille_frontend::ir::{Alu, Kind, Value};

fn ones(bits: u32) -> u32 {
    ((1u64 << bits) - 1) as u32
}

fn clamp_to(e: &mut Emit, v: Value, min: f32, max: f32) -> Value {
    let (min, max) = (e.f32(min), e.f32(max));
    let v = e.alu(Alu::FMax, &[v, min]);
    e.alu(Alu::FMin, &[v, max])
}

/// -1 to 1; NaN gives 0.
fn snorm_range(e: &mut Emit, v: Value) -> Value {
    let ordered = e.alu(Alu::FEq, &[v, v]);
    let zero = e.f32(0.0);
    let v = e.select(ordered, v, zero);
    clamp_to(e, v, -1.0, 1.0)
}

/// A blend input in the format's range (R-OM-32); components that the format lacks too.
pub(super) fn clamp(e: &mut Emit, info: &FormatInfo, v: Value) -> Value {
    match info.kind {
        FormatKind::Unorm => e.alu(Alu::FSaturate, &[v]),
        FormatKind::Snorm => snorm_range(e, v),
        _ => v,
    }
}

/// An f32 as the nearest half float, or toward zero under Direct3D's rules (R-OM-39), still as f32.
pub(super) fn to_half(e: &mut Emit, rules: Rules, v: Value) -> Value {
    match rules {
        Rules::WebGpu => e.alu(Alu::QuantizeF16, &[v]),
        Rules::D3d11 => {
            let bits = e.alu(Alu::HalfBitsRtz, &[v]);
            e.alu(Alu::HalfToF, &[bits])
        }
    }
}

/// Component `c` of a colour as its code.
pub(super) fn encode(e: &mut Emit, info: &FormatInfo, c: usize, value: Value) -> Value {
    let bits = u32::from(info.fields[c].bits);
    match info.kind {
        FormatKind::Unorm => {
            let mut v = e.alu(Alu::FSaturate, &[value]);
            if info.srgb && c < 3 {
                v = e.alu(Alu::SrgbEncode, &[v]);
            }
            if bits == 8 {
                e.alu(Alu::FToUnorm8, &[v])
            } else {
                e.unorm_code(v, ones(bits) as f32)
            }
        }
        FormatKind::Snorm => {
            let v = snorm_range(e, value);
            let magnitude = e.alu(Alu::FAbs, &[v]);
            let code = e.unorm_code(magnitude, ones(bits - 1) as f32);
            let zero = e.f32(0.0);
            let negative = e.alu(Alu::FLt, &[v, zero]);
            let minus = e.alu(Alu::INeg, &[code]);
            let code = e.select(negative, minus, code);
            e.and_const(code, ones(bits))
        }
        FormatKind::Uint => {
            let v = e.b.bitcast(value, Kind::U32);
            if bits == 32 {
                return v;
            }
            let max = e.u32(ones(bits));
            e.alu(Alu::UMin, &[v, max])
        }
        FormatKind::Sint => {
            let v = e.b.bitcast(value, Kind::I32);
            if bits == 32 {
                return e.b.bitcast(v, Kind::U32);
            }
            let (min, max) = (e.b.i32(-(1 << (bits - 1))), e.b.i32((1 << (bits - 1)) - 1));
            let v = e.alu(Alu::SMax, &[v, min]);
            let v = e.alu(Alu::SMin, &[v, max]);
            let v = e.b.bitcast(v, Kind::U32);
            e.and_const(v, ones(bits))
        }
        // R-SAMP-107: a half float toward zero that loses its sign and its low mantissa bits; negative numbers give 0.
        FormatKind::Float if bits < 16 => {
            let half = e.alu(Alu::HalfBitsRtz, &[value]);
            let limit = e.u32(0x7fff);
            let positive = e.alu(Alu::ULe, &[half, limit]);
            let code = e.shr(half, 15 - bits);
            let zero = e.u32(0);
            e.select(positive, code, zero)
        }
        FormatKind::Float => e.b.bitcast(value, Kind::U32),
    }
}

/// The low bits of the shader's integer: what logic operations take (R-OM-50).
pub(super) fn truncate(e: &mut Emit, info: &FormatInfo, c: usize, value: Value) -> Value {
    let v = e.b.bitcast(value, Kind::U32);
    e.and_const(v, ones(info.fields[c].bits.into()))
}

/// The f32 of a stored code.
pub(super) fn decode(e: &mut Emit, info: &FormatInfo, c: usize, code: Value) -> Value {
    let bits = u32::from(info.fields[c].bits);
    match info.kind {
        FormatKind::Unorm => {
            let v = if bits == 8 {
                e.alu(Alu::Unorm8ToF, &[code])
            } else {
                let f = e.alu(Alu::UToF, &[code]);
                let max = e.f32(ones(bits) as f32);
                e.alu(Alu::FDiv, &[f, max])
            };
            if info.srgb && c < 3 {
                e.alu(Alu::SrgbDecode, &[v])
            } else {
                v
            }
        }
        FormatKind::Snorm => {
            let up = e.shl(code, 32 - bits);
            let up = e.b.bitcast(up, Kind::I32);
            let count = e.u32(32 - bits);
            let signed = e.alu(Alu::ShrS, &[up, count]);
            let f = e.alu(Alu::SToF, &[signed]);
            let max = e.f32(ones(bits - 1) as f32);
            let v = e.alu(Alu::FDiv, &[f, max]);
            let low = e.f32(-1.0);
            e.alu(Alu::FMax, &[v, low])
        }
        FormatKind::Float if bits < 16 => {
            let half = e.shl(code, 15 - bits);
            e.alu(Alu::HalfToF, &[half])
        }
        _ => e.b.bitcast(code, Kind::F32),
    }
}
