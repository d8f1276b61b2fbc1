//! Job files: a pipeline, its resources and its draws described in data.
//!
//! ```text
//! load/ ──► Loaded (model/: the JSON; shaders, buffers, images in memory)
//!    │            check.rs: draws and indices
//!    └─► prepare/ ──► Prepared (objects of the library) ──► frame/: frames ──► probe.rs: what must come out
//!                                                                         └──► output.rs: files
//! batch.rs: many jobs in one process
//! ```
//!
//! The format is described in `docs/job-format.md`. Errors name the file and the place in it; nothing in a job can make
//! the process crash or read files other than the job's.

mod batch;
mod check;
mod error;
mod frame;
mod load;
pub mod model;
mod named;
mod output;
mod prepare;
mod probe;
mod texels;
mod words;

pub use batch::{Batch, Outcome, Status, find_jobs};
pub use error::JobError;
pub use frame::{Frame, NoImage, OutputImage, Step};
pub use load::{FORMAT, Image, LoadOptions, Loaded, ShaderFile, load, load_files, parse};
pub use model::Job;
pub use named::Named;
pub use prepare::{PrepareOptions, Prepared};
pub use words::LanguageWord;
