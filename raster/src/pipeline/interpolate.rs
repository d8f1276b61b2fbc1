//! Interpolation of fragment inputs as IR (law N5, R-RAST-140..146).
//!
//! `a = a0 + b1*(a1-a0) + b2*(a2-a0)` with barycentrics of the evaluation point: perspective-correct or linear.

use super::emit::Emit;
use super::state::Rules;
use crate::geometry::sample_pattern;
use crate::layout::prim;
use quadrille_frontend::ir::{Alu, Interpolation, Kind, Op, Sampling, Value};

/// What covers a pixel, sample by sample.
#[derive(Clone, Debug)]
pub(super) struct Coverage {
    /// The primitive's own.
    pub raw: Vec<Value>,
    /// After the pipeline's sample mask (R-RAST-96).
    pub masked: Vec<Value>,
    /// That mask, in the low bits.
    pub mask: u32,
    /// Whether the pixel lies inside of the primitive for certain, if the shader asks (R-RAST-123).
    pub inner: Option<Value>,
    /// How much of the pixel an antialiased line covers (R-RAST-57).
    pub area: Option<Value>,
    /// All samples lie at the pixel's centre (R-RAST-91).
    pub centered: bool,
}

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

/// Barycentrics of vertices 1 and 2, 1/w and w.
#[derive(Clone, Copy)]
struct Weights {
    linear: (Value, Value),
    perspective: (Value, Value),
    inverse_w: Value,
    w: Value,
}

/// What has been computed at a point so far.
#[derive(Clone, Copy)]
struct Evaluated {
    point: Point,
    weights: Option<Weights>,
    depth: Option<Value>,
}

/// Evaluates inputs at the points of one pixel, each thing once. A clone may be used in a nested body; what it computes
/// there is forgotten with it.
#[derive(Clone)]
pub(super) struct Interpolator {
    samples: u32,
    coverage: Coverage,
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
    pub fn new(e: &mut Emit, coverage: Coverage) -> Interpolator {
        let samples = coverage.raw.len() as u32;
        let px = e.b.inst1(Op::PixelX, &[], Kind::U32);
        let py = e.b.inst1(Op::PixelY, &[], Kind::U32);
        let x = e.alu(Alu::UToF, &[px]);
        let y = e.alu(Alu::UToF, &[py]);
        Interpolator {
            samples,
            coverage,
            base: (x, y),
            points: vec![None; samples as usize + 2],
        }
    }

    /// The same, with nothing computed yet.
    pub fn afresh(&self) -> Interpolator {
        Interpolator {
            points: vec![None; self.points.len()],
            ..self.clone()
        }
    }

    pub fn coverage(&self) -> &Coverage {
        &self.coverage
    }

    pub fn samples(&self) -> u32 {
        self.samples
    }

    fn slot(&self, at: At) -> usize {
        match at {
            _ if self.coverage.centered => 0,
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

    /// Coordinates of a point.
    pub fn point(&mut self, e: &mut Emit, at: At) -> Point {
        let slot = self.slot(at);
        if let Some(done) = self.points[slot] {
            return done.point;
        }
        let offset = match at {
            _ if self.coverage.centered => (e.f32(0.5), e.f32(0.5)),
            At::Center => (e.f32(0.5), e.f32(0.5)),
            At::Sample(s) => sample_offset(e, self.samples, s),
            At::Centroid => self.centroid(e),
        };
        let point = self.point_at(e, offset);
        self.points[slot] = Some(Evaluated {
            point,
            weights: None,
            depth: None,
        });
        point
    }

    /// R-RAST-99: the centre if the primitive covers all samples, else the first covered sample in the mask; where there
    /// is none, the mask's first sample, or the centre if the mask has all.
    fn centroid(&self, e: &mut Emit) -> (Value, Value) {
        let all = ((1u64 << self.samples) - 1) as u32;
        let mask = self.coverage.mask & all;
        let mut at = if mask == all || mask == 0 {
            (e.f32(0.5), e.f32(0.5))
        } else {
            sample_offset(e, self.samples, mask.trailing_zeros())
        };
        for s in (0..self.samples).rev().filter(|s| mask >> s & 1 != 0) {
            let (x, y) = sample_offset(e, self.samples, s);
            let covered = self.coverage.masked[s as usize];
            at = (e.select(covered, x, at.0), e.select(covered, y, at.1));
        }
        let mut full = self.coverage.raw[0];
        for &c in &self.coverage.raw[1..] {
            full = e.and(full, c);
        }
        let half = e.f32(0.5);
        (e.select(full, half, at.0), e.select(full, half, at.1))
    }

    fn point_at(&self, e: &mut Emit, offset: (Value, Value)) -> Point {
        let x = e.fadd(self.base.0, offset.0);
        let y = e.fadd(self.base.1, offset.1);
        let (x0, y0) = (e.prim_f32(prim::X0), e.prim_f32(prim::Y0));
        Point {
            x,
            y,
            dx: e.fsub(x, x0),
            dy: e.fsub(y, y0),
        }
    }

    /// Makes the centre the sample of that (dynamic) index, or the real centre beyond the last one (R-RAST-147).
    pub fn move_to_sample(&mut self, e: &mut Emit, index: Value) {
        let mut at = (e.f32(0.5), e.f32(0.5));
        for s in (0..self.samples).filter(|_| !self.coverage.centered) {
            let number = e.u32(s);
            let here = e.alu(Alu::IEq, &[index, number]);
            let (x, y) = sample_offset(e, self.samples, s);
            at = (e.select(here, x, at.0), e.select(here, y, at.1));
        }
        self.move_to(e, at);
    }

    /// Makes the centre the point that far from the real one, in pixels.
    pub fn move_by(&mut self, e: &mut Emit, x: Value, y: Value) {
        let half = e.f32(0.5);
        let at = (e.fadd(half, x), e.fadd(half, y));
        self.move_to(e, at);
    }

    fn move_to(&mut self, e: &mut Emit, offset: (Value, Value)) {
        let point = self.point_at(e, offset);
        let slot = self.slot(At::Center);
        self.points[slot] = Some(Evaluated {
            point,
            weights: None,
            depth: None,
        });
    }

    /// Post-viewport depth at a point; what early test, late test and shader all use (R-RAST-143).
    pub fn depth(&mut self, e: &mut Emit, at: At) -> Value {
        let point = self.point(e, at);
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

    fn weights(&mut self, e: &mut Emit, at: At) -> Weights {
        let point = self.point(e, at);
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
            w,
        };
        if let Some(entry) = &mut self.points[slot] {
            entry.weights = Some(weights);
        }
        weights
    }

    /// Fragment position's w: 1/w for WebGPU, w for Direct3D (R-RAST-144, R-WGSL-6).
    pub fn position_w(&mut self, e: &mut Emit, at: At, rules: Rules) -> Value {
        let weights = self.weights(e, at);
        match rules {
            Rules::WebGpu => weights.inverse_w,
            Rules::D3d11 => weights.w,
        }
    }

    /// A word of the vertex attribute blocks.
    pub fn attribute(&mut self, e: &mut Emit, word: u32, kind: Kind, interpolation: Interpolation, at: At) -> Value {
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
        let weights = self.weights(e, at);
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

/// A sample's place from the pixel's corner.
fn sample_offset(e: &mut Emit, samples: u32, sample: u32) -> (Value, Value) {
    let [x, y] = sample_pattern(samples)[sample as usize];
    let constant = |e: &mut Emit, units: i8| e.f32(0.5 + f32::from(units) / 16.0);
    (constant(e, x), constant(e, y))
}
