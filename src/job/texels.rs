//! Texels of a surface as numbers: what shaders read, and the codes that are stored.

use super::error::JobError;
use super::prepare::Prepared;
use crate::{FormatKind, TextureFormat, TextureSurface};
use quadrille_raster::format::texel;

/// A surface, read back.
pub(super) struct Texels {
    /// Format of the texels (of the aspect).
    pub format: TextureFormat,
    /// Texels in a row.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// Tightly packed rows from the top.
    pub bytes: Vec<u8>,
}

impl Texels {
    /// Bytes of a texel, if it is there.
    fn texel(&self, x: u32, y: u32) -> &[u8] {
        let n = self.format.info().bytes as usize;
        let at = (y as usize * self.width as usize + x as usize) * n;
        self.bytes.get(at..at + n).unwrap_or_default()
    }

    /// R, G, B, A as shaders read them: bits of f32, or integers. Missing components are 0, alpha 1.
    pub fn words(&self, x: u32, y: u32) -> [u32; 4] {
        texel::unpack(self.format, self.texel(x, y))
    }

    /// As [`words`](Self::words), as f32.
    pub fn floats(&self, x: u32, y: u32) -> [f32; 4] {
        let words = self.words(x, y);
        match self.format.info().kind {
            FormatKind::Uint => words.map(|w| w as f32),
            FormatKind::Sint => words.map(|w| w.cast_signed() as f32),
            _ => words.map(f32::from_bits),
        }
    }

    /// As [`words`](Self::words), as integers.
    pub fn integers(&self, x: u32, y: u32) -> [i64; 4] {
        let words = self.words(x, y);
        match self.format.info().kind {
            FormatKind::Sint => words.map(|w| w.cast_signed().into()),
            _ => words.map(i64::from),
        }
    }

    /// The code of each component as it is stored; 0 where the format lacks it.
    pub fn codes(&self, x: u32, y: u32) -> [u32; 4] {
        let mut raw = [0; 16];
        for (to, from) in raw.iter_mut().zip(self.texel(x, y)) {
            *to = *from;
        }
        let texel = u128::from_le_bytes(raw);
        let mask = |bits: u8| (1u128 << bits) - 1;
        self.format
            .info()
            .fields
            .map(|f| (texel >> f.shift & mask(f.bits)) as u32)
    }

    /// Bits of all components, where they have the same number, such as 8 of `rgba8unorm`.
    pub fn even_bits(&self) -> Option<u8> {
        let info = self.format.info();
        let mut bits = info.fields.iter().map(|f| f.bits).filter(|&b| b > 0);
        let first = bits.next()?;
        bits.all(|b| b == first).then_some(first)
    }
}

impl Prepared<'_> {
    /// Reads a surface of a texture.
    pub(super) fn texels(&self, name: &str, surface: &TextureSurface, at: &str) -> Result<Texels, JobError> {
        let texture = &self.target(name, at)?.texture;
        let failed = |e: crate::TextureError| self.loaded.failed(at, e);
        let ([width, height], format) = texture.surface_shape(surface).map_err(failed)?;
        if format.is_compressed() {
            return Err(self.loaded.refuse(at, format!("reading texels of {format}")));
        }
        Ok(Texels {
            format,
            width,
            height,
            bytes: texture.read_surface(surface).map_err(failed)?,
        })
    }
}
