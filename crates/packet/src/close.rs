//! Closing a run: each partition reports what it leaves ([`Part`]), the parts are merged in the order of partitions, and one place decides.
//!
//! A part is plain data about the numbers that things have in the whole network, so it could come from another process: no partition
//! reads another's state. What a part must report is asked for beforehand ([`Asked`]).

use crate::{
    census::Census,
    check::Books,
    congestion_control::closing::Closing,
    ended::{Carried, Ended, Rested},
    finish,
    hybrid::conductor::{Conductor, Counts, ZombieCounts},
    identity::PacketId,
    measured::Measured,
    net::Router,
    network::Network,
    observe::Observer,
    sample::{self, More, Sample},
    setup::Setup,
    state::Inhabited,
    transport::check::Books as TransportBooks,
    verdict::Waits,
};
use base::{
    hash::Fingerprint,
    index::LinkId,
    sorted::SortedMap,
    time::{NEVER, Ps},
};
use engine::{executor::Stop, partition::Partition};
use model::failure::Failure;
use ranks::{programs, roster::Place, stuck::Standing};
use serde::{Deserialize, Serialize};

/// Where and how a run stopped.
#[derive(Clone, Copy, Debug)]
pub struct Ending {
    /// Virtual time at which it stopped.
    pub now: Ps,
    /// Why the engine stopped.
    pub stop: Stop,
    /// When it would have ended at the latest; `NEVER` for when all is done.
    pub end: Ps,
}

/// What parts report beside what every one reports.
#[derive(Clone, Copy, Debug)]
pub struct Asked {
    /// When the run stopped, virtual time.
    pub now: Ps,
    /// The books of all buffers, and where each packet is.
    pub books: bool,
    /// Who waits for whom.
    pub waits: bool,
}

/// What a partition leaves, or several.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Part {
    /// The network's clock stands still.
    suspended: bool,
    last: Sample,
    measured: Measured,
    counts: Counts,
    /// Hash of the final state of all that lives here.
    state: Fingerprint,
    /// Ids of zombies; some partitions may report the same one.
    zombies: Vec<PacketId>,
    copied: u64,
    discarded: u64,
    sent: SortedMap<LinkId, Carried>,
    rests: SortedMap<LinkId, Rested>,
    control: Option<Closing>,
    books: Option<Books>,
    census: Option<Census>,
    transport: Option<TransportBooks>,
    waits: Option<Waits>,
    standing: Standing,
    /// What is wrong with a rank's program.
    damage: Option<String>,
}

/// Walks along all lists of a partition.
///
/// # Panics
/// If one of them does not end.
pub fn walk<R: Router>(part: &Partition<Inhabited<R>, Observer>) {
    let (network, host) = (&part.domain.carrier, &part.domain.host);
    let _: Standing = host.standing();
    let _: Fingerprint = finish::state_hash(&[network], &[host], &[part.agenda.pending()]);
}

impl Part {
    /// Of one partition, settled.
    #[must_use]
    pub fn of<R: Router>(part: Partition<Inhabited<R>, Observer>, asked: Asked) -> Self {
        let (network, host) = (&part.domain.carrier, &part.domain.host);
        let pending = part.agenda.pending();
        let phase = network.state.surrogate.phase();
        let damaged = |(Place { job, rank, .. }, message): (Place, &str)| {
            format!("job number {job}, rank {rank}: {message}")
        };
        Self {
            suspended: part.agenda.is_suspended(),
            last: sample::take(&part.domain, &part.observer.sums, asked.now, More::default()),
            counts: Counts::of(&part.observer),
            zombies: network.zombies(&part.agenda),
            copied: phase.copied,
            discarded: phase.discarded,
            sent: finish::sent_by_link(&[network]),
            rests: finish::rests_by_link(&[network]),
            control: Closing::of(network, &pending),
            books: asked.books.then(|| Books::of(network, &pending)),
            census: asked.books.then(|| Census::of(network, &pending)),
            transport: if asked.books { TransportBooks::of(network, &pending) } else { None },
            waits: asked.waits.then(|| Waits::of(network)),
            standing: host.standing(),
            damage: host.damage().map(damaged),
            state: finish::state_hash(&[network], &[host], &[pending]),
            measured: part.observer.sums,
        }
    }

    /// Adds the next partition's.
    pub fn merge(&mut self, other: Self) {
        self.suspended |= other.suspended;
        self.last.merge(other.last);
        self.measured.merge(other.measured);
        self.counts.merge(other.counts);
        self.state.merge(other.state);
        self.zombies.extend(other.zombies);
        self.copied += other.copied;
        self.discarded += other.discarded;
        self.sent.extend(other.sent);
        self.rests.extend(other.rests);
        if let (Some(mine), Some(theirs)) = (&mut self.books, other.books) {
            mine.merge(theirs);
        }
        if let (Some(mine), Some(theirs)) = (&mut self.control, other.control) {
            mine.merge(theirs);
        }
        if let (Some(mine), Some(theirs)) = (&mut self.census, other.census) {
            mine.merge(theirs);
        }
        if let (Some(mine), Some(theirs)) = (&mut self.transport, other.transport) {
            mine.merge(theirs);
        }
        if let (Some(mine), Some(theirs)) = (&mut self.waits, other.waits) {
            mine.merge(theirs);
        }
        self.standing.merge(other.standing);
        self.damage = self.damage.take().or(other.damage);
    }

    /// Runs the final checks and says how the run of a setup ended, once all partitions' parts are there.
    ///
    /// # Errors
    /// A broken invariant, or a program that went wrong.
    pub fn decide(
        mut self,
        setup: &Setup,
        net: &Network,
        director: Conductor,
        ending: Ending,
    ) -> Result<Ended, Failure> {
        let Ending { now, stop, end } = ending;
        debug_assert!(now <= end, "no run goes on after its end");
        let dry = (stop == Stop::Dry && !self.suspended) || director.sampler.stuck;
        if let Some(books) = &self.books {
            books.balance(now)?;
            self.control.as_ref().map_or(Ok(()), |control| control.balance(now))?;
        }
        self.zombies.sort_unstable();
        self.zombies.dedup();
        let zombies = ZombieCounts {
            in_network: self.zombies.len() as u64,
            copied: self.copied,
            discarded: self.discarded,
        };
        let one_thread = setup.scheduling.threads().count <= 1;
        let mut fingerprint = self.state;
        let (sampler, hybrid) = director.close(now, self.counts, zombies, one_thread, &mut fingerprint)?;
        if let Some(damage) = self.damage {
            return Err(Failure::Setup(damage));
        }
        let waits = self.waits.filter(|_| dry || end < NEVER);
        self.last.lags.sort_unstable_by_key(|l| l.terminal);
        Ok(Ended {
            now,
            dry,
            last: self.last,
            sent: self.sent,
            rests: self.rests,
            control: self.control,
            census: self.census,
            transport: self.transport,
            samples: sampler.samples,
            loads: sampler.loads,
            half: sampler.half,
            hybrid,
            observer: self.measured,
            fingerprint,
            deadlock: waits.map(|w| w.cycle()).unwrap_or_default(),
            stuck: programs::stuck(&net.roster, self.standing),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        planted::{Run, run},
        pools::RowNumber,
        router::Tested,
        samples,
    };

    fn in_its_middle() -> Run<Tested> {
        run::<Tested>(&samples::dragonfly(72, "minimal", "constant", 1.0), 5_000_000)
    }

    #[test]
    fn lists_of_a_run_end() {
        in_its_middle().partitions.iter().for_each(walk);
    }

    /// As a forged checkpoint may have it: the last chunk on a link is followed by the first.
    #[test]
    #[should_panic(expected = "a list is a ring")]
    fn a_ring_among_flights_is_found() {
        let mut run = in_its_middle();
        let network = &mut run.partitions[0].domain.carrier.state.net;
        let list = network.ports.rows().iter().map(|port| port.flight).find(|list| !list.is_empty());
        let list = list.expect("chunks are on links at full load");
        let last = list.iter(&network.flights).last().expect("it is not empty");
        let first = list.iter(&network.flights).next().expect("it is not empty");
        assert!(network.flights.get(last).next.is_nil());
        network.flights.edit(last).next = first;
        run.partitions.iter().for_each(walk);
    }
}
