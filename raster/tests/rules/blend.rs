//! Blending and writing (R-OM-30 to R-OM-41, R-OM-60 to 62).

use super::support::*;
use quadrille_raster::format::TextureFormat;
use quadrille_raster::pipeline::{BlendComponent, BlendFactor, BlendOperation, BlendState};

fn component(operation: BlendOperation, src_factor: BlendFactor, dst_factor: BlendFactor) -> BlendComponent {
    BlendComponent {
        operation,
        src_factor,
        dst_factor,
    }
}

fn blended(
    format: TextureFormat,
    clear: [f64; 4],
    fragment: Fragment,
    color: BlendComponent,
    alpha: BlendComponent,
) -> Image {
    let mut f = Frame::new(format, clear);
    let c = f.draw(screen(0.5, [0.0; 4]), fragment);
    c.targets[0].blend = Some(BlendState { color, alpha });
    c.blend_constant = [0.2, 0.4, 2.0, 0.6];
    f.render()
}

/// The table of section 3.
#[test]
fn r_om_30_31_table() {
    use BlendFactor::*;
    use BlendOperation::*;
    let clear = [0.0, 128.0 / 255.0, 1.0, 1.0];
    let copy = component(Add, One, Zero);
    for (color, alpha, expected) in [
        (component(Add, SrcAlpha, OneMinusSrcAlpha), copy, [128, 128, 159, 128]),
        (component(Add, One, One), component(Add, One, One), [255; 4]),
        (
            component(Subtract, One, One),
            component(Subtract, One, One),
            [255, 0, 0, 0],
        ),
        // Green is 128/255 - 1/2: exactly between two codes, so f32's own rounding decides (0.6 ULP allow both).
        (
            component(ReverseSubtract, One, One),
            component(ReverseSubtract, One, One),
            [0, 1, 191, 128],
        ),
        (component(Min, One, One), component(Max, One, One), [0, 128, 64, 255]),
        (
            component(Add, Dst, Zero),
            component(Add, DstAlpha, Zero),
            [0, 64, 64, 128],
        ),
        (
            component(Add, SrcAlphaSaturated, One),
            component(Add, SrcAlphaSaturated, Zero),
            [0, 128, 255, 128],
        ),
        (component(Add, Constant, OneMinusConstant), copy, [51, 128, 64, 128]),
    ] {
        let src = Fragment::Constants(vec![[1.0, 0.5, 0.25, 0.5]]);
        let image = blended(TextureFormat::Rgba8Unorm, clear, src, color, alpha);
        assert_eq!(image.rgba8(0, 7, 4), expected, "{color:?} {alpha:?}");
        assert_eq!(image.rgba8(0, 0, 15), expected);
    }
}

#[test]
fn r_om_40_dual_source() {
    use BlendFactor::*;
    let clear = [0.0, 128.0 / 255.0, 1.0, 1.0];
    let src = Fragment::Dual([0.125, 0.25, 0.375, 1.0], [0.5, 0.25, 0.0, 1.0]);
    let color = component(BlendOperation::Add, One, Src1);
    let image = blended(
        TextureFormat::Rgba8Unorm,
        clear,
        src,
        color,
        component(BlendOperation::Add, One, Zero),
    );
    assert_eq!(image.rgba8(0, 3, 3), [32, 96, 96, 255]);
}

/// R-OM-35: blending in linear light; unblended writes encode too.
#[test]
fn r_om_35_srgb() {
    let format = TextureFormat::Rgba8UnormSrgb;
    let over = component(
        BlendOperation::Add,
        BlendFactor::SrcAlpha,
        BlendFactor::OneMinusSrcAlpha,
    );
    // A clear value that encodes to 188.
    let half = Fragment::Constants(vec![[0.5; 4]]);
    let image = blended(format, [0.5, 0.5, 0.5, 1.0], half.clone(), over, over);
    assert_eq!(image.rgba8(0, 1, 1)[..3], [188; 3]);
    let mut f = Frame::new(format, [0.0; 4]);
    f.draw(screen(0.5, [0.0; 4]), half);
    assert_eq!(f.render().rgba8(0, 1, 1), [188, 188, 188, 128]);
}

/// R-OM-32: sources are clamped to the target's range before blending.
#[test]
fn r_om_32_clamp_per_target() {
    let color = component(BlendOperation::Subtract, BlendFactor::One, BlendFactor::One);
    let clear = [0.5; 4];
    let src = Fragment::Constants(vec![[3.0, -1.0, 0.75, 1.0]]);
    let image = blended(TextureFormat::Rgba8Unorm, clear, src.clone(), color, color);
    assert_eq!(image.rgba8(0, 2, 2), [127, 0, 63, 127]);
    let image = blended(TextureFormat::Rgba32Float, clear, src, color, color);
    assert_eq!(image.rgba32(2, 2), [2.5, -1.5, 0.25, 0.5]);
}

/// R-OM-34: NaN goes through a weight of 0.
#[test]
fn r_om_34_nan_propagates() {
    let color = component(BlendOperation::Add, BlendFactor::Zero, BlendFactor::One);
    let src = Fragment::Constants(vec![[f32::NAN, 1.0, f32::INFINITY, 0.0]]);
    let [r, g, b, _] = blended(TextureFormat::Rgba32Float, [0.5; 4], src, color, color).rgba32(2, 2);
    assert!(r.is_nan() && b.is_nan());
    assert_eq!(g, 0.5);
}

/// R-OM-36: a destination alpha that isn't there reads 1.
#[test]
fn r_om_36_missing_alpha_is_one() {
    let color = component(BlendOperation::Add, BlendFactor::DstAlpha, BlendFactor::Zero);
    let image = blended(
        TextureFormat::R32Float,
        [0.25; 4],
        Fragment::Constants(vec![[0.75; 4]]),
        color,
        color,
    );
    assert_eq!(image.r32(9, 9), 0.75);
}

#[test]
fn r_om_39_half_floats_round_to_nearest_even() {
    let mut f = Frame::new(TextureFormat::Rgba16Float, [0.0; 4]);
    f.draw(
        screen(0.5, [0.0; 4]),
        Fragment::Constants(vec![[0.1, 1.0 + 0.5f32.powi(11), 70000.0, -2.5]]),
    );
    let image = f.render();
    let texel: Vec<u16> = image.colors[0][..8]
        .chunks(2)
        .map(|b| u16::from_le_bytes([b[0], b[1]]))
        .collect();
    assert_eq!(texel, [0x2e66, 0x3c00, 0x7c00, 0xc100]);
}

/// R-OM-60, R-OM-61: several targets, each with its mask; R-OM-41: masked components keep their bits.
#[test]
fn r_om_60_61_targets_and_masks() {
    let mut f = Frame::new(TextureFormat::Rgba8Unorm, [1.0, 0.0, 1.0, 0.0]);
    f.colors.push((TextureFormat::Rgba8Unorm, [0.0; 4]));
    f.colors.push((TextureFormat::Rgba16Float, [1.0, 2.0, 3.0, 4.0]));
    let colors = vec![[0.2, 0.4, 0.6, 0.8], [1.0; 4], [0.5; 4]];
    let c = f.draw(quad(0.0, 0.0, 8.0, 16.0, 0.5, [0.0; 4]), Fragment::Constants(colors));
    c.targets[0].write_mask = 0b1010;
    c.targets[1].write_mask = 0;
    c.targets[2].write_mask = 0b0101;
    let image = f.render();
    assert_eq!(image.rgba8(0, 3, 3), [255, 102, 255, 204]);
    assert_eq!(image.rgba8(0, 9, 3), [255, 0, 255, 0]);
    assert_eq!(image.rgba8(1, 3, 3), [0; 4]);
    let texel: Vec<u16> = image.colors[2][..8]
        .chunks(2)
        .map(|b| u16::from_le_bytes([b[0], b[1]]))
        .collect();
    assert_eq!(texel, [0x3800, 0x4000, 0x3800, 0x4400]);
}
