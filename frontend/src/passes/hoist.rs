//! Moves invariant work out of branches and loops to the root body, so that it is done once (laws L8, L9).
//!
//! What moves depends on draw or primitive rate values alone, is pure and total, and doesn't sample: it may run where
//! no lane would have wanted it. Loads out of bounds give 0 unless they are proved in bounds, so they are total, too.
//! Other work moves from a loop's
//! body to the front of the loop if every iteration would compute it alike, even should a lane not enter the loop.

use super::edit::{effect, nested_mut, new_inst};
use super::rates::{Rate, Rates};
use crate::ir::{Arena, Body, Effect, Function, InstId, Op, Resource, Stmt, Value};

/// Hoists.
pub(super) fn run(f: &mut Function, resources: &Arena<Resource>, rates: &Rates) {
    let mut body = std::mem::take(&mut f.body);
    let mut pass = Pass {
        depth: vec![0; f.values.len()],
        f,
        resources,
        rates,
        root: Vec::new(),
    };
    pass.body(&mut body, 0);
    f.body = body;
}

struct Pass<'a> {
    f: &'a mut Function,
    resources: &'a Arena<Resource>,
    rates: &'a Rates,
    /// Depth of the body that defines each value, after hoisting.
    depth: Vec<u32>,
    /// What goes in front of the root statement at hand.
    root: Body,
}

impl Pass<'_> {
    fn place(&mut self, id: InstId, depth: u32) {
        for result in self.f.insts[id].results() {
            if self.depth.len() <= result.index() {
                self.depth.resize(result.index() + 1, 0);
            }
            self.depth[result.index()] = depth;
        }
    }

    fn depth_of(&self, value: Value) -> u32 {
        self.depth[value.index()]
    }

    /// Whether the instruction may run earlier, and where nobody wanted it.
    fn movable(&self, id: InstId) -> bool {
        let op = &self.f.insts[id].op;
        effect(op, self.resources) == Effect::Pure && !matches!(op, Op::Sample { .. } | Op::TexelLoad { .. })
    }

    fn invariant(&self, id: InstId) -> bool {
        let inst = &self.f.insts[id];
        self.movable(id)
            && inst.results().all(|r| self.rates.rate(r) <= Rate::Primitive)
            && inst.args.iter().all(|&a| self.depth_of(a) == 0)
    }

    fn body(&mut self, body: &mut Body, depth: u32) {
        let old = std::mem::take(body);
        let mut out = Vec::with_capacity(old.len());
        for mut stmt in old {
            match &mut stmt {
                Stmt::Inst(id) => {
                    let id = *id;
                    if depth > 0 && self.invariant(id) {
                        self.place(id, 0);
                        self.root.push(stmt);
                    } else {
                        self.place(id, depth);
                        out.push(stmt);
                    }
                    continue;
                }
                Stmt::Loop { body, continuing, .. } => {
                    self.body(body, depth + 1);
                    self.body(continuing, depth + 1);
                    self.lift(body, depth, &mut out);
                }
                other => {
                    for inner in nested_mut(other) {
                        self.body(inner, depth + 1);
                    }
                }
            }
            if depth == 0 {
                out.append(&mut self.root);
            }
            out.push(stmt);
        }
        *body = out;
    }

    /// Moves what every iteration computes alike from a loop's body to `out`, in front of the loop.
    fn lift(&mut self, body: &mut Body, depth: u32, out: &mut Body) {
        if depth == 0 {
            out.append(&mut self.root);
        }
        body.retain(|stmt| {
            let Stmt::Inst(id) = *stmt else { return true };
            let inst = &self.f.insts[id];
            let outside = |f: &Function, a: Value| f.constant(a).is_some() || self.depth_of(a) <= depth;
            // Constants cost nothing where they are.
            if inst.args.is_empty() || !self.movable(id) || !inst.args.iter().all(|&a| outside(self.f, a)) {
                return true;
            }
            for i in 0..self.f.insts[id].args.len() {
                let arg = self.f.insts[id].args[i];
                if self.depth_of(arg) <= depth {
                    continue;
                }
                if let Some(literal) = self.f.constant(arg) {
                    let constant = new_inst(self.f, Op::Const(literal), &[], &[literal.kind], None);
                    self.place(constant, depth);
                    out.push(Stmt::Inst(constant));
                    self.f.insts[id].args[i] = self.f.insts[constant].result();
                }
            }
            self.place(id, depth);
            out.push(stmt.clone());
            false
        });
    }
}
