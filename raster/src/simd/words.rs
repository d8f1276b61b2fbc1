//! Read-only memory that gathers index, with its bounds.

use crate::texture::memory::{PADDING, TexelMemory};
use std::marker::PhantomData;

/// `last + 1` elements of B bytes (1, 2, 4, 8 or 16). Indices above `last` (or negative) read the last element.
#[derive(Clone, Copy, Debug)]
pub struct Words<'a, const B: usize>(AnyWords<'a>);

/// Words whose element size is known only at run time.
#[derive(Clone, Copy, Debug)]
pub struct AnyWords<'a> {
    start: *const u8,
    last: u32,
    bytes: u32,
    _memory: PhantomData<&'a [u8]>,
}

// SAFETY: like a shared slice.
unsafe impl Send for AnyWords<'_> {}
// SAFETY: like a shared slice.
unsafe impl Sync for AnyWords<'_> {}

impl<'a> AnyWords<'a> {
    /// All texels of a plane, `bytes` each. At least one texel must fit.
    ///
    /// # Safety
    /// The memory must live as long as the value is used (the lifetime may promise too much), and while gathers read
    /// through it no one writes the texels they reach.
    pub unsafe fn texels(memory: &TexelMemory, bytes: u32) -> AnyWords<'a> {
        // A gather of small elements reads 4 bytes at the element's start, a pair of 8 bytes reads the element behind.
        const { assert!(PADDING >= 8) };
        let count = (memory.len() / bytes as usize).min(i32::MAX as usize);
        assert!(count > 0, "a plane has at least one texel");
        AnyWords {
            start: memory.start().as_ptr(),
            last: (count - 1) as u32,
            bytes,
            _memory: PhantomData,
        }
    }

    /// Writes the element, the first of `bytes`; outside of the memory nothing happens.
    ///
    /// # Safety
    /// While it runs no one else reads or writes the element.
    pub unsafe fn write(self, index: u32, bytes: &[u8; 16]) {
        if index <= self.last {
            let size = (self.bytes as usize).min(16);
            // SAFETY: the element lies inside the memory that `texels` was given, which is a raw allocation that may be written;
            // the caller says that no one else uses it now.
            unsafe {
                let to = self.start.add(index as usize * size).cast_mut();
                std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, size);
            }
        }
    }

    /// The words, of B bytes each; a bug if they are not.
    #[inline(always)]
    pub fn of<const B: usize>(self) -> Words<'a, B> {
        assert!(self.bytes as usize == B, "element size");
        Words(self)
    }
}

impl<const B: usize> Words<'_, B> {
    /// First byte.
    #[inline(always)]
    pub(super) fn start(self) -> *const u8 {
        self.0.start
    }

    /// Last element.
    #[inline(always)]
    pub(super) fn last(self) -> u32 {
        self.0.last
    }

    /// The bytes of an element.
    #[inline(always)]
    pub fn read(self, index: i32) -> [u8; B] {
        let index = (index as u32).min(self.0.last) as usize;
        // SAFETY: the element lies inside the memory that `texels` was given, whose elements have B bytes (`of`
        // compares), and no one writes it meanwhile.
        unsafe { self.0.start.add(index * B).cast::<[u8; B]>().read() }
    }
}
