//! Files on disk: the GLB container, URIs, and the byte budget that all of a model's parts share.
//!
//! A model may name other files only beside or below itself: absolute paths, drive letters, schemes other than `data:` and
//! any `..` are refused, so that rendering a stranger's model reads nothing of the user's but the model.

use std::path::{Path, PathBuf};

use crate::files::{FileError, read_bounded};
use crate::scene::SceneError;
use crate::scene::error::Fault;

/// Bytes that a model may still occupy in memory, decoded. Checked before every allocation whose size the file chooses.
#[derive(Debug)]
pub(super) struct Budget {
    left: u64,
    limit: u64,
}

impl Budget {
    pub fn new(limit: u64) -> Self {
        Self { left: limit, limit }
    }

    /// Books `bytes` for `object`.
    pub fn take(&mut self, bytes: u64, object: &str) -> Result<(), Fault> {
        match self.left.checked_sub(bytes) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => Err(Fault::new(
                object,
                format!(
                    "needs {bytes} bytes, but only {} of the scene's limit of {} are left",
                    self.left, self.limit
                ),
            )),
        }
    }

    pub fn left(&self) -> u64 {
        self.left
    }
}

/// Reads a whole file of at most `limit` bytes.
pub(in crate::scene) fn read_file(path: &Path, limit: u64) -> Result<Vec<u8>, SceneError> {
    if path.is_dir() {
        return Err(SceneError::Container {
            path: path.to_owned(),
            problem: "is a directory, not a file".into(),
        });
    }
    read_bounded(path, limit).map_err(|e| match e {
        FileError::Read { path, source } => SceneError::Read { path, source },
        FileError::TooLarge { path, limit, .. } => SceneError::Container {
            path,
            problem: format!("is larger than the {limit} bytes that the memory limit leaves for it"),
        },
        other => SceneError::Container {
            path: path.to_owned(),
            problem: other.to_string(),
        },
    })
}

/// A glTF file's two parts: the JSON, and GLB's binary chunk.
pub(super) struct Parts<'a> {
    pub json: &'a [u8],
    pub bin: Option<&'a [u8]>,
}

/// Takes a GLB apart; anything that doesn't start with GLB's magic is taken to be JSON. Chunks of unknown types are skipped,
/// as the specification asks.
pub(super) fn split(bytes: &[u8]) -> Result<Parts<'_>, String> {
    if !bytes.starts_with(b"glTF") {
        let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        return match text.iter().find(|b| !b.is_ascii_whitespace()) {
            Some(b'{') => Ok(Parts { json: text, bin: None }),
            Some(_) => Err("is neither GLB (no `glTF` magic) nor glTF (no JSON object)".into()),
            None => Err("is empty".into()),
        };
    }
    let word =
        |at: usize| -> Option<u32> { Some(u32::from_le_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?)) };
    let (Some(version), Some(total)) = (word(4), word(8)) else {
        return Err(format!("GLB header is cut off after {} of 12 bytes", bytes.len()));
    };
    if version != 2 {
        return Err(format!("is GLB version {version}; only version 2 is supported"));
    }
    let total = total as usize;
    if total > bytes.len() {
        return Err(format!(
            "GLB says it is {total} bytes long, but the file ends after {}",
            bytes.len()
        ));
    }
    let (mut json, mut bin) = (None, None);
    let mut at = 12usize;
    while at < total {
        let (Some(len), Some(kind)) = (word(at), word(at + 4)) else {
            return Err(format!("GLB chunk header at byte {at} is cut off"));
        };
        let start = at + 8;
        let end = start
            .checked_add(len as usize)
            .filter(|&end| end <= total)
            .ok_or_else(|| format!("GLB chunk at byte {at} is {len} bytes long, past the end of the file"))?;
        let chunk = &bytes[start..end];
        match &kind.to_le_bytes() {
            b"JSON" if json.is_none() => json = Some(chunk),
            _ if json.is_none() => return Err("GLB's first chunk is not JSON".into()),
            b"BIN\0" if bin.is_none() => bin = Some(chunk),
            _ => {}
        }
        // Chunks are padded to four bytes; a length that isn't is tolerated when it is the last.
        at = end.next_multiple_of(4);
    }
    json.map(|json| Parts { json, bin })
        .ok_or_else(|| "GLB has no JSON chunk".into())
}

/// What a URI in a glTF points to.
#[derive(Debug, PartialEq)]
pub(super) enum Target {
    /// Decoded contents of a `data:` URI.
    Data(Vec<u8>),
    /// A file, relative to the model.
    File(PathBuf),
}

/// Understands a URI. `object` is who asks.
pub(super) fn resolve(uri: &str, object: &str, budget: &mut Budget) -> Result<Target, Fault> {
    let fault = |problem: String| Fault::new(object, problem);
    if let Some(rest) = uri.strip_prefix("data:") {
        let (head, body) = rest
            .split_once(',')
            .ok_or_else(|| fault("data URI has no comma before its contents".into()))?;
        budget.take(body.len() as u64, object)?;
        return if head.ends_with(";base64") {
            base64(body.as_bytes())
                .map(Target::Data)
                .map_err(|at| fault(format!("data URI: bad base64 at byte {at}")))
        } else {
            percent_decode(body)
                .map(Target::Data)
                .ok_or_else(|| fault("data URI: bad percent escape".into()))
        };
    }
    let shown: String = uri.chars().take(120).collect();
    if uri.is_empty() {
        return Err(fault("has an empty URI".into()));
    }
    let decoded = percent_decode(uri)
        .and_then(|bytes| String::from_utf8(bytes).ok())
        .ok_or_else(|| fault(format!("URI `{shown}` has a bad percent escape or is not UTF-8")))?;
    if decoded.contains('\0') || decoded.contains(':') {
        return Err(fault(format!(
            "URI `{shown}` is not a relative path (only files beside the model are read)"
        )));
    }
    let mut path = PathBuf::new();
    for part in decoded.split(['/', '\\']) {
        match part {
            // An absolute path starts with an empty part.
            "" if path.as_os_str().is_empty() => {
                return Err(fault(format!(
                    "URI `{shown}` is an absolute path (only files beside the model are read)"
                )));
            }
            "" | "." => {}
            ".." => {
                return Err(fault(format!(
                    "URI `{shown}` leaves the model's directory, which is not allowed"
                )));
            }
            part => path.push(part),
        }
    }
    if path.as_os_str().is_empty() {
        Err(fault(format!("URI `{shown}` names no file")))
    } else {
        Ok(Target::File(path))
    }
}

fn percent_decode(text: &str) -> Option<Vec<u8>> {
    let mut bytes = text.bytes();
    let mut out = Vec::with_capacity(text.len());
    while let Some(b) = bytes.next() {
        out.push(if b == b'%' {
            let mut digit = || (bytes.next()? as char).to_digit(16);
            (digit()? * 16 + digit()?) as u8
        } else {
            b
        });
    }
    Some(out)
}

/// Decodes base64 with either alphabet, padding optional, white space skipped; the error is the offending byte's index.
fn base64(text: &[u8]) -> Result<Vec<u8>, usize> {
    let mut out = Vec::with_capacity(text.len() / 4 * 3 + 3);
    let (mut bits, mut held) = (0u32, 0u32);
    let mut padded = false;
    for (at, &b) in text.iter().enumerate() {
        let v = match b {
            b'A'..=b'Z' => b - b'A',
            b'a'..=b'z' => b - b'a' + 26,
            b'0'..=b'9' => b - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            b'=' => {
                padded = true;
                continue;
            }
            b' ' | b'\t' | b'\r' | b'\n' => continue,
            _ => return Err(at),
        };
        if padded {
            return Err(at);
        }
        bits = bits << 6 | u32::from(v);
        held += 6;
        if held >= 8 {
            held -= 8;
            out.push((bits >> held) as u8);
        }
    }
    // A single left-over character carries six bits of nothing.
    if held >= 6 { Err(text.len()) } else { Ok(out) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve_str(uri: &str) -> Result<Target, String> {
        resolve(uri, "images[0]", &mut Budget::new(1000)).map_err(|f| f.problem)
    }

    #[test]
    fn uris_stay_beside_the_model() {
        let file = |p: &str| Ok(Target::File(PathBuf::from(p)));
        assert_eq!(resolve_str("a.png"), file("a.png"));
        assert_eq!(
            resolve_str("./Textures/my%20wood%2B.png"),
            file("Textures/my wood+.png")
        );
        assert_eq!(resolve_str("Textures\\a.png"), file("Textures/a.png"));
        for bad in [
            "",
            "/etc/passwd",
            "../a.bin",
            "a/../../b",
            "%2e%2e/a",
            "%2Fetc/passwd",
            "C:\\a",
            "http://x/a",
            "file:a",
            "a%zz",
            "a%2",
            ".",
            "a\0b",
        ] {
            assert!(resolve_str(bad).is_err(), "{bad:?} was let through");
        }
    }

    #[test]
    fn data_uris() {
        let data = |b: &[u8]| Ok(Target::Data(b.to_vec()));
        assert_eq!(
            resolve_str("data:application/octet-stream;base64,SGVsbG8="),
            data(b"Hello")
        );
        assert_eq!(resolve_str("data:;base64,SGVs bG8"), data(b"Hello"));
        assert_eq!(resolve_str("data:,a%20b"), data(b"a b"));
        for bad in [
            "data:;base64",
            "data:;base64,S",
            "data:;base64,SG=s",
            "data:;base64,SG!s",
            "data:,%q",
        ] {
            assert!(resolve_str(bad).is_err(), "{bad:?} was let through");
        }
        let long = format!("data:;base64,{}", "A".repeat(2000));
        assert!(resolve_str(&long).unwrap_err().contains("limit"));
    }

    fn glb(chunks: &[(&[u8; 4], &[u8])]) -> Vec<u8> {
        let mut out = b"glTF\x02\0\0\0\0\0\0\0".to_vec();
        for (kind, data) in chunks {
            out.extend((data.len() as u32).to_le_bytes());
            out.extend(*kind);
            out.extend(*data);
        }
        let len = (out.len() as u32).to_le_bytes();
        out[8..12].copy_from_slice(&len);
        out
    }

    #[test]
    fn glb_is_taken_apart() {
        let file = glb(&[(b"JSON", b"{}  "), (b"BIN\0", b"abcd"), (b"XXXX", b"zzzz")]);
        let parts = split(&file).unwrap();
        assert_eq!((parts.json, parts.bin), (&b"{}  "[..], Some(&b"abcd"[..])));
        // Every truncation is an error, none a panic; so is every single changed byte of the header.
        for cut in 0..file.len() {
            assert!(split(&file[..cut]).is_err(), "cut at {cut}");
        }
        for at in 0..28 {
            for v in [0, 1, 0x7f, 0xff] {
                let mut broken = file.clone();
                broken[at] = v;
                let _ = split(&broken);
            }
        }
        assert!(split(&glb(&[(b"BIN\0", b"abcd"), (b"JSON", b"{}  ")])).is_err());
        assert!(split(&glb(&[])).is_err());
        assert!(split(b"glTF\x01\0\0\0\x0c\0\0\0").err().unwrap().contains("version 1"));
        assert!(split(b"  \n").is_err());
        assert!(split(b"solid stl").is_err());
        assert_eq!(split(b"\xef\xbb\xbf {}").unwrap().json, b" {}");
    }

    #[test]
    fn files_have_a_limit() {
        assert!(matches!(
            read_file(Path::new("no/such/file"), 10),
            Err(SceneError::Read { .. })
        ));
        assert!(matches!(
            read_file(Path::new("."), 10),
            Err(SceneError::Container { .. } | SceneError::Read { .. })
        ));
        assert!(matches!(
            read_file(Path::new("Cargo.toml"), 10),
            Err(SceneError::Container { .. })
        ));
    }
}
