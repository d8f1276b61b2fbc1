//! A sampler written from the rules, one texel at a time, in f64: slow and obvious.

use super::*;
use crate::format::{Kind, texel};

/// Width, height, texels.
type Image = (i32, i32, Vec<[f64; 4]>);

/// A texture as plain numbers.
pub struct Naive {
    pub format: TextureFormat,
    /// By layer (or face), then level.
    pub images: Vec<Vec<Image>>,
}

impl Naive {
    /// Reads everything. `filtered`: sRGB values as law S3 rounds them.
    pub fn of(t: &Texture, filtered: bool) -> Naive {
        let d = t.descriptor();
        let format = d.format;
        let bytes = format.info().bytes as usize;
        let number = |texel: &[u8]| {
            let f = texel::unpack(format, texel).map(|w| f64::from(f32::from_bits(w)));
            if filtered && format.info().srgb {
                let r = |v: f64| (v * 65535.0 + 0.5).floor() / 65535.0;
                [r(f[0]), r(f[1]), r(f[2]), f[3]]
            } else {
                f
            }
        };
        let images = (0..t.layers())
            .map(|layer| {
                (0..d.levels)
                    .map(|level| {
                        let texels = t.read_level(level, layer).unwrap();
                        let w = (d.width >> level).max(1) as i32;
                        let h = (d.height >> level).max(1) as i32;
                        (w, h, texels.chunks(bytes).map(number).collect())
                    })
                    .collect()
            })
            .collect();
        assert!(!matches!(format.info().kind, Kind::Uint | Kind::Sint));
        Naive { format, images }
    }

    fn texel(&self, d: &SamplerDescriptor, layer: usize, level: usize, x: i32, y: i32) -> [f64; 4] {
        let (w, h, texels) = &self.images[layer][level];
        match (address(d.address[0], x, *w), address(d.address[1], y, *h)) {
            (Some(x), Some(y)) => texels[(y * w + x) as usize],
            _ => {
                let mut b = d.border.map(f64::from);
                if self.format.info().kind == Kind::Unorm {
                    b = b.map(|b| b.clamp(0.0, 1.0));
                }
                let present = self.format.info().present();
                for (c, b) in b.iter_mut().enumerate().filter(|(c, _)| present >> c & 1 == 0) {
                    *b = if c == 3 { 1.0 } else { 0.0 };
                }
                b
            }
        }
    }

    /// One level at a normalised coordinate.
    fn level(
        &self,
        d: &SamplerDescriptor,
        filter: FilterMode,
        (layer, level): (usize, usize),
        [u, v]: [f32; 2],
        offset: [i32; 2],
    ) -> [f64; 4] {
        let (w, h, _) = self.images[layer][level];
        let (ru, rv) = (reduce(d.address[0], u), reduce(d.address[1], v));
        match filter {
            FilterMode::Nearest => {
                let at = |r: f32, n: i32| fixed(r * n as f32) >> 8;
                self.texel(d, layer, level, at(ru, w) + offset[0], at(rv, h) + offset[1])
            }
            FilterMode::Linear => {
                let at = |r: f32, n: i32| {
                    let x = fixed(r * n as f32 - 0.5);
                    (x >> 8, f64::from(x & 255) / 256.0)
                };
                let ((x, wx), (y, wy)) = (at(ru, w), at(rv, h));
                let (x, y) = (x + offset[0], y + offset[1]);
                let mut sum = [0.0; 4];
                for (i, j, w) in [
                    (0, 0, (1.0 - wx) * (1.0 - wy)),
                    (1, 0, wx * (1.0 - wy)),
                    (0, 1, (1.0 - wx) * wy),
                    (1, 1, wx * wy),
                ] {
                    if w != 0.0 {
                        let t = self.texel(d, layer, level, x + i, y + j);
                        for c in 0..4 {
                            sum[c] += t[c] * w;
                        }
                    }
                }
                sum
            }
        }
    }

    /// R-SAMP-31, 32, 45 from an LOD before bias and clamps.
    pub fn sample(&self, d: &SamplerDescriptor, layer: usize, u: f32, v: f32, lod: f32, offset: [i32; 2]) -> [f64; 4] {
        let lod = lod + d.lod_bias;
        let clamped = if lod.is_nan() {
            d.lod_max_clamp
        } else {
            lod.min(d.lod_max_clamp)
        }
        .max(d.lod_min_clamp);
        let filter = if clamped <= 0.0 { d.mag_filter } else { d.min_filter };
        let levels = self.images[layer].len() as i32;
        let fx = fixed(clamped.clamp(-100.0, 100.0));
        let at = |l: i32| self.level(d, filter, (layer, l.clamp(0, levels - 1) as usize), [u, v], offset);
        match d.mipmap_filter {
            FilterMode::Nearest => at((fx + 128) >> 8),
            FilterMode::Linear => {
                let f = f64::from(fx & 255) / 256.0;
                let (a, b) = (at(fx >> 8), at((fx >> 8) + 1));
                std::array::from_fn(|c| if f == 0.0 { a[c] } else { a[c] * (1.0 - f) + b[c] * f })
            }
        }
    }
}

fn reduce(mode: AddressMode, u: f32) -> f32 {
    match mode {
        AddressMode::Repeat => u - u.floor(),
        AddressMode::MirrorRepeat => (u / 2.0 - (u / 2.0).trunc()) * 2.0,
        _ => u.clamp(-10.0, 10.0),
    }
}

/// 16.8 fixed point, to nearest even.
fn fixed(x: f32) -> i32 {
    if x.is_nan() {
        0
    } else {
        (f64::from(x) * 256.0).round_ties_even() as i32
    }
}

fn address(mode: AddressMode, t: i32, n: i32) -> Option<i32> {
    if (0..n).contains(&t) {
        return Some(t);
    }
    match mode {
        AddressMode::Repeat => Some(t.rem_euclid(n)),
        AddressMode::MirrorRepeat => {
            let t = if t < 0 { -t - 1 } else { t };
            Some(if t / n % 2 == 1 { n - 1 - t % n } else { t % n })
        }
        AddressMode::ClampToEdge => Some(t.clamp(0, n - 1)),
        AddressMode::MirrorOnce => Some((if t < 0 { -t - 1 } else { t }).clamp(0, n - 1)),
        AddressMode::ClampToBorder => None,
    }
}
