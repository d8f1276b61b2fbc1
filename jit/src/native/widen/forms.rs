//! The table of instructions the widener knows, and what each means for the upper quad.
//!
//! "Lane" forms compute each 128-bit half by itself with AVX2's VEX.L = 1, so the very bytes serve once the bit is set.
//! Whatever isn't listed makes the widener decline: an unknown instruction is never guessed at.

use iced_x86::Code;

/// What an instruction does with vector registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Per-lane or per-half computation: operand 0 from the others; set VEX.L.
    Lane,
    /// As `Lane`, with a bit of the immediate for each of four lanes: they are repeated for the upper quad.
    Blend,
    /// As `Lane`, operand 0 is also a source (fused multiply-add).
    Accumulate,
    /// Shift of operand 1 by a count in the low half of operand 2, whatever the width; set VEX.L.
    Shift,
    /// Whole-register load, store or move in VEX form; set VEX.L.
    Move,
    /// A legacy SSE whole-register load, store or move: becomes this VEX.256 form.
    LegacyMove(Code),
    /// A legacy SSE two-operand bit operation of a register with itself: becomes this three-operand VEX.256 form.
    LegacyIdiom(Code),
    /// Lane 0 of operand 1 into all lanes; set VEX.L.
    Broadcast,
    /// Mask test of both operands into flags; set VEX.L.
    Test,
    /// Scalar result in the lowest lane of operand 0; left as it is.
    ScalarDefine,
    /// Reads the lowest lane only, into memory, flags or a general register; left as it is.
    ScalarUse,
    /// `ScalarDefine` in a legacy SSE form: becomes this VEX form, so that nothing mixes SSE and AVX.
    LegacyDefine(Code),
    /// `ScalarUse` in a legacy SSE form: becomes this VEX form.
    LegacyUse(Code),
}

/// The form of an instruction that touches vector registers, or `None` to decline.
pub(super) fn form(code: Code) -> Option<Form> {
    use Code::*;
    Some(match code {
        VEX_Vaddps_xmm_xmm_xmmm128
        | VEX_Vsubps_xmm_xmm_xmmm128
        | VEX_Vmulps_xmm_xmm_xmmm128
        | VEX_Vdivps_xmm_xmm_xmmm128
        | VEX_Vminps_xmm_xmm_xmmm128
        | VEX_Vmaxps_xmm_xmm_xmmm128
        | VEX_Vandps_xmm_xmm_xmmm128
        | VEX_Vandnps_xmm_xmm_xmmm128
        | VEX_Vorps_xmm_xmm_xmmm128
        | VEX_Vxorps_xmm_xmm_xmmm128
        | VEX_Vandpd_xmm_xmm_xmmm128
        | VEX_Vandnpd_xmm_xmm_xmmm128
        | VEX_Vorpd_xmm_xmm_xmmm128
        | VEX_Vxorpd_xmm_xmm_xmmm128
        | VEX_Vcmpps_xmm_xmm_xmmm128_imm8
        | VEX_Vsqrtps_xmm_xmmm128
        | VEX_Vroundps_xmm_xmmm128_imm8
        | VEX_Vblendvps_xmm_xmm_xmmm128_xmm
        | VEX_Vpblendvb_xmm_xmm_xmmm128_xmm
        | VEX_Vpblendw_xmm_xmm_xmmm128_imm8
        | VEX_Vshufps_xmm_xmm_xmmm128_imm8
        | VEX_Vpshufd_xmm_xmmm128_imm8
        | VEX_Vpshuflw_xmm_xmmm128_imm8
        | VEX_Vpshufhw_xmm_xmmm128_imm8
        | VEX_Vpshufb_xmm_xmm_xmmm128
        | VEX_Vunpcklps_xmm_xmm_xmmm128
        | VEX_Vunpckhps_xmm_xmm_xmmm128
        | VEX_Vpunpckldq_xmm_xmm_xmmm128
        | VEX_Vpunpckhdq_xmm_xmm_xmmm128
        | VEX_Vpunpcklqdq_xmm_xmm_xmmm128
        | VEX_Vpunpckhqdq_xmm_xmm_xmmm128
        | VEX_Vpaddd_xmm_xmm_xmmm128
        | VEX_Vpsubd_xmm_xmm_xmmm128
        | VEX_Vpaddq_xmm_xmm_xmmm128
        | VEX_Vpsubq_xmm_xmm_xmmm128
        | VEX_Vpmulld_xmm_xmm_xmmm128
        | VEX_Vpmuludq_xmm_xmm_xmmm128
        | VEX_Vpmuldq_xmm_xmm_xmmm128
        | VEX_Vpand_xmm_xmm_xmmm128
        | VEX_Vpandn_xmm_xmm_xmmm128
        | VEX_Vpor_xmm_xmm_xmmm128
        | VEX_Vpxor_xmm_xmm_xmmm128
        | VEX_Vpcmpeqb_xmm_xmm_xmmm128
        | VEX_Vpcmpeqw_xmm_xmm_xmmm128
        | VEX_Vpcmpeqd_xmm_xmm_xmmm128
        | VEX_Vpcmpeqq_xmm_xmm_xmmm128
        | VEX_Vpcmpgtd_xmm_xmm_xmmm128
        | VEX_Vpminsd_xmm_xmm_xmmm128
        | VEX_Vpmaxsd_xmm_xmm_xmmm128
        | VEX_Vpminud_xmm_xmm_xmmm128
        | VEX_Vpmaxud_xmm_xmm_xmmm128
        | VEX_Vpabsd_xmm_xmmm128
        | VEX_Vpslld_xmm_xmm_imm8
        | VEX_Vpsrld_xmm_xmm_imm8
        | VEX_Vpsrad_xmm_xmm_imm8
        | VEX_Vpsllq_xmm_xmm_imm8
        | VEX_Vpsrlq_xmm_xmm_imm8
        | VEX_Vcvtdq2ps_xmm_xmmm128
        | VEX_Vcvttps2dq_xmm_xmmm128
        | VEX_Vcvtps2dq_xmm_xmmm128 => Form::Lane,
        VEX_Vblendps_xmm_xmm_xmmm128_imm8 | VEX_Vpblendd_xmm_xmm_xmmm128_imm8 => Form::Blend,
        VEX_Vfmadd132ps_xmm_xmm_xmmm128
        | VEX_Vfmadd213ps_xmm_xmm_xmmm128
        | VEX_Vfmadd231ps_xmm_xmm_xmmm128
        | VEX_Vfmsub132ps_xmm_xmm_xmmm128
        | VEX_Vfmsub213ps_xmm_xmm_xmmm128
        | VEX_Vfmsub231ps_xmm_xmm_xmmm128
        | VEX_Vfnmadd132ps_xmm_xmm_xmmm128
        | VEX_Vfnmadd213ps_xmm_xmm_xmmm128
        | VEX_Vfnmadd231ps_xmm_xmm_xmmm128
        | VEX_Vfnmsub132ps_xmm_xmm_xmmm128
        | VEX_Vfnmsub213ps_xmm_xmm_xmmm128
        | VEX_Vfnmsub231ps_xmm_xmm_xmmm128 => Form::Accumulate,
        VEX_Vpslld_xmm_xmm_xmmm128 | VEX_Vpsrld_xmm_xmm_xmmm128 | VEX_Vpsrad_xmm_xmm_xmmm128 => Form::Shift,
        VEX_Vmovups_xmm_xmmm128
        | VEX_Vmovups_xmmm128_xmm
        | VEX_Vmovaps_xmm_xmmm128
        | VEX_Vmovaps_xmmm128_xmm
        | VEX_Vmovupd_xmm_xmmm128
        | VEX_Vmovupd_xmmm128_xmm
        | VEX_Vmovapd_xmm_xmmm128
        | VEX_Vmovapd_xmmm128_xmm
        | VEX_Vmovdqu_xmm_xmmm128
        | VEX_Vmovdqu_xmmm128_xmm
        | VEX_Vmovdqa_xmm_xmmm128
        | VEX_Vmovdqa_xmmm128_xmm => Form::Move,
        Movups_xmm_xmmm128 | Movaps_xmm_xmmm128 | Movupd_xmm_xmmm128 | Movapd_xmm_xmmm128 => {
            Form::LegacyMove(VEX_Vmovups_ymm_ymmm256)
        }
        Movups_xmmm128_xmm | Movaps_xmmm128_xmm | Movupd_xmmm128_xmm | Movapd_xmmm128_xmm => {
            Form::LegacyMove(VEX_Vmovups_ymmm256_ymm)
        }
        Movdqu_xmm_xmmm128 | Movdqa_xmm_xmmm128 => Form::LegacyMove(VEX_Vmovdqu_ymm_ymmm256),
        Movdqu_xmmm128_xmm | Movdqa_xmmm128_xmm => Form::LegacyMove(VEX_Vmovdqu_ymmm256_ymm),
        Pxor_xmm_xmmm128 | Xorps_xmm_xmmm128 | Xorpd_xmm_xmmm128 => Form::LegacyIdiom(VEX_Vpxor_ymm_ymm_ymmm256),
        Pcmpeqd_xmm_xmmm128 | Pcmpeqb_xmm_xmmm128 => Form::LegacyIdiom(VEX_Vpcmpeqd_ymm_ymm_ymmm256),
        VEX_Vbroadcastss_xmm_xmm | VEX_Vbroadcastss_xmm_m32 | VEX_Vpbroadcastd_xmm_xmmm32 => Form::Broadcast,
        // Eight sign bits for four: right wherever the bits are counted, which is all that emitted code does.
        VEX_Vptest_xmm_xmmm128 | VEX_Vmovmskps_r32_xmm => Form::Test,
        VEX_Vmovss_xmm_m32
        | VEX_Vmovss_xmm_xmm_xmm
        | VEX_Vmovsd_xmm_m64
        | VEX_Vmovd_xmm_rm32
        | VEX_Vmovq_xmm_rm64
        | VEX_Vaddss_xmm_xmm_xmmm32
        | VEX_Vsubss_xmm_xmm_xmmm32
        | VEX_Vmulss_xmm_xmm_xmmm32
        | VEX_Vdivss_xmm_xmm_xmmm32
        | VEX_Vminss_xmm_xmm_xmmm32
        | VEX_Vmaxss_xmm_xmm_xmmm32
        | VEX_Vsqrtss_xmm_xmm_xmmm32
        | VEX_Vroundss_xmm_xmm_xmmm32_imm8
        | VEX_Vcmpss_xmm_xmm_xmmm32_imm8
        | VEX_Vcvtsi2ss_xmm_xmm_rm32
        | VEX_Vcvtsi2ss_xmm_xmm_rm64
        | VEX_Vcvtsi2sd_xmm_xmm_rm32
        | VEX_Vcvtsi2sd_xmm_xmm_rm64
        | VEX_Vcvtss2sd_xmm_xmm_xmmm32
        | VEX_Vcvtsd2ss_xmm_xmm_xmmm64
        | VEX_Vfmadd132ss_xmm_xmm_xmmm32
        | VEX_Vfmadd213ss_xmm_xmm_xmmm32
        | VEX_Vfmadd231ss_xmm_xmm_xmmm32
        | VEX_Vfmsub132ss_xmm_xmm_xmmm32
        | VEX_Vfmsub213ss_xmm_xmm_xmmm32
        | VEX_Vfmsub231ss_xmm_xmm_xmmm32
        | VEX_Vfnmadd132ss_xmm_xmm_xmmm32
        | VEX_Vfnmadd213ss_xmm_xmm_xmmm32
        | VEX_Vfnmadd231ss_xmm_xmm_xmmm32
        | VEX_Vfnmsub132ss_xmm_xmm_xmmm32
        | VEX_Vfnmsub213ss_xmm_xmm_xmmm32
        | VEX_Vfnmsub231ss_xmm_xmm_xmmm32 => Form::ScalarDefine,
        Movss_xmm_xmmm32 => Form::LegacyDefine(VEX_Vmovss_xmm_m32),
        Movd_xmm_rm32 => Form::LegacyDefine(VEX_Vmovd_xmm_rm32),
        Movss_xmmm32_xmm => Form::LegacyUse(VEX_Vmovss_m32_xmm),
        Movd_rm32_xmm => Form::LegacyUse(VEX_Vmovd_rm32_xmm),
        Ucomiss_xmm_xmmm32 => Form::LegacyUse(VEX_Vucomiss_xmm_xmmm32),
        Cvttss2si_r32_xmmm32 => Form::LegacyUse(VEX_Vcvttss2si_r32_xmmm32),
        Cvttss2si_r64_xmmm32 => Form::LegacyUse(VEX_Vcvttss2si_r64_xmmm32),
        VEX_Vmovss_m32_xmm
        | VEX_Vmovsd_m64_xmm
        | VEX_Vmovd_rm32_xmm
        | VEX_Vmovq_rm64_xmm
        | VEX_Vucomiss_xmm_xmmm32
        | VEX_Vcvttss2si_r32_xmmm32
        | VEX_Vcvttss2si_r64_xmmm32 => Form::ScalarUse,
        _ => return None,
    })
}
