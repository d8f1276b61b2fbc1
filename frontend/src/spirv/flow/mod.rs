//! Control flow: SPIR-V's structured graph of blocks to the IR's nested statements.
//!
//! A [`sequence`](Lower::sequence) lowers blocks one after another into the open body, until control leaves it: by
//! falling off its end (`fall`, the block that follows there), or by an exit to a construct around it. Each construct
//! pushes the blocks that stand for its exits; a branch to one becomes a `Break` or `Continue` with its label, over as
//! many levels as lie between. Phis are locals that predecessors write.
//!
//! A kill turns lanes into helpers. Outside loops they go on to the construct's end, so that their neighbours'
//! derivatives see values that were computed (as after WGSL's `discard`); within loops they leave the shader, because
//! nothing promises that a loop ends for them.

mod loops;
mod switch;

use super::lower::{Lower, Lowered};
use super::report::{Failure, Result};
use crate::ir::{Alu, Handle, Kind, Label, Literal, Local, Op, SpanId, Value};
use crate::memory::place::Flat;
use rspirv::spirv::Op as S;
use rustc_hash::FxHashSet;

/// Deepest nesting of constructs, inlined ones too.
const MAX_NESTING: usize = 120;
/// Blocks that are looked through to see whether a continue construct is simple.
const MAX_CONTINUE: usize = 64;
/// Most cases of a switch.
const MAX_CASES: usize = 1024;

/// What a branch to a block means.
#[derive(Clone, Copy)]
enum Action {
    Break(Label),
    Continue(Label),
}

struct Exit {
    block: u32,
    action: Action,
    used: bool,
}

/// The constructs that are open.
#[derive(Default)]
pub(super) struct Exits {
    exits: Vec<Exit>,
    nesting: usize,
    loops: usize,
}

/// A function being inlined.
pub(super) struct Frame {
    pub call_site: Option<SpanId>,
    /// Exits below belong to callers.
    base: usize,
    nesting: usize,
    /// What a return breaks out of, and whether one does.
    exit: Label,
    early: bool,
    results: Vec<Handle<Local>>,
    /// What a return at the end gave.
    value: Flat,
    /// Blocks lowered, and blocks that something branches to.
    visited: FxHashSet<u32>,
    reached: FxHashSet<u32>,
    /// The back edge of a continue construct that becomes `break_if`: header, merge, nesting.
    back_edge: Option<(u32, u32, usize)>,
    break_if: Option<Value>,
}

/// What ends a block.
struct End<'m> {
    op: S,
    operands: &'m [u32],
    block: u32,
    merge: Option<(S, u32, u32)>,
}

impl<'m> Lower<'m> {
    /// Lowers a function into the open body; gives its result.
    pub fn function(&mut self, id: u32, arguments: Vec<Lowered>) -> Result<Flat> {
        let m = self.m;
        let Some(function) = m.function_by_id.get(&id).and_then(|&f| m.functions.get(f)) else {
            return self.invalid(format!("%{id} is no function"));
        };
        if arguments.len() != function.params.len() {
            return self.invalid(format!("%{id} takes {} arguments", function.params.len()));
        }
        let call_site = match self.frames.is_empty() {
            true => None,
            false => self.b.span(),
        };
        let results = match self.ty(function.result)? {
            super::types::Ty::Void => Vec::new(),
            _ => {
                let scalars = self.scalars(function.result)?;
                scalars.into_iter().map(|s| self.b.local("", s.kind)).collect()
            }
        };
        let exit = self.b.begin_block();
        self.frames.push(Frame {
            call_site,
            base: self.exits.exits.len(),
            nesting: self.exits.nesting,
            exit,
            early: false,
            results,
            value: Flat::new(),
            visited: FxHashSet::default(),
            reached: FxHashSet::default(),
            back_edge: None,
            break_if: None,
        });
        for (&param, argument) in function.params.iter().zip(arguments) {
            self.define(param, argument);
        }
        self.sequence(function.entry, None)?;
        let Some(frame) = self.frames.pop() else {
            return self.internal("no frame");
        };
        if !frame.early {
            self.b.dissolve_block();
            let lost = frame.value.len() != frame.results.len();
            let zeros = |s: &mut Self, l: &Handle<Local>| s.b.constant(Literal::zero(s.b.func.locals[*l].kind));
            return Ok(match lost {
                true => frame.results.iter().map(|l| zeros(self, l)).collect(),
                false => frame.value,
            });
        }
        self.b.end_block();
        Ok(frame.results.iter().map(|&local| self.b.get(local)).collect())
    }

    fn frame(&mut self) -> Result<&mut Frame> {
        match self.frames.last_mut() {
            Some(frame) => Ok(frame),
            None => Err(Failure::new(
                crate::diagnostic::ShaderErrorKind::Internal,
                "bug in the SPIR-V front end: no frame",
                None,
            )),
        }
    }

    /// Lowers blocks into the open body, from `block` on. `fall`: where control goes at the body's end.
    fn sequence(&mut self, block: u32, fall: Option<u32>) -> Result<()> {
        self.exits.nesting += 1;
        if self.exits.nesting > MAX_NESTING {
            let message = format!("constructs are nested more than {MAX_NESTING} deep after inlining");
            return Err(Failure::limit(message, self.at));
        }
        let mut next = Some(block);
        while let Some(block) = next {
            if !self.frame()?.visited.insert(block) {
                return self.invalid(format!(
                    "control flow isn't structured: block %{block} is reached by two ways"
                ));
            }
            let end = self.look(block)?;
            next = match end.merge {
                Some((S::LoopMerge, merge, continues)) => self.loop_(&end, merge, continues, fall)?,
                _ => {
                    self.instructions(block)?;
                    self.terminator(&end, fall)?
                }
            };
        }
        self.exits.nesting -= 1;
        Ok(())
    }

    /// What ends a block.
    fn look(&self, block: u32) -> Result<End<'m>> {
        let m = self.m;
        let Some(insts) = m.blocks.get(&block).map(|b| &m.words.insts[b.insts.clone()]) else {
            return self.invalid(format!("%{block} is no block"));
        };
        let Some(last) = insts.last() else {
            return self.invalid(format!("block %{block} is empty"));
        };
        let merge = insts
            .iter()
            .rev()
            .nth(1)
            .and_then(|inst| match (inst.op, m.words.operands(inst)) {
                (S::SelectionMerge, &[merge, ..]) => Some((S::SelectionMerge, merge, 0)),
                (S::LoopMerge, &[merge, continues, ..]) => Some((S::LoopMerge, merge, continues)),
                _ => None,
            });
        Ok(End {
            op: last.op,
            operands: m.words.operands(last),
            block,
            merge,
        })
    }

    fn instructions(&mut self, block: u32) -> Result<()> {
        let m = self.m;
        let range = m.blocks.get(&block).map(|b| b.insts.clone()).unwrap_or_default();
        let phis: Vec<u32> = m.words.insts[range.clone()]
            .iter()
            .take_while(|i| matches!(i.op, S::Phi | S::Line | S::NoLine | S::ExtInst))
            .filter(|i| i.op == S::Phi)
            .map(|i| i.id)
            .collect();
        for id in phis {
            let locals = self.phi(id)?;
            let values: Vec<Value> = locals.into_iter().map(|local| self.b.get(local)).collect();
            self.define_value(id, values);
        }
        let end = range.end;
        for index in range {
            self.set_at(index)?;
            let inst = m.words.insts[index];
            if index + 1 < end && !matches!(inst.op, S::Phi | S::LoopMerge | S::SelectionMerge) {
                self.instruction(&inst)?;
            }
        }
        Ok(())
    }

    /// Writes the phis of `to` for the way from `from`.
    fn write_phis(&mut self, from: u32, to: u32) -> Result<()> {
        let m = self.m;
        let Some(range) = m.blocks.get(&to).map(|b| b.insts.clone()) else {
            return self.invalid(format!("%{to} is no block"));
        };
        let mut writes = Vec::new();
        for inst in &m.words.insts[range] {
            match inst.op {
                S::Phi => {}
                S::Line | S::NoLine | S::ExtInst => continue,
                _ => break,
            }
            let pairs = m.words.operands(inst).chunks_exact(2);
            let Some(value) = pairs.filter(|p| p[1] == from).map(|p| p[0]).next() else {
                return self.invalid(format!("OpPhi %{} says nothing of block %{from}", inst.id));
            };
            let locals = self.phi(inst.id)?;
            let values = self.value(value)?;
            if locals.len() != values.len() {
                return self.invalid(format!("OpPhi %{} of another type than its values", inst.id));
            }
            writes.extend(locals.into_iter().zip(values));
        }
        for (local, value) in writes {
            if self.b.kind(value) != self.b.func.locals[local].kind {
                return self.invalid("OpPhi of another type than its values");
            }
            self.b.set(local, value);
        }
        Ok(())
    }

    fn exit_to(&self, to: u32) -> Option<usize> {
        let base = self.frames.last().map_or(0, |f| f.base);
        (base..self.exits.exits.len())
            .rev()
            .find(|&i| self.exits.exits[i].block == to)
    }

    /// Goes on to a block whose phis are written: the block to lower next, unless control leaves the body.
    fn arrive(&mut self, to: u32, fall: Option<u32>) -> Result<Option<u32>> {
        self.frame()?.reached.insert(to);
        if fall == Some(to) {
            return Ok(None);
        }
        let Some(exit) = self.exit_to(to) else {
            return Ok(Some(to));
        };
        self.exits.exits[exit].used = true;
        match self.exits.exits[exit].action {
            Action::Break(label) => self.b.break_(label),
            Action::Continue(label) => self.b.continue_(label),
        }
        Ok(None)
    }

    fn jump(&mut self, from: u32, to: u32, fall: Option<u32>) -> Result<Option<u32>> {
        self.write_phis(from, to)?;
        self.arrive(to, fall)
    }

    /// A side of a branch: the jump, and what follows within.
    fn side(&mut self, from: u32, to: u32, fall: Option<u32>) -> Result<()> {
        self.open_scope();
        if let Some(next) = self.jump(from, to, fall)? {
            self.sequence(next, fall)?;
        }
        self.close_scope();
        Ok(())
    }

    fn terminator(&mut self, end: &End, fall: Option<u32>) -> Result<Option<u32>> {
        let (from, merge) = (end.block, end.merge.map(|(_, merge, _)| merge));
        match (end.op, end.operands) {
            (S::Branch, &[to, ..]) => {
                if let Some((header, _, _)) = self.frame()?.back_edge.filter(|_| merge.is_none())
                    && header == to
                    && fall != Some(header)
                {
                    return self.invalid("a back edge that the continue construct's end doesn't dominate");
                }
                self.jump(from, to, fall)
            }
            (S::BranchConditional, &[condition, yes, no, ..]) => {
                let merge = merge.filter(|_| matches!(end.merge, Some((S::SelectionMerge, ..))));
                self.branch(from, condition, (yes, no), merge, fall)
            }
            (S::Switch, &[selector, default, ref cases @ ..]) => match merge {
                Some(merge) => self.switch(from, selector, default, cases, merge, fall),
                None => self.invalid("OpSwitch without OpSelectionMerge"),
            },
            (S::Return, _) => self.return_(Flat::new(), fall),
            (S::ReturnValue, &[value, ..]) => {
                let value = self.value(value)?;
                self.return_(value, fall)
            }
            (S::Kill | S::TerminateInvocation, _) => {
                self.b.inst(Op::Discard, &[], &[]);
                if self.exits.loops > 0 {
                    let Some(outermost) = self.frames.first_mut() else {
                        return self.internal("no frame");
                    };
                    outermost.early = true;
                    let exit = outermost.exit;
                    self.b.break_(exit);
                    return Ok(None);
                }
                self.nowhere(fall)
            }
            (S::Unreachable, _) => self.nowhere(fall),
            (op, _) => self.unsupported(format!("Op{op:?}")),
        }
    }

    /// Where no lane that counts comes: any way out of the body will do.
    fn nowhere(&mut self, fall: Option<u32>) -> Result<Option<u32>> {
        if fall.is_some() {
            return Ok(None);
        }
        let kinds: Vec<Kind> = {
            let results = self.frame()?.results.clone();
            results.iter().map(|&l| self.b.func.locals[l].kind).collect()
        };
        let zeros = kinds.into_iter().map(|k| self.b.constant(Literal::zero(k))).collect();
        self.return_(zeros, fall)
    }

    fn return_(&mut self, values: Flat, fall: Option<u32>) -> Result<Option<u32>> {
        let nesting = self.exits.nesting;
        let frame = self.frame()?;
        let results = frame.results.clone();
        let kinds = |s: &Self| {
            values
                .iter()
                .zip(&results)
                .all(|(&v, &l)| s.b.kind(v) == s.b.func.locals[l].kind)
        };
        if values.len() != results.len() || !kinds(self) {
            return self.invalid("a return of another type than the function's");
        }
        let frame = self.frame()?;
        let last = fall.is_none() && nesting == frame.nesting + 1;
        if last && !frame.early {
            frame.value = values;
            return Ok(None);
        }
        frame.early = true;
        let exit = frame.exit;
        for (&local, &value) in results.iter().zip(&values) {
            self.b.set(local, value);
        }
        if !last {
            self.b.break_(exit);
        }
        Ok(None)
    }

    fn branch(
        &mut self,
        from: u32,
        condition: u32,
        (yes, no): (u32, u32),
        merge: Option<u32>,
        fall: Option<u32>,
    ) -> Result<Option<u32>> {
        if yes == no && merge.is_none_or(|m| m == yes) {
            return self.jump(from, yes, fall);
        }
        let condition = self.bool(condition)?;
        let Some(merge) = merge else {
            let nesting = self.exits.nesting;
            if let Some((header, out, _)) = self.frame()?.back_edge.filter(|&(.., at)| at == nesting)
                && (yes, no) != (out, out)
                && [(header, out), (out, header)].contains(&(yes, no))
            {
                self.write_phis(from, header)?;
                self.write_phis(from, out)?;
                let leave = match yes == out {
                    true => condition,
                    false => self.b.alu(Alu::Not, &[condition]),
                };
                let frame = self.frame()?;
                frame.reached.insert(out);
                frame.break_if = Some(leave);
                return Ok(None);
            }
            return self.exit_branch(from, condition, (yes, no), fall);
        };
        let label = self.b.begin_block();
        self.exits.exits.push(Exit {
            block: merge,
            action: Action::Break(label),
            used: false,
        });
        self.b.begin_if(condition);
        self.side(from, yes, Some(merge))?;
        self.b.begin_else();
        self.side(from, no, Some(merge))?;
        self.b.end_if();
        self.close(merge, fall)
    }

    /// Ends the block around a selection and goes on after it.
    fn close(&mut self, merge: u32, fall: Option<u32>) -> Result<Option<u32>> {
        match self.exits.exits.pop() {
            Some(Exit { used: true, .. }) => self.b.end_block(),
            _ => self.b.dissolve_block(),
        }
        self.after(merge, fall)
    }

    fn after(&mut self, merge: u32, fall: Option<u32>) -> Result<Option<u32>> {
        match self.frame()?.reached.contains(&merge) {
            true => self.arrive(merge, fall),
            false => Ok(None),
        }
    }

    /// A conditional branch that opens no construct: at least one side leaves, or both go on for good.
    fn exit_branch(
        &mut self,
        from: u32,
        condition: Value,
        (yes, no): (u32, u32),
        fall: Option<u32>,
    ) -> Result<Option<u32>> {
        let leaves = |s: &Self, to| fall == Some(to) || s.exit_to(to).is_some();
        let stays = match (leaves(self, yes), leaves(self, no)) {
            (true, false) => Some((yes, no)),
            (false, true) => Some((no, yes)),
            _ => None,
        };
        let Some((exit, on)) = stays else {
            self.b.begin_if(condition);
            self.side(from, yes, fall)?;
            self.b.begin_else();
            self.side(from, no, fall)?;
            self.b.end_if();
            return Ok(None);
        };
        let leave = match exit == yes {
            true => condition,
            false => self.b.alu(Alu::Not, &[condition]),
        };
        if fall == Some(exit) && self.exit_to(exit).is_none() {
            // The end of the body can't be broken to: what goes on stands within the branch.
            let stay = match exit == yes {
                true => self.b.alu(Alu::Not, &[condition]),
                false => condition,
            };
            self.write_phis(from, exit)?;
            self.frame()?.reached.insert(exit);
            self.b.begin_if(stay);
            self.side(from, on, fall)?;
            self.b.end_if();
            return Ok(None);
        }
        self.b.begin_if(leave);
        // Not the end of this body: an explicit exit.
        self.side(from, exit, None)?;
        self.b.end_if();
        self.jump(from, on, fall)
    }
}
