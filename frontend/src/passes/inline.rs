//! Inlining: every call is replaced by a copy of the function it calls (laws I3, I4).
//!
//! Functions are inlined into their callers from the leaves of the call graph up, so each is copied once per call
//! that remains. A budget bounds the instructions made, a limit the nesting; recursion is refused. A copied instruction's
//! span is chained to the call's.

use super::PassError;
use crate::ir::span::Span;
use crate::ir::splice::{SpliceHost, splice};
use crate::ir::{
    Arena, Body, Case, Function, FunctionBuilder, Handle, Inst, Label, Op, Shader, Sources, SpanId, Stmt, Value,
};
use rustc_hash::FxHashMap;

/// Instructions that a shader's functions may have together after inlining.
pub const INSTRUCTION_BUDGET: usize = 1 << 19;
/// Deepest nesting of statements after inlining; later passes add some of their own.
const MAX_NESTING: usize = 160;

/// Inlines all calls of the entry function; other functions become unreachable, and empty.
pub(super) fn run(shader: &mut Shader) -> Result<(), PassError> {
    let order = leaves_first(shader)?;
    let mut made = 0;
    for &handle in &order {
        if !has_call(&shader.functions[handle]) {
            continue;
        }
        let inlined = inline_into(shader, handle, &mut made)?;
        shader.functions[handle] = inlined;
    }
    let name = shader.functions[shader.entry].name.clone();
    if nesting(&shader.functions[shader.entry].body) > MAX_NESTING {
        return Err(PassError::Nesting {
            function: name,
            limit: MAX_NESTING,
        });
    }
    let entry = std::mem::take(&mut shader.functions[shader.entry]);
    shader.functions = Arena::new();
    shader.entry = shader.functions.push(entry);
    Ok(())
}

fn nesting(body: &Body) -> usize {
    let inner = body.iter().flat_map(super::edit::nested).map(nesting).max();
    1 + inner.unwrap_or(0)
}

fn for_each_call(f: &Function, body: &Body, visit: &mut dyn FnMut(Handle<Function>)) {
    super::edit::for_each_inst(body, &mut |id| {
        if let Op::Call(callee) = f.insts[id].op {
            visit(callee);
        }
    });
}

fn has_call(f: &Function) -> bool {
    let mut found = false;
    for_each_call(f, &f.body, &mut |_| found = true);
    found
}

/// The functions that the entry function reaches, callees before callers.
fn leaves_first(shader: &Shader) -> Result<Vec<Handle<Function>>, PassError> {
    #[derive(Clone, Copy, PartialEq)]
    enum Mark {
        New,
        Open,
        Done,
    }
    let mut marks = vec![Mark::New; shader.functions.len()];
    let mut order = Vec::new();
    // Function, its callees, how many were visited: a stack of our own, since call chains may be long.
    let mut stack = vec![(shader.entry, callees(shader, shader.entry), 0)];
    marks[shader.entry.index()] = Mark::Open;
    while let Some((function, called, at)) = stack.last_mut() {
        match called.get(*at).copied() {
            None => {
                marks[function.index()] = Mark::Done;
                order.push(*function);
                stack.pop();
            }
            Some(callee) => {
                *at += 1;
                match marks[callee.index()] {
                    Mark::Done => {}
                    Mark::Open => {
                        let function = shader.functions[callee].name.clone();
                        return Err(PassError::Recursion { function });
                    }
                    Mark::New => {
                        marks[callee.index()] = Mark::Open;
                        stack.push((callee, callees(shader, callee), 0));
                    }
                }
            }
        }
    }
    Ok(order)
}

fn callees(shader: &Shader, handle: Handle<Function>) -> Vec<Handle<Function>> {
    let f = &shader.functions[handle];
    let mut out = Vec::new();
    for_each_call(f, &f.body, &mut |callee| out.push(callee));
    out.dedup();
    out
}

/// A copy of the function in which all calls are replaced by the (call-free) callees' bodies.
fn inline_into(shader: &mut Shader, handle: Handle<Function>, made: &mut usize) -> Result<Function, PassError> {
    let caller = std::mem::take(&mut shader.functions[handle]);
    let mut shell = Function {
        name: caller.name.clone(),
        results: caller.results.clone(),
        locals: caller.locals.clone(),
        arrays: caller.arrays.clone(),
        ..Function::default()
    };
    shell.label_count = 0;
    let mut b = FunctionBuilder::on(shell);
    let mut copy = Copy {
        caller: &caller,
        functions: &shader.functions,
        sources: &mut shader.sources,
        values: vec![None; caller.values.len()],
        labels: vec![None; caller.label_count as usize],
        made,
    };
    for &param in &caller.params {
        let new = b.param(caller.kind(param));
        copy.values[param.index()] = Some(new);
    }
    copy.body(&mut b, &caller.body)?;
    Ok(b.finish())
}

struct Copy<'a> {
    caller: &'a Function,
    functions: &'a Arena<Function>,
    sources: &'a mut Sources,
    values: Vec<Option<Value>>,
    labels: Vec<Option<Label>>,
    made: &'a mut usize,
}

/// Chains spans to a call site.
struct Chain<'a> {
    sources: &'a mut Sources,
    call: Option<SpanId>,
    /// Spans chained so far.
    known: FxHashMap<SpanId, SpanId>,
}

impl Chain<'_> {
    fn chain(&mut self, span: SpanId) -> Option<SpanId> {
        let call = self.call?;
        if let Some(&known) = self.known.get(&span) {
            return Some(known);
        }
        let Span {
            source,
            start,
            end,
            inlined_at,
        } = *self.sources.spans.get(span)?;
        // The innermost call is the callee's own; this one is the outermost.
        let inlined_at = match inlined_at {
            Some(inner) => self.chain(inner),
            None => Some(call),
        };
        let new = self.sources.spans.push(Span {
            source,
            start,
            end,
            inlined_at,
        });
        self.known.insert(span, new);
        Some(new)
    }
}

impl SpliceHost for Chain<'_> {
    fn replace(&mut self, _: &mut FunctionBuilder, _: &Inst, _: &[Value]) -> Option<Value> {
        None
    }

    fn span(&mut self, span: Option<SpanId>) -> Option<SpanId> {
        match span {
            Some(span) => self.chain(span).or(Some(span)),
            None => self.call,
        }
    }
}

impl Copy<'_> {
    fn value(&self, value: Value) -> Value {
        self.values[value.index()].expect("validated IR defines values before it uses them")
    }

    fn label(&self, label: Label) -> Label {
        self.labels[label.0 as usize].expect("validated IR leaves enclosing constructs only")
    }

    fn body(&mut self, b: &mut FunctionBuilder, body: &Body) -> Result<(), PassError> {
        body.iter().try_for_each(|stmt| self.stmt(b, stmt))
    }

    fn inst(&mut self, b: &mut FunctionBuilder, inst: &Inst) -> Result<(), PassError> {
        let args: Vec<Value> = inst.args.iter().map(|&a| self.value(a)).collect();
        b.set_span(inst.span);
        let results = if let Op::Call(callee) = inst.op {
            let callee = &self.functions[callee];
            *self.made += callee.insts.len();
            if *self.made > INSTRUCTION_BUDGET {
                return Err(PassError::InlineBudget {
                    function: callee.name.clone(),
                    limit: INSTRUCTION_BUDGET,
                });
            }
            let mut host = Chain {
                sources: self.sources,
                call: inst.span,
                known: FxHashMap::default(),
            };
            splice(b, callee, &args, &mut host).results
        } else if let Op::Const(literal) = inst.op {
            vec![b.constant(literal)]
        } else {
            let kinds: Vec<_> = inst.results().map(|v| self.caller.kind(v)).collect();
            let id = b.inst(inst.op, &args, &kinds);
            b.results(id)
        };
        for (old, new) in inst.results().zip(results) {
            self.values[old.index()] = Some(new);
        }
        Ok(())
    }

    fn stmt(&mut self, b: &mut FunctionBuilder, stmt: &Stmt) -> Result<(), PassError> {
        match stmt {
            Stmt::Inst(id) => {
                let caller = self.caller;
                self.inst(b, &caller.insts[*id])?;
            }
            Stmt::Block { label, body } => {
                let new = b.begin_block();
                self.labels[label.0 as usize] = Some(new);
                self.body(b, body)?;
                b.end_block();
            }
            Stmt::If {
                cond,
                then,
                otherwise,
                span,
            } => {
                b.set_span(*span);
                b.begin_if(self.value(*cond));
                self.body(b, then)?;
                if !otherwise.is_empty() {
                    b.begin_else();
                    self.body(b, otherwise)?;
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
                b.set_span(*span);
                let new = b.begin_loop(*bound);
                self.labels[label.0 as usize] = Some(new);
                self.body(b, body)?;
                b.begin_continuing();
                self.body(b, continuing)?;
                b.end_loop(break_if.map(|v| self.value(v)));
            }
            Stmt::Switch {
                label,
                selector,
                cases,
                span,
            } => {
                b.set_span(*span);
                let new = b.begin_switch(self.value(*selector));
                self.labels[label.0 as usize] = Some(new);
                for Case {
                    values,
                    default,
                    body,
                    falls_through,
                } in cases
                {
                    b.begin_case(values.clone(), *default);
                    self.body(b, body)?;
                    b.end_case(*falls_through);
                }
                b.end_switch();
            }
            Stmt::Break(label) => b.break_(self.label(*label)),
            Stmt::Continue(label) => b.continue_(self.label(*label)),
            Stmt::Return(args) => {
                let args: Vec<Value> = args.iter().map(|&a| self.value(a)).collect();
                b.return_(&args);
            }
        }
        Ok(())
    }
}
