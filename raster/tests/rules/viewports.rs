//! Several viewports and scissors, and layers, chosen by the vertex shader (R-RAST-20 to 27).

use super::shot::{EVERYWHERE, Shot, Vertex3, WHOLE};
use super::support::at;
use quadrille_frontend::ir::Builtin;
use quadrille_raster::geometry::{Rect, Viewport};
use quadrille_raster::pipeline::{PrimitiveTopology, ProvokingVertex};

/// b.x chooses; the fragment shader shows a and, as it sees it, the choice.
const CHOOSE: &str = "
struct Out { @builtin(position) p: vec4f, @location(0) a: vec4f, @location(1) @interpolate(flat) choice: u32 }
@vertex fn vs(@location(0) p: vec4f, @location(1) a: vec4f, @location(2) b: vec4f) -> Out {
    return Out(p, a, u32(b.x));
}
@fragment fn fs(@location(0) a: vec4f, @location(1) @interpolate(flat) choice: u32) -> @location(0) vec4f {
    return vec4f(a.x, f32(choice), a.zw);
}
";

/// The whole viewport, once for each choice; a.x is the number of the draw.
fn rectangles(choices: &[f32]) -> Vec<Vertex3> {
    let corners = [
        (0.0, 0.0),
        (16.0, 0.0),
        (0.0, 16.0),
        (0.0, 16.0),
        (16.0, 0.0),
        (16.0, 16.0),
    ];
    let one = |(n, &c): (usize, &f32)| corners.map(|(x, y)| [at(x, y, 0.5), [n as f32, 0.0, x, y], [c, 0.0, 0.0, 0.0]]);
    choices.iter().enumerate().flat_map(one).collect()
}

fn quarter(i: usize) -> (Viewport, Rect) {
    let view = Viewport {
        x: (i % 2) as f32 * 8.0,
        y: (i / 2) as f32 * 8.0,
        width: 8.0,
        height: 8.0,
        ..WHOLE
    };
    (view, EVERYWHERE)
}

/// REQ-R13: an index out of range is slot 0, and the fragment shader sees it unmodified.
#[test]
fn req_r13_r_rast_22_viewport_index() {
    let mut s = Shot::new(CHOOSE, rectangles(&[1.0, 3.0, 16.0, 9.0]));
    s.renamed = vec![("choice", Builtin::ViewportIndex)];
    s.viewport = quarter(0).0;
    s.more = vec![quarter(1), quarter(2), quarter(3)];
    let picture = s.render();
    for (x, y) in (0..16).flat_map(|x| (0..16).map(move |y| (x, y))) {
        let pixel = picture.rgba(x, y);
        match (x < 8, y < 8) {
            (true, true) => assert_eq!(pixel[..2], [2.0, 16.0]),
            (false, true) => assert_eq!(pixel[..2], [0.0, 1.0]),
            (false, false) => assert_eq!(pixel[..2], [1.0, 3.0]),
            // Nobody chose slot 2; slot 9 isn't set.
            (true, false) => assert_eq!(pixel[..2], [-1.0, -1.0]),
        }
    }
    // The viewport's transform is the slot's: attributes run over its 8 pixels.
    assert_eq!(picture.rgba(8, 0)[2..], [1.0, 1.0]);
    assert_eq!(picture.rgba(15, 15)[2..], [15.0, 15.0]);
}

/// R-RAST-22: viewport and scissor go together; the viewport's depth range too.
#[test]
fn r_rast_22_26_scissor_and_depth_range_are_the_slots() {
    let shader = CHOOSE.replace("@fragment fn fs(", "@fragment fn fs(@builtin(position) p: vec4f, ");
    let shader = shader.replace("vec4f(a.x, f32(choice), a.zw)", "vec4f(a.x, p.z, a.zw)");
    let mut s = Shot::new(&shader, rectangles(&[0.0, 1.0]));
    s.renamed = vec![("choice", Builtin::ViewportIndex)];
    let deep = Viewport {
        min_depth: 0.5,
        ..WHOLE
    };
    let scissor = Rect {
        x0: 3,
        y0: 4,
        x1: 6,
        y1: 9,
    };
    s.more = vec![(deep, scissor)];
    let picture = s.render();
    for (x, y) in (0..16).flat_map(|x| (0..16).map(move |y| (x, y))) {
        let inside = (3..6).contains(&x) && (4..9).contains(&y);
        let expected = if inside { [1.0, 0.75] } else { [0.0, 0.5] };
        assert_eq!(picture.rgba(x, y)[..2], expected);
    }
}

/// A strip whose vertices choose differently: the leading vertex decides, for lines the last if it leads.
#[test]
fn r_rast_22_130_the_leading_vertex_chooses() {
    let v = |x: f32, y: f32, c: f32| [at(x, y, 0.5), [c, 0.0, 0.0, 0.0], [c, 0.0, 0.0, 0.0]];
    let strip = vec![
        v(1.0, 1.0, 0.0),
        v(15.0, 1.0, 1.0),
        v(1.0, 15.0, 2.0),
        v(15.0, 15.0, 3.0),
    ];
    let mut s = Shot::new(CHOOSE, strip);
    s.renamed = vec![("choice", Builtin::ViewportIndex)];
    s.primitive.topology = PrimitiveTopology::TriangleStrip;
    s.viewport = quarter(0).0;
    s.more = vec![quarter(1), quarter(2), quarter(3)];
    let quarters = |s: &Shot| {
        let drawn = s.render().drawn(0);
        (0..4)
            .filter(|&q| drawn.iter().any(|&(x, y)| (x / 8, y / 8) == (q % 2, q / 2)))
            .collect::<Vec<_>>()
    };
    assert_eq!(quarters(&s), [0, 1]);
    s.primitive.extended.provoking_vertex = ProvokingVertex::Last;
    assert_eq!(quarters(&s), [2, 3]);
    s.primitive.topology = PrimitiveTopology::LineStrip;
    assert_eq!(quarters(&s), [1, 2, 3]);
    s.primitive.extended.provoking_vertex = ProvokingVertex::First;
    assert_eq!(quarters(&s), [0, 1, 2]);
}

/// Clipping happens in the chosen viewport.
#[test]
fn r_rast_10_22_clipping_in_another_viewport() {
    let vertices: Vec<Vertex3> = rectangles(&[1.0])
        .into_iter()
        .map(|[p, a, b]| [[p[0] * 100_000.0, p[1], p[0] * 100_000.0 + 0.5, 1.0], a, b])
        .collect();
    let mut s = Shot::new(CHOOSE, vertices);
    s.renamed = vec![("choice", Builtin::ViewportIndex)];
    s.primitive.unclipped_depth = true;
    s.more = vec![quarter(3)];
    let drawn = s.render().drawn(0);
    assert_eq!(drawn.len(), 64);
    assert!(drawn.iter().all(|&(x, y)| x >= 8 && y >= 8));
    // Of z, which runs from -0.5 to 1.5 over the viewport, the middle half is left.
    s.primitive.unclipped_depth = false;
    let drawn = s.render().drawn(0);
    assert_eq!(drawn.len(), 32);
    assert!(drawn.iter().all(|&(x, y)| (10..14).contains(&x) && y >= 8));
}

/// R-RAST-27: layers of an array; out of range is layer 0.
#[test]
fn req_r13_r_rast_27_layers() {
    for samples in [1, 4] {
        let mut s = Shot::new(CHOOSE, rectangles(&[2.0, 0.0, 7.0]));
        s.renamed = vec![("choice", Builtin::Layer)];
        s.layers = 4;
        s.samples = samples;
        let picture = s.render();
        let value = |layer: usize| picture.layers[layer][5 * 16 + 5];
        assert_eq!(value(0)[..2], [2.0, 7.0]);
        assert_eq!(value(2)[..2], [0.0, 2.0]);
        assert!(picture.drawn(1).is_empty() && picture.drawn(3).is_empty());
        assert_eq!((picture.drawn(0).len(), picture.drawn(2).len()), (256, 256));
    }
}

/// REQ-R14.
#[test]
fn req_r14_r_rast_25_fractional_viewport() {
    let mut s = Shot::new(CHOOSE, rectangles(&[0.0]));
    s.viewport = Viewport {
        x: 2.5,
        width: 8.25,
        ..WHOLE
    };
    let drawn = s.render().drawn(0);
    assert!(drawn.iter().all(|&(x, _)| (2..10).contains(&x)));
    assert!((3..10).all(|x| drawn.contains(&(x, 0))));
}
