//! Compile time from source text to native code: the shaders of the tree, and long ones of every awkward shape.
//!
//! `cargo bench --bench compile` measures with criterion; with `QUADRILLE_TABLE=1` it prints the tables of
//! docs/performance.md instead: the least of several rounds, by stage.

#![allow(missing_docs, reason = "criterion's macros")]

#[path = "../shaders/cases.rs"]
#[allow(dead_code, reason = "what frames need")]
mod cases;
mod shapes;

use criterion::{Criterion, criterion_group};
use quadrille_frontend::passes;
use quadrille_frontend::wgsl::Module;
use quadrille_jit::{Jit, JitOptions};
use quadrille_raster::pipeline::alone;
use shapes::{SHAPES, source};
use std::time::{Duration, Instant};

/// Times of the stages.
struct Stages {
    instructions: usize,
    clif: usize,
    code_bytes: usize,
    lanes: u32,
    front_end: Duration,
    passes: Duration,
    emit: Duration,
    codegen: Duration,
    widen: Duration,
}

impl Stages {
    fn total(&self) -> Duration {
        self.front_end + self.back()
    }

    /// All but the front end.
    fn back(&self) -> Duration {
        self.passes + self.emit + self.codegen + self.widen
    }
}

fn compile(jit: &Jit, text: &str, entry: &str) -> Result<Stages, Box<dyn std::error::Error>> {
    let start = Instant::now();
    let module = Module::parse("bench", text)?;
    let mut shader = module.lower(entry, &Default::default())?;
    passes::inline_all(&mut shader)?;
    let front_end = start.elapsed();
    let start = Instant::now();
    let (program, _) = alone(&shader)?;
    let passes = start.elapsed();
    let report = jit.report(&program)?;
    Ok(Stages {
        instructions: report.instructions,
        clif: report.clif,
        code_bytes: report.code_bytes,
        lanes: report.lanes,
        front_end,
        passes,
        emit: report.emit,
        codegen: report.codegen,
        widen: report.widen,
    })
}

fn jit() -> Jit {
    Jit::new(JitOptions::default()).unwrap_or_else(|e| panic!("{e}"))
}

fn compiling(c: &mut Criterion) {
    let jit = jit();
    let mut group = c.benchmark_group("tree");
    for case in cases::cases() {
        group.bench_function(case.name, |b| b.iter(|| compile(&jit, &case.source, case.entry)));
    }
    group.finish();
    let mut group = c.benchmark_group("5,000 instructions");
    for (name, shape) in SHAPES {
        let text = source(shape, 5_000);
        group.bench_function(name, |b| b.iter(|| compile(&jit, &text, "fs")));
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_millis(600));
    targets = compiling
}

fn row(name: &str, jit: &Jit, text: &str, entry: &str, rounds: u32) {
    let measured: Result<Vec<Stages>, _> = (0..rounds).map(|_| compile(jit, text, entry)).collect();
    match measured.map(|all| all.into_iter().min_by_key(Stages::total)) {
        Ok(Some(s)) => {
            let ms = |d: Duration| d.as_secs_f64() * 1e3;
            println!(
                "| {name} | {} | {} | {} | {} | {:.2} | {:.2} | {:.2} | {:.2} | {:.2} | {:.2} |",
                s.instructions,
                s.clif,
                s.code_bytes / 1024,
                s.lanes,
                ms(s.front_end),
                ms(s.passes),
                ms(s.emit),
                ms(s.codegen),
                ms(s.widen),
                ms(s.back()),
            );
        }
        Ok(None) => {}
        Err(error) => {
            let text = error.to_string();
            println!("| {name} | refused: {} |", text.lines().next().unwrap_or_default());
        }
    }
}

fn table() {
    let jit = jit();
    println!(
        "| shader | IR instructions | CLIF | code, KiB | lanes | front end, ms | passes | emit | Cranelift | widening | IR to code |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|");
    for case in cases::cases() {
        row(case.name, &jit, &case.source, case.entry, 9);
    }
    for (name, shape) in SHAPES {
        for (size, rounds) in [(1_000, 9), (5_000, 5), (20_000, 2), (80_000, 1)] {
            let text = source(shape, size);
            row(&format!("{name}, {size}"), &jit, &text, "fs", rounds);
        }
    }
}

fn main() {
    if std::env::var_os("QUADRILLE_TABLE").is_some() {
        return table();
    }
    benches();
    Criterion::default().configure_from_args().final_summary();
}
