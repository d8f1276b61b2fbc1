//! Kernels through stock Cranelift, run as they are (two steps of four lanes) and widened (one step of eight): the
//! same bits, or a decline with the expected reason.

mod breakages;
mod operations;

use super::{Declined, audit, widen};
use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{AbiParam, InstBuilder, MemFlagsData, Signature, Value, types};
use cranelift_codegen::isa::{CallConv, OwnedTargetIsa};
use cranelift_codegen::settings::{self, Configurable};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{Linkage, Module, default_libcall_names};

type Kernel = unsafe extern "C" fn(*const u32, *mut u32, *mut u32, usize);

const INPUTS: usize = 24;

fn isa() -> Option<OwnedTargetIsa> {
    if !std::arch::is_x86_feature_detected!("avx2") || !std::arch::is_x86_feature_detected!("fma") {
        return None;
    }
    let mut flags = settings::builder();
    for (name, value) in [
        ("opt_level", "speed"),
        ("enable_probestack", "false"),
        ("preserve_frame_pointers", "true"),
        ("enable_verifier", "true"),
    ] {
        flags.set(name, value).expect("a known flag");
    }
    let mut isa = cranelift_codegen::isa::lookup_by_name("x86_64").expect("x86-64 is built in");
    for flag in [
        "has_sse3",
        "has_ssse3",
        "has_sse41",
        "has_sse42",
        "has_avx",
        "has_avx2",
        "has_fma",
        "has_popcnt",
    ] {
        isa.enable(flag).expect("a known flag");
    }
    Some(isa.finish(settings::Flags::new(flags)).expect("a complete isa"))
}

/// What a kernel's body gets: the builder, input vectors, the scratch and callback pointers.
struct Body<'a, 'b> {
    b: &'a mut FunctionBuilder<'b>,
    inputs: Vec<Value>,
    scratch: Value,
    callback: Value,
    input: Value,
    output: Value,
}

const FLAGS: MemFlagsData = MemFlagsData::trusted();

/// `fn(in, out, scratch, callback)`: loads INPUTS cells (32-byte stride), stores the body's results.
fn compile(isa: &OwnedTargetIsa, body: &dyn Fn(&mut Body<'_, '_>) -> Vec<Value>) -> Vec<u8> {
    let mut ctx = cranelift_codegen::Context::new();
    let mut sig = Signature::new(CallConv::SystemV);
    for _ in 0..4 {
        sig.params.push(AbiParam::new(types::I64));
    }
    ctx.func.signature = sig;
    let mut fctx = FunctionBuilderContext::new();
    let mut b = FunctionBuilder::new(&mut ctx.func, &mut fctx);
    let block = b.create_block();
    b.append_block_params_for_function_params(block);
    b.switch_to_block(block);
    let p = b.block_params(block).to_vec();
    let inputs = (0..INPUTS as i32)
        .map(|i| b.ins().load(types::F32X4, FLAGS, p[0], 32 * i))
        .collect();
    let mut body_args = Body {
        b: &mut b,
        inputs,
        scratch: p[2],
        callback: p[3],
        input: p[0],
        output: p[1],
    };
    let outputs = body(&mut body_args);
    for (i, v) in outputs.into_iter().enumerate() {
        b.ins().store(FLAGS, v, p[1], 32 * i as i32);
    }
    b.ins().return_(&[]);
    b.seal_all_blocks();
    b.finalize(isa.frontend_config());
    ctx.compile(&**isa, &mut ControlPlane::default()).expect("compiles");
    ctx.compiled_code().expect("compiled").code_buffer().to_vec()
}

fn install(bytes: &[u8]) -> (JITModule, Kernel) {
    let isa = isa().expect("checked by the caller");
    let mut module = JITModule::new(JITBuilder::with_isa(isa, default_libcall_names()));
    let mut sig = module.make_signature();
    for _ in 0..4 {
        sig.params.push(AbiParam::new(types::I64));
    }
    let id = module
        .declare_function("kernel", Linkage::Export, &sig)
        .expect("declares");
    module.define_function_bytes(id, 32, bytes, &[]).expect("defines");
    module.finalize_definitions().expect("finalises");
    let code = module.get_finalized_function(id);
    // SAFETY: the bytes are a function of this signature.
    (module, unsafe { std::mem::transmute::<*const u8, Kernel>(code) })
}

struct Rng(u64);

impl Rng {
    fn next(&mut self) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as u32
    }

    fn lane(&mut self) -> u32 {
        const SPECIAL: [u32; 10] = [
            0,
            0x8000_0000,
            0x3f80_0000,
            0xbf80_0000,
            0x7f80_0000,
            0xff80_0000,
            0x7fc0_0000,
            1,
            0x007f_ffff,
            0x4b00_0001,
        ];
        match self.next() % 4 {
            0 => SPECIAL[self.next() as usize % SPECIAL.len()],
            1 => self.next(),
            _ => ((self.next() % 2000) as f32 / 100.0 - 10.0).to_bits(),
        }
    }
}

/// Runs narrow code twice, on the left and the right quad, and wide code once on both; says where they differ.
fn compare(narrow: &[u8], wide: &[u8], outputs: usize, inputs: impl Iterator<Item = Vec<u32>>) -> Result<(), String> {
    let (module_n, run_n) = install(narrow);
    let (module_w, run_w) = install(wide);
    let mut result = Ok(());
    for (round, input) in inputs.enumerate() {
        assert_eq!(input.len(), INPUTS * 8);
        let mut out_n = vec![0u32; outputs * 8 + 8];
        let mut out_w = out_n.clone();
        let mut scratch = vec![0x4000_0005u32; 8 * 64];
        // SAFETY: all cells the kernel touches are there; step 1 of the narrow code stays within its 32 bytes.
        unsafe {
            run_n(
                input.as_ptr(),
                out_n.as_mut_ptr(),
                scratch.as_mut_ptr(),
                CALLBACK as *const () as usize,
            );
            run_n(
                input.as_ptr().add(4),
                out_n.as_mut_ptr().add(4),
                scratch.as_mut_ptr().add(4),
                CALLBACK as *const () as usize,
            );
            run_w(
                input.as_ptr(),
                out_w.as_mut_ptr(),
                scratch.as_mut_ptr(),
                CALLBACK as *const () as usize,
            );
        }
        // To the bit, NaNs too: both run the same instruction on the same operands.
        if let Some(at) = (0..outputs * 8).find(|&i| out_n[i] != out_w[i]) {
            let (n, w) = (out_n[at], out_w[at]);
            result = Err(format!("round {round}, word {at}: {n:#x} and {w:#x}"));
            break;
        }
    }
    // SAFETY: nothing of the modules' code runs any more.
    unsafe {
        module_n.free_memory();
        module_w.free_memory();
    }
    result
}

fn random_inputs(rounds: usize) -> impl Iterator<Item = Vec<u32>> {
    let mut rng = Rng(0x9e37_79b9_7f4a_7c15);
    (0..rounds).map(move |_| (0..INPUTS * 8).map(|_| rng.lane()).collect())
}

type BodyFn = fn(&mut Body<'_, '_>) -> Vec<Value>;

/// Runs the kernel both ways over random inputs.
fn same_bits(name: &str, outputs: usize, body: BodyFn) {
    let Some(isa) = isa() else { return };
    let narrow = compile(&isa, &body);
    let wide = widen(&narrow).unwrap_or_else(|e| panic!("{name}: {e}"));
    audit(&wide.code).unwrap_or_else(|e| panic!("{name}: {e}"));
    compare(&narrow, &wide.code, outputs, random_inputs(200)).unwrap_or_else(|e| panic!("{name}: {e}"));
}

/// Clobbers every vector register.
extern "C" fn clobber(scratch: *mut u32) {
    // SAFETY: kernels pass their scratch, which has more than 8 words.
    unsafe {
        for i in 0..8 {
            let v = std::hint::black_box(scratch.add(i).read() as f32).sqrt();
            scratch.add(i).write(v.to_bits() ^ scratch.add(i).read());
        }
    }
}

const CALLBACK: extern "C" fn(*mut u32) = clobber;

fn arithmetic(k: &mut Body<'_, '_>) -> Vec<Value> {
    let i = k.inputs.clone();
    let b = &mut *k.b;
    let c = b.ins().f32const(1.5);
    let c = b.ins().splat(types::F32X4, c);
    let s = b.ins().fadd(i[0], i[1]);
    let m = b.ins().fmul(s, c);
    let f = b.ins().fma(m, i[2], i[3]);
    let d = b.ins().fdiv(f, i[4]);
    let q = b.ins().sqrt(i[5]);
    let n = b.ins().nearest(i[6]);
    let x = b.ins().fneg(i[7]);
    vec![s, m, f, d, q, n, x]
}

fn integers(k: &mut Body<'_, '_>) -> Vec<Value> {
    let i = k.inputs.clone();
    let b = &mut *k.b;
    let endian = MemFlagsData::new().with_endianness(cranelift_codegen::ir::Endianness::Little);
    let int: Vec<Value> = i.iter().map(|&v| b.ins().bitcast(types::I32X4, endian, v)).collect();
    let out = [
        b.ins().iadd(int[0], int[1]),
        b.ins().imul(int[2], int[3]),
        b.ins().umin(int[4], int[5]),
        b.ins().ushr_imm_u(int[6], 7),
        b.ins().fcvt_to_sint_sat(types::I32X4, i[7]),
        b.ins().fcvt_to_uint_sat(types::I32X4, i[8]),
        b.ins().band_not(int[9], int[10]),
    ];
    let u = b.ins().fcvt_from_uint(types::F32X4, int[11]);
    let mut out = out.to_vec();
    out.push(u);
    out
}

fn masks(k: &mut Body<'_, '_>) -> Vec<Value> {
    let i = k.inputs.clone();
    let b = &mut *k.b;
    let endian = MemFlagsData::new().with_endianness(cranelift_codegen::ir::Endianness::Little);
    let less = b.ins().fcmp(FloatCC::LessThan, i[0], i[1]);
    let mask = b.ins().bitcast(types::F32X4, endian, less);
    let min = b.ins().bitselect(mask, i[0], i[1]);
    let bytes = b.ins().bitcast(types::I8X16, endian, i[2]);
    let swizzle = |lanes: [u8; 4]| -> Vec<u8> { lanes.iter().flat_map(|l| (0..4).map(move |k| l * 4 + k)).collect() };
    let right = b.func.dfg.immediates.push(swizzle([1, 1, 3, 3]).into());
    let left = b.func.dfg.immediates.push(swizzle([0, 0, 2, 2]).into());
    let r = b.ins().shuffle(bytes, bytes, right);
    let l = b.ins().shuffle(bytes, bytes, left);
    let r = b.ins().bitcast(types::F32X4, endian, r);
    let l = b.ins().bitcast(types::F32X4, endian, l);
    let ddx = b.ins().fsub(r, l);
    let scalar = b.ins().load(types::F32, FLAGS, k.scratch, 0);
    let splat = b.ins().splat(types::F32X4, scalar);
    let sum = b.ins().fadd(splat, i[3]);
    let ge = b.ins().fcmp(FloatCC::GreaterThanOrEqual, i[4], i[5]);
    vec![min, ddx, sum, ge]
}

fn spills(k: &mut Body<'_, '_>) -> Vec<Value> {
    let i = k.inputs.clone();
    let b = &mut *k.b;
    let mut values: Vec<Value> = Vec::new();
    for a in 0..INPUTS {
        for c in 0..3 {
            let other = i[(a * 7 + c * 5 + 1) % INPUTS];
            // Not commutative, so that no two values are the same.
            let m = b.ins().fma(i[a], other, i[(a * 5 + c * 11 + 3) % INPUTS]);
            values.push(m);
        }
    }
    // Uses in the opposite order keep all 72 alive at once.
    let mut out = Vec::new();
    for a in (0..INPUTS).rev() {
        let s = b.ins().fadd(values[a * 3], values[(a * 3 + 37) % values.len()]);
        let s = b.ins().fsub(s, values[(a * 11 + 2) % values.len()]);
        out.push(s);
    }
    out
}

fn calls(k: &mut Body<'_, '_>) -> Vec<Value> {
    let i = k.inputs.clone();
    let mut sig = Signature::new(CallConv::SystemV);
    sig.params.push(AbiParam::new(types::I64));
    let sig = k.b.import_signature(sig);
    let (callback, scratch) = (k.callback, k.scratch);
    let b = &mut *k.b;
    let sums: Vec<Value> = (0..INPUTS).map(|a| b.ins().fadd(i[a], i[(a + 1) % INPUTS])).collect();
    b.ins().call_indirect(sig, callback, &[scratch]);
    b.ins().call_indirect(sig, callback, &[scratch]);
    (0..INPUTS)
        .map(|a| b.ins().fmul(sums[a], i[(a + 5) % INPUTS]))
        .collect()
}

fn divergent_loop(k: &mut Body<'_, '_>) -> Vec<Value> {
    let i = k.inputs.clone();
    let b = &mut *k.b;
    let endian = MemFlagsData::new().with_endianness(cranelift_codegen::ir::Endianness::Little);
    let header = b.create_block();
    let exit = b.create_block();
    for _ in 0..2 {
        b.append_block_param(header, types::F32X4);
    }
    let count = b.ins().iconst(types::I32, 0);
    b.append_block_param(header, types::I32);
    b.append_block_param(exit, types::F32X4);
    b.append_block_param(exit, types::F32X4);
    b.ins().jump(header, &[i[0].into(), i[1].into(), count.into()]);
    b.switch_to_block(header);
    let p = b.block_params(header).to_vec();
    // Each lane adds 1 until it is not below its limit; at most 40 rounds.
    let below = b.ins().fcmp(FloatCC::LessThan, p[0], i[2]);
    let one = b.ins().f32const(1.0);
    let one = b.ins().splat(types::F32X4, one);
    let next = b.ins().fadd(p[0], one);
    let mask = b.ins().bitcast(types::F32X4, endian, below);
    let x = b.ins().bitselect(mask, next, p[0]);
    let grown = b.ins().fma(p[1], x, one);
    let y = b.ins().bitselect(mask, grown, p[1]);
    let n = b.ins().iadd_imm_s(p[2], 1);
    let any = b.ins().vany_true(below);
    let room = b.ins().icmp_imm_s(IntCC::SignedLessThan, n, 40);
    let go = b.ins().band(any, room);
    b.ins()
        .brif(go, header, &[x.into(), y.into(), n.into()], exit, &[x.into(), y.into()]);
    b.switch_to_block(exit);
    b.block_params(exit).to_vec()
}

#[test]
fn arithmetic_has_the_same_bits() {
    same_bits("arithmetic", 7, arithmetic);
}

#[test]
fn integer_and_conversion_operations_have_the_same_bits() {
    same_bits("integers", 8, integers);
}

#[test]
fn masks_and_quad_shuffles_have_the_same_bits() {
    same_bits("masks", 4, masks);
}

#[test]
fn heavy_spilling_has_the_same_bits() {
    same_bits("spills", INPUTS, spills);
}

#[test]
fn values_live_across_calls_keep_both_halves() {
    same_bits("calls", INPUTS, calls);
}

#[test]
fn divergent_loops_have_the_same_bits_whatever_the_neighbour_quad_does() {
    same_bits("loop", 2, divergent_loop);
}

#[test]
fn a_half_value_in_a_wide_store_declines() {
    let Some(isa) = isa() else { return };
    // A scalar moved into a vector register fills one lane: it may not be stored as a lane value.
    let code = compile(&isa, &|k| {
        let scalar = k.b.ins().load(types::F32, FLAGS, k.scratch, 0);
        let v = k.b.ins().scalar_to_vector(types::F32X4, scalar);
        vec![k.b.ins().fadd(v, v)]
    });
    assert!(matches!(
        widen(&code),
        Err(Declined::HalfValue { .. } | Declined::Instruction { .. })
    ));
}

#[test]
fn forms_that_are_not_per_quad_decline() {
    let Some(isa) = isa() else { return };
    let code = compile(&isa, &|k| {
        let lane = k.b.ins().extractlane(k.inputs[0], 2);
        let v = k.b.ins().insertlane(k.inputs[1], lane, 1);
        vec![v]
    });
    assert!(matches!(
        widen(&code),
        Err(Declined::Instruction { .. } | Declined::HalfValue { .. })
    ));
    let _ = |k: &Body<'_, '_>| (k.input, k.output);
}

#[test]
fn garbage_declines_and_never_panics() {
    let mut rng = Rng(7);
    for len in 0..200 {
        let bytes: Vec<u8> = (0..len).map(|_| rng.next() as u8).collect();
        let _ = widen(&bytes);
    }
}
