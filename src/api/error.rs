//! Errors, one enum per operation. Every message names the object by its label, says what is wrong and what would be right.
//!
//! A call that returns an error has changed nothing.

use super::device::DeviceError;
use super::encoder::EncodeError;
use super::pipeline::RenderPipelineError;
use super::query::QueryError;
use super::shader::ShaderError;
use super::submit::SubmitError;
use super::{BindError, BufferError, SamplerError, TextureError};

/// Any error of the library, for functions that use several operations.
///
/// Errors of files and scenes are separate: [`crate::job::JobError`], [`crate::files::FileError`].
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The device could not be made.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// A buffer.
    #[error(transparent)]
    Buffer(#[from] BufferError),
    /// A texture or view.
    #[error(transparent)]
    Texture(#[from] TextureError),
    /// A sampler.
    #[error(transparent)]
    Sampler(#[from] SamplerError),
    /// A shader module.
    #[error(transparent)]
    Shader(#[from] ShaderError),
    /// A layout or bind group.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// A pipeline.
    #[error(transparent)]
    Pipeline(#[from] RenderPipelineError),
    /// A query set.
    #[error(transparent)]
    Query(#[from] QueryError),
    /// Recording commands.
    #[error(transparent)]
    Encode(#[from] EncodeError),
    /// Executing commands.
    #[error(transparent)]
    Submit(#[from] SubmitError),
}

/// The result of a function that uses several operations.
pub type Result<T, E = Error> = std::result::Result<T, E>;
