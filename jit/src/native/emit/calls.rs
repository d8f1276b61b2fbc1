//! Calls out of programs: samplers, texel access, and the exact software fma. Arguments and results travel in scratch
//! cells, so that one form serves 4 and 8 lanes (law S1).

use super::buffers::Slot;
use super::{Emitter, Exec, MEMORY, Val};
use crate::abi::{Binding, Cell, RESULT_CELL, sample_each};
use crate::program::CompileError;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self as cl, AbiParam, InstBuilder, Signature, types};
use quadrille_frontend::ir::{Dim, Inst, InstId, Op, ResourceRef, SampleBatch, SampleOp, Stmt, TexelOp, Value};
use std::mem::offset_of;

/// Most arguments of a call.
const MAX_ARGS: usize = RESULT_CELL - 1;

/// What a call is made of.
struct Call<'a> {
    first: Slot,
    second: Option<Slot>,
    /// Offset of the function pointer in the first binding.
    function: i32,
    op: u64,
    args: &'a [Value],
    mask: cl::Value,
}

/// Addresses that calls leave in code, and their names.
pub(super) fn known_addresses() -> Vec<(u64, &'static str)> {
    vec![
        (sample_each as *const () as usize as u64, "sample_each"),
        (fma_cells as *const () as usize as u64, "fma_cells"),
    ]
}

impl Emitter<'_, '_> {
    pub(super) fn sample(
        &mut self,
        inst: &Inst,
        texture: ResourceRef,
        sampler: ResourceRef,
        op: SampleOp,
    ) -> Result<(), CompileError> {
        let mut args = &inst.args[..];
        let first = self.slot(texture, &mut args);
        let second = self.slot(sampler, &mut args);
        let mask = self.exec_mask();
        self.call(Call {
            first,
            second: Some(second),
            function: offset_of!(Binding, sample) as i32,
            op: op.encode(),
            args,
            mask,
        });
        self.take_results(inst);
        Ok(())
    }

    /// Emits the comparison samples at the head of the statements as one call, if there are several of a kind (law S1): their number,
    /// else 0. The pass `group` has brought them together.
    pub(super) fn sample_batch(&mut self, stmts: &[Stmt]) -> Result<usize, CompileError> {
        let Some(Stmt::Inst(first)) = stmts.first() else {
            return Ok(0);
        };
        let head = &self.f.insts[*first];
        let Op::Sample { texture, sampler, op } = head.op else {
            return Ok(0);
        };
        if !op.compare || op.gather.is_some() || texture.indexed || sampler.indexed {
            return Ok(0);
        }
        let members: Vec<InstId> = stmts
            .iter()
            .map_while(|stmt| match stmt {
                Stmt::Inst(id) if self.f.insts[*id].op == head.op && !self.done[id.index()] => Some(*id),
                _ => None,
            })
            .collect();
        let plan = plan(
            &op,
            &members.iter().map(|&id| &self.f.insts[id].args[..]).collect::<Vec<_>>(),
        );
        let Some(plan) = plan else { return Ok(0) };
        let members = &members[..plan.slots.len()];
        for &id in members {
            self.done[id.index()] = true;
            self.instructions += 1;
            let inst = &self.f.insts[id];
            for value in inst.results().chain(inst.args.iter().copied()) {
                self.check_kind(self.f.kind(value), inst.span)?;
            }
        }
        let args: Vec<cl::Value> = plan.args.iter().map(|&arg| self.lane(arg)).collect();
        let mask = self.exec_mask();
        self.put_args(mask, &args);
        let mut none: &[Value] = &[];
        let (first, second) = (self.slot(texture, &mut none), self.slot(sampler, &mut none));
        let (first, second) = (self.slot_address(&first), self.slot_address(&second));
        let pointer = self
            .b
            .ins()
            .load(types::I64, super::CONSTANT, first, offset_of!(Binding, sample_n) as i32);
        let each = self
            .b
            .ins()
            .iconst(types::I64, sample_each as *const () as usize as i64);
        let pointer = self.b.ins().select(pointer, pointer, each);
        self.call_pointer(pointer, first, second, op.encode() | plan.batch.encode());
        let residency = RESULT_CELL + members.len();
        for (&id, &slot) in members.iter().zip(&plan.slots) {
            for (i, result) in self.f.insts[id].results().enumerate() {
                let cell = if i == 0 { RESULT_CELL + slot } else { residency };
                let v = self.take_cell(cell, Self::lane_type(self.f.kind(result)));
                self.set(result, Val::Lane(v));
            }
        }
        Ok(members.len())
    }

    pub(super) fn texel_load(&mut self, inst: &Inst, texture: ResourceRef, op: TexelOp) -> Result<(), CompileError> {
        let mut args = &inst.args[..];
        let first = self.slot(texture, &mut args);
        let mask = self.exec_mask();
        self.call(Call {
            first,
            second: None,
            function: offset_of!(Binding, load) as i32,
            op: op.encode(),
            args,
            mask,
        });
        self.take_results(inst);
        Ok(())
    }

    pub(super) fn texel_store(&mut self, inst: &Inst, texture: ResourceRef, op: TexelOp) -> Result<(), CompileError> {
        let mut args = &inst.args[..];
        let first = self.slot(texture, &mut args);
        let mask = self.storing_mask();
        self.call(Call {
            first,
            second: None,
            function: offset_of!(Binding, store) as i32,
            op: op.encode(),
            args,
            mask,
        });
        Ok(())
    }

    /// Active lanes that aren't helpers.
    pub(super) fn storing_mask(&mut self) -> cl::Value {
        match self.helper_var {
            Some(helper) => {
                let helper = self.b.use_var(helper);
                self.exec_and_not(helper)
            }
            None => self.exec_mask(),
        }
    }

    fn take_results(&mut self, inst: &Inst) {
        for (i, result) in inst.results().enumerate() {
            let ty = Self::lane_type(self.f.kind(result));
            let v = self.take_cell(RESULT_CELL + i, ty);
            self.set(result, Val::Lane(v));
        }
    }

    fn call(&mut self, call: Call<'_>) {
        let args: Vec<cl::Value> = call.args.iter().take(MAX_ARGS).map(|&arg| self.lane(arg)).collect();
        let differing = |s: &Slot| matches!(s, Slot::Lanes { .. });
        if !differing(&call.first) && !call.second.as_ref().is_some_and(differing) {
            self.put_args(call.mask, &args);
            let first = self.slot_address(&call.first);
            let second = match &call.second {
                Some(slot) => self.slot_address(slot),
                None => self.b.ins().iconst(types::I64, 0),
            };
            self.call_bindings(first, second, call.function, call.op);
            return;
        }
        self.call_by_element(&call, &args);
    }

    fn put_args(&mut self, mask: cl::Value, args: &[cl::Value]) {
        self.put_cell(0, mask);
        for (i, &arg) in args.iter().enumerate() {
            self.put_cell(1 + i, arg);
        }
    }

    /// A call whose texture or sampler differs by lane: one call for each pair of elements that occurs.
    ///
    /// What must outlive a call stands in cells of the program's own: the results of lanes served so far, those that
    /// still wait, the present group of equal elements, and the elements.
    fn call_by_element(&mut self, call: &Call<'_>, args: &[cl::Value]) {
        const RESULTS: usize = 5;
        let sum = self.extra_cells(RESULTS + 4);
        let waiting_cell = sum + RESULTS;
        let group_cell = waiting_cell + 1;
        let (element_cell, element_cell_2) = (waiting_cell + 2, waiting_cell + 3);
        let zero = self.splat_bits(0, false);
        for i in 0..RESULTS {
            self.put_cell(sum + i, zero);
        }
        // Inactive lanes are served too: they may feed a quad read.
        let all = self.splat_bits(u32::MAX, false);
        self.put_cell(waiting_cell, all);
        let elements = |slot: Option<&Slot>| match slot {
            Some(Slot::Lanes { index, .. }) => Some(*index),
            _ => None,
        };
        let first_elements = elements(Some(&call.first));
        let second_elements = elements(call.second.as_ref());
        if let Some(index) = first_elements {
            self.put_cell(element_cell, index);
        }
        if let Some(index) = second_elements {
            self.put_cell(element_cell_2, index);
        }
        self.lane_loop(|e, address, _| {
            let serve = e.b.create_block();
            let next = e.b.create_block();
            let waiting =
                e.b.ins()
                    .load(types::I32, MEMORY, address, waiting_cell as i32 * super::CELL);
            e.b.ins().brif(waiting, serve, &[], next, &[]);
            e.enter(serve);
            let rest = e.take_cell(waiting_cell, types::I32X4);
            let mut group = rest;
            let mut pick = |e: &mut Self, slot: Option<&Slot>, cell: usize| match slot {
                None => e.b.ins().iconst(types::I64, 0),
                Some(Slot::Lanes { first, .. }) => {
                    let element = e.b.ins().load(types::I32, MEMORY, address, cell as i32 * super::CELL);
                    let all = e.b.ins().splat(types::I32X4, element);
                    let lanes = e.take_cell(cell, types::I32X4);
                    let same = e.icmp(IntCC::Equal, lanes, all);
                    group = e.b.ins().band(group, same);
                    e.element_address(*first, element)
                }
                Some(slot) => e.slot_address(slot),
            };
            let first = pick(e, Some(&call.first), element_cell);
            let second = pick(e, call.second.as_ref(), element_cell_2);
            let mask = e.b.ins().band(group, call.mask);
            e.put_args(mask, args);
            e.put_cell(group_cell, group);
            let left = e.b.ins().band_not(rest, group);
            e.put_cell(waiting_cell, left);
            e.call_bindings(first, second, call.function, call.op);
            let group = e.take_cell(group_cell, types::I32X4);
            for i in 0..RESULTS {
                let new = e.take_cell(RESULT_CELL + i, types::I32X4);
                let old = e.take_cell(sum + i, types::I32X4);
                let v = e.b.ins().bitselect(group, new, old);
                e.put_cell(sum + i, v);
            }
            e.b.ins().jump(next, &[]);
            e.enter(next);
        });
        for i in 0..RESULTS {
            let v = self.take_cell(sum + i, types::I32X4);
            self.put_cell(RESULT_CELL + i, v);
        }
    }

    /// Calls the function that the first binding names; where there is none, all results are 0.
    fn call_bindings(&mut self, first: cl::Value, second: cl::Value, function: i32, op: u64) {
        let pointer = self.b.ins().load(types::I64, super::CONSTANT, first, function);
        let call = self.b.create_block();
        let none = self.b.create_block();
        let done = self.b.create_block();
        self.b.set_cold_block(none);
        self.b.ins().brif(pointer, call, &[], none, &[]);
        self.enter(none);
        let zero = self.splat_bits(0, false);
        for i in 0..5 {
            self.put_cell(RESULT_CELL + i, zero);
        }
        self.b.ins().jump(done, &[]);
        self.enter(call);
        self.call_pointer(pointer, first, second, op);
        self.b.ins().jump(done, &[]);
        self.enter(done);
    }

    /// Calls an intrinsic.
    fn call_pointer(&mut self, pointer: cl::Value, first: cl::Value, second: cl::Value, op: u64) {
        let sig = match self.call_sig {
            Some(sig) => sig,
            None => {
                let mut sig = Signature::new(self.target.isa(true).default_call_conv());
                sig.params
                    .extend([types::I64, types::I64, types::I64, types::I64, types::I32].map(AbiParam::new));
                *self.call_sig.insert(self.b.import_signature(sig))
            }
        };
        let op = self.b.ins().iconst(types::I64, op as i64);
        let lanes = self.b.ins().iconst(types::I32, i64::from(self.lanes));
        let scratch = self.env().scratch;
        self.b
            .ins()
            .call_indirect(sig, pointer, &[first, second, op, scratch, lanes]);
    }

    /// `x*y + z` rounded once, without the instruction.
    pub(super) fn soft_fma(&mut self, x: cl::Value, y: cl::Value, z: cl::Value) -> cl::Value {
        if matches!(self.exec, Exec::Empty) {
            return x;
        }
        self.soft_fma_cell(x, y, z);
        self.take_cell(RESULT_CELL, types::F32X4)
    }

    pub(super) fn soft_fma_cell(&mut self, x: cl::Value, y: cl::Value, z: cl::Value) {
        for (i, v) in [x, y, z].into_iter().enumerate() {
            self.put_cell(1 + i, v);
        }
        let mut sig = Signature::new(self.target.isa(true).default_call_conv());
        sig.params.extend([types::I64, types::I32].map(AbiParam::new));
        let sig = self.b.import_signature(sig);
        let function = self.b.ins().iconst(types::I64, fma_cells as *const () as usize as i64);
        let lanes = self.b.ins().iconst(types::I32, i64::from(self.lanes));
        let scratch = self.env().scratch;
        self.b.ins().call_indirect(sig, function, &[scratch, lanes]);
    }

    /// Scratch cells of the program's own.
    pub(super) fn extra_cells(&mut self, count: usize) -> usize {
        let first = self.scratch_cells;
        self.scratch_cells += count;
        first
    }
}

/// How samples share a call.
struct Plan {
    batch: SampleBatch,
    /// Operands in the order of [`SampleBatch`].
    args: Vec<Value>,
    /// Number of each sample within the batch.
    slots: Vec<usize>,
}

/// A grid of all samples, or a list of as many as fit; `None` if that is not more than one.
fn plan(op: &SampleOp, samples: &[&[Value]]) -> Option<Plan> {
    let samples = &samples[..samples.len().min(SampleBatch::MAX)];
    if samples.len() < 2 {
        return None;
    }
    if op.dim == Dim::D2
        && let Some(plan) = grid(samples)
    {
        return Some(plan);
    }
    let count = samples.len().min(MAX_ARGS / op.arg_count());
    (count > 1).then(|| Plan {
        batch: SampleBatch {
            count: count as u8,
            columns: 0,
        },
        args: samples[..count].concat(),
        slots: (0..count).collect(),
    })
}

/// The samples as every pairing of some u's with some v's.
fn grid(samples: &[&[Value]]) -> Option<Plan> {
    let shared = &samples.first()?[2..];
    let mut sides: [Vec<Value>; 2] = [Vec::new(), Vec::new()];
    let mut places = Vec::with_capacity(samples.len());
    for sample in samples {
        if &sample[2..] != shared {
            return None;
        }
        let mut place = [0; 2];
        for (c, side) in sides.iter_mut().enumerate() {
            place[c] = side.iter().position(|v| *v == sample[c]).unwrap_or_else(|| {
                side.push(sample[c]);
                side.len() - 1
            });
        }
        places.push(place);
    }
    let [columns, rows] = [sides[0].len(), sides[1].len()];
    let slots: Vec<usize> = places.iter().map(|[u, v]| v * columns + u).collect();
    let mut seen = vec![false; columns * rows];
    slots.iter().for_each(|&slot| seen[slot] = true);
    let args: Vec<Value> = sides.concat().into_iter().chain(shared.iter().copied()).collect();
    let fits = columns.max(rows) <= SampleBatch::MAX_SIDE && args.len() <= MAX_ARGS;
    (fits && samples.len() == columns * rows && !seen.contains(&false)).then_some(Plan {
        batch: SampleBatch {
            count: samples.len() as u8,
            columns: columns as u8,
        },
        args,
        slots,
    })
}

/// Fused multiply-add of cells 1, 2 and 3 into the first result cell, lane by lane, on CPUs without the instruction.
///
/// # Safety
/// `cells` must have [`crate::abi::CALL_CELLS`] cells.
unsafe extern "C" fn fma_cells(cells: *mut Cell, lanes: u32) {
    // SAFETY: the caller gives the context's scratch.
    let cells = unsafe { std::slice::from_raw_parts_mut(cells, crate::abi::CALL_CELLS) };
    for lane in 0..(lanes as usize).min(8) {
        let [x, y, z] = [1, 2, 3].map(|i| f32::from_bits(cells[i].0[lane]));
        cells[RESULT_CELL].0[lane] = libm::fmaf(x, y, z).to_bits();
    }
}
