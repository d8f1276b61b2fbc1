//! Forms of a fragment program that few passes need, compiled when one first does.

use super::fragment::{self, Traits};
use super::interface::Link;
use super::state::{ExtendedState, PipelineDescriptor, Rules};
use super::{PipelineError, RenderPipeline, program};
use quadrille_frontend::ir::{Function, Shader};
use quadrille_jit::{Compiled, Executor, ProgramKind};
use std::sync::{Arc, OnceLock};

/// What a fragment program does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// All of it.
    Whole,
    /// All of it, and counts invocations and samples that pass.
    Counting,
    /// All of it, counting, and shows what happens to whoever watches ([`Note`](super::Note)).
    Traced,
}

impl Form {
    /// Whether it counts.
    pub fn counts(self) -> bool {
        self != Form::Whole
    }

    /// Whether it has notes.
    pub fn shows(self) -> bool {
        self == Form::Traced
    }
}

/// What the forms are made of.
pub(super) struct Source {
    vertex: Shader,
    /// Inlined, with its entry function.
    fragment: Option<(Shader, Function)>,
    traits: Traits,
    link: Link,
    rules: Rules,
    extended: ExtendedState,
}

impl Source {
    pub fn new(
        desc: &PipelineDescriptor<'_>,
        fragment: Option<(Shader, Function)>,
        traits: Traits,
        link: Link,
    ) -> Source {
        Source {
            vertex: desc.vertex.clone(),
            fragment,
            traits,
            link,
            rules: desc.rules,
            extended: desc.extended,
        }
    }

    /// Per vertex, the words that the stages share.
    pub fn link(&self) -> &Link {
        &self.link
    }
}

/// The forms of one pipeline.
pub(super) struct Forms {
    executor: Arc<dyn Executor>,
    source: Source,
    counting: OnceLock<Result<Arc<dyn Compiled>, PipelineError>>,
    traced: OnceLock<Result<Arc<dyn Compiled>, PipelineError>>,
}

impl Forms {
    pub fn new(executor: &dyn Executor, source: Source) -> Forms {
        Forms {
            executor: executor.share(),
            source,
            counting: OnceLock::new(),
            traced: OnceLock::new(),
        }
    }
}

impl RenderPipeline {
    /// The fragment program in some form; none if it does nothing.
    ///
    /// # Errors
    /// If it can't be compiled, which is as likely as for the whole program.
    pub(crate) fn form(&self, form: Form) -> Result<Option<&dyn Compiled>, PipelineError> {
        let place = match form {
            Form::Whole => return Ok(self.fragment.as_deref()),
            Form::Counting => &self.forms.counting,
            Form::Traced => &self.forms.traced,
        };
        match place.get_or_init(|| self.compile(form)) {
            Ok(program) => Ok(Some(&**program)),
            Err(error) => Err(error.clone()),
        }
    }

    fn compile(&self, form: Form) -> Result<Arc<dyn Compiled>, PipelineError> {
        let source = &self.forms.source;
        let shader = source.fragment.as_ref().map(|(s, f)| (s, f));
        let desc = PipelineDescriptor {
            label: &self.label,
            vertex: &source.vertex,
            buffers: &self.buffers,
            fragment: shader.map(|s| s.0),
            targets: &self.targets,
            primitive: self.primitive,
            depth_stencil: self.depth_stencil,
            multisample: self.multisample,
            rules: source.rules,
            extended: source.extended,
        };
        let assembled = fragment::assemble(&desc, &self.planes, shader, source.traits, &source.link, form);
        let kind = ProgramKind::Fragment {
            samples: self.coverage.bytes() as u8,
            plane_stride: self.planes.plane_stride(),
        };
        let (program, _) =
            program(assembled, kind, shader.map(|s| s.0), &self.slots).map_err(|error| PipelineError::Pass {
                label: self.label.clone(),
                error,
            })?;
        self.forms
            .executor
            .compile(&program)
            .map_err(|error| PipelineError::Compile {
                label: self.label.clone(),
                error,
            })
    }
}
