//! A program's text with the rate of every value beside it (law L8).

use quadrille_frontend::ir::text::print_function;
use quadrille_frontend::ir::{Arena, Body, Function, Resource, Stmt};
use quadrille_frontend::passes::{Rate, Rates};
use std::fmt::Write as _;

/// The text form; behind each instruction with results how often they change, and whether all lanes have the same.
pub fn annotated(function: &Function, resources: &Arena<Resource>) -> String {
    let rates = Rates::compute(function, resources);
    let mut labels = Vec::new();
    collect(function, &function.body, &rates, &mut labels);
    let mut labels = labels.into_iter();
    let mut out = String::new();
    for line in print_function(function).lines() {
        let note = line.trim_start().starts_with('%').then(|| labels.next()).flatten();
        let _ = match note {
            Some(note) => writeln!(out, "{line:<64} // {note}"),
            None => writeln!(out, "{line}"),
        };
    }
    out
}

/// Rates of all instructions with results, in the order of the text.
fn collect(f: &Function, body: &Body, rates: &Rates, out: &mut Vec<&'static str>) {
    for stmt in body {
        match stmt {
            Stmt::Inst(id) => {
                let inst = &f.insts[*id];
                let most = inst.results().map(|v| (rates.rate(v), !rates.uniform(v))).max();
                out.extend(most.map(|(rate, by_lane)| match (rate, by_lane) {
                    (Rate::Const, _) => "constant",
                    (Rate::Draw, _) => "draw",
                    (Rate::Primitive, _) => "primitive",
                    (Rate::Lane, false) => "uniform",
                    (Rate::Lane, true) => "lane",
                }));
            }
            Stmt::Block { body, .. } => collect(f, body, rates, out),
            Stmt::If { then, otherwise, .. } => {
                collect(f, then, rates, out);
                collect(f, otherwise, rates, out);
            }
            Stmt::Loop { body, continuing, .. } => {
                collect(f, body, rates, out);
                collect(f, continuing, rates, out);
            }
            Stmt::Switch { cases, .. } => cases.iter().for_each(|c| collect(f, &c.body, rates, out)),
            Stmt::Break(_) | Stmt::Continue(_) | Stmt::Return(_) => {}
        }
    }
}
