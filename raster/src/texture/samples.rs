//! Whole surfaces of a texture: a sample of a multisampled level, a depth slice, or the one image of a layer.
//!
//! Copies (`texels.rs`) exclude multisampled textures, as WebGPU does; tools that show or check single samples come here.

use super::error::TextureError;
use super::layout::LevelLayout;
use super::pixels::{Rect, from_blocks, to_blocks};
use super::storage::Storage;
use super::texels::{Texture, TextureDimension};
use crate::format::{Aspect, TextureFormat};
use std::ops::Range;
use std::sync::Arc;

/// A surface of a texture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Surface {
    /// Which aspect of a depth-stencil format; `All` means depth there.
    pub aspect: Aspect,
    /// Mip level.
    pub level: u32,
    /// Array layer, or depth slice of a 3d texture.
    pub layer: u32,
    /// Sample.
    pub sample: u32,
}

/// A surface that is there.
struct Place<'a> {
    storage: &'a Arc<Storage>,
    level: LevelLayout,
    /// Number of the subresource.
    index: usize,
    /// Bytes within it.
    range: Range<usize>,
    texel_bytes: usize,
}

impl Place<'_> {
    fn row(&self) -> usize {
        self.level.width as usize * self.texel_bytes
    }

    fn rect(&self) -> Rect {
        Rect {
            x: 0,
            y: 0,
            width: self.level.width,
            height: self.level.height,
        }
    }
}

impl Texture {
    /// Width and height of a level, and the format of the aspect's texels.
    ///
    /// # Errors
    /// The texture has no such surface.
    pub fn surface_shape(&self, surface: &Surface) -> Result<([u32; 2], TextureFormat), TextureError> {
        let place = self.place(surface)?;
        let (format, _) = self.plane(surface.aspect)?;
        Ok(([place.level.width, place.level.height], format))
    }

    /// The texels of a surface: rows from the top, tightly packed.
    ///
    /// # Errors
    /// The texture has no such surface, or it is being written.
    pub fn read_surface(&self, surface: &Surface) -> Result<Vec<u8>, TextureError> {
        let place = self.place(surface)?;
        let row = place.row();
        let mut out = vec![0; row * place.level.height as usize];
        let borrow = place.storage.borrow(place.index, false)?;
        let bytes = &borrow.bytes()[place.range.clone()];
        from_blocks(bytes, &place.level, place.texel_bytes, place.rect(), &mut out, row);
        Ok(out)
    }

    /// Replaces the texels of a surface by tightly packed rows.
    ///
    /// # Errors
    /// The texture has no such surface, it is in use, or the data has another size.
    pub fn write_surface(&self, surface: &Surface, data: &[u8]) -> Result<(), TextureError> {
        let place = self.place(surface)?;
        let row = place.row();
        let needed = row * place.level.height as usize;
        if data.len() != needed {
            return Err(TextureError::DataSize {
                got: data.len(),
                needed,
            });
        }
        let mut borrow = place.storage.borrow(place.index, true)?;
        if let Some(bytes) = borrow.bytes_mut() {
            let bytes = &mut bytes[place.range.clone()];
            to_blocks(bytes, &place.level, place.texel_bytes, place.rect(), data, row);
        }
        drop(borrow);
        self.written(place.index);
        Ok(())
    }

    fn place(&self, s: &Surface) -> Result<Place<'_>, TextureError> {
        let (_, storage) = self.plane(s.aspect)?;
        let layout = storage.layout();
        let missing = |what, first: u32, size: u32| TextureError::ViewRange {
            what,
            first,
            end: u64::from(first) + 1,
            size,
        };
        let d = self.descriptor();
        let level = layout
            .levels
            .get(s.level as usize)
            .ok_or(missing("levels", s.level, d.levels))?;
        let volume = d.dimension == TextureDimension::D3;
        let layers = if volume { level.depth } else { layout.layers };
        if s.layer >= layers {
            return Err(missing("layers", s.layer, layers));
        }
        if s.sample >= d.samples {
            return Err(missing("samples", s.sample, d.samples));
        }
        let (layer, number) = if volume { (0, s.layer) } else { (s.layer, s.sample) };
        let texel_bytes = layout.texel_bytes as usize;
        let bytes = level.surface() as usize * texel_bytes;
        let start = number as usize * bytes;
        Ok(Place {
            storage,
            level: *level,
            index: layout.subresource(layer, s.level),
            range: start..start + bytes,
            texel_bytes,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::texture::{MemoryBudget, TextureDescriptor};

    #[test]
    fn samples_and_slices_are_apart() {
        let budget = MemoryBudget::new(1 << 20);
        let multisampled = TextureDescriptor {
            samples: 4,
            ..TextureDescriptor::new_2d(TextureFormat::R8Uint, 3, 2)
        };
        let volume = TextureDescriptor {
            dimension: TextureDimension::D3,
            depth_or_layers: 4,
            ..TextureDescriptor::new_2d(TextureFormat::R8Uint, 3, 2)
        };
        for (d, sampled) in [(multisampled, true), (volume, false)] {
            let texture = Texture::new(&d, &budget).expect("fits");
            let surface = |n| Surface {
                layer: if sampled { 0 } else { n },
                sample: if sampled { n } else { 0 },
                ..Surface::default()
            };
            for n in 0..4 {
                texture.write_surface(&surface(n), &[n as u8; 6]).expect("writes");
            }
            for n in 0..4 {
                assert_eq!(texture.read_surface(&surface(n)).expect("reads"), [n as u8; 6]);
            }
            assert!(texture.read_surface(&surface(4)).is_err());
            assert!(texture.write_surface(&surface(0), &[0; 5]).is_err());
        }
    }
}
