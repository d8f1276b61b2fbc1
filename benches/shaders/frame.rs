//! A frame for any fragment shader: one triangle over the whole target, attributes that vary, resources full of data.

use crate::cases::Case;
use quadrille_frontend::ir::{
    Alu, Arena, Builtin, Dim, FunctionBuilder, Input, Interpolation, Kind, Op, Output, ResourceClass, SampleKind,
    Sampling, Semantic, Shader, Stage, Value,
};
use quadrille_frontend::wgsl::Module;
use quadrille_jit::Executor;
use quadrille_raster::format::TextureFormat;
use quadrille_raster::geometry::{Rect, Viewport};
use quadrille_raster::pass::{
    BoundResource, ColorAttachment, Draw, LoadOp, Pass, PassMemory, PassOptions, PassStats, execute,
};
use quadrille_raster::pipeline::{ColorTargetState, PipelineDescriptor, RenderPipeline, Slot};
use quadrille_raster::pool::Pool;
use quadrille_raster::sampler::{AddressMode, CompareFunction, FilterMode, SampledView, Sampler, SamplerDescriptor};
use quadrille_raster::texture::{
    MemoryBudget, ResolveMode, Texture, TextureDescriptor, TextureView, TextureViewDescriptor, ViewDimension,
};
use std::sync::Arc;

/// Width and height of the target.
pub const SIZE: u32 = 128;
/// Bytes of every buffer.
const BUFFER: usize = 16 << 10;

/// A shader ready to run, one thread.
pub struct Frame {
    pipeline: Arc<RenderPipeline>,
    bound: Vec<Bound>,
    target: TextureView,
    memory: PassMemory,
    pool: Pool,
}

enum Bound {
    Bytes(Vec<u8>),
    Texture(Arc<SampledView>),
    Sampler(Arc<Sampler>),
}

impl Frame {
    /// Compiles the shader and makes what it reads.
    pub fn new(case: &Case, executor: &dyn Executor) -> Frame {
        let module = Module::parse(case.name, &case.source).unwrap_or_else(|e| panic!("{e}"));
        let fragment = module
            .lower(case.entry, &Default::default())
            .unwrap_or_else(|e| panic!("{e}"));
        let vertex = vertex_shader(&fragment);
        let targets: Vec<_> = (0..outputs(&fragment))
            .map(|_| Some(ColorTargetState::new(TextureFormat::Rgba8Unorm)))
            .collect();
        let desc = PipelineDescriptor {
            label: case.name,
            vertex: &vertex,
            buffers: &[],
            fragment: Some(&fragment),
            targets: &targets,
            primitive: Default::default(),
            depth_stencil: None,
            multisample: Default::default(),
            rules: Default::default(),
            extended: Default::default(),
        };
        let pipeline = RenderPipeline::new(executor, &desc).unwrap_or_else(|e| panic!("{e}"));
        let budget = MemoryBudget::new(1 << 28);
        let bound = pipeline.slots.iter().map(|s| bind(s, case, &budget)).collect();
        let layers = outputs(&fragment);
        let target = Texture::new(
            &TextureDescriptor {
                depth_or_layers: layers,
                ..TextureDescriptor::new_2d(TextureFormat::Rgba8Unorm, SIZE, SIZE)
            },
            &budget,
        );
        let target = target.expect("a target");
        Frame {
            pipeline: Arc::new(pipeline),
            bound,
            target: TextureView::whole(&target).expect("a view"),
            memory: PassMemory::default(),
            pool: Pool::new(1),
        }
    }

    /// Milliseconds that optimising and compiling the fragment program took.
    pub fn compile_ms(&self) -> f64 {
        let stats = &self.pipeline.stats;
        (stats.passes + stats.fragment.time).as_secs_f64() * 1e3
    }

    /// Draws it once.
    pub fn run(&self) -> PassStats {
        let resources: Vec<BoundResource<'_>> = self
            .bound
            .iter()
            .map(|b| match b {
                Bound::Bytes(bytes) => BoundResource::Bytes(bytes),
                Bound::Texture(view) => BoundResource::Texture(view.clone()),
                Bound::Sampler(sampler) => BoundResource::Sampler(sampler.clone()),
            })
            .collect();
        let layer = |layer| {
            let view = TextureViewDescriptor {
                dimension: Some(ViewDimension::D2),
                base_layer: layer,
                layers: Some(1),
                ..Default::default()
            };
            Some(ColorAttachment {
                view: TextureView::new(self.target.texture(), &view).expect("a layer"),
                slice: 0,
                resolve: None,
                resolve_mode: ResolveMode::Average,
                load: LoadOp::Clear([0.0; 4]),
                store: true,
            })
        };
        let size = SIZE as f32;
        let pass = Pass {
            label: "bench",
            color: (0..self.pipeline.targets.len() as u32).map(layer).collect(),
            depth_stencil: None,
            draws: vec![Draw {
                pipeline: &self.pipeline,
                resources: &resources,
                vertex_buffers: &[],
                indices: None,
                first: 0,
                count: 3,
                base_vertex: 0,
                first_instance: 0,
                instance_count: 1,
                viewport: Viewport {
                    x: 0.0,
                    y: 0.0,
                    width: size,
                    height: size,
                    min_depth: 0.0,
                    max_depth: 1.0,
                },
                scissor: Rect {
                    x0: 0,
                    y0: 0,
                    x1: SIZE as i32,
                    y1: SIZE as i32,
                },
                more_viewports: &[],
                stencil_reference: 0,
                blend_constant: [0.0; 4],
                counter: None,
            }],
        };
        execute(&self.pool, &self.memory, &pass, &PassOptions::default()).unwrap_or_else(|e| panic!("{e}"))
    }
}

/// Colour targets that the shader writes.
fn outputs(fragment: &Shader) -> u32 {
    let locations = fragment.outputs.iter().filter_map(|o| match o.semantic {
        Semantic::Location { location, .. } => Some(location + 1),
        Semantic::Builtin(_) => None,
    });
    locations.max().unwrap_or(1)
}

/// One triangle over everything. Components of an attribute go from 0 to 1 across, from 0 to 1 down, then hold still: a
/// texture coordinate, or a normal that turns. Integers are small.
fn vertex_shader(fragment: &Shader) -> Shader {
    let mut b = FunctionBuilder::new("vs");
    let mut inputs = Arena::new();
    let mut outputs = Vec::new();
    let index = inputs.push(Input {
        name: "index".into(),
        semantic: Semantic::Builtin(Builtin::VertexIndex),
        kind: Kind::U32,
        interpolation: Interpolation::Flat,
        sampling: Sampling::Center,
    });
    let index = b.inst1(Op::Input(index), &[], Kind::U32);
    let mut corner = |number: u32| {
        let number = b.u32(number);
        let there = b.alu(Alu::IEq, &[index, number]);
        let (far, near) = (b.f32(2.0), b.f32(0.0));
        b.select(there, far, near)
    };
    let (x, y) = (corner(1), corner(2));
    let mut write = |b: &mut FunctionBuilder, semantic, value: Value| {
        let kind = b.kind(value);
        let local = b.local("out", kind);
        b.set(local, value);
        outputs.push(Output {
            name: "out".into(),
            semantic,
            kind,
            local,
            invariant: false,
        });
    };
    let (one, two, zero) = (b.f32(1.0), b.f32(2.0), b.f32(0.0));
    let (x2, y2) = (b.alu(Alu::FMul, &[x, two]), b.alu(Alu::FMul, &[y, two]));
    let position = [b.alu(Alu::FSub, &[x2, one]), b.alu(Alu::FSub, &[one, y2]), zero, one];
    for (c, value) in position.into_iter().enumerate() {
        write(&mut b, Semantic::Builtin(Builtin::Position(c as u8)), value);
    }
    for (_, input) in fragment.inputs.iter() {
        let Semantic::Location { component, .. } = input.semantic else {
            continue;
        };
        let value = match (input.kind, component) {
            (Kind::U32, _) => b.u32(1),
            (Kind::I32, _) => b.i32(1),
            (_, 0) => x,
            (_, 1) => y,
            (_, 2) => b.f32(0.7),
            _ => one,
        };
        write(&mut b, input.semantic, value);
    }
    let mut functions = Arena::new();
    let entry = functions.push(b.finish());
    Shader {
        name: "vs".into(),
        stage: Stage::Vertex,
        inputs,
        outputs,
        resources: Arena::new(),
        functions,
        entry,
        early_depth_stencil: false,
        depth_output: Default::default(),
        sources: Default::default(),
    }
}

fn bind(slot: &Slot, case: &Case, budget: &Arc<MemoryBudget>) -> Bound {
    let at = match slot.binding {
        quadrille_frontend::ir::Binding::WebGpu { group, binding } => (group, binding),
        _ => (0, 0),
    };
    match &slot.class {
        ResourceClass::Texture { dim, array, sample, .. } => Bound::Texture(texture(*dim, *array, *sample, budget)),
        ResourceClass::Sampler { comparison } => {
            let d = SamplerDescriptor {
                address: [AddressMode::Repeat; 3],
                mag_filter: FilterMode::Linear,
                min_filter: FilterMode::Linear,
                mipmap_filter: FilterMode::Linear,
                max_anisotropy: case.anisotropy,
                compare: comparison.then_some(CompareFunction::LessEqual),
                ..SamplerDescriptor::default()
            };
            Bound::Sampler(Arc::new(Sampler::new(&d).expect("a sampler")))
        }
        _ => {
            let mut words: Vec<u32> = (0..BUFFER / 4)
                .map(|i| (0.3 + (i % 64) as f32 / 64.0).to_bits())
                .collect();
            for &(group, binding, word, value) in &case.words {
                if (group, binding) == at {
                    words[word] = value;
                }
            }
            Bound::Bytes(words.into_iter().flat_map(u32::to_le_bytes).collect())
        }
    }
}

fn texture(dim: Dim, array: bool, sample: SampleKind, budget: &Arc<MemoryBudget>) -> Arc<SampledView> {
    let depth = sample == SampleKind::Depth;
    let format = if depth {
        TextureFormat::Depth32Float
    } else {
        TextureFormat::Rgba8Unorm
    };
    let mut d = TextureDescriptor::new_2d(format, 256, 256);
    d.depth_or_layers = match (dim, array) {
        (Dim::Cube, _) => 6,
        (_, true) => 4,
        _ => 1,
    };
    d.levels = if depth { 1 } else { d.full_levels() };
    let texture = Texture::new(&d, budget).expect("a texture");
    for layer in 0..d.depth_or_layers {
        let texel = |i: u32| -> [u8; 4] {
            let (x, y) = (i % 256, i / 256);
            if depth {
                return ((x ^ y) as f32 / 256.0).to_le_bytes();
            }
            [
                (x ^ y) as u8,
                (x + 2 * y + layer) as u8,
                128 + (x * y) as u8 / 2,
                96 + ((x + y) & 127) as u8,
            ]
        };
        let texels: Vec<u8> = (0..256 * 256).flat_map(texel).collect();
        texture.write_level(0, layer, &texels).expect("it takes its texels");
    }
    if d.levels > 1 {
        texture.generate_mips().expect("mips");
    }
    let view = TextureViewDescriptor {
        dimension: match (dim, array) {
            (Dim::Cube, _) => Some(ViewDimension::Cube),
            (_, true) => Some(ViewDimension::D2Array),
            _ => Some(ViewDimension::D2),
        },
        ..Default::default()
    };
    let view = TextureView::new(&texture, &view).expect("a view");
    SampledView::new(&view).expect("it can be sampled")
}
