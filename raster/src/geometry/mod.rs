//! Between vertex program and tiles: transform, clip, cull, set-up.
//!
//! ```text
//! clip positions (8 at a time) ─ viewport ─► ScreenVertex + outcode
//!    primitives ─ trivial reject ─ clip ─ area, facing, bounds ─► Prim (12 bytes, kept by the chunk)
//!                                                     in the tile ─► PrimRecord (96 bytes, lives for one batch)
//! ```
//!
//! Positions are exact integers of 1/256 pixel from the snap on (R-RAST-5 to 8); coverage, facing and gradients use
//! nothing else.

mod bias;
mod clip;
mod record;
mod view;

pub use bias::{BiasFormat, DepthBias};
pub(crate) use clip::MAX_CORNERS;
pub use clip::{ClipPlanes, Clipped, clip_line, clip_triangle};
pub use record::{Gradients, PrimRecord};
pub use view::{GroupPositions, Rect, ScreenVertex, ViewTransform, Viewport, code, snap};

/// Units of a snapped coordinate in a pixel.
pub const SUBPIXEL: i32 = 256;

/// The standard sample pattern: offsets from the pixel's centre in 1/16 pixel, x right, y down (R-RAST-90).
pub const fn sample_pattern(samples: u32) -> &'static [[i8; 2]] {
    match samples {
        2 => &[[4, 4], [-4, -4]],
        4 => &[[-2, -6], [6, -2], [-6, 2], [2, 6]],
        8 => &[[1, -3], [-1, 3], [5, 1], [-3, -5], [-5, 5], [-7, -1], [3, 7], [7, -7]],
        16 => &[
            [1, 1],
            [-1, -3],
            [-3, 2],
            [4, -1],
            [-5, -2],
            [2, 5],
            [5, 3],
            [3, -5],
            [-2, 6],
            [0, -7],
            [-4, -6],
            [-6, 4],
            [-8, 0],
            [7, -4],
            [6, 7],
            [-7, -8],
        ],
        _ => &[[0, 0]],
    }
}

/// The same in 1/256 pixel from the pixel's top left corner.
pub const fn sample_offsets<const N: usize>() -> [[i32; 2]; N] {
    let pattern = sample_pattern(N as u32);
    assert!(pattern.len() == N, "sample counts are 1, 2, 4, 8, 16");
    let mut out = [[0; 2]; N];
    let mut i = 0;
    while i < N {
        out[i] = [128 + pattern[i][0] as i32 * 16, 128 + pattern[i][1] as i32 * 16];
        i += 1;
    }
    out
}

/// Smallest and largest coordinate of any sample within its pixel, in 1/256 pixel.
pub const fn sample_extent(samples: u32) -> (i32, i32) {
    match samples {
        1 => (128, 128),
        2 => (64, 192),
        4 => (32, 224),
        _ => (0, 240),
    }
}
