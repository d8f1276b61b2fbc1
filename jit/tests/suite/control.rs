//! Structured flow, lane by lane, against plain Rust (law L1; SEED-0.6).

use super::{Bits, Env, cells_program, compile, draw_word, run_cells, run_once};
use quadrille_frontend::ir::{
    Access, Alu, FunctionBuilder, Handle, Kind, Local, LoopBound, Op, OutOfBounds, QuadOp, Value,
};
use quadrille_jit::{Executor, Program};

/// Small numbers, so that lanes of a quad meet all combinations.
fn small(seed: u64, below: u32) -> Vec<u32> {
    Bits(seed).column(8 * 48).iter().map(|x| (x >> 7) % below).collect()
}

/// Runs a program of one u32 operand per entry of `columns`, and compares its first result with `reference`.
fn check(executor: &dyn Executor, program: &Program, columns: &[Vec<u32>], reference: impl Fn(&[u32]) -> u32) {
    let out = run_once(executor, program, columns);
    for row in 0..columns[0].len() {
        let operands: Vec<u32> = columns.iter().map(|c| c[row]).collect();
        assert_eq!(
            out[0][row],
            reference(&operands),
            "{}: operands {operands:?}, row {row}",
            executor.name()
        );
    }
}

fn equals(b: &mut FunctionBuilder, a: Value, n: u32) -> Value {
    let n = b.u32(n);
    b.alu(Alu::IEq, &[a, n])
}

fn below(b: &mut FunctionBuilder, a: Value, n: u32) -> Value {
    let n = b.u32(n);
    b.alu(Alu::ULt, &[a, n])
}

/// local = local * factor + term.
fn mix(b: &mut FunctionBuilder, local: Handle<Local>, factor: u32, term: u32) {
    let old = b.get(local);
    let (factor, term) = (b.u32(factor), b.u32(term));
    let new = b.alu(Alu::IMul, &[old, factor]);
    let new = b.alu(Alu::IAdd, &[new, term]);
    b.set(local, new);
}

fn mixed(value: &mut u32, factor: u32, term: u32) {
    *value = value.wrapping_mul(factor).wrapping_add(term);
}

fn increment(b: &mut FunctionBuilder, local: Handle<Local>) -> Value {
    let old = b.get(local);
    let one = b.u32(1);
    let new = b.alu(Alu::IAdd, &[old, one]);
    b.set(local, new);
    new
}

pub fn nested_ifs(executor: &dyn Executor) {
    let p = cells_program(&[Kind::U32, Kind::U32], &[], |b, a| {
        let r = b.local("r", Kind::U32);
        mix(b, r, 1, 1);
        let c = below(b, a[0], 4);
        b.begin_if(c);
        mix(b, r, 3, 1);
        let c = equals(b, a[1], 2);
        b.begin_if(c);
        mix(b, r, 5, 2);
        b.begin_else();
        let c = equals(b, a[0], 1);
        b.begin_if(c);
        mix(b, r, 7, 3);
        b.end_if();
        mix(b, r, 11, 4);
        b.end_if();
        mix(b, r, 13, 5);
        b.begin_else();
        mix(b, r, 17, 6);
        let c = below(b, a[1], 3);
        b.begin_if(c);
        b.begin_else();
        mix(b, r, 19, 7);
        b.end_if();
        b.end_if();
        vec![b.get(r)]
    });
    check(executor, &p, &[small(1, 7), small(2, 5)], |a| {
        let mut r = 1;
        if a[0] < 4 {
            mixed(&mut r, 3, 1);
            if a[1] == 2 {
                mixed(&mut r, 5, 2);
            } else {
                if a[0] == 1 {
                    mixed(&mut r, 7, 3);
                }
                mixed(&mut r, 11, 4);
            }
            mixed(&mut r, 13, 5);
        } else {
            mixed(&mut r, 17, 6);
            if a[1] >= 3 {
                mixed(&mut r, 19, 7);
            }
        }
        r
    });
}

/// SEED-0.6: trip counts differ by lane; what comes after sees every lane again, derivatives included.
pub fn lanes_leave_loops_one_by_one(executor: &dyn Executor) {
    let p = cells_program(&[Kind::U32], &[], |b, a| {
        let (i, r) = (b.local("i", Kind::U32), b.local("r", Kind::U32));
        let l = b.begin_loop(LoopBound::Budgeted);
        let now = b.get(i);
        let done = b.alu(Alu::ULe, &[a[0], now]);
        b.begin_if(done);
        b.break_(l);
        b.end_if();
        let c = equals(b, now, 2);
        b.begin_if(c);
        b.continue_(l);
        b.end_if();
        mix(b, r, 31, 7);
        b.begin_continuing();
        increment(b, i);
        b.end_loop(None);
        let count = b.get(i);
        let dx = b.quad(QuadOp::SwapX, count);
        let hundred = b.u32(100);
        let dx = b.alu(Alu::IMul, &[dx, hundred]);
        let result = b.get(r);
        vec![result, b.alu(Alu::IAdd, &[dx, count])]
    });
    let column = small(3, 9);
    let out = run_once(executor, &p, std::slice::from_ref(&column));
    for row in 0..column.len() {
        let mut r = 0;
        (0..column[row]).filter(|&i| i != 2).for_each(|_| mixed(&mut r, 31, 7));
        assert_eq!(out[0][row], r, "row {row}");
        assert_eq!(out[1][row], column[row ^ 1] * 100 + column[row], "row {row}");
    }
}

/// I1: one mask per label; exits cross several constructs.
pub fn exits_through_several_levels(executor: &dyn Executor) {
    let p = cells_program(&[Kind::U32, Kind::U32], &[], |b, a| {
        let (i, j, r) = (
            b.local("i", Kind::U32),
            b.local("j", Kind::U32),
            b.local("r", Kind::U32),
        );
        let around = b.begin_block();
        let outer = b.begin_loop(LoopBound::Budgeted);
        let now = b.get(i);
        let c = b.alu(Alu::ULe, &[a[0], now]);
        b.begin_if(c);
        b.break_(outer);
        b.end_if();
        let zero = b.u32(0);
        b.set(j, zero);
        let inner = b.begin_loop(LoopBound::AtMost(6));
        let at = b.get(j);
        let c = equals(b, at, 6);
        b.begin_if(c);
        b.break_(inner);
        b.end_if();
        mix(b, r, 3, 1);
        let sum = b.alu(Alu::IAdd, &[now, at]);
        let choice = b.alu(Alu::Xor, &[sum, a[1]]);
        let switch = b.begin_switch(choice);
        b.begin_case(vec![1], false);
        mix(b, r, 5, 1);
        b.break_(inner);
        b.end_case(false);
        b.begin_case(vec![2, 9], false);
        mix(b, r, 7, 1);
        b.continue_(outer);
        b.end_case(false);
        b.begin_case(vec![3], false);
        mix(b, r, 11, 1);
        b.continue_(inner);
        b.end_case(true);
        b.begin_case(vec![4], false);
        mix(b, r, 13, 1);
        let c = equals(b, at, 0);
        b.begin_if(c);
        b.break_(switch);
        b.end_if();
        mix(b, r, 17, 1);
        b.end_case(false);
        b.begin_case(vec![12], false);
        b.break_(around);
        b.end_case(false);
        b.begin_case(vec![], true);
        mix(b, r, 19, 1);
        b.end_case(false);
        b.end_switch();
        mix(b, r, 23, 1);
        b.begin_continuing();
        increment(b, j);
        b.end_loop(None);
        mix(b, r, 29, 1);
        b.begin_continuing();
        increment(b, i);
        b.end_loop(None);
        mix(b, r, 37, 1);
        b.end_block();
        mix(b, r, 41, 1);
        vec![b.get(r)]
    });
    check(executor, &p, &[small(4, 8), small(5, 16)], |a| {
        let mut r = 0;
        'around: {
            let mut i = 0;
            'outer: while i < a[0] {
                let mut j = 0;
                'inner: while j < 6 {
                    mixed(&mut r, 3, 1);
                    'switch: {
                        match (i + j) ^ a[1] {
                            1 => {
                                mixed(&mut r, 5, 1);
                                break 'inner;
                            }
                            2 | 9 => {
                                mixed(&mut r, 7, 1);
                                i += 1;
                                continue 'outer;
                            }
                            3 => {
                                mixed(&mut r, 11, 1);
                                j += 1;
                                continue 'inner;
                            }
                            4 => {
                                mixed(&mut r, 13, 1);
                                if j == 0 {
                                    break 'switch;
                                }
                                mixed(&mut r, 17, 1);
                            }
                            12 => break 'around,
                            _ => mixed(&mut r, 19, 1),
                        }
                    }
                    mixed(&mut r, 23, 1);
                    j += 1;
                }
                mixed(&mut r, 29, 1);
                i += 1;
            }
            mixed(&mut r, 37, 1);
        }
        mixed(&mut r, 41, 1);
        r
    });
}

/// Both sides of a branch leave, so that nobody is left behind it, in bodies of every length (long ones are skipped where
/// no lane wants them), inside a branch, a switch's case that falls through, and a loop.
pub fn both_sides_leave(executor: &dyn Executor) {
    for length in [0, 1, 20] {
        let p = cells_program(&[Kind::U32, Kind::U32], &[], |b, a| {
            let (i, r) = (b.local("i", Kind::U32), b.local("r", Kind::U32));
            let mixes = |b: &mut FunctionBuilder| (0..length).for_each(|_| mix(b, r, 3, 1));
            let around = b.begin_block();
            let switch = b.begin_switch(a[0]);
            b.begin_case(vec![0, 1], false);
            let c = below(b, a[1], 4);
            b.begin_if(c);
            mixes(b);
            let c = below(b, a[1], 2);
            b.begin_if(c);
            b.break_(around);
            b.begin_else();
            b.break_(around);
            b.end_if();
            b.end_if();
            b.end_case(true);
            b.begin_case(vec![2], false);
            mix(b, r, 5, 2);
            let c = below(b, a[1], 6);
            b.begin_if(c);
            mixes(b);
            let c = below(b, a[1], 5);
            b.begin_if(c);
            b.break_(switch);
            b.begin_else();
            b.break_(around);
            b.end_if();
            b.end_if();
            mix(b, r, 7, 3);
            b.end_case(false);
            b.begin_case(vec![], true);
            let l = b.begin_loop(LoopBound::AtMost(9));
            let now = b.get(i);
            let c = equals(b, now, 8);
            b.begin_if(c);
            b.break_(l);
            b.end_if();
            let c = b.alu(Alu::ULt, &[now, a[1]]);
            b.begin_if(c);
            mixes(b);
            let c = equals(b, a[0], 3);
            b.begin_if(c);
            b.continue_(l);
            b.begin_else();
            b.break_(l);
            b.end_if();
            b.end_if();
            mix(b, r, 11, 4);
            b.begin_continuing();
            increment(b, i);
            b.end_loop(None);
            mix(b, r, 13, 5);
            b.end_case(false);
            b.end_switch();
            mix(b, r, 17, 6);
            b.end_block();
            mix(b, r, 19, 7);
            vec![b.get(r)]
        });
        check(executor, &p, &[small(6, 5), small(7, 8)], |a| {
            let mut r = 0;
            let mixes = |r: &mut u32| (0..length).for_each(|_| mixed(r, 3, 1));
            'around: {
                'switch: {
                    if a[0] <= 2 {
                        if a[0] < 2 && a[1] < 4 {
                            mixes(&mut r);
                            break 'around;
                        }
                        mixed(&mut r, 5, 2);
                        if a[1] < 6 {
                            mixes(&mut r);
                            if a[1] < 5 {
                                break 'switch;
                            }
                            break 'around;
                        }
                        mixed(&mut r, 7, 3);
                    } else {
                        for i in 0..8 {
                            if i < a[1] {
                                mixes(&mut r);
                                if a[0] == 3 {
                                    continue;
                                }
                                break;
                            }
                            mixed(&mut r, 11, 4);
                        }
                        mixed(&mut r, 13, 5);
                    }
                }
                mixed(&mut r, 17, 6);
            }
            mixed(&mut r, 19, 7);
            r
        });
    }
}

/// Lanes that leave a switch by a masked break stay out of the case that the others fall into, whatever the selector is alike in.
pub fn breaks_before_a_fall(executor: &dyn Executor) {
    // The selector per lane, for the draw (a table's element that nobody writes), and constant.
    for selector in 0..3 {
        let p = cells_program(&[Kind::U32, Kind::U32], &[], |b, a| {
            let r = b.local("r", Kind::U32);
            let zero = b.u32(0);
            let selector = match selector {
                0 => a[1],
                1 => {
                    let table = b.array("table", Kind::U32, 2);
                    b.array_get(table, zero)
                }
                _ => zero,
            };
            let switch = b.begin_switch(selector);
            b.begin_case(vec![0], false);
            mix(b, r, 3, 1);
            let c = below(b, a[0], 3);
            b.begin_if(c);
            mix(b, r, 5, 2);
            b.break_(switch);
            b.end_if();
            b.end_case(true);
            b.begin_case(vec![1], true);
            mix(b, r, 7, 3);
            let c = equals(b, a[0], 4);
            b.begin_if(c);
            b.break_(switch);
            b.end_if();
            b.end_case(true);
            b.begin_case(vec![2], false);
            mix(b, r, 11, 4);
            b.end_case(false);
            b.end_switch();
            mix(b, r, 13, 5);
            vec![b.get(r)]
        });
        check(executor, &p, &[small(8, 6), small(9, 4)], |a| {
            let mut r = 0;
            let chosen = if selector == 0 { a[1] } else { 0 };
            'switch: {
                if chosen == 0 {
                    mixed(&mut r, 3, 1);
                    if a[0] < 3 {
                        mixed(&mut r, 5, 2);
                        break 'switch;
                    }
                }
                if chosen != 2 {
                    mixed(&mut r, 7, 3);
                    if a[0] == 4 {
                        break 'switch;
                    }
                }
                mixed(&mut r, 11, 4);
            }
            mixed(&mut r, 13, 5);
            r
        });
    }
}

/// The same switch with a selector per lane, for the draw, and constant; default first, middle, last and absent.
pub fn switches_fall_through(executor: &dyn Executor) {
    for place in 0..4 {
        let cases: Vec<(Vec<u32>, bool, bool)> = (0..3)
            .map(|c| {
                let default = c == place;
                // Value 7 stands with another in one case; the second case has no value if it is the default.
                let values = if default && c == 1 {
                    vec![]
                } else {
                    vec![c as u32 + 1, 7 + c as u32]
                };
                (values, default, c != 1)
            })
            .collect();
        let reference = |s: u32, r: &mut u32| {
            let start = cases
                .iter()
                .position(|c| c.0.contains(&s))
                .or_else(|| cases.iter().position(|c| c.1));
            for (c, case) in cases.iter().enumerate().skip(start.unwrap_or(3)) {
                mixed(r, 10, c as u32 + 1);
                // The second case leaves early for odd values of r.
                if c == 1 && *r & 1 == 1 {
                    break;
                }
                mixed(r, 10, 5);
                if !case.2 {
                    break;
                }
            }
            mixed(r, 3, 1);
        };
        let build = |b: &mut FunctionBuilder, r: Handle<Local>, selector: Value| {
            let label = b.begin_switch(selector);
            for (c, (values, default, falls)) in cases.iter().enumerate() {
                b.begin_case(values.clone(), *default);
                mix(b, r, 10, c as u32 + 1);
                if c == 1 {
                    let now = b.get(r);
                    let one = b.u32(1);
                    let odd = b.alu(Alu::And, &[now, one]);
                    let odd = b.alu(Alu::IEq, &[odd, one]);
                    b.begin_if(odd);
                    b.break_(label);
                    b.end_if();
                }
                mix(b, r, 10, 5);
                b.end_case(*falls);
            }
            b.end_switch();
            mix(b, r, 3, 1);
        };
        let p = cells_program(&[Kind::U32], &[], |b, a| {
            let r = b.local("r", Kind::U32);
            build(b, r, a[0]);
            let signed = b.bitcast(a[0], Kind::I32);
            build(b, r, signed);
            let uniform = draw_word(b, 0, Kind::U32);
            build(b, r, uniform);
            let fixed = b.u32(2);
            build(b, r, fixed);
            vec![b.get(r)]
        });
        let compiled = compile(executor, &p);
        let column = small(6, 12);
        for uniform in [0, 1, 2, 3, 8, 100] {
            let mut env = Env::default();
            env.draw[0] = uniform;
            let out = run_cells(&*compiled, &p, std::slice::from_ref(&column), &mut env);
            for (row, &s) in column.iter().enumerate() {
                let mut r = 0;
                for selector in [s, s, uniform, 2] {
                    reference(selector, &mut r);
                }
                assert_eq!(out[0][row], r, "default at {place}, selector {s}, uniform {uniform}");
            }
        }
    }
}

pub fn blocks_and_early_returns(executor: &dyn Executor) {
    let p = cells_program(&[Kind::U32], &[], |b, a| {
        let r = b.local("r", Kind::U32);
        let outer = b.begin_block();
        let inner = b.begin_block();
        mix(b, r, 2, 1);
        let c = below(b, a[0], 2);
        b.begin_if(c);
        mix(b, r, 3, 1);
        b.break_(outer);
        b.end_if();
        let c = below(b, a[0], 4);
        b.begin_if(c);
        b.break_(inner);
        b.begin_else();
        mix(b, r, 5, 1);
        b.end_if();
        mix(b, r, 7, 1);
        b.end_block();
        mix(b, r, 11, 1);
        b.end_block();
        vec![b.get(r)]
    });
    check(executor, &p, &[small(7, 6)], |a| {
        let mut r = 1;
        if a[0] < 2 {
            mixed(&mut r, 3, 1);
            return r;
        }
        if a[0] >= 4 {
            mixed(&mut r, 5, 1);
            mixed(&mut r, 7, 1);
        }
        mixed(&mut r, 11, 1);
        r
    });

    // A return ends the lane's program: later stores to memory don't happen for it.
    let access = Access {
        bounds: OutOfBounds::Zero,
        align: 4,
    };
    let p = cells_program(&[Kind::U32, Kind::U32], &[1], |b, a| {
        let buffer = super::resource(0, false);
        let two = b.u32(2);
        let offset = b.alu(Alu::Shl, &[a[1], two]);
        let l = b.begin_loop(LoopBound::AtMost(5));
        let c = below(b, a[0], 3);
        b.begin_if(c);
        let one = b.u32(1);
        b.inst(Op::BufferStore { buffer, access }, &[offset, one], &[]);
        b.return_(&[]);
        b.end_if();
        b.break_(l);
        b.end_loop(None);
        let value = b.u32(2);
        b.inst(Op::BufferStore { buffer, access }, &[offset, value], &[]);
        vec![]
    });
    let column = small(8, 6);
    let compiled = compile(executor, &p);
    let mut words = vec![0; column.len()];
    let mut env = Env {
        bindings: vec![super::buffer(&mut words)],
        ..Env::default()
    };
    run_cells(
        &*compiled,
        &p,
        &[column.clone(), (0..column.len() as u32).collect()],
        &mut env,
    );
    for (row, &x) in column.iter().enumerate() {
        assert_eq!(words[row], if x < 3 { 1 } else { 2 }, "row {row}");
    }
}

pub fn break_if_sees_the_continuing_block(executor: &dyn Executor) {
    let p = cells_program(&[Kind::U32], &[], |b, a| {
        let (i, r) = (b.local("i", Kind::U32), b.local("r", Kind::U32));
        b.begin_loop(LoopBound::Budgeted);
        mix(b, r, 3, 1);
        b.begin_continuing();
        let next = increment(b, i);
        mix(b, r, 5, 2);
        let stop = b.alu(Alu::ULe, &[a[0], next]);
        b.end_loop(Some(stop));
        mix(b, r, 7, 3);
        // A condition from outside the loop: true at once, so that the body runs once.
        let yes = b.bool(true);
        b.begin_loop(LoopBound::AtMost(1));
        mix(b, r, 11, 4);
        b.begin_continuing();
        b.end_loop(Some(yes));
        vec![b.get(r)]
    });
    check(executor, &p, &[small(9, 6)], |a| {
        let mut r = 0;
        for _ in 0..a[0].max(1) {
            mixed(&mut r, 3, 1);
            mixed(&mut r, 5, 2);
        }
        mixed(&mut r, 7, 3);
        mixed(&mut r, 11, 4);
        r
    });
}

/// Conditions of the draw are plain branches in native code; what they hold must still be masked right.
pub fn uniform_and_divergent_flow_mix(executor: &dyn Executor) {
    let p = cells_program(&[Kind::U32], &[], |b, a| {
        let (i, j, r, u) = (
            b.local("i", Kind::U32),
            b.local("j", Kind::U32),
            b.local("r", Kind::U32),
            b.local("u", Kind::U32),
        );
        let n = draw_word(b, 0, Kind::U32);
        let k = draw_word(b, 1, Kind::U32);
        // A uniform loop around a divergent one around a uniform branch.
        let outer = b.begin_loop(LoopBound::Budgeted);
        let now = b.get(i);
        let done = b.alu(Alu::ULe, &[n, now]);
        b.begin_if(done);
        b.break_(outer);
        b.end_if();
        b.set(j, now);
        let inner = b.begin_loop(LoopBound::Budgeted);
        let at = b.get(j);
        let done = b.alu(Alu::ULe, &[a[0], at]);
        b.begin_if(done);
        b.break_(inner);
        b.end_if();
        let c = below(b, k, 2);
        b.begin_if(c);
        mix(b, r, 3, 1);
        b.begin_else();
        mix(b, r, 5, 2);
        let c = equals(b, k, 3);
        b.begin_if(c);
        b.break_(outer);
        b.end_if();
        b.end_if();
        // A local that is uniform only if the mask is: written under divergence, it is not.
        increment(b, u);
        b.begin_continuing();
        increment(b, j);
        b.end_loop(None);
        let times = b.get(u);
        let c = equals(b, times, 4);
        b.begin_if(c);
        mix(b, r, 7, 3);
        b.end_if();
        b.begin_continuing();
        increment(b, i);
        b.end_loop(None);
        let times = b.get(u);
        let ten = b.u32(1000);
        let times = b.alu(Alu::IMul, &[times, ten]);
        let result = b.get(r);
        vec![b.alu(Alu::IAdd, &[times, result])]
    });
    let compiled = compile(executor, &p);
    let column = small(10, 6);
    for (n, k) in [(0, 0), (1, 0), (3, 1), (3, 2), (4, 3), (5, 1)] {
        let mut env = Env::default();
        env.draw[..2].copy_from_slice(&[n, k]);
        let out = run_cells(&*compiled, &p, std::slice::from_ref(&column), &mut env);
        for (row, &x) in column.iter().enumerate() {
            let (mut r, mut u) = (0u32, 0u32);
            'outer: for i in 0..n {
                for _ in i..x {
                    if k < 2 {
                        mixed(&mut r, 3, 1);
                    } else {
                        mixed(&mut r, 5, 2);
                        if k == 3 {
                            break 'outer;
                        }
                    }
                    u += 1;
                }
                if u == 4 {
                    mixed(&mut r, 7, 3);
                }
            }
            assert_eq!(out[0][row], (u * 1000).wrapping_add(r), "x {x}, n {n}, k {k}");
        }
    }
}

pub fn deep_nesting(executor: &dyn Executor) {
    const DEPTH: u32 = 60;
    let p = cells_program(&[Kind::U32], &[], |b, a| {
        let r = b.local("r", Kind::U32);
        let mut labels = Vec::new();
        for level in 0..DEPTH {
            labels.push(b.begin_block());
            let c = b.u32(level);
            let c = b.alu(Alu::ULt, &[c, a[0]]);
            b.begin_if(c);
            mix(b, r, 3, level);
        }
        for level in (0..DEPTH).rev() {
            let c = equals(b, a[0], level + 1);
            b.begin_if(c);
            // From the depth that this lane reached: half the way out at once.
            b.break_(labels[(level / 2) as usize]);
            b.end_if();
            mix(b, r, 5, level);
            b.end_if();
            b.end_block();
        }
        vec![b.get(r)]
    });
    check(executor, &p, &[small(11, DEPTH + 3)], |a| {
        let mut r = 0;
        let depth = a[0].min(DEPTH);
        for level in 0..depth {
            mixed(&mut r, 3, level);
        }
        let mut level = depth;
        while level > 0 {
            level -= 1;
            if a[0] == level + 1 {
                level /= 2;
                continue;
            }
            mixed(&mut r, 5, level);
        }
        r
    });
}

/// I7: each iteration begun costs the lane one; the first loop that finds a lane without budget is named.
pub fn budgets_count_iterations_per_lane(executor: &dyn Executor) {
    let p = cells_program(&[Kind::U32, Kind::U32], &[], |b, a| {
        let r = b.local("r", Kind::U32);
        for limit in a.iter().copied() {
            let i = b.local("i", Kind::U32);
            let l = b.begin_loop(LoopBound::Budgeted);
            let now = b.get(i);
            let done = b.alu(Alu::ULe, &[limit, now]);
            b.begin_if(done);
            b.break_(l);
            b.end_if();
            increment(b, i);
            mix(b, r, 3, 1);
            b.end_loop(None);
        }
        // Proved loops cost nothing.
        let i = b.local("i", Kind::U32);
        b.begin_loop(LoopBound::AtMost(500));
        b.begin_continuing();
        let next = increment(b, i);
        let n = b.u32(500);
        let stop = b.alu(Alu::ULe, &[n, next]);
        b.end_loop(Some(stop));
        vec![b.get(r)]
    });
    let compiled = compile(executor, &p);
    // Lanes begin x+1 and y+1 iterations; the busiest 16 in all. Both quads alike: where they differ, which loop is
    // named depends on whether they run together.
    let (first, second) = (vec![0, 14, 3, 7, 0, 14, 3, 7], vec![13, 0, 6, 7, 13, 0, 6, 7]);
    for (budget, status) in [(1 << 22, 0), (16, 0), (15, 2), (14, 1), (1, 1), (0, 1)] {
        let mut env = Env {
            budget,
            ..Env::default()
        };
        run_cells(&*compiled, &p, &[first.clone(), second.clone()], &mut env);
        assert_eq!(env.status, status, "{}: budget {budget}", executor.name());
    }
    // The budget is an invocation's: many groups of 16 iterations each pass.
    let many = |c: &[u32]| c.iter().copied().cycle().take(8 * 40).collect::<Vec<_>>();
    let mut env = Env {
        budget: 16,
        ..Env::default()
    };
    let out = run_cells(&*compiled, &p, &[many(&first), many(&second)], &mut env);
    assert_eq!(env.status, 0);
    for row in 0..8 * 40 {
        let mut r = 0;
        (0..first[row % 8] + second[row % 8]).for_each(|_| mixed(&mut r, 3, 1));
        assert_eq!(out[0][row], r);
    }
    // An endless loop ends.
    let endless = cells_program(&[Kind::U32], &[], |b, a| {
        let l = b.begin_loop(LoopBound::Budgeted);
        let c = equals(b, a[0], 1);
        b.begin_if(c);
        b.break_(l);
        b.end_if();
        b.end_loop(None);
        vec![a[0]]
    });
    let compiled = compile(executor, &endless);
    let mut env = Env {
        budget: 1000,
        ..Env::default()
    };
    run_cells(&*compiled, &endless, &[vec![1, 1, 1, 0, 1, 1, 1, 1]], &mut env);
    assert_eq!(env.status, 1);
    run_cells(&*compiled, &endless, &[vec![1; 8]], &mut env);
    assert_eq!(env.status, 0);
}

/// `merge: false` says that inactive lanes' old value is never seen again: what active lanes read is the same.
pub fn unmerged_writes(executor: &dyn Executor) {
    let p = cells_program(&[Kind::U32], &[], |b, a| {
        let (t, r) = (b.local("t", Kind::U32), b.local("r", Kind::U32));
        let c = below(b, a[0], 4);
        b.begin_if(c);
        let three = b.u32(3);
        let x = b.alu(Alu::IMul, &[a[0], three]);
        b.inst(Op::LocalSet { local: t, merge: false }, &[x], &[]);
        let odd = b.u32(1);
        let odd = b.alu(Alu::And, &[a[0], odd]);
        let odd = equals(b, odd, 1);
        b.begin_if(odd);
        let x = b.get(t);
        let x = b.alu(Alu::IAdd, &[x, a[0]]);
        b.set(t, x);
        b.end_if();
        let x = b.get(t);
        b.set(r, x);
        b.end_if();
        vec![b.get(r)]
    });
    check(executor, &p, &[small(13, 8)], |a| match a[0] {
        x @ (1 | 3) => 4 * x,
        x @ (0 | 2) => 3 * x,
        _ => 0,
    });
}
