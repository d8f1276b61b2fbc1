//! Operations that read across the quad (R-PS-60 to R-PS-71, law L2).

use super::{Bits, Env, canonical, cells_program, compile, draw_word, run_cells, run_once};
use quadrille_frontend::ir::{Alu, Kind, QuadOp};
use quadrille_jit::Executor;

const OPS: [QuadOp; 11] = [
    QuadOp::DdxCoarse,
    QuadOp::DdxFine,
    QuadOp::DdyCoarse,
    QuadOp::DdyFine,
    QuadOp::SwapX,
    QuadOp::SwapY,
    QuadOp::SwapDiagonal,
    QuadOp::Broadcast(0),
    QuadOp::Broadcast(1),
    QuadOp::Broadcast(2),
    QuadOp::Broadcast(3),
];

/// The quad's values: UL, UR, LL, LR.
pub fn reference(op: QuadOp, q: [f32; 4], lane: usize) -> f32 {
    let (row, column) = (lane & 2, lane & 1);
    match op {
        QuadOp::DdxCoarse => q[1] - q[0],
        QuadOp::DdyCoarse => q[2] - q[0],
        QuadOp::DdxFine => q[row + 1] - q[row],
        QuadOp::DdyFine => q[2 + column] - q[column],
        QuadOp::SwapX => q[lane ^ 1],
        QuadOp::SwapY => q[lane ^ 2],
        QuadOp::SwapDiagonal => q[lane ^ 3],
        QuadOp::Broadcast(from) => q[usize::from(from)],
    }
}

fn quad_of(column: &[u32], row: usize) -> [f32; 4] {
    std::array::from_fn(|i| f32::from_bits(column[row / 4 * 4 + i]))
}

/// R-PS-61, R-PS-62, R-PS-64: fine derivatives take the lane's own row and column. R-PS-65: coarse ones those of the
/// upper left pixel. Of what all lanes share they are 0.
pub fn every_quad_operation(executor: &dyn Executor) {
    let p = cells_program(&[Kind::F32], &[], |b, x| {
        let uniform = draw_word(b, 0, Kind::F32);
        let mut out: Vec<_> = OPS.iter().map(|&op| b.quad(op, x[0])).collect();
        out.extend(OPS.iter().map(|&op| b.quad(op, uniform)));
        // Of a result of another one: fwidth-like chains.
        out.push(b.quad(QuadOp::DdyFine, out[1]));
        out
    });
    let mut bits = Bits(7);
    let mut column: Vec<u32> = [10.0f32, 13.0, 11.0, 20.0].iter().map(|x| x.to_bits()).collect();
    column.extend(bits.column(4 * 40));
    column.extend((0..4 * 40).map(|_| ((bits.next() >> 8) as f32 / 1024.0).to_bits()));
    column.extend([0x7F80_0000u32, 0x7F80_0000, 0xFF80_0000, 0x7FC0_0000]);
    let compiled = compile(executor, &p);
    let mut env = Env::default();
    // Of an infinity that all lanes share the difference is NaN, not 0.
    env.draw[0] = f32::INFINITY.to_bits();
    let out = run_cells(&*compiled, &p, std::slice::from_ref(&column), &mut env);
    assert!(
        out[OPS.len()..][..4]
            .iter()
            .flatten()
            .all(|&w| f32::from_bits(w).is_nan())
    );
    env.draw[0] = 3.5f32.to_bits();
    let out = run_cells(&*compiled, &p, std::slice::from_ref(&column), &mut env);
    for row in 0..column.len() {
        for (j, &op) in OPS.iter().enumerate() {
            let want = reference(op, quad_of(&column, row), row % 4).to_bits();
            assert_eq!(canonical(out[j][row]), canonical(want), "{op:?} in row {row}");
            let want = reference(op, [3.5; 4], row % 4).to_bits();
            assert_eq!(out[OPS.len() + j][row], want, "{op:?} of a uniform");
        }
        let q = quad_of(&column, row);
        let chained = std::array::from_fn(|i| reference(QuadOp::DdxFine, q, i));
        let want = reference(QuadOp::DdyFine, chained, row % 4).to_bits();
        assert_eq!(
            canonical(out[2 * OPS.len()][row]),
            canonical(want),
            "chain in row {row}"
        );
    }
    // The worked values of R-PS section 5.
    assert_eq!([0, 1, 2, 3].map(|i| f32::from_bits(out[1][i])), [3.0, 3.0, 9.0, 9.0]);
    assert_eq!([0, 1, 2, 3].map(|i| f32::from_bits(out[3][i])), [1.0, 7.0, 1.0, 7.0]);

    // Integers swap and broadcast as well; bits stay, NaN patterns too.
    for kind in [Kind::U32, Kind::I32, Kind::F32] {
        let p = cells_program(&[kind], &[], |b, x| {
            OPS[4..].iter().map(|&op| b.quad(op, x[0])).collect()
        });
        let column = vec![0xFFC1_2345u32, 1, 0x7F80_0001, 0x8000_0000, 5, 6, 7, 8];
        let out = run_once(executor, &p, std::slice::from_ref(&column));
        for row in 0..8 {
            for (j, &op) in OPS[4..].iter().enumerate() {
                let from = match op {
                    QuadOp::SwapX => row ^ 1,
                    QuadOp::SwapY => row ^ 2,
                    QuadOp::SwapDiagonal => row ^ 3,
                    QuadOp::Broadcast(lane) => (row & 4) + usize::from(lane),
                    _ => row,
                };
                assert_eq!(out[j][row], column[from], "{op:?} of {kind}");
            }
        }
    }
}

/// R-PS-71: where flow diverges, a lane that isn't there contributes what its local last held.
pub fn inactive_lanes_hold_their_last_value(executor: &dyn Executor) {
    let mut bits = Bits(99);
    let select = bits.column(8 * 64).iter().map(|x| x & 7).collect::<Vec<_>>();
    let values: Vec<u32> = (0..8 * 64).map(|_| ((bits.next() >> 20) as f32).to_bits()).collect();

    // An If: t = x; if (s & 1) { t = 10 x; d = ddx_fine(t) }.
    let p = cells_program(&[Kind::U32, Kind::F32], &[], |b, a| {
        let (t, d) = (b.local("t", Kind::F32), b.local("d", Kind::F32));
        b.set(t, a[1]);
        let one = b.u32(1);
        let odd = b.alu(Alu::And, &[a[0], one]);
        let taken = b.alu(Alu::IEq, &[odd, one]);
        b.begin_if(taken);
        let x = b.get(t);
        let ten = b.f32(10.0);
        let x = b.alu(Alu::FMul, &[x, ten]);
        b.set(t, x);
        let held = b.get(t);
        let dx = b.quad(QuadOp::DdxFine, held);
        b.set(d, dx);
        b.end_if();
        vec![b.get(d)]
    });
    let out = run_once(executor, &p, &[select.clone(), values.clone()]);
    for row in 0..select.len() {
        let held = std::array::from_fn(|i| {
            let r = row / 4 * 4 + i;
            let x = f32::from_bits(values[r]);
            if select[r] & 1 == 1 { x * 10.0 } else { x }
        });
        let want = if select[row] & 1 == 1 {
            reference(QuadOp::DdxFine, held, row % 4)
        } else {
            0.0
        };
        assert_eq!(f32::from_bits(out[0][row]), want, "row {row}");
    }

    // A loop: i counts to s; each turn sums ddy_fine(i), where lanes that left hold their last i.
    let p = cells_program(&[Kind::U32], &[], |b, a| {
        let (i, sum) = (b.local("i", Kind::F32), b.local("sum", Kind::F32));
        let limit = b.bitcast(a[0], Kind::I32);
        let limit = b.alu(Alu::SToF, &[limit]);
        let l = b.begin_loop(quadrille_frontend::ir::LoopBound::Budgeted);
        let now = b.get(i);
        let more = b.alu(Alu::FLt, &[now, limit]);
        let done = b.alu(Alu::Not, &[more]);
        b.begin_if(done);
        b.break_(l);
        b.end_if();
        let one = b.f32(1.0);
        let next = b.alu(Alu::FAdd, &[now, one]);
        b.set(i, next);
        let held = b.get(i);
        let dy = b.quad(QuadOp::DdyFine, held);
        let old = b.get(sum);
        let new = b.alu(Alu::FAdd, &[old, dy]);
        b.set(sum, new);
        b.end_loop(None);
        vec![b.get(sum)]
    });
    let out = run_once(executor, &p, std::slice::from_ref(&select));
    for row in 0..select.len() {
        let limits: [u32; 4] = std::array::from_fn(|i| select[row / 4 * 4 + i]);
        let mut sum = 0.0;
        for turn in 1..=select[row] {
            let held = limits.map(|l| turn.min(l) as f32);
            sum += reference(QuadOp::DdyFine, held, row % 4);
        }
        assert_eq!(f32::from_bits(out[0][row]), sum, "row {row}, limits {limits:?}");
    }
}
