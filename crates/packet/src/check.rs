//! Checkers of buffers: credits conserved, none overfull.

use super::{
    effects::Wire,
    net::{Channel, Net, Router},
    places::LocalPort,
    rows,
    state::PacketDomain,
};
use base::{
    index::{ChannelId, LinkId},
    sorted::SortedMap,
    time::Ps,
};
use engine::{agenda::Due, domain::Lane, key::Key};
use model::failure::Failure;
use serde::{Deserialize, Serialize};

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
    vc: ChannelId,
    occupancy: u32,
    capacity: u32,
    /// What contradicts the architecture's rules.
    fault: Option<String>,
}

/// The books of a partition's buffers, or of several partitions: plain data about links' numbers in the network.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Books {
    /// Chunks and credits that hold a buffer, by link and VC, wherever they are.
    held: SortedMap<Channel, u64>,
    /// In the order of partitions and their ports.
    books: Vec<Book>,
}

/// What adaptive routings read of a port is what holds or wants its buffers.
fn backlog_fault<R: Router>(net: &Net<R>, u: LocalPort) -> Option<String> {
    let (counted, there) = (net.ports.get(u).backlog, net.occupancy(u).saturating_add(R::bufferless(net, u)));
    (counted != there).then(|| format!("counts a backlog of {counted} chunks, {there} are there"))
}

impl Books {
    /// Of one partition, settled, with what is pending in it.
    #[must_use]
    pub fn of<R: Router>(domain: &PacketDomain<R>, pending: &Pending) -> Self {
        let (net, cx) = (&domain.state.net, &domain.cx);
        let mut found = Self::default();
        let mut add = |link: LinkId, vc: ChannelId| *found.held.entry((link, vc)).or_default() += 1;
        for (u, line) in cx.local.lines.iter() {
            let port = net.ports.get(u);
            for f in port.flight.iter(&net.flights) {
                add(line.link, net.flights.get(f).vc);
            }
            for code in net.credits_of(u) {
                add(line.link, rows::channel_of(code));
            }
            R::held(net, cx, u, &mut |link, vc, _| add(link, vc));
        }
        for (_, _, due) in pending {
            match due {
                Due::Message(Wire::Chunk(t)) => add(t.link, t.vc),
                Due::Message(Wire::Credit { link, vc }) => add(*link, *vc),
                Due::Wake(_)
                | Due::Message(
                    Wire::Ahead { .. }
                    | Wire::Ack { .. }
                    | Wire::Notice { .. }
                    | Wire::Taken { .. }
                    | Wire::Predicted(_),
                ) => {}
            }
        }
        for (u, line) in cx.local.lines.iter() {
            let capacity = cx.net.timings[line.timing as usize].capacity;
            let inner = cx.local.is_routers(u);
            for (vc, v) in net.vcs_of(u) {
                let occupancy = net.vcs.get(v).occupancy;
                let capacity = R::bound(net, cx, u, capacity);
                let room = capacity.checked_sub(occupancy).filter(|_| inner);
                let fault = room.and_then(|room| R::fault(net, u, vc, room));
                let last = vc.number() + 1 == cx.net.config.vcs;
                let fault = fault.or_else(|| if last { backlog_fault(net, u) } else { None });
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
