//! From plain data to the device: vertex, index and instance buffers, textures with mips, samplers, bind groups.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU64;

use super::draws::DrawList;
use super::pipelines::{Layouts, Variants};
use super::{RenderOptions, group, uniforms};
use crate::scene::model::{self, AlphaMode, MipFilter, Primitive, Scene, Texels, Wrap};
use crate::scene::shader::{MAPS, Map, Variant};
use crate::scene::view::View;
use crate::scene::{Environment, parallel};
use crate::{
    AddressMode, BindGroup, BindGroupEntry, BindingResource, Buffer, BufferBinding, BufferInitDescriptor, BufferUsages,
    Device, Error, Extent3d, FilterMode, MipOptions, Sampler, SamplerDescriptor, Texture, TextureDescriptor,
    TextureFormat, TextureUsages, TextureView, TextureViewDescriptor, TextureViewDimension,
};

/// Samples along the longer axis of a footprint: ground planes stay sharp, and few pixels need all of them.
const ANISOTROPY: u16 = 4;

/// Uniform bindings start at multiples of this.
const UNIFORM_STRIDE: u64 = 256;

/// Bytes of an instance: three rows of its matrix and three columns of its matrix for normals.
pub(super) const INSTANCE_SIZE: u64 = 4 * (12 + 9);

/// All vertices and indices of a scene, in three buffers.
#[derive(Debug)]
pub(super) struct Geometry {
    pub positions: Buffer,
    pub attributes: Buffer,
    pub indices: Buffer,
    /// By primitive, counted over all meshes.
    pub parts: Vec<Part>,
}

/// Byte offsets of a primitive in the three buffers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    pub positions: u64,
    pub attributes: u64,
    pub indices: u64,
    pub index_count: u32,
}

/// Which attributes a primitive's vertices carry beside positions, interleaved in the order of their locations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Shape(pub [bool; 5]);

impl Shape {
    /// Floats of each attribute: normal, tangent, two texture coordinates, colour.
    pub const FLOATS: [u64; 5] = [3, 4, 2, 2, 4];

    pub fn of(p: &Primitive) -> Self {
        Self([
            p.normals.is_some(),
            p.tangents.is_some(),
            p.uvs[0].is_some(),
            p.uvs[1].is_some(),
            p.colors.is_some(),
        ])
    }
}

fn buffer(device: &Device, label: &str, mut contents: Vec<u8>, usage: BufferUsages) -> Result<Buffer, Error> {
    if contents.is_empty() {
        // A buffer of no bytes cannot be bound; nothing reads these.
        contents = vec![0; 4];
    }
    Ok(device.create_buffer_init(&BufferInitDescriptor {
        label: Some(label),
        contents: &contents,
        usage,
    })?)
}

fn put<const N: usize>(out: &mut Vec<u8>, v: &[f32; N]) {
    v.iter().for_each(|v| out.extend(v.to_le_bytes()));
}

impl Geometry {
    pub fn new(device: &Device, scene: &Scene) -> Result<Self, Error> {
        let primitives = || scene.meshes.iter().flat_map(|m| &m.primitives);
        let vertices: usize = primitives().map(|p| p.positions.len()).sum();
        let indices: usize = primitives().map(|p| p.indices.len()).sum();
        let mut positions_out = Vec::with_capacity(vertices * 12);
        let mut attributes_out = Vec::with_capacity(vertices * 48);
        let mut indices_out = Vec::with_capacity(indices * 4);
        let mut parts = Vec::new();
        for p in primitives() {
            parts.push(Part {
                positions: positions_out.len() as u64,
                attributes: attributes_out.len() as u64,
                indices: indices_out.len() as u64,
                index_count: p.indices.len() as u32,
            });
            p.positions.iter().for_each(|v| put(&mut positions_out, v));
            p.indices.iter().for_each(|i| indices_out.extend(i.to_le_bytes()));
            for i in 0..p.positions.len() {
                // Arrays that exist have the length of `positions` (the model's rule).
                let out = &mut attributes_out;
                p.normals.iter().for_each(|a| put(out, &a[i]));
                p.tangents.iter().for_each(|a| put(out, &a[i]));
                p.uvs[0].iter().for_each(|a| put(out, &a[i]));
                p.uvs[1].iter().for_each(|a| put(out, &a[i]));
                p.colors.iter().for_each(|a| put(out, &a[i]));
            }
        }
        Ok(Self {
            positions: buffer(device, "positions", positions_out, BufferUsages::VERTEX)?,
            attributes: buffer(device, "vertex attributes", attributes_out, BufferUsages::VERTEX)?,
            indices: buffer(device, "indices", indices_out, BufferUsages::INDEX)?,
            parts,
        })
    }
}

/// The instance buffer of a draw list.
pub(super) fn instances(device: &Device, scene: &Scene, draws: &DrawList) -> Result<Buffer, Error> {
    let mut out = Vec::with_capacity(draws.instances.len() * INSTANCE_SIZE as usize);
    for &n in &draws.instances {
        let world = &scene.nodes[n].world;
        for row in 0..3 {
            put(&mut out, &world.0.map(|column| column[row]));
        }
        // Cofactors grow with the square of the scale; only their ratio matters, and the shader's squares want it near 1.
        let columns = world.normal_matrix();
        let largest = columns
            .as_flattened()
            .iter()
            .fold(0.0f32, |m, v| m.max(v.abs()))
            .max(f32::MIN_POSITIVE);
        columns
            .iter()
            .for_each(|column| put(&mut out, &column.map(|v| v / largest)));
    }
    buffer(device, "instances", out, BufferUsages::VERTEX)
}

/// Group 0: camera, lights and environment.
pub(super) fn frame_group(
    device: &Device,
    layouts: &Layouts,
    scene: &Scene,
    environment: &Environment,
    view: &View,
    options: &RenderOptions,
) -> Result<BindGroup, Error> {
    let bytes = uniforms::frame(view, environment, &scene.lights, options);
    let uniform = buffer(device, "frame", bytes, BufferUsages::UNIFORM)?;
    let sky = sky(device, environment)?;
    let sampler = device.create_sampler(&SamplerDescriptor {
        label: Some("environment"),
        mag_filter: FilterMode::Linear,
        min_filter: FilterMode::Linear,
        mipmap_filter: FilterMode::Linear,
        ..SamplerDescriptor::default()
    })?;
    let entries = [
        BindGroupEntry::new(0, &uniform),
        BindGroupEntry::new(1, &sky),
        BindGroupEntry::new(2, &sampler),
    ];
    group(device, "frame", &layouts.frame, &entries)
}

fn sky(device: &Device, environment: &Environment) -> Result<TextureView, Error> {
    let texture = device.create_texture(&TextureDescriptor {
        label: Some("environment"),
        size: Extent3d {
            width: environment.size,
            height: environment.size,
            depth_or_array_layers: 6,
        },
        mip_level_count: environment.levels.len() as u32,
        format: TextureFormat::Rgba16Float,
        usage: TextureUsages::TEXTURE_BINDING | TextureUsages::COPY_DST,
        ..TextureDescriptor::default()
    })?;
    for (level, texels) in (0..).zip(&environment.levels) {
        let bytes: Vec<u8> = texels.iter().flat_map(|t| t.to_le_bytes()).collect();
        for (face, bytes) in (0..6).zip(bytes.chunks_exact((bytes.len() / 6).max(1))) {
            texture.write_level(level, face, bytes)?;
        }
    }
    let cube = TextureViewDescriptor {
        dimension: Some(TextureViewDimension::Cube),
        ..Default::default()
    };
    Ok(texture.create_view(&cube)?)
}

/// Group 1 of a material, for each set of maps that some variant reads.
#[derive(Debug, Default)]
pub(super) struct MaterialGroups(Vec<(u32, BindGroup)>);

impl MaterialGroups {
    /// The group for a variant's maps.
    pub fn group(&self, variant: &Variant) -> Option<&BindGroup> {
        let set = map_set(variant);
        self.0.iter().find(|(s, _)| *s == set).map(|(_, group)| group)
    }
}

/// A variant's maps as bits.
pub(super) fn map_set(variant: &Variant) -> u32 {
    variant.maps().map(|map| 1 << map as u32).sum()
}

/// What makes a texture of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    image: usize,
    /// Colours are sRGB.
    color: bool,
    /// Bits of the alpha cutoff that mip levels keep the coverage of.
    cutoff: Option<u32>,
}

impl Key {
    fn new(material: &model::Material, map: Map, image: usize) -> Key {
        let cutoff = match material.alpha {
            AlphaMode::Mask(cutoff) if map == Map::BaseColor => Some(cutoff / material.base_color[3]),
            _ => None,
        };
        Key {
            image,
            color: map.is_color(),
            // A cutoff that no texel reaches, or every one, cuts nothing out of the map.
            cutoff: cutoff.filter(|c| *c > 0.0 && *c <= 1.0).map(f32::to_bits),
        }
    }
}

/// Bind groups of all materials that `variants` use; by material.
pub(super) fn materials(
    device: &Device,
    layouts: &Layouts,
    scene: &Scene,
    variants: &Variants,
) -> Result<Vec<MaterialGroups>, Error> {
    // Which textures and samplers, each once.
    let uses: BTreeSet<(usize, u32)> = variants.uses().map(|(material, v)| (material, map_set(v))).collect();
    let maps_of = |set: u32| MAPS.into_iter().filter(move |&map| set >> map as u32 & 1 == 1);
    let mut wanted: BTreeSet<Key> = BTreeSet::new();
    let mut samplers: BTreeMap<model::Sampler, Sampler> = BTreeMap::new();
    for &(material, set) in &uses {
        for map in maps_of(set) {
            let Some(texture) = map.of(&scene.materials[material]) else {
                continue;
            };
            wanted.insert(Key::new(&scene.materials[material], map, texture.image));
            if let std::collections::btree_map::Entry::Vacant(slot) = samplers.entry(texture.sampler) {
                slot.insert(sampler(device, &texture.sampler)?);
            }
        }
    }
    let wanted: Vec<Key> = wanted.into_iter().collect();
    let made = parallel::map(device.threads(), wanted.len(), |i| {
        texture(device, &scene.images[wanted[i].image], wanted[i])
    });
    let mut textures = BTreeMap::new();
    for (key, view) in wanted.into_iter().zip(made) {
        textures.insert(key, view?);
    }

    let mut uniform_bytes = Vec::new();
    for material in &scene.materials {
        uniform_bytes.resize(uniform_bytes.len().next_multiple_of(UNIFORM_STRIDE as usize), 0);
        uniform_bytes.extend(uniforms::material(material));
    }
    let uniform = buffer(device, "materials", uniform_bytes, BufferUsages::UNIFORM)?;
    let mut groups: Vec<MaterialGroups> = scene.materials.iter().map(|_| MaterialGroups::default()).collect();
    for (index, set) in uses {
        let material = &scene.materials[index];
        let binding = BufferBinding {
            buffer: &uniform,
            offset: index as u64 * UNIFORM_STRIDE,
            size: NonZeroU64::new(uniforms::MATERIAL_SIZE),
        };
        let mut entries = vec![BindGroupEntry {
            binding: 0,
            resource: BindingResource::Buffer(binding),
        }];
        for map in maps_of(set) {
            let Some(texture) = map.of(material) else { continue };
            let [texture_binding, sampler_binding] = map.bindings();
            let key = Key::new(material, map, texture.image);
            if let (Some(view), Some(sampler)) = (textures.get(&key), samplers.get(&texture.sampler)) {
                entries.push(BindGroupEntry::new(texture_binding, view));
                entries.push(BindGroupEntry::new(sampler_binding, sampler));
            }
        }
        if let Some((layout, _)) = layouts.material.get(&set) {
            let label = format!("material {}", material.name);
            groups[index].0.push((set, group(device, &label, layout, &entries)?));
        }
    }
    Ok(groups)
}

fn texture(device: &Device, image: &model::Image, key: Key) -> Result<TextureView, Error> {
    let (rgba, levels) = match &image.texels {
        Texels::Rgba8(rgba) => (rgba, 32 - image.width.max(image.height).leading_zeros()),
        Texels::File(file) => {
            let usage = TextureUsages::TEXTURE_BINDING;
            let texture = file.upload_as(device, &image.name, usage, key.color)?;
            return Ok(texture.create_view(&TextureViewDescriptor::default())?);
        }
    };
    let texture: Texture = device.create_texture(&TextureDescriptor {
        label: Some(&image.name),
        size: Extent3d::new_2d(image.width, image.height),
        mip_level_count: levels,
        format: if key.color {
            TextureFormat::Rgba8UnormSrgb
        } else {
            TextureFormat::Rgba8Unorm
        },
        usage: TextureUsages::TEXTURE_BINDING | TextureUsages::COPY_DST,
        ..TextureDescriptor::default()
    })?;
    let options = MipOptions {
        alpha_cutoff: key.cutoff.map(f32::from_bits),
        ..MipOptions::default()
    };
    texture.fill_new(rgba, &options)?;
    Ok(texture.create_view(&TextureViewDescriptor::default())?)
}

fn sampler(device: &Device, s: &model::Sampler) -> Result<Sampler, Error> {
    let filter = |linear| {
        if linear {
            FilterMode::Linear
        } else {
            FilterMode::Nearest
        }
    };
    let address = |wrap| match wrap {
        Wrap::Repeat => AddressMode::Repeat,
        Wrap::Mirror => AddressMode::MirrorRepeat,
        Wrap::Clamp => AddressMode::ClampToEdge,
    };
    let all_linear = s.mag_linear && s.min_linear && s.mips == MipFilter::Linear;
    Ok(device.create_sampler(&SamplerDescriptor {
        label: Some("material"),
        address_mode_u: address(s.wrap[0]),
        address_mode_v: address(s.wrap[1]),
        mag_filter: filter(s.mag_linear),
        min_filter: filter(s.min_linear),
        mipmap_filter: filter(s.mips == MipFilter::Linear),
        // Without mips the level still has to exceed 0 for the minification filter to be taken, but never reach level 1.
        lod_max_clamp: if s.mips == MipFilter::None { 0.25 } else { 32.0 },
        max_anisotropy: if all_linear { ANISOTROPY } else { 1 },
        ..SamplerDescriptor::default()
    })?)
}
