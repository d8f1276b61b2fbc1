//! Accuracy, special values and exhaustive checks of the expansions.

mod accuracy;
mod exact;
mod pass;

use super::eval;
use crate::ir::{Alu, Kind};

/// One-result f32 function.
fn call(op: Alu, args: &[f32]) -> f32 {
    let bits: Vec<u32> = args.iter().map(|a| a.to_bits()).collect();
    f32::from_bits(eval(op, Kind::F32, &bits)[0])
}

/// Integer function.
fn int(op: Alu, kind: Kind, args: &[u32]) -> u32 {
    eval(op, kind, args)[0]
}

/// A small generator of bits (xorshift), so that tests are the same every time.
struct Bits(u64);

impl Bits {
    fn next(&mut self) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 32) as u32
    }
}
