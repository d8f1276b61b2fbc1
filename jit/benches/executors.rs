//! Native code against the interpreter, and what compiling costs.
//!
//! `cargo bench -p quadrille-jit` measures with criterion; a throughput of one element is one operation of one lane.
//! With `QUADRILLE_TABLE=1` it prints tables of ns per operation and of compile times instead, minima of several rounds.
//! `peers/run.sh` measures three of the programs as a C compiler makes them.

#![allow(missing_docs, reason = "criterion's macros")]

mod programs;

use criterion::{Criterion, Throughput, criterion_group};
use programs::{Case, PAIRS, PLANE, PLANES, cases};
use quadrille_jit::abi::{Binding, Cell, Context, Pair, Run};
use quadrille_jit::interp::Interpreter;
use quadrille_jit::{Compiled, Executor, Interleave, Jit, JitOptions, Lanes};
use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

/// Bytes at the head of a record that are for pointers and words the programs don't read.
const RECORD: usize = 64;

struct Inputs {
    tile: Vec<Cell>,
    pairs: Vec<Pair>,
    record: [u64; RECORD / 8],
    scratch: Vec<Cell>,
    data: Vec<f32>,
}

impl Inputs {
    fn new(compiled: &dyn Compiled) -> Inputs {
        let value = |i: usize| (((i * 7919) % 1000) as f32 / 500.0 - 1.0).to_bits();
        let planes = PLANES as usize;
        let mut tile = vec![Cell::default(); 2 * PLANE as usize / 32 * planes];
        for pair in 0..PAIRS {
            for plane in 0..planes {
                let first = (pair * planes + plane) * 8;
                tile[plane * PAIRS + pair] = Cell(std::array::from_fn(|lane| value(first + lane)));
            }
        }
        Inputs {
            tile,
            pairs: (0..PAIRS as u16)
                .map(|index| Pair {
                    index,
                    x: (index as u8 % 8) * 4,
                    y: (index as u8 / 8) * 2,
                    coverage: [0xff, 0, 0, 0],
                })
                .collect(),
            record: [0; RECORD / 8],
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
        let run = Run {
            prim: self.record.as_ptr().cast(),
            pairs: self.pairs.as_ptr(),
            count: PAIRS as u32,
            reserved: 0,
        };
        let mut context = Context {
            runs: &run,
            count: 1,
            tile: self.tile.as_mut_ptr().cast(),
            scratch: self.scratch.as_mut_ptr(),
            bindings: &binding,
            ..Context::new(compiled.stats().lanes)
        };
        // SAFETY: tile, pairs, scratch and the one binding are as the programs need.
        unsafe { compiled.run(black_box(&mut context)) };
        black_box(&self.tile);
    }

    /// The first output's bits, as `peers/kernels.c` sums them up.
    fn results(&self) -> u32 {
        let outputs = &self.tile[PLANES as usize * PAIRS..][..PAIRS];
        let words = outputs.iter().flat_map(|cell| cell.0);
        words.fold(0u32, |sum, word| sum.wrapping_mul(31).wrapping_add(word))
    }
}

type Executors = [(&'static str, Box<dyn Executor>); 4];

fn executors() -> Executors {
    let jit = |lanes, interleave| -> Box<dyn Executor> {
        match Jit::new(JitOptions {
            lanes,
            interleave,
            ..JitOptions::default()
        }) {
            Ok(jit) => Box::new(jit),
            Err(error) => panic!("{error}"),
        }
    };
    [
        ("interpreter", Box::new(Interpreter)),
        ("4 lanes", jit(Lanes::Four, Interleave::Never)),
        ("8 lanes", jit(Lanes::Auto, Interleave::Never)),
        ("8 lanes, two pairs", jit(Lanes::Auto, Interleave::Always)),
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
        group.throughput(Throughput::Elements(case.operations * 8 * PAIRS as u64));
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
    let report = |case: &Case, lanes, interleave| {
        let options = JitOptions {
            lanes,
            interleave,
            ..JitOptions::default()
        };
        match Jit::new(options).and_then(|jit| jit.report(&case.program)) {
            Ok(report) => report,
            Err(error) => panic!("{}: {error}", case.name),
        }
    };
    println!("| program | ops | interpreter | 4 lanes | 8 lanes | 8 lanes, two pairs | by itself | results |");
    println!("|---|---|---|---|---|---|---|---|");
    for case in cases() {
        print!("| {} | {} |", case.name, case.operations);
        let mut results = 0;
        for (_, executor) in executors() {
            let compiled = compile(&*executor, &case);
            let mut inputs = Inputs::new(&*compiled);
            let seconds = fastest(0.02, || inputs.run(&*compiled));
            results = inputs.results();
            print!(
                " {:.3} ns |",
                seconds * 1e9 / (case.operations * 8 * PAIRS as u64) as f64
            );
        }
        let auto = report(&case, Lanes::Auto, Interleave::Auto);
        println!(" {} | {results:08x} |", if auto.pairs == 2 { "two" } else { "one" });
    }
    println!();
    println!("| program | CLIF | emit | Cranelift | widening | of all | code | frame |");
    println!("|---|---|---|---|---|---|---|---|");
    for case in cases() {
        let mut best = report(&case, Lanes::Auto, Interleave::Never);
        for _ in 0..20 {
            let next = report(&case, Lanes::Auto, Interleave::Never);
            best.emit = best.emit.min(next.emit);
            best.codegen = best.codegen.min(next.codegen);
            best.widen = best.widen.min(next.widen);
        }
        let ms = |time: std::time::Duration| time.as_secs_f64() * 1e3;
        let all = best.emit + best.codegen + best.widen;
        println!(
            "| {} | {} | {:.3} ms | {:.3} ms | {:.3} ms | {:.1} % | {} | {} |",
            case.name,
            best.clif,
            ms(best.emit),
            ms(best.codegen),
            ms(best.widen),
            100.0 * best.widen.as_secs_f64() / all.as_secs_f64(),
            best.code_bytes,
            best.frame
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
