//! Valid files of every kind that is read, small, made here.

use crate::fuzz;
use crate::make::{arrays, bytes, cubes, dx10, ktx2, volumes};
use image::{DynamicImage, ImageFormat, Rgb32FImage, RgbImage, RgbaImage};
use std::io::Cursor;

pub fn texture_files() -> Vec<Vec<u8>> {
    let zlib = miniz_oxide::deflate::compress_to_vec_zlib(&bytes(64, 8), 6);
    let mut files = vec![
        cubes(),
        dx10(),
        arrays(),
        volumes(),
        ktx2(37, [4, 4, 0], [0, 1, 3], &[(zlib, 64)]),
        ktx2(23, [2, 2, 0], [0, 1, 0], &[(bytes(12, 1), 12)]),
    ];
    // ETC2 and EAC, then ASTC of every block size, UNORM and SRGB.
    for format in 147..=184 {
        let n = 64;
        files.push(ktx2(format, [8, 8, 0], [0, 1, 0], &[(bytes(n, format as u8), n)]));
    }
    files
}

fn encoded(image: impl Into<DynamicImage>, format: ImageFormat) -> Vec<u8> {
    let mut out = Cursor::new(Vec::new());
    image.into().write_to(&mut out, format).expect("encodes");
    out.into_inner()
}

pub fn images() -> Vec<Vec<u8>> {
    let rgba = RgbaImage::from_raw(9, 7, bytes(9 * 7 * 4, 3)).expect("fits");
    let rgb = RgbImage::from_raw(16, 16, bytes(16 * 16 * 3, 5)).expect("fits");
    vec![
        encoded(rgba.clone(), ImageFormat::Png),
        encoded(rgb.clone(), ImageFormat::Png),
        encoded(rgb.clone(), ImageFormat::Jpeg),
        encoded(rgba, ImageFormat::WebP),
        encoded(rgb, ImageFormat::WebP),
    ]
}

pub fn environments() -> Vec<Vec<u8>> {
    let floats = bytes(16 * 8 * 3, 1).iter().map(|&b| f32::from(b) / 32.0).collect();
    let rgb = Rgb32FImage::from_raw(16, 8, floats).expect("fits");
    let mut all = vec![encoded(rgb, ImageFormat::Hdr)];
    use exr::prelude::*;
    for compression in [
        Compression::Uncompressed,
        Compression::RLE,
        Compression::ZIP16,
        Compression::PIZ,
        Compression::PXR24,
        Compression::B44,
    ] {
        let encoding = Encoding {
            compression,
            ..Encoding::default()
        };
        let channels = SpecificChannels::rgb(|at: Vec2<usize>| (at.x() as f32, 0.5f32, at.y() as f32));
        let layer = Layer::new((16, 8), LayerAttributes::named("light"), encoding, channels);
        let mut out = Cursor::new(Vec::new());
        Image::from_layer(layer)
            .write()
            .non_parallel()
            .to_buffered(&mut out)
            .expect("encodes");
        all.push(out.into_inner());
    }
    all
}

pub fn models() -> Vec<Vec<u8>> {
    let mut all: Vec<Vec<u8>> = images().iter().take(2).map(|i| fuzz::model_of(i)).collect();
    all.extend(texture_files().iter().skip(4).step_by(5).map(|f| fuzz::model_of(f)));
    all.push(
        br#"{"asset":{"version":"2.0"},"extensionsUsed":["KHR_lights_punctual"],"scene":0,"scenes":[{"nodes":[0,1]}],
        "nodes":[{"children":[2],"rotation":[0,0.5,0,0.8],"camera":0},{"mesh":0,"matrix":[1,0,0,0,0,1,0,0,0,0,1,0,0,0,0,1]},
        {"extensions":{"KHR_lights_punctual":{"light":0}},"translation":[0,1,2],"scale":[1,2,3]}],
        "extensions":{"KHR_lights_punctual":{"lights":[{"type":"spot","intensity":3,"range":5,"spot":{"innerConeAngle":0.1}}]}},
        "cameras":[{"type":"perspective","perspective":{"yfov":0.8,"znear":0.1,"zfar":10}}],
        "meshes":[{"primitives":[{"attributes":{"POSITION":0,"COLOR_0":1},"indices":2,"mode":5}]}],
        "accessors":[{"bufferView":0,"componentType":5126,"type":"VEC3","count":3,"min":[0,0,0],"max":[1,1,0],
        "sparse":{"count":1,"indices":{"bufferView":1,"componentType":5121},"values":{"bufferView":0,"byteOffset":12}}},
        {"bufferView":0,"componentType":5121,"normalized":true,"type":"VEC4","count":3},
        {"bufferView":1,"componentType":5121,"type":"SCALAR","count":3}],
        "bufferViews":[{"buffer":0,"byteLength":36,"byteStride":12},{"buffer":0,"byteOffset":36,"byteLength":4}],
        "buffers":[{"byteLength":40,"uri":"data:;base64,AAAAAAAAAAAAAAAAAACAPwAAAAAAAAAAAAAAAAAAgD8AAAAAAAECAA=="}]}"#
            .to_vec(),
    );
    all
}

pub fn jobs() -> Vec<Vec<u8>> {
    let files = [
        include_bytes!("../conformance/immediates-and-indirect.json").as_slice(),
        include_bytes!("../conformance/queries.json"),
        include_bytes!("../conformance/resolve.json"),
        include_bytes!("../conformance/stencil.json"),
    ];
    files.map(<[u8]>::to_vec).to_vec()
}
