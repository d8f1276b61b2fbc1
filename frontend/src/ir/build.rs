//! Builds functions statement by statement; ill-typed IR can't be built (it panics: a bug of the caller, who has
//! checked the source language's types before).
//!
//! The builder keeps a stack of open bodies; `begin_*` opens one, `end_*` closes it and appends the statement.

use super::alu::Alu;
use super::arena::Handle;
use super::kind::{Kind, Literal};
use super::op::{Op, QuadOp};
use super::shader::{
    Args, Body, Case, Def, Function, Inst, InstId, Label, Local, LocalArray, LoopBound, Stmt, Value, ValueData,
};
use super::span::SpanId;
use rustc_hash::FxHashMap;

enum Open {
    Root,
    Block {
        label: Label,
    },
    Then {
        cond: Value,
        span: Option<SpanId>,
    },
    Else {
        cond: Value,
        span: Option<SpanId>,
        then: Body,
    },
    LoopBody {
        label: Label,
        bound: LoopBound,
        span: Option<SpanId>,
    },
    Continuing {
        label: Label,
        bound: LoopBound,
        span: Option<SpanId>,
        body: Body,
    },
    Switch {
        label: Label,
        selector: Value,
        span: Option<SpanId>,
        cases: Vec<Case>,
    },
    Case {
        values: Vec<u32>,
        default: bool,
    },
}

/// Builds one [`Function`].
pub struct FunctionBuilder {
    /// The function so far; its body is set by [`finish`](Self::finish).
    pub func: Function,
    stack: Vec<(Open, Body)>,
    span: Option<SpanId>,
    /// Constants made in the root body so far: reused, since they dominate everything after.
    constants: FxHashMap<Literal, Value>,
}

impl FunctionBuilder {
    /// Starts an empty function.
    pub fn new(name: impl Into<String>) -> Self {
        Self::on(Function {
            name: name.into(),
            ..Function::default()
        })
    }

    /// Starts on a function whose arenas stay as they are and whose body will be replaced.
    pub fn on(mut func: Function) -> Self {
        func.body.clear();
        FunctionBuilder {
            func,
            stack: vec![(Open::Root, Vec::new())],
            span: None,
            constants: FxHashMap::default(),
        }
    }

    /// Closes the function.
    ///
    /// # Panics
    /// If a construct is still open.
    pub fn finish(mut self) -> Function {
        assert!(self.stack.len() == 1, "a construct is still open");
        self.func.body = std::mem::take(&mut self.stack[0].1);
        self.func
    }

    /// Source position of the instructions that follow.
    pub fn set_span(&mut self, span: Option<SpanId>) {
        self.span = span;
    }

    /// The source position in force.
    pub fn span(&self) -> Option<SpanId> {
        self.span
    }

    /// Adds a parameter.
    pub fn param(&mut self, kind: Kind) -> Value {
        let index = self.func.params.len() as u32;
        let value = self.func.values.push(ValueData {
            kind,
            def: Def::Param(index),
        });
        self.func.params.push(value);
        value
    }

    /// Adds a local.
    pub fn local(&mut self, name: impl Into<String>, kind: Kind) -> Handle<Local> {
        self.func.locals.push(Local {
            name: name.into(),
            kind,
            init: Literal::zero(kind),
        })
    }

    /// Adds a per-lane array of zeros.
    pub fn array(&mut self, name: impl Into<String>, kind: Kind, len: u32) -> Handle<LocalArray> {
        self.func.arrays.push(LocalArray {
            name: name.into(),
            kind,
            len,
            init: Vec::new(),
        })
    }

    /// A fresh label.
    pub fn label(&mut self) -> Label {
        let label = Label(self.func.label_count);
        self.func.label_count += 1;
        label
    }

    /// The kind of a value.
    pub fn kind(&self, value: Value) -> Kind {
        self.func.values[value].kind
    }

    /// Appends a statement to the open body.
    pub fn push(&mut self, stmt: Stmt) {
        self.stack.last_mut().expect("a body is open").1.push(stmt);
    }

    /// Appends an instruction with results of these kinds; the one way in for every operation.
    pub fn inst(&mut self, op: Op, args: &[Value], results: &[Kind]) -> InstId {
        let id = Handle::from_index(self.func.insts.len());
        let first = Handle::from_index(self.func.values.len());
        for (i, &kind) in results.iter().enumerate() {
            self.func.values.push(ValueData {
                kind,
                def: Def::Inst(id, i as u8),
            });
        }
        self.func.insts.push(Inst {
            op,
            args: Args::from_slice(args),
            first_result: (!results.is_empty()).then_some(first),
            result_count: results.len() as u8,
            span: self.span,
        });
        self.push(Stmt::Inst(id));
        id
    }

    /// As [`inst`](Self::inst), for one result.
    pub fn inst1(&mut self, op: Op, args: &[Value], result: Kind) -> Value {
        let id = self.inst(op, args, &[result]);
        self.func.insts[id].result()
    }

    /// A constant.
    pub fn constant(&mut self, literal: Literal) -> Value {
        if let Some(&value) = self.constants.get(&literal) {
            return value;
        }
        let value = self.inst1(Op::Const(literal), &[], literal.kind);
        if self.stack.len() == 1 {
            self.constants.insert(literal, value);
        }
        value
    }

    /// An f32 constant.
    pub fn f32(&mut self, value: f32) -> Value {
        self.constant(Literal::f32(value))
    }
    /// A u32 constant.
    pub fn u32(&mut self, value: u32) -> Value {
        self.constant(Literal::u32(value))
    }
    /// An i32 constant.
    pub fn i32(&mut self, value: i32) -> Value {
        self.constant(Literal::i32(value))
    }
    /// A bool constant.
    pub fn bool(&mut self, value: bool) -> Value {
        self.constant(Literal::bool(value))
    }

    /// A pure operation with one result.
    pub fn alu(&mut self, alu: Alu, args: &[Value]) -> Value {
        let id = self.alu_multi(alu, args);
        self.func.insts[id].result()
    }

    /// A pure operation with any number of results; read them through [`Inst::results`].
    pub fn alu_multi(&mut self, alu: Alu, args: &[Value]) -> InstId {
        let kinds: Vec<Kind> = args.iter().map(|&a| self.kind(a)).collect();
        match alu.check(&kinds) {
            Ok(results) => self.inst(Op::Alu(alu), args, &results),
            Err(error) => panic!("{error} in {}", self.func.name),
        }
    }

    /// The results of an instruction.
    pub fn results(&self, id: InstId) -> Vec<Value> {
        self.func.insts[id].results().collect()
    }

    /// The bits of a value as another kind of the same width; itself if it is of that kind.
    pub fn bitcast(&mut self, value: Value, kind: Kind) -> Value {
        let from = self.kind(value);
        if from == kind {
            return value;
        }
        assert!(
            from.bits() == kind.bits() && from != Kind::Bool && kind != Kind::Bool,
            "bitcast {from} to {kind}"
        );
        self.inst1(Op::Bitcast(kind), &[value], kind)
    }

    /// `cond ? a : b`.
    pub fn select(&mut self, cond: Value, a: Value, b: Value) -> Value {
        self.alu(Alu::Select, &[cond, a, b])
    }

    /// Reads other lanes.
    pub fn quad(&mut self, op: QuadOp, value: Value) -> Value {
        let kind = self.kind(value);
        self.inst1(Op::Quad(op), &[value], kind)
    }

    /// Reads a local.
    pub fn get(&mut self, local: Handle<Local>) -> Value {
        let kind = self.func.locals[local].kind;
        self.inst1(Op::LocalGet(local), &[], kind)
    }

    /// Writes a local.
    pub fn set(&mut self, local: Handle<Local>, value: Value) {
        assert!(
            self.func.locals[local].kind == self.kind(value),
            "local of another kind"
        );
        self.inst(Op::LocalSet { local, merge: true }, &[value], &[]);
    }

    /// Reads an array element.
    pub fn array_get(&mut self, array: Handle<LocalArray>, index: Value) -> Value {
        let kind = self.func.arrays[array].kind;
        assert!(self.kind(index) == Kind::U32, "array index must be u32");
        self.inst1(Op::ArrayGet(array), &[index], kind)
    }

    /// Writes an array element.
    pub fn array_set(&mut self, array: Handle<LocalArray>, index: Value, value: Value) {
        assert!(
            self.kind(index) == Kind::U32 && self.func.arrays[array].kind == self.kind(value),
            "array kinds"
        );
        self.inst(Op::ArraySet(array), &[index, value], &[]);
    }

    /// Opens a labelled block.
    pub fn begin_block(&mut self) -> Label {
        let label = self.label();
        self.stack.push((Open::Block { label }, Vec::new()));
        label
    }

    /// Closes a labelled block.
    pub fn end_block(&mut self) {
        match self.stack.pop() {
            Some((Open::Block { label }, body)) => self.push(Stmt::Block { label, body }),
            _ => panic!("no block is open"),
        }
    }

    /// Closes a labelled block that nothing breaks out of: its statements stand where it would.
    pub fn dissolve_block(&mut self) {
        match self.stack.pop() {
            Some((Open::Block { .. }, body)) => {
                if let Some((_, outer)) = self.stack.last_mut() {
                    outer.extend(body);
                }
            }
            _ => panic!("no block is open"),
        }
    }

    /// Opens the then-side of an `If`.
    pub fn begin_if(&mut self, cond: Value) {
        assert!(self.kind(cond) == Kind::Bool, "condition must be bool");
        self.stack.push((Open::Then { cond, span: self.span }, Vec::new()));
    }

    /// Goes over to the else-side.
    pub fn begin_else(&mut self) {
        match self.stack.pop() {
            Some((Open::Then { cond, span }, then)) => self.stack.push((Open::Else { cond, span, then }, Vec::new())),
            _ => panic!("no then-side is open"),
        }
    }

    /// Closes an `If`.
    pub fn end_if(&mut self) {
        let stmt = match self.stack.pop() {
            Some((Open::Then { cond, span }, then)) => Stmt::If {
                cond,
                then,
                otherwise: Vec::new(),
                span,
            },
            Some((Open::Else { cond, span, then }, otherwise)) => Stmt::If {
                cond,
                then,
                otherwise,
                span,
            },
            _ => panic!("no if is open"),
        };
        self.push(stmt);
    }

    /// Opens a loop's body.
    pub fn begin_loop(&mut self, bound: LoopBound) -> Label {
        let label = self.label();
        self.stack.push((
            Open::LoopBody {
                label,
                bound,
                span: self.span,
            },
            Vec::new(),
        ));
        label
    }

    /// Goes over to the continuing block.
    pub fn begin_continuing(&mut self) {
        match self.stack.pop() {
            Some((Open::LoopBody { label, bound, span }, body)) => {
                self.stack.push((
                    Open::Continuing {
                        label,
                        bound,
                        span,
                        body,
                    },
                    Vec::new(),
                ));
            }
            _ => panic!("no loop body is open"),
        }
    }

    /// Closes a loop.
    pub fn end_loop(&mut self, break_if: Option<Value>) {
        let stmt = match self.stack.pop() {
            Some((Open::LoopBody { label, bound, span }, body)) => Stmt::Loop {
                label,
                body,
                continuing: Vec::new(),
                break_if,
                bound,
                span,
            },
            Some((
                Open::Continuing {
                    label,
                    bound,
                    span,
                    body,
                },
                continuing,
            )) => Stmt::Loop {
                label,
                body,
                continuing,
                break_if,
                bound,
                span,
            },
            _ => panic!("no loop is open"),
        };
        self.push(stmt);
    }

    /// Opens a switch; then `begin_case`/`end_case` for each case.
    pub fn begin_switch(&mut self, selector: Value) -> Label {
        assert!(
            matches!(self.kind(selector), Kind::I32 | Kind::U32),
            "selector must be a 32-bit integer"
        );
        let label = self.label();
        self.stack.push((
            Open::Switch {
                label,
                selector,
                span: self.span,
                cases: Vec::new(),
            },
            Vec::new(),
        ));
        label
    }

    /// Opens a case.
    pub fn begin_case(&mut self, values: Vec<u32>, default: bool) {
        self.stack.push((Open::Case { values, default }, Vec::new()));
    }

    /// Closes a case.
    pub fn end_case(&mut self, falls_through: bool) {
        let Some((Open::Case { values, default }, body)) = self.stack.pop() else {
            panic!("no case is open")
        };
        match self.stack.last_mut() {
            Some((Open::Switch { cases, .. }, _)) => cases.push(Case {
                values,
                default,
                body,
                falls_through,
            }),
            _ => panic!("a case outside a switch"),
        }
    }

    /// Closes a switch.
    pub fn end_switch(&mut self) {
        match self.stack.pop() {
            Some((
                Open::Switch {
                    label,
                    selector,
                    span,
                    cases,
                },
                _,
            )) => {
                self.push(Stmt::Switch {
                    label,
                    selector,
                    cases,
                    span,
                });
            }
            _ => panic!("no switch is open"),
        }
    }

    /// Leaves the construct with that label.
    pub fn break_(&mut self, label: Label) {
        self.push(Stmt::Break(label));
    }

    /// Goes to the continuing block of that loop.
    pub fn continue_(&mut self, label: Label) {
        self.push(Stmt::Continue(label));
    }

    /// Ends the function.
    pub fn return_(&mut self, results: &[Value]) {
        self.push(Stmt::Return(Args::from_slice(results)));
    }
}
