//! Compressed textures and storage textures through the ABI.

use super::*;
use crate::texture::bc;
use std::collections::BTreeSet;

/// The same texels without compression.
fn unpacked(t: &Texture, from: TextureFormat) -> Arc<Texture> {
    let d = t.descriptor();
    let format = bc::decoded(from).unwrap();
    let bytes = format.info().bytes as usize;
    let out = Texture::new(&TextureDescriptor { format, ..d.clone() }, &budget()).unwrap();
    for level in 0..d.levels {
        let [w, h] = [d.width, d.height].map(|s| (s >> level).max(1) as usize);
        for layer in 0..d.depth_or_layers {
            let blocks = t.read_level(level, layer).unwrap();
            let mut texels = vec![0; w * h * bytes];
            for (i, block) in blocks.chunks(from.info().bytes as usize).enumerate() {
                let (bx, by) = (i % w.div_ceil(4) * 4, i / w.div_ceil(4) * 4);
                bc::decode(from, block, |t, texel| {
                    let (x, y) = (bx + t % 4, by + t / 4);
                    if x < w && y < h {
                        let at = (y * w + x) * bytes;
                        texels[at..at + bytes].copy_from_slice(&texel[..bytes]);
                    }
                });
            }
            out.write_level(level, layer, &texels).unwrap();
        }
    }
    out
}

/// R-SAMP-22, 130: blocks are decoded before filtering; small levels are addressed by their true size.
#[test]
fn r_samp_130_blocks_filter_as_their_texels() {
    let mut rng = Rng(21);
    let formats: Vec<TextureFormat> = TextureFormat::ALL
        .iter()
        .copied()
        .filter(|f| f.is_compressed())
        .collect();
    assert_eq!(formats.len(), 14);
    for format in formats {
        let mut d = TextureDescriptor::new_2d(format, 12, 8);
        (d.levels, d.depth_or_layers) = (4, 2);
        let t = Texture::new(&d, &budget()).unwrap();
        for level in 0..4 {
            let blocks = (12u32 >> level).max(1).div_ceil(4) * (8u32 >> level).max(1).div_ceil(4);
            for layer in 0..2 {
                let mut data: Vec<u8> = (0..blocks * format.info().bytes).map(|_| rng.next() as u8).collect();
                if format.info().kind == crate::format::Kind::Float {
                    // No infinities: a few bits of exponent less.
                    data.iter_mut().skip(9).step_by(16).for_each(|b| *b &= 0x0f);
                }
                t.write_level(level, layer, &data).unwrap();
                assert_eq!(t.read_level(level, layer).unwrap(), data);
            }
        }
        let (view, plain) = (sampled(&t), sampled(&unpacked(&t, format)));
        for mode in [
            AddressMode::ClampToEdge,
            AddressMode::Repeat,
            AddressMode::ClampToBorder,
        ] {
            for s in [linear(), SamplerDescriptor::default()] {
                let s = sampler(SamplerDescriptor {
                    address: [mode; 3],
                    ..s
                });
                let op = SampleOp {
                    array: true,
                    lod: Lod::Level,
                    ..OP
                };
                let float = |rng: &mut Rng, a: f32, b: f32| [0; 8].map(|_| rng.range(a, b).to_bits());
                let args = [
                    float(&mut rng, -1.5, 2.5),
                    float(&mut rng, -1.5, 2.5),
                    [0; 8].map(|_| rng.below(2)),
                    float(&mut rng, -1.0, 4.0),
                ];
                let got = call(&view, Some(&s), op.encode(), &args);
                assert_eq!(got, call(&plain, Some(&s), op.encode(), &args), "{format} {mode:?}");
            }
        }
    }
}

/// Copies cover whole blocks, but for the edge of a level.
#[test]
fn r_samp_130_copies_are_of_whole_blocks() {
    let mut d = TextureDescriptor::new_2d(TextureFormat::Bc1RgbaUnorm, 12, 8);
    d.levels = 3;
    let t = Texture::new(&d, &budget()).unwrap();
    let write = |level, origin: [u32; 2], size: [u32; 2]| {
        let region = crate::texture::CopyRegion {
            aspect: Default::default(),
            level,
            origin: [origin[0], origin[1], 0],
            size: [size[0], size[1], 1],
        };
        t.write(&region, &[1; 64], 24, 2)
    };
    assert!(write(0, [4, 4], [8, 4]).is_ok());
    assert!(write(0, [2, 4], [4, 4]).is_err());
    assert!(write(0, [4, 4], [6, 4]).is_err());
    assert!(write(1, [4, 0], [2, 4]).is_ok(), "level 1 is 6x4");
    assert!(write(2, [0, 0], [3, 2]).is_ok());
    assert!(t.generate_mips().is_err());
    let odd = TextureDescriptor::new_2d(TextureFormat::Bc1RgbaUnorm, 6, 8);
    assert!(Texture::new(&odd, &budget()).is_err());
}

/// Stores convert to the format, stay inside and leave inactive lanes alone; loads see them.
#[test]
fn stores_are_loaded_again() {
    for format in [
        TextureFormat::Rgba8Unorm,
        TextureFormat::R32Uint,
        TextureFormat::Rgba16Float,
    ] {
        let mut d = TextureDescriptor::new_2d(format, 6, 5);
        d.depth_or_layers = 2;
        let t = Texture::new(&d, &budget()).unwrap();
        let view = StorageView::new(&TextureView::whole(&t).unwrap()).unwrap();
        let op = TexelOp {
            dim: Dim::D2,
            array: true,
            multisampled: false,
            mask: 15,
        };
        let values = [0.0f32, 0.25, 0.5, 1.0].map(|v| if format.info().is_integer() { 77 } else { v.to_bits() });
        let x = [0, 5, 6, 3, u32::MAX, 1, 2, 4];
        {
            let _guard = view.begin(&mut BTreeSet::new()).unwrap();
            assert!(sampled(&t).begin_read().is_err(), "no one reads meanwhile");
            let a = view.binding();
            let mut cells = [Cell([0; 8]); CALL_CELLS];
            cells[0] = Cell([u32::MAX, u32::MAX, u32::MAX, 0, u32::MAX, u32::MAX, u32::MAX, u32::MAX]);
            cells[1] = Cell(x);
            (cells[2], cells[3]) = (Cell([4; 8]), Cell([1, 1, 1, 1, 1, 1, 7, 1]));
            (0..4).for_each(|c| cells[4 + c] = Cell([values[c]; 8]));
            // SAFETY: the binding of a live view, its guard is held, the cells are ours.
            unsafe { a.store.unwrap()(&a, &Binding::NULL, op.encode(), cells.as_mut_ptr(), 8) };
        }
        let texels = t.read_level(0, 1).unwrap();
        let bytes = format.info().bytes as usize;
        let expected = crate::format::texel::pack(format, values, Default::default());
        for (i, texel) in texels.chunks(bytes).enumerate() {
            let stored = i / 6 == 4 && [0, 5, 1, 4].contains(&(i % 6));
            assert_eq!(texel == &expected[..bytes], stored, "{format} {i}");
        }
        assert!(t.read_level(0, 0).unwrap().iter().all(|b| *b == 0));
    }
    let srgb = Texture::new(
        &TextureDescriptor::new_2d(TextureFormat::Rgba8UnormSrgb, 4, 4),
        &budget(),
    )
    .unwrap();
    assert!(StorageView::new(&TextureView::whole(&srgb).unwrap()).is_err());
}
