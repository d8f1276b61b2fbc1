//! The texture object: creation with its limits, copies in and out, and the linear copy of sRGB formats.

use super::error::TextureError;
use super::layout::{Layout, LevelLayout, MAX_LEVELS};
use super::memory::MemoryBudget;
use super::pixels::{Rect, from_blocks, to_blocks};
use super::storage::Storage;
use crate::format::{Aspect, TextureFormat, srgb};
use std::sync::atomic::{AtomicBool, Ordering};
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

/// The linear rgba16unorm copy of an 8-bit sRGB texture (law S3).
#[derive(Debug)]
pub struct LinearCopy {
    pub storage: Arc<Storage>,
    /// Subresources written since they were last converted.
    stale: Box<[AtomicBool]>,
}

/// A texture. Share it in an `Arc`; all methods take `&self` and are safe to call from several threads.
#[derive(Debug)]
pub struct Texture {
    descriptor: TextureDescriptor,
    /// One plane, or depth then stencil.
    planes: Vec<Arc<Storage>>,
    budget: Arc<MemoryBudget>,
    linear: Mutex<Option<Arc<LinearCopy>>>,
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
            let layout = Layout::new(size, d.levels, layers, d.samples, format.info().bytes)?;
            planes.push(Storage::new(layout, budget)?);
        }
        Ok(Arc::new(Texture {
            descriptor: d.clone(),
            planes,
            budget: budget.clone(),
            linear: Mutex::new(None),
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
        let linear = self.linear.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(copy) = linear.as_ref() {
            copy.stale[index].store(true, Ordering::Relaxed);
        }
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
        let region = CopyRegion {
            aspect: Aspect::All,
            level,
            origin: [0, 0, layer],
            size: [l.width, l.height, 1],
        };
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
        let region = CopyRegion {
            aspect: Aspect::All,
            level,
            origin: [0, 0, layer],
            size: [l.width, l.height, 1],
        };
        self.write(&region, data, row, l.height as usize)
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

    /// The linear copy, made (stale) if there is none yet.
    pub(crate) fn linear_copy(&self) -> Result<Arc<LinearCopy>, TextureError> {
        let mut linear = self.linear.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(copy) = linear.as_ref() {
            return Ok(copy.clone());
        }
        let mut layout = self.planes[0].layout().clone();
        layout.texel_bytes = 8;
        let stale = (0..layout.subresources()).map(|_| AtomicBool::new(true)).collect();
        let copy = Arc::new(LinearCopy {
            storage: Storage::new(layout, &self.budget)?,
            stale,
        });
        *linear = Some(copy.clone());
        Ok(copy)
    }

    /// Brings the given subresources of the linear copy up to date. The caller holds read borrows of them.
    pub(crate) fn freshen(
        &self,
        copy: &LinearCopy,
        subresources: impl Iterator<Item = usize>,
    ) -> Result<(), TextureError> {
        // One converter at a time: whoever comes second finds the flags cleared and the texels there.
        let _one = self.linear.lock().unwrap_or_else(PoisonError::into_inner);
        for index in subresources {
            if !copy.stale[index].load(Ordering::Relaxed) {
                continue;
            }
            let from = self.planes[0].borrow(index, false)?;
            let mut to = copy.storage.borrow(index, true)?;
            if let Some(to) = to.bytes_mut() {
                to_linear16(from.bytes(), to);
            }
            copy.stale[index].store(false, Ordering::Relaxed);
        }
        Ok(())
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

/// 8-bit sRGB codes to linear 16-bit codes, components in the same order (alpha is last in all such formats); alpha
/// times 257 is the same number in 16 bits.
fn to_linear16(from: &[u8], to: &mut [u8]) {
    let table = &srgb::tables().to_linear16;
    let (texels, _) = from.as_chunks::<4>();
    let (out, _) = to.as_chunks_mut::<8>();
    for (t, o) in texels.iter().zip(out) {
        let [r, g, b] = [0, 1, 2].map(|c| u64::from(table[usize::from(t[c])]));
        *o = (r | g << 16 | b << 32 | (u64::from(t[3]) * 257) << 48).to_le_bytes();
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

    /// Law S3: the copy holds round(linear * 65535) and follows writes.
    #[test]
    fn linear_copies_follow_writes() {
        let t = texture(TextureDescriptor::new_2d(Bgra8UnormSrgb, 4, 4));
        let copy = t.linear_copy().unwrap();
        t.write_level(0, 0, &[0, 128, 255, 64].repeat(16)).unwrap();
        t.freshen(&copy, 0..1).unwrap();
        let texel = |copy: &LinearCopy| -> Vec<u16> {
            let b = copy.storage.borrow(0, false).unwrap();
            b.bytes()[..8]
                .chunks(2)
                .map(|c| u16::from_le_bytes([c[0], c[1]]))
                .collect()
        };
        assert_eq!(texel(&copy), [0, 14146, 65535, 64 * 257], "in memory order");
        t.write_level(0, 0, &[0; 64]).unwrap();
        t.freshen(&copy, 0..1).unwrap();
        assert_eq!(texel(&copy), [0; 4]);
    }
}
