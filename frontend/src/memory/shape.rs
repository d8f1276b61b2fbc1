//! Types as lowering sees them: how many scalars, of which kind, at which bytes.
//!
//! A value of a type is its *leaves*: scalars in declaration order, matrices column by column. f16 is computed in f32
//! and rounded after each operation (law I2), so its leaves are of kind F32 and carry the flag `half`.

use crate::ir::{Kind, Literal};
use std::rc::Rc;

/// A scalar type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Scalar {
    /// Kind of the values that hold it.
    pub kind: Kind,
    /// Whether it is an f16 held in an f32.
    pub half: bool,
}

impl Scalar {
    pub const fn plain(kind: Kind) -> Scalar {
        Scalar { kind, half: false }
    }

    /// Bytes in memory.
    pub const fn width(self) -> u32 {
        if self.half { 2 } else { self.kind.bits() / 8 }
    }
}

/// A type.
#[derive(Debug)]
pub(crate) struct Shape {
    /// Number of scalars; a runtime-sized array counts as none.
    pub leaves: u32,
    /// What it is made of.
    pub form: Form,
}

#[derive(Debug)]
pub(crate) enum Form {
    Scalar(Scalar),
    /// Vector: components, and scalar shape.
    Vector(u32, Rc<Shape>),
    /// Matrix: columns, column shape, bytes from column to column.
    Matrix(u32, Rc<Shape>, u32),
    /// Array: elements (none if runtime-sized), element shape, stride in bytes.
    Array(Option<u32>, Rc<Shape>, u32),
    Struct(Vec<Member>),
    /// Textures, samplers, and what isn't a value.
    Opaque,
}

#[derive(Debug)]
pub(crate) struct Member {
    pub shape: Rc<Shape>,
    /// First leaf.
    pub leaf: u32,
    /// Byte offset.
    pub offset: u32,
}

/// A part of a shape.
pub(crate) struct Child {
    pub shape: Rc<Shape>,
    /// First leaf.
    pub leaf: u32,
    /// Byte offset.
    pub offset: u32,
}

/// What indexing a shape means.
pub(crate) struct Elements {
    pub shape: Rc<Shape>,
    /// Elements, unless runtime-sized.
    pub len: Option<u32>,
    /// Bytes from element to element.
    pub stride: u32,
}

impl Shape {
    pub fn scalar(scalar: Scalar) -> Shape {
        Shape {
            leaves: 1,
            form: Form::Scalar(scalar),
        }
    }

    pub fn vector(size: u32, scalar: Scalar) -> Shape {
        Shape {
            leaves: size,
            form: Form::Vector(size, Rc::new(Shape::scalar(scalar))),
        }
    }

    pub fn matrix(columns: u32, rows: u32, scalar: Scalar) -> Shape {
        let stride = if rows == 2 { 2 } else { 4 } * scalar.width();
        Shape {
            leaves: columns * rows,
            form: Form::Matrix(columns, Rc::new(Shape::vector(rows, scalar)), stride),
        }
    }

    pub fn opaque() -> Shape {
        Shape {
            leaves: 0,
            form: Form::Opaque,
        }
    }

    /// The scalar type of a scalar, vector or matrix.
    pub fn element_scalar(&self) -> Option<Scalar> {
        match &self.form {
            Form::Scalar(scalar) => Some(*scalar),
            Form::Vector(_, inner) | Form::Matrix(_, inner, _) => inner.element_scalar(),
            _ => None,
        }
    }

    /// What can be indexed, or `None` for scalars, structs and opaque types.
    pub fn elements(&self) -> Option<Elements> {
        let (len, shape, stride) = match &self.form {
            Form::Vector(size, scalar) => {
                let stride = scalar.element_scalar().map_or(0, Scalar::width);
                (Some(*size), scalar, stride)
            }
            Form::Matrix(columns, column, stride) => (Some(*columns), column, *stride),
            Form::Array(len, element, stride) => (*len, element, *stride),
            Form::Scalar(_) | Form::Struct(_) | Form::Opaque => return None,
        };
        Some(Elements {
            shape: shape.clone(),
            len,
            stride,
        })
    }

    /// Member, component, column or element `index`.
    pub fn child(&self, index: u32) -> Option<Child> {
        if let Form::Struct(members) = &self.form {
            let member = members.get(index as usize)?;
            return Some(Child {
                shape: member.shape.clone(),
                leaf: member.leaf,
                offset: member.offset,
            });
        }
        let elements = self.elements()?;
        if elements.len.is_some_and(|len| index >= len) {
            return None;
        }
        Some(Child {
            leaf: index.checked_mul(elements.shape.leaves)?,
            offset: index.checked_mul(elements.stride)?,
            shape: elements.shape,
        })
    }

    /// Number of children of a sized shape.
    pub fn child_count(&self) -> u32 {
        match &self.form {
            Form::Struct(members) => members.len() as u32,
            _ => self.elements().and_then(|e| e.len).unwrap_or(0),
        }
    }

    /// Calls `visit` with the byte offset (from `base`) and type of each leaf, in order.
    pub fn visit_leaves(&self, base: u32, visit: &mut dyn FnMut(u32, Scalar)) {
        if let Form::Scalar(scalar) = self.form {
            visit(base, scalar);
            return;
        }
        for index in 0..self.child_count() {
            if let Some(child) = self.child(index) {
                child.shape.visit_leaves(base.wrapping_add(child.offset), visit);
            }
        }
    }

    /// The types of the leaves.
    pub fn scalars(&self) -> Vec<Scalar> {
        let mut out = Vec::with_capacity(self.leaves as usize);
        self.visit_leaves(0, &mut |_, scalar| out.push(scalar));
        out
    }
}

/// The number that a pipeline gives for an override of that type, if the type can hold it.
pub(crate) fn override_literal(scalar: Scalar, value: f64) -> Option<Literal> {
    let within = |low: f64, high: f64| {
        let whole = value.trunc();
        (value.is_finite() && whole >= low && whole <= high).then_some(whole)
    };
    let bits = match scalar.kind {
        Kind::Bool => u64::from(value != 0.0 && !value.is_nan()),
        Kind::I32 => within(f64::from(i32::MIN), f64::from(i32::MAX))? as i32 as u32 as u64,
        Kind::U32 => within(0.0, f64::from(u32::MAX))? as u32 as u64,
        Kind::I16 => within(-32768.0, 32767.0)? as i16 as u16 as u64,
        Kind::U16 => within(0.0, 65535.0)? as u16 as u64,
        Kind::F32 if scalar.half => {
            let half = half::f16::from_f64(value);
            half.is_finite().then(|| u64::from(half.to_f32().to_bits()))?
        }
        Kind::F32 => {
            let narrow = value as f32;
            narrow.is_finite().then(|| u64::from(narrow.to_bits()))?
        }
        Kind::F64 => value.is_finite().then(|| value.to_bits())?,
        _ => return None,
    };
    Some(Literal {
        kind: scalar.kind,
        bits,
    })
}
