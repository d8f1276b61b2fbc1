//! What fragment shaders see and do at samples (R-RAST-93 to 99, 147, R-PS-55) and under either API's rules (law N6).

use super::support::*;
use quadrille_frontend::compose::snapped_offset;
use quadrille_frontend::ir::{Alu, Builtin, InputPoint, Interpolation, Kind, Op, Sampling, Semantic};
use quadrille_jit::interp::Interpreter;
use quadrille_raster::format::TextureFormat;
use quadrille_raster::geometry::sample_pattern;
use quadrille_raster::pipeline::{Rules, StencilFaceState, StencilOperation};
use quadrille_raster::texture::ResolveMode;

fn frame(samples: u32) -> Frame {
    Frame {
        samples,
        words: 8,
        ..Frame::new(TextureFormat::R32Float, [0.0; 4])
    }
}

/// Triangle A.
fn triangle() -> Vec<Vertex> {
    [(1.0, 1.0), (6.0, 2.0), (2.0, 4.0)]
        .map(|(x, y)| (at(x, y, 0.5), [x, y, 0.0, 0.0]))
        .to_vec()
}

fn position(s: &mut Build, c: u8) -> quadrille_frontend::ir::Value {
    s.read(
        Semantic::Builtin(Builtin::Position(c)),
        Kind::F32,
        Interpolation::Linear,
    )
}

/// SEED-2.5, R-RAST-153: triangle A at 4 samples has 12 pixels and 28 samples.
#[test]
fn r_rast_93_pixel_and_sample_frequency() {
    for (per_sample, invocations) in [(false, 12), (true, 28)] {
        let mut f = frame(4);
        f.draw(
            triangle(),
            custom(move |s| {
                let buffer = s.buffer();
                s.count(buffer, 0);
                let one = s.b.f32(1.0);
                let v = if per_sample {
                    let index = s.builtin(Builtin::SampleIndex, Kind::U32);
                    s.count(buffer, 1);
                    let index = s.b.alu(Alu::UToF, &[index]);
                    s.b.alu(Alu::FAdd, &[index, one])
                } else {
                    one
                };
                s.splat(0, v);
            }),
        );
        let image = f.render();
        assert_eq!(image.words[0], invocations, "per sample: {per_sample}");
        if per_sample {
            // The mean of 1, 2, 3, 4, in a pixel that is covered as a whole.
            assert_eq!(image.r32(2, 2), 2.5);
        }
    }
    // One invocation per sample in the sample mask.
    let mut f = frame(4);
    f.draw(
        screen(0.5, [0.0; 4]),
        custom(|s| {
            let buffer = s.buffer();
            s.builtin(Builtin::SampleIndex, Kind::U32);
            s.count(buffer, 0);
        }),
    )
    .sample_mask = 0b0101;
    assert_eq!(f.render().words[0], 512);
}

/// R-PS-55: a discard ends its sample's invocation only.
#[test]
fn r_ps_55_discard_kills_one_sample() {
    let mut f = frame(4);
    f.draw(
        screen(0.5, [0.0; 4]),
        custom(|s| {
            let buffer = s.buffer();
            let index = s.builtin(Builtin::SampleIndex, Kind::U32);
            let one = s.b.u32(1);
            let this = s.b.alu(Alu::IEq, &[index, one]);
            s.b.begin_if(this);
            s.b.inst(Op::Discard, &[], &[]);
            s.b.end_if();
            s.count(buffer, 0);
            let white = s.b.f32(1.0);
            s.splat(0, white);
        }),
    );
    let image = f.render();
    assert_eq!(image.r32(4, 4), 0.75);
    assert_eq!(image.words[0], 3 * 256);
}

/// R-RAST-98: the input mask is the coverage in the sample mask, whole also at sample frequency, 0 for helpers.
#[test]
fn r_rast_98_input_coverage() {
    // Masks of triangle A, row by row.
    let masks = [
        (1, 1, 0xbu32),
        (2, 1, 0xc),
        (3, 1, 0xc),
        (4, 1, 0x8),
        (1, 2, 0xb),
        (2, 2, 0xf),
        (4, 2, 0x7),
        (5, 2, 0x1),
    ];
    for (sample_mask, frequent) in [(!0, false), (!0, true), (0b1010, false)] {
        let mut f = frame(4);
        let c = f.draw(
            triangle(),
            custom(move |s| {
                if frequent {
                    s.builtin(Builtin::SampleIndex, Kind::U32);
                }
                let mask = s.builtin(Builtin::SampleMask, Kind::U32);
                let v = s.b.alu(Alu::UToF, &[mask]);
                s.splat(0, v);
            }),
        );
        c.sample_mask = sample_mask;
        let image = f.render();
        for (x, y, raw) in masks {
            let mask = raw & sample_mask;
            let expected = mask as f32 * mask.count_ones() as f32 / 4.0;
            assert_eq!(image.r32(x, y), expected, "{x} {y} {sample_mask:b} {frequent}");
        }
    }
}

/// R-RAST-97, R-PS-29: the output mask is one more factor of coverage, for depth too, at either frequency; bits above don't count.
#[test]
fn r_rast_97_output_mask() {
    for frequent in [false, true] {
        for (output, alpha) in [(0b0110u32, false), (0xffff_fff8, true), (0, true)] {
            let mut f = frame(4);
            f.depth = Some((TextureFormat::Depth32Float, 1.0, 0));
            let c = f.draw(
                screen(0.5, [0.0; 4]),
                custom(move |s| {
                    if frequent {
                        s.builtin(Builtin::SampleIndex, Kind::U32);
                    }
                    let mask = s.b.u32(output);
                    s.write(Semantic::Builtin(Builtin::SampleMask), mask);
                    let v = s.b.f32(1.0);
                    s.splat(0, v);
                }),
            );
            c.ds().depth_write_enabled = true;
            // Writing the mask turns alpha to coverage off.
            c.alpha_to_coverage = alpha;
            let c = f.draw(screen(0.75, [0.0; 4]), Fragment::Constants(vec![[3.0; 4]]));
            c.ds().depth_compare = quadrille_raster::pipeline::CompareFunction::Less;
            let kept = (output & 15).count_ones() as f32;
            assert_eq!(f.render().r32(7, 7), (kept + (4.0 - kept) * 3.0) / 4.0);
        }
    }
}

/// R-RAST-102 works without any target: depth is written for the samples that alpha leaves.
#[test]
fn r_rast_102_alpha_to_coverage_without_a_target() {
    let mut f = Frame {
        depth: Some((TextureFormat::Depth32Float, 1.0, 0)),
        ..frame(4)
    };
    let c = f.draw(screen(0.25, [0.0; 4]), Fragment::Constants(vec![[0.5; 4]]));
    c.alpha_to_coverage = true;
    c.targets[0].write_mask = 0;
    c.ds().depth_write_enabled = true;
    let c = f.draw(screen(0.5, [0.0; 4]), Fragment::Constants(vec![[1.0; 4]]));
    c.ds().depth_compare = quadrille_raster::pipeline::CompareFunction::Less;
    assert_eq!(f.render().r32(3, 3), 0.5);
}

/// The x of the evaluation point, less the pixel's left edge, through an attribute that is x.
fn place(sampling: Sampling) -> Fragment {
    custom(move |s| {
        let input = s.declare(location(0, 0), Kind::F32, Interpolation::Linear, sampling);
        let x = s.b.inst1(Op::Input(input), &[], Kind::F32);
        let floor = s.b.alu(Alu::FFloor, &[x]);
        let v = s.b.alu(Alu::FSub, &[x, floor]);
        s.splat(0, v);
    })
}

/// Attribute x over the pixels, exactly: the plane's numbers are small.
fn ramp(x0: f32, y0: f32, x1: f32, y1: f32) -> Vec<Vertex> {
    quad(x0, y0, x1, y1, 0.5, [0.0; 4])
        .into_iter()
        .map(|(p, _)| (p, [(p[0] + 1.0) * 8.0, 0.0, 0.0, 0.0]))
        .collect()
}

/// R-RAST-99: all samples covered: the centre; else the first covered one in the mask.
#[test]
fn r_rast_99_centroid() {
    let centroid = || place(Sampling::Centroid);
    let mut f = frame(4);
    f.draw(ramp(0.0, 0.0, 16.0, 16.0), centroid());
    assert_eq!(f.render().r32(4, 4), 0.5);
    // Samples are at x = 3/8, 7/8, 1/8, 5/8; the right edge of the rectangle leaves 2, 0 and 2, or only 2.
    for (edge, mask, expected, count) in [
        (4.5, !0, 3.0 / 8.0, 2.0),
        (4.25, !0, 1.0 / 8.0, 1.0),
        (4.5, 0b0100, 1.0 / 8.0, 1.0),
        (4.75, !0, 3.0 / 8.0, 3.0),
        // All are covered, though not all are in the mask: the centre.
        (16.0, 0b0010, 0.5, 1.0),
    ] {
        let mut f = frame(4);
        f.draw(ramp(0.0, 0.0, edge, 16.0), centroid()).sample_mask = mask;
        assert_eq!(f.render().r32(4, 4), expected * count / 4.0, "{edge} {mask:b}");
    }
}

/// Inputs declared `sample` are evaluated there, and make the shader run there; the position follows in WebGPU and stays
/// in Direct3D (R-WGSL-7, R-RAST-95, R-RAST-145).
#[test]
fn r_rast_94_95_sample_inputs() {
    let mut f = frame(4);
    f.draw(ramp(0.0, 0.0, 16.0, 16.0), place(Sampling::Sample));
    assert_eq!(f.render().r32(4, 4), (3.0 + 7.0 + 1.0 + 5.0) / 8.0 / 4.0);
    for (rules, mask, expected) in [(Rules::WebGpu, 2, 4.875), (Rules::D3d11, 2, 4.5)] {
        let mut f = frame(4);
        let c = f.draw(
            screen(0.5, [0.0; 4]),
            custom(|s| {
                s.builtin(Builtin::SampleIndex, Kind::U32);
                let x = position(s, 0);
                s.splat(0, x);
            }),
        );
        (c.rules, c.sample_mask) = (rules, mask);
        assert_eq!(f.render().r32(4, 4), expected / 4.0, "{rules:?}");
    }
}

/// R-RAST-144, R-WGSL-6: position.w is 1/w in WebGPU and w in Direct3D.
#[test]
fn r_rast_144_position_w() {
    for (rules, expected) in [(Rules::WebGpu, 0.25), (Rules::D3d11, 4.0)] {
        let mut f = frame(1);
        let vertices = [(-16.0, -16.0), (48.0, -16.0), (-16.0, 48.0)].map(|(x, y)| (at_w(x, y, 0.5, 4.0), [0.0; 4]));
        f.draw(
            vertices.to_vec(),
            custom(|s| {
                let w = position(s, 3);
                s.splat(0, w);
            }),
        )
        .rules = rules;
        assert_eq!(f.render().r32(9, 3), expected, "{rules:?}");
    }
}

/// R-RAST-147: at a sample that the shader chooses (the centre beyond the last), at the centroid, at a snapped offset; also
/// inside control flow that differs from lane to lane.
#[test]
fn r_rast_147_pull_model() {
    let pulled = |point: InputPoint, arg: i32| {
        custom(move |s| {
            let input = s.declare(location(0, 0), Kind::F32, Interpolation::Linear, Sampling::Center);
            let x = position(s, 0);
            let limit = s.b.f32(8.0);
            let out = s.b.local("out", Kind::F32);
            let left = s.b.alu(Alu::FLt, &[x, limit]);
            s.b.begin_if(left);
            let args = match point {
                InputPoint::Sample => vec![s.b.u32(arg as u32)],
                InputPoint::Centroid => vec![],
                InputPoint::Offset => {
                    let offset = s.b.i32(arg);
                    let offset = snapped_offset(&mut s.b, offset);
                    vec![offset, offset]
                }
            };
            let v = s.b.inst1(Op::InputAt { input, at: point }, &args, Kind::F32);
            let floor = s.b.alu(Alu::FFloor, &[x]);
            let v = s.b.alu(Alu::FSub, &[v, floor]);
            s.b.set(out, v);
            s.b.end_if();
            let v = s.b.get(out);
            s.splat(0, v);
        })
    };
    for (point, arg, expected) in [
        (InputPoint::Sample, 0, 3.0 / 8.0),
        (InputPoint::Sample, 3, 5.0 / 8.0),
        (InputPoint::Sample, 4, 0.5),
        (InputPoint::Centroid, 0, 0.5),
        (InputPoint::Offset, 0, 0.5),
        (InputPoint::Offset, 7, 0.9375),
        (InputPoint::Offset, -8, 0.0),
        // Only the low four bits count: 8 is -8.
        (InputPoint::Offset, 8, 0.0),
        (InputPoint::Offset, 0x7fff_fff3, 0.6875),
    ] {
        let mut f = frame(4);
        f.draw(ramp(0.0, 0.0, 16.0, 16.0), pulled(point, arg));
        let image = f.render();
        assert_eq!((image.r32(5, 4), image.r32(12, 4)), (expected, 0.0), "{point:?} {arg}");
    }
    // Partly covered: the first covered sample.
    let mut f = frame(4);
    f.draw(ramp(0.0, 0.0, 4.25, 16.0), pulled(InputPoint::Centroid, 0));
    assert_eq!(f.render().r32(4, 4), 1.0 / 8.0 / 4.0);
}

/// R-PS-7, R-PS-9, R-PS-4: what Direct3D links and WebGPU doesn't, and the limit of both.
#[test]
fn r_ps_4_7_9_linkage() {
    let reading = |at: u32, kind: Kind| {
        custom(move |s| {
            let v = s.read(location(at, 0), kind, Interpolation::Flat);
            let v = s.b.bitcast(v, Kind::F32);
            s.splat(0, v);
        })
    };
    for (at, kind, expected) in [(5, Kind::F32, 0.0), (0, Kind::U32, 2.5)] {
        let mut f = frame(1);
        let c = f.draw(screen(0.5, [2.5; 4]), reading(at, kind));
        assert!(c.pipeline(&Interpreter, 1).is_err());
        c.rules = Rules::D3d11;
        assert_eq!(f.render().r32(1, 1), expected);
    }
    for (count, fits) in [(16, true), (17, false)] {
        let mut f = frame(1);
        let c = f.draw(
            screen(0.5, [0.0; 4]),
            custom(move |s| {
                let mut sum = s.b.f32(0.0);
                for l in 0..count {
                    let v = s.read(location(l, 0), Kind::F32, Interpolation::Flat);
                    sum = s.b.alu(Alu::FAdd, &[sum, v]);
                }
                s.splat(0, sum);
            }),
        );
        c.rules = Rules::D3d11;
        assert_eq!(c.pipeline(&Interpreter, 1).is_ok(), fits, "{count} inputs");
    }
}

/// R-PS-6: the facing as a register is all ones or zero.
#[test]
fn r_ps_6_facing_as_a_word() {
    let mut f = frame(1);
    f.draw(
        screen(0.5, [0.0; 4]),
        custom(|s| {
            let front = s.builtin(Builtin::FrontFacing, Kind::U32);
            let v = s.b.alu(Alu::UToF, &[front]);
            s.splat(0, v);
        }),
    )
    .primitive
    .front_face = quadrille_raster::pipeline::FrontFace::Cw;
    assert_eq!(f.render().r32(1, 1), 4_294_967_296.0);
}

/// Depth, stencil and integers have no mean; they resolve to one of the samples (an extension of R-OM-72).
#[test]
fn depth_stencil_and_integers_resolve_to_a_sample() {
    for (mode, depth, stencil, integer) in [
        (ResolveMode::SampleZero, 0.5f32, 3, 7),
        (ResolveMode::Min, 0.25, 2, 5),
        (ResolveMode::Max, 0.75, 9, 8),
        (ResolveMode::Average, 0.5, 3, 7),
    ] {
        let mut f = Frame {
            samples: 4,
            depth: Some((TextureFormat::Depth32FloatStencil8, 1.0, 0)),
            resolve_mode: mode,
            ..Frame::new(TextureFormat::R8Uint, [0.0; 4])
        };
        for (s, (z, reference, value)) in [(0.5, 3, 7), (0.25, 9, 5), (0.75, 2, 8), (0.3, 4, 6)]
            .into_iter()
            .enumerate()
        {
            let c = f.draw(
                screen(z, [0.0; 4]),
                custom(move |s| {
                    let v = s.b.u32(value);
                    s.splat(0, v);
                }),
            );
            c.sample_mask = 1 << s;
            c.stencil_reference = reference;
            let face = StencilFaceState {
                pass_op: StencilOperation::Replace,
                ..StencilFaceState::default()
            };
            let ds = c.ds();
            ds.depth_write_enabled = true;
            (ds.stencil_front, ds.stencil_back) = (face, face);
        }
        let image = f.render();
        assert_eq!(image.depth(4, 9), depth.to_bits(), "{mode:?}");
        assert_eq!((image.stencil(4, 9), image.r8(4, 9)), (stencil, integer), "{mode:?}");
    }
}

/// R-RAST-90, R-RAST-92: every sample count, each sample by itself: its index, its place, its bit, its colour and depth.
#[test]
fn r_rast_92_every_sample_count() {
    for samples in [2, 4, 8, 16] {
        let mean = |f: &dyn Fn(u32) -> f32| (0..samples).map(f).sum::<f32>() / samples as f32;
        let index = custom(|s| {
            let index = s.builtin(Builtin::SampleIndex, Kind::U32);
            let v = s.b.alu(Alu::UToF, &[index]);
            s.splat(0, v);
        });
        let mut f = frame(samples);
        f.draw(screen(0.5, [0.0; 4]), index);
        assert_eq!(f.render().r32(3, 3), mean(&|s| s as f32));
        let place = |s: u32| 0.5 + f32::from(sample_pattern(samples)[s as usize][0]) / 16.0;
        let mut f = frame(samples);
        f.draw(ramp(0.0, 0.0, 16.0, 16.0), self::place(Sampling::Sample));
        assert_eq!(f.render().r32(3, 3), mean(&place));
        // The right edge cuts samples off; those left are in the mask, and counted by it.
        let edge = 4.5;
        let covered = (0..samples)
            .filter(|&s| place(s) < 0.5)
            .fold(0u32, |mask, s| mask | 1 << s);
        let mut f = frame(samples);
        f.depth = Some((TextureFormat::Depth32Float, 1.0, 0));
        f.resolve_mode = ResolveMode::Max;
        let c = f.draw(
            ramp(0.0, 0.0, edge, 16.0),
            custom(|s| {
                let mask = s.builtin(Builtin::SampleMask, Kind::U32);
                let v = s.b.alu(Alu::UToF, &[mask]);
                s.splat(0, v);
            }),
        );
        c.ds().depth_write_enabled = true;
        assert_eq!(f.render().r32(4, 3), covered as f32, "{samples} samples");
        assert_eq!(f.render().depth(4, 3), 1.0f32.to_bits());
        // Alpha to coverage: floor(alpha * N + 0.5) samples.
        for k in 0..=samples {
            let mut f = frame(samples);
            let alpha = k as f32 / samples as f32;
            let c = f.draw(screen(0.5, [0.0; 4]), Fragment::Constants(vec![[1.0, 0.0, 0.0, alpha]]));
            c.alpha_to_coverage = true;
            assert_eq!(f.render().r32(7, 2), alpha);
        }
        // Mask out, and a discard, sample by sample.
        let mut f = frame(samples);
        f.draw(
            screen(0.5, [0.0; 4]),
            custom(move |s| {
                let index = s.builtin(Builtin::SampleIndex, Kind::U32);
                let buffer = s.buffer();
                let last = s.b.u32(samples - 1);
                let this = s.b.alu(Alu::IEq, &[index, last]);
                s.b.begin_if(this);
                s.b.inst(Op::Discard, &[], &[]);
                s.b.end_if();
                s.count(buffer, 0);
                let mask = s.b.u32(!1);
                s.write(Semantic::Builtin(Builtin::SampleMask), mask);
                let v = s.b.f32(1.0);
                s.splat(0, v);
            }),
        );
        let image = f.render();
        assert_eq!(image.words[0], (samples - 1) * 256);
        assert_eq!(image.r32(9, 9), (samples - 2) as f32 / samples as f32);
    }
}
