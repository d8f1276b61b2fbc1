//! Probes: what must be in textures and buffers when a frame is done.
//!
//! A NaN that is expected as `"nan"` is any NaN, and 0 equals -0: who means certain bits writes them, as `bits` or `"0x..."`.

use super::error::JobError;
use super::model::{Float, Int, Probe, Value, from_hex};
use super::prepare::{Prepared, aspect};
use super::texels::Texels;
use crate::TextureSurface;

/// How far off a value may be.
#[derive(Clone, Copy)]
struct Tolerance {
    ulp: u32,
    abs: f64,
}

impl Tolerance {
    fn float(self, wanted: Float, got: f32) -> bool {
        if let Float::Bits(bits) = wanted
            && self.ulp == 0
            && self.abs == 0.0
        {
            return u64::from(got.to_bits()) == bits;
        }
        let wanted = wanted.to_f32();
        if wanted.is_nan() || got.is_nan() {
            return wanted.is_nan() && got.is_nan();
        }
        // NaN where both are the same infinity, which is equal.
        let near = (f64::from(got) - f64::from(wanted)).abs() <= self.abs;
        got == wanted || near || ulps(got, wanted) <= self.ulp
    }

    fn int(self, wanted: i128, got: i128) -> bool {
        let difference = wanted.abs_diff(got);
        difference <= u128::from(self.ulp) || difference as f64 <= self.abs
    }
}

/// Number of floats between two.
fn ulps(a: f32, b: f32) -> u32 {
    let ordered = |x: f32| {
        let bits = i64::from(x.to_bits() & 0x7fff_ffff);
        if x.is_sign_negative() { -bits } else { bits }
    };
    (ordered(a) - ordered(b)).unsigned_abs().try_into().unwrap_or(u32::MAX)
}

/// Expected values of a texel.
enum Wanted<'p> {
    Float(&'p [Float]),
    Int(&'p [Int]),
    Bits(&'p [Int]),
}

impl<'p> Wanted<'p> {
    fn of(float: &'p Option<Vec<Float>>, int: &'p Option<Vec<Int>>, bits: &'p Option<Vec<Int>>) -> Option<Wanted<'p>> {
        match (float, int, bits) {
            (Some(v), None, None) => Some(Wanted::Float(v)),
            (None, Some(v), None) => Some(Wanted::Int(v)),
            (None, None, Some(v)) => Some(Wanted::Bits(v)),
            _ => None,
        }
    }

    fn len(&self) -> usize {
        match self {
            Wanted::Float(v) => v.len(),
            Wanted::Int(v) | Wanted::Bits(v) => v.len(),
        }
    }

    /// Values of one texel: all of them, or its part of a list that goes over the rectangle.
    fn part(&self, per_texel: usize, texel: usize) -> Wanted<'p> {
        let range = texel * per_texel..(texel + 1) * per_texel;
        match self {
            Wanted::Float(v) => Wanted::Float(v.get(range).unwrap_or_default()),
            Wanted::Int(v) => Wanted::Int(v.get(range).unwrap_or_default()),
            Wanted::Bits(v) => Wanted::Bits(v.get(range).unwrap_or_default()),
        }
    }

    /// What is wrong with a texel.
    fn mistake(&self, texels: &Texels, x: u32, y: u32, t: Tolerance) -> Option<String> {
        let message = |c: usize, wanted: String, got: String| {
            let component = ['r', 'g', 'b', 'a'].get(c).copied().unwrap_or('?');
            format!("({x}, {y}), component {component}: expected {wanted}, got {got}")
        };
        match self {
            Wanted::Float(values) => values
                .iter()
                .zip(texels.floats(x, y))
                .enumerate()
                .find_map(|(c, (w, got))| {
                    let bits = got.to_bits();
                    (!t.float(*w, got)).then(|| message(c, float_text(*w), format!("{got:?} ({bits:#010x})")))
                }),
            Wanted::Int(values) => values
                .iter()
                .zip(texels.integers(x, y))
                .enumerate()
                .find_map(|(c, (w, got))| {
                    (!t.int(w.0, got.into())).then(|| message(c, w.0.to_string(), got.to_string()))
                }),
            Wanted::Bits(values) => values
                .iter()
                .zip(texels.codes(x, y))
                .enumerate()
                .find_map(|(c, (w, got))| {
                    (!t.int(w.0, got.into())).then(|| message(c, format!("{:#x}", w.0), format!("{got:#x}")))
                }),
        }
    }
}

fn float_text(f: Float) -> String {
    match f {
        Float::Value(v) => format!("{:?}", v as f32),
        Float::Bits(b) => format!("{b:#010x}"),
    }
}

impl Prepared<'_> {
    /// Checks every probe against what the last frame left; the error tells the first value that is wrong.
    pub fn check(&self) -> Result<(), JobError> {
        for (i, probe) in self.loaded.job.expect.iter().enumerate() {
            self.probe(probe, &format!("expect[{i}]"))?;
        }
        Ok(())
    }

    fn probe(&self, p: &Probe, at: &str) -> Result<(), JobError> {
        let tolerance = Tolerance {
            ulp: p.ulp.unwrap_or(0),
            abs: p.abs.unwrap_or(0.0),
        };
        let mistake = match (&p.texture, &p.buffer) {
            (Some(texture), None) => self.probe_texture(texture, p, tolerance, at)?,
            (None, Some(buffer)) => self.probe_buffer(buffer, p, tolerance, at)?,
            _ => return Err(self.loaded.invalid(at, "a probe looks at a `texture` or a `buffer`")),
        };
        match mistake {
            None => Ok(()),
            Some(what) => Err(JobError::Unexpected {
                job: self.loaded.path.clone(),
                at: at.to_owned(),
                what: if p.about.is_empty() {
                    what
                } else {
                    format!("{what} ({})", p.about)
                },
            }),
        }
    }

    fn probe_texture(&self, name: &str, p: &Probe, t: Tolerance, at: &str) -> Result<Option<String>, JobError> {
        let surface = TextureSurface {
            aspect: aspect(p.aspect),
            level: p.mip_level,
            layer: p.layer,
            sample: p.sample,
        };
        let texels = self.texels(name, &surface, at)?;
        let invalid = |reason: String| self.loaded.invalid(at, reason);
        let wanted = Wanted::of(&p.float, &p.int, &p.bits);
        let [x0, y0, w, h] = match (p.at, p.rect, &p.rows) {
            (Some(_), Some(_), _) => return Err(invalid("`at` and `rect` are alternatives".into())),
            (Some([x, y]), None, None) => [x, y, 1, 1],
            (None, Some(rect), _) => rect,
            (None, None, None) => [0, 0, texels.width, texels.height],
            (from, None, Some(rows)) => {
                let [x, y] = from.unwrap_or([0, 0]);
                let longest = rows.iter().map(|r| r.chars().count()).max().unwrap_or(0);
                [x, y, longest as u32, rows.len() as u32]
            }
        };
        let inside = |from: u32, n: u32, size: u32| from.checked_add(n).is_some_and(|end| end <= size);
        if !inside(x0, w, texels.width) || !inside(y0, h, texels.height) || w == 0 || h == 0 {
            let reason = format!(
                "the rectangle {x0}, {y0}, {w} x {h} is not in the {} x {} texels of `{name}`",
                texels.width, texels.height
            );
            return Err(invalid(reason));
        }
        let place = |mistake: String| Some(format!("texture `{name}`{} at {mistake}", surface_text(&surface)));
        if let Some(rows) = &p.rows {
            if wanted.is_some() {
                return Err(invalid("`rows` take their values from `legend`".into()));
            }
            for (y, row) in (y0..).zip(rows) {
                for (x, c) in (x0..).zip(row.chars()) {
                    let Some(value) = p.legend.get(&c) else {
                        if c == '?' {
                            continue;
                        }
                        return Err(invalid(format!("`{c}` of `rows` is not in `legend`")));
                    };
                    let Value { float, int, bits } = value;
                    let wanted = Wanted::of(float, int, bits)
                        .ok_or_else(|| invalid(format!("legend `{c}` has exactly one of `float`, `int` and `bits`")))?;
                    if let Some(mistake) = wanted.mistake(&texels, x, y, t) {
                        return Ok(place(mistake));
                    }
                }
            }
            return Ok(None);
        }
        let wanted = wanted.ok_or_else(|| {
            invalid("a probe of a texture has exactly one of `float`, `int`, `bits` and `rows`".into())
        })?;
        let count = w as usize * h as usize;
        let (per_texel, same) = match wanted.len() {
            n @ 1..=4 => (n, true),
            n if n.is_multiple_of(count) && (1..=4).contains(&(n / count)) => (n / count, false),
            n => {
                let reason = format!("{n} values; 1 to 4 for all texels, or as many for each of the {count} texels");
                return Err(invalid(reason));
            }
        };
        for (i, (y, x)) in (y0..y0 + h).flat_map(|y| (x0..x0 + w).map(move |x| (y, x))).enumerate() {
            let one = wanted.part(per_texel, if same { 0 } else { i });
            if let Some(mistake) = one.mistake(&texels, x, y, t) {
                return Ok(place(mistake));
            }
        }
        Ok(None)
    }

    fn probe_buffer(&self, name: &str, p: &Probe, t: Tolerance, at: &str) -> Result<Option<String>, JobError> {
        let buffer = self.buffer(name, at)?;
        let invalid = |reason: String| self.loaded.invalid(at, reason);
        let hex = p.hex.as_ref().map(|h| from_hex(&h.0)).transpose().map_err(invalid)?;
        let given = [
            p.f32.is_some(),
            p.u32.is_some(),
            p.i32.is_some(),
            p.u64.is_some(),
            hex.is_some(),
        ];
        if given.into_iter().filter(|&g| g).count() != 1 {
            let reason = "a probe of a buffer has exactly one of `f32`, `u32`, `i32`, `u64` and `hex`";
            return Err(self.loaded.invalid(at, reason));
        }
        let len = |list: &Option<Vec<Int>>, size: u64| list.as_ref().map_or(0, |l| l.len() as u64 * size);
        let size = p.f32.as_ref().map_or(0, |l| l.len() as u64 * 4)
            + len(&p.u32, 4)
            + len(&p.i32, 4)
            + len(&p.u64, 8)
            + hex.as_ref().map_or(0, |h| h.len() as u64);
        let bytes = buffer
            .read_range(p.offset..p.offset.saturating_add(size))
            .map_err(|e| self.loaded.failed(at, e))?;
        let place = |i: usize, size: u64, wanted: String, got: String| {
            let offset = p.offset + i as u64 * size;
            Some(format!(
                "buffer `{name}` at byte {offset}: expected {wanted}, got {got}"
            ))
        };
        let (words, _) = bytes.as_chunks::<4>();
        let (longs, _) = bytes.as_chunks::<8>();
        for (i, (w, b)) in p.f32.iter().flatten().zip(words).enumerate() {
            let got = f32::from_le_bytes(*b);
            if !t.float(*w, got) {
                return Ok(place(
                    i,
                    4,
                    float_text(*w),
                    format!("{got:?} ({:#010x})", got.to_bits()),
                ));
            }
        }
        let words = |list: &Option<Vec<Int>>, read: &dyn Fn([u8; 4]) -> i128| {
            let list = list.iter().flatten().zip(words);
            list.map(|(w, b)| (w.0, read(*b)))
                .enumerate()
                .find(|(_, (w, got))| !t.int(*w, *got))
        };
        let wrong = words(&p.u32, &|b| u32::from_le_bytes(b).into())
            .or_else(|| words(&p.i32, &|b| i32::from_le_bytes(b).into()));
        if let Some((i, (w, got))) = wrong {
            return Ok(place(i, 4, w.to_string(), got.to_string()));
        }
        for (i, (w, b)) in p.u64.iter().flatten().zip(longs).enumerate() {
            let got = u64::from_le_bytes(*b);
            if !t.int(w.0, got.into()) {
                return Ok(place(i, 8, w.0.to_string(), got.to_string()));
            }
        }
        let different = hex.iter().flatten().zip(&bytes).enumerate().find(|(_, (a, b))| a != b);
        Ok(different.and_then(|(i, (w, got))| place(i, 1, format!("{w:02x}"), format!("{got:02x}"))))
    }
}

/// What isn't 0 of a surface.
fn surface_text(s: &TextureSurface) -> String {
    let mut text = String::new();
    for (name, value) in [("level", s.level), ("layer", s.layer), ("sample", s.sample)] {
        if value > 0 {
            text += &format!(", {name} {value}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ulps_count_across_zero() {
        assert_eq!(ulps(1.0, 1.0 + f32::EPSILON), 1);
        assert_eq!(ulps(0.0, -0.0), 0);
        assert_eq!(ulps(f32::from_bits(1), -f32::from_bits(1)), 2);
    }

    #[test]
    fn tolerances_are_alternatives() {
        let t = Tolerance { ulp: 1, abs: 0.25 };
        assert!(t.float(Float::Value(1.0), 1.25) && !t.float(Float::Value(1.0), 1.5));
        assert!(t.float(Float::Value(f64::NAN), f32::from_bits(0x7fc0_0001)));
        assert!(t.int(5, 6) && !t.int(5, 7));
        let exact = Tolerance { ulp: 0, abs: 0.0 };
        assert!(exact.float(Float::Value(0.0), -0.0) && !exact.float(Float::Bits(0), -0.0));
        assert!(exact.float(Float::Value(f64::INFINITY), f32::INFINITY) && !exact.float(Float::Value(1.0), f32::NAN));
    }
}
