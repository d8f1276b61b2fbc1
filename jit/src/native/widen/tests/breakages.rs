//! The pass broken on purpose, one place at a time: each breakage is declined by the pass' own check of halves, or
//! found by the [audit](super::super::audit()), or seen in results. What none of them sees would be a hole in the proof.

use super::super::{Declined, Step, decode, flow, forms::Form, rewrite};
use super::{
    BodyFn, INPUTS, arithmetic, audit, calls, compare, compile, divergent_loop, integers, isa, masks, random_inputs,
    spills, widen,
};
use iced_x86::{Code, Encoder, Instruction, OpKind, Register};

const KERNELS: [(&str, usize, BodyFn); 6] = [
    ("arithmetic", 7, arithmetic),
    ("integers", 8, integers),
    ("masks", 4, masks),
    ("spills", INPUTS, spills),
    ("calls", INPUTS, calls),
    ("divergent loop", 2, divergent_loop),
];

/// What noticed a breakage.
#[derive(Debug, PartialEq, Eq)]
enum Caught {
    Audit,
    Results,
}

fn caught(narrow: &[u8], wide: &[u8], outputs: usize) -> Option<Caught> {
    if audit(wide).is_err() {
        Some(Caught::Audit)
    } else if compare(narrow, wide, outputs, random_inputs(40)).is_err() {
        Some(Caught::Results)
    } else {
        None
    }
}

/// Breaks each kernel's code in all ways that `breaks` gives, and counts them.
fn all_caught(what: &str, breaks: impl Fn(&[u8], &[Instruction]) -> Vec<(usize, Vec<u8>)>, by: &[Caught]) {
    let Some(isa) = isa() else { return };
    let mut count = 0;
    for (kernel, outputs, body) in KERNELS {
        let narrow = compile(&isa, &body);
        let wide = widen(&narrow).unwrap_or_else(|e| panic!("{kernel}: {e}")).code;
        assert_eq!(caught(&narrow, &wide, outputs), None, "{kernel} is whole");
        let instructions = super::super::instructions(&wide).expect("decodes");
        for (at, patch) in breaks(&wide, &instructions) {
            let mut broken = wide.clone();
            broken[at..at + patch.len()].copy_from_slice(&patch);
            match caught(&narrow, &broken, outputs) {
                Some(who) if by.contains(&who) => count += 1,
                other => panic!("{what} of {kernel} at {at:#x}: caught by {other:?}"),
            }
        }
    }
    assert!(count > 0, "{what}: nothing was broken");
}

/// The bytes of a changed instruction if it is as long as the old one.
fn encode(old: &Instruction, new: &Instruction) -> Option<Vec<u8>> {
    let mut encoder = Encoder::new(64);
    let len = encoder.encode(new, old.ip()).ok()?;
    (len == old.len()).then(|| encoder.take_buffer())
}

fn start(inst: &Instruction) -> usize {
    inst.ip() as usize
}

#[test]
fn an_instruction_left_at_four_lanes() {
    let narrow = |code: &[u8], all: &[Instruction]| {
        let wide = |i: &&Instruction| (0..i.op_count()).any(|n| i.op_register(n).is_ymm());
        all.iter()
            .filter(wide)
            .map(|i| {
                // VEX.L is in the second byte after C5, in the third after C4.
                let at = start(i) + if code[start(i)] == 0xc5 { 1 } else { 2 };
                (at, vec![code[at] & !4])
            })
            .collect()
    };
    all_caught("L = 0", narrow, &[Caught::Audit]);
}

#[test]
fn a_dropped_vzeroupper() {
    let drop = |_: &[u8], all: &[Instruction]| {
        let found = all.iter().filter(|i| i.code() == Code::VEX_Vzeroupper);
        found.map(|i| (start(i), vec![0x0f, 0x1f, 0x00])).collect()
    };
    all_caught("no vzeroupper", drop, &[Caught::Audit]);
}

#[test]
fn a_constant_in_one_half_only() {
    let constants = |all: &[Instruction]| -> Vec<usize> {
        let found = all.iter().filter(|i| i.is_ip_rel_memory_operand());
        found.map(|i| i.ip_rel_memory_address() as usize).collect()
    };
    let empty = |code: &[u8], all: &[Instruction]| {
        let used = constants(all).into_iter();
        used.map(|at| (at + 16, code[at + 16..at + 32].iter().map(|b| b ^ 0x55).collect()))
            .collect()
    };
    all_caught("half a constant", empty, &[Caught::Audit]);
    // The upper half of one and the lower half of the next.
    let shifted = |code: &[u8], all: &[Instruction]| {
        let found = all.iter().filter(|i| i.is_ip_rel_memory_operand());
        found
            .filter_map(|i| {
                let displacement = (i.ip_rel_memory_address() - i.next_ip()) as u32;
                let bytes = &code[start(i)..start(i) + i.len()];
                let at = bytes.windows(4).rposition(|w| w == displacement.to_le_bytes())?;
                Some((start(i) + at, (displacement + 16).to_le_bytes().to_vec()))
            })
            .collect()
    };
    all_caught("the wrong half of a constant", shifted, &[Caught::Audit]);
}

#[test]
fn a_frame_that_does_not_double() {
    let size = |_: &[u8], all: &[Instruction]| {
        let found = all.iter().filter(|i| i.code() == Code::Sub_rm64_imm32);
        found
            .map(|i| (start(i) + 3, (i.immediate32() / 2 - 16).to_le_bytes().to_vec()))
            .collect()
    };
    all_caught("the frame's size", size, &[Caught::Audit]);
    let alignment = |_: &[u8], all: &[Instruction]| {
        let found = all.iter().filter(|i| i.code() == Code::And_rm64_imm8);
        found.map(|i| (start(i), vec![0x0f, 0x1f, 0x40, 0x00])).collect()
    };
    all_caught("the frame's alignment", alignment, &[Caught::Audit]);
    let end = |_: &[u8], all: &[Instruction]| {
        let framed = all.iter().any(|i| i.code() == Code::Sub_rm64_imm32);
        let drops = |i: &Instruction| {
            i.op_count() == 2 && i.op0_kind() == OpKind::Register && i.op0_register() == Register::RSP
        };
        // The pass' own and Cranelift's, which follow each other; one would do.
        let found = all.windows(2).filter(|w| framed && drops(&w[0]) && drops(&w[1]));
        let found = found.filter(|w| w[0].code() == w[1].code());
        found
            .map(|w| (start(&w[0]), vec![0x0f, 0x1f, 0x00, 0x0f, 0x1f, 0x00]))
            .collect()
    };
    all_caught("the frame's end", end, &[Caught::Audit]);
}

#[test]
fn a_spill_in_the_wrong_place() {
    let moved = |by: fn(u64) -> u64| {
        move |_: &[u8], all: &[Instruction]| -> Vec<(usize, Vec<u8>)> {
            // Loads: a value may be stored to its slot twice, so that one store could go anywhere.
            let spills = all.iter().filter(|i| {
                i.memory_base() == Register::RSP
                    && i.op0_kind() != OpKind::Memory
                    && i.memory_displacement64() >= 32
                    && (0..i.op_count()).any(|n| i.op_kind(n) == OpKind::Memory)
                    && (0..i.op_count()).any(|n| i.op_register(n).is_ymm())
            });
            spills
                .filter_map(|i| {
                    let mut new = *i;
                    new.set_memory_displacement64(by(i.memory_displacement64()));
                    Some((start(i), encode(i, &new)?))
                })
                .collect()
        }
    };
    let any = [Caught::Audit, Caught::Results];
    all_caught("a slot's displacement, not doubled", moved(|d| d / 2), &any);
    all_caught("a slot's displacement, one too low", moved(|d| d - 32), &any);
    all_caught(
        "a slot's displacement, half a slot off",
        moved(|d| d + 16),
        &[Caught::Audit],
    );
}

#[test]
fn a_wrong_immediate() {
    // Of shuffles and comparisons; of those whose lanes the kernels tell apart.
    let immediate = |code: &[u8], all: &[Instruction]| {
        let found = all.iter().filter(|i| {
            matches!(
                i.code(),
                Code::VEX_Vpshufd_ymm_ymmm256_imm8
                    | Code::VEX_Vcmpps_ymm_ymm_ymmm256_imm8
                    | Code::VEX_Vroundps_ymm_ymmm256_imm8
                    | Code::VEX_Vpsrld_ymm_ymm_imm8
            )
        });
        found
            .map(|i| {
                let at = start(i) + i.len() - 1;
                (at, vec![code[at] ^ 1])
            })
            .collect()
    };
    all_caught("an immediate", immediate, &[Caught::Audit, Caught::Results]);
}

#[test]
fn a_branch_to_the_wrong_place() {
    let target = |_: &[u8], all: &[Instruction]| {
        let found = all
            .iter()
            .filter(|i| i.is_jmp_short_or_near() || i.is_jcc_short_or_near());
        found
            .map(|i| {
                let relative = i.near_branch_target().wrapping_sub(i.next_ip()) as u32;
                (start(i) + i.len() - 4, relative.wrapping_add(1).to_le_bytes().to_vec())
            })
            .collect()
    };
    all_caught("a branch", target, &[Caught::Audit]);
}

/// Narrow code through the pass with changed forms, its check of halves included only if asked for.
fn with_forms(narrow: &[u8], check: bool, change: impl Fn(&mut Step)) -> Result<Vec<u8>, Declined> {
    let mut steps = decode(narrow)?;
    steps.iter_mut().for_each(change);
    if check {
        flow::check(&steps)?;
    }
    Ok(rewrite::rewrite(narrow, &steps)?.code)
}

/// The table of forms, one row wrong at a time: an operation taken for one that needs nothing.
#[test]
fn a_wrong_row_in_the_table() {
    let Some(isa) = isa() else { return };
    let mut rows = 0;
    for (kernel, outputs, body) in KERNELS {
        let narrow = compile(&isa, &body);
        let steps = decode(&narrow).expect("decodes");
        let mut codes: Vec<Code> = steps
            .iter()
            .filter(|s| s.form.is_some())
            .map(|s| s.inst.code())
            .collect();
        codes.sort_by_key(|&c| c as usize);
        codes.dedup();
        for code in codes {
            for wrong in [None, Some(Form::ScalarUse), Some(Form::ScalarDefine)] {
                let form = steps.iter().find(|s| s.inst.code() == code).and_then(|s| s.form);
                if matches!(form, Some(Form::ScalarDefine | Form::ScalarUse)) {
                    continue;
                }
                let change = |step: &mut Step| {
                    if step.inst.code() == code {
                        step.form = wrong;
                    }
                };
                rows += 1;
                // With the check it may be declined, which is as good; without it, it must be found.
                for check in [true, false] {
                    let Ok(wide) = with_forms(&narrow, check, change) else {
                        continue;
                    };
                    let who = caught(&narrow, &wide, outputs);
                    assert!(who.is_some(), "{code:?} of {kernel} as {wrong:?}, check {check}");
                }
            }
        }
    }
    assert!(rows > 60, "{rows} rows");
}

/// A value of one quad only: the pass declines; without its check the results would tell.
#[test]
fn a_skipped_check_of_halves() {
    use cranelift_codegen::ir::{InstBuilder, types};
    let Some(isa) = isa() else { return };
    let narrow = compile(&isa, &|k| {
        let scalar = k.b.ins().load(types::F32, super::FLAGS, k.scratch, 0);
        let v = k.b.ins().scalar_to_vector(types::F32X4, scalar);
        vec![k.b.ins().fadd(v, v)]
    });
    assert!(matches!(widen(&narrow), Err(Declined::HalfValue { .. })));
    let wide = with_forms(&narrow, false, |_| ()).expect("the rest of the pass takes it");
    assert_eq!(caught(&narrow, &wide, 1), Some(Caught::Results));
}

/// A blend whose immediate has a bit for each lane: the upper quad's bits are added. Cranelift emits none, so the code
/// is put together here.
#[test]
fn a_blend_without_bits_for_the_upper_quad() {
    if isa().is_none() {
        return;
    }
    for (register, memory) in [
        (Code::VEX_Vblendps_xmm_xmm_xmmm128_imm8, Code::VEX_Vmovups_xmm_xmmm128),
        (Code::VEX_Vpblendd_xmm_xmm_xmmm128_imm8, Code::VEX_Vmovdqu_xmm_xmmm128),
    ] {
        let cell = |base, n: i64| iced_x86::MemoryOperand::with_base_displ(base, 32 * n);
        let program = [
            Instruction::with2(memory, Register::XMM1, cell(Register::RDI, 0)),
            Instruction::with2(memory, Register::XMM2, cell(Register::RDI, 1)),
            Instruction::with4(register, Register::XMM1, Register::XMM1, Register::XMM2, 0b0110),
            Instruction::with2(Code::VEX_Vmovups_xmmm128_xmm, cell(Register::RSI, 0), Register::XMM1),
        ];
        let mut encoder = Encoder::new(64);
        for inst in program {
            encoder.encode(&inst.expect("a form"), 0).expect("encodes");
        }
        encoder.encode(&Instruction::with(Code::Retnq), 0).expect("encodes");
        let narrow = encoder.take_buffer();
        let wide = widen(&narrow).expect("in the table").code;
        assert_eq!(caught(&narrow, &wide, 1), None, "{register:?}");
        let without = with_forms(&narrow, true, |step| {
            if step.form == Some(Form::Blend) {
                step.form = Some(Form::Lane);
            }
        })
        .expect("widens");
        assert_eq!(caught(&narrow, &without, 1), Some(Caught::Results), "{register:?}");
    }
}
