//! WGSL to the shader IR, by way of naga's module.
//!
//! ```text
//! text ─ naga parser ─ naga validator ─ Module ─ lower(entry point, constants) ─ ir::Shader
//!          analysis: what to inline, what is indexed dynamically
//!          shader:   resources, overrides, spans, functions      body, expr, math, image: statements and expressions
//!          interface: inputs and outputs                         types: layouts (pointers: crate::memory)
//!          uniformity: may derivatives stand where they stand?
//! ```
//!
//! A validated naga module is well typed, so the lowering can trust it; still, nothing that a text contains may panic:
//! parser and lowering run where a panic or a deep recursion becomes an error. What isn't implemented is refused by
//! name, with its position. Source: the WGSL specification as digested in the R-WGSL rules; laws N2, N6, N7, I1-I7.

mod analysis;
mod body;
mod expr;
mod image;
mod interface;
mod math;
mod report;
mod shader;
mod types;
mod uniformity;

use crate::diagnostic::{Diagnostic, ShaderError, ShaderErrorKind};
use crate::guard::guarded;
use crate::ir::{Kind, Shader, SourceText, Stage};
use crate::memory::place;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Longest accepted text, in bytes.
const MAX_TEXT: usize = 8 << 20;

/// A parsed and validated WGSL module.
#[derive(Debug)]
pub struct Module {
    text: Arc<SourceText>,
    module: naga::Module,
    info: naga::valid::ModuleInfo,
    warnings: Vec<Diagnostic>,
    glsl: bool,
}

/// An entry point of a [`Module`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryPoint {
    /// Its name.
    pub name: String,
    /// Its stage; `None` for stages that the IR doesn't have (mesh, ray tracing).
    pub stage: Option<Stage>,
}

/// A pipeline-overridable constant of a [`Module`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Override {
    /// Its name.
    pub name: Option<String>,
    /// Its `@id`: then pipelines name it by that number.
    pub id: Option<u16>,
    /// Its kind; an f16 is held in an f32.
    pub kind: Kind,
    /// Whether the shader gives a default.
    pub has_default: bool,
}

/// Values of pipeline constants: by `@id` in decimal, or by name.
pub type Constants = BTreeMap<String, f64>;

impl Module {
    /// Parses and validates a text; `name` is the file name or label that diagnostics show.
    pub fn parse(name: &str, text: &str) -> Result<Module, ShaderError> {
        let source = Arc::new(SourceText {
            name: name.to_owned(),
            text: text.to_owned(),
        });
        if text.len() > MAX_TEXT {
            let message = format!(
                "the shader is {} bytes long; at most {MAX_TEXT} are accepted",
                text.len()
            );
            return Err(ShaderError::new(
                ShaderErrorKind::Limit,
                &source,
                Diagnostic::new(message),
            ));
        }
        report::check_size(&source)?;
        guarded(&source, || {
            let module = naga::front::wgsl::parse_str(text).map_err(|e| report::syntax(&source, &e))?;
            let mut validator =
                naga::valid::Validator::new(naga::valid::ValidationFlags::all(), naga::valid::Capabilities::all());
            let info = validator.validate(&module).map_err(|e| report::invalid(&source, &e))?;
            let findings = uniformity::check(&module);
            if let Some(diagnostic) = findings.errors.into_iter().next() {
                return Err(ShaderError::new(ShaderErrorKind::Invalid, &source, diagnostic));
            }
            Ok(Module {
                text: source.clone(),
                module,
                info,
                warnings: findings.warnings,
                glsl: false,
            })
        })
    }

    /// Parses and validates GLSL of one stage, as far as naga takes it: `#version` 440 and up with explicit locations
    /// and bindings, separate textures and samplers, `main` as the entry point.
    pub fn parse_glsl(name: &str, text: &str, stage: Stage) -> Result<Module, ShaderError> {
        let source = Arc::new(SourceText {
            name: name.to_owned(),
            text: text.to_owned(),
        });
        if text.len() > MAX_TEXT {
            let message = format!(
                "the shader is {} bytes long; at most {MAX_TEXT} are accepted",
                text.len()
            );
            let diagnostic = Diagnostic::new(message);
            return Err(ShaderError::new(ShaderErrorKind::Limit, &source, diagnostic));
        }
        report::check_size(&source)?;
        guarded(&source, || {
            let stage = match stage {
                Stage::Vertex => naga::ShaderStage::Vertex,
                Stage::Fragment => naga::ShaderStage::Fragment,
                Stage::Compute => naga::ShaderStage::Compute,
            };
            let mut parser = naga::front::glsl::Frontend::default();
            let module = parser.parse(&naga::front::glsl::Options::from(stage), text);
            let module = module.map_err(|errors| report::glsl(&source, &errors))?;
            let mut validator =
                naga::valid::Validator::new(naga::valid::ValidationFlags::all(), naga::valid::Capabilities::all());
            let info = validator.validate(&module).map_err(|e| report::invalid(&source, &e))?;
            Ok(Module {
                text: source.clone(),
                module,
                info,
                // GLSL leaves derivatives in divergent flow undefined: pipelines warn of them.
                warnings: Vec::new(),
                glsl: true,
            })
        })
    }

    /// The name given to [`parse`](Self::parse).
    pub fn name(&self) -> &str {
        &self.text.name
    }

    /// The source text.
    pub fn text(&self) -> &str {
        &self.text.text
    }

    /// Whether the text is GLSL.
    pub fn is_glsl(&self) -> bool {
        self.glsl
    }

    /// What is doubtful but allowed, with source lines and carets, as plain text.
    pub fn warnings(&self) -> impl Iterator<Item = String> + '_ {
        self.warnings.iter().map(|w| w.render_warning(&self.text))
    }

    /// All entry points, in source order.
    pub fn entry_points(&self) -> Vec<EntryPoint> {
        let each = self.module.entry_points.iter();
        each.map(|e| EntryPoint {
            name: e.name.clone(),
            stage: analysis::stage(e.stage),
        })
        .collect()
    }

    /// The entry point of that stage, if there is exactly one: what a pipeline uses when it names none.
    pub fn only_entry_point(&self, stage: Stage) -> Option<String> {
        let mut of_stage = self.entry_points().into_iter().filter(|e| e.stage == Some(stage));
        let first = of_stage.next()?;
        of_stage.next().is_none().then_some(first.name)
    }

    /// All pipeline-overridable constants, in source order.
    pub fn overrides(&self) -> Vec<Override> {
        let types = types::Types::new(&self.module);
        let each = self.module.overrides.iter();
        each.map(|(_, o)| Override {
            name: o.name.clone(),
            id: o.id,
            kind: types.get(o.ty).element_scalar().map_or(Kind::F32, |s| s.kind),
            has_default: o.init.is_some(),
        })
        .collect()
    }

    /// Lowers an entry point, with what it reaches, to the IR. The shader lists the resources that the entry point
    /// uses and all its declared inputs and outputs: all that a pipeline with `layout: auto` needs.
    pub fn lower(&self, entry_point: &str, constants: &Constants) -> Result<Shader, ShaderError> {
        guarded(&self.text, || {
            shader::lower(&self.text, &self.module, &self.info, entry_point, constants)
                .map_err(|failure| failure.into_error(&self.text))
        })
    }
}

#[cfg(test)]
mod tests;
