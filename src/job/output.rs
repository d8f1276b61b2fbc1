//! Outputs: surfaces and buffers written to files.
//!
//! | file | texture | buffer |
//! |---|---|---|
//! | `.png` | 8-bit RGBA: 8-bit unorm codes as stored, else values clamped to 0..1, times 255; one component is grey | - |
//! | `.exr` | 32-bit float RGBA as shaders read it | - |
//! | `.npy` | an array [row, column, component] of the codes, or of decoded values where components differ in size | [byte] |
//! | `.bin` | raw rows, tightly packed | raw |

use super::error::JobError;
use super::frame::quantized;
use super::model::Output;
use super::prepare::{Prepared, aspect};
use super::texels::Texels;
use crate::files::{self, FileError};
use crate::{FormatKind, TextureSurface};
use std::io::{self, Write};
use std::path::{Component, Path, PathBuf};

impl Prepared<'_> {
    /// Writes every output of the job into a directory, which is made if it isn't there.
    pub fn write_outputs(&self, directory: &Path) -> Result<Vec<PathBuf>, JobError> {
        let mut written = Vec::new();
        for (i, output) in self.loaded.job.outputs.iter().enumerate() {
            let at = format!("outputs[{i}]");
            let name = Path::new(&output.file);
            let plain = name.components().all(|c| matches!(c, Component::Normal(_)));
            if !plain || name.file_name().is_none() {
                let reason = format!("`{}` is not a file name below the output directory", output.file);
                return Err(self.loaded.invalid(format!("{at}.file"), reason));
            }
            let path = directory.join(name);
            let failed = |source| JobError::Write {
                job: self.loaded.path.clone(),
                at: at.clone(),
                source,
            };
            let extension = name.extension().and_then(|e| e.to_str()).unwrap_or_default();
            let content = self.content(output, extension, &at)?;
            if let Some(parent) = path.parent() {
                std::fs::create_dir_all(parent).map_err(|source| {
                    failed(FileError::Write {
                        path: parent.to_owned(),
                        source,
                    })
                })?;
            }
            files::write_atomically(&path, |out| out.write_all(&content)).map_err(failed)?;
            written.push(path);
        }
        Ok(written)
    }

    /// The bytes of an output's file.
    fn content(&self, o: &Output, extension: &str, at: &str) -> Result<Vec<u8>, JobError> {
        let unfit = |what: &str| {
            let reason = format!("a `.{extension}` file can't hold {what}; `.npy` and `.bin` can");
            self.loaded.invalid(format!("{at}.file"), reason)
        };
        match (&o.texture, &o.buffer) {
            (Some(name), None) => {
                let surface = TextureSurface {
                    aspect: aspect(o.aspect),
                    level: o.mip_level,
                    layer: o.layer,
                    sample: o.sample,
                };
                let texels = self.texels(name, &surface, at)?;
                let integer = texels.format.info().is_integer();
                match extension {
                    "bin" => Ok(texels.bytes),
                    "npy" => Ok(npy_of_texels(&texels)),
                    "png" | "exr" if integer => Err(unfit("integers")),
                    "png" => png(&texels).map_err(|e| self.loaded.invalid(at, e.to_string())),
                    "exr" => exr(&texels).map_err(|e| self.loaded.invalid(at, e.to_string())),
                    _ => Err(unfit("texels")),
                }
            }
            (None, Some(name)) => {
                let buffer = self.buffer(name, at)?;
                let size = o.size.unwrap_or(buffer.size().saturating_sub(o.offset));
                let bytes = buffer
                    .read_range(o.offset..o.offset.saturating_add(size))
                    .map_err(|e| self.loaded.failed(at, e))?;
                match extension {
                    "bin" => Ok(bytes),
                    "npy" => Ok(npy("|u1", &format!("({},)", bytes.len()), &bytes)),
                    _ => Err(unfit("a buffer")),
                }
            }
            _ => Err(self.loaded.invalid(at, "an output is a `texture` or a `buffer`")),
        }
    }
}

fn png(t: &Texels) -> io::Result<Vec<u8>> {
    let info = t.format.info();
    let codes = info.kind == FormatKind::Unorm && t.even_bits() == Some(8);
    let mut rgba = Vec::with_capacity(t.width as usize * t.height as usize * 4);
    for (y, x) in (0..t.height).flat_map(|y| (0..t.width).map(move |x| (y, x))) {
        let mut texel = if codes {
            t.codes(x, y).map(|c| c as u8)
        } else {
            t.floats(x, y).map(quantized)
        };
        let [r, ..] = texel;
        if info.components == 1 {
            texel = [r, r, r, 255];
        } else if info.components < 4 {
            texel[3] = 255;
        }
        rgba.extend(texel);
    }
    let mut out = Vec::new();
    files::png::encode(&mut out, t.width, t.height, &rgba)?;
    Ok(out)
}

fn exr(t: &Texels) -> Result<Vec<u8>, exr::error::Error> {
    use exr::prelude::{SpecificChannels, WritableImage};
    let pixel = |p: exr::math::Vec2<usize>| {
        let [r, g, b, a] = t.floats(p.x() as u32, p.y() as u32);
        (r, g, b, a)
    };
    let size = (t.width as usize, t.height as usize);
    let image = exr::prelude::Image::from_channels(size, SpecificChannels::rgba(pixel));
    let mut out = io::Cursor::new(Vec::new());
    image.write().to_buffered(&mut out)?;
    Ok(out.into_inner())
}

fn npy_of_texels(t: &Texels) -> Vec<u8> {
    let info = t.format.info();
    let components = info.components as usize;
    let mut data = Vec::new();
    let texels = || (0..t.height).flat_map(|y| (0..t.width).map(move |x| (x, y)));
    let even = t.even_bits().filter(|b| matches!(b, 8 | 16 | 32));
    let kind = match (even, info.kind) {
        (Some(8), FormatKind::Unorm | FormatKind::Uint) => "|u1",
        (Some(16), FormatKind::Unorm | FormatKind::Uint) => "<u2",
        (Some(_), FormatKind::Unorm | FormatKind::Uint) => "<u4",
        (Some(8), FormatKind::Snorm | FormatKind::Sint) => "|i1",
        (Some(16), FormatKind::Snorm | FormatKind::Sint) => "<i2",
        (Some(_), FormatKind::Snorm | FormatKind::Sint) => "<i4",
        (Some(16), FormatKind::Float) => "<f2",
        (Some(_), FormatKind::Float) => "<f4",
        (None, FormatKind::Uint) => "<u4",
        (None, FormatKind::Sint) => "<i4",
        (None, _) => "<f4",
    };
    for (x, y) in texels() {
        match even {
            Some(bits) => {
                for code in t.codes(x, y).into_iter().take(components) {
                    data.extend(code.to_le_bytes().into_iter().take(bits as usize / 8));
                }
            }
            None => {
                for word in t.words(x, y).into_iter().take(components) {
                    data.extend(word.to_le_bytes());
                }
            }
        }
    }
    npy(kind, &format!("({}, {}, {components})", t.height, t.width), &data)
}

/// NumPy's array format, version 1.0: a header that is padded to 64 bytes, then the data.
fn npy(kind: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let mut header = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}");
    // Magic, version, length and the newline at the end count too.
    let padded = (10 + header.len() + 1).next_multiple_of(64);
    header.extend(std::iter::repeat_n(' ', padded - 10 - header.len() - 1));
    header.push('\n');
    let mut out = b"\x93NUMPY\x01\x00".to_vec();
    out.extend((header.len() as u16).to_le_bytes());
    out.extend(header.as_bytes());
    out.extend(data);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TextureFormat;

    #[test]
    fn arrays_have_a_padded_header_and_rgba_order() {
        let texels = Texels {
            format: TextureFormat::Bgra8Unorm,
            width: 1,
            height: 1,
            bytes: vec![3, 2, 1, 4],
        };
        let array = npy_of_texels(&texels);
        assert_eq!(&array[..8], b"\x93NUMPY\x01\x00");
        assert_eq!((array.len() - 4) % 64, 0);
        assert!(String::from_utf8_lossy(&array).contains("'descr': '|u1'"));
        assert!(String::from_utf8_lossy(&array).contains("'shape': (1, 1, 4)"));
        assert_eq!(array[array.len() - 4..], [1, 2, 3, 4]);
    }
}
