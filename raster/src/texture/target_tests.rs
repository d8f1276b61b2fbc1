//! Tests of [`super::target`]: every format through tile memory and back, edges, clears, resolves, threads.

use super::*;
use crate::format::{Aspect, PlaneWords, TextureFormat};
use quadrille_jit::abi::Cell;
use std::sync::Arc;

fn texture(format: TextureFormat, w: u32, h: u32, samples: u32) -> Arc<Texture> {
    let d = TextureDescriptor {
        samples,
        ..TextureDescriptor::new_2d(format, w, h)
    };
    Texture::new(&d, &MemoryBudget::new(1 << 26)).unwrap()
}

fn target(t: &Arc<Texture>, tile: u32) -> Target {
    Target::new(&TextureView::whole(t).unwrap(), Aspect::All, tile, Access::ReadWrite, 0).unwrap()
}

/// Pair and lane of a pixel of a tile, from the definition in the ABI.
fn locate(tile: u32, x: u32, y: u32) -> (usize, usize) {
    let block = (y / 8) * (tile / 8) + x / 8;
    let pair = block * 8 + (y % 8 / 2) * 2 + x % 8 / 4;
    let lane = (x % 4 / 2) * 4 + (y % 2) * 2 + x % 2;
    (pair as usize, lane as usize)
}

fn planes(format: TextureFormat, tile: u32, samples: usize) -> (PlaneSet, Vec<Cell>) {
    let set = PlaneSet {
        first: 1,
        plane_step: 1,
        sample_step: 4,
        cells: (tile * tile / 8) as usize,
    };
    let _ = format;
    (set, vec![Cell::default(); (1 + 4 * samples) * set.cells])
}

#[test]
fn every_renderable_format_survives_tile_memory() {
    for &format in TextureFormat::ALL
        .iter()
        .filter(|f| f.info().renderable && f.storage().len() == 1)
    {
        let t = texture(format, 45, 37, 1);
        let bytes = format.info().bytes as usize;
        let mut seed = 7u32;
        let mut data: Vec<u8> = (0..45 * 37 * bytes)
            .map(|_| {
                seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                // Never a half or single NaN, whose payloads may change.
                (seed >> 24) as u8 & 0x7b
            })
            .collect();
        if format == TextureFormat::Depth24Plus {
            data.iter_mut().skip(3).step_by(4).for_each(|b| *b = 0);
        }
        t.write_level(0, 0, &data).unwrap();
        let (set, mut memory) = planes(format, 32, 1);
        let other = texture(format, 45, 37, 1);
        let (from, to) = (target(&t, 32), target(&other, 32));
        assert_eq!(from.tiles(), (2, 2));
        for ty in 0..2 {
            for tx in 0..2 {
                from.tile(tx, ty).unwrap().load(&mut memory, set);
                to.tile(tx, ty).unwrap().store(&memory, set);
                // A pixel's plane words are those of its texel.
                let (x, y) = (tx * 32 + 9, ty * 32 + 3);
                if x < 45 && y < 37 {
                    let at = (y * 45 + x) as usize * bytes;
                    let mut texel = [0; 16];
                    texel[..bytes].copy_from_slice(&data[at..at + bytes]);
                    let words = PlaneWords::from_texel(format, &texel);
                    let (pair, lane) = locate(32, 9, 3);
                    for p in 0..words.count {
                        assert_eq!(memory[set.range(0, p)][pair].0[lane], words.words[p], "{format}");
                    }
                }
            }
        }
        drop((from, to));
        assert_eq!(other.read_level(0, 0).unwrap(), data, "{format}");
    }
}

#[test]
fn fills_equal_cleared_tile_memory() {
    for format in [
        TextureFormat::R8Unorm,
        TextureFormat::Rgba8UnormSrgb,
        TextureFormat::Rgba16Float,
    ] {
        let words = PlaneWords::clear(format, [0.25, 0.5, 0.75, 1.0]);
        let (a, b) = (texture(format, 20, 20, 1), texture(format, 20, 20, 1));
        let (set, mut memory) = planes(format, 16, 1);
        set.clear(&mut memory, &words, 1);
        let (ta, tb) = (target(&a, 16), target(&b, 16));
        ta.tile(0, 0).unwrap().fill(&words);
        tb.tile(0, 0).unwrap().store(&memory, set);
        drop((ta, tb));
        let (a, b) = (a.read_level(0, 0).unwrap(), b.read_level(0, 0).unwrap());
        assert_eq!(a, b);
        let bytes = format.info().bytes as usize;
        assert_eq!(a[..bytes], words.to_texel(format)[..bytes]);
        assert!(
            a[16 * bytes..20 * bytes].iter().all(|&b| b == 0),
            "the next tile is untouched"
        );
    }
}

/// R-OM-73's values and more.
#[test]
fn resolves_average() {
    let resolve = |format: TextureFormat, samples: [[u32; 4]; 4]| {
        let t = texture(format, 4, 4, 1);
        let (set, mut memory) = planes(format, 16, 4);
        for (s, words) in samples.iter().enumerate() {
            for (p, &w) in words.iter().enumerate().take(format.plane_kind().planes()) {
                memory[set.range(s, p)].fill(Cell([w; 8]));
            }
        }
        let tg = target(&t, 16);
        tg.tile(0, 0).unwrap().resolve(&memory, set, 4, ResolveMode::Average);
        drop(tg);
        t.read_level(0, 0).unwrap()[..format.info().bytes as usize].to_vec()
    };
    let one = |w: [u32; 4]| w.map(|w| [w, 0, 0, 0]);
    let white = 0xffff_ffff;
    assert_eq!(resolve(TextureFormat::Rgba8Unorm, one([0, 0, white, white])), [128; 4]);
    assert_eq!(resolve(TextureFormat::R8Unorm, one([0, 0, 255, 255])), [128]);
    assert_eq!(
        resolve(TextureFormat::Rgba8UnormSrgb, one([0, 0, white, white])),
        [188, 188, 188, 128]
    );
    assert_eq!(resolve(TextureFormat::R8Uint, one([3, 0, 255, 255])), [3]);
    assert_eq!(
        resolve(TextureFormat::Rgb10a2Unorm, one([0, 0, white, white])),
        0xa008_0200u32.to_le_bytes()
    );
    let f = |v: [f32; 4]| one(v.map(f32::to_bits));
    assert_eq!(
        resolve(TextureFormat::R32Float, f([1.0, 2.0, 3.0, 4.0])),
        2.5f32.to_le_bytes()
    );
    assert_eq!(resolve(TextureFormat::R16Float, f([1.0, 2.0, 3.0, 4.0])), [0x00, 0x41]);
    let nan = resolve(TextureFormat::R32Float, f([1.0, f32::NAN, 3.0, 4.0]));
    assert_eq!(nan, 0x7fc0_0000u32.to_le_bytes());
    let short = [1, 2, 3, 4].map(|w| [w, 0, 0, 65535]);
    assert_eq!(resolve(TextureFormat::Rgba16Unorm, short), [3, 0, 0, 0, 0, 0, 255, 255]);
}

#[test]
fn multisampled_targets_keep_every_sample() {
    let t = texture(TextureFormat::Rgba8Unorm, 16, 16, 4);
    let (set, mut memory) = planes(t.format(), 16, 4);
    for s in 0..4 {
        memory[set.range(s, 0)].fill(Cell([s as u32 + 1; 8]));
    }
    target(&t, 16).tile(0, 0).unwrap().store(&memory, set);
    let mut back = vec![Cell::default(); memory.len()];
    target(&t, 16).tile(0, 0).unwrap().load(&mut back, set);
    for s in 0..4 {
        assert_eq!(memory[set.range(s, 0)], back[set.range(s, 0)]);
    }
}

#[test]
fn targets_are_exclusive_and_read_only_ones_share() {
    let t = texture(TextureFormat::Depth32Float, 16, 16, 1);
    let view = TextureView::whole(&t).unwrap();
    let make = |access| Target::new(&view, Aspect::Depth, 16, access, 0);
    let a = make(Access::ReadOnly).unwrap();
    let b = make(Access::ReadOnly).unwrap();
    assert!(matches!(make(Access::ReadWrite), Err(TextureError::Busy { .. })));
    b.tile(0, 0)
        .unwrap()
        .fill(&PlaneWords::clear(TextureFormat::Depth32Float, [1.0; 4]));
    drop((a, b));
    assert_eq!(
        t.read_level(0, 0).unwrap(),
        vec![0; 1024],
        "a read-only target ignores stores"
    );
    let _w = make(Access::ReadWrite).unwrap();
    assert!(matches!(
        t.read_level(0, 0),
        Err(TextureError::Busy { wanted: "read", .. })
    ));
}

#[test]
fn threads_write_disjoint_tiles() {
    let t = texture(TextureFormat::R32Uint, 100, 100, 1);
    let tg = target(&t, 32);
    std::thread::scope(|scope| {
        for worker in 0..4 {
            let tg = &tg;
            scope.spawn(move || {
                for i in (worker..16).step_by(4) {
                    let words = PlaneWords {
                        words: [i + 1, 0, 0, 0],
                        count: 1,
                    };
                    tg.tile(i % 4, i / 4).unwrap().fill(&words);
                }
            });
        }
    });
    drop(tg);
    let data = t.read_level(0, 0).unwrap();
    for y in 0..100u32 {
        for x in 0..100u32 {
            assert_eq!(u32::from(data[((y * 100 + x) * 4) as usize]), (y / 32) * 4 + x / 32 + 1);
        }
    }
}
