//! The one place where pipelines meet the IR passes.

use quadrille_frontend::ir::{Arena, Function, Handle, Local, Resource, Shader, Sources};
use quadrille_frontend::passes;

/// Why a shader could not be optimised.
#[derive(Clone, Debug, thiserror::Error)]
#[error("x")]
pub struct PassError;

/// Inlines all calls of a shader.
pub(super) fn inline_all(_: &mut Shader) -> Result<(), PassError> {
    Ok(())
}

/// Everything between assembly and compilation.
pub(super) fn optimize(
    mut function: Function,
    _: &Arena<Resource>,
    _: &[Handle<Local>],
    _: &mut Sources,
) -> Result<Function, PassError> {
    passes::expand::expand(&mut function);
    Ok(function)
}
