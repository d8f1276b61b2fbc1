//! What a traced device draws: one entry for every draw, in the order of execution.
//!
//! Rule: a draw's number here is its counter in the rasterizer and the tag of its programs, so that who watches the programs
//! knows whose they are. Numbers go on from pass to pass.

use super::record::PassRecord;
use quadrille_raster::pass::DrawCounters;
use quadrille_raster::pipeline::CompareFunction;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A draw of a traced device.
#[derive(Clone, Debug)]
pub(crate) struct TracedDraw {
    /// Label of its pass.
    pub pass: String,
    /// Its number in the pass.
    pub number: usize,
    /// Label of its pipeline.
    pub pipeline: String,
    /// Width and height of its pass.
    pub size: (u32, u32),
    pub depth_compare: Option<CompareFunction>,
    /// x, y, width, height.
    pub scissor: [u32; 4],
    /// x, y, width, height, minimum and maximum depth.
    pub viewport: [f32; 6],
    /// What it did.
    pub counted: DrawCounters,
}

/// All draws so far.
#[derive(Debug, Default)]
pub(crate) struct TraceLog(Mutex<Vec<TracedDraw>>);

impl TraceLog {
    fn lock(&self) -> MutexGuard<'_, Vec<TracedDraw>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds the draws of a pass; gives the number of the first.
    pub(super) fn begin(&self, pass: &PassRecord) -> usize {
        let mut draws = self.lock();
        let first = draws.len();
        for (number, draw) in pass.draws.iter().enumerate() {
            let pipeline = &pass.pipelines[draw.pipeline];
            let state = &pass.states[draw.state];
            draws.push(TracedDraw {
                pass: pass.label.to_string(),
                number,
                pipeline: pipeline.label().to_string(),
                size: pass.size,
                depth_compare: pipeline.raster().depth_stencil.map(|d| d.depth_compare),
                scissor: state.scissor,
                viewport: state.viewport,
                counted: DrawCounters::default(),
            });
        }
        first
    }

    /// Says what the draws from that number on did.
    pub(super) fn counted(&self, first: usize, counters: &[DrawCounters]) {
        for (draw, counted) in self.lock().iter_mut().zip(counters).skip(first) {
            draw.counted = *counted;
        }
    }

    /// All draws.
    pub fn draws(&self) -> Vec<TracedDraw> {
        self.lock().clone()
    }
}
