//! The passes on whole WGSL shaders: valid afterwards, and as simple as the shader allows.
//!
//! `QUADRILLE_STATS=1 cargo test --release -p quadrille-frontend --test optimize -- --nocapture` prints time and size
//! after each pass; `QUADRILLE_DUMP=pbr.wgsl:fs_ldr` the optimised entry point.

#[path = "shaders/mod.rs"]
mod texts;

use quadrille_frontend::ir::splice::{SpliceHost, splice};
use quadrille_frontend::ir::text::{parse_function, print_function};
use quadrille_frontend::ir::{Function, FunctionBuilder, Handle, Inst, Local, Op, Shader, Stmt, Value};
use quadrille_frontend::passes::{Options, PassStats, inline_all, optimize};
use quadrille_frontend::wgsl::{Constants, Module};

/// Inputs become primitive-record words.
struct Assemble<'a>(&'a Shader);

impl SpliceHost for Assemble<'_> {
    fn replace(&mut self, b: &mut FunctionBuilder, inst: &Inst, _: &[Value]) -> Option<Value> {
        let Op::Input(input) = inst.op else { return None };
        let kind = self.0.inputs[input].kind;
        if kind.bits() != 32 || kind == quadrille_frontend::ir::Kind::Bool {
            return Some(b.bool(true));
        }
        let slot = input.index() as u32;
        Some(b.inst1(Op::CellLoad { slot, kind }, &[], kind))
    }
}

fn shaders() -> Vec<(String, Shader)> {
    let mut out = Vec::new();
    for (name, text) in texts::all() {
        let module = Module::parse(&name, &text).unwrap_or_else(|e| panic!("{}", e.render()));
        for entry in module.entry_points() {
            let shader = module
                .lower(&entry.name, &Constants::new())
                .unwrap_or_else(|e| panic!("{}", e.render()));
            out.push((format!("{name}:{}", entry.name), shader));
        }
    }
    out
}

fn run(shader: &Shader) -> (Function, PassStats) {
    let mut shader = shader.clone();
    inline_all(&mut shader).unwrap_or_else(|e| panic!("{e}"));
    let mut b = FunctionBuilder::new(shader.name.clone());
    let entry = &shader.functions[shader.entry];
    let spliced = splice(&mut b, entry, &[], &mut Assemble(&shader));
    let mut invariant: Vec<Handle<Local>> = Vec::new();
    for (slot, output) in shader.outputs.iter().enumerate() {
        let local = spliced.locals[output.local.index()];
        if output.invariant {
            invariant.push(local);
        }
        let value = b.get(local);
        b.inst(Op::CellStore { slot: slot as u32 }, &[value], &[]);
    }
    let options = Options {
        invariant: &invariant,
        ..Options::default()
    };
    optimize(b.finish(), &shader.resources, &options).unwrap_or_else(|e| panic!("{e}"))
}

fn has_control(function: &Function) -> bool {
    function.body.iter().any(|s| !matches!(s, Stmt::Inst(_)))
}

#[test]
fn shaders_come_out_valid_and_simple() {
    let print = std::env::var_os("QUADRILLE_STATS").is_some();
    for (name, shader) in shaders() {
        let (function, stats) = run(&shader);
        if print {
            let start = std::time::Instant::now();
            let again = run(&shader);
            let wall = start.elapsed();
            let total: std::time::Duration = again.1.passes.iter().map(|p| p.1).sum();
            let size = stats.passes.last().map_or(0, |p| p.2);
            println!("{name}: {size} instructions, passes {total:?}, all {wall:?}");
            for (pass, time, size) in &again.1.passes {
                println!("    {pass:10} {time:?} {size}");
            }
        }
        if std::env::var("QUADRILLE_DUMP").is_ok_and(|d| d == name) {
            println!("{}", print_function(&function));
        }
        // Law L7: straight code has no locals.
        if !has_control(&function) {
            assert!(function.locals.is_empty(), "{name}\n{}", print_function(&function));
        }
        for (_, inst) in function.insts.iter() {
            let done = match inst.op {
                Op::Alu(alu) => alu.is_primitive(),
                Op::Call(_) | Op::Input(_) => false,
                _ => true,
            };
            assert!(done, "{name}: {:?} is left", inst.op);
        }
        // The text form holds all of it.
        let text = print_function(&function);
        let read = parse_function(&text).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(print_function(&read), text, "{name}");
        assert_eq!(read, function, "{name}: compacted functions are numbered as printed");
    }
}

/// The same function, however often and wherever it is optimised (nothing depends on hash order or time).
#[test]
fn passes_are_deterministic() {
    for (name, shader) in shaders() {
        assert_eq!(run(&shader).0, run(&shader).0, "{name}");
    }
}
