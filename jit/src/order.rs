//! Whether what a program writes to memory depends on the order of invocations (law N8).
//!
//! ```text
//! Program ─ writes() ─► Writes ─┬─ native/: may a step be eight lanes?
//!                               └─ raster/pass/: may tiles run side by side?
//! ```
//!
//! The defined order is: tiles in order, in a tile the runs and pairs in order, in a pair the left quad before the
//! right one, and in a quad instruction by instruction with lanes 0 to 3 in turn at each. Eight lanes in step would
//! take the right quad's first access before the left quad's second, so a program that can tell stays at four; the
//! interpreter takes four anyway.

use crate::program::Program;
use quadrille_frontend::ir::{AtomicOp, Body, Function, InstId, Op, ResourceRef, Stmt, Value};
use std::collections::HashSet;

/// Atomic operations that give the same result in any order among themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Commuting {
    /// Additions and subtractions.
    Sum,
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
    /// Signed minimum.
    SMin,
    /// Signed maximum.
    SMax,
    /// Unsigned minimum.
    UMin,
    /// Unsigned maximum.
    UMax,
}

impl Commuting {
    fn of(op: AtomicOp) -> Option<Commuting> {
        Some(match op {
            AtomicOp::Add | AtomicOp::Sub => Commuting::Sum,
            AtomicOp::And => Commuting::And,
            AtomicOp::Or => Commuting::Or,
            AtomicOp::Xor => Commuting::Xor,
            AtomicOp::SMin => Commuting::SMin,
            AtomicOp::SMax => Commuting::SMax,
            AtomicOp::UMin => Commuting::UMin,
            AtomicOp::UMax => Commuting::UMax,
            AtomicOp::Exchange | AtomicOp::CompareExchange => return None,
        })
    }
}

/// What a program does to memory that it may write, and whether order shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Writes {
    /// It neither reads nor writes writable memory.
    #[default]
    Nothing,
    /// It reads memory that others in the pass may write.
    Reads,
    /// Atomic operations of one kind, whose results no one uses: any order gives the same.
    AnyOrder(Commuting),
    /// Order shows between invocations. `steps`: also between four and eight lanes a step.
    Ordered {
        /// Whether it shows where a step has eight lanes; not if each invocation makes at most one access.
        steps: bool,
    },
}

impl Writes {
    /// What two programs of one pass do together.
    pub fn and(self, other: Writes) -> Writes {
        match (self, other) {
            (Writes::Nothing, x) | (x, Writes::Nothing) => x,
            (Writes::Reads, Writes::Reads) => Writes::Reads,
            (Writes::AnyOrder(a), Writes::AnyOrder(b)) if a == b => self,
            _ => Writes::Ordered { steps: true },
        }
    }

    /// Whether tiles and chunks must run one by one, in order.
    pub fn serial(self) -> bool {
        matches!(self, Writes::Ordered { .. })
    }

    /// Whether a step must have four lanes.
    pub fn four_lanes(self) -> bool {
        matches!(self, Writes::Ordered { steps: true })
    }
}

/// Looks at all of a program's accesses to writable memory.
pub fn writes(program: &Program) -> Writes {
    let mut scan = Scan {
        program,
        used: used_results(program),
        in_loop: false,
        accesses: 0,
        repeated: false,
        found: Writes::Nothing,
    };
    scan.body(&program.function.body);
    match scan.found {
        Writes::Ordered { .. } => Writes::Ordered {
            steps: scan.accesses > 1 || scan.repeated,
        },
        found => found,
    }
}

/// Instructions of which some result is used by a statement that can run.
fn used_results(program: &Program) -> HashSet<InstId> {
    let f = &program.function;
    let mut values = vec![false; f.values.len()];
    mark(f, &f.body, &mut values);
    let used = |v: Value| values.get(v.index()).copied().unwrap_or(true);
    f.insts
        .iter()
        .filter(|(_, inst)| inst.results().any(used))
        .map(|(id, _)| id)
        .collect()
}

fn mark(f: &Function, body: &Body, used: &mut [bool]) {
    fn all(used: &mut [bool], values: &[Value]) {
        values.iter().for_each(|v| used[v.index()] = true);
    }
    for stmt in body {
        match stmt {
            Stmt::Inst(id) => all(used, &f.insts[*id].args),
            Stmt::If {
                cond, then, otherwise, ..
            } => {
                all(used, &[*cond]);
                mark(f, then, used);
                mark(f, otherwise, used);
            }
            Stmt::Loop {
                body,
                continuing,
                break_if,
                ..
            } => {
                all(used, break_if.as_slice());
                mark(f, body, used);
                mark(f, continuing, used);
            }
            Stmt::Switch { selector, cases, .. } => {
                all(used, &[*selector]);
                cases.iter().for_each(|c| mark(f, &c.body, used));
            }
            Stmt::Block { body, .. } => mark(f, body, used),
            Stmt::Return(values) => all(used, values),
            Stmt::Break(_) | Stmt::Continue(_) => {}
        }
    }
}

struct Scan<'a> {
    program: &'a Program,
    used: HashSet<InstId>,
    in_loop: bool,
    accesses: u32,
    repeated: bool,
    found: Writes,
}

impl Scan<'_> {
    fn body(&mut self, body: &Body) {
        for stmt in body {
            match stmt {
                Stmt::Inst(id) => self.inst(*id),
                Stmt::Block { body, .. } => self.body(body),
                Stmt::If { then, otherwise, .. } => {
                    self.body(then);
                    self.body(otherwise);
                }
                Stmt::Loop { body, continuing, .. } => {
                    let outer = std::mem::replace(&mut self.in_loop, true);
                    self.body(body);
                    self.body(continuing);
                    self.in_loop = outer;
                }
                Stmt::Switch { cases, .. } => cases.iter().for_each(|c| self.body(&c.body)),
                Stmt::Break(_) | Stmt::Continue(_) | Stmt::Return(_) => {}
            }
        }
    }

    fn inst(&mut self, id: InstId) {
        let writable = |r: &ResourceRef| !self.program.resources[r.resource].is_read_only();
        let access = match &self.program.function.insts[id].op {
            Op::BufferLoad { buffer, .. } if writable(buffer) => Writes::Reads,
            Op::TexelLoad { texture, .. } if writable(texture) => Writes::Reads,
            Op::BufferStore { .. } | Op::TexelStore { .. } => Writes::Ordered { steps: true },
            Op::BufferAtomic { op, .. } => match Commuting::of(*op) {
                Some(op) if !self.used.contains(&id) => Writes::AnyOrder(op),
                _ => Writes::Ordered { steps: true },
            },
            _ => return,
        };
        self.accesses += 1;
        self.repeated |= self.in_loop;
        self.found = self.found.and(access);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::ProgramKind;
    use quadrille_frontend::ir::{Arena, Binding, Resource, ResourceClass, text};

    fn of(body: &str) -> Writes {
        let text = format!("func fn0 \"test\"() -> () {{\n%0: u32 = const 4\n{body}\n}}\n");
        let function = text::parse_function(&text).expect("valid text");
        let mut resources = Arena::new();
        resources.push(Resource {
            name: "data".into(),
            span: None,
            class: ResourceClass::Storage {
                writable: true,
                min_size: 0,
            },
            count: 1,
            binding: Binding::WebGpu { group: 0, binding: 0 },
        });
        writes(&Program {
            name: "test".into(),
            kind: ProgramKind::Vertex {
                cells_in: 1,
                cells_out: 1,
            },
            function,
            resources,
            slots: vec![0],
            sources: Default::default(),
        })
    }

    const ADD: &str = "%1: u32 = atomic.add(r0, zero, align=4) %0, %0\n";
    const STORE: &str = "buffer.store(r0, zero, align=4) %0, %0\n";

    #[test]
    fn order_shows_where_n8_says() {
        assert_eq!(of("cell.store(0) %0"), Writes::Nothing);
        assert_eq!(of("%1: u32 = buffer.load(r0, zero, align=4) %0"), Writes::Reads);
        assert_eq!(of(ADD), Writes::AnyOrder(Commuting::Sum));
        assert_eq!(
            of(&format!("{ADD}%2: u32 = atomic.sub(r0, zero, align=4) %0, %0")),
            Writes::AnyOrder(Commuting::Sum)
        );
        // Additions and maxima don't commute with one another.
        assert_eq!(
            of(&format!("{ADD}%2: u32 = atomic.umax(r0, zero, align=4) %0, %0")),
            Writes::Ordered { steps: true }
        );
        assert_eq!(of(STORE), Writes::Ordered { steps: false });
        assert_eq!(of(&format!("{ADD}cell.store(0) %1")), Writes::Ordered { steps: false });
        assert_eq!(of(&format!("{STORE}{STORE}")), Writes::Ordered { steps: true });
        assert_eq!(
            of(&format!("loop L0 budgeted {{\n{STORE}break L0\n}} continuing {{\n}}")),
            Writes::Ordered { steps: true }
        );
        assert_eq!(
            of("%1: u32 = atomic.exchange(r0, zero, align=4) %0, %0"),
            Writes::Ordered { steps: false }
        );
    }

    #[test]
    fn programs_of_a_pass_add_up() {
        let sum = Writes::AnyOrder(Commuting::Sum);
        assert!(!sum.and(sum).serial() && !sum.and(Writes::Nothing).serial());
        assert!(sum.and(Writes::AnyOrder(Commuting::Or)).serial());
        assert!(sum.and(Writes::Reads).serial());
        assert!(!Writes::Reads.and(Writes::Reads).serial());
    }
}
