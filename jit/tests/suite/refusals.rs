//! What executors lack they refuse by name, with the source position (laws I2, I6); nothing panics.

use super::{STORAGE, resources};
use quadrille_frontend::ir::{Alu, FunctionBuilder, Kind, Literal, Op, Sources, Span};
use quadrille_jit::{CompileError, Executor, Program, ProgramKind};

/// Compiles a program and gives the error; spans of its instructions are at byte 7.
fn refusal(executor: &dyn Executor, build: impl FnOnce(&mut FunctionBuilder)) -> CompileError {
    let mut sources = Sources::default();
    let span = sources.spans.push(Span {
        source: 0,
        start: 7,
        end: 9,
        inlined_at: None,
    });
    let mut b = FunctionBuilder::new("test");
    b.set_span(Some(span));
    build(&mut b);
    let (resources, slots) = resources(&[1], &STORAGE);
    let program = Program {
        name: "test".into(),
        kind: ProgramKind::Vertex {
            cells_in: 0,
            cells_out: 1,
        },
        function: b.finish(),
        resources,
        slots,
        sources,
    };
    match executor.compile(&program) {
        Ok(_) => panic!("{} compiled it", executor.name()),
        Err(error) => error,
    }
}

#[track_caller]
fn names(executor: &dyn Executor, error: &CompileError, word: &str, spanned: bool) {
    let CompileError::Unsupported { what, span, .. } = error else {
        panic!("{}: {error}", executor.name());
    };
    let message = error.to_string();
    assert!(
        what.contains(word),
        "{}: {message:?} doesn't say {word:?}",
        executor.name()
    );
    assert!(
        message.contains(executor.name()),
        "{message:?} doesn't name the back end"
    );
    assert!(
        span.is_some() || !spanned,
        "{}: {message:?} has no span",
        executor.name()
    );
}

pub fn other_kinds_are_named(executor: &dyn Executor) {
    use Kind::*;
    for kind in [I8, U8, I16, U16, I64, U64, F16, F64] {
        let error = refusal(executor, |b| {
            let x = b.constant(Literal { kind, bits: 0 });
            let op = if kind.is_float() { Alu::FAdd } else { Alu::IAdd };
            b.alu(op, &[x, x]);
        });
        names(executor, &error, kind.name(), true);
        let error = refusal(executor, |b| {
            let local = b.local("l", kind);
            b.get(local);
        });
        names(executor, &error, kind.name(), false);
        let error = refusal(executor, |b| {
            let array = b.array("a", kind, 4);
            let zero = b.u32(0);
            b.array_get(array, zero);
        });
        names(executor, &error, kind.name(), false);
        let error = refusal(executor, |b| {
            let x = b.u32(1);
            b.inst1(Op::Convert(kind), &[x], kind);
        });
        names(executor, &error, kind.name(), true);
    }
}

pub fn barriers_are_named(executor: &dyn Executor) {
    let error = refusal(executor, |b| {
        b.inst(Op::Barrier, &[], &[]);
    });
    names(executor, &error, "barrier", true);
}

/// Operations that passes should have removed are our bug: an error all the same.
pub fn what_passes_remove_is_an_error(executor: &dyn Executor) {
    let error = refusal(executor, |b| {
        let x = b.f32(1.0);
        b.alu(Alu::FSin, &[x]);
    });
    let message = error.to_string();
    assert!(message.contains("fsin"), "{}: {message:?}", executor.name());
}
