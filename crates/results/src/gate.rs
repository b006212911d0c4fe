//! Whether results may still be put in place: who is asked to leave while they are written takes back what was written.

use std::{
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// Stands before the place of results. Whoever writes goes through; whoever leaves shuts it.
#[derive(Clone, Debug, Default)]
pub struct Gate(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    /// The hidden directory that is being filled.
    partial: Option<PathBuf>,
    shut: bool,
    placed: bool,
}

impl Gate {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes back what is being written: nothing is put in place any more. False where results are in place already. Once more, it removes what
    /// the writer made since.
    #[must_use]
    pub fn shut(&self) -> bool {
        let mut state = self.state();
        if state.placed {
            return false;
        }
        state.shut = true;
        // A file that the writer makes at this moment keeps the directory; without it there is no other.
        let gone = |path: &PathBuf| fs::remove_dir_all(path).is_ok() || !path.exists();
        let _ = state.partial.as_ref().is_none_or(|path| (0..10).any(|_| gone(path)));
        true
    }

    /// True once it was shut.
    #[must_use]
    pub fn is_shut(&self) -> bool {
        self.state().shut
    }

    /// Says which directory is being filled; false behind a gate that is shut, where nothing may be written.
    #[must_use]
    pub(crate) fn enter(&self, partial: &Path) -> bool {
        let mut state = self.state();
        state.partial = Some(partial.to_owned());
        !state.shut
    }

    /// Puts results in place, unless it is shut: then nothing is done.
    pub(crate) fn pass<E>(&self, put: impl FnOnce() -> Result<(), E>) -> Option<Result<(), E>> {
        let mut state = self.state();
        let put = (!state.shut).then(put)?;
        state.placed = put.is_ok();
        Some(put)
    }
}

/// Why nothing is written any more.
pub(crate) const LEFT: &str = "the run was asked to leave while its results were written";

/// A file of results: nothing more is written to it once the gate is shut.
pub(crate) struct Gated<'a>(pub(crate) &'a File, pub(crate) Option<&'a Gate>);

impl Write for Gated<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.1.is_some_and(Gate::is_shut) {
            return Err(io::Error::other(LEFT));
        }
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shut_lets_nothing_through() {
        let root = tempfile::tempdir().unwrap();
        let partial = root.path().join("partial");
        let made = |gate: &Gate| {
            fs::create_dir_all(partial.join("otf2")).unwrap();
            gate.enter(&partial)
        };
        let gate = Gate::default();
        assert!(made(&gate));
        assert!(!gate.is_shut() && gate.shut() && gate.is_shut() && !partial.exists());
        assert_eq!(gate.pass(|| -> Result<(), ()> { panic!("it is shut") }), None);
        assert!(!made(&gate), "whoever comes late does not enter");
        assert!(gate.shut() && !partial.exists(), "once more");
        // A near miss: what is in place stays, and what could not be put there is taken back.
        let gate = Gate::default();
        assert!(made(&gate));
        assert_eq!(gate.pass(|| Err(1)), Some(Err(1)));
        assert_eq!(gate.pass(|| Ok::<(), u32>(())), Some(Ok(())));
        assert!(!gate.shut() && partial.exists());
    }
    #[test]
    fn no_more_is_written_behind_it() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("table.csv");
        let file = File::create(&path).unwrap();
        let gate = Gate::default();
        Gated(&file, Some(&gate)).write_all(b"a").unwrap();
        assert!(gate.shut());
        let refused = Gated(&file, Some(&gate)).write_all(b"b").unwrap_err();
        assert!(refused.to_string().contains("asked to leave"), "{refused}");
        Gated(&file, None).write_all(b"c").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"ac");
    }
}
