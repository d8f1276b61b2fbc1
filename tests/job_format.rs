//! Format 2 of job files: the documentation's example, outputs, many jobs, and every kind of mistake.

#[path = "support/texture_files.rs"]
mod make;
mod support;

use quadrille::job::{Batch, LoadOptions, Outcome, PrepareOptions, Status, find_jobs, load_files, parse};
use quadrille::{CancelFlag, Device, DeviceDescriptor};
use std::path::{Path, PathBuf};
use support::{Scratch, quadrille};

/// The JSON blocks of the format's documentation.
fn documented() -> Vec<String> {
    let text = include_str!("../docs/job-format.md");
    let blocks = text.split("```json\n").skip(1);
    blocks
        .map(|rest| rest.split("```").next().unwrap_or_default().to_owned())
        .collect()
}

fn example() -> String {
    documented().into_iter().next().expect("there is an example")
}

fn device() -> Device {
    Device::new(&DeviceDescriptor {
        threads: std::num::NonZeroUsize::new(1),
        ..DeviceDescriptor::default()
    })
    .expect("a device")
}

/// Runs a job's text; the message of what went wrong.
fn outcome(text: &str) -> Result<(), quadrille::job::JobError> {
    let path = PathBuf::from("job.json");
    let loaded = load_files(parse(text.as_bytes(), &path)?, path, &LoadOptions::default())?;
    let device = device();
    let mut prepared = loaded.prepare(&device, &PrepareOptions::default())?;
    prepared.frame(&CancelFlag::new())?;
    prepared.check()
}

#[test]
fn the_documentations_examples_run() {
    let all = documented();
    assert!(!all.is_empty());
    for text in all {
        outcome(&text).expect("runs, and its probes hold");
    }
}

/// The example with one text replaced must fail with all of these words.
#[track_caller]
fn spoiled(from: &str, to: &str, words: &[&str]) {
    let text = example();
    assert!(text.contains(from), "the example has no `{from}`");
    let error = outcome(&text.replacen(from, to, 1)).expect_err("is refused");
    let mut said = error.to_string();
    let mut cause = std::error::Error::source(&error);
    while let Some(e) = cause {
        said += &format!(": {e}");
        cause = e.source();
    }
    for word in words {
        assert!(said.contains(word), "`{word}` is not in: {said}");
    }
}

#[test]
fn the_first_wrong_value_is_told() {
    spoiled(
        ".aaa....",
        ".aba....",
        &["expect[0]", "`image` at (2, 1), component r", "expected 0.0", "got 1.0"],
    );
    spoiled(
        "\"float\": [1, 0, 0, 1]",
        "\"float\": [1, 0, \"nan\", 1]",
        &["expect[1]", "component b", "NaN"],
    );
    spoiled(
        "\"bits\": [0, 0, 0, 0]",
        "\"bits\": [0, 0, 0, 255]",
        &["(0, 0), component a: expected 0xff, got 0x0"],
    );
    spoiled(
        "\"ulp\": 1}",
        "\"ulp\": 1, \"about\": \"why\"}, {\"buffer\": \"colors\", \"offset\": 4, \"f32\": [0, 0.5]}",
        &["expect[2]", "buffer `colors` at byte 8: expected 0.5, got 0.0"],
    );
    spoiled(
        "\"ulp\": 1}",
        "\"about\": \"why not\"}, {\"buffer\": \"colors\", \"u32\": [\"0x3f800000\", 1], \"about\": \"why\"}",
        &["expected 1, got 0 (why)"],
    );
    spoiled(
        "\"ulp\": 1}",
        "\"ulp\": 1}, {\"buffer\": \"colors\", \"hex\": \"0001\"}",
        &["at byte 1: expected 01, got 00"],
    );
}

#[test]
fn probes_that_make_no_sense_are_mistakes() {
    let probe = "{\"texture\": \"image\", \"at\": [2, 2], \"float\": [1, 0, 0, 1], \"ulp\": 1}";
    for (to, words) in [
        ("{\"float\": [1]}", &["expect[1]", "`texture` or a `buffer`"][..]),
        ("{\"texture\": \"none\", \"float\": [1]}", &["no texture named `none`"]),
        ("{\"buffer\": \"none\", \"u32\": [1]}", &["no buffer named `none`"]),
        (
            "{\"texture\": \"image\", \"at\": [8, 0], \"float\": [1]}",
            &["8, 0, 1 x 1", "8 x 8"],
        ),
        (
            "{\"texture\": \"image\", \"rect\": [0, 0, 0, 1], \"float\": [1]}",
            &["0 x 1"],
        ),
        (
            "{\"texture\": \"image\", \"rect\": [4294967295, 0, 9, 1], \"float\": [1]}",
            &["4294967295"],
        ),
        (
            "{\"texture\": \"image\", \"at\": [0, 0], \"rect\": [0, 0, 1, 1], \"float\": [1]}",
            &["alternatives"],
        ),
        (
            "{\"texture\": \"image\", \"float\": [1, 2, 3, 4, 5]}",
            &["5 values", "64 texels"],
        ),
        ("{\"texture\": \"image\", \"float\": []}", &["0 values"]),
        (
            "{\"texture\": \"image\"}",
            &["exactly one of `float`, `int`, `bits` and `rows`"],
        ),
        (
            "{\"texture\": \"image\", \"float\": [1], \"int\": [1]}",
            &["exactly one"],
        ),
        (
            "{\"texture\": \"image\", \"mipLevel\": 1, \"float\": [1]}",
            &["levels 1..2"],
        ),
        (
            "{\"texture\": \"image\", \"layer\": 1, \"float\": [1]}",
            &["layers 1..2"],
        ),
        (
            "{\"texture\": \"image\", \"sample\": 1, \"float\": [1]}",
            &["samples 1..2"],
        ),
        (
            "{\"texture\": \"image\", \"aspect\": \"stencil-only\", \"int\": [1]}",
            &["aspect"],
        ),
        (
            "{\"texture\": \"image\", \"aspect\": \"both\", \"int\": [1]}",
            &["`both` is no aspect"],
        ),
        (
            "{\"texture\": \"image\", \"rows\": [\"x\"]}",
            &["`x` of `rows` is not in `legend`"],
        ),
        (
            "{\"texture\": \"image\", \"rows\": [\"x\"], \"legend\": {\"x\": {}}}",
            &["legend `x` has exactly one"],
        ),
        (
            "{\"texture\": \"image\", \"rows\": [\"xxxxxxxxx\"], \"legend\": {\"x\": {\"int\": [0]}}}",
            &["9 x 1"],
        ),
        (
            "{\"buffer\": \"colors\", \"offset\": 96, \"u32\": [1]}",
            &["'colors'", "byte 100", "has 96"],
        ),
        (
            "{\"buffer\": \"colors\", \"u32\": [1], \"hex\": \"00\"}",
            &["exactly one of"],
        ),
        (
            "{\"buffer\": \"colors\", \"hex\": \"0g\"}",
            &["`g` is no hexadecimal digit"],
        ),
        ("{\"buffer\": \"colors\", \"f32\": [\"NaN\"]}", &["\"nan\""]),
    ] {
        spoiled(probe, to, words);
    }
}

#[test]
fn data_that_does_not_fit_is_a_mistake() {
    let colors = "{\"data\": [{\"f32\": [1, 0, 0, 1], \"repeat\": 3}, {\"f32\": [0, 1, 0, 1], \"repeat\": 3}]}";
    for (to, words) in [
        ("{}", &["buffers.colors", "exactly one of"][..]),
        (
            "{\"size\": 8, \"data\": {\"f32\": [1, 2, 3]}}",
            &["buffers.colors.size", "12 bytes"],
        ),
        ("{\"size\": 1e30}", &["buffers.colors"]),
        ("{\"size\": 99999999999999}", &["99999999999999"]),
        (
            "{\"data\": {\"f32\": [1], \"u32\": [1]}}",
            &["buffers.colors.data", "exactly one of"],
        ),
        ("{\"data\": {\"hex\": [\"0\"]}}", &["odd"]),
        ("{\"data\": {\"u8\": [256]}}", &["256 doesn't fit u8"]),
        (
            "{\"data\": {\"f32\": [1], \"repeat\": 4294967295}}",
            &["buffers.colors.data", "more than"],
        ),
        ("{\"data\": {\"file\": \"../secret\"}}", &["not a file of the job"]),
        (
            "{\"data\": {\"file\": \"nothing.bin\"}}",
            &["buffers.colors.data", "nothing.bin"],
        ),
        ("{\"data\": {\"f64\": [1]}}", &["unknown field `f64`"]),
        ("{\"data\": 7}", &["an object or a list of objects"]),
        (
            "{\"usage\": [\"vertexes\"], \"size\": 4}",
            &["`vertexes` is no buffer usage"],
        ),
        ("{\"size\": 8}", &["vertex buffer 1", "8 bytes of buffer 'colors'"]),
    ] {
        spoiled(colors, to, words);
    }
    let image = "{\"format\": \"rgba8unorm\", \"size\": [8, 8]}";
    for (to, words) in [
        ("{\"format\": \"rgba8unorm\"}", &["textures.image", "needs `size`"][..]),
        (
            "{\"format\": \"rgba8\", \"size\": [8, 8]}",
            &["`rgba8` is no texture format"],
        ),
        ("{\"format\": \"rgba8unorm\", \"size\": [8]}", &["textures.image.size"]),
        (
            "{\"format\": \"rgba8unorm\", \"size\": [8, 8, 1, 1]}",
            &["textures.image.size"],
        ),
        (
            "{\"format\": \"rgba8unorm\", \"size\": [8, 8, 2], \"layers\": 3}",
            &["contradict"],
        ),
        (
            "{\"format\": \"rgba8unorm\", \"size\": [8, 8], \"sampleCount\": 3}",
            &["sample count 3"],
        ),
        (
            "{\"format\": \"rgba8unorm\", \"size\": [8, 8], \"mipLevelCount\": 9}",
            &["mip levels is 9"],
        ),
        (
            "{\"format\": \"rgba8unorm\", \"size\": [8, 8], \"data\": {\"u8\": [1, 2, 3, 4]}}",
            &["level 0, layer 0", "256"],
        ),
        (
            "{\"format\": \"rgba8unorm\", \"size\": [1, 1], \"data\": {\"u8\": [1, 2, 3, 4, 5]}}",
            &["1 more than the texture takes"],
        ),
        (
            "{\"format\": \"rgba8unorm\", \"size\": [1, 1], \"stencilData\": {\"u8\": [1]}}",
            &["`rgba8unorm` has no stencil"],
        ),
        (
            "{\"format\": \"rgba8unorm\", \"size\": [8, 8], \"mipmaps\": true}",
            &["`mipmaps` needs data"],
        ),
        (
            "{\"format\": \"rgba8unorm\", \"dimension\": \"3d\", \"size\": [8, 8, 3000]}",
            &["3000"],
        ),
        (
            "{\"format\": \"rgba8unorm\", \"size\": [8, 8], \"usage\": [\"texture-binding\"]}",
            &["RENDER_ATTACHMENT"],
        ),
    ] {
        spoiled(image, to, words);
    }
}

#[test]
fn passes_and_draws_are_checked() {
    let draws = "\"draws\": [{";
    spoiled(
        draws,
        "\"clearBuffer\": {\"buffer\": \"colors\"}, \"draws\": [{",
        &["passes[0]", "either"],
    );
    let attachments = "\"colorAttachments\": [{\"texture\": \"image\"}]";
    for (to, words) in [
        (
            "\"colorAttachments\": [{\"texture\": \"image\", \"layer\": 1}]",
            &["colorAttachments[0]", "layers 1..2"][..],
        ),
        (
            "\"colorAttachments\": [{\"texture\": \"image\", \"mipLevel\": 1}]",
            &["levels 1..2"],
        ),
        (
            "\"colorAttachments\": [{\"texture\": \"image\", \"depthSlice\": 0}]",
            &["not 3d"],
        ),
        (
            "\"colorAttachments\": [{\"texture\": \"image\", \"format\": \"r8unorm\"}]",
            &["colorAttachments[0]"],
        ),
        (
            "\"colorAttachments\": [{\"texture\": \"image\", \"resolveTarget\": \"image\"}]",
            &["can't be resolved"],
        ),
        ("\"colorAttachments\": [null]", &["passes[0]", "no attachment"]),
        (
            "\"colorAttachments\": [{\"texture\": \"image\"}], \"depthStencilAttachment\": {\"texture\": \"image\"}",
            &["neither depth nor stencil"],
        ),
    ] {
        spoiled(attachments, to, words);
    }
    let count = "\"vertexCount\": 6";
    for (to, words) in [
        (
            "\"vertexCount\": 6, \"indirect\": \"corners\"",
            &["passes[0].draws[0]", "exactly one"][..],
        ),
        (
            "\"indirect\": {\"buffer\": \"corners\", \"offset\": 2}",
            &["not a multiple of 4"],
        ),
        (
            "\"indirect\": {\"buffer\": \"corners\", \"offset\": 40}",
            &["byte 56", "has 48"],
        ),
        ("\"indirect\": \"corners\"", &["draw 0"]),
        ("\"vertexCount\": 7", &["7 vertices need"]),
        ("\"vertexCount\": 6, \"immediates\": {\"u8\": [1]}", &["multiples of 4"]),
        (
            "\"vertexCount\": 6, \"immediates\": {\"u8\": [0], \"repeat\": 1024}",
            &["beyond 256"],
        ),
        (
            "\"vertexCount\": 6, \"repeat\": 4294967295, \"instanceCount\": 2",
            &["2^32"],
        ),
        (
            "\"vertexCount\": 6, \"bindGroups\": [\"g\"]",
            &["no bind group named `g`"],
        ),
    ] {
        spoiled(count, to, words);
    }
    let copies = |pass: &str, words: &[&str]| {
        let from = "\"passes\": [\n";
        spoiled(from, &format!("\"passes\": [{pass},\n"), words);
    };
    copies("{}", &["passes[0]", "either"]);
    copies(
        "{\"clearBuffer\": {\"buffer\": \"none\"}}",
        &["passes[0].clearBuffer", "no buffer named `none`"],
    );
    copies(
        "{\"clearBuffer\": {\"buffer\": \"colors\", \"offset\": 97}}",
        &["clearBuffer", "byte 97"],
    );
    copies(
        "{\"copyBufferToBuffer\": {\"source\": \"corners\", \"destination\": \"colors\", \"size\": 64}}",
        &["passes[0].copyBufferToBuffer", "byte 64", "has 48"],
    );
    copies(
        "{\"copyTextureToTexture\": {\"source\": \"image\", \"destination\": \"image\", \"size\": []}}",
        &["width, height and layers"],
    );
    copies(
        "{\"copyBufferToTexture\": {\"buffer\": {\"buffer\": \"colors\"}, \"texture\": \"image\", \"size\": [9, 1]}}",
        &["x 9"],
    );
    copies(
        "{\"writeBuffer\": {\"buffer\": \"colors\", \"offset\": 92, \"data\": {\"u32\": [1, 2]}}}",
        &["byte 100"],
    );
    copies(
        "{\"writeTexture\": {\"texture\": \"image\", \"data\": {\"u8\": [1]}}}",
        &["1 bytes", "256"],
    );
    copies("{\"fillBuffer\": {}}", &["unknown field `fillBuffer`"]);
}

#[test]
fn shaders_are_text_or_files_of_known_languages() {
    let text = example();
    let start = text.find("\"text\": [").expect("a text");
    let end = text[start..].find(']').expect("its end") + start;
    // The example's shader has a `]` only at its end, or this would cut it short.
    let whole = &text[start..=end + text[end + 1..].find("\n      ]").map_or(0, |n| n + 8)];
    for (to, words) in [
        (
            "\"file\": \"a.wgsl\", \"text\": \"\"",
            &["shaders.main", "`file`, a `text`"][..],
        ),
        ("\"hex\": \"00\"", &["shaders.main"]),
        ("\"hex\": \"0\", \"language\": \"spirv\"", &["shaders.main.hex", "odd"]),
        (
            "\"text\": \"\", \"language\": \"cg\"",
            &["`cg` is no shader language", "wgsl"],
        ),
        ("\"text\": \"fn f( {\"", &["shaders.main"]),
        (
            "\"text\": \"float4 main()\", \"language\": \"hlsl\"",
            &["shaders.main", "`hlsl` is not supported"],
        ),
    ] {
        spoiled(whole, to, words);
    }
}

#[test]
fn formats_are_told_apart() {
    spoiled("\"format\": 2", "\"format\": 3", &["version 3"]);
    spoiled("\"format\": 2", "\"format\": 1", &["output", "format 1"]);
    spoiled(
        "\"outputs\":",
        "\"output\": \"image\", \"format\": 1, \"outputs\":",
        &["duplicate field `format`"],
    );
}

#[test]
fn what_is_missing_is_refused_by_name() {
    let refused = |from: &str, to: &str| {
        let error = outcome(&example().replacen(from, to, 1)).expect_err("is refused");
        error.refused().expect("says that it is a missing feature")
    };
    let feature = refused("\"text\"", "\"language\": \"glsl\", \"text\"");
    assert!(feature.contains("GLSL without"), "{feature}");
}

fn statuses(outcomes: &[Outcome]) -> Vec<Status> {
    outcomes.iter().map(|o| o.status).collect()
}

#[test]
fn a_failed_job_does_not_stop_the_others() {
    let scratch = Scratch::new("batch");
    scratch.write("a.json", example());
    scratch.write("b.json", example().replacen(".aaa....", ".aab....", 1));
    scratch.write("c.json", "{\"format\": 2");
    scratch.write(
        "d.json",
        example().replacen("\"text\"", "\"language\": \"glsl\", \"text\"", 1),
    );
    scratch.write("e.json", example());
    let jobs = find_jobs(&scratch.path("")).expect("lists").expect("several");
    let device = device();
    let batch = Batch {
        device: &device,
        load: Default::default(),
        out_dir: None,
        options: PrepareOptions::default(),
    };
    let outcomes: Vec<_> = jobs.iter().map(|j| batch.run(j, &CancelFlag::new())).collect();
    use Status::{Error, Fail, Pass, Refused};
    assert_eq!(statuses(&outcomes), [Pass, Fail, Error, Refused, Pass], "{outcomes:?}");
    assert_eq!(outcomes[0].cites, ["R-RAST-31", "R-RAST-33"]);

    // The same from the command line, by a list.
    let list = scratch.write(
        "list.txt",
        "# all\na.json\nb.json # fails\n\nc.json\nd.json\nnone.json\n",
    );
    let (results, out) = (scratch.path("results"), scratch.path("out"));
    let text = |p: &Path| p.to_str().expect("UTF-8").to_owned();
    let ran = quadrille(&["run", &text(&list), "--json", &text(&results), "--out-dir", &text(&out)]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.err.contains("3 of 5 jobs failed"), "{}", ran.err);
    assert!(ran.out.contains("5 jobs"), "{}", ran.out);
    let lines: Vec<serde_json::Value> = std::fs::read_to_string(results)
        .expect("written")
        .lines()
        .map(|l| serde_json::from_str(l).expect("a line of JSON"))
        .collect();
    let found: Vec<_> = lines.iter().map(|l| l["status"].as_str().unwrap_or_default()).collect();
    assert_eq!(found, ["pass", "fail", "error", "refused", "error"]);
    assert!(lines[3]["feature"].as_str().is_some_and(|f| f.contains("GLSL without")));
    assert!(
        lines[1]["message"]
            .as_str()
            .is_some_and(|m| m.contains("(3, 1), component r"))
    );
    assert!(out.join("a/image.png").exists() && out.join("b/image.png").exists());
    let ran = quadrille(&["run", &text(&list), "-o", "x.png"]);
    assert_eq!(ran.code, Some(2), "{}", ran.err);
}

#[test]
fn outputs_have_every_kind_of_file() {
    let scratch = Scratch::new("outputs");
    let outputs = "\"outputs\": [{\"texture\": \"image\", \"file\": \"i.bin\"}, {\"texture\": \"image\", \"file\": \
                   \"d/i.npy\"}, {\"texture\": \"image\", \"file\": \"i.exr\"}, {\"buffer\": \"corners\", \"offset\": 4, \
                   \"size\": 4, \"file\": \"b.bin\"}, {\"buffer\": \"corners\", \"file\": \"b.npy\"}";
    let job = scratch.write(
        "job.json",
        example().replacen(
            "\"outputs\": [{\"texture\": \"image\", \"file\": \"image.png\"}",
            outputs,
            1,
        ),
    );
    let text = |p: &Path| p.to_str().expect("UTF-8").to_owned();
    let out = scratch.path("out");
    let ran = quadrille(&["run", &text(&job), "--out-dir", &text(&out)]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let read = |name: &str| std::fs::read(out.join(name)).expect("written");
    let bin = read("i.bin");
    assert_eq!(bin.len(), 256);
    assert_eq!(bin[(8 + 1) * 4..][..4], [255, 0, 0, 255]);
    assert!(read("d/i.npy").ends_with(&bin));
    assert_eq!(read("b.bin"), 1.5f32.to_le_bytes());
    assert!(read("b.npy").starts_with(b"\x93NUMPY"));
    assert!(read("i.exr").starts_with(&[0x76, 0x2f, 0x31, 0x01]));
    for (file, word) in [("../i.bin", "below the output directory"), ("i.gif", ".gif")] {
        let job = scratch.write("bad.json", example().replacen("image.png", file, 1));
        let ran = quadrille(&["run", &text(&job), "--out-dir", &text(&out)]);
        assert_eq!(ran.code, Some(1));
        assert!(ran.err.contains(word), "{}", ran.err);
    }
}

/// The command fails with the first wrong value, and has written its outputs all the same.
#[test]
fn a_wrong_value_is_exit_code_1() {
    let scratch = Scratch::new("wrong");
    let job = scratch.write("job.json", example().replacen(".aaa....", ".aab....", 1));
    let out = scratch.path("out");
    let ran = quadrille(&[
        "run",
        job.to_str().expect("UTF-8"),
        "--out-dir",
        out.to_str().expect("UTF-8"),
    ]);
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.err.starts_with("error: ") && ran.err.contains("(3, 1)"),
        "{}",
        ran.err
    );
    assert!(out.join("image.png").exists());
}

/// A job with one texture from a file, written beside it, and probes of it.
fn with_file(scratch: &Scratch, name: &str, bytes: &[u8], texture: &str, expect: &str) -> Result<(), String> {
    std::fs::write(scratch.path(name), bytes).expect("writes");
    let text = format!(
        r#"{{"format": 2, "textures": {{"t": {{"file": "{name}", {texture}}}}}, "passes": [], "expect": [{expect}]}}"#
    );
    let path = scratch.path("job.json");
    let run = || {
        let loaded = load_files(parse(text.as_bytes(), &path)?, path.clone(), &LoadOptions::default())?;
        let device = device();
        let mut prepared = loaded.prepare(&device, &PrepareOptions::default())?;
        prepared.frame(&CancelFlag::new())?;
        prepared.check()
    };
    run().map_err(|e: quadrille::job::JobError| {
        let mut said = e.to_string();
        let mut cause = std::error::Error::source(&e);
        while let Some(e) = cause {
            said += &format!(": {e}");
            cause = e.source();
        }
        said
    })
}

#[test]
fn textures_come_from_dds_and_ktx2() {
    let scratch = Scratch::new("texture-files");
    let ok = |name: &str, bytes: &[u8], texture: &str, expect: &str| {
        with_file(&scratch, name, bytes, texture, expect).expect("runs");
    };
    let byte = |i: usize, seed: u8| (i as u8).wrapping_mul(37).wrapping_add(seed);
    // Face 2, level 1, texel (1, 0); the job calls the codes sRGB, or not.
    let texel: Vec<u8> = (4..8).map(|i| byte(i, 102)).collect();
    let [r, g, b, a] = texel[..] else { panic!("four bytes") };
    ok(
        "cube.dds",
        &make::cubes(),
        r#""format": "rgba8unorm", "dimension": "cube""#,
        &format!(r#"{{"texture": "t", "mipLevel": 1, "layer": 2, "at": [1, 0], "bits": [{r}, {g}, {b}, {a}]}}"#),
    );
    ok(
        "array.KTX2",
        &make::arrays(),
        r#""format": "rgba8unorm", "dimension": "2d-array", "size": [4, 4, 2]"#,
        "",
    );
    ok(
        "array.ktx2",
        &make::arrays(),
        r#""format": "rgba8unorm-srgb", "dimension": "2d-array", "mipmaps": true"#,
        "",
    );
    ok(
        "blocks.dds",
        &make::dx10(),
        r#""format": "bc7-rgba-unorm-srgb", "dimension": "2d-array", "mipLevelCount": 4"#,
        "",
    );
    let v = byte(4 * 2 + 3, 1);
    ok(
        "volume.ktx2",
        &make::volumes(),
        r#""format": "r8unorm", "dimension": "3d""#,
        &format!(r#"{{"texture": "t", "layer": 1, "at": [3, 0], "bits": [{v}]}}"#),
    );
    for (file, bytes, texture, words) in [
        (
            "a.dds",
            make::cubes(),
            r#""format": "rgba16float""#,
            "`a.dds` has the format `rgba8unorm`",
        ),
        (
            "a.dds",
            make::cubes(),
            r#""format": "rgba8unorm", "dimension": "3d""#,
            "textures.t.dimension",
        ),
        (
            "a.dds",
            make::dx10(),
            r#""format": "bc7-rgba-unorm", "dimension": "cube""#,
            "no cube faces",
        ),
        (
            "a.dds",
            make::cubes(),
            r#""format": "rgba8unorm", "size": [8, 8]"#,
            "4x4x6",
        ),
        (
            "a.dds",
            make::cubes(),
            r#""format": "rgba8unorm", "mipmaps": true"#,
            "levels already",
        ),
        (
            "a.dds",
            make::cubes(),
            r#""format": "rgba8unorm", "mipLevelCount": 3"#,
            "2 levels",
        ),
        (
            "a.ktx2",
            vec![1, 2, 3],
            r#""format": "rgba8unorm""#,
            "a.ktx2` can't be read; export it again: neither",
        ),
        (
            "a.ktx2",
            make::arrays()[..100].to_vec(),
            r#""format": "rgba8unorm""#,
            "textures.t.file",
        ),
    ] {
        let error = with_file(&scratch, file, &bytes, texture, "").expect_err("is refused");
        assert!(error.contains(words), "{error}");
    }
}
