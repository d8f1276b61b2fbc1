//! Photographs and drawings as 8-bit RGBA: PNG, JPEG, TGA and WebP, told by the file's extension.
//!
//! The rule of [`super::png`] holds for all: no gamma or profile is heeded, narrow formats are expanded. Sizes are looked at
//! before anything of that size is allocated.

use super::png::{self, PngError, RgbaImage};
use ::image::{DynamicImage, ImageDecoder, ImageFormat, ImageReader, Limits};
use std::io::Cursor;
use std::path::Path;

/// Compressed files larger than this are refused unread.
const MAX_FILE_BYTES: u64 = 1 << 30;

/// The format that a file's extension says, if it isn't PNG.
fn other_format(path: &Path) -> Option<ImageFormat> {
    let extension = path.extension()?.to_str()?.to_ascii_lowercase();
    Some(match extension.as_str() {
        "jpg" | "jpeg" => ImageFormat::Jpeg,
        "tga" => ImageFormat::Tga,
        "webp" => ImageFormat::WebP,
        _ => return None,
    })
}

/// Reads an image of at most `max_side` texels a side.
///
/// # Errors
/// The file can't be read or decoded, or is larger.
pub fn read(path: &Path, max_side: u32) -> Result<RgbaImage, PngError> {
    let Some(format) = other_format(path) else {
        return png::read(path, max_side);
    };
    let bytes = super::read_bounded(path, MAX_FILE_BYTES)?;
    decode(&bytes, format, path, max_side)
}

fn decode(bytes: &[u8], format: ImageFormat, path: &Path, max_side: u32) -> Result<RgbaImage, PngError> {
    let fail = |e: ::image::ImageError| PngError::Decode {
        path: path.to_owned(),
        reason: e.to_string(),
    };
    let mut reader = ImageReader::with_format(Cursor::new(bytes), format);
    let mut limits = Limits::default();
    // What a decoder may hold besides: as much as the largest image.
    limits.max_alloc = Some(8 * u64::from(max_side) * u64::from(max_side));
    reader.limits(limits);
    let decoder = reader.into_decoder().map_err(fail)?;
    let (width, height) = decoder.dimensions();
    if width > max_side || height > max_side {
        return Err(PngError::TooLarge {
            path: path.to_owned(),
            width,
            height,
            limit: max_side,
        });
    }
    let image = DynamicImage::from_decoder(decoder).map_err(fail)?;
    Ok(RgbaImage {
        width,
        height,
        pixels: image.into_rgba8().into_raw(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2 x 2, 24 bits, from the bottom: blue, green above; red, white.
    fn tga(width: u8) -> Vec<u8> {
        let mut file = vec![0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, width, 0, 2, 0, 24, 0];
        file.extend([255, 0, 0, 0, 0, 255, 0, 255, 0, 255, 255, 255]);
        file
    }

    #[test]
    fn tga_rows_go_from_the_top() {
        let path = Path::new("a.tga");
        let image = decode(&tga(2), ImageFormat::Tga, path, 16).expect("decodes");
        assert_eq!((image.width, image.height), (2, 2));
        let row = |texels: [[u8; 3]; 2]| texels.map(|[r, g, b]| [r, g, b, 255]).concat();
        let expected = [row([[0, 255, 0], [255, 255, 255]]), row([[0, 0, 255], [255, 0, 0]])].concat();
        assert_eq!(image.pixels, expected);
        assert!(matches!(
            decode(&tga(200), ImageFormat::Tga, path, 16),
            Err(PngError::TooLarge { width: 200, .. })
        ));
        assert!(matches!(
            decode(&tga(3), ImageFormat::Tga, path, 16),
            Err(PngError::Decode { .. })
        ));
        for cut in 0..tga(2).len() {
            _ = decode(&tga(2)[..cut], ImageFormat::Tga, path, 16);
        }
    }

    #[test]
    fn extensions_say_the_format() {
        assert_eq!(other_format(Path::new("a/b.TGA")), Some(ImageFormat::Tga));
        assert_eq!(other_format(Path::new("b.jpeg")), Some(ImageFormat::Jpeg));
        assert_eq!(other_format(Path::new("b.webp")), Some(ImageFormat::WebP));
        assert_eq!(other_format(Path::new("b.png")), None);
    }
}
