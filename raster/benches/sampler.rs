//! Cost of sampler calls, per call of 8 lanes (laws S1-S3: at most 60 ns for trilinear rgba8, 38 ns for a PCF tap).

use criterion::{Criterion, criterion_group, criterion_main};
use quadrille_frontend::ir::{Dim, Lod, SampleOp};
use quadrille_jit::abi::{CALL_CELLS, Cell};
use quadrille_raster::format::TextureFormat;
use quadrille_raster::sampler::{AddressMode, CompareFunction, FilterMode, SampledView, Sampler, SamplerDescriptor};
use quadrille_raster::simd::Level;
use quadrille_raster::texture::{
    MemoryBudget, Texture, TextureDescriptor, TextureView, TextureViewDescriptor, ViewDimension,
};
use std::hint::black_box;

struct Case {
    name: &'static str,
    format: TextureFormat,
    sampler: SamplerDescriptor,
    op: SampleOp,
    /// Texels a pixel in x and y.
    step: [f32; 2],
    size: u32,
}

fn trilinear() -> SamplerDescriptor {
    SamplerDescriptor {
        address: [AddressMode::Repeat; 3],
        mag_filter: FilterMode::Linear,
        min_filter: FilterMode::Linear,
        mipmap_filter: FilterMode::Linear,
        ..SamplerDescriptor::default()
    }
}

const OP: SampleOp = SampleOp {
    dim: Dim::D2,
    array: false,
    lod: Lod::Implicit,
    compare: false,
    gather: None,
    offset: [0; 3],
    mask: 15,
};

fn cases() -> Vec<Case> {
    let tri = trilinear();
    let bilinear = SamplerDescriptor {
        mipmap_filter: FilterMode::Nearest,
        ..tri
    };
    let aniso = SamplerDescriptor {
        max_anisotropy: 16,
        ..tri
    };
    let pcf = SamplerDescriptor {
        mag_filter: FilterMode::Linear,
        min_filter: FilterMode::Linear,
        compare: Some(CompareFunction::LessEqual),
        ..SamplerDescriptor::default()
    };
    let base = Case {
        name: "",
        format: TextureFormat::Rgba8Unorm,
        sampler: tri,
        op: OP,
        step: [2.7, 2.7],
        size: 512,
    };
    let rgb = SampleOp { mask: 7, ..OP };
    let zero = SampleOp { lod: Lod::Zero, ..OP };
    vec![
        Case {
            name: "rgba8 nearest",
            sampler: SamplerDescriptor::default(),
            ..copy(&base)
        },
        Case {
            name: "rgba8 bilinear",
            sampler: bilinear,
            ..copy(&base)
        },
        Case {
            name: "rgba8 trilinear",
            ..copy(&base)
        },
        Case {
            name: "rgba8 trilinear rgb",
            op: rgb,
            ..copy(&base)
        },
        Case {
            name: "rgba8 trilinear magnified",
            step: [0.5, 0.5],
            ..copy(&base)
        },
        Case {
            name: "srgb8 trilinear",
            format: TextureFormat::Rgba8UnormSrgb,
            ..copy(&base)
        },
        Case {
            name: "srgb8 trilinear rgb",
            format: TextureFormat::Rgba8UnormSrgb,
            op: rgb,
            ..copy(&base)
        },
        Case {
            name: "srgb8 aniso 4 taps",
            format: TextureFormat::Rgba8UnormSrgb,
            sampler: aniso,
            step: [8.0, 2.1],
            ..copy(&base)
        },
        Case {
            name: "rgba16f trilinear",
            format: TextureFormat::Rgba16Float,
            ..copy(&base)
        },
        Case {
            name: "rgba16f cube trilinear",
            format: TextureFormat::Rgba16Float,
            op: SampleOp {
                dim: Dim::Cube,
                lod: Lod::Level,
                ..OP
            },
            size: 128,
            ..copy(&base)
        },
        Case {
            name: "depth32 pcf tap",
            format: TextureFormat::Depth32Float,
            sampler: pcf,
            op: SampleOp { compare: true, ..zero },
            size: 2048,
            ..copy(&base)
        },
        Case {
            name: "depth24 pcf tap",
            format: TextureFormat::Depth24Plus,
            sampler: pcf,
            op: SampleOp { compare: true, ..zero },
            size: 2048,
            ..copy(&base)
        },
    ]
}

fn copy(c: &Case) -> Case {
    Case { ..*c }
}

fn bench(c: &mut Criterion) {
    let budget = MemoryBudget::new(1 << 30);
    for case in cases() {
        let cube = case.op.dim == Dim::Cube;
        let mut d = TextureDescriptor::new_2d(case.format, case.size, case.size);
        d.depth_or_layers = if cube { 6 } else { 1 };
        d.levels = if case.format.is_depth_stencil() {
            1
        } else {
            d.full_levels()
        };
        let t = Texture::new(&d, &budget).expect("fits");
        let bytes = (case.size * case.size * case.format.info().bytes) as usize;
        let data: Vec<u8> = (0..bytes).map(|i| ((i * 31) >> 3) as u8 & 0x3b).collect();
        for layer in 0..d.depth_or_layers {
            t.write_level(0, layer, &data).expect("fits");
        }
        if d.levels > 1 {
            t.generate_mips().expect("averages");
        }
        let dimension = cube.then_some(ViewDimension::Cube);
        let view = TextureViewDescriptor {
            dimension,
            ..Default::default()
        };
        let view = SampledView::new(&TextureView::new(&t, &view).expect("valid")).expect("fits");
        let sampler = Sampler::new(&case.sampler).expect("valid");
        let _guard = view.begin_read().expect("free");
        for level in [Level::Avx2, Level::Portable] {
            if level == Level::Portable && case.name != "rgba8 trilinear" {
                continue;
            }
            let (a, b) = (view.binding_at(level), sampler.binding());
            let mut cells = [Cell::default(); CALL_CELLS];
            let mut i = 0u32;
            c.bench_function(&format!("{} {level:?}", case.name), |bencher| {
                bencher.iter(|| {
                    // A scan line, 4 pixels a call.
                    i = (i + 1) % 256;
                    let x0 = i as f32 * 4.0;
                    for lane in 0..8 {
                        let x = x0 + (lane % 2 + lane / 4 * 2) as f32;
                        let y = (lane / 2 % 2) as f32 + 77.0;
                        let uv = [x * case.step[0], y * case.step[1]].map(|t| t / case.size as f32);
                        let arg = if cube {
                            [1.0, uv[0] * 0.3 - 0.4, uv[1] * 0.3 - 0.2, 1.4]
                        } else {
                            [uv[0], uv[1], 0.3, 0.0]
                        };
                        for (cell, v) in cells[1..].iter_mut().zip(arg) {
                            cell.0[lane] = v.to_bits();
                        }
                    }
                    // SAFETY: bindings of live objects, our own cells, the guard is held.
                    unsafe { a.sample.expect("a texture")(&a, &b, case.op.encode(), cells.as_mut_ptr(), 8) };
                    black_box(&cells);
                });
            });
        }
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().warm_up_time(std::time::Duration::from_millis(200)).measurement_time(std::time::Duration::from_millis(500)).sample_size(20);
    targets = bench
}
criterion_main!(benches);
