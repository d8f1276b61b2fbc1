//! What a fragment shader reads: its inputs in terms of primitive record, coverage and interpolation.
//!
//! Inputs are computed ahead of the shader's body, wherever it reads them: a value must stand where every use can see it.
//! Passes drop what isn't read. Only inputs evaluated at a place of the shader's choosing (R-RAST-147) stay in place.

use super::depth::front_facing;
use super::emit::Emit;
use super::interface::Link;
use super::interpolate::{At, Interpolator};
use super::state::Rules;
use crate::layout::prim;
use quadrille_frontend::ir::splice::SpliceHost;
use quadrille_frontend::ir::{
    Builtin, FunctionBuilder, Handle, Input, InputPoint, Inst, Interpolation, Kind, Op, Semantic, Shader, Value,
};

/// The inputs of one invocation: of a pixel, or of one of its samples.
pub(super) struct Inputs<'a> {
    pub shader: &'a Shader,
    pub link: &'a Link,
    pub rules: Rules,
    /// The sample, at sample frequency.
    pub sample: Option<u32>,
    /// The primitive's facing, if it is known already.
    pub front: Option<Value>,
}

/// Hands the inputs to the shader's body.
pub(super) struct Host<'a, 'b> {
    inputs: &'b Inputs<'a>,
    interpolator: &'b Interpolator,
    /// By input.
    values: Vec<Value>,
}

impl<'a> Inputs<'a> {
    /// Computes all inputs.
    pub fn read<'b>(&'b self, e: &mut Emit, interpolator: &'b mut Interpolator) -> Host<'a, 'b> {
        let mut values = Vec::with_capacity(self.shader.inputs.len());
        for (handle, input) in self.shader.inputs.iter() {
            let at = interpolator.at(input.sampling, self.sample);
            let value = match input.semantic {
                Semantic::Builtin(builtin) if self.link.words[handle.index()].is_none() => {
                    self.builtin(e, interpolator, builtin, input.kind, at)
                }
                _ => self.attribute(e, interpolator, handle, input, at),
            };
            values.push(value);
        }
        Host {
            inputs: self,
            interpolator,
            values,
        }
    }

    fn attribute(
        &self,
        e: &mut Emit,
        interpolator: &mut Interpolator,
        handle: Handle<Input>,
        input: &Input,
        at: At,
    ) -> Value {
        match self.link.words[handle.index()] {
            Some(word) => interpolator.attribute(e, word, input.kind, input.interpolation, at),
            // R-PS-7.
            None => {
                let zero = e.u32(0);
                e.b.bitcast(zero, input.kind)
            }
        }
    }

    fn builtin(&self, e: &mut Emit, interpolator: &mut Interpolator, builtin: Builtin, kind: Kind, at: At) -> Value {
        // R-WGSL-7: at sample frequency WebGPU's position is the sample's. Direct3D's is where it is declared (R-RAST-95).
        let at = match (builtin, self.sample) {
            (Builtin::Position(_), Some(s)) if self.rules == Rules::WebGpu && interpolator.samples() > 1 => {
                At::Sample(s)
            }
            _ => at,
        };
        let value = match builtin {
            Builtin::Position(0) => interpolator.point(e, at).x,
            Builtin::Position(1) => interpolator.point(e, at).y,
            Builtin::Position(2) => interpolator.depth(e, at),
            Builtin::Position(_) => interpolator.position_w(e, at, self.rules),
            Builtin::FrontFacing if kind == Kind::Bool => match self.front {
                Some(front) => return front,
                None => return front_facing(e),
            },
            // R-PS-6: all ones or zero.
            Builtin::FrontFacing => e.prim_u32(prim::FRONT),
            Builtin::SampleIndex => e.u32(self.sample.unwrap_or(0)),
            // R-RAST-98, R-WGSL-9: the full mask, also at sample frequency.
            Builtin::SampleMask => {
                let zero = e.u32(0);
                let mut mask = zero;
                for (s, &covered) in interpolator.coverage().masked.iter().enumerate() {
                    let bit = e.u32(1 << s);
                    let bit = e.select(covered, bit, zero);
                    mask = e.or(mask, bit);
                }
                mask
            }
            // R-RAST-123: bit 0, whatever the sample mask.
            Builtin::InnerCoverage => match interpolator.coverage().inner {
                Some(inner) if kind == Kind::Bool => return inner,
                Some(inner) => {
                    let (one, zero) = (e.u32(1), e.u32(0));
                    e.select(inner, one, zero)
                }
                None => e.u32(0),
            },
            Builtin::PrimitiveIndex => e.prim_u32(prim::PRIMITIVE_INDEX),
            _ => e.u32(0),
        };
        if kind == Kind::Bool {
            return value;
        }
        e.b.bitcast(value, kind)
    }

    /// An input elsewhere (R-RAST-147).
    fn pulled(
        &self,
        e: &mut Emit,
        interpolator: &Interpolator,
        handle: Handle<Input>,
        point: InputPoint,
        args: &[Value],
    ) -> Value {
        let input = &self.shader.inputs[handle];
        let mut interpolator = interpolator.afresh();
        let mut at = At::Center;
        match (point, args) {
            _ if input.interpolation == Interpolation::Flat => {}
            (InputPoint::Sample, &[index]) => interpolator.move_to_sample(e, index),
            (InputPoint::Offset, &[x, y]) => interpolator.move_by(e, x, y),
            (InputPoint::Centroid, _) if interpolator.samples() > 1 => at = At::Centroid,
            _ => {}
        }
        self.attribute(e, &mut interpolator, handle, input, at)
    }
}

impl SpliceHost for Host<'_, '_> {
    fn replace(&mut self, b: &mut FunctionBuilder, inst: &Inst, args: &[Value]) -> Option<Value> {
        match inst.op {
            Op::Input(handle) => Some(self.values[handle.index()]),
            Op::InputAt { input, at } => {
                // The builder moves into the short-form wrapper and back: splice owns the only reference to it.
                let mut e = Emit {
                    b: std::mem::replace(b, FunctionBuilder::new("")),
                };
                let value = self.inputs.pulled(&mut e, self.interpolator, input, at, args);
                *b = e.b;
                Some(value)
            }
            _ => None,
        }
    }
}
