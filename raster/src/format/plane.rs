//! How a render target looks in tile memory, and clear values (law R2).
//!
//! Tile memory is 32-bit lanes. A *plane* is one such lane for every pixel (and sample) of the tile:
//!
//! | format | planes | a lane holds |
//! |---|---|---|
//! | colour of up to 32 bits, not f16 | 1 | the texel's bits, as in memory |
//! | 16-bit floats | one a component | an f32 that is a half float's value |
//! | 64-bit formats of 16-bit integers and norms | one a component | the code, sign-extended if signed |
//! | 32-bit components | one a component | the component's bits |
//! | depth16unorm, depth24plus | 1 | the integer code (R-OM-4): compares as an unsigned integer |
//! | depth32float | 1 | the f32's bits |
//! | stencil8 | 1 | 0..=255 |
//!
//! Depth and stencil of one texture are two targets of a plane each.

use super::scalar::f16_to_f32;
use super::texel::{HalfRounding, pack};
use super::{Kind, TextureFormat};

/// What the lanes of a target's planes hold; see the module's table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlaneKind {
    /// The whole texel in one lane, `bytes` of it used (1, 2 or 4).
    Packed {
        /// Bytes of the texel.
        bytes: u8,
    },
    /// f32 values that are half floats.
    Half {
        /// Components, each a plane.
        components: u8,
    },
    /// 16-bit codes.
    Short {
        /// Components, each a plane.
        components: u8,
        /// Codes are sign-extended.
        signed: bool,
    },
    /// 32-bit words.
    Word {
        /// Components, each a plane.
        components: u8,
    },
}

impl PlaneKind {
    /// Number of planes.
    pub const fn planes(self) -> usize {
        match self {
            PlaneKind::Packed { .. } => 1,
            PlaneKind::Half { components } | PlaneKind::Short { components, .. } | PlaneKind::Word { components } => {
                components as usize
            }
        }
    }
}

impl TextureFormat {
    /// How tile memory holds it. Of combined depth-stencil formats: the depth (ask the aspect's format).
    pub const fn plane_kind(self) -> PlaneKind {
        let info = self.info();
        if info.depth || info.stencil {
            let stored = if info.depth && info.stencil {
                info.bytes - 1
            } else {
                info.bytes
            };
            return PlaneKind::Packed { bytes: stored as u8 };
        }
        let components = info.components;
        match (info.fields[0].bits, info.kind) {
            (16, Kind::Float) => PlaneKind::Half { components },
            (32, _) => PlaneKind::Word { components },
            (16, kind) if info.bytes == 8 => PlaneKind::Short {
                components,
                signed: matches!(kind, Kind::Snorm | Kind::Sint),
            },
            _ => PlaneKind::Packed {
                bytes: info.bytes as u8,
            },
        }
    }
}

/// A value as a target's planes hold it: word p belongs to plane p.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlaneWords {
    /// One word per plane, unused ones 0.
    pub words: [u32; 4],
    /// Planes in use.
    pub count: usize,
}

impl PlaneWords {
    /// The words of a clear value given as WebGPU's `GPUColor` (doubles; integers for integer formats). Depth and
    /// stencil: the first component. Out-of-range values clamp as stores do.
    pub fn clear(format: TextureFormat, value: [f64; 4]) -> PlaneWords {
        let lanes = match format.info().kind {
            Kind::Uint => value.map(|v| v as u32),
            Kind::Sint => value.map(|v| v as i32 as u32),
            _ => value.map(|v| (v as f32).to_bits()),
        };
        PlaneWords::from_texel(format, &pack(format, lanes, HalfRounding::NearestEven))
    }

    /// The words of a texel's bytes.
    pub fn from_texel(format: TextureFormat, bytes: &[u8; 16]) -> PlaneWords {
        let kind = format.plane_kind();
        let short = |c: usize| u16::from_le_bytes([bytes[2 * c], bytes[2 * c + 1]]);
        let word = |c: usize| u32::from_le_bytes([bytes[4 * c], bytes[4 * c + 1], bytes[4 * c + 2], bytes[4 * c + 3]]);
        let mut words = [0; 4];
        for (c, out) in words.iter_mut().enumerate().take(kind.planes()) {
            *out = match kind {
                PlaneKind::Packed { bytes: 1 } => u32::from(bytes[0]),
                PlaneKind::Packed { bytes: 2 } => u32::from(short(0)),
                PlaneKind::Packed { .. } => word(0),
                PlaneKind::Half { .. } => f16_to_f32(short(c)).to_bits(),
                PlaneKind::Short { signed: true, .. } => i32::from(short(c) as i16) as u32,
                PlaneKind::Short { .. } => u32::from(short(c)),
                PlaneKind::Word { .. } => word(c),
            };
        }
        PlaneWords {
            words,
            count: kind.planes(),
        }
    }

    /// The texel's bytes, at the head of the result.
    pub fn to_texel(&self, format: TextureFormat) -> [u8; 16] {
        let mut bytes = [0; 16];
        match format.plane_kind() {
            PlaneKind::Packed { .. } => bytes[..4].copy_from_slice(&self.words[0].to_le_bytes()),
            PlaneKind::Word { .. } => {
                for (out, w) in bytes.chunks_exact_mut(4).zip(self.words) {
                    out.copy_from_slice(&w.to_le_bytes());
                }
            }
            PlaneKind::Half { .. } => {
                for (out, w) in bytes.chunks_exact_mut(2).zip(self.words) {
                    out.copy_from_slice(&super::scalar::f32_to_f16(f32::from_bits(w)).to_le_bytes());
                }
            }
            PlaneKind::Short { .. } => {
                for (out, w) in bytes.chunks_exact_mut(2).zip(self.words) {
                    out.copy_from_slice(&(w as u16).to_le_bytes());
                }
            }
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use TextureFormat::*;

    #[test]
    fn clear_values_become_plane_words() {
        let words = |f, v| {
            let w = PlaneWords::clear(f, v);
            w.words[..w.count].to_vec()
        };
        assert_eq!(words(Rgba8Unorm, [1.0, 0.5, 0.0, 1.0]), [0xff00_80ff]);
        assert_eq!(words(Rgba8UnormSrgb, [0.5, 0.0, 0.0, 1.0]), [0xff00_00bc]);
        assert_eq!(words(R8Unorm, [0.5; 4]), [128]);
        assert_eq!(
            words(Rgba16Float, [0.1, 1.0, 0.0, -2.0]),
            [0.099_975_586f32, 1.0, 0.0, -2.0].map(f32::to_bits)
        );
        assert_eq!(words(Rg32Float, [0.1; 4]), [0.1f32.to_bits(); 2]);
        assert_eq!(words(Rgba16Sint, [-1.0, 40000.0, 0.0, 1.0]), [u32::MAX, 32767, 0, 1]);
        assert_eq!(words(Depth24Plus, [1.0; 4]), [0xff_ffff]);
        assert_eq!(words(Depth16Unorm, [0.25; 4]), [0x4000]);
        assert_eq!(words(Depth32Float, [0.3; 4]), [0.3f32.to_bits()]);
        assert_eq!(words(Stencil8, [255.0; 4]), [255]);
    }

    #[test]
    fn words_and_texels_round_trip() {
        for &format in TextureFormat::ALL
            .iter()
            .filter(|f| f.storage().len() == 1 && f.info().renderable)
        {
            let words = PlaneWords::clear(format, [1.0, 0.0, 1.0, 1.0]);
            assert_eq!(
                PlaneWords::from_texel(format, &words.to_texel(format)),
                words,
                "{format}"
            );
        }
    }
}
