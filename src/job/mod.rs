//! Job files: a pipeline, its resources and its draws described in data.
//!
//! ```text
//! load.rs ──► Loaded (model.rs: the JSON; shaders, buffers, images in memory)
//!    │            check.rs: draws and indices
//!    └─► prepare.rs ──► Prepared (objects of the library) ──► frame.rs: frames, output
//! ```
//!
//! The format is described in `docs/job-format.md`. Errors name the file and the place in it; nothing in a job can make
//! the process crash or read files other than the job's.

mod check;
mod error;
mod frame;
mod load;
pub mod model;
mod named;
mod prepare;
mod words;

pub use error::JobError;
pub use frame::{Frame, NoImage, OutputImage};
pub use load::{FORMAT, Image, LoadOptions, Loaded, ShaderText, load, parse};
pub use model::Job;
pub use named::Named;
pub use prepare::{PrepareOptions, Prepared};
