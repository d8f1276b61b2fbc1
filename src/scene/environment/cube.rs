//! A cube map in `f32` with a border of one texel around each face, so that a bilinear lookup near an edge sees what lies
//! around the corner.
//!
//! Faces and their axes are WebGPU's: +X, -X, +Y, -Y, +Z, -Z; on each, `s` runs right and `t` down.

use crate::scene::math::Vec3;
use crate::scene::parallel;

/// RGB radiance all around.
#[derive(Clone, Debug)]
pub(super) struct Cube {
    size: usize,
    /// Six faces of `(size + 2)^2` texels: RGB and the texel's solid angle, so that coarse levels are true averages.
    texels: Vec<[f32; 4]>,
}

/// The direction through a point of a face, `s` and `t` from -1 to 1; not of unit length.
pub(super) fn direction(face: usize, s: f32, t: f32) -> Vec3 {
    match face {
        0 => [1.0, -t, -s],
        1 => [-1.0, -t, s],
        2 => [s, 1.0, t],
        3 => [s, -1.0, -t],
        4 => [s, -t, 1.0],
        _ => [-s, -t, -1.0],
    }
}

/// The face that a direction hits, and where. By tables rather than branches: directions of a lobe scatter over faces.
#[inline]
fn face_of(d: Vec3) -> (usize, f32, f32) {
    /// By face: which component, and which sign of it, is `s` and `t`.
    const S: [(usize, f32); 6] = [(2, -1.0), (2, 1.0), (0, 1.0), (0, 1.0), (0, 1.0), (0, -1.0)];
    const T: [(usize, f32); 6] = [(1, -1.0), (1, -1.0), (2, 1.0), (2, -1.0), (1, -1.0), (1, -1.0)];
    let [ax, ay, az] = d.map(f32::abs);
    let axis = if ax >= ay.max(az) { 0 } else { 1 + usize::from(az > ay) };
    let face = 2 * axis + usize::from(d[axis] <= 0.0);
    let inv = 1.0 / d[axis].abs();
    let ((i, si), (j, sj)) = (S[face], T[face]);
    (face, d[i] * si * inv, d[j] * sj * inv)
}

/// Where texel `i` of `size` has its centre, from -1 to 1 (beyond it for the border).
pub(super) fn center(size: usize, i: isize) -> f32 {
    (2 * i + 1) as f32 / size as f32 - 1.0
}

/// The solid angle of a texel, up to a constant factor that is the same for all texels of a size.
pub(super) fn solid_angle(size: usize, x: usize, y: usize) -> f32 {
    let (s, t) = (center(size, x as isize), center(size, y as isize));
    let q = 1.0 + s * s + t * t;
    1.0 / (q * q.sqrt())
}

impl Cube {
    /// Evaluates `f` in the unit direction of every texel's centre.
    pub fn from_fn(size: usize, threads: usize, f: impl Fn(Vec3) -> Vec3 + Sync) -> Self {
        let rows = parallel::map(threads, 6 * size, |row| {
            let (face, y) = (row / size, row % size);
            let t = center(size, y as isize);
            let texel = |x: usize| {
                let d = direction(face, center(size, x as isize), t);
                let inv = 1.0 / (d[0] * d[0] + d[1] * d[1] + d[2] * d[2]).sqrt();
                let [r, g, b] = f([d[0] * inv, d[1] * inv, d[2] * inv]);
                [r, g, b, solid_angle(size, x, y)]
            };
            (0..size).map(texel).collect::<Vec<_>>()
        });
        let mut cube = Self::black(size);
        for (row, texels) in rows.into_iter().enumerate() {
            let start = cube.at(row / size, 0, (row % size) as isize);
            cube.texels[start..start + size].copy_from_slice(&texels);
        }
        cube.fill_borders();
        cube
    }

    fn black(size: usize) -> Self {
        Self {
            size,
            texels: vec![[0.0; 4]; 6 * (size + 2) * (size + 2)],
        }
    }

    /// Texels along an edge.
    pub fn size(&self) -> usize {
        self.size
    }

    /// The index of a texel; -1 and `size` are the border.
    fn at(&self, face: usize, x: isize, y: isize) -> usize {
        let stride = self.size + 2;
        (face * stride + (y + 1) as usize) * stride + (x + 1) as usize
    }

    /// One texel.
    pub fn texel(&self, face: usize, x: usize, y: usize) -> Vec3 {
        let [r, g, b, _] = self.texels[self.at(face, x as isize, y as isize)];
        [r, g, b]
    }

    fn fill_borders(&mut self) {
        let n = self.size as isize;
        for face in 0..6 {
            let edge = (-1..=n).flat_map(|i| [(i, -1), (i, n), (-1, i), (n, i)]);
            for (x, y) in edge {
                let (other, s, t) = face_of(direction(face, center(self.size, x), center(self.size, y)));
                let nearest = |v: f32| (((v + 1.0) * 0.5 * self.size as f32) as isize).clamp(0, n - 1);
                let (to, from) = (self.at(face, x, y), self.at(other, nearest(s), nearest(t)));
                self.texels[to] = self.texels[from];
            }
        }
    }

    /// The cube and its box-filtered halves, down to one texel.
    pub fn mip_chain(&self) -> Vec<Self> {
        let mut chain = vec![self.clone()];
        while let Some(last) = chain.last().filter(|c| c.size > 1) {
            let mut next = Self::black(last.size / 2);
            for face in 0..6 {
                for y in 0..next.size {
                    for x in 0..next.size {
                        let mut sum = [0.0; 4];
                        for (dx, dy) in [(0, 0), (1, 0), (0, 1), (1, 1)] {
                            let [r, g, b, w] = last.texels[last.at(face, (2 * x + dx) as isize, (2 * y + dy) as isize)];
                            sum = [sum[0] + r * w, sum[1] + g * w, sum[2] + b * w, sum[3] + w];
                        }
                        let [r, g, b, w] = sum;
                        let to = next.at(face, x as isize, y as isize);
                        next.texels[to] = [r / w, g / w, b / w, w];
                    }
                }
            }
            next.fill_borders();
            chain.push(next);
        }
        chain
    }

    /// A bilinear lookup.
    #[inline]
    pub fn sample(&self, d: Vec3) -> [f32; 4] {
        let (face, s, t) = face_of(d);
        let half = self.size as f32 * 0.5;
        // In border coordinates: 0.5 is the centre of the border texel, so the value is never negative.
        let (u, v) = ((s + 1.0) * half + 0.5, (t + 1.0) * half + 0.5);
        let (x, y) = ((u as usize).min(self.size), (v as usize).min(self.size));
        let (fx, fy) = (u - x as f32, v - y as f32);
        let stride = self.size + 2;
        let base = (face * stride + y) * stride + x;
        let row = |at: usize| {
            let (a, b) = (self.texels[at], self.texels[at + 1]);
            std::array::from_fn::<f32, 4, _>(|i| a[i] + (b[i] - a[i]) * fx)
        };
        let (top, bottom) = (row(base), row(base + stride));
        std::array::from_fn(|i| top[i] + (bottom[i] - top[i]) * fy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faces_and_directions_agree() {
        for face in 0..6 {
            for (s, t) in [(0.0, 0.0), (0.7, -0.3), (-0.9, 0.8)] {
                let (back, bs, bt) = face_of(direction(face, s, t));
                assert_eq!((back, bs, bt), (face, s, t));
            }
        }
        // WebGPU's cube: looking along +Z, s grows toward +X and t toward -Y.
        assert_eq!(direction(4, 1.0, 1.0), [1.0, -1.0, 1.0]);
    }

    #[test]
    fn lookups_are_smooth_across_edges() {
        let cube = Cube::from_fn(16, 1, |d| d);
        for [x, y, z] in [
            [1.0, 1.0, 0.2],
            [1.0, -0.3, 1.0],
            [-1.0, 0.1, -1.0],
            [0.4, -1.0, 1.0],
            [1.0, 1.0, 1.0],
        ] {
            let (a, b) = (cube.sample([x * 1.0001, y, z]), cube.sample([x * 0.9999, y, z]));
            let n = (x * x + y * y + z * z).sqrt();
            for i in 0..3 {
                assert!((a[i] - b[i]).abs() < 0.05, "{a:?} {b:?}");
                assert!((a[i] - [x, y, z][i] / n).abs() < 0.06);
            }
        }
    }

    #[test]
    fn mips_keep_the_mean() {
        let cube = Cube::from_fn(8, 1, |d| [d[0].max(0.0), 1.0, 0.0]);
        let chain = cube.mip_chain();
        assert_eq!(chain.iter().map(Cube::size).collect::<Vec<_>>(), [8, 4, 2, 1]);
        let (mut sum, mut sphere) = (0.0, 0.0);
        for (x, y) in (0..64).map(|i| (i % 8, i / 8)) {
            sum += cube.texel(0, x, y)[0] * solid_angle(8, x, y);
            sphere += solid_angle(8, x, y);
        }
        assert!((chain[3].texel(0, 0, 0)[0] - sum / sphere).abs() < 1e-5);
    }
}
