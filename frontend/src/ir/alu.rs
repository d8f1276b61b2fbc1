//! The pure scalar operations: one table with name, tier and signature.
//!
//! *Primitive* operations are what the back ends implement; *expanded* ones are turned into sequences of primitive
//! ones by the expand pass, so that each function has one definition for interpreter and native code. The exact
//! meaning of every operation is the scalar function in `ir::eval`.

use super::kind::Kind;

/// Operand or result class in a signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Any float kind; all `Float`s of a signature are the same kind.
    Float,
    /// Any integer kind; all `Int`s of a signature are the same kind.
    Int,
    /// Bool or any integer kind; all `Bits` of a signature are the same kind.
    Bits,
    /// Any kind; all `Any`s of a signature are the same kind.
    Any,
    /// Exactly this kind.
    Is(Kind),
}

macro_rules! alu {
    ($($variant:ident $name:literal $tier:ident ($($arg:expr),*) -> ($($res:expr),*) $doc:literal;)*) => {
        /// A pure operation on scalars.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Alu { $(#[doc = $doc] $variant,)* }

        impl Alu {
            /// All operations.
            pub const ALL: &[Alu] = &[$(Alu::$variant,)*];

            /// The name in the text form.
            pub const fn name(self) -> &'static str {
                match self { $(Alu::$variant => $name,)* }
            }

            /// Operand and result classes.
            pub const fn signature(self) -> (&'static [Class], &'static [Class]) {
                use Class::*;
                use Kind::*;
                const { _ = (Bool, I32) };
                match self { $(Alu::$variant => (&[$($arg),*], &[$($res),*]),)* }
            }

            /// Whether back ends implement it (else the expand pass replaces it).
            pub const fn is_primitive(self) -> bool {
                match self { $(Alu::$variant => matches!(Tier::$tier, Tier::Primitive),)* }
            }
        }
    };
}

enum Tier {
    Primitive,
    Expanded,
}

alu! {
    // Float, primitive.
    FAdd "fadd" Primitive (Float, Float) -> (Float) "IEEE sum.";
    FSub "fsub" Primitive (Float, Float) -> (Float) "IEEE difference.";
    FMul "fmul" Primitive (Float, Float) -> (Float) "IEEE product.";
    FDiv "fdiv" Primitive (Float, Float) -> (Float) "IEEE quotient.";
    FFma "fma" Primitive (Float, Float, Float) -> (Float) "a*b+c rounded once.";
    FSqrt "fsqrt" Primitive (Float) -> (Float) "IEEE square root.";
    FNeg "fneg" Primitive (Float) -> (Float) "Flips the sign bit.";
    FAbs "fabs" Primitive (Float) -> (Float) "Clears the sign bit.";
    FMin "fmin" Primitive (Float, Float) -> (Float) "`a < b ? a : b is NaN ? a : b` (R-PS-104).";
    FMax "fmax" Primitive (Float, Float) -> (Float) "`a > b ? a : b is NaN ? a : b` (R-PS-104).";
    FFloor "ffloor" Primitive (Float) -> (Float) "Largest integer not above.";
    FCeil "fceil" Primitive (Float) -> (Float) "Smallest integer not below.";
    FTrunc "ftrunc" Primitive (Float) -> (Float) "Toward zero.";
    FNearest "fnearest" Primitive (Float) -> (Float) "Nearest integer, ties to even.";
    Canon "canon" Primitive (Float) -> (Float) "NaN to the canonical quiet NaN, else the operand (law N3).";
    Flush "flush" Primitive (Float) -> (Float) "Denormal to zero of its sign, else the operand (law N1).";
    FEq "feq" Primitive (Float, Float) -> (Is(Bool)) "Ordered and equal.";
    FNe "fne" Primitive (Float, Float) -> (Is(Bool)) "Unordered or unequal.";
    FLt "flt" Primitive (Float, Float) -> (Is(Bool)) "Ordered and less.";
    FLe "fle" Primitive (Float, Float) -> (Is(Bool)) "Ordered and less or equal.";
    // Integer and bool, primitive.
    IAdd "iadd" Primitive (Int, Int) -> (Int) "Wrapping sum.";
    ISub "isub" Primitive (Int, Int) -> (Int) "Wrapping difference.";
    IMul "imul" Primitive (Int, Int) -> (Int) "Low half of the product.";
    UMulHi "umulhi" Primitive (Int, Int) -> (Int) "High half of the unsigned product.";
    SMulHi "smulhi" Primitive (Int, Int) -> (Int) "High half of the signed product.";
    INeg "ineg" Primitive (Int) -> (Int) "Two's complement negation.";
    And "and" Primitive (Bits, Bits) -> (Bits) "Bitwise and.";
    Or "or" Primitive (Bits, Bits) -> (Bits) "Bitwise or.";
    Xor "xor" Primitive (Bits, Bits) -> (Bits) "Bitwise exclusive or.";
    Not "not" Primitive (Bits) -> (Bits) "Bitwise complement.";
    Shl "shl" Primitive (Int, Is(U32)) -> (Int) "Left by the count modulo the width.";
    ShrU "shru" Primitive (Int, Is(U32)) -> (Int) "Right by the count modulo the width, zeros in.";
    ShrS "shrs" Primitive (Int, Is(U32)) -> (Int) "Right by the count modulo the width, sign in.";
    IEq "ieq" Primitive (Int, Int) -> (Is(Bool)) "Equal.";
    INe "ine" Primitive (Int, Int) -> (Is(Bool)) "Unequal.";
    SLt "slt" Primitive (Int, Int) -> (Is(Bool)) "Signed less.";
    SLe "sle" Primitive (Int, Int) -> (Is(Bool)) "Signed less or equal.";
    ULt "ult" Primitive (Int, Int) -> (Is(Bool)) "Unsigned less.";
    ULe "ule" Primitive (Int, Int) -> (Is(Bool)) "Unsigned less or equal.";
    SMin "smin" Primitive (Int, Int) -> (Int) "Signed minimum.";
    SMax "smax" Primitive (Int, Int) -> (Int) "Signed maximum.";
    UMin "umin" Primitive (Int, Int) -> (Int) "Unsigned minimum.";
    UMax "umax" Primitive (Int, Int) -> (Int) "Unsigned maximum.";
    Select "select" Primitive (Is(Bool), Any, Any) -> (Any) "The second operand where the first is true, else the third; bits unchanged.";
    // Conversions, primitive.
    FToS "f2s" Primitive (Is(F32)) -> (Is(I32)) "Truncate, saturate; NaN gives 0 (R-PS-130).";
    FToU "f2u" Primitive (Is(F32)) -> (Is(U32)) "Truncate, saturate; NaN gives 0 (R-PS-130).";
    SToF "s2f" Primitive (Is(I32)) -> (Is(F32)) "Nearest even (R-PS-131).";
    UToF "u2f" Primitive (Is(U32)) -> (Is(F32)) "Nearest even (R-PS-131).";
    // Float, expanded.
    FRem "frem" Expanded (Float, Float) -> (Float) "a - b*trunc(a/b).";
    FFract "ffract" Expanded (Float) -> (Float) "a - floor(a), below 1 (R-PS-102: frc).";
    FSign "fsign" Expanded (Float) -> (Float) "-1, 0 or 1; NaN gives 0.";
    FSaturate "fsat" Expanded (Float) -> (Float) "Clamp to 0..1; NaN gives 0 (R-PS-91).";
    FRsqrt "frsqrt" Expanded (Float) -> (Float) "1/sqrt(a).";
    FExp2 "fexp2" Expanded (Float) -> (Float) "2^a.";
    FLog2 "flog2" Expanded (Float) -> (Float) "Binary logarithm.";
    FExp "fexp" Expanded (Float) -> (Float) "e^a.";
    FLog "flog" Expanded (Float) -> (Float) "Natural logarithm.";
    FPow "fpow" Expanded (Float, Float) -> (Float) "a^b for a >= 0 (NaN for a < 0).";
    FSin "fsin" Expanded (Float) -> (Float) "Sine.";
    FCos "fcos" Expanded (Float) -> (Float) "Cosine.";
    FTan "ftan" Expanded (Float) -> (Float) "Tangent.";
    FAsin "fasin" Expanded (Float) -> (Float) "Arc sine.";
    FAcos "facos" Expanded (Float) -> (Float) "Arc cosine.";
    FAtan "fatan" Expanded (Float) -> (Float) "Arc tangent.";
    FAtan2 "fatan2" Expanded (Float, Float) -> (Float) "Angle of the point (x = second, y = first operand).";
    FSinh "fsinh" Expanded (Float) -> (Float) "Hyperbolic sine.";
    FCosh "fcosh" Expanded (Float) -> (Float) "Hyperbolic cosine.";
    FTanh "ftanh" Expanded (Float) -> (Float) "Hyperbolic tangent.";
    FAsinh "fasinh" Expanded (Float) -> (Float) "Inverse hyperbolic sine.";
    FAcosh "facosh" Expanded (Float) -> (Float) "Inverse hyperbolic cosine.";
    FAtanh "fatanh" Expanded (Float) -> (Float) "Inverse hyperbolic tangent.";
    FLdexp "fldexp" Expanded (Float, Is(I32)) -> (Float) "a * 2^b, rounded once.";
    FFrexp "ffrexp" Expanded (Float) -> (Float, Is(I32)) "Fraction in [0.5, 1) and exponent.";
    FModf "fmodf" Expanded (Float) -> (Float, Float) "Fractional and whole part, both of the operand's sign.";
    QuantizeF16 "quantize_f16" Expanded (Is(F32)) -> (Is(F32)) "Through f16, nearest even.";
    SrgbEncode "srgb_encode" Expanded (Is(F32)) -> (Is(F32)) "Linear in 0..1 to sRGB in 0..1 (R-SAMP-106, law S5).";
    SrgbDecode "srgb_decode" Expanded (Is(F32)) -> (Is(F32)) "sRGB in 0..1 to linear (R-SAMP-105, law S5).";
    // Integer, expanded.
    SDiv "sdiv" Expanded (Int, Int) -> (Int) "Truncating; x/0 = x, MIN/-1 = MIN (R-WGSL-62).";
    SRem "srem" Expanded (Int, Int) -> (Int) "Sign of the dividend; x%0 = 0, MIN%-1 = 0 (R-WGSL-62).";
    UDiv "udiv" Expanded (Int, Int) -> (Int) "x/0 = x (R-WGSL-62).";
    URem "urem" Expanded (Int, Int) -> (Int) "x%0 = 0 (R-WGSL-62).";
    UDivRemD3d "udivrem_d3d" Expanded (Is(U32), Is(U32)) -> (Is(U32), Is(U32)) "Quotient and remainder, both all ones for x/0 (R-PS-121).";
    SAbs "sabs" Expanded (Int) -> (Int) "Absolute value, wrapping.";
    SSign "ssign" Expanded (Int) -> (Int) "-1, 0 or 1.";
    PopCount "popcount" Expanded (Int) -> (Int) "Number of ones.";
    ReverseBits "reverse_bits" Expanded (Int) -> (Int) "Bit i to bit width-1-i.";
    LeadingZeros "leading_zeros" Expanded (Int) -> (Int) "Zeros above the highest one; the width for 0.";
    TrailingZeros "trailing_zeros" Expanded (Int) -> (Int) "Zeros below the lowest one; the width for 0.";
    FirstLeadingU "first_leading_u" Expanded (Int) -> (Int) "Bit number of the highest one, all ones for 0 (R-WGSL-66).";
    FirstLeadingS "first_leading_s" Expanded (Int) -> (Int) "Bit number of the highest bit unlike the sign, all ones if none (R-WGSL-66).";
    FirstTrailing "first_trailing" Expanded (Int) -> (Int) "Bit number of the lowest one, all ones for 0 (R-WGSL-66).";
    ExtractU "extract_u" Expanded (Int, Is(U32), Is(U32)) -> (Int) "WGSL extractBits, unsigned: value, offset, count.";
    ExtractS "extract_s" Expanded (Int, Is(U32), Is(U32)) -> (Int) "WGSL extractBits, signed: value, offset, count.";
    InsertBits "insert_bits" Expanded (Int, Int, Is(U32), Is(U32)) -> (Int) "WGSL insertBits: value, new bits, offset, count.";
    AddCarry "add_carry" Expanded (Is(U32), Is(U32)) -> (Is(U32), Is(U32)) "Sum and carry (0 or 1).";
    SubBorrow "sub_borrow" Expanded (Is(U32), Is(U32)) -> (Is(U32), Is(U32)) "Difference and borrow (0 or 1).";
    // Conversions, expanded.
    FToSWgsl "f2s_wgsl" Expanded (Is(F32)) -> (Is(I32)) "Truncate, clamp to f32-representable bounds; NaN gives 0 (R-WGSL-63).";
    FToUWgsl "f2u_wgsl" Expanded (Is(F32)) -> (Is(U32)) "Truncate, clamp to f32-representable bounds; NaN gives 0 (R-WGSL-63).";
    HalfBits "half_bits" Expanded (Is(F32)) -> (Is(U32)) "f16 bits in the low half, nearest even (R-WGSL-65).";
    HalfBitsRtz "half_bits_rtz" Expanded (Is(F32)) -> (Is(U32)) "f16 bits in the low half, toward zero (R-PS-132).";
    HalfToF "half_to_f" Expanded (Is(U32)) -> (Is(F32)) "The f16 in the low half, exact.";
    FToUnorm8 "f2unorm8" Expanded (Is(F32)) -> (Is(U32)) "Exact conversion to 0..255 (R-SAMP-102).";
    Unorm8ToF "unorm8_to_f" Expanded (Is(U32)) -> (Is(F32)) "x/255 correctly rounded, x in 0..255 (R-SAMP-101).";
}

impl Alu {
    /// The operation of that name.
    pub fn from_name(name: &str) -> Option<Alu> {
        Alu::ALL.iter().copied().find(|a| a.name() == name)
    }

    /// Checks operand kinds and gives the result kinds, or the first operand that doesn't fit.
    pub fn check(self, args: &[Kind]) -> Result<Vec<Kind>, AluKindError> {
        let (want, results) = self.signature();
        if args.len() != want.len() {
            return Err(AluKindError::Count {
                op: self,
                want: want.len(),
                got: args.len(),
            });
        }
        let mut bound = [None; 4];
        let slot = |c: Class| match c {
            Class::Float => 0,
            Class::Int => 1,
            Class::Bits => 2,
            Class::Any | Class::Is(_) => 3,
        };
        for (index, (&class, &kind)) in want.iter().zip(args).enumerate() {
            let fits = match class {
                Class::Float => kind.is_float(),
                Class::Int => kind.is_int(),
                Class::Bits => kind.is_int() || kind == Kind::Bool,
                Class::Any => true,
                Class::Is(k) => k == kind,
            };
            let same = matches!(class, Class::Is(_)) || *bound[slot(class)].get_or_insert(kind) == kind;
            if !fits || !same {
                return Err(AluKindError::Operand {
                    op: self,
                    index,
                    got: kind,
                });
            }
        }
        let kind_of = |class: &Class| match class {
            Class::Is(k) => *k,
            other => bound[slot(*other)].unwrap_or(Kind::U32),
        };
        Ok(results.iter().map(kind_of).collect())
    }
}

/// Operands that an [`Alu`] operation doesn't take: a bug of whoever built the IR.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AluKindError {
    /// Wrong number of operands.
    #[error("{} takes {want} operands, not {got}", op.name())]
    Count {
        /// The operation.
        op: Alu,
        /// Operands it takes.
        want: usize,
        /// Operands given.
        got: usize,
    },
    /// An operand of the wrong kind.
    #[error("{}: operand {index} can't be {got}", op.name())]
    Operand {
        /// The operation.
        op: Alu,
        /// Which operand, from 0.
        index: usize,
        /// Its kind.
        got: Kind,
    },
}
