//! Frames of a prepared job, and its output.

use super::error::JobError;
use super::model;
use super::prepare::{OUTPUT_FORMATS, Prepared, Target};
use super::words::{LoadWord, StoreWord};
use crate::{
    CancelFlag, Color, CommandBuffer, CommandEncoder, CommandEncoderDescriptor, Error, LoadOp, Operations, RenderPass,
    RenderPassColorAttachment, RenderPassDepthStencilAttachment, RenderPassDescriptor, StoreOp, SubmitError,
    SubmitOptions, SubmitStats, TextureFormat,
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
        // NaN becomes 0, as `as` converts it.
        let quantized = |x: f32| (x.clamp(0.0, 1.0) * 255.0 + 0.5) as u8;
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

impl Prepared<'_> {
    /// Records and executes every pass. A raised flag ends it early with an error.
    pub fn frame(&mut self, cancel: &CancelFlag) -> Result<Frame, JobError> {
        let clock = Instant::now();
        let commands = self.record()?;
        let record_time = clock.elapsed();
        let options = SubmitOptions {
            cancel: Some(cancel),
            ..SubmitOptions::default()
        };
        let stats = self
            .device
            .queue()
            .submit_with([commands], options)
            .map_err(|e| self.loaded.failed("passes", e))?;
        Ok(Frame { record_time, stats })
    }

    /// The passes of a frame as commands.
    pub fn record(&self) -> Result<CommandBuffer, JobError> {
        let mut encoder = self.device.create_command_encoder(&CommandEncoderDescriptor {
            label: Some(&self.loaded.job.name),
        });
        for (i, pass) in self.loaded.job.passes.iter().enumerate() {
            self.record_pass(&mut encoder, pass, &format!("passes[{i}]"))?;
        }
        Ok(encoder.finish())
    }

    /// The output texture as the last frame left it.
    pub fn read_output(&self) -> Result<OutputImage, JobError> {
        let name = self.loaded.job.output.as_str();
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

    fn target(&self, name: &str, at: &str) -> Result<&Target, JobError> {
        self.textures
            .get(name)
            .ok_or_else(|| self.loaded.missing(at, "texture", name))
    }

    fn record_pass(&self, encoder: &mut CommandEncoder, p: &model::Pass, at: &str) -> Result<(), JobError> {
        let mut colors = Vec::new();
        for (i, a) in p.color_attachments.iter().enumerate() {
            let at = format!("{at}.colorAttachments[{i}]");
            let target = self.target(&a.texture, &format!("{at}.texture"))?;
            let view = target.layers.get(a.layer as usize).ok_or_else(|| {
                let reason = format!(
                    "texture `{}` has no layer {} to render to (textures with data have none)",
                    a.texture, a.layer
                );
                self.loaded.invalid(format!("{at}.layer"), reason)
            })?;
            let resolve_target = match &a.resolve_target {
                Some(name) => Some(&self.target(name, &format!("{at}.resolveTarget"))?.view),
                None => None,
            };
            let [r, g, b, alpha] = a.clear_value;
            colors.push(Some(RenderPassColorAttachment {
                view,
                resolve_target,
                ops: operations(a.load_op, Color::new(r, g, b, alpha), a.store_op),
            }));
        }
        let depth_stencil_attachment = match &p.depth_stencil_attachment {
            None => None,
            Some(d) => {
                let target = self.target(&d.texture, &format!("{at}.depthStencilAttachment.texture"))?;
                let info = target.texture.format().info();
                Some(RenderPassDepthStencilAttachment {
                    view: target.layers.first().unwrap_or(&target.view),
                    depth_ops: info
                        .depth
                        .then(|| operations(d.depth_load_op, d.depth_clear_value, d.depth_store_op)),
                    stencil_ops: info
                        .stencil
                        .then(|| operations(d.stencil_load_op, d.stencil_clear_value, d.stencil_store_op)),
                })
            }
        };
        let label = if p.label.is_empty() { at } else { &p.label };
        let mut pass = encoder
            .begin_render_pass(&RenderPassDescriptor {
                label: Some(label),
                color_attachments: &colors,
                depth_stencil_attachment,
                ..RenderPassDescriptor::default()
            })
            .map_err(|e| self.loaded.failed(at, e))?;
        for (i, draw) in p.draws.iter().enumerate() {
            self.record_draw(&mut pass, draw, &|| format!("{at}.draws[{i}]"))?;
        }
        Ok(())
    }

    fn record_draw(&self, pass: &mut RenderPass<'_>, d: &model::Draw, at: &dyn Fn() -> String) -> Result<(), JobError> {
        let failed = |e: Error| self.loaded.failed(at(), e);
        let missing = |kind: &str, name: &str| self.loaded.missing(at(), kind, name);
        let pipeline = self
            .pipelines
            .get(d.pipeline.as_str())
            .ok_or_else(|| missing("pipeline", &d.pipeline))?;
        pass.set_pipeline(pipeline).map_err(|e| failed(e.into()))?;
        for (i, name) in (0..).zip(&d.bind_groups) {
            let group = self
                .bind_groups
                .get(name.as_str())
                .ok_or_else(|| missing("bind group", name))?;
            pass.set_bind_group(i, group, &[]).map_err(|e| failed(e.into()))?;
        }
        let buffer = |name: &str| self.buffers.get(name).ok_or_else(|| missing("buffer", name));
        for (i, name) in (0..).zip(&d.vertex_buffers) {
            pass.set_vertex_buffer(i, buffer(name)?, 0)
                .map_err(|e| failed(e.into()))?;
        }
        if let Some(index) = &d.index_buffer {
            pass.set_index_buffer(buffer(&index.buffer)?, index.format, 0)
                .map_err(|e| failed(e.into()))?;
        }
        self.set_state(pass, d).map_err(failed)?;
        for i in 0..d.repeat {
            // `check::draws` has seen that none of this overflows.
            let first = d.first_instance + i * d.instance_count;
            let instances = first..first + d.instance_count;
            let drawn = match (d.index_count, d.vertex_count) {
                (Some(n), _) => pass.draw_indexed(d.first_index..d.first_index + n, d.base_vertex, instances),
                (None, n) => pass.draw(d.first_vertex..d.first_vertex + n.unwrap_or(0), instances),
            };
            drawn.map_err(|e| failed(e.into()))?;
        }
        Ok(())
    }

    fn set_state(&self, pass: &mut RenderPass<'_>, d: &model::Draw) -> Result<(), Error> {
        let n = self.scale as f32;
        if let Some([x, y, w, h, near, far]) = d.viewport {
            pass.set_viewport(x / n, y / n, w / n, h / n, near, far)?;
        }
        if let Some([x, y, w, h]) = d.scissor {
            let n = self.scale;
            let (x0, y0) = (x / n, y / n);
            // Outer edges are rounded as the targets' sizes are.
            let (x1, y1) = (x.saturating_add(w).div_ceil(n), y.saturating_add(h).div_ceil(n));
            pass.set_scissor_rect(x0, y0, x1 - x0, y1 - y0)?;
        }
        pass.set_stencil_reference(d.stencil_reference);
        let [r, g, b, a] = d.blend_constant;
        pass.set_blend_constant(Color::new(r, g, b, a));
        Ok(())
    }
}

fn operations<V>(load: LoadWord, clear: V, store: StoreWord) -> Operations<V> {
    Operations {
        load: match load {
            LoadWord::Clear => LoadOp::Clear(clear),
            LoadWord::Load => LoadOp::Load,
        },
        store: match store {
            StoreWord::Store => StoreOp::Store,
            StoreWord::Discard => StoreOp::Discard,
        },
    }
}

impl Frame {
    /// Whether an error is that the user cancelled.
    pub fn was_cancelled(error: &JobError) -> bool {
        matches!(error, JobError::Object { source, .. } if matches!(**source, Error::Submit(SubmitError::Cancelled)))
    }
}
