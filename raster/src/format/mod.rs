//! Texture formats: WebGPU's names, what each can do, and exact conversion of single texels.
//!
//! ```text
//! TextureFormat ──info()──► FormatInfo          what it is, what WebGPU lets one do with it
//!       │
//!       ├─ texel.rs   bytes of a texel ◄──► four lane words (f32 bits, or integers)
//!       ├─ plane.rs   tile planes: how render targets look in tile memory; clear values
//!       ├─ scalar.rs  unorm, snorm, small floats            (R-SAMP-101..104, 107, 108)
//!       └─ srgb.rs    sRGB tables, made once with libm      (R-SAMP-105, 106)
//! ```
//!
//! A format that has both depth and stencil is only a pair of *aspects*: storage, views and render targets deal with
//! single-aspect formats (see [`TextureFormat::aspect_format`]).

use std::fmt;
use std::str::FromStr;

pub mod plane;
pub mod scalar;
pub mod srgb;
pub mod texel;

pub use plane::{PlaneKind, PlaneWords};

/// What a component means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Integer code over [0, 1].
    Unorm,
    /// Integer code over [-1, 1].
    Snorm,
    /// Unsigned integer, never filtered.
    Uint,
    /// Signed integer, never filtered.
    Sint,
    /// Floating point of 32, 16, 11, 10 or shared-exponent 9 bits.
    Float,
}

/// Which part of a depth-stencil format is meant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Aspect {
    /// Everything the format has; for sampling a depth-stencil format: its depth.
    #[default]
    All,
    /// Depth only.
    Depth,
    /// Stencil only.
    Stencil,
}

/// Where component c sits in the texel, read as one little-endian number (R-SAMP-100).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Lowest bit.
    pub shift: u8,
    /// Width; 0 where the format lacks the component.
    pub bits: u8,
}

/// What a format is and may be used for (the capabilities of WebGPU with `float32-filterable`, `float32-blendable`
/// and the texture format tiers; a front door that wants less asks its own table).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FormatInfo {
    /// WebGPU's name.
    pub name: &'static str,
    /// Bytes of a texel, of a 4x4 block for compressed formats; of both aspects together for depth-stencil formats.
    pub bytes: u32,
    /// One more than the last component present, 1..=4; those before it may be missing (`a8unorm`), see
    /// [`present`](Self::present).
    pub components: u8,
    /// Meaning of the components (of depth, where there is depth).
    pub kind: Kind,
    /// Places of R, G, B, A.
    pub fields: [Field; 4],
    /// R, G, B are sRGB codes.
    pub srgb: bool,
    /// Has depth.
    pub depth: bool,
    /// Has stencil.
    pub stencil: bool,
    /// Linear filters are allowed.
    pub filterable: bool,
    /// May be a render target (colour or depth-stencil).
    pub renderable: bool,
    /// May be blended into.
    pub blendable: bool,
    /// May be resolved (R-OM-72; WebGPU leaves out 32-bit floats).
    pub resolvable: bool,
}

/// An unknown format name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown texture format `{0}`; WebGPU's names are expected, such as `rgba8unorm` or `depth32float`")]
pub struct UnknownFormat(pub String);

const NONE: Field = Field { shift: 0, bits: 0 };

const fn fields(bits: u8, n: u8) -> [Field; 4] {
    let mut out = [NONE; 4];
    let mut c = 0;
    while c < n {
        out[c as usize] = Field { shift: c * bits, bits };
        c += 1;
    }
    out
}

const BGRA: [Field; 4] = [
    Field { shift: 16, bits: 8 },
    Field { shift: 8, bits: 8 },
    Field { shift: 0, bits: 8 },
    Field { shift: 24, bits: 8 },
];
const RGB10A2: [Field; 4] = [
    Field { shift: 0, bits: 10 },
    Field { shift: 10, bits: 10 },
    Field { shift: 20, bits: 10 },
    Field { shift: 30, bits: 2 },
];
const RG11B10: [Field; 4] = [
    Field { shift: 0, bits: 11 },
    Field { shift: 11, bits: 11 },
    Field { shift: 22, bits: 10 },
    NONE,
];
const RGB9E5: [Field; 4] = [
    Field { shift: 0, bits: 9 },
    Field { shift: 9, bits: 9 },
    Field { shift: 18, bits: 9 },
    NONE,
];

/// Direct3D's 8-bit BGR with eight unused bits.
const BGRX: [Field; 4] = [BGRA[0], BGRA[1], BGRA[2], NONE];
const B5G6R5: [Field; 4] = [
    Field { shift: 11, bits: 5 },
    Field { shift: 5, bits: 6 },
    Field { shift: 0, bits: 5 },
    NONE,
];
const B5G5R5A1: [Field; 4] = [
    Field { shift: 10, bits: 5 },
    Field { shift: 5, bits: 5 },
    Field { shift: 0, bits: 5 },
    Field { shift: 15, bits: 1 },
];
const B4G4R4A4: [Field; 4] = [
    Field { shift: 8, bits: 4 },
    Field { shift: 4, bits: 4 },
    Field { shift: 0, bits: 4 },
    Field { shift: 12, bits: 4 },
];
const A8: [Field; 4] = [NONE, NONE, NONE, Field { shift: 0, bits: 8 }];

impl FormatInfo {
    /// The components that texels hold: bit c for component c.
    pub const fn present(&self) -> u8 {
        let (mut mask, mut c) = (0, 0);
        while c < 4 {
            mask |= ((self.fields[c].bits != 0) as u8) << c;
            c += 1;
        }
        mask
    }

    /// Whether components are integers to the shader.
    pub const fn is_integer(&self) -> bool {
        matches!(self.kind, Kind::Uint | Kind::Sint)
    }
}

/// A row of the table: capabilities follow from the kind, but for the exceptions given by `renderable`.
const fn color(name: &'static str, kind: Kind, fields: [Field; 4], srgb: bool, renderable: bool) -> FormatInfo {
    let (mut components, mut bits, mut c) = (0, 0, 0);
    while c < 4 {
        if fields[c as usize].bits != 0 {
            bits += fields[c as usize].bits as u32;
            components = c + 1;
        }
        c += 1;
    }
    // A shared exponent, or unused bits.
    let padded = bits == 27 || bits == 24;
    let integer = matches!(kind, Kind::Uint | Kind::Sint);
    FormatInfo {
        name,
        bytes: if padded { 4 } else { bits / 8 },
        components,
        kind,
        fields,
        srgb,
        depth: false,
        stencil: false,
        filterable: !integer,
        renderable,
        blendable: renderable && !integer,
        resolvable: renderable && !integer,
    }
}

const fn depth(name: &'static str, bits: u8, kind: Kind, stencil: bool) -> FormatInfo {
    let storage = if bits == 0 {
        0
    } else if bits == 16 {
        2
    } else {
        4
    };
    FormatInfo {
        name,
        bytes: storage + stencil as u32,
        components: 1,
        kind,
        fields: [
            Field {
                shift: 0,
                bits: if bits == 0 { 8 } else { bits },
            },
            NONE,
            NONE,
            NONE,
        ],
        srgb: false,
        depth: bits != 0,
        stencil,
        filterable: bits != 0,
        renderable: true,
        blendable: false,
        resolvable: false,
    }
}

/// A format of compressed 4x4 blocks; `fields` count its components, texels have no places of their own.
const fn block(name: &'static str, kind: Kind, components: u8, bytes: u32, srgb: bool) -> FormatInfo {
    FormatInfo {
        name,
        bytes,
        components,
        kind,
        fields: fields(8, components),
        srgb,
        depth: false,
        stencil: false,
        filterable: true,
        renderable: false,
        blendable: false,
        resolvable: false,
    }
}

macro_rules! formats {
    ($($(#[$doc:meta])* $variant:ident = $info:expr;)*) => {
        /// A texture format by WebGPU's name; those that only Direct3D has are named alike.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum TextureFormat {
            $(#[doc = concat!("`", stringify!($variant), "`, see [`FormatInfo`].")] $variant,)*
        }

        impl TextureFormat {
            /// Every format.
            pub const ALL: &[TextureFormat] = &[$(TextureFormat::$variant,)*];

            /// What the format is.
            pub const fn info(self) -> &'static FormatInfo {
                const TABLE: &[FormatInfo] = &[$($info,)*];
                &TABLE[self as usize]
            }
        }
    };
}

formats! {
    R8Unorm = color("r8unorm", Kind::Unorm, fields(8, 1), false, true);
    R8Snorm = color("r8snorm", Kind::Snorm, fields(8, 1), false, true);
    R8Uint = color("r8uint", Kind::Uint, fields(8, 1), false, true);
    R8Sint = color("r8sint", Kind::Sint, fields(8, 1), false, true);
    Rg8Unorm = color("rg8unorm", Kind::Unorm, fields(8, 2), false, true);
    Rg8Snorm = color("rg8snorm", Kind::Snorm, fields(8, 2), false, true);
    Rg8Uint = color("rg8uint", Kind::Uint, fields(8, 2), false, true);
    Rg8Sint = color("rg8sint", Kind::Sint, fields(8, 2), false, true);
    Rgba8Unorm = color("rgba8unorm", Kind::Unorm, fields(8, 4), false, true);
    Rgba8UnormSrgb = color("rgba8unorm-srgb", Kind::Unorm, fields(8, 4), true, true);
    Rgba8Snorm = color("rgba8snorm", Kind::Snorm, fields(8, 4), false, true);
    Rgba8Uint = color("rgba8uint", Kind::Uint, fields(8, 4), false, true);
    Rgba8Sint = color("rgba8sint", Kind::Sint, fields(8, 4), false, true);
    Bgra8Unorm = color("bgra8unorm", Kind::Unorm, BGRA, false, true);
    Bgra8UnormSrgb = color("bgra8unorm-srgb", Kind::Unorm, BGRA, true, true);
    Bgrx8Unorm = color("bgrx8unorm", Kind::Unorm, BGRX, false, true);
    Bgrx8UnormSrgb = color("bgrx8unorm-srgb", Kind::Unorm, BGRX, true, true);
    A8Unorm = color("a8unorm", Kind::Unorm, A8, false, true);
    B5g6r5Unorm = color("b5g6r5unorm", Kind::Unorm, B5G6R5, false, true);
    B5g5r5a1Unorm = color("b5g5r5a1unorm", Kind::Unorm, B5G5R5A1, false, true);
    B4g4r4a4Unorm = color("b4g4r4a4unorm", Kind::Unorm, B4G4R4A4, false, true);
    R16Unorm = color("r16unorm", Kind::Unorm, fields(16, 1), false, true);
    R16Snorm = color("r16snorm", Kind::Snorm, fields(16, 1), false, true);
    R16Uint = color("r16uint", Kind::Uint, fields(16, 1), false, true);
    R16Sint = color("r16sint", Kind::Sint, fields(16, 1), false, true);
    R16Float = color("r16float", Kind::Float, fields(16, 1), false, true);
    Rg16Unorm = color("rg16unorm", Kind::Unorm, fields(16, 2), false, true);
    Rg16Snorm = color("rg16snorm", Kind::Snorm, fields(16, 2), false, true);
    Rg16Uint = color("rg16uint", Kind::Uint, fields(16, 2), false, true);
    Rg16Sint = color("rg16sint", Kind::Sint, fields(16, 2), false, true);
    Rg16Float = color("rg16float", Kind::Float, fields(16, 2), false, true);
    Rgba16Unorm = color("rgba16unorm", Kind::Unorm, fields(16, 4), false, true);
    Rgba16Snorm = color("rgba16snorm", Kind::Snorm, fields(16, 4), false, true);
    Rgba16Uint = color("rgba16uint", Kind::Uint, fields(16, 4), false, true);
    Rgba16Sint = color("rgba16sint", Kind::Sint, fields(16, 4), false, true);
    Rgba16Float = color("rgba16float", Kind::Float, fields(16, 4), false, true);
    R32Uint = color("r32uint", Kind::Uint, fields(32, 1), false, true);
    R32Sint = color("r32sint", Kind::Sint, fields(32, 1), false, true);
    R32Float = color("r32float", Kind::Float, fields(32, 1), false, true);
    Rg32Uint = color("rg32uint", Kind::Uint, fields(32, 2), false, true);
    Rg32Sint = color("rg32sint", Kind::Sint, fields(32, 2), false, true);
    Rg32Float = color("rg32float", Kind::Float, fields(32, 2), false, true);
    Rgba32Uint = color("rgba32uint", Kind::Uint, fields(32, 4), false, true);
    Rgba32Sint = color("rgba32sint", Kind::Sint, fields(32, 4), false, true);
    Rgba32Float = color("rgba32float", Kind::Float, fields(32, 4), false, true);
    Rgb10a2Uint = color("rgb10a2uint", Kind::Uint, RGB10A2, false, true);
    Rgb10a2Unorm = color("rgb10a2unorm", Kind::Unorm, RGB10A2, false, true);
    Rg11b10Ufloat = color("rg11b10ufloat", Kind::Float, RG11B10, false, true);
    Rgb9e5Ufloat = color("rgb9e5ufloat", Kind::Float, RGB9E5, false, false);
    Bc1RgbaUnorm = block("bc1-rgba-unorm", Kind::Unorm, 4, 8, false);
    Bc1RgbaUnormSrgb = block("bc1-rgba-unorm-srgb", Kind::Unorm, 4, 8, true);
    Bc2RgbaUnorm = block("bc2-rgba-unorm", Kind::Unorm, 4, 16, false);
    Bc2RgbaUnormSrgb = block("bc2-rgba-unorm-srgb", Kind::Unorm, 4, 16, true);
    Bc3RgbaUnorm = block("bc3-rgba-unorm", Kind::Unorm, 4, 16, false);
    Bc3RgbaUnormSrgb = block("bc3-rgba-unorm-srgb", Kind::Unorm, 4, 16, true);
    Bc4RUnorm = block("bc4-r-unorm", Kind::Unorm, 1, 8, false);
    Bc4RSnorm = block("bc4-r-snorm", Kind::Snorm, 1, 8, false);
    Bc5RgUnorm = block("bc5-rg-unorm", Kind::Unorm, 2, 16, false);
    Bc5RgSnorm = block("bc5-rg-snorm", Kind::Snorm, 2, 16, false);
    Bc6hRgbUfloat = block("bc6h-rgb-ufloat", Kind::Float, 3, 16, false);
    Bc6hRgbFloat = block("bc6h-rgb-float", Kind::Float, 3, 16, false);
    Bc7RgbaUnorm = block("bc7-rgba-unorm", Kind::Unorm, 4, 16, false);
    Bc7RgbaUnormSrgb = block("bc7-rgba-unorm-srgb", Kind::Unorm, 4, 16, true);
    Stencil8 = depth("stencil8", 0, Kind::Uint, true);
    Depth16Unorm = depth("depth16unorm", 16, Kind::Unorm, false);
    Depth24Plus = depth("depth24plus", 24, Kind::Unorm, false);
    Depth24PlusStencil8 = depth("depth24plus-stencil8", 24, Kind::Unorm, true);
    Depth32Float = depth("depth32float", 32, Kind::Float, false);
    Depth32FloatStencil8 = depth("depth32float-stencil8", 32, Kind::Float, true);
}

impl TextureFormat {
    /// WebGPU's name.
    pub const fn name(self) -> &'static str {
        self.info().name
    }

    /// Bytes of blue, green, red and alpha (or nothing), in this order.
    pub const fn is_bgra8(self) -> bool {
        use TextureFormat::*;
        matches!(self, Bgra8Unorm | Bgra8UnormSrgb | Bgrx8Unorm | Bgrx8UnormSrgb)
    }

    /// Stored in compressed 4x4 blocks.
    pub const fn is_compressed(self) -> bool {
        self as usize >= TextureFormat::Bc1RgbaUnorm as usize
            && self as usize <= TextureFormat::Bc7RgbaUnormSrgb as usize
    }

    /// Width and height in the units that copies count: blocks of compressed formats, else texels.
    pub const fn units(self, width: u32, height: u32) -> [u32; 2] {
        if self.is_compressed() {
            [width.div_ceil(4), height.div_ceil(4)]
        } else {
            [width, height]
        }
    }

    /// Has depth, stencil or both.
    pub const fn is_depth_stencil(self) -> bool {
        self.info().depth || self.info().stencil
    }

    /// The single-aspect format that stores `aspect`, or `None` where the format lacks it. `All` means colour, or
    /// depth, or the stencil of a stencil-only format.
    pub const fn aspect_format(self, aspect: Aspect) -> Option<TextureFormat> {
        use TextureFormat::*;
        match (aspect, self) {
            (Aspect::Stencil, Stencil8 | Depth24PlusStencil8 | Depth32FloatStencil8) => Some(Stencil8),
            (Aspect::All | Aspect::Depth, Depth24PlusStencil8) => Some(Depth24Plus),
            (Aspect::All | Aspect::Depth, Depth32FloatStencil8) => Some(Depth32Float),
            (Aspect::Depth, Depth16Unorm | Depth24Plus | Depth32Float) => Some(self),
            (Aspect::All, _) => Some(self),
            _ => None,
        }
    }

    /// The formats of the texture's storage planes: one, or depth then stencil.
    pub const fn storage(self) -> &'static [TextureFormat] {
        use TextureFormat::*;
        match self {
            Depth24PlusStencil8 => &[Depth24Plus, Stencil8],
            Depth32FloatStencil8 => &[Depth32Float, Stencil8],
            _ => {
                // A one-element slice per format, so that the result is 'static.
                const ALL: &[TextureFormat] = TextureFormat::ALL;
                ALL.split_at(self as usize).1.split_at(1).0
            }
        }
    }

    /// With and without sRGB: the format whose bits mean the same codes, decoded the other way (R-SAMP-112).
    pub const fn srgb_twin(self) -> Option<TextureFormat> {
        use TextureFormat::*;
        match self {
            Rgba8Unorm => Some(Rgba8UnormSrgb),
            Rgba8UnormSrgb => Some(Rgba8Unorm),
            Bgra8Unorm => Some(Bgra8UnormSrgb),
            Bgra8UnormSrgb => Some(Bgra8Unorm),
            Bgrx8Unorm => Some(Bgrx8UnormSrgb),
            Bgrx8UnormSrgb => Some(Bgrx8Unorm),
            Bc1RgbaUnorm => Some(Bc1RgbaUnormSrgb),
            Bc1RgbaUnormSrgb => Some(Bc1RgbaUnorm),
            Bc2RgbaUnorm => Some(Bc2RgbaUnormSrgb),
            Bc2RgbaUnormSrgb => Some(Bc2RgbaUnorm),
            Bc3RgbaUnorm => Some(Bc3RgbaUnormSrgb),
            Bc3RgbaUnormSrgb => Some(Bc3RgbaUnorm),
            Bc7RgbaUnorm => Some(Bc7RgbaUnormSrgb),
            Bc7RgbaUnormSrgb => Some(Bc7RgbaUnorm),
            _ => None,
        }
    }
}

impl FromStr for TextureFormat {
    type Err = UnknownFormat;

    fn from_str(name: &str) -> Result<Self, UnknownFormat> {
        TextureFormat::ALL
            .iter()
            .copied()
            .find(|f| f.name() == name)
            .ok_or_else(|| UnknownFormat(name.to_owned()))
    }
}

impl fmt::Display for TextureFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip_and_table_order_holds() {
        for &f in TextureFormat::ALL {
            assert_eq!(f.name().parse::<TextureFormat>().unwrap(), f);
            assert_eq!(f.storage().len(), 1 + usize::from(f.info().depth && f.info().stencil));
            if f.storage().len() == 1 {
                assert_eq!(f.storage()[0], f);
            }
            assert_eq!(f.info().bytes, f.storage().iter().map(|p| p.info().bytes).sum::<u32>());
        }
        assert!("rgba8".parse::<TextureFormat>().is_err());
    }

    #[test]
    fn capabilities_follow_webgpu() {
        use TextureFormat::*;
        assert_eq!(
            (
                Rgba8Unorm.info().bytes,
                Rg11b10Ufloat.info().bytes,
                Rgb9e5Ufloat.info().bytes
            ),
            (4, 4, 4)
        );
        assert_eq!(
            (
                Rgba16Float.info().bytes,
                Rgba32Float.info().bytes,
                Rgb10a2Unorm.info().bytes
            ),
            (8, 16, 4)
        );
        assert!(Rgba8UnormSrgb.info().resolvable && R32Float.info().resolvable && !Rgba8Uint.info().resolvable);
        assert!(!R8Uint.info().filterable && !R8Uint.info().blendable && R8Uint.info().renderable);
        assert!(!Rgb9e5Ufloat.info().renderable && Depth16Unorm.info().renderable && !Stencil8.info().filterable);
        assert_eq!(Depth24PlusStencil8.aspect_format(Aspect::Stencil), Some(Stencil8));
        assert_eq!(Depth24Plus.aspect_format(Aspect::Stencil), None);
        assert_eq!(Rgba8Unorm.aspect_format(Aspect::Depth), None);
        assert_eq!((A8Unorm.info().present(), A8Unorm.info().bytes), (8, 1));
        assert_eq!((Bgrx8Unorm.info().present(), Bgrx8Unorm.info().bytes), (7, 4));
        assert_eq!((B5g6r5Unorm.info().bytes, B5g5r5a1Unorm.info().bytes), (2, 2));
    }
}
