//! Primitives through a whole pass: clipping, facing, scissor, topologies, interpolation.

use super::support::*;
use quadrille_frontend::ir::Interpolation;
use quadrille_raster::format::TextureFormat;
use quadrille_raster::geometry::Rect;
use quadrille_raster::pipeline::{CullMode, FrontFace, IndexFormat, PrimitiveTopology};

fn float_frame() -> Frame {
    Frame::new(TextureFormat::Rgba32Float, [-1.0; 4])
}

fn byte_frame() -> Frame {
    Frame::new(TextureFormat::R8Unorm, [0.0; 4])
}

fn white() -> Fragment {
    Fragment::Constants(vec![[1.0; 4]])
}

/// The worked example of section 14; positions in clip space, pixels' centres at .5 (R-RAST-1 to 3, R-RAST-140, 141).
#[test]
fn r_rast_142_to_144_interpolation() {
    let vertices = || -> Vec<Vertex> {
        vec![
            (at_w(0.0, 0.0, 0.25, 1.0), [0.0; 4]),
            (at_w(16.0, 0.0, 0.5, 4.0), [1.0; 4]),
            (at_w(0.0, 16.0, 1.0, 2.0), [3.0; 4]),
        ]
    };
    let value = |interpolation, x, y| {
        let mut f = float_frame();
        f.draw(vertices(), Fragment::Attribute(interpolation));
        f.render().rgba32(x, y)[0]
    };
    for (x, y, perspective, linear) in [
        (4, 6, 1.16, 1.5),
        (5, 6, 1.289_855_1, 1.5625),
        (4, 7, 1.394_366_2, 1.6875),
        (5, 7, 1.553_846_1, 1.75),
    ] {
        let got = value(Interpolation::Perspective, x, y);
        assert!(
            (got - perspective).abs() < 4.0 * 3.0 * f32::EPSILON,
            "{got} {perspective}"
        );
        assert_eq!(value(Interpolation::Linear, x, y), linear);
        assert_eq!(value(Interpolation::Flat, x, y), 0.0);
    }
    let mut f = float_frame();
    f.draw(vertices(), Fragment::Position);
    assert_eq!(f.render().rgba32(4, 6), [4.5, 6.5, 0.625, 0.585_937_5]);
}

/// R-RAST-16: attributes of clipped triangles keep their mode.
#[test]
fn r_rast_16_near_clip() {
    // z/w runs from 0.5 on the left to below 0 on the right, with w from 1 to 3: clipped at x = 12.
    let vertices: Vec<Vertex> = [
        (0.0, 0.0),
        (16.0, 0.0),
        (0.0, 16.0),
        (0.0, 16.0),
        (16.0, 0.0),
        (16.0, 16.0),
    ]
    .map(|(x, y)| {
        let right = x > 0.0;
        let w = if right { 3.0 } else { 1.0 };
        let z = if right { -1.0 / 6.0 } else { 0.5 };
        (at_w(x, y, z, w), [if right { 1.0 } else { 0.0 }; 4])
    })
    .to_vec();
    let image = |interpolation| {
        let mut f = float_frame();
        f.draw(vertices.clone(), Fragment::Attribute(interpolation));
        f.render()
    };
    let (perspective, linear) = (image(Interpolation::Perspective), image(Interpolation::Linear));
    for y in [0, 7, 15] {
        for x in 0..16usize {
            let s = (x as f32 + 0.5) / 16.0;
            let (p, l) = (perspective.rgba32(x, y)[0], linear.rgba32(x, y)[0]);
            if x >= 12 {
                assert_eq!((p, l), (-1.0, -1.0), "{x}");
                continue;
            }
            let exact = s / 3.0 / (s / 3.0 + (1.0 - s));
            assert!((p - exact).abs() < 1e-6, "{x}: {p} {exact}");
            assert!((l - s).abs() < 1e-6, "{x}: {l} {s}");
        }
    }
}

/// R-RAST-16, R-RAST-141: constants come from the leading vertex, also if it was clipped away.
#[test]
fn r_rast_16_flat_of_a_clipped_provoking_vertex() {
    for rotation in 0..3 {
        let mut vertices: Vec<Vertex> = vec![
            (at(8.0, -20.0, -0.5), [1.0; 4]),
            (at(24.0, 16.0, 0.5), [2.0; 4]),
            (at(-8.0, 16.0, 0.5), [3.0; 4]),
        ];
        vertices.rotate_left(rotation);
        let provoking = vertices[0].1[0];
        let mut f = float_frame();
        f.draw(vertices, Fragment::Attribute(Interpolation::Flat));
        let image = f.render();
        let mut drawn = 0;
        for y in 0..16 {
            for x in 0..16 {
                let v = image.rgba32(x, y)[0];
                assert!(v == provoking || v == -1.0, "{v}");
                drawn += u32::from(v == provoking);
            }
        }
        // z reaches 0 at y = -2.
        assert_eq!(drawn, 256);
    }
}

/// R-RAST-10: what lies behind the eye or far outside the guard band leaves the visible part as it is.
#[test]
fn r_rast_10_guard_band_and_eye() {
    let mut f = byte_frame();
    f.draw(
        vec![
            (at(8.0, -3.0e6, 0.5), [0.0; 4]),
            (at(4.0e6, 2.0e6, 0.5), [0.0; 4]),
            (at(-4.0e6, 2.0e6, 0.5), [0.0; 4]),
        ],
        white(),
    );
    assert_eq!(f.render().drawn().len(), 256);
    // A floor plane: y = -1, from in front of the eye to behind it; the horizon is the middle.
    let mut f = byte_frame();
    let floor = |x: f32, z: f32| [x, -1.0, z - 0.1, z];
    f.draw(
        vec![
            (floor(-1000.0, -5.0), [0.0; 4]),
            (floor(1000.0, -5.0), [0.0; 4]),
            (floor(0.0, 1000.0), [0.0; 4]),
        ],
        white(),
    );
    let drawn = f.render().drawn();
    assert_eq!(drawn.len(), 128);
    assert!(drawn.iter().all(|&(_, y)| y >= 8));
}

/// R-RAST-12: positions that are no numbers draw nothing, and harm nothing.
#[test]
fn r_rast_12_nan_and_infinity() {
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        for k in 0..4 {
            let mut v = screen(0.5, [0.0; 4]);
            v.truncate(3);
            v[1].0[k] = bad;
            let mut f = byte_frame();
            f.draw(v, white());
            f.draw(quad(4.0, 4.0, 6.0, 6.0, 0.5, [0.0; 4]), white());
            let drawn = f.render().drawn();
            for p in [(4, 4), (5, 4), (4, 5), (5, 5)] {
                assert!(drawn.contains(&p));
            }
            assert!(bad.is_infinite() || drawn.len() == 4);
        }
    }
}

#[test]
fn r_rast_40_to_43_facing_and_culling() {
    let clockwise: Vec<Vertex> = vec![
        (at(0.0, 0.0, 0.5), [0.0; 4]),
        (at(16.0, 0.0, 0.5), [0.0; 4]),
        (at(0.0, 16.0, 0.5), [0.0; 4]),
    ];
    for clipped in [false, true] {
        for reversed in [false, true] {
            for (front_face, cull_mode) in [FrontFace::Ccw, FrontFace::Cw]
                .into_iter()
                .flat_map(|f| [CullMode::None, CullMode::Front, CullMode::Back].map(|c| (f, c)))
            {
                let mut v = clockwise.clone();
                if clipped {
                    v[1].0[2] = -0.5;
                }
                if reversed {
                    v.swap(1, 2);
                }
                let is_front = (front_face == FrontFace::Cw) != reversed;
                let mut f = Frame::new(TextureFormat::Rgba8Unorm, [0.5; 4]);
                let c = f.draw(v, Fragment::Front);
                (c.primitive.front_face, c.primitive.cull_mode) = (front_face, cull_mode);
                let expected = match (cull_mode, is_front) {
                    (CullMode::Front, true) | (CullMode::Back, false) => 128,
                    (_, true) => 255,
                    (_, false) => 0,
                };
                let image = f.render();
                assert_eq!(image.rgba8(0, 1, 1)[0], expected);
                assert_eq!(image.rgba8(0, 15, 15)[0], 128);
            }
        }
    }
}

#[test]
fn r_rast_25_26_viewport_and_scissor() {
    let mut f = byte_frame();
    let c = f.draw(screen(0.5, [0.0; 4]), white());
    c.scissor = Rect {
        x0: 3,
        y0: 5,
        x1: 10,
        y1: 6,
    };
    let expected: Vec<_> = (3..10).map(|x| (x, 5)).collect();
    assert_eq!(f.render().drawn(), expected);
    let mut f = byte_frame();
    let c = f.draw(
        vec![
            (at(-40.0, -40.0, 0.5), [0.0; 4]),
            (at(100.0, -40.0, 0.5), [0.0; 4]),
            (at(-40.0, 100.0, 0.5), [0.0; 4]),
        ],
        white(),
    );
    (c.viewport.x, c.viewport.y, c.viewport.width, c.viewport.height) = (2.5, 4.0, 4.25, 3.0);
    let drawn = f.render().drawn();
    // floor(2.5) .. floor(6.75), 4 .. 7; left of 2.5 the content of the strip is unspecified.
    let inside: Vec<_> = drawn.iter().copied().filter(|p| p.0 != 2).collect();
    let expected: Vec<_> = (4..7).flat_map(|y| (3..6).map(move |x| (x, y))).collect();
    assert_eq!(inside, expected);
    let mut f = byte_frame();
    f.draw(screen(0.5, [0.0; 4]), white()).scissor = Rect {
        x0: 5,
        y0: 5,
        x1: 5,
        y1: 9,
    };
    assert!(f.render().drawn().is_empty());
}

#[test]
fn r_rast_131_132_strips() {
    let zigzag: Vec<Vertex> = (0..7)
        .map(|i| {
            (
                at((i / 2) as f32 * 4.0, if i % 2 == 0 { 0.0 } else { 16.0 }, 0.5),
                [i as f32; 4],
            )
        })
        .collect();
    let strip = |fragment, cull_mode, indices: Option<Vec<u16>>| {
        let mut f = float_frame();
        let c = f.draw(zigzag.clone(), fragment);
        c.primitive.topology = PrimitiveTopology::TriangleStrip;
        c.primitive.cull_mode = cull_mode;
        if indices.is_some() {
            c.primitive.strip_index_format = Some(IndexFormat::Uint16);
        }
        c.indices = indices;
        f.render()
    };
    // Provoking vertex of triangle i is i (R-RAST-134), and all face one way.
    let flat = strip(Fragment::Attribute(Interpolation::Flat), CullMode::None, None);
    let primitive = strip(Fragment::Primitive, CullMode::None, None);
    let probes = [(0, 2), (3, 13), (4, 2), (7, 13), (8, 2)];
    for (i, (x, y)) in probes.into_iter().enumerate() {
        assert_eq!(flat.rgba32(x, y)[0], i as f32);
        assert_eq!(primitive.rgba32(x, y)[0], i as f32);
    }
    let one_way = [CullMode::Front, CullMode::Back].map(|c| {
        let image = strip(Fragment::Primitive, c, None);
        probes.iter().filter(|&&(x, y)| image.rgba32(x, y)[0] >= 0.0).count()
    });
    assert!(one_way == [5, 0] || one_way == [0, 5], "{one_way:?}");
    // R-RAST-133: a cut ends the strip, and the primitive index goes on.
    let cut = strip(
        Fragment::Primitive,
        CullMode::None,
        Some(vec![0, 1, 2, 3, 0xffff, 4, 5, 6]),
    );
    assert_eq!(
        [(0, 2), (3, 13), (4, 2), (8, 2)].map(|(x, y)| cut.rgba32(x, y)[0]),
        [0.0, 1.0, -1.0, 2.0]
    );
}

#[test]
fn r_rast_51_58_60_lines_and_points() {
    let mut f = byte_frame();
    let v = [(0.5, 0.5), (4.5, 2.5), (8.5, 0.5)]
        .map(|(x, y)| (at(x, y, 0.5), [0.0; 4]))
        .to_vec();
    f.draw(v, white()).primitive.topology = PrimitiveTopology::LineStrip;
    assert_eq!(
        f.render().drawn(),
        [(0, 0), (1, 0), (7, 0), (2, 1), (3, 1), (5, 1), (6, 1), (4, 2)]
    );
    let mut f = byte_frame();
    let v = [(2.25, 2.75), (2.75, 5.5), (15.5, 15.5), (-0.75, 3.0)]
        .map(|(x, y)| (at(x, y, 0.5), [0.0; 4]))
        .to_vec();
    let c = f.draw(v, white());
    c.primitive.topology = PrimitiveTopology::PointList;
    // R-RAST-41: never culled.
    c.primitive.cull_mode = CullMode::Front;
    assert_eq!(f.render().drawn(), [(2, 2), (2, 5), (15, 15)]);
    // Attributes vary along a line; its start has the first vertex' value.
    let mut f = float_frame();
    let v = vec![(at(0.5, 3.5, 0.5), [0.0; 4]), (at(8.5, 3.5, 0.5), [8.0; 4])];
    f.draw(v, Fragment::Attribute(Interpolation::Perspective))
        .primitive
        .topology = PrimitiveTopology::LineList;
    let image = f.render();
    for x in 0..8 {
        assert_eq!(image.rgba32(x, 3)[0], x as f32);
    }
    assert_eq!(image.rgba32(8, 3)[0], -1.0);
}

/// R-RAST-51: a line through the near plane keeps the pixels that its visible part has.
#[test]
fn lines_are_clipped_at_the_near_plane() {
    let mut f = float_frame();
    let v = vec![(at(0.5, 3.5, 0.5), [0.0; 4]), (at(16.5, 3.5, -0.5), [16.0; 4])];
    f.draw(v, Fragment::Attribute(Interpolation::Linear)).primitive.topology = PrimitiveTopology::LineList;
    let image = f.render();
    for x in 0..16 {
        assert_eq!(image.rgba32(x, 3)[0], if x < 8 { x as f32 } else { -1.0 });
    }
}

/// R-RAST-28: without attachments the viewports, rounded down, are the raster's size; the sample mask is for nothing.
#[test]
fn r_rast_28_110_no_attachments() {
    let mut f = byte_frame();
    f.colors.clear();
    f.words = 1;
    let count = || {
        custom(|s| {
            let buffer = s.buffer();
            s.count(buffer, 0);
        })
    };
    f.draw(screen(0.5, [0.0; 4]), count()).viewport.width = 8.75;
    assert_eq!(f.render().words, [128]);
    f.calls[0].sample_mask = 0;
    assert_eq!(f.render().words, [128]);
    // More samples than one hit more pixels of an edge, each once.
    f.calls[0].vertices = vec![
        (at(0.0, 0.0, 0.5), [0.0; 4]),
        (at(16.0, 0.0, 0.5), [0.0; 4]),
        (at(0.0, 16.0, 0.5), [0.0; 4]),
    ];
    f.calls[0].viewport.width = 16.0;
    assert_eq!(f.render().words, [120]);
    f.calls[0].primitive.extended.forced_samples = 16;
    assert_eq!(f.render().words, [136]);
}
