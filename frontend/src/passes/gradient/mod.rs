//! Gradients in divergent flow, by Direct3D's rules (R-PS-80 to R-PS-87): judged, and moved where that is possible.
//!
//! ```text
//! function, calls inlined ─ walk: what varies, where flow varies ─► gradients there ─┬─ motion: in front of the construct
//!                           order: what is computed and written when ────────────────┴─► Divergent: error or warning
//! ```
//!
//! A value varies if it depends on an interpolated input or was written where flow varies (R-PS-84). A gradient in
//! varying flow is legal if its operand is an input or a constant (R-PS-86), or was computed in front of the outermost
//! construct that varies (R-PS-82). An instruction computes all its lanes, so where it stands makes no difference to
//! such a gradient: it sees every neighbour's value. Derivatives move all the same, out of loops and to where nothing
//! hinders the passes; samples stay, for a gradient in its operands would cost more than the level of the quad.
//!
//! This judges programs; it isn't `rates` (law L8), nor WGSL's analysis, which knows statements and functions.

mod motion;
mod order;
mod walk;

use super::PassError;
use crate::diagnostic::{Diagnostic, ShaderError, ShaderErrorKind};
use crate::ir::{Arena, Function, Input, InstId, Op, QuadOp, Resource, Shader, Sources, Span, SpanId, Stage};
use std::sync::Arc;

/// A gradient that compares pixels of which some may not come by (R-PS-80).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Divergent {
    /// What it is: "a derivative", ...
    pub what: &'static str,
    /// The operation.
    pub operation: Option<SpanId>,
    /// The innermost branch, loop or switch that pixels of one primitive may leave different ways.
    pub branch: Option<SpanId>,
}

/// Whose rules a gradient breaks: they say what is told about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reading {
    /// Illegal in Direct3D.
    Direct3D,
    /// Undefined in SPIR-V and GLSL.
    Undefined,
}

/// A gradient in varying flow whose operand was there before: (the gradient, the statement in front of which it may stand).
type Movable = (InstId, u32);

/// Judges a function without calls. Linear in its size but for loops within loops.
pub fn divergent_gradients(function: &Function, inputs: &Arena<Input>, resources: &Arena<Resource>) -> Vec<Divergent> {
    if !has_gradients(function) {
        return Vec::new();
    }
    walk::walk(function, inputs, resources).divergent
}

/// Moves derivatives whose operands were computed in front of it out of divergent flow (R-PS-82). No lane gets another
/// value.
pub fn move_gradients(function: &mut Function, inputs: &Arena<Input>, resources: &Arena<Resource>) {
    if has_gradients(function) {
        let found = walk::walk(function, inputs, resources);
        motion::run(function, &found.movable);
    }
}

/// What breaks the rules in a fragment shader's entry point, inlined or not, each source position once; nothing in other
/// stages.
pub fn judge(shader: &Shader, reading: Reading) -> Result<Vec<ShaderError>, PassError> {
    if shader.stage != Stage::Fragment || !shader.functions.iter().any(|(_, f)| has_gradients(f)) {
        return Ok(Vec::new());
    }
    let mut inlined = shader.clone();
    super::inline_all(&mut inlined)?;
    Ok(judge_entry(&inlined, &inlined.functions[inlined.entry], reading))
}

/// The same of a shader whose entry function has no calls any more.
pub fn judge_entry(shader: &Shader, entry: &Function, reading: Reading) -> Vec<ShaderError> {
    let mut errors: Vec<ShaderError> = Vec::new();
    for found in divergent_gradients(entry, &shader.inputs, &shader.resources) {
        let error = found.report(&shader.sources, reading);
        if !errors.iter().any(|e| e.diagnostic == error.diagnostic) {
            errors.push(error);
        }
    }
    errors
}

impl Divergent {
    /// The message, with the source lines of operation, calls and branch.
    pub fn report(&self, sources: &Sources, reading: Reading) -> ShaderError {
        let mut diagnostic = Diagnostic::new(match reading {
            Reading::Direct3D => format!(
                "{} compares neighbouring pixels, but not all pixels of a primitive may come by, and what it compares is computed there, too",
                self.what
            ),
            Reading::Undefined => format!(
                "{} compares neighbouring pixels of which some may not come by: its result is undefined there",
                self.what
            ),
        });
        let text = |span: &Span| sources.texts.get(span.source as usize);
        let first = self.operation.and_then(|id| sources.spans.get(id));
        let shown = first.and_then(text).or_else(|| sources.texts.first());
        let source = Arc::new(shown.cloned().unwrap_or_else(|| crate::ir::SourceText {
            name: "shader".into(),
            text: String::new(),
        }));
        let home = first.map_or(0, |s| s.source);
        let mut label = |span: &Span, what: &str| {
            let range = span.start as usize..span.end as usize;
            if span.source == home && !diagnostic.labels.iter().any(|(r, _)| *r == range) {
                diagnostic.labels.push((range, what.to_owned()));
            }
        };
        let mut next = self.operation;
        let mut what = "this operation";
        while let Some(span) = next.and_then(|id| sources.spans.get(id)) {
            label(span, what);
            what = "called here";
            next = span.inlined_at;
        }
        if let Some(span) = self.branch.and_then(|id| sources.spans.get(id)) {
            label(span, "pixels of one primitive may go different ways here");
        }
        let diagnostic = diagnostic.with_note(
            "compute it, or all that it is computed from, in front of the branch, or give the level or the gradients explicitly",
        );
        ShaderError::new(ShaderErrorKind::Invalid, &source, diagnostic)
    }
}

fn has_gradients(function: &Function) -> bool {
    function.insts.iter().any(|(_, inst)| name(&inst.op).is_some())
}

/// What the operation is called, if it asks for a gradient. Swaps and broadcasts don't.
fn name(op: &Op) -> Option<&'static str> {
    match op {
        Op::Quad(QuadOp::DdxCoarse | QuadOp::DdxFine | QuadOp::DdyCoarse | QuadOp::DdyFine) => Some("a derivative"),
        Op::Sample { op, .. } if op.is_quad_read() => Some("a sample of a level that is found from neighbours"),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
