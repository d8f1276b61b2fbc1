//! The functions that programs call, and the bindings that carry them.
//!
//! A binding's function is chosen once per view: by format class and instruction level. This file alone turns the raw
//! pointers of the ABI into references.

use super::batch;
use super::class::{Any, Class, Depth24, Float, Half, Norm8, Norm16, Rgba8, Srgb8, Word32};
use super::descriptor::{Reduction, Sampler};
use super::load::load;
use super::quick::serves;
use super::sample::{Cells, sample};
use super::surface::{Family, FamilyOf, Texels};
use super::view::{Kernel, SampledView};
use crate::format::TextureFormat;
use crate::simd::portable::Portable;
use crate::simd::{Level, Simd};
use quadrille_frontend::ir::{SampleBatch, SampleOp, TexelOp};
use quadrille_jit::abi::{Binding, CALL_CELLS, Cell, Intrinsic, RESULT_CELL, sample_each};

impl Sampler {
    /// What a sampler slot holds. The sampler must stay where it is while the binding is used.
    pub fn binding(&self) -> Binding {
        Binding {
            data: std::ptr::from_ref(self).cast(),
            ..Binding::NULL
        }
    }
}

impl SampledView {
    /// What a texture slot holds, with the best instructions of this machine. The view must stay where it is (in its
    /// `Arc`) while the binding is used, and a [`begin_read`](Self::begin_read) guard be held while programs run.
    pub fn binding(&self) -> Binding {
        self.binding_at(Level::detect())
    }

    /// As [`binding`](Self::binding), at a level. Levels the machine lacks become portable.
    pub fn binding_at(&self, level: Level) -> Binding {
        let (sample, load, sample_n) = match level {
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 if crate::simd::avx2::Avx2::new().is_some() => functions::<UseAvx2>(self.kernel.format),
            _ => functions::<UsePortable>(self.kernel.format),
        };
        Binding {
            data: std::ptr::from_ref(self).cast(),
            sample: Some(sample),
            load: Some(load),
            sample_n,
            info: &raw const self.info,
            ..Binding::NULL
        }
    }
}

/// A level of instructions that functions were compiled for.
trait Chosen {
    type S: Simd;
    /// # Safety
    /// The machine has the instructions.
    unsafe fn get() -> Self::S;
}

struct UsePortable;

impl Chosen for UsePortable {
    type S = Portable;
    #[inline(always)]
    unsafe fn get() -> Portable {
        Portable
    }
}

#[cfg(target_arch = "x86_64")]
struct UseAvx2;

#[cfg(target_arch = "x86_64")]
impl Chosen for UseAvx2 {
    type S = crate::simd::avx2::Avx2;
    #[inline(always)]
    unsafe fn get() -> Self::S {
        // SAFETY: the caller's promise.
        unsafe { crate::simd::avx2::Avx2::assume() }
    }
}

/// Sample, load, and batches of comparisons.
type Functions = (Intrinsic, Intrinsic, Option<Intrinsic>);

/// The functions of a format.
fn functions<T: Chosen>(format: TextureFormat) -> Functions {
    use TextureFormat::*;
    match format {
        Rgba8Unorm | Bgra8Unorm | Bgrx8Unorm => plain::<T, Rgba8>(),
        Rgba8UnormSrgb | Bgra8UnormSrgb | Bgrx8UnormSrgb => (sample_srgb::<T>, load_entry::<T, Float<Srgb8>>, None),
        R8Unorm | Rg8Unorm => plain::<T, Norm8>(),
        R16Unorm | Rg16Unorm | Rgba16Unorm | Depth16Unorm => plain::<T, Norm16>(),
        R16Float | Rg16Float | Rgba16Float => plain::<T, Float<Half>>(),
        R32Float | R32Uint | R32Sint | Depth32Float => plain::<T, Float<Word32>>(),
        Rg32Float | Rg32Uint | Rg32Sint => plain::<T, Float<Word32>>(),
        Rgba32Float | Rgba32Uint | Rgba32Sint => plain::<T, Float<Word32>>(),
        Depth24Plus => plain::<T, Float<Depth24>>(),
        _ => plain::<T, Float<Any>>(),
    }
}

fn plain<T: Chosen, C: Class>() -> Functions {
    let batch: Option<Intrinsic> = if T::S::FAST && C::COMPARE {
        Some(batch_entry::<T, C>)
    } else {
        None
    };
    (sample_entry::<T, C>, load_entry::<T, C>, batch)
}

/// Batches of comparisons.
unsafe extern "C" fn batch_entry<T: Chosen, C: Class>(
    a: *const Binding,
    b: *const Binding,
    word: u64,
    cells: *mut Cell,
    lanes: u32,
) {
    let (single, batch) = SampleBatch::decode(word);
    let op = SampleOp::decode(single);
    // SAFETY: this function's own contract is theirs.
    match (unsafe { arguments(a, b, cells) }, batch) {
        ((Some(view), Some(sampler), cells), Some(batch)) if batch::serves(view, sampler, &op) => {
            // SAFETY: bindings get this function only where the machine has the instructions.
            let s = unsafe { T::get() };
            batch::compare_n::<T::S, C>(s, view, own(view), sampler, &op, batch, cells);
        }
        // SAFETY: as above, and nothing refers to the cells any longer.
        _ => unsafe { sample_each(a, b, word, cells, lanes) },
    }
}

/// Reads the ABI's arguments: view, sampler, cells. `None` where a slot is empty, the results zero then.
///
/// # Safety
/// As [`Intrinsic`]: `a` is a texture binding made by [`SampledView::binding`] (or empty), `b` by [`Sampler::binding`],
/// null or empty; `cells` are [`CALL_CELLS`] cells that no one else touches.
#[inline(always)]
unsafe fn arguments<'a>(
    a: *const Binding,
    b: *const Binding,
    cells: *mut Cell,
) -> (Option<&'a Kernel>, Option<&'a Sampler>, &'a mut Cells) {
    const { assert!(CALL_CELLS >= RESULT_CELL + 5) };
    // SAFETY: the caller's promise: both bindings are readable, their `data` null or what it was made from.
    unsafe {
        let view = a
            .as_ref()
            .and_then(|a| a.data.cast::<SampledView>().as_ref())
            .map(|v| &v.kernel);
        let sampler = b.as_ref().and_then(|b| b.data.cast::<Sampler>().as_ref());
        (view, sampler, &mut *cells.cast::<Cells>())
    }
}

/// Zero components; an empty slot counts as resident.
#[cold]
fn empty(cells: &mut Cells, components: usize) {
    for cell in &mut cells[RESULT_CELL..RESULT_CELL + components] {
        *cell = Cell([0; 8]);
    }
    cells[RESULT_CELL + components] = Cell([u32::MAX; 8]);
}

unsafe extern "C" fn sample_entry<T: Chosen, C: Class>(
    a: *const Binding,
    b: *const Binding,
    op: u64,
    cells: *mut Cell,
    _lanes: u32,
) {
    // SAFETY: this function's own contract is theirs.
    let (view, sampler, cells) = unsafe { arguments(a, b, cells) };
    let (Some(view), Some(sampler)) = (view, sampler) else {
        return empty(cells, SampleOp::decode(op).components());
    };
    // SAFETY: bindings get this function only where the machine has the instructions.
    let s = unsafe { T::get() };
    sample_with(s, view, own(view), sampler, op, &FamilyOf::<T::S, C>::FAMILY, cells);
}

/// Filters sRGB formats from their linear copy (law S3), and reads single texels exactly.
unsafe extern "C" fn sample_srgb<T: Chosen>(
    a: *const Binding,
    b: *const Binding,
    op: u64,
    cells: *mut Cell,
    _lanes: u32,
) {
    // SAFETY: this function's own contract is theirs.
    let (view, sampler, cells) = unsafe { arguments(a, b, cells) };
    let (Some(view), Some(sampler)) = (view, sampler) else {
        return empty(cells, SampleOp::decode(op).components());
    };
    // SAFETY: bindings get this function only where the machine has the instructions.
    let s = unsafe { T::get() };
    let averages = sampler.is_filtering() && sampler.d.reduction == Reduction::WeightedAverage;
    match &view.linear {
        Some(linear) if averages && SampleOp::decode(op).gather.is_none() => {
            sample_with(
                s,
                linear,
                own(linear),
                sampler,
                op,
                &FamilyOf::<T::S, Norm16>::FAMILY,
                cells,
            );
        }
        _ => sample_with(
            s,
            view,
            own(view),
            sampler,
            op,
            &FamilyOf::<T::S, Float<Srgb8>>::FAMILY,
            cells,
        ),
    }
}

/// The straight path where it serves, else the driver.
#[inline(always)]
fn sample_with<S: Simd>(
    s: S,
    view: &Kernel,
    texels: Texels<'_>,
    sampler: &Sampler,
    word: u64,
    family: &Family<S>,
    cells: &mut Cells,
) {
    match family.quick {
        Some(quick) if serves(view, sampler, word, family) => quick(s, view, texels, &sampler.d, word, cells),
        _ => driver(s, view, texels, sampler, SampleOp::decode(word), family, cells),
    }
}

/// The one place where the driver is compiled for a level.
#[inline(never)]
fn driver<S: Simd>(
    s: S,
    view: &Kernel,
    texels: Texels<'_>,
    sampler: &Sampler,
    op: SampleOp,
    family: &Family<S>,
    cells: &mut Cells,
) {
    s.call(
        #[inline(always)]
        |s| sample(s, view, texels, &sampler.d, op, family, cells),
    );
}

fn own(view: &Kernel) -> Texels<'_> {
    Texels {
        words: view.words,
        bytes: view.bytes,
        format: view.format,
    }
}

unsafe extern "C" fn load_entry<T: Chosen, C: Class>(
    a: *const Binding,
    _: *const Binding,
    op: u64,
    cells: *mut Cell,
    _lanes: u32,
) {
    // SAFETY: this function's own contract is theirs; there is no sampler.
    let (view, _, cells) = unsafe { arguments(a, std::ptr::null(), cells) };
    let Some(view) = view else { return empty(cells, 4) };
    let op = TexelOp::decode(op);
    // SAFETY: bindings get this function only where the machine has the instructions.
    unsafe { T::get() }.call(
        #[inline(always)]
        |s| load::<_, C>(s, view, own(view), op, cells),
    );
}
