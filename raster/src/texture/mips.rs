//! Mip generation: each texel is the mean of the box of texels above it.
//!
//! Even sizes: 2x2 texels (2x2x2 in 3d); 8- and 16-bit unorm in integers with halves rounded up, sRGB colour in linear
//! light (f32), floats in f32, summed in the order (0,0) (1,0) (0,1) (1,1). Odd sizes: the exact box, a texel of the
//! smaller level covers 2 + 1/m texels of the larger (polyphase weights), summed in f64. Where a side is 1 already
//! the one row or column counts twice.

use super::coverage::Coverage;
use super::error::TextureError;
use super::layout::LevelLayout;
use super::texels::{Texture, TextureDimension};
use crate::format::texel::{HalfRounding, pack, unpack};
use crate::format::{Kind, TextureFormat, scalar, srgb};
use crate::pool::{Pool, Worker};
use std::sync::Mutex;

/// A level as packed slices of rows.
struct Image {
    size: [usize; 3],
    texels: Vec<u8>,
}

impl Texture {
    /// Makes all levels below the first from it, in every layer.
    pub fn generate_mips(&self) -> Result<(), TextureError> {
        self.generate_boxes(None, None)
    }

    /// The same on all threads of a pool; with a cutoff the alpha that reaches it keeps its share (`coverage`).
    pub(super) fn generate_boxes(&self, alpha_cutoff: Option<f32>, pool: Option<&Pool>) -> Result<(), TextureError> {
        let format = self.format();
        let info = format.info();
        let refuse = |what| Err(TextureError::Format { format, what });
        if format.is_depth_stencil() || format.is_compressed() || matches!(info.kind, Kind::Uint | Kind::Sint) {
            return refuse("cannot be averaged, so mips can't be generated");
        }
        let volume = self.descriptor().dimension == TextureDimension::D3;
        let (_, storage) = self.plane(crate::format::Aspect::All)?;
        let levels = storage.layout().levels.clone();
        for layer in 0..self.layers() {
            let slices = |l: &LevelLayout| if volume { 0..l.depth } else { layer..layer + 1 };
            let mut texels = Vec::new();
            for z in slices(&levels[0]) {
                texels.extend(self.read_level(0, z)?);
            }
            let coverage = alpha_cutoff.and_then(|cutoff| Coverage::of(format, &texels, cutoff));
            let mut image = Image {
                size: size(&levels[0]),
                texels,
            };
            for (i, level) in levels.iter().enumerate().skip(1) {
                image = smaller(format, &image, size(level), pool);
                let mut scaled = None;
                if let Some(coverage) = coverage {
                    coverage.keep(scaled.insert(image.texels.clone()));
                }
                let texels = scaled.as_ref().unwrap_or(&image.texels);
                let bytes = level.width as usize * level.height as usize * info.bytes as usize;
                for (z, slice) in slices(level).zip(texels.chunks_exact(bytes)) {
                    self.write_level(i as u32, z, slice)?;
                }
            }
        }
        Ok(())
    }
}

fn size(l: &LevelLayout) -> [usize; 3] {
    [l.width as usize, l.height as usize, l.depth as usize]
}

fn smaller(format: TextureFormat, from: &Image, to: [usize; 3], pool: Option<&Pool>) -> Image {
    let even = |i: usize| from.size[i] == 1 || from.size[i] == 2 * to[i];
    let texels = if even(0) && even(1) && from.size[2] == 1 {
        box_2x2(format, from, to, pool)
    } else {
        polyphase(format, from, to)
    };
    Image { size: to, texels }
}

/// Even sizes of one slice.
fn box_2x2(format: TextureFormat, from: &Image, to: [usize; 3], pool: Option<&Pool>) -> Vec<u8> {
    let bytes = format.info().bytes as usize;
    let [w, h, _] = from.size;
    let mut out = vec![0; to[0] * to[1] * bytes];
    // The second texel's distance: none where a side is 1.
    let (dx, dy) = (if w > 1 { bytes } else { 0 }, if h > 1 { w * bytes } else { 0 });
    let average = averager(format);
    let make = |y: usize, row: &mut [u8]| {
        let above = &from.texels[y * 2 * dy..];
        for (x, texel) in row.chunks_exact_mut(bytes).enumerate() {
            let at = x * 2 * dx;
            average(
                format,
                [at, at + dx, at + dy, at + dx + dy].map(|o| &above[o..o + bytes]),
                texel,
            );
        }
    };
    let row = to[0] * bytes;
    let rows = |first: usize, part: &mut [u8]| {
        part.chunks_exact_mut(row)
            .enumerate()
            .for_each(|(i, row)| make(first + i, row));
    };
    match pool {
        Some(pool) if pool.threads() > 1 && to[0] * to[1] >= PARALLEL => {
            let chunk = (8192 / to[0]).max(1);
            let chunks: Vec<Mutex<&mut [u8]>> = out.chunks_mut(chunk * row).map(Mutex::new).collect();
            let job = |w: &Worker<'_>| {
                while let Some(i) = w.next_task() {
                    if let Ok(mut part) = chunks[i].lock() {
                        rows(i * chunk, &mut part);
                    }
                }
            };
            // A job can only fail by a panic, which is a bug and shows as zeros here.
            let _ = pool.run(chunks.len(), job);
        }
        _ => rows(0, &mut out),
    }
    out
}

/// Texels of a level that are worth several threads.
const PARALLEL: usize = 1 << 14;

type Average = fn(TextureFormat, [&[u8]; 4], &mut [u8]);

/// The mean of four texels, by the rule of the format.
fn averager(format: TextureFormat) -> Average {
    let info = format.info();
    match (info.kind, info.fields[0].bits) {
        (Kind::Unorm, 8) if info.srgb => |_, t, out| {
            let tables = srgb::tables();
            for c in 0..3 {
                let v = t.map(|t| tables.to_linear[usize::from(t[c])]);
                out[c] = tables.encode((v[0] + v[1] + v[2] + v[3]) / 4.0);
            }
            out[3] = mean_u8(t, 3);
        },
        (Kind::Unorm, 8) => |_, t, out| {
            for (c, out) in out.iter_mut().enumerate() {
                *out = mean_u8(t, c);
            }
        },
        (Kind::Unorm, 16) => |_, t, out| {
            for (c, out) in out.chunks_exact_mut(2).enumerate() {
                let sum: u32 = t.iter().map(|t| u32::from(u16_at(t, c))).sum();
                out.copy_from_slice(&(((sum + 2) / 4) as u16).to_le_bytes());
            }
        },
        (Kind::Float, 16) => |_, t, out| {
            for (c, out) in out.chunks_exact_mut(2).enumerate() {
                let v = t.map(|t| scalar::f16_to_f32(u16_at(t, c)));
                let mean = (v[0] + v[1] + v[2] + v[3]) / 4.0;
                out.copy_from_slice(&scalar::f32_to_f16(mean).to_le_bytes());
            }
        },
        (Kind::Float, 32) => |_, t, out| {
            for (c, out) in out.chunks_exact_mut(4).enumerate() {
                let v = t.map(|t| f32::from_le_bytes([t[4 * c], t[4 * c + 1], t[4 * c + 2], t[4 * c + 3]]));
                out.copy_from_slice(&((v[0] + v[1] + v[2] + v[3]) / 4.0).to_le_bytes());
            }
        },
        _ => |format, t, out| {
            let v = t.map(|t| unpack(format, t).map(f32::from_bits));
            let mean = std::array::from_fn(|c| ((v[0][c] + v[1][c] + v[2][c] + v[3][c]) / 4.0).to_bits());
            let bytes = pack(format, mean, HalfRounding::NearestEven);
            out.copy_from_slice(&bytes[..out.len()]);
        },
    }
}

fn mean_u8(t: [&[u8]; 4], c: usize) -> u8 {
    ((t.iter().map(|t| u32::from(t[c])).sum::<u32>() + 2) / 4) as u8
}

fn u16_at(t: &[u8], c: usize) -> u16 {
    u16::from_le_bytes([t[2 * c], t[2 * c + 1]])
}

/// First texel and weights of the box that texel `i` of `to` covers of `from` texels.
fn taps(from: usize, to: usize, i: usize) -> (usize, [f64; 3]) {
    if from == to {
        (i, [1.0, 0.0, 0.0])
    } else if from == 2 * to {
        (2 * i, [0.5, 0.5, 0.0])
    } else {
        let n = from as f64;
        (2 * i, [(to - i) as f64 / n, to as f64 / n, (i + 1) as f64 / n])
    }
}

/// Any sizes.
fn polyphase(format: TextureFormat, from: &Image, to: [usize; 3]) -> Vec<u8> {
    let bytes = format.info().bytes as usize;
    let mut out = Vec::with_capacity(to[0] * to[1] * to[2] * bytes);
    for z in 0..to[2] {
        let (z0, wz) = taps(from.size[2], to[2], z);
        for y in 0..to[1] {
            let (y0, wy) = taps(from.size[1], to[1], y);
            for x in 0..to[0] {
                let (x0, wx) = taps(from.size[0], to[0], x);
                let mut sum = [0.0f64; 4];
                for (k, wz) in wz.into_iter().enumerate().filter(|w| w.1 != 0.0) {
                    for (j, wy) in wy.into_iter().enumerate().filter(|w| w.1 != 0.0) {
                        for (i, wx) in wx.into_iter().enumerate().filter(|w| w.1 != 0.0) {
                            let at = (((z0 + k) * from.size[1] + y0 + j) * from.size[0] + x0 + i) * bytes;
                            let texel = unpack(format, &from.texels[at..at + bytes]);
                            for (sum, t) in sum.iter_mut().zip(texel) {
                                *sum += f64::from(f32::from_bits(t)) * (wx * wy * wz);
                            }
                        }
                    }
                }
                let words = sum.map(|s| (s as f32).to_bits());
                out.extend_from_slice(&pack(format, words, HalfRounding::NearestEven)[..bytes]);
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::{MemoryBudget, TextureDescriptor};
    use super::*;

    fn with_mips(format: TextureFormat, w: u32, h: u32, data: &[u8]) -> std::sync::Arc<Texture> {
        let mut d = TextureDescriptor::new_2d(format, w, h);
        d.levels = d.full_levels();
        let t = Texture::new(&d, &MemoryBudget::new(1 << 24)).unwrap();
        t.write_level(0, 0, data).unwrap();
        t.generate_mips().unwrap();
        t
    }

    #[test]
    fn unorm_rounds_halves_up() {
        let t = with_mips(TextureFormat::R8Unorm, 4, 2, &[0, 1, 10, 20, 0, 1, 30, 41]);
        assert_eq!(t.read_level(1, 0).unwrap(), [1, 25]);
        assert_eq!(t.read_level(2, 0).unwrap(), [13]);
    }

    #[test]
    fn srgb_is_averaged_in_linear_light() {
        let (black, white) = ([0, 0, 0, 0], [255, 255, 255, 255]);
        let t = with_mips(
            TextureFormat::Rgba8UnormSrgb,
            2,
            2,
            &[black, white, black, white].concat(),
        );
        assert_eq!(t.read_level(1, 0).unwrap(), [188, 188, 188, 128]);
    }

    #[test]
    fn one_row_counts_twice() {
        let data: Vec<u8> = [0.0f32, 1.0, 2.0, 5.0].iter().flat_map(|x| x.to_le_bytes()).collect();
        let t = with_mips(TextureFormat::R32Float, 4, 1, &data);
        let level1: Vec<u8> = [0.5f32, 3.5].iter().flat_map(|x| x.to_le_bytes()).collect();
        assert_eq!(t.read_level(1, 0).unwrap(), level1);
    }

    /// 3 texels to 1, 5 to 2: every texel of the larger level counts the same in total.
    #[test]
    fn odd_sizes_use_the_exact_box() {
        let t = with_mips(TextureFormat::R8Unorm, 3, 1, &[0, 90, 180]);
        assert_eq!(t.read_level(1, 0).unwrap(), [90]);
        let t = with_mips(TextureFormat::R8Unorm, 5, 1, &[250, 0, 0, 0, 0]);
        assert_eq!(t.read_level(1, 0).unwrap(), [100, 0]);
        let t = with_mips(TextureFormat::R8Unorm, 5, 1, &[0, 0, 250, 0, 0]);
        assert_eq!(t.read_level(1, 0).unwrap(), [50, 50]);
        let t = with_mips(TextureFormat::Rgba16Float, 7, 5, &[0x00, 0x3c].repeat(7 * 5 * 4));
        assert_eq!(t.read_level(2, 0).unwrap(), [0x00, 0x3c].repeat(4));
    }

    #[test]
    fn volumes_and_cubes_have_mips() {
        let mut d = TextureDescriptor::new_2d(TextureFormat::R8Unorm, 2, 2);
        (d.dimension, d.depth_or_layers, d.levels) = (TextureDimension::D3, 2, 2);
        let t = Texture::new(&d, &MemoryBudget::new(1 << 20)).unwrap();
        t.write_level(0, 0, &[0; 4]).unwrap();
        t.write_level(0, 1, &[100; 4]).unwrap();
        t.generate_mips().unwrap();
        assert_eq!(t.read_level(1, 0).unwrap(), [50]);
        (d.dimension, d.depth_or_layers) = (TextureDimension::D2, 6);
        let t = Texture::new(&d, &MemoryBudget::new(1 << 20)).unwrap();
        t.write_level(0, 5, &[8; 4]).unwrap();
        t.generate_mips().unwrap();
        assert_eq!(
            (t.read_level(1, 5).unwrap(), t.read_level(1, 4).unwrap()),
            (vec![8], vec![0])
        );
    }

    #[test]
    fn integers_and_depth_are_refused() {
        for format in [TextureFormat::R8Uint, TextureFormat::Depth32Float] {
            let mut d = TextureDescriptor::new_2d(format, 2, 2);
            d.levels = 2;
            assert!(
                Texture::new(&d, &MemoryBudget::new(1 << 20))
                    .unwrap()
                    .generate_mips()
                    .is_err()
            );
        }
    }
}
