//! What samplers read in the place of a texture's own texels: sRGB formats as linear rgba16unorm (law S3), and
//! compressed formats decoded (law S4).
//!
//! The copy is made when a view is, counts against the memory limit, and is brought up to date before programs run. Texels
//! of eight bytes stand five to a row of a block: behind the block's own four comes a copy of the right neighbour, at the edge
//! that of a repeated texture. So both texels of a bilinear row are one load of sixteen bytes.

use super::bc;
use super::layout::{BLOCK, Layout, LevelLayout};
use super::storage::Storage;
use super::texels::{Texture, TextureDimension};
use super::{MemoryBudget, TextureError};
use crate::format::{TextureFormat, srgb};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A derived copy.
#[derive(Debug)]
pub struct Derived {
    pub storage: Arc<Storage>,
    /// What its texels are.
    pub format: TextureFormat,
    from: TextureFormat,
    /// Subresources written since they were last converted.
    stale: Box<[AtomicBool]>,
}

impl Derived {
    /// The format that a texture's texels are converted to; `None` where samplers read them as they are.
    pub fn format_of(format: TextureFormat) -> Option<TextureFormat> {
        match bc::decoded(format) {
            None if format.info().srgb => Some(TextureFormat::Rgba16Unorm),
            decoded => decoded,
        }
    }

    /// An empty copy, all of it stale.
    pub fn new(texture: &Texture, from: TextureFormat, budget: &Arc<MemoryBudget>) -> Result<Derived, TextureError> {
        let format = Derived::format_of(from).unwrap_or(from);
        let d = texture.descriptor();
        let depth = if d.dimension == TextureDimension::D3 {
            d.depth_or_layers
        } else {
            1
        };
        let bytes = format.info().bytes;
        let row = if bytes == 8 { BLOCK + 1 } else { BLOCK };
        let size = |level| [d.width, d.height, depth].map(|s| super::layout::level_size(s, level));
        let layout = Layout::of((0..d.levels).map(size), texture.layers(), d.samples, bytes, row)?;
        let stale = (0..layout.subresources()).map(|_| AtomicBool::new(true)).collect();
        Ok(Derived {
            storage: Storage::new(layout, budget)?,
            format,
            from,
            stale,
        })
    }

    /// The format it was made from.
    pub fn from(&self) -> TextureFormat {
        self.from
    }

    /// Notes that a subresource has other texels now.
    pub fn written(&self, index: usize) {
        self.stale[index].store(true, Ordering::Relaxed);
    }

    /// Brings subresources up to date. The caller holds read borrows of the originals, and no one else is converting.
    pub fn freshen(&self, own: &Arc<Storage>, subresources: impl Iterator<Item = usize>) -> Result<(), TextureError> {
        for index in subresources {
            if !self.stale[index].load(Ordering::Relaxed) {
                continue;
            }
            let from = own.borrow(index, false)?;
            let mut to = self.storage.borrow(index, true)?;
            let (_, level) = self.storage.layout().of_subresource(index);
            let layout = self.storage.layout().levels[level as usize];
            if let Some(to) = to.bytes_mut() {
                if bc::decoded(self.from).is_some() {
                    let blocks = own.layout().levels[level as usize];
                    decode(self.from, &blocks, from.bytes(), &layout, to);
                } else {
                    to_linear16(from.bytes(), to);
                }
                if layout.row > BLOCK {
                    repeat_neighbours(&layout, to);
                }
            }
            self.stale[index].store(false, Ordering::Relaxed);
        }
        Ok(())
    }
}

/// 8-bit sRGB codes to linear 16-bit codes, components in the same order (alpha is last in all such formats); alpha
/// times 257 is the same number in 16 bits. Rows of four become rows of five.
fn to_linear16(from: &[u8], to: &mut [u8]) {
    let table = &srgb::tables().to_linear16;
    let (rows, _) = from.as_chunks::<16>();
    let (out, _) = to.as_chunks_mut::<40>();
    for (row, out) in rows.iter().zip(out) {
        for (t, o) in row.chunks_exact(4).zip(out.chunks_exact_mut(8)) {
            let [r, g, b] = [0, 1, 2].map(|c| u64::from(table[usize::from(t[c])]));
            let texel = r | g << 16 | b << 32 | (u64::from(t[3]) * 257) << 48;
            o.copy_from_slice(&texel.to_le_bytes());
        }
    }
}

/// Compressed blocks to texels.
fn decode(format: TextureFormat, blocks: &LevelLayout, from: &[u8], level: &LevelLayout, to: &mut [u8]) {
    let block_bytes = format.info().bytes as usize;
    let surface = level.surface() as usize;
    let texel = to.len() / (surface * level.surfaces as usize).max(1);
    let row = level.row as usize;
    for z in 0..level.surfaces as usize {
        for by in 0..level.blocks_y {
            for bx in 0..level.blocks_x {
                let at = (z * blocks.surface() as usize + blocks.texel(bx, by) as usize) * block_bytes;
                let first = z * surface + level.texel(bx * BLOCK, by * BLOCK) as usize;
                bc::decode(format, &from[at..at + block_bytes], |i, bytes| {
                    let at = (first + i / 4 * row + i % 4) * texel;
                    to[at..at + texel].copy_from_slice(&bytes[..texel]);
                });
            }
        }
    }
}

/// Fills the fifth texel of each row of a block; behind the level's last texel that is the row's first.
fn repeat_neighbours(level: &LevelLayout, to: &mut [u8]) {
    let (texels, _) = to.as_chunks_mut::<8>();
    for surface in texels.chunks_exact_mut(level.surface() as usize) {
        for y in 0..level.blocks_y * BLOCK {
            for bx in 1..level.blocks_x {
                let from = level.texel(bx * BLOCK, y) as usize;
                surface[level.texel((bx - 1) * BLOCK, y) as usize + BLOCK as usize] = surface[from];
            }
            // One behind the last texel, inside of its block's row of five.
            let last = level.texel(level.width - 1, y) as usize;
            surface[last + 1] = surface[level.texel(0, y) as usize];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::TextureDescriptor;
    use super::*;
    use TextureFormat::*;

    fn texel(copy: &Derived, at: usize) -> [u16; 4] {
        let b = copy.storage.borrow(0, false).unwrap();
        let t = &b.bytes()[8 * at..8 * at + 8];
        [0, 1, 2, 3].map(|c| u16::from_le_bytes([t[2 * c], t[2 * c + 1]]))
    }

    /// Law S3: the copy holds round(linear * 65535) and follows writes; neighbours are repeated.
    #[test]
    fn linear_copies_follow_writes() {
        let d = TextureDescriptor::new_2d(Bgra8UnormSrgb, 6, 4);
        let t = Texture::new(&d, &MemoryBudget::new(1 << 20)).unwrap();
        let copy = t.derived(Bgra8UnormSrgb).unwrap();
        let mut data = vec![0; 6 * 4 * 4];
        for (i, texel) in data.chunks_exact_mut(4).enumerate() {
            texel.copy_from_slice(&[0, 128, 255, i as u8]);
        }
        t.write_level(0, 0, &data).unwrap();
        t.freshen(&copy, 0..1).unwrap();
        assert_eq!(texel(&copy, 0), [0, 14146, 65535, 0], "in memory order");
        let alpha = |at: usize| texel(&copy, at)[3] / 257;
        assert_eq!(
            [3, 4, 20, 21, 22].map(alpha),
            [3, 4, 4, 5, 0],
            "the neighbour, and the first again"
        );
        assert_eq!([5, 9, 27].map(alpha), [6, 10, 6]);
        t.write_level(0, 0, &[0; 96]).unwrap();
        t.freshen(&copy, 0..1).unwrap();
        assert_eq!(texel(&copy, 0), [0; 4]);
    }
}
