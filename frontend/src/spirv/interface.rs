//! What the entry point declares: inputs and outputs scalar by scalar, private variables, resources.
//!
//! A combined image sampler is a texture at its own binding and a sampler at the binding
//! [`COMBINED_SAMPLER_OFFSET`](super::COMBINED_SAMPLER_OFFSET) above.

use super::COMBINED_SAMPLER_OFFSET;
use super::lower::{Bindings, Lower, Lowered};
use super::module::{Decor, Entry, find};
use super::report::{Failure, Result};
use super::subgroup::SIZE;
use super::types::{Image, Ty, byte_size};
use crate::ir::{
    Alu, Binding, Builtin, DepthOutput, Handle, Input, Interpolation, Kind, Local, Op, Output, Resource, ResourceClass,
    SampleKind, Sampling, Semantic, Stage, Value,
};
use crate::memory::place::{Flat, Place, VarPlace};
use crate::memory::shape::{Form, Scalar, Shape};
use rspirv::spirv::{BuiltIn, Decoration as D, ImageFormat, StorageClass};

/// What a scalar of the interface is connected to.
enum Link {
    To(Semantic),
    /// `HelperInvocation`.
    Helper,
    /// The lane of the quad, and masks of lanes seen from it.
    Lane,
    LaneMask(BuiltIn),
    Constant(u32),
    /// A builtin that isn't touched.
    None,
}

struct Port {
    name: String,
    link: Link,
    scalar: Scalar,
    interpolation: Interpolation,
    sampling: Sampling,
    invariant: bool,
}

/// An output variable: where it is kept, and the stage outputs' locals with their kinds, by leaf.
pub(super) struct OutputVariable {
    place: VarPlace,
    locals: Vec<Option<Handle<Local>>>,
}

/// Walks a variable's type.
struct Walk<'a> {
    input: bool,
    stage: Stage,
    variable: u32,
    location: Option<u32>,
    component: u32,
    builtin_index: u8,
    ports: Vec<Port>,
    scopes: Vec<&'a [Decor]>,
}

impl<'a> Walk<'a> {
    fn decoration(&self, wanted: D) -> Option<&'a [u32]> {
        self.scopes.iter().rev().find_map(|scope| find(scope, wanted))
    }
}

impl<'m> Lower<'m> {
    /// Declares what the entry point uses, and lowers it.
    pub fn entry(&mut self, entry: &Entry) -> Result<()> {
        self.modes(entry)?;
        let mut outputs = Vec::new();
        let m = self.m;
        for &variable in &m.variables {
            let Some((index, inst)) = m.def(variable) else {
                continue;
            };
            self.set_at(index)?;
            let (class, ty) = self.pointee(inst.ty)?;
            let used = self.facts.used.contains(&variable);
            let initial = match m.words.operands(inst).get(1) {
                Some(&initial) => self.constant(initial)?,
                None => None,
            };
            match class {
                StorageClass::Input if used || entry.interface.contains(&variable) => {
                    self.input(variable, ty, used)?;
                }
                StorageClass::Output if used || entry.interface.contains(&variable) => {
                    let output = self.output(variable, ty, initial.as_ref().map(|l| l.as_slice()))?;
                    outputs.extend(output);
                }
                _ if !used => {}
                StorageClass::Private => {
                    let place = self.variable(variable, ty, initial.as_ref().map(|l| l.as_slice()))?;
                    self.define(variable, Lowered::Place(Place::Var(place)));
                }
                StorageClass::Uniform
                | StorageClass::StorageBuffer
                | StorageClass::PushConstant
                | StorageClass::UniformConstant => self.resource(variable, class, ty)?,
                class => return self.unsupported(format!("the storage class {class:?}")),
            }
        }
        self.function(entry.function, Vec::new())?;
        for output in outputs {
            let values = output.place.load(&mut self.b);
            for (value, local) in values.into_iter().zip(output.locals) {
                if let Some(local) = local {
                    let kind = self.b.func.locals[local].kind;
                    let value = self.as_kind(value, kind)?;
                    self.b.set(local, value);
                }
            }
        }
        self.b.return_(&[]);
        Ok(())
    }

    fn modes(&mut self, entry: &Entry) -> Result<()> {
        use rspirv::spirv::ExecutionMode as M;
        for (mode, _) in &entry.modes {
            match M::from_u32(*mode) {
                Some(M::EarlyFragmentTests) => self.shader.early_depth_stencil = true,
                Some(M::DepthGreater) => self.shader.depth_output = DepthOutput::GreaterEqual,
                Some(M::DepthLess) => self.shader.depth_output = DepthOutput::LessEqual,
                Some(
                    mode @ (M::PixelCenterInteger
                    | M::OriginLowerLeft
                    | M::Xfb
                    | M::DenormFlushToZero
                    | M::RoundingModeRTZ
                    | M::PostDepthCoverage
                    | M::EarlyAndLateFragmentTestsAMD
                    | M::StencilRefReplacingEXT),
                ) => {
                    return Err(Failure::unsupported(
                        format!("the execution mode {mode:?}"),
                        Some(entry.at),
                    ));
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn ports(&mut self, variable: u32, ty: u32, input: bool) -> Result<Vec<Port>> {
        let m = self.m;
        let none: &[Decor] = &[];
        let own = m.decorations.get(&variable).map_or(none, Vec::as_slice);
        let mut walk = Walk {
            input,
            stage: self.shader.stage,
            variable,
            location: None,
            component: 0,
            builtin_index: 0,
            ports: Vec::new(),
            scopes: vec![own],
        };
        walk.location = walk.decoration(D::Location).and_then(|l| l.first().copied());
        walk.component = walk
            .decoration(D::Component)
            .and_then(|c| c.first().copied())
            .unwrap_or(0);
        let shape = self.value_shape(ty)?;
        self.check_leaves(&shape)?;
        let name = m.name(variable).to_owned();
        self.walk(&mut walk, &name, ty, None)?;
        Ok(walk.ports)
    }

    fn walk(&mut self, walk: &mut Walk<'m>, name: &str, ty: u32, member: Option<u32>) -> Result<()> {
        let m = self.m;
        match self.ty(ty)? {
            Ty::Scalar(scalar) => {
                self.port(walk, name.to_owned(), scalar, 0, member)?;
                walk.location = walk.location.map(|l| l.wrapping_add(1));
            }
            Ty::Vector(_, size) => {
                let scalar = self.scalar_type(ty)?;
                for (i, letter) in (0..size).zip("xyzw".chars()) {
                    self.port(walk, format!("{name}.{letter}"), scalar, i, member)?;
                }
                walk.location = walk.location.map(|l| l.wrapping_add(1));
            }
            Ty::Matrix(column, columns) => {
                for i in 0..columns {
                    self.walk(walk, &format!("{name}[{i}]"), column, member)?;
                }
            }
            Ty::Array(element, length) => {
                for i in 0..self.length(length)? {
                    self.walk(walk, &format!("{name}[{i}]"), element, member)?;
                }
            }
            Ty::Struct(members) => {
                for (i, &part) in (0..).zip(&members) {
                    let own = m.member_decorations.get(&(ty, i)).map_or(&[][..], Vec::as_slice);
                    walk.scopes.push(own);
                    if let Some(location) = find(own, D::Location).and_then(|l| l.first()) {
                        walk.location = Some(*location);
                    }
                    walk.component = find(own, D::Component).and_then(|c| c.first().copied()).unwrap_or(0);
                    walk.builtin_index = 0;
                    let part_name = match m.member_names.get(&(ty, i)) {
                        Some(part) => format!("{name}.{part}"),
                        None => format!("{name}.{i}"),
                    };
                    self.walk(walk, &part_name, part, member.or(Some(i)))?;
                    walk.scopes.pop();
                }
            }
            _ => return self.unsupported(format!("a stage input or output of this type (`{name}`)")),
        }
        Ok(())
    }

    fn port(
        &mut self,
        walk: &mut Walk,
        name: String,
        scalar: Scalar,
        component: u32,
        member: Option<u32>,
    ) -> Result<()> {
        let builtin = walk.decoration(D::BuiltIn).and_then(|b| BuiltIn::from_u32(*b.first()?));
        let mut invariant = walk.decoration(D::Invariant).is_some();
        let (mut interpolation, mut sampling) = match (walk.decoration(D::Flat), walk.decoration(D::NoPerspective)) {
            _ if !scalar.kind.is_float() => (Interpolation::Flat, Sampling::Center),
            (Some(_), _) => (Interpolation::Flat, Sampling::Center),
            (_, Some(_)) => (Interpolation::Linear, Sampling::Center),
            _ => (Interpolation::Perspective, Sampling::Center),
        };
        if interpolation != Interpolation::Flat {
            if walk.decoration(D::Sample).is_some() {
                sampling = Sampling::Sample;
            } else if walk.decoration(D::Centroid).is_some() {
                sampling = Sampling::Centroid;
            }
        }
        let link = match builtin {
            Some(builtin) => {
                let index = walk.builtin_index;
                walk.builtin_index = index.saturating_add(1);
                let touched = self.facts.whole.contains(&walk.variable)
                    || member.map_or(self.facts.used.contains(&walk.variable), |member| {
                        self.facts.members.contains(&(walk.variable, member))
                    });
                let position = matches!(builtin, BuiltIn::Position);
                let link = match touched || (position && !walk.input) {
                    true => self.builtin(walk, builtin, index)?,
                    false => Link::None,
                };
                if let Link::To(Semantic::Builtin(builtin)) = link {
                    interpolation = match builtin {
                        Builtin::Position(_) => Interpolation::Linear,
                        _ => Interpolation::Flat,
                    };
                    sampling = Sampling::Center;
                    // Law N2: no contraction behind positions and depths.
                    invariant |= matches!(builtin, Builtin::Position(_) | Builtin::FragDepth);
                }
                link
            }
            None => {
                let Some(location) = walk.location else {
                    return self.invalid(format!("`{name}` has neither a location nor a builtin"));
                };
                let component = component + walk.component;
                if component > 3 || scalar.width() > 4 {
                    return self.unsupported(format!("a stage input or output of 64-bit type (`{name}`)"));
                }
                let index = walk.decoration(D::Index).and_then(|i| i.first().copied());
                Link::To(Semantic::Location {
                    location,
                    component: component as u8,
                    second_source: index == Some(1),
                })
            }
        };
        if scalar.kind.bits() != 32 {
            return self.unsupported(format!("a stage input or output of type {} (`{name}`)", scalar.kind));
        }
        walk.ports.push(Port {
            name,
            link,
            scalar,
            interpolation,
            sampling,
            invariant,
        });
        Ok(())
    }

    fn builtin(&self, walk: &Walk, builtin: BuiltIn, index: u8) -> Result<Link> {
        let vertex = walk.stage == Stage::Vertex;
        let found = match (builtin, walk.input) {
            (BuiltIn::Position, false) | (BuiltIn::FragCoord, true) => Builtin::Position(index),
            (BuiltIn::VertexIndex | BuiltIn::VertexId, true) => Builtin::VertexIndex,
            (BuiltIn::InstanceIndex | BuiltIn::InstanceId, true) => Builtin::InstanceIndex,
            (BuiltIn::FrontFacing, true) => Builtin::FrontFacing,
            (BuiltIn::SampleId, true) => Builtin::SampleIndex,
            (BuiltIn::SampleMask, _) if index == 0 => Builtin::SampleMask,
            // Further words of the mask: there are never more than 32 samples.
            (BuiltIn::SampleMask, _) => return Ok(Link::None),
            (BuiltIn::FullyCoveredEXT, true) => Builtin::InnerCoverage,
            (BuiltIn::FragDepth, false) => Builtin::FragDepth,
            (BuiltIn::PrimitiveId, true) if !vertex => Builtin::PrimitiveIndex,
            (BuiltIn::ClipDistance, _) => Builtin::ClipDistance(index),
            (BuiltIn::CullDistance, _) => Builtin::CullDistance(index),
            (BuiltIn::PointSize, false) => Builtin::PointSize,
            (BuiltIn::ViewportIndex, _) => Builtin::ViewportIndex,
            (BuiltIn::Layer, _) => Builtin::Layer,
            (BuiltIn::ViewIndex, true) => Builtin::ViewIndex,
            (BuiltIn::HelperInvocation, true) => return Ok(Link::Helper),
            (BuiltIn::DeviceIndex, true) => return Ok(Link::Constant(0)),
            (BuiltIn::SubgroupSize, true) if !vertex => return Ok(Link::Constant(SIZE)),
            (BuiltIn::SubgroupLocalInvocationId, true) if !vertex => return Ok(Link::Lane),
            (
                BuiltIn::SubgroupEqMask
                | BuiltIn::SubgroupGeMask
                | BuiltIn::SubgroupGtMask
                | BuiltIn::SubgroupLeMask
                | BuiltIn::SubgroupLtMask,
                true,
            ) if !vertex => {
                return Ok(match index {
                    0 => Link::LaneMask(builtin),
                    _ => Link::Constant(0),
                });
            }
            _ => return self.unsupported(format!("the builtin {builtin:?}")),
        };
        Ok(Link::To(Semantic::Builtin(found)))
    }

    fn input(&mut self, variable: u32, ty: u32, used: bool) -> Result<()> {
        if !used && self.is_builtin(variable, ty) {
            return Ok(());
        }
        let ports = self.ports(variable, ty, true)?;
        let mut values = Flat::new();
        let mut inputs = Vec::with_capacity(ports.len());
        for port in ports {
            inputs.push(None);
            let value = match port.link {
                Link::To(semantic) => {
                    let kind = match semantic {
                        Semantic::Builtin(_) if port.scalar.kind == Kind::I32 => Kind::U32,
                        _ => port.scalar.kind,
                    };
                    let input = self.shader.inputs.push(Input {
                        name: port.name,
                        semantic,
                        kind,
                        interpolation: port.interpolation,
                        sampling: port.sampling,
                    });
                    if matches!(semantic, Semantic::Location { .. }) {
                        inputs.pop();
                        inputs.push(Some(input));
                    }
                    let value = self.b.inst1(Op::Input(input), &[], kind);
                    let value = self.as_kind(value, port.scalar.kind)?;
                    self.round(value, port.scalar)
                }
                Link::Helper => self.b.inst1(Op::IsHelper, &[], Kind::Bool),
                Link::Constant(word) => {
                    let word = self.b.u32(word);
                    self.as_kind(word, port.scalar.kind)?
                }
                Link::Lane => {
                    let lane = self.lane();
                    self.as_kind(lane, port.scalar.kind)?
                }
                Link::LaneMask(builtin) => {
                    let mask = self.lane_mask(builtin);
                    self.as_kind(mask, port.scalar.kind)?
                }
                Link::None => self.b.constant(crate::ir::Literal::zero(port.scalar.kind)),
            };
            values.push(value);
        }
        let place = self.variable(variable, ty, None)?;
        let kinds: Vec<Value> = values.to_vec();
        place.store(&mut self.b, &kinds);
        if self.facts.interpolates {
            for (value, input) in place.load(&mut self.b).into_iter().zip(inputs) {
                let read = self.b.func.def_inst(value).map(|i| i.op);
                if let (Some(Op::LocalGet(local)), Some(input)) = (read, input) {
                    self.pulled.insert(local, input);
                }
            }
        }
        self.define(variable, Lowered::Place(Place::Var(place)));
        Ok(())
    }

    /// `SubgroupEqMask` and the like.
    fn lane_mask(&mut self, builtin: BuiltIn) -> Value {
        let lane = self.lane();
        let one = self.b.u32(1);
        let own = self.b.alu(Alu::Shl, &[one, lane]);
        let below = self.b.alu(Alu::ISub, &[own, one]);
        let most = self.b.alu(Alu::Or, &[own, below]);
        let all = self.b.u32((1 << SIZE) - 1);
        match builtin {
            BuiltIn::SubgroupLtMask => below,
            BuiltIn::SubgroupLeMask => most,
            BuiltIn::SubgroupGeMask => self.b.alu(Alu::Xor, &[all, below]),
            BuiltIn::SubgroupGtMask => self.b.alu(Alu::Xor, &[all, most]),
            _ => own,
        }
    }

    fn is_builtin(&self, variable: u32, ty: u32) -> bool {
        self.decorated(variable, D::BuiltIn) || self.m.member_decoration(ty, 0, D::BuiltIn).is_some()
    }

    fn output(
        &mut self,
        variable: u32,
        ty: u32,
        initial: Option<&[crate::ir::Literal]>,
    ) -> Result<Option<OutputVariable>> {
        if !self.facts.used.contains(&variable) && self.is_builtin(variable, ty) {
            return Ok(None);
        }
        let ports = self.ports(variable, ty, false)?;
        let place = self.variable(variable, ty, initial)?;
        self.define(variable, Lowered::Place(Place::Var(place.clone())));
        let mut locals = Vec::with_capacity(ports.len());
        for port in ports {
            let Link::To(semantic) = port.link else {
                locals.push(None);
                continue;
            };
            let kind = match semantic {
                Semantic::Builtin(_) if port.scalar.kind == Kind::I32 => Kind::U32,
                _ => port.scalar.kind,
            };
            let local = self.b.local(port.name.clone(), kind);
            self.shader.outputs.push(Output {
                name: port.name,
                semantic,
                kind,
                local,
                invariant: port.invariant,
            });
            locals.push(Some(local));
        }
        Ok(Some(OutputVariable { place, locals }))
    }

    fn resource(&mut self, variable: u32, class: StorageClass, ty: u32) -> Result<()> {
        let (element, count) = match self.ty(ty)? {
            Ty::Array(element, length) => (element, self.length(length)?),
            Ty::RuntimeArray(_) => return self.unsupported("an array of resources of unknown length"),
            _ => (ty, 1),
        };
        let first = |d| self.m.decoration(variable, d).and_then(|a| a.first().copied());
        let (group, binding) = (first(D::DescriptorSet).unwrap_or(0), first(D::Binding).unwrap_or(0));
        let declare = |s: &mut Self, class: ResourceClass, group: u32, binding: u32| {
            let name = match s.m.name(variable) {
                "" => s.m.name(element),
                name => name,
            };
            s.shader.resources.push(Resource {
                name: name.to_owned(),
                span: s.b.span(),
                class,
                count,
                binding: Binding::WebGpu { group, binding },
            })
        };
        let read_only = self.decorated(variable, D::NonWritable);
        let bindings = match (class, self.ty(element)?) {
            (StorageClass::UniformConstant, Ty::Sampler) => Bindings::Sampler(declare(
                self,
                ResourceClass::Sampler { comparison: false },
                group,
                binding,
            )),
            (StorageClass::UniformConstant, Ty::Image(image)) => {
                let class = self.image_class(variable, image)?;
                Bindings::Texture(declare(self, class, group, binding), image)
            }
            (StorageClass::UniformConstant, Ty::SampledImage(image)) => {
                let Ty::Image(image) = self.ty(image)? else {
                    return self.invalid("a sampled image of no image");
                };
                if binding >= COMBINED_SAMPLER_OFFSET {
                    let what = format!(
                        "a combined image sampler at a binding above {}",
                        COMBINED_SAMPLER_OFFSET - 1
                    );
                    return self.unsupported(what);
                }
                let class = self.image_class(variable, image)?;
                let texture = declare(self, class, group, binding);
                let class = ResourceClass::Sampler { comparison: false };
                let sampler = declare(self, class, group, binding + COMBINED_SAMPLER_OFFSET);
                Bindings::Combined(texture, sampler, image)
            }
            (StorageClass::UniformConstant, _) => return self.unsupported("a resource of this type"),
            (_, Ty::Struct(members)) => {
                let shape = self.value_shape(element)?;
                self.check_buffer(&shape)?;
                let min_size = byte_size(&shape);
                let read_only = read_only
                    || (0..members.len() as u32)
                        .all(|i| self.m.member_decoration(element, i, D::NonWritable).is_some());
                let storage = class == StorageClass::StorageBuffer || self.decorated(element, D::BufferBlock);
                let (class, group) = match class {
                    StorageClass::PushConstant => {
                        let size = min_size.min(u64::from(u32::MAX)) as u32;
                        (ResourceClass::Immediate { size }, u32::MAX)
                    }
                    _ if storage => {
                        let writable = !read_only;
                        (ResourceClass::Storage { writable, min_size }, group)
                    }
                    _ => (ResourceClass::Uniform { min_size }, group),
                };
                Bindings::Buffer(declare(self, class, group, binding))
            }
            _ => return self.unsupported("a buffer that isn't a struct"),
        };
        self.resources.insert(variable, bindings);
        Ok(())
    }

    fn image_class(&self, variable: u32, image: Image) -> Result<ResourceClass> {
        let dim = image.shape(self.at)?;
        let kind = self.scalar_type(image.sampled_type)?.kind;
        if image.storage {
            let Some(format) = image.format.and_then(format_name) else {
                let format = image.format.map_or("Unknown".to_owned(), |f| format!("{f:?}"));
                return self.unsupported(format!("a storage image of format {format}"));
            };
            return Ok(ResourceClass::StorageTexture {
                dim,
                array: image.array,
                format: format.to_owned(),
                readable: !self.decorated(variable, D::NonReadable),
                writable: !self.decorated(variable, D::NonWritable),
            });
        }
        let sample = match kind {
            Kind::I32 => SampleKind::Sint,
            Kind::U32 => SampleKind::Uint,
            Kind::F32 if image.depth => SampleKind::Depth,
            Kind::F32 => SampleKind::UnfilterableFloat,
            kind => return self.unsupported(format!("a texture of {kind}")),
        };
        Ok(ResourceClass::Texture {
            dim,
            array: image.array,
            multisampled: image.multisampled,
            sample,
        })
    }

    /// Refuses what has no place in buffers, and layouts without strides.
    fn check_buffer(&self, shape: &Shape) -> Result<()> {
        match &shape.form {
            Form::Scalar(scalar) if scalar.kind == Kind::Bool => self.invalid("a bool in a buffer"),
            Form::Scalar(_) => Ok(()),
            Form::Vector(_, inner) | Form::Matrix(_, inner, _) => self.check_buffer(inner),
            Form::Array(_, _, 0) => self.invalid("an array in a buffer has no ArrayStride"),
            Form::Array(_, inner, _) => self.check_buffer(inner),
            Form::Struct(members) => members.iter().try_for_each(|member| self.check_buffer(&member.shape)),
            Form::Opaque => self.unsupported("a buffer that holds pointers, textures or samplers"),
        }
    }
}

/// WebGPU's name of a storage texture format.
fn format_name(format: ImageFormat) -> Option<&'static str> {
    Some(match format {
        ImageFormat::Rgba32f => "rgba32float",
        ImageFormat::Rgba16f => "rgba16float",
        ImageFormat::R32f => "r32float",
        ImageFormat::Rgba8 => "rgba8unorm",
        ImageFormat::Rgba8Snorm => "rgba8snorm",
        ImageFormat::Rg32f => "rg32float",
        ImageFormat::Rg16f => "rg16float",
        ImageFormat::R11fG11fB10f => "rg11b10ufloat",
        ImageFormat::R16f => "r16float",
        ImageFormat::Rgba16 => "rgba16unorm",
        ImageFormat::Rgb10A2 => "rgb10a2unorm",
        ImageFormat::Rg16 => "rg16unorm",
        ImageFormat::Rg8 => "rg8unorm",
        ImageFormat::R16 => "r16unorm",
        ImageFormat::R8 => "r8unorm",
        ImageFormat::Rgba16Snorm => "rgba16snorm",
        ImageFormat::Rg16Snorm => "rg16snorm",
        ImageFormat::Rg8Snorm => "rg8snorm",
        ImageFormat::R16Snorm => "r16snorm",
        ImageFormat::R8Snorm => "r8snorm",
        ImageFormat::Rgba32i => "rgba32sint",
        ImageFormat::Rgba16i => "rgba16sint",
        ImageFormat::Rgba8i => "rgba8sint",
        ImageFormat::R32i => "r32sint",
        ImageFormat::Rg32i => "rg32sint",
        ImageFormat::Rg16i => "rg16sint",
        ImageFormat::Rg8i => "rg8sint",
        ImageFormat::R16i => "r16sint",
        ImageFormat::R8i => "r8sint",
        ImageFormat::Rgba32ui => "rgba32uint",
        ImageFormat::Rgba16ui => "rgba16uint",
        ImageFormat::Rgba8ui => "rgba8uint",
        ImageFormat::R32ui => "r32uint",
        ImageFormat::Rgb10a2ui => "rgb10a2uint",
        ImageFormat::Rg32ui => "rg32uint",
        ImageFormat::Rg16ui => "rg16uint",
        ImageFormat::Rg8ui => "rg8uint",
        ImageFormat::R16ui => "r16uint",
        ImageFormat::R8ui => "r8uint",
        _ => return None,
    })
}
