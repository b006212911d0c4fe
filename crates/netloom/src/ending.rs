//! The end of a run: its results are written while requests to leave and to save are heeded, and what cannot be written is kept.
//!
//! A thread writes, and this one listens. Asked to leave, it takes back what is half written and keeps the results as they lie in memory in
//! the place of a checkpoint: `netloom resume` makes files of them. Asked to save, it does the same and lets the thread go on.

use crate::{
    checkpoint::{self, Ended, Header},
    error::{Error, ErrorKind},
    output::{Target, Unstored},
    saver::Signals,
    watcher::Watcher,
};
use results::gate::Gate;
use std::{
    path::Path,
    sync::{
        Arc,
        atomic::Ordering,
        mpsc::{Receiver, RecvTimeoutError, channel},
    },
    thread,
    time::Duration,
};

/// Between two looks at what is asked for.
const LOOK: Duration = Duration::from_millis(50);

/// Stores what a run left, as [`Target::store`], and heeds signals meanwhile.
///
/// # Errors
/// If it cannot be stored, or a request to leave came first ([`ErrorKind::Interrupted`]); the error says where it is kept.
pub fn store(
    target: &Target<'_>,
    header: &Header,
    ended: &Arc<Ended>,
    signals: &Signals,
    watcher: &dyn Watcher,
) -> Result<(), Error> {
    // From here on there is something to save, of every model.
    signals.early.store(false, Ordering::Relaxed);
    let path = checkpoint::path_of(target.directory)?;
    let (gate, (done, written)) = (Gate::default(), channel());
    let write = {
        let (directory, force, gate) = (target.directory.to_owned(), target.force, gate.clone());
        let ended = Arc::clone(ended);
        let work = move || {
            let target = Target { directory: &directory, force };
            target.put(&ended.manifest, &ended.finished, Some(&gate))
        };
        // Nobody may listen any more.
        move || drop(done.send(work()))
    };
    if thread::Builder::new().name("writer".to_owned()).spawn(write).is_err() {
        // A process that may have no more threads writes here.
        let stored = target.put(&ended.manifest, &ended.finished, None);
        return stored.map_err(|lost| {
            target.last_resort(lost, || Some(checkpoint::store_ended(&path, header, ended)))
        });
    }
    listen(&Listener { target, path: &path, header, ended, gate: &gate }, &written, signals, watcher)
}

/// What is needed beside signals to end a run whose results are being written.
struct Listener<'a> {
    target: &'a Target<'a>,
    /// Of the checkpoint.
    path: &'a Path,
    header: &'a Header,
    ended: &'a Ended,
    gate: &'a Gate,
}

/// Heeds signals until the writer says what became of the results.
fn listen(
    &Listener { target, path, header, ended, gate }: &Listener<'_>,
    written: &Receiver<Result<(), Unstored>>,
    signals: &Signals,
    watcher: &dyn Watcher,
) -> Result<(), Error> {
    let keep = || Some(checkpoint::store_ended(path, header, ended));
    // A request that no pause of the run answered is heeded here.
    let mut asked = signals.answered.load(Ordering::Relaxed);
    loop {
        match written.recv_timeout(LOOK) {
            Ok(Ok(())) => {
                // One that was asked for meanwhile.
                target.without_checkpoint();
                return Ok(());
            }
            Ok(Err(lost)) => return Err(target.last_resort(lost, keep)),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                let lost = Error::new(ErrorKind::Internal, "the writer of results failed");
                return Err(target.last_resort(lost.into(), keep));
            }
        }
        if signals.leave() && gate.shut() {
            let kept = interrupted(path, header, ended);
            // What the writer made since.
            let _ = gate.shut();
            return Err(kept);
        }
        let before = std::mem::replace(&mut asked, signals.asked());
        signals.answered.fetch_max(asked, Ordering::Relaxed);
        if asked != before
            && let Err(error) = checkpoint::store_ended(path, header, ended)
        {
            watcher.remark(&format!("error: {error}"));
        }
    }
}

/// Keeps results in place of a checkpoint, or where temporary files go; gives the interruption that says so.
fn interrupted(path: &Path, header: &Header, ended: &Ended) -> Error {
    let Err(error) = checkpoint::store_ended(path, header, ended) else {
        let message =
            format!("interrupted while results were written; they are kept in `{}`", path.display());
        return Error::new(ErrorKind::Interrupted, message).with_help("`netloom resume DIR` writes them");
    };
    let kept = checkpoint::elsewhere(path);
    match checkpoint::store_ended(&kept, header, ended) {
        Ok(()) => checkpoint::kept_elsewhere(&error, &kept, path),
        Err(again) => {
            Error::new(ErrorKind::Output, format!("{error}; nor can it be kept elsewhere: {again}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::{Begun, Program};
    use crate::{Experiment, Silent, execute::execute, output::manifest, samples::TEXT};
    use std::fs;

    const PROGRAM: Program = Program { build: "a test", version: "0", revision: "" };

    /// A run that has ended and is not stored.
    fn ended() -> Arc<Ended> {
        let prepared = Experiment::from_text(TEXT).prepare(&Silent).unwrap_or_else(|e| panic!("{e}"));
        let finished = execute(&prepared, &Silent).unwrap_or_else(|e| panic!("{e}"));
        let begun = Begun { started: "2026-01-01T00:00:00Z".to_owned(), inputs: Vec::new() };
        let manifest = manifest(&PROGRAM, &prepared, &finished, begun, "2026-01-01T00:00:01Z".to_owned());
        Arc::new(Ended { manifest, finished })
    }

    fn names(directory: &Path) -> Vec<String> {
        let all = fs::read_dir(directory).unwrap();
        let mut names: Vec<_> = all.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    fn header() -> Header {
        Header { build: PROGRAM.build.to_owned(), ..Header::default() }
    }

    /// What was kept becomes the files that would have been written.
    #[test]
    fn results_that_are_kept_become_the_same_files() {
        let root = tempfile::tempdir().unwrap();
        let (ended, header) = (ended(), header());
        let at = |name: &str| root.path().join(name);
        let (whole, again) = (at("whole"), at("again"));
        let target = |directory| Target { directory, force: false };
        store(&target(&whole), &header, &ended, &Signals::default(), &Silent).unwrap();
        let path = checkpoint::path_of(&again).unwrap();
        assert_eq!(interrupted(&path, &header, &ended).kind(), ErrorKind::Interrupted);
        assert_eq!(names(root.path()), ["again.checkpoint", "whole"]);
        let (read, state) = checkpoint::load(&path, PROGRAM.build).unwrap();
        assert!(read.ended && read.now == ended.finished.summary.simulated_ps);
        let kept = Arc::new(Ended::read(&state, &path).unwrap());
        assert!(Ended::read(&state[..state.len() - 1], &path).is_err());
        store(&target(&again), &read, &kept, &Signals::default(), &Silent).unwrap();
        assert_eq!(names(root.path()), ["again", "whole"], "the checkpoint is of no more use");
        assert_eq!(names(&again), names(&whole));
        for name in names(&again) {
            assert!(fs::read(again.join(&name)).unwrap() == fs::read(whole.join(&name)).unwrap(), "{name}");
        }
    }

    /// Whoever is asked to save does so while results are written, also if that was before; asked to leave, it leaves. Here the writer writes nothing
    /// and says that it is done once the checkpoint is there, or after half a minute.
    #[test]
    fn requests_are_heeded_while_results_are_written() {
        let root = tempfile::tempdir().unwrap();
        let directory = root.path().join("run");
        let target = Target { directory: &directory, force: false };
        let (path, header, ended) = (checkpoint::path_of(&directory).unwrap(), header(), ended());
        let heed = |signals: &Signals, gate: &Gate| {
            let (done, written) = channel();
            let saved = path.clone();
            let writer = thread::spawn(move || {
                let there = (0..600).any(|_| {
                    thread::sleep(LOOK);
                    saved.exists()
                });
                drop(done.send(Ok(())));
                there
            });
            let listener = Listener { target: &target, path: &path, header: &header, ended: &ended, gate };
            let heeded = listen(&listener, &written, signals, &Silent);
            (heeded.map_err(|e| e.kind()), writer.join().unwrap())
        };
        let signals = Signals::default();
        signals.save.store(true, Ordering::Relaxed);
        assert_eq!(heed(&signals, &Gate::default()), (Ok(()), true));
        assert!(!path.exists(), "it goes with the results");
        // Asked during the last part of the run, which had no pause any more.
        let signals = Signals::default();
        signals.save.store(true, Ordering::Relaxed);
        assert_eq!(signals.asked(), 1);
        assert_eq!(heed(&signals, &Gate::default()), (Ok(()), true));
        let signals = Signals::default();
        signals.leave.store(true, Ordering::Relaxed);
        let gate = Gate::default();
        assert_eq!(heed(&signals, &gate), (Err(ErrorKind::Interrupted), true));
        assert!(gate.is_shut() && path.exists());
    }
}
