//! Special values, and functions that are exact: compared bit by bit with independent definitions.

use super::{Bits, call, int};
use crate::ir::{Alu, Kind};
use crate::passes::expand::eval;

const INF: f32 = f32::INFINITY;
const NAN: f32 = f32::NAN;

/// Equal as bits; all NaNs are one.
#[track_caller]
fn same(op: Alu, args: &[f32], want: f32) {
    let got = call(op, args);
    let equal = got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan();
    assert!(equal, "{op:?}{args:?} = {got:e}, not {want:e}");
}

/// The table of R-PS section 8.
#[test]
fn special_values() {
    let table: &[(Alu, [f32; 5])] = &[
        // Operands: -INF, -0, +0, +INF, NaN.
        (Alu::FRsqrt, [NAN, -INF, INF, 0.0, NAN]),
        (Alu::FExp2, [0.0, 1.0, 1.0, INF, NAN]),
        (Alu::FExp, [0.0, 1.0, 1.0, INF, NAN]),
        (Alu::FLog2, [NAN, -INF, -INF, INF, NAN]),
        (Alu::FLog, [NAN, -INF, -INF, INF, NAN]),
        (Alu::FSin, [NAN, -0.0, 0.0, NAN, NAN]),
        (Alu::FCos, [NAN, 1.0, 1.0, NAN, NAN]),
        (Alu::FTan, [NAN, -0.0, 0.0, NAN, NAN]),
        (Alu::FFract, [NAN, 0.0, 0.0, NAN, NAN]),
        (Alu::FSign, [-1.0, 0.0, 0.0, 1.0, 0.0]),
        (Alu::FSaturate, [0.0, 0.0, 0.0, 1.0, 0.0]),
        (Alu::FAsin, [NAN, -0.0, 0.0, NAN, NAN]),
        (
            Alu::FAcos,
            [NAN, std::f32::consts::FRAC_PI_2, std::f32::consts::FRAC_PI_2, NAN, NAN],
        ),
        (
            Alu::FAtan,
            [
                -std::f32::consts::FRAC_PI_2,
                -0.0,
                0.0,
                std::f32::consts::FRAC_PI_2,
                NAN,
            ],
        ),
        (Alu::FSinh, [-INF, -0.0, 0.0, INF, NAN]),
        (Alu::FCosh, [INF, 1.0, 1.0, INF, NAN]),
        (Alu::FTanh, [-1.0, -0.0, 0.0, 1.0, NAN]),
        (Alu::FAsinh, [-INF, -0.0, 0.0, INF, NAN]),
        (Alu::FAcosh, [NAN, NAN, NAN, INF, NAN]),
        (Alu::FAtanh, [NAN, -0.0, 0.0, NAN, NAN]),
        (Alu::QuantizeF16, [-INF, -0.0, 0.0, INF, NAN]),
    ];
    for (op, results) in table {
        for (x, want) in [-INF, -0.0, 0.0, INF, NAN].into_iter().zip(results) {
            same(*op, &[x], *want);
        }
    }
    same(Alu::FLog2, &[-1.0], NAN);
    same(Alu::FLog2, &[-f32::from_bits(1)], NAN);
    same(Alu::FAtanh, &[1.0], INF);
    same(Alu::FAtanh, &[-1.0], -INF);
    same(Alu::FAtanh, &[1.5], NAN);
    same(Alu::FAcosh, &[1.0], 0.0);
    same(Alu::FAcosh, &[0.999], NAN);
    same(Alu::FAcosh, &[-1e20], NAN);
    same(Alu::FAsin, &[1.001], NAN);
    same(Alu::FAcos, &[1.0], 0.0);
}

#[test]
fn powers_of_two_are_exact_and_tiny_results_vanish() {
    for n in -126..128 {
        let want = f32::from_bits(((n + 127) as u32) << 23);
        same(Alu::FExp2, &[n as f32], want);
        same(Alu::FLog2, &[want], n as f32);
    }
    same(Alu::FExp2, &[128.0], INF);
    // Law N1: no denormal results.
    for x in [-126.001f32, -127.0, -140.0, -1e30] {
        same(Alu::FExp2, &[x], 0.0);
    }
    same(Alu::FExp, &[-88.0], 0.0);
    for i in 0..=255u32 {
        let c = i as f32 / 255.0;
        let y = call(Alu::FPow, &[c, 60.0]);
        assert!(!y.is_subnormal(), "{c}^60 = {y:e}");
    }
}

#[test]
fn power_specials() {
    same(Alu::FPow, &[0.0, 2.0], 0.0);
    same(Alu::FPow, &[-0.0, 0.5], 0.0);
    same(Alu::FPow, &[0.0, -1.0], INF);
    same(Alu::FPow, &[0.0, 0.0], 1.0);
    same(Alu::FPow, &[3.7, 0.0], 1.0);
    same(Alu::FPow, &[1.0, 1e30], 1.0);
    same(Alu::FPow, &[INF, 0.5], INF);
    same(Alu::FPow, &[INF, -0.5], 0.0);
    same(Alu::FPow, &[-1.0, 2.0], NAN);
    same(Alu::FPow, &[NAN, 2.0], NAN);
    same(Alu::FPow, &[2.0, NAN], NAN);
    same(Alu::FPow, &[2.0, 1e9], INF);
    same(Alu::FPow, &[2.0, -1e9], 0.0);
    same(Alu::FPow, &[2.0, 10.0], 1024.0);
}

/// As IEEE 754's atan2Pi and C's atan2: signed zeros and infinities.
#[test]
fn atan2_specials() {
    let pi = std::f32::consts::PI;
    for (y, x, want) in [
        (0.0, 0.0, 0.0),
        (-0.0, 0.0, -0.0),
        (0.0, -0.0, pi),
        (-0.0, -0.0, -pi),
        (0.0, -1.0, pi),
        (-0.0, -1.0, -pi),
        (1.0, 0.0, pi / 2.0),
        (-1.0, -0.0, -pi / 2.0),
        (INF, INF, pi / 4.0),
        (INF, -INF, 3.0 * (pi / 4.0)),
        (-INF, 1.0, -pi / 2.0),
        (1.0, INF, 0.0),
        (1.0, -INF, pi),
        (NAN, 1.0, NAN),
        (1.0, NAN, NAN),
    ] {
        let got = call(Alu::FAtan2, &[y, x]);
        let close = (got - want).abs() < 3e-7 && got.is_sign_negative() == want.is_sign_negative();
        assert!(
            close || got.is_nan() && want.is_nan(),
            "atan2({y}, {x}) = {got}, not {want}"
        );
    }
}

#[test]
fn fractions_stay_below_one() {
    same(Alu::FFract, &[-1e-10], f32::from_bits(0x3F7F_FFFF));
    same(Alu::FFract, &[1.75], 0.75);
    same(Alu::FFract, &[-1.25], 0.75);
    same(Alu::FRem, &[5.5, 2.0], 1.5);
    same(Alu::FRem, &[-5.5, 2.0], -1.5);
    same(Alu::FRem, &[1.0, 0.0], NAN);
    for (x, fraction, whole) in [
        (1.5f32, 0.5f32, 1.0f32),
        (-1.5, -0.5, -1.0),
        (-3.0, -0.0, -3.0),
        (INF, 0.0, INF),
    ] {
        let parts = eval(Alu::FModf, Kind::F32, &[x.to_bits()]);
        assert_eq!(parts[..], [fraction.to_bits(), whole.to_bits()], "modf({x})");
    }
}

/// Random numbers and every kind of special one.
fn samples(count: usize) -> Vec<f32> {
    let mut bits = Bits(0x1234_5678_9ABC_DEF1);
    let special = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        INF,
        -INF,
        NAN,
        f32::MIN_POSITIVE,
        -f32::MIN_POSITIVE,
        f32::MAX,
        f32::MIN,
        f32::from_bits(1),
        f32::from_bits(0x007F_FFFF),
        -f32::from_bits(3),
        65504.0,
        65519.996,
        65520.0,
        70000.0,
        2.0f32 / 33_554_432.0 * 1.5,
    ];
    special
        .into_iter()
        .chain((0..count).map(|_| f32::from_bits(bits.next())))
        .collect()
}

#[test]
fn frexp_and_ldexp() {
    for x in samples(20_000) {
        let parts = eval(Alu::FFrexp, Kind::F32, &[x.to_bits()]);
        let (fraction, exponent) = (f32::from_bits(parts[0]), parts[1] as i32);
        let (want, want_exponent) = libm::frexpf(x);
        if x == 0.0 || !x.is_finite() {
            assert!(exponent == 0 && (parts[0] == x.to_bits() || x.is_nan()), "frexp({x:e})");
        } else {
            assert_eq!((fraction, exponent), (want, want_exponent), "frexp({x:e})");
        }
        for n in [
            -400,
            -160,
            -149,
            -127,
            -30,
            -1,
            0,
            1,
            24,
            127,
            128,
            250,
            277,
            1000,
            i32::MIN,
            i32::MAX,
        ] {
            let got = f32::from_bits(eval(Alu::FLdexp, Kind::F32, &[x.to_bits(), n as u32])[0]);
            // In double precision the product is exact; the conversion rounds once.
            let want = libm::ldexp(f64::from(x), n.clamp(-500, 500)) as f32;
            let equal = got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan();
            assert!(equal, "ldexp({x:e}, {n}) = {got:e}, not {want:e}");
        }
    }
}

/// f32 to half by exact arithmetic in double precision; `rounded` rounds a number of steps.
fn half_reference(x: f32, rounded: impl Fn(f64) -> f64, overflow: u32) -> u32 {
    let sign = x.to_bits() >> 16 & 0x8000;
    let a = f64::from(x.abs());
    if x.is_nan() {
        return 0x7E00;
    }
    if x.is_infinite() {
        return sign | 0x7C00;
    }
    let exponent = libm::ilogb(a).max(-14);
    let steps = rounded(a * libm::exp2(f64::from(10 - exponent)));
    let magnitude = (((exponent + 14) as i64) << 10) + steps as i64;
    if a >= 65504.0 && magnitude >= 0x7C00 {
        return sign | overflow;
    }
    sign | magnitude as u32
}

#[test]
fn halves() {
    let nearest = |x: f32| half_reference(x, f64::round_ties_even, 0x7C00);
    let down = |x: f32| half_reference(x, f64::trunc, 0x7BFF);
    let check = |x: f32| {
        let bits = [x.to_bits()];
        assert_eq!(int(Alu::HalfBits, Kind::F32, &bits), nearest(x), "half bits of {x:e}");
        assert_eq!(
            int(Alu::HalfBitsRtz, Kind::F32, &bits),
            down(x),
            "half bits toward zero of {x:e}"
        );
        let quantized = int(Alu::QuantizeF16, Kind::F32, &bits);
        let through = int(Alu::HalfToF, Kind::U32, &[nearest(x)]);
        assert!(
            quantized == through || x.is_nan() && f32::from_bits(quantized).is_nan(),
            "quantize {x:e}"
        );
    };
    for h in 0..=0xFFFFu32 {
        let f = f32::from_bits(int(Alu::HalfToF, Kind::U32, &[h]));
        let (exponent, mantissa) = (h >> 10 & 31, h & 1023);
        let magnitude = match exponent {
            0 => f64::from(mantissa) / 16_777_216.0,
            31 if mantissa == 0 => f64::INFINITY,
            31 => f64::NAN,
            _ => libm::ldexp(f64::from(1024 + mantissa), exponent as i32 - 25),
        };
        let want = if h & 0x8000 != 0 { -magnitude } else { magnitude } as f32;
        assert!(
            f.to_bits() == want.to_bits() || f.is_nan() && want.is_nan(),
            "half {h:04x}"
        );
        if !f.is_nan() {
            assert_eq!(int(Alu::HalfBits, Kind::F32, &[f.to_bits()]), h);
            assert_eq!(int(Alu::HalfBitsRtz, Kind::F32, &[f.to_bits()]), h);
            // Around every half, and around the middle to the next.
            let next = f32::from_bits(int(Alu::HalfToF, Kind::U32, &[(h + 1) & 0xFFFF]));
            let middle = (f64::from(f) + f64::from(next)) as f32 / 2.0;
            for x in [f, middle] {
                for delta in [-1i32, 0, 1] {
                    check(f32::from_bits((x.to_bits() as i32).wrapping_add(delta) as u32));
                }
            }
        }
    }
    samples(100_000).into_iter().for_each(check);
    // The worked values of R-PS section 10.
    for (x, rtz, rne) in [
        (65519.996f32, 0x7BFF, 0x7BFF),
        (65520.0, 0x7BFF, 0x7C00),
        (1.5 / 16_777_216.0, 1, 2),
        (1.000_488_3, 0x3C00, 0x3C00),
    ] {
        assert_eq!(int(Alu::HalfBitsRtz, Kind::F32, &[x.to_bits()]), rtz);
        assert_eq!(int(Alu::HalfBits, Kind::F32, &[x.to_bits()]), rne);
    }
}

/// R-SAMP-101, R-SAMP-102.
#[test]
fn unorm8() {
    for code in 0..=255u32 {
        let f = int(Alu::Unorm8ToF, Kind::U32, &[code]);
        assert_eq!(f, ((f64::from(code) / 255.0) as f32).to_bits(), "{code}");
        assert_eq!(int(Alu::FToUnorm8, Kind::F32, &[f]), code);
        // Around the boundary to the next code.
        let boundary = ((f64::from(code) + 0.5) / 255.0) as f32;
        for delta in -3i32..=3 {
            let x = f32::from_bits((boundary.to_bits() as i32 + delta) as u32);
            let want = (f64::from(x) * 255.0 + 0.5).floor().min(255.0) as u32;
            assert_eq!(int(Alu::FToUnorm8, Kind::F32, &[x.to_bits()]), want, "{x:e}");
        }
    }
    for x in samples(50_000) {
        let clamped = if x > 0.0 { f64::from(x).min(1.0) } else { 0.0 };
        let want = (clamped * 255.0 + 0.5).floor() as u32;
        assert_eq!(int(Alu::FToUnorm8, Kind::F32, &[x.to_bits()]), want, "{x:e}");
    }
    for (x, want) in [(0.5f32, 128), (1.0 / 255.0, 1), (0.00196, 0), (0.001961, 1)] {
        assert_eq!(int(Alu::FToUnorm8, Kind::F32, &[x.to_bits()]), want);
    }
}

fn check_division(a: u32, b: u32) {
    let (sa, sb) = (a as i32, b as i32);
    let want = match b {
        0 => [a, 0, a, 0],
        _ => [a / b, a % b, sa.wrapping_div(sb) as u32, sa.wrapping_rem(sb) as u32],
    };
    let got = [
        int(Alu::UDiv, Kind::U32, &[a, b]),
        int(Alu::URem, Kind::U32, &[a, b]),
        int(Alu::SDiv, Kind::I32, &[a, b]),
        int(Alu::SRem, Kind::I32, &[a, b]),
    ];
    assert_eq!(got, want, "{a:#x} by {b:#x}");
    let d3d = eval(Alu::UDivRemD3d, Kind::U32, &[a, b]);
    let want = [a.checked_div(b), a.checked_rem(b)].map(|x| x.unwrap_or(u32::MAX));
    assert_eq!(d3d[..], want, "{a:#x} by {b:#x}, Direct3D");
}

/// R-WGSL-62, R-PS-121.
#[test]
fn divisions() {
    let mut edges: Vec<u32> = vec![0, u32::MAX, 0x7FFF_FFFF, 0xFFFF_FF00, 0xFFFF_FF7F, 0xFFFF_FF80];
    for shift in 0..32 {
        edges.extend([
            (1u32 << shift) - 1,
            1 << shift,
            (1 << shift) + 1,
            (1u32 << shift).wrapping_neg(),
        ]);
    }
    for &a in &edges {
        for &b in &edges {
            check_division(a, b);
        }
    }
    let mut bits = Bits(0xD1B5_4A32_D192_ED03);
    for _ in 0..150_000 {
        let (a, b, c) = (bits.next(), bits.next(), bits.next());
        check_division(a, b >> (c & 31));
        // Multiples and their neighbours: where an estimate errs.
        let b = (b >> (c & 31)).max(1);
        let multiple = a / b * b;
        for a in [multiple, multiple.wrapping_sub(1), multiple.wrapping_add(b - 1)] {
            check_division(a, b);
        }
    }
}

#[test]
fn bit_functions() {
    let mut bits = Bits(0x9E37_79B9_7F4A_7C15);
    let mut values: Vec<u32> = vec![0, u32::MAX, 0x1234_5678, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFE];
    for shift in 0..32 {
        values.extend([
            1 << shift,
            u32::MAX >> shift,
            u32::MAX << shift,
            (1u32 << shift).wrapping_add(1),
        ]);
    }
    values.extend((0..20_000).map(|i| bits.next() >> (i % 32)));
    for v in values {
        let s = v as i32;
        let highest = |x: u32| if x == 0 { u32::MAX } else { 31 - x.leading_zeros() };
        for (op, want) in [
            (Alu::PopCount, v.count_ones()),
            (Alu::ReverseBits, v.reverse_bits()),
            (Alu::LeadingZeros, v.leading_zeros()),
            (Alu::TrailingZeros, v.trailing_zeros()),
            (Alu::FirstLeadingU, highest(v)),
            (Alu::FirstLeadingS, highest(if s < 0 { !v } else { v })),
            (Alu::FirstTrailing, if v == 0 { u32::MAX } else { v.trailing_zeros() }),
            (Alu::SAbs, s.wrapping_abs() as u32),
            (Alu::SSign, s.signum() as u32),
        ] {
            assert_eq!(int(op, Kind::I32, &[v]), want, "{op:?} of {v:#x}");
            assert_eq!(int(op, Kind::U32, &[v]), want, "{op:?} of {v:#x}");
        }
        let other = bits.next();
        let sum = v.overflowing_add(other);
        let difference = v.overflowing_sub(other);
        assert_eq!(
            eval(Alu::AddCarry, Kind::U32, &[v, other])[..],
            [sum.0, u32::from(sum.1)]
        );
        assert_eq!(
            eval(Alu::SubBorrow, Kind::U32, &[v, other])[..],
            [difference.0, u32::from(difference.1)]
        );
    }
    assert_eq!(
        int(Alu::ReverseBits, Kind::U32, &[0x1234_5678]),
        0x1E6A_2C48,
        "R-PS-124"
    );
    assert_eq!(int(Alu::FirstLeadingU, Kind::U32, &[0x1000_0000]), 28, "R-WGSL-66");
}

/// WGSL extractBits and insertBits in 64-bit arithmetic.
#[test]
fn bit_fields() {
    let mut bits = Bits(0xABCD_EF01_2345_6789);
    let edges = [0u32, 1, 7, 16, 31, 32, 33, 100, u32::MAX];
    for offset in edges {
        for count in edges {
            for _ in 0..20 {
                let (v, new) = (bits.next(), bits.next());
                let o = offset.min(32);
                let c = count.min(32 - o);
                let mask = ((1u64 << c) - 1) as u32;
                let field = (u64::from(v) >> o) as u32 & mask;
                let signed = if c == 0 {
                    0
                } else {
                    ((field << (32 - c)) as i32 >> (32 - c)) as u32
                };
                let placed = (u64::from(mask) << o) as u32;
                let inserted = v & !placed | (u64::from(new) << o) as u32 & placed;
                assert_eq!(
                    int(Alu::ExtractU, Kind::U32, &[v, offset, count]),
                    field,
                    "{offset} {count}"
                );
                assert_eq!(
                    int(Alu::ExtractS, Kind::I32, &[v, offset, count]),
                    signed,
                    "{offset} {count}"
                );
                assert_eq!(
                    int(Alu::InsertBits, Kind::U32, &[v, new, offset, count]),
                    inserted,
                    "{offset} {count}"
                );
            }
        }
    }
}
