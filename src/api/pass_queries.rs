//! Queries of a render pass: which draws they count.
//!
//! Rule: a query is begun at most once in a pass, and at most one of a kind goes on at a time.

use super::encoder::EncodeError;
use super::query::{QueryRecord, QuerySet, QueryType};
use super::render_pass::RenderPass;

impl RenderPass<'_> {
    /// Begins to count the samples that pass, into a query of the pass' occlusion query set (R-PS-44). It ends with
    /// [`end_occlusion_query`](Self::end_occlusion_query), or with the pass.
    pub fn begin_occlusion_query(&mut self, query_index: u32) -> Result<(), EncodeError> {
        let Some(set) = self.occlusion_query_set.clone() else {
            return Err(self.wrong("the pass has no occlusion query set"));
        };
        if self.active.occlusion.is_some() {
            return Err(self.wrong("an occlusion query is going on; end it before the next begins"));
        }
        self.active.occlusion = Some(self.query(&set, query_index)?);
        Ok(())
    }

    /// Ends the occlusion query that is going on.
    pub fn end_occlusion_query(&mut self) -> Result<(), EncodeError> {
        match self.active.occlusion.take() {
            Some(_) => Ok(()),
            None => Err(self.wrong("no occlusion query is going on")),
        }
    }

    /// Begins to count what pipelines do, into a query of a set of pipeline statistics. It ends with
    /// [`end_pipeline_statistics_query`](Self::end_pipeline_statistics_query), or with the pass.
    pub fn begin_pipeline_statistics_query(&mut self, set: &QuerySet, query_index: u32) -> Result<(), EncodeError> {
        self.own(set.device_id(), "query set", set.label())?;
        if !matches!(set.ty(), QueryType::PipelineStatistics(_)) {
            return Err(self.wrong(format!("query set {} has no pipeline statistics", set.label())));
        }
        if self.active.statistics.is_some() {
            return Err(self.wrong("a pipeline statistics query is going on; end it before the next begins"));
        }
        self.active.statistics = Some(self.query(set, query_index)?);
        Ok(())
    }

    /// Ends the pipeline statistics query that is going on.
    pub fn end_pipeline_statistics_query(&mut self) -> Result<(), EncodeError> {
        match self.active.statistics.take() {
            Some(_) => Ok(()),
            None => Err(self.wrong("no pipeline statistics query is going on")),
        }
    }

    /// The place of a new query in the pass' list.
    fn query(&mut self, set: &QuerySet, index: u32) -> Result<usize, EncodeError> {
        if index >= set.count() {
            return Err(self.wrong(format!(
                "query {index} of set {}, which has {}",
                set.label(),
                set.count()
            )));
        }
        let queries = &self.record.queries;
        if queries.iter().any(|q| (q.set.id(), q.index) == (set.id(), index)) {
            return Err(self.wrong(format!(
                "query {index} of set {} was begun in this pass already",
                set.label()
            )));
        }
        self.record.queries.push(QueryRecord {
            set: set.clone(),
            index,
        });
        Ok(self.record.queries.len() - 1)
    }
}
