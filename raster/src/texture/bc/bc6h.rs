//! BC6H: half floats on one or two lines, fourteen layouts (R-SAMP-150..155).

use super::layout6::mode;
use super::{Bits, Texels, WEIGHTS, indices, subsets};

fn extend(v: i32, bits: u8) -> i32 {
    let up = 32 - u32::from(bits);
    v << up >> up
}

/// R-SAMP-154.
fn unquantise(x: i32, bits: u8, signed: bool) -> i32 {
    if !signed {
        return match x {
            x if bits >= 15 => x,
            0 => 0,
            x if x == (1 << bits) - 1 => 0xffff,
            x => ((x << 16) + 0x8000) >> bits,
        };
    }
    if bits >= 16 {
        return x;
    }
    let m = x.abs();
    let u = match m {
        0 => 0,
        m if m >= (1 << (bits - 1)) - 1 => 0x7fff,
        m => ((m << 15) + 0x4000) >> (bits - 1),
    };
    if x < 0 { -u } else { u }
}

/// R-SAMP-155: to bits of a half float.
fn finish(c: i32, signed: bool) -> u16 {
    if !signed {
        return ((c * 31) >> 6) as u16;
    }
    if c < 0 {
        0x8000 | ((-c * 31) >> 5) as u16
    } else {
        ((c * 31) >> 5) as u16
    }
}

/// Bits of half floats.
pub(super) fn decode(block: u128, signed: bool) -> Texels<[u16; 3]> {
    let mut bits = Bits(block);
    let mut number = bits.take(2);
    if number > 1 {
        number |= bits.take(3) << 2;
    }
    let Some(m) = mode(number) else {
        return [[0; 3]; 16];
    };
    let mut ends = [[0i32; 3]; 4];
    for p in m.parts {
        let field = &mut ends[usize::from(p.e)][usize::from(p.c)];
        for i in 0..p.count {
            let bit = if p.falling { p.bit - i } else { p.bit + i };
            *field |= (bits.take(1) as i32) << bit;
        }
    }
    let partition = if m.two { bits.take(5) } else { 0 };
    let subsets_count = if m.two { 2 } else { 1 };
    let used = 2 * subsets_count;
    for (k, e) in ends[..used].iter_mut().enumerate() {
        for (c, v) in e.iter_mut().enumerate() {
            if signed || (m.transformed && k > 0) {
                let width = if k == 0 { m.bits } else { m.delta[c] };
                *v = extend(*v, width);
            }
        }
    }
    if m.transformed {
        let base = ends[0];
        for e in &mut ends[1..used] {
            for (v, base) in e.iter_mut().zip(base) {
                let sum = (base + *v) & ((1 << m.bits) - 1);
                *v = if signed { extend(sum, m.bits) } else { sum };
            }
        }
    }
    let ends = ends.map(|e| e.map(|v| unquantise(v, m.bits, signed)));
    let (subset, anchors) = subsets(subsets_count, partition);
    let width = if m.two { 3 } else { 4 };
    let index = indices(&mut bits, width, anchors);
    let mut out = [[0; 3]; 16];
    for (t, texel) in out.iter_mut().enumerate() {
        let s = usize::from(subset[t]) * 2;
        let w = WEIGHTS[width as usize][usize::from(index[t])] as i32;
        for (c, v) in texel.iter_mut().enumerate() {
            *v = finish((ends[s][c] * (64 - w) + ends[s + 1][c] * w + 32) >> 6, signed);
        }
    }
    out
}
