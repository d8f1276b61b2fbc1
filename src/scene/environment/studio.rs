//! The built-in light: a grey room with soft boxes, made for looking at objects.
//!
//! A large key light stands to the left and above, in front; a long fill to the right; two strips behind draw the
//! silhouette; a panel overhead. Metals show the boxes, so their edges are soft, and the room between them is a gradient
//! rather than one grey. The camera looks along -z.

use crate::scene::math::{self, Vec3};

/// A glowing rectangle on the plane at right angles to `toward`, at distance 1.
struct SoftBox {
    toward: Vec3,
    /// Half width and half height on that plane.
    half: [f32; 2],
    /// Width of the fading edge, in the same unit.
    soft: f32,
    color: Vec3,
}

const BOXES: [SoftBox; 5] = [
    SoftBox {
        toward: [-0.62, 0.52, 0.59],
        half: [0.52, 0.40],
        soft: 0.10,
        color: [9.6, 9.5, 9.3],
    },
    SoftBox {
        toward: [0.88, 0.16, 0.44],
        half: [0.16, 0.62],
        soft: 0.10,
        color: [3.6, 3.7, 3.9],
    },
    SoftBox {
        toward: [-0.80, 0.18, -0.57],
        half: [0.12, 0.70],
        soft: 0.08,
        color: [5.2, 5.2, 5.3],
    },
    SoftBox {
        toward: [0.66, 0.38, -0.65],
        half: [0.16, 0.60],
        soft: 0.08,
        color: [6.4, 6.4, 6.3],
    },
    SoftBox {
        toward: [0.10, 0.99, -0.05],
        half: [0.55, 0.30],
        soft: 0.16,
        color: [4.4, 4.4, 4.4],
    },
];

/// The room, ready to be looked at.
pub(super) struct Studio {
    /// Axes (right, up, toward) of each box.
    frames: [[Vec3; 3]; BOXES.len()],
}

impl Studio {
    pub fn new() -> Self {
        let frame = |b: &SoftBox| {
            let toward = math::normalize(b.toward).unwrap_or(b.toward);
            let right = math::normalize(math::cross([0.0, 1.0, 0.0], toward)).unwrap_or([1.0, 0.0, 0.0]);
            [right, math::cross(toward, right), toward]
        };
        Self {
            frames: std::array::from_fn(|i| frame(&BOXES[i])),
        }
    }

    /// Light from the unit direction `d`.
    pub fn radiance(&self, d: Vec3) -> Vec3 {
        // A dim floor, a lighter wall, and a soft line where they meet.
        let wall = smooth(-0.35, 0.25, d[1]);
        let ceiling = smooth(0.0, 1.0, d[1]);
        let mut light = [0.16 + 0.20 * wall + 0.14 * ceiling; 3];
        for (b, &[right, up, toward]) in BOXES.iter().zip(&self.frames) {
            let depth = math::dot(d, toward);
            if depth <= 0.05 {
                continue;
            }
            let u = math::dot(d, right).abs() / depth;
            let v = math::dot(d, up).abs() / depth;
            let edge = |half: f32, x: f32| 1.0 - smooth(half - b.soft, half, x);
            // Brightest in the middle, as a lamp behind cloth is.
            let (x, y) = (u / b.half[0], v / b.half[1]);
            let glow = edge(b.half[0], u) * edge(b.half[1], v) * (1.0 - 0.175 * (x * x + y * y));
            for (light, color) in light.iter_mut().zip(b.color) {
                *light += color * glow.max(0.0);
            }
        }
        light
    }
}

/// 0 below `a`, 1 above `b`, an S between.
fn smooth(a: f32, b: f32, x: f32) -> f32 {
    let t = ((x - a) / (b - a)).clamp(0.0, 1.0);
    t * t * (3.0 - 2.0 * t)
}
