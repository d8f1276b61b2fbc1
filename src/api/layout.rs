//! Layouts: what a pipeline's bind groups hold.

use super::bind_group::BindError;
use super::device::{Device, Shared};
use super::label::Label;
use super::texture::TextureViewDimension;
use super::usage::ShaderStages;
use quadrille_frontend::ir::{Dim, ResourceClass, SampleKind};
use quadrille_raster::format::{Kind, TextureFormat};
use std::collections::BTreeSet;
use std::sync::Arc;

/// What a buffer binding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BufferBindingType {
    /// Read-only, up to 64 KiB.
    Uniform,
    /// Read-only storage.
    ReadOnlyStorage,
    /// Storage that shaders may write.
    Storage,
}

/// What shaders get from a texture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TextureSampleType {
    /// f32 that filtering samplers may read.
    Float,
    /// f32 that is only loaded or read by non-filtering samplers.
    UnfilterableFloat,
    /// Depth.
    Depth,
    /// i32.
    Sint,
    /// u32.
    Uint,
}

/// What a sampler binding takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SamplerBindingType {
    /// Any sampler without comparison.
    Filtering,
    /// Samplers with nearest filters.
    NonFiltering,
    /// Comparison samplers.
    Comparison,
}

/// What a binding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BindingType {
    /// A buffer.
    Buffer {
        /// Uniform or storage.
        ty: BufferBindingType,
        /// Whether an offset is added when the group is set.
        has_dynamic_offset: bool,
        /// Fewest bytes that may be bound; 0: whatever the shaders need, checked at the draw.
        min_binding_size: u64,
    },
    /// A sampled texture.
    Texture {
        /// What shaders get.
        sample_type: TextureSampleType,
        /// Shape.
        view_dimension: TextureViewDimension,
        /// Whether it has several samples a texel.
        multisampled: bool,
    },
    /// A sampler.
    Sampler(SamplerBindingType),
    /// A texture that shaders store to.
    StorageTexture {
        /// Format.
        format: TextureFormat,
        /// Shape.
        view_dimension: TextureViewDimension,
        /// Whether shaders load from it.
        readable: bool,
        /// Whether shaders store to it.
        writable: bool,
    },
}

impl BindingType {
    /// What errors call it.
    pub(super) fn describe(&self) -> String {
        match self {
            BindingType::Buffer { ty, .. } => match ty {
                BufferBindingType::Uniform => "a uniform buffer".into(),
                BufferBindingType::ReadOnlyStorage => "a read-only storage buffer".into(),
                BufferBindingType::Storage => "a storage buffer".into(),
            },
            BindingType::Texture {
                sample_type,
                view_dimension,
                multisampled,
            } => format!(
                "a {}texture of {view_dimension:?} and {sample_type:?}",
                if *multisampled { "multisampled " } else { "" }
            ),
            BindingType::Sampler(SamplerBindingType::Comparison) => "a comparison sampler".into(),
            BindingType::Sampler(SamplerBindingType::Filtering) => "a sampler".into(),
            BindingType::Sampler(SamplerBindingType::NonFiltering) => "a non-filtering sampler".into(),
            BindingType::StorageTexture {
                format, view_dimension, ..
            } => format!("a storage texture of {view_dimension:?} and {format}"),
        }
    }

    /// The binding that a shader's resource asks for; `None` for what WebGPU can't bind. `filtered` says whether the
    /// shaders sample the texture with a filtering sampler.
    pub(super) fn of_resource(class: &ResourceClass, filtered: bool) -> Option<BindingType> {
        Some(match class {
            ResourceClass::Uniform { min_size } => BindingType::Buffer {
                ty: BufferBindingType::Uniform,
                has_dynamic_offset: false,
                min_binding_size: *min_size,
            },
            ResourceClass::Storage { writable, min_size } => BindingType::Buffer {
                ty: if *writable {
                    BufferBindingType::Storage
                } else {
                    BufferBindingType::ReadOnlyStorage
                },
                has_dynamic_offset: false,
                min_binding_size: *min_size,
            },
            ResourceClass::Texture {
                dim,
                array,
                multisampled,
                sample,
            } => BindingType::Texture {
                sample_type: match sample {
                    SampleKind::Float if filtered => TextureSampleType::Float,
                    SampleKind::Float | SampleKind::UnfilterableFloat => TextureSampleType::UnfilterableFloat,
                    SampleKind::Depth => TextureSampleType::Depth,
                    SampleKind::Sint => TextureSampleType::Sint,
                    SampleKind::Uint => TextureSampleType::Uint,
                },
                view_dimension: view_dimension(*dim, *array)?,
                multisampled: *multisampled,
            },
            ResourceClass::StorageTexture {
                dim,
                array,
                format,
                readable,
                writable,
            } => BindingType::StorageTexture {
                format: format.parse().ok()?,
                view_dimension: view_dimension(*dim, *array)?,
                readable: *readable,
                writable: *writable,
            },
            ResourceClass::Sampler { comparison: true } => BindingType::Sampler(SamplerBindingType::Comparison),
            ResourceClass::Sampler { comparison: false } => BindingType::Sampler(SamplerBindingType::Filtering),
            ResourceClass::Immediate { .. } => return None,
        })
    }

    /// Whether a layout with this binding serves a shader that asks for `wanted`.
    pub(super) fn serves(&self, wanted: &BindingType) -> bool {
        use BindingType::{Buffer, Sampler, StorageTexture, Texture};
        match (self, wanted) {
            (
                Buffer {
                    ty, min_binding_size, ..
                },
                Buffer {
                    ty: wanted_ty,
                    min_binding_size: needed,
                    ..
                },
            ) => ty == wanted_ty && (*min_binding_size == 0 || min_binding_size >= needed),
            (
                Texture {
                    sample_type: have,
                    view_dimension: d,
                    multisampled: m,
                },
                Texture {
                    sample_type: want,
                    view_dimension: wanted_d,
                    multisampled: wanted_m,
                },
            ) => {
                use TextureSampleType::{Depth, Float, UnfilterableFloat};
                // Depth may be declared as float texture and is then read as (depth, 0, 0, 1).
                let kinds = have == want
                    || matches!(
                        (have, want),
                        (Float | Depth, UnfilterableFloat) | (Float, Depth) | (Depth, Float)
                    );
                kinds && d == wanted_d && m == wanted_m
            }
            (Sampler(have), Sampler(want)) => {
                (*have == SamplerBindingType::Comparison) == (*want == SamplerBindingType::Comparison)
            }
            (StorageTexture { .. }, StorageTexture { .. }) => self == wanted,
            _ => false,
        }
    }
}

fn view_dimension(dim: Dim, array: bool) -> Option<TextureViewDimension> {
    Some(match (dim, array) {
        (Dim::D1, false) => TextureViewDimension::D1,
        (Dim::D2, false) => TextureViewDimension::D2,
        (Dim::D2, true) => TextureViewDimension::D2Array,
        (Dim::Cube, false) => TextureViewDimension::Cube,
        (Dim::Cube, true) => TextureViewDimension::CubeArray,
        (Dim::D3, false) => TextureViewDimension::D3,
        (Dim::D1 | Dim::D3, true) => return None,
    })
}

/// Whether a texture of that format may be bound as that sample type.
pub(super) fn format_serves(format: TextureFormat, ty: TextureSampleType) -> bool {
    let info = format.info();
    match ty {
        TextureSampleType::Depth => info.depth,
        TextureSampleType::Sint => info.kind == Kind::Sint,
        TextureSampleType::Uint => info.kind == Kind::Uint || (info.stencil && !info.depth),
        TextureSampleType::Float => !matches!(info.kind, Kind::Sint | Kind::Uint) && info.filterable,
        TextureSampleType::UnfilterableFloat => !matches!(info.kind, Kind::Sint | Kind::Uint),
    }
}

/// A binding of a layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BindGroupLayoutEntry {
    /// Its number.
    pub binding: u32,
    /// Stages that may use it.
    pub visibility: ShaderStages,
    /// What it is.
    pub ty: BindingType,
}

/// Describes a bind group layout.
#[derive(Clone, Copy, Debug, Default)]
pub struct BindGroupLayoutDescriptor<'a> {
    /// For errors.
    pub label: Option<&'a str>,
    /// The bindings, in any order.
    pub entries: &'a [BindGroupLayoutEntry],
}

/// What a bind group holds. Clones are the same layout.
#[derive(Clone, Debug)]
pub struct BindGroupLayout(Arc<LayoutInner>);

#[derive(Debug)]
struct LayoutInner {
    label: Label,
    device: Arc<Shared>,
    /// Sorted by binding.
    entries: Vec<BindGroupLayoutEntry>,
    /// The pipeline that an automatic layout belongs to; groups of one such layout don't go with another.
    automatic: Option<u64>,
}

impl Device {
    /// Makes a bind group layout.
    pub fn create_bind_group_layout(&self, d: &BindGroupLayoutDescriptor<'_>) -> Result<BindGroupLayout, BindError> {
        let label = Label::new(d.label);
        let limit = self.limits().max_bindings_per_bind_group;
        let mut seen = BTreeSet::new();
        for entry in d.entries {
            let invalid = |what: String| BindError::Layout {
                label: label.clone(),
                binding: entry.binding,
                what,
            };
            if entry.binding >= limit {
                return Err(invalid(format!("binding numbers are below {limit}")));
            }
            if !seen.insert(entry.binding) {
                return Err(invalid("the binding is given twice".into()));
            }
            if let BindingType::Buffer {
                ty: BufferBindingType::Uniform,
                min_binding_size,
                ..
            } = entry.ty
            {
                let most = self.limits().max_uniform_buffer_binding_size;
                if min_binding_size > most {
                    return Err(invalid(format!(
                        "{min_binding_size} bytes; a uniform binding has at most {most}"
                    )));
                }
            }
        }
        Ok(BindGroupLayout::new(self.shared(), label, d.entries.to_vec(), None))
    }
}

impl BindGroupLayout {
    pub(super) fn new(
        device: &Arc<Shared>,
        label: Label,
        mut entries: Vec<BindGroupLayoutEntry>,
        automatic: Option<u64>,
    ) -> BindGroupLayout {
        entries.sort_by_key(|e| e.binding);
        BindGroupLayout(Arc::new(LayoutInner {
            label,
            device: device.clone(),
            entries,
            automatic,
        }))
    }

    /// Its label.
    pub fn label(&self) -> &Label {
        &self.0.label
    }

    /// The bindings, by number.
    pub fn entries(&self) -> &[BindGroupLayoutEntry] {
        &self.0.entries
    }

    pub(super) fn device_id(&self) -> u64 {
        self.0.device.id
    }

    /// Whether bind groups of one layout go with pipelines of the other.
    pub(super) fn goes_with(&self, other: &BindGroupLayout) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
            || (self.0.automatic == other.0.automatic && self.0.entries == other.0.entries)
            // An empty group goes with everything.
            || (self.0.entries.is_empty() && other.0.entries.is_empty())
    }
}

/// Describes a pipeline layout.
#[derive(Clone, Copy, Debug, Default)]
pub struct PipelineLayoutDescriptor<'a> {
    /// For errors.
    pub label: Option<&'a str>,
    /// Layouts of group 0, 1, ...
    pub bind_group_layouts: &'a [&'a BindGroupLayout],
}

/// The layouts of all groups of a pipeline. Clones are the same layout.
#[derive(Clone, Debug)]
pub struct PipelineLayout(Arc<PipelineLayoutInner>);

#[derive(Debug)]
struct PipelineLayoutInner {
    label: Label,
    device: Arc<Shared>,
    groups: Vec<BindGroupLayout>,
}

impl Device {
    /// Makes a pipeline layout.
    pub fn create_pipeline_layout(&self, d: &PipelineLayoutDescriptor<'_>) -> Result<PipelineLayout, BindError> {
        let label = Label::new(d.label);
        let invalid = |what: String| BindError::PipelineLayout {
            label: label.clone(),
            what,
        };
        let limits = self.limits();
        if d.bind_group_layouts.len() > limits.max_bind_groups as usize {
            return Err(invalid(format!(
                "{} bind groups, at most {}",
                d.bind_group_layouts.len(),
                limits.max_bind_groups
            )));
        }
        let (mut uniforms, mut storages) = (0, 0);
        for layout in d.bind_group_layouts {
            if layout.device_id() != self.shared().id {
                return Err(invalid(format!(
                    "bind group layout {} belongs to another device",
                    layout.label()
                )));
            }
            for entry in layout.entries() {
                match entry.ty {
                    BindingType::Buffer {
                        ty: BufferBindingType::Uniform,
                        has_dynamic_offset: true,
                        ..
                    } => uniforms += 1,
                    BindingType::Buffer {
                        has_dynamic_offset: true,
                        ..
                    } => storages += 1,
                    _ => {}
                }
            }
        }
        let most = [
            (
                uniforms,
                limits.max_dynamic_uniform_buffers_per_pipeline_layout,
                "uniform",
            ),
            (
                storages,
                limits.max_dynamic_storage_buffers_per_pipeline_layout,
                "storage",
            ),
        ];
        for (count, limit, what) in most {
            if count > limit {
                return Err(invalid(format!("{count} dynamic {what} buffers, at most {limit}")));
            }
        }
        Ok(PipelineLayout(Arc::new(PipelineLayoutInner {
            label,
            device: self.shared().clone(),
            groups: d.bind_group_layouts.iter().map(|&l| l.clone()).collect(),
        })))
    }
}

impl PipelineLayout {
    /// Its label.
    pub fn label(&self) -> &Label {
        &self.0.label
    }

    /// Layouts by group.
    pub(super) fn groups(&self) -> &[BindGroupLayout] {
        &self.0.groups
    }

    pub(super) fn device_id(&self) -> u64 {
        self.0.device.id
    }
}
