//! BC7: eight modes of one to three lines through colour space (R-SAMP-140..145).

use super::{Bits, Texels, WEIGHTS, indices, subsets};

struct Mode {
    subsets: usize,
    partition: u32,
    rotation: u32,
    selector: u32,
    color: u32,
    alpha: u32,
    /// Endpoints that share one lowest bit: 0 none, 1 each its own, 2 both of a subset.
    shared: usize,
    index: u32,
    second: u32,
}

const fn mode(
    subsets: usize,
    partition: u32,
    [rotation, selector]: [u32; 2],
    [color, alpha]: [u32; 2],
    shared: usize,
    [index, second]: [u32; 2],
) -> Mode {
    Mode {
        subsets,
        partition,
        rotation,
        selector,
        color,
        alpha,
        shared,
        index,
        second,
    }
}

const MODES: [Mode; 8] = [
    mode(3, 4, [0, 0], [4, 0], 1, [3, 0]),
    mode(2, 6, [0, 0], [6, 0], 2, [3, 0]),
    mode(3, 6, [0, 0], [5, 0], 0, [2, 0]),
    mode(2, 6, [0, 0], [7, 0], 1, [2, 0]),
    mode(1, 0, [2, 1], [5, 6], 0, [2, 3]),
    mode(1, 0, [2, 0], [7, 8], 0, [2, 2]),
    mode(1, 0, [0, 0], [7, 7], 1, [4, 0]),
    mode(2, 6, [0, 0], [5, 5], 1, [2, 0]),
];

/// RGBA codes.
pub(super) fn decode(block: u128) -> Texels<[u8; 4]> {
    let number = (block as u8).trailing_zeros();
    let Some(m) = MODES.get(number as usize) else {
        return [[0; 4]; 16];
    };
    let mut bits = Bits(block >> (number + 1));
    let partition = bits.take(m.partition);
    let rotation = bits.take(m.rotation) as usize;
    let selector = bits.take(m.selector);
    let count = 2 * m.subsets;
    let mut ends = [[255u32; 4]; 6];
    for c in 0..3 {
        ends[..count].iter_mut().for_each(|e| e[c] = bits.take(m.color));
    }
    if m.alpha > 0 {
        ends[..count].iter_mut().for_each(|e| e[3] = bits.take(m.alpha));
    }
    let mut low = [0; 6];
    if m.shared > 0 {
        for i in (0..count).step_by(m.shared) {
            low[i] = bits.take(1);
            low[i + m.shared - 1] = low[i];
        }
    }
    for (e, low) in ends[..count].iter_mut().zip(low) {
        for (c, v) in e.iter_mut().enumerate() {
            let mut n = if c == 3 { m.alpha } else { m.color };
            if n == 0 {
                continue;
            }
            if m.shared > 0 {
                *v = *v << 1 | low;
                n += 1;
            }
            *v <<= 8 - n;
            *v |= *v >> n;
        }
    }
    let (subset, anchors) = subsets(m.subsets, partition);
    let first = indices(&mut bits, m.index, anchors);
    let second = if m.second > 0 {
        indices(&mut bits, m.second, [0; 3])
    } else {
        first
    };
    // Colour's and alpha's indices.
    let own = (first, m.index);
    let other = (second, if m.second > 0 { m.second } else { m.index });
    let (color, alpha) = if selector == 1 { (other, own) } else { (own, other) };
    let mut out = [[0; 4]; 16];
    for (t, texel) in out.iter_mut().enumerate() {
        let s = usize::from(subset[t]) * 2;
        for (c, v) in texel.iter_mut().enumerate() {
            let (index, width) = if c == 3 { &alpha } else { &color };
            let w = WEIGHTS[*width as usize][usize::from(index[t])];
            *v = (((64 - w) * ends[s][c] + w * ends[s + 1][c] + 32) >> 6) as u8;
        }
        if rotation > 0 {
            texel.swap(3, rotation - 1);
        }
    }
    out
}
