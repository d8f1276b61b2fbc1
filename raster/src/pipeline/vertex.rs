//! The vertex program: the shader between input cells and output cells.

use super::interface::{FIRST_VARYING_CELL, Link, VertexInputs};
use quadrille_frontend::ir::splice::{SpliceHost, splice};
use quadrille_frontend::ir::{Builtin, Function, FunctionBuilder, Handle, Inst, Local, Op, Semantic, Shader, Value};

struct Inputs<'a> {
    shader: &'a Shader,
    cells: &'a [u32],
}

impl SpliceHost for Inputs<'_> {
    fn replace(&mut self, b: &mut FunctionBuilder, inst: &Inst, _: &[Value]) -> Option<Value> {
        let Op::Input(input) = inst.op else { return None };
        let kind = self.shader.inputs[input].kind;
        Some(b.inst1(
            Op::CellLoad {
                slot: self.cells[input.index()],
                kind,
            },
            &[],
            kind,
        ))
    }
}

/// An assembled function and the locals whose backward slices must not be contracted (law N2).
pub(super) struct Assembled {
    pub function: Function,
    pub invariant: Vec<Handle<Local>>,
}

/// Output cells: position in 0..4, then the varyings, then what routes primitives. `entry` is the shader's entry function after inlining.
pub(super) fn assemble(shader: &Shader, entry: &Function, inputs: &VertexInputs, link: &Link) -> Assembled {
    let mut b = FunctionBuilder::new(format!("vertex {}", shader.name));
    let spliced = splice(
        &mut b,
        entry,
        &[],
        &mut Inputs {
            shader,
            cells: &inputs.cells,
        },
    );
    let local_of = |index: usize| spliced.locals[shader.outputs[index].local.index()];
    let mut invariant = Vec::new();
    for component in 0..4u8 {
        let output = shader
            .outputs
            .iter()
            .position(|o| o.semantic == Semantic::Builtin(Builtin::Position(component)));
        let value = match output {
            Some(index) => {
                invariant.push(local_of(index));
                b.get(local_of(index))
            }
            None => b.f32(if component == 3 { 1.0 } else { 0.0 }),
        };
        b.inst(Op::CellStore { slot: component.into() }, &[value], &[]);
    }
    for (word, &output) in link.outputs.iter().enumerate() {
        if shader.outputs[output].invariant {
            invariant.push(local_of(output));
        }
        let value = b.get(local_of(output));
        b.inst(
            Op::CellStore {
                slot: FIRST_VARYING_CELL + word as u32,
            },
            &[value],
            &[],
        );
    }
    let first = FIRST_VARYING_CELL + link.outputs.len() as u32;
    for (slot, &output) in (first..).zip(&link.routed) {
        let value = b.get(local_of(output));
        b.inst(Op::CellStore { slot }, &[value], &[]);
    }
    Assembled {
        function: b.finish(),
        invariant,
    }
}
