//! Pure operations: each as lanes and as a scalar, with exactly the results of the IR's definition.
//!
//! Instruction choices are those that Cranelift turns into few instructions: `bitselect` of a "less" comparison is one
//! min or max, a blend on a direct comparison one blend; shifts by lane go through multiplication by a power of two.

use super::{BITS, Emitter, Val};
use crate::program::CompileError;
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{self as cl, InstBuilder, types};
use quadrille_frontend::ir::{Alu, Inst, Kind, QuadOp, Value};

const CANONICAL_NAN: u32 = 0x7fc0_0000;
const SIGN: u32 = 0x8000_0000;
const MIN_NORMAL: u32 = 0x0080_0000;

impl Emitter<'_, '_> {
    pub(super) fn alu(&mut self, alu: Alu, inst: &Inst) -> Result<(), CompileError> {
        if !alu.is_primitive() {
            return self.unsupported(format!("the unexpanded operation {}", alu.name()), inst.span);
        }
        let result = inst.result();
        let val = if self.rates.scalar(result) && inst.args.iter().all(|&a| self.is_scalar(a)) {
            Val::Scalar(self.alu_scalar(alu, &inst.args))
        } else {
            Val::Lane(self.alu_lane(alu, &inst.args))
        };
        self.set(result, val);
        Ok(())
    }

    pub(super) fn bitcast(&mut self, inst: &Inst, kind: Kind) {
        let arg = inst.args[0];
        let result = inst.result();
        match self.scalar(arg) {
            Some(s) if self.rates.scalar(result) => {
                let to = Self::scalar_type(kind);
                let s = if self.b.func.dfg.value_type(s) == to {
                    s
                } else {
                    self.b.ins().bitcast(to, BITS, s)
                };
                self.set(result, Val::Scalar(s));
            }
            _ => {
                let v = self.lane(arg);
                self.set_lane(result, v);
            }
        }
    }

    fn not_nan(&self, value: Value) -> bool {
        self.f.constant(value).is_some_and(|c| !c.as_f32().is_nan())
    }

    fn alu_lane(&mut self, alu: Alu, args: &[Value]) -> cl::Value {
        let kind = self.f.kind(args[0]);
        let arg = |e: &mut Self, n: usize| e.lane(args[n]);
        match alu {
            Alu::FMin | Alu::FMax => return self.min_max(alu == Alu::FMin, args[0], args[1]),
            Alu::Select => return self.select_lane(args),
            Alu::Shl | Alu::ShrU | Alu::ShrS => return self.shift_lane(alu, args[0], args[1]),
            _ => {}
        }
        let x = arg(self, 0);
        let y = if args.len() > 1 { Some(arg(self, 1)) } else { None };
        let two = || y.expect("the signature has two operands");
        match alu {
            Alu::FAdd => self.b.ins().fadd(x, two()),
            Alu::FSub => self.b.ins().fsub(x, two()),
            Alu::FMul => self.b.ins().fmul(x, two()),
            Alu::FDiv => self.b.ins().fdiv(x, two()),
            Alu::FFma => {
                let z = arg(self, 2);
                if self.target.fma {
                    self.b.ins().fma(x, two(), z)
                } else {
                    self.soft_fma(x, two(), z)
                }
            }
            Alu::FSqrt => self.b.ins().sqrt(x),
            Alu::FNeg => self.b.ins().fneg(x),
            Alu::FAbs => self.b.ins().fabs(x),
            Alu::FFloor => self.b.ins().floor(x),
            Alu::FCeil => self.b.ins().ceil(x),
            Alu::FTrunc => self.b.ins().trunc(x),
            Alu::FNearest => self.b.ins().nearest(x),
            Alu::Canon => {
                let nan = self.fcmp(FloatCC::Unordered, x, x);
                let canonical = self.splat_bits(CANONICAL_NAN, true);
                self.blend(nan, canonical, x)
            }
            Alu::Flush => {
                let magnitude = self.b.ins().fabs(x);
                let least = self.splat_bits(MIN_NORMAL, true);
                let tiny = self.fcmp(FloatCC::LessThan, magnitude, least);
                let sign = self.splat_bits(SIGN, false);
                let bits = self.as_i(x);
                let zero = self.b.ins().band(bits, sign);
                let zero = self.as_f(zero);
                self.blend(tiny, zero, x)
            }
            Alu::FEq => self.fcmp(FloatCC::Equal, x, two()),
            Alu::FNe => self.fcmp(FloatCC::NotEqual, x, two()),
            Alu::FLt => self.fcmp(FloatCC::LessThan, x, two()),
            Alu::FLe => self.fcmp(FloatCC::LessThanOrEqual, x, two()),
            Alu::IAdd => self.b.ins().iadd(x, two()),
            Alu::ISub => self.b.ins().isub(x, two()),
            Alu::IMul => self.b.ins().imul(x, two()),
            Alu::UMulHi => self.mul_hi(false, x, two()),
            Alu::SMulHi => self.mul_hi(true, x, two()),
            Alu::INeg => self.b.ins().ineg(x),
            Alu::And => self.b.ins().band(x, two()),
            Alu::Or => self.b.ins().bor(x, two()),
            Alu::Xor => self.b.ins().bxor(x, two()),
            Alu::Not => self.b.ins().bnot(x),
            Alu::IEq => self.icmp(IntCC::Equal, x, two()),
            Alu::INe => self.icmp(IntCC::NotEqual, x, two()),
            Alu::SLt => self.icmp(IntCC::SignedLessThan, x, two()),
            Alu::SLe => self.icmp(IntCC::SignedLessThanOrEqual, x, two()),
            Alu::ULt => self.icmp(IntCC::UnsignedLessThan, x, two()),
            Alu::ULe => self.icmp(IntCC::UnsignedLessThanOrEqual, x, two()),
            Alu::SMin => self.b.ins().smin(x, two()),
            Alu::SMax => self.b.ins().smax(x, two()),
            Alu::UMin => self.b.ins().umin(x, two()),
            Alu::UMax => self.b.ins().umax(x, two()),
            Alu::FToS => self.b.ins().fcvt_to_sint_sat(types::I32X4, x),
            Alu::FToU => self.b.ins().fcvt_to_uint_sat(types::I32X4, x),
            Alu::SToF => self.b.ins().fcvt_from_sint(types::F32X4, x),
            Alu::UToF => self.b.ins().fcvt_from_uint(types::F32X4, x),
            other => unreachable!("{} of {kind} is handled above or isn't primitive", other.name()),
        }
    }

    /// `a < b ? a : b is NaN ? a : b` and its mirror. The bare min instruction gives b unless a < b; where b can't be
    /// NaN that is all.
    fn min_max(&mut self, min: bool, a: Value, b: Value) -> cl::Value {
        // With a constant first operand other than zero the operands may change places: equal ones are then the same
        // bits, and the constant comes out against NaN.
        let nonzero = |v: Value| self.f.constant(v).is_some_and(|c| c.as_f32() != 0.0);
        let swap = self.not_nan(a) && nonzero(a) && !self.not_nan(b);
        let (a, b) = if swap { (b, a) } else { (a, b) };
        let fix = !self.not_nan(b);
        let (x, y) = (self.lane(a), self.lane(b));
        let less = if min {
            self.fcmp(FloatCC::LessThan, x, y)
        } else {
            self.fcmp(FloatCC::LessThan, y, x)
        };
        let mask = self.b.ins().bitcast(types::F32X4, BITS, less);
        let m = self.b.ins().bitselect(mask, x, y);
        if !fix {
            return m;
        }
        let nan = self.fcmp(FloatCC::Unordered, y, y);
        self.blend(nan, x, m)
    }

    fn select_lane(&mut self, args: &[Value]) -> cl::Value {
        let zero = |e: &Self, v: Value| e.f.constant(v).is_some_and(|c| Self::lane_bits(c) == 0);
        let ones = |e: &Self, v: Value| e.f.constant(v).is_some_and(|c| Self::lane_bits(c) == u32::MAX);
        let float = self.f.kind(args[1]) == Kind::F32;
        if let (Some(cond), None) = (self.scalar(args[0]), self.f.constant(args[0])) {
            let (x, y) = (self.lane(args[1]), self.lane(args[2]));
            return self.b.ins().select(cond, x, y);
        }
        let mask = self.lane(args[0]);
        let v = if zero(self, args[2]) {
            let x = self.lane_i(args[1]);
            self.b.ins().band(x, mask)
        } else if zero(self, args[1]) {
            let y = self.lane_i(args[2]);
            self.b.ins().band_not(y, mask)
        } else if ones(self, args[1]) {
            let y = self.lane_i(args[2]);
            self.b.ins().bor(y, mask)
        } else {
            let (x, y) = (self.lane(args[1]), self.lane(args[2]));
            return self.blend(mask, x, y);
        };
        if float { self.as_f(v) } else { v }
    }

    /// High halves of 32-bit products: even and odd lanes multiplied to 64 bits, then the upper words put together.
    fn mul_hi(&mut self, signed: bool, x: cl::Value, y: cl::Value) -> cl::Value {
        // Out of the optimiser's sight: it would pull splats through the widening, away from the one-instruction product.
        let mut hide = |v| {
            let v = self.b.ins().bitcast(types::F32X4, BITS, v);
            self.b.ins().bitcast(types::I32X4, BITS, v)
        };
        let (x, y) = (hide(x), hide(y));
        let mut half = |high: bool| {
            let b = &mut self.b;
            let mut widen = |v| match (signed, high) {
                (false, false) => b.ins().uwiden_low(v),
                (false, true) => b.ins().uwiden_high(v),
                (true, false) => b.ins().swiden_low(v),
                (true, true) => b.ins().swiden_high(v),
            };
            let (x, y) = (widen(x), widen(y));
            let p = self.b.ins().imul(x, y);
            self.b.ins().bitcast(types::I32X4, BITS, p)
        };
        let (low, high) = (half(false), half(true));
        self.shuffle(low, high, [1, 3, 5, 7])
    }

    fn shift_lane(&mut self, alu: Alu, value: Value, count: Value) -> cl::Value {
        let x = self.lane(value);
        if let Some(c) = self.f.constant(count) {
            let bits = c.bits as u32 & 31;
            if bits == 0 {
                return x;
            }
            let n = self.b.ins().iconst(types::I32, i64::from(bits));
            return self.shift_by(alu, x, n);
        }
        if let Some(n) = self.scalar(count) {
            let n = self.b.ins().band_imm_u(n, 31);
            return self.shift_by(alu, x, n);
        }
        let n = self.lane(count);
        let low = self.splat_bits(31, false);
        let n = self.b.ins().band(n, low);
        match alu {
            Alu::Shl => {
                let power = self.power_of_two(n);
                self.b.ins().imul(x, power)
            }
            Alu::ShrU => self.shr_lane(x, n),
            _ => {
                // Shifting the complement of a negative number fills with ones.
                let n31 = self.b.ins().iconst(types::I32, 31);
                let sign = self.b.ins().sshr(x, n31);
                let magnitude = self.b.ins().bxor(x, sign);
                let shifted = self.shr_lane(magnitude, n);
                self.b.ins().bxor(shifted, sign)
            }
        }
    }

    fn shift_by(&mut self, alu: Alu, x: cl::Value, n: cl::Value) -> cl::Value {
        match alu {
            Alu::Shl => self.b.ins().ishl(x, n),
            Alu::ShrU => self.b.ins().ushr(x, n),
            _ => self.b.ins().sshr(x, n),
        }
    }

    /// `x >> n` for n in 0..=31: the high half of x * 2^(32-n); n = 0 apart.
    fn shr_lane(&mut self, x: cl::Value, n: cl::Value) -> cl::Value {
        let width = self.splat_bits(32, false);
        let up = self.b.ins().isub(width, n);
        let power = self.power_of_two(up);
        let shifted = self.mul_hi(false, x, power);
        let zero = self.splat_bits(0, false);
        let none = self.icmp(IntCC::Equal, n, zero);
        self.blend(none, x, shifted)
    }

    /// `2^n` as u32 for n in 0..=31 (anything for 32): the float 2^n, converted.
    fn power_of_two(&mut self, n: cl::Value) -> cl::Value {
        let bias = self.splat_bits(127, false);
        let exponent = self.b.ins().iadd(n, bias);
        let place = self.b.ins().iconst(types::I32, 23);
        let bits = self.b.ins().ishl(exponent, place);
        let float = self.as_f(bits);
        if self.target.x86 {
            // Out of range, so also for 2^31, the instruction gives 0x8000_0000.
            self.b.ins().x86_cvtt2dq(types::I32X4, float)
        } else {
            self.b.ins().fcvt_to_uint_sat(types::I32X4, float)
        }
    }

    /// A saturating conversion of a scalar by the lane form: x86-64's scalar form mixes in legacy SSE instructions.
    fn convert_scalar(&mut self, alu: Alu, x: cl::Value) -> cl::Value {
        let all = self.b.ins().splat(types::F32X4, x);
        let v = if alu == Alu::FToS {
            self.b.ins().fcvt_to_sint_sat(types::I32X4, all)
        } else {
            self.b.ins().fcvt_to_uint_sat(types::I32X4, all)
        };
        self.put_cell(0, v);
        let (base, offset) = self.scratch(0);
        self.b.ins().load(types::I32, super::MEMORY, base, offset)
    }

    fn alu_scalar(&mut self, alu: Alu, args: &[Value]) -> cl::Value {
        let mut operands = [None; 3];
        for (slot, &arg) in operands.iter_mut().zip(args) {
            *slot = self.scalar(arg);
        }
        let at = |n: usize| operands[n].expect("all operands are scalar");
        let x = at(0);
        if self.target.x86 && matches!(alu, Alu::FToS | Alu::FToU) {
            return self.convert_scalar(alu, x);
        }
        let b = &mut self.b;
        match alu {
            Alu::FAdd => b.ins().fadd(x, at(1)),
            Alu::FSub => b.ins().fsub(x, at(1)),
            Alu::FMul => b.ins().fmul(x, at(1)),
            Alu::FDiv => b.ins().fdiv(x, at(1)),
            Alu::FFma if self.target.fma => b.ins().fma(x, at(1), at(2)),
            Alu::FFma => {
                let [x, y, z] = [0, 1, 2].map(|n| self.b.ins().splat(types::F32X4, at(n)));
                self.soft_fma_cell(x, y, z);
                let (base, offset) = self.scratch(crate::abi::RESULT_CELL);
                self.b.ins().load(types::F32, super::MEMORY, base, offset)
            }
            Alu::FSqrt => b.ins().sqrt(x),
            Alu::FNeg => b.ins().fneg(x),
            Alu::FAbs => b.ins().fabs(x),
            Alu::FFloor => b.ins().floor(x),
            Alu::FCeil => b.ins().ceil(x),
            Alu::FTrunc => b.ins().trunc(x),
            Alu::FNearest => b.ins().nearest(x),
            Alu::FMin | Alu::FMax => {
                let y = at(1);
                let less = if alu == Alu::FMin {
                    b.ins().fcmp(FloatCC::LessThan, x, y)
                } else {
                    b.ins().fcmp(FloatCC::LessThan, y, x)
                };
                let m = b.ins().select(less, x, y);
                let nan = b.ins().fcmp(FloatCC::Unordered, y, y);
                b.ins().select(nan, x, m)
            }
            Alu::Canon => {
                let nan = b.ins().fcmp(FloatCC::Unordered, x, x);
                let canonical = b.ins().f32const(f32::from_bits(CANONICAL_NAN));
                b.ins().select(nan, canonical, x)
            }
            Alu::Flush => {
                let magnitude = b.ins().fabs(x);
                let least = b.ins().f32const(f32::from_bits(MIN_NORMAL));
                let tiny = b.ins().fcmp(FloatCC::LessThan, magnitude, least);
                let bits = b.ins().bitcast(types::I32, BITS, x);
                let zero = b.ins().band_imm_u(bits, i64::from(SIGN));
                let bits = b.ins().select(tiny, zero, bits);
                b.ins().bitcast(types::F32, BITS, bits)
            }
            Alu::FEq => b.ins().fcmp(FloatCC::Equal, x, at(1)),
            Alu::FNe => b.ins().fcmp(FloatCC::NotEqual, x, at(1)),
            Alu::FLt => b.ins().fcmp(FloatCC::LessThan, x, at(1)),
            Alu::FLe => b.ins().fcmp(FloatCC::LessThanOrEqual, x, at(1)),
            Alu::IAdd => b.ins().iadd(x, at(1)),
            Alu::ISub => b.ins().isub(x, at(1)),
            Alu::IMul => b.ins().imul(x, at(1)),
            Alu::UMulHi | Alu::SMulHi => {
                let signed = alu == Alu::SMulHi;
                let mut wide = |v| {
                    if signed {
                        b.ins().sextend(types::I64, v)
                    } else {
                        b.ins().uextend(types::I64, v)
                    }
                };
                let (x, y) = (wide(x), wide(at(1)));
                let p = b.ins().imul(x, y);
                let n = b.ins().iconst(types::I32, 32);
                let high = b.ins().ushr(p, n);
                b.ins().ireduce(types::I32, high)
            }
            Alu::INeg => b.ins().ineg(x),
            Alu::And => b.ins().band(x, at(1)),
            Alu::Or => b.ins().bor(x, at(1)),
            Alu::Xor => b.ins().bxor(x, at(1)),
            Alu::Not if self.f.kind(args[0]) == Kind::Bool => b.ins().bxor_imm_u(x, 1),
            Alu::Not => b.ins().bnot(x),
            Alu::Shl | Alu::ShrU | Alu::ShrS => {
                let n = b.ins().band_imm_u(at(1), 31);
                match alu {
                    Alu::Shl => b.ins().ishl(x, n),
                    Alu::ShrU => b.ins().ushr(x, n),
                    _ => b.ins().sshr(x, n),
                }
            }
            Alu::IEq => b.ins().icmp(IntCC::Equal, x, at(1)),
            Alu::INe => b.ins().icmp(IntCC::NotEqual, x, at(1)),
            Alu::SLt => b.ins().icmp(IntCC::SignedLessThan, x, at(1)),
            Alu::SLe => b.ins().icmp(IntCC::SignedLessThanOrEqual, x, at(1)),
            Alu::ULt => b.ins().icmp(IntCC::UnsignedLessThan, x, at(1)),
            Alu::ULe => b.ins().icmp(IntCC::UnsignedLessThanOrEqual, x, at(1)),
            Alu::SMin => b.ins().smin(x, at(1)),
            Alu::SMax => b.ins().smax(x, at(1)),
            Alu::UMin => b.ins().umin(x, at(1)),
            Alu::UMax => b.ins().umax(x, at(1)),
            Alu::Select => b.ins().select(x, at(1), at(2)),
            Alu::FToS => b.ins().fcvt_to_sint_sat(types::I32, x),
            Alu::FToU => b.ins().fcvt_to_uint_sat(types::I32, x),
            Alu::SToF => b.ins().fcvt_from_sint(types::F32, x),
            Alu::UToF => b.ins().fcvt_from_uint(types::F32, x),
            other => unreachable!("{} isn't primitive", other.name()),
        }
    }

    pub(super) fn quad(&mut self, inst: &Inst, op: QuadOp) {
        let arg = inst.args[0];
        let result = inst.result();
        let float = self.f.kind(arg) == Kind::F32;
        let difference = matches!(
            op,
            QuadOp::DdxCoarse | QuadOp::DdxFine | QuadOp::DdyCoarse | QuadOp::DdyFine
        );
        if let (Some(s), true) = (self.scalar(arg), self.rates.scalar(result)) {
            let v = match (difference, float) {
                (true, true) => self.b.ins().fsub(s, s),
                (true, false) => self.b.ins().isub(s, s),
                (false, _) => s,
            };
            self.set(result, Val::Scalar(v));
            return;
        }
        let x = self.lane(arg);
        let mut pick = |lanes: [u8; 4]| self.shuffle(x, x, lanes);
        let v = match op {
            QuadOp::DdxCoarse => (pick([1; 4]), Some(pick([0; 4]))),
            QuadOp::DdxFine => (pick([1, 1, 3, 3]), Some(pick([0, 0, 2, 2]))),
            QuadOp::DdyCoarse => (pick([2; 4]), Some(pick([0; 4]))),
            QuadOp::DdyFine => (pick([2, 3, 2, 3]), Some(pick([0, 1, 0, 1]))),
            QuadOp::SwapX => (pick([1, 0, 3, 2]), None),
            QuadOp::SwapY => (pick([2, 3, 0, 1]), None),
            QuadOp::SwapDiagonal => (pick([3, 2, 1, 0]), None),
            QuadOp::Broadcast(lane) => (pick([lane & 3; 4]), None),
        };
        let v = match v {
            (far, Some(near)) if float => self.b.ins().fsub(far, near),
            (far, Some(near)) => self.b.ins().isub(far, near),
            (v, None) => v,
        };
        self.set(result, Val::Lane(v));
    }
}
