//! Texel loads by integer coordinates (R-SAMP-66, 67; R-WGSL-52).

use super::class::Class;
use super::coords::Level;
use super::sample::Cells;
use super::surface::Texels;
use super::view::Kernel;
use crate::simd::{Floats, Ints, Simd, inlined};
use quadrille_frontend::ir::{Dim, TexelOp};
use quadrille_jit::abi::{Cell, RESULT_CELL};

/// Loads texels. Any coordinate, layer, level or sample out of range gives 0 in the format's components.
#[inline(always)]
pub(super) fn load<S: Simd, C: Class>(s: S, view: &Kernel, texels: Texels<'_>, op: TexelOp, cells: &mut Cells) {
    let zero = s.i32(0);
    let arg = inlined(
        #[inline(always)]
        |i: usize| s.load_u32(&cells[1 + i].0),
    );
    // As unsigned numbers: negative is beyond everything.
    let inside = inlined(
        #[inline(always)]
        |v: S::I, last: S::I| !(v.gt(last) | zero.gt(v)),
    );
    let axes = match op.dim {
        Dim::D1 => 1,
        Dim::D2 | Dim::Cube => 2,
        Dim::D3 => 3,
    };
    let mut next = axes;
    let mut valid = zero.eq(zero);
    let mut base = zero;
    if op.array {
        let layer = arg(next);
        valid = valid & inside(layer, s.i32(view.last_layer));
        base = layer * s.i32(view.layer_texels);
        next += 1;
    }
    let last_arg = arg(next);
    let level = if op.multisampled {
        valid = valid & inside(last_arg, s.i32(view.samples - 1));
        base = base + last_arg * s.i32(view.surface[0]);
        zero
    } else {
        valid = valid & inside(last_arg, s.i32(view.levels as i32 - 1));
        valid.select(last_arg, zero)
    };
    let l = Level::of(s, view, level);
    let mut at = [zero; 3];
    for (c, at) in at.iter_mut().enumerate().take(axes) {
        *at = arg(c);
        valid = valid & inside(*at, l.last[c]);
    }
    let mut index = base + l.base + l.column(at[0]) + l.line(at[1]);
    if op.dim == Dim::D3 {
        index = index + at[2] * l.surface;
    }
    let [texel] = C::fetch::<S, 1>(s, view, texels.words, texels.bytes, [valid.select(index, zero)]);
    let wanted = view.in_memory_order(op.mask);
    for c in 0..4 {
        let to = if view.swap && c < 3 { 2 - c } else { c };
        let word = if view.present >> c & 1 == 0 {
            if c == 3 { s.i32(view.alpha as i32) } else { zero }
        } else if wanted >> c & 1 != 0 {
            let v = C::component(s, texel, c);
            let v = if C::CODE == 1.0 { v } else { v / s.f32(C::CODE) };
            v.bits() & valid
        } else {
            zero
        };
        cells[RESULT_CELL + to] = Cell(word.to_u32());
    }
    cells[RESULT_CELL + 4] = Cell([u32::MAX; 8]);
}
