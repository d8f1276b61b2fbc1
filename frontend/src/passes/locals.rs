//! Locals become values: reads are replaced by what was last written, or read, where that is known (law L7).
//!
//! A walk forwards keeps, for each local, a visible value that it holds. What a write under a mask leaves is known
//! for the lanes of that mask only (*inexact*); that is all that the lanes which read it later can tell, save by a
//! quad_read: a read that such an operation sees across a split mask takes exact knowledge only (law L2). Locals that
//! are written on some ways to a join, or round a loop, stay locals; [`liveness`](super::liveness) then removes dead
//! writes.

use super::edit::{Replacements, never_completes, new_inst};
use super::mask::Masks;
use super::rates::Rates;
use crate::ir::{Body, Function, Handle, Label, Literal, Local, Op, Stmt, Value};
use rustc_hash::FxHashMap;

/// Forwards writes to reads.
pub(super) fn run(f: &mut Function, rates: &Rates) {
    if f.locals.is_empty() {
        return;
    }
    let mut body = std::mem::take(&mut f.body);
    let mut writes = Writes::default();
    writes.loops.resize(f.label_count as usize, (0, 0, 0));
    writes.collect(f, &body);
    let mut pass = Pass {
        state: vec![Known::Initially; f.locals.len()],
        f,
        rates,
        writes,
        at: 0,
        quads: Masks::new(),
        log: Vec::new(),
        replace: Replacements::default(),
        initial: FxHashMap::default(),
        prelude: Vec::new(),
    };
    pass.body(&mut body);
    let mut prelude = pass.prelude;
    if !prelude.is_empty() {
        prelude.append(&mut body);
        body = prelude;
    }
    f.body = body;
}

/// What a local holds.
#[derive(Clone, Copy, PartialEq)]
enum Known {
    Nothing,
    /// Its initial value, in all lanes.
    Initially,
    /// This value; `exact`: in all lanes of the quads that are active, not only in the active lanes.
    Value {
        value: Value,
        exact: bool,
    },
}

/// The locals written, in the order of the text, and where loops begin and end in that list.
#[derive(Default)]
struct Writes {
    list: Vec<Handle<Local>>,
    /// By label: start of the body, end of the body, end of the continuing block.
    loops: Vec<(usize, usize, usize)>,
}

impl Writes {
    fn collect(&mut self, f: &Function, body: &Body) {
        for stmt in body {
            match stmt {
                Stmt::Inst(id) => {
                    if let Op::LocalSet { local, .. } = f.insts[*id].op {
                        self.list.push(local);
                    }
                }
                Stmt::Loop {
                    label,
                    body,
                    continuing,
                    ..
                } => {
                    let start = self.list.len();
                    self.collect(f, body);
                    let middle = self.list.len();
                    self.collect(f, continuing);
                    if let Some(slot) = self.loops.get_mut(label.0 as usize) {
                        *slot = (start, middle, self.list.len());
                    }
                }
                other => {
                    for nested in super::edit::nested(other) {
                        self.collect(f, nested);
                    }
                }
            }
        }
    }
}

struct Pass<'a> {
    f: &'a mut Function,
    rates: &'a Rates,
    writes: Writes,
    /// Writes passed so far.
    at: usize,
    quads: Masks,
    state: Vec<Known>,
    /// What `state` held before, to go back to at the end of a region.
    log: Vec<(Handle<Local>, Known)>,
    replace: Replacements,
    initial: FxHashMap<Literal, Value>,
    /// Constants for initial values, to stand first.
    prelude: Body,
}

impl Pass<'_> {
    fn set(&mut self, local: Handle<Local>, known: Known) {
        let slot = &mut self.state[local.index()];
        if *slot != known {
            self.log.push((local, *slot));
            *slot = known;
        }
    }

    fn rewind(&mut self, mark: usize) {
        while self.log.len() > mark {
            if let Some((local, known)) = self.log.pop() {
                self.state[local.index()] = known;
            }
        }
    }

    /// Forgets what the locals in that part of the list of writes hold.
    fn forget(&mut self, from: usize, to: usize) {
        for i in from..to {
            self.set(self.writes.list[i], Known::Nothing);
        }
    }

    /// Walks a nested body, and forgets afterwards what it learnt.
    fn region(&mut self, body: &mut Body) {
        let mark = self.log.len();
        self.body(body);
        self.rewind(mark);
        self.quads.leave();
    }

    fn body(&mut self, body: &mut Body) {
        body.retain_mut(|stmt| self.stmt(stmt));
    }

    /// Whether the statement stays.
    fn stmt(&mut self, stmt: &mut Stmt) -> bool {
        self.replace.apply_to_head(self.f, stmt);
        match stmt {
            Stmt::Inst(id) => {
                let inst = &self.f.insts[*id];
                match inst.op {
                    Op::LocalGet(local) => {
                        let result = inst.result();
                        return self.read(local, result);
                    }
                    Op::LocalSet { local, .. } => {
                        let value = inst.args[0];
                        return self.write(local, value);
                    }
                    _ => {}
                }
            }
            Stmt::Block { label, body } => {
                self.quads.enter_block(*label);
                let start = self.at;
                self.region(body);
                self.forget(start, self.at);
            }
            Stmt::If {
                cond, then, otherwise, ..
            } => {
                let uniform = self.rates.quad_uniform(*cond);
                let start = self.at;
                self.quads.enter_side(uniform);
                self.region(then);
                let middle = self.at;
                // The other side's lanes weren't here, but their neighbours were.
                self.blur(start, middle, uniform);
                self.quads.enter_side(uniform);
                self.region(otherwise);
                self.blur(middle, self.at, uniform);
                // What lanes wrote that don't come back doesn't matter to those that are here now.
                if !never_completes(then) {
                    self.forget(start, middle);
                }
                if !never_completes(otherwise) {
                    self.forget(middle, self.at);
                }
            }
            Stmt::Loop {
                label,
                body,
                continuing,
                break_if,
                ..
            } => {
                let leaky = !self.rates.loop_quad_uniform(*label);
                let (start, middle, end) = self.loop_writes(*label);
                self.forget(start, end);
                self.quads.enter_loop(*label, leaky);
                self.region(body);
                self.forget(start, middle);
                self.quads.enter_continuing(*label, leaky);
                let mark = self.log.len();
                self.body(continuing);
                if let Some(cond) = break_if {
                    *cond = self.replace.get(*cond);
                }
                self.rewind(mark);
                self.quads.leave();
                self.forget(start, end);
            }
            Stmt::Switch {
                label, selector, cases, ..
            } => {
                let uniform = self.rates.quad_uniform(*selector);
                let start = self.at;
                let mut partial = false;
                for case in cases {
                    let before = self.at;
                    // Lanes may come from the case before, or straight here.
                    if before > start {
                        self.forget(start, before);
                    }
                    self.quads.enter_case(*label, uniform, partial);
                    let mark = self.log.len();
                    self.body(&mut case.body);
                    self.rewind(mark);
                    let left = self.quads.leave();
                    partial = case.falls_through && left;
                }
                self.forget(start, self.at);
            }
            Stmt::Break(label) => {
                self.quads.break_(*label, |_| {});
            }
            Stmt::Continue(label) => {
                self.quads.continue_(*label, |_| {});
            }
            Stmt::Return(_) => {
                self.quads.return_(|_| {});
            }
        }
        true
    }

    fn loop_writes(&self, label: Label) -> (usize, usize, usize) {
        let end = self.writes.list.len();
        self.writes
            .loops
            .get(label.0 as usize)
            .copied()
            .unwrap_or((self.at, end, end))
    }

    /// Some lanes of the quad, but not those that go on, may have written these locals.
    fn blur(&mut self, from: usize, to: usize, uniform: bool) {
        if uniform {
            return;
        }
        for i in from..to {
            let local = self.writes.list[i];
            let known = match self.state[local.index()] {
                Known::Nothing => continue,
                Known::Initially => self.initial(local),
                Known::Value { value, .. } => value,
            };
            let (value, exact) = (known, false);
            self.set(local, Known::Value { value, exact });
        }
    }

    /// Whether the read stays.
    fn read(&mut self, local: Handle<Local>, result: Value) -> bool {
        let known = match self.state[local.index()] {
            Known::Initially => Known::Value {
                value: self.initial(local),
                exact: true,
            },
            other => other,
        };
        match known {
            Known::Value { value, exact } if exact || !self.rates.seen_by_quad(result) => {
                self.replace.set(result, value);
                false
            }
            _ => {
                let (value, exact) = (result, true);
                self.set(local, Known::Value { value, exact });
                true
            }
        }
    }

    fn initial(&mut self, local: Handle<Local>) -> Value {
        let literal = self.f.locals[local].init;
        if let Some(&value) = self.initial.get(&literal) {
            return value;
        }
        let id = new_inst(self.f, Op::Const(literal), &[], &[literal.kind], None);
        self.prelude.push(Stmt::Inst(id));
        let value = self.f.insts[id].result();
        self.initial.insert(literal, value);
        value
    }

    /// Whether the write stays.
    fn write(&mut self, local: Handle<Local>, value: Value) -> bool {
        self.at += 1;
        match self.state[local.index()] {
            Known::Value { value: held, .. } if held == value => return false,
            Known::Initially if self.f.constant(value) == Some(self.f.locals[local].init) => return false,
            _ => {}
        }
        let exact = self.quads.full();
        self.set(local, Known::Value { value, exact });
        true
    }
}
