//! From a fabric with its routing, or a platform, to links and routes that flows share.

pub use super::pair::{Message, Pair};
use super::{
    by_load::{self, Asked},
    changes::BandwidthChange,
    context::Context,
    divide::{Division, Single, divide},
    fine_time::FineTime,
    sharing::{LinkChange, Policy, Sharing},
    turns::{Row, Turns},
    walk::{Loads, Path, Routed, WHOLE, walk},
};
use base::{
    index::{LinkId, TerminalId},
    rng::{Purpose, Stream},
};
use engine::state::map::Map;
use fabric::{
    graph::{Fabric, Peer},
    platform::{Event, Passage, Platform, Profile},
};

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
    /// Messages on each of the solver's links, in parts of [`WHOLE`]; kept only for routings that look at it.
    flows: Option<Vec<u32>>,
    random: Stream,
    /// The links failed: the routing after it holds.
    pub after: bool,
    /// The routing had a choice for some message that took one path as a whole.
    pub spreads: bool,
    /// Some message was divided equally over paths.
    pub evenly: bool,
    /// Some message was divided over paths as the routing chooses by load.
    pub by_load: bool,
    /// Messages that would be divided over too many links; one whose path fails counts again.
    pub wide: u64,
    /// Why a pair's messages are not divided, if that is known.
    whole: Vec<Option<Single>>,
    /// Whether each of a pair's messages asks for its parts, if that is known.
    asks: Vec<Option<bool>>,
    /// Messages whose turn it is, while they are asked again.
    turns: Vec<(u32, Row)>,
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
            asks: Vec::new(),
            turns: Vec::new(),
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
        self.asks.push(None);
        pair
    }

    /// True if routings look at what is on the links: ends and beginnings of messages are counted, and may divide others anew.
    #[must_use]
    pub fn follows_load(&self) -> bool {
        self.flows.is_some()
    }

    /// Messages on each of the solver's links, in parts of [`WHOLE`], as a routing by load sees them.
    #[must_use]
    pub fn counted(&self) -> Option<&[u32]> {
        self.flows.as_deref()
    }

    /// Plants a fault: a link has another count.
    #[cfg(test)]
    pub fn count_falsely(&mut self, link: usize, by: i32) {
        if let Some(flows) = &mut self.flows {
            flows[link] = flows[link].saturating_add_signed(by);
        }
    }

    /// The route of a message of a pair.
    ///
    /// # Errors
    /// If there is none.
    pub fn route(
        &mut self,
        cx: &Context,
        sharing: &mut Sharing,
        ends: Pair,
        message: Message,
    ) -> Result<u32, Lost> {
        let (Pair { source, destination, row: pair }, identity) = (ends, message.identity);
        let known = self.routes[pair as usize];
        if known != NONE {
            return Ok(known);
        }
        if self.asks(cx, ends, identity) {
            match self.asked(cx, sharing, ends, message)? {
                Some((there, back)) => return Ok(self.add_asked(cx, sharing, &there, &back)),
                // Too many links for one message are too many for all of its pair.
                None => {
                    (self.asks[pair as usize], self.whole[pair as usize]) = (Some(false), Some(Single::Wide))
                }
            }
        }
        let (path, fixed) = self.path(cx, source, destination, identity)?;
        // Where all messages take this path nothing is divided, so that the routing need not be asked again.
        if !fixed && let Some(route) = self.divided(cx, sharing, ends, identity) {
            return Ok(route);
        }
        self.wide += u64::from(self.whole[pair as usize] == Some(Single::Wide));
        self.spreads |= path.spreads;
        let back = if sharing.has_cross_traffic() {
            self.path(cx, destination, source, identity)?.0
        } else {
            Path::default()
        };
        let between = cx.config.router_delay as f64 * 1e-12 * f64::from(path.routers) + path.between;
        let links = |mut links: Vec<u32>| {
            links.iter_mut().for_each(|link| *link = self.shared[*link as usize]);
            links
        };
        let route = sharing.route(links(path.links), &links(back.links), between);
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
        if !cx.config.divided || self.whole[row as usize].is_some() {
            return None;
        }
        let there = self.division(cx, source, destination, identity);
        let back = || match sharing.has_cross_traffic() {
            true => self.division(cx, destination, source, identity),
            false => Ok(Division { links: Vec::new(), routers: 0.0, alike: true }),
        };
        let both = there.and_then(|there| Ok((there, back()?)));
        // If either way cannot be divided it is remembered: the next message of the pair would ask in vain again.
        self.whole[row as usize] = both.as_ref().err().copied();
        let (there, back) = both.ok()?;
        self.evenly = true;
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
        source: TerminalId,
        destination: TerminalId,
        identity: u64,
    ) -> Result<Division, Single> {
        let routed = self.routed(cx).ok_or(Single::Undivided)?;
        division(routed, source, destination, &packet(self.random, identity), cx.config.max_links)
    }

    /// The network and its routing as they are now; none of a platform.
    fn routed<'a>(&self, cx: &'a Context) -> Option<Routed<'a>> {
        Some(match cx.change.as_ref().filter(|_| self.after) {
            Some(change) => Routed { fabric: &change.fabric, routing: &*change.routing },
            None => Routed { fabric: &cx.fabric, routing: cx.routing.as_deref()? },
        })
    }

    /// True if messages of a pair are divided by load: the routing looks at it and has a choice.
    fn asks(&mut self, cx: &Context, Pair { source, destination, row }: Pair, identity: u64) -> bool {
        if self.flows.is_none() || !cx.config.divided {
            return false;
        }
        if let Some(known) = self.asks[row as usize] {
            return known;
        }
        let routed = self.routed(cx).filter(|routed| !routed.routing.facts().oblivious);
        let random = packet(self.random, identity)(0);
        let first = routed.and_then(|routed| walk(routed, source, destination, random, None));
        let asks = first.is_some_and(|(_, fixed)| !fixed);
        self.asks[row as usize] = Some(asks);
        asks
    }

    /// True if a message that just found its route may ask again: it has more than one packet, and its pair asks.
    #[must_use]
    pub fn may_ask_again(&self, pair: Pair, message: Message) -> bool {
        message.packets > 1 && self.asks[pair.row as usize] == Some(true)
    }

    /// The parts of a message as its packets find them, there and back. None if it would have too many links.
    fn asked(
        &mut self,
        cx: &Context,
        sharing: &Sharing,
        Pair { source, destination, .. }: Pair,
        Message { identity, packets }: Message,
    ) -> Result<Option<(Asked, Asked)>, Lost> {
        let lost = Lost { source, destination };
        let routed = self.routed(cx).ok_or(lost)?;
        let (random, on) = (packet(self.random, identity), self.flows.as_mut().ok_or(lost)?);
        let mut ask =
            |from, to| by_load::ask(routed, from, to, &random, packets, &self.shared, on).ok_or(lost);
        let there = ask(source, destination)?;
        let back = if sharing.has_cross_traffic() { ask(destination, source)? } else { Asked::default() };
        let wide = there.links.len().max(back.links.len()) as u64 > cx.config.max_links;
        Ok((!wide).then_some((there, back)))
    }

    /// A route for one message over the paths that its packets found.
    fn add_asked(&mut self, cx: &Context, sharing: &mut Sharing, there: &Asked, back: &Asked) -> u32 {
        self.by_load = true;
        let between = cx.config.router_delay as f64 * 1e-12 * there.routers();
        let route = sharing.divided(&there.parts(), &back.parts(), between);
        sharing.pass(route);
        route
    }

    /// Lets messages whose turn it is ask again, and moves those whose parts differ. To be called where shares are found next. Tells the new routes
    /// of messages, by tag.
    pub fn divide_again(
        &mut self,
        cx: &Context,
        sharing: &mut Sharing,
        turns: &mut Turns,
        at: FineTime,
        moved: &mut dyn FnMut(u32, u32),
    ) {
        let mut whose = std::mem::take(&mut self.turns);
        turns.take(&mut whose);
        for &(tag, Row { flow, pair, message, .. }) in &whose {
            // Links may have failed, and the routing after it have no choice.
            if !self.asks(cx, pair, message.identity) {
                continue;
            }
            let old = sharing.route_of_flow(flow);
            self.count(sharing, old, false);
            let found = self.asked(cx, sharing, pair, message).ok().flatten();
            let other = found.filter(|(there, _)| there.differs(sharing.route_of(old).parts(WHOLE)));
            let new = other.map_or(old, |(there, back)| self.add_asked(cx, sharing, &there, &back));
            if new != old && sharing.redivide(at, flow, new) {
                self.count(sharing, new, true);
                sharing.forget(old);
                moved(tag, new);
            } else {
                self.count(sharing, old, true);
                if new != old {
                    sharing.forget(new);
                }
            }
        }
        self.turns = whose;
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
            let Passage { links, between } = platform.passage(source, destination).ok_or(lost)?;
            return Ok((Path { links, between, ..Path::default() }, true));
        }
        let routed = self.routed(cx).ok_or(lost)?;
        let loads = self.flows.as_deref().map(|parts| Loads { shared: &self.shared, parts });
        walk(routed, source, destination, self.random.owned_by(identity), loads).ok_or(lost)
    }

    /// Counts a flow that begins or ends on its route, for routings that look at it.
    pub fn count(&mut self, sharing: &Sharing, route: u32, begins: bool) {
        if let Some(flows) = &mut self.flows {
            for (link, part) in sharing.route_of(route).parts(WHOLE) {
                let count = &mut flows[link as usize];
                debug_assert!(begins || *count >= part, "a flow ends where it began");
                *count = if begins { count.saturating_add(part) } else { count.saturating_sub(part) };
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
            self.asks.fill(None);
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

/// Random streams of a message's packets.
fn packet(random: Stream, identity: u64) -> impl Fn(u64) -> Stream {
    move |n| random.owned_by(identity ^ n << 24)
}

/// The parts of a message on the paths that a routing spreads over without a look at the load. `random` are the streams of packets; `most` is the
/// number of links that it may have.
///
/// # Errors
/// Why it is not divided: all packets take one path, the routing looks at the load, or paths are too many.
pub fn division(
    routed: Routed<'_>,
    source: TerminalId,
    destination: TerminalId,
    random: &dyn Fn(u64) -> Stream,
    most: u64,
) -> Result<Division, Single> {
    if !routed.routing.facts().oblivious {
        return Err(Single::Undivided);
    }
    let walk = |n: u64| walk(routed, source, destination, random(n), None);
    let (first, fixed) = walk(0).ok_or(Single::Undivided)?;
    // Paths by a hash of the pair are one path, though the routing names several: other packets are asked.
    if fixed || !first.spreads || (1..SAMPLES).all(|n| walk(n).is_some_and(|w| w.0.links == first.links)) {
        return Err(Single::Undivided);
    }
    divide(routed, source, destination, random(0), usize::try_from(most).unwrap_or(usize::MAX))
}

/// Solver's links of a platform are numbered as the platform's; the last is the one by which hosts reach themselves.
pub fn add_platform(platform: &Platform, sharing: &mut Sharing) -> Vec<u32> {
    let loopback = Platform::loopback_link();
    let links = platform.links.iter().chain([&loopback]);
    let shared = links.map(|l| sharing.link(l.bandwidth, l.latency, l.policy)).collect();
    let zero = FineTime::at(0);
    let event = |e: &Event| LinkChange::bandwidth(zero.after(e.time), e.link, e.bandwidth);
    let changes = |p: &Profile| {
        let (link, every) = (p.link, p.period);
        let change = move |&(time, what): &_| LinkChange { at: zero.after(time), link, what, every };
        p.changes.iter().map(change).collect::<Vec<_>>()
    };
    let profiles = platform.profiles.iter().flat_map(changes);
    sharing.schedule(platform.events.iter().map(event).chain(profiles).collect());
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
    let change =
        |c: &BandwidthChange| LinkChange::bandwidth(FineTime::at(c.at), shared[c.link.index()], c.bandwidth);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FlowConfig, context::context, rules::Rules};
    use fabric::routing::{Choice, Congestion, Facts, Hop, Routing};
    use model::samples::{int, open_loop, routing, topology};
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
        let routing = Arc::clone(&one_way) as Arc<dyn Routing>;
        let none = open_loop(|_, _, _| None);
        let setup = crate::samples::setup(&fabric, Some(routing), none, FlowConfig::new(Rules::cm02()));
        let cx = context(&setup).expect("a setup that can be run");
        let mut sharing = Sharing::new(cx.config.rules.clone(), 0);
        let mut network = Network::new(&cx, &mut sharing);
        let (source, destination) = (TerminalId::new(0), TerminalId::new(15));
        let pair = Pair { source, destination, row: network.pair(source, destination) };
        let mut asked = |identity: u64| {
            one_way.asked.store(0, Ordering::Relaxed);
            network.route(&cx, &mut sharing, pair, Message { identity, packets: 1 }).expect("there is a way");
            one_way.asked.load(Ordering::Relaxed)
        };
        let (first, second) = (asked(0), asked(1));
        // Two walks: there and back, of three routers each.
        assert!(first > 10 && second <= 6, "{first} {second}");
        assert!(network.spreads && !network.evenly);
    }
}
