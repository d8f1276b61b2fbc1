//! Which levels a call reads and how many anisotropic taps it takes: from derivatives or operands to [`Selection`].

use super::cube;
use super::descriptor::{FilterMode, SamplerDescriptor};
use super::lod::{Footprint, Levels, anisotropic, isotropic, levels};
use super::sample::Args;
use super::view::Kernel;
use crate::simd::{Floats, Ints, Simd, each, inlined};
use quadrille_frontend::ir::{Dim, Lod, SampleOp};

/// What to read.
pub(super) struct Selection<S: Simd> {
    pub levels: Levels<S>,
    /// Most taps of any lane.
    pub count: i32,
    /// Where further taps lie, for anisotropic samplers.
    pub footprint: Option<Line<S>>,
}

/// Taps along a line.
pub(super) struct Line<S: Simd> {
    /// Major axis in normalised coordinates.
    axis: [S::F; 2],
    /// Taps of each lane.
    pub taps: S::I,
    /// 1 / (taps + 1).
    step: S::F,
}

impl<S: Simd> Line<S> {
    /// Coordinates of tap `i`, from 1 (R-SAMP-44).
    #[inline(always)]
    pub fn tap(&self, s: S, uv: [S::F; 2], i: i32) -> [S::F; 2] {
        let along = s.f32(i as f32) * self.step - s.f32(0.5);
        [uv[0] + self.axis[0] * along, uv[1] + self.axis[1] * along]
    }
}

/// LOD by the operation's rule, then bias, clamps and levels. Reads the rest of the arguments.
#[inline(always)]
pub(super) fn select<S: Simd>(
    s: S,
    view: &Kernel,
    d: &SamplerDescriptor,
    op: &SampleOp,
    args: &mut Args<'_>,
    uvw: [S::F; 3],
) -> Selection<S> {
    let explicit = matches!(op.lod, Lod::Level | Lod::Zero);
    let anisotropy = d.max_anisotropy > 1 && op.dim == Dim::D2 && !explicit;
    if op.gather.is_some() || (view.levels == 1 && d.mag_filter == d.min_filter && !anisotropy) {
        let linear = s.i32(-i32::from(d.mag_filter == FilterMode::Linear));
        let levels = Levels {
            level: s.i32(0),
            weight: s.i32(0),
            linear,
        };
        return Selection {
            levels,
            count: 1,
            footprint: None,
        };
    }
    let lod = match op.lod {
        Lod::Zero => s.f32(0.0),
        Lod::Level => args.float(s) * s.f32(256.0),
        Lod::Implicit | Lod::Bias | Lod::Grad => {
            let coords = op.dim.coords();
            let (dx, dy) = if op.lod == Lod::Grad {
                (args.vector(s, coords), args.vector(s, coords))
            } else {
                // Coarse differences of the quad (R-PS-65).
                let first = each!(3; c in uvw => c.quad::<0>());
                let to = inlined(
                    #[inline(always)]
                    |q: [S::F; 3]| [q[0] - first[0], q[1] - first[1], q[2] - first[2]],
                );
                (
                    to(each!(3; c in uvw => c.quad::<1>())),
                    to(each!(3; c in uvw => c.quad::<2>())),
                )
            };
            let size = each!(3; c in [0, 1, 2] => s.f32(view.size[c]));
            let bias = if op.lod == Lod::Bias {
                // R-SAMP-61.
                args.float(s).max(s.f32(-16.0)).min(s.f32(15.99)) * s.f32(256.0)
            } else {
                s.f32(0.0)
            };
            let scale = inlined(
                #[inline(always)]
                |v: [S::F; 3]| [v[0] * size[0], v[1] * size[1], v[2] * size[2]],
            );
            if anisotropy {
                return line(s, view, d, size, scale(dx), scale(dy), bias);
            }
            let lod = match op.dim {
                Dim::D1 => isotropic(s, &scale(dx)[..1], &scale(dy)[..1]),
                Dim::D2 => isotropic(s, &scale(dx)[..2], &scale(dy)[..2]),
                Dim::D3 => isotropic(s, &scale(dx), &scale(dy)),
                Dim::Cube => {
                    let f = cube::select(s, uvw);
                    isotropic(s, &f.derivative(s, size[0], dx), &f.derivative(s, size[0], dy))
                }
            };
            lod + bias
        }
    };
    Selection {
        levels: levels(s, d, view.levels, lod),
        count: 1,
        footprint: None,
    }
}

#[inline(always)]
fn line<S: Simd>(
    s: S,
    view: &Kernel,
    d: &SamplerDescriptor,
    size: [S::F; 3],
    dx: [S::F; 3],
    dy: [S::F; 3],
    bias: S::F,
) -> Selection<S> {
    let max = f32::from(d.max_anisotropy);
    let Footprint { lod, taps, axis } = anisotropic(s, [dx[0], dx[1]], [dy[0], dy[1]], max);
    let step = s.f32(1.0) / (taps + s.i32(1)).to_f32();
    let axis = [axis[0] / size[0], axis[1] / size[1]];
    let mut count = 1;
    for taps in taps.to_array() {
        count = count.max(taps);
    }
    let levels = levels(s, d, view.levels, lod + bias);
    Selection {
        levels,
        count,
        footprint: Some(Line { axis, taps, step }),
    }
}
