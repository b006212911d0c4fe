//! From a fabric with its routing, or a platform, to links and routes that flows share.

use super::{
    changes::BandwidthChange,
    context::Context,
    divide::{Division, Single, divide},
    fine_time::FineTime,
    sharing::{LinkChange, Policy, Sharing},
};
use base::{
    index::{ChannelId, LinkId, PortId, RouterId, TerminalId},
    rng::{Purpose, Stream},
};
use engine::state::map::Map;
use fabric::{
    graph::{Fabric, Peer},
    platform::{Event, Platform},
    routing::{Congestion, Hop, Routing},
};

/// What a flow on a link counts as, for a routing that asks for the backlog.
pub const BACKLOG: u64 = 4096;

/// Routers that a way may visit: beyond, the routing goes in circles.
const MAX_HOPS: u16 = 4096;

/// Packets that are asked for their paths before a routing is taken to send all on one.
const SAMPLES: u64 = 16;

/// Links of divided routes that are kept; beyond, routes are found again for each message.
pub const MAX_KEPT: usize = 30_000_000;

/// No route that is the same for all messages.
const NONE: u32 = u32::MAX;

/// Links as the solver numbers them, and the routes found so far.
pub struct Network {
    /// Solver's link of each directed link.
    shared: Vec<u32>,
    /// Number of each pair of terminals that has sent something.
    known: Map<u32>,
    /// Its route, if that is the same for all its messages, else [`NONE`].
    routes: Vec<u32>,
    /// Flows on each directed link; kept only for routings that look at it.
    flows: Option<Vec<u32>>,
    random: Stream,
    /// The links failed: the routing after it holds.
    pub after: bool,
    /// The routing had a choice for some message that took one path as a whole.
    pub spreads: bool,
    /// Some message was divided over paths.
    pub evenly: bool,
    /// Some message was divided over paths among which the routing chooses by load.
    pub by_load: bool,
    /// Messages that would be divided over too many links; one whose path fails counts again.
    pub wide: u64,
    /// Why a pair's messages are not divided, if that is known.
    whole: Vec<Option<Single>>,
    /// Links of divided routes that are kept for their pairs.
    kept: usize,
}

/// A pair without a path, or whose path has no end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lost {
    /// Number of the terminal that it comes from.
    pub source: TerminalId,
    /// Number of the terminal that it is for.
    pub destination: TerminalId,
}

impl Network {
    /// Adds the links of a run to `sharing`.
    #[must_use]
    pub fn new(cx: &Context, sharing: &mut Sharing) -> Self {
        let shared = match cx.platform() {
            Some(platform) => add_platform(platform, sharing),
            None => add_fabric(cx, sharing),
        };
        let adaptive = cx.routing.as_ref().is_some_and(|r| !r.facts().oblivious)
            || cx.change.as_ref().is_some_and(|c| !c.routing.facts().oblivious);
        Self {
            flows: adaptive.then(|| vec![0; shared.len()]),
            shared,
            known: Map::default(),
            routes: Vec::new(),
            random: Stream::new(cx.seed, Purpose::Route, 0),
            after: false,
            spreads: false,
            evenly: false,
            by_load: false,
            wide: 0,
            whole: Vec::new(),
            kept: 0,
        }
    }

    /// Solver's link of a directed link.
    #[must_use]
    pub fn shared(&self, link: u32) -> u32 {
        self.shared[link as usize]
    }

    /// Number of a pair of terminals, counted from 0 as they are first asked for.
    pub fn pair(&mut self, source: TerminalId, destination: TerminalId) -> u32 {
        let key = u64::from(source) << 32 | u64::from(destination);
        if let Some(pair) = self.known.get(key, 0) {
            return pair;
        }
        let pair = self.routes.len() as u32;
        debug_assert_ne!(pair, NONE, "the last number stands for no route");
        self.known.set(key, 0, pair);
        self.routes.push(NONE);
        self.whole.push(None);
        pair
    }

    /// The route of a message of a pair; `identity` names it among all messages.
    ///
    /// # Errors
    /// If there is none.
    pub fn route(
        &mut self,
        cx: &Context,
        sharing: &mut Sharing,
        Pair { source, destination, row: pair }: Pair,
        identity: u64,
    ) -> Result<u32, Lost> {
        let known = self.routes[pair as usize];
        if known != NONE {
            return Ok(known);
        }
        if let Some(route) = self.divided(cx, sharing, Pair { source, destination, row: pair }, identity) {
            return Ok(route);
        }
        self.wide += u64::from(self.whole[pair as usize] == Some(Single::Wide));
        let (path, fixed) = self.path(cx, source, destination, identity)?;
        self.spreads |= path.spreads;
        let back = if sharing.has_cross_traffic() && source != destination {
            self.path(cx, destination, source, identity)?.0
        } else {
            Path::default()
        };
        let between = cx.config.router_delay as f64 * 1e-12 * f64::from(path.routers);
        let links = |path: &Path| path.links.iter().map(|&l| self.shared[l as usize]).collect::<Vec<_>>();
        let route = sharing.route(links(&path), &links(&back), between);
        if fixed {
            self.routes[pair as usize] = route;
        } else {
            sharing.pass(route);
        }
        Ok(route)
    }

    /// A route over all paths that the routing spreads packets over; none if there is one path, or the paths cannot be told.
    fn divided(&mut self, cx: &Context, sharing: &mut Sharing, pair: Pair, identity: u64) -> Option<u32> {
        let Pair { source, destination, row } = pair;
        if !cx.config.divided || source == destination || self.whole[row as usize].is_some() {
            return None;
        }
        let there = self.division(cx, (source, destination), identity);
        let back = || match sharing.has_cross_traffic() {
            true => self.division(cx, (destination, source), identity),
            false => Ok((Division { links: Vec::new(), routers: 0.0, alike: true }, true)),
        };
        let both = there.and_then(|there| Ok((there, back()?.0)));
        // If either way cannot be divided it is remembered: the next message of the pair would ask in vain again.
        self.whole[row as usize] = both.as_ref().err().copied();
        let ((there, oblivious), back) = both.ok()?;
        self.evenly = true;
        self.by_load |= !oblivious;
        let between = cx.config.router_delay as f64 * 1e-12 * there.routers;
        let shared =
            |d: &Division| d.links.iter().map(|l| (self.shared[l.0 as usize], l.1)).collect::<Vec<_>>();
        let route = sharing.divided(&shared(&there), &shared(&back), between);
        if self.kept + there.links.len() <= MAX_KEPT {
            self.kept += there.links.len();
            self.routes[row as usize] = route;
        } else {
            sharing.pass(route);
        }
        Some(route)
    }

    /// The parts of a message between two terminals, as [`division`] finds them.
    fn division(
        &self,
        cx: &Context,
        ends: (TerminalId, TerminalId),
        identity: u64,
    ) -> Result<(Division, bool), Single> {
        let change = cx.change.as_ref().filter(|_| self.after);
        let (fabric, routing) = match change {
            Some(change) => (&*change.fabric, &*change.routing),
            None => (&*cx.fabric, cx.routing.as_deref().ok_or(Single::Untold)?),
        };
        division(fabric, routing, ends, &|n| self.random.owned_by(identity ^ n << 24), cx.config.max_links)
    }

    /// Directed links from one terminal to another, and whether all messages take them.
    fn path(
        &self,
        cx: &Context,
        source: TerminalId,
        destination: TerminalId,
        identity: u64,
    ) -> Result<(Path, bool), Lost> {
        let lost = Lost { source, destination };
        if let Some(platform) = cx.platform() {
            let links = platform.route(source, destination).ok_or(lost)?;
            return Ok((Path { links, ..Path::default() }, true));
        }
        if source == destination {
            return Ok((Path::default(), true));
        }
        let change = cx.change.as_ref().filter(|_| self.after);
        let (fabric, routing) = match change {
            Some(change) => (&*change.fabric, &*change.routing),
            None => (&*cx.fabric, cx.routing.as_deref().ok_or(lost)?),
        };
        let random = self.random.owned_by(identity);
        walk(fabric, routing, (source, destination), random, self.flows.as_deref()).ok_or(lost)
    }

    /// Counts a flow that begins or ends on its route, for routings that look at it.
    pub fn count(&mut self, sharing: &Sharing, route: u32, begins: bool) {
        if let Some(flows) = &mut self.flows {
            for &link in &sharing.route_of(route).links {
                let count = &mut flows[link as usize];
                debug_assert!(begins || *count > 0, "a flow ends where it began");
                *count = if begins { *count + 1 } else { count.saturating_sub(1) };
            }
        }
    }

    /// Links fail: the routing after it holds from now on, and all routes are found anew. Returns which of the solver's links are gone.
    pub fn fail(&mut self, cx: &Context) -> Vec<bool> {
        let mut gone = vec![false; self.shared.len()];
        if let Some(change) = &cx.change {
            self.after = true;
            self.routes.fill(NONE);
            self.whole.fill(None);
            self.kept = 0;
            let ports = cx.fabric.ports().iter().zip(change.fabric.ports());
            for (link, (before, after)) in ports.enumerate() {
                if before.peer != after.peer {
                    gone[self.shared[link] as usize] = true;
                }
            }
        }
        gone
    }
}

/// Two terminals of which one sends to the other.
#[derive(Clone, Copy, Debug)]
pub struct Pair {
    /// The one that sends.
    pub source: TerminalId,
    /// The one that receives.
    pub destination: TerminalId,
    /// Row of their route: what [`Network::pair`] gives.
    pub row: u32,
}

/// A path through a fabric.
#[derive(Clone, Debug, Default)]
struct Path {
    links: Vec<u32>,
    routers: u32,
    /// Some router on it could have chosen another port.
    spreads: bool,
}

/// The parts of a message on the paths that the routing spreads over, and whether it does so without a look at the load. `random` are the streams
/// of packets; `most` is the number of links that it may have.
///
/// # Errors
/// Why it is not divided: all packets take one path, paths of different lengths are chosen by load, which follow no fixed parts, or they are too many.
pub fn division(
    fabric: &Fabric,
    routing: &dyn Routing,
    ends: (TerminalId, TerminalId),
    random: &dyn Fn(u64) -> Stream,
    most: u64,
) -> Result<(Division, bool), Single> {
    let walk = |n: u64| walk(fabric, routing, ends, random(n), None);
    let (first, fixed) = walk(0).ok_or(Single::Untold)?;
    // Paths by a hash of the pair are one path, though the routing names several: other packets are asked.
    if fixed || !first.spreads || (1..SAMPLES).all(|n| walk(n).is_some_and(|w| w.0.links == first.links)) {
        return Err(Single::Untold);
    }
    let division = divide(fabric, routing, ends, random(0), usize::try_from(most).unwrap_or(usize::MAX))?;
    let oblivious = routing.facts().oblivious;
    if oblivious || division.alike { Ok((division, oblivious)) } else { Err(Single::Untold) }
}

/// Solver's links of a platform are numbered as the platform's.
fn add_platform(platform: &Platform, sharing: &mut Sharing) -> Vec<u32> {
    let links = platform.links.iter();
    let shared = links.map(|l| sharing.link(l.bandwidth, l.latency, l.policy)).collect();
    let zero = FineTime::at(0);
    let change = |e: &Event| LinkChange { at: zero.after(e.time), link: e.link, bandwidth: e.bandwidth };
    sharing.schedule(platform.events.iter().map(change).collect());
    shared
}

/// Solver's links of a fabric are numbered as its directed links; the two directions of a half-duplex cable are the one with the lower number.
fn add_fabric(cx: &Context, sharing: &mut Sharing) -> Vec<u32> {
    let fabric = &*cx.fabric;
    let class = |link| usize::from(fabric.class_of_link(link));
    let mut shared = Vec::new();
    for link in LinkId::first(fabric.links()) {
        let params = &cx.links[class(link)];
        let (bandwidth, latency) = (params.bandwidth.bytes_per_s(), params.latency as f64 * 1e-12);
        let row = sharing.link(bandwidth, latency, Policy::Shared);
        let other = if cx.config.half_duplex { opposite(fabric, link) } else { None };
        shared.push(other.map_or(row, |other| row.min(other.number())));
    }
    let changes = cx.config.changes.iter();
    let change = |c: &BandwidthChange| LinkChange {
        at: FineTime::at(c.at),
        link: shared[c.link.index()],
        bandwidth: c.bandwidth,
    };
    sharing.schedule(changes.map(change).collect());
    shared
}

/// The other direction of a cable.
fn opposite(fabric: &Fabric, link: LinkId) -> Option<LinkId> {
    if let Some(terminal) = fabric.injected_by(link) {
        let (router, port) = fabric.attached(terminal);
        return Some(fabric.port_index(router, port));
    }
    match fabric.port(link).peer {
        Peer::Router { router, port } => Some(fabric.port_index(router, port)),
        Peer::Terminal(t) => Some(fabric.injection(t)),
        Peer::None => None,
    }
}

/// Flows on the links of a router.
struct Loads<'a> {
    fabric: &'a Fabric,
    router: RouterId,
    flows: Option<&'a [u32]>,
}

impl Congestion for Loads<'_> {
    fn backlog(&mut self, port: PortId) -> u64 {
        self.published(self.fabric.port_index(self.router, port))
    }

    fn published(&mut self, link: LinkId) -> u64 {
        self.flows.map_or(0, |flows| u64::from(flows[link.index()]) * BACKLOG)
    }
}

/// Follows a routing from terminal to terminal; returns whether it had no choice on the path. `None` if it goes astray.
fn walk(
    fabric: &Fabric,
    routing: &dyn Routing,
    (source, destination): (TerminalId, TerminalId),
    random: Stream,
    flows: Option<&[u32]>,
) -> Option<(Path, bool)> {
    let (router, in_port) = fabric.attached(source);
    let mut hop =
        Hop { router, in_port, vc: ChannelId::FIRST, visited: 0, source, destination, state: 0, random };
    let mut links = Vec::with_capacity(8);
    links.push(fabric.injection(source).number());
    let (mut fixed, mut spreads, mut options) = (true, false, Vec::new());
    while hop.visited < MAX_HOPS {
        if fixed || !spreads {
            options.clear();
            routing.options(&hop, &mut options);
            fixed &= options.windows(2).all(|w| w[0] == w[1]);
            spreads |= options.windows(2).any(|w| w[0].port != w[1].port);
        }
        hop.random = random.at(u64::from(hop.visited) << 16);
        let mut loads = Loads { fabric, router: hop.router, flows };
        let choice = routing.route(&mut hop, &mut loads);
        let link = fabric.port_index(hop.router, choice.port);
        links.push(link.number());
        match fabric.ports().get(link.index())?.peer {
            Peer::Router { router, port } => (hop.router, hop.in_port) = (router, port),
            Peer::Terminal(terminal) => {
                let routers = u32::from(hop.visited) + 1;
                return (terminal == destination).then_some((Path { links, routers, spreads }, fixed));
            }
            Peer::None => return None,
        }
        (hop.vc, hop.state) = (choice.vc, choice.state);
        hop.visited += 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FlowConfig, FlowSetup, context::context, rules::Rules};
    use fabric::routing::{Choice, Facts};
    use model::{
        samples::{int, link, routing, topology},
        setup::{Measure, Until},
    };
    use std::sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    };

    /// Spreads what goes to other terminals than the first, to which there is one path; counts how often it is asked.
    struct OneWay {
        inner: Arc<dyn Routing>,
        asked: AtomicU64,
    }

    impl Routing for OneWay {
        fn vcs(&self) -> u8 {
            self.inner.vcs()
        }
        fn route(&self, hop: &mut Hop, congestion: &mut dyn Congestion) -> Choice {
            if hop.destination != TerminalId::new(0) {
                return self.inner.route(hop, congestion);
            }
            let mut out = Vec::new();
            self.inner.options(hop, &mut out);
            out[0]
        }
        fn options(&self, hop: &Hop, out: &mut Vec<Choice>) {
            self.asked.fetch_add(1, Ordering::Relaxed);
            self.inner.options(hop, out);
            if hop.destination == TerminalId::new(0) {
                out.truncate(1);
            }
        }
        fn facts(&self) -> Facts {
            Facts::OBLIVIOUS
        }
    }

    /// With cross-traffic a message is divided if the way back is: that it cannot be is found out once for a pair.
    #[test]
    fn a_pair_with_one_way_back_is_asked_about_once() {
        let fabric = topology("fat-tree", &[("k", int(4)), ("levels", int(2))]);
        let up = [("up", base::param::Value::Text("random".to_owned()))];
        let inner = routing(&fabric, "nearest-common-ancestor", &up);
        let one_way = Arc::new(OneWay { inner, asked: AtomicU64::new(0) });
        let setup = FlowSetup {
            routing: Some(Arc::clone(&one_way) as Arc<dyn Routing>),
            change: None,
            links: vec![link(1_000_000_000, 1000, 2, 1024); fabric.classes().len()],
            jobs: Vec::new(),
            config: FlowConfig::new(Rules::cm02()),
            seed: 1,
            until: Until::Time(1_000_000_000),
            warmup: 0,
            measure: Measure::default(),
            check: false,
            energy: None,
            node: None,
            fabric,
        };
        let cx = context(&setup).expect("a setup that can be run");
        let mut sharing = Sharing::new(cx.config.rules.clone(), 0);
        let mut network = Network::new(&cx, &mut sharing);
        let (source, destination) = (TerminalId::new(0), TerminalId::new(15));
        let pair = Pair { source, destination, row: network.pair(source, destination) };
        let mut asked = |identity: u64| {
            one_way.asked.store(0, Ordering::Relaxed);
            network.route(&cx, &mut sharing, pair, identity).expect("there is a way");
            one_way.asked.load(Ordering::Relaxed)
        };
        let (first, second) = (asked(0), asked(1));
        // Two walks: there and back, of three routers each.
        assert!(first > 10 && second <= 6, "{first} {second}");
        assert!(network.spreads && !network.evenly);
    }
}
