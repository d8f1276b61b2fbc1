//! Constants: literals by id, and the operations of `OpSpecConstantOp`.
//!
//! An operation on constants is lowered like any other, into a function that is thrown away, and folded there by the
//! folder's own definition (law N7): so a constant is what the same instruction gives at run time, to the bit.

use super::lower::{Lower, Lowered};
use super::report::{Failure, Result};
use super::types::MAX_LEAVES;
use crate::diagnostic::ShaderErrorKind;
use crate::ir::{self, FunctionBuilder, Kind, Literal, Op, Value};
use crate::memory::shape::Scalar;
use rspirv::spirv::Op as S;
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// Deepest nesting of constants.
const MAX_DEPTH: usize = 512;

impl Lower<'_> {
    /// The scalars of a constant; `None` for what isn't one.
    pub fn constant(&mut self, id: u32) -> Result<Option<Rc<Vec<Literal>>>> {
        if let Some(literals) = self.constants.get(&id) {
            return Ok(Some(literals.clone()));
        }
        let Some((index, &inst)) = self.m.def(id) else {
            return Ok(None);
        };
        let constant = matches!(
            inst.op,
            S::ConstantTrue
                | S::ConstantFalse
                | S::Constant
                | S::ConstantComposite
                | S::ConstantNull
                | S::SpecConstantTrue
                | S::SpecConstantFalse
                | S::SpecConstant
                | S::SpecConstantComposite
                | S::SpecConstantOp
                | S::Undef
        );
        if !constant {
            return Ok(None);
        }
        if self.evaluating.len() > MAX_DEPTH || !self.evaluating.insert(id) {
            return Err(Failure::invalid(
                "constants refer to one another in a circle, or too deep",
                Some(index),
            ));
        }
        let outer = self.at.replace(index);
        let literals = self.evaluate(id, inst);
        self.at = outer;
        self.evaluating.remove(&id);
        let literals = Rc::new(literals?);
        self.constants.insert(id, literals.clone());
        Ok(Some(literals))
    }

    fn evaluate(&mut self, id: u32, inst: super::binary::Inst) -> Result<Vec<Literal>> {
        let words = self.m.words.operands(&inst);
        let single = |kind, bits| Ok(vec![Literal { kind, bits }]);
        if let Some(&literal) = self.specialised.get(&id) {
            return Ok(vec![literal]);
        }
        match inst.op {
            S::ConstantTrue | S::SpecConstantTrue => single(Kind::Bool, 1),
            S::ConstantFalse | S::SpecConstantFalse => single(Kind::Bool, 0),
            S::Constant | S::SpecConstant => {
                let scalar = self.scalar_type(inst.ty)?;
                let low = words.first().copied().unwrap_or(0);
                let high = words.get(1).copied().unwrap_or(0);
                let bits = match scalar.kind.bits() {
                    _ if scalar.half => u64::from(half::f16::from_bits(low as u16).to_f32().to_bits()),
                    64 => u64::from(high) << 32 | u64::from(low),
                    bits => u64::from(low) & ((1u64 << bits) - 1),
                };
                single(scalar.kind, bits)
            }
            S::ConstantNull | S::Undef => {
                let scalars = self.scalars(inst.ty)?;
                Ok(scalars.into_iter().map(|s| Literal::zero(s.kind)).collect())
            }
            S::ConstantComposite | S::SpecConstantComposite => {
                let scalars = self.scalars(inst.ty)?;
                let mut literals = Vec::with_capacity(scalars.len());
                for &part in words {
                    match self.constant(part)? {
                        Some(part) => literals.extend_from_slice(&part),
                        None => return self.invalid(format!("%{part} is no constant")),
                    }
                    if literals.len() > MAX_LEAVES as usize {
                        break;
                    }
                }
                let fits = literals.iter().map(|l| l.kind).eq(scalars.iter().map(|s| s.kind));
                match fits {
                    true => Ok(literals),
                    false => self.invalid("a composite's parts don't fit its type"),
                }
            }
            S::SpecConstantOp => self.operation(id, inst, words),
            op => self.unsupported(format!("Op{op:?}")),
        }
    }

    fn operation(&mut self, id: u32, inst: super::binary::Inst, words: &[u32]) -> Result<Vec<Literal>> {
        let Some((op, rest)) = words
            .split_first()
            .and_then(|(&op, rest)| Some((S::from_u32(op)?, rest)))
        else {
            return self.invalid("an unknown operation");
        };
        let outer = std::mem::replace(&mut self.b, FunctionBuilder::new("constants"));
        let lowered = self.operate(op, inst.ty, id, rest);
        let scratch = std::mem::replace(&mut self.b, outer);
        let values = match lowered? {
            Some(Lowered::Value(values)) => values,
            _ => return self.unsupported(format!("Op{op:?} on constants")),
        };
        let mut known = FxHashMap::default();
        let literals = values.iter().map(|&v| fold(&scratch.func, v, &mut known));
        match literals.collect::<Option<Vec<_>>>() {
            Some(literals) => Ok(literals),
            None => self.unsupported(format!("Op{op:?} on constants of this type")),
        }
    }

    /// Reads the values that the pipeline gives: by SpecId in decimal, or by name.
    pub fn specialise(
        m: &super::module::Parsed,
        scalar: impl Fn(u32) -> Option<Scalar>,
        constants: &std::collections::BTreeMap<String, f64>,
    ) -> Result<FxHashMap<u32, Literal>> {
        let mut out = FxHashMap::default();
        for (key, &value) in constants {
            let fail = |message: String, at| Err(Failure::new(ShaderErrorKind::Constant, message, at));
            let spec_id = |id: u32| super::spec_id(m, id);
            let by_id = m
                .spec_constants
                .iter()
                .find(|&&id| spec_id(id).is_some_and(|n| key.parse() == Ok(n)));
            let found = by_id.or_else(|| m.spec_constants.iter().find(|&&id| m.name(id) == key));
            let Some(&id) = found else {
                return fail(format!("the shader has no specialisation constant `{key}`"), None);
            };
            let literal = scalar(m.type_of(id)).and_then(|s| crate::memory::shape::override_literal(s, value));
            match literal {
                Some(literal) => out.insert(id, literal),
                None => {
                    let at = m.def(id).map(|(index, _)| index);
                    return fail(format!("specialisation constant `{key}` can't be {value}"), at);
                }
            };
        }
        Ok(out)
    }
}

/// The literal that a value of constants has.
fn fold(f: &ir::Function, value: Value, known: &mut FxHashMap<Value, Option<Literal>>) -> Option<Literal> {
    if let Some(&literal) = known.get(&value) {
        return literal;
    }
    let ir::Def::Inst(id, which) = f.values[value].def else {
        return None;
    };
    let inst = &f.insts[id];
    let args: Option<Vec<Literal>> = inst.args.iter().map(|&a| fold(f, a, known)).collect();
    let kind = f.kind(value);
    let literal = args.and_then(|args| match inst.op {
        Op::Const(literal) => Some(literal),
        Op::Alu(alu) => ir::eval::fold(alu, &args)?.get(usize::from(which)).copied(),
        Op::Bitcast(_) => Some(Literal {
            kind,
            bits: args[0].bits,
        }),
        Op::Convert(to) if args[0].kind.is_int() && to.is_int() => {
            let from = args[0].kind;
            let shift = 64 - from.bits();
            let wide = match from.is_signed() {
                true => ((args[0].bits << shift) as i64 >> shift) as u64,
                false => args[0].bits,
            };
            let mask = u64::MAX >> (64 - to.bits());
            Some(Literal {
                kind,
                bits: wide & mask,
            })
        }
        _ => None,
    });
    known.insert(value, literal);
    literal
}
