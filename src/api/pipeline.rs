//! Render pipelines: shaders and state, compiled as one.

use super::bind_group::BindError;
use super::device::{Device, Shared};
use super::label::Label;
use super::layout::{BindGroupLayout, BindGroupLayoutEntry, BindingType, PipelineLayout};
use super::shader::{ShaderError, ShaderModule, filtered_textures};
use super::usage::ShaderStages;
use quadrille_frontend::ir::{Binding, ResourceClass, Shader, Stage};
use quadrille_raster::pipeline as raster;
use quadrille_raster::pipeline::{
    ColorTargetState, DepthStencilState, ExtendedState, MultisampleState, PipelineStats, PrimitiveState, Rules,
    VertexBufferLayout, VertexStepMode,
};
use std::sync::Arc;

/// The vertex stage of a pipeline.
#[derive(Clone, Copy, Debug)]
pub struct VertexState<'a> {
    /// The shader.
    pub module: &'a ShaderModule,
    /// Its entry point; `None` where it has only one for the stage.
    pub entry_point: Option<&'a str>,
    /// Values of the shader's `override` constants, by name or by `@id` in decimal.
    pub constants: &'a [(&'a str, f64)],
    /// Vertex buffers by slot.
    pub buffers: &'a [VertexBufferLayout],
}

/// The fragment stage of a pipeline.
#[derive(Clone, Copy, Debug)]
pub struct FragmentState<'a> {
    /// The shader.
    pub module: &'a ShaderModule,
    /// Its entry point; `None` where it has only one for the stage.
    pub entry_point: Option<&'a str>,
    /// Values of the shader's `override` constants, by name or by `@id` in decimal.
    pub constants: &'a [(&'a str, f64)],
    /// Colour targets by location.
    pub targets: &'a [Option<ColorTargetState>],
}

impl<'a> VertexState<'a> {
    /// An entry point without constants.
    pub const fn new(module: &'a ShaderModule, entry_point: &'a str, buffers: &'a [VertexBufferLayout]) -> Self {
        VertexState {
            module,
            entry_point: Some(entry_point),
            constants: &[],
            buffers,
        }
    }
}

impl<'a> FragmentState<'a> {
    /// An entry point without constants.
    pub const fn new(module: &'a ShaderModule, entry_point: &'a str, targets: &'a [Option<ColorTargetState>]) -> Self {
        FragmentState {
            module,
            entry_point: Some(entry_point),
            constants: &[],
            targets,
        }
    }
}

/// Describes a render pipeline.
#[derive(Clone, Debug)]
pub struct RenderPipelineDescriptor<'a> {
    /// For errors.
    pub label: Option<&'a str>,
    /// What its bind groups hold; `None` takes it from the shaders.
    pub layout: Option<&'a PipelineLayout>,
    /// The vertex stage.
    pub vertex: VertexState<'a>,
    /// How vertices form primitives.
    pub primitive: PrimitiveState,
    /// Depth and stencil.
    pub depth_stencil: Option<DepthStencilState>,
    /// Multisampling.
    pub multisample: MultisampleState,
    /// The fragment stage; none for depth-only passes.
    pub fragment: Option<FragmentState<'a>>,
    /// Whose rules hold where WebGPU and Direct3D differ.
    pub rules: Rules,
    /// State beyond WebGPU's: logic operations, depth bounds.
    pub extended: ExtendedState,
}

impl<'a> RenderPipelineDescriptor<'a> {
    /// Triangles by these entry points, everything else by default.
    pub fn new(vertex: VertexState<'a>, fragment: Option<FragmentState<'a>>) -> Self {
        RenderPipelineDescriptor {
            label: None,
            layout: None,
            vertex,
            primitive: PrimitiveState::default(),
            depth_stencil: None,
            multisample: MultisampleState::default(),
            fragment,
            rules: Rules::default(),
            extended: ExtendedState::default(),
        }
    }
}

/// Why a pipeline was refused.
#[derive(Clone, Debug, thiserror::Error)]
pub enum RenderPipelineError {
    /// State, interface between the stages, or compilation.
    #[error(transparent)]
    Refused(#[from] raster::PipelineError),
    /// An entry point could not be used.
    #[error("pipeline {label}: its {stage} shader can't be used")]
    Shader {
        /// The pipeline.
        label: Label,
        /// "vertex" or "fragment".
        stage: &'static str,
        /// What is wrong with the shader.
        source: ShaderError,
    },
    /// The shaders don't go with the layout, or no layout can be made for them.
    #[error("pipeline {label}, group {group}, binding {binding} ('{name}'): {what}")]
    Layout {
        /// The pipeline.
        label: Label,
        /// The bind group.
        group: u32,
        /// The binding.
        binding: u32,
        /// The resource's name in the shader.
        name: String,
        /// What is wrong and what would be right.
        what: String,
    },
    /// Something that isn't implemented.
    #[error("pipeline {label}: {what} is not supported")]
    Unsupported {
        /// The pipeline.
        label: Label,
        /// What is missing.
        what: String,
    },
    /// A limit or a rule of WebGPU.
    #[error("pipeline {label}: {what}")]
    Invalid {
        /// The pipeline.
        label: Label,
        /// What is wrong and what would be right.
        what: String,
    },
}

/// Shaders and state, compiled. Clones are the same pipeline; its code is freed with the last one.
#[derive(Clone, Debug)]
pub struct RenderPipeline(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    label: Label,
    device: Arc<Shared>,
    pipeline: Arc<raster::RenderPipeline>,
    /// What it was made from.
    described: Described,
    groups: Vec<BindGroupLayout>,
    slots: Vec<SlotSource>,
    /// Slot of the immediates.
    immediates: Option<u32>,
    /// Bytes that each vertex buffer's last element takes, and where the next begins.
    vertex_buffers: Vec<VertexFootprint>,
}

/// What a pipeline was made from, for captures.
#[derive(Debug)]
pub(super) struct Described {
    pub vertex: DescribedStage,
    pub buffers: Vec<VertexBufferLayout>,
    pub fragment: Option<DescribedStage>,
    pub targets: Vec<Option<ColorTargetState>>,
    pub primitive: PrimitiveState,
    pub depth_stencil: Option<DepthStencilState>,
    pub multisample: MultisampleState,
    pub rules: Rules,
    pub extended: ExtendedState,
}

/// A stage of it.
#[derive(Debug)]
pub(super) struct DescribedStage {
    pub module: ShaderModule,
    pub entry_point: Option<String>,
    pub constants: Vec<(String, f64)>,
}

impl Described {
    fn new(d: &RenderPipelineDescriptor<'_>) -> Described {
        let stage = |module: &ShaderModule, entry_point: Option<&str>, constants: &[(&str, f64)]| DescribedStage {
            module: module.clone(),
            entry_point: entry_point.map(str::to_owned),
            constants: constants.iter().map(|&(n, v)| (n.to_owned(), v)).collect(),
        };
        Described {
            vertex: stage(d.vertex.module, d.vertex.entry_point, d.vertex.constants),
            buffers: d.vertex.buffers.to_vec(),
            fragment: d.fragment.map(|f| stage(f.module, f.entry_point, f.constants)),
            targets: d.fragment.map_or(Vec::new(), |f| f.targets.to_vec()),
            primitive: d.primitive,
            depth_stencil: d.depth_stencil,
            multisample: d.multisample,
            rules: d.rules,
            extended: d.extended,
        }
    }
}

/// Where a pipeline's resource slot comes from.
#[derive(Clone, Copy, Debug)]
pub(super) struct SlotSource {
    pub group: u32,
    /// Place among the group's resources.
    pub place: usize,
    /// Slot of the binding table.
    pub slot: u32,
    /// Bytes that must be bound.
    pub min_size: u64,
    /// Whether the shaders may write it.
    pub writable: bool,
}

/// What draws touch of a vertex buffer.
#[derive(Clone, Copy, Debug)]
pub(super) struct VertexFootprint {
    pub stride: u64,
    /// Bytes of an element that are read; 0 if no attribute is.
    pub last: u64,
    pub step: VertexStepMode,
}

impl Device {
    /// Compiles a pipeline. That takes milliseconds, and any thread may do it.
    pub fn create_render_pipeline(
        &self,
        d: &RenderPipelineDescriptor<'_>,
    ) -> Result<RenderPipeline, RenderPipelineError> {
        let label = Label::new(d.label);
        let invalid = |what: String| RenderPipelineError::Invalid {
            label: label.clone(),
            what,
        };
        let id = self.shared().id;
        let modules = [Some(d.vertex.module), d.fragment.map(|f| f.module)];
        if let Some(foreign) = modules.into_iter().flatten().find(|m| m.device_id() != id) {
            return Err(invalid(format!("shader {} belongs to another device", foreign.label())));
        }
        if d.layout.is_some_and(|l| l.device_id() != id) {
            return Err(invalid("its layout belongs to another device".into()));
        }
        self.check_vertex_buffers(d).map_err(&invalid)?;
        self.check_targets(d).map_err(&invalid)?;

        let failed = |stage| {
            let label = label.clone();
            move |source| RenderPipelineError::Shader { label, stage, source }
        };
        let v = &d.vertex;
        let vertex = v
            .module
            .lower(v.entry_point, Stage::Vertex, v.constants)
            .map_err(failed("vertex"))?;
        let fragment = d
            .fragment
            .map(|f| f.module.lower(f.entry_point, Stage::Fragment, f.constants))
            .transpose()
            .map_err(failed("fragment"))?;
        let mut pipeline = raster::RenderPipeline::new(
            self.shared().executor.as_ref(),
            &raster::PipelineDescriptor {
                label: label.as_str(),
                vertex: &vertex,
                buffers: d.vertex.buffers,
                fragment: fragment.as_ref(),
                targets: d.fragment.map_or(&[], |f| f.targets),
                primitive: d.primitive,
                depth_stencil: d.depth_stencil,
                multisample: d.multisample,
                rules: d.rules,
                extended: d.extended,
            },
        )?;
        // Direct3D's rules judge every language; otherwise WGSL was judged when it was parsed.
        if let (Some(shader), Some(f), Rules::WebGpu) = (&fragment, &d.fragment, d.rules) {
            pipeline.warnings.extend(f.module.gradient_warnings(shader));
        }
        let (groups, slots) = self.lay_out(&label, d.layout, &pipeline, [Some(&vertex), fragment.as_ref()])?;
        let immediates = pipeline
            .slots
            .iter()
            .find(|s| matches!(s.class, ResourceClass::Immediate { .. }));
        let most = self.limits().max_immediate_size;
        if let Some(ResourceClass::Immediate { size }) = immediates.map(|s| &s.class)
            && *size > most
        {
            return Err(invalid(format!("{size} bytes of immediates, at most {most}")));
        }
        let immediates = immediates.map(|s| s.slot);
        let vertex_buffers = d.vertex.buffers.iter().map(footprint).collect();
        Ok(RenderPipeline(Arc::new(Inner {
            label,
            device: self.shared().clone(),
            pipeline: Arc::new(pipeline),
            described: Described::new(d),
            groups,
            slots,
            immediates,
            vertex_buffers,
        })))
    }

    fn check_vertex_buffers(&self, d: &RenderPipelineDescriptor<'_>) -> Result<(), String> {
        let limits = self.limits();
        let buffers = d.vertex.buffers;
        if buffers.len() > limits.max_vertex_buffers as usize {
            return Err(format!(
                "{} vertex buffers, at most {}",
                buffers.len(),
                limits.max_vertex_buffers
            ));
        }
        let mut locations = Vec::new();
        for (slot, buffer) in buffers.iter().enumerate() {
            let stride = buffer.array_stride;
            if stride > u64::from(limits.max_vertex_buffer_array_stride) {
                return Err(format!(
                    "vertex buffer {slot}: an array stride of {stride}, at most {}",
                    limits.max_vertex_buffer_array_stride
                ));
            }
            for a in &buffer.attributes {
                let bytes = u64::from(a.format.size());
                let end = a.offset.saturating_add(bytes);
                let most = if stride == 0 {
                    u64::from(limits.max_vertex_buffer_array_stride)
                } else {
                    stride
                };
                if end > most {
                    return Err(format!(
                        "vertex buffer {slot}: the attribute at location {} ends at byte {end}, beyond the array stride of {most}",
                        a.shader_location
                    ));
                }
                if locations.contains(&a.shader_location) {
                    return Err(format!("location {} has two vertex attributes", a.shader_location));
                }
                locations.push(a.shader_location);
            }
        }
        if locations.len() > limits.max_vertex_attributes as usize {
            return Err(format!(
                "{} vertex attributes, at most {}",
                locations.len(),
                limits.max_vertex_attributes
            ));
        }
        Ok(())
    }

    fn check_targets(&self, d: &RenderPipelineDescriptor<'_>) -> Result<(), String> {
        let targets = d.fragment.map_or(&[][..], |f| f.targets);
        let limits = self.limits();
        if targets.len() > limits.max_color_attachments as usize {
            return Err(format!(
                "{} colour targets, at most {}",
                targets.len(),
                limits.max_color_attachments
            ));
        }
        for (i, target) in targets.iter().enumerate() {
            let Some(target) = target else { continue };
            let info = target.format.info();
            if !info.renderable || info.depth || info.stencil {
                return Err(format!(
                    "target {i}: {} is not a colour format that can be rendered to",
                    info.name
                ));
            }
            if target.write_mask > 15 {
                return Err(format!(
                    "target {i}: the write mask {} is not 0 to 15",
                    target.write_mask
                ));
            }
        }
        if let (Some(ds), Some(bias)) = (&d.depth_stencil, d.depth_stencil.map(|d| d.depth_bias_clamp))
            && !(bias.is_finite() && ds.depth_bias_slope_scale.is_finite())
        {
            return Err("the depth bias is not finite".into());
        }
        Ok(())
    }

    /// Layouts of the groups, and where every slot's resource is.
    fn lay_out(
        &self,
        label: &Label,
        explicit: Option<&PipelineLayout>,
        pipeline: &raster::RenderPipeline,
        shaders: [Option<&Shader>; 2],
    ) -> Result<(Vec<BindGroupLayout>, Vec<SlotSource>), RenderPipelineError> {
        let limits = self.limits();
        let mut wanted: Vec<Vec<BindGroupLayoutEntry>> = Vec::new();
        let mut places = Vec::new();
        for slot in &pipeline.slots {
            if matches!(slot.class, ResourceClass::Immediate { .. }) {
                continue;
            }
            let Binding::WebGpu { group, binding } = slot.binding else {
                return Err(RenderPipelineError::Invalid {
                    label: label.clone(),
                    what: format!("'{}' is bound to a Direct3D register", slot.name),
                });
            };
            let wrong = |what: String| RenderPipelineError::Layout {
                label: label.clone(),
                group,
                binding,
                name: slot.name.clone(),
                what,
            };
            if group >= limits.max_bind_groups {
                return Err(wrong(format!("groups are below {}", limits.max_bind_groups)));
            }
            if binding >= limits.max_bindings_per_bind_group {
                return Err(wrong(format!(
                    "bindings are below {}",
                    limits.max_bindings_per_bind_group
                )));
            }
            let missing = |what: String| RenderPipelineError::Unsupported {
                label: label.clone(),
                what,
            };
            if slot.count != 1 {
                return Err(missing(format!("the binding array '{}'", slot.name)));
            }
            let stores = matches!(slot.class, ResourceClass::StorageTexture { writable: true, .. });
            if stores && slot.vertex {
                return Err(wrong("vertex shaders can't store to textures".into()));
            }
            let filtered = shaders.iter().flatten().any(|s| {
                let filtered = filtered_textures(s);
                s.resources
                    .iter()
                    .any(|(h, r)| r.binding == slot.binding && filtered.get(h.index()) == Some(&true))
            });
            let ty = BindingType::of_resource(&slot.class, filtered)
                .ok_or_else(|| missing(format!("the kind of resource of '{}'", slot.name)))?;
            let mut visibility = ShaderStages::empty();
            visibility.set(ShaderStages::VERTEX, slot.vertex);
            visibility.set(ShaderStages::FRAGMENT, slot.fragment);
            if let Some(layout) = explicit {
                let entries = layout
                    .groups()
                    .get(group as usize)
                    .map_or(&[][..], BindGroupLayout::entries);
                let place = entries
                    .binary_search_by_key(&binding, |e| e.binding)
                    .map_err(|_| wrong(format!("the pipeline layout {} lacks it", layout.label())))?;
                let entry = &entries[place];
                if !entry.visibility.contains(visibility) {
                    return Err(wrong(format!(
                        "the layout shows it to {}, but {visibility} use it",
                        entry.visibility
                    )));
                }
                if !entry.ty.serves(&ty) {
                    return Err(wrong(format!(
                        "the layout has {}, but the shader needs {}{}",
                        entry.ty.describe(),
                        ty.describe(),
                        min_size(&ty).map_or(String::new(), |n| format!(" of at least {n} bytes"))
                    )));
                }
            }
            if wanted.len() <= group as usize {
                wanted.resize_with(group as usize + 1, Vec::new);
            }
            wanted[group as usize].push(BindGroupLayoutEntry {
                binding,
                visibility,
                ty,
            });
            places.push((group, binding, slot.slot, ty));
        }
        let groups: Vec<BindGroupLayout> = match explicit {
            Some(layout) => layout.groups().to_vec(),
            None => {
                let automatic = Some(self.shared().next_id());
                let make = |(i, entries)| {
                    let name = format!("{} group {i}", label.as_str());
                    BindGroupLayout::new(self.shared(), Label::new(Some(&name)), entries, automatic)
                };
                wanted.into_iter().enumerate().map(make).collect()
            }
        };
        let source = |(group, binding, slot, ty): (u32, u32, u32, BindingType)| {
            let entries = groups.get(group as usize).map_or(&[][..], BindGroupLayout::entries);
            let place = entries.binary_search_by_key(&binding, |e| e.binding).ok()?;
            let min_size = min_size(&ty).unwrap_or(0);
            let writable = match ty {
                BindingType::Buffer { ty, .. } => ty == super::layout::BufferBindingType::Storage,
                BindingType::StorageTexture { writable, .. } => writable,
                _ => false,
            };
            Some(SlotSource {
                group,
                place,
                slot,
                min_size,
                writable,
            })
        };
        let slots = places.into_iter().filter_map(source).collect();
        Ok((groups, slots))
    }
}

fn min_size(ty: &BindingType) -> Option<u64> {
    match ty {
        BindingType::Buffer { min_binding_size, .. } => Some(*min_binding_size),
        _ => None,
    }
}

fn footprint(buffer: &VertexBufferLayout) -> VertexFootprint {
    let end = |a: &raster::VertexAttribute| a.offset + u64::from(a.format.size());
    VertexFootprint {
        stride: buffer.array_stride,
        last: buffer.attributes.iter().map(end).max().unwrap_or(0),
        step: buffer.step_mode,
    }
}

impl RenderPipeline {
    /// Its label.
    pub fn label(&self) -> &Label {
        &self.0.label
    }

    /// The layout of a bind group, as given or as the shaders ask for it.
    pub fn get_bind_group_layout(&self, group: u32) -> Result<BindGroupLayout, BindError> {
        self.0
            .groups
            .get(group as usize)
            .cloned()
            .ok_or_else(|| BindError::NoGroup {
                label: self.0.label.clone(),
                group,
                groups: self.0.groups.len() as u32,
            })
    }

    /// What is doubtful in its shaders but allowed, each with its source lines: gradients in divergent control flow of SPIR-V
    /// and GLSL, and under Direct3D's rules with [`GradientDivergence::Warning`](super::GradientDivergence). What a WGSL
    /// text asks to be warned of is told by [`ShaderModule::warnings`].
    pub fn warnings(&self) -> &[String] {
        &self.0.pipeline.warnings
    }

    /// What compiling it cost and made.
    pub fn stats(&self) -> &PipelineStats {
        &self.0.pipeline.stats
    }

    pub(super) fn device_id(&self) -> u64 {
        self.0.device.id
    }

    pub(super) fn raster(&self) -> &Arc<raster::RenderPipeline> {
        &self.0.pipeline
    }

    pub(super) fn described(&self) -> &Described {
        &self.0.described
    }

    pub(super) fn groups(&self) -> &[BindGroupLayout] {
        &self.0.groups
    }

    /// Slot of the immediates, if the shaders have some.
    pub(super) fn immediates(&self) -> Option<u32> {
        self.0.immediates
    }

    pub(super) fn slots(&self) -> &[SlotSource] {
        &self.0.slots
    }

    pub(super) fn vertex_buffers(&self) -> &[VertexFootprint] {
        &self.0.vertex_buffers
    }

    pub(super) fn is(&self, other: &RenderPipeline) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}
