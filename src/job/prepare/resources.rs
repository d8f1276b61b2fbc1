//! Buffers, textures, samplers and query sets of a job.

use super::{Maker, Target};
use crate::job::error::JobError;
use crate::job::load::{Image, described_size};
use crate::job::model;
use crate::job::words::{AspectWord, BufferUsageWord, DimensionWord, QueryWord, TextureUsageWord};
use crate::{
    Buffer, BufferInitDescriptor, BufferUsages, Error, ExtendedSamplerState, Extent3d, PipelineStatisticsTypes,
    QuerySet, QuerySetDescriptor, QueryType, Sampler, SamplerDescriptor, TextureAspect, TextureDescriptor,
    TextureDimension, TextureUsages, TextureView, TextureViewDescriptor, TextureViewDimension,
};
use std::collections::BTreeMap;

impl<'j> Maker<'j, '_> {
    pub(super) fn query_sets(&self) -> Result<BTreeMap<&'j str, QuerySet>, JobError> {
        let mut all = BTreeMap::new();
        for (name, described) in self.job().query_sets.iter() {
            let at = || format!("querySets.{name}");
            let ty = match (described.ty, &described.statistics[..]) {
                (QueryWord::Occlusion, []) => QueryType::Occlusion,
                (QueryWord::Occlusion, _) => {
                    return Err(self.loaded.invalid(at(), "occlusion queries have no `statistics`"));
                }
                (QueryWord::PipelineStatistics, []) => QueryType::PipelineStatistics(PipelineStatisticsTypes::all()),
                (QueryWord::PipelineStatistics, words) => {
                    QueryType::PipelineStatistics(words.iter().copied().collect())
                }
            };
            let set = self.device.create_query_set(&QuerySetDescriptor {
                label: Some(name),
                ty,
                count: described.count,
            });
            all.insert(name, set.map_err(|e| self.loaded.failed(at(), e))?);
        }
        Ok(all)
    }

    pub(super) fn buffers(&self) -> Result<BTreeMap<&'j str, Buffer>, JobError> {
        let mut all = BTreeMap::new();
        for (name, described) in self.job().buffers.iter() {
            let mut usage = BufferUsages::empty();
            for word in &described.usage {
                usage |= match word {
                    BufferUsageWord::Vertex => BufferUsages::VERTEX,
                    BufferUsageWord::Index => BufferUsages::INDEX,
                    BufferUsageWord::Uniform => BufferUsages::UNIFORM,
                    BufferUsageWord::Storage => BufferUsages::STORAGE,
                    BufferUsageWord::Indirect => BufferUsages::INDIRECT,
                    BufferUsageWord::CopySrc => BufferUsages::COPY_SRC,
                    BufferUsageWord::CopyDst => BufferUsages::COPY_DST,
                    BufferUsageWord::QueryResolve => BufferUsages::QUERY_RESOLVE,
                };
            }
            if usage.is_empty() {
                usage = BufferUsages::all();
            }
            // Probes and outputs read every buffer.
            usage |= BufferUsages::COPY_SRC;
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

    pub(super) fn textures(&self) -> Result<BTreeMap<&'j str, Target>, JobError> {
        let mut all = BTreeMap::new();
        for (name, described) in self.job().textures.iter() {
            let at = format!("textures.{name}");
            let image = self.loaded.images.get(name);
            let size = match image {
                Some(image) => image.size,
                None => {
                    let size = described_size(described)
                        .map_err(|reason| self.loaded.invalid(format!("{at}.size"), reason))?
                        .ok_or_else(|| self.loaded.invalid(&at, "a texture without data needs `size`"))?;
                    let [w, h, n] = size;
                    [w.div_ceil(self.scale), h.div_ceil(self.scale), n]
                }
            };
            let target = self.texture(name, described, size, image);
            all.insert(name, target.map_err(|e| self.loaded.failed(at, e))?);
        }
        Ok(all)
    }

    fn texture(
        &self,
        name: &str,
        described: &model::Texture,
        [width, height, n]: [u32; 3],
        image: Option<&Image>,
    ) -> Result<Target, Error> {
        let longest = width.max(height);
        let levels = match described.mip_level_count {
            Some(levels) => levels,
            None if described.mipmaps => 32 - longest.leading_zeros(),
            None => image.map_or(1, |i| i.levels),
        };
        let texture = self.device.create_texture(&TextureDescriptor {
            label: Some(name),
            size: Extent3d {
                width,
                height,
                depth_or_array_layers: n,
            },
            mip_level_count: levels,
            sample_count: described.sample_count,
            dimension: match described.dimension {
                DimensionWord::D1 => TextureDimension::D1,
                DimensionWord::D3 => TextureDimension::D3,
                _ => TextureDimension::D2,
            },
            format: described.format,
            usage: usage(described),
        })?;
        for (surface, texels) in image.iter().flat_map(|i| &i.surfaces) {
            texture.write_surface(surface, texels)?;
        }
        if described.mipmaps {
            texture.generate_mipmaps()?;
        }
        let view = texture.create_view(&TextureViewDescriptor {
            dimension: Some(view_dimension(described.dimension)),
            ..TextureViewDescriptor::default()
        })?;
        Ok(Target { texture, view })
    }

    pub(super) fn samplers(&self) -> Result<BTreeMap<&'j str, Sampler>, JobError> {
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
                    extended: ExtendedSamplerState {
                        lod_bias: s.lod_bias,
                        border_color: s.border_color.map(model::Float::to_f32),
                        reduction: s.reduction,
                    },
                })
                .map_err(|e| self.loaded.failed(format!("samplers.{name}"), e))?;
            all.insert(name, sampler);
        }
        Ok(all)
    }

    /// The part of a texture that a binding shows.
    pub(super) fn view(&self, target: &Target, described: Option<&model::View>) -> Result<TextureView, Error> {
        let Some(v) = described else {
            return Ok(target.view.clone());
        };
        Ok(target.texture.create_view(&TextureViewDescriptor {
            label: None,
            format: v.format,
            dimension: Some(v.dimension.map_or(target.view.dimension(), view_dimension)),
            aspect: aspect(v.aspect),
            base_mip_level: v.base_mip_level,
            mip_level_count: v.mip_level_count,
            base_array_layer: v.base_array_layer,
            array_layer_count: v.array_layer_count,
        })?)
    }
}

/// Everything that the format allows, unless the job says less. Probes and outputs read every texture.
fn usage(t: &model::Texture) -> TextureUsages {
    let mut usage = TextureUsages::COPY_SRC | TextureUsages::COPY_DST;
    for word in &t.usage {
        usage |= match word {
            TextureUsageWord::TextureBinding => TextureUsages::TEXTURE_BINDING,
            TextureUsageWord::StorageBinding => TextureUsages::STORAGE_BINDING,
            TextureUsageWord::RenderAttachment => TextureUsages::RENDER_ATTACHMENT,
            TextureUsageWord::CopySrc => TextureUsages::COPY_SRC,
            TextureUsageWord::CopyDst => TextureUsages::COPY_DST,
        };
    }
    if t.usage.is_empty() {
        let info = t.format.info();
        usage |= TextureUsages::TEXTURE_BINDING;
        usage.set(TextureUsages::RENDER_ATTACHMENT, info.renderable);
        let storage = !(info.depth || info.stencil || info.srgb) && info.renderable && t.sample_count == 1;
        usage.set(TextureUsages::STORAGE_BINDING, storage);
    }
    usage
}

fn view_dimension(word: DimensionWord) -> TextureViewDimension {
    match word {
        DimensionWord::D1 => TextureViewDimension::D1,
        DimensionWord::D2 => TextureViewDimension::D2,
        DimensionWord::D2Array => TextureViewDimension::D2Array,
        DimensionWord::Cube => TextureViewDimension::Cube,
        DimensionWord::CubeArray => TextureViewDimension::CubeArray,
        DimensionWord::D3 => TextureViewDimension::D3,
    }
}

pub(in crate::job) fn aspect(word: AspectWord) -> TextureAspect {
    match word {
        AspectWord::All => TextureAspect::All,
        AspectWord::DepthOnly => TextureAspect::Depth,
        AspectWord::StencilOnly => TextureAspect::Stencil,
    }
}
