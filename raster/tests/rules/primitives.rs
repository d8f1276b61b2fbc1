//! Topologies, provoking vertices, wireframes, lines, points and conservative triangles through whole passes.

use super::shot::{SHOW_A, Shot, Vertex3};
use super::support::at;
use quadrille_raster::pipeline::{
    CompareFunction, CullMode, FillMode, IndexFormat, LineMode, PointMode, PrimitiveTopology, ProvokingVertex,
};

/// Vertices in pixels; a is their number.
fn numbered(points: &[(f32, f32)]) -> Vec<Vertex3> {
    let one = |(n, &(x, y)): (usize, &(f32, f32))| [at(x, y, 0.5), [n as f32; 4], [0.0; 4]];
    points.iter().enumerate().map(one).collect()
}

/// Pixels of each value, by value.
fn counts(s: &Shot) -> Vec<(u32, usize)> {
    let picture = s.render();
    let mut out: Vec<(u32, usize)> = Vec::new();
    for p in picture.layers[0].iter().filter(|p| p[0] >= 0.0) {
        let v = p[0] as u32;
        match out.iter_mut().find(|o| o.0 == v) {
            Some(o) => o.1 += 1,
            None => out.push((v, 1)),
        }
    }
    out.sort_unstable();
    out
}

const FRONT: &str = "
struct Out { @builtin(position) p: vec4f, @location(0) @interpolate(flat) a: f32 }
@vertex fn vs(@location(0) p: vec4f, @location(1) a: vec4f) -> Out { return Out(p, a.x); }
@fragment fn fs(@location(0) @interpolate(flat) a: f32, @builtin(front_facing) front: bool,
    @builtin(primitive_index) id: u32) -> @location(0) vec4f { return vec4f(a, select(0.0, 1.0, front), f32(id), 1.0); }
";

/// REQ-R23: leading vertices 0, 1, 2, 3 of a strip, all facing alike.
#[test]
fn req_r23_r_rast_130_131_strips() {
    let zigzag = [
        (0.0, 0.0),
        (0.0, 16.0),
        (4.0, 0.0),
        (8.0, 16.0),
        (12.0, 0.0),
        (16.0, 16.0),
    ];
    let mut s = Shot::new(&FRONT.replace("enable primitive_index;", ""), numbered(&zigzag));
    s.shader = format!("enable primitive_index;\n{FRONT}");
    s.primitive.topology = PrimitiveTopology::TriangleStrip;
    let leading: Vec<u32> = counts(&s).iter().map(|c| c.0).collect();
    assert_eq!(leading, [0, 1, 2, 3]);
    let picture = s.render();
    let facing = |p: &[f32; 4]| p[0] >= 0.0 && p[1] != 1.0;
    assert!(!picture.layers[0].iter().any(facing));
    // R-RAST-132: the primitive's index is the strip's.
    assert!(picture.layers[0].iter().filter(|p| p[0] >= 0.0).all(|p| p[2] == p[0]));
    s.primitive.extended.provoking_vertex = ProvokingVertex::Last;
    let leading: Vec<u32> = counts(&s).iter().map(|c| c.0).collect();
    assert_eq!(leading, [2, 3, 4, 5]);
    assert!(!s.render().layers[0].iter().any(facing));
}

/// A fan covers its polygon once; restart begins the next one.
#[test]
fn r_rast_130_133_fans_with_restart() {
    let square = |x: f32, y: f32| [(x, y), (x, y + 4.0), (x + 4.0, y + 4.0), (x + 4.0, y)];
    let points: Vec<_> = square(1.0, 1.0).into_iter().chain(square(9.0, 9.0)).collect();
    let mut s = Shot::new(SHOW_A, numbered(&points));
    s.primitive.topology = PrimitiveTopology::TriangleFan;
    s.primitive.cull_mode = CullMode::Back;
    s.primitive.strip_index_format = Some(IndexFormat::Uint16);
    s.indices = Some(vec![0, 1, 2, 3, 0xffff, 4, 5, 6, 7]);
    assert_eq!(s.render().drawn(0).len(), 32);
    // The leading vertex of triangle i is i + 1.
    let leading: Vec<u32> = counts(&s).iter().map(|c| c.0).collect();
    assert_eq!(leading, [1, 2, 5, 6]);
}

#[test]
fn r_rast_130_adjacency_is_ignored() {
    let away = (100.0, 100.0);
    let points = [(0.0, 0.0), away, (0.0, 16.0), away, (16.0, 0.0), away];
    let mut s = Shot::new(SHOW_A, numbered(&points));
    s.primitive.topology = PrimitiveTopology::TriangleListAdjacency;
    assert_eq!(counts(&s), [(0, 120)]);
}

/// R-RAST-80, REQ-R5: edges as lines, constants and facing of the triangle, none where culling drops it; an area of
/// zero faces back.
#[test]
fn req_r5_r_rast_34_42_80_wireframe() {
    let mut s = Shot::new(
        &format!("enable primitive_index;\n{FRONT}"),
        numbered(&[(2.5, 2.5), (2.5, 12.5), (12.5, 2.5)]),
    );
    s.primitive.extended.fill_mode = FillMode::Wireframe;
    let picture = s.render();
    let drawn = picture.drawn(0);
    // Three edges of ten pixels; each line leaves out its end, the next one's beginning.
    assert_eq!(drawn.len(), 30);
    assert!((2..12).all(|i| drawn.contains(&(2, i)) && drawn.contains(&(i + 1, 2))));
    assert!((3..12).all(|i| drawn.contains(&(i, 14 - i))));
    // Counter-clockwise is the front by default; all constants are vertex 0's.
    assert!(drawn.iter().all(|&(x, y)| picture.rgba(x, y) == [0.0, 1.0, 0.0, 1.0]));
    s.primitive.cull_mode = CullMode::Front;
    assert_eq!(s.render().drawn(0), []);
    // G of the ten triangles.
    s.vertices = numbered(&[(8.5, 8.5), (12.5, 12.5), (10.5, 10.5)]);
    s.primitive.cull_mode = CullMode::Back;
    assert_eq!(s.render().drawn(0), []);
    s.primitive.cull_mode = CullMode::None;
    let picture = s.render();
    assert_eq!(picture.drawn(0), [(8, 8), (9, 9), (10, 10), (11, 11), (12, 12)]);
    assert_eq!(picture.rgba(9, 9)[..2], [0.0, 0.0]);
    s.primitive.extended.fill_mode = FillMode::Solid;
    assert_eq!(s.render().drawn(0), []);
}

/// R-RAST-17: the edge that the near plane makes isn't drawn.
#[test]
fn r_rast_17_80_clipped_wireframe() {
    let mut vertices = numbered(&[(2.5, 2.5), (2.5, 12.5), (12.5, 2.5)]);
    // z = 0 along x = 7.5.
    for v in &mut vertices {
        let x = (v[0][0] + 1.0) * 8.0;
        v[0][2] = (7.5 - x) / 16.0;
    }
    let mut s = Shot::new(SHOW_A, vertices);
    s.primitive.extended.fill_mode = FillMode::Wireframe;
    let picture = s.render();
    let drawn = picture.drawn(0);
    assert!(
        drawn
            .iter()
            .all(|&(x, y)| x <= 7 && (x == 2 || y == 2 || x + y == 14 || x + y == 15))
    );
    assert!((3..6).all(|y| !drawn.contains(&(7, y))), "{drawn:?}");
    assert!(drawn.iter().all(|&(x, y)| picture.at(x, y) == 0.0));
}

/// R-RAST-75: edges have the triangle's bias.
#[test]
fn r_rast_75_wireframe_bias() {
    let mut s = Shot::new(SHOW_A, numbered(&[(2.5, 2.5), (2.5, 12.5), (12.5, 2.5)]));
    s.primitive.extended.fill_mode = FillMode::Wireframe;
    s.depth = Some((1.0, CompareFunction::Less));
    s.bias = 1 << 20;
    let picture = s.render();
    let biased = 0.5 + (1 << 20) as f32 / (1 << 24) as f32;
    assert_eq!(picture.depth[2 * 16 + 5], biased);
}

/// REQ-R16 through a pass, and at four samples.
#[test]
fn req_r16_r_rast_50_56_148_rectangular_lines() {
    let shader = SHOW_A.replace("@interpolate(flat)", "@interpolate(linear)");
    let mut s = Shot::new(&shader, numbered(&[(2.0, 8.0), (14.0, 8.0)]));
    s.primitive.topology = PrimitiveTopology::LineList;
    s.primitive.extended.line_mode = LineMode::Rectangular;
    let picture = s.render();
    let expected: Vec<_> = [7, 8].iter().flat_map(|&y| (2..14).map(move |x| (x, y))).collect();
    assert_eq!(picture.drawn(0), expected);
    for x in 2..14 {
        // Along the line only.
        assert_eq!(picture.at(x, 7), picture.at(x, 8));
        assert!((picture.at(x, 7) - (x as f32 - 1.5) / 12.0).abs() < 1e-6);
    }
    s.samples = 4;
    s.shader = SHOW_A.replace("return a;", "return vec4f(1.0);");
    let picture = s.render();
    // Rows 7 and 8 have all samples with y in 7.3..8.7: of row 7 those at .375, .625, .875; of row 8 .125, .375, .625.
    let part = |samples: f32| (samples - (4.0 - samples)) / 4.0;
    assert_eq!((picture.at(6, 7), picture.at(6, 8)), (part(3.0), part(3.0)));
    assert_eq!((picture.at(6, 6), picture.at(6, 9)), (-1.0, -1.0));
}

/// R-RAST-60, R-RAST-62: Direct3D's points have samples in up to four pixels, WebGPU's in one.
#[test]
fn req_r17_r_rast_60_62_point_modes() {
    let mut s = Shot::new(
        &SHOW_A.replace("return a;", "return vec4f(1.0);"),
        numbered(&[(4.0, 4.0)]),
    );
    s.primitive.topology = PrimitiveTopology::PointList;
    s.samples = 4;
    assert_eq!(s.render().drawn(0), [(3, 3)]);
    s.primitive.extended.point_mode = PointMode::Square;
    let picture = s.render();
    assert_eq!(picture.drawn(0), [(3, 3), (4, 3), (3, 4), (4, 4)]);
    assert_eq!(picture.at(4, 4), -0.5);
    s.samples = 1;
    assert_eq!(s.render().drawn(0), [(3, 3)]);
}

/// R-RAST-130: a line's direction stays whoever provokes.
#[test]
fn r_rast_51_130_lines_with_the_last_vertex_provoking() {
    let mut s = Shot::new(SHOW_A, numbered(&[(0.5, 0.5), (4.5, 0.5), (20.0, 4.5), (4.5, 4.5)]));
    s.primitive.topology = PrimitiveTopology::LineList;
    let first = s.render();
    s.primitive.extended.provoking_vertex = ProvokingVertex::Last;
    let last = s.render();
    assert_eq!(first.drawn(0), last.drawn(0));
    assert_eq!((first.at(0, 0), last.at(0, 0)), (0.0, 1.0));
    assert_eq!((first.at(9, 4), last.at(9, 4)), (2.0, 3.0));
    // Values along the line don't change.
    s.shader = SHOW_A.replace("@interpolate(flat)", "@interpolate(linear)");
    for x in 0..4 {
        assert!((s.render().at(x, 0) - x as f32 / 4.0).abs() < 1e-6);
    }
}

/// R-RAST-120 to 122: every pixel that is touched, also by a triangle without area, unless indices repeat.
#[test]
fn r_rast_120_to_122_conservative() {
    let mut s = Shot::new(SHOW_A, numbered(&[(2.2, 2.2), (2.2, 5.8), (5.8, 2.2)]));
    s.primitive.extended.conservative = true;
    let drawn = s.render().drawn(0);
    // The edge runs along x + y = 8: it touches the squares on both sides of pixels' corners.
    let square = || (2..6usize).flat_map(|y| (2..6usize).map(move |x| (x, y)));
    assert_eq!(drawn, square().filter(|&(x, y)| x + y <= 8).collect::<Vec<_>>());
    s.samples = 4;
    s.shader = SHOW_A.replace("return a;", "return vec4f(1.0);");
    assert!(s.render().layers[0].iter().all(|p| p[0] == 1.0 || p[0] == -1.0));
    s.samples = 1;
    s.vertices = numbered(&[(2.5, 2.5), (6.5, 2.5), (4.5, 2.5)]);
    assert_eq!(s.render().drawn(0), (2..7).map(|x| (x, 2)).collect::<Vec<_>>());
    s.indices = Some(vec![0, 1, 1]);
    assert_eq!(s.render().drawn(0), []);
    s.indices = None;
    // They face back.
    s.primitive.cull_mode = CullMode::Back;
    assert_eq!(s.render().drawn(0), []);
}

/// REQ-R26: coverage of triangle A at forced samples, in a target of one sample.
#[test]
fn req_r26_r_rast_110_forced_samples() {
    let shader = "
        @vertex fn vs(@location(0) p: vec4f) -> @builtin(position) vec4f { return p; }
        @fragment fn fs(@builtin(sample_mask) mask: u32) -> @location(0) vec4f { return vec4f(f32(mask)); }";
    let mut s = Shot::new(shader, numbered(&[(1.0, 1.0), (6.0, 2.0), (2.0, 4.0)]));
    let masks = |s: &Shot| {
        let picture = s.render();
        let row = |y| (0..7).map(|x| picture.at(x, y).max(0.0) as u32).collect::<Vec<_>>();
        [row(1), row(2), row(3)]
    };
    s.primitive.extended.forced_samples = 4;
    assert_eq!(
        masks(&s),
        [
            [0, 0xb, 0xc, 0xc, 8, 0, 0],
            [0, 0xb, 0xf, 0xf, 7, 1, 0],
            [0, 2, 7, 1, 0, 0, 0]
        ]
    );
    s.primitive.extended.forced_samples = 8;
    assert_eq!(
        masks(&s),
        [
            [0, 0x4f, 0x76, 0x72, 0x50, 0, 0],
            [0, 0xc5, 0xff, 0xff, 0xbf, 0x28, 0],
            [0, 0x80, 0xbf, 0x28, 0, 0, 0]
        ]
    );
    s.primitive.extended.forced_samples = 16;
    assert_eq!(masks(&s)[0], [0, 0x65ff, 0x597f, 0x5965, 0x4920, 0, 0]);
    // The mask is for the target's one sample.
    s.sample_mask = !1;
    assert_eq!(s.render().drawn(0), []);
    // One forced sample in a multisampled target: all of its samples in the mask, or none.
    s.sample_mask = 0b0111;
    s.primitive.extended.forced_samples = 1;
    s.samples = 4;
    s.shader = shader.replace("f32(mask)", "7.0 * f32(mask)");
    let picture = s.render();
    assert_eq!(picture.drawn(0).len(), 7);
    assert!(
        picture
            .drawn(0)
            .iter()
            .all(|&(x, y)| picture.at(x, y) == (3.0 * 7.0 - 1.0) / 4.0)
    );
}

#[test]
fn r_rast_110_forced_samples_exclude_depth_and_sample_frequency() {
    let refused = |s: &Shot| match s.pipeline(&quadrille_jit::interp::Interpreter) {
        Ok(_) => panic!("accepted"),
        Err(e) => assert!(e.to_string().contains("forced samples"), "{e}"),
    };
    let mut s = Shot::new(SHOW_A, numbered(&[(0.0, 0.0); 3]));
    s.primitive.extended.forced_samples = 2;
    refused(&s);
    s.primitive.extended.forced_samples = 4;
    s.samples = 4;
    refused(&s);
    s.samples = 1;
    s.depth = Some((1.0, CompareFunction::Less));
    refused(&s);
    s.depth = None;
    s.shader = SHOW_A.replace("fn fs(", "fn fs(@builtin(sample_index) i: u32, ");
    refused(&s);
}
