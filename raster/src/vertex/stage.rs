//! Runs vertex programs over groups of 8 vertices: fetch into cells, shade, hand out positions and attribute blocks.

use super::format::{Elements, fetch_groups};
use crate::geometry::GroupPositions;
use crate::pipeline::{RenderPipeline, VertexSource, VertexStepMode};
use quadrille_jit::abi::{Binding, Cell, Context};

/// Buffers that a thread reuses.
#[derive(Debug, Default)]
pub(crate) struct VertexScratch {
    cells_in: Vec<Cell>,
    cells_out: Vec<Cell>,
    scratch: Vec<Cell>,
}

/// What a vertex program runs on, besides the vertices.
#[derive(Clone, Copy, Debug)]
pub(crate) struct VertexJob<'a, 'b> {
    pub pipeline: &'a RenderPipeline,
    pub bindings: &'a [Binding],
    pub buffers: &'a [Option<&'b [u8]>],
    pub loop_budget: u32,
    pub cancel: *const u32,
}

/// What a vertex program left: cells of 8 lanes, position first, then attributes, then what routes primitives.
#[derive(Clone, Copy, Debug)]
pub(crate) struct VertexCells<'a> {
    cells: &'a [Cell],
    per_group: usize,
    /// Attribute words; what follows them routes primitives.
    words: usize,
}

/// Cells of a group before the attributes.
const POSITION: usize = 4;

impl VertexCells<'_> {
    /// Clip positions of a group of 8.
    #[inline(always)]
    pub fn position(&self, group: usize) -> GroupPositions {
        let cells = &self.cells[group * self.per_group..][..POSITION];
        [cells[0].0, cells[1].0, cells[2].0, cells[3].0].map(|c| c.map(f32::from_bits))
    }

    /// Clip position of a vertex.
    pub fn vertex(&self, i: usize) -> [f32; 4] {
        self.position(i / 8).map(|c| c[i % 8])
    }

    /// Attribute words of a vertex.
    pub fn block(&self, i: usize) -> Vec<u32> {
        let group = &self.cells[i / 8 * self.per_group..][POSITION..POSITION + self.words];
        group.iter().map(|c| c.0[i % 8]).collect()
    }

    /// An output cell of a group.
    #[inline]
    pub fn cell(&self, group: usize, cell: u32) -> &[u32; 8] {
        &self.cells[group * self.per_group..][..self.per_group][cell as usize].0
    }

    /// Writes the attribute words of a group's first vertices, vertex after vertex.
    #[inline]
    pub fn spread(&self, group: usize, blocks: &mut [u32]) {
        let cells = &self.cells[group * self.per_group..][POSITION..POSITION + self.words];
        let words = cells.len();
        if words == 0 {
            return;
        }
        for (lane, block) in blocks.chunks_exact_mut(words).enumerate().take(8) {
            for (word, cell) in block.iter_mut().zip(cells) {
                *word = cell.0[lane];
            }
        }
    }
}

/// Shades vertices: `vertices` and `instances` are whole groups of 8. On failure the context's status is returned (law
/// I7).
pub(crate) fn shade<'m>(
    job: &VertexJob<'_, '_>,
    vertices: &[u32],
    instances: &[u32],
    memory: &'m mut VertexScratch,
) -> Result<VertexCells<'m>, u32> {
    let pipeline = job.pipeline;
    let ((vertices, _), (instances, _)) = (vertices.as_chunks::<8>(), instances.as_chunks::<8>());
    let groups = vertices.len();
    assert_eq!(groups, instances.len(), "every vertex has an instance");
    let (n_in, n_out) = (pipeline.cells_in as usize, pipeline.cells_out as usize);
    grow(&mut memory.cells_in, groups * n_in);
    grow(&mut memory.cells_out, groups * n_out);
    grow(&mut memory.scratch, pipeline.vertex.scratch_cells());
    let cells_in = &mut memory.cells_in[..groups * n_in];
    for input in &pipeline.vertex_inputs {
        let slot = input.slot as usize;
        match input.source {
            VertexSource::VertexIndex => fill(cells_in, n_in, slot, vertices),
            VertexSource::InstanceIndex => fill(cells_in, n_in, slot, instances),
            VertexSource::Attribute {
                buffer,
                offset,
                stride,
                step,
                format,
                components,
            } => {
                let bytes = job.buffers.get(buffer).copied().flatten().unwrap_or_default();
                let elements = Elements { bytes, offset, stride };
                let ids = match step {
                    VertexStepMode::Vertex => vertices,
                    VertexStepMode::Instance => instances,
                };
                fetch_groups(format, &elements, ids, cells_in, n_in, slot, components.into());
            }
        }
    }
    let mut context = Context::new(pipeline.vertex.stats().lanes);
    context.count = groups as u32;
    context.bindings = job.bindings.as_ptr();
    context.cells_in = memory.cells_in.as_ptr();
    context.cells_out = memory.cells_out.as_mut_ptr();
    context.scratch = memory.scratch.as_mut_ptr();
    context.loop_budget = job.loop_budget;
    context.cancel = job.cancel;
    // SAFETY: the cells hold `groups` groups of the program's slots, scratch is as large as it asks, and the bindings
    // are the pipeline's slots, whose resources the pass borrows.
    unsafe { pipeline.vertex.run(&mut context) };
    if context.status != 0 {
        return Err(context.status);
    }
    Ok(VertexCells {
        cells: &memory.cells_out[..groups * n_out],
        per_group: n_out,
        words: pipeline.varyings.len(),
    })
}

/// Cells of earlier groups may hold anything: every slot of a group is written before it is read.
fn grow(cells: &mut Vec<Cell>, len: usize) {
    if cells.len() < len {
        cells.resize(len, Cell::default());
    }
}

fn fill(cells: &mut [Cell], per_group: usize, slot: usize, ids: &[[u32; 8]]) {
    for (group, ids) in cells.chunks_exact_mut(per_group).zip(ids) {
        group[slot] = Cell(*ids);
    }
}
