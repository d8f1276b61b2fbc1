//! Shader readers on any bytes: they return, whatever they are given, in bounded time and memory (law O4).
//!
//! ```text
//! bytes ─ reader ─► entry points ─ lowering, inlining ─► a whole program, all passes ─► the interpreter's compiler
//! ```
//!
//! An error is as good as a shader; what must not be is a panic, a program that the passes' own checks refuse, or no end.

use quadrille_frontend::ir::{Shader, Stage, text, validate::validate};
use quadrille_frontend::source::Module;
use quadrille_frontend::{passes, spirv, wgsl};
use quadrille_jit::Executor;
use quadrille_jit::interp::Interpreter;
use quadrille_raster::pipeline::alone;

/// Entry points that are followed further.
const MOST_ENTRY_POINTS: usize = 3;

fn lower(module: &Module) {
    for entry in module.entry_points().into_iter().take(MOST_ENTRY_POINTS) {
        if let Ok(mut shader) = module.lower(&entry.name, entry.stage, &Default::default())
            && passes::inline_all(&mut shader).is_ok()
        {
            compile(&shader);
        }
    }
}

fn compile(shader: &Shader) {
    if let Ok((program, _)) = alone(shader) {
        _ = Interpreter.compile(&program);
    }
}

/// A WGSL file.
pub fn wgsl(data: &[u8]) {
    if let Ok(module) = wgsl::Module::parse("fuzz.wgsl", &String::from_utf8_lossy(data)) {
        lower(&Module::Naga(module));
    }
}

/// A GLSL file, of either stage.
pub fn glsl(data: &[u8]) {
    for stage in [Stage::Vertex, Stage::Fragment] {
        if let Ok(module) = wgsl::Module::parse_glsl("fuzz.glsl", &String::from_utf8_lossy(data), stage) {
            lower(&Module::Naga(module));
        }
    }
}

/// A SPIR-V binary.
pub fn spirv(data: &[u8]) {
    if let Ok(module) = spirv::Module::parse("fuzz.spv", data) {
        lower(&Module::Spirv(module));
    }
}

/// SPIR-V assembly text.
pub fn spirv_assembly(data: &[u8]) {
    if let Ok(module) = spirv::Module::assemble("fuzz.spvasm", &String::from_utf8_lossy(data)) {
        lower(&Module::Spirv(module));
    }
}

/// The IR's text form; what is read and valid prints as text that reads the same.
pub fn ir_text(data: &[u8]) {
    let Ok(shader) = text::parse_shader(&String::from_utf8_lossy(data)) else {
        return;
    };
    if validate(&shader).is_err() {
        return;
    }
    let printed = text::print_shader(&shader);
    match text::parse_shader(&printed) {
        Ok(again) => assert_eq!(
            text::print_shader(&again),
            printed,
            "printed and read, it is another shader"
        ),
        Err(error) => panic!("printed text doesn't read: {error}\n{printed}"),
    }
    let mut shader = shader;
    if passes::inline_all(&mut shader).is_ok() {
        compile(&shader);
    }
}
