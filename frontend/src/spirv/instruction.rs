//! Instructions: memory, calls and whatever has effects here; what only computes in [`operate`](Lower::operate).

use super::binary::Inst;
use super::lower::{Lower, Lowered};
use super::report::Result;
use super::types::Ty;
use crate::compose::{geometry, matrix};
use crate::ir::{Alu, Kind, Op, QuadOp, Value};
use crate::memory::place::Flat;
use rspirv::spirv::{Decoration, Op as S};

/// Composites of at most so many components are indexed dynamically by selects: all that SPIR-V does so are vectors.
const VECTOR: usize = 4;

impl Lower<'_> {
    /// Lowers an instruction of a block.
    pub fn instruction(&mut self, inst: &Inst) -> Result<()> {
        let m = self.m;
        let words = m.words.operands(inst);
        match inst.op {
            S::Nop | S::Line | S::NoLine | S::Undef | S::MemoryBarrier | S::AssumeTrueKHR => Ok(()),
            S::Variable => self.function_variable(inst, words),
            S::Load => self.load(inst, words),
            S::Store => self.store(words),
            S::CopyMemory => self.copy_memory(words),
            S::AccessChain | S::InBoundsAccessChain => self.access_chain(inst, words),
            S::ArrayLength => self.array_length(inst, words),
            S::FunctionCall => self.call(inst, words),
            S::DemoteToHelperInvocation => {
                self.b.inst(Op::Discard, &[], &[]);
                Ok(())
            }
            op if is_atomic(op) => self.atomic(inst, words),
            S::ExtInst if words.first().is_some_and(|set| m.non_semantic.contains(set)) => Ok(()),
            S::ImageWrite => self.image_write(words),
            op => match self.operate(op, inst.ty, inst.id, words)? {
                Some(lowered) => {
                    self.check(inst, &lowered)?;
                    self.define(inst.id, lowered);
                    Ok(())
                }
                None => self.unsupported(format!("Op{op:?}")),
            },
        }
    }

    /// Refuses results that aren't of the declared type.
    fn check(&mut self, inst: &Inst, lowered: &Lowered) -> Result<()> {
        let Lowered::Value(values) = lowered else {
            return Ok(());
        };
        let scalars = self.scalars(inst.ty)?;
        let fits = scalars
            .iter()
            .map(|s| s.kind)
            .eq(values.iter().map(|&v| self.b.kind(v)));
        match fits {
            true => Ok(()),
            false => self.invalid(format!("Op{:?}: operands don't fit the result type", inst.op)),
        }
    }

    fn call(&mut self, inst: &Inst, words: &[u32]) -> Result<()> {
        let Some((&callee, arguments)) = words.split_first() else {
            return self.invalid("a call of nothing");
        };
        let arguments: Vec<Lowered> = arguments.iter().map(|&a| self.lowered(a)).collect::<Result<_>>()?;
        let at = self.at;
        let values = self.function(callee, arguments)?;
        if let Some(at) = at {
            self.set_at(at)?;
        }
        let lowered = Lowered::Value(values);
        if self.ty(inst.ty)? != Ty::Void {
            self.check(inst, &lowered)?;
        }
        self.define(inst.id, lowered);
        Ok(())
    }

    /// What an instruction computes; `None` if it isn't known here. `id` is for decorations.
    pub fn operate(&mut self, op: S, ty: u32, id: u32, words: &[u32]) -> Result<Option<Lowered>> {
        let word = |i: usize| words.get(i).copied().unwrap_or(0);
        if let Some(lowered) = self.image_operation(op, ty, words)? {
            return Ok(Some(lowered));
        }
        if let Some(values) = self.arithmetic(op, ty, id, words)? {
            return Ok(Some(Lowered::Value(values)));
        }
        let values: Flat = match op {
            S::CopyObject => return Ok(Some(self.lowered(word(0))?)),
            S::CopyLogical | S::ExpectKHR => self.value(word(0))?,
            S::CompositeConstruct => {
                let mut values = Flat::new();
                for &part in words {
                    values.extend(self.value(part)?);
                }
                values
            }
            S::CompositeExtract => {
                let values = self.value(word(0))?;
                let (first, count) = self.part(self.m.type_of(word(0)), words.get(1..).unwrap_or(&[]))?;
                match values.get(first..first + count) {
                    Some(part) => part.into(),
                    None => return self.invalid("an index out of range"),
                }
            }
            S::CompositeInsert => {
                let part = self.value(word(0))?;
                let mut values = self.value(word(1))?;
                let (first, count) = self.part(self.m.type_of(word(1)), words.get(2..).unwrap_or(&[]))?;
                match values.get_mut(first..first + count) {
                    Some(place) if part.len() == count => place.copy_from_slice(&part),
                    _ => return self.invalid("an index out of range"),
                }
                values
            }
            S::VectorShuffle => {
                let mut all = self.value(word(0))?;
                all.extend(self.value(word(1))?);
                let zero = self.scalar_type(ty)?.kind;
                let mut values = Flat::new();
                for &i in words.get(2..).unwrap_or(&[]) {
                    values.push(match all.get(i as usize) {
                        Some(&value) => value,
                        None if i == u32::MAX => self.b.constant(crate::ir::Literal::zero(zero)),
                        None => return self.invalid("a component out of range"),
                    });
                }
                values
            }
            S::VectorExtractDynamic => {
                let values = self.value(word(0))?;
                let index = self.index(word(1))?;
                if values.is_empty() || values.len() > VECTOR {
                    return self.invalid("no vector");
                }
                let mut result = values[values.len() - 1];
                for (i, &value) in values.iter().enumerate().rev().skip(1) {
                    let at = self.b.u32(i as u32);
                    let here = self.b.alu(Alu::IEq, &[index, at]);
                    result = self.alu(Alu::Select, &[here, value, result])?;
                }
                Flat::from_slice(&[result])
            }
            S::VectorInsertDynamic => {
                let mut values = self.value(word(0))?;
                let part = self.one(word(1))?;
                let index = self.index(word(2))?;
                for (i, value) in values.iter_mut().enumerate() {
                    let at = self.b.u32(i as u32);
                    let here = self.b.alu(Alu::IEq, &[index, at]);
                    *value = self.alu(Alu::Select, &[here, part, *value])?;
                }
                values
            }
            S::Select => {
                let condition = self.value(word(0))?;
                let (x, y) = match (self.lowered(word(1))?, self.lowered(word(2))?) {
                    (Lowered::Value(x), Lowered::Value(y)) if x.len() == y.len() => (x, y),
                    (Lowered::Value(_), _) => return self.invalid("OpSelect between different types"),
                    _ => return self.unsupported("OpSelect between pointers"),
                };
                if condition.len() != 1 && condition.len() != x.len() {
                    return self.invalid("OpSelect with a condition of another size");
                }
                let mut values = Flat::new();
                for (i, (&x, &y)) in x.iter().zip(&y).enumerate() {
                    let condition = condition.get(i).or(condition.first()).copied().unwrap_or(x);
                    values.push(self.alu(Alu::Select, &[condition, x, y])?);
                }
                values
            }
            S::MatrixTimesVector
            | S::VectorTimesMatrix
            | S::MatrixTimesMatrix
            | S::OuterProduct
            | S::Transpose
            | S::Dot => self.matrix(op, ty, id, words)?,
            S::ExtInst => {
                return self
                    .extended(ty, word(0), word(1), words.get(2..).unwrap_or(&[]))
                    .map(Some);
            }
            S::IsHelperInvocationEXT => Flat::from_slice(&[self.b.inst1(Op::IsHelper, &[], Kind::Bool)]),
            _ => match quad_op(op) {
                Some((x, y)) => self.derivatives(x, y, ty, word(0))?,
                None => return self.quad(op, words),
            },
        };
        Ok(Some(Lowered::Value(values)))
    }

    /// First scalar and number of scalars of a part of a value.
    fn part(&mut self, ty: u32, indices: &[u32]) -> Result<(usize, usize)> {
        let mut shape = self.value_shape(ty)?;
        let mut first = 0;
        for &index in indices {
            let Some(child) = shape.child(index) else {
                return self.invalid("an index out of range");
            };
            first += child.leaf as usize;
            shape = child.shape;
        }
        Ok((first, shape.leaves as usize))
    }

    fn matrix(&mut self, op: S, ty: u32, id: u32, words: &[u32]) -> Result<Flat> {
        let word = |i: usize| words.get(i).copied().unwrap_or(0);
        let (x, y) = match op {
            S::Transpose => (self.floats(word(0))?, Flat::new()),
            _ => (self.floats(word(0))?, self.floats(word(1))?),
        };
        let columns = |s: &Self, id: u32| match s.ty(s.m.type_of(id)) {
            Ok(Ty::Matrix(_, columns)) => Some(columns as usize),
            _ => None,
        };
        let (cx, cy) = (columns(self, word(0)), columns(self, word(1)));
        let b = &mut self.b;
        let values: Option<Flat> = match (op, cx, cy) {
            (S::MatrixTimesVector, Some(c), None) if c == y.len() => Some(matrix::mul_vector(b, &x, &y).into()),
            (S::VectorTimesMatrix, None, Some(c)) if x.len() * c == y.len() => {
                Some(matrix::vector_mul(b, &x, &y).into())
            }
            (S::MatrixTimesMatrix, Some(cx), Some(cy)) if y.len() == cx * cy => {
                Some(matrix::mul_matrix(b, &x, &y, cx).into())
            }
            (S::OuterProduct, None, None) => Some(matrix::outer(b, &x, &y).into()),
            (S::Transpose, Some(c), _) => Some(matrix::transpose(&x, x.len() / c).into()),
            (S::Dot, None, None) if x.len() == y.len() => Some(Flat::from_slice(&[geometry::dot(b, &x, &y)])),
            _ => None,
        };
        let Some(values) = values else {
            return self.invalid("operands of types that the instruction doesn't take");
        };
        let scalar = self.scalar_type(ty)?;
        let exact = self.decorated(id, Decoration::NoContraction);
        Ok(values
            .into_iter()
            .map(|v| {
                let v = if exact { self.b.alu(Alu::Canon, &[v]) } else { v };
                self.round(v, scalar)
            })
            .collect())
    }

    /// A value of floats, all of one kind.
    pub fn floats(&mut self, id: u32) -> Result<Flat> {
        let values = self.value(id)?;
        let kind = values.first().map(|&v| self.b.kind(v));
        match kind {
            Some(kind) if kind.is_float() && values.iter().all(|&v| self.b.kind(v) == kind) => Ok(values),
            _ => self.invalid(format!("%{id} isn't of floats")),
        }
    }

    fn derivatives(&mut self, x: Option<QuadOp>, y: Option<QuadOp>, ty: u32, operand: u32) -> Result<Flat> {
        let values = self.floats(operand)?;
        let scalar = self.scalar_type(ty)?;
        Ok(values
            .into_iter()
            .map(|value| {
                let x = x.map(|op| self.b.quad(op, value));
                let y = y.map(|op| self.b.quad(op, value));
                let result = match (x, y) {
                    (Some(x), Some(y)) => crate::compose::blend::fwidth(&mut self.b, x, y),
                    (one, other) => one.or(other).unwrap_or(value),
                };
                self.round(result, scalar)
            })
            .collect())
    }

    fn quad(&mut self, op: S, words: &[u32]) -> Result<Option<Lowered>> {
        let (value, argument) = match (op, words) {
            (S::GroupNonUniformQuadBroadcast | S::GroupNonUniformQuadSwap, &[_, value, argument, ..]) => {
                (value, argument)
            }
            _ => return self.subgroup(op, words),
        };
        let op = match (op, self.constant_u32(argument)?) {
            (S::GroupNonUniformQuadBroadcast, Some(lane @ 0..=3)) => QuadOp::Broadcast(lane as u8),
            (S::GroupNonUniformQuadSwap, Some(0)) => QuadOp::SwapX,
            (S::GroupNonUniformQuadSwap, Some(1)) => QuadOp::SwapY,
            (S::GroupNonUniformQuadSwap, Some(2)) => QuadOp::SwapDiagonal,
            _ => return self.unsupported(format!("Op{op:?} with a lane that isn't a constant from 0 to 3")),
        };
        let values = self.value(value)?;
        let values: Vec<Value> = values.into_iter().map(|v| self.b.quad(op, v)).collect();
        Ok(Some(Lowered::Value(values.into())))
    }
}

fn is_atomic(op: S) -> bool {
    matches!(
        op,
        S::AtomicLoad
            | S::AtomicStore
            | S::AtomicExchange
            | S::AtomicCompareExchange
            | S::AtomicIIncrement
            | S::AtomicIDecrement
            | S::AtomicIAdd
            | S::AtomicISub
            | S::AtomicSMin
            | S::AtomicUMin
            | S::AtomicSMax
            | S::AtomicUMax
            | S::AtomicAnd
            | S::AtomicOr
            | S::AtomicXor
    )
}

/// The differences that a derivative instruction takes.
fn quad_op(op: S) -> Option<(Option<QuadOp>, Option<QuadOp>)> {
    Some(match op {
        S::DPdx | S::DPdxCoarse => (Some(QuadOp::DdxCoarse), None),
        S::DPdxFine => (Some(QuadOp::DdxFine), None),
        S::DPdy | S::DPdyCoarse => (None, Some(QuadOp::DdyCoarse)),
        S::DPdyFine => (None, Some(QuadOp::DdyFine)),
        S::Fwidth | S::FwidthCoarse => (Some(QuadOp::DdxCoarse), Some(QuadOp::DdyCoarse)),
        S::FwidthFine => (Some(QuadOp::DdxFine), Some(QuadOp::DdyFine)),
        _ => return None,
    })
}
