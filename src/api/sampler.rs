//! Samplers.

use super::device::{Device, Shared};
use super::label::Label;
use quadrille_raster::pipeline::CompareFunction;
use quadrille_raster::sampler as raster;
use quadrille_raster::sampler::{AddressMode, FilterMode, Reduction};
use std::sync::Arc;

/// Describes a sampler; the defaults are WebGPU's.
#[derive(Clone, Copy, Debug)]
pub struct SamplerDescriptor<'a> {
    /// For errors.
    pub label: Option<&'a str>,
    /// What is outside of 0..1 in u.
    pub address_mode_u: AddressMode,
    /// In v.
    pub address_mode_v: AddressMode,
    /// In w.
    pub address_mode_w: AddressMode,
    /// Filter where texels are larger than pixels.
    pub mag_filter: FilterMode,
    /// Filter where texels are smaller than pixels.
    pub min_filter: FilterMode,
    /// Filter between mip levels.
    pub mipmap_filter: FilterMode,
    /// Least level of detail.
    pub lod_min_clamp: f32,
    /// Greatest level of detail.
    pub lod_max_clamp: f32,
    /// Makes it a comparison sampler.
    pub compare: Option<CompareFunction>,
    /// Most samples along the longer axis of a pixel's footprint, 1 to 16.
    pub max_anisotropy: u16,
    /// What only Direct3D has.
    pub extended: ExtendedSamplerState,
}

/// Sampler state that WebGPU doesn't have; the defaults change nothing. The address modes `MirrorOnce` and
/// `ClampToBorder` are Direct3D's too.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ExtendedSamplerState {
    /// Added to every level of detail, -16 to 15.99.
    pub lod_bias: f32,
    /// What `ClampToBorder` shows outside, in linear light.
    pub border_color: [f32; 4],
    /// How texels are combined: their mean, or the least or greatest of each component.
    pub reduction: Reduction,
}

impl Default for SamplerDescriptor<'_> {
    fn default() -> Self {
        SamplerDescriptor {
            label: None,
            address_mode_u: AddressMode::ClampToEdge,
            address_mode_v: AddressMode::ClampToEdge,
            address_mode_w: AddressMode::ClampToEdge,
            mag_filter: FilterMode::Nearest,
            min_filter: FilterMode::Nearest,
            mipmap_filter: FilterMode::Nearest,
            lod_min_clamp: 0.0,
            lod_max_clamp: 32.0,
            compare: None,
            max_anisotropy: 1,
            extended: ExtendedSamplerState::default(),
        }
    }
}

/// Why a sampler was refused.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("sampler {label}: {reason}")]
pub struct SamplerError {
    /// The sampler.
    pub label: Label,
    /// What is wrong.
    pub reason: raster::SamplerError,
}

/// How textures are read. Clones are the same sampler.
#[derive(Clone, Debug)]
pub struct Sampler(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    label: Label,
    device: Arc<Shared>,
    sampler: Arc<raster::Sampler>,
}

impl Device {
    /// Makes a sampler.
    pub fn create_sampler(&self, d: &SamplerDescriptor<'_>) -> Result<Sampler, SamplerError> {
        let label = Label::new(d.label);
        let sampler = raster::Sampler::new(&raster::SamplerDescriptor {
            address: [d.address_mode_u, d.address_mode_v, d.address_mode_w],
            mag_filter: d.mag_filter,
            min_filter: d.min_filter,
            mipmap_filter: d.mipmap_filter,
            lod_min_clamp: d.lod_min_clamp,
            lod_max_clamp: d.lod_max_clamp,
            compare: d.compare.map(comparison),
            max_anisotropy: d.max_anisotropy,
            lod_bias: d.extended.lod_bias,
            border: d.extended.border_color,
            reduction: d.extended.reduction,
        });
        let sampler = sampler.map_err(|reason| SamplerError {
            label: label.clone(),
            reason,
        })?;
        Ok(Sampler(Arc::new(Inner {
            label,
            device: self.shared().clone(),
            sampler: Arc::new(sampler),
        })))
    }
}

impl Sampler {
    /// Its label.
    pub fn label(&self) -> &Label {
        &self.0.label
    }

    /// Whether any of its filters is linear.
    pub fn is_filtering(&self) -> bool {
        self.0.sampler.is_filtering()
    }

    /// Whether it compares.
    pub fn is_comparison(&self) -> bool {
        self.0.sampler.is_comparison()
    }

    pub(super) fn is(&self, other: &Sampler) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    pub(super) fn device_id(&self) -> u64 {
        self.0.device.id
    }

    pub(super) fn raster(&self) -> &Arc<raster::Sampler> {
        &self.0.sampler
    }
}

/// The sampler's word for the pipeline's.
fn comparison(function: CompareFunction) -> raster::CompareFunction {
    match function {
        CompareFunction::Never => raster::CompareFunction::Never,
        CompareFunction::Less => raster::CompareFunction::Less,
        CompareFunction::Equal => raster::CompareFunction::Equal,
        CompareFunction::LessEqual => raster::CompareFunction::LessEqual,
        CompareFunction::Greater => raster::CompareFunction::Greater,
        CompareFunction::NotEqual => raster::CompareFunction::NotEqual,
        CompareFunction::GreaterEqual => raster::CompareFunction::GreaterEqual,
        CompareFunction::Always => raster::CompareFunction::Always,
    }
}
