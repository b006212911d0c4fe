//! Panics of handlers that ran ahead of a wrong past: they say nothing, and are caught.

use std::{cell::Cell, panic, sync::Once};

thread_local! {
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Runs something whose panics are not reported.
pub(crate) fn quietly<T>(run: impl FnOnce() -> T) -> T {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        // What others report, and what this thread reports outside of `quietly`, is reported as ever.
        let former = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !QUIET.get() {
                former(info);
            }
        }));
    });
    let before = QUIET.replace(true);
    let result = run();
    QUIET.set(before);
    result
}
