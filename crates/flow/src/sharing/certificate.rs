//! The second look of `--check` at the state of sharing as a whole.
//!
//! Every flow is in one place, with what its audit says is left of it. Every link carries what it can at most, and every flow is limited by a cap or by
//! a full link on which nobody of its weight gets more: the certificate of max-min fairness, from the shares alone.

use super::{Bundle, FineTime, Flow, Latent, NONE, Sharing, audit::Audit};
use std::cmp::Reverse;

/// Most faults that are kept.
const MOST: usize = 16;

/// Rounding of sums over many flows.
const ROUNDING: f64 = 1e-6;

/// A flow that is under way, as `--check` sees it.
#[derive(Clone, Copy, Debug)]
pub struct UnderWay {
    /// Its number among flows under way.
    pub flow: u32,
    /// Whose it is.
    pub tag: u32,
    /// What it had to move when it began, or when it was last given another route.
    pub work: f64,
    /// Number of its route.
    pub route: u32,
}

impl Sharing {
    /// Keeps an audit from now on; to be called before there are links.
    pub fn keep_audit(&mut self) {
        debug_assert!(self.latencies.is_empty(), "an audit knows all links");
        self.audit = Some(Box::default());
    }

    /// The flows that are under way.
    pub fn flows_under_way(&self) -> impl Iterator<Item = UnderWay> {
        let latent = self.latent.iter().map(|latent| latent.0.flow);
        let joined = self.bundles.iter().flat_map(|b| &b.goals).map(|goal| goal.0.flow);
        latent.chain(joined).map(|flow| {
            let Flow { tag, work, route, .. } = self.flows[flow as usize];
            UnderWay { flow, tag, work, route }
        })
    }

    /// Plants a fault: a flow has another route, and its bundle does not know.
    #[cfg(test)]
    pub fn plant_route(&mut self, flow: u32, route: u32) {
        self.flows[flow as usize].route = route;
    }

    /// What is wrong, by the audit and in the state as a whole. Between two moments.
    #[must_use]
    pub fn faults(&self) -> Vec<String> {
        let Some(audit) = &self.audit else { return Vec::new() };
        let mut faults = audit.faults.clone();
        self.places_of_flows(audit, &mut faults);
        // Where shares are found late, they are not those of the moment.
        if self.delays.accuracy == 0.0 {
            self.fairness(audit, &mut faults);
        }
        faults.truncate(MOST);
        faults
    }

    /// Every flow is in one place, with what is left of it.
    fn places_of_flows(&self, audit: &Audit, faults: &mut Vec<String>) {
        let mut seen = vec![0u32; self.flows.len()];
        for &Reverse(Latent { until, flow, .. }) in &self.latent {
            seen[flow as usize] += 1;
            if until != audit.flows[flow as usize].until {
                faults.push(format!("flow {flow} is in its latency until another moment than when it began"));
            }
        }
        for (bundle, b) in (0u32..).zip(&self.bundles).filter(|(_, b)| !b.goals.is_empty()) {
            if self.solver.count(bundle) as usize != b.goals.len() {
                faults.push(format!(
                    "bundle {bundle} has {} flows, the solver knows another number",
                    b.goals.len()
                ));
            }
            for Reverse(goal) in &b.goals {
                let (flow, own) = (goal.flow, &audit.flows[goal.flow as usize]);
                seen[flow as usize] += 1;
                if self.flows[flow as usize].bundle != bundle || own.joined.is_none_or(|j| j.0 != bundle) {
                    faults.push(format!("flow {flow} is in another bundle than it joined"));
                }
                let (left, known) = (goal.clock - b.clock, audit.left(flow, b.since));
                let close = own.work * 1e-9 + (b.clock + audit.clocks[bundle as usize].moved) * 1e-12 + 1e-6;
                if (left - known).abs() > close {
                    faults.push(format!("flow {flow} has {left} B left, by its shares {known}"));
                }
            }
            let (next, set) = (self.next_end(bundle, b.since), self.alarms.of(bundle));
            let late = set.since(next).max(next.since(set));
            if next != set && late > 1e-12 + 1e-9 * next.since(b.since) {
                faults
                    .push(format!("the first flow of bundle {bundle} ends at another moment than is noted"));
            }
        }
        for (flow, &times) in (0u32..).zip(&seen) {
            let own = audit.flows[flow as usize];
            let Flow { tag, work, .. } = self.flows[flow as usize];
            if times != u32::from(own.under_way) {
                faults.push(format!("flow {flow} is in {times} places"));
            } else if own.under_way && (tag, work) != (own.tag, own.work) {
                faults.push(format!("flow {flow} is not what it began as"));
            }
        }
        let under_way = audit.flows.iter().filter(|own| own.under_way).count() as u64;
        if under_way != self.active {
            faults.push(format!("{} flows are counted, {under_way} are under way", self.active));
        }
    }

    /// No link carries more than it can, and every flow is limited: by its cap, or by a full link on which no weight gets more.
    fn fairness(&self, audit: &Audit, faults: &mut Vec<String>) {
        let sharing_now = || (0u32..).zip(&self.bundles).filter(|(_, b)| !b.goals.is_empty());
        let links = audit.capacities.len();
        let (mut loads, mut levels) = (vec![0.0; links], vec![0.0f64; links]);
        for (_, b) in sharing_now() {
            for &(link, usage) in &self.routes[b.route as usize].uses {
                loads[link as usize] += usage * b.share * b.goals.len() as f64;
                levels[link as usize] = levels[link as usize].max(b.share / b.weight);
            }
        }
        for (link, (&load, &capacity)) in loads.iter().zip(&audit.capacities).enumerate() {
            if load > capacity * (1.0 + ROUNDING) {
                faults.push(format!("link {link} carries {load} of {capacity} B/s"));
            }
        }
        for (bundle, &Bundle { route, weight, cap, share, .. }) in sharing_now() {
            let route = &self.routes[route as usize];
            let pipes = route.pipes.iter();
            let limit = pipes.fold(cap, |cap, &(l, usage)| cap.min(audit.capacities[l as usize] / usage));
            if share > limit * (1.0 + ROUNDING) {
                faults.push(format!("bundle {bundle} gets {share} B/s, its cap is {limit}"));
            }
            if let Some(rate) = self.own_rates(bundle).find(|&rate| share > rate * (1.0 + ROUNDING)) {
                faults.push(format!("bundle {bundle} gets {share} B/s, of its flows one may take {rate}"));
            }
            let is_limited = share >= limit * (1.0 - ROUNDING)
                || route.uses.iter().any(|&(link, usage)| {
                    let (link, level) = (link as usize, share / weight);
                    usage > 0.0
                        && loads[link] >= audit.capacities[link] * (1.0 - ROUNDING)
                        && level >= levels[link] * (1.0 - ROUNDING)
                });
            if !is_limited {
                faults.push(format!("bundle {bundle} gets {share} B/s, and nothing keeps it from more"));
            }
        }
    }

    /// Looks at the shares after a solution, now and then.
    #[inline]
    pub(super) fn look_at_shares(&mut self) {
        // Where shares are found late, they are not those of the moment.
        if self.audit.is_none() || self.delays.accuracy > 0.0 {
            return;
        }
        let (visits, size) = (self.solver.visits, self.bundles.len() + self.latencies.len());
        let mut found = None;
        self.audit(|audit| found = audit.looks(visits, size).then(|| std::mem::take(&mut audit.faults)));
        if let (Some(mut faults), Some(audit)) = (found, &self.audit) {
            self.fairness(audit, &mut faults);
            faults.truncate(MOST);
            self.audit(|audit| audit.faults = faults);
        }
    }

    /// Tells the audit, if there is one.
    #[inline]
    pub(super) fn audit(&mut self, add: impl FnOnce(&mut Audit)) {
        if let Some(audit) = &mut self.audit {
            add(audit);
        }
    }

    /// Tells the audit of a flow that is diverted with what is left of it, which moves from a moment on.
    pub(super) fn audit_diverted(&mut self, flow: u32, until: FineTime) {
        let Flow { tag, work, bundle, .. } = self.flows[flow as usize];
        debug_assert!(bundle == NONE, "a flow that is diverted has left its bundle");
        self.audit(|audit| audit.begins(flow, tag, work, until));
    }
}
