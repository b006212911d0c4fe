//! The director: decisions taken at declared virtual times with the whole machine in view.

use crate::{
    domain::{Domain, Lane, Observer},
    executor::{Executor, Live, Stop},
};
use base::time::{NEVER, Ps};

/// What the network's clock does after a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Network {
    /// Nothing changes.
    Keep,
    /// The clock stops: no network event happens until it resumes.
    Suspend,
    /// The clock goes on from where it stopped.
    Resume,
}

/// Takes decisions at ticks. A tick at t sees every event before t and none at t.
pub trait Director<D: Domain, O> {
    /// What a partition tells: integers, so that merging in any grouping gives one answer.
    type Summary;

    /// The next tick after `now`, [`NEVER`] for none.
    fn next_tick(&mut self, now: Ps) -> Ps;

    /// Tells what the decision needs of one partition.
    fn summarise(&mut self, now: Ps, domain: &mut D, observer: &mut O) -> Self::Summary;

    /// Merges two summaries; called in the order of partitions.
    fn merge(&mut self, left: Self::Summary, right: Self::Summary) -> Self::Summary;

    /// Decides. Stopping the run is a decision too: `None`.
    fn decide(&mut self, now: Ps, summary: Self::Summary) -> Option<Network>;

    /// Carries the decision out in one partition; may schedule at or after the tick. Runs on the network lane, or on the
    /// steady one while the network is suspended.
    fn apply(&mut self, domain: &mut D, effects: &mut Live<'_, D, O>);
}

impl<D: Domain, O: Observer<D::Record>> Executor<D, O> {
    /// Runs to virtual time `end` with ticks in between. `alive` is asked every `budget` events and may stop the run.
    pub fn direct<X: Director<D, O>>(
        &mut self,
        end: Ps,
        director: &mut X,
        budget: u64,
        mut alive: impl FnMut(&Self) -> bool,
    ) -> Stop {
        let mut suspended_at = None;
        loop {
            let tick = director.next_tick(self.now()).min(end);
            let stop = loop {
                match self.run_until(tick, budget) {
                    Stop::Budget if alive(self) => {}
                    stop => break stop,
                }
            };
            if stop == Stop::Budget || tick == NEVER || tick >= end {
                return stop;
            }
            if stop == Stop::Dry && suspended_at.is_none() {
                return stop;
            }
            let Some(network) = self.tick(director, tick) else { return Stop::End };
            self.switch(network, tick, &mut suspended_at);
            let lane = if suspended_at.is_some() { Lane::Steady } else { Lane::Network };
            for index in 0..self.partitions.len() {
                self.act(index, lane, |domain, effects| director.apply(domain, effects));
            }
        }
    }

    fn tick<X: Director<D, O>>(&mut self, director: &mut X, now: Ps) -> Option<Network> {
        let mut total = None;
        for part in &mut self.partitions {
            let summary = director.summarise(now, &mut part.domain, &mut part.observer);
            total = Some(match total {
                None => summary,
                Some(left) => director.merge(left, summary),
            });
        }
        director.decide(now, total?)
    }

    fn switch(&mut self, network: Network, now: Ps, suspended_at: &mut Option<Ps>) {
        for part in &mut self.partitions {
            match (network, *suspended_at) {
                (Network::Suspend, None) => part.agenda.suspend(),
                (Network::Resume, Some(since)) => part.agenda.resume(now - since),
                (Network::Keep, _) => {}
                (order, _) => panic!("the director ordered {order:?} twice"),
            }
        }
        match network {
            Network::Suspend => *suspended_at = Some(now),
            Network::Resume => *suspended_at = None,
            Network::Keep => {}
        }
    }
}
