//! Flows with rates of their own in one bundle, as long as none of these rates is what holds them back.
//!
//! A link on which thousands of flows meet gives each far less than most may take. Were each a bundle by itself, each change would be a new share for
//! all of them. In a pool they have one; whoever's rate is less than a new share leaves it, and shares are found once more. Who has less than its
//! rate again joins a pool at the next solution.

use super::{FineTime, Flow, NONE, Own, Sharing};
use std::cmp::Reverse;

impl Sharing {
    /// Finds shares until no flow has more than its own rate.
    pub(super) fn share_pools(&mut self, at: FineTime) {
        debug_assert!(self.listed.is_empty() && self.moved.is_empty(), "a solution begins");
        self.join_pools(at);
        let mut looked = 0;
        loop {
            self.share_detached(at);
            self.listed.extend_from_slice(self.solver.solve());
            for n in looked..self.listed.len() {
                self.give_share(self.listed[n], at);
            }
            // All have their shares before the first flow leaves a pool.
            let mut again = false;
            for n in looked..self.listed.len() {
                again |= self.let_out(self.listed[n], at);
            }
            looked = self.listed.len();
            if !again {
                break;
            }
        }
        for n in 0..self.listed.len() {
            let bundle = self.listed[n];
            self.moved.push((bundle, self.next_end(bundle, at)));
            self.may_join(bundle);
        }
    }

    /// A bundle has the share that was found for it.
    #[inline]
    pub(super) fn give_share(&mut self, bundle: u32, at: FineTime) {
        self.touch(bundle, at);
        let share = self.solver.share(bundle);
        self.bundles[bundle as usize].share = share;
        self.audit(|audit| audit.shares(bundle, at, share));
    }

    /// A bundle of a route, but one, that a flow with a rate of its own can join: that rate is above the share, and what keeps the share down is a
    /// link.
    pub(super) fn with_room(&self, route: u32, own: f64, weight: f64, but: u32) -> Option<u32> {
        // What the slowest link was when a flow began holds it for ever: where bandwidths change flows of a route are not alike.
        if own.is_infinite() || self.bandwidth_changes > 0 {
            return None;
        }
        let room = |b: &&u32| {
            if **b == but {
                return false;
            }
            let b = &self.bundles[**b as usize];
            let below = b.share > 0.0 && b.share < own && b.share < b.cap;
            below && !b.detached && b.weight.to_bits() == weight.to_bits()
        };
        self.routes[route as usize].bundles.iter().find(room).copied()
    }

    /// Makes a pool of a bundle: no rate of its flows is its cap any more. Those that have one are remembered.
    pub(super) fn pool(&mut self, bundle: u32) {
        let route = self.bundles[bundle as usize].route;
        let slowest = self.slowest(route);
        let held = self.rules.cap(0.0, slowest, None, 1.0);
        let cap = held.min(self.rules.windowed(self.routes[route as usize].latency));
        let b = &mut self.bundles[bundle as usize];
        debug_assert!(!b.detached, "who is aside is one flow");
        if b.held.to_bits() == held.to_bits() && b.cap.to_bits() == cap.to_bits() {
            return;
        }
        debug_assert!(b.own.is_empty(), "what is no pool has one cap for all");
        (b.held, b.cap) = (held, cap);
        let flows = &self.flows;
        let limited =
            b.goals.iter().map(|g| (g.0.flow, &flows[g.0.flow as usize])).filter(|f| f.1.own.is_finite());
        b.own = limited.map(|(number, flow)| Reverse(Own::new(flow.own, flow.order, number))).collect();
        let cap = self.limited(route, cap);
        self.solver.set_cap(bundle, cap);
    }

    /// Remembers the rate of a flow that joined a pool.
    pub(super) fn remember(&mut self, bundle: u32, flow: u32) {
        let f = &self.flows[flow as usize];
        let b = &mut self.bundles[bundle as usize];
        // Where a window gives both less than either may take by itself, that ends with another latency: caps alone do not say it.
        if f.own.is_infinite() || [f.cap, f.held].map(f64::to_bits) == [b.cap, b.held].map(f64::to_bits) {
            return;
        }
        debug_assert!(b.share < f.own, "who joins a pool could take more than its share");
        b.own.push(Reverse(Own::new(f.own, f.order, flow)));
        // Those that are over go when their turn comes; where they are most they go at once.
        if b.own.len() > 2 * b.goals.len() + 64 {
            let flows = &self.flows;
            b.own.retain(|own| is_in(flows, bundle, &own.0));
        }
    }

    /// Flows of a bundle whose share is more than they may take leave it. True if there are some.
    fn let_out(&mut self, bundle: u32, at: FineTime) -> bool {
        let b = &mut self.bundles[bundle as usize];
        let mut out: Vec<(u64, u32)> = Vec::new();
        while let Some(&Reverse(own)) = b.own.peek() {
            let stays = is_in(&self.flows, bundle, &own);
            if stays && own.rate() >= b.share {
                break;
            }
            b.own.pop();
            if stays {
                out.push((own.order, own.flow));
            }
        }
        if out.is_empty() {
            return false;
        }
        self.move_out(bundle, &mut out, at, false);
        true
    }

    /// Notes that a bundle of one rate has less than that: it may join others of its route before the next solution.
    #[inline]
    fn may_join(&mut self, bundle: u32) {
        let b = &self.bundles[bundle as usize];
        if b.share < b.cap && b.cap.is_finite() && b.own.is_empty() && self.bandwidth_changes == 0 {
            let limited = b.goals.peek().is_some_and(|g| self.flows[g.0.flow as usize].own.is_finite());
            if limited && self.routes[b.route as usize].bundles.len() > 1 {
                self.joining.push(bundle);
            }
        }
    }

    /// Bundles of one rate, which is not what holds them back any more, join a pool of their routes.
    fn join_pools(&mut self, at: FineTime) {
        let mut joining = std::mem::take(&mut self.joining);
        for bundle in joining.drain(..) {
            let b = &self.bundles[bundle as usize];
            let first = b.goals.peek().map(|g| &self.flows[g.0.flow as usize]);
            let Some(flow) = first.filter(|_| b.own.is_empty() && !b.detached && b.share < b.cap) else {
                continue;
            };
            let other = self.with_room(b.route, flow.own, b.weight, bundle);
            if flow.own.is_finite() && flow.cap.to_bits() == b.cap.to_bits() && other.is_some() {
                let mut all: Vec<_> = b.goals.iter().map(|g| (g.0.order, g.0.flow)).collect();
                self.touch(bundle, at);
                self.move_out(bundle, &mut all, at, true);
            }
        }
        self.joining = joining;
    }

    /// Flows of a bundle, by the order in which they began, go on in others of their route. `pools`: such as have other rates too.
    fn move_out(&mut self, bundle: u32, out: &mut [(u64, u32)], at: FineTime, pools: bool) {
        let b = &mut self.bundles[bundle as usize];
        debug_assert!(b.since == at, "a bundle's clock is at the moment of its share");
        let (clock, route) = (b.clock, b.route);
        // All goals are looked at once, however many flows leave.
        out.iter().for_each(|o| self.flows[o.1 as usize].bundle = NONE);
        let mut goals = std::mem::take(&mut b.goals);
        goals.retain(|Reverse(goal)| {
            let flow = &mut self.flows[goal.flow as usize];
            if flow.bundle != NONE {
                return true;
            }
            let left = (goal.clock - clock).max(0.0);
            let done = std::mem::replace(&mut flow.work, left) - left;
            self.usage.count(goal.flow, self.routes[route as usize].used(), done);
            self.usage.begins(goal.flow);
            false
        });
        self.bundles[bundle as usize].goals = goals;
        self.leave(bundle, out.len() as u32);
        out.sort_unstable();
        for &(_, flow) in out.iter() {
            self.audit_diverted(flow, at);
            self.cap_again(flow);
            self.seat(flow, at, pools);
        }
    }

    /// Rates of a pool's flows, for checks.
    pub(super) fn own_rates(&self, bundle: u32) -> impl Iterator<Item = f64> {
        let own = self.bundles[bundle as usize].own.iter();
        own.filter(move |own| is_in(&self.flows, bundle, &own.0)).map(|own| own.0.rate())
    }
}

/// True if a flow is still in a bundle.
fn is_in(flows: &[Flow], bundle: u32, own: &Own) -> bool {
    let flow = &flows[own.flow as usize];
    flow.bundle == bundle && flow.order == own.order
}
