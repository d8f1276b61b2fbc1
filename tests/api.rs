//! The library's interface: what works, and that every mistake is an error that names the object.

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

const FILL: &str = "
    struct U { color: vec4f, offset: vec4f }
    @group(0) @binding(0) var<uniform> u: U;
    @vertex fn vs(@location(0) p: vec2f) -> @builtin(position) vec4f { return vec4f(p, 0.5, 1.0) + u.offset; }
    @fragment fn fs() -> @location(0) vec4f { return u.color; }
";

fn module(device: &Device, text: &str) -> ShaderModule {
    device
        .create_shader_module(ShaderModuleDescriptor {
            label: Some("test.wgsl"),
            source: ShaderSource::Wgsl(text.into()),
        })
        .expect("compiles")
}

fn target(device: &Device, label: &str, format: TextureFormat, samples: u32) -> Texture {
    device
        .create_texture(&TextureDescriptor {
            label: Some(label),
            size: Extent3d::new_2d(8, 8),
            format,
            sample_count: samples,
            usage: TextureUsages::RENDER_ATTACHMENT | TextureUsages::COPY_SRC | TextureUsages::TEXTURE_BINDING,
            ..TextureDescriptor::default()
        })
        .expect("a texture")
}

fn view(texture: &Texture) -> TextureView {
    texture.create_view(&TextureViewDescriptor::default()).expect("a view")
}

fn floats(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

fn buffer(device: &Device, label: &str, contents: &[u8], usage: BufferUsages) -> Buffer {
    device
        .create_buffer_init(&BufferInitDescriptor {
            label: Some(label),
            contents,
            usage,
        })
        .expect("a buffer")
}

fn positions() -> VertexBufferLayout {
    VertexBufferLayout {
        array_stride: 8,
        step_mode: VertexStepMode::Vertex,
        attributes: vec![VertexAttribute {
            format: VertexFormat::Float32x2,
            offset: 0,
            shader_location: 0,
        }],
    }
}

fn fill_pipeline(device: &Device, layout: Option<&PipelineLayout>) -> Result<RenderPipeline, RenderPipelineError> {
    let module = module(device, FILL);
    let targets = [Some(ColorTargetState::new(TextureFormat::Rgba8Unorm))];
    let buffers = [positions()];
    device.create_render_pipeline(&RenderPipelineDescriptor {
        label: Some("fill"),
        layout,
        ..RenderPipelineDescriptor::new(
            VertexState::new(&module, "vs", &buffers),
            Some(FragmentState::new(&module, "fs", &targets)),
        )
    })
}

/// A triangle that covers everything.
const BIG: [f32; 6] = [-1.0, -1.0, 3.0, -1.0, -1.0, 3.0];

#[track_caller]
fn says<T: std::fmt::Debug, E: std::fmt::Display>(result: std::result::Result<T, E>, words: &[&str]) {
    match result {
        Ok(value) => panic!("no error, but {value:?}"),
        Err(e) => {
            let text = e.to_string();
            for word in words {
                assert!(text.contains(word), "`{word}` is not in: {text}");
            }
        }
    }
}

/// All that a draw of the fill pipeline needs.
struct Fill {
    device: Device,
    target: Texture,
    pipeline: RenderPipeline,
    group: BindGroup,
    vertices: Buffer,
}

impl Fill {
    fn new() -> Fill {
        let device = device();
        let pipeline = fill_pipeline(&device, None).expect("a pipeline");
        let layout = pipeline.get_bind_group_layout(0).expect("a group");
        let u = buffer(
            &device,
            "u",
            &floats(&[1.0, 0.5, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0]),
            BufferUsages::UNIFORM,
        );
        let group = device
            .create_bind_group(&BindGroupDescriptor {
                label: Some("group"),
                layout: &layout,
                entries: &[BindGroupEntry::new(0, &u)],
            })
            .expect("a bind group");
        Fill {
            target: target(&device, "target", TextureFormat::Rgba8Unorm, 1),
            vertices: buffer(&device, "vertices", &floats(&BIG), BufferUsages::VERTEX),
            device,
            pipeline,
            group,
        }
    }

    fn encoder(&self) -> CommandEncoder {
        self.device
            .create_command_encoder(&CommandEncoderDescriptor { label: Some("encoder") })
    }

    /// Records into a pass on the target.
    fn pass<T>(&self, record: impl FnOnce(&mut RenderPass<'_>) -> T) -> (CommandBuffer, T) {
        let mut encoder = self.encoder();
        let view = view(&self.target);
        let mut pass = encoder
            .begin_render_pass(&RenderPassDescriptor {
                label: Some("pass"),
                color_attachments: &[Some(RenderPassColorAttachment::new(&view))],
                ..RenderPassDescriptor::default()
            })
            .expect("a pass");
        let result = record(&mut pass);
        pass.end();
        (encoder.finish(), result)
    }

    fn set_all(&self, pass: &mut RenderPass<'_>) -> Result<(), EncodeError> {
        pass.set_pipeline(&self.pipeline)?;
        pass.set_bind_group(0, &self.group, &[])?;
        pass.set_vertex_buffer(0, &self.vertices, 0)
    }

    fn submit(&self, commands: CommandBuffer) -> SubmitStats {
        self.device.queue().submit([commands]).expect("runs")
    }

    fn pixel(&self, x: usize, y: usize) -> [u8; 4] {
        let pixels = self.target.read().expect("readable");
        let at = (y * 8 + x) * 4;
        pixels[at..at + 4].try_into().expect("four bytes")
    }
}

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
fn copies_move_bytes_and_texels() {
    let f = Fill::new();
    let all = BufferUsages::COPY_SRC | BufferUsages::COPY_DST;
    let a = buffer(&f.device, "a", &(0..64).collect::<Vec<u8>>(), all);
    let b = buffer(&f.device, "b", &[0; 64], all);
    let texture = f
        .device
        .create_texture(&TextureDescriptor {
            label: Some("texels"),
            size: Extent3d::new_2d(4, 4),
            usage: TextureUsages::COPY_SRC | TextureUsages::COPY_DST,
            ..TextureDescriptor::default()
        })
        .expect("a texture");
    let rows = |buffer| TexelCopyBufferInfo {
        buffer,
        layout: TexelCopyBufferLayout::default(),
    };
    let mut encoder = f.encoder();
    let size = Extent3d::new_2d(4, 4);
    encoder
        .copy_buffer_to_texture(rows(&a), TexelCopyTextureInfo::whole(&texture), size)
        .expect("recorded");
    encoder
        .copy_texture_to_buffer(TexelCopyTextureInfo::whole(&texture), rows(&b), size)
        .expect("recorded");
    encoder.copy_buffer_to_buffer(&a, 0, &a, 32, 8).expect("recorded");
    encoder.clear_buffer(&a, 4, Some(4)).expect("recorded");
    f.submit(encoder.finish());
    assert_eq!(b.read().expect("readable"), (0..64).collect::<Vec<u8>>());
    assert_eq!(texture.read().expect("readable"), (0..64).collect::<Vec<u8>>());
    let a = a.read().expect("readable");
    assert_eq!(
        (&a[0..8], &a[32..40]),
        (&[0, 1, 2, 3, 0, 0, 0, 0][..], &[0, 1, 2, 3, 4, 5, 6, 7][..])
    );
}

#[test]
fn copies_that_do_not_fit_are_refused() {
    let f = Fill::new();
    let a = buffer(
        &f.device,
        "a",
        &[0; 16],
        BufferUsages::COPY_SRC | BufferUsages::COPY_DST,
    );
    let mut encoder = f.encoder();
    says(encoder.copy_buffer_to_buffer(&a, 0, &a, 4, 8), &["'a'", "overlaps"]);
    says(
        encoder.copy_buffer_to_buffer(&a, 12, &a, 0, 8),
        &["'a'", "byte 20", "16"],
    );
    says(encoder.copy_buffer_to_buffer(&a, u64::MAX, &a, 0, 8), &["'a'"]);
    says(
        encoder.copy_buffer_to_buffer(&f.vertices, 0, &a, 0, 8),
        &["'vertices'", "COPY_SRC", "VERTEX"],
    );
    says(encoder.clear_buffer(&a, 17, None), &["'a'"]);
    let info = TexelCopyBufferInfo {
        buffer: &a,
        layout: TexelCopyBufferLayout::default(),
    };
    encoder
        .copy_texture_to_buffer(TexelCopyTextureInfo::whole(&f.target), info, Extent3d::new_2d(8, 8))
        .expect("sizes are seen when it runs");
    says(
        f.device.queue().submit([encoder.finish()]),
        &["'target'", "16 bytes", "256"],
    );
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

#[test]
fn outputs_go_to_the_callers_memory_with_a_stride() {
    let f = Fill::new();
    let (commands, drawn) = f.pass(|pass| {
        f.set_all(pass)?;
        pass.draw(0..3, 0..1)
    });
    drawn.expect("recorded");
    let mut bytes = vec![7; 8 * 40];
    let options = SubmitOptions {
        outputs: vec![OutputSlice {
            texture: &f.target,
            bytes: &mut bytes,
            bytes_per_row: 40,
        }],
        ..SubmitOptions::default()
    };
    f.device.queue().submit_with([commands], options).expect("runs");
    assert_eq!(
        &bytes[28..44],
        [255, 128, 0, 255, 7, 7, 7, 7, 7, 7, 7, 7, 255, 128, 0, 255]
    );
}

#[test]
fn later_calls_wait_for_asynchronous_submissions() {
    let f = Fill::new();
    let (commands, drawn) = f.pass(|pass| {
        f.set_all(pass)?;
        pass.draw(0..3, 0..1)
    });
    drawn.expect("recorded");
    let submission = f.device.queue().submit_async([commands]).expect("starts");
    // Reading waits: it comes later.
    assert_eq!(f.pixel(0, 0), [255, 128, 0, 255]);
    assert_eq!(submission.wait().expect("done").draws, 1);
}

#[test]
fn a_cancelled_submission_says_so() {
    let f = Fill::new();
    let (commands, drawn) = f.pass(|pass| {
        f.set_all(pass)?;
        pass.draw(0..3, 0..1)
    });
    drawn.expect("recorded");
    let flag = CancelFlag::new();
    flag.cancel();
    let options = SubmitOptions {
        cancel: Some(&flag),
        ..SubmitOptions::default()
    };
    let ended = f.device.queue().submit_with([commands], options);
    assert!(matches!(ended, Err(SubmitError::Cancelled)), "{ended:?}");
}

#[test]
fn an_endless_loop_ends_and_can_be_cancelled_before() {
    let device = Device::new(&DeviceDescriptor {
        loop_budget: 1000,
        threads: std::num::NonZeroUsize::new(2),
        ..DeviceDescriptor::default()
    })
    .expect("a device");
    let module = module(
        &device,
        "@vertex fn vs(@builtin(vertex_index) i: u32) -> @builtin(position) vec4f {
             return vec4f(f32(i & 1u) * 4.0 - 1.0, f32(i >> 1u) * 4.0 - 1.0, 0.0, 1.0);
         }
         @fragment fn fs(@builtin(position) p: vec4f) -> @location(0) vec4f {
             var x = p.x;
             loop {
                 x += 1.0;
                 if x < 0.0 { break; }
             }
             return vec4f(x);
         }",
    );
    let targets = [Some(ColorTargetState::new(TextureFormat::Rgba8Unorm))];
    let pipeline = device
        .create_render_pipeline(&RenderPipelineDescriptor {
            label: Some("endless"),
            ..RenderPipelineDescriptor::new(
                VertexState::new(&module, "vs", &[]),
                Some(FragmentState::new(&module, "fs", &targets)),
            )
        })
        .expect("a pipeline");
    let target = target(&device, "target", TextureFormat::Rgba8Unorm, 1);
    let mut encoder = device.create_command_encoder(&CommandEncoderDescriptor::default());
    let mut pass = encoder
        .begin_render_pass(&RenderPassDescriptor {
            label: Some("pass"),
            color_attachments: &[Some(RenderPassColorAttachment::new(&view(&target)))],
            ..RenderPassDescriptor::default()
        })
        .expect("a pass");
    pass.set_pipeline(&pipeline).expect("fits");
    pass.draw(0..3, 0..1).expect("recorded");
    pass.end();
    says(
        device.queue().submit([encoder.finish()]),
        &["'pass'", "'endless'", "test.wgsl:6", "1000"],
    );
}

#[test]
fn mistakes_with_buffers_are_named() {
    let device = device();
    let make = |size, usage| {
        device.create_buffer(&BufferDescriptor {
            label: Some("mine"),
            size,
            usage,
        })
    };
    says(make(16, BufferUsages::empty()), &["'mine'", "no usage"]);
    says(make(1 << 40, BufferUsages::VERTEX), &["'mine'", "at most"]);
    says(make(100 << 20, BufferUsages::VERTEX), &["'mine'", "memory limit"]);
    let b = make(16, BufferUsages::VERTEX).expect("fits");
    says(b.read(), &["'mine'", "COPY_SRC", "VERTEX"]);
    says(b.write(0, &[0; 4]), &["'mine'", "COPY_DST"]);
    let b = make(16, BufferUsages::COPY_DST | BufferUsages::COPY_SRC).expect("fits");
    says(b.write(14, &[0; 4]), &["'mine'", "byte 18", "16"]);
    says(b.write(u64::MAX, &[0; 4]), &["'mine'"]);
    says(b.read_range(8..17), &["'mine'", "byte 17"]);
    assert!(b.read_range(0..0).expect("nothing is fine").is_empty());
}

#[test]
fn mistakes_with_textures_are_named() {
    let device = device();
    let base = TextureDescriptor {
        label: Some("mine"),
        size: Extent3d::new_2d(16, 16),
        usage: TextureUsages::RENDER_ATTACHMENT,
        ..TextureDescriptor::default()
    };
    let sized = |w, h| {
        device.create_texture(&TextureDescriptor {
            size: Extent3d::new_2d(w, h),
            ..base
        })
    };
    says(sized(0, 4), &["'mine'", "width is 0"]);
    says(sized(100_000, 100_000), &["'mine'", "100000", "16384"]);
    says(sized(16384, 16384), &["'mine'", "memory limit"]);
    says(
        device.create_texture(&TextureDescriptor {
            sample_count: 3,
            ..base
        }),
        &["'mine'", "sample count 3"],
    );
    says(
        device.create_texture(&TextureDescriptor {
            mip_level_count: 9,
            ..base
        }),
        &["'mine'", "mip levels is 9"],
    );
    says(
        device.create_texture(&TextureDescriptor {
            format: TextureFormat::Rgb9e5Ufloat,
            ..base
        }),
        &["'mine'", "rgb9e5ufloat", "RENDER_ATTACHMENT"],
    );
    let t = sized(16, 16).expect("fits");
    says(t.read(), &["'mine'", "COPY_SRC"]);
    says(
        t.create_view(&TextureViewDescriptor {
            base_mip_level: 1,
            ..TextureViewDescriptor::default()
        }),
        &["'mine'", "levels"],
    );
    let before = device.memory_used();
    drop(t);
    assert!(device.memory_used() < before, "memory is given back");
}

#[test]
fn mistakes_in_shaders_and_pipelines_are_named() {
    let device = device();
    let error = device
        .create_shader_module(ShaderModuleDescriptor {
            label: Some("bad.wgsl"),
            source: ShaderSource::Wgsl("fn f() -> f32 {\n  return nothing;\n}".into()),
        })
        .expect_err("no such name");
    assert_eq!(error.location(), Some((2, 10)));
    assert!(error.render().contains('^'), "{}", error.render());

    let module = module(&device, FILL);
    let targets = [Some(ColorTargetState::new(TextureFormat::Rgba8Unorm))];
    let buffers = [positions()];
    let with = |vertex, fragment| {
        device.create_render_pipeline(&RenderPipelineDescriptor {
            label: Some("mine"),
            ..RenderPipelineDescriptor::new(vertex, fragment)
        })
    };
    let vertex = VertexState::new(&module, "vs", &buffers);
    says(with(VertexState::new(&module, "fs", &buffers), None), &["'mine'"]);
    says(
        with(vertex, Some(FragmentState::new(&module, "none", &targets))),
        &["'mine'", "fragment"],
    );
    says(
        with(
            VertexState::new(&module, "vs", &[]),
            Some(FragmentState::new(&module, "fs", &targets)),
        ),
        &["'mine'", "location 0"],
    );
    says(
        with(vertex, Some(FragmentState::new(&module, "fs", &[]))),
        &["'mine'", "neither"],
    );
    let depth = [Some(ColorTargetState::new(TextureFormat::Depth32Float))];
    says(
        with(vertex, Some(FragmentState::new(&module, "fs", &depth))),
        &["'mine'", "target 0", "depth32float"],
    );
    let empty = device
        .create_bind_group_layout(&BindGroupLayoutDescriptor {
            label: Some("empty"),
            entries: &[],
        })
        .expect("fits");
    let layout = device
        .create_pipeline_layout(&PipelineLayoutDescriptor {
            label: Some("layout"),
            bind_group_layouts: &[&empty],
        })
        .expect("fits");
    says(
        fill_pipeline(&device, Some(&layout)),
        &["'fill'", "group 0, binding 0 ('u')", "'layout' lacks it"],
    );
}

#[test]
fn mistakes_with_bind_groups_are_named() {
    let f = Fill::new();
    let layout = f.pipeline.get_bind_group_layout(0).expect("a group");
    says(f.pipeline.get_bind_group_layout(1), &["'fill'", "no bind group 1"]);
    let with = |entries: &[BindGroupEntry<'_>]| {
        f.device.create_bind_group(&BindGroupDescriptor {
            label: Some("mine"),
            layout: &layout,
            entries,
        })
    };
    let small = buffer(&f.device, "small", &[0; 16], BufferUsages::UNIFORM);
    let good = buffer(&f.device, "good", &[0; 64], BufferUsages::UNIFORM);
    let sampler = f
        .device
        .create_sampler(&SamplerDescriptor::default())
        .expect("a sampler");
    says(with(&[]), &["'mine', binding 0", "nothing is bound", "uniform buffer"]);
    says(with(&[BindGroupEntry::new(0, &small)]), &["'small'", "16 bytes", "32"]);
    says(with(&[BindGroupEntry::new(0, &f.vertices)]), &["'vertices'", "UNIFORM"]);
    says(
        with(&[BindGroupEntry::new(0, &sampler)]),
        &["binding 0", "uniform buffer"],
    );
    says(
        with(&[BindGroupEntry::new(0, &good), BindGroupEntry::new(0, &good)]),
        &["binding 0", "twice"],
    );
    says(
        with(&[BindGroupEntry::new(0, &good), BindGroupEntry::new(1, &good)]),
        &["binding 1", "no such binding"],
    );
    let offset = BindGroupEntry {
        binding: 0,
        resource: BindingResource::Buffer(BufferBinding {
            buffer: &good,
            offset: 4,
            size: None,
        }),
    };
    says(with(&[offset]), &["offset 4", "multiple of 32"]);
    let other = device();
    let foreign = buffer(&other, "foreign", &[0; 64], BufferUsages::UNIFORM);
    says(
        with(&[BindGroupEntry::new(0, &foreign)]),
        &["'foreign'", "another device"],
    );
}

#[test]
fn mistakes_in_passes_are_named_and_change_nothing() {
    let f = Fill::new();
    let stranger = fill_pipeline(&f.device, None).expect("a pipeline");
    let u = buffer(&f.device, "u", &[0; 32], BufferUsages::UNIFORM);
    let foreign_group = f
        .device
        .create_bind_group(&BindGroupDescriptor {
            label: Some("other"),
            layout: &stranger.get_bind_group_layout(0).expect("a group"),
            entries: &[BindGroupEntry::new(0, &u)],
        })
        .expect("a group");
    let (commands, drawn) = f.pass(|pass| {
        says(pass.draw(0..3, 0..1), &["'pass'", "set_pipeline"]);
        pass.set_pipeline(&f.pipeline)?;
        says(pass.draw(0..3, 0..1), &["'fill'", "bind group 0 is not set"]);
        pass.set_bind_group(0, &foreign_group, &[])?;
        says(pass.draw(0..3, 0..1), &["'other'", "automatic layout"]);
        pass.set_bind_group(0, &f.group, &[])?;
        says(pass.draw(0..3, 0..1), &["'fill'", "vertex buffer 0 is not set"]);
        pass.set_vertex_buffer(0, &f.vertices, 0)?;
        says(
            pass.draw(0..4, 0..1),
            &["draw 0", "4 vertices need 32 bytes", "'vertices'"],
        );
        says(pass.draw(u32::MAX - 1..u32::MAX, 0..1), &["draw 0"]);
        says(pass.draw_indexed(0..3, 0, 0..1), &["index buffer is not set"]);
        says(
            pass.set_index_buffer(&f.vertices, IndexFormat::Uint16, 0),
            &["'vertices'", "INDEX"],
        );
        says(pass.set_vertex_buffer(0, &f.vertices, 99), &["'vertices'"]);
        says(pass.set_vertex_buffer(99, &f.vertices, 0), &["slot 99"]);
        says(pass.set_bind_group(9, &f.group, &[]), &["bind group 9"]);
        says(pass.set_scissor_rect(0, 0, 9, 1), &["scissor", "8 x 8"]);
        says(pass.set_scissor_rect(u32::MAX, 0, u32::MAX, 1), &["scissor"]);
        says(pass.set_viewport(0.0, 0.0, f32::NAN, 1.0, 0.0, 1.0), &["viewport"]);
        says(pass.set_viewport(0.0, 0.0, 1.0, 1.0, 0.5, 0.25), &["depth range"]);
        pass.draw(0..3, 0..1)
    });
    drawn.expect("after all those mistakes it still draws");
    assert_eq!(f.submit(commands).draws, 1);
    assert_eq!(f.pixel(4, 4), [255, 128, 0, 255]);
}

#[test]
fn mistakes_with_attachments_are_named() {
    let f = Fill::new();
    let small = target(&f.device, "small", TextureFormat::Rgba8Unorm, 1);
    let big = f
        .device
        .create_texture(&TextureDescriptor {
            label: Some("big"),
            size: Extent3d::new_2d(16, 16),
            usage: TextureUsages::RENDER_ATTACHMENT,
            mip_level_count: 2,
            ..TextureDescriptor::default()
        })
        .expect("a texture");
    let unusable = f
        .device
        .create_texture(&TextureDescriptor {
            label: Some("unusable"),
            size: Extent3d::new_2d(8, 8),
            usage: TextureUsages::COPY_DST,
            ..TextureDescriptor::default()
        })
        .expect("a texture");
    let depth = target(&f.device, "depth", TextureFormat::Depth32Float, 1);
    let level = |texture: &Texture, level| {
        texture
            .create_view(&TextureViewDescriptor {
                base_mip_level: level,
                mip_level_count: Some(1),
                ..TextureViewDescriptor::default()
            })
            .expect("a view")
    };
    let begin = |colors: &[&TextureView], resolve: Option<&TextureView>, depth: Option<&TextureView>| {
        let colors: Vec<_> = colors
            .iter()
            .map(|view| {
                Some(RenderPassColorAttachment {
                    view,
                    resolve_target: resolve,
                    ops: Operations::default(),
                })
            })
            .collect();
        let mut encoder = f.encoder();
        encoder
            .begin_render_pass(&RenderPassDescriptor {
                label: Some("mine"),
                color_attachments: &colors,
                depth_stencil_attachment: depth.map(|view| RenderPassDepthStencilAttachment {
                    view,
                    depth_ops: Some(Operations::clear(2.0)),
                    stencil_ops: None,
                }),
                ..RenderPassDescriptor::default()
            })
            .map(|_| ())
    };
    let v = view;
    says(begin(&[], None, None), &["'mine'", "no attachment"]);
    says(
        begin(&[&v(&small), &level(&big, 0)], None, None),
        &["'big'", "16 x 16", "8 x 8"],
    );
    says(begin(&[&v(&big)], None, None), &["'big'", "2 levels"]);
    says(
        begin(&[&v(&small), &v(&small)], None, None),
        &["'small'", "attached twice"],
    );
    says(
        begin(&[&v(&unusable)], None, None),
        &["'unusable'", "RENDER_ATTACHMENT"],
    );
    says(begin(&[&v(&depth)], None, None), &["'depth'", "no colour"]);
    says(
        begin(&[&v(&small)], Some(&v(&f.target)), None),
        &["'small'", "resolved"],
    );
    says(
        begin(&[&v(&small)], None, Some(&v(&f.target))),
        &["'target'", "neither depth nor stencil"],
    );
    says(begin(&[&v(&small)], None, Some(&v(&depth))), &["clear value 2"]);
    assert_eq!(begin(&[&level(&big, 1), &v(&small)], None, None), Ok(()));
}
