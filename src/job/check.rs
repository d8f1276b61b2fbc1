//! Checks that only a job file allows, since all of its data is known: numbers of the draws, and in format 1 every index.
//!
//! WebGPU lets an index reach outside of the vertex buffers (it reads zeros then, R-WGSL-73); format 1 calls that a mistake,
//! format 2 shows it.

use super::error::JobError;
use super::load::Loaded;
use super::model::{self, Draw};
use crate::{IndexFormat, VertexStepMode};
use std::collections::BTreeMap;

/// Checks all draws of all passes.
pub(super) fn draws(loaded: &Loaded) -> Result<(), JobError> {
    let mut ranges = Ranges::default();
    for (i, pass) in loaded.job.passes.iter().enumerate() {
        for (j, draw) in pass.draws.iter().flatten().enumerate() {
            let at = || format!("passes[{i}].draws[{j}]");
            numbers(draw).map_err(|reason| loaded.invalid(at(), reason))?;
            if loaded.job.format == 1 {
                indices(loaded, draw, &mut ranges).map_err(|reason| loaded.invalid(at(), reason))?;
            }
        }
    }
    Ok(())
}

/// Counts must not overflow 32 bits.
fn numbers(d: &Draw) -> Result<(), String> {
    match (d.index_count, d.vertex_count, &d.indirect, &d.index_buffer) {
        (Some(_), None, None, Some(_)) | (None, Some(_), None, _) | (None, None, Some(_), _) => {}
        (Some(_), None, None, None) => return Err("`indexCount` needs `indexBuffer`".into()),
        _ => return Err("a draw has exactly one of `indexCount`, `vertexCount` and `indirect`".into()),
    }
    let end = |first: u32, count: u32| first.checked_add(count);
    let instances = d
        .instance_count
        .checked_mul(d.repeat)
        .and_then(|all| end(d.first_instance, all));
    let vertices =
        end(d.first_index, d.index_count.unwrap_or(0)).and_then(|_| end(d.first_vertex, d.vertex_count.unwrap_or(0)));
    if instances.is_none() || vertices.is_none() {
        return Err("its vertices, indices or instances reach beyond 2^32".into());
    }
    Ok(())
}

/// Least and greatest index of a part of a buffer, since many draws share one.
#[derive(Default)]
struct Ranges<'j>(BTreeMap<IndexRange<'j>, Option<(u32, u32)>>);

/// Buffer, whether indices have 32 bits, first index, number of indices, index that restarts a strip.
type IndexRange<'j> = (&'j str, bool, u32, u32, Option<u32>);

fn indices<'j>(loaded: &'j Loaded, d: &'j Draw, ranges: &mut Ranges<'j>) -> Result<(), String> {
    let (Some(count), Some(index_buffer)) = (d.index_count, &d.index_buffer) else {
        return Ok(());
    };
    // Names that don't exist are reported where they are used.
    let (Some(bytes), Some(pipeline)) = (
        loaded.buffers.get(&index_buffer.buffer),
        loaded.job.pipelines.get(&d.pipeline),
    ) else {
        return Ok(());
    };
    let wide = index_buffer.format == IndexFormat::Uint32;
    let size = if wide { 4 } else { 2 };
    let available = bytes.len() as u64 / size;
    let end = u64::from(d.first_index) + u64::from(count);
    if end > available {
        return Err(format!(
            "it reaches index {end}, but buffer `{}` has {available}",
            index_buffer.buffer
        ));
    }
    let restart = pipeline
        .primitive
        .strip_index_format
        .map(|_| if wide { u32::MAX } else { u32::from(u16::MAX) });
    let key = (index_buffer.buffer.as_str(), wide, d.first_index, count, restart);
    let range = *ranges.0.entry(key).or_insert_with(|| {
        let first = d.first_index as usize * size as usize;
        let part = bytes
            .get(first..first + count as usize * size as usize)
            .unwrap_or_default();
        span(part, wide, restart)
    });
    let Some((least, greatest)) = range else { return Ok(()) };
    let (least, greatest) = (
        i64::from(least) + i64::from(d.base_vertex),
        i64::from(greatest) + i64::from(d.base_vertex),
    );
    if least < 0 {
        return Err(format!("an index with its base vertex is {least}, below 0"));
    }
    for (slot, layout) in pipeline.vertex.buffers.iter().enumerate() {
        if layout.step_mode != VertexStepMode::Vertex {
            continue;
        }
        let Some(Some(set)) = d.vertex_buffers.get(slot) else {
            continue;
        };
        let name = &set.0.buffer;
        let Some(bytes) = loaded.buffers.get(name) else {
            continue;
        };
        let vertices = vertex_count((bytes.len() as u64).saturating_sub(set.0.offset), layout);
        if greatest as u64 >= vertices {
            return Err(format!(
                "an index names vertex {greatest}, but buffer `{name}` has {vertices} vertices"
            ));
        }
    }
    Ok(())
}

/// Least and greatest of the indices, without those that restart a strip.
fn span(bytes: &[u8], wide: bool, restart: Option<u32>) -> Option<(u32, u32)> {
    let fold = |range: Option<(u32, u32)>, i: u32| {
        let (least, greatest) = range.unwrap_or((i, i));
        Some((least.min(i), greatest.max(i)))
    };
    if wide {
        let (indices, _) = bytes.as_chunks::<4>();
        let indices = indices.iter().map(|&b| u32::from_le_bytes(b));
        indices.filter(|&i| Some(i) != restart).fold(None, fold)
    } else {
        let (indices, _) = bytes.as_chunks::<2>();
        let indices = indices.iter().map(|&b| u32::from(u16::from_le_bytes(b)));
        indices.filter(|&i| Some(i) != restart).fold(None, fold)
    }
}

/// Vertices that are whole in a buffer of that size.
fn vertex_count(size: u64, layout: &model::VertexBuffer) -> u64 {
    let last = layout
        .attributes
        .iter()
        .map(|a| a.offset.saturating_add(u64::from(a.format.size())))
        .max()
        .unwrap_or(0);
    if layout.array_stride == 0 || last > size {
        return if last > size { 0 } else { u64::MAX };
    }
    (size - last) / layout.array_stride + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_skip_what_restarts_a_strip() {
        let wide: Vec<u8> = [5u32, u32::MAX, 2, 9].iter().flat_map(|i| i.to_le_bytes()).collect();
        assert_eq!(span(&wide, true, Some(u32::MAX)), Some((2, 9)));
        assert_eq!(span(&wide, true, None), Some((2, u32::MAX)));
        let narrow: Vec<u8> = [5u16, 2, 65535].iter().flat_map(|i| i.to_le_bytes()).collect();
        assert_eq!(span(&narrow, false, Some(65535)), Some((2, 5)));
        assert_eq!(span(&[], false, None), None);
    }
}
