//! Textures of a job from DDS and KTX2 files: with all their levels, layers, faces and slices.
//!
//! The job says format and dimension itself, as for all textures; the file must agree, but for sRGB: the job decides whether the file's codes
//! are that.

use super::Image;
use super::files::Files;
use super::image::described_size;
use crate::files::texture::TextureFile;
use crate::job::error::JobError;
use crate::job::model;
use crate::job::words::DimensionWord;
use crate::{TextureDimension, TextureSurface};
use std::path::Path;

/// Whether a file is taken for one of these, by its name.
pub(super) fn is_texture_file(name: &str) -> bool {
    let extension = Path::new(name).extension().unwrap_or_default();
    extension.eq_ignore_ascii_case("dds") || extension.eq_ignore_ascii_case("ktx2")
}

impl Files<'_> {
    pub(super) fn texture_file(&self, name: &str, texture: &model::Texture, at: &str) -> Result<Image, JobError> {
        let path = self.resolve(name, &format!("{at}.file"))?;
        let mut file =
            TextureFile::read(&path, self.options.max_file_bytes).map_err(|source| JobError::TextureFile {
                job: self.job.to_owned(),
                at: format!("{at}.file"),
                file: path.clone(),
                source: Box::new(source),
            })?;
        file.set_srgb(texture.format.info().srgb);
        let shape = file.shape;
        let contradicts =
            |field: &str, is: String| self.invalid(&format!("{at}.{field}"), format!("`{name}` has {is}"));
        if shape.format != texture.format {
            return Err(contradicts("format", format!("the format `{}`", shape.format.name())));
        }
        let described = match texture.dimension {
            DimensionWord::D1 => TextureDimension::D1,
            DimensionWord::D3 => TextureDimension::D3,
            _ => TextureDimension::D2,
        };
        if shape.dimension != described {
            return Err(contradicts("dimension", format!("another, {:?}", shape.dimension)));
        }
        let faces = matches!(texture.dimension, DimensionWord::Cube | DimensionWord::CubeArray);
        if faces && !shape.cube {
            return Err(contradicts("dimension", "no cube faces".into()));
        }
        let size = [shape.width, shape.height, shape.depth.max(shape.layers)];
        let side = self.options.max_image_side;
        if shape.width.max(shape.height) > side {
            let reason = format!("`{name}` is {}x{}; sides are 1 to {side}", shape.width, shape.height);
            return Err(self.invalid(&format!("{at}.file"), reason));
        }
        let wanted = described_size(texture).map_err(|reason| self.invalid(&format!("{at}.size"), reason))?;
        // A `size` of two numbers says nothing of layers.
        let third = texture.layers.is_some() || texture.size.as_ref().is_some_and(|s| s.len() == 3);
        if wanted.is_some_and(|[w, h, n]| [w, h] != size[..2] || third && n != size[2]) {
            return Err(contradicts("size", format!("{}x{}x{}", size[0], size[1], size[2])));
        }
        if texture.mip_level_count.is_some_and(|n| n != shape.levels) {
            return Err(contradicts("mipLevelCount", format!("{} levels", shape.levels)));
        }
        if texture.mipmaps && shape.levels > 1 {
            return Err(contradicts("mipmaps", format!("{} levels already", shape.levels)));
        }
        let mut surfaces = Vec::new();
        for (level, layer, image) in file.into_images() {
            let slices = shape.level_size(level)[2];
            let bytes = (image.len() / slices as usize).max(1);
            if slices == 1 {
                surfaces.push((surface(level, layer), image));
            } else {
                let parts = (0..).map(|z| surface(level, z)).zip(image.chunks_exact(bytes));
                surfaces.extend(parts.map(|(surface, slice)| (surface, slice.to_vec())));
            }
        }
        Ok(Image {
            size,
            levels: shape.levels,
            surfaces,
        })
    }
}

fn surface(level: u32, layer: u32) -> TextureSurface {
    TextureSurface {
        level,
        layer,
        ..TextureSurface::default()
    }
}
