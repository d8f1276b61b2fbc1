//! Which exits are jumps and which only clear lanes of the mask; where the mask changes.
//!
//! An exit (`Break`, `Continue`, `Return`) is *direct*, a plain jump, if at that point all lanes that are still in the
//! target are active: no divergent branch and no lane waiting elsewhere lies between. Otherwise it is *masked*: its
//! lanes leave the mask and rejoin at the target. A statement *leaks* if a masked exit inside it has a target outside it:
//! only after such statements does the mask differ from what it was before.

use quadrille_frontend::ir::{Body, Label, LoopBound, SpanId, Stmt, Value};
use std::collections::{HashMap, HashSet};

/// What is known of a label.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LabelFlow {
    /// Some break of it is masked, or its `break_if` diverges.
    pub masked_break: bool,
    /// Some continue of it is masked.
    pub masked_continue: bool,
    /// Some break of it is a jump.
    pub direct_break: bool,
    /// Some continue of it is a jump.
    pub direct_continue: bool,
}

/// The exits of a function.
#[derive(Default)]
pub(crate) struct Flow {
    labels: Vec<LabelFlow>,
    masked: HashSet<usize>,
    leaks: HashSet<usize>,
    loops: HashMap<usize, u32>,
    loop_spans: Vec<Option<SpanId>>,
}

/// Identity of a statement: its address, since the function doesn't move while it is compiled.
fn key(stmt: &Stmt) -> usize {
    std::ptr::from_ref(stmt).addr()
}

enum Scope {
    /// A side of a branch, or a switch's case if `label` is of a switch; whether lanes part there.
    Branch {
        divergent: bool,
        stmt: usize,
    },
    Label {
        label: Label,
        stmt: usize,
    },
}

struct Exit {
    stmt: usize,
    target: Option<Label>,
    is_continue: bool,
    /// A divergent branch lies between.
    parted: bool,
    /// Labels strictly inside the target.
    between: Vec<Label>,
    /// Statements that the exit leaves, not the target itself (it rejoins there).
    leaves: Vec<usize>,
}

struct Walk<'a> {
    divergent: &'a dyn Fn(Value) -> bool,
    scopes: Vec<Scope>,
    exits: Vec<Exit>,
    flow: Flow,
}

/// Deepest nesting of statements that analysis and emission follow.
pub(crate) const MAX_DEPTH: usize = 200;

impl Flow {
    /// Analyses a body nested no deeper than [`MAX_DEPTH`]; `divergent` tells whether a condition or selector differs
    /// by lane.
    pub fn of(body: &Body, label_count: u32, divergent: &dyn Fn(Value) -> bool) -> Flow {
        let mut walk = Walk {
            divergent,
            scopes: Vec::new(),
            exits: Vec::new(),
            flow: Flow {
                labels: vec![LabelFlow::default(); label_count as usize],
                ..Flow::default()
            },
        };
        walk.body(body);
        let (mut flow, exits) = (walk.flow, walk.exits);
        loop {
            let mut changed = false;
            for exit in &exits {
                if flow.masked.contains(&exit.stmt) {
                    continue;
                }
                let waits = |l: &Label| {
                    let f = flow.labels[l.0 as usize];
                    f.masked_break || f.masked_continue
                };
                let target = exit.target.map(|l| flow.labels[l.0 as usize]);
                let masked = exit.parted
                    || exit.between.iter().any(waits)
                    || !exit.is_continue && target.is_some_and(|t| t.masked_continue);
                if masked {
                    changed = true;
                    flow.masked.insert(exit.stmt);
                    if let Some(label) = exit.target {
                        let f = &mut flow.labels[label.0 as usize];
                        *(if exit.is_continue {
                            &mut f.masked_continue
                        } else {
                            &mut f.masked_break
                        }) = true;
                    }
                    flow.leaks.extend(&exit.leaves);
                }
            }
            if !changed {
                break;
            }
        }
        for exit in &exits {
            if let (false, Some(label)) = (flow.masked.contains(&exit.stmt), exit.target) {
                let f = &mut flow.labels[label.0 as usize];
                *(if exit.is_continue {
                    &mut f.direct_continue
                } else {
                    &mut f.direct_break
                }) = true;
            }
        }
        flow
    }

    /// What is known of a label.
    pub fn label(&self, label: Label) -> LabelFlow {
        self.labels[label.0 as usize]
    }

    /// Whether an exit is masked.
    pub fn masked(&self, stmt: &Stmt) -> bool {
        self.masked.contains(&key(stmt))
    }

    /// Number of budgeted loops.
    pub fn budgeted_loops(&self) -> usize {
        self.loop_spans.len()
    }

    /// Spans of the budgeted loops in the order of the program text.
    pub fn loop_spans(&self) -> &[Option<SpanId>] {
        &self.loop_spans
    }

    /// Number of a budgeted loop.
    pub fn loop_number(&self, stmt: &Stmt) -> u32 {
        self.loops.get(&key(stmt)).copied().unwrap_or(0)
    }

    /// Whether lanes may be missing after a statement that were active before it.
    pub fn leaks(&self, stmt: &Stmt) -> bool {
        self.leaks.contains(&key(stmt))
    }
}

impl Walk<'_> {
    fn body(&mut self, body: &Body) {
        for stmt in body {
            self.stmt(stmt);
        }
    }

    fn within(&mut self, scope: Scope, body: &Body) {
        self.scopes.push(scope);
        self.body(body);
        self.scopes.pop();
    }

    fn stmt(&mut self, stmt: &Stmt) {
        let id = key(stmt);
        match stmt {
            Stmt::Inst(_) => {}
            Stmt::Block { label, body } => self.within(
                Scope::Label {
                    label: *label,
                    stmt: id,
                },
                body,
            ),
            Stmt::If {
                cond, then, otherwise, ..
            } => {
                let divergent = (self.divergent)(*cond);
                self.within(Scope::Branch { divergent, stmt: id }, then);
                self.within(Scope::Branch { divergent, stmt: id }, otherwise);
            }
            Stmt::Loop {
                label,
                body,
                continuing,
                break_if,
                bound,
                span,
            } => {
                if *bound == LoopBound::Budgeted {
                    self.flow.loops.insert(id, self.flow.loop_spans.len() as u32);
                    self.flow.loop_spans.push(*span);
                }
                if break_if.is_some_and(|c| (self.divergent)(c)) {
                    self.flow.labels[label.0 as usize].masked_break = true;
                }
                self.within(
                    Scope::Label {
                        label: *label,
                        stmt: id,
                    },
                    body,
                );
                self.within(
                    Scope::Label {
                        label: *label,
                        stmt: id,
                    },
                    continuing,
                );
            }
            Stmt::Switch {
                label, selector, cases, ..
            } => {
                let divergent = (self.divergent)(*selector);
                self.scopes.push(Scope::Label {
                    label: *label,
                    stmt: id,
                });
                for case in cases {
                    self.within(Scope::Branch { divergent, stmt: id }, &case.body);
                }
                self.scopes.pop();
            }
            Stmt::Break(label) => self.exit(id, Some(*label), false),
            Stmt::Continue(label) => self.exit(id, Some(*label), true),
            Stmt::Return(_) => self.exit(id, None, false),
        }
    }

    fn exit(&mut self, stmt: usize, target: Option<Label>, is_continue: bool) {
        let mut exit = Exit {
            stmt,
            target,
            is_continue,
            parted: false,
            between: Vec::new(),
            leaves: vec![stmt],
        };
        for scope in self.scopes.iter().rev() {
            match scope {
                Scope::Label { label, stmt } if Some(*label) == target => {
                    // A switch's case has named the switch itself; but the lanes rejoin at its end.
                    exit.leaves.retain(|s| s != stmt);
                    break;
                }
                Scope::Label { label, stmt } => {
                    exit.between.push(*label);
                    exit.leaves.push(*stmt);
                }
                Scope::Branch { divergent, stmt } => {
                    exit.parted |= divergent;
                    exit.leaves.push(*stmt);
                }
            }
        }
        self.exits.push(exit);
    }
}
