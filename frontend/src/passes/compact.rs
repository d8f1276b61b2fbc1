//! Renumbers values, instructions, locals, arrays and labels in the order of the text, without what earlier passes
//! left behind: executors keep tables by handle, and messages name the numbers that the text form prints.

use super::edit::nested_mut;
use crate::ir::{Arena, Body, Def, Function, Handle, Inst, Label, Local, LocalArray, Op, Stmt, Value, ValueData};

/// Renumbers; `keep` are locals that count though nothing may read them, and are renamed in place.
pub(super) fn run(f: &mut Function, keep: &mut [Handle<Local>]) {
    let mut old = std::mem::take(f);
    let mut body = std::mem::take(&mut old.body);
    let mut c = Compact {
        values: vec![None; old.values.len()],
        locals: vec![None; old.locals.len()],
        arrays: vec![None; old.arrays.len()],
        labels: vec![None; old.label_count as usize],
        new: Function {
            name: std::mem::take(&mut old.name),
            results: std::mem::take(&mut old.results),
            ..Function::default()
        },
        old: &old,
    };
    for &param in &old.params {
        let new = c.new.values.push(old.values[param]);
        c.values[param.index()] = Some(new);
        c.new.params.push(new);
    }
    for local in keep {
        *local = c.local(*local);
    }
    c.body(&mut body);
    c.new.body = body;
    *f = c.new;
}

struct Compact<'a> {
    old: &'a Function,
    new: Function,
    values: Vec<Option<Value>>,
    locals: Vec<Option<Handle<Local>>>,
    arrays: Vec<Option<Handle<LocalArray>>>,
    labels: Vec<Option<Label>>,
}

fn renumber<T: Clone>(
    map: &mut [Option<Handle<T>>],
    old: &Arena<T>,
    new: &mut Arena<T>,
    handle: Handle<T>,
) -> Handle<T> {
    *map[handle.index()].get_or_insert_with(|| new.push(old[handle].clone()))
}

impl Compact<'_> {
    fn local(&mut self, local: Handle<Local>) -> Handle<Local> {
        renumber(&mut self.locals, &self.old.locals, &mut self.new.locals, local)
    }

    fn array(&mut self, array: Handle<LocalArray>) -> Handle<LocalArray> {
        renumber(&mut self.arrays, &self.old.arrays, &mut self.new.arrays, array)
    }

    fn value(&self, value: Value) -> Value {
        self.values[value.index()].expect("valid IR defines values before it uses them")
    }

    fn label(&mut self, label: &mut Label) {
        let count = &mut self.new.label_count;
        *label = *self.labels[label.0 as usize].get_or_insert_with(|| {
            *count += 1;
            Label(*count - 1)
        });
    }

    fn inst(&mut self, inst: &Inst) -> Handle<Inst> {
        let id = Handle::from_index(self.new.insts.len());
        let op = match inst.op {
            Op::LocalGet(l) => Op::LocalGet(self.local(l)),
            Op::LocalSet { local, merge } => Op::LocalSet {
                local: self.local(local),
                merge,
            },
            Op::ArrayGet(a) => Op::ArrayGet(self.array(a)),
            Op::ArraySet(a) => Op::ArraySet(self.array(a)),
            Op::ArrayReset(a) => Op::ArrayReset(self.array(a)),
            other => other,
        };
        let args = inst.args.iter().map(|&a| self.value(a)).collect();
        let first = Handle::from_index(self.new.values.len());
        for (i, result) in inst.results().enumerate() {
            let kind = self.old.kind(result);
            let def = Def::Inst(id, i as u8);
            self.values[result.index()] = Some(self.new.values.push(ValueData { kind, def }));
        }
        self.new.insts.push(Inst {
            op,
            args,
            first_result: inst.first_result.map(|_| first),
            result_count: inst.result_count,
            span: inst.span,
        })
    }

    fn body(&mut self, body: &mut Body) {
        let old = self.old;
        for stmt in body {
            match stmt {
                Stmt::Inst(id) => *id = self.inst(&old.insts[*id]),
                Stmt::Break(label) | Stmt::Continue(label) | Stmt::Block { label, .. } => self.label(label),
                Stmt::Return(args) => args.iter_mut().for_each(|a| *a = self.value(*a)),
                Stmt::If { cond, .. } => *cond = self.value(*cond),
                Stmt::Switch { label, selector, .. } => {
                    self.label(label);
                    *selector = self.value(*selector);
                }
                Stmt::Loop { label, .. } => self.label(label),
            }
            for inner in nested_mut(stmt) {
                self.body(inner);
            }
            if let Stmt::Loop {
                break_if: Some(cond), ..
            } = stmt
            {
                *cond = self.value(*cond);
            }
        }
    }
}
