//! Where front ends run: on a stack deep enough for nested text, and where a panic is an error like any other.

use crate::diagnostic::{Diagnostic, ShaderError, ShaderErrorKind};
use crate::ir::SourceText;
use std::sync::Arc;

/// Parsing and lowering recurse over nested constructs, whose depth naga and we bound.
const STACK: usize = 256 << 20;

/// Runs `work` on a stack of its own that is deep enough, and makes a panic an error.
pub(crate) fn guarded<T: Send>(
    text: &Arc<SourceText>,
    work: impl FnOnce() -> Result<T, ShaderError> + Send,
) -> Result<T, ShaderError> {
    let internal = |message: &str| ShaderError::new(ShaderErrorKind::Internal, text, Diagnostic::new(message));
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new()
            .name("shader".into())
            .stack_size(STACK)
            .spawn_scoped(scope, work)
            .map_err(|_| internal("no thread could be started to compile the shader"))?;
        thread
            .join()
            .unwrap_or_else(|_| Err(internal("the compiler failed on this shader, which is a bug in it")))
    })
}
