//! SPIR-V's subgroup operations on the quad, with lanes missing, against what they mean.

mod support;

use quadrille_frontend::ir::{Builtin, Semantic};
use quadrille_frontend::spirv::Module;
use quadrille_frontend::wgsl::Constants;
use support::run_shader;

/// What lanes hold; those of 0 don't take part.
const X: [i32; 8] = [1, 0, 5, 7, 2, 3, 0, 6];

fn run(operation: &str) -> [i32; 8] {
    let text = format!(
        "OpCapability Shader
         OpCapability GroupNonUniform
         OpCapability GroupNonUniformVote
         OpCapability GroupNonUniformArithmetic
         OpCapability GroupNonUniformBallot
         OpCapability GroupNonUniformShuffle
         OpCapability GroupNonUniformClustered
         OpMemoryModel Logical GLSL450
         OpEntryPoint Fragment %main \"main\" %in_x %out
         OpExecutionMode %main OriginUpperLeft
         OpDecorate %in_x Location 0
         OpDecorate %in_x Flat
         OpDecorate %out Location 0
         %void = OpTypeVoid
         %fn = OpTypeFunction %void
         %bool = OpTypeBool
         %int = OpTypeInt 32 1
         %uint = OpTypeInt 32 0
         %uint4 = OpTypeVector %uint 4
         %in = OpTypePointer Input %int
         %outp = OpTypePointer Output %int
         %scope = OpConstant %uint 3
         %u1 = OpConstant %uint 1
         %u2 = OpConstant %uint 2
         %n0 = OpConstant %int 0
         %n1 = OpConstant %int 1
         %n3 = OpConstant %int 3
         %none = OpConstant %int -1
         %in_x = OpVariable %in Input
         %out = OpVariable %outp Output
         %main = OpFunction %void None %fn
         %entry = OpLabel
         %x = OpLoad %int %in_x
         OpStore %out %none
         %c = OpSGreaterThan %bool %x %n0
         OpSelectionMerge %m None
         OpBranchConditional %c %t %m
         %t = OpLabel
         %p = OpSGreaterThan %bool %x %n3
         {operation}
         OpStore %out %r
         OpBranch %m
         %m = OpLabel
         OpReturn
         OpFunctionEnd"
    );
    let module = Module::assemble("test.spvasm", &text).unwrap_or_else(|e| panic!("{}", e.render()));
    let shader = module
        .lower("main", &Constants::new())
        .unwrap_or_else(|e| panic!("{}", e.render()));
    let inputs: Vec<[u32; 8]> = shader
        .inputs
        .iter()
        .map(|(_, input)| {
            let at = |lanes: [f32; 8]| lanes.map(|v| (v + 0.5).to_bits());
            match input.semantic {
                Semantic::Builtin(Builtin::Position(0)) => at([4.0, 5.0, 4.0, 5.0, 6.0, 7.0, 6.0, 7.0]),
                Semantic::Builtin(Builtin::Position(1)) => at([8.0, 8.0, 9.0, 9.0, 8.0, 8.0, 9.0, 9.0]),
                _ => X.map(|v| v as u32),
            }
        })
        .collect();
    run_shader(shader, &inputs, &mut [], operation)[0].map(|v| v as i32)
}

/// `want` of the lane and its quad; -1 where nobody takes part.
#[track_caller]
fn check(operation: &str, want: impl Fn(usize, &[i32]) -> i32) {
    let all: Vec<i32> = (0..8)
        .map(|lane| match X[lane] {
            0 => -1,
            _ => want(lane % 4, &X[lane / 4 * 4..][..4]),
        })
        .collect();
    assert_eq!(run(operation).to_vec(), all, "{operation}");
}

fn here(quad: &[i32]) -> impl Iterator<Item = (usize, i32)> + '_ {
    quad.iter().copied().enumerate().filter(|(_, x)| *x > 0)
}

#[test]
fn votes() {
    let bool_out = "%r = OpSelect %int %v %n1 %n0";
    let first = |quad: &[i32]| here(quad).next().map_or(0, |(lane, _)| lane);
    check(
        &format!("%v = OpGroupNonUniformAll %bool %scope %p\n{bool_out}"),
        |_, q| i32::from(here(q).all(|(_, x)| x > 3)),
    );
    check(
        &format!("%v = OpGroupNonUniformAny %bool %scope %p\n{bool_out}"),
        |_, q| i32::from(here(q).any(|(_, x)| x > 3)),
    );
    check(
        &format!("%v = OpGroupNonUniformAllEqual %bool %scope %x\n{bool_out}"),
        |_, q| i32::from(here(q).all(|(_, x)| x == q[first(q)])),
    );
    check(
        &format!("%v = OpGroupNonUniformElect %bool %scope\n{bool_out}"),
        |lane, q| i32::from(lane == first(q)),
    );
    check("%r = OpGroupNonUniformBroadcastFirst %int %scope %x", |_, q| {
        q[first(q)]
    });
}

#[test]
fn ballots() {
    let ballot = "%b = OpGroupNonUniformBallot %uint4 %scope %p\n";
    let mask = |q: &[i32]| here(q).filter(|(_, x)| *x > 3).map(|(lane, _)| 1 << lane).sum::<i32>();
    let count = |what: &str| {
        format!("{ballot}%n = OpGroupNonUniformBallotBitCount %uint %scope {what} %b\n%r = OpBitcast %int %n")
    };
    check(
        &format!("{ballot}%w = OpCompositeExtract %uint %b 0\n%r = OpBitcast %int %w"),
        |_, q| mask(q),
    );
    check(&count("Reduce"), |_, q| mask(q).count_ones() as i32);
    check(&count("InclusiveScan"), |lane, q| {
        (mask(q) & ((2 << lane) - 1)).count_ones() as i32
    });
    check(&count("ExclusiveScan"), |lane, q| {
        (mask(q) & ((1 << lane) - 1)).count_ones() as i32
    });
    let find =
        |what: &str| format!("{ballot}%n = OpGroupNonUniformBallotFind{what} %uint %scope %b\n%r = OpBitcast %int %n");
    check(&find("LSB"), |_, q| mask(q).trailing_zeros() as i32);
    check(&find("MSB"), |_, q| 31 - mask(q).leading_zeros() as i32);
    let inverse = "%v = OpGroupNonUniformInverseBallot %bool %scope %b\n%r = OpSelect %int %v %n1 %n0";
    check(&format!("{ballot}{inverse}"), |lane, q| mask(q) >> lane & 1);
}

#[test]
fn reductions_scans_and_shuffles() {
    let sum = |of: Vec<i32>| of.into_iter().sum::<i32>();
    let arithmetic = |op: &str, how: &str| format!("%r = OpGroupNonUniform{op} %int %scope {how} %x");
    check(&arithmetic("IAdd", "Reduce"), |_, q| {
        sum(here(q).map(|(_, x)| x).collect())
    });
    check(&arithmetic("IMul", "Reduce"), |_, q| here(q).map(|(_, x)| x).product());
    check(&arithmetic("SMin", "Reduce"), |_, q| {
        here(q).map(|(_, x)| x).min().unwrap_or(0)
    });
    check(&arithmetic("SMax", "Reduce"), |_, q| {
        here(q).map(|(_, x)| x).max().unwrap_or(0)
    });
    check(&arithmetic("BitwiseAnd", "Reduce"), |_, q| {
        here(q).fold(-1, |a, (_, x)| a & x)
    });
    check(&arithmetic("BitwiseXor", "Reduce"), |_, q| {
        here(q).fold(0, |a, (_, x)| a ^ x)
    });
    check(&arithmetic("IAdd", "InclusiveScan"), |lane, q| {
        sum(here(q).filter(|(l, _)| *l <= lane).map(|(_, x)| x).collect())
    });
    check(&arithmetic("IAdd", "ExclusiveScan"), |lane, q| {
        sum(here(q).filter(|(l, _)| *l < lane).map(|(_, x)| x).collect())
    });
    check(
        "%r = OpGroupNonUniformIAdd %int %scope ClusteredReduce %x %u2",
        |lane, q| sum(here(q).filter(|(l, _)| l / 2 == lane / 2).map(|(_, x)| x).collect()),
    );
    // The values of lanes that don't take part aren't asked for here.
    check("%r = OpGroupNonUniformShuffle %int %scope %x %u2", |lane, q| {
        if q[2] > 0 { q[2] } else { q[lane].min(0) }
    });
    check("%r = OpGroupNonUniformIAdd %int %scope Reduce %n1", |_, q| {
        here(q).count() as i32
    });
}
