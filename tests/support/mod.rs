//! Scratch directories, jobs to spoil, and the binary.
#![allow(dead_code, reason = "each test uses a part of it")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};

/// A directory that is removed when the test has passed.
pub struct Scratch(PathBuf);

impl Scratch {
    /// An empty directory.
    pub fn new(name: &str) -> Scratch {
        static COUNTER: AtomicU32 = AtomicU32::new(0);
        let n = COUNTER.fetch_add(1, Ordering::Relaxed);
        let dir = std::env::temp_dir().join(format!("quadrille-{name}-{}-{n}", std::process::id()));
        std::fs::create_dir_all(&dir).expect("a scratch directory");
        Scratch(dir)
    }

    /// The path of a file in it.
    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Writes a file.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, content).expect("writes");
        path
    }

    /// Names of the files in it.
    pub fn files(&self) -> Vec<String> {
        let mut names: Vec<_> = std::fs::read_dir(&self.0)
            .expect("lists")
            .map(|e| e.expect("an entry").file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }
}

/// What the binary did.
pub struct Ran {
    /// Exit code.
    pub code: Option<i32>,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
}

/// Runs the binary to its end.
pub fn quadrille(args: &[&str]) -> Ran {
    let output: Output = Command::new(env!("CARGO_BIN_EXE_quadrille"))
        .args(args)
        .env_remove("PEER_BENCH_T0_NS")
        .output()
        .expect("the binary starts");
    Ran {
        code: output.status.code(),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// The jobs of the tree.
pub fn jobs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/jobs")
}

/// A shader with one triangle, a textured fragment shader and a plain one.
pub const WGSL: &str = "\
struct Vertex { @builtin(position) position: vec4f, @location(0) uv: vec2f }

@vertex fn vs(@location(0) position: vec2f) -> Vertex {
    return Vertex(vec4f(position, 0.0, 1.0), position);
}

@group(0) @binding(0) var image: texture_2d<f32>;
@group(0) @binding(1) var filtered: sampler;

@fragment fn fs(in: Vertex) -> @location(0) vec4f {
    return textureSample(image, filtered, in.uv);
}
";

/// A job of that shader, with all kinds of files.
pub const JOB: &str = r#"{
  "format": 1,
  "name": "small",
  "about": "A triangle with a texture.",
  "shaders": {"main": "main.wgsl"},
  "buffers": {
    "v": {"usage": ["vertex"], "f32": [-1, -1, 3, -1, -1, 3]},
    "i": {"usage": ["index"], "u32": [0, 1, 2]}
  },
  "textures": {
    "out": {"format": "rgba8unorm", "size": [16, 16]},
    "image": {"format": "rgba8unorm", "png": ["image.png"], "mipmaps": true}
  },
  "samplers": {"s": {"magFilter": "linear"}},
  "pipelines": {
    "p": {
      "vertex": {
        "shader": "main",
        "entryPoint": "vs",
        "buffers": [{"arrayStride": 8, "attributes": [{"format": "float32x2", "offset": 0, "shaderLocation": 0}]}]
      },
      "fragment": {"shader": "main", "entryPoint": "fs", "targets": [{"format": "rgba8unorm"}]}
    }
  },
  "bindGroups": {
    "g": {"pipeline": "p", "entries": [{"binding": 0, "texture": "image"}, {"binding": 1, "sampler": "s"}]}
  },
  "passes": [
    {
      "colorAttachments": [{"texture": "out", "clearValue": [0, 0, 0, 1]}],
      "draws": [
        {
          "pipeline": "p",
          "bindGroups": ["g"],
          "vertexBuffers": ["v"],
          "indexBuffer": {"buffer": "i", "format": "uint32"},
          "indexCount": 3
        }
      ]
    }
  ],
  "output": "out"
}
"#;

/// A PNG of 2x2 texels: red, green, blue, white.
pub fn png() -> Vec<u8> {
    let mut out = Vec::new();
    let pixels = [255, 0, 0, 255, 0, 255, 0, 255, 0, 0, 255, 255, 255, 255, 255, 255];
    quadrille::files::png::encode(&mut out, 2, 2, &pixels).expect("encodes");
    out
}

/// Writes [`JOB`] with its files.
pub fn write_job(scratch: &Scratch) -> PathBuf {
    scratch.write("main.wgsl", WGSL);
    scratch.write("image.png", png());
    scratch.write("workload.json", JOB)
}

/// [`JOB`] with one text replaced; panics if it isn't there.
pub fn spoiled(from: &str, to: &str) -> String {
    assert!(JOB.contains(from), "the job has no `{from}`");
    JOB.replacen(from, to, 1)
}
