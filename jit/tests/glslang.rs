//! Much GLSL 4.6 through glslang, the SPIR-V reader and all executors, which must agree to the bit (law N7).
//!
//! `glsl/fragments.txt` and `glsl/vertices.txt` hold bodies of `main`, each below its name. Without `glslangValidator` on PATH
//! nothing can be compiled, so the test says so and ends.

mod support;

use quadrille_frontend::ir::{Builtin, Function, Kind, Op, ResourceClass, Semantic, Shader, Stage};
use quadrille_frontend::spirv::Module;
use quadrille_frontend::wgsl::Constants;
use quadrille_jit::{Executor, Jit, JitOptions};
use std::path::Path;
use std::process::Command;
use support::{assemble, run_shader};

const COMPILER: &str = "glslangValidator";

/// What is refused, and by which word: the reader's or an executor's lack.
const LACKS: &[(&str, &str)] = &[("doubles", "f64"), ("wide integers", "i64"), ("small integers", "i16")];

/// Lanes of the test inputs: two quads.
fn lanes(semantic: Semantic, kind: Kind) -> [u32; 8] {
    std::array::from_fn(|lane| {
        let (x, y) = (lane % 2 + lane / 4 * 2, lane / 2 % 2);
        match semantic {
            Semantic::Location {
                location, component, ..
            } => {
                let seed = (lane * 7 + usize::from(component) * 3 + location as usize * 5) % 11;
                match kind {
                    Kind::F32 => (seed as f32 * 0.3 - 0.5).to_bits(),
                    Kind::I32 => (seed as i32 - 3) as u32,
                    _ => seed as u32,
                }
            }
            Semantic::Builtin(Builtin::Position(0)) => (x as f32 + 0.5).to_bits(),
            Semantic::Builtin(Builtin::Position(1)) => (y as f32 + 0.5).to_bits(),
            Semantic::Builtin(_) if kind == Kind::F32 => 0.5f32.to_bits(),
            Semantic::Builtin(_) if kind == Kind::Bool => 0,
            Semantic::Builtin(_) => 1,
        }
    })
}

fn compile(directory: &Path, stage: Stage, text: &str) -> Result<Vec<u8>, String> {
    let (source, binary) = (directory.join("shader.glsl"), directory.join("shader.spv"));
    std::fs::write(&source, text).expect("a temporary file");
    let output = Command::new(COMPILER)
        .args(["-V", "--target-env", "vulkan1.3", "-S"])
        .arg(if stage == Stage::Vertex { "vert" } else { "frag" })
        .arg("-o")
        .args([&binary, &source])
        .output()
        .expect("the compiler runs");
    match output.status.success() {
        true => Ok(std::fs::read(&binary).expect("the compiler's output")),
        false => Err(String::from_utf8_lossy(&output.stdout).into_owned()),
    }
}

/// Lowers and runs, or compiles what these programs can't run (textures); why not, if that is impossible.
fn run(name: &str, bytes: &[u8]) -> Result<bool, String> {
    let module = Module::parse(name, bytes).map_err(|e| e.render())?;
    let shader: Shader = module.lower("main", &Constants::new()).map_err(|e| e.render())?;
    let buffers = |r: &ResourceClass| {
        matches!(
            r,
            ResourceClass::Uniform { .. } | ResourceClass::Storage { .. } | ResourceClass::Immediate { .. }
        )
    };
    // These programs are vertex programs to the executors: those have no helper invocations, and no bools in cells.
    let helpers = |f: &Function| f.insts.iter().any(|(_, i)| i.op == Op::IsHelper);
    let runs =
        shader.resources.iter().all(|(_, r)| buffers(&r.class)) && !shader.functions.iter().any(|(_, f)| helpers(f));
    let jit = Jit::new(JitOptions::default()).expect("a compiler for this machine");
    let program = assemble(shader.clone());
    let mut expanded = program.clone();
    quadrille_frontend::passes::expand::expand(&mut expanded.function);
    jit.compile(&expanded).map(|_| ()).map_err(|e| e.to_string())?;
    if !runs || shader.inputs.iter().any(|(_, i)| i.kind == Kind::Bool) {
        return Ok(false);
    }
    let inputs: Vec<[u32; 8]> = shader.inputs.iter().map(|(_, i)| lanes(i.semantic, i.kind)).collect();
    let contents: Vec<u32> = (0..512)
        .map(|k| ((k * 37 % 23) as f32 * 0.25 - 2.0).to_bits())
        .collect();
    let mut buffers = vec![contents; shader.resources.len()];
    run_shader(shader, &inputs, &mut buffers, name);
    Ok(true)
}

#[test]
fn glsl_by_an_outside_compiler_runs_alike_everywhere() {
    if Command::new(COMPILER).arg("--version").output().is_err() {
        eprintln!("skipped: there is no {COMPILER} on PATH");
        return;
    }
    let directory = std::env::temp_dir().join(format!("quadrille-glslang-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("a temporary directory");
    let common = include_str!("glsl/common.head");
    let sets = [
        (
            Stage::Fragment,
            include_str!("glsl/fragment.head"),
            include_str!("glsl/fragments.txt"),
        ),
        (
            Stage::Vertex,
            include_str!("glsl/vertex.head"),
            include_str!("glsl/vertices.txt"),
        ),
    ];
    let (mut shaders, mut executed, mut failures) = (0, 0, String::new());
    for (stage, head, bodies) in sets {
        for part in bodies.split("\n== ").filter(|p| !p.is_empty()) {
            let (name, body) = part.split_once('\n').expect("a name and a body");
            let name = name.trim_start_matches("== ");
            let (before, after) = match stage {
                Stage::Fragment => ("vec4 r = vec4(0.0);", "o = r;"),
                _ => ("o = vec4(0.0);", ""),
            };
            let text = format!("{head}{common}void main() {{ {before}\n{body}{after} }}\n");
            let result = compile(&directory, stage, &text).and_then(|bytes| {
                std::panic::catch_unwind(|| run(name, &bytes)).unwrap_or_else(|panic| {
                    let text = panic.downcast_ref::<String>().cloned();
                    Err(format!("panicked: {}", text.unwrap_or_default()))
                })
            });
            shaders += 1;
            let lack = LACKS.iter().find(|(of, _)| *of == name);
            match (result, lack) {
                (Ok(ran), None) => executed += usize::from(ran),
                (Err(e), Some((_, words))) if e.contains(words) => {}
                (result, lack) => failures += &format!("== {name}: {result:?}, expected {lack:?}\n"),
            }
        }
    }
    std::fs::remove_dir_all(&directory).expect("the directory is ours");
    assert!(failures.is_empty(), "{failures}");
    assert!(shaders > 100 && executed > 75, "{executed} of {shaders} were run");
}
