//! What becomes due, in the order of time and then of age.
//!
//! Timers are far away and hardly ever ring: they have a heap of their own, so that what is near need not be sorted past them.

use base::{index::TerminalId, time::Ps};
use std::{cmp::Reverse, collections::BinaryHeap};

/// What becomes due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Due {
    /// A flight's message goes to the network.
    Launch(u32),
    /// It has arrived there.
    Arrive(u32),
    /// Its turn has come.
    Admit(u32),
    /// An engine of a node is free again: for answers or for requests.
    EngineFree(TerminalId, bool),
    /// A flight's data are in memory.
    Received(u32),
    /// Something of a node reaches its processor.
    Control(TerminalId),
    /// A node's first timer rings.
    Timeout(TerminalId),
    /// Of the program: see [`super::Happening`].
    Wake(u64),
}

/// Something that is due. They are in the order of time, then of age: the fields' order is that of comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Item {
    /// When it happens.
    pub time: Ps,
    /// How many were set before.
    pub age: u64,
    /// What happens then.
    pub due: Due,
}

/// All that is due.
#[derive(Default)]
pub(super) struct Agenda {
    near: BinaryHeap<Reverse<Item>>,
    timers: BinaryHeap<Reverse<Item>>,
}

impl Agenda {
    /// Adds an item.
    pub(super) fn push(&mut self, item: Reverse<Item>) {
        let timer = matches!(item.0.due, Due::Timeout(_));
        if timer { self.timers.push(item) } else { self.near.push(item) }
    }

    /// True if a timer comes before all else.
    #[inline]
    fn rings(&self) -> bool {
        // Without reliability there is none.
        let Some(timer) = self.timers.peek() else { return false };
        self.near.peek().is_none_or(|near| timer.0 < near.0)
    }

    /// What comes next.
    pub(super) fn peek(&self) -> Option<&Reverse<Item>> {
        if self.rings() { self.timers.peek() } else { self.near.peek() }
    }

    /// True if nothing is due but what the program's side asked for.
    pub(super) fn only_wakes(&self) -> bool {
        self.timers.is_empty() && !self.has_more()
    }

    /// True if more is due than timers, which may ring for nothing, and what the program's side asked for.
    pub(super) fn has_more(&self) -> bool {
        self.near.iter().any(|item| !matches!(item.0.due, Due::Wake(_)))
    }

    /// All that is due, in no particular order.
    pub(super) fn items(&self) -> impl Iterator<Item = &Reverse<Item>> {
        self.near.iter().chain(&self.timers)
    }

    /// Takes out what [`Agenda::peek`] shows.
    pub(super) fn pop(&mut self) -> Option<Reverse<Item>> {
        let item = if self.rings() { self.timers.pop() } else { self.near.pop() };
        let first = item.is_none_or(|item| self.peek().is_none_or(|next| item.0 < next.0));
        debug_assert!(first, "what is due comes in its order");
        item
    }
}
