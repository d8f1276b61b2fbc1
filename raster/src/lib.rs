//! raster
pub mod format;
