//! Failures of the SPIR-V front end: kind, message, and the instruction that they are about.

use crate::diagnostic::{Diagnostic, ShaderErrorKind};

/// Why a module or entry point is refused.
#[derive(Debug)]
pub(super) struct Failure {
    pub kind: ShaderErrorKind,
    pub diagnostic: Box<Diagnostic>,
    /// Index of the instruction.
    pub at: Option<usize>,
}

pub(super) type Result<T> = std::result::Result<T, Failure>;

impl Failure {
    pub fn new(kind: ShaderErrorKind, message: impl Into<String>, at: Option<usize>) -> Failure {
        Failure {
            kind,
            diagnostic: Box::new(Diagnostic::new(message)),
            at,
        }
    }

    pub fn invalid(message: impl Into<String>, at: Option<usize>) -> Failure {
        Failure::new(ShaderErrorKind::Invalid, message, at)
    }

    pub fn unsupported(what: impl AsRef<str>, at: Option<usize>) -> Failure {
        let message = format!("{} isn't supported", what.as_ref());
        Failure::new(ShaderErrorKind::Unsupported, message, at)
    }

    pub fn limit(message: impl Into<String>, at: Option<usize>) -> Failure {
        Failure::new(ShaderErrorKind::Limit, message, at)
    }

    pub fn with_note(mut self, note: impl Into<String>) -> Failure {
        self.diagnostic.notes.push(note.into());
        self
    }
}
