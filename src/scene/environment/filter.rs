//! Mip levels of the environment as rough surfaces see them.
//!
//! Filtered importance sampling (Krivanek and Colbert, "Real-time Shading with Filtered Importance Sampling", 2008): a few
//! dozen directions are drawn from the GGX lobe, and each reads the source at the mip level whose texel covers the solid
//! angle that the direction stands for. With the view along the normal the lobe is the same for every texel but for a
//! rotation, so directions, weights and levels are tabled once per roughness.

use std::f32::consts::PI;

use half::f16;

use super::cube::{Cube, center, direction};
use crate::scene::math::{self, Vec3};
use crate::scene::parallel;

/// Face edge of the last, roughest level.
const SMALLEST: usize = 8;

/// The largest finite half float.
const F16_MAX: f32 = 65504.0;

/// rgba16float texels of all levels, sharpest first.
pub(super) fn levels(chain: &[Cube], threads: usize) -> Vec<Vec<f16>> {
    let count = chain.iter().filter(|c| c.size() >= SMALLEST).count().max(1);
    let mut out = Vec::with_capacity(count);
    for level in 0..count {
        let size = chain[level].size();
        // Twice the directions for a quarter of the texels: wide lobes need them, and they cost little.
        let lobe = match level {
            0 => Vec::new(),
            _ => lobe(
                level as f32 / (count - 1) as f32,
                16 << level.min(5) >> 1,
                chain[0].size(),
            ),
        };
        let rows = parallel::map(threads, 6 * size, |row| {
            let (face, y) = (row / size, row % size);
            let mut texels = Vec::with_capacity(size * 4);
            for x in 0..size {
                let rgb = if lobe.is_empty() {
                    chain[0].texel(face, x, y)
                } else {
                    gather(
                        chain,
                        &lobe,
                        direction(face, center(size, x as isize), center(size, y as isize)),
                    )
                };
                texels.extend(rgb.map(|v| f16::from_f32(v.min(F16_MAX))));
                texels.push(f16::ONE);
            }
            texels
        });
        out.push(rows.concat());
    }
    out
}

/// One direction of the lobe around +z.
struct Sample {
    direction: Vec3,
    weight: f32,
    level: usize,
}

/// `count` directions of the lobe of a perceptual roughness; weights add up to 1.
fn lobe(roughness: f32, count: usize, source_size: usize) -> Vec<Sample> {
    let a = roughness * roughness;
    let a2 = a * a;
    let texel = 4.0 * PI / (6.0 * (source_size * source_size) as f32);
    let last = source_size.ilog2() as f32;
    let mut out = Vec::with_capacity(count);
    for i in 0..count {
        // A Hammersley point: (i + 1/2) / count, and i's bits mirrored.
        let (u, v) = (
            (i as f32 + 0.5) / count as f32,
            (i as u32).reverse_bits() as f32 / 4_294_967_296.0,
        );
        // Half vector with density D(h) cos: its cosine by inversion.
        let cos2 = (1.0 - u) / (1.0 + (a2 - 1.0) * u);
        let (cos, sin) = (cos2.sqrt(), (1.0 - cos2).max(0.0).sqrt());
        let phi = 2.0 * PI * v;
        // The view is the normal, so the light is the half vector's angle twice.
        let n_l = 2.0 * cos2 - 1.0;
        if n_l <= 0.0 {
            continue;
        }
        let d = cos2 * (a2 - 1.0) + 1.0;
        let density = a2 / (PI * d * d) / 4.0;
        let covers = 1.0 / (count as f32 * density);
        // One level blurrier than the bare solid angle says: neighbouring samples overlap.
        let level = (0.5 * libm::log2f(covers / texel) + 1.0).clamp(0.0, last);
        let flat = 2.0 * cos * sin;
        let direction = [flat * libm::cosf(phi), flat * libm::sinf(phi), n_l];
        out.push(Sample {
            direction,
            weight: n_l,
            level: (level + 0.5) as usize,
        });
    }
    let sum: f32 = out.iter().map(|s| s.weight).sum();
    out.iter_mut().for_each(|s| s.weight /= sum);
    out
}

fn gather(chain: &[Cube], lobe: &[Sample], around: Vec3) -> Vec3 {
    let z = math::normalize(around).unwrap_or([0.0, 0.0, 1.0]);
    let x = math::any_orthogonal(z);
    let y = math::cross(z, x);
    let mut sum = [0.0; 4];
    for s in lobe {
        let [a, b, c] = s.direction;
        let d = [0, 1, 2].map(|i| x[i] * a + y[i] * b + z[i] * c);
        let light = chain[s.level].sample(d);
        for (sum, light) in sum.iter_mut().zip(light) {
            *sum += light * s.weight;
        }
    }
    [sum[0], sum[1], sum[2]]
}
