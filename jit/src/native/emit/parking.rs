//! Long programs: values that wait long for their next use wait in scratch cells.
//!
//! A register allocator's time grows with the number of values that are alive at once times the length of the code, and
//! so does the frame: a function of 40,000 instructions with 2,000 values alive took 12 seconds, and was too large to be
//! widened. Where a program is longer than the limit, a value whose last use is a [`FAR`]th of the limit or more away, or
//! that is made ahead of the body, is stored when it is made and loaded again by uses that come late. Constants and
//! splats are made anew now and then. What a program does is the same, and so is what it costs to run, within a few hundredths.
//!
//! The rule that must not break: a reload is used only in the block that made it.

use super::{Emitter, MEMORY, Val};
use crate::native::rates::{Rate, Rates};
use cranelift_codegen::ir::{Block, InstBuilder, types};
use quadrille_frontend::ir::{Body, Function, Kind, Op, Stmt, Value};

/// A last use is late if it comes this part of the limit after the definition: 200 instructions of 3,000.
const FAR: usize = 15;
/// A value stays in its register for this part: 60 instructions.
const NEAR: usize = 50;

/// Where values wait.
pub(super) struct Parking {
    /// Instructions for which a value stays in its register.
    near: usize,
    /// By value: whether some use comes late.
    far: Vec<bool>,
    places: Vec<Option<Place>>,
}

/// A waiting value.
#[derive(Clone, Copy)]
struct Place {
    cell: usize,
    /// The block in which it is in a register, and the instruction that made it so.
    block: Block,
    since: usize,
}

impl Parking {
    /// The values of a function that must wait, if it has more than `most` instructions.
    pub fn of(f: &Function, rates: &Rates, most: usize) -> Option<Parking> {
        let mut lives = Lives {
            f,
            rates,
            late: (most / FAR) as u32,
            now: 0,
            made: vec![None; f.values.len()],
            far: vec![false; f.values.len()],
            loops: Vec::new(),
        };
        lives.body(&f.body, true);
        (lives.now as usize > most).then(|| Parking {
            near: most / NEAR,
            far: lives.far,
            places: vec![None; f.values.len()],
        })
    }
}

/// Walks a function in the order of its code, and sees how long values live.
struct Lives<'a> {
    f: &'a Function,
    rates: &'a Rates,
    /// Instructions until a use is late.
    late: u32,
    /// Instructions so far.
    now: u32,
    /// Constants are made where they are used.
    made: Vec<Option<u32>>,
    far: Vec<bool>,
    /// The loops around: where each began, and what it uses from outside, which lives until its end.
    loops: Vec<(u32, Vec<Value>)>,
}

impl Lives<'_> {
    fn used(&mut self, value: Value) {
        let Some(made) = self.made[value.index()] else { return };
        self.far[value.index()] |= self.now - made >= self.late;
        if let Some((began, outside)) = self.loops.last_mut()
            && made <= *began
            && !self.far[value.index()]
        {
            outside.push(value);
        }
    }

    fn body(&mut self, body: &Body, top: bool) {
        for stmt in body {
            match stmt {
                Stmt::Inst(id) => {
                    let inst = &self.f.insts[*id];
                    if matches!(inst.op, Op::Const(_)) {
                        continue;
                    }
                    self.now += 1;
                    inst.args.iter().for_each(|&v| self.used(v));
                    for v in inst.results() {
                        let ahead = top && matches!(self.rates.value(v), Rate::Draw | Rate::Primitive);
                        self.made[v.index()] = Some(self.now);
                        self.far[v.index()] = ahead;
                    }
                }
                Stmt::Block { body, .. } => self.body(body, false),
                Stmt::If {
                    cond, then, otherwise, ..
                } => {
                    self.used(*cond);
                    self.body(then, false);
                    self.body(otherwise, false);
                }
                Stmt::Loop {
                    body,
                    continuing,
                    break_if,
                    ..
                } => {
                    self.loops.push((self.now, Vec::new()));
                    self.body(body, false);
                    self.body(continuing, false);
                    break_if.iter().for_each(|&v| self.used(v));
                    let (_, outside) = self.loops.pop().unwrap_or_default();
                    outside.into_iter().for_each(|v| self.used(v));
                }
                Stmt::Switch { selector, cases, .. } => {
                    self.used(*selector);
                    cases.iter().for_each(|c| self.body(&c.body, false));
                }
                Stmt::Return(args) => args.iter().for_each(|&v| self.used(v)),
                Stmt::Break(_) | Stmt::Continue(_) => {}
            }
        }
    }
}

impl Emitter<'_, '_> {
    /// The block that code goes to.
    fn here(&self) -> Block {
        self.b.current_block().expect("code goes to some block")
    }

    /// Stores a new value that will be used late.
    pub(super) fn park(&mut self, value: Value, val: Val) {
        let Some(parking) = &self.parking else { return };
        if !parking.far[value.index()] {
            return;
        }
        // A body that is emitted twice stores twice to the same cell.
        let cell = match parking.places[value.index()] {
            Some(place) => place.cell,
            None => self.extra_cells(1),
        };
        let word = match val {
            // The widener knows words, not bytes.
            Val::Scalar(s) if self.f.kind(value) == Kind::Bool => self.b.ins().uextend(types::I32, s),
            Val::Scalar(v) | Val::Lane(v) => v,
        };
        let (base, offset) = self.scratch(cell);
        self.b.ins().store(MEMORY, word, base, offset);
        self.waits_in(value, cell);
    }

    fn waits_in(&mut self, value: Value, cell: usize) {
        let place = Place {
            cell,
            block: self.here(),
            since: self.instructions,
        };
        if let Some(parking) = &mut self.parking {
            parking.places[value.index()] = Some(place);
        }
    }

    /// How a value is held where code goes now: loaded from its cell if it has waited.
    pub(super) fn held(&mut self, value: Value) -> Option<Val> {
        let val = self.values[value.index()]?;
        let Some(parking) = &self.parking else {
            return Some(val);
        };
        let (near, Some(place)) = (parking.near, parking.places[value.index()]) else {
            return Some(val);
        };
        if place.block == self.here() && self.instructions - place.since <= near {
            return Some(val);
        }
        let (base, offset) = self.scratch(place.cell);
        let val = match val {
            Val::Lane(v) => {
                let ty = self.b.func.dfg.value_type(v);
                Val::Lane(self.b.ins().load(ty, MEMORY, base, offset))
            }
            Val::Scalar(_) => {
                let kind = self.f.kind(value);
                Val::Scalar(self.load_scalar(kind, MEMORY, base, offset))
            }
        };
        self.values[value.index()] = Some(val);
        self.waits_in(value, place.cell);
        Some(val)
    }

    /// Called for each instruction: constants and splats don't live for ever either.
    pub(super) fn forget(&mut self) {
        if let Some(parking) = &self.parking
            && self.instructions.is_multiple_of(parking.near.max(1))
        {
            self.constants.clear();
            self.splats.clear();
        }
    }
}
