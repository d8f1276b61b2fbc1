//! DDS and KTX2: what files say arrives in textures, and no damage to a file does more than make an error (law O4).

use quadrille::files::texture::{TextureFile, TextureFileError};
use quadrille::*;

const LIMIT: u64 = 1 << 20;

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|w| w.to_le_bytes()).collect()
}

/// A DDS file: flags and bits and masks of the pixel format, or a four-character code.
fn dds(size: [u32; 2], levels: u32, format: [u32; 7], caps: u32, tail: &[u8]) -> Vec<u8> {
    let mut out = b"DDS ".to_vec();
    out.extend(words(&[124, 0x2_1007, size[1], size[0], 0, 0, levels]));
    out.extend([0; 44]);
    out.extend(words(&[32]));
    out.extend(words(&format));
    out.extend(words(&[0x1000, caps, 0, 0, 0]));
    assert_eq!(out.len(), 128);
    out.extend(tail);
    out
}

/// A KTX2 file of levels as they are, in the order of the index.
fn ktx2(format: u32, size: [u32; 3], [layers, faces, scheme]: [u32; 3], levels: &[(Vec<u8>, usize)]) -> Vec<u8> {
    let mut out = vec![
        0xab, b'K', b'T', b'X', b' ', b'2', b'0', 0xbb, b'\r', b'\n', 0x1a, b'\n',
    ];
    out.extend(words(&[
        format,
        1,
        size[0],
        size[1],
        size[2],
        layers,
        faces,
        levels.len() as u32,
        scheme,
    ]));
    out.extend([0; 32]);
    let mut offset = out.len() + 24 * levels.len();
    for (data, plain) in levels {
        for n in [offset, data.len(), *plain] {
            out.extend((n as u64).to_le_bytes());
        }
        offset += data.len();
    }
    levels.iter().for_each(|(data, _)| out.extend(data));
    out
}

fn bytes(n: usize, seed: u8) -> Vec<u8> {
    (0..n).map(|i| (i as u8).wrapping_mul(37).wrapping_add(seed)).collect()
}

/// A zstd frame that stores its content uncompressed.
fn stored_zstd(data: &[u8]) -> Vec<u8> {
    let mut out = vec![0x28, 0xb5, 0x2f, 0xfd, 0xa0];
    out.extend((data.len() as u32).to_le_bytes());
    let header = (data.len() as u32) << 3 | 1;
    out.extend(&header.to_le_bytes()[..3]);
    out.extend(data);
    out
}

fn cubes() -> Vec<u8> {
    // All levels of each face.
    let faces: Vec<u8> = (0..6)
        .flat_map(|f| [bytes(64, f), bytes(16, f + 100)].concat())
        .collect();
    dds(
        [4, 4],
        2,
        [0x41, 0, 32, 0xff, 0xff00, 0xff_0000, 0xff00_0000],
        0xfe00,
        &faces,
    )
}

fn dx10() -> Vec<u8> {
    let four_cc = u32::from_le_bytes(*b"DX10");
    let mut tail = words(&[98, 3, 0, 2, 0]);
    tail.extend(bytes(2 * (64 + 16 + 16 + 16), 9));
    dds([8, 8], 4, [4, four_cc, 0, 0, 0, 0, 0], 0, &tail)
}

fn arrays() -> Vec<u8> {
    let data = bytes(2 * 4 * 4 * 4, 3);
    ktx2(43, [4, 4, 0], [2, 1, 2], &[(stored_zstd(&data), data.len())])
}

fn volumes() -> Vec<u8> {
    ktx2(9, [4, 2, 2], [0, 1, 0], &[(bytes(16, 1), 16), (bytes(2, 2), 2)])
}

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
        (153, 0, "EAC"),
    ] {
        let file = ktx2(format, [4, 4, 0], [0, 1, scheme], &[(vec![0; 64], 64)]);
        let error = TextureFile::parse(&file, LIMIT).expect_err("not supported").to_string();
        assert!(error.contains(word), "{error}");
    }
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

/// Cut, and with words and bytes replaced, files read or fail; they never panic.
#[test]
fn damaged_files_are_errors() {
    let mut state = 1u64;
    let mut random = |n: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((state >> 33) % n as u64) as usize
    };
    let etc = ktx2(151, [8, 8, 0], [0, 1, 0], &[(bytes(64, 1), 64)]);
    let seeds = [cubes(), dx10(), arrays(), volumes(), etc];
    for round in 0..6000 {
        let mut file = seeds[round % seeds.len()].clone();
        for _ in 0..1 + random(3) {
            let at = random(file.len());
            match random(4) {
                0 => file.truncate(at),
                1 => file[at] = random(256) as u8,
                2 => {
                    let at = at & !3;
                    let word = [0, 1, 6, 0x7fff_ffff, u32::MAX, 16384][random(6)].to_le_bytes();
                    let end = (at + 4).min(file.len());
                    file[at..end].copy_from_slice(&word[..end - at]);
                }
                _ => file[at] ^= 1 << random(8),
            }
            if file.is_empty() {
                break;
            }
        }
        if let Ok(f) = TextureFile::parse(&file, LIMIT) {
            assert!(f.image(f.shape.levels - 1, f.shape.layers - 1).is_some());
        }
    }
}
