//! What hosts of a compact run are, and what waits at them.

use super::{order::Order, queue::Entry};
use base::time::Ps;
use engine::state::{Fifo, Linked, NIL, Pool, heap::Heaped};
use ranks::matching::Matching;
use serde::{Deserialize, Serialize};

/// A rank of a job: its processor and its interface, one cache line.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[repr(align(64))]
pub(super) struct Host {
    /// When its processor is free.
    pub free: Ps,
    /// When its interface can send, and receive.
    pub send: Ps,
    pub receive: Ps,
    /// Operations that can be taken up, in order of their stamps.
    pub sends: Fifo,
    pub calcs: Fifo,
    pub recvs: Fifo,
    /// Messages that came before its resources were free, a heap by stamp.
    pub ready: u32,
    /// How often it was found out what it does next.
    pub looks: u32,
    /// Things created so far, where that is counted by host.
    pub created: u32,
    /// Messages that no receive has taken, and receives in the queue whose start frees something: unless there are any, its receives are posted when it next does something.
    pub awake: u32,
}

const _: () = assert!(size_of::<Host>() == 64);

impl Host {
    pub fn new(start: Ps) -> Self {
        let none = Fifo::default();
        let (sends, calcs, recvs) = (none, none, none);
        Self {
            free: start,
            send: start,
            receive: start,
            sends,
            calcs,
            recvs,
            ready: NIL,
            looks: 0,
            created: 0,
            awake: 0,
        }
    }
}

/// An operation that can be taken up, or was and is not over.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Node<S> {
    pub stamp: S,
    /// When its processor was free as it became executable.
    pub ready: Ps,
    /// Its place among the operations of all hosts.
    pub op: u32,
    pub next: u32,
}

impl<S: Order> Linked for Node<S> {
    fn next(&self) -> u32 {
        self.next
    }
    fn set_next(&mut self, next: u32) {
        self.next = next;
    }
}

/// A message that waits: for its processor, or for a receive.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Message<S> {
    pub arrival: Ps,
    pub stamp: S,
    pub bytes: u64,
    pub host: u32,
    /// Sending rank, as the job counts.
    pub from: u32,
    pub tag: u32,
    pub number: u32,
    /// The sender's node of the send, if it waits for the receiver.
    pub send: u32,
    pub next: u32,
    pub child: u32,
}

impl<S: Copy> Message<S> {
    /// The message of an entry whose time has come.
    #[inline]
    pub fn of(entry: &Entry<S>) -> Self {
        let &Entry { time: arrival, stamp, bytes, host, from, tag, number, send } = entry;
        Self { arrival, stamp, bytes, host, from, tag, number, send, next: NIL, child: NIL }
    }
}

impl<S: Order> Linked for Message<S> {
    fn next(&self) -> u32 {
        self.next
    }
    fn set_next(&mut self, next: u32) {
        self.next = next;
    }
}

impl<S: Order> Heaped for Message<S> {
    fn child(&self) -> u32 {
        self.child
    }
    fn set_child(&mut self, child: u32) {
        self.child = child;
    }
}

/// What a host does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    Calc,
    Recv,
    Send,
    /// Takes in a message that waited for its processor.
    Ready,
}

/// When a host does something next, and what.
#[derive(Clone, Copy, Debug)]
pub(super) struct Next<S> {
    pub time: Ps,
    pub stamp: S,
    pub what: What,
}

/// In place of what an operation still waits for: it was taken up and is not over.
pub(super) const STARTED: u32 = u32::MAX - 1;
/// In place of what an operation still waits for: it is over.
pub(super) const OVER: u32 = u32::MAX;

/// What does not follow from the setup, but for what is to come.
pub(super) struct State<S> {
    pub hosts: Vec<Host>,
    /// How much each operation of each host still waits for, [`STARTED`] or [`OVER`].
    pub waits: Vec<u32>,
    pub nodes: Pool<Node<S>>,
    pub messages: Pool<Message<S>>,
    pub matching: Matching,
    /// Things created so far by all hosts.
    pub created: u64,
    /// Steps taken so far.
    pub steps: u64,
    /// Something lay beyond the end.
    pub cut: bool,
}
