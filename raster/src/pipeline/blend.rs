//! Blending, logic operations and write masks as IR (R-OM-30..42, R-OM-50, R-OM-61).
//!
//! A target's value is four f32 components; planes hold it as [`crate::format::PlaneKind`] says. What a state doesn't
//! use isn't there: no read of the target without blending, logic operation or a mask that splits a word.

use super::codec;
use super::emit::Emit;
use super::state::{BlendComponent, BlendFactor, BlendOperation, BlendState, ColorTargetState, LogicOperation, Rules};
use crate::format::{FormatInfo, Kind as FormatKind, PlaneKind};
use crate::layout::draw;
use quadrille_frontend::ir::{Alu, Kind, Value};

/// Writes one sample of a colour target: `src` as the shader gave it (f32, or i32/u32 for integer formats).
#[derive(Clone, Copy)]
pub(super) struct Target<'a> {
    pub state: &'a ColorTargetState,
    pub rules: Rules,
    pub logic_op: Option<LogicOperation>,
    /// First plane of the sample.
    pub plane: u32,
}

/// A colour ready to be stored, shared by the samples of a pixel where nothing depends on the sample.
#[derive(Clone)]
pub(super) enum Prepared {
    /// The plane words; the same for all samples. With a logic operation, its source.
    Words(Vec<Value>),
    /// The clamped source, to be blended sample by sample.
    Blend {
        src: [Value; 4],
        second: Option<[Value; 4]>,
    },
}

impl Target<'_> {
    fn info(&self) -> &'static FormatInfo {
        self.state.format.info()
    }

    /// Clamps the source to the target's range (R-OM-32) and, without blending, packs it.
    pub fn prepare(&self, e: &mut Emit, src: [Value; 4], second: Option<[Value; 4]>) -> Prepared {
        match self.state.blend {
            None => Prepared::Words(self.pack(e, src)),
            Some(_) => Prepared::Blend {
                src: src.map(|v| codec::clamp(e, self.info(), v)),
                second: second.map(|s| s.map(|v| codec::clamp(e, self.info(), v))),
            },
        }
    }

    /// Stores one sample in the lanes of `mask`.
    pub fn store(&self, e: &mut Emit, prepared: &Prepared, mask: Value) {
        if self.info().present() & self.state.write_mask == 0 || self.logic_op == Some(LogicOperation::Noop) {
            return;
        }
        let words = match prepared {
            Prepared::Words(words) => words.clone(),
            Prepared::Blend { src, second } => {
                let blend = self.state.blend.unwrap_or_default();
                let dst = self.load(e);
                let color = self.blend(e, &blend, *src, *second, dst);
                self.pack(e, color)
            }
        };
        match self.state.format.plane_kind() {
            PlaneKind::Packed { .. } => {
                let keep = self.kept_bits();
                let mut word = self.combine(e, words[0], self.plane, self.used_bits());
                if keep != 0 {
                    let old = e.tile_load(self.plane, Kind::U32);
                    let old = e.and_const(old, keep);
                    let new = e.and_const(word, !keep);
                    word = e.or(old, new);
                }
                e.tile_store(self.plane, word, mask);
            }
            _ => {
                for (c, &word) in words.iter().enumerate() {
                    if self.state.write_mask >> c & 1 != 0 {
                        let plane = self.plane + c as u32;
                        let bits = ((1u64 << self.info().fields[c].bits) - 1) as u32;
                        let word = self.combine(e, word, plane, bits);
                        e.tile_store(plane, word, mask);
                    }
                }
            }
        }
    }

    /// Bits of the packed word that the write mask protects.
    fn kept_bits(&self) -> u32 {
        let info = self.info();
        let mut keep = 0;
        for (c, field) in info.fields.iter().enumerate().filter(|(_, f)| f.bits != 0) {
            if self.state.write_mask >> c & 1 == 0 {
                keep |= (((1u64 << field.bits) - 1) as u32) << field.shift;
            }
        }
        keep
    }

    /// All bits that components occupy.
    fn used_bits(&self) -> u32 {
        let fields = self.info().fields.iter();
        fields.fold(0, |bits, f| bits | (((1u64 << f.bits) - 1) as u32) << f.shift)
    }

    /// The logic operation, if any, on a plane's word of which `bits` count.
    fn combine(&self, e: &mut Emit, s: Value, plane: u32, bits: u32) -> Value {
        use LogicOperation::*;
        let Some(op) = self.logic_op else { return s };
        let invert = |e: &mut Emit, v: Value| {
            let all = e.u32(bits);
            e.alu(Alu::Xor, &[v, all])
        };
        match op {
            Clear => return e.u32(0),
            Set => return e.u32(bits),
            Copy => return s,
            CopyInverted => return invert(e, s),
            _ => {}
        }
        let d = e.tile_load(plane, Kind::U32);
        match op {
            Clear | Set | Copy | CopyInverted => s,
            Noop => d,
            Invert => invert(e, d),
            And => e.and(s, d),
            Or => e.or(s, d),
            Xor => e.alu(Alu::Xor, &[s, d]),
            Nand => {
                let v = e.and(s, d);
                invert(e, v)
            }
            Nor => {
                let v = e.or(s, d);
                invert(e, v)
            }
            Equivalent => {
                let v = e.alu(Alu::Xor, &[s, d]);
                invert(e, v)
            }
            AndReverse => {
                let d = invert(e, d);
                e.and(s, d)
            }
            AndInverted => {
                let s = invert(e, s);
                e.and(s, d)
            }
            OrReverse => {
                let d = invert(e, d);
                e.or(s, d)
            }
            OrInverted => {
                let s = invert(e, s);
                e.or(s, d)
            }
        }
    }

    /// The stored colour as a note shows it: integers as they are.
    pub fn shown(&self, e: &mut Emit) -> [Value; 4] {
        let info = self.info();
        if !matches!(info.kind, FormatKind::Uint | FormatKind::Sint) {
            return self.load(e);
        }
        let zero = e.u32(0);
        let packed = match self.state.format.plane_kind() {
            PlaneKind::Packed { .. } => Some(e.tile_load(self.plane, Kind::U32)),
            _ => None,
        };
        std::array::from_fn(|c| {
            let field = info.fields[c];
            if field.bits == 0 {
                return zero;
            }
            let (word, end) = match packed {
                Some(word) => (word, u32::from(field.shift + field.bits)),
                None => (e.tile_load(self.plane + c as u32, Kind::U32), field.bits.into()),
            };
            let (left, right) = (e.u32(32 - end), e.u32(32 - u32::from(field.bits)));
            let top = e.alu(Alu::Shl, &[word, left]);
            if info.kind == FormatKind::Sint {
                let top = e.b.bitcast(top, Kind::I32);
                e.alu(Alu::ShrS, &[top, right])
            } else {
                e.alu(Alu::ShrU, &[top, right])
            }
        })
    }

    /// The stored colour of this sample; missing components read 0, alpha 1 (R-OM-36).
    fn load(&self, e: &mut Emit) -> [Value; 4] {
        let info = self.info();
        let mut out = [e.f32(0.0), e.f32(0.0), e.f32(0.0), e.f32(1.0)];
        let packed = match self.state.format.plane_kind() {
            PlaneKind::Packed { .. } => Some(e.tile_load(self.plane, Kind::U32)),
            _ => None,
        };
        for (c, value) in out.iter_mut().enumerate() {
            let field = info.fields[c];
            if field.bits == 0 {
                continue;
            }
            *value = match packed {
                Some(word) => {
                    let code = e.shr(word, field.shift.into());
                    let max = ((1u64 << field.bits) - 1) as u32;
                    let code = if u32::from(field.shift + field.bits) == 32 {
                        code
                    } else {
                        e.and_const(code, max)
                    };
                    codec::decode(e, info, c, code)
                }
                None => {
                    let kind = if info.kind == FormatKind::Float {
                        Kind::F32
                    } else {
                        Kind::U32
                    };
                    let word = e.tile_load(self.plane + c as u32, kind);
                    if kind == Kind::F32 {
                        word
                    } else {
                        codec::decode(e, info, c, word)
                    }
                }
            };
        }
        out
    }

    fn blend(
        &self,
        e: &mut Emit,
        state: &BlendState,
        src: [Value; 4],
        second: Option<[Value; 4]>,
        dst: [Value; 4],
    ) -> [Value; 4] {
        let second = second.unwrap_or(src);
        let mut out = src;
        for (c, value) in out.iter_mut().enumerate() {
            if self.info().present() & self.state.write_mask & 1 << c == 0 {
                continue;
            }
            let component = if c == 3 { &state.alpha } else { &state.color };
            *value = self.blend_component(e, component, c, src, second, dst);
        }
        out
    }

    fn blend_component(
        &self,
        e: &mut Emit,
        state: &BlendComponent,
        c: usize,
        src: [Value; 4],
        second: [Value; 4],
        dst: [Value; 4],
    ) -> Value {
        let (s, d) = (src[c], dst[c]);
        match state.operation {
            BlendOperation::Min => return e.alu(Alu::FMin, &[s, d]),
            BlendOperation::Max => return e.alu(Alu::FMax, &[s, d]),
            _ => {}
        }
        let a = self.factored(e, state.src_factor, s, c, src, second, dst);
        let b = self.factored(e, state.dst_factor, d, c, src, second, dst);
        match (state.operation, a, b) {
            (BlendOperation::Add, Some(a), Some(b)) => e.fadd(a, b),
            (BlendOperation::Add, Some(v), None) | (BlendOperation::Subtract, Some(v), None) => v,
            (BlendOperation::Add, None, Some(v)) | (BlendOperation::ReverseSubtract, None, Some(v)) => v,
            (BlendOperation::ReverseSubtract, Some(a), Some(b)) => e.fsub(b, a),
            (_, Some(a), Some(b)) => e.fsub(a, b),
            (_, Some(v), None) | (_, None, Some(v)) => e.alu(Alu::FNeg, &[v]),
            (_, None, None) => e.f32(0.0),
        }
    }

    /// `value * factor`; `None` is a plain zero. On float targets a zero factor still multiplies, since NaN and
    /// infinities must propagate (R-OM-34).
    #[expect(clippy::too_many_arguments, reason = "the operands of one blend equation")]
    fn factored(
        &self,
        e: &mut Emit,
        factor: BlendFactor,
        value: Value,
        c: usize,
        src: [Value; 4],
        second: [Value; 4],
        dst: [Value; 4],
    ) -> Option<Value> {
        let complement = |e: &mut Emit, v: Value| {
            let one = e.f32(1.0);
            e.fsub(one, v)
        };
        let constant = |e: &mut Emit| {
            let v = e.draw(draw::BLEND_CONSTANT + c as u32, Kind::F32);
            codec::clamp(e, self.info(), v)
        };
        let f = match factor {
            BlendFactor::One => return Some(value),
            BlendFactor::Zero if self.info().kind != FormatKind::Float => return None,
            BlendFactor::Zero => e.f32(0.0),
            BlendFactor::Src => src[c],
            BlendFactor::OneMinusSrc => complement(e, src[c]),
            BlendFactor::SrcAlpha => src[3],
            BlendFactor::OneMinusSrcAlpha => complement(e, src[3]),
            BlendFactor::Dst => dst[c],
            BlendFactor::OneMinusDst => complement(e, dst[c]),
            BlendFactor::DstAlpha => dst[3],
            BlendFactor::OneMinusDstAlpha => complement(e, dst[3]),
            BlendFactor::SrcAlphaSaturated if c == 3 => return Some(value),
            BlendFactor::SrcAlphaSaturated => {
                let rest = complement(e, dst[3]);
                e.alu(Alu::FMin, &[src[3], rest])
            }
            BlendFactor::Constant => constant(e),
            BlendFactor::OneMinusConstant => {
                let v = constant(e);
                complement(e, v)
            }
            BlendFactor::Src1 => second[c],
            BlendFactor::OneMinusSrc1 => complement(e, second[c]),
            BlendFactor::Src1Alpha => second[3],
            BlendFactor::OneMinusSrc1Alpha => complement(e, second[3]),
        };
        Some(e.fmul(value, f))
    }

    /// A component as its code, or the source of the logic operation.
    fn code(&self, e: &mut Emit, c: usize, value: Value) -> Value {
        match self.logic_op {
            None => codec::encode(e, self.info(), c, value),
            Some(_) => codec::truncate(e, self.info(), c, value),
        }
    }

    /// Plane words of a colour (R-SAMP-102..107).
    fn pack(&self, e: &mut Emit, color: [Value; 4]) -> Vec<Value> {
        let info = self.info();
        let components = usize::from(info.components);
        match self.state.format.plane_kind() {
            PlaneKind::Packed { .. } => {
                let mut word = None;
                for (c, &value) in color.iter().enumerate() {
                    if info.present() & self.state.write_mask & 1 << c == 0 {
                        continue;
                    }
                    let code = self.code(e, c, value);
                    let code = e.shl(code, info.fields[c].shift.into());
                    word = Some(match word {
                        None => code,
                        Some(word) => e.or(word, code),
                    });
                }
                vec![word.unwrap_or_else(|| e.u32(0))]
            }
            PlaneKind::Half { .. } => color[..components]
                .iter()
                .map(|&v| codec::to_half(e, self.rules, v))
                .collect(),
            PlaneKind::Short { .. } => (0..components).map(|c| self.code(e, c, color[c])).collect(),
            PlaneKind::Word { .. } => color[..components].to_vec(),
        }
    }
}
