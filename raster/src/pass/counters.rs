//! What queries count: samples that pass, and pipeline statistics.
//!
//! A draw names a counter, and a pass gives every counter's sums; a query is the sum over the counters of its draws.
//! Draws without one count nothing and run programs that don't.

/// Sums over the draws of one counter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DrawCounters {
    /// Samples that passed all tests: occlusion queries.
    pub samples_passed: u64,
    /// Vertices read by primitive assembly, before any reuse.
    pub vertices: u64,
    /// Primitives assembled.
    pub primitives: u64,
    /// Vertices shaded.
    pub vertex_invocations: u64,
    /// Primitives that reached clipping.
    pub clipper_invocations: u64,
    /// Primitives that clipping gave, before culling.
    pub clipper_primitives: u64,
    /// Pixels, or samples at sample frequency, for which the fragment shader was called for; helpers don't count.
    pub fragment_invocations: u64,
}

impl DrawCounters {
    /// Adds another counter's sums.
    pub fn add(&mut self, other: &DrawCounters) {
        self.samples_passed += other.samples_passed;
        self.vertices += other.vertices;
        self.primitives += other.primitives;
        self.vertex_invocations += other.vertex_invocations;
        self.clipper_invocations += other.clipper_invocations;
        self.clipper_primitives += other.clipper_primitives;
        self.fragment_invocations += other.fragment_invocations;
    }
}

/// Adds sums to the counter of a state, if it has one.
pub(crate) fn count(counters: &mut Vec<DrawCounters>, counter: Option<u32>, sums: &DrawCounters) {
    let Some(counter) = counter else { return };
    let counter = counter as usize;
    if counters.len() <= counter {
        counters.resize(counter + 1, DrawCounters::default());
    }
    counters[counter].add(sums);
}
