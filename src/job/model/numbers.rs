//! Numbers and bytes in a job file: JSON has neither NaN, infinities nor hexadecimal, so strings say those.

use serde::Deserialize;
use serde::de::{self, Deserializer, MapAccess, SeqAccess, Visitor, value::MapAccessDeserializer};
use std::fmt;
use std::marker::PhantomData;

/// A float: a number, `"nan"`, `"inf"`, `"-inf"`, or its bits as in `"0x7fc00001"`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Float {
    /// Its value.
    Value(f64),
    /// Its bits.
    Bits(u64),
}

impl Float {
    /// As f32; a NaN is the canonical one.
    pub fn to_f32(self) -> f32 {
        match self {
            Float::Value(v) if v.is_nan() => f32::from_bits(0x7fc0_0000),
            Float::Value(v) => v as f32,
            Float::Bits(b) => f32::from_bits(b as u32),
        }
    }

    /// As half float, rounded to nearest even.
    pub fn to_f16_bits(self) -> u16 {
        match self {
            Float::Value(v) if v.is_nan() => 0x7e00,
            Float::Value(v) => half::f16::from_f64(v).to_bits(),
            Float::Bits(b) => b as u16,
        }
    }
}

/// An integer: a number, or hexadecimal as in `"0xff"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Int(pub i128);

/// Bits of a component: a number, or hexadecimal.
pub type Bits = Int;

fn hexadecimal(text: &str) -> Option<u64> {
    u64::from_str_radix(text.strip_prefix("0x")?, 16).ok()
}

impl<'de> Deserialize<'de> for Float {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct V;
        impl Visitor<'_> for V {
            type Value = Float;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number, \"nan\", \"inf\", \"-inf\" or bits such as \"0x7fc00000\"")
            }
            fn visit_f64<E>(self, v: f64) -> Result<Float, E> {
                Ok(Float::Value(v))
            }
            fn visit_i64<E>(self, v: i64) -> Result<Float, E> {
                Ok(Float::Value(v as f64))
            }
            fn visit_u64<E>(self, v: u64) -> Result<Float, E> {
                Ok(Float::Value(v as f64))
            }
            fn visit_str<E: de::Error>(self, v: &str) -> Result<Float, E> {
                match v {
                    "nan" => Ok(Float::Value(f64::NAN)),
                    "inf" => Ok(Float::Value(f64::INFINITY)),
                    "-inf" => Ok(Float::Value(f64::NEG_INFINITY)),
                    _ => hexadecimal(v)
                        .map(Float::Bits)
                        .ok_or_else(|| E::invalid_value(de::Unexpected::Str(v), &self)),
                }
            }
        }
        from.deserialize_any(V)
    }
}

impl<'de> Deserialize<'de> for Int {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct V;
        impl Visitor<'_> for V {
            type Value = Int;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an integer, or hexadecimal such as \"0xff\"")
            }
            fn visit_i64<E>(self, v: i64) -> Result<Int, E> {
                Ok(Int(v.into()))
            }
            fn visit_u64<E>(self, v: u64) -> Result<Int, E> {
                Ok(Int(v.into()))
            }
            fn visit_str<E: de::Error>(self, v: &str) -> Result<Int, E> {
                let value = hexadecimal(v).ok_or_else(|| E::invalid_value(de::Unexpected::Str(v), &self))?;
                Ok(Int(value.into()))
            }
        }
        from.deserialize_any(V)
    }
}

/// Text: a string, or a list of lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text(pub String);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct V;
        impl<'de> Visitor<'de> for V {
            type Value = Text;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text or a list of lines")
            }
            fn visit_str<E>(self, v: &str) -> Result<Text, E> {
                Ok(Text(v.to_owned()))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut lines: A) -> Result<Text, A::Error> {
                let mut text = String::new();
                while let Some(line) = lines.next_element::<String>()? {
                    text += &line;
                    text.push('\n');
                }
                Ok(Text(text))
            }
        }
        from.deserialize_any(V)
    }
}

/// What a plain string may stand for: an object with nothing but a name.
#[derive(Clone, Debug)]
pub struct OrName<T>(pub T);

impl<'de, T: Deserialize<'de> + From<String>> Deserialize<'de> for OrName<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct V<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de> + From<String>> Visitor<'de> for V<T> {
            type Value = OrName<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a name or an object")
            }
            fn visit_str<E>(self, v: &str) -> Result<OrName<T>, E> {
                Ok(OrName(T::from(v.to_owned())))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<OrName<T>, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map)).map(OrName)
            }
        }
        from.deserialize_any(V(PhantomData))
    }
}

/// A thing, or a list of them.
#[derive(Clone, Debug)]
pub struct OneOrMany<T>(pub Vec<T>);

impl<T> Default for OneOrMany<T> {
    fn default() -> Self {
        OneOrMany(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for OneOrMany<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct V<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for V<T> {
            type Value = OneOrMany<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object or a list of objects")
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map)).map(|one| OneOrMany(vec![one]))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
                let mut all = Vec::new();
                while let Some(one) = list.next_element()? {
                    all.push(one);
                }
                Ok(OneOrMany(all))
            }
        }
        from.deserialize_any(V(PhantomData))
    }
}

/// Bytes: exactly one of these, little endian. `repeat` has them several times over.
#[derive(Deserialize, Clone, Debug, Default)]
#[serde(deny_unknown_fields, default)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Data {
    pub file: Option<String>,
    pub hex: Option<Text>,
    pub f32: Option<Vec<Float>>,
    pub f16: Option<Vec<Float>>,
    pub u8: Option<Vec<Int>>,
    pub u16: Option<Vec<Int>>,
    pub u32: Option<Vec<Int>>,
    pub i8: Option<Vec<Int>>,
    pub i16: Option<Vec<Int>>,
    pub i32: Option<Vec<Int>>,
    pub repeat: Option<u32>,
}

impl Data {
    /// The inline bytes, if this isn't a file.
    pub fn inline(&self) -> Result<Option<Vec<u8>>, String> {
        let given = [
            self.file.is_some(),
            self.hex.is_some(),
            self.f32.is_some(),
            self.f16.is_some(),
            self.u8.is_some(),
            self.u16.is_some(),
            self.u32.is_some(),
            self.i8.is_some(),
            self.i16.is_some(),
            self.i32.is_some(),
        ];
        if given.into_iter().filter(|&g| g).count() != 1 {
            return Err(
                "data is exactly one of `file`, `hex`, `f32`, `f16`, `u8`, `u16`, `u32`, `i8`, `i16`, `i32`".into(),
            );
        }
        if self.file.is_some() {
            return Ok(None);
        }
        let mut bytes = Vec::new();
        if let Some(text) = &self.hex {
            bytes = from_hex(&text.0)?;
        }
        for f in self.f32.iter().flatten() {
            bytes.extend(f.to_f32().to_le_bytes());
        }
        for f in self.f16.iter().flatten() {
            bytes.extend(f.to_f16_bits().to_le_bytes());
        }
        macro_rules! integers {
            ($($field:ident)*) => { $(
                for n in self.$field.iter().flatten() {
                    let value = $field::try_from(n.0)
                        .map_err(|_| format!("{} doesn't fit {}", n.0, stringify!($field)))?;
                    bytes.extend(value.to_le_bytes());
                }
            )* };
        }
        integers! { u8 u16 u32 i8 i16 i32 }
        Ok(Some(bytes))
    }
}

/// Pairs of hexadecimal digits; white space between them is skipped.
pub fn from_hex(text: &str) -> Result<Vec<u8>, String> {
    let mut digits = Vec::with_capacity(text.len());
    for c in text.chars().filter(|c| !c.is_whitespace()) {
        let digit = c.to_digit(16).ok_or_else(|| format!("`{c}` is no hexadecimal digit"))?;
        digits.push(digit as u8);
    }
    let (pairs, rest) = digits.as_chunks::<2>();
    if !rest.is_empty() {
        return Err("the number of hexadecimal digits is odd".into());
    }
    Ok(pairs.iter().map(|&[high, low]| high << 4 | low).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_json_lacks_are_strings() {
        let floats: Vec<Float> =
            serde_json::from_str(r#"[1.5, -2, 3, "nan", "inf", "-inf", "0x7fc00001"]"#).expect("reads");
        let bits: Vec<u32> = floats.iter().map(|f| f.to_f32().to_bits()).collect();
        let wanted = [
            1.5f32.to_bits(),
            (-2f32).to_bits(),
            3f32.to_bits(),
            0x7fc0_0000,
            0x7f80_0000,
            0xff80_0000,
            0x7fc0_0001,
        ];
        assert_eq!(bits, wanted);
        assert!(serde_json::from_str::<Float>("\"NaN\"").is_err());
        assert!(serde_json::from_str::<Int>("1.5").is_err());
        assert_eq!(serde_json::from_str::<Int>("\"0xff\"").expect("reads"), Int(255));
    }

    #[test]
    fn data_is_one_kind_of_bytes() {
        let data: Data = serde_json::from_str(r#"{"hex": ["01 ff", "a0"]}"#).expect("reads");
        assert_eq!(data.inline(), Ok(Some(vec![1, 255, 160])));
        let data: Data = serde_json::from_str(r#"{"i16": [-2, "0x7fff"]}"#).expect("reads");
        assert_eq!(data.inline(), Ok(Some(vec![0xfe, 0xff, 0xff, 0x7f])));
        let data: Data = serde_json::from_str(r#"{"f16": [1, "nan"]}"#).expect("reads");
        assert_eq!(data.inline(), Ok(Some(vec![0, 0x3c, 0, 0x7e])));
        for wrong in [
            r#"{"u8": [256]}"#,
            r#"{"u8": [1], "i8": [1]}"#,
            "{}",
            r#"{"hex": "123"}"#,
            r#"{"hex": "xy"}"#,
        ] {
            let data: Data = serde_json::from_str(wrong).expect("reads");
            assert!(data.inline().is_err(), "{wrong}");
        }
    }
}
