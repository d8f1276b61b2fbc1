//! Scalar kinds and literals (law I2).

use std::fmt;

/// The kind of one scalar per lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Kind {
    Bool,
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
    F16,
    F32,
    F64,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Kind; 12] = [
        Kind::Bool,
        Kind::I8,
        Kind::U8,
        Kind::I16,
        Kind::U16,
        Kind::I32,
        Kind::U32,
        Kind::I64,
        Kind::U64,
        Kind::F16,
        Kind::F32,
        Kind::F64,
    ];

    /// The name in the text form.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Bool => "bool",
            Kind::I8 => "i8",
            Kind::U8 => "u8",
            Kind::I16 => "i16",
            Kind::U16 => "u16",
            Kind::I32 => "i32",
            Kind::U32 => "u32",
            Kind::I64 => "i64",
            Kind::U64 => "u64",
            Kind::F16 => "f16",
            Kind::F32 => "f32",
            Kind::F64 => "f64",
        }
    }

    /// The kind of that name.
    pub fn from_name(name: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|k| k.name() == name)
    }

    /// Bits in memory; a bool counts as 32 (a lane mask).
    pub const fn bits(self) -> u32 {
        match self {
            Kind::I8 | Kind::U8 => 8,
            Kind::I16 | Kind::U16 | Kind::F16 => 16,
            Kind::Bool | Kind::I32 | Kind::U32 | Kind::F32 => 32,
            Kind::I64 | Kind::U64 | Kind::F64 => 64,
        }
    }

    /// f16, f32 or f64.
    pub const fn is_float(self) -> bool {
        matches!(self, Kind::F16 | Kind::F32 | Kind::F64)
    }

    /// Any integer, signed or not.
    pub const fn is_int(self) -> bool {
        !self.is_float() && !matches!(self, Kind::Bool)
    }

    /// A signed integer.
    pub const fn is_signed(self) -> bool {
        matches!(self, Kind::I8 | Kind::I16 | Kind::I32 | Kind::I64)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A constant: bits of a kind, zero-extended. A bool is 0 or 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Literal {
    /// The constant's kind.
    pub kind: Kind,
    /// Its bits.
    pub bits: u64,
}

impl Literal {
    /// An f32.
    pub const fn f32(value: f32) -> Literal {
        Literal {
            kind: Kind::F32,
            bits: value.to_bits() as u64,
        }
    }
    /// An i32.
    pub const fn i32(value: i32) -> Literal {
        Literal {
            kind: Kind::I32,
            bits: value as u32 as u64,
        }
    }
    /// A u32.
    pub const fn u32(value: u32) -> Literal {
        Literal {
            kind: Kind::U32,
            bits: value as u64,
        }
    }
    /// A bool.
    pub const fn bool(value: bool) -> Literal {
        Literal {
            kind: Kind::Bool,
            bits: value as u64,
        }
    }
    /// The zero (false) of a kind.
    pub const fn zero(kind: Kind) -> Literal {
        Literal { kind, bits: 0 }
    }
    /// The bits as f32; meaningful for kind F32.
    pub const fn as_f32(self) -> f32 {
        f32::from_bits(self.bits as u32)
    }
}
