//! Texels that no format here has, made into ones that some format has: 24-bit RGB, ETC2, EAC and ASTC.

use super::{astc, eac};
use crate::TextureFormat;

/// What stands in a file in the place of texels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stored {
    /// Texels or blocks as they are.
    Plain,
    /// Three bytes: an opaque fourth is missing.
    Rgb8,
    /// ETC2 without alpha, blocks of 8 bytes.
    Etc2Rgb,
    /// ETC2 with one bit of alpha.
    Etc2Rgba1,
    /// ETC2 with an alpha block.
    Etc2Rgba,
    /// EAC, one or two components of 11 bits.
    Eac {
        /// 1 or 2.
        components: u8,
        /// Whether they are signed.
        signed: bool,
    },
    /// ASTC of the LDR profile, in 2d blocks.
    Astc {
        /// Texels of a block.
        block: [u8; 2],
    },
}

impl Stored {
    /// Bytes of an image of that size.
    pub fn bytes(self, format: TextureFormat, [w, h, d]: [u32; 3]) -> u64 {
        let product = |a: u32, b: u32, bytes: u32| u64::from(a) * u64::from(b) * u64::from(d) * u64::from(bytes);
        match self {
            Stored::Plain => {
                let [w, h] = format.units(w, h);
                product(w, h, format.info().bytes)
            }
            Stored::Rgb8 => product(w, h, 3),
            Stored::Etc2Rgb | Stored::Etc2Rgba1 => product(w.div_ceil(4), h.div_ceil(4), 8),
            Stored::Etc2Rgba => product(w.div_ceil(4), h.div_ceil(4), 16),
            Stored::Eac { components, .. } => product(w.div_ceil(4), h.div_ceil(4), 8 * u32::from(components)),
            Stored::Astc { block: [x, y] } => product(w.div_ceil(x.into()), h.div_ceil(y.into()), 16),
        }
    }

    /// The image in its format; `None` if the decoder refuses it. `data` has [`bytes`](Self::bytes).
    pub fn expand(self, data: &[u8], [w, h, d]: [u32; 3]) -> Option<Vec<u8>> {
        let (w, h) = (w as usize, h as usize);
        let slices = d.max(1) as usize;
        let decode = |run: &dyn Fn(&[u8], &mut [u32]) -> Result<(), &'static str>| {
            let mut out = Vec::with_capacity(w * h * slices * 4);
            let mut pixels = vec![0u32; w * h];
            for slice in data.chunks_exact((data.len() / slices).max(1)) {
                run(slice, &mut pixels).ok()?;
                // The decoder's words are BGRA.
                let rgba = |p: &u32| {
                    let [b, g, r, a] = p.to_le_bytes();
                    [r, g, b, a]
                };
                out.extend(pixels.iter().flat_map(rgba));
            }
            Some(out)
        };
        let slice_by_slice = |run: &dyn Fn(&[u8]) -> Option<Vec<u8>>| {
            let mut out = Vec::new();
            for slice in data.chunks_exact((data.len() / slices).max(1)) {
                out.extend(run(slice)?);
            }
            Some(out)
        };
        match self {
            Stored::Plain => Some(data.to_vec()),
            Stored::Rgb8 => Some(data.chunks_exact(3).flat_map(|p| [p[0], p[1], p[2], 255]).collect()),
            Stored::Etc2Rgb => decode(&|data, out| texture2ddecoder::decode_etc2_rgb(data, w, h, out)),
            Stored::Etc2Rgba1 => decode(&|data, out| texture2ddecoder::decode_etc2_rgba1(data, w, h, out)),
            Stored::Etc2Rgba => decode(&|data, out| texture2ddecoder::decode_etc2_rgba8(data, w, h, out)),
            Stored::Eac { components, signed } => {
                slice_by_slice(&|data| eac::decode(data, [w, h], components.into(), signed))
            }
            Stored::Astc { block } => slice_by_slice(&|data| astc::decode(data, [w, h], block.map(usize::from))),
        }
    }
}
