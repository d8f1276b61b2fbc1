//! What can be wrong with a job. Every error says which file, and where in it.

use crate::files::FileError;
use crate::files::png::PngError;
use crate::files::shader::ShaderFileError;
use crate::files::texture::TextureFileError;
use crate::{Error, RenderPipelineError, ShaderError, ShaderErrorKind};
use quadrille_jit::CompileError;
use quadrille_raster::pipeline::PipelineError;
use std::path::PathBuf;

/// Why a job could not be loaded, built or run. All are the job's fault, except for files that can't be read.
#[derive(Debug, thiserror::Error)]
pub enum JobError {
    /// The job file, or one that it names, could not be read.
    #[error("job `{}`, {at}", job.display())]
    File {
        /// The job file.
        job: PathBuf,
        /// JSON path of what names the file.
        at: String,
        /// What is wrong with the file.
        source: FileError,
    },
    /// The job file itself could not be read.
    #[error("cannot load the job")]
    Job(#[source] FileError),
    /// A PNG that the job names could not be read.
    #[error("job `{}`, {at}", job.display())]
    Image {
        /// The job file.
        job: PathBuf,
        /// JSON path of what names the image.
        at: String,
        /// What is wrong with the image.
        source: PngError,
    },
    /// A DDS or KTX2 file that the job names could not be read.
    #[error("job `{}`, {at}: `{}` can't be read{}", job.display(), file.display(), source.advice())]
    TextureFile {
        /// The job file.
        job: PathBuf,
        /// JSON path of what names the file.
        at: String,
        /// The file.
        file: PathBuf,
        /// What is wrong with it.
        source: Box<TextureFileError>,
    },
    /// A shader that the job names is in a language that needs more, or was refused by an outside compiler.
    #[error("job `{}`, {at}", job.display())]
    Shader {
        /// The job file.
        job: PathBuf,
        /// JSON path of what names the shader.
        at: String,
        /// What is wrong.
        source: Box<ShaderFileError>,
    },
    /// The job file is no JSON, or not what the format says.
    #[error("{}:{line}:{column}: {}{reason}", job.display(), located(at))]
    Json {
        /// The job file.
        job: PathBuf,
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
        /// JSON path of the mistake.
        at: String,
        /// What is wrong.
        reason: String,
    },
    /// The job contradicts itself or the rules of the format.
    #[error("job `{}`, {at}: {reason}", job.display())]
    Invalid {
        /// The job file.
        job: PathBuf,
        /// JSON path of the mistake.
        at: String,
        /// What is wrong and what would be right.
        reason: String,
    },
    /// The job asks for something that isn't there (yet).
    #[error("job `{}`, {at}: {feature} is not supported", job.display())]
    Refused {
        /// The job file.
        job: PathBuf,
        /// JSON path of what asks for it.
        at: String,
        /// What is missing.
        feature: String,
    },
    /// A value that isn't the expected one.
    #[error("job `{}`, {at}: {what}", job.display())]
    Unexpected {
        /// The job file.
        job: PathBuf,
        /// JSON path of the probe.
        at: String,
        /// Where it is, what was expected and what is there.
        what: String,
    },
    /// An output could not be written.
    #[error("job `{}`, {at}", job.display())]
    Write {
        /// The job file.
        job: PathBuf,
        /// JSON path of the output.
        at: String,
        /// What went wrong.
        source: FileError,
    },
    /// An object could not be made or a draw not be recorded: the source says why, by the object's name.
    #[error("job `{}`, {at}", job.display())]
    Object {
        /// The job file.
        job: PathBuf,
        /// JSON path of the object.
        at: String,
        /// What the library said.
        source: Box<crate::Error>,
    },
}

impl JobError {
    /// The feature that is missing, if that is why the job can't be run.
    pub fn refused(&self) -> Option<String> {
        match self {
            JobError::Refused { feature, .. } => Some(feature.clone()),
            JobError::Object { source, .. } => missing_feature(source),
            _ => None,
        }
    }

    /// Whether a probe failed: the job ran.
    pub fn is_unexpected_value(&self) -> bool {
        matches!(self, JobError::Unexpected { .. })
    }
}

/// What the library lacks, by its error.
fn missing_feature(error: &Error) -> Option<String> {
    let shader = |e: &ShaderError| (e.kind == ShaderErrorKind::Unsupported).then(|| e.to_string());
    match error {
        Error::Shader(e) => shader(e),
        Error::Pipeline(RenderPipelineError::Shader { source, .. }) => shader(source),
        Error::Pipeline(RenderPipelineError::Unsupported { what, .. }) => Some(what.clone()),
        Error::Pipeline(RenderPipelineError::Refused(e)) => match e {
            PipelineError::Unsupported { what, .. } => Some(what.clone()),
            PipelineError::Compile {
                error: CompileError::Unsupported { what, .. },
                ..
            } => Some(what.clone()),
            _ => None,
        },
        _ => None,
    }
}

fn located(at: &str) -> String {
    // The reader's path of a mistake at the top is "."; of no use to anyone.
    if at.is_empty() || at == "." || at == "?" {
        String::new()
    } else {
        format!("{at}: ")
    }
}
