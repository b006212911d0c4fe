//! Bandwidths that change while flows share them.

use super::{Bundle, FineTime, LinkChange, Sharing};
use std::cmp::Reverse;

impl Sharing {
    /// Changes to come; at most one call.
    pub fn schedule(&mut self, mut changes: Vec<LinkChange>) {
        debug_assert!(self.changes.is_empty(), "changes are given once");
        changes.sort_by_key(|c| Reverse(c.at));
        // Latest first: the next one is taken off the end.
        self.changes = changes;
        self.look_ahead();
    }

    /// A link gets another bandwidth; weights that depend on it change too.
    pub(super) fn change(&mut self, LinkChange { at, link, bandwidth }: LinkChange) {
        debug_assert!(bandwidth >= 0.0, "a bandwidth is not negative");
        let at = at.max(self.now);
        self.meet(link);
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
