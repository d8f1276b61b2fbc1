//! The conformance suite in job format: `tests/conformance/*.json`, each with the rules that it cites and what must come out.

use quadrille::job::{Batch, PrepareOptions, Status, find_jobs};
use quadrille::{Backend, CancelFlag, Device, DeviceDescriptor};
use std::path::Path;

fn all_pass(backend: Backend) {
    let device = Device::new(&DeviceDescriptor {
        backend,
        threads: std::num::NonZeroUsize::new(2),
        ..DeviceDescriptor::default()
    })
    .expect("a device");
    let batch = Batch {
        device: &device,
        load: Default::default(),
        out_dir: None,
        options: PrepareOptions::default(),
    };
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/conformance");
    let jobs = find_jobs(&directory).expect("lists").expect("several");
    assert!(jobs.len() >= 20, "the suite is there");
    for job in jobs {
        let outcome = batch.run(&job, &CancelFlag::new());
        assert_eq!(outcome.status, Status::Pass, "{}", outcome.message.unwrap_or_default());
        assert!(!outcome.cites.is_empty(), "{} cites no rule", job.display());
    }
}

#[test]
fn native_code_conforms() {
    all_pass(Backend::Jit);
}

#[test]
fn the_interpreter_conforms() {
    all_pass(Backend::Interpreter);
}
