//! Block compression, BC1 to BC7: 4x4 texels in 8 or 16 bytes, decoded when a texture is first read (law S4; R-SAMP-130..155).
//!
//! ```text
//! block ──► BC1-BC3   rgba16unorm, real arithmetic rounded once; sRGB: linear light
//!       ──► BC4, BC5  r16unorm, rg16unorm; signed: r32float, rg32float
//!       ──► BC6H      rgba16float: the bits that the rules give
//!       ──► BC7       rgba8unorm: the codes that the rules give; sRGB: rgba16unorm, linear light
//! ```
//!
//! Any bytes are a block: decoders never fail. A block's texels are in rows from the top, each in the format [`decoded`] names.

mod bc6h;
mod bc7;
mod color;
mod layout6;
mod partition;

use crate::format::TextureFormat;
use crate::format::srgb;

/// Texels of a block, in the decoded format.
pub(super) type Texels<T> = [T; 16];

/// The uncompressed format that blocks of a format are decoded to; `None` of others.
pub(crate) fn decoded(format: TextureFormat) -> Option<TextureFormat> {
    use TextureFormat::*;
    Some(match format {
        Bc1RgbaUnorm | Bc1RgbaUnormSrgb | Bc2RgbaUnorm | Bc2RgbaUnormSrgb | Bc3RgbaUnorm | Bc3RgbaUnormSrgb => {
            Rgba16Unorm
        }
        Bc4RUnorm => R16Unorm,
        Bc4RSnorm => R32Float,
        Bc5RgUnorm => Rg16Unorm,
        Bc5RgSnorm => Rg32Float,
        Bc6hRgbUfloat | Bc6hRgbFloat => Rgba16Float,
        Bc7RgbaUnorm => Rgba8Unorm,
        Bc7RgbaUnormSrgb => Rgba16Unorm,
        _ => return None,
    })
}

/// Decodes a block; `put` gets each texel's number and bytes.
pub(crate) fn decode(format: TextureFormat, block: &[u8], mut put: impl FnMut(usize, &[u8])) {
    use TextureFormat::*;
    let mut bytes = [0; 16];
    let n = block.len().min(16);
    bytes[..n].copy_from_slice(&block[..n]);
    let bits = u128::from_le_bytes(bytes);
    let (low, high) = (bits as u64, (bits >> 64) as u64);
    let mut sixteen = |texels: Texels<[u16; 4]>| {
        for (i, t) in texels.iter().enumerate() {
            let word = t.iter().rev().fold(0u64, |w, &c| w << 16 | u64::from(c));
            put(i, &word.to_le_bytes());
        }
    };
    match format {
        Bc1RgbaUnorm | Bc1RgbaUnormSrgb => sixteen(color::bc1(low, false, format.info().srgb)),
        Bc2RgbaUnorm | Bc2RgbaUnormSrgb => {
            let mut texels = color::bc1(high, true, format.info().srgb);
            for (i, t) in texels.iter_mut().enumerate() {
                t[3] = (low >> (4 * i) & 15) as u16 * 4369;
            }
            sixteen(texels);
        }
        Bc3RgbaUnorm | Bc3RgbaUnormSrgb => {
            let mut texels = color::bc1(high, true, format.info().srgb);
            for (t, a) in texels.iter_mut().zip(color::bc4_unorm(low)) {
                t[3] = a;
            }
            sixteen(texels);
        }
        Bc4RUnorm => (0..16)
            .zip(color::bc4_unorm(low))
            .for_each(|(i, r)| put(i, &r.to_le_bytes())),
        Bc4RSnorm => (0..16)
            .zip(color::bc4_snorm(low))
            .for_each(|(i, r)| put(i, &r.to_le_bytes())),
        Bc5RgUnorm => {
            let (r, g) = (color::bc4_unorm(low), color::bc4_unorm(high));
            (0..16).for_each(|i| put(i, &(u32::from(r[i]) | u32::from(g[i]) << 16).to_le_bytes()));
        }
        Bc5RgSnorm => {
            let (r, g) = (color::bc4_snorm(low), color::bc4_snorm(high));
            let words = |i: usize| u64::from(r[i].to_bits()) | u64::from(g[i].to_bits()) << 32;
            (0..16).for_each(|i| put(i, &words(i).to_le_bytes()));
        }
        Bc6hRgbUfloat | Bc6hRgbFloat => {
            let texels = bc6h::decode(bits, format == Bc6hRgbFloat);
            sixteen(texels.map(|[r, g, b]| [r, g, b, 0x3c00]));
        }
        Bc7RgbaUnormSrgb => {
            let table = &srgb::tables().to_linear16;
            sixteen(bc7::decode(bits).map(|t| {
                let [r, g, b] = [0, 1, 2].map(|c| table[usize::from(t[c])]);
                [r, g, b, u16::from(t[3]) * 257]
            }));
        }
        _ => (0..16).zip(bc7::decode(bits)).for_each(|(i, t)| put(i, &t)),
    }
}

/// Reads fields from the low end.
struct Bits(u128);

impl Bits {
    fn take(&mut self, n: u32) -> u32 {
        let field = self.0 as u32 & ((1u64 << n) - 1) as u32;
        self.0 >>= n;
        field
    }
}

/// Interpolation weights by index bits (R-SAMP-143).
const WEIGHTS: [&[u32]; 5] = [
    &[],
    &[],
    &[0, 21, 43, 64],
    &[0, 9, 18, 27, 37, 46, 55, 64],
    &[0, 4, 9, 13, 17, 21, 26, 30, 34, 38, 43, 47, 51, 55, 60, 64],
];

/// The subset of each texel, and the texels whose index lacks its top bit.
fn subsets(count: usize, partition: u32) -> ([u8; 16], [u8; 3]) {
    let p = partition as usize & 63;
    let mut subset = [0; 16];
    for (t, s) in subset.iter_mut().enumerate() {
        *s = match count {
            1 => 0,
            2 => (partition::TWO[p] >> t & 1) as u8,
            _ => (partition::THREE[p] >> (2 * t) & 3) as u8,
        };
    }
    let anchors = match count {
        1 => [0; 3],
        2 => [0, partition::ANCHOR_TWO[p], 0],
        _ => [0, partition::ANCHOR_THREE[p][0], partition::ANCHOR_THREE[p][1]],
    };
    (subset, anchors)
}

/// One index a texel, a bit less at anchors (R-SAMP-142).
fn indices(bits: &mut Bits, width: u32, anchors: [u8; 3]) -> [u8; 16] {
    let mut out = [0; 16];
    for (t, i) in out.iter_mut().enumerate() {
        let short = u32::from(anchors.contains(&(t as u8)));
        *i = bits.take(width - short) as u8;
    }
    out
}

#[cfg(test)]
mod tests;
