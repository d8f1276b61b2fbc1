//! DDS and KTX2: what files say arrives in textures, sizes are checked first. What damage does to them is `tests/hostile`'s (law O4).

use quadrille::files::texture::{TextureFile, TextureFileError};
use quadrille::*;

#[path = "support/texture_files.rs"]
mod make;

use make::{arrays, bytes, cubes, dds, dx10, ktx2, stored_zstd, volumes};

const LIMIT: u64 = 1 << 20;

#[test]
fn dds_files_are_read() {
    let f = TextureFile::parse(&cubes(), LIMIT).expect("a cube");
    assert_eq!(
        (f.shape.format, f.shape.layers, f.shape.cube, f.shape.levels),
        (TextureFormat::Rgba8Unorm, 6, true, 2)
    );
    assert_eq!(f.image(0, 5), Some(&bytes(64, 5)[..]));
    assert_eq!(f.image(1, 2), Some(&bytes(16, 102)[..]));
    assert_eq!(f.image(2, 0), None);
    let f = TextureFile::parse(&dx10(), LIMIT).expect("an array of BC7");
    assert_eq!(
        (f.shape.format, f.shape.layers, f.shape.levels),
        (TextureFormat::Bc7RgbaUnorm, 2, 4)
    );
    assert_eq!(f.image(3, 1), Some(&bytes(224, 9)[208..]));
    let rgb = dds(
        [2, 1],
        1,
        [0x40, 0, 24, 0xff_0000, 0xff00, 0xff, 0],
        0,
        &[1, 2, 3, 4, 5, 6],
    );
    let f = TextureFile::parse(&rgb, LIMIT).expect("24 bits");
    assert_eq!(
        (f.shape.format, f.image(0, 0)),
        (TextureFormat::Bgra8Unorm, Some(&[1, 2, 3, 255, 4, 5, 6, 255][..]))
    );
    let dxt = dds(
        [4, 4],
        1,
        [4, u32::from_le_bytes(*b"DXT5"), 0, 0, 0, 0, 0],
        0,
        &bytes(16, 0),
    );
    assert_eq!(
        TextureFile::parse(&dxt, LIMIT).expect("DXT5").shape.format,
        TextureFormat::Bc3RgbaUnorm
    );
}

#[test]
fn ktx2_files_are_read() {
    let f = TextureFile::parse(&arrays(), LIMIT).expect("an array, zstd");
    assert_eq!((f.shape.format, f.shape.layers), (TextureFormat::Rgba8UnormSrgb, 2));
    assert_eq!(f.image(0, 1), Some(&bytes(128, 3)[64..]));
    let f = TextureFile::parse(&volumes(), LIMIT).expect("a volume");
    assert_eq!(
        (f.shape.dimension, f.shape.depth, f.shape.levels),
        (TextureDimension::D3, 2, 2)
    );
    let zlib = miniz_oxide::deflate::compress_to_vec_zlib(&bytes(64, 8), 6);
    let f = TextureFile::parse(&ktx2(37, [4, 4, 0], [0, 1, 3], &[(zlib, 64)]), LIMIT).expect("zlib");
    assert_eq!(f.image(0, 0), Some(&bytes(64, 8)[..]));
    let etc = ktx2(147, [4, 4, 0], [0, 1, 0], &[(vec![0; 8], 8)]);
    assert_eq!(
        TextureFile::parse(&etc, LIMIT)
            .expect("ETC2")
            .image(0, 0)
            .map(<[u8]>::len),
        Some(64)
    );
    for (format, scheme, word) in [
        (0, 0, "UASTC"),
        (0x7fff, 0, "VkFormat"),
        (37, 1, "BasisLZ"),
        (1_000_066_000, 0, "HDR"),
    ] {
        let file = ktx2(format, [4, 4, 0], [0, 1, scheme], &[(vec![0; 64], 64)]);
        let error = TextureFile::parse(&file, LIMIT).expect_err("not supported").to_string();
        assert!(error.contains(word), "{error}");
    }
}

/// ETC2, EAC and ASTC arrive as formats that can be sampled.
#[test]
fn blocks_without_a_format_are_unpacked() {
    // A void extent: 0x1234 is red, of which the high byte stays.
    let void = |rgba: [u8; 4]| {
        let mut block = vec![0xfc, 0xfd, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff];
        block.extend(rgba.iter().flat_map(|&c| [c, c]));
        block
    };
    // Two columns of 6x5 blocks, of the second only two texels are seen.
    let blocks = [void([1, 2, 3, 4]), void([5, 6, 7, 8])].concat();
    let f = TextureFile::parse(&ktx2(164, [8, 1, 0], [0, 1, 0], &[(blocks, 32)]), LIMIT).expect("ASTC 6x5, sRGB");
    assert_eq!(f.shape.format, TextureFormat::Rgba8UnormSrgb);
    let texels = [[1, 2, 3, 4].repeat(6), [5, 6, 7, 8].repeat(2)].concat();
    assert_eq!(f.image(0, 0), Some(&texels[..]));
    let eac = [[128, 0x1d, 0x92, 0x49, 0x24, 0x92, 0x49, 0x24]; 2].concat();
    for (number, format, bytes, texel) in [
        (153, TextureFormat::R16Unorm, 8, 1028 << 5 | 1028 >> 6),
        (155, TextureFormat::Rg16Unorm, 16, 1028 << 5 | 1028 >> 6),
        (154, TextureFormat::R16Snorm, 8, -(1016i32 << 5 | 1016 >> 5) as u16),
        (156, TextureFormat::Rg16Snorm, 16, -(1016i32 << 5 | 1016 >> 5) as u16),
    ] {
        let file = ktx2(number, [4, 4, 0], [0, 1, 0], &[(eac[..bytes].to_vec(), bytes)]);
        let f = TextureFile::parse(&file, LIMIT).expect("EAC");
        assert_eq!(f.shape.format, format);
        assert_eq!(f.image(0, 0), Some(&texel.to_le_bytes().repeat(16 * bytes / 8)[..]));
    }
}

/// WebGPU and Direct3D demand whole blocks at level 0; smaller levels may have parts of one.
#[test]
fn compressed_textures_have_whole_blocks() {
    let device = Device::new(&DeviceDescriptor::default()).expect("a device");
    let five = dds(
        [5, 4],
        1,
        [4, u32::from_le_bytes(*b"DXT1"), 0, 0, 0, 0, 0],
        0,
        &bytes(16, 0),
    );
    let f = TextureFile::parse(&five, LIMIT).expect("a file may say so");
    let error = f
        .upload(&device, "five", TextureUsages::TEXTURE_BINDING)
        .expect_err("refused");
    assert!(error.to_string().contains("multiple"), "{error}");
}

#[test]
fn files_become_textures() {
    let device = Device::new(&DeviceDescriptor::default()).expect("a device");
    for file in [cubes(), dx10(), arrays(), volumes()] {
        let f = TextureFile::parse(&file, LIMIT).expect("reads");
        let t = f
            .upload(
                &device,
                "file",
                TextureUsages::TEXTURE_BINDING | TextureUsages::COPY_SRC,
            )
            .expect("a texture");
        let last = f.shape.levels - 1;
        assert_eq!(
            t.read_level(last, f.shape.layers - 1).ok().as_deref(),
            f.image(last, f.shape.layers - 1)
        );
    }
}

#[test]
fn sizes_are_checked_before_anything_is_allocated() {
    let huge = ktx2(109, [16384, 16384, 0], [340, 6, 0], &[(vec![0; 16], 16)]);
    assert!(matches!(
        TextureFile::parse(&huge, LIMIT),
        Err(TextureFileError::TooLarge { .. })
    ));
    let wide = ktx2(109, [u32::MAX, 1, 0], [0, 1, 0], &[(vec![0; 16], 16)]);
    assert!(matches!(
        TextureFile::parse(&wide, LIMIT),
        Err(TextureFileError::Broken { .. })
    ));
    // A bomb: more content than the level may have.
    let bomb = ktx2(37, [4, 4, 0], [0, 1, 2], &[(stored_zstd(&[0; 100_000]), 64)]);
    assert!(matches!(
        TextureFile::parse(&bomb, LIMIT),
        Err(TextureFileError::Broken { .. })
    ));
}
