//! glTF 2.0 and GLB to a [`Scene`].
//!
//! ```text
//! bytes -> container (GLB chunks) -> JSON -> checks -> hierarchy (what is reachable, where it stands)
//!                                                   -> mesh (accessors -> arrays, topologies, normals, tangents)
//!                                                   -> material -> image (decoded on all threads)
//! ```
//!
//! Only what the default scene reaches is read. The rule: nothing in a file is believed before it is checked. Indices go
//! through `get`, byte ranges through `Source::view`, sizes through the `Budget`, and the `gltf` crate is used for its JSON
//! types and their validation alone, since its accessor readers and GLB reader may panic on files that lie.
//!
//! Left out with a warning: skins and morph targets (drawn in the pose that the vertices are stored in), extensions that a
//! file uses but does not require.

mod accessor;
mod container;
mod hierarchy;
mod image;
mod material;
mod mesh;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::path::Path;

use gltf::json;
use json::validation::{Error as Invalid, Validate};

pub(super) use container::read_file;

use super::error::Fault;
use super::model::Scene;
use super::{SceneError, parallel};
use accessor::Source;
use container::{Budget, Target};

/// Extensions that change nothing which isn't handled here.
const SUPPORTED: &[&str] = &[
    "EXT_texture_webp",
    "KHR_lights_punctual",
    "KHR_materials_emissive_strength",
    "KHR_materials_unlit",
    "KHR_mesh_quantization",
    "KHR_texture_basisu",
    "KHR_texture_transform",
    "MSFT_texture_dds",
];

/// How to load a model.
#[derive(Clone, Copy, Debug)]
pub struct LoadOptions {
    /// Threads for decoding images and computing tangents.
    pub threads: usize,
    /// Most bytes that the file and everything decoded from it may take.
    pub memory_limit: u64,
    /// Longest image side.
    pub max_image_size: u32,
}

impl Default for LoadOptions {
    fn default() -> Self {
        Self {
            threads: parallel::default_threads(),
            memory_limit: 4 << 30,
            max_image_size: 16384,
        }
    }
}

/// Loads the default scene of a `.gltf` or `.glb` file.
pub fn load(path: &Path, options: &LoadOptions) -> Result<Scene, SceneError> {
    let bytes = read_file(path, options.memory_limit)?;
    parse(path, &bytes, options)
}

/// Loads the default scene of a file whose contents are already here; `path` names it in messages and is where the files
/// beside it are looked for.
pub fn parse(path: &Path, bytes: &[u8], options: &LoadOptions) -> Result<Scene, SceneError> {
    let mut budget = Budget::new(options.memory_limit);
    budget.take(bytes.len() as u64, "file").map_err(|f| f.at(path))?;
    let parts = container::split(bytes).map_err(|problem| SceneError::Container {
        path: path.to_owned(),
        problem,
    })?;
    let root = read_json(path, parts.json)?;
    let mut warnings = check_extensions(path, &root)?;

    let graph = hierarchy::build(&root).map_err(|f| f.at(path))?;
    warnings.extend(graph.warnings);
    let mut shop = material::Shop::new(&root);
    let materials = shop.materials().map_err(|f| f.at(path))?;
    let plans = mesh::plan(&root, &graph.meshes, &materials).map_err(|f| f.at(path))?;

    // Buffers: those that a planned accessor or a used image reads, and no others.
    let mut wanted = vec![false; root.buffers.len()];
    let views = plans
        .iter()
        .flat_map(|p| p.accessors())
        .flat_map(|a| views_of(&root, a));
    for view in views.chain(shop.image_views()) {
        if let Some(wanted) = root
            .buffer_views
            .get(view)
            .and_then(|v| wanted.get_mut(v.buffer.value()))
        {
            *wanted = true;
        }
    }
    let mut source = Source {
        root: &root,
        buffers: Vec::with_capacity(root.buffers.len()),
    };
    for (index, &wanted) in wanted.iter().enumerate() {
        let bytes = if wanted {
            read_buffer(path, &root, index, parts.bin, &mut budget)?
        } else {
            Cow::default()
        };
        source.buffers.push(bytes);
    }

    let images = image::load(path, &source, &shop.used_images(), options, &mut budget, &mut warnings)?;
    let meshes =
        mesh::load(&source, &plans, &graph.meshes, &materials, options.threads, &mut budget).map_err(|f| f.at(path))?;
    let mut scene = Scene {
        nodes: graph.nodes,
        meshes,
        materials,
        images,
        lights: graph.lights,
        cameras: graph.cameras,
        bounds: None,
        warnings,
    };
    scene.bounds = hierarchy::bounds(&scene);
    if scene.bounds.is_some_and(|b| !b.radius().is_finite()) {
        let problem = "its vertices or node matrices reach beyond what 32-bit floats can hold";
        return Err(Fault::new("scene", problem).at(path));
    }
    Ok(scene)
}

/// Parses the JSON and checks everything that can be checked without reading buffers.
fn read_json(path: &Path, text: &[u8]) -> Result<json::Root, SceneError> {
    let bad = |problem: String| SceneError::Json {
        path: path.to_owned(),
        problem,
    };
    let root: json::Root =
        json::deserialize::from_slice(text).map_err(|e| bad(format!("its JSON is not glTF: {e}")))?;
    if !root.asset.version.starts_with("2.") && root.asset.version != "2" {
        let version: String = root.asset.version.chars().take(20).collect();
        return Err(bad(format!("is glTF version {version}; only version 2 is supported")));
    }
    // gltf-json's validation indexes `accessors` by POSITION unchecked; look first.
    for (m, mesh) in root.meshes.iter().enumerate() {
        for (p, primitive) in mesh.primitives.iter().enumerate() {
            if let Some(a) = primitive
                .attributes
                .values()
                .find(|a| a.value() >= root.accessors.len())
            {
                return Err(Fault::new(
                    format!("meshes[{m}].primitives[{p}]"),
                    format!(
                        "uses accessors[{}], but there are only {}",
                        a.value(),
                        root.accessors.len()
                    ),
                )
                .at(path));
            }
        }
    }
    let mut first = None;
    root.validate(&root, json::Path::new, &mut |at, error| {
        let at = at();
        // A POSITION without min and max breaks a rule that nobody here depends on; extensions have their own check.
        let lenient = match error {
            // A texture's image may come from an extension; `material` looks.
            Invalid::Missing if at.as_str().ends_with(".source") => true,
            Invalid::Missing | Invalid::Invalid => at.as_str().ends_with(".min") || at.as_str().ends_with(".max"),
            Invalid::Unsupported => true,
            _ => false,
        };
        if !lenient && first.is_none() {
            first = Some(Fault::new(at.as_str(), describe(error)));
        }
    });
    match first {
        Some(fault) => Err(fault.at(path)),
        None => Ok(root),
    }
}

fn describe(error: Invalid) -> &'static str {
    match error {
        Invalid::IndexOutOfBounds => "is an index past the end of what it points into",
        Invalid::Invalid => "has a value that glTF does not allow",
        Invalid::Missing => "is missing",
        Invalid::Oversize => "is larger than this machine can address",
        Invalid::Unsupported => "is not supported",
    }
}

fn check_extensions(path: &Path, root: &json::Root) -> Result<Vec<String>, SceneError> {
    let known = |name: &&String| !SUPPORTED.contains(&name.as_str());
    if let Some(extension) = root.extensions_required.iter().find(known) {
        return Err(SceneError::Extension {
            path: path.to_owned(),
            extension: extension.clone(),
            supported: SUPPORTED.join(", "),
        });
    }
    Ok(root
        .extensions_used
        .iter()
        .filter(known)
        .map(|name| format!("the extension {name} is not supported; the model is drawn without it"))
        .collect())
}

/// The buffer views that an accessor reads.
fn views_of(root: &json::Root, accessor: usize) -> Vec<usize> {
    let Some(accessor) = root.accessors.get(accessor) else {
        return Vec::new();
    };
    let sparse = accessor
        .sparse
        .iter()
        .flat_map(|s| [s.indices.buffer_view, s.values.buffer_view]);
    accessor
        .buffer_view
        .into_iter()
        .chain(sparse)
        .map(|v| v.value())
        .collect()
}

fn read_buffer<'a>(
    path: &Path,
    root: &json::Root,
    index: usize,
    bin: Option<&'a [u8]>,
    budget: &mut Budget,
) -> Result<Cow<'a, [u8]>, SceneError> {
    let object = format!("buffers[{index}]");
    let buffer = &root.buffers[index];
    let bytes = match &buffer.uri {
        None if index == 0 => match bin {
            Some(bin) => Cow::Borrowed(bin),
            None => return Err(Fault::new(object, "has no URI, and the file has no binary chunk").at(path)),
        },
        None => return Err(Fault::new(object, "has no URI (only buffers[0] of a GLB may lack one)").at(path)),
        Some(uri) => match container::resolve(uri, &object, budget).map_err(|f| f.at(path))? {
            Target::Data(data) => Cow::Owned(data),
            Target::File(file) => {
                let bytes = read_file(&beside(path, &file), budget.left())?;
                budget.take(bytes.len() as u64, &object).map_err(|f| f.at(path))?;
                Cow::Owned(bytes)
            }
        },
    };
    if (bytes.len() as u64) < buffer.byte_length.0 {
        let problem = format!(
            "has {} bytes where the JSON promises {}",
            bytes.len(),
            buffer.byte_length.0
        );
        return Err(Fault::new(object, problem).at(path));
    }
    Ok(bytes)
}

/// A file named by the model at `path`.
fn beside(path: &Path, file: &Path) -> std::path::PathBuf {
    path.parent().unwrap_or(Path::new("")).join(file)
}
