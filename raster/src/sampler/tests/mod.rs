//! Tests through the ABI: worked values of the rules, a naive sampler, and the agreement of all instruction levels.

mod batch;
mod blocks;
mod cubes;
mod naive;
mod random;
mod rules;
mod upper;

use super::*;
use crate::format::TextureFormat;
use crate::simd::Level;
use crate::texture::{MemoryBudget, Texture, TextureDescriptor, TextureView};
use quadrille_frontend::ir::{Dim, Lod, SampleOp, TexelOp};
use quadrille_jit::abi::{Binding, CALL_CELLS, Cell, RESULT_CELL};
use std::sync::Arc;

/// A small generator of numbers.
struct Rng(u64);

impl Rng {
    fn next(&mut self) -> u32 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 32) as u32
    }

    fn below(&mut self, n: u32) -> u32 {
        ((u64::from(self.next()) * u64::from(n)) >> 32) as u32
    }

    fn unit(&mut self) -> f32 {
        (self.next() >> 8) as f32 / 16_777_216.0
    }

    fn range(&mut self, low: f32, high: f32) -> f32 {
        low + (high - low) * self.unit()
    }
}

fn budget() -> Arc<MemoryBudget> {
    MemoryBudget::new(1 << 28)
}

fn sampled(texture: &Arc<Texture>) -> Arc<SampledView> {
    SampledView::new(&TextureView::whole(texture).unwrap()).unwrap()
}

const OP: SampleOp = SampleOp {
    dim: Dim::D2,
    array: false,
    lod: Lod::Implicit,
    compare: false,
    gather: None,
    offset: [0; 3],
    mask: 15,
};

/// Calls an intrinsic at a level; returns the result cells.
fn call_at(level: Level, view: &SampledView, sampler: Option<&Sampler>, op: u64, args: &[[u32; 8]]) -> [[u32; 8]; 5] {
    let _guard = view.begin_read().unwrap();
    let mut cells = [Cell([0xdead_beef; 8]); CALL_CELLS];
    cells[0] = Cell([u32::MAX; 8]);
    for (cell, arg) in cells[1..].iter_mut().zip(args) {
        *cell = Cell(*arg);
    }
    let a = view.binding_at(level);
    let b = sampler.map_or(Binding::NULL, Sampler::binding);
    let f = if sampler.is_some() { a.sample } else { a.load }.unwrap();
    // SAFETY: bindings of a live view and sampler, the cells are ours, the guard is held.
    unsafe { f(&a, &b, op, cells.as_mut_ptr(), 8) };
    assert_ne!(upper::in_use(), Some(true), "AVX state is left behind");
    std::array::from_fn(|i| cells[RESULT_CELL + i].0)
}

/// Calls at every level and checks that all agree to the bit.
fn call(view: &SampledView, sampler: Option<&Sampler>, op: u64, args: &[[u32; 8]]) -> [[u32; 8]; 5] {
    let mut a = call_at(Level::Portable, view, sampler, op, args);
    let mut b = call_at(Level::detect(), view, sampler, op, args);
    let decoded = SampleOp::decode(op);
    if sampler.is_some() && !decoded.compare && decoded.gather.is_none() {
        // Components not asked for may hold anything.
        for c in (0..4).filter(|c| decoded.mask >> c & 1 == 0) {
            (a[c], b[c]) = ([0; 8], [0; 8]);
        }
    }
    assert_eq!(
        a,
        b,
        "instruction levels differ: {:?} {:?}",
        SampleOp::decode(op),
        view.view()
    );
    a
}

fn sample(view: &SampledView, sampler: &Sampler, op: SampleOp, args: &[[f32; 8]]) -> [[f32; 8]; 4] {
    let args: Vec<[u32; 8]> = args.iter().map(|a| a.map(f32::to_bits)).collect();
    let out = call(view, Some(sampler), op.encode(), &args);
    std::array::from_fn(|c| out[c].map(f32::from_bits))
}

/// One lane's result for the same arguments in all lanes.
fn sample_one(view: &SampledView, sampler: &Sampler, op: SampleOp, args: &[f32]) -> [f32; 4] {
    let args: Vec<[f32; 8]> = args.iter().map(|&a| [a; 8]).collect();
    sample(view, sampler, op, &args).map(|c| c[0])
}

fn linear() -> SamplerDescriptor {
    SamplerDescriptor {
        mag_filter: FilterMode::Linear,
        min_filter: FilterMode::Linear,
        mipmap_filter: FilterMode::Linear,
        ..SamplerDescriptor::default()
    }
}

fn sampler(d: SamplerDescriptor) -> Sampler {
    Sampler::new(&d).unwrap()
}
