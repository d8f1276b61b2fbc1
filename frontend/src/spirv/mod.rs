//! SPIR-V, binary or assembly text, to the shader IR.
//!
//! ```text
//! bytes ─ binary: words, instructions ─┐
//! text  ─ asm: words, names ───────────┴─ module: types, decorations, blocks ─ lower(entry point, constants) ─ ir::Shader
//!   analysis: what is reached, indexed, killed          flow: blocks to nested statements, phis
//!   interface: inputs, outputs, resources               types, constants, memory
//!   instruction, arithmetic, extended, image, subgroup: what each instruction computes
//! ```
//!
//! All of Vulkan 1.3's graphics subset for vertex and fragment stages that the IR can express; what it can't is refused
//! by name, with the instruction's line in the assembly text (of a binary: in its disassembly). Words come from anybody:
//! nothing in them may panic or take unbounded time or memory, so every operand is checked where it is used.
//!
//! Clip space is WebGPU's, y up, as everywhere in this crate: nothing is flipped on the way in. Laws N2, N7, I1-I7.

mod analysis;
mod arithmetic;
mod asm;
mod binary;
mod constants;
mod extended;
mod flow;
mod image;
mod instruction;
mod interface;
mod lower;
mod memory;
mod module;
mod report;
mod subgroup;
mod types;

use crate::diagnostic::{Diagnostic, ShaderError, ShaderErrorKind};
use crate::guard::guarded;
use crate::ir::{Arena, Handle, Kind, Shader, SourceText, Sources, Stage};
use crate::wgsl::{Constants, EntryPoint, Override};
use lower::Lower;
use module::Parsed;
use report::Failure;
use rspirv::spirv::Decoration;
use rustc_hash::FxHashSet;
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;
use types::Ty;

/// What lies between the binding of a combined image sampler, where its texture is bound, and its sampler's.
pub const COMBINED_SAMPLER_OFFSET: u32 = 500;

/// Lowering finds out which values outlive their bodies; then it knows.
const MAX_RUNS: usize = 4;

/// A binary's words, in this machine's byte order; `None` if the bytes are no whole number of them.
pub fn words(bytes: &[u8]) -> Option<Vec<u32>> {
    binary::words_of(bytes).ok()
}

/// A parsed SPIR-V module.
#[derive(Debug)]
pub struct Module {
    text: Arc<SourceText>,
    ranges: Vec<Range<u32>>,
    parsed: Parsed,
}

impl Module {
    /// Parses a binary, in either byte order; `name` is the file name or label that diagnostics show.
    pub fn parse(name: &str, bytes: &[u8]) -> Result<Module, ShaderError> {
        let words = binary::words_of(bytes).map_err(|message| syntax(name, message))?;
        Module::parse_words(name, words)
    }

    /// Parses a binary's words.
    pub fn parse_words(name: &str, words: Vec<u32>) -> Result<Module, ShaderError> {
        let bare = source(name, String::new());
        guarded(&bare, || {
            let words = binary::Words::cut(words).map_err(|failure| into_error(failure, &bare, &[]))?;
            let (text, ranges) = asm::print::print(&words).map_err(|(_, message)| syntax(name, message))?;
            Module::read(source(name, text), ranges, words, Default::default())
        })
    }

    /// Assembles and parses a text.
    pub fn assemble(name: &str, text: &str) -> Result<Module, ShaderError> {
        let source = source(name, text.to_owned());
        if text.len() > 4 * 4 * binary::MAX_WORDS {
            let message = format!("the shader is {} bytes long, which is too much", text.len());
            return Err(ShaderError::new(
                ShaderErrorKind::Limit,
                &source,
                Diagnostic::new(message),
            ));
        }
        guarded(&source, || {
            let assembled = asm::assemble(text).map_err(|(message, at)| {
                let diagnostic = Diagnostic::new(message).with_label(at, "");
                ShaderError::new(ShaderErrorKind::Syntax, &source, diagnostic)
            })?;
            let words = binary::Words::cut(assembled.words)
                .map_err(|failure| into_error(failure, &source, &assembled.ranges))?;
            // Assembling and printing go by the same grammar; printing also checks raw words.
            asm::print::print(&words).map_err(|(index, message)| {
                let at = assembled.ranges.get(index).cloned().unwrap_or_default();
                let diagnostic = Diagnostic::new(message).with_label(at.start as usize..at.end as usize, "");
                ShaderError::new(ShaderErrorKind::Syntax, &source, diagnostic)
            })?;
            Module::read(source.clone(), assembled.ranges, words, assembled.names)
        })
    }

    fn read(
        text: Arc<SourceText>,
        ranges: Vec<Range<u32>>,
        words: binary::Words,
        names: rustc_hash::FxHashMap<u32, String>,
    ) -> Result<Module, ShaderError> {
        let mut parsed = Parsed::new(words).map_err(|failure| into_error(failure, &text, &ranges))?;
        for (id, name) in names {
            parsed.names.entry(id).or_insert(name);
        }
        Ok(Module { text, ranges, parsed })
    }

    /// The words of an assembly text as a binary module.
    pub fn words(&self) -> &[u32] {
        &self.parsed.words.words
    }

    /// The name given to [`parse`](Self::parse).
    pub fn name(&self) -> &str {
        &self.text.name
    }

    /// The assembly text; of a binary, its disassembly.
    pub fn text(&self) -> &str {
        &self.text.text
    }

    /// All entry points, in the module's order.
    pub fn entry_points(&self) -> Vec<EntryPoint> {
        let each = self.parsed.entries.iter();
        each.map(|e| EntryPoint {
            name: e.name.clone(),
            stage: e.stage(),
        })
        .collect()
    }

    /// The entry point of that stage, if there is exactly one.
    pub fn only_entry_point(&self, stage: Stage) -> Option<String> {
        let mut of_stage = self.parsed.entries.iter().filter(|e| e.stage() == Some(stage));
        let first = of_stage.next()?;
        of_stage.next().is_none().then(|| first.name.clone())
    }

    /// All specialisation constants, in the module's order.
    pub fn overrides(&self) -> Vec<Override> {
        let m = &self.parsed;
        let name = |id| Some(m.name(id)).filter(|name| !name.is_empty()).map(str::to_owned);
        let each = m.spec_constants.iter();
        each.map(|&id| Override {
            name: name(id),
            id: spec_id(m, id).and_then(|id| u16::try_from(id).ok()),
            kind: match m.types.get(&m.type_of(id)) {
                Some(Ty::Scalar(scalar)) => scalar.kind,
                _ => Kind::F32,
            },
            has_default: true,
        })
        .collect()
    }

    /// Lowers an entry point, with what it reaches, to the IR. Two entry points of one name differ in stage.
    pub fn lower(&self, entry_point: &str, constants: &Constants) -> Result<Shader, ShaderError> {
        self.lower_stage(entry_point, None, constants)
    }

    /// As [`lower`](Self::lower), of the entry point of that name and stage.
    pub fn lower_stage(
        &self,
        entry_point: &str,
        stage: Option<Stage>,
        constants: &Constants,
    ) -> Result<Shader, ShaderError> {
        guarded(&self.text, || {
            self.lower_here(entry_point, stage, constants)
                .map_err(|failure| into_error(failure, &self.text, &self.ranges))
        })
    }

    fn lower_here(&self, name: &str, stage: Option<Stage>, constants: &Constants) -> report::Result<Shader> {
        let m = &self.parsed;
        let wanted = |e: &&module::Entry| e.name == name && (stage.is_none() || e.stage() == stage);
        let Some(entry) = m.entries.iter().find(wanted) else {
            let names: Vec<&str> = m.entries.iter().map(|e| e.name.as_str()).collect();
            let message = format!("there is no entry point `{name}`");
            return Err(Failure::new(ShaderErrorKind::EntryPoint, message, None)
                .with_note(format!("entry points of the module: {}", names.join(", "))));
        };
        let stage = match entry.stage() {
            Some(stage @ (Stage::Vertex | Stage::Fragment)) => stage,
            _ => {
                let what = format!("the {:?} stage (entry point `{name}`)", entry.model);
                return Err(Failure::unsupported(what, Some(entry.at)));
            }
        };
        let scalar = |ty: u32| match m.types.get(&ty) {
            Some(Ty::Scalar(scalar)) => Some(*scalar),
            _ => None,
        };
        let specialised = Rc::new(Lower::specialise(m, scalar, constants)?);
        let facts = Rc::new(analysis::facts(m, entry)?);
        let mut spilled = Rc::new(FxHashSet::default());
        for _ in 0..MAX_RUNS {
            let shader = Shader {
                name: entry.name.clone(),
                stage,
                inputs: Arena::new(),
                outputs: Vec::new(),
                resources: Arena::new(),
                functions: Arena::new(),
                entry: Handle::from_index(0),
                early_depth_stencil: false,
                depth_output: Default::default(),
                sources: Sources {
                    texts: vec![(*self.text).clone()],
                    spans: Arena::new(),
                },
            };
            let mut lower = Lower::new(
                m,
                shader,
                &self.ranges,
                specialised.clone(),
                facts.clone(),
                spilled.clone(),
            );
            lower.entry(entry)?;
            if lower.needs_spill.is_empty() {
                let mut shader = lower.shader;
                shader.entry = shader.functions.push(lower.b.finish());
                return Ok(shader);
            }
            spilled = Rc::new(spilled.union(&lower.needs_spill).copied().collect());
        }
        let message = "bug in the SPIR-V front end: values outlive their bodies without end";
        Err(Failure::new(ShaderErrorKind::Internal, message, None))
    }
}

fn spec_id(m: &Parsed, id: u32) -> Option<u32> {
    m.decoration(id, Decoration::SpecId)?.first().copied()
}

fn source(name: &str, text: String) -> Arc<SourceText> {
    Arc::new(SourceText {
        name: name.to_owned(),
        text,
    })
}

fn syntax(name: &str, message: String) -> ShaderError {
    let bare = source(name, String::new());
    ShaderError::new(ShaderErrorKind::Syntax, &bare, Diagnostic::new(message))
}

fn into_error(failure: Failure, text: &Arc<SourceText>, ranges: &[Range<u32>]) -> ShaderError {
    let mut diagnostic = *failure.diagnostic;
    if let Some(range) = failure.at.and_then(|at| ranges.get(at)) {
        diagnostic
            .labels
            .push((range.start as usize..range.end as usize, String::new()));
    }
    ShaderError::new(failure.kind, text, diagnostic)
}

#[cfg(test)]
mod tests;
