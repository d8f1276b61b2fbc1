//! Collects meshes, pictures, materials and nodes, and writes them as one GLB.

use serde_json::{Value, json};

use super::mesh::Mesh;

/// A GLB in the making. Every `add` returns the index that later parts refer to it by.
#[derive(Default)]
pub struct Glb {
    bin: Vec<u8>,
    views: Vec<Value>,
    accessors: Vec<Value>,
    images: Vec<Value>,
    textures: Vec<Value>,
    pub materials: Vec<Value>,
    meshes: Vec<Value>,
    pub nodes: Vec<Value>,
}

/// The accessors of a mesh, to be drawn with any material.
#[derive(Clone)]
pub struct Geometry {
    attributes: Value,
    indices: usize,
}

/// Six decimals are a micrometre here; fewer digits, smaller file.
pub fn short(v: f32) -> f64 {
    (f64::from(v) * 1e6).round() / 1e6
}

impl Glb {
    fn view(&mut self, bytes: &[u8], target: Option<u32>) -> usize {
        self.bin.resize(self.bin.len().next_multiple_of(4), 0);
        let mut view = json!({ "buffer": 0, "byteOffset": self.bin.len(), "byteLength": bytes.len() });
        if let Some(target) = target {
            view["target"] = json!(target);
        }
        self.bin.extend(bytes);
        self.views.push(view);
        self.views.len() - 1
    }

    fn floats<const N: usize>(&mut self, data: &[[f32; N]], bounds: bool) -> usize {
        let bytes: Vec<u8> = data.iter().flatten().flat_map(|v| v.to_le_bytes()).collect();
        let view = self.view(&bytes, Some(34962));
        let kind = ["SCALAR", "VEC2", "VEC3", "VEC4"][N - 1];
        let mut accessor = json!({ "bufferView": view, "componentType": 5126, "type": kind, "count": data.len() });
        if bounds {
            let fold = |f: fn(f32, f32) -> f32| -> Vec<f32> {
                (0..N)
                    .map(|i| data.iter().map(|v| v[i]).reduce(f).unwrap_or(0.0))
                    .collect()
            };
            accessor["min"] = json!(fold(f32::min));
            accessor["max"] = json!(fold(f32::max));
        }
        self.accessors.push(accessor);
        self.accessors.len() - 1
    }

    /// Stores a mesh's arrays; texture coordinates only if wanted.
    pub fn geometry(&mut self, mesh: &Mesh, uvs: bool) -> Geometry {
        let position = self.floats(&mesh.positions, true);
        let normal = self.floats(&mesh.normals, false);
        let mut attributes = json!({ "POSITION": position, "NORMAL": normal });
        if uvs {
            attributes["TEXCOORD_0"] = json!(self.floats(&mesh.uvs, false));
        }
        if let Some(uvs1) = &mesh.uvs1 {
            attributes["TEXCOORD_1"] = json!(self.floats(uvs1, false));
        }
        let bytes: Vec<u8> = mesh.indices.iter().flat_map(|i| i.to_le_bytes()).collect();
        let view = self.view(&bytes, Some(34963));
        let count = mesh.indices.len();
        self.accessors
            .push(json!({ "bufferView": view, "componentType": 5123, "type": "SCALAR", "count": count }));
        Geometry {
            attributes,
            indices: self.accessors.len() - 1,
        }
    }

    /// Stores a PNG as a texture; sampler 0 repeats, 1 ends at the edge.
    pub fn texture(&mut self, name: &str, png: &[u8], sampler: usize) -> usize {
        let view = self.view(png, None);
        self.images
            .push(json!({ "name": name, "bufferView": view, "mimeType": "image/png" }));
        self.textures
            .push(json!({ "source": self.images.len() - 1, "sampler": sampler }));
        self.textures.len() - 1
    }

    pub fn material(&mut self, material: Value) -> usize {
        self.materials.push(material);
        self.materials.len() - 1
    }

    /// A mesh of one primitive.
    pub fn mesh(&mut self, name: &str, geometry: &Geometry, material: usize) -> usize {
        let primitive = json!({ "attributes": geometry.attributes, "indices": geometry.indices, "material": material });
        self.meshes.push(json!({ "name": name, "primitives": [primitive] }));
        self.meshes.len() - 1
    }

    pub fn node(&mut self, node: Value) {
        self.nodes.push(node);
    }

    /// The file, with `rest` (cameras, extensions, asset...) added to the JSON.
    pub fn finish(mut self, rest: Value) -> Vec<u8> {
        self.bin.resize(self.bin.len().next_multiple_of(4), 0);
        let mut root = rest;
        root["scene"] = json!(0);
        root["scenes"] = json!([{ "name": "still life", "nodes": (0..self.nodes.len()).collect::<Vec<_>>() }]);
        root["buffers"] = json!([{ "byteLength": self.bin.len() }]);
        root["samplers"] = json!([
            { "magFilter": 9729, "minFilter": 9987, "wrapS": 10497, "wrapT": 10497 },
            { "magFilter": 9729, "minFilter": 9987, "wrapS": 33071, "wrapT": 33071 },
        ]);
        root["bufferViews"] = Value::Array(self.views);
        root["accessors"] = Value::Array(self.accessors);
        root["images"] = Value::Array(self.images);
        root["textures"] = Value::Array(self.textures);
        root["materials"] = Value::Array(self.materials);
        root["meshes"] = Value::Array(self.meshes);
        root["nodes"] = Value::Array(self.nodes);
        let mut text = root.to_string().into_bytes();
        text.resize(text.len().next_multiple_of(4), b' ');
        let mut out = b"glTF\x02\0\0\0".to_vec();
        out.extend(((12 + 8 + text.len() + 8 + self.bin.len()) as u32).to_le_bytes());
        for (kind, data) in [(b"JSON", &text), (b"BIN\0", &self.bin)] {
            out.extend((data.len() as u32).to_le_bytes());
            out.extend(kind);
            out.extend(data);
        }
        out
    }
}
