//! SPIR-V assembly through the reader and the executors: what naga never writes.

mod support;

use quadrille_frontend::spirv::Module;
use quadrille_frontend::wgsl::Constants;
use support::run_shader;

/// Declarations around a body that computes an int from `%x` and `%y`, flat inputs, and stores it to `%out`.
fn module(types: &str, body: &str, functions: &str) -> String {
    format!(
        "OpCapability Shader
         %glsl = OpExtInstImport \"GLSL.std.450\"
         OpMemoryModel Logical GLSL450
         OpEntryPoint Fragment %main \"main\" %in_x %in_y %out
         OpExecutionMode %main OriginUpperLeft
         OpDecorate %in_x Location 0
         OpDecorate %in_x Flat
         OpDecorate %in_y Location 1
         OpDecorate %in_y Flat
         OpDecorate %out Location 0
         OpDecorate %spec SpecId 7
         %void = OpTypeVoid
         %fn = OpTypeFunction %void
         %bool = OpTypeBool
         %int = OpTypeInt 32 1
         %uint = OpTypeInt 32 0
         %float = OpTypeFloat 32
         %in = OpTypePointer Input %int
         %outp = OpTypePointer Output %int
         %local = OpTypePointer Function %int
         %n0 = OpConstant %int 0
         %n1 = OpConstant %int 1
         %n2 = OpConstant %int 2
         %n3 = OpConstant %int 3
         %n4 = OpConstant %int 4
         %n10 = OpConstant %int 10
         %n100 = OpConstant %int 100
         %spec = OpSpecConstant %int 5
         %in_x = OpVariable %in Input
         %in_y = OpVariable %in Input
         %out = OpVariable %outp Output
         {types}
         %main = OpFunction %void None %fn
         %entry = OpLabel
         %x = OpLoad %int %in_x
         %y = OpLoad %int %in_y
         {body}
         OpFunctionEnd
         {functions}"
    )
}

const X: [i32; 8] = [0, 1, 2, 3, 4, 5, -1, 10];
const Y: [i32; 8] = [3, 0, -2, 5, 7, 2, 1, 0];

fn run_with(text: &str, constants: &Constants) -> [i32; 8] {
    let module = Module::assemble("test.spvasm", text).unwrap_or_else(|e| panic!("{}", e.render()));
    let shader = module
        .lower("main", constants)
        .unwrap_or_else(|e| panic!("{}", e.render()));
    // The binary of the text, printed and read again, is the same shader.
    let again = Module::parse_words("test.spv", module.words().to_vec()).unwrap_or_else(|e| panic!("{}", e.render()));
    let reassembled = Module::assemble("test.spvasm", again.text()).unwrap_or_else(|e| panic!("{}", e.render()));
    assert_eq!(reassembled.words().len(), module.words().len());
    let inputs = [X.map(|v| v as u32), Y.map(|v| v as u32)];
    let out = run_shader(shader, &inputs, &mut [], text);
    out[0].map(|v| v as i32)
}

#[track_caller]
fn check(types: &str, body: &str, functions: &str, want: impl Fn(i32, i32) -> i32) {
    let got = run_with(&module(types, body, functions), &Constants::new());
    let want: Vec<i32> = X.iter().zip(Y).map(|(&x, y)| want(x, y)).collect();
    assert_eq!(got.to_vec(), want);
}

#[test]
fn phi_of_a_selection() {
    let body = "%c = OpSLessThan %bool %x %y
         OpSelectionMerge %m None
         OpBranchConditional %c %t %f
         %t = OpLabel
         %a = OpIAdd %int %x %n10
         OpBranch %m
         %f = OpLabel
         %b = OpIMul %int %y %n2
         OpBranch %m
         %m = OpLabel
         %p = OpPhi %int %a %t %b %f
         OpStore %out %p
         OpReturn";
    check("", body, "", |x, y| if x < y { x + 10 } else { y * 2 });
}

#[test]
fn values_outlive_a_side_that_is_the_only_way() {
    // The other side returns: what `%t` computes dominates the merge block and is used there directly.
    let body = "%c = OpSLessThan %bool %x %y
         OpStore %out %n100
         OpSelectionMerge %m None
         OpBranchConditional %c %t %f
         %t = OpLabel
         %a = OpIAdd %int %x %n10
         OpBranch %m
         %f = OpLabel
         OpReturn
         %m = OpLabel
         OpStore %out %a
         OpReturn";
    check("", body, "", |x, y| if x < y { x + 10 } else { 100 });
}

#[test]
fn loops_with_phis_swap_and_break() {
    // (a, b) = (b, a + b) until b >= 10 or i == x: the phis swap; the loop's values are used after it.
    let body = "OpBranch %head
         %head = OpLabel
         %a = OpPhi %int %n0 %entry %b %cont
         %b = OpPhi %int %n1 %entry %s %cont
         %i = OpPhi %int %n0 %entry %j %cont
         OpLoopMerge %m %cont None
         OpBranch %test
         %test = OpLabel
         %c = OpSLessThan %bool %i %x
         OpBranchConditional %c %body %m
         %body = OpLabel
         %s = OpIAdd %int %a %b
         %big = OpSGreaterThanEqual %bool %b %n10
         OpSelectionMerge %on None
         OpBranchConditional %big %leave %on
         %leave = OpLabel
         OpBranch %m
         %on = OpLabel
         OpBranch %cont
         %cont = OpLabel
         %j = OpIAdd %int %i %n1
         OpBranch %head
         %m = OpLabel
         %r = OpIMul %int %a %n100
         %q = OpIAdd %int %r %b
         OpStore %out %q
         OpReturn";
    check("", body, "", |x, _| {
        let (mut a, mut b, mut i) = (0, 1, 0);
        while i < x && b < 10 {
            (a, b) = (b, a + b);
            i += 1;
        }
        a * 100 + b
    });
}

#[test]
fn a_loop_of_one_block_and_a_do_while() {
    let body = "OpBranch %head
         %head = OpLabel
         %i = OpPhi %int %n0 %entry %j %head
         %j = OpIAdd %int %i %n1
         %c = OpSLessThan %bool %j %x
         OpLoopMerge %m %head None
         OpBranchConditional %c %head %m
         %m = OpLabel
         OpBranch %head2
         %head2 = OpLabel
         %k = OpPhi %int %j %m %l %cont2
         OpLoopMerge %m2 %cont2 None
         OpBranch %body2
         %body2 = OpLabel
         %l = OpIAdd %int %k %n3
         OpBranch %cont2
         %cont2 = OpLabel
         %c2 = OpSGreaterThan %bool %l %n10
         OpBranchConditional %c2 %m2 %head2
         %m2 = OpLabel
         OpStore %out %l
         OpReturn";
    check("", body, "", |x, _| {
        let mut k = x.max(1);
        loop {
            k += 3;
            if k > 10 {
                return k;
            }
        }
    });
}

#[test]
fn switch_falls_through_and_phis_see_it() {
    let body = "OpSelectionMerge %m None
         OpSwitch %x %d 0 %c0 1 %c1 2 %c1 3 %c3 10 %m
         %c0 = OpLabel
         %a0 = OpIAdd %int %y %n100
         %low = OpSLessThan %bool %y %n2
         OpSelectionMerge %in0 None
         OpBranchConditional %low %leave %in0
         %leave = OpLabel
         OpBranch %m
         %in0 = OpLabel
         OpBranch %c1
         %c1 = OpLabel
         %p = OpPhi %int %a0 %in0 %y %entry
         %a1 = OpIMul %int %p %n2
         OpBranch %m
         %d = OpLabel
         OpBranch %m
         %c3 = OpLabel
         OpBranch %d2
         %d2 = OpLabel
         OpBranch %m
         %m = OpLabel
         %r = OpPhi %int %n1 %leave %a1 %c1 %n4 %d %n3 %d2 %n10 %entry
         OpStore %out %r
         OpReturn";
    check("", body, "", |x, y| match x {
        0 if y < 2 => 1,
        0 => (y + 100) * 2,
        1 | 2 => y * 2,
        3 => 3,
        10 => 10,
        _ => 4,
    });
}

#[test]
fn switch_in_a_loop_continues_and_breaks_over_levels() {
    let body = "%v = OpVariable %local Function %n0
         OpBranch %head
         %head = OpLabel
         %i = OpPhi %int %n0 %entry %j %cont
         %c = OpSLessThan %bool %i %n10
         OpLoopMerge %m %cont None
         OpBranchConditional %c %body %m
         %body = OpLabel
         %k = OpBitwiseAnd %int %i %n3
         OpSelectionMerge %after None
         OpSwitch %k %deflt 0 %cont 1 %one 2 %two
         %one = OpLabel
         %big = OpSGreaterThan %bool %i %y
         OpSelectionMerge %one2 None
         OpBranchConditional %big %m_exit %one2
         %m_exit = OpLabel
         OpBranch %m
         %one2 = OpLabel
         OpBranch %two
         %two = OpLabel
         %v0 = OpLoad %int %v
         %v1 = OpIAdd %int %v0 %i
         OpStore %v %v1
         OpBranch %after
         %deflt = OpLabel
         %odd = OpIEqual %bool %x %n4
         OpSelectionMerge %d2 None
         OpBranchConditional %odd %ret %d2
         %ret = OpLabel
         OpStore %out %i
         OpReturn
         %d2 = OpLabel
         OpBranch %after
         %after = OpLabel
         %w0 = OpLoad %int %v
         %w1 = OpIAdd %int %w0 %n100
         OpStore %v %w1
         OpBranch %cont
         %cont = OpLabel
         %j = OpIAdd %int %i %n1
         OpBranch %head
         %m = OpLabel
         %r0 = OpLoad %int %v
         %r = OpIAdd %int %r0 %i
         OpStore %out %r
         OpReturn";
    // OpVariable must come first in the block.
    let text = module("", body, "").replace("%x = OpLoad %int %in_x\n", "").replace(
        "%v = OpVariable %local Function %n0\n",
        "%v = OpVariable %local Function %n0\n %x = OpLoad %int %in_x\n",
    );
    let got = run_with(&text, &Constants::new());
    let reference = |x: i32, y: i32| {
        let (mut v, mut i) = (0, 0);
        while i < 10 {
            match i & 3 {
                0 => {
                    i += 1;
                    continue;
                }
                1 if i > y => break,
                1 | 2 => v += i,
                _ if x == 4 => return i,
                _ => {}
            }
            v += 100;
            i += 1;
        }
        v + i
    };
    let want: Vec<i32> = X.iter().zip(Y).map(|(&x, y)| reference(x, y)).collect();
    assert_eq!(got.to_vec(), want);
}

#[test]
fn functions_return_from_loops_and_take_pointers() {
    let functions = "%f = OpFunction %int None %ft
         %p = OpFunctionParameter %local
         %n = OpFunctionParameter %int
         %fentry = OpLabel
         OpBranch %fhead
         %fhead = OpLabel
         %i = OpPhi %int %n0 %fentry %j %fcont
         OpLoopMerge %fm %fcont None
         OpBranch %fbody
         %fbody = OpLabel
         %done = OpSGreaterThanEqual %bool %i %n
         OpSelectionMerge %fon None
         OpBranchConditional %done %fret %fon
         %fret = OpLabel
         %sq = OpIMul %int %i %i
         OpReturnValue %sq
         %fon = OpLabel
         %o = OpLoad %int %p
         %o2 = OpIAdd %int %o %n10
         OpStore %p %o2
         OpBranch %fcont
         %fcont = OpLabel
         %j = OpIAdd %int %i %n1
         OpBranch %fhead
         %fm = OpLabel
         OpUnreachable
         OpFunctionEnd";
    let body = "%v = OpVariable %local Function
         OpStore %v %y
         %r1 = OpFunctionCall %int %f %v %x
         %r2 = OpFunctionCall %int %f %v %n2
         %s = OpIAdd %int %r1 %r2
         %w = OpLoad %int %v
         %t = OpIAdd %int %s %w
         OpStore %out %t
         OpReturn";
    check("%ft = OpTypeFunction %int %local %int", body, functions, |x, y| {
        let n = x.max(0);
        n * n + 4 + y + 10 * n + 20
    });
}

#[test]
fn specialisation_constants_and_their_operations() {
    let types = "%twice = OpSpecConstantOp %int IMul %spec %n2
         %arr = OpTypeArray %int %twice
         %arrp = OpTypePointer Private %arr
         %intp = OpTypePointer Private %int
         %table = OpVariable %arrp Private
         %isbig = OpSpecConstantOp %bool SGreaterThan %twice %n10
         %pick = OpSpecConstantOp %int Select %isbig %n100 %n1";
    let body = "%e = OpAccessChain %intp %table %x
         OpStore %e %y
         %l = OpAccessChain %intp %table %n4
         %lv = OpLoad %int %l
         %s1 = OpIAdd %int %lv %twice
         %s2 = OpIAdd %int %s1 %pick
         OpStore %out %s2
         OpReturn";
    let text = module(types, body, "");
    let want = |twice: i32, pick: i32| -> Vec<i32> {
        // Indices are clamped; negative ones too, as large unsigned ones.
        let at = |x: i32| (x as u32).min(twice as u32 - 1);
        X.iter()
            .zip(Y)
            .map(|(&x, y)| if at(x) == 4 { y } else { 0 } + twice + pick)
            .collect()
    };
    assert_eq!(run_with(&text, &Constants::new()).to_vec(), want(10, 1));
    let constants: Constants = [("7".to_owned(), 8.0)].into_iter().collect();
    assert_eq!(run_with(&text, &constants).to_vec(), want(16, 100));
}

#[test]
fn integer_instructions() {
    let types = "%pair = OpTypeStruct %uint %uint
         %ipair = OpTypeStruct %int %int";
    let body = "%m = OpSMod %int %x %n3
         %r = OpSRem %int %x %n3
         %ux = OpBitcast %uint %x
         %uy = OpBitcast %uint %y
         %c = OpIAddCarry %pair %ux %uy
         %c0 = OpCompositeExtract %uint %c 0
         %c1 = OpCompositeExtract %uint %c 1
         %b = OpISubBorrow %pair %ux %uy
         %b1 = OpCompositeExtract %uint %b 1
         %e = OpSMulExtended %ipair %x %y
         %e1 = OpCompositeExtract %int %e 1
         %v1 = OpIMul %int %m %n100
         %v2 = OpIAdd %int %v1 %r
         %v3 = OpIMul %int %v2 %n100
         %v4 = OpIAdd %int %v3 %c0
         %v5 = OpIMul %int %v4 %n4
         %v6 = OpIAdd %int %v5 %c1
         %v7 = OpIMul %int %v6 %n4
         %v8 = OpIAdd %int %v7 %b1
         %v9 = OpIMul %int %v8 %n4
         %va = OpIAdd %int %v9 %e1
         OpStore %out %va
         OpReturn";
    check(types, body, "", |x, y| {
        let (sum, carry) = (x as u32).overflowing_add(y as u32);
        let high = ((i64::from(x) * i64::from(y)) >> 32) as i32;
        let v = (x.rem_euclid(3) * 100 + x % 3) * 100 + sum as i32;
        ((v * 4 + i32::from(carry)) * 4 + i32::from((x as u32) < (y as u32))) * 4 + high
    });
}

#[test]
fn kill_outside_loops_goes_on_as_a_helper() {
    // What a killed lane computes afterwards is seen by its neighbours' derivatives only.
    let body = "%c = OpSLessThan %bool %x %n2
         OpSelectionMerge %m None
         OpBranchConditional %c %k %m
         %k = OpLabel
         OpKill
         %m = OpLabel
         %r = OpIAdd %int %x %y
         OpStore %out %r
         OpReturn";
    check("", body, "", |x, y| x + y);
}

#[test]
fn refusals_name_what_is_missing_and_where() {
    let refused = |types: &str, body: &str| {
        let text = module(types, body, "");
        let module = Module::assemble("test.spvasm", &text);
        let error = module.and_then(|m| m.lower("main", &Constants::new())).unwrap_err();
        error.render()
    };
    let message = refused("", "%z = OpAtomicIAdd %int %in_x %n1 %n0 %n1\n OpReturn");
    assert!(
        message.contains("atomic") && message.contains("OpAtomicIAdd %int %in_x"),
        "{message}"
    );
    let message = refused("", "%z = OpGroupNonUniformElect %bool %n2\n OpReturn");
    assert!(message.contains("OpGroupNonUniformElect of another scope"), "{message}");
    let message = refused(
        "",
        "%f = OpConvertSToF %float %x\n %z = OpExtInst %float %glsl InterpolateAtCentroid %f\n OpReturn",
    );
    assert!(message.contains("InterpolateAtCentroid"), "{message}");
    let text = module("", "OpReturn", "").replace("OpCapability Shader", "OpCapability Shader OpCapability Kernel");
    let message = Module::assemble("test.spvasm", &text).unwrap_err().render();
    assert!(message.contains("the capability Kernel isn't supported"), "{message}");
    let message = Module::assemble("t", "OpFoo %1").unwrap_err().render();
    assert!(message.contains("no instruction `OpFoo`"), "{message}");
}
