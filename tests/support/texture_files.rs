//! DDS and KTX2 files made by hand.
#![allow(dead_code, reason = "each test binary uses some of it")]

/// Little-endian words.
pub fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|w| w.to_le_bytes()).collect()
}

/// A DDS file: flags and bits and masks of the pixel format, or a four-character code.
pub fn dds(size: [u32; 2], levels: u32, format: [u32; 7], caps: u32, tail: &[u8]) -> Vec<u8> {
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
pub fn ktx2(format: u32, size: [u32; 3], [layers, faces, scheme]: [u32; 3], levels: &[(Vec<u8>, usize)]) -> Vec<u8> {
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

/// `n` bytes that differ.
pub fn bytes(n: usize, seed: u8) -> Vec<u8> {
    (0..n).map(|i| (i as u8).wrapping_mul(37).wrapping_add(seed)).collect()
}

/// A zstd frame that stores its content uncompressed.
pub fn stored_zstd(data: &[u8]) -> Vec<u8> {
    let mut out = vec![0x28, 0xb5, 0x2f, 0xfd, 0xa0];
    out.extend((data.len() as u32).to_le_bytes());
    let header = (data.len() as u32) << 3 | 1;
    out.extend(&header.to_le_bytes()[..3]);
    out.extend(data);
    out
}

/// A cube map of two levels.
pub fn cubes() -> Vec<u8> {
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

/// Two layers of BC7 with four levels, in a DX10 header.
pub fn dx10() -> Vec<u8> {
    let four_cc = u32::from_le_bytes(*b"DX10");
    let mut tail = words(&[98, 3, 0, 2, 0]);
    tail.extend(bytes(2 * (64 + 16 + 16 + 16), 9));
    dds([8, 8], 4, [4, four_cc, 0, 0, 0, 0, 0], 0, &tail)
}

/// Two layers, packed by zstd.
pub fn arrays() -> Vec<u8> {
    let data = bytes(2 * 4 * 4 * 4, 3);
    ktx2(43, [4, 4, 0], [2, 1, 2], &[(stored_zstd(&data), data.len())])
}

/// A volume of two levels.
pub fn volumes() -> Vec<u8> {
    ktx2(9, [4, 2, 2], [0, 1, 0], &[(bytes(16, 1), 16), (bytes(2, 2), 2)])
}
