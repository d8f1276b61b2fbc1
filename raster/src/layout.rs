//! The layouts that assembler, geometry and tiles share: primitive record, draw words, tile planes.
//!
//! Law N5: a primitive record holds no attributes, only barycentric gradients and the three vertices' blocks; the
//! program computes `a0 + b1*(a1-a0) + b2*(a2-a0)`, which depends on triangle and pixel alone and gives a constant
//! attribute exactly (R-RAST-146).

use crate::format::TextureFormat;

/// Byte offsets in a primitive's record. Pointers to the attribute blocks of its vertices are at 0, 8 and 16.
pub mod prim {
    /// f32: pixel x of vertex 0's snapped position.
    pub const X0: u32 = 24;
    /// f32: pixel y of vertex 0's snapped position.
    pub const Y0: u32 = 28;
    /// f32: d(barycentric of vertex 1)/dx; the barycentric is 0 at vertex 0.
    pub const L1_DX: u32 = 32;
    /// f32: d(barycentric of vertex 1)/dy.
    pub const L1_DY: u32 = 36;
    /// f32: d(barycentric of vertex 2)/dx.
    pub const L2_DX: u32 = 40;
    /// f32: d(barycentric of vertex 2)/dy.
    pub const L2_DY: u32 = 44;
    /// f32: 1/w of vertex 0.
    pub const IW0: u32 = 48;
    /// f32: 1/w of vertex 1.
    pub const IW1: u32 = 52;
    /// f32: 1/w of vertex 2.
    pub const IW2: u32 = 56;
    /// f32: post-viewport depth at vertex 0, bias included.
    pub const Z0: u32 = 60;
    /// f32: dz/dx.
    pub const DZDX: u32 = 64;
    /// f32: dz/dy.
    pub const DZDY: u32 = 68;
    /// u32: 0xFFFF_FFFF for front-facing primitives, else 0.
    pub const FRONT: u32 = 72;
    /// u32: primitive index in its draw.
    pub const PRIMITIVE_INDEX: u32 = 76;
    /// Bytes of a record.
    pub const SIZE: usize = 96;
}

/// Word indices in a draw's block (`DrawLoad`).
pub mod draw {
    /// f32: viewport minimum depth.
    pub const MIN_DEPTH: u32 = 0;
    /// f32: viewport maximum depth.
    pub const MAX_DEPTH: u32 = 1;
    /// u32: stencil reference.
    pub const STENCIL_REFERENCE: u32 = 2;
    /// 4 f32: blend constant.
    pub const BLEND_CONSTANT: u32 = 3;
    /// Words of a block.
    pub const WORDS: usize = 8;
}

/// What a tile plane holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlaneContent {
    /// A component (or all, packed) of a colour attachment.
    Color {
        /// Which attachment.
        attachment: u32,
        /// Which plane of its format.
        component: u32,
    },
    /// Depth: f32 bits, or the unorm integer.
    Depth,
    /// Stencil.
    Stencil,
}

/// The planes of tile memory for a set of attachments: sample after sample; within a sample colour attachments in
/// order, then depth, then stencil.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlaneLayout {
    /// Samples a pixel.
    pub samples: u32,
    /// Planes of one sample.
    pub per_sample: Vec<PlaneContent>,
    /// Pixels along a tile's edge: 16, 32, 64 or 128.
    pub tile_edge: u32,
    color_first: Vec<Option<u32>>,
    depth: Option<u32>,
    stencil: Option<u32>,
}

/// Bytes of tile memory that a tile should not exceed: half of a common L2 (law R2).
const TILE_BYTES: u32 = 512 * 1024;

impl PlaneLayout {
    /// The layout for these attachments.
    pub fn new(colors: &[Option<TextureFormat>], depth_stencil: Option<TextureFormat>, samples: u32) -> PlaneLayout {
        let mut per_sample = Vec::new();
        let mut color_first = Vec::new();
        for (attachment, format) in colors.iter().enumerate() {
            color_first.push(format.map(|format| {
                let first = per_sample.len() as u32;
                let attachment = attachment as u32;
                per_sample.extend(
                    (0..format.plane_kind().planes() as u32)
                        .map(|component| PlaneContent::Color { attachment, component }),
                );
                first
            }));
        }
        let mut push = |wanted: bool, content| {
            wanted.then(|| {
                per_sample.push(content);
                per_sample.len() as u32 - 1
            })
        };
        let depth = push(depth_stencil.is_some_and(|f| f.info().depth), PlaneContent::Depth);
        let stencil = push(depth_stencil.is_some_and(|f| f.info().stencil), PlaneContent::Stencil);
        let planes = per_sample.len() as u32 * samples;
        let tile_edge = [64, 32]
            .into_iter()
            .find(|edge| planes * edge * edge * 4 <= TILE_BYTES)
            .unwrap_or(16);
        PlaneLayout {
            samples,
            per_sample,
            tile_edge,
            color_first,
            depth,
            stencil,
        }
    }

    /// Bytes from one plane to the next.
    pub fn plane_stride(&self) -> u32 {
        self.tile_edge * self.tile_edge * 4
    }

    /// All planes.
    pub fn plane_count(&self) -> u32 {
        self.per_sample.len() as u32 * self.samples
    }

    /// First plane of a colour attachment's sample.
    pub fn color(&self, attachment: usize, sample: u32) -> Option<u32> {
        let first = (*self.color_first.get(attachment)?)?;
        Some(first + sample * self.per_sample.len() as u32)
    }

    /// The depth plane of a sample.
    pub fn depth(&self, sample: u32) -> Option<u32> {
        Some(self.depth? + sample * self.per_sample.len() as u32)
    }

    /// The stencil plane of a sample.
    pub fn stencil(&self, sample: u32) -> Option<u32> {
        Some(self.stencil? + sample * self.per_sample.len() as u32)
    }
}
