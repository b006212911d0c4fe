//! The transport's part of the fingerprint: what it holds when a run ends.

use super::{DatagramRow, Transport};
use crate::pools::List;
use base::{hash::Fingerprint, index::TerminalId};
use engine::state::mode::Mode;

impl<M: Mode> Transport<M> {
    /// Adds what the terminals of a partition, in their order, have under way, and what they know of each other.
    pub fn hash(&self, terminals: &[TerminalId], sum: &mut Fingerprint) {
        for (&terminal, sender) in terminals.iter().zip(self.senders.rows()) {
            let place = u64::from(terminal);
            // Everything is named by terminals and numbers that do not depend on the partitioning, never by rows of a pool.
            sum.add(20 << 32 | place, sender.due, u64::from(sender.open), 0);
            for (kind, list) in [(21u64, sender.acks), (22, sender.packets)] {
                self.hash_waiting(kind << 32 | place, list, sum);
            }
        }
        // Maps are visited in an order that depends on the past; the fingerprint is a sum, so the order does not show.
        self.open.each(|key, number, &row| {
            let t = self.transfers.get(row);
            let state = u64::from(t.window) << 32 | u64::from(t.acked);
            let round = u64::from(t.leaving) << 32 | u64::from(t.tries);
            sum.add(23 << 32 | u64::from(number), key, state, round);
            sum.add(
                24 << 32 | u64::from(number),
                key,
                t.round.map_or(0, |r| u64::from(r) + 1),
                t.sent.into(),
            );
        });
        self.flows.each(|key, _, f| {
            let reported = u64::from(f.of) << 32 | u64::from(f.received);
            sum.add(25 << 32, key, u64::from(f.begun) << 32 | u64::from(f.sent), reported);
        });
        self.peers.each(|key, _, p| sum.add(26 << 32, key, p.floor.into(), p.received.into()));
        self.arrivals.each(|key, number, a| {
            let last = u64::from(a.last) << 1 | u64::from(a.complete);
            sum.add(27 << 32 | u64::from(number), key, u64::from(a.window) << 32 | u64::from(a.got), last);
        });
    }

    fn hash_waiting(&self, place: u64, list: List<DatagramRow>, sum: &mut Fingerprint) {
        for (n, d) in list.iter(&self.datagrams).enumerate() {
            let d = self.datagrams.get(d);
            let whom = u64::from(d.destination) << 32 | u64::from(d.number);
            sum.add(place, n as u64, whom, u64::from(d.word) << 32 | u64::from(d.bytes));
            sum.add(place, d.time, d.stamp, n as u64);
        }
    }
}
