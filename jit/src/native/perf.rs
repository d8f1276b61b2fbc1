//! Names for Linux `perf`: appends each program to `/tmp/perf-PID.map` when `QUADRILLE_PERF` is set.

use std::fs::OpenOptions;
use std::io::Write;
use std::sync::Mutex;
use std::sync::OnceLock;

/// Records code at an address under a name; failures are ignored, since only a profile would miss the name.
pub(crate) fn record(address: usize, len: usize, name: &str) {
    static FILE: OnceLock<Option<Mutex<std::fs::File>>> = OnceLock::new();
    let file = FILE.get_or_init(|| {
        std::env::var_os("QUADRILLE_PERF")?;
        let path = format!("/tmp/perf-{}.map", std::process::id());
        OpenOptions::new()
            .create(true)
            .append(true)
            .open(path)
            .ok()
            .map(Mutex::new)
    });
    if let Some(file) = file
        && let Ok(mut file) = file.lock()
    {
        let name: String = name.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        _ = writeln!(file, "{address:x} {len:x} {name}");
    }
}
