//! Packing into and unpacking from 32-bit words (f32, i32 and u32 only).

use super::{add, mul};
use crate::ir::{Alu, FunctionBuilder, Kind, Value};

/// How a component of a packed word is read as a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Norm {
    /// 0 to 1.
    Unorm,
    /// -1 to 1.
    Snorm,
}

/// The low `bits` of each word, side by side, the first one lowest.
pub fn join(b: &mut FunctionBuilder, words: &[Value], bits: u32) -> Value {
    let mask = b.u32(u32::MAX >> (32 - bits));
    let mut joined = None;
    for (i, &word) in words.iter().enumerate() {
        let word = b.bitcast(word, Kind::U32);
        let last = i + 1 == words.len();
        // The highest part loses its excess bits by the shift.
        let part = if last && bits * words.len() as u32 == 32 {
            word
        } else {
            b.alu(Alu::And, &[word, mask])
        };
        let shift = b.u32(bits * i as u32);
        let placed = if i == 0 { part } else { b.alu(Alu::Shl, &[part, shift]) };
        joined = Some(match joined {
            None => placed,
            Some(low) => b.alu(Alu::Or, &[low, placed]),
        });
    }
    joined.unwrap_or(mask)
}

/// The word's `count` fields of `32 / count` bits, zero- or sign-extended.
pub fn split(b: &mut FunctionBuilder, word: Value, count: u32, signed: bool) -> Vec<Value> {
    let bits = 32 / count;
    (0..count)
        .map(|i| {
            if signed {
                let word = b.bitcast(word, Kind::I32);
                let (up, down) = (b.u32(32 - bits * (i + 1)), b.u32(32 - bits));
                let top = if i + 1 == count {
                    word
                } else {
                    b.alu(Alu::Shl, &[word, up])
                };
                b.alu(Alu::ShrS, &[top, down])
            } else {
                let shift = b.u32(bits * i);
                let mask = b.u32(u32::MAX >> (32 - bits));
                let low = if i == 0 { word } else { b.alu(Alu::ShrU, &[word, shift]) };
                if i + 1 == count {
                    low
                } else {
                    b.alu(Alu::And, &[low, mask])
                }
            }
        })
        .collect()
}

/// `pack4x8unorm` and the like: `floor(0.5 + max * clamp(x))` per component.
pub fn pack_norm(b: &mut FunctionBuilder, v: &[Value], norm: Norm) -> Value {
    let bits = 32 / v.len() as u32;
    let words: Vec<Value> = v.iter().map(|&x| norm_to_int(b, x, bits, norm)).collect();
    join(b, &words, bits)
}

fn norm_to_int(b: &mut FunctionBuilder, x: Value, bits: u32, norm: Norm) -> Value {
    let (half, one) = (b.f32(0.5), b.f32(1.0));
    let (clamped, max) = match norm {
        Norm::Unorm => (b.alu(Alu::FSaturate, &[x]), (1u32 << bits) - 1),
        Norm::Snorm => {
            let minus = b.f32(-1.0);
            (super::blend::clamp(b, x, minus, one), (1u32 << (bits - 1)) - 1)
        }
    };
    let max = b.f32(max as f32);
    let scaled = mul(b, clamped, max);
    let raised = add(b, scaled, half);
    let floor = b.alu(Alu::FFloor, &[raised]);
    b.alu(Alu::FToS, &[floor])
}

/// `unpack4x8unorm` and the like: `x / max` per component, snorm not below -1.
pub fn unpack_norm(b: &mut FunctionBuilder, word: Value, count: u32, norm: Norm) -> Vec<Value> {
    let bits = 32 / count;
    split(b, word, count, norm == Norm::Snorm)
        .into_iter()
        .map(|field| match (norm, bits) {
            (Norm::Unorm, 8) => b.alu(Alu::Unorm8ToF, &[field]),
            (Norm::Unorm, _) => {
                let (value, max) = (b.alu(Alu::UToF, &[field]), b.f32(((1u32 << bits) - 1) as f32));
                b.alu(Alu::FDiv, &[value, max])
            }
            (Norm::Snorm, _) => {
                let (value, max) = (b.alu(Alu::SToF, &[field]), b.f32(((1u32 << (bits - 1)) - 1) as f32));
                let (ratio, minus) = (b.alu(Alu::FDiv, &[value, max]), b.f32(-1.0));
                b.alu(Alu::FMax, &[ratio, minus])
            }
        })
        .collect()
}

/// `pack2x16float`, rounding to nearest even.
pub fn pack_half(b: &mut FunctionBuilder, v: &[Value]) -> Value {
    let words: Vec<Value> = v.iter().map(|&x| b.alu(Alu::HalfBits, &[x])).collect();
    join(b, &words, 16)
}

/// `unpack2x16float`.
pub fn unpack_half(b: &mut FunctionBuilder, word: Value) -> Vec<Value> {
    let shift = b.u32(16);
    let high = b.alu(Alu::ShrU, &[word, shift]);
    [word, high].map(|half| b.alu(Alu::HalfToF, &[half])).into()
}

/// `pack4xI8` and `pack4xU8`, clamping to the byte's range first if `clamp`.
pub fn pack_bytes(b: &mut FunctionBuilder, v: &[Value], clamp: bool) -> Value {
    let words: Vec<Value> = v
        .iter()
        .map(|&x| match (clamp, b.kind(x)) {
            (true, Kind::I32) => {
                let (low, high) = (b.i32(-128), b.i32(127));
                super::blend::clamp(b, x, low, high)
            }
            (true, _) => {
                let high = b.u32(255);
                b.alu(Alu::UMin, &[x, high])
            }
            (false, _) => x,
        })
        .collect();
    join(b, &words, 8)
}

/// `dot4U8Packed` and `dot4I8Packed`.
pub fn dot4(b: &mut FunctionBuilder, x: Value, y: Value, signed: bool) -> Value {
    let (x, y) = (split(b, x, 4, signed), split(b, y, 4, signed));
    super::geometry::dot(b, &x, &y)
}
