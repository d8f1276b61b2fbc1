//! Runs vertex programs over groups of 8 vertices: fetch into cells, shade, spread over positions and blocks.

use super::format::{Elements, fetch_groups};
use crate::geometry::GroupPositions;
use crate::pipeline::{RenderPipeline, VertexSource, VertexStepMode};
use quadrille_jit::abi::{Binding, Cell, Context};

/// The vertices to shade, 8 a group: vertex numbers and instance numbers. The last group is filled up with repeats.
#[derive(Clone, Debug, Default)]
pub(crate) struct VertexIds {
    pub vertices: Vec<[u32; 8]>,
    pub instances: Vec<[u32; 8]>,
    pub len: usize,
}

impl VertexIds {
    pub fn clear(&mut self) {
        self.vertices.clear();
        self.instances.clear();
        self.len = 0;
    }

    /// Adds a vertex; gives its number.
    #[inline(always)]
    pub fn push(&mut self, vertex: u32, instance: u32) -> u32 {
        let lane = self.len % 8;
        if lane == 0 {
            self.vertices.push([vertex; 8]);
            self.instances.push([instance; 8]);
        }
        if let (Some(v), Some(i)) = (self.vertices.last_mut(), self.instances.last_mut()) {
            v[lane..].fill(vertex);
            i[lane..].fill(instance);
        }
        self.len += 1;
        self.len as u32 - 1
    }
}

/// What came out: clip positions by group, attribute blocks one after the other.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shaded {
    pub positions: Vec<GroupPositions>,
    /// `varyings.len()` words a vertex.
    pub blocks: Vec<u32>,
}

/// Buffers that a thread reuses.
#[derive(Debug, Default)]
pub(crate) struct VertexScratch {
    cells_in: Vec<Cell>,
    cells_out: Vec<Cell>,
    scratch: Vec<Cell>,
}

/// Shades all vertices of `ids`. On failure the context's status is returned (law I7).
pub(crate) fn shade(
    pipeline: &RenderPipeline,
    bindings: &[Binding],
    buffers: &[Option<&[u8]>],
    ids: &VertexIds,
    loop_budget: u32,
    memory: &mut VertexScratch,
    out: &mut Shaded,
) -> Result<(), u32> {
    let groups = ids.vertices.len();
    let (n_in, n_out) = (pipeline.cells_in as usize, pipeline.cells_out as usize);
    memory.cells_in.clear();
    memory.cells_in.resize(groups * n_in, Cell::default());
    memory.cells_out.clear();
    memory.cells_out.resize(groups * n_out, Cell::default());
    memory.scratch.resize(
        pipeline.vertex.scratch_cells().max(memory.scratch.len()),
        Cell::default(),
    );
    for input in &pipeline.vertex_inputs {
        let slot = input.slot as usize;
        match input.source {
            VertexSource::VertexIndex => fill(&mut memory.cells_in, n_in, slot, &ids.vertices),
            VertexSource::InstanceIndex => fill(&mut memory.cells_in, n_in, slot, &ids.instances),
            VertexSource::Attribute {
                buffer,
                offset,
                stride,
                step,
                format,
                components,
            } => {
                let bytes = buffers.get(buffer).copied().flatten().unwrap_or_default();
                let elements = Elements { bytes, offset, stride };
                let ids = match step {
                    VertexStepMode::Vertex => &ids.vertices,
                    VertexStepMode::Instance => &ids.instances,
                };
                fetch_groups(
                    format,
                    &elements,
                    ids,
                    &mut memory.cells_in,
                    n_in,
                    slot,
                    components.into(),
                );
            }
        }
    }
    let mut context = Context::new(pipeline.vertex.stats().lanes);
    context.count = groups as u32;
    context.bindings = bindings.as_ptr();
    context.cells_in = memory.cells_in.as_ptr();
    context.cells_out = memory.cells_out.as_mut_ptr();
    context.scratch = memory.scratch.as_mut_ptr();
    context.loop_budget = loop_budget;
    // SAFETY: the cells hold `groups` groups of the program's slots, scratch is as large as it asks, and the bindings
    // are the pipeline's slots, whose resources the pass borrows.
    unsafe { pipeline.vertex.run(&mut context) };
    if context.status != 0 {
        return Err(context.status);
    }
    spread(&memory.cells_out, n_out, groups, out);
    Ok(())
}

fn fill(cells: &mut [Cell], per_group: usize, slot: usize, ids: &[[u32; 8]]) {
    for (group, ids) in cells.chunks_exact_mut(per_group).zip(ids) {
        group[slot] = Cell(*ids);
    }
}

/// Cells are lanes of one value; blocks are the values of one vertex.
fn spread(cells: &[Cell], per_group: usize, groups: usize, out: &mut Shaded) {
    let words = per_group - 4;
    out.positions.clear();
    out.blocks.clear();
    out.blocks.resize(groups * 8 * words, 0);
    for (g, group) in cells.chunks_exact(per_group).enumerate() {
        out.positions
            .push(std::array::from_fn(|k| group[k].0.map(f32::from_bits)));
        if words == 0 {
            continue;
        }
        let blocks = &mut out.blocks[g * 8 * words..(g + 1) * 8 * words];
        for (k, cell) in group[4..].iter().enumerate() {
            for (lane, &word) in cell.0.iter().enumerate() {
                blocks[lane * words + k] = word;
            }
        }
    }
}
