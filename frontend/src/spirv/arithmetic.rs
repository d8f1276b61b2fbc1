//! Arithmetic, comparison, bits and conversions, component by component.
//!
//! Results out of range are what WGSL says they are (law N7): division by zero, conversions of large floats, shifts.

use super::lower::Lower;
use super::report::Result;
use crate::compose::{self, blend, pack};
use crate::ir::{Alu, Def, Kind, Literal, Op, Value};
use crate::memory::place::Flat;
use crate::memory::shape::Scalar;
use rspirv::spirv::{Decoration, Op as S};

/// How an instruction is computed from the components of its operands.
enum Form {
    /// An operation; whether operands swap, whether the result is complemented.
    Compare(Alu, bool, bool),
    /// An operation on operands of the result's kind.
    Plain(Alu),
    /// Shifts: the count is u32 whatever its type.
    Shift(Alu),
}

fn form(op: S, kind: Kind) -> Option<Form> {
    use Form::{Compare, Plain, Shift};
    let negation = if kind.is_float() { Alu::FNeg } else { Alu::INeg };
    Some(match op {
        S::SNegate | S::FNegate => Plain(negation),
        S::IAdd => Plain(Alu::IAdd),
        S::FAdd => Plain(Alu::FAdd),
        S::ISub => Plain(Alu::ISub),
        S::FSub => Plain(Alu::FSub),
        S::IMul => Plain(Alu::IMul),
        S::FMul => Plain(Alu::FMul),
        S::UDiv => Plain(Alu::UDiv),
        S::SDiv => Plain(Alu::SDiv),
        S::FDiv => Plain(Alu::FDiv),
        S::UMod => Plain(Alu::URem),
        S::SRem => Plain(Alu::SRem),
        S::FRem => Plain(Alu::FRem),
        S::BitwiseOr | S::LogicalOr => Plain(Alu::Or),
        S::BitwiseXor => Plain(Alu::Xor),
        S::LogicalNotEqual => Plain(Alu::Xor),
        S::BitwiseAnd | S::LogicalAnd => Plain(Alu::And),
        S::Not | S::LogicalNot => Plain(Alu::Not),
        S::BitReverse => Plain(Alu::ReverseBits),
        S::ShiftLeftLogical => Shift(Alu::Shl),
        S::ShiftRightLogical => Shift(Alu::ShrU),
        S::ShiftRightArithmetic => Shift(Alu::ShrS),
        S::IEqual => Compare(Alu::IEq, false, false),
        S::INotEqual => Compare(Alu::INe, false, false),
        S::UGreaterThan => Compare(Alu::ULt, true, false),
        S::SGreaterThan => Compare(Alu::SLt, true, false),
        S::UGreaterThanEqual => Compare(Alu::ULe, true, false),
        S::SGreaterThanEqual => Compare(Alu::SLe, true, false),
        S::ULessThan => Compare(Alu::ULt, false, false),
        S::SLessThan => Compare(Alu::SLt, false, false),
        S::ULessThanEqual => Compare(Alu::ULe, false, false),
        S::SLessThanEqual => Compare(Alu::SLe, false, false),
        S::FOrdEqual => Compare(Alu::FEq, false, false),
        S::FUnordNotEqual => Compare(Alu::FNe, false, false),
        S::FOrdLessThan => Compare(Alu::FLt, false, false),
        S::FOrdLessThanEqual => Compare(Alu::FLe, false, false),
        S::FOrdGreaterThan => Compare(Alu::FLt, true, false),
        S::FOrdGreaterThanEqual => Compare(Alu::FLe, true, false),
        S::FUnordLessThan => Compare(Alu::FLe, true, true),
        S::FUnordLessThanEqual => Compare(Alu::FLt, true, true),
        S::FUnordGreaterThan => Compare(Alu::FLe, false, true),
        S::FUnordGreaterThanEqual => Compare(Alu::FLt, false, true),
        _ => return None,
    })
}

impl Lower<'_> {
    /// What an arithmetic instruction gives; `None` if it is none.
    pub fn arithmetic(&mut self, op: S, ty: u32, id: u32, words: &[u32]) -> Result<Option<Flat>> {
        let word = |i: usize| words.get(i).copied().unwrap_or(0);
        let numbers = matches!(
            self.m.types.get(&ty),
            Some(super::types::Ty::Scalar(_) | super::types::Ty::Vector(..) | super::types::Ty::Matrix(..))
        );
        let scalar = match numbers {
            true => self.scalar_type(ty)?,
            false => Scalar::plain(Kind::Bool),
        };
        if let Some(form) = form(op, scalar.kind) {
            let operands: Vec<Flat> = words.iter().take(2).map(|&w| self.value(w)).collect::<Result<_>>()?;
            let unordered = matches!(form, Form::Compare(..));
            return self
                .components(&operands, |s, v| match form {
                    Form::Plain(alu) => {
                        let v: Flat = v.iter().map(|&v| s.as_kind(v, scalar.kind)).collect::<Result<_>>()?;
                        s.plain(alu, &v, id)
                    }
                    Form::Shift(alu) => {
                        let x = s.as_kind(v[0], scalar.kind)?;
                        let count = s.as_u32(*v.get(1).unwrap_or(&v[0]))?;
                        s.alu(alu, &[x, count])
                    }
                    Form::Compare(alu, swap, not) => {
                        let &[x, y] = v else {
                            return s.invalid("a comparison of two values was expected");
                        };
                        let y = s.as_kind(y, s.b.kind(x))?;
                        let result = s.alu(alu, &if swap { [y, x] } else { [x, y] })?;
                        Ok(if not { s.b.alu(Alu::Not, &[result]) } else { result })
                    }
                })
                .map(|values| {
                    Some(if unordered {
                        values
                    } else {
                        self.round_all(values, scalar)
                    })
                });
        }
        let each = |s: &mut Self, f: &mut dyn FnMut(&mut Self, &[Value]) -> Result<Value>| {
            let operands: Vec<Flat> = words.iter().map(|&w| s.value(w)).collect::<Result<_>>()?;
            s.components(&operands, |s, v| f(s, v))
        };
        let values = match op {
            S::VectorTimesScalar | S::MatrixTimesScalar => {
                let (x, y) = (self.floats(word(0))?, self.one(word(1))?);
                let y = Flat::from_slice(&[y]);
                let values = self.components(&[x, y], |s, v| s.plain(Alu::FMul, v, id))?;
                self.round_all(values, scalar)
            }
            S::SMod | S::FMod if words.len() == 2 => {
                let values = each(self, &mut |s, v| {
                    let v: Flat = v.iter().map(|&v| s.as_kind(v, scalar.kind)).collect::<Result<_>>()?;
                    if op == S::SMod {
                        s.signed_mod(v[0], v[1])
                    } else {
                        s.float_mod(v[0], v[1])
                    }
                })?;
                self.round_all(values, scalar)
            }
            S::LogicalEqual => each(self, &mut |s, v| {
                let differ = s.alu(Alu::Xor, v)?;
                s.alu(Alu::Not, &[differ])
            })?,
            S::FOrdNotEqual | S::FUnordEqual | S::LessOrGreater => each(self, &mut |s, v| {
                let &[x, y] = v else {
                    return s.invalid("a comparison of two values was expected");
                };
                let (less, greater) = (s.alu(Alu::FLt, &[x, y])?, s.alu(Alu::FLt, &[y, x])?);
                let differ = s.alu(Alu::Or, &[less, greater])?;
                if op == S::FUnordEqual {
                    s.alu(Alu::Not, &[differ])
                } else {
                    Ok(differ)
                }
            })?,
            S::Ordered | S::Unordered => each(self, &mut |s, v| {
                let &[x, y] = v else {
                    return s.invalid("a comparison of two values was expected");
                };
                let (x, y) = (s.alu(Alu::FNe, &[x, x])?, s.alu(Alu::FNe, &[y, y])?);
                let nan = s.alu(Alu::Or, &[x, y])?;
                if op == S::Ordered {
                    s.alu(Alu::Not, &[nan])
                } else {
                    Ok(nan)
                }
            })?,
            S::IsNan => each(self, &mut |s, v| s.alu(Alu::FNe, &[v[0], v[0]]))?,
            S::IsInf => each(self, &mut |s, v| {
                let size = s.alu(Alu::FAbs, &[v[0]])?;
                let infinity = compose::float_like(&mut s.b, v[0], f64::INFINITY);
                s.alu(Alu::FEq, &[size, infinity])
            })?,
            S::Any | S::All => {
                let alu = if op == S::All { Alu::And } else { Alu::Or };
                let values = self.value(word(0))?;
                let mut joined = None;
                for value in values {
                    joined = Some(match joined {
                        None => value,
                        Some(before) => self.alu(alu, &[before, value])?,
                    });
                }
                joined.into_iter().collect()
            }
            S::BitCount => each(self, &mut |s, v| {
                let count = s.alu(Alu::PopCount, v)?;
                s.convert(count, scalar)
            })?,
            S::BitFieldInsert => each(self, &mut |s, v| {
                let &[base, insert, offset, count] = v else {
                    return s.invalid("four operands were expected");
                };
                let (offset, count) = (s.as_u32(offset)?, s.as_u32(count)?);
                let insert = s.as_kind(insert, s.b.kind(base))?;
                s.alu(Alu::InsertBits, &[base, insert, offset, count])
            })?,
            S::BitFieldSExtract | S::BitFieldUExtract => each(self, &mut |s, v| {
                let &[base, offset, count] = v else {
                    return s.invalid("three operands were expected");
                };
                let (offset, count) = (s.as_u32(offset)?, s.as_u32(count)?);
                let alu = if op == S::BitFieldSExtract {
                    Alu::ExtractS
                } else {
                    Alu::ExtractU
                };
                s.alu(alu, &[base, offset, count])
            })?,
            S::IAddCarry | S::ISubBorrow => self.pairs(words, |s, x, y| {
                let kind = s.b.kind(x);
                let (x, y) = (s.as_kind(x, Kind::U32)?, s.as_kind(y, Kind::U32)?);
                let alu = if op == S::IAddCarry {
                    Alu::AddCarry
                } else {
                    Alu::SubBorrow
                };
                let inst = s.b.alu_multi(alu, &[x, y]);
                let results = s.b.results(inst);
                Ok((s.as_kind(results[0], kind)?, s.as_kind(results[1], kind)?))
            })?,
            S::UMulExtended | S::SMulExtended => self.pairs(words, |s, x, y| {
                let y = s.as_kind(y, s.b.kind(x))?;
                let high = if op == S::UMulExtended {
                    Alu::UMulHi
                } else {
                    Alu::SMulHi
                };
                Ok((s.alu(Alu::IMul, &[x, y])?, s.alu(high, &[x, y])?))
            })?,
            S::ConvertFToU
            | S::ConvertFToS
            | S::ConvertSToF
            | S::ConvertUToF
            | S::UConvert
            | S::SConvert
            | S::FConvert => each(self, &mut |s, v| {
                // Signedness is the instruction's, not the operand type's.
                let from = s.b.kind(v[0]);
                let signed = matches!(op, S::ConvertSToF | S::SConvert);
                let unsigned = matches!(op, S::ConvertUToF | S::UConvert);
                let v = match (signed, unsigned) {
                    (false, false) => v[0],
                    _ => s.as_kind(v[0], with_sign(from, signed))?,
                };
                match op {
                    S::ConvertFToS | S::ConvertFToU => {
                        let target = Scalar::plain(with_sign(scalar.kind, op == S::ConvertFToS));
                        let value = s.convert(v, target)?;
                        s.as_kind(value, scalar.kind)
                    }
                    _ => s.convert(v, scalar),
                }
            })?,
            S::QuantizeToF16 => each(self, &mut |s, v| s.alu(Alu::QuantizeF16, v))?,
            S::Bitcast => {
                let values = self.value(word(0))?;
                let from = self.scalar_type(self.m.type_of(word(0)))?;
                self.bitcast(&values, from, scalar)?
            }
            S::SDot | S::UDot | S::SUDot => self.integer_dot(op, scalar, words)?,
            S::SDotAccSat | S::UDotAccSat | S::SUDotAccSat => {
                return self.unsupported(format!("Op{op:?}"));
            }
            _ => return Ok(None),
        };
        Ok(Some(values))
    }

    /// Applies `f` to each component; scalars go with every component.
    pub fn components(
        &mut self,
        operands: &[Flat],
        mut f: impl FnMut(&mut Self, &[Value]) -> Result<Value>,
    ) -> Result<Flat> {
        let count = operands.iter().map(|o| o.len()).max().unwrap_or(0);
        if count == 0 || operands.iter().any(|o| o.len() != count && o.len() != 1) {
            return self.invalid("operands of different sizes");
        }
        (0..count)
            .map(|i| {
                let v: Flat = operands
                    .iter()
                    .map(|o| if o.len() == 1 { o[0] } else { o[i] })
                    .collect();
                f(self, &v)
            })
            .collect()
    }

    /// Componentwise pairs of results: all first ones, then all second ones.
    fn pairs(
        &mut self,
        words: &[u32],
        mut f: impl FnMut(&mut Self, Value, Value) -> Result<(Value, Value)>,
    ) -> Result<Flat> {
        let &[x, y, ..] = words else {
            return self.invalid("two operands were expected");
        };
        let (x, y) = (self.value(x)?, self.value(y)?);
        if x.len() != y.len() {
            return self.invalid("operands of different sizes");
        }
        let (mut firsts, mut seconds) = (Flat::new(), Flat::new());
        for (&x, &y) in x.iter().zip(&y) {
            if !self.b.kind(x).is_int() || !self.b.kind(y).is_int() {
                return self.invalid("integers were expected");
            }
            let (first, second) = f(self, x, y)?;
            firsts.push(first);
            seconds.push(second);
        }
        firsts.extend(seconds);
        Ok(firsts)
    }

    fn round_all(&mut self, values: Flat, scalar: Scalar) -> Flat {
        values.into_iter().map(|v| self.round(v, scalar)).collect()
    }

    /// An operation; `NoContraction` keeps products and sums apart (law N2) by what lies between them.
    fn plain(&mut self, alu: Alu, operands: &[Value], id: u32) -> Result<Value> {
        if !self.decorated(id, Decoration::NoContraction) {
            return self.alu(alu, operands);
        }
        let mut operands = Flat::from_slice(operands);
        if matches!(alu, Alu::FAdd | Alu::FSub) {
            for operand in &mut operands {
                let f = &self.b.func;
                let product = match f.values[*operand].def {
                    Def::Inst(inst, _) => f.insts[inst].op == Op::Alu(Alu::FMul),
                    Def::Param(_) => false,
                };
                if product {
                    *operand = self.b.alu(Alu::Canon, &[*operand]);
                }
            }
        }
        let result = self.alu(alu, &operands)?;
        match alu {
            Alu::FMul => Ok(self.b.alu(Alu::Canon, &[result])),
            _ => Ok(result),
        }
    }

    /// The remainder of the divisor's sign.
    fn signed_mod(&mut self, x: Value, y: Value) -> Result<Value> {
        let rem = self.alu(Alu::SRem, &[x, y])?;
        let kind = self.b.kind(x);
        let zero = self.b.constant(Literal::zero(kind));
        let some = self.alu(Alu::INe, &[rem, zero])?;
        let signs = self.alu(Alu::Xor, &[rem, y])?;
        let differ = self.alu(Alu::SLt, &[signs, zero])?;
        let wrong = self.alu(Alu::And, &[some, differ])?;
        let moved = self.alu(Alu::IAdd, &[rem, y])?;
        self.alu(Alu::Select, &[wrong, moved, rem])
    }

    /// `x - y*floor(x/y)`.
    fn float_mod(&mut self, x: Value, y: Value) -> Result<Value> {
        let ratio = self.alu(Alu::FDiv, &[x, y])?;
        let whole = self.alu(Alu::FFloor, &[ratio])?;
        let product = self.alu(Alu::FMul, &[y, whole])?;
        self.alu(Alu::FSub, &[x, product])
    }

    /// A value conversion, by the kinds' signs (R-WGSL-63).
    pub fn convert(&mut self, value: Value, to: Scalar) -> Result<Value> {
        let (source, target) = (self.b.kind(value), to.kind);
        if source == Kind::Bool || target == Kind::Bool {
            return self.invalid("a conversion of or to bool");
        }
        let converted = match (source, target) {
            _ if source == target => value,
            (Kind::F32, Kind::I32) => self.b.alu(Alu::FToSWgsl, &[value]),
            (Kind::F32, Kind::U32) => self.b.alu(Alu::FToUWgsl, &[value]),
            (Kind::I32, Kind::F32) => self.b.alu(Alu::SToF, &[value]),
            (Kind::U32, Kind::F32) => self.b.alu(Alu::UToF, &[value]),
            _ if source.is_int() && target.is_int() && source.bits() == target.bits() => self.b.bitcast(value, target),
            _ => self.b.inst1(Op::Convert(target), &[value], target),
        };
        Ok(self.round(converted, to))
    }

    /// The bits as another type; a wider component is made of, or falls into, several narrower ones, low ones first.
    pub fn bitcast(&mut self, values: &[Value], from: Scalar, to: Scalar) -> Result<Flat> {
        if from == to {
            return Ok(values.into());
        }
        let mut bits = Vec::new();
        for &value in values {
            bits.push(match from.half {
                true => {
                    let word = self.alu(Alu::HalfBits, &[value])?;
                    self.b.inst1(Op::Convert(Kind::U16), &[word], Kind::U16)
                }
                false => self.as_kind(value, unsigned(from.width()))?,
            });
        }
        let (from_width, to_width) = (from.width(), to.width());
        let target = unsigned(to_width);
        let mut out = Vec::new();
        if from_width > to_width {
            for &wide in &bits {
                for i in 0..from_width / to_width {
                    let shift = self.b.u32(8 * to_width * i);
                    let part = self.b.alu(Alu::ShrU, &[wide, shift]);
                    out.push(self.b.inst1(Op::Convert(target), &[part], target));
                }
            }
        } else if from_width < to_width {
            let each = (to_width / from_width) as usize;
            if !bits.len().is_multiple_of(each) {
                return self.invalid("OpBitcast between types of different widths");
            }
            for parts in bits.chunks(each) {
                let mut joined = None;
                for (i, &part) in (0..).zip(parts) {
                    let wide = self.b.inst1(Op::Convert(target), &[part], target);
                    let shift = self.b.u32(8 * from_width * i);
                    let placed = self.b.alu(Alu::Shl, &[wide, shift]);
                    joined = Some(match joined {
                        None => wide,
                        Some(low) => self.b.alu(Alu::Or, &[low, placed]),
                    });
                }
                out.extend(joined);
            }
        } else {
            out = bits;
        }
        let mut results = Flat::new();
        for value in out {
            results.push(match to.half {
                true => {
                    let word = self.b.inst1(Op::Convert(Kind::U32), &[value], Kind::U32);
                    self.b.alu(Alu::HalfToF, &[word])
                }
                false => self.as_kind(value, to.kind)?,
            });
        }
        Ok(results)
    }

    fn integer_dot(&mut self, op: S, scalar: Scalar, words: &[u32]) -> Result<Flat> {
        let &[x, y, ..] = words else {
            return self.invalid("two operands were expected");
        };
        let (x, y) = (self.value(x)?, self.value(y)?);
        if words.len() > 2 {
            let (&[x], &[y]) = (&x[..], &y[..]) else {
                return self.invalid("packed operands were expected");
            };
            let (x, y) = (self.as_kind(x, Kind::U32)?, self.as_kind(y, Kind::U32)?);
            if op == S::SUDot {
                return self.unsupported("OpSUDot of packed vectors");
            }
            let sum = pack::dot4(&mut self.b, x, y, op == S::SDot);
            let sum = self.convert(sum, scalar)?;
            return Ok(Flat::from_slice(&[sum]));
        }
        let mut sum: Option<Value> = None;
        if x.len() != y.len() {
            return self.invalid("operands of different sizes");
        }
        for (&x, &y) in x.iter().zip(&y) {
            let wide = |s: &mut Self, v: Value, signed| {
                let v = s.as_kind(v, with_sign(s.b.kind(v), signed))?;
                let wide = s.convert(v, Scalar::plain(with_sign(scalar.kind, signed)))?;
                s.as_kind(wide, scalar.kind)
            };
            let (x, y) = (wide(self, x, op != S::UDot)?, wide(self, y, op == S::SDot)?);
            let product = self.alu(Alu::IMul, &[x, y])?;
            sum = Some(match sum {
                None => product,
                Some(before) => self.alu(Alu::IAdd, &[before, product])?,
            });
        }
        Ok(sum.into_iter().collect())
    }
}

/// The integer kind of that width and the wanted signedness; other kinds as they are.
pub(super) fn with_sign(kind: Kind, signed: bool) -> Kind {
    match (kind.is_int(), kind.bits(), signed) {
        (false, ..) => kind,
        (_, 8, true) => Kind::I8,
        (_, 8, false) => Kind::U8,
        (_, 16, true) => Kind::I16,
        (_, 16, false) => Kind::U16,
        (_, 32, true) => Kind::I32,
        (_, 32, false) => Kind::U32,
        (_, _, true) => Kind::I64,
        (_, _, false) => Kind::U64,
    }
}

fn unsigned(bytes: u32) -> Kind {
    match bytes {
        1 => Kind::U8,
        2 => Kind::U16,
        4 => Kind::U32,
        _ => Kind::U64,
    }
}

/// The lesser or greater of two, by class; kinds must agree.
pub(super) fn extreme(kind: Kind, max: bool) -> Alu {
    match max {
        true => blend::by_kind(kind, Alu::FMax, Alu::SMax, Alu::UMax),
        false => blend::by_kind(kind, Alu::FMin, Alu::SMin, Alu::UMin),
    }
}
