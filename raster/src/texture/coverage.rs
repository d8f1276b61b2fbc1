//! Alpha coverage of mip levels: averaging alpha makes what is cut out at a threshold thinner from level to level.
//!
//! The share of level 0's texels whose alpha reaches the cutoff is kept in each smaller level by scaling its alpha; the scale is found by
//! bisection, with alpha as it will be stored. Levels are still averaged from unscaled ones.

use crate::format::texel::{HalfRounding, pack, unpack};
use crate::format::{Kind, TextureFormat};

/// What is to be kept.
#[derive(Clone, Copy, Debug)]
pub(super) struct Coverage {
    format: TextureFormat,
    cutoff: f32,
    /// Share of texels that reach the cutoff, 0 to 1.
    share: f64,
}

/// Scales are between 0 and this.
const MOST: f32 = 16.0;
/// Halvings: the scale is right to 2^-20.
const STEPS: usize = 24;

fn alphas(format: TextureFormat, texels: &[u8]) -> Vec<f32> {
    let bytes = format.info().bytes as usize;
    let alpha = |t: &[u8]| f32::from_bits(unpack(format, t)[3]);
    texels.chunks_exact(bytes).map(alpha).collect()
}

/// Alpha as it is stored when it is scaled.
fn stored(format: TextureFormat, alpha: f32, scale: f32) -> f32 {
    let scaled = alpha * scale;
    let info = format.info();
    if info.kind == Kind::Unorm && info.fields[3].bits < 24 {
        let most = ((1u32 << info.fields[3].bits) - 1) as f32;
        (scaled.clamp(0.0, 1.0) * most + 0.5).floor() / most
    } else {
        // Alpha above 1 means nothing more.
        scaled.min(1.0)
    }
}

impl Coverage {
    /// Of a level 0; `None` where there is no alpha, or where none or all of it reaches the cutoff.
    pub fn of(format: TextureFormat, texels: &[u8], cutoff: f32) -> Option<Coverage> {
        if format.info().fields[3].bits == 0 {
            return None;
        }
        let alphas = alphas(format, texels);
        let mut coverage = Coverage {
            format,
            cutoff,
            share: 0.0,
        };
        let reached = coverage.reached(&alphas, 1.0);
        coverage.share = reached as f64 / alphas.len().max(1) as f64;
        (reached > 0 && reached < alphas.len()).then_some(coverage)
    }

    fn reached(&self, alphas: &[f32], scale: f32) -> usize {
        alphas
            .iter()
            .filter(|&&a| stored(self.format, a, scale) >= self.cutoff)
            .count()
    }

    /// Scales the alpha of a level.
    pub fn keep(&self, texels: &mut [u8]) {
        let alphas = alphas(self.format, texels);
        let wanted = self.share * alphas.len() as f64;
        let off = |scale: f32| (self.reached(&alphas, scale) as f64 - wanted).abs();
        // The share grows with the scale; what is nearest of all that was tried is taken.
        let (mut low, mut high) = (0.0f32, MOST);
        let mut best = (off(1.0), 1.0f32);
        for _ in 0..STEPS {
            if best.0 < 0.5 {
                break;
            }
            let scale = 0.5 * (low + high);
            let reached = self.reached(&alphas, scale) as f64;
            if (reached - wanted).abs() < best.0 {
                best = ((reached - wanted).abs(), scale);
            }
            if reached < wanted {
                low = scale;
            } else {
                high = scale;
            }
        }
        if best.1 == 1.0 {
            return;
        }
        let info = self.format.info();
        let bytes = info.bytes as usize;
        let plain = info.kind == Kind::Unorm && bytes == 4 && info.fields[3].bits == 8;
        for (texel, alpha) in texels.chunks_exact_mut(bytes).zip(alphas) {
            let alpha = stored(self.format, alpha, best.1);
            if plain {
                // Colour codes stay to the bit.
                texel[3] = (alpha * 255.0 + 0.5) as u8;
            } else {
                let mut words = unpack(self.format, texel);
                words[3] = alpha.to_bits();
                texel.copy_from_slice(&pack(self.format, words, HalfRounding::NearestEven)[..bytes]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{MemoryBudget, MipFilter, MipOptions, Texture, TextureDescriptor};
    use super::*;
    use crate::pool::Pool;

    fn share(format: TextureFormat, texels: &[u8], cutoff: f32) -> f64 {
        let alphas = alphas(format, texels);
        alphas.iter().filter(|&&a| a >= cutoff).count() as f64 / alphas.len() as f64
    }

    /// Thin leaves: noise of which a third is opaque. Averages are all near 0.35 and would vanish at a cutoff of 0.5.
    #[test]
    fn the_share_of_covered_texels_is_kept() {
        let format = TextureFormat::Rgba8UnormSrgb;
        let mut state = 7u32;
        let mut random = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state >> 24
        };
        let data: Vec<u8> = (0..64 * 64)
            .flat_map(|i| [i as u8, 90, 200, if random() < 90 { 255 } else { (random() / 8) as u8 }])
            .collect();
        for filter in [MipFilter::Box, MipFilter::Kaiser] {
            let make = |alpha_cutoff| {
                let mut d = TextureDescriptor::new_2d(format, 64, 64);
                d.levels = d.full_levels();
                let t = Texture::new(&d, &MemoryBudget::new(1 << 24)).unwrap();
                t.write_level(0, 0, &data).unwrap();
                let options = MipOptions {
                    filter,
                    alpha_cutoff,
                    ..MipOptions::default()
                };
                t.generate_mips_with(&options, &Pool::new(2)).unwrap();
                t
            };
            let (plain, kept) = (make(None), make(Some(0.5)));
            let wanted = share(format, &data, 0.5);
            for level in 1..4 {
                let (p, k) = (plain.read_level(level, 0).unwrap(), kept.read_level(level, 0).unwrap());
                let n = (k.len() / 4) as f64;
                // Texels of the same code come and go together.
                assert!(
                    (share(format, &k, 0.5) - wanted).abs() <= 0.012 + 2.0 / n,
                    "level {level}: {}",
                    share(format, &k, 0.5)
                );
                assert!(
                    level < 3 || share(format, &p, 0.5) < 0.5 * wanted,
                    "level {level} would have lost its leaves"
                );
                // Colours are those without the option.
                for (p, k) in p.chunks_exact(4).zip(k.chunks_exact(4)) {
                    assert_eq!(p[..3], k[..3]);
                }
            }
        }
    }

    #[test]
    fn what_is_all_or_nothing_stays() {
        let format = TextureFormat::Rgba8Unorm;
        assert!(Coverage::of(format, &[1, 2, 3, 255].repeat(16), 0.5).is_none());
        assert!(Coverage::of(format, &[1, 2, 3, 4].repeat(16), 0.5).is_none());
        assert!(Coverage::of(TextureFormat::Rg8Unorm, &[0, 255].repeat(16), 0.5).is_none());
    }
}
