//! The text form of the IR: prints and parses everything that a [`Shader`] or a bare [`Function`] holds.
//!
//! ```text
//! func fn0 "luminance"(%0: f32, %1: f32) -> (f32) {
//!     local $0 "sum": f32 = 0.0
//!     %2: f32 = const 0.25
//!     %3: f32 = fma %0, %2, %1 @7
//!     set $0, %3
//!     if %4 { overwrite $0, %2 } else { }
//!     return %3
//! }
//! ```
//!
//! Sigils: `%` value, `$` local, `&` per-lane array, `@` span; words with a number: `fn` function, `in` input, `r`
//! resource, `L` label. `set` merges with what inactive lanes hold, `overwrite` doesn't have to (law L7). Literals are
//! exact: a float prints as the shortest decimal that reads back to the same bits; NaN, infinities and f16 print as
//! their bits in hexadecimal. The kind of a constant, load or conversion is that of its result.
//!
//! Printing numbers values and labels densely in the order in which they appear, so the text does not depend on what
//! earlier passes left behind in the arenas, and `print(parse(print(x))) == print(x)`. Laws I1-I5.
//!
//! [`Shader`]: super::Shader
//! [`Function`]: super::Function

mod lex;
mod op;
mod parse;
mod print;

pub use parse::{parse_function, parse_shader};
pub(crate) use print::op_text;
pub use print::{print_function, print_instruction, print_shader};

/// Deepest nesting of statements that the parser reads and the validator accepts, so that walking a body can't
/// overflow the stack.
pub const MAX_NESTING: usize = 256;

/// Text that isn't IR: the position (from 1) and what is wrong there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {kind}")]
pub struct ParseError {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// What is wrong.
    pub kind: ParseErrorKind,
}

/// What is wrong with a text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseErrorKind {
    /// A character that starts no token.
    #[error("{0:?} starts no token")]
    Character(char),
    /// A string without end, or with an escape that isn't one.
    #[error("this string is malformed: close it with a quote; escapes are \\n \\r \\t \\\\ \\\" \\u{{hex}}")]
    String,
    /// Something else was expected.
    #[error("expected {expected}, found {found}")]
    Expected {
        /// What the grammar wants here.
        expected: &'static str,
        /// The token that stands here.
        found: String,
    },
    /// A number that doesn't fit.
    #[error("{text:?} is not a {wanted}")]
    Number {
        /// The token.
        text: String,
        /// What it should have been.
        wanted: String,
    },
    /// A word that names nothing of its class.
    #[error("there is no {class} named {name:?}")]
    Unknown {
        /// What class of name.
        class: &'static str,
        /// The name.
        name: String,
    },
    /// A value or label that isn't defined before its use.
    #[error("{0} is not defined before this use")]
    Undefined(String),
    /// A second definition.
    #[error("{0} is defined twice or out of order")]
    Redefined(String),
    /// An attribute that the operation lacks or doesn't take.
    #[error("{op}: {what}")]
    Attributes {
        /// The operation.
        op: String,
        /// What is missing or too much.
        what: String,
    },
    /// Statements nested too deeply.
    #[error("statements nest deeper than {MAX_NESTING}")]
    Nesting,
}

#[cfg(test)]
mod tests;
