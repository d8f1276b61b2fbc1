//! Shader modules.

use super::device::{Device, Shared};
use super::label::Label;
use quadrille_frontend::diagnostic::Diagnostic;
use quadrille_frontend::ir::{Op, Shader, SourceText, Stage};
use quadrille_frontend::passes::gradient::{Reading, judge};
use quadrille_frontend::source::Module;
use quadrille_frontend::wgsl::Constants;
use quadrille_frontend::{spirv, wgsl};
use std::borrow::Cow;
use std::sync::Arc;

pub use quadrille_frontend::diagnostic::{ShaderError, ShaderErrorKind};
pub use quadrille_frontend::ir::Stage as ShaderStage;
pub use quadrille_frontend::spirv::COMBINED_SAMPLER_OFFSET;

/// A shader's text, by its language.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ShaderSource<'a> {
    /// WGSL.
    Wgsl(Cow<'a, str>),
    /// GLSL of one stage, as far as naga's parser takes it.
    Glsl {
        /// The text.
        shader: Cow<'a, str>,
        /// Its stage.
        stage: Stage,
    },
    /// SPIR-V words. A combined image sampler is bound as a texture at its binding and a sampler
    /// [`COMBINED_SAMPLER_OFFSET`](crate::COMBINED_SAMPLER_OFFSET) above; clip space is WebGPU's, y up.
    SpirV(Cow<'a, [u32]>),
    /// SPIR-V assembly text.
    SpirVAssembly(Cow<'a, str>),
}

/// Describes a shader module.
#[derive(Clone, Debug)]
pub struct ShaderModuleDescriptor<'a> {
    /// Stands for the file name in diagnostics.
    pub label: Option<&'a str>,
    /// The text.
    pub source: ShaderSource<'a>,
}

/// Checked shader text, with one or more entry points. Clones are the same module.
#[derive(Clone)]
pub struct ShaderModule(Arc<Inner>);

struct Inner {
    label: Label,
    device: Arc<Shared>,
    module: Module,
    /// Whose text it is, if it is GLSL's.
    glsl: Option<Stage>,
}

impl std::fmt::Debug for ShaderModule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ShaderModule").field("label", &self.0.label).finish()
    }
}

impl Device {
    /// Parses and checks a shader. The error has the position and can render the source line with a caret.
    pub fn create_shader_module(&self, d: ShaderModuleDescriptor<'_>) -> Result<ShaderModule, ShaderError> {
        let name = d.label.unwrap_or("shader");
        let module = match &d.source {
            ShaderSource::Wgsl(text) => Module::Naga(wgsl::Module::parse(name, text)?),
            ShaderSource::Glsl { shader, stage } => Module::Naga(wgsl::Module::parse_glsl(name, shader, *stage)?),
            ShaderSource::SpirV(words) => Module::Spirv(spirv::Module::parse_words(name, words.to_vec())?),
            ShaderSource::SpirVAssembly(text) => Module::Spirv(spirv::Module::assemble(name, text)?),
        };
        Ok(ShaderModule(Arc::new(Inner {
            label: Label::new(d.label),
            device: self.shared().clone(),
            module,
            glsl: match d.source {
                ShaderSource::Glsl { stage, .. } => Some(stage),
                _ => None,
            },
        })))
    }
}

impl ShaderModule {
    /// Its label.
    pub fn label(&self) -> &Label {
        &self.0.label
    }

    /// What is doubtful but allowed in the text, each with its source lines: derivatives in divergent control flow
    /// under a weakened `diagnostic`.
    pub fn warnings(&self) -> Vec<String> {
        self.0.module.warnings()
    }

    /// Gradients in divergent flow, where the language leaves them undefined.
    pub(super) fn gradient_warnings(&self, shader: &Shader) -> Vec<String> {
        if !self.0.module.leaves_gradients_undefined() {
            return Vec::new();
        }
        let found = judge(shader, Reading::Undefined).unwrap_or_default();
        found.iter().map(ShaderError::render_warning).collect()
    }

    pub(super) fn is(&self, other: &ShaderModule) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// The shader as a job file has it.
    pub(super) fn for_job(&self) -> serde_json::Value {
        let mut lines: Vec<&str> = self.0.module.text().split('\n').collect();
        match (&self.0.module, self.0.glsl) {
            (Module::Spirv(module), _) => {
                let bytes = module.words().iter().flat_map(|word| word.to_le_bytes());
                let hex: String = bytes.map(|byte| format!("{byte:02x}")).collect();
                serde_json::json!({ "hex": hex, "language": "spirv" })
            }
            (Module::Naga(_), None) => serde_json::json!({ "text": lines, "language": "wgsl" }),
            (Module::Naga(_), Some(stage)) => {
                // A job's GLSL says its stage itself; nothing may stand before its version.
                let version = lines.iter().position(|line| line.trim_start().starts_with("#version"));
                let pragma = match stage {
                    Stage::Vertex => "#pragma shader_stage(vertex)",
                    _ => "#pragma shader_stage(fragment)",
                };
                lines.insert(version.map_or(0, |at| at + 1), pragma);
                serde_json::json!({ "text": lines, "language": "glsl" })
            }
        }
    }

    pub(super) fn device_id(&self) -> u64 {
        self.0.device.id
    }

    /// The shader of an entry point, or of the only one of that stage.
    pub(super) fn lower(
        &self,
        entry_point: Option<&str>,
        stage: Stage,
        constants: &[(&str, f64)],
    ) -> Result<Shader, ShaderError> {
        let module = &self.0.module;
        let name = match entry_point {
            Some(name) => name.to_owned(),
            None => module.only_entry_point(stage).ok_or_else(|| {
                let text = SourceText {
                    name: module.name().to_owned(),
                    text: module.text().to_owned(),
                };
                let what = format!("there is not exactly one {stage:?} entry point; name the one that is meant");
                ShaderError::new(ShaderErrorKind::EntryPoint, &Arc::new(text), Diagnostic::new(what))
            })?,
        };
        let constants: Constants = constants
            .iter()
            .map(|&(name, value)| (name.to_owned(), value))
            .collect();
        module.lower(&name, Some(stage), &constants)
    }
}

/// Which bindings the shader samples with a filtering sampler, by resource index.
pub(super) fn filtered_textures(shader: &Shader) -> Vec<bool> {
    let mut filtered = vec![false; shader.resources.len()];
    for (_, function) in shader.functions.iter() {
        for (_, inst) in function.insts.iter() {
            if let Op::Sample { texture, .. } = inst.op
                && let Some(place) = filtered.get_mut(texture.resource.index())
            {
                *place = true;
            }
        }
    }
    filtered
}
