//! Messages of interfaces through the packet network: chunk by chunk, with buffers, credits and virtual channels.

use crate::{live::Live, setup::Setup};
use base::time::Ps;
use model::{
    failure::Failure,
    messages::{Message, MessageNetwork},
};

/// The network; see [`Live`] for what it does with virtual networks.
pub struct Interfaces {
    live: Live,
    seed: u64,
}

impl Interfaces {
    /// The network of a setup; its jobs are left alone.
    ///
    /// # Errors
    /// What the packet model refuses; see [`Live::new`].
    pub fn new(setup: &Setup) -> Result<Self, Failure> {
        Ok(Self { live: Live::new(setup)?, seed: setup.seed })
    }
}

impl MessageNetwork for Interfaces {
    fn terminals(&self) -> u32 {
        self.live.terminals()
    }

    fn end(&self) -> Ps {
        self.live.end()
    }

    fn seed(&self) -> u64 {
        self.seed
    }

    fn send(&mut self, now: Ps, ends: (u32, u32), Message { network, bytes, tag }: Message) -> bool {
        self.live.send(now, ends, (network, bytes), tag);
        true
    }

    fn next(&mut self) -> Option<Ps> {
        self.live.next_time()
    }

    fn advance(&mut self, until: Ps, arrived: &mut Vec<u32>) -> Ps {
        self.live.advance(until, arrived)
    }
}
