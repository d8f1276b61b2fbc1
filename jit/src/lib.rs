//! Shader IR to native quad code through Cranelift, and the reference interpreter of the same IR.
//!
//! Knows nothing of textures: an intrinsic has a signature ([`abi::Intrinsic`]), that is all.
#![cfg_attr(
    test,
    allow(
        clippy::disallowed_methods,
        reason = "references in tests may come from std's functions (law N4 is about pixels)"
    )
)]
#![deny(unsafe_op_in_unsafe_fn)]

pub mod abi;
pub mod count;
pub mod interp;
pub mod native;
pub mod order;
pub mod program;

pub use native::{Features, Interleave, Jit, JitOptions, Lanes};
pub use program::{CompileCounters, CompileError, CompileStats, Compiled, Executor, Program, ProgramKind, Refusal};
