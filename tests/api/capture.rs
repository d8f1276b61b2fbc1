//! Captures: what was submitted is a job file that gives the same bits.

use super::support::*;
use quadrille::job::{Batch, LoadOptions, PrepareOptions, Status, load};
use quadrille::*;
use std::path::PathBuf;

/// A directory that is removed in the end.
struct Directory(PathBuf);

impl Directory {
    fn new(name: &str) -> Directory {
        let path = std::env::temp_dir().join(format!("quadrille-capture-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a directory");
        Directory(path)
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Several submissions with writes of the host between them, blending over what was there, a copy, and an indirect draw.
#[test]
fn a_captured_job_gives_the_same_bits() {
    let directory = Directory::new("same");
    let path = directory.0.join("frame.json");
    let device = device();
    let text = "
        struct U { color: vec4f, offset: vec4f }
        @group(0) @binding(0) var<uniform> u: U;
        @group(0) @binding(1) var image: texture_2d<f32>;
        @group(0) @binding(2) var nearest: sampler;
        override scale = 1.0;
        @vertex fn vs(@location(0) p: vec2f) -> @builtin(position) vec4f { return vec4f(p, 0.5, 1.0) + u.offset; }
        @fragment fn fs(@builtin(position) p: vec4f) -> @location(0) vec4f {
            return u.color * textureSampleLevel(image, nearest, p.xy / 8.0, 0.0) * vec4f(scale);
        }";
    let module = module(&device, text);
    let part = BlendComponent {
        operation: BlendOperation::Add,
        src_factor: BlendFactor::SrcAlpha,
        dst_factor: BlendFactor::OneMinusSrcAlpha,
    };
    let targets = [Some(ColorTargetState {
        blend: Some(BlendState {
            color: part,
            alpha: part,
        }),
        ..ColorTargetState::new(TextureFormat::Rgba8Unorm)
    })];
    let buffers = [positions()];
    let pipeline = device
        .create_render_pipeline(&RenderPipelineDescriptor {
            label: Some("blended"),
            ..RenderPipelineDescriptor::new(
                VertexState::new(&module, "vs", &buffers),
                Some(FragmentState {
                    constants: &[("scale", 0.75)],
                    ..FragmentState::new(&module, "fs", &targets)
                }),
            )
        })
        .expect("a pipeline");
    // More than what stands inline in the job: 64 KiB of vertices, of which three are drawn.
    let mut corners = floats(&BIG);
    corners.resize(65536, 7);
    let vertices = buffer(&device, "vertices", &corners, BufferUsages::VERTEX);
    let uniform = floats(&[1.0, 0.5, 0.25, 0.5, 0.5, 0.0, 0.0, 0.0]);
    let u = buffer(
        &device,
        "same name",
        &uniform,
        BufferUsages::UNIFORM | BufferUsages::COPY_DST,
    );
    let numbers: Vec<u8> = [3u32, 1, 0, 0].iter().flat_map(|n| n.to_le_bytes()).collect();
    let arguments = buffer(&device, "same name", &numbers, BufferUsages::INDIRECT);
    let image = device
        .create_texture(&TextureDescriptor {
            label: Some("image"),
            size: Extent3d::new_2d(2, 2),
            usage: TextureUsages::TEXTURE_BINDING | TextureUsages::COPY_DST,
            ..TextureDescriptor::default()
        })
        .expect("a texture");
    image
        .write(&[255, 0, 0, 255, 0, 255, 0, 255, 0, 0, 255, 255, 255, 255, 255, 255])
        .expect("writes");
    let sampler = device.create_sampler(&SamplerDescriptor::default()).expect("a sampler");
    let group = device
        .create_bind_group(&BindGroupDescriptor {
            label: None,
            layout: &pipeline.get_bind_group_layout(0).expect("a group"),
            entries: &[
                BindGroupEntry::new(0, &u),
                BindGroupEntry::new(1, &view(&image)),
                BindGroupEntry::new(2, &sampler),
            ],
        })
        .expect("a bind group");
    let target = target(&device, "target", TextureFormat::Rgba8Unorm, 1);
    let draw = |load, indirect: bool| {
        let mut encoder = device.create_command_encoder(&CommandEncoderDescriptor::default());
        let view = view(&target);
        let mut pass = encoder
            .begin_render_pass(&RenderPassDescriptor {
                color_attachments: &[Some(RenderPassColorAttachment {
                    ops: Operations {
                        load,
                        store: StoreOp::Store,
                    },
                    ..RenderPassColorAttachment::new(&view)
                })],
                ..RenderPassDescriptor::default()
            })
            .expect("a pass");
        pass.set_pipeline(&pipeline).expect("fits");
        pass.set_bind_group(0, &group, &[]).expect("fits");
        pass.set_vertex_buffer(0, &vertices, 0).expect("fits");
        pass.set_scissor_rect(1, 0, 7, 7).expect("fits");
        let drawn = if indirect {
            pass.draw_indirect(&arguments, 0)
        } else {
            pass.draw(0..3, 0..1)
        };
        drawn.expect("recorded");
        pass.end();
        device.queue().submit([encoder.finish()]).expect("runs");
    };

    // This comes before the capture: it must begin with what is there.
    draw(LoadOp::Clear(Color::new(0.25, 0.5, 0.75, 1.0)), false);
    let capture = device.capture(&path).expect("begins");
    says(device.capture(&path), &["a capture to", "finish it first"]);
    draw(LoadOp::Load, true);
    u.write(0, &floats(&[0.25, 1.0, 1.0, 0.25, 0.0, 0.5, 0.0, 0.0]))
        .expect("writes");
    image.write(&[9; 16]).expect("writes");
    draw(LoadOp::Load, false);
    capture.finish().expect("is written");
    let captured = target.read().expect("reads");
    // This comes after it.
    draw(LoadOp::Clear(Color::BLACK), false);

    let loaded = load(&path, &LoadOptions::default()).expect("is a job");
    let mut prepared = loaded.prepare(&device, &PrepareOptions::default()).expect("prepares");
    prepared.frame(&CancelFlag::new()).expect("renders");
    assert_eq!(prepared.read_output().expect("has an image").bytes, captured);
}

#[test]
fn a_dropped_capture_writes_nothing() {
    let directory = Directory::new("dropped");
    let path = directory.0.join("frame.json");
    let device = device();
    drop(device.capture(&path).expect("begins"));
    let again = device.capture(&path).expect("begins again");
    assert!(!path.exists());
    again.finish().expect("is written, without passes");
    says(device.capture(".."), &["names no file"]);
}

/// Queries, and a pass without attachments, come back from the job.
#[test]
fn queries_are_captured() {
    let directory = Directory::new("queries");
    let path = directory.0.join("queries.json");
    let device = device();
    let text = "
        @vertex fn vs(@builtin(vertex_index) i: u32) -> @builtin(position) vec4f {
            return vec4f(f32(i & 1u) * 4.0 - 1.0, f32(i >> 1u) * 4.0 - 1.0, 0.5, 1.0);
        }
        @fragment fn fs() {}";
    let module = module(&device, text);
    let pipeline = device
        .create_render_pipeline(&RenderPipelineDescriptor {
            label: Some("counted"),
            ..RenderPipelineDescriptor::new(
                VertexState::new(&module, "vs", &[]),
                Some(FragmentState::new(&module, "fs", &[])),
            )
        })
        .expect("a pipeline");
    let set = |label, ty| {
        let descriptor = QuerySetDescriptor {
            label: Some(label),
            ty,
            count: 2,
        };
        device.create_query_set(&descriptor).expect("a query set")
    };
    let types =
        PipelineStatisticsTypes::VERTEX_SHADER_INVOCATIONS | PipelineStatisticsTypes::FRAGMENT_SHADER_INVOCATIONS;
    let (samples, work) = (
        set("samples", QueryType::Occlusion),
        set("work", QueryType::PipelineStatistics(types)),
    );
    let results = device
        .create_buffer(&BufferDescriptor {
            label: Some("results"),
            size: 64,
            usage: BufferUsages::QUERY_RESOLVE | BufferUsages::COPY_SRC,
        })
        .expect("a buffer");
    let capture = device.capture(&path).expect("begins");
    let mut encoder = device.create_command_encoder(&CommandEncoderDescriptor::default());
    let mut pass = encoder
        .begin_render_pass(&RenderPassDescriptor {
            occlusion_query_set: Some(&samples),
            without_attachments: Some(PassExtent { width: 12, height: 5 }),
            ..RenderPassDescriptor::default()
        })
        .expect("a pass");
    pass.set_pipeline(&pipeline).expect("fits");
    pass.begin_occlusion_query(1).expect("begins");
    pass.draw(0..3, 0..1).expect("draws");
    pass.begin_pipeline_statistics_query(&work, 0).expect("begins");
    pass.set_scissor_rect(2, 1, 3, 4).expect("inside");
    pass.draw(0..3, 0..2).expect("draws");
    pass.end_occlusion_query().expect("goes on");
    pass.draw(0..3, 0..1).expect("draws");
    // Mistakes change nothing.
    assert!(pass.end_occlusion_query().is_err(), "none goes on");
    assert!(pass.begin_occlusion_query(1).is_err(), "begun in this pass already");
    assert!(pass.begin_occlusion_query(2).is_err(), "there are two");
    assert!(pass.begin_pipeline_statistics_query(&work, 1).is_err(), "one goes on");
    assert!(
        pass.begin_pipeline_statistics_query(&samples, 0).is_err(),
        "no statistics"
    );
    pass.end();
    assert!(
        encoder.resolve_query_set(&samples, 0..3, &results, 0).is_err(),
        "there are two"
    );
    assert!(
        encoder.resolve_query_set(&samples, 0..2, &results, 4).is_err(),
        "not a multiple of 8"
    );
    assert!(
        encoder.resolve_query_set(&work, 0..2, &results, 40).is_err(),
        "32 bytes don't fit"
    );
    encoder.resolve_query_set(&samples, 0..2, &results, 8).expect("fits");
    encoder.resolve_query_set(&work, 0..2, &results, 32).expect("fits");
    device.queue().submit([encoder.finish()]).expect("runs");
    capture.finish().expect("written");
    let numbers = |bytes: Vec<u8>| -> Vec<u64> {
        let (words, _) = bytes.as_chunks::<8>();
        words.iter().map(|&w| u64::from_le_bytes(w)).collect()
    };
    let got = numbers(results.read().expect("readable"));
    assert_eq!(got, [0, 0, 60 + 24, 0, 9, 36, 0, 0]);
    assert_eq!(samples.read(), [0, 84]);
    let text = std::fs::read_to_string(&path).expect("readable");
    let mut job: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let name = job["buffers"]
        .as_object()
        .and_then(|b| b.keys().next())
        .expect("the results")
        .clone();
    job["expect"] = serde_json::json!([{ "buffer": name, "u64": got }]);
    std::fs::write(&path, job.to_string()).expect("written");
    let batch = Batch {
        device: &device,
        load: Default::default(),
        out_dir: None,
        options: PrepareOptions::default(),
    };
    let outcome = batch.run(&path, &CancelFlag::new());
    assert_eq!(outcome.status, Status::Pass, "{:?}", outcome.message);
}
