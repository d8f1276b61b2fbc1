//! Writes the widened bytes: VEX.L, stack displacements, frame, constants, branches, `vzeroupper`.

use super::forms::Form;
use super::{Declined, Step, Widened};
use iced_x86::{Code, Encoder, FlowControl, Instruction, OpKind, Register};

/// Frames above this stay at four lanes (stack probes are off).
const MAX_FRAME: u64 = 128 * 1024;
const VZEROUPPER: [u8; 3] = [0xc5, 0xf8, 0x77];
/// `and rsp, -32`
const ALIGN_FRAME: [u8; 4] = [0x48, 0x83, 0xe4, 0xe0];
/// `mov rsp, rbp`
const DROP_FRAME: [u8; 3] = [0x48, 0x89, 0xec];

/// A displacement to fill in once all places are known.
struct Fixup {
    /// Where the 4 bytes are in the new code.
    at: usize,
    /// What they are relative to.
    next: usize,
    target: Target,
}

enum Target {
    /// Old offset of an instruction.
    Code(u64),
    /// Index into the new constants.
    Constant(usize),
}

pub(super) fn rewrite(code: &[u8], steps: &[Step]) -> Result<Widened, Declined> {
    let mut r = Rewriter {
        code,
        out: Vec::with_capacity(code.len() + code.len() / 4),
        offsets: Vec::with_capacity(steps.len()),
        fixups: Vec::new(),
        constants: Vec::new(),
        encoder: Encoder::new(64),
    };
    for step in steps {
        r.offsets.push((step.offset(), r.out.len() as u32));
        r.step(step)?;
    }
    r.finish()
}

struct Rewriter<'a> {
    code: &'a [u8],
    out: Vec<u8>,
    offsets: Vec<(u32, u32)>,
    fixups: Vec<Fixup>,
    /// Old offsets of the constants in use.
    constants: Vec<u64>,
    encoder: Encoder,
}

impl Rewriter<'_> {
    fn step(&mut self, step: &Step) -> Result<(), Declined> {
        let inst = &step.inst;
        match inst.flow_control() {
            FlowControl::ConditionalBranch => return self.branch(step),
            FlowControl::UnconditionalBranch => return self.branch(step),
            FlowControl::Return | FlowControl::Call | FlowControl::IndirectCall => {
                self.out.extend(VZEROUPPER);
                if let Some(last) = self.offsets.last_mut() {
                    last.1 = self.out.len() as u32;
                }
                return self.copy(step);
            }
            _ => {}
        }
        if let Some(handled) = self.frame(step)? {
            self.out.extend_from_slice(handled.as_slice());
            return Ok(());
        }
        match step.form {
            Some(Form::LegacyMove(new)) => self.encode(step, |i| {
                i.set_code(new);
                widen_registers(i);
            }),
            Some(Form::LegacyIdiom(new)) => {
                let r = to_ymm(inst.op0_register());
                let i = Instruction::with3(new, r, r, r).map_err(|_| undecodable(step))?;
                self.encode_as(step, i)
            }
            // The register form of movss keeps the other lanes.
            Some(Form::LegacyDefine(Code::VEX_Vmovss_xmm_m32) | Form::LegacyUse(Code::VEX_Vmovss_m32_xmm))
                if inst.op0_kind() == OpKind::Register && inst.op1_kind() == OpKind::Register =>
            {
                let (to, from) = (inst.op0_register(), inst.op1_register());
                let i =
                    Instruction::with3(Code::VEX_Vmovss_xmm_xmm_xmm, to, to, from).map_err(|_| undecodable(step))?;
                self.encode_as(step, i)
            }
            Some(Form::LegacyDefine(new) | Form::LegacyUse(new)) => self.encode(step, |i| i.set_code(new)),
            Some(
                Form::Lane | Form::Blend | Form::Accumulate | Form::Shift | Form::Move | Form::Broadcast | Form::Test,
            ) => {
                if step.is_stack() && inst.memory_displacement64() != 0 {
                    self.displace(step, true)
                } else {
                    let start = self.out.len();
                    self.copy(step)?;
                    set_l(&mut self.out[start..]);
                    if step.form == Some(Form::Blend)
                        && let Some(immediate) = self.out.last_mut()
                    {
                        *immediate = both_quads(*immediate);
                    }
                    Ok(())
                }
            }
            Some(Form::ScalarDefine | Form::ScalarUse) | None => {
                if step.is_stack() {
                    self.displace(step, false)
                } else {
                    self.copy(step)
                }
            }
        }
    }

    /// The frame's own instructions: `sub rsp, N` and `add rsp, N`.
    fn frame(&mut self, step: &Step) -> Result<Option<Vec<u8>>, Declined> {
        let inst = &step.inst;
        let decline = |what| {
            Err(Declined::Frame {
                offset: step.offset(),
                what,
            })
        };
        let touches_rsp = inst.op0_kind() == OpKind::Register && inst.op0_register() == Register::RSP;
        match inst.code() {
            Code::Sub_rm64_imm8 | Code::Sub_rm64_imm32 if touches_rsp => {
                let size = inst.immediate(1);
                if size > MAX_FRAME {
                    return decline("a large frame");
                }
                let mut bytes = vec![0x48, 0x81, 0xec];
                bytes.extend((2 * size as u32 + 32).to_le_bytes());
                bytes.extend(ALIGN_FRAME);
                Ok(Some(bytes))
            }
            Code::Add_rm64_imm8 | Code::Add_rm64_imm32 if touches_rsp => Ok(Some(DROP_FRAME.to_vec())),
            Code::Push_r64 | Code::Pop_r64 => Ok(None),
            Code::Mov_r64_rm64 | Code::Mov_rm64_r64
                if inst.op0_register() == Register::RBP && inst.op1_register() == Register::RSP =>
            {
                Ok(None)
            }
            Code::Mov_r64_rm64 | Code::Mov_rm64_r64
                if touches_rsp && inst.op1_kind() == OpKind::Register && inst.op1_register() == Register::RBP =>
            {
                Ok(None)
            }
            _ => {
                let names_rsp = (0..inst.op_count())
                    .any(|n| inst.op_kind(n) == OpKind::Register && inst.op_register(n) == Register::RSP);
                if names_rsp {
                    return decline("rsp used as a value");
                }
                if step.is_stack() && (inst.memory_index() != Register::None || inst.code() == Code::Lea_r64_m) {
                    return decline("an address in the frame");
                }
                Ok(None)
            }
        }
    }

    /// Copies the bytes; a rip-relative displacement is pointed at the widened constants.
    fn copy(&mut self, step: &Step) -> Result<(), Declined> {
        let start = self.out.len();
        let old = step.inst.ip() as usize;
        self.out.extend_from_slice(&self.code[old..old + step.inst.len()]);
        if step.inst.is_ip_rel_memory_operand() {
            let at = self.displacement_offset(step)?;
            let constant = self.constant(step.inst.ip_rel_memory_address());
            self.fixups.push(Fixup {
                at: start + at,
                next: start + step.inst.len(),
                target: Target::Constant(constant),
            });
        }
        Ok(())
    }

    fn constant(&mut self, old: u64) -> usize {
        match self.constants.iter().position(|&c| c == old) {
            Some(i) => i,
            None => {
                self.constants.push(old);
                self.constants.len() - 1
            }
        }
    }

    /// Where the 4-byte displacement stands in the instruction: before the immediate, if any.
    fn displacement_offset(&self, step: &Step) -> Result<usize, Declined> {
        let len = step.inst.len();
        let immediate = usize::from(matches!(
            step.inst.op_kind(step.inst.op_count() - 1),
            OpKind::Immediate8 | OpKind::Immediate8to16 | OpKind::Immediate8to32 | OpKind::Immediate8to64
        ));
        // The fourth register of a VEX blend is encoded in an immediate byte too.
        let is4 = usize::from(step.inst.op_count() == 4 && step.inst.op_kind(3) == OpKind::Register);
        let wide = match step.inst.op_kind(step.inst.op_count() - 1) {
            OpKind::Immediate32 | OpKind::Immediate32to64 => 4,
            OpKind::Immediate16 => 2,
            _ => 0,
        };
        (len)
            .checked_sub(4 + immediate + is4 + wide)
            .ok_or_else(|| undecodable(step))
    }

    /// A stack access: the displacement doubles, and so does the width if `widen`.
    fn displace(&mut self, step: &Step, widen: bool) -> Result<(), Declined> {
        self.encode(step, |i| {
            if widen {
                widen_code(i);
                widen_registers(i);
                if step.form == Some(Form::Blend) {
                    i.set_immediate8(both_quads(i.immediate8()));
                }
            }
        })
    }

    fn encode(&mut self, step: &Step, change: impl FnOnce(&mut Instruction)) -> Result<(), Declined> {
        let mut i = step.inst;
        change(&mut i);
        if step.is_stack() {
            let doubled = (step.inst.memory_displacement64() as i64) * 2;
            i.set_memory_displacement64(doubled as u64);
            let size = if doubled == 0 {
                0
            } else if i8::try_from(doubled).is_ok() {
                1
            } else {
                8
            };
            i.set_memory_displ_size(size);
        }
        self.encode_as(step, i)
    }

    fn encode_as(&mut self, step: &Step, i: Instruction) -> Result<(), Declined> {
        if i.is_ip_rel_memory_operand() {
            return Err(Declined::Instruction {
                offset: step.offset(),
                code: format!("{:?} rip", step.inst.code()),
            });
        }
        self.encoder.encode(&i, 0).map_err(|_| Declined::Instruction {
            offset: step.offset(),
            code: format!("{:?}", i.code()),
        })?;
        let mut buffer = self.encoder.take_buffer();
        self.out.extend_from_slice(&buffer);
        buffer.clear();
        self.encoder.set_buffer(buffer);
        Ok(())
    }

    /// Branches become 32-bit: jumps may have grown apart.
    fn branch(&mut self, step: &Step) -> Result<(), Declined> {
        let inst = &step.inst;
        if inst.is_jmp_short_or_near() {
            self.out.push(0xe9);
        } else if inst.is_jcc_short_or_near() {
            self.out
                .extend([0x0f, 0x80 | condition(inst).ok_or_else(|| undecodable(step))?]);
        } else {
            return Err(Declined::Instruction {
                offset: step.offset(),
                code: format!("{:?}", inst.code()),
            });
        }
        let at = self.out.len();
        self.out.extend([0; 4]);
        self.fixups.push(Fixup {
            at,
            next: at + 4,
            target: Target::Code(inst.near_branch_target()),
        });
        Ok(())
    }

    fn finish(mut self) -> Result<Widened, Declined> {
        while !self.out.len().is_multiple_of(32) {
            self.out.push(0xcc);
        }
        let base = self.out.len();
        for &old in &self.constants {
            let old = old as usize;
            let half: Vec<u8> = (old..old + 16)
                .map(|i| self.code.get(i).copied().unwrap_or(0))
                .collect();
            self.out.extend_from_slice(&half);
            self.out.extend_from_slice(&half);
        }
        for fixup in &self.fixups {
            let target = match fixup.target {
                Target::Constant(i) => base + 32 * i,
                Target::Code(old) => {
                    let at = self
                        .offsets
                        .binary_search_by_key(&(old as u32), |&(o, _)| o)
                        .map_err(|_| Declined::Undecodable { offset: old as u32 })?;
                    self.branch_target(at)
                }
            };
            let relative = (target as i64 - fixup.next as i64) as i32;
            self.out[fixup.at..fixup.at + 4].copy_from_slice(&relative.to_le_bytes());
        }
        Ok(Widened {
            code: self.out,
            offsets: self.offsets,
        })
    }

    /// Where a branch to instruction `at` lands: before the `vzeroupper` that goes with a call or return.
    fn branch_target(&self, at: usize) -> usize {
        let new = self.offsets[at].1 as usize;
        if new >= 3 && self.out[new - 3..new] == VZEROUPPER {
            new - 3
        } else {
            new
        }
    }
}

fn undecodable(step: &Step) -> Declined {
    Declined::Undecodable { offset: step.offset() }
}

/// Sets VEX.L in an instruction that starts with its VEX prefix (2-byte C5, 3-byte C4).
fn set_l(bytes: &mut [u8]) {
    match bytes[0] {
        0xc5 => bytes[1] |= 4,
        0xc4 => bytes[2] |= 4,
        _ => {}
    }
}

/// Four lanes' bits, for eight.
fn both_quads(bits: u8) -> u8 {
    bits & 15 | bits << 4
}

fn to_ymm(r: Register) -> Register {
    if r.is_xmm() {
        Register::YMM0 + (r.number() as u32)
    } else {
        r
    }
}

fn widen_registers(i: &mut Instruction) {
    let scalar_source =
        i.mnemonic() == iced_x86::Mnemonic::Vbroadcastss || i.mnemonic() == iced_x86::Mnemonic::Vpbroadcastd;
    for n in 0..i.op_count() {
        if i.op_kind(n) == OpKind::Register && !(scalar_source && n > 0) {
            let r = to_ymm(i.op_register(n));
            i.set_op_register(n, r);
        }
    }
}

/// The VEX.256 twin of a VEX.128 form: iced lists it right after its twin.
fn widen_code(i: &mut Instruction) {
    let code = i.code();
    if let Ok(next) = Code::try_from(code as usize + 1) {
        i.set_code(next);
    }
}

/// The condition code bits of a conditional jump.
fn condition(inst: &Instruction) -> Option<u8> {
    use iced_x86::ConditionCode as C;
    Some(match inst.condition_code() {
        C::o => 0,
        C::no => 1,
        C::b => 2,
        C::ae => 3,
        C::e => 4,
        C::ne => 5,
        C::be => 6,
        C::a => 7,
        C::s => 8,
        C::ns => 9,
        C::p => 10,
        C::np => 11,
        C::l => 12,
        C::ge => 13,
        C::le => 14,
        C::g => 15,
        C::None => return None,
    })
}
