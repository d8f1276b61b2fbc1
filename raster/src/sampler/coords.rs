//! From normalised coordinates to texels: range reduction, 16.8 fixed point, address modes (R-SAMP-10..16, 20, 76).

use super::descriptor::AddressMode;
use super::view::Kernel;
use crate::simd::{Floats, Ints, Simd, inlined};

/// One level's figures, by lane.
#[derive(Clone, Copy)]
pub(super) struct Level<S: Simd> {
    /// In 1/256 texels.
    pub size: [S::F; 3],
    pub last: [S::I; 3],
    pub base: S::I,
    pub row: S::I,
    pub surface: S::I,
    /// Added for each block on the left: 12, or 16 where five texels stand for a row.
    column: S::I,
    /// All ones where five texels stand for a row.
    paired: S::I,
}

impl<S: Simd> Level<S> {
    /// The figures of each lane's level, and of the next one if `both` (else the same again).
    #[inline(always)]
    pub fn pair(s: S, view: &Kernel, level: S::I, both: bool) -> (Level<S>, Level<S>) {
        let first = if view.levels == 1 { 0 } else { level.to_array()[0] };
        if view.levels == 1 || level.eq(s.i32(first)).all() {
            let of = inlined(
                #[inline(always)]
                |level: i32| {
                    Level::from_tables(
                        s,
                        view,
                        #[inline(always)]
                        |table| s.i32(table[(level & 15) as usize]),
                    )
                },
            );
            let lower = of(first);
            (lower, if both { of(first + 1) } else { lower })
        } else {
            let of = inlined(
                #[inline(always)]
                |level: S::I| {
                    Level::from_tables(
                        s,
                        view,
                        #[inline(always)]
                        |table| s.pick16(table, level),
                    )
                },
            );
            let lower = of(level);
            (lower, if both { of(level + s.i32(1)) } else { lower })
        }
    }

    /// The figures of each lane's level.
    #[inline(always)]
    pub fn of(s: S, view: &Kernel, level: S::I) -> Level<S> {
        Level::pair(s, view, level, false).0
    }

    #[inline(always)]
    fn from_tables(s: S, view: &Kernel, pick: impl Fn(&[i32; 16]) -> S::I) -> Level<S> {
        Level {
            size: [
                pick(&view.size_fixed[0]).as_f32(),
                pick(&view.size_fixed[1]).as_f32(),
                pick(&view.size_fixed[2]).as_f32(),
            ],
            last: [pick(&view.last[0]), pick(&view.last[1]), pick(&view.last[2])],
            base: pick(&view.base),
            row: pick(&view.row),
            surface: pick(&view.surface),
            column: s.i32(if view.paired { 16 } else { 12 }),
            paired: s.i32(-i32::from(view.paired)),
        }
    }

    /// The part of a texel's index that x decides.
    #[inline(always)]
    pub fn column(&self, x: S::I) -> S::I {
        // (x / 4) * 16 + x % 4, or (x / 4) * 20 + x % 4
        x + x.shr::<2>().madd16(self.column)
    }

    /// The part of a texel's index that y decides.
    #[inline(always)]
    pub fn line(&self, y: S::I) -> S::I {
        // (y / 4) * pitch + (y % 4) * 4, or 5
        let rows = y + y.shr::<2>().madd16(self.row);
        rows.shl::<2>() + (rows & self.paired)
    }
}

/// A range-reduced coordinate.
#[derive(Clone, Copy)]
pub(super) struct Reduced<S: Simd> {
    u: S::F,
    /// Not NaN: others become fixed-point 0 (R-SAMP-16).
    number: S::I,
}

/// R-SAMP-11.
#[inline(always)]
pub(super) fn reduce<S: Simd>(s: S, mode: AddressMode, u: S::F) -> Reduced<S> {
    match mode {
        AddressMode::Repeat => {
            let u = u - u.floor();
            Reduced { u, number: u.ordered() }
        }
        AddressMode::MirrorRepeat => {
            let half = u * s.f32(0.5);
            let u = (half - half.trunc()) * s.f32(2.0);
            Reduced { u, number: u.ordered() }
        }
        _ => Reduced {
            u: u.max(s.f32(-10.0)).min(s.f32(10.0)),
            number: u.ordered(),
        },
    }
}

/// The texels of an axis.
#[derive(Clone, Copy)]
pub(super) struct Axis<S: Simd> {
    /// First and second texel, inside of the level.
    pub t: [S::I; 2],
    /// Lanes whose texel is the border instead.
    pub border: [S::I; 2],
    /// Weight of the second, 0..256.
    pub w: S::I,
}

/// 16.8 fixed point (R-SAMP-12, 13). `size` is in 1/256 texels: scaling by a power of two commutes with the rounding of
/// both operations. `half` is half a texel, 128, in lanes that filter linearly.
#[inline(always)]
pub(super) fn fixed<S: Simd>(r: &Reduced<S>, size: S::F, half: S::F) -> S::I {
    let x = r.u * size - half;
    (x.bits() & r.number).as_f32().round_i32()
}

/// One axis of a tap. `second` says whether the second texel is wanted at all.
#[inline(always)]
#[expect(
    clippy::too_many_arguments,
    reason = "the axis' state, all of it different in type or meaning"
)]
pub(super) fn axis<S: Simd>(
    s: S,
    mode: AddressMode,
    power_of_two: bool,
    r: &Reduced<S>,
    size: S::F,
    last: S::I,
    offset: i32,
    linear: S::I,
    second: bool,
) -> Axis<S> {
    let half = (s.f32(128.0).bits() & linear).as_f32();
    let x = fixed(r, size, half);
    let t0 = x.sar::<8>() + s.i32(offset);
    let w = x & s.i32(255) & linear;
    let (a, border_a) = address(s, mode, power_of_two, t0, last, offset);
    if second {
        let (b, border_b) = address(s, mode, power_of_two, t0 + s.i32(1), last, offset);
        Axis {
            t: [a, b],
            border: [border_a, border_b],
            w,
        }
    } else {
        Axis {
            t: [a, a],
            border: [border_a, border_a],
            w,
        }
    }
}

/// R-SAMP-20. Without an offset a repeated texel is at most one size off, a mirrored one at most two.
#[inline(always)]
fn address<S: Simd>(s: S, mode: AddressMode, power_of_two: bool, t: S::I, last: S::I, offset: i32) -> (S::I, S::I) {
    let zero = s.i32(0);
    let clamp = inlined(
        #[inline(always)]
        |t: S::I| t.max(zero).min(last),
    );
    // A negative t mirrored at 0 is its complement.
    let unsigned = inlined(
        #[inline(always)]
        |t: S::I| t ^ t.sar::<31>(),
    );
    match mode {
        AddressMode::ClampToEdge => (clamp(t), zero),
        AddressMode::MirrorOnce => (clamp(unsigned(t)), zero),
        AddressMode::ClampToBorder => {
            let inside = clamp(t);
            (inside, !inside.eq(t))
        }
        AddressMode::Repeat if power_of_two => (t & last, zero),
        AddressMode::Repeat | AddressMode::MirrorRepeat if offset != 0 => {
            let (t, last) = (t.to_array(), last.to_array());
            let period = if mode == AddressMode::Repeat { 1 } else { 2 };
            (
                s.load_i32(&std::array::from_fn(|i| fold(t[i], last[i] + 1, period))),
                zero,
            )
        }
        AddressMode::Repeat => {
            let size = last + s.i32(1);
            let t = t + (t.sar::<31>() & size);
            (t - (t.gt(last) & size), zero)
        }
        AddressMode::MirrorRepeat => {
            let t = unsigned(t);
            let mirrored = last + last + s.i32(1) - t;
            (t.min(mirrored).max(zero), zero)
        }
    }
}

/// Any texel into a size, repeated (period 1) or mirrored (period 2).
fn fold(t: i32, size: i32, period: i32) -> i32 {
    let t = t.rem_euclid(size * period);
    t.min(2 * size - 1 - t)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::portable::Portable as P;
    use AddressMode::*;

    const B: i32 = -1000;

    fn at(mode: AddressMode, t: i32, n: i32, offset: i32) -> i32 {
        let (t, b) = address(P, mode, n & (n - 1) == 0, P.i32(t), P.i32(n - 1), offset);
        if b.any() { B } else { t.to_array()[0] }
    }

    /// The table of R-SAMP-20.
    #[test]
    fn address_table() {
        let table = [
            (Repeat, [2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1]),
            (MirrorRepeat, [2, 3, 3, 2, 1, 0, 0, 1, 2, 3, 3, 2, 1, 0, 0, 1]),
            (ClampToEdge, [0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 3, 3, 3, 3, 3, 3]),
            (MirrorOnce, [3, 3, 3, 2, 1, 0, 0, 1, 2, 3, 3, 3, 3, 3, 3, 3]),
            (ClampToBorder, [B, B, B, B, B, B, 0, 1, 2, 3, B, B, B, B, B, B]),
        ];
        for (mode, row) in table {
            for (i, expected) in row.into_iter().enumerate() {
                let t = i as i32 - 6;
                assert_eq!(at(mode, t, 4, 1), expected, "{mode:?} {t}");
                if (-4..=7).contains(&t) {
                    assert_eq!(at(mode, t, 4, 0), expected, "{mode:?} {t} without offset");
                }
            }
        }
        for n in [1, 3, 5] {
            for t in -1..=n {
                assert_eq!(at(Repeat, t, n, 0), at(Repeat, t, n, 1));
            }
            for t in -2 * n - 1..=2 * n {
                assert_eq!(at(MirrorRepeat, t, n, 0), at(MirrorRepeat, t, n, 1), "{t} of {n}");
            }
        }
    }

    /// `spec/worked/lod.out`, "point/linear n=4": point texel, linear texels, weight of the second.
    #[test]
    fn worked_coordinates() {
        #[rustfmt::skip]
        let cases = [
            (0.0, [(0, 3, 0, 128), (0, 0, 0, 128), (0, 0, 0, 128), (0, 0, 0, 128), (0, B, 0, 128)]),
            (0.125, [(0, 0, 1, 0); 5]),
            (0.25, [(1, 0, 1, 128); 5]),
            (0.5, [(2, 1, 2, 128); 5]),
            (0.99, [(3, 3, 0, 118), (3, 3, 3, 118), (3, 3, 3, 118), (3, 3, 3, 118), (3, 3, B, 118)]),
            (0.999, [(3, 3, 0, 127), (3, 3, 3, 127), (3, 3, 3, 127), (3, 3, 3, 127), (3, 3, B, 127)]),
            (0.99999, [(0, 3, 0, 128), (3, 3, 3, 128), (3, 3, 3, 128), (3, 3, 3, 128), (B, 3, B, 128)]),
            (1.25, [(1, 0, 1, 128), (2, 3, 2, 128), (3, 3, 3, 128), (3, 3, 3, 128), (B, B, B, 128)]),
            (-0.25, [(3, 2, 3, 128), (0, 1, 0, 128), (0, 0, 0, 128), (0, 1, 0, 128), (B, B, B, 128)]),
            (-0.001, [(3, 3, 0, 127), (0, 0, 0, 127), (0, 0, 0, 127), (0, 0, 0, 127), (B, B, 0, 127)]),
            (7.3, [(1, 0, 1, 179), (2, 3, 2, 179), (3, 3, 3, 179), (3, 3, 3, 179), (B, B, B, 179)]),
            (-3.6, [(1, 1, 2, 26), (1, 1, 2, 26), (0, 0, 0, 26), (3, 3, 3, 26), (B, B, B, 26)]),
            (100.125, [(0, 0, 1, 0), (0, 0, 1, 0), (3, 3, 3, 128), (3, 3, 3, 128), (B, B, B, 128)]),
        ];
        for (u, expected) in cases {
            for (mode, e) in [Repeat, MirrorRepeat, ClampToEdge, MirrorOnce, ClampToBorder]
                .into_iter()
                .zip(expected)
            {
                let r = reduce(P, mode, P.f32(u));
                let run = |linear: i32| {
                    let a = axis(P, mode, true, &r, P.f32(4.0 * 256.0), P.i32(3), 0, P.i32(linear), true);
                    let pick = |i: usize| if a.border[i].any() { B } else { a.t[i].to_array()[0] };
                    (pick(0), pick(1), a.w.to_array()[0])
                };
                let (point, (t0, t1, w)) = (run(0).0, run(-1));
                assert_eq!((point, t0, t1, w), e, "{u} {mode:?}");
            }
        }
    }

    /// R-SAMP-16.
    #[test]
    fn nan_and_infinity_are_texel_zero_or_the_edge() {
        for mode in [Repeat, MirrorRepeat, ClampToEdge, MirrorOnce, ClampToBorder] {
            let r = reduce(P, mode, P.f32(f32::NAN));
            let a = axis(P, mode, false, &r, P.f32(7.0 * 256.0), P.i32(6), 0, P.i32(-1), true);
            assert_eq!(
                (a.t[0].to_array()[0], a.w.to_array()[0], a.border[0].any()),
                (0, 0, false),
                "{mode:?}"
            );
        }
        let r = reduce(P, Repeat, P.f32(f32::INFINITY));
        let a = axis(P, Repeat, false, &r, P.f32(7.0 * 256.0), P.i32(6), 0, P.i32(0), true);
        assert_eq!(a.t[0].to_array()[0], 0);
    }
}
