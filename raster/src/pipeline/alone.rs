//! A shader looked at by itself: its program in a pipeline of the plainest state, with a partner that exists only for
//! its interface. For `inspect`, and for tests over all shaders.

use super::{
    ColorTargetState, CompareFunction, DepthStencilState, ExtendedState, MultisampleState, PipelineDescriptor,
    PipelineError, PrimitiveState, RenderPipeline, Rules, VertexAttribute, VertexBufferLayout,
};
use crate::format::TextureFormat;
use crate::vertex::VertexFormat;
use quadrille_frontend::ir::{
    Arena, Builtin, FunctionBuilder, Kind, Literal, Output, Semantic, Shader, Sources, Stage, Value,
};
use quadrille_frontend::passes::PassStats;
use quadrille_jit::Program;

/// The program that a shader becomes, and what the passes did: f32 outputs go to rgba8unorm targets, others to 32-bit
/// ones, depth to depth32float; inputs come from 32-bit attributes or from a vertex shader that writes zeros.
///
/// # Errors
/// As for any pipeline.
pub fn alone(shader: &Shader) -> Result<(Program, PassStats), PipelineError> {
    let label = &shader.name;
    let vertex = match shader.stage {
        Stage::Vertex => shader.clone(),
        _ => partner(shader),
    };
    let fragment = (shader.stage != Stage::Vertex).then_some(shader);
    let buffers = [attributes(&vertex)];
    let targets = fragment.map(targets).unwrap_or_default();
    let programs = RenderPipeline::programs(&PipelineDescriptor {
        label,
        vertex: &vertex,
        buffers: &buffers,
        fragment,
        targets: &targets,
        primitive: PrimitiveState::default(),
        depth_stencil: fragment.and_then(depth),
        multisample: MultisampleState::default(),
        rules: Rules::default(),
        extended: ExtendedState::default(),
    })?;
    let [vertex_passes, fragment_passes] = programs.passes;
    match (shader.stage, programs.fragment) {
        (Stage::Vertex, _) => Ok((programs.vertex, vertex_passes)),
        (_, Some(program)) => Ok((program, fragment_passes)),
        (_, None) => Err(PipelineError::Invalid {
            label: label.clone(),
            what: format!("'{label}' is not a fragment entry point"),
        }),
    }
}

fn location(semantic: Semantic) -> Option<u32> {
    match semantic {
        Semantic::Location { location, .. } => Some(location),
        Semantic::Builtin(_) => None,
    }
}

/// A buffer with an attribute for every location that the vertex shader reads.
fn attributes(vertex: &Shader) -> VertexBufferLayout {
    let mut attributes: Vec<VertexAttribute> = Vec::new();
    for (_, input) in vertex.inputs.iter() {
        let Some(shader_location) = location(input.semantic) else {
            continue;
        };
        if attributes.iter().any(|a| a.shader_location == shader_location) {
            continue;
        }
        attributes.push(VertexAttribute {
            format: match input.kind {
                Kind::U32 => VertexFormat::Uint32x4,
                Kind::I32 => VertexFormat::Sint32x4,
                _ => VertexFormat::Float32x4,
            },
            offset: 16 * attributes.len() as u64,
            shader_location,
        });
    }
    VertexBufferLayout {
        array_stride: 16 * attributes.len() as u64,
        attributes,
        ..VertexBufferLayout::default()
    }
}

fn targets(fragment: &Shader) -> Vec<Option<ColorTargetState>> {
    let mut targets = Vec::new();
    for output in &fragment.outputs {
        let Some(at) = location(output.semantic).map(|l| l as usize).filter(|&l| l < 8) else {
            continue;
        };
        if targets.len() <= at {
            targets.resize(at + 1, None);
        }
        targets[at] = Some(ColorTargetState::new(match output.kind {
            Kind::U32 => TextureFormat::Rgba32Uint,
            Kind::I32 => TextureFormat::Rgba32Sint,
            _ => TextureFormat::Rgba8Unorm,
        }));
    }
    targets
}

fn depth(fragment: &Shader) -> Option<DepthStencilState> {
    let writes = |o: &Output| o.semantic == Semantic::Builtin(Builtin::FragDepth);
    fragment.outputs.iter().any(writes).then(|| DepthStencilState {
        depth_write_enabled: true,
        depth_compare: CompareFunction::Less,
        ..DepthStencilState::new(TextureFormat::Depth32Float)
    })
}

/// A vertex shader with zeros for every location that the fragment shader reads.
fn partner(fragment: &Shader) -> Shader {
    let mut b = FunctionBuilder::new("partner");
    let mut outputs = Vec::new();
    let mut zero = |semantic: Semantic, kind: Kind| {
        let zero: Value = b.constant(Literal { kind, bits: 0 });
        let local = b.local("output", kind);
        b.set(local, zero);
        outputs.push(Output {
            name: "output".into(),
            semantic,
            kind,
            local,
            invariant: false,
        });
    };
    for component in 0..4 {
        zero(Semantic::Builtin(Builtin::Position(component)), Kind::F32);
    }
    for (_, input) in fragment.inputs.iter() {
        let distance = matches!(
            input.semantic,
            Semantic::Builtin(Builtin::ClipDistance(_) | Builtin::CullDistance(_))
        );
        if distance || location(input.semantic).is_some() {
            zero(input.semantic, input.kind);
        }
    }
    let mut functions = Arena::new();
    let entry = functions.push(b.finish());
    Shader {
        name: "partner".into(),
        stage: Stage::Vertex,
        inputs: Arena::new(),
        outputs,
        resources: Arena::new(),
        functions,
        entry,
        early_depth_stencil: false,
        depth_output: Default::default(),
        sources: Sources::default(),
    }
}
