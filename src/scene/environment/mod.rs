//! Image-based light: a panorama or the built-in studio, prepared for the shader on the CPU.
//!
//! ```text
//! .hdr / .exr -> panorama --+-> cube (f32, box-filtered mips) --+-> filter: GGX lobes, one roughness a mip -> rgba16float
//! studio(direction) --------+                                   +-> harmonics: diffuse irradiance, 9 coefficients
//! ```
//!
//! The split-sum approximation (Karis, "Real Shading in Unreal Engine 4", 2013) separates light from material: mip `k` of
//! the cube holds what a surface of roughness `k / (levels - 1)` sees around its mirror direction; the other factor is a
//! polynomial in the shader. Everything is deterministic: texels are independent of each other, and functions come from
//! `libm` (law N4).

mod cube;
mod filter;
mod harmonics;
mod panorama;
mod studio;

use std::path::Path;

use half::f16;

use super::SceneError;
use cube::Cube;

/// Light from all around, ready for the shader.
#[derive(Clone, Debug, PartialEq)]
pub struct Environment {
    /// Edge of level 0's faces; each further level has half the edge of the one before.
    pub size: u32,
    /// rgba16float texels, level after level; in each the faces +X, -X, +Y, -Y, +Z, -Z, rows from the top.
    pub levels: Vec<Vec<f16>>,
    /// Diffuse radiance per albedo (irradiance / pi) in direction `(x, y, z)` is the sum of these, RGB each, times
    /// `1, y, z, x, xy, yz, 3z^2 - 1, xz, x^2 - y^2`.
    pub diffuse: [[f32; 3]; 9],
}

impl Environment {
    /// Loads an equirectangular `.hdr` or `.exr`. It is turned by `yaw` radians, counter-clockwise from above.
    pub fn load(path: &Path, yaw: f32, threads: usize, memory_limit: u64) -> Result<Self, SceneError> {
        let bytes = super::load::read_file(path, memory_limit)?;
        Self::parse(path, &bytes, yaw, threads, memory_limit)
    }

    /// As [`load`](Self::load), from a file whose contents are already here; `path` names it in messages.
    pub fn parse(path: &Path, bytes: &[u8], yaw: f32, threads: usize, memory_limit: u64) -> Result<Self, SceneError> {
        let panorama = panorama::parse(path, bytes, memory_limit)?;
        let cube = panorama.to_cube(yaw, threads);
        Ok(Self::from_cube(&cube, threads))
    }

    /// The built-in light: a grey room with soft boxes, as seen by a camera that looks along `(sin yaw, 0, -cos yaw)`.
    pub fn studio(yaw: f32, threads: usize) -> Self {
        let (sin, cos) = (libm::sinf(yaw), libm::cosf(yaw));
        let room = studio::Studio::new();
        let cube = Cube::from_fn(256, threads, |[x, y, z]| {
            room.radiance([x * cos + z * sin, y, z * cos - x * sin])
        });
        Self::from_cube(&cube, threads)
    }

    fn from_cube(cube: &Cube, threads: usize) -> Self {
        let chain = cube.mip_chain();
        Self {
            size: cube.size() as u32,
            levels: filter::levels(&chain, threads),
            diffuse: harmonics::diffuse(&chain),
        }
    }

    /// The diffuse radiance in the unit direction `d`, as the shader computes it.
    pub fn diffuse_at(&self, d: [f32; 3]) -> [f32; 3] {
        harmonics::evaluate(&self.diffuse, d)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uniform_sky_stays_uniform() {
        let cube = Cube::from_fn(32, 2, |_| [0.5, 1.0, 2.0]);
        let env = Environment::from_cube(&cube, 2);
        assert_eq!(
            env.levels.iter().map(Vec::len).collect::<Vec<_>>(),
            [32, 16, 8].map(|s: usize| s * s * 6 * 4)
        );
        for texel in env.levels.iter().flat_map(|l| l.chunks_exact(4)) {
            for (got, want) in texel.iter().zip([0.5, 1.0, 2.0, 1.0]) {
                assert!((got.to_f32() - want).abs() < 2e-3 * want, "{texel:?}");
            }
        }
        let d = env.diffuse_at([0.6, -0.8, 0.0]);
        assert!((d[0] - 0.5).abs() < 1e-3 && (d[2] - 2.0).abs() < 4e-3, "{d:?}");
    }

    #[test]
    fn half_a_sky_lights_from_its_side_at_every_roughness() {
        let cube = Cube::from_fn(64, 2, |d| if d[1] > 0.0 { [1.0; 3] } else { [0.0; 3] });
        let env = Environment::from_cube(&cube, 2);
        // Irradiance / pi under a half-lit sphere: 1 above, 1/2 at the horizon, 0 below, with what nine coefficients can do.
        assert!((env.diffuse_at([0.0, 1.0, 0.0])[0] - 1.0).abs() < 0.05);
        assert!((env.diffuse_at([1.0, 0.0, 0.0])[0] - 0.5).abs() < 0.02);
        assert!(env.diffuse_at([0.0, -1.0, 0.0])[0].abs() < 0.05);
        for (k, level) in env.levels.iter().enumerate() {
            let size = 64usize >> k;
            let middle = |face: usize| level[(face * size * size + size * size / 2 + size / 2) * 4].to_f32();
            assert!(
                middle(2) > 0.8 && middle(3) < 0.2,
                "level {k}: {} {}",
                middle(2),
                middle(3)
            );
        }
    }

    #[test]
    fn a_small_sun_keeps_its_energy() {
        // A cap of 1/1000 of the sphere, bright enough for a mean radiance of 1.
        let cube = Cube::from_fn(128, 2, |d| if d[2] > 0.998 { [1000.0; 3] } else { [0.0; 3] });
        let env = Environment::from_cube(&cube, 2);
        for (k, level) in env.levels.iter().enumerate() {
            let size = 128usize >> k;
            let mut sum = [0.0f64; 2];
            for (i, texel) in level.chunks_exact(4).enumerate() {
                let at = i % (size * size);
                let w = f64::from(cube::solid_angle(size, at % size, at / size));
                sum[0] += w * f64::from(texel[0].to_f32());
                sum[1] += w;
            }
            let mean = sum[0] / sum[1];
            assert!((0.95..1.05).contains(&mean), "level {k}: mean {mean}");
        }
        // A point light's diffuse response cannot be negative on the far side, whatever nine coefficients would like.
        for d in [
            [0.0, 0.0, -1.0],
            [0.0, 0.0, 1.0],
            [0.0, 1.0, 0.0],
            [0.6, 0.0, -0.8],
            [0.8, 0.0, 0.6],
        ] {
            assert!(env.diffuse_at(d)[0] > -0.01, "{d:?}: {:?}", env.diffuse_at(d));
        }
    }

    #[test]
    fn threads_do_not_change_a_bit() {
        assert_eq!(Environment::studio(0.3, 1), Environment::studio(0.3, 3));
    }

    #[test]
    fn the_studio_is_neutral_and_of_middle_brightness() {
        let env = Environment::studio(0.0, 2);
        let directions = [
            [0.0, 1.0, 0.0],
            [0.0, -1.0, 0.0],
            [1.0, 0.0, 0.0],
            [-1.0, 0.0, 0.0],
            [0.0, 0.0, 1.0],
        ];
        let mean: f32 = directions.iter().map(|&d| env.diffuse_at(d)[1]).sum::<f32>() / 5.0;
        assert!((0.5..1.3).contains(&mean), "{mean}");
        for d in directions {
            let [r, g, b] = env.diffuse_at(d);
            assert!((r / g - 1.0).abs() < 0.1 && (b / g - 1.0).abs() < 0.1);
        }
    }
}
