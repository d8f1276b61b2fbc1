//! Dead code: instructions without effect whose results nobody uses, constructs without statements.
//!
//! One walk backwards: every use stands after its definition. Samples and texel loads are narrowed to the components
//! that are used (law S1). Loops stay unless they are proved bounded and have no effect (law I7).

use super::edit::{effect, nested};
use crate::ir::{Arena, Body, Effect, Function, InstId, LoopBound, Op, Resource, Stmt, Value};

/// Removes dead code.
pub(super) fn run(f: &mut Function, resources: &Arena<Resource>) {
    let mut body = std::mem::take(&mut f.body);
    let mut pass = Pass {
        used: vec![false; f.values.len()],
        f,
        resources,
    };
    pass.body(&mut body);
    f.body = body;
}

struct Pass<'a> {
    f: &'a mut Function,
    resources: &'a Arena<Resource>,
    used: Vec<bool>,
}

impl Pass<'_> {
    fn use_(&mut self, value: Value) {
        self.used[value.index()] = true;
    }

    /// Whether the instruction stays.
    fn inst(&mut self, id: InstId) -> bool {
        let inst = &mut self.f.insts[id];
        let mut used = 0u32;
        for (i, result) in inst.results().enumerate() {
            used |= u32::from(self.used[result.index()]) << i.min(31);
        }
        if used == 0 && effect(&inst.op, self.resources) != Effect::Writes {
            return false;
        }
        match &mut inst.op {
            Op::Sample { op, .. } => op.mask &= used as u8 & ((1 << op.components()) - 1),
            Op::TexelLoad { op, .. } => op.mask &= used as u8 & 15,
            _ => {}
        }
        for &arg in &inst.args {
            self.used[arg.index()] = true;
        }
        true
    }

    fn body(&mut self, body: &mut Body) {
        // Statements are kept in place; what goes is compacted from the back to the front in one sweep.
        let mut keep = vec![true; body.len()];
        for (i, stmt) in body.iter_mut().enumerate().rev() {
            keep[i] = self.stmt(stmt);
        }
        let mut at = 0;
        body.retain(|_| {
            at += 1;
            keep[at - 1]
        });
    }

    /// Whether the statement stays.
    fn stmt(&mut self, stmt: &mut Stmt) -> bool {
        match stmt {
            Stmt::Inst(id) => self.inst(*id),
            Stmt::Block { body, .. } => {
                self.body(body);
                !body.is_empty()
            }
            Stmt::If {
                cond, then, otherwise, ..
            } => {
                self.body(then);
                self.body(otherwise);
                let stays = !then.is_empty() || !otherwise.is_empty();
                if stays {
                    self.use_(*cond);
                }
                stays
            }
            Stmt::Loop {
                body,
                continuing,
                break_if,
                bound,
                ..
            } => {
                if *bound != LoopBound::Budgeted && !has_effect(self.f, self.resources, body, continuing) {
                    return false;
                }
                if let Some(cond) = *break_if {
                    self.use_(cond);
                }
                self.body(continuing);
                self.body(body);
                true
            }
            Stmt::Switch { selector, cases, .. } => {
                for case in cases.iter_mut() {
                    self.body(&mut case.body);
                }
                let stays = cases.iter().any(|c| !c.body.is_empty());
                if stays {
                    self.use_(*selector);
                }
                stays
            }
            Stmt::Break(_) | Stmt::Continue(_) => true,
            Stmt::Return(args) => {
                args.iter().for_each(|&a| self.use_(a));
                true
            }
        }
    }
}

/// Whether a loop writes anything, or is left for somewhere else than its end.
fn has_effect(f: &Function, resources: &Arena<Resource>, body: &Body, continuing: &Body) -> bool {
    fn any(f: &Function, resources: &Arena<Resource>, body: &Body) -> bool {
        body.iter().any(|stmt| match stmt {
            Stmt::Inst(id) => effect(&f.insts[*id].op, resources) == Effect::Writes,
            // Exits to inner constructs, or of the loop itself, would be harmless; telling them apart isn't worth it.
            Stmt::Break(_) | Stmt::Continue(_) | Stmt::Return(_) => true,
            Stmt::Loop {
                bound: LoopBound::Budgeted,
                ..
            } => true,
            other => nested(other).into_iter().any(|b| any(f, resources, b)),
        })
    }
    any(f, resources, body) || any(f, resources, continuing)
}
