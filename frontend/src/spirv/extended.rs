//! The instructions of GLSL.std.450, by the expansions that all front ends share (law N7).

use super::arithmetic::{extreme, with_sign};
use super::lower::{Lower, Lowered};
use super::report::Result;
use super::types::Ty;
use crate::compose::{blend, geometry, matrix, pack, power};
use crate::ir::{Alu, InputPoint, Kind, Op, Value};
use crate::memory::place::Flat;
use rspirv::spirv::GlslStd450Op as G;

/// Instructions that are one operation per component.
fn plain(op: G) -> Option<Alu> {
    Some(match op {
        G::Round | G::RoundEven => Alu::FNearest,
        G::Trunc => Alu::FTrunc,
        G::FAbs => Alu::FAbs,
        G::SAbs => Alu::SAbs,
        G::FSign => Alu::FSign,
        G::SSign => Alu::SSign,
        G::Floor => Alu::FFloor,
        G::Ceil => Alu::FCeil,
        G::Fract => Alu::FFract,
        G::Sin => Alu::FSin,
        G::Cos => Alu::FCos,
        G::Tan => Alu::FTan,
        G::Asin => Alu::FAsin,
        G::Acos => Alu::FAcos,
        G::Atan => Alu::FAtan,
        G::Sinh => Alu::FSinh,
        G::Cosh => Alu::FCosh,
        G::Tanh => Alu::FTanh,
        G::Asinh => Alu::FAsinh,
        G::Acosh => Alu::FAcosh,
        G::Atanh => Alu::FAtanh,
        G::Atan2 => Alu::FAtan2,
        G::Exp => Alu::FExp,
        G::Log => Alu::FLog,
        G::Exp2 => Alu::FExp2,
        G::Log2 => Alu::FLog2,
        G::Sqrt => Alu::FSqrt,
        G::InverseSqrt => Alu::FRsqrt,
        G::Fma => Alu::FFma,
        G::FindILsb => Alu::FirstTrailing,
        G::FindSMsb => Alu::FirstLeadingS,
        G::FindUMsb => Alu::FirstLeadingU,
        _ => return None,
    })
}

/// Whether results of f16 operands are f16 without rounding.
fn is_exact(op: G) -> bool {
    matches!(
        op,
        G::Round
            | G::RoundEven
            | G::Trunc
            | G::FAbs
            | G::FSign
            | G::Floor
            | G::Ceil
            | G::FMin
            | G::FMax
            | G::FClamp
            | G::NMin
            | G::NMax
            | G::NClamp
            | G::Step
            | G::FaceForward
    )
}

impl Lower<'_> {
    /// An extended instruction.
    pub fn extended(&mut self, ty: u32, set: u32, number: u32, words: &[u32]) -> Result<Lowered> {
        let Some(op) = G::from_u32(number).filter(|_| self.m.glsl.contains(&set)) else {
            return self.unsupported(format!("extended instruction {number}"));
        };
        let values = self.glsl(op, ty, words)?;
        let numbers = matches!(self.ty(ty)?, Ty::Scalar(_) | Ty::Vector(..) | Ty::Matrix(..));
        if numbers && !is_exact(op) && self.scalar_type(ty)?.kind.is_float() {
            let scalar = self.scalar_type(ty)?;
            return Ok(Lowered::Value(
                values.into_iter().map(|v| self.round(v, scalar)).collect(),
            ));
        }
        // Integers may be declared with another sign than the operands': findMSB of unsigned ones gives signed ones.
        let scalars = self.scalars(ty)?;
        let mut results = Flat::new();
        for (i, value) in values.into_iter().enumerate() {
            results.push(match scalars.get(i) {
                Some(s) if s.kind.is_int() && self.b.kind(value).is_int() => self.as_kind(value, s.kind)?,
                _ => value,
            });
        }
        Ok(Lowered::Value(results))
    }

    fn glsl(&mut self, op: G, ty: u32, words: &[u32]) -> Result<Flat> {
        let word = |i: usize| words.get(i).copied().unwrap_or(0);
        if let Some(alu) = plain(op) {
            let count = alu.signature().0.len();
            return self.each(words, count, |s, v| s.alu(alu, v));
        }
        let one = |value: Value| Flat::from_slice(&[value]);
        Ok(match op {
            G::Radians => self.each_float(words, 1, |s, v| blend::radians(&mut s.b, v[0]))?,
            G::Degrees => self.each_float(words, 1, |s, v| blend::degrees(&mut s.b, v[0]))?,
            G::Pow => self.each_float(words, 2, |s, v| power::pow(&mut s.b, v[0], v[1]))?,
            G::FMix => self.each_float(words, 3, |s, v| blend::mix(&mut s.b, v[0], v[1], v[2]))?,
            G::Step => self.each_float(words, 2, |s, v| blend::step(&mut s.b, v[0], v[1]))?,
            G::SmoothStep => self.each_float(words, 3, |s, v| blend::smoothstep(&mut s.b, v[0], v[1], v[2]))?,
            G::FMin | G::NMin | G::UMin | G::SMin => self.bound(op == G::SMin, words, &[false])?,
            G::FMax | G::NMax | G::UMax | G::SMax => self.bound(op == G::SMax, words, &[true])?,
            G::FClamp | G::NClamp | G::UClamp | G::SClamp => self.bound(op == G::SClamp, words, &[true, false])?,
            G::Ldexp => self.each(words, 2, |s, v| {
                let exponent = s.as_u32(v[1])?;
                let exponent = s.as_kind(exponent, Kind::I32)?;
                s.alu(Alu::FLdexp, &[v[0], exponent])
            })?,
            G::ModfStruct => self.two(word(0), Alu::FModf, ty)?,
            G::FrexpStruct => self.two(word(0), Alu::FFrexp, ty)?,
            G::Modf | G::Frexp => {
                let alu = if op == G::Modf { Alu::FModf } else { Alu::FFrexp };
                let place = self.place(word(1))?;
                let both = self.split(word(0), alu)?;
                let (first, second) = both.split_at(both.len() / 2);
                self.store_place(&place, second)?;
                first.into()
            }
            G::Determinant => {
                let m = self.square(word(0))?;
                one(matrix::determinant(&mut self.b, &m))
            }
            G::MatrixInverse => {
                let m = self.square(word(0))?;
                matrix::inverse(&mut self.b, &m).into()
            }
            G::PackSnorm4x8 | G::PackSnorm2x16 | G::PackUnorm4x8 | G::PackUnorm2x16 | G::PackHalf2x16 => {
                let v = self.floats(word(0))?;
                let count = if matches!(op, G::PackSnorm4x8 | G::PackUnorm4x8) {
                    4
                } else {
                    2
                };
                if v.len() != count {
                    return self.invalid(format!("{op:?} of a vector of another size"));
                }
                let word = match op {
                    G::PackHalf2x16 => pack::pack_half(&mut self.b, &v),
                    G::PackSnorm4x8 | G::PackSnorm2x16 => pack::pack_norm(&mut self.b, &v, pack::Norm::Snorm),
                    _ => pack::pack_norm(&mut self.b, &v, pack::Norm::Unorm),
                };
                let kind = self.scalar_type(ty)?.kind;
                one(self.as_kind(word, kind)?)
            }
            G::UnpackSnorm2x16 | G::UnpackUnorm2x16 | G::UnpackHalf2x16 | G::UnpackSnorm4x8 | G::UnpackUnorm4x8 => {
                let word = self.index(word(0))?;
                match op {
                    G::UnpackHalf2x16 => pack::unpack_half(&mut self.b, word).into(),
                    G::UnpackSnorm2x16 => pack::unpack_norm(&mut self.b, word, 2, pack::Norm::Snorm).into(),
                    G::UnpackUnorm2x16 => pack::unpack_norm(&mut self.b, word, 2, pack::Norm::Unorm).into(),
                    G::UnpackSnorm4x8 => pack::unpack_norm(&mut self.b, word, 4, pack::Norm::Snorm).into(),
                    _ => pack::unpack_norm(&mut self.b, word, 4, pack::Norm::Unorm).into(),
                }
            }
            G::PackDouble2x32 | G::UnpackDouble2x32 => {
                let values = self.value(word(0))?;
                let from = self.scalar_type(self.m.type_of(word(0)))?;
                let to = self.scalar_type(ty)?;
                self.bitcast(&values, from, to)?
            }
            G::Length => {
                let v = self.floats(word(0))?;
                one(geometry::length(&mut self.b, &v))
            }
            G::Normalize => {
                let v = self.floats(word(0))?;
                geometry::normalize(&mut self.b, &v).into()
            }
            G::Distance | G::Cross | G::Reflect => {
                let (x, y) = self.vectors(word(0), word(1))?;
                match op {
                    G::Distance => one(geometry::distance(&mut self.b, &x, &y)),
                    G::Reflect => geometry::reflect(&mut self.b, &x, &y).into(),
                    _ if x.len() == 3 => geometry::cross(&mut self.b, &x, &y).into(),
                    _ => return self.invalid("the cross product of vectors that don't have 3 components"),
                }
            }
            G::Refract => {
                let (i, n) = self.vectors(word(0), word(1))?;
                let eta = self.one(word(2))?;
                if self.b.kind(eta) != self.b.kind(i[0]) {
                    return self.unsupported("Refract with a ratio of another type than the vectors");
                }
                geometry::refract(&mut self.b, &i, &n, eta).into()
            }
            G::FaceForward => {
                let (n, i) = self.vectors(word(0), word(1))?;
                let (_, reference) = self.vectors(word(0), word(2))?;
                geometry::face_forward(&mut self.b, &n, &i, &reference).into()
            }
            G::InterpolateAtCentroid | G::InterpolateAtSample | G::InterpolateAtOffset => {
                self.interpolate_at(op, ty, words)?
            }
            op => return self.unsupported(format!("GLSL.std.450 {op:?}")),
        })
    }

    /// An input evaluated elsewhere (R-RAST-147).
    fn interpolate_at(&mut self, op: G, ty: u32, words: &[u32]) -> Result<Flat> {
        let &[pointer, ref rest @ ..] = words else {
            return self.invalid("too few operands");
        };
        let mut operands = Flat::new();
        let at = match (op, rest) {
            (G::InterpolateAtSample, &[sample, ..]) => {
                operands.push(self.index(sample)?);
                InputPoint::Sample
            }
            (G::InterpolateAtOffset, &[offset, ..]) => {
                operands = self.floats(offset)?;
                if operands.len() != 2 || self.b.kind(operands[0]) != Kind::F32 {
                    return self.invalid("an offset of two f32 was expected");
                }
                InputPoint::Offset
            }
            (G::InterpolateAtCentroid, _) => InputPoint::Centroid,
            _ => return self.invalid("too few operands"),
        };
        let place = self.place(pointer)?;
        let shape = place.shape().clone();
        self.check_leaves(&shape)?;
        let scalar = self.scalar_type(ty)?;
        let mut values = Flat::new();
        for value in place.load(&mut self.b) {
            let read = self.b.func.def_inst(value).map(|i| i.op);
            let input = match read {
                Some(Op::LocalGet(local)) => self.pulled.get(&local).copied(),
                _ => None,
            };
            let Some(input) = input else {
                return self.unsupported(format!(
                    "{op:?} of what is no input, or of one that is indexed dynamically"
                ));
            };
            let kind = self.shader.inputs[input].kind;
            let value = self.b.inst1(Op::InputAt { input, at }, &operands, kind);
            values.push(self.round(value, scalar));
        }
        Ok(values)
    }

    fn each(
        &mut self,
        words: &[u32],
        count: usize,
        f: impl FnMut(&mut Self, &[Value]) -> Result<Value>,
    ) -> Result<Flat> {
        if words.len() != count {
            return self.invalid(format!("{count} operands were expected"));
        }
        let operands: Vec<Flat> = words.iter().map(|&w| self.value(w)).collect::<Result<_>>()?;
        self.components(&operands, f)
    }

    /// As `each`, for expansions that want floats of one kind.
    fn each_float(
        &mut self,
        words: &[u32],
        count: usize,
        mut f: impl FnMut(&mut Self, &[Value]) -> Value,
    ) -> Result<Flat> {
        self.each(words, count, |s, v| {
            let kind = s.b.kind(v[0]);
            match kind.is_float() && v.iter().all(|&v| s.b.kind(v) == kind) {
                true => Ok(f(s, v)),
                false => s.invalid("floats of one type were expected"),
            }
        })
    }

    /// Minima and maxima with the further operands, one after the other; of integers, by the instruction's sign.
    fn bound(&mut self, signed: bool, words: &[u32], maxima: &[bool]) -> Result<Flat> {
        self.each(words, maxima.len() + 1, |s, v| {
            let kind = s.b.kind(v[0]);
            let working = with_sign(kind, signed);
            let mut result = s.as_kind(v[0], working)?;
            for (&max, &other) in maxima.iter().zip(&v[1..]) {
                let other = s.as_kind(other, working)?;
                result = s.alu(extreme(working, max), &[result, other])?;
            }
            s.as_kind(result, kind)
        })
    }

    fn vectors(&mut self, x: u32, y: u32) -> Result<(Flat, Flat)> {
        let (x, y) = (self.floats(x)?, self.floats(y)?);
        match x.len() == y.len() && self.b.kind(x[0]) == self.b.kind(y[0]) {
            true => Ok((x, y)),
            false => self.invalid("vectors of one type were expected"),
        }
    }

    fn square(&mut self, id: u32) -> Result<Flat> {
        let m = self.floats(id)?;
        match (self.ty(self.m.type_of(id))?, m.len()) {
            (Ty::Matrix(..), 4 | 9 | 16) => Ok(m),
            _ => self.invalid("a square matrix was expected"),
        }
    }

    /// All first results of the components, then all second ones.
    fn split(&mut self, id: u32, alu: Alu) -> Result<Flat> {
        let values = self.floats(id)?;
        let (mut firsts, mut seconds) = (Flat::new(), Flat::new());
        for value in values {
            let inst = self.b.alu_multi(alu, &[value]);
            let results = self.b.results(inst);
            firsts.push(results[0]);
            seconds.push(results[1]);
        }
        firsts.extend(seconds);
        Ok(firsts)
    }

    /// The struct that `ModfStruct` and `FrexpStruct` give; exponents may be declared unsigned.
    fn two(&mut self, id: u32, alu: Alu, ty: u32) -> Result<Flat> {
        let values = self.split(id, alu)?;
        let scalars = self.scalars(ty)?;
        if scalars.len() != values.len() {
            return self.invalid("a result type of another size");
        }
        values
            .into_iter()
            .zip(scalars)
            .map(
                |(value, scalar)| match scalar.kind.is_int() && scalar.kind.bits() != 32 {
                    true => Ok(self.b.inst1(Op::Convert(scalar.kind), &[value], scalar.kind)),
                    false => self.as_kind(value, scalar.kind),
                },
            )
            .collect()
    }
}
