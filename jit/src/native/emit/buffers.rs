//! Buffers and resource slots: bounds are checked for every lane by itself, in scalar code (law L5).

use super::{CELL, CONSTANT, Emitter, MEMORY, Val, ZEROS};
use crate::abi::{Binding, RESULT_CELL, TextureInfo};
use crate::program::CompileError;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self as cl, AtomicRmwOp, InstBuilder, MemFlagsData, types};
use quadrille_frontend::ir::{Access, AtomicOp, Inst, InstId, Kind, OutOfBounds, ResourceRef, TextureQuery, Value};
use std::mem::offset_of;

/// Cells that lane loops use: the mask, byte offsets, array elements, values.
const MASK: usize = 0;
const OFFSET: usize = 1;
const ELEMENT: usize = 2;
const VALUE: usize = 3;
const VALUE_2: usize = 4;

const fn cell(n: usize) -> i32 {
    n as i32 * CELL
}

/// Which binding an instruction means.
pub(super) enum Slot {
    /// At this byte offset of the bindings.
    Fixed(i32),
    /// At this address.
    Address(cl::Value),
    /// By lane: the offset of the first element, and the clamped element of each lane.
    Lanes { first: i32, index: cl::Value },
}

/// A slot that is the same in all lanes, or whose element a lane loop reads from its cell.
#[derive(Clone, Copy)]
enum Place {
    Known { base: cl::Value, size: cl::Value },
    ByLane { first: i32 },
}

impl Emitter<'_, '_> {
    /// Takes the element operand, if there is one, off the front of `args`.
    pub(super) fn slot(&mut self, r: ResourceRef, args: &mut &[Value]) -> Slot {
        let stride = size_of::<Binding>() as i64;
        let slot = self.program.slots[r.resource.index()];
        let first = i64::from(slot) * stride;
        if !r.indexed {
            return Slot::Fixed(first as i32);
        }
        let element = args[0];
        *args = &args[1..];
        let last = self.program.resources[r.resource].count.max(1) - 1;
        if let Some(c) = self.f.constant(element) {
            return Slot::Fixed((first + i64::from((c.bits as u32).min(last)) * stride) as i32);
        }
        if let Some(s) = self.scalar(element) {
            let last = self.b.ins().iconst(types::I32, i64::from(last));
            let clamped = self.b.ins().umin(s, last);
            return Slot::Address(self.element_address(first as i32, clamped));
        }
        let index = self.lane(element);
        let last = self.splat_bits(last, false);
        let index = self.b.ins().umin(index, last);
        Slot::Lanes {
            first: first as i32,
            index,
        }
    }

    /// Address of a binding by the (clamped) element of an array.
    pub(super) fn element_address(&mut self, first: i32, element: cl::Value) -> cl::Value {
        let wide = self.b.ins().uextend(types::I64, element);
        let bytes = self.b.ins().imul_imm_u(wide, size_of::<Binding>() as i64);
        let base = self.env().bindings;
        let address = self.b.ins().iadd(base, bytes);
        self.b.ins().iadd_imm_u(address, i64::from(first))
    }

    /// Address of a binding that is the same in all lanes.
    pub(super) fn slot_address(&mut self, slot: &Slot) -> cl::Value {
        match slot {
            Slot::Fixed(offset) => {
                let base = self.env().bindings;
                self.b.ins().iadd_imm_u(base, i64::from(*offset))
            }
            Slot::Address(address) => *address,
            Slot::Lanes { .. } => unreachable!("slots by lane go through a lane loop"),
        }
    }

    /// A pointer-sized field of a binding.
    fn field(&mut self, slot: &Slot, offset: usize) -> cl::Value {
        let (base, at) = match slot {
            Slot::Fixed(first) => (self.env().bindings, *first),
            other => (self.slot_address(other), 0),
        };
        self.b.ins().load(types::I64, CONSTANT, base, at + offset as i32)
    }

    fn place(&mut self, slot: &Slot) -> Place {
        match slot {
            Slot::Lanes { first, index } => {
                self.put_cell(ELEMENT, *index);
                Place::ByLane { first: *first }
            }
            slot => Place::Known {
                base: self.field(slot, offset_of!(Binding, data)),
                size: self.field(slot, offset_of!(Binding, size)),
            },
        }
    }

    /// Base and size in a lane loop.
    fn place_in_lane(&mut self, place: Place, lane: cl::Value) -> (cl::Value, cl::Value) {
        match place {
            Place::Known { base, size } => (base, size),
            Place::ByLane { first } => {
                let element = self.b.ins().load(types::I32, MEMORY, lane, cell(ELEMENT));
                let binding = self.element_address(first, element);
                let data = offset_of!(Binding, data) as i32;
                let size = offset_of!(Binding, size) as i32;
                (
                    self.b.ins().load(types::I64, CONSTANT, binding, data),
                    self.b.ins().load(types::I64, CONSTANT, binding, size),
                )
            }
        }
    }

    /// Address of a word, or of zeros if it isn't wholly inside.
    fn checked(
        &mut self,
        base: cl::Value,
        size: cl::Value,
        offset: cl::Value,
        bounds: OutOfBounds,
    ) -> (cl::Value, Option<cl::Value>) {
        let wide = self.b.ins().uextend(types::I64, offset);
        let address = self.b.ins().iadd(base, wide);
        if bounds == OutOfBounds::Proved {
            return (address, None);
        }
        let end = self.b.ins().iadd_imm_u(wide, 4);
        let inside = self.b.ins().icmp(IntCC::UnsignedLessThanOrEqual, end, size);
        (address, Some(inside))
    }

    fn word_or_zero(
        &mut self,
        base: cl::Value,
        size: cl::Value,
        offset: cl::Value,
        bounds: OutOfBounds,
        ty: cl::Type,
        flags: MemFlagsData,
    ) -> cl::Value {
        let (address, inside) = self.checked(base, size, offset, bounds);
        let address = match inside {
            None => address,
            Some(inside) => {
                let zeros = self.zeros();
                self.b.ins().select(inside, address, zeros)
            }
        };
        self.b.ins().load(ty, flags, address, 0)
    }

    fn zeros(&mut self) -> cl::Value {
        self.b.ins().iconst(types::I64, ZEROS.as_ptr().addr() as i64)
    }

    pub(super) fn buffer_load(
        &mut self,
        _: InstId,
        inst: &Inst,
        buffer: ResourceRef,
        kind: Kind,
        access: Access,
    ) -> Result<(), CompileError> {
        let mut args = &inst.args[..];
        let slot = self.slot(buffer, &mut args);
        let result = inst.result();
        let read_only = self.program.resources[buffer.resource].is_read_only();
        let flags = if read_only { CONSTANT } else { MEMORY };
        let offset = args[0];
        let lanes = matches!(slot, Slot::Lanes { .. });
        if let (Some(offset), false) = (self.scalar(offset), lanes) {
            let base = self.field(&slot, offset_of!(Binding, data));
            let size = self.field(&slot, offset_of!(Binding, size));
            let ty = Self::scalar_type(kind);
            let s = self.word_or_zero(base, size, offset, access.bounds, ty, flags);
            let val = if self.rates.scalar(result) {
                Val::Scalar(s)
            } else {
                Val::Lane(self.splat(s, kind))
            };
            self.set(result, val);
            return Ok(());
        }
        let place = self.place(&slot);
        let offset = self.lane_i(offset);
        self.put_cell(OFFSET, offset);
        self.lane_loop(|e, lane, _| {
            let offset = e.b.ins().load(types::I32, MEMORY, lane, cell(OFFSET));
            let (base, size) = e.place_in_lane(place, lane);
            let word = e.word_or_zero(base, size, offset, access.bounds, types::I32, flags);
            e.b.ins().store(MEMORY, word, lane, cell(RESULT_CELL));
        });
        let v = self.take_cell(RESULT_CELL, Self::lane_type(kind));
        self.set(result, Val::Lane(v));
        Ok(())
    }

    pub(super) fn buffer_store(
        &mut self,
        inst: &Inst,
        buffer: ResourceRef,
        access: Access,
    ) -> Result<(), CompileError> {
        let mut args = &inst.args[..];
        let slot = self.slot(buffer, &mut args);
        let place = self.place(&slot);
        let mask = self.storing_mask();
        let offset = self.lane_i(args[0]);
        let value = self.lane(args[1]);
        self.put_cell(MASK, mask);
        self.put_cell(OFFSET, offset);
        self.put_cell(VALUE, value);
        self.masked_lanes(place, access, |e, address, lane| {
            let value = e.b.ins().load(types::I32, MEMORY, lane, cell(VALUE));
            e.b.ins().store(MEMORY, value, address, 0);
        });
        Ok(())
    }

    /// A lane loop over the lanes of the mask cell whose offset is inside.
    fn masked_lanes(&mut self, place: Place, access: Access, each: impl FnOnce(&mut Self, cl::Value, cl::Value)) {
        self.lane_loop(|e, lane, _| {
            let active = e.b.create_block();
            let inside_block = e.b.create_block();
            let next = e.b.create_block();
            let mask = e.b.ins().load(types::I32, MEMORY, lane, cell(MASK));
            e.b.ins().brif(mask, active, &[], next, &[]);
            e.enter(active);
            let offset = e.b.ins().load(types::I32, MEMORY, lane, cell(OFFSET));
            let (base, size) = e.place_in_lane(place, lane);
            let (address, inside) = e.checked(base, size, offset, access.bounds);
            match inside {
                Some(inside) => e.b.ins().brif(inside, inside_block, &[], next, &[]),
                None => e.b.ins().jump(inside_block, &[]),
            };
            e.enter(inside_block);
            each(e, address, lane);
            e.b.ins().jump(next, &[]);
            e.enter(next);
        });
    }

    pub(super) fn buffer_atomic(
        &mut self,
        inst: &Inst,
        buffer: ResourceRef,
        op: AtomicOp,
        access: Access,
    ) -> Result<(), CompileError> {
        let mut args = &inst.args[..];
        let slot = self.slot(buffer, &mut args);
        let place = self.place(&slot);
        let mask = self.storing_mask();
        // Atomics are on whole words.
        let offset = self.lane_i(args[0]);
        let offset = if access.align >= 4 {
            offset
        } else {
            let whole = self.splat_bits(!3, false);
            self.b.ins().band(offset, whole)
        };
        self.put_cell(MASK, mask);
        self.put_cell(OFFSET, offset);
        for (i, &arg) in args[1..].iter().enumerate().take(2) {
            let v = self.lane_i(arg);
            self.put_cell(VALUE + i, v);
        }
        let zero = self.splat_bits(0, false);
        self.put_cell(RESULT_CELL, zero);
        self.put_cell(RESULT_CELL + 1, zero);
        self.masked_lanes(place, access, |e, address, lane| {
            let value = e.b.ins().load(types::I32, MEMORY, lane, cell(VALUE));
            let rmw = match op {
                AtomicOp::Add => AtomicRmwOp::Add,
                AtomicOp::Sub => AtomicRmwOp::Sub,
                AtomicOp::And => AtomicRmwOp::And,
                AtomicOp::Or => AtomicRmwOp::Or,
                AtomicOp::Xor => AtomicRmwOp::Xor,
                AtomicOp::SMin => AtomicRmwOp::Smin,
                AtomicOp::SMax => AtomicRmwOp::Smax,
                AtomicOp::UMin => AtomicRmwOp::Umin,
                AtomicOp::UMax => AtomicRmwOp::Umax,
                AtomicOp::Exchange => AtomicRmwOp::Xchg,
                AtomicOp::CompareExchange => {
                    let new = e.b.ins().load(types::I32, MEMORY, lane, cell(VALUE_2));
                    let old = e.b.ins().atomic_cas(MEMORY, address, value, new);
                    e.b.ins().store(MEMORY, old, lane, cell(RESULT_CELL));
                    let same = e.b.ins().icmp(IntCC::Equal, old, value);
                    let same = e.b.ins().bmask(types::I32, same);
                    e.b.ins().store(MEMORY, same, lane, cell(RESULT_CELL + 1));
                    return;
                }
            };
            let old = e.b.ins().atomic_rmw(types::I32, MEMORY, rmw, address, value);
            e.b.ins().store(MEMORY, old, lane, cell(RESULT_CELL));
        });
        for (i, result) in inst.results().enumerate() {
            let v = self.take_cell(RESULT_CELL + i, types::I32X4);
            self.set(result, Val::Lane(v));
        }
        Ok(())
    }

    pub(super) fn buffer_size(&mut self, inst: &Inst, buffer: ResourceRef) -> Result<(), CompileError> {
        let mut args = &inst.args[..];
        let slot = self.slot(buffer, &mut args);
        let result = inst.result();
        let clamp = |e: &mut Self, size: cl::Value| {
            let most = e.b.ins().iconst(types::I64, i64::from(u32::MAX));
            let size = e.b.ins().umin(size, most);
            e.b.ins().ireduce(types::I32, size)
        };
        match self.place(&slot) {
            Place::Known { size, .. } => {
                let size = clamp(self, size);
                self.set(result, Val::Scalar(size));
            }
            place @ Place::ByLane { .. } => {
                self.lane_loop(|e, lane, _| {
                    let (_, size) = e.place_in_lane(place, lane);
                    let size = clamp(e, size);
                    e.b.ins().store(MEMORY, size, lane, cell(RESULT_CELL));
                });
                let v = self.take_cell(RESULT_CELL, types::I32X4);
                self.set(result, Val::Lane(v));
            }
        }
        Ok(())
    }

    pub(super) fn texture_query(
        &mut self,
        inst: &Inst,
        texture: ResourceRef,
        query: TextureQuery,
    ) -> Result<(), CompileError> {
        let mut args = &inst.args[..];
        let slot = self.slot(texture, &mut args);
        let result = inst.result();
        let level = args.first().copied().filter(|_| query.takes_level());
        let by_lane = matches!(slot, Slot::Lanes { .. });
        let scalar_level = match level {
            Some(level) => self.scalar(level).map(Some),
            None => Some(None),
        };
        if let (Some(level), false) = (scalar_level, by_lane) {
            let info = self.field(&slot, offset_of!(Binding, info));
            let size = self.query(info, query, level);
            self.set(result, Val::Scalar(size));
            return Ok(());
        }
        let known = match &slot {
            Slot::Lanes { index, .. } => {
                self.put_cell(ELEMENT, *index);
                None
            }
            slot => Some(self.field(slot, offset_of!(Binding, info))),
        };
        if let Some(level) = level {
            let level = self.lane_i(level);
            self.put_cell(VALUE, level);
        }
        self.lane_loop(|e, lane, _| {
            let info = match (&slot, known) {
                (_, Some(info)) => info,
                (Slot::Lanes { first, .. }, None) => {
                    let element = e.b.ins().load(types::I32, MEMORY, lane, cell(ELEMENT));
                    let binding = e.element_address(*first, element);
                    let offset = offset_of!(Binding, info) as i32;
                    e.b.ins().load(types::I64, CONSTANT, binding, offset)
                }
                (_, None) => e.zeros(),
            };
            let level = level.map(|_| e.b.ins().load(types::I32, MEMORY, lane, cell(VALUE)));
            let size = e.query(info, query, level);
            e.b.ins().store(MEMORY, size, lane, cell(RESULT_CELL));
        });
        let v = self.take_cell(RESULT_CELL, types::I32X4);
        self.set(result, Val::Lane(v));
        Ok(())
    }

    /// A query of the info at an address that may be null.
    fn query(&mut self, info: cl::Value, query: TextureQuery, level: Option<cl::Value>) -> cl::Value {
        let zeros = self.zeros();
        let info = self.b.ins().select(info, info, zeros);
        let offset = match query {
            TextureQuery::Width => offset_of!(TextureInfo, width),
            TextureQuery::Height => offset_of!(TextureInfo, height),
            TextureQuery::Depth => offset_of!(TextureInfo, depth),
            TextureQuery::Layers => offset_of!(TextureInfo, layers),
            TextureQuery::Levels => offset_of!(TextureInfo, levels),
            TextureQuery::Samples => offset_of!(TextureInfo, samples),
        };
        let word = self.b.ins().load(types::I32, CONSTANT, info, offset as i32);
        let Some(level) = level else {
            return word;
        };
        let levels = offset_of!(TextureInfo, levels) as i32;
        let levels = self.b.ins().load(types::I32, CONSTANT, info, levels);
        let exists = self.b.ins().icmp(IntCC::UnsignedLessThan, level, levels);
        let shift = self.b.ins().band_imm_u(level, 31);
        let size = self.b.ins().ushr(word, shift);
        let one = self.b.ins().iconst(types::I32, 1);
        let size = self.b.ins().umax(size, one);
        let none = self.b.ins().iconst(types::I32, 0);
        self.b.ins().select(exists, size, none)
    }
}
