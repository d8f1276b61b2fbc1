//! One plane of a texture in memory, and who may touch which subresource.
//!
//! A counter per subresource works like a `RefCell`'s: many readers or one writer. A writer may be split into tiles,
//! each claimed by one thread at a time. A subresource that was dropped (`storeOp: discard`) reads as zeros: it is filled
//! when someone next wants what it holds, so that dropping costs nothing. All safe access goes through the guards of this file; samplers alone read through
//! the plane's address, and their callers hold a read [`Borrow`] while they do.

use super::error::TextureError;
use super::layout::Layout;
use super::memory::{MemoryBudget, TexelMemory};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Texel memory of one aspect with its layout and borrow counters.
#[derive(Debug)]
pub struct Storage {
    memory: TexelMemory,
    layout: Layout,
    /// -1: being written; n: that many readers.
    borrows: Box<[AtomicI32]>,
    /// Subresources whose bytes stand for zeros.
    dropped: Box<[AtomicBool]>,
    /// Held while a dropped subresource is filled.
    filling: Mutex<()>,
}

impl Storage {
    /// Zeroed texels.
    pub fn new(layout: Layout, budget: &Arc<MemoryBudget>) -> Result<Arc<Storage>, TextureError> {
        let memory = TexelMemory::new(layout.bytes(), budget)?;
        let borrows = (0..layout.subresources()).map(|_| AtomicI32::new(0)).collect();
        Ok(Arc::new(Storage {
            memory,
            dropped: (0..layout.subresources()).map(|_| AtomicBool::new(false)).collect(),
            layout,
            borrows,
            filling: Mutex::new(()),
        }))
    }

    /// Where texels lie.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The plane's memory, for samplers.
    pub fn memory(&self) -> &TexelMemory {
        &self.memory
    }

    /// Holds a subresource for reading, or for writing if `exclusive`, until the result is dropped.
    pub fn borrow(self: &Arc<Self>, index: usize, exclusive: bool) -> Result<Borrow, TextureError> {
        if self.dropped[index].load(Ordering::Acquire) {
            // Whoever comes second finds it filled.
            let _one = self.filling.lock().unwrap_or_else(PoisonError::into_inner);
            if self.dropped[index].load(Ordering::Acquire) {
                let mut borrow = self.hold(index, true)?;
                if let Some(bytes) = borrow.bytes_mut() {
                    bytes.fill(0);
                }
                self.dropped[index].store(false, Ordering::Release);
            }
        }
        self.hold(index, exclusive)
    }

    /// Holds a subresource for writing all of it: what it held doesn't matter.
    pub fn borrow_anew(self: &Arc<Self>, index: usize) -> Result<Borrow, TextureError> {
        let borrow = self.hold(index, true)?;
        self.dropped[index].store(false, Ordering::Release);
        Ok(borrow)
    }

    fn hold(self: &Arc<Self>, index: usize, exclusive: bool) -> Result<Borrow, TextureError> {
        let step = |n: i32| match (exclusive, n) {
            (true, 0) => Some(-1),
            (false, 0..=0x3fff_ffff) => Some(n + 1),
            _ => None,
        };
        match self.borrows[index].fetch_update(Ordering::Acquire, Ordering::Relaxed, step) {
            Ok(_) => Ok(Borrow {
                storage: self.clone(),
                index,
                exclusive,
            }),
            Err(_) => {
                let (layer, level) = self.layout.of_subresource(index);
                Err(TextureError::Busy {
                    layer,
                    level,
                    wanted: if exclusive { "written" } else { "read" },
                })
            }
        }
    }
}

/// A held subresource.
#[derive(Debug)]
pub struct Borrow {
    storage: Arc<Storage>,
    index: usize,
    exclusive: bool,
}

impl Borrow {
    fn range(&self) -> Range<usize> {
        self.storage.layout.range(self.index)
    }

    /// The subresource's bytes.
    pub fn bytes(&self) -> &[u8] {
        let range = self.range();
        // SAFETY: the range lies within the memory (both come from one layout). The counter says that no one writes
        // the subresource, or, for an exclusive borrow, that only `bytes_mut` of this very value could.
        unsafe { std::slice::from_raw_parts(self.storage.memory.start().as_ptr().add(range.start), range.len()) }
    }

    /// The subresource's bytes, to write; `None` from a read borrow.
    pub fn bytes_mut(&mut self) -> Option<&mut [u8]> {
        if !self.exclusive {
            return None;
        }
        let range = self.range();
        // SAFETY: as in `bytes`; the counter is -1, so no other borrow of the subresource exists, and subresources
        // don't overlap.
        Some(unsafe {
            std::slice::from_raw_parts_mut(self.storage.memory.start().as_ptr().add(range.start), range.len())
        })
    }

    /// Splits the subresource into tiles of `edge` texels (a multiple of 4), to be used by several threads.
    pub fn into_tiles(self, edge: u32) -> TileGrid {
        let (_, level) = self.storage.layout.of_subresource(self.index);
        let l = self.storage.layout.levels[level as usize];
        let blocks = (edge / super::layout::BLOCK).max(1);
        let (tiles_x, tiles_y) = (l.blocks_x.div_ceil(blocks), l.blocks_y.div_ceil(blocks));
        let claims = (0..u64::from(tiles_x) * u64::from(tiles_y))
            .map(|_| AtomicBool::new(false))
            .collect();
        let start = self.range().start;
        TileGrid {
            borrow: self,
            claims,
            blocks,
            blocks_x: l.blocks_x,
            blocks_y: l.blocks_y,
            tiles_x,
            tiles_y,
            start,
        }
    }
}

impl Drop for Borrow {
    fn drop(&mut self) {
        let counter = &self.storage.borrows[self.index];
        if self.exclusive {
            counter.store(0, Ordering::Release);
        } else {
            counter.fetch_sub(1, Ordering::Release);
        }
    }
}

/// A borrowed subresource cut into tiles.
#[derive(Debug)]
pub struct TileGrid {
    borrow: Borrow,
    claims: Box<[AtomicBool]>,
    blocks: u32,
    blocks_x: u32,
    blocks_y: u32,
    tiles_x: u32,
    tiles_y: u32,
    start: usize,
}

impl TileGrid {
    /// Tiles in x and y.
    pub fn size(&self) -> (u32, u32) {
        (self.tiles_x, self.tiles_y)
    }

    /// Makes the subresource stand for zeros; nothing is done to one that is only read.
    pub fn drop_contents(&self) {
        if self.borrow.exclusive {
            self.borrow.storage.dropped[self.borrow.index].store(true, Ordering::Release);
        }
    }

    /// Whether tiles may be written.
    pub fn exclusive(&self) -> bool {
        self.borrow.exclusive
    }

    /// A tile; `None` if it doesn't exist or is in use (by this thread or another).
    pub fn tile(&self, tx: u32, ty: u32) -> Option<TileRows<'_>> {
        if tx >= self.tiles_x || ty >= self.tiles_y {
            return None;
        }
        let claim = &self.claims[(ty * self.tiles_x + tx) as usize];
        if claim.swap(true, Ordering::Acquire) {
            return None;
        }
        let (x, y) = (tx * self.blocks, ty * self.blocks);
        let end = (
            (x + self.blocks).min(self.blocks_x),
            (y + self.blocks).min(self.blocks_y),
        );
        Some(TileRows {
            grid: self,
            claim,
            x,
            y,
            columns: end.0 - x,
            rows: end.1 - y,
        })
    }
}

/// A claimed tile: its rows of blocks, as far as the surface goes.
#[derive(Debug)]
pub struct TileRows<'a> {
    grid: &'a TileGrid,
    claim: &'a AtomicBool,
    x: u32,
    y: u32,
    columns: u32,
    rows: u32,
}

impl TileRows<'_> {
    /// Rows of blocks inside the surface.
    pub fn rows(&self) -> u32 {
        self.rows
    }

    fn range(&self, surface: u32, row: u32) -> Range<usize> {
        let grid = self.grid;
        let layout = &grid.borrow.storage.layout;
        let level = layout.levels[layout.of_subresource(grid.borrow.index).1 as usize];
        assert!(
            row < self.rows && surface < level.surfaces,
            "row of blocks outside of the tile"
        );
        let block = surface as usize * (level.blocks_x as usize * level.blocks_y as usize)
            + (self.y + row) as usize * level.blocks_x as usize
            + self.x as usize;
        let bytes = super::layout::BLOCK_TEXELS as usize * layout.texel_bytes as usize;
        let start = grid.start + block * bytes;
        start..start + self.columns as usize * bytes
    }

    /// The blocks of a row: 16 texels each, left to right.
    pub fn row(&self, surface: u32, row: u32) -> &[u8] {
        let range = self.range(surface, row);
        let start = self.grid.borrow.storage.memory.start();
        // SAFETY: `range` lies within the subresource, asserted above, which the grid's borrow keeps from other
        // writers; the claim keeps this tile from other threads, and tiles don't overlap.
        unsafe { std::slice::from_raw_parts(start.as_ptr().add(range.start), range.len()) }
    }

    /// The same to write; `None` where the grid was borrowed for reading.
    pub fn row_mut(&mut self, surface: u32, row: u32) -> Option<&mut [u8]> {
        if !self.grid.borrow.exclusive {
            return None;
        }
        let range = self.range(surface, row);
        let start = self.grid.borrow.storage.memory.start();
        // SAFETY: as in `row`; the borrow is exclusive.
        Some(unsafe { std::slice::from_raw_parts_mut(start.as_ptr().add(range.start), range.len()) })
    }
}

impl Drop for TileRows<'_> {
    fn drop(&mut self) {
        self.claim.store(false, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn storage() -> Arc<Storage> {
        let layout = Layout::new([10, 6, 1], 2, 2, 1, 4).unwrap();
        Storage::new(layout, &MemoryBudget::new(1 << 20)).unwrap()
    }

    #[test]
    fn readers_and_writers_exclude_one_another() {
        let s = storage();
        let r = s.borrow(1, false).unwrap();
        let r2 = s.borrow(1, false).unwrap();
        assert_eq!(
            s.borrow(1, true).unwrap_err(),
            TextureError::Busy {
                layer: 0,
                level: 1,
                wanted: "written"
            }
        );
        drop((r, r2));
        let mut w = s.borrow(1, true).unwrap();
        assert!(s.borrow(1, false).is_err() && s.borrow(2, false).is_ok());
        w.bytes_mut().unwrap().fill(7);
        drop(w);
        let mut r = s.borrow(1, false).unwrap();
        assert!(r.bytes().iter().all(|&b| b == 7) && r.bytes_mut().is_none());
        assert!(s.borrow(0, false).unwrap().bytes().iter().all(|&b| b == 0));
    }

    #[test]
    fn dropped_contents_read_as_zeros() {
        let s = storage();
        s.borrow(1, true).unwrap().bytes_mut().unwrap().fill(7);
        let grid = s.borrow(1, true).unwrap().into_tiles(8);
        grid.drop_contents();
        assert!(s.borrow(1, false).is_err(), "it is still being written");
        drop(grid);
        let (a, b) = (s.borrow(1, false).unwrap(), s.borrow(1, false).unwrap());
        assert!(a.bytes().iter().chain(b.bytes()).all(|&b| b == 0));
        drop((a, b));
        // Overwriting saves the filling; reading does not drop anything.
        s.borrow(1, true).unwrap().bytes_mut().unwrap().fill(7);
        s.borrow(1, true).unwrap().into_tiles(8).drop_contents();
        let anew = s.borrow_anew(1).unwrap();
        assert!(anew.bytes().iter().all(|&b| b == 7));
        drop(anew);
        s.borrow(1, false).unwrap().into_tiles(8).drop_contents();
        assert!(s.borrow(1, false).unwrap().bytes().iter().all(|&b| b == 7));
    }

    #[test]
    fn tiles_are_claimed_once_and_cover_the_surface() {
        let s = storage();
        let grid = s.borrow(0, true).unwrap().into_tiles(8);
        assert_eq!(grid.size(), (2, 1));
        let a = grid.tile(0, 0).unwrap();
        assert!(grid.tile(0, 0).is_none() && grid.tile(2, 0).is_none());
        drop(a);
        std::thread::scope(|scope| {
            for tx in 0..2 {
                let grid = &grid;
                scope.spawn(move || {
                    let mut tile = grid.tile(tx, 0).unwrap();
                    for row in 0..tile.rows() {
                        tile.row_mut(0, row).unwrap().fill(1 + tx as u8);
                    }
                });
            }
        });
        drop(grid);
        let b = s.borrow(0, false).unwrap();
        assert_eq!(b.bytes().iter().filter(|&&b| b == 1).count(), 2 * 2 * 64);
        assert_eq!(b.bytes().iter().filter(|&&b| b == 2).count(), 2 * 64);
    }
}
