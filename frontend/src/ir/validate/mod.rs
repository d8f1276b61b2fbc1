//! The validator: what every front end must make and every pass must keep.
//!
//! [`validate`] judges a whole shader, [`validate_function`] one function in an [`Environment`]. Values are defined
//! once and used only where they are visible; labels are unique and exits go to enclosing constructs; a continuing
//! block has no exit; operands, results and resources fit their operations (`ops`); derivatives stand in fragment
//! shaders only. An error is always a bug of whoever made the IR, never the user's. Laws I1-I6.

mod ops;

use super::arena::{Arena, Handle};
use super::kind::Kind;
use super::op::Op;
use super::shader::{
    Body, Builtin, Def, Function, Input, InstId, Label, Local, Resource, Semantic, Shader, Stage, Stmt, Value,
};
use super::span::SpanId;
use super::text::MAX_NESTING;
use smallvec::SmallVec;

/// Invalid IR.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("invalid IR (a bug) in function {function:?}{}: {violation}", at(.inst))]
pub struct ValidateError {
    /// Name of the function (or of the shader for declarations).
    pub function: String,
    /// The instruction: its index in the arena and its operation.
    pub inst: Option<(usize, String)>,
    /// Its source position.
    pub span: Option<SpanId>,
    /// What is wrong.
    pub violation: Violation,
}

fn at(inst: &Option<(usize, String)>) -> String {
    match inst {
        Some((index, op)) => format!(", instruction {index} ({op})"),
        None => String::new(),
    }
}

/// What is wrong.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Violation {
    /// A handle beyond its arena.
    #[error("{what} {index} doesn't exist")]
    Missing {
        /// What kind of thing.
        what: &'static str,
        /// Its index.
        index: usize,
    },
    /// A value used where it isn't visible.
    #[error("value {0} is used where it isn't visible")]
    NotVisible(usize),
    /// An instruction named twice by the body.
    #[error("the instruction stands in the body twice")]
    Twice,
    /// Results and values that don't point at each other.
    #[error("value {0} and its definition don't name each other")]
    Definition(usize),
    /// A number of operands or results that the operation doesn't have.
    #[error("{what}: {got} instead of {want}")]
    Count {
        /// Operands or results.
        what: &'static str,
        /// Right.
        want: usize,
        /// Wrong.
        got: usize,
    },
    /// A kind that doesn't fit.
    #[error("{what} {index} can't be {got}")]
    Kind {
        /// Operand or result.
        what: &'static str,
        /// Which.
        index: usize,
        /// Its kind.
        got: Kind,
    },
    /// A resource of the wrong class.
    #[error("resource {index} {name:?} isn't {want}")]
    Resource {
        /// Index in the arena.
        index: usize,
        /// Its name.
        name: String,
        /// What the operation needs.
        want: &'static str,
    },
    /// A detail out of range.
    #[error("{0}")]
    Detail(&'static str),
    /// An operation that the stage doesn't have.
    #[error("only {0} shaders have this operation")]
    Stage(&'static str),
    /// A label used twice or never handed out.
    #[error("label {0} is used twice or was never handed out")]
    Label(u32),
    /// An exit to a construct that doesn't enclose it.
    #[error("label {0} names no construct around this exit that it may leave")]
    Exit(u32),
    /// A switch with a value or default twice.
    #[error("a switch has the case {0} twice")]
    Case(String),
    /// Too deep.
    #[error("statements nest deeper than {MAX_NESTING}")]
    Nesting,
    /// An output whose local doesn't fit.
    #[error("output {0:?} and its local differ in kind, or the local doesn't exist")]
    Output(String),
    /// An entry function with parameters or results.
    #[error("the entry function has parameters or results")]
    Entry,
}

/// What a function may refer to.
#[derive(Clone, Copy)]
pub struct Environment<'a> {
    /// The stage, if that is settled.
    pub stage: Option<Stage>,
    /// Stage inputs; `None`: there may be no inputs.
    pub inputs: Option<&'a Arena<Input>>,
    /// Resources.
    pub resources: &'a Arena<Resource>,
    /// Functions that may be called; `None`: there may be no calls.
    pub functions: Option<&'a Arena<Function>>,
}

/// Checks a shader.
pub fn validate(shader: &Shader) -> Result<(), ValidateError> {
    let declaration = |violation| ValidateError {
        function: shader.name.clone(),
        inst: None,
        span: None,
        violation,
    };
    let entry = shader.functions.get(shader.entry).ok_or_else(|| {
        declaration(Violation::Missing {
            what: "entry function",
            index: shader.entry.index(),
        })
    })?;
    if !entry.params.is_empty() || !entry.results.is_empty() {
        return Err(declaration(Violation::Entry));
    }
    for output in &shader.outputs {
        if entry.locals.get(output.local).map(|l| l.kind) != Some(output.kind) {
            return Err(declaration(Violation::Output(output.name.clone())));
        }
    }
    let inputs = shader.inputs.iter().map(|(_, input)| &input.semantic);
    for semantic in inputs.chain(shader.outputs.iter().map(|output| &output.semantic)) {
        check_semantic(semantic).map_err(declaration)?;
    }
    for (_, resource) in shader.resources.iter() {
        if resource.count == 0 {
            return Err(declaration(Violation::Detail("a resource has no elements")));
        }
    }
    let environment = Environment {
        stage: Some(shader.stage),
        inputs: Some(&shader.inputs),
        resources: &shader.resources,
        functions: Some(&shader.functions),
    };
    for (_, function) in shader.functions.iter() {
        validate_function(function, &environment)?;
    }
    Ok(())
}

/// Four components to a location and to a position, eight clip and cull distances each (R-RAST-15).
fn check_semantic(semantic: &Semantic) -> Result<(), Violation> {
    let fits = match *semantic {
        Semantic::Location { component, .. } => component < 4,
        Semantic::Builtin(Builtin::Position(component)) => component < 4,
        Semantic::Builtin(Builtin::ClipDistance(i) | Builtin::CullDistance(i)) => i < 8,
        Semantic::Builtin(_) => true,
    };
    if fits {
        Ok(())
    } else {
        Err(Violation::Detail("an input's or output's component doesn't exist"))
    }
}

/// Checks a function.
pub fn validate_function(function: &Function, environment: &Environment) -> Result<(), ValidateError> {
    let mut checker = Checker {
        f: function,
        env: environment,
        visible: vec![false; function.values.len()],
        scope: Vec::new(),
        placed: vec![false; function.insts.len()],
        labels: vec![false; function.label_count as usize],
        constructs: Vec::new(),
        depth: 0,
        current: None,
    };
    checker.function().map_err(|violation| {
        let inst = checker.current.and_then(|id| function.insts.get(id).map(|i| (id, i)));
        ValidateError {
            function: function.name.clone(),
            inst: inst.map(|(id, i)| (id.index(), super::text::op_text(&i.op))),
            span: inst.and_then(|(_, i)| i.span),
            violation,
        }
    })
}

/// An enclosing construct.
#[derive(Clone, Copy, PartialEq)]
enum Construct {
    Block(Label),
    Loop(Label),
    /// Nothing outside may be left from here.
    Continuing,
}

struct Checker<'a> {
    f: &'a Function,
    env: &'a Environment<'a>,
    visible: Vec<bool>,
    /// Values made visible, to be hidden at the end of their body.
    scope: Vec<Value>,
    placed: Vec<bool>,
    labels: Vec<bool>,
    constructs: Vec<Construct>,
    depth: usize,
    current: Option<InstId>,
}

type Check = Result<(), Violation>;

impl Checker<'_> {
    fn function(&mut self) -> Check {
        for (i, &param) in self.f.params.iter().enumerate() {
            match self.f.values.get(param) {
                Some(data) if data.def == Def::Param(i as u32) => self.show(param),
                _ => return Err(Violation::Definition(param.index())),
            }
        }
        for (_, array) in self.f.arrays.iter() {
            let len = array.init.len();
            if array.len == 0 || len != 0 && len != array.len as usize {
                return Err(Violation::Detail(
                    "an array has no elements, or not as many contents as elements",
                ));
            }
        }
        for (_, local) in self.f.locals.iter() {
            if local.init.kind != local.kind {
                return Err(Violation::Detail("a local's initial value is of another kind"));
            }
        }
        let f = self.f;
        self.body(&f.body)
    }

    fn show(&mut self, value: Value) {
        if let Some(slot) = self.visible.get_mut(value.index()) {
            *slot = true;
            self.scope.push(value);
        }
    }

    /// The kind of a value that may be used here.
    fn kind(&self, value: Value) -> Result<Kind, Violation> {
        match self.visible.get(value.index()) {
            Some(true) => Ok(self.f.kind(value)),
            _ => Err(Violation::NotVisible(value.index())),
        }
    }

    fn kinds(&self, values: &[Value]) -> Result<SmallVec<[Kind; 8]>, Violation> {
        values.iter().map(|&v| self.kind(v)).collect()
    }

    fn want(&self, value: Value, what: &'static str, fits: impl Fn(Kind) -> bool) -> Check {
        let got = self.kind(value)?;
        if fits(got) {
            Ok(())
        } else {
            Err(Violation::Kind { what, index: 0, got })
        }
    }

    fn hide_to(&mut self, mark: usize) {
        for value in self.scope.drain(mark..) {
            if let Some(slot) = self.visible.get_mut(value.index()) {
                *slot = false;
            }
        }
    }

    fn nested(&mut self, body: &Body) -> Check {
        let mark = self.scope.len();
        self.body(body)?;
        self.hide_to(mark);
        Ok(())
    }

    fn body(&mut self, body: &Body) -> Check {
        self.depth += 1;
        if self.depth > MAX_NESTING {
            return Err(Violation::Nesting);
        }
        body.iter().try_for_each(|stmt| self.stmt(stmt))?;
        self.depth -= 1;
        Ok(())
    }

    fn open(&mut self, label: Label, construct: Construct) -> Check {
        match self.labels.get_mut(label.0 as usize) {
            Some(used) if !*used => *used = true,
            _ => return Err(Violation::Label(label.0)),
        }
        self.constructs.push(construct);
        Ok(())
    }

    fn stmt(&mut self, stmt: &Stmt) -> Check {
        match stmt {
            Stmt::Inst(id) => self.inst(*id)?,
            Stmt::Block { label, body } => {
                self.open(*label, Construct::Block(*label))?;
                self.nested(body)?;
                self.constructs.pop();
            }
            Stmt::If {
                cond, then, otherwise, ..
            } => {
                self.want(*cond, "condition", |k| k == Kind::Bool)?;
                self.nested(then)?;
                self.nested(otherwise)?;
            }
            Stmt::Loop {
                label,
                body,
                continuing,
                break_if,
                ..
            } => {
                self.open(*label, Construct::Loop(*label))?;
                self.nested(body)?;
                self.constructs.pop();
                self.constructs.push(Construct::Continuing);
                let mark = self.scope.len();
                self.body(continuing)?;
                if let Some(cond) = *break_if {
                    self.want(cond, "condition", |k| k == Kind::Bool)?;
                }
                self.hide_to(mark);
                self.constructs.pop();
            }
            Stmt::Switch {
                label, selector, cases, ..
            } => {
                self.want(*selector, "selector", |k| matches!(k, Kind::I32 | Kind::U32))?;
                self.open(*label, Construct::Block(*label))?;
                let mut seen: Vec<u32> = cases.iter().flat_map(|c| c.values.iter().copied()).collect();
                seen.sort_unstable();
                if let Some(pair) = seen.windows(2).find(|w| w[0] == w[1]) {
                    return Err(Violation::Case(pair[0].to_string()));
                }
                if cases.iter().filter(|c| c.default).count() > 1 {
                    return Err(Violation::Case("default".into()));
                }
                for case in cases {
                    self.nested(&case.body)?;
                }
                self.constructs.pop();
            }
            Stmt::Break(label) => self.exit(*label, true)?,
            Stmt::Continue(label) => self.exit(*label, false)?,
            Stmt::Return(args) => {
                if self.constructs.contains(&Construct::Continuing) {
                    return Err(Violation::Detail("a continuing block returns"));
                }
                let kinds = self.kinds(args)?;
                if kinds.len() != self.f.results.len() {
                    return Err(Violation::Count {
                        what: "returned values",
                        want: self.f.results.len(),
                        got: kinds.len(),
                    });
                }
                for (index, (&got, &want)) in kinds.iter().zip(&self.f.results).enumerate() {
                    if got != want {
                        let what = "returned value";
                        return Err(Violation::Kind { what, index, got });
                    }
                }
            }
        }
        Ok(())
    }

    fn exit(&self, label: Label, is_break: bool) -> Check {
        for construct in self.constructs.iter().rev() {
            match *construct {
                Construct::Continuing => break,
                Construct::Loop(l) if l == label => return Ok(()),
                Construct::Block(l) if l == label && is_break => return Ok(()),
                _ => {}
            }
        }
        Err(Violation::Exit(label.0))
    }

    fn inst(&mut self, id: InstId) -> Check {
        let Some(inst) = self.f.insts.get(id) else {
            let what = "instruction";
            return Err(Violation::Missing {
                what,
                index: id.index(),
            });
        };
        self.current = Some(id);
        if std::mem::replace(&mut self.placed[id.index()], true) {
            return Err(Violation::Twice);
        }
        let args = self.kinds(&inst.args)?;
        let mut results = SmallVec::<[Kind; 8]>::new();
        for (i, result) in inst.results().enumerate() {
            match self.f.values.get(result) {
                Some(data) if data.def == Def::Inst(id, i as u8) => results.push(data.kind),
                _ => return Err(Violation::Definition(result.index())),
            }
        }
        ops::check(self.f, self.env, &inst.op, &args, &results)?;
        for result in inst.results() {
            self.show(result);
        }
        self.current = None;
        Ok(())
    }
}

/// A local or array of the function, or the violation.
fn find<'a, T>(arena: &'a Arena<T>, handle: Handle<T>, what: &'static str) -> Result<&'a T, Violation> {
    let index = handle.index();
    arena.get(handle).ok_or(Violation::Missing { what, index })
}

fn local(f: &Function, handle: Handle<Local>) -> Result<&Local, Violation> {
    find(&f.locals, handle, "local")
}

/// Whether an operation only makes sense where quads exist.
fn needs_fragment(op: &Op) -> bool {
    match op {
        Op::Quad(_) | Op::Discard | Op::IsHelper | Op::SetHelper | Op::InputAt { .. } => true,
        Op::Sample { op, .. } => op.is_quad_read(),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
