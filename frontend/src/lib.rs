//! Shader text and binaries to checked, scalar, structured shader IR.
//!
//! Knows nothing of machines, nor of pixels in memory.
#![forbid(unsafe_code)]

pub mod ir;
