//! Errors as the user reads them: one `error:` line, its causes, and the source line with a caret where there is source.

use super::Failure;
use quadrille::ShaderError;
use std::error::Error;
use std::fmt::Write as _;
use std::io::{IsTerminal, Write as _};
use std::sync::{Mutex, PoisonError};

static LAST_PANIC: Mutex<Option<String>> = Mutex::new(None);

/// Keeps the text of panics from the terminal; [`last_panic`] has it for the one message that is printed.
pub fn quiet_panics() {
    std::panic::set_hook(Box::new(|info| {
        let mut last = LAST_PANIC.lock().unwrap_or_else(PoisonError::into_inner);
        last.get_or_insert_with(|| info.to_string().replace('\n', " "));
    }));
}

/// The first panic of the process.
pub fn last_panic() -> Option<String> {
    LAST_PANIC.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Whether standard error takes colours.
fn coloured() -> bool {
    std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty())
}

fn paint(text: &str, code: &str) -> String {
    if coloured() {
        format!("\x1b[{code}m{text}\x1b[0m")
    } else {
        text.to_owned()
    }
}

/// Prints results. Whoever reads them may close the pipe early, as `head` does: then no one wants the rest.
pub fn print(text: &str) {
    let _ = std::io::stdout().lock().write_all(text.as_bytes());
}

/// Prints a warning.
pub fn warning(text: &str) {
    eprintln!("{}: {text}", paint("warning", "1;33"));
}

/// Prints why the command failed.
pub fn failure(failure: &Failure) {
    let error = paint("error", "1;31");
    match failure {
        Failure::Interrupted => eprintln!("interrupted"),
        Failure::Usage(text) => eprintln!("{error}: {text}\n\nFor more information, try '--help'."),
        Failure::Failed(e) => eprint!("{}", chain(&error, e.as_ref())),
    }
}

/// The error and its causes, innermost last; shader errors with their source.
fn chain(head: &str, error: &(dyn Error + 'static)) -> String {
    let mut out = format!("{head}: {error}\n");
    let mut told = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let text = cause.to_string();
        // Transparent wrappers say the same as what they wrap.
        if text != told {
            let _ = writeln!(out, "  because: {text}");
        }
        told = text;
        if let Some(shader) = shader_error(cause) {
            shader_diagnostics(&mut out, shader);
        }
        next = cause.source();
    }
    if let Some(shader) = shader_error(error) {
        shader_diagnostics(&mut out, shader);
    }
    out
}

/// The shader error that this is, wrapped or not.
fn shader_error<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a ShaderError> {
    let boxed = error.downcast_ref::<Box<quadrille::Error>>().map(Box::as_ref);
    match boxed.or_else(|| error.downcast_ref()) {
        Some(quadrille::Error::Shader(shader)) => Some(shader),
        _ => error.downcast_ref(),
    }
}

/// The source lines of a shader error, with carets: what its rendering has after the headline.
fn shader_diagnostics(out: &mut String, error: &ShaderError) {
    let rendered = error.render();
    out.push_str(rendered.split_once('\n').map_or("", |(_, lines)| lines));
}
