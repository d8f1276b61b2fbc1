//! Operations in the text form: name, attributes in parentheses, written and read side by side.
//!
//! `name(attribute, ...) operand, ...`. Kinds that an operation carries are those of its first result, so they
//! aren't attributes.

use super::ParseErrorKind;
use crate::ir::op::{Access, AtomicOp, InputPoint, Op, OutOfBounds, QuadOp, ResourceRef};
use crate::ir::texture::{Dim, Lod, SampleOp, TexelOp, TextureQuery};
use crate::ir::{Alu, Handle, Kind, Literal};
use std::fmt::Write;

const QUADS: [(&str, QuadOp); 7] = [
    ("quad.ddx_coarse", QuadOp::DdxCoarse),
    ("quad.ddx_fine", QuadOp::DdxFine),
    ("quad.ddy_coarse", QuadOp::DdyCoarse),
    ("quad.ddy_fine", QuadOp::DdyFine),
    ("quad.swap_x", QuadOp::SwapX),
    ("quad.swap_y", QuadOp::SwapY),
    ("quad.swap_diagonal", QuadOp::SwapDiagonal),
];

const POINTS: [(&str, InputPoint); 3] = [
    ("input.at_sample", InputPoint::Sample),
    ("input.at_centroid", InputPoint::Centroid),
    ("input.at_offset", InputPoint::Offset),
];

const ATOMICS: [(&str, AtomicOp); 11] = [
    ("atomic.add", AtomicOp::Add),
    ("atomic.sub", AtomicOp::Sub),
    ("atomic.and", AtomicOp::And),
    ("atomic.or", AtomicOp::Or),
    ("atomic.xor", AtomicOp::Xor),
    ("atomic.smin", AtomicOp::SMin),
    ("atomic.smax", AtomicOp::SMax),
    ("atomic.umin", AtomicOp::UMin),
    ("atomic.umax", AtomicOp::UMax),
    ("atomic.exchange", AtomicOp::Exchange),
    ("atomic.compare_exchange", AtomicOp::CompareExchange),
];

const QUERIES: [(&str, TextureQuery); 6] = [
    ("query.width", TextureQuery::Width),
    ("query.height", TextureQuery::Height),
    ("query.depth", TextureQuery::Depth),
    ("query.layers", TextureQuery::Layers),
    ("query.levels", TextureQuery::Levels),
    ("query.samples", TextureQuery::Samples),
];

const DIMS: [(&str, Dim); 4] = [("d1", Dim::D1), ("d2", Dim::D2), ("d3", Dim::D3), ("cube", Dim::Cube)];

const LODS: [(&str, Lod); 5] = [
    ("implicit", Lod::Implicit),
    ("bias", Lod::Bias),
    ("zero", Lod::Zero),
    ("level", Lod::Level),
    ("grad", Lod::Grad),
];

fn name_of<T: PartialEq + Copy>(table: &[(&'static str, T)], item: T) -> &'static str {
    table.iter().find(|e| e.1 == item).map_or("?", |e| e.0)
}

fn item_of<T: Copy>(table: &[(&'static str, T)], name: &str) -> Option<T> {
    table.iter().find(|e| e.0 == name).map(|e| e.1)
}

/// The name of a shape.
pub(super) fn dim_name(dim: Dim) -> &'static str {
    name_of(&DIMS, dim)
}

/// The shape of that name.
pub(super) fn dim_from_name(name: &str) -> Option<Dim> {
    item_of(&DIMS, name)
}

/// A literal, exactly.
pub(super) fn literal(literal: Literal) -> String {
    let Literal { kind, bits } = literal;
    let hex = || format!("{bits:#x}");
    match kind {
        Kind::Bool if bits <= 1 => (bits == 1).to_string(),
        Kind::F32 if bits <= u64::from(u32::MAX) && f32::from_bits(bits as u32).is_finite() => {
            format!("{:?}", f32::from_bits(bits as u32))
        }
        Kind::F64 if f64::from_bits(bits).is_finite() => format!("{:?}", f64::from_bits(bits)),
        Kind::I8 if bits < 1 << 8 => (bits as i8).to_string(),
        Kind::I16 if bits < 1 << 16 => (bits as i16).to_string(),
        Kind::I32 if bits < 1 << 32 => (bits as i32).to_string(),
        Kind::I64 => (bits as i64).to_string(),
        Kind::U8 | Kind::U16 | Kind::U32 | Kind::U64 => bits.to_string(),
        _ => hex(),
    }
}

/// Reads what [`literal`] wrote.
pub(super) fn parse_literal(text: &str, kind: Kind) -> Option<Literal> {
    if let Some(hex) = text.strip_prefix("0x") {
        let bits = u64::from_str_radix(hex, 16).ok()?;
        return Some(Literal { kind, bits });
    }
    let bits = match kind {
        Kind::Bool => match text {
            "true" => 1,
            "false" => 0,
            _ => return None,
        },
        Kind::F16 => return None,
        Kind::F32 => u64::from(text.parse::<f32>().ok()?.to_bits()),
        Kind::F64 => text.parse::<f64>().ok()?.to_bits(),
        Kind::I8 => u64::from(text.parse::<i8>().ok()? as u8),
        Kind::I16 => u64::from(text.parse::<i16>().ok()? as u16),
        Kind::I32 => u64::from(text.parse::<i32>().ok()? as u32),
        Kind::I64 => text.parse::<i64>().ok()? as u64,
        Kind::U8 => u64::from(text.parse::<u8>().ok()?),
        Kind::U16 => u64::from(text.parse::<u16>().ok()?),
        Kind::U32 => u64::from(text.parse::<u32>().ok()?),
        Kind::U64 => text.parse::<u64>().ok()?,
    };
    Some(Literal { kind, bits })
}

fn resource(r: &ResourceRef) -> String {
    format!("r{}{}", r.resource.index(), if r.indexed { "[]" } else { "" })
}

fn access(a: &Access) -> String {
    let bounds = match a.bounds {
        OutOfBounds::Zero => "zero",
        OutOfBounds::Proved => "proved",
    };
    format!("{bounds}, align={}", a.align)
}

fn mask(mask: u8) -> String {
    match mask {
        0 => "none".into(),
        1..=15 => "xyzw"
            .chars()
            .enumerate()
            .filter(|(i, _)| mask >> i & 1 != 0)
            .map(|(_, c)| c)
            .collect(),
        other => other.to_string(),
    }
}

/// The operation with its attributes, up to the operands; locals and arrays count as operands here.
pub(super) fn head(op: &Op) -> String {
    let mut s = String::new();
    let o = &mut s;
    // Writing to a String can't fail.
    let _ = match op {
        Op::Const(l) => write!(o, "const {}", literal(*l)),
        Op::Alu(alu) => write!(o, "{}", alu.name()),
        Op::Bitcast(_) => write!(o, "bitcast"),
        Op::Convert(_) => write!(o, "convert"),
        Op::Quad(QuadOp::Broadcast(lane)) => write!(o, "quad.broadcast({lane})"),
        Op::Quad(q) => write!(o, "{}", name_of(&QUADS, *q)),
        Op::LocalGet(l) => write!(o, "get ${}", l.index()),
        Op::LocalSet { local, merge: true } => write!(o, "set ${}", local.index()),
        Op::LocalSet { local, merge: false } => write!(o, "overwrite ${}", local.index()),
        Op::ArrayGet(a) => write!(o, "array.get &{}", a.index()),
        Op::ArraySet(a) => write!(o, "array.set &{}", a.index()),
        Op::ArrayReset(a) => write!(o, "array.reset &{}", a.index()),
        Op::Input(i) => write!(o, "input(in{})", i.index()),
        Op::InputAt { input, at } => write!(o, "{}(in{})", name_of(&POINTS, *at), input.index()),
        Op::BufferLoad { buffer, access: a, .. } => write!(o, "buffer.load({}, {})", resource(buffer), access(a)),
        Op::BufferStore { buffer, access: a } => write!(o, "buffer.store({}, {})", resource(buffer), access(a)),
        Op::BufferAtomic { buffer, op, access: a } => {
            write!(o, "{}({}, {})", name_of(&ATOMICS, *op), resource(buffer), access(a))
        }
        Op::BufferSize(buffer) => write!(o, "buffer.size({})", resource(buffer)),
        Op::Sample { texture, sampler, op } => {
            let _ = write!(
                o,
                "sample({}, {}, {}",
                resource(texture),
                resource(sampler),
                dim_name(op.dim)
            );
            if op.array {
                o.push_str(", array");
            }
            let _ = write!(o, ", {}", name_of(&LODS, op.lod));
            if op.compare {
                o.push_str(", compare");
            }
            if let Some(component) = op.gather {
                let _ = write!(o, ", gather={component}");
            }
            let [x, y, z] = op.offset;
            if op.offset != [0; 3] {
                let _ = write!(o, ", offset=[{x}, {y}, {z}]");
            }
            write!(o, ", mask={})", mask(op.mask))
        }
        Op::TexelLoad { texture, op, .. } => write!(o, "texel.load({}, {})", resource(texture), texel(op)),
        Op::TexelStore { texture, op } => write!(o, "texel.store({}, {})", resource(texture), texel(op)),
        Op::TextureQuery { texture, query } => write!(o, "{}({})", name_of(&QUERIES, *query), resource(texture)),
        Op::Call(f) => write!(o, "call(fn{})", f.index()),
        Op::Discard => write!(o, "discard"),
        Op::IsHelper => write!(o, "is_helper"),
        Op::SetHelper => write!(o, "set_helper"),
        Op::Barrier => write!(o, "barrier"),
        Op::DrawLoad { word, .. } => write!(o, "draw.load({word})"),
        Op::PrimLoad { offset, .. } => write!(o, "prim.load({offset})"),
        Op::PrimVertexLoad { vertex, offset, .. } => write!(o, "prim.vertex_load({vertex}, {offset})"),
        Op::PixelX => write!(o, "pixel_x"),
        Op::PixelY => write!(o, "pixel_y"),
        Op::Coverage { sample } => write!(o, "coverage({sample})"),
        Op::TileLoad { plane, .. } => write!(o, "tile.load({plane})"),
        Op::TileStore { plane } => write!(o, "tile.store({plane})"),
        Op::CellLoad { slot, .. } => write!(o, "cell.load({slot})"),
        Op::CellStore { slot } => write!(o, "cell.store({slot})"),
        Op::CountInvocations => write!(o, "count_invocations"),
        Op::CountSamples => write!(o, "count_samples"),
        Op::Note(number) => write!(o, "note({number})"),
    };
    s
}

fn texel(op: &TexelOp) -> String {
    let mut s = dim_name(op.dim).to_string();
    if op.array {
        s.push_str(", array");
    }
    if op.multisampled {
        s.push_str(", multisampled");
    }
    let _ = write!(s, ", mask={}", mask(op.mask));
    s
}

/// An attribute in parentheses.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Attr {
    /// `implicit`, `zero`, `in3`, `fn2`...
    Word(String),
    /// `3`.
    Number(i64),
    /// `r3` or `r3[]`.
    Resource(ResourceRef),
    /// `align=4`.
    KeyNumber(String, i64),
    /// `mask=xy`.
    KeyWord(String, String),
    /// `offset=[1, 0, 0]`.
    KeyList(String, Vec<i64>),
}

/// What an operation with that name and attributes is. `kind` is the first result's; locals, arrays and literals
/// are the parser's business.
pub(super) fn parse(name: &str, attrs: Vec<Attr>, kind: Option<Kind>) -> Result<Op, ParseErrorKind> {
    let mut a = Attrs { name, attrs };
    let kind = || {
        kind.ok_or_else(|| ParseErrorKind::Attributes {
            op: name.into(),
            what: "has no result that says its kind".into(),
        })
    };
    let op = match name {
        "bitcast" => Op::Bitcast(kind()?),
        "convert" => Op::Convert(kind()?),
        "quad.broadcast" => Op::Quad(QuadOp::Broadcast(a.number("a lane")?)),
        "input" => Op::Input(Handle::from_index(a.numbered("in", "an input")?)),
        "buffer.load" => Op::BufferLoad {
            buffer: a.resource()?,
            kind: kind()?,
            access: a.access()?,
        },
        "buffer.store" => Op::BufferStore {
            buffer: a.resource()?,
            access: a.access()?,
        },
        "buffer.size" => Op::BufferSize(a.resource()?),
        "sample" => Op::Sample {
            texture: a.resource()?,
            sampler: a.resource()?,
            op: SampleOp {
                dim: a.one_of(&DIMS, "a shape")?,
                array: a.flag("array"),
                lod: a.one_of(&LODS, "a source of the level")?,
                compare: a.flag("compare"),
                gather: a.key_number("gather")?,
                offset: a.offset()?,
                mask: a.mask()?,
            },
        },
        "texel.load" => Op::TexelLoad {
            texture: a.resource()?,
            op: a.texel()?,
            kind: kind()?,
        },
        "texel.store" => Op::TexelStore {
            texture: a.resource()?,
            op: a.texel()?,
        },
        "call" => Op::Call(Handle::from_index(a.numbered("fn", "a function")?)),
        "discard" => Op::Discard,
        "is_helper" => Op::IsHelper,
        "set_helper" => Op::SetHelper,
        "barrier" => Op::Barrier,
        "draw.load" => Op::DrawLoad {
            word: a.number("a word")?,
            kind: kind()?,
        },
        "prim.load" => Op::PrimLoad {
            offset: a.number("an offset")?,
            kind: kind()?,
        },
        "prim.vertex_load" => Op::PrimVertexLoad {
            vertex: a.number("a vertex")?,
            offset: a.number("an offset")?,
            kind: kind()?,
        },
        "pixel_x" => Op::PixelX,
        "pixel_y" => Op::PixelY,
        "coverage" => Op::Coverage {
            sample: a.number("a sample")?,
        },
        "tile.load" => Op::TileLoad {
            plane: a.number("a plane")?,
            kind: kind()?,
        },
        "tile.store" => Op::TileStore {
            plane: a.number("a plane")?,
        },
        "cell.load" => Op::CellLoad {
            slot: a.number("a slot")?,
            kind: kind()?,
        },
        "cell.store" => Op::CellStore {
            slot: a.number("a slot")?,
        },
        "count_invocations" => Op::CountInvocations,
        "count_samples" => Op::CountSamples,
        "note" => Op::Note(a.number("what it shows")?),
        _ => {
            if let Some(alu) = Alu::from_name(name) {
                Op::Alu(alu)
            } else if let Some(quad) = item_of(&QUADS, name) {
                Op::Quad(quad)
            } else if let Some(at) = item_of(&POINTS, name) {
                Op::InputAt {
                    input: Handle::from_index(a.numbered("in", "an input")?),
                    at,
                }
            } else if let Some(op) = item_of(&ATOMICS, name) {
                Op::BufferAtomic {
                    buffer: a.resource()?,
                    op,
                    access: a.access()?,
                }
            } else if let Some(query) = item_of(&QUERIES, name) {
                Op::TextureQuery {
                    texture: a.resource()?,
                    query,
                }
            } else {
                return Err(ParseErrorKind::Unknown {
                    class: "operation",
                    name: name.into(),
                });
            }
        }
    };
    match a.attrs.first() {
        None => Ok(op),
        Some(extra) => Err(a.error(format!("doesn't take the attribute {extra:?}"))),
    }
}

/// Attributes not yet taken.
struct Attrs<'a> {
    name: &'a str,
    attrs: Vec<Attr>,
}

impl Attrs<'_> {
    fn error(&self, what: String) -> ParseErrorKind {
        ParseErrorKind::Attributes {
            op: self.name.into(),
            what,
        }
    }

    fn take<T>(&mut self, what: &str, pick: impl Fn(&Attr) -> Option<T>) -> Result<T, ParseErrorKind> {
        match self.take_opt(pick) {
            Some(item) => Ok(item),
            None => Err(self.error(format!("needs {what} as an attribute"))),
        }
    }

    fn take_opt<T>(&mut self, pick: impl Fn(&Attr) -> Option<T>) -> Option<T> {
        let (at, item) = self.attrs.iter().enumerate().find_map(|(i, a)| Some((i, pick(a)?)))?;
        self.attrs.remove(at);
        Some(item)
    }

    fn resource(&mut self) -> Result<ResourceRef, ParseErrorKind> {
        self.take("a resource", |a| match a {
            Attr::Resource(r) => Some(*r),
            _ => None,
        })
    }

    fn number<T: TryFrom<i64>>(&mut self, what: &str) -> Result<T, ParseErrorKind> {
        self.take(what, |a| match a {
            Attr::Number(n) => T::try_from(*n).ok(),
            _ => None,
        })
    }

    fn numbered(&mut self, prefix: &str, what: &str) -> Result<usize, ParseErrorKind> {
        self.take(what, |a| match a {
            Attr::Word(w) => numbered(w, prefix),
            _ => None,
        })
    }

    fn one_of<T: Copy>(&mut self, table: &[(&'static str, T)], what: &str) -> Result<T, ParseErrorKind> {
        self.take(what, |a| match a {
            Attr::Word(w) => item_of(table, w),
            _ => None,
        })
    }

    fn flag(&mut self, name: &str) -> bool {
        self.take_opt(|a| matches!(a, Attr::Word(w) if w == name).then_some(()))
            .is_some()
    }

    fn key_number<T: TryFrom<i64>>(&mut self, key: &str) -> Result<Option<T>, ParseErrorKind> {
        let found = self.take_opt(|a| match a {
            Attr::KeyNumber(k, n) if k == key => Some(*n),
            _ => None,
        });
        match found {
            None => Ok(None),
            Some(n) => match T::try_from(n) {
                Ok(n) => Ok(Some(n)),
                Err(_) => Err(self.error(format!("{key}={n} is out of range"))),
            },
        }
    }

    fn access(&mut self) -> Result<Access, ParseErrorKind> {
        let bounds = self.one_of(
            &[("zero", OutOfBounds::Zero), ("proved", OutOfBounds::Proved)],
            "zero or proved",
        )?;
        match self.key_number("align")? {
            Some(align) => Ok(Access { bounds, align }),
            None => Err(self.error("needs align=".into())),
        }
    }

    fn mask(&mut self) -> Result<u8, ParseErrorKind> {
        if let Some(n) = self.key_number("mask")? {
            return Ok(n);
        }
        self.take("mask=", |a| match a {
            Attr::KeyWord(k, w) if k == "mask" && w == "none" => Some(0),
            Attr::KeyWord(k, w) if k == "mask" => {
                w.chars().try_fold(0u8, |m, c| "xyzw".find(c).map(|bit| m | 1 << bit))
            }
            _ => None,
        })
    }

    fn offset(&mut self) -> Result<[i8; 3], ParseErrorKind> {
        let list = self.take_opt(|a| match a {
            Attr::KeyList(k, list) if k == "offset" => Some(list.clone()),
            _ => None,
        });
        let Some(list) = list else { return Ok([0; 3]) };
        let list: Option<Vec<i8>> = list.iter().map(|&n| i8::try_from(n).ok()).collect();
        list.and_then(|l| l.try_into().ok())
            .ok_or_else(|| self.error("offset= takes three numbers of 8 bits".into()))
    }

    fn texel(&mut self) -> Result<TexelOp, ParseErrorKind> {
        Ok(TexelOp {
            dim: self.one_of(&DIMS, "a shape")?,
            array: self.flag("array"),
            multisampled: self.flag("multisampled"),
            mask: self.mask()?,
        })
    }
}

/// The number of `word` if it is `prefix` and a number.
pub(super) fn numbered(word: &str, prefix: &str) -> Option<usize> {
    let n = word.strip_prefix(prefix)?.parse::<u32>().ok()?;
    (n < u32::MAX).then_some(n as usize)
}
