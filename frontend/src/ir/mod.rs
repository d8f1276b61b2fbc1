//! The shader IR: scalar per lane, structured, typed; what every front end makes and every back end executes.
//!
//! ```text
//! Shader ─ inputs, outputs, resources, sources
//!   └─ functions ─ values, insts, locals, arrays (arenas of 32-bit handles)
//!        └─ body ─ Stmt: Inst | Block | If | Loop | Switch | Break | Continue | Return
//! ```
//!
//! Vectors and matrices do not exist here: front ends take them apart. Mutable state lives in locals and per-lane
//! arrays; everything else is a value defined once. [`shader`] states the execution model, [`alu`] lists the pure
//! operations, [`op`] the others. Laws I1-I7, N1-N7 and L1, L2, L7.

pub mod alu;
pub mod arena;
pub mod build;
pub mod eval;
pub mod kind;
pub mod op;
pub mod shader;
pub mod span;
pub mod splice;
pub mod text;
pub mod texture;
pub mod validate;

pub use alu::Alu;
pub use arena::{Arena, Handle};
pub use build::FunctionBuilder;
pub use kind::{Kind, Literal};
pub use op::{Access, AtomicOp, Effect, InputPoint, Op, OutOfBounds, QuadOp, ResourceRef};
pub use shader::*;
pub use span::{SourceText, Sources, Span, SpanId};
pub use texture::{Dim, Lod, SampleBatch, SampleOp, TexelOp, TextureQuery};
