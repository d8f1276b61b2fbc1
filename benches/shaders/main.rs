//! Real shaders, native code against the interpreter: ns per operation, from a constant colour to the PBR shader.
//!
//! `cargo bench --bench shaders` measures with criterion; a throughput of one element is one operation of one lane. With
//! `QUADRILLE_TABLE=1` it prints the README's table instead, the minimum of several rounds. Times are those of tiles: the
//! fragment program with the fixed function that is compiled into it, and what feeds it pixels; one thread.

#![allow(missing_docs, reason = "criterion's macros")]

mod cases;
mod frame;

use cases::{Case, cases};
use criterion::{Criterion, Throughput, criterion_group};
use frame::{Frame, SIZE};
use quadrille_jit::count::Counting;
use quadrille_jit::interp::Interpreter;
use quadrille_jit::{Executor, Interleave, Jit, JitOptions, Lanes, ProgramKind};
use std::time::Duration;

fn jit(lanes: Lanes, interleave: Interleave) -> Jit {
    let options = JitOptions {
        lanes,
        interleave,
        ..JitOptions::default()
    };
    Jit::new(options).unwrap_or_else(|e| panic!("{e}"))
}

/// Operations of all lanes in one frame.
fn operations(case: &Case) -> u64 {
    let counting = Counting::new(|p| matches!(p.kind, ProgramKind::Fragment { .. }));
    Frame::new(case, &counting).run();
    counting.operations().get()
}

fn shaders(c: &mut Criterion) {
    for case in cases() {
        let mut group = c.benchmark_group(case.name);
        group.throughput(Throughput::Elements(operations(&case)));
        let executors: [(&str, Box<dyn Executor>); 4] = [
            ("interpreter", Box::new(Interpreter)),
            ("4 lanes", Box::new(jit(Lanes::Four, Interleave::Never))),
            ("8 lanes", Box::new(jit(Lanes::Auto, Interleave::Never))),
            ("8 lanes, two pairs", Box::new(jit(Lanes::Auto, Interleave::Always))),
        ];
        for (name, executor) in executors {
            let frame = Frame::new(&case, &*executor);
            group.bench_function(name, |b| {
                b.iter_custom(|times| (0..times).map(|_| frame.run().tiles).sum::<Duration>());
            });
        }
        group.finish();
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_millis(600));
    targets = shaders
}

/// Least seconds of a frame's tiles.
fn fastest(frame: &Frame, rounds: u32) -> f64 {
    frame.run();
    let times = (0..rounds).map(|_| frame.run().tiles.as_secs_f64());
    times.fold(f64::INFINITY, f64::min)
}

fn table() {
    println!(
        "| shader | ops per pixel | interpreter, ns/op | 4 lanes | 8 lanes | two pairs | by itself | ratio | compile, ms |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    let never = [Lanes::Four, Lanes::Auto].map(|lanes| jit(lanes, Interleave::Never));
    let always = jit(Lanes::Auto, Interleave::Always);
    let auto = jit(Lanes::Auto, Interleave::Auto);
    for case in cases() {
        let operations = operations(&case) as f64;
        let slow = fastest(&Frame::new(&case, &Interpreter), 3) * 1e9 / operations;
        let measure = |jit: &Jit| {
            let frames: [Frame; 3] = std::array::from_fn(|_| Frame::new(&case, jit));
            let compile = frames.iter().map(Frame::compile_ms).fold(f64::INFINITY, f64::min);
            (fastest(&frames[0], 12) * 1e9 / operations, compile)
        };
        let [four, eight] = [&never[0], &never[1]].map(measure);
        let before = always.counters().interleaved;
        let paired = measure(&always).0;
        let paired = match always.counters().interleaved > before {
            true => format!("{paired:.3}"),
            false => "-".into(),
        };
        let before = auto.counters().interleaved;
        drop(Frame::new(&case, &auto));
        println!(
            "| {} | {:.0} | {slow:.2} | {:.3} | {:.3} | {paired} | {} | {:.0}x | {:.1} |",
            case.name,
            operations / f64::from(SIZE * SIZE),
            four.0,
            eight.0,
            if auto.counters().interleaved > before {
                "two"
            } else {
                "one"
            },
            slow / eight.0,
            eight.1
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
