//! Parses shaders and functions.

use super::lex::{Token, error_at, tokens};
use super::op::{self, Attr, numbered};
use super::print::{BUILTINS, DEPTH_OUTPUTS, INTERPOLATIONS, SAMPLE_KINDS, SAMPLINGS, STAGES};
use super::{MAX_NESTING, ParseError, ParseErrorKind};
use crate::ir::op::{Op, ResourceRef};
use crate::ir::shader::{
    Args, Binding, Body, Builtin, Case, Def, Function, Input, Inst, Label, Local, LocalArray, LoopBound, Output,
    Resource, ResourceClass, Semantic, Shader, Stmt, Value, ValueData,
};
use crate::ir::span::{SourceText, Sources, Span, SpanId};
use crate::ir::{Arena, Handle, Kind, Literal};
use rustc_hash::FxHashMap;

type Result<T> = std::result::Result<T, ParseError>;

/// Reads a shader.
pub fn parse_shader(text: &str) -> Result<Shader> {
    let mut p = Parser::new(text)?;
    let shader = p.shader()?;
    p.end()?;
    Ok(shader)
}

/// Reads a function that stands alone.
pub fn parse_function(text: &str) -> Result<Function> {
    let mut p = Parser::new(text)?;
    p.word("func")?;
    let (_, function) = p.function()?;
    p.end()?;
    Ok(function)
}

struct Parser<'a> {
    text: &'a str,
    tokens: Vec<(Token, usize)>,
    at: usize,
    /// Of the function being read: by printed number.
    values: FxHashMap<u32, Value>,
    labels: FxHashMap<usize, Label>,
    depth: usize,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str) -> Result<Self> {
        Ok(Parser {
            text,
            tokens: tokens(text)?,
            at: 0,
            values: FxHashMap::default(),
            labels: FxHashMap::default(),
            depth: 0,
        })
    }

    fn peek(&self) -> &Token {
        self.tokens.get(self.at).map_or(&Token::End, |t| &t.0)
    }

    fn next(&mut self) -> Token {
        let token = self.peek().clone();
        self.at += 1;
        token
    }

    /// An error at the token before the current one.
    fn error(&self, kind: ParseErrorKind) -> ParseError {
        let at = self.at.saturating_sub(1).min(self.tokens.len().saturating_sub(1));
        error_at(self.text, self.tokens.get(at).map_or(0, |t| t.1), kind)
    }

    fn expected<T>(&self, expected: &'static str, found: &Token) -> Result<T> {
        let found = found.describe();
        Err(self.error(ParseErrorKind::Expected { expected, found }))
    }

    fn end(&mut self) -> Result<()> {
        match self.next() {
            Token::End => Ok(()),
            other => self.expected("the end of the text", &other),
        }
    }

    fn is_mark(&mut self, mark: char) -> bool {
        let found = *self.peek() == Token::Mark(mark);
        self.at += usize::from(found);
        found
    }

    fn mark(&mut self, mark: char, expected: &'static str) -> Result<()> {
        match self.next() {
            Token::Mark(m) if m == mark => Ok(()),
            other => self.expected(expected, &other),
        }
    }

    fn is_word(&mut self, word: &str) -> bool {
        let found = matches!(self.peek(), Token::Word(w) if w == word);
        self.at += usize::from(found);
        found
    }

    fn word(&mut self, word: &'static str) -> Result<()> {
        match self.next() {
            Token::Word(w) if w == word => Ok(()),
            other => self.expected(word, &other),
        }
    }

    fn any_word(&mut self, expected: &'static str) -> Result<String> {
        match self.next() {
            Token::Word(w) => Ok(w),
            other => self.expected(expected, &other),
        }
    }

    fn string(&mut self) -> Result<String> {
        match self.next() {
            Token::String(s) => Ok(s),
            other => self.expected("a string", &other),
        }
    }

    fn number<T: std::str::FromStr>(&mut self, wanted: &'static str) -> Result<T> {
        match self.next() {
            Token::Number(text) => text.parse().map_err(|_| {
                self.error(ParseErrorKind::Number {
                    text,
                    wanted: wanted.into(),
                })
            }),
            other => self.expected(wanted, &other),
        }
    }

    fn named<T: Copy>(&mut self, table: &[(&'static str, T)], class: &'static str) -> Result<T> {
        let name = self.any_word(class)?;
        match table.iter().find(|e| e.0 == name) {
            Some(entry) => Ok(entry.1),
            None => Err(self.error(ParseErrorKind::Unknown { class, name })),
        }
    }

    fn kind(&mut self) -> Result<Kind> {
        let name = self.any_word("a kind")?;
        Kind::from_name(&name).ok_or_else(|| self.error(ParseErrorKind::Unknown { class: "kind", name }))
    }

    fn literal(&mut self, kind: Kind) -> Result<Literal> {
        let text = match self.next() {
            Token::Number(t) | Token::Word(t) => t,
            other => return self.expected("a literal", &other),
        };
        op::parse_literal(&text, kind).ok_or_else(|| {
            self.error(ParseErrorKind::Number {
                text,
                wanted: format!("literal of kind {kind} (or 0x and its bits)"),
            })
        })
    }

    fn sigil(&mut self, sigil: char, expected: &'static str) -> Result<u32> {
        match self.next() {
            Token::Sigil(c, n) if c == sigil => Ok(n),
            other => self.expected(expected, &other),
        }
    }

    fn prefixed(&mut self, prefix: &'static str, expected: &'static str) -> Result<usize> {
        match self.next() {
            Token::Word(w) if numbered(&w, prefix).is_some() => Ok(numbered(&w, prefix).unwrap_or(0)),
            other => self.expected(expected, &other),
        }
    }

    /// A numbered declaration: the number must be the next of its arena.
    fn in_order(&self, number: usize, len: usize, what: &str) -> Result<()> {
        if number == len {
            Ok(())
        } else {
            Err(self.error(ParseErrorKind::Redefined(format!("{what}{number}"))))
        }
    }

    fn span(&mut self) -> Option<SpanId> {
        match *self.peek() {
            Token::Sigil('@', n) => {
                self.at += 1;
                Some(Handle::from_index(n as usize))
            }
            _ => None,
        }
    }

    fn shader(&mut self) -> Result<Shader> {
        self.word("shader")?;
        let name = self.string()?;
        let stage = self.named(&STAGES, "stage")?;
        let mut shader = Shader {
            name,
            stage,
            inputs: Arena::new(),
            outputs: Vec::new(),
            resources: Arena::new(),
            functions: Arena::new(),
            entry: Handle::from_index(0),
            early_depth_stencil: self.is_word("early_depth_stencil"),
            depth_output: DEPTH_OUTPUTS
                .into_iter()
                .find_map(|(name, output)| self.is_word(name).then_some(output))
                .unwrap_or_default(),
            sources: Sources::default(),
        };
        self.mark('{', "{")?;
        loop {
            match self.next() {
                Token::Mark('}') => return Ok(shader),
                Token::Word(w) => match w.as_str() {
                    "source" => {
                        let (name, text) = (self.string()?, self.string()?);
                        shader.sources.texts.push(SourceText { name, text });
                    }
                    "span" => self.span_decl(&mut shader)?,
                    "input" => self.input(&mut shader)?,
                    "resource" => self.resource(&mut shader)?,
                    "output" => self.output(&mut shader)?,
                    "func" => {
                        let (number, function) = self.function()?;
                        self.in_order(number, shader.functions.len(), "fn")?;
                        shader.functions.push(function);
                    }
                    "entry" => shader.entry = Handle::from_index(self.prefixed("fn", "a function")?),
                    _ => return self.expected("a declaration", &Token::Word(w)),
                },
                other => return self.expected("a declaration or }", &other),
            }
        }
    }

    fn span_decl(&mut self, shader: &mut Shader) -> Result<()> {
        let number = self.sigil('@', "a span")?;
        self.in_order(number as usize, shader.sources.spans.len(), "@")?;
        self.mark('=', "=")?;
        let source = self.number("source number")?;
        self.mark(',', ",")?;
        let start = self.number("byte position")?;
        self.mark(',', ",")?;
        let end = self.number("byte position")?;
        let inlined_at = if self.is_word("inlined") {
            Some(Handle::from_index(self.sigil('@', "a span")? as usize))
        } else {
            None
        };
        shader.sources.spans.push(Span {
            source,
            start,
            end,
            inlined_at,
        });
        Ok(())
    }

    fn input(&mut self, shader: &mut Shader) -> Result<()> {
        let number = self.prefixed("in", "an input's number")?;
        self.in_order(number, shader.inputs.len(), "in")?;
        let name = self.string()?;
        self.mark(':', ":")?;
        let kind = self.kind()?;
        self.mark('=', "=")?;
        let input = Input {
            name,
            kind,
            semantic: self.semantic()?,
            interpolation: self.named(&INTERPOLATIONS, "interpolation")?,
            sampling: self.named(&SAMPLINGS, "sampling place")?,
        };
        shader.inputs.push(input);
        Ok(())
    }

    fn output(&mut self, shader: &mut Shader) -> Result<()> {
        let name = self.string()?;
        self.mark(':', ":")?;
        let kind = self.kind()?;
        self.mark('=', "=")?;
        let semantic = self.semantic()?;
        let local = Handle::from_index(self.sigil('$', "a local")? as usize);
        let invariant = self.is_word("invariant");
        shader.outputs.push(Output {
            name,
            semantic,
            kind,
            local,
            invariant,
        });
        Ok(())
    }

    fn semantic(&mut self) -> Result<Semantic> {
        let class = self.any_word("location or builtin")?;
        self.mark('(', "(")?;
        let semantic = match class.as_str() {
            "location" => {
                let location = self.number("location")?;
                self.mark(',', ",")?;
                let component = self.number("component")?;
                let second_source = self.is_mark(',');
                if second_source {
                    self.word("second")?;
                }
                Semantic::Location {
                    location,
                    component,
                    second_source,
                }
            }
            "builtin" => {
                let name = self.any_word("a built-in")?;
                Semantic::Builtin(match name.as_str() {
                    "position" => Builtin::Position(self.component()?),
                    "clip_distance" => Builtin::ClipDistance(self.component()?),
                    "cull_distance" => Builtin::CullDistance(self.component()?),
                    _ => match BUILTINS.iter().find(|e| e.0 == name) {
                        Some(entry) => entry.1,
                        None => {
                            let class = "built-in";
                            return Err(self.error(ParseErrorKind::Unknown { class, name }));
                        }
                    },
                })
            }
            _ => return self.expected("location or builtin", &Token::Word(class)),
        };
        self.mark(')', ")")?;
        Ok(semantic)
    }

    fn component(&mut self) -> Result<u8> {
        self.mark(',', ",")?;
        self.number("component")
    }

    fn resource(&mut self, shader: &mut Shader) -> Result<()> {
        let number = self.prefixed("r", "a resource's number")?;
        self.in_order(number, shader.resources.len(), "r")?;
        let name = self.string()?;
        self.mark(':', ":")?;
        let class = self.class()?;
        self.mark('=', "=")?;
        let binding = match self.any_word("group or register")?.as_str() {
            "group" => {
                self.mark('(', "(")?;
                let group = self.number("group")?;
                self.mark(',', ",")?;
                let binding = self.number("binding")?;
                Binding::WebGpu { group, binding }
            }
            "register" => {
                self.mark('(', "(")?;
                let class = self.string()?;
                self.mark(',', ",")?;
                let register = self.number("register")?;
                self.mark(',', ",")?;
                let space = self.number("space")?;
                let class = class.chars().next().unwrap_or('?');
                Binding::Register { class, register, space }
            }
            other => return self.expected("group or register", &Token::Word(other.into())),
        };
        self.mark(')', ")")?;
        self.word("count")?;
        let count = self.number("count")?;
        let span = self.span();
        shader.resources.push(Resource {
            name,
            span,
            class,
            count,
            binding,
        });
        Ok(())
    }

    fn class(&mut self) -> Result<ResourceClass> {
        let name = self.any_word("a class of resource")?;
        self.mark('(', "(")?;
        let class = match name.as_str() {
            "uniform" => ResourceClass::Uniform {
                min_size: self.number("size")?,
            },
            "storage" => ResourceClass::Storage {
                min_size: self.number("size")?,
                writable: self.flag("write")?,
            },
            "texture" => {
                let dim = self.dim()?;
                let (array, multisampled) = (self.flag("array")?, self.flag("multisampled")?);
                self.mark(',', ",")?;
                ResourceClass::Texture {
                    dim,
                    array,
                    multisampled,
                    sample: self.named(&SAMPLE_KINDS, "component class")?,
                }
            }
            "storage_texture" => {
                let dim = self.dim()?;
                let array = self.flag("array")?;
                self.mark(',', ",")?;
                ResourceClass::StorageTexture {
                    dim,
                    array,
                    format: self.string()?,
                    readable: self.flag("read")?,
                    writable: self.flag("write")?,
                }
            }
            "sampler" => ResourceClass::Sampler {
                comparison: self.is_word("comparison"),
            },
            "immediate" => ResourceClass::Immediate {
                size: self.number("size")?,
            },
            _ => {
                let class = "class of resource";
                return Err(self.error(ParseErrorKind::Unknown { class, name }));
            }
        };
        self.mark(')', ")")?;
        Ok(class)
    }

    /// `, word`, if it is there.
    fn flag(&mut self, word: &str) -> Result<bool> {
        let next = self.tokens.get(self.at + 1).map(|t| &t.0);
        let found = *self.peek() == Token::Mark(',') && matches!(next, Some(Token::Word(w)) if w == word);
        self.at += if found { 2 } else { 0 };
        Ok(found)
    }

    fn dim(&mut self) -> Result<crate::ir::Dim> {
        let name = self.any_word("a shape")?;
        op::dim_from_name(&name).ok_or_else(|| self.error(ParseErrorKind::Unknown { class: "shape", name }))
    }

    /// A function after the word `func`, with its number.
    fn function(&mut self) -> Result<(usize, Function)> {
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

    fn define(&mut self, number: u32, value: Value) -> Result<()> {
        match self.values.insert(number, value) {
            None => Ok(()),
            Some(_) => Err(self.error(ParseErrorKind::Redefined(format!("%{number}")))),
        }
    }

    fn value(&mut self) -> Result<Value> {
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

    fn operands(&mut self, args: &mut Args) -> Result<()> {
        loop {
            args.push(self.value()?);
            if !self.is_mark(',') {
                return Ok(());
            }
        }
    }

    fn inst(&mut self, f: &mut Function) -> Result<Stmt> {
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
