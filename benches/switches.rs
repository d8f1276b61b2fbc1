//! Law R5: workloads with hierarchical depth and without, frame by frame in turn in one run on one thread.
//!
//! `cargo bench --bench switches`: the jobs of `../shared/workloads`, or of the directory that `QUADRILLE_WORKLOADS`
//! names; arguments select by name.

use quadrille::job::{LoadOptions, PrepareOptions, Prepared};
use quadrille::{Backend, CancelFlag, Device, DeviceDescriptor, PassTuning};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Instant;

const JOBS: [&str; 7] = [
    "objects",
    "sphere-1m",
    "cubes-front-to-back",
    "cubes-back-to-front",
    "foliage",
    "deferred",
    "particles",
];
const ROUNDS: usize = 15;

fn prepare(path: &Path, hierarchical_depth: bool) -> Option<Prepared<'static>> {
    let device = Device::new(&DeviceDescriptor {
        backend: Backend::Jit,
        threads: NonZeroUsize::new(1),
        tuning: PassTuning {
            hierarchical_depth,
            ..PassTuning::default()
        },
        ..DeviceDescriptor::default()
    })
    .expect("a device");
    let job = match quadrille::job::load(path, &LoadOptions::default()) {
        Ok(job) => Box::leak(Box::new(job)),
        Err(e) => {
            println!("skipped: {e}");
            return None;
        }
    };
    Some(job.prepare(&device, &PrepareOptions::default()).expect("prepares"))
}

fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    let directory = std::env::var_os("QUADRILLE_WORKLOADS").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/workloads"),
        PathBuf::from,
    );
    println!(
        "{:<22} {:>9} {:>9} {:>9}",
        "hierarchical depth", "on, ms", "off, ms", "off / on"
    );
    for name in JOBS {
        if !wanted.is_empty() && !wanted.iter().any(|w| name.contains(w.as_str())) {
            continue;
        }
        let path = directory.join(name);
        let (Some(on), Some(off)) = (prepare(&path, true), prepare(&path, false)) else {
            continue;
        };
        let mut frames = [on, off];
        let mut times = [Vec::new(), Vec::new()];
        for round in 0..ROUNDS {
            for (frame, times) in frames.iter_mut().zip(&mut times) {
                let start = Instant::now();
                frame.frame(&CancelFlag::new()).expect("renders");
                if round > 0 {
                    times.push(start.elapsed().as_secs_f64() * 1e3);
                }
            }
        }
        let [on, off] = times.each_mut().map(|t| median(t));
        println!("{name:<22} {on:>9.2} {off:>9.2} {:>8.2}x", off / on);
    }
}
