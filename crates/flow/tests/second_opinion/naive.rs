//! The naive model: flows one by one, as the rules say (`FLOW.md`, and for the presets what SimGrid does). At every instant the whole
//! allocation is found anew by progressive filling. It shares nothing with the crate but the types of what goes in.
//!
//! What the rules leave open is as in the crate: a link without bandwidth says nothing of weights and caps, and a flow that no link
//! can hold back is over after its latency.

use super::{
    cases::{Case, Detour, Link, Message},
    faults::Fault,
    precise::Precise,
};
use base::time::Ps;
use fabric::platform::{Change, Policy};

/// What is seen of a message under way: bytes of work that are left, and bytes of work per second.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    pub message: usize,
    pub left: f64,
    pub rate: f64,
}

/// What comes out.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Messages in the order of their ends, in picoseconds.
    pub ends: Vec<(usize, f64)>,
    /// By look, messages by number.
    pub seen: Vec<Vec<Seen>>,
    /// Bytes by link.
    pub used: Vec<f64>,
    /// When something happened, in picoseconds.
    pub instants: Vec<f64>,
}

/// A message under way.
#[derive(Clone, Debug)]
struct Flow {
    message: usize,
    path: usize,
    /// When its latency is over; it waits until then.
    until: Precise,
    waits: bool,
    /// Work that is left, and what it gets of it in a second.
    left: Precise,
    share: Precise,
    /// The least bandwidth of its links when it began.
    slowest: Option<Precise>,
}

/// What limits a flow.
struct Demand {
    weight: Precise,
    cap: Option<Precise>,
    /// Shared links, and what a unit of its share takes of each.
    uses: Vec<(usize, Precise)>,
}

/// A link as it is now.
struct State {
    bandwidth: f64,
    latency: f64,
    down: bool,
}

/// The model, as it is at one instant.
struct Naive<'a> {
    case: &'a Case,
    fault: Option<Fault>,
    links: Vec<State>,
    changes: Vec<(Ps, u32, Change)>,
    now: Precise,
    /// In the order in which they began.
    flows: Vec<Flow>,
    used: Vec<Precise>,
    /// How many messages, changes and detours there were so far.
    done: [usize; 3],
    out: Outcome,
}

/// So many picoseconds, in seconds.
fn seconds(at: Ps) -> Precise {
    Precise::whole(at) / Precise::of(1e12)
}

/// Runs a case.
pub fn run(case: &Case, fault: Option<Fault>) -> Outcome {
    let link = |l: &Link| State { bandwidth: l.bandwidth, latency: l.latency, down: false };
    let mut changes = case.changes.clone();
    if fault == Some(Fault::FirstChangeHolds) {
        changes.reverse();
    }
    changes.sort_by_key(|change| change.0);
    let mut naive = Naive {
        case,
        fault,
        links: case.links.iter().map(link).collect(),
        changes,
        now: Precise::ZERO,
        flows: Vec::new(),
        used: vec![Precise::ZERO; case.links.len()],
        done: [0; 3],
        out: Outcome::default(),
    };
    for &look in &case.looks {
        naive.go_on(Some(seconds(look)));
        let seen = |f: &Flow| Seen { message: f.message, left: f.left.rounded(), rate: f.share.rounded() };
        naive.out.seen.push(naive.flows.iter().map(seen).collect());
    }
    naive.go_on(None);
    naive.out.used = naive.used.iter().map(|used| used.rounded()).collect();
    naive.out
}

impl Naive<'_> {
    fn has(&self, fault: Fault) -> bool {
        self.fault == Some(fault)
    }

    /// Goes on until then, or until nothing happens any more.
    fn go_on(&mut self, until: Option<Precise>) {
        while let Some(at) = self.next().filter(|at| until.is_none_or(|until| *at < until)) {
            self.advance(at);
            self.instant();
            self.share();
            self.out.instants.push(at.rounded() * 1e12);
            assert!(self.out.instants.len() < 10_000, "a case comes to its end");
        }
        if let Some(until) = until {
            self.advance(until);
        }
    }

    /// When the next message, change and detour come.
    fn given(&self) -> [Option<Precise>; 3] {
        let [message, change, detour] = self.done;
        [
            self.case.messages.get(message).map(|m| seconds(m.at)),
            self.changes.get(change).map(|c| seconds(c.0)),
            self.case.detours.get(detour).map(|d| seconds(d.at)),
        ]
    }

    /// When something happens next.
    fn next(&self) -> Option<Precise> {
        let mut next: Vec<Precise> = self.given().into_iter().flatten().collect();
        next.extend(self.flows.iter().filter(|f| f.waits).map(|f| f.until));
        let moving = self.flows.iter().filter(|f| f.share > Precise::ZERO);
        next.extend(moving.map(|f| self.now + f.left / f.share));
        next.into_iter().reduce(|a, b| a.least(Some(b))).map(|next| next.most(self.now))
    }

    /// All flows move until then.
    fn advance(&mut self, at: Precise) {
        let span = at - self.now;
        self.now = at;
        for n in 0..self.flows.len() {
            let moved = self.flows[n].share * span;
            self.flows[n].left = self.flows[n].left - moved;
            for (link, usage) in self.uses(self.flows[n].path) {
                self.used[link] = self.used[link] + moved * usage;
            }
        }
    }

    /// Does all that happens now: bandwidths, ends, beginnings, flows whose latency is over, detours.
    fn instant(&mut self) {
        // What happens within 2^-10 ps, or what a double resolves of a long time, is one instant.
        let slack = Precise::of(1e-12 / 1024.0) + self.now * Precise::of(2f64.powi(-50));
        let window = self.now + slack;
        while self.given()[1].is_some_and(|at| at <= window) {
            let (_, link, what) = self.changes[self.done[1]];
            self.done[1] += 1;
            self.change(link as usize, what);
        }
        let over = |f: &Flow| f.share > Precise::ZERO && f.left <= f.share * slack;
        let mut ended: Vec<usize> = self.flows.iter().filter(|f| over(f)).map(|f| f.message).collect();
        self.flows.retain(|f| !over(f));
        if self.has(Fault::YoungestFirst) {
            ended.reverse();
        }
        while self.given()[0].is_some_and(|at| at <= window) {
            self.begin(self.done[0]);
            self.done[0] += 1;
        }
        let mut joining: Vec<usize> = (0..self.flows.len()).collect();
        joining.retain(|&n| self.flows[n].waits && self.flows[n].until <= window);
        joining.sort_by(|&a, &b| self.flows[a].until.partial_cmp(&self.flows[b].until).unwrap());
        for n in joining {
            self.flows[n].waits = false;
            let waits = self.has(Fault::EmptyWaits) && self.case.messages[self.flows[n].message].bytes == 0;
            if self.is_free(&self.flows[n]) && !waits {
                ended.push(self.flows[n].message);
            }
        }
        self.flows.retain(|f| !ended.contains(&f.message));
        let at = self.now.rounded() * 1e12;
        self.out.ends.extend(ended.into_iter().map(|message| (message, at)));
        while self.given()[2].is_some_and(|at| at <= window) {
            self.detour(self.done[2]);
            self.done[2] += 1;
        }
    }

    fn change(&mut self, link: usize, what: Change) {
        let state = &mut self.links[link];
        match what {
            _ if self.fault == Some(Fault::NoChange) => {}
            Change::Bandwidth(_) if state.down && self.fault == Some(Fault::DownForgets) => {}
            Change::Bandwidth(bandwidth) => state.bandwidth = bandwidth,
            Change::Latency(latency) => state.latency = latency,
            Change::Up(up) => state.down = !up,
        }
    }

    /// What a link lets through now.
    fn bandwidth(&self, link: u32) -> f64 {
        let state = &self.links[link as usize];
        if state.down { 0.0 } else { state.bandwidth }
    }

    /// Factors on bandwidth and latency: those of the greatest threshold that is below the size. A factor that is alone and begins at
    /// zero is for all sizes.
    fn factors(&self, bytes: u64) -> [Precise; 2] {
        let steps = &self.case.rules.factors;
        let counts = |above: u64| {
            above < bytes
                || (steps.len() == 1 && above == 0)
                || (above == bytes && self.has(Fault::ThresholdCounts))
        };
        let step = steps.iter().filter(|step| counts(step.above)).max_by_key(|step| step.above);
        step.map_or([1.0; 2], |step| [step.bandwidth, step.latency]).map(Precise::of)
    }

    /// Latency of a route, without factors.
    fn latency(&self, path: usize) -> Precise {
        let path = &self.case.paths[path];
        let of =
            |&(link, part): &(u32, f64)| Precise::of(self.links[link as usize].latency) * Precise::of(part);
        path.links.iter().map(of).fold(Precise::of(path.between), |sum, latency| sum + latency)
    }

    /// What the links of a route could let through of a flow; those without bandwidth are not asked.
    fn bandwidths(&self, path: usize) -> impl Iterator<Item = Precise> {
        let asks_all = self.has(Fault::FrozenAtZero);
        let links = self.case.paths[path].links.iter();
        let all = links.map(|&(link, part)| (self.bandwidth(link), part));
        all.filter(move |all| all.0 > 0.0 || asks_all).map(|(c, part)| Precise::of(c) / Precise::of(part))
    }

    /// What a unit of a flow's share takes of each link.
    fn uses(&self, path: usize) -> Vec<(usize, Precise)> {
        let path = &self.case.paths[path];
        let cross = if self.has(Fault::NoCross) { 0.0 } else { self.case.rules.cross };
        let there = path.links.iter().map(|&(link, part)| {
            (link as usize, Precise::of(if self.has(Fault::Undivided) { 1.0 } else { part }))
        });
        let back =
            path.back.iter().map(|&(link, part)| (link as usize, Precise::of(cross) * Precise::of(part)));
        let mut uses: Vec<(usize, Precise)> = Vec::new();
        for (link, usage) in there.chain(back.filter(|_| cross > 0.0)) {
            let adds = self.shares(link) && !self.has(Fault::CrossOnce)
                || !self.shares(link) && self.has(Fault::PipeAdds);
            match uses.iter_mut().find(|known| known.0 == link) {
                Some(known) if adds => known.1 = known.1 + usage,
                Some(known) => known.1 = known.1.most(usage),
                None => uses.push((link, usage)),
            }
        }
        uses
    }

    fn shares(&self, link: usize) -> bool {
        self.case.links[link].policy != Policy::FatPipe
    }

    fn begin(&mut self, message: usize) {
        let Message { at, path, bytes, .. } = self.case.messages[message];
        let [bandwidth, latency] = self.factors(bytes);
        let waits = if self.has(Fault::NoLatency) { Precise::ZERO } else { self.latency(path) * latency };
        self.flows.push(Flow {
            message,
            path,
            until: seconds(at) + waits,
            waits: true,
            left: Precise::whole(bytes) / bandwidth,
            share: Precise::ZERO,
            slowest: self.bandwidths(path).reduce(|a, b| a.least(Some(b))),
        });
    }

    /// A message takes another route for what is left, and its latency again.
    fn detour(&mut self, detour: usize) {
        let Detour { at, message, path } = self.case.detours[detour];
        let [bandwidth, latency] = self.factors(self.case.messages[message].bytes);
        let waits = match self.fault {
            Some(Fault::DetourAtOnce) => Precise::ZERO,
            Some(Fault::DetourNoFactor) => self.latency(path),
            _ => self.latency(path) * latency,
        };
        let slowest = self.bandwidths(path).reduce(|a, b| a.least(Some(b)));
        let anew = self.has(Fault::DetourAnew);
        if let Some(flow) = self.flows.iter_mut().find(|f| f.message == message) {
            (flow.path, flow.slowest) = (path, slowest);
            (flow.until, flow.waits) = (seconds(at) + waits, true);
            if anew {
                flow.left = Precise::whole(self.case.messages[message].bytes) / bandwidth;
            }
        }
    }

    /// True if nothing is left to do for a flow, or nothing holds it back.
    fn is_free(&self, flow: &Flow) -> bool {
        let demand = self.demand(flow);
        let here = self.case.paths[flow.path].links.is_empty();
        let rate = self.case.messages[flow.message].rate;
        let unlimited = demand.cap.is_none() || here && rate.is_none();
        flow.left <= Precise::ZERO || demand.uses.is_empty() && unlimited
    }

    /// What limits a flow now.
    fn demand(&self, flow: &Flow) -> Demand {
        let (rules, message) = (&self.case.rules, &self.case.messages[flow.message]);
        let [bandwidth, factor] = self.factors(message.bytes);
        let latency = self.latency(flow.path);
        let mut caps: Vec<Precise> = Vec::new();
        if let Some(rate) = message.rate.filter(|_| !self.has(Fault::NoRate)) {
            let bandwidth = if self.has(Fault::RateOfWork) { Precise::of(1.0) } else { bandwidth };
            caps.push(Precise::of(rate) / bandwidth);
        }
        if let Some(window) = rules.window.filter(|_| latency > Precise::ZERO && !self.has(Fault::NoWindow)) {
            caps.push(Precise::of(window) / (Precise::of(2.0) * latency));
        }
        if rules.frozen {
            caps.extend(if self.has(Fault::NotFrozen) {
                self.bandwidths(flow.path).reduce(|a, b| a.least(Some(b)))
            } else {
                flow.slowest
            });
        }
        let mut uses = self.uses(flow.path);
        if !self.has(Fault::PipeIsShared) {
            let pipes = uses.iter().filter(|u| !self.shares(u.0));
            caps.extend(pipes.map(|&(link, usage)| Precise::of(self.bandwidth(link as u32)) / usage));
            uses.retain(|u| self.shares(u.0));
        }
        let counted = if self.has(Fault::WeightWithFactor) { latency * factor } else { latency };
        let weight = self.weight(flow.path, counted);
        Demand { weight, cap: caps.into_iter().reduce(|a, b| a.least(Some(b))), uses }
    }

    /// Weight of a flow: 1 / (latency + sum of S / bandwidth), or 1 without latency.
    fn weight(&self, path: usize, latency: Precise) -> Precise {
        let rules = &self.case.rules;
        if !rules.weighted || latency == Precise::ZERO || self.has(Fault::NoWeight) {
            return Precise::of(1.0);
        }
        let mut sum = latency;
        for &(link, part) in &self.case.paths[path].links {
            let stays = self.has(Fault::WeightStays);
            let bandwidth =
                if stays { self.case.links[link as usize].bandwidth } else { self.bandwidth(link) };
            if bandwidth > 0.0 {
                sum = sum + Precise::of(rules.scale) * Precise::of(part) / Precise::of(bandwidth);
            }
        }
        Precise::of(1.0) / sum
    }

    /// Progressive filling: the levels of all flows rise together, and whoever meets a full link or its cap stays there.
    fn share(&mut self) {
        let takes = |f: &Flow| !f.waits || self.has(Fault::LatencyTakes);
        let demands: Vec<Option<Demand>> =
            self.flows.iter().map(|f| takes(f).then(|| self.demand(f))).collect();
        let mut shares: Vec<Option<Precise>> = vec![None; demands.len()];
        loop {
            let full = self.full(&demands, &shares);
            let open = || demands.iter().enumerate().filter(|(n, _)| shares[*n].is_none());
            // The level at which each flow that still rises stays, if no other stays before.
            let level = |d: &Demand| {
                let links = d.uses.iter().filter_map(|u| full[u.0]);
                links.chain(d.cap.map(|cap| cap / d.weight)).reduce(|a, b| a.least(Some(b)))
            };
            let levels: Vec<(usize, Precise, Precise)> =
                open().filter_map(|(n, d)| d.as_ref().and_then(|d| Some((n, level(d)?, d.weight)))).collect();
            let Some(least) = levels.iter().map(|l| l.1).reduce(|a, b| a.least(Some(b))) else { break };
            for (n, level, weight) in levels {
                if level <= least || self.has(Fault::SolvedOnce) {
                    shares[n] = Some(level * weight);
                }
            }
        }
        for (flow, share) in self.flows.iter_mut().zip(shares) {
            flow.share = share.filter(|_| !flow.waits).unwrap_or_default();
        }
    }

    /// The level at which each shared link is full, if flows without a share rise together; none where there are none of them.
    fn full(&self, demands: &[Option<Demand>], shares: &[Option<Precise>]) -> Vec<Option<Precise>> {
        let mut left: Vec<Precise> =
            (0..self.links.len()).map(|l| Precise::of(self.bandwidth(l as u32))).collect();
        let mut rising = vec![Precise::ZERO; left.len()];
        for (demand, share) in demands.iter().zip(shares) {
            for &(link, usage) in demand.iter().flat_map(|d| &d.uses) {
                match (share, demand) {
                    (Some(_), _) if self.has(Fault::ForgetsFixed) => {}
                    (Some(share), _) => left[link] = left[link] - usage * *share,
                    (None, Some(d)) => rising[link] = rising[link] + usage * d.weight,
                    (None, None) => {}
                }
            }
        }
        let level = |(left, rising): (Precise, Precise)| {
            (rising > Precise::ZERO).then(|| left.most(Precise::ZERO) / rising)
        };
        left.into_iter().zip(rising).map(level).collect()
    }
}
