//! Sampler state: `GPUSamplerDescriptor`, Direct3D's extensions to it, and their validation (R-SAMP-1, 2, 6).

/// What lies beyond the edge (R-SAMP-20).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum AddressMode {
    /// The edge texel.
    #[default]
    ClampToEdge,
    /// The texture again.
    Repeat,
    /// The texture again, mirrored every other time.
    MirrorRepeat,
    /// Extension: mirrored once around 0, then the edge texel.
    MirrorOnce,
    /// Extension: the border colour.
    ClampToBorder,
}

/// How texels, or levels, are combined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum FilterMode {
    /// The nearest one.
    #[default]
    Nearest,
    /// Weighted.
    Linear,
}

/// `reference FUNC texel`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are WebGPU's")]
pub enum CompareFunction {
    Never,
    Less,
    Equal,
    LessEqual,
    Greater,
    NotEqual,
    GreaterEqual,
    Always,
}

/// Extension: what a linear filter does with the texels of non-zero weight (R-SAMP-85).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Reduction {
    /// Their weighted mean.
    #[default]
    WeightedAverage,
    /// The smallest of each component.
    Minimum,
    /// The largest of each component.
    Maximum,
}

/// `GPUSamplerDescriptor` with its defaults, plus extensions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SamplerDescriptor {
    /// Along u, v and w.
    pub address: [AddressMode; 3],
    /// Where the texture is magnified (LOD 0 and below, R-SAMP-3).
    pub mag_filter: FilterMode,
    /// Where it is minified.
    pub min_filter: FilterMode,
    /// Between levels.
    pub mipmap_filter: FilterMode,
    /// Lowest LOD.
    pub lod_min_clamp: f32,
    /// Highest LOD.
    pub lod_max_clamp: f32,
    /// Makes a comparison sampler.
    pub compare: Option<CompareFunction>,
    /// 1 to 16 (more is taken as 16); above 1 needs all filters linear.
    pub max_anisotropy: u16,
    /// Extension: added to every LOD, -16 to 15.99.
    pub lod_bias: f32,
    /// Extension: colour of the border, linear.
    pub border: [f32; 4],
    /// Extension.
    pub reduction: Reduction,
}

impl Default for SamplerDescriptor {
    fn default() -> Self {
        SamplerDescriptor {
            address: [AddressMode::ClampToEdge; 3],
            mag_filter: FilterMode::Nearest,
            min_filter: FilterMode::Nearest,
            mipmap_filter: FilterMode::Nearest,
            lod_min_clamp: 0.0,
            lod_max_clamp: 32.0,
            compare: None,
            max_anisotropy: 1,
            lod_bias: 0.0,
            border: [0.0; 4],
            reduction: Reduction::WeightedAverage,
        }
    }
}

/// Why a sampler was refused; all are the caller's mistakes.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SamplerError {
    /// LOD clamps must be numbers, the lower one not negative and not above the upper.
    #[error("lodMinClamp {min} and lodMaxClamp {max}: 0 <= lodMinClamp <= lodMaxClamp must hold")]
    LodClamp {
        /// lodMinClamp.
        min: f32,
        /// lodMaxClamp.
        max: f32,
    },
    /// Out of -16..=15.99.
    #[error("LOD bias {0} is outside of -16..15.99")]
    LodBias(f32),
    /// Anisotropy starts at 1.
    #[error("maxAnisotropy is 0; it must be at least 1")]
    Anisotropy,
    /// Anisotropic filtering is a linear filter.
    #[error("maxAnisotropy {0} needs magFilter, minFilter and mipmapFilter to be linear")]
    AnisotropyFilter(u16),
    /// A border colour that isn't a number.
    #[error("the border colour has a component that is not a number")]
    Border,
    /// Minimum and maximum filters don't compare.
    #[error("a comparison sampler can't have a minimum or maximum reduction")]
    Reduction,
}

/// A checked sampler.
#[derive(Clone, Debug)]
pub struct Sampler {
    pub(super) d: SamplerDescriptor,
    pub(super) straight: super::quick::Straight,
}

impl Sampler {
    /// Checks the descriptor.
    pub fn new(descriptor: &SamplerDescriptor) -> Result<Sampler, SamplerError> {
        let mut d = *descriptor;
        let ordered = d.lod_min_clamp >= 0.0 && d.lod_min_clamp <= d.lod_max_clamp;
        if !ordered {
            return Err(SamplerError::LodClamp {
                min: d.lod_min_clamp,
                max: d.lod_max_clamp,
            });
        }
        if !(-16.0..=15.99).contains(&d.lod_bias) {
            return Err(SamplerError::LodBias(d.lod_bias));
        }
        if d.border.iter().any(|b| b.is_nan()) {
            return Err(SamplerError::Border);
        }
        let linear = [d.mag_filter, d.min_filter, d.mipmap_filter] == [FilterMode::Linear; 3];
        match d.max_anisotropy {
            0 => return Err(SamplerError::Anisotropy),
            a @ 2.. if !linear => return Err(SamplerError::AnisotropyFilter(a)),
            a => d.max_anisotropy = a.min(16),
        }
        if d.compare.is_some() && d.reduction != Reduction::WeightedAverage {
            return Err(SamplerError::Reduction);
        }
        Ok(Sampler {
            d,
            straight: super::quick::Straight::of(&d),
        })
    }

    /// What it was made from.
    pub fn descriptor(&self) -> &SamplerDescriptor {
        &self.d
    }

    /// Whether it compares.
    pub fn is_comparison(&self) -> bool {
        self.d.compare.is_some()
    }

    /// Whether any filter is linear (WebGPU's "filtering" sampler type).
    pub fn is_filtering(&self) -> bool {
        [self.d.mag_filter, self.d.min_filter, self.d.mipmap_filter].contains(&FilterMode::Linear)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptors_are_checked() {
        let ok = |d: SamplerDescriptor| Sampler::new(&d).is_ok();
        let d = SamplerDescriptor::default();
        assert!(ok(d));
        assert!(!ok(SamplerDescriptor {
            lod_min_clamp: f32::NAN,
            ..d
        }));
        assert!(!ok(SamplerDescriptor {
            lod_min_clamp: -1.0,
            ..d
        }));
        assert!(!ok(SamplerDescriptor {
            lod_min_clamp: 5.0,
            lod_max_clamp: 2.0,
            ..d
        }));
        assert!(!ok(SamplerDescriptor { lod_bias: 16.0, ..d }));
        assert!(!ok(SamplerDescriptor { max_anisotropy: 0, ..d }));
        assert!(!ok(SamplerDescriptor { max_anisotropy: 2, ..d }));
        let linear = SamplerDescriptor {
            mag_filter: FilterMode::Linear,
            min_filter: FilterMode::Linear,
            mipmap_filter: FilterMode::Linear,
            ..d
        };
        let s = Sampler::new(&SamplerDescriptor {
            max_anisotropy: 64,
            ..linear
        })
        .unwrap();
        assert_eq!(s.descriptor().max_anisotropy, 16);
        assert!(!ok(SamplerDescriptor {
            border: [f32::NAN; 4],
            ..d
        }));
        let compare = Some(CompareFunction::Less);
        assert!(!ok(SamplerDescriptor {
            compare,
            reduction: Reduction::Maximum,
            ..d
        }));
    }
}
