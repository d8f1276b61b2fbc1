//! Whole frames of the jobs in `tests/jobs`: native code against the interpreter, at a small scale.
//!
//! `cargo bench --bench frames`

#![allow(missing_docs, reason = "criterion's macros")]

use criterion::{Criterion, criterion_group, criterion_main};
use quadrille::job::{LoadOptions, PrepareOptions, load};
use quadrille::{Backend, CancelFlag, Device, DeviceDescriptor};
use std::num::NonZeroU32;
use std::path::Path;

const JOBS: [&str; 8] = [
    "fill-blend",
    "checker",
    "fbm-warp",
    "raymarch",
    "mandelbrot",
    "objects",
    "deferred",
    "cubes-front-to-back",
];

fn frames(c: &mut Criterion) {
    let scale = NonZeroU32::new(8).expect("not zero");
    for name in JOBS {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/jobs").join(name);
        let job = load(&path, &LoadOptions::default()).expect("the job loads");
        let mut group = c.benchmark_group(name);
        group.sample_size(10);
        for (backend, label) in [(Backend::Jit, "jit"), (Backend::Interpreter, "interp")] {
            let device = Device::new(&DeviceDescriptor {
                backend,
                ..Default::default()
            })
            .expect("a device");
            let mut prepared = job
                .prepare(&device, &PrepareOptions { scale })
                .expect("the job is prepared");
            let cancel = CancelFlag::new();
            group.bench_function(label, |b| b.iter(|| prepared.frame(&cancel).expect("a frame")));
        }
        group.finish();
    }
}

criterion_group!(benches, frames);
criterion_main!(benches);
