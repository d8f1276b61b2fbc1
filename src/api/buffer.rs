//! Buffers: bytes that shaders, draws and copies read and write.

use super::device::{Device, Shared};
use super::label::Label;
use super::usage::BufferUsages;
use quadrille_raster::texture::memory::Reservation;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// Describes a buffer of zeros.
#[derive(Clone, Copy, Debug, Default)]
pub struct BufferDescriptor<'a> {
    /// For errors.
    pub label: Option<&'a str>,
    /// Bytes.
    pub size: u64,
    /// What it may be used for.
    pub usage: BufferUsages,
}

/// Describes a buffer with contents.
#[derive(Clone, Copy, Debug, Default)]
pub struct BufferInitDescriptor<'a> {
    /// For errors.
    pub label: Option<&'a str>,
    /// The bytes; padded with zeros to a multiple of 4.
    pub contents: &'a [u8],
    /// What it may be used for.
    pub usage: BufferUsages,
}

/// Why an operation on a buffer was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BufferError {
    /// A size above the limit.
    #[error("buffer {label}: {size} bytes, but a buffer has at most {limit}")]
    Size {
        /// The buffer.
        label: Label,
        /// Bytes asked for.
        size: u64,
        /// `maxBufferSize`.
        limit: u64,
    },
    /// No usage at all.
    #[error("buffer {label}: no usage is given; say what it is for, such as BufferUsages::VERTEX")]
    NoUsage {
        /// The buffer.
        label: Label,
    },
    /// An operation that the usages exclude.
    #[error("buffer {label}: {operation} needs usage {needed}, but it was made for {usage}")]
    Usage {
        /// The buffer.
        label: Label,
        /// What was tried.
        operation: &'static str,
        /// The usage that is missing.
        needed: BufferUsages,
        /// The usages that it has.
        usage: BufferUsages,
    },
    /// Bytes outside of the buffer.
    #[error("buffer {label}: {operation} reaches byte {end}, but the buffer has {size}")]
    Range {
        /// The buffer.
        label: Label,
        /// What was tried.
        operation: &'static str,
        /// One past the last byte.
        end: u64,
        /// Bytes of the buffer.
        size: u64,
    },
    /// The memory limit is reached.
    #[error(
        "buffer {label}: {size} bytes don't fit the memory limit, of which {left} are left; raise it or free buffers"
    )]
    OutOfMemory {
        /// The buffer.
        label: Label,
        /// Bytes asked for.
        size: u64,
        /// Bytes left.
        left: u64,
    },
}

/// Bytes that shaders, draws and copies read and write. Clones are the same buffer.
#[derive(Clone, Debug)]
pub struct Buffer(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    label: Label,
    id: u64,
    device: Arc<Shared>,
    size: u64,
    usage: BufferUsages,
    bytes: RwLock<Vec<u8>>,
    /// How often it was written from outside of submissions.
    host_writes: AtomicU64,
    _memory: Reservation,
}

impl Device {
    /// Makes a buffer of zeros.
    pub fn create_buffer(&self, descriptor: &BufferDescriptor<'_>) -> Result<Buffer, BufferError> {
        Buffer::new(self.shared(), descriptor, &[])
    }

    /// Makes a buffer with contents.
    pub fn create_buffer_init(&self, descriptor: &BufferInitDescriptor<'_>) -> Result<Buffer, BufferError> {
        let sized = BufferDescriptor {
            label: descriptor.label,
            size: (descriptor.contents.len() as u64).next_multiple_of(4),
            usage: descriptor.usage,
        };
        Buffer::new(self.shared(), &sized, descriptor.contents)
    }
}

impl Buffer {
    fn new(device: &Arc<Shared>, d: &BufferDescriptor<'_>, contents: &[u8]) -> Result<Buffer, BufferError> {
        let label = Label::new(d.label);
        let limit = device.limits.max_buffer_size;
        if d.size > limit {
            return Err(BufferError::Size {
                label,
                size: d.size,
                limit,
            });
        }
        if d.usage.is_empty() {
            return Err(BufferError::NoUsage { label });
        }
        let out_of_memory = || BufferError::OutOfMemory {
            label: label.clone(),
            size: d.size,
            left: device.budget.limit().saturating_sub(device.budget.used()),
        };
        let memory = device.budget.reserve(d.size).map_err(|_| out_of_memory())?;
        let size = usize::try_from(d.size).map_err(|_| out_of_memory())?;
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(size).map_err(|_| out_of_memory())?;
        bytes.extend_from_slice(contents);
        bytes.resize(size, 0);
        Ok(Buffer(Arc::new(Inner {
            label,
            id: device.next_id(),
            device: device.clone(),
            size: d.size,
            usage: d.usage,
            bytes: RwLock::new(bytes),
            host_writes: AtomicU64::new(0),
            _memory: memory,
        })))
    }

    /// Its label.
    pub fn label(&self) -> &Label {
        &self.0.label
    }

    /// Its bytes.
    pub fn size(&self) -> u64 {
        self.0.size
    }

    /// What it may be used for.
    pub fn usage(&self) -> BufferUsages {
        self.0.usage
    }

    /// All bytes, after all work submitted before. Needs `COPY_SRC`.
    pub fn read(&self) -> Result<Vec<u8>, BufferError> {
        self.read_range(0..self.0.size)
    }

    /// Some bytes, after all work submitted before. Needs `COPY_SRC`.
    pub fn read_range(&self, range: Range<u64>) -> Result<Vec<u8>, BufferError> {
        self.require(BufferUsages::COPY_SRC, "reading")?;
        let length = range.end.saturating_sub(range.start);
        let range = self.range("reading", range.start, length)?;
        let _turn = self.0.device.turn.enter();
        // The range was checked against the size, which never changes.
        Ok(self.bytes().get(range).map(<[u8]>::to_vec).unwrap_or_default())
    }

    /// Writes bytes, after all work submitted before. Needs `COPY_DST`.
    pub fn write(&self, offset: u64, data: &[u8]) -> Result<(), BufferError> {
        self.require(BufferUsages::COPY_DST, "writing")?;
        let range = self.range("writing", offset, data.len() as u64)?;
        let _turn = self.0.device.turn.enter();
        self.0.host_writes.fetch_add(1, Ordering::Relaxed);
        if let Some(to) = self.bytes_mut().get_mut(range) {
            to.copy_from_slice(data);
        }
        Ok(())
    }

    /// How often it was written from outside of submissions.
    pub(super) fn host_writes(&self) -> u64 {
        self.0.host_writes.load(Ordering::Relaxed)
    }

    pub(super) fn id(&self) -> u64 {
        self.0.id
    }

    pub(super) fn device_id(&self) -> u64 {
        self.0.device.id
    }

    pub(super) fn bytes(&self) -> RwLockReadGuard<'_, Vec<u8>> {
        // A panic while writing leaves bytes of any value, which is what a buffer holds anyway.
        self.0.bytes.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn bytes_mut(&self) -> RwLockWriteGuard<'_, Vec<u8>> {
        self.0.bytes.write().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn require(&self, needed: BufferUsages, operation: &'static str) -> Result<(), BufferError> {
        if self.0.usage.contains(needed) {
            return Ok(());
        }
        Err(BufferError::Usage {
            label: self.0.label.clone(),
            operation,
            needed,
            usage: self.0.usage,
        })
    }

    /// The bytes from `offset` on, if they are inside.
    pub(super) fn range(&self, operation: &'static str, offset: u64, length: u64) -> Result<Range<usize>, BufferError> {
        let end = offset.saturating_add(length);
        if end > self.0.size {
            return Err(BufferError::Range {
                label: self.0.label.clone(),
                operation,
                end,
                size: self.0.size,
            });
        }
        // A buffer's size fits usize, or it could not have been allocated.
        Ok(offset as usize..end as usize)
    }
}
