//! Every format that can be rendered to: what is stored, blended, masked and resolved (R-OM-36 to 39, R-OM-70 to 73,
//! R-SAMP-100 to 107).

use super::support::*;
use quadrille_frontend::ir::{Alu, Interpolation, Kind, Semantic};
use quadrille_raster::format::texel::{HalfRounding, pack, unpack};
use quadrille_raster::format::{FormatInfo, Kind as FormatKind, TextureFormat};
use quadrille_raster::pipeline::{BlendComponent, BlendFactor, BlendOperation, BlendState, Rules};

/// Colours, one a column of pixels.
fn colors() -> Vec<[f32; 4]> {
    let tiny = 0.5f32.powi(25);
    vec![
        [0.0, 1.0, 0.5, 0.25],
        [-0.0, -1.0, -0.5, 1.0 / 3.0],
        [2.0, -2.0, 0.75, 0.999],
        [0.1, 0.2, 0.3, 0.4],
        [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 0.5],
        [65519.996, 65520.0, 70000.0, -70000.0],
        [65024.0, 65100.0, 1e10, -1e-3],
        [tiny, 1.5 * 2.0 * tiny, 3.0 * tiny, -3.0 * tiny],
        [1.000_488_3, 1.000_976_6, 0.333_333_34, 6.1e-5],
        [0.001_961, 0.001_96, 0.003_94, 0.003_93],
        [127.5 / 255.0, 0.5 / 31.0, 1.5 / 63.0, 0.5 / 3.0],
        [-127.0, 128.0, 255.0, 256.0],
        [1e9, -1e9, 300.0, -300.0],
        [65535.0, 65536.0, -32768.0, -32769.0],
        [1023.0, 1024.0, 3.0, 4.0],
        [7.0, 8.0, 9.0, 10.0],
    ]
}

/// A column of pixels for each colour.
fn columns() -> Vec<Vertex> {
    let mut vertices = Vec::new();
    for (x, color) in colors().into_iter().enumerate() {
        vertices.extend(quad(x as f32, 0.0, x as f32 + 1.0, SIZE as f32, 0.5, color));
    }
    vertices
}

/// Writes the attribute, as the format's kind of number.
fn attribute(info: &'static FormatInfo) -> Fragment {
    custom(move |s| {
        for c in 0..4 {
            let v = s.read(location(0, c), Kind::F32, Interpolation::Flat);
            let v = match info.kind {
                FormatKind::Uint => s.b.alu(Alu::FToU, &[v]),
                FormatKind::Sint => s.b.alu(Alu::FToS, &[v]),
                _ => v,
            };
            s.write(location(0, c), v);
        }
    })
}

/// The same in Rust.
fn lane_words(info: &FormatInfo, color: [f32; 4]) -> [u32; 4] {
    color.map(|v| match info.kind {
        FormatKind::Uint => v as u32,
        FormatKind::Sint => v as i32 as u32,
        _ if v.is_nan() => 0x7fc0_0000,
        _ => v.to_bits(),
    })
}

fn renderable() -> impl Iterator<Item = TextureFormat> {
    let all = TextureFormat::ALL.iter().copied();
    all.filter(|f| f.info().renderable && !f.is_depth_stencil())
}

fn texel(image: &Image, format: TextureFormat, x: usize) -> [u8; 16] {
    let bytes = format.info().bytes as usize;
    let mut out = [0; 16];
    out[..bytes].copy_from_slice(&image.colors[0][(SIZE as usize * 3 + x) * bytes..][..bytes]);
    out
}

/// Every format, every rule of conversion, against the scalar definitions; sRGB within a code (0.6 are allowed). R-OM-42:
/// formats of 5 and 6 bits convert directly. R-PS-133, R-PS-134: narrowing of floats and integers.
#[test]
fn r_om_38_39_every_format_stores_what_the_rules_say() {
    for format in renderable() {
        let info = format.info();
        for (rules, rounding) in [
            (Rules::WebGpu, HalfRounding::NearestEven),
            (Rules::D3d11, HalfRounding::TowardZero),
        ] {
            if rules == Rules::D3d11 && (info.kind, info.fields[0].bits) != (FormatKind::Float, 16) {
                continue;
            }
            let mut f = Frame::new(format, [0.0; 4]);
            f.draw(columns(), attribute(info)).rules = rules;
            let image = f.render();
            for (x, color) in colors().into_iter().enumerate() {
                let expected = pack(format, lane_words(info, color), rounding);
                let got = texel(&image, format, x);
                let near = info.srgb && expected.iter().zip(got).all(|(a, b)| a.abs_diff(b) <= 1);
                assert!(
                    got == expected || near,
                    "{format} {rules:?} {color:?}: {got:02x?}, not {expected:02x?}"
                );
            }
        }
    }
}

/// R-OM-39, R-PS-132: the two roundings to half floats.
#[test]
fn r_om_39_half_floats_under_both_rules() {
    for (rules, expected) in [
        (Rules::D3d11, [0x7bff, 0x7bff, 0x0001, 0x3c00]),
        (Rules::WebGpu, [0x7bff, 0x7c00, 0x0002, 0x3c00]),
    ] {
        let mut f = Frame::new(TextureFormat::Rgba16Float, [0.0; 4]);
        let color = [65519.996, 65520.0, 1.5 * 0.5f32.powi(24), 1.000_488_3];
        f.draw(screen(0.5, [0.0; 4]), Fragment::Constants(vec![color])).rules = rules;
        let bytes: [u8; 8] = f.render().bytes(0, 5, 5);
        let halves: Vec<u16> = bytes
            .as_chunks::<2>()
            .0
            .iter()
            .map(|h| u16::from_le_bytes(*h))
            .collect();
        assert_eq!(halves, expected);
    }
}

/// ADD ONE, ONE over a stored texel, and R-OM-41, R-OM-61: only the masked components change.
#[test]
fn r_om_33_41_61_every_blendable_format_blends_and_masks() {
    let add = BlendComponent {
        operation: BlendOperation::Add,
        src_factor: BlendFactor::One,
        dst_factor: BlendFactor::One,
    };
    let stored = [0.25, 0.5, 0.125, 1.0f32];
    let source = [0.5, 0.25, 0.25, 0.0f32];
    for format in renderable().filter(|f| f.info().blendable) {
        for mask in [15, 0b0010, 0b1001] {
            let mut f = Frame::new(format, stored.map(f64::from));
            let c = f.draw(screen(0.5, [0.0; 4]), Fragment::Constants(vec![source]));
            c.targets[0].blend = Some(BlendState { color: add, alpha: add });
            c.targets[0].write_mask = mask;
            let image = f.render();
            let old = pack(format, stored.map(f32::to_bits), HalfRounding::NearestEven);
            let d = unpack(format, &old).map(f32::from_bits);
            let mut sum: [u32; 4] = std::array::from_fn(|c| (d[c] + source[c]).to_bits());
            for (c, sum) in sum.iter_mut().enumerate() {
                if mask >> c & 1 == 0 {
                    *sum = d[c].to_bits();
                }
            }
            let expected = pack(format, sum, HalfRounding::NearestEven);
            let got = texel(&image, format, 7);
            let near = format.info().srgb && expected.iter().zip(got).all(|(a, b)| a.abs_diff(b) <= 1);
            assert!(
                got == expected || near,
                "{format} mask {mask:04b}: {got:02x?}, not {expected:02x?}"
            );
        }
    }
}

/// R-OM-36: what a format lacks reads 0, alpha 1, in the blend; R-OM-37: 11- and 10-bit floats blend.
#[test]
fn r_om_36_37_missing_components_and_small_floats() {
    let by = |src_factor, dst_factor| BlendComponent {
        operation: BlendOperation::Add,
        src_factor,
        dst_factor,
    };
    let rg11b10 = TextureFormat::Rg11b10Ufloat;
    let mut f = Frame::new(rg11b10, [0.5, 1.5, 64512.0, 0.0]);
    let c = f.draw(screen(0.5, [0.0; 4]), Fragment::Constants(vec![[0.25, -2.0, 1e9, 0.0]]));
    let add = by(BlendFactor::DstAlpha, BlendFactor::One);
    c.targets[0].blend = Some(BlendState { color: add, alpha: add });
    let bytes: [u8; 4] = f.render().bytes(0, 1, 1);
    assert_eq!(unpack(rg11b10, &bytes).map(f32::from_bits), [0.75, 0.0, 64512.0, 1.0]);
    // a8unorm: the colour's factors may ask for red, which is 0.
    let mut f = Frame::new(TextureFormat::A8Unorm, [0.0, 0.0, 0.0, 0.5]);
    let c = f.draw(screen(0.5, [0.0; 4]), Fragment::Constants(vec![[1.0, 1.0, 1.0, 0.25]]));
    let alpha = by(BlendFactor::One, BlendFactor::One);
    c.targets[0].blend = Some(BlendState { color: alpha, alpha });
    assert_eq!(f.render().r8(2, 2), 128 + 64);
}

/// The mean of the samples for all that have one; the first sample for integers, which have none.
#[test]
fn r_om_71_72_every_format_resolves() {
    let samples = [
        [0.0, 0.25, 1.0, 1.0],
        [1.0, 0.25, 0.5, 0.0],
        [1.0, 0.75, 0.0, 1.0],
        [0.0, 0.5, 0.5, 1.0],
    ];
    for format in renderable() {
        let info = format.info();
        let mut f = Frame {
            samples: 4,
            ..Frame::new(format, [0.0; 4])
        };
        let mut sum = [0.0f32; 4];
        for (s, color) in samples.into_iter().enumerate() {
            let color = color.map(|v: f32| if info.is_integer() { v * 100.0 } else { v });
            f.draw(screen(0.5, color), attribute(info)).sample_mask = 1 << s;
            let stored = pack(format, lane_words(info, color), HalfRounding::NearestEven);
            for (sum, v) in sum.iter_mut().zip(unpack(format, &stored)) {
                *sum += f32::from_bits(v);
            }
        }
        let image = f.render();
        let expected = if info.is_integer() {
            pack(
                format,
                lane_words(info, samples[0].map(|v| v * 100.0)),
                HalfRounding::NearestEven,
            )
        } else {
            pack(format, sum.map(|s| (s * 0.25).to_bits()), HalfRounding::NearestEven)
        };
        let got = texel(&image, format, 3);
        // The f32 mean of unorm codes may be a rounding error below a half.
        let near =
            |(a, b): (&u8, u8)| a.abs_diff(b) <= u8::from(info.kind == FormatKind::Unorm && info.fields[0].bits != 16);
        assert!(
            got == expected || expected.iter().zip(got).all(near),
            "{format}: {got:02x?}, not {expected:02x?}"
        );
    }
}

/// SEED-2.21: eight targets get eight colours; where the fragment is discarded none of them, nor depth, changes.
#[test]
fn r_ps_20_eight_targets_and_discard() {
    let mut f = Frame {
        colors: vec![(TextureFormat::R8Unorm, [0.0; 4]); 8],
        depth: Some((TextureFormat::Depth32Float, 1.0, 0)),
        ..Frame::new(TextureFormat::R8Unorm, [0.0; 4])
    };
    let fragment = custom(|s| {
        let x = s.read(
            Semantic::Builtin(quadrille_frontend::ir::Builtin::Position(0)),
            Kind::F32,
            Interpolation::Linear,
        );
        let x = s.b.alu(Alu::FToU, &[x]);
        let one = s.b.u32(1);
        let odd = s.b.alu(Alu::And, &[x, one]);
        let odd = s.b.alu(Alu::IEq, &[odd, one]);
        s.b.begin_if(odd);
        s.b.inst(quadrille_frontend::ir::Op::Discard, &[], &[]);
        s.b.end_if();
        for target in 0..8 {
            let v = s.b.f32((target + 1) as f32 * 20.0 / 255.0);
            s.splat(target, v);
        }
    });
    let c = f.draw(screen(0.25, [0.0; 4]), fragment);
    c.ds().depth_write_enabled = true;
    let image = f.render();
    for target in 0..8 {
        let [even, odd]: [[u8; 1]; 2] = [image.bytes(target, 4, 4), image.bytes(target, 5, 4)];
        assert_eq!((even[0], odd[0]), ((target as u8 + 1) * 20, 0));
    }
    assert_eq!(
        (image.depth(4, 4), image.depth(5, 4)),
        (0.25f32.to_bits(), 1.0f32.to_bits())
    );
}
