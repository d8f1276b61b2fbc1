//! Built-in outputs of the vertex stage besides the position: clip and cull distances, viewport, layer (R-RAST-13 to 15,
//! R-RAST-22, R-RAST-27).
//!
//! Clip distances travel in the attribute blocks, since new vertices need theirs and tiles test them at every sample. The
//! others are cells behind the attributes: only primitives look at them, once.

use super::PipelineError;
use super::interface::{FIRST_VARYING_CELL, Link, Varying};
use quadrille_frontend::ir::{Builtin, Interpolation, Kind, Semantic, Shader};
use std::ops::Range;

/// Most scalars of clip and cull distances together (R-RAST-15).
const MAX_DISTANCES: usize = 8;

/// Where the vertex program leaves what decides about whole primitives.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Routing {
    /// Words of the attribute blocks that are clip distances.
    pub clip: Range<u32>,
    /// Output cells of the cull distances.
    pub cull: Range<u32>,
    /// Output cell of the viewport index.
    pub viewport: Option<u32>,
    /// Output cell of the layer.
    pub layer: Option<u32>,
}

impl Routing {
    /// Whether there are distances.
    pub fn has_distances(&self) -> bool {
        !self.clip.is_empty() || !self.cull.is_empty()
    }

    /// Whether primitives choose a viewport or layer.
    pub fn chooses(&self) -> bool {
        self.viewport.is_some() || self.layer.is_some()
    }

    /// Output cells of the clip distances.
    pub fn clip_cells(&self) -> Range<u32> {
        FIRST_VARYING_CELL + self.clip.start..FIRST_VARYING_CELL + self.clip.end
    }
}

/// Adds the vertex shader's routing outputs to the link: clip distances as words, the rest as cells.
pub(super) fn route(label: &str, vertex: &Shader, link: &mut Link) -> Result<(), PipelineError> {
    let mut clip: Vec<(u8, usize)> = Vec::new();
    let mut cull: Vec<(u8, usize)> = Vec::new();
    let (mut viewport, mut layer) = (None, None);
    for (i, output) in vertex.outputs.iter().enumerate() {
        let Semantic::Builtin(builtin) = output.semantic else {
            continue;
        };
        let wanted = match builtin {
            Builtin::ClipDistance(k) => {
                clip.push((k, i));
                Kind::F32
            }
            Builtin::CullDistance(k) => {
                cull.push((k, i));
                Kind::F32
            }
            Builtin::ViewportIndex => {
                viewport = Some(i);
                Kind::U32
            }
            Builtin::Layer => {
                layer = Some(i);
                Kind::U32
            }
            _ => continue,
        };
        if output.kind != wanted && !(wanted == Kind::U32 && output.kind == Kind::I32) {
            return Err(PipelineError::Invalid {
                label: label.into(),
                what: format!(
                    "vertex output '{}' is {}, but must be {wanted}",
                    output.name, output.kind
                ),
            });
        }
    }
    if clip.len() + cull.len() > MAX_DISTANCES {
        return Err(PipelineError::Invalid {
            label: label.into(),
            what: format!(
                "the vertex shader writes {} clip and cull distances, at most {MAX_DISTANCES} (R-RAST-15)",
                clip.len() + cull.len()
            ),
        });
    }
    clip.sort_unstable();
    cull.sort_unstable();
    let first = link.varyings.len() as u32;
    for &(_, output) in &clip {
        link.varyings.push(Varying {
            cell: FIRST_VARYING_CELL + link.varyings.len() as u32,
            interpolation: Interpolation::Perspective,
        });
        link.outputs.push(output);
    }
    link.routing.clip = first..link.varyings.len() as u32;
    let mut cell = FIRST_VARYING_CELL + link.varyings.len() as u32;
    let mut next = |output: usize| {
        link.routed.push(output);
        cell += 1;
        cell - 1
    };
    link.routing.cull = next_range(&cull, &mut next);
    link.routing.viewport = viewport.map(&mut next);
    link.routing.layer = layer.map(&mut next);
    Ok(())
}

fn next_range(outputs: &[(u8, usize)], next: &mut impl FnMut(usize) -> u32) -> Range<u32> {
    let mut range = 0..0;
    for (n, &(_, output)) in outputs.iter().enumerate() {
        let cell = next(output);
        range = if n == 0 { cell..cell + 1 } else { range.start..cell + 1 };
    }
    range
}
