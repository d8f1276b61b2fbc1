//! Links the stages: vertex buffers to vertex inputs, vertex outputs to fragment inputs (R-RAST-140, R-WGSL-13).

use super::PipelineError;
use super::routing::{Routing, route};
use super::state::{PipelineDescriptor, Rules, VertexStepMode};
use crate::vertex::{VertexFormat, VertexFormatKind};
use quadrille_frontend::ir::{Builtin, Input, Interpolation, Kind, Semantic, Shader};

/// What fills a vertex program's input cells from `slot` on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VertexInput {
    /// First input cell; an attribute fills `components` consecutive cells.
    pub slot: u32,
    /// Where it comes from.
    pub source: VertexSource,
}

/// Source of a vertex input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VertexSource {
    /// From a vertex buffer.
    Attribute {
        /// Vertex buffer slot.
        buffer: usize,
        /// Byte offset in the element.
        offset: u64,
        /// Bytes from element to element.
        stride: u64,
        /// By vertex or by instance.
        step: VertexStepMode,
        /// Format in the buffer.
        format: VertexFormat,
        /// Components the shader reads, 1..=4 (missing ones are 0, 0, 0, 1).
        components: u8,
    },
    /// The vertex index.
    VertexIndex,
    /// The instance index.
    InstanceIndex,
}

/// A vertex output that the fragment program reads: a word of the vertex attribute blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Varying {
    /// Output cell of the vertex program.
    pub cell: u32,
    /// How clipping interpolates it.
    pub interpolation: Interpolation,
}

/// The vertex program's inputs: cells by the shader's inputs, and what fills them.
pub(super) struct VertexInputs {
    /// Cell of each shader input, by index.
    pub cells: Vec<u32>,
    pub sources: Vec<VertexInput>,
    pub count: u32,
}

pub(super) fn vertex_inputs(desc: &PipelineDescriptor<'_>) -> Result<VertexInputs, PipelineError> {
    let mut out = VertexInputs {
        cells: vec![0; desc.vertex.inputs.len()],
        sources: Vec::new(),
        count: 0,
    };
    let mut locations: Vec<(u32, u32)> = Vec::new();
    for (handle, input) in desc.vertex.inputs.iter() {
        let cell = match input.semantic {
            Semantic::Location {
                location, component, ..
            } => {
                let first = match locations.iter().find(|(l, _)| *l == location) {
                    Some(&(_, first)) => first,
                    None => {
                        let first = out.count;
                        attribute(desc, &mut out, location)?;
                        locations.push((location, first));
                        first
                    }
                };
                first + u32::from(component)
            }
            Semantic::Builtin(builtin) => {
                let source = match builtin {
                    Builtin::VertexIndex => VertexSource::VertexIndex,
                    Builtin::InstanceIndex => VertexSource::InstanceIndex,
                    other => {
                        return Err(PipelineError::Unsupported {
                            label: desc.label.into(),
                            what: format!("vertex input {other:?}"),
                        });
                    }
                };
                let slot = out.count;
                out.count += 1;
                out.sources.push(VertexInput { slot, source });
                slot
            }
        };
        out.cells[handle.index()] = cell;
    }
    Ok(out)
}

fn attribute(desc: &PipelineDescriptor<'_>, out: &mut VertexInputs, location: u32) -> Result<(), PipelineError> {
    let label = || desc.label.to_string();
    let wanted: Vec<&Input> = desc
        .vertex
        .inputs
        .iter()
        .map(|(_, i)| i)
        .filter(|i| matches!(i.semantic, Semantic::Location { location: l, .. } if l == location))
        .collect();
    let components = wanted
        .iter()
        .map(|i| match i.semantic {
            Semantic::Location { component, .. } => component + 1,
            Semantic::Builtin(_) => 0,
        })
        .max()
        .unwrap_or(1);
    let found = desc.buffers.iter().enumerate().find_map(|(slot, buffer)| {
        buffer
            .attributes
            .iter()
            .find(|a| a.shader_location == location)
            .map(|a| (slot, buffer, a))
    });
    let Some((buffer, layout, attribute)) = found else {
        return Err(PipelineError::MissingAttribute {
            label: label(),
            location,
            name: wanted[0].name.clone(),
        });
    };
    let scalar = match attribute.format.kind() {
        VertexFormatKind::Float => Kind::F32,
        VertexFormatKind::Sint => Kind::I32,
        VertexFormatKind::Uint => Kind::U32,
    };
    if let Some(input) = wanted.iter().find(|i| i.kind != scalar) {
        return Err(PipelineError::AttributeKind {
            label: label(),
            location,
            format: attribute.format.name(),
            kind: input.kind.name(),
        });
    }
    out.sources.push(VertexInput {
        slot: out.count,
        source: VertexSource::Attribute {
            buffer,
            offset: attribute.offset,
            stride: layout.array_stride,
            step: layout.step_mode,
            format: attribute.format,
            components,
        },
    });
    out.count += u32::from(components);
    Ok(())
}

/// The words that travel from vertex to fragment stage, and which of them each fragment input is.
pub(super) struct Link {
    pub varyings: Vec<Varying>,
    /// Index into the vertex shader's outputs of each varying.
    pub outputs: Vec<usize>,
    /// Word of each fragment input, by input index; `None` for built-ins.
    pub words: Vec<Option<u32>>,
    /// Where the built-in outputs are.
    pub routing: Routing,
    /// Index into the vertex shader's outputs of each cell after the varyings'.
    pub routed: Vec<usize>,
}

impl Link {
    /// Output cells of a group.
    pub fn cells(&self) -> u32 {
        FIRST_VARYING_CELL + (self.varyings.len() + self.routed.len()) as u32
    }
}

/// First output cell after the position's four.
pub(super) const FIRST_VARYING_CELL: u32 = 4;

/// Most locations of four components that a fragment shader reads (R-PS-4, without a geometry shader).
const MAX_REGISTERS: usize = 16;

/// R-PS-7, R-PS-9: under Direct3D's rules inputs that aren't written are zero, and registers have no kind.
pub(super) fn link(desc: &PipelineDescriptor<'_>) -> Result<Link, PipelineError> {
    let mut link = Link {
        varyings: Vec::new(),
        outputs: Vec::new(),
        words: Vec::new(),
        routing: Routing::default(),
        routed: Vec::new(),
    };
    let vertex = desc.vertex;
    let label = || desc.label.to_string();
    let typed = desc.rules == Rules::WebGpu;
    let mut registers: Vec<u32> = Vec::new();
    let inputs = desc.fragment.into_iter().flat_map(|f| f.inputs.iter());
    for (_, input) in inputs {
        let Semantic::Location {
            location, component, ..
        } = input.semantic
        else {
            let word = routed_input(&mut link, vertex, input);
            link.words.push(word);
            continue;
        };
        if !registers.contains(&location) {
            registers.push(location);
        }
        let found = vertex.outputs.iter().position(|o| {
            matches!(o.semantic, Semantic::Location { location: l, component: c, .. } if l == location && c == component)
        });
        let Some(output) = found else {
            if typed {
                return Err(PipelineError::MissingVarying {
                    label: label(),
                    location,
                    name: input.name.clone(),
                });
            }
            link.words.push(None);
            continue;
        };
        if typed && vertex.outputs[output].kind != input.kind {
            return Err(PipelineError::VaryingKind {
                label: label(),
                location,
                vertex: vertex.outputs[output].kind.name(),
                fragment: input.kind.name(),
            });
        }
        let word = link.varyings.len() as u32;
        link.varyings.push(Varying {
            cell: FIRST_VARYING_CELL + word,
            interpolation: input.interpolation,
        });
        link.outputs.push(output);
        link.words.push(Some(word));
    }
    if registers.len() > MAX_REGISTERS {
        return Err(PipelineError::Invalid {
            label: label(),
            what: format!(
                "the fragment shader reads {} locations, at most {MAX_REGISTERS} (R-PS-4)",
                registers.len()
            ),
        });
    }
    route(desc.label, vertex, &mut link)?;
    Ok(link)
}

/// A built-in that the fragment shader sees as the vertex shader wrote it (R-RAST-15, R-RAST-22, R-RAST-27).
fn routed_input(link: &mut Link, vertex: &Shader, input: &Input) -> Option<u32> {
    let Semantic::Builtin(
        Builtin::ClipDistance(_) | Builtin::CullDistance(_) | Builtin::ViewportIndex | Builtin::Layer,
    ) = input.semantic
    else {
        return None;
    };
    let output = vertex.outputs.iter().position(|o| o.semantic == input.semantic)?;
    let word = link.varyings.len() as u32;
    link.varyings.push(Varying {
        cell: FIRST_VARYING_CELL + word,
        interpolation: input.interpolation,
    });
    link.outputs.push(output);
    Some(word)
}
