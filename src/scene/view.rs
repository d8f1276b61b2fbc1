//! Where a picture is taken from: a camera of the file, or one that frames the whole scene.

use super::SceneError;
use super::math::{self, Aabb, Mat4, Vec3};
use super::model::{Camera, Lens, Scene};

/// Vertical field of view of the framing camera: a short telephoto, as for photographs of things.
const FRAMING_YFOV: f32 = 0.55;

/// Free space that the framing camera leaves at the tightest side.
const MARGIN: f32 = 0.06;

/// A camera with an image's aspect ratio: all that shaders and culling need.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct View {
    /// World to clip space.
    pub view_proj: Mat4,
    /// The eye and 1; under a parallel projection the direction toward the viewer and 0.
    pub eye: [f32; 4],
    /// The unit direction of view.
    pub forward: Vec3,
    /// What is seen in the middle, and what a step of 1 in clip x and y adds to it.
    pub rays: [Vec3; 3],
}

impl View {
    /// What `camera` sees on an image of `aspect` (width over height).
    pub fn new(camera: &Camera, aspect: f32) -> Self {
        let frame = &camera.frame;
        let (x, y, z) = (frame.axis(0), frame.axis(1), frame.axis(2));
        let forward = math::scale(z, -1.0);
        let o = frame.origin();
        let (projection, eye, reach) = match camera.lens {
            Lens::Perspective { yfov, near, far } => {
                let t = libm::tanf(yfov * 0.5);
                (
                    Mat4::perspective(yfov, aspect, near, far),
                    [o[0], o[1], o[2], 1.0],
                    [t * aspect, t],
                )
            }
            Lens::Orthographic { xmag, ymag, near, far } => {
                // All that the file's camera shows stays visible.
                let half = ymag.max(xmag / aspect);
                (
                    Mat4::orthographic(half * aspect, half, near, far),
                    [z[0], z[1], z[2], 0.0],
                    [0.0; 2],
                )
            }
        };
        Self {
            view_proj: projection.mul(&frame.rigid_inverse()),
            eye,
            forward,
            rays: [forward, math::scale(x, reach[0]), math::scale(y, reach[1])],
        }
    }

    /// The angle about +y that turns -z to where the camera looks: `(sin, 0, -cos)`.
    pub fn yaw(&self) -> f32 {
        libm::atan2f(self.forward[0], -self.forward[2])
    }

    /// True if the box lies wholly outside one of the planes of the view, so that nothing of it can be seen.
    pub fn misses(&self, aabb: &Aabb, world: &Mat4) -> bool {
        let m = self.view_proj.mul(world).0;
        let clip = aabb.corners().map(|p| -> [f32; 4] {
            std::array::from_fn(|r| m[0][r] * p[0] + m[1][r] * p[1] + m[2][r] * p[2] + m[3][r])
        });
        let all = |outside: fn(&[f32; 4]) -> bool| clip.iter().all(outside);
        all(|c| c[0] < -c[3])
            || all(|c| c[0] > c[3])
            || all(|c| c[1] < -c[3])
            || all(|c| c[1] > c[3])
            || all(|c| c[2] < 0.0)
            || all(|c| c[2] > c[3])
    }

    /// How far a world-space point lies in front of the eye.
    pub fn depth(&self, p: Vec3) -> f32 {
        let eye = if self.eye[3] == 0.0 {
            [0.0; 3]
        } else {
            [self.eye[0], self.eye[1], self.eye[2]]
        };
        math::dot(math::sub(p, eye), self.forward)
    }
}

/// The camera with this name, or this index among the scene's cameras.
pub fn find_camera<'s>(scene: &'s Scene, wanted: &str) -> Result<&'s Camera, SceneError> {
    let by_name = scene.cameras.iter().find(|c| c.name == wanted);
    let by_index = || scene.cameras.get(wanted.parse::<usize>().ok()?);
    by_name.or_else(by_index).ok_or_else(|| {
        let names: Vec<String> = scene
            .cameras
            .iter()
            .enumerate()
            .map(|(i, c)| {
                if c.name.is_empty() {
                    format!("{i}")
                } else {
                    format!("{i} ({})", c.name)
                }
            })
            .collect();
        let available = match names.len() {
            0 => "the model has none".to_owned(),
            _ => format!("the model has {}", names.join(", ")),
        };
        SceneError::NoCamera {
            wanted: wanted.to_owned(),
            available,
        }
    })
}

/// A three-quarter view from a little above that just holds the whole scene, on an image of `aspect`.
pub fn framing_camera(scene: &Scene, aspect: f32) -> Camera {
    // From the right and above: 32 degrees round, 17 up.
    let (azimuth, elevation) = (0.56f32, 0.3f32);
    let (sa, ca, se, ce) = (
        libm::sinf(azimuth),
        libm::cosf(azimuth),
        libm::sinf(elevation),
        libm::cosf(elevation),
    );
    let z = [sa * ce, se, ca * ce];
    let x = [ca, 0.0, -sa];
    let y = math::cross(z, x);

    let drawn = scene
        .nodes
        .iter()
        .filter_map(|node| Some((node, scene.meshes.get(node.mesh?)?)));
    let corners = drawn.flat_map(|(node, mesh)| {
        mesh.primitives
            .iter()
            .flat_map(move |p| p.bounds.corners().map(|c| node.world.point(c)))
    });
    // In the camera's axes, the eye (ex, ey, ez) holds a point p if |p.x - ex| <= tx * (ez - p.z), and so for y. Each
    // side's extreme point gives one bound; two opposite ones give the eye's place and the least distance exactly.
    let ty = libm::tanf(FRAMING_YFOV * 0.5) * (1.0 - MARGIN);
    let tx = ty * aspect;
    let mut most = [f32::NEG_INFINITY; 4];
    let (mut nearest, mut farthest) = (f32::NEG_INFINITY, f32::INFINITY);
    for p in corners {
        let (px, py, pz) = (math::dot(p, x), math::dot(p, y), math::dot(p, z));
        for (most, v) in most
            .iter_mut()
            .zip([px + tx * pz, -px + tx * pz, py + ty * pz, -py + ty * pz])
        {
            *most = most.max(v);
        }
        (nearest, farthest) = (nearest.max(pz), farthest.min(pz));
    }
    if nearest < farthest {
        // Nothing to see: stand back and look at the origin.
        (most, nearest, farthest) = ([2.0; 4], 1.0, -1.0);
    }
    let ex = (most[0] - most[1]) * 0.5;
    let ey = (most[2] - most[3]) * 0.5;
    let ez = ((most[0] + most[1]) / (2.0 * tx)).max((most[2] + most[3]) / (2.0 * ty));
    // A flat or single-point scene has no depth of its own.
    let depth = (nearest - farthest).max((ez - farthest).abs() * 1e-3).max(1e-6);
    let ez = ez.max(nearest + depth * 1e-2);
    let far = (ez - farthest) + depth * 0.05;
    let near = ((ez - nearest) - depth * 0.05).max(far * 1e-3);
    let eye = math::add(math::add(math::scale(x, ex), math::scale(y, ey)), math::scale(z, ez));
    Camera {
        name: "framing".into(),
        frame: Mat4::from_frame(x, y, z, eye),
        lens: Lens::Perspective {
            yfov: FRAMING_YFOV,
            near,
            far: Some(far),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::model::{Mesh, Node, Primitive, Topology};

    fn scene(boxes: &[(Vec3, Vec3)]) -> Scene {
        let mut scene = Scene::default();
        for &(min, max) in boxes {
            let primitive = Primitive {
                topology: Topology::Points,
                indices: vec![],
                positions: vec![],
                normals: None,
                tangents: None,
                uvs: [None, None],
                colors: None,
                material: 0,
                bounds: Aabb { min, max },
            };
            let node = Node {
                name: String::new(),
                parent: None,
                world: Mat4::IDENTITY,
                mesh: Some(scene.meshes.len()),
            };
            scene.nodes.push(node);
            scene.meshes.push(Mesh {
                name: String::new(),
                primitives: vec![primitive],
            });
        }
        scene
    }

    fn project(view: &View, p: Vec3) -> Vec3 {
        let m = view.view_proj.0;
        let c: [f32; 4] = std::array::from_fn(|r| m[0][r] * p[0] + m[1][r] * p[1] + m[2][r] * p[2] + m[3][r]);
        [c[0] / c[3], c[1] / c[3], c[2] / c[3]]
    }

    #[test]
    fn framing_holds_everything_and_touches_the_margin() {
        let boxes = [
            ([-3.0, 0.0, -1.0], [1.0, 2.0, 1.0]),
            ([10.0, -1.0, 4.0], [10.5, 0.0, 4.5]),
        ];
        for aspect in [0.5, 1.0, 1.778, 4.0] {
            let view = View::new(&framing_camera(&scene(&boxes), aspect), aspect);
            let mut widest: f32 = 0.0;
            for (min, max) in boxes {
                for c in (Aabb { min, max }).corners() {
                    let p = project(&view, c);
                    widest = widest.max(p[0].abs()).max(p[1].abs());
                    assert!((0.0..=1.0).contains(&p[2]), "{p:?}");
                }
            }
            assert!((0.93..0.945).contains(&widest), "aspect {aspect}: {widest}");
        }
    }

    #[test]
    fn framing_survives_nothing_points_and_planes() {
        for boxes in [
            &[][..],
            &[([1.0; 3], [1.0; 3])],
            &[([-1e-9; 3], [1e-9; 3])],
            &[([-1e9, 0.0, -1e9], [1e9, 0.0, 1e9])],
        ] {
            let camera = framing_camera(&scene(boxes), 1.5);
            let Lens::Perspective {
                near, far: Some(far), ..
            } = camera.lens
            else {
                panic!()
            };
            assert!(camera.frame.is_finite() && near > 0.0 && far > near, "{camera:?}");
        }
    }

    #[test]
    fn cameras_by_name_and_index() {
        let mut s = scene(&[]);
        let camera = |name: &str| Camera {
            name: name.into(),
            ..framing_camera(&Scene::default(), 1.0)
        };
        assert!(find_camera(&s, "0").unwrap_err().to_string().contains("has none"));
        s.cameras = vec![camera("street"), camera(""), camera("0")];
        assert_eq!(find_camera(&s, "street").unwrap().name, "street");
        assert_eq!(find_camera(&s, "1").unwrap().name, "");
        // A name wins over an index.
        assert_eq!(find_camera(&s, "0").unwrap().name, "0");
        let error = find_camera(&s, "roof").unwrap_err().to_string();
        assert!(
            error.contains("roof") && error.contains("0 (street), 1, 2 (0)"),
            "{error}"
        );
    }

    #[test]
    fn culling_keeps_what_is_partly_inside() {
        let camera = Camera {
            name: String::new(),
            frame: Mat4::IDENTITY,
            lens: Lens::Perspective {
                yfov: 1.0,
                near: 0.1,
                far: Some(100.0),
            },
        };
        let view = View::new(&camera, 1.0);
        let misses = |min, max| view.misses(&Aabb { min, max }, &Mat4::IDENTITY);
        assert!(!misses([-1.0, -1.0, -5.0], [1.0, 1.0, -3.0]));
        assert!(!misses([-1e3, -1e3, -1e3], [1e3, 1e3, 1e3]));
        assert!(!misses([-1.0, -1.0, -1.0], [1.0, 1.0, 1.0]));
        assert!(misses([-1.0, -1.0, 1.0], [1.0, 1.0, 3.0]));
        assert!(misses([50.0, -1.0, -5.0], [52.0, 1.0, -3.0]));
        assert!(misses([-1.0, -1.0, -300.0], [1.0, 1.0, -200.0]));
        assert_eq!(view.yaw(), 0.0);
        assert_eq!(view.depth([3.0, 4.0, -7.0]), 7.0);
    }
}
