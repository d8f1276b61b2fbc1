//! Prints shaders and functions.

use super::lex::quote;
use super::op;
use crate::ir::Op;
use crate::ir::kind::Literal;
use crate::ir::shader::{
    Binding, Body, Builtin, DepthOutput, Function, Inst, Interpolation, Label, LoopBound, Resource, ResourceClass,
    SampleKind, Sampling, Semantic, Shader, Stage, Stmt, Value,
};
use crate::ir::span::SpanId;
use std::fmt::{self, Write};

pub(super) const STAGES: [(&str, Stage); 3] = [
    ("vertex", Stage::Vertex),
    ("fragment", Stage::Fragment),
    ("compute", Stage::Compute),
];

pub(super) const INTERPOLATIONS: [(&str, Interpolation); 3] = [
    ("perspective", Interpolation::Perspective),
    ("linear", Interpolation::Linear),
    ("flat", Interpolation::Flat),
];

pub(super) const SAMPLINGS: [(&str, Sampling); 3] = [
    ("center", Sampling::Center),
    ("centroid", Sampling::Centroid),
    ("sample", Sampling::Sample),
];

pub(super) const DEPTH_OUTPUTS: [(&str, DepthOutput); 3] = [
    ("depth_any", DepthOutput::Any),
    ("depth_greater_equal", DepthOutput::GreaterEqual),
    ("depth_less_equal", DepthOutput::LessEqual),
];

pub(super) const SAMPLE_KINDS: [(&str, SampleKind); 5] = [
    ("float", SampleKind::Float),
    ("unfilterable_float", SampleKind::UnfilterableFloat),
    ("sint", SampleKind::Sint),
    ("uint", SampleKind::Uint),
    ("depth", SampleKind::Depth),
];

/// Built-ins without a component.
pub(super) const BUILTINS: [(&str, Builtin); 12] = [
    ("vertex_index", Builtin::VertexIndex),
    ("instance_index", Builtin::InstanceIndex),
    ("front_facing", Builtin::FrontFacing),
    ("sample_index", Builtin::SampleIndex),
    ("sample_mask", Builtin::SampleMask),
    ("inner_coverage", Builtin::InnerCoverage),
    ("frag_depth", Builtin::FragDepth),
    ("primitive_index", Builtin::PrimitiveIndex),
    ("viewport_index", Builtin::ViewportIndex),
    ("layer", Builtin::Layer),
    ("point_size", Builtin::PointSize),
    ("view_index", Builtin::ViewIndex),
];

fn name_of<T: PartialEq + Copy>(table: &[(&'static str, T)], item: T) -> &'static str {
    table.iter().find(|e| e.1 == item).map_or("?", |e| e.0)
}

/// The text of a shader.
pub fn print_shader(shader: &Shader) -> String {
    let mut out = String::new();
    // Writing to a String can't fail.
    let _ = write_shader(&mut out, shader);
    out
}

/// The text of a function, as it stands in a shader's text but numbered 0.
pub fn print_function(function: &Function) -> String {
    let mut printer = Printer::new(function, 0);
    let _ = printer.function(function, 0);
    printer.out
}

/// One instruction by itself: values by their place in the function, constants in place of their values.
pub fn print_instruction(f: &Function, inst: &Inst) -> String {
    let name = |v: Value| match f.constant(v) {
        Some(c) => op::literal(c),
        None => format!("%{}", v.index()),
    };
    let results: Vec<String> = inst.results().map(name).collect();
    let args: Vec<String> = inst.args.iter().map(|&v| name(v)).collect();
    let mut text = op::head(&inst.op);
    if !results.is_empty() {
        text = format!("{} = {text}", results.join(", "));
    }
    if !args.is_empty() {
        text = format!("{text} {}", args.join(", "));
    }
    text
}

impl fmt::Display for Shader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_shader(f, self)
    }
}

impl fmt::Display for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&print_function(self))
    }
}

fn write_shader(o: &mut impl Write, s: &Shader) -> fmt::Result {
    write!(o, "shader {} {}", quote(&s.name), name_of(&STAGES, s.stage))?;
    if s.early_depth_stencil {
        o.write_str(" early_depth_stencil")?;
    }
    if s.depth_output != DepthOutput::Any {
        write!(o, " {}", name_of(&DEPTH_OUTPUTS, s.depth_output))?;
    }
    o.write_str(" {\n")?;
    for text in &s.sources.texts {
        writeln!(o, "    source {} {}", quote(&text.name), quote(&text.text))?;
    }
    for (id, span) in s.sources.spans.iter() {
        let (source, start, end) = (span.source, span.start, span.end);
        write!(o, "    span @{} = {source}, {start}, {end}", id.index())?;
        if let Some(outer) = span.inlined_at {
            write!(o, " inlined @{}", outer.index())?;
        }
        o.write_str("\n")?;
    }
    for (id, input) in s.inputs.iter() {
        let (name, kind, at) = (quote(&input.name), input.kind, semantic(&input.semantic));
        let how = name_of(&INTERPOLATIONS, input.interpolation);
        let place = name_of(&SAMPLINGS, input.sampling);
        writeln!(o, "    input in{} {name}: {kind} = {at} {how} {place}", id.index())?;
    }
    for (id, r) in s.resources.iter() {
        write!(o, "    resource r{} {}: {}", id.index(), quote(&r.name), class(r))?;
        write!(o, " = {} count {}{}", binding(&r.binding), r.count, span(r.span))?;
        o.write_str("\n")?;
    }
    for (id, function) in s.functions.iter() {
        let mut printer = Printer::new(function, 1);
        printer.function(function, id.index())?;
        o.write_str(&printer.out)?;
    }
    for output in &s.outputs {
        let (name, kind, at) = (quote(&output.name), output.kind, semantic(&output.semantic));
        write!(o, "    output {name}: {kind} = {at} ${}", output.local.index())?;
        o.write_str(if output.invariant { " invariant\n" } else { "\n" })?;
    }
    writeln!(o, "    entry fn{}\n}}", s.entry.index())
}

fn span(span: Option<SpanId>) -> String {
    span.map_or(String::new(), |s| format!(" @{}", s.index()))
}

fn semantic(semantic: &Semantic) -> String {
    match *semantic {
        Semantic::Location {
            location,
            component,
            second_source,
        } => {
            let second = if second_source { ", second" } else { "" };
            format!("location({location}, {component}{second})")
        }
        Semantic::Builtin(Builtin::Position(c)) => format!("builtin(position, {c})"),
        Semantic::Builtin(Builtin::ClipDistance(c)) => format!("builtin(clip_distance, {c})"),
        Semantic::Builtin(Builtin::CullDistance(c)) => format!("builtin(cull_distance, {c})"),
        Semantic::Builtin(b) => format!("builtin({})", name_of(&BUILTINS, b)),
    }
}

fn binding(binding: &Binding) -> String {
    match *binding {
        Binding::WebGpu { group, binding } => format!("group({group}, {binding})"),
        Binding::Register { class, register, space } => {
            format!("register({}, {register}, {space})", quote(&class.to_string()))
        }
    }
}

fn class(resource: &Resource) -> String {
    let flag = |on: bool, name: &'static str| if on { name } else { "" };
    match &resource.class {
        ResourceClass::Uniform { min_size } => format!("uniform({min_size})"),
        ResourceClass::Storage { writable, min_size } => {
            format!("storage({min_size}{})", flag(*writable, ", write"))
        }
        ResourceClass::Texture {
            dim,
            array,
            multisampled,
            sample,
        } => format!(
            "texture({}{}{}, {})",
            op::dim_name(*dim),
            flag(*array, ", array"),
            flag(*multisampled, ", multisampled"),
            name_of(&SAMPLE_KINDS, *sample)
        ),
        ResourceClass::StorageTexture {
            dim,
            array,
            format,
            readable,
            writable,
        } => format!(
            "storage_texture({}{}, {}{}{})",
            op::dim_name(*dim),
            flag(*array, ", array"),
            quote(format),
            flag(*readable, ", read"),
            flag(*writable, ", write")
        ),
        ResourceClass::Sampler { comparison } => format!("sampler({})", flag(*comparison, "comparison")),
        ResourceClass::Immediate { size } => format!("immediate({size})"),
    }
}

struct Printer {
    out: String,
    indent: usize,
    /// Printed number by value index.
    values: Vec<Option<u32>>,
    next_value: u32,
    /// Printed number by label.
    labels: Vec<Option<u32>>,
    next_label: u32,
}

impl Printer {
    fn new(function: &Function, indent: usize) -> Self {
        Printer {
            out: String::new(),
            indent,
            values: vec![None; function.values.len()],
            next_value: 0,
            labels: vec![None; function.label_count as usize],
            next_label: 0,
        }
    }

    fn start_line(&mut self) {
        for _ in 0..self.indent {
            self.out.push_str("    ");
        }
    }

    /// A value's number; one that isn't defined (invalid IR) prints so that the parser refuses it.
    fn value(&self, value: Value) -> String {
        match self.values.get(value.index()) {
            Some(Some(n)) => format!("%{n}"),
            _ => format!("%undefined{}", value.index()),
        }
    }

    fn list(&self, values: &[Value]) -> String {
        let values: Vec<String> = values.iter().map(|&v| self.value(v)).collect();
        values.join(", ")
    }

    fn define(&mut self, value: Value) {
        let n = self.next_value;
        self.next_value += 1;
        if let Some(slot) = self.values.get_mut(value.index()) {
            *slot = Some(n);
        }
    }

    fn define_label(&mut self, label: Label) -> String {
        let n = self.next_label;
        self.next_label += 1;
        if let Some(slot) = self.labels.get_mut(label.0 as usize) {
            *slot = Some(n);
        }
        format!("L{n}")
    }

    fn label(&self, label: Label) -> String {
        match self.labels.get(label.0 as usize) {
            Some(Some(n)) => format!("L{n}"),
            _ => format!("Lundefined{}", label.0),
        }
    }

    fn function(&mut self, f: &Function, number: usize) -> fmt::Result {
        self.start_line();
        write!(self.out, "func fn{number} {}(", quote(&f.name))?;
        for (i, &param) in f.params.iter().enumerate() {
            self.define(param);
            let sep = if i == 0 { "" } else { ", " };
            let text = format!("{sep}{}: {}", self.value(param), f.kind(param));
            self.out.push_str(&text);
        }
        let results: Vec<&str> = f.results.iter().map(|k| k.name()).collect();
        writeln!(self.out, ") -> ({}) {{", results.join(", "))?;
        self.indent += 1;
        for (id, local) in f.locals.iter() {
            self.start_line();
            let (name, kind, init) = (quote(&local.name), local.kind, op::literal(local.init));
            writeln!(self.out, "local ${} {name}: {kind} = {init}", id.index())?;
        }
        for (id, array) in f.arrays.iter() {
            self.start_line();
            let (name, kind, len) = (quote(&array.name), array.kind, array.len);
            write!(self.out, "array &{} {name}: {kind}[{len}]", id.index())?;
            if !array.init.is_empty() {
                let init: Vec<String> = array
                    .init
                    .iter()
                    .map(|&bits| {
                        op::literal(Literal {
                            kind,
                            bits: u64::from(bits),
                        })
                    })
                    .collect();
                write!(self.out, " = [{}]", init.join(", "))?;
            }
            self.out.push('\n');
        }
        self.body(f, &f.body)?;
        self.close()
    }

    fn close(&mut self) -> fmt::Result {
        self.indent -= 1;
        self.start_line();
        self.out.write_str("}\n")
    }

    fn body(&mut self, f: &Function, body: &Body) -> fmt::Result {
        body.iter().try_for_each(|stmt| self.stmt(f, stmt))
    }

    /// A body in braces whose opening line is written, up to the brace.
    fn nested(&mut self, f: &Function, body: &Body) -> fmt::Result {
        self.out.push_str(" {\n");
        self.indent += 1;
        self.body(f, body)?;
        self.indent -= 1;
        self.start_line();
        self.out.write_str("}")
    }

    fn stmt(&mut self, f: &Function, stmt: &Stmt) -> fmt::Result {
        self.start_line();
        match stmt {
            Stmt::Inst(id) => match f.insts.get(*id) {
                Some(inst) => self.inst(f, inst)?,
                None => write!(self.out, "undefined{}", id.index())?,
            },
            Stmt::Block { label, body } => {
                let label = self.define_label(*label);
                write!(self.out, "block {label}")?;
                self.nested(f, body)?;
            }
            Stmt::If {
                cond,
                then,
                otherwise,
                span: at,
            } => {
                let text = format!("if {}{}", self.value(*cond), span(*at));
                self.out.push_str(&text);
                self.nested(f, then)?;
                if !otherwise.is_empty() {
                    self.out.push_str(" else");
                    self.nested(f, otherwise)?;
                }
            }
            Stmt::Loop {
                label,
                body,
                continuing,
                break_if,
                bound,
                span: at,
            } => {
                let label = self.define_label(*label);
                write!(self.out, "loop {label} ")?;
                match bound {
                    LoopBound::Budgeted => write!(self.out, "budgeted{}", span(*at))?,
                    LoopBound::AtMost(n) => write!(self.out, "at_most({n}){}", span(*at))?,
                }
                self.nested(f, body)?;
                if !continuing.is_empty() {
                    self.out.push_str(" continuing");
                    self.nested(f, continuing)?;
                }
                if let Some(cond) = break_if {
                    let text = format!(" break_if {}", self.value(*cond));
                    self.out.push_str(&text);
                }
            }
            Stmt::Switch {
                label,
                selector,
                cases,
                span: at,
            } => {
                let label = self.define_label(*label);
                let text = format!("switch {label} {}{} {{\n", self.value(*selector), span(*at));
                self.out.push_str(&text);
                self.indent += 1;
                for case in cases {
                    self.start_line();
                    let mut heads: Vec<String> = case.values.iter().map(u32::to_string).collect();
                    if case.default {
                        heads.push("default".into());
                    }
                    write!(self.out, "case {}", heads.join(", "))?;
                    self.nested(f, &case.body)?;
                    self.out
                        .push_str(if case.falls_through { " falls_through\n" } else { "\n" });
                }
                self.indent -= 1;
                self.start_line();
                self.out.push('}');
            }
            Stmt::Break(label) => {
                let label = self.label(*label);
                write!(self.out, "break {label}")?;
            }
            Stmt::Continue(label) => {
                let label = self.label(*label);
                write!(self.out, "continue {label}")?;
            }
            Stmt::Return(args) => {
                let args = self.list(args);
                self.out.push_str("return");
                if !args.is_empty() {
                    write!(self.out, " {args}")?;
                }
            }
        }
        self.out.write_str("\n")
    }

    fn inst(&mut self, f: &Function, inst: &Inst) -> fmt::Result {
        // Operands first: an instruction can't use its own results.
        let args = self.list(&inst.args);
        for (i, result) in inst.results().enumerate() {
            self.define(result);
            let kind = f.values.get(result).map_or("?", |v| v.kind.name());
            let sep = if i == 0 { "" } else { ", " };
            let text = format!("{sep}{}: {kind}", self.value(result));
            self.out.push_str(&text);
        }
        if inst.result_count > 0 {
            self.out.push_str(" = ");
        }
        self.out.push_str(&op::head(&inst.op));
        if !args.is_empty() {
            let after_local = matches!(inst.op, Op::LocalSet { .. } | Op::ArrayGet(_) | Op::ArraySet(_));
            self.out.push_str(if after_local { ", " } else { " " });
            self.out.push_str(&args);
        }
        self.out.write_str(&span(inst.span))
    }
}

/// For messages: the text of one operation without operands.
pub(crate) fn op_text(op: &Op) -> String {
    op::head(op)
}
