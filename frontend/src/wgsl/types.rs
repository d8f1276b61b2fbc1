//! Types as the lowering sees them: how many scalars, of which kind, at which bytes.
//!
//! A value of a type is its *leaves*: scalars in declaration order, matrices column by column. f16 is computed in f32
//! and rounded after each operation (law I2), so its leaves are of kind F32 and carry the flag `half`.

use crate::ir::{Kind, Literal};
use std::rc::Rc;

/// A scalar type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Scalar {
    /// Kind of the values that hold it.
    pub kind: Kind,
    /// Whether it is an f16 held in an f32.
    pub half: bool,
}

impl Scalar {
    pub const fn plain(kind: Kind) -> Scalar {
        Scalar { kind, half: false }
    }

    /// The scalar type, unless it is an abstract one.
    pub fn of(scalar: naga::Scalar) -> Option<Scalar> {
        use naga::ScalarKind as S;
        let kind = match (scalar.kind, scalar.width) {
            (S::Bool, _) => Kind::Bool,
            (S::Float, 2) => {
                return Some(Scalar {
                    kind: Kind::F32,
                    half: true,
                });
            }
            (S::Float, 4) => Kind::F32,
            (S::Float, 8) => Kind::F64,
            (S::Sint, 1) => Kind::I8,
            (S::Uint, 1) => Kind::U8,
            (S::Sint, 2) => Kind::I16,
            (S::Uint, 2) => Kind::U16,
            (S::Sint, 4) => Kind::I32,
            (S::Uint, 4) => Kind::U32,
            (S::Sint, 8) => Kind::I64,
            (S::Uint, 8) => Kind::U64,
            _ => return None,
        };
        Some(Scalar::plain(kind))
    }

    /// Bytes in memory.
    pub const fn width(self) -> u32 {
        if self.half { 2 } else { self.kind.bits() / 8 }
    }
}

/// The literal as a constant, unless it is an abstract one.
pub(super) fn literal(literal: naga::Literal) -> Option<Literal> {
    use naga::Literal as L;
    let (kind, bits) = match literal {
        L::F64(v) => (Kind::F64, v.to_bits()),
        L::F32(v) => (Kind::F32, u64::from(v.to_bits())),
        L::F16(v) => (Kind::F32, u64::from(v.to_f32().to_bits())),
        L::U16(v) => (Kind::U16, u64::from(v)),
        L::I16(v) => (Kind::I16, u64::from(v as u16)),
        L::U32(v) => (Kind::U32, u64::from(v)),
        L::I32(v) => (Kind::I32, u64::from(v as u32)),
        L::U64(v) => (Kind::U64, v),
        L::I64(v) => (Kind::I64, v as u64),
        L::Bool(v) => (Kind::Bool, u64::from(v)),
        L::AbstractInt(_) | L::AbstractFloat(_) => return None,
    };
    Some(Literal { kind, bits })
}

/// A type.
#[derive(Debug)]
pub(super) struct Shape {
    /// Number of scalars; a runtime-sized array counts as none.
    pub leaves: u32,
    /// What it is made of.
    pub form: Form,
}

#[derive(Debug)]
pub(super) enum Form {
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
pub(super) struct Member {
    pub shape: Rc<Shape>,
    /// First leaf.
    pub leaf: u32,
    /// Byte offset.
    pub offset: u32,
}

/// A part of a shape.
pub(super) struct Child {
    pub shape: Rc<Shape>,
    /// First leaf.
    pub leaf: u32,
    /// Byte offset.
    pub offset: u32,
}

/// What indexing a shape means.
pub(super) struct Elements {
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

    fn opaque() -> Shape {
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

/// The shapes of a module's types, by handle.
pub(super) struct Types {
    shapes: Vec<Rc<Shape>>,
    opaque: Rc<Shape>,
}

impl Types {
    pub fn new(module: &naga::Module) -> Types {
        let mut types = Types {
            shapes: Vec::with_capacity(module.types.len()),
            opaque: Rc::new(Shape::opaque()),
        };
        // A type comes after those that it is made of.
        for (_, ty) in module.types.iter() {
            let shape = types.inner(&ty.inner);
            types.shapes.push(shape);
        }
        types
    }

    pub fn get(&self, ty: naga::Handle<naga::Type>) -> Rc<Shape> {
        self.shapes.get(ty.index()).unwrap_or(&self.opaque).clone()
    }

    /// The shape of a type that may not have a handle. Pointers stand for what they point to.
    pub fn inner(&self, inner: &naga::TypeInner) -> Rc<Shape> {
        use naga::TypeInner as T;
        let shape = match *inner {
            T::Scalar(s)
            | T::Atomic(s)
            | T::ValuePointer {
                size: None, scalar: s, ..
            } => Scalar::of(s).map(Shape::scalar),
            T::Vector { size, scalar }
            | T::ValuePointer {
                size: Some(size),
                scalar,
                ..
            } => Scalar::of(scalar).map(|s| Shape::vector(size as u32, s)),
            T::Matrix { columns, rows, scalar } => {
                Scalar::of(scalar).map(|s| Shape::matrix(columns as u32, rows as u32, s))
            }
            T::Array { base, size, stride } => {
                let element = self.get(base);
                match size {
                    naga::ArraySize::Constant(len) => Some(Shape {
                        leaves: element.leaves.saturating_mul(len.get()),
                        form: Form::Array(Some(len.get()), element, stride),
                    }),
                    naga::ArraySize::Dynamic => Some(Shape {
                        leaves: 0,
                        form: Form::Array(None, element, stride),
                    }),
                    // Workgroup variables only.
                    naga::ArraySize::Pending(_) => None,
                }
            }
            T::Struct { ref members, .. } => {
                let mut leaves = 0u32;
                let members = members
                    .iter()
                    .map(|member| {
                        let shape = self.get(member.ty);
                        let leaf = leaves;
                        leaves = leaves.saturating_add(shape.leaves);
                        Member {
                            shape,
                            leaf,
                            offset: member.offset,
                        }
                    })
                    .collect();
                Some(Shape {
                    leaves,
                    form: Form::Struct(members),
                })
            }
            T::Pointer { base, .. } => return self.get(base),
            _ => None,
        };
        shape.map_or_else(|| self.opaque.clone(), Rc::new)
    }
}
