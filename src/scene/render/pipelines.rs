//! Pipelines of a view: one for each shader variant, vertex shape and state that its draws need, compiled on all threads.

use std::collections::{BTreeMap, BTreeSet};

use super::draws::{Draw, DrawList, Faces, Phase};
use super::upload::{INSTANCE_SIZE, Shape, map_set};
use super::{Background, DEPTH, Output, RenderOptions, uniforms};
use crate::scene::model::{Scene, Topology};
use crate::scene::parallel;
use crate::scene::shader::{MAPS, ToneMap, Variant, background_source};
use crate::{
    BindGroupLayout, BindGroupLayoutDescriptor, BindGroupLayoutEntry, BindingType, BlendComponent, BlendFactor,
    BlendOperation, BlendState, BufferBindingType, ColorTargetState, CompareFunction, CullMode, DepthStencilState,
    Device, Error, ExtendedState, FragmentState, FrontFace, MultisampleState, PipelineLayout, PipelineLayoutDescriptor,
    PipelineStats, PrimitiveState, PrimitiveTopology, RenderPipeline, RenderPipelineDescriptor, Rules,
    SamplerBindingType, ShaderModuleDescriptor, ShaderSource, ShaderStages, TextureSampleType, TextureViewDimension,
    VertexAttribute, VertexBufferLayout, VertexFormat, VertexState, VertexStepMode,
};

/// Shader variants of the primitives that are drawn.
#[derive(Debug)]
pub(super) struct Variants {
    /// Distinct ones.
    list: Vec<Variant>,
    /// By primitive (counted over all meshes): variant, shape, topology and material; `None` if it isn't drawn.
    of_part: Vec<Option<(usize, Shape, Topology, usize)>>,
    /// Distinct keys, and the key of each draw.
    keys: Vec<Key>,
    key_of_draw: BTreeMap<(usize, Faces, bool), usize>,
}

/// All that distinguishes a pipeline of a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    variant: usize,
    shape: Shape,
    topology: Topology,
    faces: Faces,
    mirrored: bool,
    blend: bool,
}

impl Variants {
    pub fn new(scene: &Scene, draws: &DrawList, options: &RenderOptions) -> Self {
        let tone = match options.output {
            Output::Srgb8 => options.tone_map,
            // An EXR holds scene light.
            Output::Linear16 => ToneMap::None,
        };
        let parts = draws.draws.iter().map(|d| d.part + 1).max().unwrap_or(0);
        let mut found = vec![None; parts];
        for d in &draws.draws {
            let p = &scene.meshes[d.mesh].primitives[d.primitive];
            found[d.part].get_or_insert_with(|| {
                let variant = Variant::new(&scene.materials[p.material], p, !scene.lights.is_empty(), tone);
                (variant, Shape::of(p), p.topology, p.material)
            });
        }
        let list: BTreeSet<Variant> = found.iter().flatten().map(|(v, ..)| v.clone()).collect();
        let list: Vec<Variant> = list.into_iter().collect();
        let of_part: Vec<_> = found
            .into_iter()
            .map(|f| {
                let (variant, shape, topology, material) = f?;
                Some((list.binary_search(&variant).ok()?, shape, topology, material))
            })
            .collect();
        let mut key_of = BTreeMap::new();
        for d in &draws.draws {
            if let Some((variant, shape, topology, _)) = of_part[d.part] {
                let blend = d.phase == Phase::Blend;
                let key = Key {
                    variant,
                    shape,
                    topology,
                    faces: d.faces,
                    mirrored: d.mirrored,
                    blend,
                };
                key_of.insert((d.part, d.faces, d.mirrored), key);
            }
        }
        let keys: BTreeSet<Key> = key_of.values().copied().collect();
        let keys: Vec<Key> = keys.into_iter().collect();
        let key_of_draw = key_of
            .into_iter()
            .filter_map(|(d, key)| Some((d, keys.binary_search(&key).ok()?)))
            .collect();
        Self {
            list,
            of_part,
            keys,
            key_of_draw,
        }
    }

    /// Materials with the variants that draw them.
    pub fn uses(&self) -> impl Iterator<Item = (usize, &Variant)> {
        self.of_part
            .iter()
            .flatten()
            .map(|&(variant, _, _, material)| (material, &self.list[variant]))
    }
}

/// Bind group and pipeline layouts: one for the frame, one for each set of maps.
#[derive(Debug)]
pub(super) struct Layouts {
    pub frame: BindGroupLayout,
    /// By the maps' bits.
    pub material: BTreeMap<u32, (BindGroupLayout, PipelineLayout)>,
    background: PipelineLayout,
}

impl Layouts {
    pub fn new(device: &Device, variants: &Variants) -> Result<Self, Error> {
        let entry = |binding, visibility, ty| BindGroupLayoutEntry {
            binding,
            visibility,
            ty,
        };
        let uniform = |size| BindingType::Buffer {
            ty: BufferBindingType::Uniform,
            has_dynamic_offset: false,
            min_binding_size: size,
        };
        let texture = |view_dimension| BindingType::Texture {
            sample_type: TextureSampleType::Float,
            view_dimension,
            multisampled: false,
        };
        let sampler = BindingType::Sampler(SamplerBindingType::Filtering);
        let make = |label: &str, entries: &[BindGroupLayoutEntry]| {
            device.create_bind_group_layout(&BindGroupLayoutDescriptor {
                label: Some(label),
                entries,
            })
        };
        let (both, fragment) = (ShaderStages::VERTEX_FRAGMENT, ShaderStages::FRAGMENT);
        let frame = make(
            "frame",
            &[
                entry(0, both, uniform(0)),
                entry(1, fragment, texture(TextureViewDimension::Cube)),
                entry(2, fragment, sampler),
            ],
        )?;
        let mut material = BTreeMap::new();
        for variant in &variants.list {
            let set = map_set(variant);
            if material.contains_key(&set) {
                continue;
            }
            let mut entries = vec![entry(0, both, uniform(uniforms::MATERIAL_SIZE))];
            for map in MAPS.into_iter().filter(|&map| set >> map as u32 & 1 == 1) {
                let [t, s] = map.bindings();
                entries.push(entry(t, fragment, texture(TextureViewDimension::D2)));
                entries.push(entry(s, fragment, sampler));
            }
            let group = make("material", &entries)?;
            let pipeline = device.create_pipeline_layout(&PipelineLayoutDescriptor {
                label: Some("material"),
                bind_group_layouts: &[&frame, &group],
            })?;
            material.insert(set, (group, pipeline));
        }
        let background = device.create_pipeline_layout(&PipelineLayoutDescriptor {
            label: Some("background"),
            bind_group_layouts: &[&frame],
        })?;
        Ok(Self {
            frame,
            material,
            background,
        })
    }
}

/// The compiled pipelines.
#[derive(Debug)]
pub(super) struct Pipelines {
    variants: Vec<Variant>,
    /// By key.
    list: Vec<(usize, RenderPipeline)>,
    key_of_draw: BTreeMap<(usize, Faces, bool), usize>,
    /// Draws the background, where it isn't a plain colour.
    pub background: Option<RenderPipeline>,
}

impl Pipelines {
    pub fn compile(
        device: &Device,
        layouts: &Layouts,
        variants: &Variants,
        options: &RenderOptions,
    ) -> Result<Self, Error> {
        let sky = match options.background {
            Background::Environment => Some(true),
            Background::Gradient => Some(false),
            Background::Color(_) | Background::Transparent => None,
        };
        // The background is the last item; each thread takes the next.
        let count = variants.keys.len() + usize::from(sky.is_some());
        let compiled = parallel::map(device.threads(), count, |i| match (variants.keys.get(i), sky) {
            (Some(key), _) => material_pipeline(device, layouts, &variants.list[key.variant], key, options).map(Some),
            (None, Some(sky)) => background_pipeline(device, layouts, sky, options).map(Some),
            (None, None) => Ok(None),
        });
        let mut list = Vec::with_capacity(count);
        let mut background = None;
        for (i, pipeline) in compiled.into_iter().enumerate() {
            match (variants.keys.get(i), pipeline?) {
                (Some(key), Some(pipeline)) => list.push((key.variant, pipeline)),
                (_, pipeline) => background = pipeline,
            }
        }
        let (variants, key_of_draw) = (variants.list.clone(), variants.key_of_draw.clone());
        Ok(Self {
            variants,
            list,
            key_of_draw,
            background,
        })
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.list.len() + usize::from(self.background.is_some())
    }

    /// The pipeline and the variant of a draw.
    pub fn of(&self, draw: &Draw) -> Option<(&RenderPipeline, &Variant)> {
        let key = *self.key_of_draw.get(&(draw.part, draw.faces, draw.mirrored))?;
        let (variant, pipeline) = self.list.get(key)?;
        Some((pipeline, self.variants.get(*variant)?))
    }

    /// Labels and statistics.
    pub fn stats(&self) -> impl Iterator<Item = (String, PipelineStats)> + '_ {
        let all = self.list.iter().map(|(_, p)| p).chain(&self.background);
        all.map(|p| (p.label().to_string(), *p.stats()))
    }
}

fn depth_state(write: bool, compare: CompareFunction) -> DepthStencilState {
    DepthStencilState {
        depth_write_enabled: write,
        depth_compare: compare,
        ..DepthStencilState::new(DEPTH)
    }
}

fn multisample(options: &RenderOptions) -> MultisampleState {
    MultisampleState {
        count: options.samples,
        ..MultisampleState::default()
    }
}

/// Coverage by alpha. The image's own alpha gathers as over an empty page.
const OVER: BlendState = BlendState {
    color: BlendComponent {
        operation: BlendOperation::Add,
        src_factor: BlendFactor::SrcAlpha,
        dst_factor: BlendFactor::OneMinusSrcAlpha,
    },
    alpha: BlendComponent {
        operation: BlendOperation::Add,
        src_factor: BlendFactor::One,
        dst_factor: BlendFactor::OneMinusSrcAlpha,
    },
};

fn material_pipeline(
    device: &Device,
    layouts: &Layouts,
    variant: &Variant,
    key: &Key,
    options: &RenderOptions,
) -> Result<RenderPipeline, Error> {
    let source = variant.source();
    let module = device.create_shader_module(ShaderModuleDescriptor {
        label: Some("pbr.wgsl"),
        source: ShaderSource::Wgsl(source.as_str().into()),
    })?;
    let buffers = vertex_buffers(variant, key.shape);
    let target = ColorTargetState {
        blend: key.blend.then_some(OVER),
        ..ColorTargetState::new(options.color_format())
    };
    let layout = layouts.material.get(&map_set(variant)).map(|(_, layout)| layout);
    let label = format!("pbr {}{}", variant.describe(), if key.blend { " blend" } else { "" });
    Ok(device.create_render_pipeline(&RenderPipelineDescriptor {
        label: Some(&label),
        layout,
        vertex: VertexState {
            module: &module,
            entry_point: Some("vs"),
            constants: &[],
            buffers: &buffers,
        },
        primitive: PrimitiveState {
            topology: match key.topology {
                Topology::Points => PrimitiveTopology::PointList,
                Topology::Lines => PrimitiveTopology::LineList,
                Topology::Triangles => PrimitiveTopology::TriangleList,
            },
            front_face: if key.mirrored { FrontFace::Cw } else { FrontFace::Ccw },
            cull_mode: match key.faces {
                Faces::Both => CullMode::None,
                Faces::Front => CullMode::Back,
                Faces::Back => CullMode::Front,
            },
            ..PrimitiveState::default()
        },
        depth_stencil: Some(depth_state(!key.blend, CompareFunction::Less)),
        multisample: multisample(options),
        fragment: Some(FragmentState {
            module: &module,
            entry_point: Some("fs"),
            constants: &[],
            targets: &[Some(target)],
        }),
        rules: Rules::default(),
        extended: ExtendedState::default(),
    })?)
}

fn background_pipeline(
    device: &Device,
    layouts: &Layouts,
    sky: bool,
    options: &RenderOptions,
) -> Result<RenderPipeline, Error> {
    let tone = if options.output == Output::Linear16 {
        ToneMap::None
    } else {
        options.tone_map
    };
    let source = background_source(sky, tone);
    let module = device.create_shader_module(ShaderModuleDescriptor {
        label: Some("background.wgsl"),
        source: ShaderSource::Wgsl(source.as_str().into()),
    })?;
    let targets = [Some(ColorTargetState::new(options.color_format()))];
    Ok(device.create_render_pipeline(&RenderPipelineDescriptor {
        label: Some("background"),
        layout: Some(&layouts.background),
        vertex: VertexState {
            module: &module,
            entry_point: Some("vs"),
            constants: &[],
            buffers: &[],
        },
        primitive: PrimitiveState::default(),
        // On the far plane, where nothing nearer was drawn.
        depth_stencil: Some(depth_state(false, CompareFunction::LessEqual)),
        multisample: multisample(options),
        fragment: Some(FragmentState {
            module: &module,
            entry_point: Some("fs"),
            constants: &[],
            targets: &targets,
        }),
        rules: Rules::default(),
        extended: ExtendedState::default(),
    })?)
}

/// Slots: positions, the other attributes interleaved, instances.
fn vertex_buffers(variant: &Variant, shape: Shape) -> Vec<VertexBufferLayout> {
    let formats = [
        VertexFormat::Float32x3,
        VertexFormat::Float32x4,
        VertexFormat::Float32x2,
        VertexFormat::Float32x2,
        VertexFormat::Float32x4,
    ];
    let attribute = |format, offset, shader_location| VertexAttribute {
        format,
        offset,
        shader_location,
    };
    let read = [
        variant.normal,
        variant.tangent,
        variant.uv[0],
        variant.uv[1],
        variant.color,
    ];
    let (mut attributes, mut stride) = (Vec::new(), 0);
    for i in 0..formats.len() {
        if shape.0[i] {
            if read[i] {
                attributes.push(attribute(formats[i], stride, i as u32 + 1));
            }
            stride += 4 * Shape::FLOATS[i];
        }
    }
    let mut instance: Vec<_> = (0..3)
        .map(|i| attribute(VertexFormat::Float32x4, 16 * u64::from(i), 6 + i))
        .collect();
    if variant.normal {
        instance.extend((0..3).map(|i| attribute(VertexFormat::Float32x3, 48 + 12 * u64::from(i), 9 + i)));
    }
    vec![
        VertexBufferLayout {
            array_stride: 12,
            step_mode: VertexStepMode::Vertex,
            attributes: vec![attribute(VertexFormat::Float32x3, 0, 0)],
        },
        VertexBufferLayout {
            array_stride: stride,
            step_mode: VertexStepMode::Vertex,
            attributes,
        },
        VertexBufferLayout {
            array_stride: INSTANCE_SIZE,
            step_mode: VertexStepMode::Instance,
            attributes: instance,
        },
    ]
}
