//! raster
mod dispatch;
pub mod format;
pub mod geometry;
pub mod pool;
pub mod sampler;
pub mod simd;
pub mod texture;
pub mod vertex;
