//! The pixel shader stage between its neighbours: derivatives, depth it reads and writes, targets it doesn't have.

use super::support::*;
use quadrille_frontend::ir::{Alu, Builtin, Interpolation, Kind, Op, QuadOp, Semantic, Value};
use quadrille_jit::interp::Interpreter;
use quadrille_raster::format::TextureFormat;
use quadrille_raster::pipeline::{
    CompareFunction, GradientDivergence, PipelineError, Rules, StencilFaceState, StencilOperation,
};
use quadrille_raster::texture::ResolveMode;

fn frame() -> Frame {
    Frame::new(TextureFormat::Rgba32Float, [9.0; 4])
}

fn deep(samples: u32) -> Frame {
    Frame {
        samples,
        depth: Some((TextureFormat::Depth32Float, 1.0, 0)),
        ..Frame::new(TextureFormat::R32Float, [0.0; 4])
    }
}

fn position(s: &mut Build, c: u8) -> Value {
    s.read(
        Semantic::Builtin(Builtin::Position(c)),
        Kind::F32,
        Interpolation::Linear,
    )
}

fn odd_column(s: &mut Build) -> Value {
    let x = position(s, 0);
    let x = s.b.alu(Alu::FToU, &[x]);
    let one = s.b.u32(1);
    let bit = s.b.alu(Alu::And, &[x, one]);
    s.b.alu(Alu::IEq, &[bit, one])
}

/// SEED-2.7: derivatives are with respect to the screen.
#[test]
fn r_ps_60_derivatives_of_the_position() {
    let mut f = frame();
    f.draw(
        screen(0.5, [0.0; 4]),
        custom(|s| {
            let (x, y) = (position(s, 0), position(s, 1));
            let quad = |s: &mut Build, op, v| s.b.quad(op, v);
            let values = [
                quad(s, QuadOp::DdxCoarse, x),
                quad(s, QuadOp::DdyFine, y),
                quad(s, QuadOp::DdxFine, y),
                quad(s, QuadOp::DdyCoarse, x),
            ];
            for (c, v) in values.into_iter().enumerate() {
                s.write(location(0, c as u8), v);
            }
        }),
    );
    assert_eq!(f.render().rgba32(7, 4), [1.0, 1.0, 0.0, 0.0]);
}

/// SEED-1.7 to 1.11: a shader that asks for ddx(2 x) in odd columns, with 2 x computed in front of that branch or in it.
fn divergent(early: bool) -> Fragment {
    custom(move |s| {
        let odd = odd_column(s);
        let out = s.b.local("", Kind::F32);
        let doubled = |s: &mut Build| {
            let x = position(s, 0);
            let two = s.b.f32(2.0);
            s.b.alu(Alu::FMul, &[x, two])
        };
        let before = doubled(s);
        s.b.begin_if(odd);
        let x = if early { before } else { doubled(s) };
        let d = s.b.quad(QuadOp::DdxFine, x);
        s.b.set(out, d);
        s.b.end_if();
        let d = s.b.get(out);
        s.splat(0, d);
    })
}

/// R-PS-80, R-PS-85: Direct3D refuses a gradient in varying flow of what is computed there, or warns of it; WebGPU leaves that to
/// its language.
#[test]
fn r_ps_80_85_gradients_in_varying_flow_are_illegal() {
    let mut f = frame();
    let c = f.draw(screen(0.5, [0.0; 4]), divergent(false));
    assert!(c.pipeline(&Interpreter, 1).expect("WebGPU's rules").warnings.is_empty());
    c.rules = Rules::D3d11;
    let error = c.pipeline(&Interpreter, 1).map(|_| ()).unwrap_err();
    assert!(matches!(error, PipelineError::Gradient { .. }), "{error}");
    c.extended.gradient_divergence = GradientDivergence::Warning;
    let warnings = c.pipeline(&Interpreter, 1).expect("warned only").warnings;
    assert!(
        warnings.len() == 1 && warnings[0].contains("a derivative"),
        "{warnings:?}"
    );
}

/// R-PS-82: of what is computed in front of the branch the gradient is the same wherever it is taken.
#[test]
fn r_ps_82_gradients_move_out_of_varying_flow() {
    for rules in [Rules::WebGpu, Rules::D3d11] {
        let mut f = frame();
        let c = f.draw(screen(0.5, [0.0; 4]), divergent(true));
        c.rules = rules;
        let image = f.render();
        assert_eq!(
            (image.rgba32(4, 4), image.rgba32(5, 4)),
            ([0.0; 4], [2.0; 4]),
            "{rules:?}"
        );
    }
}

/// REQ-P4, and R-PS-53: a discarded lane goes on for its neighbours; its own outputs are dropped, before and after.
#[test]
fn r_ps_51_discard_keeps_derivatives_alive() {
    let mut f = frame();
    f.draw(
        screen(0.5, [0.0; 4]),
        custom(|s| {
            let odd = odd_column(s);
            s.b.begin_if(odd);
            s.b.inst(Op::Discard, &[], &[]);
            s.b.end_if();
            let x = position(s, 0);
            let two = s.b.f32(2.0);
            let x = s.b.alu(Alu::FMul, &[x, two]);
            let d = s.b.quad(QuadOp::DdxFine, x);
            s.splat(0, d);
        }),
    );
    let image = f.render();
    assert_eq!((image.rgba32(4, 4), image.rgba32(5, 4)), ([2.0; 4], [9.0; 4]));
}

/// REQ-R8: the shader's z is neither clamped nor quantised; what is stored is.
#[test]
fn r_rast_24_shader_depth_is_not_clamped() {
    let mut f = deep(1);
    let c = f.draw(
        screen(1.5, [0.0; 4]),
        custom(|s| {
            let z = position(s, 2);
            s.splat(0, z);
        }),
    );
    c.primitive.unclipped_depth = true;
    c.ds().depth_write_enabled = true;
    let image = f.render();
    assert_eq!((image.r32(3, 3), image.depth(3, 3)), (1.5, 1.0f32.to_bits()));
}

/// SEED-2.27: a declared depth output always counts; where it isn't written it is 0, never the interpolated depth.
#[test]
fn r_ps_23_unwritten_depth_is_zero() {
    let mut f = deep(1);
    let c = f.draw(
        screen(0.9, [0.0; 4]),
        custom(|s| {
            let depth = s.output(Semantic::Builtin(Builtin::FragDepth), Kind::F32);
            let odd = odd_column(s);
            let even = s.b.alu(Alu::Not, &[odd]);
            s.b.begin_if(even);
            let z = s.b.f32(0.25);
            s.b.set(depth, z);
            s.b.end_if();
        }),
    );
    c.ds().depth_write_enabled = true;
    let image = f.render();
    // SEED-2.25: and 0.25 is stored as it is.
    assert_eq!((image.depth(4, 4), image.depth(5, 4)), (0x3e80_0000, 0));
}

/// R-PS-25: a depth output is each sample's own at sample frequency, the pixel's at pixel frequency.
#[test]
fn r_ps_25_depth_output_of_samples() {
    for (frequent, least, greatest) in [(true, 0.0f32, 0.75f32), (false, 0.5, 0.5)] {
        for (mode, expected) in [(ResolveMode::Min, least), (ResolveMode::Max, greatest)] {
            let mut f = deep(4);
            f.resolve_mode = mode;
            let c = f.draw(
                screen(0.9, [0.0; 4]),
                custom(move |s| {
                    let z = if frequent {
                        let index = s.builtin(Builtin::SampleIndex, Kind::U32);
                        let index = s.b.alu(Alu::UToF, &[index]);
                        let quarter = s.b.f32(0.25);
                        s.b.alu(Alu::FMul, &[index, quarter])
                    } else {
                        s.b.f32(0.5)
                    };
                    s.write(Semantic::Builtin(Builtin::FragDepth), z);
                }),
            );
            c.ds().depth_write_enabled = true;
            assert_eq!(f.render().depth(6, 6), expected.to_bits(), "{frequent} {mode:?}");
        }
    }
}

/// SEED-2.6, R-OM-7: each sample is tested against its own depth and takes the pixel's colour by itself.
#[test]
fn r_om_7_samples_are_tested_one_by_one() {
    let mut f = deep(4);
    let c = f.draw(screen(0.5, [0.0; 4]), Fragment::None);
    c.ds().depth_write_enabled = true;
    c.sample_mask = 0b0011;
    let c = f.draw(screen(0.75, [0.0; 4]), Fragment::Constants(vec![[1.0; 4]]));
    c.ds().depth_compare = CompareFunction::Less;
    c.sample_mask = 0b0110;
    // Sample 1 fails, 2 passes.
    assert_eq!(f.render().r32(10, 10), 0.25);
}

/// R-OM-62: what goes to a slot without a target is dropped. R-OM-63: clears know no scissor and no mask.
#[test]
fn r_om_62_63_missing_targets_and_clears() {
    let mut f = Frame::new(TextureFormat::Rgba8Unorm, [1.0, 0.0, 1.0, 0.0]);
    let c = f.draw(
        screen(0.5, [0.0; 4]),
        Fragment::Constants(vec![[0.0, 1.0, 0.0, 1.0], [0.5; 4], [0.5; 4]]),
    );
    c.scissor.x1 = 4;
    c.targets[0].write_mask = 2;
    let image = f.render();
    assert_eq!(
        (image.rgba8(0, 3, 3), image.rgba8(0, 12, 3)),
        ([255, 255, 255, 0], [255, 0, 255, 0])
    );
}

/// R-OM-20: a stencil test without stencil passes in Direct3D and is a mistake in WebGPU.
#[test]
fn r_om_20_stencil_without_stencil() {
    let mut f = deep(1);
    let never = StencilFaceState {
        compare: CompareFunction::Never,
        fail_op: StencilOperation::Invert,
        ..StencilFaceState::default()
    };
    let c = f.draw(screen(0.5, [0.0; 4]), Fragment::Constants(vec![[1.0; 4]]));
    let ds = c.ds();
    (ds.stencil_front, ds.stencil_back) = (never, never);
    let text = c.pipeline(&Interpreter, 1).map(|_| ()).unwrap_err().to_string();
    assert!(text.contains("no stencil"), "{text}");
    c.rules = Rules::D3d11;
    assert_eq!(f.render().r32(8, 8), 1.0);
}

/// R-OM-1, R-OM-2: without test and write depth doesn't matter, nor does a write without a depth attachment.
#[test]
fn r_om_1_2_no_test_and_no_buffer() {
    let mut f = deep(1);
    f.depth = Some((TextureFormat::Depth32Float, 0.25, 0));
    f.draw(screen(0.75, [0.0; 4]), Fragment::Constants(vec![[1.0; 4]]));
    let image = f.render();
    assert_eq!((image.r32(1, 1), image.depth(1, 1)), (1.0, 0.25f32.to_bits()));
    let mut f = Frame::new(TextureFormat::R32Float, [0.0; 4]);
    f.draw(
        screen(0.75, [0.0; 4]),
        custom(|s| {
            let z = s.b.f32(0.5);
            s.write(Semantic::Builtin(Builtin::FragDepth), z);
            s.splat(0, z);
        }),
    );
    assert_eq!(f.render().r32(1, 1), 0.5);
}

/// R-PS-57: loads, stores and atomics beyond the buffer give 0 and change nothing. R-PS-58: targets keep the order of the
/// primitives, also within a draw.
#[test]
fn r_ps_57_58_bounds_and_order() {
    let mut f = Frame { words: 4, ..frame() };
    let mut vertices = Vec::new();
    for i in 1..=3 {
        vertices.extend(screen(0.5, [i as f32; 4]));
    }
    f.draw(
        vertices,
        custom(|s| {
            let buffer = s.buffer();
            let beyond = s.count(buffer, 4);
            let within = s.count(buffer, 3);
            let far = s.count(buffer, 0x3fff_ffff);
            let color = s.read(location(0, 0), Kind::F32, Interpolation::Flat);
            s.write(location(0, 0), color);
            for (c, v) in [(1, beyond), (2, far)] {
                let v = s.b.alu(Alu::UToF, &[v]);
                s.write(location(0, c), v);
            }
            // Used, so that the atomic is one that returns.
            let v = s.b.alu(Alu::UToF, &[within]);
            s.write(location(0, 3), v);
        }),
    );
    let image = f.render();
    assert_eq!(image.words, [0, 0, 0, 3 * 256]);
    assert_eq!(image.rgba32(11, 5)[..3], [3.0, 0.0, 0.0]);
}

/// R-PS-45: lanes that the early test removes go on as helpers while a neighbour needs them.
#[test]
fn r_ps_45_early_rejection_keeps_derivatives() {
    let mut f = Frame {
        depth: Some((TextureFormat::Depth32Float, 1.0, 0)),
        ..frame()
    };
    let near = quad(5.0, 0.0, 6.0, 16.0, 0.25, [0.0; 4]);
    f.draw(near, Fragment::None).ds().depth_write_enabled = true;
    let c = f.draw(
        screen(0.5, [0.0; 4]),
        custom(|s| {
            let x = position(s, 0);
            let three = s.b.f32(3.0);
            let x = s.b.alu(Alu::FMul, &[x, three]);
            let d = s.b.quad(QuadOp::DdxFine, x);
            s.splat(0, d);
        }),
    );
    c.ds().depth_compare = CompareFunction::Less;
    let image = f.render();
    assert_eq!((image.rgba32(4, 4), image.rgba32(5, 4)), ([3.0; 4], [9.0; 4]));
}
