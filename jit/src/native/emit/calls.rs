//! Calls out of programs: samplers, texel access, and the exact software fma. Arguments and results travel in scratch
//! cells, so that one form serves 4 and 8 lanes (law S1).

use super::buffers::Slot;
use super::{Emitter, Exec, MEMORY, Val};
use crate::abi::{Binding, Cell, RESULT_CELL};
use crate::program::CompileError;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self as cl, AbiParam, InstBuilder, Signature, types};
use quadrille_frontend::ir::{Inst, ResourceRef, SampleOp, TexelOp, Value};
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
        self.b.ins().jump(done, &[]);
        self.enter(done);
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
