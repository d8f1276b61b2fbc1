//! Chunks: consecutive primitives of consecutive draws, from indices to bins (law R3).
//!
//! ```text
//! plan.rs     draws x instances ─► chunks of pieces (up to CHUNK primitives)
//! chunk.rs    a chunk: pieces of equal state are a group
//!   collect.rs  indices ─► distinct vertices and corners
//!   (vertex::stage shades, geometry::view transforms)
//!   prims.rs    reject, cull ─► Prims and their tiles
//!   special.rs  the same for what is clipped, routed, wired, thin or conservative
//!   sort.rs     (tile, Prim) ─► bins, sparse, in order
//! ```

mod chunk;
mod collect;
mod plan;
mod prims;
mod sort;
mod special;

pub(crate) use chunk::{Chunk, ChunkJob, ChunkScratch, DrawState, Grid, Group, Prim, build};
pub(crate) use plan::{Piece, plan};
pub(crate) use prims::area;
#[cfg(test)]
pub(crate) use sort::Bin;

/// Primitives of a chunk, at most. Vertices of a chunk, those that clipping makes included (10 a primitive at most),
/// must be countable in 16 bits.
pub(crate) const CHUNK: u32 = 4096;
