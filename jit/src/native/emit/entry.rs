//! The loops around a program's body, and the operations that only assembled pipeline programs have.

use super::{Budget, CELL, CONSTANT, Emitter, Env, Exec, LocalHome, MEMORY, Next, Val};
use crate::abi::{Context, Pair, Run, WidePair};
use crate::native::interleave::Region;
use crate::native::rates::Rate;
use crate::program::{CompileError, ProgramKind};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self as cl, InstBuilder, types};
use quadrille_frontend::ir::{Inst, Op, Stmt, Value};
use std::mem::offset_of;

impl Emitter<'_, '_> {
    /// The whole function.
    pub(super) fn program(&mut self) -> Result<(), CompileError> {
        let mut written = vec![false; self.f.locals.len()];
        for (_, inst) in self.f.insts.iter() {
            if let Op::LocalSet { local, .. } = inst.op {
                written[local.index()] = true;
            }
        }
        for (handle, local) in self.f.locals.iter() {
            self.check_kind(local.kind, None)?;
            let home = if !written[handle.index()] {
                LocalHome::Constant
            } else if self.rates.scalar_local(handle) {
                LocalHome::Scalar(self.b.declare_var(Self::scalar_type(local.kind)))
            } else {
                LocalHome::Lane(self.b.declare_var(Self::lane_type(local.kind)))
            };
            self.locals.push(home);
        }
        for (_, array) in self.f.arrays.iter() {
            self.check_kind(array.kind, None)?;
        }
        self.exec_var = self.b.declare_var(types::I32X4);
        let entry = self.b.create_block();
        self.b.append_block_params_for_function_params(entry);
        self.enter(entry);
        let ctx = self.b.block_params(entry)[0];
        let exit = self.b.create_block();
        self.env = Some(Env {
            ctx,
            bindings: self.context_word(ctx, offset_of!(Context, bindings)),
            draw: self.context_word(ctx, offset_of!(Context, draw)),
            scratch: self.context_word(ctx, offset_of!(Context, scratch)),
            exit,
            prim: None,
            pair: None,
            out: None,
            cells_in: None,
            lanes: ctx,
            after_body: exit,
        });
        self.place_arrays();
        match self.program.kind {
            ProgramKind::Fragment { .. } => self.fragment()?,
            ProgramKind::Vertex { cells_in, cells_out } => self.vertex(cells_in, cells_out)?,
        }
        // Whoever jumps here is done; the last loop falls through.
        let open = self.b.current_block().is_some_and(|b| !self.is_terminated(b));
        if open {
            self.b.ins().jump(exit, &[]);
        }
        self.enter(exit);
        self.b.ins().return_(&[]);
        Ok(())
    }

    fn is_terminated(&self, block: cl::Block) -> bool {
        let f = &self.b.func;
        f.layout
            .last_inst(block)
            .is_some_and(|i| f.dfg.insts[i].opcode().is_terminator())
    }

    fn context_word(&mut self, ctx: cl::Value, offset: usize) -> cl::Value {
        self.b.ins().load(types::I64, CONSTANT, ctx, offset as i32)
    }

    /// Emits the top-level instructions of a rate, which always run and can't be noticed, ahead of the body.
    fn hoist(&mut self, rate: Rate) -> Result<(), CompileError> {
        let f = self.f;
        for stmt in &f.body {
            let Stmt::Inst(id) = stmt else { continue };
            let inst = &f.insts[*id];
            let hoistable = inst.result_count > 0 && !matches!(inst.op, Op::Const(_));
            if hoistable && inst.results().all(|v| self.rates.value(v) == rate) {
                self.inst(*id)?;
            }
        }
        Ok(())
    }

    /// Ends the call early if the context's cancel flag is set.
    fn poll(&mut self) {
        let env = self.env();
        let flag = self.context_word(env.ctx, offset_of!(Context, cancel));
        // A null pointer reads lane 0's x, which is 0.
        let never = self.b.ins().iadd_imm_u(env.ctx, offset_of!(Context, lane_x) as i64);
        let flag = self.b.ins().select(flag, flag, never);
        let cancelled = self.b.ins().load(types::I32, MEMORY, flag, 0);
        let go_on = self.b.create_block();
        self.b.ins().brif(cancelled, env.exit, &[], go_on, &[]);
        self.enter(go_on);
    }

    /// `first` advanced by `stride` for each of `count` rounds; the closure emits a round with the present address.
    fn counted(
        &mut self,
        first: cl::Value,
        count: cl::Value,
        stride: i64,
        round: impl FnOnce(&mut Self, cl::Value) -> Result<(), CompileError>,
    ) -> Result<(), CompileError> {
        let head = self.b.create_block();
        let done = self.b.create_block();
        let at = self.b.append_block_param(head, types::I64);
        let left = self.b.append_block_param(head, types::I32);
        self.b.ins().brif(count, head, &[first.into(), count.into()], done, &[]);
        self.switch(head);
        round(self, at)?;
        let next = self.b.ins().iadd_imm_u(at, stride);
        let one = self.b.ins().iconst(types::I32, 1);
        let left = self.b.ins().isub(left, one);
        self.b.ins().brif(left, head, &[next.into(), left.into()], done, &[]);
        self.b.seal_block(head);
        self.enter(done);
        Ok(())
    }

    fn fragment(&mut self) -> Result<(), CompileError> {
        self.hoist(Rate::Draw)?;
        let env = self.env();
        let runs = self.context_word(env.ctx, offset_of!(Context, runs));
        let count = self
            .b
            .ins()
            .load(types::I32, CONSTANT, env.ctx, offset_of!(Context, count) as i32);
        let tile = self.context_word(env.ctx, offset_of!(Context, tile));
        let pair_size = if self.wide_pairs() {
            size_of::<WidePair>()
        } else {
            size_of::<Pair>()
        };
        let pair_size = pair_size as i64;
        self.counted(runs, count, size_of::<Run>() as i64, |e, run| {
            e.poll();
            let prim = e.b.ins().load(types::I64, CONSTANT, run, offset_of!(Run, prim) as i32);
            let pairs = e.b.ins().load(types::I64, CONSTANT, run, offset_of!(Run, pairs) as i32);
            let count = e.b.ins().load(types::I32, CONSTANT, run, offset_of!(Run, count) as i32);
            e.env = Some(Env {
                prim: Some(prim),
                ..env
            });
            e.hoist(Rate::Primitive)?;
            let env = Env {
                prim: Some(prim),
                ..env
            };
            let single = |e: &mut Self, pair: cl::Value| {
                let index =
                    e.b.ins()
                        .uload16(types::I64, CONSTANT, pair, offset_of!(Pair, index) as i32);
                let bytes = e.b.ins().imul_imm_u(index, i64::from(CELL));
                let out = e.b.ins().iadd(tile, bytes);
                e.steps(Env {
                    pair: Some(pair),
                    out: Some(out),
                    ..env
                })
            };
            if e.pairs == 1 {
                return e.counted(pairs, count, pair_size, single);
            }
            let couples = e.b.ins().ushr_imm_u(count, 1);
            let one = e.b.ins().iconst(types::I32, 1);
            let odd = e.b.ins().band(count, one);
            // The body is emitted twice; what was hoisted stays.
            let done = e.done.clone();
            let first = e.b.func.dfg.num_blocks() as u32;
            let mut copy = None;
            e.counted(pairs, couples, 2 * pair_size, |e, pair| {
                let pair = e.b.ins().iadd_imm_u(pair, 0);
                copy = Some(pair);
                single(e, pair)
            })?;
            let end = e.b.func.dfg.num_blocks() as u32;
            e.region = copy.map(|pair| Region {
                first,
                end,
                pair,
                stride: pair_size,
                counts: std::mem::take(&mut e.counts),
            });
            e.done = done;
            let couples = e.b.ins().uextend(types::I64, couples);
            let skipped = e.b.ins().imul_imm_u(couples, 2 * pair_size);
            let last = e.b.ins().iadd(pairs, skipped);
            e.counted(last, odd, pair_size, single)
        })
    }

    fn vertex(&mut self, cells_in: u32, cells_out: u32) -> Result<(), CompileError> {
        self.hoist(Rate::Draw)?;
        let env = self.env();
        let input = self.context_word(env.ctx, offset_of!(Context, cells_in));
        let output = self.context_word(env.ctx, offset_of!(Context, cells_out));
        let count = self
            .b
            .ins()
            .load(types::I32, CONSTANT, env.ctx, offset_of!(Context, count) as i32);
        let ratio = |cells: u32| i64::from(cells) * i64::from(CELL);
        let out_var = self.b.declare_var(types::I64);
        self.b.def_var(out_var, output);
        self.counted(input, count, ratio(cells_in), |e, cells| {
            e.poll();
            let out = e.b.use_var(out_var);
            e.steps(Env {
                cells_in: Some(cells),
                out: Some(out),
                ..env
            })?;
            let out = e.b.use_var(out_var);
            let next = e.b.ins().iadd_imm_u(out, ratio(cells_out));
            e.b.def_var(out_var, next);
            Ok(())
        })
    }

    /// The steps of a pair or group: one of 8 lanes, or two of 4, the second 16 bytes further in every cell.
    fn steps(&mut self, env: Env) -> Result<(), CompileError> {
        self.env = Some(env);
        if self.lanes == 8 {
            return self.step_body();
        }
        let head = self.b.create_block();
        let done = self.b.create_block();
        let step = self.b.append_block_param(head, types::I64);
        let zero = self.b.ins().iconst(types::I64, 0);
        self.b.ins().jump(head, &[zero.into()]);
        self.switch(head);
        let mut shift = |v: cl::Value| self.b.ins().iadd(v, step);
        let env = Env {
            lanes: shift(env.ctx),
            out: env.out.map(&mut shift),
            cells_in: env.cells_in.map(&mut shift),
            ..env
        };
        self.env = Some(env);
        let next_step = self.b.create_block();
        if let Some(pair) = env.pair {
            let shift = self.b.ins().ushr_imm_u(step, 2);
            let any = self.quad_coverage(pair, shift);
            let run = self.b.create_block();
            self.b.ins().brif(any, run, &[], next_step, &[]);
            self.enter(run);
        }
        self.step_body()?;
        self.b.ins().jump(next_step, &[]);
        self.enter(next_step);
        let next = self.b.ins().iadd_imm_u(step, i64::from(CELL / 2));
        let more = self.b.ins().icmp_imm_u(IntCC::UnsignedLessThan, next, i64::from(CELL));
        self.b.ins().brif(more, head, &[next.into()], done, &[]);
        self.b.seal_block(head);
        self.enter(done);
        Ok(())
    }

    /// The body once, for all lanes of a step.
    fn step_body(&mut self) -> Result<(), CompileError> {
        self.exec = Exec::Full;
        self.maybe_empty = false;
        let after = self.b.create_block();
        if let Some(env) = &mut self.env {
            env.after_body = after;
        }
        self.pass_exec();
        if self.flow.budgeted_loops() > 0 {
            let total = self.b.declare_var(types::I32);
            let lanes = self.b.declare_var(types::I32X4);
            let zero = self.b.ins().iconst(types::I32, 0);
            self.b.def_var(total, zero);
            let zero = self.splat_bits(0, false);
            self.b.def_var(lanes, zero);
            self.budget = Some(Budget { total, lanes });
        }
        self.init_locals();
        self.init_arrays();
        self.init_helper();
        let f = self.f;
        let next = self.body(&f.body, None)?;
        if next != Next::Ended {
            self.b.ins().jump(after, &[]);
        }
        self.enter(after);
        Ok(())
    }

    /// Which lanes start as helpers: those without any covered sample.
    fn init_helper(&mut self) {
        let needed = self.f.insts.iter().any(|(_, inst)| {
            matches!(
                inst.op,
                Op::Discard
                    | Op::IsHelper
                    | Op::SetHelper
                    | Op::BufferStore { .. }
                    | Op::BufferAtomic { .. }
                    | Op::TexelStore { .. }
            )
        });
        if !needed {
            return;
        }
        let helper = match self.program.kind {
            ProgramKind::Fragment { samples, .. } => {
                let mut any: Option<cl::Value> = None;
                for sample in 0..samples.clamp(1, 16) {
                    let byte = self.coverage_byte(sample);
                    any = Some(match any {
                        Some(any) => self.b.ins().bor(any, byte),
                        None => byte,
                    });
                }
                match any {
                    Some(bits) => {
                        let covered = self.covered_lanes(bits);
                        self.b.ins().bnot(covered)
                    }
                    None => self.splat_bits(0, false),
                }
            }
            _ => self.splat_bits(0, false),
        };
        let variable = self.b.declare_var(types::I32X4);
        self.b.def_var(variable, helper);
        self.helper_var = Some(variable);
    }

    /// Non-zero if any sample is covered in the quad whose bits start at bit `shift` (0 or 4) of each coverage byte.
    fn quad_coverage(&mut self, pair: cl::Value, shift: cl::Value) -> cl::Value {
        let samples = match self.program.kind {
            ProgramKind::Fragment { samples, .. } => samples,
            _ => 1,
        };
        let at = self.coverage_offset();
        let b = &mut self.b;
        let bytes = match samples {
            0 | 1 => b.ins().uload8(types::I64, CONSTANT, pair, at),
            2 => b.ins().uload16(types::I64, CONSTANT, pair, at),
            3 | 4 => b.ins().uload32(CONSTANT, pair, at),
            5..=8 => b.ins().load(types::I64, CONSTANT, pair, at),
            _ => {
                let low = b.ins().load(types::I64, CONSTANT, pair, at);
                let high = b.ins().load(types::I64, CONSTANT, pair, at + 8);
                b.ins().bor(low, high)
            }
        };
        let quad = b.ins().iconst(types::I64, 0x0f0f_0f0f_0f0f_0f0f);
        let quad = b.ins().ishl(quad, shift);
        b.ins().band(bytes, quad)
    }

    /// Lanes of quads in which any sample is covered, if there may be others: a step of one quad runs only if it is.
    pub(super) fn covered_quads(&mut self) -> Option<cl::Value> {
        let pair = self.env().pair.filter(|_| self.lanes == 8)?;
        let halves = [0, 4].map(|shift| {
            let shift = self.b.ins().iconst(types::I64, shift);
            let any = self.quad_coverage(pair, shift);
            let any = self.b.ins().bmask(types::I32, any);
            self.b.ins().splat(types::I32X4, any)
        });
        let bits = self.lane_constant(offset_of!(Context, lane_bit));
        let limit = self.splat_bits(16, false);
        let first = self.icmp(IntCC::UnsignedLessThan, bits, limit);
        Some(self.blend(first, halves[0], halves[1]))
    }

    fn coverage_offset(&self) -> i32 {
        let offset = if self.wide_pairs() {
            offset_of!(WidePair, coverage)
        } else {
            offset_of!(Pair, coverage)
        };
        offset as i32
    }

    fn wide_pairs(&self) -> bool {
        matches!(self.program.kind, ProgramKind::Fragment { samples, .. } if samples > 4)
    }

    /// A sample's coverage of the pair, a bit per lane, zero-extended.
    fn coverage_byte(&mut self, sample: u8) -> cl::Value {
        let offset = self.coverage_offset();
        match self.env().pair {
            Some(pair) => self
                .b
                .ins()
                .uload8(types::I32, CONSTANT, pair, offset + i32::from(sample)),
            None => self.b.ins().iconst(types::I32, 0),
        }
    }

    /// Mask of the lanes whose bit is set.
    fn covered_lanes(&mut self, bits: cl::Value) -> cl::Value {
        let all = self.b.ins().splat(types::I32X4, bits);
        let lane = self.lane_constant(offset_of!(Context, lane_bit));
        let own = self.b.ins().band(all, lane);
        self.icmp(IntCC::Equal, own, lane)
    }

    /// This step's part of a context cell.
    fn lane_constant(&mut self, offset: usize) -> cl::Value {
        let base = self.env().lanes;
        self.b.ins().load(types::I32X4, CONSTANT, base, offset as i32)
    }

    fn pixel(&mut self, origin: usize, in_tile: usize, in_pair: usize, pair: cl::Value) -> cl::Value {
        let ctx = self.env().ctx;
        let origin = self.b.ins().load(types::I32, CONSTANT, ctx, origin as i32);
        let x = self.b.ins().uload8(types::I32, CONSTANT, pair, in_tile as i32);
        let x = self.b.ins().iadd(origin, x);
        let all = self.b.ins().splat(types::I32X4, x);
        let lane = self.lane_constant(in_pair);
        self.b.ins().iadd(all, lane)
    }

    /// Operations of assembled programs.
    pub(super) fn pipeline_op(&mut self, inst: &Inst) -> Result<(), CompileError> {
        let env = self.env();
        let span = inst.span;
        let elsewhere = |e: &Self, what: &str| e.unsupported(format!("{what} in {}", e.program_name()), span);
        match inst.op {
            Op::Discard => {
                if let Some(helper) = self.helper_var {
                    let old = self.b.use_var(helper);
                    let mask = self.exec_mask();
                    let v = self.b.ins().bor(old, mask);
                    self.b.def_var(helper, v);
                }
            }
            Op::IsHelper => {
                let v = match self.helper_var {
                    Some(helper) => self.b.use_var(helper),
                    None => self.splat_bits(0, false),
                };
                self.set(inst.result(), Val::Lane(v));
            }
            Op::SetHelper => {
                if let Some(helper) = self.helper_var {
                    let new = self.lane(inst.args[0]);
                    self.assign(helper, new, true);
                }
            }
            Op::DrawLoad { word, kind } => {
                let offset = self.offset(u64::from(word) * 4, span)?;
                let s = self.load_scalar(kind, CONSTANT, env.draw, offset);
                self.set_scalar_or_splat(inst.result(), s);
            }
            Op::PrimLoad { offset, kind } => {
                let Some(prim) = env.prim else {
                    return elsewhere(self, "a primitive's word");
                };
                let offset = self.offset(u64::from(offset), span)?;
                let s = self.load_scalar(kind, CONSTANT, prim, offset);
                self.set_scalar_or_splat(inst.result(), s);
            }
            Op::PrimVertexLoad { vertex, offset, kind } => {
                let Some(prim) = env.prim else {
                    return elsewhere(self, "a vertex attribute");
                };
                let offset = self.offset(u64::from(offset), span)?;
                let block = self.b.ins().load(types::I64, CONSTANT, prim, i32::from(vertex) * 8);
                let s = self.load_scalar(kind, CONSTANT, block, offset);
                self.set_scalar_or_splat(inst.result(), s);
            }
            Op::PixelX | Op::PixelY => {
                let Some(pair) = env.pair else {
                    return elsewhere(self, "a pixel position");
                };
                let v = if inst.op == Op::PixelX {
                    let (t, p, l) = (
                        offset_of!(Context, tile_x),
                        offset_of!(Pair, x),
                        offset_of!(Context, lane_x),
                    );
                    self.pixel(t, p, l, pair)
                } else {
                    let (t, p, l) = (
                        offset_of!(Context, tile_y),
                        offset_of!(Pair, y),
                        offset_of!(Context, lane_y),
                    );
                    self.pixel(t, p, l, pair)
                };
                self.set(inst.result(), Val::Lane(v));
            }
            Op::Coverage { sample } => {
                let samples = match self.program.kind {
                    ProgramKind::Fragment { samples, .. } => samples,
                    _ => 0,
                };
                if env.pair.is_none() || sample >= samples {
                    return elsewhere(self, &format!("coverage of sample {sample}"));
                }
                let bits = self.coverage_byte(sample);
                let v = self.covered_lanes(bits);
                self.set(inst.result(), Val::Lane(v));
            }
            Op::TileLoad { plane, kind } => {
                let Some((base, offset)) = self.plane(plane, inst)? else {
                    return elsewhere(self, "tile memory");
                };
                let v = self.b.ins().load(Self::lane_type(kind), MEMORY, base, offset);
                self.set(inst.result(), Val::Lane(v));
            }
            Op::TileStore { plane } => {
                let Some((base, offset)) = self.plane(plane, inst)? else {
                    return elsewhere(self, "tile memory");
                };
                self.tile_store(base, offset, inst.args[0], inst.args[1]);
            }
            Op::CellLoad { slot, kind } => {
                let Some(cells) = env.cells_in else {
                    return elsewhere(self, "an input cell");
                };
                let offset = self.offset(u64::from(slot) * CELL as u64, span)?;
                let v = self.b.ins().load(Self::lane_type(kind), CONSTANT, cells, offset);
                self.set(inst.result(), Val::Lane(v));
            }
            Op::CellStore { slot } => {
                let Some(cells) = env.out.filter(|_| env.cells_in.is_some()) else {
                    return elsewhere(self, "an output cell");
                };
                let offset = self.offset(u64::from(slot) * CELL as u64, span)?;
                let v = self.lane(inst.args[0]);
                self.b.ins().store(MEMORY, v, cells, offset);
            }
            Op::CountInvocations | Op::CountSamples => {
                let mask = self.lane(inst.args[0]);
                let mask = self.exec_and(mask);
                let bits = self.b.ins().vhigh_bits(types::I32, mask);
                let count = self.b.ins().popcnt(bits);
                let count = self.b.ins().uextend(types::I64, count);
                self.counts.push(count);
                let offset = match inst.op {
                    Op::CountSamples => offset_of!(Context, samples_passed),
                    _ => offset_of!(Context, invocations),
                } as i32;
                let old = self.b.ins().load(types::I64, MEMORY, env.ctx, offset);
                let sum = self.b.ins().iadd(old, count);
                self.b.ins().store(MEMORY, sum, env.ctx, offset);
            }
            _ => return elsewhere(self, "an operation"),
        }
        Ok(())
    }

    /// Address of this step's lanes in a tile plane.
    fn plane(&mut self, plane: u32, inst: &Inst) -> Result<Option<(cl::Value, i32)>, CompileError> {
        let (ProgramKind::Fragment { plane_stride, .. }, Some(out)) = (self.program.kind, self.env().out) else {
            return Ok(None);
        };
        let offset = self.offset(u64::from(plane) * u64::from(plane_stride), inst.span)?;
        Ok(Some((out, offset)))
    }

    fn tile_store(&mut self, base: cl::Value, offset: i32, value: Value, mask: Value) {
        let new = self.lane(value);
        match self.f.constant(mask) {
            Some(c) if c.bits == 0 => {}
            Some(_) if matches!(self.exec, Exec::Full) => {
                self.b.ins().store(MEMORY, new, base, offset);
            }
            constant => {
                let mask = match constant {
                    Some(_) => self.exec_mask(),
                    None => {
                        let mask = self.lane(mask);
                        self.exec_and(mask)
                    }
                };
                let ty = self.b.func.dfg.value_type(new);
                let old = self.b.ins().load(ty, MEMORY, base, offset);
                let v = self.blend(mask, new, old);
                self.b.ins().store(MEMORY, v, base, offset);
            }
        }
    }

    /// Where a direct return goes: the end of the body.
    pub(super) fn return_block(&self) -> cl::Block {
        self.env().after_body
    }
}
