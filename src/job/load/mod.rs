//! Reads a job and every file that it names into memory.
//!
//! ```text
//! DIR or FILE.json ──► Job (model/) ──► shaders   buffers: bytes   images: surfaces   data of draws and writes
//! ```
//!
//! No file outside the job's directory and its sibling `common/` is ever opened, so a job from elsewhere can't pull
//! private files into an image.

mod files;
mod image;
mod texture_file;

pub use image::Image;
pub(super) use image::described_size;

use super::error::JobError;
use super::model::{Data, Job, OneOrMany};
use super::words::LanguageWord;
use crate::files as disk;
use files::Files;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The newest version of the format that this reader knows; it knows all before too.
pub const FORMAT: u32 = 2;
/// A job file larger than this is refused unread.
const MAX_JSON_BYTES: u64 = 256 << 20;

/// What loading may take.
#[derive(Clone, Debug)]
pub struct LoadOptions {
    /// What compiles GLSL and HLSL instead of our own parser: `glslangValidator` or `glslc`.
    pub glslang: Option<PathBuf>,
    /// Largest file of raw data.
    pub max_file_bytes: u64,
    /// Largest side of an image.
    pub max_image_side: u32,
}

impl Default for LoadOptions {
    fn default() -> Self {
        LoadOptions {
            glslang: None,
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
    /// Shaders by name.
    pub shaders: BTreeMap<String, ShaderFile>,
    /// Contents of the buffers, padded to a multiple of 4 bytes.
    pub buffers: BTreeMap<String, Vec<u8>>,
    /// Texels of the textures that have data.
    pub images: BTreeMap<String, Image>,
    /// Bytes of draws' immediates and of writes, by their JSON path.
    pub data: BTreeMap<String, Vec<u8>>,
}

/// A shader.
#[derive(Debug)]
pub struct ShaderFile {
    /// As the job names it; the shader's own name where it is inline.
    pub file: String,
    /// Its language.
    pub language: LanguageWord,
    /// Text, in UTF-8, or words.
    pub bytes: Vec<u8>,
}

/// Version first: what else there is depends on it, so it is read before anything is checked.
#[derive(serde::Deserialize)]
struct Header {
    format: u32,
}

/// Loads a job: `path` is the JSON file, or a directory with `workload.json` or `job.json` in it.
pub fn load(path: &Path, options: &LoadOptions) -> Result<Loaded, JobError> {
    let path = job_file(path);
    let bytes = disk::read_bounded(&path, MAX_JSON_BYTES).map_err(JobError::Job)?;
    let job = parse(&bytes, &path)?;
    load_files(job, path, options)
}

/// Loads the files of a parsed job that stands at `path`.
pub fn load_files(job: Job, path: PathBuf, options: &LoadOptions) -> Result<Loaded, JobError> {
    let files = Files {
        dir: path.parent().unwrap_or(Path::new("")),
        job: &path,
        options,
    };
    if let Some((at, reason)) = job.version_mistake() {
        return Err(files.invalid(at, reason));
    }
    let mut shaders = BTreeMap::new();
    for (name, shader) in job.shaders.iter() {
        let loaded = files.shader(&shader.0, name, &format!("shaders.{name}"))?;
        shaders.insert(name.to_owned(), loaded);
    }
    let mut buffers = BTreeMap::new();
    for (name, buffer) in job.buffers.iter() {
        buffers.insert(name.to_owned(), files.buffer(buffer, &format!("buffers.{name}"))?);
    }
    let mut images = BTreeMap::new();
    for (name, texture) in job.textures.iter() {
        let at = format!("textures.{name}");
        if job.format == 1 && texture.file.as_deref().is_some_and(texture_file::is_texture_file) {
            return Err(files.invalid(&format!("{at}.file"), "a DDS or KTX2 file needs `format` 2"));
        }
        if let Some(image) = files.image(texture, &at)? {
            images.insert(name.to_owned(), image);
        }
    }
    let mut data = BTreeMap::new();
    for (at, parts) in inline_data(&job) {
        let bytes = files.data(parts, &at)?;
        data.insert(at, bytes);
    }
    Ok(Loaded {
        path,
        job,
        shaders,
        buffers,
        images,
        data,
    })
}

/// Data that stands in passes, by its JSON path.
fn inline_data(job: &Job) -> Vec<(String, &OneOrMany<Data>)> {
    let mut all = Vec::new();
    for (i, pass) in job.passes.iter().enumerate() {
        for (j, draw) in pass.draws.iter().flatten().enumerate() {
            if let Some(data) = &draw.immediates {
                all.push((format!("passes[{i}].draws[{j}].immediates"), data));
            }
        }
        if let Some(write) = &pass.write_buffer {
            all.push((format!("passes[{i}].writeBuffer"), &write.data));
        }
        if let Some(write) = &pass.write_texture {
            all.push((format!("passes[{i}].writeTexture"), &write.data));
        }
    }
    all
}

/// The file of a job that is given as a directory or a file.
pub(super) fn job_file(path: &Path) -> PathBuf {
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
        Ok(Header { format: 1..=FORMAT }) => read(),
        Ok(Header { format }) => Err(JobError::Invalid {
            job: path.to_owned(),
            at: "format".into(),
            reason: format!("version {format} is not known; this reader knows 1 and {FORMAT}"),
        }),
        // No JSON at all, or no version. The whole reader knows the place better.
        Err(e) => read().and(Err(wrong(&e, String::new()))),
    }
}
