//! Per-lane arrays: small ones are variables and selects, large ones scratch cells read by a lane loop (law L5), and
//! arrays that are never written are tables in memory of their own.

use super::{CELL, CONSTANT, Emitter, Exec, LocalHome, MEMORY, Val};
use crate::abi::RESULT_CELL;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self as cl, InstBuilder, types};
use cranelift_frontend::Variable;
use quadrille_frontend::ir::{Body, Handle, Inst, Kind, Literal, LocalArray, Op, Stmt, Value};

/// Arrays of up to this many elements become selects.
const SELECTED: u32 = 8;
/// Arrays of up to this many elements become variables if all their indices are constants.
const NAMED: u32 = 64;
/// Fills of up to this many elements are unrolled.
const UNROLLED: u32 = 16;

const INDEX: usize = 1;

/// Where an array lives.
#[derive(Clone)]
pub(super) enum ArrayHome {
    /// A variable per element.
    Variables(Vec<Variable>),
    /// Scratch cells from this one; `cleared` if the body itself sets it before it reads it.
    Cells { first: usize, cleared: bool },
    /// Never written: its contents in memory.
    Table(cl::Value),
    /// Never mentioned.
    Unused,
}

/// What the body does with an array.
#[derive(Clone, Copy, Default)]
struct Uses {
    mentioned: bool,
    set: bool,
    dynamic: bool,
    /// The first mention is a reset at the top level.
    reset_first: bool,
}

fn scan(e: &Emitter<'_, '_>, body: &Body, top: bool, uses: &mut [Uses]) {
    for stmt in body {
        match stmt {
            Stmt::Inst(id) => {
                let inst = &e.f.insts[*id];
                let index = |uses: &mut Uses| {
                    uses.mentioned = true;
                    uses.dynamic |= inst.args.first().is_some_and(|&i| e.f.constant(i).is_none());
                };
                match inst.op {
                    Op::ArrayGet(a) => index(&mut uses[a.index()]),
                    Op::ArraySet(a) => {
                        index(&mut uses[a.index()]);
                        uses[a.index()].set = true;
                    }
                    Op::ArrayReset(a) => {
                        let u = &mut uses[a.index()];
                        u.reset_first |= top && !u.mentioned;
                        u.mentioned = true;
                    }
                    _ => {}
                }
            }
            Stmt::Block { body, .. } => scan(e, body, false, uses),
            Stmt::If { then, otherwise, .. } => {
                scan(e, then, false, uses);
                scan(e, otherwise, false, uses);
            }
            Stmt::Loop { body, continuing, .. } => {
                scan(e, body, false, uses);
                scan(e, continuing, false, uses);
            }
            Stmt::Switch { cases, .. } => cases.iter().for_each(|c| scan(e, &c.body, false, uses)),
            Stmt::Break(_) | Stmt::Continue(_) | Stmt::Return(_) => {}
        }
    }
}

impl Emitter<'_, '_> {
    /// Chooses a home for each array; at function entry.
    pub(super) fn place_arrays(&mut self) {
        let f = self.f;
        let mut uses = vec![Uses::default(); f.arrays.len()];
        scan(self, &f.body, true, &mut uses);
        for ((_, array), uses) in f.arrays.iter().zip(&uses) {
            let few = array.len <= SELECTED || array.len <= NAMED && !uses.dynamic;
            let home = if !uses.mentioned {
                ArrayHome::Unused
            } else if !uses.set {
                let table: Box<[u32]> = (0..array.len).map(|i| Self::lane_bits(initial(array, i))).collect();
                ArrayHome::Table(self.table(table))
            } else if few {
                let ty = Self::lane_type(array.kind);
                ArrayHome::Variables((0..array.len).map(|_| self.b.declare_var(ty)).collect())
            } else {
                let first = self.extra_cells(array.len as usize);
                ArrayHome::Cells {
                    first,
                    cleared: uses.reset_first,
                }
            };
            self.arrays.push(home);
        }
    }

    /// Keeps a read-only table with the code and gives its address.
    fn table(&mut self, table: Box<[u32]>) -> cl::Value {
        let address = table.as_ptr().addr();
        self.tables.push(table);
        self.b.ins().iconst(types::I64, address as i64)
    }

    /// Gives all arrays their initial contents; at the start of a step.
    pub(super) fn init_arrays(&mut self) {
        for (handle, _) in self.f.arrays.iter() {
            match self.arrays[handle.index()] {
                ArrayHome::Variables(_) | ArrayHome::Cells { cleared: false, .. } => self.array_reset(handle),
                _ => {}
            }
        }
    }

    pub(super) fn array_reset(&mut self, handle: Handle<LocalArray>) {
        let array = &self.f.arrays[handle];
        match self.arrays[handle.index()].clone() {
            ArrayHome::Variables(variables) => {
                for (i, &variable) in variables.iter().enumerate() {
                    let bits = Self::lane_bits(initial(array, i as u32));
                    let v = self.splat_bits(bits, array.kind == Kind::F32);
                    self.assign(variable, v, true);
                }
            }
            ArrayHome::Cells { first, .. } if array.len <= UNROLLED => {
                for i in 0..array.len {
                    let v = self.splat_bits(Self::lane_bits(initial(array, i)), false);
                    let (base, offset) = self.scratch(first + i as usize);
                    self.masked_store(v, base, offset);
                }
            }
            ArrayHome::Cells { first, .. } => {
                let table = if array.init.is_empty() {
                    None
                } else {
                    let table = (0..array.len).map(|i| Self::lane_bits(initial(array, i))).collect();
                    Some(self.table(table))
                };
                let head = self.b.create_block();
                let done = self.b.create_block();
                let i = self.b.append_block_param(head, types::I64);
                let zero = self.b.ins().iconst(types::I64, 0);
                self.b.ins().jump(head, &[zero.into()]);
                self.switch(head);
                let v = match table {
                    None => self.splat_bits(0, false),
                    Some(table) => {
                        let bytes = self.b.ins().imul_imm_u(i, 4);
                        let address = self.b.ins().iadd(table, bytes);
                        let word = self.b.ins().load(types::I32, CONSTANT, address, 0);
                        self.b.ins().splat(types::I32X4, word)
                    }
                };
                let bytes = self.b.ins().imul_imm_u(i, i64::from(CELL));
                let (base, offset) = self.scratch(first);
                let address = self.b.ins().iadd(base, bytes);
                self.masked_store(v, address, offset);
                let next = self.b.ins().iadd_imm_u(i, 1);
                let more = self
                    .b
                    .ins()
                    .icmp_imm_u(IntCC::UnsignedLessThan, next, i64::from(array.len));
                self.b.ins().brif(more, head, &[next.into()], done, &[]);
                self.b.seal_block(head);
                self.enter(done);
            }
            ArrayHome::Table(_) | ArrayHome::Unused => {}
        }
    }

    /// Stores a vector in the active lanes.
    fn masked_store(&mut self, v: cl::Value, address: cl::Value, offset: i32) {
        let v = match self.exec {
            Exec::Full => v,
            Exec::Empty => return,
            Exec::Mask(mask) => {
                let ty = self.b.func.dfg.value_type(v);
                let old = self.b.ins().load(ty, MEMORY, address, offset);
                self.blend(mask, v, old)
            }
        };
        self.b.ins().store(MEMORY, v, address, offset);
    }

    /// Byte offset of an element of cells or of a table, from an index that is the same in all lanes.
    fn element_offset(&mut self, index: cl::Value, len: u32, stride: i32) -> cl::Value {
        let last = self.b.ins().iconst(types::I32, i64::from(len - 1));
        let index = self.b.ins().umin(index, last);
        let index = self.b.ins().uextend(types::I64, index);
        self.b.ins().imul_imm_u(index, i64::from(stride))
    }

    pub(super) fn array_get(&mut self, inst: &Inst, handle: Handle<LocalArray>) {
        let array = &self.f.arrays[handle];
        let (index, result) = (inst.args[0], inst.result());
        let constant = self.f.constant(index).map(|c| (c.bits as u32).min(array.len - 1));
        let ty = Self::lane_type(array.kind);
        let v = match (self.arrays[handle.index()].clone(), constant) {
            (ArrayHome::Variables(variables), Some(i)) => self.b.use_var(variables[i as usize]),
            (ArrayHome::Variables(variables), None) => {
                let elements = variables.iter().map(|&v| self.b.use_var(v)).collect();
                self.pick(elements, index)
            }
            (ArrayHome::Table(_), Some(i)) => {
                let s = self.literal_scalar(initial(array, i));
                self.set_scalar_or_splat(result, s);
                return;
            }
            (ArrayHome::Table(table), None) => match self.scalar(index) {
                Some(index) => {
                    let offset = self.element_offset(index, array.len, 4);
                    let address = self.b.ins().iadd(table, offset);
                    let s = self.load_scalar(array.kind, CONSTANT, address, 0);
                    self.set_scalar_or_splat(result, s);
                    return;
                }
                None if array.len <= SELECTED => {
                    let float = array.kind == Kind::F32;
                    let bits = |i| Self::lane_bits(initial(array, i));
                    let elements = (0..array.len).map(|i| self.splat_bits(bits(i), float)).collect();
                    self.pick(elements, index)
                }
                None => self.gather(index, array.len, table, 4, false, ty),
            },
            (ArrayHome::Cells { first, .. }, Some(i)) => self.take_cell(first + i as usize, ty),
            (ArrayHome::Cells { first, .. }, None) => {
                let (base, offset) = self.scratch(first);
                let base = self.b.ins().iadd_imm_u(base, i64::from(offset));
                match self.scalar(index) {
                    Some(index) => {
                        let offset = self.element_offset(index, array.len, CELL);
                        let address = self.b.ins().iadd(base, offset);
                        self.b.ins().load(ty, MEMORY, address, 0)
                    }
                    None => self.gather(index, array.len, base, CELL, true, ty),
                }
            }
            (ArrayHome::Unused, _) => self.splat_bits(0, array.kind == Kind::F32),
        };
        self.set_lane(result, v);
    }

    /// Reads each lane's element in a lane loop; with `by_lane` the lane's own word of it.
    fn gather(
        &mut self,
        index: Value,
        len: u32,
        base: cl::Value,
        stride: i32,
        by_lane: bool,
        ty: cl::Type,
    ) -> cl::Value {
        let index = self.lane(index);
        self.put_cell(INDEX, index);
        self.lane_loop(|e, address, lane| {
            let index = e.b.ins().load(types::I32, MEMORY, address, INDEX as i32 * CELL);
            let offset = e.element_offset(index, len, stride);
            let offset = if by_lane { e.b.ins().iadd(offset, lane) } else { offset };
            let from = e.b.ins().iadd(base, offset);
            let word = e.b.ins().load(types::I32, MEMORY, from, 0);
            e.b.ins().store(MEMORY, word, address, RESULT_CELL as i32 * CELL);
        });
        self.take_cell(RESULT_CELL, ty)
    }

    /// The element of each lane's index; indices beyond mean the last.
    fn pick(&mut self, mut elements: Vec<cl::Value>, index: Value) -> cl::Value {
        let index = self.lane(index);
        let mut v = elements.pop().unwrap_or(index);
        for (i, &element) in elements.iter().enumerate() {
            let here = self.splat_bits(i as u32, false);
            let mask = self.icmp(IntCC::Equal, index, here);
            v = self.blend(mask, element, v);
        }
        v
    }

    pub(super) fn array_set(&mut self, inst: &Inst, handle: Handle<LocalArray>) {
        let array = &self.f.arrays[handle];
        let (index, value) = (inst.args[0], inst.args[1]);
        let new = self.lane(value);
        let constant = self.f.constant(index).map(|c| (c.bits as u32).min(array.len - 1));
        match (self.arrays[handle.index()].clone(), constant) {
            (ArrayHome::Variables(variables), Some(i)) => self.assign(variables[i as usize], new, true),
            (ArrayHome::Variables(variables), None) => {
                let index = self.lane(index);
                let last = variables.len() - 1;
                for (i, &variable) in variables.iter().enumerate() {
                    let here = self.splat_bits(i as u32, false);
                    let cc = if i == last {
                        IntCC::UnsignedGreaterThanOrEqual
                    } else {
                        IntCC::Equal
                    };
                    let mask = self.icmp(cc, index, here);
                    let mask = match self.exec {
                        Exec::Full => mask,
                        _ => self.exec_and(mask),
                    };
                    let old = self.b.use_var(variable);
                    let v = self.blend(mask, new, old);
                    self.b.def_var(variable, v);
                }
            }
            (ArrayHome::Cells { first, .. }, Some(i)) => {
                let (base, offset) = self.scratch(first + i as usize);
                self.masked_store(new, base, offset);
            }
            (ArrayHome::Cells { first, .. }, None) => {
                let (base, offset) = self.scratch(first);
                let base = self.b.ins().iadd_imm_u(base, i64::from(offset));
                if let Some(index) = self.scalar(index) {
                    let offset = self.element_offset(index, array.len, CELL);
                    let address = self.b.ins().iadd(base, offset);
                    self.masked_store(new, address, 0);
                } else {
                    self.scatter(index, new, array.len, base);
                }
            }
            (ArrayHome::Table(_) | ArrayHome::Unused, _) => {}
        }
    }

    fn scatter(&mut self, index: Value, new: cl::Value, len: u32, base: cl::Value) {
        const MASK: usize = 0;
        const VALUE: usize = 2;
        let index = self.lane(index);
        let mask = self.exec_mask();
        self.put_cell(MASK, mask);
        self.put_cell(INDEX, index);
        self.put_cell(VALUE, new);
        self.lane_loop(|e, address, lane| {
            let store = e.b.create_block();
            let next = e.b.create_block();
            let mask = e.b.ins().load(types::I32, MEMORY, address, MASK as i32 * CELL);
            e.b.ins().brif(mask, store, &[], next, &[]);
            e.enter(store);
            let index = e.b.ins().load(types::I32, MEMORY, address, INDEX as i32 * CELL);
            let offset = e.element_offset(index, len, CELL);
            let offset = e.b.ins().iadd(offset, lane);
            let to = e.b.ins().iadd(base, offset);
            let word = e.b.ins().load(types::I32, MEMORY, address, VALUE as i32 * CELL);
            e.b.ins().store(MEMORY, word, to, 0);
            e.b.ins().jump(next, &[]);
            e.enter(next);
        });
    }

    /// Initial value of a local in all lanes.
    pub(super) fn init_locals(&mut self) {
        for (handle, local) in self.f.locals.iter() {
            match self.locals[handle.index()] {
                LocalHome::Constant => {}
                LocalHome::Scalar(variable) => {
                    let s = self.literal_scalar(local.init);
                    self.b.def_var(variable, s);
                }
                LocalHome::Lane(variable) => {
                    let v = self.splat_bits(Self::lane_bits(local.init), local.kind == Kind::F32);
                    self.b.def_var(variable, v);
                }
            }
        }
    }

    /// Value held as a scalar, for results that a lane form would only repeat.
    pub(super) fn set_scalar_or_splat(&mut self, value: Value, s: cl::Value) {
        let val = if self.rates.scalar(value) {
            Val::Scalar(s)
        } else {
            Val::Lane(self.splat(s, self.f.kind(value)))
        };
        self.set(value, val);
    }
}

/// Element `i` of an array at function entry.
fn initial(array: &LocalArray, i: u32) -> Literal {
    Literal {
        kind: array.kind,
        bits: u64::from(array.init.get(i as usize).copied().unwrap_or(0)),
    }
}
