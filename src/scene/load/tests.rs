//! The loader on small files made here: every topology and component type, and every way to be malformed that comes to mind.

use serde_json::{Value, json};

use super::*;
use crate::scene::math::{self, Mat4};
use crate::scene::model::{AlphaMode, Lens, LightKind, MipFilter, Scene, Texels, Topology, Wrap};

/// A GLB from JSON and a binary chunk; `buffers` is filled in.
fn glb(mut json: Value, bin: &[u8]) -> Vec<u8> {
    json["asset"] = json!({ "version": "2.0" });
    json["buffers"] = json!([{ "byteLength": bin.len() }]);
    let mut text = json.to_string().into_bytes();
    text.resize(text.len().next_multiple_of(4), b' ');
    let mut bin = bin.to_vec();
    bin.resize(bin.len().next_multiple_of(4), 0);
    let mut out = b"glTF\x02\0\0\0".to_vec();
    out.extend(((12 + 8 + text.len() + 8 + bin.len()) as u32).to_le_bytes());
    for (kind, data) in [(b"JSON", &text), (b"BIN\0", &bin)] {
        out.extend((data.len() as u32).to_le_bytes());
        out.extend(kind);
        out.extend(data);
    }
    out
}

fn try_parse(bytes: &[u8]) -> Result<Scene, String> {
    let options = LoadOptions {
        threads: 2,
        memory_limit: 1 << 20,
        ..LoadOptions::default()
    };
    parse(Path::new("dir/test.glb"), bytes, &options).map_err(|e| e.to_string())
}

fn floats(v: &[f32]) -> Vec<u8> {
    v.iter().flat_map(|f| f.to_le_bytes()).collect()
}

/// Four corners of a unit square, then the bytes of `extra`.
fn square(extra: &[u8]) -> Vec<u8> {
    let mut bin = floats(&[0., 0., 0., 1., 0., 0., 1., 1., 0., 0., 1., 0.]);
    bin.extend(extra);
    bin
}

/// One node showing one primitive of the square.
fn base(primitive: Value) -> Value {
    json!({
        "scene": 0, "scenes": [{ "nodes": [0] }], "nodes": [{ "mesh": 0 }],
        "meshes": [{ "primitives": [primitive] }],
        "bufferViews": [{ "buffer": 0, "byteLength": 48 }],
        "accessors": [{ "bufferView": 0, "componentType": 5126, "type": "VEC3", "count": 4,
                        "min": [0, 0, 0], "max": [1, 1, 0] }],
    })
}

/// Puts `value` where the JSON pointer says, making the last key.
fn with(mut json: Value, at: &str, value: Value) -> Value {
    let (parent, key) = at.rsplit_once('/').unwrap();
    match json.pointer_mut(parent).unwrap_or_else(|| panic!("{at}")) {
        Value::Array(a) if key == "-" => a.push(value),
        Value::Array(a) => a[key.parse::<usize>().unwrap()] = value,
        object => object[key] = value,
    }
    json
}

#[test]
fn all_topologies_with_and_without_indices() {
    let expect: [(u32, Topology, &[u32]); 7] = [
        (0, Topology::Points, &[0, 1, 2, 3]),
        (1, Topology::Lines, &[0, 1, 2, 3]),
        (2, Topology::Lines, &[0, 1, 1, 2, 2, 3, 3, 0]),
        (3, Topology::Lines, &[0, 1, 1, 2, 2, 3]),
        (4, Topology::Triangles, &[0, 1, 2]),
        (5, Topology::Triangles, &[0, 1, 2, 1, 3, 2]),
        (6, Topology::Triangles, &[1, 2, 0, 2, 3, 0]),
    ];
    for (mode, topology, list) in expect {
        let plain = base(json!({ "attributes": { "POSITION": 0 }, "mode": mode }));
        let scene = try_parse(&glb(plain.clone(), &square(&[]))).unwrap();
        let p = &scene.meshes[0].primitives[0];
        assert_eq!(p.topology, topology);
        assert_eq!(scene.bounds.unwrap().max, [1.0, 1.0, 0.0]);
        if topology == Topology::Triangles {
            // No NORMAL: flat shading splits the vertices.
            assert_eq!(p.indices, (0..list.len() as u32).collect::<Vec<_>>());
            assert_eq!(p.positions.len(), list.len());
            assert!(
                p.normals
                    .as_ref()
                    .unwrap()
                    .iter()
                    .all(|n| n.map(f32::abs) == [0.0, 0.0, 1.0])
            );
            assert_eq!(scene.triangle_count(), list.len() as u64 / 3);
        } else {
            assert_eq!(p.indices, list);
            assert!(p.normals.is_none());
            assert_eq!(scene.triangle_count(), 0);
        }
        // Indices of all three widths, naming the corners backwards.
        for (component, width) in [(5121u32, 1usize), (5123, 2), (5125, 4)] {
            let bytes: Vec<u8> = [3u32, 2, 1, 0]
                .iter()
                .flat_map(|i| i.to_le_bytes()[..width].to_vec())
                .collect();
            let json = with(plain.clone(), "/meshes/0/primitives/0/indices", json!(1));
            let json = with(
                json,
                "/bufferViews/-",
                json!({ "buffer": 0, "byteOffset": 48, "byteLength": 4 * width }),
            );
            let view = json!({ "bufferView": 1, "componentType": component, "type": "SCALAR", "count": 4 });
            let scene = try_parse(&glb(with(json, "/accessors/-", view), &square(&bytes))).unwrap();
            let p = &scene.meshes[0].primitives[0];
            if topology != Topology::Triangles {
                assert_eq!(p.indices, list.iter().map(|i| 3 - i).collect::<Vec<_>>());
            } else {
                assert_eq!(
                    p.positions[0],
                    [[0.0, 1.0, 0.0], [1.0, 1.0, 0.0]][usize::from(mode == 6)]
                );
            }
        }
    }
}

#[test]
fn all_component_types_become_floats() {
    // (componentType, normalized, bytes of one component, value)
    let cases: [(u32, bool, &[u8], f32); 10] = [
        (5120, false, &[0x81], -127.0),
        (5120, true, &[0x80], -1.0),
        (5121, false, &[200], 200.0),
        (5121, true, &[51], 0.2),
        (5122, false, &[0x01, 0x80], -32767.0),
        (5122, true, &[0x00, 0x80], -1.0),
        (5123, false, &[0x00, 0x01], 256.0),
        (5123, true, &[0xff, 0xff], 1.0),
        (5125, false, &[1, 0, 1, 0], 65537.0),
        (5126, false, &[0, 0, 0x20, 0xc1], -10.0),
    ];
    for (component, normalized, bytes, value) in cases {
        // VEC3 colours, so that the alpha that isn't there is 1; each element padded to a stride of 16.
        let mut extra = Vec::new();
        for _ in 0..4 {
            let start = extra.len();
            (0..3).for_each(|_| extra.extend(bytes));
            extra.resize(start + 16, 0xee);
        }
        let json = base(json!({ "attributes": { "POSITION": 0, "COLOR_0": 1 }, "mode": 0 }));
        let view = json!({ "buffer": 0, "byteOffset": 48, "byteLength": 64, "byteStride": 16 });
        let json = with(json, "/bufferViews/-", view);
        let accessor = json!({ "bufferView": 1, "componentType": component, "normalized": normalized,
                               "type": "VEC3", "count": 4 });
        let scene = try_parse(&glb(with(json, "/accessors/-", accessor), &square(&extra))).unwrap();
        let colors = scene.meshes[0].primitives[0].colors.as_ref().unwrap();
        assert_eq!(
            *colors,
            vec![[value, value, value, 1.0]; 4],
            "component type {component}"
        );
    }
}

#[test]
fn sparse_accessors() {
    // Zeros, but element 2 is (5, 6, 7).
    let mut extra = vec![2, 0, 0, 0];
    extra.extend(floats(&[5.0, 6.0, 7.0]));
    let mut json = base(json!({ "attributes": { "POSITION": 0 }, "mode": 0 }));
    json["bufferViews"] = json!([{ "buffer": 0, "byteLength": 4, "byteOffset": 48 },
                                 { "buffer": 0, "byteLength": 12, "byteOffset": 52 }]);
    json["accessors"] = json!([{ "componentType": 5126, "type": "VEC3", "count": 4, "sparse": {
        "count": 1, "indices": { "bufferView": 0, "componentType": 5121 }, "values": { "bufferView": 1 } } }]);
    let scene = try_parse(&glb(json.clone(), &square(&extra))).unwrap();
    let zero = [0.0; 3];
    assert_eq!(
        scene.meshes[0].primitives[0].positions,
        [zero, zero, [5.0, 6.0, 7.0], zero]
    );
    extra[0] = 4;
    assert!(
        try_parse(&glb(json.clone(), &square(&extra)))
            .unwrap_err()
            .contains("sparse indices")
    );
    // Zeros that no byte of the file pays for are held against the limit before they are allocated.
    let huge = with(json, "/accessors/0/count", json!(4_000_000_000u64));
    assert!(try_parse(&glb(huge, &square(&extra))).unwrap_err().contains("limit"));
}

#[test]
fn hierarchy_lights_and_cameras() {
    let mut json = base(json!({ "attributes": { "POSITION": 0 } }));
    json["scenes"] = json!([{ "nodes": [9] }, { "nodes": [0, 1] }]);
    json["scenes"][0]["nodes"] = json!([1]);
    json["scene"] = json!(1);
    json["nodes"] = json!([
        { "name": "root", "translation": [1, 2, 3], "children": [2, 3] },
        { "name": "eye", "camera": 0, "scale": [3, 3, 3], "rotation": [0, 1, 0, 0] },
        { "mesh": 0, "scale": [2, 2, 2] },
        { "name": "lamp", "matrix": [1, 0, 0, 0, 0, 0, -1, 0, 0, 1, 0, 0, 0, 5, 0, 1],
          "extensions": { "KHR_lights_punctual": { "light": 0 } } },
        { "name": "unreached", "mesh": 0 },
    ]);
    json["extensionsUsed"] = json!(["KHR_lights_punctual", "KHR_materials_sheen"]);
    json["extensions"] = json!({ "KHR_lights_punctual": { "lights": [
        { "type": "spot", "color": [1, 0.5, 0], "intensity": 4, "range": 9,
          "spot": { "innerConeAngle": 0.1, "outerConeAngle": 0.4 } }] } });
    json["cameras"] = json!([{ "type": "perspective", "name": "unused name",
                               "perspective": { "yfov": 1, "znear": 0.5 } }]);
    let scene = try_parse(&glb(json, &square(&[]))).unwrap();
    let names: Vec<_> = scene.nodes.iter().map(|n| (n.name.as_str(), n.parent)).collect();
    assert_eq!(names, [("root", None), ("", Some(0)), ("lamp", Some(0)), ("eye", None)]);
    assert_eq!(scene.bounds.unwrap().max, [3.0, 4.0, 3.0]);
    let lamp = &scene.lights[0];
    assert_eq!(
        (lamp.position, lamp.color, lamp.range),
        ([1.0, 7.0, 3.0], [4.0, 2.0, 0.0], Some(9.0))
    );
    assert_eq!(lamp.kind, LightKind::Spot { inner: 0.1, outer: 0.4 });
    assert_eq!(lamp.direction, [0.0, -1.0, 0.0]);
    let camera = &scene.cameras[0];
    assert_eq!(camera.name, "eye");
    assert_eq!(
        camera.lens,
        Lens::Perspective {
            yfov: 1.0,
            near: 0.5,
            far: None
        }
    );
    // Scale is gone, the half turn is there.
    assert_eq!(camera.frame.axis(2).map(|v| v + 0.0), [0.0, 0.0, -1.0]);
    assert_eq!(math::length(camera.frame.axis(0)), 1.0);
    assert_eq!(scene.warnings.len(), 1);
    assert!(scene.warnings[0].contains("KHR_materials_sheen"));
}

/// An 8-bit PNG of one colour.
fn png_of(width: u32, height: u32, rgba: [u8; 4]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut encoder = png::Encoder::new(&mut out, width, height);
    encoder.set_color(png::ColorType::Rgba);
    let mut writer = encoder.write_header().unwrap();
    writer
        .write_image_data(&rgba.repeat((width * height) as usize))
        .unwrap();
    writer.finish().unwrap();
    out
}

/// The square with texture coordinates and a material whose textures are `image`, in a buffer view.
fn textured(image: &[u8]) -> (Value, Vec<u8>) {
    let mut extra = floats(&[0., 1., 1., 1., 1., 0., 0., 0.]);
    extra.extend(image);
    let mut json = base(json!({ "attributes": { "POSITION": 0, "TEXCOORD_1": 1 }, "mode": 6, "material": 0 }));
    json = with(
        json,
        "/bufferViews/-",
        json!({ "buffer": 0, "byteOffset": 48, "byteLength": 32 }),
    );
    json = with(
        json,
        "/bufferViews/-",
        json!({ "buffer": 0, "byteOffset": 80, "byteLength": image.len() }),
    );
    json = with(
        json,
        "/accessors/-",
        json!({ "bufferView": 1, "componentType": 5126, "type": "VEC2", "count": 4 }),
    );
    json["images"] = json!([{ "uri": "not/read.png" }, { "bufferView": 2, "mimeType": "image/png" }]);
    json["samplers"] = json!([{ "magFilter": 9728, "minFilter": 9985, "wrapS": 33071, "wrapT": 33648 }]);
    json["textures"] = json!([{ "source": 1, "sampler": 0 }, { "source": 1 }]);
    json["materials"] = json!([{
        "alphaMode": "MASK", "alphaCutoff": 0.25, "doubleSided": true,
        "pbrMetallicRoughness": { "baseColorTexture": { "index": 0, "texCoord": 1 }, "metallicFactor": 0.5 },
        "normalTexture": { "index": 1, "scale": 0.7, "extensions": {
            "KHR_texture_transform": { "offset": [0.5, 0], "scale": [2, 3], "texCoord": 1 } } },
        "emissiveFactor": [1, 0.5, 0.25],
        "extensions": { "KHR_materials_emissive_strength": { "emissiveStrength": 4 } },
    }]);
    (json, square(&extra))
}

#[test]
fn materials_textures_and_tangents() {
    let (json, bin) = textured(&png_of(3, 2, [10, 20, 30, 40]));
    let scene = try_parse(&glb(json, &bin)).unwrap();
    let m = &scene.materials[0];
    assert_eq!(
        (m.alpha, m.double_sided, m.metallic, m.roughness),
        (AlphaMode::Mask(0.25), true, 0.5, 1.0)
    );
    assert_eq!((m.emissive, m.normal_scale, m.unlit), ([4.0, 2.0, 1.0], 0.7, false));
    let base = m.base_color_map.unwrap();
    assert_eq!((base.image, base.uv_set, base.transform), (0, 1, None));
    assert_eq!(
        (base.sampler.mag_linear, base.sampler.min_linear, base.sampler.mips),
        (false, true, MipFilter::Nearest)
    );
    assert_eq!(base.sampler.wrap, [Wrap::Clamp, Wrap::Mirror]);
    let normal = m.normal_map.unwrap();
    assert_eq!(normal.transform, Some([[2.0, 0.0, 0.5], [0.0, 3.0, 0.0]]));
    assert_eq!(
        (normal.sampler.mag_linear, normal.sampler.wrap[0], normal.uv_set),
        (true, Wrap::Repeat, 1)
    );
    // The image that no material uses was not even looked for.
    assert_eq!(scene.images.len(), 1);
    assert_eq!((scene.images[0].width, scene.images[0].height), (3, 2));
    assert!(scene.images[0].texels == Texels::Rgba8([10, 20, 30, 40].repeat(6)));
    let p = &scene.meshes[0].primitives[0];
    assert!(p.uvs[0].is_none() && p.uvs[1].is_some());
    assert!(p.tangents.as_ref().unwrap().iter().all(|t| *t == [1.0, 0.0, 0.0, 1.0]));
}

#[test]
fn png_kinds_become_rgba() {
    use png::{BitDepth, ColorType};
    let encode = |color, depth, palette: Option<&[u8]>, data: &[u8]| {
        let mut out = Vec::new();
        let mut encoder = png::Encoder::new(&mut out, 2, 1);
        encoder.set_color(color);
        encoder.set_depth(depth);
        if let Some(palette) = palette {
            encoder.set_palette(palette.to_vec());
            encoder.set_trns(vec![255, 9]);
        }
        let mut writer = encoder.write_header().unwrap();
        writer.write_image_data(data).unwrap();
        writer.finish().unwrap();
        out
    };
    let cases = [
        (
            encode(ColorType::Grayscale, BitDepth::Eight, None, &[7, 9]),
            [7, 7, 7, 255, 9, 9, 9, 255],
        ),
        (
            encode(ColorType::Grayscale, BitDepth::One, None, &[0x40]),
            [0, 0, 0, 255, 255, 255, 255, 255],
        ),
        (
            encode(ColorType::GrayscaleAlpha, BitDepth::Eight, None, &[7, 1, 9, 2]),
            [7, 7, 7, 1, 9, 9, 9, 2],
        ),
        (
            encode(ColorType::Rgb, BitDepth::Eight, None, &[1, 2, 3, 4, 5, 6]),
            [1, 2, 3, 255, 4, 5, 6, 255],
        ),
        (
            encode(
                ColorType::Rgb,
                BitDepth::Sixteen,
                None,
                &[1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0],
            ),
            [1, 2, 3, 255, 4, 5, 6, 255],
        ),
        (
            encode(ColorType::Indexed, BitDepth::Eight, Some(&[1, 2, 3, 4, 5, 6]), &[0, 1]),
            [1, 2, 3, 255, 4, 5, 6, 9],
        ),
    ];
    for (file, rgba) in cases {
        let (json, bin) = textured(&file);
        assert!(try_parse(&glb(json, &bin)).unwrap().images[0].texels == Texels::Rgba8(rgba.to_vec()));
    }
}

#[test]
fn bad_objects_are_named() {
    let (good, bin) = textured(&png_of(2, 2, [1, 2, 3, 4]));
    assert!(try_parse(&glb(good.clone(), &bin)).is_ok());
    // (where, what is put there, what the message must say)
    let cases: [(&str, Value, &str); 40] = [
        ("/scene", json!(7), "scene"),
        ("/nodes/0/mesh", json!(3), "nodes[0]"),
        ("/nodes/0/children", json!([0]), "nodes[0]: is reached twice"),
        ("/nodes/0/children", json!([5]), "nodes[0]"),
        ("/nodes/0/scale", json!([1e30, 1e30, 1e30]), "32-bit"),
        ("/nodes/0/camera", json!(0), "nodes[0]"),
        ("/meshes/0/primitives/0/attributes/POSITION", json!(9), "accessors[9]"),
        (
            "/meshes/0/primitives/0/attributes/NORMAL",
            json!(1),
            "accessors[1]: is VEC2 where VEC3",
        ),
        ("/meshes/0/primitives/0/attributes/WHAT", json!(1), "attributes"),
        ("/meshes/0/primitives/0/mode", json!(7), "mode"),
        ("/meshes/0/primitives/0/material", json!(4), "material"),
        (
            "/meshes/0/primitives/0/indices",
            json!(0),
            "indices must be unsigned scalars",
        ),
        ("/meshes/0/primitives/0/attributes", json!({}), "POSITION"),
        ("/accessors/0/count", json!(5), "accessors[0]: 5 elements of 12 bytes"),
        ("/accessors/0/count", json!(18446744073709551615u64), "accessors[0]"),
        (
            "/accessors/0/byteOffset",
            json!(18446744073709551615u64),
            "accessors[0]",
        ),
        ("/accessors/0/byteOffset", json!(1), "accessors[0]"),
        ("/accessors/0/componentType", json!(5127), "accessors[0]"),
        ("/accessors/0/type", json!("VEC9"), "accessors[0]"),
        ("/accessors/0/bufferView", json!(9), "accessors[0]"),
        (
            "/accessors/1/count",
            json!(3),
            "3 elements of TEXCOORD_1 but 4 of POSITION",
        ),
        ("/bufferViews/0/buffer", json!(2), "bufferViews[0]"),
        (
            "/bufferViews/0/byteLength",
            json!(10_000),
            "bufferViews[0]: 10000 bytes",
        ),
        (
            "/bufferViews/0/byteOffset",
            json!(18446744073709551600u64),
            "bufferViews[0]",
        ),
        ("/bufferViews/0/byteStride", json!(8), "stride of 8"),
        ("/bufferViews/2/byteLength", json!(20), "images[1]"),
        ("/textures/0/source", json!(2), "textures[0]"),
        ("/textures/0/sampler", json!(2), "textures[0]"),
        ("/samplers/0/wrapS", json!(1), "samplers[0]"),
        ("/materials/0/alphaMode", json!("GLOW"), "alphaMode"),
        (
            "/materials/0/pbrMetallicRoughness/baseColorTexture/index",
            json!(2),
            "materials[0]",
        ),
        (
            "/materials/0/pbrMetallicRoughness/baseColorTexture/texCoord",
            json!(2),
            "TEXCOORD_2",
        ),
        (
            "/materials/0/pbrMetallicRoughness/metallicFactor",
            json!(1e39),
            "materials[0]",
        ),
        (
            "/materials/0/normalTexture/extensions/KHR_texture_transform/scale",
            json!(3),
            "KHR_texture_transform",
        ),
        ("/images/1", json!({}), "images[1]: has neither"),
        ("/images/1", json!({ "uri": "gone.png" }), "gone.png"),
        ("/images/1", json!({ "uri": "../x.png" }), "images[1]: URI"),
        (
            "/images/1",
            json!({ "uri": "data:image/png;base64,AAAA" }),
            "neither PNG, JPEG, WebP, KTX2 nor DDS",
        ),
        (
            "/extensionsRequired",
            json!(["KHR_draco_mesh_compression"]),
            "needs the extension KHR_draco_mesh_compression",
        ),
        ("/materials", json!("none"), "line 1"),
    ];
    for (at, value, says) in cases {
        let error = match try_parse(&glb(with(good.clone(), at, value.clone()), &bin)) {
            Err(error) => error,
            Ok(_) => panic!("{at} = {value} was accepted"),
        };
        assert!(
            error.contains(says) && error.contains("dir/"),
            "{at} = {value}: {error}"
        );
    }
    // A buffer shorter than promised; one that is NaN; one index too large.
    let json = with(good.clone(), "/bufferViews/2/byteLength", json!(bin.len() - 80));
    assert!(try_parse(&glb(json, &bin)).is_ok());
    let mut nan = bin.clone();
    nan[16..20].copy_from_slice(&f32::NAN.to_le_bytes());
    assert!(
        try_parse(&glb(good.clone(), &nan))
            .unwrap_err()
            .contains("accessors[0]: element 1")
    );
    let json = with(good.clone(), "/meshes/0/primitives/0/indices", json!(2));
    let json = with(
        json,
        "/accessors/-",
        json!({ "bufferView": 2, "componentType": 5121, "type": "SCALAR", "count": 4 }),
    );
    assert!(try_parse(&glb(json, &bin)).unwrap_err().contains("past the last of 4"));
}

#[test]
fn buffers_without_bytes() {
    let (json, bin) = textured(&png_of(2, 2, [1, 2, 3, 4]));
    let mut json = with(json, "/asset", json!({ "version": "2.0" }));
    let parse_text = |json: &Value| try_parse(json.to_string().as_bytes());
    json["buffers"] = json!([{ "byteLength": bin.len() }]);
    assert!(parse_text(&json).unwrap_err().contains("buffers[0]: has no URI"));
    json["buffers"] = json!([{ "byteLength": bin.len(), "uri": "gone.bin" }]);
    assert!(parse_text(&json).unwrap_err().contains("gone.bin"));
    json["buffers"] = json!([{ "byteLength": bin.len(), "uri": "data:;base64,AAAA" }]);
    assert!(
        parse_text(&json)
            .unwrap_err()
            .contains("has 3 bytes where the JSON promises")
    );
    json["asset"] = json!({ "version": "1.0" });
    assert!(parse_text(&json).unwrap_err().contains("version 1.0"));
    json["asset"] = json!({});
    assert!(parse_text(&json).is_err());
}

#[test]
fn broken_images_are_errors() {
    let file = png_of(8, 8, [1, 2, 3, 4]);
    for cut in 0..file.len() - 12 {
        let (json, bin) = textured(&file[..cut.max(1)]);
        assert!(
            try_parse(&glb(json, &bin)).unwrap_err().contains("images[1]"),
            "cut at {cut}"
        );
    }
    // A header that promises 100,000 x 100,000 pixels.
    let mut bomb = file.clone();
    bomb[16..20].copy_from_slice(&100_000u32.to_be_bytes());
    let (json, bin) = textured(&bomb);
    assert!(try_parse(&glb(json, &bin)).unwrap_err().contains("100000 x 8"));
    // One within the size limit, but beyond the memory limit of these tests.
    bomb[16..24].copy_from_slice(&[0, 0, 0x20, 0, 0, 0, 0x20, 0]);
    let (json, bin) = textured(&bomb);
    assert!(try_parse(&glb(json, &bin)).unwrap_err().contains("limit"));
}

#[test]
fn garbage_never_panics() {
    let (json, bin) = textured(&png_of(4, 4, [1, 2, 3, 4]));
    let file = glb(json, &bin);
    for cut in 0..file.len() {
        assert!(try_parse(&file[..cut]).is_err());
    }
    // A seeded xorshift flips bytes: any result will do.
    let mut state = 0x2545_f491_4f6c_dd1du64;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    for _ in 0..3000 {
        let mut broken = file.clone();
        for _ in 0..1 + next() % 4 {
            let at = next() as usize % broken.len();
            broken[at] = if next() % 2 == 0 {
                b'0' + (next() % 10) as u8
            } else {
                next() as u8
            };
        }
        let _ = try_parse(&broken);
    }
}

#[test]
fn unit_matrix_is_where_nothing_is_said() {
    let scene = try_parse(&glb(base(json!({ "attributes": { "POSITION": 0 } })), &square(&[]))).unwrap();
    assert_eq!(scene.nodes[0].world, Mat4::IDENTITY);
    // The default material stands behind the file's none.
    assert_eq!((scene.materials.len(), scene.meshes[0].primitives[0].material), (1, 0));
}

/// A DDS of one block of BC1, 4x4 texels.
fn dds_of(layers_caps: u32) -> Vec<u8> {
    let words = |w: &[u32]| w.iter().flat_map(|w| w.to_le_bytes()).collect::<Vec<u8>>();
    let mut out = b"DDS ".to_vec();
    out.extend(words(&[124, 0x1007, 4, 4, 0, 0, 1]));
    out.extend([0; 44]);
    out.extend(words(&[32, 4, u32::from_le_bytes(*b"DXT1"), 0, 0, 0, 0, 0]));
    out.extend(words(&[0x1000, layers_caps, 0, 0, 0]));
    out.extend((0..8 * if layers_caps == 0 { 1 } else { 6 }).map(|i| i as u8));
    out
}

/// The square with a PNG as its core source and `image` for what the extension names.
fn with_extension(name: &str, image: &[u8], required: bool, core: bool) -> (Value, Vec<u8>) {
    let png = png_of(3, 2, [10, 20, 30, 40]);
    let (mut json, mut bin) = textured(&png);
    let at = bin.len();
    bin.extend(image);
    let view = json["bufferViews"].as_array().unwrap().len();
    json["bufferViews"]
        .as_array_mut()
        .unwrap()
        .push(json!({ "buffer": 0, "byteOffset": at, "byteLength": image.len() }));
    let index = json["images"].as_array().unwrap().len();
    json["images"]
        .as_array_mut()
        .unwrap()
        .push(json!({ "bufferView": view, "mimeType": "image/x" }));
    for texture in json["textures"].as_array_mut().unwrap() {
        texture["extensions"] = json!({ name: { "source": index } });
        if !core {
            texture.as_object_mut().unwrap().remove("source");
        }
    }
    json["extensionsUsed"] = json!([name]);
    if required {
        json["extensionsRequired"] = json!([name]);
    }
    (json, bin)
}

#[test]
fn images_of_extensions_come_first() {
    for core in [true, false] {
        let (json, bin) = with_extension("MSFT_texture_dds", &dds_of(0), !core, core);
        let scene = try_parse(&glb(json, &bin)).unwrap();
        let image = &scene.images[0];
        assert_eq!((scene.images.len(), image.width, image.height), (1, 4, 4));
        assert!(matches!(&image.texels, Texels::File(f) if f.image(0, 0) == Some(&[0, 1, 2, 3, 4, 5, 6, 7][..])));
        assert!(scene.warnings.is_empty(), "{:?}", scene.warnings);
    }
    let png = png_of(1, 1, [1, 2, 3, 4]);
    let (json, bin) = with_extension("EXT_texture_webp", &png, false, true);
    assert_eq!(try_parse(&glb(json, &bin)).unwrap().images[0].width, 1);
}

/// The core source stands in where the model lets it, and is said to; else the error names what is wrong.
#[test]
fn unreadable_images_of_extensions_fall_back_if_optional() {
    let mut basis = [
        0xab, b'K', b'T', b'X', b' ', b'2', b'0', 0xbb, b'\r', b'\n', 0x1a, b'\n',
    ]
    .to_vec();
    basis.extend([0u32, 1, 4, 4, 0, 0, 1, 1, 1].iter().flat_map(|w| w.to_le_bytes()));
    basis.resize(104, 0);
    for (image, word) in [
        (basis, "Basis Universal"),
        (dds_of(0xfe00), "no single 2d"),
        (vec![1; 9], "neither"),
    ] {
        let name = "KHR_texture_basisu";
        let (json, bin) = with_extension(name, &image, false, true);
        let scene = try_parse(&glb(json, &bin)).unwrap();
        assert_eq!((scene.images[0].width, scene.images.len()), (3, 1));
        assert!(
            scene.warnings[0].contains(word) && scene.warnings[0].contains("in its place"),
            "{:?}",
            scene.warnings
        );
        for (required, core) in [(true, true), (true, false), (false, false)] {
            let (json, bin) = with_extension(name, &image, required, core);
            let error = try_parse(&glb(json, &bin)).unwrap_err();
            assert!(error.contains(word) && error.contains("images["), "{error}");
        }
    }
    let (mut json, bin) = with_extension("MSFT_texture_dds", &dds_of(0), false, true);
    json["textures"][0]["extensions"]["MSFT_texture_dds"]["source"] = json!(99);
    assert!(
        try_parse(&glb(json, &bin))
            .unwrap_err()
            .contains("whose MSFT_texture_dds has no image")
    );
}
