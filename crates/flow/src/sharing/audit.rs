//! What `--check` keeps of flows in time: clocks of its own.
//!
//! An [`Audit`] hears what every flow asks for when it begins, and adds up what its share moves. So it knows of each flow that ends whether all of its
//! bytes are there, and no more, whatever the bundles' clocks and goals say.

use crate::fine_time::FineTime;

/// Most faults that are kept.
const MOST: usize = 16;

/// A bundle's share, and what it has moved.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Clock {
    share: f64,
    pub moved: f64,
    since: FineTime,
}

/// What is known of a flow.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Own {
    pub tag: u32,
    pub work: f64,
    pub until: FineTime,
    /// Its bundle, and what that had moved when it joined.
    pub joined: Option<(u32, f64)>,
    pub under_way: bool,
}

/// What the audit keeps beside the state.
#[derive(Clone, Debug, Default)]
pub(super) struct Audit {
    pub capacities: Vec<f64>,
    pub clocks: Vec<Clock>,
    pub flows: Vec<Own>,
    pub faults: Vec<String>,
    /// Solutions so far, and the solver's work when shares were last looked at.
    solutions: u64,
    looked: u64,
}

impl Audit {
    fn fault(&mut self, what: impl FnOnce() -> String) {
        if self.faults.len() < MOST {
            self.faults.push(what());
        }
    }

    fn clock(&mut self, bundle: u32) -> &mut Clock {
        if self.clocks.len() <= bundle as usize {
            self.clocks.resize(bundle as usize + 1, Clock::default());
        }
        &mut self.clocks[bundle as usize]
    }

    /// A link is added.
    pub fn links(&mut self, bandwidth: f64) {
        self.capacities.push(bandwidth);
    }

    /// A link has another bandwidth.
    pub fn link(&mut self, link: u32, bandwidth: f64) {
        self.capacities[link as usize] = bandwidth;
    }

    /// A flow begins, or goes on elsewhere with what is left.
    pub fn begins(&mut self, flow: u32, tag: u32, work: f64, until: FineTime) {
        if self.flows.len() <= flow as usize {
            self.flows.resize(flow as usize + 1, Own::default());
        }
        self.flows[flow as usize] = Own { tag, work, until, joined: None, under_way: true };
    }

    /// What a flow has not moved yet at a moment.
    pub fn left(&self, flow: u32, at: FineTime) -> f64 {
        let Own { work, joined, .. } = self.flows[flow as usize];
        let Some((bundle, before)) = joined else { return work };
        let Clock { share, moved, since } = self.clocks[bundle as usize];
        work - (moved + share * at.since(since) - before)
    }

    /// A flow's latency is over and it shares links from now on; `fresh`: nobody was in the bundle.
    pub fn joins(&mut self, flow: u32, bundle: u32, at: FineTime, fresh: bool) {
        if fresh {
            *self.clock(bundle) = Clock { since: at, ..Clock::default() };
        }
        let moved = self.clock(bundle).moved;
        let own = &mut self.flows[flow as usize];
        own.joined = Some((bundle, moved));
        let until = own.until;
        self.latent_until(flow, until, at);
    }

    fn latent_until(&mut self, flow: u32, until: FineTime, at: FineTime) {
        if until > at.simultaneous_until() || at > until.simultaneous_until() {
            self.fault(|| {
                format!("flow {flow} ends its latency at {} ps, not {}", at.rounded(), until.rounded())
            });
        }
    }

    /// A bundle's clock is brought to a moment; `share` is what it says of itself.
    pub fn moves(&mut self, bundle: u32, at: FineTime, share: f64) {
        let clock = self.clock(bundle);
        let known = std::mem::replace(&mut clock.since, at);
        clock.moved += clock.share * at.since(known);
        if clock.share.to_bits() != share.to_bits() {
            let was = clock.share;
            self.fault(|| format!("bundle {bundle} has a share of {share} B/s, its last solution was {was}"));
        }
    }

    /// A bundle has another share from a moment on.
    pub fn shares(&mut self, bundle: u32, at: FineTime, share: f64) {
        let clock = self.clock(bundle);
        let before = std::mem::replace(&mut clock.since, at);
        clock.moved += clock.share * at.since(before);
        clock.share = share;
    }

    /// True if shares are to be looked at after this solution: after the first ones, then whenever the solver has worked much more than a look costs.
    pub fn looks(&mut self, visits: u64, size: usize) -> bool {
        self.solutions += 1;
        let looks = self.solutions <= 64 || visits - self.looked >= 32 * size as u64;
        if looks {
            self.looked = visits;
        }
        looks
    }

    /// A flow is over, within `slack` seconds.
    pub fn ends(&mut self, flow: u32, tag: u32, at: FineTime, slack: f64) {
        let (own, left) = (self.flows[flow as usize], self.left(flow, at));
        self.flows[flow as usize].under_way = false;
        let clock = own.joined.map_or(Clock::default(), |(bundle, _)| self.clocks[bundle as usize]);
        let close = own.work * 1e-9 + clock.moved * 1e-12 + clock.share * (slack + 1e-15) + 1e-6;
        if own.tag != tag || !own.under_way {
            self.fault(|| format!("flow {flow} ends for message {tag}, it began for {}", own.tag));
        } else if own.joined.is_some() && clock.share.is_finite() && left.abs() > close {
            self.fault(|| format!("flow {flow} ends with {left} of {} B left", own.work));
        } else if own.joined.is_none() {
            self.latent_until(flow, own.until, at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Audit;

    /// The first 64 solutions are looked at whatever they cost, later ones when the solver has worked 32 times what a look costs.
    #[test]
    fn looks_are_as_rare_as_they_are_dear() {
        let mut audit = Audit::default();
        let first = (0..64).filter(|_| audit.looks(1000, 10)).count();
        assert_eq!(first, 64);
        let looks = [1000, 1319, 1320, 1321, 1639, 1640].map(|visits| audit.looks(visits, 10));
        assert_eq!(looks, [false, false, true, false, false, true]);
    }
}
