//! A texture view as samplers read it: levels and layers flattened into tables that lanes can index.

use crate::format::{Aspect, TextureFormat};
use crate::simd::AnyWords;
use crate::texture::derived::Derived;
use crate::texture::layout::{BLOCK, Layout};
use crate::texture::storage::{Borrow, Storage};
use crate::texture::{TextureError, TextureView, ViewDimension};
use quadrille_jit::abi::TextureInfo;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Tables of 16 so that a lane's level picks from two registers; levels beyond the last repeat it.
pub(super) const TABLE: usize = 16;

/// What kernels read.
#[derive(Debug)]
pub(super) struct Kernel {
    /// Texels of the plane.
    pub words: AnyWords<'static>,
    /// The same view of the linear copy of an sRGB format (law S3), which filters read.
    pub linear: Option<Box<Kernel>>,
    /// The view's format, of one aspect.
    pub format: TextureFormat,
    /// Levels in the view.
    pub levels: u32,
    /// Last array index: of layers, or of cubes.
    pub last_layer: i32,
    /// Samples a texel.
    pub samples: i32,
    /// Texels from one layer to the next.
    pub layer_texels: i32,
    /// Width, height, depth of the first level.
    pub size: [f32; 3],
    /// The same by level in 1/256 texels, as f32 bits.
    pub size_fixed: [[i32; TABLE]; 3],
    /// The same minus one, in texels, as integers.
    pub last: [[i32; TABLE]; 3],
    /// First texel by level, of the view's first layer.
    pub base: [i32; TABLE],
    /// 4 * (blocks in a row - 1) by level: a row of blocks is that many quarter-rows longer than its 4 rows of 4.
    pub row: [i32; TABLE],
    /// Texels from one surface to the next by level.
    pub surface: [i32; TABLE],
    /// Five texels stand for each row of a block: the fifth is the right neighbour's first.
    pub paired: bool,
    /// Width and height of every level are powers of two.
    pub power_of_two: bool,
    /// What a missing alpha reads: 1.0 or 1 (R-SAMP-110).
    pub alpha: u32,
    /// Components the format has, bit 0 = the first.
    pub present: u8,
    /// Bytes of a texel.
    pub bytes: u32,
    /// The first component in memory is blue.
    pub swap: bool,
}

/// Layers of one element of the view.
fn layers_per_item(view: &TextureView) -> u32 {
    match view.dimension() {
        ViewDimension::Cube | ViewDimension::CubeArray => 6,
        _ => 1,
    }
}

impl Kernel {
    /// The tables of a view of texels of a format, laid out so.
    fn new(view: &TextureView, words: AnyWords<'static>, layout: &Layout, format: TextureFormat) -> Kernel {
        let (base_level, levels) = view.levels();
        let (base_layer, layers) = view.layers();
        let level = |i: usize| &layout.levels[base_level as usize + i.min(levels as usize - 1)];
        let table = |f: &dyn Fn(usize) -> i32| std::array::from_fn::<i32, TABLE, _>(f);
        let sizes = |i: usize| [level(i).width, level(i).height, level(i).depth];
        let first = base_layer * layout.layer_texels;
        Kernel {
            words,
            linear: None,
            format,
            levels,
            last_layer: (layers / layers_per_item(view)) as i32 - 1,
            samples: view.samples() as i32,
            layer_texels: layout.layer_texels as i32,
            size: sizes(0).map(|n| n as f32),
            size_fixed: [0, 1, 2].map(|c| table(&|i| (sizes(i)[c] as f32 * 256.0).to_bits() as i32)),
            last: [0, 1, 2].map(|c| table(&|i| sizes(i)[c] as i32 - 1)),
            base: table(&|i| (first + level(i).offset) as i32),
            row: table(&|i| (BLOCK * (level(i).blocks_x - 1)) as i32),
            surface: table(&|i| level(i).surface() as i32),
            paired: level(0).row > BLOCK,
            power_of_two: (0..levels as usize)
                .all(|i| level(i).width.is_power_of_two() && level(i).height.is_power_of_two()),
            alpha: if format.info().is_integer() {
                1
            } else {
                1.0f32.to_bits()
            },
            present: format.info().present(),
            bytes: layout.texel_bytes,
            swap: format.is_bgra8(),
        }
    }

    /// A component mask (bit 0 = red) by place in memory.
    #[inline(always)]
    pub fn in_memory_order(&self, mask: u8) -> u8 {
        if self.swap {
            (mask & 0b1010) | (mask & 1) << 2 | (mask >> 2 & 1)
        } else {
            mask
        }
    }
}

/// A view that programs can sample and load from. Keep the `Arc` while a [`Binding`](quadrille_jit::abi::Binding) made
/// from it is in use, and hold [`begin_read`](Self::begin_read)'s guard while programs run.
#[derive(Debug)]
pub struct SampledView {
    view: TextureView,
    storage: Arc<Storage>,
    /// The linear copy of an sRGB format, or the texels of a compressed one.
    derived: Option<Arc<Derived>>,
    pub(super) kernel: Kernel,
    pub(super) info: TextureInfo,
}

/// Keeps the view's subresources from being written.
#[derive(Debug)]
pub struct ReadGuard {
    _borrows: Vec<Borrow>,
}

impl SampledView {
    /// Prepares a view. Views of sRGB and compressed formats allocate a derived copy, which counts against the memory limit.
    pub fn new(view: &TextureView) -> Result<Arc<SampledView>, TextureError> {
        let (format, storage) = view.plane(view.aspect())?;
        let storage = storage.clone();
        let derived = match Derived::format_of(format) {
            Some(_) => Some(view.texture().derived(format)?),
            None => None,
        };
        // SAFETY: `storage` and `derived` are kept in the same struct, which is dropped as a whole; that no one writes while
        // programs read is what `begin_read` is for and what the binding's safety contract demands.
        let words = |storage: &Storage| unsafe { AnyWords::texels(storage.memory(), storage.layout().texel_bytes) };
        let kernel = match &derived {
            Some(d) if format.is_compressed() => Kernel::new(view, words(&d.storage), d.storage.layout(), d.format),
            _ => Kernel::new(view, words(&storage), storage.layout(), format),
        };
        let linear = match &derived {
            Some(d) if !format.is_compressed() => Some(Box::new(Kernel {
                // Components in the order of the originals, which lack some where those do.
                swap: kernel.swap,
                present: kernel.present,
                ..Kernel::new(view, words(&d.storage), d.storage.layout(), d.format)
            })),
            _ => None,
        };
        let kernel = Kernel { linear, ..kernel };
        let (layers, levels, samples) = (view.layers().1, view.levels().1, view.samples());
        let per_item = layers_per_item(view);
        let [width, height, depth] = view.size();
        let info = TextureInfo {
            width,
            height,
            depth,
            layers: layers / per_item,
            levels,
            samples,
        };
        Ok(Arc::new(SampledView {
            view: view.clone(),
            storage,
            derived,
            kernel,
            info,
        }))
    }

    /// The view.
    pub fn view(&self) -> &TextureView {
        &self.view
    }

    /// What texture queries read.
    pub fn info(&self) -> &TextureInfo {
        &self.info
    }

    /// Holds every subresource of the view for reading, and brings a derived copy up to date. Fails where a
    /// subresource is being written, such as by a pass that also renders to it.
    pub fn begin_read(&self) -> Result<ReadGuard, TextureError> {
        let subresources = self.view.subresources(&self.storage);
        let borrows = subresources
            .clone()
            .map(|i| self.storage.borrow(i, false))
            .collect::<Result<Vec<_>, _>>()?;
        if let Some(copy) = &self.derived {
            self.view.texture().freshen(copy, subresources)?;
        }
        Ok(ReadGuard { _borrows: borrows })
    }

    /// Holds the view's subresources for writing, but for those in `held` already.
    pub(super) fn borrow_for_stores(&self, held: &mut BTreeSet<(usize, usize)>) -> Result<Vec<Borrow>, TextureError> {
        let storage = Arc::as_ptr(&self.storage) as usize;
        self.view
            .subresources(&self.storage)
            .filter(|&i| held.insert((storage, i)))
            .map(|i| self.storage.borrow(i, true))
            .collect()
    }

    /// Notes that the view's subresources have other texels now.
    pub(super) fn stored(&self) {
        let subresources = self.view.subresources(&self.storage);
        subresources.for_each(|i| self.view.texture().written(i));
    }

    /// The aspect that is read.
    pub fn aspect(&self) -> Aspect {
        self.view.aspect()
    }
}
