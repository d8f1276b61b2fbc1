//! Accessors: typed views of buffers, every range checked before a byte is read.
//!
//! The `gltf` crate's own readers slice and may panic on a file that lies, and its JSON validation does not look at byte
//! ranges; so the bytes are read here. Integers become floats by glTF's rules: `max(c / 127, -1)` and the like when
//! `normalized`, else their value (KHR_mesh_quantization).

use std::borrow::Cow;
use std::ops::Range;

use gltf::json;
use json::accessor::{ComponentType, Type};
use json::validation::Checked;

use super::container::Budget;
use crate::scene::error::Fault;

/// The file's JSON with the bytes of its buffers.
pub(super) struct Source<'a> {
    pub root: &'a json::Root,
    /// One per buffer, at least as long as the JSON says; empty for buffers that nothing reachable reads.
    pub buffers: Vec<Cow<'a, [u8]>>,
}

/// An accessor whose description makes sense and whose bytes exist.
struct Layout<'a> {
    count: usize,
    kind: Type,
    component: ComponentType,
    normalized: bool,
    /// Absent: all zeros (a sparse accessor without a buffer view).
    dense: Option<Elements<'a>>,
    sparse: Option<(Vec<u32>, Elements<'a>)>,
}

/// `count` elements of `size` bytes, `stride` bytes apart, all inside `bytes`.
struct Elements<'a> {
    bytes: &'a [u8],
    stride: usize,
    size: usize,
}

impl<'a> Elements<'a> {
    fn new(
        view: (&'a [u8], Option<usize>),
        offset: u64,
        count: usize,
        size: usize,
        object: &str,
    ) -> Result<Self, Fault> {
        let (bytes, stride) = view;
        let stride = stride.unwrap_or(size);
        let fault = |problem: String| Fault::new(object, problem);
        if stride < size {
            return Err(fault(format!(
                "its buffer view's stride of {stride} bytes is less than an element's {size}"
            )));
        }
        let needed = (count as u64)
            .saturating_sub(1)
            .checked_mul(stride as u64)
            .and_then(|n| n.checked_add(size as u64));
        let needed = if count == 0 { Some(0) } else { needed };
        let end = needed.and_then(|n| n.checked_add(offset));
        match end {
            Some(end) if end <= bytes.len() as u64 => Ok(Self {
                bytes: &bytes[offset as usize..end as usize],
                stride,
                size,
            }),
            _ => Err(fault(format!(
                "{count} elements of {size} bytes (stride {stride}, offset {offset}) reach past the end of its buffer view of {} bytes",
                bytes.len()
            ))),
        }
    }

    fn iter(&self) -> impl Iterator<Item = &'a [u8]> {
        let size = self.size;
        // The last chunk may be shorter than the stride, never than an element.
        self.bytes.chunks(self.stride).map(move |chunk| &chunk[..size])
    }
}

impl<'a> Source<'a> {
    /// The bytes of a buffer view and its stride.
    pub fn view(&self, index: usize) -> Result<(&[u8], Option<usize>), Fault> {
        let object = || format!("bufferViews[{index}]");
        let view = self
            .root
            .buffer_views
            .get(index)
            .ok_or_else(|| Fault::new(object(), "does not exist"))?;
        let buffer = view.buffer.value();
        let bytes = self
            .buffers
            .get(buffer)
            .ok_or_else(|| Fault::new(object(), format!("buffers[{buffer}] does not exist")))?;
        let offset = view.byte_offset.unwrap_or_default().0;
        let end = offset
            .checked_add(view.byte_length.0)
            .filter(|&end| end <= bytes.len() as u64)
            .ok_or_else(|| {
                Fault::new(
                    object(),
                    format!(
                        "{} bytes from {offset} reach past the end of buffers[{buffer}] ({} bytes)",
                        view.byte_length.0,
                        bytes.len()
                    ),
                )
            })?;
        let stride = view.byte_stride.map(|s| s.0);
        if stride == Some(0) {
            return Err(Fault::new(object(), "has a byteStride of 0"));
        }
        Ok((&bytes[offset as usize..end as usize], stride))
    }

    fn layout(&self, index: usize) -> Result<(Layout<'_>, String), Fault> {
        let object = format!("accessors[{index}]");
        let fault = |problem: &str| Fault::new(object.as_str(), problem);
        let accessor = self.root.accessors.get(index).ok_or_else(|| fault("does not exist"))?;
        let (Checked::Valid(kind), Checked::Valid(component)) = (&accessor.type_, &accessor.component_type) else {
            return Err(fault("has an unknown type or componentType"));
        };
        let (kind, component) = (*kind, component.0);
        let count = usize::try_from(accessor.count.0)
            .ok()
            .filter(|&n| n <= u32::MAX as usize)
            .ok_or_else(|| fault("has more elements than 32-bit indices can name"))?;
        let size = component.size() * kind.multiplicity();
        let dense = match accessor.buffer_view {
            Some(view) => {
                let offset = accessor.byte_offset.unwrap_or_default().0;
                Some(Elements::new(self.view(view.value())?, offset, count, size, &object)?)
            }
            None => None,
        };
        let sparse = match &accessor.sparse {
            Some(sparse) => Some(self.sparse(sparse, count, size, &object)?),
            None => None,
        };
        let layout = Layout {
            count,
            kind,
            component,
            normalized: accessor.normalized,
            dense,
            sparse,
        };
        Ok((layout, object))
    }

    fn sparse(
        &self,
        sparse: &json::accessor::sparse::Sparse,
        count: usize,
        size: usize,
        object: &str,
    ) -> Result<(Vec<u32>, Elements<'_>), Fault> {
        let fault = |problem: &str| Fault::new(object, problem);
        let Checked::Valid(component) = sparse.indices.component_type else {
            return Err(fault("its sparse indices have an unknown componentType"));
        };
        let n = usize::try_from(sparse.count.0)
            .ok()
            .filter(|&n| n <= count)
            .ok_or_else(|| fault("has more sparse values than elements"))?;
        let view = self.view(sparse.indices.buffer_view.value())?;
        let indices = Elements::new(
            (view.0, None),
            sparse.indices.byte_offset.0,
            n,
            component.0.size(),
            object,
        )?;
        let indices: Vec<u32> = indices.iter().map(|b| read_index(component.0, b)).collect();
        if indices.windows(2).any(|w| w[0] >= w[1]) || indices.last().is_some_and(|&last| last as usize >= count) {
            return Err(fault("its sparse indices do not ascend or reach past its end"));
        }
        let view = self.view(sparse.values.buffer_view.value())?;
        let values = Elements::new((view.0, None), sparse.values.byte_offset.0, n, size, object)?;
        Ok((indices, values))
    }

    /// How many elements an accessor has.
    pub fn count(&self, index: usize) -> usize {
        self.root
            .accessors
            .get(index)
            .map_or(0, |a| usize::try_from(a.count.0).unwrap_or(usize::MAX))
    }

    /// Reads vectors of up to `N` components as floats; what the accessor's type lacks comes from `fill`. `kinds` are the
    /// types that the caller accepts.
    pub fn vectors<const N: usize>(
        &self,
        index: usize,
        kinds: &[Type],
        fill: [f32; N],
        budget: &mut Budget,
    ) -> Result<Vec<[f32; N]>, Fault> {
        let (layout, object) = self.layout(index)?;
        if !kinds.contains(&layout.kind) {
            let wanted: Vec<String> = kinds.iter().map(|k| format!("{k:?}").to_uppercase()).collect();
            let got = format!("{:?}", layout.kind).to_uppercase();
            return Err(Fault::new(
                object,
                format!("is {got} where {} is wanted", wanted.join(" or ")),
            ));
        }
        budget.take((layout.count * N * 4) as u64, &object)?;
        let components = layout.kind.multiplicity().min(N);
        let read = reader(layout.component, layout.normalized);
        let step = layout.component.size();
        let decode = |bytes: &[u8]| {
            let mut v = fill;
            for (v, bytes) in v[..components].iter_mut().zip(bytes.chunks_exact(step)) {
                *v = read(bytes);
            }
            v
        };
        let mut out: Vec<[f32; N]> = match &layout.dense {
            Some(dense) if layout.component == ComponentType::F32 && components == N => dense
                .iter()
                .map(|b| std::array::from_fn(|i| read_f32(&b[i * 4..])))
                .collect(),
            Some(dense) => dense.iter().map(decode).collect(),
            None => {
                let mut zero = fill;
                zero[..components].fill(0.0);
                vec![zero; layout.count]
            }
        };
        if let Some((indices, values)) = &layout.sparse {
            for (&i, bytes) in indices.iter().zip(values.iter()) {
                out[i as usize] = decode(bytes);
            }
        }
        if let Some(i) = out.iter().position(|v| v.iter().any(|c| !c.is_finite())) {
            return Err(Fault::new(object, format!("element {i} is infinite or not a number")));
        }
        Ok(out)
    }

    /// Reads scalars as indices, each below `limit`. The all-ones value (primitive restart) is not allowed by glTF and
    /// falls to the same check.
    pub fn indices(&self, index: usize, limit: usize, budget: &mut Budget) -> Result<Vec<u32>, Fault> {
        let (layout, object) = self.layout(index)?;
        let unsigned = matches!(
            layout.component,
            ComponentType::U8 | ComponentType::U16 | ComponentType::U32
        );
        if layout.kind != Type::Scalar || !unsigned {
            return Err(Fault::new(object, "indices must be unsigned scalars"));
        }
        budget.take(layout.count as u64 * 4, &object)?;
        let mut out: Vec<u32> = match &layout.dense {
            Some(dense) => dense.iter().map(|b| read_index(layout.component, b)).collect(),
            None => vec![0; layout.count],
        };
        if let Some((indices, values)) = &layout.sparse {
            for (&i, bytes) in indices.iter().zip(values.iter()) {
                out[i as usize] = read_index(layout.component, bytes);
            }
        }
        match out.iter().position(|&v| v as usize >= limit) {
            Some(at) => Err(Fault::new(
                object,
                format!(
                    "index {} at position {at} names a vertex past the last of {limit}",
                    out[at]
                ),
            )),
            None => Ok(out),
        }
    }
}

/// The bytes of `range` in a checked slice, little endian.
fn le<const N: usize>(bytes: &[u8], range: Range<usize>) -> [u8; N] {
    bytes.get(range).and_then(|b| b.try_into().ok()).unwrap_or([0; N])
}

fn read_f32(bytes: &[u8]) -> f32 {
    f32::from_le_bytes(le(bytes, 0..4))
}

fn read_index(component: ComponentType, bytes: &[u8]) -> u32 {
    match component {
        ComponentType::U8 => u32::from(u8::from_le_bytes(le(bytes, 0..1))),
        ComponentType::U16 => u32::from(u16::from_le_bytes(le(bytes, 0..2))),
        _ => u32::from_le_bytes(le(bytes, 0..4)),
    }
}

fn reader(component: ComponentType, normalized: bool) -> fn(&[u8]) -> f32 {
    match (component, normalized) {
        (ComponentType::I8, false) => |b| f32::from(i8::from_le_bytes(le(b, 0..1))),
        (ComponentType::I8, true) => |b| (f32::from(i8::from_le_bytes(le(b, 0..1))) / 127.0).max(-1.0),
        (ComponentType::U8, false) => |b| f32::from(u8::from_le_bytes(le(b, 0..1))),
        (ComponentType::U8, true) => |b| f32::from(u8::from_le_bytes(le(b, 0..1))) / 255.0,
        (ComponentType::I16, false) => |b| f32::from(i16::from_le_bytes(le(b, 0..2))),
        (ComponentType::I16, true) => |b| (f32::from(i16::from_le_bytes(le(b, 0..2))) / 32767.0).max(-1.0),
        (ComponentType::U16, false) => |b| f32::from(u16::from_le_bytes(le(b, 0..2))),
        (ComponentType::U16, true) => |b| f32::from(u16::from_le_bytes(le(b, 0..2))) / 65535.0,
        (ComponentType::U32, _) => |b| u32::from_le_bytes(le(b, 0..4)) as f32,
        (ComponentType::F32, _) => read_f32,
    }
}
