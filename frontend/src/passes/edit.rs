//! What passes share: replacing values, making instructions, looking at how bodies end.

use crate::ir::{Arena, Effect};
use crate::ir::{
    Args, Body, Def, Function, Handle, Inst, InstId, Kind, Label, Literal, Op, Resource, SpanId, Stmt, Value, ValueData,
};
use smallvec::{SmallVec, smallvec};

/// Values to be replaced by others, applied while a walk meets their uses (definitions come first).
#[derive(Default)]
pub(super) struct Replacements {
    map: Vec<Option<Value>>,
}

impl Replacements {
    /// The value that stands for `value` now.
    pub fn get(&self, value: Value) -> Value {
        self.map.get(value.index()).copied().flatten().unwrap_or(value)
    }

    /// From now on `by` stands for `value`.
    pub fn set(&mut self, value: Value, by: Value) {
        let by = self.get(by);
        if self.map.len() <= value.index() {
            self.map.resize(value.index() + 1, None);
        }
        self.map[value.index()] = Some(by);
    }

    /// Applies the replacements to operands.
    pub fn apply(&self, args: &mut Args) {
        for arg in args {
            *arg = self.get(*arg);
        }
    }

    /// Applies the replacements to what a statement itself uses (not to nested bodies, nor to a loop's `break_if`,
    /// which is used after the continuing block).
    pub fn apply_to_head(&self, f: &mut Function, stmt: &mut Stmt) {
        match stmt {
            Stmt::Inst(id) => self.apply(&mut f.insts[*id].args),
            Stmt::If { cond, .. } => *cond = self.get(*cond),
            Stmt::Switch { selector, .. } => *selector = self.get(*selector),
            Stmt::Return(args) => self.apply(args),
            Stmt::Loop { .. } | Stmt::Block { .. } | Stmt::Break(_) | Stmt::Continue(_) => {}
        }
    }
}

/// Adds an instruction with results of these kinds to the arenas.
pub(super) fn new_inst(f: &mut Function, op: Op, args: &[Value], results: &[Kind], span: Option<SpanId>) -> InstId {
    let id = Handle::from_index(f.insts.len());
    let first = Handle::from_index(f.values.len());
    for (i, &kind) in results.iter().enumerate() {
        let def = Def::Inst(id, i as u8);
        f.values.push(ValueData { kind, def });
    }
    f.insts.push(Inst {
        op,
        args: Args::from_slice(args),
        first_result: (!results.is_empty()).then_some(first),
        result_count: results.len() as u8,
        span,
    })
}

/// As [`new_inst`] for one result, appended to `body`.
pub(super) fn push1(
    f: &mut Function,
    body: &mut Body,
    op: Op,
    args: &[Value],
    result: Kind,
    span: Option<SpanId>,
) -> Value {
    let id = new_inst(f, op, args, &[result], span);
    body.push(Stmt::Inst(id));
    f.insts[id].result()
}

/// A constant, appended to `body`.
pub(super) fn push_const(f: &mut Function, body: &mut Body, literal: Literal, span: Option<SpanId>) -> Value {
    push1(f, body, Op::Const(literal), &[], literal.kind, span)
}

/// The effect of an instruction, given the resources.
pub(super) fn effect(op: &Op, resources: &Arena<Resource>) -> Effect {
    op.effect(|r| resources.get(r).is_some_and(Resource::is_read_only))
}

/// Whether no lane gets past the end of the body: it ends in an exit on every path.
pub(super) fn never_completes(body: &Body) -> bool {
    body.last().is_some_and(stmt_never_completes)
}

/// Whether no lane gets past the statement.
pub(super) fn stmt_never_completes(stmt: &Stmt) -> bool {
    match stmt {
        Stmt::Break(_) | Stmt::Continue(_) | Stmt::Return(_) => true,
        Stmt::If { then, otherwise, .. } => never_completes(then) && never_completes(otherwise),
        Stmt::Block { label, body } => never_completes(body) && !breaks_to(body, *label),
        Stmt::Inst(_) | Stmt::Loop { .. } | Stmt::Switch { .. } => false,
    }
}

/// Whether a `Break(label)` stands in the body.
pub(super) fn breaks_to(body: &Body, label: Label) -> bool {
    any_stmt(body, &mut |s| matches!(s, Stmt::Break(l) if *l == label))
}

/// Whether a `Continue(label)` stands in the body.
pub(super) fn continues_to(body: &Body, label: Label) -> bool {
    any_stmt(body, &mut |s| matches!(s, Stmt::Continue(l) if *l == label))
}

/// Whether any statement, nested ones included, has the property.
pub(super) fn any_stmt(body: &[Stmt], test: &mut dyn FnMut(&Stmt) -> bool) -> bool {
    body.iter()
        .any(|stmt| test(stmt) || nested(stmt).into_iter().any(|b| any_stmt(b, test)))
}

/// Calls `visit` for every instruction that the body names, nested ones included, in order.
pub(super) fn for_each_inst(body: &Body, visit: &mut dyn FnMut(InstId)) {
    for stmt in body {
        match stmt {
            Stmt::Inst(id) => visit(*id),
            _ => nested(stmt).into_iter().for_each(|b| for_each_inst(b, visit)),
        }
    }
}

/// The bodies nested in a statement, in order.
pub(super) fn nested(stmt: &Stmt) -> SmallVec<[&Body; 2]> {
    match stmt {
        Stmt::Inst(_) | Stmt::Break(_) | Stmt::Continue(_) | Stmt::Return(_) => SmallVec::new(),
        Stmt::Block { body, .. } => smallvec![body],
        Stmt::If { then, otherwise, .. } => smallvec![then, otherwise],
        Stmt::Loop { body, continuing, .. } => smallvec![body, continuing],
        Stmt::Switch { cases, .. } => cases.iter().map(|c| &c.body).collect(),
    }
}

/// The bodies nested in a statement, in order, to change.
pub(super) fn nested_mut(stmt: &mut Stmt) -> SmallVec<[&mut Body; 2]> {
    match stmt {
        Stmt::Inst(_) | Stmt::Break(_) | Stmt::Continue(_) | Stmt::Return(_) => SmallVec::new(),
        Stmt::Block { body, .. } => smallvec![body],
        Stmt::If { then, otherwise, .. } => smallvec![then, otherwise],
        Stmt::Loop { body, continuing, .. } => smallvec![body, continuing],
        Stmt::Switch { cases, .. } => cases.iter_mut().map(|c| &mut c.body).collect(),
    }
}
