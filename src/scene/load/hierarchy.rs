//! The node hierarchy: which nodes the default scene reaches, where they stand, and the lights and cameras they carry.
//!
//! Walked with an explicit stack, parents first; a node met twice (a cycle, or two parents) is an error, as glTF's node
//! graph is a forest.

use std::collections::BTreeMap;

use gltf::json;
use json::camera::Type as CameraType;
use json::extensions::scene::khr_lights_punctual::Type as LightType;
use json::validation::Checked;

use crate::scene::error::Fault;
use crate::scene::math::{self, Aabb, Mat4};
use crate::scene::model::{Camera, Lens, Light, LightKind, Node, Scene};

/// What the default scene reaches.
pub(super) struct Graph {
    pub nodes: Vec<Node>,
    /// File indices of the meshes that nodes show; a node's `mesh` counts along this list.
    pub meshes: Vec<usize>,
    pub lights: Vec<Light>,
    pub cameras: Vec<Camera>,
    pub warnings: Vec<String>,
}

pub(super) fn build(root: &json::Root) -> Result<Graph, Fault> {
    let mut graph = Graph {
        nodes: Vec::new(),
        meshes: Vec::new(),
        lights: Vec::new(),
        cameras: Vec::new(),
        warnings: Vec::new(),
    };
    let mut mesh_slots = BTreeMap::new();
    let mut seen = vec![false; root.nodes.len()];
    let (mut skins, mut morphs) = (0usize, 0usize);
    // Reversed, so that nodes come off the stack in the file's order.
    let mut stack: Vec<(usize, Option<usize>)> = roots(root)?.into_iter().rev().map(|n| (n, None)).collect();
    while let Some((index, parent)) = stack.pop() {
        let object = || format!("nodes[{index}]");
        let node = root
            .nodes
            .get(index)
            .ok_or_else(|| Fault::new(object(), "does not exist"))?;
        if std::mem::replace(&mut seen[index], true) {
            return Err(Fault::new(
                object(),
                "is reached twice: it has two parents, or is its own ancestor",
            ));
        }
        let local = local_matrix(node);
        let world = match parent {
            Some(parent) => graph.nodes[parent].world.mul(&local),
            None => local,
        };
        if !world.is_finite() {
            return Err(Fault::new(object(), "has a matrix with infinite numbers"));
        }
        let mesh = node.mesh.map(|mesh| {
            *mesh_slots.entry(mesh.value()).or_insert_with(|| {
                graph.meshes.push(mesh.value());
                graph.meshes.len() - 1
            })
        });
        skins += usize::from(node.skin.is_some() && mesh.is_some());
        let weights = node
            .weights
            .as_ref()
            .or_else(|| root.meshes.get(node.mesh?.value())?.weights.as_ref());
        morphs += usize::from(weights.is_some_and(|w| w.iter().any(|&w| w != 0.0)));
        let name = node.name.clone().unwrap_or_default();
        if let Some(light) = light(root, node, &name, &world, &object())? {
            graph.lights.push(light);
        }
        if let Some(camera) = camera(root, node, &name, &world)? {
            graph.cameras.push(camera);
        }
        let here = graph.nodes.len();
        graph.nodes.push(Node {
            name,
            parent,
            world,
            mesh,
        });
        let children = node.children.iter().flatten().rev();
        stack.extend(children.map(|child| (child.value(), Some(here))));
    }
    if skins > 0 {
        graph.warnings.push(format!(
            "skins are not applied: {skins} skinned nodes are drawn in their bind pose"
        ));
    }
    if morphs > 0 {
        graph.warnings.push(format!(
            "morph targets are not applied: {morphs} nodes are drawn with their base shape"
        ));
    }
    Ok(graph)
}

/// The default scene's roots; the first scene's if none is the default; all parentless nodes if there is no scene.
fn roots(root: &json::Root) -> Result<Vec<usize>, Fault> {
    let index = root.scene.map_or(0, |s| s.value());
    if let Some(scene) = root.scenes.get(index) {
        return Ok(scene.nodes.iter().map(|n| n.value()).collect());
    }
    if root.scene.is_some() {
        return Err(Fault::new(
            "scene",
            format!("names scenes[{index}], which does not exist"),
        ));
    }
    let mut child = vec![false; root.nodes.len()];
    for c in root.nodes.iter().flat_map(|n| n.children.iter().flatten()) {
        if let Some(child) = child.get_mut(c.value()) {
            *child = true;
        }
    }
    Ok((0..root.nodes.len()).filter(|&n| !child[n]).collect())
}

fn local_matrix(node: &json::scene::Node) -> Mat4 {
    match node.matrix {
        Some(matrix) => Mat4::from_columns(matrix),
        None => Mat4::from_trs(
            node.translation.unwrap_or([0.0; 3]),
            node.rotation.unwrap_or_default().0,
            node.scale.unwrap_or([1.0; 3]),
        ),
    }
}

/// A node's axes made orthonormal: lights and cameras ignore scale. z is kept, y is made perpendicular to it.
fn rigid(world: &Mat4) -> Mat4 {
    let z = math::normalize(world.axis(2)).unwrap_or([0.0, 0.0, 1.0]);
    let y = world.axis(1);
    let y = math::normalize(math::sub(y, math::scale(z, math::dot(y, z)))).unwrap_or_else(|| math::any_orthogonal(z));
    Mat4::from_frame(math::cross(y, z), y, z, world.origin())
}

fn light(
    root: &json::Root,
    node: &json::scene::Node,
    name: &str,
    world: &Mat4,
    object: &str,
) -> Result<Option<Light>, Fault> {
    let Some(reference) = node.extensions.as_ref().and_then(|e| e.khr_lights_punctual.as_ref()) else {
        return Ok(None);
    };
    let index = reference.light;
    let bad = |problem: &str| Fault::new(format!("{object}: lights[{}]", index.value()), problem);
    let light = root.get(index).ok_or_else(|| bad("does not exist"))?;
    let kind = match light.type_ {
        Checked::Valid(LightType::Directional) => LightKind::Directional,
        Checked::Valid(LightType::Point) => LightKind::Point,
        Checked::Valid(LightType::Spot) => {
            let (inner, outer) = match &light.spot {
                Some(spot) => (spot.inner_cone_angle, spot.outer_cone_angle),
                None => (0.0, std::f32::consts::FRAC_PI_4),
            };
            if !(0.0 <= inner && inner < outer && outer <= std::f32::consts::FRAC_PI_2) {
                return Err(bad("its cone angles must be 0 <= inner < outer <= pi/2"));
            }
            LightKind::Spot { inner, outer }
        }
        Checked::Invalid => return Err(bad("has an unknown type")),
    };
    let color = math::scale(light.color, light.intensity);
    if color.iter().any(|c| !c.is_finite() || *c < 0.0) {
        return Err(bad("has a negative or infinite colour or intensity"));
    }
    if light.range.is_some_and(|range| range.is_nan() || range <= 0.0) {
        return Err(bad("has a range that is not above 0"));
    }
    let frame = rigid(world);
    let name = if name.is_empty() {
        light.name.clone().unwrap_or_default()
    } else {
        name.to_owned()
    };
    let direction = math::scale(frame.axis(2), -1.0);
    Ok(Some(Light {
        name,
        kind,
        color,
        position: world.origin(),
        direction,
        range: light.range,
    }))
}

fn camera(root: &json::Root, node: &json::scene::Node, name: &str, world: &Mat4) -> Result<Option<Camera>, Fault> {
    let Some(index) = node.camera else { return Ok(None) };
    let bad = |problem: &str| Fault::new(format!("cameras[{}]", index.value()), problem);
    let camera = root.get(index).ok_or_else(|| bad("does not exist"))?;
    let positive = |v: f32| v.is_finite() && v > 0.0;
    let lens = match camera.type_ {
        Checked::Valid(CameraType::Perspective) => {
            let p = camera.perspective.as_ref().ok_or_else(|| bad("has no `perspective`"))?;
            if !(positive(p.yfov) && p.yfov < std::f32::consts::PI && positive(p.znear)) {
                return Err(bad("needs 0 < yfov < pi and znear > 0"));
            }
            if p.zfar.is_some_and(|far| !(positive(far) && far > p.znear)) {
                return Err(bad("needs zfar > znear"));
            }
            Lens::Perspective {
                yfov: p.yfov,
                near: p.znear,
                far: p.zfar,
            }
        }
        Checked::Valid(CameraType::Orthographic) => {
            let o = camera
                .orthographic
                .as_ref()
                .ok_or_else(|| bad("has no `orthographic`"))?;
            let (xmag, ymag) = (o.xmag.abs(), o.ymag.abs());
            if !(positive(xmag) && positive(ymag) && o.znear >= 0.0 && o.zfar.is_finite() && o.zfar > o.znear) {
                return Err(bad("needs xmag and ymag other than 0 and 0 <= znear < zfar"));
            }
            Lens::Orthographic {
                xmag,
                ymag,
                near: o.znear,
                far: o.zfar,
            }
        }
        Checked::Invalid => return Err(bad("has an unknown type")),
    };
    let name = if name.is_empty() {
        camera.name.clone().unwrap_or_default()
    } else {
        name.to_owned()
    };
    Ok(Some(Camera {
        name,
        frame: rigid(world),
        lens,
    }))
}

/// The world-space box around everything that nodes show.
pub(super) fn bounds(scene: &Scene) -> Option<Aabb> {
    let drawn = scene
        .nodes
        .iter()
        .filter_map(|node| Some((node, scene.meshes.get(node.mesh?)?)));
    let boxes = drawn.flat_map(|(node, mesh)| mesh.primitives.iter().map(|p| p.bounds.transformed(&node.world)));
    boxes.reduce(|a, b| a.union(&b))
}
