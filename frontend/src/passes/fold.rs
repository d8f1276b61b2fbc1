//! Constant folding and algebra, in one walk forwards: operands are simplified before what uses them.
//!
//! Folding evaluates with [`eval`](crate::ir::eval), the definition that executors go by (law N7). Algebra
//! ([`algebra`](super::algebra)) keeps every bit, zeros, denormals and foreign NaNs included.

use super::algebra::{self, Outcome};
use super::edit::{Replacements, new_inst, push_const, push1};
use crate::ir::{Alu, Body, Function, InstId, Kind, Literal, Op, SpanId, Stmt, Value, eval};
use smallvec::SmallVec;

/// Folds constants and simplifies.
pub(super) fn run(f: &mut Function) {
    let mut body = std::mem::take(&mut f.body);
    let mut pass = Pass {
        f,
        replace: Replacements::default(),
    };
    pass.body(&mut body);
    f.body = body;
}

struct Pass<'a> {
    f: &'a mut Function,
    replace: Replacements,
}

/// Makes the instructions that algebra wants ahead of the one it looks at.
pub(super) struct Maker<'a> {
    pub f: &'a mut Function,
    pub out: &'a mut Body,
    pub span: Option<SpanId>,
}

impl Maker<'_> {
    /// A constant.
    pub fn literal(&mut self, literal: Literal) -> Value {
        push_const(self.f, self.out, literal, self.span)
    }

    /// A constant of that kind.
    pub fn bits(&mut self, kind: Kind, bits: u64) -> Value {
        self.literal(Literal { kind, bits })
    }

    /// A u32.
    pub fn u32(&mut self, value: u32) -> Value {
        self.literal(Literal::u32(value))
    }

    /// An operation with one result; folded if its operands are constants.
    pub fn alu(&mut self, alu: Alu, args: &[Value]) -> Value {
        if let Some(literals) = constants(self.f, args)
            && let Some(results) = eval::fold(alu, &literals)
            && let [literal] = results.as_slice()
        {
            return self.literal(*literal);
        }
        let kinds: SmallVec<[Kind; 4]> = args.iter().map(|&a| self.f.kind(a)).collect();
        let kind = match alu.check(&kinds) {
            Ok(results) => results.first().copied().unwrap_or(Kind::U32),
            Err(error) => panic!("algebra makes ill-typed IR: {error}"),
        };
        push1(self.f, self.out, Op::Alu(alu), args, kind, self.span)
    }
}

/// The literals, if all values are constants.
fn constants(f: &Function, args: &[Value]) -> Option<SmallVec<[Literal; 4]>> {
    args.iter().map(|&a| f.constant(a)).collect()
}

impl Pass<'_> {
    fn body(&mut self, body: &mut Body) {
        let old = std::mem::take(body);
        let mut out = Vec::with_capacity(old.len());
        for mut stmt in old {
            self.replace.apply_to_head(self.f, &mut stmt);
            match &mut stmt {
                Stmt::Inst(id) => {
                    let id = *id;
                    if !self.inst(id, &mut out) {
                        out.push(stmt);
                    }
                    continue;
                }
                Stmt::If {
                    cond, then, otherwise, ..
                } => {
                    // Only one-sided branches turn round: the order of two sides can be seen (stores, quad_reads).
                    if let Some(inst) = self.f.def_inst(*cond)
                        && inst.op == Op::Alu(Alu::Not)
                        && (then.is_empty() || otherwise.is_empty())
                    {
                        *cond = inst.args[0];
                        std::mem::swap(then, otherwise);
                    }
                    self.body(then);
                    self.body(otherwise);
                }
                Stmt::Loop {
                    body,
                    continuing,
                    break_if,
                    ..
                } => {
                    self.body(body);
                    self.body(continuing);
                    if let Some(cond) = break_if {
                        *cond = self.replace.get(*cond);
                        match self.f.constant(*cond) {
                            Some(literal) if literal.bits == 0 => *break_if = None,
                            _ => {}
                        }
                    }
                }
                Stmt::Block { body, .. } => self.body(body),
                Stmt::Switch { cases, .. } => {
                    for case in cases {
                        self.body(&mut case.body);
                    }
                }
                Stmt::Break(_) | Stmt::Continue(_) | Stmt::Return(_) => {}
            }
            out.push(stmt);
        }
        *body = out;
    }

    /// Whether the instruction was replaced.
    fn inst(&mut self, id: InstId, out: &mut Body) -> bool {
        // A rewritten instruction may simplify again; a few rounds are plenty.
        for _ in 0..4 {
            let inst = &self.f.insts[id];
            if let Op::Alu(alu) = inst.op
                && let Some(literals) = constants(self.f, &inst.args)
                && let Some(results) = eval::fold(alu, &literals)
            {
                return self.becomes(id, &results, out);
            }
            let inst = &self.f.insts[id];
            if let Op::Bitcast(kind) = inst.op
                && let Some(literal) = self.f.constant(inst.args[0])
            {
                let bits = literal.bits;
                return self.becomes(id, &[Literal { kind, bits }], out);
            }
            let span = inst.span;
            let mut maker = Maker { f: self.f, out, span };
            match algebra::simplify(&mut maker, id) {
                Outcome::Stays => return false,
                Outcome::Is(value) => {
                    let result = self.f.insts[id].result();
                    self.replace.set(result, value);
                    return true;
                }
                Outcome::Becomes(op, args) => {
                    let inst = &mut self.f.insts[id];
                    inst.op = op;
                    inst.args = args;
                }
            }
        }
        false
    }

    fn becomes(&mut self, id: InstId, literals: &[Literal], out: &mut Body) -> bool {
        let (results, span): (SmallVec<[Value; 2]>, _) = {
            let inst = &self.f.insts[id];
            (inst.results().collect(), inst.span)
        };
        if results.len() != literals.len() {
            return false;
        }
        for (result, &literal) in results.into_iter().zip(literals) {
            let constant = new_inst(self.f, Op::Const(literal), &[], &[literal.kind], span);
            out.push(Stmt::Inst(constant));
            let value = self.f.insts[constant].result();
            self.replace.set(result, value);
        }
        true
    }
}
