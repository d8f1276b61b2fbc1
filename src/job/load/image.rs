//! Texels of textures: from PNG, DDS and KTX2 files, raw files or inline data, in the texture's own format.

use super::files::Files;
use super::texture_file::is_texture_file;
use crate::files::image;
use crate::files::png::PngError;
use crate::job::error::JobError;
use crate::job::model;
use crate::job::words::DimensionWord;
use crate::{FormatInfo, TextureAspect, TextureFormat, TextureSurface};

/// Data of a texture.
#[derive(Debug)]
pub struct Image {
    /// Width, height, and depth or layers.
    pub size: [u32; 3],
    /// Mip levels that the texture has before any are made.
    pub levels: u32,
    /// Tightly packed rows from the top, for each surface that has data.
    pub surfaces: Vec<(TextureSurface, Vec<u8>)>,
}

/// Width, height, and depth or layers, as a texture says it.
pub(crate) fn described_size(t: &model::Texture) -> Result<Option<[u32; 3]>, String> {
    let Some(size) = &t.size else { return Ok(None) };
    let cube = matches!(t.dimension, DimensionWord::Cube | DimensionWord::CubeArray);
    let third = t.layers.unwrap_or(if cube { 6 } else { 1 });
    match (t.dimension, size.as_slice()) {
        (DimensionWord::D1, &[w]) => Ok(Some([w, 1, third])),
        (_, &[w, h]) => Ok(Some([w, h, third])),
        (_, &[w, h, n]) if t.layers.is_none_or(|l| l == n) => Ok(Some([w, h, n])),
        (_, &[_, _, n]) => Err(format!("{n} layers or slices contradict `layers`")),
        _ => Err("width and height, and where there are several, depth or layers".into()),
    }
}

impl Files<'_> {
    pub fn image(&self, texture: &model::Texture, at: &str) -> Result<Option<Image>, JobError> {
        let image = match (&texture.png, &texture.file, &texture.data) {
            (None, None, None) if texture.mipmaps => {
                return Err(self.invalid(at, "`mipmaps` needs data: `png`, `file` or `data`"));
            }
            (None, None, None) if texture.stencil_data.is_none() => return Ok(None),
            (Some(files), None, None) => self.pngs(files, texture, at)?,
            (None, Some(file), None) if is_texture_file(file) => self.texture_file(file, texture, at)?,
            (None, Some(file), None) => self.raw(file, texture, at)?,
            (None, None, _) => self.surfaces(texture, at)?,
            _ => return Err(self.invalid(at, "`png`, `file` and `data` are alternatives")),
        };
        if texture.data.is_none() && texture.stencil_data.is_none() && texture.sample_count != 1 {
            return Err(self.invalid(at, "a texture with data has one sample a pixel"));
        }
        let [w, h, n] = image.size;
        if texture.layers.is_some_and(|layers| layers != n) {
            return Err(self.invalid(at, format!("`layers` contradicts the data, which has {n}")));
        }
        if texture.mipmaps && !(w.is_power_of_two() && h.is_power_of_two()) {
            return Err(self.invalid(at, format!("`mipmaps` needs sizes that are powers of two, not {w}x{h}")));
        }
        Ok(Some(image))
    }

    fn pngs(&self, files: &[String], texture: &model::Texture, at: &str) -> Result<Image, JobError> {
        let keep = match texture.format {
            TextureFormat::R8Unorm => 1,
            TextureFormat::Rg8Unorm => 2,
            TextureFormat::Rgba8Unorm | TextureFormat::Rgba8UnormSrgb => 4,
            other => return Err(self.invalid(at, format!("a PNG can't fill `{}`", other.name()))),
        };
        let mut size: Option<(u32, u32)> = None;
        let mut surfaces = Vec::new();
        for (layer, file) in (0..).zip(files) {
            let at = format!("{at}.png[{layer}]");
            let path = self.resolve(file, &at)?;
            let png = image::read(&path, self.options.max_image_side).map_err(|source| match source {
                PngError::File(e) => self.failed(&at, e),
                source => JobError::Image {
                    job: self.job.to_owned(),
                    at: at.clone(),
                    source,
                },
            })?;
            let (w, h) = *size.get_or_insert((png.width, png.height));
            if (w, h) != (png.width, png.height) {
                let reason = format!("`{file}` is {}x{}, the first layer {w}x{h}", png.width, png.height);
                return Err(self.invalid(&at, reason));
            }
            let texels = match keep {
                4 => png.pixels,
                n => png
                    .pixels
                    .chunks_exact(4)
                    .flat_map(|p| p.iter().take(n).copied())
                    .collect(),
            };
            let surface = TextureSurface {
                layer,
                ..TextureSurface::default()
            };
            surfaces.push((surface, texels));
        }
        let (w, h) = size.ok_or_else(|| self.invalid(&format!("{at}.png"), "names no file"))?;
        let described = described_size(texture).map_err(|reason| self.invalid(&format!("{at}.size"), reason))?;
        if described.is_some_and(|[x, y, _]| (x, y) != (w, h)) {
            return Err(self.invalid(&format!("{at}.size"), format!("contradicts the PNG, which is {w}x{h}")));
        }
        Ok(Image {
            size: [w, h, surfaces.len() as u32],
            levels: 1,
            surfaces,
        })
    }

    fn size_of_data(&self, texture: &model::Texture, at: &str) -> Result<[u32; 3], JobError> {
        let described = described_size(texture).map_err(|reason| self.invalid(&format!("{at}.size"), reason))?;
        let [w, h, n] = described.ok_or_else(|| self.invalid(at, "raw data needs `size`"))?;
        let side = self.options.max_image_side;
        if [w, h, n].iter().any(|&s| s == 0 || s > side) {
            return Err(self.invalid(&format!("{at}.size"), format!("{w}x{h}x{n}; each is 1 to {side}")));
        }
        Ok([w, h, n])
    }

    /// Layers of level 0, as many as the file has.
    fn raw(&self, file: &str, texture: &model::Texture, at: &str) -> Result<Image, JobError> {
        let [width, height, _] = self.size_of_data(texture, at)?;
        let info: &FormatInfo = texture.format.info();
        if info.depth || info.stencil {
            return Err(self.invalid(at, format!("`{}` can't carry data of a file; use `data`", info.name)));
        }
        let at = format!("{at}.file");
        let bytes = self.read(file, &at)?;
        // Within 2^14 a side and 2^4 bytes a texel, so it can't overflow 64 bits.
        let [columns, rows] = texture.format.units(width, height);
        let layer = u64::from(columns) * u64::from(rows) * u64::from(info.bytes);
        let whole = usize::try_from(layer)
            .ok()
            .filter(|&n| !bytes.is_empty() && bytes.len().is_multiple_of(n));
        let Some(layer_bytes) = whole else {
            return Err(self.invalid(
                &at,
                format!(
                    "`{file}` has {} bytes, not a multiple of the {layer} that {width}x{height} texels of {} take",
                    bytes.len(),
                    info.name
                ),
            ));
        };
        let surface = |layer| TextureSurface {
            layer,
            ..TextureSurface::default()
        };
        let surfaces: Vec<_> = (0..)
            .map(surface)
            .zip(bytes.chunks_exact(layer_bytes).map(<[u8]>::to_vec))
            .collect();
        Ok(Image {
            size: [width, height, surfaces.len() as u32],
            levels: 1,
            surfaces,
        })
    }

    /// `data` and `stencilData`: level after level, layer after layer, sample after sample; later levels may be missing.
    fn surfaces(&self, t: &model::Texture, at: &str) -> Result<Image, JobError> {
        let size = self.size_of_data(t, at)?;
        let levels = t.mip_level_count.unwrap_or(1);
        let mut surfaces = Vec::new();
        let parts = [
            (&t.data, TextureAspect::All, "data"),
            (&t.stencil_data, TextureAspect::Stencil, "stencilData"),
        ];
        for (data, aspect, field) in parts {
            let Some(data) = data else { continue };
            let at = format!("{at}.{field}");
            let format = t
                .format
                .aspect_format(aspect)
                .ok_or_else(|| self.invalid(&at, format!("`{}` has no stencil", t.format.name())))?;
            let bytes = self.data(data, &at)?;
            let mut rest = bytes.as_slice();
            'levels: for level in 0..levels.min(16) {
                let side = |s: u32| (s >> level).max(1);
                let layers = if t.dimension == DimensionWord::D3 {
                    side(size[2])
                } else {
                    size[2]
                };
                let [columns, rows] = format.units(side(size[0]), side(size[1]));
                let n = u64::from(columns) * u64::from(rows) * u64::from(format.info().bytes);
                for (layer, sample) in (0..layers).flat_map(|l| (0..t.sample_count).map(move |s| (l, s))) {
                    if rest.is_empty() && level > 0 {
                        break 'levels;
                    }
                    let Some((texels, after)) = usize::try_from(n).ok().and_then(|n| rest.split_at_checked(n)) else {
                        let reason = format!(
                            "{} bytes end within level {level}, layer {layer}, which takes {n}",
                            bytes.len()
                        );
                        return Err(self.invalid(&at, reason));
                    };
                    let surface = TextureSurface {
                        aspect,
                        level,
                        layer,
                        sample,
                    };
                    surfaces.push((surface, texels.to_vec()));
                    rest = after;
                }
            }
            if !rest.is_empty() {
                let reason = format!("{} bytes, {} more than the texture takes", bytes.len(), rest.len());
                return Err(self.invalid(&at, reason));
            }
        }
        Ok(Image { size, levels, surfaces })
    }
}
