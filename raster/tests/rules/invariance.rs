//! What must not change a pixel: threads, rounds, executor, tile edge (laws R1, R4, N5, R-RAST-36).

use super::support::*;
use quadrille_frontend::ir::Interpolation;
use quadrille_jit::interp::Interpreter;
use quadrille_jit::native::{Jit, JitOptions};
use quadrille_raster::format::TextureFormat;
use quadrille_raster::pass::PassOptions;
use quadrille_raster::pipeline::{BlendComponent, BlendFactor, BlendOperation, BlendState, CompareFunction};

/// Triangles of all sizes, some clipped, drawn over one another with blending that depends on order.
fn crowd(count: usize, samples: u32) -> Frame {
    let mut seed = 3u32;
    let mut random = move |low: f32, high: f32| {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        low + (high - low) * ((seed >> 8) as f32 / (1 << 24) as f32)
    };
    let mut f = Frame::new(TextureFormat::Rgba16Float, [0.1, 0.2, 0.3, 1.0]);
    f.samples = samples;
    f.depth = Some((TextureFormat::Depth24PlusStencil8, 1.0, 0));
    let over = BlendComponent {
        operation: BlendOperation::Add,
        src_factor: BlendFactor::SrcAlpha,
        dst_factor: BlendFactor::OneMinusSrcAlpha,
    };
    for draw in 0..4 {
        let mut vertices = Vec::new();
        for _ in 0..count / 4 {
            let size = [1.0, 4.0, 30.0, 400.0][(random(0.0, 3.99)) as usize];
            let (x, y) = (random(-2.0, 18.0), random(-2.0, 18.0));
            for _ in 0..3 {
                let w = random(0.2, 3.0);
                let p = at_w(x + random(-size, size), y + random(-size, size), random(-0.1, 1.1), w);
                vertices.push((
                    p,
                    [random(0.0, 1.0), random(0.0, 1.0), random(0.0, 1.0), random(0.2, 0.8)],
                ));
            }
        }
        let interpolation = [Interpolation::Perspective, Interpolation::Linear, Interpolation::Flat][draw % 3];
        let c = f.draw(vertices, Fragment::Attribute(interpolation));
        c.targets[0].blend = Some(BlendState {
            color: over,
            alpha: over,
        });
        c.ds().depth_compare = CompareFunction::LessEqual;
        c.ds().depth_write_enabled = draw % 2 == 0;
    }
    f
}

/// R-RAST-36, R-RAST-155.
#[test]
fn threads_rounds_and_executors_change_nothing() {
    let jit = Jit::new(JitOptions::default()).unwrap();
    for samples in [1, 4] {
        let f = crowd(12000, samples);
        let small = PassOptions {
            bin_budget: 64 << 10,
            ..PassOptions::default()
        };
        let (expected, stats) = f.render_with(&jit, 1, PassOptions::default());
        assert!(stats.drawn > 500 && stats.pairs > 5000, "{stats:?}");
        for threads in [2, 3] {
            let (image, s) = f.render_with(&jit, threads, PassOptions::default());
            assert!(image == expected, "{threads} threads");
            assert_eq!((s.drawn, s.runs, s.pairs), (stats.drawn, stats.runs, stats.pairs));
        }
        let (image, s) = f.render_with(&jit, 2, small);
        assert!(s.rounds > 1, "{s:?}");
        assert!(image == expected, "rounds");
        // What depth hides depends on when it is looked at (law R5), so runs and pairs needn't be equal.
        assert_eq!((s.primitives, s.drawn), (stats.primitives, stats.drawn));
        let f = crowd(400, samples);
        let (a, b) = (
            f.render_with(&jit, 1, small).0,
            f.render_with(&Interpreter, 2, PassOptions::default()).0,
        );
        assert!(a == b, "executors");
    }
}
