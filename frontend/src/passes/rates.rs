//! How values vary: over time (invariant for the draw or the primitive), and over lanes (uniform). Law L8.
//!
//! *Rate* says when a value could be computed once: `Draw` and `Primitive` values may be hoisted. *Uniform* says that
//! all lanes that execute the definition get the same value, so a scalar register can hold it: also a loop counter,
//! which is no invariant. What a quad_read may see of lanes outside the mask is honoured (law L2): a scalar may stand
//! for a uniform value everywhere.
//!
//! A local is uniform if every write gives it a uniform value under the mask with which its *home* was entered (the
//! innermost region that holds all its accesses, and starts by writing it unless it runs only once), or, inside the loop that holds all its
//! reads, under the mask of the iteration: lanes that left the loop don't look any more. Optimistic assumptions are
//! withdrawn until none breaks; few rounds are enough in practice, and after [`MAX_ROUNDS`] all are withdrawn.

use super::mask::Masks;
use crate::ir::{Alu, Arena, Body, Effect, Function, Handle, Inst, Label, Local, Op, QuadOp, Resource, Stmt, Value};

/// How often a value has to be computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rate {
    /// Known now.
    Const,
    /// Once a draw.
    Draw,
    /// Once a primitive.
    Primitive,
    /// For every lane, every time.
    Lane,
}

/// Over what a value is the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Vary {
    Step,
    Quad,
    /// The two lanes of a row.
    Row,
    Lane,
}

/// Rounds after which the analysis gives up precision.
const MAX_ROUNDS: usize = 8;

/// The answers for one function.
#[derive(Clone, Debug)]
pub struct Rates {
    rates: Vec<Rate>,
    vary: Vec<Vary>,
    locals: Vec<Vary>,
    seen_by_quad: Vec<bool>,
    /// By label: lanes (quads) leave the loop at different iterations.
    leaky: Vec<bool>,
    leaky_quads: Vec<bool>,
    /// By label: some lanes break (continue) there while others go on.
    split_breaks: Vec<bool>,
    split_continues: Vec<bool>,
    split_returns: bool,
    any_seen: bool,
}

impl Rates {
    /// Analyses a function.
    pub fn compute(function: &Function, resources: &Arena<Resource>) -> Rates {
        let homes = Homes::new(function);
        let labels = function.label_count as usize;
        let mut rates = Rates {
            rates: vec![Rate::Lane; function.values.len()],
            vary: vec![Vary::Lane; function.values.len()],
            locals: vec![Vary::Step; function.locals.len()],
            seen_by_quad: vec![false; function.values.len()],
            leaky: vec![false; labels],
            leaky_quads: vec![false; labels],
            split_breaks: vec![false; labels],
            split_continues: vec![false; labels],
            split_returns: false,
            any_seen: false,
        };
        for round in 0..=MAX_ROUNDS {
            if round == MAX_ROUNDS {
                rates.locals.fill(Vary::Lane);
                rates.leaky.fill(true);
                rates.leaky_quads.fill(true);
            }
            let mut walk = Walk {
                f: function,
                resources,
                homes: &homes,
                out: &mut rates,
                steps: Masks::new(),
                quads: Masks::new(),
                changed: false,
                reads: Vec::new(),
            };
            walk.body(&function.body);
            walk.taint();
            if !walk.changed {
                break;
            }
        }
        rates
    }

    /// How often the value has to be computed.
    pub fn rate(&self, value: Value) -> Rate {
        self.rates.get(value.index()).copied().unwrap_or(Rate::Lane)
    }

    /// Whether all lanes that execute the value's definition get the same.
    pub fn uniform(&self, value: Value) -> bool {
        self.vary(value) == Vary::Step
    }

    /// Whether the lanes of each quad get the same.
    pub fn quad_uniform(&self, value: Value) -> bool {
        self.vary(value) <= Vary::Quad
    }

    /// Whether the local always holds one value for all lanes that look at it.
    pub fn local_uniform(&self, local: Handle<Local>) -> bool {
        self.locals.get(local.index()) == Some(&Vary::Step)
    }

    /// Whether lanes that enter the loop together also leave it together.
    pub fn loop_uniform(&self, label: Label) -> bool {
        !self.leaky.get(label.0 as usize).copied().unwrap_or(true)
    }

    /// Whether lanes may wait at the end of that construct while others are still in it.
    pub(super) fn splits_at_break(&self, label: Label) -> bool {
        self.split_breaks.get(label.0 as usize).copied().unwrap_or(true)
    }

    /// Whether lanes may wait at the continuing block of that loop while others are still in its body.
    pub(super) fn splits_at_continue(&self, label: Label) -> bool {
        self.split_continues.get(label.0 as usize).copied().unwrap_or(true)
    }

    /// Whether lanes may have returned while others are still running.
    pub(super) fn splits_at_return(&self) -> bool {
        self.split_returns
    }

    /// Whether whole quads enter and leave the loop.
    pub fn loop_quad_uniform(&self, label: Label) -> bool {
        !self.leaky_quads.get(label.0 as usize).copied().unwrap_or(true)
    }

    /// Whether a quad_read under a mask that splits a quad may see the value's inactive lanes (law L2).
    pub fn seen_by_quad(&self, value: Value) -> bool {
        self.seen_by_quad.get(value.index()).copied().unwrap_or(self.any_seen)
    }

    fn vary(&self, value: Value) -> Vary {
        self.vary.get(value.index()).copied().unwrap_or(Vary::Lane)
    }
}

/// A nested body.
struct Region {
    parent: u32,
    depth: u32,
    /// Whether it is a loop's body or continuing block.
    in_loop: bool,
    /// Whether any loop is around it.
    repeats: bool,
    /// The loop's label then.
    label: Option<Label>,
}

/// Where a local is accessed.
#[derive(Clone, Copy, Default)]
struct Home {
    /// Depth of the innermost region with all accesses whose first is a write right in that region, or else that is
    /// in no loop, so that the local holds its initial value at the start.
    depth: u32,
    /// The innermost loop that holds all reads, and the depth of its body.
    reads_in: Option<(Label, u32)>,
    written: bool,
}

impl Home {
    /// Whether a write where `masks` stands reaches all lanes that may look at the local.
    fn fits(&self, masks: &Masks) -> bool {
        let iteration = match self.reads_in {
            // The loop begins anew with what its parent region wrote, so lanes that left it never look again.
            Some((label, depth)) => depth == self.depth + 1 && masks.floor() <= depth && masks.in_loop(label),
            None => false,
        };
        iteration || masks.floor() <= self.depth
    }
}

struct Homes {
    locals: Vec<Home>,
    /// Arrays that are never written.
    constant_arrays: Vec<bool>,
}

struct Collect<'a> {
    f: &'a Function,
    regions: Vec<Region>,
    current: u32,
    /// Innermost common region of all accesses and of all reads; first access: region and whether it writes.
    all: Vec<Option<u32>>,
    reads: Vec<Option<u32>>,
    first: Vec<Option<(u32, bool)>>,
    written: Vec<bool>,
    constant_arrays: Vec<bool>,
}

impl Homes {
    fn new(f: &Function) -> Homes {
        let n = f.locals.len();
        let mut c = Collect {
            f,
            regions: vec![Region {
                parent: 0,
                depth: 0,
                in_loop: false,
                repeats: false,
                label: None,
            }],
            current: 0,
            all: vec![None; n],
            reads: vec![None; n],
            first: vec![None; n],
            written: vec![false; n],
            constant_arrays: vec![true; f.arrays.len()],
        };
        c.body(&f.body);
        let home = |i: usize| {
            let Some(all) = c.all[i] else { return Home::default() };
            let first_writes_there = c.first[i] == Some((all, true));
            // What isn't begun by a write begins with the initial value where no loop repeats it.
            let mut home = all;
            while !first_writes_there && c.regions[home as usize].repeats {
                home = c.regions[home as usize].parent;
            }
            Home {
                depth: c.regions[home as usize].depth,
                reads_in: c.reads[i].and_then(|r| c.innermost_loop(r)),
                written: c.written[i],
            }
        };
        Homes {
            locals: (0..n).map(home).collect(),
            constant_arrays: c.constant_arrays,
        }
    }
}

impl Collect<'_> {
    fn innermost_loop(&self, mut region: u32) -> Option<(Label, u32)> {
        loop {
            let r = &self.regions[region as usize];
            if let (true, Some(label)) = (r.in_loop, r.label) {
                return Some((label, r.depth));
            }
            // A read in body and continuing: their common region is the loop's parent, but the loop holds both.
            if region == 0 {
                return None;
            }
            region = r.parent;
        }
    }

    /// The innermost region around both; body and continuing block of one loop count as one.
    fn common(&self, mut a: u32, mut b: u32) -> u32 {
        loop {
            if a == b {
                return a;
            }
            let (ra, rb) = (&self.regions[a as usize], &self.regions[b as usize]);
            if ra.in_loop && rb.in_loop && ra.label == rb.label {
                return a.min(b);
            }
            if ra.depth >= rb.depth {
                a = ra.parent;
            } else {
                b = rb.parent;
            }
        }
    }

    fn strictly_common(&self, mut a: u32, mut b: u32) -> u32 {
        while a != b {
            if self.regions[a as usize].depth >= self.regions[b as usize].depth {
                a = self.regions[a as usize].parent;
            } else {
                b = self.regions[b as usize].parent;
            }
        }
        a
    }

    fn access(&mut self, local: Handle<Local>, write: bool) {
        let i = local.index();
        let here = self.current;
        self.all[i] = Some(self.all[i].map_or(here, |r| self.strictly_common(r, here)));
        if write {
            self.written[i] = true;
        } else {
            self.reads[i] = Some(self.reads[i].map_or(here, |r| self.common(r, here)));
        }
        self.first[i].get_or_insert((here, write));
    }

    fn region(&mut self, body: &Body, in_loop: Option<Label>) {
        let parent = self.current;
        self.regions.push(Region {
            parent,
            depth: self.regions[parent as usize].depth + 1,
            in_loop: in_loop.is_some(),
            repeats: in_loop.is_some() || self.regions[parent as usize].repeats,
            label: in_loop,
        });
        self.current = self.regions.len() as u32 - 1;
        self.body(body);
        self.current = parent;
    }

    fn body(&mut self, body: &Body) {
        for stmt in body {
            match stmt {
                Stmt::Inst(id) => match self.f.insts[*id].op {
                    Op::LocalGet(l) => self.access(l, false),
                    Op::LocalSet { local, .. } => self.access(local, true),
                    Op::ArraySet(a) => self.constant_arrays[a.index()] = false,
                    _ => {}
                },
                Stmt::Block { body, .. } => self.region(body, None),
                Stmt::If { then, otherwise, .. } => {
                    self.region(then, None);
                    self.region(otherwise, None);
                }
                Stmt::Loop {
                    label,
                    body,
                    continuing,
                    ..
                } => {
                    self.region(body, Some(*label));
                    self.region(continuing, Some(*label));
                }
                Stmt::Switch { cases, .. } => {
                    for case in cases {
                        self.region(&case.body, None);
                    }
                }
                Stmt::Break(_) | Stmt::Continue(_) | Stmt::Return(_) => {}
            }
        }
    }
}

struct Walk<'a> {
    f: &'a Function,
    resources: &'a Arena<Resource>,
    homes: &'a Homes,
    out: &'a mut Rates,
    steps: Masks,
    quads: Masks,
    changed: bool,
    /// Operands of quad_reads (and of stores that ignore the mask) where the mask splits quads.
    reads: Vec<Value>,
}

impl Walk<'_> {
    fn body(&mut self, body: &Body) {
        for stmt in body {
            self.stmt(stmt);
        }
    }

    fn leave(&mut self) -> (bool, bool) {
        (self.steps.leave(), self.quads.leave())
    }

    /// Drives both trackers past an exit; whether it splits the lanes of a step.
    fn exit(&mut self, exit: impl Fn(&mut Masks, &mut dyn FnMut(Label)) -> bool) -> bool {
        let changed = &mut self.changed;
        let mut leak = |leaky: &mut Vec<bool>, label: Label| {
            if let Some(flag) = leaky.get_mut(label.0 as usize) {
                *changed |= !*flag;
                *flag = true;
            }
        };
        let splits = exit(&mut self.steps, &mut |label| leak(&mut self.out.leaky, label));
        exit(&mut self.quads, &mut |label| leak(&mut self.out.leaky_quads, label));
        splits
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::Inst(id) => {
                let f = self.f;
                self.inst(&f.insts[*id]);
            }
            Stmt::Block { label, body } => {
                self.steps.enter_block(*label);
                self.quads.enter_block(*label);
                self.body(body);
                self.leave();
            }
            Stmt::If {
                cond, then, otherwise, ..
            } => {
                for side in [then, otherwise] {
                    self.steps.enter_side(self.out.uniform(*cond));
                    self.quads.enter_side(self.out.quad_uniform(*cond));
                    self.body(side);
                    self.leave();
                }
            }
            Stmt::Loop {
                label,
                body,
                continuing,
                break_if,
                ..
            } => {
                self.steps.enter_loop(*label, !self.out.loop_uniform(*label));
                self.quads.enter_loop(*label, !self.out.loop_quad_uniform(*label));
                self.body(body);
                self.leave();
                self.steps.enter_continuing(*label, !self.out.loop_uniform(*label));
                self.quads.enter_continuing(*label, !self.out.loop_quad_uniform(*label));
                self.body(continuing);
                if let Some(cond) = *break_if {
                    let index = label.0 as usize;
                    if !self.out.uniform(cond) {
                        self.changed |= !std::mem::replace(&mut self.out.leaky[index], true);
                    }
                    if !self.out.quad_uniform(cond) {
                        self.changed |= !std::mem::replace(&mut self.out.leaky_quads[index], true);
                    }
                }
                self.leave();
            }
            Stmt::Switch {
                label, selector, cases, ..
            } => {
                let mut partial = (false, false);
                for case in cases {
                    self.steps.enter_case(*label, self.out.uniform(*selector), partial.0);
                    self.quads
                        .enter_case(*label, self.out.quad_uniform(*selector), partial.1);
                    self.body(&case.body);
                    let left = self.leave();
                    partial = if case.falls_through { left } else { (false, false) };
                }
            }
            Stmt::Break(label) => {
                let splits = self.exit(|m, leaks| m.break_(*label, leaks));
                self.out.split_breaks[label.0 as usize] |= splits;
            }
            Stmt::Continue(label) => {
                let splits = self.exit(|m, leaks| m.continue_(*label, leaks));
                self.out.split_continues[label.0 as usize] |= splits;
            }
            Stmt::Return(_) => self.out.split_returns |= self.exit(|m, leaks| m.return_(leaks)),
        }
    }

    fn inst(&mut self, inst: &Inst) {
        let read_only = |r: Handle<Resource>| self.resources.get(r).is_some_and(Resource::is_read_only);
        if let Op::LocalSet { local, .. } = inst.op {
            self.write(local, self.out.vary(inst.args[0]));
            return;
        }
        // A cell is stored whole, whatever the active mask.
        let looks_past_mask = matches!(inst.op, Op::CellStore { .. });
        if (looks_past_mask || inst.op.effect(read_only) == Effect::QuadRead) && !self.quads.full() {
            self.reads.extend_from_slice(&inst.args);
        }
        if inst.result_count == 0 {
            return;
        }
        let (mut rate, mut vary) = (Rate::Const, Vary::Step);
        for &arg in &inst.args {
            rate = rate.max(self.out.rate(arg));
            vary = vary.max(self.out.vary(arg));
        }
        let (rate, vary) = match &inst.op {
            Op::Const(_) => (Rate::Const, Vary::Step),
            Op::Alu(alu) => (rate, self.folded(*alu, inst, vary)),
            Op::Bitcast(_) | Op::Convert(_) => (rate, vary),
            Op::DrawLoad { .. } => (Rate::Draw, Vary::Step),
            Op::BufferSize(_) | Op::TextureQuery { .. } => (rate.max(Rate::Draw), vary),
            Op::PrimLoad { .. } | Op::PrimVertexLoad { .. } => (Rate::Primitive, Vary::Step),
            Op::BufferLoad { buffer, .. } if read_only(buffer.resource) => (rate.max(Rate::Draw), vary),
            Op::Quad(quad) => (rate, quad_vary(*quad, vary)),
            Op::PixelY => (Rate::Lane, Vary::Row),
            Op::LocalGet(local) => {
                let written = self.homes.locals[local.index()].written;
                let rate = if written { Rate::Lane } else { Rate::Const };
                (rate, self.out.locals[local.index()])
            }
            Op::ArrayGet(array) if self.homes.constant_arrays[array.index()] => (rate, vary),
            _ => (Rate::Lane, Vary::Lane),
        };
        for result in inst.results() {
            if let Some(slot) = self.out.rates.get_mut(result.index()) {
                *slot = rate;
            }
            if let Some(slot) = self.out.vary.get_mut(result.index()) {
                *slot = vary;
            }
        }
    }

    /// `x | swap_x(x)` is the same in both lanes of a row, and once more vertically in the whole quad (likewise for
    /// other commutative operations): how pipelines ask whether any lane of a quad lives.
    fn folded(&self, alu: Alu, inst: &Inst, vary: Vary) -> Vary {
        use Alu::{And, IAdd, IMul, Or, SMax, SMin, UMax, UMin, Xor};
        // No float operations: of two NaNs either may give its bits.
        let commutes = matches!(alu, And | Or | Xor | IAdd | IMul | SMin | SMax | UMin | UMax);
        if vary <= Vary::Quad || !commutes {
            return vary;
        }
        let swap_of = |value: Value, of: Value| match self.f.def_inst(value) {
            Some(i) if i.args.first() == Some(&of) => match i.op {
                Op::Quad(quad) => Some(quad),
                _ => None,
            },
            _ => None,
        };
        let (a, b) = (inst.args[0], inst.args[1]);
        let (of, swap) = match (swap_of(b, a), swap_of(a, b)) {
            (Some(swap), _) => (a, swap),
            (_, Some(swap)) => (b, swap),
            _ => return vary,
        };
        match (swap, self.out.vary(of)) {
            (QuadOp::SwapX, _) => Vary::Row,
            (QuadOp::SwapY, Vary::Row) => Vary::Quad,
            _ => vary,
        }
    }

    fn write(&mut self, local: Handle<Local>, value: Vary) {
        let home = self.homes.locals[local.index()];
        let mask = match (home.fits(&self.steps), home.fits(&self.quads)) {
            (true, _) => Vary::Step,
            (_, true) => Vary::Quad,
            _ => Vary::Lane,
        };
        // A row is no granularity of masks.
        let new = match value.max(mask) {
            Vary::Row => Vary::Lane,
            vary => vary,
        };
        let slot = &mut self.out.locals[local.index()];
        self.changed |= new > *slot;
        *slot = new.max(*slot);
    }

    /// Marks what quad_reads under split masks see, back to the locals it was read from.
    fn taint(&mut self) {
        let mut work = std::mem::take(&mut self.reads);
        while let Some(value) = work.pop() {
            if std::mem::replace(&mut self.out.seen_by_quad[value.index()], true) {
                continue;
            }
            self.out.any_seen = true;
            let Some(inst) = self.f.def_inst(value) else { continue };
            if let Op::LocalGet(local) = inst.op {
                let slot = &mut self.out.locals[local.index()];
                self.changed |= *slot != Vary::Lane;
                *slot = Vary::Lane;
            }
            work.extend_from_slice(&inst.args);
        }
    }
}

fn quad_vary(quad: QuadOp, of: Vary) -> Vary {
    match (quad, of) {
        (_, Vary::Step) => Vary::Step,
        (QuadOp::DdxCoarse | QuadOp::DdyCoarse | QuadOp::Broadcast(_), _) => Vary::Quad,
        (_, Vary::Quad) => Vary::Quad,
        (QuadOp::DdxFine, _) => Vary::Row,
        (QuadOp::DdyFine, Vary::Row) => Vary::Quad,
        (QuadOp::SwapX | QuadOp::SwapY | QuadOp::SwapDiagonal, vary) => vary,
        (QuadOp::DdyFine, vary) => vary,
    }
}
