//! A device, small objects, and a pipeline that fills the target.

use quadrille::*;

pub fn device() -> Device {
    Device::new(&DeviceDescriptor {
        label: Some("test"),
        threads: std::num::NonZeroUsize::new(2),
        memory_limit: Some(64 << 20),
        ..DeviceDescriptor::default()
    })
    .expect("a device")
}

pub const FILL: &str = "
    struct U { color: vec4f, offset: vec4f }
    @group(0) @binding(0) var<uniform> u: U;
    @vertex fn vs(@location(0) p: vec2f) -> @builtin(position) vec4f { return vec4f(p, 0.5, 1.0) + u.offset; }
    @fragment fn fs() -> @location(0) vec4f { return u.color; }
";

pub fn module(device: &Device, text: &str) -> ShaderModule {
    device
        .create_shader_module(ShaderModuleDescriptor {
            label: Some("test.wgsl"),
            source: ShaderSource::Wgsl(text.into()),
        })
        .expect("compiles")
}

pub fn target(device: &Device, label: &str, format: TextureFormat, samples: u32) -> Texture {
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

pub fn view(texture: &Texture) -> TextureView {
    texture.create_view(&TextureViewDescriptor::default()).expect("a view")
}

pub fn floats(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

pub fn buffer(device: &Device, label: &str, contents: &[u8], usage: BufferUsages) -> Buffer {
    device
        .create_buffer_init(&BufferInitDescriptor {
            label: Some(label),
            contents,
            usage,
        })
        .expect("a buffer")
}

pub fn positions() -> VertexBufferLayout {
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

pub fn fill_pipeline(device: &Device, layout: Option<&PipelineLayout>) -> Result<RenderPipeline, RenderPipelineError> {
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
pub const BIG: [f32; 6] = [-1.0, -1.0, 3.0, -1.0, -1.0, 3.0];

#[track_caller]
pub fn says<T: std::fmt::Debug, E: std::fmt::Display>(result: std::result::Result<T, E>, words: &[&str]) {
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
pub struct Fill {
    pub device: Device,
    pub target: Texture,
    pub pipeline: RenderPipeline,
    pub group: BindGroup,
    pub vertices: Buffer,
}

impl Fill {
    pub fn new() -> Fill {
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

    pub fn encoder(&self) -> CommandEncoder {
        self.device
            .create_command_encoder(&CommandEncoderDescriptor { label: Some("encoder") })
    }

    /// Records into a pass on the target.
    pub fn pass<T>(&self, record: impl FnOnce(&mut RenderPass<'_>) -> T) -> (CommandBuffer, T) {
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

    pub fn set_all(&self, pass: &mut RenderPass<'_>) -> Result<(), EncodeError> {
        pass.set_pipeline(&self.pipeline)?;
        pass.set_bind_group(0, &self.group, &[])?;
        pass.set_vertex_buffer(0, &self.vertices, 0)
    }

    pub fn submit(&self, commands: CommandBuffer) -> SubmitStats {
        self.device.queue().submit([commands]).expect("runs")
    }

    pub fn pixel(&self, x: usize, y: usize) -> [u8; 4] {
        let pixels = self.target.read().expect("readable");
        let at = (y * 8 + x) * 4;
        pixels[at..at + 4].try_into().expect("four bytes")
    }
}
