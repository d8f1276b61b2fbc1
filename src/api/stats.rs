//! What submissions did and cost.

use quadrille_raster::pass::PassStats;
use std::fmt;
use std::time::Duration;

/// What a submission did and cost. Counts are the same on every run; times are not.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct SubmitStats {
    /// Render passes.
    pub passes: u64,
    /// Draws that had something to draw.
    pub draws: u64,
    /// Primitives assembled.
    pub primitives: u64,
    /// Primitives left after clipping and culling.
    pub primitives_drawn: u64,
    /// Runs: a primitive in a tile in which it covers something.
    pub runs: u64,
    /// Pairs of quads (4x2 pixels) handed to fragment programs.
    pub pairs: u64,
    /// Time of vertex shading, clipping and binning.
    pub geometry_time: Duration,
    /// Time of the tiles: coverage, depth, fragment shading, blending, write-back.
    pub tile_time: Duration,
    /// All of it.
    pub time: Duration,
}

impl SubmitStats {
    /// All counts by name.
    pub fn counts(&self) -> impl Iterator<Item = (&'static str, u64)> {
        [
            ("passes", self.passes),
            ("draws", self.draws),
            ("primitives", self.primitives),
            ("primitives_drawn", self.primitives_drawn),
            ("runs", self.runs),
            ("pairs", self.pairs),
        ]
        .into_iter()
    }

    /// All times by name.
    pub fn times(&self) -> impl Iterator<Item = (&'static str, Duration)> {
        [
            ("geometry", self.geometry_time),
            ("tiles", self.tile_time),
            ("all", self.time),
        ]
        .into_iter()
    }

    /// Adds what another submission did.
    pub fn add(&mut self, other: &SubmitStats) {
        self.passes += other.passes;
        self.draws += other.draws;
        self.primitives += other.primitives;
        self.primitives_drawn += other.primitives_drawn;
        self.runs += other.runs;
        self.pairs += other.pairs;
        self.geometry_time += other.geometry_time;
        self.tile_time += other.tile_time;
        self.time += other.time;
    }

    pub(super) fn add_pass(&mut self, draws: u64, pass: &PassStats) {
        self.passes += 1;
        self.draws += draws;
        self.primitives += pass.primitives;
        self.primitives_drawn += pass.drawn;
        self.runs += pass.runs;
        self.pairs += pass.pairs;
        self.geometry_time += pass.geometry;
        self.tile_time += pass.tiles;
    }
}

impl fmt::Display for SubmitStats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, count) in self.counts() {
            writeln!(f, "  {name:<20} {count:>14}")?;
        }
        for (name, time) in self.times() {
            writeln!(
                f,
                "  {:<20} {:>11.3} ms",
                format!("time: {name}"),
                time.as_secs_f64() * 1e3
            )?;
        }
        Ok(())
    }
}
