//! Texture files with mip levels, layers and cubes: DDS and KTX2.
//!
//! ```text
//! bytes ──► dds.rs, ktx2.rs ──► Shape (format, sizes)  checked against the limits before texels are touched
//!                                  └─► TextureFile: one image a level and layer ──► upload ──► Texture
//! ```
//!
//! Files are not trusted: every offset and length is checked, sizes are known from the header and bounded before anything is
//! allocated, and what a format can't say here is refused by name (law O4: `tests/texture_files.rs` mutates files).

use super::{FileError, read_bounded};
use crate::{
    Device, Extent3d, Texture, TextureDescriptor, TextureDimension, TextureError, TextureFormat, TextureUsages,
};
use std::path::Path;

mod astc;
mod dds;
mod eac;
mod expand;
mod ktx2;
#[cfg(test)]
mod tests;

/// Largest side, and most layers.
const MAX_SIDE: u32 = 16384;
const MAX_LAYERS: u32 = 2048;

/// Why a texture file could not be read.
#[derive(Debug, thiserror::Error)]
pub enum TextureFileError {
    /// The file itself.
    #[error(transparent)]
    File(#[from] FileError),
    /// Neither DDS nor KTX2.
    #[error("neither a DDS nor a KTX2 file")]
    Unknown,
    /// The content contradicts itself, or ends early: the file's fault.
    #[error("a broken {kind} file: {what}")]
    Broken {
        /// DDS or KTX2.
        kind: &'static str,
        /// What is wrong.
        what: String,
    },
    /// A valid file of a kind that is not read here.
    #[error("{kind}: {what} is not supported")]
    Unsupported {
        /// DDS or KTX2.
        kind: &'static str,
        /// What is missing.
        what: String,
    },
    /// More bytes of texels than allowed: a limit.
    #[error("its texels take {needed} bytes, more than the {limit} allowed here")]
    TooLarge {
        /// Bytes of all levels and layers.
        needed: u64,
        /// The most that is allowed.
        limit: u64,
    },
}

impl TextureFileError {
    /// What to do about it, to stand behind a sentence.
    pub fn advice(&self) -> &'static str {
        match self {
            Self::Unsupported { .. } => "; save it in a format that is read, e.g. BC7 or RGBA8",
            Self::TooLarge { .. } => "; save it smaller, or with fewer layers",
            Self::Broken { .. } | Self::Unknown => "; export it again",
            Self::File(_) => "",
        }
    }
}

/// Format and sizes, checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Texel format.
    pub format: TextureFormat,
    /// 1d, 2d or 3d.
    pub dimension: TextureDimension,
    /// Width of level 0.
    pub width: u32,
    /// Height of level 0.
    pub height: u32,
    /// Depth of level 0, 1 unless 3d.
    pub depth: u32,
    /// Layers, of cubes six each.
    pub layers: u32,
    /// Whether layers are faces of cubes.
    pub cube: bool,
    /// Mip levels.
    pub levels: u32,
}

impl Shape {
    /// Width, height and depth of a level.
    pub fn level_size(&self, level: u32) -> [u32; 3] {
        [self.width, self.height, self.depth].map(|s| (s >> level.min(31)).max(1))
    }

    /// The format, or its twin that is sRGB or not as asked, if there is one.
    fn format_as(&self, srgb: bool) -> TextureFormat {
        let twin = Some(self.format)
            .filter(|f| f.info().srgb != srgb)
            .and_then(TextureFormat::srgb_twin);
        twin.unwrap_or(self.format)
    }

    /// Bytes of all texels as they are in memory.
    pub fn bytes(&self) -> u64 {
        // Below 2^14 * 2^14 * 2^14 * 2^4 a level and layer: no overflow in 64 bits, even with all layers.
        let layer: u64 = (0..self.levels).map(|level| self.image_bytes(level)).sum();
        layer.saturating_mul(self.layers.into())
    }

    /// Bytes of one layer of a level, all its slices.
    fn image_bytes(&self, level: u32) -> u64 {
        let [w, h, d] = self.level_size(level);
        let [w, h] = self.format.units(w, h);
        u64::from(w) * u64::from(h) * u64::from(d) * u64::from(self.format.info().bytes)
    }

    /// Sizes within limits, and no more levels than they have.
    fn check(self, kind: &'static str, limit: u64) -> Result<Shape, TextureFileError> {
        let broken = |what: String| Err(TextureFileError::Broken { kind, what });
        let largest = self.width.max(self.height).max(self.depth);
        if self.width == 0 || self.height == 0 || self.depth == 0 || largest > MAX_SIDE {
            let Shape {
                width, height, depth, ..
            } = self;
            return broken(format!(
                "{width} x {height} x {depth} texels; sides are 1 to {MAX_SIDE}"
            ));
        }
        if self.layers == 0 || self.layers > MAX_LAYERS {
            return broken(format!("{} layers; 1 to {MAX_LAYERS} are possible", self.layers));
        }
        if self.cube && (self.width != self.height || !self.layers.is_multiple_of(6)) {
            return broken("its cubes are not square, or lack faces".into());
        }
        if self.levels == 0 || self.levels > 32 - largest.leading_zeros() {
            return broken(format!("{} mip levels of {largest} texels", self.levels));
        }
        let needed = self.bytes();
        if needed > limit {
            return Err(TextureFileError::TooLarge { needed, limit });
        }
        Ok(self)
    }
}

/// A texture with everything a file says about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextureFile {
    /// Format and sizes.
    pub shape: Shape,
    /// By level, then layer: tightly packed rows (of blocks), slices one after the other.
    images: Vec<Vec<u8>>,
}

impl TextureFile {
    /// Reads a file of at most `limit` bytes of texels.
    pub fn read(path: &Path, limit: u64) -> Result<TextureFile, TextureFileError> {
        // Headers and bad compression take something, too.
        let bytes = read_bounded(path, limit.saturating_add(limit / 8).saturating_add(1 << 20))?;
        TextureFile::parse(&bytes, limit)
    }

    /// Reads a file that is in memory already.
    pub fn parse(bytes: &[u8], limit: u64) -> Result<TextureFile, TextureFileError> {
        Self::read_parts(bytes, limit, true)
    }

    /// What a file in memory says it is; its texels are neither unpacked nor looked at.
    pub fn parse_shape(bytes: &[u8], limit: u64) -> Result<Shape, TextureFileError> {
        Ok(Self::read_parts(bytes, limit, false)?.shape)
    }

    fn read_parts(bytes: &[u8], limit: u64, texels: bool) -> Result<TextureFile, TextureFileError> {
        if bytes.starts_with(dds::MAGIC) {
            dds::parse(bytes, limit, texels)
        } else if bytes.starts_with(&ktx2::MAGIC) {
            ktx2::parse(bytes, limit, texels)
        } else {
            Err(TextureFileError::Unknown)
        }
    }

    /// A layer of a level: tightly packed rows (of blocks), slices one after the other.
    pub fn image(&self, level: u32, layer: u32) -> Option<&[u8]> {
        if level >= self.shape.levels || layer >= self.shape.layers {
            return None;
        }
        let at = level as usize * self.shape.layers as usize + layer as usize;
        self.images.get(at).map(Vec::as_slice)
    }

    /// Whether bytes begin as one of the files that are read here do.
    pub fn recognizes(bytes: &[u8]) -> bool {
        bytes.starts_with(dds::MAGIC) || bytes.starts_with(&ktx2::MAGIC)
    }

    /// Calls colours sRGB, or linear, whatever the file calls them; formats without such a twin stay as they are.
    pub fn set_srgb(&mut self, srgb: bool) {
        self.shape.format = self.shape.format_as(srgb);
    }

    /// Level, layer and texels of every [`image`](Self::image), by level, then layer.
    pub fn into_images(self) -> impl Iterator<Item = (u32, u32, Vec<u8>)> {
        let layers = self.shape.layers;
        (0..)
            .zip(self.images)
            .map(move |(i, image): (u32, _)| (i / layers, i % layers, image))
    }

    /// Makes a texture of it. `COPY_DST` is added to the usages. The size of a compressed texture must be a multiple of its 4x4
    /// blocks, as WebGPU and Direct3D demand: files of other sizes are read, but are no textures.
    pub fn upload(&self, device: &Device, label: &str, usage: TextureUsages) -> Result<Texture, TextureError> {
        self.upload_format(device, label, usage, self.shape.format)
    }

    /// As [`upload`](Self::upload), with colours called sRGB or not, as [`set_srgb`](Self::set_srgb) does.
    pub fn upload_as(
        &self,
        device: &Device,
        label: &str,
        usage: TextureUsages,
        srgb: bool,
    ) -> Result<Texture, TextureError> {
        self.upload_format(device, label, usage, self.shape.format_as(srgb))
    }

    fn upload_format(
        &self,
        device: &Device,
        label: &str,
        usage: TextureUsages,
        format: TextureFormat,
    ) -> Result<Texture, TextureError> {
        let s = &self.shape;
        let texture = device.create_texture(&TextureDescriptor {
            label: Some(label),
            size: Extent3d {
                width: s.width,
                height: s.height,
                depth_or_array_layers: s.depth.max(s.layers),
            },
            mip_level_count: s.levels,
            dimension: s.dimension,
            format,
            usage: usage | TextureUsages::COPY_DST,
            ..TextureDescriptor::default()
        })?;
        for level in 0..s.levels {
            let slices = s.level_size(level)[2];
            for layer in 0..s.layers {
                let image = self.image(level, layer).unwrap_or_default();
                let bytes = (image.len() / slices as usize).max(1);
                for (z, slice) in (0..slices).zip(image.chunks_exact(bytes)) {
                    texture.write_level(level, layer + z, slice)?;
                }
            }
        }
        Ok(texture)
    }
}

/// Little-endian numbers at offsets that may lie outside.
fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let word = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_le_bytes(word.try_into().ok()?))
}

fn long(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from(word(bytes, at)?) | u64::from(word(bytes, at.checked_add(4)?)?) << 32)
}
