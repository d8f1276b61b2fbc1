//! The whole pipeline from WGSL to texels: one triangle, on every executor.

use quadrille_frontend::ir::{ResourceClass, SampleKind};
use quadrille_frontend::wgsl::Module;
use quadrille_jit::Executor;
use quadrille_jit::interp::Interpreter;
use quadrille_jit::native::{Jit, JitOptions, Lanes};
use quadrille_raster::format::TextureFormat;
use quadrille_raster::geometry::{Rect, Viewport};
use quadrille_raster::pass::{ColorAttachment, Draw, LoadOp, Pass, PassMemory, PassOptions, execute};
use quadrille_raster::pipeline::{
    ColorTargetState, MultisampleState, PipelineDescriptor, PrimitiveState, RenderPipeline,
};
use quadrille_raster::pool::Pool;
use quadrille_raster::texture::{MemoryBudget, ResolveMode, Texture, TextureDescriptor, TextureView};
use std::sync::Arc;

const SHADER: &str = "
struct Out { @builtin(position) pos: vec4f, @location(0) color: vec3f }
@vertex fn vs(@builtin(vertex_index) i: u32) -> Out {
    var p = array(vec2f(0.0, 0.8), vec2f(-0.8, -0.7), vec2f(0.8, -0.7));
    var c = array(vec3f(1.0, 0.2, 0.1), vec3f(0.1, 0.9, 0.2), vec3f(0.1, 0.3, 1.0));
    return Out(vec4f(p[i], 0.0, 1.0), c[i]);
}
@fragment fn fs(v: Out) -> @location(0) vec4f {
    return vec4f(v.color, 1.0);
}";

fn render(executor: &dyn Executor, threads: usize) -> Vec<u8> {
    let module = Module::parse("triangle.wgsl", SHADER).expect("parses");
    let vertex = module.lower("vs", &Default::default()).expect("lowers");
    let fragment = module.lower("fs", &Default::default()).expect("lowers");
    let pipeline = RenderPipeline::new(
        executor,
        &PipelineDescriptor {
            label: "triangle",
            vertex: &vertex,
            buffers: &[],
            fragment: Some(&fragment),
            targets: &[Some(ColorTargetState::new(TextureFormat::Rgba8Unorm))],
            primitive: PrimitiveState::default(),
            depth_stencil: None,
            multisample: MultisampleState::default(),
            rules: Default::default(),
            extended: Default::default(),
        },
    )
    .expect("a pipeline");
    let pipeline = Arc::new(pipeline);
    let budget = MemoryBudget::new(1 << 30);
    let texture =
        Texture::new(&TextureDescriptor::new_2d(TextureFormat::Rgba8Unorm, 256, 256), &budget).expect("a texture");
    let pass = Pass {
        label: "main",
        color: vec![Some(ColorAttachment {
            view: TextureView::whole(&texture).expect("a view"),
            slice: 0,
            resolve: None,
            resolve_mode: ResolveMode::Average,
            load: LoadOp::Clear([0.0, 0.0, 0.25, 1.0]),
            store: true,
        })],
        depth_stencil: None,
        draws: vec![Draw {
            pipeline: &pipeline,
            resources: &[],
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
                width: 256.0,
                height: 256.0,
                min_depth: 0.0,
                max_depth: 1.0,
            },
            scissor: Rect {
                x0: 0,
                y0: 0,
                x1: 256,
                y1: 256,
            },
            more_viewports: &[],
            stencil_reference: 0,
            blend_constant: [0.0; 4],
            counter: None,
        }],
    };
    execute(
        &Pool::new(threads),
        &PassMemory::default(),
        &pass,
        &PassOptions::default(),
    )
    .expect("executes");
    drop(pass);
    texture.read_level(0, 0).expect("reads")
}

#[test]
fn a_triangle_is_drawn() {
    let image = render(&Interpreter, 1);
    let at = |x: usize, y: usize| <[u8; 4]>::try_from(&image[(y * 256 + x) * 4..][..4]).unwrap();
    assert_eq!(at(5, 5), [0, 0, 64, 255]);
    let [r, g, b, a] = at(128, 140);
    assert!(r > 80 && g > 80 && b > 80 && a == 255, "{r} {g} {b} {a}");
    assert_eq!(image, render(&Interpreter, 2));
    for lanes in [Lanes::Four, Lanes::Eight] {
        let jit = Jit::new(JitOptions {
            lanes,
            ..JitOptions::default()
        })
        .expect("a JIT");
        assert_eq!(image, render(&jit, 2));
    }
}

/// One binding, loaded by the vertex stage and filtered by the fragment stage: the pipeline asks for the stronger of
/// the two, whichever stage that is; different shapes are an error that names both.
#[test]
fn stages_may_use_a_texture_in_different_ways() {
    let shader = |vertex: &str, fragment: &str| {
        format!(
            "@group(0) @binding(0) var a: texture_2d<f32>;
             @group(0) @binding(1) var s: sampler;
             @group(0) @binding(2) var b: texture_2d<f32>;
             @group(0) @binding(0) var c: texture_cube<f32>;
             @vertex fn vs() -> @builtin(position) vec4f {{ return {vertex}; }}
             @fragment fn fs(@builtin(position) p: vec4f) -> @location(0) vec4f {{ return {fragment}; }}"
        )
    };
    let build = |text: &str| {
        let module = Module::parse("t.wgsl", text).expect("parses");
        let vertex = module.lower("vs", &Default::default()).expect("lowers");
        let fragment = module.lower("fs", &Default::default()).expect("lowers");
        RenderPipeline::new(
            &Interpreter,
            &PipelineDescriptor {
                label: "t",
                vertex: &vertex,
                buffers: &[],
                fragment: Some(&fragment),
                targets: &[Some(ColorTargetState::new(TextureFormat::Rgba8Unorm))],
                primitive: PrimitiveState::default(),
                depth_stencil: None,
                multisample: MultisampleState::default(),
                rules: Default::default(),
                extended: Default::default(),
            },
        )
    };
    let load = "textureLoad(a, vec2i(0), 0)";
    let filter = "textureSampleLevel(a, s, vec2f(0.5), 0.0)";
    for (vertex, fragment) in [(load, filter), (filter, load)] {
        let pipeline = build(&shader(vertex, fragment)).expect("a pipeline");
        let class = &pipeline.slots.iter().find(|s| s.name == "a").expect("the slot").class;
        assert!(
            matches!(
                class,
                ResourceClass::Texture {
                    sample: SampleKind::Float,
                    ..
                }
            ),
            "{class:?}"
        );
    }
    let cube = "textureSampleLevel(c, s, vec3f(0.5), 0.0)";
    let error = build(&shader(load, cube))
        .expect_err("a 2d texture is no cube")
        .to_string();
    assert!(error.contains("'a'") && error.contains("'c'"), "{error}");
}
