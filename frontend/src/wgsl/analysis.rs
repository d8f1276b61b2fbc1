//! What must be known of a naga function before its body is lowered.
//!
//! - *Inlining*: functions that take pointers, textures or samplers, or touch private globals, are inlined where they
//!   are called; all others become functions of the IR.
//! - *Dynamic paths*: which arrays (vectors, matrices) within which variables are indexed dynamically, through callees
//!   too. Everything else in a variable becomes plain locals.
//! - *Spills*: values of a loop's body that its continuing block uses. The IR hides them there, so they go by locals.

use super::types::{Shape, Types};
use crate::ir;
use crate::memory::place::{ELEMENT, Path};
use naga::{Expression as Ex, Handle, Statement as St};
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// Results wider than this don't fit one call instruction.
const MAX_CALL_RESULTS: u32 = 200;

/// What a pointer points into.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Root {
    Local(Handle<naga::LocalVariable>),
    Private(Handle<naga::GlobalVariable>),
    Param(u32),
}

/// What is known of a function.
#[derive(Default)]
pub(super) struct Facts {
    /// Calls are replaced by the body while lowering.
    pub inline: bool,
    /// Whether a return stands anywhere but at the end.
    pub early_return: bool,
    /// By local variable.
    pub local_paths: Vec<Vec<Path>>,
    /// Private globals indexed dynamically, here or in callees.
    pub private_paths: Vec<(Handle<naga::GlobalVariable>, Path)>,
    /// Parameters indexed dynamically, here or in callees.
    param_paths: Vec<(u32, Path)>,
    /// By expression: its value goes to a continuing block by locals.
    pub spilled: Vec<bool>,
    /// Functions called directly.
    pub calls: Vec<Handle<naga::Function>>,
}

/// Facts of all functions, callees first as naga orders them.
pub(super) fn functions(module: &naga::Module, info: &naga::valid::ModuleInfo, types: &Types) -> Vec<Rc<Facts>> {
    let mut all = Vec::with_capacity(module.functions.len());
    for (handle, function) in module.functions.iter() {
        let mut facts = of_function(module, function, types, &all);
        let private = module
            .global_variables
            .iter()
            .any(|(g, var)| var.space == naga::AddressSpace::Private && !info[handle][g].is_empty());
        let wide = |ty| types.get(ty).leaves > MAX_CALL_RESULTS;
        facts.inline = private
            || function.arguments.iter().any(|a| !is_value(&module.types[a.ty].inner))
            || function.arguments.iter().any(|a| wide(a.ty))
            || function.result.as_ref().is_some_and(|r| wide(r.ty));
        all.push(Rc::new(facts));
    }
    all
}

fn is_value(inner: &naga::TypeInner) -> bool {
    use naga::TypeInner as T;
    matches!(
        inner,
        T::Scalar(_) | T::Vector { .. } | T::Matrix { .. } | T::Array { .. } | T::Struct { .. }
    )
}

/// Facts of one function, given those of all it may call.
pub(super) fn of_function(
    module: &naga::Module,
    function: &naga::Function,
    types: &Types,
    callees: &[Rc<Facts>],
) -> Facts {
    let mut facts = Facts {
        local_paths: vec![Vec::new(); function.local_variables.len()],
        spilled: vec![false; function.expressions.len()],
        early_return: returns_early(&function.body),
        ..Facts::default()
    };
    let pointers = trace(module, function, types);
    for (_, expression) in function.expressions.iter() {
        if let Ex::Access { base, index } = *expression
            && constant_index(module, &function.expressions, index).is_none()
            && let Some(Some((root, path, _))) = pointers.get(base.index())
        {
            facts.mark(*root, path.clone());
        }
    }
    walk(&function.body, &mut |statement| match statement {
        St::Call {
            function, arguments, ..
        } => {
            facts.calls.push(*function);
            let Some(callee) = callees.get(function.index()) else {
                return;
            };
            for (global, path) in &callee.private_paths {
                facts.mark(Root::Private(*global), path.clone());
            }
            for (param, path) in &callee.param_paths {
                let argument = arguments.get(*param as usize).and_then(|a| pointers.get(a.index()));
                if let Some(Some((root, prefix, _))) = argument {
                    facts.mark(*root, prefix.iter().chain(path).copied().collect());
                }
            }
        }
        St::Loop {
            body,
            continuing,
            break_if,
        } => facts.mark_spills(function, body, continuing, *break_if),
        _ => {}
    });
    facts
}

impl Facts {
    fn mark(&mut self, root: Root, path: Path) {
        fn add<T: PartialEq>(list: &mut Vec<T>, item: T) {
            if !list.contains(&item) {
                list.push(item);
            }
        }
        match root {
            Root::Local(local) => {
                if let Some(paths) = self.local_paths.get_mut(local.index()) {
                    add(paths, path);
                }
            }
            Root::Private(global) => add(&mut self.private_paths, (global, path)),
            Root::Param(param) => add(&mut self.param_paths, (param, path)),
        }
    }

    fn mark_spills(
        &mut self,
        function: &naga::Function,
        body: &naga::Block,
        continuing: &naga::Block,
        break_if: Option<Handle<naga::Expression>>,
    ) {
        let mut defined = vec![false; function.expressions.len()];
        definitions(body, &mut |e| defined[e.index()] = true);
        let spilled = &mut self.spilled;
        let mut used = |e: Handle<naga::Expression>| {
            if defined[e.index()] {
                spilled[e.index()] = true;
            }
        };
        walk(continuing, &mut |statement| {
            statement_operands(statement, &mut used);
            if let St::Emit(range) = statement {
                for e in range.clone() {
                    operands(&function.expressions[e], &mut used);
                }
            }
        });
        if let Some(e) = break_if {
            used(e);
        }
    }
}

/// For each expression that is a pointer into a variable: which variable, where, and the shape there.
fn trace(module: &naga::Module, function: &naga::Function, types: &Types) -> Vec<Option<(Root, Path, Rc<Shape>)>> {
    let mut pointers: Vec<Option<(Root, Path, Rc<Shape>)>> = Vec::with_capacity(function.expressions.len());
    for (_, expression) in function.expressions.iter() {
        let pointer = match *expression {
            Ex::LocalVariable(local) => Some((
                Root::Local(local),
                Path::new(),
                types.get(function.local_variables[local].ty),
            )),
            Ex::GlobalVariable(global) => {
                let var = &module.global_variables[global];
                let private = var.space == naga::AddressSpace::Private;
                private.then(|| (Root::Private(global), Path::new(), types.get(var.ty)))
            }
            Ex::FunctionArgument(index) => match module.types[function.arguments[index as usize].ty].inner {
                naga::TypeInner::Pointer { base, .. } => Some((Root::Param(index), Path::new(), types.get(base))),
                ref inner @ naga::TypeInner::ValuePointer { .. } => {
                    Some((Root::Param(index), Path::new(), types.inner(inner)))
                }
                _ => None,
            },
            Ex::Access { base, .. } => step(&pointers, base, None),
            Ex::AccessIndex { base, index } => step(&pointers, base, Some(index)),
            _ => None,
        };
        pointers.push(pointer);
    }
    pointers
}

fn step(
    pointers: &[Option<(Root, Path, Rc<Shape>)>],
    base: Handle<naga::Expression>,
    index: Option<u32>,
) -> Option<(Root, Path, Rc<Shape>)> {
    let (root, path, shape) = pointers.get(base.index())?.as_ref()?;
    let mut path = path.clone();
    let shape = match shape.elements() {
        Some(elements) => {
            path.push(ELEMENT);
            elements.shape
        }
        None => {
            path.push(index?);
            shape.child(index?)?.shape
        }
    };
    Some((*root, path, shape))
}

/// The index, if it is a literal (perhaps by way of a named constant).
pub(super) fn constant_index(
    module: &naga::Module,
    expressions: &naga::Arena<naga::Expression>,
    index: Handle<naga::Expression>,
) -> Option<u32> {
    let literal = match expressions[index] {
        Ex::Literal(literal) => literal,
        Ex::Constant(constant) => match module.global_expressions[module.constants[constant].init] {
            Ex::Literal(literal) => literal,
            _ => return None,
        },
        _ => return None,
    };
    match literal {
        naga::Literal::U32(v) => Some(v),
        naga::Literal::I32(v) => u32::try_from(v).ok(),
        _ => None,
    }
}

/// Functions reachable from the given calls, in arena order (callees first).
pub(super) fn reachable(all: &[Rc<Facts>], from: &[Handle<naga::Function>]) -> Vec<bool> {
    let mut reached = vec![false; all.len()];
    let mut todo: Vec<usize> = from.iter().map(|f| f.index()).collect();
    while let Some(index) = todo.pop() {
        if let Some(seen) = reached.get_mut(index)
            && !*seen
        {
            *seen = true;
            todo.extend(all[index].calls.iter().map(|f| f.index()));
        }
    }
    reached
}

/// Calls `visit` for each statement, those nested too, in order.
pub(super) fn walk<'m>(block: &'m naga::Block, visit: &mut dyn FnMut(&'m naga::Statement)) {
    for statement in block {
        visit(statement);
        match statement {
            St::Block(inner) => walk(inner, visit),
            St::If { accept, reject, .. } => {
                walk(accept, visit);
                walk(reject, visit);
            }
            St::Switch { cases, .. } => cases.iter().for_each(|case| walk(&case.body, visit)),
            St::Loop { body, continuing, .. } => {
                walk(body, visit);
                walk(continuing, visit);
            }
            _ => {}
        }
    }
}

fn returns_early(body: &naga::Block) -> bool {
    let mut count = 0;
    walk(body, &mut |s| count += usize::from(matches!(s, St::Return { .. })));
    count > usize::from(matches!(body.last(), Some(St::Return { .. })))
}

/// Expressions that the block itself defines (those of nested constructs aren't in scope after them).
fn definitions(block: &naga::Block, define: &mut dyn FnMut(Handle<naga::Expression>)) {
    for statement in block {
        match *statement {
            St::Emit(ref range) => range.clone().for_each(&mut *define),
            St::Block(ref inner) => definitions(inner, define),
            St::Call { result: Some(e), .. }
            | St::Atomic { result: Some(e), .. }
            | St::WorkGroupUniformLoad { result: e, .. }
            | St::SubgroupBallot { result: e, .. }
            | St::SubgroupGather { result: e, .. }
            | St::SubgroupCollectiveOperation { result: e, .. } => define(e),
            _ => {}
        }
    }
}

/// Calls `visit` for each expression that the statement itself names.
fn statement_operands(statement: &naga::Statement, visit: &mut dyn FnMut(Handle<naga::Expression>)) {
    match *statement {
        St::If { condition: e, .. } | St::Switch { selector: e, .. } | St::Return { value: Some(e) } => visit(e),
        St::Loop { break_if: Some(e), .. } => visit(e),
        St::Store { pointer, value } => [pointer, value].into_iter().for_each(visit),
        St::ImageStore {
            image,
            coordinate,
            array_index,
            value,
        } => [Some(image), Some(coordinate), array_index, Some(value)]
            .into_iter()
            .flatten()
            .for_each(visit),
        St::Atomic {
            pointer,
            ref fun,
            value,
            ..
        } => {
            visit(pointer);
            visit(value);
            if let naga::AtomicFunction::Exchange { compare: Some(e) } = *fun {
                visit(e);
            }
        }
        St::Call { ref arguments, .. } => arguments.iter().copied().for_each(visit),
        St::SubgroupGather { ref mode, argument, .. } => {
            visit(argument);
            if let naga::GatherMode::QuadBroadcast(e) = *mode {
                visit(e);
            }
        }
        _ => {}
    }
}

/// Calls `visit` for each operand of the expression.
pub(super) fn operands(expression: &naga::Expression, visit: &mut dyn FnMut(Handle<naga::Expression>)) {
    match *expression {
        Ex::Compose { ref components, .. } => components.iter().copied().for_each(visit),
        Ex::Access { base, index } => [base, index].into_iter().for_each(visit),
        Ex::AccessIndex { base: e, .. }
        | Ex::Splat { value: e, .. }
        | Ex::Swizzle { vector: e, .. }
        | Ex::Load { pointer: e }
        | Ex::Unary { expr: e, .. }
        | Ex::Derivative { expr: e, .. }
        | Ex::Relational { argument: e, .. }
        | Ex::As { expr: e, .. }
        | Ex::ArrayLength(e) => visit(e),
        Ex::ImageSample {
            image,
            sampler,
            coordinate,
            array_index,
            offset,
            level,
            depth_ref,
            ..
        } => {
            let (x, y) = match level {
                naga::SampleLevel::Auto | naga::SampleLevel::Zero => (None, None),
                naga::SampleLevel::Exact(e) | naga::SampleLevel::Bias(e) => (Some(e), None),
                naga::SampleLevel::Gradient { x, y } => (Some(x), Some(y)),
            };
            [
                Some(image),
                Some(sampler),
                Some(coordinate),
                array_index,
                offset,
                depth_ref,
                x,
                y,
            ]
            .into_iter()
            .flatten()
            .for_each(visit);
        }
        Ex::ImageLoad {
            image,
            coordinate,
            array_index,
            sample,
            level,
        } => [Some(image), Some(coordinate), array_index, sample, level]
            .into_iter()
            .flatten()
            .for_each(visit),
        Ex::ImageQuery { image, query } => {
            visit(image);
            if let naga::ImageQuery::Size { level: Some(e) } = query {
                visit(e);
            }
        }
        Ex::Binary { left, right, .. } => [left, right].into_iter().for_each(visit),
        Ex::Select {
            condition,
            accept,
            reject,
        } => [condition, accept, reject].into_iter().for_each(visit),
        Ex::Math {
            arg, arg1, arg2, arg3, ..
        } => [Some(arg), arg1, arg2, arg3].into_iter().flatten().for_each(visit),
        _ => {}
    }
}

/// Private globals' dynamic paths, gathered by global.
pub(super) fn by_global(
    paths: &[(Handle<naga::GlobalVariable>, Path)],
) -> FxHashMap<Handle<naga::GlobalVariable>, Vec<Path>> {
    let mut map: FxHashMap<_, Vec<Path>> = FxHashMap::default();
    for (global, path) in paths {
        map.entry(*global).or_default().push(path.clone());
    }
    map
}

/// The IR's stage, for stages that the IR has.
pub(super) fn stage(stage: naga::ShaderStage) -> Option<ir::Stage> {
    match stage {
        naga::ShaderStage::Vertex => Some(ir::Stage::Vertex),
        naga::ShaderStage::Fragment => Some(ir::Stage::Fragment),
        naga::ShaderStage::Compute => Some(ir::Stage::Compute),
        _ => None,
    }
}
