//! Tests of native code that the suite shared with the interpreter doesn't express: it runs alone, at both widths.

use super::{Features, FourLanes, Jit, JitOptions, Lanes, upper, widen};
use crate::abi::{Binding, Cell, Context};
use crate::program::{Compiled, Executor, Program, ProgramKind};
use quadrille_frontend::ir::{Arena, Binding as At, Resource, ResourceClass, text};
use std::sync::Arc;

fn vertex_program(cells_in: u32, cells_out: u32, body: &str) -> Program {
    let function = text::parse_function(&format!("func fn0 \"test\"() -> () {{\n{body}\n}}\n")).expect("valid text");
    let mut resources = Arena::new();
    resources.push(Resource {
        name: "data".into(),
        span: None,
        class: ResourceClass::Storage {
            writable: true,
            min_size: 0,
        },
        count: 1,
        binding: At::WebGpu { group: 0, binding: 0 },
    });
    Program {
        name: "test".into(),
        kind: ProgramKind::Vertex { cells_in, cells_out },
        function,
        resources,
        slots: vec![0],
        sources: Default::default(),
    }
}

fn compile(program: &Program, lanes: Lanes, features: Features) -> Arc<dyn Compiled> {
    let jit = Jit::new(JitOptions {
        lanes,
        features,
        ..JitOptions::default()
    })
    .expect("a supported CPU")
    .on_decline(|name, why| panic!("{name} declined: {why}"));
    match jit.compile(program) {
        Ok(compiled) => compiled,
        Err(error) => panic!("{error}\n{}", jit.clif(program, 4).unwrap_or_default()),
    }
}

/// Runs a vertex program on one group and gives the output cells and the status.
fn run(compiled: &dyn Compiled, input: &[Cell], outputs: usize, data: &mut [u32], budget: u32) -> (Vec<Cell>, u32) {
    let mut scratch = vec![Cell([0xdead_beef; 8]); compiled.scratch_cells()];
    let mut out = vec![Cell::default(); outputs];
    let bindings = [Binding {
        data: data.as_mut_ptr().cast(),
        size: size_of_val(data) as u64,
        ..Binding::NULL
    }];
    let mut context = Context {
        count: 1,
        cells_in: input.as_ptr(),
        cells_out: out.as_mut_ptr(),
        scratch: scratch.as_mut_ptr(),
        bindings: bindings.as_ptr(),
        loop_budget: budget,
        ..Context::new(compiled.stats().lanes)
    };
    // SAFETY: the cells, scratch and slots are as many as the program says.
    unsafe { compiled.run(&mut context) };
    (out, context.status)
}

/// Every width and instruction set that this CPU has.
fn variants() -> Vec<(Lanes, Features)> {
    vec![
        (Lanes::Four, Features::Host),
        (Lanes::Eight, Features::Host),
        (Lanes::Four, Features::NoFma),
        (Lanes::Four, Features::Baseline),
    ]
}

fn check(program: &Program, input: &[Cell], expected: &[Cell], data: &[u32], data_after: &[u32]) {
    for (lanes, features) in variants() {
        let compiled = compile(program, lanes, features);
        let mut data = data.to_vec();
        let (out, status) = run(&*compiled, input, expected.len(), &mut data, 1 << 20);
        assert_eq!(status, 0, "{lanes:?} {features:?}");
        assert_eq!(out, expected, "{lanes:?} {features:?}");
        assert_eq!(data, data_after, "{lanes:?} {features:?}");
    }
}

const COUNT: Cell = Cell([0, 3, 1, 7, 2, 40, 5, 6]);

#[test]
fn straight_code_runs() {
    let program = vertex_program(
        2,
        2,
        "%0: f32 = cell.load(0)
         %1: f32 = cell.load(1)
         %2: f32 = const 2.0
         %3: f32 = fma %0, %1, %2
         cell.store(0) %3
         %4: f32 = fmax %0, %1
         cell.store(1) %4",
    );
    let a: [f32; 8] = [1.0, 2.0, -3.0, 0.5, 1e30, f32::NAN, 7.0, -0.0];
    let b: [f32; 8] = [4.0, -2.0, 3.0, 0.25, 1e30, 1.0, f32::NAN, 0.0];
    let bits = |v: [f32; 8]| Cell(v.map(f32::to_bits));
    let mut max = bits([4.0, 2.0, 3.0, 0.5, 1e30, 1.0, 7.0, 0.0]);
    max.0[5] = 1f32.to_bits();
    for (lanes, features) in variants() {
        let compiled = compile(&program, lanes, features);
        let (out, _) = run(&*compiled, &[bits(a), bits(b)], 2, &mut [], 0);
        assert_eq!(out[1], max, "{lanes:?} {features:?}");
        for i in 0..8 {
            let want = a[i].mul_add(b[i], 2.0);
            let got = f32::from_bits(out[0].0[i]);
            assert!(
                got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan(),
                "{lanes:?} {features:?}"
            );
        }
    }
}

#[test]
fn loops_end_lane_by_lane() {
    let program = vertex_program(
        1,
        2,
        "local $0 \"i\": u32 = 0
         local $1 \"sum\": u32 = 100
         %0: u32 = cell.load(0)
         %1: u32 = const 1
         %9: u32 = const 5
         loop L0 budgeted {
             %2: u32 = get $0
             %3: bool = ult %2, %0
             if %3 {
             } else {
                 break L0
             }
             %4: u32 = get $1
             %5: u32 = iadd %4, %2
             %6: bool = ieq %2, %9
             if %6 {
                 continue L0
             }
             set $1, %5
         } continuing {
             %7: u32 = get $0
             %8: u32 = iadd %7, %1
             set $0, %8
         }
         %10: u32 = get $0
         cell.store(0) %10
         %11: u32 = get $1
         cell.store(1) %11",
    );
    let sum = COUNT.0.map(|n| 100 + (0..n).filter(|&i| i != 5).sum::<u32>());
    check(&program, &[COUNT], &[COUNT, Cell(sum)], &[], &[]);
    let compiled = compile(&program, Lanes::Auto, Features::Host);
    // 41 iterations begin in the busiest lane.
    assert_eq!(run(&*compiled, &[COUNT], 2, &mut [], 41).1, 0);
    assert_eq!(run(&*compiled, &[COUNT], 2, &mut [], 40).1, 1);
}

#[test]
fn buffers_are_bounded_and_ordered() {
    let program = vertex_program(
        1,
        2,
        "%0: u32 = cell.load(0)
         %1: u32 = const 4
         %2: u32 = imul %0, %1
         %3: u32 = buffer.load(r0, zero, align=4) %2
         cell.store(0) %3
         %4: bool = ult %0, %1
         %5: u32 = const 1000
         if %4 {
            buffer.store(r0, zero, align=4) %2, %5
         }
         %6: u32 = const 28
         %7: u32 = atomic.add(r0, zero, align=4) %6, %1
         cell.store(1) %7",
    );
    let data = [10, 11, 12, 13, 14, 15, 16, 17];
    let loaded = COUNT.0.map(|i| data.get(i as usize).copied().unwrap_or(0));
    let after = [1000, 1000, 1000, 1000, 14, 15, 16, 17 + 32];
    // Four lanes at a time, lane 7 of the second step loads what the first step added.
    for (lanes, features) in variants() {
        let compiled = compile(&program, lanes, features);
        let mut memory = data;
        let (out, _) = run(&*compiled, &[COUNT], 2, &mut memory, 0);
        let mut loaded = loaded;
        loaded[3] = 17;
        assert_eq!(out[0].0, loaded);
        assert_eq!(out[1].0, [17, 21, 25, 29, 33, 37, 41, 45]);
        assert_eq!(memory, after);
    }
}

#[test]
fn arrays_of_every_size_clamp() {
    for len in [3, 12, 70] {
        let program = vertex_program(
            1,
            2,
            &format!(
                "array &0 \"a\": u32[{len}]
                 %0: u32 = cell.load(0)
                 %1: u32 = const 2
                 %2: u32 = const 9
                 array.set &0, %0, %2
                 array.set &0, %1, %0
                 %3: u32 = array.get &0, %0
                 cell.store(0) %3
                 %4: u32 = array.get &0, %1
                 cell.store(1) %4"
            ),
        );
        let got = COUNT.0.map(|i| if i.min(len - 1) == 2 { i } else { 9 });
        check(&program, &[COUNT], &[Cell(got), COUNT], &[], &[]);
    }
}

#[test]
fn switches_fall_through() {
    let program = vertex_program(
        1,
        1,
        "local $0 \"r\": u32 = 0
         %0: u32 = cell.load(0)
         %1: u32 = const 1
         %2: u32 = const 10
         switch L0 %0 {
            case 1, 2 {
                set $0, %1
            } falls_through
            case 3 {
                %3: u32 = get $0
                %4: u32 = iadd %3, %2
                set $0, %4
                %5: bool = ieq %0, %1
                if %5 {
                    break L0
                }
                %6: u32 = iadd %4, %2
                set $0, %6
            }
            case 7, default {
                set $0, %0
            }
         }
         %7: u32 = get $0
         cell.store(0) %7",
    );
    let want = COUNT.0.map(|v| match v {
        1 => 11,
        2 => 21,
        3 => 20,
        v => v,
    });
    check(&program, &[COUNT], &[Cell(want)], &[], &[]);
}

/// Notes in its first result whether it was called with upper halves in use.
#[cfg(target_arch = "x86_64")]
unsafe extern "C" fn looks(_: *const Binding, _: *const Binding, _: u64, cells: *mut Cell, _: u32) {
    let dirty = upper::in_use() == Some(true);
    // SAFETY: the scratch has all cells of calls.
    unsafe { *cells.add(crate::abi::RESULT_CELL) = Cell([u32::from(dirty); 8]) };
}

/// No transition between SSE and AVX state: neither a caller nor an intrinsic ever sees upper halves in use.
#[test]
#[cfg(target_arch = "x86_64")]
fn upper_halves_are_clean_in_calls_and_after_returns() {
    let program = vertex_program(
        1,
        2,
        "%0: f32 = cell.load(0)
         %1: f32 = fmul %0, %0
         %2: i32 = const 0
         %3: u32, %4: u32, %5: u32, %6: u32 = texel.load(r0, d2, mask=xyzw) %2, %2, %2
         %7: f32 = fsqrt %1
         cell.store(0) %3
         cell.store(1) %7",
    );
    let mut program = program;
    let texture = ResourceClass::Texture {
        dim: quadrille_frontend::ir::Dim::D2,
        array: false,
        multisampled: false,
        sample: quadrille_frontend::ir::SampleKind::Uint,
    };
    for (_, r) in program.resources.iter_mut() {
        r.class = texture.clone();
    }
    let compiled = compile(&program, Lanes::Auto, Features::Host);
    upper::dirty();
    if upper::in_use() != Some(true) || compiled.stats().lanes != 8 {
        println!("skipped: the processor doesn't tell, or there are no 8 lanes");
        return;
    }
    let binding = Binding {
        load: Some(looks),
        ..Binding::NULL
    };
    let input = [Cell([0x4000_0000; 8])];
    let mut out = [Cell::default(); 2];
    let mut scratch = vec![Cell::default(); compiled.scratch_cells()];
    let mut context = Context {
        count: 1,
        cells_in: input.as_ptr(),
        cells_out: out.as_mut_ptr(),
        scratch: scratch.as_mut_ptr(),
        bindings: &binding,
        ..Context::new(8)
    };
    // SAFETY: the cells, scratch and slots are as many as the program says.
    unsafe { compiled.run(&mut context) };
    assert_eq!(upper::in_use(), Some(false), "after the return");
    assert_eq!(out[0], Cell([0; 8]), "in the call");
    assert_eq!(out[1], Cell([0x4000_0000; 8]));
}

/// A program that could not be widened is counted each time, and named once.
#[test]
fn refusals_are_counted_and_named_once() {
    let program = vertex_program(1, 1, "%0: u32 = cell.load(0)\ncell.store(0) %0");
    let jit = Jit::new(JitOptions::default()).expect("a supported CPU");
    let mut report = jit.report(&program).expect("compiles");
    assert_eq!(jit.counters(), Default::default(), "a report is no program");
    report.lanes = 4;
    report.four = Some(FourLanes::Declined(widen::Declined::Frame {
        offset: 7,
        what: "a large frame",
    }));
    for _ in 0..2 {
        jit.count(&program, &report);
    }
    let counters = jit.share().counters();
    assert_eq!((counters.programs, counters.eight_lanes, counters.refused), (2, 0, 2));
    let refusals = jit.refusals();
    assert_eq!(refusals.len(), 1);
    assert_eq!(refusals[0].program, "test");
    assert!(refusals[0].reason.contains("a large frame"), "{}", refusals[0].reason);
}
