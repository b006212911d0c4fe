//! The bus between a node's memory and its interface: payloads, events and counters.
//!
//! A transfer over the network begins with the first packet that the bus brings, and the network knows nothing of the others. Where it is faster than the bus, a message
//! waits at its end: its last byte cannot arrive before one bus has brought it and the other has taken it. What the second takes is counted for all messages of a
//! busy time: their bytes, from when the first of them may have come. No network brings them sooner whose links are slower than the bus, so nothing waits there.

use super::{Control, Due, Happening, Machine};
use crate::{core::types::Memory, nic::size};
use base::{
    index::TerminalId,
    time::{Ps, rounded},
};

impl Machine {
    /// When all of a flight is there that the network, or the node, brings at a time: no sooner than over the bus at either end.
    pub(super) fn in_memory(&mut self, flight: u32, brought: Ps) -> Ps {
        let f = &self.flights[flight as usize];
        let (node, launched, fetched) = (f.ends.1, f.launched, f.fetched);
        let bytes = if f.low_level || f.served { 0 } else { f.message.payload() };
        let p = self.of(node);
        let (bus, per_byte) = (p.bus, p.bus_per_byte);
        debug_assert!(launched <= brought, "a message arrives after it was sent");
        if bytes == 0 || !bus {
            return brought.max(fetched);
        }
        let ends = |(from, bytes): (Ps, u64)| from + rounded(bytes as f64 * per_byte);
        let written = &mut self.nics[node].written;
        *written = if launched < ends(*written) {
            (written.0.min(launched), written.1 + bytes)
        } else {
            (launched, bytes)
        };
        brought.max(fetched).max(ends(*written))
    }

    /// The network has brought a message.
    pub(super) fn reaches(&mut self, flight: u32, memory: &mut dyn Memory) {
        let there = self.in_memory(flight, self.now);
        if there > self.now {
            return self.at(there, Due::Arrive(flight));
        }
        self.arrive(flight, memory);
    }

    /// Events and counters cross the bus in their order.
    pub(super) fn queue_control(&mut self, node: TerminalId, control: Control) {
        self.nics[node].controls.push_back(control);
        let at = self.now + self.of(node).control_time(size::EVENT);
        self.at(at, Due::Control(node));
    }

    pub(super) fn control(&mut self, node: TerminalId) {
        debug_assert!(!self.nics[node].controls.is_empty(), "each crossing of the bus brings something");
        let Some(control) = self.nics[node].controls.pop_front() else { return };
        let rank = match control {
            Control::Event { rank, ni, queue, event } => {
                self.processes[rank].deliver(ni, queue, event);
                rank
            }
            Control::Count { rank, ni, counter, value, epoch } => {
                self.processes[rank].show(ni, counter, value, epoch);
                rank
            }
        };
        self.happened.push_back(Happening::Rank(rank));
    }
}
