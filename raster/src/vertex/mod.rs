//! The vertex stage: fetch, index reuse, vertex programs.

mod format;

pub use format::{Elements, VertexFormat, VertexFormatKind, fetch_groups};
