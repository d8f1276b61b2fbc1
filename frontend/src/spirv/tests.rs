//! The reader on texts and on bytes from anybody.

use super::Module;
use crate::diagnostic::ShaderErrorKind;
use crate::ir::text::print_shader;
use crate::ir::validate::validate;
use crate::ir::{Binding, ResourceClass};
use crate::wgsl::Constants;

/// A fragment shader with a bit of everything: buffers, a combined sampler, a loop, a switch, a call, phis.
const TEXT: &str = r#"
    OpCapability Shader
    %glsl = OpExtInstImport "GLSL.std.450"
    OpMemoryModel Logical GLSL450
    OpEntryPoint Fragment %main "main" %uv %color
    OpExecutionMode %main OriginUpperLeft
    OpName %tex "albedo"
    OpDecorate %uv Location 0
    OpDecorate %color Location 0
    OpDecorate %tex DescriptorSet 0
    OpDecorate %tex Binding 3
    OpDecorate %ubo DescriptorSet 0
    OpDecorate %ubo Binding 1
    OpDecorate %block Block
    OpMemberDecorate %block 0 Offset 0
    OpMemberDecorate %block 0 RowMajor
    OpMemberDecorate %block 0 MatrixStride 16
    OpMemberDecorate %block 1 Offset 64
    OpDecorate %arr ArrayStride 16
    %void = OpTypeVoid
    %fn = OpTypeFunction %void
    %bool = OpTypeBool
    %float = OpTypeFloat 32
    %int = OpTypeInt 32 1
    %v2 = OpTypeVector %float 2
    %v4 = OpTypeVector %float 4
    %m4 = OpTypeMatrix %v4 4
    %n5 = OpConstant %int 5
    %arr = OpTypeArray %float %n5
    %block = OpTypeStruct %m4 %arr
    %ublock = OpTypePointer Uniform %block
    %um4 = OpTypePointer Uniform %m4
    %ufloat = OpTypePointer Uniform %float
    %image = OpTypeImage %float 2D 0 0 0 1 Unknown
    %sampled = OpTypeSampledImage %image
    %psampled = OpTypePointer UniformConstant %sampled
    %pv2 = OpTypePointer Input %v2
    %pv4 = OpTypePointer Output %v4
    %ff = OpTypeFunction %float %float
    %n0 = OpConstant %int 0
    %n1 = OpConstant %int 1
    %half = OpConstant %float 0.5
    %uv = OpVariable %pv2 Input
    %color = OpVariable %pv4 Output
    %tex = OpVariable %psampled UniformConstant
    %ubo = OpVariable %ublock Uniform
    %main = OpFunction %void None %fn
    %entry = OpLabel
    %c = OpLoad %v2 %uv
    %s = OpLoad %sampled %tex
    %t = OpImageSampleImplicitLod %v4 %s %c
    %pm = OpAccessChain %um4 %ubo %n0
    %m = OpLoad %m4 %pm
    %mt = OpMatrixTimesVector %v4 %m %t
    OpBranch %head
    %head = OpLabel
    %i = OpPhi %int %n0 %entry %j %cont
    %sum = OpPhi %float %half %entry %next %cont
    OpLoopMerge %done %cont None
    OpBranch %test
    %test = OpLabel
    %more = OpSLessThan %bool %i %n5
    OpBranchConditional %more %body %done
    %body = OpLabel
    %pe = OpAccessChain %ufloat %ubo %n1 %i
    %e = OpLoad %float %pe
    OpSelectionMerge %after None
    OpSwitch %i %dflt 1 %one 2 %two
    %one = OpLabel
    OpBranch %two
    %two = OpLabel
    %e2 = OpFunctionCall %float %square %e
    OpBranch %after
    %dflt = OpLabel
    OpBranch %after
    %after = OpLabel
    %add = OpPhi %float %e2 %two %half %dflt
    %next = OpFAdd %float %sum %add
    OpBranch %cont
    %cont = OpLabel
    %j = OpIAdd %int %i %n1
    OpBranch %head
    %done = OpLabel
    %r = OpVectorTimesScalar %v4 %mt %sum
    OpStore %color %r
    OpReturn
    OpFunctionEnd
    %square = OpFunction %float None %ff
    %a = OpFunctionParameter %float
    %sentry = OpLabel
    %neg = OpFOrdLessThan %bool %a %half
    OpSelectionMerge %sm None
    OpBranchConditional %neg %early %sm
    %early = OpLabel
    OpKill
    %sm = OpLabel
    %sq = OpExtInst %float %glsl Pow %a %half
    OpReturnValue %sq
    OpFunctionEnd
"#;

fn lower(module: &Module) -> Result<crate::ir::Shader, crate::ShaderError> {
    module.lower("main", &Constants::new())
}

#[test]
fn text_and_binary_give_the_same_ir() {
    let module = Module::assemble("a.spvasm", TEXT).unwrap_or_else(|e| panic!("{}", e.render()));
    let shader = lower(&module).unwrap_or_else(|e| panic!("{}", e.render()));
    validate(&shader).unwrap_or_else(|e| panic!("{e}\n{}", print_shader(&shader)));
    let swapped: Vec<u8> = module.words().iter().flat_map(|w| w.to_be_bytes()).collect();
    let binary = Module::parse("a.spv", &swapped).unwrap_or_else(|e| panic!("{}", e.render()));
    let again = lower(&binary).unwrap_or_else(|e| panic!("{}", e.render()));
    assert_eq!(shader.functions[shader.entry].body, again.functions[again.entry].body);
    // A combined image sampler is two resources.
    let bound: Vec<_> = shader
        .resources
        .iter()
        .map(|(_, r)| (r.binding, r.name.as_str()))
        .collect();
    let at = |binding| Binding::WebGpu { group: 0, binding };
    assert_eq!(bound, [(at(3), "albedo"), (at(503), "albedo"), (at(1), "ubo")]);
    let uniform = &shader.resources.iter().nth(2).unwrap().1.class;
    assert_eq!(*uniform, ResourceClass::Uniform { min_size: 144 });
}

#[test]
fn errors_stand_in_the_disassembly() {
    let text = TEXT.replace(
        "%add = OpPhi %float %e2 %two %half %dflt",
        "%add = OpPhi %float %e2 %two %half %one",
    );
    let module = Module::assemble("a.spvasm", &text).unwrap();
    let binary = Module::parse_words("a.spv", module.words().to_vec()).unwrap();
    let error = lower(&binary).unwrap_err();
    assert_eq!(error.kind, ShaderErrorKind::Invalid);
    assert!(error.to_string().contains("OpPhi"), "{error}");
    assert!(error.render().contains("OpBranch"), "{}", error.render());
}

#[test]
fn mutated_words_never_panic() {
    let module = Module::assemble("a.spvasm", TEXT).unwrap();
    let words = module.words();
    let mut state = 0x9E37_79B9_7F4A_7C15u64;
    let mut random = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below as u64) as usize
    };
    let (mut accepted, mut refused) = (0, 0);
    for _ in 0..3000 {
        let mut mutated = words.to_vec();
        for _ in 0..1 + random(3) {
            let at = random(mutated.len());
            let other = mutated[random(mutated.len())];
            match random(6) {
                0 => mutated[at] ^= 1 << random(32),
                1 => mutated[at] = other,
                2 => mutated[at] = mutated[at].wrapping_add(1),
                3 => mutated[at] = random(120) as u32,
                4 => mutated.truncate(at + 1),
                _ => mutated[at] = mutated[at] & 0xffff_0000 | random(400) as u32,
            }
        }
        let result = Module::parse_words("m.spv", mutated).and_then(|m| {
            let shader = lower(&m)?;
            Ok((m, shader))
        });
        match result {
            Ok((m, shader)) => {
                accepted += 1;
                validate(&shader).unwrap_or_else(|e| panic!("{e}\n{}", m.text()));
            }
            Err(error) => {
                refused += 1;
                assert_ne!(
                    error.kind,
                    ShaderErrorKind::Internal,
                    "{}\n{}",
                    error.render(),
                    error.text.text
                );
            }
        }
    }
    assert!(
        accepted > 100 && refused > 1000,
        "{accepted} accepted, {refused} refused"
    );
}
