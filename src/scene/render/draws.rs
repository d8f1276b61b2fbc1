//! What is drawn in which order: instances in view, batched, and sorted by how they let light through.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::scene::model::{AlphaMode, Scene, Topology};
use crate::scene::view::View;

/// When a draw's turn comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Phase {
    /// Hides what is behind it.
    Opaque,
    /// Hides, but has holes: later, so that hidden pixels of it need no alpha test.
    Mask,
    /// Lets light through: last, back to front.
    Blend,
}

/// Which faces a draw shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Faces {
    /// All.
    Both,
    /// Those turned to the viewer.
    Front,
    /// Those turned away.
    Back,
}

/// One draw call.
#[derive(Clone, Debug)]
pub(super) struct Draw {
    pub phase: Phase,
    /// Number of the primitive, counted over all meshes.
    pub part: usize,
    pub material: usize,
    pub faces: Faces,
    /// The instances' matrices mirror, so that fronts wind clockwise.
    pub mirrored: bool,
    /// Range of the instance buffer.
    pub instances: Range<u32>,
    /// Where its primitive is in the scene.
    pub mesh: usize,
    pub primitive: usize,
}

/// All draws of a view.
#[derive(Debug, Default)]
pub(super) struct DrawList {
    pub draws: Vec<Draw>,
    /// Nodes in the order of the instance buffer.
    pub instances: Vec<usize>,
}

impl DrawList {
    pub fn new(scene: &Scene, view: &View) -> Self {
        let first_part: Vec<usize> = scene
            .meshes
            .iter()
            .scan(0, |next, mesh| {
                Some(std::mem::replace(next, *next + mesh.primitives.len()))
            })
            .collect();
        // (mesh, primitive, mirrored) to (distance, node).
        let mut solid: BTreeMap<(usize, usize, bool), Vec<(f32, usize)>> = BTreeMap::new();
        let mut blended = Vec::new();
        for (n, node) in scene.nodes.iter().enumerate() {
            let Some((m, mesh)) = node.mesh.and_then(|m| Some((m, scene.meshes.get(m)?))) else {
                continue;
            };
            let mirrored = node.world.determinant3() < 0.0;
            for (p, primitive) in mesh.primitives.iter().enumerate() {
                if view.misses(&primitive.bounds, &node.world) {
                    continue;
                }
                let depth = view.depth(node.world.point(primitive.bounds.center()));
                if scene.materials[primitive.material].alpha == AlphaMode::Blend {
                    blended.push((depth, n, m, p, mirrored));
                } else {
                    solid.entry((m, p, mirrored)).or_default().push((depth, n));
                }
            }
        }

        let mut list = Self::default();
        let mut batches: Vec<_> = solid.into_iter().collect();
        for (_, nodes) in &mut batches {
            nodes.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        }
        let phase = |m: usize, p: usize| match scene.materials[scene.meshes[m].primitives[p].material].alpha {
            AlphaMode::Opaque => Phase::Opaque,
            AlphaMode::Mask(_) => Phase::Mask,
            AlphaMode::Blend => Phase::Blend,
        };
        batches.sort_by(|((am, ap, _), a), ((bm, bp, _), b)| {
            phase(*am, *ap)
                .cmp(&phase(*bm, *bp))
                .then(a[0].0.total_cmp(&b[0].0))
                .then((am, ap).cmp(&(bm, bp)))
        });
        for ((mesh, primitive, mirrored), nodes) in batches {
            let first = list.instances.len() as u32;
            list.instances.extend(nodes.iter().map(|&(_, n)| n));
            let p = &scene.meshes[mesh].primitives[primitive];
            let both = p.topology != Topology::Triangles || scene.materials[p.material].double_sided;
            list.draws.push(Draw {
                phase: phase(mesh, primitive),
                part: first_part[mesh] + primitive,
                material: p.material,
                faces: if both { Faces::Both } else { Faces::Front },
                mirrored,
                instances: first..list.instances.len() as u32,
                mesh,
                primitive,
            });
        }

        blended.sort_by(|a, b| b.0.total_cmp(&a.0).then((a.1, a.3).cmp(&(b.1, b.3))));
        for (_, node, mesh, primitive, mirrored) in blended {
            let first = list.instances.len() as u32;
            list.instances.push(node);
            let p = &scene.meshes[mesh].primitives[primitive];
            let faces: &[Faces] = match (p.topology, scene.materials[p.material].double_sided) {
                (Topology::Triangles, true) => &[Faces::Back, Faces::Front],
                (Topology::Triangles, false) => &[Faces::Front],
                _ => &[Faces::Both],
            };
            list.draws.extend(faces.iter().map(|&faces| Draw {
                phase: Phase::Blend,
                part: first_part[mesh] + primitive,
                material: p.material,
                faces,
                mirrored,
                instances: first..first + 1,
                mesh,
                primitive,
            }));
        }
        list
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::math::{Aabb, Mat4};
    use crate::scene::model::{Material, Mesh, Node, Primitive};
    use crate::scene::view::framing_camera;

    #[test]
    fn solid_things_first_then_glass_back_to_front() {
        let material = |alpha, double_sided| Material {
            alpha,
            double_sided,
            ..Material::default()
        };
        let mut scene = Scene {
            materials: vec![
                material(AlphaMode::Blend, true),
                material(AlphaMode::Mask(0.5), true),
                material(AlphaMode::Opaque, false),
            ],
            ..Scene::default()
        };
        for m in 0..3 {
            let primitive = Primitive {
                topology: Topology::Triangles,
                indices: vec![0, 1, 2],
                positions: vec![[0.0; 3]; 3],
                normals: None,
                tangents: None,
                uvs: [None, None],
                colors: None,
                material: m,
                bounds: Aabb {
                    min: [-1.0; 3],
                    max: [1.0; 3],
                },
            };
            scene.meshes.push(Mesh {
                name: String::new(),
                primitives: vec![primitive],
            });
        }
        // Two glasses, far one first in the file's order reversed; a mask; three opaque, one of them mirrored.
        let places = [
            (0, 5.0, 1.0),
            (0, -5.0, 1.0),
            (1, 0.0, 1.0),
            (2, -9.0, 1.0),
            (2, 9.0, 1.0),
            (2, 0.0, -1.0),
        ];
        for (mesh, z, sx) in places {
            let world = Mat4::from_trs([0.0, 0.0, z], [0.0, 0.0, 0.0, 1.0], [sx, 1.0, 1.0]);
            scene.nodes.push(Node {
                name: String::new(),
                parent: None,
                world,
                mesh: Some(mesh),
            });
        }
        let view = View::new(&framing_camera(&scene, 1.0), 1.0);
        let list = DrawList::new(&scene, &view);
        let shape: Vec<_> = list
            .draws
            .iter()
            .map(|d| (d.phase, d.faces, d.mirrored, d.instances.clone()))
            .collect();
        assert_eq!(
            shape,
            [
                (Phase::Opaque, Faces::Front, false, 0..2),
                (Phase::Opaque, Faces::Front, true, 2..3),
                (Phase::Mask, Faces::Both, false, 3..4),
                (Phase::Blend, Faces::Back, false, 4..5),
                (Phase::Blend, Faces::Front, false, 4..5),
                (Phase::Blend, Faces::Back, false, 5..6),
                (Phase::Blend, Faces::Front, false, 5..6),
            ]
        );
        // The nearer of the two opaque ones first; the far glass before the near one.
        assert_eq!(list.instances, [4, 3, 5, 2, 1, 0]);
    }
}
