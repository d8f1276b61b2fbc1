//! Execution of a recorded render pass: buffers are locked, resources become slot tables, and the rasterizer does the rest.
//!
//! ```text
//! PassRecord ─ lock every buffer once ─ BoundResource tables, vertex buffers, indices ─► raster::pass::execute
//! ```

use super::attachment::{LoadOp, Operations, StoreOp};
use super::bind_group::Bound;
use super::buffer::Buffer;
use super::cancel::CancelFlag;
use super::device::Shared;
use super::label::Label;
use super::pipeline::RenderPipeline;
use super::query;
use super::record::{BindingRecord, BufferRange, DrawKind, DrawNumbers, DrawRecord, PassRecord};
use super::stats::SubmitStats;
use super::submit::SubmitError;
use quadrille_raster::geometry::{Rect, Viewport};
use quadrille_raster::pass::{self, BoundResource, Draw, Indices, Pass, PassError, PassOptions, WritableBytes};
use quadrille_raster::texture::ResolveMode;
use std::collections::BTreeMap;
use std::sync::{RwLockReadGuard, RwLockWriteGuard};

/// Executes a pass.
pub(super) fn run(
    device: &Shared,
    record: &PassRecord,
    cancel: &CancelFlag,
    stats: &mut SubmitStats,
) -> Result<(), SubmitError> {
    let uses = Uses::of(record)?;
    let reading: BTreeMap<u64, RwLockReadGuard<'_, Vec<u8>>> = uses.read().map(|b| (b.id(), b.bytes())).collect();
    let mut writing: BTreeMap<u64, RwLockWriteGuard<'_, Vec<u8>>> =
        uses.written().map(|b| (b.id(), b.bytes_mut())).collect();
    let memory = Memory {
        read: reading.iter().map(|(&id, bytes)| (id, bytes.as_slice())).collect(),
        written: writing
            .iter_mut()
            .map(|(&id, bytes)| (id, WritableBytes::new(bytes)))
            .collect(),
    };
    let tables: Vec<_> = record.bindings.iter().map(|b| memory.table(record, b)).collect();
    let vertex_buffers: Vec<Vec<_>> = record
        .vertex_buffers
        .iter()
        .map(|set| set.iter().map(|r| r.as_ref().map(|r| memory.slice(r))).collect())
        .collect();
    let viewports: Vec<Vec<_>> = record
        .viewport_slots
        .iter()
        .map(|slots| slots.iter().map(|s| (viewport(s.viewport), rect(s.scissor))).collect())
        .collect();
    let first_traced = device.trace.as_ref().map(|log| log.begin(record));
    let mut draws = Vec::with_capacity(record.draws.len());
    for (number, draw) in record.draws.iter().enumerate() {
        let numbers = memory.numbers(record, number, draw)?;
        if numbers.count == 0 || numbers.instances == 0 {
            continue;
        }
        let state = &record.states[draw.state];
        draws.push(Draw {
            pipeline: record.pipelines[draw.pipeline].raster(),
            resources: &tables[draw.bindings],
            vertex_buffers: &vertex_buffers[draw.vertex_buffers],
            indices: draw.index_buffer.map(|i| {
                let (range, format) = &record.index_buffers[i];
                Indices {
                    bytes: memory.slice(range),
                    format: *format,
                }
            }),
            first: numbers.first,
            count: numbers.count,
            base_vertex: numbers.base_vertex,
            first_instance: numbers.first_instance,
            instance_count: numbers.instances,
            viewport: viewport(state.viewport),
            scissor: rect(state.scissor),
            more_viewports: state.slots.checked_sub(1).map_or(&[], |i| &viewports[i]),
            stencil_reference: state.stencil_reference,
            blend_constant: state.blend_constant.to_array().map(|c| c as f32),
            counter: match first_traced {
                Some(first) => Some((first + number) as u32),
                None => draw.counter.map(|c| c as u32),
            },
        });
    }
    let pass = Pass {
        label: record.label.as_str(),
        color: attachments(record),
        depth_stencil: depth_stencil(record),
        draws,
    };
    let options = PassOptions {
        loop_budget: device.loop_budget,
        cancel: Some(cancel.word()),
        traced: device.trace.is_some(),
        bin_budget: device.tuning.bin_budget,
        chunk_primitives: device.tuning.chunk_primitives,
        hierarchical_depth: device.tuning.hierarchical_depth && device.trace.is_none(),
    };
    let done = pass::execute(&device.pool, &device.pass_memory, &pass, &options).map_err(|e| error(record, e))?;
    match (&device.trace, first_traced) {
        (Some(log), Some(first)) => {
            log.counted(first, &done.counters);
            let counted = (first..).zip(&record.draws).filter_map(|(at, draw)| {
                let active = record.counters[draw.counter?];
                Some((active, done.counters.get(at)?))
            });
            query::store(&record.queries, counted);
        }
        _ => query::store(&record.queries, record.counters.iter().copied().zip(&done.counters)),
    }
    stats.add_pass(pass.draws.len() as u64, &done);
    Ok(())
}

fn viewport([x, y, width, height, min_depth, max_depth]: [f32; 6]) -> Viewport {
    Viewport {
        x,
        y,
        width,
        height,
        min_depth,
        max_depth,
    }
}

/// Within the attachments, so within 2^14.
fn rect([left, top, w, h]: [u32; 4]) -> Rect {
    Rect {
        x0: left as i32,
        y0: top as i32,
        x1: (left + w) as i32,
        y1: (top + h) as i32,
    }
}

fn load<V, W>(ops: &Operations<V>, value: impl Fn(&V) -> W) -> pass::LoadOp<W> {
    match &ops.load {
        LoadOp::Clear(v) => pass::LoadOp::Clear(value(v)),
        LoadOp::Load => pass::LoadOp::Load,
    }
}

fn attachments(record: &PassRecord) -> Vec<Option<pass::ColorAttachment>> {
    let one = |c: &super::record::ColorRecord| pass::ColorAttachment {
        view: c.view.raster().clone(),
        slice: c.slice,
        resolve: c.resolve_target.as_ref().map(|r| r.raster().clone()),
        resolve_mode: record.resolve_mode,
        load: load(&c.ops, |c| c.to_array()),
        store: c.ops.store == StoreOp::Store,
    };
    record.colors.iter().map(|c| c.as_ref().map(one)).collect()
}

fn depth_stencil(record: &PassRecord) -> Option<pass::DepthStencilAttachment> {
    let d = record.depth_stencil.as_ref()?;
    let resolve = record.depth_stencil_resolve.as_ref();
    Some(pass::DepthStencilAttachment {
        view: d.view.raster().clone(),
        depth_load: d.depth.as_ref().map_or(pass::LoadOp::Load, |o| load(o, |&v| v)),
        depth_store: d.depth.as_ref().is_some_and(|o| o.store == StoreOp::Store),
        depth_read_only: d.depth.is_none(),
        stencil_load: d.stencil.as_ref().map_or(pass::LoadOp::Load, |o| load(o, |&v| v)),
        stencil_store: d.stencil.as_ref().is_some_and(|o| o.store == StoreOp::Store),
        stencil_read_only: d.stencil.is_none(),
        resolve: resolve.map(|r| r.0.raster().clone()),
        depth_resolve_mode: resolve.map_or(ResolveMode::SampleZero, |r| r.1),
        stencil_resolve_mode: resolve.map_or(ResolveMode::SampleZero, |r| r.2),
    })
}

/// The error in the user's terms.
fn error(record: &PassRecord, e: PassError) -> SubmitError {
    let pass = record.label.clone();
    match e {
        PassError::Cancelled { .. } => SubmitError::Cancelled,
        PassError::LoopBudget {
            pipeline,
            stage,
            place,
            budget,
            ..
        } => SubmitError::LoopBudget {
            pass,
            pipeline: Label::new(Some(&pipeline)),
            stage,
            place,
            budget,
        },
        PassError::Compile { error, .. } => SubmitError::Pass {
            pass,
            what: error.to_string(),
        },
        PassError::Panic { panic, .. } => SubmitError::Internal {
            what: panic.to_string(),
        },
        PassError::Attachments { reason, .. } => SubmitError::Pass { pass, what: reason },
        other => SubmitError::Pass {
            pass,
            what: other.to_string(),
        },
    }
}

/// Which buffers a pass touches, and how.
struct Uses<'r>(BTreeMap<u64, Use<'r>>);

struct Use<'r> {
    buffer: &'r Buffer,
    read: bool,
    written: bool,
}

impl<'r> Uses<'r> {
    fn of(record: &'r PassRecord) -> Result<Uses<'r>, SubmitError> {
        let mut uses = Uses(BTreeMap::new());
        let vertices = record.vertex_buffers.iter().flatten().flatten();
        let indices = record.index_buffers.iter().map(|(range, _)| range);
        let indirect = record.draws.iter().filter_map(|d| match &d.kind {
            DrawKind::Indirect(range) => Some(range),
            DrawKind::Direct(_) => None,
        });
        for range in vertices.chain(indices).chain(indirect) {
            uses.note(&range.buffer, false);
        }
        for binding in &record.bindings {
            for (slot, bound) in bound_slots(record, binding) {
                if let Bound::Buffer { buffer, .. } = bound.0 {
                    uses.note(buffer, slot.writable);
                }
            }
        }
        match uses.0.values().find(|u| u.read && u.written) {
            Some(conflict) => Err(SubmitError::BufferConflict {
                pass: record.label.clone(),
                buffer: conflict.buffer.label().clone(),
            }),
            None => Ok(uses),
        }
    }

    fn note(&mut self, buffer: &'r Buffer, written: bool) {
        let entry = self.0.entry(buffer.id()).or_insert(Use {
            buffer,
            read: false,
            written: false,
        });
        entry.read |= !written;
        entry.written |= written;
    }

    fn read(&self) -> impl Iterator<Item = &'r Buffer> {
        self.0.values().filter(|u| !u.written).map(|u| u.buffer)
    }

    fn written(&self) -> impl Iterator<Item = &'r Buffer> {
        self.0.values().filter(|u| u.written).map(|u| u.buffer)
    }
}

/// What is bound to each slot of a pipeline, with the dynamic offset of buffers.
fn bound_slots<'r>(
    record: &'r PassRecord,
    binding: &'r BindingRecord,
) -> impl Iterator<Item = (&'r super::pipeline::SlotSource, (&'r Bound, u64))> {
    let pipeline: &RenderPipeline = &record.pipelines[binding.pipeline];
    pipeline.slots().iter().filter_map(|slot| {
        let (group, offsets) = binding.groups.get(slot.group as usize)?.as_ref()?;
        let bound = group.resources().get(slot.place)?;
        let dynamic = group.dynamic().iter().position(|&place| place == slot.place);
        let offset = dynamic.and_then(|i| offsets.get(i)).map_or(0, |&o| u64::from(o));
        Some((slot, (bound, offset)))
    })
}

/// The bytes of all buffers of a pass.
struct Memory<'m> {
    read: BTreeMap<u64, &'m [u8]>,
    written: BTreeMap<u64, WritableBytes<'m>>,
}

impl<'m> Memory<'m> {
    /// Ranges were checked when they were recorded; sizes never change.
    fn slice(&self, range: &BufferRange) -> &'m [u8] {
        self.part(&range.buffer, range.offset, range.size)
    }

    fn part(&self, buffer: &Buffer, offset: u64, size: u64) -> &'m [u8] {
        let bytes = self.read.get(&buffer.id()).copied().unwrap_or_default();
        bytes.get(offset as usize..(offset + size) as usize).unwrap_or_default()
    }

    /// The slot table of a pipeline with its bind groups.
    fn table(&self, record: &'m PassRecord, binding: &'m BindingRecord) -> Vec<BoundResource<'m>> {
        let slots = record.pipelines[binding.pipeline].raster().slot_count as usize;
        let mut table: Vec<BoundResource<'m>> = (0..slots).map(|_| BoundResource::None).collect();
        for (slot, (bound, added)) in bound_slots(record, binding) {
            let resource = match bound {
                Bound::Buffer { buffer, offset, size } => match self.written.get(&buffer.id()) {
                    Some(bytes) => BoundResource::Writable(bytes.part(offset + added, *size)),
                    None => BoundResource::Bytes(self.part(buffer, offset + added, *size)),
                },
                Bound::Texture(_, sampled) => BoundResource::Texture(sampled.clone()),
                Bound::Storage(_, stored) => BoundResource::Storage(stored.clone()),
                Bound::Sampler(sampler) => BoundResource::Sampler(sampler.raster().clone()),
            };
            if let Some(entry) = table.get_mut(slot.slot as usize) {
                *entry = resource;
            }
        }
        if let Some(entry) = record.pipelines[binding.pipeline]
            .immediates()
            .and_then(|slot| table.get_mut(slot as usize))
        {
            *entry = BoundResource::Bytes(&binding.immediates);
        }
        table
    }

    /// What a draw draws; for indirect draws read from the buffer and checked.
    fn numbers(&self, record: &PassRecord, number: usize, draw: &DrawRecord) -> Result<DrawNumbers, SubmitError> {
        let range = match &draw.kind {
            DrawKind::Direct(numbers) => return Ok(*numbers),
            DrawKind::Indirect(range) => range,
        };
        let (words, _) = self.slice(range).as_chunks::<4>();
        let word = |i: usize| words.get(i).map_or(0, |&b| u32::from_le_bytes(b));
        let index_buffer = draw.index_buffer.map(|i| &record.index_buffers[i]);
        let indexed = index_buffer.is_some();
        let numbers = DrawNumbers {
            count: word(0),
            instances: word(1),
            first: word(2),
            base_vertex: if indexed { word(3).cast_signed() } else { 0 },
            first_instance: word(if indexed { 4 } else { 3 }),
        };
        let footprints = record.pipelines[draw.pipeline].vertex_buffers();
        let buffers = &record.vertex_buffers[draw.vertex_buffers];
        numbers
            .check(footprints, buffers, index_buffer)
            .map_err(|what| SubmitError::Indirect {
                pass: record.label.clone(),
                draw: number,
                what,
            })?;
        Ok(numbers)
    }
}
