//! Spans and instants as programs give them, and the time of a look that found nothing.

use super::world::{idle, looked, with};
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
    /// A span of seconds and nanoseconds.
    #[must_use]
    pub fn span(self) -> Option<Ps> {
        let (s, r) = (u64::try_from(self.seconds).ok()?, u64::try_from(self.rest).ok()?);
        s.checked_mul(S)?.checked_add(r.checked_mul(NS)?)
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

/// What was not there is looked for again after a while.
pub fn again(call: &'static str) {
    looked(call);
    idle(100 * NS, false);
}
