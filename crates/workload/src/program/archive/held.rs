//! When calls were recorded.

use crate::program::mpi::Recorded;
use std::collections::VecDeque;

/// Times of the calls that are read and not handed over.
#[derive(Default)]
pub(super) struct Held {
    /// When each happened; calls that are there from the start have none.
    times: VecDeque<u64>,
    /// When the outermost function was entered.
    pub entered: u64,
    /// When the call that was handed over last was recorded.
    pub given: Option<Recorded>,
}

impl Held {
    /// Another call that happened now.
    pub fn push(&mut self, now: u64) {
        self.times.push_back(now);
    }

    /// A call is handed over, after which so many wait; `left` is when its function was left, if it had one.
    pub fn take(&mut self, waiting: usize, left: Option<u64>) {
        let at = if waiting < self.times.len() { self.times.pop_front() } else { None };
        self.given = at.map(|at| {
            let (begin, end) = (self.entered.min(at), left.unwrap_or(at).max(at));
            Recorded { begin, end, at: Some(at) }
        });
    }
}
