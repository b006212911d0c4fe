//! Bundles of one flow that is alone on its links: the solver hears of them when somebody joins them there.

use super::{FineTime, NONE, Route, Sharing};

impl Sharing {
    /// True if a flow of a route would meet nobody.
    pub(super) fn is_alone(&self, route: &Route) -> bool {
        #[cfg(test)]
        if self.together {
            return false;
        }
        !route.uses.is_empty()
            && route.uses.iter().all(|u| self.alone[u.0 as usize] == NONE && self.solver.is_idle(u.0))
    }

    /// A bundle that was aside on a link meets others there.
    pub(super) fn meet(&mut self, link: u32) {
        let bundle = self.alone[link as usize];
        if bundle != NONE {
            let b = &mut self.bundles[bundle as usize];
            debug_assert!(b.detached, "a link remembers only bundles that are detached");
            // From now on it is on its links as all others are, even if whoever joined it leaves again: going back and forth would cost more.
            b.detached = false;
            let uses = &self.routes[b.route as usize].uses;
            self.solver.attach(bundle, uses, b.share > 0.0);
            uses.iter().for_each(|u| self.alone[u.0 as usize] = NONE);
        }
    }

    /// Finds the shares of those that are aside since the last solution, and when they are over.
    pub(super) fn share_detached(&mut self, at: FineTime) {
        while let Some(bundle) = self.newly_detached.pop() {
            let b = &mut self.bundles[bundle as usize];
            if b.detached {
                debug_assert_eq!(b.goals.len(), 1, "a bundle that is detached is one flow");
                b.share = self.solver.share_detached(bundle, &self.routes[b.route as usize].uses);
                if let Some(audit) = &mut self.audit {
                    audit.shares(bundle, at, b.share);
                }
                let goal = b.goals.peek().map_or(0.0, |g| g.0.clock);
                let next = if b.share > 0.0 {
                    at.after((goal - b.clock).max(0.0) / b.share)
                } else {
                    FineTime::NEVER
                };
                self.moved.push((bundle, next));
            }
        }
    }
}
