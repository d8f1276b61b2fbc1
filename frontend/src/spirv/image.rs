//! Textures: sampling, gathering, fetches, storage images, queries (R-WGSL-50 to 53; Vulkan's layer rounding).

use super::lower::{Lower, Lowered, Sampler, Texture};
use super::report::Result;
use super::types::Image;
use crate::compose::blend;
use crate::ir::{Alu, Kind, Lod, Op, ResourceClass, SampleKind, SampleOp, TexelOp, TextureQuery, Value};
use crate::memory::place::Flat;
use rspirv::spirv::{ImageOperands, Op as S};

/// Image operands, read.
#[derive(Default)]
struct Extra {
    bias: Option<u32>,
    lod: Option<u32>,
    grad: Option<(u32, u32)>,
    offset: Option<u32>,
    offsets: Option<u32>,
    sample: Option<u32>,
    min_lod: bool,
}

impl Lower<'_> {
    /// An instruction on textures; `None` if it is none.
    pub fn image_operation(&mut self, op: S, ty: u32, words: &[u32]) -> Result<Option<Lowered>> {
        let word = |i: usize| words.get(i).copied().unwrap_or(0);
        let rest = |n: usize| words.get(n..).unwrap_or(&[]);
        let (projective, compare) = (
            matches!(
                op,
                S::ImageSampleProjImplicitLod
                    | S::ImageSampleProjExplicitLod
                    | S::ImageSampleProjDrefImplicitLod
                    | S::ImageSampleProjDrefExplicitLod
            ),
            matches!(
                op,
                S::ImageSampleDrefImplicitLod
                    | S::ImageSampleDrefExplicitLod
                    | S::ImageSampleProjDrefImplicitLod
                    | S::ImageSampleProjDrefExplicitLod
                    | S::ImageDrefGather
            ),
        );
        let values = match op {
            S::SampledImage => {
                let (texture, sampler) = (self.texture(word(0))?, self.lowered(word(1))?);
                return match sampler {
                    Lowered::Sampler(sampler) => Ok(Some(Lowered::Sampled(texture, sampler))),
                    _ => self.invalid(format!("%{} is no sampler", word(1))),
                };
            }
            S::Image => return Ok(Some(Lowered::Texture(self.texture(word(0))?))),
            S::ImageSampleImplicitLod
            | S::ImageSampleExplicitLod
            | S::ImageSampleProjImplicitLod
            | S::ImageSampleProjExplicitLod => self.sample(ty, word(0), word(1), None, projective, rest(2))?,
            S::ImageSampleDrefImplicitLod
            | S::ImageSampleDrefExplicitLod
            | S::ImageSampleProjDrefImplicitLod
            | S::ImageSampleProjDrefExplicitLod => {
                self.sample(ty, word(0), word(1), Some(word(2)), projective, rest(3))?
            }
            S::ImageGather | S::ImageDrefGather => self.gather(compare, words)?,
            S::ImageFetch | S::ImageRead => {
                let wanted = self.scalars(ty)?.len();
                let texels = self.fetch(word(0), word(1), rest(2))?;
                texels.into_iter().take(wanted).collect()
            }
            S::ImageQuerySizeLod | S::ImageQuerySize => {
                let texture = self.texture(word(0))?;
                let level = match op {
                    S::ImageQuerySizeLod => Some(self.index(word(1))?),
                    _ => None,
                };
                let mut queries = match texture.image.shape(self.at)? {
                    crate::ir::Dim::D1 => vec![TextureQuery::Width],
                    crate::ir::Dim::D2 | crate::ir::Dim::Cube => vec![TextureQuery::Width, TextureQuery::Height],
                    crate::ir::Dim::D3 => vec![TextureQuery::Width, TextureQuery::Height, TextureQuery::Depth],
                };
                if texture.image.array {
                    queries.push(TextureQuery::Layers);
                }
                self.queries(ty, texture, &queries, level)?
            }
            S::ImageQueryLevels => {
                let texture = self.texture(word(0))?;
                self.queries(ty, texture, &[TextureQuery::Levels], None)?
            }
            S::ImageQuerySamples => {
                let texture = self.texture(word(0))?;
                self.queries(ty, texture, &[TextureQuery::Samples], None)?
            }
            _ => return Ok(None),
        };
        Ok(Some(Lowered::Value(values)))
    }

    fn texture(&mut self, id: u32) -> Result<Texture> {
        match self.lowered(id)? {
            Lowered::Texture(texture) | Lowered::Sampled(texture, _) => Ok(texture),
            _ => self.invalid(format!("%{id} is no texture")),
        }
    }

    fn sampled(&mut self, id: u32) -> Result<(Texture, Sampler)> {
        match self.lowered(id)? {
            Lowered::Sampled(texture, sampler) => Ok((texture, sampler)),
            _ => self.invalid(format!("%{id} is no texture with a sampler")),
        }
    }

    /// Kind of a texture's texels.
    fn texel_kind(&self, image: Image) -> Result<Kind> {
        match self.scalar_type(image.sampled_type)?.kind {
            kind @ (Kind::F32 | Kind::I32 | Kind::U32) => Ok(kind),
            kind => self.unsupported(format!("a texture of {kind}")),
        }
    }

    fn extra(&mut self, words: &[u32]) -> Result<Extra> {
        let mut extra = Extra::default();
        let Some((&mask, mut rest)) = words.split_first() else {
            return Ok(extra);
        };
        let mask = ImageOperands::from_bits_truncate(mask);
        let mut next = || {
            let (&first, after) = rest.split_first()?;
            rest = after;
            Some(first)
        };
        if mask.contains(ImageOperands::BIAS) {
            extra.bias = next();
        }
        if mask.contains(ImageOperands::LOD) {
            extra.lod = next();
        }
        if mask.contains(ImageOperands::GRAD) {
            extra.grad = next().zip(next());
        }
        if mask.contains(ImageOperands::CONST_OFFSET) {
            extra.offset = next();
        }
        if mask.contains(ImageOperands::OFFSET) {
            extra.offset = next();
        }
        if mask.contains(ImageOperands::CONST_OFFSETS) {
            extra.offsets = next();
        }
        if mask.contains(ImageOperands::SAMPLE) {
            extra.sample = next();
        }
        extra.min_lod = mask.contains(ImageOperands::MIN_LOD);
        if extra.min_lod {
            return self.unsupported("the image operand MinLod");
        }
        Ok(extra)
    }

    fn offset(&mut self, id: Option<u32>, skip: usize) -> Result<[i8; 3]> {
        let mut out = [0; 3];
        let Some(id) = id else {
            return Ok(out);
        };
        let Some(literals) = self.constant(id)? else {
            return self.unsupported("a texture offset that isn't a constant");
        };
        for (out, literal) in out.iter_mut().zip(literals.iter().skip(skip)) {
            match i8::try_from(literal.bits as u32 as i32) {
                Ok(texels @ -8..=7) => *out = texels,
                _ => return self.unsupported("a texture offset outside -8 to 7"),
            }
        }
        Ok(out)
    }

    fn f32s(&mut self, id: u32) -> Result<Flat> {
        let values = self.floats(id)?;
        match self.b.kind(values[0]) {
            Kind::F32 => Ok(values),
            kind => self.unsupported(format!("sampling with operands of type {kind}")),
        }
    }

    /// Coordinates and, of an array, the layer: rounded to the nearest, clamped below.
    fn coordinates(&mut self, image: Image, id: u32, projective: bool, args: &mut Flat) -> Result<Option<Value>> {
        let mut values = self.f32s(id)?;
        let count = image.shape(self.at)?.coords();
        let wanted = count + usize::from(image.array) + usize::from(projective);
        if values.len() < wanted || (projective && image.array) {
            return self.invalid("too few coordinates");
        }
        let divisor = projective.then(|| values[count]);
        if let Some(divisor) = divisor {
            for value in values.iter_mut().take(count) {
                *value = self.b.alu(Alu::FDiv, &[*value, divisor]);
            }
        }
        args.extend_from_slice(&values[..count]);
        if image.array {
            let nearest = self.b.alu(Alu::FNearest, &[values[count]]);
            let layer = self.b.alu(Alu::FToS, &[nearest]);
            let zero = self.b.i32(0);
            let layer = self.b.alu(Alu::SMax, &[layer, zero]);
            args.push(self.b.bitcast(layer, Kind::U32));
        }
        Ok(divisor)
    }

    fn lod(&mut self, image: Image, extra: &Extra, compare: bool, args: &mut Flat) -> Result<Lod> {
        if let Some(bias) = extra.bias {
            let bias = self.f32s(bias)?[0];
            let (low, high) = (self.b.f32(-16.0), self.b.f32(15.99));
            args.push(blend::clamp(&mut self.b, bias, low, high));
            return Ok(Lod::Bias);
        }
        if let Some((x, y)) = extra.grad {
            let count = image.shape(self.at)?.coords();
            for id in [x, y] {
                let values = self.f32s(id)?;
                match values.get(..count) {
                    Some(values) => args.extend_from_slice(values),
                    None => return self.invalid("gradients of too few components"),
                }
            }
            return Ok(Lod::Grad);
        }
        let Some(level) = extra.lod else {
            return Ok(Lod::Implicit);
        };
        let constant = self.constant(level)?;
        if compare && constant.is_some_and(|l| l.iter().all(|l| l.bits == 0)) {
            return Ok(Lod::Zero);
        }
        let level = self.one(level)?;
        args.push(match self.b.kind(level) {
            Kind::F32 => level,
            Kind::I32 => self.b.alu(Alu::SToF, &[level]),
            Kind::U32 => self.b.alu(Alu::UToF, &[level]),
            kind => return self.unsupported(format!("a level of type {kind}")),
        });
        Ok(Lod::Level)
    }

    /// Takes note of how a texture and a sampler are used: that decides their classes.
    fn note_use(&mut self, texture: Texture, sampler: Sampler, compare: bool) -> Result<()> {
        if let ResourceClass::Texture {
            sample, multisampled, ..
        } = &mut self.shader.resources[texture.reference.resource].class
        {
            if *multisampled {
                return self.invalid("sampling of a multisampled texture");
            }
            match (compare, *sample) {
                (true, SampleKind::Float | SampleKind::UnfilterableFloat) => *sample = SampleKind::Depth,
                (false, SampleKind::UnfilterableFloat) => *sample = SampleKind::Float,
                _ => {}
            }
        } else {
            return self.invalid("sampling of a storage image");
        }
        if let ResourceClass::Sampler { comparison } = &mut self.shader.resources[sampler.reference.resource].class {
            *comparison |= compare;
        }
        Ok(())
    }

    fn sample(
        &mut self,
        ty: u32,
        sampled: u32,
        coordinates: u32,
        reference: Option<u32>,
        projective: bool,
        extra: &[u32],
    ) -> Result<Flat> {
        let (texture, sampler) = self.sampled(sampled)?;
        let extra = self.extra(extra)?;
        let image = texture.image;
        self.note_use(texture, sampler, reference.is_some())?;
        let mut args: Flat = texture.element.into_iter().chain(sampler.element).collect();
        let divisor = self.coordinates(image, coordinates, projective, &mut args)?;
        if let Some(reference) = reference {
            let mut value = self.f32s(reference)?[0];
            if let Some(divisor) = divisor {
                value = self.b.alu(Alu::FDiv, &[value, divisor]);
            }
            args.push(value);
        }
        let lod = self.lod(image, &extra, reference.is_some(), &mut args)?;
        let op = SampleOp {
            dim: image.shape(self.at)?,
            array: image.array,
            lod,
            compare: reference.is_some(),
            gather: None,
            offset: self.offset(extra.offset, 0)?,
            mask: if reference.is_some() { 1 } else { 15 },
        };
        let values = self.emit_sample(texture, sampler, op, &args)?;
        // HLSL's comparisons give vectors of which one component counts.
        let wanted = self.scalars(ty)?.len();
        Ok(values.into_iter().take(wanted).collect())
    }

    fn emit_sample(&mut self, texture: Texture, sampler: Sampler, op: SampleOp, args: &[Value]) -> Result<Flat> {
        let kind = self.texel_kind(texture.image)?;
        let mut kinds = vec![kind; op.components()];
        kinds.push(Kind::U32);
        let (components, texture, sampler) = (op.components(), texture.reference, sampler.reference);
        let inst = self.b.inst(Op::Sample { texture, sampler, op }, args, &kinds);
        Ok(self.b.results(inst)[..components].into())
    }

    fn gather(&mut self, compare: bool, words: &[u32]) -> Result<Flat> {
        let &[sampled, coordinates, third, ref rest @ ..] = words else {
            return self.invalid("too few operands");
        };
        let (texture, sampler) = self.sampled(sampled)?;
        let extra = self.extra(rest)?;
        let image = texture.image;
        self.note_use(texture, sampler, compare)?;
        let mut args: Flat = texture.element.into_iter().chain(sampler.element).collect();
        self.coordinates(image, coordinates, false, &mut args)?;
        let component = match compare {
            true => {
                args.extend(self.f32s(third)?.first().copied());
                0
            }
            false => match self.constant_u32(third)? {
                Some(component @ 0..=3) => component as u8,
                _ => return self.unsupported("a gather of a component that isn't a constant"),
            },
        };
        let mut op = SampleOp {
            dim: image.shape(self.at)?,
            array: image.array,
            lod: Lod::Zero,
            compare,
            gather: Some(component),
            offset: self.offset(extra.offset, 0)?,
            mask: 15,
        };
        if extra.offsets.is_none() {
            return self.emit_sample(texture, sampler, op, &args);
        }
        // Four gathers: of each, the texel at the offset itself, which is the last component.
        let mut values = Flat::new();
        for i in 0..4 {
            op.offset = self.offset(extra.offsets, 2 * i)?;
            op.offset[2] = 0;
            let gathered = self.emit_sample(texture, sampler, op, &args)?;
            values.extend(gathered.last().copied());
        }
        Ok(values)
    }

    fn integers(&mut self, image: Image, id: u32, args: &mut Flat) -> Result<()> {
        let values = self.value(id)?;
        let count = image.shape(self.at)?.coords() - usize::from(image.shape(self.at)? == crate::ir::Dim::Cube);
        let count = count + usize::from(image.array || image.shape(self.at)? == crate::ir::Dim::Cube);
        if values.len() < count || values.iter().any(|&v| !matches!(self.b.kind(v), Kind::I32 | Kind::U32)) {
            return self.invalid("texture coordinates of another type or size");
        }
        args.extend_from_slice(&values[..count]);
        Ok(())
    }

    fn fetch(&mut self, image: u32, coordinates: u32, extra: &[u32]) -> Result<Flat> {
        let texture = self.texture(image)?;
        let extra = self.extra(extra)?;
        let image = texture.image;
        let mut args: Flat = texture.element.into_iter().collect();
        if extra.offset.is_some() {
            return self.fetch_with_offset(texture, coordinates, &extra);
        }
        self.integers(image, coordinates, &mut args)?;
        self.emit_fetch(texture, args, &extra)
    }

    fn fetch_with_offset(&mut self, texture: Texture, coordinates: u32, extra: &Extra) -> Result<Flat> {
        let mut args: Flat = texture.element.into_iter().collect();
        let first = args.len();
        self.integers(texture.image, coordinates, &mut args)?;
        let offsets = self.offset(extra.offset, 0)?;
        let dims = texture.image.shape(self.at)?.coords();
        for (arg, offset) in args[first..].iter_mut().take(dims).zip(offsets) {
            let kind = self.b.kind(*arg);
            let offset = crate::compose::int(&mut self.b, kind, i64::from(offset));
            *arg = self.b.alu(Alu::IAdd, &[*arg, offset]);
        }
        self.emit_fetch(texture, args, extra)
    }

    fn emit_fetch(&mut self, texture: Texture, mut args: Flat, extra: &Extra) -> Result<Flat> {
        let image = texture.image;
        args.push(match extra.sample.or(extra.lod) {
            Some(id) => self.index(id)?,
            None => self.b.u32(0),
        });
        let op = TexelOp {
            dim: image.shape(self.at)?,
            array: image.array,
            multisampled: image.multisampled,
            mask: 15,
        };
        if let ResourceClass::StorageTexture { readable: false, .. } =
            self.shader.resources[texture.reference.resource].class
        {
            return self.invalid("a read of a write-only image");
        }
        let kind = self.texel_kind(image)?;
        let texture = texture.reference;
        let inst = self.b.inst(Op::TexelLoad { texture, op, kind }, &args, &[kind; 4]);
        Ok(self.b.results(inst).into())
    }

    pub fn image_write(&mut self, words: &[u32]) -> Result<()> {
        let &[image, coordinates, texel, ref rest @ ..] = words else {
            return self.invalid("too few operands");
        };
        let texture = self.texture(image)?;
        self.extra(rest)?;
        let mut args: Flat = texture.element.into_iter().collect();
        self.integers(texture.image, coordinates, &mut args)?;
        let kind = self.texel_kind(texture.image)?;
        let values = self.value(texel)?;
        let zero = self.b.constant(crate::ir::Literal::zero(kind));
        for i in 0..4 {
            let value = values.get(i).copied().unwrap_or(zero);
            args.push(self.as_kind(value, kind)?);
        }
        match self.shader.resources[texture.reference.resource].class {
            ResourceClass::StorageTexture { writable: true, .. } => {}
            _ => return self.invalid("a write to an image that can't be written"),
        }
        let op = TexelOp {
            dim: texture.image.shape(self.at)?,
            array: texture.image.array,
            multisampled: false,
            mask: 15,
        };
        let texture = texture.reference;
        self.b.inst(Op::TexelStore { texture, op }, &args, &[]);
        Ok(())
    }

    fn queries(&mut self, ty: u32, texture: Texture, queries: &[TextureQuery], level: Option<Value>) -> Result<Flat> {
        let kind = self.scalar_type(ty)?.kind;
        let mut values = Flat::new();
        for &query in queries {
            let mut args: Flat = texture.element.into_iter().collect();
            if query.takes_level() {
                args.push(level.unwrap_or_else(|| self.b.u32(0)));
            }
            let texture = texture.reference;
            let value = self.b.inst1(Op::TextureQuery { texture, query }, &args, Kind::U32);
            values.push(self.as_kind(value, kind)?);
        }
        Ok(values)
    }
}
