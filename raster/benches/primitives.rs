//! Primitives a second of every kind against plain triangles, alternating in one run on one thread: what it costs that
//! a primitive is clipped by a distance, chooses its viewport or layer, is a wireframe, a line, a point, conservative.
//!
//! `cargo bench -p quadrille-raster --bench primitives`; an argument selects by name.

use quadrille_frontend::ir::{Builtin, Semantic};
use quadrille_frontend::wgsl::Module;
use quadrille_jit::native::{Jit, JitOptions};
use quadrille_raster::format::TextureFormat;
use quadrille_raster::geometry::{Rect, Viewport};
use quadrille_raster::pass::{ColorAttachment, Draw, LoadOp, Pass, PassMemory, PassOptions, execute};
use quadrille_raster::pipeline::*;
use quadrille_raster::pool::Pool;
use quadrille_raster::texture::{MemoryBudget, Texture, TextureDescriptor, TextureView};
use quadrille_raster::vertex::VertexFormat;
use std::sync::Arc;
use std::time::Instant;

const SIZE: u32 = 512;
const COUNT: u32 = 40_000;
const ROUNDS: usize = 15;

/// Outputs are renamed to the built-ins by name.
const SHADER: &str = "
struct V { @builtin(position) p: vec4f, @location(0) c: vec4f }
@vertex fn plain(@location(0) p: vec4f, @location(1) c: vec4f) -> V { return V(p, c); }
struct D { @builtin(position) p: vec4f, @location(0) c: vec4f, @location(1) clip: f32 }
@vertex fn inside(@location(0) p: vec4f, @location(1) c: vec4f) -> D { return D(p, c, c.x + 0.5); }
@vertex fn cut(@location(0) p: vec4f, @location(1) c: vec4f) -> D { return D(p, c, c.x - 0.5); }
struct R { @builtin(position) p: vec4f, @location(0) c: vec4f, @location(1) @interpolate(flat) route: u32 }
@vertex fn routed(@location(0) p: vec4f, @location(1) c: vec4f) -> R { return R(p, c, u32(c.y * 4.0)); }
@vertex fn first(@location(0) p: vec4f, @location(1) c: vec4f) -> R { return R(p, c, 0u); }
@fragment fn fs(@location(0) c: vec4f) -> @location(0) vec4f { return c; }
";

#[derive(Clone)]
struct Case {
    name: &'static str,
    vertex: &'static str,
    renamed: Option<(&'static str, Builtin)>,
    primitive: PrimitiveState,
    extended: ExtendedState,
    samples: u32,
    layers: u32,
    viewports: u32,
}

impl Case {
    /// Vertices of a primitive.
    fn corners(&self) -> usize {
        match self.primitive.topology {
            PrimitiveTopology::PointList => 1,
            PrimitiveTopology::LineList => 2,
            _ => 3,
        }
    }
}

fn cases() -> Vec<Case> {
    let plain = Case {
        name: "triangles",
        vertex: "plain",
        renamed: None,
        primitive: PrimitiveState::default(),
        extended: ExtendedState::default(),
        samples: 1,
        layers: 1,
        viewports: 1,
    };
    let with = |name, f: &dyn Fn(&mut Case)| {
        let mut case = plain.clone();
        case.name = name;
        f(&mut case);
        case
    };
    let clip = Some(("clip", Builtin::ClipDistance(0)));
    let lines = |mode: LineMode| {
        move |c: &mut Case| {
            c.primitive.topology = PrimitiveTopology::LineList;
            c.primitive.extended.line_mode = mode;
        }
    };
    vec![
        plain.clone(),
        with("clip distance, inside", &|c| (c.vertex, c.renamed) = ("inside", clip)),
        with("clip distance, across", &|c| (c.vertex, c.renamed) = ("cut", clip)),
        with("cull distance", &|c| {
            (c.vertex, c.renamed) = ("inside", Some(("clip", Builtin::CullDistance(0))));
        }),
        with("layer 0", &|c| {
            (c.vertex, c.renamed) = ("first", Some(("route", Builtin::Layer)))
        }),
        with("four layers", &|c| {
            (c.vertex, c.renamed, c.layers) = ("routed", Some(("route", Builtin::Layer)), 4);
        }),
        with("viewport 0", &|c| {
            (c.vertex, c.renamed) = ("first", Some(("route", Builtin::ViewportIndex)))
        }),
        with("four viewports", &|c| {
            (c.vertex, c.renamed, c.viewports) = ("routed", Some(("route", Builtin::ViewportIndex)), 4);
        }),
        with("wireframe", &|c| c.primitive.extended.fill_mode = FillMode::Wireframe),
        with("conservative", &|c| c.primitive.extended.conservative = true),
        with("lines", &lines(LineMode::Aliased)),
        with("lines, rectangular", &lines(LineMode::Rectangular)),
        with("lines, antialiased", &lines(LineMode::AlphaAntialiased)),
        with("points", &|c| c.primitive.topology = PrimitiveTopology::PointList),
        with("triangles, 4 samples", &|c| c.samples = 4),
        with("4 samples at the centre", &|c| {
            (c.samples, c.extended.sample_pattern) = (4, SamplePattern::Center);
        }),
    ]
}

fn pipeline(jit: &Jit, module: &Module, case: &Case) -> RenderPipeline {
    let mut vertex = module.lower(case.vertex, &Default::default()).expect("lowers");
    for output in &mut vertex.outputs {
        if let Some((name, builtin)) = case.renamed
            && output.name == name
        {
            output.semantic = Semantic::Builtin(builtin);
        }
    }
    let attribute = |offset, shader_location| VertexAttribute {
        format: VertexFormat::Float32x4,
        offset,
        shader_location,
    };
    let desc = PipelineDescriptor {
        label: case.name,
        vertex: &vertex,
        buffers: &[VertexBufferLayout {
            array_stride: 32,
            step_mode: VertexStepMode::Vertex,
            attributes: vec![attribute(0, 0), attribute(16, 1)],
        }],
        fragment: Some(&module.lower("fs", &Default::default()).expect("lowers")),
        targets: &[Some(ColorTargetState::new(TextureFormat::Rgba8Unorm))],
        primitive: case.primitive,
        depth_stencil: None,
        multisample: MultisampleState {
            count: case.samples,
            ..MultisampleState::default()
        },
        rules: Rules::default(),
        extended: case.extended,
    };
    RenderPipeline::new(jit, &desc).expect("a pipeline")
}

/// Primitives of some ten pixels' width; c.x runs from 0 to 1 in each, c.y is each one's own.
fn vertices(corners: usize) -> Vec<u8> {
    let mut seed = 1u32;
    let mut random = || {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (seed >> 8) as f32 / (1 << 24) as f32
    };
    let mut out = Vec::new();
    for _ in 0..COUNT {
        let (x, y, own) = (random() * 2.0 - 1.0, random() * 2.0 - 1.0, random());
        for &c in &[0.0, 1.0, 0.5][..corners] {
            let mut off = || (random() - 0.5) * 20.0 / SIZE as f32;
            out.extend([x + off(), y + off(), 0.5, 1.0, c, own, 0.5, 1.0]);
        }
    }
    out.into_iter().flat_map(f32::to_le_bytes).collect()
}

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    let jit = Jit::new(JitOptions::default()).expect("a back end");
    let module = Module::parse("primitives.wgsl", SHADER).expect("parses");
    let budget = MemoryBudget::new(1 << 30);
    let data = [vertices(1), vertices(2), vertices(3)];
    let (pool, memory) = (Pool::new(1), PassMemory::default());
    let viewport = Viewport {
        x: 0.0,
        y: 0.0,
        width: SIZE as f32,
        height: SIZE as f32,
        min_depth: 0.0,
        max_depth: 1.0,
    };
    let scissor = Rect {
        x0: 0,
        y0: 0,
        x1: SIZE as i32,
        y1: SIZE as i32,
    };
    let cases: Vec<Case> = cases()
        .into_iter()
        .filter(|c| c.name == "triangles" || wanted.is_empty() || wanted.iter().any(|w| c.name.contains(w.as_str())))
        .collect();
    let made: Vec<_> = cases
        .iter()
        .map(|case| {
            let d = TextureDescriptor {
                samples: case.samples,
                depth_or_layers: case.layers,
                ..TextureDescriptor::new_2d(TextureFormat::Rgba8Unorm, SIZE, SIZE)
            };
            let texture = Texture::new(&d, &budget).expect("a texture");
            let more = vec![(viewport, scissor); case.viewports as usize - 1];
            (Arc::new(pipeline(&jit, &module, case)), texture, more)
        })
        .collect();
    let mut times = vec![Vec::new(); cases.len()];
    for round in 0..ROUNDS {
        for (i, (pipeline, texture, more)) in made.iter().enumerate() {
            let corners = cases[i].corners();
            let buffers = [Some(&data[corners - 1][..])];
            let pass = Pass {
                label: "bench",
                color: vec![Some(ColorAttachment {
                    view: TextureView::whole(texture).expect("a view"),
                    slice: 0,
                    resolve: None,
                    resolve_mode: Default::default(),
                    load: LoadOp::Clear([0.0; 4]),
                    store: true,
                })],
                depth_stencil: None,
                draws: vec![Draw {
                    pipeline,
                    resources: &[],
                    vertex_buffers: &buffers,
                    indices: None,
                    first: 0,
                    count: COUNT * corners as u32,
                    base_vertex: 0,
                    first_instance: 0,
                    instance_count: 1,
                    viewport,
                    scissor,
                    more_viewports: more,
                    stencil_reference: 0,
                    blend_constant: [0.0; 4],
                    counter: None,
                }],
            };
            let start = Instant::now();
            execute(&pool, &memory, &pass, &PassOptions::default()).expect("renders");
            if round > 0 {
                times[i].push(start.elapsed().as_secs_f64());
            }
        }
    }
    println!("{:<26} {:>9} {:>10}", "", "Mprim/s", "of plain");
    let mut plain = None;
    for (case, times) in cases.iter().zip(&mut times) {
        times.sort_by(f64::total_cmp);
        let time = times[times.len() / 2];
        let each = time / f64::from(COUNT);
        let plain = *plain.get_or_insert(each);
        println!("{:<26} {:>9.2} {:>9.2}x", case.name, 1e-6 / each, each / plain);
    }
}
