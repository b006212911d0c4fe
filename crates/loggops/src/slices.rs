//! Computations in slices (`kernel = "time-slices"`): after each quantum one goes behind those that wait for its core.
//!
//! What is in hand has a step of its own at the end of its slice, before all else of that instant; there it is queued anew, with a new stamp. Overheads of
//! messages are brought to their end: when a message is there follows from when its send began.

use base::time::Ps;
use engine::state::{Journal, NIL, Table, map::Map};
use ranks::{operations::Stamp, roster::GlobalRank};
use serde::{Deserialize, Serialize};

/// Before all that was created.
pub(super) const FIRST: Stamp = Stamp { created: 0, creator: 0, who: 0 };

/// A part of a computation that a core did without a break.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sliced {
    /// The rank that computes.
    pub host: GlobalRank,
    /// Number of the computation among its operations.
    pub number: u32,
    /// When the core took it in hand.
    pub start: Ps,
    /// When the core left it.
    pub end: Ps,
}

/// A computation whose slice ends before it does.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct InHand {
    row: u32,
    end: Ps,
}

/// A computation that was begun: what is left of it, and when it was first taken in hand.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Begun {
    left: Ps,
    at: Ps,
}

/// Slices of a partition's hosts.
#[derive(Clone, PartialEq)]
pub(super) struct Slices {
    quantum: Option<Ps>,
    /// By host; none without slices.
    in_hand: Table<InHand>,
    /// By row of the operation.
    begun: Map<Begun>,
}

/// What a core does with a computation.
pub(super) struct Slice {
    /// Until when the core has it in hand.
    pub end: Ps,
    /// When the computation was first taken in hand.
    pub begun: Ps,
    /// All of its time.
    pub is_last: bool,
}

impl Slices {
    /// Of so many hosts, if their kernel knows slices.
    pub fn new(hosts: u32, quantum: Option<Ps>) -> Self {
        let rows = if quantum.is_some() { hosts as usize } else { 0 };
        Self { quantum, in_hand: Table::new(rows, InHand { row: NIL, end: 0 }), begun: Map::default() }
    }

    /// True if computations are cut.
    #[inline]
    pub fn are_used(&self) -> bool {
        self.quantum.is_some()
    }

    /// A host takes a computation of this whole time in hand.
    #[inline]
    pub fn take(&mut self, host: u32, row: u32, now: Ps, whole: Ps) -> Slice {
        let Some(quantum) = self.quantum else {
            return Slice { end: now + whole, begun: now, is_last: true };
        };
        let Begun { left, at } = self.begun.remove(row.into(), 0).unwrap_or(Begun { left: whole, at: now });
        debug_assert!(left <= whole && at <= now, "what is left is a part of it");
        if left <= quantum {
            return Slice { end: now + left, begun: at, is_last: true };
        }
        self.begun.set(row.into(), 0, Begun { left: left - quantum, at });
        let end = now + quantum;
        *self.in_hand.edit(host) = InHand { row, end };
        Slice { end, begun: at, is_last: false }
    }

    /// The end of the slice that a host has in hand, with the operation.
    #[inline]
    pub fn next(&self, host: u32) -> Option<(Ps, Stamp, u32)> {
        self.quantum?;
        let &InHand { row, end } = self.in_hand.get(host);
        (row != NIL).then_some((end, FIRST, row))
    }

    /// The slice in hand is over.
    pub fn over(&mut self, host: u32) {
        self.in_hand.edit(host).row = NIL;
    }

    /// Shows every table to the engine.
    pub fn visit_journals(&mut self, visit: &mut dyn FnMut(&mut dyn Journal)) {
        visit(&mut self.in_hand);
        self.begun.visit_journals(visit);
    }
}
