//! Small branches become selects: every instruction computes all lanes anyway, so a branch saves nothing unless no lane
//! wants it (laws L1, L7).
//!
//! The statements of both sides stand in their order in the parent; a write of a local becomes a write of
//! `select(cond, new, old)`, which leaves each lane, active or not, what the masked write left it. So quad_reads see
//! the same (law L2).

use super::edit::{effect, nested_mut, new_inst};
use super::rates::Rates;
use crate::ir::{Alu, Arena, Body, Effect, Function, Inst, Op, Resource, SpanId, Stmt, Value};

/// Weight up to which both sides together are cheaper than a branch that lanes may take differently.
const VARYING_LIMIT: u32 = 16;
/// As above, for a branch that all lanes take alike.
const UNIFORM_LIMIT: u32 = 3;

/// Converts small branches.
pub(super) fn run(f: &mut Function, resources: &Arena<Resource>, rates: &Rates) {
    let mut body = std::mem::take(&mut f.body);
    let mut pass = Pass { f, resources, rates };
    pass.body(&mut body);
    f.body = body;
}

/// What an operation costs, roughly in cycles of throughput.
pub(super) fn weight(op: &Op) -> u32 {
    match op {
        Op::Const(_) | Op::LocalGet(_) | Op::Bitcast(_) | Op::DrawLoad { .. } => 0,
        Op::Alu(Alu::FDiv | Alu::FSqrt) => 5,
        Op::Alu(alu) if alu.is_primitive() => 1,
        Op::Alu(Alu::FSaturate | Alu::FFract | Alu::FSign | Alu::SAbs | Alu::FToSWgsl | Alu::FToUWgsl) => 3,
        Op::Alu(_) => 20,
        Op::Sample { .. } => 100,
        Op::TexelLoad { .. } => 30,
        Op::BufferLoad { .. } => 8,
        _ => 1,
    }
}

struct Pass<'a> {
    f: &'a mut Function,
    resources: &'a Arena<Resource>,
    rates: &'a Rates,
}

impl Pass<'_> {
    fn body(&mut self, body: &mut Body) {
        let mut any = false;
        for stmt in body.iter_mut() {
            for inner in nested_mut(stmt) {
                self.body(inner);
            }
            any |= matches!(stmt, Stmt::If { .. });
        }
        if !any {
            return;
        }
        let mut out = Vec::with_capacity(body.len());
        for stmt in body.drain(..) {
            match stmt {
                Stmt::If {
                    cond,
                    then,
                    otherwise,
                    span,
                } if self.converts(cond, &then, &otherwise) => {
                    self.side(cond, true, &then, span, &mut out);
                    self.side(cond, false, &otherwise, span, &mut out);
                }
                other => out.push(other),
            }
        }
        *body = out;
    }

    fn converts(&self, cond: Value, then: &Body, otherwise: &Body) -> bool {
        let limit = if self.rates.uniform(cond) {
            UNIFORM_LIMIT
        } else {
            VARYING_LIMIT
        };
        let mut total = 0;
        then.iter().chain(otherwise).all(|stmt| {
            let Stmt::Inst(id) = stmt else { return false };
            let op = &self.f.insts[*id].op;
            total += weight(op);
            let simple = match op {
                Op::LocalGet(_) | Op::LocalSet { .. } | Op::Quad(_) => true,
                // Loads and samples cost more than a branch, however few.
                Op::Sample { .. } | Op::TexelLoad { .. } | Op::BufferLoad { .. } => false,
                op => effect(op, self.resources) == Effect::Pure,
            };
            simple && total <= limit
        })
    }

    fn side(&mut self, cond: Value, then: bool, side: &Body, span: Option<SpanId>, out: &mut Body) {
        for stmt in side {
            if let Stmt::Inst(id) = stmt
                && let Inst {
                    op: Op::LocalSet { local, merge: true },
                    args,
                    span: at,
                    ..
                } = &self.f.insts[*id]
            {
                let (local, new, span) = (*local, args[0], at.or(span));
                let kind = self.f.locals[local].kind;
                let get = new_inst(self.f, Op::LocalGet(local), &[], &[kind], span);
                let old = self.f.insts[get].result();
                let (a, b) = if then { (new, old) } else { (old, new) };
                let select = new_inst(self.f, Op::Alu(Alu::Select), &[cond, a, b], &[kind], span);
                let value = self.f.insts[select].result();
                self.f.insts[*id].args[0] = value;
                out.extend([Stmt::Inst(get), Stmt::Inst(select)]);
            }
            out.push(stmt.clone());
        }
    }
}
