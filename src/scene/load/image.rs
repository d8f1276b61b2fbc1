//! Images: PNG, JPEG or WebP to 8-bit RGBA, KTX2 or DDS as they are; from a buffer view, a data URI or a file beside the model.
//!
//! The format is recognised by its first bytes, not by what the file says about it. Sizes are known from the header and
//! booked before anything is decoded; decoding runs on all threads, one image each. PNG goes through the `png` crate
//! directly, which is leaner than the general decoder. 16-bit samples keep their high byte.

use std::borrow::Cow;
use std::io::Cursor;
use std::path::Path;

use ::image::ImageFormat;

use super::accessor::Source;
use super::container::{Budget, Target, read_file, resolve};
use super::material::Choice;
use super::{LoadOptions, beside};
use crate::files::texture::TextureFile;
use crate::scene::error::Fault;
use crate::scene::model::{Image, Texels};
use crate::scene::{SceneError, parallel};
use crate::{FormatKind, TextureDimension};

/// Decodes the images `used`, in that order. One that can't be read and has a fallback is replaced by it, with a warning.
pub(super) fn load(
    path: &Path,
    source: &Source<'_>,
    used: &[Choice],
    options: &LoadOptions,
    budget: &mut Budget,
    warnings: &mut Vec<String>,
) -> Result<Vec<Image>, SceneError> {
    let mut prepared = Vec::with_capacity(used.len());
    for choice in used {
        let checked = prepare(path, source, choice.image, options, budget);
        if choice.fallback.is_none() {
            prepared.push(Ok(checked?));
        } else {
            prepared.push(checked);
        }
    }
    let decoded = parallel::map(options.threads, prepared.len(), |i| {
        prepared[i].as_ref().ok().map(|image| image.decode(path))
    });
    let mut images = Vec::with_capacity(used.len());
    for ((choice, prepared), decoded) in used.iter().zip(prepared).zip(decoded) {
        let result = match (prepared, decoded) {
            (Err(e), _) => Err(e),
            (Ok(_), Some(decoded)) => decoded,
            // Not reached: what is prepared is decoded.
            (Ok(image), None) => image.decode(path),
        };
        images.push(match (result, choice.fallback) {
            (Ok(image), _) => image,
            (Err(e), None) => return Err(e),
            (Err(e), Some(fallback)) => {
                warnings.push(format!("{e}; images[{fallback}] is shown in its place"));
                prepare(path, source, fallback, options, budget)?.decode(path)?
            }
        });
    }
    Ok(images)
}

/// How an image is encoded.
#[derive(Clone, Copy)]
enum Format {
    /// One of the image crates'.
    Image(ImageFormat),
    /// DDS or KTX2.
    Texture,
}

/// An image whose header was checked, and whose texels are booked.
struct Prepared<'a> {
    file: Encoded<'a>,
    format: Format,
    object: String,
    size: [u32; 2],
    /// What a texture file's texels take at most.
    limit: u64,
}

/// Fetches an image, and checks all that its header says.
fn prepare<'a>(
    path: &Path,
    source: &'a Source<'_>,
    index: usize,
    options: &LoadOptions,
    budget: &mut Budget,
) -> Result<Prepared<'a>, SceneError> {
    let file = fetch(path, source, index, budget)?;
    let object = format!("images[{index}] ({})", file.name);
    let fault = |problem: String| Fault::new(object.as_str(), problem).at(path);
    let format = format_of(&file.bytes).ok_or_else(|| fault("is neither PNG, JPEG, WebP, KTX2 nor DDS".into()))?;
    let ([width, height], bytes) = match format {
        Format::Image(format) => {
            let (width, height) = size(&file.bytes, format).map_err(fault)?;
            // Sides of a hostile file multiply beyond 64 bits; they are checked below.
            let bytes = u64::from(width).saturating_mul(u64::from(height)).saturating_mul(4);
            ([width, height], bytes)
        }
        Format::Texture => {
            let shape = TextureFile::parse_shape(&file.bytes, budget.left())
                .map_err(|e| fault(format!("{e}{}", e.advice())))?;
            if shape.dimension != TextureDimension::D2 || shape.layers != 1 {
                return Err(fault("is no single 2d image; materials show those alone".into()));
            }
            let kind = shape.format.info().kind;
            if matches!(kind, FormatKind::Uint | FormatKind::Sint) {
                return Err(fault(format!(
                    "has the format `{}`, which can't be filtered",
                    shape.format.name()
                )));
            }
            ([shape.width, shape.height], shape.bytes())
        }
    };
    if width == 0 || height == 0 || width.max(height) > options.max_image_size {
        let most = options.max_image_size;
        return Err(fault(format!("is {width} x {height}; sides must be 1 to {most}")));
    }
    budget.take(bytes, &object).map_err(|f| f.at(path))?;
    Ok(Prepared {
        file,
        format,
        object,
        size: [width, height],
        limit: bytes,
    })
}

impl Prepared<'_> {
    fn decode(&self, path: &Path) -> Result<Image, SceneError> {
        let fault = |problem: String| Fault::new(self.object.as_str(), problem).at(path);
        let [width, height] = self.size;
        let texels = match self.format {
            Format::Image(format) => Texels::Rgba8(decode(&self.file.bytes, format, self.size).map_err(fault)?),
            Format::Texture => {
                let file = TextureFile::parse(&self.file.bytes, self.limit);
                Texels::File(file.map_err(|e| fault(format!("{e}{}", e.advice())))?)
            }
        };
        Ok(Image {
            name: self.file.name.clone(),
            width,
            height,
            texels,
        })
    }
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

fn format_of(bytes: &[u8]) -> Option<Format> {
    match bytes {
        [0x89, b'P', b'N', b'G', ..] => Some(Format::Image(ImageFormat::Png)),
        [0xff, 0xd8, 0xff, ..] => Some(Format::Image(ImageFormat::Jpeg)),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some(Format::Image(ImageFormat::WebP)),
        _ => TextureFile::recognizes(bytes).then_some(Format::Texture),
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

/// RGBA of the size that was booked.
fn decode(bytes: &[u8], format: ImageFormat, [width, height]: [u32; 2]) -> Result<Vec<u8>, String> {
    let rgba = if format == ImageFormat::Png {
        decode_png(bytes, [width, height]).map_err(|e| format!("cannot be decoded: {e}"))?
    } else {
        let broken = |e: ::image::ImageError| format!("cannot be decoded: {e}");
        let mut reader = ::image::ImageReader::with_format(Cursor::new(bytes), format);
        // The size was checked and booked by the caller; decoders take about as much again beside it.
        let mut limits = ::image::Limits::default();
        limits.max_image_width = Some(width);
        limits.max_image_height = Some(height);
        limits.max_alloc = Some(u64::from(width) * u64::from(height) * 16 + (1 << 20));
        reader.limits(limits);
        let decoder = reader.into_decoder().map_err(broken)?;
        ::image::DynamicImage::from_decoder(decoder)
            .map_err(broken)?
            .into_rgba8()
            .into_raw()
    };
    if rgba.len() as u64 != u64::from(width) * u64::from(height) * 4 {
        return Err("cannot be decoded: it has another size than its header says".into());
    }
    Ok(rgba)
}

fn decode_png(bytes: &[u8], [width, height]: [u32; 2]) -> Result<Vec<u8>, png::DecodingError> {
    let mut decoder = png::Decoder::new_with_limits(Cursor::new(bytes), png::Limits { bytes: 1 << 30 });
    decoder.set_transformations(png::Transformations::EXPAND | png::Transformations::STRIP_16);
    // Colour chunks are not heeded: glTF says what a texture's colours mean.
    decoder.set_ignore_text_chunk(true);
    decoder.set_ignore_iccp_chunk(true);
    let mut reader = decoder.read_info()?;
    if [reader.info().width, reader.info().height] != [width, height] {
        // Not what was booked; the caller sees it by the length.
        return Ok(Vec::new());
    }
    let (color, _) = reader.output_color_type();
    let samples = color.samples();
    let line = width as usize * samples;
    let mut rgba = Vec::with_capacity(width as usize * height as usize * 4);
    if color == png::ColorType::Rgba {
        rgba.resize(line * height as usize, 0);
        reader.next_frame(&mut rgba)?;
        return Ok(rgba);
    }
    let mut pixels = vec![0; line * height as usize];
    reader.next_frame(&mut pixels)?;
    match samples {
        1 => rgba.extend(pixels.iter().flat_map(|&v| [v, v, v, 255])),
        2 => rgba.extend(pixels.chunks_exact(2).flat_map(|p| [p[0], p[0], p[0], p[1]])),
        _ => rgba.extend(pixels.chunks_exact(3).flat_map(|p| [p[0], p[1], p[2], 255])),
    }
    Ok(rgba)
}
