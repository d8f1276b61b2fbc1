//! Geometry: surfaces of revolution, tubes, a rounded box, leaves and the backdrop.

use std::f32::consts::PI;

use quadrille::scene::math::{Vec3, add, any_orthogonal, cross, normalize, scale, sub};

/// Indexed triangles with normals and one or two sets of texture coordinates.
#[derive(Default)]
pub struct Mesh {
    pub positions: Vec<Vec3>,
    pub normals: Vec<Vec3>,
    pub uvs: Vec<[f32; 2]>,
    /// Second set: across a baked occlusion map.
    pub uvs1: Option<Vec<[f32; 2]>>,
    pub indices: Vec<u16>,
}

impl Mesh {
    fn vertex(&mut self, p: Vec3, n: Vec3, uv: [f32; 2]) -> u16 {
        self.positions.push(p);
        self.normals.push(normalize(n).unwrap_or([0.0, 1.0, 0.0]));
        self.uvs.push(uv);
        (self.positions.len() - 1) as u16
    }

    /// Joins a grid of vertices: `rows` of `columns`, numbered from `first`.
    fn grid(&mut self, first: u16, rows: u16, columns: u16) {
        for r in 0..rows - 1 {
            for c in 0..columns - 1 {
                let a = first + r * columns + c;
                let b = a + columns;
                self.indices.extend([a, a + 1, b, b, a + 1, b + 1]);
            }
        }
    }

    /// Second texture coordinates from x and z: `center` and half width of the square that they cover.
    pub fn with_plan(mut self, center: [f32; 2], half: f32) -> Self {
        let plan = |p: &Vec3| {
            [
                0.5 + (p[0] - center[0]) / (2.0 * half),
                0.5 + (p[2] - center[1]) / (2.0 * half),
            ]
        };
        self.uvs1 = Some(self.positions.iter().map(plan).collect());
        self
    }
}

/// A point between `points` (a Catmull-Rom spline through them), `t` from 0 to 1.
fn spline(points: &[[f32; 2]], t: f32) -> [f32; 2] {
    let last = points.len() - 1;
    let s = t * last as f32;
    let i = (s as usize).min(last - 1);
    let f = s - i as f32;
    let at = |k: isize| points[(i as isize + k).clamp(0, last as isize) as usize];
    let (a, b, c, d) = (at(-1), at(0), at(1), at(2));
    std::array::from_fn(|k| {
        let (m0, m1) = ((c[k] - a[k]) * 0.5, (d[k] - b[k]) * 0.5);
        let (f2, f3) = (f * f, f * f * f);
        (2.0 * f3 - 3.0 * f2 + 1.0) * b[k] + (f3 - 2.0 * f2 + f) * m0 + (3.0 * f2 - 2.0 * f3) * c[k] + (f3 - f2) * m1
    })
}

/// Turns a profile of (radius, height) points, from bottom to top seen from outside, about the y axis. `repeat` is how often
/// the texture goes round.
pub fn lathe(profile: &[[f32; 2]], rows: u16, segments: u16, repeat: f32) -> Mesh {
    let mut mesh = Mesh::default();
    let points: Vec<[f32; 2]> = (0..rows)
        .map(|i| spline(profile, f32::from(i) / f32::from(rows - 1)))
        .collect();
    let mut length = 0.0;
    for i in 0..points.len() {
        let (before, here, after) = (points[i.max(1) - 1], points[i], points[(i + 1).min(points.len() - 1)]);
        let step = |a: [f32; 2], b: [f32; 2]| ((a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1])).sqrt();
        length += step(before, here);
        let (dr, dy) = (after[0] - before[0], after[1] - before[1]);
        for s in 0..=segments {
            let angle = 2.0 * PI * f32::from(s) / f32::from(segments);
            // The last column lies exactly on the first.
            let (sin, cos) = if s == segments {
                (0.0, 1.0)
            } else {
                (libm::sinf(angle), libm::cosf(angle))
            };
            // On the axis the slope alone says where the normal points.
            let r = here[0].max(0.0);
            let normal = [dy * cos, -dr, -dy * sin];
            let uv = [repeat * f32::from(s) / f32::from(segments), -length];
            mesh.vertex([r * cos, here[1], -r * sin], normal, uv);
        }
    }
    mesh.grid(0, rows, segments + 1);
    mesh
}

/// A sphere of radius 1 around the origin; v runs from 0 at the top to 1 at the bottom.
pub fn sphere(rows: u16, segments: u16) -> Mesh {
    let mut mesh = Mesh::default();
    for i in 0..=rows {
        let theta = PI * (1.0 - f32::from(i) / f32::from(rows));
        let (r, y) = (libm::sinf(theta).max(0.0), libm::cosf(theta));
        for s in 0..=segments {
            let angle = 2.0 * PI * f32::from(s % segments) / f32::from(segments);
            let p = [r * libm::cosf(angle), y, -r * libm::sinf(angle)];
            mesh.vertex(p, p, [f32::from(s) / f32::from(segments), theta / PI]);
        }
    }
    mesh.grid(0, rows + 1, segments + 1);
    mesh
}

/// A tube of varying radius along a path; closed paths come back to their first point.
pub fn tube(path: &[Vec3], radius: impl Fn(f32) -> f32, sides: u16) -> Mesh {
    let mut mesh = Mesh::default();
    let n = path.len();
    let closed = path[0] == path[n - 1];
    let mut across = [0.0, 0.0, 1.0];
    for i in 0..n {
        let before = if i > 0 {
            path[i - 1]
        } else if closed {
            path[n - 2]
        } else {
            path[0]
        };
        let after = if i + 1 < n {
            path[i + 1]
        } else if closed {
            path[1]
        } else {
            path[n - 1]
        };
        let along = normalize(sub(after, before)).unwrap_or([0.0, 1.0, 0.0]);
        // Carried along, so that the tube doesn't twist.
        let side = cross(across, along);
        let side = normalize(side).unwrap_or_else(|| any_orthogonal(along));
        across = cross(along, side);
        let t = i as f32 / (n - 1) as f32;
        for s in 0..=sides {
            let angle = 2.0 * PI * f32::from(s % sides) / f32::from(sides);
            let normal = add(scale(side, libm::cosf(angle)), scale(across, -libm::sinf(angle)));
            mesh.vertex(
                add(path[i], scale(normal, radius(t))),
                normal,
                [f32::from(s) / f32::from(sides), t],
            );
        }
    }
    mesh.grid(0, n as u16, sides + 1);
    mesh
}

/// A circle in the x-y plane as a closed path.
pub fn ring(radius: f32, segments: u16) -> Vec<Vec3> {
    let at = |s: u16| {
        let angle = 2.0 * PI * f32::from(s % segments) / f32::from(segments);
        [radius * libm::cosf(angle), radius * libm::sinf(angle), 0.0]
    };
    (0..=segments).map(at).collect()
}

/// A cube of half width 1 whose edges are rounded by `round`.
pub fn rounded_box(round: f32, steps: u16) -> Mesh {
    let mut mesh = Mesh::default();
    let faces: [[Vec3; 3]; 6] = [
        [[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]],
        [[-1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 1.0, 0.0]],
        [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, -1.0]],
        [[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]],
        [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]],
        [[0.0, 0.0, -1.0], [-1.0, 0.0, 0.0], [0.0, 1.0, 0.0]],
    ];
    // Columns stand close together where the surface bends.
    let place = |i: u16| {
        let t = 2.0 * f32::from(i) / f32::from(steps) - 1.0;
        let inner = 1.0 - round;
        let bend = |x: f32| inner + round * libm::tanf(x * PI / 4.0);
        match t {
            t if t < -0.2 => -bend((-t - 0.2) / 0.8),
            t if t > 0.2 => bend((t - 0.2) / 0.8),
            t => inner * t / 0.2,
        }
    };
    for [out, right, up] in faces {
        let first = mesh.positions.len() as u16;
        for j in 0..=steps {
            for i in 0..=steps {
                let (a, b) = (place(i), place(j));
                let p = add(out, add(scale(right, a), scale(up, b)));
                let core = p.map(|v| v.clamp(-(1.0 - round), 1.0 - round));
                let n = normalize(sub(p, core)).unwrap_or(out);
                mesh.vertex(add(core, scale(n, round)), n, [0.5 + 0.5 * a, 0.5 - 0.5 * b]);
            }
        }
        mesh.grid(first, steps + 1, steps + 1);
    }
    mesh
}

/// A leaf of length 1 along +y, arching over toward +z, cupped along its middle.
pub fn leaf() -> Mesh {
    let (rows, columns) = (9u16, 5u16);
    let mut mesh = Mesh::default();
    for r in 0..rows {
        let t = f32::from(r) / f32::from(rows - 1);
        let arch = 0.9 * t;
        let (y, z) = (libm::sinf(arch) / 0.9, (1.0 - libm::cosf(arch)) / 0.9);
        let along = [0.0, libm::cosf(arch), libm::sinf(arch)];
        for c in 0..columns {
            let u = f32::from(c) / f32::from(columns - 1);
            let x = (u - 0.5) * 0.62;
            // The halves rise from the midrib, so their normals lean inward.
            let lean = 0.9 * (u - 0.5) * (1.0 - t * 0.5);
            let lift = 0.22 * (u - 0.5).abs() * (1.0 - t * 0.5);
            let up = cross([1.0, 0.0, 0.0], along);
            let p = add([x, y, z], scale(up, lift));
            mesh.vertex(p, add(up, [-lean, 0.0, 0.0]), [u, 1.0 - t]);
        }
    }
    mesh.grid(0, rows, columns);
    mesh
}

/// Floor and wall in one, joined by a wide curve.
pub fn backdrop() -> Mesh {
    let (half_width, front, back, bend, top) = (7.0f32, 5.0f32, -2.6f32, 2.0f32, 6.5f32);
    // (y, z) and the normal's direction along the profile.
    let mut profile: Vec<([f32; 2], [f32; 2])> = Vec::new();
    for i in 0..=6 {
        let t = i as f32 / 6.0;
        profile.push(([0.0, front + (back + bend - front) * t], [1.0, 0.0]));
    }
    for i in 1..=16 {
        let angle = PI * 0.5 * i as f32 / 16.0;
        let (s, c) = (libm::sinf(angle), libm::cosf(angle));
        profile.push(([bend - bend * c, back + bend - bend * s], [c, s]));
    }
    profile.push(([top, back], [0.0, 1.0]));
    let mut mesh = Mesh::default();
    let columns = 2u16;
    for (i, &([y, z], [ny, nz])) in profile.iter().enumerate() {
        for c in 0..columns {
            let x = (f32::from(c) * 2.0 - 1.0) * half_width;
            mesh.vertex([x, y, z], [0.0, ny, nz], [x / 2.0, i as f32]);
        }
    }
    mesh.grid(0, profile.len() as u16, columns);
    mesh
}
