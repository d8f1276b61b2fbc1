//! raster
pub mod format;
pub mod texture;
