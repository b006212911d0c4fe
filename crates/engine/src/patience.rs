//! How a thread waits for others: it looks a while, then gives the processor away and looks again, then sleeps.
//!
//! Where the machine has other work, a thread that gives its processor away has it back a slice of the machine later, milliseconds where
//! a window takes microseconds. It yields no more for some time: a sleeper is woken when it is needed, ahead of those that never rest.

use std::time::{Duration, Instant};

#[cfg(not(loom))]
use std::sync::atomic::{AtomicU32, Ordering};

#[cfg(loom)]
use loom::sync::atomic::{AtomicU32, Ordering};

/// Waits that end asleep at once after a processor came back late; the next one tries whether the machine is quiet again.
const NAPS: u32 = 255;

/// How long a thread waits awake.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// Looks at the others' rounds before the processor is given to others. Half as many after each wait that ended asleep, and an eighth more after
    /// each that ended in time.
    pub looks: u32,
    /// Time for which it gives the processor away and looks again, before it sleeps. A processor that comes back later than this is late.
    pub yields: Duration,
}

/// What the waits so far have taught all threads of a meeting. What one of them overwrites of another costs time at worst.
pub(crate) struct Habit {
    patience: Patience,
    /// Looks that are worth while, at most those of `patience`: a machine with other work lets nobody be in time.
    looks: AtomicU32,
    /// Waits to come that end asleep at once.
    naps: AtomicU32,
}

/// What a thread does that waits and has looked in vain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    Look,
    Yield,
    Sleep,
}

/// One wait of one thread.
pub(crate) struct Vigil<'a> {
    habit: &'a Habit,
    naps: u32,
    /// Looks at most, and those that were taken.
    most: u32,
    looks: u32,
    /// When it first gave the processor away.
    since: Option<Instant>,
}

impl Habit {
    pub fn new(patience: Patience) -> Self {
        Self { patience, looks: AtomicU32::new(patience.looks), naps: AtomicU32::new(0) }
    }

    /// A wait begins.
    pub fn vigil(&self) -> Vigil<'_> {
        let naps = self.naps.load(Ordering::Relaxed);
        let most = if naps > 0 { 0 } else { self.looks.load(Ordering::Relaxed) };
        Vigil { habit: self, naps, most, looks: 0, since: None }
    }
}

impl Vigil<'_> {
    /// What is done after one more look in vain; `now` is asked for the time where it matters.
    pub fn next(&mut self, now: impl FnOnce() -> Instant) -> Next {
        if self.looks < self.most {
            self.looks += 1;
            return Next::Look;
        }
        let Habit { patience, looks, naps } = self.habit;
        if self.naps > 0 {
            naps.store(self.naps - 1, Ordering::Relaxed);
            return Next::Sleep;
        }
        let now = now();
        if now.saturating_duration_since(*self.since.get_or_insert(now)) < patience.yields {
            return Next::Yield;
        }
        looks.store(self.most / 2, Ordering::Relaxed);
        Next::Sleep
    }

    /// The processor was given away and is back after so long.
    pub fn yielded(&mut self, away: Duration) {
        if away >= self.habit.patience.yields {
            self.naps = NAPS;
            self.habit.naps.store(NAPS, Ordering::Relaxed);
        }
    }

    /// The others came, and nobody slept.
    pub fn met(self) {
        let (most, all) = (self.most, self.habit.patience.looks);
        if self.naps == 0 && self.since.is_none() && most < all {
            self.habit.looks.store((most + most / 8 + 1).min(all), Ordering::Relaxed);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const PATIENCE: Patience = Patience { looks: 1000, yields: Duration::from_micros(200) };
    /// A look at another thread's line, a yield on a quiet machine, and one where another has a slice of it.
    const LOOK: Duration = Duration::from_nanos(40);
    const QUIET: Duration = Duration::from_micros(1);
    const SLICE: Duration = Duration::from_millis(3);

    /// What many waits came to on a made-up machine.
    #[derive(Debug, Default, PartialEq, Eq)]
    struct Tally {
        looks: u32,
        yields: u32,
        late: u32,
        slept: u32,
    }

    /// So many waits for others that come after `others`, on a machine that gives a processor back after `away`.
    fn waits(habit: &Habit, count: u32, others: Duration, away: Duration) -> Tally {
        let (mut tally, begun) = (Tally::default(), Instant::now());
        for _ in 0..count {
            let (mut vigil, mut clock) = (habit.vigil(), Duration::ZERO);
            loop {
                if clock >= others {
                    vigil.met();
                    break;
                }
                match vigil.next(|| begun + clock) {
                    Next::Look => {
                        tally.looks += 1;
                        clock += LOOK;
                    }
                    Next::Yield => {
                        tally.yields += 1;
                        tally.late += u32::from(away == SLICE);
                        clock += away;
                        vigil.yielded(away);
                    }
                    Next::Sleep => {
                        tally.slept += 1;
                        break;
                    }
                }
            }
        }
        tally
    }

    /// Others are soon there: looking is enough, for ever.
    #[test]
    fn who_is_soon_met_never_gives_way() {
        let tally = waits(&Habit::new(PATIENCE), 1000, Duration::from_micros(4), QUIET);
        assert_eq!(tally, Tally { looks: 100_000, ..Tally::default() });
    }

    /// Others are late and the machine is quiet: yields, and no sleep until patience ends.
    #[test]
    fn a_quiet_machine_is_yielded_to() {
        let tally = waits(&Habit::new(PATIENCE), 1000, Duration::from_micros(100), QUIET);
        assert!(tally.slept == 0 && tally.yields > 50_000, "{tally:?}");
        let tally = waits(&Habit::new(PATIENCE), 1000, Duration::from_millis(1), QUIET);
        assert!(tally.slept == 1000 && tally.late == 0, "{tally:?}");
        assert!(tally.looks < 2000, "looks in vain are given up: {tally:?}");
    }

    /// The machine has other work: of 256 waits one gives a slice away, and the others sleep without a look. Without what was learnt each wait would.
    #[test]
    fn a_late_processor_is_not_given_away_again() {
        let habit = Habit::new(PATIENCE);
        let tally = waits(&habit, 2560, Duration::from_micros(100), SLICE);
        assert_eq!((tally.late, tally.slept), (10, 2550), "{tally:?}");
        // The others rest: within 256 waits it is as it was.
        waits(&habit, 256, Duration::from_micros(100), QUIET);
        let tally = waits(&habit, 1000, Duration::from_micros(100), QUIET);
        assert!(tally.slept == 0, "{tally:?}");
    }

    /// Looks are worth more again where looking was enough, and not where the others came after a yield or after what naps skipped.
    #[test]
    fn only_looks_that_sufficed_earn_more() {
        let habit = Habit { looks: AtomicU32::new(80), ..Habit::new(PATIENCE) };
        let begun = Instant::now();
        let wait = |looked: u32| {
            let mut vigil = habit.vigil();
            (0..looked).for_each(|_| _ = vigil.next(|| begun));
            vigil.met();
            habit.looks.load(Ordering::Relaxed)
        };
        assert_eq!(wait(81), 80, "it yielded");
        assert_eq!(wait(80), 91, "an eighth more and one");
        habit.naps.store(1, Ordering::Relaxed);
        assert_eq!(wait(0), 91, "it did not look");
        habit.naps.store(0, Ordering::Relaxed);
        habit.looks.store(PATIENCE.looks, Ordering::Relaxed);
        assert_eq!(wait(10), PATIENCE.looks, "no more than all");
    }
}
