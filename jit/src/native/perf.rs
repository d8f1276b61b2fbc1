//! Looking at generated code from outside: names for Linux `perf` in `/tmp/perf-PID.map` when `QUADRILLE_PERF` is set,
//! and each program's IR, CLIF and machine code in the directory that `QUADRILLE_DUMP` names.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
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

/// The directory for dumps, if one is asked for.
pub(crate) fn dump_directory() -> Option<&'static PathBuf> {
    static DIRECTORY: OnceLock<Option<PathBuf>> = OnceLock::new();
    DIRECTORY
        .get_or_init(|| std::env::var_os("QUADRILLE_DUMP").map(PathBuf::from))
        .as_ref()
}

/// Writes a program's forms side by side as `NUMBER-NAME.{ir,clif,bin}`; failures are ignored.
pub(crate) fn dump(directory: &Path, number: u32, name: &str, ir: &str, clif: &str, code: &[u8]) {
    let name: String = name
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect();
    for (extension, bytes) in [("ir", ir.as_bytes()), ("clif", clif.as_bytes()), ("bin", code)] {
        _ = std::fs::write(directory.join(format!("{number:03}-{name}.{extension}")), bytes);
    }
}
