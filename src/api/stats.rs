//! What submissions did and cost.

use std::fmt;
use std::time::Duration;

/// What a submission did and cost. Counts are the same on every run; the time is not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SubmitStats {
    /// Render passes.
    pub passes: u64,
    /// Draws.
    pub draws: u64,
    /// From the turn in the queue to the end.
    pub time: Duration,
}

impl SubmitStats {
    /// All counts by name.
    pub fn fields(&self) -> impl Iterator<Item = (&'static str, u64)> {
        [("passes", self.passes), ("draws", self.draws)].into_iter()
    }
}

impl fmt::Display for SubmitStats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, value) in self.fields() {
            writeln!(f, "  {name:<20} {value:>14}")?;
        }
        writeln!(f, "  {:<20} {:>11.2} ms", "time", self.time.as_secs_f64() * 1e3)
    }
}
