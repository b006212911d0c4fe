//! Spans and instants as programs give them, and the time of a look that found nothing.

use super::{
    idle_polls::looked,
    preempt,
    world::{idle, with},
};
use base::time::{NS, Ps, S};
use std::ffi::c_long;

/// Second at which simulated clocks begin.
pub const EPOCH: u64 = 0;

/// Seconds and parts of a second, as the C library has them.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct Pair {
    /// Seconds, rounded down.
    pub seconds: c_long,
    /// Nanoseconds or microseconds beyond them.
    pub rest: c_long,
}

impl Pair {
    /// A span of seconds and nanoseconds; none if it is negative or has a whole second of nanoseconds, which calls refuse.
    #[must_use]
    pub fn span(self) -> Option<Ps> {
        let (s, r) = (u64::try_from(self.seconds).ok()?, u64::try_from(self.rest).ok()?);
        debug_assert!(S.is_multiple_of(NS), "a second is whole nanoseconds");
        let part = Some(r).filter(|&r| r < S / NS)?;
        s.checked_mul(S)?.checked_add(part * NS)
    }

    /// A time of the clocks as one of the simulation.
    #[must_use]
    pub fn instant(self) -> Option<Ps> {
        Self { seconds: (self.seconds - EPOCH as c_long).max(0), ..self }.span()
    }
}

/// The simulated time of now.
#[must_use]
pub fn now_at() -> Ps {
    with(|w, _| w.machine.now)
}

/// Calls in a row that took no time after which some passes.
const MANY: u32 = 1 << 12;

/// Longest time that passes then.
const LONGEST: Ps = 1000 * NS;

/// The program calls us. A loop of calls that take no time may look for something in memory, so after many of them some time passes, and more each time in a row.
pub fn count() {
    if preempt::counted() >= MANY {
        let rounds = with(|w, _| w.threads[w.current as usize].rounds) + 1;
        idle((100 * NS * u64::from(rounds)).min(LONGEST), false);
        with(|w, _| w.threads[w.current as usize].rounds = rounds);
        preempt::passed();
    }
}

/// What was not there is looked for again after a while.
pub fn again(call: &'static str) {
    looked(call);
    idle(100 * NS, false);
}
