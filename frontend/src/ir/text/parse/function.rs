//! Functions: parameters, locals, arrays, statements. Values and labels are defined before they are used.

use super::{Parser, Result};
use crate::ir::shader::{Args, Body, Case, Def, Function, Label, Local, LocalArray, LoopBound, Stmt, Value, ValueData};
use crate::ir::text::lex::Token;
use crate::ir::text::{MAX_NESTING, ParseErrorKind};

impl Parser<'_> {
    /// A function after the word `func`, with its number.
    pub(super) fn function(&mut self) -> Result<(usize, Function)> {
        self.values.clear();
        self.labels.clear();
        let number = self.prefixed("fn", "a function's number")?;
        let mut f = Function {
            name: self.string()?,
            ..Function::default()
        };
        self.mark('(', "(")?;
        while !self.is_mark(')') {
            if !f.params.is_empty() {
                self.mark(',', ", or )")?;
            }
            let number = self.sigil('%', "a parameter")?;
            self.mark(':', ":")?;
            let def = Def::Param(f.params.len() as u32);
            let kind = self.kind()?;
            let value = f.values.push(ValueData { kind, def });
            self.define(number, value)?;
            f.params.push(value);
        }
        self.mark('>', "->")?;
        self.mark('(', "(")?;
        while !self.is_mark(')') {
            if !f.results.is_empty() {
                self.mark(',', ", or )")?;
            }
            f.results.push(self.kind()?);
        }
        self.mark('{', "{")?;
        loop {
            if self.is_word("local") {
                let number = self.sigil('$', "a local")?;
                self.in_order(number as usize, f.locals.len(), "$")?;
                let name = self.string()?;
                self.mark(':', ":")?;
                let kind = self.kind()?;
                self.mark('=', "=")?;
                let init = self.literal(kind)?;
                f.locals.push(Local { name, kind, init });
            } else if self.is_word("array") {
                let number = self.sigil('&', "an array")?;
                self.in_order(number as usize, f.arrays.len(), "&")?;
                let array = self.array()?;
                f.arrays.push(array);
            } else {
                break;
            }
        }
        f.body = self.body(&mut f)?;
        f.label_count = self.labels.len() as u32;
        Ok((number, f))
    }

    fn array(&mut self) -> Result<LocalArray> {
        let name = self.string()?;
        self.mark(':', ":")?;
        let kind = self.kind()?;
        self.mark('[', "[")?;
        let len = self.number("length")?;
        self.mark(']', "]")?;
        let mut init = Vec::new();
        if self.is_mark('=') {
            self.mark('[', "[")?;
            while !self.is_mark(']') {
                if !init.is_empty() {
                    self.mark(',', ", or ]")?;
                }
                init.push(self.literal(kind)?.bits as u32);
            }
        }
        Ok(LocalArray { name, kind, len, init })
    }

    pub(super) fn define(&mut self, number: u32, value: Value) -> Result<()> {
        match self.values.insert(number, value) {
            None => Ok(()),
            Some(_) => Err(self.error(ParseErrorKind::Redefined(format!("%{number}")))),
        }
    }

    pub(super) fn value(&mut self) -> Result<Value> {
        let number = self.sigil('%', "a value")?;
        match self.values.get(&number) {
            Some(&value) => Ok(value),
            None => Err(self.error(ParseErrorKind::Undefined(format!("%{number}")))),
        }
    }

    fn new_label(&mut self) -> Result<Label> {
        let number = self.prefixed("L", "a label")?;
        let label = Label(self.labels.len() as u32);
        match self.labels.insert(number, label) {
            None => Ok(label),
            Some(_) => Err(self.error(ParseErrorKind::Redefined(format!("L{number}")))),
        }
    }

    fn label(&mut self) -> Result<Label> {
        let number = self.prefixed("L", "a label")?;
        match self.labels.get(&number) {
            Some(&label) => Ok(label),
            None => Err(self.error(ParseErrorKind::Undefined(format!("L{number}")))),
        }
    }

    /// Statements up to and with the closing brace.
    fn body(&mut self, f: &mut Function) -> Result<Body> {
        self.depth += 1;
        if self.depth > MAX_NESTING {
            return Err(self.error(ParseErrorKind::Nesting));
        }
        let mut body = Vec::new();
        while !self.is_mark('}') {
            body.push(self.stmt(f)?);
        }
        self.depth -= 1;
        Ok(body)
    }

    fn braced(&mut self, f: &mut Function) -> Result<Body> {
        self.mark('{', "{")?;
        self.body(f)
    }

    fn stmt(&mut self, f: &mut Function) -> Result<Stmt> {
        let word = match self.peek() {
            Token::Word(w) => w.clone(),
            _ => return self.inst(f),
        };
        let start = self.at;
        self.at += 1;
        Ok(match word.as_str() {
            "block" => Stmt::Block {
                label: self.new_label()?,
                body: self.braced(f)?,
            },
            "if" => Stmt::If {
                cond: self.value()?,
                span: self.span(),
                then: self.braced(f)?,
                otherwise: if self.is_word("else") {
                    self.braced(f)?
                } else {
                    Vec::new()
                },
            },
            "loop" => {
                let label = self.new_label()?;
                let bound = if self.is_word("budgeted") {
                    LoopBound::Budgeted
                } else {
                    self.word("at_most")?;
                    self.mark('(', "(")?;
                    let n = self.number("number of iterations")?;
                    self.mark(')', ")")?;
                    LoopBound::AtMost(n)
                };
                Stmt::Loop {
                    label,
                    bound,
                    span: self.span(),
                    body: self.braced(f)?,
                    continuing: if self.is_word("continuing") {
                        self.braced(f)?
                    } else {
                        Vec::new()
                    },
                    break_if: if self.is_word("break_if") {
                        Some(self.value()?)
                    } else {
                        None
                    },
                }
            }
            "switch" => {
                let label = self.new_label()?;
                let selector = self.value()?;
                let span = self.span();
                self.mark('{', "{")?;
                let mut cases = Vec::new();
                while !self.is_mark('}') {
                    cases.push(self.case(f)?);
                }
                Stmt::Switch {
                    label,
                    selector,
                    cases,
                    span,
                }
            }
            "break" => Stmt::Break(self.label()?),
            "continue" => Stmt::Continue(self.label()?),
            "return" => {
                let mut args = Args::new();
                if matches!(self.peek(), Token::Sigil('%', _)) {
                    self.operands(&mut args)?;
                }
                Stmt::Return(args)
            }
            _ => {
                self.at = start;
                return self.inst(f);
            }
        })
    }

    fn case(&mut self, f: &mut Function) -> Result<Case> {
        self.word("case")?;
        let mut case = Case {
            values: Vec::new(),
            default: false,
            body: Vec::new(),
            falls_through: false,
        };
        if *self.peek() != Token::Mark('{') {
            loop {
                if self.is_word("default") {
                    case.default = true;
                } else {
                    case.values.push(self.number("case value (u32)")?);
                }
                if !self.is_mark(',') {
                    break;
                }
            }
        }
        case.body = self.braced(f)?;
        case.falls_through = self.is_word("falls_through");
        Ok(case)
    }
}
