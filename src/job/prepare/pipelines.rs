//! Shader modules, pipelines and bind groups of a job.

use super::{Maker, Target};
use crate::job::error::JobError;
use crate::job::load::ShaderFile;
use crate::job::model;
use crate::job::named::Named;
use crate::job::words::{LanguageWord, Word as _};
use crate::{
    BindGroup, BindGroupDescriptor, BindGroupEntry, BindingResource, BlendComponent, BlendState, Buffer, BufferBinding,
    ColorTargetState, DepthStencilState, ExtendedPrimitiveState, ExtendedState, FragmentState, MultisampleState,
    PrimitiveState, RenderPipeline, RenderPipelineDescriptor, Sampler, ShaderModule, ShaderModuleDescriptor,
    ShaderSource, StencilFaceState, VertexAttribute, VertexBufferLayout, VertexState,
};
use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::path::Path;

impl<'j> Maker<'j, '_> {
    fn modules(&self) -> Result<BTreeMap<&'j str, ShaderModule>, JobError> {
        let mut all = BTreeMap::new();
        for (name, file) in &self.loaded.shaders {
            let at = || format!("shaders.{name}");
            let source = self.source(file).map_err(|feature| self.loaded.refuse(at(), feature))?;
            let module = self
                .device
                .create_shader_module(ShaderModuleDescriptor {
                    label: Some(&file.file),
                    source,
                })
                .map_err(|e| self.loaded.failed(at(), e))?;
            all.insert(name.as_str(), module);
        }
        Ok(all)
    }

    /// The shader as the library takes it, or the language that it doesn't take.
    fn source(&self, file: &'j ShaderFile) -> Result<ShaderSource<'j>, String> {
        match file.language {
            LanguageWord::Wgsl => Ok(ShaderSource::Wgsl(String::from_utf8_lossy(&file.bytes))),
            LanguageWord::SpirVAssembly => Ok(ShaderSource::SpirVAssembly(String::from_utf8_lossy(&file.bytes))),
            LanguageWord::SpirV => match quadrille_frontend::spirv::words(&file.bytes) {
                Some(words) => Ok(ShaderSource::SpirV(words.into())),
                None => Err(format!(
                    "SPIR-V of {} bytes, which are no whole words,",
                    file.bytes.len()
                )),
            },
            LanguageWord::Glsl => {
                let shader = String::from_utf8_lossy(&file.bytes);
                match quadrille_frontend::source::glsl_stage(Path::new(&file.file), &shader) {
                    Some(stage) => Ok(ShaderSource::Glsl { shader, stage }),
                    None => Err("GLSL without `#pragma shader_stage(...)`, or .vert or .frag in its name,".into()),
                }
            }
            other => Err(format!("the shader language `{}`", other.text())),
        }
    }

    pub(super) fn pipelines(&self) -> Result<BTreeMap<&'j str, RenderPipeline>, JobError> {
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
            let Some(t) = t else {
                targets.push(None);
                continue;
            };
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
        let vertex_constants = constants(&p.vertex.constants);
        let fragment_constants = p.fragment.as_ref().map(|f| constants(&f.constants)).unwrap_or_default();
        let fragment = match &p.fragment {
            Some(f) => Some(FragmentState {
                module: module(&f.shader, "fragment")?,
                entry_point: f.entry_point.as_deref(),
                constants: &fragment_constants,
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
                    entry_point: p.vertex.entry_point.as_deref(),
                    constants: &vertex_constants,
                    buffers: &buffers,
                },
                primitive: PrimitiveState {
                    topology: p.primitive.topology,
                    strip_index_format: p.primitive.strip_index_format,
                    front_face: p.primitive.front_face,
                    cull_mode: p.primitive.cull_mode,
                    unclipped_depth: p.primitive.unclipped_depth,
                    extended: ExtendedPrimitiveState {
                        fill_mode: p.extended.fill_mode,
                        line_mode: p.extended.line_mode,
                        point_mode: p.extended.point_mode,
                        provoking_vertex: p.extended.provoking_vertex,
                        restart: p.extended.restart,
                        conservative: p.extended.conservative,
                        forced_samples: p.extended.forced_samples,
                    },
                },
                depth_stencil: p.depth_stencil.as_ref().map(depth_stencil),
                multisample: MultisampleState {
                    count: p.multisample.count,
                    mask: p.multisample.mask,
                    alpha_to_coverage_enabled: p.multisample.alpha_to_coverage_enabled,
                },
                fragment,
                rules: p.rules,
                extended: ExtendedState {
                    logic_op: p.extended.logic_op,
                    depth_bounds: p.extended.depth_bounds,
                    sample_pattern: p.extended.sample_pattern,
                    gradient_divergence: p.extended.gradient_divergence,
                },
            })
            .map_err(|e| self.loaded.failed(&at, e))
    }

    pub(super) fn bind_groups(
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
            let mut views = Vec::new();
            for (i, e) in g.entries.iter().enumerate() {
                let target = e.texture.as_deref().and_then(|t| textures.get(t));
                let view = target.map(|t| self.view(t, e.view.as_ref())).transpose();
                views.push(view.map_err(|error| self.loaded.failed(format!("{at}.entries[{i}].view"), error))?);
            }
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
                        let view = views.get(i).and_then(Option::as_ref);
                        BindingResource::TextureView(view.ok_or_else(|| missing("texture", t))?)
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

fn constants(named: &Named<f64>) -> Vec<(&str, f64)> {
    named.iter().map(|(name, &value)| (name, value)).collect()
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
