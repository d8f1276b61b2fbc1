//! Variants of the shaders: which lines of the WGSL templates a material needs.
//!
//! A pipeline is compiled per variant, so what a material lacks costs it nothing: no sample of a white texture, no transform
//! by the identity, no empty light loop. The template language is two forms, `//#if NAME ... //#end` (also `!NAME`, nested)
//! and `$NAME`; blanked lines stay as empty lines so that diagnostics name the line of the file in the tree.

use super::model::{AlphaMode, Material, Primitive, TextureRef, Topology};

/// Most punctual lights of a frame: the size of the array in the shader.
pub const MAX_LIGHTS: usize = 16;

const PBR: &str = include_str!("shaders/pbr.wgsl");
const BACKGROUND: &str = include_str!("shaders/background.wgsl");

/// The maps of a material, in the order of their bindings and of the transforms in its uniform.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Map {
    /// Base colour and alpha.
    BaseColor,
    /// Roughness, metalness and perhaps occlusion.
    MetallicRoughness,
    /// Tangent-space normals.
    Normal,
    /// Occlusion in an image of its own.
    Occlusion,
    /// Emitted light.
    Emissive,
}

/// All maps.
pub const MAPS: [Map; 5] = [
    Map::BaseColor,
    Map::MetallicRoughness,
    Map::Normal,
    Map::Occlusion,
    Map::Emissive,
];

impl Map {
    /// The material's texture for it.
    pub fn of(self, material: &Material) -> Option<&TextureRef> {
        match self {
            Self::BaseColor => material.base_color_map.as_ref(),
            Self::MetallicRoughness => material.metallic_roughness_map.as_ref(),
            Self::Normal => material.normal_map.as_ref(),
            Self::Occlusion => material.occlusion_map.as_ref(),
            Self::Emissive => material.emissive_map.as_ref(),
        }
    }

    /// True if its image holds sRGB colours.
    pub fn is_color(self) -> bool {
        matches!(self, Self::BaseColor | Self::Emissive)
    }

    /// Bindings of its texture and sampler in group 1.
    pub fn bindings(self) -> [u32; 2] {
        let first = 1 + 2 * self as u32;
        [first, first + 1]
    }

    fn name(self) -> &'static str {
        ["BASE", "ORM", "NORMAL", "OCCLUSION", "EMISSIVE"][self as usize]
    }
}

/// How linear light becomes what the file stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ToneMap {
    /// Khronos PBR Neutral: base colours under neutral light come out as they are, highlights are compressed.
    Neutral,
    /// Nothing: what exceeds 1 is cut off (or kept, in an EXR).
    None,
}

/// How one map is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct MapUse {
    uv_set: usize,
    transform: bool,
}

/// What distinguishes a compiled material shader.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Variant {
    /// Vertices carry normals.
    pub normal: bool,
    /// Vertices carry tangents.
    pub tangent: bool,
    /// Vertices carry these texture coordinate sets.
    pub uv: [bool; 2],
    /// Vertices carry colours.
    pub color: bool,
    /// Alpha below the cutoff is dropped.
    pub mask: bool,
    /// Alpha is composited.
    pub blend: bool,
    /// Back faces show.
    pub double_sided: bool,
    lit: bool,
    lights: bool,
    emissive: bool,
    occlusion_in_orm: bool,
    maps: [Option<MapUse>; MAPS.len()],
    tone: ToneMap,
}

impl Variant {
    /// The variant that draws `primitive` with `material`; `lights` says whether the scene has punctual lights.
    pub fn new(material: &Material, primitive: &Primitive, lights: bool, tone: ToneMap) -> Self {
        // glTF: points and lines without normals show base colour plus emission.
        let lit = !material.unlit && primitive.normals.is_some();
        let emissive = !material.unlit && material.emissive != [0.0; 3];
        let tangent = lit && primitive.tangents.is_some() && primitive.topology == Topology::Triangles;
        let usable = |map: Map| {
            let wanted = match map {
                Map::BaseColor => true,
                Map::MetallicRoughness => lit,
                Map::Normal => tangent,
                Map::Occlusion => lit && material.occlusion_strength != 0.0,
                Map::Emissive => emissive,
            };
            let texture = map
                .of(material)
                .filter(|t| wanted && primitive.uvs[t.uv_set].is_some())?;
            Some(MapUse {
                uv_set: texture.uv_set,
                transform: texture.transform.is_some(),
            })
        };
        let mut maps = MAPS.map(usable);
        let occlusion_in_orm = maps[Map::MetallicRoughness as usize].is_some()
            && maps[Map::Occlusion as usize].is_some()
            && material.occlusion_map == material.metallic_roughness_map;
        if occlusion_in_orm {
            maps[Map::Occlusion as usize] = None;
        }
        Self {
            normal: lit,
            tangent: maps[Map::Normal as usize].is_some(),
            uv: [0, 1].map(|set| maps.iter().flatten().any(|m| m.uv_set == set)),
            color: primitive.colors.is_some(),
            mask: matches!(material.alpha, AlphaMode::Mask(_)),
            blend: material.alpha == AlphaMode::Blend,
            double_sided: lit && material.double_sided,
            lit,
            lights: lit && lights,
            emissive,
            occlusion_in_orm,
            maps,
            tone,
        }
    }

    /// The maps that it samples.
    pub fn maps(&self) -> impl Iterator<Item = Map> + '_ {
        MAPS.into_iter().filter(|&map| self.maps[map as usize].is_some())
    }

    /// True if it reads the environment (group 0, bindings 1 and 2).
    pub fn uses_sky(&self) -> bool {
        self.lit
    }

    /// What it has, for labels: `normal+base+orm`.
    pub fn describe(&self) -> String {
        let mut parts: Vec<String> = self.maps().map(|map| map.name().to_ascii_lowercase()).collect();
        let flags = [
            (!self.lit, "unlit"),
            (self.lights, "lights"),
            (self.mask, "mask"),
            (self.double_sided, "double-sided"),
            (self.color, "colors"),
            (self.occlusion_in_orm, "ao-in-orm"),
        ];
        parts.extend(flags.iter().filter(|(on, _)| *on).map(|(_, name)| (*name).to_owned()));
        if parts.is_empty() {
            "plain".into()
        } else {
            parts.join("+")
        }
    }

    /// Its WGSL.
    pub fn source(&self) -> String {
        let is = |flag: &str| match flag {
            "LIT" => self.lit,
            "LIGHTS" => self.lights,
            "TONE" => self.lit && self.tone == ToneMap::Neutral,
            "NORMAL" => self.normal,
            "TANGENT" => self.tangent,
            "UV0" => self.uv[0],
            "UV1" => self.uv[1],
            "COLOR" => self.color,
            "MASK" => self.mask,
            "BLEND" => self.blend,
            "DOUBLE_SIDED" => self.double_sided,
            "EMISSIVE" => self.emissive,
            "OCCLUSION_IN_ORM" => self.occlusion_in_orm,
            "TRANSFORM" => self.maps.iter().flatten().any(|m| m.transform),
            _ => MAPS
                .into_iter()
                .any(|m| flag.strip_suffix("_MAP") == Some(m.name()) && self.maps[m as usize].is_some()),
        };
        let expression = |name: &str| {
            let map = MAPS.into_iter().find(|m| name.strip_suffix("_UV") == Some(m.name()));
            match map.and_then(|map| Some((map, self.maps[map as usize]?))) {
                Some((
                    map,
                    MapUse {
                        uv_set,
                        transform: true,
                    },
                )) => format!("transformed(in.uv{uv_set}, {}u)", map as u32),
                Some((
                    _,
                    MapUse {
                        uv_set,
                        transform: false,
                    },
                )) => format!("in.uv{uv_set}"),
                None => String::new(),
            }
        };
        specialise(PBR, &is, &expression)
    }
}

/// WGSL of the background: the environment, or the gradient.
pub fn background_source(sky: bool, tone: ToneMap) -> String {
    let shared = |from: &str, to: &str| {
        let start = PBR.find(from).unwrap_or(0);
        let end = PBR[start..].find(to).map_or(PBR.len(), |at| start + at);
        PBR[start..end].to_owned()
    };
    let is = |flag: &str| match flag {
        "SKY" => sky,
        "TONE" => sky && tone == ToneMap::Neutral,
        _ => false,
    };
    let expression = |name: &str| match name {
        "FRAME" => shared("struct Light {", "struct Material {"),
        _ if is("TONE") => shared("fn tone_map", "//#end"),
        _ => String::new(),
    };
    specialise(BACKGROUND, &is, &expression)
}

/// Resolves a template's conditions and names.
fn specialise(template: &str, is: &dyn Fn(&str) -> bool, expression: &dyn Fn(&str) -> String) -> String {
    let mut out = String::with_capacity(template.len());
    // Innermost last: is this block kept, its parents included?
    let mut kept = vec![true];
    for line in template.lines() {
        let keep = kept.last().copied().unwrap_or(true);
        if let Some(condition) = line.strip_prefix("//#if ") {
            let wanted = match condition.strip_prefix('!') {
                Some(flag) => !is(flag),
                None => is(condition),
            };
            kept.push(keep && wanted);
        } else if line == "//#end" {
            kept.pop();
        } else if keep && !line.trim_start().starts_with("//") {
            let mut rest = line;
            while let Some(at) = rest.find('$') {
                let name = &rest[at + 1..];
                let end = name
                    .find(|c: char| !(c.is_ascii_uppercase() || c == '_'))
                    .unwrap_or(name.len());
                out.push_str(&rest[..at]);
                out.push_str(&expression(&name[..end]));
                rest = &name[end..];
            }
            out.push_str(rest);
        }
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::math::Aabb;
    use crate::scene::model::Sampler;

    fn primitive(topology: Topology) -> Primitive {
        let positions = vec![[0.0; 3]; 3];
        Primitive {
            topology,
            indices: vec![0, 1, 2],
            bounds: Aabb::around(&positions).unwrap(),
            positions,
            normals: Some(vec![[0.0, 0.0, 1.0]; 3]),
            tangents: Some(vec![[1.0, 0.0, 0.0, 1.0]; 3]),
            uvs: [Some(vec![[0.0; 2]; 3]), Some(vec![[0.0; 2]; 3])],
            colors: Some(vec![[1.0; 4]; 3]),
            material: 0,
        }
    }

    fn texture(image: usize, uv_set: usize, transform: bool) -> Option<TextureRef> {
        let transform = transform.then_some([[2.0, 0.0, 0.0], [0.0, 2.0, 0.0]]);
        Some(TextureRef {
            image,
            sampler: Sampler::default(),
            uv_set,
            transform,
        })
    }

    /// Parses and validates, as the front end will.
    fn check(source: &str) -> naga::Module {
        let module =
            naga::front::wgsl::parse_str(source).unwrap_or_else(|e| panic!("{}\n{source}", e.emit_to_string(source)));
        let flags = naga::valid::ValidationFlags::all();
        let mut validator = naga::valid::Validator::new(flags, naga::valid::Capabilities::empty());
        validator
            .validate(&module)
            .unwrap_or_else(|e| panic!("{e:?}\n{source}"));
        module
    }

    #[test]
    fn every_switch_alone_and_all_together_make_valid_wgsl() {
        let plain = Material::default();
        let full = Material {
            base_color_map: texture(0, 0, true),
            metallic_roughness_map: texture(1, 1, false),
            normal_map: texture(2, 0, true),
            occlusion_map: texture(3, 1, true),
            emissive_map: texture(4, 0, false),
            emissive: [1.0; 3],
            double_sided: true,
            ..Material::default()
        };
        let mut materials = vec![plain.clone(), full.clone()];
        materials.push(Material {
            base_color_map: full.base_color_map,
            ..plain.clone()
        });
        materials.push(Material {
            metallic_roughness_map: full.metallic_roughness_map,
            ..plain.clone()
        });
        materials.push(Material {
            normal_map: texture(2, 1, false),
            ..plain.clone()
        });
        materials.push(Material {
            occlusion_map: full.occlusion_map,
            ..plain.clone()
        });
        materials.push(Material {
            emissive: [1.0; 3],
            ..plain.clone()
        });
        materials.push(Material {
            occlusion_map: texture(1, 1, false),
            ..full.clone()
        });
        materials.push(Material {
            double_sided: true,
            ..plain.clone()
        });
        materials.push(Material {
            unlit: true,
            ..full.clone()
        });
        let mut seen = std::collections::BTreeSet::new();
        for material in materials {
            for alpha in [AlphaMode::Opaque, AlphaMode::Mask(0.5), AlphaMode::Blend] {
                for topology in [Topology::Points, Topology::Triangles] {
                    for bare in [false, true] {
                        let mut p = primitive(topology);
                        if bare {
                            (p.tangents, p.colors, p.uvs) = (None, None, [None, None]);
                            p.normals = p.normals.filter(|_| topology == Topology::Triangles);
                        }
                        for (lights, tone) in [
                            (false, ToneMap::Neutral),
                            (true, ToneMap::None),
                            (true, ToneMap::Neutral),
                        ] {
                            let v = Variant::new(
                                &Material {
                                    alpha,
                                    ..material.clone()
                                },
                                &p,
                                lights,
                                tone,
                            );
                            if seen.insert(v.clone()) {
                                let module = check(&v.source());
                                let textures = v.maps().count() * 2 + if v.uses_sky() { 2 } else { 0 };
                                assert_eq!(module.global_variables.len(), 2 + textures);
                                assert_eq!(v.source().lines().count(), PBR.lines().count());
                            }
                        }
                    }
                }
            }
        }
        assert!(seen.len() > 80, "{}", seen.len());
    }

    #[test]
    fn background_variants_are_valid() {
        for sky in [false, true] {
            for tone in [ToneMap::Neutral, ToneMap::None] {
                check(&background_source(sky, tone));
            }
        }
    }

    #[test]
    fn occlusion_rides_along_in_the_orm_texture() {
        let same = texture(1, 0, false);
        let material = Material {
            metallic_roughness_map: same,
            occlusion_map: same,
            ..Material::default()
        };
        let v = Variant::new(&material, &primitive(Topology::Triangles), false, ToneMap::Neutral);
        assert_eq!(v.maps().collect::<Vec<_>>(), [Map::MetallicRoughness]);
        assert!(v.source().contains("orm.r"));
        assert_eq!(Map::Emissive.bindings(), [9, 10]);
    }

    #[test]
    fn templates_nest_and_negate() {
        let text = "a\n//#if X\nb\n//#if !Y\nc $N;\n//#end\nd\n//#end\n//#if !X\ne\n//#end\n// gone\nf";
        let is = |flags: &'static str| move |f: &str| flags.contains(f);
        let run = |flags: &'static str| {
            let out = specialise(text, &is(flags), &|n| format!("<{n}>"));
            assert_eq!(out.lines().count(), text.lines().count());
            out.split_whitespace().collect::<Vec<_>>().join(" ")
        };
        assert_eq!(run("X"), "a b c <N>; d f");
        assert_eq!(run("XY"), "a b d f");
        assert_eq!(run("Y"), "a e f");
    }
}
