//! Samplers: textures read through filters, eight lanes a call (laws S1-S3).
//!
//! ```text
//! Binding.sample(view, sampler, op, cells)            intrinsic.rs   the ABI, dispatch by format class and level
//!   ├─ common cases, whole                            quick.rs
//!   └─ arguments, loops over taps and levels          sample.rs
//!        ├─ LOD, levels, anisotropic taps             select.rs, lod.rs
//!        ├─ texels of a tap: addresses, cube edges    taps.rs, coords.rs, cube.rs
//!        └─ fetch, decode, weigh                      surface.rs, class.rs
//! Binding.sample_n(view, sampler, op, cells)          batch.rs       comparisons together
//! Binding.load(view, op, cells)                       load.rs
//! Binding.store(view, op, cells)                      store.rs
//! ```
//!
//! Every kernel is generic over [`crate::simd::Simd`] and the format class. All levels give the same bits: integer sums are
//! exact (law S2), float operations are ordered and never fused. Kernels trust no coordinate: every address is
//! clamped to the texture by the gather itself. Nothing here allocates.

mod batch;
mod class;
mod coords;
mod cube;
mod descriptor;
mod intrinsic;
mod load;
pub mod lod;
mod quick;
mod sample;
mod select;
mod store;
mod surface;
mod taps;
mod view;

#[cfg(test)]
mod tests;

pub use descriptor::{AddressMode, CompareFunction, FilterMode, Reduction, Sampler, SamplerDescriptor, SamplerError};
pub use store::{StorageView, StoreGuard};
pub use view::{ReadGuard, SampledView};
