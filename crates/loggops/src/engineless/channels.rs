//! Where messages of one rank meet its receives: a queue for each label that is in use.
//!
//! A label is (context, source, tag), all definite. Its queue holds messages that no receive has taken, or receives that no message has reached, never
//! both. A rank's labels lie in a small table with open addressing. A queue that has become empty stays, because most labels come again; the
//! table drops such queues when it is full. So a match costs a look at one or two places, however many labels a program uses in all.

use base::{index::RankId, time::Ps};
use engine::state::NIL;
use serde::{Deserialize, Serialize};
use workload::program::Op;

/// A message that waits, or a receive: then `time` is when it was posted and `number` its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waits {
    /// When it is there.
    pub time: Ps,
    /// Size of the message; of a receive see [`Waits::asked`].
    pub bytes: u64,
    /// The sender's number of the send.
    pub number: u32,
}

impl Waits {
    /// Most bytes that a receive is known to have room for; what has more has room for everything.
    const MOST: u64 = u64::MAX >> 16;

    /// A receive that was posted.
    #[inline]
    pub fn receive(time: Ps, number: u32, op: &Op) -> Self {
        Self { time, bytes: op.amount.min(Self::MOST) << 16 | u64::from(op.collective), number }
    }

    /// Of a receive: its collective, and the bytes that it has room for.
    #[inline]
    pub fn asked(&self) -> (u16, u64) {
        let room = self.bytes >> 16;
        (self.bytes as u16, if room == Self::MOST { u64::MAX } else { room })
    }
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Node {
    pub(super) waits: Waits,
    pub(super) next: u32,
}

/// Memory of all queues.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Nodes {
    pub(super) rows: Vec<Node>,
    pub(super) free: Vec<u32>,
}

impl Nodes {
    /// Number of messages and receives that wait.
    pub fn used(&self) -> usize {
        self.rows.len() - self.free.len()
    }

    #[inline]
    fn take(&mut self, waits: Waits) -> u32 {
        let node = Node { waits, next: NIL };
        if let Some(row) = self.free.pop() {
            self.rows[row as usize] = node;
            return row;
        }
        self.rows.push(node);
        self.rows.len() as u32 - 1
    }
}

/// What a message bears and a receive asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Label {
    /// Context of matching: a communicator of the job.
    pub context: u32,
    /// Sending rank, as the job counts.
    pub source: RankId,
    /// Tag that sender and receiver agree on.
    pub tag: u32,
}

impl Label {
    #[inline]
    fn hash(self) -> u64 {
        // Two multiplications and the upper half of the product: enough for a table, and cheaper than a full mix at every message.
        let a = (u64::from(self.source) << 32 | u64::from(self.tag)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (a ^ u64::from(self.context)).wrapping_mul(0xd6e8_feb8_6659_fd93)
    }
}

/// What waits in a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Holds {
    Messages,
    Receives,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Channel {
    pub(super) label: Label,
    pub(super) head: u32,
    pub(super) tail: u32,
    pub(super) holds: Holds,
}

/// No rank has this number, so no label is equal to it.
const VACANT: Channel = Channel {
    label: Label { context: 0, source: RankId::new(u32::MAX), tag: 0 },
    head: NIL,
    tail: NIL,
    holds: Holds::Messages,
};

/// Least number of places of a table.
const LEAST: usize = 8;

/// The channels of one rank.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Channels {
    /// A power of two of places, or none.
    pub(super) places: Vec<Channel>,
    taken: usize,
}

impl Channels {
    /// A message comes: the receive that takes it, or it waits.
    #[inline]
    pub fn arrive(&mut self, nodes: &mut Nodes, label: Label, message: Waits) -> Option<Waits> {
        self.meet(nodes, label, message, Holds::Messages)
    }

    /// A receive is posted: the message that it takes, or it waits.
    #[inline]
    pub fn receive(&mut self, nodes: &mut Nodes, label: Label, receive: Waits) -> Option<Waits> {
        self.meet(nodes, label, receive, Holds::Receives)
    }

    #[inline]
    fn meet(&mut self, nodes: &mut Nodes, label: Label, waits: Waits, kind: Holds) -> Option<Waits> {
        let place = self.place(label);
        let channel = &mut self.places[place];
        if channel.head == NIL {
            let row = nodes.take(waits);
            (channel.head, channel.tail, channel.holds) = (row, row, kind);
            return None;
        }
        debug_assert!(channel.tail != NIL, "a queue with a head has a tail");
        // One queue for both kinds: as soon as one of the other kind comes, it takes the first of these.
        if channel.holds == kind {
            let row = nodes.take(waits);
            nodes.rows[channel.tail as usize].next = row;
            channel.tail = row;
            return None;
        }
        let Node { waits, next } = nodes.rows[channel.head as usize];
        debug_assert!(next != NIL || channel.head == channel.tail, "the last of a queue is its tail");
        nodes.free.push(channel.head);
        channel.head = next;
        Some(waits)
    }

    /// The place of a label, which is made if there is none.
    #[inline]
    fn place(&mut self, label: Label) -> usize {
        debug_assert!(label.source != VACANT.label.source, "no rank has the number of vacant places");
        match self.find(label) {
            Some(place) if self.places[place].label == label => place,
            found => self.make(label, found),
        }
    }

    /// The place that holds a label, or the vacant one where it would be.
    #[inline]
    fn find(&self, label: Label) -> Option<usize> {
        // The length is a power of two, so its predecessor is a mask.
        let mask = self.places.len().checked_sub(1)?;
        debug_assert!(
            self.places.len().is_power_of_two() && self.taken < self.places.len(),
            "a place is vacant, so a search ends"
        );
        let mut at = (label.hash() >> 32) as usize & mask;
        // Ends, since a table is never more than three quarters full.
        while self.places[at].label != label && self.places[at].label != VACANT.label {
            at = (at + 1) & mask;
        }
        Some(at)
    }

    #[cold]
    fn make(&mut self, label: Label, found: Option<usize>) -> usize {
        // Queues are dropped only when the table is made anew: taking one out of the middle would break the chains of others.
        let full = (self.taken + 1) * 4 > self.places.len() * 3;
        let place = match found {
            Some(place) if !full => place,
            _ => {
                let all = std::mem::take(&mut self.places);
                let kept = all.iter().filter(|c| c.head != NIL);
                self.taken = kept.clone().count();
                self.places = vec![VACANT; ((self.taken + 1) * 2).next_power_of_two().max(LEAST)];
                for channel in kept {
                    let place = self.find(channel.label).expect("a table was just made");
                    self.places[place] = *channel;
                }
                self.find(label).expect("a table was just made")
            }
        };
        self.taken += 1;
        debug_assert!(self.taken * 4 <= self.places.len() * 3, "tables are three quarters full at most");
        self.places[place] = Channel { label, ..VACANT };
        place
    }

    /// Messages that no receive has taken, in no particular order.
    pub fn messages<'a>(&'a self, nodes: &'a Nodes) -> impl Iterator<Item = (Label, Waits)> + 'a {
        self.waiting(nodes, Holds::Messages)
    }

    /// Receives that no message has reached, in no particular order.
    pub fn receives<'a>(&'a self, nodes: &'a Nodes) -> impl Iterator<Item = (Label, Waits)> + 'a {
        self.waiting(nodes, Holds::Receives)
    }

    fn waiting<'a>(&'a self, nodes: &'a Nodes, kind: Holds) -> impl Iterator<Item = (Label, Waits)> + 'a {
        self.places.iter().filter(move |c| c.head != NIL && c.holds == kind).flat_map(move |channel| {
            let rows = std::iter::successors(Some(channel.head), |&row| {
                Some(nodes.rows[row as usize].next).filter(|&n| n != NIL)
            });
            rows.map(move |row| (channel.label, nodes.rows[row as usize].waits))
        })
    }
}
