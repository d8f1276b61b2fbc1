//! Blending and format packing as IR (R-OM-30..42, R-SAMP-100..107).
//!
//! A target's value is four f32 components; planes hold it as [`crate::format::PlaneKind`] says.

use super::emit::Emit;
use super::state::{BlendComponent, BlendFactor, BlendOperation, BlendState, ColorTargetState};
use crate::format::{FormatInfo, Kind as FormatKind, PlaneKind, TextureFormat};
use crate::layout::draw;
use quadrille_frontend::ir::{Alu, Kind, Value};

/// Writes one sample of a colour target: `src` as the shader gave it (f32, or i32/u32 for integer formats).
pub(super) struct Target<'a> {
    pub state: &'a ColorTargetState,
    /// First plane of the sample.
    pub plane: u32,
}

/// A colour ready to be stored, shared by the samples of a pixel where nothing depends on the sample.
#[derive(Clone)]
pub(super) enum Prepared {
    /// The plane words; the same for all samples.
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
                src: src.map(|v| self.clamp(e, v)),
                second: second.map(|s| s.map(|v| self.clamp(e, v))),
            },
        }
    }

    /// Stores one sample in the lanes of `mask`.
    pub fn store(&self, e: &mut Emit, prepared: &Prepared, mask: Value) {
        if self.state.write_mask & 15 == 0 {
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
                let mut word = words[0];
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
                        e.tile_store(self.plane + c as u32, word, mask);
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

    fn clamp(&self, e: &mut Emit, v: Value) -> Value {
        match self.info().kind {
            FormatKind::Unorm => e.alu(Alu::FSaturate, &[v]),
            FormatKind::Snorm => clamp_to(e, v, -1.0, 1.0),
            _ => v,
        }
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
                    decode(e, info, c, code)
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
                        decode(e, info, c, word)
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
            self.clamp(e, v)
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
                    let field = info.fields[c];
                    let code = encode(e, info, c, value);
                    let code = e.shl(code, field.shift.into());
                    word = Some(match word {
                        None => code,
                        Some(word) => e.or(word, code),
                    });
                }
                vec![word.unwrap_or_else(|| e.u32(0))]
            }
            PlaneKind::Half { .. } => color[..components]
                .iter()
                .map(|&v| e.alu(Alu::QuantizeF16, &[v]))
                .collect(),
            PlaneKind::Short { .. } => (0..components).map(|c| encode(e, info, c, color[c])).collect(),
            PlaneKind::Word { .. } => color[..components].to_vec(),
        }
    }
}

/// Whether the assembler can write (and blend into) a format.
pub(super) fn supports(format: TextureFormat) -> bool {
    let info = format.info();
    let small_float = info.kind == FormatKind::Float && info.fields.iter().any(|f| f.bits != 0 && f.bits < 16);
    let color = !info.depth && !info.stencil;
    info.renderable && color && !small_float
}

fn clamp_to(e: &mut Emit, v: Value, min: f32, max: f32) -> Value {
    let (min, max) = (e.f32(min), e.f32(max));
    let v = e.alu(Alu::FMax, &[v, min]);
    e.alu(Alu::FMin, &[v, max])
}

/// Component `c` of a colour as its integer code, not shifted.
fn encode(e: &mut Emit, info: &FormatInfo, c: usize, value: Value) -> Value {
    let bits = u32::from(info.fields[c].bits);
    match info.kind {
        FormatKind::Unorm => {
            let mut v = e.alu(Alu::FSaturate, &[value]);
            if info.srgb && c < 3 {
                v = e.alu(Alu::SrgbEncode, &[v]);
            }
            if bits == 8 {
                e.alu(Alu::FToUnorm8, &[v])
            } else {
                e.unorm_code(v, ((1u32 << bits) - 1) as f32)
            }
        }
        FormatKind::Snorm => {
            let ordered = e.alu(Alu::FEq, &[value, value]);
            let zero = e.f32(0.0);
            let v = e.select(ordered, value, zero);
            let v = clamp_to(e, v, -1.0, 1.0);
            let magnitude = e.alu(Alu::FAbs, &[v]);
            let code = e.unorm_code(magnitude, ((1u32 << (bits - 1)) - 1) as f32);
            let negative = e.alu(Alu::FLt, &[v, zero]);
            let minus = e.alu(Alu::INeg, &[code]);
            let code = e.select(negative, minus, code);
            e.and_const(code, ((1u64 << bits) - 1) as u32)
        }
        FormatKind::Uint => {
            let v = e.b.bitcast(value, Kind::U32);
            if bits == 32 {
                return v;
            }
            let max = e.u32((1 << bits) - 1);
            e.alu(Alu::UMin, &[v, max])
        }
        FormatKind::Sint => {
            let v = e.b.bitcast(value, Kind::I32);
            if bits == 32 {
                return e.b.bitcast(v, Kind::U32);
            }
            let (min, max) = (e.b.i32(-(1 << (bits - 1))), e.b.i32((1 << (bits - 1)) - 1));
            let v = e.alu(Alu::SMax, &[v, min]);
            let v = e.alu(Alu::SMin, &[v, max]);
            let v = e.b.bitcast(v, Kind::U32);
            e.and_const(v, ((1u64 << bits) - 1) as u32)
        }
        FormatKind::Float => e.b.bitcast(value, Kind::U32),
    }
}

/// The f32 of a stored code.
fn decode(e: &mut Emit, info: &FormatInfo, c: usize, code: Value) -> Value {
    let bits = u32::from(info.fields[c].bits);
    match info.kind {
        FormatKind::Unorm => {
            let v = if bits == 8 {
                e.alu(Alu::Unorm8ToF, &[code])
            } else {
                let f = e.alu(Alu::UToF, &[code]);
                let max = e.f32(((1u32 << bits) - 1) as f32);
                e.alu(Alu::FDiv, &[f, max])
            };
            if info.srgb && c < 3 {
                e.alu(Alu::SrgbDecode, &[v])
            } else {
                v
            }
        }
        FormatKind::Snorm => {
            let up = e.shl(code, 32 - bits);
            let up = e.b.bitcast(up, Kind::I32);
            let count = e.u32(32 - bits);
            let signed = e.alu(Alu::ShrS, &[up, count]);
            let f = e.alu(Alu::SToF, &[signed]);
            let max = e.f32(((1u32 << (bits - 1)) - 1) as f32);
            let v = e.alu(Alu::FDiv, &[f, max]);
            let low = e.f32(-1.0);
            e.alu(Alu::FMax, &[v, low])
        }
        _ => e.b.bitcast(code, Kind::F32),
    }
}
