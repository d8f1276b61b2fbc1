//! What compiling a program decided, cost and made, as a table.

use quadrille_frontend::passes::PassStats;
use quadrille_jit::native::Spills;
use quadrille_jit::{CompileError, Jit, Program};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

/// Sizes, choices and times.
pub fn table(jit: &Jit, program: &Program, passes: &PassStats, front_end: Duration) -> Result<String, CompileError> {
    let report = jit.report(program)?;
    let spills = jit.machine_code(program).ok().and_then(|(code, _)| Spills::of(&code));
    let mut out = String::new();
    let mut row = |name: &str, value: String| _ = writeln!(out, "  {name:<22} {value}");
    let size = |of: Option<&(&str, Duration, usize)>| of.map_or(0, |p| p.2);
    row(
        "instructions",
        format!(
            "{} assembled, {} after the passes, {} in CLIF",
            size(passes.passes.first()),
            size(passes.passes.last()),
            report.clif
        ),
    );
    row(
        "lanes",
        match &report.four {
            None => report.lanes.to_string(),
            Some(why) => format!("{} ({why})", report.lanes),
        },
    );
    row(
        "pairs in flight",
        match report.single {
            None => report.pairs.to_string(),
            Some(why) => format!("{} ({why})", report.pairs),
        },
    );
    row("code", format!("{} bytes with constants", report.code_bytes));
    row("stack frame", format!("{} bytes before widening", report.frame));
    if let Some(spills) = spills {
        row(
            "spilled vectors",
            format!("{} stores, {} loads", spills.stores, spills.loads),
        );
    }
    row("time: front end", ms(front_end));
    let all: Duration = passes.passes.iter().map(|p| p.1).sum();
    row("time: passes", ms(all));
    // Passes run several times; their sums, in the order in which they first ran.
    let mut sums: BTreeMap<&str, Duration> = BTreeMap::new();
    let mut order = Vec::new();
    for &(name, time, _) in &passes.passes {
        if !sums.contains_key(name) {
            order.push(name);
        }
        *sums.entry(name).or_default() += time;
    }
    for name in order {
        row(&format!("        {name}"), ms(sums[name]));
    }
    row("time: CLIF", ms(report.emit));
    row("time: Cranelift", ms(report.codegen));
    row("time: widening", ms(report.widen));
    Ok(out)
}

fn ms(time: Duration) -> String {
    format!("{:.3} ms", time.as_secs_f64() * 1e3)
}
