//! Files in and out: bounded reading, and writing that leaves either the whole file or nothing.
//!
//! ```text
//! read_bounded ──► bytes                     size checked before a byte is allocated
//! write_atomically ──► .name.PID.N.part ──► rename      a failed or interrupted run leaves no partial output
//! png ──► 8-bit RGBA images
//! texture ──► DDS and KTX2 with levels, layers and cubes
//! ```
//!
//! Nothing here trusts a file: sizes are checked against a limit first, and every error names the path.

use std::fs;
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

pub mod image;
pub mod png;
pub mod shader;
pub mod texture;

/// A file that could not be read or written: the file system's fault, or the path's.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// Opening or reading failed.
    #[error("cannot read `{}`", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file is larger than the caller allows.
    #[error("`{}` has {size} bytes, more than the {limit} allowed here", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// Its size.
        size: u64,
        /// The most that may be read.
        limit: u64,
    },
    /// Text was expected.
    #[error("`{}` is not UTF-8 text (byte {at})", path.display())]
    NotText {
        /// The file.
        path: PathBuf,
        /// First byte that doesn't belong.
        at: usize,
    },
    /// Creating, writing or renaming failed; nothing was left behind.
    #[error("cannot write `{}`", path.display())]
    Write {
        /// The file that was to be written.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// The whole file, unless it has more than `limit` bytes (special files: unless they deliver more).
pub fn read_bounded(path: &Path, limit: u64) -> Result<Vec<u8>, FileError> {
    let fail = |source| FileError::Read {
        path: path.to_owned(),
        source,
    };
    let too_large = |size| FileError::TooLarge {
        path: path.to_owned(),
        size,
        limit,
    };
    let file = fs::File::open(path).map_err(fail)?;
    let size = file.metadata().map_err(fail)?.len();
    if size > limit {
        return Err(too_large(size));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
    // One byte more than allowed tells a file that is still growing, or a device, from one that fits.
    file.take(limit.saturating_add(1))
        .read_to_end(&mut bytes)
        .map_err(fail)?;
    if bytes.len() as u64 > limit {
        return Err(too_large(bytes.len() as u64));
    }
    Ok(bytes)
}

/// As [`read_bounded`], for UTF-8 text.
pub fn read_text(path: &Path, limit: u64) -> Result<String, FileError> {
    String::from_utf8(read_bounded(path, limit)?).map_err(|e| FileError::NotText {
        path: path.to_owned(),
        at: e.utf8_error().valid_up_to(),
    })
}

/// Unfinished files of this process, so that an interrupt can take them away.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Removes what [`write_atomically`] has begun and not finished. For the last moments of an interrupted process.
pub fn remove_unfinished() {
    let mut list = UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner);
    for path in list.drain(..) {
        // Best effort: the process is ending, and there is no one to tell.
        let _ = fs::remove_file(path);
    }
}

/// Deletes the unfinished file when writing it failed or panicked.
struct Unfinished(PathBuf);

impl Unfinished {
    fn begin(path: PathBuf) -> Unfinished {
        let mut list = UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner);
        list.push(path.clone());
        Unfinished(path)
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        // After the rename there is nothing to remove, which is fine.
        let _ = fs::remove_file(&self.0);
        let mut list = UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner);
        list.retain(|p| *p != self.0);
    }
}

/// Writes a file by way of a temporary one beside it, which takes its name only when all is written: whatever goes
/// wrong, `path` holds either what it held before or the whole new content. Devices and pipes are written directly.
pub fn write_atomically(
    path: &Path,
    content: impl FnOnce(&mut BufWriter<fs::File>) -> io::Result<()>,
) -> Result<(), FileError> {
    let fail = |source| FileError::Write {
        path: path.to_owned(),
        source,
    };
    let special = fs::metadata(path).is_ok_and(|m| !m.is_file());
    if special {
        let mut out = BufWriter::new(fs::OpenOptions::new().write(true).open(path).map_err(fail)?);
        content(&mut out).map_err(fail)?;
        return out.flush().map_err(fail);
    }
    static COUNTER: AtomicU32 = AtomicU32::new(0);
    let name = path
        .file_name()
        .ok_or_else(|| fail(io::Error::new(io::ErrorKind::InvalidInput, "the path names no file")))?;
    let mut part = std::ffi::OsString::from(".");
    part.push(name);
    part.push(format!(
        ".{}.{}.part",
        std::process::id(),
        COUNTER.fetch_add(1, Ordering::Relaxed)
    ));
    let part = path.with_file_name(part);
    let file = fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&part)
        .map_err(fail)?;
    let unfinished = Unfinished::begin(part);
    let mut out = BufWriter::with_capacity(1 << 16, file);
    content(&mut out).map_err(fail)?;
    out.flush().map_err(fail)?;
    drop(out);
    fs::rename(&unfinished.0, path).map_err(fail)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scratch(name: &str) -> PathBuf {
        let dir = std::env::temp_dir().join(format!("quadrille-files-{}-{name}", std::process::id()));
        fs::create_dir_all(&dir).expect("a directory for the test");
        dir
    }

    #[test]
    fn a_failed_write_leaves_the_old_content_and_no_other_file() {
        let dir = scratch("atomic");
        let path = dir.join("out.bin");
        write_atomically(&path, |w| w.write_all(b"first")).expect("writes");
        let failed = write_atomically(&path, |w| {
            w.write_all(b"second")?;
            Err(io::Error::other("the disk is full"))
        });
        assert!(
            matches!(failed, Err(FileError::Write { .. })),
            "the failure is reported"
        );
        assert_eq!(fs::read(&path).expect("still there"), b"first");
        assert_eq!(fs::read_dir(&dir).expect("lists").count(), 1, "no partial file stays");
        fs::remove_dir_all(dir).expect("cleans up");
    }

    #[test]
    fn reading_stops_at_the_limit() {
        let dir = scratch("bounded");
        let path = dir.join("in.bin");
        fs::write(&path, [7; 100]).expect("writes");
        assert_eq!(read_bounded(&path, 100).expect("fits").len(), 100);
        assert!(matches!(
            read_bounded(&path, 99),
            Err(FileError::TooLarge { size: 100, .. })
        ));
        // A device has no size to check beforehand.
        assert!(matches!(
            read_bounded(Path::new("/dev/zero"), 1000),
            Err(FileError::TooLarge { .. })
        ));
        fs::remove_dir_all(dir).expect("cleans up");
    }
}
