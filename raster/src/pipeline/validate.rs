//! What a pipeline's state must fulfil before it is assembled.
//!
//! Checked here is what assembly relies on and what the rules forbid; the facade checks limits and names.

use super::PipelineError;
use super::state::*;
use crate::format::{FormatInfo, Kind};
use quadrille_frontend::ir::{self, Builtin, Semantic, Shader};

/// Checks a description as a whole.
pub(super) fn validate(desc: &PipelineDescriptor<'_>) -> Result<(), PipelineError> {
    let check = Check { desc };
    check.stages()?;
    check.targets()?;
    check.second_source()?;
    check.logic_op()?;
    check.depth_stencil()?;
    check.multisample()?;
    check.forced_samples()?;
    check.coverage()
}

type Checked = Result<(), PipelineError>;

struct Check<'a> {
    desc: &'a PipelineDescriptor<'a>,
}

impl Check<'_> {
    fn invalid(&self, what: String) -> Checked {
        Err(PipelineError::Invalid {
            label: self.desc.label.into(),
            what,
        })
    }

    fn stages(&self) -> Checked {
        let desc = self.desc;
        if desc.vertex.stage != ir::Stage::Vertex {
            return self.invalid(format!("'{}' is not a vertex entry point", desc.vertex.name));
        }
        if let Some(fragment) = desc.fragment
            && fragment.stage != ir::Stage::Fragment
        {
            return self.invalid(format!("'{}' is not a fragment entry point", fragment.name));
        }
        if !desc
            .vertex
            .outputs
            .iter()
            .any(|o| matches!(o.semantic, Semantic::Builtin(Builtin::Position(_))))
        {
            return self.invalid(format!("vertex shader '{}' writes no position", desc.vertex.name));
        }
        Ok(())
    }

    fn targets(&self) -> Checked {
        let desc = self.desc;
        if desc.targets.len() > 8 {
            return self.invalid(format!("{} colour targets, at most 8", desc.targets.len()));
        }
        for (i, target) in desc.targets.iter().enumerate() {
            let Some(target) = target else { continue };
            let info = target.format.info();
            if !info.renderable || info.depth || info.stencil {
                return self.invalid(format!(
                    "target {i}: {} is no colour that can be rendered to",
                    info.name
                ));
            }
            if let Some(blend) = &target.blend {
                self.blend(i, info, blend)?;
            }
            if let Some(fragment) = desc.fragment {
                self.output(i, info, fragment)?;
            }
        }
        Ok(())
    }

    fn blend(&self, i: usize, info: &FormatInfo, blend: &BlendState) -> Checked {
        if !info.blendable {
            return self.invalid(format!("target {i}: {} can't be blended", info.name));
        }
        let alpha = [blend.alpha.src_factor, blend.alpha.dst_factor];
        if self.desc.rules == Rules::D3d11
            && let Some(factor) = alpha.into_iter().find(|f| f.is_color())
        {
            return self.invalid(format!(
                "target {i}: Direct3D doesn't take the factor {} for alpha (R-OM-31)",
                factor.name()
            ));
        }
        Ok(())
    }

    /// The shader's output must be of the target's kind.
    fn output(&self, i: usize, info: &FormatInfo, fragment: &Shader) -> Checked {
        let wanted = match info.kind {
            Kind::Uint => ir::Kind::U32,
            Kind::Sint => ir::Kind::I32,
            _ => ir::Kind::F32,
        };
        for output in &fragment.outputs {
            let Semantic::Location { location, .. } = output.semantic else {
                continue;
            };
            if location as usize == i && output.kind != wanted {
                return self.invalid(format!(
                    "fragment output {location} is {}, but target {i} ({}) takes {wanted}",
                    output.kind, info.name
                ));
            }
        }
        Ok(())
    }

    /// R-OM-40.
    fn second_source(&self) -> Checked {
        let uses = |t: &ColorTargetState| {
            t.blend
                .is_some_and(|b| b.color.uses_second_source() || b.alpha.uses_second_source())
        };
        let targets = self.desc.targets;
        let Some(i) = targets.iter().position(|t| t.as_ref().is_some_and(uses)) else {
            return Ok(());
        };
        if i != 0 || targets.iter().skip(1).any(Option::is_some) {
            return self.invalid(format!(
                "target {i} blends with a second source, which only target 0 can do, as the only target (R-OM-40)"
            ));
        }
        let blend = targets[0].and_then(|t| t.blend).unwrap_or_default();
        let min_max = [blend.color.operation, blend.alpha.operation]
            .into_iter()
            .find(|o| matches!(o, BlendOperation::Min | BlendOperation::Max));
        if let Some(operation) = min_max.filter(|_| self.desc.rules == Rules::D3d11) {
            return self.invalid(format!(
                "target 0: blending with a second source adds or subtracts, {} is not possible (R-OM-40)",
                operation.name()
            ));
        }
        let written = self.desc.fragment.is_some_and(|f| {
            f.outputs.iter().any(|o| {
                matches!(
                    o.semantic,
                    Semantic::Location {
                        location: 0,
                        second_source: true,
                        ..
                    }
                )
            })
        });
        if written {
            return Ok(());
        }
        self.invalid("target 0 blends with a second source, but the fragment shader has no such output".into())
    }

    /// R-OM-50.
    fn logic_op(&self) -> Checked {
        let Some(op) = self.desc.extended.logic_op else {
            return Ok(());
        };
        for (i, target) in self.desc.targets.iter().enumerate() {
            let Some(target) = target else { continue };
            let info = target.format.info();
            if info.kind != Kind::Uint {
                return self.invalid(format!(
                    "target {i}: the logic operation {} needs unsigned integers, {} has none (R-OM-50)",
                    op.name(),
                    info.name
                ));
            }
        }
        Ok(())
    }

    fn depth_stencil(&self) -> Checked {
        if let Some([least, greatest]) = self.desc.extended.depth_bounds {
            if self.desc.depth_stencil.is_none_or(|d| !d.format.info().depth) {
                return self.invalid("depth bounds need a format with depth".into());
            }
            // NaN fails too.
            if !(least >= 0.0 && least <= greatest && greatest <= 1.0) {
                return self.invalid(format!("the depth bounds {least} to {greatest} are not within 0 to 1"));
            }
        }
        let Some(ds) = &self.desc.depth_stencil else {
            return Ok(());
        };
        let info = ds.format.info();
        if !info.depth && !info.stencil {
            return self.invalid(format!("{} is not a depth-stencil format", info.name));
        }
        if !info.depth && (ds.depth_write_enabled || ds.depth_compare != CompareFunction::Always) {
            return self.invalid(format!("{} has no depth to test or write", info.name));
        }
        let trivial = ds.stencil_front.is_trivial() && ds.stencil_back.is_trivial();
        // R-OM-20: Direct3D leaves such a test out.
        if !info.stencil && !trivial && self.desc.rules == Rules::WebGpu {
            return self.invalid(format!("{} has no stencil to test or write", info.name));
        }
        let points = !self.desc.primitive.topology.has_triangles();
        let biased = ds.depth_bias != 0 || ds.depth_bias_slope_scale != 0.0 || ds.depth_bias_clamp != 0.0;
        if points && biased && self.desc.rules == Rules::WebGpu {
            return self.invalid("depth bias needs triangles (R-RAST-76)".into());
        }
        Ok(())
    }

    /// R-RAST-110.
    fn forced_samples(&self) -> Checked {
        let forced = self.desc.primitive.extended.forced_samples;
        if forced == 0 {
            return Ok(());
        }
        if !matches!(forced, 1 | 4 | 8 | 16) {
            return self.invalid(format!("{forced} forced samples; they are 1, 4, 8 or 16 (R-RAST-110)"));
        }
        if self.desc.depth_stencil.is_some() {
            return self.invalid("forced samples exclude a depth-stencil attachment (R-RAST-110)".into());
        }
        let count = self.desc.multisample.count;
        if forced > 1 && count > 1 {
            return self.invalid(format!(
                "{forced} forced samples need attachments of one sample, not of {count} (R-RAST-110)"
            ));
        }
        let Some(fragment) = self.desc.fragment else {
            return Ok(());
        };
        let depth = Semantic::Builtin(Builtin::FragDepth);
        if fragment.outputs.iter().any(|o| o.semantic == depth) {
            return self.invalid("forced samples exclude a depth output (R-RAST-110)".into());
        }
        if self.is_frequent() {
            return self.invalid("forced samples exclude shading at sample frequency (R-RAST-110)".into());
        }
        Ok(())
    }

    /// What excludes shading at sample frequency, and each other (R-RAST-55, 91, 123).
    fn coverage(&self) -> Checked {
        let desc = self.desc;
        let extended = &desc.primitive.extended;
        let several = desc.raster_samples() > 1;
        let frequent = several && self.is_frequent();
        let lines = desc.draws_lines();
        if lines && frequent && extended.line_mode == LineMode::AlphaAntialiased {
            return self.invalid("antialiased lines exclude shading at sample frequency (R-RAST-55)".into());
        }
        if desc.extended.sample_pattern == SamplePattern::Center {
            if frequent {
                return self.invalid("samples at the centre exclude shading at sample frequency (R-RAST-91)".into());
            }
            if several && lines && extended.line_mode == LineMode::Rectangular {
                return self.invalid("samples at the centre exclude rectangular lines (R-RAST-91)".into());
            }
        }
        if !desc.reads(Builtin::InnerCoverage) {
            return Ok(());
        }
        let filled = desc.primitive.topology.has_triangles() && extended.fill_mode == FillMode::Solid;
        if !extended.conservative || !filled {
            return self.invalid("the inner coverage is that of filled, conservative triangles (R-RAST-123)".into());
        }
        if desc.reads(Builtin::SampleMask) {
            return self.invalid("a shader reads the inner coverage or the sample mask, not both (R-RAST-123)".into());
        }
        Ok(())
    }

    /// Whether the shader asks to run for each sample (R-RAST-94).
    fn is_frequent(&self) -> bool {
        let frequent =
            |i: &ir::Input| i.sampling == ir::Sampling::Sample || i.semantic == Semantic::Builtin(Builtin::SampleIndex);
        let fragment = self.desc.fragment;
        fragment.is_some_and(|f| f.inputs.iter().any(|(_, i)| frequent(i)))
    }

    fn multisample(&self) -> Checked {
        let multisample = &self.desc.multisample;
        let samples = multisample.count;
        if !matches!(samples, 1 | 2 | 4 | 8 | 16) {
            return Err(PipelineError::Unsupported {
                label: self.desc.label.into(),
                what: format!("sample count {samples} (1, 2, 4, 8 and 16 are)"),
            });
        }
        if multisample.alpha_to_coverage_enabled && samples == 1 && self.desc.rules == Rules::WebGpu {
            return self.invalid("alpha to coverage needs more than one sample (R-RAST-102)".into());
        }
        Ok(())
    }
}
