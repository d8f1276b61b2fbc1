//! Query sets: how many samples pass, and what pipelines do (R-PS-44).
//!
//! ```text
//! RenderPass::begin_occlusion_query, begin_pipeline_statistics_query ─► draws name a counter ─► the pass' sums
//!    ─► results of the set ─ CommandEncoder::resolve_query_set ─► a buffer of u64
//! ```
//!
//! Rule: a draw outside of every query counts nothing, and runs programs that don't. Counts are exact and the same on every
//! run, whatever threads, tiles and lanes there are.

use super::device::{Device, Shared};
use super::label::Label;
use bitflags::bitflags;
use quadrille_raster::pass::DrawCounters;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

bitflags! {
    /// Which statistics a query gives, a u64 each, in this order.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub struct PipelineStatisticsTypes: u8 {
        /// Vertices that primitives are assembled from, each as often as it is named (Direct3D's IAVertices).
        const INPUT_ASSEMBLY_VERTICES = 1 << 0;
        /// Primitives assembled (IAPrimitives).
        const INPUT_ASSEMBLY_PRIMITIVES = 1 << 1;
        /// Vertices shaded; fewer than were read where results are used again (VSInvocations).
        const VERTEX_SHADER_INVOCATIONS = 1 << 2;
        /// Primitives that reached clipping (CInvocations).
        const CLIPPER_INVOCATIONS = 1 << 3;
        /// Primitives that clipping gave, before culling (CPrimitives).
        const CLIPPER_PRIMITIVES_OUT = 1 << 4;
        /// Pixels, or samples at sample frequency, that were shaded; helper invocations don't count (PSInvocations).
        const FRAGMENT_SHADER_INVOCATIONS = 1 << 5;
    }
}

impl PipelineStatisticsTypes {
    /// Each with its name in job files.
    pub(crate) const NAMES: [(PipelineStatisticsTypes, &'static str); 6] = [
        (Self::INPUT_ASSEMBLY_VERTICES, "input-assembly-vertices"),
        (Self::INPUT_ASSEMBLY_PRIMITIVES, "input-assembly-primitives"),
        (Self::VERTEX_SHADER_INVOCATIONS, "vertex-shader-invocations"),
        (Self::CLIPPER_INVOCATIONS, "clipper-invocations"),
        (Self::CLIPPER_PRIMITIVES_OUT, "clipper-primitives-out"),
        (Self::FRAGMENT_SHADER_INVOCATIONS, "fragment-shader-invocations"),
    ];

    /// Their names in job files.
    pub(crate) fn names(self) -> impl Iterator<Item = &'static str> {
        Self::NAMES
            .into_iter()
            .filter_map(move |(flag, name)| self.contains(flag).then_some(name))
    }

    fn of(self, counts: &DrawCounters) -> impl Iterator<Item = u64> {
        [
            (Self::INPUT_ASSEMBLY_VERTICES, counts.vertices),
            (Self::INPUT_ASSEMBLY_PRIMITIVES, counts.primitives),
            (Self::VERTEX_SHADER_INVOCATIONS, counts.vertex_invocations),
            (Self::CLIPPER_INVOCATIONS, counts.clipper_invocations),
            (Self::CLIPPER_PRIMITIVES_OUT, counts.clipper_primitives),
            (Self::FRAGMENT_SHADER_INVOCATIONS, counts.fragment_invocations),
        ]
        .into_iter()
        .filter_map(move |(flag, count)| self.contains(flag).then_some(count))
    }
}

/// What queries of a set count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum QueryType {
    /// Samples that pass the depth and stencil tests and are not removed by masks or discards, exactly counted.
    Occlusion,
    /// What the pipeline did.
    PipelineStatistics(PipelineStatisticsTypes),
}

impl QueryType {
    /// Numbers of a query's result, each a u64.
    pub fn words(self) -> u32 {
        match self {
            QueryType::Occlusion => 1,
            QueryType::PipelineStatistics(types) => types.bits().count_ones(),
        }
    }
}

/// Describes a query set.
#[derive(Clone, Copy, Debug)]
pub struct QuerySetDescriptor<'a> {
    /// For errors.
    pub label: Option<&'a str>,
    /// What is counted.
    pub ty: QueryType,
    /// Number of queries, at most 4096.
    pub count: u32,
}

/// Why a query set could not be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("query set {label}: {what}")]
pub struct QueryError {
    /// The set.
    pub label: Label,
    /// What is wrong and what would be right.
    pub what: String,
}

/// Queries and their results. Clones are the same set.
#[derive(Clone, Debug)]
pub struct QuerySet(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    id: u64,
    device: Arc<Shared>,
    label: Label,
    ty: QueryType,
    /// Zeros where no query has been executed.
    results: Mutex<Vec<DrawCounters>>,
}

/// WebGPU's limit.
const MAX_COUNT: u32 = 4096;

impl Device {
    /// Makes a query set.
    ///
    /// # Errors
    /// More than 4096 queries, or statistics of no type.
    pub fn create_query_set(&self, d: &QuerySetDescriptor<'_>) -> Result<QuerySet, QueryError> {
        let label = Label::new(d.label);
        let wrong = |what: String| QueryError {
            label: label.clone(),
            what,
        };
        if d.count > MAX_COUNT {
            return Err(wrong(format!("{} queries, at most {MAX_COUNT}", d.count)));
        }
        if d.ty.words() == 0 {
            return Err(wrong("its queries give none of the pipeline statistics".into()));
        }
        let shared = self.shared();
        Ok(QuerySet(Arc::new(Inner {
            id: shared.next_id(),
            device: shared.clone(),
            ty: d.ty,
            results: Mutex::new(vec![DrawCounters::default(); d.count as usize]),
            label,
        })))
    }
}

impl QuerySet {
    /// What is counted.
    pub fn ty(&self) -> QueryType {
        self.0.ty
    }

    /// Number of queries.
    pub fn count(&self) -> u32 {
        self.results().len() as u32
    }

    /// Its label.
    pub fn label(&self) -> &Label {
        &self.0.label
    }

    /// The results of all queries, [`QueryType::words`] numbers each, after all work submitted before.
    pub fn read(&self) -> Vec<u64> {
        let _turn = self.0.device.turn.enter();
        self.numbers(0, self.count())
    }

    pub(super) fn id(&self) -> u64 {
        self.0.id
    }

    pub(super) fn device_id(&self) -> u64 {
        self.0.device.id
    }

    fn results(&self) -> MutexGuard<'_, Vec<DrawCounters>> {
        self.0.results.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Results of some queries; the caller has the device's turn.
    pub(super) fn numbers(&self, first: u32, count: u32) -> Vec<u64> {
        let results = self.results();
        let some = results.iter().skip(first as usize).take(count as usize);
        match self.0.ty {
            QueryType::Occlusion => some.map(|c| c.samples_passed).collect(),
            QueryType::PipelineStatistics(types) => some.flat_map(|c| types.of(c)).collect(),
        }
    }

    /// Sets a query's result.
    pub(super) fn set(&self, index: u32, result: DrawCounters) {
        if let Some(place) = self.results().get_mut(index as usize) {
            *place = result;
        }
    }
}

/// A query of a pass, begun and ended there.
#[derive(Clone, Debug)]
pub(super) struct QueryRecord {
    pub set: QuerySet,
    pub index: u32,
}

/// Queries that are going on: their places in the pass' list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ActiveQueries {
    pub occlusion: Option<usize>,
    pub statistics: Option<usize>,
}

impl ActiveQueries {
    /// Those that go on.
    pub fn places(self) -> impl Iterator<Item = usize> {
        self.occlusion.into_iter().chain(self.statistics)
    }
}

/// Gives the queries of a pass their results: a query is the sum over the counters of its draws.
pub(super) fn store<'c>(queries: &[QueryRecord], counted: impl Iterator<Item = (ActiveQueries, &'c DrawCounters)>) {
    let mut results = vec![DrawCounters::default(); queries.len()];
    for (active, sum) in counted {
        for place in active.places() {
            results[place].add(sum);
        }
    }
    for (query, result) in queries.iter().zip(results) {
        query.set.set(query.index, result);
    }
}
