//! naga's types as shapes.

pub(super) use crate::memory::shape::{Form, Member, Scalar, Shape};

use crate::ir::{Kind, Literal};
use std::rc::Rc;

impl Scalar {
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
