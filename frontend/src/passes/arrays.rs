//! Per-lane arrays that don't need to be arrays: contents nobody changes, elements nobody picks at run time.
//!
//! An array that is never written holds its initial contents, so a constant index gives a constant. One that is only
//! indexed by constants falls apart into locals, which the next passes turn into values (laws L5, L7). Indices are
//! clamped, as execution would (R-WGSL-71).

use super::edit::{for_each_inst, nested_mut, new_inst};
use crate::ir::{Arena, Body, Function, Handle, Inst, Literal, Local, LocalArray, Op, Stmt};
use smallvec::smallvec;

/// Longer arrays stay arrays.
const MAX_SPLIT: u32 = 64;

/// What becomes of an array.
enum Fate {
    Stays,
    /// Never written.
    Constant,
    /// Never read.
    Dead,
    /// One local for each element.
    Split(Vec<Handle<Local>>),
}

/// Takes arrays apart.
pub(super) fn run(f: &mut Function) {
    if f.arrays.is_empty() {
        return;
    }
    let n = f.arrays.len();
    let (mut read, mut written, mut dynamic) = (vec![false; n], vec![false; n], vec![false; n]);
    for_each_inst(&f.body, &mut |id| {
        let inst = &f.insts[id];
        match inst.op {
            Op::ArrayGet(a) => read[a.index()] = true,
            Op::ArraySet(a) => written[a.index()] = true,
            _ => return,
        }
        if let Op::ArrayGet(a) | Op::ArraySet(a) = inst.op {
            dynamic[a.index()] |= f.constant(inst.args[0]).is_none();
        }
    });
    let arrays: Vec<_> = f.arrays.handles().collect();
    let mut fates = Vec::with_capacity(n);
    for array in arrays {
        let i = array.index();
        fates.push(if !read[i] {
            Fate::Dead
        } else if !written[i] {
            Fate::Constant
        } else if !dynamic[i] && f.arrays[array].len <= MAX_SPLIT {
            Fate::Split(split(&mut f.locals, &f.arrays[array]))
        } else {
            Fate::Stays
        });
    }
    let mut body = std::mem::take(&mut f.body);
    rewrite(f, &fates, &mut body);
    f.body = body;
}

/// The initial contents of an element.
fn initial(array: &LocalArray, element: usize) -> Literal {
    Literal {
        kind: array.kind,
        bits: array.init.get(element).copied().map_or(0, u64::from),
    }
}

fn split(locals: &mut Arena<Local>, array: &LocalArray) -> Vec<Handle<Local>> {
    (0..array.len as usize)
        .map(|i| {
            locals.push(Local {
                name: format!("{}[{i}]", array.name),
                kind: array.kind,
                init: initial(array, i),
            })
        })
        .collect()
}

fn rewrite(f: &mut Function, fates: &[Fate], body: &mut Body) {
    let old = std::mem::take(body);
    let mut out = Vec::with_capacity(old.len());
    for mut stmt in old {
        let Stmt::Inst(id) = stmt else {
            for inner in nested_mut(&mut stmt) {
                rewrite(f, fates, inner);
            }
            out.push(stmt);
            continue;
        };
        let Inst { op, args, span, .. } = &f.insts[id];
        let (Op::ArrayGet(array) | Op::ArraySet(array) | Op::ArrayReset(array)) = *op else {
            out.push(stmt);
            continue;
        };
        let (op, span) = (*op, *span);
        let index = args.first().and_then(|&a| f.constant(a));
        let element = index.map(|l| (l.bits as usize).min(f.arrays[array].len as usize - 1));
        match (&fates[array.index()], op, element) {
            (Fate::Dead, _, _) | (Fate::Constant, Op::ArrayReset(_), _) => {}
            (Fate::Constant, Op::ArrayGet(_), Some(element)) => {
                let literal = initial(&f.arrays[array], element);
                f.insts[id].op = Op::Const(literal);
                f.insts[id].args.clear();
                out.push(stmt);
            }
            (Fate::Split(locals), Op::ArrayGet(_), Some(element)) => {
                f.insts[id].op = Op::LocalGet(locals[element]);
                f.insts[id].args.clear();
                out.push(stmt);
            }
            (Fate::Split(locals), Op::ArraySet(_), Some(element)) => {
                let (local, merge) = (locals[element], true);
                let value = f.insts[id].args[1];
                f.insts[id].op = Op::LocalSet { local, merge };
                f.insts[id].args = smallvec![value];
                out.push(stmt);
            }
            (Fate::Split(locals), Op::ArrayReset(_), _) => {
                for (i, &local) in locals.iter().enumerate() {
                    let literal = initial(&f.arrays[array], i);
                    let constant = new_inst(f, Op::Const(literal), &[], &[literal.kind], span);
                    let value = f.insts[constant].result();
                    let set = new_inst(f, Op::LocalSet { local, merge: true }, &[value], &[], span);
                    out.extend([Stmt::Inst(constant), Stmt::Inst(set)]);
                }
            }
            _ => out.push(stmt),
        }
    }
    *body = out;
}
