//! Fixtures of the passes: `fixtures/<pass>/*.ir` hold the IR before, a line of dashes, and the IR after.
//!
//! `UPDATE_EXPECT=1 cargo test -p quadrille-frontend --test passes` rewrites the second half; look at the difference
//! before you commit it. A fixture is a bare function or a whole shader. Comments (`//`) at the head stay.

use quadrille_frontend::ir::text::{parse_function, parse_shader, print_function, print_shader};
use quadrille_frontend::ir::validate::{Environment, validate, validate_function};
use quadrille_frontend::ir::{Arena, Function, Handle, Resource, Shader, Value};
use quadrille_frontend::passes::{Rates, inline_all, run_pass};
use std::fmt::Write;
use std::path::{Path, PathBuf};

const SEPARATOR: &str = "----\n";

#[test]
fn fixtures_come_out_as_written() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let update = std::env::var_os("UPDATE_EXPECT").is_some();
    let mut failures = String::new();
    let mut count = 0;
    for dir in sorted(&root) {
        let pass = dir.file_name().and_then(|n| n.to_str()).unwrap_or_default().to_string();
        if !dir.is_dir() || pass == "text" {
            continue;
        }
        for file in sorted(&dir) {
            count += 1;
            let text = std::fs::read_to_string(&file).expect("a fixture is readable text");
            let (input, expected) = text.split_once(SEPARATOR).unwrap_or((&text, ""));
            let actual = match transform(&pass, input) {
                Ok(actual) => actual,
                Err(error) => format!("// error: {error}\n"),
            };
            if actual == expected {
                continue;
            }
            if update {
                let mut new = input.trim_end().to_string();
                let _ = write!(new, "\n{SEPARATOR}{actual}");
                std::fs::write(&file, new).expect("a fixture is writable");
            } else {
                let _ = writeln!(failures, "== {}\n{}", file.display(), difference(expected, &actual));
            }
        }
    }
    assert!(count > 0, "no fixtures under {}", root.display());
    assert!(failures.is_empty(), "UPDATE_EXPECT=1 accepts these:\n{failures}");
}

fn sorted(dir: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).expect("the fixtures exist");
    let mut paths: Vec<PathBuf> = entries.flatten().map(|e| e.path()).collect();
    paths.sort();
    paths
}

/// Lines that differ, with their numbers.
fn difference(expected: &str, actual: &str) -> String {
    let mut out = String::new();
    let (e, a): (Vec<_>, Vec<_>) = (expected.lines().collect(), actual.lines().collect());
    for i in 0..e.len().max(a.len()) {
        let (e, a) = (e.get(i).unwrap_or(&""), a.get(i).unwrap_or(&""));
        if e != a {
            let _ = writeln!(out, "{:4} - {e}\n     + {a}", i + 1);
        }
    }
    out
}

fn transform(pass: &str, input: &str) -> Result<String, String> {
    let is_shader = input
        .lines()
        .map(str::trim)
        .find(|l| !l.is_empty() && !l.starts_with("//"))
        .is_some_and(|l| l.starts_with("shader"));
    if is_shader {
        let mut shader = parse_shader(input).map_err(|e| e.to_string())?;
        validate(&shader).map_err(|e| e.to_string())?;
        if pass == "inline" {
            inline_all(&mut shader).map_err(|e| e.to_string())?;
            return Ok(print_shader(&shader));
        }
        let outputs: Vec<_> = shader.outputs.iter().map(|o| o.local).collect();
        let Shader {
            functions,
            resources,
            entry,
            ..
        } = &mut shader;
        let mut function = functions[*entry].clone();
        if pass == "rates" {
            return Ok(rates(&function, resources));
        }
        run_pass(pass, &mut function, resources, &outputs).ok_or("no such pass")?;
        functions[*entry] = function;
        validate(&shader).map_err(|e| e.to_string())?;
        Ok(print_shader(&shader))
    } else {
        let mut function = parse_function(input).map_err(|e| e.to_string())?;
        let resources = Arena::new();
        let environment = Environment {
            stage: None,
            inputs: None,
            resources: &resources,
            functions: None,
        };
        validate_function(&function, &environment).map_err(|e| e.to_string())?;
        if pass == "rates" {
            return Ok(rates(&function, &resources));
        }
        run_pass(pass, &mut function, &resources, &[]).ok_or("no such pass")?;
        validate_function(&function, &environment).map_err(|e| e.to_string())?;
        Ok(print_function(&function))
    }
}

/// One line a value: rate, uniform or not; then the loops.
fn rates(function: &Function, resources: &Arena<Resource>) -> String {
    let rates = Rates::compute(function, resources);
    let mut out = String::new();
    for (value, data) in function.values.iter() {
        let value: Value = value;
        let over = match (rates.uniform(value), rates.quad_uniform(value)) {
            (true, _) => "uniform",
            (_, true) => "quad",
            _ => "varying",
        };
        let seen = if rates.seen_by_quad(value) { " seen" } else { "" };
        let rate = format!("{:?}", rates.rate(value)).to_lowercase();
        let _ = writeln!(out, "// %{}: {} {rate} {over}{seen}", value.index(), data.kind);
    }
    for label in 0..function.label_count {
        let label = quadrille_frontend::ir::Label(label);
        let _ = writeln!(out, "// L{}: uniform loop {}", label.0, rates.loop_uniform(label));
    }
    for local in function.locals.handles() {
        let local: Handle<_> = local;
        let _ = writeln!(out, "// ${}: uniform {}", local.index(), rates.local_uniform(local));
    }
    out
}
