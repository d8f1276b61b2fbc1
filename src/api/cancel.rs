//! Ending work early.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// A flag that ends the submissions it was given to. Clones are the same flag; once raised it stays raised.
///
/// A cancelled submission returns an error, and what it was to write is undefined (but is memory of its own).
#[derive(Clone, Debug, Default)]
pub struct CancelFlag(Arc<AtomicU32>);

impl CancelFlag {
    /// A flag that isn't raised.
    pub fn new() -> CancelFlag {
        CancelFlag::default()
    }

    /// Raises the flag.
    pub fn cancel(&self) {
        self.0.store(1, Ordering::Relaxed);
    }

    /// Whether it is raised.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed) != 0
    }

    pub(crate) fn word(&self) -> &AtomicU32 {
        &self.0
    }
}
