//! What is written to files, and what must come out.

use super::numbers::{Bits, Float, Int, Text};
use crate::job::words::{self, AspectWord};
use serde::Deserialize;
use std::collections::BTreeMap;

/// A file to write: a surface of a texture, or part of a buffer.
#[derive(Deserialize, Debug, Default)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Output {
    /// Name of the file: `.png`, `.exr`, `.npy` or `.bin`.
    pub file: String,
    /// Name of a texture.
    pub texture: Option<String>,
    /// Its mip level.
    pub mip_level: u32,
    /// Its layer or depth slice.
    pub layer: u32,
    /// Its sample.
    pub sample: u32,
    /// Depth or stencil of a format that has both.
    #[serde(deserialize_with = "words::one")]
    pub aspect: AspectWord,
    /// Name of a buffer.
    pub buffer: Option<String>,
    /// First byte of the buffer.
    pub offset: u64,
    /// Bytes of the buffer; to its end if left out.
    pub size: Option<u64>,
}

/// What must be in a texture or buffer.
#[derive(Deserialize, Debug, Default)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Probe {
    /// Why, for the message of a failure.
    pub about: String,
    /// Name of a texture.
    pub texture: Option<String>,
    /// Its mip level.
    pub mip_level: u32,
    /// Its layer or depth slice.
    pub layer: u32,
    /// Its sample.
    pub sample: u32,
    /// Depth or stencil of a format that has both.
    #[serde(deserialize_with = "words::one")]
    pub aspect: AspectWord,
    /// x and y of a texel.
    pub at: Option<[u32; 2]>,
    /// x, y, width and height; the whole level if neither this nor `at` is given.
    pub rect: Option<[u32; 4]>,
    /// Values as shaders read them.
    pub float: Option<Vec<Float>>,
    /// Integers, as shaders read them.
    pub int: Option<Vec<Int>>,
    /// Codes of the components, as they are stored.
    pub bits: Option<Vec<Bits>>,
    /// Rows of the rectangle, a character for each texel.
    pub rows: Option<Vec<String>>,
    /// What the characters of `rows` stand for.
    pub legend: BTreeMap<char, Value>,
    /// Name of a buffer.
    pub buffer: Option<String>,
    /// First byte of the buffer.
    pub offset: u64,
    /// 32-bit floats of the buffer.
    pub f32: Option<Vec<Float>>,
    /// 32-bit integers.
    pub u32: Option<Vec<Int>>,
    /// 32-bit integers.
    pub i32: Option<Vec<Int>>,
    /// 64-bit integers.
    pub u64: Option<Vec<Int>>,
    /// Bytes of the buffer.
    pub hex: Option<Text>,
    /// How far a value may be from the expected one: units in the last place (codes, for `bits`).
    pub ulp: Option<u32>,
    /// How far a value may be from the expected one.
    pub abs: Option<f64>,
}

/// A texel of a legend.
#[derive(Deserialize, Clone, Debug, Default)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[expect(missing_docs, reason = "as in a probe")]
pub struct Value {
    pub float: Option<Vec<Float>>,
    pub int: Option<Vec<Int>>,
    pub bits: Option<Vec<Bits>>,
}
