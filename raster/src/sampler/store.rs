//! Storage textures: one level, loaded and stored texel by texel (R-WGSL-52, R-OM-102).
//!
//! Loads are those of the sampled view beneath. Stores convert as write-back does and vanish out of range; a lane stores after
//! the lanes before it. Programs that store run their tiles one after the other (law N8), so that a texel's last value is
//! the same however many threads there are.

use super::sample::Cells;
use super::view::{Kernel, SampledView};
use crate::format::texel::{HalfRounding, pack};
use crate::texture::{BorrowGuard, TextureError, TextureView};
use quadrille_frontend::ir::{Dim, TexelOp};
use quadrille_jit::abi::{Binding, CALL_CELLS, Cell};
use std::collections::BTreeSet;
use std::sync::Arc;

/// A view that programs may store to.
#[derive(Debug)]
pub struct StorageView(Arc<SampledView>);

/// Keeps everyone else from the views' texels; says that they have changed when it is dropped.
#[derive(Debug)]
pub struct StoreGuard {
    view: Arc<StorageView>,
    borrows: Vec<BorrowGuard>,
}

impl StorageView {
    /// Checks that the view has one level, one sample and a format that texels can be stored in.
    pub fn new(view: &TextureView) -> Result<Arc<StorageView>, TextureError> {
        let format = view.format();
        if view.levels().1 != 1 || view.samples() != 1 {
            return Err(TextureError::Invalid(
                "a storage texture's view must have one mip level and one sample a texel",
            ));
        }
        if format.is_compressed() || format.is_depth_stencil() || format.info().srgb {
            return Err(TextureError::Format {
                format,
                what: "cannot be stored to by shaders",
            });
        }
        Ok(Arc::new(StorageView(SampledView::new(view)?)))
    }

    /// What a slot holds. As [`SampledView::binding`], with a [`begin`](Self::begin) guard.
    pub fn binding(&self) -> Binding {
        Binding {
            sample: None,
            sample_n: None,
            store: Some(store_entry),
            ..self.0.binding()
        }
    }

    /// Holds the view's subresources for writing, but for those in `held` already, where it notes them.
    pub fn begin(self: &Arc<Self>, held: &mut BTreeSet<(usize, usize)>) -> Result<StoreGuard, TextureError> {
        let borrows = self.0.borrow_for_stores(held)?;
        Ok(StoreGuard {
            view: self.clone(),
            borrows,
        })
    }
}

impl Drop for StoreGuard {
    fn drop(&mut self) {
        self.borrows.clear();
        self.view.0.stored();
    }
}

/// The ABI's side of [`store`].
unsafe extern "C" fn store_entry(a: *const Binding, _: *const Binding, op: u64, cells: *mut Cell, lanes: u32) {
    // SAFETY: the contract of an `Intrinsic`: `a` is null or a readable binding, made by `StorageView::binding` (this function is
    // nowhere else), whose data is a living view; there are `CALL_CELLS` cells.
    let (view, cells) = unsafe {
        let view = a.as_ref().and_then(|a| a.data.cast::<SampledView>().as_ref());
        (view, &*cells.cast::<[Cell; CALL_CELLS]>())
    };
    if let Some(view) = view {
        store(&view.kernel, TexelOp::decode(op), cells, lanes as usize);
    }
}

/// Stores the texels of the active lanes.
fn store(view: &Kernel, op: TexelOp, cells: &Cells, lanes: usize) {
    let axes = match op.dim {
        Dim::D1 => 1,
        Dim::D2 | Dim::Cube => 2,
        Dim::D3 => 3,
    };
    for lane in (0..lanes.min(8)).filter(|&lane| cells[0].0[lane] != 0) {
        let arg = |i: usize| cells[1 + i].0[lane];
        let mut at = [0; 3];
        let mut inside = true;
        for (c, at) in at.iter_mut().enumerate().take(axes) {
            *at = arg(c);
            inside &= *at <= view.last[c][0] as u32;
        }
        let mut next = axes;
        let mut layer = 0;
        if op.array {
            layer = arg(next);
            inside &= layer <= view.last_layer as u32;
            next += 1;
        }
        if !inside {
            continue;
        }
        let [x, y, z] = at;
        let surface = view.base[0] as u32 + layer * view.layer_texels as u32 + z * view.surface[0] as u32;
        let index = surface + ((y + (y >> 2) * view.row[0] as u32) << 2) + x + (x >> 2) * 12;
        let words = [0, 1, 2, 3].map(|c| arg(next + c));
        let bytes = pack(view.format, words, HalfRounding::NearestEven);
        // SAFETY: the caller of the program holds the texture for writing (`StorageView::begin`), and programs that store run on one
        // thread at a time.
        unsafe { view.words.write(index, &bytes) };
    }
}
