//! One shader in each language that modules take, in every combination of stages: the same pixels (law N7).

use super::support::*;
use quadrille::*;

const WGSL: &str = "
    struct V { @builtin(position) p: vec4f, @location(0) v: vec2f }
    @vertex fn main(@location(0) p: vec2f) -> V { return V(vec4f(p, 0.5, 1.0), p * 0.5 + 0.25); }
";
const WGSL_FRAGMENT: &str = "
    @fragment fn main(@location(0) v: vec2f) -> @location(0) vec4f { return vec4f(v * v.yx + v, dpdx(v.x), 1.0); }
";
const GLSL: &str = "#version 450
    layout(location = 0) in vec2 p;
    layout(location = 0) out vec2 v;
    void main() { gl_Position = vec4(p, 0.5, 1.0); v = p * 0.5 + vec2(0.25); }
";
const GLSL_FRAGMENT: &str = "#version 450
    layout(location = 0) in vec2 v;
    layout(location = 0) out vec4 color;
    void main() { color = vec4(v * v.yx + v, dFdx(v.x), 1.0); }
";
const ASSEMBLY_FRAGMENT: &str = r#"
    OpCapability Shader
    OpMemoryModel Logical GLSL450
    OpEntryPoint Fragment %main "main" %v %color
    OpExecutionMode %main OriginUpperLeft
    OpDecorate %v Location 0
    OpDecorate %color Location 0
    %void = OpTypeVoid
    %function = OpTypeFunction %void
    %float = OpTypeFloat 32
    %v2 = OpTypeVector %float 2
    %v4 = OpTypeVector %float 4
    %in = OpTypePointer Input %v2
    %out = OpTypePointer Output %v4
    %v = OpVariable %in Input
    %color = OpVariable %out Output
    %one = OpConstant %float 1
    %main = OpFunction %void None %function
    %start = OpLabel
    %a = OpLoad %v2 %v
    %b = OpVectorShuffle %v2 %a %a 1 0
    %product = OpFMul %v2 %a %b
    %sum = OpFAdd %v2 %product %a
    %x = OpCompositeExtract %float %a 0
    %dx = OpDPdx %float %x
    %c = OpCompositeConstruct %v4 %sum %dx %one
    OpStore %color %c
    OpReturn
    OpFunctionEnd
"#;

fn compiled(device: &Device, source: ShaderSource<'_>) -> ShaderModule {
    let descriptor = ShaderModuleDescriptor {
        label: Some("shader"),
        source,
    };
    device.create_shader_module(descriptor).expect("compiles")
}

fn pixels(vertex: &ShaderModule, fragment: &ShaderModule, f: &Fill) -> Vec<[u8; 4]> {
    let targets = [Some(ColorTargetState::new(TextureFormat::Rgba8Unorm))];
    let buffers = [positions()];
    let pipeline = f
        .device
        .create_render_pipeline(&RenderPipelineDescriptor {
            label: Some("languages"),
            ..RenderPipelineDescriptor::new(
                VertexState::new(vertex, "main", &buffers),
                Some(FragmentState::new(fragment, "main", &targets)),
            )
        })
        .expect("a pipeline");
    let (commands, drawn) = f.pass(|pass| {
        pass.set_pipeline(&pipeline)?;
        pass.set_vertex_buffer(0, &f.vertices, 0)?;
        pass.draw(0..3, 0..1)
    });
    drawn.expect("recorded");
    f.submit(commands);
    (0..64).map(|i| f.pixel(i % 8, i / 8)).collect()
}

#[test]
fn languages_give_the_same_pixels() {
    let f = Fill::new();
    let glsl = |shader: &'static str, stage| ShaderSource::Glsl {
        shader: shader.into(),
        stage,
    };
    let vertex = [ShaderSource::Wgsl(WGSL.into()), glsl(GLSL, ShaderStage::Vertex)].map(|s| compiled(&f.device, s));
    let fragment = [
        ShaderSource::Wgsl(WGSL_FRAGMENT.into()),
        glsl(GLSL_FRAGMENT, ShaderStage::Fragment),
        ShaderSource::SpirVAssembly(ASSEMBLY_FRAGMENT.into()),
    ]
    .map(|s| compiled(&f.device, s));
    let expected = pixels(&vertex[0], &fragment[0], &f);
    assert!(expected.iter().any(|p| p != &expected[0]), "{expected:?}");
    for (i, v) in vertex.iter().enumerate() {
        for (j, s) in fragment.iter().enumerate() {
            assert_eq!(pixels(v, s, &f), expected, "vertex {i}, fragment {j}");
        }
    }
}

/// SPIR-V and GLSL leave gradients in divergent flow undefined: the pipeline warns of them, with both places (R-PS-80).
/// Direct3D's rules refuse them in any language; its warnings are asked for.
#[test]
fn gradients_in_divergent_flow_are_told() {
    let device = device();
    let glsl = "#version 450
        layout(location = 0) in vec2 v;
        layout(location = 0) out vec4 color;
        void main() {
            color = vec4(0.0);
            if (v.x > 0.5) {
                color = vec4(dFdx(v.x * v.y));
            }
        }
    ";
    let wgsl = "diagnostic(off, derivative_uniformity);
        @fragment fn main(@location(0) v: vec2f) -> @location(0) vec4f {
            if v.x > 0.5 { return vec4f(dpdx(v.x * v.y)); }
            return vec4f();
        }
    ";
    let vertex = compiled(&device, ShaderSource::Wgsl(WGSL.into()));
    let glsl = ShaderSource::Glsl {
        shader: glsl.into(),
        stage: ShaderStage::Fragment,
    };
    let (glsl, wgsl) = (
        compiled(&device, glsl),
        compiled(&device, ShaderSource::Wgsl(wgsl.into())),
    );
    let targets = [Some(ColorTargetState::new(TextureFormat::Rgba8Unorm))];
    let buffers = [positions()];
    let pipeline = |fragment: &ShaderModule, rules, gradient_divergence| {
        device.create_render_pipeline(&RenderPipelineDescriptor {
            label: Some("gradients"),
            rules,
            extended: ExtendedState {
                gradient_divergence,
                ..ExtendedState::default()
            },
            ..RenderPipelineDescriptor::new(
                VertexState::new(&vertex, "main", &buffers),
                Some(FragmentState::new(fragment, "main", &targets)),
            )
        })
    };
    let strict = GradientDivergence::Error;
    let warned = pipeline(&glsl, Rules::WebGpu, strict).expect("a warning only");
    let [text] = warned.warnings() else {
        panic!("{:?}", warned.warnings())
    };
    for words in [
        "undefined",
        "dFdx(v.x * v.y)",
        "if (v.x > 0.5)",
        "shader:7:",
        "shader:6:",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let silent = pipeline(&wgsl, Rules::WebGpu, strict).expect("WGSL switched it off");
    assert!(silent.warnings().is_empty(), "{:?}", silent.warnings());
    for fragment in [&glsl, &wgsl] {
        says(pipeline(fragment, Rules::D3d11, strict), &["'gradients'", "Direct3D"]);
        let warned = pipeline(fragment, Rules::D3d11, GradientDivergence::Warning).expect("a warning only");
        assert_eq!(warned.warnings().len(), 1, "{:?}", warned.warnings());
    }
}

/// What is no module of its language is an error that says where, or what it lacks.
#[test]
fn mistakes_in_every_language_are_told() {
    let device = device();
    let refused = |source: ShaderSource<'_>, words: &[&str]| {
        let module = device.create_shader_module(ShaderModuleDescriptor {
            label: Some("broken"),
            source,
        });
        says(module, words);
    };
    let glsl = |text: &'static str| ShaderSource::Glsl {
        shader: text.into(),
        stage: ShaderStage::Fragment,
    };
    refused(
        glsl("#version 450\nvoid main() { nothing = 1; }"),
        &["broken", "nothing"],
    );
    refused(glsl(""), &["broken"]);
    refused(ShaderSource::SpirV(vec![0x0723_0203, 0x0001_0600].into()), &["broken"]);
    refused(ShaderSource::SpirV(vec![7; 64].into()), &["broken"]);
    refused(
        ShaderSource::SpirVAssembly("OpCapability Shader\n%x = OpNonsense %y".into()),
        &["broken", "OpNonsense"],
    );
}

/// What was made of SPIR-V or GLSL comes back from a capture as that.
#[test]
fn captures_keep_the_language() {
    let f = Fill::new();
    let vertex = compiled(
        &f.device,
        ShaderSource::Glsl {
            shader: GLSL.into(),
            stage: ShaderStage::Vertex,
        },
    );
    let fragment = compiled(&f.device, ShaderSource::SpirVAssembly(ASSEMBLY_FRAGMENT.into()));
    let path = std::env::temp_dir().join(format!("quadrille-languages-{}.json", std::process::id()));
    let capture = f.device.capture(&path).expect("begins");
    let expected = pixels(&vertex, &fragment, &f);
    capture.finish().expect("written");
    let loaded = quadrille::job::load(&path, &Default::default());
    let text = std::fs::read_to_string(&path).expect("there");
    std::fs::remove_file(&path).expect("removed");
    assert!(text.contains("\"spirv\"") && text.contains("\"glsl\""), "{text}");
    let loaded = loaded.expect("is a job");
    let mut prepared = loaded.prepare(&f.device, &Default::default()).expect("prepares");
    prepared.frame(&CancelFlag::new()).expect("renders");
    let image = prepared.read_output().expect("has an image");
    let (again, _) = image.bytes.as_chunks::<4>();
    assert_eq!(again, expected);
}
