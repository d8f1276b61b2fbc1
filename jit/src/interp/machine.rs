//! Runs the compact program, one quad after the other.

use super::Watched;
use super::code::{Code, Inst, Pc, Reg, Slot};
use super::lanes::{Lanes, alu1, alu2, alu3, quad};
use super::memory::{Memory, PairData};
use super::watch::{Quad, Step};
use crate::abi::{Binding, Context};
use crate::program::ProgramKind;
use quadrille_frontend::ir::{AtomicOp, TextureQuery};

/// Runs a program over everything the context names.
///
/// # Safety
/// As [`crate::program::Compiled::run`].
pub(super) unsafe fn run(kind: ProgramKind, code: &Code, watched: Option<&Watched>, context: &mut Context) {
    // SAFETY: the caller's promise.
    let memory = unsafe { Memory::new(context) };
    let mut m = Machine {
        code,
        watched,
        memory,
        registers: vec![[0; 4]; code.registers],
        masks: vec![0; code.masks],
        arrays: vec![[0; 4]; code.array_words],
        loops: [0; 4],
        active: 0,
        helpers: 0,
        place: Place::default(),
    };
    for &(reg, bits) in &code.constants {
        m.registers[reg as usize] = [bits; 4];
    }
    match kind {
        ProgramKind::Fragment { .. } => m.fragments(),
        ProgramKind::Vertex { .. } => m.vertices(),
    }
}

/// Where the quad in hand is.
#[derive(Clone, Copy)]
struct Place {
    prim: *const u8,
    pair: PairData,
    step: usize,
    group: usize,
}

impl Default for Place {
    fn default() -> Self {
        Place {
            prim: std::ptr::null(),
            pair: PairData {
                index: 0,
                x: 0,
                y: 0,
                coverage: [0; 16],
            },
            step: 0,
            group: 0,
        }
    }
}

struct Machine<'a> {
    code: &'a Code,
    watched: Option<&'a Watched>,
    memory: Memory<'a>,
    registers: Vec<Lanes>,
    /// Lane sets of the constructs, bit i = lane i.
    masks: Vec<u8>,
    arrays: Vec<Lanes>,
    /// Iterations that each lane spent in budgeted loops.
    loops: [u32; 4],
    active: u8,
    helpers: u8,
    place: Place,
}

const ALL: u8 = 15;

fn lanes_of(mask: u8) -> Lanes {
    std::array::from_fn(|i| if mask >> i & 1 != 0 { u32::MAX } else { 0 })
}

fn mask_of(lanes: Lanes) -> u8 {
    (0..4).fold(0, |m, i| m | u8::from(lanes[i] != 0) << i)
}

impl Machine<'_> {
    fn fragments(&mut self) {
        for r in 0..self.memory.context.count {
            if self.memory.cancelled() {
                return;
            }
            let run = self.memory.run(r);
            self.place.prim = run.prim;
            for p in 0..run.count {
                self.place.pair = self.memory.pair(&run, p, self.code.wide_pairs);
                for step in 0..2 {
                    let covered = self.place.pair.coverage[..self.code.samples]
                        .iter()
                        .fold(0, |a, c| a | c >> (4 * step))
                        & ALL;
                    // A quad without a covered lane is all helpers: nothing can observe it.
                    if covered == 0 {
                        continue;
                    }
                    self.place.step = step;
                    self.helpers = !covered & ALL;
                    if !self.invocation() {
                        return;
                    }
                }
            }
        }
    }

    fn vertices(&mut self) {
        for group in 0..self.memory.context.count as usize {
            if self.memory.cancelled() {
                return;
            }
            for step in 0..2 {
                self.place.group = group;
                self.place.step = step;
                // Nobody begins as a helper.
                self.helpers = 0;
                if !self.invocation() {
                    return;
                }
            }
        }
    }

    /// Runs the program for one quad; false if a loop ran out of budget.
    fn invocation(&mut self) -> bool {
        let code = self.code;
        for &(reg, bits) in &code.inits {
            self.registers[reg as usize] = [bits; 4];
        }
        for array in 0..code.arrays.len() {
            self.reset_array(array, ALL);
        }
        self.loops = [0; 4];
        self.active = ALL;
        if let Some(watched) = self.watched
            && let Some(quad) = self.quad()
            && watched.watch.wants(quad, &watched.program)
        {
            return self.watched_invocation(watched, quad);
        }
        let mut pc = 0;
        while let Some(inst) = code.insts.get(pc) {
            pc = match self.step(inst, pc) {
                Some(next) => next,
                None => return false,
            };
        }
        true
    }

    /// The quad in hand, of a fragment program.
    fn quad(&self) -> Option<Quad> {
        if self.place.prim.is_null() {
            return None;
        }
        let context = &self.memory.context;
        Some(Quad {
            tag: context.tag,
            x: context.tile_x + self.place.pair.x + context.lane_x.0[4 * self.place.step],
            y: context.tile_y + self.place.pair.y + context.lane_y.0[4 * self.place.step],
            helpers: self.helpers,
        })
    }

    fn watched_invocation(&mut self, watched: &Watched, quad: Quad) -> bool {
        let code = self.code;
        let mut pc = 0;
        while let Some(inst) = code.insts.get(pc) {
            let active = self.active;
            let next = self.step(inst, pc);
            if let Some(what) = code.origins[pc]
                && active != 0
            {
                watched.watch.step(&Step {
                    quad,
                    program: &watched.program,
                    what,
                    active,
                    helpers: self.helpers,
                    registers: &self.registers,
                });
            }
            pc = match next {
                Some(next) => next,
                None => return false,
            };
        }
        true
    }

    fn get(&self, reg: Reg) -> Lanes {
        self.registers[reg as usize]
    }

    fn put(&mut self, reg: Reg, lanes: Lanes) {
        self.registers[reg as usize] = lanes;
    }

    fn reset_array(&mut self, array: usize, mask: u8) {
        let a = &self.code.arrays[array];
        for i in 0..a.len as usize {
            let init = a.init.get(i).copied().unwrap_or(0);
            for lane in 0..4 {
                if mask >> lane & 1 != 0 {
                    self.arrays[a.first + i][lane] = init;
                }
            }
        }
    }

    fn element(&self, array: u32, index: u32) -> usize {
        let a = &self.code.arrays[array as usize];
        a.first + index.min(a.len - 1) as usize
    }

    /// The binding a lane sees: elements of binding arrays are clamped.
    fn binding(&self, slot: Slot, lane: usize) -> Binding {
        let element = slot.element.map_or(0, |r| self.get(r)[lane].min(slot.count - 1));
        self.memory.binding(slot.first + element)
    }

    /// Groups of lanes that see the same elements of both slots, as exec masks: one group unless indices diverge.
    fn groups(&self, a: Slot, b: Option<Slot>) -> Vec<(usize, u8)> {
        let key = |lane: usize| {
            let of = |s: Slot| s.element.map_or(0, |r| self.get(r)[lane].min(s.count - 1));
            (of(a), b.map_or(0, of))
        };
        let mut groups: Vec<(usize, u8)> = Vec::new();
        for lane in 0..4 {
            match groups.iter_mut().find(|(first, _)| key(*first) == key(lane)) {
                Some((_, mask)) => *mask |= 1 << lane,
                None => groups.push((lane, 1 << lane)),
            }
        }
        groups
    }

    fn merge(&mut self, reg: Reg, mask: u8, lanes: Lanes) {
        for (lane, value) in lanes.iter().enumerate() {
            if mask >> lane & 1 != 0 {
                self.registers[reg as usize][lane] = *value;
            }
        }
    }

    /// One instruction; the next one's index, or `None` to stop the run.
    fn step(&mut self, inst: &Inst, pc: usize) -> Option<usize> {
        let jump = |to: Pc| Some(to as usize);
        match inst {
            Inst::Alu1(op, to, a) => self.put(*to, alu1(*op, self.get(*a))),
            Inst::Alu2(op, to, a, b) => self.put(*to, alu2(*op, self.get(*a), self.get(*b))),
            Inst::Alu3(op, to, a, b, c) => self.put(*to, alu3(*op, self.get(*a), self.get(*b), self.get(*c))),
            Inst::Move(to, from) => self.put(*to, self.get(*from)),
            Inst::Quad { op, float, to, from } => self.put(*to, quad(*op, *float, self.get(*from))),
            Inst::Set(to, from) => {
                let lanes = self.get(*from);
                self.merge(*to, self.active, lanes);
            }
            Inst::If { cond, saved, otherwise } => {
                self.masks[*saved as usize] = self.active;
                self.active &= mask_of(self.get(*cond));
                if self.active == 0 {
                    return jump(*otherwise);
                }
            }
            Inst::Else { cond, saved, then, end } => {
                self.masks[*then as usize] = self.active;
                self.active = self.masks[*saved as usize] & !mask_of(self.get(*cond));
                if self.active == 0 {
                    return jump(*end);
                }
            }
            Inst::EndIf { then } => self.active |= self.masks[*then as usize],
            Inst::Block { broken } => self.masks[*broken as usize] = 0,
            Inst::EndBlock { broken } => self.active |= self.masks[*broken as usize],
            Inst::Loop { broken, end } => {
                self.masks[*broken as usize] = 0;
                if self.active == 0 {
                    return jump(*end);
                }
            }
            Inst::Iterate { continued, budget } => {
                self.masks[*continued as usize] = 0;
                if let Some(number) = budget
                    && self.spend()
                {
                    self.memory.context.status = 1 + number;
                    return None;
                }
            }
            Inst::Continuing { continued } => self.active |= self.masks[*continued as usize],
            Inst::EndLoop { broken, break_if, head } => {
                let leaving = break_if.map_or(0, |c| self.active & mask_of(self.get(c)));
                self.masks[*broken as usize] |= leaving;
                self.active &= !leaving;
                if self.active != 0 {
                    return jump(*head);
                }
                self.active = self.masks[*broken as usize];
            }
            Inst::Break { broken: mask } | Inst::Continue { continued: mask } => {
                self.masks[*mask as usize] |= self.active;
                self.active = 0;
            }
            Inst::Switch {
                selector,
                broken,
                fall,
                cases,
                default,
            } => {
                self.masks[*fall as usize] = 0;
                let selector = self.get(*selector);
                let mut rest = self.active;
                for (values, entry) in cases {
                    let hit = (0..4).fold(0, |m, i| m | u8::from(values.contains(&selector[i])) << i) & rest;
                    self.masks[*entry as usize] = hit;
                    rest &= !hit;
                }
                // Lanes that match nothing go to the default, or to the end.
                self.masks[*broken as usize] = 0;
                self.masks[default.unwrap_or(*broken) as usize] |= rest;
            }
            Inst::Case { entry, fall } => {
                self.active = self.masks[*entry as usize] | self.masks[*fall as usize];
                self.masks[*fall as usize] = 0;
            }
            Inst::EndCase {
                broken,
                fall,
                falls_through,
            } => {
                if *falls_through {
                    self.masks[*fall as usize] = self.active;
                } else {
                    self.masks[*broken as usize] |= self.active;
                }
                self.active = 0;
            }
            Inst::EndSwitch { broken, fall } => {
                self.active = self.masks[*broken as usize] | self.masks[*fall as usize];
            }
            Inst::Return => self.active = 0,
            other => self.memory_step(other),
        }
        Some(pc + 1)
    }

    /// Counts an iteration of the active lanes; true if one is out of budget.
    fn spend(&mut self) -> bool {
        let budget = self.memory.context.loop_budget;
        let mut out = false;
        for (lane, count) in self.loops.iter_mut().enumerate() {
            if self.active >> lane & 1 != 0 {
                *count = count.saturating_add(1);
                out |= *count > budget;
            }
        }
        out
    }

    fn memory_step(&mut self, inst: &Inst) {
        let storing = self.active & !self.helpers;
        match inst {
            Inst::ArrayGet { array, to, index } => {
                let index = self.get(*index);
                let lanes = std::array::from_fn(|i| self.arrays[self.element(*array, index[i])][i]);
                self.put(*to, lanes);
            }
            Inst::ArraySet { array, index, value } => {
                let (index, value) = (self.get(*index), self.get(*value));
                for lane in 0..4 {
                    if self.active >> lane & 1 != 0 {
                        let element = self.element(*array, index[lane]);
                        self.arrays[element][lane] = value[lane];
                    }
                }
            }
            Inst::ArrayReset { array } => self.reset_array(*array as usize, self.active),
            Inst::BufferLoad { slot, to, offset } => {
                let offset = self.get(*offset);
                let lanes = std::array::from_fn(|i| self.memory.load(&self.binding(*slot, i), offset[i]).unwrap_or(0));
                self.put(*to, lanes);
            }
            Inst::BufferStore { slot, offset, value } => {
                let (offset, value) = (self.get(*offset), self.get(*value));
                for lane in 0..4 {
                    if storing >> lane & 1 != 0 {
                        let binding = self.binding(*slot, lane);
                        self.memory.store(&binding, offset[lane], value[lane]);
                    }
                }
            }
            Inst::BufferAtomic {
                slot,
                op,
                to,
                exchanged,
                offset,
                value,
                compare,
            } => {
                let (offset, value, compare) = (self.get(*offset), self.get(*value), self.get(*compare));
                let (mut old, mut done) = ([0; 4], [0; 4]);
                for lane in 0..4 {
                    if storing >> lane & 1 == 0 {
                        continue;
                    }
                    let binding = self.binding(*slot, lane);
                    let swapped = |before| *op != AtomicOp::CompareExchange || before == compare[lane];
                    let change = |before| swapped(before).then(|| atomic(*op, before, value[lane]));
                    if let Some(before) = self.memory.update(&binding, offset[lane], change) {
                        old[lane] = before;
                        done[lane] = if swapped(before) { u32::MAX } else { 0 };
                    }
                }
                self.put(*to, old);
                if let Some(exchanged) = exchanged {
                    self.put(*exchanged, done);
                }
            }
            Inst::BufferSize { slot, to } => {
                let lanes = std::array::from_fn(|i| u32::try_from(self.binding(*slot, i).size).unwrap_or(u32::MAX));
                self.put(*to, lanes);
            }
            Inst::Sample {
                texture,
                sampler,
                op,
                to,
                args,
            } => {
                for (lane, group) in self.groups(*texture, Some(*sampler)) {
                    let (t, s) = (self.binding(*texture, lane), self.binding(*sampler, lane));
                    let cells = self.argument_cells(self.active & group, args);
                    let results: [Lanes; 5] = match t.sample {
                        Some(call) => self.memory.call(call, &t, &s, op.encode(), cells.into_iter()),
                        None => [[0; 4]; 5],
                    };
                    let count = op.components() as u32;
                    for (i, lanes) in results.iter().enumerate().take(count as usize + 1) {
                        self.merge(to + i as u32, group, *lanes);
                    }
                }
            }
            Inst::TexelLoad { texture, op, to, args } => {
                for (lane, group) in self.groups(*texture, None) {
                    let t = self.binding(*texture, lane);
                    let cells = self.argument_cells(self.active & group, args);
                    let results: [Lanes; 4] = match t.load {
                        Some(call) => self
                            .memory
                            .call(call, &t, &Binding::NULL, op.encode(), cells.into_iter()),
                        None => [[0; 4]; 4],
                    };
                    for (i, lanes) in results.iter().enumerate() {
                        self.merge(to + i as u32, group, *lanes);
                    }
                }
            }
            Inst::TexelStore { texture, op, args } => {
                for (lane, group) in self.groups(*texture, None) {
                    let t = self.binding(*texture, lane);
                    let cells = self.argument_cells(storing & group, args);
                    if let Some(call) = t.store {
                        let _: [Lanes; 0] = self
                            .memory
                            .call(call, &t, &Binding::NULL, op.encode(), cells.into_iter());
                    }
                }
            }
            Inst::TextureQuery {
                texture,
                query,
                to,
                level,
            } => {
                let level = level.map_or([0; 4], |r| self.get(r));
                let lanes = std::array::from_fn(|i| self.query(*texture, *query, level[i], i));
                self.put(*to, lanes);
            }
            Inst::Note => {}
            Inst::Discard => self.helpers |= self.active,
            Inst::IsHelper(to) => self.put(*to, lanes_of(self.helpers)),
            Inst::SetHelper(mask) => {
                let new = mask_of(self.get(*mask)) & self.active;
                self.helpers = self.helpers & !self.active | new;
            }
            Inst::DrawLoad { word, to } => self.put(*to, [self.memory.draw_word(*word); 4]),
            Inst::PrimLoad { offset, to } => self.put(*to, [self.memory.prim_word(self.place.prim, *offset); 4]),
            Inst::PrimVertexLoad { vertex, offset, to } => {
                self.put(*to, [self.memory.vertex_word(self.place.prim, *vertex, *offset); 4]);
            }
            Inst::PixelX(to) => {
                let (tile, cell) = (self.memory.context.tile_x, self.memory.context.lane_x.0);
                let lanes = std::array::from_fn(|i| tile + self.place.pair.x + cell[4 * self.place.step + i]);
                self.put(*to, lanes);
            }
            Inst::PixelY(to) => {
                let (tile, cell) = (self.memory.context.tile_y, self.memory.context.lane_y.0);
                let lanes = std::array::from_fn(|i| tile + self.place.pair.y + cell[4 * self.place.step + i]);
                self.put(*to, lanes);
            }
            Inst::Coverage { sample, to } => {
                let bits = self.place.pair.coverage[usize::from(*sample)] >> (4 * self.place.step);
                self.put(*to, lanes_of(bits & ALL));
            }
            Inst::TileLoad { plane, to } => self.put(*to, self.memory.tile(self.tile_offset(*plane))),
            Inst::TileStore { plane, value, mask } => {
                let at = self.tile_offset(*plane);
                let (value, mask, old) = (self.get(*value), self.get(*mask), self.memory.tile(at));
                self.memory.set_tile(
                    at,
                    std::array::from_fn(|i| {
                        let active = self.active >> i & 1 != 0;
                        if active && mask[i] != 0 { value[i] } else { old[i] }
                    }),
                );
            }
            Inst::CellLoad { slot, to } => {
                let cell = self.place.group * self.code.cells_in + *slot as usize;
                self.put(*to, self.memory.cell_in(cell, self.place.step));
            }
            Inst::CellStore { slot, value } => {
                let cell = self.place.group * self.code.cells_out + *slot as usize;
                let lanes = self.get(*value);
                self.memory.set_cell_out(cell, self.place.step, lanes);
            }
            Inst::CountInvocations(mask) => {
                let lanes = mask_of(self.get(*mask)) & self.active;
                self.memory.context.invocations += u64::from(lanes.count_ones());
            }
            Inst::CountSamples(mask) => {
                let lanes = mask_of(self.get(*mask)) & self.active;
                self.memory.context.samples_passed += u64::from(lanes.count_ones());
            }
            _ => unreachable!("control is handled before"),
        }
    }

    fn tile_offset(&self, plane: u32) -> usize {
        plane as usize * self.code.plane_stride + self.place.pair.index as usize * 32 + self.place.step * 16
    }

    fn argument_cells(&self, mask: u8, args: &[Reg]) -> Vec<Lanes> {
        std::iter::once(lanes_of(mask))
            .chain(args.iter().map(|&r| self.get(r)))
            .collect()
    }

    fn query(&self, texture: Slot, query: TextureQuery, level: u32, lane: usize) -> u32 {
        let Some(info) = self.memory.texture_info(&self.binding(texture, lane)) else {
            return 0;
        };
        let size = |size: u32| if level < info.levels { (size >> level).max(1) } else { 0 };
        match query {
            TextureQuery::Width => size(info.width),
            TextureQuery::Height => size(info.height),
            TextureQuery::Depth => size(info.depth),
            TextureQuery::Layers => info.layers,
            TextureQuery::Levels => info.levels,
            TextureQuery::Samples => info.samples,
        }
    }
}

fn atomic(op: AtomicOp, old: u32, value: u32) -> u32 {
    match op {
        AtomicOp::Add => old.wrapping_add(value),
        AtomicOp::Sub => old.wrapping_sub(value),
        AtomicOp::And => old & value,
        AtomicOp::Or => old | value,
        AtomicOp::Xor => old ^ value,
        AtomicOp::SMin => (old as i32).min(value as i32) as u32,
        AtomicOp::SMax => (old as i32).max(value as i32) as u32,
        AtomicOp::UMin => old.min(value),
        AtomicOp::UMax => old.max(value),
        AtomicOp::Exchange | AtomicOp::CompareExchange => value,
    }
}
