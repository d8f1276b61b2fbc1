//! Labels: what errors call an object.

use std::fmt;
use std::sync::Arc;

/// The name of an object, as errors print it.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
pub struct Label(Option<Arc<str>>);

impl Label {
    /// A label, or none.
    pub fn new(text: Option<&str>) -> Label {
        Label(text.filter(|t| !t.is_empty()).map(Arc::from))
    }

    /// The text; empty if there is none.
    pub fn as_str(&self) -> &str {
        self.0.as_deref().unwrap_or("")
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(text) => write!(f, "'{text}'"),
            None => f.write_str("(without label)"),
        }
    }
}

impl fmt::Debug for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
