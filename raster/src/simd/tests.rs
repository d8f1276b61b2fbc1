//! All levels do what [`super::portable`] says, bit for bit.

use super::portable::Portable;
use super::*;
use crate::texture::MemoryBudget;
use crate::texture::memory::TexelMemory;

/// Interesting numbers, then pseudo-random bits.
fn cases() -> Vec<[u32; 8]> {
    let mut all = vec![
        [0.0f32, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5].map(f32::to_bits),
        [
            f32::NAN,
            f32::INFINITY,
            f32::NEG_INFINITY,
            1e-40,
            3.0e9,
            -7.5,
            1e30,
            2e-39,
        ]
        .map(f32::to_bits),
        [0, 1, 2, 3, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff, 0xffff_8000],
    ];
    let mut seed = 1u32;
    all.extend((0..200).map(|_| {
        std::array::from_fn(|_| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            seed ^ seed >> 13
        })
    }));
    all
}

/// Every operation on a case, as bits; NaN results as one pattern.
fn run<S: Simd>(s: S, memory: &TexelMemory, a: &[u32; 8], b: &[u32; 8]) -> Vec<[u32; 8]> {
    s.call(|s| {
        let mut out = Vec::new();
        let (ia, ib) = (s.load_u32(a), s.load_u32(b));
        let (fa, fb) = (ia.as_f32(), ib.as_f32());
        let canon = |v: f32| if v.is_nan() { 0x7fc0_0000 } else { v.to_bits() };
        let small = ia & s.i32(0xffff);
        for f in [
            fa + fb,
            fa - fb,
            fa * fb,
            fa / fb,
            fa.min(fb),
            fa.max(fb),
            fa.abs(),
            fa.floor(),
            fa.trunc(),
            fa.sqrt(),
            fa.quad::<0>(),
            fa.quad::<3>(),
            ia.to_f32(),
            small.half_to_f32(),
            fa.lt(fb).select_f(fa, fb),
            ia.unsigned_to_f32(s.i32(0xffff), s.f32(65536.0)),
            fa.lerp(fb, s.f32(0.25), s.f32(0.0), s.f32(1.0), s.f32(f32::INFINITY)),
        ] {
            out.push(f.to_array().map(canon));
        }
        let fits = fa.abs().lt(s.f32(1e9)).select_f(fa, s.f32(0.5));
        for i in [
            ia + ib,
            ia - ib,
            ia * ib,
            ia & ib,
            ia | ib,
            ia ^ ib,
            !ia,
            ia.shl::<3>(),
            ia.shr::<5>(),
            ia.sar::<7>(),
            ia.min(ib),
            ia.max(ib),
            ia.eq(ib),
            ia.gt(ib),
            ia.madd16(ib),
            ia.mul_lo16(ib),
            ia.add16(ib),
            ia.halves(ib),
            ia.gt(ib).select(ia, ib),
            fa.lt(fb),
            fa.le(fb),
            fa.eq(fb),
            fa.ordered(),
            fa.bits(),
            fits.round_i32(),
            s.pick16(&std::array::from_fn(|i| i as i32 * 7), ia),
        ] {
            out.push(i.to_array().map(|v| v as u32));
        }
        // SAFETY: no one writes the memory.
        let words = |bytes| unsafe { AnyWords::texels(memory, bytes) };
        let near = ia & s.i32(63);
        for index in [ia, near] {
            let mut all = vec![
                s.gather8(words(1).of(), index),
                s.gather16(words(2).of(), index),
                s.gather32(words(4).of(), index),
            ];
            all.extend(s.gather64(words(8).of(), index));
            all.extend(s.gather128(words(16).of(), index));
            out.extend(all.into_iter().map(|v| v.to_array().map(|v| v as u32)));
        }
        out.push([ia.sign_bits(); 8]);
        out
    })
}

#[test]
fn levels_agree() {
    let memory = TexelMemory::new(1024, &MemoryBudget::new(1 << 20)).unwrap();
    for i in 0..1024 {
        // SAFETY: inside the memory, which no one else has.
        unsafe { memory.start().add(i).write((i * 37 % 256) as u8) };
    }
    #[cfg(target_arch = "x86_64")]
    if let Some(avx2) = avx2::Avx2::new() {
        let cases = cases();
        for (a, b) in cases.iter().zip(cases.iter().skip(1)) {
            assert_eq!(run(Portable, &memory, a, b), run(avx2, &memory, a, b), "{a:x?} {b:x?}");
        }
    }
    let lerp = |a: f32, b: f32, w: f32| {
        let v = |x| Portable.f32(x);
        v(a).lerp(v(b), v(w), v(0.0), v(1.0), v(f32::INFINITY)).to_array()[0]
    };
    assert_eq!(lerp(1.0, f32::NAN, 0.0), 1.0);
    assert_eq!(lerp(f32::INFINITY, 1.0, 0.5), f32::INFINITY);
    assert_eq!(lerp(-0.0, 5.0, 0.0).to_bits(), (-0.0f32).to_bits());
    assert_eq!(lerp(0.1, 0.1, 0.3), 0.1);
}
