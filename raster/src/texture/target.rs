//! Render targets: tile memory to texture and back, clears and resolves.
//!
//! ```text
//! tile memory, plane p                         texture, 4x4 blocks
//! 8x8 block = 8 pairs of 4x2 pixels     ──►    block (2 pairs: upper, lower), rows of 4 texels
//! pair = 8 lanes: left quad, right quad        lanes 0 1 4 5 = upper row, 2 3 6 7 = lower row
//! ```
//!
//! One [`Target`] is one aspect of one layer and level, held exclusively (or shared, read-only) while it exists. Threads
//! take disjoint tiles from it. What planes hold is [`crate::format::plane`]'s table; tile memory comes as whole
//! [`Cell`]s with a [`PlaneSet`] that says where plane p of sample s is.
//!
//! Rules: R-OM-39 (float to half), R-OM-70..72 (resolve, see [`super::resolve`]).

use super::error::TextureError;
use super::layout::{BLOCK, BLOCK_TEXELS, LevelLayout};
use super::resolve::{Reduction, ResolveMode};
use super::storage::{TileGrid, TileRows};
use super::view::{TextureView, ViewDimension};
use crate::format::{Aspect, PlaneKind, PlaneWords, TextureFormat, scalar};
use quadrille_jit::abi::Cell;

/// What a pass does with a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Loads only (read-only depth or stencil); others may read too.
    ReadOnly,
    /// Loads and stores; nothing else may use the subresource.
    ReadWrite,
    /// The same where all of it is overwritten: what it held doesn't matter.
    Overwrite,
}

/// Where the planes of a target are in a slice of tile memory: plane p of sample s starts at cell
/// `(first + s * sample_step + p * plane_step) * cells`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlaneSet {
    /// Plane 0 of sample 0.
    pub first: usize,
    /// Planes from a component's to the next one's.
    pub plane_step: usize,
    /// Planes from a sample's to the next one's.
    pub sample_step: usize,
    /// Cells of a plane: tile edge squared / 8.
    pub cells: usize,
}

impl PlaneSet {
    /// The cells of plane `plane` of sample `sample`.
    pub fn range(&self, sample: usize, plane: usize) -> std::ops::Range<usize> {
        let start = (self.first + sample * self.sample_step + plane * self.plane_step) * self.cells;
        start..start + self.cells
    }

    /// Fills the target's planes with a clear value.
    pub fn clear(&self, memory: &mut [Cell], words: &PlaneWords, samples: u32) {
        for sample in 0..samples as usize {
            for (p, &word) in words.words.iter().take(words.count).enumerate() {
                memory[self.range(sample, p)].fill(Cell([word; 8]));
            }
        }
    }
}

/// One aspect of a subresource as an attachment.
#[derive(Debug)]
pub struct Target {
    grid: TileGrid,
    format: TextureFormat,
    kind: PlaneKind,
    level: LevelLayout,
    tile: u32,
    samples: u32,
    /// It is all of its subresource.
    whole: bool,
    /// First surface: the depth slice of 3d textures.
    surface: u32,
}

impl Target {
    /// Holds the view's first layer and level for tiles of `tile` pixels (16, 32, 64 or 128). `slice` is the depth
    /// slice of a 3d view, else 0.
    pub fn new(
        view: &TextureView,
        aspect: Aspect,
        tile: u32,
        access: Access,
        slice: u32,
    ) -> Result<Target, TextureError> {
        let (format, storage) = view.plane(aspect)?;
        if !format.info().renderable {
            return Err(TextureError::Format {
                format,
                what: "cannot be a render target",
            });
        }
        if view.levels().1 != 1 || view.layers().1 != 1 {
            return Err(TextureError::Invalid(
                "a render target must be a view of one level and one layer",
            ));
        }
        if !matches!(tile, 16 | 32 | 64 | 128) {
            return Err(TextureError::Invalid("tiles are 16, 32, 64 or 128 pixels wide"));
        }
        let (layer, level) = (view.layers().0, view.levels().0);
        let index = storage.layout().subresource(layer, level);
        let layout = storage.layout().levels[level as usize];
        let slices = if view.dimension() == ViewDimension::D3 {
            layout.depth
        } else {
            1
        };
        if slice >= slices {
            return Err(TextureError::Region {
                axis: "z",
                end: u64::from(slice) + 1,
                size: slices,
                level,
            });
        }
        let borrow = match access {
            // Of a 3d level only a slice is overwritten.
            Access::Overwrite if slices == 1 => storage.borrow_anew(index)?,
            _ => storage.borrow(index, access != Access::ReadOnly)?,
        };
        if access != Access::ReadOnly && !format.is_depth_stencil() {
            view.texture().written(index);
        }
        Ok(Target {
            grid: borrow.into_tiles(tile),
            format,
            kind: format.plane_kind(),
            level: layout,
            tile,
            samples: view.samples(),
            whole: slices == 1,
            surface: slice,
        })
    }

    /// Format (of the aspect).
    pub fn format(&self) -> TextureFormat {
        self.format
    }

    /// What its planes hold.
    pub fn plane_kind(&self) -> PlaneKind {
        self.kind
    }

    /// Width and height in pixels.
    pub fn size(&self) -> (u32, u32) {
        (self.level.width, self.level.height)
    }

    /// Samples a pixel.
    pub fn samples(&self) -> u32 {
        self.samples
    }

    /// Tile edge in pixels.
    pub fn tile_size(&self) -> u32 {
        self.tile
    }

    /// Lets the contents go: they read as zeros from then on. (A slice of a 3d texture keeps them.)
    pub fn discard(&self) {
        if self.whole {
            self.grid.drop_contents();
        }
    }

    /// Tiles in x and y.
    pub fn tiles(&self) -> (u32, u32) {
        self.grid.size()
    }

    /// Takes a tile; `None` if there is no such tile or someone has it.
    pub fn tile(&self, tx: u32, ty: u32) -> Option<TargetTile<'_>> {
        Some(TargetTile {
            rows: self.grid.tile(tx, ty)?,
            target: self,
        })
    }
}

/// A tile of a target, for one thread.
#[derive(Debug)]
pub struct TargetTile<'a> {
    rows: TileRows<'a>,
    target: &'a Target,
}

impl TargetTile<'_> {
    /// Tile memory to texture, every sample. Does nothing to a read-only target.
    pub fn store(&mut self, memory: &[Cell], planes: PlaneSet) {
        for sample in 0..self.target.samples {
            let planes = Sources::new(memory, planes, sample as usize, self.target.kind.planes());
            self.encode(self.target.surface + sample, |p, pair| planes.0[p][pair]);
        }
    }

    /// One value of `samples` samples in tile memory to this single-sample texture (R-OM-71). Formats without a mean
    /// (integers, depth, stencil) take sample 0 for it.
    pub fn resolve(&mut self, memory: &[Cell], planes: PlaneSet, samples: u32, mode: ResolveMode) {
        let format = self.target.format;
        let count = self.target.kind.planes();
        let samples = (samples as usize).clamp(1, MAX_SAMPLES);
        let all: [Sources; MAX_SAMPLES] =
            std::array::from_fn(|s| Sources::new(memory, planes, s.min(samples - 1), count));
        let reduction = Reduction::of(format, mode);
        self.encode(self.target.surface, |p, pair| {
            reduction.apply(format, all[..samples].iter().map(|s| s.0[p][pair]))
        });
    }

    /// Texture to tile memory (`loadOp: load`), every sample. Pixels beyond the texture's edge get anything.
    pub fn load(&self, memory: &mut [Cell], planes: PlaneSet) {
        for sample in 0..self.target.samples {
            self.decode(self.target.surface + sample, |p, pair, cell| {
                memory[planes.range(sample as usize, p).start + pair] = cell;
            });
        }
    }

    /// The same texel everywhere in the tile: a cleared tile that nothing touched needs no tile memory.
    pub fn fill(&mut self, words: &PlaneWords) {
        let bytes = self.target.format.info().bytes as usize;
        let texel = words.to_texel(self.target.format);
        // A power of two of at most 16 bytes: any 64 bytes hold whole texels.
        let mut pattern = [0u8; 64];
        for part in pattern.chunks_exact_mut(bytes) {
            part.copy_from_slice(&texel[..bytes]);
        }
        for sample in 0..self.target.samples {
            for row in 0..self.rows.rows() {
                let Some(out) = self.rows.row_mut(self.target.surface + sample, row) else {
                    return;
                };
                for chunk in out.chunks_mut(64) {
                    chunk.copy_from_slice(&pattern[..chunk.len()]);
                }
            }
        }
    }

    /// Calls `get(plane, pair)` for every pair and writes what it gives.
    fn encode(&mut self, surface: u32, get: impl Fn(usize, usize) -> Cell) {
        match self.target.kind {
            PlaneKind::Packed { bytes: 1 } => self.write_pairs::<1>(surface, |pair, out| {
                for (out, lane) in out.iter_mut().zip(get(0, pair).0) {
                    *out = [lane as u8];
                }
            }),
            PlaneKind::Packed { bytes: 2 } => self.write_pairs::<2>(surface, |pair, out| {
                for (out, lane) in out.iter_mut().zip(get(0, pair).0) {
                    *out = (lane as u16).to_le_bytes();
                }
            }),
            PlaneKind::Packed { .. } | PlaneKind::Word { components: 1 } => {
                self.write_pairs::<4>(surface, |pair, out| *out = get(0, pair).0.map(u32::to_le_bytes))
            }
            PlaneKind::Half { components: 1 } => self.write_pairs::<2>(surface, |pair, out| {
                *out = get(0, pair).0.map(|r| half(r).to_le_bytes());
            }),
            PlaneKind::Half { components: 2 } => self.write_pairs::<4>(surface, |pair, out| {
                let c = [get(0, pair).0, get(1, pair).0].map(|c| c.map(half));
                *out = std::array::from_fn(|i| (u32::from(c[0][i]) | u32::from(c[1][i]) << 16).to_le_bytes());
            }),
            PlaneKind::Half { .. } => self.write_pairs::<8>(surface, |pair, out| {
                *out = shorts(std::array::from_fn(|c| get(c, pair).0.map(half)));
            }),
            PlaneKind::Short { .. } => self.write_pairs::<8>(surface, |pair, out| {
                *out = shorts(std::array::from_fn(|c| get(c, pair).0.map(|w| w as u16)));
            }),
            PlaneKind::Word { components: 2 } => self.write_pairs::<8>(surface, |pair, out| {
                let c = [get(0, pair).0, get(1, pair).0];
                *out = std::array::from_fn(|i| (u64::from(c[0][i]) | u64::from(c[1][i]) << 32).to_le_bytes());
            }),
            PlaneKind::Word { .. } => self.write_pairs::<16>(surface, |pair, out| {
                let c: [[u32; 8]; 4] = std::array::from_fn(|c| get(c, pair).0);
                for (i, out) in out.iter_mut().enumerate() {
                    for (out, c) in out.chunks_exact_mut(4).zip(&c) {
                        out.copy_from_slice(&c[i].to_le_bytes());
                    }
                }
            }),
        }
    }

    /// Calls `put(plane, pair, cell)` for every pair of the texture.
    fn decode(&self, surface: u32, mut put: impl FnMut(usize, usize, Cell)) {
        match self.target.kind {
            PlaneKind::Packed { bytes: 1 } => {
                self.read_pairs::<1>(surface, |pair, t| put(0, pair, Cell(t.map(|[b]| b.into()))))
            }
            PlaneKind::Packed { bytes: 2 } => self.read_pairs::<2>(surface, |pair, t| {
                put(0, pair, Cell(t.map(|b| u16::from_le_bytes(b).into())));
            }),
            PlaneKind::Packed { .. } | PlaneKind::Word { components: 1 } => {
                self.read_pairs::<4>(surface, |pair, t| put(0, pair, Cell(t.map(u32::from_le_bytes))))
            }
            PlaneKind::Half { components: 1 } => self.read_pairs::<2>(surface, |pair, t| {
                put(0, pair, Cell(t.map(|b| float(u16::from_le_bytes(b)))));
            }),
            PlaneKind::Half { components: 2 } => self.read_pairs::<4>(surface, |pair, t| {
                let texels = t.map(u32::from_le_bytes);
                put(0, pair, Cell(texels.map(|t| float(t as u16))));
                put(1, pair, Cell(texels.map(|t| float((t >> 16) as u16))));
            }),
            PlaneKind::Half { .. } => self.read_pairs::<8>(surface, |pair, t| {
                let texels = t.map(u64::from_le_bytes);
                for c in 0..4 {
                    put(c, pair, Cell(texels.map(|t| float((t >> (16 * c)) as u16))));
                }
            }),
            PlaneKind::Short { signed, .. } => self.read_pairs::<8>(surface, |pair, t| {
                let texels = t.map(u64::from_le_bytes);
                for c in 0..4 {
                    let code = |t: u64| (t >> (16 * c)) as u16;
                    let word = |t: u64| {
                        if signed {
                            i32::from(code(t) as i16) as u32
                        } else {
                            code(t).into()
                        }
                    };
                    put(c, pair, Cell(texels.map(word)));
                }
            }),
            PlaneKind::Word { components: 2 } => self.read_pairs::<8>(surface, |pair, t| {
                let texels = t.map(u64::from_le_bytes);
                put(0, pair, Cell(texels.map(|t| t as u32)));
                put(1, pair, Cell(texels.map(|t| (t >> 32) as u32)));
            }),
            PlaneKind::Word { .. } => self.read_pairs::<16>(surface, |pair, t| {
                let texels = t.map(u128::from_le_bytes);
                for c in 0..4 {
                    put(c, pair, Cell(texels.map(|t| (t >> (32 * c)) as u32)));
                }
            }),
        }
    }

    /// For every pair inside the texture: `encode` fills its 8 texels of B bytes in lane order.
    #[inline(always)]
    fn write_pairs<const B: usize>(&mut self, surface: u32, encode: impl Fn(usize, &mut [[u8; B]; 8])) {
        let blocks = (self.target.tile / 8) as usize;
        for row in 0..self.rows.rows() {
            let Some(out) = self.rows.row_mut(surface, row) else {
                return;
            };
            let (texels, _) = out.as_chunks_mut::<B>();
            for (column, block) in texels.chunks_exact_mut(BLOCK_TEXELS as usize).enumerate() {
                let first = first_pair(blocks, column, row as usize);
                let mut lanes = [[0u8; B]; 8];
                for (half, out) in block.chunks_exact_mut(8).enumerate() {
                    encode(first + 2 * half, &mut lanes);
                    for (out, lane) in out.iter_mut().zip(LANE_OF_TEXEL) {
                        *out = lanes[lane];
                    }
                }
            }
        }
    }

    /// For every pair inside the texture: `decode` gets its 8 texels in lane order.
    #[inline(always)]
    fn read_pairs<const B: usize>(&self, surface: u32, mut decode: impl FnMut(usize, [[u8; B]; 8])) {
        let blocks = (self.target.tile / 8) as usize;
        for row in 0..self.rows.rows() {
            let (texels, _) = self.rows.row(surface, row).as_chunks::<B>();
            for (column, block) in texels.chunks_exact(BLOCK_TEXELS as usize).enumerate() {
                let first = first_pair(blocks, column, row as usize);
                for (half, texels) in block.chunks_exact(8).enumerate() {
                    let mut lanes = [[0u8; B]; 8];
                    for (texel, lane) in texels.iter().zip(LANE_OF_TEXEL) {
                        lanes[lane] = *texel;
                    }
                    decode(first + 2 * half, lanes);
                }
            }
        }
    }
}

/// Most samples of a pixel.
const MAX_SAMPLES: usize = 16;

/// The lane of texel i of a pair's two rows of four (its own inverse).
const LANE_OF_TEXEL: [usize; 8] = [0, 1, 4, 5, 2, 3, 6, 7];
const _: () = assert!(BLOCK == 4, "a block is two pairs");

/// The upper pair of a 4x4 block; the lower is two further. `blocks`: 8x8 blocks in a tile's row.
fn first_pair(blocks: usize, column: usize, row: usize) -> usize {
    ((row / 2) * blocks + column / 2) * 8 + (row % 2) * 4 + column % 2
}

fn half(word: u32) -> u16 {
    scalar::f32_to_f16(f32::from_bits(word))
}

fn float(half: u16) -> u32 {
    scalar::f16_to_f32(half).to_bits()
}

/// Four 16-bit components to texels.
fn shorts(c: [[u16; 8]; 4]) -> [[u8; 8]; 8] {
    let at = |c: &[u16; 8], i: usize| u64::from(c[i]);
    std::array::from_fn(|i| (at(&c[0], i) | at(&c[1], i) << 16 | at(&c[2], i) << 32 | at(&c[3], i) << 48).to_le_bytes())
}

/// The planes of one sample.
struct Sources<'a>([&'a [Cell]; 4]);

impl<'a> Sources<'a> {
    fn new(memory: &'a [Cell], planes: PlaneSet, sample: usize, count: usize) -> Sources<'a> {
        let empty: &[Cell] = &[];
        Sources(std::array::from_fn(|p| {
            if p < count {
                &memory[planes.range(sample, p)]
            } else {
                empty
            }
        }))
    }
}
