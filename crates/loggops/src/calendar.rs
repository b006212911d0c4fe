//! What hosts do next, by time: a ring of slots, each with a list of entries.
//!
//! A host has one valid entry; others of it are void and are thrown away when their slot's turn comes. A slot that holds something has
//! one event of the engine at its beginning. What lies beyond the ring is the engine's: an alarm of the host at the beginning of the slot.

use super::entry::Entry;
use base::time::Ps;
use engine::state::{Journal, Linked, NIL, Pool, Table};
use serde::{Deserialize, Serialize};

const SLOTS: u64 = 4096;

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Node {
    entry: Entry,
    next: u32,
}

impl Linked for Node {
    fn next(&self) -> u32 {
        self.next
    }
    fn set_next(&mut self, next: u32) {
        self.next = next;
    }
}

/// Where an entry was put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Put {
    /// In a slot that has an event already.
    Filed,
    /// In a slot that needs an event at this time.
    First(Ps),
    /// Nowhere: the host needs an alarm at this time.
    Far(Ps),
}

/// A calendar: slots of time, reused in a ring.
#[derive(Clone, PartialEq)]
pub(super) struct Calendar {
    shift: u32,
    heads: Table<u32>,
    nodes: Pool<Node>,
}

impl Calendar {
    /// A ring whose slots cover `2^shift` picoseconds; without any slots if it is not `used`.
    pub fn new(shift: u32, used: bool) -> Self {
        debug_assert!(shift < u64::BITS, "a slot is shorter than all time");
        let slots = if used { SLOTS as usize } else { 0 };
        Self { shift, heads: Table::new(slots, NIL), nodes: Pool::default() }
    }

    /// End of the slot in which `now` lies.
    pub fn slot_end(&self, now: Ps) -> Ps {
        ((now >> self.shift) + 1) << self.shift
    }

    /// Adds an entry that is due in the present slot or later.
    #[inline]
    pub fn put(&mut self, entry: Entry, now: Ps) -> Put {
        let present = now >> self.shift;
        let slot = (entry.time >> self.shift).max(present);
        let begin = (slot << self.shift).max(now);
        if slot - present >= SLOTS {
            return Put::Far(begin);
        }
        let index = (slot % SLOTS) as u32;
        debug_assert!(slot >= present, "nothing is filed in the past");
        let next = *self.heads.get(index);
        *self.heads.edit(index) = self.nodes.take(Node { entry, next });
        if next == NIL { Put::First(begin) } else { Put::Filed }
    }

    /// Takes out all entries of the slot in which `now` lies that are `valid`.
    pub fn take(&mut self, now: Ps, valid: impl Fn(&Entry) -> bool, entries: &mut Vec<Entry>) {
        let index = ((now >> self.shift) % SLOTS) as u32;
        let mut node = std::mem::replace(self.heads.edit(index), NIL);
        debug_assert!(entries.is_empty(), "entries of one slot at a time");
        while node != NIL {
            let Node { entry, next } = *self.nodes.get(node);
            self.nodes.give(node);
            if valid(&entry) {
                entries.push(entry);
            }
            node = next;
        }
    }

    /// Shows every table to the engine.
    pub fn visit_journals(&mut self, visit: &mut dyn FnMut(&mut dyn Journal)) {
        visit(&mut self.heads);
        visit(&mut self.nodes);
    }
}
