//! What can be wrong with a job. Every error says which file, and where in it.

use crate::files::FileError;
use crate::files::png::PngError;
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

fn located(at: &str) -> String {
    // The reader's path of a mistake at the top is "."; of no use to anyone.
    if at.is_empty() || at == "." || at == "?" {
        String::new()
    } else {
        format!("{at}: ")
    }
}
