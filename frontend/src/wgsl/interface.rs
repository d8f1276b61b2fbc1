//! The entry point's inputs and outputs, scalar by scalar.

use super::analysis::Facts;
use super::body::{Body, Lowered, Returns};
use super::place::Flat;
use super::report::{Failure, Result};
use super::shader::Cx;
use super::types::{Scalar, Shape};
use crate::ir::{Alu, Builtin, Function, Input, Interpolation, Op, Output, Sampling, Semantic};
use std::rc::Rc;

/// A scalar of the interface.
struct Port {
    name: String,
    semantic: Semantic,
    scalar: Scalar,
    interpolation: Interpolation,
    sampling: Sampling,
    invariant: bool,
}

/// Lowers the entry function: inputs, body, outputs.
pub(super) fn lower_entry<'m>(cx: &mut Cx<'m>, entry: &'m naga::EntryPoint, facts: Rc<Facts>) -> Result<Function> {
    let function = &entry.function;
    let dynamic = facts.private_paths.clone();
    let info = cx.entry_info;
    let mut ports = Vec::new();
    for argument in &function.arguments {
        let name = argument.name.as_deref().unwrap_or_default();
        ports.push(ports_of(cx, name, argument.ty, argument.binding.as_ref())?);
    }
    let outputs = match &function.result {
        Some(result) => ports_of(cx, "", result.ty, result.binding.as_ref())?,
        None => Vec::new(),
    };
    let mut body = Body::new(
        cx,
        entry.name.clone(),
        function,
        info,
        facts,
        Returns::Entry(Vec::new()),
    );
    let mut locals = Vec::new();
    for port in outputs {
        let local = body.b.local(port.name.clone(), port.scalar.kind);
        locals.push(local);
        body.cx.shader.outputs.push(Output {
            name: port.name,
            semantic: port.semantic,
            kind: port.scalar.kind,
            local,
            invariant: port.invariant,
        });
    }
    body.returns_to(locals);
    for argument in ports {
        let values = argument.into_iter().map(|port| {
            let (kind, half) = (port.scalar.kind, port.scalar.half);
            let input = body.cx.shader.inputs.push(Input {
                name: port.name,
                semantic: port.semantic,
                kind,
                interpolation: port.interpolation,
                sampling: port.sampling,
            });
            let value = body.b.inst1(Op::Input(input), &[], kind);
            if half {
                body.b.alu(Alu::QuantizeF16, &[value])
            } else {
                value
            }
        });
        let values: Flat = values.collect();
        body.frame.arguments.push(Lowered::Value(values));
    }
    body.private_globals(&dynamic)?;
    body.function_body()?;
    Ok(body.finish())
}

/// The scalars of an argument or result: bound itself, or a struct whose members are.
fn ports_of(cx: &Cx, name: &str, ty: naga::Handle<naga::Type>, binding: Option<&naga::Binding>) -> Result<Vec<Port>> {
    let at = cx.module.types.get_span(ty);
    let mut ports = Vec::new();
    match (binding, &cx.module.types[ty].inner) {
        (Some(binding), _) => bound(name, &cx.types.get(ty), binding, at, &mut ports)?,
        (None, naga::TypeInner::Struct { members, .. }) => {
            for member in members {
                let part = member.name.as_deref().unwrap_or_default();
                let name = match name {
                    "" => part.to_owned(),
                    _ => format!("{name}.{part}"),
                };
                let Some(binding) = &member.binding else {
                    return Err(Failure::internal(format!("`{name}` has no binding"), at));
                };
                bound(&name, &cx.types.get(member.ty), binding, at, &mut ports)?;
            }
        }
        (None, _) => return Err(Failure::internal(format!("`{name}` has no binding"), at)),
    }
    Ok(ports)
}

fn bound(name: &str, shape: &Shape, binding: &naga::Binding, at: naga::Span, ports: &mut Vec<Port>) -> Result<()> {
    let scalars = shape.scalars();
    let alone = scalars.len() == 1;
    for (i, scalar) in scalars.into_iter().enumerate() {
        let component = i as u8;
        let name = match "xyzw".get(i..=i) {
            Some(letter) if !alone => format!("{name}.{letter}"),
            _ if alone => name.to_owned(),
            _ => format!("{name}[{i}]"),
        };
        let port = match *binding {
            naga::Binding::BuiltIn(builtin) => {
                let Some(builtin) = self::builtin(builtin, component) else {
                    let what = format!("the builtin {builtin:?} (`{name}`)");
                    return Err(Failure::unsupported(what, at));
                };
                Port {
                    name,
                    semantic: Semantic::Builtin(builtin),
                    scalar,
                    interpolation: match builtin {
                        Builtin::Position(_) => Interpolation::Linear,
                        _ => Interpolation::Flat,
                    },
                    sampling: Sampling::Center,
                    // Law N2: no contraction behind positions and depths.
                    invariant: matches!(builtin, Builtin::Position(_) | Builtin::FragDepth),
                }
            }
            naga::Binding::Location {
                location,
                interpolation,
                sampling,
                blend_src,
                per_primitive,
            } => {
                if per_primitive {
                    return Err(Failure::unsupported(format!("@per_primitive (`{name}`)"), at));
                }
                let (interpolation, sampling) = match interpolation_of(interpolation, sampling, scalar) {
                    Some(pair) => pair,
                    None => {
                        let what = format!("@interpolate(per_vertex) (`{name}`)");
                        return Err(Failure::unsupported(what, at));
                    }
                };
                Port {
                    name,
                    semantic: Semantic::Location {
                        location,
                        component,
                        second_source: blend_src == Some(1),
                    },
                    scalar,
                    interpolation,
                    sampling,
                    invariant: false,
                }
            }
        };
        if port.scalar.kind.bits() != 32 {
            let what = format!("a stage input or output of type {} (`{}`)", port.scalar.kind, port.name);
            return Err(Failure::unsupported(what, at));
        }
        ports.push(port);
    }
    Ok(())
}

fn builtin(builtin: naga::BuiltIn, component: u8) -> Option<Builtin> {
    use naga::BuiltIn as B;
    Some(match builtin {
        B::Position { .. } => Builtin::Position(component),
        B::VertexIndex => Builtin::VertexIndex,
        B::InstanceIndex => Builtin::InstanceIndex,
        B::FrontFacing => Builtin::FrontFacing,
        B::SampleIndex => Builtin::SampleIndex,
        B::SampleMask => Builtin::SampleMask,
        B::FragDepth => Builtin::FragDepth,
        B::PrimitiveIndex => Builtin::PrimitiveIndex,
        B::ClipDistances => Builtin::ClipDistance(component),
        B::CullDistance => Builtin::CullDistance(component),
        B::PointSize => Builtin::PointSize,
        B::ViewIndex => Builtin::ViewIndex,
        _ => return None,
    })
}

/// Defaults as R-WGSL-13; `None` for what isn't supported.
fn interpolation_of(
    interpolation: Option<naga::Interpolation>,
    sampling: Option<naga::Sampling>,
    scalar: Scalar,
) -> Option<(Interpolation, Sampling)> {
    let interpolation = match interpolation {
        Some(naga::Interpolation::Perspective) => Interpolation::Perspective,
        Some(naga::Interpolation::Linear) => Interpolation::Linear,
        Some(naga::Interpolation::Flat) => Interpolation::Flat,
        Some(naga::Interpolation::PerVertex) => return None,
        None if scalar.kind.is_float() => Interpolation::Perspective,
        None => Interpolation::Flat,
    };
    let sampling = match sampling {
        Some(naga::Sampling::Centroid) => Sampling::Centroid,
        Some(naga::Sampling::Sample) => Sampling::Sample,
        // Flat inputs: first and either both mean the first vertex (R-WGSL-12).
        Some(naga::Sampling::Center | naga::Sampling::First | naga::Sampling::Either) | None => Sampling::Center,
    };
    Some((interpolation, sampling))
}
