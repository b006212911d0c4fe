//! Messages of interfaces by the delay model: each takes a time that a formula gives, and the interfaces at its ends are busy with it.
//!
//! Of LogGOPS only what belongs to the network and its interfaces counts: a message of s bytes holds the sender's interface for g + (s-1) G, its first byte
//! is there after L (and the hops), and holds the receiver's for as long; it has arrived when its last byte is in, (s-1) G later. What the
//! processors do (o, O, rendezvous) is the business of whoever lives on the terminals. Pure and resilient delays have no interfaces: a short message may overtake a
//! long one, and requests of two processes are put in order where they arrive.

use crate::{config::DelayConfig, distance::Delays, run::delays, setup::DelaySetup};
use base::{index::TerminalId, time::Ps};
use model::{
    failure::Failure,
    messages::{Message, MessageNetwork},
};
use std::{cmp::Reverse, collections::BinaryHeap};

/// What becomes due.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    /// The first byte of a message reaches an interface.
    There { from: TerminalId, to: TerminalId, bytes: u64, tag: u32 },
    /// The last byte is in.
    In(u32),
}

/// Messages under way and the clocks of interfaces.
pub struct Interfaces {
    config: DelayConfig,
    delays: Box<dyn Delays>,
    terminals: u32,
    end: Ps,
    seed: u64,
    /// When each interface is free again, sending and receiving.
    free: Vec<[Ps; 2]>,
    due: BinaryHeap<Reverse<(Ps, u64, Due)>>,
    counter: u64,
}

impl Interfaces {
    /// The delays of a setup; its jobs are left alone. Without a fabric there are as many terminals as one likes.
    ///
    /// # Errors
    /// What the delay model refuses.
    pub fn new(setup: &DelaySetup) -> Result<Self, Failure> {
        Ok(Self {
            config: setup.config.clone(),
            delays: delays(setup)?,
            terminals: setup.fabric.as_ref().map_or(u32::MAX, |f| f.nodes()),
            end: setup.limit,
            seed: setup.seed,
            free: Vec::new(),
            due: BinaryHeap::new(),
            counter: 0,
        })
    }

    fn at(&mut self, time: Ps, due: Due) {
        self.counter += 1;
        self.due.push(Reverse((time, self.counter, due)));
    }

    /// A message begins to pass a side of an interface once that is free: when it begins, and when its last byte has passed.
    fn pass(&mut self, now: Ps, from: TerminalId, to: TerminalId, side: usize, bytes: u64) -> (Ps, Ps) {
        let terminal = if side == 0 { from } else { to };
        if self.free.len() <= terminal.index() {
            self.free.resize(terminal.index() + 1, [0; 2]);
        }
        let (busy, passing) = self.config.passing(bytes);
        let slower = match side {
            0 => self.delays.held(from, to, bytes),
            _ => self.delays.slower(from, to, bytes),
        };
        let (busy, passing) = (busy + slower, passing + slower);
        let clock = &mut self.free[terminal.index()][side];
        debug_assert!(side < 2, "an interface has two sides");
        let begin = now.max(*clock);
        *clock = begin + busy;
        (begin, begin + passing)
    }
}

impl MessageNetwork for Interfaces {
    fn terminals(&self) -> u32 {
        self.terminals
    }

    fn end(&self) -> Ps {
        self.end
    }

    fn seed(&self) -> u64 {
        self.seed
    }

    fn send(
        &mut self,
        now: Ps,
        from: TerminalId,
        to: TerminalId,
        Message { bytes, tag, .. }: Message,
    ) -> bool {
        let (begin, _) = self.pass(now, from, to, 0, bytes);
        debug_assert!(
            from.number() < self.terminals && to.number() < self.terminals,
            "terminals of this network"
        );
        let there = begin + self.delays.unasked(from, to, bytes);
        self.at(there, Due::There { from, to, bytes, tag });
        true
    }

    fn next(&mut self) -> Option<Ps> {
        self.due.peek().map(|d| d.0.0)
    }

    fn advance(&mut self, until: Ps, arrived: &mut Vec<u32>) -> Ps {
        while let Some(&Reverse((time, _, due))) = self.due.peek().filter(|d| d.0.0 <= until) {
            self.due.pop();
            match due {
                Due::There { from, to, bytes, tag } => {
                    let (_, last) = self.pass(time, from, to, 1, bytes);
                    self.at(last, Due::In(tag));
                }
                Due::In(tag) => {
                    arrived.push(tag);
                    return time;
                }
            }
        }
        until
    }
}
