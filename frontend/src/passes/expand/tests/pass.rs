//! The pass itself: what it leaves, and that its IR computes what the scalar evaluation does.

use super::Bits;
use crate::ir::alu::Class;
use crate::ir::eval::{eval_alu, fold};
use crate::ir::{Alu, Function, FunctionBuilder, Kind, LoopBound, Op, Stmt, Value};
use crate::ir::{Literal, Sources, Span};
use crate::passes::expand::expand;
use std::collections::BTreeMap;

fn kind_of(class: Class, open: Kind) -> Kind {
    match class {
        Class::Is(kind) => kind,
        _ => open,
    }
}

/// Runs a straight function of primitive operations on literals.
fn run(f: &Function, args: &[Literal]) -> Vec<Literal> {
    let mut values: BTreeMap<usize, Literal> = BTreeMap::new();
    values.extend(f.params.iter().map(|v| v.index()).zip(args.iter().copied()));
    for stmt in &f.body {
        match stmt {
            Stmt::Inst(id) => {
                let inst = &f.insts[*id];
                let operands: Vec<Literal> = inst.args.iter().map(|v| values[&v.index()]).collect();
                let made = match inst.op {
                    Op::Const(literal) => vec![literal],
                    Op::Bitcast(kind) => vec![Literal {
                        kind,
                        bits: operands[0].bits,
                    }],
                    Op::Alu(op) => {
                        assert!(op.is_primitive(), "{op:?} is left");
                        fold(op, &operands).unwrap_or_else(|| panic!("{op:?}")).to_vec()
                    }
                    other => panic!("{other:?}"),
                };
                values.extend(inst.results().map(|v| v.index()).zip(made));
            }
            Stmt::Return(results) => return results.iter().map(|v| values[&v.index()]).collect(),
            other => panic!("{other:?}"),
        }
    }
    Vec::new()
}

#[test]
fn every_operation_becomes_primitive_ones_with_the_same_bits() {
    let mut bits = Bits(42);
    let canonical = |l: Literal| match l.kind {
        Kind::F32 => eval_alu(Alu::Canon, Kind::F32, &[l.bits]).expect("f32")[0],
        _ => l.bits,
    };
    for &op in Alu::ALL {
        let (params, results) = op.signature();
        let opens: &[Kind] = if params.contains(&Class::Int) || params.contains(&Class::Bits) {
            &[Kind::I32, Kind::U32]
        } else {
            &[Kind::F32]
        };
        for &open in opens {
            let mut b = FunctionBuilder::new("f");
            let args: Vec<Value> = params.iter().map(|&c| b.param(kind_of(c, open))).collect();
            let id = b.alu_multi(op, &args);
            let values = b.results(id);
            b.return_(&values);
            let mut f = b.finish();
            f.results = results.iter().map(|&c| kind_of(c, open)).collect();
            expand(&mut f);
            if !op.is_primitive() {
                let count = f.body.iter().filter(|s| match s {
                    Stmt::Inst(id) => !matches!(f.insts[*id].op, Op::Const(_) | Op::Bitcast(_)),
                    _ => false,
                });
                println!("{op:?}: {} operations", count.count());
            }
            for _ in 0..200 {
                let args: Vec<Literal> = params
                    .iter()
                    .map(|&c| match kind_of(c, open) {
                        Kind::Bool => Literal::bool(bits.next() & 1 != 0),
                        Kind::F32 if bits.next() & 1 != 0 => Literal::f32((bits.next() as i32 >> 8) as f32 / 65536.0),
                        kind => Literal {
                            kind,
                            bits: u64::from(bits.next()),
                        },
                    })
                    .collect();
                let operands: Vec<u64> = args.iter().map(|l| l.bits).collect();
                let want = eval_alu(op, open, &operands).expect("32-bit kinds evaluate");
                let got: Vec<u64> = run(&f, &args).into_iter().map(canonical).collect();
                let want: Vec<u64> = want
                    .iter()
                    .zip(&f.results)
                    .map(|(&bits, &kind)| canonical(Literal { kind, bits }))
                    .collect();
                assert_eq!(got, want, "{op:?} on {args:?}");
            }
        }
    }
}

/// Uses in nested bodies, conditions and returns are renamed; spans stay; the IR stays valid.
#[test]
fn structure_and_spans_stay() {
    let mut sources = Sources::default();
    let span = sources.spans.push(Span {
        source: 0,
        start: 1,
        end: 2,
        inlined_at: None,
    });
    let mut b = FunctionBuilder::new("f");
    let x = b.param(Kind::F32);
    let local = b.local("sum", Kind::F32);
    b.set_span(Some(span));
    let sine = b.alu(Alu::FSin, &[x]);
    b.set_span(None);
    let label = b.begin_loop(LoopBound::Budgeted);
    let power = b.alu(Alu::FPow, &[sine, x]);
    b.set(local, power);
    let more = b.alu(Alu::FLt, &[power, sine]);
    b.begin_if(more);
    b.break_(label);
    b.end_if();
    b.begin_continuing();
    let again = b.alu(Alu::FExp, &[sine]);
    let stop = b.alu(Alu::FLt, &[again, x]);
    b.end_loop(Some(stop));
    let result = b.get(local);
    let result = b.alu(Alu::FSaturate, &[result]);
    b.return_(&[result]);
    let mut f = b.finish();
    f.results = vec![Kind::F32];
    expand(&mut f);
    let mut spanned = 0;
    for stmt in &f.body {
        if let Stmt::Inst(id) = stmt {
            let inst = &f.insts[*id];
            assert!(!matches!(inst.op, Op::Alu(op) if !op.is_primitive()));
            spanned += usize::from(inst.span == Some(span));
        }
    }
    assert!(spanned > 10, "the sine's operations have its span");
    assert!(matches!(
        f.body.iter().find(|s| matches!(s, Stmt::Loop { .. })),
        Some(Stmt::Loop { break_if: Some(_), .. })
    ));
}
