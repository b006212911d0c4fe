//! The order of a pair's packets: which is next, which wait for others, and in how much room.
//!
//! A packet is in its place by three things that it carries anyway or in spare bits: its source's number of it, which grows; the number of its message,
//! which with re-sequencing counts the pair's; and whether it is the first or last of its message. Inside a message packets have consecutive numbers,
//! and the last of one is followed by the first of the next.

use crate::{
    places::pair as key,
    pools::{List, RowNumber, Rows, pooled, row_numbers},
    rows::{Packet, REPLY_NUMBER, Signs},
};
use base::{hash::Fingerprint, index::TerminalId, time::Ps};
use engine::state::{Journal, Table, map::Map, mode::Mode};
use serde::{Deserialize, Serialize};

row_numbers! {
    /// A row of the packets that adapters hold.
    HeldRow;
}

/// A packet that is complete and waits for earlier ones of its pair.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Held {
    /// The row as it was.
    pub packet: Packet,
    /// When it was complete.
    pub since: Ps,
    next: HeldRow,
}

pooled! {
    Held: HeldRow;
}

/// What a destination knows of the packets of one source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Pair {
    /// The latest sent of those that are complete.
    newest: u32,
    /// The last one handed on in its place.
    last: u32,
    /// Number of the next message, unless `inside` one.
    message: u32,
    /// Something is complete, something was handed on, the last one's message goes on.
    seen: bool,
    begun: bool,
    inside: bool,
    /// Those that wait, in the order in which they were sent.
    held: List<HeldRow>,
}

/// True if number `a` was given before `b`; both wrap.
fn before(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) < 0
}

impl Pair {
    /// True if the packet follows what was handed on.
    fn is_next(&self, p: &Packet) -> bool {
        if self.inside {
            return p.id.number() == self.last.wrapping_add(1);
        }
        p.signs.has(Signs::FIRST) && p.message & !REPLY_NUMBER == self.message
    }

    /// True if later ones were handed on already.
    fn is_past(&self, p: &Packet) -> bool {
        self.begun && !before(self.last, p.id.number())
    }

    /// The packet is handed on in its place, or at the end of a gap.
    fn pass(&mut self, p: &Packet) {
        (self.last, self.begun) = (p.id.number(), true);
        self.inside = !p.signs.has(Signs::LAST);
        self.message = (p.message + 1) & !REPLY_NUMBER;
    }
}

/// What an adapter holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Room {
    /// Packets of all sources.
    pub packets: u32,
    /// Payload of these packets, in bytes.
    pub bytes: u64,
}

/// Messages of a pair that its source named.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Names {
    /// By programs, when they posted.
    posted: u32,
    /// When they were begun.
    begun: u32,
}

/// What is to be done with a packet that is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// It is handed on now: it is next, or so late that others did not wait for it.
    Now,
    /// It came before others that were sent earlier.
    Early,
}

/// Adapters of a partition. Empty without `[adapter]`.
#[derive(Clone, PartialEq)]
pub struct Adapters<M: Mode> {
    /// By local terminal.
    rooms: Table<Room, M>,
    /// By source and destination.
    pairs: Map<Pair, M>,
    names: Map<Names, M>,
    held: Rows<Held, M>,
}

impl<M: Mode> Adapters<M> {
    /// Of so many terminals; of none without the section.
    #[must_use]
    pub fn new(terminals: usize) -> Self {
        Self {
            rooms: Table::new(terminals, Room::default()),
            pairs: Map::default(),
            names: Map::default(),
            held: Rows::default(),
        }
    }

    /// Shows every table to the engine.
    pub fn visit_journals(&mut self, visit: &mut dyn FnMut(&mut dyn Journal)) {
        visit(&mut self.rooms);
        self.pairs.visit_journals(visit);
        self.names.visit_journals(visit);
        visit(self.held.journal());
    }

    /// Number of the pair's next message that a program posts.
    pub fn post(&mut self, source: TerminalId, destination: TerminalId) -> u32 {
        let names = self.names.get(key(source, destination), 0).unwrap_or_default();
        self.names.set(key(source, destination), 0, Names { posted: names.posted + 1, ..names });
        names.posted
    }

    /// Number of the pair's next message that is begun: the same, since messages of a pair begin in the order of posts.
    pub fn begin(&mut self, source: TerminalId, destination: TerminalId) -> u32 {
        let names = self.names.get(key(source, destination), 0).unwrap_or_default();
        self.names.set(key(source, destination), 0, Names { begun: names.begun + 1, ..names });
        names.begun
    }

    fn pair(&self, p: &Packet) -> Pair {
        self.pairs.get(key(p.source(), p.destination), 0).unwrap_or_default()
    }

    fn set_pair(&mut self, p: &Packet, pair: Pair) {
        self.pairs.set(key(p.source(), p.destination), 0, pair);
    }

    /// Notes that a packet is complete; true if one that was sent later is so already.
    pub fn note(&mut self, p: &Packet) -> bool {
        let (mut pair, number) = (self.pair(p), p.id.number());
        let overtaken = pair.seen && before(number, pair.newest);
        if !overtaken {
            (pair.newest, pair.seen) = (number, true);
            self.set_pair(p, pair);
        }
        overtaken
    }

    /// Whether a packet must wait; one that need not is handed on.
    pub fn place(&mut self, p: &Packet) -> Place {
        let mut pair = self.pair(p);
        if pair.is_past(p) {
            return Place::Now;
        }
        if !pair.is_next(p) {
            return Place::Early;
        }
        pair.pass(p);
        self.set_pair(p, pair);
        Place::Now
    }

    /// The first held packet of a packet's pair leaves if it is next.
    pub fn release(&mut self, i: u32, p: &Packet) -> Option<Held> {
        self.leave(i, p, |pair, first| pair.is_next(first))
    }

    /// A packet's pair waits no longer for what is missing: the first held packet leaves if it was sent before this one; else this one is
    /// to be handed on.
    pub fn give_up(&mut self, i: u32, p: &Packet) -> Option<Held> {
        let left = self.leave(i, p, |_, first| before(first.id.number(), p.id.number()));
        if left.is_none() {
            let mut pair = self.pair(p);
            pair.pass(p);
            self.set_pair(p, pair);
        }
        left
    }

    fn leave(&mut self, i: u32, p: &Packet, may: impl FnOnce(&Pair, &Packet) -> bool) -> Option<Held> {
        let mut pair = self.pair(p);
        let first = pair.held.head;
        let held = *(!first.is_nil()).then(|| self.held.get(first)).filter(|h| may(&pair, &h.packet))?;
        pair.held.pop(&self.held);
        pair.pass(&held.packet);
        self.held.give(first);
        self.set_pair(p, pair);
        let room = self.rooms.edit(i);
        room.packets -= 1;
        room.bytes -= u64::from(held.packet.bytes);
        Some(held)
    }

    /// What the adapter of local terminal `i` holds.
    #[must_use]
    pub fn room(&self, i: u32) -> Room {
        *self.rooms.get(i)
    }

    /// The adapter of local terminal `i` holds a packet from now on.
    pub fn hold(&mut self, i: u32, packet: &Packet, since: Ps) {
        let mut pair = self.pair(packet);
        let row = self.held.take(Held { packet: *packet, since, next: HeldRow::NIL });
        let number = packet.id.number();
        let later = |all: &Self, at: HeldRow| before(number, all.held.get(at).packet.id.number());
        // Most come in order among themselves.
        if pair.held.is_empty() || !later(self, pair.held.tail) {
            pair.held.push(&mut self.held, row);
        } else if later(self, pair.held.head) {
            self.held.edit(row).next = pair.held.head;
            pair.held.head = row;
        } else {
            let earlier = pair.held.iter(&self.held).take_while(|&at| !later(self, at)).last();
            let earlier = earlier.expect("the first one was sent earlier");
            self.held.edit(row).next = self.held.get(earlier).next;
            self.held.edit(earlier).next = row;
        }
        self.set_pair(packet, pair);
        let room = self.rooms.edit(i);
        room.packets += 1;
        room.bytes += u64::from(packet.bytes);
    }

    /// Visits every packet that is held; in an order that depends on the past.
    pub fn each(&self, mut visit: impl FnMut(&Held)) {
        self.pairs.each(|_, _, pair| pair.held.iter(&self.held).for_each(|h| visit(self.held.get(h))));
    }

    /// What contradicts itself at the terminals of a partition, in their order.
    #[must_use]
    pub fn faults(&self, terminals: &[TerminalId]) -> Vec<String> {
        let mut faults = Vec::new();
        let mut found = base::sorted::SortedMap::<TerminalId, Room>::new();
        self.each(|h| {
            let room = found.entry(h.packet.destination).or_default();
            (room.packets, room.bytes) = (room.packets + 1, room.bytes + u64::from(h.packet.bytes));
        });
        for (terminal, &room) in terminals.iter().zip(self.rooms.rows()) {
            let there = found.get(terminal).copied().unwrap_or_default();
            if there != room {
                let (counted, there) = (room.packets, there.packets);
                faults.push(format!(
                    "the adapter of terminal {terminal} counts {counted} packets, {there} are there"
                ));
            }
        }
        self.pairs.each(|pair_key, _, pair| {
            let mut previous = pair.begun.then_some(pair.last);
            for packet in pair.held.iter(&self.held).map(|h| &self.held.get(h).packet) {
                let number = packet.id.number();
                if previous.is_some_and(|p| !before(p, number))
                    || key(packet.source(), packet.destination) != pair_key
                {
                    faults.push(format!("packet {} is held out of its place", packet.id));
                }
                previous = Some(number);
            }
            if !pair.held.is_empty() && pair.is_next(&self.held.get(pair.held.head).packet) {
                faults.push(format!("packet {} waits for nothing", self.held.get(pair.held.head).packet.id));
            }
        });
        faults.sort_unstable();
        faults
    }

    /// Adds the final state.
    pub fn add_state(&self, sum: &mut Fingerprint) {
        self.pairs.each(|key, _, p| {
            let flags = u64::from(p.seen) | u64::from(p.begun) << 1 | u64::from(p.inside) << 2;
            sum.add(
                39 << 32 | flags,
                key,
                u64::from(p.newest) << 32 | u64::from(p.last),
                u64::from(p.message),
            );
        });
        self.names.each(|key, _, n| sum.add(40 << 32, key, u64::from(n.posted), u64::from(n.begun)));
        self.each(|h| sum.add(41 << 32, h.packet.id.key(), h.since, u64::from(h.packet.bytes)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::PacketId;
    use base::rng::{Purpose, Stream};
    use engine::state::mode::Full;

    const TO: TerminalId = TerminalId::new(9);

    /// Messages of drawn lengths from drawn sources, numbered as terminals do it, up to the end of numbers and around it.
    fn sent(sources: u32, messages: u32, random: &mut Stream) -> Vec<Packet> {
        let mut numbers = vec![u32::MAX - 7; sources as usize];
        let mut all = Vec::new();
        for message in 0..messages {
            for (source, number) in (0..).zip(&mut numbers) {
                // Others take numbers of the source, too.
                *number = number.wrapping_add(random.below(3) as u32);
                let packets = 1 + random.below(4) as u32;
                for k in 0..packets {
                    let mut p = Packet {
                        id: PacketId::new(TerminalId::new(source), *number),
                        destination: TO,
                        bytes: 1 + random.below(100) as u32,
                        message,
                        message_packets: packets,
                        ..Packet::NONE
                    };
                    *number = number.wrapping_add(1);
                    if k == 0 {
                        p.signs.set(Signs::FIRST);
                    }
                    if k + 1 == packets {
                        p.signs.set(Signs::LAST);
                    }
                    all.push(p);
                }
            }
        }
        all
    }

    /// In whatever order packets come, each source's are handed on as they were sent, as soon as all earlier ones are there: a list of all that came says the same.
    #[test]
    fn any_order_becomes_that_of_the_source() {
        let mut random = Stream::new(5, Purpose::Test, 0);
        for case in 0..300 {
            let sources = 1 + case % 3;
            let all = sent(sources, 1 + case % 7, &mut random);
            let mut came = all.clone();
            for n in (1..came.len()).rev() {
                came.swap(n, random.below(n as u64 + 1) as usize);
            }
            let mut adapters = Adapters::<Full>::new(1);
            let mut passed: Vec<PacketId> = Vec::new();
            for (n, p) in came.iter().enumerate() {
                let later = |q: &&Packet| {
                    let at = |p: &Packet| all.iter().position(|o| o.id == p.id);
                    q.source() == p.source() && at(q) > at(p)
                };
                assert_eq!(adapters.note(p), came[..n].iter().any(|q| later(&q)), "{}", p.id);
                match adapters.place(p) {
                    Place::Early => adapters.hold(0, p, n as Ps),
                    Place::Now => {
                        passed.push(p.id);
                        while let Some(held) = adapters.release(0, p) {
                            assert!(held.since < n as Ps);
                            passed.push(held.packet.id);
                        }
                    }
                }
                assert_eq!(adapters.faults(&[TO]), [""; 0]);
                // The naive rule: all of which nothing earlier is missing.
                for source in (0..sources).map(TerminalId::new) {
                    let own = || all.iter().filter(|p| p.source() == source);
                    let here: Vec<_> =
                        own().take_while(|p| came[..=n].iter().any(|c| c.id == p.id)).map(|p| p.id).collect();
                    let on: Vec<_> = passed.iter().copied().filter(|id| id.source() == source).collect();
                    assert_eq!(on, here);
                }
                let held = n + 1 - passed.len();
                assert_eq!(adapters.room(0).packets as usize, held);
            }
            assert_eq!((passed.len(), adapters.room(0)), (all.len(), Room::default()));
        }
    }

    /// A gap that is given up is behind: what is missing passes when it comes, and what follows the end of the gap is in order again.
    #[test]
    fn a_gap_is_given_up() {
        let mut random = Stream::new(6, Purpose::Test, 0);
        let all = sent(1, 5, &mut random);
        let mut adapters = Adapters::<Full>::new(1);
        adapters.hold(0, &all[3], 1);
        adapters.hold(0, &all[2], 2);
        assert_eq!(adapters.release(0, &all[4]), None);
        assert_eq!(adapters.give_up(0, &all[5]).map(|h| h.packet.id), Some(all[2].id));
        assert_eq!(adapters.release(0, &all[4]).map(|h| h.packet.id), Some(all[3].id));
        assert_eq!((adapters.place(&all[0]), adapters.place(&all[1])), (Place::Now, Place::Now));
        assert_eq!(adapters.place(&all[4]), Place::Now);
        // Nothing is held before it: it is the end of the gap itself.
        adapters.hold(0, &all[7], 3);
        assert_eq!(adapters.give_up(0, &all[6]), None);
        assert_eq!(adapters.release(0, &all[6]).map(|h| h.packet.id), Some(all[7].id));
        assert_eq!(adapters.place(&all[5]), Place::Now);
        assert_eq!((adapters.room(0), adapters.place(&all[8])), (Room::default(), Place::Now));
    }
}
