//! Executable memory of one program: written once, then read-and-execute only, unmapped when dropped.
//!
//! Pages are never writable and executable at once. Nothing outlives a [`CodeMemory`]: whoever runs code in it holds it.

use crate::abi::Context;
use crate::program::CompileError;
use cranelift_jit::{BranchProtection, JITMemoryKind, JITMemoryProvider, SystemMemoryProvider};

/// Alignment of code: constants of 32 bytes follow it.
const ALIGN: u64 = 64;

/// The function type of every program.
type Entry = unsafe extern "C" fn(*mut Context);

/// Finished machine code.
pub(crate) struct CodeMemory {
    provider: SystemMemoryProvider,
    start: *const u8,
    len: usize,
}

// SAFETY: the mapping is private to this value, immutable (read and execute only) since `new` returned, and freed by
// whichever thread drops the value, when no one can hold a reference to it any more.
unsafe impl Send for CodeMemory {}
// SAFETY: through a shared reference the mapping is only read and executed; see above.
unsafe impl Sync for CodeMemory {}

impl CodeMemory {
    /// Maps a copy of position-independent code whose entry is its first byte.
    pub fn new(code: &[u8]) -> Result<CodeMemory, CompileError> {
        let refused = |e: &dyn std::fmt::Display| CompileError::NoExecutableMemory(e.to_string());
        let mut provider = SystemMemoryProvider::new();
        let start = provider
            .allocate(code.len().max(1), ALIGN, JITMemoryKind::Executable)
            .map_err(|e| refused(&e))?;
        // SAFETY: `allocate` gave `code.len()` writable bytes that no one else knows of.
        unsafe { start.copy_from_nonoverlapping(code.as_ptr(), code.len()) };
        let mut memory = CodeMemory {
            provider,
            start,
            len: code.len(),
        };
        memory
            .provider
            .finalize(BranchProtection::None)
            .map_err(|e| refused(&e))?;
        Ok(memory)
    }

    /// Runs the code.
    ///
    /// # Safety
    /// The bytes given to [`new`](Self::new) must be a function of type [`Entry`], and `context` what it expects.
    pub unsafe fn call(&self, context: *mut Context) {
        // SAFETY: the caller vouches for the bytes; they are mapped executable as long as `self` lives.
        let entry: Entry = unsafe { std::mem::transmute(self.start) };
        // SAFETY: the caller vouches for the context.
        unsafe { entry(context) }
    }

    /// Address of the first byte, for profiles.
    pub fn address(&self) -> usize {
        self.start as usize
    }

    /// Bytes of code and constants.
    pub fn len(&self) -> usize {
        self.len
    }
}

impl Drop for CodeMemory {
    fn drop(&mut self) {
        // SAFETY: code runs only through `call`, which borrows `self`; so none of it runs now, nor will again.
        unsafe { self.provider.free_memory() };
    }
}
