//! How many threads a run may use, how far they may run ahead of what is certain, and what came of it.

use crate::{memory::left_to_process, time::Ps};
use std::{
    sync::{Mutex, PoisonError},
    thread::{self, Scope, ScopedJoinHandle},
};

/// Threads that run partitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Threads {
    /// How many; no more are used than there are partitions.
    pub count: u32,
    /// Bind each to a processor of its own.
    pub pin: bool,
    /// One of them may do all the work while that is faster; which one does changes no result.
    pub spare: bool,
    /// All of them are played by the calling thread, one after the other, and what each does in each window is measured: see [`Rehearsal`].
    pub rehearse: bool,
    /// A planted fault: windows reach so much further than lookahead allows. 0 but to see that tests find it.
    pub stretch: Ps,
}

impl Threads {
    /// The calling thread alone.
    pub const ONE: Self = Self { count: 1, pin: false, spare: false, rehearse: false, stretch: 0 };
}

/// Address space that a thread may take for its stack and for the heap that C libraries give each.
const THREAD_SPACE: u64 = 66 << 20;

/// How many of so many threads the system lets this process have, the calling one among them. They are started, and end when the last one stands.
/// Where address space is limited (`ulimit -v`) threads get half of what is left: memory that is refused later ends the process.
#[must_use]
pub fn startable(wanted: u32) -> u32 {
    let room = |left: u64| 1 + u32::try_from(left / 2 / THREAD_SPACE).unwrap_or(u32::MAX - 1);
    let wanted =
        if wanted > 1 { left_to_process().map_or(wanted, |left| wanted.min(room(left))) } else { wanted };
    let gate = Mutex::new(());
    thread::scope(|scope| {
        let _closed = gate.lock().unwrap_or_else(PoisonError::into_inner);
        let wait = || drop(gate.lock().unwrap_or_else(PoisonError::into_inner));
        1 + started(scope, wanted.saturating_sub(1), wait).len() as u32
    })
}

/// Starts so many threads that do the same, or as many as the system lets this process have: for work of which each takes what is next.
pub fn started<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    wanted: u32,
    work: impl Fn() -> T + Clone + Send + 'scope,
) -> Vec<ScopedJoinHandle<'scope, T>> {
    (0..wanted).map_while(|_| thread::Builder::new().spawn_scoped(scope, work.clone()).ok()).collect()
}

/// What threads would have done side by side, measured in one thread that played all of them.
///
/// In every window all threads wait for the one that has most to do. The sum of what these have to do is the *critical path* of the
/// windows: no number of processors gets through the run in less.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rehearsal {
    /// Windows after which threads would have met.
    pub windows: u64,
    /// Events of all threads.
    pub events: u64,
    /// Sum over windows of the events of the thread that had most.
    pub critical_events: u64,
    /// Nanoseconds of all threads.
    pub time: u64,
    /// Sum over windows of the nanoseconds of the thread that took longest.
    pub critical_time: u64,
}

impl Rehearsal {
    /// What came to pass since an earlier state of the same rehearsal.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        debug_assert!(earlier.windows <= self.windows && earlier.events <= self.events, "counts only grow");
        Self {
            windows: self.windows - earlier.windows,
            events: self.events - earlier.events,
            critical_events: self.critical_events - earlier.critical_events,
            time: self.time - earlier.time,
            critical_time: self.critical_time - earlier.critical_time,
        }
    }
}

/// How far partitions run ahead of what is certain. No value changes a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Optimism {
    /// Furthest that a partition may be ahead of the first event of all; `None`: as far as pays.
    pub bound: Option<Ps>,
    /// Events that a thread handles between two meetings, about.
    pub batch: usize,
    /// Events that a thread keeps to take them back, about: with more it runs only what is certain.
    pub history: usize,
    /// Takes events back after so many of a partition, without any need; 0 for never. For tests.
    pub stumble: u64,
    /// A planted fault, for tests.
    pub fault: Option<Fault>,
}

impl Default for Optimism {
    fn default() -> Self {
        Self { bound: None, batch: 4096, history: 1 << 14, stumble: 0, fault: None }
    }
}

/// Faults that tests plant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The first table of each partition is not restored.
    LostUndo,
    /// Events are committed so long before they are certain.
    EarlyCommit(Ps),
    /// Mail that is under way is not counted when the first event of all is found.
    BlindToMail,
}

/// What running ahead came to, over all threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Speculation {
    /// Events handled, those that were taken back included.
    pub handled: u64,
    /// Events that were committed.
    pub committed: u64,
    /// How often a partition went back.
    pub rollbacks: u64,
    /// Events taken back.
    pub rolled_back: u64,
    /// Handlers that failed in states that never were, and were taken back.
    pub failures: u64,
    /// Meetings of the threads.
    pub rounds: u64,
    /// Most bytes that a thread kept to take events back.
    pub peak_bytes: u64,
    /// How far beyond the first event of all the threads went last.
    pub ahead: Ps,
}

impl Speculation {
    /// Share of the events handled that count; 1 if none was handled.
    #[must_use]
    pub fn efficiency(&self) -> f64 {
        if self.handled == 0 { 1.0 } else { self.committed as f64 / self.handled as f64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_start_and_end() {
        assert_eq!(
            (startable(0), startable(1), startable(3)),
            (1, 1, 3),
            "the calling thread is one of them"
        );
        let ended = thread::scope(|scope| {
            let threads = started(scope, 3, || 7);
            threads.into_iter().map(|thread| thread.join().expect("it does not panic")).sum::<u32>()
        });
        assert_eq!(ended, 21);
    }
}
