//! Expressions: composites, accesses, operators, conversions.

use super::analysis::constant_index;
use super::body::{Body, Lowered};
use super::place::{Flat, Place};
use super::report::{Failure, Result};
use super::shader::MAX_LEAVES;
use super::types::{self, Form, Scalar, Shape};
use crate::compose::{self, blend, matrix};
use crate::diagnostic::ShaderErrorKind;
use crate::ir::{Alu, Handle as IrHandle, Kind, Literal, LocalArray, Op, QuadOp, Value};
use naga::{BinaryOperator as Bin, Expression as Ex, Handle};
use std::rc::Rc;

/// Composites of at most so many elements are indexed dynamically by selects.
const SELECT_CHAIN: u32 = 8;

impl<'m> Body<'_, 'm> {
    /// Evaluates an expression here.
    pub fn evaluate(&mut self, handle: Handle<naga::Expression>) -> Result<Lowered> {
        let expressions = self.frame.expressions;
        let values = match expressions[handle] {
            Ex::FunctionArgument(index) => {
                return match self.frame.arguments.get(index as usize) {
                    Some(argument) => Ok(argument.clone()),
                    None => self.internal("an unknown argument"),
                };
            }
            Ex::GlobalVariable(global) => return self.global(global),
            Ex::LocalVariable(local) => return self.local_variable(local),
            Ex::Access { base, index } => return self.access(base, index),
            Ex::AccessIndex { base, index } => return self.access_index(base, index),
            Ex::Literal(literal) => match types::literal(literal) {
                Some(literal) => Flat::from_slice(&[self.b.constant(literal)]),
                None => return self.internal("an abstract number"),
            },
            Ex::Constant(constant) => {
                let init = self.cx.module.constants[constant].init;
                match self.const_leaves(&self.cx.module.global_expressions, init) {
                    Some(literals) => literals.into_iter().map(|l| self.b.constant(l)).collect(),
                    None => self.global_expression(init)?,
                }
            }
            Ex::Override(constant) => self.override_value(constant)?,
            Ex::ZeroValue(ty) => {
                let shape = self.cx.types.get(ty);
                self.cx.check_leaves(&shape, self.at)?;
                let scalars = shape.scalars().into_iter();
                scalars.map(|s| self.b.constant(Literal::zero(s.kind))).collect()
            }
            Ex::Compose { ref components, .. } => {
                let shape = self.shape(handle);
                self.cx.check_leaves(&shape, self.at)?;
                let mut values = Flat::new();
                for &component in components {
                    values.extend(self.value(component)?);
                }
                values
            }
            Ex::Splat { size, value } => {
                let value = self.scalar(value)?;
                std::iter::repeat_n(value, size as usize).collect()
            }
            Ex::Swizzle { size, vector, pattern } => {
                let vector = self.value(vector)?;
                let pattern = &pattern[..size as usize];
                pattern
                    .iter()
                    .filter_map(|&c| vector.get(c as usize).copied())
                    .collect()
            }
            Ex::Load { pointer } => {
                let place = self.place(pointer)?;
                self.cx.check_leaves(place.shape(), self.at)?;
                place.load(&mut self.b)
            }
            Ex::ImageSample {
                image,
                sampler,
                gather,
                coordinate,
                array_index,
                offset,
                level,
                depth_ref,
                clamp_to_edge,
            } => {
                let call = super::image::SampleCall {
                    image,
                    sampler,
                    gather,
                    coordinate,
                    array_index,
                    offset,
                    level,
                    depth_ref,
                    clamp_to_edge,
                };
                self.image_sample(&call)?
            }
            Ex::ImageLoad {
                image,
                coordinate,
                array_index,
                sample,
                level,
            } => self.image_load(image, coordinate, array_index, sample.or(level))?,
            Ex::ImageQuery { image, query } => self.image_query(image, query)?,
            Ex::Unary { op, expr } => {
                let values = self.value(expr)?;
                values.into_iter().map(|v| self.unary(op, v)).collect()
            }
            Ex::Binary { op, left, right } => {
                let (left_shape, right_shape) = (self.shape(left), self.shape(right));
                let (left, right) = (self.value(left)?, self.value(right)?);
                let values = self.binary(op, (&left_shape, &left), (&right_shape, &right))?;
                self.round(&left_shape, values)
            }
            Ex::Select {
                condition,
                accept,
                reject,
            } => {
                let (condition, accept, reject) = (self.value(condition)?, self.value(accept)?, self.value(reject)?);
                let pairs = accept.into_iter().zip(reject).enumerate();
                pairs
                    .map(|(i, (x, y))| self.b.select(broadcast(&condition, i), x, y))
                    .collect()
            }
            Ex::Derivative { axis, ctrl, expr } => {
                let shape = self.shape(expr);
                let values = self.value(expr)?;
                let values = values.into_iter().map(|v| self.derivative(axis, ctrl, v)).collect();
                self.round(&shape, values)
            }
            Ex::Relational { fun, argument } => {
                let values = self.value(argument)?;
                self.relational(fun, &values)
            }
            Ex::Math {
                fun,
                arg,
                arg1,
                arg2,
                arg3,
            } => {
                let mut args = Vec::with_capacity(4);
                for arg in [Some(arg), arg1, arg2, arg3].into_iter().flatten() {
                    args.push((self.shape(arg), self.value(arg)?));
                }
                let shape = self.shape(handle);
                let values = self.math(fun, &args)?;
                match super::math::is_exact(fun) {
                    true => values,
                    false => self.round(&shape, values),
                }
            }
            Ex::As { expr, kind, convert } => {
                let from_shape = self.shape(expr);
                let values = self.value(expr)?;
                match (from_shape.element_scalar(), convert) {
                    (Some(from), Some(width)) => match Scalar::of(naga::Scalar { kind, width }) {
                        Some(to) => values.into_iter().map(|v| self.convert(v, from, to)).collect(),
                        None => return self.internal("a conversion to an abstract type"),
                    },
                    (Some(from), None) => {
                        let width = from.width() as naga::Bytes;
                        match Scalar::of(naga::Scalar { kind, width }) {
                            Some(to) => values.into_iter().map(|v| self.reinterpret(v, from, to)).collect(),
                            None => return self.internal("a bitcast to an abstract type"),
                        }
                    }
                    (None, _) => return self.internal("a conversion of a composite"),
                }
            }
            Ex::ArrayLength(pointer) => self.array_length(pointer)?,
            Ex::CallResult(_)
            | Ex::AtomicResult { .. }
            | Ex::WorkGroupUniformLoadResult { .. }
            | Ex::SubgroupBallotResult
            | Ex::SubgroupOperationResult { .. } => return self.internal("a result before its statement"),
            Ex::RayQueryVertexPositions { .. } | Ex::RayQueryProceedResult | Ex::RayQueryGetIntersection { .. } => {
                return self.unsupported("ray tracing");
            }
            Ex::CooperativeLoad { .. } | Ex::CooperativeMultiplyAdd { .. } => {
                return self.unsupported("a cooperative matrix");
            }
        };
        Ok(Lowered::Value(values))
    }

    /// The expression's scalars as literals, if it is constant without any arithmetic.
    pub fn const_leaves(
        &self,
        expressions: &naga::Arena<naga::Expression>,
        handle: Handle<naga::Expression>,
    ) -> Option<Vec<Literal>> {
        let leaves = match expressions[handle] {
            Ex::Literal(literal) => vec![types::literal(literal)?],
            Ex::Constant(constant) => {
                let init = self.cx.module.constants[constant].init;
                self.const_leaves(&self.cx.module.global_expressions, init)?
            }
            Ex::Override(constant) => vec![self.cx.constant(constant)?],
            Ex::ZeroValue(ty) => {
                let shape = self.cx.types.get(ty);
                if shape.leaves > MAX_LEAVES {
                    return None;
                }
                shape.scalars().into_iter().map(|s| Literal::zero(s.kind)).collect()
            }
            Ex::Compose { ref components, .. } => {
                let mut leaves = Vec::new();
                for &component in components {
                    leaves.extend(self.const_leaves(expressions, component)?);
                    if leaves.len() > MAX_LEAVES as usize {
                        return None;
                    }
                }
                leaves
            }
            Ex::Splat { size, value } => {
                let value = self.const_leaves(expressions, value)?;
                value.repeat(size as usize)
            }
            Ex::Swizzle { size, vector, pattern } => {
                let vector = self.const_leaves(expressions, vector)?;
                let pattern = &pattern[..size as usize];
                pattern
                    .iter()
                    .map(|&c| vector.get(c as usize).copied())
                    .collect::<Option<_>>()?
            }
            _ => return None,
        };
        Some(leaves)
    }

    fn override_value(&mut self, handle: Handle<naga::Override>) -> Result<Flat> {
        if let Some(literal) = self.cx.constant(handle) {
            return Ok(Flat::from_slice(&[self.b.constant(literal)]));
        }
        let o = &self.cx.module.overrides[handle];
        match o.init {
            Some(init) => self.global_expression(init),
            None => {
                let key = match (o.id, &o.name) {
                    (Some(id), _) => id.to_string(),
                    (None, name) => name.clone().unwrap_or_default(),
                };
                let message = format!("pipeline constant `{key}` has neither a default nor a value");
                let at = self.cx.module.overrides.get_span(handle);
                Err(Failure::new(ShaderErrorKind::Constant, message, at))
            }
        }
    }

    /// An index as u32; a negative one becomes larger than any array.
    fn index(&mut self, handle: Handle<naga::Expression>) -> Result<Value> {
        let value = self.scalar(handle)?;
        Ok(match self.b.kind(value) {
            Kind::I32 | Kind::U32 => self.b.bitcast(value, Kind::U32),
            _ => self.b.inst1(Op::Convert(Kind::U32), &[value], Kind::U32),
        })
    }

    fn access_index(&mut self, base: Handle<naga::Expression>, index: u32) -> Result<Lowered> {
        let shape = self.shape(base);
        match self.lowered(base)? {
            Lowered::Value(values) => {
                let Some(child) = shape.child(index) else {
                    return self.internal("an index out of range");
                };
                let part = child.leaf as usize..(child.leaf + child.shape.leaves) as usize;
                match values.get(part) {
                    Some(part) => Ok(Lowered::Value(part.into())),
                    None => self.internal("a composite of another size"),
                }
            }
            Lowered::Place(place) => match place.child(&mut self.b, index) {
                Some(place) => Ok(Lowered::Place(place)),
                None => self.internal("a pointer to nothing"),
            },
            Lowered::Bindings(global) => {
                let element = self.b.u32(index);
                self.resource(global, Some(element))
            }
            Lowered::Handle(_) => self.internal("an index into a texture"),
        }
    }

    fn access(&mut self, base: Handle<naga::Expression>, index: Handle<naga::Expression>) -> Result<Lowered> {
        let expressions = self.frame.expressions;
        let shape = self.shape(base);
        if let Some(constant) = constant_index(self.cx.module, expressions, index) {
            // Runtime-sized arrays have any number of elements.
            if shape.elements().is_some_and(|e| e.len.is_none_or(|len| constant < len)) {
                return self.access_index(base, constant);
            }
        }
        // A constant table isn't worth evaluating before it is known to be needed as values.
        if let Some(elements) = shape.elements()
            && elements.len.is_some_and(|len| len > 4)
            && let Some(leaves) = self.const_leaves(expressions, base)
            && let Some(values) = self.table_element(&leaves, &elements.shape, index)?
        {
            return Ok(Lowered::Value(values));
        }
        match self.lowered(base)? {
            Lowered::Value(values) => {
                if let Ex::Load { pointer } = expressions[base]
                    && let Lowered::Place(place @ Place::Buffer(_)) = self.lowered(pointer)?
                    && self.is_read_only(&place)
                {
                    // A copy of read-only memory: load just the element; the other loads are dead.
                    let index = self.index(index)?;
                    if let Some(element) = place.element(&mut self.b, index) {
                        return Ok(Lowered::Value(element.load(&mut self.b)));
                    }
                }
                self.value_element(&values, &shape, index)
            }
            Lowered::Place(place) => {
                let index = self.index(index)?;
                match place.element(&mut self.b, index) {
                    Some(place) => Ok(Lowered::Place(place)),
                    None => self.internal("a variable that wasn't known to be indexed dynamically"),
                }
            }
            Lowered::Bindings(global) => {
                let element = self.index(index)?;
                self.resource(global, Some(element))
            }
            Lowered::Handle(_) => self.internal("an index into a texture"),
        }
    }

    fn is_read_only(&self, place: &Place) -> bool {
        match place {
            Place::Buffer(buffer) => self.cx.shader.resources[buffer.resource].is_read_only(),
            Place::Var(_) => false,
        }
    }

    /// Element of a table of constants, by way of per-lane arrays that are never written.
    fn table_element(
        &mut self,
        leaves: &[Literal],
        element: &Shape,
        index: Handle<naga::Expression>,
    ) -> Result<Option<Flat>> {
        let each = element.leaves as usize;
        if each == 0 || leaves.iter().any(|l| l.kind.bits() > 32) {
            return Ok(None);
        }
        let index = self.index(index)?;
        let columns = (0..each).map(|leaf| {
            let column: Vec<Literal> = leaves.iter().copied().skip(leaf).step_by(each).collect();
            let array = self.table(column);
            self.b.array_get(array, index)
        });
        Ok(Some(columns.collect()))
    }

    fn table(&mut self, column: Vec<Literal>) -> IrHandle<LocalArray> {
        if let Some(&array) = self.tables.get(&column) {
            return array;
        }
        let kind = column[0].kind;
        let array = self.b.array("table", kind, column.len() as u32);
        self.b.func.arrays[array].init = column.iter().map(|l| l.bits as u32).collect();
        self.tables.insert(column, array);
        array
    }

    /// Element of a value: by selects if there are few, else by way of per-lane arrays. Clamps to the last.
    fn value_element(&mut self, values: &[Value], shape: &Shape, index: Handle<naga::Expression>) -> Result<Lowered> {
        let Some(elements) = shape.elements() else {
            return self.internal("an index into a scalar");
        };
        let (len, each) = (elements.len.unwrap_or(0), elements.shape.leaves as usize);
        if len == 0 || values.len() != len as usize * each {
            return self.internal("a composite of another size");
        }
        let constants: Option<Vec<Literal>> = values.iter().map(|&v| self.b.func.constant(v)).collect();
        if let Some(leaves) = constants.filter(|_| len > 4)
            && let Some(values) = self.table_element(&leaves, &elements.shape, index)?
        {
            return Ok(Lowered::Value(values));
        }
        let index = self.index(index)?;
        let mut out = Flat::new();
        if len <= SELECT_CHAIN {
            let conditions: Vec<Value> = (0..len - 1)
                .map(|i| {
                    let i = self.b.u32(i);
                    self.b.alu(Alu::IEq, &[index, i])
                })
                .collect();
            for leaf in 0..each {
                let mut result = values[values.len() - each + leaf];
                for (i, &condition) in conditions.iter().enumerate().rev() {
                    result = self.b.select(condition, values[i * each + leaf], result);
                }
                out.push(result);
            }
        } else {
            for leaf in 0..each {
                let kind = self.b.kind(values[leaf]);
                let array = self.b.array("indexed", kind, len);
                for (i, &value) in values.iter().skip(leaf).step_by(each).enumerate() {
                    let at = self.b.u32(i as u32);
                    self.b.array_set(array, at, value);
                }
                out.push(self.b.array_get(array, index));
            }
        }
        Ok(Lowered::Value(out))
    }

    fn array_length(&mut self, pointer: Handle<naga::Expression>) -> Result<Flat> {
        let Place::Buffer(place) = self.place(pointer)? else {
            return self.internal("arrayLength of a variable");
        };
        let Some(length) = place.array_length(&mut self.b) else {
            return self.internal("arrayLength of no array");
        };
        Ok(Flat::from_slice(&[length]))
    }

    /// Rounds results of type f16.
    pub fn round(&mut self, shape: &Rc<Shape>, values: Flat) -> Flat {
        if shape.element_scalar().is_some_and(|s| s.half) {
            return values.into_iter().map(|v| self.quantize(v)).collect();
        }
        values
    }

    fn quantize(&mut self, value: Value) -> Value {
        match self.b.kind(value) {
            Kind::F32 => self.b.alu(Alu::QuantizeF16, &[value]),
            _ => value,
        }
    }

    fn unary(&mut self, op: naga::UnaryOperator, value: Value) -> Value {
        let alu = match op {
            naga::UnaryOperator::Negate if self.b.kind(value).is_float() => Alu::FNeg,
            naga::UnaryOperator::Negate => Alu::INeg,
            naga::UnaryOperator::LogicalNot | naga::UnaryOperator::BitwiseNot => Alu::Not,
        };
        self.b.alu(alu, &[value])
    }

    fn binary(&mut self, op: Bin, left: (&Shape, &[Value]), right: (&Shape, &[Value])) -> Result<Flat> {
        let (x, y) = (left.1, right.1);
        if op == Bin::Multiply {
            let b = &mut self.b;
            match (&left.0.form, &right.0.form) {
                (Form::Matrix(..), Form::Vector(..)) => return Ok(matrix::mul_vector(b, x, y).into()),
                (Form::Vector(..), Form::Matrix(..)) => return Ok(matrix::vector_mul(b, x, y).into()),
                (Form::Matrix(columns, ..), Form::Matrix(..)) => {
                    return Ok(matrix::mul_matrix(b, x, y, *columns as usize).into());
                }
                _ => {}
            }
        }
        let count = x.len().max(y.len());
        (0..count)
            .map(|i| self.binary_scalar(op, broadcast(x, i), broadcast(y, i)))
            .collect()
    }

    fn binary_scalar(&mut self, op: Bin, x: Value, y: Value) -> Result<Value> {
        let kind = self.b.kind(x);
        let (float, signed) = (kind.is_float(), kind.is_signed());
        let pick = |f, s, u| blend::by_kind(kind, f, s, u);
        // Bools compare as bits.
        if kind == Kind::Bool && matches!(op, Bin::Equal | Bin::NotEqual) {
            let differ = self.b.alu(Alu::Xor, &[x, y]);
            return Ok(match op {
                Bin::Equal => self.b.alu(Alu::Not, &[differ]),
                _ => differ,
            });
        }
        let (alu, swap) = match op {
            Bin::Add => (pick(Alu::FAdd, Alu::IAdd, Alu::IAdd), false),
            Bin::Subtract => (pick(Alu::FSub, Alu::ISub, Alu::ISub), false),
            Bin::Multiply => (pick(Alu::FMul, Alu::IMul, Alu::IMul), false),
            Bin::Divide => (pick(Alu::FDiv, Alu::SDiv, Alu::UDiv), false),
            Bin::Modulo => (pick(Alu::FRem, Alu::SRem, Alu::URem), false),
            Bin::Equal => (if float { Alu::FEq } else { Alu::IEq }, false),
            Bin::NotEqual => (if float { Alu::FNe } else { Alu::INe }, false),
            Bin::Less => (pick(Alu::FLt, Alu::SLt, Alu::ULt), false),
            Bin::LessEqual => (pick(Alu::FLe, Alu::SLe, Alu::ULe), false),
            Bin::Greater => (pick(Alu::FLt, Alu::SLt, Alu::ULt), true),
            Bin::GreaterEqual => (pick(Alu::FLe, Alu::SLe, Alu::ULe), true),
            Bin::And | Bin::LogicalAnd => (Alu::And, false),
            Bin::InclusiveOr | Bin::LogicalOr => (Alu::Or, false),
            Bin::ExclusiveOr => (Alu::Xor, false),
            Bin::ShiftLeft => (Alu::Shl, false),
            Bin::ShiftRight => (if signed { Alu::ShrS } else { Alu::ShrU }, false),
        };
        let args = if swap { [y, x] } else { [x, y] };
        Ok(self.b.alu(alu, &args))
    }

    fn derivative(&mut self, axis: naga::DerivativeAxis, control: naga::DerivativeControl, value: Value) -> Value {
        let fine = control == naga::DerivativeControl::Fine;
        let (dx, dy) = match fine {
            true => (QuadOp::DdxFine, QuadOp::DdyFine),
            false => (QuadOp::DdxCoarse, QuadOp::DdyCoarse),
        };
        match axis {
            naga::DerivativeAxis::X => self.b.quad(dx, value),
            naga::DerivativeAxis::Y => self.b.quad(dy, value),
            naga::DerivativeAxis::Width => {
                let (x, y) = (self.b.quad(dx, value), self.b.quad(dy, value));
                blend::fwidth(&mut self.b, x, y)
            }
        }
    }

    fn relational(&mut self, fun: naga::RelationalFunction, values: &[Value]) -> Flat {
        use naga::RelationalFunction as R;
        match fun {
            R::All | R::Any => {
                let alu = if fun == R::All { Alu::And } else { Alu::Or };
                let joined = values.iter().copied().reduce(|x, y| self.b.alu(alu, &[x, y]));
                joined.into_iter().collect()
            }
            R::IsNan => values.iter().map(|&v| self.b.alu(Alu::FNe, &[v, v])).collect(),
            R::IsInf => values
                .iter()
                .map(|&v| {
                    let size = self.b.alu(Alu::FAbs, &[v]);
                    let infinity = compose::float_like(&mut self.b, v, f64::INFINITY);
                    self.b.alu(Alu::FEq, &[size, infinity])
                })
                .collect(),
        }
    }

    /// A value conversion (R-WGSL-63).
    pub fn convert(&mut self, value: Value, from: Scalar, to: Scalar) -> Value {
        let (source, target) = (from.kind, to.kind);
        if source == target {
            let narrows = to.half && !from.half;
            return if narrows { self.quantize(value) } else { value };
        }
        let converted = match (source, target) {
            (Kind::Bool, _) => {
                let (zero, one) = (
                    compose::int(&mut self.b, target, 0),
                    compose::int(&mut self.b, target, 1),
                );
                self.b.select(value, one, zero)
            }
            (_, Kind::Bool) => {
                let zero = self.b.constant(Literal::zero(source));
                let alu = if source.is_float() { Alu::FNe } else { Alu::INe };
                self.b.alu(alu, &[value, zero])
            }
            (Kind::F32, Kind::I32) => self.b.alu(Alu::FToSWgsl, &[value]),
            (Kind::F32, Kind::U32) => self.b.alu(Alu::FToUWgsl, &[value]),
            (Kind::I32, Kind::F32) => self.b.alu(Alu::SToF, &[value]),
            (Kind::U32, Kind::F32) => self.b.alu(Alu::UToF, &[value]),
            _ if source.is_int() && target.is_int() && source.bits() == target.bits() => self.b.bitcast(value, target),
            _ => self.b.inst1(Op::Convert(target), &[value], target),
        };
        if to.half { self.quantize(converted) } else { converted }
    }

    /// The bits as another type of the same width.
    fn reinterpret(&mut self, value: Value, from: Scalar, to: Scalar) -> Value {
        if from == to {
            return value;
        }
        let bits = if from.half {
            let bits = self.b.alu(Alu::HalfBits, &[value]);
            self.b.inst1(Op::Convert(Kind::U16), &[bits], Kind::U16)
        } else {
            value
        };
        if to.half {
            let short = self.b.bitcast(bits, Kind::U16);
            let word = self.b.inst1(Op::Convert(Kind::U32), &[short], Kind::U32);
            return self.b.alu(Alu::HalfToF, &[word]);
        }
        self.b.bitcast(bits, to.kind)
    }
}

/// Component `i`, or the only one.
pub(super) fn broadcast(values: &[Value], i: usize) -> Value {
    if values.len() == 1 { values[0] } else { values[i] }
}
