// Metallic-roughness materials of glTF 2.0 under punctual lights and an environment.
//
// A template: `shader.rs` keeps or blanks the lines between `//#if NAME` (or `//#if !NAME`) and `//#end`, so that a material
// pays only for what it has, and puts expressions in for $NAMES. Lines keep their numbers.
//
// Sources: the BRDF is that of glTF 2.0, appendix B: Lambert, and GGX with Smith's height-correlated visibility (Heitz 2014) and
// Schlick's Fresnel term. Environment: split sum (Karis 2013), its second factor by the polynomial of Karis, "Physically Based
// Shading on Mobile" (2014); lost energy of rough metal given back (Turquin, "Practical multiple scattering compensation for
// microfacet models", 2019). Highlights are widened where normals turn within a pixel (Kaplanyan et al. 2016, Tokuyoshi and
// Kaplanyan 2019). Tone curve: Khronos PBR Neutral (2024).

struct Light {
    // Directional: toward the light, and 0. Else: where it is, and 1.
    position: vec4f,
    // Where it shines, and 1 / range^2 (0: no end).
    direction: vec4f,
    color: vec4f,
    // Cone: cosine to strength is x * cos + y, clamped, squared.
    cone: vec4f,
}

struct Frame {
    view_proj: mat4x4f,
    // Eye and 1; under a parallel projection the direction toward the viewer and 0.
    eye: vec4f,
    // Exposure, roughest level of the environment, blur level of its background, height over width.
    params: vec4f,
    // Number of lights.
    counts: vec4u,
    // View direction through the middle, and what a step of 1 in clip x and y adds: for the background.
    ray: array<vec4f, 3>,
    // Diffuse environment: nine polynomials.
    diffuse: array<vec4f, 9>,
    lights: array<Light, 16>,
}

struct Material {
    base_color: vec4f,
    // RGB, and the alpha cutoff.
    emissive: vec4f,
    // Metalness, roughness, normal scale, occlusion strength.
    factors: vec4f,
    // Two rows for each map's texture transform.
    uv: array<vec4f, 10>,
}

@group(0) @binding(0) var<uniform> frame: Frame;
//#if LIT
@group(0) @binding(1) var sky: texture_cube<f32>;
@group(0) @binding(2) var sky_sampler: sampler;
//#end
@group(1) @binding(0) var<uniform> material: Material;
//#if BASE_MAP
@group(1) @binding(1) var base_map: texture_2d<f32>;
@group(1) @binding(2) var base_sampler: sampler;
//#end
//#if ORM_MAP
@group(1) @binding(3) var orm_map: texture_2d<f32>;
@group(1) @binding(4) var orm_sampler: sampler;
//#end
//#if NORMAL_MAP
@group(1) @binding(5) var normal_map: texture_2d<f32>;
@group(1) @binding(6) var normal_sampler: sampler;
//#end
//#if OCCLUSION_MAP
@group(1) @binding(7) var occlusion_map: texture_2d<f32>;
@group(1) @binding(8) var occlusion_sampler: sampler;
//#end
//#if EMISSIVE_MAP
@group(1) @binding(9) var emissive_map: texture_2d<f32>;
@group(1) @binding(10) var emissive_sampler: sampler;
//#end

struct VertexIn {
    @location(0) position: vec3f,
//#if NORMAL
    @location(1) normal: vec3f,
//#end
//#if TANGENT
    @location(2) tangent: vec4f,
//#end
//#if UV0
    @location(3) uv0: vec2f,
//#end
//#if UV1
    @location(4) uv1: vec2f,
//#end
//#if COLOR
    @location(5) color: vec4f,
//#end
    // Of the instance: rows of its matrix, and columns of its matrix for normals.
    @location(6) row_x: vec4f,
    @location(7) row_y: vec4f,
    @location(8) row_z: vec4f,
//#if NORMAL
    @location(9) normal_x: vec3f,
    @location(10) normal_y: vec3f,
    @location(11) normal_z: vec3f,
//#end
}

struct Varying {
    @builtin(position) clip: vec4f,
    @location(0) world: vec3f,
//#if NORMAL
    @location(1) normal: vec3f,
//#end
//#if TANGENT
    @location(2) tangent: vec4f,
//#end
//#if UV0
    @location(3) uv0: vec2f,
//#end
//#if UV1
    @location(4) uv1: vec2f,
//#end
//#if COLOR
    @location(5) color: vec4f,
//#end
}

@vertex
fn vs(in: VertexIn) -> Varying {
    var out: Varying;
    let p = vec4f(in.position, 1.0);
    out.world = vec3f(dot(in.row_x, p), dot(in.row_y, p), dot(in.row_z, p));
    out.clip = frame.view_proj * vec4f(out.world, 1.0);
//#if NORMAL
    out.normal = normalize(in.normal_x * in.normal.x + in.normal_y * in.normal.y + in.normal_z * in.normal.z);
//#end
//#if TANGENT
    let t = in.tangent.xyz;
    let turned = vec3f(dot(in.row_x.xyz, t), dot(in.row_y.xyz, t), dot(in.row_z.xyz, t));
    // A mirrored instance mirrors its bitangents.
    let mirror = dot(cross(in.row_x.xyz, in.row_y.xyz), in.row_z.xyz);
    out.tangent = vec4f(normalize(turned), select(in.tangent.w, -in.tangent.w, mirror < 0.0));
//#end
//#if UV0
    out.uv0 = in.uv0;
//#end
//#if UV1
    out.uv1 = in.uv1;
//#end
//#if COLOR
    out.color = in.color;
//#end
    return out;
}

//#if TRANSFORM
fn transformed(uv: vec2f, map: u32) -> vec2f {
    let p = vec3f(uv, 1.0);
    return vec2f(dot(material.uv[2u * map].xyz, p), dot(material.uv[2u * map + 1u].xyz, p));
}
//#end

//#if LIT
const PI = 3.14159265;

fn pow5(x: f32) -> f32 {
    let x2 = x * x;
    return x2 * x2 * x;
}

// What a surface of this roughness, seen at this cosine, returns of even light all around: F0 times x plus y.
fn sky_response(roughness: f32, n_v: f32) -> vec2f {
    let r = roughness * vec4f(-1.0, -0.0275, -0.572, 0.022) + vec4f(1.0, 0.0425, 1.04, -0.04);
    let a = min(r.x * r.x, exp2(-9.28 * n_v)) * r.x + r.y;
    return vec2f(-1.04, 1.04) * a + r.zw;
}

fn sky_diffuse(n: vec3f) -> vec3f {
    let low = frame.diffuse[0].rgb + frame.diffuse[1].rgb * n.y + frame.diffuse[2].rgb * n.z + frame.diffuse[3].rgb * n.x;
    let high = frame.diffuse[4].rgb * (n.x * n.y) + frame.diffuse[5].rgb * (n.y * n.z)
        + frame.diffuse[6].rgb * (3.0 * n.z * n.z - 1.0) + frame.diffuse[7].rgb * (n.x * n.z)
        + frame.diffuse[8].rgb * (n.x * n.x - n.y * n.y);
    return max(low + high, vec3f(0.0));
}
//#end

//#if TONE
fn tone_map(light: vec3f) -> vec3f {
    let start = 0.8 - 0.04;
    let low = min(light.r, min(light.g, light.b));
    let color = light - select(0.04, low - 6.25 * low * low, low < 0.08);
    let peak = max(color.r, max(color.g, color.b));
    if (peak < start) {
        return color;
    }
    let d = 1.0 - start;
    let new_peak = 1.0 - d * d / (peak + d - start);
    let faded = 1.0 / (0.15 * (peak - new_peak) + 1.0);
    return mix(vec3f(new_peak), color * (new_peak / peak), faded);
}
//#end

@fragment
fn fs(
    in: Varying,
//#if DOUBLE_SIDED
    @builtin(front_facing) front: bool,
//#end
) -> @location(0) vec4f {
    var base = material.base_color;
//#if BASE_MAP
    base *= textureSample(base_map, base_sampler, $BASE_UV);
//#end
//#if COLOR
    base *= in.color;
//#end
//#if MASK
    if (base.a < material.emissive.a) {
        discard;
    }
//#end
//#if !BLEND
    base.a = 1.0;
//#end
//#if EMISSIVE
    var emitted = material.emissive.rgb;
//#end
//#if EMISSIVE_MAP
    emitted *= textureSample(emissive_map, emissive_sampler, $EMISSIVE_UV).rgb;
//#end

//#if !LIT
    var light = base.rgb;
//#if EMISSIVE
    light += emitted;
//#end
    return vec4f(light, base.a);
//#end
//#if LIT
    var metallic = material.factors.x;
    var roughness = material.factors.y;
    var occlusion = 1.0;
//#if ORM_MAP
    let orm = textureSample(orm_map, orm_sampler, $ORM_UV);
    roughness *= orm.g;
    metallic *= orm.b;
//#if OCCLUSION_IN_ORM
    occlusion += material.factors.w * (orm.r - 1.0);
//#end
//#end
//#if OCCLUSION_MAP
    occlusion += material.factors.w * (textureSample(occlusion_map, occlusion_sampler, $OCCLUSION_UV).r - 1.0);
//#end
    metallic = saturate(metallic);
    roughness = saturate(roughness);

    var n = normalize(in.normal);
//#if NORMAL_MAP
    let bump = textureSample(normal_map, normal_sampler, $NORMAL_UV).xyz * 2.0 - 1.0;
    let scale = material.factors.z;
    let bitangent = cross(in.normal, in.tangent.xyz) * in.tangent.w;
    n = normalize(in.tangent.xyz * (bump.x * scale) + bitangent * (bump.y * scale) + in.normal * bump.z);
//#end
//#if DOUBLE_SIDED
    n = select(-n, n, front);
//#end

    // Where the normal turns within a pixel, the pixel sees a wider lobe.
    let nx = dpdx(n);
    let ny = dpdy(n);
    let r2 = roughness * roughness;
    let a2 = clamp(r2 * r2 + min(0.5 * (dot(nx, nx) + dot(ny, ny)), 0.18), 4e-6, 1.0);
    roughness = sqrt(sqrt(a2));

    let view = normalize(frame.eye.xyz - in.world * frame.eye.w);
    let n_v = clamp(dot(n, view), 1e-3, 1.0);
    let diffuse = base.rgb * (1.0 - metallic);
    let f0 = mix(vec3f(0.04), base.rgb, metallic);
    let response = sky_response(roughness, n_v);
    let returned = 1.0 + f0 * (1.0 / (response.x + response.y) - 1.0);

    // Mirror direction, drawn toward the normal for rough surfaces, whose lobe leans that way.
    let mirror = mix(reflect(-view, n), n, a2);
    let glossy = (f0 * response.x + response.y) * returned;
    var sky_light = textureSampleLevel(sky, sky_sampler, mirror, roughness * frame.params.y).rgb * glossy;
    sky_light += sky_diffuse(n) * diffuse * (1.0 - glossy);
    var light = sky_light * occlusion;

//#if LIGHTS
    for (var i = 0u; i < frame.counts.x; i++) {
        let lamp = frame.lights[i];
        let to = lamp.position.xyz - in.world * lamp.position.w;
        let d2 = max(dot(to, to), 1e-9);
        let l = to * inverseSqrt(d2);
        let n_l = saturate(dot(n, l));
        let h = normalize(view + l);
        let n_h = saturate(dot(n, h));
        let v_h = saturate(dot(view, h));
        let range = d2 * lamp.direction.w;
        let cone = saturate(lamp.cone.x * -dot(lamp.direction.xyz, l) + lamp.cone.y);
        let strength = saturate(1.0 - range * range) * cone * cone * n_l / d2;
        let q = n_h * n_h * (a2 - 1.0) + 1.0;
        let distribution = a2 / (PI * q * q);
        let smith = n_l * sqrt(n_v * n_v * (1.0 - a2) + a2) + n_v * sqrt(n_l * n_l * (1.0 - a2) + a2);
        let fresnel = f0 + (1.0 - f0) * pow5(1.0 - v_h);
        let specular = fresnel * returned * (distribution * 0.5 / max(smith, 1e-6));
        light += (diffuse * (1.0 - fresnel) * (1.0 / PI) + specular) * lamp.color.rgb * strength;
    }
//#end

//#if EMISSIVE
    light += emitted;
//#end
    light *= frame.params.x;
//#if TONE
    light = tone_map(light);
//#end
    return vec4f(light, base.a);
//#end
}
