//! Two pairs in flight: a CLIF pass that makes a loop's body compute two pairs at once, instruction by instruction.
//!
//! A loop whose iterations wait for one another leaves most of the CPU idle; a second, independent pair fills the gaps
//! (1.65 times faster, measured). Everything that depends on the pair is doubled, all else is shared; both pairs take
//! the same branches: a branch asks whether any lane of either wants it, which masks make right. Only pairs of one
//! primitive's run meet (law L4), so that primitive-rate values are shared.
//!
//! The pass declines what it can't double: code that goes through the scratch cells, calls, and branches by anything
//! but masks. Then the program is emitted without.

use crate::program::{Program, ProgramKind};
use cranelift_codegen::cursor::{Cursor, FuncCursor};
use cranelift_codegen::ir::{
    Block, BlockArg, DataFlowGraph, Function, Inst, InstBuilder, InstructionData, Opcode, Value, ValueDef,
};
use quadrille_frontend::ir::{self, Alu, Op, Stmt};
use std::collections::{HashMap, HashSet};

/// The part of a function that processes a pair.
#[derive(Clone, Debug)]
pub(crate) struct Region {
    /// Its blocks, by number: this one up to but without that one.
    pub first: u32,
    /// See `first`.
    pub end: u32,
    /// The first pair's address, a copy made for the purpose: all that depends on the pair derives from it.
    pub pair: Value,
    /// Bytes from one pair to the next.
    pub stride: i64,
    /// Values that are added to counters in memory: both pairs' sums are.
    pub counts: Vec<Value>,
}

/// Why a region can't be doubled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Declined(pub &'static str);

/// Doubles the region; on an error the function is as it was.
pub(crate) fn interleave(function: &mut Function, region: &Region) -> Result<(), Declined> {
    function.dfg.resolve_all_aliases();
    let varying = vary(function, region)?;
    double(function, region, &varying);
    Ok(())
}

impl Region {
    fn holds(&self, block: Block) -> bool {
        (self.first..self.end).contains(&block.as_u32())
    }

    fn blocks(&self, function: &Function) -> Vec<Block> {
        function.layout.blocks().filter(|&b| self.holds(b)).collect()
    }
}

/// Loops above this many instructions keep the CPU busy by themselves, and two would spill.
const MAX_LOOP: u32 = 220;

/// Whether a program waits for its own results rather than for execution units: some loop's longest chain from one
/// iteration's locals to the next's takes longer than its instructions would, spread over the units.
pub(crate) fn pays(program: &Program) -> Result<(), Declined> {
    if !matches!(program.kind, ProgramKind::Fragment { .. }) {
        return Err(Declined("no fragment program"));
    }
    let f = &program.function;
    let mut waits = false;
    let mut shape = Shape {
        f,
        depth: vec![0; f.values.len()],
        locals: vec![0; f.locals.len()],
        instructions: 0,
        longest: 0,
    };
    shape.loops(&f.body, &mut waits);
    if waits {
        Ok(())
    } else {
        Err(Declined("no loop waits for its own results"))
    }
}

struct Shape<'a> {
    f: &'a ir::Function,
    /// Cycles from the loop's beginning until the value is there.
    depth: Vec<u32>,
    locals: Vec<u32>,
    instructions: u32,
    longest: u32,
}

impl Shape<'_> {
    /// Finds innermost loops.
    fn loops(&mut self, body: &ir::Body, waits: &mut bool) {
        for stmt in body {
            match stmt {
                Stmt::Loop { body, continuing, .. } => {
                    if has_loop(body) || has_loop(continuing) {
                        self.loops(body, waits);
                        continue;
                    }
                    self.depth.fill(0);
                    self.locals.fill(0);
                    (self.instructions, self.longest) = (0, 0);
                    self.walk(body);
                    self.walk(continuing);
                    // About two vector instructions a cycle.
                    *waits |= self.instructions <= MAX_LOOP && self.longest > self.instructions / 2 + 4;
                }
                Stmt::Block { body, .. } => self.loops(body, waits),
                Stmt::If { then, otherwise, .. } => {
                    self.loops(then, waits);
                    self.loops(otherwise, waits);
                }
                Stmt::Switch { cases, .. } => cases.iter().for_each(|c| self.loops(&c.body, waits)),
                Stmt::Inst(_) | Stmt::Break(_) | Stmt::Continue(_) | Stmt::Return(_) => {}
            }
        }
    }

    fn walk(&mut self, body: &ir::Body) {
        for stmt in body {
            match stmt {
                Stmt::Inst(id) => self.inst(&self.f.insts[*id]),
                Stmt::Block { body, .. } => self.walk(body),
                Stmt::If { then, otherwise, .. } => {
                    self.walk(then);
                    self.walk(otherwise);
                }
                Stmt::Switch { cases, .. } => cases.iter().for_each(|c| self.walk(&c.body)),
                Stmt::Loop { .. } | Stmt::Break(_) | Stmt::Continue(_) | Stmt::Return(_) => {}
            }
        }
    }

    fn inst(&mut self, inst: &ir::Inst) {
        let latency = match inst.op {
            Op::Const(_) | Op::LocalGet(_) | Op::Bitcast(_) => 0,
            Op::Alu(alu) => match alu {
                Alu::FDiv | Alu::FSqrt => 12,
                Alu::FAdd | Alu::FSub | Alu::FMul | Alu::FFma | Alu::FMin | Alu::FMax => 4,
                Alu::FEq | Alu::FNe | Alu::FLt | Alu::FLe | Alu::SToF | Alu::IMul => 4,
                Alu::FFloor | Alu::FCeil | Alu::FTrunc | Alu::FNearest => 8,
                Alu::UMulHi | Alu::SMulHi | Alu::FToU | Alu::FToS | Alu::UToF => 10,
                _ => 1,
            },
            _ => 1,
        };
        let ready = inst.args.iter().map(|a| self.depth[a.index()]).max().unwrap_or(0) + latency;
        if latency > 0 {
            self.instructions += 1;
        }
        match inst.op {
            Op::LocalSet { local, .. } => {
                self.locals[local.index()] = ready;
                self.longest = self.longest.max(ready);
            }
            Op::LocalGet(local) => {
                for result in inst.results() {
                    self.depth[result.index()] = self.locals[local.index()];
                }
            }
            _ => {
                for result in inst.results() {
                    self.depth[result.index()] = ready;
                }
            }
        }
    }
}

fn has_loop(body: &ir::Body) -> bool {
    body.iter().any(|stmt| match stmt {
        Stmt::Loop { .. } => true,
        Stmt::Block { body, .. } => has_loop(body),
        Stmt::If { then, otherwise, .. } => has_loop(then) || has_loop(otherwise),
        Stmt::Switch { cases, .. } => cases.iter().any(|c| has_loop(&c.body)),
        Stmt::Inst(_) | Stmt::Break(_) | Stmt::Continue(_) | Stmt::Return(_) => false,
    })
}

/// All values of the region that depend on the pair.
fn vary(function: &Function, region: &Region) -> Result<HashSet<Value>, Declined> {
    let dfg = &function.dfg;
    let blocks = region.blocks(function);
    let mut varying = HashSet::from([region.pair]);
    loop {
        let before = varying.len();
        for &block in &blocks {
            for inst in function.layout.block_insts(block) {
                if dfg.inst_args(inst).iter().any(|v| varying.contains(v)) {
                    varying.extend(dfg.inst_results(inst));
                }
                for call in destinations(dfg, inst) {
                    let target = call.block(&dfg.value_lists);
                    for (arg, &param) in call.args(&dfg.value_lists).zip(dfg.block_params(target)) {
                        let varies = arg.as_value().is_some_and(|v| varying.contains(&v));
                        if varies && varying.insert(param) && !region.holds(target) {
                            return Err(Declined("a value leaves the region"));
                        }
                    }
                }
            }
        }
        if varying.len() == before {
            break;
        }
    }
    for &block in &blocks {
        for inst in function.layout.block_insts(block) {
            check(dfg, region, &varying, inst)?;
        }
    }
    Ok(varying)
}

fn destinations(dfg: &DataFlowGraph, inst: Inst) -> &[cranelift_codegen::ir::BlockCall] {
    dfg.insts[inst].branch_destination(&dfg.jump_tables, &dfg.exception_tables)
}

/// The mask that a branch condition tests.
fn tested_mask(dfg: &DataFlowGraph, cond: Value) -> Option<Value> {
    match dfg.value_def(cond) {
        ValueDef::Result(inst, 0) if dfg.insts[inst].opcode() == Opcode::VanyTrue => Some(dfg.inst_args(inst)[0]),
        _ => None,
    }
}

/// Whether an instruction adds one of the region's counts to a counter: the count's user, a plain addition.
fn is_count(dfg: &DataFlowGraph, region: &Region, inst: Inst) -> bool {
    dfg.insts[inst].opcode() == Opcode::Iadd && dfg.inst_args(inst).iter().any(|v| region.counts.contains(v))
}

fn check(dfg: &DataFlowGraph, region: &Region, varying: &HashSet<Value>, inst: Inst) -> Result<(), Declined> {
    let opcode = dfg.insts[inst].opcode();
    let args = dfg.inst_args(inst);
    let varies = |v: &Value| varying.contains(v);
    if opcode.is_call() {
        return Err(Declined("a call"));
    }
    if opcode.is_branch() {
        return match opcode {
            Opcode::Jump => Ok(()),
            Opcode::Brif if !varies(&args[0]) || tested_mask(dfg, args[0]).is_some() => Ok(()),
            _ => Err(Declined("a branch by the pair's data")),
        };
    }
    if opcode.can_store() {
        let InstructionData::Store { .. } = dfg.insts[inst] else {
            return Err(Declined("an atomic operation"));
        };
        let (value, address) = (&args[0], &args[1]);
        if varies(value) && !varies(address) {
            // Only counters: their addition is made for both pairs.
            let counted = match dfg.value_def(*value) {
                ValueDef::Result(by, 0) => is_count(dfg, region, by),
                _ => false,
            };
            if !counted {
                return Err(Declined("a store to shared memory"));
            }
        }
    }
    Ok(())
}

fn double(function: &mut Function, region: &Region, varying: &HashSet<Value>) {
    let blocks = region.blocks(function);
    let mut twin: HashMap<Value, Value> = HashMap::new();
    for &block in &blocks {
        let params: Vec<Value> = function.dfg.block_params(block).to_vec();
        for param in params.into_iter().filter(|p| varying.contains(p)) {
            let ty = function.dfg.value_type(param);
            let new = function.dfg.append_block_param(block, ty);
            twin.insert(param, new);
        }
    }
    // Clones first, with their old operands, since a twin may be made later than its use.
    let mut clones = Vec::new();
    let mut counters = Vec::new();
    for &block in &blocks {
        let insts: Vec<Inst> = function.layout.block_insts(block).collect();
        for inst in insts {
            if function.dfg.insts[inst].opcode().is_branch() {
                continue;
            }
            if is_count(&function.dfg, region, inst) {
                counters.push(inst);
                continue;
            }
            let results = function.dfg.inst_results(inst).to_vec();
            if results.contains(&region.pair) {
                // The second pair's address.
                let mut cursor = FuncCursor::new(function).after_inst(inst);
                let second = cursor.ins().iadd_imm_s(region.pair, region.stride);
                twin.insert(region.pair, second);
                continue;
            }
            let args = function.dfg.inst_args(inst);
            let varies = args.iter().any(|v| varying.contains(v));
            let counts = function.dfg.insts[inst].opcode().can_store() && !varying.contains(&args[1]);
            if !varies || counts {
                continue;
            }
            let Some(before) = function.layout.next_inst(inst) else {
                continue;
            };
            let clone = function.dfg.clone_inst(inst);
            function.layout.insert_inst(clone, before);
            let new = function.dfg.inst_results(clone).to_vec();
            twin.extend(results.iter().copied().zip(new));
            clones.push(clone);
        }
    }
    for clone in clones {
        function
            .dfg
            .map_inst_values(clone, |v| twin.get(&v).copied().unwrap_or(v));
    }
    for inst in counters {
        let count = region
            .counts
            .iter()
            .copied()
            .find(|c| function.dfg.inst_args(inst).contains(c));
        if let Some((count, second)) = count.and_then(|c| Some((c, *twin.get(&c)?))) {
            let both = FuncCursor::new(function).at_inst(inst).ins().iadd(count, second);
            function
                .dfg
                .map_inst_values(inst, |v| if v == count { both } else { v });
        }
    }
    for &block in &blocks {
        if let Some(branch) = function.layout.last_inst(block) {
            double_branch(function, varying, &twin, branch);
        }
    }
}

/// Passes the twins of arguments along, and asks for lanes of either pair.
fn double_branch(function: &mut Function, varying: &HashSet<Value>, twin: &HashMap<Value, Value>, branch: Inst) {
    if function.dfg.insts[branch].opcode() == Opcode::Brif {
        let cond = function.dfg.inst_args(branch)[0];
        if let (true, Some(mask)) = (varying.contains(&cond), tested_mask(&function.dfg, cond)) {
            let second = twin.get(&mask).copied().unwrap_or(mask);
            let mut cursor = FuncCursor::new(function).at_inst(branch);
            let either = cursor.ins().bor(mask, second);
            let any = cursor.ins().vany_true(either);
            function.dfg.inst_args_mut(branch)[0] = any;
        }
    }
    let dfg = &mut function.dfg;
    let calls: Vec<(Block, Vec<BlockArg>)> = destinations(dfg, branch)
        .iter()
        .map(|c| (c.block(&dfg.value_lists), c.args(&dfg.value_lists).collect()))
        .collect();
    for (i, (target, args)) in calls.into_iter().enumerate() {
        // The target's first parameters are the old ones, in step with the arguments.
        let more: Vec<BlockArg> = args
            .iter()
            .zip(dfg.block_params(target))
            .filter(|(_, param)| varying.contains(param))
            .map(|(&arg, _)| match arg.as_value().and_then(|v| twin.get(&v)) {
                Some(&second) => BlockArg::Value(second),
                None => arg,
            })
            .collect();
        let mut data = dfg.insts[branch];
        if let Some(call) = data
            .branch_destination_mut(&mut dfg.jump_tables, &mut dfg.exception_tables)
            .get_mut(i)
        {
            call.extend(more, &mut dfg.value_lists);
        }
        dfg.insts[branch] = data;
    }
}
