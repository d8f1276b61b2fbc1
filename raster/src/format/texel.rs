//! One texel: its bytes to four lane words and back.
//!
//! Lane words are what shaders see: f32 bits for normalised and float formats, the integer for the others. Missing
//! components read 0, alpha 1 (R-SAMP-110). This is the plain definition; the samplers have faster ways to the same bits.

use super::scalar::*;
use super::srgb;
use super::{Field, Kind, TextureFormat};

/// Rounding of float to half float on store (R-OM-39, law N6).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HalfRounding {
    /// WebGPU rules.
    #[default]
    NearestEven,
    /// Direct3D rules.
    TowardZero,
}

fn field(texel: u128, f: Field) -> u32 {
    (texel >> f.shift) as u32 & (((1u64 << f.bits) - 1) as u32)
}

fn sign_extend(code: u32, bits: u8) -> i32 {
    let up = 32 - u32::from(bits);
    (code << up) as i32 >> up
}

/// The texel at the head of `bytes` as R, G, B, A lane words. Depth and stencil appear in R (R-SAMP-111); both
/// aspects of a combined format can't be read at once, give the aspect's own format. Missing bytes read as 0.
pub fn unpack(format: TextureFormat, bytes: &[u8]) -> [u32; 4] {
    let info = format.info();
    let mut raw = [0u8; 16];
    let n = (info.bytes as usize).min(bytes.len());
    raw[..n].copy_from_slice(&bytes[..n]);
    let texel = u128::from_le_bytes(raw);
    let mut out = [0, 0, 0, if info.is_integer() { 1 } else { 1.0f32.to_bits() }];
    if format == TextureFormat::Rgb9e5Ufloat {
        let rgb = rgb9e5_to_f32(texel as u32);
        out[..3].copy_from_slice(&rgb.map(f32::to_bits));
        return out;
    }
    for (c, &f) in info.fields.iter().enumerate().filter(|(_, f)| f.bits != 0) {
        let code = field(texel, f);
        let bits = u32::from(f.bits);
        out[c] = match info.kind {
            Kind::Unorm if info.srgb && c < 3 => srgb::tables().to_linear[code as usize & 255].to_bits(),
            Kind::Unorm => unorm_to_f32(code, bits).to_bits(),
            Kind::Snorm => snorm_to_f32(sign_extend(code, f.bits), bits).to_bits(),
            Kind::Uint => code,
            Kind::Sint => sign_extend(code, f.bits) as u32,
            Kind::Float => match f.bits {
                32 => code,
                16 => f16_to_f32(code as u16).to_bits(),
                b => ufloat_to_f32(code, u32::from(b) - 5).to_bits(),
            },
        };
    }
    out
}

/// R, G, B, A lane words to the texel's bytes, at the head of the result: clamped, rounded and encoded by the rules
/// for stores (R-OM-38, 39).
pub fn pack(format: TextureFormat, rgba: [u32; 4], rounding: HalfRounding) -> [u8; 16] {
    let info = format.info();
    let value = rgba.map(f32::from_bits);
    if format == TextureFormat::Rgb9e5Ufloat {
        return u128::from(f32_to_rgb9e5([value[0], value[1], value[2]])).to_le_bytes();
    }
    let mut texel = 0u128;
    for (c, &f) in info.fields.iter().enumerate().filter(|(_, f)| f.bits != 0) {
        let bits = u32::from(f.bits);
        let code = match info.kind {
            Kind::Unorm if info.srgb && c < 3 => u32::from(srgb::tables().encode(value[c])),
            Kind::Unorm => f32_to_unorm(value[c], bits),
            Kind::Snorm => f32_to_snorm(value[c], bits) as u32,
            Kind::Uint => u64::from(rgba[c]).min((1u64 << bits) - 1) as u32,
            Kind::Sint => {
                let most = ((1i64 << (bits - 1)) - 1) as i32;
                (rgba[c] as i32).clamp(-most - 1, most) as u32
            }
            Kind::Float => match bits {
                32 => rgba[c],
                16 if rounding == HalfRounding::TowardZero => u32::from(f32_to_f16_toward_zero(value[c])),
                16 => u32::from(f32_to_f16(value[c])),
                b => f32_to_ufloat(value[c], b - 5),
            },
        };
        let mask = (1u128 << bits) - 1;
        texel |= (u128::from(code) & mask) << f.shift;
    }
    texel.to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use TextureFormat::*;

    fn word(format: TextureFormat, rgba: [f32; 4]) -> u32 {
        let bytes = pack(format, rgba.map(f32::to_bits), HalfRounding::NearestEven);
        u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
    }

    /// Values of `spec/worked/formats.out` (R-SAMP-100).
    #[test]
    fn packed_layouts() {
        assert_eq!(word(Rgb10a2Unorm, [1.0, 0.5, 0.0, 2.0 / 3.0]), 0x8008_03ff);
        assert_eq!(word(Rg11b10Ufloat, [1.0, 0.5, 2.0, 0.0]), 0x801c_03c0);
        assert_eq!(word(Rgba8Unorm, [1.0, 0.0, 0.0, 0.5]), 0x8000_00ff);
        assert_eq!(word(Bgra8Unorm, [1.0, 0.0, 0.0, 0.5]), 0x80ff_0000);
        assert_eq!(word(Bgrx8Unorm, [1.0, 0.0, 0.0, 0.5]), 0x00ff_0000);
        assert_eq!(word(B5g6r5Unorm, [1.0, 0.5, 0.25, 1.0]), 31 << 11 | 32 << 5 | 8);
        assert_eq!(word(B5g5r5a1Unorm, [1.0, 0.0, 0.5, 0.5]), 1 << 15 | 31 << 10 | 16);
        assert_eq!(word(B4g4r4a4Unorm, [1.0, 0.0, 0.5, 0.2]), 3 << 12 | 15 << 8 | 8);
        assert_eq!(word(A8Unorm, [1.0, 1.0, 1.0, 0.5]), 128);
        assert_eq!(unpack(A8Unorm, &[255]).map(f32::from_bits), [0.0, 0.0, 0.0, 1.0]);
        assert_eq!(
            unpack(Bgrx8Unorm, &[0, 0, 255, 0]).map(f32::from_bits),
            [1.0, 0.0, 0.0, 1.0]
        );
        assert_eq!(word(Rgba8UnormSrgb, [0.5, 0.18, 1.0, 0.5]), 0x80ff_76bc);
        assert_eq!(
            unpack(Bgra8Unorm, &[0, 0, 255, 255]).map(f32::from_bits),
            [1.0, 0.0, 0.0, 1.0]
        );
        assert_eq!(unpack(R8Uint, &[7]), [7, 0, 0, 1]);
        assert_eq!(unpack(Rg8Sint, &[255, 2]), [u32::MAX, 2, 0, 1]);
        assert_eq!(
            unpack(Depth16Unorm, &[0xff, 0xff]).map(f32::from_bits),
            [1.0, 0.0, 0.0, 1.0]
        );
    }

    /// Read, then written back: the same bits, but for snorm's second -1 and NaN payloads (R-SAMP-90).
    #[test]
    fn texels_round_trip() {
        let mut seed = 12345u64;
        let plain = |f: &&TextureFormat| f.storage().len() == 1 && !f.is_compressed();
        for &format in TextureFormat::ALL.iter().filter(plain) {
            let n = format.info().bytes as usize;
            for _ in 0..500 {
                seed = seed
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                let half = (seed >> 11).to_le_bytes();
                let mut bytes = [0u8; 16];
                bytes[..8].copy_from_slice(&half);
                bytes[8..].copy_from_slice(&half);
                bytes[n..].fill(0);
                if matches!(format, Depth24Plus | Bgrx8Unorm | Bgrx8UnormSrgb) {
                    bytes[3] = 0;
                }
                let words = unpack(format, &bytes);
                let special = format.info().kind == Kind::Float && words.iter().any(|&w| f32::from_bits(w).is_nan());
                let least = format.info().kind == Kind::Snorm && words.contains(&(-1.0f32).to_bits());
                if special && format.info().fields[0].bits != 32 || least || format == Rgb9e5Ufloat {
                    assert_eq!(unpack(format, &pack(format, words, HalfRounding::NearestEven)).len(), 4);
                } else {
                    assert_eq!(pack(format, words, HalfRounding::NearestEven), bytes, "{format}");
                }
            }
        }
    }

    /// R-OM-38.
    #[test]
    fn integers_clamp_on_store() {
        assert_eq!(pack(Rg8Uint, [300, 5, 0, 0], HalfRounding::NearestEven)[..2], [255, 5]);
        assert_eq!(
            pack(Rg8Sint, [-300i32 as u32, 200, 0, 0], HalfRounding::NearestEven)[..2],
            [0x80, 0x7f]
        );
        assert_eq!(
            pack(Rg32Sint, [-300i32 as u32, 200, 0, 0], HalfRounding::NearestEven)[..4],
            (-300i32).to_le_bytes()
        );
    }
}
