//! A shader as a program of its own, run on all executors.

use quadrille_frontend::ir::text::print_shader;
use quadrille_frontend::ir::validate::validate;
use quadrille_frontend::ir::{FunctionBuilder, Inst, Op, Shader, Value, splice};
use quadrille_frontend::passes::{Options, expand::expand, inline_all, optimize};
use quadrille_jit::abi::{Binding, CALL_CELLS, Cell, Context};
use quadrille_jit::interp::Interpreter;
use quadrille_jit::{Executor, Jit, JitOptions, Program, ProgramKind};

/// Inputs become cells.
struct Assemble<'a> {
    shader: &'a Shader,
}

impl splice::SpliceHost for Assemble<'_> {
    fn replace(&mut self, b: &mut FunctionBuilder, inst: &Inst, _: &[Value]) -> Option<Value> {
        let (Op::Input(input) | Op::InputAt { input, .. }) = inst.op else {
            return None;
        };
        let kind = self.shader.inputs[input].kind;
        let slot = input.index() as u32;
        Some(b.inst1(Op::CellLoad { slot, kind }, &[], kind))
    }
}

/// A program of the shader: inputs in cells, outputs in cells.
pub fn assemble(mut shader: Shader) -> Program {
    validate(&shader).unwrap_or_else(|e| panic!("{e}\n{}", print_shader(&shader)));
    inline_all(&mut shader).unwrap();
    let mut b = FunctionBuilder::new("main");
    let entry = &shader.functions[shader.entry];
    let spliced = splice::splice(&mut b, entry, &[], &mut Assemble { shader: &shader });
    for (slot, output) in shader.outputs.iter().enumerate() {
        let value = b.get(spliced.locals[output.local.index()]);
        b.inst(Op::CellStore { slot: slot as u32 }, &[value], &[]);
    }
    Program {
        name: shader.name.clone(),
        kind: ProgramKind::Vertex {
            cells_in: shader.inputs.len() as u32,
            cells_out: shader.outputs.len() as u32,
        },
        function: b.finish(),
        slots: (0..shader.resources.len() as u32).collect(),
        resources: shader.resources,
        sources: shader.sources,
    }
}

/// Runs a compiled program on 8 lanes; gives the output cells.
pub fn execute(
    program: &Program,
    executor: &dyn Executor,
    inputs: &[[u32; 8]],
    buffers: &mut [Vec<u32>],
) -> Vec<[u32; 8]> {
    let ProgramKind::Vertex { cells_in, cells_out } = program.kind else {
        panic!("a vertex program")
    };
    assert!(inputs.len() == cells_in as usize && buffers.len() == program.resources.len());
    let compiled = executor.compile(program).unwrap();
    let input: Vec<Cell> = inputs.iter().map(|&lanes| Cell(lanes)).collect();
    let mut output = vec![Cell::default(); cells_out as usize];
    let mut scratch = vec![Cell::default(); compiled.scratch_cells().max(CALL_CELLS)];
    let bindings: Vec<Binding> = buffers
        .iter_mut()
        .map(|buffer| Binding {
            data: buffer.as_mut_ptr().cast(),
            size: 4 * buffer.len() as u64,
            ..Binding::NULL
        })
        .collect();
    let mut context = Context::new(compiled.stats().lanes);
    context.count = 1;
    context.cells_in = input.as_ptr();
    context.cells_out = output.as_mut_ptr();
    context.scratch = scratch.as_mut_ptr();
    context.bindings = bindings.as_ptr();
    context.loop_budget = 100_000;
    // SAFETY: everything the program touches is set above and lives until here.
    unsafe { compiled.run(&mut context) };
    assert_eq!(context.status, 0, "a loop ran out of budget");
    output.into_iter().map(|cell| cell.0).collect()
}

/// Runs a shader on 8 lanes of the given inputs; buffers are by resource, in declaration order. All executors,
/// optimised or not, must agree to the bit.
pub fn run_shader(shader: Shader, inputs: &[[u32; 8]], buffers: &mut [Vec<u32>], text: &str) -> Vec<[u32; 8]> {
    let mut plain = assemble(shader);
    let mut optimized = plain.clone();
    expand(&mut plain.function);
    let (function, resources) = (optimized.function, &optimized.resources);
    // Contraction changes roundings, which is its point.
    let options = Options {
        contract: false,
        ..Options::default()
    };
    optimized.function = optimize(function, resources, &options).unwrap().0;
    let before = buffers.to_vec();
    let want = execute(&plain, &Interpreter, inputs, buffers);
    for program in [&plain, &optimized] {
        for executor in [&Interpreter as &dyn Executor, &Jit::new(JitOptions::default()).unwrap()] {
            let mut own = before.clone();
            let got = execute(program, executor, inputs, &mut own);
            assert_eq!(got, want, "{}: {text}", executor.name());
            assert_eq!(own, buffers, "{}: {text}", executor.name());
        }
    }
    want
}
