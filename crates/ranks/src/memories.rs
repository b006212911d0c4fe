//! Memories of nodes at work: messages that their channels copy, in order.

use super::{carrier::Delivery, node::Memory};
use base::time::Ps;
use engine::state::{Fifo, Journal, Linked, NIL, Pool, Table};
use serde::{Deserialize, Serialize};

/// A channel of a node's memory.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Channel {
    free: Ps,
    /// Messages that it copies or has copied and that are not there yet, in order.
    under_way: Fifo,
}

/// A message on its way through memory.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Copy {
    at: Ps,
    what: Delivery,
    next: u32,
}

impl Linked for Copy {
    fn next(&self) -> u32 {
        self.next
    }
    fn set_next(&mut self, next: u32) {
        self.next = next;
    }
}

/// What becomes of a message that is given to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Given {
    /// It is there at once.
    There,
    /// It follows others of its channel.
    Queued,
    /// It is the next of its channel, by the channel's number, at this time: an alarm must be set.
    Next(u32, Ps),
}

/// Memories of the nodes of a partition: channels one node after the other.
#[derive(Clone, Debug, PartialEq)]
pub struct Memories {
    channels: Table<Channel>,
    copies: Pool<Copy>,
}

impl Memories {
    /// So many idle channels, of all nodes.
    #[must_use]
    pub fn new(channels: usize) -> Self {
        let idle = Channel { free: 0, under_way: Fifo::default() };
        Self { channels: Table::new(channels, idle), copies: Pool::default() }
    }

    /// A message of `bytes` is posted at `now` to the node whose first channel is `first`.
    pub fn give(&mut self, memory: &Memory, first: u32, now: Ps, bytes: u64, what: Delivery) -> Given {
        let channel = (first..first + memory.channels).min_by_key(|&c| self.channels.get(c).free);
        let channel = channel.unwrap_or(first);
        let Channel { mut free, mut under_way } = *self.channels.get(channel);
        let at = memory.copied(now, &mut free, bytes);
        if at == now {
            return Given::There;
        }
        let is_next = under_way.is_empty();
        debug_assert!(
            is_next || self.copies.get(under_way.tail).at <= at,
            "copies of a channel are there in their order"
        );
        let row = self.copies.take(Copy { at, what, next: NIL });
        under_way.push(&mut self.copies, row);
        *self.channels.edit(channel) = Channel { free, under_way };
        if is_next { Given::Next(channel, at) } else { Given::Queued }
    }

    /// Takes the messages of a channel that are there by `now`, in order. Returns when the next one will be, if there is one.
    pub fn due(&mut self, channel: u32, now: Ps, there: &mut Vec<Delivery>) -> Option<Ps> {
        let mut under_way = self.channels.get(channel).under_way;
        debug_assert!(!under_way.is_empty(), "a channel whose alarm rings has copied something");
        let mut next = None;
        while !under_way.is_empty() {
            let head = under_way.head;
            let Copy { at, what, .. } = *self.copies.get(head);
            if at > now {
                next = Some(at);
                break;
            }
            under_way.pop(&self.copies);
            self.copies.give(head);
            there.push(what);
        }
        self.channels.edit(channel).under_way = under_way;
        next
    }

    /// Shows every table to the engine.
    pub fn visit_journals(&mut self, visit: &mut dyn FnMut(&mut dyn Journal)) {
        visit(&mut self.channels);
        visit(&mut self.copies);
    }
}
