//! naga's errors, and ours, as diagnostics.

use crate::diagnostic::{Diagnostic, ShaderError, ShaderErrorKind};
use crate::ir::SourceText;
use std::error::Error;
use std::sync::Arc;

/// Why an entry point can't be lowered.
#[derive(Debug)]
pub(super) struct Failure {
    pub kind: ShaderErrorKind,
    pub diagnostic: Box<Diagnostic>,
}

pub(super) type Result<T> = std::result::Result<T, Failure>;

impl Failure {
    pub fn new(kind: ShaderErrorKind, message: impl Into<String>, at: naga::Span) -> Failure {
        let diagnostic = Diagnostic::new(message);
        Failure {
            kind,
            diagnostic: Box::new(match at.to_range() {
                Some(range) => diagnostic.with_label(range, ""),
                None => diagnostic,
            }),
        }
    }

    pub fn unsupported(what: impl AsRef<str>, at: naga::Span) -> Failure {
        let message = format!("{} isn't supported", what.as_ref());
        Failure::new(ShaderErrorKind::Unsupported, message, at)
    }

    pub fn internal(what: impl AsRef<str>, at: naga::Span) -> Failure {
        let message = format!("bug in the WGSL front end: {}", what.as_ref());
        Failure::new(ShaderErrorKind::Internal, message, at)
    }

    pub fn with_note(mut self, note: impl Into<String>) -> Failure {
        self.diagnostic.notes.push(note.into());
        self
    }

    pub fn into_error(self, text: &Arc<SourceText>) -> ShaderError {
        ShaderError::new(self.kind, text, *self.diagnostic)
    }
}

/// An error of naga's parser or type checker.
pub(super) fn syntax(text: &Arc<SourceText>, error: &naga::front::wgsl::ParseError) -> ShaderError {
    if error.notes().any(|note| note.contains("recursion limit")) {
        let diagnostic = Diagnostic::new("expressions, types or statements are nested too deep");
        return ShaderError::new(ShaderErrorKind::Limit, text, diagnostic);
    }
    let mut diagnostic = Diagnostic::new(error.message());
    for (span, label) in error.labels() {
        if let Some(range) = span.to_range() {
            diagnostic = diagnostic.with_label(range, label);
        }
    }
    // Its maintainers' address is no help to our users.
    for note in error.notes().filter(|note| !note.contains("://")) {
        diagnostic = diagnostic.with_note(note);
    }
    ShaderError::new(ShaderErrorKind::Syntax, text, diagnostic)
}

/// Errors of naga's GLSL parser: the first is the message, the others are labels.
pub(super) fn glsl(text: &Arc<SourceText>, errors: &naga::front::glsl::ParseErrors) -> ShaderError {
    let mut all = errors.errors.iter();
    let Some(first) = all.next() else {
        return ShaderError::new(
            ShaderErrorKind::Syntax,
            text,
            Diagnostic::new("the shader doesn't parse"),
        );
    };
    let mut diagnostic = Diagnostic::new(first.kind.to_string());
    if let Some(range) = first.meta.to_range() {
        diagnostic = diagnostic.with_label(range, "");
    }
    for error in all.take(8) {
        if let Some(range) = error.meta.to_range() {
            diagnostic = diagnostic.with_label(range, error.kind.to_string());
        }
    }
    let note = "naga's GLSL parser takes a part of the language; glslangValidator or glslc on PATH take all of it";
    ShaderError::new(ShaderErrorKind::Syntax, text, diagnostic.with_note(note))
}

/// An error of naga's validator: the innermost cause is the message, the outer ones are notes.
pub(super) fn invalid(text: &Arc<SourceText>, error: &naga::WithSpan<naga::valid::ValidationError>) -> ShaderError {
    let mut causes = vec![error.as_inner().to_string()];
    let mut cause: Option<&dyn Error> = error.as_inner().source();
    while let Some(inner) = cause {
        causes.push(inner.to_string());
        cause = inner.source();
    }
    let mut diagnostic = Diagnostic::new(plain_types(causes.pop().unwrap_or_default()));
    for (span, label) in error.spans() {
        if let Some(range) = span.to_range() {
            diagnostic = diagnostic.with_label(range, plain_label(label));
        }
    }
    if diagnostic.labels.is_empty()
        && let naga::valid::ValidationError::EntryPoint { name, .. } = error.as_inner()
        && let Some(range) = declaration(&text.text, name)
    {
        diagnostic = diagnostic.with_label(range, "this entry point");
    }
    // The narrowest range says most.
    diagnostic.labels.sort_by_key(|(range, _)| range.len());
    if diagnostic.labels.len() > 1 {
        diagnostic.labels.retain(|(_, label)| label != "this function");
    }
    for outer in causes.into_iter().rev() {
        if let Some(note) = plain_cause(outer) {
            diagnostic = diagnostic.with_note(note);
        }
    }
    ShaderError::new(ShaderErrorKind::Invalid, text, diagnostic)
}

/// Where `fn name` stands; naga gives entry points no position.
fn declaration(text: &str, name: &str) -> Option<std::ops::Range<usize>> {
    if name.is_empty() {
        return None;
    }
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut from = 0;
    while let Some(found) = text[from..].find(name) {
        let (start, end) = (from + found, from + found + name.len());
        let head = text[..start].trim_end();
        let spaced = head.len() < start;
        if spaced && head.ends_with("fn") && !text[end..].starts_with(is_word) {
            return Some(head.len() - 2..end);
        }
        from = end;
    }
    None
}

/// An outer cause without naga's handle numbers, if anything is left of it.
fn plain_cause(cause: String) -> Option<String> {
    let what = cause.split(' ').next().unwrap_or_default();
    match (cause.find(" ["), cause.find("] ")) {
        (Some(open), Some(close)) if open == what.len() && close > open => {
            (what != "Expression").then(|| format!("{what}{}", &cause[close + 1..]))
        }
        _ => Some(plain_types(cause)),
    }
}

/// naga labels spans with the names of its own types.
fn plain_label(label: &str) -> &str {
    let Some(path) = label.strip_prefix("naga::") else {
        return label;
    };
    let name = path.split([' ', '<']).next().unwrap_or_default();
    match name.rsplit("::").next().unwrap_or_default() {
        "Expression" => "this expression",
        "Type" => "this type",
        "GlobalVariable" | "LocalVariable" => "this variable",
        "Constant" => "this constant",
        "Override" => "this override",
        "Function" => "this function",
        _ => "",
    }
}

/// The message with types as WGSL writes them: naga's messages print its own data structures.
fn plain_types(message: String) -> String {
    const SCALARS: [(&str, &str); 9] = [
        ("kind: Float, width: 2", "f16"),
        ("kind: Float, width: 4", "f32"),
        ("kind: Float, width: 8", "f64"),
        ("kind: Sint, width: 4", "i32"),
        ("kind: Uint, width: 4", "u32"),
        ("kind: Sint, width: 8", "i64"),
        ("kind: Uint, width: 8", "u64"),
        ("kind: Bool, width: 1", "bool"),
        ("kind: Bool, width: 4", "bool"),
    ];
    const SIZES: [(&str, u32); 3] = [("Bi", 2), ("Tri", 3), ("Quad", 4)];
    if !message.contains("Scalar") {
        return message;
    }
    let mut message = message;
    for (debug, name) in SCALARS {
        message = message
            .replace(&format!("Scalar {{ {debug} }}"), name)
            .replace(&format!("Scalar({name})"), name)
            .replace(&format!("Atomic({name})"), &format!("atomic<{name}>"));
        for (size, n) in SIZES {
            message = message.replace(
                &format!("Vector {{ size: {size}, scalar: {name} }}"),
                &format!("vec{n}<{name}>"),
            );
            for (rows, m) in SIZES {
                message = message.replace(
                    &format!("Matrix {{ columns: {size}, rows: {rows}, scalar: {name} }}"),
                    &format!("mat{n}x{m}<{name}>"),
                );
            }
        }
    }
    message
}

/// Longest accepted run of operators without a `;`, `{` or `}` between them. naga's parser and type checker recurse
/// once per operator of a chain `a + b + c ...` and only bound other nesting.
const MAX_CHAIN: usize = 20_000;
/// Most operators in a function: naga's type checker takes time quadratic in them, seconds at this size.
const MAX_FUNCTION: usize = 100_000;

/// Refuses texts on which naga's parser would run out of stack or of patience.
pub(super) fn check_size(text: &Arc<SourceText>) -> std::result::Result<(), ShaderError> {
    let bytes = text.text.as_bytes();
    let (mut run, mut total, mut depth, mut comment) = (0, 0, 0usize, 0usize);
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let pair = (byte, bytes.get(at + 1).copied().unwrap_or_default());
        match pair {
            (b'/', b'*') => {
                comment += 1;
                at += 2;
                continue;
            }
            (b'*', b'/') if comment > 0 => {
                comment -= 1;
                at += 2;
                continue;
            }
            _ if comment > 0 => {}
            (b'/', b'/') => {
                let rest = &bytes[at..];
                at += rest.iter().position(|&b| b == b'\n').unwrap_or(rest.len());
                continue;
            }
            (b'{', _) => (run, depth) = (0, depth + 1),
            (b'}', _) => (run, depth) = (0, depth.saturating_sub(1)),
            (b';', _) => (run, total) = (0, total + 1),
            (b',', _) => total += 1,
            (b'+' | b'-' | b'*' | b'/' | b'%' | b'&' | b'|' | b'^' | b'<' | b'>' | b'=', _)
            | (b'!' | b'~' | b'.' | b'[' | b'(', _) => (run, total) = (run + 1, total + 1),
            _ => {}
        }
        if depth == 0 {
            total = 0;
        }
        let (what, limit) = match (run > MAX_CHAIN, total > MAX_FUNCTION) {
            (true, _) => ("a statement", MAX_CHAIN),
            (_, true) => ("a function", MAX_FUNCTION),
            _ => {
                at += 1;
                continue;
            }
        };
        let diagnostic = Diagnostic::new(format!("{what} has more than {limit} operators")).with_label(at..at + 1, "");
        return Err(ShaderError::new(ShaderErrorKind::Limit, text, diagnostic));
    }
    Ok(())
}
