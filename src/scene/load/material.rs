//! Materials, their textures and samplers. Images are numbered here in the order of first use; `image` decodes them.

use std::collections::BTreeMap;

use gltf::json;
use json::texture::{MagFilter, MinFilter, WrappingMode};
use json::validation::Checked;

use crate::scene::error::Fault;
use crate::scene::model::{AlphaMode, Material, MipFilter, Sampler, TextureRef, Wrap};

/// An image that a texture wants, and the one to show where that can't be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Choice {
    /// File index.
    pub image: usize,
    /// File index: the core source of a texture whose extension the model does not require.
    pub fallback: Option<usize>,
}

/// Extensions that give a texture another image, the best first.
const SOURCES: [&str; 3] = ["MSFT_texture_dds", "KHR_texture_basisu", "EXT_texture_webp"];

/// Makes materials, and remembers which images they need.
pub(super) struct Shop<'a> {
    root: &'a json::Root,
    /// To scene index.
    images: BTreeMap<Choice, usize>,
}

impl<'a> Shop<'a> {
    pub fn new(root: &'a json::Root) -> Self {
        Self {
            root,
            images: BTreeMap::new(),
        }
    }

    /// All materials of the file that something reachable might use, and glTF's default material at the end.
    pub fn materials(&mut self) -> Result<Vec<Material>, Fault> {
        let root = self.root;
        let mut out = Vec::with_capacity(root.materials.len() + 1);
        for (index, material) in root.materials.iter().enumerate() {
            out.push(self.material(material, &format!("materials[{index}]"))?);
        }
        out.push(Material {
            name: "default".into(),
            ..Material::default()
        });
        Ok(out)
    }

    /// The images in use, in scene order.
    pub fn used_images(&self) -> Vec<Choice> {
        let mut out: Vec<(usize, Choice)> = self.images.iter().map(|(&choice, &scene)| (scene, choice)).collect();
        out.sort_unstable_by_key(|&(scene, _)| scene);
        out.into_iter().map(|(_, choice)| choice).collect()
    }

    /// Buffer views that hold images in use.
    pub fn image_views(&self) -> impl Iterator<Item = usize> + '_ {
        self.images
            .keys()
            .flat_map(|c| [Some(c.image), c.fallback])
            .filter_map(|i| Some(self.root.images.get(i?)?.buffer_view?.value()))
    }

    fn material(&mut self, m: &json::Material, object: &str) -> Result<Material, Fault> {
        let pbr = &m.pbr_metallic_roughness;
        let alpha = match m.alpha_mode {
            Checked::Valid(json::material::AlphaMode::Opaque) => AlphaMode::Opaque,
            Checked::Valid(json::material::AlphaMode::Mask) => AlphaMode::Mask(m.alpha_cutoff.unwrap_or_default().0),
            Checked::Valid(json::material::AlphaMode::Blend) => AlphaMode::Blend,
            Checked::Invalid => return Err(Fault::new(object, "has an unknown alphaMode")),
        };
        let strength = m
            .extensions
            .as_ref()
            .and_then(|e| e.emissive_strength.as_ref())
            .map_or(1.0, |e| e.emissive_strength.0);
        let out = Material {
            name: m.name.clone().unwrap_or_default(),
            base_color: pbr.base_color_factor.0,
            base_color_map: self.info(pbr.base_color_texture.as_ref(), object)?,
            metallic: pbr.metallic_factor.0,
            roughness: pbr.roughness_factor.0,
            metallic_roughness_map: self.info(pbr.metallic_roughness_texture.as_ref(), object)?,
            normal_map: match &m.normal_texture {
                Some(t) => {
                    let transform = Transform::from_others(t.extensions.as_ref().map(|e| &e.others), object)?;
                    Some(self.texture(t.index.value(), t.tex_coord, transform, object)?)
                }
                None => None,
            },
            normal_scale: m.normal_texture.as_ref().map_or(1.0, |t| t.scale),
            occlusion_map: match &m.occlusion_texture {
                Some(t) => {
                    let transform = Transform::from_others(t.extensions.as_ref().map(|e| &e.others), object)?;
                    Some(self.texture(t.index.value(), t.tex_coord, transform, object)?)
                }
                None => None,
            },
            occlusion_strength: m.occlusion_texture.as_ref().map_or(1.0, |t| t.strength.0),
            emissive: m.emissive_factor.0.map(|c| c * strength),
            emissive_map: self.info(m.emissive_texture.as_ref(), object)?,
            alpha,
            double_sided: m.double_sided,
            unlit: m.extensions.as_ref().is_some_and(|e| e.unlit.is_some()),
        };
        let numbers = out.base_color.iter().chain(&out.emissive);
        let scalars = [out.metallic, out.roughness, out.normal_scale, out.occlusion_strength];
        if numbers.chain(&scalars).any(|n| !n.is_finite()) {
            return Err(Fault::new(object, "has an infinite factor"));
        }
        Ok(out)
    }

    fn info(&mut self, info: Option<&json::texture::Info>, object: &str) -> Result<Option<TextureRef>, Fault> {
        let Some(info) = info else { return Ok(None) };
        let transform = info
            .extensions
            .as_ref()
            .and_then(|e| e.texture_transform.as_ref())
            .map(|t| Transform {
                offset: t.offset.0,
                rotation: t.rotation.0,
                scale: t.scale.0,
                uv_set: t.tex_coord,
            });
        self.texture(info.index.value(), info.tex_coord, transform, object)
            .map(Some)
    }

    fn texture(
        &mut self,
        index: usize,
        uv_set: u32,
        transform: Option<Transform>,
        object: &str,
    ) -> Result<TextureRef, Fault> {
        let bad = |problem: String| Fault::new(object, problem);
        let texture = self
            .root
            .textures
            .get(index)
            .ok_or_else(|| bad(format!("uses textures[{index}], which does not exist")))?;
        let choice = self
            .choice(texture)
            .map_err(|reason| bad(format!("uses textures[{index}], {reason}")))?;
        let uv_set = transform.as_ref().and_then(|t| t.uv_set).unwrap_or(uv_set);
        if uv_set > 1 {
            return Err(bad(format!("uses TEXCOORD_{uv_set}; only sets 0 and 1 are supported")));
        }
        let transform = match transform {
            Some(t) => t
                .rows()
                .ok_or_else(|| bad("has an infinite KHR_texture_transform".into()))?,
            None => None,
        };
        let sampler = match texture.sampler {
            Some(s) => sampler(
                self.root
                    .samplers
                    .get(s.value())
                    .ok_or_else(|| bad(format!("uses samplers[{}], which does not exist", s.value())))?,
            ),
            None => Sampler::default(),
        };
        let next = self.images.len();
        let image = *self.images.entry(choice).or_insert(next);
        Ok(TextureRef {
            image,
            sampler,
            uv_set: uv_set as usize,
            transform,
        })
    }
}

impl Shop<'_> {
    /// Which image a texture shows: that of an extension before its core source.
    fn choice(&self, texture: &json::Texture) -> Result<Choice, String> {
        let exists = |image: usize| image < self.root.images.len();
        let core = Some(texture.source.value()).filter(|&image| exists(image));
        let others = texture.extensions.as_ref().map(|e| &e.others);
        for name in SOURCES {
            let Some(extension) = others.and_then(|o| o.get(name)) else {
                continue;
            };
            let source = extension.get("source").and_then(serde_json::Value::as_u64);
            let image = source
                .and_then(|s| usize::try_from(s).ok())
                .filter(|&image| exists(image));
            let image = image.ok_or_else(|| format!("whose {name} has no image"))?;
            let required = self.root.extensions_required.iter().any(|r| r == name);
            return Ok(Choice {
                image,
                fallback: core.filter(|_| !required),
            });
        }
        core.map(|image| Choice { image, fallback: None })
            .ok_or_else(|| "which has no image".into())
    }
}

/// KHR_texture_transform as written.
struct Transform {
    offset: [f32; 2],
    rotation: f32,
    scale: [f32; 2],
    uv_set: Option<u32>,
}

impl Transform {
    /// The gltf crate leaves this extension of normal and occlusion textures as JSON.
    fn from_others(
        others: Option<&serde_json::Map<String, serde_json::Value>>,
        object: &str,
    ) -> Result<Option<Self>, Fault> {
        let Some(value) = others.and_then(|o| o.get("KHR_texture_transform")) else {
            return Ok(None);
        };
        let parsed: json::extensions::texture::TextureTransform = serde_json::from_value(value.clone())
            .map_err(|e| Fault::new(object, format!("KHR_texture_transform: {e}")))?;
        Ok(Some(Self {
            offset: parsed.offset.0,
            rotation: parsed.rotation.0,
            scale: parsed.scale.0,
            uv_set: parsed.tex_coord,
        }))
    }

    /// Offset after rotation after scale, as the extension multiplies them; inner `None` for the identity, outer `None` if
    /// something is infinite.
    fn rows(&self) -> Option<Option<[[f32; 3]; 2]>> {
        let (s, c) = (libm::sinf(self.rotation), libm::cosf(self.rotation));
        let [sx, sy] = self.scale;
        let rows = [[c * sx, s * sy, self.offset[0]], [-s * sx, c * sy, self.offset[1]]];
        if rows.iter().flatten().any(|n| !n.is_finite()) {
            return None;
        }
        let identity = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]];
        Some((rows != identity).then_some(rows))
    }
}

fn sampler(s: &json::texture::Sampler) -> Sampler {
    let wrap = |mode: Checked<WrappingMode>| match mode {
        Checked::Valid(WrappingMode::ClampToEdge) => Wrap::Clamp,
        Checked::Valid(WrappingMode::MirroredRepeat) => Wrap::Mirror,
        _ => Wrap::Repeat,
    };
    let (min_linear, mips) = match s.min_filter {
        Some(Checked::Valid(MinFilter::Nearest)) => (false, MipFilter::None),
        Some(Checked::Valid(MinFilter::Linear)) => (true, MipFilter::None),
        Some(Checked::Valid(MinFilter::NearestMipmapNearest)) => (false, MipFilter::Nearest),
        Some(Checked::Valid(MinFilter::LinearMipmapNearest)) => (true, MipFilter::Nearest),
        Some(Checked::Valid(MinFilter::NearestMipmapLinear)) => (false, MipFilter::Linear),
        _ => (true, MipFilter::Linear),
    };
    Sampler {
        mag_linear: !matches!(s.mag_filter, Some(Checked::Valid(MagFilter::Nearest))),
        min_linear,
        mips,
        wrap: [wrap(s.wrap_s), wrap(s.wrap_t)],
    }
}
