//! The little linear algebra that a scene needs: vectors as arrays, column-major 4x4 matrices, boxes.
//!
//! Everything is `f32` with IEEE operations in a written order, plus `libm` for sines and tangents, so that a camera or a
//! node's matrix has the same bits on every machine (law N4). Matrices multiply column vectors; clip space is WebGPU's
//! (y up, z from 0 at the near plane to 1 at the far plane: R-WGSL-1, R-WGSL-2).

/// Three components: a point, a direction or a colour.
pub type Vec3 = [f32; 3];

/// `a + b`.
pub fn add(a: Vec3, b: Vec3) -> Vec3 {
    [a[0] + b[0], a[1] + b[1], a[2] + b[2]]
}

/// `a - b`.
pub fn sub(a: Vec3, b: Vec3) -> Vec3 {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

/// `a * s`.
pub fn scale(a: Vec3, s: f32) -> Vec3 {
    [a[0] * s, a[1] * s, a[2] * s]
}

/// The inner product.
pub fn dot(a: Vec3, b: Vec3) -> f32 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// The cross product, right handed.
pub fn cross(a: Vec3, b: Vec3) -> Vec3 {
    [
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    ]
}

/// The Euclidean length.
pub fn length(a: Vec3) -> f32 {
    dot(a, a).sqrt()
}

/// `a` at length 1, or `None` where it has no direction (zero, subnormal or not finite).
pub fn normalize(a: Vec3) -> Option<Vec3> {
    // Scaled by the largest component first, so that tiny and huge vectors neither under- nor overflow when squared.
    let largest = a[0].abs().max(a[1].abs()).max(a[2].abs());
    if !(largest.is_finite() && largest >= f32::MIN_POSITIVE) {
        return None;
    }
    let b = [a[0] / largest, a[1] / largest, a[2] / largest];
    let len = length(b);
    if len.is_nan() {
        return None;
    }
    Some([b[0] / len, b[1] / len, b[2] / len])
}

/// Some direction at a right angle to the unit vector `n`.
pub fn any_orthogonal(n: Vec3) -> Vec3 {
    let axis = if n[0].abs() < 0.6 {
        [1.0, 0.0, 0.0]
    } else {
        [0.0, 1.0, 0.0]
    };
    normalize(cross(n, axis)).unwrap_or([0.0, 0.0, 1.0])
}

/// A 4x4 matrix by columns: `m.0[column][row]`, the order of glTF and WGSL.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mat4(pub [[f32; 4]; 4]);

impl Mat4 {
    /// Leaves everything where it is.
    pub const IDENTITY: Self = Self([
        [1.0, 0.0, 0.0, 0.0],
        [0.0, 1.0, 0.0, 0.0],
        [0.0, 0.0, 1.0, 0.0],
        [0.0, 0.0, 0.0, 1.0],
    ]);

    /// The matrix that glTF's translation, rotation (x, y, z, w; normalised here) and scale stand for.
    pub fn from_trs(translation: Vec3, rotation: [f32; 4], scale: Vec3) -> Self {
        let [x, y, z, w] = rotation;
        let norm = x * x + y * y + z * z + w * w;
        // 2 / norm makes the usual formula right for a quaternion of any length; a zero one turns nothing.
        let s = if norm > 0.0 { 2.0 / norm } else { 0.0 };
        let (xx, yy, zz) = (x * x * s, y * y * s, z * z * s);
        let (xy, xz, yz) = (x * y * s, x * z * s, y * z * s);
        let (wx, wy, wz) = (w * x * s, w * y * s, w * z * s);
        let [sx, sy, sz] = scale;
        Self([
            [(1.0 - (yy + zz)) * sx, (xy + wz) * sx, (xz - wy) * sx, 0.0],
            [(xy - wz) * sy, (1.0 - (xx + zz)) * sy, (yz + wx) * sy, 0.0],
            [(xz + wy) * sz, (yz - wx) * sz, (1.0 - (xx + yy)) * sz, 0.0],
            [translation[0], translation[1], translation[2], 1.0],
        ])
    }

    /// From 16 numbers in column order.
    pub fn from_columns(m: [f32; 16]) -> Self {
        let mut out = Self::IDENTITY;
        for (i, v) in m.into_iter().enumerate() {
            out.0[i / 4][i % 4] = v;
        }
        out
    }

    /// A rigid frame: the columns are `x`, `y`, `z` and the origin.
    pub fn from_frame(x: Vec3, y: Vec3, z: Vec3, origin: Vec3) -> Self {
        Self([
            [x[0], x[1], x[2], 0.0],
            [y[0], y[1], y[2], 0.0],
            [z[0], z[1], z[2], 0.0],
            [origin[0], origin[1], origin[2], 1.0],
        ])
    }

    /// `self * other`: `other` is applied first.
    pub fn mul(&self, other: &Self) -> Self {
        let mut out = [[0.0; 4]; 4];
        for (column, from) in out.iter_mut().zip(&other.0) {
            for (row, v) in column.iter_mut().enumerate() {
                *v = self.0[0][row] * from[0]
                    + self.0[1][row] * from[1]
                    + self.0[2][row] * from[2]
                    + self.0[3][row] * from[3];
            }
        }
        Self(out)
    }

    /// The image of a point (the fourth row is taken to be 0, 0, 0, 1).
    pub fn point(&self, p: Vec3) -> Vec3 {
        add(self.direction(p), self.origin())
    }

    /// The image of a direction: no translation.
    pub fn direction(&self, d: Vec3) -> Vec3 {
        let m = &self.0;
        [
            m[0][0] * d[0] + m[1][0] * d[1] + m[2][0] * d[2],
            m[0][1] * d[0] + m[1][1] * d[1] + m[2][1] * d[2],
            m[0][2] * d[0] + m[1][2] * d[1] + m[2][2] * d[2],
        ]
    }

    /// Column 0, 1 or 2 without its fourth number: the image of that axis.
    pub fn axis(&self, column: usize) -> Vec3 {
        let c = self.0[column % 4];
        [c[0], c[1], c[2]]
    }

    /// Where the origin goes.
    pub fn origin(&self) -> Vec3 {
        self.axis(3)
    }

    /// The determinant of the upper left 3x3: negative where the matrix mirrors, which turns the winding around.
    pub fn determinant3(&self) -> f32 {
        dot(self.axis(0), cross(self.axis(1), self.axis(2)))
    }

    /// The matrix for normals, as columns: the cofactors of the upper left 3x3 (inverse transpose times determinant), with
    /// the determinant's sign taken out so that a mirrored surface keeps its outside. Defined for singular matrices too;
    /// the length of its results means nothing.
    pub fn normal_matrix(&self) -> [Vec3; 3] {
        let (x, y, z) = (self.axis(0), self.axis(1), self.axis(2));
        let sign = if self.determinant3() < 0.0 { -1.0 } else { 1.0 };
        [
            scale(cross(y, z), sign),
            scale(cross(z, x), sign),
            scale(cross(x, y), sign),
        ]
    }

    /// The inverse of a rigid frame (orthonormal axes and an origin).
    pub fn rigid_inverse(&self) -> Self {
        let (x, y, z, o) = (self.axis(0), self.axis(1), self.axis(2), self.origin());
        Self([
            [x[0], y[0], z[0], 0.0],
            [x[1], y[1], z[1], 0.0],
            [x[2], y[2], z[2], 0.0],
            [-dot(x, o), -dot(y, o), -dot(z, o), 1.0],
        ])
    }

    /// A perspective projection looking along -z; without `far` it reaches to infinity.
    pub fn perspective(yfov: f32, aspect: f32, near: f32, far: Option<f32>) -> Self {
        let f = 1.0 / libm::tanf(yfov * 0.5);
        let (a, b) = match far {
            Some(far) => (far / (near - far), near * far / (near - far)),
            None => (-1.0, -near),
        };
        Self([
            [f / aspect, 0.0, 0.0, 0.0],
            [0.0, f, 0.0, 0.0],
            [0.0, 0.0, a, -1.0],
            [0.0, 0.0, b, 0.0],
        ])
    }

    /// A parallel projection looking along -z that shows `xmag` and `ymag` to either side.
    pub fn orthographic(xmag: f32, ymag: f32, near: f32, far: f32) -> Self {
        let d = 1.0 / (near - far);
        Self([
            [1.0 / xmag, 0.0, 0.0, 0.0],
            [0.0, 1.0 / ymag, 0.0, 0.0],
            [0.0, 0.0, d, 0.0],
            [0.0, 0.0, near * d, 1.0],
        ])
    }

    /// True if no number in it is infinite or NaN.
    pub fn is_finite(&self) -> bool {
        self.0.iter().flatten().all(|v| v.is_finite())
    }
}

/// An axis-aligned box.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Aabb {
    /// Least corner.
    pub min: Vec3,
    /// Greatest corner.
    pub max: Vec3,
}

impl Aabb {
    /// The box around `points`; `None` around nothing.
    pub fn around<'a>(points: impl IntoIterator<Item = &'a Vec3>) -> Option<Self> {
        points.into_iter().fold(None, |aabb: Option<Self>, &p| match aabb {
            None => Some(Self { min: p, max: p }),
            Some(aabb) => Some(aabb.union(&Self { min: p, max: p })),
        })
    }

    /// The box around both.
    pub fn union(&self, other: &Self) -> Self {
        let mut out = *self;
        for i in 0..3 {
            out.min[i] = out.min[i].min(other.min[i]);
            out.max[i] = out.max[i].max(other.max[i]);
        }
        out
    }

    /// Its middle.
    pub fn center(&self) -> Vec3 {
        [0, 1, 2].map(|i| self.min[i] * 0.5 + self.max[i] * 0.5)
    }

    /// Half its diagonal.
    pub fn radius(&self) -> f32 {
        length([0, 1, 2].map(|i| self.max[i] * 0.5 - self.min[i] * 0.5))
    }

    /// Its eight corners.
    pub fn corners(&self) -> [Vec3; 8] {
        std::array::from_fn(|i| {
            std::array::from_fn(|axis| {
                if i >> axis & 1 == 0 {
                    self.min[axis]
                } else {
                    self.max[axis]
                }
            })
        })
    }

    /// The box around the image of this one.
    pub fn transformed(&self, m: &Mat4) -> Self {
        let corners = self.corners().map(|c| m.point(c));
        corners[1..].iter().fold(
            Self {
                min: corners[0],
                max: corners[0],
            },
            |aabb, &c| aabb.union(&Self { min: c, max: c }),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: Vec3, b: Vec3) -> bool {
        length(sub(a, b)) < 1e-5
    }

    #[test]
    fn trs_scales_then_turns_then_moves() {
        // A quarter turn about z, given at twice its length: it is normalised.
        let h = std::f32::consts::FRAC_1_SQRT_2 * 2.0;
        let m = Mat4::from_trs([10.0, 0.0, 0.0], [0.0, 0.0, h, h], [2.0, 3.0, 4.0]);
        assert!(near(m.point([1.0, 0.0, 0.0]), [10.0, 2.0, 0.0]));
        assert!(near(m.point([0.0, 1.0, 0.0]), [7.0, 0.0, 0.0]));
        assert!(near(m.point([0.0, 0.0, 1.0]), [10.0, 0.0, 4.0]));
        assert!((m.determinant3() - 24.0).abs() < 1e-4);
    }

    #[test]
    fn product_applies_the_right_hand_side_first() {
        let a = Mat4::from_trs([1.0, 2.0, 3.0], [0.0, 0.6, 0.0, 0.8], [1.0, 1.0, 1.0]);
        let b = Mat4::from_trs([-4.0, 0.5, 2.0], [0.6, 0.0, 0.0, 0.8], [2.0, 1.0, 0.5]);
        let p = [0.3, -0.7, 1.9];
        assert!(near(a.mul(&b).point(p), a.point(b.point(p))));
        assert_eq!(Mat4::IDENTITY.mul(&a), a);
    }

    #[test]
    fn rigid_inverse_undoes() {
        let a = Mat4::from_trs([1.0, 2.0, 3.0], [0.1, 0.6, -0.3, 0.8], [1.0, 1.0, 1.0]);
        assert!(near(
            a.rigid_inverse().point(a.point([4.0, -5.0, 6.0])),
            [4.0, -5.0, 6.0]
        ));
    }

    #[test]
    fn normals_stay_perpendicular_and_outside() {
        for s in [[2.0, 1.0, 0.25], [-1.0, 1.0, 1.0]] {
            let m = Mat4::from_trs([0.0; 3], [0.1, 0.6, -0.3, 0.8], s);
            let (n, t) = ([0.6, 0.8, 0.0], [-0.8, 0.6, 0.0]);
            let [x, y, z] = m.normal_matrix();
            let turned = add(add(scale(x, n[0]), scale(y, n[1])), scale(z, n[2]));
            assert!(dot(turned, m.direction(t)).abs() < 1e-5);
            // The outside: a point that lay on the normal's side of the plane is still there.
            assert!(dot(turned, m.direction(n)) > 0.0);
        }
    }

    #[test]
    fn projections_put_near_at_0_and_far_at_1() {
        let project = |m: &Mat4, p: Vec3| {
            let c: [f32; 4] =
                std::array::from_fn(|r| m.0[0][r] * p[0] + m.0[1][r] * p[1] + m.0[2][r] * p[2] + m.0[3][r]);
            [c[0] / c[3], c[1] / c[3], c[2] / c[3]]
        };
        let m = Mat4::perspective(std::f32::consts::FRAC_PI_2, 2.0, 0.5, Some(100.0));
        assert!(project(&m, [0.0, 0.0, -0.5])[2].abs() < 1e-6);
        assert!((project(&m, [0.0, 0.0, -100.0])[2] - 1.0).abs() < 1e-6);
        assert!(near(
            project(&m, [20.0, 10.0, -10.0]),
            [1.0, 1.0, project(&m, [0.0, 0.0, -10.0])[2]]
        ));
        let m = Mat4::perspective(1.0, 1.0, 0.5, None);
        assert!(project(&m, [0.0, 0.0, -0.5])[2].abs() < 1e-6);
        assert!((project(&m, [0.0, 0.0, -1e6])[2] - 1.0).abs() < 1e-5);
        let m = Mat4::orthographic(4.0, 2.0, 1.0, 9.0);
        assert!(near(project(&m, [4.0, -2.0, -1.0]), [1.0, -1.0, 0.0]));
        assert!(near(project(&m, [0.0, 0.0, -9.0]), [0.0, 0.0, 1.0]));
    }

    #[test]
    fn normalize_survives_extremes() {
        assert!(near(normalize([3e30, 4e30, 0.0]).unwrap(), [0.6, 0.8, 0.0]));
        assert!(near(normalize([3e-30, 0.0, 4e-30]).unwrap(), [0.6, 0.0, 0.8]));
        assert_eq!(normalize([0.0; 3]), None);
        assert_eq!(normalize([f32::NAN, 1.0, 0.0]), None);
        assert_eq!(normalize([f32::INFINITY, 1.0, 0.0]), None);
    }

    #[test]
    fn boxes() {
        let b = Aabb::around(&[[1.0, -2.0, 3.0], [-1.0, 2.0, 5.0]]).unwrap();
        assert_eq!(
            (b.min, b.max, b.center()),
            ([-1.0, -2.0, 3.0], [1.0, 2.0, 5.0], [0.0, 0.0, 4.0])
        );
        assert!(Aabb::around(&[]).is_none());
        let turned = b.transformed(&Mat4::from_trs([0.0; 3], [0.0, 0.0, 1.0, 1.0], [1.0; 3]));
        assert!(near(turned.min, [-2.0, -1.0, 3.0]) && near(turned.max, [2.0, 1.0, 5.0]));
    }
}
