//! Bandwidths, latencies and states of links that change while flows share them.

use super::{Bundle, FineTime, LinkChange, Sharing, link_change::Change};
use std::cmp::Reverse;

impl Sharing {
    /// Changes to come; at most one call. Of changes at one instant the last that is given holds.
    pub fn schedule(&mut self, mut changes: Vec<LinkChange>) {
        debug_assert!(self.changes.is_empty(), "changes are given once");
        // Latest first: the next one is taken off the end. So are those of one instant, in the order in which they are given.
        changes.reverse();
        changes.sort_by_key(|c| Reverse(c.at));
        self.changes = changes;
        self.look_ahead();
    }

    /// A link changes; it may be known when it does so again.
    pub(super) fn change(&mut self, change: LinkChange) {
        let LinkChange { at, link, what, every } = change;
        if let Some(every) = every {
            let next = LinkChange { at: at.after(every), ..change };
            // Of changes at one instant those that are known first come first: the list begins with the last.
            let place = self.changes.partition_point(|c| c.at > next.at);
            self.changes.insert(place, next);
        }
        let at = at.max(self.now);
        match what {
            Change::Latency(latency) => self.change_latency(at, link, latency),
            Change::Bandwidth(bandwidth) => match self.down.get_mut(&link) {
                Some(kept) => *kept = bandwidth,
                None => self.change_bandwidth(at, link, bandwidth),
            },
            Change::Up(true) => {
                if let Some(bandwidth) = self.down.remove(&link) {
                    self.change_bandwidth(at, link, bandwidth);
                }
            }
            Change::Up(false) => {
                let bandwidth = self.solver.capacity(link);
                if let base::sorted::Entry::Vacant(entry) = self.down.entry(link) {
                    entry.insert(bandwidth);
                    self.change_bandwidth(at, link, 0.0);
                }
            }
        }
    }

    /// A link gets another latency: routes over it are as much longer, and weights and windows of their flows follow. A flow that waits for its latency
    /// waits as long as it was to.
    fn change_latency(&mut self, at: FineTime, link: u32, latency: f64) {
        debug_assert!(latency >= 0.0, "a latency is not negative");
        let longer = latency - std::mem::replace(&mut self.latencies[link as usize], latency);
        for route in 0..self.routes.len() {
            let row = &self.routes[route];
            let parts = row.parts.iter().copied().chain(std::iter::repeat(1.0));
            let part: f64 = row.links.iter().zip(parts).filter(|l| *l.0 == link).map(|l| l.1).sum();
            if part == 0.0 {
                continue;
            }
            self.routes[route].latency = (self.routes[route].latency + part * longer).max(0.0);
            for n in 0..self.routes[route].bundles.len() {
                self.stretch(at, self.routes[route].bundles[n]);
            }
        }
    }

    /// Gives a flow the cap of its route's present latency, which may have become another since it began.
    #[inline]
    pub(super) fn cap_again(&mut self, flow: u32) -> f64 {
        let f = &mut self.flows[flow as usize];
        f.cap = f.held.min(self.rules.windowed(self.routes[f.route as usize].latency));
        f.cap
    }

    /// Gives a bundle the weight and the cap of its route's present latency. What its links held it back to when it began stays.
    fn stretch(&mut self, at: FineTime, bundle: u32) {
        let &Bundle { route, detached, .. } = &self.bundles[bundle as usize];
        if detached {
            self.meet(self.routes[route as usize].uses[0].0);
        }
        self.touch(bundle, at);
        let row = &self.routes[route as usize];
        let weight = self.rules.weight(row.latency, self.bandwidths(row));
        let windowed = self.rules.windowed(row.latency);
        let b = &mut self.bundles[bundle as usize];
        let cap = b.held.min(windowed);
        (b.weight, b.cap) = (weight, cap);
        self.solver.set_weight(bundle, weight);
        self.solver.set_cap(bundle, self.limited(route, cap));
    }

    /// A link gets another bandwidth; weights that depend on it change too.
    fn change_bandwidth(&mut self, at: FineTime, link: u32, bandwidth: f64) {
        debug_assert!(bandwidth >= 0.0, "a bandwidth is not negative");
        self.meet(link);
        self.bandwidth_changes += 1;
        self.solver.set_capacity(link, bandwidth);
        self.audit(|audit| audit.link(link, bandwidth));
        if self.is_pipe(link) {
            self.limit_again(at, link);
        }
        if !self.rules.weighted || self.rules.scale == 0.0 || bandwidth == 0.0 {
            return;
        }
        for bundle in self.bundles_over(link) {
            let row = &self.routes[self.bundles[bundle as usize].route as usize];
            if !row.links.contains(&link) {
                continue;
            }
            let weight = self.rules.weight(row.latency, self.bandwidths(row));
            self.touch(bundle, at);
            self.bundles[bundle as usize].weight = weight;
            self.solver.set_weight(bundle, weight);
        }
    }

    /// Bundles that use a link. Of a fat pipe the solver knows nothing, so all routes are looked at.
    fn bundles_over(&self, link: u32) -> Vec<u32> {
        if !self.is_pipe(link) {
            return self.solver.sharers_of(link).collect();
        }
        let over = self.routes.iter().filter(|route| route.pipes.iter().any(|p| p.0 == link));
        over.flat_map(|route| &route.bundles).copied().collect()
    }

    /// A fat pipe has another bandwidth: what its flows may get changes.
    fn limit_again(&mut self, at: FineTime, link: u32) {
        for bundle in self.bundles_over(link) {
            let &Bundle { route, cap, detached, .. } = &self.bundles[bundle as usize];
            if detached {
                self.meet(self.routes[route as usize].uses[0].0);
            }
            self.touch(bundle, at);
            self.solver.set_cap(bundle, self.limited(route, cap));
        }
    }
}
