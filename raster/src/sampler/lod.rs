//! Level of detail: logarithm, anisotropy, clamps and the choice of levels (R-SAMP-3, 31, 32, 40..45, 49).
//!
//! All arithmetic is IEEE f32 in a fixed order without fusing, so that every level of [`crate::simd`] and every machine
//! picks the same levels (law N4: no logarithm of std).

use super::descriptor::{FilterMode, SamplerDescriptor};
use crate::simd::{Floats, Ints, Simd, each, inlined};

/// log2(m) on the 16 sixteenths of [1, 2) is about `AT[i] + SLOPE[i] * m`: the chords.
const AT: [i32; 16] = bits([
    -1.399_405_5,
    -1.314_393_9,
    -1.234_120_2,
    -1.158_083_6,
    -1.085_858_5,
    -1.017_080_7,
    -0.951_435_8,
    -0.888_650_6,
    -0.828_486,
    -0.770_732_05,
    -0.715_202_7,
    -0.661_732_85,
    -0.610_175_13,
    -0.560_397_45,
    -0.512_280_8,
    -0.465_718_06,
]);
const SLOPE: [i32; 16] = bits([
    1.399_405_5,
    1.319_394_6,
    1.248_040_2,
    1.184_009_3,
    1.126_229_3,
    1.073_827_1,
    1.026_085_4,
    0.982_408_7,
    0.942_299,
    0.905_336_44,
    0.871_164_56,
    0.839_478_73,
    0.810_017_17,
    0.782_553_6,
    0.756_891_4,
    0.732_859,
]);

const fn bits(v: [f32; 16]) -> [i32; 16] {
    let mut out = [0; 16];
    let mut i = 0;
    while i < 16 {
        out[i] = v[i].to_bits() as i32;
        i += 1;
    }
    out
}

/// Base-2 logarithm of positive numbers, within 0.0007 and monotone; powers of two are exact. An LOD, half of it, is off
/// by a twelfth of the 1/256 it is rounded to, which buys a dependency chain half as long as a polynomial's. 0
/// gives -127, infinity and NaN 128 or more: they saturate any clamp.
#[inline(always)]
pub fn log2<S: Simd>(s: S, x: S::F) -> S::F {
    // Without sign: the sign of a NaN differs between machines, and NaN shall saturate upwards on all of them.
    let bits = x.abs().bits();
    let e = (bits.shr::<23>() - s.i32(127)).to_f32();
    let m = ((bits & s.i32(0x7f_ffff)) | s.i32(0x3f80_0000)).as_f32();
    let i = bits.shr::<19>();
    e + (s.pick16(&AT, i).as_f32() + s.pick16(&SLOPE, i).as_f32() * m)
}

/// Where the ideal footprint lies (R-SAMP-43, 44).
#[derive(Clone, Copy)]
pub struct Footprint<S: Simd> {
    /// LOD before bias and clamps, times 256.
    pub lod: S::F,
    /// Taps along the major axis, 1..=16.
    pub taps: S::I,
    /// The major axis, in texels of the view's first level.
    pub axis: [S::F; 2],
}

/// Isotropic LOD of scaled derivatives (R-SAMP-41), times 256.
#[inline(always)]
pub fn isotropic<S: Simd>(s: S, dx: &[S::F], dy: &[S::F]) -> S::F {
    let square = inlined(
        #[inline(always)]
        |d: &[S::F]| {
            let mut sum = d[0] * d[0];
            for &c in &d[1..] {
                sum = sum + c * c;
            }
            sum
        },
    );
    s.f32(128.0) * log2(s, square(dx).max(square(dy)))
}

/// The axes of the ellipse that the scaled derivatives span, and what R-SAMP-43 makes of them.
///
/// The pre-step of R-SAMP-42 replaces the derivatives by the ellipse's axes. Only the major axis and the determinant (which
/// it keeps) matter afterwards: its squared length is the larger eigenvalue (q + t) / 2 of the matrix
/// [[C, -B/2], [-B/2, A]], its direction the eigenvector.
#[inline(always)]
pub fn anisotropic<S: Simd>(s: S, dx: [S::F; 2], dy: [S::F; 2], max: f32) -> Footprint<S> {
    let (zero, one) = (s.f32(0.0), s.f32(1.0));
    let (sx, sy) = (dx[0] * dx[0] + dx[1] * dx[1], dy[0] * dy[0] + dy[1] * dy[1]);
    let det = (dx[0] * dy[1] - dx[1] * dy[0]).abs();
    let x_major = sy.lt(sx);
    let raw = each!(2; c in [0, 1] => x_major.select_f(dx[c], dy[c]));
    let a = dx[1] * dx[1] + dy[1] * dy[1];
    let b = s.f32(-2.0) * (dx[0] * dx[1] + dy[0] * dy[1]);
    let c = dx[0] * dx[0] + dy[0] * dy[0];
    let (p, q) = (a - c, a + c);
    let t = (p * p + b * b).sqrt();
    let square = s.f32(0.5) * (q + t);
    // Eigenvector: of the two equal forms the one without cancellation.
    let minus_b = zero - b;
    let tall = zero.lt(p);
    let ev = [tall.select_f(minus_b, t - p), tall.select_f(t + p, minus_b)];
    let scale = (square / (ev[0] * ev[0] + ev[1] * ev[1])).sqrt();
    let axis = each!(2; e in ev => e * scale);
    let length = (axis[0] * axis[0] + axis[1] * axis[1]).abs();
    let usable = zero.lt(det) & length.lt(s.f32(f32::INFINITY)) & zero.lt(t);
    let axis = each!(2; c in [0, 1] => usable.select_f(axis[c], raw[c]));
    let square = usable.select_f(square, sy.max(sx));

    let length = square.sqrt();
    let ratio = square / det;
    // A ratio that isn't below the limit, NaN included, takes the limit.
    let limited = !ratio.le(s.f32(max));
    let ratio = limited.select_f(s.f32(max), ratio);
    let minor = limited.select_f(length / s.f32(max), det / length);
    let ratio = minor.lt(one).select_f((ratio * minor).max(one), ratio);
    // In 8 fraction bits, like the LOD, so that rounding in a round footprint doesn't cost a second tap.
    let taps = ((ratio * s.f32(256.0)).round_i32() + s.i32(255)).shr::<8>();
    let taps = zero.lt(length).select(taps, s.i32(1)).min(s.i32(16)).max(s.i32(1));
    Footprint {
        lod: s.f32(256.0) * log2(s, minor),
        taps,
        axis,
    }
}

/// Levels to read and how.
#[derive(Clone, Copy)]
pub struct Levels<S: Simd> {
    /// First level.
    pub level: S::I,
    /// Weight of the next one, 0..256.
    pub weight: S::I,
    /// Lanes that filter linearly within a level.
    pub linear: S::I,
}

/// Bias, clamps, and the choice of levels and filter (R-SAMP-3, 31, 32, 45). `lod` is times 256, `count` levels exist.
#[inline(always)]
pub fn levels<S: Simd>(s: S, d: &SamplerDescriptor, count: u32, lod: S::F) -> Levels<S> {
    let lod = lod + s.f32(d.lod_bias * 256.0);
    let linear = if d.mag_filter == d.min_filter {
        flag(s, d.mag_filter)
    } else {
        let clamped = lod
            .min(s.f32(d.lod_max_clamp * 256.0))
            .max(s.f32(d.lod_min_clamp * 256.0));
        clamped
            .le(s.f32(0.0))
            .select(flag(s, d.mag_filter), flag(s, d.min_filter))
    };
    // Clamping to the levels as well changes no result: beyond them both levels are the same one. NaN takes the
    // upper clamp.
    let last = (count - 1) as f32;
    let high = d.lod_max_clamp.min(last);
    let low = d.lod_min_clamp.min(last);
    let inside = lod.min(s.f32(high * 256.0)).max(s.f32(low * 256.0));
    let fixed = inside.round_i32();
    match d.mipmap_filter {
        FilterMode::Nearest => Levels {
            level: (fixed + s.i32(128)).sar::<8>(),
            weight: s.i32(0),
            linear,
        },
        FilterMode::Linear => Levels {
            level: fixed.sar::<8>(),
            weight: fixed & s.i32(255),
            linear,
        },
    }
}

/// A mask for all lanes.
#[inline(always)]
pub fn flag<S: Simd>(s: S, f: FilterMode) -> S::I {
    s.i32(-i32::from(f == FilterMode::Linear))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::portable::Portable as P;

    fn log(x: f32) -> f32 {
        log2(P, P.f32(x)).to_array()[0]
    }

    #[test]
    fn logarithm_is_exact_at_powers_of_two_and_close_between() {
        for e in -100..100 {
            assert_eq!(log(libm::exp2f(e as f32)), e as f32);
        }
        let mut worst = 0.0f64;
        for bits in (0x3000_0000u32..0x5000_0000).step_by(10_007) {
            let x = f32::from_bits(bits);
            let exact = libm::log2(f64::from(x));
            worst = worst.max((f64::from(log(x)) - exact).abs());
        }
        assert!(worst < 7.0e-4, "{worst}");
        assert!(log(0.0) <= -127.0 && log(f32::INFINITY) >= 128.0);
    }

    fn aniso(dx: [f32; 2], dy: [f32; 2], max: f32) -> (f32, i32, [f32; 2]) {
        let f = anisotropic(P, dx.map(|d| P.f32(d)), dy.map(|d| P.f32(d)), max);
        (
            f.lod.to_array()[0] / 256.0,
            f.taps.to_array()[0],
            f.axis.map(|a| a.to_array()[0]),
        )
    }

    /// `spec/worked/lod.out`, and R-SAMP-43's table.
    #[test]
    fn worked_lods() {
        let iso = |dx: [f32; 2], dy: [f32; 2]| {
            isotropic(P, &dx.map(|d| P.f32(d)), &dy.map(|d| P.f32(d))).to_array()[0] / 256.0
        };
        assert_eq!(iso([1.0, 0.0], [0.0, 1.0]), 0.0);
        assert_eq!(iso([2.0, 0.0], [0.0, 1.0]), 1.0);
        assert!((iso([3.0, 4.0], [0.0, 1.0]) - 2.321_928).abs() < 4e-4);
        assert_eq!(iso([0.5, 0.0], [0.0, 0.5]), -1.0);
        assert!(iso([0.0; 2], [0.0; 2]) < -60.0);

        assert_eq!(aniso([8.0, 0.0], [0.0, 2.0], 16.0), (1.0, 4, [8.0, 0.0]));
        assert_eq!(aniso([8.0, 0.0], [0.0, 2.0], 2.0), (2.0, 2, [8.0, 0.0]));
        assert_eq!(aniso([32.0, 0.0], [0.0, 1.0], 16.0), (1.0, 16, [32.0, 0.0]));
        assert_eq!(aniso([2.0, 0.0], [0.0, 0.25], 16.0), (-2.0, 2, [2.0, 0.0]));
        assert_eq!(aniso([1.0, 0.0], [0.0, 1.0], 16.0), (0.0, 1, [0.0, 1.0]));
        let (lod, taps, axis) = aniso([6.0, 6.0], [-1.0, 1.0], 16.0);
        assert!((lod - 0.5).abs() < 7e-4 && taps == 6, "{lod} {taps}");
        assert!((axis[0] - 6.0).abs() < 1e-5 && (axis[1] - 6.0).abs() < 1e-5);
        assert_eq!(aniso([0.0; 2], [0.0; 2], 16.0).1, 1);
    }

    /// R-SAMP-42: the ellipse of (4,1), (1,3) has axes of lengths 2.381966 and 4.618034.
    #[test]
    fn skewed_derivatives_use_the_ellipse() {
        let (lod, taps, axis) = aniso([4.0, 1.0], [1.0, 3.0], 16.0);
        assert!(
            (axis[0] - 3.928_334).abs() < 1e-5 && (axis[1] - 2.427_844).abs() < 1e-5,
            "{axis:?}"
        );
        assert!((lod - libm::log2f(2.381_966)).abs() < 7e-4);
        assert_eq!(taps, 2);
    }

    /// The clamp chain of `spec/worked/lod.out` (6 levels).
    #[test]
    fn clamp_chain() {
        let base = SamplerDescriptor {
            mag_filter: FilterMode::Nearest,
            min_filter: FilterMode::Linear,
            lod_min_clamp: 0.0,
            lod_max_clamp: 1000.0,
            ..SamplerDescriptor::default()
        };
        let check = |d: SamplerDescriptor, lod: f32, linear: (i32, i32), point: i32, min: bool| {
            let of = |mipmap_filter| {
                let l = levels(P, &SamplerDescriptor { mipmap_filter, ..d }, 6, P.f32(lod * 256.0));
                (
                    l.level.to_array()[0],
                    l.weight.to_array()[0],
                    l.linear.to_array()[0] != 0,
                )
            };
            assert_eq!(of(FilterMode::Linear), (linear.0, linear.1, min), "{lod}");
            assert_eq!(of(FilterMode::Nearest), (point, 0, min), "{lod}");
        };
        check(base, 0.5, (0, 128), 1, true);
        check(base, 0.498_046_8, (0, 127), 0, true);
        check(base, 1.5, (1, 128), 2, true);
        check(base, 2.25, (2, 64), 2, true);
        check(base, -0.3, (0, 0), 0, false);
        check(base, 9.0, (5, 0), 5, true);
        check(SamplerDescriptor { lod_bias: 0.5, ..base }, 1.25, (1, 192), 2, true);
        check(
            SamplerDescriptor {
                lod_min_clamp: 2.5,
                ..base
            },
            -2.0,
            (2, 128),
            3,
            true,
        );
        check(
            SamplerDescriptor {
                lod_max_clamp: 4.5,
                ..base
            },
            f32::NAN,
            (4, 128),
            5,
            true,
        );
        check(base, -127.0, (0, 0), 0, false);
    }
}
