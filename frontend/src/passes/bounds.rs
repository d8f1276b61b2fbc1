//! Counted loops: how often can a loop run? (law I7)
//!
//! A counter is a local that starts with a known constant and is written once in the loop, with a function of itself
//! and constants, where every lane comes by that goes round again. An exit that depends on the counter alone, or is
//! taken whenever a test of the counter says so (`n < 8 && more`), and that no `Continue` jumps over, bounds the loop:
//! it is run on paper. Per-lane exits only make it shorter.

use super::edit::{continues_to, for_each_inst, nested, stmt_never_completes};
use crate::ir::{Alu, Body, Function, Handle, InstId, Label, Literal, Local, LoopBound, Op, Stmt, Value, eval};
use smallvec::SmallVec;

/// Iterations that are run on paper.
const MAX_RUN: u32 = 4096;
/// Depth of expressions of the counter.
const MAX_DEPTH: usize = 6;

/// Sets the bounds of counted loops.
pub(super) fn run(f: &mut Function) {
    let mut body = std::mem::take(&mut f.body);
    let mut pass = Pass {
        state: f.locals.iter().map(|(_, l)| Some(l.init)).collect(),
        log: Vec::new(),
        f,
    };
    pass.body(&mut body);
    f.body = body;
}

struct Pass<'a> {
    f: &'a mut Function,
    /// Constants that locals hold in all active lanes.
    state: Vec<Option<Literal>>,
    log: Vec<(Handle<Local>, Option<Literal>)>,
}

impl Pass<'_> {
    fn set(&mut self, local: Handle<Local>, to: Option<Literal>) {
        let slot = &mut self.state[local.index()];
        if *slot != to {
            self.log.push((local, *slot));
            *slot = to;
        }
    }

    fn forget(&mut self, bodies: &[&Body]) {
        for body in bodies {
            let mut written = Vec::new();
            for_each_inst(body, &mut |id| {
                if let Op::LocalSet { local, .. } = self.f.insts[id].op {
                    written.push(local);
                }
            });
            for local in written {
                self.set(local, None);
            }
        }
    }

    fn region(&mut self, body: &mut Body) {
        let mark = self.log.len();
        self.body(body);
        while self.log.len() > mark {
            if let Some((local, before)) = self.log.pop() {
                self.state[local.index()] = before;
            }
        }
    }

    fn body(&mut self, body: &mut Body) {
        for stmt in body {
            match stmt {
                Stmt::Inst(id) => {
                    if let Op::LocalSet { local, .. } = self.f.insts[*id].op {
                        let constant = self.f.constant(self.f.insts[*id].args[0]);
                        self.set(local, constant);
                    }
                }
                Stmt::Loop {
                    label,
                    body,
                    continuing,
                    break_if,
                    bound,
                    ..
                } => {
                    if *bound == LoopBound::Budgeted
                        && let Some(n) = self.count(*label, body, continuing, *break_if)
                    {
                        *bound = LoopBound::AtMost(n);
                    }
                    self.forget(&[body, continuing]);
                    self.region(body);
                    self.region(continuing);
                }
                other => {
                    for inner in super::edit::nested_mut(other) {
                        self.region(inner);
                    }
                    let inner = nested(other);
                    self.forget(&inner);
                }
            }
        }
    }

    /// At most how often the loop's body starts.
    fn count(&self, label: Label, body: &Body, continuing: &Body, break_if: Option<Value>) -> Option<u32> {
        let tests = self.tests(label, body, break_if);
        if tests.is_empty() {
            return None;
        }
        let mut order = Vec::new();
        for_each_inst(body, &mut |id| order.push(id));
        for_each_inst(continuing, &mut |id| order.push(id));
        let mut bound: Option<u32> = None;
        for test in &tests {
            let counter = self.counter_of(test.cond, MAX_DEPTH);
            let Some(n) = counter.and_then(|c| self.run(label, body, continuing, &order, c, test)) else {
                continue;
            };
            bound = Some(bound.map_or(n, |b| b.min(n)));
        }
        bound
    }

    /// Conditions on which every lane that comes round leaves the loop.
    fn tests(&self, label: Label, body: &Body, break_if: Option<Value>) -> Vec<Test> {
        let mut tests = Vec::new();
        let mut add = |cond, leaves_when| self.add_tests(cond, leaves_when, MAX_DEPTH, &mut tests);
        for stmt in body {
            if let Stmt::If {
                cond, then, otherwise, ..
            } = stmt
            {
                if leaves(then, label) {
                    add(*cond, true);
                }
                if leaves(otherwise, label) {
                    add(*cond, false);
                }
            }
            let continues = match stmt {
                Stmt::Continue(l) => *l == label,
                other => nested(other).into_iter().any(|b| continues_to(b, label)),
            };
            if continues || stmt_never_completes(stmt) {
                break;
            }
        }
        if let Some(cond) = break_if {
            add(cond, true);
        }
        tests
    }

    /// Splits a condition into tests of which each one suffices.
    fn add_tests(&self, cond: Value, leaves_when: bool, depth: usize, out: &mut Vec<Test>) {
        out.push(Test { cond, leaves_when });
        let Some(inst) = self.f.def_inst(cond) else { return };
        if depth == 0 {
            return;
        }
        match (inst.op, leaves_when) {
            (Op::Alu(Alu::Not), _) => self.add_tests(inst.args[0], !leaves_when, depth - 1, out),
            (Op::Alu(Alu::Or), true) | (Op::Alu(Alu::And), false) => {
                for &arg in &inst.args {
                    self.add_tests(arg, leaves_when, depth - 1, out);
                }
            }
            _ => {}
        }
    }

    /// The only local that the value depends on, if it depends on nothing else but constants.
    fn counter_of(&self, value: Value, depth: usize) -> Option<Handle<Local>> {
        let inst = self.f.def_inst(value)?;
        match inst.op {
            Op::LocalGet(local) => Some(local),
            Op::Alu(_) | Op::Bitcast(_) if depth > 0 => {
                let mut counter = None;
                for &arg in &inst.args {
                    if self.f.constant(arg).is_some() {
                        continue;
                    }
                    let local = self.counter_of(arg, depth - 1)?;
                    if counter.is_some_and(|c| c != local) {
                        return None;
                    }
                    counter = Some(local);
                }
                counter
            }
            _ => None,
        }
    }

    /// Runs the counter on paper until the test leaves; the number of times the body starts.
    fn run(
        &self,
        label: Label,
        body: &Body,
        continuing: &Body,
        order: &[InstId],
        counter: Handle<Local>,
        test: &Test,
    ) -> Option<u32> {
        let mut current = self.state[counter.index()]?;
        let is_write = |id: &InstId| matches!(self.f.insts[*id].op, Op::LocalSet { local, .. } if local == counter);
        let mut writes = order.iter().enumerate().filter(|(_, id)| is_write(id));
        let (position, &write) = writes.next()?;
        if writes.next().is_some() || !self.always_comes_by(label, body, continuing, write) {
            return None;
        }
        let next = self.f.insts[write].args[0];
        // Reads behind the write (in the continuing block, of a write in the body) see the next value.
        let mut late = vec![];
        for id in &order[position..] {
            if self.f.insts[*id].op == Op::LocalGet(counter) {
                late.push(*id);
            }
        }
        for n in 1..=MAX_RUN {
            let stepped = self.evaluate(next, counter, &|_| current, MAX_DEPTH)?;
            let read = |id: InstId| if late.contains(&id) { stepped } else { current };
            let cond = self.evaluate(test.cond, counter, &read, MAX_DEPTH)?;
            if (cond.bits != 0) == test.leaves_when {
                return Some(n);
            }
            current = stepped;
        }
        None
    }

    /// Whether every lane that goes round again executes the instruction, once.
    fn always_comes_by(&self, label: Label, body: &Body, continuing: &Body, write: InstId) -> bool {
        let is_it = |stmt: &Stmt| matches!(stmt, Stmt::Inst(id) if *id == write);
        if continuing.iter().any(is_it) {
            return true;
        }
        let Some(at) = body.iter().position(is_it) else {
            return false;
        };
        !body[..at]
            .iter()
            .any(|stmt| nested(stmt).into_iter().any(|b| continues_to(b, label)))
    }

    fn evaluate(
        &self,
        value: Value,
        counter: Handle<Local>,
        read: &dyn Fn(InstId) -> Literal,
        depth: usize,
    ) -> Option<Literal> {
        let crate::ir::Def::Inst(id, result) = self.f.values[value].def else {
            return None;
        };
        let inst = &self.f.insts[id];
        match inst.op {
            Op::Const(literal) => Some(literal),
            Op::LocalGet(local) if local == counter => Some(read(id)),
            Op::Bitcast(kind) if depth > 0 => {
                let Literal { bits, .. } = self.evaluate(inst.args[0], counter, read, depth - 1)?;
                Some(Literal { kind, bits })
            }
            Op::Alu(alu) if depth > 0 => {
                let args: Option<SmallVec<[Literal; 4]>> = inst
                    .args
                    .iter()
                    .map(|&a| self.evaluate(a, counter, read, depth - 1))
                    .collect();
                eval::fold(alu, &args?)?.get(usize::from(result)).copied()
            }
            _ => None,
        }
    }
}

/// `cond == leaves_when` means leaving.
struct Test {
    cond: Value,
    leaves_when: bool,
}

/// Whether all lanes that get into the body leave the loop.
fn leaves(body: &Body, label: Label) -> bool {
    match body.last() {
        Some(Stmt::Break(_) | Stmt::Return(_)) => {
            // A break of a construct inside would have to be nested in it.
            !continues_to(body, label)
        }
        Some(Stmt::Continue(l)) => *l != label && !continues_to(body, label),
        _ => false,
    }
}
