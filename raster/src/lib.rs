//! The pipeline: resources, samplers, vertex stage, binning, tiles and output merger around native quad code.
#![cfg_attr(
    test,
    allow(
        clippy::disallowed_methods,
        reason = "references in tests may come from std's functions (law N4 is about pixels)"
    )
)]

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
