//! Brings independent samples of one texture together, so that native code makes them one call (law S1).
//!
//! Within a run of instructions that write nothing, later samples like the first one move up to it, and what computes their
//! operands moves up with them. All of it is pure, reads what no one writes meanwhile, or reads operands of other lanes that
//! are values (law L2), under one mask: nothing changes that anyone can see. Samples that depend on one another stay
//! apart. Only comparisons are grouped: the taps of a shadow filter are many, and their texels overlap.

use super::edit::{effect, nested_mut};
use crate::ir::{Arena, Body, Def, Effect, Function, InstId, Op, Resource, SampleBatch, Stmt};
use rustc_hash::FxHashMap;

/// Most instructions that move up for one sample.
const MAX_CONE: usize = 48;

/// Groups.
pub(super) fn run(f: &mut Function, resources: &Arena<Resource>) {
    let mut body = std::mem::take(&mut f.body);
    walk(f, resources, &mut body);
    f.body = body;
}

fn walk(f: &Function, resources: &Arena<Resource>, body: &mut Body) {
    for stmt in body.iter_mut() {
        for inner in nested_mut(stmt) {
            walk(f, resources, inner);
        }
    }
    if body.iter().filter(|s| groupable(f, s).is_some()).nth(1).is_none() {
        return;
    }
    let still = |stmt: &Stmt| match stmt {
        Stmt::Inst(id) => effect(&f.insts[*id].op, resources) != Effect::Writes,
        _ => false,
    };
    let mut start = 0;
    while start < body.len() {
        let end = start + body[start..].iter().take_while(|s| still(s)).count();
        if end > start + 1 {
            group(f, &mut body[start..end]);
        }
        start = end + 1;
    }
}

/// The operation, if it may be part of a batch.
fn groupable(f: &Function, stmt: &Stmt) -> Option<Op> {
    let Stmt::Inst(id) = stmt else { return None };
    match f.insts[*id].op {
        op @ Op::Sample {
            texture,
            sampler,
            op: sample,
        } if sample.compare && sample.gather.is_none() && !texture.indexed && !sampler.indexed => Some(op),
        _ => None,
    }
}

/// Groups within a run of movable instructions.
fn group(f: &Function, run: &mut [Stmt]) {
    let mut first = 0;
    while first < run.len() {
        let Some(op) = groupable(f, &run[first]) else {
            first += 1;
            continue;
        };
        let mut place = FxHashMap::default();
        for (at, stmt) in run.iter().enumerate().skip(first) {
            if let Stmt::Inst(id) = stmt {
                place.insert(*id, at);
            }
        }
        let mut members = vec![first];
        // What moves up.
        let mut moves = vec![false; run.len()];
        for at in first + 1..run.len() {
            if members.len() < SampleBatch::MAX
                && groupable(f, &run[at]) == Some(op)
                && let Some(cone) = cone(f, run, &place, at, &moves)
            {
                cone.into_iter().for_each(|i| moves[i] = true);
                members.push(at);
            }
        }
        if members.len() > 1 {
            let member = |at: usize| members.binary_search(&at).is_ok();
            let rest = first..run.len();
            let order = rest.clone().filter(|&i| moves[i]);
            let order = order.chain(members.iter().copied());
            let order = order.chain(rest.filter(|&i| !moves[i] && !member(i)));
            let sorted: Vec<Stmt> = order.map(|i| run[i].clone()).collect();
            run[first..].clone_from_slice(&sorted);
        }
        let moved = moves.iter().filter(|m| **m).count();
        first += moved + members.len();
    }
}

/// What has to move up for the sample at `at`, as places in the run; `None` if it depends on a sample or load, or on too much.
fn cone(f: &Function, run: &[Stmt], place: &FxHashMap<InstId, usize>, at: usize, moves: &[bool]) -> Option<Vec<usize>> {
    let mut cone = Vec::new();
    let mut open = vec![at];
    while let Some(at) = open.pop() {
        let Stmt::Inst(id) = run[at] else { return None };
        for &arg in &f.insts[id].args {
            let Def::Inst(id, _) = f.values[arg].def else { continue };
            // Values of before the first sample are there already.
            let Some(&at) = place.get(&id) else { continue };
            if moves[at] || cone.contains(&at) {
                continue;
            }
            if matches!(f.insts[id].op, Op::Sample { .. } | Op::TexelLoad { .. }) || cone.len() == MAX_CONE {
                return None;
            }
            cone.push(at);
            open.push(at);
        }
    }
    Some(cone)
}
