//! Where every texel lies: sizes of levels, blocks and surfaces, checked before anything is allocated.
//!
//! A *surface* is a 2d image of 4x4 blocks. A subresource (layer, level) is one surface, or one per sample (multisampled)
//! or per depth slice (3d), one after the other. Levels of a layer are contiguous, then comes the next layer.

use super::error::TextureError;

/// Texels of a block's side.
pub const BLOCK: u32 = 4;
/// Texels of a block.
pub const BLOCK_TEXELS: u32 = BLOCK * BLOCK;
/// Most levels: 16384 has 15.
pub const MAX_LEVELS: usize = 15;
/// Most texels of a plane: indices must fit the signed 32-bit lanes that gathers take.
pub const MAX_TEXELS: u64 = i32::MAX as u64;

/// One mip level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LevelLayout {
    /// Texels.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// Depth slices; 1 unless 3d.
    pub depth: u32,
    /// Blocks in a row of blocks.
    pub blocks_x: u32,
    /// Rows of blocks.
    pub blocks_y: u32,
    /// First texel, counted from the layer's start.
    pub offset: u32,
    /// Surfaces: depth slices or samples.
    pub surfaces: u32,
    /// Texels stored for each row of a block: 4, or 5 where a copy of the right neighbour follows.
    pub row: u32,
}

impl LevelLayout {
    /// Texels from one row of blocks to the next.
    pub const fn pitch(&self) -> u32 {
        self.blocks_x * BLOCK * self.row
    }

    /// Texels from one surface to the next.
    pub const fn surface(&self) -> u32 {
        self.pitch() * self.blocks_y
    }

    /// Index of a texel within its surface.
    pub const fn texel(&self, x: u32, y: u32) -> u32 {
        (y / BLOCK) * self.pitch() + (x / BLOCK) * BLOCK * self.row + (y % BLOCK) * self.row + x % BLOCK
    }
}

/// All levels and layers of one plane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Levels, largest first.
    pub levels: Vec<LevelLayout>,
    /// Texels from one layer to the next.
    pub layer_texels: u32,
    /// Layers.
    pub layers: u32,
    /// Bytes of a texel.
    pub texel_bytes: u32,
}

/// Size of an axis at a level (R-SAMP-30).
pub const fn level_size(size: u32, level: u32) -> u32 {
    let s = if level < 32 { size >> level } else { 0 };
    if s == 0 { 1 } else { s }
}

impl Layout {
    /// Lays out `layers` layers of `levels` levels of a `size` image (width, height, depth), `samples` surfaces a texel.
    pub fn new(
        size: [u32; 3],
        levels: u32,
        layers: u32,
        samples: u32,
        texel_bytes: u32,
    ) -> Result<Layout, TextureError> {
        let size = |level| size.map(|s| level_size(s, level));
        Layout::of((0..levels).map(size), layers, samples, texel_bytes, BLOCK)
    }

    /// As [`new`](Self::new), for blocks of a compressed format in the place of texels.
    pub fn compressed(size: [u32; 3], levels: u32, layers: u32, block_bytes: u32) -> Result<Layout, TextureError> {
        let size = |level| {
            let [w, h, d] = size.map(|s| level_size(s, level));
            [w.div_ceil(BLOCK), h.div_ceil(BLOCK), d]
        };
        Layout::of((0..levels).map(size), layers, 1, block_bytes, BLOCK)
    }

    /// Levels of the given sizes, `row` texels stored for each row of a block.
    pub fn of(
        sizes: impl Iterator<Item = [u32; 3]>,
        layers: u32,
        samples: u32,
        texel_bytes: u32,
        row: u32,
    ) -> Result<Layout, TextureError> {
        let mut offset = 0u64;
        let mut out = Vec::with_capacity(MAX_LEVELS);
        for [width, height, depth] in sizes {
            let (blocks_x, blocks_y) = (width.div_ceil(BLOCK), height.div_ceil(BLOCK));
            let surfaces = u64::from(depth) * u64::from(samples);
            let texels = u64::from(blocks_x) * u64::from(blocks_y) * u64::from(BLOCK * row) * surfaces;
            if offset + texels > MAX_TEXELS {
                return Err(too_many(offset + texels));
            }
            let surfaces = surfaces as u32;
            out.push(LevelLayout {
                width,
                height,
                depth,
                blocks_x,
                blocks_y,
                offset: offset as u32,
                surfaces,
                row,
            });
            offset += texels;
        }
        let total = offset * u64::from(layers);
        if total > MAX_TEXELS {
            return Err(too_many(total));
        }
        Ok(Layout {
            levels: out,
            layer_texels: offset as u32,
            layers,
            texel_bytes,
        })
    }

    /// Bytes of everything.
    pub fn bytes(&self) -> u64 {
        u64::from(self.layer_texels) * u64::from(self.layers) * u64::from(self.texel_bytes)
    }

    /// Number of subresources.
    pub fn subresources(&self) -> usize {
        self.levels.len() * self.layers as usize
    }

    /// Number of a subresource.
    pub fn subresource(&self, layer: u32, level: u32) -> usize {
        layer as usize * self.levels.len() + level as usize
    }

    /// Layer and level of a subresource number.
    pub fn of_subresource(&self, index: usize) -> (u32, u32) {
        ((index / self.levels.len()) as u32, (index % self.levels.len()) as u32)
    }

    /// Bytes of a subresource within the plane.
    pub fn range(&self, index: usize) -> std::ops::Range<usize> {
        let (layer, level) = self.of_subresource(index);
        let l = &self.levels[level as usize];
        let start = layer as usize * self.layer_texels as usize + l.offset as usize;
        let texels = l.surface() as usize * l.surfaces as usize;
        let bytes = self.texel_bytes as usize;
        start * bytes..(start + texels) * bytes
    }
}

fn too_many(texels: u64) -> TextureError {
    TextureError::Limit {
        what: "the number of texels of all levels and layers (rounded up to 4x4 blocks)",
        value: texels,
        limit: MAX_TEXELS,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R-SAMP-30: 5x3, 2x1, 1x1.
    #[test]
    fn levels_halve_and_subresources_tile_the_memory() {
        let l = Layout::new([5, 3, 1], 3, 2, 1, 4).unwrap();
        let sizes: Vec<_> = l.levels.iter().map(|l| (l.width, l.height)).collect();
        assert_eq!(sizes, [(5, 3), (2, 1), (1, 1)]);
        assert_eq!(l.layer_texels, 32 + 16 + 16);
        let mut end = 0;
        for i in 0..l.subresources() {
            assert_eq!(l.range(i).start, end);
            end = l.range(i).end;
        }
        assert_eq!(end as u64, l.bytes());
        assert_eq!(l.levels[0].texel(4, 2), 16 + 8);
    }

    #[test]
    fn more_texels_than_lanes_can_index_are_refused() {
        assert!(Layout::new([16384, 16384, 1], 15, 2048, 1, 4).is_err());
        assert!(Layout::new([2048, 2048, 2048], 1, 1, 1, 1).is_err());
        assert!(Layout::new([16384, 16384, 1], 15, 1, 4, 4).is_ok());
    }
}
