//! Source positions and inlining chains of instructions (law I4).

use super::arena::Arena;
use super::arena::Handle;

/// A byte range of one source text, and the call it was inlined through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Span {
    /// Which source text of the shader (index into [`Sources::texts`]).
    pub source: u32,
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
    /// The call site, when the instruction came here by inlining.
    pub inlined_at: Option<SpanId>,
}

/// Handle of a [`Span`].
pub type SpanId = Handle<Span>;

/// A named source text.
#[derive(Clone, Debug, PartialEq)]
pub struct SourceText {
    /// File name or label, for diagnostics.
    pub name: String,
    /// The whole text; empty for binaries.
    pub text: String,
}

/// The source texts of a shader and the spans into them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sources {
    /// Source texts.
    pub texts: Vec<SourceText>,
    /// Spans.
    pub spans: Arena<Span>,
}

impl Sources {
    /// Line and column (both from 1) of a span's start, with its source's name.
    pub fn locate(&self, id: SpanId) -> Option<(&str, usize, usize)> {
        let span = self.spans.get(id)?;
        let text = self.texts.get(span.source as usize)?;
        let before = text.text.get(..span.start as usize)?;
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().map_or(0, |l| l.chars().count()) + 1;
        Some((&text.name, line, column))
    }
}
