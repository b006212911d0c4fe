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

#[cfg(test)]
mod tests {
    use super::super::{
        Arrival, Datagram, DatagramRow, PairState, Peer, Sort, Transfer, TransferRow, Transport, pair,
    };
    use crate::pools::RowNumber as _;
    use base::{hash::Fingerprint, index::TerminalId};
    use engine::state::mode::Undo;
    use std::collections::BTreeMap;

    /// Numbers of a state, one of which a test changes: each stands in a field of its own.
    type Numbers = [u32; 24];

    const FIELDS: [&str; 24] = [
        "due",
        "messages open",
        "datagram's time",
        "its stamp",
        "its number",
        "its word",
        "its bytes",
        "its end",
        "window",
        "packets acknowledged",
        "leaving",
        "tries",
        "round",
        "sent in all",
        "begun",
        "sent of a pair",
        "reported of",
        "reported received",
        "floor",
        "received",
        "window in",
        "got",
        "last",
        "complete",
    ];

    fn fingerprint(n: Numbers) -> u128 {
        let [here, there] = [3, 9].map(TerminalId::new);
        let key = pair(here, there);
        let mut t = Transport::<Undo>::new(1);
        let datagram = Datagram {
            time: n[2].into(),
            stamp: n[3].into(),
            destination: TerminalId::new(n[7]),
            number: n[4],
            word: n[5],
            bytes: n[6],
            next: DatagramRow::NIL,
            sort: Sort::First,
        };
        let row = t.datagrams.take(datagram);
        let sender = t.senders.edit(0);
        (sender.due, sender.open) = (n[0].into(), n[1]);
        sender.packets.push(&mut t.datagrams, row);
        let transfer = Transfer {
            created: 0,
            bytes: 1,
            destination: there,
            number: 5,
            packets: 1,
            window: n[8],
            acked: n[9],
            leaving: n[10],
            round: Some(n[12]),
            sent: n[13],
            tries: n[11],
            next: TransferRow::NIL,
        };
        let row = t.transfers.take(transfer);
        t.open.set(key, 5, row);
        let flow = PairState { begun: n[14], named: 0, sent: n[15], of: n[16], received: n[17] };
        t.flows.set(key, 0, flow);
        t.peers.set(key, 0, Peer { floor: n[18], received: n[19] });
        let complete = n[23] % 2 == 1;
        t.arrivals.set(key, 5, Arrival { window: n[20], got: n[21], last: n[22], complete });
        let mut sum = Fingerprint::default();
        t.hash(&[here], &mut sum);
        sum.0
    }

    /// Each number that the transport holds shows in the fingerprint, by itself and in its own place.
    #[test]
    fn every_number_shows() {
        let base: Numbers = std::array::from_fn(|n| 2 * n as u32 + 2);
        let mut seen = BTreeMap::from([(fingerprint(base), "nothing")]);
        for (n, what) in FIELDS.into_iter().enumerate() {
            let mut changed = base;
            changed[n] += 1;
            let same = seen.insert(fingerprint(changed), what);
            assert_eq!(same, None, "{what} does not show");
        }
    }
}
