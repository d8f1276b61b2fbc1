//! Multisampling with 4 samples (R-RAST-90 to 102, R-OM-70 to 73).

use super::support::*;
use quadrille_raster::format::TextureFormat;
use quadrille_raster::pipeline::CompareFunction;

fn frame(format: TextureFormat, clear: [f64; 4]) -> Frame {
    Frame {
        samples: 4,
        ..Frame::new(format, clear)
    }
}

fn one() -> Fragment {
    Fragment::Constants(vec![[1.0; 4]])
}

/// The masks of triangle A, as the number of samples.
#[test]
fn r_rast_90_coverage_and_resolve() {
    let mut f = frame(TextureFormat::R32Float, [0.0; 4]);
    f.draw(
        [(1.0, 1.0), (6.0, 2.0), (2.0, 4.0)]
            .map(|(x, y)| (at(x, y, 0.5), [0.0; 4]))
            .to_vec(),
        one(),
    );
    let image = f.render();
    let rows: Vec<Vec<f32>> = (1..4)
        .map(|y| (0..7).map(|x| image.r32(x, y) * 4.0).collect())
        .collect();
    assert_eq!(
        rows,
        [
            [0.0, 3.0, 2.0, 2.0, 1.0, 0.0, 0.0],
            [0.0, 3.0, 4.0, 4.0, 3.0, 1.0, 0.0],
            [0.0, 1.0, 3.0, 1.0, 0.0, 0.0, 0.0]
        ]
    );
}

#[test]
fn r_rast_96_sample_mask_and_r_om_73_resolve() {
    for (format, expected) in [(TextureFormat::Rgba8Unorm, 128), (TextureFormat::Rgba8UnormSrgb, 188)] {
        let mut f = frame(format, [0.0; 4]);
        f.draw(screen(0.5, [0.0; 4]), one()).sample_mask = 0b1100;
        assert_eq!(f.render().rgba8(0, 3, 3)[0], expected);
    }
    let mut f = frame(TextureFormat::R32Float, [0.0; 4]);
    for s in 0..4 {
        let c = f.draw(screen(0.5, [0.0; 4]), Fragment::Constants(vec![[s as f32 + 1.0; 4]]));
        c.sample_mask = 1 << s;
    }
    assert_eq!(f.render().r32(5, 5), 2.5);
    let c = f.draw(screen(0.5, [0.0; 4]), Fragment::Constants(vec![[f32::NAN; 4]]));
    c.sample_mask = 2;
    assert!(f.render().r32(5, 5).is_nan());
    // Also without multisampling: bit 0 is the pixel.
    let mut f = Frame::new(TextureFormat::R32Float, [0.0; 4]);
    f.draw(screen(0.5, [0.0; 4]), one()).sample_mask = !1;
    assert_eq!(f.render().r32(5, 5), 0.0);
}

/// R-RAST-101: depth is tested at the samples: along the line where two planes meet, samples differ.
#[test]
fn r_rast_101_depth_per_sample() {
    let mut f = frame(TextureFormat::R32Float, [0.0; 4]);
    f.depth = Some((TextureFormat::Depth32Float, 0.5, 0));
    // z is 0.5 at x = 8.5, in the middle of a column of pixels, and falls to the right.
    let vertices = screen(0.5, [0.0; 4])
        .into_iter()
        .map(|(p, a)| {
            let x = (p[0] + 1.0) * 8.0;
            ([p[0], p[1], 0.5 - (x - 8.5) / 64.0, 1.0], a)
        })
        .collect();
    let c = f.draw(vertices, one());
    c.ds().depth_compare = CompareFunction::Less;
    let image = f.render();
    let row: Vec<f32> = (6..12).map(|x| image.r32(x, 4)).collect();
    // Two of the four samples lie right of the centre.
    assert_eq!(row, [0.0, 0.0, 0.5, 1.0, 1.0, 1.0]);
}

/// R-RAST-102: floor(alpha * 4 + 0.5) samples.
#[test]
fn r_rast_102_alpha_to_coverage() {
    for (alpha, samples) in [
        (-1.0, 0.0),
        (0.0, 0.0),
        (0.1, 0.0),
        (0.125, 1.0),
        (0.4, 2.0),
        (0.8, 3.0),
        (1.0, 4.0),
        (7.0, 4.0),
        (f32::NAN, 0.0),
    ] {
        let mut f = frame(TextureFormat::Rgba32Float, [0.0; 4]);
        let c = f.draw(screen(0.5, [0.0; 4]), Fragment::Constants(vec![[1.0, 1.0, 1.0, alpha]]));
        c.alpha_to_coverage = true;
        assert_eq!(f.render().rgba32(8, 8)[0] * 4.0, samples, "{alpha}");
    }
}

#[test]
fn blending_is_per_sample() {
    use quadrille_raster::pipeline::{BlendComponent, BlendFactor, BlendOperation, BlendState};
    let mut f = frame(TextureFormat::R32Float, [1.0; 4]);
    let add = BlendComponent {
        operation: BlendOperation::Add,
        src_factor: BlendFactor::One,
        dst_factor: BlendFactor::One,
    };
    for (mask, v) in [(0b0001, 1.0), (0b0011, 2.0), (0b0111, 4.0)] {
        let c = f.draw(screen(0.5, [0.0; 4]), Fragment::Constants(vec![[v; 4]]));
        c.sample_mask = mask;
        c.targets[0].blend = Some(BlendState { color: add, alpha: add });
    }
    assert_eq!(f.render().r32(0, 0), (8.0 + 7.0 + 5.0 + 1.0) / 4.0);
}
