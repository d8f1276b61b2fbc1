//! Clip and cull distances, depth clamping, positions that can't be drawn (R-RAST-9 to 18).

use super::shot::{SHOW_A, Shot, Vertex3};
use super::support::{at, at_w};
use quadrille_frontend::ir::Builtin;
use quadrille_raster::pipeline::{CompareFunction, PrimitiveTopology};

/// a.x and a.y are clip distances; the fragment shader shows the coverage.
const CLIP: &str = "enable clip_distances;
struct Out { @builtin(position) p: vec4f, @builtin(clip_distances) d: array<f32, 2> }
@vertex fn vs(@location(0) p: vec4f, @location(1) a: vec4f, @location(2) b: vec4f) -> Out {
    return Out(p, array<f32, 2>(a.x, a.y));
}
@fragment fn fs(@builtin(sample_mask) mask: u32) -> @location(0) vec4f { return vec4f(f32(mask)); }
";

/// b.x and b.y are cull distances, by renaming.
const CULL: &str = "
struct Out { @builtin(position) p: vec4f, @location(0) @interpolate(flat) a: vec4f,
    @location(1) c0: f32, @location(2) c1: f32 }
@vertex fn vs(@location(0) p: vec4f, @location(1) a: vec4f, @location(2) b: vec4f) -> Out {
    return Out(p, a, b.x, b.y);
}
@fragment fn fs(@location(0) @interpolate(flat) a: vec4f) -> @location(0) vec4f { return a; }
";

/// The whole target as two triangles; `f` gives a and b at a pixel position.
fn screen(f: impl Fn(f32, f32) -> [[f32; 4]; 2]) -> Vec<Vertex3> {
    [
        (0.0, 0.0),
        (16.0, 0.0),
        (0.0, 16.0),
        (0.0, 16.0),
        (16.0, 0.0),
        (16.0, 16.0),
    ]
    .map(|(x, y)| {
        let [a, b] = f(x, y);
        [at(x, y, 0.5), a, b]
    })
    .to_vec()
}

#[test]
fn req_r9_r_rast_13_clip_distance_is_a_half_plane() {
    let s = Shot::new(CLIP, screen(|x, _| [[8.0 - x, 1.0, 0.0, 0.0], [0.0; 4]]));
    let picture = s.render();
    let drawn = picture.drawn(0);
    assert_eq!(drawn.len(), 128);
    assert!(drawn.iter().all(|&(x, _)| x < 8));
    // Both distances count.
    let s = Shot::new(CLIP, screen(|x, y| [[8.0 - x, y - 4.0, 0.0, 0.0], [0.0; 4]]));
    let drawn = s.render().drawn(0);
    assert_eq!(drawn.len(), 8 * 12);
    assert!(drawn.iter().all(|&(x, y)| x < 8 && y >= 4));
}

#[test]
fn req_r9_r_rast_13_clip_distance_is_per_sample() {
    let mut s = Shot::new(CLIP, screen(|x, _| [[8.25 - x, 1.0, 0.0, 0.0], [0.0; 4]]));
    s.samples = 4;
    let picture = s.render();
    // Above the diagonal where the two triangles meet.
    for y in 0..6 {
        assert_eq!(picture.at(7, y), 15.0);
        // Sample 2 alone: three samples keep the clear value.
        assert_eq!(picture.at(8, y), (4.0 - 3.0) / 4.0);
        assert_eq!(picture.at(9, y), -1.0);
    }
}

/// Distances are linear in clip space: with w from 1 to 3, half way on screen is a quarter of the way in space.
#[test]
fn r_rast_13_clip_distance_is_perspective() {
    let vertices: Vec<Vertex3> = screen(|x, _| [[0.25 - x / 16.0, 1.0, 0.0, 0.0], [0.0; 4]])
        .into_iter()
        .map(|[p, a, b]| {
            let w = if p[0] > 0.0 { 3.0 } else { 1.0 };
            [p.map(|v| v * w), a, b]
        })
        .collect();
    let drawn = Shot::new(CLIP, vertices).render().drawn(0);
    // s/3 / (s/3 + 1 - s) = 1/4 at s = 1/2.
    assert_eq!(drawn.len(), 8 * 16);
    assert!(drawn.iter().all(|&(x, _)| x < 8));
}

/// New vertices of a triangle clipped by the near plane carry distances too.
#[test]
fn r_rast_13_16_clip_distance_behind_the_near_plane() {
    let vertices: Vec<Vertex3> = screen(|x, y| [[12.0 - x, y - 2.0, 0.0, 0.0], [0.0; 4]])
        .into_iter()
        .map(|[p, a, b]| {
            let (x, y) = ((p[0] + 1.0) * 8.0, (1.0 - p[1]) * 8.0);
            [at_w(x, y, (x - 4.0) / 24.0, 1.0), a, b]
        })
        .collect();
    let drawn = Shot::new(CLIP, vertices).render().drawn(0);
    assert_eq!(drawn.len(), 8 * 14);
    assert!(drawn.iter().all(|&(x, y)| (4..12).contains(&x) && y >= 2));
}

#[test]
fn r_rast_13_lines_and_points_are_clipped_too() {
    let line: Vec<Vertex3> = [(0.5, 4.5), (15.5, 4.5)]
        .map(|(x, y)| [at(x, y, 0.5), [x - 6.0, 1.0, 0.0, 0.0], [0.0; 4]])
        .to_vec();
    let mut s = Shot::new(CLIP, line);
    s.primitive.topology = PrimitiveTopology::LineList;
    assert_eq!(s.render().drawn(0), (6..15).map(|x| (x, 4)).collect::<Vec<_>>());
    s.primitive.topology = PrimitiveTopology::PointList;
    assert_eq!(s.render().drawn(0), [(15, 4)]);
}

#[test]
fn req_r10_r_rast_14_cull_distance() {
    let vertices = |c: [f32; 3], d: [f32; 3]| -> Vec<Vertex3> {
        [(0.0, 0.0), (16.0, 0.0), (0.0, 16.0)]
            .into_iter()
            .zip(c.into_iter().zip(d))
            .map(|((x, y), (c, d))| [at(x, y, 0.5), [1.0; 4], [c, d, 0.0, 0.0]])
            .collect()
    };
    let drawn = |c, d| {
        let mut s = Shot::new(CULL, vertices(c, d));
        s.renamed = vec![("c0", Builtin::CullDistance(0)), ("c1", Builtin::CullDistance(1))];
        s.render().drawn(0).len()
    };
    assert_eq!(drawn([-1.0; 3], [1.0; 3]), 0);
    assert_eq!(drawn([-1.0, 0.0, -1.0], [1.0; 3]), 120);
    assert_eq!(drawn([-1.0, 1.0, 1.0], [1.0, -1.0, 1.0]), 120);
    assert_eq!(drawn([1.0; 3], [-1.0, f32::NAN, -0.5]), 0);
    assert_eq!(drawn([-0.0; 3], [1.0; 3]), 120);
}

/// REQ-R11: what can't be drawn is dropped, its neighbours aren't.
#[test]
fn req_r11_r_rast_9_12_13_nan_drops_the_primitive() {
    for (position, distance) in [
        ([f32::NAN, 0.0, 0.5, 1.0], 1.0),
        ([0.0, f32::NAN, 0.5, 1.0], 1.0),
        ([0.0, 0.0, f32::NAN, 1.0], 1.0),
        ([0.0, 0.0, 0.5, f32::NAN], 1.0),
        ([0.0, 0.0, 0.5, 1.0], f32::NAN),
    ] {
        let mut vertices = screen(|_, _| [[1.0, 1.0, 0.0, 0.0], [0.0; 4]]);
        vertices[0] = [position, [distance, 1.0, 0.0, 0.0], [0.0; 4]];
        let drawn = Shot::new(CLIP, vertices).render().drawn(0);
        assert_eq!(drawn.len(), 136, "{position:?} {distance}");
    }
}

#[test]
fn r_rast_15_at_most_eight_distances() {
    let text = |n: usize| {
        let zeros = vec!["1.0"; n].join(", ");
        format!(
            "enable clip_distances;
            struct Out {{ @builtin(position) p: vec4f, @builtin(clip_distances) d: array<f32, {n}>, @location(0) c: f32 }}
            @vertex fn vs(@location(0) p: vec4f) -> Out {{ return Out(p, array<f32, {n}>({zeros}), 1.0); }}
            @fragment fn fs() -> @location(0) vec4f {{ return vec4f(1.0); }}"
        )
    };
    let mut s = Shot::new(&text(7), screen(|_, _| [[0.0; 4]; 2]));
    s.renamed = vec![("c", Builtin::CullDistance(0))];
    assert_eq!(s.render().drawn(0).len(), 256);
    s.shader = text(8);
    let error = s.pipeline(&quadrille_jit::interp::Interpreter).unwrap_err();
    assert!(error.to_string().contains("9 clip and cull distances"), "{error}");
}

/// REQ-R8: without depth clipping, depth is clamped when it is tested, not before.
#[test]
fn req_r8_r_rast_11_24_unclipped_depth_is_clamped() {
    let shader = "
        @vertex fn vs(@location(0) p: vec4f) -> @builtin(position) vec4f { return p; }
        @fragment fn fs(@builtin(position) p: vec4f) -> @location(0) vec4f { return vec4f(p.z); }";
    for (z, stored) in [(1.5, 0.75), (-0.5, 0.25), (0.5, 0.5)] {
        let vertices: Vec<Vertex3> = screen(|_, _| [[0.0; 4]; 2])
            .into_iter()
            .map(|[p, a, b]| [[p[0], p[1], z, 1.0], a, b])
            .collect();
        let mut s = Shot::new(shader, vertices);
        s.depth = Some((0.6, CompareFunction::Always));
        s.primitive.unclipped_depth = true;
        (s.viewport.min_depth, s.viewport.max_depth) = (0.25, 0.75);
        let picture = s.render();
        assert_eq!(picture.at(3, 9), 0.25 + z * 0.5);
        assert_eq!(picture.depth[9 * 16 + 3], stored);
        s.primitive.unclipped_depth = false;
        assert_eq!(s.render().drawn(0).len(), if z == 0.5 { 256 } else { 0 });
    }
}

/// REQ-R7: a vertex behind the eye neither wraps around nor depends on depth clipping.
#[test]
fn req_r7_r_rast_10_vertices_behind_the_eye() {
    // Two vertices in front, one with w < 0; what can be seen is the part of the plane with w > 0.
    let p = [[-0.5f32, -1.0, 0.5, 1.0], [0.5, -1.0, 0.5, 1.0], [0.0, -3.0, 0.5, -1.0]];
    let vertices: Vec<Vertex3> = p.map(|p| [p, [1.0; 4], [0.0; 4]]).to_vec();
    for unclipped in [false, true] {
        let mut s = Shot::new(SHOW_A, vertices.clone());
        s.primitive.unclipped_depth = unclipped;
        let drawn = s.render().drawn(0);
        // The plane's points go from y = -1 (at w = 1) to y = -2/w: below the target. Nothing wraps round to the top.
        assert!(drawn.is_empty(), "{drawn:?}");
    }
    // Equal to the same geometry cut beforehand at w = 1/4, where nothing is visible beyond.
    let full = [[-1.0f32, 1.0, 0.5, 1.0], [1.0, 1.0, 0.5, 1.0], [0.0, -3.0, 0.0, -1.0]];
    let mix = |a: [f32; 4], b: [f32; 4], t: f32| -> [f32; 4] { std::array::from_fn(|k| a[k] + t * (b[k] - a[k])) };
    let t = 0.375;
    let (l, r) = (mix(full[0], full[2], t), mix(full[1], full[2], t));
    let cut = [full[0], full[1], l, l, full[1], r];
    let shot = |p: &[[f32; 4]]| Shot::new(SHOW_A, p.iter().map(|&p| [p, [1.0; 4], [0.0; 4]]).collect()).render();
    let (whole, cut) = (shot(&full), shot(&cut));
    assert_eq!(whole, cut);
    assert!(whole.drawn(0).len() > 100);
}
