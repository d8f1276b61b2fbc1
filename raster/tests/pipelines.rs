//! Whole pipelines with random state, native code against the interpreter: topologies, fill and cull modes, lines, points,
//! conservative triangles, sample counts and patterns, clip and cull distances, viewports and layers, depth, stencil,
//! formats, blending, alpha to coverage; over triangles of all sizes, and positions that are NaN, infinite or huge.

use quadrille_frontend::ir::{Builtin, Semantic, Shader};
use quadrille_frontend::wgsl::Module;
use quadrille_jit::native::{Jit, JitOptions, Lanes};
use quadrille_jit::{Executor, interp::Interpreter};
use quadrille_raster::format::{Aspect, Kind, TextureFormat};
use quadrille_raster::geometry::{Rect, Viewport};
use quadrille_raster::pass::{
    ColorAttachment, DepthStencilAttachment, Draw, LoadOp, Pass, PassMemory, PassOptions, execute,
};
use quadrille_raster::pipeline::*;
use quadrille_raster::pool::Pool;
use quadrille_raster::texture::{CopyRegion, MemoryBudget, ResolveMode, Texture, TextureDescriptor, TextureView};
use quadrille_raster::vertex::VertexFormat;
use std::sync::Arc;

const WIDTH: u32 = 40;
const HEIGHT: u32 = 24;
const LAYERS: u32 = 2;

/// `TYPE` is the target's; outputs named like built-ins are renamed to them.
const SHADER: &str = "enable clip_distances;
struct V {
    @builtin(position) p: vec4f, @location(0) c: vec4f, @location(1) @interpolate(linear, centroid) l: vec4f,
    @location(2) @interpolate(flat) k: vec4f,
}
struct Clipped {
    @builtin(position) p: vec4f, @location(0) c: vec4f, @location(1) @interpolate(linear, centroid) l: vec4f,
    @location(2) @interpolate(flat) k: vec4f, @builtin(clip_distances) d: array<f32, 2>, @location(3) cull: f32,
}
struct Routed {
    @builtin(position) p: vec4f, @location(0) c: vec4f, @location(1) @interpolate(linear, centroid) l: vec4f,
    @location(2) @interpolate(flat) k: vec4f, @location(3) @interpolate(flat) layer: u32,
    @location(4) @interpolate(flat) viewport: u32,
}
@vertex fn plain(@location(0) p: vec4f, @location(1) c: vec4f) -> V { return V(p, c, c.yzwx, c.wzyx); }
@vertex fn clipped(@location(0) p: vec4f, @location(1) c: vec4f) -> Clipped {
    return Clipped(p, c, c.yzwx, c.wzyx, array<f32, 2>(c.x - 0.3, 1.5 - c.y * p.w), c.z - 0.2);
}
@vertex fn routed(@location(0) p: vec4f, @location(1) c: vec4f) -> Routed {
    return Routed(p, c, c.yzwx, c.wzyx, u32(c.x * 3.0), u32(c.y * 3.0));
}
struct In {
    @builtin(position) p: vec4f, @builtin(front_facing) front: bool,
    @location(0) c: vec4f, @location(1) @interpolate(linear, centroid) l: vec4f, @location(2) @interpolate(flat) k: vec4f,
}
fn mixed(v: In) -> vec4f {
    return select(v.l, v.c, v.front) * 0.5 + 0.25 * v.k + vec4f(fract(v.p.xy * 0.13), v.p.z, dpdx(v.c.x));
}
@fragment fn pixel(v: In) -> @location(0) TYPE { return TYPE(mixed(v) * SCALE); }
@fragment fn sampled(v: In, @builtin(sample_index) i: u32) -> @location(0) TYPE {
    return TYPE((mixed(v) + f32(i) * 0.1) * SCALE);
}
@fragment fn covered(v: In, @builtin(sample_mask) m: u32) -> @location(0) TYPE {
    if v.c.w < 0.2 { discard; }
    return TYPE((mixed(v) + f32(m & 255u) * 0.01) * SCALE);
}
struct Deep { @location(0) c: TYPE, @builtin(frag_depth) z: f32, @builtin(sample_mask) m: u32 }
@fragment fn deep(v: In) -> Deep { return Deep(TYPE(v.k * SCALE), fract(v.c.x * 3.0), u32(v.p.x * 7.0) | 2u); }
";

struct Random(u64);

impl Random {
    fn bits(&mut self) -> u32 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as u32
    }
    fn below(&mut self, n: u32) -> u32 {
        self.bits() % n
    }
    fn f32(&mut self, low: f32, high: f32) -> f32 {
        low + (high - low) * (self.bits() as f32 / (1u32 << 31) as f32)
    }
    fn pick<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u32) as usize]
    }
    fn once_in(&mut self, n: u32) -> bool {
        self.below(n) == 0
    }
}

/// What a pipeline is made of, by value.
struct Recipe {
    vertex: Shader,
    fragment: Option<Shader>,
    target: ColorTargetState,
    primitive: PrimitiveState,
    depth_stencil: Option<DepthStencilState>,
    multisample: MultisampleState,
    rules: Rules,
    extended: ExtendedState,
}

struct Call {
    recipe: Recipe,
    vertices: Vec<u8>,
    count: u32,
    scissor: Rect,
    viewports: [Viewport; 2],
}

struct Scene {
    color: TextureFormat,
    depth: Option<TextureFormat>,
    samples: u32,
    calls: Vec<Call>,
}

fn component(r: &mut Random) -> BlendComponent {
    use BlendFactor::*;
    let factors = [
        Zero,
        One,
        Src,
        OneMinusSrc,
        SrcAlpha,
        OneMinusSrcAlpha,
        Dst,
        OneMinusDst,
        DstAlpha,
        OneMinusDstAlpha,
        SrcAlphaSaturated,
        Constant,
        OneMinusConstant,
    ];
    BlendComponent {
        operation: r.pick(BlendOperation::ALL),
        src_factor: r.pick(&factors),
        dst_factor: r.pick(&factors),
    }
}

fn face(r: &mut Random) -> StencilFaceState {
    StencilFaceState {
        compare: r.pick(CompareFunction::ALL),
        fail_op: r.pick(StencilOperation::ALL),
        depth_fail_op: r.pick(StencilOperation::ALL),
        pass_op: r.pick(StencilOperation::ALL),
    }
}

fn recipe(r: &mut Random, modules: &[Module; 3], scene: (TextureFormat, Option<TextureFormat>, u32)) -> Recipe {
    let (color, depth, samples) = scene;
    let info = color.info();
    let module = match info.kind {
        Kind::Uint => &modules[1],
        Kind::Sint => &modules[2],
        _ => &modules[0],
    };
    let lower = |entry: &str| module.lower(entry, &Default::default()).expect("lowers");
    let mut vertex = lower(r.pick(&["plain", "clipped", "clipped", "routed"]));
    for output in &mut vertex.outputs {
        output.semantic = match output.name.as_str() {
            "cull" => Semantic::Builtin(Builtin::CullDistance(0)),
            "layer" => Semantic::Builtin(Builtin::Layer),
            "viewport" => Semantic::Builtin(Builtin::ViewportIndex),
            _ => output.semantic,
        };
    }
    let entry = r.pick(&["pixel", "pixel", "sampled", "covered", "deep", ""]);
    let fragment = (!entry.is_empty()).then(|| lower(entry));
    let mut target = ColorTargetState::new(color);
    if info.blendable && r.once_in(2) {
        target.blend = Some(BlendState {
            color: component(r),
            alpha: component(r),
        });
    }
    if r.once_in(5) {
        target.write_mask = r.below(16) as u8;
    }
    let depth_stencil = depth.map(|format| {
        let mut state = DepthStencilState::new(format);
        if format.info().depth {
            state.depth_compare = r.pick(CompareFunction::ALL);
            state.depth_write_enabled = !r.once_in(3);
        }
        if format.info().stencil && r.once_in(2) {
            state.stencil_front = face(r);
            state.stencil_back = face(r);
            state.stencil_read_mask = r.bits();
            state.stencil_write_mask = r.bits();
        }
        state
    });
    let mut primitive = PrimitiveState {
        topology: r.pick(PrimitiveTopology::ALL),
        front_face: r.pick(FrontFace::ALL),
        cull_mode: r.pick(CullMode::ALL),
        unclipped_depth: r.once_in(3),
        ..PrimitiveState::default()
    };
    let x = &mut primitive.extended;
    if r.once_in(3) {
        x.fill_mode = FillMode::Wireframe;
    }
    x.line_mode = r.pick(LineMode::ALL);
    x.point_mode = r.pick(PointMode::ALL);
    x.provoking_vertex = r.pick(ProvokingVertex::ALL);
    x.conservative = r.once_in(4);
    if depth.is_none() && r.once_in(3) {
        x.forced_samples = if samples > 1 { 1 } else { r.pick(&[1, 4, 8, 16]) };
    }
    Recipe {
        vertex,
        fragment,
        target,
        primitive,
        depth_stencil,
        multisample: MultisampleState {
            count: samples,
            mask: r.pick(&[u32::MAX, u32::MAX, 0b0110_0101]),
            alpha_to_coverage_enabled: samples > 1 && r.once_in(4),
        },
        rules: r.pick(Rules::ALL),
        extended: ExtendedState {
            logic_op: (info.kind == Kind::Uint && r.once_in(2)).then(|| r.pick(LogicOperation::ALL)),
            depth_bounds: (depth.is_some_and(|d| d.info().depth) && r.once_in(5)).then_some([0.25, 0.75]),
            sample_pattern: r.pick(&[SamplePattern::Standard, SamplePattern::Standard, SamplePattern::Center]),
            ..ExtendedState::default()
        },
    }
}

/// A coordinate that no one should send.
fn odd(r: &mut Random) -> f32 {
    r.pick(&[
        f32::NAN,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::MAX,
        f32::MIN,
        f32::MIN_POSITIVE,
        0.0,
        -0.0,
        1.0e-30,
        3.0e34,
        -70_000.0,
        40_000.0,
    ])
}

fn vertices(r: &mut Random, count: u32) -> Vec<u8> {
    let mut out: Vec<f32> = Vec::new();
    let spoilt = r.once_in(3);
    let mut center = [0.0; 3];
    for n in 0..count {
        if n % 3 == 0 {
            center = [r.f32(-1.2, 1.2), r.f32(-1.2, 1.2), r.f32(-0.1, 1.1)];
        }
        let size = r.pick(&[0.0, 0.01, 0.2, 1.0, 5.0, 900.0]);
        let w = if r.once_in(3) { r.f32(-0.5, 2.0) } else { 1.0 };
        let mut p = [
            (center[0] + r.f32(-size, size)) * w,
            (center[1] + r.f32(-size, size)) * w,
            (center[2] + r.f32(-0.1, 0.1)) * w,
            w,
        ];
        if spoilt && r.once_in(6) {
            p[r.below(4) as usize] = odd(r);
        }
        out.extend(p);
        let mut c = [0; 4].map(|_| r.f32(0.0, 1.0));
        if r.once_in(60) {
            c[r.below(2) as usize] = r.pick(&[f32::INFINITY, f32::NEG_INFINITY, f32::NAN, 1.0e38]);
        }
        out.extend(c);
    }
    out.into_iter().flat_map(f32::to_le_bytes).collect()
}

fn scene(seed: u64, modules: &[Module; 3]) -> Scene {
    let mut r = Random(seed.wrapping_mul(7919) + 1);
    r.bits();
    let colors: Vec<TextureFormat> = TextureFormat::ALL
        .iter()
        .copied()
        .filter(|f| {
            let i = f.info();
            i.renderable && !i.depth && !i.stencil
        })
        .collect();
    let depths = [
        None,
        None,
        Some(TextureFormat::Depth16Unorm),
        Some(TextureFormat::Depth24PlusStencil8),
        Some(TextureFormat::Depth32Float),
        Some(TextureFormat::Depth32FloatStencil8),
        Some(TextureFormat::Stencil8),
    ];
    let color = r.pick(&colors);
    let (depth, samples) = (r.pick(&depths), r.pick(&[1, 1, 2, 4, 4, 8, 16]));
    let viewport = |r: &mut Random| Viewport {
        x: r.f32(-4.0, 8.0),
        y: r.f32(-4.0, 8.0),
        width: r.f32(1.0, WIDTH as f32),
        height: r.f32(1.0, HEIGHT as f32),
        min_depth: r.f32(0.0, 0.4),
        max_depth: r.f32(0.4, 1.0),
    };
    let calls = (0..3).map(|_| {
        let count = r.pick(&[3, 12, 40]);
        let mut scissor = Rect {
            x0: 0,
            y0: 0,
            x1: WIDTH as i32,
            y1: HEIGHT as i32,
        };
        if r.once_in(4) {
            (scissor.x0, scissor.y1) = (r.below(30) as i32, r.below(24) as i32);
        }
        Call {
            recipe: recipe(&mut r, modules, (color, depth, samples)),
            vertices: vertices(&mut r, count),
            count,
            scissor,
            viewports: [
                Viewport {
                    x: 0.0,
                    y: 0.0,
                    width: WIDTH as f32,
                    height: HEIGHT as f32,
                    min_depth: 0.0,
                    max_depth: 1.0,
                },
                viewport(&mut r),
            ],
        }
    });
    Scene {
        color,
        depth,
        samples,
        calls: calls.collect(),
    }
}

/// Attachments' texels, layer by layer, resolved if they are multisampled; and how many pipelines were refused.
type Outcome = (Vec<Vec<u8>>, usize);

impl Scene {
    fn render(&self, executor: &dyn Executor, threads: usize, options: &PassOptions<'_>) -> Outcome {
        let budget = MemoryBudget::new(1 << 30);
        let texture = |format, samples| {
            let d = TextureDescriptor {
                samples,
                depth_or_layers: LAYERS,
                ..TextureDescriptor::new_2d(format, WIDTH, HEIGHT)
            };
            Texture::new(&d, &budget).expect("a texture")
        };
        let whole = |t: &Arc<Texture>| TextureView::whole(t).expect("a view");
        let multisampled = self.samples > 1;
        let (color, resolved) = (texture(self.color, self.samples), texture(self.color, 1));
        let depth = self.depth.map(|d| (texture(d, self.samples), texture(d, 1)));
        let average = matches!(self.color.info().kind, Kind::Uint | Kind::Sint);
        let color_mode = if average {
            ResolveMode::SampleZero
        } else {
            ResolveMode::Average
        };
        let pipelines: Vec<Option<Arc<RenderPipeline>>> = self
            .calls
            .iter()
            .map(|c| c.recipe.build(executor).ok().map(Arc::new))
            .collect();
        let buffers: Vec<[Option<&[u8]>; 1]> = self.calls.iter().map(|c| [Some(&c.vertices[..])]).collect();
        let more: Vec<[(Viewport, Rect); 1]> = self.calls.iter().map(|c| [(c.viewports[1], c.scissor)]).collect();
        let pass = Pass {
            label: "scene",
            color: vec![Some(ColorAttachment {
                view: whole(&color),
                slice: 0,
                resolve: multisampled.then(|| whole(&resolved)),
                resolve_mode: color_mode,
                load: LoadOp::Clear([1.0, 0.25, 0.5, 1.0]),
                store: true,
            })],
            depth_stencil: depth.as_ref().map(|(t, resolved)| DepthStencilAttachment {
                view: whole(t),
                depth_load: LoadOp::Clear(0.5),
                depth_store: true,
                depth_read_only: false,
                stencil_load: LoadOp::Clear(1),
                stencil_store: true,
                stencil_read_only: false,
                resolve: multisampled.then(|| whole(resolved)),
                depth_resolve_mode: ResolveMode::Max,
                stencil_resolve_mode: ResolveMode::SampleZero,
            }),
            draws: (0..self.calls.len())
                .filter_map(|i| {
                    let (c, pipeline) = (&self.calls[i], pipelines[i].as_ref()?);
                    Some(Draw {
                        pipeline,
                        resources: &[],
                        vertex_buffers: &buffers[i],
                        indices: None,
                        first: 0,
                        count: c.count,
                        base_vertex: 0,
                        first_instance: 0,
                        instance_count: 1,
                        viewport: c.viewports[0],
                        scissor: c.scissor,
                        more_viewports: &more[i],
                        stencil_reference: 3,
                        blend_constant: [0.25, 0.5, 0.75, 1.0],
                        counter: None,
                    })
                })
                .collect(),
        };
        execute(&Pool::new(threads), &PassMemory::default(), &pass, options).expect("executes");
        drop(pass);
        let read = |t: &Texture, aspect: Aspect, out: &mut Vec<Vec<u8>>| {
            let Some(format) = t.format().aspect_format(aspect) else {
                return;
            };
            let row = (WIDTH * format.info().bytes) as usize;
            for layer in 0..LAYERS {
                let mut bytes = vec![0; row * HEIGHT as usize];
                let region = CopyRegion {
                    aspect,
                    level: 0,
                    origin: [0, 0, layer],
                    size: [WIDTH, HEIGHT, 1],
                };
                t.read(&region, &mut bytes, row, HEIGHT as usize).expect("reads");
                out.push(bytes);
            }
        };
        let mut out = Vec::new();
        read(if multisampled { &resolved } else { &color }, Aspect::All, &mut out);
        if let Some((t, resolved)) = &depth {
            let t = if multisampled { resolved } else { t };
            read(t, Aspect::Depth, &mut out);
            read(t, Aspect::Stencil, &mut out);
        }
        (out, pipelines.iter().filter(|p| p.is_none()).count())
    }
}

impl Recipe {
    fn build(&self, executor: &dyn Executor) -> Result<RenderPipeline, PipelineError> {
        let attribute = |offset, shader_location| VertexAttribute {
            format: VertexFormat::Float32x4,
            offset,
            shader_location,
        };
        RenderPipeline::new(
            executor,
            &PipelineDescriptor {
                label: "random",
                vertex: &self.vertex,
                buffers: &[VertexBufferLayout {
                    array_stride: 32,
                    step_mode: VertexStepMode::Vertex,
                    attributes: vec![attribute(0, 0), attribute(16, 1)],
                }],
                fragment: self.fragment.as_ref(),
                targets: &[Some(self.target)],
                primitive: self.primitive,
                depth_stencil: self.depth_stencil,
                multisample: self.multisample,
                rules: self.rules,
                extended: self.extended,
            },
        )
    }
}

fn modules() -> [Module; 3] {
    [("vec4f", "1.0"), ("vec4u", "200.0"), ("vec4i", "100.0")].map(|(ty, scale)| {
        let text = SHADER.replace("TYPE", ty).replace("SCALE", scale);
        Module::parse("pipelines.wgsl", &text).unwrap_or_else(|e| panic!("{e}"))
    })
}

fn same(seeds: std::ops::Range<u64>) {
    let modules = modules();
    let (mut refused, mut calls, mut drawn) = (0, 0, 0);
    for seed in seeds {
        let scene = scene(seed, &modules);
        let expected = scene.render(&Interpreter, 1, &PassOptions::default());
        for (lanes, threads, rounds) in [(Lanes::Auto, 1, false), (Lanes::Four, 2, true)] {
            let jit = Jit::new(JitOptions {
                lanes,
                ..JitOptions::default()
            })
            .expect("a back end");
            let options = PassOptions {
                bin_budget: if rounds { 0 } else { usize::MAX },
                chunk_primitives: if rounds { 3 } else { 4096 },
                hierarchical_depth: !rounds,
                ..PassOptions::default()
            };
            let native = scene.render(&jit, threads, &options);
            assert!(
                native == expected,
                "seed {seed}, {lanes:?} lanes, {} samples of {:?} and {:?}: {:?}",
                scene.samples,
                scene.color,
                scene.depth,
                scene
                    .calls
                    .iter()
                    .map(|c| (&c.recipe.primitive, &c.recipe.extended))
                    .collect::<Vec<_>>()
            );
        }
        refused += expected.1;
        calls += scene.calls.len();
        // Something of it can be seen.
        let first = &expected.0[0];
        let texel = first.len() / (WIDTH * HEIGHT) as usize;
        drawn += usize::from(first.chunks(texel).any(|t| t != &first[..texel]));
    }
    assert!(refused * 3 < calls, "{refused} of {calls} pipelines are refused");
    assert!(drawn * 4 > calls / 3, "only {drawn} images show anything");
}

#[test]
fn random_pipelines_are_the_same_on_every_executor() {
    same(0..80);
}

#[test]
fn more_random_pipelines_are_the_same_on_every_executor() {
    same(80..160);
}
