//! Routes on one path or over several, and what a flow takes of their links.

use super::{FineTime, Policy, Route, Sharing, Solver};

/// What is known of a route before its uses are summed.
struct NewRoute {
    links: Vec<u32>,
    parts: Vec<f64>,
    latency: f64,
    hops: u32,
}

impl Route {
    /// Its links with what a unit of work uses of each.
    pub(super) fn used(&self) -> impl Iterator<Item = &(u32, f64)> {
        self.uses.iter().chain(&self.pipes)
    }

    /// Proposes links that may be used alike, if it is divided. A route that is for one message alone is like no other.
    pub(super) fn propose_groups(&self, solver: &mut Solver) {
        if !self.parts.is_empty() && !self.passing {
            solver.unite(&self.uses);
        }
    }

    /// Its links with the part of a flow that crosses each, in parts of `whole`.
    pub fn parts(&self, whole: u32) -> impl Iterator<Item = (u32, u32)> {
        let parts = self.parts.iter().copied().chain(std::iter::repeat(1.0));
        self.links
            .iter()
            .zip(parts)
            .map(move |(&link, part)| (link, (part * f64::from(whole)).round() as u32))
    }
}

impl Sharing {
    /// Adds a route: its links, those of the way back (used only by rules with cross-traffic), and time spent between links, in seconds.
    pub fn route(&mut self, links: Vec<u32>, back: &[u32], between: f64) -> u32 {
        let latency = links.iter().fold(between, |sum, &l| sum + self.latencies[l as usize]);
        let back = back.iter().map(|&l| (l, 1.0));
        let hops = links.len().saturating_sub(1) as u32;
        self.add_route(NewRoute { links, parts: Vec::new(), latency, hops }, back)
    }

    /// Adds a route over several paths: each link once, with the part of a flow that crosses it; the same of the way back. The latency is the mean
    /// over the paths.
    pub fn divided(&mut self, parts: &[(u32, f64)], back: &[(u32, f64)], between: f64) -> u32 {
        debug_assert!(parts.iter().all(|p| p.1 > 0.0), "a link of a route is crossed");
        let latency = parts.iter().fold(between, |sum, p| sum + p.1 * self.latencies[p.0 as usize]);
        let hops = (parts.iter().map(|p| p.1).sum::<f64>() - 1.0).max(0.0).round() as u32;
        let (links, shares) = parts.iter().copied().unzip();
        self.add_route(NewRoute { links, parts: shares, latency, hops }, back.iter().copied())
    }

    fn add_route(&mut self, way: NewRoute, back: impl Iterator<Item = (u32, f64)>) -> u32 {
        let NewRoute { links, parts, latency, hops } = way;
        let there = links.iter().copied().zip(parts.iter().copied().chain(std::iter::repeat(1.0)));
        let cross = self.rules.cross;
        let back = back.filter(|_| cross > 0.0).map(|(link, part)| (link, cross * part));
        // A link's uses are summed once and for all, in the order of the route; of a fat pipe the greatest counts.
        let mut summed: Vec<(u32, f64)> = Vec::with_capacity(links.len());
        for (link, usage) in there.chain(back) {
            // A route over many paths has thousands of links, so none is searched for.
            let place = &mut self.places[link as usize];
            match summed.get_mut(*place as usize) {
                Some(s) if s.0 == link && self.policies[link as usize] == Policy::FatPipe => {
                    s.1 = s.1.max(usage)
                }
                Some(s) if s.0 == link => s.1 += usage,
                _ => {
                    *place = summed.len() as u32;
                    summed.push((link, usage));
                }
            }
        }
        debug_assert!(latency >= 0.0, "time on a route does not go back");
        let (pipes, uses) = if summed.iter().any(|s| self.is_pipe(s.0)) {
            summed.into_iter().partition(|(link, _)| self.is_pipe(*link))
        } else {
            (Vec::new(), summed)
        };
        let route = Route {
            links,
            parts,
            hops,
            uses,
            pipes,
            latency,
            bundles: Vec::new(),
            slowest: (0.0, u64::MAX),
            passing: false,
        };
        if let Some(free) = self.forgotten.pop() {
            self.routes[free as usize] = route;
            return free;
        }
        self.routes.push(route);
        (self.routes.len() - 1) as u32
    }

    /// Says that a route is for one message alone.
    pub fn pass(&mut self, route: u32) {
        debug_assert!(!self.routes[route as usize].passing, "a route is for one message alone");
        self.routes[route as usize].passing = true;
    }

    /// Gives a route back that was for one message alone, once that is over; others stay.
    pub fn forget(&mut self, route: u32) {
        if self.routes[route as usize].passing {
            let bundles = &self.routes[route as usize].bundles;
            debug_assert!(bundles.is_empty(), "no flow is on a route that is given back");
            self.forgotten.push(route);
        }
    }

    /// A route, by the number that it was given.
    #[must_use]
    pub fn route_of(&self, route: u32) -> &Route {
        &self.routes[route as usize]
    }

    /// What each link of a route could let through of a flow, but for links without bandwidth: these hold it as long as they have none, and say nothing
    /// of its weight and of its cap for later.
    pub(super) fn bandwidths(&self, route: &Route) -> impl Iterator<Item = f64> {
        let parts = route.parts.iter().copied().chain(std::iter::repeat(1.0));
        let all = route.links.iter().zip(parts).map(|(&l, part)| self.solver.capacity(l) / part);
        all.filter(|&bandwidth| bandwidth > 0.0)
    }

    /// The least bandwidth of a route's links, which is found again where one has changed.
    pub(super) fn slowest(&mut self, route: u32) -> f64 {
        let row = &self.routes[route as usize];
        if row.slowest.1 == self.bandwidth_changes {
            return row.slowest.0;
        }
        let slowest = self.bandwidths(row).fold(f64::INFINITY, f64::min);
        self.routes[route as usize].slowest = (slowest, self.bandwidth_changes);
        slowest
    }

    /// When a flow that begins at `at` is over if nobody else ever begins: see [`Sharing::begin`].
    #[must_use]
    pub fn alone(&self, at: FineTime, route: u32, bytes: u64, rate: Option<f64>) -> FineTime {
        let row = &self.routes[route as usize];
        let (bandwidth, latency) = self.rules.factors(bytes);
        let slowest = self.bandwidths(row).fold(f64::INFINITY, f64::min);
        let cap = self.limited(route, self.rules.cap(row.latency, slowest, rate, bandwidth));
        let uses = row.uses.iter().map(|&(link, usage)| self.solver.capacity(link) / usage);
        let (share, begun) = (uses.fold(cap, f64::min), at.after(row.latency * latency));
        if share > 0.0 { begun.after(bytes as f64 / bandwidth / share) } else { FineTime::NEVER }
    }

    /// Bytes of links of routes, and of them in the solver.
    #[cfg(test)]
    pub fn wide_bytes(&self) -> (u64, u64) {
        let use_size = size_of::<(u32, f64)>();
        let one = |r: &Route| {
            r.links.capacity() * 4
                + r.parts.capacity() * 8
                + (r.uses.capacity() + r.pipes.capacity()) * use_size
        };
        (self.routes.iter().map(one).sum::<usize>() as u64, self.solver.list_bytes())
    }
}
