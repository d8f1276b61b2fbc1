//! Where pointers point: variables taken apart into locals and per-lane arrays, and ranges of buffers.
//!
//! A variable is split down to scalars. A level of its type that is indexed dynamically somewhere becomes a dimension
//! of the per-lane arrays beneath it; all other levels become separate locals.

use super::shape::{Form, Scalar, Shape};
use crate::ir::{
    Access, Alu, AtomicOp, FunctionBuilder, Handle, Kind, Literal, Local, LocalArray, Op, OutOfBounds, Resource,
    ResourceRef, Value,
};
use smallvec::SmallVec;
use std::rc::Rc;

/// A step of a [`Path`] into whatever element of an array, vector or matrix; all others are member numbers.
pub(crate) const ELEMENT: u32 = u32::MAX;
/// Members and elements on the way into a type.
pub(crate) type Path = Vec<u32>;

/// The leaves of a value.
pub(crate) type Flat = SmallVec<[Value; 4]>;

/// Arrays longer than this are per-lane arrays even if every index is constant: thousands of locals help nobody.
const LONGEST_SPLIT: u32 = 64;

/// How a variable is stored.
pub(crate) enum Store {
    Local(Handle<Local>),
    Array(Handle<LocalArray>),
    /// One store per member or element.
    Split(Vec<Rc<Store>>),
    /// A dynamic dimension: that many elements, within the arrays beneath.
    Indexed(u32, Rc<Store>),
}

/// A scalar of a store.
#[derive(Clone, Copy)]
enum Cell {
    Local(Handle<Local>),
    Element(Handle<LocalArray>, u32),
}

impl Store {
    /// Makes locals and arrays for a variable whose `dynamic` paths are indexed dynamically.
    pub fn new(b: &mut FunctionBuilder, name: &str, shape: &Shape, dynamic: &[Path]) -> Rc<Store> {
        Rc::new(Store::build(b, name, shape, dynamic, &mut Path::new(), None))
    }

    fn build(
        b: &mut FunctionBuilder,
        name: &str,
        shape: &Shape,
        dynamic: &[Path],
        path: &mut Path,
        extent: Option<u32>,
    ) -> Store {
        if let Form::Scalar(scalar) = shape.form {
            return match extent {
                None => Store::Local(b.local(name, scalar.kind)),
                Some(len) => Store::Array(b.array(name, scalar.kind, len)),
            };
        }
        let Some(elements) = shape.elements() else {
            let members = (0..shape.child_count()).filter_map(|i| {
                let child = shape.child(i)?;
                path.push(i);
                let store = Store::build(b, &format!("{name}.{i}"), &child.shape, dynamic, path, extent);
                path.pop();
                Some(Rc::new(store))
            });
            return Store::Split(members.collect());
        };
        let len = elements.len.unwrap_or(0);
        let indexed = len > LONGEST_SPLIT || dynamic.contains(path);
        path.push(ELEMENT);
        let store = if indexed {
            let extent = extent.unwrap_or(1).saturating_mul(len);
            let inner = Store::build(b, name, &elements.shape, dynamic, path, Some(extent));
            Store::Indexed(len, Rc::new(inner))
        } else {
            let vector = matches!(shape.form, Form::Vector(..));
            let each = (0..len).map(|i| {
                let name = match (vector, "xyzw".get(i as usize..=i as usize)) {
                    (true, Some(component)) => format!("{name}.{component}"),
                    _ => format!("{name}[{i}]"),
                };
                Rc::new(Store::build(b, &name, &elements.shape, dynamic, path, extent))
            });
            Store::Split(each.collect())
        };
        path.pop();
        store
    }

    /// Calls `visit` for each scalar, in leaf order.
    fn visit(&self, index: u32, visit: &mut dyn FnMut(Cell)) {
        match self {
            Store::Local(local) => visit(Cell::Local(*local)),
            Store::Array(array) => visit(Cell::Element(*array, index)),
            Store::Split(parts) => parts.iter().for_each(|part| part.visit(index, visit)),
            Store::Indexed(len, element) => {
                (0..*len).for_each(|i| element.visit(index.wrapping_mul(*len).wrapping_add(i), visit));
            }
        }
    }

    /// Sets what the variable holds at function entry; false if that can't be expressed (64-bit arrays).
    pub fn set_initial(&self, b: &mut FunctionBuilder, leaves: &[Literal]) -> bool {
        let mut all = true;
        let mut leaves = leaves.iter();
        self.visit(0, &mut |cell| {
            let Some(&literal) = leaves.next() else {
                all = false;
                return;
            };
            match cell {
                Cell::Local(local) => b.func.locals[local].init = literal,
                Cell::Element(array, index) => {
                    let array = &mut b.func.arrays[array];
                    if array.kind.bits() > 32 {
                        all = false;
                        return;
                    }
                    array.init.resize(array.len as usize, 0);
                    array.init[index as usize] = literal.bits as u32;
                }
            }
        });
        all
    }

    /// Sets the variable to what it holds at entry: for bodies that are inlined, perhaps in loops.
    pub fn reset(&self, b: &mut FunctionBuilder) {
        let mut arrays: Vec<Handle<LocalArray>> = Vec::new();
        let mut locals = Vec::new();
        self.visit(0, &mut |cell| match cell {
            Cell::Local(local) => locals.push(local),
            Cell::Element(array, index) => {
                if index == 0 {
                    arrays.push(array);
                }
            }
        });
        for local in locals {
            let init = b.func.locals[local].init;
            let value = b.constant(init);
            b.set(local, value);
        }
        for array in arrays {
            b.inst(Op::ArrayReset(array), &[], &[]);
        }
    }

    /// The length of the arrays beneath, if there are any.
    fn array_len(&self, b: &FunctionBuilder) -> Option<u32> {
        match self {
            Store::Local(_) => None,
            Store::Array(array) => Some(b.func.arrays[*array].len),
            Store::Split(parts) => parts.iter().find_map(|part| part.array_len(b)),
            Store::Indexed(_, element) => element.array_len(b),
        }
    }
}

/// Part of a variable.
#[derive(Clone)]
pub(crate) struct VarPlace {
    pub store: Rc<Store>,
    pub shape: Rc<Shape>,
    /// Position in the dynamic dimensions passed so far: `fixed + dynamic`.
    fixed: u32,
    pub dynamic: Option<Value>,
}

impl VarPlace {
    pub fn new(store: Rc<Store>, shape: Rc<Shape>) -> VarPlace {
        VarPlace {
            store,
            shape,
            fixed: 0,
            dynamic: None,
        }
    }

    /// Member or element `index`.
    pub fn child(&self, b: &mut FunctionBuilder, index: u32) -> Option<VarPlace> {
        let shape = self.shape.child(index)?.shape;
        let (store, fixed, dynamic) = match &*self.store {
            Store::Split(parts) => (parts.get(index as usize)?, self.fixed, self.dynamic),
            Store::Indexed(len, element) => {
                let dynamic = self.dynamic.map(|d| scale(b, d, *len));
                (element, self.fixed.wrapping_mul(*len).wrapping_add(index), dynamic)
            }
            Store::Local(_) | Store::Array(_) => return None,
        };
        Some(VarPlace {
            store: store.clone(),
            shape,
            fixed,
            dynamic,
        })
    }

    /// The element that a u32 selects, clamped to the last (R-WGSL-71).
    pub fn element(&self, b: &mut FunctionBuilder, index: Value) -> Option<VarPlace> {
        let shape = self.shape.elements()?.shape;
        let Store::Indexed(len, element) = &*self.store else {
            return None;
        };
        // With one dimension the array instructions clamp by themselves.
        let index = if element.array_len(b) == Some(*len) {
            index
        } else {
            let last = b.u32(len.saturating_sub(1));
            b.alu(Alu::UMin, &[index, last])
        };
        let outer = self.dynamic.map(|d| scale(b, d, *len));
        let dynamic = match outer {
            None => index,
            Some(outer) => b.alu(Alu::IAdd, &[outer, index]),
        };
        Some(VarPlace {
            store: element.clone(),
            shape,
            fixed: self.fixed.wrapping_mul(*len),
            dynamic: Some(dynamic),
        })
    }

    fn index(&self, b: &mut FunctionBuilder, at: u32) -> Value {
        match self.dynamic {
            None => b.u32(at),
            Some(dynamic) if at == 0 => dynamic,
            Some(dynamic) => {
                let at = b.u32(at);
                b.alu(Alu::IAdd, &[dynamic, at])
            }
        }
    }

    /// The scalars, with the dynamic part's contribution still to be added.
    fn cells(&self, b: &mut FunctionBuilder) -> Vec<(Cell, Option<Value>)> {
        let mut out = Vec::with_capacity(self.shape.leaves as usize);
        collect(b, &self.store, self.fixed, self.dynamic, &mut out);
        out
    }

    pub fn load(&self, b: &mut FunctionBuilder) -> Flat {
        let cells = self.cells(b);
        cells
            .into_iter()
            .map(|(cell, dynamic)| match cell {
                Cell::Local(local) => b.get(local),
                Cell::Element(array, at) => {
                    let place = VarPlace {
                        dynamic,
                        ..self.clone()
                    };
                    let index = place.index(b, at);
                    b.array_get(array, index)
                }
            })
            .collect()
    }

    pub fn store(&self, b: &mut FunctionBuilder, values: &[Value]) {
        let cells = self.cells(b);
        if self.dynamic.is_none() && self.resets(b, &cells, values) {
            self.store.reset(b);
            return;
        }
        for ((cell, dynamic), &value) in cells.into_iter().zip(values) {
            match cell {
                Cell::Local(local) => b.set(local, value),
                Cell::Element(array, at) => {
                    let place = VarPlace {
                        dynamic,
                        ..self.clone()
                    };
                    let index = place.index(b, at);
                    b.array_set(array, index, value);
                }
            }
        }
    }

    /// Whether storing the values is what [`Store::reset`] does: whole arrays, constants equal to the initial ones.
    fn resets(&self, b: &FunctionBuilder, cells: &[(Cell, Option<Value>)], values: &[Value]) -> bool {
        let whole = matches!(&*self.store, Store::Indexed(len, _) if self.store.array_len(b) == Some(*len));
        whole
            && cells.iter().zip(values).all(|((cell, _), &value)| {
                let init = match cell {
                    Cell::Local(local) => b.func.locals[*local].init.bits,
                    Cell::Element(array, at) => {
                        let init = &b.func.arrays[*array].init;
                        u64::from(init.get(*at as usize).copied().unwrap_or(0))
                    }
                };
                b.func.constant(value).is_some_and(|literal| literal.bits == init)
            })
    }
}

fn collect(
    b: &mut FunctionBuilder,
    store: &Store,
    index: u32,
    dynamic: Option<Value>,
    out: &mut Vec<(Cell, Option<Value>)>,
) {
    match store {
        Store::Local(local) => out.push((Cell::Local(*local), None)),
        Store::Array(array) => out.push((Cell::Element(*array, index), dynamic)),
        Store::Split(parts) => parts.iter().for_each(|part| collect(b, part, index, dynamic, out)),
        Store::Indexed(len, element) => {
            let dynamic = dynamic.map(|d| scale(b, d, *len));
            for i in 0..*len {
                collect(b, element, index.wrapping_mul(*len).wrapping_add(i), dynamic, out);
            }
        }
    }
}

fn scale(b: &mut FunctionBuilder, value: Value, factor: u32) -> Value {
    if factor == 1 {
        return value;
    }
    let factor = b.u32(factor);
    b.alu(Alu::IMul, &[value, factor])
}

/// A range of a buffer.
#[derive(Clone)]
pub(crate) struct BufferPlace {
    pub resource: Handle<Resource>,
    /// Element of the binding array.
    pub element: Option<Value>,
    /// Bytes that are bound for sure.
    pub min_size: u64,
    pub shape: Rc<Shape>,
    /// Byte offset: `fixed + dynamic`.
    pub fixed: u32,
    pub dynamic: Option<Value>,
    /// Power of two that the dynamic part is a multiple of.
    dynamic_align: u32,
}

impl BufferPlace {
    pub fn new(resource: Handle<Resource>, element: Option<Value>, min_size: u64, shape: Rc<Shape>) -> BufferPlace {
        BufferPlace {
            resource,
            element,
            min_size,
            shape,
            fixed: 0,
            dynamic: None,
            dynamic_align: 16,
        }
    }

    pub fn child(&self, index: u32) -> Option<BufferPlace> {
        let child = self.shape.child(index)?;
        Some(BufferPlace {
            shape: child.shape,
            fixed: self.fixed.checked_add(child.offset)?,
            ..self.clone()
        })
    }

    pub fn element(&self, b: &mut FunctionBuilder, index: Value) -> Option<BufferPlace> {
        let elements = self.shape.elements()?;
        // No index may wrap around to what is inside: the first element that doesn't exist stands for all of them.
        let beyond = match elements.len {
            Some(len) => len,
            None => ((u32::MAX - self.fixed) / elements.stride.max(1)).saturating_sub(1),
        };
        let beyond = b.u32(beyond);
        let index = b.alu(Alu::UMin, &[index, beyond]);
        let offset = scale(b, index, elements.stride);
        let dynamic = match self.dynamic {
            None => offset,
            Some(outer) => b.alu(Alu::IAdd, &[outer, offset]),
        };
        Some(BufferPlace {
            shape: elements.shape,
            dynamic: Some(dynamic),
            dynamic_align: self.dynamic_align.min(power_of_two(elements.stride)),
            ..self.clone()
        })
    }

    /// Whole elements of a runtime-sized array (R-WGSL-72): what of the bound bytes follows its offset. `None` if the
    /// place is no array.
    pub fn array_length(&self, b: &mut FunctionBuilder) -> Option<Value> {
        let stride = self.shape.elements()?.stride.max(1);
        let args: Flat = self.element.into_iter().collect();
        let size = b.inst1(Op::BufferSize(self.reference()), &args, Kind::U32);
        let bytes = match self.fixed {
            0 => size,
            fixed => {
                let fixed = b.u32(fixed);
                b.alu(Alu::ISub, &[size, fixed])
            }
        };
        Some(if stride.is_power_of_two() {
            let shift = b.u32(stride.trailing_zeros());
            b.alu(Alu::ShrU, &[bytes, shift])
        } else {
            let stride = b.u32(stride);
            b.alu(Alu::UDiv, &[bytes, stride])
        })
    }

    pub fn reference(&self) -> ResourceRef {
        ResourceRef {
            resource: self.resource,
            indexed: self.element.is_some(),
        }
    }

    /// Operands for an access of 4 bytes at `fixed` (plus the dynamic part), and what is known of it.
    pub fn word(&self, b: &mut FunctionBuilder, fixed: u32) -> (SmallVec<[Value; 4]>, Access) {
        let offset = match self.dynamic {
            None => b.u32(fixed),
            Some(dynamic) if fixed == 0 => dynamic,
            Some(dynamic) => {
                let fixed = b.u32(fixed);
                b.alu(Alu::IAdd, &[dynamic, fixed])
            }
        };
        let proved = self.dynamic.is_none() && u64::from(fixed) + 4 <= self.min_size;
        let align = match self.dynamic {
            None => power_of_two(fixed),
            Some(_) => power_of_two(fixed).min(self.dynamic_align),
        };
        let access = Access {
            bounds: if proved { OutOfBounds::Proved } else { OutOfBounds::Zero },
            align: align.clamp(4, 16) as u8,
        };
        (self.element.into_iter().chain([offset]).collect(), access)
    }

    fn load_word(&self, b: &mut FunctionBuilder, fixed: u32, kind: Kind) -> Value {
        let (args, access) = self.word(b, fixed);
        let buffer = self.reference();
        b.inst1(Op::BufferLoad { buffer, kind, access }, &args, kind)
    }

    fn store_word(&self, b: &mut FunctionBuilder, fixed: u32, value: Value) {
        let (mut args, access) = self.word(b, fixed);
        args.push(value);
        let buffer = self.reference();
        b.inst(Op::BufferStore { buffer, access }, &args, &[]);
    }

    /// The place of the word that holds an 8- or 16-bit scalar, and the shift to it (none for the lowest).
    fn part_word(&self, b: &mut FunctionBuilder, fixed: u32, width: u32) -> (BufferPlace, u32, Option<Value>) {
        let within = if width == 1 { 3 } else { 2 };
        if self.dynamic_align >= 4 || self.dynamic.is_none() {
            let shift = (fixed & within != 0).then(|| b.u32(8 * (fixed & within)));
            return (self.clone(), fixed & !3, shift);
        }
        let (args, _) = self.word(b, fixed);
        let offset = args[args.len() - 1];
        let (mask, within, three) = (b.u32(!3), b.u32(within), b.u32(3));
        let word = b.alu(Alu::And, &[offset, mask]);
        let odd = b.alu(Alu::And, &[offset, within]);
        let shift = b.alu(Alu::Shl, &[odd, three]);
        let place = BufferPlace {
            fixed: 0,
            dynamic: Some(word),
            dynamic_align: 4,
            ..self.clone()
        };
        (place, 0, Some(shift))
    }

    fn load_leaf(&self, b: &mut FunctionBuilder, at: u32, scalar: Scalar) -> Value {
        match scalar.width() {
            width @ (1 | 2) => {
                let (place, at, shift) = self.part_word(b, at, width);
                let word = place.load_word(b, at, Kind::U32);
                let low = match shift {
                    None => word,
                    Some(shift) => b.alu(Alu::ShrU, &[word, shift]),
                };
                if scalar.half {
                    return b.alu(Alu::HalfToF, &[low]);
                }
                let kind = if width == 1 { Kind::U8 } else { Kind::U16 };
                let short = b.inst1(Op::Convert(kind), &[low], kind);
                b.bitcast(short, scalar.kind)
            }
            8 => {
                let words = [at, at.wrapping_add(4)].map(|at| {
                    let word = self.load_word(b, at, Kind::U32);
                    b.inst1(Op::Convert(Kind::U64), &[word], Kind::U64)
                });
                let shift = b.u32(32);
                let high = b.alu(Alu::Shl, &[words[1], shift]);
                let joined = b.alu(Alu::Or, &[words[0], high]);
                b.bitcast(joined, scalar.kind)
            }
            _ => self.load_word(b, at, scalar.kind),
        }
    }

    fn store_leaf(&self, b: &mut FunctionBuilder, at: u32, scalar: Scalar, value: Value) {
        match scalar.width() {
            width @ (1 | 2) => {
                // Atomically, because the rest of the word may be another invocation's.
                let bits = if scalar.half {
                    b.alu(Alu::HalfBits, &[value])
                } else {
                    let short = b.bitcast(value, if width == 1 { Kind::U8 } else { Kind::U16 });
                    b.inst1(Op::Convert(Kind::U32), &[short], Kind::U32)
                };
                let (place, at, shift) = self.part_word(b, at, width);
                let mask = b.u32((1 << (8 * width)) - 1);
                let (bits, mask) = match shift {
                    None => (bits, mask),
                    Some(shift) => (b.alu(Alu::Shl, &[bits, shift]), b.alu(Alu::Shl, &[mask, shift])),
                };
                let keep = b.alu(Alu::Not, &[mask]);
                for (op, value) in [(AtomicOp::And, keep), (AtomicOp::Or, bits)] {
                    let (mut args, access) = place.word(b, at);
                    args.push(value);
                    let buffer = place.reference();
                    b.inst(Op::BufferAtomic { buffer, op, access }, &args, &[Kind::U32]);
                }
            }
            8 => {
                let bits = b.bitcast(value, Kind::U64);
                let shift = b.u32(32);
                let high = b.alu(Alu::ShrU, &[bits, shift]);
                for (at, half) in [(at, bits), (at.wrapping_add(4), high)] {
                    let word = b.inst1(Op::Convert(Kind::U32), &[half], Kind::U32);
                    self.store_word(b, at, word);
                }
            }
            _ => self.store_word(b, at, value),
        }
    }

    pub fn load(&self, b: &mut FunctionBuilder) -> Flat {
        let mut out = Flat::new();
        let shape = self.shape.clone();
        shape.visit_leaves(self.fixed, &mut |at, scalar| out.push(self.load_leaf(b, at, scalar)));
        out
    }

    pub fn store(&self, b: &mut FunctionBuilder, values: &[Value]) {
        let mut values = values.iter();
        let shape = self.shape.clone();
        shape.visit_leaves(self.fixed, &mut |at, scalar| {
            if let Some(&value) = values.next() {
                self.store_leaf(b, at, scalar, value);
            }
        });
    }
}

/// The largest power of two up to 16 that divides the number.
fn power_of_two(n: u32) -> u32 {
    1 << n.trailing_zeros().min(4)
}

/// What a pointer points to.
#[derive(Clone)]
pub(crate) enum Place {
    Var(VarPlace),
    Buffer(BufferPlace),
}

impl Place {
    pub fn shape(&self) -> &Rc<Shape> {
        match self {
            Place::Var(place) => &place.shape,
            Place::Buffer(place) => &place.shape,
        }
    }

    pub fn child(&self, b: &mut FunctionBuilder, index: u32) -> Option<Place> {
        match self {
            Place::Var(place) => place.child(b, index).map(Place::Var),
            Place::Buffer(place) => place.child(index).map(Place::Buffer),
        }
    }

    pub fn element(&self, b: &mut FunctionBuilder, index: Value) -> Option<Place> {
        match self {
            Place::Var(place) => place.element(b, index).map(Place::Var),
            Place::Buffer(place) => place.element(b, index).map(Place::Buffer),
        }
    }

    pub fn load(&self, b: &mut FunctionBuilder) -> Flat {
        match self {
            Place::Var(place) => place.load(b),
            Place::Buffer(place) => place.load(b),
        }
    }

    pub fn store(&self, b: &mut FunctionBuilder, values: &[Value]) {
        match self {
            Place::Var(place) => place.store(b, values),
            Place::Buffer(place) => place.store(b, values),
        }
    }

    /// Calls `visit` for each value that the place depends on.
    pub fn visit_values(&mut self, visit: &mut dyn FnMut(&mut Value)) {
        match self {
            Place::Var(place) => place.dynamic.iter_mut().for_each(visit),
            Place::Buffer(place) => place.element.iter_mut().chain(&mut place.dynamic).for_each(visit),
        }
    }
}
