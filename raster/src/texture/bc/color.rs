//! BC1 to BC5: two endpoints and what lies between them (R-SAMP-131..136).
//!
//! The palette is real arithmetic (no rounding to 8 bits), rounded once to 16-bit codes, halves up; sRGB decodes the real code.

use super::Texels;
use std::sync::LazyLock;

/// 16-bit linear codes of the sRGB codes i / 6.
static SRGB_SIXTHS: LazyLock<Box<[u16]>> = LazyLock::new(|| {
    (0..=255 * 6)
        .map(|i| {
            let c = f64::from(i) / (255.0 * 6.0);
            // R-SAMP-105.
            let linear = if c <= 0.04045 {
                c / 12.92
            } else {
                libm::pow((c + 0.055) / 1.055, 2.4)
            };
            libm::round(linear * 65535.0) as u16
        })
        .collect()
});

/// BC1's four or three colours; BC2 and BC3 always have four.
pub(super) fn bc1(block: u64, four: bool, srgb: bool) -> Texels<[u16; 4]> {
    let raw = [block as u16, (block >> 16) as u16].map(u32::from);
    let [a, b] = raw.map(|c| {
        let (r, g, b) = (c >> 11, c >> 5 & 63, c & 31);
        [r << 3 | r >> 2, g << 2 | g >> 4, b << 3 | b >> 2]
    });
    // In sixths of an 8-bit code.
    let blend = |wa: u32, wb: u32| {
        let mut out = [u16::MAX; 4];
        for c in 0..3 {
            let sixths = wa * a[c] + wb * b[c];
            out[c] = if srgb {
                SRGB_SIXTHS[sixths as usize]
            } else {
                ((sixths * 257 + 3) / 6) as u16
            };
        }
        out
    };
    let between = if raw[0] > raw[1] || four {
        [blend(4, 2), blend(2, 4)]
    } else {
        [blend(3, 3), [0; 4]]
    };
    let palette = [blend(6, 0), blend(0, 6), between[0], between[1]];
    std::array::from_fn(|t| palette[(block >> (32 + 2 * t) & 3) as usize])
}

/// The numerators of BC4's eight values over `steps`, which is 7 or 5 (then the last two are extremes).
fn ramp(a: i32, b: i32, steps: i32) -> [i32; 8] {
    let mut out = [steps * a, steps * b, 0, 0, 0, 0, 0, 0];
    for k in 1..steps {
        out[k as usize + 1] = (steps - k) * a + k * b;
    }
    out
}

fn codes(block: u64) -> Texels<usize> {
    std::array::from_fn(|t| (block >> (16 + 3 * t) & 7) as usize)
}

/// 16-bit codes.
pub(super) fn bc4_unorm(block: u64) -> Texels<u16> {
    let (a, b) = (i32::from(block as u8), i32::from((block >> 8) as u8));
    let steps = if a > b { 7 } else { 5 };
    let mut palette = ramp(a, b, steps).map(|n| ((n * 257 * 2 + steps) / (2 * steps)) as u16);
    if steps == 5 {
        (palette[6], palette[7]) = (0, u16::MAX);
    }
    codes(block).map(|i| palette[i])
}

/// From -1 to 1.
pub(super) fn bc4_snorm(block: u64) -> Texels<f32> {
    let raw = [block as i8, (block >> 8) as i8];
    let steps = if raw[0] > raw[1] { 7 } else { 5 };
    let [a, b] = raw.map(|x| i32::from(x).max(-127));
    let mut palette = ramp(a, b, steps).map(|n| n as f32 / (127 * steps) as f32);
    if steps == 5 {
        (palette[6], palette[7]) = (-1.0, 1.0);
    }
    codes(block).map(|i| palette[i])
}
