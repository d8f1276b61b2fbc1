//! Bind groups: the resources that shaders see, checked against their layout when they are made.

use super::buffer::{Buffer, BufferError};
use super::device::{Device, Shared};
use super::label::Label;
use super::layout::{
    BindGroupLayout, BindGroupLayoutEntry, BindingType, BufferBindingType, SamplerBindingType, format_serves,
};
use super::sampler::Sampler;
use super::texture::{TextureError, TextureView};
use super::usage::{BufferUsages, TextureUsages};
use quadrille_raster::sampler::{SampledView, StorageView};
use std::num::NonZeroU64;
use std::sync::Arc;

/// Why a layout or bind group was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BindError {
    /// A bind group layout's entry.
    #[error("bind group layout {label}, binding {binding}: {what}")]
    Layout {
        /// The layout.
        label: Label,
        /// The binding.
        binding: u32,
        /// What is wrong and what would be right.
        what: String,
    },
    /// A pipeline layout.
    #[error("pipeline layout {label}: {what}")]
    PipelineLayout {
        /// The layout.
        label: Label,
        /// What is wrong and what would be right.
        what: String,
    },
    /// A pipeline has no such group.
    #[error("pipeline {label}: it has no bind group {group}; its shaders use {groups} groups")]
    NoGroup {
        /// The pipeline.
        label: Label,
        /// The group asked for.
        group: u32,
        /// How many there are.
        groups: u32,
    },
    /// A bind group as a whole.
    #[error("bind group {label}: {what}")]
    Group {
        /// The bind group.
        label: Label,
        /// What is wrong and what would be right.
        what: String,
    },
    /// An entry of a bind group.
    #[error("bind group {label}, binding {binding}: {what}")]
    Entry {
        /// The bind group.
        label: Label,
        /// The binding.
        binding: u32,
        /// What is wrong and what would be right.
        what: String,
    },
}

/// Part of a buffer.
#[derive(Clone, Copy, Debug)]
pub struct BufferBinding<'a> {
    /// The buffer.
    pub buffer: &'a Buffer,
    /// First byte.
    pub offset: u64,
    /// Bytes; to the end of the buffer if left out.
    pub size: Option<NonZeroU64>,
}

/// What is bound.
#[derive(Clone, Copy, Debug)]
pub enum BindingResource<'a> {
    /// Part of a buffer.
    Buffer(BufferBinding<'a>),
    /// A texture.
    TextureView(&'a TextureView),
    /// A sampler.
    Sampler(&'a Sampler),
}

impl<'a> From<&'a Buffer> for BindingResource<'a> {
    fn from(buffer: &'a Buffer) -> Self {
        BindingResource::Buffer(BufferBinding {
            buffer,
            offset: 0,
            size: None,
        })
    }
}

impl<'a> From<&'a TextureView> for BindingResource<'a> {
    fn from(view: &'a TextureView) -> Self {
        BindingResource::TextureView(view)
    }
}

impl<'a> From<&'a Sampler> for BindingResource<'a> {
    fn from(sampler: &'a Sampler) -> Self {
        BindingResource::Sampler(sampler)
    }
}

/// An entry of a bind group.
#[derive(Clone, Copy, Debug)]
pub struct BindGroupEntry<'a> {
    /// Its number.
    pub binding: u32,
    /// What is bound.
    pub resource: BindingResource<'a>,
}

impl<'a> BindGroupEntry<'a> {
    /// Binds a whole buffer, a texture view or a sampler.
    pub fn new(binding: u32, resource: impl Into<BindingResource<'a>>) -> Self {
        BindGroupEntry {
            binding,
            resource: resource.into(),
        }
    }
}

/// Describes a bind group.
#[derive(Clone, Copy, Debug)]
pub struct BindGroupDescriptor<'a> {
    /// For errors.
    pub label: Option<&'a str>,
    /// The layout that it fills.
    pub layout: &'a BindGroupLayout,
    /// One entry for every binding of the layout, in any order.
    pub entries: &'a [BindGroupEntry<'a>],
}

/// Resources that shaders see. Clones are the same group.
#[derive(Clone, Debug)]
pub struct BindGroup(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    label: Label,
    device: Arc<Shared>,
    layout: BindGroupLayout,
    /// As the layout's entries.
    resources: Vec<Bound>,
    /// Places in `resources` whose offsets are dynamic, by binding.
    dynamic: Vec<usize>,
}

/// A checked binding.
#[derive(Clone, Debug)]
pub(super) enum Bound {
    Buffer {
        buffer: Buffer,
        offset: u64,
        size: u64,
    },
    Texture(TextureView, Arc<SampledView>),
    /// A storage texture that shaders write.
    Storage(TextureView, Arc<StorageView>),
    Sampler(Sampler),
}

impl Device {
    /// Makes a bind group.
    pub fn create_bind_group(&self, d: &BindGroupDescriptor<'_>) -> Result<BindGroup, BindError> {
        let label = Label::new(d.label);
        let wrong = |what: String| BindError::Group {
            label: label.clone(),
            what,
        };
        if d.layout.device_id() != self.shared().id {
            return Err(wrong(format!("layout {} belongs to another device", d.layout.label())));
        }
        let mut resources = Vec::with_capacity(d.layout.entries().len());
        let mut dynamic = Vec::new();
        for declared in d.layout.entries() {
            let mut given = d.entries.iter().filter(|e| e.binding == declared.binding);
            let wrong = |what: String| BindError::Entry {
                label: label.clone(),
                binding: declared.binding,
                what,
            };
            let entry = given.next().ok_or_else(|| {
                wrong(format!(
                    "nothing is bound; the layout asks for {}",
                    declared.ty.describe()
                ))
            })?;
            if given.next().is_some() {
                return Err(wrong("the binding is given twice".into()));
            }
            if let BindingType::Buffer {
                has_dynamic_offset: true,
                ..
            } = declared.ty
            {
                dynamic.push(resources.len());
            }
            resources.push(self.bind(declared, &entry.resource).map_err(wrong)?);
        }
        if let Some(extra) = d.entries.iter().find(|e| {
            d.layout
                .entries()
                .binary_search_by_key(&e.binding, |l| l.binding)
                .is_err()
        }) {
            return Err(BindError::Entry {
                label,
                binding: extra.binding,
                what: "the layout has no such binding (an automatic layout has only what the shaders use)".into(),
            });
        }
        Ok(BindGroup(Arc::new(Inner {
            label,
            device: self.shared().clone(),
            layout: d.layout.clone(),
            resources,
            dynamic,
        })))
    }

    fn bind(&self, declared: &BindGroupLayoutEntry, given: &BindingResource<'_>) -> Result<Bound, String> {
        let id = self.shared().id;
        let foreign = |kind: &str, label: &Label| format!("{kind} {label} belongs to another device");
        match (given, &declared.ty) {
            (
                BindingResource::Buffer(b),
                BindingType::Buffer {
                    ty, min_binding_size, ..
                },
            ) => {
                if b.buffer.device_id() != id {
                    return Err(foreign("buffer", b.buffer.label()));
                }
                self.bind_buffer(b, *ty, *min_binding_size)
            }
            (BindingResource::TextureView(view), BindingType::Texture { .. } | BindingType::StorageTexture { .. }) => {
                if view.texture().device_id() != id {
                    return Err(foreign("texture", view.label()));
                }
                bind_texture(view, &declared.ty)
            }
            (BindingResource::Sampler(sampler), BindingType::Sampler(ty)) => {
                if sampler.device_id() != id {
                    return Err(foreign("sampler", sampler.label()));
                }
                match ty {
                    SamplerBindingType::Comparison if !sampler.is_comparison() => Err(format!(
                        "sampler {} has no `compare`, but the shader compares with it",
                        sampler.label()
                    )),
                    SamplerBindingType::Filtering | SamplerBindingType::NonFiltering if sampler.is_comparison() => {
                        Err(format!(
                            "sampler {} is a comparison sampler, but the shader doesn't compare with it",
                            sampler.label()
                        ))
                    }
                    SamplerBindingType::NonFiltering if sampler.is_filtering() => Err(format!(
                        "sampler {} has a linear filter, but the layout excludes that",
                        sampler.label()
                    )),
                    _ => Ok(Bound::Sampler((*sampler).clone())),
                }
            }
            (BindingResource::Buffer(b), ty) => Err(format!(
                "buffer {} is bound, but the layout asks for {}",
                b.buffer.label(),
                ty.describe()
            )),
            (BindingResource::TextureView(view), ty) => Err(format!(
                "texture {} is bound, but the layout asks for {}",
                view.label(),
                ty.describe()
            )),
            (BindingResource::Sampler(s), ty) => Err(format!(
                "sampler {} is bound, but the layout asks for {}",
                s.label(),
                ty.describe()
            )),
        }
    }

    fn bind_buffer(&self, b: &BufferBinding<'_>, ty: BufferBindingType, least: u64) -> Result<Bound, String> {
        let limits = self.limits();
        let (usage, what, align, most) = match ty {
            BufferBindingType::Uniform => (
                BufferUsages::UNIFORM,
                "a uniform binding",
                limits.min_uniform_buffer_offset_alignment,
                limits.max_uniform_buffer_binding_size,
            ),
            BufferBindingType::ReadOnlyStorage | BufferBindingType::Storage => (
                BufferUsages::STORAGE,
                "a storage binding",
                limits.min_storage_buffer_offset_alignment,
                limits.max_storage_buffer_binding_size,
            ),
        };
        let buffer_error = |e: BufferError| e.to_string();
        b.buffer.require(usage, what).map_err(buffer_error)?;
        let rest = b.buffer.size().saturating_sub(b.offset);
        let size = b.size.map_or(rest, NonZeroU64::get);
        b.buffer.range(what, b.offset, size).map_err(buffer_error)?;
        if !b.offset.is_multiple_of(u64::from(align)) {
            return Err(format!("offset {} is not a multiple of {align}", b.offset));
        }
        if size == 0 || size < least {
            return Err(format!(
                "{size} bytes of buffer {} are bound, but the shader needs {}",
                b.buffer.label(),
                least.max(1)
            ));
        }
        if size > most {
            return Err(format!(
                "{size} bytes of buffer {} are bound; {what} has at most {most}",
                b.buffer.label()
            ));
        }
        Ok(Bound::Buffer {
            buffer: b.buffer.clone(),
            offset: b.offset,
            size,
        })
    }
}

fn bind_texture(view: &TextureView, ty: &BindingType) -> Result<Bound, String> {
    let texture_error = |e: TextureError| e.to_string();
    let (format, samples) = (view.format(), view.texture().sample_count());
    let mismatch = |what: String| {
        format!(
            "texture {}: {what}; the layout asks for {}",
            view.label(),
            ty.describe()
        )
    };
    match ty {
        BindingType::Texture {
            sample_type,
            view_dimension,
            multisampled,
        } => {
            view.texture()
                .require(TextureUsages::TEXTURE_BINDING, "a texture binding")
                .map_err(texture_error)?;
            let format = format.aspect_format(view.raster().aspect()).unwrap_or(format);
            if !format_serves(format, *sample_type) {
                return Err(mismatch(format!("format {format}")));
            }
            if view.dimension() != *view_dimension {
                return Err(mismatch(format!("a view of {:?}", view.dimension())));
            }
            if (samples > 1) != *multisampled {
                return Err(mismatch(format!("{samples} samples a texel")));
            }
        }
        BindingType::StorageTexture {
            format: wanted,
            view_dimension,
            writable,
            ..
        } => {
            view.texture()
                .require(TextureUsages::STORAGE_BINDING, "a storage texture binding")
                .map_err(texture_error)?;
            if format != *wanted || view.dimension() != *view_dimension {
                return Err(mismatch(format!("a view of {:?} and {format}", view.dimension())));
            }
            if *writable {
                let stored = StorageView::new(view.raster()).map_err(|e| view.texture().refused(e).to_string())?;
                return Ok(Bound::Storage(view.clone(), stored));
            }
        }
        BindingType::Buffer { .. } | BindingType::Sampler(_) => return Err(mismatch("a texture".into())),
    }
    let sampled = SampledView::new(view.raster()).map_err(|e| view.texture().refused(e).to_string())?;
    Ok(Bound::Texture(view.clone(), sampled))
}

impl BindGroup {
    /// Its label.
    pub fn label(&self) -> &Label {
        &self.0.label
    }

    /// The layout that it fills.
    pub fn layout(&self) -> &BindGroupLayout {
        &self.0.layout
    }

    pub(super) fn device_id(&self) -> u64 {
        self.0.device.id
    }

    /// As the layout's entries.
    pub(super) fn resources(&self) -> &[Bound] {
        &self.0.resources
    }

    /// Places of the resources that take a dynamic offset, by binding.
    pub(super) fn dynamic(&self) -> &[usize] {
        &self.0.dynamic
    }

    pub(super) fn is(&self, other: &BindGroup) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}
