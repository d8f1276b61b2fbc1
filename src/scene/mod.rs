//! Scenes: glTF models, image-based light and the physically based renderer that draws them.
//!
//! ```text
//! load/         .gltf, .glb -> model::Scene           environment/  .hdr, .exr, studio -> filtered cube + SH
//! shader        material -> variant of shaders/pbr.wgsl
//! ```
//!
//! The scene is plain data: nothing in `model` or `load` knows a renderer, and nothing here reads pixels back into it.
#![forbid(unsafe_code)]

pub mod environment;
mod error;
mod load;
pub mod math;
pub mod model;
mod parallel;
pub mod render;
pub mod shader;
mod tangent;
pub mod view;

pub use environment::Environment;
pub use error::SceneError;
pub use load::{LoadOptions, load, parse};
