//! Losses and the transport over them. Rules and invariants are in `TRANSPORT.md`.

pub mod check;
pub mod config;
mod hash;
#[cfg(test)]
mod planted;
mod receiver;
mod sender;
pub mod word;

pub use word::{How, Sort, Word};

use crate::{
    places::pair,
    pools::{List, Rows, pooled, row_numbers},
};
use base::{
    index::TerminalId,
    time::{NEVER, Ps},
};
use engine::state::{Journal, Table, map::Map, mode::Mode};
use serde::{Deserialize, Serialize};

/// Timers are numbered below this.
pub const MOST_TIMERS: u64 = 1 << 27;

/// Most windows of a message.
pub const MOST_WINDOWS: u64 = 1 << 25;

row_numbers! {
    /// A row of the packets that wait for their hand-over.
    DatagramRow;
    /// A row of the messages under way.
    TransferRow;
    /// A row of the timers that run.
    TimerRow;
}

/// The transport of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sender {
    /// Alarm for the next message, `NEVER` for none.
    due: Ps,
    /// Alarms and out-of-band acknowledgements so far: names them.
    names: u32,
    /// Messages under way.
    pub open: u32,
    /// Acknowledgements that wait.
    pub acks: List<DatagramRow>,
    /// Packets that wait.
    pub packets: List<DatagramRow>,
}

/// A packet that waits for its hand-over.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Datagram {
    time: Ps,
    /// When its message was created; of an acknowledgement packets received so far and the number of the one that it answers.
    stamp: u64,
    destination: TerminalId,
    number: u32,
    word: u32,
    bytes: u32,
    next: DatagramRow,
    sort: Sort,
}

/// A message under way.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Transfer {
    created: Ps,
    bytes: u64,
    destination: TerminalId,
    number: u32,
    /// Its packets, and the window in hand.
    packets: u64,
    window: u32,
    /// Packets acknowledged, a bit each; in coding the best rank.
    acked: u32,
    /// Coding: packets of the round that have not left.
    leaving: u32,
    /// Coding: number of the last packet of the round, once it has left.
    round: Option<u32>,
    /// Coding: packets sent to this terminal when it left.
    sent: u32,
    /// Timers that ended since the last news.
    tries: u32,
    next: TransferRow,
}

/// A packet whose timer runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Timer {
    /// Number of the terminal that sent it, counted within the partition.
    terminal: u32,
    destination: TerminalId,
    number: u32,
    word: u32,
    /// Number of the packet.
    packet: u32,
    next: TimerRow,
}

/// What a sender knows of a pair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct PairState {
    /// Messages to the other end that were begun.
    begun: u32,
    /// Messages that a program named.
    named: u32,
    /// Coding: packets sent.
    sent: u32,
    /// Coding: of so many sent ..
    of: u32,
    /// .. so many were received.
    received: u32,
}

/// What a receiver knows of a pair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Peer {
    /// All messages below are complete.
    floor: u32,
    /// Packets that have arrived from the other end.
    received: u32,
}

/// A message on its way in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Arrival {
    /// Window that is filled.
    window: u32,
    /// Its packets, a bit each; in coding the rank.
    got: u32,
    /// Packets of the last window once that is known.
    last: u32,
    complete: bool,
}

pooled! {
    Datagram: DatagramRow;
    Transfer: TransferRow;
    Timer: TimerRow;
}

/// Everything of the transport in a partition. Empty without `[resilience]`.
#[derive(Clone, PartialEq)]
pub struct Transport<M: Mode> {
    /// By local terminal.
    pub senders: Table<Sender, M>,
    datagrams: Rows<Datagram, M>,
    transfers: Rows<Transfer, M>,
    timers: Rows<Timer, M>,
    /// Transfers by pair and number.
    open: Map<TransferRow, M>,
    flows: Map<PairState, M>,
    peers: Map<Peer, M>,
    arrivals: Map<Arrival, M>,
}

/// A message between a local terminal and another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MessageWith {
    /// The other terminal.
    pub(crate) peer: TerminalId,
    /// Number of the message among those of the pair.
    pub(crate) number: u32,
}

/// What an acknowledgement brings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AckNews {
    /// Window and what is there of it.
    pub(crate) word: Word,
    /// Packets received of the pair in the upper half, number of the packet that is answered in the lower.
    pub(crate) stamp: u64,
}

impl<M: Mode> Transport<M> {
    /// Of so many terminals; of none without the section.
    #[must_use]
    pub fn new(terminals: usize) -> Self {
        let sender =
            Sender { due: NEVER, names: 0, open: 0, acks: List::default(), packets: List::default() };
        Self {
            senders: Table::new(terminals, sender),
            datagrams: Rows::default(),
            transfers: Rows::default(),
            timers: Rows::default(),
            open: Map::default(),
            flows: Map::default(),
            peers: Map::default(),
            arrivals: Map::default(),
        }
    }

    /// Shows every table to the engine.
    pub fn visit_journals(&mut self, visit: &mut dyn FnMut(&mut dyn Journal)) {
        visit(&mut self.senders);
        visit(self.datagrams.journal());
        visit(self.transfers.journal());
        visit(self.timers.journal());
        self.open.visit_journals(visit);
        self.flows.visit_journals(visit);
        self.peers.visit_journals(visit);
        self.arrivals.visit_journals(visit);
    }

    /// True if a terminal has something to send or to wait for.
    #[must_use]
    pub fn is_busy(&self, terminal: u32) -> bool {
        self.senders.rows().get(terminal as usize).is_some_and(|s| s.open > 0 || !s.acks.is_empty())
    }

    /// Number of the next message from one terminal to another, known beforehand.
    pub(super) fn name(&mut self, source: TerminalId, destination: TerminalId) -> u32 {
        let key = pair(source, destination);
        let flow = self.flows.get(key, 0).unwrap_or_default();
        self.flows.set(key, 0, PairState { named: flow.named + 1, ..flow });
        flow.named
    }
}
