//! Function bodies: statements, calls, and what each expression of the body was lowered to.
//!
//! Expressions are evaluated where naga's `Emit` statements say, once; constants and references to variables have no
//! such place and are evaluated at the start or where they are used. A [`Frame`] is one instance of a function: an
//! inlined callee gets its own, within the same builder.

use super::analysis::{self, Facts};
use super::place::{Flat, Place, Store, VarPlace};
use super::report::{Failure, Result};
use super::shader::Cx;
use super::types::Shape;
use crate::diagnostic::ShaderErrorKind;
use crate::ir::{
    self, AtomicOp, FunctionBuilder, Kind, Label, Literal, Local, LocalArray, LoopBound, Op, QuadOp, ResourceRef,
    SpanId, Value,
};
use naga::{Expression as Ex, Handle, Statement as St};
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// Deepest nesting of constructs, inlined ones too.
const MAX_NESTING: usize = 200;
/// Deepest chain of calls that are inlined here.
const MAX_INLINE_DEPTH: usize = 64;
/// Constants of at most so many scalars are evaluated at the start of the function.
const EARLY_CONSTANT: u32 = 16;

/// What an expression was lowered to.
#[derive(Clone)]
pub(super) enum Lowered {
    Value(Flat),
    Place(Place),
    Handle(HandleRef),
    /// A binding array, before it is indexed.
    Bindings(Handle<naga::GlobalVariable>),
}

/// A texture or sampler.
#[derive(Clone, Copy)]
pub(super) struct HandleRef {
    pub global: Handle<naga::GlobalVariable>,
    pub reference: ResourceRef,
    pub element: Option<Value>,
}

impl Lowered {
    fn visit_values(&mut self, visit: &mut dyn FnMut(&mut Value)) {
        match self {
            Lowered::Value(values) => values.iter_mut().for_each(visit),
            Lowered::Place(place) => place.visit_values(visit),
            Lowered::Handle(handle) => handle.element.iter_mut().for_each(visit),
            Lowered::Bindings(_) => {}
        }
    }
}

/// What a return does.
pub(super) enum Returns {
    /// Returns the values from the IR's function.
    Function,
    /// Sets the stage outputs and ends the shader.
    Entry(Vec<ir::Handle<Local>>),
    /// Leaves the inlined body: by a break with the results in locals, or by simply ending.
    Inline(Option<(Label, Vec<ir::Handle<Local>>)>),
}

enum Target {
    Loop(Label),
    Switch(Label),
}

/// An instance of a function.
pub(super) struct Frame<'m> {
    pub expressions: &'m naga::Arena<naga::Expression>,
    /// `None` for the module's own constant expressions.
    info: Option<&'m naga::valid::FunctionInfo>,
    function: Option<&'m naga::Function>,
    facts: Rc<Facts>,
    table: Vec<Option<Lowered>>,
    pub arguments: Vec<Lowered>,
    locals: Vec<VarPlace>,
    returns: Returns,
    targets: Vec<Target>,
    /// Spilled expressions of the loop bodies that are open, and their locals.
    spills: Vec<(Handle<naga::Expression>, Vec<ir::Handle<Local>>)>,
    call_site: Option<SpanId>,
    /// What a return at the end of an inlined body gave.
    result: Flat,
}

/// A function of the IR being built.
pub(super) struct Body<'c, 'm> {
    pub cx: &'c mut Cx<'m>,
    pub b: FunctionBuilder,
    pub frame: Frame<'m>,
    privates: FxHashMap<Handle<naga::GlobalVariable>, VarPlace>,
    /// Constant arrays made for dynamic indexing, by contents.
    pub tables: FxHashMap<Vec<Literal>, ir::Handle<LocalArray>>,
    /// Where in the text we are.
    pub at: naga::Span,
    nesting: usize,
    inlined: usize,
}

impl<'c, 'm> Body<'c, 'm> {
    pub fn new(
        cx: &'c mut Cx<'m>,
        name: String,
        function: &'m naga::Function,
        info: &'m naga::valid::FunctionInfo,
        facts: Rc<Facts>,
        returns: Returns,
    ) -> Self {
        Body {
            cx,
            b: FunctionBuilder::new(name),
            frame: Frame::new(function, info, facts, returns),
            privates: FxHashMap::default(),
            tables: FxHashMap::default(),
            at: naga::Span::UNDEFINED,
            nesting: 0,
            inlined: 0,
        }
    }

    /// Makes returns set these stage outputs.
    pub fn returns_to(&mut self, outputs: Vec<ir::Handle<Local>>) {
        self.frame.returns = Returns::Entry(outputs);
    }

    pub fn finish(self) -> ir::Function {
        self.b.finish()
    }

    pub fn unsupported<T>(&self, what: impl AsRef<str>) -> Result<T> {
        Err(Failure::unsupported(what, self.at))
    }

    pub fn internal<T>(&self, what: impl AsRef<str>) -> Result<T> {
        Err(Failure::internal(what, self.at))
    }

    /// Makes that range of the text the source of what follows.
    pub fn set_at(&mut self, at: naga::Span) {
        if at.is_defined() {
            self.at = at;
        }
        let span = self.cx.span(self.at, self.frame.call_site);
        self.b.set_span(span);
    }

    /// Adds a parameter per scalar of the function's arguments.
    pub fn parameters(&mut self) -> Result<()> {
        let Some(function) = self.frame.function else {
            return Ok(());
        };
        for argument in &function.arguments {
            let shape = self.cx.types.get(argument.ty);
            let values = shape.scalars().into_iter().map(|s| self.b.param(s.kind)).collect();
            self.frame.arguments.push(Lowered::Value(values));
        }
        if let Some(result) = &function.result {
            let shape = self.cx.types.get(result.ty);
            self.b.func.results = shape.scalars().into_iter().map(|s| s.kind).collect();
        }
        Ok(())
    }

    /// Makes the private globals that the shader uses: locals of the entry function.
    pub fn private_globals(
        &mut self,
        dynamic: &[(Handle<naga::GlobalVariable>, crate::memory::place::Path)],
    ) -> Result<()> {
        let paths = analysis::by_global(dynamic);
        let module = self.cx.module;
        for (handle, var) in module.global_variables.iter() {
            if var.space != naga::AddressSpace::Private || self.cx.entry_info[handle].is_empty() {
                continue;
            }
            let at = module.global_variables.get_span(handle);
            self.set_at(at);
            let shape = self.cx.types.get(var.ty);
            self.cx.check_leaves(&shape, at)?;
            let name = var.name.as_deref().unwrap_or("private");
            let dynamic = paths.get(&handle).map_or(&[][..], Vec::as_slice);
            let store = Store::new(&mut self.b, name, &shape, dynamic);
            let place = VarPlace::new(store, shape);
            if let Some(init) = var.init {
                let literals = self.const_leaves(&module.global_expressions, init);
                let set = literals.is_some_and(|l| place.store.set_initial(&mut self.b, &l));
                if !set {
                    let value = self.global_expression(init)?;
                    place.store(&mut self.b, &value);
                }
            }
            self.privates.insert(handle, place);
        }
        Ok(())
    }

    /// Lowers the frame's function: variables, constants, statements.
    pub fn function_body(&mut self) -> Result<()> {
        let Some(function) = self.frame.function else {
            return self.internal("a body without function");
        };
        let initial = self.local_variables(function)?;
        self.early_constants(function)?;
        for (place, init) in initial {
            let value = self.value(init)?;
            place.store(&mut self.b, &value);
        }
        let returned = self.block(&function.body)?;
        match &self.frame.returns {
            _ if returned => {}
            Returns::Function => {
                // Reached only if the end isn't: WGSL wants a return on every path.
                let kinds = self.b.func.results.clone();
                let zeros: Vec<Value> = kinds.into_iter().map(|k| self.b.constant(Literal::zero(k))).collect();
                self.b.return_(&zeros);
            }
            Returns::Entry(_) => self.b.return_(&[]),
            Returns::Inline(_) => {}
        }
        Ok(())
    }

    /// Makes the variables; gives back those whose initial value needs instructions.
    fn local_variables(&mut self, function: &'m naga::Function) -> Result<Vec<(VarPlace, Handle<naga::Expression>)>> {
        let facts = self.frame.facts.clone();
        let inlined = matches!(self.frame.returns, Returns::Inline(_));
        let mut initial = Vec::new();
        for (handle, var) in function.local_variables.iter() {
            let at = function.local_variables.get_span(handle);
            self.set_at(at);
            let shape = self.cx.types.get(var.ty);
            self.cx.check_leaves(&shape, at)?;
            let name = var.name.as_deref().unwrap_or_default();
            let store = Store::new(&mut self.b, name, &shape, &facts.local_paths[handle.index()]);
            let place = VarPlace::new(store, shape);
            let set = var.init.is_none_or(|init| {
                self.const_leaves(&function.expressions, init)
                    .is_some_and(|l| place.store.set_initial(&mut self.b, &l))
            });
            match var.init {
                Some(init) if !set => initial.push((place.clone(), init)),
                _ if inlined => place.store.reset(&mut self.b),
                _ => {}
            }
            self.frame.locals.push(place);
        }
        Ok(initial)
    }

    /// Evaluates small constants where they can serve the whole function.
    fn early_constants(&mut self, function: &'m naga::Function) -> Result<()> {
        for (handle, expression) in function.expressions.iter() {
            let constant = matches!(
                expression,
                Ex::Literal(_) | Ex::Constant(_) | Ex::ZeroValue(_) | Ex::Override(_)
            );
            let used = self.frame.info.is_some_and(|info| info[handle].ref_count > 0);
            if constant && used && (1..=EARLY_CONSTANT).contains(&self.shape(handle).leaves) {
                self.set_at(function.expressions.get_span(handle));
                let value = self.evaluate(handle)?;
                self.frame.table[handle.index()] = Some(value);
            }
        }
        Ok(())
    }

    /// The shape of an expression; of what it points to, if it is a pointer.
    pub fn shape(&self, handle: Handle<naga::Expression>) -> Rc<Shape> {
        let resolution = match self.frame.info {
            Some(info) => &info[handle].ty,
            None => &self.cx.info[handle],
        };
        match *resolution {
            naga::proc::TypeResolution::Handle(ty) => self.cx.types.get(ty),
            naga::proc::TypeResolution::Value(ref inner) => self.cx.types.inner(inner),
        }
    }

    /// What an expression was lowered to; evaluates it if it has no place of its own.
    pub fn lowered(&mut self, handle: Handle<naga::Expression>) -> Result<Lowered> {
        match &self.frame.table[handle.index()] {
            Some(lowered) => Ok(lowered.clone()),
            None => self.evaluate(handle),
        }
    }

    pub fn value(&mut self, handle: Handle<naga::Expression>) -> Result<Flat> {
        match self.lowered(handle)? {
            Lowered::Value(values) => Ok(values),
            _ => self.internal("a value was expected"),
        }
    }

    pub fn scalar(&mut self, handle: Handle<naga::Expression>) -> Result<Value> {
        match self.value(handle)?.as_slice() {
            [value] => Ok(*value),
            _ => self.internal("a scalar was expected"),
        }
    }

    pub fn place(&mut self, handle: Handle<naga::Expression>) -> Result<Place> {
        match self.lowered(handle)? {
            Lowered::Place(place) => Ok(place),
            _ => self.internal("a pointer was expected"),
        }
    }

    pub fn handle(&mut self, handle: Handle<naga::Expression>) -> Result<HandleRef> {
        match self.lowered(handle)? {
            Lowered::Handle(handle) => Ok(handle),
            _ => self.internal("a texture or sampler was expected"),
        }
    }

    /// A reference to a variable or resource.
    pub fn global(&mut self, handle: Handle<naga::GlobalVariable>) -> Result<Lowered> {
        let var = &self.cx.module.global_variables[handle];
        if let naga::TypeInner::BindingArray { .. } = self.cx.module.types[var.ty].inner {
            return Ok(Lowered::Bindings(handle));
        }
        if let Some(place) = self.privates.get(&handle) {
            return Ok(Lowered::Place(Place::Var(place.clone())));
        }
        self.resource(handle, None)
    }

    /// A resource, or an element of a binding array.
    pub fn resource(&mut self, handle: Handle<naga::GlobalVariable>, element: Option<Value>) -> Result<Lowered> {
        if self.cx.module.global_variables[handle].space != naga::AddressSpace::Handle {
            return Ok(Lowered::Place(Place::Buffer(self.cx.buffer(handle, element, self.at)?)));
        }
        let Some(&resource) = self.cx.resources.get(&handle) else {
            return self.internal("a resource that isn't listed");
        };
        let indexed = element.is_some();
        Ok(Lowered::Handle(HandleRef {
            global: handle,
            reference: ResourceRef { resource, indexed },
            element,
        }))
    }

    pub fn local_variable(&self, handle: Handle<naga::LocalVariable>) -> Result<Lowered> {
        match self.frame.locals.get(handle.index()) {
            Some(place) => Ok(Lowered::Place(Place::Var(place.clone()))),
            None => self.internal("an unknown variable"),
        }
    }

    /// Evaluates one of the module's constant expressions here.
    pub fn global_expression(&mut self, handle: Handle<naga::Expression>) -> Result<Flat> {
        let module = self.cx.module;
        let outer = std::mem::replace(&mut self.frame, Frame::constants(&module.global_expressions));
        let value = self.value(handle);
        self.frame = outer;
        value
    }

    fn define(&mut self, handle: Handle<naga::Expression>, mut lowered: Lowered) {
        if self.frame.facts.spilled.get(handle.index()) == Some(&true) {
            let mut locals = Vec::new();
            let b = &mut self.b;
            lowered.visit_values(&mut |value| {
                let kind = b.kind(*value);
                let local = b.local("", kind);
                b.set(local, *value);
                locals.push(local);
            });
            self.frame.spills.push((handle, locals));
        }
        self.frame.table[handle.index()] = Some(lowered);
    }

    /// Lowers statements; true if the last one was a return.
    fn block(&mut self, block: &'m naga::Block) -> Result<bool> {
        self.nesting += 1;
        if self.nesting > MAX_NESTING {
            let message = format!("constructs are nested more than {MAX_NESTING} deep after inlining");
            return Err(Failure::new(ShaderErrorKind::Limit, message, self.at));
        }
        let mut returned = false;
        for (statement, &at) in block.span_iter() {
            self.set_at(at);
            self.statement(statement)?;
            returned = match statement {
                St::Return { .. } => true,
                St::Break | St::Continue => false,
                _ => continue,
            };
            // Nothing after it in this block can be reached.
            break;
        }
        self.nesting -= 1;
        Ok(returned)
    }

    fn statement(&mut self, statement: &'m naga::Statement) -> Result<()> {
        self.cx.check_size(self.b.func.insts.len(), self.at)?;
        match *statement {
            St::Emit(ref range) => {
                for handle in range.clone() {
                    self.set_at(self.frame.expressions.get_span(handle));
                    let lowered = self.evaluate(handle)?;
                    self.define(handle, lowered);
                }
            }
            St::Block(ref block) => {
                self.block(block)?;
            }
            St::If {
                condition,
                ref accept,
                ref reject,
            } => {
                let condition = self.scalar(condition)?;
                self.b.begin_if(condition);
                self.block(accept)?;
                if !reject.is_empty() {
                    self.b.begin_else();
                    self.block(reject)?;
                }
                self.b.end_if();
            }
            St::Switch { selector, ref cases } => self.switch(selector, cases)?,
            St::Loop {
                ref body,
                ref continuing,
                break_if,
            } => self.loop_(body, continuing, break_if)?,
            St::Break => match self.frame.targets.last() {
                Some(Target::Loop(label) | Target::Switch(label)) => self.b.break_(*label),
                None => return self.internal("a break outside a loop"),
            },
            St::Continue => {
                let mut targets = self.frame.targets.iter().rev();
                let innermost = targets.find_map(|t| match t {
                    Target::Loop(label) => Some(*label),
                    Target::Switch(_) => None,
                });
                match innermost {
                    Some(label) => self.b.continue_(label),
                    None => return self.internal("a continue outside a loop"),
                }
            }
            St::Return { value } => {
                let values = match value {
                    Some(value) => self.value(value)?,
                    None => Flat::new(),
                };
                self.return_(values);
            }
            St::Kill => {
                self.b.inst(Op::Discard, &[], &[]);
            }
            St::Store { pointer, value } => {
                let place = self.place(pointer)?;
                let value = self.value(value)?;
                place.store(&mut self.b, &value);
            }
            St::ImageStore {
                image,
                coordinate,
                array_index,
                value,
            } => self.image_store(image, coordinate, array_index, value)?,
            St::Atomic {
                pointer,
                ref fun,
                value,
                result,
            } => self.atomic(pointer, fun, value, result)?,
            St::Call {
                function,
                ref arguments,
                result,
            } => self.call(function, arguments, result)?,
            St::SubgroupGather { mode, argument, result } => self.quad_gather(mode, argument, result)?,
            St::ControlBarrier(_) | St::MemoryBarrier(_) | St::WorkGroupUniformLoad { .. } => {
                return self.unsupported("a barrier outside compute shaders");
            }
            St::ImageAtomic { .. } => return self.unsupported("an atomic operation on a texture"),
            St::SubgroupBallot { .. } => return self.unsupported("subgroupBallot"),
            St::SubgroupCollectiveOperation { .. } => {
                return self.unsupported("a subgroup operation other than on quads");
            }
            St::RayQuery { .. } | St::RayPipelineFunction(_) => return self.unsupported("ray tracing"),
            St::CooperativeStore { .. } => return self.unsupported("a cooperative matrix"),
        }
        Ok(())
    }

    fn switch(&mut self, selector: Handle<naga::Expression>, cases: &'m [naga::SwitchCase]) -> Result<()> {
        let selector = self.scalar(selector)?;
        if !matches!(self.b.kind(selector), Kind::I32 | Kind::U32) {
            return self.unsupported("a switch on this type");
        }
        let label = self.b.begin_switch(selector);
        self.frame.targets.push(Target::Switch(label));
        let (mut values, mut default) = (Vec::new(), false);
        for case in cases {
            match case.value {
                naga::SwitchValue::I32(v) => values.push(v as u32),
                naga::SwitchValue::U32(v) => values.push(v),
                naga::SwitchValue::Default => default = true,
            }
            // naga's form of several selectors for one body.
            if case.fall_through && case.body.is_empty() {
                continue;
            }
            self.b
                .begin_case(std::mem::take(&mut values), std::mem::take(&mut default));
            self.block(&case.body)?;
            self.b.end_case(case.fall_through);
        }
        self.frame.targets.pop();
        self.b.end_switch();
        Ok(())
    }

    fn loop_(
        &mut self,
        body: &'m naga::Block,
        continuing: &'m naga::Block,
        break_if: Option<Handle<naga::Expression>>,
    ) -> Result<()> {
        let spills = self.frame.spills.len();
        let label = self.b.begin_loop(LoopBound::Budgeted);
        self.frame.targets.push(Target::Loop(label));
        self.block(body)?;
        self.b.begin_continuing();
        for (handle, locals) in self.frame.spills.drain(spills..) {
            let mut locals = locals.into_iter();
            if let Some(Some(lowered)) = self.frame.table.get_mut(handle.index()) {
                let b = &mut self.b;
                lowered.visit_values(&mut |value| {
                    if let Some(local) = locals.next() {
                        *value = b.get(local);
                    }
                });
            }
        }
        self.block(continuing)?;
        let break_if = match break_if {
            Some(condition) => Some(self.scalar(condition)?),
            None => None,
        };
        self.frame.targets.pop();
        self.b.end_loop(break_if);
        Ok(())
    }

    fn return_(&mut self, values: Flat) {
        match &self.frame.returns {
            Returns::Function => self.b.return_(&values),
            Returns::Entry(outputs) => {
                for (&local, &value) in outputs.iter().zip(&values) {
                    self.b.set(local, value);
                }
                self.b.return_(&[]);
            }
            Returns::Inline(Some((exit, results))) => {
                for (&local, &value) in results.iter().zip(&values) {
                    self.b.set(local, value);
                }
                self.b.break_(*exit);
            }
            Returns::Inline(None) => self.frame.result = values,
        }
    }

    fn call(
        &mut self,
        function: Handle<naga::Function>,
        arguments: &[Handle<naga::Expression>],
        result: Option<Handle<naga::Expression>>,
    ) -> Result<()> {
        let arguments: Vec<Lowered> = arguments.iter().map(|&a| self.lowered(a)).collect::<Result<_>>()?;
        let values = match self.cx.functions.get(&function) {
            Some(&callee) => {
                let kinds = self.cx.shader.functions[callee].results.clone();
                let mut flat = Flat::new();
                for argument in arguments {
                    match argument {
                        Lowered::Value(values) => flat.extend(values),
                        _ => return self.internal("a call with a pointer"),
                    }
                }
                let call = self.b.inst(Op::Call(callee), &flat, &kinds);
                self.b.results(call).into()
            }
            None => self.inline_call(function, arguments)?,
        };
        if let Some(result) = result {
            self.define(result, Lowered::Value(values));
        }
        Ok(())
    }

    fn inline_call(&mut self, handle: Handle<naga::Function>, arguments: Vec<Lowered>) -> Result<Flat> {
        let function = &self.cx.module.functions[handle];
        if self.inlined >= MAX_INLINE_DEPTH {
            let name = function.name.as_deref().unwrap_or_default();
            let message =
                format!("calls that must be inlined are nested more than {MAX_INLINE_DEPTH} deep at `{name}`");
            return Err(Failure::new(ShaderErrorKind::Limit, message, self.at));
        }
        let facts = self.cx.facts[handle.index()].clone();
        let site = self.cx.span(self.at, self.frame.call_site);
        let exit = if facts.early_return {
            let kinds = match &function.result {
                Some(result) => self.cx.types.get(result.ty).scalars(),
                None => Vec::new(),
            };
            let results = kinds.into_iter().map(|s| self.b.local("", s.kind)).collect();
            Some((self.b.begin_block(), results))
        } else {
            None
        };
        let results = exit.as_ref().map(|(_, results): &(Label, Vec<_>)| results.clone());
        let info = &self.cx.info[handle];
        let mut frame = Frame::new(function, info, facts, Returns::Inline(exit));
        frame.arguments = arguments;
        frame.call_site = site;
        let outer_at = self.at;
        let outer = std::mem::replace(&mut self.frame, frame);
        self.inlined += 1;
        let body = self.function_body();
        self.inlined -= 1;
        let inner = std::mem::replace(&mut self.frame, outer);
        body?;
        self.set_at(outer_at);
        Ok(match results {
            None => inner.result,
            Some(locals) => {
                self.b.end_block();
                locals.into_iter().map(|local| self.b.get(local)).collect()
            }
        })
    }

    fn atomic(
        &mut self,
        pointer: Handle<naga::Expression>,
        function: &naga::AtomicFunction,
        value: Handle<naga::Expression>,
        result: Option<Handle<naga::Expression>>,
    ) -> Result<()> {
        let Place::Buffer(place) = self.place(pointer)? else {
            return self.unsupported("an atomic outside storage buffers");
        };
        let value = self.scalar(value)?;
        let kind = self.b.kind(value);
        if !matches!(kind, Kind::I32 | Kind::U32) {
            return self.unsupported(format!("an atomic of type {kind}"));
        }
        let mut operands: Flat = Flat::new();
        let op = match *function {
            naga::AtomicFunction::Add => AtomicOp::Add,
            naga::AtomicFunction::Subtract => AtomicOp::Sub,
            naga::AtomicFunction::And => AtomicOp::And,
            naga::AtomicFunction::ExclusiveOr => AtomicOp::Xor,
            naga::AtomicFunction::InclusiveOr => AtomicOp::Or,
            naga::AtomicFunction::Min if kind == Kind::I32 => AtomicOp::SMin,
            naga::AtomicFunction::Min => AtomicOp::UMin,
            naga::AtomicFunction::Max if kind == Kind::I32 => AtomicOp::SMax,
            naga::AtomicFunction::Max => AtomicOp::UMax,
            naga::AtomicFunction::Exchange { compare: None } => AtomicOp::Exchange,
            naga::AtomicFunction::Exchange { compare: Some(compare) } => {
                operands.push(self.scalar(compare)?);
                AtomicOp::CompareExchange
            }
        };
        operands.push(value);
        let (mut args, access) = place.word(&mut self.b, place.fixed);
        args.extend(operands);
        let kinds: &[Kind] = match op {
            AtomicOp::CompareExchange => &[kind, Kind::Bool],
            _ => &[kind],
        };
        let buffer = place.reference();
        let inst = self.b.inst(Op::BufferAtomic { buffer, op, access }, &args, kinds);
        if let Some(result) = result {
            let values = self.b.results(inst).into();
            self.define(result, Lowered::Value(values));
        }
        Ok(())
    }

    fn quad_gather(
        &mut self,
        mode: naga::GatherMode,
        argument: Handle<naga::Expression>,
        result: Handle<naga::Expression>,
    ) -> Result<()> {
        let op = match mode {
            naga::GatherMode::QuadSwap(naga::Direction::X) => QuadOp::SwapX,
            naga::GatherMode::QuadSwap(naga::Direction::Y) => QuadOp::SwapY,
            naga::GatherMode::QuadSwap(naga::Direction::Diagonal) => QuadOp::SwapDiagonal,
            naga::GatherMode::QuadBroadcast(lane) => {
                let expressions = self.frame.expressions;
                match analysis::constant_index(self.cx.module, expressions, lane) {
                    Some(lane @ 0..=3) => QuadOp::Broadcast(lane as u8),
                    _ => return self.unsupported("quadBroadcast from a lane that isn't 0 to 3"),
                }
            }
            _ => return self.unsupported("a subgroup operation other than on quads"),
        };
        let values = self.value(argument)?;
        let values = values.into_iter().map(|v| self.b.quad(op, v)).collect();
        self.define(result, Lowered::Value(values));
        Ok(())
    }
}

impl<'m> Frame<'m> {
    fn new(
        function: &'m naga::Function,
        info: &'m naga::valid::FunctionInfo,
        facts: Rc<Facts>,
        returns: Returns,
    ) -> Self {
        Frame {
            info: Some(info),
            function: Some(function),
            facts,
            returns,
            ..Frame::constants(&function.expressions)
        }
    }

    /// A frame for the module's own expressions.
    fn constants(expressions: &'m naga::Arena<naga::Expression>) -> Self {
        Frame {
            expressions,
            info: None,
            function: None,
            facts: Rc::default(),
            table: vec![None; expressions.len()],
            arguments: Vec::new(),
            locals: Vec::new(),
            returns: Returns::Inline(None),
            targets: Vec::new(),
            spills: Vec::new(),
            call_site: None,
            result: Flat::new(),
        }
    }
}
