//! The renderer of scenes: a user of the library's public interface like any other.
//!
//! ```text
//! Scene ─► upload: textures, samplers, vertex and index buffers ─┐
//! Scene + View ─► draws: culled, batched by mesh, sorted ────────┼─► pipelines: one per shader variant and state
//! Environment ─► cube, uniforms ─────────────────────────────────┘        │
//!                                                                         ▼
//!                             one pass: opaque, masked, background, blended back to front ─► Image
//! ```
//!
//! Opaque things go roughly front to back; instances of one mesh are one draw. Blended ones are sorted by the distance of
//! their centres, one draw each; double-sided ones are drawn twice, back faces first. Nothing depends on hash order.

mod draws;
mod pipelines;
mod uniforms;
mod upload;

use std::time::{Duration, Instant};

use half::f16;

use super::Environment;
use super::model::Scene;
use super::shader::ToneMap;
use super::view::View;
use crate::{
    BindGroup, BindGroupDescriptor, BindGroupEntry, CancelFlag, Color, CommandBuffer, CommandEncoderDescriptor, Device,
    Error, Extent3d, IndexFormat, LoadOp, Operations, RenderPassColorAttachment, RenderPassDepthStencilAttachment,
    RenderPassDescriptor, StoreOp, SubmitOptions, SubmitStats, Texture, TextureDescriptor, TextureFormat,
    TextureUsages, TextureView, TextureViewDescriptor,
};
use draws::{DrawList, Phase};
use pipelines::Pipelines;

/// What lies behind the model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Background {
    /// The environment, out of focus.
    Environment,
    /// A soft grey gradient.
    Gradient,
    /// A linear colour.
    Color([f32; 3]),
    /// Nothing: the image's alpha says where the model is.
    Transparent,
}

/// What the pixels of the image are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// 8-bit sRGB with alpha.
    Srgb8,
    /// Linear half floats, for EXR.
    Linear16,
}

/// How a scene is rendered.
#[derive(Clone, Copy, Debug)]
pub struct RenderOptions {
    /// Columns.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// Samples a pixel: 1 or 4.
    pub samples: u32,
    /// Factor on light before tone mapping.
    pub exposure: f32,
    /// The tone curve.
    pub tone_map: ToneMap,
    /// What lies behind.
    pub background: Background,
    /// The image's pixels.
    pub output: Output,
}

impl Default for RenderOptions {
    fn default() -> Self {
        Self {
            width: 1280,
            height: 720,
            samples: 4,
            exposure: 1.0,
            tone_map: ToneMap::Neutral,
            background: Background::Gradient,
            output: Output::Srgb8,
        }
    }
}

/// A rendered picture, rows from the top. Alpha is straight, not premultiplied.
#[derive(Clone, Debug, PartialEq)]
pub enum Pixels {
    /// RGBA bytes, sRGB.
    Srgb8(Vec<u8>),
    /// RGBA half floats, linear.
    Linear16(Vec<f16>),
}

/// What preparing cost.
#[derive(Clone, Copy, Debug, Default)]
pub struct PrepareStats {
    /// Textures and buffers.
    pub upload: Duration,
    /// Shaders to machine code, all pipelines.
    pub compile: Duration,
    /// How many pipelines.
    pub pipelines: usize,
    /// Draw calls.
    pub draws: usize,
    /// Mesh instances in view.
    pub instances: usize,
}

/// A scene on a device, seen from one place, ready to be rendered.
#[derive(Debug)]
pub struct PreparedScene {
    device: Device,
    options: RenderOptions,
    geometry: upload::Geometry,
    materials: Vec<upload::MaterialGroups>,
    instances: crate::Buffer,
    draws: DrawList,
    pipelines: Pipelines,
    frame: BindGroup,
    target: Target,
    stats: PrepareStats,
}

#[derive(Debug)]
struct Target {
    /// What is read at the end.
    image: Texture,
    image_view: TextureView,
    /// The multisampled one that is rendered to, if any.
    samples_view: Option<TextureView>,
    depth_view: TextureView,
}

/// Depth format of the pass.
const DEPTH: TextureFormat = TextureFormat::Depth32Float;

impl RenderOptions {
    fn color_format(&self) -> TextureFormat {
        match self.output {
            Output::Srgb8 => TextureFormat::Rgba8UnormSrgb,
            Output::Linear16 => TextureFormat::Rgba16Float,
        }
    }
}

impl PreparedScene {
    /// Uploads the scene and compiles what it needs.
    pub fn new(
        device: &Device,
        scene: &Scene,
        environment: &Environment,
        view: &View,
        options: &RenderOptions,
    ) -> Result<Self, Error> {
        let clock = Instant::now();
        // The target first: a size that is too large should fail before work is done.
        let target = Target::new(device, options)?;
        let draws = DrawList::new(scene, view);
        let variants = pipelines::Variants::new(scene, &draws, options);
        let layouts = pipelines::Layouts::new(device, &variants)?;
        let frame = upload::frame_group(device, &layouts, scene, environment, view, options)?;
        let geometry = upload::Geometry::new(device, scene)?;
        let materials = upload::materials(device, &layouts, scene, &variants)?;
        let instances = upload::instances(device, scene, &draws)?;
        let upload = clock.elapsed();

        let clock = Instant::now();
        let pipelines = Pipelines::compile(device, &layouts, &variants, options)?;
        let stats = PrepareStats {
            upload,
            compile: clock.elapsed(),
            pipelines: pipelines.len(),
            draws: draws.draws.len(),
            instances: draws.instances.len(),
        };
        Ok(Self {
            device: device.clone(),
            options: *options,
            geometry,
            materials,
            instances,
            draws,
            pipelines,
            frame,
            target,
            stats,
        })
    }

    /// What preparing cost.
    pub fn stats(&self) -> PrepareStats {
        self.stats
    }

    /// The pipelines' labels and statistics.
    pub fn pipeline_stats(&self) -> impl Iterator<Item = (String, crate::PipelineStats)> + '_ {
        self.pipelines.stats()
    }

    /// Records the frame.
    pub fn record(&self) -> Result<CommandBuffer, Error> {
        let mut encoder = self
            .device
            .create_command_encoder(&CommandEncoderDescriptor { label: Some("scene") });
        let clear = match self.options.background {
            Background::Color([r, g, b]) => Color::new(f64::from(r), f64::from(g), f64::from(b), 1.0),
            _ => Color::TRANSPARENT,
        };
        let target = &self.target;
        // The samples are of no use once resolved.
        let (view, resolve_target, store) = match &target.samples_view {
            Some(samples) => (samples, Some(&target.image_view), StoreOp::Discard),
            None => (&target.image_view, None, StoreOp::Store),
        };
        let ops = Operations {
            load: LoadOp::Clear(clear),
            store,
        };
        let mut pass = encoder.begin_render_pass(&RenderPassDescriptor {
            label: Some("scene"),
            color_attachments: &[Some(RenderPassColorAttachment {
                view,
                depth_slice: None,
                resolve_target,
                ops,
            })],
            depth_stencil_attachment: Some(RenderPassDepthStencilAttachment {
                view: &target.depth_view,
                depth_ops: Some(Operations {
                    load: LoadOp::Clear(1.0),
                    store: StoreOp::Discard,
                }),
                stencil_ops: None,
            }),
            ..RenderPassDescriptor::default()
        })?;
        pass.set_bind_group(0, &self.frame, &[])?;
        let mut background = self.pipelines.background.as_ref();
        for draw in &self.draws.draws {
            // Behind everything solid, before anything that lets it through.
            if draw.phase == Phase::Blend
                && let Some(pipeline) = background.take()
            {
                pass.set_pipeline(pipeline)?;
                pass.draw(0..3, 0..1)?;
            }
            let Some(part) = self.geometry.parts.get(draw.part) else {
                continue;
            };
            let Some((pipeline, variant)) = self.pipelines.of(draw) else {
                continue;
            };
            pass.set_pipeline(pipeline)?;
            if let Some(group) = self.materials.get(draw.material).and_then(|m| m.group(variant)) {
                pass.set_bind_group(1, group, &[])?;
            }
            pass.set_vertex_buffer(0, &self.geometry.positions, part.positions)?;
            pass.set_vertex_buffer(1, &self.geometry.attributes, part.attributes)?;
            pass.set_vertex_buffer(2, &self.instances, 0)?;
            pass.set_index_buffer(&self.geometry.indices, IndexFormat::Uint32, part.indices)?;
            pass.draw_indexed(0..part.index_count, 0, draw.instances.clone())?;
        }
        if let Some(pipeline) = background {
            pass.set_pipeline(pipeline)?;
            pass.draw(0..3, 0..1)?;
        }
        pass.end();
        Ok(encoder.finish())
    }

    /// Renders, and returns when the picture is done.
    pub fn render(&self, cancel: Option<&CancelFlag>) -> Result<SubmitStats, Error> {
        let commands = self.record()?;
        let options = SubmitOptions {
            cancel,
            ..SubmitOptions::default()
        };
        Ok(self.device.queue().submit_with([commands], options)?)
    }

    /// The picture that was rendered last.
    pub fn pixels(&self) -> Result<Pixels, Error> {
        let mut bytes = self.target.image.read()?;
        let premultiplied = self.options.background == Background::Transparent;
        Ok(match self.options.output {
            Output::Srgb8 => {
                if premultiplied {
                    unpremultiply_srgb(&mut bytes);
                }
                Pixels::Srgb8(bytes)
            }
            Output::Linear16 => {
                let half = |b: &[u8]| f16::from_le_bytes([b[0], b[1]]);
                let mut texels: Vec<f16> = bytes.chunks_exact(2).map(half).collect();
                if premultiplied {
                    for t in texels.chunks_exact_mut(4) {
                        let a = t[3].to_f32();
                        if a > 0.0 && a < 1.0 {
                            t[..3].iter_mut().for_each(|c| *c = f16::from_f32(c.to_f32() / a));
                        }
                    }
                }
                Pixels::Linear16(texels)
            }
        })
    }
}

impl Target {
    fn new(device: &Device, options: &RenderOptions) -> Result<Self, Error> {
        let make = |label, format, sample_count, usage| {
            device.create_texture(&TextureDescriptor {
                label: Some(label),
                size: Extent3d::new_2d(options.width, options.height),
                sample_count,
                format,
                usage,
                ..TextureDescriptor::default()
            })
        };
        let whole = TextureViewDescriptor::default();
        let attached = TextureUsages::RENDER_ATTACHMENT;
        let image = make("image", options.color_format(), 1, attached | TextureUsages::COPY_SRC)?;
        let samples_view = match options.samples {
            1 => None,
            n => Some(make("image samples", options.color_format(), n, attached)?.create_view(&whole)?),
        };
        let depth_view = make("depth", DEPTH, options.samples, attached)?.create_view(&whole)?;
        Ok(Self {
            image_view: image.create_view(&whole)?,
            image,
            samples_view,
            depth_view,
        })
    }
}

/// Divides sRGB-encoded premultiplied colours by alpha, in linear light, where alpha is neither 0 nor 1.
fn unpremultiply_srgb(bytes: &mut [u8]) {
    for texel in bytes.chunks_exact_mut(4) {
        let a = f32::from(texel[3]) / 255.0;
        if texel[3] != 0 && texel[3] != 255 {
            texel[..3]
                .iter_mut()
                .for_each(|c| *c = linear_to_srgb(srgb_to_linear(*c) / a));
        }
    }
}

/// The linear value of an sRGB byte.
pub fn srgb_to_linear(code: u8) -> f32 {
    let v = f32::from(code) / 255.0;
    if v <= 0.04045 {
        v / 12.92
    } else {
        libm::powf((v + 0.055) / 1.055, 2.4)
    }
}

fn linear_to_srgb(linear: f32) -> u8 {
    let v = if linear <= 0.003_130_8 {
        linear * 12.92
    } else {
        1.055 * libm::powf(linear, 1.0 / 2.4) - 0.055
    };
    (v.clamp(0.0, 1.0) * 255.0 + 0.5) as u8
}

/// A bind group of everything in `entries`.
fn group(
    device: &Device,
    label: &str,
    layout: &crate::BindGroupLayout,
    entries: &[BindGroupEntry<'_>],
) -> Result<BindGroup, Error> {
    Ok(device.create_bind_group(&BindGroupDescriptor {
        label: Some(label),
        layout,
        entries,
    })?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn srgb_codes_round_trip() {
        for code in 0..=255 {
            assert_eq!(linear_to_srgb(srgb_to_linear(code)), code);
        }
        let mut texel = [
            linear_to_srgb(0.25),
            0,
            linear_to_srgb(0.5),
            128,
            9,
            9,
            9,
            255,
            7,
            7,
            7,
            0,
        ];
        unpremultiply_srgb(&mut texel);
        // Half covered: twice the light; the opaque and the empty texel stay.
        let doubled = srgb_to_linear(texel[0]);
        assert!((doubled - 0.25 * 255.0 / 128.0).abs() < 0.005, "{doubled}");
        assert_eq!(texel[2], 255);
        assert_eq!(texel[4..], [9, 9, 9, 255, 7, 7, 7, 0]);
    }
}
