//! What is wrong with a shader, said with its source text: message, labelled byte ranges, notes.
//!
//! All front ends report through [`ShaderError`]; [`Diagnostic::render`] draws the source line with a caret. Nothing
//! here fails on odd text: ranges are clipped to the text and to character boundaries.

use crate::ir::SourceText;
use std::fmt::Write as _;
use std::ops::Range;
use std::sync::Arc;

/// A message about a shader's text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diagnostic {
    /// What is wrong, in a sentence.
    pub message: String,
    /// Byte ranges of the text, the most important first, and what each one shows (may be empty).
    pub labels: Vec<(Range<usize>, String)>,
    /// Further sentences: causes, what to do.
    pub notes: Vec<String>,
}

/// Characters of a source line that are shown around a label.
const LINE_WINDOW: usize = 160;

impl Diagnostic {
    /// A message without position.
    pub fn new(message: impl Into<String>) -> Diagnostic {
        Diagnostic {
            message: message.into(),
            ..Diagnostic::default()
        }
    }

    /// Adds a labelled range; empty and reversed ranges are fine.
    #[must_use]
    pub fn with_label(mut self, range: Range<usize>, text: impl Into<String>) -> Diagnostic {
        self.labels.push((range, text.into()));
        self
    }

    /// Adds a note.
    #[must_use]
    pub fn with_note(mut self, note: impl Into<String>) -> Diagnostic {
        self.notes.push(note.into());
        self
    }

    /// Line and column, both from 1, of the first label.
    pub fn location(&self, text: &str) -> Option<(usize, usize)> {
        let (range, _) = self.labels.first()?;
        let line = Line::at(text, range);
        Some((line.number, line.column))
    }

    /// The diagnostic as plain text: message, then per label the source line with carets under the range.
    pub fn render(&self, source: &SourceText) -> String {
        self.render_as("error", source)
    }

    /// The same, of what is only doubtful.
    pub fn render_warning(&self, source: &SourceText) -> String {
        self.render_as("warning", source)
    }

    fn render_as(&self, severity: &str, source: &SourceText) -> String {
        let mut out = format!("{severity}: {}\n", self.message);
        let lines: Vec<Line> = self.labels.iter().map(|(r, _)| Line::at(&source.text, r)).collect();
        let gutter = lines.iter().map(|l| l.number.to_string().len()).max().unwrap_or(1);
        for (line, (_, text)) in lines.iter().zip(&self.labels) {
            let name = printable(&source.name);
            let carets = "^".repeat(line.width);
            // Writing to a string can't fail.
            let _ = writeln!(out, "{:gutter$}--> {name}:{}:{}", "", line.number, line.column);
            let _ = writeln!(out, "{:gutter$} |", "");
            let _ = writeln!(out, "{:gutter$} | {}", line.number, line.shown);
            let _ = writeln!(
                out,
                "{:gutter$} | {}",
                "",
                format!("{}{carets} {text}", line.indent).trim_end()
            );
        }
        for note in &self.notes {
            let _ = writeln!(out, "{:gutter$} = note: {note}", "");
        }
        out
    }
}

/// One source line, ready to show.
struct Line {
    number: usize,
    column: usize,
    shown: String,
    indent: String,
    width: usize,
}

impl Line {
    fn at(text: &str, range: &Range<usize>) -> Line {
        let start = floor_boundary(text, range.start);
        let end = floor_boundary(text, range.end.max(start));
        let (before, after) = text.split_at(start);
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        let line_end = start + after.find('\n').unwrap_or(after.len());
        let (head, tail) = (&text[line_start..start], &text[start..line_end]);
        let marked = &text[start..end.min(line_end)];
        let column = head.chars().count() + 1;
        let width = marked.trim_end().chars().count().clamp(1, LINE_WINDOW);
        // A line of a minified shader may be the whole file: show what is around the label.
        let skip = (column - 1).saturating_sub(LINE_WINDOW / 2);
        let head: String = head.chars().skip(skip).collect();
        let tail: String = tail.chars().take(LINE_WINDOW).collect();
        Line {
            number: before.matches('\n').count() + 1,
            column,
            shown: printable(&format!("{head}{tail}")).trim_end().to_owned(),
            indent: head.chars().map(|c| if c == '\t' { '\t' } else { ' ' }).collect(),
            width,
        }
    }
}

/// The text with control characters (escape sequences of a terminal, say) replaced.
fn printable(text: &str) -> String {
    let clean = |c: char| if c.is_control() && c != '\t' { '\u{fffd}' } else { c };
    text.trim_end_matches(['\r', '\n']).chars().map(clean).collect()
}

fn floor_boundary(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// Whose fault a [`ShaderError`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ShaderErrorKind {
    /// The text doesn't parse, or names and types don't fit.
    Syntax,
    /// It parses, but breaks a rule of the language.
    Invalid,
    /// There is no such entry point.
    EntryPoint,
    /// A pipeline constant is missing, unknown or out of range.
    Constant,
    /// The shader uses something that isn't implemented; the message names it.
    Unsupported,
    /// The shader is larger than what is accepted; the message names the limit.
    Limit,
    /// A bug in the front end.
    Internal,
}

/// Why a shader was refused.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{}", self.headline())]
pub struct ShaderError {
    /// Whose fault it is.
    pub kind: ShaderErrorKind,
    /// The message with its positions.
    pub diagnostic: Box<Diagnostic>,
    /// The text that the positions are in.
    pub text: Arc<SourceText>,
}

impl ShaderError {
    /// An error about that text.
    pub fn new(kind: ShaderErrorKind, text: &Arc<SourceText>, diagnostic: Diagnostic) -> ShaderError {
        ShaderError {
            kind,
            diagnostic: Box::new(diagnostic),
            text: text.clone(),
        }
    }

    /// The diagnostic with source lines and carets, as plain text.
    pub fn render(&self) -> String {
        self.diagnostic.render(&self.text)
    }

    /// The same, of what is only doubtful.
    pub fn render_warning(&self) -> String {
        self.diagnostic.render_warning(&self.text)
    }

    /// Line and column, both from 1, where there is a position.
    pub fn location(&self) -> Option<(usize, usize)> {
        self.diagnostic.location(&self.text.text)
    }

    fn headline(&self) -> String {
        let name = printable(&self.text.name);
        match self.location() {
            Some((line, column)) => format!("{name}:{line}:{column}: {}", self.diagnostic.message),
            None => format!("{name}: {}", self.diagnostic.message),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(text: &str) -> SourceText {
        SourceText {
            name: "a.wgsl".into(),
            text: text.into(),
        }
    }

    #[test]
    fn caret_stands_under_the_range() {
        let d = Diagnostic::new("no such name")
            .with_label(10..11, "here")
            .with_note("declare it");
        let want = "error: no such name\n --> a.wgsl:2:5\n  |\n2 | let y = 2;\n  |     ^ here\n  = note: declare it\n";
        assert_eq!(d.render(&source("let x\nlet y = 2;\n")), want);
    }

    #[test]
    fn any_range_renders() {
        let text = source("aé\tb\u{1b}[2J\r\n日本語\n");
        for start in 0..40 {
            for end in 0..40 {
                let d = Diagnostic::new("m").with_label(start..end, "l");
                assert!(!d.render(&text).contains('\u{1b}'));
            }
        }
        assert!(
            Diagnostic::new("m")
                .with_label(0..0, "")
                .render(&source(""))
                .contains("a.wgsl:1:1")
        );
    }

    #[test]
    fn long_lines_are_cut_around_the_label() {
        let text = source(&"x ".repeat(100_000));
        let rendered = Diagnostic::new("m").with_label(100_000..100_001, "l").render(&text);
        assert!(rendered.len() < 1000 && rendered.contains(":1:100001"));
    }
}
