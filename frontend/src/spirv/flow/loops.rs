//! Loops: a continue construct that goes straight to its back edge becomes the IR's continuing block; any other stands at the end
//! of the body, in a block of its own.

use super::super::lower::Lower;
use super::super::report::Result;
use super::{Action, End, Exit, MAX_CONTINUE};
use crate::ir::LoopBound;
use rspirv::spirv::Op as S;

impl Lower<'_> {
    /// Whether a continue construct can be the IR's continuing block: straight to its back edge, without exits.
    fn is_simple(&self, header: u32, merge: u32, continues: u32) -> Result<bool> {
        let mut seen = vec![continues];
        let (mut at, mut back_edges) = (0, 0);
        while let Some(&block) = seen.get(at) {
            at += 1;
            if at > MAX_CONTINUE {
                return Ok(false);
            }
            let end = self.look(block)?;
            let range = self.m.blocks.get(&block).map(|b| b.insts.clone()).unwrap_or_default();
            let kills = self.m.words.insts[range].iter().any(|inst| {
                let callee = self.m.words.operands(inst).first();
                inst.op == S::FunctionCall && callee.is_some_and(|f| self.facts.kills.contains(f))
            });
            let targets: Vec<u32> = match (end.op, end.operands) {
                (S::Branch, &[to, ..]) => vec![to],
                (S::BranchConditional, &[_, yes, no, ..]) => vec![yes, no],
                (S::Switch, &[_, default, ref cases @ ..]) => {
                    cases.chunks_exact(2).map(|c| c[1]).chain([default]).collect()
                }
                _ => return Ok(false),
            };
            if kills || targets.is_empty() {
                return Ok(false);
            }
            let back = targets.contains(&header);
            back_edges += u32::from(back);
            if back && (end.merge.is_some() && block != header || targets.iter().any(|&t| t != header && t != merge)) {
                return Ok(false);
            }
            if !back && targets.contains(&merge) {
                return Ok(false);
            }
            for to in targets {
                if to != header && to != merge && !seen.contains(&to) {
                    seen.push(to);
                }
            }
        }
        Ok(back_edges == 1)
    }

    pub(super) fn loop_(&mut self, end: &End, merge: u32, continues: u32, fall: Option<u32>) -> Result<Option<u32>> {
        let header = end.block;
        let alone = header == continues;
        let simple = self.is_simple(header, merge, continues)?;
        let label = self.b.begin_loop(LoopBound::Budgeted);
        self.exits.loops += 1;
        let push = |s: &mut Self, block, action| {
            s.exits.exits.push(Exit {
                block,
                action,
                used: false,
            });
        };
        let outer = (self.frame()?.back_edge.take(), self.frame()?.break_if.take());
        self.open_scope();
        let mut break_if = None;
        push(self, merge, Action::Break(label));
        if simple {
            if !alone {
                push(self, continues, Action::Continue(label));
                self.nested(end, Some(continues))?;
                self.exits.exits.pop();
            }
            self.exits.exits.pop();
            self.close_scope();
            self.b.begin_continuing();
            self.open_scope();
            // One deeper: what `sequence` counts.
            self.frame()?.back_edge = Some((header, merge, self.exits.nesting + 1));
            match alone {
                true => self.nested(end, Some(header))?,
                false if self.frame()?.reached.contains(&continues) => self.sequence(continues, Some(header))?,
                false => {}
            }
            break_if = self.frame()?.break_if.take();
        } else {
            push(self, header, Action::Continue(label));
            if !alone {
                let body = self.b.begin_block();
                push(self, continues, Action::Break(body));
                self.open_scope();
                self.nested(end, Some(continues))?;
                self.close_scope();
                match self.exits.exits.pop() {
                    Some(Exit { used: true, .. }) => self.b.end_block(),
                    _ => self.b.dissolve_block(),
                }
                if self.frame()?.reached.contains(&continues) {
                    self.sequence(continues, Some(header))?;
                }
            } else {
                self.nested(end, Some(header))?;
            }
            self.exits.exits.pop();
            self.exits.exits.pop();
        }
        self.close_scope();
        self.b.end_loop(break_if);
        self.exits.loops -= 1;
        (self.frame()?.back_edge, self.frame()?.break_if) = outer;
        self.after(merge, fall)
    }

    /// The header's own instructions and what follows, as a body.
    pub(super) fn nested(&mut self, end: &End, fall: Option<u32>) -> Result<()> {
        self.exits.nesting += 1;
        self.instructions(end.block)?;
        let own = End { merge: None, ..*end };
        let next = self.terminator(&own, fall)?;
        if let Some(next) = next {
            self.exits.nesting -= 1;
            self.sequence(next, fall)?;
            self.exits.nesting += 1;
        }
        self.exits.nesting -= 1;
        Ok(())
    }
}
