//! Messages of interfaces through the packet network: chunk by chunk, with buffers, credits and virtual channels.

use crate::{on_demand::OnDemand, places::Ends, setup::Setup};
use base::{index::TerminalId, time::Ps};
use model::{
    failure::Failure,
    messages::{Message, MessageNetwork},
};

/// The network; see [`OnDemand`] for what it does with virtual networks.
pub struct Interfaces {
    on_demand: OnDemand,
    seed: u64,
}

impl Interfaces {
    /// The network of a setup; its jobs are left alone.
    ///
    /// # Errors
    /// What the packet model refuses; see [`OnDemand::new`].
    pub fn new(setup: &Setup) -> Result<Self, Failure> {
        Ok(Self { on_demand: OnDemand::new(setup)?, seed: setup.seed })
    }
}

impl MessageNetwork for Interfaces {
    fn terminals(&self) -> u32 {
        self.on_demand.terminals()
    }

    fn end(&self) -> Ps {
        self.on_demand.end()
    }

    fn seed(&self) -> u64 {
        self.seed
    }

    fn send(
        &mut self,
        now: Ps,
        source: TerminalId,
        destination: TerminalId,
        Message { network, bytes, tag }: Message,
    ) -> bool {
        let ends = Ends { source, destination };
        self.on_demand.send(now, ends, network, bytes, tag);
        true
    }

    fn next(&mut self) -> Option<Ps> {
        self.on_demand.next_time()
    }

    fn advance(&mut self, until: Ps, arrived: &mut Vec<u32>) -> Ps {
        self.on_demand.advance(until, arrived)
    }
}
