//! The composition: what stands where, of which material, under which light.
//!
//! A hammered copper vase with leaves on a terrazzo plinth takes the left third; a lamp, a glass and a lacquered cube the
//! right; an arc of metal balls, from mirror to rough iron, leads the eye between them. Units are decimetres.

mod glb;
mod mesh;
mod picture;

use std::f32::consts::PI;

use quadrille::scene::math::{Mat4, Vec3, cross, normalize, sub};
use serde_json::{Value, json};

use glb::{Glb, short};
use picture::{Dice, Occluder};

/// The plinth: where it stands, its radius and height.
const PLINTH: ([f32; 2], f32, f32) = ([-1.55, -0.25], 1.05, 0.36);

/// The arc of balls: x, z, radius, linear colour, roughness.
const BALLS: [(f32, f32, f32, Vec3, f32); 5] = [
    (-0.42, 1.10, 0.44, [0.95, 0.95, 0.96], 0.02),
    (0.42, 1.42, 0.31, [0.98, 0.78, 0.46], 0.16),
    (1.05, 1.45, 0.235, [0.95, 0.62, 0.50], 0.32),
    (1.53, 1.32, 0.175, [0.70, 0.72, 0.76], 0.50),
    (1.88, 1.12, 0.13, [0.36, 0.35, 0.35], 0.72),
];

/// The whole file.
pub fn glb() -> Vec<u8> {
    let mut g = Glb::default();
    stage(&mut g);
    vase_and_leaves(&mut g);
    balls(&mut g);
    ring_lamp_and_glass(&mut g);
    cube_and_pear(&mut g);
    lights_and_camera(&mut g);
    g.finish(json!({
        "asset": { "version": "2.0", "generator": "quadrille make_showpiece", "copyright": "MIT OR Apache-2.0" },
        "extensionsUsed": ["KHR_lights_punctual", "KHR_materials_emissive_strength", "KHR_texture_transform"],
        "extensions": { "KHR_lights_punctual": { "lights": [
            { "name": "glow", "type": "point", "color": [1.0, 0.62, 0.32], "intensity": 2.6, "range": 6.0 },
            { "name": "rim", "type": "spot", "color": [0.72, 0.86, 1.0], "intensity": 45.0,
              "spot": { "innerConeAngle": 0.25, "outerConeAngle": 0.5 } },
        ] } },
        "cameras": [{ "name": "still life", "type": "perspective",
                      "perspective": { "yfov": 0.44, "znear": 1.0, "zfar": 40.0, "aspectRatio": short(16.0 / 9.0) } }],
    }))
}

/// A dielectric or metal of one colour.
fn plain(name: &str, color: Vec3, metallic: f32, roughness: f32) -> Value {
    let [r, g, b] = color.map(short);
    json!({ "name": name, "pbrMetallicRoughness": {
        "baseColorFactor": [r, g, b, 1.0], "metallicFactor": short(metallic), "roughnessFactor": short(roughness) } })
}

fn at(name: &str, mesh: usize, translation: Vec3) -> Value {
    json!({ "name": name, "mesh": mesh, "translation": translation.map(short) })
}

/// A turn about y.
fn turn_y(angle: f32) -> [f64; 4] {
    [0.0, short(libm::sinf(angle * 0.5)), 0.0, short(libm::cosf(angle * 0.5))]
}

/// What keeps light from the floor.
fn occluders() -> Vec<Occluder> {
    let (center, radius, height) = PLINTH;
    let mut all = vec![Occluder::Drum { center, radius, height }];
    all.extend(BALLS.iter().map(|&(x, z, radius, ..)| Occluder::Ball {
        center: [x, radius, z],
        radius,
    }));
    all.push(Occluder::Ball {
        center: [0.55, 0.34, 0.22],
        radius: 0.2,
    });
    all.push(Occluder::Drum {
        center: [1.72, -0.35],
        radius: 0.24,
        height: 0.16,
    });
    all.push(Occluder::Ball {
        center: [1.72, 1.0, -0.35],
        radius: 0.3,
    });
    all.push(Occluder::Drum {
        center: [2.52, 0.5],
        radius: 0.36,
        height: 0.42,
    });
    all.push(Occluder::Ball {
        center: [2.52, 0.38, 0.5],
        radius: 0.36,
    });
    all.push(Occluder::Ball {
        center: [-2.78, 0.3, 0.95],
        radius: 0.33,
    });
    all.push(Occluder::Ball {
        center: [0.30, 0.06, -0.55],
        radius: 0.09,
    });
    all
}

fn stage(g: &mut Glb) {
    let (center, half) = ([0.0, 0.6], 4.0);
    let shade = g.texture(
        "floor occlusion",
        &picture::occlusion(256, center, half, 0.0, &occluders()),
        1,
    );
    let sweep = g.geometry(&mesh::backdrop().with_plan(center, half), false);
    let mut paper = plain("backdrop paper", [0.125, 0.205, 0.200], 0.0, 0.86);
    paper["occlusionTexture"] = json!({ "index": shade, "texCoord": 1 });
    paper["doubleSided"] = json!(true);
    let paper = g.material(paper);
    let sweep = g.mesh("backdrop", &sweep, paper);
    g.node(at("backdrop", sweep, [0.0; 3]));

    let ([x, z], radius, height) = PLINTH;
    // A disc with rounded rims, closed above; the floor closes it below.
    let r = radius;
    let profile = [
        [r - 0.02, 0.0],
        [r, 0.02],
        [r, 0.05],
        [r, height * 0.5],
        [r, height - 0.06],
        [r - 0.008, height - 0.02],
        [r - 0.035, height],
        [r - 0.10, height],
        [r * 0.5, height],
        [0.0, height],
    ];
    let on_top = [
        Occluder::Drum {
            center: [0.0, 0.0],
            radius: 0.30,
            height: 0.20,
        },
        Occluder::Ball {
            center: [0.0, height + 0.62, 0.0],
            radius: 0.52,
        },
    ];
    let shade = g.texture(
        "plinth occlusion",
        &picture::occlusion(96, [0.0, 0.0], radius, height, &on_top),
        1,
    );
    let stone_map = g.texture("terrazzo", &picture::terrazzo(), 0);
    let plinth = g.geometry(&mesh::lathe(&profile, 28, 64, 4.0).with_plan([0.0, 0.0], radius), true);
    let mut stone = plain("terrazzo", [1.0; 3], 0.0, 0.28);
    stone["pbrMetallicRoughness"]["baseColorTexture"] = json!({ "index": stone_map, "extensions": {
        "KHR_texture_transform": { "scale": [0.75, 0.45] } } });
    stone["occlusionTexture"] = json!({ "index": shade, "texCoord": 1 });
    let stone = g.material(stone);
    let plinth = g.mesh("plinth", &plinth, stone);
    g.node(at("plinth", plinth, [x, 0.0, z]));
}

fn vase_and_leaves(g: &mut Glb) {
    let ([x, z], _, height) = PLINTH;
    let dents = g.texture("hammered", &picture::hammered(), 0);
    let profile = [
        [0.27, 0.0],
        [0.31, 0.03],
        [0.42, 0.22],
        [0.53, 0.55],
        [0.50, 0.88],
        [0.33, 1.16],
        [0.21, 1.36],
        [0.22, 1.50],
        [0.29, 1.60],
        [0.285, 1.612],
        [0.265, 1.60],
        [0.20, 1.50],
        [0.185, 1.36],
        [0.24, 1.20],
    ];
    let vase = g.geometry(&mesh::lathe(&profile, 40, 56, 4.0), true);
    let mut copper = plain("hammered copper", [0.93, 0.55, 0.38], 1.0, 0.24);
    copper["normalTexture"] = json!({ "index": dents, "scale": 0.9, "extensions": {
        "KHR_texture_transform": { "scale": [1.0, 1.25] } } });
    let copper = g.material(copper);
    let vase = g.mesh("vase", &vase, copper);
    g.node(at("vase", vase, [x, height, z]));

    let blade = g.texture("leaf", &picture::leaf(), 1);
    let mut green = plain("leaf", [1.0; 3], 0.0, 0.58);
    green["pbrMetallicRoughness"]["baseColorTexture"] = json!({ "index": blade });
    green["alphaMode"] = json!("MASK");
    green["alphaCutoff"] = json!(0.5);
    green["doubleSided"] = json!(true);
    let green = g.material(green);
    let leaf = g.geometry(&mesh::leaf(), true);
    let leaf = g.mesh("leaf", &leaf, green);
    let bark = g.material(plain("stem", [0.16, 0.20, 0.08], 0.0, 0.6));
    let mouth = [x, height + 1.45, z];

    // Each stem: where it leans to, how high it rises, how many leaves it carries.
    let mut dice = Dice(0x5eed_0003);
    let stems = [
        ([-0.85, 0.20], 1.0, 5),
        ([0.10, -0.35], 1.15, 6),
        ([0.95, 0.25], 0.85, 5),
        ([-0.25, 0.60], 0.7, 3),
    ];
    for (s, ([lean_x, lean_z], rise, leaves)) in stems.into_iter().enumerate() {
        let bend = |t: f32| -> Vec3 {
            let out = t * t * 0.85 + t * 0.15;
            [
                mouth[0] + lean_x * out,
                mouth[1] - 0.25 + (rise + 0.25) * (t * 1.25 - t * t * 0.25),
                mouth[2] + lean_z * out,
            ]
        };
        let path: Vec<Vec3> = (0..=10).map(|i| bend(i as f32 / 10.0)).collect();
        let stem = g.geometry(&mesh::tube(&path, |t| 0.021 - 0.013 * t, 6), false);
        let stem = g.mesh("stem", &stem, bark);
        g.node(json!({ "name": format!("stem {s}"), "mesh": stem }));
        for i in 0..leaves {
            let t = 0.36 + 0.64 * i as f32 / (leaves - 1) as f32;
            let along = normalize(sub(bend((t + 0.05).min(1.05)), bend(t - 0.05))).unwrap_or([0.0, 1.0, 0.0]);
            // Leaves stand around the stem by the golden angle; the last one ends it.
            let round = 2.4 * i as f32 + 1.7 * s as f32 + 0.5 * dice.roll();
            let last = i + 1 == leaves;
            let away = [libm::cosf(round), 0.0, libm::sinf(round)];
            let open = if last { 0.15 } else { 0.95 + 0.25 * dice.roll() };
            let y = normalize([0, 1, 2].map(|k| along[k] + away[k] * open)).unwrap_or(along);
            // The leaf arches over toward its z: outward and down.
            let x = normalize(cross([0.0, 1.0, 0.0], away)).unwrap_or([1.0, 0.0, 0.0]);
            let z_axis = normalize(cross(x, y)).unwrap_or([0.0, 0.0, 1.0]);
            let x = cross(y, z_axis);
            let size = (0.60 - 0.16 * t) * (0.9 + 0.25 * dice.roll());
            let scaled = |v: Vec3| v.map(|c| c * size);
            let m = Mat4::from_frame(scaled(x), scaled(y), scaled(z_axis), bend(t));
            let matrix: Vec<f64> = m.0.as_flattened().iter().map(|&v| short(v)).collect();
            g.node(json!({ "name": format!("leaf {s}.{i}"), "mesh": leaf, "matrix": matrix }));
        }
    }
}

fn balls(g: &mut Glb) {
    let ball = g.geometry(&mesh::sphere(26, 52), true);
    let shade = g.texture("ball occlusion", &picture::ball_occlusion(), 1);
    for (i, &(x, z, radius, color, roughness)) in BALLS.iter().enumerate() {
        let name = ["chrome", "champagne gold", "rose gold", "steel", "iron"][i];
        let mut metal = plain(name, color, 1.0, roughness);
        metal["occlusionTexture"] = json!({ "index": shade, "strength": 0.9 });
        let metal = g.material(metal);
        let metal = g.mesh(name, &ball, metal);
        let mut node = at(name, metal, [x, radius, z]);
        node["scale"] = json!([short(radius), short(radius), short(radius)]);
        g.node(node);
    }
    // In the glass: two pearls.
    let pearl = g.material(plain("pearl", [0.86, 0.80, 0.74], 0.0, 0.22));
    let pearl = g.mesh("pearl", &ball, pearl);
    for (i, (p, radius)) in [([0.47, 0.27, 0.28], 0.15f32), ([0.70, 0.235, 0.16], 0.115)]
        .into_iter()
        .enumerate()
    {
        let mut node = at(&format!("pearl {i}"), pearl, p);
        node["scale"] = json!([short(radius), short(radius), short(radius)]);
        g.node(node);
    }
    // The lamp's globe.
    let mut glow = plain("lamp glass", [0.9, 0.85, 0.8], 0.0, 0.35);
    glow["emissiveFactor"] = json!([1.0, 0.63, 0.30]);
    glow["extensions"] = json!({ "KHR_materials_emissive_strength": { "emissiveStrength": 1.6 } });
    let glow = g.material(glow);
    let glow = g.mesh("lamp globe", &ball, glow);
    let mut node = at("lamp globe", glow, [1.72, 1.08, -0.35]);
    node["scale"] = json!([0.4, 0.4, 0.4]);
    g.node(node);
}

fn ring_lamp_and_glass(g: &mut Glb) {
    let brass = g.material(plain("polished brass", [0.93, 0.76, 0.42], 1.0, 0.07));
    let ring = g.geometry(&mesh::tube(&mesh::ring(0.78, 64), |_| 0.055, 14), false);
    let ring = g.mesh("ring", &ring, brass);
    let mut node = at("ring", ring, [0.30, 0.835, -0.62]);
    node["rotation"] = json!(turn_y(-0.42));
    g.node(node);

    let profile = [
        [0.26, 0.0],
        [0.27, 0.015],
        [0.265, 0.04],
        [0.20, 0.065],
        [0.07, 0.09],
        [0.045, 0.16],
        [0.042, 0.40],
        [0.055, 0.58],
        [0.12, 0.66],
        [0.19, 0.72],
        [0.21, 0.76],
        [0.17, 0.77],
    ];
    let foot = g.geometry(&mesh::lathe(&profile, 34, 32, 1.0), false);
    let foot = g.mesh("lamp foot", &foot, brass);
    g.node(at("lamp foot", foot, [1.72, 0.0, -0.35]));

    let profile = [
        [0.0, 0.10],
        [0.14, 0.105],
        [0.30, 0.16],
        [0.42, 0.32],
        [0.46, 0.52],
        [0.43, 0.72],
        [0.37, 0.90],
    ];
    let bowl = g.geometry(&mesh::lathe(&profile, 19, 52, 1.0), false);
    let mut glass = plain("glass", [0.80, 0.93, 0.90], 0.0, 0.03);
    glass["pbrMetallicRoughness"]["baseColorFactor"][3] = json!(0.20);
    glass["alphaMode"] = json!("BLEND");
    glass["doubleSided"] = json!(true);
    let glass = g.material(glass);
    let bowl = g.mesh("glass", &bowl, glass);
    g.node(at("glass", bowl, [0.57, 0.0, 0.22]));
    // Its rim and foot are thicker: they catch the light.
    let mut thick = plain("glass rim", [0.88, 0.97, 0.95], 0.0, 0.05);
    thick["pbrMetallicRoughness"]["baseColorFactor"][3] = json!(0.55);
    thick["alphaMode"] = json!("BLEND");
    let thick = g.material(thick);
    let rim = g.geometry(&mesh::tube(&mesh::ring(1.0, 56), |_| 0.032, 8), false);
    let rim = g.mesh("glass rim", &rim, thick);
    let half_turn = std::f32::consts::FRAC_1_SQRT_2;
    for (name, y, radius) in [("glass rim", 0.90, 0.37f32), ("glass foot", 0.035, 0.19)] {
        let mut node = at(name, rim, [0.57, y, 0.22]);
        node["rotation"] = json!([short(half_turn), 0.0, 0.0, short(half_turn)]);
        node["scale"] = json!([short(radius), short(radius), short(radius)]);
        g.node(node);
    }
}

fn cube_and_pear(g: &mut Glb) {
    let cube = g.geometry(&mesh::rounded_box(0.16, 14), false);
    let lacquer = g.material(plain("vermilion lacquer", [0.62, 0.055, 0.025], 0.0, 0.10));
    let cube = g.mesh("cube", &cube, lacquer);
    let mut node = at("cube", cube, [2.52, 0.36, 0.5]);
    node["rotation"] = json!(turn_y(0.55));
    node["scale"] = json!([0.36, 0.36, 0.36]);
    g.node(node);

    let profile = [
        [0.0, 0.0],
        [0.14, 0.01],
        [0.28, 0.09],
        [0.355, 0.27],
        [0.315, 0.48],
        [0.20, 0.66],
        [0.135, 0.80],
        [0.105, 0.90],
        [0.055, 0.945],
        [0.0, 0.93],
    ];
    let pear = g.geometry(&mesh::lathe(&profile, 28, 36, 1.0), false);
    let clay = g.material(plain("ochre clay", [0.70, 0.43, 0.17], 0.0, 0.92));
    let pear = g.mesh("pear", &pear, clay);
    let mut node = at("pear", pear, [-2.78, 0.0, 0.95]);
    node["rotation"] = json!([0.0, 0.0, short(libm::sinf(-0.04)), short(libm::cosf(-0.04))]);
    g.node(node);
    let stalk: Vec<Vec3> = (0..=5)
        .map(|i| i as f32 / 5.0)
        .map(|t| [0.06 * t * t, 0.92 + 0.2 * t, 0.0])
        .collect();
    let stalk = g.geometry(&mesh::tube(&stalk, |t| 0.016 + 0.008 * t, 6), false);
    let wood = g.material(plain("stalk", [0.12, 0.07, 0.04], 0.0, 0.7));
    let stalk = g.mesh("stalk", &stalk, wood);
    let mut node = at("stalk", stalk, [-2.78, 0.0, 0.95]);
    node["rotation"] = json!([0.0, 0.0, short(libm::sinf(-0.04)), short(libm::cosf(-0.04))]);
    g.node(node);
}

/// A node's matrix that puts it at `eye`, looking along -z at `target`.
fn look_at(eye: Vec3, target: Vec3) -> Vec<f64> {
    let z = normalize(sub(eye, target)).unwrap_or([0.0, 0.0, 1.0]);
    let x = normalize(cross([0.0, 1.0, 0.0], z)).unwrap_or([1.0, 0.0, 0.0]);
    let m = Mat4::from_frame(x, cross(z, x), z, eye);
    m.0.as_flattened().iter().map(|&v| short(v)).collect()
}

fn lights_and_camera(g: &mut Glb) {
    g.node(json!({ "name": "glow", "translation": [1.72, 1.08, -0.35],
                   "extensions": { "KHR_lights_punctual": { "light": 0 } } }));
    g.node(
        json!({ "name": "rim", "matrix": look_at([-5.0, 5.5, -2.2], [-0.4, 0.8, 0.2]),
                   "extensions": { "KHR_lights_punctual": { "light": 1 } } }),
    );
    // A little from above and from the left; the vase stands on the left third, the lamp on the right.
    let angle = -4.0 * PI / 180.0;
    let (target, distance): (Vec3, f32) = ([0.05, 1.30, 0.1], 9.7);
    let eye = [
        target[0] + distance * libm::sinf(angle),
        target[1] + 1.05,
        target[2] + distance * libm::cosf(angle),
    ];
    g.node(json!({ "name": "still life", "camera": 0, "matrix": look_at(eye, target) }));
}
