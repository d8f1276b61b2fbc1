//! Random statements: nested and divergent control flow around the instructions of [`Gen`].

use super::{Gen, Open};
use quadrille_frontend::ir::{Alu, Kind, LoopBound};

impl Gen {
    /// A body: what it defines is forgotten behind it.
    pub(super) fn scoped(&mut self, count: u32, depth: u32) {
        let lengths = self.pools.each_ref().map(Vec::len);
        self.statements(count, depth);
        for (pool, len) in self.pools.iter_mut().zip(lengths) {
            pool.truncate(len);
        }
    }

    fn statements(&mut self, count: u32, depth: u32) {
        for _ in 0..count {
            self.left -= 1;
            if self.left < 0 {
                return;
            }
            match self.rng.below(100) {
                0..=4 => self.constant(),
                5..=44 => self.alu(),
                45..=48 => self.bitcast(),
                49..=53 => self.quad(),
                54..=69 => self.local(),
                70..=80 if self.simple => self.alu(),
                70..=74 => self.array(),
                75..=78 => self.memory(),
                79..=80 => self.texture(),
                81..=84 => self.pipeline(),
                _ if depth > 4 => self.alu(),
                85..=90 => self.branch(depth),
                91..=94 => self.r#loop(depth),
                95..=96 => self.block(depth),
                97..=98 => self.switch(depth),
                _ => {}
            }
        }
    }

    /// Perhaps an exit to some open construct, under a condition.
    fn exit(&mut self) {
        if self.open.is_empty() || self.rng.chance(40) {
            return;
        }
        let cond = self.pick(Kind::Bool);
        let open = self.open[self.rng.below(self.open.len() as u32) as usize];
        self.b.begin_if(cond);
        if self.rng.chance(30) {
            let v = self.pick(Kind::F32);
            self.b.set(self.locals[0][0], v);
        }
        // No returns: inlining has made them breaks, and stores that ignore the mask would tell them apart.
        if open.is_loop && self.rng.chance(40) {
            self.b.continue_(open.label);
        } else {
            self.b.break_(open.label);
        }
        self.b.end_if();
    }

    fn some(&mut self, depth: u32) {
        let n = 1 + self.rng.below(10);
        self.scoped(n, depth + 1);
        self.exit();
        if self.rng.chance(50) {
            let n = 1 + self.rng.below(8);
            self.scoped(n, depth + 1);
        }
    }

    fn branch(&mut self, depth: u32) {
        let cond = self.pick(Kind::Bool);
        self.b.begin_if(cond);
        self.some(depth);
        if self.rng.chance(50) {
            self.b.begin_else();
            self.some(depth);
        }
        self.b.end_if();
    }

    fn block(&mut self, depth: u32) {
        let label = self.b.begin_block();
        self.open.push(Open { label, is_loop: false });
        self.some(depth);
        self.some(depth);
        self.open.pop();
        self.b.end_block();
    }

    fn r#loop(&mut self, depth: u32) {
        let counter = self.b.local("counter", Kind::U32);
        let zero = self.b.u32(0);
        self.b.set(counter, zero);
        let limit = if self.rng.chance(40) {
            let n = self.rng.below(5);
            self.b.u32(n)
        } else {
            let v = self.pick(Kind::U32);
            let mask = self.b.u32(3);
            self.b.alu(Alu::And, &[v, mask])
        };
        let bound = if self.rng.chance(70) {
            LoopBound::Budgeted
        } else {
            LoopBound::AtMost(6)
        };
        let label = self.b.begin_loop(bound);
        let count = self.b.get(counter);
        let done = self.b.alu(Alu::ULe, &[limit, count]);
        let early = self.rng.chance(70);
        if early {
            self.b.begin_if(done);
            self.b.break_(label);
            self.b.end_if();
        }
        let one = self.b.u32(1);
        let next = self.b.alu(Alu::IAdd, &[count, one]);
        self.b.set(counter, next);
        self.open.push(Open { label, is_loop: true });
        self.some(depth);
        self.some(depth);
        let open = std::mem::take(&mut self.open);
        self.b.begin_continuing();
        if self.rng.chance(50) {
            self.scoped(3, 9);
        }
        let break_if = (!early || self.rng.chance(30)).then(|| {
            let count = self.b.get(counter);
            let two = self.b.u32(2);
            let limit = if early { two } else { limit };
            self.b.alu(Alu::ULe, &[limit, count])
        });
        self.b.end_loop(break_if);
        self.open = open;
        self.open.pop();
    }

    fn switch(&mut self, depth: u32) {
        let v = self.pick(Kind::U32);
        let mask = self.b.u32(3);
        let selector = self.b.alu(Alu::And, &[v, mask]);
        let label = self.b.begin_switch(selector);
        self.open.push(Open { label, is_loop: false });
        let default = self.rng.below(5);
        for i in 0..3 {
            let values = if i == 1 { vec![1, 3] } else { vec![i] };
            self.b.begin_case(values, i == default);
            self.some(depth);
            let falls = i < 2 && self.rng.chance(40);
            self.b.end_case(falls);
        }
        self.open.pop();
        self.b.end_switch();
    }
}
