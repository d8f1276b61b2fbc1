//! Memory for texels: counted against a limit, zeroed, aligned to cache lines, padded for wide loads.

use super::error::TextureError;
use std::alloc::{alloc_zeroed, dealloc};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes after the last texel that may be read: gathers fetch four bytes at any texel's first.
pub const PADDING: usize = 64;
const ALIGN: usize = 64;

/// Counts the bytes of all textures of a device against its memory limit.
#[derive(Debug)]
pub struct MemoryBudget {
    limit: u64,
    used: AtomicU64,
}

impl MemoryBudget {
    /// A budget of `limit` bytes.
    pub fn new(limit: u64) -> Arc<MemoryBudget> {
        Arc::new(MemoryBudget {
            limit,
            used: AtomicU64::new(0),
        })
    }

    /// Bytes in use.
    pub fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    /// The limit.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// Takes `bytes` until the result is dropped.
    pub fn reserve(self: &Arc<Self>, bytes: u64) -> Result<Reservation, TextureError> {
        let take = |used: u64| used.checked_add(bytes).filter(|&u| u <= self.limit);
        match self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take) {
            Ok(_) => Ok(Reservation {
                budget: self.clone(),
                bytes,
            }),
            Err(used) => Err(TextureError::OutOfMemory {
                needed: bytes,
                left: self.limit.saturating_sub(used),
            }),
        }
    }
}

/// A part of a budget, given back on drop.
#[derive(Debug)]
pub struct Reservation {
    budget: Arc<MemoryBudget>,
    bytes: u64,
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.budget.used.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// Zeroed bytes at a fixed address. It hands out only its address: [`super::storage`] decides who may use it when.
#[derive(Debug)]
pub struct TexelMemory {
    start: NonNull<u8>,
    bytes: usize,
    layout: std::alloc::Layout,
    _reservation: Reservation,
}

// SAFETY: the memory is owned like a Box's; access to it goes through pointers whose users keep the borrow rules.
unsafe impl Send for TexelMemory {}
// SAFETY: a shared TexelMemory gives out nothing but an address and a length.
unsafe impl Sync for TexelMemory {}

impl TexelMemory {
    /// Allocates; `bytes` is checked against the budget first.
    pub fn new(bytes: u64, budget: &Arc<MemoryBudget>) -> Result<TexelMemory, TextureError> {
        let padded = bytes.saturating_add(PADDING as u64);
        let reservation = budget.reserve(padded)?;
        let refused = || TextureError::OutOfMemory {
            needed: padded,
            left: budget.limit.saturating_sub(budget.used()),
        };
        let size = usize::try_from(padded).map_err(|_| refused())?;
        let layout = std::alloc::Layout::from_size_align(size, ALIGN).map_err(|_| refused())?;
        // SAFETY: the layout's size is not zero, the padding is part of it.
        let start = NonNull::new(unsafe { alloc_zeroed(layout) }).ok_or_else(refused)?;
        Ok(TexelMemory {
            start,
            bytes: size - PADDING,
            layout,
            _reservation: reservation,
        })
    }

    /// First byte.
    pub fn start(&self) -> NonNull<u8> {
        self.start
    }

    /// Bytes, without the padding.
    pub fn len(&self) -> usize {
        self.bytes
    }

    /// Never.
    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }
}

impl Drop for TexelMemory {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with this layout, and freed nowhere else.
        unsafe { dealloc(self.start.as_ptr(), self.layout) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budgets_count_and_refuse() {
        let budget = MemoryBudget::new(1000);
        let a = TexelMemory::new(500, &budget).unwrap();
        assert_eq!((a.len(), budget.used()), (500, 564));
        assert_eq!(
            TexelMemory::new(500, &budget).unwrap_err(),
            TextureError::OutOfMemory { needed: 564, left: 436 }
        );
        drop(a);
        assert_eq!(budget.used(), 0);
        assert!(TexelMemory::new(u64::MAX, &budget).is_err());
    }
}
