//! Mip generation with a choice: a Kaiser-windowed sinc instead of the box.
//!
//! ```text
//! level 0 ─► f32, linear light ─► rows, then columns, halved again and again ─► packed
//! ```
//!
//! Each level is made of the unrounded one above. The filter spans six texels of the smaller level; coordinates beyond the edge
//! repeat or clamp. Negative lobes may leave the range of the texels, which packing clamps. Rows are shared by all
//! threads of a pool; no result depends on how many there are (law N4: no transcendental of std).

use super::coverage::Coverage;
use super::error::TextureError;
use super::layout::level_size;
use super::texels::{Texture, TextureDimension};
use crate::format::texel::{HalfRounding, pack, unpack};
use crate::format::{Kind, TextureFormat};
use crate::pool::{Pool, Worker};
use std::sync::Mutex;

/// What each texel of a smaller level is made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MipFilter {
    /// The mean of the texels it covers.
    #[default]
    Box,
    /// A sinc under a Kaiser window: sharper, with some ringing.
    Kaiser,
}

/// How levels are made.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MipOptions {
    /// The filter.
    pub filter: MipFilter,
    /// Beyond the edge the texture repeats; else its edge does.
    pub repeat: bool,
    /// Scales each level's alpha so that as large a share of its texels reaches this as of level 0's: for what shaders cut out there.
    pub alpha_cutoff: Option<f32>,
}

/// A level in linear f32.
struct Level {
    width: usize,
    height: usize,
    texels: Vec<[f32; 4]>,
}

impl Texture {
    /// Makes all levels below the first from it, in every layer. The Kaiser filter and repetition: 2d textures of normalised and
    /// float formats.
    pub fn generate_mips_with(&self, options: &MipOptions, pool: &Pool) -> Result<(), TextureError> {
        if options.filter == MipFilter::Box && !options.repeat {
            return self.generate_boxes(options.alpha_cutoff, Some(pool));
        }
        let (format, d) = (self.format(), self.descriptor().clone());
        let integer = matches!(format.info().kind, Kind::Uint | Kind::Sint);
        if d.dimension != TextureDimension::D2 || format.is_depth_stencil() || format.is_compressed() || integer {
            return Err(TextureError::Format {
                format,
                what: "can't be filtered so: 2d textures of normalised and float formats can",
            });
        }
        let bytes = format.info().bytes as usize;
        for layer in 0..self.layers() {
            let texels = self.read_level(0, layer)?;
            let coverage = options
                .alpha_cutoff
                .and_then(|cutoff| Coverage::of(format, &texels, cutoff));
            let read = |t: &[u8]| unpack(format, t).map(f32::from_bits);
            let mut level = Level {
                width: d.width as usize,
                height: d.height as usize,
                texels: texels.chunks_exact(bytes).map(read).collect(),
            };
            for i in 1..d.levels {
                let [width, height] = [d.width, d.height].map(|s| level_size(s, i) as usize);
                level = level.smaller(width, height, options, pool);
                let mut packed = level.packed(format);
                if let Some(coverage) = coverage {
                    coverage.keep(&mut packed);
                }
                self.write_level(i, layer, &packed)?;
            }
        }
        Ok(())
    }
}

impl Level {
    /// Rows first, then columns.
    fn smaller(&self, width: usize, height: usize, options: &MipOptions, pool: &Pool) -> Level {
        let across = taps(self.width, width, options);
        let narrow = rows(pool, width, self.height, |y, out| {
            let row = &self.texels[y * self.width..(y + 1) * self.width];
            for (texel, taps) in out.iter_mut().zip(&across) {
                *texel = sum(taps, |x| row[x]);
            }
        });
        let down = taps(self.height, height, options);
        let texels = rows(pool, width, height, |y, out| {
            for (x, texel) in out.iter_mut().enumerate() {
                *texel = sum(&down[y], |y| narrow[y * width + x]);
            }
        });
        Level { width, height, texels }
    }

    fn packed(&self, format: TextureFormat) -> Vec<u8> {
        let bytes = format.info().bytes as usize;
        let mut out = Vec::with_capacity(self.texels.len() * bytes);
        for t in &self.texels {
            let words = t.map(f32::to_bits);
            out.extend_from_slice(&pack(format, words, HalfRounding::NearestEven)[..bytes]);
        }
        out
    }
}

/// Makes `height` rows of `width` texels, chunks of them on all threads.
fn rows(pool: &Pool, width: usize, height: usize, make: impl Fn(usize, &mut [[f32; 4]]) + Sync) -> Vec<[f32; 4]> {
    let mut out = vec![[0.0; 4]; width * height];
    let chunk = (4096 / width.max(1)).max(1);
    if width * height < 16384 || pool.threads() == 1 {
        out.chunks_mut(width).enumerate().for_each(|(y, row)| make(y, row));
        return out;
    }
    let chunks: Vec<Mutex<&mut [[f32; 4]]>> = out.chunks_mut(chunk * width).map(Mutex::new).collect();
    let job = |w: &Worker<'_>| {
        while let Some(i) = w.next_task() {
            if let Ok(mut rows) = chunks[i].lock() {
                rows.chunks_mut(width)
                    .enumerate()
                    .for_each(|(y, row)| make(i * chunk + y, row));
            }
        }
    };
    // A job can only fail by a panic, which is a bug and shows as zeros here.
    let _ = pool.run(chunks.len(), job);
    drop(chunks);
    out
}

/// Source texels and weights of a texel.
type Taps = Vec<(usize, f32)>;

fn sum(taps: &Taps, texel: impl Fn(usize) -> [f32; 4]) -> [f32; 4] {
    let mut out = [0.0f32; 4];
    for &(i, w) in taps {
        for (out, v) in out.iter_mut().zip(texel(i)) {
            *out += v * w;
        }
    }
    out
}

/// Half the filter's width in texels of the smaller level, and the window's shape.
const RADIUS: f64 = 3.0;
const BETA: f64 = 4.0;

/// For each texel of the smaller side.
fn taps(from: usize, to: usize, options: &MipOptions) -> Vec<Taps> {
    if from == to {
        return (0..to).map(|i| vec![(i, 1.0)]).collect();
    }
    let step = from as f64 / to as f64;
    let radius = if options.filter == MipFilter::Kaiser {
        RADIUS
    } else {
        0.5
    } * step;
    let place = |i: i64| {
        if options.repeat {
            i.rem_euclid(from as i64) as usize
        } else {
            i.clamp(0, from as i64 - 1) as usize
        }
    };
    (0..to)
        .map(|i| {
            let centre = (i as f64 + 0.5) * step;
            let (first, last) = (libm::floor(centre - radius) as i64, libm::ceil(centre + radius) as i64);
            let mut taps: Vec<(usize, f64)> = Vec::new();
            for k in first..last {
                let weight = match options.filter {
                    // The part of the texel inside of the box.
                    MipFilter::Box => (centre + radius).min(k as f64 + 1.0) - (centre - radius).max(k as f64),
                    MipFilter::Kaiser => kaiser((k as f64 + 0.5 - centre) / step),
                };
                if weight != 0.0 {
                    taps.push((place(k), weight));
                }
            }
            let total: f64 = taps.iter().map(|t| t.1).sum();
            taps.into_iter().map(|(i, w)| (i, (w / total) as f32)).collect()
        })
        .collect()
}

/// The windowed sinc at a distance in texels of the smaller level.
fn kaiser(x: f64) -> f64 {
    let t = x / RADIUS;
    if t.abs() >= 1.0 {
        return 0.0;
    }
    let angle = x * std::f64::consts::PI;
    let sinc = if angle.abs() < 1e-9 {
        1.0
    } else {
        libm::sin(angle) / angle
    };
    sinc * bessel(BETA * libm::sqrt(1.0 - t * t)) / bessel(BETA)
}

/// The modified Bessel function of order 0, by its series.
fn bessel(x: f64) -> f64 {
    let (mut term, mut sum) = (1.0, 1.0);
    for k in 1..32 {
        let half = x / (2.0 * f64::from(k));
        term *= half * half;
        sum += term;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::super::{MemoryBudget, TextureDescriptor};
    use super::*;
    use std::sync::Arc;

    fn texture(format: TextureFormat, side: u32, texel: impl Fn(u32, u32) -> [u8; 4]) -> Arc<Texture> {
        let mut d = TextureDescriptor::new_2d(format, side, side);
        d.levels = d.full_levels();
        let t = Texture::new(&d, &MemoryBudget::new(1 << 24)).unwrap();
        let data: Vec<u8> = (0..side * side).flat_map(|i| texel(i % side, i / side)).collect();
        t.write_level(0, 0, &data).unwrap();
        t
    }

    fn kaiser_options() -> MipOptions {
        MipOptions {
            filter: MipFilter::Kaiser,
            repeat: true,
            ..MipOptions::default()
        }
    }

    #[test]
    fn constants_stay_constant() {
        for format in [TextureFormat::Rgba8Unorm, TextureFormat::Rgba8UnormSrgb] {
            let t = texture(format, 16, |_, _| [40, 128, 250, 77]);
            t.generate_mips_with(&kaiser_options(), &Pool::new(1)).unwrap();
            for level in 1..5 {
                assert!(
                    t.read_level(level, 0)
                        .unwrap()
                        .chunks(4)
                        .all(|t| t == [40, 128, 250, 77])
                );
            }
        }
    }

    /// Frequencies that the smaller level can hold pass, those that it can't don't.
    #[test]
    fn low_frequencies_pass_and_high_ones_do_not() {
        let wave = |period: f64| {
            texture(TextureFormat::Rgba8Unorm, 64, move |x, _| {
                let v = libm::sin((f64::from(x) + 0.5) * std::f64::consts::TAU / period);
                [(127.5 + 100.0 * v) as u8; 4]
            })
        };
        let swing = |t: &Texture| {
            let level = t.read_level(1, 0).unwrap();
            i32::from(*level.iter().max().unwrap()) - i32::from(*level.iter().min().unwrap())
        };
        // Whole numbers of waves, so that the repeated texture is one wave.
        let (low, high) = (wave(16.0), wave(64.0 / 28.0));
        for t in [&low, &high] {
            t.generate_mips_with(&kaiser_options(), &Pool::new(1)).unwrap();
        }
        assert!(swing(&low) > 180, "{}", swing(&low));
        assert!(swing(&high) < 30, "{}", swing(&high));
    }

    #[test]
    fn threads_do_not_matter() {
        let make = || {
            texture(TextureFormat::Rgba8UnormSrgb, 256, |x, y| {
                [(x * 7) as u8, (y * 3) as u8, (x ^ y) as u8, 255]
            })
        };
        let (one, four) = (make(), make());
        one.generate_mips_with(&kaiser_options(), &Pool::new(1)).unwrap();
        four.generate_mips_with(&kaiser_options(), &Pool::new(4)).unwrap();
        for level in 1..9 {
            assert_eq!(one.read_level(level, 0).unwrap(), four.read_level(level, 0).unwrap());
        }
    }
}
