//! Diffuse light as nine spherical harmonics (Ramamoorthi and Hanrahan, "An Efficient Representation for Irradiance
//! Environment Maps", 2001), with constants and the cosine lobe folded into the coefficients.

use std::f32::consts::PI;

use super::cube::{Cube, center, direction, solid_angle};
use crate::scene::math::{self, Vec3};

/// The polynomials that coefficients go with; the shader has the same list.
fn basis([x, y, z]: Vec3) -> [f32; 9] {
    [1.0, y, z, x, x * y, y * z, 3.0 * z * z - 1.0, x * z, x * x - y * y]
}

/// Squared normalisation of each polynomial: of the projection and of the evaluation.
const NORM2: [f32; 9] = [
    1.0 / (4.0 * PI),
    3.0 / (4.0 * PI),
    3.0 / (4.0 * PI),
    3.0 / (4.0 * PI),
    15.0 / (4.0 * PI),
    15.0 / (4.0 * PI),
    5.0 / (16.0 * PI),
    15.0 / (4.0 * PI),
    15.0 / (16.0 * PI),
];

/// The cosine lobe over pi, by band.
const COSINE: [f32; 9] = [1.0, 2.0 / 3.0, 2.0 / 3.0, 2.0 / 3.0, 0.25, 0.25, 0.25, 0.25, 0.25];

/// Coefficients of irradiance / pi.
pub(super) fn diffuse(chain: &[Cube]) -> [Vec3; 9] {
    // 32 x 32 faces hold far more than nine coefficients can show.
    let Some(cube) = chain.iter().find(|c| c.size() <= 32) else {
        return [[0.0; 3]; 9];
    };
    let size = cube.size();
    let (mut sums, mut sphere) = ([[0.0f32; 3]; 9], 0.0);
    for face in 0..6 {
        for y in 0..size {
            for x in 0..size {
                let d = direction(face, center(size, x as isize), center(size, y as isize));
                let Some(d) = math::normalize(d) else { continue };
                let w = solid_angle(size, x, y);
                sphere += w;
                let light = math::scale(cube.texel(face, x, y), w);
                for (sum, b) in sums.iter_mut().zip(basis(d)) {
                    *sum = math::add(*sum, math::scale(light, b));
                }
            }
        }
    }
    for (i, sum) in sums.iter_mut().enumerate() {
        *sum = math::scale(*sum, 4.0 * PI / sphere * NORM2[i] * COSINE[i]);
    }
    tame(sums)
}

/// The polynomial at the unit direction `d`.
pub(super) fn evaluate(coefficients: &[Vec3; 9], d: Vec3) -> Vec3 {
    coefficients
        .iter()
        .zip(basis(d))
        .fold([0.0; 3], |sum, (&c, b)| math::add(sum, math::scale(c, b)))
}

/// A strong small light makes nine coefficients dip below zero on its far side. They are windowed (Sloan, "Stupid Spherical
/// Harmonics Tricks", 2008: 1 / (1 + k l^2 (l + 1)^2)) as little as makes them positive.
fn tame(raw: [Vec3; 9]) -> [Vec3; 9] {
    let lowest = |c: &[Vec3; 9]| {
        let n = 12;
        let directions = (0..6 * n * n).filter_map(|i| {
            let (face, at) = (i / (n * n), i % (n * n));
            math::normalize(direction(
                face,
                center(n, (at % n) as isize),
                center(n, (at / n) as isize),
            ))
        });
        directions
            .map(|d| evaluate(c, d).into_iter().fold(f32::INFINITY, f32::min))
            .fold(f32::INFINITY, f32::min)
    };
    let mut c = raw;
    for step in 1..40 {
        if lowest(&c) >= 0.0 {
            break;
        }
        let k = step as f32 * 0.01;
        for (i, c) in c.iter_mut().enumerate() {
            let window = [1.0, 1.0 / (1.0 + 4.0 * k), 1.0 / (1.0 + 36.0 * k)][[0, 1, 1, 1, 2, 2, 2, 2, 2][i]];
            *c = math::scale(raw[i], window);
        }
    }
    c
}
