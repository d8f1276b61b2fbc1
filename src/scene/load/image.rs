//! Images: PNG, JPEG or WebP, from a buffer view, a data URI or a file beside the model, to 8-bit RGBA.
//!
//! The format is recognised by its first bytes, not by what the file says about it. Sizes are known from the header and
//! booked before anything is decoded; decoding runs on all threads, one image each. PNG goes through the `png` crate
//! directly, which is leaner than the general decoder. 16-bit samples keep their high byte.

use std::borrow::Cow;
use std::io::Cursor;
use std::path::Path;

use ::image::{ImageDecoder, ImageFormat};

use super::accessor::Source;
use super::container::{Budget, Target, read_file, resolve};
use super::{LoadOptions, beside};
use crate::scene::error::Fault;
use crate::scene::model::Image;
use crate::scene::{SceneError, parallel};

/// Decodes the file's images `used`, in that order.
pub(super) fn load(
    path: &Path,
    source: &Source<'_>,
    used: &[usize],
    options: &LoadOptions,
    budget: &mut Budget,
) -> Result<Vec<Image>, SceneError> {
    let mut encoded = Vec::with_capacity(used.len());
    for &index in used {
        let file = fetch(path, source, index, budget)?;
        let object = format!("images[{index}] ({})", file.name);
        let format = format_of(&file.bytes)
            .ok_or_else(|| Fault::new(object.as_str(), "is neither PNG, JPEG nor WebP").at(path))?;
        let (width, height) = size(&file.bytes, format).map_err(|e| Fault::new(object.as_str(), e).at(path))?;
        if width == 0 || height == 0 || width.max(height) > options.max_image_size {
            let problem = format!("is {width} x {height}; sides must be 1 to {}", options.max_image_size);
            return Err(Fault::new(object, problem).at(path));
        }
        budget
            .take(u64::from(width) * u64::from(height) * 4, &object)
            .map_err(|f| f.at(path))?;
        encoded.push((file, format, object));
    }
    let decoded = parallel::map(options.threads, encoded.len(), |i| {
        let (file, format, object) = &encoded[i];
        decode(&file.bytes, *format)
            .map(|(width, height, rgba)| Image {
                name: file.name.clone(),
                width,
                height,
                rgba,
            })
            .map_err(|e| Fault::new(object.as_str(), e).at(path))
    });
    decoded.into_iter().collect()
}

struct Encoded<'a> {
    name: String,
    bytes: Cow<'a, [u8]>,
}

fn fetch<'a>(
    path: &Path,
    source: &'a Source<'_>,
    index: usize,
    budget: &mut Budget,
) -> Result<Encoded<'a>, SceneError> {
    let object = format!("images[{index}]");
    let bad = |problem: &str| Fault::new(object.as_str(), problem).at(path);
    let image = source.root.images.get(index).ok_or_else(|| bad("does not exist"))?;
    let name = image.name.clone().filter(|n| !n.is_empty());
    if let Some(view) = image.buffer_view {
        let (bytes, _) = source.view(view.value()).map_err(|f| f.at(path))?;
        let name = name.unwrap_or_else(|| format!("bufferViews[{}]", view.value()));
        return Ok(Encoded {
            name,
            bytes: Cow::Borrowed(bytes),
        });
    }
    let uri = image
        .uri
        .as_deref()
        .ok_or_else(|| bad("has neither a URI nor a buffer view"))?;
    match resolve(uri, &object, budget).map_err(|f| f.at(path))? {
        Target::Data(data) => Ok(Encoded {
            name: name.unwrap_or_else(|| "data URI".into()),
            bytes: Cow::Owned(data),
        }),
        Target::File(file) => {
            let bytes = read_file(&beside(path, &file), budget.left())?;
            // The encoded bytes are gone once the image is decoded, but not before: they count too.
            budget.take(bytes.len() as u64, &object).map_err(|f| f.at(path))?;
            Ok(Encoded {
                name: name.unwrap_or_else(|| file.display().to_string()),
                bytes: Cow::Owned(bytes),
            })
        }
    }
}

fn format_of(bytes: &[u8]) -> Option<ImageFormat> {
    match bytes {
        [0x89, b'P', b'N', b'G', ..] => Some(ImageFormat::Png),
        [0xff, 0xd8, 0xff, ..] => Some(ImageFormat::Jpeg),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some(ImageFormat::WebP),
        _ => None,
    }
}

fn size(bytes: &[u8], format: ImageFormat) -> Result<(u32, u32), String> {
    let broken = |e: ::image::ImageError| format!("cannot be decoded: {e}");
    match format {
        ImageFormat::Png => {
            // The IHDR chunk stands at a fixed place.
            let word = |at: usize| {
                bytes
                    .get(at..at + 4)
                    .and_then(|b| b.try_into().ok())
                    .map(u32::from_be_bytes)
            };
            word(16)
                .zip(word(20))
                .ok_or_else(|| "cannot be decoded: the PNG header is cut off".into())
        }
        _ => ::image::ImageReader::with_format(Cursor::new(bytes), format)
            .into_dimensions()
            .map_err(broken),
    }
}

type Pixels = (u32, u32, Vec<u8>);

fn decode(bytes: &[u8], format: ImageFormat) -> Result<Pixels, String> {
    if format == ImageFormat::Png {
        return decode_png(bytes).map_err(|e| format!("cannot be decoded: {e}"));
    }
    let broken = |e: ::image::ImageError| format!("cannot be decoded: {e}");
    let mut reader = ::image::ImageReader::with_format(Cursor::new(bytes), format);
    // The size was checked and booked by the caller; this bounds what the decoder takes beside it.
    let mut limits = ::image::Limits::default();
    limits.max_alloc = Some(2 << 30);
    reader.limits(limits);
    let decoder = reader.into_decoder().map_err(broken)?;
    let (width, height) = decoder.dimensions();
    let image = ::image::DynamicImage::from_decoder(decoder).map_err(broken)?;
    Ok((width, height, image.into_rgba8().into_raw()))
}

fn decode_png(bytes: &[u8]) -> Result<Pixels, png::DecodingError> {
    let mut decoder = png::Decoder::new_with_limits(Cursor::new(bytes), png::Limits { bytes: 1 << 30 });
    decoder.set_transformations(png::Transformations::EXPAND | png::Transformations::STRIP_16);
    // Colour chunks are not heeded: glTF says what a texture's colours mean.
    decoder.set_ignore_text_chunk(true);
    decoder.set_ignore_iccp_chunk(true);
    let mut reader = decoder.read_info()?;
    let (width, height) = (reader.info().width, reader.info().height);
    let (color, _) = reader.output_color_type();
    let samples = color.samples();
    let line = width as usize * samples;
    let mut rgba = Vec::with_capacity(width as usize * height as usize * 4);
    if color == png::ColorType::Rgba {
        rgba.resize(line * height as usize, 0);
        reader.next_frame(&mut rgba)?;
        return Ok((width, height, rgba));
    }
    let mut pixels = vec![0; line * height as usize];
    reader.next_frame(&mut pixels)?;
    match samples {
        1 => rgba.extend(pixels.iter().flat_map(|&v| [v, v, v, 255])),
        2 => rgba.extend(pixels.chunks_exact(2).flat_map(|p| [p[0], p[0], p[0], p[1]])),
        _ => rgba.extend(pixels.chunks_exact(3).flat_map(|p| [p[0], p[1], p[2], 255])),
    }
    Ok((width, height, rgba))
}
