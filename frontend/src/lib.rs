//! Shader text and binaries to checked, scalar, structured shader IR.
//!
//! Knows nothing of machines, nor of pixels in memory.
#![forbid(unsafe_code)]

pub mod compose;
pub mod diagnostic;
pub mod ir;
pub mod passes;
pub mod wgsl;

pub use diagnostic::{Diagnostic, ShaderError, ShaderErrorKind};
