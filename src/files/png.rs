//! PNG files as 8-bit RGBA.
//!
//! Reading follows the job format's rule: grey goes to r = g = b, no alpha means 255, palettes and narrow depths are
//! expanded, 16-bit samples keep their high byte, and no gamma or profile chunk is heeded.

use super::FileError;
use std::io::{self, Cursor, Write};
use std::path::{Path, PathBuf};

/// An image of 8-bit RGBA texels, rows from the top, tightly packed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RgbaImage {
    /// Texels in a row.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// `width * height * 4` bytes.
    pub pixels: Vec<u8>,
}

/// Why a PNG file could not be read.
#[derive(Debug, thiserror::Error)]
pub enum PngError {
    /// The file itself.
    #[error(transparent)]
    File(#[from] FileError),
    /// Its content: malformed, truncated or too large.
    #[error("`{}` is not a readable image: {reason}", path.display())]
    Decode {
        /// The file.
        path: PathBuf,
        /// What the decoder said.
        reason: String,
    },
    /// More pixels than the caller takes.
    #[error("`{}` is {width}x{height}, larger than the {limit}x{limit} allowed here", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// Its width.
        width: u32,
        /// Its height.
        height: u32,
        /// Largest side allowed.
        limit: u32,
    },
}

/// Compressed PNG files larger than this are refused unread.
const MAX_FILE_BYTES: u64 = 1 << 30;

/// Reads a PNG of at most `max_side` texels a side.
pub fn read(path: &Path, max_side: u32) -> Result<RgbaImage, PngError> {
    let bytes = super::read_bounded(path, MAX_FILE_BYTES)?;
    decode(&bytes, path, max_side)
}

/// Decodes a PNG that is in memory already; `path` is for the errors.
pub fn decode(bytes: &[u8], path: &Path, max_side: u32) -> Result<RgbaImage, PngError> {
    let fail = |reason: String| PngError::Decode {
        path: path.to_owned(),
        reason,
    };
    let mut decoder = png::Decoder::new(Cursor::new(bytes));
    decoder.set_transformations(png::Transformations::normalize_to_color8());
    let mut reader = decoder.read_info().map_err(|e| fail(e.to_string()))?;
    let (width, height) = (reader.info().width, reader.info().height);
    // The header is believed only as far as the limit: 16384^2 texels of 4 bytes are 1 GiB.
    if width > max_side || height > max_side {
        return Err(PngError::TooLarge {
            path: path.to_owned(),
            width,
            height,
            limit: max_side,
        });
    }
    let size = reader
        .output_buffer_size()
        .ok_or_else(|| fail("its size overflows".into()))?;
    let mut samples = vec![0; size];
    let info = reader.next_frame(&mut samples).map_err(|e| fail(e.to_string()))?;
    samples.truncate(info.buffer_size());
    let pixels = match info.color_type {
        png::ColorType::Rgba => samples,
        png::ColorType::Rgb => samples.chunks_exact(3).flat_map(|p| [p[0], p[1], p[2], 255]).collect(),
        png::ColorType::Grayscale => samples.iter().flat_map(|&g| [g, g, g, 255]).collect(),
        png::ColorType::GrayscaleAlpha => samples.chunks_exact(2).flat_map(|p| [p[0], p[0], p[0], p[1]]).collect(),
        png::ColorType::Indexed => return Err(fail("its palette could not be expanded".into())),
    };
    if pixels.len() as u64 != u64::from(width) * u64::from(height) * 4 {
        return Err(fail("it holds fewer pixels than it says".into()));
    }
    Ok(RgbaImage { width, height, pixels })
}

/// Encodes 8-bit RGBA rows; fast compression, since renders are written far more often than shipped.
pub fn encode(out: &mut impl Write, width: u32, height: u32, rgba: &[u8]) -> io::Result<()> {
    let mut encoder = png::Encoder::new(out, width, height);
    encoder.set_color(png::ColorType::Rgba);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_compression(png::Compression::Fast);
    let mut writer = encoder.write_header().map_err(io::Error::other)?;
    writer.write_image_data(rgba).map_err(io::Error::other)?;
    writer.finish().map_err(io::Error::other)
}

/// Writes a PNG file, whole or not at all.
pub fn write(path: &Path, width: u32, height: u32, rgba: &[u8]) -> Result<(), FileError> {
    super::write_atomically(path, |out| encode(out, width, height, rgba))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(color: png::ColorType, data: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        let mut encoder = png::Encoder::new(&mut out, 2, 1);
        encoder.set_color(color);
        encoder.set_depth(png::BitDepth::Eight);
        let mut writer = encoder.write_header().expect("a header");
        writer.write_image_data(data).expect("data");
        writer.finish().expect("an end");
        out
    }

    #[test]
    fn every_colour_type_becomes_rgba() {
        let read = |color, data: &[u8]| {
            decode(&encoded(color, data), Path::new("x.png"), 16)
                .expect("decodes")
                .pixels
        };
        assert_eq!(read(png::ColorType::Grayscale, &[7, 9]), [7, 7, 7, 255, 9, 9, 9, 255]);
        assert_eq!(
            read(png::ColorType::GrayscaleAlpha, &[7, 1, 9, 2]),
            [7, 7, 7, 1, 9, 9, 9, 2]
        );
        assert_eq!(
            read(png::ColorType::Rgb, &[1, 2, 3, 4, 5, 6]),
            [1, 2, 3, 255, 4, 5, 6, 255]
        );
        let rgba = [1, 2, 3, 4, 5, 6, 7, 8];
        assert_eq!(read(png::ColorType::Rgba, &rgba), rgba);
    }

    #[test]
    fn a_truncated_or_huge_image_is_an_error() {
        let whole = encoded(png::ColorType::Rgb, &[1, 2, 3, 4, 5, 6]);
        for end in 0..whole.len() - 12 {
            let result = decode(&whole[..end], Path::new("x.png"), 16);
            assert!(
                result.is_err(),
                "{end} bytes of {} were taken for an image",
                whole.len()
            );
        }
        assert!(matches!(
            decode(&whole, Path::new("x.png"), 1),
            Err(PngError::TooLarge { width: 2, .. })
        ));
    }
}
