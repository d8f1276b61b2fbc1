//! Instructions: results, operation, attributes, operands, span.

use super::{Parser, Result};
use crate::ir::Handle;
use crate::ir::op::{Op, ResourceRef};
use crate::ir::shader::{Args, Def, Function, Inst, Local, LocalArray, Stmt, ValueData};
use crate::ir::text::ParseErrorKind;
use crate::ir::text::lex::{Token, error_at};
use crate::ir::text::op::{self, Attr, numbered};

impl Parser<'_> {
    pub(super) fn operands(&mut self, args: &mut Args) -> Result<()> {
        loop {
            args.push(self.value()?);
            if !self.is_mark(',') {
                return Ok(());
            }
        }
    }

    pub(super) fn inst(&mut self, f: &mut Function) -> Result<Stmt> {
        let mut results = Vec::new();
        while matches!(self.peek(), Token::Sigil('%', _)) {
            let number = self.sigil('%', "a result")?;
            self.mark(':', ":")?;
            results.push((number, self.kind()?));
            if !self.is_mark(',') {
                break;
            }
        }
        if results.len() > 255 {
            return self.expected("at most 255 results", &Token::End);
        }
        if !results.is_empty() {
            self.mark('=', "=")?;
        }
        let kind = results.first().map(|r| r.1);
        let name = self.any_word("an operation")?;
        let mut args = Args::new();
        let op = match name.as_str() {
            "const" => match kind {
                Some(kind) => Op::Const(self.literal(kind)?),
                None => return self.expected("a result of the constant", &Token::Word(name)),
            },
            "get" => Op::LocalGet(self.local()?),
            "set" | "overwrite" => Op::LocalSet {
                local: self.local()?,
                merge: name == "set",
            },
            "array.get" => Op::ArrayGet(self.array_operand()?),
            "array.set" => Op::ArraySet(self.array_operand()?),
            "array.reset" => Op::ArrayReset(self.array_operand()?),
            _ => {
                let start = self.at;
                let attrs = if self.is_mark('(') { self.attrs()? } else { Vec::new() };
                op::parse(&name, attrs, kind).map_err(|kind| {
                    let at = self.tokens.get(start.saturating_sub(1)).map_or(0, |t| t.1);
                    error_at(self.text, at, kind)
                })?
            }
        };
        let after_local = matches!(op, Op::LocalSet { .. } | Op::ArrayGet(_) | Op::ArraySet(_));
        if after_local {
            self.mark(',', ",")?;
        }
        if matches!(self.peek(), Token::Sigil('%', _)) && !self.starts_definition() {
            self.operands(&mut args)?;
        }
        let span = self.span();
        let id = Handle::from_index(f.insts.len());
        let first = Handle::from_index(f.values.len());
        let result_count = results.len() as u8;
        for (i, (number, kind)) in results.into_iter().enumerate() {
            let def = Def::Inst(id, i as u8);
            let value = f.values.push(ValueData { kind, def });
            self.define(number, value)?;
        }
        f.insts.push(Inst {
            op,
            args,
            first_result: (result_count > 0).then_some(first),
            result_count,
            span,
        });
        Ok(Stmt::Inst(id))
    }

    /// Whether a `%n` that follows is the result of the next instruction (`%n:`), not an operand.
    fn starts_definition(&self) -> bool {
        self.tokens.get(self.at + 1).map(|t| &t.0) == Some(&Token::Mark(':'))
    }

    fn local(&mut self) -> Result<Handle<Local>> {
        Ok(Handle::from_index(self.sigil('$', "a local")? as usize))
    }

    fn array_operand(&mut self) -> Result<Handle<LocalArray>> {
        Ok(Handle::from_index(self.sigil('&', "an array")? as usize))
    }

    /// Attributes after the opening parenthesis.
    fn attrs(&mut self) -> Result<Vec<Attr>> {
        let mut attrs = Vec::new();
        while !self.is_mark(')') {
            if !attrs.is_empty() {
                self.mark(',', ", or )")?;
            }
            attrs.push(self.attr()?);
        }
        Ok(attrs)
    }

    fn attr(&mut self) -> Result<Attr> {
        let word = match self.next() {
            Token::Number(n) => return Ok(Attr::Number(self.integer(n)?)),
            Token::Word(w) => w,
            other => return self.expected("an attribute", &other),
        };
        if let Some(index) = numbered(&word, "r") {
            let indexed = self.is_mark('[');
            if indexed {
                self.mark(']', "]")?;
            }
            let resource = Handle::from_index(index);
            return Ok(Attr::Resource(ResourceRef { resource, indexed }));
        }
        if !self.is_mark('=') {
            return Ok(Attr::Word(word));
        }
        Ok(match self.next() {
            Token::Number(n) => Attr::KeyNumber(word, self.integer(n)?),
            Token::Word(w) => Attr::KeyWord(word, w),
            Token::Mark('[') => {
                let mut list = Vec::new();
                while !self.is_mark(']') {
                    if !list.is_empty() {
                        self.mark(',', ", or ]")?;
                    }
                    list.push(self.number("integer")?);
                }
                Attr::KeyList(word, list)
            }
            other => return self.expected("an attribute's value", &other),
        })
    }

    fn integer(&self, text: String) -> Result<i64> {
        text.parse().map_err(|_| {
            self.error(ParseErrorKind::Number {
                text,
                wanted: "integer".into(),
            })
        })
    }
}
