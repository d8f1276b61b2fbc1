//! Equirectangular panoramas from `.hdr` (Radiance RGBE) and `.exr` files.
//!
//! The middle of the image lies in direction +x, its right half toward +z, its top toward +y, as in Khronos' viewer. Light that
//! is not a number or negative counts as none.

use std::f32::consts::PI;
use std::io::Cursor;
use std::path::Path;

use ::image::{DynamicImage, ImageDecoder};

use super::cube::Cube;
use crate::scene::SceneError;
use crate::scene::math::Vec3;

/// Longest side read.
const MAX_SIDE: usize = 16384;

/// Linear RGB, rows from the top.
pub(super) struct Panorama {
    width: usize,
    height: usize,
    texels: Vec<Vec3>,
}

/// Decodes a file; the format is recognised by its contents.
pub(super) fn parse(path: &Path, bytes: &[u8], memory_limit: u64) -> Result<Panorama, SceneError> {
    let fault = |problem: String| SceneError::Environment {
        path: path.to_owned(),
        problem,
    };
    let decoded = match bytes.get(..4) {
        Some([0x76, 0x2f, 0x31, 0x01]) => decode_exr(bytes, memory_limit),
        Some([b'#', b'?', ..]) => decode_hdr(bytes, memory_limit),
        _ => Err("is neither a Radiance .hdr nor an OpenEXR file".into()),
    };
    let mut panorama = decoded.map_err(fault)?;
    for v in panorama.texels.iter_mut().flatten() {
        // Also NaN: it is not above zero.
        *v = if *v > 0.0 { v.min(1e9) } else { 0.0 };
    }
    Ok(panorama)
}

fn check_size(width: usize, height: usize, memory_limit: u64) -> Result<(), String> {
    if width == 0 || height == 0 || width > MAX_SIDE || height > MAX_SIDE {
        return Err(format!("is {width} x {height}; sides must be 1 to {MAX_SIDE}"));
    }
    // Decoder's copy and ours.
    let bytes = (width * height) as u64 * 32;
    if bytes > memory_limit {
        return Err(format!(
            "is {width} x {height} and needs {bytes} bytes, above the memory limit of {memory_limit}"
        ));
    }
    Ok(())
}

fn decode_hdr(bytes: &[u8], memory_limit: u64) -> Result<Panorama, String> {
    let broken = |e: ::image::ImageError| format!("cannot be decoded: {e}");
    let decoder = ::image::codecs::hdr::HdrDecoder::new(Cursor::new(bytes)).map_err(broken)?;
    let (width, height) = decoder.dimensions();
    let (width, height) = (width as usize, height as usize);
    check_size(width, height, memory_limit)?;
    let rgb = match DynamicImage::from_decoder(decoder).map_err(broken)? {
        DynamicImage::ImageRgb32F(image) => image,
        other => other.into_rgb32f(),
    };
    let texels = rgb.as_raw().chunks_exact(3).map(|p| [p[0], p[1], p[2]]).collect();
    Ok(Panorama { width, height, texels })
}

fn decode_exr(bytes: &[u8], memory_limit: u64) -> Result<Panorama, String> {
    use exr::prelude::*;
    let broken = |e: Error| format!("cannot be decoded: {e}");
    let meta = MetaData::read_from_buffered(Cursor::new(bytes), false).map_err(broken)?;
    for header in &meta.headers {
        check_size(header.layer_size.width(), header.layer_size.height(), memory_limit)?;
    }
    let image = read()
        .no_deep_data()
        .largest_resolution_level()
        .rgb_channels(
            |size, _| (size.width(), vec![[0.0f32; 3]; size.area()]),
            |(width, texels): &mut (usize, Vec<Vec3>), at, (r, g, b): (f32, f32, f32)| {
                if let Some(texel) = texels.get_mut(at.y() * *width + at.x()) {
                    *texel = [r, g, b];
                }
            },
        )
        .first_valid_layer()
        .all_attributes()
        .non_parallel()
        .from_buffered(Cursor::new(bytes))
        .map_err(broken)?;
    let size = image.layer_data.size;
    let (_, texels) = image.layer_data.channel_data.pixels;
    Ok(Panorama {
        width: size.width(),
        height: size.height(),
        texels,
    })
}

impl Panorama {
    /// Resamples to a cube of about the same density around the horizon, turned by `yaw`.
    pub fn to_cube(&self, yaw: f32, threads: usize) -> Cube {
        let size = if self.width >= 2048 { 512 } else { 256 };
        // A texel of the cube should not step over texels of the panorama: halve it first.
        let mut halved = None;
        while {
            let source: &Self = halved.as_ref().unwrap_or(self);
            source.width >= 8 * size && source.height >= 2
        } {
            halved = Some(halved.as_ref().unwrap_or(self).half());
        }
        let source = halved.as_ref().unwrap_or(self);
        let turn = yaw / (2.0 * PI);
        Cube::from_fn(size, threads, |[x, y, z]| {
            let u = libm::atan2f(z, x) / (2.0 * PI) + 0.5 + turn;
            let v = 0.5 - libm::asinf(y.clamp(-1.0, 1.0)) / PI;
            source.sample(u, v)
        })
    }

    fn half(&self) -> Self {
        let (width, height) = (self.width / 2, self.height / 2);
        let mut texels = Vec::with_capacity(width * height);
        for y in 0..height {
            for x in 0..width {
                let at = |dx, dy| self.texels[(2 * y + dy) * self.width + 2 * x + dx];
                let (a, b, c, d) = (at(0, 0), at(1, 0), at(0, 1), at(1, 1));
                texels.push(std::array::from_fn(|i| (a[i] + b[i] + c[i] + d[i]) * 0.25));
            }
        }
        Self { width, height, texels }
    }

    /// Bilinear; u wraps around, v ends at the poles.
    fn sample(&self, u: f32, v: f32) -> Vec3 {
        let (w, h) = (self.width, self.height);
        let x = (u - u.floor()) * w as f32 - 0.5;
        let y = (v.clamp(0.0, 1.0) * h as f32 - 0.5).max(0.0);
        let (fx, fy) = (x - x.floor(), y - y.floor());
        let x0 = if x < 0.0 { w - 1 } else { (x as usize).min(w - 1) };
        let x1 = if x0 + 1 == w { 0 } else { x0 + 1 };
        let y0 = (y as usize).min(h - 1);
        let y1 = (y0 + 1).min(h - 1);
        let at = |x: usize, y: usize| self.texels[y * w + x];
        let (a, b, c, d) = (at(x0, y0), at(x1, y0), at(x0, y1), at(x1, y1));
        std::array::from_fn(|i| {
            let (top, bottom) = (a[i] + (b[i] - a[i]) * fx, c[i] + (d[i] - c[i]) * fx);
            top + (bottom - top) * fy
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A flat-encoded Radiance file, one RGBE per pixel.
    fn hdr(width: usize, height: usize, rgbe: impl Fn(usize, usize) -> [u8; 4]) -> Vec<u8> {
        let mut out = format!("#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y {height} +X {width}\n").into_bytes();
        (0..height).for_each(|y| (0..width).for_each(|x| out.extend(rgbe(x, y))));
        out
    }

    #[test]
    fn the_middle_is_plus_x_and_the_top_is_up() {
        // Quarters of the horizon: blue, red, green, white; the top row is bright.
        let colors = [
            [0, 0, 128, 129],
            [128, 0, 0, 129],
            [0, 128, 0, 129],
            [128, 128, 128, 129],
        ];
        let file = hdr(
            64,
            32,
            |x, y| if y == 0 { [255, 255, 255, 136] } else { colors[x / 16] },
        );
        let p = decode_hdr(&file, 1 << 20).unwrap();
        let cube = p.to_cube(0.0, 2);
        let near = |d: Vec3, want: Vec3| {
            let got = cube.sample(d);
            assert!((0..3).all(|i| (got[i] - want[i]).abs() < 0.02), "{d:?}: {got:?}");
        };
        // u from 0.25 to 0.5 (red) is where atan2(z, x) runs from -90 to 0 degrees.
        near([1.0, 0.0, -1.0], [1.0, 0.0, 0.0]);
        near([1.0, 0.0, 1.0], [0.0, 1.0, 0.0]);
        near([-1.0, 0.0, 1.0], [1.0, 1.0, 1.0]);
        near([-1.0, 0.0, -1.0], [0.0, 0.0, 1.0]);
        assert!(cube.sample([0.0, 1.0, 0.0])[0] > 100.0);
        // A quarter turn counter-clockwise from above: what lay toward +x now lies toward -z.
        let turned = p.to_cube(PI / 2.0, 2);
        let (a, b) = (turned.sample([0.7, 0.1, -0.9]), cube.sample([0.9, 0.1, 0.7]));
        assert!((0..3).all(|i| (a[i] - b[i]).abs() < 0.02), "{a:?} {b:?}");
    }

    #[test]
    fn exr_round_trip_and_bad_numbers() {
        use exr::prelude::*;
        let path = std::env::temp_dir().join(format!("quadrille-panorama-{}.exr", std::process::id()));
        let value = |x: usize| if x == 1 { f32::NAN } else { x as f32 - 2.0 };
        write_rgb_file(&path, 8, 4, |x, y| (value(x), y as f32, 0.5f32)).unwrap();
        let p = super::parse(&path, &std::fs::read(&path).unwrap(), 1 << 20).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert_eq!((p.width, p.height), (8, 4));
        assert_eq!(p.texels[8 + 7], [5.0, 1.0, 0.5]);
        assert_eq!((p.texels[0][0], p.texels[1][0]), (0.0, 0.0));
    }

    #[test]
    fn broken_files_are_errors() {
        let file = hdr(16, 8, |_, _| [1, 2, 3, 128]);
        for cut in 0..file.len() {
            assert!(decode_hdr(&file[..cut], 1 << 20).is_err(), "cut at {cut}");
        }
        assert!(decode_hdr(&file, 100).err().unwrap().contains("memory limit"));
        assert!(
            decode_hdr(b"#?RADIANCE\n\n-Y 100000 +X 100000\n", u64::MAX)
                .err()
                .unwrap()
                .contains("100000")
        );
        assert!(decode_exr(b"\x76\x2f\x31\x01garbage", 1 << 20).is_err());
    }
}
