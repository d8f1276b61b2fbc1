//! Ctrl-C: the first ends the command in order (exit code 130, no partial output), the second at once.

use quadrille::CancelFlag;
use std::sync::OnceLock;

static FLAG: OnceLock<CancelFlag> = OnceLock::new();

/// The flag that an interrupt raises; submissions that hold it end early.
pub fn flag() -> CancelFlag {
    FLAG.get_or_init(CancelFlag::new).clone()
}

/// Whether the user has interrupted.
pub fn happened() -> bool {
    flag().is_cancelled()
}

/// Starts to listen. Where signals can't be had, Ctrl-C ends the process as ever.
pub fn install() {
    let flag = flag();
    let Ok(mut signals) = signal_hook::iterator::Signals::new([signal_hook::consts::SIGINT]) else {
        return;
    };
    let listen = move || {
        for _ in signals.forever() {
            if flag.is_cancelled() {
                quadrille::files::remove_unfinished();
                std::process::exit(130);
            }
            flag.cancel();
        }
    };
    // Without the thread the handler would swallow the signal; but a process that can't have a thread is ending anyway.
    let _ = std::thread::Builder::new().name("interrupt".into()).spawn(listen);
}
