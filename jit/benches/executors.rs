//! Native code against the interpreter, and what compiling costs.
//!
//! `cargo bench -p quadrille-jit` measures with criterion; a throughput of one element is one operation of one lane.
//! With `QUADRILLE_TABLE=1` it prints one table of ns per operation instead, the minimum of several rounds.

#![allow(missing_docs, reason = "criterion's macros")]

mod programs;

use criterion::{Criterion, Throughput, criterion_group};
use programs::{CELLS, Case, cases};
use quadrille_jit::abi::{Binding, Cell, Context};
use quadrille_jit::interp::Interpreter;
use quadrille_jit::{Compiled, Executor, Jit, JitOptions, Lanes};
use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

const GROUPS: usize = 32;

struct Inputs {
    cells_in: Vec<Cell>,
    cells_out: Vec<Cell>,
    scratch: Vec<Cell>,
    data: Vec<f32>,
}

impl Inputs {
    fn new(compiled: &dyn Compiled) -> Inputs {
        let value = |i: usize| (((i * 7919) % 1000) as f32 / 500.0 - 1.0).to_bits();
        let cells = GROUPS * CELLS as usize;
        Inputs {
            cells_in: (0..cells)
                .map(|c| Cell(std::array::from_fn(|l| value(c * 8 + l))))
                .collect(),
            cells_out: vec![Cell::default(); cells],
            scratch: vec![Cell::default(); compiled.scratch_cells()],
            data: (0..64).map(|i| 0.3 + i as f32 / 64.0).collect(),
        }
    }

    fn run(&mut self, compiled: &dyn Compiled) {
        let binding = Binding {
            data: self.data.as_ptr().cast(),
            size: size_of_val(&self.data[..]) as u64,
            ..Binding::NULL
        };
        let mut context = Context {
            count: GROUPS as u32,
            cells_in: self.cells_in.as_ptr(),
            cells_out: self.cells_out.as_mut_ptr(),
            scratch: self.scratch.as_mut_ptr(),
            bindings: &binding,
            ..Context::new(compiled.stats().lanes)
        };
        // SAFETY: cells, scratch and the one binding are as the programs need.
        unsafe { compiled.run(black_box(&mut context)) };
        black_box(&self.cells_out);
    }
}

type Executors = [(&'static str, Box<dyn Executor>); 3];

fn executors() -> Executors {
    let jit = |lanes| -> Box<dyn Executor> {
        match Jit::new(JitOptions {
            lanes,
            ..JitOptions::default()
        }) {
            Ok(jit) => Box::new(jit),
            Err(error) => panic!("{error}"),
        }
    };
    [
        ("interpreter", Box::new(Interpreter)),
        ("4 lanes", jit(Lanes::Four)),
        ("8 lanes", jit(Lanes::Auto)),
    ]
}

fn compile(executor: &dyn Executor, case: &Case) -> Arc<dyn Compiled> {
    match executor.compile(&case.program) {
        Ok(compiled) => compiled,
        Err(error) => panic!("{}: {error}", case.name),
    }
}

fn run(c: &mut Criterion) {
    for case in cases() {
        let mut group = c.benchmark_group(case.name);
        group.throughput(Throughput::Elements(case.operations * 8 * GROUPS as u64));
        for (name, executor) in executors() {
            let compiled = compile(&*executor, &case);
            let mut inputs = Inputs::new(&*compiled);
            group.bench_function(name, |b| b.iter(|| inputs.run(&*compiled)));
        }
        group.finish();
    }
}

fn compile_time(c: &mut Criterion) {
    let mut group = c.benchmark_group("compile");
    for case in cases() {
        for (name, executor) in executors() {
            group.bench_function(format!("{}/{name}", case.name), |b| {
                b.iter(|| compile(&*executor, &case))
            });
        }
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(20)
        .warm_up_time(std::time::Duration::from_millis(200))
        .measurement_time(std::time::Duration::from_millis(600));
    targets = run, compile_time
}

/// Minimum seconds of a closure over several rounds of about `round` seconds each.
fn fastest(round: f64, mut f: impl FnMut()) -> f64 {
    f();
    let start = Instant::now();
    f();
    let once = start.elapsed().as_secs_f64().max(1e-8);
    let times = (round / once).ceil() as u32;
    (0..7)
        .map(|_| {
            let start = Instant::now();
            (0..times).for_each(|_| f());
            start.elapsed().as_secs_f64() / f64::from(times)
        })
        .fold(f64::INFINITY, f64::min)
}

fn table() {
    println!("| program | ops | interpreter | 4 lanes | 8 lanes | ratio | compile 4 | compile 8 |");
    println!("|---|---|---|---|---|---|---|---|");
    for case in cases() {
        let mut columns = Vec::new();
        let mut compile_ms = Vec::new();
        for (_, executor) in executors() {
            let compiled = compile(&*executor, &case);
            let mut inputs = Inputs::new(&*compiled);
            let seconds = fastest(0.02, || inputs.run(&*compiled));
            columns.push(seconds * 1e9 / (case.operations * 8 * GROUPS as u64) as f64);
            compile_ms.push(1e3 * fastest(0.02, || drop(compile(&*executor, &case))));
        }
        println!(
            "| {} | {} | {:.3} ns | {:.3} ns | {:.3} ns | {:.0}x | {:.2} ms | {:.2} ms |",
            case.name,
            case.operations,
            columns[0],
            columns[1],
            columns[2],
            columns[0] / columns[2],
            compile_ms[1],
            compile_ms[2]
        );
    }
}

fn main() {
    if std::env::var_os("QUADRILLE_TABLE").is_some() {
        return table();
    }
    benches();
    Criterion::default().configure_from_args().final_summary();
}
