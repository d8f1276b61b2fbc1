//! Every mistake is an error that names the object, and changes nothing.

use super::support::*;
use quadrille::*;

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
                    depth_slice: None,
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
