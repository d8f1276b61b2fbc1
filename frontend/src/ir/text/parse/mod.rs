//! Parses shaders and functions.
//!
//! ```text
//! text ─ lex ─► tokens ─► this file: what a token may be     shader: declarations     function: statements     inst: instructions
//! ```

mod function;
mod inst;
mod shader;

use super::lex::{Token, error_at, tokens};
use super::op::{self, numbered};
use super::{ParseError, ParseErrorKind};
use crate::ir::shader::{Function, Label, Shader, Value};
use crate::ir::span::SpanId;
use crate::ir::{Handle, Kind, Literal};
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
}
