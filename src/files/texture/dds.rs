//! DDS: Direct3D's container, with the old pixel formats and the DX10 extension.
//!
//! Images follow the headers layer by layer (of cubes: face by face), each with all its levels.

use super::expand::Stored;
use super::{Shape, TextureFile, TextureFileError, word};
use crate::{TextureDimension, TextureFormat};

/// First bytes.
pub(super) const MAGIC: &[u8] = b"DDS ";
const KIND: &str = "DDS";

fn unsupported(what: String) -> TextureFileError {
    TextureFileError::Unsupported { kind: KIND, what }
}

fn broken(what: &str) -> TextureFileError {
    TextureFileError::Broken {
        kind: KIND,
        what: what.into(),
    }
}

/// The whole file; without its images unless `texels`.
pub(super) fn parse(bytes: &[u8], limit: u64, texels: bool) -> Result<TextureFile, TextureFileError> {
    let at = |offset: usize| word(bytes, offset).ok_or_else(|| broken("it ends in its header"));
    if at(4)? != 124 || at(76)? != 32 {
        return Err(broken("its header has another size"));
    }
    const CUBE: u32 = 0x200;
    const ALL_FACES: u32 = 0xfe00;
    const VOLUME: u32 = 0x20_0000;
    const HAS_LEVELS: u32 = 0x2_0000;
    let flags = at(8)?;
    let levels = if flags & HAS_LEVELS != 0 { at(28)?.max(1) } else { 1 };
    let caps = at(112)?;
    let mut shape = Shape {
        format: TextureFormat::Rgba8Unorm,
        dimension: TextureDimension::D2,
        width: at(16)?,
        height: at(12)?,
        depth: 1,
        layers: 1,
        cube: caps & CUBE != 0,
        levels,
    };
    let four_cc = at(84)?;
    let mut stored = Stored::Plain;
    let data;
    if at(80)? & 4 != 0 && four_cc == u32::from_le_bytes(*b"DX10") {
        data = 148;
        shape.format = dxgi(at(128)?)?;
        shape.dimension = match at(132)? {
            2 => TextureDimension::D1,
            3 => TextureDimension::D2,
            4 => TextureDimension::D3,
            other => return Err(unsupported(format!("resource dimension {other}"))),
        };
        shape.cube = at(136)? & 4 != 0;
        shape.layers = at(140)?;
        if shape.cube {
            shape.layers = shape.layers.saturating_mul(6);
        }
    } else {
        data = 128;
        (shape.format, stored) = legacy([at(80)?, four_cc, at(88)?, at(92)?, at(96)?, at(100)?, at(104)?])?;
        if shape.cube {
            if caps & ALL_FACES != ALL_FACES {
                return Err(unsupported("a cube without all its faces".into()));
            }
            shape.layers = 6;
        }
        if caps & VOLUME != 0 {
            shape.dimension = TextureDimension::D3;
        }
    }
    if shape.dimension == TextureDimension::D3 {
        shape.depth = at(24)?;
        if shape.layers != 1 {
            return Err(broken("a volume with layers"));
        }
    }
    let shape = shape.check(KIND, limit)?;
    if !texels {
        let images = Vec::new();
        return Ok(TextureFile { shape, images });
    }
    let mut rest = bytes.get(data..).unwrap_or_default();
    let mut images = vec![Vec::new(); (shape.levels * shape.layers) as usize];
    for layer in 0..shape.layers {
        for level in 0..shape.levels {
            let size = shape.level_size(level);
            let n = usize::try_from(stored.bytes(shape.format, size)).unwrap_or(usize::MAX);
            let Some((image, after)) = rest.split_at_checked(n) else {
                return Err(broken("it ends in its texels"));
            };
            rest = after;
            let image = stored
                .expand(image, size)
                .ok_or_else(|| broken("its texels can't be decoded"))?;
            images[(level * shape.layers + layer) as usize] = image;
        }
    }
    Ok(TextureFile { shape, images })
}

/// `DDS_PIXELFORMAT`: flags, four-character code, bits, masks of R, G, B, A.
fn legacy([flags, four_cc, bits, r, g, b, a]: [u32; 7]) -> Result<(TextureFormat, Stored), TextureFileError> {
    use TextureFormat::*;
    let plain = |format| Ok((format, Stored::Plain));
    if flags & 4 != 0 {
        return plain(match &four_cc.to_le_bytes() {
            b"DXT1" => Bc1RgbaUnorm,
            b"DXT2" | b"DXT3" => Bc2RgbaUnorm,
            b"DXT4" | b"DXT5" => Bc3RgbaUnorm,
            b"ATI1" | b"BC4U" => Bc4RUnorm,
            b"BC4S" => Bc4RSnorm,
            b"ATI2" | b"BC5U" => Bc5RgUnorm,
            b"BC5S" => Bc5RgSnorm,
            code => match four_cc {
                36 => Rgba16Unorm,
                110 => Rgba16Snorm,
                111 => R16Float,
                112 => Rg16Float,
                113 => Rgba16Float,
                114 => R32Float,
                115 => Rg32Float,
                116 => Rgba32Float,
                _ => return Err(unsupported(format!("the format `{}`", code.escape_ascii()))),
            },
        });
    }
    let alpha = flags & 1 != 0;
    let a = if alpha || flags & 2 != 0 { a } else { 0 };
    let masks = [r, g, b, a];
    match (bits, masks) {
        (32, [0xff, 0xff00, 0xff_0000, 0xff00_0000]) => plain(Rgba8Unorm),
        (32, [0xff_0000, 0xff00, 0xff, 0xff00_0000]) => plain(Bgra8Unorm),
        (32, [0xff_0000, 0xff00, 0xff, 0]) => plain(Bgrx8Unorm),
        (32, [0x3ff, 0xf_fc00, 0x3ff0_0000, 0xc000_0000]) => plain(Rgb10a2Unorm),
        (32, [0xffff, 0xffff_0000, 0, 0]) => plain(Rg16Unorm),
        (24, [0xff, 0xff00, 0xff_0000, 0]) => Ok((Rgba8Unorm, Stored::Rgb8)),
        (24, [0xff_0000, 0xff00, 0xff, 0]) => Ok((Bgra8Unorm, Stored::Rgb8)),
        (16, [0xf800, 0x7e0, 0x1f, 0]) => plain(B5g6r5Unorm),
        (16, [0x7c00, 0x3e0, 0x1f, 0x8000]) => plain(B5g5r5a1Unorm),
        (16, [0xf00, 0xf0, 0xf, 0xf000]) => plain(B4g4r4a4Unorm),
        (16, [0xff, 0xff00, 0, 0]) => plain(Rg8Unorm),
        (16, [0xffff, 0, 0, 0]) => plain(R16Unorm),
        (8, [0xff, 0, 0, 0]) => plain(R8Unorm),
        (8, [0, 0, 0, 0xff]) => plain(A8Unorm),
        _ => Err(unsupported(format!(
            "{bits} bits with the masks {r:x}, {g:x}, {b:x}, {a:x}"
        ))),
    }
}

/// `DXGI_FORMAT`.
fn dxgi(number: u32) -> Result<TextureFormat, TextureFileError> {
    use TextureFormat::*;
    Ok(match number {
        2 => Rgba32Float,
        3 => Rgba32Uint,
        4 => Rgba32Sint,
        10 => Rgba16Float,
        11 => Rgba16Unorm,
        12 => Rgba16Uint,
        13 => Rgba16Snorm,
        14 => Rgba16Sint,
        16 => Rg32Float,
        17 => Rg32Uint,
        18 => Rg32Sint,
        24 => Rgb10a2Unorm,
        25 => Rgb10a2Uint,
        26 => Rg11b10Ufloat,
        28 => Rgba8Unorm,
        29 => Rgba8UnormSrgb,
        30 => Rgba8Uint,
        31 => Rgba8Snorm,
        32 => Rgba8Sint,
        34 => Rg16Float,
        35 => Rg16Unorm,
        36 => Rg16Uint,
        37 => Rg16Snorm,
        38 => Rg16Sint,
        41 => R32Float,
        42 => R32Uint,
        43 => R32Sint,
        49 => Rg8Unorm,
        50 => Rg8Uint,
        51 => Rg8Snorm,
        52 => Rg8Sint,
        54 => R16Float,
        56 => R16Unorm,
        57 => R16Uint,
        58 => R16Snorm,
        59 => R16Sint,
        61 => R8Unorm,
        62 => R8Uint,
        63 => R8Snorm,
        64 => R8Sint,
        65 => A8Unorm,
        67 => Rgb9e5Ufloat,
        71 => Bc1RgbaUnorm,
        72 => Bc1RgbaUnormSrgb,
        74 => Bc2RgbaUnorm,
        75 => Bc2RgbaUnormSrgb,
        77 => Bc3RgbaUnorm,
        78 => Bc3RgbaUnormSrgb,
        80 => Bc4RUnorm,
        81 => Bc4RSnorm,
        83 => Bc5RgUnorm,
        84 => Bc5RgSnorm,
        85 => B5g6r5Unorm,
        86 => B5g5r5a1Unorm,
        87 => Bgra8Unorm,
        88 => Bgrx8Unorm,
        91 => Bgra8UnormSrgb,
        93 => Bgrx8UnormSrgb,
        95 => Bc6hRgbUfloat,
        96 => Bc6hRgbFloat,
        98 => Bc7RgbaUnorm,
        99 => Bc7RgbaUnormSrgb,
        115 => B4g4r4a4Unorm,
        other => return Err(unsupported(format!("DXGI format {other}"))),
    })
}
