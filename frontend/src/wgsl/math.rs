//! Numeric builtins: componentwise operations here, composite ones from [`crate::compose`].

use super::body::Body;
use super::expr::broadcast;
use super::place::Flat;
use super::report::Result;
use super::types::{Form, Shape};
use crate::compose::{blend, geometry, matrix, pack, power};
use crate::ir::{Alu, Kind, Value};
use naga::MathFunction as Mf;
use std::rc::Rc;

/// An argument: its shape and leaves.
pub(super) type Arg = (Rc<Shape>, Flat);

/// Whether results of f16 operands are f16 without rounding.
pub(super) fn is_exact(fun: Mf) -> bool {
    matches!(
        fun,
        Mf::Abs
            | Mf::Min
            | Mf::Max
            | Mf::Clamp
            | Mf::Saturate
            | Mf::Ceil
            | Mf::Floor
            | Mf::Round
            | Mf::Trunc
            | Mf::Sign
            | Mf::Step
            | Mf::FaceForward
            | Mf::Transpose
            | Mf::Modf
            | Mf::Frexp
    )
}

/// Builtins that are one operation per component, all operands of one kind.
fn componentwise(fun: Mf, kind: Kind) -> Option<Alu> {
    let pick = |float, signed, unsigned| blend::by_kind(kind, float, signed, unsigned);
    Some(match fun {
        Mf::Min => pick(Alu::FMin, Alu::SMin, Alu::UMin),
        Mf::Max => pick(Alu::FMax, Alu::SMax, Alu::UMax),
        Mf::Saturate => Alu::FSaturate,
        Mf::Sign => pick(Alu::FSign, Alu::SSign, Alu::SSign),
        Mf::Cos => Alu::FCos,
        Mf::Cosh => Alu::FCosh,
        Mf::Sin => Alu::FSin,
        Mf::Sinh => Alu::FSinh,
        Mf::Tan => Alu::FTan,
        Mf::Tanh => Alu::FTanh,
        Mf::Acos => Alu::FAcos,
        Mf::Asin => Alu::FAsin,
        Mf::Atan => Alu::FAtan,
        Mf::Atan2 => Alu::FAtan2,
        Mf::Asinh => Alu::FAsinh,
        Mf::Acosh => Alu::FAcosh,
        Mf::Atanh => Alu::FAtanh,
        Mf::Ceil => Alu::FCeil,
        Mf::Floor => Alu::FFloor,
        Mf::Round => Alu::FNearest,
        Mf::Fract => Alu::FFract,
        Mf::Trunc => Alu::FTrunc,
        Mf::Ldexp => Alu::FLdexp,
        Mf::Exp => Alu::FExp,
        Mf::Exp2 => Alu::FExp2,
        Mf::Log => Alu::FLog,
        Mf::Log2 => Alu::FLog2,
        Mf::Fma => Alu::FFma,
        Mf::Sqrt => Alu::FSqrt,
        Mf::InverseSqrt => Alu::FRsqrt,
        Mf::QuantizeToF16 => Alu::QuantizeF16,
        Mf::CountTrailingZeros => Alu::TrailingZeros,
        Mf::CountLeadingZeros => Alu::LeadingZeros,
        Mf::CountOneBits => Alu::PopCount,
        Mf::ReverseBits => Alu::ReverseBits,
        Mf::ExtractBits if kind.is_signed() => Alu::ExtractS,
        Mf::ExtractBits => Alu::ExtractU,
        Mf::InsertBits => Alu::InsertBits,
        Mf::FirstTrailingBit => Alu::FirstTrailing,
        Mf::FirstLeadingBit if kind.is_signed() => Alu::FirstLeadingS,
        Mf::FirstLeadingBit => Alu::FirstLeadingU,
        _ => return None,
    })
}

impl Body<'_, '_> {
    /// A builtin's result.
    pub fn math(&mut self, fun: Mf, args: &[Arg]) -> Result<Flat> {
        let Some((shape, first)) = args.first() else {
            return self.internal("a builtin without arguments");
        };
        let Some(&x) = first.first() else {
            return self.internal("a builtin of nothing");
        };
        let kind = self.b.kind(x);
        if let Some(alu) = componentwise(fun, kind) {
            return Ok(self.each(args, |body, operands| body.b.alu(alu, operands)));
        }
        let arg = |i: usize| args.get(i).map_or(&[][..], |(_, values)| values.as_slice());
        let (second, third) = (arg(1), arg(2));
        let b = &mut self.b;
        let one = |value: Value| Flat::from_slice(&[value]);
        Ok(match fun {
            Mf::Abs if kind.is_float() => self.each(args, |body, v| body.b.alu(Alu::FAbs, v)),
            Mf::Abs if kind.is_signed() => self.each(args, |body, v| body.b.alu(Alu::SAbs, v)),
            Mf::Abs => first.clone(),
            Mf::Clamp => self.each(args, |body, v| blend::clamp(&mut body.b, v[0], v[1], v[2])),
            Mf::Radians => self.each(args, |body, v| blend::radians(&mut body.b, v[0])),
            Mf::Degrees => self.each(args, |body, v| blend::degrees(&mut body.b, v[0])),
            Mf::Mix => self.each(args, |body, v| blend::mix(&mut body.b, v[0], v[1], v[2])),
            Mf::Step => self.each(args, |body, v| blend::step(&mut body.b, v[0], v[1])),
            Mf::SmoothStep => self.each(args, |body, v| blend::smoothstep(&mut body.b, v[0], v[1], v[2])),
            Mf::Pow => self.each(args, |body, v| power::pow(&mut body.b, v[0], v[1])),
            Mf::Modf => self.pairs(first, Alu::FModf),
            Mf::Frexp => self.pairs(first, Alu::FFrexp),
            Mf::Dot => one(geometry::dot(b, first, second)),
            Mf::Dot4I8Packed => one(pack::dot4(b, x, second[0], true)),
            Mf::Dot4U8Packed => one(pack::dot4(b, x, second[0], false)),
            Mf::Outer => matrix::outer(b, first, second).into(),
            Mf::Cross => geometry::cross(b, first, second).into(),
            Mf::Distance => one(geometry::distance(b, first, second)),
            Mf::Length => one(geometry::length(b, first)),
            Mf::Normalize => geometry::normalize(b, first).into(),
            Mf::FaceForward => geometry::face_forward(b, first, second, third).into(),
            Mf::Reflect => geometry::reflect(b, first, second).into(),
            Mf::Refract => geometry::refract(b, first, second, third[0]).into(),
            Mf::Inverse => matrix::inverse(b, first).into(),
            Mf::Determinant => one(matrix::determinant(b, first)),
            Mf::Transpose => match &shape.form {
                Form::Matrix(_, column, _) => matrix::transpose(first, column.leaves as usize).into(),
                _ => return self.internal("the transpose of no matrix"),
            },
            Mf::Pack4x8snorm | Mf::Pack2x16snorm => one(pack::pack_norm(b, first, pack::Norm::Snorm)),
            Mf::Pack4x8unorm | Mf::Pack2x16unorm => one(pack::pack_norm(b, first, pack::Norm::Unorm)),
            Mf::Pack2x16float => one(pack::pack_half(b, first)),
            Mf::Pack4xI8 | Mf::Pack4xU8 => one(pack::pack_bytes(b, first, false)),
            Mf::Pack4xI8Clamp | Mf::Pack4xU8Clamp => one(pack::pack_bytes(b, first, true)),
            Mf::Unpack4x8snorm => pack::unpack_norm(b, x, 4, pack::Norm::Snorm).into(),
            Mf::Unpack4x8unorm => pack::unpack_norm(b, x, 4, pack::Norm::Unorm).into(),
            Mf::Unpack2x16snorm => pack::unpack_norm(b, x, 2, pack::Norm::Snorm).into(),
            Mf::Unpack2x16unorm => pack::unpack_norm(b, x, 2, pack::Norm::Unorm).into(),
            Mf::Unpack2x16float => pack::unpack_half(b, x).into(),
            Mf::Unpack4xI8 => pack::split(b, x, 4, true).into(),
            Mf::Unpack4xU8 => pack::split(b, x, 4, false).into(),
            _ => return self.unsupported(format!("the builtin {fun:?}")),
        })
    }

    /// Applies `op` to each component; scalars go with every component.
    fn each(&mut self, args: &[Arg], mut op: impl FnMut(&mut Self, &[Value]) -> Value) -> Flat {
        let count = args.iter().map(|(_, values)| values.len()).max().unwrap_or(0);
        (0..count)
            .map(|i| {
                let operands: Flat = args.iter().map(|(_, values)| broadcast(values, i)).collect();
                op(self, &operands)
            })
            .collect()
    }

    /// All first results, then all second ones: the members of the struct that `modf` and `frexp` give.
    fn pairs(&mut self, values: &[Value], alu: Alu) -> Flat {
        let (mut firsts, mut seconds) = (Flat::new(), Flat::new());
        for &value in values {
            let inst = self.b.alu_multi(alu, &[value]);
            if let [first, second] = self.b.results(inst)[..] {
                firsts.push(first);
                seconds.push(second);
            }
        }
        firsts.extend(seconds);
        firsts
    }
}
