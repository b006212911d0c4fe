//! Looks that find nothing: once nothing is due any more, and all that still run do nothing but look, the run is a deadlock.
//!
//! Whether a program looks for ever nobody can know: it may count its looks and go on. [`ENOUGH`] in a row by every thread that does not wait anyway, while
//! nothing happens and nobody does anything else or reads a clock, are taken for it.

use super::{
    threads::{Looks, Status, Thread, Waiting},
    world::{World, suspend, with},
};

/// Looks in vain of a thread after which it is taken for one that looks for ever.
pub const ENOUGH: u64 = 1 << 20;

/// Looks after which all threads are gone through again.
const AGAIN: u64 = 1 << 12;

/// The thread that runs looked and found nothing: the end of the run, if nobody ever will find anything.
pub fn looked(call: &'static str) {
    if with(|w, _| w.looked(call)) {
        loop {
            suspend();
        }
    }
}

impl World {
    /// Something happened or was done: looks before it count for nothing.
    pub fn active(&mut self) {
        self.done += 1;
    }

    /// The thread that runs looked and found nothing; true if nobody ever will find anything.
    pub fn looked(&mut self, call: &'static str) -> bool {
        let done = self.done;
        let looks = &mut self.threads[self.current as usize].looks;
        debug_assert!(looks.done <= done, "what was done is not undone");
        let number = if looks.done == done { looks.number + 1 } else { 1 };
        *looks = Looks { call, number, done };
        if number >= ENOUGH && number.is_multiple_of(AGAIN) {
            if self.machine.is_idle() {
                self.hopeless = self.threads.iter().all(|t| self.is_stuck(t));
            } else {
                self.active();
            }
        }
        self.hopeless
    }

    /// True if a thread looks in vain, and has done so for long.
    pub fn polls_idle(&self, t: &Thread) -> bool {
        t.looks.done == self.done && t.looks.number >= ENOUGH
    }

    fn is_stuck(&self, t: &Thread) -> bool {
        let waits = matches!(t.waiting, Waiting::Rank(..)) && !t.timed;
        let over = t.result.is_some() || self.ranks[t.rank].status != Status::Running;
        over || waits || self.polls_idle(t)
    }
}
