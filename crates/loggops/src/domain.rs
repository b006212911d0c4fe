//! State of a partition's ranks under the delay model.

use super::{
    calendar::Calendar,
    config::DelayConfig,
    delays::Delays,
    entry::{Entry, What},
    hosts::Hosts,
    nodes::Nodes,
    slices::{Sliced, Slices},
};
use base::{
    index::{RankId, TerminalId},
    time::Ps,
};
use engine::state::heap::Heaped;
use engine::state::map::Map;
use engine::state::{Journal, Linked, NIL, Pool, Table};
use ranks::{
    matching::Matching,
    operations::{OperationWindow, Stamp},
    roster::GlobalRank,
};
use serde::{Deserialize, Serialize};
use std::{
    collections::{BinaryHeap, VecDeque},
    sync::Arc,
};
use workload::program::Program;

/// A rank of a job, among the ranks of all jobs (a *host*).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The job that it belongs to, by number.
    pub job: u32,
    /// Its rank in the job.
    pub rank: RankId,
    /// Its terminal, as [`Delays`] counts.
    pub terminal: TerminalId,
}

/// What does not change during a run.
pub struct Context {
    /// Energy of messages is asked for.
    pub energy: bool,
    /// What messages and operations cost, from `[model]`.
    pub config: DelayConfig,
    /// Times in the network.
    pub delays: Box<dyn Delays>,
    /// Programs of the jobs.
    pub programs: Vec<Arc<dyn Program>>,
    /// When each job starts.
    pub starts: Vec<Ps>,
    /// Factor on the computations of each job, in billionths.
    pub compute_ppb: Vec<u64>,
    /// First host of each job, and one past the last.
    pub bases: Vec<GlobalRank>,
    /// Where each host stands, by its number in the run.
    pub places: Vec<Place>,
    /// Nodes, if they are described.
    pub nodes: Option<Nodes>,
    /// Messages between hosts of a terminal do not leave it: nodes are described, or the network gives the costs, which has no part in them.
    pub keeps_own: bool,
    /// Several hosts live on a terminal, or nodes are described: which messages leave their nodes is of interest.
    pub describes_nodes: bool,
    /// First host of each partition, and one past the last.
    pub bounds: Vec<GlobalRank>,
    /// Processors and interfaces per host.
    pub cpus: u32,
    /// Interfaces per host.
    pub nics: u32,
    /// Jobs with several processors whose operations start no sooner than those that they wait for are over, on whatever processor.
    pub ordered: Vec<bool>,
    /// Ranks act on each other without delay, or in the past: all are one cell, and the order is that of one queue.
    pub coupled: bool,
    /// Times of received messages are asked for, and a message may be held back behind an earlier one.
    pub holds: bool,
    /// Received messages are reported one by one ([`Record::Received`]).
    pub receipts: bool,
    /// Times depend on sizes alone: a short message would overtake a long one of its pair if it did not stay behind it.
    pub overtaking: bool,
    /// Interfaces take messages in by themselves, at the pace of the path; a processor pays its overhead when the last byte is in.
    pub landing: bool,
    /// There is one partition: what hosts do next stands in a calendar. The slots of uncoupled hosts are no longer than it takes a message
    /// to reach anybody.
    pub filed: bool,
    /// Hosts that may run ahead as far as they like: their operations follow each other, and messages cost nothing and keep the order in which they are
    /// sent.
    pub runs_ahead: Vec<bool>,
    /// log2 of the time that a slot of the calendar, or of the engine's wheel, covers in picoseconds: for speed alone.
    pub slot_shift: u32,
    /// Nothing happens at or after this time.
    pub end: Ps,
}

impl Context {
    /// Number of partitions.
    #[must_use]
    pub fn partitions(&self) -> u32 {
        debug_assert!(self.bounds.len() > 1, "there is a partition");
        (self.bounds.len() - 1) as u32
    }

    /// True if nothing is left for an engine: there is one partition, and all its hosts run ahead.
    #[must_use]
    pub fn all_run_ahead(&self) -> bool {
        self.filed && !self.runs_ahead.is_empty() && self.runs_ahead.iter().all(|&runs_ahead| runs_ahead)
    }

    /// Partition of a host.
    #[must_use]
    pub fn partition_of(&self, host: GlobalRank) -> u32 {
        debug_assert!(host.index() < self.places.len(), "a rank of this run");
        (self.bounds.partition_point(|&b| b <= host) - 1) as u32
    }

    /// Host of a job's rank: its number among the ranks of all jobs.
    #[inline]
    #[must_use]
    pub fn host(&self, job: u32, rank: RankId) -> GlobalRank {
        debug_assert!(
            rank.number() < self.bases[job as usize + 1].number() - self.bases[job as usize].number(),
            "a rank of its job"
        );
        GlobalRank::new(self.bases[job as usize].number() + rank.number())
    }

    /// True if both hosts live on one terminal.
    #[inline]
    #[must_use]
    pub fn within(&self, from: GlobalRank, to: GlobalRank) -> bool {
        self.place(from).terminal == self.place(to).terminal
    }

    /// True if a message between these hosts stays within their terminal, and no interface takes part.
    #[inline]
    #[must_use]
    pub fn stays(&self, from: GlobalRank, to: GlobalRank) -> bool {
        self.keeps_own && self.within(from, to)
    }

    /// Shortest time from the start of a send to the message's arrival.
    #[inline]
    pub fn least(&self, from: GlobalRank, to: GlobalRank, bytes: u64) -> Ps {
        let (here, there) = (self.place(from).terminal, self.place(to).terminal);
        self.config.overhead
            + match &self.nodes {
                Some(nodes) if here == there => nodes.least(&*self.delays, bytes),
                None if self.stays(from, to) => 0,
                _ => self.delays.delay(here, there, bytes),
            }
    }

    /// Where a host stands.
    #[inline]
    #[must_use]
    pub fn place(&self, host: GlobalRank) -> &Place {
        &self.places[host.index()]
    }

    /// From the first byte of a message to its last at an interface that takes it in by itself; 0 if the processor does, and within a terminal.
    #[must_use]
    pub fn landing(&self, from: GlobalRank, to: GlobalRank, bytes: u64) -> Ps {
        if !self.landing || self.stays(from, to) {
            return 0;
        }
        let slower = self.delays.slower(self.place(from).terminal, self.place(to).terminal, bytes);
        self.config.passing(bytes).1 + slower
    }

    /// True if computations are cut into slices.
    #[must_use]
    pub fn cuts(&self) -> bool {
        self.nodes.as_ref().is_some_and(|n| n.node.quantum().is_some())
    }

    /// Shortest time from the start of a send to its arrival.
    #[must_use]
    pub fn lookahead(&self) -> Ps {
        self.config.overhead + self.delays.least()
    }
}

/// A message from its send to its receive.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// When it is there.
    pub arrival: Ps,
    /// When it was sent.
    pub stamp: Stamp,
    /// Payload in bytes, as its send says.
    pub bytes: u64,
    /// Number of the host that receives it.
    pub to: GlobalRank,
    /// Sending rank, as the job counts.
    pub from: RankId,
    /// Tag that sender and receiver agree on.
    pub tag: u32,
    /// Context of matching: a communicator of the job.
    pub context: u32,
    /// The sender's row of the send, if it waits for the receiver, else none.
    pub send: u32,
    /// The sender's number of the send.
    pub number: u32,
    /// Processor and interface of the sender, and of the receiver.
    pub cpu: u8,
    /// Interface of the sender, and of the receiver: see `cpu`.
    pub nic: u8,
    /// All of it is in, and waits for its processor; only if [`Context::landing`], and of messages within a node that is described.
    pub landed: bool,
    pub(super) next: u32,
    pub(super) child: u32,
}

impl Linked for Message {
    fn next(&self) -> u32 {
        self.next
    }
    fn set_next(&mut self, next: u32) {
        self.next = next;
    }
}

impl Heaped for Message {
    fn child(&self) -> u32 {
        self.child
    }
    fn set_child(&mut self, child: u32) {
        self.child = child;
    }
}

/// What is coupled: one count of things created.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Cell {
    pub created: u64,
    /// Events of slots so far.
    pub slots: u32,
    /// Something lay beyond the end.
    pub cut: bool,
}

/// What happens next at a host, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Next {
    pub time: Ps,
    pub stamp: Stamp,
    pub what: What,
    /// The operation, or the message.
    pub row: u32,
}

/// What kind of operation was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Act {
    /// A computation is done.
    Calc,
    /// A send is done.
    Send,
    /// A receive is done.
    Recv,
    /// A join is done.
    Join,
    /// A probe is done.
    Probe,
}

impl Act {
    /// Name in tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Calc => "calc",
            Self::Send => "send",
            Self::Recv => "recv",
            Self::Join => "join",
            Self::Probe => "probe",
        }
    }
}

/// Something to be measured: one fact each, so that none is larger than a cache line. Running ahead keeps them until they are certain.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Record {
    /// An operation is over.
    Ended(Ended),
    /// A send was taken up.
    Sending(Sending),
    /// A message was taken in.
    Arrival(Arrival),
    /// A message was received; only if [`Context::receipts`].
    Received(Received),
    /// A message is longer than the receive that takes it.
    Truncated(Cut),
    /// A slice of a computation is over; only if these are cut, and [`Context::receipts`].
    Sliced(Sliced),
}

const _: () = assert!(size_of::<Record>() <= 64, "a record is a cache line at most");

/// An operation that is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Ended {
    /// The rank that did it.
    pub host: GlobalRank,
    /// Its number among the rank's operations.
    pub number: u32,
    /// What it is.
    pub act: Act,
    /// When it was taken up.
    pub start: Ps,
    /// When it was over.
    pub end: Ps,
    /// Destination of a send, source of a receive; 0 of others.
    pub peer: GlobalRank,
    /// Payload of the message; 0 of others.
    pub bytes: u64,
    /// When a receive was posted, or a computation that is cut into slices first taken in hand; the start of others.
    pub posted: Ps,
    /// 1 + index of its collective, or 0.
    pub collective: u16,
    /// Its collective call, see [`ranks::instances::of`].
    pub instance: u64,
}

/// A send whose processor is busy from `start` to `end`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sending {
    /// The rank that sends.
    pub host: GlobalRank,
    /// Number of the send among its operations.
    pub number: u32,
    /// Where the message goes.
    pub to: GlobalRank,
    /// Payload of the message.
    pub bytes: u64,
    /// When the processor began.
    pub start: Ps,
    /// When the processor was free again.
    pub end: Ps,
    /// When the message will be there.
    pub arrival: Ps,
    /// 1 + index of its collective, or 0.
    pub collective: u16,
}

/// A message that was taken in, by a processor that is busy from `start` to `end`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arrival {
    /// The rank that it reached.
    pub host: GlobalRank,
    /// Who sent it.
    pub from: GlobalRank,
    /// Number of the send among the sender's operations.
    pub number: u32,
    /// Payload of the message.
    pub bytes: u64,
    /// When the processor began.
    pub start: Ps,
    /// When the processor was free again.
    pub end: Ps,
}

/// A message and its receive have met.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Received {
    /// The rank that received it.
    pub host: GlobalRank,
    /// Number of the receive among its operations.
    pub number: u32,
    /// Who sent it.
    pub from: GlobalRank,
    /// Number of the send among the sender's operations.
    pub send: u32,
    /// Payload of the message.
    pub bytes: u64,
    /// When the receive was posted.
    pub posted: Ps,
    /// When the message was there.
    pub arrival: Ps,
    /// When the receive was over.
    pub end: Ps,
    /// How long the message was held back behind an earlier one of its pair; only if [`Context::holds`].
    pub held: Ps,
}

/// A message that is longer than the receive that takes it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cut {
    /// The rank that received it.
    pub host: GlobalRank,
    /// Number of the receive among its operations.
    pub number: u32,
    /// Who sent it.
    pub from: GlobalRank,
    /// Payload of the message.
    pub bytes: u64,
    /// Bytes that the receive has room for.
    pub room: u64,
}

/// What was done, and when.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Done {
    /// What kind of thing was done.
    pub act: Act,
    /// When it started.
    pub start: Ps,
    /// When it ends.
    pub end: Ps,
}

/// The other end of a message.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Partner {
    /// Number of the host at the other end.
    pub peer: GlobalRank,
    /// Bytes of the message.
    pub bytes: u64,
}

impl Partner {
    /// Of what is no message.
    pub const NONE: Self = Self { peer: GlobalRank::new(0), bytes: 0 };
}

/// The ranks of one partition.
pub struct DelayDomain {
    /// What does not change.
    pub cx: Arc<Context>,
    /// Number of the partition.
    pub part: u32,
    /// First host of the partition.
    pub first: GlobalRank,
    pub(super) hosts: Hosts,
    pub(super) cell: Table<Cell>,
    /// What hosts do next, if there is one partition.
    pub(super) calendar: Calendar,
    pub(super) messages: Pool<Message>,
    /// Last arrival by pair of hosts, where messages could overtake each other.
    pub(super) latest: Map<Ps>,
    /// When each channel of the nodes' memories is free.
    pub(super) channels: Table<Ps>,
    pub(super) slices: Slices,
    pub(super) window: OperationWindow,
    pub(super) matching: Matching,
    /// Operations freed by the present event; empty between events, like what follows.
    pub(super) freed: Vec<u32>,
    pub(super) answered: Vec<u32>,
    pub(super) met: Vec<u32>,
    pub(super) touched: Vec<u32>,
    /// Hosts that run ahead.
    pub(super) running_ahead: VecDeque<u32>,
    pub(super) instant: BinaryHeap<Entry>,
    pub(super) due: Vec<Entry>,
}

impl DelayDomain {
    /// The ranks of partition `part` before anything has happened.
    #[must_use]
    pub fn new(cx: Arc<Context>, part: u32) -> Self {
        let (first, last) = (cx.bounds[part as usize], cx.bounds[part as usize + 1]);
        debug_assert!(first <= last && last.index() <= cx.places.len(), "partitions are runs of ranks");
        let places = &cx.places[first.index()..last.index()];
        let count = places.len();
        let window =
            OperationWindow::new(places.iter().map(|p| (Arc::clone(&cx.programs[p.job as usize]), p.rank)));
        let starts: Vec<Ps> = places.iter().map(|p| cx.starts[p.job as usize]).collect();
        Self {
            part,
            first,
            hosts: Hosts::new(&starts, cx.cpus, cx.nics),
            cell: Table::new(1, Cell { created: 0, slots: 0, cut: false }),
            calendar: Calendar::new(cx.slot_shift, cx.filed),
            messages: Pool::default(),
            latest: Map::default(),
            channels: Table::new(cx.nodes.as_ref().map_or(0, Nodes::channels), 0),
            slices: Slices::new(count as u32, cx.nodes.as_ref().and_then(|n| n.node.quantum())),
            window,
            matching: Matching::new(count as u32),
            freed: Vec::new(),
            answered: Vec::new(),
            met: Vec::new(),
            touched: Vec::new(),
            running_ahead: VecDeque::new(),
            instant: BinaryHeap::new(),
            due: Vec::new(),
            cx,
        }
    }

    /// Number of hosts.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.hosts.len()
    }

    /// The rank in row `host` of this partition. Rows of a partition are plain numbers, so that one is not taken for a rank.
    #[inline]
    #[must_use]
    pub fn rank(&self, host: u32) -> GlobalRank {
        debug_assert!(host < self.count(), "a row of this partition");
        GlobalRank::new(self.first.number() + host)
    }

    /// The row of a rank; beyond [`DelayDomain::count`] for one of another partition.
    #[inline]
    #[must_use]
    pub fn row(&self, rank: GlobalRank) -> u32 {
        rank.number().wrapping_sub(self.first.number())
    }

    /// Last processor time of a host.
    #[must_use]
    pub fn makespan(&self, host: u32) -> Ps {
        (0..self.cx.cpus).map(|c| self.hosts.core(host, c as u8).free).max().unwrap_or(0)
    }

    /// The windows of the ranks, to look at.
    #[must_use]
    pub fn window(&self) -> &OperationWindow {
        &self.window
    }

    /// The matching, to look at.
    #[must_use]
    pub fn matching(&self) -> &Matching {
        &self.matching
    }

    /// A message that is kept, to look at.
    #[must_use]
    pub fn message(&self, row: u32) -> &Message {
        self.messages.get(row)
    }

    /// True if something was left out because it lay beyond the end of the run.
    #[must_use]
    pub fn was_cut(&self) -> bool {
        self.cell.get(0).cut
    }

    /// True if a message is on its way to a host.
    #[must_use]
    pub fn expects(&self, host: u32) -> bool {
        self.hosts.get(host).inbox != NIL
    }

    pub(super) fn visit_all_journals(&mut self, visit: &mut dyn FnMut(&mut dyn Journal)) {
        self.hosts.visit_journals(visit);
        visit(&mut self.cell);
        self.calendar.visit_journals(visit);
        visit(&mut self.messages);
        self.latest.visit_journals(visit);
        visit(&mut self.channels);
        self.slices.visit_journals(visit);
        self.window.visit_journals(visit);
        self.matching.visit_journals(visit);
    }
}

impl Clone for DelayDomain {
    fn clone(&self) -> Self {
        Self {
            cx: Arc::clone(&self.cx),
            part: self.part,
            first: self.first,
            hosts: self.hosts.clone(),
            cell: self.cell.clone(),
            calendar: self.calendar.clone(),
            messages: self.messages.clone(),
            latest: self.latest.clone(),
            channels: self.channels.clone(),
            slices: self.slices.clone(),
            window: self.window.clone(),
            matching: self.matching.clone(),
            freed: Vec::new(),
            answered: Vec::new(),
            met: Vec::new(),
            touched: Vec::new(),
            running_ahead: VecDeque::new(),
            instant: BinaryHeap::new(),
            due: Vec::new(),
        }
    }
}

impl PartialEq for DelayDomain {
    fn eq(&self, other: &Self) -> bool {
        self.hosts == other.hosts
            && self.cell == other.cell
            && self.calendar == other.calendar
            && self.messages == other.messages
            && self.latest == other.latest
            && self.channels == other.channels
            && self.slices == other.slices
            && self.window == other.window
            && self.matching == other.matching
    }
}
