//! Variables, pointers and what goes through them; atomics on buffers.

use super::binary::Inst;
use super::lower::{Bindings, Lower, Lowered, Sampler, Texture};
use super::report::Result;
use super::types::Ty;
use crate::ir::{Alu, AtomicOp, Handle, Kind, Literal, Op, Resource, ResourceClass, ResourceRef, Value};
use crate::memory::place::{BufferPlace, Flat, Place, Store, VarPlace};
use rspirv::spirv::{Op as S, StorageClass};

impl Lower<'_> {
    /// Makes locals and arrays for a variable, holding `initial` at entry if that is given.
    pub fn variable(&mut self, id: u32, ty: u32, initial: Option<&[Literal]>) -> Result<VarPlace> {
        let shape = self.value_shape(ty)?;
        self.check_leaves(&shape)?;
        if shape.leaves == 0 {
            return self.unsupported("a variable that holds pointers, textures or samplers");
        }
        let dynamic = self.facts.dynamic.get(&id).cloned().unwrap_or_default();
        let name = self.m.name(id).to_owned();
        let store = Store::new(&mut self.b, &name, &shape, &dynamic);
        let place = VarPlace::new(store, shape);
        if let Some(literals) = initial
            && !place.store.set_initial(&mut self.b, literals)
        {
            let values: Vec<Value> = literals.iter().map(|&l| self.b.constant(l)).collect();
            place.store(&mut self.b, &values);
        }
        Ok(place)
    }

    pub fn function_variable(&mut self, inst: &Inst, words: &[u32]) -> Result<()> {
        let (class, ty) = self.pointee(inst.ty)?;
        if class != StorageClass::Function {
            return self.invalid("a variable of a function outside the Function class");
        }
        // Tables: what is stored once, and constant, is there from the start.
        let once = self.facts.stored_once.get(&inst.id).copied();
        let constant = match once.or(words.get(1).copied()) {
            Some(value) => self.constant(value)?,
            None => None,
        };
        let place = self.variable(inst.id, ty, constant.as_ref().map(|l| l.as_slice()))?;
        // The function may be inlined in a loop: its variables begin anew each time.
        if self.frames.len() > 1 && words.len() > 1 {
            place.store.reset(&mut self.b);
        }
        self.define(inst.id, Lowered::Place(Place::Var(place)));
        Ok(())
    }

    /// A variable of a resource, as a pointer.
    pub fn resource_variable(&mut self, id: u32) -> Result<Lowered> {
        let (_, ty) = self.pointee(self.m.type_of(id))?;
        match (self.resources.get(&id).copied(), self.ty(ty)?) {
            (Some(Bindings::Buffer(resource)), Ty::Struct(_)) => {
                Ok(Lowered::Place(Place::Buffer(self.buffer(resource, None, ty)?)))
            }
            (Some(_), _) => Ok(Lowered::Handle(id, None)),
            (None, _) => self.invalid(format!("%{id} isn't declared")),
        }
    }

    fn buffer(&mut self, resource: Handle<Resource>, element: Option<Value>, ty: u32) -> Result<BufferPlace> {
        let min_size = match self.shader.resources[resource].class {
            ResourceClass::Uniform { min_size } | ResourceClass::Storage { min_size, .. } => min_size,
            ResourceClass::Immediate { size } => u64::from(size),
            _ => 0,
        };
        let shape = self.value_shape(ty)?;
        Ok(BufferPlace::new(resource, element, min_size, shape))
    }

    pub fn access_chain(&mut self, inst: &Inst, words: &[u32]) -> Result<()> {
        let Some((&base, mut indices)) = words.split_first() else {
            return self.invalid("a chain from nothing");
        };
        let mut place = match self.lowered(base)? {
            Lowered::Place(place) => place,
            Lowered::Handle(variable, None) if !indices.is_empty() => {
                let (_, ty) = self.pointee(self.m.type_of(variable))?;
                let Ty::Array(element, length) = self.ty(ty)? else {
                    return self.unsupported("an array of resources of this type");
                };
                let length = self.length(length)?;
                let index = self.index(indices[0])?;
                let last = self.b.u32(length - 1);
                let index = self.b.alu(Alu::UMin, &[index, last]);
                indices = &indices[1..];
                match self.resources.get(&variable).copied() {
                    Some(Bindings::Buffer(resource)) => Place::Buffer(self.buffer(resource, Some(index), element)?),
                    _ if indices.is_empty() => {
                        self.define(inst.id, Lowered::Handle(variable, Some(index)));
                        return Ok(());
                    }
                    _ => return self.unsupported("an array of arrays of resources"),
                }
            }
            whole @ Lowered::Handle(..) => {
                self.define(inst.id, whole);
                return Ok(());
            }
            _ => return self.invalid(format!("%{base} is no pointer")),
        };
        for &index in indices {
            let next = match self.m.plain_constant(index) {
                Some(index) => place.child(&mut self.b, index),
                None => {
                    let index = self.index(index)?;
                    place.element(&mut self.b, index)
                }
            };
            place = match next {
                Some(place) => place,
                None => return self.invalid("an access chain to what isn't there"),
            };
        }
        self.define(inst.id, Lowered::Place(place));
        Ok(())
    }

    pub fn load(&mut self, inst: &Inst, words: &[u32]) -> Result<()> {
        let pointer = words.first().copied().unwrap_or(0);
        let lowered = match self.lowered(pointer)? {
            Lowered::Place(place) => {
                let shape = place.shape().clone();
                self.check_leaves(&shape)?;
                let values = place.load(&mut self.b);
                let scalars = self.scalars(inst.ty)?;
                if !scalars
                    .iter()
                    .map(|s| s.kind)
                    .eq(values.iter().map(|&v| self.b.kind(v)))
                {
                    return self.invalid("a load of another type than the pointer's");
                }
                Lowered::Value(values)
            }
            Lowered::Handle(variable, element) => self.handle(variable, element)?,
            _ => return self.invalid(format!("%{pointer} is no pointer")),
        };
        self.define(inst.id, lowered);
        Ok(())
    }

    /// The resource that a variable, or an element of an array of them, holds.
    fn handle(&mut self, variable: u32, element: Option<Value>) -> Result<Lowered> {
        let reference = |resource| ResourceRef {
            resource,
            indexed: element.is_some(),
        };
        let arrayed =
            |s: &Self, resource: Handle<Resource>| s.shader.resources[resource].count > 1 && element.is_none();
        let lowered = match self.resources.get(&variable).copied() {
            Some(Bindings::Texture(texture, image)) if !arrayed(self, texture) => Lowered::Texture(Texture {
                reference: reference(texture),
                element,
                image,
            }),
            Some(Bindings::Sampler(sampler)) if !arrayed(self, sampler) => Lowered::Sampler(Sampler {
                reference: reference(sampler),
                element,
            }),
            Some(Bindings::Combined(texture, sampler, image)) if !arrayed(self, texture) => Lowered::Sampled(
                Texture {
                    reference: reference(texture),
                    element,
                    image,
                },
                Sampler {
                    reference: reference(sampler),
                    element,
                },
            ),
            _ => return self.unsupported("a load of a whole array of resources"),
        };
        Ok(lowered)
    }

    /// Stores values that fit.
    pub fn store_place(&mut self, place: &Place, values: &[Value]) -> Result<()> {
        let shape = place.shape().clone();
        self.check_leaves(&shape)?;
        let scalars = shape.scalars();
        if !scalars
            .iter()
            .map(|s| s.kind)
            .eq(values.iter().map(|&v| self.b.kind(v)))
        {
            return self.invalid("a store of another type than the pointer's");
        }
        if let Place::Buffer(buffer) = place
            && self.shader.resources[buffer.resource].is_read_only()
        {
            return self.invalid("a store to a read-only buffer");
        }
        place.store(&mut self.b, values);
        Ok(())
    }

    pub fn store(&mut self, words: &[u32]) -> Result<()> {
        let &[pointer, value, ..] = words else {
            return self.invalid("a store of nothing");
        };
        // The value that a table has from the start.
        if self.facts.stored_once.get(&pointer) == Some(&value)
            && self.m.def(pointer).is_some_and(|(_, inst)| inst.op == S::Variable)
            && self.is_function_variable(pointer)
            && self.constant(value)?.is_some()
        {
            return Ok(());
        }
        let place = self.place(pointer)?;
        let values = self.value(value)?;
        self.store_place(&place, &values)
    }

    fn is_function_variable(&self, id: u32) -> bool {
        matches!(self.pointee(self.m.type_of(id)), Ok((StorageClass::Function, _)))
    }

    pub fn copy_memory(&mut self, words: &[u32]) -> Result<()> {
        let &[to, from, ..] = words else {
            return self.invalid("a copy of nothing");
        };
        let from = self.place(from)?;
        let shape = from.shape().clone();
        self.check_leaves(&shape)?;
        let values = from.load(&mut self.b);
        let to = self.place(to)?;
        self.store_place(&to, &values)
    }

    pub fn array_length(&mut self, inst: &Inst, words: &[u32]) -> Result<()> {
        let &[pointer, member, ..] = words else {
            return self.invalid("the length of nothing");
        };
        let place = self.place(pointer)?;
        let Some(Place::Buffer(array)) = place.child(&mut self.b, member) else {
            return self.invalid("OpArrayLength of no buffer");
        };
        let Some(length) = array.array_length(&mut self.b) else {
            return self.invalid("OpArrayLength of no array");
        };
        let kind = self.scalar_type(inst.ty)?.kind;
        let length = self.as_kind(length, kind)?;
        self.define_value(inst.id, [length]);
        Ok(())
    }

    pub fn atomic(&mut self, inst: &Inst, words: &[u32]) -> Result<()> {
        let word = |i: usize| words.get(i).copied().unwrap_or(0);
        if let Some((_, pointer)) = self.m.def(word(0))
            && pointer.op == S::ImageTexelPointer
        {
            return self.unsupported("an atomic operation on a texture");
        }
        let Place::Buffer(place) = self.place(word(0))? else {
            return self.unsupported("an atomic outside storage buffers");
        };
        let scalar = match place.shape.element_scalar() {
            Some(scalar) if matches!(scalar.kind, Kind::I32 | Kind::U32) => scalar,
            _ => return self.unsupported("an atomic on anything but a 32-bit integer"),
        };
        if place.shape.leaves != 1 {
            return self.invalid("an atomic on no scalar");
        }
        if inst.op == S::AtomicLoad {
            let values = place.load(&mut self.b);
            self.define_value(inst.id, values);
            return Ok(());
        }
        let mut operands = Flat::new();
        let operand = |s: &mut Self, id: u32| {
            let value = s.one(id)?;
            s.as_kind(value, scalar.kind)
        };
        if inst.op == S::AtomicStore {
            let value = operand(self, word(3))?;
            return self.store_place(&Place::Buffer(place), &[value]);
        }
        let op = match inst.op {
            S::AtomicExchange => AtomicOp::Exchange,
            S::AtomicCompareExchange => {
                operands.push(operand(self, word(5))?);
                operands.push(operand(self, word(4))?);
                AtomicOp::CompareExchange
            }
            S::AtomicIIncrement | S::AtomicIDecrement => {
                let one = self.b.constant(Literal {
                    kind: scalar.kind,
                    bits: 1,
                });
                operands.push(one);
                if inst.op == S::AtomicIIncrement {
                    AtomicOp::Add
                } else {
                    AtomicOp::Sub
                }
            }
            S::AtomicIAdd => AtomicOp::Add,
            S::AtomicISub => AtomicOp::Sub,
            S::AtomicSMin => AtomicOp::SMin,
            S::AtomicUMin => AtomicOp::UMin,
            S::AtomicSMax => AtomicOp::SMax,
            S::AtomicUMax => AtomicOp::UMax,
            S::AtomicAnd => AtomicOp::And,
            S::AtomicOr => AtomicOp::Or,
            S::AtomicXor => AtomicOp::Xor,
            op => return self.unsupported(format!("Op{op:?}")),
        };
        if operands.is_empty() {
            operands.push(operand(self, word(3))?);
        }
        if self.shader.resources[place.resource].is_read_only() {
            return self.invalid("an atomic on a read-only buffer");
        }
        let (mut args, access) = place.word(&mut self.b, place.fixed);
        args.extend(operands);
        let kinds: &[Kind] = match op {
            AtomicOp::CompareExchange => &[scalar.kind, Kind::Bool],
            _ => &[scalar.kind],
        };
        let buffer = place.reference();
        let atomic = self.b.inst(Op::BufferAtomic { buffer, op, access }, &args, kinds);
        let old = self.b.results(atomic)[0];
        self.define_value(inst.id, [old]);
        Ok(())
    }
}
