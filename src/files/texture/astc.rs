//! Which ASTC blocks are legal in the LDR profile. The decoder behind [`Stored`](super::expand::Stored) believes what it is given: a block
//! that contradicts itself would make it panic, so each is looked at first. Illegal blocks are opaque magenta, the error colour of the
//! specification (Khronos Data Format 1.3, chapter 23: 23.10 block mode, 23.11 endpoint modes, 23.22 void extents, 23.24 illegal encodings).

/// Bits `from..from + count`.
fn bits(block: u128, from: u32, count: u32) -> u32 {
    (block >> from) as u32 & ((1 << count) - 1)
}

/// Trits, quints and bits of a weight, by range (23.10, weight ranges: 2, 3, 4, 5, 6, 8 levels, then 10, 12, 16, 20, 24, 32).
const RANGES: [(u32, u32, u32); 12] = [
    (0, 0, 1),
    (1, 0, 0),
    (0, 0, 2),
    (0, 1, 0),
    (1, 0, 1),
    (0, 0, 3),
    (0, 1, 1),
    (1, 0, 2),
    (0, 0, 4),
    (0, 1, 2),
    (1, 0, 3),
    (0, 0, 5),
];

/// Width and height of the weight grid, weight range (0 to 11), and whether there are two planes; `None` where the mode is reserved.
fn mode(m: u32) -> Option<(u32, u32, u32, bool)> {
    let part = |from: u32, count: u32| m >> from & ((1 << count) - 1);
    let (a, b) = (part(5, 2), part(7, 2));
    let (mut high, mut dual) = (part(9, 1), part(10, 1) == 1);
    let (range, w, h);
    if part(0, 2) != 0 {
        range = part(0, 2) << 1 | part(4, 1);
        (w, h) = match part(2, 2) {
            0 => (b + 4, a + 2),
            1 => (b + 8, a + 2),
            2 => (a + 2, b + 8),
            _ if b & 2 == 0 => (a + 2, (b & 1) + 6),
            _ => ((b & 1) + 2, a + 2),
        };
    } else {
        range = part(2, 2) << 1 | part(4, 1);
        (w, h) = match b {
            0 => (12, a + 2),
            1 => (a + 2, 12),
            2 => {
                let h = part(9, 2) + 6;
                (high, dual) = (0, false);
                (a + 6, h)
            }
            _ if a == 0 => (6, 10),
            _ if a == 1 => (10, 6),
            _ => return None,
        };
    }
    // Ranges 0 and 1 are reserved.
    Some((w, h, range.checked_sub(2)? + 6 * high, dual))
}

/// Whether a block of 16 bytes may be decoded as LDR in blocks of that size.
pub(super) fn is_legal(block: &[u8; 16], [width, height]: [u32; 2]) -> bool {
    let block = u128::from_le_bytes(*block);
    if bits(block, 0, 9) == 0x1fc {
        // A void extent: LDR, reserved bits set, and extents that are none (all ones) or not empty.
        let [s0, s1, t0, t1] = [12, 25, 38, 51].map(|at| bits(block, at, 13));
        let none = [s0, s1, t0, t1] == [0x1fff; 4];
        return bits(block, 9, 3) == 0b110 && (none || s0 < s1 && t0 < t1);
    }
    let Some((w, h, range, dual)) = mode(bits(block, 0, 11)) else {
        return false;
    };
    let (trits, quints, plain) = RANGES[range as usize];
    let count = w * h * if dual { 2 } else { 1 };
    let weights = (8 * count * trits).div_ceil(5) + (7 * count * quints).div_ceil(3) + plain * count;
    let partitions = bits(block, 11, 2) + 1;
    if w > width || h > height || count > 64 || !(24..=96).contains(&weights) || dual && partitions == 4 {
        return false;
    }
    // Endpoint modes of the partitions, and the bits before and between that are no endpoints.
    let mut modes = [bits(block, 13, 4); 4];
    let mut config = 17;
    if partitions > 1 {
        config = 29;
        let class = bits(block, 23, 2);
        modes = [bits(block, 25, 4); 4];
        if class != 0 {
            // One class bit and two mode bits a partition: four here, the rest right below the weights.
            let extra = 3 * partitions - 4;
            config += extra;
            let all = bits(block, 25, 4) | bits(block, 128 - weights - extra, extra) << 4;
            for (i, mode) in (0..partitions).zip(&mut modes) {
                let pair = all >> (partitions + 2 * i) & 3;
                *mode = (class - 1 + (all >> i & 1)) << 2 | pair;
            }
        }
    }
    let modes = &modes[..partitions as usize];
    let values: u32 = modes.iter().map(|mode| 2 * ((mode >> 2) + 1)).sum();
    let hdr = |mode: &u32| matches!(mode, 2 | 3 | 7 | 11 | 14 | 15);
    let left = 128u32.checked_sub(weights + config + if dual { 2 } else { 0 });
    // Six levels are the fewest of an endpoint: a trit and a bit each.
    values <= 18 && !modes.iter().any(hdr) && left.is_some_and(|left| left >= (13 * values).div_ceil(5))
}

/// An image of `width` x `height` texels in blocks of `block` texels; red, green, blue, alpha. `None` if `data` is too short.
pub(super) fn decode(data: &[u8], [width, height]: [usize; 2], block: [usize; 2]) -> Option<Vec<u8>> {
    let size = block.map(|s| s as u32);
    let mut out = vec![0; width * height * 4];
    let mut texels = [0u32; 144];
    let columns = width.div_ceil(block[0]);
    for i in 0..columns * height.div_ceil(block[1]) {
        let bytes: &[u8; 16] = data.get(16 * i..16 * i + 16)?.try_into().ok()?;
        let [x0, y0] = [i % columns * block[0], i / columns * block[1]];
        if is_legal(bytes, size) {
            texture2ddecoder::decode_astc_block(bytes, block[0], block[1], &mut texels);
        } else {
            texels.fill(u32::from_le_bytes([255, 0, 255, 255]));
        }
        for (y, row) in (y0..height).zip(texels.chunks_exact(block[0]).take(block[1])) {
            for (x, texel) in (x0..width).zip(row) {
                // The decoder's words are BGRA.
                let [b, g, r, a] = texel.to_le_bytes();
                let at = 4 * (y * width + x);
                out[at..at + 4].copy_from_slice(&[r, g, b, a]);
            }
        }
    }
    Some(out)
}
