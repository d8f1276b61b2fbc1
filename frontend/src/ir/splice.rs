//! Copies a function's body into a function under construction: the heart of inlining and of pipeline assembly.
//!
//! Locals, arrays and labels get fresh names; locals are set to their initial value at the splice, since the callee
//! starts anew at every call. `Return` becomes a break out of a block around the copy; results travel in locals.

use super::arena::Handle;
use super::build::FunctionBuilder;
use super::op::Op;
use super::shader::{Args, Body, Case, Function, Inst, Label, Local, LocalArray, Stmt, Value};
use super::span::SpanId;
use rustc_hash::FxHashMap;

/// What a splice asks its caller.
pub trait SpliceHost {
    /// Gives a value in place of the instruction's single result (inputs, say), or `None` to copy it. The operands
    /// are already those of the new function.
    fn replace(&mut self, builder: &mut FunctionBuilder, inst: &Inst, args: &[Value]) -> Option<Value>;

    /// The span that a copied instruction gets: itself, or chained to a call site (law I4).
    fn span(&mut self, span: Option<SpanId>) -> Option<SpanId> {
        span
    }
}

/// Copies everything as it is.
pub struct Verbatim;

impl SpliceHost for Verbatim {
    fn replace(&mut self, _: &mut FunctionBuilder, _: &Inst, _: &[Value]) -> Option<Value> {
        None
    }
}

/// What a splice made.
pub struct Spliced {
    /// The function's results.
    pub results: Vec<Value>,
    /// New locals, by the old local's index: how an entry function's outputs are read.
    pub locals: Vec<Handle<Local>>,
}

/// Copies `callee`'s body to where `builder` stands, with `args` for its parameters.
pub fn splice(builder: &mut FunctionBuilder, callee: &Function, args: &[Value], host: &mut dyn SpliceHost) -> Spliced {
    assert!(args.len() == callee.params.len(), "argument count of {}", callee.name);
    let locals: Vec<Handle<Local>> = callee
        .locals
        .iter()
        .map(|(_, l)| builder.func.locals.push(l.clone()))
        .collect();
    let arrays: Vec<Handle<LocalArray>> = callee
        .arrays
        .iter()
        .map(|(_, a)| builder.func.arrays.push(a.clone()))
        .collect();
    for ((_, old), &new) in callee.locals.iter().zip(&locals) {
        let init = builder.constant(old.init);
        builder.set(new, init);
    }
    for &array in &arrays {
        builder.inst(Op::ArrayReset(array), &[], &[]);
    }
    let results: Vec<Handle<Local>> = callee
        .results
        .iter()
        .map(|&kind| builder.local(format!("{} result", callee.name), kind))
        .collect();
    let mut values = FxHashMap::default();
    values.extend(callee.params.iter().copied().zip(args.iter().copied()));
    let outer_span = builder.span();
    let exit = needs_block(&callee.body).then(|| builder.begin_block());
    let mut copy = Copy {
        callee,
        locals: &locals,
        arrays: &arrays,
        results: &results,
        exit,
        values,
        labels: FxHashMap::default(),
        host,
    };
    copy.body(builder, &callee.body, true);
    if exit.is_some() {
        builder.end_block();
    }
    builder.set_span(outer_span);
    let results = results.into_iter().map(|local| builder.get(local)).collect();
    Spliced { results, locals }
}

/// Whether a `Return` stands anywhere but at the very end.
fn needs_block(body: &Body) -> bool {
    let Some((last, rest)) = body.split_last() else {
        return false;
    };
    rest.iter().any(has_return) || !matches!(last, Stmt::Return(_)) && has_return(last)
}

fn has_return(stmt: &Stmt) -> bool {
    match stmt {
        Stmt::Return(_) => true,
        Stmt::Inst(_) | Stmt::Break(_) | Stmt::Continue(_) => false,
        Stmt::Block { body, .. } => body.iter().any(has_return),
        Stmt::If { then, otherwise, .. } => then.iter().chain(otherwise).any(has_return),
        Stmt::Loop { body, continuing, .. } => body.iter().chain(continuing).any(has_return),
        Stmt::Switch { cases, .. } => cases.iter().flat_map(|c| &c.body).any(has_return),
    }
}

struct Copy<'a> {
    callee: &'a Function,
    locals: &'a [Handle<Local>],
    arrays: &'a [Handle<LocalArray>],
    results: &'a [Handle<Local>],
    exit: Option<Label>,
    values: FxHashMap<Value, Value>,
    labels: FxHashMap<Label, Label>,
    host: &'a mut dyn SpliceHost,
}

impl Copy<'_> {
    fn value(&self, value: Value) -> Value {
        self.values[&value]
    }

    fn inst(&mut self, b: &mut FunctionBuilder, inst: &Inst) {
        let args: Args = inst.args.iter().map(|&a| self.value(a)).collect();
        let span = self.host.span(inst.span);
        b.set_span(span);
        if let Some(new) = self.host.replace(b, inst, &args) {
            self.values.insert(inst.result(), new);
            return;
        }
        let op = match inst.op {
            Op::Const(literal) => {
                let new = b.constant(literal);
                self.values.insert(inst.result(), new);
                return;
            }
            Op::LocalGet(l) => Op::LocalGet(self.locals[l.index()]),
            Op::LocalSet { local, merge } => Op::LocalSet {
                local: self.locals[local.index()],
                merge,
            },
            Op::ArrayGet(a) => Op::ArrayGet(self.arrays[a.index()]),
            Op::ArraySet(a) => Op::ArraySet(self.arrays[a.index()]),
            Op::ArrayReset(a) => Op::ArrayReset(self.arrays[a.index()]),
            other => other,
        };
        let kinds: Vec<_> = inst.results().map(|v| self.callee.kind(v)).collect();
        let id = b.inst(op, &args, &kinds);
        for (old, new) in inst.results().zip(b.results(id)) {
            self.values.insert(old, new);
        }
    }

    fn body(&mut self, b: &mut FunctionBuilder, body: &Body, tail: bool) {
        for (i, stmt) in body.iter().enumerate() {
            let last = tail && i + 1 == body.len();
            match stmt {
                Stmt::Inst(id) => {
                    let callee = self.callee;
                    self.inst(b, &callee.insts[*id]);
                }
                Stmt::Block { label, body } => {
                    let new = b.begin_block();
                    self.labels.insert(*label, new);
                    self.body(b, body, false);
                    b.end_block();
                }
                Stmt::If {
                    cond,
                    then,
                    otherwise,
                    span,
                } => {
                    let span = self.host.span(*span);
                    b.set_span(span);
                    b.begin_if(self.value(*cond));
                    self.body(b, then, false);
                    if !otherwise.is_empty() {
                        b.begin_else();
                        self.body(b, otherwise, false);
                    }
                    b.end_if();
                }
                Stmt::Loop {
                    label,
                    body,
                    continuing,
                    break_if,
                    bound,
                    span,
                } => {
                    let span = self.host.span(*span);
                    b.set_span(span);
                    let new = b.begin_loop(*bound);
                    self.labels.insert(*label, new);
                    self.body(b, body, false);
                    b.begin_continuing();
                    self.body(b, continuing, false);
                    b.end_loop(break_if.map(|v| self.value(v)));
                }
                Stmt::Switch {
                    label,
                    selector,
                    cases,
                    span,
                } => {
                    let span = self.host.span(*span);
                    b.set_span(span);
                    let new = b.begin_switch(self.value(*selector));
                    self.labels.insert(*label, new);
                    for Case {
                        values,
                        default,
                        body,
                        falls_through,
                    } in cases
                    {
                        b.begin_case(values.clone(), *default);
                        self.body(b, body, false);
                        b.end_case(*falls_through);
                    }
                    b.end_switch();
                }
                Stmt::Break(label) => b.break_(self.labels[label]),
                Stmt::Continue(label) => b.continue_(self.labels[label]),
                Stmt::Return(args) => {
                    for (&local, &value) in self.results.iter().zip(args) {
                        let value = self.value(value);
                        b.set(local, value);
                    }
                    match self.exit {
                        Some(exit) => b.break_(exit),
                        None => assert!(last, "a return in the middle needs a block"),
                    }
                }
            }
        }
    }
}
