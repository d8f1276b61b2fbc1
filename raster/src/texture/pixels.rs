//! Copies between linear rows and the 4x4 blocks of a surface.

use super::layout::{BLOCK, LevelLayout};

/// A rectangle of texels of a surface.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rect {
    pub x: u32,
    pub y: u32,
    pub width: u32,
    pub height: u32,
}

/// Calls `run(byte in the surface, byte in the rows, bytes)` for every stretch of a rectangle inside one block's row.
#[inline(always)]
fn runs(level: &LevelLayout, bytes: usize, rect: Rect, stride: usize, mut run: impl FnMut(usize, usize, usize)) {
    for row in 0..rect.height {
        let mut x = rect.x;
        let mut at = row as usize * stride;
        let end = rect.x + rect.width;
        while x < end {
            let n = (BLOCK - x % BLOCK).min(end - x);
            run(level.texel(x, rect.y + row) as usize * bytes, at, n as usize * bytes);
            x += n;
            at += n as usize * bytes;
        }
    }
}

#[inline(always)]
fn copy<const WHOLE: usize>(to: &mut [u8], from: &[u8]) {
    // Whole block rows, by far the most, become a few moves instead of a call.
    match (<&mut [u8; WHOLE]>::try_from(&mut *to), <&[u8; WHOLE]>::try_from(from)) {
        (Ok(to), Ok(from)) => *to = *from,
        _ => to.copy_from_slice(from),
    }
}

macro_rules! by_texel_size {
    ($bytes:expr, $f:ident($($arg:expr),*)) => {
        match $bytes {
            1 => $f::<4>($($arg),*),
            2 => $f::<8>($($arg),*),
            4 => $f::<16>($($arg),*),
            8 => $f::<32>($($arg),*),
            _ => $f::<64>($($arg),*),
        }
    };
}

/// Rows to blocks. The caller has checked that the rectangle fits the level and the rows fit the data.
pub(super) fn to_blocks(surface: &mut [u8], level: &LevelLayout, bytes: usize, rect: Rect, data: &[u8], stride: usize) {
    fn go<const WHOLE: usize>(
        surface: &mut [u8],
        level: &LevelLayout,
        bytes: usize,
        rect: Rect,
        data: &[u8],
        stride: usize,
    ) {
        runs(level, bytes, rect, stride, |s, d, n| {
            copy::<WHOLE>(&mut surface[s..s + n], &data[d..d + n])
        });
    }
    by_texel_size!(bytes, go(surface, level, bytes, rect, data, stride))
}

/// Blocks to rows, likewise.
pub(super) fn from_blocks(
    surface: &[u8],
    level: &LevelLayout,
    bytes: usize,
    rect: Rect,
    out: &mut [u8],
    stride: usize,
) {
    fn go<const WHOLE: usize>(
        surface: &[u8],
        level: &LevelLayout,
        bytes: usize,
        rect: Rect,
        out: &mut [u8],
        stride: usize,
    ) {
        runs(level, bytes, rect, stride, |s, d, n| {
            copy::<WHOLE>(&mut out[d..d + n], &surface[s..s + n])
        });
    }
    by_texel_size!(bytes, go(surface, level, bytes, rect, out, stride))
}
