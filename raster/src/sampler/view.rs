//! A texture view as samplers read it: levels and layers flattened into tables that lanes can index.

use crate::format::{Aspect, TextureFormat};
use crate::simd::AnyWords;
use crate::texture::layout::{BLOCK, BLOCK_TEXELS};
use crate::texture::storage::{Borrow, Storage};
use crate::texture::{TextureError, TextureView, ViewDimension};
use quadrille_jit::abi::TextureInfo;
use std::sync::Arc;

/// Tables of 16 so that a lane's level picks from two registers; levels beyond the last repeat it.
pub(super) const TABLE: usize = 16;

/// What kernels read.
#[derive(Debug)]
pub(super) struct Kernel {
    /// Texels of the plane.
    pub words: AnyWords<'static>,
    /// Texels of the linear copy of an sRGB format (law S3), at the same indices.
    pub linear: Option<AnyWords<'static>>,
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

impl Kernel {
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
    /// The linear copy, for sRGB formats.
    linear: Option<Arc<crate::texture::texels::LinearCopy>>,
    pub(super) kernel: Kernel,
    pub(super) info: TextureInfo,
}

/// Keeps the view's subresources from being written.
#[derive(Debug)]
pub struct ReadGuard {
    _borrows: Vec<Borrow>,
}

impl SampledView {
    /// Prepares a view. An sRGB view allocates its texture's linear copy, which counts against the memory limit.
    pub fn new(view: &TextureView) -> Result<Arc<SampledView>, TextureError> {
        let (format, storage) = view.plane(view.aspect())?;
        let storage = storage.clone();
        let linear = if format.info().srgb {
            Some(view.texture().linear_copy()?)
        } else {
            None
        };
        let layout = storage.layout();
        let (base_level, levels) = view.levels();
        let (base_layer, layers) = view.layers();
        let samples = view.samples();
        let level = |i: usize| &layout.levels[base_level as usize + i.min(levels as usize - 1)];
        let table = |f: &dyn Fn(usize) -> i32| std::array::from_fn::<i32, TABLE, _>(f);
        let sizes = |i: usize| [level(i).width, level(i).height, level(i).depth];
        let first = base_layer * layout.layer_texels;
        let per_item = match view.dimension() {
            ViewDimension::Cube | ViewDimension::CubeArray => 6,
            _ => 1,
        };
        let integer = format.info().is_integer();
        // SAFETY: `storage` and `linear` are kept in the same struct, which is dropped as a whole; that no one writes while programs
        // read is what `begin_read` is for and what the binding's safety contract demands.
        let words = unsafe { AnyWords::texels(storage.memory(), layout.texel_bytes) };
        // SAFETY: as above.
        let linear_words = linear
            .as_ref()
            .map(|l| unsafe { AnyWords::texels(l.storage.memory(), 8) });
        let kernel = Kernel {
            words,
            linear: linear_words,
            format,
            levels,
            last_layer: (layers / per_item) as i32 - 1,
            samples: samples as i32,
            layer_texels: layout.layer_texels as i32,
            size: sizes(0).map(|n| n as f32),
            size_fixed: [0, 1, 2].map(|c| table(&|i| (sizes(i)[c] as f32 * 256.0).to_bits() as i32)),
            last: [0, 1, 2].map(|c| table(&|i| sizes(i)[c] as i32 - 1)),
            base: table(&|i| (first + level(i).offset) as i32),
            row: table(&|i| (BLOCK * (level(i).blocks_x - 1)) as i32),
            surface: table(&|i| (level(i).blocks_x * level(i).blocks_y * BLOCK_TEXELS) as i32),
            power_of_two: (0..levels as usize)
                .all(|i| level(i).width.is_power_of_two() && level(i).height.is_power_of_two()),
            alpha: if integer { 1 } else { 1.0f32.to_bits() },
            present: format.info().present(),
            bytes: layout.texel_bytes,
            swap: format.is_bgra8(),
        };
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
            linear,
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

    /// Holds every subresource of the view for reading, and brings the linear copy up to date. Fails where a
    /// subresource is being written, such as by a pass that also renders to it.
    pub fn begin_read(&self) -> Result<ReadGuard, TextureError> {
        let subresources = self.view.subresources(&self.storage);
        let borrows = subresources
            .clone()
            .map(|i| self.storage.borrow(i, false))
            .collect::<Result<Vec<_>, _>>()?;
        if let Some(copy) = &self.linear {
            self.view.texture().freshen(copy, subresources)?;
        }
        Ok(ReadGuard { _borrows: borrows })
    }

    /// The aspect that is read.
    pub fn aspect(&self) -> Aspect {
        self.view.aspect()
    }
}
