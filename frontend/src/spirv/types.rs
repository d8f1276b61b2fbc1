//! Types: what an id's type is, how many scalars a value has, and how it lies in memory.

use super::lower::Lower;
use super::report::{Failure, Result};
use crate::ir::{Dim, Kind};
use crate::memory::shape::{Form, Member, Scalar, Shape};
use rspirv::spirv::{self, Decoration, ImageFormat, Op, StorageClass};
use std::rc::Rc;

/// Most scalars of one value or variable.
pub(super) const MAX_LEAVES: u32 = 1 << 14;

/// A type; other types are named by id.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Ty {
    Void,
    Scalar(Scalar),
    Vector(u32, u32),
    /// Column type and number of columns.
    Matrix(u32, u32),
    /// Element type and the constant with the length.
    Array(u32, u32),
    RuntimeArray(u32),
    Struct(Vec<u32>),
    Pointer(StorageClass, u32),
    Image(Image),
    Sampler,
    SampledImage(u32),
    /// Whatever else.
    Opaque(Op),
}

/// What an `OpTypeImage` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Image {
    /// Type of the texels' components.
    pub sampled_type: u32,
    pub dim: Option<spirv::Dim>,
    pub depth: bool,
    pub array: bool,
    pub multisampled: bool,
    /// A storage image.
    pub storage: bool,
    pub format: Option<ImageFormat>,
}

impl Image {
    pub fn read(operands: &[u32]) -> Image {
        let operand = |i: usize| operands.get(i).copied().unwrap_or(0);
        Image {
            sampled_type: operand(0),
            dim: spirv::Dim::from_u32(operand(1)),
            depth: operand(2) == 1,
            array: operand(3) == 1,
            multisampled: operand(4) == 1,
            storage: operand(5) == 2,
            format: ImageFormat::from_u32(operand(6)),
        }
    }

    /// The IR's shape of it.
    pub fn shape(&self, at: Option<usize>) -> Result<Dim> {
        match self.dim {
            Some(spirv::Dim::Dim1D) => Ok(Dim::D1),
            Some(spirv::Dim::Dim2D | spirv::Dim::DimRect) => Ok(Dim::D2),
            Some(spirv::Dim::Dim3D) => Ok(Dim::D3),
            Some(spirv::Dim::DimCube) => Ok(Dim::Cube),
            Some(spirv::Dim::DimBuffer) => Err(Failure::unsupported("a texel buffer (an image of Dim Buffer)", at)),
            Some(dim) => Err(Failure::unsupported(format!("an image of {dim:?}"), at)),
            None => Err(Failure::invalid("an image of unknown Dim", at)),
        }
    }
}

/// A scalar type of that width.
pub(super) fn scalar(float: bool, width: u32, signed: bool) -> Option<Scalar> {
    let kind = match (float, width, signed) {
        (true, 16, _) => {
            return Some(Scalar {
                kind: Kind::F32,
                half: true,
            });
        }
        (true, 32, _) => Kind::F32,
        (true, 64, _) => Kind::F64,
        (false, 8, true) => Kind::I8,
        (false, 8, false) => Kind::U8,
        (false, 16, true) => Kind::I16,
        (false, 16, false) => Kind::U16,
        (false, 32, true) => Kind::I32,
        (false, 32, false) => Kind::U32,
        (false, 64, true) => Kind::I64,
        (false, 64, false) => Kind::U64,
        _ => return None,
    };
    Some(Scalar::plain(kind))
}

/// How the matrices of a member lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub(super) struct MatrixLayout {
    pub row_major: bool,
    /// 0: as if there were no layout.
    pub stride: u32,
}

impl Lower<'_> {
    pub fn ty(&self, id: u32) -> Result<Ty> {
        match self.m.types.get(&id) {
            Some(ty) => Ok(ty.clone()),
            None => self.invalid(format!("%{id} is no type")),
        }
    }

    /// What a pointer type points to.
    pub fn pointee(&self, pointer: u32) -> Result<(StorageClass, u32)> {
        match self.ty(pointer)? {
            Ty::Pointer(class, ty) => Ok((class, ty)),
            _ => self.invalid(format!("%{pointer} is no pointer type")),
        }
    }

    /// The scalar type of a scalar, vector or matrix.
    pub fn scalar_type(&self, id: u32) -> Result<Scalar> {
        match self.ty(id)? {
            Ty::Scalar(scalar) => Ok(scalar),
            Ty::Vector(inner, _) | Ty::Matrix(inner, _) => self.scalar_type(inner),
            Ty::Opaque(Op::TypeInt | Op::TypeFloat) => self.unsupported("a number type of this width"),
            _ => self.invalid(format!("%{id} is no type of numbers")),
        }
    }

    /// The layout-free shape of a value of that type.
    pub fn value_shape(&mut self, id: u32) -> Result<Rc<Shape>> {
        self.shape(id, MatrixLayout::default())
    }

    /// The shape of a type; strides and offsets are those of its decorations, where it has any.
    pub fn shape(&mut self, id: u32, matrices: MatrixLayout) -> Result<Rc<Shape>> {
        if let Some(shape) = self.shapes.get(&(id, matrices)) {
            return Ok(shape.clone());
        }
        let shape = match self.ty(id)? {
            Ty::Scalar(scalar) => Shape::scalar(scalar),
            Ty::Vector(_, size) => Shape::vector(size, self.scalar_type(id)?),
            Ty::Matrix(column, columns) => {
                let (Ty::Vector(_, rows), scalar) = (self.ty(column)?, self.scalar_type(column)?) else {
                    return self.invalid("a matrix of no vectors");
                };
                let leaves = columns * rows;
                let form = match matrices {
                    MatrixLayout { stride: 0, .. } => Shape::matrix(columns, rows, scalar).form,
                    MatrixLayout {
                        row_major: false,
                        stride,
                    } => Form::Matrix(columns, Rc::new(Shape::vector(rows, scalar)), stride),
                    // From row to row is the stride; from column to column, one scalar.
                    MatrixLayout { stride, .. } => {
                        let column = Shape {
                            leaves: rows,
                            form: Form::Array(Some(rows), Rc::new(Shape::scalar(scalar)), stride),
                        };
                        Form::Matrix(columns, Rc::new(column), scalar.width())
                    }
                };
                Shape { leaves, form }
            }
            Ty::Array(element, length) => {
                let length = self.length(length)?;
                let element = self.shape(element, matrices)?;
                let leaves = element.leaves.saturating_mul(length);
                if leaves > MAX_LEAVES && self.stride(id) == 0 {
                    return self.too_large(leaves);
                }
                Shape {
                    leaves,
                    form: Form::Array(Some(length), element, self.stride(id)),
                }
            }
            Ty::RuntimeArray(element) => Shape {
                leaves: 0,
                form: Form::Array(None, self.shape(element, matrices)?, self.stride(id)),
            },
            Ty::Struct(members) => {
                let mut leaves = 0u32;
                let mut shapes = Vec::with_capacity(members.len());
                for (i, &member) in (0..).zip(&members) {
                    let decorated = |d| self.m.member_decoration(id, i, d);
                    let first = |d| decorated(d).and_then(|a| a.first().copied());
                    let offset = first(Decoration::Offset).unwrap_or(0);
                    let layout = MatrixLayout {
                        row_major: decorated(Decoration::RowMajor).is_some(),
                        stride: first(Decoration::MatrixStride).unwrap_or(0),
                    };
                    let shape = self.shape(member, layout)?;
                    let leaf = leaves;
                    leaves = leaves.saturating_add(shape.leaves);
                    shapes.push(Member { shape, leaf, offset });
                }
                Shape {
                    leaves,
                    form: Form::Struct(shapes),
                }
            }
            Ty::Opaque(Op::TypeInt | Op::TypeFloat) => return self.unsupported("a number type of this width"),
            Ty::Opaque(op @ (Op::TypeFunction | Op::TypeEvent | Op::TypeQueue)) => {
                return self.invalid(format!("a value of type Op{op:?}"));
            }
            Ty::Opaque(op) => return self.unsupported(format!("Op{op:?}")),
            _ => Shape::opaque(),
        };
        let shape = Rc::new(shape);
        self.shapes.insert((id, matrices), shape.clone());
        Ok(shape)
    }

    fn stride(&self, id: u32) -> u32 {
        let stride = self.m.decoration(id, Decoration::ArrayStride);
        stride.and_then(|s| s.first().copied()).unwrap_or(0)
    }

    /// The value of a constant that is an array's length.
    pub fn length(&mut self, id: u32) -> Result<u32> {
        match self.constant_u32(id)? {
            Some(0) => self.invalid("an array of no elements"),
            Some(length) => Ok(length),
            None => self.invalid(format!("%{id} is no constant length")),
        }
    }

    /// The kinds of a value's scalars.
    pub fn scalars(&mut self, id: u32) -> Result<Vec<Scalar>> {
        let shape = self.value_shape(id)?;
        self.check_leaves(&shape)?;
        Ok(shape.scalars())
    }

    /// Refuses values and variables that are too large to take apart.
    pub fn check_leaves(&self, shape: &Shape) -> Result<()> {
        if shape.leaves <= MAX_LEAVES {
            return Ok(());
        }
        self.too_large(shape.leaves)
    }

    fn too_large<T>(&self, leaves: u32) -> Result<T> {
        let message = format!("a value of {leaves} scalars; at most {MAX_LEAVES} are accepted");
        Err(Failure::limit(message, self.at).with_note("keep large tables in a uniform or storage buffer"))
    }
}

/// Bytes that a type takes in memory; of a runtime-sized array, one element.
pub(super) fn byte_size(shape: &Shape) -> u64 {
    match &shape.form {
        Form::Scalar(scalar) => u64::from(scalar.width()),
        Form::Vector(size, scalar) => u64::from(*size) * byte_size(scalar),
        // Row by row: the rows' stride is inside.
        Form::Matrix(_, column, _) if matches!(column.form, Form::Array(..)) => byte_size(column),
        Form::Matrix(columns, column, stride) => {
            u64::from(columns - 1) * u64::from(*stride) + byte_size(column).max(u64::from(*stride))
        }
        Form::Array(len, element, stride) => {
            let stride = u64::from(*stride).max(1);
            (u64::from(len.unwrap_or(1)).saturating_sub(1)) * stride + byte_size(element).max(stride)
        }
        Form::Struct(members) => {
            let ends = members.iter().map(|m| u64::from(m.offset) + byte_size(&m.shape));
            ends.max().unwrap_or(0)
        }
        Form::Opaque => 0,
    }
}
