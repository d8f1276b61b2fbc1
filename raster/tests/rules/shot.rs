//! One draw by shaders in WGSL, 16x16 pixels of rgba32float: for what takes more than the fixed shaders of `support`.
//!
//! Vertices are three vectors: `@location(0) p`, the clip position, `@location(1) a` and `@location(2) b`. Outputs and
//! inputs that WGSL can't name are user variables renamed to built-ins.

use quadrille_frontend::ir::{Builtin, Semantic, Shader, Stage};
use quadrille_frontend::wgsl::Module;
use quadrille_jit::native::{Jit, JitOptions};
use quadrille_jit::{Executor, interp::Interpreter};
use quadrille_raster::format::TextureFormat;
use quadrille_raster::geometry::{Rect, Viewport};
use quadrille_raster::pass::{
    ColorAttachment, DepthStencilAttachment, Draw, Indices, LoadOp, Pass, PassMemory, PassOptions, PassStats, execute,
};
use quadrille_raster::pipeline::{
    ColorTargetState, CompareFunction, DepthStencilState, ExtendedState, IndexFormat, MultisampleState,
    PipelineDescriptor, PipelineError, PrimitiveState, RenderPipeline, VertexAttribute, VertexBufferLayout,
    VertexStepMode,
};
use quadrille_raster::pool::Pool;
use quadrille_raster::texture::{MemoryBudget, Texture, TextureDescriptor, TextureView};
use quadrille_raster::vertex::VertexFormat;
use std::sync::Arc;

use super::support::SIZE;

/// Position, a, b.
pub type Vertex3 = [[f32; 4]; 3];

/// A draw and its target.
#[derive(Clone, Debug)]
pub struct Shot {
    /// WGSL with `vs` and `fs`.
    pub shader: String,
    pub vertices: Vec<Vertex3>,
    pub indices: Option<Vec<u16>>,
    /// Variables that are built-ins, in both stages.
    pub renamed: Vec<(&'static str, Builtin)>,
    pub primitive: PrimitiveState,
    pub extended: ExtendedState,
    pub samples: u32,
    pub sample_mask: u32,
    pub layers: u32,
    pub viewport: Viewport,
    pub scissor: Rect,
    pub more: Vec<(Viewport, Rect)>,
    /// depth32float, cleared to this, tested and written.
    pub depth: Option<(f32, CompareFunction)>,
    pub bias: i32,
}

/// The whole target.
pub const WHOLE: Viewport = Viewport {
    x: 0.0,
    y: 0.0,
    width: SIZE as f32,
    height: SIZE as f32,
    min_depth: 0.0,
    max_depth: 1.0,
};

/// The whole target.
pub const EVERYWHERE: Rect = Rect {
    x0: 0,
    y0: 0,
    x1: SIZE as i32,
    y1: SIZE as i32,
};

/// A vertex shader that hands a on and a fragment shader that shows it.
pub const SHOW_A: &str = "
struct Out { @builtin(position) p: vec4f, @location(0) @interpolate(flat) a: vec4f }
@vertex fn vs(@location(0) p: vec4f, @location(1) a: vec4f, @location(2) b: vec4f) -> Out { return Out(p, a); }
@fragment fn fs(@location(0) @interpolate(flat) a: vec4f) -> @location(0) vec4f { return a; }
";

/// Pixels by layer, row by row; -1 where nothing was drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct Picture {
    pub layers: Vec<Vec<[f32; 4]>>,
    pub depth: Vec<f32>,
}

impl Picture {
    /// First component of layer 0.
    pub fn at(&self, x: usize, y: usize) -> f32 {
        self.layers[0][y * SIZE as usize + x][0]
    }

    /// All components.
    pub fn rgba(&self, x: usize, y: usize) -> [f32; 4] {
        self.layers[0][y * SIZE as usize + x]
    }

    /// Pixels of a layer that were drawn, row by row.
    pub fn drawn(&self, layer: usize) -> Vec<(usize, usize)> {
        let size = SIZE as usize;
        (0..size * size)
            .filter(|&i| self.layers[layer][i][0] != -1.0)
            .map(|i| (i % size, i / size))
            .collect()
    }
}

impl Shot {
    pub fn new(shader: &str, vertices: Vec<Vertex3>) -> Shot {
        Shot {
            shader: shader.into(),
            vertices,
            indices: None,
            renamed: Vec::new(),
            primitive: PrimitiveState::default(),
            extended: ExtendedState::default(),
            samples: 1,
            sample_mask: u32::MAX,
            layers: 1,
            viewport: WHOLE,
            scissor: EVERYWHERE,
            more: Vec::new(),
            depth: None,
            bias: 0,
        }
    }

    fn stage(&self, module: &Module, entry: &str) -> Shader {
        let mut shader = module.lower(entry, &Default::default()).unwrap();
        let renamed = |name: &str| {
            let builtin = self.renamed.iter().find(|r| r.0 == name).map(|r| r.1);
            builtin.map(Semantic::Builtin)
        };
        for output in &mut shader.outputs {
            if shader.stage == Stage::Vertex
                && let Some(semantic) = renamed(&output.name)
            {
                output.semantic = semantic;
            }
        }
        for (_, input) in shader.inputs.iter_mut() {
            if shader.stage == Stage::Fragment
                && let Some(semantic) = renamed(&input.name)
            {
                input.semantic = semantic;
            }
        }
        shader
    }

    /// Its pipeline.
    pub fn pipeline(&self, executor: &dyn Executor) -> Result<RenderPipeline, PipelineError> {
        let module = Module::parse("shot.wgsl", &self.shader).unwrap_or_else(|e| panic!("{e}"));
        let attribute = |n: u32| VertexAttribute {
            format: VertexFormat::Float32x4,
            offset: u64::from(n) * 16,
            shader_location: n,
        };
        let depth_stencil = self.depth.map(|(_, depth_compare)| DepthStencilState {
            depth_write_enabled: true,
            depth_compare,
            depth_bias: self.bias,
            ..DepthStencilState::new(TextureFormat::Depth32Float)
        });
        RenderPipeline::new(
            executor,
            &PipelineDescriptor {
                label: "shot",
                vertex: &self.stage(&module, "vs"),
                buffers: &[VertexBufferLayout {
                    array_stride: 48,
                    step_mode: VertexStepMode::Vertex,
                    attributes: (0..3).map(attribute).collect(),
                }],
                fragment: Some(&self.stage(&module, "fs")),
                targets: &[Some(ColorTargetState::new(TextureFormat::Rgba32Float))],
                primitive: self.primitive,
                depth_stencil,
                multisample: MultisampleState {
                    count: self.samples,
                    mask: self.sample_mask,
                    alpha_to_coverage_enabled: false,
                },
                rules: Default::default(),
                extended: self.extended,
            },
        )
    }

    /// Renders on both executors, which must agree.
    pub fn render(&self) -> Picture {
        self.render_and_count().0
    }

    /// The same, with what native code's pass counted.
    pub fn render_and_count(&self) -> (Picture, PassStats) {
        let (expected, _) = self.render_with(&Interpreter, 1);
        let (native, stats) = self.render_with(&Jit::new(JitOptions::default()).unwrap(), 2);
        assert_eq!(expected, native, "interpreter and native code differ");
        (native, stats)
    }

    fn render_with(&self, executor: &dyn Executor, threads: usize) -> (Picture, PassStats) {
        let budget = MemoryBudget::new(1 << 30);
        let texture = |format, samples| {
            let d = TextureDescriptor {
                samples,
                depth_or_layers: self.layers,
                ..TextureDescriptor::new_2d(format, SIZE, SIZE)
            };
            Texture::new(&d, &budget).unwrap()
        };
        let whole = |t: &Arc<Texture>| TextureView::whole(t).unwrap();
        let color = texture(TextureFormat::Rgba32Float, self.samples);
        let resolved = texture(TextureFormat::Rgba32Float, 1);
        let depth = self
            .depth
            .map(|d| (texture(TextureFormat::Depth32Float, self.samples), d.0));
        let pipeline = Arc::new(self.pipeline(executor).unwrap());
        let bytes: Vec<u8> = self
            .vertices
            .iter()
            .flatten()
            .flatten()
            .flat_map(|v| v.to_le_bytes())
            .collect();
        let buffers = [Some(&bytes[..])];
        let indices: Vec<u8> = self.indices.iter().flatten().flat_map(|i| i.to_le_bytes()).collect();
        let pass = Pass {
            label: "shot",
            color: vec![Some(ColorAttachment {
                view: whole(&color),
                slice: 0,
                resolve: (self.samples > 1).then(|| whole(&resolved)),
                resolve_mode: Default::default(),
                load: LoadOp::Clear([-1.0; 4]),
                store: true,
            })],
            depth_stencil: depth.as_ref().map(|(t, clear)| DepthStencilAttachment {
                view: whole(t),
                depth_load: LoadOp::Clear(*clear),
                depth_store: true,
                depth_read_only: false,
                stencil_load: LoadOp::Load,
                stencil_store: true,
                stencil_read_only: false,
                resolve: None,
                depth_resolve_mode: Default::default(),
                stencil_resolve_mode: Default::default(),
            }),
            draws: vec![Draw {
                pipeline: &pipeline,
                resources: &[],
                vertex_buffers: &buffers,
                indices: self.indices.as_ref().map(|_| Indices {
                    bytes: &indices,
                    format: IndexFormat::Uint16,
                }),
                first: 0,
                count: self.indices.as_ref().map_or(self.vertices.len(), Vec::len) as u32,
                base_vertex: 0,
                first_instance: 0,
                instance_count: 1,
                viewport: self.viewport,
                scissor: self.scissor,
                more_viewports: &self.more,
                stencil_reference: 0,
                blend_constant: [0.0; 4],
                counter: None,
            }],
        };
        let stats = execute(
            &Pool::new(threads),
            &PassMemory::default(),
            &pass,
            &PassOptions::default(),
        )
        .unwrap();
        drop(pass);
        let floats = |bytes: Vec<u8>| -> Vec<f32> {
            let (words, _) = bytes.as_chunks::<4>();
            words.iter().map(|w| f32::from_le_bytes(*w)).collect()
        };
        let shown = if self.samples > 1 { &resolved } else { &color };
        let layers = (0..self.layers)
            .map(|layer| floats(shown.read_level(0, layer).unwrap()).as_chunks::<4>().0.to_vec())
            .collect();
        let depth = match &depth {
            Some((t, _)) if self.samples == 1 => floats(t.read_level(0, 0).unwrap()),
            _ => Vec::new(),
        };
        (Picture { layers, depth }, stats)
    }
}
