//! A shader in any accepted language, chosen by the file's extension.
//!
//! GLSL goes through naga's parser and the WGSL lowering; what naga doesn't take needs an outside compiler to SPIR-V.

use crate::diagnostic::ShaderError;
use crate::ir::{Shader, Stage};
use crate::wgsl::{Constants, EntryPoint, Override};
use crate::{spirv, wgsl};
use std::path::Path;

/// The languages, by file extension.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Language {
    /// `.wgsl`.
    Wgsl,
    /// `.vert`, `.frag`; `.glsl` after one of them, or with a `#pragma shader_stage(...)`.
    Glsl,
    /// `.spv`.
    Spirv,
    /// `.spvasm`.
    SpirvAssembly,
}

impl Language {
    /// The language of a file of that name.
    pub fn of_path(path: &Path) -> Option<Language> {
        match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "wgsl" => Some(Language::Wgsl),
            "vert" | "frag" | "glsl" => Some(Language::Glsl),
            "spv" => Some(Language::Spirv),
            "spvasm" => Some(Language::SpirvAssembly),
            _ => None,
        }
    }
}

/// The stage that a GLSL file's name or text tells.
pub fn glsl_stage(path: &Path, text: &str) -> Option<Stage> {
    let name = path.file_name()?.to_str()?.to_ascii_lowercase();
    for part in name.rsplit('.') {
        match part {
            "vert" => return Some(Stage::Vertex),
            "frag" => return Some(Stage::Fragment),
            _ => {}
        }
    }
    let pragma = text
        .lines()
        .find_map(|line| line.trim().strip_prefix("#pragma shader_stage("))?;
    match pragma.split(')').next()?.trim() {
        "vertex" => Some(Stage::Vertex),
        "fragment" => Some(Stage::Fragment),
        _ => None,
    }
}

/// A parsed shader module of any language.
#[derive(Debug)]
pub enum Module {
    /// WGSL, and GLSL by way of naga.
    Naga(wgsl::Module),
    /// SPIR-V.
    Spirv(spirv::Module),
}

impl Module {
    /// The name that diagnostics show.
    pub fn name(&self) -> &str {
        match self {
            Module::Naga(module) => module.name(),
            Module::Spirv(module) => module.name(),
        }
    }

    /// The source text; of a binary, its disassembly.
    pub fn text(&self) -> &str {
        match self {
            Module::Naga(module) => module.text(),
            Module::Spirv(module) => module.text(),
        }
    }

    /// All entry points, in order.
    pub fn entry_points(&self) -> Vec<EntryPoint> {
        match self {
            Module::Naga(module) => module.entry_points(),
            Module::Spirv(module) => module.entry_points(),
        }
    }

    /// The entry point of that stage, if there is exactly one.
    pub fn only_entry_point(&self, stage: Stage) -> Option<String> {
        match self {
            Module::Naga(module) => module.only_entry_point(stage),
            Module::Spirv(module) => module.only_entry_point(stage),
        }
    }

    /// What the language warns of, rendered.
    pub fn warnings(&self) -> Vec<String> {
        match self {
            Module::Naga(module) => module.warnings().collect(),
            Module::Spirv(_) => Vec::new(),
        }
    }

    /// Whether the language leaves gradients in divergent flow undefined, instead of judging them when it is parsed.
    pub fn leaves_gradients_undefined(&self) -> bool {
        match self {
            Module::Naga(module) => module.is_glsl(),
            Module::Spirv(_) => true,
        }
    }

    /// All constants that a pipeline may give values to.
    pub fn overrides(&self) -> Vec<Override> {
        match self {
            Module::Naga(module) => module.overrides(),
            Module::Spirv(module) => module.overrides(),
        }
    }

    /// Lowers an entry point of that stage, or of any; the stage tells entry points of one name apart.
    pub fn lower(&self, entry_point: &str, stage: Option<Stage>, constants: &Constants) -> Result<Shader, ShaderError> {
        match self {
            Module::Naga(module) => module.lower(entry_point, constants),
            Module::Spirv(module) => module.lower_stage(entry_point, stage, constants),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extensions_and_stages() {
        let language = |name: &str| Language::of_path(Path::new(name));
        assert_eq!(language("a/b.WGSL"), Some(Language::Wgsl));
        assert_eq!(language("b.vert"), Some(Language::Glsl));
        assert_eq!(language("b.frag.glsl"), Some(Language::Glsl));
        assert_eq!(language("b.spv"), Some(Language::Spirv));
        assert_eq!(language("b.spvasm"), Some(Language::SpirvAssembly));
        assert_eq!(language("b.txt"), None);
        assert_eq!(glsl_stage(Path::new("x.frag.glsl"), ""), Some(Stage::Fragment));
        assert_eq!(
            glsl_stage(Path::new("x.glsl"), "#version 450\n#pragma shader_stage(vertex)\n"),
            Some(Stage::Vertex)
        );
        assert_eq!(glsl_stage(Path::new("x.glsl"), ""), None);
    }
}
