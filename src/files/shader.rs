//! Shader files: the language by extension, and an outside compiler for GLSL and HLSL.
//!
//! `.wgsl` (and unknown extensions), `.spv`, `.spvasm`; `.vert`, `.frag`, `.glsl` by our own parser or, if that refuses,
//! by `glslangValidator` or `glslc` on PATH; `.hlsl` only by those. A compiler that is named takes all GLSL and HLSL.

use super::{FileError, read_bounded, read_text};
use crate::{ShaderSource, ShaderStage};
use quadrille_frontend::source::{self, Language, Module};
use quadrille_frontend::{ShaderError, spirv, wgsl};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// Why a shader file can't be used.
#[derive(Debug, thiserror::Error)]
pub enum ShaderFileError {
    /// It can't be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// Nothing tells which stage a GLSL or HLSL file is of.
    #[error(
        "{}: which stage is it? Name the file .vert or .frag (or .frag.glsl), or write `#pragma shader_stage(fragment)`",
        path.display()
    )]
    Stage {
        /// The file.
        path: PathBuf,
    },
    /// A language that needs an outside compiler, and there is none.
    #[error("{}: HLSL needs glslangValidator or glslc on PATH, or named by --glslang", path.display())]
    NoCompiler {
        /// The file.
        path: PathBuf,
    },
    /// The outside compiler can't be run.
    #[error("{} can't be run", compiler.display())]
    Run {
        /// The compiler.
        compiler: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The outside compiler refused the shader; these are its messages.
    #[error("{}: {messages}", path.display())]
    Refused {
        /// The file.
        path: PathBuf,
        /// What the compiler said.
        messages: String,
    },
    /// A binary that isn't made of words.
    #[error("{}: {length} bytes are no SPIR-V module", path.display())]
    NoWords {
        /// The file.
        path: PathBuf,
        /// Its length.
        length: usize,
    },
}

/// A shader file's content.
#[derive(Clone, Debug)]
pub enum ShaderFile {
    /// WGSL text.
    Wgsl(String),
    /// GLSL text, and its stage.
    Glsl(String, ShaderStage),
    /// SPIR-V words.
    SpirV(Vec<u32>),
    /// SPIR-V assembly text.
    SpirVAssembly(String),
}

impl ShaderFile {
    /// Reads a shader of at most `limit` bytes. `compiler`: what compiles GLSL and HLSL, instead of our own parser.
    pub fn read(path: &Path, limit: u64, compiler: Option<&Path>) -> Result<ShaderFile, ShaderFileError> {
        if path.extension().is_some_and(|e| e.eq_ignore_ascii_case("hlsl")) {
            let text = read_text(path, limit)?;
            let found = compiler.map(Path::to_owned).or_else(on_path);
            let compiler = found.ok_or_else(|| ShaderFileError::NoCompiler { path: path.to_owned() })?;
            return compile(&compiler, path, stage(path, &text)?).map(ShaderFile::SpirV);
        }
        match Language::of_path(path) {
            Some(Language::Spirv) => {
                let bytes = read_bounded(path, limit)?;
                words(path, &bytes).map(ShaderFile::SpirV)
            }
            Some(Language::SpirvAssembly) => Ok(ShaderFile::SpirVAssembly(read_text(path, limit)?)),
            Some(Language::Glsl) => {
                let text = read_text(path, limit)?;
                let stage = stage(path, &text)?;
                if let Some(compiler) = compiler {
                    return compile(compiler, path, stage).map(ShaderFile::SpirV);
                }
                // What our own parser refuses, a compiler on PATH may take.
                if wgsl::Module::parse_glsl("", &text, stage).is_err()
                    && let Some(compiler) = on_path()
                {
                    return compile(&compiler, path, stage).map(ShaderFile::SpirV);
                }
                Ok(ShaderFile::Glsl(text, stage))
            }
            Some(Language::Wgsl) | None => Ok(ShaderFile::Wgsl(read_text(path, limit)?)),
        }
    }

    /// As a device takes it.
    pub fn source(&self) -> ShaderSource<'_> {
        match self {
            ShaderFile::Wgsl(text) => ShaderSource::Wgsl(text.into()),
            ShaderFile::Glsl(text, stage) => ShaderSource::Glsl {
                shader: text.into(),
                stage: *stage,
            },
            ShaderFile::SpirV(words) => ShaderSource::SpirV(words.into()),
            ShaderFile::SpirVAssembly(text) => ShaderSource::SpirVAssembly(text.into()),
        }
    }

    /// Parses it; `name` is what diagnostics show.
    pub fn parse(&self, name: &str) -> Result<Module, ShaderError> {
        Ok(match self {
            ShaderFile::Wgsl(text) => Module::Naga(wgsl::Module::parse(name, text)?),
            ShaderFile::Glsl(text, stage) => Module::Naga(wgsl::Module::parse_glsl(name, text, *stage)?),
            ShaderFile::SpirV(words) => Module::Spirv(spirv::Module::parse_words(name, words.clone())?),
            ShaderFile::SpirVAssembly(text) => Module::Spirv(spirv::Module::assemble(name, text)?),
        })
    }
}

fn stage(path: &Path, text: &str) -> Result<ShaderStage, ShaderFileError> {
    source::glsl_stage(path, text).ok_or_else(|| ShaderFileError::Stage { path: path.to_owned() })
}

fn words(path: &Path, bytes: &[u8]) -> Result<Vec<u32>, ShaderFileError> {
    spirv::words(bytes).ok_or_else(|| ShaderFileError::NoWords {
        path: path.to_owned(),
        length: bytes.len(),
    })
}

/// A compiler on PATH.
fn on_path() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let directories: Vec<PathBuf> = std::env::split_paths(&path).filter(|d| d.is_absolute()).collect();
    let names = ["glslangValidator", "glslang", "glslc"];
    names
        .iter()
        .find_map(|name| directories.iter().map(|d| d.join(name)).find(|file| file.is_file()))
}

/// Runs the compiler; its output goes through a file that is removed.
fn compile(compiler: &Path, path: &Path, stage: ShaderStage) -> Result<Vec<u32>, ShaderFileError> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let name = match stage {
        ShaderStage::Vertex => "vert",
        ShaderStage::Fragment => "frag",
        ShaderStage::Compute => "comp",
    };
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let output = std::env::temp_dir().join(format!("quadrille-{}-{number}.spv", std::process::id()));
    let hlsl = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("hlsl"));
    let mut command = Command::new(compiler);
    if compiler.file_stem() == Some(OsStr::new("glslc")) {
        command
            .args(["-g", "--target-env=vulkan1.3"])
            .arg(format!("-fshader-stage={name}"));
        command.args(hlsl.then_some("-x").into_iter().chain(hlsl.then_some("hlsl")));
    } else {
        command.args(["-V", "-g", "--target-env", "vulkan1.3", "-S", name]);
        command.args(if hlsl { &["-D", "-e", "main"][..] } else { &[] });
    }
    let run = command.arg("-o").arg(&output).arg(path).output();
    let made = read_bounded(&output, 64 << 20);
    // Best effort: it may not have been made.
    let _ = std::fs::remove_file(&output);
    let run = run.map_err(|source| ShaderFileError::Run {
        compiler: compiler.to_owned(),
        source,
    })?;
    match made {
        Ok(bytes) if run.status.success() => words(path, &bytes),
        _ => {
            let said = [run.stdout, run.stderr].map(|s| String::from_utf8_lossy(&s).trim().to_owned());
            let messages = said
                .into_iter()
                .filter(|s| !s.is_empty())
                .collect::<Vec<_>>()
                .join("\n");
            Err(ShaderFileError::Refused {
                path: path.to_owned(),
                messages,
            })
        }
    }
}
