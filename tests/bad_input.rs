//! Bad input through the binary: one clear error, the right exit code, no panic, no partial output.

mod support;

use std::path::Path;
use support::{JOB, Ran, Scratch, WGSL, png, quadrille, spoiled, write_job};

/// Runs the job of a scratch directory and checks what every failure must have in common.
fn fails(scratch: &Scratch) -> Ran {
    let before = scratch.files();
    let (job, out, json) = (
        scratch.path("workload.json"),
        scratch.path("out.png"),
        scratch.path("out.json"),
    );
    let text = |p: &Path| p.to_str().expect("UTF-8").to_owned();
    let ran = quadrille(&[
        "run",
        &text(&job),
        "-o",
        &text(&out),
        "--json",
        &text(&json),
        "--threads",
        "2",
    ]);
    assert_eq!(ran.code, Some(1), "stderr: {}", ran.err);
    assert_one_error(&ran);
    assert_eq!(scratch.files(), before, "something was left behind");
    ran
}

fn assert_one_error(ran: &Ran) {
    assert!(ran.err.starts_with("error: "), "stderr: {}", ran.err);
    assert_eq!(
        ran.err.lines().filter(|l| l.starts_with("error")).count(),
        1,
        "stderr: {}",
        ran.err
    );
    assert!(!ran.err.contains("panicked"), "stderr: {}", ran.err);
    assert!(!ran.err.contains('\x1b'), "colours without a terminal: {}", ran.err);
    assert_eq!(ran.out, "");
}

#[track_caller]
fn says(ran: &Ran, words: &[&str]) {
    for word in words {
        assert!(ran.err.contains(word), "`{word}` is not in: {}", ran.err);
    }
}

/// A directory with the good job, one text of which is replaced.
fn with(from: &str, to: &str) -> Scratch {
    let scratch = Scratch::new("bad");
    write_job(&scratch);
    scratch.write("workload.json", spoiled(from, to));
    scratch
}

#[test]
fn the_job_is_good_before_it_is_spoiled() {
    let scratch = Scratch::new("good");
    let job = write_job(&scratch);
    let out = scratch.path("out.png");
    let ran = quadrille(&["run", job.to_str().expect("UTF-8"), "-o", out.to_str().expect("UTF-8")]);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    let image = quadrille::files::png::read(&out, 16).expect("an image");
    assert_eq!((image.width, image.height), (16, 16));
}

#[test]
fn truncated_json_names_its_line() {
    let scratch = Scratch::new("bad");
    write_job(&scratch);
    for end in [0, 1, 10, JOB.len() / 3, JOB.len() / 2, JOB.len() - 3] {
        scratch.write("workload.json", &JOB[..end]);
        let line = JOB[..end].lines().count().max(1);
        let ran = fails(&scratch);
        assert!(
            (line.saturating_sub(1)..=line + 1).any(|l| ran.err.contains(&format!("workload.json:{l}:"))),
            "line {line}: {}",
            ran.err
        );
    }
}

#[test]
fn malformed_json_names_its_place() {
    says(
        &fails(&with("\"mipmaps\": true", "\"mipmaps\": truth")),
        &["workload.json:12:", "textures.image.mipmaps"],
    );
    says(
        &fails(&with("\"mipmaps\"", "\"mipmap\"")),
        &["workload.json:12:", "unknown field `mipmap`"],
    );
    says(
        &fails(&with("\"float32x2\"", "\"float32x7\"")),
        &["workload.json:20:", "`float32x7` is no vertex format", "float32x2"],
    );
    says(
        &fails(&with("\"magFilter\": \"linear\"", "\"magFilter\": \"cubic\"")),
        &["samplers.s.magFilter", "nearest, linear"],
    );
    says(
        &fails(&with("\"i\": {", "\"v\": {")),
        &["workload.json:9:", "the name `v` is given twice"],
    );
    says(&fails(&with("\"format\": 1", "\"format\": 7")), &["version 7"]);
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    fails(&with("\"A triangle with a texture.\"", &deep));
}

#[test]
fn missing_things_are_named() {
    says(
        &fails(&with("\"png\": [\"image.png\"]", "\"png\": [\"no.png\"]")),
        &["textures.image.png[0]", "no.png", "No such file"],
    );
    says(
        &fails(&with("\"main.wgsl\"", "\"other.wgsl\"")),
        &["shaders.main", "other.wgsl"],
    );
    says(
        &fails(&with("\"vertexBuffers\": [\"v\"]", "\"vertexBuffers\": [\"w\"]")),
        &["passes[0].draws[0]", "no buffer named `w`"],
    );
    says(
        &fails(&with("\"output\": \"out\"", "\"output\": \"none\"")),
        &["output", "no texture named `none`"],
    );
    says(
        &fails(&with("\"bindGroups\": [\"g\"],", "")),
        &["bind group 0 is not set", "'p'"],
    );
    says(
        &fails(&with("\"entryPoint\": \"fs\"", "\"entryPoint\": \"fragment\"")),
        &["pipelines.p", "fragment"],
    );
    says(
        &fails(&with("\"main.wgsl\"", "\"../main.wgsl\"")),
        &["not a file of the job"],
    );
    says(
        &fails(&with("\"main.wgsl\"", "\"/etc/passwd\"")),
        &["not a file of the job"],
    );
    says(
        &fails(&with("\"main.wgsl\"", "\"../common/../../etc/passwd\"")),
        &["not a file of the job"],
    );
}

#[test]
fn spoiled_pngs_are_errors() {
    let whole = png();
    let scratch = Scratch::new("bad");
    write_job(&scratch);
    for end in [0, 4, 20, 40, whole.len() / 2] {
        scratch.write("image.png", &whole[..end]);
        says(&fails(&scratch), &["textures.image.png[0]", "image.png"]);
    }
    scratch.write("image.png", WGSL);
    says(&fails(&scratch), &["not a readable image"]);
    // A header that promises a gigantic image must not be believed.
    let mut huge = whole.clone();
    huge[16..24].copy_from_slice(&[0, 1, 0x86, 0xA0, 0, 1, 0x86, 0xA0]);
    scratch.write("image.png", huge);
    fails(&scratch);
}

#[test]
fn wgsl_errors_show_the_line_with_a_caret() {
    let scratch = Scratch::new("bad");
    write_job(&scratch);
    for (from, to, line) in [
        ("in.uv);", "in.vu);", ":11:"),
        ("vec4f(position, 0.0, 1.0)", "vec4f(position, 0.0)", ":4:"),
        ("return Vertex", "retrun Vertex", ":4:"),
        ("texture_2d<f32>", "texture_2d<f33>", ":7:"),
    ] {
        scratch.write("main.wgsl", WGSL.replacen(from, to, 1));
        let ran = fails(&scratch);
        says(&ran, &["main.wgsl", line, "^"]);
    }
    scratch.write("main.wgsl", &WGSL[..WGSL.len() / 2]);
    says(&fails(&scratch), &["main.wgsl", "^"]);
    scratch.write("main.wgsl", [0xFF, 0xFE, 0x00]);
    says(&fails(&scratch), &["UTF-8"]);
}

#[test]
fn sizes_are_checked_before_anything_is_allocated() {
    let resized = |size: &str| with("\"size\": [16, 16]", &format!("\"size\": {size}"));
    says(&fails(&resized("[0, 16]")), &["'out'", "width is 0"]);
    says(&fails(&resized("[100000, 100000]")), &["'out'", "100000", "16384"]);
    says(&fails(&resized("[4294967295, 4294967295]")), &["'out'"]);
    fails(&resized("[-1, 16]"));
    fails(&resized("[1.5, 16]"));
    fails(&resized("[16]"));
    says(
        &fails(&with(
            "\"size\": [16, 16]",
            "\"size\": [16384, 16384], \"layers\": 2048",
        )),
        &["'out'"],
    );
    let scratch = with("\"size\": [16, 16]", "\"size\": [4096, 4096]");
    let job = scratch.path("workload.json");
    let ran = quadrille(&["run", job.to_str().expect("UTF-8"), "--memory-limit", "1M"]);
    assert_eq!(ran.code, Some(1));
    assert_one_error(&ran);
    says(&ran, &["'out'", "memory limit"]);
}

#[test]
fn indices_and_ranges_are_checked() {
    says(
        &fails(&with("\"u32\": [0, 1, 2]", "\"u32\": [0, 1, 3]")),
        &["draws[0]", "vertex 3", "`v` has 3 vertices"],
    );
    says(
        &fails(&with("\"indexCount\": 3", "\"indexCount\": 4")),
        &["draws[0]", "index 4"],
    );
    says(
        &fails(&with("\"indexCount\": 3", "\"indexCount\": 3, \"baseVertex\": -1")),
        &["below 0"],
    );
    says(
        &fails(&with("\"indexCount\": 3", "\"indexCount\": 3, \"vertexCount\": 3")),
        &["exactly one"],
    );
    says(
        &fails(&with(
            "\"indexCount\": 3",
            "\"indexCount\": 3, \"instanceCount\": 4294967295, \"repeat\": 4294967295",
        )),
        &["2^32"],
    );
    says(
        &fails(&with(
            "\"indexCount\": 3",
            "\"indexCount\": 3, \"scissor\": [8, 8, 9, 8]",
        )),
        &["scissor", "16 x 16"],
    );
    says(
        &fails(&with(
            "\"indexCount\": 3",
            "\"indexCount\": 3, \"viewport\": [0, 0, 1e30, 8, 0, 1]",
        )),
        &["viewport"],
    );
}

#[test]
fn what_does_not_fit_together_is_refused() {
    says(
        &fails(&with(
            "\"targets\": [{\"format\": \"rgba8unorm\"}]",
            "\"targets\": [{\"format\": \"rgba16float\"}]",
        )),
        &["'p'", "[rgba16float]", "[rgba8unorm]"],
    );
    says(
        &fails(&with(
            "{\"binding\": 1, \"sampler\": \"s\"}",
            "{\"binding\": 1, \"texture\": \"image\"}",
        )),
        &["'g', binding 1", "asks for a sampler"],
    );
    says(
        &fails(&with(
            "{\"binding\": 0, \"texture\": \"image\"}",
            "{\"binding\": 0, \"texture\": \"out\"}",
        )),
        &["'out'", "attachment"],
    );
    says(
        &fails(&with("\"arrayStride\": 8", "\"arrayStride\": 4")),
        &["'p'", "location 0", "stride"],
    );
    says(
        &fails(&with("\"shaderLocation\": 0", "\"shaderLocation\": 5")),
        &["'p'", "location 0"],
    );
}

/// Law I7: an endless loop ends with an error that names its line.
#[test]
fn an_endless_loop_is_named() {
    let scratch = Scratch::new("bad");
    write_job(&scratch);
    let endless = "    var x = in.uv.x;\n    loop {\n        x = x * 0.5 + 1.0;\n        if (x < 0.0) { break; }\n    }\n    return \
                   vec4f(x) + textureSample";
    scratch.write("main.wgsl", WGSL.replacen("    return textureSample", endless, 1));
    let ran = fails(&scratch);
    says(&ran, &["main.wgsl:12", "loop", "'p'"]);
}

#[test]
fn wrong_usage_is_exit_code_2() {
    for args in [
        &[][..],
        &["run"],
        &["run", "a", "--scale", "2"],
        &["run", "a", "--threads", "0"],
        &["run", "a", "--backend", "gpu"],
        &["run", "a", "--memory-limit", "lots"],
        &["paint"],
    ] {
        let ran = quadrille(args);
        assert_eq!(ran.code, Some(2), "{args:?}: {}", ran.err);
    }
    let ran = quadrille(&["run", "/nowhere/job.json"]);
    assert_eq!(ran.code, Some(1));
    assert_one_error(&ran);
    says(&ran, &["/nowhere/job.json"]);
}

#[test]
fn an_output_that_cannot_be_written_is_an_error() {
    let scratch = Scratch::new("bad");
    let job = write_job(&scratch);
    let ran = quadrille(&["run", job.to_str().expect("UTF-8"), "-o", "/nowhere/out.png"]);
    assert_eq!(ran.code, Some(1));
    says(&ran, &["error: cannot write `/nowhere/out.png`"]);
}

/// A model or a texture that is damaged: the file, the place in it, and what is wrong with it.
#[test]
fn broken_models_and_textures_say_where() {
    let scratch = Scratch::new("broken");
    let out = scratch.path("out.png");
    let out = out.to_str().expect("UTF-8");
    let glb = |json: &str| {
        let mut json = json.as_bytes().to_vec();
        json.resize(json.len().next_multiple_of(4), b' ');
        let mut file = b"glTF\x02\0\0\0".to_vec();
        file.extend((20 + json.len() as u32).to_le_bytes());
        file.extend((json.len() as u32).to_le_bytes());
        file.extend(b"JSON");
        file.extend(json);
        file
    };
    let image = |uri: &str| {
        glb(&format!(
            r#"{{"asset":{{"version":"2.0"}},"scene":0,"scenes":[{{"nodes":[]}}],"images":[{{"uri":"{uri}"}}],
            "textures":[{{"source":0}}],"materials":[{{"pbrMetallicRoughness":{{"baseColorTexture":{{"index":0}}}}}}]}}"#
        ))
    };
    scratch.write(
        "cut.ktx2",
        [
            0xab, b'K', b'T', b'X', b' ', b'2', b'0', 0xbb, b'\r', b'\n', 0x1a, b'\n', 9, 0, 0, 0,
        ],
    );
    let cut = &glb("{}")[..18];
    for (name, content, words) in [
        ("cut.glb", cut.to_vec(), &["cut.glb", "GLB"][..]),
        ("json.glb", glb("{\"asset\": 1}"), &["json.glb", "line 1"]),
        (
            "image.glb",
            image("cut.ktx2"),
            &["image.glb", "images[0] (cut.ktx2)", "broken KTX2", "export it again"],
        ),
        ("gone.glb", image("gone.dds"), &["gone.dds"]),
        (
            "data.glb",
            image("data:;base64,AAAA"),
            &["data.glb", "images[0]", "neither PNG"],
        ),
    ] {
        let model = scratch.write(name, content);
        let ran = quadrille(&["render", model.to_str().expect("UTF-8"), "-o", out, "--size", "8x8"]);
        assert_eq!(ran.code, Some(1), "{name}: {}", ran.err);
        assert_one_error(&ran);
        says(&ran, words);
        assert!(!Path::new(out).exists(), "{name} left an image");
    }
    let job = scratch.write(
        "job.json",
        r#"{"format": 2, "textures": {"t": {"format": "rgba8unorm", "file": "cut.ktx2"}}, "passes": []}"#,
    );
    let ran = quadrille(&["run", job.to_str().expect("UTF-8")]);
    assert_eq!(ran.code, Some(1), "{}", ran.err);
    assert_one_error(&ran);
    says(
        &ran,
        &[
            "job.json",
            "textures.t.file",
            "cut.ktx2",
            "it ends in its header",
            "export it again",
        ],
    );
}
