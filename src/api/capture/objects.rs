//! Objects of a capture by name: buffers, textures, samplers, shaders, pipelines, bind groups.

use super::Data;
use crate::api::bind_group::{BindGroup, Bound};
use crate::api::buffer::Buffer;
use crate::api::label::Label;
use crate::api::pipeline::{Described, RenderPipeline};
use crate::api::query::{QuerySet, QueryType};
use crate::api::sampler::Sampler;
use crate::api::shader::ShaderModule;
use crate::api::texture::{Texture, TextureView, TextureViewDimension};
use quadrille_raster::format::Aspect;
use quadrille_raster::pipeline::{BlendComponent, DepthStencilState, GradientDivergence, StencilFaceState};
use quadrille_raster::sampler::{AddressMode, CompareFunction, FilterMode, Reduction};
use quadrille_raster::texture::{Surface, TextureDimension};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// A resource that the capture holds, and how often the host had written it when it was last looked at.
#[derive(Debug)]
struct Resource {
    name: String,
    written: u64,
}

/// A bind group as a pipeline sees it: pipeline, group, dynamic offsets.
#[derive(Debug)]
struct GroupUse {
    pipeline: usize,
    index: u32,
    group: BindGroup,
    offsets: Vec<u32>,
}

#[derive(Debug, Default)]
pub(super) struct Objects {
    buffers: BTreeMap<u64, Resource>,
    textures: BTreeMap<u64, Resource>,
    samplers: Vec<Sampler>,
    shaders: Vec<ShaderModule>,
    pipelines: Vec<RenderPipeline>,
    groups: Vec<GroupUse>,
    described: BTreeMap<&'static str, Map<String, Value>>,
}

/// A name that no other object has.
fn name(label: &Label, id: impl std::fmt::Display) -> String {
    match label.as_str() {
        "" => format!("#{id}"),
        text => format!("{text} #{id}"),
    }
}

impl Objects {
    /// Adds all objects to a job.
    pub fn describe(self, job: &mut Map<String, Value>) {
        for (field, objects) in self.described {
            job.insert(field.into(), objects.into());
        }
    }

    fn add(&mut self, field: &'static str, name: &str, value: Value) {
        self.described.entry(field).or_default().insert(name.to_owned(), value);
    }

    /// The name of a buffer; a write, if the host has changed it since it was last used.
    pub fn buffer(&mut self, b: &Buffer, data: &mut Data, writes: &mut Vec<Value>) -> String {
        let written = b.host_writes();
        if let Some(known) = self.buffers.get_mut(&b.id()) {
            if known.written != written {
                known.written = written;
                let bytes = data.describe(b.bytes().clone());
                writes.push(json!({ "writeBuffer": { "buffer": known.name, "data": bytes } }));
            }
            return known.name.clone();
        }
        let name = name(b.label(), b.id());
        let bytes = b.bytes();
        let mut described = json!({ "size": bytes.len() });
        if bytes.iter().any(|&byte| byte != 0) {
            described["data"] = data.describe(bytes.clone());
        }
        drop(bytes);
        self.add("buffers", &name, described);
        let resource = Resource {
            name: name.clone(),
            written,
        };
        self.buffers.insert(b.id(), resource);
        name
    }

    /// The name of a query set.
    pub fn query_set(&mut self, set: &QuerySet) -> String {
        let name = name(set.label(), set.id());
        let mut described = json!({ "count": set.count() });
        match set.ty() {
            QueryType::Occlusion => described["type"] = "occlusion".into(),
            QueryType::PipelineStatistics(types) => {
                described["type"] = "pipeline-statistics".into();
                described["statistics"] = types.names().collect();
            }
        }
        self.add("querySets", &name, described);
        name
    }

    /// The name of a texture; writes, if the host has changed it since it was last used.
    pub fn texture(&mut self, t: &Texture, data: &mut Data, writes: &mut Vec<Value>) -> Result<String, String> {
        let written = t.host_writes();
        let known = self.textures.get_mut(&t.id());
        if let Some(known) = known {
            if known.written != written {
                known.written = written;
                for surface in surfaces(t) {
                    let texels = t.raster().read_surface(&surface).map_err(|e| e.to_string())?;
                    writes.push(json!({ "writeTexture": {
                        "texture": known.name,
                        "mipLevel": surface.level,
                        "layer": surface.layer,
                        "sample": surface.sample,
                        "aspect": aspect(surface.aspect),
                        "data": data.describe(texels),
                    } }));
                }
            }
            return Ok(known.name.clone());
        }
        let name = name(t.label(), t.id());
        let size = t.size();
        let n = size.depth_or_array_layers;
        let mut described = json!({
            "format": t.format().name(),
            "dimension": match t.dimension() {
                TextureDimension::D1 => "1d",
                TextureDimension::D3 => "3d",
                TextureDimension::D2 if n > 1 => "2d-array",
                TextureDimension::D2 => "2d",
            },
            "size": [size.width, size.height, n],
            "mipLevelCount": t.mip_level_count(),
            "sampleCount": t.sample_count(),
        });
        let mut contents = [Vec::new(), Vec::new()];
        for surface in surfaces(t) {
            let texels = t.raster().read_surface(&surface).map_err(|e| e.to_string())?;
            contents[usize::from(surface.aspect == Aspect::Stencil)].extend(texels);
        }
        for (field, bytes) in ["data", "stencilData"].into_iter().zip(contents) {
            if bytes.iter().any(|&b| b != 0) {
                described[field] = data.describe(bytes);
            }
        }
        self.add("textures", &name, described);
        let resource = Resource {
            name: name.clone(),
            written,
        };
        self.textures.insert(t.id(), resource);
        Ok(name)
    }

    fn sampler(&mut self, s: &Sampler) -> String {
        let known = self.samplers.iter().position(|k| k.is(s));
        let index = known.unwrap_or(self.samplers.len());
        let name = name(s.label(), index);
        if known.is_none() {
            let d = s.raster().descriptor();
            let mut described = json!({
                "addressModeU": address(d.address[0]),
                "addressModeV": address(d.address[1]),
                "addressModeW": address(d.address[2]),
                "magFilter": filter(d.mag_filter),
                "minFilter": filter(d.min_filter),
                "mipmapFilter": filter(d.mipmap_filter),
                "lodMinClamp": d.lod_min_clamp,
                "lodMaxClamp": d.lod_max_clamp,
                "maxAnisotropy": d.max_anisotropy,
                "lodBias": d.lod_bias,
                "borderColor": d.border,
                "reduction": match d.reduction {
                    Reduction::WeightedAverage => "weighted-average",
                    Reduction::Minimum => "minimum",
                    Reduction::Maximum => "maximum",
                },
            });
            if let Some(compare) = d.compare {
                described["compare"] = comparison(compare).into();
            }
            self.add("samplers", &name, described);
            self.samplers.push(s.clone());
        }
        name
    }

    fn shader(&mut self, m: &ShaderModule) -> String {
        let known = self.shaders.iter().position(|k| k.is(m));
        let index = known.unwrap_or(self.shaders.len());
        let name = name(m.label(), index);
        if known.is_none() {
            self.add("shaders", &name, m.for_job());
            self.shaders.push(m.clone());
        }
        name
    }

    /// Number of a pipeline in the capture.
    pub fn pipeline(&mut self, p: &RenderPipeline) -> (usize, String) {
        let known = self.pipelines.iter().position(|k| k.is(p));
        let index = known.unwrap_or(self.pipelines.len());
        let name = name(p.label(), index);
        if known.is_none() {
            self.pipelines.push(p.clone());
            let described = self.describe_pipeline(p.described());
            self.add("pipelines", &name, described);
        }
        (index, name)
    }

    fn describe_pipeline(&mut self, d: &Described) -> Value {
        let constants = |list: &[(String, f64)]| -> Value {
            let all: Map<String, Value> = list.iter().map(|(n, v)| (n.clone(), json!(v))).collect();
            all.into()
        };
        let stage = |shader: String, entry: &Option<String>, values: &[(String, f64)]| {
            let mut stage = json!({ "shader": shader, "constants": constants(values) });
            if let Some(entry) = entry {
                stage["entryPoint"] = entry.as_str().into();
            }
            stage
        };
        let mut vertex = stage(
            self.shader(&d.vertex.module),
            &d.vertex.entry_point,
            &d.vertex.constants,
        );
        let buffer = |b: &quadrille_raster::pipeline::VertexBufferLayout| {
            let attributes: Vec<_> = b
                .attributes
                .iter()
                .map(|a| json!({ "format": a.format.name(), "offset": a.offset, "shaderLocation": a.shader_location }))
                .collect();
            json!({ "arrayStride": b.array_stride, "stepMode": b.step_mode.name(), "attributes": attributes })
        };
        vertex["buffers"] = d.buffers.iter().map(buffer).collect();
        let p = &d.primitive;
        let x = &p.extended;
        let mut primitive = json!({
            "topology": p.topology.name(),
            "frontFace": p.front_face.name(),
            "cullMode": p.cull_mode.name(),
            "unclippedDepth": p.unclipped_depth,
        });
        if let Some(format) = p.strip_index_format {
            primitive["stripIndexFormat"] = format.name().into();
        }
        let mut extended = json!({
            "fillMode": x.fill_mode.name(),
            "lineMode": x.line_mode.name(),
            "pointMode": x.point_mode.name(),
            "provokingVertex": x.provoking_vertex.name(),
            "restart": x.restart,
            "conservative": x.conservative,
            "forcedSamples": x.forced_samples,
            "samplePattern": d.extended.sample_pattern.name(),
        });
        if let Some(op) = d.extended.logic_op {
            extended["logicOp"] = op.name().into();
        }
        if d.extended.gradient_divergence != GradientDivergence::default() {
            extended["gradientDivergence"] = d.extended.gradient_divergence.name().into();
        }
        if let Some(bounds) = d.extended.depth_bounds {
            extended["depthBounds"] = json!(bounds);
        }
        let mut pipeline = json!({
            "vertex": vertex,
            "primitive": primitive,
            "multisample": {
                "count": d.multisample.count,
                "mask": d.multisample.mask,
                "alphaToCoverageEnabled": d.multisample.alpha_to_coverage_enabled,
            },
            "rules": d.rules.name(),
            "extended": extended,
        });
        if let Some(f) = &d.fragment {
            let mut fragment = stage(self.shader(&f.module), &f.entry_point, &f.constants);
            fragment["targets"] = d
                .targets
                .iter()
                .map(|t| t.as_ref().map_or(Value::Null, target))
                .collect();
            pipeline["fragment"] = fragment;
        }
        if let Some(ds) = &d.depth_stencil {
            pipeline["depthStencil"] = depth_stencil(ds);
        }
        pipeline
    }

    /// The name of a bind group as a pipeline of the capture uses it.
    pub fn group(
        &mut self,
        pipeline: (usize, &str),
        index: u32,
        (group, offsets): (&BindGroup, &[u32]),
        data: &mut Data,
        writes: &mut Vec<Value>,
    ) -> Result<String, String> {
        // Entries first: they note what the host has written meanwhile, for known groups too.
        let mut entries = Vec::new();
        let Some(user) = self.pipelines.get(pipeline.0).cloned() else {
            return Err("a bind group without a pipeline".into());
        };
        for slot in user.slots().iter().filter(|s| s.group == index) {
            let (Some(bound), Some(declared)) = (
                group.resources().get(slot.place),
                group.layout().entries().get(slot.place),
            ) else {
                continue;
            };
            let dynamic = group.dynamic().iter().position(|&place| place == slot.place);
            let added = dynamic.and_then(|i| offsets.get(i)).map_or(0, |&o| u64::from(o));
            let mut entry = match bound {
                Bound::Buffer { buffer, offset, size } => json!({
                    "buffer": self.buffer(buffer, data, writes),
                    "offset": offset + added,
                    "size": size,
                }),
                Bound::Texture(view, _) | Bound::Storage(view, _) => json!({
                    "texture": self.texture(view.texture(), data, writes)?,
                    "view": describe_view(view),
                }),
                Bound::Sampler(sampler) => json!({ "sampler": self.sampler(sampler) }),
            };
            entry["binding"] = declared.binding.into();
            entries.push(entry);
        }
        let same =
            |u: &GroupUse| u.pipeline == pipeline.0 && u.index == index && u.group.is(group) && u.offsets == offsets;
        let known = self.groups.iter().position(same);
        let number = known.unwrap_or(self.groups.len());
        let name = name(group.label(), number);
        if known.is_none() {
            self.groups.push(GroupUse {
                pipeline: pipeline.0,
                index,
                group: group.clone(),
                offsets: offsets.to_vec(),
            });
            let described = json!({ "pipeline": pipeline.1, "group": index, "entries": entries });
            self.add("bindGroups", &name, described);
        }
        Ok(name)
    }
}

/// Every surface of a texture, in the order of a job's `data`.
fn surfaces(t: &Texture) -> Vec<Surface> {
    let info = t.format().info();
    let aspects: &[Aspect] = if info.depth && info.stencil {
        &[Aspect::All, Aspect::Stencil]
    } else {
        &[Aspect::All]
    };
    let n = t.size().depth_or_array_layers;
    let mut all = Vec::new();
    for &aspect in aspects {
        for level in 0..t.mip_level_count() {
            let layers = match t.dimension() {
                TextureDimension::D3 => (n >> level).max(1),
                _ => n,
            };
            for layer in 0..layers {
                all.extend((0..t.sample_count()).map(|sample| Surface {
                    aspect,
                    level,
                    layer,
                    sample,
                }));
            }
        }
    }
    all
}

fn describe_view(v: &TextureView) -> Value {
    let r = v.raster();
    let ((base_level, levels), (base_layer, layers)) = (r.levels(), r.layers());
    json!({
        "format": v.format().name(),
        "dimension": match v.dimension() {
            TextureViewDimension::D1 => "1d",
            TextureViewDimension::D2 => "2d",
            TextureViewDimension::D2Array => "2d-array",
            TextureViewDimension::Cube => "cube",
            TextureViewDimension::CubeArray => "cube-array",
            TextureViewDimension::D3 => "3d",
        },
        "aspect": aspect(r.aspect()),
        "baseMipLevel": base_level,
        "mipLevelCount": levels,
        "baseArrayLayer": base_layer,
        "arrayLayerCount": layers,
    })
}

pub(super) fn aspect(a: Aspect) -> &'static str {
    match a {
        Aspect::All => "all",
        Aspect::Depth => "depth-only",
        Aspect::Stencil => "stencil-only",
    }
}

fn address(mode: AddressMode) -> &'static str {
    match mode {
        AddressMode::ClampToEdge => "clamp-to-edge",
        AddressMode::Repeat => "repeat",
        AddressMode::MirrorRepeat => "mirror-repeat",
        AddressMode::MirrorOnce => "mirror-once",
        AddressMode::ClampToBorder => "clamp-to-border",
    }
}

fn filter(mode: FilterMode) -> &'static str {
    match mode {
        FilterMode::Nearest => "nearest",
        FilterMode::Linear => "linear",
    }
}

fn comparison(function: CompareFunction) -> &'static str {
    match function {
        CompareFunction::Never => "never",
        CompareFunction::Less => "less",
        CompareFunction::Equal => "equal",
        CompareFunction::LessEqual => "less-equal",
        CompareFunction::Greater => "greater",
        CompareFunction::NotEqual => "not-equal",
        CompareFunction::GreaterEqual => "greater-equal",
        CompareFunction::Always => "always",
    }
}

fn target(t: &quadrille_raster::pipeline::ColorTargetState) -> Value {
    let part = |b: &BlendComponent| {
        json!({
            "operation": b.operation.name(),
            "srcFactor": b.src_factor.name(),
            "dstFactor": b.dst_factor.name(),
        })
    };
    let mut target = json!({ "format": t.format.name(), "writeMask": t.write_mask });
    if let Some(blend) = &t.blend {
        target["blend"] = json!({ "color": part(&blend.color), "alpha": part(&blend.alpha) });
    }
    target
}

fn depth_stencil(d: &DepthStencilState) -> Value {
    let face = |f: &StencilFaceState| {
        json!({
            "compare": f.compare.name(),
            "failOp": f.fail_op.name(),
            "depthFailOp": f.depth_fail_op.name(),
            "passOp": f.pass_op.name(),
        })
    };
    json!({
        "format": d.format.name(),
        "depthWriteEnabled": d.depth_write_enabled,
        "depthCompare": d.depth_compare.name(),
        "stencilFront": face(&d.stencil_front),
        "stencilBack": face(&d.stencil_back),
        "stencilReadMask": d.stencil_read_mask,
        "stencilWriteMask": d.stencil_write_mask,
        "depthBias": d.depth_bias,
        "depthBiasSlopeScale": d.depth_bias_slope_scale,
        "depthBiasClamp": d.depth_bias_clamp,
    })
}
