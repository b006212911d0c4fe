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

use base::time::{NEVER, Ps};

#[cfg(not(loom))]
use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

#[cfg(loom)]
use loom::sync::{
    Mutex,
    atomic::{AtomicBool, AtomicU64, Ordering},
};
#[cfg(loom)]
use std::sync::PoisonError;

/// What one thread announces; written by it alone. On lines of its own.
#[repr(align(128))]
struct Slot {
    round: AtomicU64,
    news: [News; 2],
}

struct News {
    next: AtomicU64,
    events: AtomicU64,
    /// By receiver.
    sent: Vec<AtomicU64>,
}

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
    slots: Vec<Slot>,
    /// By sender, receiver, parity of the round.
    boxes: Vec<[Mutex<Vec<M>>; 2]>,
    failed: AtomicBool,
    /// Looks at a slot before the processor is given to others.
    patience: u32,
}

impl<M> Meeting<M> {
    /// A meeting of `threads`, which look `patience` times before they let others have the processor.
    #[must_use]
    pub fn new(threads: usize, patience: u32) -> Self {
        let atoms = |n| (0..n).map(|_| AtomicU64::new(NEVER)).collect();
        let news = || News { next: AtomicU64::new(0), events: AtomicU64::new(0), sent: atoms(threads) };
        let slot = |_| Slot { round: AtomicU64::new(0), news: [news(), news()] };
        Self {
            slots: (0..threads).map(slot).collect(),
            boxes: (0..threads * threads).map(|_| [Mutex::default(), Mutex::default()]).collect(),
            failed: AtomicBool::new(false),
            patience,
        }
    }

    /// Posts messages from one thread to another; they are opened after `round`. `mail` comes back empty, with memory used before.
    pub fn post(&self, from: usize, to: usize, round: u64, mail: &mut Vec<M>) {
        let of = &self.boxes[from * self.slots.len() + to][(round % 2) as usize];
        let mut waiting = of.lock().unwrap_or_else(PoisonError::into_inner);
        debug_assert!(waiting.is_empty(), "the mail of two rounds ago was opened");
        std::mem::swap(&mut *waiting, mail);
    }

    /// Announces that `me` has done its share of `round`; rounds count from 1.
    pub fn announce(&self, me: usize, round: u64, next: Ps, events: u64, sent: &[Ps]) {
        let slot = &self.slots[me];
        let news = &slot.news[(round % 2) as usize];
        news.next.store(next, Ordering::Relaxed);
        news.events.store(events, Ordering::Relaxed);
        for (to, &time) in sent.iter().enumerate() {
            news.sent[to].store(time, Ordering::Relaxed);
        }
        slot.round.store(round, Ordering::Release);
    }

    /// Waits until everybody has announced `round`; false if a thread failed.
    #[must_use]
    pub fn wait(&self, round: u64) -> bool {
        for slot in &self.slots {
            let mut looks = 0;
            while slot.round.load(Ordering::Acquire) < round {
                if self.failed.load(Ordering::Relaxed) {
                    return false;
                }
                looks += 1;
                pause(looks > self.patience);
            }
        }
        true
    }

    /// Reads what was announced for `round`, which must be over.
    pub fn read(&self, round: u64, known: &mut Known) {
        let parity = (round % 2) as usize;
        known.events = 0;
        known.next.clear();
        for slot in &self.slots {
            known.next.push(slot.news[parity].next.load(Ordering::Relaxed));
            known.events += slot.news[parity].events.load(Ordering::Relaxed);
        }
        for slot in &self.slots {
            for (next, sent) in known.next.iter_mut().zip(&slot.news[parity].sent) {
                *next = sent.load(Ordering::Relaxed).min(*next);
            }
        }
    }

    /// Takes the mail that `from` posted to `to` in `round`, which must be over.
    pub fn open(&self, from: usize, to: usize, round: u64, mut take: impl FnMut(M)) {
        let of = &self.boxes[from * self.slots.len() + to][(round % 2) as usize];
        let mut waiting = of.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.drain(..).for_each(&mut take);
    }

    /// Lets nobody wait for a thread that has failed.
    pub fn fail(&self) {
        self.failed.store(true, Ordering::Relaxed);
    }
}

#[cfg(not(loom))]
fn pause(long: bool) {
    if long { std::thread::yield_now() } else { std::hint::spin_loop() }
}

#[cfg(loom)]
fn pause(_: bool) {
    loom::thread::yield_now();
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// Everything posted arrives in its round, once, and everybody knows the same.
    #[test]
    fn mail_arrives_once_and_in_its_round() {
        const THREADS: usize = 3;
        let meeting = Meeting::<(usize, u64)>::new(THREADS, 100);
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
        let meeting = Meeting::<()>::new(2, 10);
        meeting.announce(0, 1, 0, 0, &[NEVER; 2]);
        meeting.fail();
        assert!(!meeting.wait(1));
    }
}

/// All interleavings of two threads over three rounds: `RUSTFLAGS="--cfg loom" cargo test -p netloom-engine --lib loom`.
#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use loom::{sync::Arc, thread};

    #[test]
    fn loom_two_threads_meet_three_times() {
        loom::model(|| {
            let meeting = Arc::new(Meeting::<u64>::new(2, 0));
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
        loom::model(|| {
            let meeting = Arc::new(Meeting::<u64>::new(2, 0));
            let other = Arc::clone(&meeting);
            let thread = thread::spawn(move || {
                other.announce(1, 1, 0, 0, &[NEVER; 2]);
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
