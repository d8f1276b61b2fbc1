//! Every shader of the tree runs with 8 lanes: a refusal of the widener costs half the speed and says nothing.
#![cfg(target_arch = "x86_64")]

mod support;

use quadrille::job::{LoadOptions, PrepareOptions};
use quadrille::scene::{self, environment::Environment, render::PreparedScene, render::RenderOptions, view::View};
use quadrille::{CompileCounters, Device, DeviceDescriptor, Lanes, TextureFormat};
use quadrille_frontend::passes;
use quadrille_frontend::wgsl::{Constants, Module};
use quadrille_jit::{Interleave, Jit, JitOptions};
use quadrille_raster::pipeline::{
    self, BlendComponent, BlendFactor, BlendOperation, BlendState, ColorTargetState, CompareFunction,
    DepthStencilState, MultisampleState, PipelineDescriptor, StencilFaceState, StencilOperation,
};
use std::path::{Path, PathBuf};

/// A device with 8 lanes, or none: then there is nothing to test here.
fn device() -> Option<Device> {
    let device = Device::new(&DeviceDescriptor {
        lanes: Lanes::Eight,
        ..DeviceDescriptor::default()
    });
    device.map_err(|e| println!("skipped: {e}")).ok()
}

fn jit(interleave: Interleave) -> Jit {
    Jit::new(JitOptions {
        interleave,
        ..JitOptions::default()
    })
    .expect("a supported CPU")
}

#[track_caller]
fn assert_all_wide(what: &str, device: &Device) -> CompileCounters {
    let counters = device.compile_counters();
    assert_eq!(device.refusals(), [], "{what}");
    assert_eq!(counters.refused, 0, "{what}");
    assert_eq!(counters.eight_lanes, counters.programs, "{what}");
    counters
}

/// The WGSL files of the tree. Templates are tested as what is made of them, by the scene.
fn shaders(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).expect("lists") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() && name != "target" && !name.starts_with('.') {
            shaders(&path, found);
        } else if name.ends_with(".wgsl") {
            found.push(path);
        }
    }
}

#[test]
fn every_shader_file_by_itself() {
    if device().is_none() {
        return;
    }
    let mut files = Vec::new();
    shaders(Path::new(env!("CARGO_MANIFEST_DIR")), &mut files);
    assert!(files.len() > 15, "{files:?}");
    let mut programs = 0;
    for path in files {
        let name = path.display().to_string();
        let text = std::fs::read_to_string(&path).expect("a text");
        if text.contains('$') {
            continue;
        }
        let module = Module::parse(&name, &text).unwrap_or_else(|e| panic!("{}", e.render()));
        for entry in module.entry_points() {
            let mut shader = module
                .lower(&entry.name, &Constants::new())
                .unwrap_or_else(|e| panic!("{}", e.render()));
            passes::inline_all(&mut shader).expect("inlines");
            let (program, _) = pipeline::alone(&shader).unwrap_or_else(|e| panic!("{name}: {e}"));
            for interleave in [Interleave::Never, Interleave::Always] {
                let report = jit(interleave)
                    .report(&program)
                    .unwrap_or_else(|e| panic!("{name}: {e}"));
                assert_eq!(report.four, None, "{name}: {}", entry.name);
                programs += 1;
            }
        }
    }
    println!("{programs} programs");
}

#[test]
fn every_pipeline_of_every_job() {
    for entry in std::fs::read_dir(support::jobs()).expect("lists") {
        let path = entry.expect("an entry").path();
        if !path.join("workload.json").exists() {
            continue;
        }
        let Some(device) = device() else { return };
        let name = path.display().to_string();
        let job = quadrille::job::load(&path, &LoadOptions::default()).unwrap_or_else(|e| panic!("{name}: {e}"));
        let options = PrepareOptions {
            scale: std::num::NonZeroU32::new(16).expect("not zero"),
        };
        let prepared = job.prepare(&device, &options).unwrap_or_else(|e| panic!("{name}: {e}"));
        let counters = assert_all_wide(&name, &device);
        assert!(counters.programs >= 2, "{name}: {counters:?}");
        drop(prepared);
    }
}

#[test]
fn every_pipeline_of_a_scene() {
    let Some(device) = device() else { return };
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/assets/showpiece.glb"));
    let scene = scene::load(
        path,
        &scene::LoadOptions {
            threads: 2,
            memory_limit: 1 << 30,
            max_image_size: 1024,
        },
    )
    .expect("loads");
    let camera = scene.cameras.first().expect("a camera");
    let view = View::new(camera, 1.0);
    let light = Environment::studio(view.yaw(), 2);
    for samples in [1, 4] {
        let options = RenderOptions {
            width: 16,
            height: 16,
            samples,
            ..RenderOptions::default()
        };
        PreparedScene::new(&device, &scene, &light, &view, &options).expect("prepares");
    }
    let counters = assert_all_wide("the showpiece", &device);
    assert!(counters.programs > 4, "{counters:?}");
}

const PLAIN: &str = "
    @vertex fn vs(@builtin(vertex_index) i: u32) -> @builtin(position) vec4f { return vec4f(f32(i), 0.0, 0.5, 1.0); }
    @fragment fn float(@builtin(position) p: vec4f) -> @location(0) vec4f { return p; }
    @fragment fn uint(@builtin(position) p: vec4f) -> @location(0) vec4u { return vec4u(p); }
    @fragment fn sint(@builtin(position) p: vec4f) -> @location(0) vec4i { return vec4i(p); }
    @fragment fn depth(@builtin(position) p: vec4f) -> @builtin(frag_depth) f32 {
        if p.x < 3.0 { discard; }
        return p.y;
    }
";

/// Formats, blending, depth, stencil and multisampling around the plainest shaders.
#[test]
fn all_fixed_function() {
    if device().is_none() {
        return;
    }
    let jit = jit(Interleave::Never);
    let module = Module::parse("plain.wgsl", PLAIN).unwrap_or_else(|e| panic!("{}", e.render()));
    let shader = |name: &str| {
        module
            .lower(name, &Constants::new())
            .unwrap_or_else(|e| panic!("{}", e.render()))
    };
    let (vertex, float, depth) = (shader("vs"), shader("float"), shader("depth"));
    let (uint, sint) = (shader("uint"), shader("sint"));
    let mut programs = 0;
    let mut check = |what: &str, fragment, targets: &[_], depth_stencil, count: u32| {
        let made = pipeline::RenderPipeline::programs(&PipelineDescriptor {
            label: what,
            vertex: &vertex,
            buffers: &[],
            fragment,
            targets,
            primitive: Default::default(),
            depth_stencil,
            multisample: MultisampleState {
                count,
                alpha_to_coverage_enabled: count > 1 && !targets.is_empty(),
                ..MultisampleState::default()
            },
            rules: Default::default(),
            extended: Default::default(),
        });
        let made = match made {
            Ok(made) => made,
            // Not every format can do everything.
            Err(e) => return println!("skipped: {e}"),
        };
        for program in [Some(&made.vertex), made.fragment.as_ref()].into_iter().flatten() {
            let report = jit.report(program).unwrap_or_else(|e| panic!("{what}: {e}"));
            assert_eq!(report.four, None, "{what}");
            programs += 1;
        }
    };
    let operations = [
        (
            BlendOperation::Add,
            BlendFactor::SrcAlpha,
            BlendFactor::OneMinusSrcAlpha,
        ),
        (BlendOperation::ReverseSubtract, BlendFactor::Dst, BlendFactor::Constant),
        (BlendOperation::Max, BlendFactor::One, BlendFactor::One),
    ];
    for &format in TextureFormat::ALL {
        let info = format.info();
        if info.depth || info.stencil {
            for count in [1, 4] {
                for (i, compare) in [CompareFunction::Less, CompareFunction::Equal].into_iter().enumerate() {
                    let face = StencilFaceState {
                        compare,
                        fail_op: StencilOperation::Invert,
                        depth_fail_op: StencilOperation::IncrementWrap,
                        pass_op: StencilOperation::DecrementClamp,
                    };
                    let state = DepthStencilState {
                        depth_write_enabled: info.depth,
                        depth_compare: if info.depth { compare } else { CompareFunction::Always },
                        stencil_front: if info.stencil { face } else { Default::default() },
                        stencil_back: if info.stencil { face } else { Default::default() },
                        ..DepthStencilState::new(format)
                    };
                    let fragment = [None, Some(&depth)][i];
                    check(info.name, fragment.filter(|_| info.depth), &[], Some(state), count);
                }
            }
        } else if info.renderable {
            let fragment = match info.kind {
                quadrille::FormatKind::Uint => &uint,
                quadrille::FormatKind::Sint => &sint,
                _ => &float,
            };
            for count in [1, 4] {
                let plain = ColorTargetState::new(format);
                check(info.name, Some(fragment), &[Some(plain)], None, count);
                if !info.blendable {
                    continue;
                }
                for (operation, src_factor, dst_factor) in operations {
                    let component = BlendComponent {
                        src_factor,
                        dst_factor,
                        operation,
                    };
                    let target = ColorTargetState {
                        blend: Some(BlendState {
                            color: component,
                            alpha: component,
                        }),
                        write_mask: 7,
                        ..plain
                    };
                    check(info.name, Some(fragment), &[Some(target)], None, count);
                }
            }
        }
    }
    assert!(programs > 200, "{programs} programs");
}
