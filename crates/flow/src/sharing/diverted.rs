//! Flows that go on over another route, because links failed or their parts follow the load.

use super::{FineTime, Flow, Latent, NONE, Sharing};
use std::cmp::Reverse;

impl Sharing {
    /// Moves a flow, which began with so many bytes, to another route, where its remaining work begins with the latency. [`Sharing::refresh`] must
    /// follow.
    pub fn divert(&mut self, at: FineTime, flow: u32, bytes: u64, route: u32) {
        let Flow { bundle, order, .. } = self.flows[flow as usize];
        if bundle == NONE {
            // Links fail rarely: a search through all that wait is cheaper than an index kept for it.
            self.latent.retain(|l| l.0.flow != flow);
        } else {
            self.take_off(at, flow, bundle);
        }
        let (_, factor) = self.rules.factors(bytes);
        let until = at.after(self.put_on(flow, route) * factor);
        self.latent.push(Reverse(Latent { until, order, flow }));
        self.audit_diverted(flow, until);
        self.look_ahead();
    }

    /// Divides a flow anew over a route of its own, between [`Sharing::happen`] and [`Sharing::settle`]: what is left of it flows on without
    /// another latency. False, and nothing is done, if nothing is left of it.
    pub fn redivide(&mut self, at: FineTime, flow: u32, route: u32) -> bool {
        let bundle = self.flows[flow as usize].bundle;
        if bundle == NONE {
            self.put_on(flow, route);
            return true;
        }
        self.touch(bundle, at);
        let b = &self.bundles[bundle as usize];
        debug_assert!(b.goals.len() == 1, "a route of one message has one flow");
        if b.goals.peek().is_none_or(|goal| goal.0.clock <= b.clock) {
            return false;
        }
        self.take_off(at, flow, bundle);
        self.put_on(flow, route);
        self.audit_diverted(flow, at);
        self.seat(flow, at, false);
        true
    }

    /// Takes a flow off its bundle, with what is left of its work.
    fn take_off(&mut self, at: FineTime, flow: u32, bundle: u32) {
        self.touch(bundle, at);
        let b = &mut self.bundles[bundle as usize];
        let left = b.goals.iter().find(|g| g.0.flow == flow).map_or(0.0, |g| g.0.clock - b.clock);
        b.goals.retain(|g| g.0.flow != flow);
        // A pool would take it for one of its own if it came back to the same route, and let it out twice.
        b.own.retain(|own| own.0.flow != flow);
        let work = std::mem::replace(&mut self.flows[flow as usize].work, left.max(0.0));
        self.usage.count(flow, self.routes[b.route as usize].used(), work - left.max(0.0));
        self.usage.begins(flow);
        self.leave(bundle, 1);
    }

    /// Gives a flow that is in no bundle another route, whose latency is returned.
    fn put_on(&mut self, flow: u32, route: u32) -> f64 {
        let slowest = self.slowest(route);
        let held = self.rules.cap(0.0, slowest, None, 1.0);
        let latency = self.routes[route as usize].latency;
        let windowed = self.rules.windowed(latency);
        let f = &mut self.flows[flow as usize];
        f.held = held.min(f.own);
        (f.route, f.bundle, f.cap) = (route, NONE, f.held.min(windowed));
        latency
    }

    /// Flows whose route has a link that `failed` reports: flow and tag, in the order in which they began.
    #[must_use]
    pub fn crossing(&self, failed: impl Fn(u32) -> bool) -> Vec<(u32, u32)> {
        let mut found: Vec<(u64, u32, u32)> = Vec::new();
        let mut offer = |number: u32| {
            let flow = &self.flows[number as usize];
            if self.routes[flow.route as usize].links.iter().any(|&l| failed(l)) {
                found.push((flow.order, number, flow.tag));
            }
        };
        self.latent.iter().for_each(|l| offer(l.0.flow));
        self.bundles.iter().flat_map(|b| &b.goals).for_each(|g| offer(g.0.flow));
        found.sort_unstable();
        found.into_iter().map(|(_, flow, tag)| (flow, tag)).collect()
    }

    /// The route of a flow that is not over.
    #[must_use]
    pub fn route_of_flow(&self, flow: u32) -> u32 {
        self.flows[flow as usize].route
    }
}
