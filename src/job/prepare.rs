//! A loaded job on a device: every object made once, then frames.
//!
//! ```text
//! Loaded ─► buffers, textures, samplers ─► shader modules ─► pipelines ─► bind groups ─► frame, frame, ... ─► output
//! ```
//!
//! Each frame records and submits every pass anew; nothing of an earlier frame is reused.

use super::check;
use super::error::JobError;
use super::load::{Image, Loaded};
use super::model::{self, Job};
use super::words::{DimensionWord, UsageWord};
use crate::{
    BindGroup, BindGroupDescriptor, BindGroupEntry, BindingResource, BlendComponent, BlendState, Buffer, BufferBinding,
    BufferInitDescriptor, BufferUsages, ColorTargetState, DepthStencilState, Device, Error, ExtendedState, Extent3d,
    FragmentState, MultisampleState, PrimitiveState, RenderPipeline, RenderPipelineDescriptor, Rules, Sampler,
    SamplerDescriptor, ShaderModule, ShaderModuleDescriptor, ShaderSource, StencilFaceState, Texture,
    TextureDescriptor, TextureFormat, TextureUsages, TextureView, TextureViewDescriptor, TextureViewDimension,
    VertexAttribute, VertexBufferLayout, VertexState,
};
use std::collections::BTreeMap;
use std::num::{NonZeroU32, NonZeroU64};
use std::time::{Duration, Instant};

/// How a job is prepared.
#[derive(Clone, Copy, Debug)]
pub struct PrepareOptions {
    /// Render targets, viewports and scissors are made smaller by this factor; everything else stays.
    pub scale: NonZeroU32,
}

impl Default for PrepareOptions {
    fn default() -> Self {
        PrepareOptions { scale: NonZeroU32::MIN }
    }
}

/// A job on a device, ready to render frames.
#[derive(Debug)]
pub struct Prepared<'j> {
    pub(super) loaded: &'j Loaded,
    pub(super) device: Device,
    pub(super) scale: u32,
    pub(super) buffers: BTreeMap<&'j str, Buffer>,
    pub(super) textures: BTreeMap<&'j str, Target>,
    pub(super) pipelines: BTreeMap<&'j str, RenderPipeline>,
    pub(super) bind_groups: BTreeMap<&'j str, BindGroup>,
    upload_time: Duration,
    pipeline_time: Duration,
}

/// A texture, its default view, and a view of each layer for those that are rendered to.
#[derive(Debug)]
pub(super) struct Target {
    pub texture: Texture,
    pub view: TextureView,
    pub layers: Vec<TextureView>,
}

impl Loaded {
    /// Makes everything that the job describes.
    pub fn prepare(&self, device: &Device, options: &PrepareOptions) -> Result<Prepared<'_>, JobError> {
        check::draws(self)?;
        let clock = Instant::now();
        let maker = Maker {
            loaded: self,
            device,
            scale: options.scale.get(),
        };
        let buffers = maker.buffers()?;
        let textures = maker.textures()?;
        let samplers = maker.samplers()?;
        let upload_time = clock.elapsed();
        let clock = Instant::now();
        let pipelines = maker.pipelines()?;
        let pipeline_time = clock.elapsed();
        let bind_groups = maker.bind_groups(&buffers, &textures, &samplers, &pipelines)?;
        Ok(Prepared {
            loaded: self,
            device: device.clone(),
            scale: maker.scale,
            buffers,
            textures,
            pipelines,
            bind_groups,
            upload_time,
            pipeline_time,
        })
    }

    pub(super) fn invalid(&self, at: impl Into<String>, reason: impl Into<String>) -> JobError {
        JobError::Invalid {
            job: self.path.clone(),
            at: at.into(),
            reason: reason.into(),
        }
    }

    pub(super) fn failed(&self, at: impl Into<String>, source: impl Into<Error>) -> JobError {
        JobError::Object {
            job: self.path.clone(),
            at: at.into(),
            source: Box::new(source.into()),
        }
    }

    pub(super) fn missing(&self, at: impl Into<String>, kind: &str, name: &str) -> JobError {
        self.invalid(at, format!("there is no {kind} named `{name}`"))
    }
}

impl Prepared<'_> {
    /// Time that buffers, textures and samplers took.
    pub fn upload_time(&self) -> Duration {
        self.upload_time
    }

    /// Time that shader modules and pipelines took.
    pub fn pipeline_time(&self) -> Duration {
        self.pipeline_time
    }

    /// The pipelines by name, for their statistics.
    pub fn pipelines(&self) -> impl Iterator<Item = (&str, &RenderPipeline)> {
        self.pipelines.iter().map(|(&name, p)| (name, p))
    }

    /// What it was made from.
    pub fn job(&self) -> &Job {
        &self.loaded.job
    }
}

struct Maker<'j, 'd> {
    loaded: &'j Loaded,
    device: &'d Device,
    scale: u32,
}

impl<'j> Maker<'j, '_> {
    fn job(&self) -> &'j Job {
        &self.loaded.job
    }

    fn buffers(&self) -> Result<BTreeMap<&'j str, Buffer>, JobError> {
        let mut all = BTreeMap::new();
        for (name, described) in self.job().buffers.iter() {
            let mut usage = BufferUsages::empty();
            for word in &described.usage {
                usage |= match word {
                    UsageWord::Vertex => BufferUsages::VERTEX,
                    UsageWord::Index => BufferUsages::INDEX,
                    UsageWord::Uniform => BufferUsages::UNIFORM,
                    UsageWord::Storage => BufferUsages::STORAGE,
                };
            }
            let contents = self.loaded.buffers.get(name).map_or(&[][..], Vec::as_slice);
            let buffer = self
                .device
                .create_buffer_init(&BufferInitDescriptor {
                    label: Some(name),
                    contents,
                    usage,
                })
                .map_err(|e| self.loaded.failed(format!("buffers.{name}"), e))?;
            all.insert(name, buffer);
        }
        Ok(all)
    }

    fn textures(&self) -> Result<BTreeMap<&'j str, Target>, JobError> {
        let mut all = BTreeMap::new();
        for (name, described) in self.job().textures.iter() {
            let at = format!("textures.{name}");
            let target = match self.loaded.images.get(name) {
                Some(image) => self.image(name, described, image),
                None => {
                    let size = described
                        .size
                        .ok_or_else(|| self.loaded.invalid(&at, "a texture without data needs `size`"))?;
                    if described.sample_count != 1 && described.sample_count != 4 {
                        let n = described.sample_count;
                        return Err(self
                            .loaded
                            .invalid(format!("{at}.sampleCount"), format!("{n}; 1 and 4 are possible")));
                    }
                    self.target(name, described, size)
                }
            };
            all.insert(name, target.map_err(|e| self.loaded.failed(at, e))?);
        }
        Ok(all)
    }

    /// A texture with data.
    fn image(&self, name: &str, described: &model::Texture, image: &Image) -> Result<Target, Error> {
        let size = Extent3d {
            width: image.width,
            height: image.height,
            depth_or_array_layers: u32::try_from(image.layers.len()).unwrap_or(u32::MAX),
        };
        let longest = image.width.max(image.height);
        let texture = self.device.create_texture(&TextureDescriptor {
            label: Some(name),
            size,
            mip_level_count: if described.mipmaps {
                32 - longest.leading_zeros()
            } else {
                1
            },
            format: described.format,
            usage: TextureUsages::TEXTURE_BINDING | TextureUsages::COPY_DST,
            ..TextureDescriptor::default()
        })?;
        for (layer, texels) in (0..).zip(&image.layers) {
            texture.write_level(0, layer, texels)?;
        }
        if described.mipmaps {
            texture.generate_mipmaps()?;
        }
        let view = default_view(&texture, described)?;
        Ok(Target {
            texture,
            view,
            layers: Vec::new(),
        })
    }

    /// A texture to render to.
    fn target(&self, name: &str, described: &model::Texture, [w, h]: [u32; 2]) -> Result<Target, Error> {
        let scaled = |side: u32| side.div_ceil(self.scale);
        let layers = described
            .layers
            .unwrap_or(if described.dimension == DimensionWord::Cube {
                6
            } else {
                1
            });
        let mut usage = TextureUsages::TEXTURE_BINDING | TextureUsages::RENDER_ATTACHMENT;
        usage.set(TextureUsages::COPY_SRC, self.job().output == name);
        let texture = self.device.create_texture(&TextureDescriptor {
            label: Some(name),
            size: Extent3d {
                width: scaled(w),
                height: scaled(h),
                depth_or_array_layers: layers,
            },
            sample_count: described.sample_count,
            format: described.format,
            usage,
            ..TextureDescriptor::default()
        })?;
        let view = default_view(&texture, described)?;
        let layer = |layer| {
            texture.create_view(&TextureViewDescriptor {
                dimension: Some(TextureViewDimension::D2),
                base_array_layer: layer,
                array_layer_count: Some(1),
                ..TextureViewDescriptor::default()
            })
        };
        let layers = (0..layers).map(layer).collect::<Result<_, _>>()?;
        Ok(Target { texture, view, layers })
    }

    fn samplers(&self) -> Result<BTreeMap<&'j str, Sampler>, JobError> {
        let mut all = BTreeMap::new();
        for (name, s) in self.job().samplers.iter() {
            let sampler = self
                .device
                .create_sampler(&SamplerDescriptor {
                    label: Some(name),
                    address_mode_u: s.address_mode_u,
                    address_mode_v: s.address_mode_v,
                    address_mode_w: s.address_mode_w,
                    mag_filter: s.mag_filter,
                    min_filter: s.min_filter,
                    mipmap_filter: s.mipmap_filter,
                    lod_min_clamp: s.lod_min_clamp,
                    lod_max_clamp: s.lod_max_clamp,
                    compare: s.compare,
                    max_anisotropy: s.max_anisotropy,
                })
                .map_err(|e| self.loaded.failed(format!("samplers.{name}"), e))?;
            all.insert(name, sampler);
        }
        Ok(all)
    }

    fn modules(&self) -> Result<BTreeMap<&'j str, ShaderModule>, JobError> {
        let mut all = BTreeMap::new();
        for (name, text) in &self.loaded.shaders {
            let module = self
                .device
                .create_shader_module(ShaderModuleDescriptor {
                    label: Some(&text.file),
                    source: ShaderSource::Wgsl(text.text.as_str().into()),
                })
                .map_err(|e| self.loaded.failed(format!("shaders.{name}"), e))?;
            all.insert(name.as_str(), module);
        }
        Ok(all)
    }

    fn pipelines(&self) -> Result<BTreeMap<&'j str, RenderPipeline>, JobError> {
        let modules = self.modules()?;
        let mut all = BTreeMap::new();
        for (name, described) in self.job().pipelines.iter() {
            all.insert(name, self.pipeline(&modules, name, described)?);
        }
        Ok(all)
    }

    fn pipeline(
        &self,
        modules: &BTreeMap<&str, ShaderModule>,
        name: &str,
        p: &model::Pipeline,
    ) -> Result<RenderPipeline, JobError> {
        let at = format!("pipelines.{name}");
        let module = |shader: &str, stage: &str| {
            modules
                .get(shader)
                .ok_or_else(|| self.loaded.missing(format!("{at}.{stage}.shader"), "shader", shader))
        };
        let buffers: Vec<_> = p.vertex.buffers.iter().map(vertex_buffer).collect();
        let mut targets = Vec::new();
        for (i, t) in p.fragment.iter().flat_map(|f| &f.targets).enumerate() {
            let write_mask = u8::try_from(t.write_mask).ok().filter(|&m| m <= 15).ok_or_else(|| {
                let at = format!("{at}.fragment.targets[{i}].writeMask");
                self.loaded.invalid(at, format!("{} is not 0 to 15", t.write_mask))
            })?;
            targets.push(Some(ColorTargetState {
                format: t.format,
                blend: t.blend.as_ref().map(|b| BlendState {
                    color: blend_component(&b.color),
                    alpha: blend_component(&b.alpha),
                }),
                write_mask,
            }));
        }
        let fragment = match &p.fragment {
            Some(f) => Some(FragmentState {
                module: module(&f.shader, "fragment")?,
                entry_point: Some(&f.entry_point),
                constants: &[],
                targets: &targets,
            }),
            None => None,
        };
        self.device
            .create_render_pipeline(&RenderPipelineDescriptor {
                label: Some(name),
                layout: None,
                vertex: VertexState {
                    module: module(&p.vertex.shader, "vertex")?,
                    entry_point: Some(&p.vertex.entry_point),
                    constants: &[],
                    buffers: &buffers,
                },
                primitive: PrimitiveState {
                    topology: p.primitive.topology,
                    strip_index_format: p.primitive.strip_index_format,
                    front_face: p.primitive.front_face,
                    cull_mode: p.primitive.cull_mode,
                    ..PrimitiveState::default()
                },
                depth_stencil: p.depth_stencil.as_ref().map(depth_stencil),
                multisample: MultisampleState {
                    count: p.multisample.count,
                    mask: p.multisample.mask,
                    alpha_to_coverage_enabled: p.multisample.alpha_to_coverage_enabled,
                },
                fragment,
                rules: Rules::default(),
                extended: ExtendedState::default(),
            })
            .map_err(|e| self.loaded.failed(&at, e))
    }

    fn bind_groups(
        &self,
        buffers: &BTreeMap<&str, Buffer>,
        textures: &BTreeMap<&str, Target>,
        samplers: &BTreeMap<&str, Sampler>,
        pipelines: &BTreeMap<&str, RenderPipeline>,
    ) -> Result<BTreeMap<&'j str, BindGroup>, JobError> {
        let mut all = BTreeMap::new();
        for (name, g) in self.job().bind_groups.iter() {
            let at = format!("bindGroups.{name}");
            let pipeline = pipelines
                .get(g.pipeline.as_str())
                .ok_or_else(|| self.loaded.missing(format!("{at}.pipeline"), "pipeline", &g.pipeline))?;
            let layout = pipeline
                .get_bind_group_layout(g.group)
                .map_err(|e| self.loaded.failed(format!("{at}.group"), e))?;
            let mut entries = Vec::new();
            for (i, e) in g.entries.iter().enumerate() {
                let at = format!("{at}.entries[{i}]");
                let missing = |kind: &str, name: &str| self.loaded.missing(format!("{at}.{kind}"), kind, name);
                let resource = match (&e.buffer, &e.texture, &e.sampler) {
                    (Some(b), None, None) => BindingResource::Buffer(BufferBinding {
                        buffer: buffers.get(b.as_str()).ok_or_else(|| missing("buffer", b))?,
                        offset: e.offset,
                        size: e.size.and_then(NonZeroU64::new),
                    }),
                    (None, Some(t), None) => {
                        let target = textures.get(t.as_str()).ok_or_else(|| missing("texture", t))?;
                        BindingResource::TextureView(&target.view)
                    }
                    (None, None, Some(s)) => {
                        BindingResource::Sampler(samplers.get(s.as_str()).ok_or_else(|| missing("sampler", s))?)
                    }
                    _ => {
                        let reason = "an entry has exactly one of `buffer`, `texture` and `sampler`";
                        return Err(self.loaded.invalid(at, reason));
                    }
                };
                entries.push(BindGroupEntry {
                    binding: e.binding,
                    resource,
                });
            }
            let group = self
                .device
                .create_bind_group(&BindGroupDescriptor {
                    label: Some(name),
                    layout: &layout,
                    entries: &entries,
                })
                .map_err(|e| self.loaded.failed(&at, e))?;
            all.insert(name, group);
        }
        Ok(all)
    }
}

fn default_view(texture: &Texture, described: &model::Texture) -> Result<TextureView, Error> {
    Ok(texture.create_view(&TextureViewDescriptor {
        dimension: Some(match described.dimension {
            DimensionWord::D2 => TextureViewDimension::D2,
            DimensionWord::D2Array => TextureViewDimension::D2Array,
            DimensionWord::Cube => TextureViewDimension::Cube,
        }),
        ..TextureViewDescriptor::default()
    })?)
}

fn vertex_buffer(b: &model::VertexBuffer) -> VertexBufferLayout {
    let attribute = |a: &model::Attribute| VertexAttribute {
        format: a.format,
        offset: a.offset,
        shader_location: a.shader_location,
    };
    VertexBufferLayout {
        array_stride: b.array_stride,
        step_mode: b.step_mode,
        attributes: b.attributes.iter().map(attribute).collect(),
    }
}

fn blend_component(b: &model::BlendPart) -> BlendComponent {
    BlendComponent {
        operation: b.operation,
        src_factor: b.src_factor,
        dst_factor: b.dst_factor,
    }
}

fn depth_stencil(d: &model::DepthStencil) -> DepthStencilState {
    let face = |f: &model::StencilFace| StencilFaceState {
        compare: f.compare,
        fail_op: f.fail_op,
        depth_fail_op: f.depth_fail_op,
        pass_op: f.pass_op,
    };
    DepthStencilState {
        format: d.format,
        depth_write_enabled: d.depth_write_enabled,
        depth_compare: d.depth_compare,
        stencil_front: face(&d.stencil_front),
        stencil_back: face(&d.stencil_back),
        stencil_read_mask: d.stencil_read_mask,
        stencil_write_mask: d.stencil_write_mask,
        depth_bias: d.depth_bias,
        depth_bias_slope_scale: d.depth_bias_slope_scale,
        depth_bias_clamp: d.depth_bias_clamp,
    }
}

/// The formats that `output` may have.
pub(super) const OUTPUT_FORMATS: [TextureFormat; 4] = [
    TextureFormat::Rgba8Unorm,
    TextureFormat::Rgba8UnormSrgb,
    TextureFormat::Rgba16Float,
    TextureFormat::Rgba32Float,
];
