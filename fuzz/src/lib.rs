//! Everything that reads files, as plain functions over bytes: they return, whatever the bytes are.
//!
//! `fuzz_targets/` hands each of them to libFuzzer; `tests/hostile` runs the same functions on seeded mutations of valid
//! files. A function here takes no more than [`MEMORY`] for what a file asks for, opens no file, and starts no thread.

use quadrille::files::texture::TextureFile;
use quadrille::scene::{self, Environment};
use quadrille::{Backend, Device, DeviceDescriptor, Extent3d, TextureDimension, TextureUsages, files, job};
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::OnceLock;

/// What a reader may spend on a file, in bytes.
pub const MEMORY: u64 = 16 << 20;

/// Names the file in errors, and is where files beside it would be: nowhere.
const NOWHERE: &str = "no-such-directory/file";

/// One device for all inputs: they share nothing but its budget.
fn device() -> Option<&'static Device> {
    static DEVICE: OnceLock<Option<Device>> = OnceLock::new();
    let make = || {
        Device::new(&DeviceDescriptor {
            threads: NonZeroUsize::new(1),
            memory_limit: Some(4 * MEMORY),
            backend: Backend::Interpreter,
            loop_budget: 1 << 12,
            ..DeviceDescriptor::default()
        })
        .ok()
    };
    DEVICE.get_or_init(make).as_ref()
}

/// DDS and KTX2, up to the texture.
pub fn texture_file(data: &[u8]) {
    let Ok(file) = TextureFile::parse(data, MEMORY) else {
        return;
    };
    let s = file.shape;
    for (level, layer) in (0..s.levels).flat_map(|level| (0..s.layers).map(move |layer| (level, layer))) {
        let Some(image) = file.image(level, layer) else {
            panic!("level {level}, layer {layer} of {s:?} is missing");
        };
        let [w, h, d] = s.level_size(level);
        let [w, h] = s.format.units(w, h);
        let expected = u64::from(w) * u64::from(h) * u64::from(d) * u64::from(s.format.info().bytes);
        assert_eq!(image.len() as u64, expected, "level {level}, layer {layer} of {s:?}");
    }
    assert!(file.image(s.levels, 0).is_none() && file.image(0, s.layers).is_none());
    if let Some(device) = device() {
        // The device may refuse what the file may say (a 3d texture of 16384 slices); it may not panic.
        let texture = file.upload(
            device,
            "fuzzed",
            TextureUsages::TEXTURE_BINDING | TextureUsages::COPY_SRC,
        );
        if let Ok(texture) = texture {
            let depth = if s.dimension == TextureDimension::D3 {
                s.depth
            } else {
                s.layers
            };
            let size = Extent3d {
                width: s.width,
                height: s.height,
                depth_or_array_layers: depth,
            };
            assert_eq!(texture.size(), size);
        }
    }
}

fn scene(data: &[u8]) {
    let options = scene::LoadOptions {
        threads: 1,
        memory_limit: MEMORY,
        max_image_size: 4096,
    };
    if let Ok(scene) = scene::parse(Path::new(NOWHERE), data, &options) {
        // What loads keeps the model's promise: indices may be used unasked.
        for p in scene.meshes.iter().flat_map(|m| &m.primitives) {
            assert!(p.indices.iter().all(|&i| (i as usize) < p.positions.len()));
            assert!(p.material < scene.materials.len());
        }
        assert!(
            scene
                .nodes
                .iter()
                .filter_map(|n| n.mesh)
                .all(|m| m < scene.meshes.len())
        );
    }
}

/// glTF and GLB with all that is embedded in them.
pub fn gltf(data: &[u8]) {
    scene(data);
}

/// Images as models embed them, and PNG as jobs read it.
pub fn image(data: &[u8]) {
    // A PNG of a few bytes may ask for the largest image: small sides keep this one inside the budget.
    let _ = files::png::decode(data, Path::new(NOWHERE), 1024);
    scene(&model_of(data));
}

/// The smallest GLB that shows an image.
pub fn model_of(image: &[u8]) -> Vec<u8> {
    let vertices: [f32; 9] = [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0];
    let mut bin: Vec<u8> = vertices.iter().flat_map(|v| v.to_le_bytes()).collect();
    bin.extend(image);
    let length = bin.len();
    bin.resize(length.next_multiple_of(4), 0);
    let mut json = format!(
        r#"{{"asset":{{"version":"2.0"}},"scene":0,"scenes":[{{"nodes":[0]}}],"nodes":[{{"mesh":0}}],
        "meshes":[{{"primitives":[{{"attributes":{{"POSITION":0}},"material":0}}]}}],
        "accessors":[{{"bufferView":0,"componentType":5126,"type":"VEC3","count":3,"min":[0,0,0],"max":[1,1,0]}}],
        "materials":[{{"pbrMetallicRoughness":{{"baseColorTexture":{{"index":0}}}}}}],
        "textures":[{{"source":0}}],"images":[{{"bufferView":1,"mimeType":"image/png"}}],
        "bufferViews":[{{"buffer":0,"byteLength":36}},{{"buffer":0,"byteOffset":36,"byteLength":{}}}],
        "buffers":[{{"byteLength":{length}}}]}}"#,
        image.len().max(1)
    )
    .into_bytes();
    json.resize(json.len().next_multiple_of(4), b' ');
    glb(&json, &bin)
}

/// A GLB of two chunks, whose lengths are multiples of 4.
pub fn glb(json: &[u8], bin: &[u8]) -> Vec<u8> {
    let mut out = b"glTF\x02\0\0\0".to_vec();
    out.extend(((28 + json.len() + bin.len()) as u32).to_le_bytes());
    for (kind, data) in [(b"JSON", json), (b"BIN\0", bin)] {
        out.extend((data.len() as u32).to_le_bytes());
        out.extend(kind);
        out.extend(data);
    }
    out
}

/// Panoramas: Radiance and OpenEXR.
pub fn environment(data: &[u8]) {
    let _ = Environment::parse(Path::new(NOWHERE), data, 0.0, 1, MEMORY);
}

/// Job files up to their pipelines: everything but frames, which a job may ask for as many and as large as it likes.
pub fn job(data: &[u8]) {
    let path = Path::new(NOWHERE);
    let Ok(job) = job::parse(data, path) else { return };
    let options = job::LoadOptions {
        max_file_bytes: MEMORY,
        max_image_side: 4096,
        ..job::LoadOptions::default()
    };
    let Ok(loaded) = job::load_files(job, path.to_owned(), &options) else {
        return;
    };
    if let Some(device) = device() {
        let _ = loaded.prepare(device, &job::PrepareOptions::default());
    }
}
