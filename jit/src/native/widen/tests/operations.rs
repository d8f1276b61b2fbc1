//! Every operation that emitted code consists of, by itself, over all pairs of special values and random bits.

use super::{Body, FLAGS, INPUTS, Rng, audit, compare, compile, isa, widen};
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Type, Value, types};

/// Zeros, ones, the edges of every class of float and of both kinds of integer, quiet and signalling NaNs.
const SPECIAL: [u32; 34] = [
    0,
    0x8000_0000,
    1,
    0x8000_0001,
    2,
    3,
    31,
    32,
    0x007f_ffff,
    0x807f_ffff,
    0x0080_0000,
    0x8080_0000,
    0x3eff_ffff,
    0x3f00_0000,
    0xbf00_0000,
    0x3f7f_ffff,
    0x3f80_0000,
    0xbf80_0000,
    0x3fc0_0000,
    0x4020_0000,
    0x4b00_0001,
    0xcb00_0001,
    0x4eff_ffff,
    0x4f00_0000,
    0xcf00_0000,
    0x4f80_0000,
    0x7f7f_ffff,
    0xff7f_ffff,
    0x7f80_0000,
    0xff80_0000,
    0x7fc0_0000,
    0xffc1_2345,
    0x7f80_0001,
    0x7fff_ffff,
];

/// All pairs of special values in the first two cells with a third by turns, then random bits.
fn inputs() -> impl Iterator<Item = Vec<u32>> {
    let n = SPECIAL.len();
    let pairs: Vec<(u32, u32)> = (0..n * n).map(|i| (SPECIAL[i / n], SPECIAL[i % n])).collect();
    let mut special: Vec<Vec<u32>> = Vec::new();
    for (turn, chunk) in pairs.chunks(8).enumerate() {
        let mut input = vec![0; INPUTS * 8];
        for (lane, &(a, b)) in chunk.iter().enumerate() {
            input[lane] = a;
            input[8 + lane] = b;
            input[16 + lane] = SPECIAL[(turn + lane * 5) % n];
        }
        special.push(input);
    }
    let mut rng = Rng(0x1234_5678_9abc_def1);
    let random = (0..400).map(move |_| (0..INPUTS * 8).map(|_| rng.next() ^ rng.next() << 13).collect());
    special.into_iter().chain(random)
}

const LITTLE: MemFlagsData = MemFlagsData::new().with_endianness(cranelift_codegen::ir::Endianness::Little);

/// What an operation is given: three vectors of floats, and the same bits as integers.
struct Operands<'a, 'b, 'c> {
    k: &'a mut Body<'b, 'c>,
    f: [Value; 3],
    i: [Value; 3],
}

type Operation = fn(&mut Operands<'_, '_, '_>) -> Value;

impl Operands<'_, '_, '_> {
    fn cast(&mut self, to: Type, v: Value) -> Value {
        self.k.b.ins().bitcast(to, LITTLE, v)
    }

    fn shuffle(&mut self, lanes: [u8; 4]) -> Value {
        let bytes = self.cast(types::I8X16, self.f[0]);
        let other = self.cast(types::I8X16, self.f[1]);
        let immediate: Vec<u8> = lanes.iter().flat_map(|l| (0..4).map(move |k| l * 4 + k)).collect();
        let immediate = self.k.b.func.dfg.immediates.push(immediate.into());
        self.k.b.ins().shuffle(bytes, other, immediate)
    }

    fn min(&mut self, cc: FloatCC, x: Value, y: Value) -> Value {
        let less = self.k.b.ins().fcmp(cc, x, y);
        let mask = self.cast(types::F32X4, less);
        self.k.b.ins().bitselect(mask, self.f[0], self.f[1])
    }

    fn mul_high(&mut self, signed: bool) -> Value {
        let [x, y, _] = self.i;
        let b = &mut *self.k.b;
        let mut half = |low: bool| {
            let mut wide = |v| match (signed, low) {
                (true, true) => b.ins().swiden_low(v),
                (true, false) => b.ins().swiden_high(v),
                (false, true) => b.ins().uwiden_low(v),
                (false, false) => b.ins().uwiden_high(v),
            };
            let (x, y) = (wide(x), wide(y));
            b.ins().imul(x, y)
        };
        let (low, high) = (half(true), half(false));
        let (low, high) = (self.cast(types::I8X16, low), self.cast(types::I8X16, high));
        let lanes: Vec<u8> = [1u8, 3, 5, 7]
            .iter()
            .flat_map(|l| (0..4).map(move |k| l * 4 + k))
            .collect();
        let immediate = self.k.b.func.dfg.immediates.push(lanes.into());
        self.k.b.ins().shuffle(low, high, immediate)
    }

    /// A scalar that is the same for both quads.
    fn scalar(&mut self, ty: Type) -> Value {
        self.k.b.ins().load(ty, FLAGS, self.k.scratch, 0)
    }

    /// 1 where a condition is true, else 2, through a branch.
    fn branch(&mut self, condition: Value) -> Value {
        let b = &mut *self.k.b;
        let [yes, no, join] = [b.create_block(), b.create_block(), b.create_block()];
        b.append_block_param(join, types::I32X4);
        b.ins().brif(condition, yes, &[], no, &[]);
        for (block, bits) in [(yes, 1), (no, 2)] {
            b.switch_to_block(block);
            let v = b.ins().iconst(types::I32, bits);
            let v = b.ins().splat(types::I32X4, v);
            b.ins().jump(join, &[v.into()]);
        }
        b.switch_to_block(join);
        b.block_params(join)[0]
    }
}

macro_rules! ops {
    ($list:ident, $o:ident: $($name:literal => $value:expr,)*) => {
        $($list.push(($name, |$o: &mut Operands<'_, '_, '_>| $value));)*
    };
}

/// `fcmp` and `icmp` of the first two operands by each condition that is emitted.
macro_rules! compares {
    ($list:ident: $($cc:expr => $field:ident $op:ident,)*) => {
        $($list.push((stringify!($cc), |o: &mut Operands<'_, '_, '_>| o.k.b.ins().$op($cc, o.$field[0], o.$field[1])));)*
    };
}

fn operations() -> Vec<(&'static str, Operation)> {
    let mut list: Vec<(&'static str, Operation)> = Vec::new();
    ops! { list, o:
        "fadd" => o.k.b.ins().fadd(o.f[0], o.f[1]),
        "fsub" => o.k.b.ins().fsub(o.f[0], o.f[1]),
        "fmul" => o.k.b.ins().fmul(o.f[0], o.f[1]),
        "fdiv" => o.k.b.ins().fdiv(o.f[0], o.f[1]),
        "fma" => o.k.b.ins().fma(o.f[0], o.f[1], o.f[2]),
        "fma of a negated product" => {
            let n = o.k.b.ins().fneg(o.f[0]);
            o.k.b.ins().fma(n, o.f[1], o.f[2])
        },
        "fma of a negated sum" => {
            let n = o.k.b.ins().fneg(o.f[2]);
            o.k.b.ins().fma(o.f[0], o.f[1], n)
        },
        "fma of two negated" => {
            let (n, m) = (o.k.b.ins().fneg(o.f[1]), o.k.b.ins().fneg(o.f[2]));
            o.k.b.ins().fma(o.f[0], n, m)
        },
        "sqrt" => o.k.b.ins().sqrt(o.f[0]),
        "fneg" => o.k.b.ins().fneg(o.f[0]),
        "fabs" => o.k.b.ins().fabs(o.f[0]),
        "ceil" => o.k.b.ins().ceil(o.f[0]),
        "floor" => o.k.b.ins().floor(o.f[0]),
        "trunc" => o.k.b.ins().trunc(o.f[0]),
        "nearest" => o.k.b.ins().nearest(o.f[0]),
        "min" => o.min(FloatCC::LessThan, o.f[0], o.f[1]),
        "max" => o.min(FloatCC::LessThan, o.f[1], o.f[0]),
        "select of a comparison" => o.min(FloatCC::GreaterThanOrEqual, o.f[2], o.f[1]),
        "bitselect" => o.k.b.ins().bitselect(o.i[2], o.i[0], o.i[1]),
        "band_not" => o.k.b.ins().band_not(o.i[0], o.i[1]),
        "band" => o.k.b.ins().band(o.i[0], o.i[1]),
        "bor" => o.k.b.ins().bor(o.i[0], o.i[1]),
        "bxor" => o.k.b.ins().bxor(o.i[0], o.i[1]),
        "bnot" => o.k.b.ins().bnot(o.i[0]),
        "iadd" => o.k.b.ins().iadd(o.i[0], o.i[1]),
        "isub" => o.k.b.ins().isub(o.i[0], o.i[1]),
        "imul" => o.k.b.ins().imul(o.i[0], o.i[1]),
        "ineg" => o.k.b.ins().ineg(o.i[0]),
        "iabs" => o.k.b.ins().iabs(o.i[0]),
        "umin" => o.k.b.ins().umin(o.i[0], o.i[1]),
        "umax" => o.k.b.ins().umax(o.i[0], o.i[1]),
        "smin" => o.k.b.ins().smin(o.i[0], o.i[1]),
        "smax" => o.k.b.ins().smax(o.i[0], o.i[1]),
        "umulhi" => o.mul_high(false),
        "smulhi" => o.mul_high(true),
        "ishl by a constant" => o.k.b.ins().ishl_imm_u(o.i[0], 7),
        "ushr by a constant" => o.k.b.ins().ushr_imm_u(o.i[0], 9),
        "sshr by a constant" => o.k.b.ins().sshr_imm_u(o.i[0], 31),
        "ishl by a scalar" => {
            let n = o.scalar(types::I32);
            o.k.b.ins().ishl(o.i[0], n)
        },
        "ushr by a scalar" => {
            let n = o.scalar(types::I32);
            o.k.b.ins().ushr(o.i[0], n)
        },
        "sshr by a scalar" => {
            let n = o.scalar(types::I32);
            o.k.b.ins().sshr(o.i[0], n)
        },
        "to signed" => o.k.b.ins().fcvt_to_sint_sat(types::I32X4, o.f[0]),
        "to unsigned" => o.k.b.ins().fcvt_to_uint_sat(types::I32X4, o.f[0]),
        "from signed" => o.k.b.ins().fcvt_from_sint(types::F32X4, o.i[0]),
        "from unsigned" => o.k.b.ins().fcvt_from_uint(types::F32X4, o.i[0]),
        "cvttps2dq" => o.k.b.ins().x86_cvtt2dq(types::I32X4, o.f[0]),
        "swap x" => o.shuffle([1, 0, 3, 2]),
        "swap y" => o.shuffle([2, 3, 0, 1]),
        "swap diagonal" => o.shuffle([3, 2, 1, 0]),
        "left" => o.shuffle([0, 0, 2, 2]),
        "right" => o.shuffle([1, 1, 3, 3]),
        "top" => o.shuffle([0, 1, 0, 1]),
        "bottom" => o.shuffle([2, 3, 2, 3]),
        "lane 0" => o.shuffle([0, 0, 0, 0]),
        "lane 3" => o.shuffle([3, 3, 3, 3]),
        "two sources" => o.shuffle([0, 2, 5, 7]),
        "interleaved" => o.shuffle([0, 4, 1, 5]),
        "interleaved high" => o.shuffle([2, 6, 3, 7]),
        "odd lanes" => o.shuffle([1, 4, 3, 6]),
        "a constant" => {
            let c = o.k.b.ins().f32const(1.25);
            let c = o.k.b.ins().splat(types::F32X4, c);
            o.k.b.ins().fadd(o.f[0], c)
        },
        "a splat of a loaded float" => {
            let s = o.scalar(types::F32);
            o.k.b.ins().splat(types::F32X4, s)
        },
        "a splat of a computed float" => {
            let s = o.scalar(types::F32);
            let s = o.k.b.ins().fadd(s, s);
            let s = o.k.b.ins().sqrt(s);
            let v = o.k.b.ins().splat(types::F32X4, s);
            o.k.b.ins().fmul(v, o.f[0])
        },
        "a splat of an integer" => {
            let s = o.scalar(types::I32);
            let s = o.k.b.ins().iadd_imm_s(s, 3);
            let v = o.k.b.ins().splat(types::I32X4, s);
            o.k.b.ins().iadd(v, o.i[0])
        },
    }
    compares! { list:
        FloatCC::Equal => f fcmp,
        FloatCC::NotEqual => f fcmp,
        FloatCC::LessThan => f fcmp,
        FloatCC::LessThanOrEqual => f fcmp,
        FloatCC::GreaterThan => f fcmp,
        FloatCC::GreaterThanOrEqual => f fcmp,
        FloatCC::Ordered => f fcmp,
        FloatCC::Unordered => f fcmp,
        IntCC::Equal => i icmp,
        IntCC::NotEqual => i icmp,
        IntCC::SignedLessThan => i icmp,
        IntCC::SignedLessThanOrEqual => i icmp,
        IntCC::SignedGreaterThan => i icmp,
        IntCC::SignedGreaterThanOrEqual => i icmp,
        IntCC::UnsignedLessThan => i icmp,
        IntCC::UnsignedLessThanOrEqual => i icmp,
        IntCC::UnsignedGreaterThan => i icmp,
        IntCC::UnsignedGreaterThanOrEqual => i icmp,
    }
    list
}

#[test]
fn every_operation_has_the_same_bits() {
    let Some(isa) = isa() else { return };
    let operations = operations();
    assert!(operations.len() > 80);
    for (name, operation) in operations {
        let narrow = compile(&isa, &|k| {
            let f = [0, 1, 2].map(|n| k.inputs[n]);
            let i = f.map(|v| k.b.ins().bitcast(types::I32X4, LITTLE, v));
            vec![operation(&mut Operands { k, f, i })]
        });
        let wide = widen(&narrow).unwrap_or_else(|e| panic!("{name}: {e}"));
        audit(&wide.code).unwrap_or_else(|e| panic!("{name}: {e}"));
        compare(&narrow, &wide.code, 1, inputs()).unwrap_or_else(|e| panic!("{name}: {e}"));
    }
}

/// A branch takes both quads along: what it tests are 8 lanes, where the narrow code tests 4 at a time. So all 8 are
/// given the same bits.
#[test]
fn mask_tests_see_every_lane() {
    let Some(isa) = isa() else { return };
    let tests: [(&str, Operation); 3] = [
        ("any", |o| {
            let any = o.k.b.ins().vany_true(o.i[0]);
            o.branch(any)
        }),
        ("all", |o| {
            let all = o.k.b.ins().vall_true(o.i[0]);
            o.branch(all)
        }),
        ("no high bit", |o| {
            let bits = o.k.b.ins().vhigh_bits(types::I32, o.i[0]);
            o.branch(bits)
        }),
    ];
    let repeated = || {
        inputs().map(|mut input| {
            for cell in input.chunks_exact_mut(8) {
                cell.copy_within(0..4, 4);
            }
            input
        })
    };
    for (name, operation) in tests {
        let narrow = compile(&isa, &|k| {
            let f = [0, 1, 2].map(|n| k.inputs[n]);
            let i = f.map(|v| k.b.ins().bitcast(types::I32X4, LITTLE, v));
            vec![operation(&mut Operands { k, f, i })]
        });
        let wide = widen(&narrow).unwrap_or_else(|e| panic!("{name}: {e}"));
        compare(&narrow, &wide.code, 1, repeated()).unwrap_or_else(|e| panic!("{name}: {e}"));
        // One lane at a time decides `any`, wherever it is.
        if name == "any" {
            let (module, run) = super::install(&wide.code);
            for lane in 0..9 {
                let mut input = vec![0u32; INPUTS * 8];
                if let Some(word) = input.get_mut(lane).filter(|_| lane < 8) {
                    *word = u32::MAX;
                }
                let (mut out, mut scratch) = (vec![0u32; 16], vec![0u32; 8 * 64]);
                // SAFETY: all cells the kernel touches are there.
                unsafe { run(input.as_ptr(), out.as_mut_ptr(), scratch.as_mut_ptr(), 0) };
                assert_eq!(out[..8], [if lane < 8 { 1 } else { 2 }; 8], "lane {lane}");
            }
            // SAFETY: nothing of the module's code runs any more.
            unsafe { module.free_memory() };
        }
    }
}
