//! The delay model as a carrier: messages of any host, each under way for a time that a formula gives, with interfaces at its ends that are busy with it.
//!
//! Of LogGOPS only what belongs to the network and its interfaces counts: a message of s bytes holds the sender's interface for g + (s-1) G, its first byte
//! is there after L (and the hops), and holds the receiver's for as long; it is complete when its last byte is in, (s-1) G later. What the
//! processors do (o, O, rendezvous) is the host's business. Pure and resilient delays have no interfaces, so a short message may overtake a long one of
//! its pair: hosts put them in order.
//!
//! The drive of rank programs (`drive.rs`) is not this: there processors and interfaces are one machine, in LogGOPSim's order. Here simultaneous messages
//! at one interface take turns in the engine's order of ties. One partition. Cost: two events per message, one without interfaces.

use super::{config::DelayConfig, distance::Delays};
use base::{index::TerminalId, time::Ps};
use engine::{
    domain::{Domain, Effects},
    key::Class,
    state::{Journal, Linked, NIL, Pool, Table},
};
use ranks::{
    carrier::{self, Ahead, Alarm, Carrier, Delivery, Posting},
    finished::{Finished, Met},
};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A message under way.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Message {
    source: TerminalId,
    destination: TerminalId,
    bytes: u64,
    ahead: Ahead,
    /// The source's number of it.
    number: u32,
    next: u32,
}

impl Linked for Message {
    fn next(&self) -> u32 {
        self.next
    }
    fn set_next(&mut self, next: u32) {
        self.next = next;
    }
}

/// A terminal: when its interface is free again, sending and receiving, and the number of messages that it posted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Interface {
    free: [Ps; 2],
    posted: u32,
}

const SENDING: usize = 0;
const RECEIVING: usize = 1;

/// Something to be measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Record {
    /// A message is complete.
    Delivered {
        /// Virtual time at which it happens.
        time: Ps,
        /// Number of the terminal that it comes from.
        source: TerminalId,
        /// Number of the terminal that it is for.
        destination: TerminalId,
        /// Its size in bytes.
        bytes: u64,
    },
    /// An operation of a host is finished.
    Operation(Finished),
    /// A receive of a host has its message.
    Met(Met),
}

const _: () = assert!(size_of::<Record>() <= 64, "a record is a cache line at most");

impl From<Finished> for Record {
    fn from(finished: Finished) -> Self {
        Self::Operation(finished)
    }
}

impl From<Met> for Record {
    fn from(met: Met) -> Self {
        Self::Met(met)
    }
}

/// Messages under way and the clocks of interfaces.
#[derive(Clone)]
pub struct DelayCarrier {
    config: DelayConfig,
    delays: Arc<dyn Delays>,
    interfaces: Table<Interface>,
    messages: Pool<Message>,
    /// Empty between events.
    complete: Vec<Delivery>,
}

impl PartialEq for DelayCarrier {
    fn eq(&self, other: &Self) -> bool {
        self.interfaces == other.interfaces && self.messages == other.messages
    }
}

/// What an alarm is for. Its number stands in its token and its identity; two of one number do not compile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
enum Kind {
    /// The first byte of a message reaches the receiver's interface.
    There = 0,
    /// Its last byte is in.
    In = 1,
    /// The host set it, for itself.
    Host = 3,
}

impl Kind {
    fn token(self, which: u32) -> u32 {
        carrier::token(self as u32, which)
    }

    fn of(token: u32) -> (Self, u32) {
        let (kind, which) = carrier::parts(token);
        let kind = [Self::There, Self::In, Self::Host].into_iter().find(|k| *k as u32 == kind);
        (kind.expect("a token of this carrier"), which)
    }

    /// The first bits of identities of its alarms: those of two kinds differ.
    fn identity(self) -> u64 {
        u64::from(self as u32) << 62
    }
}

impl DelayCarrier {
    /// A network without messages between so many terminals.
    #[must_use]
    pub fn new(config: DelayConfig, delays: Arc<dyn Delays>, terminals: u32) -> Self {
        Self {
            config,
            delays,
            interfaces: Table::new(terminals as usize, Interface::default()),
            messages: Pool::default(),
            complete: Vec::new(),
        }
    }

    /// A message begins to pass a side of an interface once that is free: when it begins, and when its last byte has passed.
    fn pass(&mut self, now: Ps, terminal: TerminalId, side: usize, bytes: u64) -> (Ps, Ps) {
        let (busy, passing) = self.config.passing(bytes);
        let free = &mut self.interfaces.edit(terminal.number()).free[side];
        debug_assert!(side == SENDING || side == RECEIVING, "an interface has two sides");
        let begin = now.max(*free);
        *free = begin + busy;
        (begin, begin + passing)
    }

    /// Sets the next alarm of a message, named by its source and number.
    fn set(&self, at: Ps, kind: Kind, row: u32, fx: &mut impl Effects<Self>) {
        let Message { source, number, .. } = *self.messages.get(row);
        debug_assert!(at >= fx.now(), "an alarm rings in the present or later");
        let identity = kind.identity() | u64::from(source) << 32 | u64::from(number);
        fx.wake(at, Class::Ordinary, identity, kind.token(row));
    }

    /// The last byte of a message is in.
    fn arrive(&mut self, row: u32, fx: &mut impl Effects<Self>) {
        let Message { source, destination, bytes, ahead, .. } = *self.messages.get(row);
        self.messages.give(row);
        fx.record(Record::Delivered { time: fx.now(), source, destination, bytes });
        self.complete.push(Delivery { source, destination, ahead });
        debug_assert!(self.complete.len() == 1, "one event completes one message");
    }
}

impl Domain for DelayCarrier {
    /// All is in one partition: nothing is sent.
    type Message = ();
    type Record = Record;

    fn start(&mut self, _fx: &mut impl Effects<Self>) {}

    fn wake(&mut self, token: u32, fx: &mut impl Effects<Self>) {
        let (kind, row) = Kind::of(token);
        if kind == Kind::There {
            let Message { destination, bytes, .. } = *self.messages.get(row);
            let (_, last) = self.pass(fx.now(), destination, RECEIVING, bytes);
            if last > fx.now() {
                return self.set(last, Kind::In, row, fx);
            }
        }
        self.arrive(row, fx);
    }

    fn receive(&mut self, (): &(), _fx: &mut impl Effects<Self>) {}

    fn visit_journals(&mut self, visit: &mut dyn FnMut(&mut dyn Journal)) {
        visit(&mut self.interfaces);
        visit(&mut self.messages);
    }

    fn lookahead(&self, _to: u32) -> Option<Ps> {
        None
    }
}

impl Carrier for DelayCarrier {
    fn post(&mut self, posting: Posting, fx: &mut impl Effects<Self>) {
        let Posting { source, destination, bytes, ahead, .. } = posting;
        let number = self.interfaces.get(source.number()).posted;
        self.interfaces.edit(source.number()).posted = number.wrapping_add(1);
        let (begin, _) = self.pass(fx.now(), source, SENDING, bytes);
        let there = begin + self.delays.unasked(source, destination, bytes);
        let row = self.messages.take(Message { source, destination, bytes, ahead, number, next: NIL });
        assert!(row < 1 << carrier::WHICH_BITS, "fewer than 2^29 messages are under way");
        self.set(there, Kind::There, row, fx);
    }

    fn next_delivery(&mut self, _fx: &mut impl Effects<Self>) -> Option<Delivery> {
        // One event completes one message.
        self.complete.pop()
    }

    fn set_alarm(&mut self, alarm: Alarm, fx: &mut impl Effects<Self>) {
        let Alarm { at, terminal, processor, number, .. } = alarm;
        let identity = Kind::Host.identity() | u64::from(terminal) << 32 | u64::from(processor);
        fx.wake(at, Class::Ordinary, identity, Kind::Host.token(number));
    }

    fn host_alarm(&self, token: u32, _fx: &mut impl Effects<Self>) -> Option<u32> {
        match Kind::of(token) {
            (Kind::Host, number) => Some(number),
            _ => None,
        }
    }
}
