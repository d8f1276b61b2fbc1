//! Chunks: consecutive primitives of consecutive draws, from indices to bins (law R3).
//!
//! ```text
//! plan.rs   draws x instances ─► chunks of pieces (up to CHUNK primitives)
//! chunk.rs  a chunk: group pieces of equal state, shade, transform, clip, cull ─► Prims, binned by tile
//! ```

mod chunk;
mod plan;

pub(crate) use chunk::{Chunk, ChunkScratch, DrawState, Grid, Prim, area, bounds, build};
pub(crate) use plan::{Piece, plan};

/// Primitives of a chunk, at most.
pub(crate) const CHUNK: u32 = 4096;
