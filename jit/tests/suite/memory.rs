//! Locals, per-lane arrays, buffers and atomics (R-WGSL-71, R-PS-50).

use super::{Bits, Env, buffer, cells_program, compile, draw_word, resource, run_cells, run_once};
use quadrille_frontend::ir::{Access, Alu, AtomicOp, Kind, Literal, LocalArray, Op, OutOfBounds};
use quadrille_jit::Executor;
use quadrille_jit::abi::Binding;

const ACCESS: Access = Access {
    bounds: OutOfBounds::Zero,
    align: 4,
};

/// Every invocation finds locals and arrays as declared, whatever the one before left there.
pub fn locals_and_arrays_start_anew(executor: &dyn Executor) {
    for len in [1u32, 5, 8, 9, 40] {
        let init: Vec<u32> = (0..len).map(|i| 100 + i * i).collect();
        let p = cells_program(&[Kind::U32], &[], |b, a| {
            let local = b.local("l", Kind::U32);
            b.func.locals[local].init = Literal::u32(17);
            let zeros = b.array("zeros", Kind::U32, len);
            let filled = b.func.arrays.push(LocalArray {
                name: "filled".into(),
                kind: Kind::U32,
                len,
                init: init.clone(),
            });
            let first = [b.get(local), b.array_get(zeros, a[0]), b.array_get(filled, a[0])];
            let junk = b.u32(0xBAD);
            b.set(local, junk);
            for array in [zeros, filled] {
                b.array_set(array, a[0], junk);
            }
            let second = b.array_get(filled, a[0]);
            // Reset in lanes with an odd operand.
            let one = b.u32(1);
            let odd = b.alu(Alu::And, &[a[0], one]);
            let odd = b.alu(Alu::IEq, &[odd, one]);
            b.begin_if(odd);
            b.inst(Op::ArrayReset(filled), &[], &[]);
            b.end_if();
            let third = b.array_get(filled, a[0]);
            vec![first[0], first[1], first[2], second, third]
        });
        let column: Vec<u32> = (0..64).map(|i| i % (len + 2)).collect();
        let out = run_once(executor, &p, std::slice::from_ref(&column));
        for (row, &i) in column.iter().enumerate() {
            let at = init[(i.min(len - 1)) as usize];
            let want = [17, 0, at, 0xBAD, if i & 1 == 1 { at } else { 0xBAD }];
            let got: Vec<u32> = out.iter().map(|c| c[row]).collect();
            assert_eq!(got, want, "{}: length {len}, index {i}", executor.name());
        }
    }
}

/// Indices by lane, for the draw and constant; beyond the end counts as the last.
pub fn arrays_clamp_and_mask(executor: &dyn Executor) {
    for len in [1u32, 2, 7, 8, 9, 33, 300] {
        let p = cells_program(&[Kind::U32, Kind::U32, Kind::F32], &[], |b, a| {
            let array = b.array("a", Kind::F32, len);
            for i in 0..len {
                let (at, value) = (b.u32(i), b.f32(i as f32));
                b.array_set(array, at, value);
            }
            let four = b.u32(4);
            let some = b.alu(Alu::ULt, &[a[1], four]);
            b.begin_if(some);
            b.array_set(array, a[0], a[2]);
            b.end_if();
            let uniform = draw_word(b, 0, Kind::U32);
            let fixed = b.u32(3);
            let beyond = b.u32(u32::MAX);
            let out = [a[1], a[0], uniform, fixed, beyond].map(|i| b.array_get(array, i));
            // A uniform index, but divergent lanes.
            b.begin_if(some);
            b.array_set(array, uniform, a[2]);
            b.end_if();
            let mut out = out.to_vec();
            out.push(b.array_get(array, uniform));
            out
        });
        let mut bits = Bits(len.into());
        let index = |bits: &mut Bits, n: u32| {
            if n % 9 == 8 {
                bits.next()
            } else {
                bits.next() % (len + 1)
            }
        };
        let i: Vec<u32> = (0..96).map(|n| index(&mut bits, n)).collect();
        let j: Vec<u32> = (0..96).map(|n| index(&mut bits, n + 3)).collect();
        let v: Vec<u32> = (0..96).map(|n| (1000.0 + n as f32).to_bits()).collect();
        let compiled = compile(executor, &p);
        for uniform in [0, 1, len - 1, len, u32::MAX] {
            let mut env = Env::default();
            env.draw[0] = uniform;
            let out = run_cells(&*compiled, &p, &[i.clone(), j.clone(), v.clone()], &mut env);
            for row in 0..96 {
                let mut array: Vec<f32> = (0..len).map(|x| x as f32).collect();
                let at = |x: u32| x.min(len - 1) as usize;
                let value = f32::from_bits(v[row]);
                if j[row] < 4 {
                    array[at(i[row])] = value;
                }
                let mut want: Vec<f32> = [j[row], i[row], uniform, 3, u32::MAX].map(|x| array[at(x)]).to_vec();
                if j[row] < 4 {
                    array[at(uniform)] = value;
                }
                want.push(array[at(uniform)]);
                let got: Vec<f32> = out.iter().map(|c| f32::from_bits(c[row])).collect();
                assert_eq!(got, want, "length {len}, i {}, j {}, uniform {uniform}", i[row], j[row]);
            }
        }
    }
}

/// Offsets around every end of a buffer of 40 bytes and of one of 6 bytes, and an empty slot.
pub fn buffers_are_bounded(executor: &dyn Executor) {
    let p = cells_program(&[Kind::U32, Kind::U32], &[1], |b, a| {
        let r = resource(0, false);
        let load = |kind| Op::BufferLoad {
            buffer: r,
            kind,
            access: ACCESS,
        };
        let uniform = draw_word(b, 0, Kind::U32);
        let fixed = b.u32(8);
        let beyond = b.u32(40);
        let mut out: Vec<_> = [a[0], uniform, fixed, beyond]
            .map(|o| b.inst1(load(Kind::U32), &[o], Kind::U32))
            .to_vec();
        out.push(b.inst1(load(Kind::F32), &[a[0]], Kind::F32));
        out.push(b.inst1(Op::BufferSize(r), &[], Kind::U32));
        // Stores in lanes with an even operand; then what the lane itself sees.
        let one = b.u32(1);
        let odd = b.alu(Alu::And, &[a[1], one]);
        let zero = b.u32(0);
        let even = b.alu(Alu::IEq, &[odd, zero]);
        b.begin_if(even);
        let store = Op::BufferStore {
            buffer: r,
            access: ACCESS,
        };
        b.inst(store, &[a[0], a[1]], &[]);
        b.end_if();
        out.push(b.inst1(load(Kind::U32), &[a[0]], Kind::U32));
        out
    });
    let compiled = compile(executor, &p);
    let offsets = [
        0u32,
        4,
        8,
        32,
        36,
        37,
        40,
        44,
        2,
        3,
        1 << 20,
        0x7FFF_FFFC,
        0x8000_0000,
        0xFFFF_FFFC,
        u32::MAX,
    ];
    for size in [40u64, 6, 3, 0] {
        for uniform in offsets {
            for &offset in &offsets {
                for value in [10, 11] {
                    // Guard words on both sides must stay.
                    let mut words: Vec<u32> = (0..30).map(|i| 0x0101_0101 * (i + 1)).collect();
                    let before: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
                    let inside = Binding {
                        data: words[10..].as_mut_ptr().cast(),
                        size,
                        ..Binding::NULL
                    };
                    let mut env = Env {
                        bindings: vec![if size == 0 { Binding::NULL } else { inside }],
                        ..Env::default()
                    };
                    env.draw[0] = uniform;
                    // One lane works; the others stand at 0xFFFF_FFF0, outside.
                    let mut lanes = vec![0xFFFF_FFF0; 8];
                    lanes[5] = offset;
                    let out = run_cells(&*compiled, &p, &[lanes, vec![value; 8]], &mut env);
                    let mut bytes = before[40..].to_vec();
                    let fits = |o: u32| u64::from(o) + 4 <= size;
                    let at = |bytes: &[u8], o: u32| match fits(o) {
                        true => u32::from_le_bytes(bytes[o as usize..][..4].try_into().expect("four bytes")),
                        false => 0,
                    };
                    let want: Vec<u32> = [offset, uniform, 8, 40, offset].map(|o| at(&bytes, o)).to_vec();
                    if value == 10 && fits(offset) {
                        bytes[offset as usize..][..4].copy_from_slice(&10u32.to_le_bytes());
                    }
                    let got: Vec<u32> = out.iter().map(|c| c[5]).collect();
                    let context = format!(
                        "{}: size {size}, offset {offset:#x}, uniform {uniform:#x}",
                        executor.name()
                    );
                    assert_eq!(got[..5], want[..], "{context}");
                    assert_eq!(got[5], size as u32, "{context}");
                    assert_eq!(got[6], at(&bytes, offset), "{context}");
                    let after: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
                    assert_eq!(after[..40], before[..40], "{context}");
                    assert_eq!(after[40..], bytes, "{context}");
                }
            }
        }
    }
}

fn apply(op: AtomicOp, old: u32, compare: u32, value: u32) -> u32 {
    match op {
        AtomicOp::Add => old.wrapping_add(value),
        AtomicOp::Sub => old.wrapping_sub(value),
        AtomicOp::And => old & value,
        AtomicOp::Or => old | value,
        AtomicOp::Xor => old ^ value,
        AtomicOp::SMin => (old as i32).min(value as i32) as u32,
        AtomicOp::SMax => (old as i32).max(value as i32) as u32,
        AtomicOp::UMin => old.min(value),
        AtomicOp::UMax => old.max(value),
        AtomicOp::Exchange => value,
        AtomicOp::CompareExchange => {
            if old == compare {
                value
            } else {
                old
            }
        }
    }
}

/// Lanes act in order; inactive ones not at all; outside nothing happens and 0 comes back.
pub fn atomics_go_lane_by_lane(executor: &dyn Executor) {
    use AtomicOp::*;
    for op in [
        Add,
        Sub,
        And,
        Or,
        Xor,
        SMin,
        SMax,
        UMin,
        UMax,
        Exchange,
        CompareExchange,
    ] {
        let p = cells_program(&[Kind::U32, Kind::U32, Kind::U32], &[1], |b, a| {
            let (old, done) = (b.local("old", Kind::U32), b.local("done", Kind::Bool));
            let atomic = Op::BufferAtomic {
                buffer: resource(0, false),
                op,
                access: ACCESS,
            };
            let nine = b.u32(9);
            let active = b.alu(Alu::INe, &[a[2], nine]);
            b.begin_if(active);
            if op == CompareExchange {
                let id = b.inst(atomic, &[a[0], a[2], a[1]], &[Kind::U32, Kind::Bool]);
                let results = b.results(id);
                b.set(old, results[0]);
                b.set(done, results[1]);
            } else {
                let result = b.inst1(atomic, &[a[0], a[1]], Kind::U32);
                b.set(old, result);
            }
            b.end_if();
            vec![b.get(old), b.get(done)]
        });
        let compiled = compile(executor, &p);
        let mut bits = Bits(op as u64 + 1);
        let rows = 8 * 30;
        let offsets: Vec<u32> = (0..rows).map(|_| 4 * (bits.next() % 5)).collect();
        let values: Vec<u32> = (0..rows)
            .map(|n| if n % 3 == 0 { bits.next() } else { bits.next() % 4 })
            .collect();
        let compares: Vec<u32> = (0..rows)
            .map(|n| if n % 7 == 6 { 9 } else { bits.next() % 4 })
            .collect();
        let mut words = [0u32, 1, 2, 0x8000_0000, 77];
        // The last word is outside.
        let mut env = Env {
            bindings: vec![buffer(&mut words[..4])],
            ..Env::default()
        };
        let out = run_cells(
            &*compiled,
            &p,
            &[offsets.clone(), values.clone(), compares.clone()],
            &mut env,
        );
        let mut want = [0u32, 1, 2, 0x8000_0000, 77];
        for row in 0..rows {
            let at = (offsets[row] / 4) as usize;
            let active = compares[row] != 9 && at < 4;
            let old = if active { want[at] } else { 0 };
            let done = active && op == CompareExchange && old == compares[row];
            if active {
                want[at] = apply(op, old, compares[row], values[row]);
            }
            assert_eq!(out[0][row], old, "{op:?}, row {row}");
            assert_eq!(out[1][row], u32::from(done), "{op:?}, row {row}");
        }
        assert_eq!(words, want, "{op:?}");
    }
}

/// A binding array of three: elements beyond are the last one.
pub fn binding_arrays_select_per_lane(executor: &dyn Executor) {
    let p = cells_program(&[Kind::U32, Kind::U32], &[2, 3], |b, a| {
        let r = resource(1, true);
        let load = Op::BufferLoad {
            buffer: r,
            kind: Kind::U32,
            access: ACCESS,
        };
        let uniform = draw_word(b, 0, Kind::U32);
        let fixed = b.u32(1);
        let mut out: Vec<_> = [a[0], uniform, fixed]
            .map(|e| b.inst1(load, &[e, a[1]], Kind::U32))
            .to_vec();
        out.push(b.inst1(Op::BufferSize(r), &[a[0]], Kind::U32));
        let one = b.u32(1);
        let atomic = Op::BufferAtomic {
            buffer: r,
            op: AtomicOp::Add,
            access: ACCESS,
        };
        out.push(b.inst1(atomic, &[a[0], a[1], one], Kind::U32));
        let store = Op::BufferStore {
            buffer: resource(0, true),
            access: ACCESS,
        };
        b.inst(store, &[a[0], a[1], a[0]], &[]);
        out
    });
    let compiled = compile(executor, &p);
    let mut memory: Vec<Vec<u32>> = (0..5)
        .map(|e| (0..6 + e).map(|i| e * 1000 + i * 100).collect())
        .collect();
    let mut want = memory.clone();
    let mut env = Env {
        bindings: memory.iter_mut().map(|m| buffer(m)).collect(),
        ..Env::default()
    };
    env.draw[0] = 2;
    let mut bits = Bits(5);
    let element: Vec<u32> = (0..64)
        .map(|n| if n % 11 == 10 { bits.next() } else { bits.next() % 4 })
        .collect();
    let offset: Vec<u32> = (0..64).map(|_| 4 * (bits.next() % 10)).collect();
    let lanes = compiled.stats().lanes as usize;
    let out = run_cells(&*compiled, &p, &[element.clone(), offset.clone()], &mut env);
    for step in 0..64 / lanes {
        let rows = step * lanes..(step + 1) * lanes;
        let at = |memory: &[Vec<u32>], slot: u32, row: usize| {
            memory[slot as usize]
                .get(offset[row] as usize / 4)
                .copied()
                .unwrap_or(0)
        };
        for row in rows.clone() {
            let slot = 2 + element[row].min(2);
            assert_eq!(out[0][row], at(&want, slot, row), "row {row}");
            assert_eq!(out[1][row], at(&want, 4, row), "row {row}");
            assert_eq!(out[2][row], at(&want, 3, row), "row {row}");
            assert_eq!(out[3][row], 4 * want[slot as usize].len() as u32, "row {row}");
        }
        for row in rows.clone() {
            let slot = (2 + element[row].min(2)) as usize;
            let old = want[slot].get_mut(offset[row] as usize / 4);
            let value = old.map_or(0, |w| {
                *w += 1;
                *w - 1
            });
            assert_eq!(out[4][row], value, "row {row}");
        }
        for row in rows {
            if let Some(word) = want[element[row].min(1) as usize].get_mut(offset[row] as usize / 4) {
                *word = element[row];
            }
        }
    }
    assert_eq!(memory, want);
}

/// Law N8: the left quad before the right one, and in a quad instruction by instruction, lanes in turn: whatever lanes
/// a step has.
pub fn lanes_take_turns_in_one_order(executor: &dyn Executor) {
    let op = |op| Op::BufferAtomic {
        buffer: resource(0, false),
        op,
        access: ACCESS,
    };
    let p = cells_program(&[Kind::U32, Kind::U32], &[1], |b, a| {
        let (zero, one, four, three) = (b.u32(0), b.u32(1), b.u32(4), b.u32(3));
        let ticket = b.inst1(op(AtomicOp::Add), &[zero, one], Kind::U32);
        let place = |b: &mut quadrille_frontend::ir::FunctionBuilder, n| {
            let n = b.alu(Alu::And, &[n, three]);
            let n = b.alu(Alu::IAdd, &[n, one]);
            b.alu(Alu::IMul, &[n, four])
        };
        let to = place(b, ticket);
        let store = Op::BufferStore {
            buffer: resource(0, false),
            access: ACCESS,
        };
        b.inst(store, &[to, a[0]], &[]);
        let from = place(b, a[1]);
        let load = Op::BufferLoad {
            buffer: resource(0, false),
            kind: Kind::U32,
            access: ACCESS,
        };
        let seen = b.inst1(load, &[from], Kind::U32);
        let mixed = b.alu(Alu::Xor, &[seen, ticket]);
        let last = b.inst1(op(AtomicOp::Exchange), &[zero, mixed], Kind::U32);
        vec![ticket, seen, last]
    });
    let mut bits = Bits(77);
    let rows = 8 * 6;
    let columns = [bits.column(rows), bits.column(rows)];
    let mut words = [5u32, 1, 2, 3, 4];
    let mut env = Env {
        bindings: vec![buffer(&mut words)],
        ..Env::default()
    };
    let compiled = compile(executor, &p);
    let out = run_cells(&*compiled, &p, &columns, &mut env);
    let mut want = [5u32, 1, 2, 3, 4];
    for quad in (0..rows).step_by(4) {
        let (mut ticket, mut seen) = ([0; 4], [0; 4]);
        for lane in 0..4 {
            ticket[lane] = want[0];
            want[0] = want[0].wrapping_add(1);
        }
        for lane in 0..4 {
            want[1 + (ticket[lane] & 3) as usize] = columns[0][quad + lane];
        }
        for lane in 0..4 {
            seen[lane] = want[1 + (columns[1][quad + lane] & 3) as usize];
        }
        for lane in 0..4 {
            let row = quad + lane;
            let last = std::mem::replace(&mut want[0], seen[lane] ^ ticket[lane]);
            assert_eq!(
                [out[0][row], out[1][row], out[2][row]],
                [ticket[lane], seen[lane], last],
                "row {row}"
            );
        }
    }
    drop(env);
    assert_eq!(words, want);
}
