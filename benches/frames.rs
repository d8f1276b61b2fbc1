//! Whole frames, small, one thread: native code against the interpreter. The jobs in `tests/jobs`, and the showpiece.
//!
//! `cargo bench --bench frames` measures with criterion; with `QUADRILLE_TABLE=1` it prints the README's table instead, the
//! minimum of several frames.

#![allow(missing_docs, reason = "criterion's macros")]

use criterion::{Criterion, criterion_group};
use quadrille::job::{LoadOptions, PrepareOptions, Prepared, load};
use quadrille::scene::render::{PreparedScene, RenderOptions};
use quadrille::scene::{self, Environment, view::View};
use quadrille::{Backend, CancelFlag, Device, DeviceDescriptor};
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::Path;
use std::time::Instant;

/// What all frames are shrunk by, in width and height.
const SCALE: u32 = 8;

const JOBS: [&str; 11] = [
    "triangle",
    "fill-blend",
    "checker",
    "cubes-front-to-back",
    "objects",
    "msaa4",
    "shadow-pcf",
    "deferred",
    "fbm-warp",
    "mandelbrot",
    "raymarch",
];
const SHOWPIECE: &str = "showpiece, glTF PBR";

fn device(backend: Backend) -> Device {
    Device::new(&DeviceDescriptor {
        backend,
        threads: NonZeroUsize::new(1),
        ..Default::default()
    })
    .expect("a device")
}

enum Frame {
    Job(Box<Prepared<'static>>, CancelFlag),
    Scene(Box<PreparedScene>),
}

impl Frame {
    fn new(name: &str, device: &Device) -> Frame {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        if name == SHOWPIECE {
            let scene = scene::load(&root.join("assets/showpiece.glb"), &scene::LoadOptions::default());
            let scene = scene.expect("the showpiece loads");
            let options = RenderOptions {
                width: 1920 / SCALE,
                height: 1080 / SCALE,
                ..Default::default()
            };
            let view = View::new(&scene.cameras[0], options.width as f32 / options.height as f32);
            let light = Environment::studio(view.yaw(), 1);
            let prepared = PreparedScene::new(device, &scene, &light, &view, &options).expect("it is prepared");
            return Frame::Scene(Box::new(prepared));
        }
        let job = load(&root.join("tests/jobs").join(name), &LoadOptions::default()).expect("the job loads");
        // Lives as long as the process: there are a dozen.
        let job = Box::leak(Box::new(job));
        let options = PrepareOptions {
            scale: NonZeroU32::new(SCALE).expect("not zero"),
        };
        let prepared = job.prepare(device, &options).expect("the job is prepared");
        Frame::Job(Box::new(prepared), CancelFlag::new())
    }

    fn render(&mut self) {
        match self {
            Frame::Job(job, cancel) => drop(job.frame(cancel).expect("a frame")),
            Frame::Scene(scene) => drop(scene.render(None).expect("a frame")),
        }
    }
}

fn names() -> impl Iterator<Item = &'static str> {
    JOBS.into_iter().chain([SHOWPIECE])
}

fn frames(c: &mut Criterion) {
    for name in names() {
        let mut group = c.benchmark_group(name);
        group.sample_size(10);
        for (backend, label) in [(Backend::Jit, "jit"), (Backend::Interpreter, "interp")] {
            let mut frame = Frame::new(name, &device(backend));
            group.bench_function(label, |b| b.iter(|| frame.render()));
        }
        group.finish();
    }
}

criterion_group!(benches, frames);

fn table() {
    println!("| frame, 1/{SCALE} size | interpreter, ms | native code, ms | ratio |");
    println!("|---|---|---|---|");
    for name in names() {
        let [slow, fast] = [(Backend::Interpreter, 2), (Backend::Jit, 10)].map(|(backend, rounds)| {
            let mut frame = Frame::new(name, &device(backend));
            frame.render();
            let times = (0..rounds).map(|_| {
                let start = Instant::now();
                frame.render();
                start.elapsed().as_secs_f64() * 1e3
            });
            times.fold(f64::INFINITY, f64::min)
        });
        println!("| {name} | {slow:.2} | {fast:.3} | {:.0}x |", slow / fast);
    }
}

fn main() {
    if std::env::var_os("QUADRILLE_TABLE").is_some() {
        return table();
    }
    benches();
    Criterion::default().configure_from_args().final_summary();
}
