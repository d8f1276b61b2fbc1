//! Control flow made simple: constant branches, exits that lead where control goes anyway, blocks nobody leaves early.
//!
//! `if c { ...; break L } rest` becomes `if c { ... } else { rest }` where the end of `rest` is the end of `L`: an
//! early return of an inlined function then is an ordinary two-sided branch, its block vanishes, and the later passes
//! see straight code. A switch of few cases without fall-through becomes branches. Every lane executes exactly the
//! statements it did before, in the same order (laws I1, L1); and the sides of a branch keep their order, too, where
//! anyone could see it: the first side's lanes come before the second's, so a quad_read in the second sees what the
//! first wrote (law L2), and so does a load.

use super::edit::{any_stmt, breaks_to, continues_to, never_completes, push_const, push1, stmt_never_completes};
use crate::ir::{Alu, Body, Case, Effect, Function, Kind, Label, Literal, Op, SpanId, Stmt, Value};

/// Rests of bodies are moved into branches down to this depth only.
const MAX_DEPTH: usize = 64;
/// Switches with more cases stay switches.
const MAX_CASES: usize = 8;
/// A body of more statements is taken to look at everything: looking again and again must stay cheap.
const MAX_LOOK: usize = 2048;

/// An exit that leads to where the end of a body leads, too.
#[derive(Clone, Copy, PartialEq)]
enum Tail {
    Break(Label),
    Continue(Label),
    Return,
}

/// Simplifies a function's control flow.
pub(super) fn run(f: &mut Function) {
    let body = std::mem::take(&mut f.body);
    let tails = if f.results.is_empty() {
        vec![Tail::Return]
    } else {
        Vec::new()
    };
    f.body = simplify(f, body, &tails, 0);
}

fn as_tail(stmt: &Stmt) -> Option<Tail> {
    match stmt {
        Stmt::Break(label) => Some(Tail::Break(*label)),
        Stmt::Continue(label) => Some(Tail::Continue(*label)),
        Stmt::Return(args) if args.is_empty() => Some(Tail::Return),
        _ => None,
    }
}

/// Whether a body ends in an exit that is in `tails`.
fn ends_in(body: &Body, tails: &[Tail]) -> bool {
    body.last().and_then(as_tail).is_some_and(|t| tails.contains(&t))
}

/// Whether nobody can tell which of two bodies, run by different lanes, comes first: neither looks at other lanes, and
/// neither touches memory that the other writes.
fn swappable(f: &Function, a: &[Stmt], b: &[Stmt]) -> bool {
    if a.is_empty() || b.is_empty() {
        return true;
    }
    let (a, b) = (Touches::find(f, a), Touches::find(f, b));
    !(a.quads || b.quads || a.writes && b.memory || a.memory && b.writes)
}

/// What a body does that lanes elsewhere may see, or sees of them.
#[derive(Clone, Copy, Default)]
struct Touches {
    quads: bool,
    /// Reads or writes memory.
    memory: bool,
    writes: bool,
}

impl Touches {
    fn find(f: &Function, body: &[Stmt]) -> Touches {
        let mut found = Touches::default();
        let mut looked = 0;
        let enough = any_stmt(body, &mut |stmt| {
            looked += 1;
            let Stmt::Inst(id) = stmt else { return looked > MAX_LOOK };
            match &f.insts[*id].op {
                Op::LocalGet(_) | Op::LocalSet { .. } => {}
                Op::ArrayGet(_) | Op::ArraySet(_) | Op::ArrayReset(_) => {}
                op => match op.effect(|_| false) {
                    Effect::Pure => {}
                    Effect::QuadRead => found.quads = true,
                    Effect::Reads => found.memory = true,
                    Effect::Writes => (found.memory, found.writes) = (true, true),
                },
            }
            found.quads || looked > MAX_LOOK
        });
        found.quads |= enough;
        found
    }
}

fn simplify(f: &mut Function, body: Body, tails: &[Tail], depth: usize) -> Body {
    let mut out = Vec::with_capacity(body.len());
    let mut rest = body.into_iter();
    while let Some(stmt) = rest.next() {
        match stmt {
            Stmt::Inst(_) => out.push(stmt),
            Stmt::Break(_) | Stmt::Continue(_) | Stmt::Return(_) => {
                if !as_tail(&stmt).is_some_and(|t| tails.contains(&t)) {
                    out.push(stmt);
                }
                return out;
            }
            Stmt::If {
                mut cond,
                mut then,
                mut otherwise,
                span,
            } => {
                if let Some(literal) = f.constant(cond) {
                    let mut chosen = if literal.bits != 0 { then } else { otherwise };
                    chosen.extend(rest);
                    rest = chosen.into_iter();
                    continue;
                }
                if rest.len() > 0 && depth < MAX_DEPTH {
                    if ends_in(&then, tails) {
                        otherwise.extend(rest);
                        rest = Vec::new().into_iter();
                    } else if ends_in(&otherwise, tails) {
                        // The lanes of `otherwise` came before those of the rest.
                        if swappable(f, &otherwise, rest.as_slice()) {
                            then.extend(rest);
                            rest = Vec::new().into_iter();
                        } else if swappable(f, &then, &otherwise) {
                            cond = push1(f, &mut out, Op::Alu(Alu::Not), &[cond], Kind::Bool, span);
                            then.extend(rest);
                            rest = Vec::new().into_iter();
                            std::mem::swap(&mut then, &mut otherwise);
                        }
                    }
                }
                let tails = if rest.len() == 0 { tails } else { &[] };
                let then = simplify(f, then, tails, depth + 1);
                let otherwise = simplify(f, otherwise, tails, depth + 1);
                if then.is_empty() && otherwise.is_empty() {
                    continue;
                }
                out.push(Stmt::If {
                    cond,
                    then,
                    otherwise,
                    span,
                });
            }
            Stmt::Block { label, body } => {
                let mut inner = vec![Tail::Break(label)];
                if rest.len() == 0 {
                    inner.extend_from_slice(tails);
                }
                let body = simplify(f, body, &inner, depth + 1);
                if breaks_to(&body, label) {
                    out.push(Stmt::Block { label, body });
                } else {
                    out.extend(body);
                }
            }
            Stmt::Loop {
                label,
                body,
                continuing,
                break_if,
                bound,
                span,
            } => {
                let body = simplify(f, body, &[Tail::Continue(label)], depth + 1);
                if never_completes(&body) && !continues_to(&body, label) {
                    // Nobody comes round again: a block. Once more from here, for its breaks.
                    let mut again = vec![Stmt::Block { label, body }];
                    again.extend(rest);
                    rest = again.into_iter();
                    continue;
                }
                let continuing = simplify(f, continuing, &[], depth + 1);
                out.push(Stmt::Loop {
                    label,
                    body,
                    continuing,
                    break_if,
                    bound,
                    span,
                });
            }
            Stmt::Switch {
                label,
                selector,
                cases,
                span,
            } => match lower_switch(f, selector, cases, span, depth) {
                Ok(body) => {
                    let mut again = vec![Stmt::Block { label, body }];
                    again.extend(rest);
                    rest = again.into_iter();
                    continue;
                }
                Err(mut cases) => {
                    let end = [Tail::Break(label)];
                    for case in &mut cases {
                        let tails: &[Tail] = if case.falls_through { &[] } else { &end };
                        case.body = simplify(f, std::mem::take(&mut case.body), tails, depth + 1);
                    }
                    if cases.iter().any(|c| !c.body.is_empty()) {
                        out.push(Stmt::Switch {
                            label,
                            selector,
                            cases,
                            span,
                        });
                    }
                }
            },
        }
        if out.last().is_some_and(stmt_never_completes) {
            return out;
        }
    }
    out
}

/// The body of a block that does what the switch does, with its label for the cases' breaks; or the cases back.
fn lower_switch(
    f: &mut Function,
    selector: Value,
    mut cases: Vec<Case>,
    span: Option<SpanId>,
    depth: usize,
) -> Result<Body, Vec<Case>> {
    if let Some(literal) = f.constant(selector) {
        let bits = literal.bits as u32;
        let matching = cases.iter().position(|c| c.values.contains(&bits));
        let Some(first) = matching.or_else(|| cases.iter().position(|c| c.default)) else {
            return Ok(Vec::new());
        };
        let mut body = Vec::new();
        for case in cases.drain(first..) {
            body.extend(case.body);
            if !case.falls_through {
                break;
            }
        }
        return Ok(body);
    }
    // A case without statements that falls through only adds its values to the next.
    let mut at = 0;
    while at + 1 < cases.len() {
        if cases[at].falls_through && cases[at].body.is_empty() {
            let case = cases.remove(at);
            cases[at].values.splice(0..0, case.values);
            cases[at].default |= case.default;
        } else {
            at += 1;
        }
    }
    let falls = cases
        .split_last()
        .is_some_and(|(_, c)| c.iter().any(|c| c.falls_through));
    if falls || cases.len() > MAX_CASES || depth + cases.len() > MAX_DEPTH {
        return Err(cases);
    }
    // A case that can't match goes; the default comes last, for it takes what no other case matches.
    cases.retain(|c| c.default || !c.values.is_empty());
    if let Some(default) = cases.iter().position(|c| c.default)
        && !cases[default + 1..]
            .iter()
            .all(|later| swappable(f, &cases[default].body, &later.body))
    {
        return Err(cases);
    }
    cases.sort_by_key(|c| c.default);
    let kind = f.kind(selector);
    let mut body = Vec::new();
    for case in cases.into_iter().rev() {
        if case.default {
            body = case.body;
            continue;
        }
        let mut outer = Vec::new();
        let mut cond = None;
        for value in case.values {
            let bits = u64::from(value);
            let value = push_const(f, &mut outer, Literal { kind, bits }, span);
            let equal = push1(f, &mut outer, Op::Alu(Alu::IEq), &[selector, value], Kind::Bool, span);
            cond = Some(match cond {
                None => equal,
                Some(before) => push1(f, &mut outer, Op::Alu(Alu::Or), &[before, equal], Kind::Bool, span),
            });
        }
        if let Some(cond) = cond {
            outer.push(Stmt::If {
                cond,
                then: case.body,
                otherwise: body,
                span,
            });
        }
        body = outer;
    }
    Ok(body)
}
