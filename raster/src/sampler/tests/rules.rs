//! Values worked by hand or by the rules' own examples.

use super::*;
use crate::texture::{TextureDimension, TextureViewDescriptor, ViewDimension};

/// The 4x4 R8 texture of R-SAMP-79's examples.
const TEXELS: [u8; 16] = [0, 64, 128, 255, 10, 20, 30, 40, 100, 110, 120, 130, 200, 210, 220, 230];

fn r8(d: TextureDescriptor, data: &[u8]) -> Arc<SampledView> {
    let t = Texture::new(&d, &budget()).unwrap();
    t.write_level(0, 0, data).unwrap();
    sampled(&t)
}

fn example() -> Arc<SampledView> {
    r8(TextureDescriptor::new_2d(TextureFormat::R8Unorm, 4, 4), &TEXELS)
}

fn with(mode: AddressMode) -> Sampler {
    sampler(SamplerDescriptor {
        address: [mode; 3],
        ..linear()
    })
}

/// `spec/worked/lod.out`: bilinear (R-SAMP-13, 14).
#[test]
fn worked_bilinear() {
    let view = example();
    let cases = [
        (0.125, 0.125, 0.0, 0.0, 0.0),
        (0.25, 0.125, 32.0, 32.0, 32.0),
        (0.25, 0.25, 23.5, 23.5, 23.5),
        (0.3, 0.6, 97.851_56, 97.851_56, 97.851_56),
        (0.0, 0.0, 0.0, 171.25, 0.0),
        (1.0, 1.0, 230.0, 171.25, 57.5),
    ];
    for (u, v, clamp, wrap, border) in cases {
        for (mode, value) in [
            (AddressMode::ClampToEdge, clamp),
            (AddressMode::Repeat, wrap),
            (AddressMode::ClampToBorder, border),
        ] {
            let got = sample_one(&view, &with(mode), OP, &[u, v]);
            assert!(
                (got[0] * 255.0 - value).abs() < 1e-4,
                "{u} {v} {mode:?}: {}",
                got[0] * 255.0
            );
            assert_eq!(got[1..], [0.0, 0.0, 1.0]);
        }
    }
}

/// R-SAMP-15, 89: at texel centres a linear filter returns the texel to the bit.
#[test]
fn centres_are_exact() {
    let view = example();
    for (i, code) in TEXELS.into_iter().enumerate() {
        let (u, v) = ((i % 4) as f32 / 4.0 + 0.125, (i / 4) as f32 / 4.0 + 0.125);
        for s in [with(AddressMode::Repeat), sampler(SamplerDescriptor::default())] {
            assert_eq!(sample_one(&view, &s, OP, &[u, v])[0], f32::from(code) / 255.0);
        }
    }
}

/// `spec/worked/lod.out`: gather order (R-SAMP-68).
#[test]
fn worked_gather() {
    let view = example();
    let op = SampleOp {
        gather: Some(0),
        lod: Lod::Zero,
        ..OP
    };
    let codes = |mode, u, v| sample_one(&view, &with(mode), op, &[u, v]).map(|x| x * 255.0);
    assert_eq!(codes(AddressMode::ClampToEdge, 0.5, 0.5), [110.0, 120.0, 30.0, 20.0]);
    assert_eq!(
        codes(AddressMode::ClampToEdge, 0.375, 0.375),
        [110.0, 120.0, 30.0, 20.0]
    );
    assert_eq!(codes(AddressMode::Repeat, 0.0, 0.0), [255.0, 0.0, 200.0, 230.0]);
    let of = |c| {
        sample_one(
            &view,
            &with(AddressMode::Repeat),
            SampleOp { gather: Some(c), ..op },
            &[0.5, 0.5],
        )
    };
    assert_eq!((of(1), of(3)), ([0.0; 4], [1.0; 4]));
}

/// `spec/worked/lod.out`: comparison (R-SAMP-64, 65, 69).
#[test]
fn worked_comparison() {
    let view = example();
    let s = sampler(SamplerDescriptor {
        compare: Some(CompareFunction::LessEqual),
        ..linear()
    });
    let op = SampleOp {
        compare: true,
        lod: Lod::Zero,
        ..OP
    };
    for (reference, expected) in [
        (0.0, 1.0),
        (0.07, 0.8125),
        (0.1, 0.25),
        (0.4, 0.1875),
        (0.43, 0.1875),
        (0.44, 0.0),
        (1.0, 0.0),
        (2.0, 0.0),
    ] {
        assert_eq!(
            sample_one(&view, &s, op, &[0.3125, 0.4375, reference])[0],
            expected,
            "{reference}"
        );
    }
    let gather = SampleOp { gather: Some(0), ..op };
    assert_eq!(sample_one(&view, &s, gather, &[0.5, 0.5, 0.1]), [1.0, 1.0, 1.0, 0.0]);
    let nearest = sampler(SamplerDescriptor {
        compare: Some(CompareFunction::Less),
        ..SamplerDescriptor::default()
    });
    assert_eq!(sample_one(&view, &nearest, op, &[0.3, 0.4, 0.05])[0], 1.0);
    assert_eq!(sample_one(&view, &nearest, op, &[0.3, 0.4, 0.08])[0], 0.0);
}

/// R-OM-5's functions, on every depth format.
#[test]
fn comparison_functions() {
    use CompareFunction::*;
    for format in [
        TextureFormat::Depth16Unorm,
        TextureFormat::Depth24Plus,
        TextureFormat::Depth32Float,
    ] {
        let t = Texture::new(&TextureDescriptor::new_2d(format, 1, 1), &budget()).unwrap();
        let words = crate::format::PlaneWords::clear(format, [0.5; 4]);
        t.write_level(0, 0, &words.to_texel(format)[..format.info().bytes as usize])
            .unwrap();
        let view = sampled(&t);
        let op = SampleOp {
            compare: true,
            lod: Lod::Zero,
            ..OP
        };
        for (function, expected) in [
            (Never, [0.0, 0.0, 0.0]),
            (Less, [1.0, 0.0, 0.0]),
            (Equal, [0.0, 1.0, 0.0]),
            (LessEqual, [1.0, 1.0, 0.0]),
            (Greater, [0.0, 0.0, 1.0]),
            (NotEqual, [1.0, 0.0, 1.0]),
            (GreaterEqual, [0.0, 1.0, 1.0]),
            (Always, [1.0, 1.0, 1.0]),
        ] {
            let s = sampler(SamplerDescriptor {
                compare: Some(function),
                ..linear()
            });
            let got = [0.25, 0.5, 0.75].map(|r| sample_one(&view, &s, op, &[0.5, 0.5, r])[0]);
            assert_eq!(got, expected, "{format} {function:?}");
        }
        let plain = sample_one(&view, &sampler(linear()), OP, &[0.5, 0.5]);
        assert_eq!(
            plain,
            [crate::format::texel::unpack(format, &words.to_texel(format)), [0; 4]][0].map(f32::from_bits)
        );
    }
}

/// R-SAMP-76: offsets are texels, before the address mode.
#[test]
fn offsets() {
    let view = example();
    let nearest = |mode| {
        sampler(SamplerDescriptor {
            address: [mode; 3],
            ..SamplerDescriptor::default()
        })
    };
    let at = |mode, offset: [i8; 2]| {
        let op = SampleOp {
            offset: [offset[0], offset[1], 0],
            ..OP
        };
        (sample_one(&view, &nearest(mode), op, &[0.125, 0.125])[0] * 255.0).round()
    };
    assert_eq!(at(AddressMode::ClampToEdge, [1, 1]), 20.0);
    assert_eq!(at(AddressMode::ClampToEdge, [-5, 7]), 200.0);
    assert_eq!(at(AddressMode::Repeat, [-1, -8]), 255.0);
    assert_eq!(at(AddressMode::MirrorRepeat, [-2, 5]), 110.0);
    assert_eq!(at(AddressMode::ClampToBorder, [-1, 0]), 0.0);
}

/// R-SAMP-21: the border fills only components the format has, in its range.
#[test]
fn borders() {
    let border = [0.25, 2.0, 0.5, 0.75];
    let s = sampler(SamplerDescriptor {
        address: [AddressMode::ClampToBorder; 3],
        border,
        ..SamplerDescriptor::default()
    });
    let of = |format| {
        let t = Texture::new(&TextureDescriptor::new_2d(format, 2, 2), &budget()).unwrap();
        sample_one(&sampled(&t), &s, OP, &[-3.0, 0.5])
    };
    assert_eq!(of(TextureFormat::Rgba32Float), border);
    assert_eq!(of(TextureFormat::Rg32Float), [0.25, 2.0, 0.0, 1.0]);
    assert_eq!(of(TextureFormat::R8Unorm), [64.0 / 255.0, 0.0, 0.0, 1.0]);
    assert_eq!(
        of(TextureFormat::Bgra8Unorm),
        [64.0 / 255.0, 1.0, 128.0 / 255.0, 191.0 / 255.0]
    );
    let t = Texture::new(
        &TextureDescriptor::new_2d(TextureFormat::Rgba8UnormSrgb, 2, 2),
        &budget(),
    )
    .unwrap();
    let filtered = sampler(SamplerDescriptor {
        border: [0.25, 1.0, 0.0, 1.0],
        ..*with(AddressMode::ClampToBorder).descriptor()
    });
    let got = sample_one(&sampled(&t), &filtered, OP, &[-3.0, 0.5]);
    assert_eq!(got, [16384.0 / 65535.0, 1.0, 0.0, 1.0], "a border is linear");
}

fn mipped(format: TextureFormat, size: u32, value: impl Fn(u32) -> Vec<u8>) -> Arc<SampledView> {
    let mut d = TextureDescriptor::new_2d(format, size, size);
    d.levels = d.full_levels();
    let t = Texture::new(&d, &budget()).unwrap();
    for level in 0..d.levels {
        let texels = ((size >> level).max(1) as usize).pow(2);
        t.write_level(level, 0, &value(level).repeat(texels)).unwrap();
    }
    sampled(&t)
}

/// Levels that hold their own number: R-SAMP-31, 32, 41, 45, 61..63.
#[test]
fn level_selection() {
    let view = mipped(TextureFormat::R32Float, 64, |l| (l as f32).to_le_bytes().to_vec());
    let tri = sampler(linear());
    let point = sampler(SamplerDescriptor {
        mipmap_filter: FilterMode::Nearest,
        ..linear()
    });
    let level = SampleOp { lod: Lod::Level, ..OP };
    for (lod, mixed, nearest) in [
        (0.5, 0.5, 1.0),
        (0.498_046_8, 127.0 / 256.0, 0.0),
        (2.25, 2.25, 2.0),
        (-3.0, 0.0, 0.0),
        (9.0, 6.0, 6.0),
        (f32::NAN, 6.0, 6.0),
    ] {
        assert_eq!(sample_one(&view, &tri, level, &[0.3, 0.3, lod])[0], mixed, "{lod}");
        assert_eq!(sample_one(&view, &point, level, &[0.3, 0.3, lod])[0], nearest, "{lod}");
    }
    // Implicit: the quad's differences; here 4 texels a pixel in x, 2 in y, in the left quad only.
    let u = [0.0, 4.0 / 64.0, 0.0, 4.0 / 64.0, 0.0, 0.0, 0.0, 0.0];
    let v = [0.0, 0.0, 2.0 / 64.0, 2.0 / 64.0, 0.0, 0.0, 0.0, 0.0];
    let got = sample(&view, &tri, OP, &[u, v])[0];
    assert_eq!(got, [2.0, 2.0, 2.0, 2.0, 0.0, 0.0, 0.0, 0.0]);
    let bias = SampleOp { lod: Lod::Bias, ..OP };
    let b = [0.5, 1.0, -1.0, 100.0, 100.0, 0.0, 0.0, 0.0];
    let got = sample(&view, &tri, bias, &[u, v, b])[0];
    assert_eq!(got[..5], [2.5, 3.0, 1.0, 6.0, 0.0]);
    let grad = SampleOp { lod: Lod::Grad, ..OP };
    let got = sample_one(&view, &tri, grad, &[0.3, 0.3, 3.0 / 64.0, 4.0 / 64.0, 0.0, 1.0 / 64.0])[0];
    assert!((got - 2.321_928).abs() <= 1.0 / 512.0, "{got}");
    let clamped = sampler(SamplerDescriptor {
        lod_min_clamp: 1.5,
        lod_max_clamp: 4.0,
        ..linear()
    });
    assert_eq!(
        sample_one(&view, &clamped, SampleOp { lod: Lod::Zero, ..OP }, &[0.3, 0.3])[0],
        1.5
    );
    assert_eq!(sample_one(&view, &clamped, level, &[0.3, 0.3, 6.0])[0], 4.0);
}

/// R-SAMP-3: magnification and minification filters, decided after the clamps.
#[test]
fn mag_and_min_filters() {
    let t = Texture::new(&TextureDescriptor::new_2d(TextureFormat::R8Unorm, 2, 1), &budget()).unwrap();
    t.write_level(0, 0, &[0, 255]).unwrap();
    let view = sampled(&t);
    let level = SampleOp { lod: Lod::Level, ..OP };
    for (mag, min, at_0, above) in [
        (FilterMode::Linear, FilterMode::Nearest, 0.5, 1.0),
        (FilterMode::Nearest, FilterMode::Linear, 1.0, 0.5),
    ] {
        let s = sampler(SamplerDescriptor {
            mag_filter: mag,
            min_filter: min,
            ..SamplerDescriptor::default()
        });
        let lods = [0.0, 0.01, -1.0, 3.0, 0.0, 0.0, 1.0, 1.0];
        let got = sample(&view, &s, level, &[[0.5; 8], [0.5; 8], lods])[0];
        let close = |a: f32, b: f32| (a - b).abs() < 0.01;
        for (lod, got) in lods.into_iter().zip(got) {
            assert!(close(got, if lod <= 0.0 { at_0 } else { above }), "{lod}: {got}");
        }
    }
}

/// R-SAMP-43, 44: a long footprint averages along its axis and stays sharp across.
#[test]
fn anisotropy_averages_along_the_major_axis() {
    let mut d = TextureDescriptor::new_2d(TextureFormat::R8Unorm, 64, 64);
    d.levels = d.full_levels();
    let t = Texture::new(&d, &budget()).unwrap();
    // Columns differ, rows are alike: a footprint along y sees one column only.
    let data: Vec<u8> = (0..64 * 64).map(|i| if i % 64 % 2 == 0 { 255 } else { 0 }).collect();
    t.write_level(0, 0, &data).unwrap();
    t.generate_mips().unwrap();
    let view = sampled(&t);
    let grad = SampleOp { lod: Lod::Grad, ..OP };
    let args = [20.5 / 64.0, 0.5, 1.0 / 64.0, 0.0, 0.0, 8.0 / 64.0];
    let s = sampler(SamplerDescriptor {
        max_anisotropy: 16,
        ..linear()
    });
    assert_eq!(sample_one(&view, &s, grad, &args)[0], 1.0);
    assert!((sample_one(&view, &sampler(linear()), grad, &args)[0] - 128.0 / 255.0).abs() < 1e-6);
    // Along x: 8 taps over stripes average to one half.
    let args = [20.5 / 64.0, 0.5, 8.0 / 64.0, 0.0, 0.0, 1.0 / 64.0];
    let got = sample_one(&view, &s, grad, &args)[0];
    assert!((got - 0.5).abs() < 0.1, "{got}");
    let constant = mipped(TextureFormat::Rgba8UnormSrgb, 64, |_| vec![10, 100, 200, 50]);
    let got = sample_one(&constant, &s, grad, &[0.1, 0.2, 13.0 / 64.0, 0.01, 0.0, 1.0 / 64.0]);
    let t = crate::format::srgb::tables();
    let expected = [10, 100, 200].map(|c| f32::from(t.to_linear16[c]) / 65535.0);
    assert_eq!(got[..3], expected, "a constant texture gives the constant");
}

/// R-SAMP-77, 79: array indices clamp.
#[test]
fn arrays_clamp_and_views_shift() {
    let d = TextureDescriptor {
        depth_or_layers: 4,
        ..TextureDescriptor::new_2d(TextureFormat::R8Uint, 3, 5)
    };
    let t = Texture::new(&d, &budget()).unwrap();
    for layer in 0..4 {
        t.write_level(0, layer, &[10 + layer as u8; 15]).unwrap();
    }
    let s = sampler(SamplerDescriptor::default());
    let op = SampleOp { array: true, ..OP }.encode();
    let u = [0.4f32.to_bits(); 8];
    let layers = [0, 1, 2, 3, 4, 100, -1i32 as u32, i32::MIN as u32];
    let got = call(&sampled(&t), Some(&s), op, &[u, u, layers]);
    assert_eq!(got[0], [10, 11, 12, 13, 13, 13, 10, 10]);
    assert_eq!((got[1], got[3], got[4]), ([0; 8], [1; 8], [u32::MAX; 8]));
    let view = TextureViewDescriptor {
        base_layer: 1,
        layers: Some(2),
        ..Default::default()
    };
    let view = SampledView::new(&TextureView::new(&t, &view).unwrap()).unwrap();
    let got = call(&view, Some(&s), op, &[u, u, layers]);
    assert_eq!(got[0], [11, 12, 12, 12, 12, 12, 11, 11]);
    assert_eq!(view.info().layers, 2);
    let one = TextureViewDescriptor {
        base_layer: 3,
        dimension: Some(ViewDimension::D2),
        ..Default::default()
    };
    let view = SampledView::new(&TextureView::new(&t, &one).unwrap()).unwrap();
    assert_eq!(call(&view, Some(&s), OP.encode(), &[u, u])[0], [13; 8]);
}

/// R-SAMP-66, 67: loads, and everything out of range.
#[test]
fn loads() {
    let d = TextureDescriptor {
        depth_or_layers: 2,
        levels: 2,
        ..TextureDescriptor::new_2d(TextureFormat::Rgba8Unorm, 5, 3)
    };
    let t = Texture::new(&d, &budget()).unwrap();
    let texel = |level: u32, layer: u32, i: u32| [level as u8 * 100, layer as u8 * 10, i as u8, 255];
    for (level, texels) in [(0, 15), (1, 2)] {
        for layer in 0..2 {
            let data: Vec<u8> = (0..texels).flat_map(|i| texel(level, layer, i)).collect();
            t.write_level(level, layer, &data).unwrap();
        }
    }
    let view = sampled(&t);
    let op = TexelOp {
        dim: Dim::D2,
        array: true,
        multisampled: false,
        mask: 15,
    }
    .encode();
    let x = [4, 0, 5, 0, 0, -1i32 as u32, 1, 0];
    let y = [2, 1, 0, 3, 0, 0, 0, 0];
    let layer = [1, 0, 0, 0, 2, 0, 1, 0];
    let level = [0, 0, 0, 0, 0, 0, 1, 2];
    let got = call(&view, None, op, &[x, y, layer, level]);
    let codes =
        |lane: usize| -> [u8; 4] { std::array::from_fn(|c| (f32::from_bits(got[c][lane]) * 255.0).round() as u8) };
    assert_eq!(codes(0), texel(0, 1, 14));
    assert_eq!(codes(1), texel(0, 0, 5));
    assert_eq!(codes(6), texel(1, 1, 1));
    for lane in [2, 3, 4, 5, 7] {
        assert_eq!(codes(lane), [0; 4], "lane {lane}");
    }
    // Formats without alpha read 1 there, out of range too.
    let t = Texture::new(&TextureDescriptor::new_2d(TextureFormat::Rg8Snorm, 1, 1), &budget()).unwrap();
    t.write_level(0, 0, &[127, 0x81]).unwrap();
    let op = TexelOp {
        dim: Dim::D2,
        array: false,
        multisampled: false,
        mask: 15,
    }
    .encode();
    let got = call(&sampled(&t), None, op, &[[0, 1, 0, 0, 0, 0, 0, 0], [0; 8], [0; 8]]);
    let lane = |l: usize| [0, 1, 2, 3].map(|c| f32::from_bits(got[c][l]));
    assert_eq!((lane(0), lane(1)), ([1.0, -1.0, 0.0, 1.0], [0.0, 0.0, 0.0, 1.0]));
    // The exact sRGB function (R-SAMP-105), and float bits untouched.
    let t = Texture::new(
        &TextureDescriptor::new_2d(TextureFormat::Bgra8UnormSrgb, 1, 1),
        &budget(),
    )
    .unwrap();
    t.write_level(0, 0, &[255, 128, 1, 51]).unwrap();
    let got = call(&sampled(&t), None, op, &[[0; 8]; 3]);
    let f = [0, 1, 2, 3].map(|c| f32::from_bits(got[c][0]));
    assert_eq!(f, [0.000_303_527, 0.215_860_5, 1.0, 0.2]);
    let t = Texture::new(&TextureDescriptor::new_2d(TextureFormat::R32Float, 1, 1), &budget()).unwrap();
    t.write_level(0, 0, &0x7f80_1234u32.to_le_bytes()).unwrap();
    assert_eq!(call(&sampled(&t), None, op, &[[0; 8]; 3])[0], [0x7f80_1234; 8]);
}

#[test]
fn multisampled_loads() {
    use crate::texture::{Access, PlaneSet, Target};
    let d = TextureDescriptor {
        samples: 4,
        ..TextureDescriptor::new_2d(TextureFormat::R32Uint, 6, 6)
    };
    let t = Texture::new(&d, &budget()).unwrap();
    let whole = TextureView::whole(&t).unwrap();
    let set = PlaneSet {
        first: 0,
        plane_step: 1,
        sample_step: 1,
        cells: 32,
    };
    let mut memory = vec![Cell::default(); 32 * 4];
    for s in 0..4 {
        memory[set.range(s, 0)].fill(Cell([s as u32 + 7; 8]));
    }
    let target = Target::new(&whole, crate::format::Aspect::All, 16, Access::ReadWrite, 0).unwrap();
    target.tile(0, 0).unwrap().store(&memory, set);
    let view = SampledView::new(&whole).unwrap();
    assert!(view.begin_read().is_err(), "a target in use can't be sampled");
    drop(target);
    let op = TexelOp {
        dim: Dim::D2,
        array: false,
        multisampled: true,
        mask: 15,
    }
    .encode();
    let got = call(&view, None, op, &[[5; 8], [5; 8], [0, 1, 2, 3, 4, 5, 6, -1i32 as u32]]);
    assert_eq!(got[0], [7, 8, 9, 10, 0, 0, 0, 0]);
    assert_eq!(view.info().samples, 4);
}

#[test]
fn volumes_filter_in_three_axes() {
    let d = TextureDescriptor {
        dimension: TextureDimension::D3,
        depth_or_layers: 2,
        ..TextureDescriptor::new_2d(TextureFormat::R8Unorm, 2, 2)
    };
    let t = Texture::new(&d, &budget()).unwrap();
    t.write_level(0, 0, &[0, 100, 50, 150]).unwrap();
    t.write_level(0, 1, &[200, 200, 200, 200]).unwrap();
    let view = sampled(&t);
    let op = SampleOp { dim: Dim::D3, ..OP };
    let at = |u: f32, v: f32, w: f32| sample_one(&view, &sampler(linear()), op, &[u, v, w])[0] * 255.0;
    assert!((at(0.5, 0.5, 0.25) - 75.0).abs() < 1e-4);
    assert!((at(0.5, 0.5, 0.5) - 137.5).abs() < 1e-4);
    assert!((at(0.5, 0.25, 0.625) - 162.5).abs() < 1e-4);
    let nearest = sampler(SamplerDescriptor::default());
    assert_eq!(
        (sample_one(&view, &nearest, op, &[0.9, 0.1, 0.2])[0] * 255.0).round(),
        100.0
    );
    let load = TexelOp {
        dim: Dim::D3,
        array: false,
        multisampled: false,
        mask: 15,
    }
    .encode();
    let z = [0, 1, 2, 0, 0, 0, 0, 0];
    let got = call(&view, None, load, &[[1; 8], [1; 8], z, [0; 8]])[0].map(|v| (f32::from_bits(v) * 255.0).round());
    assert_eq!(got[..3], [150.0, 200.0, 0.0]);
}

#[test]
fn one_dimension() {
    let d = TextureDescriptor {
        dimension: TextureDimension::D1,
        ..TextureDescriptor::new_2d(TextureFormat::R8Unorm, 4, 1)
    };
    let view = r8(d, &[0, 100, 200, 40]);
    let op = SampleOp { dim: Dim::D1, ..OP };
    let at = |u: f32| sample_one(&view, &sampler(linear()), op, &[u])[0] * 255.0;
    assert!((at(0.25) - 50.0).abs() < 1e-4 && (at(0.625) - 200.0).abs() < 1e-4);
}

/// R-SAMP-85.
#[test]
fn minimum_and_maximum() {
    let view = example();
    let at = |reduction, u: f32, v: f32| {
        let s = sampler(SamplerDescriptor { reduction, ..linear() });
        (sample_one(&view, &s, OP, &[u, v])[0] * 255.0).round()
    };
    assert_eq!(at(Reduction::Minimum, 0.3, 0.6), 10.0);
    assert_eq!(at(Reduction::Maximum, 0.3, 0.6), 110.0);
    // Weight 0: at a centre only that texel takes part.
    assert_eq!(
        (
            at(Reduction::Minimum, 0.375, 0.625),
            at(Reduction::Maximum, 0.375, 0.625)
        ),
        (110.0, 110.0)
    );
    assert_eq!(
        (at(Reduction::Minimum, 0.5, 0.625), at(Reduction::Maximum, 0.5, 0.625)),
        (110.0, 120.0)
    );
}

/// R-SAMP-88: a texel of weight 0 takes no part, NaN or not; infinity stays infinity.
#[test]
fn special_floats() {
    let t = Texture::new(&TextureDescriptor::new_2d(TextureFormat::R32Float, 4, 1), &budget()).unwrap();
    let data: Vec<u8> = [-0.0, f32::NAN, 2.0, f32::INFINITY]
        .iter()
        .flat_map(|f: &f32| f.to_le_bytes())
        .collect();
    t.write_level(0, 0, &data).unwrap();
    let view = sampled(&t);
    let at = |u: f32| sample_one(&view, &sampler(linear()), OP, &[u, 0.5])[0];
    assert_eq!(at(0.125).to_bits(), (-0.0f32).to_bits());
    assert_eq!(at(0.625), 2.0);
    assert_eq!(at(0.7), f32::INFINITY);
    assert_eq!(at(0.3).to_bits(), 0x7fc0_0000);
}

/// A slot without texture or sampler reads 0 (R-SAMP-60).
#[test]
fn empty_slots_read_zero() {
    let view = example();
    let a = view.binding();
    for (a, b) in [
        (a, Binding::NULL),
        (
            Binding {
                data: std::ptr::null(),
                ..a
            },
            sampler(linear()).binding(),
        ),
    ] {
        let mut cells = [Cell([5; 8]); CALL_CELLS];
        // SAFETY: the bindings are empty or of live objects; the sampler's address is not used after all.
        unsafe {
            a.sample.unwrap()(
                &a,
                if b.data.is_null() { std::ptr::null() } else { &b },
                OP.encode(),
                cells.as_mut_ptr(),
                8,
            )
        };
        assert_eq!(cells[RESULT_CELL..RESULT_CELL + 4], [Cell([0; 8]); 4]);
    }
}

#[test]
fn memory_limits_cover_linear_copies() {
    let limited = MemoryBudget::new(64 * 64 * 4 + 64 + 100);
    let t = Texture::new(
        &TextureDescriptor::new_2d(TextureFormat::Rgba8UnormSrgb, 64, 64),
        &limited,
    )
    .unwrap();
    assert!(SampledView::new(&TextureView::whole(&t).unwrap()).is_err());
    let unorm = TextureViewDescriptor {
        format: Some(TextureFormat::Rgba8Unorm),
        ..Default::default()
    };
    assert!(SampledView::new(&TextureView::new(&t, &unorm).unwrap()).is_ok());
}
