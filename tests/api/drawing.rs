//! Draws: state, counts, indirect numbers, dynamic offsets, samples.

use super::support::*;
use quadrille::*;

#[test]
fn everything_is_send_and_sync() {
    fn check<T: Send + Sync + 'static>() {}
    check::<Device>();
    check::<Queue>();
    check::<Buffer>();
    check::<Texture>();
    check::<TextureView>();
    check::<Sampler>();
    check::<ShaderModule>();
    check::<BindGroupLayout>();
    check::<PipelineLayout>();
    check::<BindGroup>();
    check::<RenderPipeline>();
    check::<CommandEncoder>();
    check::<CommandBuffer>();
    check::<CancelFlag>();
    check::<Error>();
}

#[test]
fn a_draw_fills_the_target_and_counts() {
    let f = Fill::new();
    let (commands, drawn) = f.pass(|pass| {
        f.set_all(pass)?;
        pass.draw(0..3, 0..1)
    });
    drawn.expect("recorded");
    let stats = f.submit(commands.clone());
    assert_eq!((stats.passes, stats.draws), (1, 1));
    assert_eq!(f.pixel(3, 3), [255, 128, 0, 255]);
    // Commands may be submitted again.
    assert_eq!(f.submit(commands).draws, 1);
}

#[test]
fn scissor_and_viewport_limit_what_is_drawn() {
    let f = Fill::new();
    let (commands, drawn) = f.pass(|pass| {
        f.set_all(pass)?;
        pass.set_scissor_rect(2, 3, 2, 2)?;
        pass.draw(0..3, 0..1)
    });
    drawn.expect("recorded");
    f.submit(commands);
    assert_eq!([f.pixel(2, 3), f.pixel(3, 4)], [[255, 128, 0, 255]; 2]);
    assert_eq!([f.pixel(1, 3), f.pixel(4, 4), f.pixel(2, 5)], [[0; 4]; 3]);
    let (commands, drawn) = f.pass(|pass| {
        f.set_all(pass)?;
        pass.set_viewport(4.0, 0.0, 4.0, 4.0, 0.0, 1.0)?;
        pass.draw(0..3, 0..1)
    });
    drawn.expect("recorded");
    f.submit(commands);
    assert_eq!([f.pixel(4, 0), f.pixel(7, 3)], [[255, 128, 0, 255]; 2]);
    assert_eq!([f.pixel(3, 0), f.pixel(7, 4)], [[0; 4]; 2]);
}

#[test]
fn indirect_draws_read_their_numbers_when_they_run() {
    let f = Fill::new();
    let words = |w: &[u32]| w.iter().flat_map(|w| w.to_le_bytes()).collect::<Vec<_>>();
    let arguments = buffer(
        &f.device,
        "arguments",
        &words(&[0; 4]),
        BufferUsages::INDIRECT | BufferUsages::COPY_DST,
    );
    let indices = buffer(&f.device, "indices", &words(&[0, 1, 2]), BufferUsages::INDEX);
    let (commands, drawn) = f.pass(|pass| {
        f.set_all(pass)?;
        pass.draw_indirect(&arguments, 0)
    });
    drawn.expect("recorded");
    f.submit(commands.clone());
    assert_eq!(f.pixel(0, 0), [0; 4]);
    f.device
        .queue()
        .write_buffer(&arguments, 0, &words(&[3, 1, 0, 0]))
        .expect("written");
    f.submit(commands.clone());
    assert_eq!(f.pixel(0, 0), [255, 128, 0, 255]);
    arguments.write(0, &words(&[4, 1, 0, 0])).expect("written");
    says(
        f.device.queue().submit([commands]),
        &["'pass'", "draw 0", "'vertices'", "4 vertices"],
    );
    let arguments = buffer(&f.device, "arguments", &words(&[3, 1, 0, 0, 0]), BufferUsages::INDIRECT);
    let (commands, drawn) = f.pass(|pass| {
        f.set_all(pass)?;
        pass.set_index_buffer(&indices, IndexFormat::Uint32, 0)?;
        pass.draw_indexed_indirect(&arguments, 0)
    });
    drawn.expect("recorded");
    f.submit(commands);
    assert_eq!(f.pixel(7, 7), [255, 128, 0, 255]);
}

#[test]
fn dynamic_offsets_choose_the_part_of_a_buffer() {
    let mut f = Fill::new();
    let layout = f
        .device
        .create_bind_group_layout(&BindGroupLayoutDescriptor {
            label: Some("dynamic"),
            entries: &[BindGroupLayoutEntry {
                binding: 0,
                visibility: ShaderStages::VERTEX_FRAGMENT,
                ty: BindingType::Buffer {
                    ty: BufferBindingType::Uniform,
                    has_dynamic_offset: true,
                    min_binding_size: 0,
                },
            }],
        })
        .expect("a layout");
    let pipeline_layout = f
        .device
        .create_pipeline_layout(&PipelineLayoutDescriptor {
            label: None,
            bind_group_layouts: &[&layout],
        })
        .expect("a pipeline layout");
    f.pipeline = fill_pipeline(&f.device, Some(&pipeline_layout)).expect("a pipeline");
    let mut both = floats(&[1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0]);
    both.extend(floats(&[0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0]));
    let colors = buffer(&f.device, "colors", &both, BufferUsages::UNIFORM);
    let binding = |size| BindGroupEntry {
        binding: 0,
        resource: BindingResource::Buffer(BufferBinding {
            buffer: &colors,
            offset: 0,
            size: std::num::NonZeroU64::new(size),
        }),
    };
    let group = |size| {
        f.device.create_bind_group(&BindGroupDescriptor {
            label: Some("colors"),
            layout: &layout,
            entries: &[binding(size)],
        })
    };
    let whole = group(32).expect("a group");
    let short = group(16).expect("a group");
    let (commands, drawn) = f.pass(|pass| {
        pass.set_pipeline(&f.pipeline)?;
        pass.set_vertex_buffer(0, &f.vertices, 0)?;
        pass.set_bind_group(0, &whole, &[32])?;
        pass.draw(0..3, 0..1)?;
        says(pass.set_bind_group(0, &whole, &[]), &["'colors'", "0 dynamic offsets"]);
        says(pass.set_bind_group(0, &whole, &[4]), &["not a multiple of 32"]);
        says(pass.set_bind_group(0, &whole, &[64]), &["'colors'", "byte 96"]);
        pass.set_bind_group(0, &short, &[0])?;
        // With minimum size 0 the layout leaves the check to the draw.
        says(pass.draw(0..3, 0..1), &["'fill'", "16 bytes", "32"]);
        Ok::<_, EncodeError>(())
    });
    drawn.expect("recorded");
    f.submit(commands);
    assert_eq!(f.pixel(0, 0), [0, 255, 0, 255]);
}

#[test]
fn multisampling_resolves_and_depth_tests() {
    let f = Fill::new();
    let samples = target(&f.device, "samples", TextureFormat::Rgba8Unorm, 4);
    let depth = target(&f.device, "depth", TextureFormat::Depth32Float, 4);
    let module = module(&f.device, FILL);
    let targets = [Some(ColorTargetState::new(TextureFormat::Rgba8Unorm))];
    let buffers = [positions()];
    let pipeline = f
        .device
        .create_render_pipeline(&RenderPipelineDescriptor {
            label: Some("depth"),
            depth_stencil: Some(DepthStencilState {
                depth_write_enabled: true,
                depth_compare: CompareFunction::Less,
                ..DepthStencilState::new(TextureFormat::Depth32Float)
            }),
            multisample: MultisampleState {
                count: 4,
                ..MultisampleState::default()
            },
            ..RenderPipelineDescriptor::new(
                VertexState::new(&module, "vs", &buffers),
                Some(FragmentState::new(&module, "fs", &targets)),
            )
        })
        .expect("a pipeline");
    let layout = pipeline.get_bind_group_layout(0).expect("a group");
    let group = |color: [f32; 4], z: f32| {
        let contents = floats(&[color[0], color[1], color[2], color[3], 0.0, 0.0, z, 0.0]);
        f.device
            .create_bind_group(&BindGroupDescriptor {
                label: None,
                layout: &layout,
                entries: &[BindGroupEntry::new(
                    0,
                    &buffer(&f.device, "u", &contents, BufferUsages::UNIFORM),
                )],
            })
            .expect("a group")
    };
    let (near, far) = (group([1.0, 0.0, 0.0, 1.0], -0.25), group([0.0, 0.0, 1.0, 1.0], 0.25));
    let (samples, depth, resolved) = (view(&samples), view(&depth), view(&f.target));
    let mut encoder = f.encoder();
    let mut pass = encoder
        .begin_render_pass(&RenderPassDescriptor {
            label: Some("pass"),
            color_attachments: &[Some(RenderPassColorAttachment {
                view: &samples,
                depth_slice: None,
                resolve_target: Some(&resolved),
                ops: Operations::clear(Color::WHITE),
            })],
            depth_stencil_attachment: Some(RenderPassDepthStencilAttachment {
                view: &depth,
                depth_ops: Some(Operations::clear(1.0)),
                stencil_ops: None,
            }),
            ..RenderPassDescriptor::default()
        })
        .expect("a pass");
    pass.set_pipeline(&pipeline).expect("fits");
    pass.set_vertex_buffer(0, &f.vertices, 0).expect("fits");
    pass.set_scissor_rect(0, 0, 4, 8).expect("fits");
    for group in [&near, &far] {
        pass.set_bind_group(0, group, &[]).expect("fits");
        pass.draw(0..3, 0..1).expect("drawn");
    }
    says(
        pass.set_pipeline(&f.pipeline),
        &["'pass'", "'fill'", "depth-stencil format is none", "depth32float"],
    );
    pass.end();
    f.submit(encoder.finish());
    assert_eq!((f.pixel(0, 0), f.pixel(7, 7)), ([255, 0, 0, 255], [255; 4]));
}
