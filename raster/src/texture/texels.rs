//! The texture object: creation with its limits, and copies in and out.

use super::derived::Derived;
use super::error::TextureError;
use super::layout::{BLOCK, Layout, LevelLayout, MAX_LEVELS, level_size};
use super::memory::MemoryBudget;
use super::pixels::{Rect, from_blocks, to_blocks};
use super::storage::Storage;
use crate::format::{Aspect, TextureFormat};
use std::sync::{Arc, Mutex, PoisonError};

/// Largest width and height.
pub const MAX_SIZE: u32 = 16384;
/// Largest width, height and depth of a 3d texture.
pub const MAX_SIZE_3D: u32 = 2048;
/// Most array layers.
pub const MAX_LAYERS: u32 = 2048;

/// Number of axes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum TextureDimension {
    /// Width only.
    D1,
    /// Width and height; layers; cubes are views of six layers.
    #[default]
    D2,
    /// Width, height and depth.
    D3,
}

/// `GPUTextureDescriptor`, without what only a device checks (usage, view formats).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextureDescriptor {
    /// Axes.
    pub dimension: TextureDimension,
    /// Texel format.
    pub format: TextureFormat,
    /// Width.
    pub width: u32,
    /// Height; 1 for 1d.
    pub height: u32,
    /// Depth of a 3d texture, array layers of others.
    pub depth_or_layers: u32,
    /// Mip levels.
    pub levels: u32,
    /// Samples a texel.
    pub samples: u32,
}

impl TextureDescriptor {
    /// A 2d texture of one level, layer and sample.
    pub const fn new_2d(format: TextureFormat, width: u32, height: u32) -> TextureDescriptor {
        TextureDescriptor {
            dimension: TextureDimension::D2,
            format,
            width,
            height,
            depth_or_layers: 1,
            levels: 1,
            samples: 1,
        }
    }

    /// The number of levels down to 1x1(x1).
    pub fn full_levels(&self) -> u32 {
        let depth = if self.dimension == TextureDimension::D3 {
            self.depth_or_layers
        } else {
            1
        };
        32 - self.width.max(self.height).max(depth).max(1).leading_zeros()
    }

    fn check(&self) -> Result<(), TextureError> {
        use TextureDimension::*;
        let limit = |what, value: u32, limit: u32| {
            if value == 0 || value > limit {
                Err(TextureError::Limit {
                    what,
                    value: value.into(),
                    limit: limit.into(),
                })
            } else {
                Ok(())
            }
        };
        let side = if self.dimension == D3 { MAX_SIZE_3D } else { MAX_SIZE };
        limit("the texture's width", self.width, side)?;
        limit(
            "the texture's height",
            self.height,
            if self.dimension == D1 { 1 } else { side },
        )?;
        match self.dimension {
            D3 => limit("the texture's depth", self.depth_or_layers, side)?,
            _ => limit("the number of array layers", self.depth_or_layers, MAX_LAYERS)?,
        }
        limit(
            "the number of mip levels",
            self.levels,
            self.full_levels().min(MAX_LEVELS as u32),
        )?;
        if !matches!(self.samples, 1 | 2 | 4 | 8 | 16) {
            return Err(TextureError::SampleCount(self.samples));
        }
        if self.samples > 1 {
            if self.dimension != D2 || self.levels != 1 {
                return Err(TextureError::Invalid(
                    "a multisampled texture must be 2d and have one mip level",
                ));
            }
            if !self.format.info().renderable {
                return Err(TextureError::Format {
                    format: self.format,
                    what: "cannot be multisampled",
                });
            }
        }
        if self.format.is_compressed() && !(self.width.is_multiple_of(BLOCK) && self.height.is_multiple_of(BLOCK)) {
            return Err(TextureError::Invalid(
                "the size of a compressed texture must be a multiple of its blocks, 4x4",
            ));
        }
        if self.format.is_compressed() && self.dimension == D1 {
            return Err(TextureError::Format {
                format: self.format,
                what: "is compressed in blocks, and cannot be 1d",
            });
        }
        if self.dimension != D2 && self.format.is_depth_stencil() {
            return Err(TextureError::Format {
                format: self.format,
                what: "cannot be 1d or 3d",
            });
        }
        Ok(())
    }
}

/// A box of texels of one level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopyRegion {
    /// Which aspect of a depth-stencil format; `All` means depth there.
    pub aspect: Aspect,
    /// Level.
    pub level: u32,
    /// First texel; the third is the depth slice or array layer.
    pub origin: [u32; 3],
    /// Texels; the third counts slices or layers.
    pub size: [u32; 3],
}

/// A texture. Share it in an `Arc`; all methods take `&self` and are safe to call from several threads.
#[derive(Debug)]
pub struct Texture {
    descriptor: TextureDescriptor,
    /// One plane, or depth then stencil.
    planes: Vec<Arc<Storage>>,
    budget: Arc<MemoryBudget>,
    /// What samplers read instead, by the view's format, see [`Derived`].
    derived: Mutex<Vec<Arc<Derived>>>,
}

impl Texture {
    /// A texture of zeros. Sizes and the memory limit are checked before anything is allocated.
    pub fn new(descriptor: &TextureDescriptor, budget: &Arc<MemoryBudget>) -> Result<Arc<Texture>, TextureError> {
        descriptor.check()?;
        let d = descriptor;
        let (depth, layers) = match d.dimension {
            TextureDimension::D3 => (d.depth_or_layers, 1),
            _ => (1, d.depth_or_layers),
        };
        let mut planes = Vec::new();
        for format in d.format.storage() {
            let size = [d.width, d.height, depth];
            let bytes = format.info().bytes;
            let layout = match format.is_compressed() {
                true => Layout::compressed(size, d.levels, layers, bytes)?,
                false => Layout::new(size, d.levels, layers, d.samples, bytes)?,
            };
            planes.push(Storage::new(layout, budget)?);
        }
        Ok(Arc::new(Texture {
            descriptor: d.clone(),
            planes,
            budget: budget.clone(),
            derived: Mutex::new(Vec::new()),
        }))
    }

    /// What it was made from.
    pub fn descriptor(&self) -> &TextureDescriptor {
        &self.descriptor
    }

    /// Its format.
    pub fn format(&self) -> TextureFormat {
        self.descriptor.format
    }

    /// Array layers (1 for 3d).
    pub fn layers(&self) -> u32 {
        if self.descriptor.dimension == TextureDimension::D3 {
            1
        } else {
            self.descriptor.depth_or_layers
        }
    }

    /// Bytes of texels, without derived copies.
    pub fn bytes(&self) -> u64 {
        self.planes.iter().map(|p| p.layout().bytes()).sum()
    }

    /// The single-aspect format of an aspect and the plane that stores it.
    pub(crate) fn plane(&self, aspect: Aspect) -> Result<(TextureFormat, &Arc<Storage>), TextureError> {
        let format = self.format().aspect_format(aspect).ok_or(TextureError::Format {
            format: self.format(),
            what: "lacks the aspect asked for",
        })?;
        let index = usize::from(format == TextureFormat::Stencil8 && self.planes.len() > 1);
        Ok((format, &self.planes[index]))
    }

    /// Notes that a subresource of the colour plane has other texels now.
    pub(crate) fn written(&self, index: usize) {
        let derived = self.derived.lock().unwrap_or_else(PoisonError::into_inner);
        derived.iter().for_each(|copy| copy.written(index));
    }

    /// Writes texels from rows: `bytes_per_row` apart, slices or layers `rows_per_image` rows apart.
    pub fn write(
        &self,
        region: &CopyRegion,
        data: &[u8],
        bytes_per_row: usize,
        rows_per_image: usize,
    ) -> Result<(), TextureError> {
        let plan = self.plan(region, data.len(), bytes_per_row, rows_per_image)?;
        for image in 0..plan.images {
            let (index, range, at) = plan.image(image);
            let mut borrow = plan.storage.borrow(index, true)?;
            if let Some(bytes) = borrow.bytes_mut() {
                let surface = &mut bytes[range];
                to_blocks(
                    surface,
                    &plan.level,
                    plan.texel_bytes,
                    plan.rect,
                    &data[at..],
                    bytes_per_row,
                );
            }
            self.written(index);
        }
        Ok(())
    }

    /// Reads texels into rows, as [`write`](Self::write) writes them.
    pub fn read(
        &self,
        region: &CopyRegion,
        out: &mut [u8],
        bytes_per_row: usize,
        rows_per_image: usize,
    ) -> Result<(), TextureError> {
        let plan = self.plan(region, out.len(), bytes_per_row, rows_per_image)?;
        for image in 0..plan.images {
            let (index, range, at) = plan.image(image);
            let borrow = plan.storage.borrow(index, false)?;
            let surface = &borrow.bytes()[range];
            from_blocks(
                surface,
                &plan.level,
                plan.texel_bytes,
                plan.rect,
                &mut out[at..],
                bytes_per_row,
            );
        }
        Ok(())
    }

    /// One layer's or slice's level, tightly packed. For tests and tools.
    pub fn read_level(&self, level: u32, layer: u32) -> Result<Vec<u8>, TextureError> {
        let (_, storage) = self.plane(Aspect::All)?;
        let l = storage
            .layout()
            .levels
            .get(level as usize)
            .ok_or(self.no_level(level))?;
        let row = l.width as usize * storage.layout().texel_bytes as usize;
        let mut out = vec![0; row * l.height as usize];
        let region = self.whole_level(level, layer);
        self.read(&region, &mut out, row, l.height as usize)?;
        Ok(out)
    }

    /// Writes one layer's or slice's whole level from tightly packed rows.
    pub fn write_level(&self, level: u32, layer: u32, data: &[u8]) -> Result<(), TextureError> {
        let (_, storage) = self.plane(Aspect::All)?;
        let l = storage
            .layout()
            .levels
            .get(level as usize)
            .ok_or(self.no_level(level))?;
        let row = l.width as usize * storage.layout().texel_bytes as usize;
        let region = self.whole_level(level, layer);
        self.write(&region, data, row, l.height as usize)
    }

    fn whole_level(&self, level: u32, layer: u32) -> CopyRegion {
        let d = &self.descriptor;
        let [width, height] = [d.width, d.height].map(|s| level_size(s, level));
        CopyRegion {
            aspect: Aspect::All,
            level,
            origin: [0, 0, layer],
            size: [width, height, 1],
        }
    }

    fn no_level(&self, level: u32) -> TextureError {
        let size = self.descriptor.levels;
        TextureError::ViewRange {
            what: "levels",
            first: level,
            end: u64::from(level) + 1,
            size,
        }
    }

    /// A region of a compressed texture in blocks: whole ones, but for the level's right and lower edge (R-SAMP-130).
    fn in_blocks(&self, region: &CopyRegion) -> Result<CopyRegion, TextureError> {
        if !self.format().is_compressed() {
            return Ok(*region);
        }
        let d = &self.descriptor;
        let mut out = *region;
        for (c, size) in [d.width, d.height].into_iter().enumerate() {
            let size = level_size(size, region.level);
            let (first, count) = (region.origin[c], region.size[c]);
            let end = first.saturating_add(count);
            if !first.is_multiple_of(BLOCK) || !(end.is_multiple_of(BLOCK) || end == size) {
                return Err(TextureError::Invalid(
                    "a copy of a compressed texture must cover whole 4x4 blocks",
                ));
            }
            out.origin[c] = first / BLOCK;
            out.size[c] = end.div_ceil(BLOCK) - first / BLOCK;
        }
        Ok(out)
    }

    /// Checks a copy and works out its surfaces.
    fn plan(
        &self,
        region: &CopyRegion,
        length: usize,
        bytes_per_row: usize,
        rows_per_image: usize,
    ) -> Result<Plan<'_>, TextureError> {
        if self.descriptor.samples > 1 {
            return Err(TextureError::Invalid(
                "a multisampled texture can't be copied; resolve it first",
            ));
        }
        let (_, storage) = self.plane(region.aspect)?;
        let layout = storage.layout();
        let l = layout
            .levels
            .get(region.level as usize)
            .ok_or(self.no_level(region.level))?;
        let volume = self.descriptor.dimension == TextureDimension::D3;
        let region = &self.in_blocks(region)?;
        let (z_axis, z_size) = if volume {
            ("z", l.depth)
        } else {
            ("layer", layout.layers)
        };
        for (i, (axis, size)) in [("x", l.width), ("y", l.height), (z_axis, z_size)]
            .into_iter()
            .enumerate()
        {
            let end = u64::from(region.origin[i]) + u64::from(region.size[i]);
            if end > size.into() {
                return Err(TextureError::Region {
                    axis,
                    end,
                    size,
                    level: region.level,
                });
            }
        }
        let [width, height, images] = region.size;
        let texel_bytes = layout.texel_bytes as usize;
        let row = width as usize * texel_bytes;
        if (bytes_per_row < row && height > 1) || (rows_per_image < height as usize && images > 1) {
            return Err(TextureError::Invalid(
                "rows or images of the data overlap: the stride is less than a row",
            ));
        }
        let image_bytes = bytes_per_row.checked_mul(rows_per_image);
        let empty = width == 0 || height == 0 || images == 0;
        let needed = || {
            let images = if images == 1 {
                0
            } else {
                image_bytes?.checked_mul(images as usize - 1)?
            };
            let rows = bytes_per_row.checked_mul(height as usize - 1)?;
            images.checked_add(rows)?.checked_add(row)
        };
        let needed = if empty { 0 } else { needed().unwrap_or(usize::MAX) };
        if needed > length {
            return Err(TextureError::DataSize { got: length, needed });
        }
        Ok(Plan {
            storage,
            level: *l,
            level_index: region.level,
            volume,
            first: region.origin[2],
            images: if empty { 0 } else { images },
            rect: Rect {
                x: region.origin[0],
                y: region.origin[1],
                width,
                height,
            },
            texel_bytes,
            image_bytes: image_bytes.unwrap_or(0),
        })
    }

    /// The derived copy for views of a format, made (stale) if there is none yet.
    pub(crate) fn derived(&self, format: TextureFormat) -> Result<Arc<Derived>, TextureError> {
        let mut derived = self.derived.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(copy) = derived.iter().find(|copy| copy.from() == format) {
            return Ok(copy.clone());
        }
        let copy = Arc::new(Derived::new(self, format, &self.budget)?);
        derived.push(copy.clone());
        Ok(copy)
    }

    /// Brings the given subresources of a derived copy up to date. The caller holds read borrows of them.
    pub(crate) fn freshen(
        &self,
        copy: &Derived,
        subresources: impl Iterator<Item = usize>,
    ) -> Result<(), TextureError> {
        // One converter at a time: whoever comes second finds the flags cleared and the texels there.
        let _one = self.derived.lock().unwrap_or_else(PoisonError::into_inner);
        copy.freshen(&self.planes[0], subresources)
    }
}

/// A checked copy.
struct Plan<'a> {
    storage: &'a Arc<Storage>,
    level: LevelLayout,
    level_index: u32,
    volume: bool,
    first: u32,
    images: u32,
    rect: Rect,
    texel_bytes: usize,
    image_bytes: usize,
}

impl Plan<'_> {
    /// Subresource, bytes of the surface within it, and where the image's rows start in the data.
    fn image(&self, image: u32) -> (usize, std::ops::Range<usize>, usize) {
        let z = self.first + image;
        let (layer, surface) = if self.volume { (0, z) } else { (z, 0) };
        let bytes = self.level.surface() as usize * self.texel_bytes;
        let start = surface as usize * bytes;
        let index = self.storage.layout().subresource(layer, self.level_index);
        (index, start..start + bytes, image as usize * self.image_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use TextureFormat::*;

    fn texture(d: TextureDescriptor) -> Arc<Texture> {
        Texture::new(&d, &MemoryBudget::new(1 << 26)).unwrap()
    }

    #[test]
    fn limits_are_checked_before_allocating() {
        let budget = MemoryBudget::new(1 << 20);
        let make = |d: &TextureDescriptor| Texture::new(d, &budget).map(|_| ());
        let base = TextureDescriptor::new_2d(Rgba8Unorm, 16, 16);
        assert!(
            make(&TextureDescriptor {
                width: 0,
                ..base.clone()
            })
            .is_err()
        );
        assert!(
            make(&TextureDescriptor {
                width: 16385,
                ..base.clone()
            })
            .is_err()
        );
        assert!(
            make(&TextureDescriptor {
                depth_or_layers: 2049,
                ..base.clone()
            })
            .is_err()
        );
        assert!(
            make(&TextureDescriptor {
                levels: 6,
                ..base.clone()
            })
            .is_err()
        );
        assert!(
            make(&TextureDescriptor {
                levels: 5,
                ..base.clone()
            })
            .is_ok()
        );
        assert!(
            make(&TextureDescriptor {
                samples: 3,
                ..base.clone()
            })
            .is_err()
        );
        assert!(
            make(&TextureDescriptor {
                samples: 4,
                levels: 2,
                ..base.clone()
            })
            .is_err()
        );
        assert!(
            make(&TextureDescriptor {
                samples: 4,
                format: Rgb9e5Ufloat,
                ..base.clone()
            })
            .is_err()
        );
        assert!(matches!(
            make(&TextureDescriptor {
                width: 1024,
                height: 1024,
                ..base
            }),
            Err(TextureError::OutOfMemory { .. })
        ));
        assert_eq!(budget.used(), 0);
    }

    #[test]
    fn rows_come_back_as_written() {
        for format in [R8Unorm, Rg8Unorm, Rgba8Unorm, Rgba16Float, Rgba32Float] {
            let t = texture(TextureDescriptor {
                depth_or_layers: 3,
                levels: 3,
                ..TextureDescriptor::new_2d(format, 13, 7)
            });
            let bytes = format.info().bytes as usize;
            let data: Vec<u8> = (0..6 * 3 * bytes).map(|i| (i * 7 % 251) as u8).collect();
            let region = CopyRegion {
                aspect: Aspect::All,
                level: 1,
                origin: [0, 0, 1],
                size: [6, 3, 1],
            };
            t.write(&region, &data, 6 * bytes, 3).unwrap();
            assert_eq!(t.read_level(1, 1).unwrap(), data);
            assert!(t.read_level(1, 0).unwrap().iter().all(|&b| b == 0));
            let part = CopyRegion {
                aspect: Aspect::All,
                level: 1,
                origin: [3, 1, 0],
                size: [2, 2, 3],
            };
            let mut out = vec![9; 100 * bytes];
            t.read(&part, &mut out, 10 * bytes, 3).unwrap();
            for y in 0..2 {
                let at = (30 + y * 10) * bytes;
                let from = ((1 + y) * 6 + 3) * bytes;
                assert_eq!(out[at..at + 2 * bytes], data[from..from + 2 * bytes]);
                assert_eq!(out[at + 2 * bytes], 9);
            }
        }
    }

    #[test]
    fn copies_outside_or_too_short_are_refused() {
        let t = texture(TextureDescriptor::new_2d(R8Unorm, 8, 8));
        let region = |origin, size| CopyRegion {
            aspect: Aspect::All,
            level: 0,
            origin,
            size,
        };
        let w = |r: CopyRegion, n: usize, row: usize| t.write(&r, &vec![0; n], row, usize::MAX);
        assert!(matches!(
            w(region([1, 0, 0], [8, 1, 1]), 64, 8),
            Err(TextureError::Region { axis: "x", .. })
        ));
        assert!(matches!(
            w(region([u32::MAX, 0, 0], [8, 1, 1]), 64, 8),
            Err(TextureError::Region { .. })
        ));
        assert!(matches!(
            w(region([0, 0, 0], [8, 8, 2]), 64, 8),
            Err(TextureError::Region { axis: "layer", .. })
        ));
        assert!(matches!(
            w(region([0, 0, 0], [8, 8, 1]), 63, 8),
            Err(TextureError::DataSize { needed: 64, .. })
        ));
        assert!(matches!(
            w(region([0, 0, 0], [8, 8, 1]), 63, 7),
            Err(TextureError::Invalid(_))
        ));
        assert!(w(region([0, 0, 0], [8, 8, 1]), 64, 8).is_ok());
        assert!(w(region([8, 0, 0], [0, 8, 1]), 0, 8).is_ok());
        assert!(t.read_level(1, 0).is_err());
    }

    #[test]
    fn depth_stencil_aspects_are_separate_planes() {
        let t = texture(TextureDescriptor::new_2d(Depth24PlusStencil8, 4, 4));
        let region = |aspect| CopyRegion {
            aspect,
            level: 0,
            origin: [0; 3],
            size: [4, 4, 1],
        };
        t.write(&region(Aspect::Stencil), &[5; 16], 4, 4).unwrap();
        t.write(&region(Aspect::Depth), &[1; 64], 16, 4).unwrap();
        let mut out = [0; 16];
        t.read(&region(Aspect::Stencil), &mut out, 4, 4).unwrap();
        assert_eq!(out, [5; 16]);
    }
}
