//! When depth and stencil happen, and what a fragment shader that writes memory or depth sees (R-PS-20 to R-PS-55).

use super::support::*;
use quadrille_frontend::ir::{Alu, Builtin, DepthOutput, Interpolation, Kind, Op, Semantic};
use quadrille_raster::format::TextureFormat;
use quadrille_raster::pipeline::{CompareFunction, StencilFaceState, StencilOperation};

fn frame(depth: f32) -> Frame {
    Frame {
        depth: Some((TextureFormat::Depth32FloatStencil8, depth, 0)),
        words: 4,
        ..Frame::new(TextureFormat::R8Unorm, [0.0; 4])
    }
}

fn discard_odd_columns(s: &mut Build) {
    let x = s.read(
        Semantic::Builtin(Builtin::Position(0)),
        Kind::F32,
        Interpolation::Linear,
    );
    let x = s.b.alu(Alu::FToU, &[x]);
    let one = s.b.u32(1);
    let odd = s.b.alu(Alu::And, &[x, one]);
    let odd = s.b.alu(Alu::IEq, &[odd, one]);
    s.b.begin_if(odd);
    s.b.inst(Op::Discard, &[], &[]);
    s.b.end_if();
}

/// Counts in word 0, then discards odd columns if asked, counts in word 1, and is white.
fn counting(early: bool, discard: bool) -> Fragment {
    custom(move |s| {
        s.early = early;
        let buffer = s.buffer();
        s.count(buffer, 0);
        if discard {
            discard_odd_columns(s);
        }
        s.count(buffer, 1);
        let white = s.b.f32(1.0);
        s.splat(0, white);
    })
}

/// REQ-P2, R-PS-40: by default fragments whose depth fails are counted, with early tests they are not.
#[test]
fn r_ps_41_43_early_and_late_tests_with_counters() {
    for (early, count) in [(false, 512), (true, 256)] {
        let mut f = frame(0.5);
        for z in [0.25, 0.75] {
            let c = f.draw(screen(z, [0.0; 4]), counting(early, false));
            c.ds().depth_compare = CompareFunction::Less;
            c.ds().depth_write_enabled = true;
        }
        let image = f.render();
        assert_eq!(image.words[0], count, "early {early}");
        assert_eq!(image.depth(3, 3), 0.25f32.to_bits());
    }
}

/// REQ-P3: with early tests depth is written although the fragment is discarded. REQ-P5: effects before the discard
/// stay, those after it don't happen (R-PS-52).
#[test]
fn r_ps_43_52_discard_after_early_tests() {
    for early in [false, true] {
        let mut f = frame(1.0);
        let c = f.draw(screen(0.25, [0.0; 4]), counting(early, true));
        c.ds().depth_compare = CompareFunction::Less;
        c.ds().depth_write_enabled = true;
        let image = f.render();
        assert_eq!(image.words[..2], [256, 128]);
        let odd = if early { 0.25f32 } else { 1.0 };
        assert_eq!(
            (image.depth(2, 3), image.depth(3, 3)),
            (0.25f32.to_bits(), odd.to_bits())
        );
        assert_eq!((image.r8(2, 3), image.r8(3, 3)), (255, 0));
    }
}

/// REQ-P6, R-PS-50, R-RAST-151, R-RAST-154: helper lanes count nothing, and get 0.
#[test]
fn r_ps_50_helpers_have_no_effect() {
    let mut f = frame(1.0);
    f.draw(quad(5.0, 7.0, 6.0, 8.0, 0.5, [0.0; 4]), counting(false, false));
    assert_eq!(f.render().words[0], 1);
    // SEED-2.3: once per covered pixel of each primitive; triangle A covers 7.
    let mut f = frame(1.0);
    for _ in 0..2 {
        f.draw(
            [(1.0, 1.0), (6.0, 2.0), (2.0, 4.0)]
                .map(|(x, y)| (at(x, y, 0.5), [0.0; 4]))
                .to_vec(),
            counting(false, false),
        );
    }
    assert_eq!(f.render().words[0], 14);
}

/// Writes depth and white, with a promise; counts nothing, so that culling is allowed.
fn depth_output(z: f32, promise: DepthOutput, early: bool) -> Fragment {
    custom(move |s| {
        s.promise = promise;
        s.early = early;
        let depth = s.b.f32(z);
        s.write(Semantic::Builtin(Builtin::FragDepth), depth);
        let white = s.b.f32(1.0);
        s.splat(0, white);
    })
}

/// SEED-2.26: the output replaces the interpolated depth; R-PS-43: not where tests are early.
#[test]
fn r_ps_23_43_depth_output() {
    for (early, passes, stored) in [(false, 255, 0.1f32), (true, 0, 0.5)] {
        let mut f = frame(0.5);
        let c = f.draw(screen(0.9, [0.0; 4]), depth_output(0.1, DepthOutput::Any, early));
        c.ds().depth_compare = CompareFunction::Less;
        c.ds().depth_write_enabled = true;
        let image = f.render();
        assert_eq!((image.r8(1, 1), image.depth(1, 1)), (passes, stored.to_bits()));
    }
    // R-OM-1: without test and write it is ignored.
    let mut f = frame(0.5);
    f.draw(screen(0.9, [0.0; 4]), depth_output(0.1, DepthOutput::Any, false));
    let image = f.render();
    assert_eq!((image.r8(1, 1), image.depth(1, 1)), (255, 0.5f32.to_bits()));
}

/// REQ-P7: a broken promise is clamped to the rasterizer's depth, so that skipping early shows nothing.
#[test]
fn r_ps_28_conservative_depth() {
    use CompareFunction::*;
    for samples in [1, 4] {
        for promise in [DepthOutput::Any, DepthOutput::GreaterEqual, DepthOutput::LessEqual] {
            for compare in [Less, LessEqual, Greater, GreaterEqual, NotEqual, Always] {
                for (raster, output) in [(0.25, 0.75), (0.75, 0.25), (0.5, 0.5), (0.25, 0.3), (0.3, 0.25)] {
                    let stored = 0.5f32;
                    let mut f = frame(stored);
                    f.samples = samples;
                    let c = f.draw(screen(raster, [0.0; 4]), depth_output(output, promise, false));
                    c.ds().depth_compare = compare;
                    c.ds().depth_write_enabled = true;
                    let image = f.render();
                    let z = match promise {
                        DepthOutput::Any => output,
                        DepthOutput::GreaterEqual => output.max(raster),
                        DepthOutput::LessEqual => output.min(raster),
                    };
                    let passes = match compare {
                        Less => z < stored,
                        LessEqual => z <= stored,
                        Greater => z > stored,
                        GreaterEqual => z >= stored,
                        NotEqual => z != stored,
                        _ => true,
                    };
                    assert_eq!(
                        image.r8(2, 9) == 255,
                        passes,
                        "{promise:?} {compare:?} {raster} {output}"
                    );
                    if samples == 1 {
                        let depth = if passes { z } else { stored };
                        assert_eq!(image.depth(2, 9), depth.to_bits());
                    }
                }
            }
        }
    }
}

/// Stencil operations of failed tests happen also where all of a quad fails and the shader discards (R-OM-22, R-PS-42).
#[test]
fn r_ps_42_failed_tests_still_count_where_shaders_discard() {
    let mut f = frame(0.25);
    let c = f.draw(
        screen(0.75, [0.0; 4]),
        custom(|s| {
            discard_odd_columns(s);
            let white = s.b.f32(1.0);
            s.splat(0, white);
        }),
    );
    let face = StencilFaceState {
        depth_fail_op: StencilOperation::IncrementClamp,
        ..StencilFaceState::default()
    };
    let ds = c.ds();
    ds.depth_compare = CompareFunction::Less;
    (ds.stencil_front, ds.stencil_back) = (face, face);
    let image = f.render();
    assert_eq!(
        (image.stencil(4, 4), image.stencil(5, 4)),
        (1, 0),
        "discarded fragments change nothing"
    );
    assert_eq!(image.r8(4, 4), 0);
}

/// The stored depth decides, before everything else.
#[test]
fn depth_bounds_look_at_the_stored_depth() {
    for format in [TextureFormat::Depth32FloatStencil8, TextureFormat::Depth24PlusStencil8] {
        let mut f = Frame {
            depth: Some((format, 1.0, 0)),
            ..Frame::new(TextureFormat::R8Unorm, [0.0; 4])
        };
        for (x, z) in [(0.0, 0.2), (4.0, 0.5), (8.0, 0.8)] {
            f.draw(quad(x, 0.0, x + 4.0, 16.0, z, [0.0; 4]), Fragment::None)
                .ds()
                .depth_write_enabled = true;
        }
        let c = f.draw(screen(0.1, [0.0; 4]), Fragment::Constants(vec![[1.0; 4]]));
        c.extended.depth_bounds = Some([0.4, 0.9]);
        let face = StencilFaceState {
            pass_op: StencilOperation::Invert,
            ..StencilFaceState::default()
        };
        let ds = c.ds();
        ds.depth_write_enabled = true;
        (ds.stencil_front, ds.stencil_back) = (face, face);
        let image = f.render();
        let columns = [1, 5, 9, 13];
        assert_eq!(columns.map(|x| image.r8(x, 6)), [0, 255, 255, 0]);
        assert_eq!(columns.map(|x| image.stencil(x, 6)), [0, 255, 255, 0]);
        assert!(image.depth(1, 6) != image.depth(5, 6));
        assert_eq!(image.depth(5, 6), image.depth(9, 6));
    }
}

/// SEED-2.4: without a fragment shader depth is still tested and written.
#[test]
fn r_ps_2_null_shader() {
    let mut f = frame(1.0);
    f.draw(
        [(1.0, 1.0), (6.0, 2.0), (2.0, 4.0)]
            .map(|(x, y)| (at(x, y, 0.5), [0.0; 4]))
            .to_vec(),
        Fragment::None,
    )
    .ds()
    .depth_write_enabled = true;
    let image = f.render();
    let written = (0..256).filter(|i| image.depth(i % 16, i / 16) == 0.5f32.to_bits());
    assert_eq!(written.count(), 7);
    // A shader without outputs is not the same: it runs, and may discard.
    let mut f = frame(1.0);
    let c = f.draw(screen(0.5, [0.0; 4]), custom(discard_odd_columns));
    c.ds().depth_write_enabled = true;
    let image = f.render();
    assert_eq!(
        (image.depth(2, 2), image.depth(3, 2)),
        (0.5f32.to_bits(), 1.0f32.to_bits())
    );
}

/// R-PS-21: a target whose output isn't declared keeps its value; R-PS-22: missing components of one that is are 0.
#[test]
fn r_ps_21_22_outputs_that_are_missing() {
    let mut f = Frame {
        colors: vec![(TextureFormat::Rgba8Unorm, [0.2; 4]); 3],
        ..Frame::new(TextureFormat::Rgba8Unorm, [0.0; 4])
    };
    f.draw(
        screen(0.5, [0.0; 4]),
        custom(|s| {
            let v = s.b.f32(1.0);
            s.write(location(0, 0), v);
            s.write(location(2, 1), v);
            s.write(location(2, 3), v);
        }),
    );
    let image = f.render();
    assert_eq!(image.rgba8(0, 8, 8), [255, 0, 0, 0]);
    assert_eq!(image.rgba8(1, 8, 8), [51; 4]);
    assert_eq!(image.rgba8(2, 8, 8), [0, 255, 0, 255]);
}
