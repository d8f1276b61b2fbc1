//! What several samples become: their mean, or one of them (R-OM-70..73).
//!
//! 8- and 16-bit unorm take the exact integer mean, halves up: the f32 sum of the CHOICE without its rounding error. sRGB
//! colour and floats are summed in f32 in index order. Integers, depth and stencil have no mean.

use crate::format::texel::{HalfRounding, pack, unpack};
use crate::format::{Kind, PlaneKind, TextureFormat, scalar, srgb};
use quadrille_jit::abi::Cell;

/// How the samples of a pixel become one value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ResolveMode {
    /// Their mean, in linear light (R-OM-71). Not for integers, depth and stencil.
    #[default]
    Average,
    /// Sample 0.
    SampleZero,
    /// The least, component by component.
    Min,
    /// The greatest, component by component.
    Max,
}

impl ResolveMode {
    /// Whether samples of the format can be resolved this way; of depth-stencil formats give the aspect's own.
    pub const fn fits(self, format: TextureFormat) -> bool {
        let info = format.info();
        match self {
            ResolveMode::Average => info.resolvable,
            // There is no order of colours in a gamut: WebGPU and Direct3D have none for sRGB either.
            ResolveMode::Min | ResolveMode::Max => info.renderable && !info.srgb,
            ResolveMode::SampleZero => info.renderable,
        }
    }
}

/// How the lanes of a plane are reduced.
#[derive(Clone, Copy, Debug)]
pub(super) enum Reduction {
    /// Mean of four 8-bit unorm codes a word (unused ones 0): integers, halves up.
    Bytes,
    /// Mean of bytes, the lower three of them sRGB codes.
    Srgb,
    /// Mean of one unorm code a word.
    Code,
    /// Mean of one 16-bit snorm code a word.
    Snorm16,
    /// Mean of f32, in index order.
    Float,
    /// Mean of anything packed: through its floats.
    Texel,
    /// The first sample.
    First,
    /// Least or greatest of words, as unsigned or signed integers or floats.
    Word { kind: Kind, greatest: bool },
    /// Least or greatest of packed components.
    Packed { greatest: bool },
}

impl Reduction {
    pub fn of(format: TextureFormat, mode: ResolveMode) -> Reduction {
        let greatest = mode == ResolveMode::Max;
        match mode {
            ResolveMode::Average => Reduction::mean(format),
            ResolveMode::SampleZero => Reduction::First,
            ResolveMode::Min | ResolveMode::Max => Reduction::extreme(format, greatest),
        }
    }

    fn mean(format: TextureFormat) -> Reduction {
        let info = format.info();
        match (format.plane_kind(), info.kind) {
            (_, Kind::Uint | Kind::Sint) => Reduction::First,
            _ if format.is_depth_stencil() => Reduction::First,
            (PlaneKind::Half { .. } | PlaneKind::Word { .. }, _) => Reduction::Float,
            (PlaneKind::Packed { .. }, Kind::Unorm) if info.srgb => Reduction::Srgb,
            (PlaneKind::Packed { .. }, Kind::Unorm) if info.fields[0].bits == 8 => Reduction::Bytes,
            (PlaneKind::Short { .. }, Kind::Unorm) => Reduction::Code,
            (PlaneKind::Short { .. }, _) => Reduction::Snorm16,
            _ => Reduction::Texel,
        }
    }

    fn extreme(format: TextureFormat, greatest: bool) -> Reduction {
        let info = format.info();
        let kind = match (format.plane_kind(), info.kind) {
            // Depth codes and stencil values are whole words.
            (PlaneKind::Packed { .. }, _) if info.depth || info.stencil => match info.kind {
                Kind::Float => Kind::Float,
                _ => Kind::Uint,
            },
            (PlaneKind::Packed { .. }, _) => return Reduction::Packed { greatest },
            (PlaneKind::Half { .. }, _) => Kind::Float,
            // Normalised codes have their values' order.
            (PlaneKind::Short { signed: true, .. }, _) => Kind::Sint,
            (PlaneKind::Short { .. }, _) => Kind::Uint,
            (PlaneKind::Word { .. }, kind) => kind,
        };
        Reduction::Word { kind, greatest }
    }

    #[inline(always)]
    pub fn apply(self, format: TextureFormat, samples: impl ExactSizeIterator<Item = Cell> + Clone) -> Cell {
        let n = samples.len() as u32;
        let shift = n.trailing_zeros();
        let lanes = |f: &dyn Fn(usize) -> u32| Cell(std::array::from_fn(f));
        match self {
            Reduction::Bytes => {
                const EVEN: u32 = 0x00ff_00ff;
                let (mut even, mut odd) = ([(n / 2) * 0x0001_0001; 8], [(n / 2) * 0x0001_0001; 8]);
                for s in samples {
                    for (i, lane) in s.0.into_iter().enumerate() {
                        even[i] += lane & EVEN;
                        odd[i] += lane >> 8 & EVEN;
                    }
                }
                lanes(&|i| (even[i] >> shift & EVEN) | (odd[i] >> shift & EVEN) << 8)
            }
            Reduction::Srgb => {
                let t = srgb::tables();
                let scale = 1.0 / n as f32;
                let bgra = lanes(&|i| {
                    let code = |byte: u32| {
                        let linear = |s: Cell| t.to_linear[(s.0[i] >> (8 * byte) & 255) as usize];
                        u32::from(t.encode(samples.clone().map(linear).fold(0.0, |a, b| a + b) * scale))
                    };
                    code(0) | code(1) << 8 | code(2) << 16
                });
                let alpha = Reduction::Bytes.apply(format, samples);
                lanes(&|i| bgra.0[i] | alpha.0[i] & 0xff00_0000)
            }
            Reduction::Code => lanes(&|i| (samples.clone().map(|s| s.0[i]).sum::<u32>() + n / 2) >> shift),
            Reduction::Snorm16 => lanes(&|i| {
                let value = |s: Cell| scalar::snorm_to_f32(i32::from(s.0[i] as i16), 16);
                let sum = samples.clone().map(value).fold(0.0, |a, b| a + b);
                scalar::f32_to_snorm(sum * (1.0 / n as f32), 16) as u32
            }),
            Reduction::Float => {
                let mut sum = [0.0f32; 8];
                for (k, s) in samples.enumerate() {
                    for (sum, lane) in sum.iter_mut().zip(s.0) {
                        // The first sample alone, so that a sum of -0 stays -0.
                        *sum = if k == 0 {
                            f32::from_bits(lane)
                        } else {
                            *sum + f32::from_bits(lane)
                        };
                    }
                }
                let scale = 1.0 / n as f32;
                Cell(sum.map(|s| canonical(s * scale)))
            }
            Reduction::Texel => lanes(&|i| {
                let mut sum = [0.0f32; 4];
                for s in samples.clone() {
                    let texel = unpack(format, &s.0[i].to_le_bytes());
                    for (sum, t) in sum.iter_mut().zip(texel) {
                        *sum += f32::from_bits(t);
                    }
                }
                packed(format, sum.map(|s| canonical(s * (1.0 / n as f32))))
            }),
            Reduction::First => samples.clone().next().unwrap_or_default(),
            Reduction::Word { kind, greatest } => lanes(&|i| {
                let words = samples.clone().map(|s| s.0[i]);
                words.reduce(|a, b| extreme(kind, greatest, a, b)).unwrap_or_default()
            }),
            Reduction::Packed { greatest } => lanes(&|i| {
                let kind = match format.info().kind {
                    Kind::Unorm | Kind::Snorm => Kind::Float,
                    kind => kind,
                };
                let texels = samples.clone().map(|s| unpack(format, &s.0[i].to_le_bytes()));
                let best = texels.reduce(|a, b| std::array::from_fn(|c| extreme(kind, greatest, a[c], b[c])));
                packed(format, best.unwrap_or_default())
            }),
        }
    }
}

fn packed(format: TextureFormat, words: [u32; 4]) -> u32 {
    let bytes = pack(format, words, HalfRounding::NearestEven);
    u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
}

/// The lesser or the greater of two words; the number, if the other is NaN (R-PS-104).
fn extreme(kind: Kind, greatest: bool, a: u32, b: u32) -> u32 {
    let second = match kind {
        Kind::Sint => ((b as i32) < a as i32) != greatest,
        Kind::Float => {
            let (x, y) = (f32::from_bits(a), f32::from_bits(b));
            x.is_nan() || if greatest { y > x } else { y < x }
        }
        _ => (b < a) != greatest,
    };
    if second { b } else { a }
}

/// Law N3.
fn canonical(x: f32) -> u32 {
    if x.is_nan() { 0x7fc0_0000 } else { x.to_bits() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use TextureFormat::*;

    fn reduced(format: TextureFormat, mode: ResolveMode, samples: [u32; 4]) -> u32 {
        let cells = samples.map(|w| Cell([w; 8]));
        Reduction::of(format, mode).apply(format, cells.into_iter()).0[5]
    }

    /// R-OM-73.
    #[test]
    fn r_om_73_means() {
        use ResolveMode::Average;
        assert_eq!(reduced(R8Unorm, Average, [0, 0, 255, 255]), 128);
        assert_eq!(reduced(Rgba8UnormSrgb, Average, [0, 0, 255, 255]), 188);
        let floats = [1.0f32, 2.0, 3.0, 4.0].map(f32::to_bits);
        assert_eq!(reduced(R32Float, Average, floats), 2.5f32.to_bits());
        let nan = [1.0f32, f32::NAN, 3.0, 4.0].map(f32::to_bits);
        assert_eq!(reduced(R32Float, Average, nan), 0x7fc0_0000);
        assert_eq!(reduced(Rgba16Snorm, Average, [0x8000, 0x8001, 0, 0]) as u16, 0xc000);
        assert_eq!(reduced(Rgba16Unorm, Average, [0, 0, 1, 1]), 1);
    }

    #[test]
    fn least_and_greatest_by_kind() {
        use ResolveMode::{Max, Min, SampleZero};
        let signed = [3u32, (-5i32) as u32, 7, 0];
        assert_eq!(reduced(R32Sint, Min, signed) as i32, -5);
        assert_eq!(reduced(R32Sint, Max, signed), 7);
        assert_eq!(reduced(R32Uint, Max, signed) as i32, -5);
        assert_eq!(reduced(R32Uint, SampleZero, signed), 3);
        assert_eq!(reduced(Depth24Plus, Min, [9, 4, 0xff_ffff, 8]), 4);
        let depths = [0.5, f32::NAN, 0.25, 0.75].map(f32::to_bits);
        assert_eq!(reduced(Depth32Float, Min, depths), 0.25f32.to_bits());
        assert_eq!(reduced(Depth32Float, Max, depths), 0.75f32.to_bits());
        assert_eq!(reduced(Stencil8, Max, [1, 200, 3, 4]), 200);
        assert_eq!(reduced(Rgba8Uint, Max, [0x0100_ff03, 0x02ff_0001, 0, 0]), 0x02ff_ff03);
        assert_eq!(reduced(Rgba8Sint, Min, [0x0100_ff03, 0x02ff_0001, 0, 0]), 0x00ff_ff00);
        assert_eq!(
            reduced(Rg16Snorm, Max, [0x8001_0005, 0x0001_fff0, 0x8000_fff0, 0x8000_fff0]),
            0x0001_0005
        );
    }
}
