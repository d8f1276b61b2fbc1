//! The bytes of the shaders' uniform structs. Field order and padding follow `Frame` and `Material` in `pbr.wgsl`.

use super::RenderOptions;
use crate::scene::Environment;
use crate::scene::model::{AlphaMode, Light, LightKind, Material};
use crate::scene::shader::{MAPS, MAX_LIGHTS};
use crate::scene::view::View;

/// Blur of the environment as background: a mip level.
const BACKGROUND_LEVEL: f32 = 1.25;

/// Bytes of `Material`.
pub(super) const MATERIAL_SIZE: u64 = 16 * (3 + 2 * MAPS.len() as u64);

/// Floats in order, as little-endian bytes.
#[derive(Default)]
struct Bytes(Vec<u8>);

impl Bytes {
    fn put(&mut self, values: &[f32]) {
        self.0.extend(values.iter().flat_map(|v| v.to_le_bytes()));
    }

    fn vec3(&mut self, [x, y, z]: [f32; 3], w: f32) {
        self.put(&[x, y, z, w]);
    }
}

/// `Frame`: camera, environment and lights; lights beyond the shader's number are left out.
pub(super) fn frame(view: &View, environment: &Environment, lights: &[Light], options: &RenderOptions) -> Vec<u8> {
    let mut b = Bytes::default();
    b.put(view.view_proj.0.as_flattened());
    b.put(&view.eye);
    let roughest = environment.levels.len().saturating_sub(1) as f32;
    let blur = BACKGROUND_LEVEL.min(roughest);
    b.put(&[
        options.exposure,
        roughest,
        blur,
        options.height as f32 / options.width as f32,
    ]);
    let count = lights.len().min(MAX_LIGHTS) as u32;
    b.0.extend([count, 0, 0, 0].iter().flat_map(|v| v.to_le_bytes()));
    view.rays.iter().for_each(|&ray| b.vec3(ray, 0.0));
    environment.diffuse.iter().for_each(|&c| b.vec3(c, 0.0));
    for i in 0..MAX_LIGHTS {
        match lights.get(i) {
            Some(light) => put_light(&mut b, light),
            None => b.put(&[0.0; 16]),
        }
    }
    b.0
}

fn put_light(b: &mut Bytes, light: &Light) {
    match light.kind {
        LightKind::Directional => b.vec3(light.direction.map(|c| -c), 0.0),
        _ => b.vec3(light.position, 1.0),
    }
    let end = match (light.kind, light.range) {
        (LightKind::Directional, _) | (_, None) => 0.0,
        (_, Some(range)) => 1.0 / (range * range),
    };
    b.vec3(light.direction, end);
    b.vec3(light.color, 0.0);
    let (scale, offset) = match light.kind {
        // KHR_lights_punctual: full inside the inner angle, none outside the outer one.
        LightKind::Spot { inner, outer } => {
            let (ci, co) = (libm::cosf(inner), libm::cosf(outer));
            let scale = 1.0 / (ci - co).max(1e-3);
            (scale, -co * scale)
        }
        _ => (0.0, 1.0),
    };
    b.put(&[scale, offset, 0.0, 0.0]);
}

/// `Material`.
pub(super) fn material(m: &Material) -> Vec<u8> {
    let mut b = Bytes::default();
    b.put(&m.base_color);
    let cutoff = if let AlphaMode::Mask(cutoff) = m.alpha {
        cutoff
    } else {
        0.0
    };
    b.vec3(m.emissive, cutoff);
    b.put(&[m.metallic, m.roughness, m.normal_scale, m.occlusion_strength]);
    for map in MAPS {
        let rows = map
            .of(m)
            .and_then(|t| t.transform)
            .unwrap_or([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]);
        rows.iter().for_each(|&row| b.vec3(row, 0.0));
    }
    b.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::model::Scene;
    use crate::scene::view::framing_camera;

    /// Sizes and offsets as naga lays the structs out.
    #[test]
    fn bytes_have_the_shaders_layout() {
        let source = crate::scene::shader::background_source(true, crate::scene::shader::ToneMap::Neutral);
        let module = naga::front::wgsl::parse_str(&source).unwrap();
        let frame_type = module
            .types
            .iter()
            .find(|(_, t)| t.name.as_deref() == Some("Frame"))
            .unwrap()
            .1;
        let naga::TypeInner::Struct { members, span } = &frame_type.inner else {
            panic!()
        };
        let view = View::new(&framing_camera(&Scene::default(), 1.0), 1.0);
        let environment = Environment {
            size: 8,
            levels: vec![vec![]; 3],
            diffuse: [[7.0; 3]; 9],
        };
        let light = Light {
            name: String::new(),
            kind: LightKind::Spot { inner: 0.0, outer: 0.5 },
            color: [3.0, 4.0, 5.0],
            position: [1.0, 2.0, 3.0],
            direction: [0.0, -1.0, 0.0],
            range: Some(2.0),
        };
        let bytes = frame(&view, &environment, &vec![light; 20], &RenderOptions::default());
        assert_eq!(bytes.len(), *span as usize);
        let at = |name: &str, i: usize| {
            let start = members.iter().find(|m| m.name.as_deref() == Some(name)).unwrap().offset as usize + 4 * i;
            f32::from_le_bytes(bytes[start..start + 4].try_into().unwrap())
        };
        assert_eq!((at("params", 0), at("params", 1)), (1.0, 2.0));
        assert_eq!(at("counts", 0).to_bits(), 16);
        assert_eq!(at("diffuse", 4), 7.0);
        assert_eq!(
            (at("lights", 0), at("lights", 3), at("lights", 7), at("lights", 8)),
            (1.0, 1.0, 0.25, 3.0)
        );
        // Full strength on the axis, none at the outer angle.
        let strength = |cos: f32| at("lights", 12) * cos + at("lights", 13);
        assert!((strength(1.0) - 1.0).abs() < 1e-5 && strength(libm::cosf(0.5)).abs() < 1e-5);
        assert_eq!(material(&Material::default()).len() as u64, MATERIAL_SIZE);
    }
}
