//! What varies within a primitive, and where flow does: R-PS-84 along the statements.
//!
//! Locals are followed statement by statement; loops are walked until nothing new varies, whole functions at most
//! [`MAX_ROUNDS`] times: then all that loops change varies.

use super::order::Order;
use super::{Divergent, Movable, name};
use crate::ir::{
    Arena, Body, Builtin, Function, Handle, Input, Inst, InstId, Interpolation, Label, Op, Resource, ResourceRef,
    Semantic, SpanId, Stmt, Value,
};
use rustc_hash::FxHashMap;

/// Rounds after which the walk gives up precision.
const MAX_ROUNDS: usize = 12;
/// Reads that are looked through from a gradient's operand.
const MAX_READS: usize = 64;

/// What the walk found.
#[derive(Default)]
pub(super) struct Found {
    /// Gradients that can't be where they are.
    pub divergent: Vec<Divergent>,
    /// Gradients in varying flow that could be in front of it.
    pub movable: Vec<Movable>,
}

/// Varying flow: how it came to be.
#[derive(Clone, Copy)]
struct Varying {
    /// The outermost construct in which flow varies, by its number.
    start: u32,
    /// The innermost branch.
    branch: Option<SpanId>,
}

/// Which locals and arrays vary; none where nobody comes by.
type State = Option<Vec<u64>>;

fn join(into: &mut State, other: &State) {
    match (into.as_mut(), other) {
        (Some(a), Some(b)) => a.iter_mut().zip(b).for_each(|(a, b)| *a |= b),
        (None, Some(_)) => into.clone_from(other),
        (_, None) => {}
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Plain,
    Block(Label),
    LoopBody(Label),
}

struct Frame {
    role: Role,
    /// Number of the statement it belongs to.
    at: u32,
    flow: Option<Varying>,
    /// Whether only some of those that came to its statement are here.
    splits: bool,
}

struct LoopFacts {
    /// What varies at the begin of an iteration.
    entry: State,
    /// Some leave while others go on: the branch.
    varies: Option<Option<SpanId>>,
}

struct Walk<'a> {
    f: &'a Function,
    inputs: &'a Arena<Input>,
    resources: &'a Arena<Resource>,
    order: &'a Order,
    values: Vec<bool>,
    state: State,
    frames: Vec<Frame>,
    /// States at the exits of each label; at `Continue` under the other key.
    exits: FxHashMap<(Label, bool), State>,
    loops: FxHashMap<Label, LoopFacts>,
    next: u32,
    changed: bool,
    pessimistic: bool,
    found: Found,
}

/// Judges every gradient of a function.
pub(super) fn walk(f: &Function, inputs: &Arena<Input>, resources: &Arena<Resource>) -> Found {
    let order = Order::new(f);
    let mut w = Walk {
        f,
        inputs,
        resources,
        order: &order,
        values: vec![false; f.values.len()],
        state: None,
        frames: Vec::new(),
        exits: FxHashMap::default(),
        loops: FxHashMap::default(),
        next: 0,
        changed: false,
        pessimistic: false,
        found: Found::default(),
    };
    for round in 0..=MAX_ROUNDS {
        w.pessimistic = round == MAX_ROUNDS;
        w.changed = false;
        w.next = 0;
        w.found = Found::default();
        w.exits.clear();
        w.state = Some(vec![0; (f.locals.len() + f.arrays.len()).div_ceil(64)]);
        w.frames = vec![Frame {
            role: Role::Plain,
            at: 0,
            flow: None,
            splits: false,
        }];
        w.body(&f.body);
        if !w.changed {
            break;
        }
    }
    w.found
}

impl Walk<'_> {
    fn flow(&self) -> Option<Varying> {
        self.frames.last().and_then(|f| f.flow)
    }

    /// Enters a body; `varying`: only some may, because of that branch.
    fn enter(&mut self, role: Role, at: u32, varying: Option<Option<SpanId>>) {
        let outer = self.flow();
        let flow = match varying {
            Some(branch) => Some(Varying {
                start: outer.map_or(at, |o| o.start),
                branch,
            }),
            None => outer,
        };
        self.frames.push(Frame {
            role,
            at,
            flow,
            splits: varying.is_some(),
        });
    }

    fn body(&mut self, body: &Body) {
        for stmt in body {
            self.next += 1;
            self.stmt(stmt, self.next);
        }
    }

    fn stmt(&mut self, stmt: &Stmt, at: u32) {
        match stmt {
            Stmt::Inst(id) => self.inst(*id, at),
            Stmt::Block { label, body } => {
                self.enter(Role::Block(*label), at, None);
                self.body(body);
                self.frames.pop();
                self.arrive(*label, false);
            }
            Stmt::If {
                cond,
                then,
                otherwise,
                span,
            } => {
                let varying = self.varies(*cond).then_some(*span);
                let before = self.state.clone();
                self.enter(Role::Plain, at, varying);
                self.body(then);
                self.frames.pop();
                let after = std::mem::replace(&mut self.state, before);
                self.enter(Role::Plain, at, varying);
                self.body(otherwise);
                self.frames.pop();
                join(&mut self.state, &after);
            }
            Stmt::Loop {
                label,
                body,
                continuing,
                break_if,
                span,
                ..
            } => {
                let entered = self.state.clone();
                let facts = self.loops.entry(*label).or_insert(LoopFacts {
                    entry: None,
                    varies: None,
                });
                join(&mut facts.entry, &entered);
                self.state.clone_from(&facts.entry);
                if self.pessimistic {
                    self.state.iter_mut().flatten().for_each(|word| *word = !0);
                    facts.varies.get_or_insert(*span);
                }
                let varying = facts.varies;
                self.enter(Role::LoopBody(*label), at, varying);
                self.body(body);
                self.frames.pop();
                self.arrive(*label, true);
                self.enter(Role::Plain, at, varying);
                self.body(continuing);
                self.frames.pop();
                let end = self.state.clone();
                if let Some(facts) = self.loops.get_mut(label) {
                    let known = facts.entry.clone();
                    join(&mut facts.entry, &end);
                    self.changed |= known != facts.entry;
                }
                match break_if {
                    Some(cond) => {
                        if self.varies(*cond) {
                            self.loop_varies(*label, *span);
                        }
                    }
                    // Only breaks leave it.
                    None => self.state = None,
                }
                self.arrive(*label, false);
            }
            Stmt::Switch {
                label,
                selector,
                cases,
                span,
            } => {
                let varying = self.varies(*selector).then_some(*span);
                let before = self.state.clone();
                let mut falling: State = None;
                let mut left = false;
                let mut ends: State = before.clone().filter(|_| !cases.iter().any(|c| c.default));
                for case in cases {
                    self.state.clone_from(&before);
                    join(&mut self.state, &falling);
                    self.enter(Role::Block(*label), at, varying.or_else(|| left.then_some(*span)));
                    self.body(&case.body);
                    let frame = self.frames.pop();
                    falling = None;
                    left = false;
                    if case.falls_through {
                        falling.clone_from(&self.state);
                        left = frame.is_some_and(|f| f.splits);
                    } else {
                        let end = self.state.clone();
                        join(&mut ends, &end);
                    }
                }
                join(&mut ends, &falling);
                self.state = ends;
                self.arrive(*label, false);
            }
            Stmt::Break(label) => {
                let target = self.target(|role| role == Role::Block(*label) || role == Role::LoopBody(*label));
                self.leave(target);
                self.depart(*label, false);
            }
            Stmt::Continue(label) => {
                let target = self.target(|role| role == Role::LoopBody(*label));
                self.leave(target);
                self.depart(*label, true);
            }
            Stmt::Return(_) => {
                self.leave(0);
                self.state = None;
            }
        }
    }

    /// What came to the end of a construct by its exits goes on there.
    fn arrive(&mut self, label: Label, continues: bool) {
        if let Some(state) = self.exits.remove(&(label, continues)) {
            join(&mut self.state, &state);
        }
    }

    fn depart(&mut self, label: Label, continues: bool) {
        let here = self.state.take();
        join(self.exits.entry((label, continues)).or_default(), &here);
    }

    fn target(&self, is: impl Fn(Role) -> bool) -> usize {
        self.frames.iter().rposition(|f| is(f.role)).unwrap_or(0)
    }

    /// An exit from the bodies from depth `target` on: where only some take it, flow varies for the others until the
    /// construct's end, and all through the loops that it leaves or repeats.
    fn leave(&mut self, target: usize) {
        let Some(innermost) = self.frames.iter().rposition(|f| f.splits) else {
            return;
        };
        let branch = self.frames[innermost].flow.and_then(|f| f.branch);
        let mut loops = Vec::new();
        for depth in target..self.frames.len() {
            let divides = innermost > depth;
            if !divides && !self.frames[depth].splits {
                continue;
            }
            if let Role::LoopBody(label) = self.frames[depth].role {
                loops.push(label);
            }
            if divides {
                let start = self.frames.get(depth + 1).map_or(0, |f| f.at);
                let frame = &mut self.frames[depth];
                frame.splits = true;
                frame.flow = Some(Varying {
                    start: frame.flow.map_or(start, |f| f.start),
                    branch,
                });
            }
        }
        for label in loops {
            self.loop_varies(label, branch);
        }
    }

    fn loop_varies(&mut self, label: Label, branch: Option<SpanId>) {
        if let Some(facts) = self.loops.get_mut(&label) {
            self.changed |= facts.varies.is_none();
            facts.varies.get_or_insert(branch);
        }
    }

    fn varies(&self, value: Value) -> bool {
        self.values[value.index()]
    }

    fn slot(&self, index: usize) -> bool {
        let word = self.state.as_ref().and_then(|s| s.get(index / 64)).copied();
        word.unwrap_or(0) >> (index % 64) & 1 != 0
    }

    fn set_slot(&mut self, index: usize, varies: bool, whole: bool) {
        let Some(word) = self.state.as_mut().and_then(|s| s.get_mut(index / 64)) else {
            return;
        };
        let bit = 1 << (index % 64);
        match varies {
            true => *word |= bit,
            false if whole => *word &= !bit,
            false => {}
        }
    }

    fn inst(&mut self, id: InstId, at: u32) {
        let f = self.f;
        let inst = &f.insts[id];
        let here = self.flow().is_some();
        let operands = inst.args.iter().any(|&a| self.varies(a));
        let arrays = f.locals.len();
        match inst.op {
            Op::LocalSet { local, .. } => return self.set_slot(local.index(), operands || here, true),
            Op::ArraySet(array) => return self.set_slot(arrays + array.index(), operands || here, false),
            Op::ArrayReset(array) => return self.set_slot(arrays + array.index(), here, true),
            _ => {}
        }
        if let Some(what) = name(&inst.op) {
            self.gradient(id, inst, what, at);
        }
        let varies = operands
            || match &inst.op {
                Op::LocalGet(local) => self.slot(local.index()),
                Op::ArrayGet(array) => self.slot(arrays + array.index()),
                Op::Input(input) | Op::InputAt { input, .. } => self.input_varies(*input),
                Op::BufferLoad { buffer, .. } => !self.is_read_only(buffer),
                Op::TexelLoad { texture, .. } => !self.is_read_only(texture),
                // What others did to memory, and whether the lane is a helper, differs from pixel to pixel.
                Op::BufferAtomic { .. }
                | Op::IsHelper
                | Op::Call(_)
                | Op::PixelX
                | Op::PixelY
                | Op::Coverage { .. }
                | Op::TileLoad { .. }
                | Op::CellLoad { .. } => true,
                Op::Const(_)
                | Op::Alu(_)
                | Op::Bitcast(_)
                | Op::Convert(_)
                | Op::Quad(_)
                | Op::BufferSize(_)
                | Op::Sample { .. }
                | Op::TextureQuery { .. }
                | Op::DrawLoad { .. }
                | Op::PrimLoad { .. }
                | Op::PrimVertexLoad { .. } => false,
                _ => inst.result_count > 0,
            };
        for result in inst.results() {
            // A value that a later iteration changes may be looked at by an earlier statement only through a local.
            let known = &mut self.values[result.index()];
            self.changed |= varies && !*known;
            *known |= varies;
        }
    }

    fn is_read_only(&self, r: &ResourceRef) -> bool {
        self.resources.get(r.resource).is_some_and(Resource::is_read_only)
    }

    fn input_varies(&self, input: Handle<Input>) -> bool {
        let Some(input) = self.inputs.get(input) else {
            return true;
        };
        match input.semantic {
            Semantic::Location { .. } => input.interpolation != Interpolation::Flat,
            Semantic::Builtin(builtin) => !matches!(
                builtin,
                Builtin::FrontFacing
                    | Builtin::PrimitiveIndex
                    | Builtin::SampleIndex
                    | Builtin::ViewportIndex
                    | Builtin::Layer
                    | Builtin::ViewIndex
            ),
        }
    }

    fn gradient(&mut self, id: InstId, inst: &Inst, what: &'static str, at: u32) {
        let (Some(flow), true) = (self.flow(), self.state.is_some()) else {
            return;
        };
        let compared = match &inst.op {
            Op::Sample { texture, sampler, op } => {
                let first = usize::from(texture.indexed) + usize::from(sampler.indexed);
                first..first + op.dim.coords()
            }
            _ => 0..inst.args.len(),
        };
        let compared = inst.args.get(compared).unwrap_or(&inst.args);
        let mut reads = MAX_READS;
        if compared.iter().all(|&a| self.is_known(a, flow.start, at, &mut reads)) {
            self.found.movable.push((id, flow.start));
        } else {
            self.found.divergent.push(Divergent {
                what,
                operation: inst.span,
                branch: flow.branch,
            });
        }
    }

    /// Whether all four lanes have the value, whoever comes by: it was computed before statement `start`, or is read
    /// from what doesn't change since (R-PS-82, R-PS-86), or is the same for all.
    fn is_known(&self, value: Value, start: u32, at: u32, reads: &mut usize) -> bool {
        if self.order.is_before(value, start) {
            return true;
        }
        let Some(inst) = self.f.def_inst(value) else {
            return true;
        };
        *reads = reads.saturating_sub(1);
        let stays = match &inst.op {
            Op::Const(_) | Op::Input(_) | Op::InputAt { .. } | Op::BufferSize(_) | Op::TextureQuery { .. } => true,
            Op::LocalGet(local) => self.order.keeps(*local, start, at),
            Op::ArrayGet(array) => self.order.keeps_array(*array, start, at),
            Op::BufferLoad { buffer, .. } => self.is_read_only(buffer),
            _ => false,
        };
        *reads > 0 && stays && inst.args.iter().all(|&a| self.is_known(a, start, at, reads))
    }
}
