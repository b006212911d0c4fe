//! Flows in time: latency, then a share of the links until all bytes are there.
//!
//! Flows of the same route, weight and cap always get the same share: they are one sharer of the [`Solver`], a *bundle*. A bundle has a
//! clock that runs by its share, in bytes; a flow that joins at clock v is over at v + work, so that a change of the share moves one
//! alarm, however many flows there are. What a flow's work is: its bytes over its factor on bandwidth.
//!
//! All that happens at one moment (flows that leave their latency, end, bandwidths that change) is taken together and the levels are found
//! once. See `FLOW.md`.

use super::{alarms::Alarms, fine_time::FineTime, rules::Rules, solver::Solver};
use base::{sorted::SortedMap, time::Ps};
pub use fabric::platform::Policy;
use std::{cmp::Reverse, collections::BinaryHeap};

/// A way from a source to a destination.
#[derive(Clone, Debug)]
pub struct Route {
    /// Its links, in order.
    pub links: Vec<u32>,
    /// The part of each flow that crosses each of them; empty if all is on one path.
    parts: Vec<f64>,
    /// Links on a path but one, in the mean.
    pub hops: u32,
    /// What a unit of share takes of each shared link: its own, and those of the way back.
    uses: Vec<(u32, f64)>,
    /// The same of fat pipes, each of which limits every flow by itself.
    pipes: Vec<(u32, f64)>,
    /// Sum of its links' latencies, in seconds.
    pub latency: f64,
    /// Bundles of its flows.
    bundles: Vec<u32>,
    /// Bandwidth of its slowest link, and the count of changed bandwidths for which it was found.
    slowest: (f64, u64),
    /// It was made for one message: [`Sharing::forget`] gives it back.
    passing: bool,
}

/// A flow that began and has not ended.
#[derive(Clone, Copy, Debug)]
struct Flow {
    route: u32,
    /// Whose it is.
    tag: u32,
    /// In the units of its share.
    work: f64,
    cap: f64,
    /// The part of its cap that no latency changes.
    held: f64,
    /// The part of its cap that is its own, on every route.
    own: f64,
    /// Its bundle once its latency is over.
    bundle: u32,
    /// Count of flows begun before it.
    order: u64,
    /// When it began.
    begun: Ps,
}

#[derive(Clone, Debug, Default)]
struct Bundle {
    route: u32,
    weight: f64,
    cap: f64,
    held: f64,
    share: f64,
    clock: f64,
    since: FineTime,
    goals: BinaryHeap<Reverse<Goal>>,
    /// Of a pool, the rates of its flows that have one: see `pooled`. Flows may have left.
    own: BinaryHeap<Reverse<Own>>,
    /// Its one flow is alone on its links, and the solver knows no more of it than that.
    detached: bool,
    /// Ends since the clock was set back.
    ends: usize,
}

/// The number that stands for no bundle.
const NONE: u32 = u32::MAX;

/// A flow that is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Over {
    /// What [`Sharing::begin`] was given.
    pub tag: u32,
    /// When the last byte was there.
    pub at: FineTime,
}

/// A moment at which things happened, whose shares are to be found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Instant {
    /// When it is.
    pub at: FineTime,
    /// Shares are found now, not later.
    pub finds: bool,
}

mod audit;
mod bandwidths;
mod batches;
mod certificate;
mod delays;
mod detached;
mod diverted;
mod goal;
mod link_change;
mod pooled;
mod routes;
mod usage;
mod windows;

pub use usage::Usage;

pub use certificate::UnderWay;
pub use delays::Delays;
use goal::{Goal, Latent, Own};
pub use link_change::LinkChange;

/// Links and the flows on them.
pub struct Sharing {
    rules: Rules,
    solver: Solver,
    latencies: Vec<f64>,
    policies: Vec<Policy>,
    /// By link, the bundle that is aside there.
    alone: Vec<u32>,
    routes: Vec<Route>,
    /// By link, where it is in the list of uses that is made, if it is there at all.
    places: Vec<u32>,
    forgotten: Vec<u32>,
    flows: Vec<Flow>,
    free: Vec<u32>,
    bundles: Vec<Bundle>,
    alarms: Alarms,
    /// Flows in their latency.
    latent: BinaryHeap<Reverse<Latent>>,
    /// Changes of links to come, latest first.
    changes: Vec<LinkChange>,
    /// Links that are down, with the bandwidths that they have when they are up again.
    down: SortedMap<u32, f64>,
    now: FineTime,
    /// Bandwidths that changed so far.
    bandwidth_changes: u64,
    begun: u64,
    active: u64,
    /// What was used of links, by windows of time and over the whole run.
    pub usage: Usage,
    listed: Vec<u32>,
    moved: Vec<(u32, FineTime)>,
    /// Bundles aside whose share is to be found.
    newly_detached: Vec<u32>,
    /// Bundles that may join a pool before the next solution.
    joining: Vec<u32>,
    /// Some flow has had a rate of its own.
    rates: bool,
    /// When something happens next.
    upcoming: FineTime,
    delays: Delays,
    /// No flow stays detached though it meets nobody.
    #[cfg(test)]
    together: bool,
    audit: Option<Box<audit::Audit>>,
}

impl Sharing {
    /// No links. `window` is the length of a window of link use; 0 for none.
    #[must_use]
    pub fn new(rules: Rules, window: Ps) -> Self {
        Self {
            rules,
            solver: Solver::new(),
            latencies: Vec::new(),
            policies: Vec::new(),
            alone: Vec::new(),
            routes: Vec::new(),
            places: Vec::new(),
            forgotten: Vec::new(),
            flows: Vec::new(),
            free: Vec::new(),
            bundles: Vec::new(),
            alarms: Alarms::default(),
            latent: BinaryHeap::new(),
            changes: Vec::new(),
            down: SortedMap::new(),
            now: FineTime::default(),
            bandwidth_changes: 0,
            begun: 0,
            active: 0,
            usage: Usage::new(window),
            listed: Vec::new(),
            moved: Vec::new(),
            newly_detached: Vec::new(),
            joining: Vec::new(),
            rates: false,
            upcoming: FineTime::NEVER,
            delays: Delays::default(),
            #[cfg(test)]
            together: false,
            audit: None,
        }
    }

    /// Adds a link: bytes per second, seconds.
    pub fn link(&mut self, bandwidth: f64, latency: f64, policy: Policy) -> u32 {
        debug_assert!(latency >= 0.0, "a link's latency is not negative");
        self.latencies.push(latency);
        self.policies.push(policy);
        self.alone.push(NONE);
        self.places.push(0);
        self.usage.link();
        self.audit(|audit| audit.links(bandwidth));
        self.solver.link(bandwidth)
    }

    /// Bandwidth of a link now.
    #[must_use]
    pub fn bandwidth(&self, link: u32) -> f64 {
        self.solver.capacity(link)
    }

    fn is_pipe(&self, link: u32) -> bool {
        self.policies[link as usize] == Policy::FatPipe
    }

    /// The most that a flow may get whose own cap is `cap`: no more than any fat pipe of its route lets through.
    fn limited(&self, route: u32, cap: f64) -> f64 {
        let pipes = self.routes[route as usize].pipes.iter();
        pipes.fold(cap, |cap, &(link, usage)| cap.min(self.solver.capacity(link) / usage))
    }

    /// True if the way back matters.
    #[must_use]
    pub fn has_cross_traffic(&self) -> bool {
        self.rules.cross > 0.0
    }

    /// The moment of what was done last.
    #[must_use]
    pub fn now(&self) -> FineTime {
        self.now
    }

    /// Flows that began and have not ended.
    #[must_use]
    pub fn active(&self) -> u64 {
        self.active
    }

    /// A flow begins at `at` (not before what was last done): its latency first. `rate` is its own cap in bytes per second.
    pub fn begin(&mut self, at: FineTime, route: u32, bytes: u64, rate: Option<f64>, tag: u32) -> u32 {
        // While nobody is under way changes are no events: whoever begins finds links as they are by now.
        let idle = self.active == 0;
        while let Some(change) = self.changes.pop_if(|c| idle && c.at <= at) {
            self.change(change);
        }
        let (bandwidth, latency) = self.rules.factors(bytes);
        let slowest = self.slowest(route);
        let held = self.rules.cap(0.0, slowest, rate, bandwidth);
        let row = &self.routes[route as usize];
        // A message waits for its latency outside the solver: what shares no link yet costs no solution.
        let until = at.max(self.now).after(row.latency * latency);
        debug_assert!(until >= self.now, "a latency does not end in the past");
        // The part of a bandwidth that headers take is put into the work, so that all bundles of a link share one capacity.
        let work = bytes as f64 / bandwidth;
        self.begun += 1;
        self.active += 1;
        let own = rate.map_or(f64::INFINITY, |rate| rate / bandwidth);
        self.rates |= own.is_finite();
        let cap = held.min(self.rules.windowed(row.latency));
        let (order, begun) = (self.begun, at.rounded());
        let flow = Flow { route, tag, work, cap, held, own, bundle: NONE, order, begun };
        let number = self.free.pop().unwrap_or_else(|| {
            self.flows.push(flow);
            (self.flows.len() - 1) as u32
        });
        self.flows[number as usize] = flow;
        self.usage.begins(number);
        self.latent.push(Reverse(Latent { until, order: self.begun, flow: number }));
        self.audit(|audit| audit.begins(number, tag, work, until));
        if self.changes.is_empty() {
            // Without changes to come a beginning can only make the next instant earlier: no need to look at all sources of instants.
            self.upcoming = self.upcoming.min(until);
        } else {
            self.look_ahead();
        }
        number
    }

    /// When something happens next, if nothing begins before.
    #[must_use]
    pub fn next(&self) -> Option<FineTime> {
        (self.upcoming != FineTime::NEVER).then_some(self.upcoming)
    }

    /// Finds out when something happens next.
    fn look_ahead(&mut self) {
        let mut next = self.alarms.first().map_or(FineTime::NEVER, |a| a.0);
        if let Some(latent) = self.latent.peek() {
            next = next.min(latent.0.until);
        }
        // Without flows there are no shares to find, and nobody for whom a change matters.
        if self.active > 0 {
            next = next.min(self.due()).min(self.changes.last().map_or(FineTime::NEVER, |c| c.at));
        }
        self.upcoming = next.max(self.now);
    }

    /// Does what happens at the next moment, if that is the picosecond `until` or before. Appends flows that are over; false if there was
    /// nothing to do.
    pub fn step(&mut self, until: Ps, over: &mut Vec<Over>) -> bool {
        let Some(instant) = self.happen(until, over) else { return false };
        self.settle(instant);
        true
    }

    /// The first half of [`Sharing::step`]: what happens. [`Sharing::settle`] must follow, which finds the shares; between them flows may be divided
    /// anew. None if there was nothing to do.
    pub fn happen(&mut self, until: Ps, over: &mut Vec<Over>) -> Option<Instant> {
        let at = self.next().filter(|&next| next < FineTime::after_rounding_to(until))?;
        Some(self.turn(at, over))
    }

    /// The second half of [`Sharing::step`].
    pub fn settle(&mut self, Instant { at, finds }: Instant) {
        if finds {
            self.solve(at)
        } else {
            self.share_those_alone(at)
        }
        self.look_ahead();
    }

    /// Does all that happens up to a picosecond. Appends flows that are over; gives the next moment.
    pub fn advance(&mut self, until: Ps, over: &mut Vec<Over>) -> Option<FineTime> {
        let border = FineTime::after_rounding_to(until);
        loop {
            let next = self.next();
            match next.filter(|&next| next < border) {
                Some(at) => {
                    let instant = self.turn(at, over);
                    self.settle(instant);
                }
                None => return next,
            }
        }
    }

    /// Does what happens at a moment, which is the next, but for its shares.
    fn turn(&mut self, at: FineTime, over: &mut Vec<Over>) -> Instant {
        debug_assert!(at >= self.now, "moments do not go back");
        self.close_windows(at);
        self.now = at;
        let window = at.simultaneous_until();
        // Bandwidths, then ends, then beginnings: one solution for all of them. Whoever begins meets nobody who has just left.
        let mut solve = false;
        while let Some(change) = self.changes.pop_if(|c| c.at <= window) {
            self.change(change);
            solve = true;
        }
        while let Some((_, bundle)) = self.alarms.first().filter(|a| a.0 <= window) {
            self.end(bundle, at, window.since(at), over);
        }
        while let Some(&Reverse(Latent { until, flow, .. })) = self.latent.peek() {
            if until > window {
                break;
            }
            self.latent.pop();
            self.join(flow, at, over);
        }
        // A bandwidth that changes waits for nobody: those on the link could get more than there is.
        Instant { at, finds: solve || self.is_due(window) }
    }

    /// Flows of a bundle whose goal is reached are over.
    fn end(&mut self, bundle: u32, at: FineTime, slack: f64, over: &mut Vec<Over>) {
        self.touch(bundle, at);
        let b = &mut self.bundles[bundle as usize];
        let reached = b.clock + b.share * slack;
        let (mut ended, mut last) = (0, NONE);
        // The alarm was set for the first: it is over whatever rounding says.
        while let Some(Reverse(goal)) = b.goals.peek().filter(|g| ended == 0 || g.0.clock <= reached) {
            let flow = &self.flows[goal.flow as usize];
            over.push(Over { tag: flow.tag, at });
            self.free.push(goal.flow);
            if let Some(audit) = &mut self.audit {
                audit.ends(goal.flow, flow.tag, at, slack);
            }
            self.usage.count(goal.flow, self.routes[flow.route as usize].used(), flow.work);
            if self.rates {
                // A pool forgets the rates of its flows when it meets them.
                self.flows[goal.flow as usize].bundle = NONE;
            }
            (ended, last) = (ended + 1, goal.flow);
            b.goals.pop();
        }
        // All flows of a bundle get the same share, so one clock of work done per flow serves all; each has a goal on it, and only the nearest
        // goal needs an alarm. A solution that changes a share moves one alarm, however many flows there are.
        b.ends += ended;
        if b.ends > b.goals.len() + 64 {
            // The clock loses digits as it grows.
            let clock = std::mem::take(&mut b.clock);
            b.ends = 0;
            let goals = std::mem::take(&mut b.goals).into_vec();
            let back = |g: Reverse<Goal>| Reverse(Goal { clock: g.0.clock - clock, ..g.0 });
            b.goals = goals.into_iter().map(back).collect();
        }
        debug_assert!(ended > 0, "an alarm rings for a flow that is over");
        debug_assert!(self.active >= ended as u64, "a flow ends once");
        self.active -= ended as u64;
        self.alarms.set(bundle, FineTime::NEVER);
        self.leave(bundle, ended as u32);
        self.ended_late(bundle, last, at);
    }

    /// Some flows of a bundle are gone.
    fn leave(&mut self, bundle: u32, flows: u32) {
        let b = &self.bundles[bundle as usize];
        debug_assert!(self.solver.count(bundle) >= flows, "no more flows leave than share");
        let (route, left) = (b.route as usize, self.solver.count(bundle) - flows);
        debug_assert!(!b.detached || left == 0, "a bundle that is detached is one flow");
        if b.detached {
            let uses = &self.routes[route].uses;
            self.solver.remove_detached(bundle, uses);
            uses.iter().for_each(|u| self.alone[u.0 as usize] = NONE);
            // It may leave before it had a share.
            self.newly_detached.retain(|&new| new != bundle);
        } else {
            self.solver.set_count(bundle, left);
        }
        if left == 0 {
            self.alarms.set(bundle, FineTime::NEVER);
            self.routes[route].bundles.retain(|&b| b != bundle);
            self.count_divided(route as u32, false);
        }
    }

    /// A flow's latency is over: it shares links from now on.
    fn join(&mut self, flow: u32, at: FineTime, over: &mut Vec<Over>) {
        let Flow { route, work, own, tag, .. } = self.flows[flow as usize];
        let cap = self.cap_again(flow);
        let (row, limited) = (&self.routes[route as usize], self.limited(route, cap));
        // Where there is no link at all nothing but the flow itself holds it back.
        let free =
            row.uses.is_empty() && (limited.is_infinite() || row.links.is_empty() && own.is_infinite());
        if work <= 0.0 || free {
            over.push(Over { tag, at });
            self.free.push(flow);
            self.active -= 1;
            self.audit(|audit| audit.ends(flow, tag, at, 0.0));
            return;
        }
        let bundle = self.seat(flow, at, true);
        self.joined_late(bundle, flow, at);
    }

    /// Puts a flow with work to do into a bundle of its route. `pools`: it may be one of flows with other rates.
    fn seat(&mut self, flow: u32, at: FineTime, pools: bool) -> u32 {
        let Flow { route, work, cap, held, own, order, .. } = self.flows[flow as usize];
        debug_assert!(self.flows[flow as usize].bundle == NONE, "a flow is in one bundle");
        let (row, limited) = (&self.routes[route as usize], self.limited(route, cap));
        let bandwidths = self.bandwidths(row);
        // Equal weight and cap on one route are one bundle. Compared by bits: a bundle must not change anybody's share by rounding.
        let weight = self.rules.weight(row.latency, bandwidths);
        let same = |b: &&u32| {
            let b = &self.bundles[**b as usize];
            let bits = |numbers: [f64; 3]| numbers.map(f64::to_bits);
            bits([b.weight, b.cap, b.held]) == bits([weight, cap, held])
        };
        let known = row.bundles.iter().find(same).copied();
        let limited_itself = self.rates && own.is_finite();
        let pool = if limited_itself && pools && known.is_none() {
            self.with_room(route, own, weight, NONE)
        } else {
            None
        };
        let bundle = match pool.or(known) {
            Some(bundle) => {
                if pool.is_some() {
                    self.pool(bundle);
                }
                if self.bundles[bundle as usize].detached {
                    self.meet(self.routes[route as usize].uses[0].0);
                }
                self.touch(bundle, at);
                self.solver.set_count(bundle, self.solver.count(bundle) + 1);
                bundle
            }
            None => {
                row.propose_groups(&mut self.solver);
                let detached = self.is_alone(row);
                let bundle = if detached {
                    self.solver.add_detached(&row.uses, weight, limited)
                } else {
                    for n in 0..row.uses.len() {
                        self.meet(self.routes[route as usize].uses[n].0);
                    }
                    self.solver.add(self.routes[route as usize].uses.iter().copied(), weight, limited)
                };
                if self.bundles.len() <= bundle as usize {
                    self.bundles.resize_with(bundle as usize + 1, Bundle::default);
                }
                let b = &mut self.bundles[bundle as usize];
                (b.route, b.weight, b.cap, b.share, b.clock) = (route, weight, cap, 0.0, 0.0);
                (b.since, b.ends, b.detached, b.held) = (at, 0, detached, held);
                if self.rates {
                    b.own.clear();
                }
                if detached {
                    let links = self.routes[route as usize].uses.iter();
                    links.for_each(|u| self.alone[u.0 as usize] = bundle);
                    self.newly_detached.push(bundle);
                }
                self.routes[route as usize].bundles.push(bundle);
                self.count_divided(route, true);
                bundle
            }
        };
        self.flows[flow as usize].bundle = bundle;
        let b = &mut self.bundles[bundle as usize];
        // Flows that reach their goals together end in the order in which they began.
        b.goals.push(Reverse(Goal { clock: b.clock + work, order, flow }));
        let fresh = b.goals.len() == 1;
        if limited_itself {
            self.remember(bundle, flow);
        }
        self.audit(|audit| audit.joins(flow, bundle, at, fresh));
        bundle
    }

    /// Brings a bundle's clock to a moment.
    fn touch(&mut self, bundle: u32, at: FineTime) {
        let b = &mut self.bundles[bundle as usize];
        debug_assert!(b.share >= 0.0, "a share is not negative");
        let span = at.since(b.since);
        b.since = at;
        if let Some(audit) = &mut self.audit {
            audit.moves(bundle, at, b.share);
        }
        if span > 0.0 && b.share > 0.0 {
            b.clock += b.share * span;
        }
    }

    /// Finds the shares anew and sets the alarms of bundles whose share changed.
    fn solve(&mut self, at: FineTime) {
        // Whatever waited is in this solution, so that the next wait begins with what happens after it.
        self.nothing_waits(at);
        self.moved.clear();
        self.listed.clear();
        if self.rates {
            self.share_pools(at);
        } else {
            if !self.newly_detached.is_empty() {
                self.share_detached(at);
            }
            self.listed.extend_from_slice(self.solver.solve());
            for n in 0..self.listed.len() {
                let bundle = self.listed[n];
                self.give_share(bundle, at);
                self.moved.push((bundle, self.next_end(bundle, at)));
            }
        }
        self.alarms.set_many(&self.moved);
        self.look_at_shares();
    }

    /// When the first flow of a bundle is over at the share that it has.
    #[inline]
    fn next_end(&self, bundle: u32, at: FineTime) -> FineTime {
        let b = &self.bundles[bundle as usize];
        match b.goals.peek() {
            Some(Reverse(goal)) if b.share > 0.0 => at.after((goal.clock - b.clock).max(0.0) / b.share),
            _ => FineTime::NEVER,
        }
    }

    /// Finds the shares anew after flows were moved.
    pub fn refresh(&mut self, at: FineTime) {
        self.close_windows(at);
        self.now = self.now.max(at);
        self.solve(self.now);
        self.look_ahead();
    }

    /// Lists looked at by the solver so far: the work done.
    #[must_use]
    pub fn visits(&self) -> u64 {
        self.solver.visits
    }
}

#[cfg(test)]
mod planted;
#[cfg(test)]
mod pooled_tests;
#[cfg(test)]
mod tests;
