//! Reads a job and every file that it names into memory.
//!
//! ```text
//! DIR or FILE.json ──► Job (model.rs) ──► shaders: text   buffers: bytes   images: level 0 of every layer
//! ```
//!
//! No file outside the job's directory and its sibling `common/` is ever opened, so a job from elsewhere can't pull
//! private files into an image.

use super::error::JobError;
use super::model::{self, Job};
use crate::files::png::{self, PngError};
use crate::files::{self, FileError};
use crate::{FormatInfo, TextureFormat};
use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

/// The version of the format that this reader knows.
pub const FORMAT: u32 = 1;
/// A job file larger than this is refused unread.
const MAX_JSON_BYTES: u64 = 256 << 20;
/// A shader text larger than this is refused unread.
const MAX_SHADER_BYTES: u64 = 16 << 20;

/// What loading may take.
#[derive(Clone, Copy, Debug)]
pub struct LoadOptions {
    /// Largest file of raw data.
    pub max_file_bytes: u64,
    /// Largest side of an image.
    pub max_image_side: u32,
}

impl Default for LoadOptions {
    fn default() -> Self {
        LoadOptions {
            max_file_bytes: 4 << 30,
            max_image_side: crate::Limits::default().max_texture_dimension_2d,
        }
    }
}

/// A job in memory.
#[derive(Debug)]
pub struct Loaded {
    /// The job file.
    pub path: PathBuf,
    /// What it says.
    pub job: Job,
    /// Shader texts by name.
    pub shaders: BTreeMap<String, ShaderText>,
    /// Contents of the buffers, padded to a multiple of 4 bytes.
    pub buffers: BTreeMap<String, Vec<u8>>,
    /// Images of the textures that have data.
    pub images: BTreeMap<String, Image>,
}

/// A shader file.
#[derive(Debug)]
pub struct ShaderText {
    /// As the job names it.
    pub file: String,
    /// Its content.
    pub text: String,
}

/// Data of a texture: level 0 of every layer, in the texture's own format.
#[derive(Debug)]
pub struct Image {
    /// Texels in a row.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// Tightly packed rows from the top.
    pub layers: Vec<Vec<u8>>,
}

/// Version first: what else there is depends on it, so it is read before anything is checked.
#[derive(serde::Deserialize)]
struct Header {
    format: u32,
}

/// Loads a job: `path` is the JSON file, or a directory with `workload.json` or `job.json` in it.
pub fn load(path: &Path, options: &LoadOptions) -> Result<Loaded, JobError> {
    let path = job_file(path);
    let bytes = files::read_bounded(&path, MAX_JSON_BYTES).map_err(JobError::Job)?;
    let job = parse(&bytes, &path)?;
    let files = Files {
        dir: path.parent().unwrap_or(Path::new("")),
        job: &path,
        options,
    };
    let mut shaders = BTreeMap::new();
    for (name, file) in job.shaders.iter() {
        let at = format!("shaders.{name}");
        let text = files
            .resolve(file, &at)
            .and_then(|p| files::read_text(&p, MAX_SHADER_BYTES).map_err(|e| files.failed(&at, e)))?;
        shaders.insert(
            name.to_owned(),
            ShaderText {
                file: file.clone(),
                text,
            },
        );
    }
    let mut buffers = BTreeMap::new();
    for (name, buffer) in job.buffers.iter() {
        buffers.insert(name.to_owned(), files.buffer(buffer, &format!("buffers.{name}"))?);
    }
    let mut images = BTreeMap::new();
    for (name, texture) in job.textures.iter() {
        if let Some(image) = files.image(texture, &format!("textures.{name}"))? {
            images.insert(name.to_owned(), image);
        }
    }
    Ok(Loaded {
        path,
        job,
        shaders,
        buffers,
        images,
    })
}

fn job_file(path: &Path) -> PathBuf {
    if !path.is_dir() {
        return path.to_owned();
    }
    let (workload, job) = (path.join("workload.json"), path.join("job.json"));
    if !workload.exists() && job.exists() {
        job
    } else {
        workload
    }
}

/// Parses the text of a job; `path` is for the errors.
pub fn parse(bytes: &[u8], path: &Path) -> Result<Job, JobError> {
    let wrong = |e: &serde_json::Error, at: String| {
        let text = e.to_string();
        // The position stands in front already.
        let reason = text.rsplit_once(" at line ").map_or(text.as_str(), |(r, _)| r);
        JobError::Json {
            job: path.to_owned(),
            line: e.line(),
            column: e.column(),
            at,
            reason: reason.to_owned(),
        }
    };
    let read = || {
        let mut reader = serde_json::Deserializer::from_slice(bytes);
        let job = serde_path_to_error::deserialize(&mut reader).map_err(|e| {
            let at = e.path().to_string();
            wrong(e.inner(), at)
        })?;
        reader.end().map_err(|e| wrong(&e, String::new()))?;
        Ok(job)
    };
    match serde_json::from_slice(bytes) {
        Ok(Header { format: FORMAT }) => read(),
        Ok(Header { format }) => Err(JobError::Invalid {
            job: path.to_owned(),
            at: "format".into(),
            reason: format!("version {format} is not known; this reader knows {FORMAT}"),
        }),
        // No JSON at all, or no version. The whole reader knows the place better.
        Err(e) => read().and(Err(wrong(&e, String::new()))),
    }
}

struct Files<'a> {
    dir: &'a Path,
    job: &'a Path,
    options: &'a LoadOptions,
}

impl Files<'_> {
    fn invalid(&self, at: &str, reason: impl Into<String>) -> JobError {
        JobError::Invalid {
            job: self.job.to_owned(),
            at: at.to_owned(),
            reason: reason.into(),
        }
    }

    fn failed(&self, at: &str, source: FileError) -> JobError {
        JobError::File {
            job: self.job.to_owned(),
            at: at.to_owned(),
            source,
        }
    }

    /// The file of that name: below the job's directory, or below its sibling `common`.
    fn resolve(&self, name: &str, at: &str) -> Result<PathBuf, JobError> {
        let inner = name.strip_prefix("../common/").unwrap_or(name);
        let plain = Path::new(inner)
            .components()
            .all(|c| matches!(c, Component::Normal(_) | Component::CurDir));
        if inner.is_empty() || !plain {
            return Err(self.invalid(
                at,
                format!("`{name}` is not a file of the job; paths are relative to it and may start with `../common/`"),
            ));
        }
        Ok(self.dir.join(name))
    }

    fn read(&self, name: &str, at: &str) -> Result<Vec<u8>, JobError> {
        let path = self.resolve(name, at)?;
        files::read_bounded(&path, self.options.max_file_bytes).map_err(|e| self.failed(at, e))
    }

    fn buffer(&self, buffer: &model::Buffer, at: &str) -> Result<Vec<u8>, JobError> {
        let mut bytes = match (&buffer.file, &buffer.f32, &buffer.u32) {
            (Some(file), None, None) => self.read(file, &format!("{at}.file"))?,
            (None, Some(numbers), None) => numbers.iter().flat_map(|x| x.to_le_bytes()).collect(),
            (None, None, Some(numbers)) => numbers.iter().flat_map(|x| x.to_le_bytes()).collect(),
            _ => return Err(self.invalid(at, "a buffer has exactly one of `file`, `f32` and `u32`")),
        };
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        Ok(bytes)
    }

    fn image(&self, texture: &model::Texture, at: &str) -> Result<Option<Image>, JobError> {
        let image = match (&texture.png, &texture.file) {
            (None, None) if texture.mipmaps => {
                return Err(self.invalid(at, "`mipmaps` needs data: `png` or `file`"));
            }
            (None, None) => return Ok(None),
            (Some(_), Some(_)) => return Err(self.invalid(at, "`png` and `file` are alternatives")),
            (Some(files), None) => self.pngs(files, texture, at)?,
            (None, Some(file)) => self.raw(file, texture, at)?,
        };
        if texture.sample_count != 1 {
            return Err(self.invalid(at, "a texture with data has one sample a pixel"));
        }
        if texture.layers.is_some_and(|n| n as usize != image.layers.len()) {
            let n = image.layers.len();
            return Err(self.invalid(at, format!("`layers` contradicts the data, which has {n}")));
        }
        if texture.mipmaps && !(image.width.is_power_of_two() && image.height.is_power_of_two()) {
            let (w, h) = (image.width, image.height);
            return Err(self.invalid(at, format!("`mipmaps` needs sizes that are powers of two, not {w}x{h}")));
        }
        Ok(Some(image))
    }

    fn pngs(&self, files: &[String], texture: &model::Texture, at: &str) -> Result<Image, JobError> {
        let keep = match texture.format {
            TextureFormat::R8Unorm => 1,
            TextureFormat::Rg8Unorm => 2,
            TextureFormat::Rgba8Unorm | TextureFormat::Rgba8UnormSrgb => 4,
            other => return Err(self.invalid(at, format!("a PNG can't fill `{}`", other.name()))),
        };
        let mut image: Option<Image> = None;
        for (i, file) in files.iter().enumerate() {
            let at = format!("{at}.png[{i}]");
            let path = self.resolve(file, &at)?;
            let png = png::read(&path, self.options.max_image_side).map_err(|source| match source {
                PngError::File(e) => self.failed(&at, e),
                source => JobError::Image {
                    job: self.job.to_owned(),
                    at: at.clone(),
                    source,
                },
            })?;
            let image = image.get_or_insert(Image {
                width: png.width,
                height: png.height,
                layers: Vec::new(),
            });
            if (image.width, image.height) != (png.width, png.height) {
                let reason = format!(
                    "`{file}` is {}x{}, the first layer {}x{}",
                    png.width, png.height, image.width, image.height
                );
                return Err(self.invalid(&at, reason));
            }
            image.layers.push(match keep {
                4 => png.pixels,
                n => png
                    .pixels
                    .chunks_exact(4)
                    .flat_map(|p| p.iter().take(n).copied())
                    .collect(),
            });
        }
        let image = image.ok_or_else(|| self.invalid(&format!("{at}.png"), "names no file"))?;
        match texture.size {
            Some([w, h]) if (w, h) != (image.width, image.height) => Err(self.invalid(
                &format!("{at}.size"),
                format!("{w}x{h} contradicts the PNG, which is {}x{}", image.width, image.height),
            )),
            _ => Ok(image),
        }
    }

    fn raw(&self, file: &str, texture: &model::Texture, at: &str) -> Result<Image, JobError> {
        let [width, height] = texture.size.ok_or_else(|| self.invalid(at, "raw data needs `size`"))?;
        let info: &FormatInfo = texture.format.info();
        if info.depth || info.stencil {
            return Err(self.invalid(at, format!("`{}` can't carry data", info.name)));
        }
        let side = self.options.max_image_side;
        if width == 0 || height == 0 || width > side || height > side {
            return Err(self.invalid(
                &format!("{at}.size"),
                format!("{width}x{height}; each side is 1 to {side}"),
            ));
        }
        let at = format!("{at}.file");
        let bytes = self.read(file, &at)?;
        // Within 2^14 a side and 2^4 bytes a texel, so it can't overflow 64 bits.
        let [columns, rows] = texture.format.units(width, height);
        let layer = u64::from(columns) * u64::from(rows) * u64::from(info.bytes);
        let whole = usize::try_from(layer)
            .ok()
            .filter(|&n| !bytes.is_empty() && bytes.len().is_multiple_of(n));
        let Some(layer_bytes) = whole else {
            return Err(self.invalid(
                &at,
                format!(
                    "`{file}` has {} bytes, not a multiple of the {layer} that {width}x{height} texels of {} take",
                    bytes.len(),
                    info.name
                ),
            ));
        };
        let layers = bytes.chunks_exact(layer_bytes).map(<[u8]>::to_vec).collect();
        Ok(Image { width, height, layers })
    }
}
