//! The packet network driven from outside, event by event, whatever its routers.

use crate::{effects::Record, net::Router, network::Network, state::PacketDomain};
use base::{index::TerminalId, time::Ps};
use engine::{
    domain::{Lane, Observer},
    executor::{Executor, Options},
};
use std::{collections::VecDeque, sync::Arc};

/// Packets that have arrived: source terminal and number there.
#[derive(Default)]
struct Arrived(VecDeque<(TerminalId, u32)>);

impl Observer<Record> for Arrived {
    fn commit(&mut self, record: &Record) {
        if let Record::Message { source, number, .. } = *record {
            self.0.push_back((source, number));
        }
    }
}

/// A network of some router architecture, event by event: a call per event of the driver.
pub trait Stepper: Send {
    /// When something happens next; `NEVER` for nothing.
    fn next_time(&mut self) -> Ps;
    /// Does what happens next, up to `until`.
    fn step(&mut self, until: Ps);
    /// Virtual time that the network has reached.
    fn now(&self) -> Ps;
    /// Nothing happens before `t`, which is the present from now on.
    fn skip_to(&mut self, t: Ps);
    /// A message that has arrived since the last call: source terminal and number there.
    fn arrived(&mut self) -> Option<(TerminalId, u32)>;
    /// A terminal sends a message of one packet at most: its number there.
    fn send(&mut self, terminal: TerminalId, destination: TerminalId, bytes: u64) -> u32;
    /// Chunks that a terminal holds and has not started onto its link.
    fn held(&mut self, terminal: TerminalId) -> u32;
}

/// One of an architecture, in one partition: there terminals have the numbers that the fabric gives them.
pub(crate) fn new<R: Router>(net: &Arc<Network>, options: Options) -> Box<dyn Stepper> {
    assert!(net.partitions == 1, "the driver knows one partition");
    let part = (PacketDomain::<R>::new(Arc::clone(net), 0), Arrived::default());
    Box::new(Executor::new([part], options))
}

impl<R: Router> Stepper for Executor<PacketDomain<R>, Arrived> {
    fn next_time(&mut self) -> Ps {
        Executor::next_time(self)
    }

    fn step(&mut self, until: Ps) {
        Executor::step(self, until);
    }

    fn now(&self) -> Ps {
        Executor::now(self)
    }

    fn skip_to(&mut self, t: Ps) {
        Executor::skip_to(self, t);
    }

    fn arrived(&mut self) -> Option<(TerminalId, u32)> {
        self.partitions[0].observer.0.pop_front()
    }

    fn send(&mut self, terminal: TerminalId, destination: TerminalId, bytes: u64) -> u32 {
        self.act(0, Lane::Network, |domain, fx| {
            domain.state.hand_in(&domain.cx, terminal.number(), destination, bytes, fx)
        })
    }

    fn held(&mut self, terminal: TerminalId) -> u32 {
        self.act(0, Lane::Network, |domain, fx| domain.state.held(&domain.cx, terminal.number(), fx))
    }
}
