//! Small frames: vertices in pixels, a handful of shaders, every attachment read back.

use quadrille_frontend::ir::{
    Access, Arena, AtomicOp, Binding, Builtin, DepthOutput, FunctionBuilder, Handle, Input, Interpolation, Kind, Local,
    Op, OutOfBounds, Output, Resource, ResourceClass, ResourceRef, Sampling, Semantic, Shader, Stage, Value,
};
use quadrille_jit::native::{Jit, JitOptions, Lanes};
use quadrille_jit::{Executor, interp::Interpreter};
use quadrille_raster::format::{Aspect, TextureFormat};
use quadrille_raster::geometry::{Rect, Viewport};
use quadrille_raster::pass::{
    BoundResource, ColorAttachment, DepthStencilAttachment, Draw, Indices, LoadOp, Pass, PassMemory, PassOptions,
    PassStats, WritableBytes, execute,
};
use quadrille_raster::pipeline::{
    ColorTargetState, DepthStencilState, ExtendedState, IndexFormat, MultisampleState, PipelineDescriptor,
    PipelineError, PrimitiveState, RenderPipeline, Rules, VertexAttribute, VertexBufferLayout, VertexStepMode,
};
use quadrille_raster::pool::Pool;
use quadrille_raster::texture::{CopyRegion, MemoryBudget, ResolveMode, Texture, TextureDescriptor, TextureView};
use quadrille_raster::vertex::VertexFormat;
use std::rc::Rc;
use std::sync::Arc;

/// Width and height of all frames.
pub const SIZE: u32 = 16;

/// A vertex: clip position and four attribute words (as f32).
pub type Vertex = ([f32; 4], [f32; 4]);

/// Clip position of a pixel position in the whole-target viewport.
pub fn at(x: f32, y: f32, z: f32) -> [f32; 4] {
    at_w(x, y, z, 1.0)
}

/// The same with a w.
pub fn at_w(x: f32, y: f32, z: f32, w: f32) -> [f32; 4] {
    let half = SIZE as f32 / 2.0;
    [(x / half - 1.0) * w, (1.0 - y / half) * w, z * w, w]
}

/// Two triangles over a rectangle of pixels, clockwise, all with one attribute.
pub fn quad(x0: f32, y0: f32, x1: f32, y1: f32, z: f32, attribute: [f32; 4]) -> Vec<Vertex> {
    [(x0, y0), (x1, y0), (x0, y1), (x0, y1), (x1, y0), (x1, y1)]
        .map(|(x, y)| (at(x, y, z), attribute))
        .to_vec()
}

/// The whole target.
pub fn screen(z: f32, attribute: [f32; 4]) -> Vec<Vertex> {
    quad(0.0, 0.0, SIZE as f32, SIZE as f32, z, attribute)
}

/// What the fragment shader does.
#[derive(Clone, Debug)]
pub enum Fragment {
    /// No fragment shader.
    None,
    /// Location 0 is the attribute.
    Attribute(Interpolation),
    /// These colours at locations 0, 1, ...
    Constants(Vec<[f32; 4]>),
    /// Both sources of dual-source blending.
    Dual([f32; 4], [f32; 4]),
    /// Location 0 is 1 for front faces, else 0.
    Front,
    /// Location 0 is the primitive's index.
    Primitive,
    /// Depth is the attribute's first component, location 0 the attribute.
    Depth,
    /// Location 0 is the fragment position.
    Position,
    /// Location 0 is white where the attribute's first component is at least 0, else discarded.
    Discard,
    /// Whatever it builds.
    Custom(Custom),
}

/// Builds a fragment shader.
#[derive(Clone)]
pub struct Custom(Rc<dyn Fn(&mut Build)>);

impl std::fmt::Debug for Custom {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Custom")
    }
}

/// A fragment shader built by `f`.
pub fn custom(f: impl Fn(&mut Build) + 'static) -> Fragment {
    Fragment::Custom(Custom(Rc::new(f)))
}

/// A component of a location.
pub fn location(location: u32, component: u8) -> Semantic {
    Semantic::Location {
        location,
        component,
        second_source: false,
    }
}

/// An input of f32, unless said otherwise.
fn input(name: &str, semantic: Semantic, kind: Kind, interpolation: Interpolation) -> Input {
    Input {
        name: name.into(),
        semantic,
        kind,
        interpolation,
        sampling: Sampling::Center,
    }
}

/// A shader under construction.
pub struct Build {
    pub b: FunctionBuilder,
    inputs: Arena<Input>,
    outputs: Vec<Output>,
    resources: Arena<Resource>,
    /// `early_depth_stencil` of the shader.
    pub early: bool,
    /// What its depth output promises.
    pub promise: DepthOutput,
}

impl Build {
    fn new(name: &str) -> Build {
        Build {
            b: FunctionBuilder::new(name),
            inputs: Arena::new(),
            outputs: Vec::new(),
            resources: Arena::new(),
            early: false,
            promise: DepthOutput::Any,
        }
    }

    /// Declares an input.
    pub fn declare(
        &mut self,
        semantic: Semantic,
        kind: Kind,
        interpolation: Interpolation,
        sampling: Sampling,
    ) -> Handle<Input> {
        self.inputs.push(Input {
            sampling,
            ..input("input", semantic, kind, interpolation)
        })
    }

    /// A built-in input.
    pub fn builtin(&mut self, builtin: Builtin, kind: Kind) -> Value {
        self.read(Semantic::Builtin(builtin), kind, Interpolation::Flat)
    }

    /// Writes one value to all components of a location.
    pub fn splat(&mut self, to: u32, value: Value) {
        for c in 0..4 {
            self.write(location(to, c), value);
        }
    }

    /// The frame's buffer, for all its shaders (binding 0).
    pub fn buffer(&mut self) -> ResourceRef {
        let resource = self.resources.push(Resource {
            name: "buffer".into(),
            span: None,
            class: ResourceClass::Storage {
                writable: true,
                min_size: 0,
            },
            binding: Binding::WebGpu { group: 0, binding: 0 },
            count: 1,
        });
        ResourceRef {
            resource,
            indexed: false,
        }
    }

    /// Adds 1 to a word of the buffer in the active lanes; gives the old value.
    pub fn count(&mut self, buffer: ResourceRef, word: u32) -> Value {
        let offset = self.b.u32(word * 4);
        let one = self.b.u32(1);
        let op = Op::BufferAtomic {
            buffer,
            op: AtomicOp::Add,
            access: Access {
                bounds: OutOfBounds::Zero,
                align: 4,
            },
        };
        self.b.inst1(op, &[offset, one], Kind::U32)
    }

    /// An input, where it is declared by default.
    pub fn read(&mut self, semantic: Semantic, kind: Kind, interpolation: Interpolation) -> Value {
        let handle = self.inputs.push(input("input", semantic, kind, interpolation));
        self.b.inst1(Op::Input(handle), &[], kind)
    }

    /// Writes an output.
    pub fn write(&mut self, semantic: Semantic, value: Value) {
        let kind = self.b.kind(value);
        let local = self.output(semantic, kind);
        self.b.set(local, value);
    }

    /// Declares an output: whatever the local holds at the end.
    pub fn output(&mut self, semantic: Semantic, kind: Kind) -> Handle<Local> {
        let local = self.b.local("output", kind);
        self.outputs.push(Output {
            name: "output".into(),
            semantic,
            kind,
            local,
            invariant: false,
        });
        local
    }

    fn finish(self, stage: Stage) -> Shader {
        let mut functions = Arena::new();
        let entry = functions.push(self.b.finish());
        Shader {
            name: "main".into(),
            stage,
            inputs: self.inputs,
            outputs: self.outputs,
            resources: self.resources,
            functions,
            entry,
            early_depth_stencil: self.early,
            depth_output: self.promise,
            sources: Default::default(),
        }
    }
}

fn vertex_shader() -> Shader {
    let mut s = Build::new("vertex");
    for c in 0..4 {
        let position = s.read(location(0, c), Kind::F32, Interpolation::Perspective);
        s.write(Semantic::Builtin(Builtin::Position(c)), position);
    }
    for c in 0..4 {
        let attribute = s.read(location(1, c), Kind::F32, Interpolation::Perspective);
        s.write(location(0, c), attribute);
    }
    s.finish(Stage::Vertex)
}

fn fragment_shader(fragment: &Fragment) -> Option<Shader> {
    use quadrille_frontend::ir::Alu;
    let mut s = Build::new("fragment");
    match fragment {
        Fragment::None => return None,
        Fragment::Custom(Custom(f)) => f(&mut s),
        Fragment::Attribute(interpolation) => {
            for c in 0..4 {
                let v = s.read(location(0, c), Kind::F32, *interpolation);
                s.write(location(0, c), v);
            }
        }
        Fragment::Constants(colors) => {
            for (target, color) in colors.iter().enumerate() {
                for c in 0..4u8 {
                    let v = s.b.f32(color[usize::from(c)]);
                    s.write(location(target as u32, c), v);
                }
            }
        }
        Fragment::Dual(first, second) => {
            for (color, second_source) in [(first, false), (second, true)] {
                for component in 0..4u8 {
                    let v = s.b.f32(color[usize::from(component)]);
                    s.write(
                        Semantic::Location {
                            location: 0,
                            component,
                            second_source,
                        },
                        v,
                    );
                }
            }
        }
        Fragment::Front => {
            let front = s.read(Semantic::Builtin(Builtin::FrontFacing), Kind::Bool, Interpolation::Flat);
            let (one, zero) = (s.b.f32(1.0), s.b.f32(0.0));
            let v = s.b.select(front, one, zero);
            for c in 0..4 {
                s.write(location(0, c), v);
            }
        }
        Fragment::Primitive => {
            let index = s.read(
                Semantic::Builtin(Builtin::PrimitiveIndex),
                Kind::U32,
                Interpolation::Flat,
            );
            let v = s.b.alu(Alu::UToF, &[index]);
            for c in 0..4 {
                s.write(location(0, c), v);
            }
        }
        Fragment::Depth => {
            for c in 0..4 {
                let v = s.read(location(0, c), Kind::F32, Interpolation::Flat);
                s.write(location(0, c), v);
                if c == 0 {
                    s.write(Semantic::Builtin(Builtin::FragDepth), v);
                }
            }
        }
        Fragment::Position => {
            for c in 0..4 {
                let v = s.read(
                    Semantic::Builtin(Builtin::Position(c)),
                    Kind::F32,
                    Interpolation::Linear,
                );
                s.write(location(0, c), v);
            }
        }
        Fragment::Discard => {
            let v = s.read(location(0, 0), Kind::F32, Interpolation::Linear);
            let (zero, one) = (s.b.f32(0.0), s.b.f32(1.0));
            let out = s.b.alu(Alu::FLt, &[v, zero]);
            s.b.begin_if(out);
            s.b.inst(Op::Discard, &[], &[]);
            s.b.end_if();
            for c in 0..4 {
                s.write(location(0, c), one);
            }
        }
    }
    Some(s.finish(Stage::Fragment))
}

/// A draw and its pipeline state.
#[derive(Clone, Debug)]
pub struct Call {
    pub vertices: Vec<Vertex>,
    pub indices: Option<Vec<u16>>,
    pub fragment: Fragment,
    pub primitive: PrimitiveState,
    /// One state a colour target.
    pub targets: Vec<ColorTargetState>,
    pub depth_stencil: Option<DepthStencilState>,
    pub sample_mask: u32,
    pub alpha_to_coverage: bool,
    pub viewport: Viewport,
    pub scissor: Rect,
    pub stencil_reference: u32,
    pub blend_constant: [f32; 4],
    pub rules: Rules,
    pub extended: ExtendedState,
}

/// A frame: attachments with their clear values, and draws.
#[derive(Clone, Debug)]
pub struct Frame {
    pub samples: u32,
    pub colors: Vec<(TextureFormat, [f64; 4])>,
    /// Format, depth, stencil.
    pub depth: Option<(TextureFormat, f32, u32)>,
    pub calls: Vec<Call>,
    /// Words of the buffer that shaders may write.
    pub words: usize,
    pub resolve_mode: ResolveMode,
}

/// What a frame left behind, resolved if it was multisampled.
#[derive(Clone, Debug, PartialEq)]
pub struct Image {
    pub colors: Vec<Vec<u8>>,
    pub depth: Vec<u8>,
    pub stencil: Vec<u8>,
    /// The buffer.
    pub words: Vec<u32>,
}

impl Frame {
    /// One colour target without depth.
    pub fn new(format: TextureFormat, clear: [f64; 4]) -> Frame {
        Frame {
            samples: 1,
            colors: vec![(format, clear)],
            depth: None,
            calls: Vec::new(),
            words: 0,
            resolve_mode: ResolveMode::Average,
        }
    }

    /// Adds a draw with default state for the frame's attachments.
    pub fn draw(&mut self, vertices: Vec<Vertex>, fragment: Fragment) -> &mut Call {
        self.calls.push(Call {
            vertices,
            indices: None,
            fragment,
            primitive: PrimitiveState::default(),
            targets: self.colors.iter().map(|c| ColorTargetState::new(c.0)).collect(),
            depth_stencil: self.depth.map(|d| DepthStencilState::new(d.0)),
            sample_mask: u32::MAX,
            alpha_to_coverage: false,
            viewport: Viewport {
                x: 0.0,
                y: 0.0,
                width: SIZE as f32,
                height: SIZE as f32,
                min_depth: 0.0,
                max_depth: 1.0,
            },
            scissor: Rect {
                x0: 0,
                y0: 0,
                x1: SIZE as i32,
                y1: SIZE as i32,
            },
            stencil_reference: 0,
            blend_constant: [0.0; 4],
            rules: Rules::default(),
            extended: ExtendedState::default(),
        });
        self.calls.last_mut().unwrap()
    }

    /// Renders on both executors, which must agree, and gives the image.
    pub fn render(&self) -> Image {
        let image = self.render_with(&Interpreter, 1, PassOptions::default()).0;
        for (lanes, threads) in [(Lanes::Four, 1), (Lanes::Auto, 2)] {
            let jit = Jit::new(JitOptions {
                lanes,
                ..JitOptions::default()
            })
            .unwrap();
            let native = self.render_with(&jit, threads, PassOptions::default()).0;
            assert_eq!(image, native, "interpreter and native code of {lanes:?} lanes differ");
        }
        image
    }

    /// Renders.
    pub fn render_with(&self, executor: &dyn Executor, threads: usize, options: PassOptions<'_>) -> (Image, PassStats) {
        let budget = MemoryBudget::new(1 << 30);
        let texture = |format, samples| {
            let d = TextureDescriptor {
                samples,
                ..TextureDescriptor::new_2d(format, SIZE, SIZE)
            };
            Texture::new(&d, &budget).unwrap()
        };
        let colors: Vec<Arc<Texture>> = self.colors.iter().map(|c| texture(c.0, self.samples)).collect();
        let resolved: Vec<Arc<Texture>> = self.colors.iter().map(|c| texture(c.0, 1)).collect();
        let depth = self.depth.map(|d| texture(d.0, self.samples));
        let depth_resolved = self.depth.filter(|_| self.samples > 1).map(|d| texture(d.0, 1));
        let pipelines: Vec<Arc<RenderPipeline>> = self
            .calls
            .iter()
            .map(|c| Arc::new(c.pipeline(executor, self.samples).unwrap()))
            .collect();
        let buffers: Vec<Vec<u8>> = self.calls.iter().map(|c| c.bytes()).collect();
        let slots: Vec<[Option<&[u8]>; 1]> = buffers.iter().map(|b| [Some(&b[..])]).collect();
        let indices: Vec<Vec<u8>> = self
            .calls
            .iter()
            .map(|c| c.indices.iter().flatten().flat_map(|i| i.to_le_bytes()).collect())
            .collect();
        let mut words = vec![0u8; self.words * 4];
        let shared = WritableBytes::new(&mut words);
        let tables: Vec<[BoundResource<'_>; 1]> = pipelines
            .iter()
            .map(|_| [BoundResource::Writable(shared.part(0, u64::MAX))])
            .collect();
        let draws = self.calls.iter().enumerate().map(|(i, c)| Draw {
            pipeline: &pipelines[i],
            resources: if pipelines[i].slots.is_empty() { &[] } else { &tables[i] },
            vertex_buffers: &slots[i],
            indices: c.indices.as_ref().map(|_| Indices {
                bytes: &indices[i],
                format: IndexFormat::Uint16,
            }),
            first: 0,
            count: c.indices.as_ref().map_or(c.vertices.len(), Vec::len) as u32,
            base_vertex: 0,
            first_instance: 0,
            instance_count: 1,
            viewport: c.viewport,
            scissor: c.scissor,
            more_viewports: &[],
            stencil_reference: c.stencil_reference,
            blend_constant: c.blend_constant,
            counter: None,
        });
        let multisampled = self.samples > 1;
        let whole = |t: &Arc<Texture>| TextureView::whole(t).unwrap();
        let pass = Pass {
            label: "test",
            color: colors
                .iter()
                .zip(&self.colors)
                .zip(&resolved)
                .map(|((t, &(_, clear)), r)| {
                    Some(ColorAttachment {
                        view: whole(t),
                        slice: 0,
                        resolve: multisampled.then(|| whole(r)),
                        resolve_mode: self.resolve_mode,
                        load: LoadOp::Clear(clear),
                        store: true,
                    })
                })
                .collect(),
            depth_stencil: depth
                .as_ref()
                .zip(self.depth)
                .map(|(t, (_, depth, stencil))| DepthStencilAttachment {
                    view: whole(t),
                    depth_load: LoadOp::Clear(depth),
                    depth_store: true,
                    depth_read_only: false,
                    stencil_load: LoadOp::Clear(stencil),
                    stencil_store: true,
                    stencil_read_only: false,
                    resolve: depth_resolved.as_ref().map(whole),
                    depth_resolve_mode: self.resolve_mode,
                    stencil_resolve_mode: self.resolve_mode,
                }),
            draws: draws.collect(),
        };
        let memory = PassMemory::default();
        let stats = execute(&Pool::new(threads), &memory, &pass, &options).unwrap();
        drop(pass);
        drop(tables);
        let read = |t: &Texture, aspect: Aspect| {
            let Some(format) = t.format().aspect_format(aspect) else {
                return Vec::new();
            };
            let row = (SIZE * format.info().bytes) as usize;
            let mut out = vec![0; row * SIZE as usize];
            let region = CopyRegion {
                aspect,
                level: 0,
                origin: [0; 3],
                size: [SIZE, SIZE, 1],
            };
            t.read(&region, &mut out, row, SIZE as usize).unwrap();
            out
        };
        let colors = if multisampled { &resolved } else { &colors };
        let depth = if multisampled { depth_resolved } else { depth };
        let image = Image {
            colors: colors.iter().map(|t| read(t, Aspect::All)).collect(),
            depth: depth.as_ref().map_or(Vec::new(), |t| read(t, Aspect::Depth)),
            stencil: depth.as_ref().map_or(Vec::new(), |t| read(t, Aspect::Stencil)),
            words: words
                .as_chunks::<4>()
                .0
                .iter()
                .map(|w| u32::from_le_bytes(*w))
                .collect(),
        };
        (image, stats)
    }
}

impl Call {
    /// Its pipeline.
    pub fn pipeline(&self, executor: &dyn Executor, samples: u32) -> Result<RenderPipeline, PipelineError> {
        let targets: Vec<_> = self.targets.iter().map(|t| Some(*t)).collect();
        let attribute = |offset, shader_location| VertexAttribute {
            format: VertexFormat::Float32x4,
            offset,
            shader_location,
        };
        let layout = VertexBufferLayout {
            array_stride: 32,
            step_mode: VertexStepMode::Vertex,
            attributes: vec![attribute(0, 0), attribute(16, 1)],
        };
        let fragment = fragment_shader(&self.fragment);
        let desc = PipelineDescriptor {
            label: "test",
            vertex: &vertex_shader(),
            buffers: &[layout],
            fragment: fragment.as_ref(),
            targets: &targets,
            primitive: self.primitive,
            depth_stencil: self.depth_stencil,
            multisample: MultisampleState {
                count: samples,
                mask: self.sample_mask,
                alpha_to_coverage_enabled: self.alpha_to_coverage,
            },
            rules: self.rules,
            extended: self.extended,
        };
        RenderPipeline::new(executor, &desc)
    }

    fn bytes(&self) -> Vec<u8> {
        self.vertices
            .iter()
            .flat_map(|(p, a)| p.iter().chain(a))
            .flat_map(|v| v.to_le_bytes())
            .collect()
    }

    /// The depth-stencil state.
    pub fn ds(&mut self) -> &mut DepthStencilState {
        self.depth_stencil.as_mut().unwrap()
    }
}

impl Image {
    /// A texel's bytes.
    pub fn bytes<const N: usize>(&self, target: usize, x: usize, y: usize) -> [u8; N] {
        Self::texel(&self.colors[target], x, y)
    }

    fn texel<const N: usize>(bytes: &[u8], x: usize, y: usize) -> [u8; N] {
        let size = SIZE as usize;
        assert_eq!(bytes.len(), size * size * N);
        bytes[(y * size + x) * N..][..N].try_into().unwrap()
    }

    /// A pixel of an 8-bit target of four components.
    pub fn rgba8(&self, target: usize, x: usize, y: usize) -> [u8; 4] {
        Self::texel(&self.colors[target], x, y)
    }

    /// A pixel of an 8-bit target of one component.
    pub fn r8(&self, x: usize, y: usize) -> u8 {
        Self::texel::<1>(&self.colors[0], x, y)[0]
    }

    /// A pixel of an r32float target.
    pub fn r32(&self, x: usize, y: usize) -> f32 {
        f32::from_le_bytes(Self::texel(&self.colors[0], x, y))
    }

    /// A pixel of an rgba32float target.
    pub fn rgba32(&self, x: usize, y: usize) -> [f32; 4] {
        let t: [u8; 16] = Self::texel(&self.colors[0], x, y);
        std::array::from_fn(|c| f32::from_le_bytes(t[4 * c..4 * c + 4].try_into().unwrap()))
    }

    /// The depth code (or f32 bits) of a pixel.
    pub fn depth(&self, x: usize, y: usize) -> u32 {
        match self.depth.len() / (SIZE * SIZE) as usize {
            2 => u16::from_le_bytes(Self::texel(&self.depth, x, y)).into(),
            _ => u32::from_le_bytes(Self::texel(&self.depth, x, y)),
        }
    }

    /// The stencil value of a pixel.
    pub fn stencil(&self, x: usize, y: usize) -> u8 {
        Self::texel::<1>(&self.stencil, x, y)[0]
    }

    /// Pixels of an 8-bit target whose first component isn't 0, row by row.
    pub fn drawn(&self) -> Vec<(usize, usize)> {
        let bytes = self.colors[0].len() / (SIZE * SIZE) as usize;
        let size = SIZE as usize;
        (0..size * size)
            .filter(|i| self.colors[0][i * bytes] != 0)
            .map(|i| (i % size, i / size))
            .collect()
    }
}
