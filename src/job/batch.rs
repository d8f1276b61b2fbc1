//! Many jobs in one process: a failed one doesn't stop the others.

use super::error::JobError;
use super::load::{LoadOptions, job_file, load};
use super::prepare::PrepareOptions;
use crate::files::{self, FileError};
use crate::{CancelFlag, Device};
use std::any::Any;
use std::error::Error;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A list of jobs larger than this is refused unread.
const MAX_LIST_BYTES: u64 = 64 << 20;
/// Directories nested deeper than this are not looked into.
const MAX_DEPTH: usize = 16;

/// How a job ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Status {
    /// All that was expected came out.
    Pass,
    /// A value differs.
    Fail,
    /// It asks for something that isn't supported.
    Refused,
    /// It could not be read, made or run.
    Error,
}

impl Status {
    /// As reports have it.
    pub fn name(self) -> &'static str {
        match self {
            Status::Pass => "pass",
            Status::Fail => "fail",
            Status::Refused => "refused",
            Status::Error => "error",
        }
    }
}

/// What became of a job.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The job file.
    pub job: PathBuf,
    /// How it ended.
    pub status: Status,
    /// Why it didn't pass.
    pub message: Option<String>,
    /// What is missing, of a refused job.
    pub feature: Option<String>,
    /// Rules that the job cites.
    pub cites: Vec<String>,
    /// All that it took.
    pub time: Duration,
}

/// Runs jobs one after the other on one device.
#[derive(Clone, Debug)]
pub struct Batch<'b> {
    /// The device.
    pub device: &'b Device,
    /// Where outputs go: to a directory of the job's name in this one.
    pub out_dir: Option<&'b Path>,
    /// What loading may take, and what compiles GLSL and HLSL.
    pub load: LoadOptions,
    /// How jobs are prepared.
    pub options: PrepareOptions,
}

impl Batch<'_> {
    /// Runs a job: one frame, then its probes and outputs.
    pub fn run(&self, job: &Path, cancel: &CancelFlag) -> Outcome {
        let clock = Instant::now();
        let mut cites = Vec::new();
        let result = catch_unwind(AssertUnwindSafe(|| self.run_inner(job, cancel, &mut cites)));
        let (status, message, feature) = match result {
            Ok(Ok(())) => (Status::Pass, None, None),
            Ok(Err(e)) => {
                let feature = e.refused();
                let status = match &feature {
                    Some(_) => Status::Refused,
                    None if e.is_unexpected_value() => Status::Fail,
                    None => Status::Error,
                };
                (status, Some(chain(&e)), feature)
            }
            Err(panic) => (Status::Error, Some(panic_text(panic.as_ref())), None),
        };
        Outcome {
            job: job.to_owned(),
            status,
            message,
            feature,
            cites,
            time: clock.elapsed(),
        }
    }

    fn run_inner(&self, job: &Path, cancel: &CancelFlag, cites: &mut Vec<String>) -> Result<(), JobError> {
        let loaded = load(job, &self.load)?;
        cites.clone_from(&loaded.job.cites);
        let mut prepared = loaded.prepare(self.device, &self.options)?;
        prepared.frame(cancel)?;
        if let Some(dir) = self.out_dir {
            let own = if job.is_dir() { job.file_name() } else { job.file_stem() };
            prepared.write_outputs(&dir.join(own.unwrap_or_default()))?;
        }
        prepared.check()
    }
}

/// An error and its causes in one line.
fn chain(error: &JobError) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(e) = cause {
        let more = e.to_string();
        if !text.ends_with(&more) {
            text += ": ";
            text += &more;
        }
        cause = e.source();
    }
    text
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    let what = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("a panic");
    format!("internal error (a bug in quadrille): {what}")
}

/// The jobs of a path that names several: a directory without a job of its own (every `.json` file below it, and every
/// directory that is a job), or a file that isn't `.json` (a path in each line; `#` begins a comment). `None`: the path is a
/// single job.
pub fn find_jobs(path: &Path) -> Result<Option<Vec<PathBuf>>, JobError> {
    if path.is_dir() {
        if job_file(path).exists() {
            return Ok(None);
        }
        let mut all = Vec::new();
        collect(path, 0, &mut all).map_err(JobError::Job)?;
        return Ok(Some(all));
    }
    let extension = path.extension().and_then(|e| e.to_str());
    if !matches!(extension, Some("txt" | "list")) {
        return Ok(None);
    }
    let text = files::read_text(path, MAX_LIST_BYTES).map_err(JobError::Job)?;
    let base = path.parent().unwrap_or(Path::new(""));
    let line = |line: &str| {
        let line = line.split('#').next().unwrap_or_default().trim();
        (!line.is_empty()).then(|| base.join(line))
    };
    Ok(Some(text.lines().filter_map(line).collect()))
}

fn collect(directory: &Path, depth: usize, all: &mut Vec<PathBuf>) -> Result<(), FileError> {
    let fail = |source| FileError::Read {
        path: directory.to_owned(),
        source,
    };
    let mut entries = Vec::new();
    for entry in std::fs::read_dir(directory).map_err(fail)? {
        entries.push(entry.map_err(fail)?.path());
    }
    // The order of the file system is nobody's business.
    entries.sort();
    for path in entries {
        if path.is_dir() && depth < MAX_DEPTH {
            if job_file(&path).exists() {
                all.push(path);
            } else {
                collect(&path, depth + 1, all)?;
            }
        } else if path.extension().is_some_and(|e| e == "json") {
            all.push(path);
        }
    }
    Ok(())
}
