//! Interpolation of fragment inputs as IR (law N5, R-RAST-140..146).
//!
//! `a = a0 + b1*(a1-a0) + b2*(a2-a0)` with barycentrics of the evaluation point: perspective-correct or linear.

use super::emit::Emit;
use crate::geometry::sample_pattern;
use crate::layout::prim;
use quadrille_frontend::ir::{Alu, Interpolation, Kind, Op, Sampling, Value};

/// A point where inputs are evaluated.
#[derive(Clone, Copy)]
pub(super) struct Point {
    /// Pixel coordinates.
    pub x: Value,
    pub y: Value,
    /// From vertex 0 of the primitive; exact.
    dx: Value,
    dy: Value,
}

/// Barycentrics of vertices 1 and 2, and 1/w.
#[derive(Clone, Copy)]
struct Weights {
    linear: (Value, Value),
    perspective: (Value, Value),
    inverse_w: Value,
}

/// What has been computed at a point so far.
#[derive(Clone, Copy)]
struct Evaluated {
    point: Point,
    weights: Option<Weights>,
    depth: Option<Value>,
}

/// Evaluates inputs at the points of one pixel, each thing once.
pub(super) struct Interpolator {
    samples: u32,
    base: (Value, Value),
    /// Pixel centre, then samples, then the centroid.
    points: Vec<Option<Evaluated>>,
}

/// Which point of the pixel.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum At {
    Center,
    Sample(u32),
    Centroid,
}

impl Interpolator {
    pub fn new(e: &mut Emit, samples: u32) -> Interpolator {
        let px = e.b.inst1(Op::PixelX, &[], Kind::U32);
        let py = e.b.inst1(Op::PixelY, &[], Kind::U32);
        let x = e.alu(Alu::UToF, &[px]);
        let y = e.alu(Alu::UToF, &[py]);
        Interpolator {
            samples,
            base: (x, y),
            points: vec![None; samples as usize + 2],
        }
    }

    fn slot(&self, at: At) -> usize {
        match at {
            At::Center => 0,
            At::Sample(s) => 1 + s as usize,
            At::Centroid => 1 + self.samples as usize,
        }
    }

    /// Where an input of that sampling is evaluated when the shader runs for `sample` (or the whole pixel).
    pub fn at(&self, sampling: Sampling, sample: Option<u32>) -> At {
        match (sampling, sample) {
            (Sampling::Sample, Some(s)) if self.samples > 1 => At::Sample(s),
            (Sampling::Centroid, _) if self.samples > 1 => At::Centroid,
            _ => At::Center,
        }
    }

    /// Coordinates of a point. `coverage`: of each sample, for the centroid.
    pub fn point(&mut self, e: &mut Emit, at: At, coverage: &[Value]) -> Point {
        let slot = self.slot(at);
        if let Some(done) = self.points[slot] {
            return done.point;
        }
        let offsets = sample_pattern(self.samples);
        let constant = |e: &mut Emit, units: i8| e.f32(0.5 + f32::from(units) / 16.0);
        let (ox, oy) = match at {
            At::Center => (e.f32(0.5), e.f32(0.5)),
            At::Sample(s) => {
                let [ox, oy] = offsets[s as usize];
                (constant(e, ox), constant(e, oy))
            }
            // R-RAST-99: the centre if all samples are covered or none is, else the first covered one.
            At::Centroid => {
                let (mut x, mut y) = (e.f32(0.5), e.f32(0.5));
                for (s, &[ox, oy]) in offsets.iter().enumerate().rev() {
                    let (ox, oy) = (constant(e, ox), constant(e, oy));
                    x = e.select(coverage[s], ox, x);
                    y = e.select(coverage[s], oy, y);
                }
                let mut all = coverage[0];
                for &c in &coverage[1..] {
                    all = e.and(all, c);
                }
                let half = e.f32(0.5);
                (e.select(all, half, x), e.select(all, half, y))
            }
        };
        let x = e.fadd(self.base.0, ox);
        let y = e.fadd(self.base.1, oy);
        let (x0, y0) = (e.prim_f32(prim::X0), e.prim_f32(prim::Y0));
        let point = Point {
            x,
            y,
            dx: e.fsub(x, x0),
            dy: e.fsub(y, y0),
        };
        self.points[slot] = Some(Evaluated {
            point,
            weights: None,
            depth: None,
        });
        point
    }

    /// Post-viewport depth at a point; what early test, late test and shader all use (R-RAST-143).
    pub fn depth(&mut self, e: &mut Emit, at: At, coverage: &[Value]) -> Value {
        let point = self.point(e, at, coverage);
        let slot = self.slot(at);
        if let Some(Evaluated { depth: Some(z), .. }) = self.points[slot] {
            return z;
        }
        let (z0, zx, zy) = (e.prim_f32(prim::Z0), e.prim_f32(prim::DZDX), e.prim_f32(prim::DZDY));
        let z = e.fma(point.dx, zx, z0);
        let z = e.fma(point.dy, zy, z);
        if let Some(entry) = &mut self.points[slot] {
            entry.depth = Some(z);
        }
        z
    }

    fn weights(&mut self, e: &mut Emit, at: At, coverage: &[Value]) -> Weights {
        let point = self.point(e, at, coverage);
        let slot = self.slot(at);
        if let Some(Evaluated {
            weights: Some(weights), ..
        }) = self.points[slot]
        {
            return weights;
        }
        let barycentric = |e: &mut Emit, gx: u32, gy: u32| {
            let (gx, gy) = (e.prim_f32(gx), e.prim_f32(gy));
            let l = e.fmul(point.dx, gx);
            e.fma(point.dy, gy, l)
        };
        let l1 = barycentric(e, prim::L1_DX, prim::L1_DY);
        let l2 = barycentric(e, prim::L2_DX, prim::L2_DY);
        let (w0, w1, w2) = (e.prim_f32(prim::IW0), e.prim_f32(prim::IW1), e.prim_f32(prim::IW2));
        let (d1, d2) = (e.fsub(w1, w0), e.fsub(w2, w0));
        let inverse_w = e.fma(l1, d1, w0);
        let inverse_w = e.fma(l2, d2, inverse_w);
        let one = e.f32(1.0);
        let w = e.alu(Alu::FDiv, &[one, inverse_w]);
        let (p1, p2) = (e.fmul(l1, w1), e.fmul(l2, w2));
        let weights = Weights {
            linear: (l1, l2),
            perspective: (e.fmul(p1, w), e.fmul(p2, w)),
            inverse_w,
        };
        if let Some(entry) = &mut self.points[slot] {
            entry.weights = Some(weights);
        }
        weights
    }

    /// 1/w at a point (WGSL's position.w, R-RAST-144).
    pub fn inverse_w(&mut self, e: &mut Emit, at: At, coverage: &[Value]) -> Value {
        self.weights(e, at, coverage).inverse_w
    }

    /// A word of the vertex attribute blocks.
    pub fn attribute(
        &mut self,
        e: &mut Emit,
        word: u32,
        kind: Kind,
        interpolation: Interpolation,
        at: At,
        coverage: &[Value],
    ) -> Value {
        let load = |e: &mut Emit, vertex: u8| {
            e.b.inst1(
                Op::PrimVertexLoad {
                    vertex,
                    offset: word * 4,
                    kind,
                },
                &[],
                kind,
            )
        };
        let a0 = load(e, 0);
        if interpolation == Interpolation::Flat || kind != Kind::F32 {
            return a0;
        }
        let weights = self.weights(e, at, coverage);
        let (b1, b2) = if interpolation == Interpolation::Linear {
            weights.linear
        } else {
            weights.perspective
        };
        let (a1, a2) = (load(e, 1), load(e, 2));
        let (d1, d2) = (e.fsub(a1, a0), e.fsub(a2, a0));
        let a = e.fma(b1, d1, a0);
        e.fma(b2, d2, a)
    }
}
