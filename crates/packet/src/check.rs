//! Checkers: every packet exactly once, credits conserved, no overfull buffer, order where it is promised.

use super::{
    effects::Wire,
    net::{Channel, Router},
    rows::Packet,
    state::PacketDomain,
    transport::Word,
};
use base::{
    index::{LinkId, TerminalId},
    time::Ps,
};
use engine::{agenda::Due, domain::Lane, key::Key};
use model::failure::Failure;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Which packets were handed over and delivered.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Ledger {
    in_order: bool,
    /// By packet: handed over minus delivered; absent when both happened once.
    open: BTreeMap<u64, i64>,
    /// With a transport: packets that counted, by pair, message, window and place.
    counted: BTreeMap<(u64, u32, u32), u32>,
    /// With a transport: messages that were complete, by pair and number.
    complete: BTreeMap<(u64, u32), u32>,
    /// What went wrong.
    pub faults: Vec<String>,
}

impl Ledger {
    /// An empty ledger; `in_order` if the chunks of a packet must arrive in order.
    #[must_use]
    pub fn new(in_order: bool) -> Self {
        Self { in_order, ..Self::default() }
    }

    fn add(&mut self, id: u64, by: i64) {
        let entry = self.open.entry(id).or_default();
        *entry += by;
        if *entry == 0 {
            self.open.remove(&id);
        }
    }

    /// A packet was handed over.
    pub fn created(&mut self, id: u64) {
        self.add(id, 1);
    }

    /// A packet was delivered.
    pub fn delivered(&mut self, p: &Packet) {
        self.add(p.id, -1);
        if p.delivered != p.chunks {
            self.faults
                .push(format!("packet {:x} is complete with {} of {} chunks", p.id, p.delivered, p.chunks));
        }
        if self.in_order && p.disordered {
            self.faults.push(format!("chunks of packet {:x} overtook each other on one route", p.id));
        }
    }

    /// A packet ended in another way.
    pub fn ended(&mut self, id: u64) {
        self.add(id, -1);
    }

    /// A packet counted as data of its message; in coding all of a generation have one word.
    pub fn counted(&mut self, p: &Packet, codes: bool) {
        let key = (p.id >> 32 << 32 | u64::from(p.destination), p.message, p.message_packets);
        let times = self.counted.entry(key).or_default();
        *times += 1;
        let word = Word(p.message_packets);
        let most = if codes { word.place() + 1 } else { 1 };
        if *times > most {
            let what = format!("window {} place {} of message {}", word.window(), word.place(), p.message);
            self.faults.push(format!("packet {:x}: {what} counted {times} times, {most} are right", p.id));
        }
    }

    /// A message between terminals was complete.
    pub fn completed(&mut self, source: TerminalId, destination: TerminalId, number: u32) {
        let times =
            self.complete.entry((u64::from(source) << 32 | u64::from(destination), number)).or_default();
        *times += 1;
        if *times > 1 {
            self.faults
                .push(format!("message {number} from {source} to {destination} was complete {times} times"));
        }
    }

    /// A packet was delivered by prediction.
    pub fn predicted(&mut self, id: u64) {
        self.add(id, -1);
    }

    /// Adds another partition's.
    pub fn merge(&mut self, other: Self) {
        for (id, by) in other.open {
            self.add(id, by);
        }
        self.counted.extend(other.counted);
        self.complete.extend(other.complete);
        self.faults.extend(other.faults);
    }

    /// Judges the whole run: `in_flight` packets may be open, each once.
    #[must_use]
    pub fn verdict(mut self, in_flight: u64) -> Vec<String> {
        for (id, by) in &self.open {
            if *by != 1 {
                self.faults.push(format!("packet {id:x} was delivered {} times too often", -by));
            }
        }
        let open = self.open.values().filter(|&&by| by == 1).count() as u64;
        if open != in_flight {
            self.faults.push(format!("{open} packets are missing, {in_flight} are in the network"));
        }
        self.faults
    }
}

/// A partition's pending events.
pub type Pending = Vec<(Lane, Key, Due<Wire>)>;

/// Counts, per (link, VC), who holds its buffer, and compares with its occupancy. Partitions must be settled.
///
/// # Errors
/// [`Failure::Invariant`] naming the first link whose books do not balance.
pub fn credits<R: Router>(domains: &[&PacketDomain<R>], pending: &[Pending], now: Ps) -> Result<(), Failure> {
    let mut books = Books::default();
    domains.iter().zip(pending).for_each(|(d, p)| books.merge(Books::of(d, p)));
    books.balance(now)
}

/// What a link's upstream port says of a virtual channel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Book {
    link: LinkId,
    vc: u8,
    occupancy: u32,
    capacity: u32,
    /// What contradicts the architecture's rules.
    fault: Option<String>,
}

/// The books of a partition's buffers, or of several partitions: plain data about links' numbers in the network.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Books {
    /// Chunks and credits that hold a buffer, by link and VC, wherever they are.
    held: BTreeMap<Channel, u64>,
    /// In the order of partitions and their ports.
    books: Vec<Book>,
}

impl Books {
    /// Of one partition, settled, with what is pending in it.
    #[must_use]
    pub fn of<R: Router>(domain: &PacketDomain<R>, pending: &Pending) -> Self {
        let (net, cx) = (&domain.state.net, &domain.cx);
        let mut found = Self::default();
        let mut add = |link: LinkId, vc: u8| *found.held.entry((link, vc)).or_default() += 1;
        for (u, line) in cx.local.lines.iter() {
            let port = net.ports.get(u);
            for f in port.flight.iter(&net.flights) {
                add(line.link, net.flights.get(f).vc);
            }
            for code in net.credits_of(u) {
                add(line.link, (code & 15) as u8);
            }
            R::held(net, cx, u, &mut |link, vc, _| add(link, vc));
        }
        for (_, _, due) in pending {
            match due {
                Due::Message(Wire::Chunk(t)) => add(t.link, t.vc),
                Due::Message(Wire::Credit { link, vc }) => add(*link, *vc),
                Due::Wake(_) | Due::Message(Wire::Ahead { .. } | Wire::Ack { .. } | Wire::Predicted(_)) => {}
            }
        }
        for (u, line) in cx.local.lines.iter() {
            let capacity = cx.net.timings[line.timing as usize].capacity;
            let inner = cx.local.is_routers(u);
            for vc in 0..cx.net.config.vcs {
                let occupancy = net.vcs.get(net.vcs_per_port(u) + u32::from(vc)).occupancy;
                let room = capacity.checked_sub(occupancy).filter(|_| inner);
                let fault = room.and_then(|room| R::fault(net, u, vc, room));
                found.books.push(Book { link: line.link, vc, occupancy, capacity, fault });
            }
        }
        found
    }

    /// Adds another partition's.
    pub fn merge(&mut self, other: Self) {
        for (channel, holders) in other.held {
            *self.held.entry(channel).or_default() += holders;
        }
        self.books.extend(other.books);
    }

    /// Compares, once all partitions' are there.
    ///
    /// # Errors
    /// [`Failure::Invariant`] naming the first link whose books do not balance.
    pub fn balance(&self, now: Ps) -> Result<(), Failure> {
        for Book { link, vc, occupancy, capacity, fault } in &self.books {
            let holders = self.held.get(&(*link, *vc)).copied().unwrap_or(0);
            let fault = if u64::from(*occupancy) != holders {
                format!("counts {occupancy} chunks, {holders} hold its buffer")
            } else if occupancy > capacity {
                format!("holds {occupancy} chunks, its buffer {capacity}")
            } else if let Some(fault) = fault {
                fault.clone()
            } else {
                continue;
            };
            return Err(Failure::Invariant(format!("at {now} ps link {link} VC {vc} {fault}")));
        }
        Ok(())
    }
}
