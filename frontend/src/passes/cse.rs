//! Common subexpressions: scoped value numbering over instructions that depend on their operands alone.
//!
//! An earlier instruction that is visible dominates, and ran with at least the lanes that are active now; since every
//! instruction computes all lanes from values, merging changes nothing that anyone can see. That holds for quad_reads
//! too: their operands are *values*, the same before and after; what differs at different points is the locals, which
//! only `LocalGet` reads, and that is never merged here (law L2). The earlier span stays (law I4).

use super::edit::{Replacements, effect, nested_mut};
use crate::ir::{Alu, Arena, Args, Body, Effect, Function, InstId, Op, Resource, Stmt};
use rustc_hash::FxHasher;
use std::hash::{Hash, Hasher};

/// Merges equal instructions.
pub(super) fn run(f: &mut Function, resources: &Arena<Resource>) {
    let mut body = std::mem::take(&mut f.body);
    let buckets = f.insts.len().next_power_of_two().max(16);
    let mut pass = Pass {
        f,
        resources,
        replace: Replacements::default(),
        heads: vec![NONE; buckets],
        entries: Vec::new(),
    };
    pass.body(&mut body);
    f.body = body;
}

const NONE: u32 = u32::MAX;

struct Entry {
    inst: InstId,
    hash: u64,
    bucket: u32,
    next: u32,
}

struct Pass<'a> {
    f: &'a mut Function,
    resources: &'a Arena<Resource>,
    replace: Replacements,
    /// A chained hash table whose entries leave in the order opposite to their coming: scopes are a truncation.
    heads: Vec<u32>,
    entries: Vec<Entry>,
}

/// Whether swapping the two operands gives the same bits (NaNs aside, whose bits no one sees; law N3).
pub(super) fn commutes(alu: Alu) -> bool {
    use Alu::{And, FAdd, FEq, FMul, FNe, IAdd, IEq, IMul, INe, Or, SMax, SMin, SMulHi, UMax, UMin, UMulHi, Xor};
    matches!(
        alu,
        FAdd | FMul
            | FEq
            | FNe
            | IAdd
            | IMul
            | UMulHi
            | SMulHi
            | And
            | Or
            | Xor
            | IEq
            | INe
            | SMin
            | SMax
            | UMin
            | UMax
    )
}

/// The operation without what may differ between equal instructions: the components that are used.
fn key(op: &Op) -> Op {
    let mut op = *op;
    match &mut op {
        Op::Sample { op, .. } => op.mask = 0,
        Op::TexelLoad { op, .. } => op.mask = 0,
        _ => {}
    }
    op
}

impl Pass<'_> {
    fn body(&mut self, body: &mut Body) {
        body.retain_mut(|stmt| {
            self.replace.apply_to_head(self.f, stmt);
            match stmt {
                Stmt::Inst(id) => !self.merged(*id),
                Stmt::Loop {
                    body,
                    continuing,
                    break_if,
                    ..
                } => {
                    self.scope(body);
                    let mark = self.entries.len();
                    self.body(continuing);
                    if let Some(cond) = break_if {
                        *cond = self.replace.get(*cond);
                    }
                    self.forget(mark);
                    true
                }
                other => {
                    nested_mut(other).into_iter().for_each(|b| self.scope(b));
                    true
                }
            }
        });
    }

    fn scope(&mut self, body: &mut Body) {
        let mark = self.entries.len();
        self.body(body);
        self.forget(mark);
    }

    fn forget(&mut self, mark: usize) {
        while self.entries.len() > mark {
            if let Some(entry) = self.entries.pop() {
                self.heads[entry.bucket as usize] = entry.next;
            }
        }
    }

    /// Replaces the instruction's results by those of an equal one, if there is one.
    fn merged(&mut self, id: InstId) -> bool {
        let inst = &mut self.f.insts[id];
        if inst.result_count == 0 || !matches!(effect(&inst.op, self.resources), Effect::Pure | Effect::QuadRead) {
            return false;
        }
        if let Op::Alu(alu) = inst.op
            && commutes(alu)
            && inst.args[0] > inst.args[1]
            && !self.replace_blocks_swap(id)
        {
            self.f.insts[id].args.swap(0, 1);
        }
        let inst = &self.f.insts[id];
        let op = key(&inst.op);
        let hash = hash(&op, &inst.args);
        let bucket = (hash as usize) & (self.heads.len() - 1);
        let mut at = self.heads[bucket];
        while let Some(entry) = self.entries.get(at as usize) {
            let other = &self.f.insts[entry.inst];
            if entry.hash == hash && key(&other.op) == op && other.args == inst.args {
                let (first, new) = (entry.inst, inst.op);
                for (old, by) in inst.results().zip(other.results()) {
                    self.replace.set(old, by);
                }
                self.widen(first, &new);
                return true;
            }
            at = entry.next;
        }
        self.entries.push(Entry {
            inst: id,
            hash,
            bucket: bucket as u32,
            next: self.heads[bucket],
        });
        self.heads[bucket] = self.entries.len() as u32 - 1;
        false
    }

    /// Constants stay on the right, where the folder put them.
    fn replace_blocks_swap(&self, id: InstId) -> bool {
        self.f.constant(self.f.insts[id].args[1]).is_some()
    }

    /// Adds the components that the merged instruction used.
    fn widen(&mut self, first: InstId, merged: &Op) {
        match (&mut self.f.insts[first].op, merged) {
            (Op::Sample { op, .. }, Op::Sample { op: other, .. }) => op.mask |= other.mask,
            (Op::TexelLoad { op, .. }, Op::TexelLoad { op: other, .. }) => op.mask |= other.mask,
            _ => {}
        }
    }
}

fn hash(op: &Op, args: &Args) -> u64 {
    let mut hasher = FxHasher::default();
    op.hash(&mut hasher);
    for arg in args {
        arg.index().hash(&mut hasher);
    }
    // Fx leaves its entropy in the high bits.
    let h = hasher.finish();
    h ^ h >> 32
}
