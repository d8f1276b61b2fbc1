//! The reference level: arrays and loops. What these methods say is what the other levels must do.
//!
//! Nothing is inlined: eight unrolled lanes an operation would make kernels so large that compiling them takes minutes.
//! This level is for tests and for machines without a faster one.

use super::{Floats, Ints, Simd, Words};
use crate::format::scalar::f16_to_f32;
use std::array::from_fn;
use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Not, Sub};

/// Works everywhere.
#[derive(Clone, Copy, Debug)]
pub struct Portable;

/// 8 f32.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
pub struct F32x8([f32; 8]);

/// 8 i32.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
pub struct I32x8([i32; 8]);

fn mask(f: impl Fn(usize) -> bool) -> I32x8 {
    I32x8(from_fn(|i| -i32::from(f(i))))
}

impl Simd for Portable {
    const FAST: bool = false;
    type F = F32x8;
    type I = I32x8;

    #[inline(always)]
    fn call<R>(self, f: impl FnOnce(Self) -> R) -> R {
        f(self)
    }
    #[inline(never)]
    fn transpose(self, rows: [F32x8; 4]) -> [F32x8; 4] {
        from_fn(|c| F32x8(from_fn(|lane| rows[lane % 4].0[lane / 4 * 4 + c])))
    }
    #[inline(never)]
    fn f32(self, v: f32) -> F32x8 {
        F32x8([v; 8])
    }
    #[inline(never)]
    fn i32(self, v: i32) -> I32x8 {
        I32x8([v; 8])
    }
    #[inline(never)]
    fn load_f32(self, v: &[f32; 8]) -> F32x8 {
        F32x8(*v)
    }
    #[inline(never)]
    fn load_i32(self, v: &[i32; 8]) -> I32x8 {
        I32x8(*v)
    }
    #[inline(never)]
    fn load_u32(self, v: &[u32; 8]) -> I32x8 {
        I32x8(v.map(|v| v as i32))
    }
    #[inline(never)]
    fn pick16(self, table: &[i32; 16], index: I32x8) -> I32x8 {
        I32x8(index.0.map(|i| table[(i & 15) as usize]))
    }
    #[inline(never)]
    fn gather8(self, words: Words<'_, 1>, index: I32x8) -> I32x8 {
        I32x8(index.0.map(|i| words.read(i)[0].into()))
    }
    #[inline(never)]
    fn gather16(self, words: Words<'_, 2>, index: I32x8) -> I32x8 {
        I32x8(index.0.map(|i| u16::from_le_bytes(words.read(i)).into()))
    }
    #[inline(never)]
    fn gather32(self, words: Words<'_, 4>, index: I32x8) -> I32x8 {
        I32x8(index.0.map(|i| i32::from_le_bytes(words.read(i))))
    }
    #[inline(never)]
    fn gather64(self, words: Words<'_, 8>, index: I32x8) -> [I32x8; 2] {
        let t = index.0.map(|i| u64::from_le_bytes(words.read(i)));
        [I32x8(t.map(|t| t as i32)), I32x8(t.map(|t| (t >> 32) as i32))]
    }
    #[inline(never)]
    fn gather128(self, words: Words<'_, 16>, index: I32x8) -> [I32x8; 4] {
        let t = index.0.map(|i| u128::from_le_bytes(words.read(i)));
        from_fn(|c| I32x8(t.map(|t| (t >> (32 * c)) as i32)))
    }
}

macro_rules! operators {
    ($type:ident: $($trait:ident $method:ident $f:expr),*) => {$(
        impl $trait for $type {
            type Output = $type;
            #[inline(never)]
            fn $method(self, b: $type) -> $type {
                $type(from_fn(|i| $f(self.0[i], b.0[i])))
            }
        }
    )*};
}
operators!(F32x8: Add add |a: f32, b| a + b, Sub sub |a: f32, b| a - b, Mul mul |a: f32, b| a * b, Div div |a: f32, b| a / b);
operators!(I32x8: Add add i32::wrapping_add, Sub sub i32::wrapping_sub, Mul mul i32::wrapping_mul,
    BitAnd bitand |a: i32, b| a & b, BitOr bitor |a: i32, b| a | b, BitXor bitxor |a: i32, b| a ^ b);

impl Not for I32x8 {
    type Output = I32x8;
    #[inline(never)]
    fn not(self) -> I32x8 {
        I32x8(self.0.map(|a| !a))
    }
}

impl Floats for F32x8 {
    type I = I32x8;

    #[inline(never)]
    fn min(self, b: Self) -> Self {
        F32x8(from_fn(|i| if self.0[i] < b.0[i] { self.0[i] } else { b.0[i] }))
    }
    #[inline(never)]
    fn max(self, b: Self) -> Self {
        F32x8(from_fn(|i| if self.0[i] > b.0[i] { self.0[i] } else { b.0[i] }))
    }
    #[inline(never)]
    fn lt(self, b: Self) -> I32x8 {
        mask(|i| self.0[i] < b.0[i])
    }
    #[inline(never)]
    fn le(self, b: Self) -> I32x8 {
        mask(|i| self.0[i] <= b.0[i])
    }
    #[inline(never)]
    fn eq(self, b: Self) -> I32x8 {
        mask(|i| self.0[i] == b.0[i])
    }
    #[inline(never)]
    fn ordered(self) -> I32x8 {
        mask(|i| !self.0[i].is_nan())
    }
    #[inline(never)]
    fn abs(self) -> Self {
        F32x8(self.0.map(f32::abs))
    }
    #[inline(never)]
    fn floor(self) -> Self {
        F32x8(self.0.map(f32::floor))
    }
    #[inline(never)]
    fn trunc(self) -> Self {
        F32x8(self.0.map(f32::trunc))
    }
    #[inline(never)]
    fn sqrt(self) -> Self {
        F32x8(self.0.map(f32::sqrt))
    }
    #[inline(never)]
    fn round_i32(self) -> I32x8 {
        I32x8(self.0.map(|a| a.round_ties_even() as i32))
    }
    #[inline(never)]
    fn bits(self) -> I32x8 {
        I32x8(self.0.map(|a| a.to_bits() as i32))
    }
    #[inline(never)]
    fn quad<const LANE: usize>(self) -> Self {
        F32x8(from_fn(|i| self.0[(i & 4) | LANE]))
    }
    #[inline(never)]
    fn to_array(self) -> [f32; 8] {
        self.0
    }
}

fn halves(a: i32) -> (i32, i32) {
    (i32::from(a as i16), a >> 16)
}

fn join(lo: i32, hi: i32) -> i32 {
    (lo & 0xffff) | hi << 16
}

impl Ints for I32x8 {
    type F = F32x8;

    #[inline(never)]
    fn shl<const N: i32>(self) -> Self {
        I32x8(self.0.map(|a| a << N))
    }
    #[inline(never)]
    fn shr<const N: i32>(self) -> Self {
        I32x8(self.0.map(|a| (a as u32 >> N) as i32))
    }
    #[inline(never)]
    fn sar<const N: i32>(self) -> Self {
        I32x8(self.0.map(|a| a >> N))
    }
    #[inline(never)]
    fn min(self, b: Self) -> Self {
        I32x8(from_fn(|i| self.0[i].min(b.0[i])))
    }
    #[inline(never)]
    fn max(self, b: Self) -> Self {
        I32x8(from_fn(|i| self.0[i].max(b.0[i])))
    }
    #[inline(never)]
    fn eq(self, b: Self) -> Self {
        mask(|i| self.0[i] == b.0[i])
    }
    #[inline(never)]
    fn gt(self, b: Self) -> Self {
        mask(|i| self.0[i] > b.0[i])
    }
    #[inline(never)]
    fn to_f32(self) -> F32x8 {
        F32x8(self.0.map(|a| a as f32))
    }
    #[inline(never)]
    fn half_to_f32(self) -> F32x8 {
        F32x8(self.0.map(|a| f16_to_f32(a as u16)))
    }
    #[inline(never)]
    fn as_f32(self) -> F32x8 {
        F32x8(self.0.map(|a| f32::from_bits(a as u32)))
    }
    #[inline(never)]
    fn madd16(self, b: Self) -> Self {
        I32x8(from_fn(|i| {
            let ((a0, a1), (b0, b1)) = (halves(self.0[i]), halves(b.0[i]));
            (a0 * b0).wrapping_add(a1 * b1)
        }))
    }
    #[inline(never)]
    fn mul_lo16(self, b: Self) -> Self {
        I32x8(from_fn(|i| {
            let ((a0, a1), (b0, b1)) = (halves(self.0[i]), halves(b.0[i]));
            join(a0 * b0, a1 * b1)
        }))
    }
    #[inline(never)]
    fn add16(self, b: Self) -> Self {
        I32x8(from_fn(|i| {
            let ((a0, a1), (b0, b1)) = (halves(self.0[i]), halves(b.0[i]));
            join(a0 + b0, a1 + b1)
        }))
    }
    #[inline(never)]
    fn halves(self, b: Self) -> Self {
        I32x8(from_fn(|i| (self.0[i] & 0xffff) | (b.0[i] & !0xffff)))
    }
    #[inline(never)]
    fn select(self, a: Self, b: Self) -> Self {
        I32x8(from_fn(|i| if self.0[i] < 0 { a.0[i] } else { b.0[i] }))
    }
    #[inline(never)]
    fn select_f(self, a: F32x8, b: F32x8) -> F32x8 {
        F32x8(from_fn(|i| if self.0[i] < 0 { a.0[i] } else { b.0[i] }))
    }
    #[inline(never)]
    fn sign_bits(self) -> u32 {
        self.0.iter().enumerate().map(|(i, &a)| ((a as u32) >> 31) << i).sum()
    }
    #[inline(never)]
    fn to_u32(self) -> [u32; 8] {
        self.0.map(|v| v as u32)
    }
    #[inline(never)]
    fn to_array(self) -> [i32; 8] {
        self.0
    }
}
