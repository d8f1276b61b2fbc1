//! The statements of a function numbered in text order, and what is defined and written at which number.

use crate::ir::{Body, Function, Handle, Local, LocalArray, Op, Stmt, Value};

/// Numbers of statements: a construct's comes before those in it.
pub(super) struct Order {
    /// Of the statement that defines each value; parameters have 0.
    defined: Vec<u32>,
    local_writes: Vec<Vec<u32>>,
    array_writes: Vec<Vec<u32>>,
    /// First and one past the last number of each loop, in order of the first.
    loops: Vec<(u32, u32)>,
}

impl Order {
    pub fn new(f: &Function) -> Order {
        let mut order = Order {
            defined: vec![0; f.values.len()],
            local_writes: vec![Vec::new(); f.locals.len()],
            array_writes: vec![Vec::new(); f.arrays.len()],
            loops: Vec::new(),
        };
        let mut next = 0;
        order.body(f, &f.body, &mut next);
        order
    }

    fn body(&mut self, f: &Function, body: &Body, next: &mut u32) {
        for stmt in body {
            *next += 1;
            let at = *next;
            match stmt {
                Stmt::Inst(id) => {
                    let inst = &f.insts[*id];
                    for result in inst.results() {
                        self.defined[result.index()] = at;
                    }
                    match inst.op {
                        Op::LocalSet { local, .. } => self.local_writes[local.index()].push(at),
                        Op::ArraySet(a) | Op::ArrayReset(a) => self.array_writes[a.index()].push(at),
                        _ => {}
                    }
                }
                Stmt::Loop { .. } => {
                    let i = self.loops.len();
                    self.loops.push((at, at));
                    self.nested(f, stmt, next);
                    self.loops[i].1 = *next + 1;
                }
                _ => self.nested(f, stmt, next),
            }
        }
    }

    fn nested(&mut self, f: &Function, stmt: &Stmt, next: &mut u32) {
        for body in super::super::edit::nested(stmt) {
            self.body(f, body, next);
        }
    }

    /// Whether the value is computed before statement `start`.
    pub fn is_before(&self, value: Value, start: u32) -> bool {
        self.defined[value.index()] < start
    }

    /// Whether the local keeps its value from `start` until the statement `at` runs, however often it does.
    pub fn keeps(&self, local: Handle<Local>, start: u32, at: u32) -> bool {
        self.untouched(&self.local_writes[local.index()], start, at)
    }

    /// The same of an array.
    pub fn keeps_array(&self, array: Handle<LocalArray>, start: u32, at: u32) -> bool {
        self.untouched(&self.array_writes[array.index()], start, at)
    }

    fn untouched(&self, writes: &[u32], start: u32, at: u32) -> bool {
        // Within a loop that begins after `start`, later statements come before `at`, too.
        let around = self
            .loops
            .iter()
            .find(|&&(first, end)| first >= start && first <= at && at < end);
        let end = around.map_or(at, |&(_, end)| end);
        let from = writes.partition_point(|&w| w < start);
        writes.get(from).is_none_or(|&w| w >= end)
    }
}
