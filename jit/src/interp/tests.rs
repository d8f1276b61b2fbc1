//! Control flow, memory and lanes of the interpreter itself; operations are tested with all executors.

use super::Interpreter;
use crate::abi::{Binding, CALL_CELLS, Cell, Context, Pair, Run};
use crate::program::{Executor, Program, ProgramKind};
use quadrille_frontend::ir::{Alu, Arena, Function, FunctionBuilder, Kind, LoopBound, Op, QuadOp, Sources, Value};

fn program(kind: ProgramKind, function: Function) -> Program {
    Program {
        name: "test".into(),
        kind,
        function,
        resources: Arena::new(),
        slots: Vec::new(),
        sources: Sources::default(),
    }
}

/// Runs a vertex-shaped program of one input and one output cell on one group; gives output and status.
fn run_cells(
    input: [u32; 8],
    build: impl FnOnce(&mut FunctionBuilder, Value) -> Value,
    budget: u32,
) -> ([u32; 8], u32) {
    let mut b = FunctionBuilder::new("main");
    let x = b.inst1(
        Op::CellLoad {
            slot: 0,
            kind: Kind::U32,
        },
        &[],
        Kind::U32,
    );
    let y = build(&mut b, x);
    b.inst(Op::CellStore { slot: 0 }, &[y], &[]);
    let p = program(
        ProgramKind::Vertex {
            cells_in: 1,
            cells_out: 1,
        },
        b.finish(),
    );
    let compiled = Interpreter.compile(&p).expect("compiles");
    let (cells_in, mut cells_out) = ([Cell(input)], [Cell::default()]);
    let mut scratch = [Cell::default(); CALL_CELLS];
    let mut context = Context::new(4);
    context.count = 1;
    context.cells_in = cells_in.as_ptr();
    context.cells_out = cells_out.as_mut_ptr();
    context.scratch = scratch.as_mut_ptr();
    context.loop_budget = budget;
    // SAFETY: everything the program touches is set above.
    unsafe { compiled.run(&mut context) };
    (cells_out[0].0, context.status)
}

/// SEED-0.6: per-lane trip counts, and derivatives of the counter after the loop.
#[test]
fn loops_leave_lane_by_lane() {
    let (out, status) = run_cells(
        [1, 2, 3, 4, 0, 7, 1, 1],
        |b, limit| {
            let n = b.local("n", Kind::U32);
            let l = b.begin_loop(LoopBound::Budgeted);
            let count = b.get(n);
            let done = b.alu(Alu::ULe, &[limit, count]);
            b.begin_if(done);
            b.break_(l);
            b.end_if();
            let one = b.u32(1);
            let next = b.alu(Alu::IAdd, &[count, one]);
            b.set(n, next);
            b.end_loop(None);
            let count = b.get(n);
            let dx = b.quad(QuadOp::DdxFine, count);
            let dy = b.quad(QuadOp::DdyFine, count);
            let sixteen = b.u32(16);
            let dx = b.alu(Alu::IMul, &[dx, sixteen]);
            let sum = b.alu(Alu::IAdd, &[count, dx]);
            let shift = b.u32(8);
            let dy = b.alu(Alu::Shl, &[dy, shift]);
            b.alu(Alu::IAdd, &[sum, dy])
        },
        100,
    );
    assert_eq!(status, 0);
    let expected = |n: u32, dx: i32, dy: i32| n.wrapping_add((dx * 16) as u32).wrapping_add((dy << 8) as u32);
    assert_eq!(
        out[..4],
        [
            expected(1, 1, 2),
            expected(2, 1, 2),
            expected(3, 1, 2),
            expected(4, 1, 2)
        ]
    );
    assert_eq!(
        out[4..],
        [
            expected(0, 7, 1),
            expected(7, 7, -6),
            expected(1, 0, 1),
            expected(1, 0, -6)
        ]
    );
}

/// Law I7: the budget is the invocation's; what stays below it ends normally.
#[test]
fn an_endless_loop_runs_out_of_budget_and_says_which() {
    let endless = |b: &mut FunctionBuilder, x: Value| {
        b.begin_loop(LoopBound::AtMost(1));
        let yes = b.bool(true);
        b.end_loop(Some(yes));
        b.begin_loop(LoopBound::Budgeted);
        b.end_loop(None);
        x
    };
    assert_eq!(run_cells([0; 8], endless, 1000).1, 1);
}

#[test]
fn switches_fall_through_default_and_break() {
    let (out, _) = run_cells(
        [0, 1, 2, 3, 4, 1, 1, 0],
        |b, x| {
            let r = b.local("r", Kind::U32);
            let label = b.begin_switch(x);
            b.begin_case(vec![1], false);
            let v = b.u32(10);
            b.set(r, v);
            b.end_case(true);
            b.begin_case(vec![2], false);
            let old = b.get(r);
            let v = b.u32(100);
            let v = b.alu(Alu::IAdd, &[old, v]);
            b.set(r, v);
            b.break_(label);
            b.end_case(false);
            b.begin_case(vec![3], true);
            let v = b.u32(7);
            b.set(r, v);
            b.end_case(false);
            b.end_switch();
            b.get(r)
        },
        0,
    );
    assert_eq!(out, [7, 110, 100, 7, 7, 110, 110, 7]);
}

/// R-PS-71: a lane outside the branch contributes what its local last held.
#[test]
fn inactive_lanes_contribute_what_they_last_held() {
    let (out, _) = run_cells(
        [0, 1, 0, 1, 1, 1, 0, 0],
        |b, x| {
            let v = b.local("v", Kind::U32);
            let seven = b.u32(7);
            b.set(v, seven);
            let zero = b.u32(0);
            let odd = b.alu(Alu::INe, &[x, zero]);
            let d = b.local("d", Kind::U32);
            b.begin_if(odd);
            let hundred = b.u32(100);
            b.set(v, hundred);
            let now = b.get(v);
            let dx = b.quad(QuadOp::DdxFine, now);
            b.set(d, dx);
            b.end_if();
            b.get(d)
        },
        0,
    );
    assert_eq!(out, [0, 93, 0, 93, 0, 0, 0, 0]);
}

#[test]
fn fragments_see_their_place_and_store_under_the_mask() {
    let mut b = FunctionBuilder::new("main");
    let x = b.inst1(Op::PixelX, &[], Kind::U32);
    let y = b.inst1(Op::PixelY, &[], Kind::U32);
    let shift = b.u32(16);
    let y = b.alu(Alu::Shl, &[y, shift]);
    let place = b.alu(Alu::Or, &[x, y]);
    let prim = b.inst1(
        Op::PrimLoad {
            offset: 24,
            kind: Kind::U32,
        },
        &[],
        Kind::U32,
    );
    let value = b.alu(Alu::IAdd, &[place, prim]);
    let covered = b.inst1(Op::Coverage { sample: 0 }, &[], Kind::Bool);
    b.inst(Op::TileStore { plane: 1 }, &[value, covered], &[]);
    b.inst(Op::CountInvocations, &[covered], &[]);
    let p = program(
        ProgramKind::Fragment {
            samples: 1,
            plane_stride: 64 * 64 * 4,
        },
        b.finish(),
    );
    let compiled = Interpreter.compile(&p).expect("compiles");
    let mut tile = vec![9u32; 2 * 64 * 64];
    let prim: [u32; 24] = std::array::from_fn(|i| if i == 6 { 0x0100_0000 } else { 0 });
    let pairs = [
        Pair {
            index: 3,
            x: 4,
            y: 2,
            coverage: [0b1000_0010, 0, 0, 0],
        },
        Pair {
            index: 8,
            x: 8,
            y: 0,
            coverage: [0b0000_1111, 0, 0, 0],
        },
    ];
    let runs = [Run {
        prim: prim.as_ptr().cast(),
        pairs: pairs.as_ptr(),
        count: 2,
        reserved: 0,
    }];
    let mut scratch = [Cell::default(); CALL_CELLS];
    let mut context = Context::new(4);
    context.runs = runs.as_ptr();
    context.count = 1;
    context.tile = tile.as_mut_ptr().cast();
    context.tile_x = 128;
    context.tile_y = 64;
    context.scratch = scratch.as_mut_ptr();
    context.bindings = [Binding::NULL].as_ptr();
    // SAFETY: everything the program touches is set above.
    unsafe { compiled.run(&mut context) };
    assert_eq!(context.invocations, 6);
    let at = |pair: usize, lane: usize| tile[64 * 64 + pair * 8 + lane];
    let value = |x: u32, y: u32| (x | y << 16) + 0x0100_0000;
    assert_eq!(at(3, 1), value(128 + 5, 64 + 2));
    assert_eq!(at(3, 7), value(128 + 7, 64 + 3));
    assert_eq!([at(3, 0), at(3, 2), at(3, 4)], [9; 3]);
    assert_eq!([at(8, 0), at(8, 3), at(8, 4)], [value(136, 64), value(137, 65), 9]);
    assert!(tile[..64 * 64].iter().all(|&w| w == 9));
}
