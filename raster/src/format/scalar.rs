//! Exact conversion of single numbers: normalised integers and small floats.
//!
//! Every function is correctly rounded (the CHOICE of R-SAMP-102): the products below fit f64 without rounding, so
//! that adding one half and truncating is the rule as written. Source: R-SAMP-101..104, 107, 108, R-OM-4, R-OM-39.

/// `i / (2^bits - 1)`, correctly rounded (R-SAMP-101). `bits` up to 24.
#[inline]
pub fn unorm_to_f32(code: u32, bits: u32) -> f32 {
    // Both operands are exact in f32, so the one division rounds correctly.
    code as f32 / ((1u32 << bits) - 1) as f32
}

/// Nearest code, halves up; NaN gives 0 (R-SAMP-102, R-OM-4). `bits` up to 24.
#[inline]
pub fn f32_to_unorm(value: f32, bits: u32) -> u32 {
    // NaN fails the comparison.
    let clamped = if value > 0.0 { f64::from(value.min(1.0)) } else { 0.0 };
    (clamped * f64::from((1u32 << bits) - 1) + 0.5) as u32
}

/// `c / (2^(bits-1) - 1)`, the most negative code as -1 (R-SAMP-103).
#[inline]
pub fn snorm_to_f32(code: i32, bits: u32) -> f32 {
    (code as f32 / ((1i32 << (bits - 1)) - 1) as f32).max(-1.0)
}

/// Nearest code, halves away from zero; NaN gives 0 (R-SAMP-104).
#[inline]
pub fn f32_to_snorm(value: f32, bits: u32) -> i32 {
    if value.is_nan() {
        return 0;
    }
    let scaled = f64::from(value.clamp(-1.0, 1.0)) * f64::from((1i32 << (bits - 1)) - 1);
    (scaled + 0.5f64.copysign(scaled)) as i32
}

/// Half float to f32, exactly; signalling NaNs become quiet (as the F16C instructions do).
#[inline]
pub fn f16_to_f32(half: u16) -> f32 {
    let sign = u32::from(half & 0x8000) << 16;
    let magnitude = u32::from(half & 0x7fff);
    let bits = match magnitude {
        0 => 0,
        1..0x400 => return f32::from_bits(sign | (magnitude as f32 * (1.0 / 16_777_216.0)).to_bits()),
        0x400..0x7c00 => (magnitude << 13) + (112 << 23),
        0x7c00 => 0x7f80_0000,
        _ => 0x7fc0_0000 | (magnitude << 13),
    };
    f32::from_bits(sign | bits)
}

/// f32 to half float, to nearest even (WebGPU rules, R-OM-39); NaNs become quiet and keep their upper payload.
#[inline]
pub fn f32_to_f16(value: f32) -> u16 {
    let bits = value.to_bits();
    let sign = (bits >> 16) as u16 & 0x8000;
    let magnitude = bits & 0x7fff_ffff;
    let half = if magnitude > 0x7f80_0000 {
        0x7e00 | ((magnitude >> 13) & 0x1ff) as u16
    } else if magnitude >= 0x477f_f000 {
        0x7c00 // 65520 and above round to infinity
    } else if magnitude < 0x3880_0000 {
        // Below 2^-14: add a magic number whose unit in the last place is 2^-24; the adder rounds to nearest even.
        (f32::from_bits(magnitude) + 0.5)
            .to_bits()
            .wrapping_sub(0.5f32.to_bits()) as u16
    } else {
        let rebased = magnitude - (112 << 23);
        ((rebased + 0xfff + ((rebased >> 13) & 1)) >> 13) as u16
    };
    sign | half
}

/// f32 to half float, toward zero (Direct3D rules, R-OM-39): too large becomes 65504.
#[inline]
pub fn f32_to_f16_toward_zero(value: f32) -> u16 {
    let bits = value.to_bits();
    let sign = (bits >> 16) as u16 & 0x8000;
    let magnitude = f32::from_bits(bits & 0x7fff_ffff);
    if magnitude.is_nan() || magnitude.is_infinite() {
        return f32_to_f16(value);
    }
    sign | truncate_small(magnitude, 10)
}

/// An unsigned float with a 5-bit exponent and `mantissa` bits (6 or 5) to f32, exactly (R-SAMP-107).
#[inline]
pub fn ufloat_to_f32(code: u32, mantissa: u32) -> f32 {
    // It is a half float that lost its sign and its low mantissa bits.
    f16_to_f32((code << (10 - mantissa)) as u16)
}

/// f32 to an unsigned 5-bit-exponent float, toward zero: negative gives 0, too large the largest finite (R-SAMP-107).
#[inline]
pub fn f32_to_ufloat(value: f32, mantissa: u32) -> u32 {
    if value.is_nan() {
        return (31 << mantissa) | (1 << (mantissa - 1));
    }
    if value.is_sign_negative() {
        return 0;
    }
    if value.is_infinite() {
        return 31 << mantissa;
    }
    u32::from(truncate_small(value, mantissa))
}

/// Exponent and mantissa of a finite, non-negative number, cut off toward zero and saturated.
fn truncate_small(value: f32, mantissa: u32) -> u16 {
    let bits = value.to_bits();
    let largest = (31 << mantissa) - 1;
    let code = if bits < 0x3880_0000 {
        // Denormal: a whole number of units of 2^(-14 - mantissa); the product is exact in f64.
        (f64::from(value) * f64::from(1u32 << (14 + mantissa))) as u32
    } else {
        (bits - (112 << 23)) >> (23 - mantissa)
    };
    code.min(largest) as u16
}

/// Shared-exponent texel to three f32 (R-SAMP-108).
#[inline]
pub fn rgb9e5_to_f32(texel: u32) -> [f32; 3] {
    // 2^(E - 15 - 9), always a normal f32.
    let scale = f32::from_bits(((texel >> 27) + 127 - 24) << 23);
    [0, 9, 18].map(|shift| ((texel >> shift) & 511) as f32 * scale)
}

/// Three f32 to a shared-exponent texel: exponent from the largest channel, nearest mantissas (R-SAMP-108).
pub fn f32_to_rgb9e5(rgb: [f32; 3]) -> u32 {
    let rgb = rgb.map(|x| if x > 0.0 { f64::from(x.min(65408.0)) } else { 0.0 });
    let largest = rgb[0].max(rgb[1]).max(rgb[2]);
    // floor(log2) is the exponent field of the f32; zero and tiny values use the smallest exponent.
    let floor_log2 = ((largest as f32).to_bits() >> 23) as i32 - 127;
    let mut exponent = floor_log2.max(-16) + 16;
    let unit = |e: i32| f64::from_bits(((e - 24 + 1023) as u64) << 52);
    let code = |x: f64, e: i32| (x / unit(e) + 0.5) as u32;
    if code(largest, exponent) == 512 {
        exponent += 1;
    }
    code(rgb[0], exponent) | code(rgb[1], exponent) << 9 | code(rgb[2], exponent) << 18 | (exponent as u32) << 27
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exp2(e: i32) -> f32 {
        f32::from_bits(((127 + e) as u32) << 23)
    }

    /// Values of `spec/worked/formats.out` (R-SAMP-101..104).
    #[test]
    fn normalised_integers_match_worked_values() {
        let unorm = [
            (0.0, 0),
            (0.5, 128),
            (1.0 / 255.0, 1),
            (0.00196, 0),
            (0.001961, 1),
            (0.9999, 255),
            (1.5, 255),
        ];
        for (x, code) in unorm
            .into_iter()
            .chain([(-1.0, 0), (f32::NAN, 0), (f32::INFINITY, 255)])
        {
            assert_eq!(f32_to_unorm(x, 8), code, "{x}");
        }
        let snorm = [
            (-1.0, -127),
            (-0.5, -64),
            (0.0, 0),
            (0.5, 64),
            (1.0, 127),
            (-2.0, -127),
            (f32::NAN, 0),
        ];
        for (x, code) in snorm.into_iter().chain([(0.00393, 0), (0.00394, 1), (-0.00394, -1)]) {
            assert_eq!(f32_to_snorm(x, 8), code, "{x}");
        }
        let read = [
            (-128, -1.0),
            (-127, -1.0),
            (-64, -0.503_937),
            (0, 0.0),
            (64, 0.503_937),
            (127, 1.0),
        ];
        for (code, x) in read {
            assert_eq!(snorm_to_f32(code, 8), x);
        }
    }

    /// R-OM-4's table.
    #[test]
    fn depth_codes_match_the_table() {
        let cases = [
            (0.25, 0x4000, 0x40_0000),
            (0.5, 0x8000, 0x80_0000),
            (1.0 / 3.0, 0x5555, 0x55_5555),
        ];
        for (z, d16, d24) in cases {
            assert_eq!((f32_to_unorm(z, 16), f32_to_unorm(z, 24)), (d16, d24));
        }
        let below_one = f32::from_bits(1.0f32.to_bits() - 1);
        assert_eq!(
            (f32_to_unorm(below_one, 16), f32_to_unorm(below_one, 24)),
            (0xffff, 0xff_fffe)
        );
        assert_eq!((f32_to_unorm(exp2(-17), 16), f32_to_unorm(exp2(-17), 24)), (0, 0x80));
        assert_eq!(f32_to_unorm(exp2(-18), 24), 0x40);
        assert_eq!(unorm_to_f32(0x40_0000, 24), 0.25000003);
    }

    /// Values of `spec/worked/formats.out` (R-SAMP-107).
    #[test]
    fn half_floats_match_worked_values() {
        #[rustfmt::skip]
        let cases: [(f32, u16, u16); 14] = [
            (1.0, 0x3c00, 0x3c00), (65504.0, 0x7bff, 0x7bff), (65519.996, 0x7bff, 0x7bff), (65520.0, 0x7bff, 0x7c00),
            (1e10, 0x7bff, 0x7c00), (f32::INFINITY, 0x7c00, 0x7c00), (f32::NEG_INFINITY, 0xfc00, 0xfc00),
            (5.960_464_5e-8, 1, 1), (2.980_232_2e-8, 0, 0), (8.940_697e-8, 1, 2), (6.1e-5, 0x3ff, 0x3ff),
            (0.1, 0x2e66, 0x2e66), (1.000_488_3, 0x3c00, 0x3c00), (-0.0, 0x8000, 0x8000),
        ];
        for (x, toward_zero, nearest) in cases {
            assert_eq!(f32_to_f16_toward_zero(x), toward_zero, "{x} toward zero");
            assert_eq!(f32_to_f16(x), nearest, "{x} nearest");
        }
        assert_eq!(
            (f32_to_f16(f32::NAN), f32_to_f16_toward_zero(f32::NAN)),
            (0x7e00, 0x7e00)
        );
    }

    #[test]
    fn every_half_float_agrees_with_an_independent_converter() {
        for h in 0..=u16::MAX {
            let x = f16_to_f32(h);
            let other = half::f16::from_bits(h).to_f32();
            assert!(
                x.to_bits() == other.to_bits() || x.is_nan() && other.is_nan(),
                "{h:04x}"
            );
            if !x.is_nan() {
                assert_eq!(f32_to_f16(x), h);
                assert_eq!(f32_to_f16_toward_zero(x), h);
            }
        }
        let mut bits = 1u32;
        for _ in 0..200_000 {
            bits = bits.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let x = f32::from_bits(bits);
            if !x.is_nan() {
                assert_eq!(f32_to_f16(x), half::f16::from_f32(x).to_bits(), "{bits:08x}");
            }
        }
    }

    /// Values of `spec/worked/formats.out` (R-SAMP-107, 108).
    #[test]
    fn packed_floats_match_worked_values() {
        let cases = [
            (1.0, 0x3c0, 0x1e0),
            (0.1, 0x2e6, 0x173),
            (65024.0, 0x7bf, 0x3df),
            (65100.0, 0x7bf, 0x3df),
            (1e6, 0x7bf, 0x3df),
            (-1.0, 0, 0),
            (f32::INFINITY, 0x7c0, 0x3e0),
            (f32::NAN, 0x7e0, 0x3f0),
            (9.536_743e-7, 1, 0),
        ];
        for (x, f11, f10) in cases {
            assert_eq!((f32_to_ufloat(x, 6), f32_to_ufloat(x, 5)), (f11, f10), "{x}");
        }
        assert_eq!((ufloat_to_f32(0x7bf, 6), ufloat_to_f32(0x3df, 5)), (65024.0, 64512.0));
        assert_eq!((ufloat_to_f32(1, 6), ufloat_to_f32(1, 5)), (exp2(-20), exp2(-19)));
        assert_eq!(rgb9e5_to_f32(0x9993_20c8), [6.25, 12.5, 3.125]);
        assert_eq!(rgb9e5_to_f32(0xf800_01ff)[0], 65408.0);
        assert_eq!(rgb9e5_to_f32(1)[0], exp2(-24));
        assert_eq!(f32_to_rgb9e5([6.25, 12.5, 3.125]), 0x9993_20c8);
        assert_eq!(f32_to_rgb9e5([1.0; 3]), 0x8402_0100);
        assert_eq!(f32_to_rgb9e5([f32::NAN, -1.0, 0.0]), 0);
    }
}
