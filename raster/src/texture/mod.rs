//! Textures: storage that samplers read and tiles are written back to, views, copies and mip generation.
//!
//! ```text
//!  write ──► Texture ─┬─ storage (1 or 2 planes of one aspect) ─► SampledView ─► sampler intrinsics
//!  read  ◄──          │      ▲ Target: tile memory rows, 4x4 blocks at a time
//!                     └─ derived copy, made when sampled: sRGB formats in linear light (law S3), blocks decoded (law S4)
//! ```
//!
//! *Layout.* Texels lie in 4x4 blocks, row-major inside the block and blocks row-major in the surface: the four texels
//! of a bilinear tap mostly share a cache line (rgba8: one line a block), a texel's address is the sum of a function
//! of x and a function of y, and two pairs of tile memory make exactly one block. Morton order would need
//! twice the address arithmetic in every tap; linear rows touch two or more lines for every bilinear tap.
//!
//! *Who may touch what.* Every subresource (layer, level) has a borrow count like a `RefCell`'s ([`storage`]): reading
//! and writing the same one at once is an error that names it, never a data race. Within an exclusively
//! borrowed subresource disjoint tiles go to different threads ([`target`]).

pub(crate) mod bc;
mod coverage;
pub(crate) mod derived;
pub mod error;
pub mod layout;
pub mod memory;
pub mod mips;
mod pixels;
pub mod resample;
pub mod resolve;
pub mod samples;
pub mod storage;
pub mod target;
#[cfg(test)]
mod target_tests;
pub(crate) mod texels;
pub mod view;

pub use error::TextureError;
pub use memory::MemoryBudget;
pub use resample::{MipFilter, MipOptions};
pub use resolve::ResolveMode;
pub use samples::Surface;
pub use storage::Borrow as BorrowGuard;
pub use target::{Access, PlaneSet, Target, TargetTile};
pub use texels::{CopyRegion, Texture, TextureDescriptor, TextureDimension};
pub use view::{TextureView, TextureViewDescriptor, ViewDimension};
