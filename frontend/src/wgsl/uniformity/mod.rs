//! WGSL's uniformity analysis: may derivatives stand where they stand? (R-WGSL-30 to R-WGSL-45)
//!
//! ```text
//! naga function ─ walk.rs ─► Graph of "uniform only if" edges, requirements ─► Summary for callers
//!                                                                         └─► errors and warnings
//! ```
//!
//! Functions are taken callees first, as naga orders them. A requirement fails where a path leads from its control-flow
//! node to a source of non-uniformity; the nodes on the path say which branch it was. This judges programs by the
//! language's rules, on statements; the optimiser's `rates` is something else (law L8).

mod graph;
mod walk;

use crate::diagnostic::Diagnostic;
use graph::{CONTROL, Graph, MAYBE, Reach, Why};
use naga::diagnostic_filter::{
    DiagnosticFilterNode, FilterableTriggeringRule, Severity, StandardFilterableTriggeringRule,
};
use naga::{Arena, Handle};

/// What the analysis has to say, in the order of the text's functions.
#[derive(Debug, Default)]
pub(super) struct Findings {
    /// Breaks the rule: the module is refused.
    pub errors: Vec<Diagnostic>,
    /// Breaks the rule where the text asks for no more than a warning or an information.
    pub warnings: Vec<Diagnostic>,
}

/// An operation that needs uniform control flow, where it was reached from.
#[derive(Clone, Debug)]
struct Operation {
    severity: Severity,
    span: naga::Span,
    name: &'static str,
    /// Calls that lead to it, the innermost first.
    calls: Vec<naga::Span>,
    /// The branch between it and what its function was given.
    branch: Option<naga::Span>,
}

/// `node` must be uniform.
struct Requirement {
    node: u32,
    operation: Operation,
}

/// What a result or a pointer's target depends on.
#[derive(Clone, Debug, Default)]
struct Flow {
    maybe: bool,
    params: Vec<usize>,
}

/// What callers must know of a function.
#[derive(Clone, Debug, Default)]
struct Summary {
    /// Calls must stand in uniform control flow.
    control: Option<Operation>,
    /// Arguments (or what they point to) must be uniform.
    params: Vec<Option<Operation>>,
    /// The result.
    result: Flow,
    /// What pointer arguments point to, afterwards.
    targets: Vec<Option<Flow>>,
}

/// Judges all functions and entry points.
pub(super) fn check(module: &naga::Module) -> Findings {
    let mut findings = Findings::default();
    let mut summaries = Vec::with_capacity(module.functions.len());
    for (_, function) in module.functions.iter() {
        summaries.push(analyse(module, function, None, &summaries, &mut findings));
    }
    for entry in &module.entry_points {
        analyse(module, &entry.function, Some(entry.stage), &summaries, &mut findings);
    }
    findings
}

/// The severity of the rule in a function.
fn severity(module: &naga::Module, function: &naga::Function) -> Severity {
    let rule = FilterableTriggeringRule::Standard(StandardFilterableTriggeringRule::DerivativeUniformity);
    let search = |leaf: Option<Handle<DiagnosticFilterNode>>, filters: &Arena<DiagnosticFilterNode>| {
        let mut next = leaf;
        while let Some(handle) = next {
            let node = &filters[handle];
            if node.inner.triggering_rule == rule {
                return node.inner.new_severity;
            }
            next = node.parent;
        }
        Severity::Error
    };
    // A function without attributes of its own has the module's.
    let leaf = function.diagnostic_filter_leaf.or(module.diagnostic_filter_leaf);
    search(leaf, &module.diagnostic_filters)
}

fn analyse(
    module: &naga::Module,
    function: &naga::Function,
    entry: Option<naga::ShaderStage>,
    callees: &[Summary],
    findings: &mut Findings,
) -> Summary {
    let walked = walk::walk(module, function, entry, severity(module, function), callees);
    let graph = walked.graph.finish();
    let to_maybe = graph.reach(MAYBE);
    let mut open = Vec::new();
    for requirement in walked.requirements {
        if to_maybe.reached(requirement.node) {
            report(&graph, &to_maybe, &requirement, function, findings);
        } else {
            open.push(requirement);
        }
    }
    let mut summary = Summary {
        params: vec![None; function.arguments.len()],
        targets: vec![None; function.arguments.len()],
        result: Flow {
            maybe: to_maybe.reached(walked.result),
            params: Vec::new(),
        },
        control: None,
    };
    for (i, target) in walked.targets.iter().enumerate() {
        summary.targets[i] = target.map(|node| Flow {
            maybe: to_maybe.reached(node),
            params: Vec::new(),
        });
    }
    if entry.is_some() {
        return summary;
    }
    summary.control = worst(&graph, &graph.reach(CONTROL), &open);
    for (param, &node) in walked.params.iter().enumerate() {
        let reach = graph.reach(node);
        summary.params[param] = worst(&graph, &reach, &open);
        if reach.reached(walked.result) {
            summary.result.params.push(param);
        }
        for (flow, target) in summary.targets.iter_mut().zip(&walked.targets) {
            if let (Some(flow), Some(target)) = (flow, target)
                && reach.reached(*target)
            {
                flow.params.push(param);
            }
        }
    }
    summary
}

/// The most severe of the requirements that lead there.
fn worst(graph: &Graph, reach: &Reach, requirements: &[Requirement]) -> Option<Operation> {
    let rank = |s: Severity| match s {
        Severity::Off => 0,
        Severity::Info => 1,
        Severity::Warning => 2,
        Severity::Error => 3,
    };
    let leading = requirements.iter().filter(|r| reach.reached(r.node));
    // The first of the most severe: `max_by_key` would take the last.
    let found = leading.rev().max_by_key(|r| rank(r.operation.severity))?;
    let mut operation = found.operation.clone();
    let path = graph.path(reach, found.node);
    operation.branch = operation.branch.or(branch(&path));
    Some(operation)
}

fn branch(path: &[&Why]) -> Option<naga::Span> {
    path.iter().find_map(|why| match why {
        Why::Branch(span) => Some(*span),
        Why::Source(..) => None,
    })
}

fn report(graph: &Graph, reach: &Reach, broken: &Requirement, function: &naga::Function, findings: &mut Findings) {
    let operation = &broken.operation;
    let path = graph.path(reach, broken.node);
    let mut diagnostic = Diagnostic::new(format!(
        "{} compares neighbouring pixels, so it must be in uniform control flow, where all pixels of a draw come by",
        operation.name
    ));
    let mut label = |span: naga::Span, text: String| {
        if let Some(range) = span.to_range()
            && !diagnostic.labels.iter().any(|l| l.0 == range)
        {
            diagnostic.labels.push((range, text));
        }
    };
    label(operation.span, "this operation".into());
    for &call in &operation.calls {
        label(call, "called here".into());
    }
    if let Some(span) = operation.branch.or(branch(&path)) {
        label(span, "some pixels may take this branch and others not".into());
    }
    if let Some(Why::Source(span, what)) = path.last() {
        label(*span, format!("{what} may differ from pixel to pixel"));
    }
    if let Some(name) = &function.name
        && !operation.calls.is_empty()
    {
        diagnostic = diagnostic.with_note(format!("found in function `{name}`"));
    }
    diagnostic = diagnostic.with_note(
        "compute it in front of the branch, give the level or the gradients explicitly, or allow it by \
         `diagnostic(off, derivative_uniformity);`",
    );
    match operation.severity {
        Severity::Error => findings.errors.push(diagnostic),
        Severity::Warning | Severity::Info => findings.warnings.push(diagnostic),
        Severity::Off => {}
    }
}

#[cfg(test)]
mod tests;
