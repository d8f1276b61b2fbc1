//! Depth (R-OM-1 to R-OM-7) and depth bias (R-RAST-70 to 76) as passes store it.

use super::support::*;
use quadrille_raster::format::TextureFormat;
use quadrille_raster::pipeline::{CompareFunction, PrimitiveTopology};

fn depth_frame(format: TextureFormat, clear: f32) -> Frame {
    Frame {
        depth: Some((format, clear, 0)),
        ..Frame::new(TextureFormat::R8Unorm, [0.0; 4])
    }
}

fn stored(format: TextureFormat, z: f32) -> u32 {
    let mut f = depth_frame(format, 1.0);
    f.draw(screen(0.5, [z; 4]), Fragment::Depth).ds().depth_write_enabled = true;
    f.render().depth(3, 3)
}

/// The table of section 1, for the formats of R-OM-6.
#[test]
fn r_om_4_conversion() {
    let (d16, d24) = (TextureFormat::Depth16Unorm, TextureFormat::Depth24Plus);
    for (z, c16, c24) in [
        (0.25, 0x4000, 0x40_0000),
        (0.5, 0x8000, 0x80_0000),
        (0.333_333_34, 0x5555, 0x55_5555),
        (1.0 - 0.5f32.powi(24), 0xffff, 0xff_fffe),
        (0.5f32.powi(17), 0, 0x80),
        (0.5f32.powi(18), 0, 0x40),
    ] {
        assert_eq!((stored(d16, z), stored(d24, z)), (c16, c24), "{z}");
        assert_eq!(stored(TextureFormat::Depth32Float, z), z.to_bits());
    }
}

/// R-PS-24: any float may be written.
#[test]
fn r_om_3_clamp_to_the_viewport() {
    for (z, expected) in [
        (0.0, 0.25),
        (0.9, 0.75),
        (-3.0, 0.25),
        (f32::NAN, 0.25),
        (f32::INFINITY, 0.75),
        (0.5, 0.5),
    ] {
        let mut f = depth_frame(TextureFormat::Depth32Float, 1.0);
        let c = f.draw(screen(0.5, [z; 4]), Fragment::Depth);
        (c.viewport.min_depth, c.viewport.max_depth) = (0.25, 0.75);
        c.ds().depth_write_enabled = true;
        assert_eq!(f32::from_bits(f.render().depth(1, 1)), expected, "{z}");
    }
    // R-RAST-11: without depth clipping, interpolated depth is clamped too.
    let mut f = depth_frame(TextureFormat::Depth32Float, 0.5);
    let c = f.draw(screen(1.5, [1.0; 4]), Fragment::None);
    c.ds().depth_write_enabled = true;
    c.primitive.unclipped_depth = true;
    assert_eq!(f.render().depth(1, 1), 1.0f32.to_bits());
    f.calls[0].primitive.unclipped_depth = false;
    assert_eq!(f.render().depth(1, 1), 0.5f32.to_bits());
}

#[test]
fn r_om_5_comparisons() {
    use CompareFunction::*;
    for format in [
        TextureFormat::Depth16Unorm,
        TextureFormat::Depth24Plus,
        TextureFormat::Depth32Float,
    ] {
        for (compare, less, equal, greater) in [
            (Never, false, false, false),
            (Less, true, false, false),
            (Equal, false, true, false),
            (LessEqual, true, true, false),
            (Greater, false, false, true),
            (NotEqual, true, false, true),
            (GreaterEqual, false, true, true),
            (Always, true, true, true),
        ] {
            let mut f = depth_frame(format, 0.5);
            let x = [0.0, 4.0, 8.0, 12.0];
            for (i, z) in [0.25, 0.5, 0.75].into_iter().enumerate() {
                let c = f.draw(
                    quad(x[i], 0.0, x[i + 1], 16.0, z, [1.0; 4]),
                    Fragment::Constants(vec![[1.0; 4]]),
                );
                c.ds().depth_compare = compare;
            }
            let image = f.render();
            let passed = [1, 5, 9].map(|x| image.r8(x, 7) == 255);
            assert_eq!(passed, [less, equal, greater], "{compare:?} {format:?}");
            // R-OM-2: no write without depthWriteEnabled.
            assert_eq!(image.depth(1, 1), image.depth(15, 15));
        }
    }
}

/// R-OM-4: the converted value is compared.
#[test]
fn r_om_4_comparison_sees_the_stored_precision() {
    let mut f = depth_frame(TextureFormat::Depth16Unorm, 0.5);
    let z = 0.5 + 0.25 / 65535.0;
    let c = f.draw(screen(z, [1.0; 4]), Fragment::Constants(vec![[1.0; 4]]));
    c.ds().depth_compare = CompareFunction::Equal;
    assert_eq!(f.render().r8(2, 2), 255);
}

#[test]
fn nearer_wins_in_any_order() {
    for order in [[0, 1], [1, 0]] {
        let mut f = depth_frame(TextureFormat::Depth24Plus, 1.0);
        for i in order {
            let (z, v) = [(0.2, 1.0), (0.8, 0.2)][i];
            let c = f.draw(screen(z, [v; 4]), Fragment::Constants(vec![[v; 4]]));
            c.ds().depth_compare = CompareFunction::Less;
            c.ds().depth_write_enabled = true;
        }
        assert_eq!(f.render().r8(8, 8), 255);
    }
}

/// R-PS-26, R-PS-42: a discarded fragment writes no depth.
#[test]
fn discarded_fragments_leave_depth_alone() {
    let mut f = depth_frame(TextureFormat::Depth32Float, 1.0);
    let mut v = screen(0.25, [0.0; 4]);
    for v in &mut v {
        v.1[0] = v.0[0];
    }
    let c = f.draw(v, Fragment::Discard);
    c.ds().depth_write_enabled = true;
    c.ds().depth_compare = CompareFunction::Less;
    let image = f.render();
    assert_eq!((image.r8(7, 3), image.r8(8, 3)), (0, 255));
    assert_eq!(
        (image.depth(7, 3), image.depth(8, 3)),
        (1.0f32.to_bits(), 0.25f32.to_bits())
    );
}

/// The table of section 8, in the depth buffer.
#[test]
fn r_rast_70_to_75_bias() {
    let flat = |z: f32| screen(z, [0.0; 4]);
    let biased = |format, clear, vertices: Vec<Vertex>, constant, scale, clamp| {
        let mut f = depth_frame(format, clear);
        let c = f.draw(vertices, Fragment::None);
        let ds = c.ds();
        ds.depth_write_enabled = true;
        (ds.depth_bias, ds.depth_bias_slope_scale, ds.depth_bias_clamp) = (constant, scale, clamp);
        f.render()
    };
    let d32 = TextureFormat::Depth32Float;
    let code = |format, constant| biased(format, 1.0, flat(0.25), constant, 0.0, 0.0).depth(4, 4);
    assert_eq!(code(TextureFormat::Depth16Unorm, 1), 0x4001);
    assert_eq!(code(TextureFormat::Depth24Plus, 1), 0x40_0001);
    assert_eq!(code(TextureFormat::Depth24Plus, -4), 0x3f_fffc);
    assert_eq!(code(d32, 5), (0.25f32 + 5.0 * 0.5f32.powi(25)).to_bits());
    // Slope: z grows by 1/32 a pixel in x.
    let slope = |scale, clamp| {
        let mut v = flat(0.0);
        for v in &mut v {
            v.0[2] = (v.0[0] + 1.0) / 4.0;
        }
        f32::from_bits(biased(d32, 1.0, v, 0, scale, clamp).depth(8, 3)) - 8.5 / 32.0
    };
    assert_eq!(slope(2.0, 0.0), 2.0 / 32.0);
    assert_eq!(slope(2.0, 0.01), 0.01f32 + 8.5 / 32.0 - 8.5 / 32.0);
    assert_eq!(slope(-2.0, 0.0), -2.0 / 32.0);
    // R-RAST-75: lines and points are never biased (WebGPU refuses the state; the rasterizer ignores it).
    let mut f = depth_frame(d32, 1.0);
    let c = f.draw(vec![(at(2.5, 2.5, 0.5), [0.0; 4])], Fragment::None);
    c.primitive.topology = PrimitiveTopology::PointList;
    c.ds().depth_write_enabled = true;
    assert_eq!(f.render().depth(2, 2), 0.5f32.to_bits());
}

/// R-RAST-143: copying z to the depth output changes nothing.
#[test]
fn r_rast_143_shader_z_is_the_fixed_function_z() {
    let tilted = || -> Vec<Vertex> {
        vec![
            (at(1.0, 0.3, 0.1), [0.0; 4]),
            (at(15.7, 3.0, 0.77), [0.0; 4]),
            (at(4.0, 15.2, 0.9), [0.0; 4]),
        ]
    };
    let mut f = depth_frame(TextureFormat::Depth32Float, 1.0);
    f.draw(tilted(), Fragment::None).ds().depth_write_enabled = true;
    let depth = f.render();
    let mut f = Frame::new(TextureFormat::Rgba32Float, [1.0; 4]);
    f.draw(tilted(), Fragment::Position);
    let color = f.render();
    for y in 0..16 {
        for x in 0..16 {
            let [px, py, z, w] = color.rgba32(x, y);
            assert_eq!(z.to_bits(), depth.depth(x, y));
            if z != 1.0 {
                assert_eq!([px, py, w], [x as f32 + 0.5, y as f32 + 0.5, 1.0]);
            }
        }
    }
}
