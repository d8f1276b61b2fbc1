//! Texture builtins (R-WGSL-50 to 54).

use super::body::{Body, HandleRef};
use super::place::Flat;
use super::report::Result;
use crate::compose::blend;
use crate::ir::{Alu, Dim, Kind, Lod, Op, SampleOp, TexelOp, TextureQuery, Value};
use naga::{Expression, Handle};

/// The IR's shape of a texture.
pub(super) fn dim(dim: naga::ImageDimension) -> Dim {
    match dim {
        naga::ImageDimension::D1 => Dim::D1,
        naga::ImageDimension::D2 => Dim::D2,
        naga::ImageDimension::D3 => Dim::D3,
        naga::ImageDimension::Cube => Dim::Cube,
    }
}

/// WebGPU's name of a storage texture format.
pub(super) fn format_name(format: naga::StorageFormat) -> String {
    format!("{format:?}").to_ascii_lowercase()
}

/// The operands of naga's sampling expression.
pub(super) struct SampleCall {
    pub image: Handle<Expression>,
    pub sampler: Handle<Expression>,
    pub gather: Option<naga::SwizzleComponent>,
    pub coordinate: Handle<Expression>,
    pub array_index: Option<Handle<Expression>>,
    pub offset: Option<Handle<Expression>>,
    pub level: naga::SampleLevel,
    pub depth_ref: Option<Handle<Expression>>,
    pub clamp_to_edge: bool,
}

/// A texture's declaration.
struct Image {
    handle: HandleRef,
    dim: Dim,
    array: bool,
    class: naga::ImageClass,
}

impl Image {
    fn is_depth(&self) -> bool {
        matches!(self.class, naga::ImageClass::Depth { .. })
    }

    /// Kind of its texels.
    fn kind(&self) -> Kind {
        let scalar = match self.class {
            naga::ImageClass::Sampled { kind, .. } => kind,
            naga::ImageClass::Storage { format, .. } => naga::Scalar::from(format).kind,
            naga::ImageClass::Depth { .. } | naga::ImageClass::External => naga::ScalarKind::Float,
        };
        match scalar {
            naga::ScalarKind::Sint => Kind::I32,
            naga::ScalarKind::Uint => Kind::U32,
            _ => Kind::F32,
        }
    }
}

impl Body<'_, '_> {
    fn image(&mut self, expression: Handle<Expression>) -> Result<Image> {
        let handle = self.handle(expression)?;
        let types = &self.cx.module.types;
        let mut ty = self.cx.module.global_variables[handle.global].ty;
        if let naga::TypeInner::BindingArray { base, .. } = types[ty].inner {
            ty = base;
        }
        match types[ty].inner {
            naga::TypeInner::Image { dim, arrayed, class } => Ok(Image {
                handle,
                dim: self::dim(dim),
                array: arrayed,
                class,
            }),
            _ => self.internal("a texture was expected"),
        }
    }

    /// f16 coordinates and the like are f32 values already; wider ones are refused.
    fn floats(&mut self, expression: Handle<Expression>) -> Result<Flat> {
        let values = self.value(expression)?;
        match values.iter().all(|&v| self.b.kind(v) == Kind::F32) {
            true => Ok(values),
            false => self.unsupported("sampling with operands of this type"),
        }
    }

    /// 32-bit integer operands.
    fn integers(&mut self, expression: Handle<Expression>) -> Result<Flat> {
        let values = self.value(expression)?;
        match values.iter().all(|&v| matches!(self.b.kind(v), Kind::I32 | Kind::U32)) {
            true => Ok(values),
            false => self.unsupported("texture coordinates of this type"),
        }
    }

    pub fn image_sample(&mut self, call: &SampleCall) -> Result<Flat> {
        let image = self.image(call.image)?;
        if image.class == naga::ImageClass::External {
            return self.unsupported("texture_external");
        }
        let sampler = self.handle(call.sampler)?;
        let mut args: Flat = image.handle.element.into_iter().chain(sampler.element).collect();
        let coordinates = self.floats(call.coordinate)?;
        match call.clamp_to_edge {
            true => args.extend(self.clamped_to_edge(&image, &coordinates)),
            false => args.extend(coordinates),
        }
        if let Some(index) = call.array_index {
            let index = self.integers(index)?[0];
            // R-WGSL-50: the index is clamped; a negative one must not look like a large one.
            let index = match self.b.kind(index) {
                Kind::I32 => {
                    let zero = self.b.i32(0);
                    self.b.alu(Alu::SMax, &[index, zero])
                }
                _ => index,
            };
            args.push(self.b.bitcast(index, Kind::U32));
        }
        if let Some(reference) = call.depth_ref {
            args.extend(self.floats(reference)?);
        }
        let lod = self.lod_operands(call.level, &mut args)?;
        let offset = self.offset(call.offset)?;
        let components = if image.is_depth() && call.gather.is_none() {
            1
        } else {
            4
        };
        let op = SampleOp {
            dim: image.dim,
            array: image.array,
            lod,
            compare: call.depth_ref.is_some(),
            gather: call.gather.map(|c| c as u8),
            offset,
            mask: if components == 1 { 1 } else { 15 },
        };
        let kind = image.kind();
        let mut kinds = vec![kind; op.components()];
        kinds.push(Kind::U32);
        let texture = image.handle.reference;
        let sampler = sampler.reference;
        let inst = self.b.inst(Op::Sample { texture, sampler, op }, &args, &kinds);
        Ok(self.b.results(inst)[..components].into())
    }

    fn lod_operands(&mut self, level: naga::SampleLevel, args: &mut Flat) -> Result<Lod> {
        Ok(match level {
            naga::SampleLevel::Auto => Lod::Implicit,
            naga::SampleLevel::Zero => Lod::Zero,
            naga::SampleLevel::Exact(level) => {
                let level = self.scalar(level)?;
                // Levels of depth textures are integers.
                args.push(match self.b.kind(level) {
                    Kind::I32 => self.b.alu(Alu::SToF, &[level]),
                    Kind::U32 => self.b.alu(Alu::UToF, &[level]),
                    Kind::F32 => level,
                    _ => return self.unsupported("a level of this type"),
                });
                Lod::Level
            }
            naga::SampleLevel::Bias(bias) => {
                let bias = self.floats(bias)?[0];
                let (low, high) = (self.b.f32(-16.0), self.b.f32(15.99));
                args.push(blend::clamp(&mut self.b, bias, low, high));
                Lod::Bias
            }
            naga::SampleLevel::Gradient { x, y } => {
                args.extend(self.floats(x)?);
                args.extend(self.floats(y)?);
                Lod::Grad
            }
        })
    }

    fn offset(&mut self, offset: Option<Handle<Expression>>) -> Result<[i8; 3]> {
        let mut out = [0; 3];
        let Some(offset) = offset else {
            return Ok(out);
        };
        let Some(leaves) = self.const_leaves(self.frame.expressions, offset) else {
            return self.unsupported("a texture offset that isn't a plain constant");
        };
        for (out, literal) in out.iter_mut().zip(leaves) {
            match i8::try_from(literal.bits as u32 as i32) {
                Ok(texels @ -8..=7) => *out = texels,
                _ => return self.unsupported("a texture offset outside -8 to 7"),
            }
        }
        Ok(out)
    }

    /// Coordinates half a texel inside (R-WGSL-54).
    fn clamped_to_edge(&mut self, image: &Image, coordinates: &[Value]) -> Flat {
        let queries = [TextureQuery::Width, TextureQuery::Height];
        coordinates
            .iter()
            .zip(queries)
            .map(|(&x, query)| {
                let size = self.query(image, query, None);
                let b = &mut self.b;
                let size = b.alu(Alu::UToF, &[size]);
                let (half, one) = (b.f32(0.5), b.f32(1.0));
                let low = b.alu(Alu::FDiv, &[half, size]);
                let high = b.alu(Alu::FSub, &[one, low]);
                blend::clamp(b, x, low, high)
            })
            .collect()
    }

    pub fn image_load(
        &mut self,
        image: Handle<Expression>,
        coordinate: Handle<Expression>,
        array_index: Option<Handle<Expression>>,
        level_or_sample: Option<Handle<Expression>>,
    ) -> Result<Flat> {
        let image = self.image(image)?;
        let multisampled = match image.class {
            naga::ImageClass::Sampled { multi, .. } | naga::ImageClass::Depth { multi } => multi,
            naga::ImageClass::Storage { .. } => false,
            naga::ImageClass::External => return self.unsupported("texture_external"),
        };
        let mut args: Flat = image.handle.element.into_iter().collect();
        args.extend(self.integers(coordinate)?);
        if let Some(index) = array_index {
            args.extend(self.integers(index)?);
        }
        match level_or_sample {
            Some(level) => args.extend(self.integers(level)?),
            None => args.push(self.b.u32(0)),
        }
        let components = if image.is_depth() { 1 } else { 4 };
        let op = TexelOp {
            dim: image.dim,
            array: image.array,
            multisampled,
            mask: if components == 1 { 1 } else { 15 },
        };
        let kind = image.kind();
        let texture = image.handle.reference;
        let inst = self.b.inst(Op::TexelLoad { texture, op, kind }, &args, &[kind; 4]);
        Ok(self.b.results(inst)[..components].into())
    }

    pub fn image_store(
        &mut self,
        image: Handle<Expression>,
        coordinate: Handle<Expression>,
        array_index: Option<Handle<Expression>>,
        value: Handle<Expression>,
    ) -> Result<()> {
        let image = self.image(image)?;
        let mut args: Flat = image.handle.element.into_iter().collect();
        args.extend(self.integers(coordinate)?);
        if let Some(index) = array_index {
            args.extend(self.integers(index)?);
        }
        let value = self.value(value)?;
        if value.iter().any(|&v| self.b.kind(v).bits() != 32) {
            return self.unsupported("a texel of this type");
        }
        args.extend(value);
        let op = TexelOp {
            dim: image.dim,
            array: image.array,
            multisampled: false,
            mask: 15,
        };
        let texture = image.handle.reference;
        self.b.inst(Op::TexelStore { texture, op }, &args, &[]);
        Ok(())
    }

    pub fn image_query(&mut self, image: Handle<Expression>, query: naga::ImageQuery) -> Result<Flat> {
        let image = self.image(image)?;
        let queries: &[TextureQuery] = match query {
            naga::ImageQuery::NumLevels => &[TextureQuery::Levels],
            naga::ImageQuery::NumLayers => &[TextureQuery::Layers],
            naga::ImageQuery::NumSamples => &[TextureQuery::Samples],
            naga::ImageQuery::Size { .. } => match image.dim {
                Dim::D1 => &[TextureQuery::Width],
                Dim::D2 | Dim::Cube => &[TextureQuery::Width, TextureQuery::Height],
                Dim::D3 => &[TextureQuery::Width, TextureQuery::Height, TextureQuery::Depth],
            },
        };
        let level = match query {
            naga::ImageQuery::Size { level: Some(level) } => {
                let level = self.integers(level)?[0];
                Some(self.b.bitcast(level, Kind::U32))
            }
            _ => None,
        };
        Ok(queries.iter().map(|&q| self.query(&image, q, level)).collect())
    }

    /// One number about a texture; sizes are of level 0 unless a level is given.
    fn query(&mut self, image: &Image, query: TextureQuery, level: Option<Value>) -> Value {
        let mut args: Flat = image.handle.element.into_iter().collect();
        if query.takes_level() {
            args.push(level.unwrap_or_else(|| self.b.u32(0)));
        }
        let texture = image.handle.reference;
        self.b.inst1(Op::TextureQuery { texture, query }, &args, Kind::U32)
    }
}
