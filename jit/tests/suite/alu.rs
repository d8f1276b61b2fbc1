//! Every operation on special and random operands against `ir::eval`, with operands that differ by lane, that are
//! the same for the draw, and that are constants: native code has different sequences for each.

use super::{Bits, Env, canonical, cells_program, compile, constant, draw_word, run_cells};
use quadrille_frontend::ir::alu::Class;
use quadrille_frontend::ir::eval::eval_alu;
use quadrille_frontend::ir::{Alu, Kind, Op};
use quadrille_jit::Executor;

const FLOATS: &[u32] = &[
    0,
    0x8000_0000,
    0x3F80_0000, // 1
    0xBF80_0000,
    0x3F00_0000, // 0.5
    0xBF00_0000,
    0x3FC0_0000, // 1.5
    0x4020_0000, // 2.5
    0xC020_0000,
    0x3EFF_FFFF, // just below 0.5
    0x4079_999A, // 3.9
    0xC079_999A,
    0x4EFF_FFFF, // 2147483520
    0x4F00_0000, // 2^31
    0xCF00_0000,
    0xCF00_0001,
    0x4F7F_FFFF, // 4294967040
    0x4F80_0000, // 2^32
    0x4B00_0001, // 2^23 + 1
    0x60AD_78EC, // 1e20
    0xE0AD_78EC,
    0x0080_0000, // smallest normal
    0x0000_0001, // denormals
    0x807F_FFFF,
    0x7F7F_FFFF, // largest
    0x7F80_0000, // infinities
    0xFF80_0000,
    0x7FC0_0000, // NaNs, one signalling
    0xFFC1_2345,
    0x7F80_0001,
];

const INTS: &[u32] = &[
    0,
    1,
    2,
    3,
    7,
    31,
    32,
    33,
    63,
    64,
    255,
    0xFFFF,
    0x1_0000,
    0x0100_0001,
    0x1234_5678,
    0x5555_5555,
    0x7FFF_FFFF,
    0x8000_0000,
    0x8000_0001,
    0xFFFF_FF80,
    0xFFFF_FFFE,
    0xFFFF_FFFF,
];

fn specials(kind: Kind) -> &'static [u32] {
    match kind {
        Kind::F32 => FLOATS,
        Kind::Bool => &[0, 1],
        _ => INTS,
    }
}

/// Operand columns: all pairs of special values (further operands go through theirs at another pace), then random.
fn columns(kinds: &[Kind], bits: &mut Bits) -> Vec<Vec<u32>> {
    let first = specials(kinds[0]);
    let second = kinds.get(1).map_or(&[0][..], |&k| specials(k));
    let pairs = first.len() * second.len();
    let rows = if kinds.len() > 2 { 4 * pairs } else { pairs };
    kinds
        .iter()
        .enumerate()
        .map(|(i, &kind)| {
            let of = specials(kind);
            let special = (0..rows).map(|row| match i {
                0 => of[row / second.len() % of.len()],
                1 => of[row % of.len()],
                2 => of[(row * 7 + row / 5) % of.len()],
                _ => of[(row * 3 + row / 11) % of.len()],
            });
            let mut column: Vec<u32> = special.collect();
            column.extend((0..96).map(|n| match kind {
                Kind::F32 if n % 2 == 0 => ((bits.next() as i32 >> 12) as f32 / 4096.0).to_bits(),
                Kind::Bool => bits.next() & 1,
                _ => bits.next() >> (n % 5 * 6),
            }));
            column
        })
        .collect()
}

/// Where an operand comes from.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Source {
    Lane,
    Draw,
    Constant(u32),
}

/// Operand sources to try, for `n` operands of these kinds.
fn variants(op: Alu, kinds: &[Kind]) -> Vec<Vec<Source>> {
    let n = kinds.len();
    let mut all = vec![vec![Source::Lane; n], vec![Source::Draw; n]];
    if n == 1 {
        return all;
    }
    for i in 0..n {
        let mut one = vec![Source::Lane; n];
        one[i] = Source::Draw;
        all.push(one.clone());
        if op.is_primitive() && kinds[i] != Kind::Bool {
            let values: &[u32] = match kinds[i] {
                Kind::F32 => &[0, 0x8000_0000, 0x3F80_0000, 0x4020_0000, 0x7F80_0000, 0x7FC0_0000],
                _ => &[0, 1, 5, 31, 32, 0x8000_0000, 0xFFFF_FFFF],
            };
            for &value in values {
                one[i] = Source::Constant(value);
                all.push(one.clone());
            }
        }
    }
    all
}

/// Whether NaN bits are handed on rather than made: then they must be the same bits.
fn keeps_bits(op: Alu) -> bool {
    matches!(
        op,
        Alu::FNeg | Alu::FAbs | Alu::FMin | Alu::FMax | Alu::Select | Alu::Flush | Alu::Canon
    )
}

fn check(executor: &dyn Executor, op: Alu, open: Kind) {
    let (params, results) = op.signature();
    let of = |class: &Class| match class {
        Class::Is(kind) => *kind,
        _ => open,
    };
    let kinds: Vec<Kind> = params.iter().map(of).collect();
    let result_kinds: Vec<Kind> = results.iter().map(of).collect();
    let variants = variants(op, &kinds);
    let p = cells_program(&kinds, &[], |b, lanes| {
        let mut out = Vec::new();
        for sources in &variants {
            let operands: Vec<_> = sources
                .iter()
                .enumerate()
                .map(|(i, source)| match *source {
                    Source::Lane => lanes[i],
                    Source::Draw => draw_word(b, i as u32, kinds[i]),
                    Source::Constant(word) => constant(b, kinds[i], word),
                })
                .collect();
            let id = b.alu_multi(op, &operands);
            out.extend(b.results(id));
        }
        out
    });
    let compiled = compile(executor, &p);
    let mut bits = Bits(0x0DDB_1A5E_5BAD_5EED ^ op as u64);
    let all = columns(&kinds, &mut bits);
    let rows = all[0].len();
    for round in 0..24 {
        let mut env = Env::default();
        for (i, &kind) in kinds.iter().enumerate() {
            let of = specials(kind);
            env.draw[i] = if round < 20 {
                of[(round * (3 + 2 * i) + i) % of.len()]
            } else {
                bits.next()
            };
        }
        // All rows once; then a few for each set of draw words.
        let columns: Vec<Vec<u32>> = if round == 0 {
            all.clone()
        } else {
            let start = bits.next() as usize % rows;
            all.iter()
                .map(|c| (0..24).map(|r| c[(start + r * 7) % rows]).collect())
                .collect()
        };
        let out = run_cells(&*compiled, &p, &columns, &mut env);
        for (v, sources) in variants.iter().enumerate() {
            for row in 0..columns[0].len() {
                let operands: Vec<u32> = sources
                    .iter()
                    .enumerate()
                    .map(|(i, source)| match *source {
                        Source::Lane => columns[i][row],
                        Source::Draw => env.draw[i],
                        Source::Constant(word) => word,
                    })
                    .collect();
                let literals: Vec<u64> = operands
                    .iter()
                    .zip(&kinds)
                    .map(|(&word, &kind)| {
                        if kind == Kind::Bool {
                            u64::from(word != 0)
                        } else {
                            word.into()
                        }
                    })
                    .collect();
                let want = eval_alu(op, open, &literals).expect("32-bit kinds evaluate");
                for (j, &kind) in result_kinds.iter().enumerate() {
                    let (mut got, mut want) = (out[v * result_kinds.len() + j][row], want[j] as u32);
                    if kind == Kind::F32 && !keeps_bits(op) {
                        (got, want) = (canonical(got), canonical(want));
                    }
                    assert_eq!(
                        got,
                        want,
                        "{}: {op:?} on {open}, result {j}, operands {operands:x?} from {sources:?}: {got:#x}, not {want:#x}",
                        executor.name()
                    );
                }
            }
        }
    }
}

fn check_all(executor: &dyn Executor, wanted: impl Fn(Alu) -> bool) {
    for &op in Alu::ALL {
        if !wanted(op) {
            continue;
        }
        let (params, _) = op.signature();
        let opens: &[Kind] = if params.contains(&Class::Bits) {
            &[Kind::U32, Kind::I32, Kind::Bool]
        } else if params.contains(&Class::Int) {
            &[Kind::U32, Kind::I32]
        } else if params.contains(&Class::Any) {
            &[Kind::F32, Kind::U32, Kind::I32, Kind::Bool]
        } else {
            &[Kind::F32]
        };
        for &open in opens {
            check(executor, op, open);
        }
    }
}

fn is_float(op: Alu) -> bool {
    op.signature().0.contains(&Class::Float)
}

fn is_integer(op: Alu) -> bool {
    let (params, _) = op.signature();
    params.contains(&Class::Int) || params.contains(&Class::Bits)
}

pub fn float_operations(executor: &dyn Executor) {
    check_all(executor, |op| op.is_primitive() && is_float(op));
}

pub fn integer_operations(executor: &dyn Executor) {
    check_all(executor, |op| op.is_primitive() && is_integer(op));
}

pub fn conversions_and_selects(executor: &dyn Executor) {
    check_all(executor, |op| op.is_primitive() && !is_float(op) && !is_integer(op));
    // Bitcasts between all 32-bit kinds keep bits.
    for from in [Kind::F32, Kind::I32, Kind::U32] {
        for to in [Kind::F32, Kind::I32, Kind::U32] {
            let p = cells_program(&[from], &[], |b, x| {
                let word = draw_word(b, 0, from);
                [x[0], word].map(|v| b.inst1(Op::Bitcast(to), &[v], to)).to_vec()
            });
            let compiled = compile(executor, &p);
            let mut env = Env::default();
            env.draw[0] = 0xFFC1_2345;
            let out = run_cells(&*compiled, &p, &[FLOATS.to_vec()], &mut env);
            assert_eq!(out[0], FLOATS, "{from} to {to}");
            assert!(out[1].iter().all(|&w| w == 0xFFC1_2345), "{from} to {to}");
        }
    }
}

pub fn expanded_operations(executor: &dyn Executor) {
    check_all(executor, |op| !op.is_primitive());
}
