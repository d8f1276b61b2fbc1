//! Mask arithmetic, blends, shuffles within the quad, and scalar loops over lanes.

use super::{BITS, CELL, Emitter, Exec, MEMORY};
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{self as cl, InstBuilder, InstructionData, Opcode, ValueDef, types};

impl Emitter<'_, '_> {
    /// The mask of active lanes as a vector.
    pub(super) fn exec_mask(&mut self) -> cl::Value {
        match self.exec {
            Exec::Full => self.splat_bits(u32::MAX, false),
            Exec::Mask(mask) => mask,
            Exec::Empty => self.splat_bits(0, false),
        }
    }

    /// `exec & mask`.
    pub(super) fn exec_and(&mut self, mask: cl::Value) -> cl::Value {
        match self.exec {
            Exec::Full => mask,
            Exec::Mask(exec) => self.b.ins().band(exec, mask),
            Exec::Empty => self.splat_bits(0, false),
        }
    }

    /// `exec & !mask`.
    pub(super) fn exec_and_not(&mut self, mask: cl::Value) -> cl::Value {
        match self.exec {
            Exec::Full => self.b.ins().bnot(mask),
            Exec::Mask(exec) => self.b.ins().band_not(exec, mask),
            Exec::Empty => self.splat_bits(0, false),
        }
    }

    /// 8-bit truth of "some lane of the mask is set".
    pub(super) fn any(&mut self, mask: cl::Value) -> cl::Value {
        self.b.ins().vany_true(mask)
    }

    /// Which comparison made the mask, if one did directly: then a blend is one instruction.
    fn comparison(&self, mask: cl::Value) -> Option<Opcode> {
        match self.b.func.dfg.value_def(mask) {
            ValueDef::Result(inst, 0) => match self.b.func.dfg.insts[inst] {
                InstructionData::FloatCompare { opcode, .. } | InstructionData::IntCompare { opcode, .. } => {
                    Some(opcode)
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// `mask ? x : y`, bits unchanged; the operands are of one vector type, which is the result's.
    pub(super) fn blend(&mut self, mask: cl::Value, x: cl::Value, y: cl::Value) -> cl::Value {
        let ty = self.b.func.dfg.value_type(x);
        if ty == types::I32X4 {
            return self.b.ins().bitselect(mask, x, y);
        }
        // Through one bitcast only float comparisons are seen.
        if self.comparison(mask) == Some(Opcode::Icmp) {
            let (x, y) = (self.as_i(x), self.as_i(y));
            let v = self.b.ins().bitselect(mask, x, y);
            return self.b.ins().bitcast(ty, BITS, v);
        }
        let mask = self.b.ins().bitcast(ty, BITS, mask);
        self.b.ins().bitselect(mask, x, y)
    }

    /// A comparison of float vectors.
    pub(super) fn fcmp(&mut self, cc: FloatCC, x: cl::Value, y: cl::Value) -> cl::Value {
        self.b.ins().fcmp(cc, x, y)
    }

    /// A comparison of integer vectors.
    pub(super) fn icmp(&mut self, cc: IntCC, x: cl::Value, y: cl::Value) -> cl::Value {
        self.b.ins().icmp(cc, x, y)
    }

    /// Picks lanes of `x` (0..4) and `y` (4..8) within the quad.
    pub(super) fn shuffle(&mut self, x: cl::Value, y: cl::Value, lanes: [u8; 4]) -> cl::Value {
        let ty = self.b.func.dfg.value_type(x);
        let bytes: Vec<u8> = lanes.iter().flat_map(|&l| (0..4).map(move |b| l * 4 + b)).collect();
        let mask = self
            .b
            .func
            .dfg
            .immediates
            .push(cl::ConstantData::from(bytes.as_slice()));
        let xb = self.b.ins().bitcast(types::I8X16, BITS, x);
        let yb = if x == y {
            xb
        } else {
            self.b.ins().bitcast(types::I8X16, BITS, y)
        };
        let v = self.b.ins().shuffle(xb, yb, mask);
        self.b.ins().bitcast(ty, BITS, v)
    }

    /// Address of the scratch area with an offset, as base and displacement.
    pub(super) fn scratch(&self, cell: usize) -> (cl::Value, i32) {
        (self.env().scratch, cell as i32 * CELL)
    }

    /// Writes a vector to a scratch cell.
    pub(super) fn put_cell(&mut self, cell: usize, v: cl::Value) {
        let (base, offset) = self.scratch(cell);
        self.b.ins().store(MEMORY, v, base, offset);
    }

    /// Reads a vector from a scratch cell.
    pub(super) fn take_cell(&mut self, cell: usize, ty: cl::Type) -> cl::Value {
        let (base, offset) = self.scratch(cell);
        self.b.ins().load(ty, MEMORY, base, offset)
    }

    /// A scalar loop over the step's lanes (law L5). The closure gets the address of the lane's word in scratch cell
    /// 0 (cell k is `k * 32` further) and the lane's byte offset.
    pub(super) fn lane_loop(&mut self, each: impl FnOnce(&mut Self, cl::Value, cl::Value)) {
        let head = self.b.create_block();
        let done = self.b.create_block();
        let lane = self.b.append_block_param(head, types::I64);
        let zero = self.b.ins().iconst(types::I64, 0);
        self.b.ins().jump(head, &[zero.into()]);
        self.switch(head);
        let scratch = self.env().scratch;
        let address = self.b.ins().iadd(scratch, lane);
        each(self, address, lane);
        let next = self.b.ins().iadd_imm_u(lane, 4);
        let more = self
            .b
            .ins()
            .icmp_imm_u(IntCC::UnsignedLessThan, next, i64::from(self.lanes * 4));
        self.b.ins().brif(more, head, &[next.into()], done, &[]);
        self.b.seal_block(head);
        self.enter(done);
    }
}
