//! Tangents for normal maps, where the file has none: MikkTSpace, as glTF demands, through the crate `bevy_mikktspace`.
//!
//! The algorithm works on triangle corners. Corners of one vertex that get the same tangent stay one vertex; where they
//! differ (mirrored texture coordinates) the vertex is split. Square roots and arc cosines come from IEEE and `libm`, so the
//! result has the same bits everywhere (law N4).

use bevy_mikktspace::{Geometry, Ops, TangentSpace, generate_tangents};

use super::math;
use super::model::Primitive;

/// `libm` for MikkTSpace.
struct Exact;

impl Ops for Exact {
    fn sqrt(x: f32) -> f32 {
        x.sqrt()
    }

    fn acos(x: f32) -> f32 {
        libm::acos(f64::from(x)) as f32
    }
}

/// A triangle list with one texture coordinate set; `tangents` has an entry per corner.
struct Corners<'a> {
    indices: &'a [u32],
    positions: &'a [[f32; 3]],
    normals: &'a [[f32; 3]],
    uvs: &'a [[f32; 2]],
    tangents: Vec<[f32; 4]>,
}

impl Corners<'_> {
    fn vertex(&self, face: usize, corner: usize) -> usize {
        self.indices[face * 3 + corner] as usize
    }
}

impl Geometry<Exact> for Corners<'_> {
    fn num_faces(&self) -> usize {
        self.indices.len() / 3
    }

    fn num_vertices_of_face(&self, _: usize) -> usize {
        3
    }

    fn position(&self, face: usize, corner: usize) -> [f32; 3] {
        self.positions[self.vertex(face, corner)]
    }

    fn normal(&self, face: usize, corner: usize) -> [f32; 3] {
        self.normals[self.vertex(face, corner)]
    }

    fn tex_coord(&self, face: usize, corner: usize) -> [f32; 2] {
        // glTF's v runs down, MikkTSpace's up.
        let [u, v] = self.uvs[self.vertex(face, corner)];
        [u, 1.0 - v]
    }

    fn set_tangent(&mut self, space: Option<TangentSpace>, face: usize, corner: usize) {
        let Some(space) = space else { return };
        let [x, y, z, w] = space.tangent_encoded();
        if let Some(t) = math::normalize([x, y, z]) {
            self.tangents[face * 3 + corner] = [t[0], t[1], t[2], w];
        }
    }
}

/// Gives a triangle primitive tangents for texture coordinate set `set`. Without normals or that set nothing happens.
pub(super) fn generate(p: &mut Primitive, set: usize) {
    let (Some(normals), Some(uvs)) = (&p.normals, &p.uvs[set]) else {
        return;
    };
    // Degenerate corners keep this: some direction across the normal.
    let fallback = |&i: &u32| {
        let t = math::any_orthogonal(normals[i as usize]);
        [t[0], t[1], t[2], 1.0]
    };
    let mut corners = Corners {
        indices: &p.indices,
        positions: &p.positions,
        normals,
        uvs,
        tangents: p.indices.iter().map(fallback).collect(),
    };
    if generate_tangents(&mut corners).is_err() {
        // Every face is degenerate: the fallback is as good as any.
    }
    let tangents = corners.tangents;

    // `first[v]` and `next[copy]` chain the copies that vertex `v` has so far; copies are numbered as they are made.
    const NONE: u32 = u32::MAX;
    let mut first = vec![NONE; p.positions.len()];
    let (mut next, mut origin, mut made) = (Vec::new(), Vec::new(), Vec::<[f32; 4]>::new());
    let mut indices = Vec::with_capacity(p.indices.len());
    for (&vertex, &tangent) in p.indices.iter().zip(&tangents) {
        let mut copy = first[vertex as usize];
        while copy != NONE && made[copy as usize] != tangent {
            copy = next[copy as usize];
        }
        if copy == NONE {
            copy = made.len() as u32;
            next.push(std::mem::replace(&mut first[vertex as usize], copy));
            origin.push(vertex as usize);
            made.push(tangent);
        }
        indices.push(copy);
    }
    fn pick<T: Copy>(origin: &[usize], from: &[T]) -> Vec<T> {
        origin.iter().map(|&v| from[v]).collect()
    }
    p.positions = pick(&origin, &p.positions);
    p.normals = p.normals.as_deref().map(|n| pick(&origin, n));
    p.colors = p.colors.as_deref().map(|c| pick(&origin, c));
    for uv in &mut p.uvs {
        *uv = uv.as_deref().map(|uv| pick(&origin, uv));
    }
    p.tangents = Some(made);
    p.indices = indices;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::math::Aabb;
    use crate::scene::model::Topology;

    /// Two triangles in the plane z = 0 with the given texture coordinates.
    fn quad(uvs: [[f32; 2]; 4]) -> Primitive {
        let positions = vec![[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 0.0]];
        Primitive {
            topology: Topology::Triangles,
            indices: vec![0, 1, 2, 0, 2, 3],
            bounds: Aabb::around(&positions).unwrap(),
            normals: Some(vec![[0.0, 0.0, 1.0]; 4]),
            positions,
            tangents: None,
            uvs: [Some(uvs.to_vec()), None],
            colors: None,
            material: 0,
        }
    }

    #[test]
    fn tangents_follow_u() {
        // v down: the picture stands upright on the quad, so u is x and the bitangent (up, toward smaller v) is +y.
        let mut p = quad([[0.0, 1.0], [1.0, 1.0], [1.0, 0.0], [0.0, 0.0]]);
        generate(&mut p, 0);
        assert_eq!(p.positions.len(), 4);
        for t in p.tangents.unwrap() {
            assert_eq!(t, [1.0, 0.0, 0.0, 1.0]);
        }
    }

    #[test]
    fn mirrored_halves_are_split() {
        // The second triangle runs backwards in u: its corners cannot share vertices with the first.
        let mut p = quad([[0.0, 1.0], [1.0, 1.0], [1.0, 0.0], [2.0, 0.0]]);
        generate(&mut p, 0);
        assert_eq!(p.positions.len(), 6);
        let t = p.tangents.unwrap();
        assert_eq!(t[p.indices[0] as usize][3], 1.0);
        assert_eq!(t[p.indices[3] as usize][3], -1.0);
    }

    #[test]
    fn degenerate_input_gets_some_tangent() {
        let mut p = quad([[0.5, 0.5]; 4]);
        generate(&mut p, 0);
        for t in p.tangents.unwrap() {
            assert!(
                t[2].abs() < 1e-6 && (t[0] * t[0] + t[1] * t[1] - 1.0).abs() < 1e-6,
                "{t:?}"
            );
        }
    }
}
