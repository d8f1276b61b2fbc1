//! Pairs that say more, or less, about a pixel than its samples: antialiased lines (R-RAST-57), samples at the centre
//! (R-RAST-91), inner coverage (R-RAST-123); and clip distances where they meet them (R-RAST-13).

use super::shot::{SHOW_A, Shot, Vertex3};
use super::support::at;
use quadrille_frontend::ir::Builtin;
use quadrille_jit::interp::Interpreter;
use quadrille_raster::pipeline::{CompareFunction, FillMode, LineMode, PrimitiveTopology, SamplePattern};

/// Vertices at pixel positions, with their number as a.
fn vertices(at_pixels: &[(f32, f32)]) -> Vec<Vertex3> {
    let of = |(n, &(x, y)): (usize, &(f32, f32))| [at(x, y, 0.5), [n as f32, 0.0, 0.0, 1.0], [0.0; 4]];
    at_pixels.iter().enumerate().map(of).collect()
}

fn refused(s: &Shot, rule: &str) {
    match s.pipeline(&Interpreter) {
        Ok(_) => panic!("accepted"),
        Err(e) => assert!(e.to_string().contains(rule), "{e}"),
    }
}

/// Writes (0, 0, 0, 0.5).
const HALF_ALPHA: &str = "return vec4f(0.0, 0.0, 0.0, 0.5);";

fn line(ends: [(f32, f32); 2]) -> Shot {
    let mut s = Shot::new(&SHOW_A.replace("return a;", HALF_ALPHA), vertices(&ends));
    s.primitive.topology = PrimitiveTopology::LineList;
    s.primitive.extended.line_mode = LineMode::AlphaAntialiased;
    s
}

/// R-RAST-57: what a line covers of a pixel multiplies alpha; all samples of the pixel get it (R-RAST-55), and the
/// depth test is theirs.
#[test]
fn r_rast_50_55_57_antialiased_lines() {
    let mut s = line([(2.0, 8.25), (12.5, 8.25)]);
    for samples in [1, 4, 16] {
        s.samples = samples;
        s.depth = Some((1.0, CompareFunction::Less));
        let picture = s.render();
        let row = |y: usize| -> Vec<f32> { (0..16).map(|x| picture.rgba(x, y)[3]).collect() };
        // Rows 7 and 8 have a quarter and three quarters of it; the last pixel half of that.
        for (y, part) in [(7, 0.25), (8, 0.75)] {
            let expected = |x: usize| match x {
                2..12 => 0.5 * part,
                12 => 0.25 * part,
                _ => -1.0,
            };
            for (x, a) in row(y).into_iter().enumerate() {
                assert!((a - expected(x)).abs() < 2e-5, "{samples} samples, {x} {y}: {a}");
            }
        }
        assert_eq!(picture.drawn(0).len(), 22);
        assert!(picture.drawn(0).iter().all(|&(x, y)| picture.at(x, y) == 0.0));
        s.depth = Some((0.25, CompareFunction::Less));
        assert_eq!(s.render().drawn(0), []);
    }
}

/// Wireframes and the sample mask, and what antialiased lines exclude.
#[test]
fn r_rast_57_80_96_antialiased_edges() {
    let mut s = line([(0.0, 0.0); 2]);
    s.primitive.topology = PrimitiveTopology::TriangleList;
    // Without the fill mode it is a triangle.
    s.vertices = vertices(&[(2.0, 2.5), (12.0, 2.5), (2.0, 12.5)]);
    assert_eq!(s.render().rgba(4, 4)[3], 0.5);
    s.primitive.extended.fill_mode = FillMode::Wireframe;
    let picture = s.render();
    assert_eq!((picture.rgba(4, 4)[3], picture.rgba(6, 2)[3]), (-1.0, 0.5));
    s.sample_mask = !1;
    assert_eq!(s.render().drawn(0), []);
    s.sample_mask = 1;
    assert_eq!(s.render(), picture);
    s.shader = SHOW_A.replace("fn fs(", "fn fs(@builtin(sample_index) i: u32, ");
    s.pipeline(&Interpreter).unwrap();
    s.samples = 4;
    refused(&s, "R-RAST-55");
}

/// Clip distances cut whole pixels out of antialiased lines, by the centre.
#[test]
fn r_rast_13_57_clipped_antialiased_lines() {
    let mut s = line([(2.0, 8.5), (14.0, 8.5)]);
    s.shader = "enable clip_distances;
        struct Out { @builtin(position) p: vec4f, @builtin(clip_distances) d: array<f32, 1> }
        @vertex fn vs(@location(0) p: vec4f, @location(1) a: vec4f) -> Out { return Out(p, array<f32, 1>(a.x)); }
        @fragment fn fs() -> @location(0) vec4f { return vec4f(1.0); }"
        .into();
    s.vertices[0][1][0] = -2.0;
    s.vertices[1][1][0] = 10.0;
    // The distance is x - 4.
    assert_eq!(s.render().drawn(0), (4..14).map(|x| (x, 8)).collect::<Vec<_>>());
}

/// Shows coverage, depth and where a centroid input is.
const PLACES: &str = "
struct Out { @builtin(position) p: vec4f, @location(0) @interpolate(linear, centroid) a: vec4f }
@vertex fn vs(@location(0) p: vec4f, @location(1) a: vec4f) -> Out { return Out(p, a); }
@fragment fn fs(v: Out, @builtin(sample_mask) mask: u32) -> @location(0) vec4f {
    return vec4f(f32(mask), v.p.z, v.a.x, 1.0);
}";

/// R-RAST-91: all samples at the centre: coverage and depth of one sample, for all of them.
#[test]
fn r_rast_91_samples_at_the_centre() {
    let corners = [((1.3, 1.1), 0.1), ((14.2, 3.7), 0.9), ((4.9, 13.6), 0.4)];
    let mut s = Shot::new(
        PLACES,
        corners
            .map(|((x, y), z)| [at(x, y, z), [x, y, 0.0, 1.0], [0.0; 4]])
            .to_vec(),
    );
    s.depth = Some((1.0, CompareFunction::Less));
    let one = s.render();
    for samples in [2, 4, 8, 16] {
        s.samples = samples;
        s.extended.sample_pattern = SamplePattern::Standard;
        assert_ne!(s.render().drawn(0), one.drawn(0), "{samples}");
        s.extended.sample_pattern = SamplePattern::Center;
        let picture = s.render();
        assert_eq!(picture.drawn(0), one.drawn(0), "{samples}");
        for (x, y) in one.drawn(0) {
            let [_, z, a, _] = one.rgba(x, y);
            let all = ((1u32 << samples) - 1) as f32;
            // Up to the rounding of the mean.
            for (got, expected) in picture.rgba(x, y).into_iter().zip([all, z, a, 1.0]) {
                assert!((got - expected).abs() <= expected * 1e-6, "{samples}: {x} {y}: {got}");
            }
        }
        s.sample_mask = 0b10;
        let masked = s.render();
        let (x, y) = one.drawn(0)[20];
        let expected = (2.0 - (samples - 1) as f32) / samples as f32;
        assert_eq!(masked.at(x, y), expected);
        s.sample_mask = u32::MAX;
    }
    s.samples = 1;
    assert_eq!(s.render(), one);
    s.samples = 4;
    s.shader = SHOW_A.replace("fn fs(", "fn fs(@builtin(sample_index) i: u32, ");
    refused(&s, "R-RAST-91");
    s.shader = SHOW_A.into();
    s.primitive.topology = PrimitiveTopology::LineList;
    s.vertices = vertices(&[(2.5, 2.5), (9.5, 2.5)]);
    s.pipeline(&Interpreter).unwrap();
    s.primitive.extended.line_mode = LineMode::Rectangular;
    refused(&s, "R-RAST-91");
}

/// The location `inner` is renamed to the built-in; drawn pixels show 2, those inside 3.
const INNER: &str = "
struct Out { @builtin(position) p: vec4f, @location(0) @interpolate(flat) inner: u32 }
@vertex fn vs(@location(0) p: vec4f) -> Out { return Out(p, 0u); }
@fragment fn fs(@location(0) @interpolate(flat) inner: u32) -> @location(0) vec4f { return vec4f(2.0 + f32(inner)); }";

fn inner(at_pixels: &[(f32, f32)]) -> Shot {
    let mut s = Shot::new(INNER, vertices(at_pixels));
    s.renamed = vec![("inner", Builtin::InnerCoverage)];
    s.primitive.extended.conservative = true;
    s
}

/// Whether a pixel's square lies in a triangle that is clockwise, by its corners, with a margin of `by` pixels.
fn within(corners: &[(f32, f32); 3], x: usize, y: usize, by: f64) -> bool {
    let inside = |px: f64, py: f64| {
        (0..3).all(|k| {
            let ((ax, ay), (bx, by_)) = (corners[k], corners[(k + 1) % 3]);
            let (ax, ay, bx, b_y) = (f64::from(ax), f64::from(ay), f64::from(bx), f64::from(by_));
            let e = (bx - ax) * (py - ay) - (b_y - ay) * (px - ax);
            e >= by * ((bx - ax).abs() + (b_y - ay).abs())
        })
    };
    [(0, 0), (1, 0), (0, 1), (1, 1)]
        .iter()
        .all(|&(i, j)| inside((x + i) as f64, (y + j) as f64))
}

/// R-RAST-123: bit 0 in pixels that lie inside for certain, at any number of samples and whatever the mask; never where
/// there is doubt, always where there is more room than 1/256 pixel.
#[test]
fn r_rast_123_inner_coverage() {
    let shapes = [
        [(2.2, 1.3), (14.7, 5.1), (4.6, 14.9)],
        [(0.0, 0.0), (16.0, 0.0), (0.0, 16.0)],
        [(1.0, 1.0), (9.0, 1.0), (9.0, 9.0)],
        [(-30.0, 3.5), (40.0, 2.5), (7.0, 70.0)],
        [(3.0, 3.0), (3.9, 3.0), (3.0, 3.9)],
    ];
    for corners in shapes {
        for samples in [1, 2, 4, 8, 16] {
            let mut s = inner(&corners);
            s.samples = samples;
            let picture = s.render();
            let touched = picture.drawn(0);
            assert!(!touched.is_empty());
            for (x, y) in touched {
                let v = picture.at(x, y);
                assert!(v == 2.0 || v == 3.0, "{v}");
                assert!(
                    v == 2.0 || within(&corners, x, y, 0.0),
                    "{corners:?}: {x} {y} is not inside"
                );
                let certain = within(&corners, x, y, 1.0 / 256.0);
                assert!(v == 3.0 || !certain, "{corners:?}: {x} {y} is inside");
            }
        }
    }
    // The same pixels as without it, and not counted down by the mask.
    let mut s = inner(&shapes[0]);
    s.samples = 4;
    let all = s.render();
    s.sample_mask = 0b1110;
    let masked = s.render();
    assert_eq!(masked.at(6, 6), (3.0 * 3.0 - 1.0) / 4.0);
    assert_eq!(all.at(6, 6), 3.0);
    // A triangle without area has no inside.
    let flat = inner(&[(2.5, 2.5), (9.5, 2.5), (5.5, 2.5)]).render();
    assert_eq!(flat.drawn(0).len(), 8);
    assert!(flat.drawn(0).iter().all(|&(x, y)| flat.at(x, y) == 2.0));
}

/// Helpers read 0: the derivative across the rim of a triangle that is one pixel.
#[test]
fn r_rast_123_helpers_and_exclusions() {
    let mut s = inner(&[(2.0, 2.0), (3.0, 2.0), (2.0, 3.0)]);
    s.vertices = vertices(&[(4.0, 4.0), (5.0, 4.0), (4.0, 5.0)]);
    s.shader = INNER.replace("2.0 + f32(inner)", "dpdx(f32(inner))");
    // Not even that pixel is inside, as half of it isn't the triangle's.
    assert_eq!(s.render().at(4, 4), 0.0);
    // The quad (6, 6) has three pixels hit, of which one is inside.
    s.vertices = vertices(&[(1.0, 1.0), (7.1, 1.0), (7.1, 7.1)]);
    let picture = s.render();
    assert_eq!(picture.at(6, 2), -1.0);
    s.shader = INNER.replace("fn fs(", "fn fs(@builtin(sample_mask) m: u32, ");
    refused(&s, "R-RAST-123");
    s.shader = INNER.into();
    s.pipeline(&Interpreter).unwrap();
    s.primitive.extended.fill_mode = FillMode::Wireframe;
    refused(&s, "R-RAST-123");
    s.primitive.extended.fill_mode = FillMode::Solid;
    s.primitive.extended.conservative = false;
    refused(&s, "R-RAST-123");
}

/// A clip distance over the screen takes pixels from conservative triangles that it leaves nothing of, and the inside
/// of those that it cuts (R-RAST-120, no false negatives).
#[test]
fn r_rast_13_120_123_clip_distances_cut_conservatively() {
    let mut s = inner(&[(0.0, 0.0), (16.0, 0.0), (0.0, 16.0)]);
    s.shader = "enable clip_distances;
        struct Out { @builtin(position) p: vec4f, @location(0) @interpolate(flat) inner: u32,
            @builtin(clip_distances) d: array<f32, 1> }
        @vertex fn vs(@location(0) p: vec4f, @location(1) a: vec4f) -> Out {
            return Out(p, 0u, array<f32, 1>(a.x));
        }
        @fragment fn fs(@location(0) @interpolate(flat) inner: u32) -> @location(0) vec4f {
            return vec4f(2.0 + f32(inner));
        }"
    .into();
    // The distance is 5.75 - x.
    for (vertex, x) in s.vertices.iter_mut().zip([0.0, 16.0, 0.0]) {
        vertex[1][0] = 5.75 - x;
    }
    let picture = s.render();
    assert_eq!((picture.at(4, 3), picture.at(5, 3), picture.at(6, 3)), (3.0, 2.0, -1.0));
    s.renamed.clear();
    s.shader = s.shader.replace("f32(inner)", "0.0 * f32(inner)");
    s.samples = 4;
    let picture = s.render();
    assert_eq!((picture.at(4, 3), picture.at(5, 3), picture.at(6, 3)), (2.0, 2.0, -1.0));
}

/// R-RAST-13: +infinity at some vertices makes the distance infinite wherever they count; with -infinity it is NaN there.
#[test]
fn r_rast_13_infinite_clip_distances() {
    let shader = "enable clip_distances;
        struct Out { @builtin(position) p: vec4f, @builtin(clip_distances) d: array<f32, 1> }
        @vertex fn vs(@location(0) p: vec4f, @location(1) a: vec4f) -> Out { return Out(p, array<f32, 1>(a.x)); }
        @fragment fn fs() -> @location(0) vec4f { return vec4f(1.0); }";
    let draw = |d: [f32; 3], w: f32, samples: u32| {
        let mut s = Shot::new(shader, vertices(&[(1.0, 1.0), (14.0, 2.0), (3.0, 13.0)]));
        s.samples = samples;
        for (v, d) in s.vertices.iter_mut().zip(d) {
            v[0] = v[0].map(|c| c * w);
            v[1][0] = d;
        }
        s.render().drawn(0)
    };
    const INF: f32 = f32::INFINITY;
    for samples in [1, 4] {
        let whole = draw([1.0; 3], 1.0, samples);
        for (d, w) in [
            ([INF, -1.0, -1.0], 1.0),
            ([-1.0, INF, -5.0], 1.0),
            ([-1.0, -3.0e38, INF], 1.0),
            ([INF, INF, -1.0], 0.001),
            ([INF; 3], 1.0),
        ] {
            assert_eq!(draw(d, w, samples), whole, "{d:?}");
        }
        for d in [
            [-INF, 1.0, 1.0],
            [INF, -INF, 1.0],
            [-INF, -1.0, INF],
            [f32::NAN, 1.0, INF],
        ] {
            assert_eq!(draw(d, 1.0, samples), [], "{d:?}");
        }
    }
    // New vertices at the near plane have infinite distances, not NaN.
    let mut s = Shot::new(shader, vertices(&[(1.0, 1.0), (14.0, 2.0), (3.0, 13.0)]));
    s.vertices[2][0] = at(3.0, 13.0, -0.5);
    let cut: Vec<_> = {
        s.vertices.iter_mut().for_each(|v| v[1][0] = 1.0);
        s.render().drawn(0)
    };
    assert!(!cut.is_empty());
    for (v, d) in s.vertices.iter_mut().zip([INF, -1.0, -1.0]) {
        v[1][0] = d;
    }
    assert_eq!(s.render().drawn(0), cut);
}
