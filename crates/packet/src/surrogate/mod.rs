//! Packets that bypass the network: state. Rules and invariants are in `hybrid/HYBRID.md`.
//!
//! `switch.rs` turns partitions from the network to the surrogate and back, `bypass.rs` hands over past the network, `by_tick.rs` does the same
//! without events where nobody answers.

mod by_tick;
mod bypass;
#[cfg(test)]
mod planted;
mod switch;

pub use switch::Switch;

use super::network::Network;
use crate::hybrid::{predicted::Predicted, queues::SLOWNESS, size::SizeClass};
use base::time::Ps;
use engine::state::{Journal, Table, mode};
use serde::{Deserialize, Serialize};

/// Who delivers what is handed over now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Mode {
    /// The network delivers: packets are simulated chunk by chunk.
    Fidelity,
    /// Prediction delivers; the network is bypassed.
    Surrogate,
    /// Prediction; copies fill the network.
    Reheat,
}

/// Where the run stands: one row.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Phase {
    /// Whether network or prediction delivers now.
    pub mode: Mode,
    /// The network's clock stands still.
    pub suspended: bool,
    /// Virtual time minus the network's, while it runs.
    pub offset: Ps,
    /// Intervals of [`Surrogate::ghosts`] in use.
    pub ghosts: u32,
    /// Rows of [`Surrogate::held`] in use.
    pub held: u32,
    /// Copies put into the network here.
    pub copied: u64,
    /// Zombies discarded here.
    pub discarded: u64,
}

/// How fast a terminal hands over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Pace {
    /// When it last handed something over.
    last: Ps,
    /// Not before this instant.
    next: Ps,
    /// Alarm that is set, 0 for none.
    due: Ps,
    /// Sum of the times between hand-overs of which the second waited.
    sum: u64,
    /// Remainder of the last division of it.
    rest: u32,
    /// How many there are of them.
    count: u32,
    /// Link time of what was handed over last.
    link: Ps,
    /// Link times before those times between hand-overs.
    links: u64,
    /// Of messages so far.
    size: Sizes,
}

/// Sizes of a source's messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
enum Sizes {
    #[default]
    None,
    One(SizeClass),
    Several,
}

impl Sizes {
    fn add(&mut self, size: SizeClass) {
        *self = match *self {
            Self::None => Self::One(size),
            Self::One(one) if one == size => *self,
            _ => Self::Several,
        };
    }
}

/// State of the surrogate.
#[derive(Clone, PartialEq)]
pub struct Surrogate<M: mode::Mode> {
    /// Where the run stands: one row, number 0.
    pub phase: Table<Phase, M>,
    /// By terminal; empty unless the run is hybrid.
    pub paces: Table<Pace, M>,
    /// Intervals of network time in which zombies were created, ascending.
    pub ghosts: Table<(Ps, Ps), M>,
    /// Packets that are not due yet, where deliveries are no events.
    pub held: Table<(Ps, Predicted), M>,
}

impl<M: mode::Mode> Surrogate<M> {
    /// In high fidelity.
    #[must_use]
    pub fn new(net: &Network, terminals: usize) -> Self {
        let phase = Phase {
            mode: Mode::Fidelity,
            suspended: false,
            offset: 0,
            ghosts: 0,
            held: 0,
            copied: 0,
            discarded: 0,
        };
        Self {
            phase: Table::new(1, phase),
            paces: Table::new(if net.hybrid.is_some() { terminals } else { 0 }, Pace::default()),
            ghosts: Table::from(Vec::new()),
            held: Table::from(Vec::new()),
        }
    }

    /// Shows the tables inside.
    pub fn visit_journals(&mut self, visit: &mut dyn FnMut(&mut dyn Journal)) {
        visit(&mut self.phase);
        visit(&mut self.paces);
        visit(&mut self.ghosts);
        visit(&mut self.held);
    }

    /// Where the run stands.
    #[inline]
    #[must_use]
    pub fn phase(&self) -> &Phase {
        self.phase.get(0)
    }

    /// True for packets that were created at an instant of network time that makes them zombies.
    #[inline]
    #[must_use]
    pub fn is_zombie(&self, created: Ps) -> bool {
        let used = self.phase().ghosts as usize;
        if used == 0 {
            return false;
        }
        let rows = &self.ghosts.rows()[..used];
        // Intervals ascend and do not overlap: the last that begins before decides alone.
        let after = rows.partition_point(|g| g.0 <= created);
        after > 0 && created < rows[after - 1].1
    }

    /// Packets that are not due yet.
    #[must_use]
    pub fn held(&self) -> &[(Ps, Predicted)] {
        &self.held.rows()[..self.phase().held as usize]
    }

    /// What contradicts itself, between two events.
    #[must_use]
    pub fn faults(&self) -> Vec<String> {
        let (phase, mut faults) = (self.phase(), Vec::new());
        if phase.suspended && phase.mode == Mode::Fidelity {
            faults.push("the network delivers and stands still".to_owned());
        }
        let intervals = &self.ghosts.rows()[..phase.ghosts as usize];
        let ascend = intervals.windows(2).all(|pair| pair[0].1 <= pair[1].0);
        if !ascend || intervals.iter().any(|interval| interval.0 > interval.1) {
            faults.push("intervals of zombies overlap".to_owned());
        }
        for (due, packet) in self.held() {
            if *due < packet.created || packet.packets == 0 {
                faults.push(format!("packet {} is to arrive before it was sent, or is none", packet.id));
            }
        }
        faults
    }

    /// Adds an interval of zombies.
    fn add_ghosts(&mut self, interval: (Ps, Ps)) {
        let used = self.phase().ghosts;
        debug_assert!(interval.0 <= interval.1, "an interval ends after it begins");
        debug_assert!(
            used == 0 || self.ghosts.get(used - 1).1 <= interval.0,
            "intervals ascend and do not overlap"
        );
        // Undo takes back how many are in use, not the rows: a row may be there already.
        if (used as usize) < self.ghosts.len() {
            *self.ghosts.edit(used) = interval;
        } else {
            self.ghosts.grow(interval);
        }
        self.phase.edit(0).ghosts = used + 1;
    }

    /// Puts a packet aside as number `used` of those in use.
    #[inline]
    fn hold(&mut self, used: u32, due: Ps, packet: Predicted) {
        debug_assert!(due >= packet.created, "nothing arrives before it is sent");
        if (used as usize) < self.held.len() {
            *self.held.edit(used) = (due, packet);
        } else {
            self.held.grow((due, packet));
        }
    }
}

impl Pace {
    /// When the last packet is handed over, and when it has left, in time of a network that was suspended for so long. A message that bypassed the network as one keeps its
    /// source until then, maybe longer than the stay.
    #[inline]
    #[must_use]
    pub fn kept(&self, suspended: Ps) -> (Ps, Ps) {
        let last = self.last.saturating_sub(suspended);
        (last, last + self.link)
    }

    /// High fidelity hands over at `now`; the packet has been there since `ready`.
    #[inline]
    pub fn learn(&mut self, now: Ps, ready: Ps, size: SizeClass, link: Ps) {
        debug_assert!(now >= self.last, "a source hands over in the order of time");
        // Only packets that had to wait show how fast the network takes them; others came when they pleased.
        if ready <= self.last && self.last > 0 {
            self.sum += now - self.last;
            self.links += self.link;
            self.count += 1;
        }
        (self.last, self.link) = (now, link);
        self.size.add(size);
    }

    /// Its sum, longer by `slowness`.
    #[inline]
    fn sum_at(&self, slowness: u64) -> u64 {
        ((u128::from(self.sum) * u128::from(slowness)) >> SLOWNESS) as u64
    }

    /// What a packet of link time `free` takes of a source that was held back and has packets of several sizes: each as much longer than its link time as
    /// they took together.
    #[inline]
    fn share(&self, free: Ps, slowness: u64) -> Option<Ps> {
        let several = self.size == Sizes::Several && self.links > 0;
        several.then(|| (u128::from(free) * u128::from(self.sum_at(slowness)) / u128::from(self.links)) as Ps)
    }

    /// Time to the next hand-over after what takes `free` of a link: the mean, longer by `slowness`, or `free` of a source that never waited.
    #[inline]
    fn step(&mut self, free: Ps, slowness: u64) -> Ps {
        if self.count == 0 {
            return free;
        }
        if let Some(share) = self.share(free, slowness) {
            return share;
        }
        let (total, count) = (self.sum_at(slowness) + u64::from(self.rest), u64::from(self.count));
        // The remainder goes on to the next step, so that the mean is exact in the long run and no float is needed.
        self.rest = (total % count) as u32;
        debug_assert!(u64::from(self.rest) < count, "what is left over is less than a share");
        total / count
    }
}
