//! Pictures: terrazzo, hammered metal, a leaf, and occlusion baked for the floor; as PNG files in memory.

use quadrille::scene::math::{Vec3, normalize};

/// Numbers that look random and are the same every time (xorshift32).
pub struct Dice(pub u32);

impl Dice {
    /// From 0 to below 1.
    pub fn roll(&mut self) -> f32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 17;
        self.0 ^= self.0 << 5;
        (self.0 >> 8) as f32 / 16_777_216.0
    }
}

fn encode(width: u32, height: u32, color: png::ColorType, palette: Option<Vec<u8>>, data: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut encoder = png::Encoder::new(&mut out, width, height);
    encoder.set_color(color);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_compression(png::Compression::High);
    if let Some(palette) = palette {
        encoder.set_palette(palette);
    }
    let written = encoder.write_header().and_then(|mut w| {
        w.write_image_data(data)?;
        w.finish()
    });
    written.expect("memory takes all that is written to it");
    out
}

fn smooth(a: f32, b: f32, x: f32) -> f32 {
    let t = ((x - a) / (b - a)).clamp(0.0, 1.0);
    t * t * (3.0 - 2.0 * t)
}

/// Points scattered over a unit square that repeats, no two too close, with a random number each.
fn scatter(dice: &mut Dice, count: usize, apart: f32) -> Vec<[f32; 3]> {
    let mut points: Vec<[f32; 3]> = Vec::new();
    for _ in 0..count * 30 {
        let p = [dice.roll(), dice.roll(), dice.roll()];
        if points.len() < count && points.iter().all(|q| wrapped(p[0] - q[0], p[1] - q[1]) > apart) {
            points.push(p);
        }
    }
    points
}

/// The distance on a square that repeats.
fn wrapped(dx: f32, dy: f32) -> f32 {
    let (dx, dy) = (dx - (dx + 0.5).floor(), dy - (dy + 0.5).floor());
    (dx * dx + dy * dy).sqrt()
}

/// Stone chips in pale cement: angular cells of a few colours, each shrunk from its borders. Repeats.
pub fn terrazzo() -> Vec<u8> {
    let size = 256u32;
    let palette: [[u8; 3]; 8] = [
        [226, 219, 207],
        [205, 196, 182],
        [176, 92, 66],
        [58, 74, 72],
        [214, 164, 108],
        [148, 142, 134],
        [240, 236, 228],
        [120, 58, 48],
    ];
    let mut dice = Dice(0x5eed_0001);
    let points = scatter(&mut dice, 170, 0.045);
    let mut data = Vec::new();
    for y in 0..size {
        for x in 0..size {
            let (u, v) = ((x as f32 + 0.5) / size as f32, (y as f32 + 0.5) / size as f32);
            let (mut first, mut second, mut chip) = (9.0, 9.0, 0.0);
            for p in &points {
                let d = wrapped(u - p[0], v - p[1]);
                if d < first {
                    (second, first, chip) = (first, d, p[2]);
                } else if d < second {
                    second = d;
                }
            }
            // The chip's own size, and a gap of cement around it.
            let gap = 0.008 + 0.02 * (chip * 7.0).fract();
            let color = if second - first < gap {
                0
            } else {
                1 + ((chip * 7.0) as u8).min(6)
            };
            data.push(color);
        }
    }
    encode(size, size, png::ColorType::Indexed, Some(palette.concat()), &data)
}

/// Normals of metal beaten with a round hammer: overlapping shallow dents. Repeats.
pub fn hammered() -> Vec<u8> {
    let size = 128usize;
    let mut dice = Dice(0x5eed_0002);
    let points = scatter(&mut dice, 64, 0.085);
    let height = |u: f32, v: f32| {
        // A dent is part of a ball; where dents meet, the lower one wins, with the ridge between them softened.
        let mut soft = 0.0;
        for p in &points {
            let d = wrapped(u - p[0], v - p[1]);
            let dent = d * d * 26.0 + 0.05 * p[2];
            soft += libm::expf(-dent * 28.0);
        }
        -libm::logf(soft + 1e-9) / 28.0
    };
    let at = |x: usize, y: usize| {
        let wrap = |i: usize| (i % size) as f32 / size as f32;
        height(wrap(x), wrap(y))
    };
    let heights: Vec<f32> = (0..size * size).map(|i| at(i % size, i / size)).collect();
    let mut data = Vec::new();
    for y in 0..size {
        for x in 0..size {
            let h = |dx: usize, dy: usize| heights[(y + dy) % size * size + (x + dx) % size];
            let (dx, dy) = (h(1, 0) - h(size - 1, 0), h(0, 1) - h(0, size - 1));
            // v runs down and the bitangent up: the picture's y is turned.
            let n = normalize([-dx * 9.0, dy * 9.0, 1.0]).unwrap_or([0.0, 0.0, 1.0]);
            data.extend(n.map(|c| (c * 127.0 + 128.0) as u8));
        }
    }
    encode(size as u32, size as u32, png::ColorType::Rgb, None, &data)
}

/// A leaf standing upright: green with pale veins, alpha cut along its outline.
pub fn leaf() -> Vec<u8> {
    let (width, height) = (96u32, 160u32);
    let mut data = Vec::new();
    for y in 0..height {
        for x in 0..width {
            let u = ((x as f32 + 0.5) / width as f32 - 0.5) * 2.0;
            let t = 1.0 - (y as f32 + 0.5) / height as f32;
            // Half width along the leaf: round at the base, drawn out to a point.
            let outline = 0.96 * libm::powf(libm::sinf(std::f32::consts::PI * libm::powf(t, 0.72)).max(0.0), 0.8);
            let side = u.abs();
            let edge = outline - side;
            // Side veins rise from the midrib at an angle, closer together toward the tip.
            let phase = (t - side * 0.36) * 11.0;
            let ridge = (phase - phase.floor() - 0.5).abs();
            let vein = (1.0 - smooth(0.0, 0.16, ridge)) * smooth(0.02, 0.2, edge) * 0.55;
            let rib = 1.0 - smooth(0.01, 0.05, side);
            let pale = vein.max(rib);
            let mottled = 0.5 + 0.5 * libm::sinf(9.0 * t + 5.0 * u) * libm::sinf(13.0 * u - 4.0 * t);
            let rim = 1.0 - smooth(0.0, 0.12, edge);
            let deep: Vec3 = [0.16 + 0.05 * mottled, 0.30 + 0.07 * mottled, 0.17 + 0.03 * mottled];
            let light: Vec3 = [0.62, 0.70, 0.42];
            let color = [0, 1, 2].map(|i| {
                let c = deep[i] + (light[i] - deep[i]) * pale * 0.75;
                c + ([0.42, 0.40, 0.20][i] - c) * rim * 0.35
            });
            data.extend(color.map(|c| (c.clamp(0.0, 1.0) * 255.0 + 0.5) as u8));
            data.push((smooth(-0.03, 0.03, edge) * 255.0 + 0.5) as u8);
        }
    }
    encode(width, height, png::ColorType::Rgba, None, &data)
}

/// Something that stands in the way of light: a ball, or a disc on the floor that rises to a height.
pub enum Occluder {
    Ball { center: Vec3, radius: f32 },
    Drum { center: [f32; 2], radius: f32, height: f32 },
}

/// How much of an evenly lit sky a level floor at height `level` still sees: one grey picture over a square of the plan.
pub fn occlusion(size: u32, center: [f32; 2], half: f32, level: f32, occluders: &[Occluder]) -> Vec<u8> {
    let mut data = Vec::new();
    for y in 0..size {
        for x in 0..size {
            let px = center[0] + ((x as f32 + 0.5) / size as f32 * 2.0 - 1.0) * half;
            let pz = center[1] + ((y as f32 + 0.5) / size as f32 * 2.0 - 1.0) * half;
            let mut open = 1.0f32;
            for o in occluders {
                let taken = match *o {
                    // The solid angle of a ball, weighted by the cosine: (r / d)^2 cos.
                    Occluder::Ball {
                        center: [cx, cy, cz],
                        radius,
                    } => {
                        let (dx, dy, dz) = (cx - px, cy - level, cz - pz);
                        let d2 = (dx * dx + dy * dy + dz * dz).max(1e-6);
                        if dy <= 0.0 {
                            0.0
                        } else {
                            radius * radius / d2 * dy / d2.sqrt()
                        }
                    }
                    // A wall hides half the sky at its foot, less with distance.
                    Occluder::Drum {
                        center: [cx, cz],
                        radius,
                        height,
                    } => {
                        let (dx, dz) = (cx - px, cz - pz);
                        let away = (dx * dx + dz * dz).sqrt() - radius;
                        if away < 0.0 {
                            0.75
                        } else {
                            0.6 * libm::expf(-1.6 * away / height)
                        }
                    }
                };
                open *= 1.0 - taken.clamp(0.0, 0.94);
            }
            data.push((open.clamp(0.0, 1.0) * 255.0 + 0.5) as u8);
        }
    }
    encode(size, size, png::ColorType::Grayscale, None, &data)
}

/// Occlusion of a ball that lies on a floor, by v of its texture coordinates: open sky above, the floor below.
pub fn ball_occlusion() -> Vec<u8> {
    let rows = 64u32;
    let mut data = Vec::new();
    for y in 0..rows {
        let theta = std::f32::consts::PI * (y as f32 + 0.5) / rows as f32;
        let up = libm::cosf(theta);
        // The floor fills half of what a level normal sees, but it is lit itself: it gives back some of what it takes.
        let open = 0.5 + 0.5 * up;
        let value = 0.22 + 0.78 * smooth(0.0, 0.72, open);
        data.extend([(value * 255.0 + 0.5) as u8; 4]);
    }
    encode(4, rows, png::ColorType::Grayscale, None, &data)
}
