//! Short forms for the IR that the assembler writes.

use quadrille_frontend::ir::{Alu, FunctionBuilder, Kind, Op, Value};

/// A function under construction, with the handful of operations that fixed function needs.
pub(super) struct Emit {
    pub b: FunctionBuilder,
}

impl Emit {
    pub fn new(name: &str) -> Emit {
        Emit {
            b: FunctionBuilder::new(name),
        }
    }

    pub fn alu(&mut self, op: Alu, args: &[Value]) -> Value {
        self.b.alu(op, args)
    }
    pub fn f32(&mut self, v: f32) -> Value {
        self.b.f32(v)
    }
    pub fn u32(&mut self, v: u32) -> Value {
        self.b.u32(v)
    }
    pub fn fadd(&mut self, a: Value, b: Value) -> Value {
        self.alu(Alu::FAdd, &[a, b])
    }
    pub fn fsub(&mut self, a: Value, b: Value) -> Value {
        self.alu(Alu::FSub, &[a, b])
    }
    pub fn fmul(&mut self, a: Value, b: Value) -> Value {
        self.alu(Alu::FMul, &[a, b])
    }
    /// a*b + c, fused: the assembler's own interpolation arithmetic is defined that way.
    pub fn fma(&mut self, a: Value, b: Value, c: Value) -> Value {
        self.alu(Alu::FFma, &[a, b, c])
    }
    pub fn and(&mut self, a: Value, b: Value) -> Value {
        self.alu(Alu::And, &[a, b])
    }
    pub fn or(&mut self, a: Value, b: Value) -> Value {
        self.alu(Alu::Or, &[a, b])
    }
    pub fn not(&mut self, a: Value) -> Value {
        self.alu(Alu::Not, &[a])
    }
    pub fn select(&mut self, c: Value, a: Value, b: Value) -> Value {
        self.b.select(c, a, b)
    }
    pub fn shl(&mut self, a: Value, bits: u32) -> Value {
        if bits == 0 {
            return a;
        }
        let bits = self.u32(bits);
        self.alu(Alu::Shl, &[a, bits])
    }
    pub fn shr(&mut self, a: Value, bits: u32) -> Value {
        if bits == 0 {
            return a;
        }
        let bits = self.u32(bits);
        self.alu(Alu::ShrU, &[a, bits])
    }
    pub fn and_const(&mut self, a: Value, mask: u32) -> Value {
        if mask == u32::MAX {
            return a;
        }
        let mask = self.u32(mask);
        self.and(a, mask)
    }
    pub fn prim_f32(&mut self, offset: u32) -> Value {
        self.b.inst1(
            Op::PrimLoad {
                offset,
                kind: Kind::F32,
            },
            &[],
            Kind::F32,
        )
    }
    pub fn prim_u32(&mut self, offset: u32) -> Value {
        self.b.inst1(
            Op::PrimLoad {
                offset,
                kind: Kind::U32,
            },
            &[],
            Kind::U32,
        )
    }
    pub fn draw(&mut self, word: u32, kind: Kind) -> Value {
        self.b.inst1(Op::DrawLoad { word, kind }, &[], kind)
    }
    pub fn tile_load(&mut self, plane: u32, kind: Kind) -> Value {
        self.b.inst1(Op::TileLoad { plane, kind }, &[], kind)
    }
    pub fn tile_store(&mut self, plane: u32, value: Value, mask: Value) {
        self.b.inst(Op::TileStore { plane }, &[value, mask], &[]);
    }
    /// Nearest integer code of x in 0..=1 over `max` = 2^n - 1, n <= 24, ties up: exact (R-SAMP-102, R-OM-4), since
    /// the product's rounding error enters the comparison. x must be clamped and no NaN.
    pub fn unorm_code(&mut self, x: Value, max: f32) -> Value {
        let max = self.f32(max);
        let p = self.fmul(x, max);
        let neg = self.alu(Alu::FNeg, &[p]);
        let err = self.fma(x, max, neg);
        let t = self.alu(Alu::FTrunc, &[p]);
        let frac = self.fsub(p, t);
        let half = self.f32(0.5);
        let above = self.fsub(frac, half);
        let above = self.fadd(above, err);
        let zero = self.f32(0.0);
        let up = self.alu(Alu::FLe, &[zero, above]);
        let one = self.u32(1);
        let zero = self.u32(0);
        let carry = self.select(up, one, zero);
        let code = self.alu(Alu::FToU, &[t]);
        self.alu(Alu::IAdd, &[code, carry])
    }
}
