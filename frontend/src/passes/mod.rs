//! Passes over the IR, one idea each, and the order in which they run.
//!
//! ```text
//! inline ─► flow, arrays, locals, fold, cse ─► ifconvert, locals, fold, cse ─► [bounds, unroll, again]
//!        ─► contract ─► canon ─► expand, fold, cse ─► hoist ─► cse, dce, group, compact
//! ```
//!
//! `locals` stands for rates, forwarding, dead code and liveness. Contraction comes before `expand`, for expansions are
//! exact to the rounding; `canon` before it, too, for they handle bits themselves.
//!
//! A pass takes valid IR and leaves valid IR; debug builds check that between passes. No pass changes what a lane
//! computes, nor what a quad_read sees (laws L1, L2). All are linear in the size of the function, or nearly so.

mod algebra;
mod arrays;
mod bounds;
mod canon;
mod compact;
mod contract;
mod cse;
mod dce;
mod divide;
mod edit;
pub mod expand;
mod flow;
mod fold;
pub mod gradient;
mod group;
mod hoist;
mod ifconvert;
mod inline;
mod liveness;
mod locals;
mod mask;
mod nan;
mod rates;
mod unroll;

pub use inline::INSTRUCTION_BUDGET;
pub use rates::{Rate, Rates};

use crate::ir::validate::{Environment, ValidateError, validate, validate_function};
use crate::ir::{Arena, Function, Handle, Local, Resource, Shader, Sources};
use std::time::{Duration, Instant};

/// Why a shader can't be optimised.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PassError {
    /// A function that calls itself, directly or not: the user's fault.
    #[error("function {function:?} calls itself; shaders can't recurse")]
    Recursion {
        /// The function.
        function: String,
    },
    /// Inlining makes too many instructions: a limit.
    #[error("inlining {function:?} makes more than {limit} instructions; call it less often, or make it smaller")]
    InlineBudget {
        /// The function whose copy was one too many.
        function: String,
        /// The limit.
        limit: usize,
    },
    /// Statements nest too deeply: a limit.
    #[error("the statements of {function:?} nest deeper than {limit} after inlining")]
    Nesting {
        /// The function.
        function: String,
        /// The limit.
        limit: usize,
    },
    /// Invalid IR: a bug of whoever made it, or of a pass.
    #[error("after {pass}: {error}")]
    Invalid {
        /// What ran last.
        pass: &'static str,
        /// What is wrong.
        error: Box<ValidateError>,
    },
}

/// Time and size after each pass, in the order in which they ran.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PassStats {
    /// Name of the pass, time, instructions in the body afterwards.
    pub passes: Vec<(&'static str, Duration, usize)>,
}

/// Inlines every call; the entry function is the only one that stays.
pub fn inline_all(shader: &mut Shader) -> Result<(), PassError> {
    let invalid = |pass| {
        move |error| PassError::Invalid {
            pass,
            error: Box::new(error),
        }
    };
    validate(shader).map_err(invalid("the front end"))?;
    inline::run(shader)?;
    if cfg!(debug_assertions) {
        validate(shader).map_err(invalid("inline"))?;
    }
    Ok(())
}

/// Rounds of unrolling: each folds what the one before unrolled, so nests unroll from the inside.
const UNROLL_ROUNDS: usize = 4;

/// Optimises a pipeline program, and expands every operation that executors don't have. The backward slice of the
/// `invariant` locals' values is not contracted (law N2).
pub fn optimize_program(
    function: Function,
    resources: &Arena<Resource>,
    invariant: &[Handle<Local>],
    _sources: &mut Sources,
) -> Result<Function, PassError> {
    let options = Options {
        invariant,
        ..Options::default()
    };
    optimize(function, resources, &options).map(|(function, _)| function)
}

/// What [`optimize`] may do.
#[derive(Clone, Copy, Debug)]
pub struct Options<'a> {
    /// Whether sums take products in (law N2); off for Direct3D's languages, and where results must equal those of the
    /// plain program to the bit.
    pub contract: bool,
    /// Locals the backward slice of whose values is never contracted.
    pub invariant: &'a [Handle<Local>],
}

impl Default for Options<'_> {
    fn default() -> Self {
        Options {
            contract: true,
            invariant: &[],
        }
    }
}

/// As [`optimize_program`], with options; also gives the time and size after each pass.
pub fn optimize(
    function: Function,
    resources: &Arena<Resource>,
    options: &Options,
) -> Result<(Function, PassStats), PassError> {
    let invariant = if options.contract { options.invariant } else { &[] };
    let mut p = Pipeline {
        function,
        resources,
        stats: PassStats::default(),
    };
    p.check("assembly")?;
    p.run("assembly", |_, _| ())?;
    // Protected locals count as outputs until contraction has seen what is written to them.
    p.simplify(invariant)?;
    p.if_convert(invariant)?;
    for _ in 0..UNROLL_ROUNDS {
        if !unroll::has_loop(&p.function.body) {
            break;
        }
        let mut unrolled = false;
        p.run("bounds", |f, _| bounds::run(f))?;
        p.run("unroll", |f, _| unrolled = unroll::run(f))?;
        if !unrolled {
            break;
        }
        p.simplify(invariant)?;
        p.if_convert(invariant)?;
    }
    if options.contract {
        p.run("contract", |f, _| contract::run(f, invariant))?;
    }
    if !invariant.is_empty() {
        p.locals(&[])?;
    }
    p.run("canon", |f, _| canon::run(f))?;
    p.run("expand", |f, _| expand::expand(f))?;
    p.run("fold", |f, _| fold::run(f))?;
    p.run("cse", cse::run)?;
    p.run("dce", dce::run)?;
    let rates = Rates::compute(&p.function, resources);
    p.run("hoist", |f, resources| hoist::run(f, resources, &rates))?;
    p.run("cse", cse::run)?;
    p.run("dce", dce::run)?;
    p.run("group", group::run)?;
    p.run("compact", |f, _| compact::run(f, &mut []))?;
    Ok((p.function, p.stats))
}

struct Pipeline<'a> {
    function: Function,
    resources: &'a Arena<Resource>,
    stats: PassStats,
}

impl Pipeline<'_> {
    fn run(&mut self, name: &'static str, pass: impl FnOnce(&mut Function, &Arena<Resource>)) -> Result<(), PassError> {
        let start = Instant::now();
        pass(&mut self.function, self.resources);
        let time = start.elapsed();
        let mut instructions = 0;
        edit::for_each_inst(&self.function.body, &mut |_| instructions += 1);
        self.stats.passes.push((name, time, instructions));
        if cfg!(debug_assertions) {
            self.check(name)?;
        }
        Ok(())
    }

    fn check(&self, pass: &'static str) -> Result<(), PassError> {
        let environment = Environment {
            stage: None,
            inputs: None,
            resources: self.resources,
            functions: None,
        };
        validate_function(&self.function, &environment).map_err(|error| PassError::Invalid {
            pass,
            error: Box::new(error),
        })
    }

    /// Control flow, locals and values made simple.
    fn simplify(&mut self, live_out: &[Handle<Local>]) -> Result<(), PassError> {
        self.run("flow", |f, _| flow::run(f))?;
        self.run("arrays", |f, _| arrays::run(f))?;
        self.locals(live_out)?;
        self.run("fold", |f, _| fold::run(f))?;
        self.run("flow", |f, _| flow::run(f))?;
        self.run("cse", cse::run)
    }

    /// Small branches made selects, and what that opens up.
    fn if_convert(&mut self, live_out: &[Handle<Local>]) -> Result<(), PassError> {
        self.run("dce", dce::run)?;
        let rates = Rates::compute(&self.function, self.resources);
        self.run("ifconvert", |f, resources| ifconvert::run(f, resources, &rates))?;
        self.locals(live_out)?;
        self.run("fold", |f, _| fold::run(f))?;
        self.run("cse", cse::run)?;
        self.run("dce", dce::run)
    }

    fn locals(&mut self, live_out: &[Handle<Local>]) -> Result<(), PassError> {
        self.run("dce", dce::run)?;
        let mut rates = None;
        self.run("rates", |f, resources| rates = Some(Rates::compute(f, resources)))?;
        let Some(rates) = rates else { return Ok(()) };
        self.run("locals", |f, _| locals::run(f, &rates))?;
        self.run("dce", dce::run)?;
        self.run("liveness", |f, _| liveness::run(f, &rates, live_out))
    }
}

/// Runs one pass by name on a function: for tests and for looking at single passes. `live_out` are the locals whose
/// value at the end counts. `None` if there is no such pass.
pub fn run_pass(
    name: &str,
    function: &mut Function,
    resources: &Arena<Resource>,
    live_out: &[Handle<Local>],
) -> Option<()> {
    match name {
        "flow" => flow::run(function),
        "cse" => cse::run(function, resources),
        "dce" => dce::run(function, resources),
        "locals" => {
            let rates = Rates::compute(function, resources);
            locals::run(function, &rates);
            dce::run(function, resources);
            liveness::run(function, &rates, live_out);
        }
        "ifconvert" => {
            let rates = Rates::compute(function, resources);
            ifconvert::run(function, resources, &rates);
        }
        "fold" => {
            fold::run(function);
            dce::run(function, resources);
        }
        "arrays" => arrays::run(function),
        "bounds" => bounds::run(function),
        "unroll" => {
            unroll::run(function);
        }
        "hoist" => {
            let rates = Rates::compute(function, resources);
            hoist::run(function, resources, &rates);
        }
        "contract" => contract::run(function, live_out),
        "canon" => {
            canon::run(function);
            dce::run(function, resources);
        }
        "expand" => expand::expand(function),
        "group" => group::run(function, resources),
        "gradient" => gradient::move_gradients(function, &Arena::new(), resources),
        _ => return None,
    }
    Some(())
}
