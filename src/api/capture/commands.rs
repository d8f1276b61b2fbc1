//! Commands of a submission as passes of a job.

use super::Recorder;
use super::objects::aspect;
use crate::api::attachment::{Color, LoadOp, Operations, StoreOp};
use crate::api::buffer::Buffer;
use crate::api::query::QueryType;
use crate::api::record::{BufferRange, BufferRows, Command, DrawKind, DrawRecord, PassRecord, TextureRegion};
use crate::api::texture::{Texture, TextureView};
use quadrille_raster::format::TextureFormat;
use quadrille_raster::texture::{ResolveMode, TextureDimension};
use serde_json::{Map, Value, json};

impl Recorder {
    /// Adds a command; an error says what a job can't.
    pub(super) fn command(&mut self, command: &Command) -> Result<(), String> {
        let mut writes = Vec::new();
        let pass = match command {
            Command::RenderPass(pass) => self.render_pass(pass, &mut writes)?,
            Command::CopyBuffer {
                source,
                destination,
                offset,
            } => json!({ "copyBufferToBuffer": {
                "source": { "buffer": self.buffer(&source.buffer, &mut writes), "offset": source.offset },
                "destination": { "buffer": self.buffer(destination, &mut writes), "offset": offset },
                "size": source.size,
            } }),
            Command::ClearBuffer(range) => json!({ "clearBuffer": {
                "buffer": self.buffer(&range.buffer, &mut writes),
                "offset": range.offset,
                "size": range.size,
            } }),
            Command::CopyBufferToTexture { source, destination } => json!({ "copyBufferToTexture": {
                "buffer": self.rows(source, &mut writes)?,
                "texture": self.region(destination, &mut writes)?,
                "size": size(destination),
            } }),
            Command::CopyTextureToBuffer { source, destination } => json!({ "copyTextureToBuffer": {
                "buffer": self.rows(destination, &mut writes)?,
                "texture": self.region(source, &mut writes)?,
                "size": size(source),
            } }),
            Command::ResolveQueries {
                set,
                first,
                count,
                destination,
            } => json!({ "resolveQuerySet": {
                "querySet": self.objects.query_set(set),
                "firstQuery": first,
                "queryCount": count,
                "destination": self.buffer(&destination.buffer, &mut writes),
                "destinationOffset": destination.offset,
            } }),
            Command::CopyTexture { source, destination } => json!({ "copyTextureToTexture": {
                "source": self.region(source, &mut writes)?,
                "destination": self.region(destination, &mut writes)?,
                "size": size(source),
            } }),
        };
        self.passes.append(&mut writes);
        self.passes.push(pass);
        Ok(())
    }

    fn buffer(&mut self, buffer: &Buffer, writes: &mut Vec<Value>) -> String {
        self.objects.buffer(buffer, &mut self.data, writes)
    }

    fn texture(&mut self, texture: &Texture, writes: &mut Vec<Value>) -> Result<String, String> {
        self.objects.texture(texture, &mut self.data, writes)
    }

    fn rows(&mut self, rows: &BufferRows, writes: &mut Vec<Value>) -> Result<Value, String> {
        let too_long = |_| "a copy whose rows are more than 2^32 bytes apart".to_owned();
        Ok(json!({
            "buffer": self.buffer(&rows.buffer, writes),
            "offset": rows.offset,
            "bytesPerRow": u32::try_from(rows.bytes_per_row).map_err(too_long)?,
            "rowsPerImage": u32::try_from(rows.rows_per_image).map_err(too_long)?,
        }))
    }

    fn region(&mut self, region: &TextureRegion, writes: &mut Vec<Value>) -> Result<Value, String> {
        Ok(json!({
            "texture": self.texture(&region.texture, writes)?,
            "mipLevel": region.mip_level,
            "origin": region.origin,
            "aspect": aspect(region.aspect),
        }))
    }

    fn part(&mut self, view: &TextureView, writes: &mut Vec<Value>) -> Result<Value, String> {
        Ok(json!({
            "texture": self.texture(view.texture(), writes)?,
            "layer": view.raster().layers().0,
            "mipLevel": view.raster().levels().0,
        }))
    }

    fn render_pass(&mut self, p: &PassRecord, writes: &mut Vec<Value>) -> Result<Value, String> {
        let mut colors = Vec::new();
        for color in &p.colors {
            let Some(c) = color else {
                colors.push(Value::Null);
                continue;
            };
            let mut a = self.part(&c.view, writes)?;
            a["format"] = c.view.format().name().into();
            if c.view.raster().layers().1 > 1 {
                a["layerCount"] = c.view.raster().layers().1.into();
            }
            if c.view.texture().dimension() == TextureDimension::D3 {
                a["depthSlice"] = c.slice.into();
            }
            let image = match &c.resolve_target {
                Some(target) => {
                    a["resolveTarget"] = self.part(target, writes)?;
                    target
                }
                None => &c.view,
            };
            if colors.is_empty() && makes_image(image) {
                self.output = Some(self.texture(image.texture(), writes)?);
            }
            operations(&mut a, "", &c.ops, |color| clear_value(*color));
            colors.push(a);
        }
        let mut pass = json!({ "colorAttachments": colors, "resolveMode": resolve_mode(p.resolve_mode) });
        if !p.label.as_str().is_empty() {
            pass["label"] = p.label.as_str().into();
        }
        if let Some(d) = &p.depth_stencil {
            let mut a = self.part(&d.view, writes)?;
            if d.view.raster().layers().1 > 1 {
                a["layerCount"] = d.view.raster().layers().1.into();
            }
            match &d.depth {
                Some(ops) => operations(&mut a, "depth", ops, |v| json!(v)),
                None => a["depthReadOnly"] = true.into(),
            }
            match &d.stencil {
                Some(ops) => operations(&mut a, "stencil", ops, |v| json!(v)),
                None => a["stencilReadOnly"] = true.into(),
            }
            if let Some((view, depth, stencil)) = &p.depth_stencil_resolve {
                a["resolveTarget"] = self.part(view, writes)?;
                a["depthResolveMode"] = resolve_mode(*depth).into();
                a["stencilResolveMode"] = resolve_mode(*stencil).into();
            }
            pass["depthStencilAttachment"] = a;
        }
        if p.colors.iter().all(Option::is_none) && p.depth_stencil.is_none() {
            let (width, height) = p.size;
            pass["withoutAttachments"] = json!({ "size": [width, height] });
        }
        self.queries(p, &mut pass)?;
        let mut draws = Vec::with_capacity(p.draws.len());
        for draw in &p.draws {
            draws.push(self.draw(p, draw, writes)?);
        }
        pass["draws"] = draws.into();
        Ok(pass)
    }

    /// Says which set occlusion queries are of. A job names queries by draws, so each must have one.
    fn queries(&mut self, p: &PassRecord, pass: &mut Value) -> Result<(), String> {
        for (place, query) in p.queries.iter().enumerate() {
            if query.set.ty() == QueryType::Occlusion {
                pass["occlusionQuerySet"] = self.objects.query_set(&query.set).into();
            }
            let counted = p.draws.iter().filter_map(|d| d.counter);
            if !counted.into_iter().any(|c| p.counters[c].places().any(|q| q == place)) {
                return Err(format!(
                    "query {} of set {} counts no draw",
                    query.index,
                    query.set.label()
                ));
            }
        }
        Ok(())
    }

    fn range(&mut self, range: &BufferRange, writes: &mut Vec<Value>) -> Value {
        json!({ "buffer": self.buffer(&range.buffer, writes), "offset": range.offset })
    }

    fn draw(&mut self, p: &PassRecord, d: &DrawRecord, writes: &mut Vec<Value>) -> Result<Value, String> {
        let (number, pipeline) = self.objects.pipeline(&p.pipelines[d.pipeline]);
        let binding = &p.bindings[d.bindings];
        let mut groups = Vec::new();
        for (index, group) in (0..).zip(&binding.groups) {
            let used = p.pipelines[d.pipeline].groups().get(index as usize);
            groups.push(match group {
                Some((group, offsets)) if used.is_some_and(|g| !g.entries().is_empty()) => self
                    .objects
                    .group((number, &pipeline), index, (group, offsets), &mut self.data, writes)?
                    .into(),
                _ => Value::Null,
            });
        }
        let mut vertices = Vec::new();
        for range in &p.vertex_buffers[d.vertex_buffers] {
            vertices.push(range.as_ref().map_or(Value::Null, |r| self.range(r, writes)));
        }
        let mut draw = Map::new();
        let mut set = |field: &str, value: Value| draw.insert(field.into(), value);
        set("pipeline", pipeline.into());
        set("bindGroups", groups.into());
        set("vertexBuffers", vertices.into());
        if let Some((range, format)) = d.index_buffer.and_then(|i| p.index_buffers.get(i)) {
            let mut indices = self.range(range, writes);
            indices["format"] = format.name().into();
            set("indexBuffer", indices);
        }
        match &d.kind {
            DrawKind::Direct(n) => {
                let (count, first) = match d.index_buffer {
                    Some(_) => ("indexCount", "firstIndex"),
                    None => ("vertexCount", "firstVertex"),
                };
                set(count, n.count.into());
                set(first, n.first.into());
                set("baseVertex", n.base_vertex.into());
                set("instanceCount", n.instances.into());
                set("firstInstance", n.first_instance.into());
            }
            DrawKind::Indirect(range) => {
                let arguments = self.range(range, writes);
                set("indirect", arguments);
            }
        }
        if let Some(active) = d.counter.map(|c| p.counters[c]) {
            if let Some(query) = active.occlusion.map(|q| &p.queries[q]) {
                set("occlusionQuery", query.index.into());
            }
            if let Some(query) = active.statistics.map(|q| &p.queries[q]) {
                let name = self.objects.query_set(&query.set);
                set("statisticsQuery", json!({ "querySet": name, "index": query.index }));
            }
        }
        let state = &p.states[d.state];
        set("stencilReference", state.stencil_reference.into());
        set("blendConstant", clear_value(state.blend_constant));
        set("viewport", json!(state.viewport));
        set("scissor", json!(state.scissor));
        if let Some(slots) = state.slots.checked_sub(1).and_then(|i| p.viewport_slots.get(i)) {
            set("moreViewports", slots.iter().map(|s| json!(s.viewport)).collect());
            set("moreScissors", slots.iter().map(|s| json!(s.scissor)).collect());
        }
        if !binding.immediates.is_empty() {
            let bytes = self.data.describe(binding.immediates.clone());
            set("immediates", bytes);
        }
        Ok(draw.into())
    }
}

fn size(r: &TextureRegion) -> Value {
    json!([r.size.width, r.size.height, r.size.depth_or_array_layers])
}

/// A colour; JSON has no NaN and no infinities.
fn clear_value(color: Color) -> Value {
    let number = |v: f64| match v {
        v if v.is_nan() => json!("nan"),
        f64::INFINITY => json!("inf"),
        f64::NEG_INFINITY => json!("-inf"),
        v => json!(v),
    };
    color.to_array().into_iter().map(number).collect()
}

/// Load and store operations; `prefix` is "depth", "stencil" or nothing.
fn operations<V>(to: &mut Value, prefix: &str, ops: &Operations<V>, clear: impl Fn(&V) -> Value) {
    let field = |name: &str| match prefix {
        "" => format!("{}{}", name[..1].to_lowercase(), &name[1..]),
        _ => format!("{prefix}{name}"),
    };
    let (load, value) = match &ops.load {
        LoadOp::Clear(value) => ("clear", Some(clear(value))),
        LoadOp::Load => ("load", None),
    };
    to[field("LoadOp")] = load.into();
    if let Some(value) = value {
        to[field("ClearValue")] = value;
    }
    to[field("StoreOp")] = match ops.store {
        StoreOp::Store => "store",
        StoreOp::Discard => "discard",
    }
    .into();
}

fn resolve_mode(mode: ResolveMode) -> &'static str {
    match mode {
        ResolveMode::Average => "average",
        ResolveMode::SampleZero => "sample-zero",
        ResolveMode::Min => "min",
        ResolveMode::Max => "max",
    }
}

/// Whether a job may name it as its output.
fn makes_image(view: &TextureView) -> bool {
    let t = view.texture();
    let formats = [
        TextureFormat::Rgba8Unorm,
        TextureFormat::Rgba8UnormSrgb,
        TextureFormat::Rgba16Float,
        TextureFormat::Rgba32Float,
    ];
    formats.contains(&t.format()) && t.sample_count() == 1 && t.dimension() == TextureDimension::D2
}
