//! KTX2: Khronos' container, with zstd or zlib around each level. Basis Universal and the HDR profile of ASTC are
//! refused by name: no decoder in pure Rust is good enough yet.

use super::expand::Stored;
use super::{Shape, TextureFile, TextureFileError, long, word};
use crate::{TextureDimension, TextureFormat};
use std::io::Read;

/// First bytes.
pub(super) const MAGIC: [u8; 12] = [
    0xab, b'K', b'T', b'X', b' ', b'2', b'0', 0xbb, b'\r', b'\n', 0x1a, b'\n',
];
const KIND: &str = "KTX2";
/// Where the index of levels starts.
const LEVELS: usize = 80;

fn unsupported(what: impl Into<String>) -> TextureFileError {
    TextureFileError::Unsupported {
        kind: KIND,
        what: what.into(),
    }
}

fn broken(what: impl Into<String>) -> TextureFileError {
    TextureFileError::Broken {
        kind: KIND,
        what: what.into(),
    }
}

/// How a level is packed.
#[derive(Clone, Copy)]
enum Scheme {
    None,
    Zstd,
    Zlib,
}

/// The whole file; without its images unless `texels`.
pub(super) fn parse(bytes: &[u8], limit: u64, texels: bool) -> Result<TextureFile, TextureFileError> {
    let at = |offset: usize| word(bytes, offset).ok_or_else(|| broken("it ends in its header"));
    let (format, stored) = vulkan(at(12)?)?;
    let [width, height, depth, layers, faces, levels] = [at(20)?, at(24)?, at(28)?, at(32)?, at(36)?, at(40)?];
    let scheme = match at(44)? {
        0 => Scheme::None,
        1 => return Err(unsupported("Basis Universal (BasisLZ)")),
        2 => Scheme::Zstd,
        3 => Scheme::Zlib,
        other => return Err(unsupported(format!("supercompression scheme {other}"))),
    };
    if faces != 1 && faces != 6 {
        return Err(broken(format!("{faces} faces; 1 or 6 are possible")));
    }
    if levels == 0 {
        return Err(unsupported("a file that leaves its mip levels to the reader"));
    }
    if depth > 0 && (layers > 1 || faces == 6) {
        return Err(unsupported("an array or cube of volumes"));
    }
    let dimension = match (height, depth) {
        (0, _) => TextureDimension::D1,
        (_, 0) => TextureDimension::D2,
        _ => TextureDimension::D3,
    };
    let shape = Shape {
        format,
        dimension,
        width,
        height: height.max(1),
        depth: depth.max(1),
        layers: layers.max(1).saturating_mul(faces),
        cube: faces == 6,
        levels,
    };
    let shape = shape.check(KIND, limit)?;
    if !texels {
        let images = Vec::new();
        return Ok(TextureFile { shape, images });
    }
    let mut images = Vec::with_capacity((shape.levels * shape.layers) as usize);
    for level in 0..shape.levels {
        let entry = LEVELS + 24 * level as usize;
        let number = |i: usize| long(bytes, entry + 8 * i).ok_or_else(|| broken("it ends in its index"));
        let (offset, length) = (number(0)?, number(1)?);
        let range = || {
            let start = usize::try_from(offset).ok()?;
            bytes.get(start..start.checked_add(usize::try_from(length).ok()?)?)
        };
        let data = range().ok_or_else(|| broken(format!("level {level} lies outside of the file")))?;
        let size = shape.level_size(level);
        let image = usize::try_from(stored.bytes(format, size)).unwrap_or(usize::MAX);
        // No more than the checked shape takes.
        let expected = image.saturating_mul(shape.layers as usize);
        let data = unpack(scheme, data, expected)?;
        if data.len() != expected {
            let got = data.len();
            return Err(broken(format!(
                "level {level} has {got} bytes, {expected} were expected"
            )));
        }
        for texels in data.chunks_exact(image.max(1)) {
            let texels = stored
                .expand(texels, size)
                .ok_or_else(|| broken(format!("level {level} can't be decoded")))?;
            images.push(texels);
        }
    }
    Ok(TextureFile { shape, images })
}

/// A level's bytes, one more at most than expected.
fn unpack(scheme: Scheme, data: &[u8], expected: usize) -> Result<std::borrow::Cow<'_, [u8]>, TextureFileError> {
    match scheme {
        Scheme::None => Ok(data.into()),
        Scheme::Zstd => {
            // What a file claims is believed as far as its length makes it likely; the rest grows as it comes.
            let mut out = Vec::with_capacity(expected.min(data.len().saturating_mul(16)));
            let decoder = ruzstd::decoding::StreamingDecoder::new(data).map_err(|e| broken(format!("zstd: {e}")))?;
            decoder
                .take(expected as u64 + 1)
                .read_to_end(&mut out)
                .map_err(|e| broken(format!("zstd: {e}")))?;
            Ok(out.into())
        }
        Scheme::Zlib => miniz_oxide::inflate::decompress_to_vec_zlib_with_limit(data, expected)
            .map(Into::into)
            .map_err(|e| broken(format!("zlib: {e}"))),
    }
}

/// Sizes of ASTC's 2d blocks in the order of `VkFormat`.
const ASTC_BLOCKS: [[u8; 2]; 14] = [
    [4, 4],
    [5, 4],
    [5, 5],
    [6, 5],
    [6, 6],
    [8, 5],
    [8, 6],
    [8, 8],
    [10, 5],
    [10, 6],
    [10, 8],
    [10, 10],
    [12, 10],
    [12, 12],
];

/// `VkFormat`.
fn vulkan(number: u32) -> Result<(TextureFormat, Stored), TextureFileError> {
    use TextureFormat::*;
    let color = |srgb| if srgb { Rgba8UnormSrgb } else { Rgba8Unorm };
    let plain = |format| Ok((format, Stored::Plain));
    match number {
        0 => Err(unsupported(
            "Basis Universal (UASTC), or a format that only the data descriptor names",
        )),
        4 => plain(B5g6r5Unorm),
        8 => plain(B5g5r5a1Unorm),
        9 => plain(R8Unorm),
        10 => plain(R8Snorm),
        13 => plain(R8Uint),
        14 => plain(R8Sint),
        16 => plain(Rg8Unorm),
        17 => plain(Rg8Snorm),
        20 => plain(Rg8Uint),
        21 => plain(Rg8Sint),
        23 | 29 => Ok((color(number == 29), Stored::Rgb8)),
        37 => plain(Rgba8Unorm),
        38 => plain(Rgba8Snorm),
        41 => plain(Rgba8Uint),
        42 => plain(Rgba8Sint),
        43 => plain(Rgba8UnormSrgb),
        44 => plain(Bgra8Unorm),
        50 => plain(Bgra8UnormSrgb),
        64 => plain(Rgb10a2Unorm),
        68 => plain(Rgb10a2Uint),
        70 => plain(R16Unorm),
        71 => plain(R16Snorm),
        74 => plain(R16Uint),
        75 => plain(R16Sint),
        76 => plain(R16Float),
        77 => plain(Rg16Unorm),
        78 => plain(Rg16Snorm),
        81 => plain(Rg16Uint),
        82 => plain(Rg16Sint),
        83 => plain(Rg16Float),
        91 => plain(Rgba16Unorm),
        92 => plain(Rgba16Snorm),
        95 => plain(Rgba16Uint),
        96 => plain(Rgba16Sint),
        97 => plain(Rgba16Float),
        98 => plain(R32Uint),
        99 => plain(R32Sint),
        100 => plain(R32Float),
        101 => plain(Rg32Uint),
        102 => plain(Rg32Sint),
        103 => plain(Rg32Float),
        107 => plain(Rgba32Uint),
        108 => plain(Rgba32Sint),
        109 => plain(Rgba32Float),
        122 => plain(Rg11b10Ufloat),
        123 => plain(Rgb9e5Ufloat),
        // BC1 without alpha has no transparent black; files of it hold no blocks that would show.
        131 | 133 => plain(Bc1RgbaUnorm),
        132 | 134 => plain(Bc1RgbaUnormSrgb),
        135 => plain(Bc2RgbaUnorm),
        136 => plain(Bc2RgbaUnormSrgb),
        137 => plain(Bc3RgbaUnorm),
        138 => plain(Bc3RgbaUnormSrgb),
        139 => plain(Bc4RUnorm),
        140 => plain(Bc4RSnorm),
        141 => plain(Bc5RgUnorm),
        142 => plain(Bc5RgSnorm),
        143 => plain(Bc6hRgbUfloat),
        144 => plain(Bc6hRgbFloat),
        145 => plain(Bc7RgbaUnorm),
        146 => plain(Bc7RgbaUnormSrgb),
        147 | 148 => Ok((color(number == 148), Stored::Etc2Rgb)),
        149 | 150 => Ok((color(number == 150), Stored::Etc2Rgba1)),
        151 | 152 => Ok((color(number == 152), Stored::Etc2Rgba)),
        153..=156 => {
            let (components, signed) = (if number < 155 { 1 } else { 2 }, number.is_multiple_of(2));
            let format = [[R16Unorm, R16Snorm], [Rg16Unorm, Rg16Snorm]][components as usize - 1][usize::from(signed)];
            Ok((format, Stored::Eac { components, signed }))
        }
        // Pairs of UNORM and SRGB.
        157..=184 => {
            let block = ASTC_BLOCKS[(number as usize - 157) / 2];
            Ok((color(number.is_multiple_of(2)), Stored::Astc { block }))
        }
        1_000_066_000..=1_000_066_013 => Err(unsupported("ASTC of the HDR profile")),
        other => Err(unsupported(format!("VkFormat {other}"))),
    }
}
