//! What operands, results and resources each operation takes.

use super::{Environment, Violation, find, local, needs_fragment};
use crate::ir::alu::AluKindError;
use crate::ir::op::{AtomicOp, InputPoint, Op, QuadOp, ResourceRef};
use crate::ir::shader::{Function, Resource, ResourceClass, Semantic, Stage};
use crate::ir::texture::{Dim, Lod, SampleOp, TexelOp};
use crate::ir::{Access, Kind};

type Check = Result<(), Violation>;

fn is_word(kind: Kind) -> bool {
    matches!(kind, Kind::F32 | Kind::I32 | Kind::U32)
}

fn is_int32(kind: Kind) -> bool {
    matches!(kind, Kind::I32 | Kind::U32)
}

/// Kinds of operands not yet judged.
struct Kinds<'a> {
    what: &'static str,
    kinds: &'a [Kind],
    at: usize,
    wanted: usize,
}

impl<'a> Kinds<'a> {
    fn new(what: &'static str, kinds: &'a [Kind]) -> Self {
        Kinds {
            what,
            kinds,
            at: 0,
            wanted: 0,
        }
    }

    /// The next must fit.
    fn next(&mut self, fits: impl Fn(Kind) -> bool) -> Check {
        self.wanted += 1;
        match self.kinds.get(self.at) {
            Some(&got) if !fits(got) => Err(Violation::Kind {
                what: self.what,
                index: self.at,
                got,
            }),
            Some(_) => {
                self.at += 1;
                Ok(())
            }
            // Counted by `end`.
            None => Ok(()),
        }
    }

    fn is(&mut self, kind: Kind) -> Check {
        self.next(|k| k == kind)
    }

    fn many(&mut self, count: usize, fits: impl Fn(Kind) -> bool) -> Check {
        (0..count).try_for_each(|_| self.next(&fits))
    }

    fn end(&self) -> Check {
        if self.wanted == self.kinds.len() {
            return Ok(());
        }
        Err(Violation::Count {
            what: self.what,
            want: self.wanted,
            got: self.kinds.len(),
        })
    }
}

/// Checks one instruction by the kinds of its operands and results.
pub(super) fn check(f: &Function, env: &Environment, op: &Op, args: &[Kind], results: &[Kind]) -> Check {
    if needs_fragment(op) && env.stage.is_some_and(|s| s != Stage::Fragment) {
        return Err(Violation::Stage("fragment"));
    }
    let mut a = Kinds::new("operand", args);
    let mut r = Kinds::new("result", results);
    match *op {
        Op::Const(literal) => {
            r.is(literal.kind)?;
            if literal.kind.bits() < 64 && literal.bits >> literal.kind.bits() != 0
                || literal.kind == Kind::Bool && literal.bits > 1
            {
                return Err(Violation::Detail("the constant has bits beyond its kind"));
            }
        }
        Op::Alu(alu) => {
            let want = alu.check(args).map_err(|e| match e {
                AluKindError::Count { want, got, .. } => Violation::Count {
                    what: "operands",
                    want,
                    got,
                },
                AluKindError::Operand { index, got, .. } => Violation::Kind {
                    what: "operand",
                    index,
                    got,
                },
            })?;
            a.many(args.len(), |_| true)?;
            for kind in want {
                r.is(kind)?;
            }
        }
        Op::Bitcast(kind) => {
            a.next(|k| k.bits() == kind.bits() && k != Kind::Bool && kind != Kind::Bool)?;
            r.is(kind)?;
        }
        Op::Convert(kind) => {
            a.next(|k| k != Kind::Bool && kind != Kind::Bool)?;
            r.is(kind)?;
        }
        Op::Quad(quad) => {
            let any = match quad {
                QuadOp::DdxCoarse | QuadOp::DdxFine | QuadOp::DdyCoarse | QuadOp::DdyFine => false,
                QuadOp::SwapX | QuadOp::SwapY | QuadOp::SwapDiagonal => true,
                QuadOp::Broadcast(lane) if lane < 4 => true,
                QuadOp::Broadcast(_) => return Err(Violation::Detail("a quad has lanes 0 to 3")),
            };
            a.next(|k| any || k != Kind::Bool)?;
            r.next(|k| args.first() == Some(&k))?;
        }
        Op::LocalGet(handle) => r.is(local(f, handle)?.kind)?,
        Op::LocalSet { local: handle, .. } => a.is(local(f, handle)?.kind)?,
        Op::ArrayGet(handle) => {
            a.is(Kind::U32)?;
            r.is(find(&f.arrays, handle, "array")?.kind)?;
        }
        Op::ArraySet(handle) => {
            a.is(Kind::U32)?;
            a.is(find(&f.arrays, handle, "array")?.kind)?;
        }
        Op::ArrayReset(handle) => {
            find(&f.arrays, handle, "array")?;
        }
        Op::Input(handle) => match env.inputs {
            Some(inputs) => r.is(find(inputs, handle, "input")?.kind)?,
            None => return Err(Violation::Detail("there are no stage inputs here")),
        },
        Op::InputAt { input, at } => {
            let Some(inputs) = env.inputs else {
                return Err(Violation::Detail("there are no stage inputs here"));
            };
            let input = find(inputs, input, "input")?;
            if matches!(input.semantic, Semantic::Builtin(_)) {
                return Err(Violation::Detail("a built-in input has one place"));
            }
            match at {
                InputPoint::Sample => a.is(Kind::U32)?,
                InputPoint::Centroid => {}
                InputPoint::Offset => a.many(2, |k| k == Kind::F32)?,
            }
            r.is(input.kind)?;
        }
        Op::BufferLoad { buffer, kind, access } => {
            buffer_operands(env, &mut a, &buffer, false)?;
            check_access(&access)?;
            r.next(|k| k == kind && is_word(k))?;
        }
        Op::BufferStore { buffer, access } => {
            buffer_operands(env, &mut a, &buffer, true)?;
            check_access(&access)?;
            a.next(is_word)?;
        }
        Op::BufferAtomic { buffer, op, access } => {
            buffer_operands(env, &mut a, &buffer, true)?;
            check_access(&access)?;
            let fits = |k| is_int32(k) || op == AtomicOp::Exchange && k == Kind::F32;
            a.next(fits)?;
            let value = args.last().copied();
            if op == AtomicOp::CompareExchange {
                a.next(fits)?;
            }
            r.next(|k| Some(k) == value)?;
            if op == AtomicOp::CompareExchange {
                r.is(Kind::Bool)?;
            }
        }
        Op::BufferSize(buffer) => {
            let resource = self_resource(env, &mut a, &buffer)?;
            is_buffer(resource, &buffer, false)?;
            r.is(Kind::U32)?;
        }
        Op::Sample { texture, sampler, op } => sample(env, &mut a, &mut r, &texture, &sampler, &op)?,
        Op::TexelLoad { texture, op, kind } => {
            let resource = self_resource(env, &mut a, &texture)?;
            match &resource.class {
                ResourceClass::Texture {
                    dim,
                    array,
                    multisampled,
                    ..
                } if (*dim, *array, *multisampled) == (op.dim, op.array, op.multisampled) => {}
                ResourceClass::StorageTexture {
                    dim,
                    array,
                    readable: true,
                    ..
                } if (*dim, *array, false) == (op.dim, op.array, op.multisampled) => {}
                _ => return Err(wrong(resource, &texture, "a readable texture of that shape")),
            }
            texel_coordinates(&mut a, &op)?;
            a.next(is_int32)?;
            r.many(4, |k| k == kind && is_word(k))?;
        }
        Op::TexelStore { texture, op } => {
            let resource = self_resource(env, &mut a, &texture)?;
            match &resource.class {
                ResourceClass::StorageTexture {
                    dim,
                    array,
                    writable: true,
                    ..
                } if (*dim, *array) == (op.dim, op.array) => {}
                _ => return Err(wrong(resource, &texture, "a writable storage texture of that shape")),
            }
            texel_coordinates(&mut a, &op)?;
            let value = args.last().copied();
            a.many(4, |k| Some(k) == value && is_word(k))?;
        }
        Op::TextureQuery { texture, query } => {
            let resource = self_resource(env, &mut a, &texture)?;
            if !matches!(
                resource.class,
                ResourceClass::Texture { .. } | ResourceClass::StorageTexture { .. }
            ) {
                return Err(wrong(resource, &texture, "a texture"));
            }
            if query.takes_level() {
                a.next(is_int32)?;
            }
            r.is(Kind::U32)?;
        }
        Op::Call(handle) => {
            let Some(functions) = env.functions else {
                return Err(Violation::Detail("there are no functions to call here"));
            };
            let callee = find(functions, handle, "function")?;
            for &param in &callee.params {
                match callee.values.get(param) {
                    Some(data) => a.is(data.kind)?,
                    None => return Err(Violation::Definition(param.index())),
                }
            }
            for &kind in &callee.results {
                r.is(kind)?;
            }
        }
        Op::Discard => {}
        Op::IsHelper => r.is(Kind::Bool)?,
        Op::Barrier => {
            if env.stage.is_some_and(|s| s != Stage::Compute) {
                return Err(Violation::Stage("compute"));
            }
        }
        Op::DrawLoad { kind, .. }
        | Op::PrimLoad { kind, .. }
        | Op::TileLoad { kind, .. }
        | Op::CellLoad { kind, .. } => r.next(|k| k == kind && is_word(k))?,
        Op::PrimVertexLoad { vertex, kind, .. } => {
            if vertex > 2 {
                return Err(Violation::Detail("a primitive has vertices 0 to 2"));
            }
            r.next(|k| k == kind && is_word(k))?;
        }
        Op::CellStore { .. } => a.next(is_word)?,
        Op::PixelX | Op::PixelY => r.is(Kind::U32)?,
        Op::Coverage { sample } => {
            if sample > 15 {
                return Err(Violation::Detail("there are at most 16 samples"));
            }
            r.is(Kind::Bool)?;
        }
        Op::TileStore { .. } => {
            a.next(is_word)?;
            a.is(Kind::Bool)?;
        }
        Op::CountInvocations | Op::CountSamples | Op::SetHelper => a.is(Kind::Bool)?,
        Op::Note(_) => a.many(a.kinds.len(), |_| true)?,
    }
    a.end()?;
    r.end()
}

fn check_access(access: &Access) -> Check {
    if access.align.is_power_of_two() {
        return Ok(());
    }
    Err(Violation::Detail("the alignment is not a power of two"))
}

/// Takes the element operand, if there is one, and gives the resource.
fn self_resource<'a>(env: &'a Environment, a: &mut Kinds, r: &ResourceRef) -> Result<&'a Resource, Violation> {
    if r.indexed {
        a.is(Kind::U32)?;
    }
    find(env.resources, r.resource, "resource")
}

fn wrong(resource: &Resource, r: &ResourceRef, want: &'static str) -> Violation {
    Violation::Resource {
        index: r.resource.index(),
        name: resource.name.clone(),
        want,
    }
}

fn is_buffer(resource: &Resource, r: &ResourceRef, write: bool) -> Check {
    let fits = match resource.class {
        ResourceClass::Uniform { .. } | ResourceClass::Immediate { .. } => !write,
        ResourceClass::Storage { writable, .. } => writable || !write,
        _ => false,
    };
    match (fits, write) {
        (true, _) => Ok(()),
        (false, true) => Err(wrong(resource, r, "a writable buffer")),
        (false, false) => Err(wrong(resource, r, "a buffer")),
    }
}

fn buffer_operands(env: &Environment, a: &mut Kinds, r: &ResourceRef, write: bool) -> Check {
    let resource = self_resource(env, a, r)?;
    is_buffer(resource, r, write)?;
    a.is(Kind::U32)
}

fn texel_coordinates(a: &mut Kinds, op: &TexelOp) -> Check {
    if op.dim == Dim::Cube || op.mask > 15 {
        return Err(Violation::Detail(
            "texels of a cube can't be addressed; a mask has 4 bits",
        ));
    }
    a.many(op.dim.coords() + usize::from(op.array), is_int32)
}

fn sample(
    env: &Environment,
    a: &mut Kinds,
    r: &mut Kinds,
    texture: &ResourceRef,
    sampler: &ResourceRef,
    op: &SampleOp,
) -> Check {
    let t = self_resource(env, a, texture)?;
    match &t.class {
        ResourceClass::Texture {
            dim,
            array,
            multisampled: false,
            ..
        } if (*dim, *array) == (op.dim, op.array) => {}
        _ => return Err(wrong(t, texture, "a sampled texture of that shape")),
    }
    let s = self_resource(env, a, sampler)?;
    match s.class {
        ResourceClass::Sampler { comparison } if comparison == op.compare => {}
        _ if op.compare => return Err(wrong(s, sampler, "a comparison sampler")),
        _ => return Err(wrong(s, sampler, "a sampler without comparison")),
    }
    if op.mask > 15 || op.gather.is_some_and(|c| c > 3) {
        return Err(Violation::Detail("a texel has 4 components"));
    }
    if op.gather.is_some() && op.lod != Lod::Zero {
        return Err(Violation::Detail("a gather reads level 0"));
    }
    let coords = op.dim.coords();
    a.many(coords, |k| k == Kind::F32)?;
    if op.array {
        a.next(is_int32)?;
    }
    let rest = op.arg_count() - coords - usize::from(op.array);
    a.many(rest, |k| k == Kind::F32)?;
    let first = r.kinds.first().copied();
    r.many(op.components(), |k| Some(k) == first && is_word(k))?;
    r.is(Kind::U32)
}
