//! Submissions: what can go wrong while commands run, and handles of those that run by themselves.

use super::buffer::BufferError;
use super::cancel::CancelFlag;
use super::device::Shared;
use super::encoder::CommandBuffer;
use super::execute;
use super::label::Label;
use super::stats::SubmitStats;
use super::texture::TextureError;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;

/// Why commands were not executed to their end. What they were to write is undefined then.
#[derive(Clone, Debug, thiserror::Error)]
pub enum SubmitError {
    /// The commands were recorded for another device.
    #[error("command buffer {label} belongs to another device")]
    WrongDevice {
        /// The command buffer.
        label: Label,
    },
    /// A shader looped for longer than the device's budget allows.
    #[error(
        "render pass {pass}, pipeline {pipeline}: the {stage} shader's loop at {place} ran for more than {budget} \
         iterations; it may never end (DeviceDescriptor::loop_budget allows more)"
    )]
    LoopBudget {
        /// The pass.
        pass: Label,
        /// The pipeline.
        pipeline: Label,
        /// "vertex" or "fragment".
        stage: &'static str,
        /// File, line and column of the loop.
        place: String,
        /// The budget.
        budget: u32,
    },
    /// A buffer is written and used otherwise in one pass.
    #[error("render pass {pass}: buffer {buffer} is written by shaders and used otherwise in the same pass; split it")]
    BufferConflict {
        /// The pass.
        pass: Label,
        /// The buffer.
        buffer: Label,
    },
    /// An indirect draw whose numbers reach outside of its buffers.
    #[error("render pass {pass}, draw {draw}: {what}")]
    Indirect {
        /// The pass.
        pass: Label,
        /// Number of the draw in the pass, from 0.
        draw: usize,
        /// What is wrong.
        what: String,
    },
    /// The pass could not be executed.
    #[error("render pass {pass}: {what}")]
    Pass {
        /// The pass.
        pass: Label,
        /// What is wrong.
        what: String,
    },
    /// A copy from or to a buffer.
    #[error(transparent)]
    Buffer(#[from] BufferError),
    /// A copy from or to a texture.
    #[error(transparent)]
    Texture(#[from] TextureError),
    /// It was cancelled.
    #[error("cancelled")]
    Cancelled,
    /// No thread could be started for an asynchronous submission.
    #[error("no thread could be started: {reason}")]
    NoThread {
        /// What the system said.
        reason: String,
    },
    /// A bug in quadrille.
    #[error("internal error (a bug in quadrille): {what}")]
    Internal {
        /// What happened.
        what: String,
    },
}

/// How far a submission is.
#[derive(Debug, Default)]
pub(super) struct Progress {
    pub done: AtomicUsize,
    pub total: AtomicUsize,
}

impl Progress {
    pub fn fraction(&self) -> f32 {
        let total = self.total.load(Ordering::Relaxed);
        let done = self.done.load(Ordering::Relaxed).min(total);
        if total == 0 { 0.0 } else { done as f32 / total as f32 }
    }
}

/// Commands that run by themselves. Dropping the handle doesn't end them.
#[derive(Debug)]
pub struct Submission {
    cancel: CancelFlag,
    progress: Arc<Progress>,
    thread: JoinHandle<Result<SubmitStats, SubmitError>>,
}

impl Submission {
    pub(super) fn start(device: Arc<Shared>, commands: Vec<CommandBuffer>) -> Result<Submission, SubmitError> {
        let cancel = CancelFlag::new();
        let progress = Arc::new(Progress::default());
        // The place in the queue is taken here, by the caller's order, not when the thread happens to start.
        let ticket = device.turn.ticket();
        let run = {
            let (cancel, progress) = (cancel.clone(), progress.clone());
            move || {
                ticket.wait();
                execute::run(&device, &commands, &cancel, &progress)
            }
        };
        let thread = std::thread::Builder::new()
            .name("quadrille-submit".into())
            .spawn(run)
            .map_err(|e| SubmitError::NoThread { reason: e.to_string() })?;
        Ok(Submission {
            cancel,
            progress,
            thread,
        })
    }

    /// Waits for the end.
    pub fn wait(self) -> Result<SubmitStats, SubmitError> {
        self.thread.join().unwrap_or_else(|_| {
            Err(SubmitError::Internal {
                what: "the submission's thread panicked".into(),
            })
        })
    }

    /// Ends it early; [`wait`](Self::wait) then returns [`SubmitError::Cancelled`], unless it was done already.
    pub fn cancel(&self) {
        self.cancel.cancel();
    }

    /// How much of it is done, 0 to 1.
    pub fn progress(&self) -> f32 {
        if self.is_done() { 1.0 } else { self.progress.fraction() }
    }

    /// Whether it has ended.
    pub fn is_done(&self) -> bool {
        self.thread.is_finished()
    }
}
