//! Files of a job: where they may be, and shaders, buffers and other bytes from them.

use super::{LoadOptions, ShaderFile};
use crate::files::shader::{self, ShaderFileError};
use crate::files::{self, FileError};
use crate::job::error::JobError;
use crate::job::model::{self, Data, OneOrMany};
use crate::job::words::LanguageWord;
use std::path::{Component, Path, PathBuf};

/// A shader larger than this is refused unread.
const MAX_SHADER_BYTES: u64 = 16 << 20;

pub(super) struct Files<'a> {
    pub dir: &'a Path,
    pub job: &'a Path,
    pub options: &'a LoadOptions,
}

impl Files<'_> {
    pub fn invalid(&self, at: &str, reason: impl Into<String>) -> JobError {
        JobError::Invalid {
            job: self.job.to_owned(),
            at: at.to_owned(),
            reason: reason.into(),
        }
    }

    pub fn failed(&self, at: &str, source: FileError) -> JobError {
        JobError::File {
            job: self.job.to_owned(),
            at: at.to_owned(),
            source,
        }
    }

    /// The file of that name: below the job's directory, or below its sibling `common`.
    pub fn resolve(&self, name: &str, at: &str) -> Result<PathBuf, JobError> {
        let inner = name.strip_prefix("../common/").unwrap_or(name);
        let plain = Path::new(inner)
            .components()
            .all(|c| matches!(c, Component::Normal(_) | Component::CurDir));
        if inner.is_empty() || !plain {
            return Err(self.invalid(
                at,
                format!("`{name}` is not a file of the job; paths are relative to it and may start with `../common/`"),
            ));
        }
        Ok(self.dir.join(name))
    }

    pub fn read(&self, name: &str, at: &str) -> Result<Vec<u8>, JobError> {
        let path = self.resolve(name, at)?;
        files::read_bounded(&path, self.options.max_file_bytes).map_err(|e| self.failed(at, e))
    }

    pub fn shader(&self, described: &model::Shader, name: &str, at: &str) -> Result<ShaderFile, JobError> {
        let language = described.language.or_else(|| by_name(described.file.as_deref()?));
        let language = language.unwrap_or(LanguageWord::Wgsl);
        let binary = matches!(language, LanguageWord::SpirV | LanguageWord::Dxbc);
        let (file, bytes) = match (&described.file, &described.text, &described.hex) {
            (Some(file), None, None) => {
                let path = self.resolve(file, at)?;
                if matches!(language, LanguageWord::Glsl | LanguageWord::Hlsl) {
                    return self.compiled(&path, file, at);
                }
                let bytes = if binary {
                    files::read_bounded(&path, MAX_SHADER_BYTES)
                } else {
                    files::read_text(&path, MAX_SHADER_BYTES).map(String::into_bytes)
                };
                (file.clone(), bytes.map_err(|e| self.failed(at, e))?)
            }
            (None, Some(text), None) if !binary => (name.to_owned(), text.0.clone().into_bytes()),
            (None, None, Some(hex)) if binary => {
                let bytes = model::from_hex(&hex.0).map_err(|reason| self.invalid(&format!("{at}.hex"), reason))?;
                (name.to_owned(), bytes)
            }
            _ => {
                let reason = "a shader is a `file`, a `text`, or, for binary languages, `hex`";
                return Err(self.invalid(at, reason));
            }
        };
        Ok(ShaderFile { file, language, bytes })
    }

    /// A GLSL or HLSL file; what an outside compiler made of it is SPIR-V.
    fn compiled(&self, path: &Path, file: &str, at: &str) -> Result<ShaderFile, JobError> {
        let text = files::read_text(path, MAX_SHADER_BYTES).map_err(|e| self.failed(at, e))?;
        if includes(&text) {
            let reason =
                "a job's shader can't `#include`: no file outside of the job may be opened; write it into the file";
            return Err(self.invalid(at, reason));
        }
        let read = shader::ShaderFile::read(path, MAX_SHADER_BYTES, self.options.glslang.as_deref());
        let (language, bytes) = match read {
            Ok(shader::ShaderFile::SpirV(words)) => {
                let bytes = words.iter().flat_map(|word| word.to_le_bytes()).collect();
                (LanguageWord::SpirV, bytes)
            }
            Ok(shader::ShaderFile::Glsl(text, _)) => (LanguageWord::Glsl, text.into_bytes()),
            Ok(_) => return Err(self.invalid(at, "the file's extension is another language's")),
            Err(ShaderFileError::File(source)) => return Err(self.failed(at, source)),
            Err(source) => {
                return Err(JobError::Shader {
                    job: self.job.to_owned(),
                    at: at.to_owned(),
                    source: Box::new(source),
                });
            }
        };
        Ok(ShaderFile {
            file: file.to_owned(),
            language,
            bytes,
        })
    }

    /// Parts of data, one after the other.
    pub fn data(&self, parts: &OneOrMany<Data>, at: &str) -> Result<Vec<u8>, JobError> {
        let mut all = Vec::new();
        for (i, part) in parts.0.iter().enumerate() {
            let at = if parts.0.len() == 1 {
                at.to_owned()
            } else {
                format!("{at}[{i}]")
            };
            let bytes = match part.inline().map_err(|reason| self.invalid(&at, reason))? {
                Some(bytes) => bytes,
                None => self.read(part.file.as_deref().unwrap_or_default(), &at)?,
            };
            let repeat = part.repeat.unwrap_or(1);
            let added = (bytes.len() as u64).saturating_mul(repeat.into());
            if added.saturating_add(all.len() as u64) > self.options.max_file_bytes {
                let most = self.options.max_file_bytes;
                return Err(self.invalid(&at, format!("data of {added} bytes, more than the {most} allowed here")));
            }
            for _ in 0..repeat {
                all.extend_from_slice(&bytes);
            }
        }
        Ok(all)
    }

    pub fn buffer(&self, b: &model::Buffer, at: &str) -> Result<Vec<u8>, JobError> {
        let given = [!b.data.0.is_empty(), b.file.is_some(), b.f32.is_some(), b.u32.is_some()];
        let given = given.into_iter().filter(|&g| g).count();
        if given > 1 || given == 0 && b.size.is_none() {
            let reason = "a buffer has exactly one of `file`, `f32`, `u32` and `data`, or `size` alone";
            return Err(self.invalid(at, reason));
        }
        let mut bytes = self.data(&b.data, &format!("{at}.data"))?;
        if let Some(file) = &b.file {
            bytes = self.read(file, &format!("{at}.file"))?;
        }
        for x in b.f32.iter().flatten() {
            bytes.extend(x.to_f32().to_le_bytes());
        }
        for x in b.u32.iter().flatten() {
            let value = u32::try_from(x.0).map_err(|_| self.invalid(at, format!("{} doesn't fit u32", x.0)))?;
            bytes.extend(value.to_le_bytes());
        }
        if let Some(size) = b.size {
            let most = self.options.max_file_bytes;
            let wanted = usize::try_from(size).ok().filter(|_| size <= most);
            let Some(wanted) = wanted.filter(|&n| n >= bytes.len()) else {
                let reason = format!(
                    "{size}; it must hold the {} bytes of data and be at most {most}",
                    bytes.len()
                );
                return Err(self.invalid(&format!("{at}.size"), reason));
            };
            let added = wanted - bytes.len();
            bytes
                .try_reserve_exact(added)
                .map_err(|_| self.invalid(&format!("{at}.size"), format!("no memory for {size} bytes")))?;
            bytes.resize(wanted, 0);
        }
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        Ok(bytes)
    }
}

/// The language that a file's name tells.
fn by_name(file: &str) -> Option<LanguageWord> {
    let extension = Path::new(file).extension()?.to_str()?.to_ascii_lowercase();
    Some(match extension.as_str() {
        "wgsl" => LanguageWord::Wgsl,
        "spv" => LanguageWord::SpirV,
        "spvasm" => LanguageWord::SpirVAssembly,
        "glsl" | "vert" | "frag" => LanguageWord::Glsl,
        "hlsl" => LanguageWord::Hlsl,
        "dxbc" | "cso" => LanguageWord::Dxbc,
        "asm" => LanguageWord::Assembly,
        _ => return None,
    })
}

/// Whether a text has an include directive, also one that continued lines or comments disguise.
fn includes(text: &str) -> bool {
    let text = text.replace("\\\r\n", "").replace("\\\n", "");
    text.split('#').skip(1).any(|rest| {
        let mut rest = rest.trim_start();
        while let Some((_, after)) = rest.strip_prefix("/*").and_then(|r| r.split_once("*/")) {
            rest = after.trim_start();
        }
        rest.starts_with("include")
    })
}

#[cfg(test)]
mod tests {
    use super::includes;

    #[test]
    fn include_directives_are_found_in_disguise() {
        for text in [
            "#include \"x\"",
            "a\n  # include <x>",
            "#/* */ /**/include \"x\"",
            "#inc\\\nlude \"x\"",
            "#\\\r\ninclude \"x\"",
        ] {
            assert!(includes(text), "{text}");
        }
        for text in ["", "#version 450\nvoid main() { int include; }", "# // include"] {
            assert!(!includes(text), "{text}");
        }
    }
}
