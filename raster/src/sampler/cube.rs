//! Cube maps: face selection, derivatives, and taps that cross an edge or a corner (R-SAMP-80..84).

use crate::simd::{Floats, Ints, Simd, each, inlined};

/// Where directions meet the cube.
#[derive(Clone, Copy)]
pub(super) struct Faces<S: Simd> {
    /// Face, 0..6: +X -X +Y -Y +Z -Z.
    pub face: S::I,
    /// Coordinates on the face.
    pub uv: [S::F; 2],
    is_z: S::I,
    is_y: S::I,
    negative: S::I,
    major: S::F,
    minor: [S::F; 2],
}

/// The two minor components of a vector as the face of each lane sees them, and its major one (R-SAMP-81).
#[inline(always)]
fn project<S: Simd>(s: S, is_z: S::I, is_y: S::I, negative: S::I, v: [S::F; 3]) -> ([S::F; 2], S::F) {
    let [x, y, z] = v;
    let sign = s.i32(i32::MIN);
    let flip = inlined(
        #[inline(always)]
        |f: S::F, lanes: S::I| (f.bits() ^ (lanes & sign)).as_f32(),
    );
    let minus_y = (y.bits() ^ sign).as_f32();
    // x faces: (-z, -y), the first mirrored on the negative face; y faces: (x, +-z); z faces: (+-x, -y).
    let sc = is_z.select_f(flip(x, negative), is_y.select_f(x, flip(z, !negative)));
    let tc = is_z.select_f(minus_y, is_y.select_f(flip(z, negative), minus_y));
    (([sc, tc]), is_z.select_f(z, is_y.select_f(y, x)))
}

/// R-SAMP-80, 81.
#[inline(always)]
pub(super) fn select<S: Simd>(s: S, v: [S::F; 3]) -> Faces<S> {
    let [ax, ay, az] = each!(3; c in v => c.abs());
    let is_z = ax.le(az) & ay.le(az);
    let is_y = ax.le(ay);
    let largest = is_z.select_f(v[2], is_y.select_f(v[1], v[0]));
    let negative = !s.f32(0.0).le(largest);
    let (minor, _) = project(s, is_z, is_y, negative, v);
    let major = largest.abs();
    let half = s.f32(0.5);
    let uv = each!(2; m in minor => m / major * half + half);
    let axis = is_z.select(s.i32(4), is_y & s.i32(2));
    Faces {
        face: axis - negative,
        uv,
        is_z,
        is_y,
        negative,
        major,
        minor,
    }
}

impl<S: Simd> Faces<S> {
    /// Derivatives of the face coordinates, in texels of a face of `size`, from those of the direction (R-SAMP-82).
    #[inline(always)]
    pub fn derivative(&self, s: S, size: S::F, d: [S::F; 3]) -> [S::F; 2] {
        let (minor, major) = project(s, self.is_z, self.is_y, self.negative, d);
        let dm = (major.bits() ^ (self.negative & s.i32(i32::MIN))).as_f32();
        let scale = s.f32(0.5) * size / (self.major * self.major);
        each!(2; c in [0, 1] => (self.major * minor[c] - self.minor[c] * dm) * scale)
    }
}

/// What lies across the edges of a face, for the left and right (index `face + 8 * right`), and for the top and bottom
/// (`face + 8 * bottom`) ones: bits 0..3 the neighbour, then for x and y of its texel two bits each: whether the coordinate
/// along the edge counts (else 0), and whether the result is taken from the last texel backwards.
const SIDES: [i32; 16] = [52, 53, 9, 89, 49, 48, 0, 0, 37, 36, 24, 72, 32, 33, 0, 0];
const ENDS: [i32; 16] = [114, 34, 29, 76, 74, 26, 0, 0, 51, 99, 12, 93, 11, 91, 0, 0];

/// Texels of a face, up to one row or column outside, as the texels that lie there: face, x, y.
pub(super) struct Across<S: Simd> {
    pub face: S::I,
    pub x: S::I,
    pub y: S::I,
    /// Lanes beyond a corner, where three faces meet and no fourth texel exists; the others are anything safe there.
    pub missing: S::I,
}

/// R-SAMP-83.
#[inline(always)]
pub(super) fn across<S: Simd>(s: S, face: S::I, x: S::I, y: S::I, last: S::I) -> Across<S> {
    let zero = s.i32(0);
    let (beyond_x, beyond_y) = (x.gt(last), y.gt(last));
    let (out_x, out_y) = (beyond_x | zero.gt(x), beyond_y | zero.gt(y));
    let eight = s.i32(8);
    let side = s.pick16(&SIDES, face + (beyond_x & eight));
    let end = s.pick16(&ENDS, face + (beyond_y & eight));
    let code = out_x.select(side, end);
    let along = out_x.select(y, x).max(zero).min(last);
    // Bits become sign masks.
    let fx = (along & code.shl::<28>().sar::<31>(), code.shl::<27>());
    let fy = (along & code.shl::<26>().sar::<31>(), code.shl::<25>());
    let out = out_x | out_y;
    Across {
        face: out.select(code & s.i32(7), face),
        x: out.select(fx.1.select(last - fx.0, fx.0), x),
        y: out.select(fy.1.select(last - fy.0, fy.0), y),
        missing: out_x & out_y,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::portable::Portable as P;

    /// By geometry, one texel: a texel of a face, possibly one row or column outside, to the texel that lies there: face, x, y. `None` at a
    /// corner, where three faces meet and no fourth texel exists.
    fn over_edge(face: i32, x: i32, y: i32, size: i32) -> Option<[i32; 3]> {
        let out = |t: i32| t < 0 || t >= size;
        match (out(x), out(y)) {
            (false, false) => return Some([face, x, y]),
            (true, true) => return None,
            _ => {}
        }
        // Twice the distance of the texel's centre from the face's; the face lies at distance `size`. What
        // sticks out by one is folded over: that axis becomes the major one, and the old one shrinks by one.
        let centre = |t: i32| 2 * t + 1 - size;
        let fold = |c: i32| {
            if c.abs() > size {
                (c.signum() * size, true)
            } else {
                (c, false)
            }
        };
        let ((sc, over_s), (tc, over_t)) = (fold(centre(x)), fold(centre(y)));
        let major = if over_s || over_t { size - 1 } else { size };
        let v = match face {
            0 => [major, -tc, -sc],
            1 => [-major, -tc, sc],
            2 => [sc, major, tc],
            3 => [sc, -major, -tc],
            4 => [sc, -tc, major],
            _ => [-sc, -tc, -major],
        };
        // The folded axis is the one at full distance.
        let axis = (0..3).find(|&i| v[i].abs() == size)?;
        let [x, y, z] = v;
        let (face, sc, tc) = match (axis, v[axis] > 0) {
            (0, true) => (0, -z, -y),
            (0, false) => (1, z, -y),
            (1, true) => (2, x, z),
            (1, false) => (3, x, -z),
            (_, true) => (4, x, -y),
            (_, false) => (5, -x, -y),
        };
        Some([face, (sc + size - 1) / 2, (tc + size - 1) / 2])
    }

    /// R-SAMP-83: the tables against geometry.
    #[test]
    fn lanes_cross_edges_like_the_geometry() {
        for size in [1, 2, 5, 8] {
            for face in 0..6 {
                for (x, y) in (-1..=size).flat_map(|x| (-1..=size).map(move |y| (x, y))) {
                    let a = across(P, P.i32(face), P.i32(x), P.i32(y), P.i32(size - 1));
                    let got = [a.face, a.x, a.y].map(|v| v.to_array()[0]);
                    match over_edge(face, x, y, size) {
                        Some(expected) => {
                            assert_eq!((got, a.missing.any()), (expected, false), "{face} {x} {y} of {size}")
                        }
                        None => assert!(a.missing.all(), "{face} {x} {y} of {size}"),
                    }
                }
            }
        }
    }

    fn face(v: [f32; 3]) -> (i32, f32, f32) {
        let f = select(P, v.map(|c| P.f32(c)));
        (f.face.to_array()[0], f.uv[0].to_array()[0], f.uv[1].to_array()[0])
    }

    /// `spec/worked/lod.out` and R-SAMP-80's ties.
    #[test]
    fn worked_directions() {
        let cases = [
            ([1.0, 0.0, 0.0], (0, 0.5, 0.5)),
            ([-1.0, 0.0, 0.0], (1, 0.5, 0.5)),
            ([0.0, 1.0, 0.0], (2, 0.5, 0.5)),
            ([0.0, -1.0, 0.0], (3, 0.5, 0.5)),
            ([0.0, 0.0, 1.0], (4, 0.5, 0.5)),
            ([0.0, 0.0, -1.0], (5, 0.5, 0.5)),
            ([1.0, 1.0, 1.0], (4, 1.0, 0.0)),
            ([1.0, 1.0, 0.0], (2, 1.0, 0.5)),
            ([-1.0, -1.0, -1.0], (5, 1.0, 1.0)),
            ([1.0, 0.5, 0.25], (0, 0.375, 0.25)),
            ([-2.0, 0.5, 1.0], (1, 0.75, 0.375)),
            ([0.25, 3.0, -1.5], (2, 0.541_666_7, 0.25)),
        ];
        for (v, expected) in cases {
            assert_eq!(face(v), expected, "{v:?}");
        }
    }

    /// R-SAMP-82 against differences of the projection itself.
    #[test]
    fn derivatives_match_differences() {
        for (v, d) in [
            ([1.0f32, 0.5, 0.25], [0.01f32, -0.02, 0.03]),
            ([-2.0, 0.5, 1.0], [0.03, 0.02, -0.01]),
            ([0.25, -3.0, -1.5], [0.01, 0.02, 0.01]),
            ([0.1, 0.2, -0.9], [-0.003, 0.001, 0.002]),
        ] {
            let f = select(P, v.map(|c| P.f32(c)));
            let got = f
                .derivative(P, P.f32(64.0), d.map(|c| P.f32(c)))
                .map(|c| c.to_array()[0]);
            let step = 0.01;
            let moved = face(std::array::from_fn(|i| v[i] + d[i] * step));
            let (_, u0, v0) = face(v);
            let expected = [(moved.1 - u0) / step * 64.0, (moved.2 - v0) / step * 64.0];
            for c in 0..2 {
                assert!(
                    (got[c] - expected[c]).abs() < 0.02 * expected[c].abs() + 1e-3,
                    "{got:?} {expected:?}"
                );
            }
        }
    }

    /// Crossing an edge and looking back from there leads to the texel next to the edge, at the same place of it.
    #[test]
    fn edges_lead_to_neighbours() {
        let centre = |[f, x, y]: [i32; 3], n: i32| -> [f32; 3] {
            let (s, t) = ((2 * x + 1 - n) as f32, (2 * y + 1 - n) as f32);
            let m = n as f32;
            match f {
                0 => [m, -t, -s],
                1 => [-m, -t, s],
                2 => [s, m, t],
                3 => [s, -m, -t],
                4 => [s, -t, m],
                _ => [-s, -t, -m],
            }
        };
        for n in [1, 2, 5] {
            for f in 0..6 {
                for i in 0..n {
                    for (x, y, inside) in [(-1, i, (0, i)), (n, i, (n - 1, i)), (i, -1, (i, 0)), (i, n, (i, n - 1))] {
                        let there = over_edge(f, x, y, n).unwrap();
                        assert_ne!(there[0] / 2, f / 2, "neighbours are on another axis");
                        let (a, b) = (centre(there, n), centre([f, inside.0, inside.1], n));
                        let d: f32 = a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum();
                        assert!(d <= 2.0 + 1e-6, "{f} {x} {y}: {a:?} {b:?}");
                    }
                }
                assert_eq!(over_edge(f, -1, -1, n), None);
                assert_eq!(over_edge(f, n, -1, n), None);
                assert_eq!(over_edge(f, 0, 0, n), Some([f, 0, 0]));
            }
        }
    }
}
