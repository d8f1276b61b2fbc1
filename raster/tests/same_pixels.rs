//! What may save work but must not change a pixel: hierarchical depth (law R5), rounds (R4), threads; on random scenes.

use quadrille_frontend::ir::Shader;
use quadrille_frontend::wgsl::Module;
use quadrille_jit::native::{Jit, JitOptions};
use quadrille_raster::format::{Aspect, TextureFormat};
use quadrille_raster::geometry::{Rect, Viewport};
use quadrille_raster::pass::{
    ColorAttachment, DepthStencilAttachment, Draw, DrawCounters, LoadOp, Pass, PassMemory, PassOptions, PassStats,
    execute,
};
use quadrille_raster::pipeline::*;
use quadrille_raster::pool::Pool;
use quadrille_raster::texture::{CopyRegion, MemoryBudget, ResolveMode, Texture, TextureDescriptor, TextureView};
use quadrille_raster::vertex::VertexFormat;
use std::sync::Arc;

/// Several tiles, the last ones not whole.
const WIDTH: u32 = 150;
const HEIGHT: u32 = 100;

const SHADERS: &str = "
struct V { @builtin(position) p: vec4f, @location(0) c: vec4f, @location(1) @interpolate(flat, first) k: vec4f }
struct Two { @location(0) a: vec4f, @location(1) b: vec4f }
@vertex fn vs(@location(0) p: vec4f, @location(1) c: vec4f) -> V { return V(p, c, c.wzyx); }
@fragment fn color(v: V) -> Two { return Two(v.c, v.k + vec4f(fract(v.p.xy * 0.37), v.p.z, v.p.w)); }
@fragment fn slopes(v: V) -> Two {
    var s = 0.0;
    for (var i = 0; i < 5; i++) { s = fract(s * 3.7 + v.c.x); }
    return Two(vec4f(abs(dpdx(v.c.xy)) * 9.0, fwidth(s), v.c.w), vec4f(dpdy(v.p.x * v.c.z), dpdx(v.k.x), s, 1.0));
}
@fragment fn first(v: V) -> @location(0) vec4f { return v.c * v.c; }
@fragment fn holes(v: V) -> Two {
    let s = fract(v.c.x * 7.0 + v.c.y * 5.0);
    if s < 0.4 { discard; }
    return Two(vec4f(s), vec4f(dpdx(s), v.c.xyz));
}
struct Deep { @location(0) a: vec4f, @location(1) b: vec4f, @builtin(frag_depth) d: f32 }
@fragment fn deep(v: V) -> Deep { return Deep(v.c, v.k, fract(v.c.y * 3.0)); }
struct Masked { @location(0) a: vec4f, @location(1) b: vec4f, @builtin(sample_mask) m: u32 }
@fragment fn masked(v: V) -> Masked { return Masked(v.c, v.k, u32(v.p.x) ^ u32(v.p.y)); }
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

struct Call {
    pipeline: usize,
    vertices: Vec<u8>,
    count: u32,
    depth_range: [f32; 2],
    scissor: Rect,
    stencil: u32,
    counter: Option<u32>,
}

struct Scene {
    samples: u32,
    depth: TextureFormat,
    depth_clear: f32,
    pipelines: Vec<Arc<RenderPipeline>>,
    calls: Vec<Call>,
}

const COLORS: [TextureFormat; 2] = [TextureFormat::Rgba8Unorm, TextureFormat::Rgba16Float];

fn stencil_face(r: &mut Random) -> StencilFaceState {
    use CompareFunction::{Always, Equal, NotEqual};
    use StencilOperation::{IncrementWrap, Invert, Keep, Replace, Zero};
    let op = |r: &mut Random| r.pick(&[Keep, Keep, Keep, Replace, Zero, IncrementWrap, Invert]);
    StencilFaceState {
        compare: r.pick(&[Always, Always, Equal, NotEqual]),
        fail_op: op(r),
        depth_fail_op: op(r),
        pass_op: op(r),
    }
}

fn pipeline(r: &mut Random, jit: &Jit, module: &Module, scene: (TextureFormat, u32)) -> RenderPipeline {
    use CompareFunction::*;
    let (depth, samples) = scene;
    let entry = r.pick(&[
        "", "color", "color", "slopes", "slopes", "first", "holes", "deep", "masked",
    ]);
    let vertex = module.lower("vs", &Default::default()).expect("lowers");
    let fragment = (!entry.is_empty()).then(|| module.lower(entry, &Default::default()).expect("lowers"));
    let mut state = DepthStencilState::new(depth);
    state.depth_compare = r.pick(&[
        Less,
        Less,
        Less,
        LessEqual,
        LessEqual,
        Greater,
        GreaterEqual,
        Always,
        NotEqual,
        Equal,
    ]);
    state.depth_write_enabled = !r.once_in(4);
    if depth.info().stencil && r.once_in(3) {
        state.stencil_front = stencil_face(r);
        state.stencil_back = if r.once_in(2) {
            state.stencil_front
        } else {
            stencil_face(r)
        };
        state.stencil_write_mask = r.pick(&[0xff, 0x0f, 0]);
    }
    if r.once_in(4) {
        state.depth_bias = r.below(2000) as i32 - 1000;
        state.depth_bias_slope_scale = r.f32(-2.0, 2.0);
    }
    let mut targets = COLORS.map(|f| Some(ColorTargetState::new(f)));
    if r.once_in(4) {
        let over = BlendComponent {
            operation: BlendOperation::Add,
            src_factor: BlendFactor::SrcAlpha,
            dst_factor: BlendFactor::OneMinusSrcAlpha,
        };
        targets[0].as_mut().expect("a target").blend = Some(BlendState {
            color: over,
            alpha: over,
        });
    }
    if r.once_in(6) {
        targets[1].as_mut().expect("a target").write_mask = r.below(16) as u8;
    }
    let desc = PipelineDescriptor {
        label: entry,
        vertex: &vertex,
        buffers: &[layout()],
        fragment: fragment.as_ref(),
        targets: &targets,
        primitive: PrimitiveState {
            topology: r.pick(&[
                PrimitiveTopology::TriangleList,
                PrimitiveTopology::TriangleList,
                PrimitiveTopology::TriangleStrip,
            ]),
            ..PrimitiveState::default()
        },
        depth_stencil: Some(state),
        rules: Rules::default(),
        extended: ExtendedState::default(),
        multisample: MultisampleState {
            count: samples,
            mask: r.pick(&[u32::MAX, u32::MAX, 0b0101]),
            alpha_to_coverage_enabled: samples > 1 && fragment.is_some() && r.once_in(6),
        },
    };
    RenderPipeline::new(jit, &desc).expect("a pipeline")
}

const ATTRIBUTES: [VertexAttribute; 2] = [
    VertexAttribute {
        format: VertexFormat::Float32x4,
        offset: 0,
        shader_location: 0,
    },
    VertexAttribute {
        format: VertexFormat::Float32x4,
        offset: 16,
        shader_location: 1,
    },
];

fn layout() -> VertexBufferLayout {
    VertexBufferLayout {
        array_stride: 32,
        step_mode: VertexStepMode::Vertex,
        attributes: ATTRIBUTES.to_vec(),
    }
}

fn compile(
    jit: &Jit,
    vertex: &Shader,
    fragment: Option<&Shader>,
    state: DepthStencilState,
    samples: u32,
) -> RenderPipeline {
    let desc = PipelineDescriptor {
        label: "plain",
        vertex,
        buffers: &[layout()],
        fragment,
        targets: &COLORS.map(|f| Some(ColorTargetState::new(f))),
        primitive: PrimitiveState::default(),
        depth_stencil: Some(state),
        rules: Rules::default(),
        extended: ExtendedState::default(),
        multisample: MultisampleState {
            count: samples,
            ..MultisampleState::default()
        },
    };
    RenderPipeline::new(jit, &desc).expect("a pipeline")
}

/// Triangles of all sizes: tilted ones, and stacks of flat ones that hide one another.
fn vertices(r: &mut Random, triangles: u32) -> Vec<u8> {
    let mut out = Vec::new();
    let flat = r.once_in(2).then(|| r.f32(0.0, 1.0));
    for _ in 0..triangles {
        let size = r.pick(&[0.05, 0.2, 1.0, 4.0]);
        let (x, y) = (r.f32(-1.1, 1.1), r.f32(-1.1, 1.1));
        for _ in 0..3 {
            let w = if r.once_in(3) { r.f32(0.3, 2.0) } else { 1.0 };
            let z = flat.unwrap_or_else(|| r.f32(-0.05, 1.05));
            let p = [x + r.f32(-size, size), y + r.f32(-size, size), z, 1.0];
            out.extend(p.map(|v| v * w));
            out.extend([0; 4].map(|_| r.f32(0.0, 1.0)));
        }
    }
    out.into_iter().flat_map(f32::to_le_bytes).collect()
}

fn scene(seed: u64, jit: &Jit, module: &Module) -> Scene {
    let mut r = Random(seed);
    r.bits();
    let depth = r.pick(&[
        TextureFormat::Depth32Float,
        TextureFormat::Depth32Float,
        TextureFormat::Depth24PlusStencil8,
        TextureFormat::Depth32FloatStencil8,
        TextureFormat::Depth16Unorm,
    ]);
    let samples = r.pick(&[1, 1, 1, 1, 4, 2, 8, 16]);
    let pipelines: Vec<_> = (0..5)
        .map(|_| Arc::new(pipeline(&mut r, jit, module, (depth, samples))))
        .collect();
    let calls = (0..40)
        .map(|_| {
            let triangles = r.pick(&[1, 2, 8, 60]);
            let mut scissor = Rect {
                x0: 0,
                y0: 0,
                x1: WIDTH as i32,
                y1: HEIGHT as i32,
            };
            if r.once_in(4) {
                (scissor.x0, scissor.y0) = (r.below(70) as i32, r.below(50) as i32);
                (scissor.x1, scissor.y1) = (scissor.x0 + r.below(80) as i32, scissor.y0 + r.below(50) as i32);
            }
            Call {
                pipeline: r.below(pipelines.len() as u32) as usize,
                vertices: vertices(&mut r, triangles),
                count: triangles * 3,
                depth_range: r.pick(&[[0.0, 1.0], [0.0, 1.0], [0.25, 0.75], [0.5, 0.5]]),
                scissor,
                stencil: r.below(3),
                counter: None,
            }
        })
        .collect();
    Scene {
        samples,
        depth,
        depth_clear: r.pick(&[1.0, 1.0, 0.5, 0.0]),
        pipelines,
        calls,
    }
}

impl Scene {
    /// The same with a counter for every draw, and one for two draws.
    fn counted(&self) -> Scene {
        let calls = (0..).zip(&self.calls).map(|(i, c): (u32, &Call)| Call {
            counter: Some(i / 2 * 2),
            vertices: c.vertices.clone(),
            ..*c
        });
        Scene {
            calls: calls.collect(),
            pipelines: self.pipelines.clone(),
            ..*self
        }
    }

    /// Every attachment's texels; of multisampled ones the resolved ones.
    fn render(&self, pool: &Pool, memory: &PassMemory, options: &PassOptions<'_>) -> (Vec<Vec<u8>>, PassStats) {
        let budget = MemoryBudget::new(1 << 30);
        let texture = |format, samples| {
            let d = TextureDescriptor {
                samples,
                ..TextureDescriptor::new_2d(format, WIDTH, HEIGHT)
            };
            Texture::new(&d, &budget).expect("a texture")
        };
        let whole = |t: &Arc<Texture>| TextureView::whole(t).expect("a view");
        let multisampled = self.samples > 1;
        let colors = COLORS.map(|f| texture(f, self.samples));
        let resolved = COLORS.map(|f| texture(f, 1));
        let depth = texture(self.depth, self.samples);
        let depth_resolved = texture(self.depth, 1);
        let buffers: Vec<[Option<&[u8]>; 1]> = self.calls.iter().map(|c| [Some(&c.vertices[..])]).collect();
        let pass = Pass {
            label: "scene",
            color: (0..COLORS.len())
                .map(|i| {
                    Some(ColorAttachment {
                        view: whole(&colors[i]),
                        slice: 0,
                        resolve: multisampled.then(|| whole(&resolved[i])),
                        resolve_mode: ResolveMode::Average,
                        load: LoadOp::Clear([0.125, 0.25, 0.5, 1.0]),
                        store: true,
                    })
                })
                .collect(),
            depth_stencil: Some(DepthStencilAttachment {
                view: whole(&depth),
                depth_load: LoadOp::Clear(self.depth_clear),
                depth_store: true,
                depth_read_only: false,
                stencil_load: LoadOp::Clear(1),
                stencil_store: true,
                stencil_read_only: false,
                resolve: multisampled.then(|| whole(&depth_resolved)),
                depth_resolve_mode: ResolveMode::Max,
                stencil_resolve_mode: ResolveMode::SampleZero,
            }),
            draws: self
                .calls
                .iter()
                .zip(&buffers)
                .map(|(c, buffer)| Draw {
                    pipeline: &self.pipelines[c.pipeline],
                    resources: &[],
                    vertex_buffers: buffer,
                    indices: None,
                    first: 0,
                    count: c.count,
                    base_vertex: 0,
                    first_instance: 0,
                    instance_count: 1,
                    viewport: Viewport {
                        x: 0.0,
                        y: 0.0,
                        width: WIDTH as f32,
                        height: HEIGHT as f32,
                        min_depth: c.depth_range[0],
                        max_depth: c.depth_range[1],
                    },
                    scissor: c.scissor,
                    stencil_reference: c.stencil,
                    blend_constant: [0.0; 4],
                    counter: c.counter,
                    more_viewports: &[],
                })
                .collect(),
        };
        let stats = execute(pool, memory, &pass, options).expect("executes");
        drop(pass);
        let read = |t: &Texture, aspect: Aspect| {
            let format = t.format().aspect_format(aspect)?;
            let row = (WIDTH * format.info().bytes) as usize;
            let mut out = vec![0; row * HEIGHT as usize];
            let region = CopyRegion {
                aspect,
                level: 0,
                origin: [0; 3],
                size: [WIDTH, HEIGHT, 1],
            };
            t.read(&region, &mut out, row, HEIGHT as usize).expect("reads");
            Some(out)
        };
        let mut out = Vec::new();
        for color in if multisampled { &resolved } else { &colors } {
            out.extend(read(color, Aspect::All));
        }
        let depth = if multisampled { &depth_resolved } else { &depth };
        out.extend(read(depth, Aspect::Depth));
        out.extend(read(depth, Aspect::Stencil));
        (out, stats)
    }
}

/// Numbers of a draw that everything of is seen, and of one behind it.
#[test]
fn draws_count_into_their_counter() {
    let jit = Jit::new(JitOptions::default()).expect("a back end");
    let module = Module::parse("scenes.wgsl", SHADERS).expect("parses");
    for samples in [1, 4] {
        let vertex = module.lower("vs", &Default::default()).expect("lowers");
        let fragment = module.lower("color", &Default::default()).expect("lowers");
        let mut state = DepthStencilState::new(TextureFormat::Depth32Float);
        state.depth_compare = CompareFunction::Less;
        state.depth_write_enabled = true;
        let pipeline = compile(&jit, &vertex, Some(&fragment), state, samples);
        let corners = [
            [-1.0, -1.0],
            [1.0, -1.0],
            [-1.0, 1.0],
            [-1.0, 1.0],
            [1.0, -1.0],
            [1.0, 1.0f32],
        ];
        let call = |z: f32, counter: Option<u32>| Call {
            pipeline: 0,
            vertices: corners
                .iter()
                .flat_map(|&[x, y]| [x, y, z, 1.0, 0.5, 0.5, 0.5, 0.5])
                .flat_map(f32::to_le_bytes)
                .collect(),
            count: 6,
            depth_range: [0.0, 1.0],
            scissor: Rect {
                x0: 0,
                y0: 0,
                x1: 100,
                y1: HEIGHT as i32,
            },
            stencil: 0,
            counter,
        };
        let scene = Scene {
            samples,
            depth: TextureFormat::Depth32Float,
            depth_clear: 1.0,
            pipelines: vec![Arc::new(pipeline)],
            // The second is hidden, the third beyond the far plane.
            calls: vec![
                call(0.5, Some(2)),
                call(0.75, Some(0)),
                call(0.25, None),
                call(1.5, Some(0)),
            ],
        };
        let (pool, memory) = (Pool::new(2), PassMemory::default());
        let pixels = u64::from(100 * HEIGHT);
        let geometry = DrawCounters {
            vertices: 6,
            primitives: 2,
            vertex_invocations: 6,
            clipper_invocations: 2,
            clipper_primitives: 2,
            ..DrawCounters::default()
        };
        let mut hidden = geometry;
        hidden.add(&DrawCounters {
            clipper_primitives: 0,
            ..geometry
        });
        for hierarchical_depth in [true, false] {
            let options = PassOptions {
                hierarchical_depth,
                ..PassOptions::default()
            };
            let (_, stats) = scene.render(&pool, &memory, &options);
            let seen = DrawCounters {
                samples_passed: pixels * u64::from(samples),
                fragment_invocations: pixels,
                ..geometry
            };
            let mut counters = stats.counters;
            if samples > 1 {
                // Pixels on the diagonal belong to both triangles.
                let invocations = &mut counters[2].fragment_invocations;
                assert!((pixels + 50..pixels + 150).contains(invocations));
                *invocations = pixels;
            }
            assert_eq!(counters, [hidden, DrawCounters::default(), seen]);
        }
    }
}

/// Law R5: images are the same with and without; and it does save work.
#[test]
fn hierarchical_depth_changes_no_pixel() {
    let jit = Jit::new(JitOptions::default()).expect("a back end");
    let module = Module::parse("scenes.wgsl", SHADERS).expect("parses");
    let (pool, memory) = (Pool::new(2), PassMemory::default());
    let (mut pairs, mut all_pairs, mut passed) = (0, 0, 0);
    for seed in 0..40 {
        let scene = scene(seed, &jit, &module);
        let off = PassOptions {
            hierarchical_depth: false,
            ..PassOptions::default()
        };
        let (expected, all) = scene.render(&pool, &memory, &off);
        let counted = scene.counted();
        let (image, stats) = counted.render(&pool, &memory, &off);
        assert!(image == expected, "seed {seed}: counting changes pixels");
        let counters = stats.counters;
        passed += counters.iter().map(|c| c.samples_passed).sum::<u64>();
        for options in [
            PassOptions::default(),
            PassOptions {
                bin_budget: 0,
                chunk_primitives: 40,
                ..PassOptions::default()
            },
        ] {
            let (image, stats) = scene.render(&pool, &memory, &options);
            assert!(image == expected, "seed {seed}, {options:?}");
            assert_eq!(stats.rounds > 1, options.bin_budget == 0, "law R4 at work");
            assert_eq!((stats.primitives, stats.drawn), (all.primitives, all.drawn));
            let (image, s) = counted.render(&pool, &memory, &options);
            assert!(image == expected, "seed {seed}, {options:?}");
            // Chunks shade the vertices that they share, each for itself; rounds change no counter.
            let one_round = PassOptions {
                bin_budget: usize::MAX,
                hierarchical_depth: false,
                ..options
            };
            let (_, one_round) = counted.render(&pool, &memory, &one_round);
            assert_eq!(s.counters, one_round.counters, "seed {seed}, {options:?}");
            let but_vertices = |c: &DrawCounters| DrawCounters {
                vertex_invocations: 0,
                ..*c
            };
            assert!(
                s.counters
                    .iter()
                    .map(but_vertices)
                    .eq(counters.iter().map(but_vertices))
            );
            pairs += stats.pairs;
            all_pairs += all.pairs;
        }
    }
    assert!(passed > 1_000_000, "{passed} samples pass");
    assert!(pairs * 20 < all_pairs * 19, "{pairs} of {all_pairs} pairs are left");
}
