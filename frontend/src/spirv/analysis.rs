//! What must be known of the functions before they are lowered: which are reached, which kill, what is indexed
//! dynamically within which variable, and which builtins are touched at all.

use super::binary::Inst;
use super::module::{Entry, Parsed};
use super::report::{Failure, Result};
use super::types::Ty;
use crate::memory::place::{ELEMENT, Path};
use rspirv::spirv::{GlslStd450Op as G, Op};
use rustc_hash::{FxHashMap, FxHashSet};

/// Most functions on one chain of calls.
const MAX_CALL_DEPTH: usize = 64;

/// What is known.
#[derive(Debug, Default)]
pub(super) struct Facts {
    /// Variables that are indexed dynamically, and where; parameters too.
    pub dynamic: FxHashMap<u32, Vec<Path>>,
    /// Functions that end the invocation, perhaps in a callee.
    pub kills: FxHashSet<u32>,
    /// Module-scope variables that are used.
    pub used: FxHashSet<u32>,
    /// First members that access chains go to, of module-scope variables; and variables that are used whole.
    pub members: FxHashSet<(u32, u32)>,
    pub whole: FxHashSet<u32>,
    /// Function variables that are stored to exactly once, whole, and the value.
    pub stored_once: FxHashMap<u32, u32>,
    /// Whether an `InterpolateAt*` stands somewhere.
    pub interpolates: bool,
}

struct Walk<'m> {
    m: &'m Parsed,
    facts: Facts,
    done: FxHashSet<u32>,
    stack: Vec<u32>,
    /// Pointers of the functions: variable or parameter, and the way into it.
    pointers: FxHashMap<u32, (u32, Path, u32)>,
    globals: FxHashSet<u32>,
    writes: FxHashMap<u32, (u32, u32)>,
}

/// Walks all functions that the entry point reaches, callees first.
pub(super) fn facts(m: &Parsed, entry: &Entry) -> Result<Facts> {
    let mut walk = Walk {
        m,
        facts: Facts::default(),
        done: FxHashSet::default(),
        stack: Vec::new(),
        pointers: FxHashMap::default(),
        globals: m.variables.iter().copied().collect(),
        writes: FxHashMap::default(),
    };
    for &variable in &m.variables {
        if let Some(&Ty::Pointer(_, pointee)) = m.types.get(&m.type_of(variable)) {
            walk.pointers.insert(variable, (variable, Path::new(), pointee));
        }
    }
    walk.function(entry.function, entry.at)?;
    let once = walk.writes.into_iter().filter(|(_, (count, _))| *count == 1);
    walk.facts.stored_once = once.map(|(variable, (_, value))| (variable, value)).collect();
    Ok(walk.facts)
}

impl Walk<'_> {
    fn function(&mut self, id: u32, at: usize) -> Result<()> {
        if self.done.contains(&id) {
            return Ok(());
        }
        if self.stack.contains(&id) {
            return Err(Failure::invalid(format!("function %{id} calls itself"), Some(at)));
        }
        if self.stack.len() >= MAX_CALL_DEPTH {
            let message = format!("calls are nested more than {MAX_CALL_DEPTH} deep at %{id}");
            return Err(Failure::limit(message, Some(at)));
        }
        let Some(function) = self.m.function_by_id.get(&id).and_then(|&f| self.m.functions.get(f)) else {
            return Err(Failure::invalid(format!("%{id} is no function"), Some(at)));
        };
        if function.entry == 0 {
            return Err(Failure::unsupported(format!("function %{id} without body"), Some(at)));
        }
        self.stack.push(id);
        for &param in &function.params {
            if let Some(&Ty::Pointer(_, pointee)) = self.m.types.get(&self.m.type_of(param)) {
                self.pointers.insert(param, (param, Path::new(), pointee));
            }
        }
        for index in function.insts.clone() {
            let inst = self.m.words.insts[index];
            self.instruction(index, &inst, id)?;
        }
        self.stack.pop();
        self.done.insert(id);
        Ok(())
    }

    fn instruction(&mut self, index: usize, inst: &Inst, function: u32) -> Result<()> {
        let m = self.m;
        let operands = m.words.operands(inst);
        let chain = matches!(inst.op, Op::AccessChain | Op::InBoundsAccessChain);
        for &operand in pointer_operands(inst.op, operands) {
            if self.globals.contains(&operand) {
                self.facts.used.insert(operand);
                if !chain {
                    self.facts.whole.insert(operand);
                }
            }
        }
        match (inst.op, operands) {
            (Op::Kill | Op::TerminateInvocation, _) => {
                self.facts.kills.insert(function);
            }
            (Op::Variable, _) => {
                if let Some(&Ty::Pointer(_, pointee)) = m.types.get(&inst.ty) {
                    self.pointers.insert(inst.id, (inst.id, Path::new(), pointee));
                }
            }
            (Op::CopyObject, &[from, ..]) => {
                if let Some(pointer) = self.pointers.get(&from).cloned() {
                    self.pointers.insert(inst.id, pointer);
                }
            }
            (Op::AccessChain | Op::InBoundsAccessChain, &[base, ref indices @ ..]) => {
                self.chain(inst.id, base, indices)
            }
            (Op::Store, &[pointer, value, ..]) => self.write(pointer, value),
            (Op::CopyMemory, &[pointer, ..]) => self.write(pointer, 0),
            (Op::ExtInst, words) => {
                let pulls = [G::InterpolateAtCentroid, G::InterpolateAtSample, G::InterpolateAtOffset];
                let number = words.get(1).and_then(|&n| G::from_u32(n));
                self.facts.interpolates |= number.is_some_and(|n| pulls.contains(&n)) && m.glsl.contains(&words[0]);
                words.iter().for_each(|&word| self.write(word, 0));
            }
            (Op::FunctionCall, &[callee, ref arguments @ ..]) => {
                self.function(callee, index)?;
                if self.facts.kills.contains(&callee) {
                    self.facts.kills.insert(function);
                }
                let params = m
                    .function_by_id
                    .get(&callee)
                    .and_then(|&f| m.functions.get(f))
                    .map(|f| &f.params);
                for (&argument, param) in arguments.iter().zip(params.into_iter().flatten()) {
                    let Some((root, path, _)) = self.pointers.get(&argument).cloned() else {
                        continue;
                    };
                    self.write(root, 0);
                    for inner in self.facts.dynamic.get(param).cloned().unwrap_or_default() {
                        let whole = path.iter().copied().chain(inner).collect();
                        self.mark(root, whole);
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn write(&mut self, pointer: u32, value: u32) {
        let Some((root, path, _)) = self.pointers.get(&pointer) else {
            return;
        };
        let whole = path.is_empty() && value != 0;
        let entry = self.writes.entry(*root).or_insert((0, value));
        entry.0 += if whole { 1 } else { 2 };
    }

    fn mark(&mut self, root: u32, path: Path) {
        let paths = self.facts.dynamic.entry(root).or_default();
        if !paths.contains(&path) {
            paths.push(path);
        }
    }

    fn chain(&mut self, id: u32, base: u32, indices: &[u32]) {
        let Some((root, mut path, mut ty)) = self.pointers.get(&base).cloned() else {
            return;
        };
        for (step, &index) in indices.iter().enumerate() {
            let constant = self.m.plain_constant(index);
            if step == 0 && path.is_empty() && self.globals.contains(&root) {
                match constant {
                    Some(member) => self.facts.members.insert((root, member)),
                    None => self.facts.whole.insert(root),
                };
            }
            match self.m.types.get(&ty) {
                Some(Ty::Struct(members)) => {
                    let member = constant.unwrap_or(0);
                    path.push(member);
                    ty = members.get(member as usize).copied().unwrap_or(0);
                }
                Some(
                    &(Ty::Array(inner, _) | Ty::RuntimeArray(inner) | Ty::Vector(inner, _) | Ty::Matrix(inner, _)),
                ) => {
                    if constant.is_none() {
                        self.mark(root, path.clone());
                    }
                    path.push(ELEMENT);
                    ty = inner;
                }
                _ => break,
            }
        }
        self.pointers.insert(id, (root, path, ty));
    }
}

/// The operands that may be pointers.
fn pointer_operands(op: Op, operands: &[u32]) -> &[u32] {
    let count = match op {
        Op::CopyMemory => 2,
        Op::FunctionCall | Op::Select | Op::Phi => operands.len(),
        Op::ExtInst => return operands.get(2..).unwrap_or(&[]),
        _ => 1,
    };
    operands.get(..count.min(operands.len())).unwrap_or(&[])
}
