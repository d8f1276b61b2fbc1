//! The interpreter's raw memory: all that it reads and writes through the context's pointers.

use crate::abi::{Binding, Cell, Context, Intrinsic, Pair, RESULT_CELL, Run, TextureInfo, WidePair};
use std::sync::atomic::{AtomicU32, Ordering};

/// The context's memory, by the caller's promise on [`crate::program::Compiled::run`] valid while this lives.
pub(super) struct Memory<'a> {
    pub context: &'a mut Context,
}

/// A pair's coverage and place, whatever its width in memory.
#[derive(Clone, Copy)]
pub(super) struct PairData {
    pub index: u32,
    pub x: u32,
    pub y: u32,
    pub coverage: [u8; 16],
}

impl<'a> Memory<'a> {
    /// # Safety
    /// The context is as `Compiled::run` demands.
    pub unsafe fn new(context: &'a mut Context) -> Memory<'a> {
        Memory { context }
    }

    pub fn cancelled(&self) -> bool {
        // SAFETY: null or valid, by the contract of `new`; written by other threads, hence volatile.
        !self.context.cancel.is_null() && unsafe { self.context.cancel.read_volatile() } != 0
    }

    pub fn run(&self, i: u32) -> Run {
        // SAFETY: `count` runs are valid by the contract of `new`; the caller stays below.
        unsafe { *self.context.runs.add(i as usize) }
    }

    pub fn pair(&self, run: &Run, i: u32, wide: bool) -> PairData {
        let i = i as usize;
        if wide {
            // SAFETY: programs of 8 or 16 samples get wide pairs, `run.count` of them.
            let p = unsafe { *run.pairs.cast::<WidePair>().add(i) };
            PairData {
                index: p.index.into(),
                x: p.x.into(),
                y: p.y.into(),
                coverage: p.coverage,
            }
        } else {
            // SAFETY: `run.count` pairs are valid.
            let p: Pair = unsafe { *run.pairs.add(i) };
            let mut coverage = [0; 16];
            coverage[..4].copy_from_slice(&p.coverage);
            PairData {
                index: p.index.into(),
                x: p.x.into(),
                y: p.y.into(),
                coverage,
            }
        }
    }

    pub fn prim_word(&self, prim: *const u8, offset: u32) -> u32 {
        // SAFETY: the record has the words that the program's assembler laid out.
        unsafe { prim.add(offset as usize).cast::<u32>().read_unaligned() }
    }

    pub fn vertex_word(&self, prim: *const u8, vertex: u8, offset: u32) -> u32 {
        // SAFETY: the record starts with pointers to three attribute blocks that have the words in question.
        unsafe {
            let block = prim.add(8 * usize::from(vertex)).cast::<*const u8>().read_unaligned();
            block.add(offset as usize).cast::<u32>().read_unaligned()
        }
    }

    pub fn draw_word(&self, word: u32) -> u32 {
        // SAFETY: the block has the words that the program's assembler laid out.
        unsafe { self.context.draw.add(word as usize).read() }
    }

    pub fn tile(&self, offset: usize) -> [u32; 4] {
        // SAFETY: planes and pairs of the program lie inside the tile's memory.
        unsafe { self.context.tile.add(offset).cast::<[u32; 4]>().read_unaligned() }
    }

    pub fn set_tile(&mut self, offset: usize, lanes: [u32; 4]) {
        // SAFETY: as above; nobody else touches the tile.
        unsafe { self.context.tile.add(offset).cast::<[u32; 4]>().write_unaligned(lanes) }
    }

    pub fn cell_in(&self, cell: usize, step: usize) -> [u32; 4] {
        // SAFETY: groups and slots of the program lie inside the input cells.
        let cell = unsafe { *self.context.cells_in.add(cell) };
        std::array::from_fn(|i| cell.0[4 * step + i])
    }

    pub fn set_cell_out(&mut self, cell: usize, step: usize, lanes: [u32; 4]) {
        // SAFETY: groups and slots of the program lie inside the output cells, which are ours alone.
        unsafe {
            self.context
                .cells_out
                .add(cell)
                .cast::<[u32; 4]>()
                .add(step)
                .write(lanes)
        }
    }

    pub fn binding(&self, slot: u32) -> Binding {
        // SAFETY: the program's slots exist.
        unsafe { *self.context.bindings.add(slot as usize) }
    }

    /// A word of a buffer; `None` outside.
    pub fn load(&self, binding: &Binding, offset: u32) -> Option<u32> {
        if !inside(binding, offset) {
            return None;
        }
        // SAFETY: inside the bound bytes.
        Some(unsafe { binding.data.add(offset as usize).cast::<u32>().read_unaligned() })
    }

    /// Stores a word, or nothing outside.
    pub fn store(&mut self, binding: &Binding, offset: u32, value: u32) {
        if inside(binding, offset) {
            // SAFETY: inside the bound bytes, which were bound for writing.
            unsafe {
                binding
                    .data
                    .cast_mut()
                    .add(offset as usize)
                    .cast::<u32>()
                    .write_unaligned(value)
            }
        }
    }

    /// Replaces a word by what the closure makes of it, if anything, as one step that other threads can't divide; gives
    /// the old word, or `None` outside.
    pub fn update(&mut self, binding: &Binding, offset: u32, change: impl Fn(u32) -> Option<u32>) -> Option<u32> {
        if !inside(binding, offset) {
            return None;
        }
        let address = binding.data.cast_mut().wrapping_add(offset as usize).cast::<u32>();
        if !address.is_aligned() {
            let old = self.load(binding, offset)?;
            if let Some(new) = change(old) {
                self.store(binding, offset, new);
            }
            return Some(old);
        }
        // SAFETY: aligned, inside the bound bytes, which were bound for writing; while tiles run side by side, programs
        // touch them with atomic operations only (law N8).
        let word = unsafe { AtomicU32::from_ptr(address) };
        Some(match word.fetch_update(Ordering::Relaxed, Ordering::Relaxed, change) {
            Ok(old) | Err(old) => old,
        })
    }

    pub fn texture_info(&self, binding: &Binding) -> Option<TextureInfo> {
        // SAFETY: null or valid.
        unsafe { binding.info.as_ref() }.copied()
    }

    /// Calls an intrinsic with the exec mask and arguments; gives `N` result cells' four lanes.
    pub fn call<const N: usize>(
        &mut self,
        intrinsic: Intrinsic,
        a: &Binding,
        b: &Binding,
        op: u64,
        cells: impl Iterator<Item = [u32; 4]>,
    ) -> [[u32; 4]; N] {
        let scratch = self.context.scratch;
        for (i, lanes) in cells.enumerate().take(RESULT_CELL) {
            let mut cell = Cell::default();
            cell.0[..4].copy_from_slice(&lanes);
            // SAFETY: scratch has CALL_CELLS cells.
            unsafe { scratch.add(i).write(cell) }
        }
        // SAFETY: the binding's functions understand its data; scratch is ours.
        unsafe { intrinsic(a, b, op, scratch, 4) };
        std::array::from_fn(|i| {
            // SAFETY: results lie below CALL_CELLS.
            let cell = unsafe { *scratch.add(RESULT_CELL + i) };
            [cell.0[0], cell.0[1], cell.0[2], cell.0[3]]
        })
    }
}

fn inside(binding: &Binding, offset: u32) -> bool {
    !binding.data.is_null() && u64::from(offset) + 4 <= binding.size
}
