//! Law N8: what shaders leave in memory, and what they get back from it, is the same at every lane width, for every
//! number of threads, and in the interpreter.

use quadrille::*;
use std::num::NonZeroUsize;

/// Tickets, a last writer, a chain of both, and a histogram.
const ORDER: &str = "
    struct Shared { ticket: atomic<u32>, last: u32, chain: array<u32, 16>, histogram: array<atomic<u32>, 16> }
    @group(0) @binding(0) var<storage, read_write> data: Shared;

    struct Out { @builtin(position) position: vec4f }
    @vertex fn vs(@builtin(vertex_index) i: u32) -> @builtin(position) vec4f {
        // Triangles that overlap: a fan of three.
        let corner = i % 3u;
        let turn = f32(i / 3u);
        return vec4f(f32(corner & 1u) * 4.0 - 1.0 - turn * 0.3, f32(corner >> 1u) * 4.0 - 1.0 + turn * 0.2, 0.5, 1.0);
    }

    @fragment fn tickets(@builtin(position) p: vec4f) -> @location(0) u32 {
        let mine = atomicAdd(&data.ticket, 1u);
        let slot = mine & 15u;
        // Each changes what another left.
        data.chain[slot] = data.chain[(slot + 5u) & 15u] * 3u + u32(p.x) + mine;
        data.last = u32(p.x) * 256u + u32(p.y);
        if u32(p.x) % 3u == 0u { discard; }
        return atomicExchange(&data.ticket, mine + 3u) ^ data.chain[slot];
    }

    @fragment fn last_one(@builtin(position) p: vec4f) -> @location(0) u32 {
        data.last = u32(p.x) * 256u + u32(p.y);
        return 1u;
    }

    @fragment fn count(@builtin(position) p: vec4f) -> @location(0) u32 {
        atomicAdd(&data.histogram[(u32(p.x) * 7u + u32(p.y)) & 15u], 1u);
        return 2u;
    }
";

const SIDE: u32 = 150;

fn render(d: &DeviceDescriptor<'_>, entry: &str) -> (Vec<u8>, Vec<u8>, CompileCounters) {
    let device = Device::new(d).expect("a device");
    let module = device
        .create_shader_module(ShaderModuleDescriptor {
            label: Some("order.wgsl"),
            source: ShaderSource::Wgsl(ORDER.into()),
        })
        .expect("compiles");
    let targets = [Some(ColorTargetState::new(TextureFormat::R32Uint))];
    let fragment = FragmentState {
        entry_point: Some(entry),
        ..FragmentState::new(&module, entry, &targets)
    };
    let pipeline = device
        .create_render_pipeline(&RenderPipelineDescriptor {
            label: Some("order"),
            ..RenderPipelineDescriptor::new(VertexState::new(&module, "vs", &[]), Some(fragment))
        })
        .expect("a pipeline");
    let target = device
        .create_texture(&TextureDescriptor {
            label: Some("target"),
            size: Extent3d::new_2d(SIDE, SIDE),
            format: TextureFormat::R32Uint,
            usage: TextureUsages::RENDER_ATTACHMENT | TextureUsages::COPY_SRC,
            ..TextureDescriptor::default()
        })
        .expect("a texture");
    let data = device
        .create_buffer_init(&BufferInitDescriptor {
            label: Some("data"),
            contents: &[0; 4 * 34],
            usage: BufferUsages::STORAGE | BufferUsages::COPY_SRC,
        })
        .expect("a buffer");
    let group = device
        .create_bind_group(&BindGroupDescriptor {
            label: Some("group"),
            layout: &pipeline.get_bind_group_layout(0).expect("a group"),
            entries: &[BindGroupEntry::new(0, &data)],
        })
        .expect("a bind group");
    let mut encoder = device.create_command_encoder(&CommandEncoderDescriptor { label: Some("encoder") });
    let view = target.create_view(&TextureViewDescriptor::default()).expect("a view");
    let mut pass = encoder
        .begin_render_pass(&RenderPassDescriptor {
            label: Some("pass"),
            color_attachments: &[Some(RenderPassColorAttachment::new(&view))],
            ..RenderPassDescriptor::default()
        })
        .expect("a pass");
    pass.set_pipeline(&pipeline).expect("set");
    pass.set_bind_group(0, &group, &[]).expect("set");
    pass.draw(0..9, 0..2).expect("recorded");
    pass.end();
    device.queue().submit([encoder.finish()]).expect("runs");
    (
        target.read().expect("readable"),
        data.read().expect("readable"),
        device.compile_counters(),
    )
}

#[test]
fn memory_is_the_same_at_every_width_and_number_of_threads() {
    for entry in ["tickets", "last_one", "count"] {
        let interpreted = DeviceDescriptor {
            backend: Backend::Interpreter,
            threads: NonZeroUsize::new(1),
            ..DeviceDescriptor::default()
        };
        let (image, data, _) = render(&interpreted, entry);
        assert!(data.iter().any(|&b| b != 0), "{entry}: nothing was written");
        for lanes in [Lanes::Four, Lanes::Auto] {
            for threads in 1..=4 {
                for backend in [Backend::Jit, Backend::Interpreter] {
                    let d = DeviceDescriptor {
                        backend,
                        lanes,
                        threads: NonZeroUsize::new(threads),
                        ..DeviceDescriptor::default()
                    };
                    let (other_image, other_data, _) = render(&d, entry);
                    assert!(
                        other_image == image,
                        "{entry}: {lanes:?}, {threads} threads, {backend:?}: image"
                    );
                    assert_eq!(other_data, data, "{entry}: {lanes:?}, {threads} threads, {backend:?}");
                }
            }
        }
    }
}

#[test]
fn only_programs_that_order_shows_in_give_up_eight_lanes() {
    let d = DeviceDescriptor {
        backend: Backend::Jit,
        ..DeviceDescriptor::default()
    };
    if Device::new(&d).expect("a device").lanes() != 8 {
        println!("skipped: no 8 lanes here");
        return;
    }
    for (entry, wide) in [("tickets", 1), ("last_one", 2), ("count", 2)] {
        let (_, _, counters) = render(&d, entry);
        assert_eq!(
            (counters.programs, counters.eight_lanes, counters.refused),
            (2, wide, 0),
            "{entry}"
        );
    }
}
