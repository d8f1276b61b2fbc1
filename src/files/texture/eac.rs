//! EAC: one component of 11 bits in blocks of 4x4 texels and 8 bytes, by the Khronos Data Format 1.3, chapter 21.
//!
//! A block is a base, a multiplier and one of sixteen tables of eight modifiers; each texel has three bits, which choose one. Texels run
//! down the columns, the first in the highest bits.

/// The modifiers (21.1, table of intensity modifiers for alpha); their second halves are `-1 - m` of the first.
const MODIFIERS: [[i32; 4]; 16] = [
    [-3, -6, -9, -15],
    [-3, -7, -10, -13],
    [-2, -5, -8, -13],
    [-2, -4, -6, -13],
    [-3, -6, -8, -12],
    [-3, -7, -9, -11],
    [-4, -7, -8, -11],
    [-3, -5, -8, -11],
    [-2, -6, -8, -10],
    [-2, -5, -8, -10],
    [-2, -4, -8, -10],
    [-2, -5, -7, -10],
    [-3, -4, -7, -10],
    [-1, -2, -3, -10],
    [-4, -6, -8, -9],
    [-3, -5, -7, -9],
];

/// Texels of a block, rows first, as 16-bit unorm (0 to 2047 widened) or snorm (-1023 to 1023 widened).
pub(super) fn block(data: [u8; 8], signed: bool) -> [u16; 16] {
    let word = u64::from_be_bytes(data);
    let multiplier = i32::from(data[1] >> 4);
    // A multiplier of 0 stands for an eighth.
    let step = if multiplier == 0 { 1 } else { 8 * multiplier };
    let table = MODIFIERS[usize::from(data[1] & 15)];
    let mut out = [0; 16];
    for i in 0..16 {
        let index = (word >> (45 - 3 * i)) as usize & 7;
        let m = if index < 4 { table[index] } else { -1 - table[index - 4] };
        let texel = if signed {
            // -128 is -127 (21.5).
            let v = (i32::from(data[0] as i8).max(-127) * 8 + m * step).clamp(-1023, 1023);
            let wide = v.unsigned_abs() << 5 | v.unsigned_abs() >> 5;
            (wide as i32 * v.signum()) as i16 as u16
        } else {
            let v = (i32::from(data[0]) * 8 + 4 + m * step).clamp(0, 2047) as u16;
            v << 5 | v >> 6
        };
        out[i % 4 * 4 + i / 4] = texel;
    }
    out
}

/// An image of one or two components, 16 bits each; `None` if `data` is too short.
pub(super) fn decode(data: &[u8], [width, height]: [usize; 2], components: usize, signed: bool) -> Option<Vec<u8>> {
    let mut out = vec![0; width * height * components * 2];
    let columns = width.div_ceil(4);
    for i in 0..columns * height.div_ceil(4) {
        let [x0, y0] = [i % columns * 4, i / columns * 4];
        for c in 0..components {
            let at = 8 * (i * components + c);
            let texels = block(data.get(at..at + 8)?.try_into().ok()?, signed);
            for (y, row) in (y0..height).zip(texels.chunks_exact(4)) {
                for (x, texel) in (x0..width).zip(row) {
                    let at = 2 * ((y * width + x) * components + c);
                    out[at..at + 2].copy_from_slice(&texel.to_le_bytes());
                }
            }
        }
    }
    Some(out)
}
