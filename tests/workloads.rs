//! All jobs of a directory outside of the tree, small: the same bits for interpreter, 4 and 8 lanes.
//!
//! The directory is `../shared/workloads` if it is there, or what `QUADRILLE_WORKLOADS` names; each of its subdirectories
//! with a `workload.json` is a job.

use quadrille::job::{LoadOptions, Loaded, PrepareOptions};
use quadrille::{Backend, CancelFlag, Device, DeviceDescriptor, Lanes};
use std::num::NonZeroU32;
use std::path::PathBuf;

/// Pixels of the output up to which the interpreter's patience lasts, about.
const SCALE: u32 = 16;

fn render(job: &Loaded, backend: Backend, lanes: Lanes) -> (u32, u32, Vec<u8>) {
    let name = &job.job.name;
    let device = Device::new(&DeviceDescriptor {
        backend,
        lanes,
        ..DeviceDescriptor::default()
    })
    .expect("a device");
    let options = PrepareOptions {
        scale: NonZeroU32::new(SCALE).expect("not zero"),
    };
    let mut prepared = job.prepare(&device, &options).unwrap_or_else(|e| panic!("{name}: {e}"));
    prepared.frame(&CancelFlag::new()).expect("renders");
    assert_eq!(device.refusals(), [], "{name}");
    let image = prepared.read_output().expect("has an image");
    (image.width, image.height, image.bytes)
}

#[test]
fn every_workload_has_the_same_bits() {
    let named = std::env::var_os("QUADRILLE_WORKLOADS").map(PathBuf::from);
    let beside = || Some(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared/workloads")).filter(|d| d.is_dir());
    let Some(dir) = named.or_else(beside) else {
        println!("skipped: there is no ../shared/workloads, and QUADRILLE_WORKLOADS names no directory of jobs");
        return;
    };
    let entries = std::fs::read_dir(&dir).unwrap_or_else(|e| panic!("{}: {e}", dir.display()));
    let mut jobs: Vec<PathBuf> = entries
        .filter_map(|e| Some(e.ok()?.path()).filter(|p| p.join("workload.json").exists()))
        .collect();
    jobs.sort();
    assert!(!jobs.is_empty(), "{} has no jobs", dir.display());
    let mut rendered = 0;
    for path in &jobs {
        // Large data files may not be here.
        let job = match quadrille::job::load(path, &LoadOptions::default()) {
            Ok(job) => job,
            Err(e) => {
                println!("skipped: {e}");
                continue;
            }
        };
        rendered += 1;
        let eight = render(&job, Backend::Jit, Lanes::Auto);
        for (what, backend, lanes) in [
            ("4 lanes", Backend::Jit, Lanes::Four),
            ("interpreter", Backend::Interpreter, Lanes::Auto),
        ] {
            assert!(render(&job, backend, lanes) == eight, "{}: {what}", path.display());
        }
        println!("{}: the same", path.display());
    }
    assert!(rendered > 0, "none of the {} jobs could be loaded", jobs.len());
    println!("{rendered} of {} jobs", jobs.len());
}
