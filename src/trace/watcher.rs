//! Watches the interpreter: notes and instructions of the quads that hold the pixel become fragments.

use super::{Color, Fragment, Kept, MAX_FRAGMENTS, Number, Place, Sample, Step, Tests, TraceOptions, TracedDraw};
use quadrille_frontend::ir::text::print_instruction;
use quadrille_frontend::ir::{Inst, Kind, Op, SpanId, Value};
use quadrille_jit::Program;
use quadrille_jit::interp::watch::{self, Quad, Watch, What};
use quadrille_raster::pipeline::Note;
use std::sync::{Mutex, PoisonError};

/// Collects what the pixel's quads do.
#[derive(Debug)]
pub(super) struct Watcher {
    pixel: [u32; 2],
    draw: Option<usize>,
    limit: usize,
    seen: Mutex<Seen>,
}

#[derive(Debug, Default)]
struct Seen {
    /// Number of the draw, and the fragment.
    fragments: Vec<(usize, Fragment)>,
    /// Whether the fragment at hand has come to its shader.
    shading: bool,
    recorded: usize,
    left_out: u64,
    fragments_left_out: u64,
}

impl Watcher {
    pub fn new(options: &TraceOptions) -> Watcher {
        Watcher {
            pixel: options.pixel,
            draw: options.draw,
            limit: options.limit,
            seen: Mutex::default(),
        }
    }

    /// Gives the fragments to their draws, and how many steps and fragments were left out.
    pub fn finish(&self, draws: &mut [TracedDraw]) -> (u64, u64) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        for (draw, fragment) in seen.fragments.drain(..) {
            if let Some(draw) = draws.get_mut(draw) {
                draw.fragments.push(fragment);
            }
        }
        (seen.left_out, seen.fragments_left_out)
    }
}

impl Watch for Watcher {
    fn wants(&self, quad: Quad, _: &Program) -> bool {
        let [x, y] = self.pixel;
        let lane = (x & 1) + (y & 1) * 2;
        // A quad in which the pixel only helps its neighbours is none of its fragments.
        if (quad.x, quad.y) != (x & !1, y & !1) || quad.helpers >> lane & 1 != 0 {
            return false;
        }
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.fragments.len() >= MAX_FRAGMENTS {
            seen.fragments_left_out += 1;
            return false;
        }
        let fragment = Fragment {
            lane: lane as usize,
            ..Fragment::default()
        };
        seen.fragments.push((quad.tag as usize, fragment));
        seen.shading = false;
        true
    }

    fn step(&self, step: &watch::Step<'_>) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let seen = &mut *seen;
        let Some((draw, fragment)) = seen.fragments.last_mut() else {
            return;
        };
        let function = &step.program.function;
        let bits = |set: u8| std::array::from_fn(|lane| set >> lane & 1 != 0);
        let (text, span, shown): (String, Option<SpanId>, Vec<Value>) = match step.what {
            What::Inst(id) => {
                let inst = &function.insts[id];
                if let Op::Note(number) = inst.op {
                    note(fragment, seen.shading, step, number, inst);
                    return;
                }
                let shown = if inst.result_count > 0 {
                    inst.results().collect()
                } else {
                    inst.args.to_vec()
                };
                if inst.op == Op::Discard && step.active >> fragment.lane & 1 != 0 {
                    fragment.discarded = inst.span.and_then(|s| place(step.program, s));
                }
                (print_instruction(function, inst), inst.span, shown)
            }
            What::Branch { on, span } => (format!("if %{}", on.index()), span, vec![on]),
            What::Iteration { span } => ("loop: next iteration".into(), span, Vec::new()),
        };
        // Fixed function comes from no source.
        seen.shading |= span.is_some();
        if self.draw.is_some_and(|wanted| wanted != *draw) {
            return;
        }
        if seen.recorded >= self.limit {
            seen.left_out += 1;
            return;
        }
        seen.recorded += 1;
        fragment.steps.push(Step {
            place: span.and_then(|s| place(step.program, s)),
            text,
            active: bits(step.active),
            helpers: bits(step.helpers),
            values: shown.iter().map(|&v| lanes(step, v)).collect(),
        });
    }
}

fn place(program: &Program, span: SpanId) -> Option<Place> {
    let (source, line, column) = program.sources.locate(span)?;
    let at = program.sources.spans.get(span)?.source as usize;
    let text = program.sources.texts.get(at)?.text.lines().nth(line - 1);
    Some(Place {
        source: source.to_owned(),
        line,
        column,
        text: text.unwrap_or_default().trim().to_owned(),
    })
}

fn number(kind: Kind, bits: u32) -> Number {
    match kind {
        Kind::Bool => Number::Bool(bits != 0),
        Kind::F32 => Number::F32(f32::from_bits(bits)),
        Kind::I32 => Number::I32(bits.cast_signed()),
        _ => Number::U32(bits),
    }
}

fn lanes(step: &watch::Step<'_>, value: Value) -> [Number; 4] {
    let kind = step.program.function.kind(value);
    step.value(value).map(|bits| number(kind, bits))
}

/// Takes what a traced program shows of the pixel.
fn note(fragment: &mut Fragment, late: bool, step: &watch::Step<'_>, number: u32, inst: &Inst) {
    // What lanes show where they aren't active is nothing.
    if step.active >> fragment.lane & 1 == 0 {
        return;
    }
    let lane = fragment.lane;
    let shown = |i: usize| inst.args.get(i).map_or(Number::U32(0), |&v| lanes(step, v)[lane]);
    let yes = |i: usize| shown(i) == Number::Bool(true);
    let word = |i: usize| match shown(i) {
        Number::U32(v) => v,
        _ => 0,
    };
    let sample = |fragment: &mut Fragment, s: u32, change: &dyn Fn(&mut Sample)| {
        let s = s as usize;
        if fragment.samples.len() <= s {
            fragment.samples.resize_with(s + 1, Sample::default);
        }
        change(&mut fragment.samples[s]);
    };
    match Note::of(number) {
        Some(Note::Primitive) => (fragment.primitive, fragment.front_facing) = (word(0), yes(1)),
        Some(Note::Coverage { sample: s }) => sample(fragment, s, &|to| {
            (to.covered, to.in_mask) = (yes(0), yes(0) == yes(1));
        }),
        Some(Note::Tests { sample: s }) => {
            sample(fragment, s, &|to| {
                to.tests = Some(Tests {
                    depth: shown(0),
                    stored_depth: shown(1),
                    stored_stencil: word(2),
                    within_bounds: yes(3),
                    stencil_passes: yes(4),
                    depth_passes: yes(5),
                    late,
                });
            });
        }
        Some(Note::Kept { sample: s }) => sample(fragment, s, &|to| {
            to.kept = Some(Kept {
                alive: yes(0),
                in_mask: yes(1),
                written: yes(2),
            });
        }),
        Some(Note::Color { target, sample }) => {
            let four = |first: usize| std::array::from_fn(|i| shown(first + i));
            fragment.colors.push(Color {
                target,
                sample,
                source: four(0),
                before: four(4),
                after: four(8),
            });
        }
        None => {}
    }
}
