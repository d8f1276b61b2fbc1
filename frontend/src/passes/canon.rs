//! `canon` where bits become visible: stores, cells, tile planes, tables, and floats read as integers (law N3).
//!
//! Only arithmetic makes NaNs whose bits differ between machines, so `canon` goes right behind the arithmetic, and only
//! where its result reaches a visible place by moves alone (selects, minimum and maximum, swaps, locals, arrays).
//! Loaded NaNs keep their bits. A negated or absolute arithmetic NaN counts as arithmetic again.

use super::edit::{for_each_inst, new_inst};
use super::nan::{Nan, handed_on, nan, never};
use crate::ir::{Alu, Body, Def, Function, Inst, Kind, Op, Stmt, Value};

/// Inserts `canon`.
pub(super) fn run(f: &mut Function) {
    let visible = Visible::find(f);
    if !visible.any {
        return;
    }
    let mut body = std::mem::take(&mut f.body);
    let mut pass = Pass {
        made: vec![None; f.values.len()],
        f,
        visible,
    };
    pass.body(&mut body);
    f.body = body;
}

/// Whether the operation shows the bits of its operand `index`.
fn shows(op: &Op, index: usize, count: usize) -> bool {
    match op {
        Op::BufferStore { .. } => index + 1 == count,
        Op::BufferAtomic { .. } => true,
        Op::TexelStore { .. } => index + 4 >= count,
        Op::TileStore { .. } => index == 0,
        Op::CellStore { .. } => true,
        Op::Bitcast(kind) => kind.is_int(),
        // What is packed shows a NaN's bits in half precision.
        Op::Alu(Alu::HalfBits | Alu::HalfBitsRtz) => true,
        _ => false,
    }
}

fn is_f32(f: &Function, value: Value) -> bool {
    f.kind(value) == Kind::F32
}

/// Values and locals whose bits reach a visible place by moves.
struct Visible {
    values: Vec<bool>,
    locals: Vec<bool>,
    arrays: Vec<bool>,
    any: bool,
}

impl Visible {
    fn find(f: &Function) -> Visible {
        let mut v = Visible {
            values: vec![false; f.values.len()],
            locals: vec![false; f.locals.len()],
            arrays: vec![false; f.arrays.len()],
            any: false,
        };
        let mut work = Vec::new();
        let mut local_writes: Vec<Vec<Value>> = vec![Vec::new(); f.locals.len()];
        let mut array_writes: Vec<Vec<Value>> = vec![Vec::new(); f.arrays.len()];
        for_each_inst(&f.body, &mut |id| {
            let inst = &f.insts[id];
            match inst.op {
                Op::LocalSet { local, .. } => local_writes[local.index()].push(inst.args[0]),
                Op::ArraySet(array) => array_writes[array.index()].push(inst.args[1]),
                _ => {}
            }
            let count = inst.args.len();
            let shown = inst.args.iter().enumerate().filter(|(i, _)| shows(&inst.op, *i, count));
            work.extend(shown.map(|(_, &a)| a).filter(|&a| is_f32(f, a)));
        });
        while let Some(value) = work.pop() {
            if std::mem::replace(&mut v.values[value.index()], true) {
                continue;
            }
            if never(f, value) {
                continue;
            }
            v.any = true;
            let Some(inst) = f.def_inst(value) else { continue };
            match inst.op {
                Op::LocalGet(local) if !std::mem::replace(&mut v.locals[local.index()], true) => {
                    work.append(&mut local_writes[local.index()]);
                }
                Op::ArrayGet(array) if !std::mem::replace(&mut v.arrays[array.index()], true) => {
                    work.append(&mut array_writes[array.index()]);
                }
                _ if nan(&inst.op) == Nan::Passed => work.extend_from_slice(handed_on(inst)),
                _ => {}
            }
        }
        v
    }
}

struct Pass<'a> {
    f: &'a mut Function,
    visible: Visible,
    /// The canonical form of a value.
    made: Vec<Option<Value>>,
}

impl Pass<'_> {
    /// Whether the value may be an arithmetic NaN, seen from where its bits move on.
    fn needs(&self, value: Value) -> bool {
        if !is_f32(self.f, value) || !self.visible.values[value.index()] {
            return false;
        }
        match self.f.def_inst(value) {
            Some(inst) => match nan(&inst.op) {
                Nan::Made => !never(self.f, value),
                // Behind a canonical operand the sign may still be flipped: 0xFFC00000 shows.
                Nan::Signed => !never(self.f, value) && arithmetic(self.f, inst),
                _ => false,
            },
            None => false,
        }
    }

    fn body(&mut self, body: &mut Body) {
        let old = std::mem::take(body);
        let mut out = Vec::with_capacity(old.len());
        for mut stmt in old {
            if let Stmt::Inst(id) = stmt {
                self.operands(id);
                out.push(stmt);
                let results: smallvec::SmallVec<[Value; 4]> = self.f.insts[id].results().collect();
                let span = self.f.insts[id].span;
                for value in results {
                    if self.needs(value) {
                        let canon = new_inst(self.f, Op::Alu(Alu::Canon), &[value], &[Kind::F32], span);
                        out.push(Stmt::Inst(canon));
                        self.made[value.index()] = Some(self.f.insts[canon].result());
                    }
                }
                continue;
            }
            for inner in super::edit::nested_mut(&mut stmt) {
                self.body(inner);
            }
            out.push(stmt);
        }
        *body = out;
    }

    /// Gives the canonical form of its operands to an instruction that shows or moves their bits.
    fn operands(&mut self, id: crate::ir::InstId) {
        let inst = &self.f.insts[id];
        let count = inst.args.len();
        let moves = match inst.op {
            Op::LocalSet { local, .. } => self.visible.locals[local.index()],
            Op::ArraySet(array) => self.visible.arrays[array.index()],
            // What flips the sign is made canonical itself.
            _ => nan(&inst.op) == Nan::Passed && inst.results().any(|r| self.visible.values[r.index()]),
        };
        for i in 0..count {
            let inst = &self.f.insts[id];
            if moves || shows(&inst.op, i, count) {
                let arg = inst.args[i];
                if let Some(canon) = self.made.get(arg.index()).copied().flatten() {
                    self.f.insts[id].args[i] = canon;
                }
            }
        }
    }
}

/// Whether an operand of a sign operation may be an arithmetic NaN.
fn arithmetic(f: &Function, inst: &Inst) -> bool {
    let mut work: Vec<(Value, usize)> = inst.args.iter().map(|&a| (a, 0)).collect();
    while let Some((value, depth)) = work.pop() {
        let Def::Inst(id, _) = f.values[value].def else {
            continue;
        };
        let inst = &f.insts[id];
        match nan(&inst.op) {
            Nan::Made => return true,
            Nan::Passed | Nan::Signed if depth < 6 => work.extend(handed_on(inst).iter().map(|&a| (a, depth + 1))),
            Nan::Passed | Nan::Signed => return true,
            // What a local holds may have been computed.
            Nan::Foreign if matches!(inst.op, Op::LocalGet(_) | Op::ArrayGet(_)) => return true,
            Nan::Foreign | Nan::Never => {}
        }
    }
    false
}
