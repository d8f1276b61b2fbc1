//! Textures through the library's interface: storage textures and compressed formats.

use quadrille::*;

fn device() -> Device {
    Device::new(&DeviceDescriptor {
        label: Some("test"),
        threads: std::num::NonZeroUsize::new(2),
        memory_limit: Some(64 << 20),
        ..DeviceDescriptor::default()
    })
    .expect("a device")
}

fn texture(device: &Device, format: TextureFormat, usage: TextureUsages) -> Texture {
    device
        .create_texture(&TextureDescriptor {
            label: Some("texture"),
            size: Extent3d::new_2d(8, 8),
            format,
            usage,
            ..TextureDescriptor::default()
        })
        .expect("a texture")
}

/// Draws a triangle over everything with textures bound in order; the target's bytes.
fn draw(device: &Device, wgsl: &str, textures: &[&Texture]) -> Vec<u8> {
    let module = device
        .create_shader_module(ShaderModuleDescriptor {
            label: Some("test.wgsl"),
            source: ShaderSource::Wgsl(
                format!(
                    "@vertex fn vs(@builtin(vertex_index) i: u32) -> @builtin(position) vec4f {{
                         return vec4f(f32(i & 1u) * 4.0 - 1.0, f32(i >> 1u) * 4.0 - 1.0, 0.5, 1.0);
                     }} {wgsl}"
                )
                .into(),
            ),
        })
        .expect("compiles");
    let targets = [Some(ColorTargetState::new(TextureFormat::Rgba8Unorm))];
    let pipeline = device
        .create_render_pipeline(&RenderPipelineDescriptor {
            label: Some("test"),
            ..RenderPipelineDescriptor::new(
                VertexState::new(&module, "vs", &[]),
                Some(FragmentState::new(&module, "fs", &targets)),
            )
        })
        .expect("a pipeline");
    let views: Vec<TextureView> = textures
        .iter()
        .map(|t| t.create_view(&TextureViewDescriptor::default()).expect("a view"))
        .collect();
    let entries: Vec<BindGroupEntry<'_>> = (0..).zip(&views).map(|(i, v)| BindGroupEntry::new(i, v)).collect();
    let group = device
        .create_bind_group(&BindGroupDescriptor {
            label: Some("group"),
            layout: &pipeline.get_bind_group_layout(0).expect("a group"),
            entries: &entries,
        })
        .expect("a bind group");
    let target = texture(
        device,
        TextureFormat::Rgba8Unorm,
        TextureUsages::RENDER_ATTACHMENT | TextureUsages::COPY_SRC,
    );
    let view = target.create_view(&TextureViewDescriptor::default()).expect("a view");
    let mut encoder = device.create_command_encoder(&CommandEncoderDescriptor { label: Some("test") });
    let mut pass = encoder
        .begin_render_pass(&RenderPassDescriptor {
            label: Some("test"),
            color_attachments: &[Some(RenderPassColorAttachment::new(&view))],
            ..RenderPassDescriptor::default()
        })
        .expect("a pass");
    pass.set_pipeline(&pipeline).expect("set");
    pass.set_bind_group(0, &group, &[]).expect("set");
    pass.draw(0..3, 0..1).expect("drawn");
    pass.end();
    device.queue().submit([encoder.finish()]).expect("runs");
    target.read().expect("readable")
}

const COPY: TextureUsages = TextureUsages::COPY_SRC.union(TextureUsages::COPY_DST);

/// Stores, and loads what the pixel before left there; helpers store nothing.
#[test]
fn shaders_store_to_textures() {
    let device = device();
    let usage = TextureUsages::STORAGE_BINDING | COPY;
    let (written, counted) = (
        texture(&device, TextureFormat::Rgba8Unorm, usage),
        texture(&device, TextureFormat::R32Uint, usage),
    );
    draw(
        &device,
        "@group(0) @binding(0) var out: texture_storage_2d<rgba8unorm, write>;
         @group(0) @binding(1) var sum: texture_storage_2d<r32uint, read_write>;
         @fragment fn fs(@builtin(position) p: vec4f) -> @location(0) vec4f {
             let at = vec2u(p.xy);
             textureStore(out, at.yx, vec4f(p.xy / 8.0, 0.0, 1.0));
             let old = textureLoad(sum, vec2u(0u, at.y)).x;
             textureStore(sum, vec2u(0u, at.y), vec4u(old + at.x + 1u, 0u, 0u, 0u));
             return vec4f(0.0);
         }",
        &[&written, &counted],
    );
    let texels = written.read().expect("readable");
    for (i, texel) in texels.chunks_exact(4).enumerate() {
        let code = |v: usize| ((v as f32 + 0.5) / 8.0 * 255.0 + 0.5) as u8;
        assert_eq!(texel, [code(i / 8), code(i % 8), 0, 255], "{i}");
    }
    // Lanes of a step load before any of them stores, so only that something was added is sure.
    let sums = counted.read().expect("readable");
    assert!(sums.chunks_exact(32).all(|row| row[0] > 0), "{sums:?}");
}

/// Compressed textures are written in blocks and read as their texels.
#[test]
fn compressed_textures_are_sampled() {
    let device = device();
    let t = texture(
        &device,
        TextureFormat::Bc1RgbaUnorm,
        TextureUsages::TEXTURE_BINDING | TextureUsages::COPY_DST,
    );
    // Red, but for the last block, which is blue.
    let red: [u8; 8] = [0x00, 0xf8, 0x1f, 0x00, 0, 0, 0, 0];
    let blue: [u8; 8] = [0x00, 0xf8, 0x1f, 0x00, 0x55, 0x55, 0x55, 0x55];
    t.write(&[red, red, red, blue].concat()).expect("four blocks");
    let pixels = draw(
        &device,
        "@group(0) @binding(0) var t: texture_2d<f32>;
         @fragment fn fs(@builtin(position) p: vec4f) -> @location(0) vec4f {
             return textureLoad(t, vec2u(p.xy), 0);
         }",
        &[&t],
    );
    for (i, pixel) in pixels.chunks_exact(4).enumerate() {
        let last = i % 8 >= 4 && i / 8 >= 4;
        assert_eq!(pixel, if last { [0, 0, 255, 255] } else { [255, 0, 0, 255] }, "{i}");
    }
    let refused = device.create_texture(&TextureDescriptor {
        size: Extent3d::new_2d(8, 8),
        format: TextureFormat::Bc7RgbaUnorm,
        usage: TextureUsages::RENDER_ATTACHMENT,
        ..TextureDescriptor::default()
    });
    assert!(refused.is_err(), "no one renders to blocks");
}
