//! One function's graph: values, control flow, and what its variables hold at each point.
//!
//! Rules R-WGSL-32 to R-WGSL-45 of the digest. naga has lowered `for`, `while`, `&&` and `||` to loops and branches,
//! whose rules are those of the originals.

use super::graph::{Builder, CONTROL, MAYBE, UNIFORM, Why};
use super::{Operation, Requirement, Summary};
use crate::wgsl::analysis::{operands, walk as walk_statements};
use naga::diagnostic_filter::Severity;
use naga::{AddressSpace, Expression as Ex, Handle, Span, Statement as St, StorageAccess};
use std::collections::{BTreeMap, BTreeSet};

type Node = u32;

/// How a statement may end (R-WGSL-41 to R-WGSL-44).
#[derive(Clone, Copy, PartialEq, Eq)]
struct Behaviour(u8);

impl Behaviour {
    const NEXT: Behaviour = Behaviour(1);
    const BREAK: Behaviour = Behaviour(2);
    const CONTINUE: Behaviour = Behaviour(4);
    const RETURN: Behaviour = Behaviour(8);

    fn has(self, other: Behaviour) -> bool {
        self.0 & other.0 != 0
    }

    fn and(self, other: Behaviour) -> Behaviour {
        Behaviour(self.0 | other.0)
    }

    fn without(self, other: Behaviour) -> Behaviour {
        Behaviour(self.0 & !other.0)
    }
}

/// What a walk found.
pub(super) struct Walked {
    pub graph: Builder,
    pub requirements: Vec<Requirement>,
    /// By parameter: its value, or what it points to.
    pub params: Vec<Node>,
    /// The result.
    pub result: Node,
    /// By parameter: what a pointer's target holds at the end.
    pub targets: Vec<Option<Node>>,
}

/// Variables that differ from a point before, and what they hold now.
type Changes = BTreeMap<usize, Node>;

/// A loop or switch that is being walked.
struct Exits {
    mark: usize,
    is_loop: bool,
    breaks: Vec<Changes>,
    continues: Vec<Changes>,
}

impl Exits {
    fn new(mark: usize, is_loop: bool) -> Exits {
        Exits {
            mark,
            is_loop,
            breaks: Vec::new(),
            continues: Vec::new(),
        }
    }
}

/// What a pointer points into.
enum Root {
    /// By number: locals, then parameters.
    Variable(usize),
    Global(Handle<naga::GlobalVariable>),
}

struct Walk<'m> {
    module: &'m naga::Module,
    function: &'m naga::Function,
    callees: &'m [Summary],
    severity: Severity,
    graph: Builder,
    requirements: Vec<Requirement>,
    /// By expression, once it is evaluated.
    values: Vec<Option<Node>>,
    params: Vec<Node>,
    /// Locals, then what pointer parameters point to.
    variables: Vec<Node>,
    /// What variables held before they were written.
    log: Vec<(usize, Node)>,
    exits: Vec<Exits>,
    result: Node,
    targets: Vec<Option<Node>>,
}

/// Walks a function; `entry` is the stage of entry points.
pub(super) fn walk(
    module: &naga::Module,
    function: &naga::Function,
    entry: Option<naga::ShaderStage>,
    severity: Severity,
    callees: &[Summary],
) -> Walked {
    let mut graph = Builder::new();
    let result = graph.node([]);
    let is_pointer = |ty| {
        let inner: &naga::TypeInner = &module.types[ty].inner;
        matches!(
            inner,
            naga::TypeInner::Pointer { .. } | naga::TypeInner::ValuePointer { .. }
        )
    };
    let mut params = Vec::new();
    let mut targets = Vec::new();
    // naga gives the expression of a parameter the position of its declaration.
    let mut declared = vec![Span::UNDEFINED; function.arguments.len()];
    for (e, expression) in function.expressions.iter() {
        if let Ex::FunctionArgument(i) = *expression {
            declared[i as usize] = function.expressions.get_span(e);
        }
    }
    for (argument, span) in function.arguments.iter().zip(declared) {
        let uniform = matches!(
            argument.binding,
            Some(naga::Binding::BuiltIn(
                naga::BuiltIn::WorkGroupId | naga::BuiltIn::NumWorkGroups
            ))
        );
        params.push(match entry {
            None => graph.node([]),
            Some(_) if uniform => UNIFORM,
            Some(_) => {
                let name = argument.name.as_deref().unwrap_or("an input");
                graph.named(Why::Source(span, format!("`{name}`")), [MAYBE])
            }
        });
        targets.push(is_pointer(argument.ty).then(|| graph.node([])));
    }
    let locals = function.local_variables.len();
    let mut variables = vec![UNIFORM; locals];
    variables.extend(&params);
    let mut walk = Walk {
        module,
        function,
        callees,
        severity,
        graph,
        requirements: Vec::new(),
        values: vec![None; function.expressions.len()],
        params,
        variables,
        log: Vec::new(),
        exits: Vec::new(),
        result,
        targets,
    };
    let (_, behaviour) = walk.block(CONTROL, &function.body);
    if behaviour.has(Behaviour::NEXT) {
        walk.returned();
    }
    Walked {
        graph: walk.graph,
        requirements: walk.requirements,
        params: walk.params,
        result: walk.result,
        targets: walk.targets,
    }
}

impl Walk<'_> {
    fn span(&self, e: Handle<Ex>) -> Span {
        self.function.expressions.get_span(e)
    }

    /// Where a branch shows: its condition, unless that is a value from elsewhere; then the statement's first letters.
    fn branch_span(&self, condition: Handle<Ex>, statement: Span) -> Span {
        let span = self.span(condition);
        match (span.to_range(), statement.to_range()) {
            (Some(c), Some(s)) if s.start <= c.start && c.end <= s.end => span,
            (_, Some(s)) => Span::new(s.start as u32, (s.start + 2).min(s.end) as u32),
            _ => span,
        }
    }

    fn value(&self, e: Handle<Ex>) -> Node {
        match (self.values[e.index()], &self.function.expressions[e]) {
            (Some(node), _) => node,
            // A pointer itself is the same for all; what it points to is a variable.
            (None, Ex::FunctionArgument(i)) if self.targets[*i as usize].is_none() => self.params[*i as usize],
            _ => UNIFORM,
        }
    }

    fn root(&self, pointer: Handle<Ex>) -> Option<(Root, bool)> {
        let (mut at, mut whole) = (pointer, true);
        loop {
            match self.function.expressions[at] {
                Ex::Access { base, .. } | Ex::AccessIndex { base, .. } => (at, whole) = (base, false),
                Ex::LocalVariable(local) => return Some((Root::Variable(local.index()), whole)),
                Ex::GlobalVariable(global) => return Some((Root::Global(global), whole)),
                Ex::FunctionArgument(i) => {
                    let variable = self.function.local_variables.len() + i as usize;
                    return Some((Root::Variable(variable), whole));
                }
                _ => return None,
            }
        }
    }

    fn set(&mut self, variable: usize, node: Node) {
        let before = std::mem::replace(&mut self.variables[variable], node);
        self.log.push((variable, before));
    }

    fn changes(&self, mark: usize) -> Changes {
        let changed = self.log[mark..].iter().map(|&(v, _)| (v, self.variables[v]));
        changed.collect()
    }

    fn undo(&mut self, mark: usize) {
        while self.log.len() > mark {
            if let Some((variable, before)) = self.log.pop() {
                self.variables[variable] = before;
            }
        }
    }

    /// What variables hold where several ways meet, all from the point where the variables are now.
    fn join(&mut self, ways: &[Changes]) {
        let variables: BTreeSet<usize> = ways.iter().flat_map(|w| w.keys().copied()).collect();
        for variable in variables {
            let here = self.variables[variable];
            let mut nodes: Vec<Node> = ways.iter().map(|w| w.get(&variable).copied().unwrap_or(here)).collect();
            nodes.sort_unstable();
            nodes.dedup();
            let node = match nodes[..] {
                [one] => one,
                _ => self.graph.node(nodes),
            };
            self.set(variable, node);
        }
    }

    fn require(&mut self, node: Node, span: Span, name: &'static str) {
        if self.severity != Severity::Off {
            self.requirements.push(Requirement {
                node,
                operation: Operation {
                    severity: self.severity,
                    span,
                    name,
                    calls: Vec::new(),
                    branch: None,
                },
            });
        }
    }

    /// Control flow gets to the function's end here.
    fn returned(&mut self) {
        let locals = self.function.local_variables.len();
        for i in 0..self.targets.len() {
            if let Some(target) = self.targets[i] {
                self.graph.edge(target, self.variables[locals + i]);
            }
        }
    }

    fn block(&mut self, control: Node, block: &naga::Block) -> (Node, Behaviour) {
        let (mut control, mut behaviour) = (control, Behaviour::NEXT);
        for (statement, span) in block.span_iter() {
            let (after, b) = self.statement(control, statement, *span);
            control = after;
            behaviour = behaviour.without(Behaviour::NEXT).and(b);
            // What can't be reached plays no part (R-WGSL-42).
            if !b.has(Behaviour::NEXT) {
                break;
            }
        }
        (control, behaviour)
    }

    fn statement(&mut self, control: Node, statement: &St, span: Span) -> (Node, Behaviour) {
        let next = (control, Behaviour::NEXT);
        match *statement {
            St::Emit(ref range) => {
                for e in range.clone() {
                    let node = self.evaluate(control, e);
                    self.values[e.index()] = Some(node);
                }
                next
            }
            St::Block(ref inner) => self.block(control, inner),
            St::If {
                condition,
                ref accept,
                ref reject,
            } => {
                let (ways, ends, behaviour) =
                    self.arms(control, (condition, span), &[(accept, false), (reject, false)]);
                (self.meet(control, behaviour, ends, &ways), behaviour)
            }
            St::Switch { selector, ref cases } => {
                let arms: Vec<_> = cases.iter().map(|c| (&c.body, c.fall_through)).collect();
                self.exits.push(Exits::new(self.log.len(), false));
                let (mut ways, ends, mut behaviour) = self.arms(control, (selector, span), &arms);
                ways.extend(self.exits.pop().into_iter().flat_map(|e| e.breaks));
                if behaviour.has(Behaviour::BREAK) {
                    behaviour = behaviour.and(Behaviour::NEXT).without(Behaviour::BREAK);
                }
                (self.meet(control, behaviour, ends, &ways), behaviour)
            }
            St::Loop {
                ref body,
                ref continuing,
                break_if,
            } => self.loop_(control, body, continuing, break_if),
            St::Break => {
                if let Some(at) = self.exits.len().checked_sub(1) {
                    let changes = self.changes(self.exits[at].mark);
                    self.exits[at].breaks.push(changes);
                }
                (control, Behaviour::BREAK)
            }
            St::Continue => {
                if let Some(at) = self.exits.iter().rposition(|e| e.is_loop) {
                    let changes = self.changes(self.exits[at].mark);
                    self.exits[at].continues.push(changes);
                }
                (control, Behaviour::CONTINUE)
            }
            St::Return { value } => {
                self.graph.edge(self.result, control);
                if let Some(value) = value {
                    let value = self.value(value);
                    self.graph.edge(self.result, value);
                }
                self.returned();
                (control, Behaviour::RETURN)
            }
            St::Store { pointer, value } => {
                if let Some((Root::Variable(variable), whole)) = self.root(pointer) {
                    let mut to = vec![self.value(value), self.value(pointer), control];
                    if !whole {
                        to.push(self.variables[variable]);
                    }
                    let node = self.graph.node(to);
                    self.set(variable, node);
                }
                next
            }
            St::Call {
                function,
                ref arguments,
                result,
            } => {
                self.call(control, span, function.index(), arguments, result);
                next
            }
            St::Atomic { result: Some(e), .. }
            | St::SubgroupBallot { result: e, .. }
            | St::SubgroupGather { result: e, .. }
            | St::SubgroupCollectiveOperation { result: e, .. } => {
                let why = Why::Source(span, "this result".into());
                self.values[e.index()] = Some(self.graph.named(why, [MAYBE]));
                next
            }
            _ => next,
        }
    }

    fn evaluate(&mut self, control: Node, e: Handle<Ex>) -> Node {
        let expression = &self.function.expressions[e];
        let mut to = vec![control];
        operands(expression, &mut |operand| to.push(self.value(operand)));
        match *expression {
            Ex::Derivative { axis, .. } => {
                let name = match axis {
                    naga::DerivativeAxis::X => "dpdx",
                    naga::DerivativeAxis::Y => "dpdy",
                    naga::DerivativeAxis::Width => "fwidth",
                };
                self.gradient(control, e, name)
            }
            Ex::ImageSample {
                gather: None,
                level,
                depth_ref,
                ..
            } => match (level, depth_ref) {
                (naga::SampleLevel::Auto, None) => self.gradient(control, e, "textureSample"),
                (naga::SampleLevel::Auto, Some(_)) => self.gradient(control, e, "textureSampleCompare"),
                (naga::SampleLevel::Bias(_), _) => self.gradient(control, e, "textureSampleBias"),
                _ => self.graph.node(to),
            },
            Ex::Load { pointer } => match self.root(pointer) {
                Some((Root::Variable(variable), _)) => {
                    to.push(self.variables[variable]);
                    self.graph.node(to)
                }
                Some((Root::Global(global), _)) if self.is_mutable(global) => self.source(e, global),
                _ => self.graph.node(to),
            },
            Ex::ImageLoad { image, .. } => match self.root(image) {
                Some((Root::Global(global), _)) if self.is_mutable(global) => self.source(e, global),
                _ => self.graph.node(to),
            },
            _ => self.graph.node(to),
        }
    }

    fn gradient(&mut self, control: Node, e: Handle<Ex>, name: &'static str) -> Node {
        let span = self.span(e);
        self.require(control, span, name);
        self.graph.named(Why::Source(span, "this result".into()), [MAYBE])
    }

    fn source(&mut self, e: Handle<Ex>, global: Handle<naga::GlobalVariable>) -> Node {
        let name = self.module.global_variables[global]
            .name
            .as_deref()
            .unwrap_or("a variable");
        self.graph
            .named(Why::Source(self.span(e), format!("`{name}`")), [MAYBE])
    }

    /// Whether a module-scope variable may change while the shader runs.
    fn is_mutable(&self, global: Handle<naga::GlobalVariable>) -> bool {
        let global = &self.module.global_variables[global];
        match global.space {
            AddressSpace::Storage { access } => access.contains(StorageAccess::STORE),
            AddressSpace::Private | AddressSpace::WorkGroup => true,
            AddressSpace::Handle => match self.module.types[global.ty].inner {
                naga::TypeInner::Image {
                    class: naga::ImageClass::Storage { access, .. },
                    ..
                } => access.contains(StorageAccess::STORE),
                _ => false,
            },
            _ => false,
        }
    }

    /// The arms of a branch or a switch (R-WGSL-33, R-WGSL-34): what variables hold and control flow is at their ends.
    fn arms(
        &mut self,
        control: Node,
        (condition, span): (Handle<Ex>, Span),
        arms: &[(&naga::Block, bool)],
    ) -> (Vec<Changes>, Vec<Node>, Behaviour) {
        let why = Why::Branch(self.branch_span(condition, span));
        let start = self.graph.named(why, [self.value(condition), control]);
        let mark = self.log.len();
        let mut ways = Vec::new();
        let mut ends = Vec::new();
        let mut behaviour = Behaviour(0);
        let mut fallen: Option<(Node, Changes)> = None;
        for &(body, falls_through) in arms {
            let mut from = start;
            if let Some((end, changes)) = fallen.take() {
                from = self.graph.node([start, end]);
                self.join(&[Changes::new(), changes]);
            }
            let (end, b) = self.block(from, body);
            if b.has(Behaviour::NEXT) {
                let changes = self.changes(mark);
                if falls_through {
                    fallen = Some((end, changes));
                } else {
                    ways.push(changes);
                }
            }
            ends.push(end);
            behaviour = behaviour.and(b);
            self.undo(mark);
        }
        (ways, ends, behaviour)
    }

    /// Behind a branch: its ways meet.
    fn meet(&mut self, control: Node, behaviour: Behaviour, ends: Vec<Node>, ways: &[Changes]) -> Node {
        self.join(ways);
        if behaviour == Behaviour::NEXT {
            control
        } else {
            self.graph.node(ends)
        }
    }

    fn loop_(
        &mut self,
        control: Node,
        body: &naga::Block,
        continuing: &naga::Block,
        break_if: Option<Handle<Ex>>,
    ) -> (Node, Behaviour) {
        let start = self.graph.node([control]);
        let mut written = BTreeSet::new();
        for block in [body, continuing] {
            walk_statements(block, &mut |statement| match statement {
                St::Store { pointer, .. } => written.extend(self.variable(*pointer)),
                St::Call { arguments, .. } => written.extend(arguments.iter().filter_map(|&a| self.variable(a))),
                _ => {}
            });
        }
        let mut meeting = Vec::new();
        for &variable in &written {
            let node = self.graph.node([self.variables[variable]]);
            self.set(variable, node);
            meeting.push((variable, node));
        }
        let mark = self.log.len();
        self.exits.push(Exits::new(mark, true));
        let (end, b1) = self.block(start, body);
        let at_end = self.changes(mark);
        self.undo(mark);
        let exits = self.exits.pop().unwrap_or(Exits::new(mark, true));
        let (mut breaks, mut again) = (exits.breaks, exits.continues);
        if b1.has(Behaviour::NEXT) {
            again.push(at_end);
        }
        let comes_round = b1.has(Behaviour::NEXT.and(Behaviour::CONTINUE));
        let mut behaviour = b1;
        if comes_round {
            self.join(&again);
            let (mut last, b2) = self.block(end, continuing);
            behaviour = behaviour.and(b2);
            if let Some(condition) = break_if {
                last = self
                    .graph
                    .named(Why::Branch(self.span(condition)), [self.value(condition), last]);
                breaks.push(self.changes(mark));
                behaviour = behaviour.and(Behaviour::BREAK);
            }
            self.graph.edge(start, last);
            for (variable, node) in meeting {
                self.graph.edge(node, self.variables[variable]);
            }
            self.undo(mark);
        }
        self.join(&breaks);
        let after = match (b1.has(Behaviour::RETURN), comes_round) {
            (false, _) => control,
            (true, true) => start,
            (true, false) => end,
        };
        let behaviour = if b1 == Behaviour::RETURN {
            Behaviour::RETURN
        } else if behaviour.has(Behaviour::BREAK) {
            behaviour
                .and(Behaviour::NEXT)
                .without(Behaviour::BREAK.and(Behaviour::CONTINUE))
        } else {
            behaviour.without(Behaviour::CONTINUE.and(Behaviour::NEXT))
        };
        (after, behaviour)
    }

    fn variable(&self, pointer: Handle<Ex>) -> Option<usize> {
        match self.root(pointer) {
            Some((Root::Variable(variable), _)) => Some(variable),
            _ => None,
        }
    }

    fn call(&mut self, control: Node, span: Span, callee: usize, arguments: &[Handle<Ex>], result: Option<Handle<Ex>>) {
        let Some(summary) = self.callees.get(callee) else {
            return;
        };
        let through = |operation: &Operation| {
            let mut operation = operation.clone();
            operation.calls.push(span);
            operation
        };
        // What each argument is, or points to.
        let given: Vec<Node> = (0..arguments.len())
            .map(|i| {
                let value = self.value(arguments[i]);
                match (summary.targets.get(i), self.root(arguments[i])) {
                    (Some(Some(_)), Some((Root::Variable(variable), _))) => {
                        self.graph.node([value, self.variables[variable]])
                    }
                    (Some(Some(_)), Some((Root::Global(global), _))) if self.is_mutable(global) => MAYBE,
                    _ => value,
                }
            })
            .collect();
        if let Some(operation) = &summary.control {
            let operation = through(operation);
            self.requirements.push(Requirement {
                node: control,
                operation,
            });
        }
        for (operation, &node) in summary.params.iter().zip(&given) {
            if let Some(operation) = operation {
                let operation = through(operation);
                self.requirements.push(Requirement { node, operation });
            }
        }
        let flow = |flow: &super::Flow| {
            let mut to = vec![control];
            to.extend(flow.params.iter().filter_map(|&p| given.get(p).copied()));
            to.extend(flow.maybe.then_some(MAYBE));
            to
        };
        if let Some(result) = result {
            let why = Why::Source(span, "this function's result".into());
            let to = flow(&summary.result);
            let node = match summary.result.maybe {
                true => self.graph.named(why, to),
                false => self.graph.node(to),
            };
            self.values[result.index()] = Some(node);
        }
        for (i, target) in summary.targets.iter().enumerate() {
            let (Some(target), Some(&argument)) = (target, arguments.get(i)) else {
                continue;
            };
            if let Some((Root::Variable(variable), whole)) = self.root(argument) {
                let mut to = flow(target);
                if !whole {
                    to.push(self.variables[variable]);
                }
                let node = self.graph.node(to);
                self.set(variable, node);
            }
        }
    }
}
