//! OpSwitch: cases in an order in which those that fall through stand before what they fall into.

use super::super::lower::Lower;
use super::super::report::{Failure, Result};
use super::{Action, Exit, MAX_CASES};
use crate::ir::{Kind, Op};
use rspirv::spirv::Op as S;
use rustc_hash::FxHashSet;

impl Lower<'_> {
    pub(super) fn switch(
        &mut self,
        from: u32,
        selector: u32,
        default: u32,
        operands: &[u32],
        merge: u32,
        fall: Option<u32>,
    ) -> Result<Option<u32>> {
        let mut selector = self.one(selector)?;
        // Literals of narrow types come extended to 32 bits, with their sign.
        let wide = match self.b.kind(selector) {
            kind @ (Kind::I32 | Kind::U32) => kind,
            Kind::I8 | Kind::I16 => Kind::I32,
            Kind::U8 | Kind::U16 => Kind::U32,
            kind => return self.unsupported(format!("OpSwitch on {kind}")),
        };
        if self.b.kind(selector) != wide {
            selector = self.b.inst1(Op::Convert(wide), &[selector], wide);
        }
        if operands.len() / 2 > MAX_CASES {
            return Err(Failure::limit(
                format!("an OpSwitch has more than {MAX_CASES} cases"),
                self.at,
            ));
        }
        let mut cases: Vec<(u32, Vec<u32>)> = Vec::new();
        for pair in operands.chunks_exact(2) {
            match cases.iter_mut().find(|(target, _)| *target == pair[1]) {
                Some((_, values)) => values.push(pair[0]),
                None => cases.push((pair[1], vec![pair[0]])),
            }
        }
        if !cases.iter().any(|(target, _)| *target == default) {
            cases.push((default, Vec::new()));
        }
        // Before the switch: a case that falls into another writes that one's phis again.
        for &(target, _) in &cases {
            self.write_phis(from, target)?;
        }
        let leaves = |s: &Self, target| target == merge || s.exit_to(target).is_some();
        let targets: Vec<u32> = cases
            .iter()
            .map(|(target, _)| *target)
            .filter(|&t| !leaves(self, t))
            .collect();
        let exits: Vec<u32> = cases
            .iter()
            .map(|(target, _)| *target)
            .filter(|&t| leaves(self, t))
            .collect();
        let order = self.case_order(&targets, merge)?;
        let label = self.b.begin_switch(selector);
        self.exits.exits.push(Exit {
            block: merge,
            action: Action::Break(label),
            used: false,
        });
        for (i, target) in order.iter().map(|&(t, _)| t).chain(exits).enumerate() {
            let values = cases
                .iter()
                .find(|(t, _)| *t == target)
                .map(|(_, v)| v.clone())
                .unwrap_or_default();
            let next = order.get(i).and_then(|&(_, next)| next);
            self.b.begin_case(values, target == default);
            let exit = self.b.begin_block();
            self.exits.exits.push(Exit {
                block: next.unwrap_or(merge),
                action: Action::Break(exit),
                used: false,
            });
            self.open_scope();
            let fall = Some(next.unwrap_or(merge));
            if let Some(block) = self.arrive(target, fall)? {
                self.sequence(block, fall)?;
            }
            self.close_scope();
            match self.exits.exits.pop() {
                Some(Exit { used: true, .. }) => self.b.end_block(),
                _ => self.b.dissolve_block(),
            }
            self.b.end_case(next.is_some());
        }
        self.exits.exits.pop();
        self.b.end_switch();
        self.after(merge, fall)
    }

    /// The cases in an order in which those that fall through stand before what they fall into.
    fn case_order(&self, targets: &[u32], merge: u32) -> Result<Vec<(u32, Option<u32>)>> {
        let mut next: Vec<Option<u32>> = Vec::with_capacity(targets.len());
        for &target in targets {
            next.push(self.falls_into(target, targets, merge)?);
        }
        let mut order = Vec::with_capacity(targets.len());
        let mut done = FxHashSet::default();
        let heads = targets.iter().filter(|t| !next.contains(&Some(**t)));
        for &head in heads {
            let mut at = Some(head);
            while let Some(target) = at {
                if !done.insert(target) {
                    return self.invalid("two cases of an OpSwitch fall into the same one");
                }
                let into = targets.iter().position(|&t| t == target).and_then(|i| next[i]);
                order.push((target, into));
                at = into;
            }
        }
        match order.len() == targets.len() {
            true => Ok(order),
            false => self.invalid("cases of an OpSwitch fall into one another in a circle"),
        }
    }

    /// The case that this one falls into.
    fn falls_into(&self, target: u32, targets: &[u32], merge: u32) -> Result<Option<u32>> {
        let outer = |to: u32| to == merge || self.exit_to(to).is_some();
        let mut seen: FxHashSet<u32> = [target].into_iter().collect();
        let mut work = vec![target];
        let mut found = None;
        while let Some(block) = work.pop() {
            let end = self.look(block)?;
            let successors: Vec<u32> = match (end.op, end.operands) {
                (S::Branch, &[to, ..]) => vec![to],
                (S::BranchConditional, &[_, yes, no, ..]) => vec![yes, no],
                (S::Switch, &[_, default, ref cases @ ..]) => {
                    cases.chunks_exact(2).map(|c| c[1]).chain([default]).collect()
                }
                _ => Vec::new(),
            };
            for to in successors {
                if to != target && targets.contains(&to) {
                    match found {
                        Some(other) if other != to => {
                            return self.invalid("a case of an OpSwitch falls into two others");
                        }
                        _ => found = Some(to),
                    }
                } else if !outer(to) && seen.insert(to) {
                    work.push(to);
                }
            }
        }
        Ok(found)
    }
}
