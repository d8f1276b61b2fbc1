//! Dead writes of locals, and writes that need not keep what inactive lanes hold (law L7).
//!
//! A walk backwards computes, for each point, the locals that a lane standing there may still read (*live*), and those
//! that lanes waiting elsewhere may read when they come back (*parked*: in the other side of a branch, at the end of a
//! block they left, after a loop they left...). A write of a local that isn't live is dead. One whose local isn't parked
//! may overwrite all lanes (`merge` false). Locals that a quad_read sees across a split mask keep all their writes, and
//! their inactive lanes (law L2). Loops need the live set of their own head: walks are repeated until it is stable,
//! at most as often as loops nest.

use super::rates::Rates;
use crate::ir::{Body, Function, Handle, Local, Op, Stmt};

/// Removes dead writes and sets `merge`. `live_out`: locals whose value at the function's end counts.
pub(super) fn run(f: &mut Function, rates: &Rates, live_out: &[Handle<Local>]) {
    if f.locals.is_empty() {
        return;
    }
    let mut body = std::mem::take(&mut f.body);
    let labels = f.label_count as usize;
    let empty = Bits::new(f.locals.len());
    let mut at_end = empty.clone();
    for &local in live_out {
        at_end.insert(local);
    }
    let mut pass = Pass {
        rates,
        at_end,
        seen: empty.clone(),
        heads: vec![None; labels],
        breaks: vec![None; labels],
        continues: vec![None; labels],
        parked: empty.clone(),
        empty,
        changed: false,
        loops: false,
        finish: false,
        f,
    };
    pass.find_seen(&body);
    if pass.loops {
        loop {
            pass.changed = false;
            pass.function(&mut body);
            if !pass.changed {
                break;
            }
        }
    }
    pass.finish = true;
    pass.function(&mut body);
    f.body = body;
}

/// A set of locals.
#[derive(Clone, PartialEq)]
struct Bits(Vec<u64>);

impl Bits {
    fn new(len: usize) -> Bits {
        Bits(vec![0; len.div_ceil(64)])
    }

    fn insert(&mut self, local: Handle<Local>) {
        self.0[local.index() / 64] |= 1 << (local.index() % 64);
    }

    fn remove(&mut self, local: Handle<Local>) {
        self.0[local.index() / 64] &= !(1 << (local.index() % 64));
    }

    fn contains(&self, local: Handle<Local>) -> bool {
        self.0[local.index() / 64] >> (local.index() % 64) & 1 != 0
    }

    fn union(&mut self, other: &Bits) {
        for (a, b) in self.0.iter_mut().zip(&other.0) {
            *a |= b;
        }
    }
}

struct Pass<'a> {
    f: &'a mut Function,
    rates: &'a Rates,
    at_end: Bits,
    /// Locals whose inactive lanes a quad_read may see.
    seen: Bits,
    /// By label: live at a loop's head, so far.
    heads: Vec<Option<Bits>>,
    /// By label: live where `Break` and `Continue` go.
    breaks: Vec<Option<Bits>>,
    continues: Vec<Option<Bits>>,
    parked: Bits,
    empty: Bits,
    changed: bool,
    loops: bool,
    /// Whether this walk changes the body.
    finish: bool,
}

impl Pass<'_> {
    fn find_seen(&mut self, body: &Body) {
        for stmt in body {
            match stmt {
                Stmt::Inst(id) => {
                    let inst = &self.f.insts[*id];
                    if let Op::LocalGet(local) = inst.op
                        && self.rates.seen_by_quad(inst.result())
                    {
                        self.seen.insert(local);
                    }
                }
                other => {
                    self.loops |= matches!(other, Stmt::Loop { .. });
                    for nested in super::edit::nested(other) {
                        self.find_seen(nested);
                    }
                }
            }
        }
    }

    fn function(&mut self, body: &mut Body) {
        self.parked = if self.rates.splits_at_return() {
            self.at_end.clone()
        } else {
            self.empty.clone()
        };
        let mut live = self.at_end.clone();
        self.body(body, &mut live);
    }

    /// Walks a body with more lanes parked, then goes back to those parked before.
    fn region(&mut self, body: &mut Body, live: &mut Bits, parked: &[&Bits]) {
        if parked.is_empty() {
            return self.body(body, live);
        }
        let before = self.parked.clone();
        for more in parked {
            self.parked.union(more);
        }
        self.body(body, live);
        self.parked = before;
    }

    /// `live`: at the body's end on entry, at its start on return.
    fn body(&mut self, body: &mut Body, live: &mut Bits) {
        if !self.finish {
            for stmt in body.iter_mut().rev() {
                self.stmt(stmt, live);
            }
            return;
        }
        let mut keep = vec![true; body.len()];
        for (i, stmt) in body.iter_mut().enumerate().rev() {
            keep[i] = self.stmt(stmt, live);
        }
        let mut at = 0;
        body.retain(|_| {
            at += 1;
            keep[at - 1]
        });
    }

    /// Whether the statement stays.
    fn stmt(&mut self, stmt: &mut Stmt, live: &mut Bits) -> bool {
        match stmt {
            Stmt::Inst(id) => {
                let op = &mut self.f.insts[*id].op;
                match op {
                    Op::LocalGet(local) => live.insert(*local),
                    Op::LocalSet { local, merge } => {
                        let (local, seen) = (*local, self.seen.contains(*local));
                        if !live.contains(local) && !seen {
                            return false;
                        }
                        live.remove(local);
                        if self.finish {
                            *merge = seen || self.parked.contains(local);
                        }
                    }
                    _ => {}
                }
            }
            Stmt::Block { label, body } => {
                let after = live.clone();
                self.breaks[label.0 as usize] = Some(after.clone());
                if self.rates.splits_at_break(*label) {
                    self.region(body, live, &[&after]);
                } else {
                    self.region(body, live, &[]);
                }
            }
            Stmt::If {
                cond, then, otherwise, ..
            } => {
                let after = live.clone();
                let mut live_then = live.clone();
                if self.rates.uniform(*cond) {
                    self.region(otherwise, live, &[]);
                    self.region(then, &mut live_then, &[]);
                } else {
                    self.region(otherwise, live, &[&after]);
                    self.region(then, &mut live_then, &[&*live]);
                }
                live.union(&live_then);
            }
            Stmt::Loop {
                label,
                body,
                continuing,
                break_if,
                ..
            } => {
                let (index, after) = (label.0 as usize, live.clone());
                let head = self.heads[index].clone().unwrap_or_else(|| self.empty.clone());
                self.breaks[index] = Some(after.clone());
                *live = head.clone();
                if break_if.is_some() {
                    live.union(&after);
                }
                let left: &[&Bits] = if self.rates.loop_uniform(*label) && !self.rates.splits_at_break(*label) {
                    &[]
                } else {
                    &[&after]
                };
                self.region(continuing, live, left);
                let at_continue = live.clone();
                self.continues[index] = Some(at_continue.clone());
                let mut parked = left.to_vec();
                if self.rates.splits_at_continue(*label) {
                    parked.push(&at_continue);
                }
                self.region(body, live, &parked);
                if *live != head {
                    self.heads[index] = Some(live.clone());
                    self.changed = true;
                }
            }
            Stmt::Switch {
                label, selector, cases, ..
            } => {
                let after = live.clone();
                self.breaks[label.0 as usize] = Some(after.clone());
                let splits = !self.rates.uniform(*selector) || self.rates.splits_at_break(*label);
                let has_default = cases.iter().any(|c| c.default);
                let mut entry = if has_default { self.empty.clone() } else { after.clone() };
                let mut next = after.clone();
                let mut waiting = after.clone();
                for case in cases.iter_mut().rev() {
                    let mut live = if case.falls_through { next } else { after.clone() };
                    if splits {
                        self.region(&mut case.body, &mut live, &[&waiting]);
                    } else {
                        self.region(&mut case.body, &mut live, &[]);
                    }
                    entry.union(&live);
                    waiting.union(&live);
                    next = live;
                }
                *live = entry;
            }
            Stmt::Break(label) => self.go_to(live, self.breaks[label.0 as usize].clone()),
            Stmt::Continue(label) => self.go_to(live, self.continues[label.0 as usize].clone()),
            Stmt::Return(_) => *live = self.at_end.clone(),
        }
        true
    }

    fn go_to(&self, live: &mut Bits, target: Option<Bits>) {
        *live = target.unwrap_or_else(|| self.empty.clone());
    }
}
