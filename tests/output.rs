//! Output merging through the library's interface: formats by name, attachments, rules.

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

/// A triangle that covers everything at depth 0.5, and fragment stages.
const SHADERS: &str = "
    @group(0) @binding(0) var depth: texture_depth_2d;
    @vertex fn vs(@builtin(vertex_index) i: u32) -> @builtin(position) vec4f {
        let p = array(vec2f(-1, -1), vec2f(3, -1), vec2f(-1, 3));
        return vec4f(p[i], 0.5, 1);
    }
    @fragment fn half_way() -> @location(0) vec4f { return vec4f(65520, 1.5 / 16777216.0, 1, 0); }
    @fragment fn read(@builtin(position) p: vec4f) -> @location(0) vec4f {
        return vec4f(textureLoad(depth, vec2u(p.xy), 0));
    }
    struct Two { @location(0) color: vec4f, @location(1) n: vec4u }
    @fragment fn two() -> Two { return Two(vec4f(1, 0.5, 0, 1), vec4u(300, 7, 0, 1)); }
    @fragment @early_depth_test(less_equal) fn nearer() -> @builtin(frag_depth) f32 { return 0.75; }
";

struct Scene {
    device: Device,
    module: ShaderModule,
}

impl Scene {
    fn new() -> Scene {
        let device = device();
        let module = device
            .create_shader_module(ShaderModuleDescriptor {
                label: Some("test.wgsl"),
                source: ShaderSource::Wgsl(SHADERS.into()),
            })
            .expect("compiles");
        Scene { device, module }
    }

    fn texture(&self, format: TextureFormat, samples: u32) -> Texture {
        self.device
            .create_texture(&TextureDescriptor {
                label: Some(format.name()),
                size: Extent3d::new_2d(8, 8),
                format,
                sample_count: samples,
                usage: TextureUsages::RENDER_ATTACHMENT
                    | TextureUsages::COPY_SRC
                    | TextureUsages::COPY_DST
                    | TextureUsages::TEXTURE_BINDING,
                ..TextureDescriptor::default()
            })
            .expect("a texture")
    }

    fn pipeline(
        &self,
        fragment: Option<&str>,
        targets: &[Option<ColorTargetState>],
        change: impl Fn(&mut RenderPipelineDescriptor<'_>),
    ) -> RenderPipeline {
        let fragment = fragment.map(|entry| FragmentState::new(&self.module, entry, targets));
        let mut d = RenderPipelineDescriptor::new(VertexState::new(&self.module, "vs", &[]), fragment);
        change(&mut d);
        self.device.create_render_pipeline(&d).expect("a pipeline")
    }

    fn draw(&self, pass: &RenderPassDescriptor<'_>, pipeline: &RenderPipeline, groups: &[BindGroup]) {
        let mut encoder = self.device.create_command_encoder(&CommandEncoderDescriptor::default());
        let mut p = encoder.begin_render_pass(pass).expect("a pass");
        p.set_pipeline(pipeline).expect("fits");
        for (i, group) in groups.iter().enumerate() {
            p.set_bind_group(i as u32, group, &[]).expect("fits");
        }
        p.draw(0..3, 0..1).expect("recorded");
        p.end();
        self.device.queue().submit([encoder.finish()]).expect("runs");
    }
}

fn view(texture: &Texture) -> TextureView {
    texture.create_view(&TextureViewDescriptor::default()).expect("a view")
}

/// Every format that has one aspect takes and gives its bytes, and is known by its name.
#[test]
fn r_samp_100_every_format_is_written_and_read_by_its_name() {
    let scene = Scene::new();
    for &format in TextureFormat::ALL {
        assert_eq!(format.name().parse(), Ok(format));
        let info = format.info();
        if !info.renderable || info.depth && info.stencil {
            continue;
        }
        let texture = scene.texture(format, 1);
        let bytes: Vec<u8> = (0..64 * info.bytes).map(|i| (i * 37 % 251) as u8).collect();
        texture.write(&bytes).expect("written");
        assert_eq!(texture.read().expect("read"), bytes, "{format}");
    }
}

/// R-OM-60: formats of the targets may differ; integers take the shader's integers, clamped (R-OM-38).
#[test]
fn r_om_60_targets_of_different_formats() {
    let scene = Scene::new();
    let formats = [TextureFormat::B5g6r5Unorm, TextureFormat::Rgba8Uint];
    let textures = formats.map(|f| scene.texture(f, 1));
    let views = [view(&textures[0]), view(&textures[1])];
    let pipeline = scene.pipeline(Some("two"), &formats.map(|f| Some(ColorTargetState::new(f))), |_| ());
    let attachments = [0, 1].map(|i| Some(RenderPassColorAttachment::new(&views[i])));
    let pass = RenderPassDescriptor {
        color_attachments: &attachments,
        ..RenderPassDescriptor::default()
    };
    scene.draw(&pass, &pipeline, &[]);
    assert_eq!(
        textures[0].read().expect("read")[..2],
        (31u16 << 11 | 32 << 5).to_le_bytes()
    );
    assert_eq!(textures[1].read().expect("read")[..4], [255, 7, 0, 1]);
}

/// R-OM-39: rules of the pipeline decide how half floats round.
#[test]
fn r_om_39_rules_of_the_pipeline() {
    let scene = Scene::new();
    let format = TextureFormat::Rgba16Float;
    for (rules, halves) in [(Rules::WebGpu, [0x7c00u16, 2]), (Rules::D3d11, [0x7bff, 1])] {
        let texture = scene.texture(format, 1);
        let target = view(&texture);
        let pipeline = scene.pipeline(Some("half_way"), &[Some(ColorTargetState::new(format))], |d| {
            d.rules = rules
        });
        let attachments = [Some(RenderPassColorAttachment::new(&target))];
        let pass = RenderPassDescriptor {
            color_attachments: &attachments,
            ..RenderPassDescriptor::default()
        };
        scene.draw(&pass, &pipeline, &[]);
        let bytes = texture.read().expect("read");
        assert_eq!([bytes[0], bytes[1]], halves[0].to_le_bytes(), "{rules:?}");
        assert_eq!([bytes[2], bytes[3]], halves[1].to_le_bytes(), "{rules:?}");
    }
}

/// R-OM-24: depth that is only tested may be read by the shader meanwhile, also while stencil is written.
#[test]
fn r_om_24_read_only_depth_is_sampled_while_tested() {
    let scene = Scene::new();
    let color = scene.texture(TextureFormat::R32Float, 1);
    let depth = scene.texture(TextureFormat::Depth32FloatStencil8, 1);
    let (color_view, depth_view) = (view(&color), view(&depth));
    let sampled = depth
        .create_view(&TextureViewDescriptor {
            aspect: TextureAspect::Depth,
            ..TextureViewDescriptor::default()
        })
        .expect("a view");
    let increment = StencilFaceState {
        pass_op: StencilOperation::IncrementClamp,
        ..StencilFaceState::default()
    };
    let pipeline = scene.pipeline(
        Some("read"),
        &[Some(ColorTargetState::new(TextureFormat::R32Float))],
        |d| {
            d.depth_stencil = Some(DepthStencilState {
                depth_compare: CompareFunction::Less,
                stencil_front: increment,
                stencil_back: increment,
                ..DepthStencilState::new(TextureFormat::Depth32FloatStencil8)
            });
        },
    );
    let group = scene
        .device
        .create_bind_group(&BindGroupDescriptor {
            label: None,
            layout: &pipeline.get_bind_group_layout(0).expect("a group"),
            entries: &[BindGroupEntry::new(0, &sampled)],
        })
        .expect("a bind group");
    for (stored, drawn) in [(0.75, 0.75), (0.25, 0.0)] {
        let mut encoder = scene
            .device
            .create_command_encoder(&CommandEncoderDescriptor::default());
        encoder
            .begin_render_pass(&RenderPassDescriptor {
                depth_stencil_attachment: Some(RenderPassDepthStencilAttachment {
                    view: &depth_view,
                    depth_ops: Some(Operations::clear(stored)),
                    stencil_ops: Some(Operations::clear(4)),
                }),
                ..RenderPassDescriptor::default()
            })
            .expect("a pass")
            .end();
        scene.device.queue().submit([encoder.finish()]).expect("runs");
        let attachments = [Some(RenderPassColorAttachment::new(&color_view))];
        let pass = RenderPassDescriptor {
            color_attachments: &attachments,
            depth_stencil_attachment: Some(RenderPassDepthStencilAttachment {
                view: &depth_view,
                depth_ops: None,
                stencil_ops: Some(Operations::load()),
            }),
            ..RenderPassDescriptor::default()
        };
        scene.draw(&pass, &pipeline, std::slice::from_ref(&group));
        let bytes = color.read().expect("read");
        assert_eq!(bytes[..4], f32::to_le_bytes(drawn));
        let mut stencil = encoder_read(&scene, &depth, TextureAspect::Stencil, 1);
        stencil.truncate(1);
        assert_eq!(stencil, [if drawn == 0.0 { 4 } else { 5 }]);
    }
}

/// An aspect's texels through a buffer.
fn encoder_read(scene: &Scene, texture: &Texture, aspect: TextureAspect, bytes: u32) -> Vec<u8> {
    let buffer = scene
        .device
        .create_buffer(&BufferDescriptor {
            label: None,
            size: u64::from(256 * 8 * bytes),
            usage: BufferUsages::COPY_DST | BufferUsages::COPY_SRC,
        })
        .expect("a buffer");
    let mut encoder = scene
        .device
        .create_command_encoder(&CommandEncoderDescriptor::default());
    encoder
        .copy_texture_to_buffer(
            TexelCopyTextureInfo {
                aspect,
                ..TexelCopyTextureInfo::whole(texture)
            },
            TexelCopyBufferInfo {
                buffer: &buffer,
                layout: TexelCopyBufferLayout {
                    bytes_per_row: Some(256),
                    ..TexelCopyBufferLayout::default()
                },
            },
            Extent3d::new_2d(8, 8),
        )
        .expect("recorded");
    scene.device.queue().submit([encoder.finish()]).expect("runs");
    buffer.read().expect("read")
}

/// Dropped contents read as zeros; loaded ones are what was stored.
#[test]
fn store_and_load_operations() {
    let scene = Scene::new();
    let texture = scene.texture(TextureFormat::R32Float, 1);
    let target = view(&texture);
    let pass = |load, store| {
        let mut encoder = scene
            .device
            .create_command_encoder(&CommandEncoderDescriptor::default());
        let attachments = [Some(RenderPassColorAttachment {
            ops: Operations { load, store },
            ..RenderPassColorAttachment::new(&target)
        })];
        encoder
            .begin_render_pass(&RenderPassDescriptor {
                color_attachments: &attachments,
                ..RenderPassDescriptor::default()
            })
            .expect("a pass")
            .end();
        scene.device.queue().submit([encoder.finish()]).expect("runs");
        texture.read().expect("read")[60..64].to_vec()
    };
    let clear = LoadOp::Clear(Color::new(3.0, 0.0, 0.0, 0.0));
    assert_eq!(pass(clear, StoreOp::Store), 3.0f32.to_le_bytes());
    assert_eq!(pass(LoadOp::Load, StoreOp::Store), 3.0f32.to_le_bytes());
    assert_eq!(pass(LoadOp::Load, StoreOp::Discard), [0; 4]);
    assert_eq!(pass(clear, StoreOp::Store), 3.0f32.to_le_bytes());
    assert_eq!(pass(clear, StoreOp::Discard), [0; 4]);
    assert_eq!(pass(LoadOp::Load, StoreOp::Store), [0; 4]);
}

/// R-PS-28 from WGSL, and depth resolved to one of its samples.
#[test]
fn r_ps_28_promised_depth_and_its_resolve() {
    let scene = Scene::new();
    let samples = scene.texture(TextureFormat::Depth32Float, 4);
    let single = scene.texture(TextureFormat::Depth32Float, 1);
    let (samples, resolved) = (view(&samples), view(&single));
    let pipeline = scene.pipeline(Some("nearer"), &[], |d| {
        d.multisample.count = 4;
        d.depth_stencil = Some(DepthStencilState {
            depth_write_enabled: true,
            ..DepthStencilState::new(TextureFormat::Depth32Float)
        });
    });
    let attachment = RenderPassDepthStencilAttachment {
        view: &samples,
        depth_ops: Some(Operations::clear(1.0)),
        stencil_ops: None,
    };
    let pass = RenderPassDescriptor {
        depth_stencil_attachment: Some(attachment),
        depth_stencil_resolve: Some(DepthStencilResolve {
            view: &resolved,
            depth: ResolveMode::Min,
            stencil: ResolveMode::SampleZero,
        }),
        ..RenderPassDescriptor::default()
    };
    scene.draw(&pass, &pipeline, &[]);
    // The shader promises at most the rasterizer's 0.5.
    assert_eq!(single.read().expect("read")[..4], 0.5f32.to_le_bytes());
    // Depth has no average.
    let wrong = RenderPassDescriptor {
        depth_stencil_resolve: Some(DepthStencilResolve {
            view: &resolved,
            depth: ResolveMode::Average,
            stencil: ResolveMode::SampleZero,
        }),
        ..pass
    };
    let mut encoder = scene
        .device
        .create_command_encoder(&CommandEncoderDescriptor::default());
    let text = encoder
        .begin_render_pass(&wrong)
        .map(|_| ())
        .expect_err("refused")
        .to_string();
    assert!(text.contains("can't be resolved"), "{text}");
}

/// R-OM-40 from WGSL: two sources at location 0. R-OM-50, and depth bounds, as extended state.
#[test]
fn r_om_40_50_second_sources_and_logic_operations() {
    let scene = Scene::new();
    let module = scene
        .device
        .create_shader_module(ShaderModuleDescriptor {
            label: Some("dual.wgsl"),
            source: ShaderSource::Wgsl(
                "enable dual_source_blending;
                 struct Two {
                     @location(0) @blend_src(0) color: vec4f,
                     @location(0) @blend_src(1) factor: vec4f,
                 }
                 @fragment fn dual() -> Two { return Two(vec4f(0.125, 0.25, 0.375, 1), vec4f(0.5, 0.25, 0, 1)); }
                 @fragment fn bits() -> @location(0) vec4u { return vec4u(0x1cc, 0xcc, 0xcc, 0xcc); }"
                    .into(),
            ),
        })
        .expect("compiles");
    let over = BlendState {
        color: BlendComponent {
            operation: BlendOperation::Add,
            src_factor: BlendFactor::One,
            dst_factor: BlendFactor::Src1,
        },
        alpha: BlendComponent::default(),
    };
    let cases = [
        ("dual", TextureFormat::Rgba8Unorm, Some(over), None, [32, 96, 96, 255]),
        (
            "bits",
            TextureFormat::Rgba8Uint,
            None,
            Some(LogicOperation::Xor),
            [0x66; 4],
        ),
    ];
    for (entry, format, blend, logic_op, expected) in cases {
        let texture = scene.texture(format, 1);
        texture
            .write(&if blend.is_some() { [0, 128, 255, 255] } else { [0xaa; 4] }.repeat(64))
            .expect("written");
        let target = view(&texture);
        let targets = [Some(ColorTargetState {
            blend,
            ..ColorTargetState::new(format)
        })];
        let pipeline = scene
            .device
            .create_render_pipeline(&RenderPipelineDescriptor {
                extended: ExtendedState {
                    logic_op,
                    ..ExtendedState::default()
                },
                ..RenderPipelineDescriptor::new(
                    VertexState::new(&scene.module, "vs", &[]),
                    Some(FragmentState::new(&module, entry, &targets)),
                )
            })
            .expect("a pipeline");
        let attachments = [Some(RenderPassColorAttachment {
            ops: Operations::load(),
            ..RenderPassColorAttachment::new(&target)
        })];
        let pass = RenderPassDescriptor {
            color_attachments: &attachments,
            ..RenderPassDescriptor::default()
        };
        scene.draw(&pass, &pipeline, &[]);
        assert_eq!(texture.read().expect("read")[..4], expected, "{entry}");
    }
}

/// R-OM-8, R-OM-70: attachments of one pass agree in size and samples, resolves in size and format.
#[test]
fn r_om_8_70_attachments_must_agree() {
    let scene = Scene::new();
    let texture = |format, samples, size| {
        let texture = scene
            .device
            .create_texture(&TextureDescriptor {
                label: Some("t"),
                size: Extent3d::new_2d(size, size),
                format,
                sample_count: samples,
                usage: TextureUsages::RENDER_ATTACHMENT,
                ..TextureDescriptor::default()
            })
            .expect("a texture");
        view(&texture)
    };
    let rgba = TextureFormat::Rgba8Unorm;
    let color = texture(rgba, 4, 8);
    let begin = |depth: Option<&TextureView>, resolve: Option<&TextureView>| {
        let mut encoder = scene
            .device
            .create_command_encoder(&CommandEncoderDescriptor::default());
        let attachments = [Some(RenderPassColorAttachment {
            resolve_target: resolve,
            ..RenderPassColorAttachment::new(&color)
        })];
        encoder
            .begin_render_pass(&RenderPassDescriptor {
                color_attachments: &attachments,
                depth_stencil_attachment: depth.map(|view| RenderPassDepthStencilAttachment {
                    view,
                    depth_ops: Some(Operations::clear(1.0)),
                    stencil_ops: None,
                }),
                ..RenderPassDescriptor::default()
            })
            .map(|_| ())
            .map_err(|e| e.to_string())
    };
    let depth = TextureFormat::Depth24Plus;
    assert_eq!(begin(Some(&texture(depth, 4, 8)), Some(&texture(rgba, 1, 8))), Ok(()));
    for wrong in [texture(depth, 1, 8), texture(depth, 4, 4)] {
        assert!(begin(Some(&wrong), None).is_err());
    }
    for wrong in [
        texture(rgba, 4, 8),
        texture(rgba, 1, 4),
        texture(TextureFormat::Rgba8UnormSrgb, 1, 8),
    ] {
        assert!(begin(None, Some(&wrong)).is_err());
    }
}
