//! Unrolls counted loops: small bodies run few times become straight code, whose counters the folder then resolves.
//!
//! The copies stand in a block with the loop's label, so `Break` stays what it is; `Continue` leaves a block around the
//! copy of the body. Each lane executes the same statements in the same order (laws I1, L1). Unrolled taps of a filter
//! are what `sample_n` needs (law S1).

use super::edit::{any_stmt, continues_to, for_each_inst, nested, nested_mut};
use super::ifconvert::weight;
use crate::ir::{Args, Def, Handle};
use crate::ir::{Body, Case, Function, Inst, InstId, Label, LoopBound, Op, Stmt, Value, ValueData};
use rustc_hash::FxHashMap;

/// Most copies of a body.
const MAX_TRIPS: u32 = 65;
/// Most instructions that one loop may become.
const MAX_SIZE: usize = 640;
/// A loop with more exits than the counter's is unrolled for at most so many trips.
const MAX_TRIPS_WITH_EXITS: u32 = 4;
/// Instructions that unrolling may add to a function in one round.
const BUDGET: usize = 6000;

/// Unrolls small counted loops, inner ones first; whether it did anything.
pub(super) fn run(f: &mut Function) -> bool {
    let mut body = std::mem::take(&mut f.body);
    let mut pass = Pass {
        f,
        budget: BUDGET,
        changed: false,
    };
    pass.body(&mut body);
    let changed = pass.changed;
    f.body = body;
    changed
}

struct Pass<'a> {
    f: &'a mut Function,
    budget: usize,
    changed: bool,
}

impl Pass<'_> {
    fn body(&mut self, body: &mut Body) {
        for stmt in body {
            for inner in nested_mut(stmt) {
                self.body(inner);
            }
            let Stmt::Loop {
                label,
                body,
                continuing,
                break_if,
                bound: LoopBound::AtMost(trips),
                ..
            } = stmt
            else {
                continue;
            };
            let size = self.size(body) + self.size(continuing);
            let total = size.saturating_mul(*trips as usize);
            let exits = exits(body, *label) + usize::from(break_if.is_some());
            let few = *trips <= MAX_TRIPS && (exits <= 1 || *trips <= MAX_TRIPS_WITH_EXITS);
            if !few || total > MAX_SIZE || total > self.budget || has_budgeted_loop(body) {
                continue;
            }
            self.budget -= total;
            self.changed = true;
            let block = self.unroll(*label, body, continuing, *break_if, *trips);
            *stmt = Stmt::Block {
                label: *label,
                body: block,
            };
        }
    }

    /// Instructions, roughly as many as they will be when they are expanded.
    fn size(&self, body: &Body) -> usize {
        let mut size = 0;
        for_each_inst(body, &mut |id| {
            size += match self.f.insts[id].op {
                Op::Const(_) => 0,
                Op::Alu(alu) if !alu.is_primitive() => weight(&Op::Alu(alu)) as usize,
                Op::Sample { .. } | Op::TexelLoad { .. } => 4,
                _ => 1,
            };
        });
        size
    }

    fn unroll(&mut self, label: Label, body: &Body, continuing: &Body, break_if: Option<Value>, trips: u32) -> Body {
        let mut out = Vec::new();
        let continues = continues_to(body, label);
        for trip in 0..trips {
            let mut copier = Copier::new(self.f);
            if continues {
                let block = copier.fresh();
                copier.continues = Some((label, block));
                let body = copier.body(body);
                out.push(Stmt::Block { label: block, body });
            } else {
                out.extend(copier.body(body));
            }
            out.extend(copier.body(continuing));
            // Behind the last iteration nobody is left.
            if let Some(cond) = break_if
                && trip + 1 < trips
            {
                out.push(Stmt::If {
                    cond: copier.value(cond),
                    then: vec![Stmt::Break(label)],
                    otherwise: Vec::new(),
                    span: None,
                });
            }
        }
        out
    }
}

/// Exits out of a loop in its body.
fn exits(body: &Body, label: Label) -> usize {
    let mut inner = Vec::new();
    any_stmt(body, &mut |stmt| {
        if let Stmt::Block { label, .. } | Stmt::Loop { label, .. } | Stmt::Switch { label, .. } = stmt {
            inner.push(*label);
        }
        false
    });
    let mut count = 0;
    any_stmt(body, &mut |stmt| {
        count += match stmt {
            Stmt::Return(_) => 1,
            Stmt::Break(l) => usize::from(!inner.contains(l)),
            Stmt::Continue(l) => usize::from(*l != label && !inner.contains(l)),
            _ => 0,
        };
        false
    });
    count
}

/// Copies of a budgeted loop would be numbered as loops of their own; not worth it.
fn has_budgeted_loop(body: &Body) -> bool {
    any_stmt(body, &mut |s| {
        matches!(
            s,
            Stmt::Loop {
                bound: LoopBound::Budgeted,
                ..
            }
        )
    })
}

/// Copies statements with fresh values and labels; what is defined outside stays.
struct Copier<'a> {
    f: &'a mut Function,
    values: FxHashMap<Value, Value>,
    labels: FxHashMap<Label, Label>,
    /// `Continue` of the first becomes `Break` of the second.
    continues: Option<(Label, Label)>,
}

impl<'a> Copier<'a> {
    fn new(f: &'a mut Function) -> Self {
        Copier {
            f,
            values: FxHashMap::default(),
            labels: FxHashMap::default(),
            continues: None,
        }
    }

    fn fresh(&mut self) -> Label {
        let label = Label(self.f.label_count);
        self.f.label_count += 1;
        label
    }

    fn new_label(&mut self, label: Label) -> Label {
        let new = self.fresh();
        self.labels.insert(label, new);
        new
    }

    fn label(&self, label: Label) -> Label {
        self.labels.get(&label).copied().unwrap_or(label)
    }

    fn value(&self, value: Value) -> Value {
        self.values.get(&value).copied().unwrap_or(value)
    }

    fn inst(&mut self, id: InstId) -> InstId {
        let old = self.f.insts[id].clone();
        let new = Handle::from_index(self.f.insts.len());
        let first = Handle::from_index(self.f.values.len());
        for (i, result) in old.results().enumerate() {
            let kind = self.f.kind(result);
            let def = Def::Inst(new, i as u8);
            let copy = self.f.values.push(ValueData { kind, def });
            self.values.insert(result, copy);
        }
        let args: Args = old.args.iter().map(|&a| self.value(a)).collect();
        self.f.insts.push(Inst {
            args,
            first_result: old.first_result.map(|_| first),
            ..old
        })
    }

    fn body(&mut self, body: &Body) -> Body {
        body.iter().map(|stmt| self.stmt(stmt)).collect()
    }

    fn stmt(&mut self, stmt: &Stmt) -> Stmt {
        match stmt {
            Stmt::Inst(id) => Stmt::Inst(self.inst(*id)),
            Stmt::Block { label, body } => Stmt::Block {
                label: self.new_label(*label),
                body: self.body(body),
            },
            Stmt::If {
                cond,
                then,
                otherwise,
                span,
            } => Stmt::If {
                cond: self.value(*cond),
                then: self.body(then),
                otherwise: self.body(otherwise),
                span: *span,
            },
            Stmt::Loop {
                label,
                body,
                continuing,
                break_if,
                bound,
                span,
            } => Stmt::Loop {
                label: self.new_label(*label),
                body: self.body(body),
                continuing: self.body(continuing),
                break_if: break_if.map(|v| self.value(v)),
                bound: *bound,
                span: *span,
            },
            Stmt::Switch {
                label,
                selector,
                cases,
                span,
            } => Stmt::Switch {
                label: self.new_label(*label),
                selector: self.value(*selector),
                cases: cases
                    .iter()
                    .map(|case| Case {
                        values: case.values.clone(),
                        default: case.default,
                        body: self.body(&case.body),
                        falls_through: case.falls_through,
                    })
                    .collect(),
                span: *span,
            },
            Stmt::Break(label) => Stmt::Break(self.label(*label)),
            Stmt::Continue(label) => match self.continues {
                Some((from, to)) if from == *label => Stmt::Break(to),
                _ => Stmt::Continue(self.label(*label)),
            },
            Stmt::Return(args) => Stmt::Return(args.iter().map(|&a| self.value(a)).collect()),
        }
    }
}

/// Whether the body holds a loop at all.
pub(super) fn has_loop(body: &Body) -> bool {
    body.iter()
        .any(|s| matches!(s, Stmt::Loop { .. }) || nested(s).into_iter().any(has_loop))
}
