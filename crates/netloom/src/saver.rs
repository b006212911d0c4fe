//! When a run is saved: at intervals of virtual or wall time, and when somebody asks for it.

use crate::{
    checkpoint::{self, Header},
    error::{Error, ErrorKind},
};
use base::{
    time::{NEVER, Ps, display},
    world::World,
};
use model::Progress;
use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

/// Intervals at which a run is saved; zero for none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Intervals {
    /// Virtual time, in picoseconds.
    pub virtual_time: Ps,
    /// Elapsed time of the machine that runs it.
    pub wall: Duration,
}

impl Intervals {
    /// The virtual time after `now` at which a run is saved next.
    fn after(&self, now: Ps) -> Ps {
        let every = self.virtual_time;
        now.checked_div(every).map_or(NEVER, |n| (n + 1).saturating_mul(every))
    }
}

/// What a pause is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Request {
    /// Nothing to save: go on.
    Nothing,
    /// Save and go on.
    Save,
    /// Save and stop.
    Leave,
}

/// Saves a run.
pub struct Saver {
    path: PathBuf,
    header: Header,
    intervals: Intervals,
    due: Ps,
    since: Instant,
    signals: Arc<Signals>,
    /// How often it had been asked to save when this was last looked at.
    asked: usize,
    /// The instant at which a request to leave was heeded, if the state was stored.
    left: Option<Result<Ps, Error>>,
    /// The processes of the run, which save together.
    world: World,
}

impl Saver {
    /// Saves to `path` at these intervals, and as the signals ask.
    #[must_use]
    pub fn new(path: PathBuf, header: Header, intervals: Intervals, signals: Arc<Signals>) -> Self {
        let due = intervals.after(header.now);
        let asked = signals.answered.load(Ordering::Relaxed);
        Self {
            path,
            header,
            intervals,
            due,
            since: Instant::now(),
            signals,
            asked,
            left: None,
            world: World::ALONE,
        }
    }

    /// The same of a run over several processes, each of which has a saver: what one is asked for all do, and the first one writes.
    #[must_use]
    pub fn over(self, world: &World) -> Self {
        Self { world: world.clone(), ..self }
    }

    /// Virtual time between pauses that saving needs; 0 for none.
    #[must_use]
    pub fn every(&self) -> Ps {
        self.intervals.virtual_time
    }

    /// Saves in a pause if that is wanted; false if the run is to stop. What keeps it from saving on the way is remarked: the run is worth more than its
    /// checkpoint.
    pub fn pause(
        &mut self,
        at: &Progress,
        state: impl FnOnce() -> Vec<u8>,
        remark: impl FnOnce(&Error),
    ) -> bool {
        let request = self.agreed(at.now);
        if request == Request::Nothing {
            return true;
        }
        let state = state();
        let stored = if self.world.is_first() { self.store(at, &state) } else { Ok(()) };
        if request == Request::Leave {
            let stored = stored.map_err(|error| self.keep_elsewhere(error, &state));
            self.left = Some(stored.map(|()| at.now));
            return false;
        }
        if let Err(error) = stored {
            remark(&error);
        }
        true
    }

    /// Keeps the last state of a run where temporary files go, if it could not be stored for `error`; gives the error with what became of it.
    fn keep_elsewhere(&self, error: Error, state: &[u8]) -> Error {
        let kept = checkpoint::elsewhere(&self.path);
        match checkpoint::store(&kept, &self.header, state) {
            Ok(()) => checkpoint::kept_elsewhere(&error, &kept, &self.path),
            Err(again) => {
                Error::new(ErrorKind::Output, format!("{error}; nor can it be kept elsewhere: {again}"))
            }
        }
    }

    /// Why a pause stopped the run, if one did; `help` says how it goes on.
    pub fn interrupted(&mut self, help: &str) -> Option<Error> {
        let interrupted = |now| {
            let message = format!(
                "interrupted at {} of virtual time; saved to `{}`",
                display(now),
                self.path.display()
            );
            Error::new(ErrorKind::Interrupted, message).with_help(help)
        };
        self.left.take().map(|stored| stored.map_or_else(|error| error, interrupted))
    }

    /// What is wanted of a pause at `now`, by any process of the run.
    fn agreed(&mut self, now: Ps) -> Request {
        self.signals.early.store(false, Ordering::Relaxed);
        let mine = self.request(now);
        if self.world.is_alone() {
            return mine;
        }
        match self.world.most(mine as u64) {
            0 => Request::Nothing,
            1 => Request::Save,
            _ => Request::Leave,
        }
    }

    /// What is wanted of a pause at `now`.
    fn request(&mut self, now: Ps) -> Request {
        if self.signals.leave() {
            return Request::Leave;
        }
        let wall = !self.intervals.wall.is_zero() && self.since.elapsed() >= self.intervals.wall;
        let before = std::mem::replace(&mut self.asked, self.signals.asked());
        self.signals.answered.fetch_max(self.asked, Ordering::Relaxed);
        if wall || now >= self.due || self.asked != before {
            return Request::Save;
        }
        Request::Nothing
    }

    /// Stores the state of a pause; if the system refuses, the checkpoint before is still there.
    fn store(&mut self, at: &Progress, state: &[u8]) -> Result<(), Error> {
        self.since = Instant::now();
        self.due = self.intervals.after(at.now);
        (self.header.now, self.header.partitions) = (at.now, at.partitions);
        checkpoint::store(&self.path, &self.header, state)
    }
}

/// Requests from outside, as flags: to save and leave, and to save. Whoever embeds the library sets them, from a handler of signals or from
/// another thread.
#[derive(Debug, Default)]
pub struct Signals {
    /// Save and leave.
    pub leave: Arc<AtomicBool>,
    /// Save and go on.
    pub save: Arc<AtomicBool>,
    /// Nothing is simulated yet, so there is nothing to save: a signal to leave ends the process at once. The first pause of a run takes it down.
    pub early: Arc<AtomicBool>,
    /// How often `save` was up: each of several savers saves.
    asked: AtomicUsize,
    /// How many of these times a saver has heeded. One that comes later starts from here: what was asked while a run was set up is not lost.
    pub(crate) answered: AtomicUsize,
    /// A request to leave that was no signal.
    stop: AtomicBool,
}

impl Signals {
    /// True if there was a request to leave.
    pub fn leave(&self) -> bool {
        self.leave.load(Ordering::Relaxed) || self.stop.load(Ordering::Relaxed)
    }

    /// Requests to leave, as the first signal does.
    pub fn request_leave(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// How often it was asked to save.
    pub(crate) fn asked(&self) -> usize {
        let more = usize::from(self.save.swap(false, Ordering::Relaxed));
        self.asked.fetch_add(more, Ordering::Relaxed) + more
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a signal does at once while there is nothing to save it does no longer from the first pause on.
    #[test]
    fn the_first_pause_makes_signals_heeded() {
        let signals = Arc::new(Signals::default());
        signals.early.store(true, Ordering::Relaxed);
        let mut saver =
            Saver::new(PathBuf::new(), Header::default(), Intervals::default(), Arc::clone(&signals));
        assert!(signals.early.load(Ordering::Relaxed));
        assert!(saver.pause(&Progress::default(), Vec::new, |_| ()), "nobody asked for anything");
        assert!(!signals.early.load(Ordering::Relaxed));
    }

    /// Who asks while a run is set up gets its checkpoint at the first pause; savers of later runs do not heed what was heeded.
    #[test]
    fn what_was_asked_before_a_run_began_is_not_lost() {
        let signals = Arc::new(Signals::default());
        let saver =
            || Saver::new(PathBuf::new(), Header::default(), Intervals::default(), Arc::clone(&signals));
        signals.save.store(true, Ordering::Relaxed);
        let mut first = saver();
        assert_eq!([first.request(0), first.request(0)], [Request::Save, Request::Nothing]);
        assert_eq!(saver().request(0), Request::Nothing, "heeded by the first");
        signals.save.store(true, Ordering::Relaxed);
        assert_eq!([saver().request(0), first.request(0)], [Request::Save; 2], "both are under way");
        assert_eq!(saver().request(0), Request::Nothing);
    }

    /// Every saver heeds a signal once; a request to leave stays, and the first signal still finds its flag down.
    #[test]
    fn several_savers_heed_one_signal() {
        let signals = Arc::new(Signals::default());
        let saver =
            || Saver::new(PathBuf::new(), Header::default(), Intervals::default(), Arc::clone(&signals));
        let mut savers = [saver(), saver()];
        let mut requests = || savers.each_mut().map(|saver| saver.request(0));
        assert_eq!(requests(), [Request::Nothing; 2]);
        signals.save.store(true, Ordering::Relaxed);
        assert_eq!((requests(), requests()), ([Request::Save; 2], [Request::Nothing; 2]));
        signals.request_leave();
        assert_eq!((requests(), requests()), ([Request::Leave; 2], [Request::Leave; 2]));
        assert!(!signals.leave.load(Ordering::Relaxed));
    }
}
