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
use super::interface::Link;
use super::interpolate::{At, Interpolator};
use super::state::PipelineDescriptor;
use super::vertex::Assembled;
use crate::layout::{PlaneLayout, prim};
use quadrille_frontend::ir::splice::{SpliceHost, splice};
use quadrille_frontend::ir::{
    Alu, Builtin, Function, FunctionBuilder, Handle, Inst, Kind, Local, Op, QuadOp, Sampling, Semantic, Shader, Value,
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
}

impl Traits {
    pub fn of(shader: &Shader, entry: &Function) -> Traits {
        let has = |b: Builtin| shader.outputs.iter().any(|o| o.semantic == Semantic::Builtin(b));
        let mut traits = Traits {
            writes_depth: has(Builtin::FragDepth),
            writes_mask: has(Builtin::SampleMask),
            forced_early: shader.early_depth_stencil,
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

    fn depth_mode(&self, alpha_to_coverage: bool) -> DepthMode {
        if self.forced_early {
            DepthMode::Early
        } else if self.writes_depth || self.writes_memory {
            DepthMode::Late
        } else if self.discards || self.writes_mask || alpha_to_coverage {
            DepthMode::Split
        } else {
            DepthMode::Early
        }
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

struct Inputs<'a, 'b> {
    shader: &'a Shader,
    link: &'a Link,
    interpolator: &'b mut Interpolator,
    coverage: &'a [Value],
    sample: Option<u32>,
    front: Option<Value>,
}

impl Inputs<'_, '_> {
    fn builtin(&mut self, e: &mut Emit, builtin: Builtin, at: At) -> Value {
        match builtin {
            Builtin::Position(0) => self.interpolator.point(e, at, self.coverage).x,
            Builtin::Position(1) => self.interpolator.point(e, at, self.coverage).y,
            Builtin::Position(2) => self.interpolator.depth(e, at, self.coverage),
            Builtin::Position(_) => self.interpolator.inverse_w(e, at, self.coverage),
            Builtin::FrontFacing => match self.front {
                Some(front) => front,
                None => front_facing(e),
            },
            Builtin::SampleIndex => e.u32(self.sample.unwrap_or(0)),
            // R-WGSL-9: the full mask, also at sample frequency.
            Builtin::SampleMask => {
                let zero = e.u32(0);
                let mut mask = zero;
                for (s, &covered) in self.coverage.iter().enumerate() {
                    let bit = e.u32(1 << s);
                    let bit = e.select(covered, bit, zero);
                    mask = e.or(mask, bit);
                }
                mask
            }
            Builtin::PrimitiveIndex => e.prim_u32(prim::PRIMITIVE_INDEX),
            _ => e.u32(0),
        }
    }
}

impl SpliceHost for Inputs<'_, '_> {
    fn replace(&mut self, b: &mut FunctionBuilder, inst: &Inst, _: &[Value]) -> Option<Value> {
        let Op::Input(handle) = inst.op else { return None };
        let input = &self.shader.inputs[handle];
        let at = self.interpolator.at(input.sampling, self.sample);
        // The builder moves into the short-form wrapper and back: splice owns the only reference to it.
        let mut e = Emit {
            b: std::mem::replace(b, FunctionBuilder::new("")),
        };
        let value = match (input.semantic, self.link.words[handle.index()]) {
            (Semantic::Builtin(builtin), _) => {
                let at = match (builtin, self.sample) {
                    (Builtin::Position(_), Some(s)) if self.coverage.len() > 1 => At::Sample(s),
                    _ => at,
                };
                let value = self.builtin(&mut e, builtin, at);
                if input.kind == Kind::Bool {
                    value
                } else {
                    e.b.bitcast(value, input.kind)
                }
            }
            (Semantic::Location { .. }, Some(word)) => {
                self.interpolator
                    .attribute(&mut e, word, input.kind, input.interpolation, at, self.coverage)
            }
            (Semantic::Location { .. }, None) => {
                let zero = e.u32(0);
                e.b.bitcast(zero, input.kind)
            }
        };
        *b = e.b;
        Some(value)
    }
}

/// Assembles the fragment program; `shader` with its entry function after inlining, or none for depth-only draws.
pub(super) fn assemble(
    desc: &PipelineDescriptor<'_>,
    planes: &PlaneLayout,
    shader: Option<(&Shader, &Function)>,
    traits: Traits,
    link: &Link,
) -> Assembled {
    let mut a = Assembler {
        e: Emit::new(&format!("fragment {}", shader.map_or("none", |(s, _)| s.name.as_str()))),
        desc,
        planes,
        traits,
        samples: desc.multisample.count,
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
    samples: u32,
    invariant: Vec<Handle<Local>>,
}

impl Assembler<'_> {
    fn program(&mut self, shader: Option<(&Shader, &Function)>, link: &Link) {
        let mode = self.traits.depth_mode(self.desc.multisample.alpha_to_coverage_enabled);
        let coverage = self.coverage();
        let mut interpolator = Interpolator::new(&mut self.e, self.samples);
        let depth_stencil = self.desc.depth_stencil.as_ref();
        let front = depth_stencil
            .filter(|d| d.uses_stencil() && d.stencil_front != d.stencil_back)
            .map(|_| front_facing(&mut self.e));
        let fixed = depth_stencil.map(|state| DepthStencil {
            state,
            planes: self.planes,
        });

        let mut tested: Vec<Option<Tested>> = vec![None; coverage.len()];
        let mut live = coverage.clone();
        if let Some(fixed) = &fixed
            && mode != DepthMode::Late
        {
            for s in 0..self.samples as usize {
                let depth = fixed
                    .needs_depth()
                    .then(|| self.sample_depth(&mut interpolator, s as u32, &coverage));
                let depth = depth.map(|z| fixed.convert(&mut self.e, z));
                let t = fixed.test(&mut self.e, s as u32, depth, front);
                if mode == DepthMode::Early {
                    fixed.write(&mut self.e, s as u32, &t, coverage[s], front);
                }
                if let Some(pass) = t.pass {
                    live[s] = self.e.and(coverage[s], pass);
                }
                tested[s] = Some(t);
            }
        }
        let writes_later = mode != DepthMode::Early && fixed.is_some();
        let Some((shader, entry)) = shader else {
            if writes_later && let Some(fixed) = &fixed {
                for s in 0..self.samples as usize {
                    if let Some(t) = &tested[s] {
                        fixed.write(&mut self.e, s as u32, t, coverage[s], front);
                    }
                }
            }
            return;
        };

        // R-PS-42: what a failed test does to the stencil waits for a shader that may still discard the fragment.
        let waits = mode == DepthMode::Split && fixed.as_ref().is_some_and(DepthStencil::writes_on_failure);
        let tests = !waits && tested.iter().flatten().any(|t| t.pass.is_some());
        if tests {
            let any = self.any_in_quad(&live);
            self.e.b.begin_if(any);
        }
        // Lanes that the early test removed are helpers for the shader's own stores (R-PS-43).
        if tests && self.traits.writes_memory {
            let any = self.any_sample(&live);
            let none = self.e.not(any);
            self.e.b.begin_if(none);
            self.e.b.inst(Op::Discard, &[], &[]);
            self.e.b.end_if();
        }
        let runs: Vec<Option<u32>> = if self.traits.per_sample && self.samples > 1 {
            (0..self.samples).map(Some).collect()
        } else {
            vec![None]
        };
        for sample in runs {
            let mut inputs = Inputs {
                shader,
                link,
                interpolator: &mut interpolator,
                coverage: &coverage,
                sample,
                front,
            };
            let shaded = self.shade(shader, entry, &mut inputs);
            let covered_samples = match sample {
                Some(s) => s..s + 1,
                None => 0..self.samples,
            };
            self.finish(
                &shaded,
                covered_samples,
                &coverage,
                &live,
                &mut tested,
                &fixed,
                mode,
                &mut interpolator,
                front,
            );
        }
        if tests {
            self.e.b.end_if();
        }
    }

    /// Coverage of each sample after the pipeline's sample mask.
    fn coverage(&mut self) -> Vec<Value> {
        (0..self.samples)
            .map(|s| {
                if self.desc.multisample.mask >> s & 1 == 0 {
                    return self.e.b.bool(false);
                }
                self.e.b.inst1(Op::Coverage { sample: s as u8 }, &[], Kind::Bool)
            })
            .collect()
    }

    fn sample_depth(&mut self, interpolator: &mut Interpolator, s: u32, coverage: &[Value]) -> Value {
        let at = if self.samples > 1 { At::Sample(s) } else { At::Center };
        interpolator.depth(&mut self.e, at, coverage)
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

    fn shade(&mut self, shader: &Shader, entry: &Function, inputs: &mut Inputs<'_, '_>) -> Shaded {
        let spliced = splice(&mut self.e.b, entry, &[], inputs);
        let mut shaded = Shaded {
            colors: vec![[None; 4]; self.desc.targets.len()],
            second: [None; 4],
            depth: None,
            mask: None,
            alive: None,
        };
        for output in &shader.outputs {
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
                Semantic::Builtin(Builtin::FragDepth) => {
                    self.invariant.push(local);
                    shaded.depth = Some(value);
                }
                Semantic::Builtin(Builtin::SampleMask) => shaded.mask = Some(self.e.b.bitcast(value, Kind::U32)),
                Semantic::Builtin(_) => {}
            }
        }
        if self.traits.discards {
            let helper = self.e.b.inst1(Op::IsHelper, &[], Kind::Bool);
            shaded.alive = Some(self.e.not(helper));
        }
        shaded
    }

    /// Everything after the shader, for the samples it ran for.
    #[expect(clippy::too_many_arguments, reason = "the state that early and late stages share")]
    fn finish(
        &mut self,
        shaded: &Shaded,
        samples: std::ops::Range<u32>,
        coverage: &[Value],
        live: &[Value],
        tested: &mut [Option<Tested>],
        fixed: &Option<DepthStencil<'_>>,
        mode: DepthMode,
        interpolator: &mut Interpolator,
        front: Option<Value>,
    ) {
        let prepared: Vec<Option<(Target<'_>, Prepared)>> = (0..self.desc.targets.len())
            .map(|i| {
                let state = self.desc.targets[i].as_ref()?;
                if shaded.colors[i].iter().all(Option::is_none) {
                    return None; // R-PS-21: a target the shader doesn't declare keeps its value.
                }
                let color = self.complete(shaded.colors[i]);
                let second = shaded
                    .second
                    .iter()
                    .any(Option::is_some)
                    .then(|| self.complete(shaded.second));
                let target = Target { state, plane: 0 };
                let prepared = target.prepare(&mut self.e, color, second);
                Some((target, prepared))
            })
            .collect();
        let alpha_mask = self.alpha_to_coverage(shaded);
        for s in samples {
            let index = s as usize;
            let mut covered = if mode == DepthMode::Late {
                coverage[index]
            } else {
                live[index]
            };
            let mut taking_part = coverage[index];
            for extra in [shaded.alive, self.mask_bit(shaded.mask.or(alpha_mask), s)]
                .into_iter()
                .flatten()
            {
                covered = self.e.and(covered, extra);
                taking_part = self.e.and(taking_part, extra);
            }
            if let Some(fixed) = fixed {
                if mode == DepthMode::Late {
                    let depth = match shaded.depth {
                        Some(depth) => Some(depth),
                        None if fixed.needs_depth() => Some(self.sample_depth(interpolator, s, coverage)),
                        None => None,
                    };
                    let depth = depth.map(|z| fixed.convert(&mut self.e, z));
                    let t = fixed.test(&mut self.e, s, depth, front);
                    if let Some(pass) = t.pass {
                        covered = self.e.and(covered, pass);
                    }
                    tested[index] = Some(t);
                }
                if mode != DepthMode::Early
                    && let Some(t) = &tested[index]
                {
                    fixed.write(&mut self.e, s, t, taking_part, front);
                }
            }
            for (i, entry) in prepared.iter().enumerate() {
                let Some((target, prepared)) = entry else { continue };
                let Some(plane) = self.planes.color(i, s) else { continue };
                let target = Target {
                    state: target.state,
                    plane,
                };
                target.store(&mut self.e, prepared, covered);
            }
        }
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
        let alpha = shaded.colors.first()?[3]?;
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
