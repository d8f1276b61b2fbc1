//! Blocks made by hand, with texels worked out from the Khronos Data Format Specification 1.3.

use super::{astc, eac};

const MAGENTA: [u8; 4] = [255, 0, 255, 255];

fn astc_texels(block: u128, size: [usize; 2]) -> Vec<[u8; 4]> {
    let out = astc::decode(&block.to_le_bytes(), size, size).expect("one block");
    out.chunks_exact(4).map(|t| [t[0], t[1], t[2], t[3]]).collect()
}

/// A void extent of LDR: 16-bit components behind extents of all ones (23.22).
fn void(rgba: [u8; 4]) -> u128 {
    let color = (0..4).fold(0u64, |c, i| c | (u64::from(rgba[i]) * 257) << (16 * i));
    u128::from(color) << 64 | 0xffff_ffff_ffff_fdfc
}

/// 4x4 weights of 2 bits, one partition, endpoints of 8 bits in the mode RGB, direct (23.10, 23.11): mode 0x42 is R = 4, A = 2, B = 0.
fn gradient(ends: [[u8; 2]; 3], weight: impl Fn(u32) -> u128) -> u128 {
    let mut block = 0x42 | 8 << 13;
    for (i, v) in ends.as_flattened().iter().enumerate() {
        block |= u128::from(*v) << (17 + 8 * i);
    }
    for i in 0..16 {
        // Weights stand backwards at the top: bit 0 of the first is bit 127.
        let w = weight(i);
        block |= (w & 1) << (127 - 2 * i) | (w >> 1) << (126 - 2 * i);
    }
    block
}

#[test]
fn astc_void_extents_are_their_colour() {
    let rgba = [12, 200, 7, 128];
    for size in [[4, 4], [5, 4], [6, 5], [8, 8], [10, 6], [12, 12]] {
        assert_eq!(astc_texels(void(rgba), size), vec![rgba; size[0] * size[1]]);
    }
    // HDR, reserved bits, and empty extents are illegal.
    for illegal in [
        void(rgba) | 1 << 9,
        void(rgba) & !(1 << 10),
        void(rgba) & !(0x1fff << 25),
    ] {
        assert_eq!(astc_texels(illegal, [4, 4]), [MAGENTA; 16]);
    }
}

#[test]
fn astc_weights_blend_endpoints() {
    // Weights of 2 bits are 0, 21, 43 and 64 of 64 (23.17).
    let texels = astc_texels(gradient([[0, 255], [0, 255], [10, 10]], |i| u128::from(i % 4)), [4, 4]);
    let row = [
        [0, 0, 10, 255],
        [84, 84, 10, 255],
        [171, 171, 10, 255],
        [255, 255, 10, 255],
    ];
    assert_eq!(texels, row.repeat(4));
    // In a block of 8x8 the corners are still those of the grid (23.16).
    let texels = astc_texels(gradient([[0, 255]; 3], |i| u128::from(3 * (i / 12))), [8, 8]);
    assert_eq!((texels[0], texels[63]), ([0, 0, 0, 255], [255; 4]));
}

/// Reserved modes, grids larger than blocks, too many weights, HDR endpoints, four partitions with two planes (23.24).
#[test]
fn astc_illegal_blocks_are_magenta() {
    let good = gradient([[0, 255]; 3], |_| 0);
    let mode = |m: u128| good & !0x7ff | m;
    let dual_of_four = mode(0x442) | 3 << 11;
    for illegal in [
        0,
        u128::MAX,
        mode(0x1c0 | 3 << 5),
        mode(0x01),
        mode(0x5c | 3 << 5),
        dual_of_four,
        good & !(15 << 13) | 2 << 13,
    ] {
        assert_eq!(astc_texels(illegal, [4, 4]), [MAGENTA; 16], "{illegal:032x}");
    }
    assert_ne!(astc_texels(good, [4, 4]), [MAGENTA; 16]);
}

/// The decoder takes whatever is legal, without panics.
#[test]
fn astc_takes_all_bits() {
    let mut state = 1u128;
    let mut legal = 0;
    for i in 0..60_000u32 {
        state = state
            .wrapping_mul(0x2360_ed05_1fc6_5da4_4385_df64_9fcc_f645)
            .wrapping_add(0x5851_f42d_4c95_7f2d_1405_7b7e_f767_814f);
        // The high bits are good; a few low ones choose the mode.
        let block =
            (state.rotate_right(64) ^ state) & !0x1f_ffff | u128::from(i % 2048) | (state >> 107) << 11 & 0x1f_f800;
        let size = [[4, 4], [6, 6], [8, 5], [10, 10], [12, 12]][i as usize % 5];
        legal += usize::from(astc::is_legal(&block.to_le_bytes(), size.map(|s: usize| s as u32)));
        astc_texels(block, size);
    }
    assert!(legal > 3_000, "{legal} of 60000 blocks were tried");
}

#[test]
fn eac_has_eleven_bits() {
    // Base 128, multiplier 1, table 13 (-1, -2, -3, -10, 0, 1, 2, 9): all texels 128 * 8 + 4 but the first two, down the column.
    let indices: u64 = (0..16).fold(0, |w, i| w << 3 | [7, 3].get(i).copied().unwrap_or(4));
    let mut data = (indices | 0x80_1d << 48).to_be_bytes();
    let wide = |v: u16| v << 5 | v >> 6;
    let texels = eac::block(data, false);
    assert_eq!(
        (texels[0], texels[4], texels[1]),
        (wide(1028 + 72), wide(1028 - 80), wide(1028))
    );
    assert_eq!(texels.iter().filter(|&&t| t == wide(1028)).count(), 14);
    // A multiplier of 0 steps by ones.
    data[1] = 0x0d;
    assert_eq!(eac::block(data, false)[0], wide(1028 + 9));
    // Both ends.
    data[0] = 255;
    data[1] = 0xfd;
    assert_eq!(
        (eac::block(data, false)[0], eac::block(data, false)[4]),
        (u16::MAX, wide(2044 - 1200))
    );
    // Signed: -128 counts as -127; -1023 and 1023 are -1 and 1.
    data[0] = 0x80;
    let texels = eac::block(data, true);
    assert_eq!(texels[1] as i16, -(1016 << 5 | 1016 >> 5));
    assert_eq!(texels[4] as i16, -32767);
    data[0] = 127;
    assert_eq!(eac::block(data, true)[0] as i16, 32767);
    data[0] = 0;
    assert_eq!(eac::block(data, true)[1], 0);
}
