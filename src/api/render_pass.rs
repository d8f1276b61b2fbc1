//! Render passes: state and draws. Every call is checked when it is made.

use super::attachment::{Attachments, Color, RenderPassDescriptor};
use super::bind_group::{BindGroup, Bound};
use super::buffer::Buffer;
use super::encoder::{CommandEncoder, EncodeError};
use super::label::Label;
use super::layout::BindingType;
use super::pipeline::RenderPipeline;
use super::query::{ActiveQueries, QuerySet};
use super::record::{
    BindingRecord, BufferRange, Command, DrawKind, DrawNumbers, DrawRecord, PassRecord, StateRecord, ViewportSlot,
    index_bytes,
};
use super::texture::TextureView;
use super::usage::BufferUsages;
use quadrille_raster::format::TextureFormat;
use quadrille_raster::pipeline::IndexFormat;
use std::ops::Range;

/// Records draws into its encoder, until it is ended or dropped.
///
/// A call that returns an error has changed nothing: the pass goes on as if it had not been made.
#[derive(Debug)]
pub struct RenderPass<'e> {
    encoder: &'e mut CommandEncoder,
    pub(super) record: PassRecord,
    pipeline: Option<RenderPipeline>,
    groups: Vec<Option<(BindGroup, Vec<u32>)>>,
    vertex_buffers: Vec<Option<BufferRange>>,
    index_buffer: Option<(BufferRange, IndexFormat)>,
    state: StateRecord,
    /// Zeros where nothing was set.
    immediates: Vec<u8>,
    pub(super) occlusion_query_set: Option<QuerySet>,
    /// Queries that are going on.
    pub(super) active: ActiveQueries,
    /// What changed since the last draw.
    stale: Stale,
}

#[derive(Clone, Copy, Debug)]
struct Stale {
    pipeline: bool,
    groups: bool,
    vertex_buffers: bool,
    index_buffer: bool,
    state: bool,
}

const ALL_STALE: Stale = Stale {
    pipeline: true,
    groups: true,
    vertex_buffers: true,
    index_buffer: true,
    state: true,
};

impl<'e> RenderPass<'e> {
    pub(super) fn begin(
        encoder: &'e mut CommandEncoder,
        d: &RenderPassDescriptor<'_>,
    ) -> Result<RenderPass<'e>, EncodeError> {
        let label = Label::new(d.label);
        let record = Attachments { encoder, label: &label }.check(d)?;
        let (width, height) = record.size;
        let immediates = vec![0; encoder.device.limits.max_immediate_size as usize];
        Ok(RenderPass {
            encoder,
            record,
            immediates,
            occlusion_query_set: d.occlusion_query_set.cloned(),
            active: ActiveQueries::default(),
            pipeline: None,
            groups: Vec::new(),
            vertex_buffers: Vec::new(),
            index_buffer: None,
            state: StateRecord {
                viewport: [0.0, 0.0, width as f32, height as f32, 0.0, 1.0],
                scissor: [0, 0, width, height],
                blend_constant: Color::TRANSPARENT,
                stencil_reference: 0,
                slots: 0,
            },
            stale: ALL_STALE,
        })
    }

    pub(super) fn wrong(&self, what: impl Into<String>) -> EncodeError {
        EncodeError::Pass {
            label: self.record.label.clone(),
            what: what.into(),
        }
    }

    pub(super) fn own(&self, device: u64, kind: &str, label: &Label) -> Result<(), EncodeError> {
        if device == self.encoder.device.id {
            return Ok(());
        }
        Err(self.wrong(format!("{kind} {label} belongs to another device")))
    }

    /// Sets the pipeline. Its targets must be of the attachments' formats.
    pub fn set_pipeline(&mut self, pipeline: &RenderPipeline) -> Result<(), EncodeError> {
        if self.pipeline.as_ref().is_some_and(|p| p.is(pipeline)) {
            return Ok(());
        }
        self.own(pipeline.device_id(), "pipeline", pipeline.label())?;
        self.check_targets(pipeline)
            .map_err(|what| self.wrong(format!("pipeline {}: {what}", pipeline.label())))?;
        self.pipeline = Some(pipeline.clone());
        self.stale.pipeline = true;
        self.stale.groups = true;
        Ok(())
    }

    fn check_targets(&self, pipeline: &RenderPipeline) -> Result<(), String> {
        let p = pipeline.raster();
        let formats = |list: &[Option<quadrille_raster::format::TextureFormat>]| {
            // Trailing gaps make no difference.
            let used = list.iter().rposition(Option::is_some).map_or(0, |i| i + 1);
            list.iter().take(used).copied().collect::<Vec<_>>()
        };
        let targets: Vec<_> = p.targets.iter().map(|t| t.map(|t| t.format)).collect();
        let attached: Vec<_> = self
            .record
            .colors
            .iter()
            .map(|c| c.as_ref().map(|c| c.view.format()))
            .collect();
        let (targets, attached) = (formats(&targets), formats(&attached));
        if targets != attached {
            let name = |list: &[Option<quadrille_raster::format::TextureFormat>]| {
                let names: Vec<_> = list.iter().map(|f| f.map_or("none", |f| f.name())).collect();
                format!("[{}]", names.join(", "))
            };
            return Err(format!(
                "its targets are {}, but the pass' attachments are {}",
                name(&targets),
                name(&attached)
            ));
        }
        let attached = self.record.depth_stencil.as_ref();
        let wanted = p.depth_stencil.map(|d| d.format);
        let format = attached.map(|d| d.view.format());
        if wanted != format {
            let name = |f: Option<quadrille_raster::format::TextureFormat>| f.map_or("none", |f| f.name());
            return Err(format!(
                "its depth-stencil format is {}, but the pass has {}",
                name(wanted),
                name(format)
            ));
        }
        if p.multisample.count != self.record.samples {
            return Err(format!(
                "it has {} samples a pixel, but the pass has {}",
                p.multisample.count, self.record.samples
            ));
        }
        if let (Some(state), Some(attached)) = (&p.depth_stencil, attached) {
            if attached.depth.is_none() && state.format.info().depth && state.depth_write_enabled {
                return Err("it writes depth, which is read-only in the pass".into());
            }
            if attached.stencil.is_none() && state.uses_stencil() && state.stencil_write_mask & 255 != 0 {
                return Err("it writes stencil, which is read-only in the pass".into());
            }
        }
        Ok(())
    }

    /// Sets a bind group, with one offset for every dynamic buffer of its layout, by binding.
    pub fn set_bind_group(&mut self, index: u32, group: &BindGroup, offsets: &[u32]) -> Result<(), EncodeError> {
        let place = index as usize;
        if let Some(Some((old, old_offsets))) = self.groups.get(place)
            && old.is(group)
            && old_offsets == offsets
        {
            return Ok(());
        }
        let most = self.encoder.device.limits.max_bind_groups;
        if index >= most {
            return Err(self.wrong(format!("bind group {index}; groups are below {most}")));
        }
        self.own(group.device_id(), "bind group", group.label())?;
        self.check_offsets(group, offsets)
            .map_err(|what| self.wrong(format!("bind group {}: {what}", group.label())))?;
        self.check_attachments(group)?;
        if self.groups.len() <= place {
            self.groups.resize(place + 1, None);
        }
        if let Some(entry) = self.groups.get_mut(place) {
            *entry = Some((group.clone(), offsets.to_vec()));
        }
        self.stale.groups = true;
        Ok(())
    }

    fn check_offsets(&self, group: &BindGroup, offsets: &[u32]) -> Result<(), String> {
        let limits = &self.encoder.device.limits;
        if group.dynamic().len() != offsets.len() {
            return Err(format!(
                "{} dynamic offsets are given, but its layout has {} dynamic buffers",
                offsets.len(),
                group.dynamic().len()
            ));
        }
        for (&place, &added) in group.dynamic().iter().zip(offsets) {
            let entry = group.layout().entries().get(place);
            let Some((Bound::Buffer { buffer, offset, size }, entry)) = group.resources().get(place).zip(entry) else {
                continue;
            };
            let uniform = matches!(
                entry.ty,
                BindingType::Buffer {
                    ty: super::layout::BufferBindingType::Uniform,
                    ..
                }
            );
            let align = if uniform {
                limits.min_uniform_buffer_offset_alignment
            } else {
                limits.min_storage_buffer_offset_alignment
            };
            if !added.is_multiple_of(align) {
                return Err(format!(
                    "binding {}: the dynamic offset {added} is not a multiple of {align}",
                    entry.binding
                ));
            }
            let end = offset.saturating_add(u64::from(added)).saturating_add(*size);
            if end > buffer.size() {
                return Err(format!(
                    "binding {}: with the dynamic offset {added} it reaches byte {end}, but buffer {} has {}",
                    entry.binding,
                    buffer.label(),
                    buffer.size()
                ));
            }
        }
        Ok(())
    }

    /// A texture can't be sampled and rendered to in one pass.
    fn check_attachments(&self, group: &BindGroup) -> Result<(), EncodeError> {
        let overlap = |a: &TextureView, b: &TextureView| {
            let meet = |(p, n): (u32, u32), (q, m): (u32, u32)| p < q.saturating_add(m) && q < p.saturating_add(n);
            a.texture().id() == b.texture().id()
                && meet(a.raster().levels(), b.raster().levels())
                && meet(a.raster().layers(), b.raster().layers())
        };
        // Depth and stencil are apart: the one may be read while the other is written (R-OM-24).
        let written = |bound: &TextureView| {
            let stencil = bound.format().aspect_format(bound.raster().aspect()) == Some(TextureFormat::Stencil8);
            let depth_stencil = self.record.depth_stencil.iter().filter(move |d| match stencil {
                true => d.stencil.is_some(),
                false => d.depth.is_some(),
            });
            let resolved = self.record.depth_stencil_resolve.iter().map(|r| &r.0);
            let colors = self.record.colors.iter().flatten();
            colors
                .flat_map(|c| std::iter::once(&c.view).chain(&c.resolve_target))
                .chain(depth_stencil.map(|d| &d.view))
                .chain(resolved)
        };
        for bound in group.resources() {
            if let Bound::Texture(view, _) | Bound::Storage(view, _) = bound
                && written(view).any(|attached| overlap(view, attached))
            {
                return Err(self.wrong(format!(
                    "texture {} is an attachment of the pass and bound by group {}; it can't be both at once",
                    view.label(),
                    group.label()
                )));
            }
        }
        Ok(())
    }

    /// Sets a vertex buffer: from `offset` to its end.
    pub fn set_vertex_buffer(&mut self, slot: u32, buffer: &Buffer, offset: u64) -> Result<(), EncodeError> {
        let place = slot as usize;
        let range = BufferRange {
            buffer: buffer.clone(),
            offset,
            size: buffer.size().saturating_sub(offset),
        };
        if let Some(Some(old)) = self.vertex_buffers.get(place)
            && old.is(&range)
        {
            return Ok(());
        }
        let most = self.encoder.device.limits.max_vertex_buffers;
        if slot >= most {
            return Err(self.wrong(format!("vertex buffer slot {slot}; slots are below {most}")));
        }
        self.own(buffer.device_id(), "buffer", buffer.label())?;
        buffer.require(BufferUsages::VERTEX, "use as a vertex buffer")?;
        buffer.range("a vertex buffer", offset, 0)?;
        if self.vertex_buffers.len() <= place {
            self.vertex_buffers.resize(place + 1, None);
        }
        if let Some(entry) = self.vertex_buffers.get_mut(place) {
            *entry = Some(range);
        }
        self.stale.vertex_buffers = true;
        Ok(())
    }

    /// Sets the index buffer: from `offset`, a multiple of the index' size, to its end.
    pub fn set_index_buffer(&mut self, buffer: &Buffer, format: IndexFormat, offset: u64) -> Result<(), EncodeError> {
        let range = BufferRange {
            buffer: buffer.clone(),
            offset,
            size: buffer.size().saturating_sub(offset),
        };
        if let Some((old, old_format)) = &self.index_buffer
            && old.is(&range)
            && *old_format == format
        {
            return Ok(());
        }
        self.own(buffer.device_id(), "buffer", buffer.label())?;
        buffer.require(BufferUsages::INDEX, "use as the index buffer")?;
        buffer.range("the index buffer", offset, 0)?;
        if !offset.is_multiple_of(index_bytes(format)) {
            return Err(self.wrong(format!(
                "the index buffer's offset {offset} is not a multiple of {}",
                index_bytes(format)
            )));
        }
        self.index_buffer = Some((range, format));
        self.stale.index_buffer = true;
        Ok(())
    }

    /// Sets the viewport, in pixels from the top left corner.
    pub fn set_viewport(
        &mut self,
        x: f32,
        y: f32,
        width: f32,
        height: f32,
        min_depth: f32,
        max_depth: f32,
    ) -> Result<(), EncodeError> {
        let viewport = [x, y, width, height, min_depth, max_depth];
        self.check_viewport(viewport)?;
        self.state.viewport = viewport;
        self.stale.state = true;
        Ok(())
    }

    fn check_viewport(&self, [x, y, width, height, min_depth, max_depth]: [f32; 6]) -> Result<(), EncodeError> {
        // R-WGSL-21. Comparisons are written so that NaN fails them.
        let most = self.encoder.device.limits.max_texture_dimension_2d as f32 * 2.0;
        let side = |from: f32, length: f32| from >= -most && length >= 0.0 && from + length < most;
        if !(side(x, width) && side(y, height)) {
            return Err(self.wrong(format!(
                "the viewport {x}, {y}, {width} x {height} reaches beyond -{most}..{most}"
            )));
        }
        if !(0.0 <= min_depth && min_depth <= max_depth && max_depth <= 1.0) {
            return Err(self.wrong(format!(
                "the viewport's depth range {min_depth} to {max_depth}; 0 <= min <= max <= 1 is needed"
            )));
        }
        Ok(())
    }

    /// Sets viewports and scissors of slots 1, 2, ..., up to 15, for vertex shaders that choose one (R-RAST-22); slot 0 is what
    /// [`set_viewport`](Self::set_viewport) and [`set_scissor_rect`](Self::set_scissor_rect) say. WebGPU has one only.
    pub fn set_viewport_slots(&mut self, slots: &[ViewportSlot]) -> Result<(), EncodeError> {
        if slots.len() > 15 {
            return Err(self.wrong(format!("{} viewports besides the first; at most 15", slots.len())));
        }
        for slot in slots {
            self.check_viewport(slot.viewport)?;
            self.check_scissor(slot.scissor)?;
        }
        self.record.viewport_slots.push(slots.to_vec());
        self.state.slots = self.record.viewport_slots.len();
        self.stale.state = true;
        Ok(())
    }

    /// Width and height of the attachments.
    pub fn size(&self) -> (u32, u32) {
        self.record.size
    }

    /// Limits drawing to a rectangle inside the attachments.
    pub fn set_scissor_rect(&mut self, x: u32, y: u32, width: u32, height: u32) -> Result<(), EncodeError> {
        self.check_scissor([x, y, width, height])?;
        self.state.scissor = [x, y, width, height];
        self.stale.state = true;
        Ok(())
    }

    fn check_scissor(&self, [x, y, width, height]: [u32; 4]) -> Result<(), EncodeError> {
        let (w, h) = self.record.size;
        if u64::from(x) + u64::from(width) > w.into() || u64::from(y) + u64::from(height) > h.into() {
            return Err(self.wrong(format!(
                "the scissor rectangle {x}, {y}, {width} x {height} is not inside the {w} x {h} attachments"
            )));
        }
        Ok(())
    }

    /// Sets the constant of the blend factors `Constant` and `OneMinusConstant`.
    pub fn set_blend_constant(&mut self, color: Color) {
        self.stale.state |= self.state.blend_constant != color;
        self.state.blend_constant = color;
    }

    /// Sets bytes of the shaders' immediates (push constants), from byte `offset` on; what was never set is zero.
    pub fn set_immediates(&mut self, offset: u32, data: &[u8]) -> Result<(), EncodeError> {
        let most = self.immediates.len();
        let end = (offset as usize).saturating_add(data.len());
        if !offset.is_multiple_of(4) || !data.len().is_multiple_of(4) {
            return Err(self.wrong(format!(
                "{} bytes of immediates at {offset}; both are multiples of 4",
                data.len()
            )));
        }
        match self.immediates.get_mut(offset as usize..end) {
            Some(bytes) => bytes.copy_from_slice(data),
            None => return Err(self.wrong(format!("immediates reach byte {end}, beyond {most}"))),
        }
        self.stale.groups = true;
        Ok(())
    }

    /// Sets what stencil tests compare with, and what `Replace` writes.
    pub fn set_stencil_reference(&mut self, reference: u32) {
        self.stale.state |= self.state.stencil_reference != reference;
        self.state.stencil_reference = reference;
    }

    /// Draws vertices.
    pub fn draw(&mut self, vertices: Range<u32>, instances: Range<u32>) -> Result<(), EncodeError> {
        self.draw_direct(
            false,
            DrawNumbers {
                first: vertices.start,
                count: vertices.end.saturating_sub(vertices.start),
                base_vertex: 0,
                first_instance: instances.start,
                instances: instances.end.saturating_sub(instances.start),
            },
        )
    }

    /// Draws vertices that the index buffer names; `base_vertex` is added to every index.
    ///
    /// An index whose vertex is outside of a vertex buffer reads zeros.
    pub fn draw_indexed(
        &mut self,
        indices: Range<u32>,
        base_vertex: i32,
        instances: Range<u32>,
    ) -> Result<(), EncodeError> {
        self.draw_direct(
            true,
            DrawNumbers {
                first: indices.start,
                count: indices.end.saturating_sub(indices.start),
                base_vertex,
                first_instance: instances.start,
                instances: instances.end.saturating_sub(instances.start),
            },
        )
    }

    /// Draws with numbers from a buffer: vertex count, instance count, first vertex, first instance, each a u32.
    pub fn draw_indirect(&mut self, buffer: &Buffer, offset: u64) -> Result<(), EncodeError> {
        self.draw_indirect_with(false, buffer, offset, 16)
    }

    /// Draws with numbers from a buffer: index count, instance count, first index, base vertex (i32), first instance.
    pub fn draw_indexed_indirect(&mut self, buffer: &Buffer, offset: u64) -> Result<(), EncodeError> {
        self.draw_indirect_with(true, buffer, offset, 20)
    }

    /// Ends the pass.
    pub fn end(self) {}

    fn draw_direct(&mut self, indexed: bool, n: DrawNumbers) -> Result<(), EncodeError> {
        let pipeline = self.ready(indexed)?;
        let index_buffer = self.index_buffer.as_ref().filter(|_| indexed);
        let checked = n.check(pipeline.vertex_buffers(), &self.vertex_buffers, index_buffer);
        checked.map_err(|what| self.bad_draw(what))?;
        self.push(pipeline, indexed, DrawKind::Direct(n));
        Ok(())
    }

    fn draw_indirect_with(
        &mut self,
        indexed: bool,
        buffer: &Buffer,
        offset: u64,
        size: u64,
    ) -> Result<(), EncodeError> {
        let pipeline = self.ready(indexed)?;
        self.own(buffer.device_id(), "buffer", buffer.label())?;
        buffer.require(BufferUsages::INDIRECT, "an indirect draw")?;
        buffer.range("an indirect draw", offset, size)?;
        if !offset.is_multiple_of(4) {
            return Err(self.bad_draw(format!("the offset {offset} of its arguments is not a multiple of 4")));
        }
        let range = BufferRange {
            buffer: buffer.clone(),
            offset,
            size,
        };
        self.push(pipeline, indexed, DrawKind::Indirect(range));
        Ok(())
    }

    fn bad_draw(&self, what: impl Into<String>) -> EncodeError {
        EncodeError::Draw {
            label: self.record.label.clone(),
            draw: self.record.draws.len(),
            pipeline: self
                .pipeline
                .as_ref()
                .map_or_else(Label::default, |p| p.label().clone()),
            what: what.into(),
        }
    }

    /// Checks that all is set that a draw needs.
    fn ready(&self, indexed: bool) -> Result<RenderPipeline, EncodeError> {
        let Some(pipeline) = &self.pipeline else {
            return Err(self.wrong("a draw needs a pipeline; call set_pipeline first"));
        };
        if self.stale.groups {
            self.check_groups(pipeline).map_err(|what| self.bad_draw(what))?;
        }
        for (slot, footprint) in pipeline.vertex_buffers().iter().enumerate() {
            if footprint.last > 0 && !matches!(self.vertex_buffers.get(slot), Some(Some(_))) {
                return Err(self.bad_draw(format!("vertex buffer {slot} is not set")));
            }
        }
        if indexed {
            let Some((_, format)) = &self.index_buffer else {
                return Err(self.bad_draw("the index buffer is not set"));
            };
            let strip = pipeline.raster().primitive.strip_index_format;
            if strip.is_some_and(|s| s != *format) {
                return Err(self.bad_draw("the index format differs from the pipeline's strip index format"));
            }
        }
        Ok(pipeline.clone())
    }

    fn check_groups(&self, pipeline: &RenderPipeline) -> Result<(), String> {
        for (index, layout) in pipeline.groups().iter().enumerate() {
            if layout.entries().is_empty() {
                continue;
            }
            let Some(Some((group, _))) = self.groups.get(index) else {
                return Err(format!("bind group {index} is not set"));
            };
            if !group.layout().goes_with(layout) {
                return Err(format!(
                    "bind group {index} is {}, whose layout {} is not the pipeline's (groups of an automatic layout \
                     go only with that pipeline)",
                    group.label(),
                    group.layout().label()
                ));
            }
        }
        for slot in pipeline.slots().iter().filter(|s| s.min_size > 0) {
            let Some(Some((group, _))) = self.groups.get(slot.group as usize) else {
                continue;
            };
            if let Some(Bound::Buffer { buffer, size, .. }) = group.resources().get(slot.place)
                && *size < slot.min_size
            {
                return Err(format!(
                    "bind group {} has {size} bytes of buffer {}, but the shader needs {}",
                    slot.group,
                    buffer.label(),
                    slot.min_size
                ));
            }
        }
        Ok(())
    }

    fn push(&mut self, pipeline: RenderPipeline, indexed: bool, kind: DrawKind) {
        let r = &mut self.record;
        if self.stale.pipeline {
            r.pipelines.push(pipeline);
        }
        let pipeline = r.pipelines.len() - 1;
        if self.stale.groups {
            let used = r.pipelines.last().map_or(0, |p| p.groups().len());
            r.bindings.push(BindingRecord {
                pipeline,
                groups: self.groups.iter().take(used).cloned().collect(),
                immediates: match r.pipelines.last().and_then(|p| p.immediates()) {
                    Some(_) => self.immediates.clone(),
                    None => Vec::new(),
                },
            });
        }
        if self.stale.vertex_buffers {
            r.vertex_buffers.push(self.vertex_buffers.clone());
        }
        if let (true, Some(index_buffer)) = (self.stale.index_buffer, &self.index_buffer) {
            r.index_buffers.push(index_buffer.clone());
        }
        if self.stale.state {
            r.states.push(self.state);
        }
        let counter = (self.active != ActiveQueries::default()).then(|| {
            if r.counters.last() != Some(&self.active) {
                r.counters.push(self.active);
            }
            r.counters.len() - 1
        });
        r.draws.push(DrawRecord {
            pipeline,
            bindings: r.bindings.len() - 1,
            vertex_buffers: r.vertex_buffers.len() - 1,
            index_buffer: indexed.then(|| r.index_buffers.len() - 1),
            state: r.states.len() - 1,
            counter,
            kind,
        });
        self.stale = Stale {
            pipeline: false,
            groups: false,
            vertex_buffers: false,
            index_buffer: false,
            state: false,
        };
    }
}

impl Drop for RenderPass<'_> {
    fn drop(&mut self) {
        let empty = PassRecord::new(Label::default(), (0, 0), 1);
        let record = std::mem::replace(&mut self.record, empty);
        self.encoder.commands.push(Command::RenderPass(Box::new(record)));
    }
}
