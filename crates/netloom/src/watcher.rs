//! Who hears what the library is at.

use model::Progress;

/// Hears what is under way. Nothing that it does changes a result.
///
/// ```
/// use netloom::Watcher;
/// use std::sync::Mutex;
///
/// #[derive(Default)]
/// struct Lines(Mutex<Vec<String>>);
///
/// impl Watcher for Lines {
///     fn phase(&self, what: &str) {
///         self.0.lock().unwrap().push(what.to_owned());
///     }
/// }
///
/// let lines = Lines::default();
/// lines.phase("distances");
/// lines.ended();
/// assert_eq!(*lines.0.lock().unwrap(), ["distances"]);
/// ```
pub trait Watcher: Sync {
    /// Long work other than a simulation begins its next phase.
    fn phase(&self, _what: &str) {}

    /// A simulation is so far.
    fn progress(&self, _at: &Progress) {}

    /// Of a series of runs, so many are done.
    fn points(&self, _done: u64, _all: u64) {}

    /// Something that is worth a line, and no failure.
    fn remark(&self, _text: &str) {}

    /// True once whoever watches wants what is under way to end without a result, as an interruption: asked before each large step of an assembly and in
    /// every pause of a simulation, about every quarter of a million events. Nobody leaves a run of several processes.
    fn leaves(&self) -> bool {
        false
    }

    /// What was reported by [`Watcher::phase`] or [`Watcher::progress`] has ended.
    fn ended(&self) {}
}

/// A watcher that hears everything and does nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Watcher for Silent {}

/// Phases that end when this is dropped.
pub struct Phases<'a>(pub &'a dyn Watcher);

impl Phases<'_> {
    /// Says what begins now.
    pub fn begin(&self, phase: impl AsRef<str>) {
        self.0.phase(phase.as_ref());
    }
}

impl Drop for Phases<'_> {
    fn drop(&mut self) {
        self.0.ended();
    }
}
