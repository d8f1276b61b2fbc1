//! The pipeline: resources, samplers, vertex stage, binning, tiles and output merger around native quad code.

mod binning;
mod dispatch;
pub mod format;
pub mod geometry;
pub mod layout;
pub mod pass;
pub mod pipeline;
pub mod pool;
pub mod sampler;
pub mod simd;
pub mod texture;
mod tile;
pub mod vertex;
