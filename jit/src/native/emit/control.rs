//! Structured control flow over masks.
//!
//! Conditions alike in all lanes are plain branches. Otherwise lanes part: both sides run under their own mask, a side is
//! skipped when no lane wants it, and what leaves early (masked exits, see `flow.rs`) only leaves the mask. The mask
//! travels in SSA values; only across joins where lanes may have left does it travel in a variable.

use super::{Budget, Emitter, Exec, LabelHome, Next};
use crate::abi::Context;
use crate::program::CompileError;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self as cl, Block, BlockArg, InstBuilder, types};
use quadrille_frontend::ir::{Alu, Body, Case, Label, LoopBound, Op, Stmt, Value};
use std::mem::offset_of;

/// Bodies that cost no more than this run under an empty mask rather than behind a test.
const SKIP_COST: usize = 10;
/// Beyond any budget: must not run needlessly.
const HEAVY: usize = 1000;

impl Emitter<'_, '_> {
    /// Rough cost of statements in instructions.
    fn cost(&self, stmts: &[Stmt]) -> usize {
        let mut sum = 0;
        for stmt in stmts {
            sum += match stmt {
                Stmt::Inst(id) => match self.f.insts[*id].op {
                    Op::Const(_) | Op::LocalGet(_) | Op::Bitcast(_) => 0,
                    Op::Alu(Alu::FDiv | Alu::FSqrt | Alu::FToU | Alu::UMulHi | Alu::SMulHi) => 6,
                    Op::Alu(Alu::FFma) if !self.target.fma => HEAVY,
                    Op::Alu(_) => 1,
                    Op::LocalSet { .. } | Op::Quad(_) => 2,
                    Op::Discard | Op::IsHelper | Op::SetHelper | Op::DrawLoad { .. } => 1,
                    _ => HEAVY,
                },
                Stmt::If { then, otherwise, .. } => 2 + self.cost(then) + self.cost(otherwise),
                Stmt::Block { body, .. } => self.cost(body),
                Stmt::Break(_) | Stmt::Continue(_) | Stmt::Return(_) => 2,
                Stmt::Loop { .. } | Stmt::Switch { .. } => HEAVY,
            };
            if sum > HEAVY {
                return HEAVY;
            }
        }
        sum
    }

    /// Whether skipping the statements when no lane is active could be noticed: their effects ignore the mask.
    fn unmasked_effects(&self, stmts: &[Stmt]) -> bool {
        stmts.iter().any(|stmt| match stmt {
            Stmt::Inst(id) => matches!(self.f.insts[*id].op, Op::CellStore { .. }),
            Stmt::Block { body, .. } => self.unmasked_effects(body),
            Stmt::If { then, otherwise, .. } => self.unmasked_effects(then) || self.unmasked_effects(otherwise),
            Stmt::Loop { body, continuing, .. } => self.unmasked_effects(body) || self.unmasked_effects(continuing),
            Stmt::Switch { cases, .. } => cases.iter().any(|c| self.unmasked_effects(&c.body)),
            Stmt::Break(_) | Stmt::Continue(_) | Stmt::Return(_) => false,
        })
    }

    /// Hands the mask to a join that reads it with [`merged_exec`](Self::merged_exec).
    pub(super) fn pass_exec(&mut self) {
        let mask = self.exec_mask();
        self.b.def_var(self.exec_var, mask);
    }

    fn merged_exec(&mut self) -> Exec {
        Exec::Mask(self.b.use_var(self.exec_var))
    }

    fn or_exec(&mut self, a: Exec, b: Exec) -> Exec {
        match (a, b) {
            (Exec::Empty, x) | (x, Exec::Empty) => x,
            (Exec::Full, _) | (_, Exec::Full) => Exec::Full,
            (Exec::Mask(a), Exec::Mask(b)) => Exec::Mask(self.b.ins().bor(a, b)),
        }
    }

    /// Statements in order. `exit` is where to go when no lane is left and none waits in between.
    pub(super) fn body(&mut self, stmts: &[Stmt], exit: Option<Block>) -> Result<Next, CompileError> {
        let mut end: Option<Block> = None;
        let mut next = Next::Falls;
        let mut batched = 0;
        for (i, stmt) in stmts.iter().enumerate() {
            if i < batched {
                continue;
            }
            batched = i + self.sample_batch(&stmts[i..])?;
            if i < batched {
                continue;
            }
            next = self.stmt(stmt)?;
            if next != Next::Falls {
                break;
            }
            let rest = &stmts[i + 1..];
            if self.flow.leaks(stmt) && self.maybe_empty && self.cost(rest) > SKIP_COST && !self.unmasked_effects(rest)
            {
                let go_on = self.b.create_block();
                let target = match exit {
                    Some(exit) => exit,
                    None => *end.get_or_insert_with(|| self.b.create_block()),
                };
                self.pass_exec();
                let mask = self.exec_mask();
                let any = self.any(mask);
                self.b.ins().brif(any, go_on, &[], target, &[]);
                self.enter(go_on);
                self.maybe_empty = false;
            }
        }
        if let Some(end) = end {
            match next {
                Next::Ended => {}
                Next::Falls | Next::Emptied => {
                    if next == Next::Emptied {
                        self.exec = Exec::Empty;
                    }
                    self.pass_exec();
                    self.b.ins().jump(end, &[]);
                }
            }
            self.enter(end);
            self.exec = self.merged_exec();
            self.maybe_empty = true;
            return Ok(Next::Falls);
        }
        Ok(next)
    }

    fn stmt(&mut self, stmt: &Stmt) -> Result<Next, CompileError> {
        match stmt {
            Stmt::Inst(id) => {
                self.inst(*id)?;
                Ok(Next::Falls)
            }
            Stmt::Block { label, body } => self.block(stmt, *label, body),
            Stmt::If {
                cond, then, otherwise, ..
            } => {
                if let Some(c) = self.f.constant(*cond) {
                    let taken = if c.bits != 0 { then } else { otherwise };
                    return self.body(taken, None);
                }
                match self.scalar(*cond) {
                    Some(c) if self.rates.scalar(*cond) => self.uniform_if(stmt, c, then, otherwise),
                    _ if self.rates.scalar(*cond) => Err(lost_scalar("branch")),
                    _ => self.lane_if(stmt, *cond, then, otherwise),
                }
            }
            Stmt::Loop {
                label,
                body,
                continuing,
                break_if,
                bound,
                ..
            } => self.r#loop(stmt, *label, body, continuing, *break_if, *bound),
            Stmt::Switch {
                label, selector, cases, ..
            } => match self.scalar(*selector) {
                Some(s) if self.rates.scalar(*selector) => self.uniform_switch(stmt, *label, s, cases),
                _ if self.rates.scalar(*selector) => Err(lost_scalar("switch")),
                _ => self.lane_switch(stmt, *label, *selector, cases),
            },
            Stmt::Break(label) => Ok(self.leave(stmt, Some(*label), false)),
            Stmt::Continue(label) => Ok(self.leave(stmt, Some(*label), true)),
            Stmt::Return(_) => Ok(self.leave(stmt, None, false)),
        }
    }

    /// An exit of all active lanes.
    fn leave(&mut self, stmt: &Stmt, label: Option<Label>, is_continue: bool) -> Next {
        let home = label.map(|l| self.labels[&l.0]);
        if self.flow.masked(stmt) {
            let waiting = home.and_then(|h| if is_continue { h.continued } else { h.broken });
            if let Some(variable) = waiting {
                let old = self.b.use_var(variable);
                let mask = self.exec_mask();
                let v = self.b.ins().bor(old, mask);
                self.b.def_var(variable, v);
            }
            self.exec = Exec::Empty;
            self.maybe_empty = true;
            return Next::Emptied;
        }
        let target = match home {
            Some(home) if is_continue => home.continuing.unwrap_or(home.end),
            Some(home) => home.end,
            None => self.return_block(),
        };
        self.pass_exec();
        self.b.ins().jump(target, &[]);
        Next::Ended
    }

    fn label_home(&mut self, label: Label, home: LabelHome) {
        self.labels.insert(label.0, home);
    }

    /// A mask variable that starts empty.
    fn mask_var(&mut self) -> cranelift_frontend::Variable {
        let variable = self.b.declare_var(types::I32X4);
        let zero = self.splat_bits(0, false);
        self.b.def_var(variable, zero);
        variable
    }

    /// Sets the mask behind a construct that all lanes reach again except those that left further out.
    fn rejoin(&mut self, stmt: &Stmt, saved: Exec, broken: Option<cranelift_frontend::Variable>) {
        if self.flow.leaks(stmt) {
            let here = self.merged_exec();
            self.exec = match broken {
                Some(broken) => {
                    let broken = Exec::Mask(self.b.use_var(broken));
                    self.or_exec(here, broken)
                }
                None => here,
            };
            self.maybe_empty = true;
        } else {
            self.exec = saved;
        }
    }

    fn block(&mut self, stmt: &Stmt, label: Label, body: &Body) -> Result<Next, CompileError> {
        let saved = self.exec;
        let was_empty = self.maybe_empty;
        let flow = self.flow.label(label);
        let leaks = self.flow.leaks(stmt);
        let broken = (leaks && flow.masked_break).then(|| self.mask_var());
        let end = self.b.create_block();
        self.label_home(
            label,
            LabelHome {
                end,
                continuing: None,
                broken,
                continued: None,
            },
        );
        // With no lane left here and none waiting further out, the block's end is next.
        let next = self.body(body, (!leaks).then_some(end))?;
        let mut reached = flow.direct_break || flow.masked_break;
        if next != Next::Ended {
            reached = true;
            if next == Next::Emptied {
                self.exec = Exec::Empty;
            }
            self.pass_exec();
            self.b.ins().jump(end, &[]);
        }
        self.enter(end);
        if !reached {
            return Ok(self.unreachable());
        }
        self.maybe_empty = was_empty;
        self.rejoin(stmt, saved, broken);
        Ok(Next::Falls)
    }

    /// Ends a block that nothing reaches.
    fn unreachable(&mut self) -> Next {
        let exit = self.env().exit;
        self.b.ins().jump(exit, &[]);
        Next::Ended
    }

    fn uniform_if(
        &mut self,
        stmt: &Stmt,
        cond: cl::Value,
        then: &Body,
        otherwise: &Body,
    ) -> Result<Next, CompileError> {
        let saved = self.exec;
        let was_empty = self.maybe_empty;
        let leaks = self.flow.leaks(stmt);
        let then_block = self.b.create_block();
        let end = self.b.create_block();
        let else_block = if otherwise.is_empty() {
            end
        } else {
            self.b.create_block()
        };
        if leaks {
            self.pass_exec();
        }
        self.b.ins().brif(cond, then_block, &[], else_block, &[]);
        let mut reached = otherwise.is_empty();
        for (block, body) in [(then_block, then), (else_block, otherwise)] {
            if block == end {
                continue;
            }
            self.enter(block);
            self.exec = saved;
            self.maybe_empty = was_empty;
            let next = self.body(body, None)?;
            if next != Next::Ended {
                reached = true;
                if next == Next::Emptied {
                    self.exec = Exec::Empty;
                }
                if leaks {
                    self.pass_exec();
                }
                self.b.ins().jump(end, &[]);
            }
        }
        self.enter(end);
        if !reached {
            return Ok(self.unreachable());
        }
        self.maybe_empty = was_empty;
        self.rejoin(stmt, saved, None);
        Ok(Next::Falls)
    }

    fn lane_if(&mut self, stmt: &Stmt, cond: Value, then: &Body, otherwise: &Body) -> Result<Next, CompileError> {
        let saved = self.exec;
        let was_empty = self.maybe_empty;
        let leaks = self.flow.leaks(stmt);
        let mask = self.lane(cond);
        let then_mask = Exec::Mask(self.exec_and(mask));
        let else_mask = if leaks || !otherwise.is_empty() {
            Exec::Mask(self.exec_and_not(mask))
        } else {
            Exec::Empty
        };
        let then_end = self.side(then, then_mask)?;
        let else_end = self.side(otherwise, else_mask)?;
        self.maybe_empty = was_empty;
        if leaks {
            self.exec = self.or_exec(then_end, else_end);
            self.maybe_empty = true;
        } else {
            self.exec = saved;
        }
        Ok(Next::Falls)
    }

    /// A body under a mask, skipped if it is empty and that pays. Gives the lanes that are active at its end.
    fn side(&mut self, body: &[Stmt], mask: Exec) -> Result<Exec, CompileError> {
        self.exec = mask;
        let Exec::Mask(lanes) = mask else {
            return Ok(mask);
        };
        if body.is_empty() {
            return Ok(mask);
        }
        if self.cost(body) <= SKIP_COST || self.unmasked_effects(body) {
            self.maybe_empty = true;
            let next = self.body(body, None)?;
            if next == Next::Ended {
                // An endless loop under a mask: its block is closed, go on in one that nothing reaches.
                let after = self.b.create_block();
                self.enter(after);
            }
            return Ok(if next == Next::Falls { self.exec } else { Exec::Empty });
        }
        let run = self.b.create_block();
        let end = self.b.create_block();
        let any = self.any(lanes);
        self.pass_exec();
        self.b.ins().brif(any, run, &[], end, &[]);
        self.enter(run);
        self.maybe_empty = false;
        let next = self.body(body, None)?;
        // All lanes may have left by exits on both sides of a branch, too.
        let left = if next == Next::Falls { self.exec } else { Exec::Empty };
        let changed = matches!(left, Exec::Mask(now) if now != lanes);
        if next != Next::Ended {
            if changed {
                self.pass_exec();
            }
            self.b.ins().jump(end, &[]);
        }
        self.enter(end);
        Ok(match left {
            Exec::Mask(_) if changed => self.merged_exec(),
            Exec::Mask(_) | Exec::Full => mask,
            Exec::Empty => Exec::Empty,
        })
    }

    fn r#loop(
        &mut self,
        stmt: &Stmt,
        label: Label,
        body: &Body,
        continuing: &Body,
        break_if: Option<Value>,
        bound: LoopBound,
    ) -> Result<Next, CompileError> {
        let saved = self.exec;
        let was_empty = self.maybe_empty;
        let flow = self.flow.label(label);
        let leaks = self.flow.leaks(stmt);
        // Whether lanes leave one by one.
        let parting = flow.masked_break || leaks;
        let broken = (leaks && flow.masked_break).then(|| self.mask_var());
        let continued = flow.masked_continue.then(|| self.mask_var());
        let head = self.b.create_block();
        let continue_block = self.b.create_block();
        let end = self.b.create_block();
        self.label_home(
            label,
            LabelHome {
                end,
                continuing: Some(continue_block),
                broken,
                continued,
            },
        );
        if parting {
            self.pass_exec();
        }
        self.b.ins().jump(head, &[]);
        self.switch(head);
        self.exec = if parting { self.merged_exec() } else { saved };
        self.maybe_empty = false;
        let mut end_named = false;
        if bound == LoopBound::Budgeted {
            let number = self.flow.loop_number(stmt);
            end_named = self.spend(number, end, parting);
        }
        let live = self.exec;
        if let Some(continued) = continued {
            let zero = self.splat_bits(0, false);
            self.b.def_var(continued, zero);
        }
        // When no lane is left in the body and none waits to continue, the loop is over.
        let exit = (parting && !flow.masked_continue).then_some(end);
        let mut end_reached = end_named || exit.is_some() || flow.direct_break || flow.masked_break;
        let next = self.body(body, exit)?;
        let mut continues = flow.direct_continue || flow.masked_continue;
        if next != Next::Ended {
            continues = true;
            if next == Next::Emptied {
                self.exec = Exec::Empty;
            }
            self.pass_exec();
            self.b.ins().jump(continue_block, &[]);
        }
        self.enter(continue_block);
        if continues {
            self.exec = if parting {
                let here = self.merged_exec();
                match continued {
                    Some(continued) => {
                        let waited = Exec::Mask(self.b.use_var(continued));
                        self.or_exec(here, waited)
                    }
                    None => here,
                }
            } else {
                live
            };
            // Lanes may have left since the last test.
            self.maybe_empty = parting;
            if parting && self.cost(continuing) > SKIP_COST {
                let go_on = self.b.create_block();
                self.pass_exec();
                let mask = self.exec_mask();
                let any = self.any(mask);
                self.b.ins().brif(any, go_on, &[], end, &[]);
                self.enter(go_on);
                self.maybe_empty = false;
            }
            let next = self.body(continuing, None)?;
            if next != Next::Ended {
                end_reached |= self.repeat(head, end, break_if, broken, parting);
            }
        } else {
            _ = self.unreachable();
        }
        self.b.seal_block(head);
        self.enter(end);
        if !end_reached {
            return Ok(self.unreachable());
        }
        self.maybe_empty = was_empty;
        self.rejoin(stmt, saved, broken);
        Ok(Next::Falls)
    }

    /// The end of an iteration. Gives whether the loop's end was named.
    fn repeat(
        &mut self,
        head: Block,
        end: Block,
        break_if: Option<Value>,
        broken: Option<cranelift_frontend::Variable>,
        parting: bool,
    ) -> bool {
        const NONE: &[BlockArg] = &[];
        let mut test = parting && self.maybe_empty;
        match break_if {
            None => {}
            Some(cond) => match self.scalar(cond) {
                Some(c) if self.rates.scalar(cond) || self.f.constant(cond).is_some() => {
                    self.pass_exec();
                    if !test {
                        self.b.ins().brif(c, end, NONE, head, NONE);
                        return true;
                    }
                    let go_on = self.b.create_block();
                    self.b.ins().brif(c, end, NONE, go_on, NONE);
                    self.enter(go_on);
                }
                _ => {
                    let mask = self.lane(cond);
                    if let Some(broken) = broken {
                        let leaving = self.exec_and(mask);
                        let old = self.b.use_var(broken);
                        let v = self.b.ins().bor(old, leaving);
                        self.b.def_var(broken, v);
                    }
                    self.exec = Exec::Mask(self.exec_and_not(mask));
                    test = true;
                }
            },
        }
        self.pass_exec();
        if test {
            let mask = self.exec_mask();
            let any = self.any(mask);
            self.b.ins().brif(any, head, NONE, end, NONE);
        } else {
            self.b.ins().jump(head, NONE);
        }
        test
    }

    /// Counts an iteration of the active lanes against their budget; beyond it the program ends with the loop's number.
    ///
    /// Quads without a covered lane run only as the neighbour of one that has: what they exceed is nobody's error, and
    /// they leave the loop.
    /// Gives whether the loop's end was named.
    fn spend(&mut self, number: u32, end: Block, parting: bool) -> bool {
        let Some(Budget { total, lanes }) = self.budget else {
            return false;
        };
        let before = self.exec;
        let mask = self.exec_mask();
        let old = self.b.use_var(lanes);
        let count = self.b.ins().isub(old, mask);
        self.b.def_var(lanes, count);
        let old = self.b.use_var(total);
        let sum = self.b.ins().iadd_imm_u(old, 1);
        self.b.def_var(total, sum);
        let env = self.env();
        let offset = offset_of!(Context, loop_budget) as i32;
        let budget = self.b.ins().load(types::I32, super::CONSTANT, env.ctx, offset);
        let check = self.b.create_block();
        let over = self.b.create_block();
        let go_on = self.b.create_block();
        for cold in [check, over] {
            self.b.set_cold_block(cold);
        }
        if parting {
            self.pass_exec();
        }
        // No lane ran more often than the step as a whole.
        let beyond = self.b.ins().icmp(IntCC::UnsignedGreaterThan, sum, budget);
        self.b.ins().brif(beyond, check, &[], go_on, &[]);
        self.enter(check);
        let limit = self.b.ins().splat(types::I32X4, budget);
        let within = self.icmp(IntCC::UnsignedLessThanOrEqual, count, limit);
        // Counts of lanes that left the loop stay as they were, within the budget.
        let spent = self.b.ins().bnot(within);
        let rest = self.b.create_block();
        let covered = self.covered_quads();
        match covered {
            None => {
                let any = self.any(spent);
                self.b.ins().brif(any, over, &[], go_on, &[]);
                self.enter(rest);
                self.unreachable();
            }
            Some(covered) => {
                let spent_covered = self.b.ins().band(spent, covered);
                let any = self.any(spent_covered);
                self.b.ins().brif(any, over, &[], rest, &[]);
                self.enter(rest);
                let left = self.b.ins().band_not(mask, spent);
                self.exec = Exec::Mask(left);
                self.pass_exec();
                let any = self.any(left);
                self.b.ins().brif(any, go_on, &[], end, &[]);
            }
        }
        self.enter(over);
        let status = self.b.ins().iconst(types::I32, i64::from(number) + 1);
        let offset = offset_of!(Context, status) as i32;
        self.b.ins().store(super::MEMORY, status, env.ctx, offset);
        self.b.ins().jump(env.exit, &[]);
        self.enter(go_on);
        self.exec = if parting { self.merged_exec() } else { before };
        covered.is_some()
    }

    fn switch_home(&mut self, stmt: &Stmt, label: Label) -> (Block, Option<cranelift_frontend::Variable>) {
        let flow = self.flow.label(label);
        let broken = (self.flow.leaks(stmt) && flow.masked_break).then(|| self.mask_var());
        let end = self.b.create_block();
        self.label_home(
            label,
            LabelHome {
                end,
                continuing: None,
                broken,
                continued: None,
            },
        );
        (end, broken)
    }

    fn uniform_switch(
        &mut self,
        stmt: &Stmt,
        label: Label,
        selector: cl::Value,
        cases: &[Case],
    ) -> Result<Next, CompileError> {
        let saved = self.exec;
        let was_empty = self.maybe_empty;
        let flow = self.flow.label(label);
        let (end, broken) = self.switch_home(stmt, label);
        let blocks: Vec<Block> = cases.iter().map(|_| self.b.create_block()).collect();
        let mut otherwise = end;
        self.pass_exec();
        for (case, &block) in cases.iter().zip(&blocks) {
            for &value in &case.values {
                let next = self.b.create_block();
                let hit = self.b.ins().icmp_imm_u(IntCC::Equal, selector, i64::from(value));
                self.b.ins().brif(hit, block, &[], next, &[]);
                self.enter(next);
            }
            if case.default {
                otherwise = block;
            }
        }
        self.b.ins().jump(otherwise, &[]);
        let mut reached = otherwise == end || flow.direct_break || flow.masked_break;
        let mut carried = false;
        for (i, (case, &block)) in cases.iter().zip(&blocks).enumerate() {
            let hit = carried || case.default || !case.values.is_empty();
            self.enter(block);
            if !hit {
                _ = self.unreachable();
                carried = false;
                continue;
            }
            // A case entered by falling through may have lost lanes on the way.
            self.exec = if carried && (flow.masked_break || self.flow.leaks(stmt)) {
                self.merged_exec()
            } else {
                saved
            };
            self.maybe_empty = was_empty || carried;
            let next = self.body(&case.body, None)?;
            carried = false;
            if next != Next::Ended {
                if next == Next::Emptied {
                    self.exec = Exec::Empty;
                }
                self.pass_exec();
                match blocks.get(i + 1) {
                    Some(&following) if case.falls_through => {
                        carried = true;
                        self.b.ins().jump(following, &[]);
                    }
                    _ => {
                        reached = true;
                        self.b.ins().jump(end, &[]);
                    }
                }
            }
        }
        self.enter(end);
        if !reached {
            return Ok(self.unreachable());
        }
        self.maybe_empty = was_empty;
        self.rejoin(stmt, saved, broken);
        Ok(Next::Falls)
    }

    fn lane_switch(
        &mut self,
        stmt: &Stmt,
        label: Label,
        selector: Value,
        cases: &[Case],
    ) -> Result<Next, CompileError> {
        let saved = self.exec;
        let was_empty = self.maybe_empty;
        let leaks = self.flow.leaks(stmt);
        let (end, broken) = self.switch_home(stmt, label);
        let selector = self.lane(selector);
        let mut masks: Vec<Option<cl::Value>> = Vec::with_capacity(cases.len());
        let mut any_case: Option<cl::Value> = None;
        for case in cases {
            let mut hit: Option<cl::Value> = None;
            for &value in &case.values {
                let value = self.splat_bits(value, false);
                let equal = self.icmp(IntCC::Equal, selector, value);
                hit = Some(match hit {
                    Some(hit) => self.b.ins().bor(hit, equal),
                    None => equal,
                });
            }
            if let Some(hit) = hit {
                any_case = Some(match any_case {
                    Some(any) => self.b.ins().bor(any, hit),
                    None => hit,
                });
            }
            masks.push(hit);
        }
        let none = match any_case {
            Some(any) => self.b.ins().bnot(any),
            None => self.splat_bits(u32::MAX, false),
        };
        let mut carried = Exec::Empty;
        // Lanes at the switch's end, if the mask behind it must be made anew.
        let mut ended = Exec::Empty;
        let mut has_default = false;
        for (case, hit) in cases.iter().zip(masks) {
            let wanted = match (hit, case.default) {
                (Some(hit), true) => Some(self.b.ins().bor(hit, none)),
                (None, true) => Some(none),
                (hit, false) => hit,
            };
            has_default |= case.default;
            self.exec = saved;
            let entering = match wanted {
                Some(wanted) => Exec::Mask(self.exec_and(wanted)),
                None => Exec::Empty,
            };
            let entering = self.or_exec(entering, carried);
            let at_end = self.side(&case.body, entering)?;
            if case.falls_through {
                carried = at_end;
            } else {
                carried = Exec::Empty;
                if leaks {
                    ended = self.or_exec(ended, at_end);
                }
            }
        }
        if leaks {
            ended = self.or_exec(ended, carried);
            if !has_default {
                self.exec = saved;
                let others = Exec::Mask(self.exec_and(none));
                ended = self.or_exec(ended, others);
            }
        }
        self.exec = ended;
        self.pass_exec();
        self.b.ins().jump(end, &[]);
        self.enter(end);
        self.maybe_empty = was_empty;
        self.rejoin(stmt, saved, broken);
        Ok(Next::Falls)
    }
}

/// The flow analysis counted on a scalar that the emitter holds by lane.
fn lost_scalar(what: &str) -> CompileError {
    CompileError::Internal(format!("a uniform {what} has a condition by lane"))
}
