//! sRGB and 8-bit normalised integers.
//!
//! Law S5, R-SAMP-101, 102, 105, 106: sRGB within 0.6 of a code, all 256 codes survive decoding and encoding;
//! normalised integers exact.

use super::ops::Ops;
use super::simple::saturate;

/// `1.055 t^(5/3) - 0.055` with t = c^(1/4), exact at 1: error 3.8e-5, a hundredth of an 8-bit code.
const ENCODE: [f32; 5] = [-0.064_800_62, 0.197_811_16, 1.117_553_5, -0.329_040_3, 0.078_476_28];
/// `((c + 0.055) / 1.055)^2.4`, exact at 1: error, measured back in 8-bit codes, 0.004.
const DECODE: [f32; 7] = [
    0.000_872_921_2,
    0.034_448_314,
    0.498_817_15,
    0.768_148_66,
    -0.531_972_05,
    0.313_227,
    -0.083_541_99,
];

pub(super) fn srgb_encode<O: Ops>(o: &mut O, c: O::V) -> O::V {
    let c = saturate(o, c);
    let slope = o.f(12.92);
    let linear = o.mul(c, slope);
    let t = o.sqrt(c);
    let t = o.sqrt(t);
    let curve = o.poly(t, &ENCODE);
    let limit = o.f(0.003_130_8);
    let above = o.lt(limit, c);
    o.select(above, curve, linear)
}

pub(super) fn srgb_decode<O: Ops>(o: &mut O, c: O::V) -> O::V {
    let c = saturate(o, c);
    let slope = o.f(1.0 / 12.92);
    let linear = o.mul(c, slope);
    let curve = o.poly(c, &DECODE);
    let limit = o.f(0.040_45);
    let above = o.lt(limit, c);
    o.select(above, curve, linear)
}

/// 1/255.
const RECIPROCAL: f32 = 1.0 / 255.0;
/// 1/255 - RECIPROCAL.
const RECIPROCAL_LOW: f32 = (1.0 / 255.0 - RECIPROCAL as f64) as f32;

/// The product is rounded to an integer once, by the addition of 2^23, hence exactly. The only tie, 1/2, goes up as
/// it should, since 128 is even.
pub(super) fn to_unorm8<O: Ops>(o: &mut O, x: O::V) -> O::V {
    let x = saturate(o, x);
    let (scale, magic) = (o.f(255.0), o.f(8_388_608.0));
    let t = o.fma(x, scale, magic);
    let t = o.bits(t);
    o.iaddc(t, 0x4B00_0000u32.wrapping_neg())
}

/// x/255 by a product with the reciprocal in two parts, rounded once: right for all 256 codes.
pub(super) fn from_unorm8<O: Ops>(o: &mut O, x: O::V) -> O::V {
    let x = o.s2f(x);
    let (high, low) = (o.f(RECIPROCAL), o.f(RECIPROCAL_LOW));
    let rest = o.mul(x, low);
    o.fma(x, high, rest)
}
