//! From coordinates to the texels of a tap, in any shape of texture. Nothing here knows formats: the result is indices.

use super::coords::{Axis, Level, Reduced, axis, fixed, reduce};
use super::cube::{self, across};
use super::descriptor::{AddressMode, SamplerDescriptor};
use super::view::Kernel;
use crate::simd::{Floats, Ints, Simd, each, inlined};
use quadrille_frontend::ir::Dim;

/// What all taps of a call share.
pub(super) struct Source<'a, S: Simd> {
    pub s: S,
    pub view: &'a Kernel,
    pub sampler: &'a SamplerDescriptor,
    pub dim: Dim,
    pub offset: [i32; 3],
    /// First texel of each lane's layer, cube or volume.
    pub layer: S::I,
    /// Whether any lane filters linearly; else only the first texel of a tap is meant.
    pub linear: bool,
}

/// The texels around a point of one surface.
#[derive(Clone, Copy)]
pub(super) struct Tap<S: Simd> {
    /// (0,0) (1,0) (0,1) (1,1).
    pub index: [S::I; 4],
    /// Lanes in which that texel is the border.
    pub border: [S::I; 4],
    /// Weights of the second column and row, out of 256.
    pub wx: S::I,
    pub wy: S::I,
}

/// The texels around a point.
#[derive(Clone, Copy)]
pub(super) struct Taps<S: Simd> {
    pub first: Tap<S>,
    /// Volumes: the next slice and its weight out of 256, where any lane needs it.
    pub second: Option<(Tap<S>, S::I)>,
    /// Cube corners: lanes in which a texel doesn't exist and is the mean of the others.
    pub missing: Option<[S::I; 4]>,
}

/// A point to sample.
#[derive(Clone, Copy)]
pub(super) enum Point<S: Simd> {
    /// Reduced u, v, w.
    Flat([Reduced<S>; 3]),
    /// Face and reduced coordinates on it.
    Cube(S::I, [Reduced<S>; 2]),
}

impl<S: Simd> Source<'_, S> {
    /// Range reduction of normalised coordinates (directions of cubes: face selection).
    #[inline(always)]
    pub fn point(&self, uvw: [S::F; 3]) -> Point<S> {
        let (s, mode) = (self.s, &self.sampler.address);
        if self.dim == Dim::Cube {
            let f = cube::select(s, uvw);
            return Point::Cube(f.face, each!(2; u in f.uv => reduce(s, AddressMode::ClampToEdge, u)));
        }
        let u = reduce(s, mode[0], uvw[0]);
        let v = reduce(s, mode[1], uvw[1]);
        let w = if self.dim == Dim::D3 {
            reduce(s, mode[2], uvw[2])
        } else {
            v
        };
        Point::Flat([u, v, w])
    }

    /// The texels of a point in one level. In lanes of `linear` a footprint of two by two, else the nearest texel, with weight 0
    /// for the others.
    #[inline(always)]
    pub fn taps(&self, point: &Point<S>, level: &Level<S>, linear: S::I) -> Taps<S> {
        match point {
            Point::Flat(uvw) if self.dim == Dim::D2 => {
                let [x, y] = each!(2; c in [0, 1] => self.axis(c, &uvw[c], level, linear));
                let first = self.flat(level, level.base + self.layer, &x, &y);
                Taps {
                    first,
                    second: None,
                    missing: None,
                }
            }
            Point::Flat(uvw) => self.line_or_volume(uvw, level, linear),
            Point::Cube(face, uv) => self.cube(*face, uv, level, linear),
        }
    }

    #[inline(always)]
    fn axis(&self, c: usize, r: &Reduced<S>, level: &Level<S>, linear: S::I) -> Axis<S> {
        let mode = self.sampler.address[c];
        let power_of_two = self.view.power_of_two && c < 2;
        let offset = self.offset[c];
        axis(
            self.s,
            mode,
            power_of_two,
            r,
            level.size[c],
            level.last[c],
            offset,
            linear,
            self.linear,
        )
    }

    #[inline(always)]
    fn flat(&self, level: &Level<S>, base: S::I, x: &Axis<S>, y: &Axis<S>) -> Tap<S> {
        let (c0, r0) = (level.column(x.t[0]), base + level.line(y.t[0]));
        let (mut c1, mut r1) = (c0, r0);
        if self.linear {
            (c1, r1) = (level.column(x.t[1]), base + level.line(y.t[1]));
        }
        let ([x0, x1], [y0, y1]) = (x.border, y.border);
        Tap {
            index: [r0 + c0, r0 + c1, r1 + c0, r1 + c1],
            border: [x0 | y0, x1 | y0, x0 | y1, x1 | y1],
            wx: x.w,
            wy: y.w,
        }
    }

    /// 1d and 3d textures.
    #[inline(always)]
    fn line_or_volume(&self, uvw: &[Reduced<S>; 3], level: &Level<S>, linear: S::I) -> Taps<S> {
        let s = self.s;
        let zero = s.i32(0);
        let base = level.base + self.layer;
        let x = self.axis(0, &uvw[0], level, linear);
        if self.dim == Dim::D1 {
            let y = Axis {
                t: [zero; 2],
                border: [zero; 2],
                w: zero,
            };
            return Taps {
                first: self.flat(level, base, &x, &y),
                second: None,
                missing: None,
            };
        }
        let y = self.axis(1, &uvw[1], level, linear);
        let z = self.axis(2, &uvw[2], level, linear);
        let slice = inlined(
            #[inline(always)]
            |i: usize| {
                let x = Axis {
                    border: [x.border[0] | z.border[i], x.border[1] | z.border[i]],
                    ..x
                };
                self.flat(level, base + z.t[i] * level.surface, &x, &y)
            },
        );
        let second = if z.w.gt(zero).any() {
            Some((slice(1), z.w))
        } else {
            None
        };
        Taps {
            first: slice(0),
            second,
            missing: None,
        }
    }

    #[inline(always)]
    fn cube(&self, face: S::I, uv: &[Reduced<S>; 2], level: &Level<S>, linear: S::I) -> Taps<S> {
        let s = self.s;
        let zero = s.i32(0);
        let half = (s.f32(128.0).bits() & linear).as_f32();
        let last = level.last[0];
        let cube = level.base + self.layer;
        let x = fixed(&uv[0], level.size[0], half);
        let y = fixed(&uv[1], level.size[0], half);
        let (wx, wy) = (x & s.i32(255) & linear, y & s.i32(255) & linear);
        let (x, y) = (x.sar::<8>(), y.sar::<8>());
        let outside = inlined(
            #[inline(always)]
            |t: S::I| zero.gt(t) | (t + s.i32(1)).gt(last),
        );
        if ((outside(x) | outside(y)) & linear).any() {
            let (index, missing) = crossing(s, self.view, level, cube, face, [x, y], linear);
            let first = Tap {
                index,
                border: [zero; 4],
                wx,
                wy,
            };
            return Taps {
                first,
                second: None,
                missing,
            };
        }
        // A point never leaves its face (R-SAMP-84).
        let inside = inlined(
            #[inline(always)]
            |t: S::I| t.max(zero).min(last),
        );
        let axis = inlined(
            #[inline(always)]
            |t: S::I, w| Axis {
                t: [inside(t), inside(t + s.i32(1))],
                border: [zero; 2],
                w,
            },
        );
        let base = cube + face * s.i32(self.view.layer_texels);
        Taps {
            first: self.flat(level, base, &axis(x, wx), &axis(y, wy)),
            second: None,
            missing: None,
        }
    }
}

/// Indices of the four texels at `at` and beyond, where some lie on other faces, and which of them don't exist. Lanes that don't
/// filter linearly stay on their face.
#[inline(always)]
pub(super) fn crossing<S: Simd>(
    s: S,
    view: &Kernel,
    level: &Level<S>,
    cube: S::I,
    face: S::I,
    at: [S::I; 2],
    linear: S::I,
) -> ([S::I; 4], Option<[S::I; 4]>) {
    let last = level.last[0];
    let one = s.i32(1);
    // The mask is -1 where one texel more on each side is allowed. Coordinates of real lanes are within one
    // texel; stale ones may be anything.
    let inside = inlined(
        #[inline(always)]
        |t: S::I| t.max(linear).min(last - linear),
    );
    let [x0, y0] = each!(2; t in at => inside(t));
    let [x1, y1] = each!(2; t in at => inside(t + one));
    let taps = each!(4; (x, y) in [(x0, y0), (x1, y0), (x0, y1), (x1, y1)] => across(s, face, x, y, last));
    let missing = each!(4; i in [0, 1, 2, 3] => taps[i].missing);
    let index = each!(4; t in taps => {
        cube + t.face * s.i32(view.layer_texels) + level.line(t.y) + level.column(t.x)
    });
    let any = (missing[0] | missing[1] | missing[2] | missing[3]).any();
    (index, if any { Some(missing) } else { None })
}

/// Replaces the component of a missing corner texel by the mean of the three others (R-SAMP-83).
#[inline(always)]
pub(super) fn fill_corners<S: Simd>(s: S, c: [S::F; 4], missing: &[S::I; 4]) -> [S::F; 4] {
    let third = s.f32(3.0);
    let others = [[1, 2, 3], [0, 2, 3], [0, 1, 3], [0, 1, 2]];
    each!(4; i in [0, 1, 2, 3] => {
        let [a, b, d] = each!(3; k in others[i] => c[k]);
        missing[i].select_f((a + b + d) / third, c[i])
    })
}
