//! Traces: the last colour of a trace is the pixel of the rendering, and every reason for a dropped fragment is named.

use quadrille::job::{LoadOptions, Loaded, PrepareOptions, load};
use quadrille::trace::{Number, Trace, TraceError, TraceOptions, trace_pixel};
use quadrille::{CancelFlag, Device, DeviceDescriptor, TextureFormat};
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

fn tree_job(name: &str) -> Loaded {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/jobs").join(name);
    load(&path, &LoadOptions::default()).expect("a job of the tree")
}

fn trace(loaded: &Loaded, pixel: [u32; 2], scale: u32, limit: usize) -> Trace {
    let options = TraceOptions {
        pixel,
        limit,
        prepare: PrepareOptions {
            scale: NonZeroU32::new(scale).expect("not 0"),
        },
        ..TraceOptions::default()
    };
    trace_pixel(loaded, &options, &CancelFlag::new()).expect("traces")
}

/// The colour that a trace ends with, as far as any draw of the last pass wrote it.
fn last_color(trace: &Trace) -> Option<[Number; 4]> {
    let last = &trace.draws.last()?.pass;
    let fragments = trace
        .draws
        .iter()
        .filter(|d| &d.pass == last)
        .flat_map(|d| &d.fragments);
    let written = fragments.flat_map(|f| {
        let kept = |s: u32| f.samples[s as usize].kept.as_ref().is_some_and(|k| k.written);
        f.colors.iter().filter(move |c| c.target == 0 && kept(c.sample))
    });
    written.last().map(|c| c.after)
}

#[test]
fn the_last_colour_is_the_pixel() {
    let device = Device::new(&DeviceDescriptor::default()).expect("a device");
    let mut compared = 0;
    for (name, scale) in [
        ("fill", 8),
        ("triangle", 1),
        ("checker", 8),
        ("cubes-front-to-back", 8),
        ("deferred", 16),
        ("fill-blend", 16),
        ("objects", 8),
        ("shadow-pcf", 8),
        ("stencil", 4),
    ] {
        let loaded = tree_job(name);
        let prepare = PrepareOptions {
            scale: NonZeroU32::new(scale).expect("not 0"),
        };
        let mut prepared = loaded.prepare(&device, &prepare).expect("prepares");
        prepared.frame(&CancelFlag::new()).expect("renders");
        let image = prepared.read_output().expect("has an image");
        let srgb = image.format == TextureFormat::Rgba8UnormSrgb;
        assert!(srgb || image.format == TextureFormat::Rgba8Unorm, "{name}");
        for (i, j) in [(1, 1), (2, 3), (3, 2), (5, 5)] {
            let (x, y) = (image.width * i / 6, image.height * j / 6);
            let trace = trace(&loaded, [x, y], scale, 0);
            let Some(color) = last_color(&trace) else { continue };
            let at = ((y * image.width + x) * 4) as usize;
            for (c, got) in color.into_iter().enumerate() {
                let code = f64::from(image.bytes[at + c]) / 255.0;
                let value = match code {
                    code if !srgb || c == 3 => code,
                    code if code <= 0.04045 => code / 12.92,
                    code => libm::pow((code + 0.055) / 1.055, 2.4),
                };
                let Number::F32(got) = got else {
                    panic!("{name}: {got:?} is no colour")
                };
                // Codes are 0.0003 apart where they are closest: nearer than half of that it is this code.
                assert!(
                    (f64::from(got) - value).abs() < 1.5e-4,
                    "{name} at {x}, {y}, {c}: {got} for {value}"
                );
            }
            compared += 1;
        }
    }
    assert!(compared > 20, "only {compared} pixels had a colour");
}

struct File(PathBuf);

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Draws over one pixel, each dropped or kept for a reason of its own.
const REASONS: &str = r#"{
  "format": 2,
  "name": "reasons",
  "shaders": {"s": {"text": [
    "const CORNERS = array(vec2f(-1, 1), vec2f(-1, -3), vec2f(3, 1));",
    "@vertex fn vs(@builtin(vertex_index) i: u32, @builtin(instance_index) tenths: u32) -> @builtin(position) vec4f {",
    "  return vec4f(CORNERS[i % 3], f32(tenths) * 0.1, 1.0);",
    "}",
    "@fragment fn red() -> @location(0) vec4f { return vec4f(1, 0, 0, 1); }",
    "@fragment fn odd(@builtin(position) p: vec4f) -> @location(0) vec4f {",
    "  var sum = 0.0;",
    "  for (var i = 0u; i < u32(p.x); i++) { sum += f32(i); }",
    "  if u32(p.x) % 2 == 0 {",
    "    discard;",
    "  }",
    "  return vec4f(0, dpdx(sum), sum, 1);",
    "}"
  ]}},
  "textures": {
    "t": {"format": "rgba8unorm", "size": [8, 8]},
    "z": {"format": "depth24plus-stencil8", "size": [8, 8]}
  },
  "pipelines": {
    "red": {"vertex": {"shader": "s", "entryPoint": "vs"}, "fragment": {"shader": "s", "entryPoint": "red", "targets": [{"format": "rgba8unorm"}]},
      "depthStencil": {"format": "depth24plus-stencil8", "depthWriteEnabled": true, "depthCompare": "less"}},
    "odd": {"vertex": {"shader": "s", "entryPoint": "vs"}, "fragment": {"shader": "s", "entryPoint": "odd", "targets": [{"format": "rgba8unorm"}]},
      "depthStencil": {"format": "depth24plus-stencil8", "depthWriteEnabled": true, "depthCompare": "less"}},
    "stencil": {"vertex": {"shader": "s", "entryPoint": "vs"}, "fragment": {"shader": "s", "entryPoint": "red", "targets": [{"format": "rgba8unorm"}]},
      "depthStencil": {"format": "depth24plus-stencil8", "depthWriteEnabled": false, "depthCompare": "always",
        "stencilFront": {"compare": "equal"}, "stencilBack": {"compare": "equal"}}},
    "masked": {"vertex": {"shader": "s", "entryPoint": "vs"}, "fragment": {"shader": "s", "entryPoint": "red", "targets": [{"format": "rgba8unorm"}]},
      "depthStencil": {"format": "depth24plus-stencil8", "depthWriteEnabled": false, "depthCompare": "always"}, "multisample": {"mask": 2}},
    "culled": {"vertex": {"shader": "s", "entryPoint": "vs"}, "fragment": {"shader": "s", "entryPoint": "red", "targets": [{"format": "rgba8unorm"}]},
      "primitive": {"cullMode": "front"},
      "depthStencil": {"format": "depth24plus-stencil8", "depthWriteEnabled": false, "depthCompare": "always"}}
  },
  "passes": [{
    "colorAttachments": [{"texture": "t"}],
    "depthStencilAttachment": {"texture": "z"},
    "draws": [
      {"pipeline": "red", "vertexCount": 3, "firstInstance": 5},
      {"pipeline": "red", "vertexCount": 3, "firstInstance": 7},
      {"pipeline": "odd", "vertexCount": 3, "firstInstance": 2},
      {"pipeline": "stencil", "vertexCount": 3, "firstInstance": 1, "stencilReference": 3},
      {"pipeline": "masked", "vertexCount": 3, "firstInstance": 1},
      {"pipeline": "culled", "vertexCount": 3, "firstInstance": 1},
      {"pipeline": "red", "vertexCount": 3, "firstInstance": 1, "scissor": [0, 0, 2, 8]}
    ]
  }],
  "output": "t"
}"#;

fn reasons() -> (File, Loaded) {
    let path = std::env::temp_dir().join(format!(
        "quadrille-trace-{}-{:?}.json",
        std::process::id(),
        std::thread::current().id()
    ));
    std::fs::write(&path, REASONS).expect("writable");
    let loaded = load(&path, &LoadOptions::default()).expect("a job");
    (File(path), loaded)
}

#[test]
fn reasons_are_named() {
    let (_file, loaded) = reasons();
    let t = trace(&loaded, [4, 3], 1, 10_000);
    assert_eq!(t.draws.len(), 7);
    let only = |draw: usize| match &t.draws[draw].fragments[..] {
        [fragment] => fragment,
        other => panic!("draw {draw} has {} fragments", other.len()),
    };
    let kept = |draw: usize| only(draw).samples[0].kept.as_ref().expect("it was shaded");
    let tests = |draw: usize| only(draw).samples[0].tests.as_ref().expect("it was tested");
    assert!(kept(0).written && tests(0).depth_passes);
    assert!(!tests(1).depth_passes && !tests(1).late, "farther than the first");
    assert!(only(1).samples[0].kept.is_none(), "its shader doesn't run");
    assert!(!kept(2).alive && !kept(2).written);
    let place = only(2).discarded.as_ref().expect("discarded somewhere");
    assert_eq!((place.line, place.text.as_str()), (10, "discard;"));
    assert!(!tests(3).stencil_passes && tests(3).stored_stencil == 0);
    assert!(only(4).samples[0].covered && !only(4).samples[0].in_mask);
    assert!(t.draws[5].fragments.is_empty() && t.draws[5].invocations == 0, "culled");
    assert!(t.draws[6].fragments.is_empty() && !t.draws[6].within_scissor);
    assert_eq!(last_color(&t), Some([1.0, 0.0, 0.0, 1.0].map(Number::F32)));

    // The next column isn't discarded, and its loop runs five times.
    let t = trace(&loaded, [5, 3], 1, 10_000);
    assert_eq!(
        last_color(&t),
        Some([0.0, 1.0, 1.0, 1.0].map(Number::F32)),
        "4 + 3 + 2 + 1, clamped"
    );
    let fragment = &t.draws[2].fragments[0];
    assert_eq!(fragment.lane, 3, "odd column, odd row");
    let line_12 = fragment
        .steps
        .iter()
        .filter(|s| s.place.as_ref().is_some_and(|p| p.line == 12));
    let helpers: Vec<_> = line_12.map(|s| s.helpers).collect();
    assert!(!helpers.is_empty(), "the return is traced");
    assert!(
        helpers.iter().all(|h| *h == [true, false, true, false]),
        "even columns are helpers by then"
    );
    let iterations = fragment
        .steps
        .iter()
        .filter(|s| s.text.starts_with("loop") && s.active[3])
        .count();
    assert!((5..=6).contains(&iterations), "{iterations} iterations");
}

/// However many primitives reach a pixel, a trace stays small, and says what it lacks.
#[test]
fn fragments_are_bounded() {
    let (file, _) = reasons();
    let many = REASONS.replace(
        r#""vertexCount": 3, "firstInstance": 7"#,
        r#""vertexCount": 6000, "firstInstance": 7"#,
    );
    std::fs::write(&file.0, many).expect("writable");
    let loaded = load(&file.0, &LoadOptions::default()).expect("a job");
    let t = trace(&loaded, [4, 3], 1, 0);
    let recorded: usize = t.draws.iter().map(|d| d.fragments.len()).sum();
    assert_eq!(recorded, quadrille::trace::MAX_FRAGMENTS);
    assert_eq!(
        t.fragments_left_out,
        2004 - recorded as u64,
        "2000 of one draw, and one each of four more"
    );
}

#[test]
fn limits_and_mistakes() {
    let (_file, loaded) = reasons();
    let all = trace(&loaded, [5, 3], 1, 10_000);
    let steps = |t: &Trace| {
        t.draws
            .iter()
            .flat_map(|d| &d.fragments)
            .map(|f| f.steps.len())
            .sum::<usize>()
    };
    let short = trace(&loaded, [5, 3], 1, 7);
    assert_eq!(steps(&short), 7);
    assert_eq!(steps(&all), 7 + short.left_out as usize);
    assert_eq!(all.left_out, 0);
    let with = |pixel, draw| {
        let options = TraceOptions {
            pixel,
            draw,
            ..TraceOptions::default()
        };
        trace_pixel(&loaded, &options, &CancelFlag::new())
    };
    let one = with([5, 3], Some(2)).expect("traces");
    assert!(
        one.draws
            .iter()
            .enumerate()
            .all(|(i, d)| d.fragments.iter().all(|f| (i == 2) != f.steps.is_empty()))
    );
    assert!(matches!(
        with([8, 0], None),
        Err(TraceError::Outside { size: [8, 8], .. })
    ));
    assert!(matches!(with([u32::MAX, 0], None), Err(TraceError::Outside { .. })));
    assert!(matches!(
        with([0, 0], Some(7)),
        Err(TraceError::NoSuchDraw { draw: 7, count: 7 })
    ));
}
