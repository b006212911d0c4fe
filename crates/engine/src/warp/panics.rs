//! Panics of handlers in states that never were: ahead of a wrong past, or in a saved state that somebody changed. They say nothing, and are caught.

use std::{cell::Cell, panic, sync::Once};

thread_local! {
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Runs something whose panics are not reported: whoever calls catches them, in here.
pub fn quietly<T>(run: impl FnOnce() -> T) -> T {
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
