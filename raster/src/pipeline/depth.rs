//! Depth and stencil as IR: conversion, tests, operations (R-OM-1..25).

use super::emit::Emit;
use super::state::{CompareFunction, DepthStencilState, StencilFaceState, StencilOperation};
use crate::format::Kind as FormatKind;
use crate::layout::{PlaneLayout, draw, prim};
use quadrille_frontend::ir::{Alu, DepthOutput, Kind, Value};

/// Outcome of the tests of one sample, before anything is written.
#[derive(Clone, Copy)]
pub(super) struct Tested {
    /// Depth bounds, depth and stencil passed.
    pub pass: Option<Value>,
    /// The stored depth is within the bounds; elsewhere nothing happens at all.
    bounds: Option<Value>,
    depth_pass: Option<Value>,
    stencil_pass: Option<Value>,
    old_stencil: Option<Value>,
    /// Depth as the attachment stores it.
    stored_depth: Option<Value>,
}

/// Emits depth and stencil work of one pipeline.
#[derive(Clone, Copy)]
pub(super) struct DepthStencil<'a> {
    pub state: &'a DepthStencilState,
    pub planes: &'a PlaneLayout,
    /// Bounds of the stored depth (least, greatest).
    pub bounds: Option<[f32; 2]>,
}

fn compare(e: &mut Emit, func: CompareFunction, new: Value, old: Value, float: bool) -> Option<Value> {
    let (lt, le, eq, ne) = if float {
        (Alu::FLt, Alu::FLe, Alu::FEq, Alu::FNe)
    } else {
        (Alu::ULt, Alu::ULe, Alu::IEq, Alu::INe)
    };
    Some(match func {
        CompareFunction::Always => return None,
        CompareFunction::Never => e.b.bool(false),
        CompareFunction::Less => e.alu(lt, &[new, old]),
        CompareFunction::LessEqual => e.alu(le, &[new, old]),
        CompareFunction::Equal => e.alu(eq, &[new, old]),
        CompareFunction::NotEqual => e.alu(ne, &[new, old]),
        CompareFunction::Greater => e.alu(lt, &[old, new]),
        CompareFunction::GreaterEqual => e.alu(le, &[old, new]),
    })
}

impl DepthStencil<'_> {
    fn tests_depth(&self) -> bool {
        self.state.format.info().depth && self.state.depth_compare != CompareFunction::Always
    }

    fn writes_depth(&self) -> bool {
        self.state.format.info().depth && self.state.depth_write_enabled
    }

    /// Whether anything depends on the fragment's depth.
    pub fn needs_depth(&self) -> bool {
        self.tests_depth() || self.writes_depth()
    }

    /// Whether a fragment that fails a test may change the stencil.
    pub fn writes_on_failure(&self) -> bool {
        self.state.changes_stencil_on_failure()
    }

    /// Whether a sample that fails at the rasterizer's depth also fails at the shader's, which keeps `promise`
    /// (R-PS-28).
    pub fn fails_with(&self, promise: DepthOutput) -> bool {
        use CompareFunction::{Greater, GreaterEqual, Less, LessEqual};
        let fits = match promise {
            DepthOutput::Any => false,
            DepthOutput::GreaterEqual => matches!(self.state.depth_compare, Less | LessEqual),
            DepthOutput::LessEqual => matches!(self.state.depth_compare, Greater | GreaterEqual),
        };
        fits && self.tests_depth() && !self.state.uses_stencil()
    }

    /// The sample's stored depth is within the bounds.
    fn within_bounds(&self, e: &mut Emit, sample: u32) -> Option<Value> {
        let [least, greatest] = self.bounds?;
        let plane = self.planes.depth(sample)?;
        let kind = self.depth_kind();
        let mut old = e.tile_load(plane, kind);
        if kind == Kind::U32 {
            let f = e.alu(Alu::UToF, &[old]);
            let max = e.f32(((1u32 << self.state.format.info().fields[0].bits) - 1) as f32);
            old = e.alu(Alu::FDiv, &[f, max]);
        }
        let (least, greatest) = (e.f32(least), e.f32(greatest));
        let above = e.alu(Alu::FLe, &[least, old]);
        let below = e.alu(Alu::FLe, &[old, greatest]);
        Some(e.and(above, below))
    }

    /// Clamps to the viewport's range (R-OM-3) and converts to the attachment's format (R-OM-4).
    pub fn convert(&self, e: &mut Emit, z: Value) -> Value {
        let min = e.draw(draw::MIN_DEPTH, Kind::F32);
        let max = e.draw(draw::MAX_DEPTH, Kind::F32);
        let z = e.alu(Alu::FMax, &[z, min]);
        let z = e.alu(Alu::FMin, &[z, max]);
        let info = self.state.format.info();
        match info.kind {
            FormatKind::Unorm => e.unorm_code(z, ((1u32 << info.fields[0].bits) - 1) as f32),
            _ => z,
        }
    }

    fn depth_kind(&self) -> Kind {
        match self.state.format.info().kind {
            FormatKind::Unorm => Kind::U32,
            _ => Kind::F32,
        }
    }

    /// Tests one sample; `depth` is its converted depth (needed if [`needs_depth`](Self::needs_depth)).
    pub fn test(&self, e: &mut Emit, sample: u32, depth: Option<Value>, front: Option<Value>) -> Tested {
        let mut tested = Tested {
            pass: None,
            bounds: self.within_bounds(e, sample),
            depth_pass: None,
            stencil_pass: None,
            old_stencil: None,
            stored_depth: depth,
        };
        if self.state.uses_stencil()
            && let Some(plane) = self.planes.stencil(sample)
        {
            let old = e.tile_load(plane, Kind::U32);
            tested.old_stencil = Some(old);
            let read = self.state.stencil_read_mask & 0xff;
            let reference = e.draw(draw::STENCIL_REFERENCE, Kind::U32);
            let reference = e.and_const(reference, read);
            let stored = e.and_const(old, read);
            let f = compare(e, self.state.stencil_front.compare, reference, stored, false);
            let b = compare(e, self.state.stencil_back.compare, reference, stored, false);
            tested.stencil_pass = if self.state.stencil_front.compare == self.state.stencil_back.compare {
                f
            } else {
                let t = e.b.bool(true);
                let (f, b) = (f.unwrap_or(t), b.unwrap_or(t));
                Some(match front {
                    Some(front) => e.select(front, f, b),
                    None => f,
                })
            };
        }
        if self.tests_depth()
            && let (Some(plane), Some(depth)) = (self.planes.depth(sample), depth)
        {
            let kind = self.depth_kind();
            let old = e.tile_load(plane, kind);
            tested.depth_pass = compare(e, self.state.depth_compare, depth, old, kind == Kind::F32);
        }
        for test in [tested.bounds, tested.stencil_pass, tested.depth_pass]
            .into_iter()
            .flatten()
        {
            tested.pass = Some(match tested.pass {
                Some(pass) => e.and(pass, test),
                None => test,
            });
        }
        tested
    }

    /// What a note about a sample's tests shows.
    pub fn shown(&self, e: &mut Emit, sample: u32, tested: &Tested) -> [Value; 6] {
        let zero = e.u32(0);
        let passes = e.b.bool(true);
        let info = self.state.format.info();
        let stored = match self.planes.depth(sample).filter(|_| info.depth) {
            Some(plane) => e.tile_load(plane, self.depth_kind()),
            None => zero,
        };
        [
            tested.stored_depth.unwrap_or(zero),
            stored,
            tested.old_stencil.unwrap_or(zero),
            tested.bounds.unwrap_or(passes),
            tested.stencil_pass.unwrap_or(passes),
            tested.depth_pass.unwrap_or(passes),
        ]
    }

    /// Writes depth and stencil of one sample. `covered` are the lanes that take part at all.
    pub fn write(&self, e: &mut Emit, sample: u32, tested: &Tested, covered: Value, front: Option<Value>) {
        if self.writes_depth()
            && let (Some(plane), Some(depth)) = (self.planes.depth(sample), tested.stored_depth)
        {
            let mask = match tested.pass {
                Some(pass) => e.and(covered, pass),
                None => covered,
            };
            e.tile_store(plane, depth, mask);
        }
        let write = self.state.stencil_write_mask & 0xff;
        if let (Some(plane), Some(old)) = (self.planes.stencil(sample), tested.old_stencil)
            && write != 0
        {
            let f = self.stencil_result(e, &self.state.stencil_front, old, tested);
            let b = if self.state.stencil_front == self.state.stencil_back {
                f
            } else {
                self.stencil_result(e, &self.state.stencil_back, old, tested)
            };
            let new = match front {
                Some(front) if f != b => e.select(front, f, b),
                _ => f,
            };
            let covered = match tested.bounds {
                Some(bounds) => e.and(covered, bounds),
                None => covered,
            };
            if new != old {
                let kept = e.and_const(old, !write);
                let changed = e.and_const(new, write);
                let value = if write == 0xff { changed } else { e.or(kept, changed) };
                e.tile_store(plane, value, covered);
            }
        }
    }

    fn stencil_result(&self, e: &mut Emit, face: &StencilFaceState, old: Value, tested: &Tested) -> Value {
        let pass = self.stencil_op(e, face.pass_op, old);
        let mut new = pass;
        if let Some(depth_pass) = tested.depth_pass {
            let fail = self.stencil_op(e, face.depth_fail_op, old);
            new = if fail == pass {
                pass
            } else {
                e.select(depth_pass, pass, fail)
            };
        }
        if let Some(stencil_pass) = tested.stencil_pass {
            let fail = self.stencil_op(e, face.fail_op, old);
            new = if fail == new {
                new
            } else {
                e.select(stencil_pass, new, fail)
            };
        }
        new
    }

    fn stencil_op(&self, e: &mut Emit, op: StencilOperation, old: Value) -> Value {
        let one = e.u32(1);
        match op {
            StencilOperation::Keep => old,
            StencilOperation::Zero => e.u32(0),
            StencilOperation::Replace => {
                let reference = e.draw(draw::STENCIL_REFERENCE, Kind::U32);
                e.and_const(reference, 0xff)
            }
            StencilOperation::Invert => {
                let all = e.u32(0xff);
                e.alu(Alu::Xor, &[old, all])
            }
            StencilOperation::IncrementClamp => {
                let new = e.alu(Alu::IAdd, &[old, one]);
                let max = e.u32(0xff);
                e.alu(Alu::UMin, &[new, max])
            }
            StencilOperation::DecrementClamp => {
                let new = e.alu(Alu::UMax, &[old, one]);
                e.alu(Alu::ISub, &[new, one])
            }
            StencilOperation::IncrementWrap => {
                let new = e.alu(Alu::IAdd, &[old, one]);
                e.and_const(new, 0xff)
            }
            StencilOperation::DecrementWrap => {
                let new = e.alu(Alu::ISub, &[old, one]);
                e.and_const(new, 0xff)
            }
        }
    }
}

/// The primitive's facing as a bool.
pub(super) fn front_facing(e: &mut Emit) -> Value {
    let word = e.prim_u32(prim::FRONT);
    let zero = e.u32(0);
    e.alu(Alu::INe, &[word, zero])
}
