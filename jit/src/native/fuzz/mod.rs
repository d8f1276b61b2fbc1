//! Random programs on native code at both widths against the interpreter: equal to the bit, NaNs as a class (law L1).
//!
//! `QUADRILLE_FUZZ=N` runs N programs instead of the few that the test suite can afford; `QUADRILLE_FUZZ_SEED=S` starts
//! at program S; `QUADRILLE_FUZZ_BUDGET=B` gives every program that loop budget.

mod generate;
mod random;

use super::{Features, Interleave, Jit, JitOptions, Lanes};
use crate::abi::{Binding, Cell, Context, Pair, RESULT_CELL, Run, TextureInfo, WidePair};
use crate::count::Counting;
use crate::interp::Interpreter;
use crate::program::{Compiled, Executor, Program, ProgramKind};
use generate::{OUTPUTS, PLANE, generate, shares};
use quadrille_frontend::ir::text;
use quadrille_frontend::passes;
use random::Rng;
use std::sync::Arc;
/// A sampler of sorts: reads its arguments across the quad, so that wrong inactive lanes show.
unsafe extern "C" fn sample(a: *const Binding, _: *const Binding, op: u64, cells: *mut Cell, lanes: u32) {
    // Which components are used says nothing about their values.
    let op = op & !(15 << 10);
    // SAFETY: tests bind a valid view and give the scratch its size.
    let (a, cells) = unsafe { (&*a, std::slice::from_raw_parts_mut(cells, crate::abi::CALL_CELLS)) };
    // Passes narrow the mask of used components.
    const UNUSED: u32 = 15 << 10;
    let mut results = [Cell([0xbad; 8]); 5];
    for lane in 0..lanes as usize {
        for (i, result) in results.iter_mut().enumerate() {
            let mix = cells[1].0[lane] ^ cells[2].0[lane ^ 1].rotate_left(7) ^ (op as u32 & !UNUSED) ^ (a.size as u32);
            // Small positive floats, so that nothing here is a NaN.
            result.0[lane] = 0x3f00_0000 | (mix.wrapping_mul(i as u32 * 2 + 1) >> 9);
        }
    }
    cells[RESULT_CELL..RESULT_CELL + 5].copy_from_slice(&results);
    // Whatever else is in the call cells is the intrinsic's to overwrite.
    for (i, cell) in cells[..27].iter_mut().enumerate() {
        *cell = Cell([0x5a5a_0000 + i as u32; 8]);
    }
}

/// Everything a program may change.
#[derive(PartialEq, Eq, Clone, Debug)]
struct Outcome {
    cells: Vec<Cell>,
    tile: Vec<Cell>,
    writable: Vec<u32>,
    invocations: u64,
    failed: bool,
}

impl Outcome {
    /// Where another one is different first.
    fn difference(&self, other: &Outcome) -> Option<String> {
        fn first<T: PartialEq + std::fmt::LowerHex>(
            what: &str,
            a: impl Iterator<Item = T>,
            b: impl Iterator<Item = T>,
        ) -> Option<String> {
            let (at, (a, b)) = a.zip(b).enumerate().find(|(_, (a, b))| a != b)?;
            Some(format!("{what} {at} is {b:x} for {a:x}"))
        }
        let words = |cells: &[Cell]| cells.iter().flat_map(|c| c.0).collect::<Vec<u32>>().into_iter();
        if self.failed != other.failed {
            return Some(format!("failed is {} for {}", other.failed, self.failed));
        }
        first("cell word", words(&self.cells), words(&other.cells))
            .or_else(|| first("tile word", words(&self.tile), words(&other.tile)))
            .or_else(|| {
                first(
                    "buffer word",
                    self.writable.iter().copied(),
                    other.writable.iter().copied(),
                )
            })
            .or_else(|| {
                first(
                    "invocations",
                    [self.invocations].into_iter(),
                    [other.invocations].into_iter(),
                )
            })
    }
}

/// Runs a program on inputs made from the seed.
fn run(program: &Program, compiled: &dyn Compiled, seed: u64, budget: u32) -> Outcome {
    let mut rng = Rng::new(seed ^ 0xabcdef);
    const GROUPS: usize = 3;
    let mut input: Vec<Cell> = (0..GROUPS * 5)
        .map(|_| Cell(std::array::from_fn(|_| rng.bits())))
        .collect();
    for group in 0..GROUPS {
        input[group * 5] = Cell(std::array::from_fn(|i| (group * 8 + i) as u32));
    }
    let draw: Vec<u32> = (0..8).map(|_| rng.bits()).collect();
    let read_only: Vec<u32> = (0..64).map(|_| rng.bits()).collect();
    // Not enough for every lane, so that some are out of bounds.
    let mut writable = vec![
        0u32;
        if matches!(program.kind, ProgramKind::Vertex { .. }) {
            20 * 16
        } else {
            3000 * 16
        }
    ];
    let blocks: Vec<[u32; 4]> = (0..3).map(|_| std::array::from_fn(|_| rng.bits())).collect();
    let mut records: Vec<[u64; 6]> = Vec::new();
    for _ in 0..2 {
        let mut record = [0; 6];
        for (slot, block) in record.iter_mut().zip(&blocks) {
            *slot = block.as_ptr().addr() as u64;
        }
        for word in &mut record[3..] {
            *word = u64::from(rng.bits()) | u64::from(rng.bits()) << 32;
        }
        records.push(record);
    }
    let mut pairs: Vec<Pair> = Vec::new();
    let mut wide: Vec<WidePair> = Vec::new();
    for index in 0..5u16 {
        let coverage: [u8; 16] = std::array::from_fn(|_| match rng.below(4) {
            0 => 0xff,
            1 => 0x0f,
            2 => 0x40,
            _ => rng.next() as u8 | 1,
        });
        let (index, x, y) = (index * 3, (index as u8 % 4) * 4, (index as u8 / 2) * 2);
        pairs.push(Pair {
            index,
            x,
            y,
            coverage: std::array::from_fn(|i| coverage[i]),
        });
        wide.push(WidePair {
            index,
            x,
            y,
            reserved: 0,
            coverage,
        });
    }
    let mut tile: Vec<Cell> = (0..3 * PLANE / 32)
        .map(|_| Cell(std::array::from_fn(|_| rng.bits())))
        .collect();
    let samples = match program.kind {
        ProgramKind::Fragment { samples, .. } => samples,
        _ => 1,
    };
    for pair in &mut pairs {
        for (i, byte) in pair.coverage.iter_mut().enumerate() {
            if i >= samples as usize {
                *byte = 0;
            }
        }
    }
    let first: *const Pair = if samples > 4 {
        wide.as_ptr().cast()
    } else {
        pairs.as_ptr()
    };
    let second: *const Pair = if samples > 4 {
        wide[3..].as_ptr().cast()
    } else {
        pairs[3..].as_ptr()
    };
    let run = |prim: &[u64; 6], pairs, count| Run {
        prim: prim.as_ptr().cast(),
        pairs,
        count,
        reserved: 0,
    };
    let runs = [run(&records[0], first, 3), run(&records[1], second, 2)];
    let info = TextureInfo {
        width: 37,
        height: 20,
        depth: 1,
        layers: 1,
        levels: 6,
        samples: 1,
    };
    let texture = |salt| Binding {
        size: salt,
        sample: Some(sample),
        load: Some(sample),
        info: &info,
        ..Binding::NULL
    };
    let bindings = [
        Binding {
            data: read_only.as_ptr().cast(),
            size: 256,
            ..Binding::NULL
        },
        Binding {
            data: writable.as_mut_ptr().cast(),
            size: size_of_val(&writable[..]) as u64,
            ..Binding::NULL
        },
        texture(1),
        Binding::NULL,
        texture(3),
        Binding::NULL,
    ];
    let mut cells = vec![Cell::default(); GROUPS * OUTPUTS as usize];
    let mut scratch = vec![Cell([0xdead_beef; 8]); compiled.scratch_cells()];
    let vertex = matches!(program.kind, ProgramKind::Vertex { .. });
    let mut context = Context {
        count: if vertex { GROUPS as u32 } else { 2 },
        runs: runs.as_ptr(),
        cells_in: input.as_ptr(),
        cells_out: cells.as_mut_ptr(),
        tile: tile.as_mut_ptr().cast(),
        tile_x: 128,
        tile_y: 64,
        draw: draw.as_ptr(),
        scratch: scratch.as_mut_ptr(),
        bindings: bindings.as_ptr(),
        loop_budget: budget,
        ..Context::new(compiled.stats().lanes)
    };
    // SAFETY: all that generated programs touch is set above, with room for it.
    unsafe { compiled.run(&mut context) };
    Outcome {
        failed: context.status != 0,
        invocations: context.invocations,
        cells,
        tile,
        writable,
    }
}

/// Native code in a way; programs that need the order of lanes keep it, others needn't be told from them.
struct Way {
    name: &'static str,
    ordered: Jit,
    relaxed: Jit,
}

impl Way {
    fn new(name: &'static str, lanes: Lanes, features: Features, interleave: Interleave) -> Way {
        Way::with(
            name,
            JitOptions {
                lanes,
                features,
                interleave,
                ..JitOptions::default()
            },
        )
    }

    fn with(name: &'static str, options: JitOptions) -> Way {
        let jit = |relaxed| {
            Jit::new(JitOptions { relaxed, ..options })
                .expect("a supported CPU")
                .on_decline(|name, why| panic!("{name} stays at four lanes: {why}"))
        };
        Way {
            name,
            ordered: jit(false),
            relaxed: jit(true),
        }
    }

    fn jit(&self, seed: u64) -> &Jit {
        if shares(seed) { &self.ordered } else { &self.relaxed }
    }
}

/// Programs that the test suite runs, and data that each runs on: 10 million lane operations of native code.
const COUNT: u64 = 100;
const DATA: u64 = 12;

/// Seeds that once differed run at this budget too: there a loop ends in the middle.
const SMALL_BUDGET: u32 = 6;

/// Runs one program in every way; gives how many had two pairs in flight, and the lane operations that were compared.
fn differ(seed: u64, budget: Option<u32>, ways: &[Way]) -> (u32, u64) {
    let fragment = seed & 1 != 0;
    let samples = [1, 4, 8, 2][(seed >> 1) as usize % 4];
    let program = generate(seed, fragment, samples);
    // Passes prove loops bounded, which then cost no budget.
    let optimised = seed.is_multiple_of(3);
    let usual = if seed.is_multiple_of(5) && !optimised {
        SMALL_BUDGET
    } else {
        1 << 20
    };
    let budget = budget.unwrap_or(usual);
    // The first data are the seed's own.
    let data = (0..DATA).map(|k| seed ^ k << 40);
    let execute = |executor: &dyn Executor, program: &Program| -> Vec<Outcome> {
        let compiled = executor.compile(program).expect("the interpreter takes every program");
        data.clone().map(|d| run(program, &*compiled, d, budget)).collect()
    };
    let mut expected = execute(&Interpreter, &program);
    let mut program = program;
    if optimised {
        // What the passes make of it must be the same program still.
        let function = program.function.clone();
        let options = passes::Options {
            contract: false,
            invariant: &[],
        };
        match passes::optimize(function, &program.resources, &options) {
            Ok((function, _)) => program.function = function,
            Err(error) => panic!("seed {seed}: {error}\n{}", text::print_function(&program.function)),
        }
        let got = execute(&Interpreter, &program);
        for (expected, got) in expected.iter().zip(&got) {
            assert!(
                expected.failed || got == expected,
                "seed {seed}: the passes changed the program"
            );
        }
        // What the passes proved bounded doesn't fail any more.
        expected = got;
    }
    let counting = Counting::new(|_| true);
    execute(&counting, &program);
    let mut doubled = 0;
    for way in ways {
        let (name, jit) = (way.name, way.jit(seed));
        let show = || text::print_function(&program.function);
        plain(&jit.clif(&program, 4).unwrap_or_default());
        let compiled: Arc<dyn Compiled> = match jit.compile(&program) {
            Ok(compiled) => compiled,
            Err(error) => panic!(
                "seed {seed}, {name}: {error}\n{}\n{}",
                show(),
                jit.clif(&program, 4).unwrap_or_default()
            ),
        };
        doubled += u32::from(compiled.stats().pairs == 2);
        for (data, expected) in data.clone().zip(&expected) {
            let got = run(&program, &*compiled, data, budget);
            assert_eq!(got.failed, expected.failed, "seed {seed}, {name}: budget\n{}", show());
            if let Some(what) = expected.difference(&got).filter(|_| !got.failed) {
                panic!("seed {seed}, data {data:x}, {name}: {what}\n{}", show());
            }
        }
    }
    (doubled, counting.operations().get() * ways.len() as u64)
}

/// Law L5: nothing that can't be widened, nor traps, nor calls by name.
fn plain(clif: &str) {
    let body = clif.split_once('{').map_or("", |(_, body)| body);
    for word in body.split(|c: char| !(c.is_alphanumeric() || c == '_')) {
        let banned = [
            "insertlane",
            "extractlane",
            "scalar_to_vector",
            "stack_addr",
            "stack_load",
            "stack_store",
            "br_table",
            "call",
            "trap",
            "trapz",
            "trapnz",
            "udiv",
            "sdiv",
            "urem",
            "srem",
            "fcvt_to_sint",
            "fcvt_to_uint",
            "fmin",
            "fmax",
            "f64x2",
        ];
        assert!(!banned.contains(&word), "{word} in\n{clif}");
    }
}

fn env(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

fn ways() -> [Way; 7] {
    let long = |name, lanes| {
        Way::with(
            name,
            JitOptions {
                lanes,
                longest: 0,
                ..JitOptions::default()
            },
        )
    };
    [
        Way::new("4 lanes", Lanes::Four, Features::Host, Interleave::Auto),
        Way::new("8 lanes", Lanes::Auto, Features::Host, Interleave::Never),
        Way::new("two pairs", Lanes::Auto, Features::Host, Interleave::Always),
        Way::new("no fma", Lanes::Four, Features::NoFma, Interleave::Auto),
        Way::new("baseline", Lanes::Four, Features::Baseline, Interleave::Auto),
        long("as if it were long, 4 lanes", Lanes::Four),
        long("as if it were long, 8 lanes", Lanes::Auto),
    ]
}

/// Laws L1 and L2, and everything else that could come between IR and machine code.
#[test]
fn random_programs_agree_with_the_interpreter() {
    let ways = ways();
    let count = env("QUADRILLE_FUZZ").unwrap_or(COUNT);
    let first = env("QUADRILLE_FUZZ_SEED").unwrap_or(1);
    let budget = env("QUADRILLE_FUZZ_BUDGET").map(|b| b as u32);
    let (mut doubled, mut operations) = (0, 0);
    for seed in first..first + count {
        let (pairs, work) = differ(seed, budget, &ways);
        doubled += pairs;
        operations += work;
    }
    println!("{count} programs, {operations} lane operations of native code compared");
    assert!(doubled > 0 || count < 20, "no program had two pairs in flight");
    assert!(
        operations >= 10_000_000 || count < COUNT,
        "only {operations} lane operations"
    );
}

/// Programs that executors once disagreed on, with as many iterations as they want and with too few.
#[test]
fn programs_that_once_differed_agree() {
    let ways = ways();
    for seed in [8670, 5135, 1_004_308] {
        for budget in [None, Some(1), Some(SMALL_BUDGET), Some(40)] {
            differ(seed, budget, &ways);
        }
    }
}

/// Law N8: programs whose lanes write one another's words leave the same there in every way.
#[test]
fn programs_that_share_memory_agree() {
    let ways = ways();
    let count = env("QUADRILLE_FUZZ").unwrap_or(20);
    for seed in (3..3 + 7 * count).step_by(7) {
        assert!(shares(seed));
        differ(seed, None, &ways);
    }
}

/// Laws L1, L2 and I4: passes change nothing that a program leaves behind. Contraction does, and is left out.
#[test]
fn optimised_random_programs_do_the_same() {
    let [four, wide, ..] = ways();
    let count = env("QUADRILLE_FUZZ").unwrap_or(150);
    let first = env("QUADRILLE_FUZZ_SEED").unwrap_or(1);
    // The passes made a branch of which both sides leave.
    let once_differed = [1495];
    for seed in (first..first + count).chain(once_differed) {
        let samples = [1, 4, 8, 2][(seed >> 1) as usize % 4];
        let program = generate(seed, seed & 1 != 0, samples);
        let options = passes::Options {
            contract: false,
            ..passes::Options::default()
        };
        let mut optimised = program.clone();
        optimised.function = match passes::optimize(program.function.clone(), &program.resources, &options) {
            Ok((function, _)) => function,
            Err(error) => panic!("seed {seed}: {error}\n{}", text::print_function(&program.function)),
        };
        let execute = |executor: &dyn Executor, program: &Program| {
            let compiled = match executor.compile(program) {
                Ok(compiled) => compiled,
                Err(error) => panic!("seed {seed}: {error}\n{}", text::print_function(&program.function)),
            };
            run(program, &*compiled, seed, 1 << 20)
        };
        let expected = execute(&Interpreter, &program);
        let executors = [
            ("interpreter", &Interpreter as &dyn Executor),
            (four.name, four.jit(seed)),
            (wide.name, wide.jit(seed)),
        ];
        for (name, executor) in executors {
            let got = execute(executor, &optimised);
            if let Some(what) = expected.difference(&got) {
                let (before, after) = (&program.function, &optimised.function);
                panic!(
                    "seed {seed}, {name}: optimised differs: {what}\n{}\n{}",
                    text::print_function(before),
                    text::print_function(after)
                );
            }
        }
    }
}
