//! Random states, textures and coordinates against the naive sampler; hostile coordinates against each other.

use super::naive::Naive;
use super::*;

const MODES: [AddressMode; 5] = [
    AddressMode::ClampToEdge,
    AddressMode::Repeat,
    AddressMode::MirrorRepeat,
    AddressMode::MirrorOnce,
    AddressMode::ClampToBorder,
];

fn filter(rng: &mut Rng) -> FilterMode {
    if rng.below(2) == 0 {
        FilterMode::Nearest
    } else {
        FilterMode::Linear
    }
}

fn state(rng: &mut Rng) -> SamplerDescriptor {
    SamplerDescriptor {
        address: [0; 3].map(|_| MODES[rng.below(5) as usize]),
        mag_filter: filter(rng),
        min_filter: filter(rng),
        mipmap_filter: filter(rng),
        lod_min_clamp: [0.0, 0.0, 1.3][rng.below(3) as usize],
        lod_max_clamp: [32.0, 2.7][rng.below(2) as usize],
        lod_bias: [0.0, -0.75, 1.5][rng.below(3) as usize],
        border: [1.0, 0.0, 1.0, 0.0],
        ..SamplerDescriptor::default()
    }
}

/// Random texels that are numbers.
pub(super) fn fill(t: &Texture, rng: &mut Rng) {
    let d = t.descriptor().clone();
    let slices = if t.layers() == 1 { d.depth_or_layers } else { t.layers() };
    for level in 0..d.levels {
        for layer in 0..slices {
            if d.dimension == crate::texture::TextureDimension::D3 && layer >= (d.depth_or_layers >> level).max(1) {
                continue;
            }
            let texels = ((d.width >> level).max(1) * (d.height >> level).max(1)) as usize;
            let mut data = Vec::new();
            for _ in 0..texels {
                let v = [0; 4].map(|_| rng.range(-0.2, 1.2).to_bits());
                let bytes = crate::format::texel::pack(d.format, v, Default::default());
                data.extend_from_slice(&bytes[..d.format.info().bytes as usize]);
            }
            t.write_level(level, layer, &data).unwrap();
        }
    }
}

#[test]
fn every_format_matches_the_naive_sampler() {
    let mut rng = Rng(1);
    let formats: Vec<TextureFormat> = TextureFormat::ALL
        .iter()
        .copied()
        .filter(|f| f.info().filterable && f.storage().len() == 1 && !f.is_compressed())
        .collect();
    for round in 0..6 * formats.len() {
        let format = formats[round % formats.len()];
        let (w, h) = [(8, 8), (5, 7), (1, 1), (16, 2), (13, 4)][rng.below(5) as usize];
        let mut d = TextureDescriptor {
            depth_or_layers: 1 + rng.below(3),
            ..TextureDescriptor::new_2d(format, w, h)
        };
        d.levels = 1 + rng.below(d.full_levels());
        let t = Texture::new(&d, &budget()).unwrap();
        fill(&t, &mut rng);
        let view = sampled(&t);
        let array = d.depth_or_layers > 1;
        for _ in 0..4 {
            let sd = state(&mut rng);
            let s = sampler(sd);
            let naive = Naive::of(&t, s.is_filtering());
            let offset = if rng.below(3) == 0 {
                [0; 2].map(|_| rng.below(16) as i32 - 8)
            } else {
                [0; 2]
            };
            let op = SampleOp {
                array,
                lod: Lod::Level,
                offset: [offset[0] as i8, offset[1] as i8, 0],
                ..OP
            };
            let lanes = |rng: &mut Rng, a: f32, b: f32| [0; 8].map(|_| rng.range(a, b));
            let (u, v) = (lanes(&mut rng, -3.0, 3.0), lanes(&mut rng, -0.5, 1.5));
            let lod = lanes(&mut rng, -1.0, 4.0);
            let layer = [0; 8].map(|_| rng.below(d.depth_or_layers));
            let mut args = vec![u.map(f32::to_bits), v.map(f32::to_bits)];
            if array {
                args.push(layer);
            }
            args.push(lod.map(f32::to_bits));
            let got = call(&view, Some(&s), op.encode(), &args);
            for lane in 0..8 {
                let expected = naive.sample(&sd, layer[lane] as usize, u[lane], v[lane], lod[lane], offset);
                for c in 0..4 {
                    let value = f64::from(f32::from_bits(got[c][lane]));
                    assert!(
                        (value - expected[c]).abs() <= 4e-7 * expected[c].abs().max(1.0),
                        "{format} {w}x{h} {sd:?} {offset:?} lane {lane} component {c} u {} v {} lod {}: {value} {}",
                        u[lane],
                        v[lane],
                        lod[lane],
                        expected[c]
                    );
                }
            }
        }
    }
}

/// Implicit LODs: the naive sampler gets an exact LOD, which may round to a neighbouring 1/256.
/// R-PS-70.
#[test]
fn implicit_lods_match_the_naive_sampler() {
    let mut rng = Rng(2);
    let mut d = TextureDescriptor::new_2d(TextureFormat::Rgba8Unorm, 32, 16);
    d.levels = d.full_levels();
    let t = Texture::new(&d, &budget()).unwrap();
    fill(&t, &mut rng);
    let (view, naive) = (sampled(&t), Naive::of(&t, true));
    for _ in 0..100 {
        let sd = SamplerDescriptor {
            address: [AddressMode::Repeat; 3],
            lod_bias: rng.range(-2.0, 2.0),
            ..linear()
        };
        let base = [rng.range(-1.0, 1.0), rng.range(-1.0, 1.0)];
        let step: [f32; 4] = [0; 4].map(|_| rng.range(-0.2, 0.2));
        let at = |c: usize, lane: usize| {
            let (x, y) = ((lane % 2 + lane / 4 * 2) as f32, (lane / 2 % 2) as f32);
            base[c] + step[c] * x + step[2 + c] * y
        };
        let uv: [[f32; 8]; 2] = [0, 1].map(|c| std::array::from_fn(|lane| at(c, lane)));
        let got = sample(&view, &sampler(sd), OP, &uv);
        for lane in 0..8 {
            let q = lane & 4;
            let diff = |c: usize, k: usize| f64::from(uv[c][q + k] - uv[c][q]);
            let length = |k: usize| libm::hypot(diff(0, k) * 32.0, diff(1, k) * 16.0);
            let lod = libm::log2(length(1).max(length(2))) as f32;
            let close = [-0.003, 0.0, 0.003].into_iter().any(|nudge| {
                let e = naive.sample(&sd, 0, uv[0][lane], uv[1][lane], lod + nudge, [0; 2]);
                (0..4).all(|c| (f64::from(got[c][lane]) - e[c]).abs() < 0.01)
            });
            assert!(close, "{sd:?} lane {lane} lod {lod}");
        }
    }
}

/// Any bits as coordinates, in every shape and state: levels agree, results of unorm formats stay in range.
#[test]
fn hostile_arguments() {
    let mut rng = Rng(3);
    let special = [
        f32::NAN,
        f32::INFINITY,
        f32::NEG_INFINITY,
        0.0,
        -0.0,
        1.0,
        1e30,
        -1e-40,
        0.5,
        65536.0,
    ];
    let shapes = [
        (Dim::D2, false),
        (Dim::D2, true),
        (Dim::Cube, false),
        (Dim::Cube, true),
        (Dim::D3, false),
        (Dim::D1, false),
    ];
    let formats = [
        TextureFormat::Rgba8Unorm,
        TextureFormat::Rgba8UnormSrgb,
        TextureFormat::R8Unorm,
        TextureFormat::Rgba16Float,
        TextureFormat::R32Float,
        TextureFormat::Rgba16Unorm,
        TextureFormat::Rgb9e5Ufloat,
    ];
    for round in 0..480 {
        let (dim, array) = shapes[round % shapes.len()];
        let format = formats[rng.below(formats.len() as u32) as usize];
        let size = [1, 4, 6, 9][rng.below(4) as usize];
        let mut d = TextureDescriptor::new_2d(format, size, size);
        match dim {
            Dim::D1 => (d.dimension, d.height) = (crate::texture::TextureDimension::D1, 1),
            Dim::D3 => (d.dimension, d.depth_or_layers) = (crate::texture::TextureDimension::D3, 3),
            Dim::Cube => d.depth_or_layers = if array { 12 } else { 6 },
            Dim::D2 => d.depth_or_layers = if array { 3 } else { 1 },
        }
        d.levels = 1 + rng.below(d.full_levels());
        let t = Texture::new(&d, &budget()).unwrap();
        fill(&t, &mut rng);
        use crate::texture::{TextureViewDescriptor, ViewDimension};
        let shape = match (dim, array) {
            (Dim::Cube, false) => Some(ViewDimension::Cube),
            (Dim::Cube, true) => Some(ViewDimension::CubeArray),
            _ => None,
        };
        let v = TextureViewDescriptor {
            dimension: shape,
            ..Default::default()
        };
        let view = SampledView::new(&TextureView::new(&t, &v).unwrap()).unwrap();
        let mut sd = state(&mut rng);
        let mut compare = false;
        match rng.below(6) {
            0 => {
                (sd.mag_filter, sd.min_filter, sd.mipmap_filter) = Default::default();
                sd.compare = Some(CompareFunction::GreaterEqual);
                compare = true;
            }
            1 => sd.reduction = Reduction::Maximum,
            2 => {
                sd = SamplerDescriptor {
                    max_anisotropy: 1 + rng.below(16) as u16,
                    address: sd.address,
                    ..linear()
                }
            }
            _ => {}
        }
        let lod = [Lod::Implicit, Lod::Bias, Lod::Zero, Lod::Level, Lod::Grad][rng.below(5) as usize];
        let gather = (dim == Dim::D2 || dim == Dim::Cube) && rng.below(4) == 0;
        let (gather, lod) = if gather {
            (Some(rng.below(4) as u8), Lod::Zero)
        } else {
            (None, lod)
        };
        let op = SampleOp {
            dim,
            array,
            lod,
            compare,
            gather,
            offset: [[0, 0, -1, 1][rng.below(4) as usize], 0, 0],
            mask: 15,
        };
        let args: Vec<[u32; 8]> = (0..op.arg_count())
            .map(|_| {
                [0; 8].map(|_| match rng.below(3) {
                    0 => special[rng.below(10) as usize].to_bits(),
                    1 => rng.next(),
                    _ => rng.range(-2.0, 2.0).to_bits(),
                })
            })
            .collect();
        let got = call(&view, Some(&sampler(sd)), op.encode(), &args);
        if format.info().kind == crate::format::Kind::Unorm {
            for lane in got[..op.components()].as_flattened() {
                assert!((0.0..=1.0).contains(&f32::from_bits(*lane)), "{op:?} {sd:?}");
            }
        }
        let load = TexelOp {
            dim,
            array,
            multisampled: false,
            mask: 15,
        };
        call(
            &view,
            None,
            load.encode(),
            &args.iter().cycle().take(6).copied().collect::<Vec<_>>(),
        );
    }
}

/// Components not asked for don't change the others; 4 lanes give what 8 give.
#[test]
fn masks_and_lane_counts() {
    let mut rng = Rng(4);
    for format in [
        TextureFormat::Rgba8Unorm,
        TextureFormat::Bgra8Unorm,
        TextureFormat::Rgba8UnormSrgb,
        TextureFormat::Rgba16Float,
    ] {
        let t = Texture::new(&TextureDescriptor::new_2d(format, 8, 8), &budget()).unwrap();
        fill(&t, &mut rng);
        let view = sampled(&t);
        let uv: [[f32; 8]; 2] = [0, 1].map(|_| [0; 8].map(|_| rng.unit()));
        for sd in [
            linear(),
            SamplerDescriptor::default(),
            SamplerDescriptor {
                max_anisotropy: 8,
                ..linear()
            },
        ] {
            let all = sample(&view, &sampler(sd), OP, &uv);
            for mask in 1..16 {
                let part = sample(&view, &sampler(sd), SampleOp { mask, ..OP }, &uv);
                for c in (0..4).filter(|c| mask >> c & 1 != 0) {
                    assert_eq!(part[c], all[c], "{format} mask {mask}");
                }
            }
            let mut half = uv;
            half.iter_mut().for_each(|c| c[4..].fill(f32::from_bits(0xdead_beef)));
            let half = sample(&view, &sampler(sd), OP, &half);
            for c in 0..4 {
                assert_eq!(half[c][..4], all[c][..4]);
            }
        }
    }
}
