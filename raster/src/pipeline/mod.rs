//! Render pipelines: state and shaders, assembled into two programs and compiled whole.
//!
//! ```text
//! Shader (vertex)   ─ inline ─ assemble ─ passes ─ compile ─► RenderPipeline.vertex
//! Shader (fragment) ─ inline ─ assemble (interpolation, depth, blending, packing) ─ passes ─ compile ─► .fragment
//! ```
//!
//! Fixed function is IR too: the interpreter runs the same program as native code.

mod alone;
mod blend;
mod codec;
mod depth;
mod emit;
mod forms;
mod fragment;
mod inputs;
mod interface;
mod interpolate;
mod notes;
mod routing;
mod state;
mod validate;
mod vertex;

pub use alone::alone;
pub use interface::{Varying, VertexInput, VertexSource};
pub use notes::Note;
pub use routing::Routing;

pub use state::*;

pub(crate) use forms::Form;
use forms::{Forms, Source};

use crate::layout::PlaneLayout;
use quadrille_frontend::diagnostic::ShaderError;
use quadrille_frontend::ir::{self, Arena, Binding, Function, Resource, Shader};
use quadrille_frontend::passes::{self, PassStats, gradient};

use quadrille_jit::{CompileError, CompileStats, Compiled, Executor, Program, ProgramKind};
use std::sync::Arc;
use std::time::Duration;
use vertex::Assembled;

/// Why a pipeline can't be made. Every variant names the pipeline's label.
#[derive(Clone, Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum PipelineError {
    /// A feature that is missing here: an implementation limit.
    #[error("pipeline '{label}': {what} is not supported")]
    Unsupported { label: String, what: String },
    /// The vertex shader reads a location that no vertex buffer has.
    #[error("pipeline '{label}': vertex input '{name}' at location {location} has no attribute in any vertex buffer")]
    MissingAttribute { label: String, location: u32, name: String },
    /// Attribute format and shader type differ.
    #[error("pipeline '{label}': attribute {format} at location {location} can't feed a shader input of {kind}")]
    AttributeKind {
        label: String,
        location: u32,
        format: &'static str,
        kind: &'static str,
    },
    /// The fragment shader reads a location that the vertex shader doesn't write.
    #[error("pipeline '{label}': fragment input '{name}' at location {location} is not written by the vertex shader")]
    MissingVarying { label: String, location: u32, name: String },
    /// Kinds differ between the stages.
    #[error(
        "pipeline '{label}': location {location} is {vertex} in the vertex shader and {fragment} in the fragment shader"
    )]
    VaryingKind {
        label: String,
        location: u32,
        vertex: &'static str,
        fragment: &'static str,
    },
    /// State that contradicts itself or the attachments.
    #[error("pipeline '{label}': {what}")]
    Invalid { label: String, what: String },
    /// A gradient in varying flow, under Direct3D's rules (R-PS-80).
    #[error("pipeline '{label}': its fragment shader breaks a rule of Direct3D")]
    Gradient { label: String, source: ShaderError },
    /// A shader could not be optimised.
    #[error("pipeline '{label}': {error}")]
    Pass { label: String, error: passes::PassError },
    /// A program could not be compiled.
    #[error("pipeline '{label}': {error}")]
    Compile { label: String, error: CompileError },
}

/// A resource slot of a pipeline: one entry of [`quadrille_jit::abi::Context::bindings`].
#[derive(Clone, Debug, PartialEq)]
pub struct Slot {
    /// Where it is bound.
    pub binding: Binding,
    /// What the shaders declare there.
    pub class: ir::ResourceClass,
    /// Elements of a binding array.
    pub count: u32,
    /// First slot.
    pub slot: u32,
    /// Its name in the shader.
    pub name: String,
    /// Whether the vertex shader uses it.
    pub vertex: bool,
    /// Whether the fragment shader uses it.
    pub fragment: bool,
}

/// What compiling a pipeline cost.
#[derive(Clone, Copy, Debug, Default)]
pub struct PipelineStats {
    /// Inlining, assembly and passes.
    pub passes: Duration,
    /// Vertex program.
    pub vertex: CompileStats,
    /// Fragment program.
    pub fragment: CompileStats,
}

impl PipelineStats {
    /// All of it.
    pub fn total(&self) -> Duration {
        self.passes + self.vertex.time + self.fragment.time
    }
}

/// A compiled pipeline.
pub struct RenderPipeline {
    /// Its label.
    pub label: String,
    /// The vertex program.
    pub vertex: Arc<dyn Compiled>,
    /// What fills the vertex program's input cells.
    pub vertex_inputs: Vec<VertexInput>,
    /// Input cells of a group of 8 vertices.
    pub cells_in: u32,
    /// Output cells of a group; the first four are the position.
    pub cells_out: u32,
    /// Words of the vertex attribute blocks.
    pub varyings: Vec<Varying>,
    /// What pairs say about pixels.
    pub(crate) coverage: CoverageForm,
    /// Where the vertex program leaves distances, viewport and layer.
    pub routing: Routing,
    /// The fragment program; none if nothing can be written.
    pub fragment: Option<Arc<dyn Compiled>>,
    /// Whether a fragment that fails the depth test leaves no trace (law R5).
    pub(crate) traceless: bool,
    /// Whether a covered sample fails the depth test or writes its depth (law R5).
    pub(crate) occludes: bool,
    /// Tile planes of the attachments.
    pub planes: PlaneLayout,
    /// Primitive state.
    pub primitive: PrimitiveState,
    /// Depth and stencil state.
    pub depth_stencil: Option<DepthStencilState>,
    /// Multisample state.
    pub multisample: MultisampleState,
    /// Colour targets.
    pub targets: Vec<Option<ColorTargetState>>,
    /// Vertex buffer layouts.
    pub buffers: Vec<VertexBufferLayout>,
    /// Resource slots, by binding.
    pub slots: Vec<Slot>,
    /// Total slots.
    pub slot_count: u32,
    /// Source texts, for errors that name a line.
    pub sources: [ir::Sources; 2],
    /// What is doubtful in the shaders but was accepted, with source lines.
    pub warnings: Vec<String>,
    /// What compiling cost.
    pub stats: PipelineStats,
    forms: Forms,
}

impl std::fmt::Debug for RenderPipeline {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RenderPipeline")
            .field("label", &self.label)
            .field("stats", &self.stats)
            .finish()
    }
}

/// The programs of a pipeline before compilation: for `inspect`, and for tests.
#[derive(Clone, Debug)]
pub struct Programs {
    /// The vertex program.
    pub vertex: Program,
    /// The fragment program, if anything can be written.
    pub fragment: Option<Program>,
    /// Time and size after each pass, of both.
    pub passes: [PassStats; 2],
}

impl RenderPipeline {
    /// Assembles and compiles a pipeline.
    pub fn new(executor: &dyn Executor, desc: &PipelineDescriptor<'_>) -> Result<RenderPipeline, PipelineError> {
        let start = std::time::Instant::now();
        let built = Built::new(desc)?;
        let passes = start.elapsed();
        let compile = |program: &Program| {
            executor.compile(program).map_err(|error| PipelineError::Compile {
                label: desc.label.to_string(),
                error,
            })
        };
        let vertex = compile(&built.programs.vertex)?;
        let fragment = built.programs.fragment.as_ref().map(compile).transpose()?;
        let stats = PipelineStats {
            passes,
            vertex: vertex.stats(),
            fragment: fragment.as_ref().map(|f| f.stats()).unwrap_or_default(),
        };
        Ok(RenderPipeline {
            label: desc.label.to_string(),
            vertex,
            vertex_inputs: built.inputs.sources,
            cells_in: built.inputs.count,
            cells_out: built.source.link().cells(),
            varyings: built.source.link().varyings.clone(),
            routing: built.source.link().routing.clone(),
            coverage: desc.coverage_form(),
            fragment,
            traceless: built.traceless,
            occludes: built.occludes,
            planes: built.planes,
            primitive: desc.primitive,
            depth_stencil: desc.depth_stencil,
            multisample: desc.multisample,
            targets: desc.targets.to_vec(),
            buffers: desc.buffers.to_vec(),
            slots: built.slots,
            slot_count: built.slot_count,
            sources: [
                built.programs.vertex.sources,
                built.programs.fragment.map(|f| f.sources).unwrap_or_default(),
            ],
            warnings: built.warnings,
            stats,
            forms: Forms::new(executor, built.source),
        })
    }

    /// The programs that [`new`](Self::new) would compile.
    pub fn programs(desc: &PipelineDescriptor<'_>) -> Result<Programs, PipelineError> {
        Ok(Built::new(desc)?.programs)
    }
}

struct Built {
    programs: Programs,
    inputs: interface::VertexInputs,
    source: Source,
    planes: PlaneLayout,
    traceless: bool,
    occludes: bool,
    slots: Vec<Slot>,
    slot_count: u32,
    warnings: Vec<String>,
}

impl Built {
    fn new(desc: &PipelineDescriptor<'_>) -> Result<Built, PipelineError> {
        validate::validate(desc)?;
        let pass = |error| PipelineError::Pass {
            label: desc.label.to_string(),
            error,
        };
        let inputs = interface::vertex_inputs(desc)?;
        let link = interface::link(desc)?;
        let colors: Vec<_> = desc.targets.iter().map(|t| t.map(|t| t.format)).collect();
        let planes = PlaneLayout::new(&colors, desc.depth_stencil.map(|d| d.format), desc.multisample.count);
        let (slots, slot_count) = slots(desc)?;

        let vertex = inlined(desc.vertex).map_err(pass)?;
        let assembled = vertex::assemble(desc.vertex, &vertex.1, &inputs, &link);
        let kind = ProgramKind::Vertex {
            cells_in: inputs.count,
            cells_out: link.cells(),
        };
        let (vertex, vertex_passes) = program(assembled, kind, Some(&vertex.0), &slots).map_err(pass)?;

        let mut fragment = desc.fragment.map(inlined).transpose().map_err(pass)?;
        let warnings = match &mut fragment {
            Some((shader, entry)) if desc.rules == Rules::D3d11 => gradients(desc, shader, entry)?,
            _ => Vec::new(),
        };
        let traits = fragment
            .as_ref()
            .map(|(s, f)| fragment::Traits::of(s, f))
            .unwrap_or_default();
        let writes = desc.fragment.is_some() || desc.depth_stencil.is_some();
        let mut fragment_passes = PassStats::default();
        let fragment_program = if writes {
            let shader = fragment.as_ref().map(|(s, f)| (s, f));
            let assembled = fragment::assemble(desc, &planes, shader, traits, &link, Form::Whole);
            let kind = ProgramKind::Fragment {
                samples: desc.coverage_form().bytes() as u8,
                plane_stride: planes.plane_stride(),
            };
            let (program, passes) = program(assembled, kind, shader.map(|s| s.0), &slots).map_err(pass)?;
            fragment_passes = passes;
            Some(program)
        } else {
            None
        };
        Ok(Built {
            programs: Programs {
                vertex,
                fragment: fragment_program,
                passes: [vertex_passes, fragment_passes],
            },
            inputs,
            source: Source::new(desc, fragment, traits, link),
            planes,
            traceless: traits.is_traceless(desc),
            occludes: traits.occludes(desc),
            slots,
            slot_count,
            warnings,
        })
    }
}

/// Direct3D's rules of gradients in varying flow (R-PS-80, R-PS-82, R-PS-85): gives warnings.
fn gradients(
    desc: &PipelineDescriptor<'_>,
    shader: &Shader,
    entry: &mut Function,
) -> Result<Vec<String>, PipelineError> {
    let broken = gradient::judge_entry(shader, entry, gradient::Reading::Direct3D);
    if desc.extended.gradient_divergence == GradientDivergence::Error
        && let Some(source) = broken.first().cloned()
    {
        let label = desc.label.into();
        return Err(PipelineError::Gradient { label, source });
    }
    gradient::move_gradients(entry, &shader.inputs, &shader.resources);
    Ok(broken.iter().map(ShaderError::render_warning).collect())
}

/// The shader and its entry function with all calls inlined.
fn inlined(shader: &Shader) -> Result<(Shader, Function), passes::PassError> {
    let mut shader = shader.clone();
    passes::inline_all(&mut shader)?;
    let entry = shader.functions[shader.entry].clone();
    Ok((shader, entry))
}

fn program(
    assembled: Assembled,
    kind: ProgramKind,
    shader: Option<&Shader>,
    slots: &[Slot],
) -> Result<(Program, PassStats), passes::PassError> {
    let (resources, sources) = match shader {
        Some(s) => (s.resources.clone(), s.sources.clone()),
        None => (Arena::new(), ir::Sources::default()),
    };
    let name = assembled.function.name.clone();
    let options = passes::Options {
        invariant: &assembled.invariant,
        ..passes::Options::default()
    };
    let (function, stats) = passes::optimize(assembled.function, &resources, &options)?;
    let slot_of = |r: &Resource| slots.iter().find(|s| s.binding == r.binding).map_or(0, |s| s.slot);
    let slots = resources.iter().map(|(_, r)| slot_of(r)).collect();
    let program = Program {
        name,
        kind,
        function,
        resources,
        slots,
        sources,
    };
    Ok((program, stats))
}

/// The slots of both stages' resources, ordered by binding.
fn slots(desc: &PipelineDescriptor<'_>) -> Result<(Vec<Slot>, u32), PipelineError> {
    let mut out: Vec<Slot> = Vec::new();
    let stages = [(Some(desc.vertex), true), (desc.fragment, false)];
    for (shader, is_vertex) in stages {
        for (_, r) in shader.iter().flat_map(|s| s.resources.iter()) {
            match out.iter_mut().find(|s| s.binding == r.binding) {
                Some(slot) => {
                    slot.vertex |= is_vertex;
                    slot.fragment |= !is_vertex;
                    slot.class = merge(&slot.class, &r.class).ok_or_else(|| PipelineError::Invalid {
                        label: desc.label.into(),
                        what: format!(
                            "'{}' and '{}' share {:?} but are different resources",
                            slot.name, r.name, r.binding
                        ),
                    })?;
                }
                None => out.push(Slot {
                    binding: r.binding,
                    class: r.class.clone(),
                    count: r.count,
                    slot: 0,
                    name: r.name.clone(),
                    vertex: is_vertex,
                    fragment: !is_vertex,
                }),
            }
        }
    }
    out.sort_by_key(|s| s.binding);
    let mut next = 0;
    for slot in &mut out {
        slot.slot = next;
        next += slot.count;
    }
    Ok((out, next))
}

/// One class for a binding that both stages declare: buffers need the larger minimum size.
fn merge(a: &ir::ResourceClass, b: &ir::ResourceClass) -> Option<ir::ResourceClass> {
    use ir::ResourceClass::{Storage, Texture, Uniform};
    match (a, b) {
        (Uniform { min_size: x }, Uniform { min_size: y }) => Some(Uniform { min_size: *x.max(y) }),
        (
            Storage {
                writable: v,
                min_size: x,
            },
            Storage {
                writable: w,
                min_size: y,
            },
        ) => Some(Storage {
            writable: *v || *w,
            min_size: *x.max(y),
        }),
        // A stage that only loads asks for less than one that filters.
        (
            Texture {
                sample: ir::SampleKind::UnfilterableFloat,
                ..
            },
            Texture {
                dim,
                array,
                multisampled,
                sample: ir::SampleKind::Float,
            },
        )
        | (
            Texture {
                dim,
                array,
                multisampled,
                sample: ir::SampleKind::Float,
            },
            Texture {
                sample: ir::SampleKind::UnfilterableFloat,
                ..
            },
        ) => {
            let merged = Texture {
                dim: *dim,
                array: *array,
                multisampled: *multisampled,
                sample: ir::SampleKind::Float,
            };
            let same_shape = |c: &ir::ResourceClass| {
                matches!(c, Texture { dim: d, array: y, multisampled: m, .. }
                    if (d, y, m) == (dim, array, multisampled))
            };
            (same_shape(a) && same_shape(b)).then_some(merged)
        }
        _ => (a == b).then(|| a.clone()),
    }
}
