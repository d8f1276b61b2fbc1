//! Worked values of the rules, and agreement with an unrelated decoder on random blocks.

use super::*;
use TextureFormat::*;

fn texels<const N: usize>(format: TextureFormat, block: &[u8]) -> Vec<[u8; N]> {
    let mut out = vec![[0; N]; 16];
    decode(format, block, |i, bytes| out[i].copy_from_slice(bytes));
    out
}

fn codes(format: TextureFormat, block: &[u8]) -> Vec<[u16; 4]> {
    let code = |b: &[u8; 8], c: usize| u16::from_le_bytes([b[2 * c], b[2 * c + 1]]);
    texels::<8>(format, block)
        .iter()
        .map(|b| [0, 1, 2, 3].map(|c| code(b, c)))
        .collect()
}

/// Blocks of random bytes, the same on every run.
fn random(seed: u64) -> impl FnMut() -> [u8; 16] {
    let mut state = seed;
    move || {
        let mut out = [0; 16];
        for b in &mut out {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            *b = (state >> 56) as u8;
        }
        out
    }
}

/// R-SAMP-133: the worked blocks of BC1.
#[test]
fn r_samp_133_worked_blocks() {
    let red = [65535, 0, 0, 65535];
    let blue = [0, 0, 65535, 65535];
    let four = codes(Bc1RgbaUnorm, &[0x00, 0xf8, 0x1f, 0x00, 0xe4, 0xe4, 0xe4, 0xe4]);
    assert_eq!(
        four[..4],
        [red, blue, [43690, 0, 21845, 65535], [21845, 0, 43690, 65535]]
    );
    let three = codes(Bc1RgbaUnorm, &[0x1f, 0x00, 0x00, 0xf8, 0xe4, 0xe4, 0xe4, 0xe4]);
    assert_eq!(three[..4], [blue, red, [32768, 0, 32768, 65535], [0; 4]]);
    let equal = codes(Bc1RgbaUnorm, &[0xef, 0x7b, 0xef, 0x7b, 0xff, 0xff, 0xff, 0xff]);
    assert!(equal.iter().all(|t| *t == [0; 4]));
    // The same colours in linear light: 2/3 and 1/3 of the code.
    let srgb = codes(Bc1RgbaUnormSrgb, &[0x00, 0xf8, 0x1f, 0x00, 0xe4, 0xe4, 0xe4, 0xe4]);
    let linear = |c: f64| libm::round(libm::pow((c + 0.055) / 1.055, 2.4) * 65535.0) as u16;
    assert_eq!(srgb[2], [linear(2.0 / 3.0), 0, linear(1.0 / 3.0), 65535]);
}

/// R-SAMP-134, 136: BC2's alpha, BC4's ramps, signed and not.
#[test]
fn r_samp_134_136_ramps() {
    let alpha: [u8; 8] = [0x10, 0x32, 0x54, 0x76, 0x98, 0xba, 0xdc, 0xfe];
    let block = [&alpha[..], &[0x1f, 0, 0, 0xf8, 0xe4, 0xe4, 0xe4, 0xe4]].concat();
    let texels2 = codes(Bc2RgbaUnorm, &block);
    for (i, t) in texels2.iter().enumerate() {
        assert_eq!(t[3], i as u16 * 4369);
    }
    assert_eq!(texels2[3][0], 43690, "always four colours");
    // Codes 0 to 7, twice.
    let ramp = |a: u8, b: u8| {
        let bits = (0..16).fold(u64::from(a) | u64::from(b) << 8, |w, t| w | (t % 8) << (16 + 3 * t));
        bits.to_le_bytes()
    };
    let unorm: Vec<u16> = texels::<2>(Bc4RUnorm, &ramp(255, 0))
        .iter()
        .map(|b| u16::from_le_bytes(*b))
        .collect();
    let sevenths = |k: u32| ((k * 65535 * 2 + 7) / 14) as u16;
    assert_eq!(
        unorm[..8],
        [
            65535,
            0,
            sevenths(6),
            sevenths(5),
            sevenths(4),
            sevenths(3),
            sevenths(2),
            sevenths(1)
        ]
    );
    let unorm: Vec<u16> = texels::<2>(Bc4RUnorm, &ramp(0, 255))
        .iter()
        .map(|b| u16::from_le_bytes(*b))
        .collect();
    assert_eq!(unorm[..8], [0, 65535, 13107, 26214, 39321, 52428, 0, 65535]);
    let snorm: Vec<f32> = texels::<4>(Bc4RSnorm, &ramp(0x80, 0x7f))
        .iter()
        .map(|b| f32::from_le_bytes(*b))
        .collect();
    for (got, want) in snorm.iter().zip([-1.0, 1.0, -0.6, -0.2, 0.2, 0.6, -1.0, 1.0]) {
        assert!((got - want).abs() < 1e-7, "{got} {want}");
    }
    let both = [ramp(255, 0), ramp(0, 255)].concat();
    assert_eq!(
        texels::<4>(Bc5RgUnorm, &both)[2],
        [unorm7(6).to_le_bytes(), 13107u16.to_le_bytes()].concat()[..]
    );
}

fn unorm7(k: u32) -> u16 {
    ((k * 65535 * 2 + 7) / 14) as u16
}

fn hash(words: impl Iterator<Item = u32>) -> u32 {
    words.fold(0u32, |h, w| h.wrapping_mul(31).wrapping_add(w))
}

/// R-SAMP-140 to 145: every mode, hashed from the specification's own decoder.
#[test]
fn r_samp_140_every_mode() {
    for (block, expected) in BC7 {
        let got = texels::<4>(Bc7RgbaUnorm, &block.to_le_bytes());
        assert_eq!(
            hash(got.as_flattened().iter().map(|&b| b.into())),
            *expected,
            "{block:032x}"
        );
    }
    assert!(texels::<4>(Bc7RgbaUnorm, &[0; 16]).iter().all(|t| *t == [0; 4]));
}

/// R-SAMP-150 to 155: every layout, signed and not.
#[test]
fn r_samp_150_every_layout() {
    for (block, signed, expected) in BC6H {
        let format = if *signed { Bc6hRgbFloat } else { Bc6hRgbUfloat };
        let got = codes(format, &block.to_le_bytes());
        assert_eq!(
            hash(got.iter().flat_map(|t| t[..3].iter().map(|&c| c.into()))),
            *expected,
            "{block:032x}"
        );
        assert!(got.iter().all(|t| t[3] == 0x3c00));
    }
    for reserved in [19, 23, 27, 31u8] {
        let mut block = [0xff; 16];
        block[0] = reserved | 0xe0;
        assert!(codes(Bc6hRgbUfloat, &block).iter().all(|t| *t == [0, 0, 0, 0x3c00]));
    }
}

/// An unrelated decoder: BC7 and BC6H to the bit, BC1 to BC5 within its rounding to 8 bits.
#[test]
fn another_decoder_agrees() {
    let mut block = random(7);
    for i in 0..4000 {
        let mut b = block();
        let mut rgba = [0; 64];
        // Modes are rare in random bits.
        b[0] = (b[0] | 1) << (i % 8);
        bcdec_rs::bc7(&b, &mut rgba, 16);
        assert_eq!(texels::<4>(Bc7RgbaUnorm, &b).as_flattened(), rgba, "{b:02x?}");
        b = block();
        for signed in [false, true] {
            let mut half = [0u16; 48];
            bcdec_rs::bc6h_half(&b, &mut half, 12, signed);
            let format = if signed { Bc6hRgbFloat } else { Bc6hRgbUfloat };
            let ours: Vec<u16> = codes(format, &b).iter().flat_map(|t| [t[0], t[1], t[2]]).collect();
            assert_eq!(ours, half, "{b:02x?} {signed}");
        }
        for (format, theirs) in [
            (Bc1RgbaUnorm, bcdec_rs::bc1 as fn(&[u8], &mut [u8], usize)),
            (Bc2RgbaUnorm, bcdec_rs::bc2),
            (Bc3RgbaUnorm, bcdec_rs::bc3),
        ] {
            theirs(&b, &mut rgba, 16);
            for (ours, theirs) in codes(format, &b).as_flattened().iter().zip(rgba) {
                let theirs = i32::from(theirs) * 257;
                assert!((i32::from(*ours) - theirs).abs() <= 257, "{format} {ours} {theirs}");
            }
        }
    }
}

#[rustfmt::skip]
const BC7: &[(u128, u32)] = &[
    (0x9974d75b333824fe61790134676b1b69, 0x2b12a08b),
    (0x221c4e003f9931ee3af27f802dc5fd3d, 0x88614cbb),
    (0xbaa1c6f1404b6eaf162a01dec28753f9, 0xfbbb26d0),
    (0xb35331ceaf2ed9dd87e355b26210b786, 0x1432291c),
    (0x9fb932d4f039772216ff82e389e3995a, 0x2140045e),
    (0xb8e3c71f6bf08d62331057ca7d411faa, 0x4da2463e),
    (0xcae8c077377925b396a1da2c9cfbba44, 0x365609e7),
    (0xd283eb3a5fbd238ec9cf158de6e96d44, 0x481f9729),
    (0x366c5acdaeafb905dc8ac0bb635b4c44, 0xacedbf49),
    (0x2dd301c8a91afa5c7623c4dd26fb9848, 0xd442c8e1),
    (0x153d3a3f56bc09cb91215785d9977338, 0x8c78f32b),
    (0xad689cf88759f153b7785728f2655b18, 0x40ff206a),
    (0x50fe32817812f170167a34d0c643e650, 0x738c6da5),
    (0x8ed5f03644f758cd0aeb34f967124890, 0x1e0946fc),
    (0x5ccedc773429e79c6cda4ccb01f35ef0, 0xce23ece1),
    (0x14b062ae88c88ad1eee1f220fd547520, 0xe0b47cb3),
    (0x32b55d35e67646f184c69290764b5020, 0x47594c9e),
    (0x0d2329d9fa09ca46767389669b02a560, 0x2a8629f7),
    (0xf3d2273a37403227210f4d0c5b86c0c0, 0xf98c7759),
    (0xbf5cb443292af8f3b713b4c7ebb73440, 0x9e991d64),
    (0xecc2c55e986d484271143591cab5f7c0, 0x0e96b9e9),
    (0x80d16aaff1a41fe52d78dc4bfb9e8d80, 0x2359cc5b),
    (0x1c1b5b32097ce80c2d0fd6d9a9096580, 0xce8d4499),
    (0xaf11c1e779462a342bd2ed1c05f73d80, 0x09212f89),
];

#[rustfmt::skip]
const BC6H: &[(u128, bool, u32)] = &[
    (0xefca6c3a14c6e95e6b451936d1d5c42c, false, 0x48a1cfd9),
    (0x2495da1716055583a1cbb7236ce85718, true, 0x559c3def),
    (0x618d3f430173745f9e0d54254f4f81b1, false, 0x391a3316),
    (0x67c3b9fe85fdadc422c4d84f54671159, true, 0x5ff0c075),
    (0xf94cf6b0c986fa9fe664718333674322, false, 0x4ee9d420),
    (0x7166a9f536209dbca3f3760f0e2eb022, true, 0xeb1b248b),
    (0xd33bf8206770fa788ba3fb8041f089c6, false, 0x09b7aeea),
    (0xf0fc795a5a9331f620588857c3881086, true, 0xf43e4797),
    (0x0e4a1175ec15426979e48824b1eb72ca, false, 0x31475063),
    (0xb7e6ace5dd2a7afebd11e14f21846d8a, true, 0xcad10e81),
    (0x26833ccabf49e557c768beaf9983d80e, false, 0x6f64732e),
    (0x1fd6833568865042f0f404719ba8272e, true, 0x1dfdef9f),
    (0x4bc4f0a024c70f481e64176618b32052, false, 0xce377c12),
    (0x68ed8a232d7a2d12fdba24d02c941db2, true, 0x3b0bff45),
    (0xe163e7ce3523eb0dec9409ff25403cf6, false, 0x7b80b97d),
    (0x7fc73719c543e39651b0f6188f9b7356, true, 0x2da22fd2),
    (0x41f1fc30d89bacfa3be14460cc47795a, false, 0xb66365c4),
    (0x5c988a90d2856dcbdb9d1cca1e01b05a, true, 0xc4e53e13),
    (0x8050cbb812881d4eada6af532f9a8bde, false, 0x53a37008),
    (0xd5223ad895eff22502daa0b349a7a4be, true, 0x46f0a40b),
    (0x608162c33760e399566223050c349a23, false, 0x52b8b0d0),
    (0xcff79c40d286a6a75635823a662b78e3, true, 0xe4658b5a),
    (0xd04de5aa6a002d6562ccf670663fbde7, false, 0x5001d6f7),
    (0x2e64ca6e17b8d92888cc55935ef852e7, true, 0xde989a16),
    (0x5f7ca3c8ec4c1908099fa987e12b646b, false, 0xab9592ac),
    (0xc55490dd660954fedb6d9f3eb8beb5eb, true, 0xd2b1ea5c),
    (0xda845a334fb923ce3aef078671a8440f, false, 0xca9e1d81),
    (0xb84fbdd9a742d71339de23c8a782700f, true, 0x23128ec2),
];
