//! Captures: what is submitted, written as a job file that `quadrille run` reproduces to the same bits (law O2).
//!
//! ```text
//! submit ─► resources seen for the first time: their contents ─┐
//!        ─► changed by the host since: writes ─────────────────┼─► job (format 2) ─► finish: JSON, and data beside it
//!        ─► commands.rs: passes, draws, copies ────────────────┘
//! ```
//!
//! Rule: contents are taken before the submission runs, under the device's turn, so that they are what it sees.

mod commands;
mod objects;

use super::cancel::CancelFlag;
use super::device::{Device, Shared};
use super::encoder::CommandBuffer;
use crate::files::{FileError, write_atomically};
use objects::Objects;
use serde_json::{Map, Value, json};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};

/// Data of more bytes than this goes to a file of its own.
const INLINE_BYTES: usize = 4096;

/// Why a capture was not begun or not written.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// The device captures already; one capture must end before the next begins.
    #[error("a capture to `{}` is going on; finish it first", path.display())]
    Busy {
        /// Where it goes.
        path: PathBuf,
    },
    /// The path has no file name.
    #[error("`{}` names no file that the capture could be written to", path.display())]
    Path {
        /// The path.
        path: PathBuf,
    },
    /// Something was submitted that a job file can't say.
    #[error("the capture lacks something: {what}")]
    Incomplete {
        /// What.
        what: String,
    },
    /// A file could not be written.
    #[error(transparent)]
    File(#[from] FileError),
}

/// A capture that is going on. Dropping it ends it without writing anything.
#[derive(Debug)]
#[must_use = "nothing is written before `finish`"]
pub struct Capture {
    device: Arc<Shared>,
}

/// What has been captured so far.
#[derive(Debug)]
pub(super) struct Recorder {
    path: PathBuf,
    objects: Objects,
    data: Data,
    passes: Vec<Value>,
    /// The last colour attachment that makes an image.
    output: Option<String>,
    /// What could not be said.
    missing: Option<String>,
}

/// Bytes on their way into the job: short ones inline, others as files.
#[derive(Debug, Default)]
pub(super) struct Data {
    directory: String,
    files: Vec<Vec<u8>>,
}

impl Data {
    /// A description of bytes, for `data`.
    fn describe(&mut self, bytes: Vec<u8>) -> Value {
        if bytes.len() <= INLINE_BYTES {
            let hex: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
            return json!({ "hex": hex });
        }
        self.files.push(bytes);
        json!({ "file": format!("{}/{}.bin", self.directory, self.files.len() - 1) })
    }
}

impl Device {
    /// Captures what is submitted from now on, until [`Capture::finish`] writes it to a job file (larger data goes to a
    /// directory beside it). Buffers and textures are captured as they are when a submission first uses them.
    ///
    /// # Errors
    /// Another capture is going on, or the path names no file.
    pub fn capture(&self, path: impl AsRef<Path>) -> Result<Capture, CaptureError> {
        let path = path.as_ref().to_owned();
        let Some(stem) = path.file_stem().and_then(|s| s.to_str()) else {
            return Err(CaptureError::Path { path });
        };
        let shared = self.shared().clone();
        let _turn = shared.turn.enter();
        let mut place = shared.capture.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(other) = place.as_ref() {
            return Err(CaptureError::Busy {
                path: other.path.clone(),
            });
        }
        *place = Some(Recorder {
            data: Data {
                directory: format!("{stem}.data"),
                files: Vec::new(),
            },
            path,
            objects: Objects::default(),
            passes: Vec::new(),
            output: None,
            missing: None,
        });
        drop(place);
        Ok(Capture { device: shared.clone() })
    }
}

impl Capture {
    /// Ends the capture and writes the job.
    ///
    /// # Errors
    /// A file could not be written, or something was submitted that a job can't say.
    pub fn finish(self) -> Result<(), CaptureError> {
        let _turn = self.device.turn.enter();
        let recorder = self
            .device
            .capture
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        recorder.map_or(Ok(()), |r| r.write())
    }
}

impl Drop for Capture {
    fn drop(&mut self) {
        self.device
            .capture
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
    }
}

/// Called before a submission runs, by whoever has the turn.
pub(super) fn submission(device: &Shared, commands: &[CommandBuffer], cancel: &CancelFlag) {
    let mut place = device.capture.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(recorder) = place.as_mut()
        && !cancel.is_cancelled()
    {
        for command in commands.iter().flat_map(CommandBuffer::commands) {
            if let Err(what) = recorder.command(command) {
                recorder.missing.get_or_insert(what);
            }
        }
    }
}

impl Recorder {
    fn write(self) -> Result<(), CaptureError> {
        if let Some(what) = self.missing {
            return Err(CaptureError::Incomplete { what });
        }
        let mut job = Map::new();
        job.insert("format".into(), json!(2));
        job.insert("name".into(), json!(self.path.file_stem().and_then(|s| s.to_str())));
        job.insert("about".into(), json!("A capture of what was submitted to a device."));
        self.objects.describe(&mut job);
        job.insert("passes".into(), self.passes.into());
        if let Some(output) = self.output {
            job.insert("output".into(), output.into());
        }
        let directory = self.path.with_file_name(&self.data.directory);
        if !self.data.files.is_empty() {
            std::fs::create_dir_all(&directory).map_err(|source| FileError::Write {
                path: directory.clone(),
                source,
            })?;
        }
        for (i, bytes) in self.data.files.iter().enumerate() {
            write_atomically(&directory.join(format!("{i}.bin")), |out| out.write_all(bytes))?;
        }
        write_atomically(&self.path, |out| {
            serde_json::to_writer_pretty(&mut *out, &Value::Object(job))?;
            out.write_all(b"\n")
        })?;
        Ok(())
    }
}
