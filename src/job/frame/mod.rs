//! Frames of a prepared job, and its output.
//!
//! ```text
//! passes ─ record.rs, copies.rs ─► steps: command buffers, and writes between them ─► submissions, in order
//! ```

mod copies;
mod record;

use super::error::JobError;
use super::prepare::{OUTPUT_FORMATS, Prepared, Target};
use crate::{
    Buffer, CancelFlag, CommandBuffer, Error, SubmitError, SubmitOptions, SubmitStats, Texture, TextureFormat,
    TextureSurface,
};
use std::time::{Duration, Instant};

/// What a frame cost and did.
#[derive(Clone, Debug)]
pub struct Frame {
    /// Recording: everything before the submission.
    pub record_time: Duration,
    /// What was drawn.
    pub stats: SubmitStats,
}

/// Part of a frame.
#[derive(Debug)]
pub enum Step<'p> {
    /// Commands to submit.
    Commands(CommandBuffer),
    /// Bytes to write to a buffer.
    WriteBuffer {
        /// JSON path of the write.
        at: String,
        /// The buffer.
        buffer: &'p Buffer,
        /// First byte.
        offset: u64,
        /// The bytes.
        data: &'p [u8],
    },
    /// Texels to write to a texture.
    WriteTexture {
        /// JSON path of the write.
        at: String,
        /// The texture.
        texture: &'p Texture,
        /// Where.
        surface: TextureSurface,
        /// Its texels.
        data: &'p [u8],
    },
}

/// The output texture's texels.
#[derive(Clone, Debug)]
pub struct OutputImage {
    /// Texels in a row.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// Format of the texels.
    pub format: TextureFormat,
    /// Rows from the top, tightly packed.
    pub bytes: Vec<u8>,
}

/// A format that has no 8-bit image.
#[derive(Clone, Debug, thiserror::Error)]
#[error("no PNG is made from {0}; the output must be rgba8unorm, rgba8unorm-srgb, rgba16float or rgba32float")]
pub struct NoImage(TextureFormat);

impl OutputImage {
    /// 8-bit formats as stored; floats clamped to 0..1, times 255, rounded, no transfer function.
    pub fn to_rgba8(&self) -> Result<Vec<u8>, NoImage> {
        Ok(match self.format {
            TextureFormat::Rgba8Unorm | TextureFormat::Rgba8UnormSrgb => self.bytes.clone(),
            TextureFormat::Rgba16Float => {
                let (halves, _) = self.bytes.as_chunks::<2>();
                halves
                    .iter()
                    .map(|&b| quantized(half::f16::from_le_bytes(b).to_f32()))
                    .collect()
            }
            TextureFormat::Rgba32Float => {
                let (floats, _) = self.bytes.as_chunks::<4>();
                floats.iter().map(|&b| quantized(f32::from_le_bytes(b))).collect()
            }
            other => return Err(NoImage(other)),
        })
    }
}

/// 0..1 as 8 bits. NaN becomes 0, as `as` converts it.
pub(super) fn quantized(x: f32) -> u8 {
    (x.clamp(0.0, 1.0) * 255.0 + 0.5) as u8
}

impl Prepared<'_> {
    /// Records and executes every pass. A raised flag ends it early with an error.
    pub fn frame(&mut self, cancel: &CancelFlag) -> Result<Frame, JobError> {
        let clock = Instant::now();
        let steps = self.record()?;
        let record_time = clock.elapsed();
        let mut stats = SubmitStats::default();
        let queue = self.device.queue();
        for step in steps {
            match step {
                Step::Commands(commands) => {
                    let options = SubmitOptions {
                        cancel: Some(cancel),
                        ..SubmitOptions::default()
                    };
                    let done = queue.submit_with([commands], options);
                    stats.add(&done.map_err(|e| self.loaded.failed("passes", e))?);
                }
                Step::WriteBuffer {
                    at,
                    buffer,
                    offset,
                    data,
                } => {
                    let written = queue.write_buffer(buffer, offset, data);
                    written.map_err(|e| self.loaded.failed(at, e))?;
                }
                Step::WriteTexture {
                    at,
                    texture,
                    surface,
                    data,
                } => {
                    let written = texture.write_surface(&surface, data);
                    written.map_err(|e| self.loaded.failed(at, e))?;
                }
            }
        }
        Ok(Frame { record_time, stats })
    }

    /// Whether the job names an image, which format 2 needn't.
    pub fn has_output(&self) -> bool {
        self.loaded.job.output.is_some()
    }

    /// The output texture as the last frame left it.
    pub fn read_output(&self) -> Result<OutputImage, JobError> {
        let Some(name) = self.loaded.job.output.as_deref() else {
            let reason = "the job names no texture that is the image";
            return Err(self.loaded.invalid("output", reason));
        };
        let target = self.target(name, "output")?;
        let texture = &target.texture;
        if !OUTPUT_FORMATS.contains(&texture.format()) || texture.sample_count() != 1 {
            let reason = format!(
                "texture `{name}` of {} with {} samples can't be the output",
                texture.format(),
                texture.sample_count()
            );
            return Err(self.loaded.invalid("output", reason));
        }
        Ok(OutputImage {
            width: texture.width(),
            height: texture.height(),
            format: texture.format(),
            bytes: texture.read().map_err(|e| self.loaded.failed("output", e))?,
        })
    }

    pub(super) fn target(&self, name: &str, at: &str) -> Result<&Target, JobError> {
        self.textures
            .get(name)
            .ok_or_else(|| self.loaded.missing(at, "texture", name))
    }

    pub(super) fn buffer(&self, name: &str, at: &str) -> Result<&Buffer, JobError> {
        self.buffers
            .get(name)
            .ok_or_else(|| self.loaded.missing(at, "buffer", name))
    }

    /// Bytes that a pass has inline or from a file.
    fn data(&self, at: &str) -> &[u8] {
        self.loaded.data.get(at).map_or(&[][..], Vec::as_slice)
    }
}

impl Frame {
    /// Whether an error is that the user cancelled.
    pub fn was_cancelled(error: &JobError) -> bool {
        matches!(error, JobError::Object { source, .. } if matches!(**source, Error::Submit(SubmitError::Cancelled)))
    }
}
