//! Records the passes and draws of a job.

use super::Step;
use crate::job::error::JobError;
use crate::job::model::{self, Float, Subresource};
use crate::job::prepare::Prepared;
use crate::job::words::{LoadWord, StoreWord};
use crate::{
    Color, CommandEncoder, CommandEncoderDescriptor, DepthStencilResolve, EncodeError, Error, LoadOp, Operations,
    PassExtent, QuerySet, RenderPass, RenderPassColorAttachment, RenderPassDepthStencilAttachment,
    RenderPassDescriptor, StoreOp, TextureDimension, TextureFormat, TextureView, TextureViewDescriptor,
    TextureViewDimension, ViewportSlot,
};

/// Views of an attachment and of what it is resolved to.
struct Views {
    view: TextureView,
    resolve: Option<TextureView>,
}

/// Queries that the last draw was part of.
#[derive(Default)]
struct Counted<'d> {
    occlusion: Option<u32>,
    statistics: Option<&'d model::Query>,
}

impl Prepared<'_> {
    /// The passes of a frame, as commands and the writes between them.
    pub fn record(&self) -> Result<Vec<Step<'_>>, JobError> {
        let new = || {
            self.device.create_command_encoder(&CommandEncoderDescriptor {
                label: Some(&self.loaded.job.name),
            })
        };
        let mut steps = Vec::new();
        let mut encoder = new();
        for (i, pass) in self.loaded.job.passes.iter().enumerate() {
            let at = format!("passes[{i}]");
            let commands = pass.commands();
            let renders = pass.draws.is_some()
                || !pass.color_attachments.is_empty()
                || pass.depth_stencil_attachment.is_some()
                || pass.without_attachments.is_some();
            if commands.len() + usize::from(renders) != 1 {
                let reason = "a pass has either attachments and draws, or one copy, clear, write or resolve";
                return Err(self.loaded.invalid(at, reason));
            }
            if renders {
                self.record_pass(&mut encoder, pass, &at)?;
            } else if let Some(write) = self.write(pass, &at)? {
                steps.push(Step::Commands(std::mem::replace(&mut encoder, new()).finish()));
                steps.push(write);
            } else {
                self.record_command(&mut encoder, pass, &at)?;
            }
        }
        steps.push(Step::Commands(encoder.finish()));
        Ok(steps)
    }

    /// One level, and one layer or the layers given, as an attachment.
    fn attachment(
        &self,
        s: &Subresource,
        layers: Option<u32>,
        format: Option<TextureFormat>,
        at: &str,
    ) -> Result<TextureView, JobError> {
        let texture = &self.target(&s.texture, &format!("{at}.texture"))?.texture;
        let dimension = match texture.dimension() {
            TextureDimension::D1 => TextureViewDimension::D1,
            TextureDimension::D3 => TextureViewDimension::D3,
            TextureDimension::D2 if layers.is_some_and(|n| n > 1) => TextureViewDimension::D2Array,
            TextureDimension::D2 => TextureViewDimension::D2,
        };
        let view = texture.create_view(&TextureViewDescriptor {
            format,
            dimension: Some(dimension),
            base_mip_level: s.mip_level,
            mip_level_count: Some(1),
            base_array_layer: s.layer,
            array_layer_count: Some(layers.unwrap_or(1)),
            ..TextureViewDescriptor::default()
        });
        view.map_err(|e| self.loaded.failed(at, e))
    }

    fn record_pass(&self, encoder: &mut CommandEncoder, p: &model::Pass, at: &str) -> Result<(), JobError> {
        let mut views = Vec::new();
        for (i, a) in p.color_attachments.iter().enumerate() {
            let Some(a) = a else {
                views.push(None);
                continue;
            };
            let at = format!("{at}.colorAttachments[{i}]");
            let part = Subresource {
                texture: a.texture.clone(),
                layer: a.layer,
                mip_level: a.mip_level,
            };
            views.push(Some(Views {
                view: self.attachment(&part, a.layer_count, a.format, &at)?,
                resolve: match &a.resolve_target {
                    Some(r) => Some(self.attachment(&r.0, None, a.format, &format!("{at}.resolveTarget"))?),
                    None => None,
                },
            }));
        }
        let mut colors = Vec::new();
        for (a, views) in p.color_attachments.iter().zip(&views) {
            colors.push(
                a.as_ref()
                    .zip(views.as_ref())
                    .map(|(a, v): (_, &Views)| RenderPassColorAttachment {
                        view: &v.view,
                        depth_slice: a.depth_slice,
                        resolve_target: v.resolve.as_ref(),
                        ops: operations(a.load_op, color(&a.clear_value), a.store_op),
                    }),
            );
        }
        let depth_stencil = match &p.depth_stencil_attachment {
            None => None,
            Some(d) => {
                let at = format!("{at}.depthStencilAttachment");
                let part = Subresource {
                    texture: d.texture.clone(),
                    layer: d.layer,
                    mip_level: d.mip_level,
                };
                let resolve = match &d.resolve_target {
                    Some(r) => Some(self.attachment(&r.0, None, None, &format!("{at}.resolveTarget"))?),
                    None => None,
                };
                Some((d, self.attachment(&part, d.layer_count, None, &at)?, resolve))
            }
        };
        let depth_stencil_attachment = depth_stencil.as_ref().map(|(d, view, _)| {
            let info = view.format().info();
            let depth = || operations(d.depth_load_op, d.depth_clear_value, d.depth_store_op);
            let stencil = || operations(d.stencil_load_op, d.stencil_clear_value, d.stencil_store_op);
            RenderPassDepthStencilAttachment {
                view,
                depth_ops: (info.depth && !d.depth_read_only).then(depth),
                stencil_ops: (info.stencil && !d.stencil_read_only).then(stencil),
            }
        });
        let resolve = depth_stencil.as_ref().and_then(|(d, _, r)| Some((d, r.as_ref()?)));
        let occlusion_query_set = match &p.occlusion_query_set {
            Some(name) => Some(self.query_set(name, &format!("{at}.occlusionQuerySet"))?),
            None => None,
        };
        let label = if p.label.is_empty() { at } else { &p.label };
        let mut pass = encoder
            .begin_render_pass(&RenderPassDescriptor {
                label: Some(label),
                color_attachments: &colors,
                depth_stencil_attachment,
                layered: p.is_layered(),
                occlusion_query_set,
                without_attachments: p.without_attachments.as_ref().map(|e| PassExtent {
                    width: e.size[0].div_ceil(self.scale),
                    height: e.size[1].div_ceil(self.scale),
                }),
                resolve_mode: p.resolve_mode,
                depth_stencil_resolve: resolve.map(|(d, view)| DepthStencilResolve {
                    view,
                    depth: d.depth_resolve_mode,
                    stencil: d.stencil_resolve_mode,
                }),
            })
            .map_err(|e| self.loaded.failed(at, e))?;
        let mut counted = Counted::default();
        for (i, draw) in p.draws.iter().flatten().enumerate() {
            let at = || format!("{at}.draws[{i}]");
            self.record_queries(&mut pass, draw, &mut counted, &at)?;
            self.record_draw(&mut pass, draw, &at)?;
        }
        Ok(())
    }

    /// Ends and begins queries where a draw names others than the one before.
    fn record_queries<'d>(
        &self,
        pass: &mut RenderPass<'_>,
        d: &'d model::Draw,
        counted: &mut Counted<'d>,
        at: &dyn Fn() -> String,
    ) -> Result<(), JobError> {
        let failed = |e: EncodeError| self.loaded.failed(at(), e);
        if counted.occlusion != d.occlusion_query {
            if counted.occlusion.is_some() {
                pass.end_occlusion_query().map_err(failed)?;
            }
            if let Some(index) = d.occlusion_query {
                pass.begin_occlusion_query(index).map_err(failed)?;
            }
            counted.occlusion = d.occlusion_query;
        }
        let statistics = d.statistics_query.as_ref();
        if counted.statistics != statistics {
            if counted.statistics.is_some() {
                pass.end_pipeline_statistics_query().map_err(failed)?;
            }
            if let Some(query) = statistics {
                let set = self.query_set(&query.query_set, &at())?;
                pass.begin_pipeline_statistics_query(set, query.index).map_err(failed)?;
            }
            counted.statistics = statistics;
        }
        Ok(())
    }

    pub(super) fn query_set(&self, name: &str, at: &str) -> Result<&QuerySet, JobError> {
        self.query_sets
            .get(name)
            .ok_or_else(|| self.loaded.missing(at, "query set", name))
    }

    fn record_draw(&self, pass: &mut RenderPass<'_>, d: &model::Draw, at: &dyn Fn() -> String) -> Result<(), JobError> {
        let failed = |e: Error| self.loaded.failed(at(), e);
        let missing = |kind: &str, name: &str| self.loaded.missing(at(), kind, name);
        let pipeline = self
            .pipelines
            .get(d.pipeline.as_str())
            .ok_or_else(|| missing("pipeline", &d.pipeline))?;
        pass.set_pipeline(pipeline).map_err(|e| failed(e.into()))?;
        for (i, set) in (0..).zip(&d.bind_groups) {
            let Some(set) = set else { continue };
            let group = self
                .bind_groups
                .get(set.0.group.as_str())
                .ok_or_else(|| missing("bind group", &set.0.group))?;
            pass.set_bind_group(i, group, &[]).map_err(|e| failed(e.into()))?;
        }
        let buffer = |name: &str| self.buffers.get(name).ok_or_else(|| missing("buffer", name));
        for (i, set) in (0..).zip(&d.vertex_buffers) {
            let Some(set) = set else { continue };
            pass.set_vertex_buffer(i, buffer(&set.0.buffer)?, set.0.offset)
                .map_err(|e| failed(e.into()))?;
        }
        if let Some(index) = &d.index_buffer {
            pass.set_index_buffer(buffer(&index.buffer)?, index.format, index.offset)
                .map_err(|e| failed(e.into()))?;
        }
        if d.immediates.is_some() {
            let at = format!("{}.immediates", at());
            pass.set_immediates(0, self.data(&at))
                .map_err(|e| self.loaded.failed(at, e))?;
        }
        self.set_state(pass, d).map_err(failed)?;
        for i in 0..d.repeat {
            // `check::draws` has seen that none of this overflows.
            let first = d.first_instance + i * d.instance_count;
            let instances = first..first + d.instance_count;
            let drawn = match (&d.indirect, d.index_count, d.vertex_count) {
                (Some(from), ..) => {
                    let arguments = buffer(&from.0.buffer)?;
                    match d.index_buffer {
                        Some(_) => pass.draw_indexed_indirect(arguments, from.0.offset),
                        None => pass.draw_indirect(arguments, from.0.offset),
                    }
                }
                (_, Some(n), _) => pass.draw_indexed(d.first_index..d.first_index + n, d.base_vertex, instances),
                (.., n) => pass.draw(d.first_vertex..d.first_vertex + n.unwrap_or(0), instances),
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
        if !d.more_viewports.is_empty() {
            let (width, height) = pass.size();
            // Without scissors of their own they are whole.
            let whole = [0, 0, width, height];
            let scissors = d.more_scissors.iter().copied().chain(std::iter::repeat(whole));
            let slot = |(&[x, y, w, h, near, far], scissor): (&[f32; 6], _)| ViewportSlot {
                viewport: [x / n, y / n, w / n, h / n, near, far],
                scissor,
            };
            let slots: Vec<_> = d.more_viewports.iter().zip(scissors).map(slot).collect();
            pass.set_viewport_slots(&slots)?;
        }
        pass.set_stencil_reference(d.stencil_reference);
        pass.set_blend_constant(color(&d.blend_constant));
        Ok(())
    }
}

/// A colour; of bits the value of that f32.
fn color(values: &[Float; 4]) -> Color {
    let [r, g, b, a] = values.map(|v| match v {
        Float::Value(v) => v,
        Float::Bits(b) => f32::from_bits(b as u32).into(),
    });
    Color::new(r, g, b, a)
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
