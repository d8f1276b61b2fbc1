//! WGSL's functions, attributes and statements for vertex and fragment shaders, one by one: each lowers to valid IR that the passes
//! take, or is refused by a message with the named words. `docs/shader-languages.md` lists what is refused.
//!
//! `sweep/statements.txt` has statements of a fragment shader, a line each; after ` !! ` words of the expected refusal.
//! `sweep/modules.txt` has whole modules below `== name`, likewise.

use quadrille_frontend::diagnostic::ShaderErrorKind;
use quadrille_frontend::ir::validate::validate;
use quadrille_frontend::ir::{Kind, Op, Stage};
use quadrille_frontend::passes::{Options, inline_all, optimize};
use quadrille_frontend::wgsl::{Constants, Module};

/// Parses, lowers every entry point, inlines, and runs the passes; why not, if one of them refuses.
fn compile(text: &str) -> Result<(), String> {
    let module = Module::parse("sweep.wgsl", text).map_err(|e| e.render())?;
    for entry in module.entry_points() {
        let mut shader = module.lower(&entry.name, &Constants::new()).map_err(|e| {
            // A refusal has a place in the text, and isn't a bug.
            assert!(e.kind != ShaderErrorKind::Internal, "{}", e.render());
            e.render()
        })?;
        validate(&shader).map_err(|e| format!("invalid IR: {e}"))?;
        inline_all(&mut shader).map_err(|e| e.to_string())?;
        let mut function = shader.functions[shader.entry].clone();
        // The passes take assembled programs: no stage inputs.
        assert!(shader.stage != Stage::Compute);
        let reads = function.insts.iter();
        let reads = reads.filter(|(_, i)| matches!(i.op, Op::Input(_) | Op::InputAt { .. }));
        let changed: Vec<_> = reads.map(|(id, inst)| (id, inst.op)).collect();
        for (id, op) in changed {
            let (Op::Input(input) | Op::InputAt { input, .. }) = op else {
                continue;
            };
            let kind = shader.inputs[input].kind;
            let slot = input.index() as u32;
            function.insts[id].op = match kind {
                // Cells hold no bools; any read of one will do.
                Kind::Bool => Op::IsHelper,
                _ => Op::CellLoad { slot, kind },
            };
            function.insts[id].args.clear();
        }
        optimize(function, &shader.resources, &Options::default()).map_err(|e| format!("passes: {e}"))?;
    }
    Ok(())
}

/// What a case says against what happens.
fn judge(name: &str, text: &str, refusal: Option<&str>, failures: &mut String) {
    let result = std::panic::catch_unwind(|| compile(text)).unwrap_or_else(|_| Err("it panicked".into()));
    match (result, refusal) {
        (Ok(()), None) => {}
        (Err(e), Some(words)) if e.contains(words) => {}
        (result, refusal) => *failures += &format!("== {name}\n{result:?}\nexpected: {refusal:?}\n"),
    }
}

#[test]
fn every_statement_compiles_or_names_what_it_lacks() {
    let head = include_str!("sweep/head.wgsl");
    let mut failures = String::new();
    let mut count = 0;
    for line in include_str!("sweep/statements.txt")
        .lines()
        .filter(|l| !l.trim().is_empty())
    {
        let (body, refusal) = match line.split_once(" !! ") {
            Some((body, words)) => (body, Some(words.trim())),
            None => (line, None),
        };
        let text = format!(
            "{head}\n@fragment fn main(v: In) -> @location(0) vec4f {{\nvar r = vec4f();\n{body}\nreturn r;\n}}\n"
        );
        judge(line, &text, refusal, &mut failures);
        count += 1;
    }
    assert!(failures.is_empty(), "{failures}");
    assert!(count > 100, "{count} statements");
}

#[test]
fn every_declaration_compiles_or_names_what_it_lacks() {
    let mut failures = String::new();
    let mut count = 0;
    for part in include_str!("sweep/modules.txt")
        .split("\n== ")
        .filter(|p| !p.trim().is_empty())
    {
        let (title, text) = part.split_once('\n').expect("a title and a text");
        let title = title.trim_start_matches("== ");
        let (name, refusal) = match title.split_once(" !! ") {
            Some((name, words)) => (name, Some(words.trim())),
            None => (title, None),
        };
        judge(name, text, refusal, &mut failures);
        count += 1;
    }
    assert!(failures.is_empty(), "{failures}");
    assert!(count > 30, "{count} modules");
}
