//! Shader text and binaries to checked, scalar, structured shader IR.
//!
//! Knows nothing of machines, nor of pixels in memory.
#![cfg_attr(
    test,
    allow(
        clippy::disallowed_methods,
        reason = "references in tests may come from std's functions (law N4 is about pixels)"
    )
)]
#![forbid(unsafe_code)]

pub mod compose;
pub mod diagnostic;
mod guard;
pub mod ir;
mod memory;
pub mod passes;
pub mod source;
pub mod spirv;
pub mod wgsl;

pub use diagnostic::{Diagnostic, ShaderError, ShaderErrorKind};
