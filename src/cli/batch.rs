//! `quadrille run` with several jobs: a line of JSON for each, and a summary.

use super::common::{CommonArgs, Failure, LogLevel};
use super::{interrupt, report};
use quadrille::files;
use quadrille::job::{Batch, LoadOptions, Outcome, PrepareOptions, Status};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// What is done with the jobs.
pub struct Args<'a> {
    /// Where the lines go.
    pub json: Option<&'a Path>,
    /// Where outputs go.
    pub out_dir: Option<&'a Path>,
    /// What compiles GLSL and HLSL.
    pub load: LoadOptions,
    /// How jobs are prepared.
    pub options: PrepareOptions,
    /// Options of all commands.
    pub common: &'a CommonArgs,
}

/// Some jobs failed, which is the command's result.
#[derive(Debug, thiserror::Error)]
#[error("{failed} of {all} jobs failed; first `{}`: {reason}", first.display())]
struct JobsFailed {
    failed: usize,
    all: usize,
    first: PathBuf,
    reason: String,
}

/// Runs all jobs on one device.
pub fn run(args: &Args<'_>, jobs: &[PathBuf]) -> Result<(), Failure> {
    let device = args.common.device()?;
    let batch = Batch {
        device: &device,
        out_dir: args.out_dir,
        load: args.load.clone(),
        options: args.options,
    };
    let cancel = interrupt::flag();
    let clock = Instant::now();
    let mut outcomes = Vec::with_capacity(jobs.len());
    for job in jobs {
        let outcome = batch.run(job, &cancel);
        if interrupt::happened() {
            return Err(Failure::Interrupted);
        }
        tell(args, &outcome);
        outcomes.push(outcome);
    }
    if let Some(path) = args.json {
        files::write_atomically(path, |out| {
            for outcome in &outcomes {
                writeln!(out, "{}", line(outcome))?;
            }
            Ok(())
        })?;
    }
    let count = |status| outcomes.iter().filter(|o| o.status == status).count();
    if !args.common.quiet {
        report::print(&format!(
            "{} jobs in {:.2} s: {} pass, {} fail, {} refused, {} error\n",
            outcomes.len(),
            clock.elapsed().as_secs_f64(),
            count(Status::Pass),
            count(Status::Fail),
            count(Status::Refused),
            count(Status::Error),
        ));
    }
    let failed = |o: &&Outcome| matches!(o.status, Status::Fail | Status::Error);
    match outcomes.iter().find(failed) {
        None => Ok(()),
        Some(first) => Err(JobsFailed {
            failed: outcomes.iter().filter(failed).count(),
            all: outcomes.len(),
            first: first.job.clone(),
            reason: first.message.clone().unwrap_or_default(),
        }
        .into()),
    }
}

/// Says what didn't pass, as it happens; with `--log info` everything.
fn tell(args: &Args<'_>, o: &Outcome) {
    let level = if o.status == Status::Pass {
        LogLevel::Info
    } else {
        LogLevel::Warn
    };
    if args.common.tells(level) {
        let why = o.message.as_ref().map(|m| format!(": {m}")).unwrap_or_default();
        eprintln!("{} {}{why}", o.status.name(), o.job.display());
    }
}

fn line(o: &Outcome) -> serde_json::Value {
    let mut line = serde_json::json!({
        "job": o.job.display().to_string(),
        "status": o.status.name(),
        "ms": (o.time.as_secs_f64() * 1e6).round() / 1e3,
    });
    if let Some(fields) = line.as_object_mut() {
        for (name, value) in [("message", &o.message), ("feature", &o.feature)] {
            if let Some(text) = value {
                fields.insert(name.into(), text.as_str().into());
            }
        }
        if !o.cites.is_empty() {
            fields.insert("cites".into(), o.cites.clone().into());
        }
    }
    line
}
