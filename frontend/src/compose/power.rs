//! Powers: small constant integer exponents become products, all else `FPow`.

use super::mul;
use crate::ir::{Alu, FunctionBuilder, Kind, Value};

/// `x` to the power `y`. With a constant exponent from 1 to 8, products in a fixed order (x2, x4, x8, then the other
/// factors, low bits first): cheaper and at least as accurate as `exp2(y * log2(x))`; a negative base, for which no
/// language defines `pow`, then gives the true power.
pub fn pow(b: &mut FunctionBuilder, x: Value, y: Value) -> Value {
    match small_exponent(b, y) {
        Some(exponent) => powi(b, x, exponent),
        None => b.alu(Alu::FPow, &[x, y]),
    }
}

fn small_exponent(b: &FunctionBuilder, y: Value) -> Option<u32> {
    let literal = b.func.constant(y)?;
    let value = match literal.kind {
        Kind::F32 => f64::from(literal.as_f32()),
        Kind::F64 => f64::from_bits(literal.bits),
        _ => return None,
    };
    (1..=8).find(|&n| f64::from(n) == value)
}

fn powi(b: &mut FunctionBuilder, x: Value, exponent: u32) -> Value {
    let mut result = None;
    let mut square = x;
    let mut rest = exponent;
    loop {
        if rest & 1 == 1 {
            result = Some(match result {
                None => square,
                Some(so_far) => mul(b, so_far, square),
            });
        }
        rest >>= 1;
        if rest == 0 {
            return result.unwrap_or(square);
        }
        square = mul(b, square, square);
    }
}
