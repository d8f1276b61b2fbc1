//! Resources as draws bind them: what is safe for callers, turned into the addresses that programs see.

use crate::sampler::{SampledView, Sampler, StorageView};
use quadrille_jit::abi::Binding;
use std::marker::PhantomData;
use std::sync::Arc;

/// Bytes that shaders may write, exclusively borrowed for the pass.
#[derive(Debug)]
pub struct WritableBytes<'a> {
    start: *mut u8,
    size: u64,
    borrow: PhantomData<&'a mut [u8]>,
}

impl<'a> WritableBytes<'a> {
    /// Lends the bytes to a pass.
    pub fn new(bytes: &'a mut [u8]) -> Self {
        WritableBytes {
            start: bytes.as_mut_ptr(),
            size: bytes.len() as u64,
            borrow: PhantomData,
        }
    }

    /// Part of it, for a binding with offset and size; empty where out of range. Bindings of one buffer may overlap:
    /// programs reach them through raw addresses only.
    pub fn part(&self, offset: u64, size: u64) -> WritableBytes<'a> {
        let offset = offset.min(self.size);
        let size = size.min(self.size - offset);
        // `offset` is inside or one past the end of the allocation.
        WritableBytes {
            start: self.start.wrapping_add(offset as usize),
            size,
            borrow: PhantomData,
        }
    }
}

// SAFETY: an exclusive borrow of bytes; programs that write it run one at a time, or use atomic operations only (law N8),
// see `execute`.
unsafe impl Send for WritableBytes<'_> {}
// SAFETY: as above; nothing is written through a shared `WritableBytes` except by programs of the pass.
unsafe impl Sync for WritableBytes<'_> {}

/// What a slot holds.
#[derive(Debug, Default)]
pub enum BoundResource<'a> {
    /// Nothing: loads give 0.
    #[default]
    None,
    /// A uniform or read-only storage buffer.
    Bytes(&'a [u8]),
    /// A writable storage buffer.
    Writable(WritableBytes<'a>),
    /// A sampled texture.
    Texture(Arc<SampledView>),
    /// A texture that shaders store to.
    Storage(Arc<StorageView>),
    /// A sampler.
    Sampler(Arc<Sampler>),
}

impl BoundResource<'_> {
    /// The binding that programs see.
    pub(super) fn binding(&self) -> Binding {
        match self {
            BoundResource::None => Binding::NULL,
            BoundResource::Bytes(bytes) => Binding {
                data: bytes.as_ptr(),
                size: bytes.len() as u64,
                ..Binding::NULL
            },
            BoundResource::Writable(w) => Binding {
                data: w.start,
                size: w.size,
                ..Binding::NULL
            },
            BoundResource::Texture(view) => view.binding(),
            BoundResource::Storage(view) => view.binding(),
            BoundResource::Sampler(sampler) => sampler.binding(),
        }
    }
}
