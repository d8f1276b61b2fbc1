//! The shaders: WGSL of the tree, from trivial to the PBR shader of `quadrille render`, with data that keeps them busy.

use quadrille::scene;
use quadrille::scene::shader::{ToneMap, Variant};
use std::path::Path;

/// A fragment shader to measure.
pub struct Case {
    /// What the table calls it.
    pub name: &'static str,
    /// WGSL.
    pub source: String,
    /// Fragment entry point.
    pub entry: &'static str,
    /// Words of uniform buffers that must make sense: group, binding, word, value.
    pub words: Vec<(u32, u32, usize, u32)>,
    /// Samplers filter with this much anisotropy.
    pub anisotropy: u16,
}

macro_rules! tree {
    ($path:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/", $path)).to_owned()
    };
}

fn case(name: &'static str, source: String, entry: &'static str) -> Case {
    Case {
        name,
        source,
        entry,
        words: Vec::new(),
        anisotropy: 1,
    }
}

/// All of them, the cheapest first.
pub fn cases() -> Vec<Case> {
    let mut mandelbrot = case("mandelbrot", tree!("tests/jobs/mandelbrot/main.wgsl"), "fs_iterate");
    for (word, value) in [(0, 1.0f32), (1, 1.0), (4, -0.6), (5, 0.0), (6, 2.6)] {
        mandelbrot.words.push((0, 0, word, value.to_bits()));
    }
    let mut ground = case(
        "ground, 16x anisotropic",
        tree!("frontend/tests/shaders/ground-aniso.wgsl"),
        "fs",
    );
    ground.anisotropy = 16;
    vec![
        case("fill", tree!("tests/jobs/fill/main.wgsl"), "fs"),
        case("triangle", tree!("tests/jobs/triangle/main.wgsl"), "fs"),
        case("particles", tree!("frontend/tests/shaders/particles.wgsl"), "fs"),
        case("lambert", tree!("frontend/tests/shaders/sphere-1m.wgsl"), "fs"),
        case("stripes", tree!("tests/jobs/stencil/main.wgsl"), "fs_a"),
        ground,
        case("foliage, discards", tree!("frontend/tests/shaders/foliage.wgsl"), "fs"),
        case("objects, textured", tree!("tests/jobs/objects/main.wgsl"), "fs"),
        case("checker", tree!("tests/jobs/checker/main.wgsl"), "fs"),
        case("tone map, 4 taps", tree!("frontend/tests/shaders/ssaa-4k.wgsl"), "fs"),
        case("shadow, 25 taps", tree!("tests/jobs/shadow-pcf/main.wgsl"), "fs"),
        case(
            "deferred geometry",
            tree!("tests/jobs/deferred/main.wgsl"),
            "fs_geometry",
        ),
        case(
            "deferred, 32 lights",
            tree!("tests/jobs/deferred/main.wgsl"),
            "fs_light",
        ),
        case("pbr, 4 lights", tree!("frontend/tests/shaders/pbr.wgsl"), "fs_ldr"),
        gltf("glTF PBR, factors only", false),
        gltf("glTF PBR, all maps", true),
        case("fbm-warp", tree!("tests/jobs/fbm-warp/main.wgsl"), "fs"),
        mandelbrot,
        case("raymarch", tree!("tests/jobs/raymarch/main.wgsl"), "fs"),
    ]
}

/// What `quadrille render` compiles for a material of the showpiece under two lights: the one with most maps, or none.
fn gltf(name: &'static str, maps: bool) -> Case {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/showpiece.glb");
    let scene = scene::load(&path, &scene::LoadOptions::default()).expect("the showpiece loads");
    let primitives = scene.meshes.iter().flat_map(|m| &m.primitives);
    let variants = primitives.map(|p| Variant::new(&scene.materials[p.material], p, true, ToneMap::Neutral));
    let lit = variants.filter(|v| v.uses_sky() && !v.blend && !v.mask);
    let key = |v: &Variant| {
        if maps {
            v.maps().count()
        } else {
            usize::MAX - v.maps().count()
        }
    };
    let variant = lit.max_by_key(key).expect("it has lit materials");
    Case {
        // The number of lights, in `Frame`.
        words: vec![(0, 0, 24, 2)],
        ..case(name, variant.source(), "fs")
    }
}
