//! Fragment programs over tiles: runs, pairs, coverage, planes, helpers.

use super::{Env, STORAGE, buffer, call, compile, from_word, program, resource, resources};
use quadrille_frontend::ir::{Access, Alu, AtomicOp, FunctionBuilder, Kind, LoopBound, Op, OutOfBounds, QuadOp, Value};
use quadrille_jit::abi::{Cell, Pair, Run, WidePair};
use quadrille_jit::{Compiled, Executor, ProgramKind};

/// Pixels along a tile's edge; 8x8 blocks of 8 pairs.
const EDGE: u32 = 16;
const PAIRS: u32 = EDGE * EDGE / 8;
/// Bytes of a plane, with a gap to the next that must stay untouched.
const STRIDE: u32 = PAIRS * 32 + 64;

/// Left and top pixel of a pair.
fn place(index: u32) -> (u32, u32) {
    let (block, within) = (index / 8, index % 8);
    let (bx, by) = (block % (EDGE / 8), block / (EDGE / 8));
    (bx * 8 + within % 2 * 4, by * 8 + within / 2 * 2)
}

/// Pixel of a lane, relative to the tile.
fn pixel(index: u32, lane: u32) -> (u32, u32) {
    let (x, y) = place(index);
    (x + lane / 4 * 2 + lane % 2, y + lane % 4 / 2)
}

/// One run: a primitive's words behind the three block pointers, its vertices' blocks, its pairs.
struct Batch {
    words: Vec<u32>,
    blocks: [Vec<u32>; 3],
    /// Pair index and coverage by sample.
    pairs: Vec<(u32, Vec<u8>)>,
}

/// Runs a fragment program; planes are cells in pair order.
fn run(compiled: &dyn Compiled, samples: usize, batches: &[Batch], planes: &mut [Vec<u32>], env: &mut Env) {
    let cells = STRIDE as usize / 32;
    let mut tile = vec![Cell([0x5AFE_5AFE; 8]); cells * planes.len()];
    for (p, plane) in planes.iter().enumerate() {
        for (i, &word) in plane.iter().enumerate() {
            tile[p * cells + i / 8].0[i % 8] = word;
        }
    }
    let records: Vec<Vec<u64>> = batches
        .iter()
        .map(|batch| {
            let mut record: Vec<u64> = batch.blocks.iter().map(|b| b.as_ptr().addr() as u64).collect();
            for block in &batch.blocks {
                // The program finds the blocks by address only.
                let _ = block.as_ptr().expose_provenance();
            }
            let words = batch.words.chunks(2);
            record.extend(words.map(|w| u64::from(w[0]) | u64::from(w.get(1).copied().unwrap_or(0)) << 32));
            record
        })
        .collect();
    let narrow: Vec<Vec<Pair>> = batches
        .iter()
        .map(|batch| {
            let pair = |(index, coverage): &(u32, Vec<u8>)| {
                let (x, y) = place(*index);
                Pair {
                    index: *index as u16,
                    x: x as u8,
                    y: y as u8,
                    coverage: std::array::from_fn(|s| coverage.get(s).copied().unwrap_or(0)),
                }
            };
            batch.pairs.iter().map(pair).collect()
        })
        .collect();
    let wide: Vec<Vec<WidePair>> = batches
        .iter()
        .map(|batch| {
            let pair = |(index, coverage): &(u32, Vec<u8>)| {
                let (x, y) = place(*index);
                WidePair {
                    index: *index as u16,
                    x: x as u8,
                    y: y as u8,
                    reserved: 0,
                    coverage: std::array::from_fn(|s| coverage.get(s).copied().unwrap_or(0)),
                }
            };
            batch.pairs.iter().map(pair).collect()
        })
        .collect();
    let runs: Vec<Run> = (0..batches.len())
        .map(|i| Run {
            prim: records[i].as_ptr().cast(),
            pairs: if samples > 4 {
                wide[i].as_ptr().cast()
            } else {
                narrow[i].as_ptr()
            },
            count: batches[i].pairs.len() as u32,
            reserved: 0,
        })
        .collect();
    // SAFETY: planes, runs, records and pairs are as large as the program says.
    unsafe {
        call(compiled, env, |context| {
            context.count = runs.len() as u32;
            context.runs = runs.as_ptr();
            context.tile = tile.as_mut_ptr().cast();
            context.tile_x = 320;
            context.tile_y = 64;
        });
    }
    for (p, plane) in planes.iter_mut().enumerate() {
        for (i, word) in plane.iter_mut().enumerate() {
            *word = tile[p * cells + i / 8].0[i % 8];
        }
        for gap in &tile[p * cells + PAIRS as usize..(p + 1) * cells] {
            assert_eq!(gap.0, [0x5AFE_5AFE; 8], "bytes beyond plane {p}");
        }
    }
}

fn fragment(samples: u8, counts: &[u32], build: impl FnOnce(&mut FunctionBuilder)) -> quadrille_jit::Program {
    let mut b = FunctionBuilder::new("test");
    build(&mut b);
    let kind = ProgramKind::Fragment {
        samples,
        plane_stride: STRIDE,
    };
    let mut p = program(kind, b.finish(), counts);
    (p.resources, p.slots) = resources(counts, &STORAGE);
    p
}

fn coverage(b: &mut FunctionBuilder, sample: u8) -> Value {
    b.inst1(Op::Coverage { sample }, &[], Kind::Bool)
}

fn tile_load(b: &mut FunctionBuilder, plane: u32, kind: Kind) -> Value {
    b.inst1(Op::TileLoad { plane, kind }, &[], kind)
}

fn tile_store(b: &mut FunctionBuilder, plane: u32, value: Value, mask: Value) {
    b.inst(Op::TileStore { plane }, &[value, mask], &[]);
}

/// Some coverage with holes, whole pairs, single lanes, one quad only.
const PATTERNS: [u8; 9] = [0xFF, 0x0F, 0xF0, 0x01, 0x80, 0x5A, 0x11, 0xE7, 0x3C];

fn batch(words: Vec<u32>, pairs: Vec<(u32, Vec<u8>)>) -> Batch {
    Batch {
        words,
        blocks: [0, 1, 2].map(|v| (0..4).map(|i| 100 * v + i).collect()),
        pairs,
    }
}

fn empty_planes(count: usize) -> Vec<Vec<u32>> {
    (0..count as u32)
        .map(|p| (0..PAIRS * 8).map(|i| 0x1000_0000 * p + i).collect())
        .collect()
}

/// Plane 1 += plane 0 under coverage; plane 2 gets the pixel's position; several runs, pairs twice.
pub fn tiles_are_read_and_written_in_place(executor: &dyn Executor) {
    let p = fragment(1, &[], |b| {
        let covered = coverage(b, 0);
        let first = tile_load(b, 0, Kind::U32);
        let second = tile_load(b, 1, Kind::U32);
        let sum = b.alu(Alu::IAdd, &[first, second]);
        tile_store(b, 1, sum, covered);
        let (x, y) = (b.inst1(Op::PixelX, &[], Kind::U32), b.inst1(Op::PixelY, &[], Kind::U32));
        let thousand = b.u32(1000);
        let y = b.alu(Alu::IMul, &[y, thousand]);
        let position = b.alu(Alu::IAdd, &[x, y]);
        tile_store(b, 2, position, covered);
        // A mask that the store itself carries: its own lanes only.
        let never = b.bool(false);
        tile_store(b, 0, position, never);
        // What it reads back is what it wrote.
        let again = tile_load(b, 1, Kind::I32);
        tile_store(b, 3, again, covered);
        b.inst(Op::CountInvocations, &[covered], &[]);
        b.inst(Op::CountSamples, &[covered], &[]);
        let (four, zero) = (b.u32(4), b.u32(0));
        let left = b.alu(Alu::And, &[position, four]);
        let left = b.alu(Alu::IEq, &[left, zero]);
        b.begin_if(left);
        b.inst(Op::CountSamples, &[covered], &[]);
        b.end_if();
    });
    let compiled = compile(executor, &p);
    let pair = |i: usize| (i as u32 * 7 % PAIRS, vec![PATTERNS[i % PATTERNS.len()]]);
    let batches = [
        batch(vec![], (0..20).map(pair).collect()),
        batch(vec![], (3..4).map(pair).collect()),
        batch(vec![], (10..43).map(pair).collect()),
    ];
    let mut planes = empty_planes(4);
    let mut want = planes.clone();
    let (mut covered, mut left) = (0, 0);
    for (index, coverage) in batches.iter().flat_map(|b| &b.pairs) {
        for lane in (0..8).filter(|l| coverage[0] >> l & 1 != 0) {
            let at = (index * 8 + lane) as usize;
            let (x, y) = pixel(*index, lane);
            left += u64::from((320 + x + 1000 * (64 + y)) & 4 == 0);
            want[1][at] = want[1][at].wrapping_add(want[0][at]);
            want[2][at] = 320 + x + 1000 * (64 + y);
            want[3][at] = want[1][at];
            covered += 1;
        }
    }
    let mut env = Env::default();
    run(&*compiled, 1, &batches, &mut planes, &mut env);
    assert_eq!(planes, want, "{}", executor.name());
    assert_eq!((env.invocations, env.samples_passed), (covered, covered + left));
}

/// A store writes in active lanes only, so that a branch with stores is skipped where no lane takes it.
pub fn stores_are_subject_to_the_active_mask(executor: &dyn Executor) {
    let p = fragment(1, &[], |b| {
        let covered = coverage(b, 0);
        let x = b.inst1(Op::PixelX, &[], Kind::U32);
        let (one, four) = (b.u32(1), b.u32(4));
        let odd = b.alu(Alu::And, &[x, one]);
        let odd = b.alu(Alu::IEq, &[odd, one]);
        let always = b.bool(true);
        b.begin_if(odd);
        tile_store(b, 0, x, covered);
        tile_store(b, 1, x, always);
        b.inst(Op::CountInvocations, &[always], &[]);
        b.end_if();
        let right = b.alu(Alu::And, &[x, four]);
        let right = b.alu(Alu::IEq, &[right, four]);
        let none = b.alu(Alu::Not, &[right]);
        b.begin_if(right);
        b.begin_if(none);
        tile_store(b, 2, x, always);
        b.end_if();
        b.end_if();
    });
    let compiled = compile(executor, &p);
    let pairs = (0..16u32)
        .map(|i| (i, vec![PATTERNS[i as usize % PATTERNS.len()]]))
        .collect();
    let batches = [batch(vec![], pairs)];
    let mut planes = empty_planes(3);
    let mut want = planes.clone();
    let mut odd = 0;
    for (index, coverage) in &batches[0].pairs {
        for lane in 0..8 {
            let x = 320 + pixel(*index, lane).0;
            // Both quads of a pair run only if the machine takes 8 lanes a step.
            if x & 1 == 1 {
                let at = (index * 8 + lane) as usize;
                let quad = coverage[0] >> (lane & 4) & 0xf;
                if quad == 0 {
                    planes[1][at] = x;
                } else {
                    odd += 1;
                }
                want[1][at] = x;
                if coverage[0] >> lane & 1 != 0 {
                    want[0][at] = x;
                }
            }
        }
    }
    let mut env = Env::default();
    run(&*compiled, 1, &batches, &mut planes, &mut env);
    assert_eq!(planes, want, "{}", executor.name());
    assert!(env.invocations >= odd, "{}", executor.name());
}

/// Words of draw, primitive and vertices; coverage of four samples; derivatives across a partly covered quad.
pub fn rates_and_coverage(executor: &dyn Executor) {
    let p = fragment(4, &[], |b| {
        let mut sum = b.u32(0);
        let words = [
            Op::DrawLoad {
                word: 3,
                kind: Kind::U32,
            },
            Op::PrimLoad {
                offset: 28,
                kind: Kind::U32,
            },
            Op::PrimVertexLoad {
                vertex: 0,
                offset: 4,
                kind: Kind::U32,
            },
            Op::PrimVertexLoad {
                vertex: 1,
                offset: 0,
                kind: Kind::U32,
            },
            Op::PrimVertexLoad {
                vertex: 2,
                offset: 12,
                kind: Kind::U32,
            },
        ];
        for op in words {
            let three = b.u32(3);
            sum = b.alu(Alu::IMul, &[sum, three]);
            let word = b.inst1(op, &[], Kind::U32);
            sum = b.alu(Alu::IAdd, &[sum, word]);
        }
        let always = b.bool(true);
        tile_store(b, 0, sum, always);
        for sample in 0..4 {
            let covered = coverage(b, sample);
            tile_store(b, 1 + u32::from(sample), sum, covered);
        }
        let x = b.inst1(Op::PixelX, &[], Kind::U32);
        let x = from_word(b, x, Kind::I32);
        let x = b.alu(Alu::SToF, &[x]);
        let x = b.alu(Alu::FMul, &[x, x]);
        let dx = b.quad(QuadOp::DdxFine, x);
        tile_store(b, 5, dx, always);
    });
    let compiled = compile(executor, &p);
    let pairs = |from: u32| -> Vec<(u32, Vec<u8>)> {
        (from..from + 9)
            .map(|i| (i, (0..4).map(|s| PATTERNS[(i as usize + s) % PATTERNS.len()]).collect()))
            .collect()
    };
    let batches: Vec<Batch> = (0..3).map(|r| batch(vec![1000 + r, 2000 + r], pairs(r * 10))).collect();
    let mut env = Env::default();
    env.draw[3] = 77;
    let mut planes = empty_planes(6);
    let mut want = planes.clone();
    for (r, batch) in batches.iter().enumerate() {
        let words = [77u32, 2000 + r as u32, 1, 100, 203];
        let sum = words.iter().fold(0u32, |sum, w| sum.wrapping_mul(3).wrapping_add(*w));
        for (index, coverage) in &batch.pairs {
            for lane in 0..8 {
                let any = coverage.iter().fold(0, |a, c| a | c);
                // A quad without any coverage need not run.
                if any >> (lane & 4) & 15 == 0 {
                    continue;
                }
                let at = (index * 8 + lane) as usize;
                want[0][at] = sum;
                for s in 0..4 {
                    if coverage[s] >> lane & 1 != 0 {
                        want[1 + s][at] = sum;
                    }
                }
                let left = (320 + pixel(*index, lane & !1).0) as f32;
                want[5][at] = ((left + 1.0) * (left + 1.0) - left * left).to_bits();
            }
        }
    }
    run(&*compiled, 4, &batches, &mut planes, &mut env);
    assert_eq!(planes, want, "{}", executor.name());
}

/// 2, 8 and 16 samples.
pub fn wide_pairs(executor: &dyn Executor) {
    for samples in [2u8, 8, 16] {
        let p = fragment(samples, &[], |b| {
            let mut mask = b.u32(0);
            for sample in 0..samples {
                let covered = coverage(b, sample);
                let (bit, zero) = (b.u32(1 << sample), b.u32(0));
                let bit = b.select(covered, bit, zero);
                mask = b.alu(Alu::Or, &[mask, bit]);
            }
            let zero = b.u32(0);
            let any = b.alu(Alu::INe, &[mask, zero]);
            tile_store(b, 0, mask, any);
        });
        let compiled = compile(executor, &p);
        let coverage = |i: u32| -> Vec<u8> {
            (0..samples)
                .map(|s| (i.wrapping_mul(0x9E37_79B1) >> (s % 24)) as u8 & PATTERNS[(i % 9) as usize])
                .collect()
        };
        let batches = [batch(vec![], (0..PAIRS).map(|i| (i, coverage(i))).collect())];
        let mut planes = empty_planes(1);
        let mut want = planes.clone();
        for (index, coverage) in &batches[0].pairs {
            for lane in 0..8 {
                let mask = coverage
                    .iter()
                    .enumerate()
                    .fold(0, |m, (s, c)| m | u32::from(c >> lane & 1) << s);
                if mask != 0 {
                    want[0][(index * 8 + lane) as usize] = mask;
                }
            }
        }
        run(&*compiled, samples.into(), &batches, &mut planes, &mut Env::default());
        assert_eq!(planes, want, "{}: {samples} samples", executor.name());
    }
}

const ACCESS: Access = Access {
    bounds: OutOfBounds::Zero,
    align: 4,
};

/// R-PS-50 to R-PS-54: helpers compute but don't store; atomics give them 0; `Discard` makes helpers, per lane.
pub fn discard_and_helpers(executor: &dyn Executor) {
    let p = fragment(1, &[1], |b| {
        let always = b.bool(true);
        let r = resource(0, false);
        let helper = b.inst1(Op::IsHelper, &[], Kind::Bool);
        let (one, zero) = (b.u32(1), b.u32(0));
        let word = b.select(helper, one, zero);
        tile_store(b, 0, word, always);
        let address = tile_load(b, 4, Kind::U32);
        let store = Op::BufferStore {
            buffer: r,
            access: ACCESS,
        };
        let mark = b.u32(5);
        b.inst(store, &[address, mark], &[]);
        // Discards lanes in odd columns of pixels, inside a loop.
        let x = b.inst1(Op::PixelX, &[], Kind::U32);
        let odd = b.alu(Alu::And, &[x, one]);
        let odd = b.alu(Alu::IEq, &[odd, one]);
        let l = b.begin_loop(LoopBound::AtMost(3));
        b.begin_if(odd);
        b.inst(Op::Discard, &[], &[]);
        b.break_(l);
        b.end_if();
        b.break_(l);
        b.end_loop(None);
        let helper = b.inst1(Op::IsHelper, &[], Kind::Bool);
        let word = b.select(helper, one, zero);
        tile_store(b, 1, word, always);
        let atomic = Op::BufferAtomic {
            buffer: r,
            op: AtomicOp::Add,
            access: ACCESS,
        };
        let ten = b.u32(10);
        let old = b.inst1(atomic, &[address, ten], Kind::U32);
        tile_store(b, 2, old, always);
        // Discarded lanes go on: their neighbours take differences.
        let float = from_word(b, x, Kind::I32);
        let float = b.alu(Alu::SToF, &[float]);
        let dx = b.quad(QuadOp::DdxCoarse, float);
        tile_store(b, 3, dx, always);
        // Loads by helpers are real.
        let load = Op::BufferLoad {
            buffer: r,
            kind: Kind::U32,
            access: ACCESS,
        };
        let loaded = b.inst1(load, &[address], Kind::U32);
        tile_store(b, 5, loaded, always);
    });
    let compiled = compile(executor, &p);
    let pair = |i: usize| (i as u32, vec![PATTERNS[i % PATTERNS.len()]]);
    let batches = [batch(vec![], (0..PAIRS as usize).map(pair).collect())];
    let mut planes = empty_planes(6);
    for (i, word) in planes[4].iter_mut().enumerate() {
        *word = 4 * i as u32;
    }
    let mut words = vec![1u32; PAIRS as usize * 8];
    let mut want_words = words.clone();
    let mut want = planes.clone();
    for (index, coverage) in &batches[0].pairs {
        for lane in 0..8 {
            if coverage[0] >> (lane & 4) & 15 == 0 {
                continue;
            }
            let at = (index * 8 + lane) as usize;
            let outside = coverage[0] >> lane & 1 == 0;
            let gone = outside || pixel(*index, lane).0 % 2 == 1;
            if !outside {
                want_words[at] = 5;
            }
            want[0][at] = outside.into();
            want[1][at] = gone.into();
            want[2][at] = if gone { 0 } else { 5 };
            if !gone {
                want_words[at] += 10;
            }
            want[3][at] = 1f32.to_bits();
            want[5][at] = want_words[at];
        }
    }
    let mut env = Env {
        bindings: vec![buffer(&mut words)],
        ..Env::default()
    };
    run(&*compiled, 1, &batches, &mut planes, &mut env);
    assert_eq!(words, want_words, "{}", executor.name());
    // Whether a quad without coverage runs beside one that has some is open; real stores are masked by coverage.
    for (index, coverage) in &batches[0].pairs {
        for lane in (0..8).filter(|lane| coverage[0] >> (lane & 4) & 15 == 0) {
            let at = (index * 8 + lane) as usize;
            for (plane, want) in planes.iter_mut().zip(&want) {
                plane[at] = want[at];
            }
        }
    }
    for p in 0..6 {
        assert_eq!(planes[p], want[p], "{}: plane {p}", executor.name());
    }
}

/// L1: what a quad without coverage would have done must not show: no endless loop of it may use up a budget.
pub fn empty_quads_do_nothing(executor: &dyn Executor) {
    let p = fragment(1, &[], |b| {
        // Ends at once in quads whose plane 0 holds 1, never in others.
        let stop = tile_load(b, 0, Kind::U32);
        let one = b.u32(1);
        let stop = b.alu(Alu::IEq, &[stop, one]);
        let l = b.begin_loop(LoopBound::Budgeted);
        b.begin_if(stop);
        b.break_(l);
        b.end_if();
        b.end_loop(None);
        let covered = coverage(b, 0);
        let done = b.u32(2);
        tile_store(b, 0, done, covered);
    });
    let compiled = compile(executor, &p);
    for (coverage, good) in [(0x0F, 0..4), (0xF0, 4..8), (0x01, 0..4), (0x80, 4..8)] {
        let batches = [batch(vec![], vec![(3, vec![coverage])])];
        let mut planes = vec![vec![0; PAIRS as usize * 8]];
        for lane in good {
            planes[0][3 * 8 + lane] = 1;
        }
        let mut want = planes.clone();
        for lane in (0..8).filter(|l| coverage >> l & 1 != 0) {
            want[0][3 * 8 + lane] = 2;
        }
        let mut env = Env {
            budget: 50,
            ..Env::default()
        };
        run(&*compiled, 1, &batches, &mut planes, &mut env);
        assert_eq!(env.status, 0, "{}: coverage {coverage:#x}", executor.name());
        assert_eq!(planes, want, "{}: coverage {coverage:#x}", executor.name());
    }
}

/// I7: polled once a run.
pub fn cancel_ends_the_call(executor: &dyn Executor) {
    let p = fragment(1, &[], |b| {
        let covered = coverage(b, 0);
        let value = b.u32(9);
        tile_store(b, 0, value, covered);
    });
    let compiled = compile(executor, &p);
    let batches = [batch(vec![], vec![(0, vec![0xFF])])];
    for (cancel, stays) in [(None, false), (Some(0), false), (Some(1), true)] {
        let mut planes = empty_planes(1);
        let before = planes.clone();
        let mut env = Env {
            cancel,
            ..Env::default()
        };
        run(&*compiled, 1, &batches, &mut planes, &mut env);
        assert_eq!(planes == before, stays, "{}: {cancel:?}", executor.name());
    }
}
