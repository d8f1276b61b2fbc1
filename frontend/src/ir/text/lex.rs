//! Tokens of the text form.

use super::{ParseError, ParseErrorKind};

/// A token; what is written in the text without its sigil or quotes.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    /// A name: letters, digits, `_` and `.`, starting with a letter.
    Word(String),
    /// Anything that starts with a digit or a minus sign.
    Number(String),
    /// A string, escapes resolved.
    String(String),
    /// `%`, `$`, `&` or `@` with a number.
    Sigil(char, u32),
    /// Punctuation; `>` stands for `->`.
    Mark(char),
    /// End of the text.
    End,
}

impl Token {
    /// For error messages.
    pub fn describe(&self) -> String {
        match self {
            Token::Word(w) => format!("`{w}`"),
            Token::Number(n) => format!("`{n}`"),
            Token::String(s) => format!("string {s:?}"),
            Token::Sigil(c, n) => format!("`{c}{n}`"),
            Token::Mark('>') => "`->`".into(),
            Token::Mark(c) => format!("`{c}`"),
            Token::End => "the end of the text".into(),
        }
    }
}

/// Cuts a text into tokens with their byte positions; the last is [`Token::End`].
pub(super) fn tokens(text: &str) -> Result<Vec<(Token, usize)>, ParseError> {
    let mut lexer = Lexer { text, at: 0 };
    let mut out = Vec::new();
    loop {
        let (token, at) = lexer.next()?;
        let end = token == Token::End;
        out.push((token, at));
        if end {
            return Ok(out);
        }
    }
}

/// The error at a byte position.
pub(super) fn error_at(text: &str, at: usize, kind: ParseErrorKind) -> ParseError {
    let before = text.get(..at).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().map_or(0, |l| l.chars().count()) + 1;
    ParseError { line, column, kind }
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
}

impl Lexer<'_> {
    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or("")
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn take_while(&mut self, mut want: impl FnMut(char, Option<char>) -> bool) -> String {
        let mut out = String::new();
        while let Some(c) = self.peek() {
            if !want(c, out.chars().next_back()) {
                break;
            }
            out.push(c);
            self.at += c.len_utf8();
        }
        out
    }

    fn next(&mut self) -> Result<(Token, usize), ParseError> {
        loop {
            self.take_while(|c, _| c.is_whitespace());
            if !self.rest().starts_with("//") {
                break;
            }
            self.take_while(|c, _| c != '\n');
        }
        let start = self.at;
        let Some(c) = self.peek() else {
            return Ok((Token::End, start));
        };
        if self.rest().starts_with("->") {
            self.at += 2;
            return Ok((Token::Mark('>'), start));
        }
        let token = match c {
            '(' | ')' | '{' | '}' | '[' | ']' | ',' | ':' | '=' => {
                self.at += 1;
                Token::Mark(c)
            }
            '%' | '$' | '&' | '@' => {
                self.at += 1;
                let digits = self.take_while(|c, _| c.is_ascii_digit());
                match digits.parse::<u32>() {
                    Ok(n) if n < u32::MAX => Token::Sigil(c, n),
                    _ => return Err(error_at(self.text, start, ParseErrorKind::Character(c))),
                }
            }
            '"' => Token::String(self.string(start)?),
            c if c.is_ascii_alphabetic() => {
                Token::Word(self.take_while(|c, _| c.is_ascii_alphanumeric() || c == '_' || c == '.'))
            }
            c if c.is_ascii_digit() || c == '-' => {
                let hex = self.rest().starts_with("0x");
                Token::Number(self.take_while(|c, before| {
                    c.is_ascii_alphanumeric()
                        || c == '.'
                        || (c == '-' || c == '+') && (before.is_none() || !hex && before == Some('e'))
                }))
            }
            c => return Err(error_at(self.text, start, ParseErrorKind::Character(c))),
        };
        Ok((token, start))
    }

    fn string(&mut self, start: usize) -> Result<String, ParseError> {
        let bad = || error_at(self.text, start, ParseErrorKind::String);
        let mut out = String::new();
        let mut chars = self.rest().char_indices().skip(1);
        loop {
            let (offset, c) = chars.next().ok_or_else(bad)?;
            match c {
                '"' => {
                    self.at += offset + 1;
                    return Ok(out);
                }
                '\\' => match chars.next().ok_or_else(bad)?.1 {
                    'n' => out.push('\n'),
                    'r' => out.push('\r'),
                    't' => out.push('\t'),
                    c @ ('\\' | '"') => out.push(c),
                    'u' => {
                        if chars.next().map(|c| c.1) != Some('{') {
                            return Err(bad());
                        }
                        let hex: String = chars.by_ref().map(|c| c.1).take_while(|&c| c != '}').take(8).collect();
                        let code = u32::from_str_radix(&hex, 16).ok().and_then(char::from_u32);
                        out.push(code.ok_or_else(bad)?);
                    }
                    _ => return Err(bad()),
                },
                c => out.push(c),
            }
        }
    }
}

/// Writes a string so that the lexer reads it back.
pub(super) fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\\' => out.push_str("\\\\"),
            '"' => out.push_str("\\\""),
            c if c.is_control() => out.push_str(&format!("\\u{{{:x}}}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
