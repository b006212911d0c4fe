//! The director: decisions taken at declared virtual times with the whole machine in view.

use crate::{
    agenda::Agenda,
    domain::{Domain, Effects, Lane, Observer},
    executor::{Executor, Stop},
    kept::{put, take},
    partition::Partition,
};
use base::{
    threads::{Optimism, Speculation},
    time::{NEVER, Ps},
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

/// What the network's clock does after a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Network {
    /// Leaves the clock of the network as it is.
    Keep,
    /// The clock stops: no network event happens until it resumes.
    Suspend,
    /// The clock goes on from where it stopped.
    Resume,
}

/// Takes decisions at ticks. A tick at t sees every event before t, everything settled, and nothing at t.
///
/// A partition only summarises and applies, from shared references, so that threads and ranks can do it side by side. Over ranks each rank has
/// a director of its own: all are given the same summary of all partitions, and must decide alike.
pub trait Director<D: Domain, O> {
    /// What a partition reports: integers, so that merging in any grouping gives one answer. Over ranks it travels.
    type Summary: Serialize + DeserializeOwned;
    /// What a partition is given.
    type Order: Copy;

    /// The next tick after `now`, [`NEVER`] for none.
    fn next_tick(&self, now: Ps) -> Ps;

    /// Reports what the decision needs of one partition; `agenda` holds what is under way to it.
    fn summarise(&self, now: Ps, domain: &D, observer: &mut O, agenda: &Agenda<D::Message>) -> Self::Summary;

    /// Merges two summaries; called in the order of partitions.
    fn merge(&self, left: Self::Summary, right: Self::Summary) -> Self::Summary;

    /// Decides; `None` stops the run. `dry` says that no event is pending anywhere.
    fn decide(&mut self, now: Ps, summary: Self::Summary, dry: bool) -> Option<(Network, Self::Order)>;

    /// Carries the order out in one partition; may schedule at or after the tick. Runs on the network lane, or on the
    /// steady one while the network is suspended.
    fn apply(&self, order: &Self::Order, domain: &mut D, effects: &mut impl Effects<D>);

    /// Hears what the engine did so far, at every tick and at the end. Where partitions run ahead it may say how far they do so from now on; no answer
    /// changes a result. `running` is what they go by, `None` for other schedulers.
    fn engine(&mut self, _counts: &EngineCounts, _running: Option<&Optimism>) -> Option<Optimism> {
        None
    }
}

/// What the engine did in this rank so far: no result, and different in every run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EngineCounts {
    /// Virtual time, in picoseconds.
    pub now: Ps,
    /// Events that count.
    pub events: u64,
    /// Windows or rounds after which threads met.
    pub windows: u64,
    /// Events handled ahead of what was certain, those taken back included; 0 for other schedulers, as all that follow.
    pub handled: u64,
    /// How often a partition went back.
    pub rollbacks: u64,
    /// Events taken back.
    pub rolled_back: u64,
    /// Most bytes that a thread kept to take events back.
    pub peak_history_bytes: u64,
    /// How far beyond the first event of all the threads went last, in picoseconds.
    pub ahead: Ps,
}

/// Slices of the time to the next tick in which a run without events does what was put off.
const SLICES: Ps = 64;

/// When a run pauses between two events, for whoever watches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pauses {
    /// After about so many events.
    pub budget: u64,
    /// At multiples of this virtual time; 0 for none.
    pub every: Ps,
}

impl Pauses {
    /// The run never pauses before its end.
    pub const NONE: Self = Self { budget: u64::MAX, every: 0 };

    /// False if the run never pauses.
    #[must_use]
    pub fn are_wanted(&self) -> bool {
        *self != Self::NONE
    }

    /// After about so many events.
    #[must_use]
    pub fn after(budget: u64) -> Self {
        Self { budget, ..Self::NONE }
    }
}

impl<D: Domain, O: Observer<D::Record>> Executor<D, O> {
    /// Runs to virtual time `end` with ticks in between, then settles. A run without pending events goes on to its next tick:
    /// only the director, the end or `pauses` stop it.
    ///
    /// Pauses change nothing. What [`Executor::save`] takes in one, together with the director, continues in another run: there
    /// the next tick after the pause is the same.
    pub fn run_directed<X: Director<D, O>>(
        &mut self,
        end: Ps,
        director: &mut X,
        pauses: Pauses,
        mut alive: impl FnMut(&mut Self, &X) -> bool,
    ) -> Stop {
        loop {
            let tick = director.next_tick(self.now()).min(end);
            assert!(tick > self.now() || tick == end, "ticks follow each other");
            let from = self.now();
            let stop = loop {
                // Multiples of `every`, whenever the run began: pauses of one that goes on are those of one that never stopped.
                let pause = self.now().checked_div(pauses.every).map_or(NEVER, |n| (n + 1) * pauses.every);
                // What is put off is much work without an event: it is done in slices, so that a pause is never far.
                let sliced = pauses.are_wanted() && tick < NEVER && self.puts_off();
                let slice = if sliced { self.now() + ((tick - from) / SLICES).max(1) } else { NEVER };
                match self.run_until(tick.min(pause).min(slice), pauses.budget) {
                    Stop::End if tick <= pause && tick <= slice => break Stop::End,
                    // A dry run has no use for pauses between events: it goes on to its tick.
                    Stop::Dry if tick <= slice => break self.stop_at(tick),
                    _ => {
                        if sliced {
                            self.settle();
                        }
                        if !alive(self, director) {
                            break Stop::Budget;
                        }
                    }
                }
            };
            if stop == Stop::Budget {
                return stop;
            }
            // What is lazy is done before anybody looks.
            self.settle();
            let counts = self.counts();
            if let Some(optimism) = director.engine(&counts, self.optimism()) {
                self.retune(optimism);
            }
            if tick == end {
                return stop;
            }
            let Some((network, order)) = self.tick(director, tick, stop == Stop::Dry) else {
                return Stop::End;
            };
            // First the clock, then the orders: they are carried out on the lane that runs from here on.
            self.switch(network, tick);
            for index in 0..self.partitions.len() {
                let suspended = self.partitions[index].agenda.is_suspended();
                let lane = if suspended { Lane::Steady } else { Lane::Network };
                self.act(index, lane, |domain, effects| director.apply(&order, domain, effects));
            }
            self.send_afar();
            if pauses.are_wanted() && !alive(self, director) {
                return Stop::Budget;
            }
        }
    }

    /// What the engine did so far.
    fn counts(&self) -> EngineCounts {
        let Speculation { handled, rollbacks, rolled_back, peak_bytes, ahead, .. } =
            self.speculation().unwrap_or_default();
        EngineCounts {
            now: self.now(),
            events: self.events(),
            windows: self.windows(),
            handled,
            rollbacks,
            rolled_back,
            peak_history_bytes: peak_bytes,
            ahead,
        }
    }

    fn tick<X: Director<D, O>>(
        &mut self,
        director: &mut X,
        now: Ps,
        dry: bool,
    ) -> Option<(Network, X::Order)> {
        debug_assert!(self.partitions.iter().all(|p| p.outbox.is_empty()), "nothing is on its way at a tick");
        let mut total = None;
        for part in &mut self.partitions {
            let summary = director.summarise(now, &part.domain, &mut part.observer, &part.agenda);
            total = Some(match total {
                None => summary,
                Some(left) => director.merge(left, summary),
            });
        }
        let total = self.of_all_ranks(director, total?);
        director.decide(now, total, dry)
    }

    /// The summary of all ranks' partitions, which every rank gets.
    fn of_all_ranks<X: Director<D, O>>(&self, director: &X, mine: X::Summary) -> X::Summary {
        let world = &self.ranks().world;
        if world.is_alone() {
            return mine;
        }
        let mut bytes = Vec::new();
        put(&mine, &mut bytes);
        let read = |bytes: Vec<u8>| take(&mut bytes.as_slice()).expect("a summary of the same build");
        // In the order of ranks, which is that of partitions.
        let all = world.all_bytes(&bytes).into_iter().map(read);
        all.reduce(|left, right| director.merge(left, right)).unwrap_or(mine)
    }

    fn switch(&mut self, network: Network, now: Ps) {
        for part in &mut self.partitions {
            match network {
                Network::Suspend => part.agenda.suspend(now),
                Network::Resume => part.agenda.resume(now),
                Network::Keep => {}
            }
        }
        let suspended = |p: &Partition<D, O>| p.agenda.is_suspended();
        debug_assert!(
            self.partitions.iter().all(|p| suspended(p) == suspended(&self.partitions[0])),
            "the network has one clock"
        );
    }
}

/// The director that never decides: a run without ticks.
impl<D: Domain, O> Director<D, O> for () {
    type Summary = ();
    type Order = ();
    fn next_tick(&self, _: Ps) -> Ps {
        NEVER
    }
    fn summarise(&self, _: Ps, _: &D, _: &mut O, _: &Agenda<D::Message>) {}
    fn merge(&self, (): (), (): ()) {}
    fn decide(&mut self, _: Ps, (): (), _: bool) -> Option<(Network, ())> {
        Some((Network::Keep, ()))
    }
    fn apply(&self, (): &(), _: &mut D, _: &mut impl Effects<D>) {}
}
