//! Where threads meet after each window: a barrier that carries what everybody must know, and mail boxes.
//!
//! In round r every thread posts its mail, then *announces*: the time of its next event, its count of events, and for every other
//! thread when the first message is due that it posted to it. Announcing r is one release store; a thread that has seen everybody's
//! announcement of r knows everything that was posted in r. There is no central counter: each thread writes one cache line
//! and reads the others'.
//!
//! Values and boxes exist twice, for even and odd rounds. A thread announces r + 2 only after it saw everybody announce r + 1, and
//! a thread announces r + 1 only after it has read everything of r; so nothing is overwritten before it is read, and the locks of
//! the boxes are never contended.
//!
//! Who waits looks a while, then gives the processor to others, then sleeps (`patience.rs`); who announces last wakes all that sleep. Nobody sleeps through it:
//! a sleeper counts itself before it looks a last time, an announcer announces before it looks for sleepers, and a fence stands between the
//! two in both, so one of them sees the other. Of several that announce at once, the last to pass its fence sees everybody's round.

use crate::patience::{Habit, Next, Patience};
use base::time::{NEVER, Ps};
use std::time::Instant;

#[cfg(not(loom))]
use std::sync::{
    Condvar, Mutex, PoisonError,
    atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering, fence},
};

#[cfg(loom)]
use loom::sync::{
    Condvar, Mutex,
    atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering, fence},
};
#[cfg(loom)]
use std::sync::PoisonError;

/// Atoms in one piece of memory that processors pass around (two lines of 64 bytes, which are fetched together).
const WIDTH: usize = 16;

/// What one thread announces lies on lines of its own, written by it alone: the round; then, for even and odd rounds, the time of its
/// next event, its count of events, and by receiver when the first message is due. With two threads all of it is one line of 64 bytes.
#[repr(align(128))]
struct Line([AtomicU64; WIDTH]);

/// What is known of all threads after a round.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    /// Time of each thread's next event, mail included that it has not opened yet.
    pub next: Vec<Ps>,
    /// Events handled by all together.
    pub events: u64,
}

/// A meeting of threads that exchange messages of type `M`.
pub struct Meeting<M> {
    threads: usize,
    /// `stride` lines for each thread, one thread after the other.
    lines: Vec<Line>,
    stride: usize,
    /// By sender, receiver, parity of the round.
    boxes: Vec<[Mutex<Vec<M>>; 2]>,
    failed: AtomicBool,
    habit: Habit,
    /// Threads that sleep or are about to.
    asleep: AtomicUsize,
    bed: Mutex<()>,
    morning: Condvar,
}

impl<M> Meeting<M> {
    /// A meeting of `threads`.
    #[must_use]
    pub fn new(threads: usize, patience: Patience) -> Self {
        assert!(threads > 0, "somebody meets");
        // Whole lines for each thread: two writers on one line would take it from each other at every store.
        let stride = Self::news_at(threads, 2).div_ceil(WIDTH);
        let line = |_| Line(std::array::from_fn(|_| AtomicU64::new(0)));
        Self {
            threads,
            lines: (0..threads * stride).map(line).collect(),
            stride,
            boxes: (0..threads * threads).map(|_| [Mutex::default(), Mutex::default()]).collect(),
            failed: AtomicBool::new(false),
            habit: Habit::new(patience),
            asleep: AtomicUsize::new(0),
            bed: Mutex::new(()),
            morning: Condvar::new(),
        }
    }

    /// Where the news of a parity begin among a thread's atoms.
    const fn news_at(threads: usize, parity: usize) -> usize {
        1 + parity * (threads + 1)
    }

    /// A thread's round.
    fn round(&self, of: usize) -> &AtomicU64 {
        &self.lines[of * self.stride].0[0]
    }

    /// What a thread announced for `round`: 0 the next event, 1 the count, 2 and on the first message to each of the others.
    fn news(&self, of: usize, round: u64, which: usize) -> &AtomicU64 {
        let at = Self::news_at(self.threads, (round % 2) as usize) + which;
        &self.lines[of * self.stride + at / WIDTH].0[at % WIDTH]
    }

    /// When the first message is due that `from` posted to `to` in `round`; never if there is none.
    fn sent(&self, from: usize, to: usize, round: u64) -> &AtomicU64 {
        // Nobody posts to itself: the own place is left out, so that two threads' news fit one line.
        self.news(from, round, 2 + to - usize::from(to > from))
    }

    /// Posts messages from one thread to another; they are opened after `round`. `mail` comes back empty, with memory used before.
    pub fn post(&self, from: usize, to: usize, round: u64, mail: &mut Vec<M>) {
        let of = &self.boxes[from * self.threads + to][(round % 2) as usize];
        // Never waited for: the receiver opens it in the next round, when the sender writes to the other one of the two.
        let mut waiting = of.lock().unwrap_or_else(PoisonError::into_inner);
        debug_assert!(waiting.is_empty(), "the mail of two rounds ago was opened");
        std::mem::swap(&mut *waiting, mail);
    }

    /// Announces that `me` has done its share of `round`; rounds count from 1. `sent` says by receiver when the first message is due
    /// that was posted in this round, [`NEVER`] if none was.
    pub fn announce(&self, me: usize, round: u64, next: Ps, events: u64, sent: &[Ps]) {
        assert!(sent.len() == self.threads, "every thread is told of");
        // These may become visible in any order: nobody reads them before the round, whose store releases them.
        self.news(me, round, 0).store(next, Ordering::Relaxed);
        self.news(me, round, 1).store(events, Ordering::Relaxed);
        for (to, &time) in sent.iter().enumerate().filter(|&(to, _)| to != me) {
            self.sent(me, to, round).store(time, Ordering::Relaxed);
        }
        self.round(me).store(round, Ordering::Release);
        fence(Ordering::SeqCst);
        if self.asleep.load(Ordering::Relaxed) > 0 && self.all_announced(round) {
            self.wake();
        }
    }

    fn all_announced(&self, round: u64) -> bool {
        (0..self.threads).all(|of| self.round(of).load(Ordering::Acquire) >= round)
    }

    fn wake(&self) {
        // Whoever was about to sleep does so before this lock is had, or looks once more after it.
        drop(self.bed.lock().unwrap_or_else(PoisonError::into_inner));
        self.morning.notify_all();
    }

    /// Waits until everybody has announced `round`; false if a thread failed.
    #[must_use]
    pub fn wait(&self, round: u64) -> bool {
        // Threads are about as fast as each other, so the wait is short as a rule, and giving the processor away costs more.
        let mut vigil = self.habit.vigil();
        while !self.all_announced(round) {
            if self.failed.load(Ordering::Relaxed) {
                return false;
            }
            match vigil.next(Instant::now) {
                Next::Look => std::hint::spin_loop(),
                Next::Yield => {
                    let begun = Instant::now();
                    std::thread::yield_now();
                    vigil.yielded(begun.elapsed());
                }
                Next::Sleep => return self.sleep(round),
            }
        }
        vigil.met();
        true
    }

    /// Sleeps until everybody has announced `round`; false if a thread failed.
    fn sleep(&self, round: u64) -> bool {
        self.asleep.fetch_add(1, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        let mut bed = self.bed.lock().unwrap_or_else(PoisonError::into_inner);
        let met = loop {
            if self.all_announced(round) {
                break true;
            }
            if self.failed.load(Ordering::Relaxed) {
                break false;
            }
            bed = self.morning.wait(bed).unwrap_or_else(PoisonError::into_inner);
        };
        drop(bed);
        self.asleep.fetch_sub(1, Ordering::Relaxed);
        met
    }

    /// Reads what was announced for `round`, which must be over.
    pub fn read(&self, round: u64, known: &mut Known) {
        known.events = 0;
        known.next.clear();
        for of in 0..self.threads {
            known.next.push(self.news(of, round, 0).load(Ordering::Relaxed));
            known.events += self.news(of, round, 1).load(Ordering::Relaxed);
        }
        for from in 0..self.threads {
            for to in (0..self.threads).filter(|&to| to != from) {
                // Mail that is posted and not opened counts as the receiver's: else all could seem to be further than a message that is under way.
                known.next[to] = self.sent(from, to, round).load(Ordering::Relaxed).min(known.next[to]);
            }
        }
    }

    /// Takes the mail that `from` posted to `to` in `round`, which must be over. A box without mail is not even touched.
    pub fn open(&self, from: usize, to: usize, round: u64, mut take: impl FnMut(M)) {
        if self.sent(from, to, round).load(Ordering::Relaxed) == NEVER {
            return;
        }
        let of = &self.boxes[from * self.threads + to][(round % 2) as usize];
        let mut waiting = of.lock().unwrap_or_else(PoisonError::into_inner);
        // Emptied, not dropped: its memory goes back to the sender when it posts here again.
        waiting.drain(..).for_each(&mut take);
    }

    /// Lets nobody wait for a thread that has failed.
    pub fn fail(&self) {
        self.failed.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        self.wake();
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::time::Duration;

    /// Everything posted arrives in its round, once, and everybody knows the same.
    #[test]
    fn mail_arrives_once_and_in_its_round() {
        for looks in [0, 100] {
            for yields in [Duration::ZERO, Duration::from_micros(20)] {
                everybody_meets(Patience { looks, yields });
            }
        }
    }

    fn everybody_meets(patience: Patience) {
        const THREADS: usize = 3;
        let meeting = Meeting::<(usize, u64)>::new(THREADS, patience);
        std::thread::scope(|scope| {
            for me in 0..THREADS {
                let meeting = &meeting;
                scope.spawn(move || {
                    let mut known = Known { next: Vec::new(), events: 0 };
                    for round in 1..=2_000 {
                        let mut sent = [NEVER; THREADS];
                        for to in (0..THREADS).filter(|&to| to != me) {
                            meeting.post(me, to, round, &mut vec![(me, round)]);
                            sent[to] = round * 10;
                        }
                        meeting.announce(me, round, round * 10 + 5, round, &sent);
                        assert!(meeting.wait(round));
                        meeting.read(round, &mut known);
                        assert_eq!(known.next, vec![round * 10; THREADS]);
                        assert_eq!(known.events, 3 * round);
                        for from in (0..THREADS).filter(|&from| from != me) {
                            let mut mail = Vec::new();
                            meeting.open(from, me, round, |m| mail.push(m));
                            assert_eq!(mail, [(from, round)]);
                        }
                    }
                });
            }
        });
    }

    #[test]
    fn nobody_waits_for_a_thread_that_failed() {
        for yields in [Duration::ZERO, Duration::MAX] {
            let meeting = Meeting::<()>::new(2, Patience { looks: 10, yields });
            meeting.announce(0, 1, 0, 0, &[NEVER; 2]);
            // In either order: it may be asleep by then.
            std::thread::scope(|scope| {
                scope.spawn(|| assert!(!meeting.wait(1)));
                std::thread::sleep(Duration::from_millis(5));
                meeting.fail();
            });
            assert!(!meeting.wait(1));
        }
    }
}

/// All interleavings of two threads over three rounds: `RUSTFLAGS="--cfg loom" cargo test -p netloom-engine --lib loom`.
#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use loom::{sync::Arc, thread};
    use std::time::Duration;

    /// They sleep at once: the hardest to get right.
    const ASLEEP: Patience = Patience { looks: 0, yields: Duration::ZERO };

    /// All interleavings in which threads are interrupted at most so often; without a bound the sleepers' are too many to try.
    fn all(interruptions: usize, model: impl Fn() + Sync + Send + 'static) {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(interruptions);
        builder.check(model);
    }

    #[test]
    fn loom_two_threads_meet_three_times() {
        all(3, || {
            let meeting = Arc::new(Meeting::<u64>::new(2, ASLEEP));
            let share = |me: usize, meeting: Arc<Meeting<u64>>| {
                let mut known = Known { next: Vec::new(), events: 0 };
                for round in 1..=3u64 {
                    let mut sent = [NEVER; 2];
                    sent[1 - me] = round;
                    meeting.post(me, 1 - me, round, &mut vec![round]);
                    meeting.announce(me, round, 100 + round, round, &sent);
                    assert!(meeting.wait(round));
                    meeting.read(round, &mut known);
                    assert_eq!((known.next.as_slice(), known.events), ([round; 2].as_slice(), 2 * round));
                    let mut mail = Vec::new();
                    meeting.open(1 - me, me, round, |m| mail.push(m));
                    assert_eq!(mail, [round]);
                }
            };
            let other = Arc::clone(&meeting);
            let thread = thread::spawn(move || share(1, other));
            share(0, meeting);
            thread.join().unwrap();
        });
    }

    /// The test can fail: mail that is posted after the announcement is missed in some interleaving.
    #[test]
    #[should_panic]
    fn loom_late_mail_is_found() {
        all(3, || {
            let meeting = Arc::new(Meeting::<u64>::new(2, ASLEEP));
            let other = Arc::clone(&meeting);
            let thread = thread::spawn(move || {
                other.announce(1, 1, 0, 0, &[9, NEVER]);
                other.post(1, 0, 1, &mut vec![7]);
            });
            meeting.announce(0, 1, 0, 0, &[NEVER; 2]);
            assert!(meeting.wait(1));
            let mut mail = Vec::new();
            meeting.open(1, 0, 1, |m| mail.push(m));
            thread.join().unwrap();
            assert_eq!(mail, [7]);
        });
    }
}
