//! Moves derivatives in front of the construct in which flow varies, with the reads that feed them.

use super::super::edit::{nested_mut, new_inst};
use super::Movable;
use super::order::Order;
use crate::ir::{Args, Body, Function, InstId, Op, Stmt, Value};
use rustc_hash::{FxHashMap, FxHashSet};

/// Moves what may be moved: (derivative, number of the statement in front of which it may stand).
pub(super) fn run(f: &mut Function, movable: &[Movable]) {
    let order = Order::new(f);
    let mut before: FxHashMap<u32, Body> = FxHashMap::default();
    let mut moved = FxHashSet::default();
    for &(id, start) in movable {
        if !matches!(f.insts[id].op, Op::Quad(_)) || !moved.insert(id) {
            continue;
        }
        let mut body = Body::new();
        let args = f.insts[id].args.clone();
        f.insts[id].args = args.iter().map(|&a| bring(f, &order, &mut body, a, start)).collect();
        body.push(Stmt::Inst(id));
        before.entry(start).or_default().append(&mut body);
    }
    if !moved.is_empty() {
        let mut body = std::mem::take(&mut f.body);
        place(&mut body, &mut before, &moved, &mut 0);
        f.body = body;
    }
}

/// The value as of statement `start`: itself, or what reads the same there.
fn bring(f: &mut Function, order: &Order, body: &mut Body, value: Value, start: u32) -> Value {
    if order.is_before(value, start) {
        return value;
    }
    let Some(inst) = f.def_inst(value).cloned() else {
        return value;
    };
    let args: Args = inst.args.iter().map(|&a| bring(f, order, body, a, start)).collect();
    let kinds: Vec<_> = inst.results().map(|r| f.kind(r)).collect();
    let place = inst.results().position(|r| r == value).unwrap_or(0);
    let copy = new_inst(f, inst.op, &args, &kinds, inst.span);
    body.push(Stmt::Inst(copy));
    f.insts[copy].results().nth(place).unwrap_or(value)
}

fn place(body: &mut Body, before: &mut FxHashMap<u32, Body>, moved: &FxHashSet<InstId>, next: &mut u32) {
    let old = std::mem::take(body);
    for mut stmt in old {
        *next += 1;
        if let Some(mut moved) = before.remove(next) {
            body.append(&mut moved);
        }
        if let Stmt::Inst(id) = &stmt {
            if !moved.contains(id) {
                body.push(stmt);
            }
            continue;
        }
        for inner in nested_mut(&mut stmt) {
            place(inner, before, moved, next);
        }
        body.push(stmt);
    }
}
