//! Contraction: `a*b + c` becomes one `fma`, rounded once (law N2).
//!
//! A product is fused if that makes it disappear: all its uses are sums that fuse. Never touched is what the values of
//! the protected locals (position, fragment depth, `invariant` and `precise` outputs) are computed from: operands,
//! locals on the way, and the conditions of control flow if any of those locals is written under some.

use super::edit::{for_each_inst, nested, new_inst};
use crate::ir::{Alu, Body, Function, Handle, InstId, Kind, Local, Op, Stmt, Value};
use smallvec::smallvec;

/// Fuses products into sums, but not in the backward slice of what is written to `protected`.
pub(super) fn run(f: &mut Function, protected: &[Handle<Local>]) {
    let frozen = slice(f, protected);
    let uses = Uses::count(f, &frozen);
    let mut body = std::mem::take(&mut f.body);
    fuse(f, &mut body, &frozen, &uses);
    f.body = body;
}

/// Which values the protected locals are computed from.
fn slice(f: &Function, protected: &[Handle<Local>]) -> Vec<bool> {
    let mut frozen = vec![false; f.values.len()];
    if protected.is_empty() {
        return frozen;
    }
    // Writes of each local, and whether any stands under control flow.
    let mut writes: Vec<Vec<Value>> = vec![Vec::new(); f.locals.len()];
    let mut nested_write = vec![false; f.locals.len()];
    let mut array_writes: Vec<Vec<Value>> = vec![Vec::new(); f.arrays.len()];
    let mut conditions = Vec::new();
    collect(&f.body, 0, &mut |depth, stmt| match stmt {
        Stmt::Inst(id) => {
            let inst = &f.insts[*id];
            match inst.op {
                Op::LocalSet { local, .. } => {
                    writes[local.index()].push(inst.args[0]);
                    nested_write[local.index()] |= depth > 0;
                }
                Op::ArraySet(array) => array_writes[array.index()].extend_from_slice(&inst.args),
                _ => {}
            }
        }
        Stmt::If { cond, .. } => conditions.push(*cond),
        Stmt::Switch { selector, .. } => conditions.push(*selector),
        Stmt::Loop {
            break_if: Some(cond), ..
        } => conditions.push(*cond),
        _ => {}
    });
    let mut local_seen = vec![false; f.locals.len()];
    let mut array_seen = vec![false; f.arrays.len()];
    let mut work: Vec<Value> = Vec::new();
    let mut conditions = Some(conditions);
    let mut reach = |local: Handle<Local>, work: &mut Vec<Value>| {
        if !std::mem::replace(&mut local_seen[local.index()], true) {
            work.append(&mut writes[local.index()]);
            if nested_write[local.index()]
                && let Some(conditions) = conditions.take()
            {
                work.extend(conditions);
            }
        }
    };
    for &local in protected {
        reach(local, &mut work);
    }
    while let Some(value) = work.pop() {
        if std::mem::replace(&mut frozen[value.index()], true) {
            continue;
        }
        let Some(inst) = f.def_inst(value) else { continue };
        match inst.op {
            Op::LocalGet(local) => reach(local, &mut work),
            Op::ArrayGet(array) if !std::mem::replace(&mut array_seen[array.index()], true) => {
                work.append(&mut array_writes[array.index()]);
            }
            _ => {}
        }
        work.extend_from_slice(&inst.args);
    }
    frozen
}

fn collect(body: &Body, depth: usize, visit: &mut dyn FnMut(usize, &Stmt)) {
    for stmt in body {
        visit(depth, stmt);
        // What stands in a block alone is always executed.
        let inner = depth + usize::from(!matches!(stmt, Stmt::Block { .. }));
        for b in nested(stmt) {
            collect(b, inner, visit);
        }
    }
}

/// Uses of each value, and how many of them are sums that could take it in.
struct Uses {
    all: Vec<u32>,
    fusing: Vec<u32>,
}

impl Uses {
    fn count(f: &Function, frozen: &[bool]) -> Uses {
        let mut uses = Uses {
            all: vec![0; f.values.len()],
            fusing: vec![0; f.values.len()],
        };
        for_each_inst(&f.body, &mut |id| {
            let inst = &f.insts[id];
            for &arg in &inst.args {
                uses.all[arg.index()] += 1;
                if is_sum(f, id) && !frozen[inst.result().index()] {
                    uses.fusing[arg.index()] += 1;
                }
            }
        });
        collect(&f.body, 0, &mut |_, stmt| {
            let used: &[Value] = match stmt {
                Stmt::Return(args) => args,
                _ => &[],
            };
            for value in used {
                uses.all[value.index()] += 1;
            }
        });
        uses
    }

    /// Whether a product vanishes when every sum takes it in. `x*y + x*y` can take in only one.
    fn vanishes(&self, value: Value) -> bool {
        self.all[value.index()] == self.fusing[value.index()]
    }
}

fn is_sum(f: &Function, id: InstId) -> bool {
    let inst = &f.insts[id];
    matches!(inst.op, Op::Alu(Alu::FAdd | Alu::FSub))
        && f.kind(inst.args[0]) == Kind::F32
        && inst.args[0] != inst.args[1]
}

/// The factors of a product that may be fused.
fn product(f: &Function, frozen: &[bool], uses: &Uses, value: Value) -> Option<(Value, Value)> {
    if frozen.get(value.index()).copied().unwrap_or(true) || !uses.vanishes(value) {
        return None;
    }
    let inst = f.def_inst(value)?;
    (inst.op == Op::Alu(Alu::FMul)).then(|| (inst.args[0], inst.args[1]))
}

fn fuse(f: &mut Function, body: &mut Body, frozen: &[bool], uses: &Uses) {
    let old = std::mem::take(body);
    let mut out = Vec::with_capacity(old.len());
    for mut stmt in old {
        if let Stmt::Inst(id) = stmt
            && is_sum(f, id)
            && !frozen[f.insts[id].result().index()]
        {
            fuse_one(f, id, frozen, uses, &mut out);
        }
        for inner in super::edit::nested_mut(&mut stmt) {
            fuse(f, inner, frozen, uses);
        }
        out.push(stmt);
    }
    *body = out;
}

fn fuse_one(f: &mut Function, id: InstId, frozen: &[bool], uses: &Uses, out: &mut Body) {
    let inst = &f.insts[id];
    let (a, b, span) = (inst.args[0], inst.args[1], inst.span);
    let subtracts = inst.op == Op::Alu(Alu::FSub);
    // Of two products the right one: then a*b + c*d + e*f is a chain from the left.
    let (x, y, flip, addend, flip_addend) = if let Some((x, y)) = product(f, frozen, uses, b) {
        (x, y, subtracts, a, false)
    } else if let Some((x, y)) = product(f, frozen, uses, a) {
        (x, y, false, b, subtracts)
    } else {
        return;
    };
    let mut negate = |value: Value, flip: bool| {
        if !flip {
            return value;
        }
        let neg = new_inst(f, Op::Alu(Alu::FNeg), &[value], &[Kind::F32], span);
        out.push(Stmt::Inst(neg));
        f.insts[neg].result()
    };
    let x = negate(x, flip);
    let addend = negate(addend, flip_addend);
    let inst = &mut f.insts[id];
    inst.op = Op::Alu(Alu::FFma);
    inst.args = smallvec![x, y, addend];
}
