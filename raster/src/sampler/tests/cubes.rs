//! Cube maps through the ABI (R-SAMP-80..84).

use super::*;
use crate::texture::{TextureViewDescriptor, ViewDimension};

fn cube(size: u32, texel: impl Fn(u32, u32, u32) -> f32) -> Arc<SampledView> {
    let d = TextureDescriptor {
        depth_or_layers: 6,
        ..TextureDescriptor::new_2d(TextureFormat::R32Float, size, size)
    };
    let t = Texture::new(&d, &budget()).unwrap();
    for face in 0..6 {
        let data: Vec<u8> = (0..size * size)
            .flat_map(|i| texel(face, i % size, i / size).to_le_bytes())
            .collect();
        t.write_level(0, face, &data).unwrap();
    }
    let v = TextureViewDescriptor {
        dimension: Some(ViewDimension::Cube),
        ..Default::default()
    };
    SampledView::new(&TextureView::new(&t, &v).unwrap()).unwrap()
}

const CUBE: SampleOp = SampleOp { dim: Dim::Cube, ..OP };

/// Direction through a texel's centre or any face coordinates, from the table of R-SAMP-81.
fn direction(face: u32, u: f32, v: f32) -> [f32; 3] {
    let (s, t) = (2.0 * u - 1.0, 2.0 * v - 1.0);
    match face {
        0 => [1.0, -t, -s],
        1 => [-1.0, -t, s],
        2 => [s, 1.0, t],
        3 => [s, -1.0, -t],
        4 => [s, -t, 1.0],
        _ => [-s, -t, -1.0],
    }
}

#[test]
fn texels_are_found_through_their_centres() {
    let view = cube(3, |f, x, y| (f * 100 + y * 10 + x) as f32);
    for f in 0..6 {
        for (x, y) in [(0, 0), (1, 2), (2, 1), (2, 2)] {
            let d = direction(f, (x as f32 + 0.5) / 3.0, (y as f32 + 0.5) / 3.0);
            let expected = (f * 100 + y * 10 + x) as f32;
            assert_eq!(
                sample_one(&view, &sampler(SamplerDescriptor::default()), CUBE, &d)[0],
                expected
            );
            let got = sample_one(&view, &sampler(linear()), CUBE, &d)[0];
            assert!((got - expected).abs() < 0.5, "{got} {expected}");
        }
    }
}

/// A smooth function of direction stays smooth across every edge and corner: the taps are the geometric neighbours.
#[test]
fn edges_and_corners_are_seamless() {
    let n = 16;
    let function = |d: [f32; 3]| {
        let l = (d[0] * d[0] + d[1] * d[1] + d[2] * d[2]).sqrt();
        (d[0] + 2.0 * d[1] + 3.0 * d[2]) / l
    };
    let view = cube(n, |f, x, y| {
        function(direction(f, (x as f32 + 0.5) / n as f32, (y as f32 + 0.5) / n as f32))
    });
    let s = sampler(linear());
    let mut rng = Rng(9);
    for i in 0..600 {
        let edge = [0.0, 1.0, 0.001, 0.999, rng.unit()][i % 5];
        let (u, v) = (edge, if i % 3 == 0 { [0.0, 1.0][i % 2] } else { rng.unit() });
        let d = direction(i as u32 % 6, u, v);
        let got = sample_one(&view, &s, CUBE, &d)[0];
        assert!(
            (got - function(d)).abs() < 0.06,
            "face {} {u} {v}: {got} {}",
            i % 6,
            function(d)
        );
    }
}

/// R-SAMP-83: at a corner the value is the mean of the three faces' texels; on an edge of the two.
#[test]
fn corners_are_the_mean_of_three() {
    let view = cube(4, |f, _, _| [1.0, 10.0, 100.0, 1000.0, 10000.0, 100_000.0][f as usize]);
    let at = |d: [f32; 3]| sample_one(&view, &sampler(linear()), CUBE, &d)[0];
    assert!((at([1.0, 1.0, 1.0]) - 10101.0 / 3.0).abs() < 0.01);
    assert!((at([-1.0, -1.0, -1.0]) - 101_010.0 / 3.0).abs() < 0.01);
    assert_eq!(at([1.0, 1.0, 0.0]), 50.5);
    assert_eq!(at([0.0, -1.0, -1.0]), 50500.0);
    // R-SAMP-84: points stay on the face.
    let point = sampler(SamplerDescriptor::default());
    assert_eq!(sample_one(&view, &point, CUBE, &[1.0, 1.0, 1.0])[0], 10000.0);
}

/// The integer classes reach corners too: a constant cube is constant, gather's missing texel is a mean (R-SAMP-68).
#[test]
fn integer_formats_at_corners() {
    let d = TextureDescriptor {
        depth_or_layers: 6,
        ..TextureDescriptor::new_2d(TextureFormat::Rgba8Unorm, 2, 2)
    };
    let t = Texture::new(&d, &budget()).unwrap();
    for face in 0..6 {
        t.write_level(0, face, &[30 * face as u8, 77, 255, 0].repeat(4))
            .unwrap();
    }
    let v = TextureViewDescriptor {
        dimension: Some(ViewDimension::Cube),
        ..Default::default()
    };
    let view = SampledView::new(&TextureView::new(&t, &v).unwrap()).unwrap();
    let got = sample_one(&view, &sampler(linear()), CUBE, &[1.0, 1.0, 1.0]);
    assert!((got[0] * 255.0 - (0.0 + 60.0 + 120.0) / 3.0).abs() < 1e-3);
    assert!((got[1] * 255.0 - 77.0).abs() < 1e-4 && (got[2] - 1.0).abs() < 1e-6 && got[3] == 0.0);
    let op = SampleOp {
        gather: Some(0),
        lod: Lod::Zero,
        ..CUBE
    };
    let mut codes = sample_one(&view, &sampler(linear()), op, &[1.0, 1.0, 1.0]).map(|x| (x * 255.0).round() as i32);
    codes.sort_unstable();
    assert_eq!(codes, [0, 60, 60, 120]);
}

/// R-SAMP-82: a face of 64 texels seen at two texels a pixel is level 1.
#[test]
fn derivatives_choose_the_level() {
    let mut d = TextureDescriptor {
        depth_or_layers: 6,
        ..TextureDescriptor::new_2d(TextureFormat::R32Float, 64, 64)
    };
    d.levels = 7;
    let t = Texture::new(&d, &budget()).unwrap();
    for level in 0..7 {
        for face in 0..6 {
            let texels = (64usize >> level).pow(2);
            t.write_level(level, face, &(level as f32).to_le_bytes().repeat(texels))
                .unwrap();
        }
    }
    let v = TextureViewDescriptor {
        dimension: Some(ViewDimension::Cube),
        ..Default::default()
    };
    let view = SampledView::new(&TextureView::new(&t, &v).unwrap()).unwrap();
    let step = 2.0 * 2.0 / 64.0; // two texels of 64 over the face's width of 2
    let lane = |i: usize| ((i % 2) as f32 * step, (i / 2 % 2) as f32 * step);
    for face in 0..6u32 {
        let args: [[f32; 8]; 3] = [0, 1, 2].map(|c| {
            std::array::from_fn(|i| {
                let (s, t) = lane(i);
                direction(face, 0.5 + s / 2.0, 0.5 + t / 2.0)[c]
            })
        });
        let got = sample(&view, &sampler(linear()), CUBE, &args)[0];
        assert!((got[0] - 1.0).abs() < 0.01, "face {face}: {got:?}");
        // The same as explicit gradients.
        let base = direction(face, 0.5, 0.5);
        let grad: Vec<f32> = base
            .into_iter()
            .chain([1, 2].into_iter().flat_map(|k| {
                let (s, t) = lane(k);
                let to = direction(face, 0.5 + s / 2.0, 0.5 + t / 2.0);
                std::array::from_fn::<f32, 3, _>(|c| to[c] - base[c])
            }))
            .collect();
        assert_eq!(
            sample_one(&view, &sampler(linear()), SampleOp { lod: Lod::Grad, ..CUBE }, &grad)[0],
            got[0]
        );
    }
}
