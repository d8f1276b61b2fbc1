//! One entry point being lowered: what ids became, in which bodies they are visible, and the functions inlined.
//!
//! SPIR-V's values are visible wherever their block dominates; the IR's only in the body that defines them and within.
//! A value used outside goes by locals. Which ones do is found by lowering: the first run notes them, the next obeys.
//! All calls are inlined here: pointers, textures and kills then need no calling convention.

use super::analysis::Facts;
use super::flow::{Exits, Frame};
use super::module::Parsed;
use super::report::{Failure, Result};
use super::types::{Image, MatrixLayout};
use crate::diagnostic::ShaderErrorKind;
use crate::ir::{
    self, Alu, FunctionBuilder, Handle, Input, Kind, Literal, Local, Op, Resource, ResourceRef, Shader, SpanId, Value,
};
use crate::memory::place::{Flat, Place};
use crate::memory::shape::{Scalar, Shape};
use rspirv::spirv;
use rustc_hash::{FxHashMap, FxHashSet};
use std::ops::Range;
use std::rc::Rc;

/// Most instructions of a shader before optimisation.
const MAX_INSTS: usize = 1 << 20;

/// A texture, and the declaration of its type.
#[derive(Clone, Copy)]
pub(super) struct Texture {
    pub reference: ResourceRef,
    pub element: Option<Value>,
    pub image: Image,
}

/// A sampler.
#[derive(Clone, Copy)]
pub(super) struct Sampler {
    pub reference: ResourceRef,
    pub element: Option<Value>,
}

/// What an id was lowered to.
#[derive(Clone)]
pub(super) enum Lowered {
    Value(Flat),
    Place(Place),
    /// A variable that holds a resource, or an array of them, and the element chosen.
    Handle(u32, Option<Value>),
    Texture(Texture),
    Sampler(Sampler),
    Sampled(Texture, Sampler),
}

impl Lowered {
    pub fn visit_values(&mut self, visit: &mut dyn FnMut(&mut Value)) {
        match self {
            Lowered::Value(values) => values.iter_mut().for_each(visit),
            Lowered::Place(place) => place.visit_values(visit),
            Lowered::Handle(_, element) => element.iter_mut().for_each(visit),
            Lowered::Texture(texture) => texture.element.iter_mut().for_each(visit),
            Lowered::Sampler(sampler) => sampler.element.iter_mut().for_each(visit),
            Lowered::Sampled(texture, sampler) => {
                texture.element.iter_mut().chain(&mut sampler.element).for_each(visit);
            }
        }
    }
}

struct Bound {
    lowered: Lowered,
    /// The body in which it was defined.
    scope: u32,
    /// Where its values are kept for use outside.
    spill: Vec<Handle<Local>>,
}

/// The resources that a variable stands for.
#[derive(Clone, Copy)]
pub(super) enum Bindings {
    Buffer(Handle<Resource>),
    Texture(Handle<Resource>, Image),
    Sampler(Handle<Resource>),
    Combined(Handle<Resource>, Handle<Resource>, Image),
}

/// A shader being lowered.
pub(super) struct Lower<'m> {
    pub m: &'m Parsed,
    pub facts: Rc<Facts>,
    pub b: FunctionBuilder,
    pub shader: Shader,
    /// Where each instruction stands in the text.
    ranges: &'m [Range<u32>],
    /// Values that the pipeline gives to specialisation constants.
    pub specialised: Rc<FxHashMap<u32, Literal>>,
    pub constants: FxHashMap<u32, Rc<Vec<Literal>>>,
    /// Constants being evaluated, against circles.
    pub evaluating: FxHashSet<u32>,
    pub shapes: FxHashMap<(u32, MatrixLayout), Rc<Shape>>,
    values: FxHashMap<u32, Bound>,
    pub resources: FxHashMap<u32, Bindings>,
    /// The inputs that variables' locals hold, for `InterpolateAt*`.
    pub pulled: FxHashMap<Handle<Local>, Handle<Input>>,
    pub phis: FxHashMap<u32, Vec<Handle<Local>>>,
    pub frames: Vec<Frame>,
    pub exits: Exits,
    /// Bodies that are open, and the number of the next.
    scopes: Vec<u32>,
    open: FxHashSet<u32>,
    next_scope: u32,
    spilled: Rc<FxHashSet<u32>>,
    pub needs_spill: FxHashSet<u32>,
    /// The instruction being lowered.
    pub at: Option<usize>,
    spans: FxHashMap<ir::Span, SpanId>,
}

impl<'m> Lower<'m> {
    pub fn new(
        m: &'m Parsed,
        shader: Shader,
        ranges: &'m [Range<u32>],
        specialised: Rc<FxHashMap<u32, Literal>>,
        facts: Rc<Facts>,
        spilled: Rc<FxHashSet<u32>>,
    ) -> Lower<'m> {
        Lower {
            m,
            facts,
            b: FunctionBuilder::new(shader.name.clone()),
            shader,
            ranges,
            specialised,
            constants: FxHashMap::default(),
            evaluating: FxHashSet::default(),
            shapes: FxHashMap::default(),
            values: FxHashMap::default(),
            resources: FxHashMap::default(),
            pulled: FxHashMap::default(),
            phis: FxHashMap::default(),
            frames: Vec::new(),
            exits: Exits::default(),
            scopes: vec![0],
            open: [0].into_iter().collect(),
            next_scope: 1,
            spilled,
            needs_spill: FxHashSet::default(),
            at: None,
            spans: FxHashMap::default(),
        }
    }

    pub fn unsupported<T>(&self, what: impl AsRef<str>) -> Result<T> {
        Err(Failure::unsupported(what, self.at))
    }

    pub fn invalid<T>(&self, what: impl Into<String>) -> Result<T> {
        Err(Failure::invalid(what, self.at))
    }

    pub fn internal<T>(&self, what: &str) -> Result<T> {
        let message = format!("bug in the SPIR-V front end: {what}");
        Err(Failure::new(ShaderErrorKind::Internal, message, self.at))
    }

    /// Makes that instruction the source of what follows, and refuses to go on when the shader has grown too large.
    pub fn set_at(&mut self, at: usize) -> Result<()> {
        self.at = Some(at);
        let span = self.ranges.get(at).map(|range| ir::Span {
            source: 0,
            start: range.start,
            end: range.end,
            inlined_at: self.frames.last().and_then(|f| f.call_site),
        });
        let span = span.map(|span| {
            let spans = &mut self.shader.sources.spans;
            *self.spans.entry(span).or_insert_with(|| spans.push(span))
        });
        self.b.set_span(span);
        if self.b.func.insts.len() > MAX_INSTS {
            let message = format!("the shader has more than {MAX_INSTS} instructions after inlining");
            return Err(Failure::limit(message, self.at));
        }
        Ok(())
    }

    /// Notes that a body was opened.
    pub fn open_scope(&mut self) {
        self.scopes.push(self.next_scope);
        self.open.insert(self.next_scope);
        self.next_scope += 1;
    }

    pub fn close_scope(&mut self) {
        if let Some(scope) = self.scopes.pop() {
            self.open.remove(&scope);
        }
    }

    /// Sets what an id is.
    pub fn define(&mut self, id: u32, mut lowered: Lowered) {
        let mut spill = Vec::new();
        if self.spilled.contains(&id) {
            let b = &mut self.b;
            lowered.visit_values(&mut |value| {
                let kind = b.kind(*value);
                let local = b.local("", kind);
                b.set(local, *value);
                spill.push(local);
            });
        }
        let scope = self.scopes.last().copied().unwrap_or(0);
        self.values.insert(id, Bound { lowered, scope, spill });
    }

    pub fn define_value(&mut self, id: u32, values: impl IntoIterator<Item = Value>) {
        self.define(id, Lowered::Value(values.into_iter().collect()));
    }

    /// What an id is, as seen here.
    pub fn lowered(&mut self, id: u32) -> Result<Lowered> {
        let Some(bound) = self.values.get(&id) else {
            if let Some(literals) = self.constant(id)? {
                let values = literals.iter().map(|&l| self.b.constant(l)).collect();
                return Ok(Lowered::Value(values));
            }
            if self.resources.contains_key(&id) {
                return self.resource_variable(id);
            }
            return self.invalid(format!("%{id} isn't defined here"));
        };
        let mut lowered = bound.lowered.clone();
        if self.open.contains(&bound.scope) {
            return Ok(lowered);
        }
        let spill = bound.spill.clone();
        let (mut at, mut missing) = (spill.into_iter(), false);
        let b = &mut self.b;
        lowered.visit_values(&mut |value| {
            *value = match at.next() {
                Some(local) => b.get(local),
                None => {
                    missing = true;
                    let kind = b.kind(*value);
                    b.constant(Literal::zero(kind))
                }
            };
        });
        if missing {
            self.needs_spill.insert(id);
        }
        Ok(lowered)
    }

    pub fn value(&mut self, id: u32) -> Result<Flat> {
        match self.lowered(id)? {
            Lowered::Value(values) => Ok(values),
            _ => self.invalid(format!("%{id} is no value")),
        }
    }

    /// A value of one scalar.
    pub fn one(&mut self, id: u32) -> Result<Value> {
        match self.value(id)?.as_slice() {
            [value] => Ok(*value),
            _ => self.invalid(format!("%{id} is no scalar")),
        }
    }

    pub fn bool(&mut self, id: u32) -> Result<Value> {
        let value = self.one(id)?;
        match self.b.kind(value) {
            Kind::Bool => Ok(value),
            _ => self.invalid(format!("%{id} is no bool")),
        }
    }

    pub fn place(&mut self, id: u32) -> Result<Place> {
        match self.lowered(id)? {
            Lowered::Place(place) => Ok(place),
            _ => self.invalid(format!("%{id} is no pointer to memory")),
        }
    }

    /// A scalar integer as u32; wider ones saturate where that is an index out of any range.
    pub fn index(&mut self, id: u32) -> Result<Value> {
        let value = self.one(id)?;
        self.as_u32(value)
    }

    pub fn as_u32(&mut self, value: Value) -> Result<Value> {
        let kind = self.b.kind(value);
        Ok(match kind {
            Kind::I32 | Kind::U32 => self.b.bitcast(value, Kind::U32),
            kind if kind.is_int() => self.b.inst1(Op::Convert(Kind::U32), &[value], Kind::U32),
            _ => return self.invalid("an integer was expected"),
        })
    }

    /// An operation, if its operands fit.
    pub fn alu(&mut self, alu: Alu, args: &[Value]) -> Result<Value> {
        let kinds: Vec<Kind> = args.iter().map(|&a| self.b.kind(a)).collect();
        match alu.check(&kinds) {
            Ok(results) if results.len() == 1 => Ok(self.b.alu(alu, args)),
            _ => self.invalid("operands of types that the instruction doesn't take"),
        }
    }

    /// The value as another kind of the same width, without change of bits.
    pub fn as_kind(&mut self, value: Value, kind: Kind) -> Result<Value> {
        let from = self.b.kind(value);
        if from == kind {
            return Ok(value);
        }
        match from.bits() == kind.bits() && from != Kind::Bool && kind != Kind::Bool {
            true => Ok(self.b.bitcast(value, kind)),
            false => self.invalid(format!("{from} where {kind} was expected")),
        }
    }

    /// Rounds to f16 if the type is one.
    pub fn round(&mut self, value: Value, scalar: Scalar) -> Value {
        match scalar.half && self.b.kind(value) == Kind::F32 {
            true => self.b.alu(Alu::QuantizeF16, &[value]),
            false => value,
        }
    }

    /// A constant of 32 bits at most, if the id is one.
    pub fn constant_u32(&mut self, id: u32) -> Result<Option<u32>> {
        let literals = self.constant(id)?;
        Ok(literals.and_then(|l| match l.as_slice() {
            [literal] if literal.kind.is_int() => u32::try_from(literal.bits).ok(),
            _ => None,
        }))
    }

    /// The locals of a phi.
    pub fn phi(&mut self, id: u32) -> Result<Vec<Handle<Local>>> {
        if let Some(locals) = self.phis.get(&id) {
            return Ok(locals.clone());
        }
        let scalars = self.scalars(self.m.type_of(id))?;
        if scalars.is_empty() {
            return self.unsupported("OpPhi of pointers, textures or samplers");
        }
        let name = self.m.name(id).to_owned();
        let locals: Vec<_> = scalars.iter().map(|s| self.b.local(name.clone(), s.kind)).collect();
        self.phis.insert(id, locals.clone());
        Ok(locals)
    }

    /// The decoration, or not.
    pub fn decorated(&self, id: u32, decoration: spirv::Decoration) -> bool {
        self.m.decoration(id, decoration).is_some()
    }
}
