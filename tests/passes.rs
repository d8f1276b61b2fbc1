//! Law R4: how passes are divided changes no bit. Every job of the tree, small, and those of `../shared/workloads` if they
//! are there: bins of 64 KiB and chunks of a few primitives against no limit, with 1, 2 and 4 threads.

mod support;

use quadrille::job::{Batch, LoadOptions, Loaded, PrepareOptions, Status, find_jobs};
use quadrille::{Backend, CancelFlag, Device, DeviceDescriptor, PassTuning};
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::{Path, PathBuf};

fn device(threads: usize, tuning: PassTuning) -> Device {
    Device::new(&DeviceDescriptor {
        backend: Backend::Jit,
        threads: NonZeroUsize::new(threads),
        tuning,
        ..DeviceDescriptor::default()
    })
    .expect("a device")
}

fn unlimited() -> PassTuning {
    PassTuning {
        bin_budget: usize::MAX,
        ..PassTuning::default()
    }
}

/// 64 KiB are less than a chunk of the usual size: tiles run after each.
fn small() -> [PassTuning; 2] {
    let budget = PassTuning {
        bin_budget: 64 << 10,
        ..PassTuning::default()
    };
    [
        budget,
        PassTuning {
            chunk_primitives: 100,
            bin_budget: 0,
            ..budget
        },
    ]
}

fn render(job: &Loaded, scale: u32, device: &Device) -> Vec<u8> {
    let options = PrepareOptions {
        scale: NonZeroU32::new(scale).expect("not zero"),
    };
    let name = &job.job.name;
    let mut prepared = job.prepare(device, &options).unwrap_or_else(|e| panic!("{name}: {e}"));
    prepared.frame(&CancelFlag::new()).expect("renders");
    prepared.read_output().expect("has an image").bytes
}

fn check(paths: &[PathBuf], scale: u32) -> usize {
    let mut checked = 0;
    for path in paths {
        // Large data files may not be here.
        let job = match quadrille::job::load(path, &LoadOptions::default()) {
            Ok(job) => job,
            Err(e) => {
                println!("skipped: {e}");
                continue;
            }
        };
        checked += 1;
        let expected = render(&job, scale, &device(1, unlimited()));
        for threads in [1, 2, 4] {
            for tuning in small() {
                let image = render(&job, scale, &device(threads, tuning));
                assert!(image == expected, "{}: {threads} threads, {tuning:?}", path.display());
            }
        }
    }
    checked
}

fn jobs_in(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).unwrap_or_else(|e| panic!("{}: {e}", directory.display()));
    let mut jobs: Vec<PathBuf> = entries
        .filter_map(|e| Some(e.ok()?.path()).filter(|p| p.join("workload.json").exists()))
        .collect();
    jobs.sort();
    jobs
}

#[test]
fn law_r4_jobs_of_the_tree() {
    let jobs = jobs_in(&support::jobs());
    assert_eq!(check(&jobs, 8), jobs.len());
}

#[test]
fn law_r4_workloads() {
    let named = std::env::var_os("QUADRILLE_WORKLOADS").map(PathBuf::from);
    let beside = || Some(Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/workloads")).filter(|d| d.is_dir());
    let Some(directory) = named.or_else(beside) else {
        println!("skipped: there is no ../shared/workloads, and QUADRILLE_WORKLOADS names no directory of jobs");
        return;
    };
    let jobs = jobs_in(&directory);
    println!(
        "{} of {} jobs, at a sixteenth of their width",
        check(&jobs, 16),
        jobs.len()
    );
}

/// The conformance suite, with chunks of one primitive each in a round of its own; but for the job that counts vertex
/// invocations, which are more where chunks share vertices.
#[test]
fn law_r4_conformance_jobs() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/conformance");
    let jobs = find_jobs(&directory).expect("lists").expect("several");
    for threads in [1, 2, 4] {
        let [usual, single] = [PassTuning::default().chunk_primitives, 1].map(|chunk_primitives| {
            let tuning = PassTuning {
                bin_budget: 0,
                chunk_primitives,
                ..PassTuning::default()
            };
            device(threads, tuning)
        });
        for job in &jobs {
            let counts = job.file_stem().is_some_and(|name| name == "queries");
            let batch = Batch {
                device: if counts { &usual } else { &single },
                load: Default::default(),
                out_dir: None,
                options: PrepareOptions::default(),
            };
            let outcome = batch.run(job, &CancelFlag::new());
            assert_eq!(outcome.status, Status::Pass, "{}", outcome.message.unwrap_or_default());
        }
    }
}
