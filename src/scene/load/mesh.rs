//! Meshes: accessors become plain arrays, strips, fans and loops become lists, missing normals and tangents are made.
//!
//! Attributes that the material does not use (tangents without a normal map, unused texture coordinate sets) are not read.
//! Reading is sequential and books memory as it goes; making normals and tangents runs on all threads, a primitive each.

use gltf::json;
use json::accessor::Type;
use json::mesh::{Mode, Semantic};
use json::validation::Checked;

use super::accessor::Source;
use super::container::Budget;
use crate::scene::error::Fault;
use crate::scene::math::{self, Aabb};
use crate::scene::model::{Material, Mesh, Primitive, Topology};
use crate::scene::{parallel, tangent};

/// What a primitive will read, decided before any buffer is.
pub(super) struct Plan {
    /// Position in the list of reached meshes.
    mesh: usize,
    object: String,
    mode: Mode,
    indices: Option<usize>,
    position: usize,
    normal: Option<usize>,
    tangent: Option<usize>,
    uvs: [Option<usize>; 2],
    color: Option<usize>,
    material: usize,
    wants_tangents: bool,
}

impl Plan {
    /// The accessors that it reads.
    pub fn accessors(&self) -> impl Iterator<Item = usize> + '_ {
        let optional = [
            self.indices,
            self.normal,
            self.tangent,
            self.uvs[0],
            self.uvs[1],
            self.color,
        ];
        std::iter::once(self.position).chain(optional.into_iter().flatten())
    }
}

/// Plans all primitives of the reached `meshes`; the last of `materials` is the default one.
pub(super) fn plan(root: &json::Root, meshes: &[usize], materials: &[Material]) -> Result<Vec<Plan>, Fault> {
    let mut plans = Vec::new();
    for (slot, &index) in meshes.iter().enumerate() {
        let mesh = root
            .meshes
            .get(index)
            .ok_or_else(|| Fault::new(format!("meshes[{index}]"), "does not exist"))?;
        for (p, primitive) in mesh.primitives.iter().enumerate() {
            let object = format!("meshes[{index}].primitives[{p}]");
            let get = |s: Semantic| primitive.attributes.get(&Checked::Valid(s)).map(|a| a.value());
            let Checked::Valid(mode) = primitive.mode else {
                return Err(Fault::new(object, "has an unknown mode"));
            };
            let Some(position) = get(Semantic::Positions) else {
                return Err(Fault::new(object, "has no POSITION"));
            };
            let default = materials.len() - 1;
            let material = primitive.material.map_or(default, |m| m.value());
            let Some(used) = materials.get(material) else {
                return Err(Fault::new(
                    object,
                    format!("uses materials[{material}], which does not exist"),
                ));
            };
            let normal = get(Semantic::Normals);
            let maps = [
                used.base_color_map,
                used.metallic_roughness_map,
                used.normal_map,
                used.occlusion_map,
                used.emissive_map,
            ];
            let uses = |set: usize| maps.iter().flatten().any(|map| map.uv_set == set);
            let uvs = [0, 1].map(|set| get(Semantic::TexCoords(set as u32)).filter(|_| uses(set)));
            let bumpy = used.normal_map.is_some_and(|map| uvs[map.uv_set].is_some()) && !used.unlit;
            let triangles = matches!(mode, Mode::Triangles | Mode::TriangleStrip | Mode::TriangleFan);
            plans.push(Plan {
                mesh: slot,
                object,
                mode,
                indices: primitive.indices.map(|i| i.value()),
                position,
                normal,
                // glTF: without normals, tangents are to be ignored.
                tangent: get(Semantic::Tangents).filter(|_| bumpy && normal.is_some()),
                uvs,
                color: get(Semantic::Colors(0)),
                material,
                wants_tangents: bumpy && triangles,
            });
        }
    }
    Ok(plans)
}

/// Loads what was planned; meshes come out in the order of `meshes` (file indices).
pub(super) fn load(
    source: &Source<'_>,
    plans: &[Plan],
    meshes: &[usize],
    materials: &[Material],
    threads: usize,
    budget: &mut Budget,
) -> Result<Vec<Mesh>, Fault> {
    let mut drafts = Vec::with_capacity(plans.len());
    for plan in plans {
        drafts.push(read(source, plan, budget)?);
    }
    let finished = parallel::map(threads, plans.len(), |i| {
        finish(&plans[i], drafts[i].as_ref()?, materials)
    });
    let mut out: Vec<Mesh> = meshes
        .iter()
        .map(|&index| Mesh {
            name: source
                .root
                .meshes
                .get(index)
                .and_then(|m| m.name.clone())
                .unwrap_or_default(),
            primitives: Vec::new(),
        })
        .collect();
    for (plan, primitive) in plans.iter().zip(finished) {
        if let (Some(primitive), Some(mesh)) = (primitive, out.get_mut(plan.mesh)) {
            mesh.primitives.push(primitive);
        }
    }
    Ok(out)
}

/// Reads a primitive's arrays; `None` if it draws nothing.
fn read(source: &Source<'_>, plan: &Plan, budget: &mut Budget) -> Result<Option<Primitive>, Fault> {
    let positions = source.vectors(plan.position, &[Type::Vec3], [0.0; 3], budget)?;
    let count = positions.len();
    let check = |what: &str, len: usize| {
        if len == count {
            return Ok(());
        }
        Err(Fault::new(
            plan.object.as_str(),
            format!("has {len} elements of {what} but {count} of POSITION"),
        ))
    };
    let normals = match plan.normal {
        Some(a) => {
            check("NORMAL", source.count(a))?;
            Some(source.vectors(a, &[Type::Vec3], [0.0; 3], budget)?)
        }
        None => None,
    };
    let tangents = match plan.tangent {
        Some(a) => {
            check("TANGENT", source.count(a))?;
            Some(source.vectors(a, &[Type::Vec4], [0.0; 4], budget)?)
        }
        None => None,
    };
    let mut uvs = [None, None];
    for (set, slot) in uvs.iter_mut().enumerate() {
        if let Some(a) = plan.uvs[set] {
            check(&format!("TEXCOORD_{set}"), source.count(a))?;
            *slot = Some(source.vectors(a, &[Type::Vec2], [0.0; 2], budget)?);
        }
    }
    let colors = match plan.color {
        Some(a) => {
            check("COLOR_0", source.count(a))?;
            Some(source.vectors(a, &[Type::Vec3, Type::Vec4], [1.0; 4], budget)?)
        }
        None => None,
    };

    let raw_count = plan.indices.map_or(count, |a| source.count(a)) as u64;
    // A strip of n indices becomes up to n triangles of three; a list is rewritten once.
    budget.take(raw_count * 3 * 4, &plan.object)?;
    let raw = match plan.indices {
        Some(a) => source.indices(a, count, budget)?,
        None => (0..count as u32).collect(),
    };
    let (topology, indices) = to_list(plan.mode, raw);
    let Some(bounds) = Aabb::around(&positions).filter(|_| !indices.is_empty()) else {
        return Ok(None);
    };
    if topology == Topology::Triangles && (normals.is_none() || (plan.wants_tangents && tangents.is_none())) {
        // Vertices are about to be split: at worst one per corner, twice while the tangents are made.
        let per_vertex = 12 + 12 + 16 + uvs.iter().flatten().count() * 8 + if colors.is_some() { 16 } else { 0 };
        budget.take(indices.len() as u64 * per_vertex as u64 * 2, &plan.object)?;
    }
    Ok(Some(Primitive {
        topology,
        indices,
        positions,
        normals,
        tangents,
        uvs,
        colors,
        material: plan.material,
        bounds,
    }))
}

/// Takes strips, fans and loops apart. Windings are kept; incomplete last primitives are dropped.
fn to_list(mode: Mode, raw: Vec<u32>) -> (Topology, Vec<u32>) {
    let n = raw.len();
    let whole = |mut raw: Vec<u32>, of: usize| {
        raw.truncate(n / of * of);
        raw
    };
    match mode {
        Mode::Points => (Topology::Points, raw),
        Mode::Lines => (Topology::Lines, whole(raw, 2)),
        Mode::LineStrip => (Topology::Lines, raw.windows(2).flatten().copied().collect()),
        Mode::LineLoop => {
            let mut out: Vec<u32> = raw.windows(2).flatten().copied().collect();
            if n > 2 {
                out.extend([raw[n - 1], raw[0]]);
            }
            (Topology::Lines, out)
        }
        Mode::Triangles => (Topology::Triangles, whole(raw, 3)),
        Mode::TriangleStrip => {
            let turn = |(i, w): (usize, &[u32])| {
                if i % 2 == 0 {
                    [w[0], w[1], w[2]]
                } else {
                    [w[0], w[2], w[1]]
                }
            };
            (Topology::Triangles, raw.windows(3).enumerate().flat_map(turn).collect())
        }
        Mode::TriangleFan => {
            let Some((&hub, rim)) = raw.split_first() else {
                return (Topology::Triangles, Vec::new());
            };
            (
                Topology::Triangles,
                rim.windows(2).flat_map(|w| [w[0], w[1], hub]).collect(),
            )
        }
    }
}

/// Makes the normals and tangents that are missing.
fn finish(plan: &Plan, draft: &Primitive, materials: &[Material]) -> Option<Primitive> {
    let mut primitive = draft.clone();
    if primitive.topology != Topology::Triangles {
        unit(primitive.normals.as_mut());
        return Some(primitive);
    }
    if primitive.normals.is_none() {
        primitive = flat(&primitive);
    }
    unit(primitive.normals.as_mut());
    if plan.wants_tangents && primitive.tangents.is_none() {
        let set = materials.get(primitive.material)?.normal_map?.uv_set;
        tangent::generate(&mut primitive, set);
    }
    Some(primitive)
}

/// Makes normals as long as the shader expects; a zero normal points up.
fn unit(normals: Option<&mut Vec<[f32; 3]>>) {
    for n in normals.into_iter().flatten() {
        *n = math::normalize(*n).unwrap_or([0.0, 0.0, 1.0]);
    }
}

/// Flat shading, as glTF wants it for triangles without normals: no vertex is shared, each has its triangle's normal.
fn flat(p: &Primitive) -> Primitive {
    fn corners<T: Copy>(indices: &[u32], from: &[T]) -> Vec<T> {
        indices.iter().map(|&i| from[i as usize]).collect()
    }
    let positions = corners(&p.indices, &p.positions);
    let mut normals = Vec::with_capacity(positions.len());
    for t in positions.chunks_exact(3) {
        let n = math::normalize(math::cross(math::sub(t[1], t[0]), math::sub(t[2], t[0])));
        normals.extend([n.unwrap_or([0.0, 0.0, 1.0]); 3]);
    }
    Primitive {
        topology: Topology::Triangles,
        indices: (0..positions.len() as u32).collect(),
        normals: Some(normals),
        tangents: None,
        uvs: [0, 1].map(|set| p.uvs[set].as_ref().map(|uv| corners(&p.indices, uv))),
        colors: p.colors.as_ref().map(|c| corners(&p.indices, c)),
        material: p.material,
        bounds: p.bounds,
        positions,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strips_fans_and_loops_come_apart() {
        let list = |mode| to_list(mode, vec![10, 11, 12, 13, 14]).1;
        assert_eq!(list(Mode::Points), [10, 11, 12, 13, 14]);
        assert_eq!(list(Mode::Lines), [10, 11, 12, 13]);
        assert_eq!(list(Mode::LineStrip), [10, 11, 11, 12, 12, 13, 13, 14]);
        assert_eq!(list(Mode::LineLoop), [10, 11, 11, 12, 12, 13, 13, 14, 14, 10]);
        assert_eq!(list(Mode::Triangles), [10, 11, 12]);
        assert_eq!(list(Mode::TriangleStrip), [10, 11, 12, 11, 13, 12, 12, 13, 14]);
        assert_eq!(list(Mode::TriangleFan), [11, 12, 10, 12, 13, 10, 13, 14, 10]);
        for mode in [
            Mode::LineLoop,
            Mode::LineStrip,
            Mode::TriangleFan,
            Mode::TriangleStrip,
            Mode::Triangles,
        ] {
            assert!(to_list(mode, vec![]).1.is_empty());
            assert!(to_list(mode, vec![1]).1.is_empty());
        }
        assert_eq!(to_list(Mode::LineLoop, vec![1, 2]).1, [1, 2]);
    }
}
