//! The fragment program: everything between coverage and tile memory, one IR function.
//!
//! ```text
//! coverage ─► depth/stencil test ─► [if any lane of the quad is left: shader ─► alpha to coverage, sample mask
//!             └ write, if early          ─► late depth/stencil ─► blend, pack, store per sample]
//! ```
//!
//! The rule that must not break: skipping is by whole quads, so that derivatives see all four lanes (R-PS-45), and
//! nothing is stored but under the sample's own mask.

use super::blend::{Prepared, Target};
use super::depth::{DepthStencil, Tested, front_facing};
use super::emit::Emit;
use super::forms::Form;
use super::inputs::Inputs;
use super::interface::Link;
use super::interpolate::{At, Coverage, Interpolator};
use super::notes::Note;
use super::state::{CompareFunction, CoverageForm, PipelineDescriptor, SamplePattern};
use super::vertex::Assembled;
use crate::layout::{PlaneLayout, prim};
use quadrille_frontend::ir::splice::splice;
use quadrille_frontend::ir::{
    Alu, Builtin, DepthOutput, Function, Handle, Kind, Local, Op, QuadOp, Sampling, Semantic, Shader, Value,
};

/// When depth and stencil are tested and written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum DepthMode {
    /// Test and write before the shader.
    Early,
    /// Test before, write after the shader (R-PS-42).
    Split,
    /// All after the shader.
    Late,
}

/// What of a fragment shader decides the order of the stages.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Traits {
    pub discards: bool,
    pub writes_depth: bool,
    pub writes_mask: bool,
    pub writes_memory: bool,
    pub per_sample: bool,
    pub forced_early: bool,
    pub depth_output: DepthOutput,
}

impl Traits {
    pub fn of(shader: &Shader, entry: &Function) -> Traits {
        let has = |b: Builtin| shader.outputs.iter().any(|o| o.semantic == Semantic::Builtin(b));
        let mut traits = Traits {
            writes_depth: has(Builtin::FragDepth),
            writes_mask: has(Builtin::SampleMask),
            forced_early: shader.early_depth_stencil,
            depth_output: shader.depth_output,
            ..Traits::default()
        };
        for (_, input) in shader.inputs.iter() {
            traits.per_sample |=
                input.sampling == Sampling::Sample || input.semantic == Semantic::Builtin(Builtin::SampleIndex);
        }
        for (_, inst) in entry.insts.iter() {
            traits.discards |= matches!(inst.op, Op::Discard);
            traits.writes_memory |= matches!(
                inst.op,
                Op::BufferStore { .. } | Op::BufferAtomic { .. } | Op::TexelStore { .. }
            );
        }
        traits
    }

    /// Whether a fragment that fails the depth test changes nothing and no one can tell that it was (law R5).
    pub fn is_traceless(&self, desc: &PipelineDescriptor<'_>) -> bool {
        let early = self.forced_early || !(self.writes_depth || self.writes_memory);
        early && desc.depth_stencil.is_some_and(|d| !d.changes_stencil_on_failure())
    }

    /// Whether a covered sample fails the depth test or writes its interpolated depth, if depth is written at all.
    pub fn occludes(&self, desc: &PipelineDescriptor<'_>) -> bool {
        let late = self.discards || self.writes_mask || self.writes_depth || self.writes_memory;
        let (m, all) = (desc.multisample, (1u64 << desc.multisample.count) - 1);
        let every_sample = u64::from(m.mask) & all == all && !m.alpha_to_coverage_enabled;
        let passes = desc.depth_stencil.is_some_and(|d| {
            let always = |c| c == CompareFunction::Always;
            !d.uses_stencil() || always(d.stencil_front.compare) && always(d.stencil_back.compare)
        });
        (self.forced_early || !late) && every_sample && passes && desc.extended.depth_bounds.is_none()
    }

    /// R-PS-40..43. `fixed`: depth and stencil, if the pipeline has any.
    fn depth_mode(&self, fixed: Option<&DepthStencil<'_>>, alpha_to_coverage: bool) -> DepthMode {
        if self.forced_early {
            return DepthMode::Early;
        }
        if self.writes_depth || self.writes_memory {
            return DepthMode::Late;
        }
        if self.discards || self.writes_mask || alpha_to_coverage {
            // What a failed test does to the stencil waits for a shader that may still discard the fragment; so such
            // samples can't be skipped.
            if fixed.is_some_and(DepthStencil::writes_on_failure) {
                return DepthMode::Late;
            }
            return DepthMode::Split;
        }
        DepthMode::Early
    }

    /// Whether the shader runs for each sample (R-RAST-94).
    fn at_sample_frequency(&self, samples: u32) -> bool {
        self.per_sample && samples > 1
    }
}

/// What the shader left for one sample (or, at pixel frequency, for all).
struct Shaded {
    /// Components by location: first and second source.
    colors: Vec<[Option<Value>; 4]>,
    second: [Option<Value>; 4],
    depth: Option<Value>,
    mask: Option<Value>,
    /// Lanes that were not discarded.
    alive: Option<Value>,
}

/// Assembles the fragment program; `shader` with its entry function after inlining, or none for depth-only draws.
pub(super) fn assemble(
    desc: &PipelineDescriptor<'_>,
    planes: &PlaneLayout,
    shader: Option<(&Shader, &Function)>,
    traits: Traits,
    link: &Link,
    form: Form,
) -> Assembled {
    let name = shader.map_or("none", |(s, _)| s.name.as_str());
    let mut a = Assembler {
        e: Emit::new(&format!("fragment {name}")),
        desc,
        planes,
        traits,
        form,
        samples: planes.samples,
        invariant: Vec::new(),
    };
    a.program(shader, link);
    Assembled {
        function: a.e.b.finish(),
        invariant: a.invariant,
    }
}

struct Assembler<'a> {
    e: Emit,
    desc: &'a PipelineDescriptor<'a>,
    planes: &'a PlaneLayout,
    traits: Traits,
    form: Form,
    samples: u32,
    invariant: Vec<Handle<Local>>,
}

/// What the stages of one program share.
struct Stages<'a> {
    fixed: Option<DepthStencil<'a>>,
    mode: DepthMode,
    front: Option<Value>,
    /// Results of the tests of each sample, once they are done.
    tested: Vec<Option<Tested>>,
    /// Samples of the attachments that are covered.
    covered: Vec<Value>,
    /// Those that passed the tests so far.
    live: Vec<Value>,
}

impl<'a> Assembler<'a> {
    fn program(&mut self, shader: Option<(&Shader, &Function)>, link: &Link) {
        let coverage = self.coverage();
        self.note_primitive(&coverage);
        let mut interpolator = Interpolator::new(&mut self.e, coverage.clone());
        let depth_stencil = self.desc.depth_stencil.as_ref();
        let fixed = depth_stencil.map(|state| DepthStencil {
            state,
            planes: self.planes,
            bounds: self.desc.extended.depth_bounds,
        });
        let front = depth_stencil
            .filter(|d| d.uses_stencil() && d.stencil_front != d.stencil_back)
            .map(|_| front_facing(&mut self.e));
        let alpha_to_coverage = self.desc.multisample.alpha_to_coverage_enabled;
        let mut stages = Stages {
            mode: self.traits.depth_mode(fixed.as_ref(), alpha_to_coverage),
            fixed,
            front,
            tested: vec![None; self.samples as usize],
            live: self.covered(&coverage),
            covered: Vec::new(),
        };
        stages.covered.clone_from(&stages.live);
        self.early(&mut stages, &mut interpolator);
        let Some((shader, entry)) = shader else {
            if stages.mode != DepthMode::Early {
                for s in 0..self.samples {
                    let covered = stages.covered[s as usize];
                    self.write_depth_stencil(&stages, s, covered);
                }
            }
            if self.form.counts() {
                self.count_samples(&stages.live);
            }
            if self.form.shows() {
                let passes = self.e.b.bool(true);
                for (sample, &live) in (0..).zip(&stages.live) {
                    self.note(Note::Kept { sample }, &[passes, passes, live]);
                }
            }
            return;
        };
        let tests = stages.live != stages.covered;
        if tests {
            let any = self.any_in_quad(&stages.live);
            self.e.b.begin_if(any);
        }
        let frequent = self.traits.at_sample_frequency(self.samples);
        let runs: Vec<Option<u32>> = if frequent {
            (0..self.samples).map(Some).collect()
        } else {
            vec![None]
        };
        for sample in runs {
            let live = match sample {
                Some(s) => vec![stages.live[s as usize]],
                None => stages.live.clone(),
            };
            // R-RAST-153: a quad runs for a sample that any of its pixels has.
            if frequent {
                let any = self.any_in_quad(&live);
                self.e.b.begin_if(any);
            }
            // Lanes without a live sample are helpers (R-PS-43, R-PS-50); a discard ends with its sample (R-PS-55).
            let observed = self.traits.writes_memory || frequent && self.traits.discards;
            if observed && (tests || frequent) {
                let any = self.any_sample(&live);
                let none = self.e.not(any);
                self.e.b.inst(Op::SetHelper, &[none], &[]);
            }
            if self.form.counts() {
                let any = self.any_sample(&live);
                self.e.b.inst(Op::CountInvocations, &[any], &[]);
            }
            let inputs = Inputs {
                shader,
                link,
                rules: self.desc.rules,
                sample,
                front,
            };
            // What is computed in this body can't be seen after it.
            let mut own = interpolator.clone();
            let shaded = self.shade(entry, &inputs, &mut own);
            let samples = match sample {
                Some(s) => s..s + 1,
                None => 0..self.samples,
            };
            self.finish(&shaded, samples, &mut stages, &mut own);
            if frequent {
                self.e.b.end_if();
            }
        }
        if tests {
            self.e.b.end_if();
        }
    }

    fn note(&mut self, note: Note, shown: &[Value]) {
        self.e.b.inst(Op::Note(note.number()), shown, &[]);
    }

    fn note_primitive(&mut self, coverage: &Coverage) {
        if !self.form.shows() {
            return;
        }
        let index = self.e.prim_u32(prim::PRIMITIVE_INDEX);
        let front = front_facing(&mut self.e);
        self.note(Note::Primitive, &[index, front]);
        for (sample, (&raw, &masked)) in (0..).zip(coverage.raw.iter().zip(&coverage.masked)) {
            self.note(Note::Coverage { sample }, &[raw, masked]);
        }
    }

    fn note_tests(&mut self, fixed: &DepthStencil<'_>, sample: u32, tested: &Tested) {
        if self.form.shows() {
            let shown = fixed.shown(&mut self.e, sample, tested);
            self.note(Note::Tests { sample }, &shown);
        }
    }

    fn count_samples(&mut self, passed: &[Value]) {
        for &p in passed {
            self.e.b.inst(Op::CountSamples, &[p], &[]);
        }
    }

    /// Depth and stencil ahead of the shader, as far as the mode has them there.
    fn early(&mut self, stages: &mut Stages<'_>, interpolator: &mut Interpolator) {
        let Some(fixed) = stages.fixed else { return };
        if stages.mode == DepthMode::Late {
            // A depth output that keeps a promise lets samples be skipped that would fail anyway (R-PS-28).
            let promised = self.traits.writes_depth && !self.traits.writes_memory;
            if !promised || !fixed.fails_with(self.traits.depth_output) {
                return;
            }
            for s in 0..self.samples {
                let depth = self.promised_depth(interpolator, s);
                let depth = fixed.convert(&mut self.e, depth);
                let tested = fixed.test(&mut self.e, s, Some(depth), stages.front);
                self.note_tests(&fixed, s, &tested);
                if let Some(pass) = tested.pass {
                    let live = &mut stages.live[s as usize];
                    *live = self.e.and(*live, pass);
                }
            }
            return;
        }
        for s in 0..self.samples {
            let index = s as usize;
            let covered = stages.live[index];
            let depth = fixed.needs_depth().then(|| {
                let depth = self.sample_depth(interpolator, s);
                fixed.convert(&mut self.e, depth)
            });
            let tested = fixed.test(&mut self.e, s, depth, stages.front);
            self.note_tests(&fixed, s, &tested);
            if stages.mode == DepthMode::Early {
                fixed.write(&mut self.e, s, &tested, covered, stages.front);
            }
            if let Some(pass) = tested.pass {
                stages.live[index] = self.e.and(covered, pass);
            }
            stages.tested[index] = Some(tested);
        }
    }

    /// Writes what the tests of a sample decided.
    fn write_depth_stencil(&mut self, stages: &Stages<'_>, sample: u32, covered: Value) {
        if let (Some(fixed), Some(tested)) = (&stages.fixed, &stages.tested[sample as usize]) {
            fixed.write(&mut self.e, sample, tested, covered, stages.front);
        }
    }

    /// The number from 0 to 1 whose bits these are.
    fn area(&mut self, bits: &[Value]) -> Value {
        let zero = self.e.u32(0);
        let mut sum = zero;
        for (n, &bit) in bits.iter().enumerate() {
            let value = self.e.u32(1 << n);
            let value = self.e.select(bit, value, zero);
            sum = self.e.or(sum, value);
        }
        let sum = self.e.alu(Alu::UToF, &[sum]);
        let all = self.e.f32(((1u32 << bits.len()) - 1) as f32);
        self.e.alu(Alu::FDiv, &[sum, all])
    }

    /// Coverage of each sample of the rasterizer, before and after the pipeline's sample mask. Where the rasterizer has
    /// its own samples the mask is for the attachments' (R-RAST-110). All samples of a pixel are alike where pairs are
    /// about whole pixels (R-RAST-55, R-RAST-91, R-RAST-121).
    fn coverage(&mut self) -> Coverage {
        let own = self.desc.has_own_samples();
        let mask = if own { u32::MAX } else { self.desc.multisample.mask };
        let covered = |e: &mut Emit, s: u32| e.b.inst1(Op::Coverage { sample: s as u8 }, &[], Kind::Bool);
        let form = self.desc.coverage_form();
        let bytes: Vec<Value> = (0..form.bytes()).map(|s| covered(&mut self.e, s)).collect();
        let alike = self.desc.raster_samples() as usize;
        let (mut inner, mut area) = (None, None);
        let raw = match form {
            CoverageForm::Samples(_) => bytes,
            CoverageForm::Center => vec![bytes[0]; alike],
            CoverageForm::Inner => {
                inner = Some(bytes[1]);
                vec![bytes[0]; alike]
            }
            CoverageForm::Area => {
                let hit = self.any_sample(&bytes);
                area = Some(self.area(&bytes));
                vec![hit; alike]
            }
        };
        let masked = (0..)
            .zip(&raw)
            .map(|(s, &c)| if mask >> s & 1 == 0 { self.e.b.bool(false) } else { c })
            .collect();
        Coverage {
            raw,
            masked,
            mask,
            inner,
            area,
            centered: self.desc.extended.sample_pattern == SamplePattern::Center,
        }
    }

    /// Coverage of the attachments' samples: the rasterizer's own, or, where it has others, all in the mask of a pixel that
    /// it hits at all (R-RAST-110). Without attachments the mask is for nothing (R-RAST-28).
    fn covered(&mut self, coverage: &Coverage) -> Vec<Value> {
        if !self.desc.has_own_samples() {
            return coverage.masked.clone();
        }
        let any = self.any_sample(&coverage.raw);
        let mask = if self.planes.per_sample.is_empty() {
            u32::MAX
        } else {
            self.desc.multisample.mask
        };
        (0..self.samples)
            .map(|s| if mask >> s & 1 == 0 { self.e.b.bool(false) } else { any })
            .collect()
    }

    fn sample_depth(&mut self, interpolator: &mut Interpolator, s: u32) -> Value {
        let at = if self.samples > 1 { At::Sample(s) } else { At::Center };
        interpolator.depth(&mut self.e, at)
    }

    /// The rasterizer's depth that a depth output is measured against (R-PS-28).
    fn promised_depth(&mut self, interpolator: &mut Interpolator, s: u32) -> Value {
        let at = match self.samples {
            1 => At::Center,
            n if self.traits.at_sample_frequency(n) => At::Sample(s),
            _ => At::Centroid,
        };
        interpolator.depth(&mut self.e, at)
    }

    fn any_sample(&mut self, live: &[Value]) -> Value {
        let mut any = live[0];
        for &l in &live[1..] {
            any = self.e.or(any, l);
        }
        any
    }

    /// True in all lanes of a quad that has a live sample.
    fn any_in_quad(&mut self, live: &[Value]) -> Value {
        let any = self.any_sample(live);
        let swapped = self.e.b.quad(QuadOp::SwapX, any);
        let any = self.e.or(any, swapped);
        let swapped = self.e.b.quad(QuadOp::SwapY, any);
        self.e.or(any, swapped)
    }

    fn shade(&mut self, entry: &Function, inputs: &Inputs<'_>, interpolator: &mut Interpolator) -> Shaded {
        let mut host = inputs.read(&mut self.e, interpolator);
        let spliced = splice(&mut self.e.b, entry, &[], &mut host);
        let mut shaded = Shaded {
            // Alpha to coverage asks for location 0 also where there is no target (R-RAST-102).
            colors: vec![[None; 4]; self.desc.targets.len().max(1)],
            second: [None; 4],
            depth: None,
            mask: None,
            alive: None,
        };
        for output in &inputs.shader.outputs {
            let local = spliced.locals[output.local.index()];
            let value = self.e.b.get(local);
            match output.semantic {
                Semantic::Location {
                    second_source: true,
                    component,
                    ..
                } => {
                    shaded.second[usize::from(component)] = Some(value);
                }
                Semantic::Location {
                    location, component, ..
                } => {
                    if let Some(color) = shaded.colors.get_mut(location as usize) {
                        color[usize::from(component)] = Some(value);
                    }
                }
                // R-PS-43: ignored where the tests came first.
                Semantic::Builtin(Builtin::FragDepth) if self.traits.forced_early => {}
                Semantic::Builtin(Builtin::FragDepth) => {
                    self.invariant.push(local);
                    shaded.depth = Some(value);
                }
                Semantic::Builtin(Builtin::SampleMask) => shaded.mask = Some(self.e.b.bitcast(value, Kind::U32)),
                Semantic::Builtin(_) => {}
            }
        }
        // R-RAST-57; nothing is scaled that isn't a float's alpha.
        let alpha = shaded.colors.first_mut().and_then(|c| c[3].as_mut());
        if let (Some(area), Some(alpha)) = (interpolator.coverage().area, alpha)
            && self.e.b.kind(*alpha) == Kind::F32
        {
            *alpha = self.e.fmul(*alpha, area);
        }
        if self.traits.discards {
            let helper = self.e.b.inst1(Op::IsHelper, &[], Kind::Bool);
            shaded.alive = Some(self.e.not(helper));
        }
        shaded
    }

    /// Everything after the shader, for the samples it ran for.
    fn finish(
        &mut self,
        shaded: &Shaded,
        samples: std::ops::Range<u32>,
        stages: &mut Stages<'_>,
        interpolator: &mut Interpolator,
    ) {
        let prepared = self.prepare(shaded);
        let alpha_mask = self.alpha_to_coverage(shaded);
        for s in samples {
            let index = s as usize;
            let masked = stages.covered[index];
            let late = stages.mode == DepthMode::Late;
            let mut covered = if late { masked } else { stages.live[index] };
            let mut taking_part = masked;
            let left = [shaded.alive, self.mask_bit(shaded.mask.or(alpha_mask), s)];
            for extra in left.into_iter().flatten() {
                covered = self.e.and(covered, extra);
                taking_part = self.e.and(taking_part, extra);
            }
            if late && let Some(fixed) = stages.fixed {
                let depth = self.late_depth(&fixed, shaded, s, interpolator);
                let tested = fixed.test(&mut self.e, s, depth, stages.front);
                self.note_tests(&fixed, s, &tested);
                if let Some(pass) = tested.pass {
                    covered = self.e.and(covered, pass);
                }
                stages.tested[index] = Some(tested);
            }
            if stages.mode != DepthMode::Early {
                self.write_depth_stencil(stages, s, taking_part);
            }
            if self.form.counts() {
                self.count_samples(&[covered]);
            }
            if self.form.shows() {
                let passes = self.e.b.bool(true);
                let [alive, mask] = left.map(|extra| extra.unwrap_or(passes));
                self.note(Note::Kept { sample: s }, &[alive, mask, covered]);
            }
            for (i, entry) in prepared.iter().enumerate() {
                let Some((target, prepared)) = entry else { continue };
                let Some(plane) = self.planes.color(i, s) else { continue };
                let target = Target { plane, ..*target };
                let before = self.form.shows().then(|| target.shown(&mut self.e));
                target.store(&mut self.e, prepared, covered);
                if let Some(before) = before {
                    let color = self.complete(shaded.colors[i]);
                    let after = target.shown(&mut self.e);
                    let note = Note::Color {
                        target: i as u32,
                        sample: s,
                    };
                    self.note(note, &[color, before, after].concat());
                }
            }
        }
    }

    /// A sample's depth after the shader, converted.
    fn late_depth(
        &mut self,
        fixed: &DepthStencil<'_>,
        shaded: &Shaded,
        sample: u32,
        interpolator: &mut Interpolator,
    ) -> Option<Value> {
        if !fixed.needs_depth() {
            return None;
        }
        let depth = match (shaded.depth, self.traits.depth_output) {
            (None, _) => self.sample_depth(interpolator, sample),
            (Some(depth), DepthOutput::Any) => depth,
            (Some(depth), promise) => {
                let limit = self.promised_depth(interpolator, sample);
                let kept = if promise == DepthOutput::GreaterEqual {
                    Alu::FMax
                } else {
                    Alu::FMin
                };
                self.e.alu(kept, &[depth, limit])
            }
        };
        Some(fixed.convert(&mut self.e, depth))
    }

    /// Each target's colour, as far as it is the same for all samples.
    fn prepare(&mut self, shaded: &Shaded) -> Vec<Option<(Target<'a>, Prepared)>> {
        let desc = self.desc;
        let mut out = Vec::with_capacity(desc.targets.len());
        for (state, color) in desc.targets.iter().zip(&shaded.colors) {
            // R-PS-21: a target the shader doesn't declare keeps its value.
            let Some(state) = state.as_ref().filter(|_| color.iter().any(Option::is_some)) else {
                out.push(None);
                continue;
            };
            let color = self.complete(*color);
            let second = shaded
                .second
                .iter()
                .any(Option::is_some)
                .then(|| self.complete(shaded.second));
            let target = Target {
                state,
                rules: desc.rules,
                logic_op: desc.extended.logic_op,
                plane: 0,
            };
            let prepared = target.prepare(&mut self.e, color, second);
            out.push(Some((target, prepared)));
        }
        out
    }

    /// Missing components are 0 (R-PS-22), in the kind of those present.
    fn complete(&mut self, color: [Option<Value>; 4]) -> [Value; 4] {
        let kind = color.iter().flatten().next().map_or(Kind::F32, |&v| self.e.b.kind(v));
        color.map(|v| match v {
            Some(v) => v,
            None => {
                let zero = self.e.u32(0);
                self.e.b.bitcast(zero, kind)
            }
        })
    }

    fn mask_bit(&mut self, mask: Option<Value>, sample: u32) -> Option<Value> {
        let bit = self.e.and_const(mask?, 1 << sample);
        let zero = self.e.u32(0);
        Some(self.e.alu(Alu::INe, &[bit, zero]))
    }

    /// R-RAST-102: the lowest floor(alpha*N + 0.5) samples; NaN and alpha <= 0 give none.
    fn alpha_to_coverage(&mut self, shaded: &Shaded) -> Option<Value> {
        if !self.desc.multisample.alpha_to_coverage_enabled || shaded.mask.is_some() {
            return None;
        }
        let alpha = shaded.colors.first()?[3].filter(|&a| self.e.b.kind(a) == Kind::F32)?;
        let e = &mut self.e;
        let alpha = e.alu(Alu::FSaturate, &[alpha]);
        let n = e.f32(self.samples as f32);
        let half = e.f32(0.5);
        let scaled = e.fmul(alpha, n);
        let scaled = e.fadd(scaled, half);
        let count = e.alu(Alu::FToU, &[scaled]);
        let one = e.u32(1);
        let bits = e.alu(Alu::Shl, &[one, count]);
        Some(e.alu(Alu::ISub, &[bits, one]))
    }
}
