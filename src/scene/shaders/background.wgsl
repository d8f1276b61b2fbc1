// What lies behind the model: the environment, out of focus, or a soft gradient like a photographer's backdrop.
//
// A template like pbr.wgsl, which explains it, and whose `Frame` and `tone_map` stand in for $FRAME and $TONE_MAP.

$FRAME

@group(0) @binding(0) var<uniform> frame: Frame;
//#if SKY
@group(0) @binding(1) var sky: texture_cube<f32>;
@group(0) @binding(2) var sky_sampler: sampler;
//#end

struct Varying {
    @builtin(position) clip: vec4f,
    @location(0) at: vec2f,
}

// One triangle that covers the screen, at the far plane.
@vertex
fn vs(@builtin(vertex_index) i: u32) -> Varying {
    let at = vec2f(f32((i << 1u) & 2u), f32(i & 2u)) * 2.0 - 1.0;
    return Varying(vec4f(at, 1.0, 1.0), at);
}

$TONE_MAP

@fragment
fn fs(in: Varying) -> @location(0) vec4f {
//#if SKY
    let ray = frame.ray[0].xyz + frame.ray[1].xyz * in.at.x + frame.ray[2].xyz * in.at.y;
    var light = textureSampleLevel(sky, sky_sampler, ray, frame.params.z).rgb * frame.params.x;
//#if TONE
    light = tone_map(light);
//#end
    return vec4f(light, 1.0);
//#end
//#if !SKY
    // Brightest a little below the middle, falling off toward the corners.
    let p = vec2f(in.at.x * 0.75, (in.at.y + 0.15) * 0.9);
    let t = saturate(dot(p, p) * 0.62);
    let fall = t * (2.0 - t);
    return vec4f(mix(vec3f(0.56, 0.565, 0.575), vec3f(0.155, 0.158, 0.165), fall), 1.0);
//#end
}
