//! The vertex stage: primitives of a draw, index reuse, fetch, vertex programs.

mod assemble;
mod format;
mod stage;

pub(crate) use assemble::{Primitives, Shape};
pub use format::{Elements, VertexFormat, VertexFormatKind, fetch_groups};
pub(crate) use stage::{VertexCells, VertexJob, VertexScratch, shade};
