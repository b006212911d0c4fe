//! Checkers of packets: each exactly once, with its payload, at its terminal; order where it is promised; and none lost on its way.

use super::{census::Census, rows::Packet, transport::Word};
use crate::identity::PacketId;
use base::{index::TerminalId, sorted::SortedMap};
use serde::{Deserialize, Serialize};

/// What is known of a packet in one partition, or in several.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Account {
    /// Handed over minus delivered.
    balance: i64,
    /// What it was handed over with minus what it was delivered with, see [`content`].
    content: i64,
    /// It began or ended in a way that does not tell its content.
    unknown: bool,
}

impl Account {
    fn is_closed(&self) -> bool {
        self.balance == 0 && (self.content == 0 || self.unknown)
    }
}

/// Payload and destination of a packet as one number, so that a difference of either shows. Terminals have 28 bits.
fn content(bytes: u32, destination: TerminalId) -> i64 {
    i64::from(destination.number()) << 32 | i64::from(bytes)
}

impl Account {
    /// Payload and destination of a packet that was handed over, unless nobody said.
    fn content(&self) -> Option<(u32, TerminalId)> {
        let (bytes, destination) = (self.content & 0xffff_ffff, self.content >> 32);
        (!self.unknown).then_some((bytes as u32, TerminalId::new(destination as u32)))
    }
}

/// Which packets were handed over and delivered.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Ledger {
    in_order: bool,
    /// Packets of a pair are delivered as they were sent, so the last one's number is kept here.
    turns: Option<SortedMap<(TerminalId, TerminalId), u32>>,
    /// By packet: absent when it was handed over and delivered once.
    open: SortedMap<PacketId, Account>,
    /// With a transport: packets that counted, by pair, message, window and place.
    counted: SortedMap<((TerminalId, TerminalId), u32, u32), u32>,
    /// With a transport: messages that were complete, by pair and number.
    complete: SortedMap<(TerminalId, TerminalId, u32), u32>,
    /// What went wrong.
    pub faults: Vec<String>,
}

impl Ledger {
    /// An empty ledger; `in_order` if the chunks of a packet must arrive in order.
    #[must_use]
    pub fn new(in_order: bool) -> Self {
        Self { in_order, ..Self::default() }
    }

    /// The same where adapters put packets of a pair in order, if `ordered`.
    #[must_use]
    pub fn with_turns(self, ordered: bool) -> Self {
        Self { turns: ordered.then(SortedMap::new), ..self }
    }

    fn add(&mut self, id: PacketId, by: Account) {
        let entry = self.open.entry(id).or_default();
        entry.balance += by.balance;
        entry.content += by.content;
        entry.unknown |= by.unknown;
        if entry.is_closed() {
            self.open.remove(&id);
        }
    }

    /// A packet was handed over to the network.
    pub fn handed_over(&mut self, id: PacketId, bytes: u32, destination: TerminalId) {
        self.add(id, Account { balance: 1, content: content(bytes, destination), unknown: false });
    }

    /// Packets of a message were handed over past the network; the first one's account has what all of them carry.
    pub fn bypassed(&mut self, id: PacketId, bytes: u64, packets: u32, destination: TerminalId) {
        self.whole(id, bytes, packets, destination, 1);
    }

    /// Packets that are predicted as one begin or end, by `balance`.
    fn whole(&mut self, id: PacketId, bytes: u64, packets: u32, to: TerminalId, balance: i64) {
        for n in 0..packets {
            let content = if n == 0 { balance * content(bytes as u32, to) } else { 0 };
            self.add(id.plus(n), Account { balance, content, unknown: false });
        }
    }

    /// A packet was delivered to a terminal.
    pub fn delivered(&mut self, p: &Packet, terminal: TerminalId) {
        self.add(p.id, Account { balance: -1, content: -content(p.bytes, p.destination), unknown: false });
        if p.destination != terminal {
            let to = p.destination;
            self.faults.push(format!("packet {} for terminal {to} arrived at terminal {terminal}", p.id));
        }
        if p.delivered != p.chunks {
            self.faults
                .push(format!("packet {} is complete with {} of {} chunks", p.id, p.delivered, p.chunks));
        }
        let number = p.id.number();
        let before = self.turns.as_mut().and_then(|turns| turns.insert((p.source(), terminal), number));
        if before.is_some_and(|before| number.wrapping_sub(before) as i32 <= 0) {
            self.faults.push(format!("packet {} was handed on after one that was sent later", p.id));
        }
        if self.in_order && p.disordered {
            self.faults.push(format!("chunks of packet {} overtook each other on one route", p.id));
        }
    }

    /// A packet ended in another way.
    pub fn ended(&mut self, id: PacketId) {
        self.add(id, Account { balance: -1, content: 0, unknown: true });
    }

    /// A packet counted as data of its message; in coding all of a generation have one word.
    pub fn counted(&mut self, p: &Packet, codes: bool) {
        let key = ((p.source(), p.destination), p.message, p.message_packets);
        let times = self.counted.entry(key).or_default();
        *times += 1;
        let word = Word(p.message_packets);
        let most = if codes { word.place() + 1 } else { 1 };
        if *times > most {
            let what = format!("window {} place {} of message {}", word.window(), word.place(), p.message);
            self.faults.push(format!("packet {}: {what} counted {times} times, {most} are right", p.id));
        }
    }

    /// A message between terminals was complete.
    pub fn completed(&mut self, source: TerminalId, destination: TerminalId, number: u32) {
        let times = self.complete.entry((source, destination, number)).or_default();
        *times += 1;
        if *times > 1 {
            self.faults
                .push(format!("message {number} from {source} to {destination} was complete {times} times"));
        }
    }

    /// Packets of a message were delivered by prediction.
    pub fn predicted(&mut self, id: PacketId, bytes: u64, packets: u32, destination: TerminalId) {
        self.whole(id, bytes, packets, destination, -1);
    }

    /// With a transport: packets of a message that counted, by its pair and number.
    #[must_use]
    pub fn counted_of(&self, key: u64, number: u32) -> u64 {
        let ends = (TerminalId::new((key >> 32) as u32), TerminalId::new(key as u32));
        let all = self.counted.range((ends, number, 0)..=(ends, number, u32::MAX));
        all.map(|(_, &times)| u64::from(times)).sum()
    }

    /// With a transport: messages of a pair that were complete.
    #[must_use]
    pub fn complete_of(&self, key: u64) -> u32 {
        let (from, to) = (TerminalId::new((key >> 32) as u32), TerminalId::new(key as u32));
        self.complete.range((from, to, 0)..=(from, to, u32::MAX)).count() as u32
    }

    /// Adds another partition's.
    pub fn merge(&mut self, other: Self) {
        for (id, account) in other.open {
            self.add(id, account);
        }
        if let (Some(mine), Some(theirs)) = (&mut self.turns, other.turns) {
            mine.extend(theirs);
        }
        self.counted.extend(other.counted);
        self.complete.extend(other.complete);
        self.faults.extend(other.faults);
    }

    /// Judges the whole run: `in_flight` packets may be open by the books, each once, and each must be found where packets can be.
    #[must_use]
    pub fn verdict(mut self, in_flight: u64, found: Option<&Census>) -> Vec<String> {
        for (id, account) in &self.open {
            match account.balance {
                1 => {}
                0 => self
                    .faults
                    .push(format!("packet {id} arrived with another payload or for another terminal")),
                by => self.faults.push(format!("packet {id} was delivered {} times too often", -by)),
            }
        }
        let open: SortedMap<PacketId, Option<(u32, TerminalId)>> = self
            .open
            .iter()
            .filter(|(_, account)| account.balance == 1)
            .map(|(&id, account)| (id, account.content()))
            .collect();
        let count = open.len() as u64;
        if count != in_flight {
            self.faults.push(format!("{count} packets are missing, {in_flight} are in the network"));
        }
        self.faults.extend(found.map(|census| census.faults(&open)).unwrap_or_default());
        self.faults
    }
}
