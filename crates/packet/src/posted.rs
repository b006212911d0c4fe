//! Messages of hosts that are under way, and those that are complete: the state behind `host.rs`.

use crate::places::{Ends, pair};
use engine::state::{Journal, map::Map, mode::Mode};
use ranks::carrier::{Ahead, Delivery};

/// Messages of hosts: what was sent ahead of those under way, and those that are complete.
#[derive(Clone, PartialEq)]
pub struct Posted<M: Mode> {
    /// By pair of terminals and number.
    ahead: Map<Ahead, M>,
    /// Not yet fetched. Empty between events.
    complete: Vec<Delivery>,
}

impl<M: Mode> Default for Posted<M> {
    fn default() -> Self {
        Self { ahead: Map::default(), complete: Vec::new() }
    }
}

impl<M: Mode> Posted<M> {
    /// What a host sent ahead of a message between two terminals: at most one is under way with the same number.
    pub(super) fn ahead(&mut self, ends: Ends, number: u32, ahead: Ahead) {
        debug_assert!(
            self.ahead.get(pair(ends.source, ends.destination), number).is_none(),
            "a number names one message under way"
        );
        self.ahead.set(pair(ends.source, ends.destination), number, ahead);
    }

    /// What was sent ahead of a message that is complete now.
    pub(super) fn fetch_ahead(&mut self, ends: Ends, number: u32) -> Ahead {
        self.ahead
            .remove(pair(ends.source, ends.destination), number)
            .expect("what is sent ahead is there before its message")
    }

    /// A message waits to be fetched.
    pub(super) fn complete(&mut self, delivery: Delivery) {
        self.complete.push(delivery);
    }

    /// The first of those that wait.
    #[inline]
    pub(super) fn next_complete(&mut self) -> Option<Delivery> {
        // Mostly one: what an event completes is fetched at its end.
        (!self.complete.is_empty()).then(|| self.complete.remove(0))
    }

    /// As [`engine::domain::Domain::abandon`]: what an event completed goes with it.
    pub(super) fn abandon(&mut self) {
        self.complete.clear();
    }

    /// Shows the tables inside.
    pub fn visit_journals(&mut self, visit: &mut dyn FnMut(&mut dyn Journal)) {
        debug_assert!(self.complete.is_empty(), "every handler ends when all is handed over");
        self.ahead.visit_journals(visit);
    }
}
