//! The network as handlers read it: resolved timings, and each partition's lines. Nothing here changes during a run.

use super::{
    adapter::{
        config::{Adapter, Injection},
        delay::Delay,
    },
    config::{PacketConfig, RoutePer},
    congestion_control::CongestionControl,
    losses::Losses,
    multicast::trees::{self, Trees},
    pipeline::Pipeline,
    places::LocalPort,
    rails::Rails,
    routes::Routes,
    services::classes::Services,
    transport::config::Resilience,
};
use crate::{
    hybrid::predicted::Predicted,
    hybrid::{Level, Treatment, learn::Shape, size::SizeClass},
    setup::Setup,
};
use base::{
    index::{Column, LinkId, PortId, RankId, RouterId, TerminalId},
    param::Values,
    rate::{Bandwidth, Span},
    rng::{Purpose, Stream},
    time::Ps,
};
use engine::domain::Lane;
use fabric::{
    graph::{Fabric, Peer},
    metrics::Hops,
};
use model::{
    energy::{Energy, Sleep},
    setup::{JobSetup, LinkParams},
    throughput,
};
use ranks::roster::{Roster, Rules};
use std::sync::Arc;
use workload::{interval::Interval, registry::Work};

/// Timings of a class of directed links, as their upstream port uses them.
#[derive(Clone, Debug)]
pub struct Timing {
    bandwidth: Bandwidth,
    /// Denominator of the clocks' fractions.
    pub denominator: u64,
    /// Time of a full chunk.
    pub chunk: Span,
    /// From the end of serialisation to arrival downstream: router delay (not for terminals' outputs) and wire.
    pub delay: Ps,
    /// The wire's part of `delay`.
    pub latency: Ps,
    /// Time of the shortest chunk of the run, rounded down.
    pub shortest: Ps,
    /// From the release of a buffer to the credit's use.
    pub credit_delay: Ps,
    /// How long after the start of a service a port toward another partition may send what started: what it need not promise, since
    /// credits bound the windows.
    pub slack: Ps,
    /// Chunks per VC.
    pub capacity: u32,
}

impl Timing {
    /// Rate, for reports.
    #[must_use]
    pub fn bytes_per_s(&self) -> f64 {
        self.bandwidth.bytes_per_s()
    }

    /// Time of so many bytes, rounded once.
    #[must_use]
    pub fn time_of(&self, bytes: u64) -> Ps {
        self.bandwidth.time_rounded(bytes).unwrap_or(Ps::MAX)
    }

    /// Time of a chunk of `bytes`.
    #[inline]
    pub fn span(&self, bytes: u32, full: u32) -> Span {
        if bytes == full { self.chunk } else { self.bandwidth.time(u64::from(bytes)).unwrap_or_default() }
    }
}

/// What is at the downstream end of a line, seen from one partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// A router of the same partition: its number, its first local port, and the port it comes in by.
    Router {
        /// Number in the fabric.
        router: RouterId,
        /// Its first port in the partition.
        base: LocalPort,
        /// Port of the router.
        in_port: PortId,
        /// Router's local number.
        local: u32,
    },
    /// A terminal of the same partition: its number and local number.
    Terminal {
        /// Number in the fabric.
        terminal: TerminalId,
        /// Its number within the partition.
        local: u32,
    },
    /// Something in another partition.
    Remote {
        /// The partition in which it lives.
        partition: u32,
    },
}

/// A directed link as one of its ends sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    /// Number in the fabric: output port index, or ports + terminal for injection links.
    pub link: LinkId,
    /// Index in [`Network::timings`].
    pub timing: u8,
    /// First local port of the router that it leaves.
    pub own_base: LocalPort,
    /// What stands at its downstream end.
    pub end: End,
}

/// What all partitions share.
pub struct Network {
    /// The graph: routers, terminals and links.
    pub fabric: Arc<Fabric>,
    /// The routing, or those before and after a failure.
    pub routes: Routes,
    /// Which plane messages take.
    pub rails: Rails,
    /// Parameters of the model, as the experiment gives them.
    pub config: PacketConfig,
    /// Keys of `[model]` with their values, those of the router architecture among them.
    pub values: Arc<Values>,
    /// By link class; injection links come last.
    pub timings: Vec<Timing>,
    /// What the jobs do.
    pub work: Vec<Work>,
    /// Start of each job.
    pub start: Vec<Ps>,
    /// Node of each rank, by job: its terminal in the first plane.
    pub placement: Vec<Vec<TerminalId>>,
    /// Job and first rank of each terminal, in every plane; job `u32::MAX` for none.
    pub rank: Column<TerminalId, (u32, RankId)>,
    /// What lots of arbiters are drawn from.
    pub lots: u64,
    /// Trees of messages that routers copy, if there are any.
    pub trees: Option<Trees>,
    /// Chunks of a packet go where the first of them at a router went, without a question. The routing would answer the same: one way per packet, no look at queues, no state, no
    /// change.
    pub follows: bool,
    /// Stream of routing draws; each packet has its own.
    pub route_stream: Stream,
    /// Every chunk of the run is a full one, and nothing else asks for a link's busy time.
    pub uniform: bool,
    /// Bytes of a terminal's queue.
    pub injection_buffer: u64,
    /// Some workload answers deliveries, or someone outside does: they must be events.
    pub reacts: bool,
    /// Of what arrives at terminals, only what may complete a packet need be an event: see [`Port::ripe`](super::rows::Port::ripe).
    pub ripens: bool,
    /// Parts of a packet's latency are added up in units of 2^this ps: 0 unless links are so slow that 32 bits would not do.
    pub part_shift: u32,
    /// Partition of each router.
    pub owner: Column<RouterId, u32>,
    /// Number of partitions.
    pub partitions: u32,
    /// Where each directed link between routers is found by its ends; empty with one partition.
    pub crossings: Vec<Crossing>,
    /// Cycle of clocked routers.
    pub cycle: Ps,
    /// Period of published queues; 0 if the routing reads none.
    pub info_period: Ps,
    /// The ranks of programs.
    pub roster: Arc<Roster>,
    /// Less than any message between terminals of different routers takes: envelopes travel so long. 0 without programs.
    pub message_time: Ps,
    /// How long adapters take for a message.
    pub adapter_delay: Delay,
    /// What adapters do with packets that arrive, if they are described.
    pub adapter: Option<Adapter>,
    /// Time of a full packet on a terminal's link, in whole picoseconds.
    pub packet_pace: Ps,
    /// What a hybrid run needs.
    pub hybrid: Option<Hybrid>,
    /// How messages are sent, if links lose packets.
    pub resilience: Option<Resilience>,
    /// Classes of jobs, if there are any.
    pub services: Option<Services>,
    /// Links between the routers of two terminals, where detours are counted: with windows of the series, in networks of at most [`MOST_COMPARED`] routers.
    pub distances: Option<Hops>,
    /// When links sleep, if they do.
    pub sleep: Option<Sleep>,
    /// Which packets they lose; there if `resilience` is.
    pub losses: Option<Losses>,
    /// Which packets are marked, and what sources do about it.
    pub control: Option<CongestionControl>,
    /// Stream of chances of marks; each packet has its own.
    pub mark_stream: Stream,
    /// Clock of ranks and envelopes.
    pub lane: Lane,
}

/// What handlers of a hybrid run read.
pub struct Hybrid {
    /// Distances between terminals, and the latency that no packet can beat.
    pub shape: Arc<Shape>,
    /// What becomes of the network.
    pub treatment: Treatment,
    /// What is predicted.
    pub level: Level,
    /// Destinations' queues are followed.
    pub queues: bool,
    /// The director looks at sketches of what is handed over.
    pub sketches: bool,
    /// Windows are learned from in batches of this length, to know what their means are worth.
    pub batch: Ps,
    /// Predicted deliveries need no event: nobody answers, and every message is one packet.
    by_tick: bool,
    /// No prediction is shorter.
    floor: Ps,
    /// A planted fault, false but in tests: see [`crate::hybrid::HybridSetup::deliver_zombies`].
    pub deliver_zombies: bool,
}

/// Batches of a window that predictors learn from.
const BATCHES: u64 = 16;

/// Some workload answers deliveries, or someone outside does: packets of other sizes than those of the jobs' messages may come.
fn answers(setup: &Setup) -> bool {
    let answers =
        |j: &JobSetup| j.work.program().is_some() || j.work.traffic().is_some_and(|t| t.closed_loop());
    // Without jobs messages come from outside, and their deliveries are waited for.
    setup.jobs.is_empty() || setup.resilience.is_some() || setup.jobs.iter().any(answers)
}

/// Somebody looks at deliveries when they are: who answers, or notifies sources of marks or of what is taken.
fn reacts(setup: &Setup) -> bool {
    let acknowledged = setup.adapter.and_then(|a| a.injection).is_some_and(|i| i.window > 0);
    answers(setup) || setup.control.is_some() || acknowledged
}

/// True if a run needs none of the features that mode [`Plain`](engine::state::mode::Plain) leaves out: ranks and others who answer what is
/// delivered, predictors, losses and their transport, service classes, adapters that do something, routings
/// whose heads ask for several outputs at once, messages that routers copy, links that fail while the run is under way.
#[must_use]
pub fn is_plain(setup: &Setup) -> bool {
    // Whoever has a transport or congestion control reacts.
    let few = setup.hybrid.is_some() || setup.change.is_some();
    let adapter = setup.packet.adapter_jitter > 0 || setup.adapter.is_some();
    let classes = setup.services.is_some() || setup.routing.facts().escapes.is_some();
    !reacts(setup) && !few && !classes && !adapter && !trees::is_asked(&setup.jobs)
}

impl Network {
    /// The same for a run that is measured: with the distances by which detours are counted, if they are. They take a search from every router.
    #[must_use]
    pub fn measured(mut self, setup: &Setup) -> Self {
        self.distances = counts_detours(setup).then(|| Hops::of(&setup.fabric).ok()).flatten();
        self
    }

    /// From when on a run that is measured from `warmup` to `end` can be steady.
    #[must_use]
    pub fn steady_from(&self, warmup: Ps, end: Ps) -> Ps {
        throughput::steady_from(self.start.iter().copied(), warmup, end)
    }

    /// Resolves a setup.
    #[must_use]
    pub fn new(setup: &Setup, partitions: u32) -> Self {
        let fabric = Arc::clone(&setup.fabric);
        let programs = setup.jobs.iter().any(|j| j.work.program().is_some());
        let config = match setup.resilience {
            // What is lost must be lost whole.
            Some(_) => PacketConfig { route_per: RoutePer::Packet, ..setup.packet },
            None => setup.packet,
        };
        let PacketConfig { eager, control, overhead, .. } = config;
        let rules = Rules { eager, control, overhead, meets: setup.measure.operations, direct: None };
        let reacts = reacts(setup);
        let shortest = if answers(setup) { 1 } else { shortest_chunk(&setup.jobs, &setup.packet) };
        let timing = |l: &LinkParams, router_delay| timing(l, router_delay, &setup.packet, shortest);
        let mut timings: Vec<Timing> =
            setup.links.iter().map(|l| timing(l, setup.packet.router_delay)).collect();
        timings.push(timing(&setup.links[0], 0));
        let cycle =
            timings.iter().map(|t| t.chunk.whole + u64::from(t.chunk.fraction > 0)).min().unwrap_or(1).max(1);
        let early = config.pipeline.map_or(0, |rules| rules.early(config.router_delay, cycle));
        timings[..setup.links.len()].iter_mut().for_each(|timing| timing.delay -= early);
        let credit_delay = timings.iter().map(|t| t.credit_delay).min().unwrap_or(0);
        for timing in &mut timings {
            timing.slack = (timing.shortest + timing.delay).saturating_sub(1 + credit_delay);
        }
        // A chunk onto the terminal's link, one link between routers, and the way out, which takes at least a picosecond.
        let least = |t: &[Timing]| t.iter().map(|t| t.shortest + t.delay).min().unwrap_or(0);
        let (between, terminal) =
            (least(&timings[..setup.links.len()]), least(&timings[setup.links.len()..]));
        let message_time = if programs { between + terminal } else { 0 };
        let mut rank = Column::filled(fabric.terminals() as usize, (u32::MAX, RankId::new(0)));
        for (job, j) in setup.jobs.iter().enumerate() {
            for (r, &node) in j.placement.iter().enumerate() {
                for plane in 0..fabric.planes() {
                    let own = &mut rank[fabric.terminal_in(node, plane)];
                    if own.0 == u32::MAX {
                        *own = (job as u32, RankId::from_index(r));
                    }
                }
            }
        }
        let (own, rest) = timings.split_at(setup.links.len());
        let first = least(rest) + own.first().map_or(0, |t| t.shortest + t.delay);
        let by_tick = !reacts
            && setup.jobs.iter().all(|j| j.message.is_some_and(|m| m <= u64::from(setup.packet.packet)));
        let hybrid = setup.hybrid.as_ref().and_then(|h| {
            // A fabric too large for a table was refused.
            let shape = Arc::new(Shape::new(&fabric, first, between).ok()?);
            let (treatment, level, deliver_zombies) = (h.treatment, h.level, h.deliver_zombies);
            let (queues, sketches, floor) = (h.queues, h.director.sketches, first);
            let batch = (h.window / BATCHES).max(1);
            Some(Hybrid { shape, treatment, level, queues, sketches, batch, by_tick, floor, deliver_zombies })
        });
        let full = timings[timings.len() - 1].span(setup.packet.packet, setup.packet.chunk).whole;
        let sleep = setup.energy.as_ref().and_then(Energy::sleep);
        debug_assert!(partitions > 0, "somebody simulates");
        let routes = Routes::new(setup);
        let together = config.route_per == RoutePer::Packet && !trees::is_asked(&setup.jobs);
        let owner = fabric::partition::split(&fabric, partitions);
        Self {
            crossings: if partitions > 1 { crossings(&fabric, &owner, partitions) } else { Vec::new() },
            follows: together && routes.oblivious() && !routes.stateful() && !routes.change(),
            routes,
            rails: Rails::new(setup),
            config,
            values: Arc::clone(&setup.values),
            part_shift: part_shift(&timings),
            timings,
            work: setup.jobs.iter().map(|j| j.work.clone()).collect(),
            start: setup.jobs.iter().map(|j| j.start).collect(),
            placement: setup.jobs.iter().map(|j| j.placement.clone()).collect(),
            rank,
            lots: base::hash::mix64(setup.seed ^ 0x6c6f_7473),
            trees: Trees::new(setup, Stream::new(setup.seed, Purpose::Route, 0)),
            route_stream: Stream::new(setup.seed, Purpose::Route, 0),
            uniform: shortest == setup.packet.chunk && sleep.is_none(),
            sleep,
            distances: None,
            services: setup.services.clone(),
            injection_buffer: setup.links[0].vc_buffer,
            reacts,
            ripens: reacts
                && setup.packet.router.rules.ripens
                && setup.hybrid.is_none()
                && setup.resilience.is_none(),
            owner,
            partitions,
            fabric,
            cycle,
            info_period: info_period(setup),
            roster: Arc::new(Roster::new(&setup.jobs, rules, setup.node)),
            message_time,
            adapter_delay: Delay::new(config.adapter_delay, config.adapter_jitter, setup.seed),
            adapter: setup.adapter,
            packet_pace: full,
            lane: if hybrid.is_some() { Lane::Steady } else { Lane::Network },
            hybrid,
            losses: setup.resilience.as_ref().map(|r| Losses::new(&r.chances, setup.seed)),
            resilience: setup.resilience.clone(),
            control: setup.control.clone(),
            mark_stream: Stream::new(setup.seed, Purpose::Mark, 0),
        }
    }

    /// How packets leave their terminals, if not as they come and congestion control does not say it.
    #[inline]
    #[must_use]
    pub fn outlet(&self) -> Option<&Injection> {
        self.adapter.as_ref()?.injection.as_ref()
    }

    /// Rules of pipelined routers.
    #[must_use]
    pub fn pipeline(&self) -> Pipeline {
        self.config.pipeline.unwrap_or(Pipeline::of(self.config.router.name))
    }

    /// True if a packet between two terminals that visited so many routers took more than a shortest path has; false where that is not known.
    #[must_use]
    pub fn is_detoured(&self, source: TerminalId, destination: TerminalId, routers: u16) -> bool {
        self.distances.as_ref().is_some_and(|hops| {
            let [from, to] = [source, destination].map(|terminal| self.fabric.node_of(terminal));
            u32::from(routers) > hops.between(from, to) + 1
        })
    }

    /// The longest period of the jobs' traffic, of those that have one.
    #[must_use]
    pub fn period(&self) -> Option<Interval> {
        let periods = self.work.iter().filter_map(|w| w.traffic()?.period());
        periods.max_by_key(|p| p.times(1 << 20))
    }

    /// True if predicted deliveries need no event.
    #[inline]
    #[must_use]
    pub fn runs_by_tick(&self) -> bool {
        self.hybrid.as_ref().is_some_and(|h| h.by_tick)
    }

    /// Shortest time to anything that bypasses the network: predictions and envelopes.
    #[must_use]
    pub fn bypass_time(&self) -> Ps {
        let floor = self.hybrid.as_ref().map_or(1, |h| h.floor);
        if self.message_time > 0 { floor.min(self.message_time) } else { floor }
    }

    /// Packets of a message of so many bytes. What is known to have too many was refused; another one that has them never ends, rather than too soon.
    #[inline]
    #[must_use]
    pub fn packets_of(&self, bytes: u64) -> u32 {
        let packets = bytes.div_ceil(u64::from(self.config.packet)).max(1);
        u32::try_from(packets).unwrap_or(u32::MAX)
    }

    /// Most payload of a packet.
    #[must_use]
    pub fn payload(&self) -> u32 {
        debug_assert!(self.head() < self.config.packet, "a packet holds more than its head");
        self.config.packet - self.head()
    }

    /// Bytes of a packet that are no payload.
    #[must_use]
    pub fn head(&self) -> u32 {
        self.resilience.as_ref().map_or(0, |r| r.head)
    }

    /// Time of a packet of `bytes` on a terminal's link, in whole picoseconds.
    #[must_use]
    pub fn pace_of(&self, bytes: u32) -> Ps {
        self.timings[usize::from(self.injection())].span(bytes, self.config.chunk).whole
    }

    /// Time that packets of together so many bytes take on a terminal's link.
    #[inline]
    #[must_use]
    pub fn link_time(&self, bytes: u64) -> Ps {
        let most = u64::from(self.config.packet);
        if bytes == most {
            return self.packet_pace;
        }
        let rest = (bytes % most) as u32;
        bytes / most * self.packet_pace + if rest > 0 { self.pace_of(rest) } else { 0 }
    }

    /// True if ranks of programs run on it.
    #[inline]
    #[must_use]
    pub fn has_programs(&self) -> bool {
        self.message_time > 0
    }

    /// Class of a packet's message.
    #[inline]
    #[must_use]
    pub fn size_of(&self, packet: &Predicted) -> SizeClass {
        SizeClass::of(packet.bytes, packet.message_packets, self.config.packet)
    }

    /// What a packet takes at least that is alone in the network, or the last packet of a message: what a chunk takes, and all but one of its chunks
    /// on a terminal's link.
    #[must_use]
    pub fn alone(&self, packet: &Predicted) -> Ps {
        let bytes = packet.bytes.min(u64::from(self.config.packet)) as u32;
        let rest = self.pace_of(bytes) - self.pace_of(bytes.min(self.config.chunk));
        let floor = self.hybrid.as_ref().map_or(0, |h| h.shape.floor(packet.source(), packet.destination));
        floor + rest
    }

    /// Index in `timings` of injection links.
    #[must_use]
    pub fn injection(&self) -> u8 {
        (self.timings.len() - 1) as u8
    }

    /// Timing of a directed link by its number.
    #[must_use]
    pub fn timing_of(&self, link: LinkId) -> &Timing {
        let class = self.fabric.ports().get(link.index()).map_or(self.injection(), |p| p.class);
        &self.timings[usize::from(class)]
    }

    /// Time of a full packet on a terminal's link.
    #[must_use]
    pub fn packet_time(&self) -> Ps {
        let timing = &self.timings[usize::from(self.injection())];
        timing.chunk.whole * u64::from(self.config.packet.div_ceil(self.config.chunk))
    }

    /// Partition that a link's upstream end belongs to.
    pub(super) fn upstream_owner(&self, link: LinkId) -> u32 {
        let router = match self.fabric.injected_by(link) {
            None => self.fabric.router_of(link),
            Some(terminal) => self.fabric.router_at(terminal),
        };
        self.owner[router]
    }
}

/// A directed link between routers as the partitions at its ends number it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Crossing {
    /// Local upstream port in the partition that it leaves.
    pub upstream: LocalPort,
    /// Index in [`Local::inbound`](super::local::Local::inbound) of the partition that it enters, if that is another one.
    pub inbound: u32,
}

fn crossings(fabric: &Fabric, owner: &Column<RouterId, u32>, partitions: u32) -> Vec<Crossing> {
    let mut ports = vec![0; partitions as usize];
    let mut entering = vec![0; partitions as usize];
    let mut all = Vec::with_capacity(fabric.ports().len());
    for router in RouterId::first(fabric.routers()) {
        let from = owner[router];
        for port in fabric.ports_of(router) {
            let mut crossing = Crossing { upstream: LocalPort::new(ports[from as usize]), inbound: 0 };
            ports[from as usize] += 1;
            if let Peer::Router { router: next, .. } = port.peer
                && owner[next] != from
            {
                let count = &mut entering[owner[next] as usize];
                crossing.inbound = *count;
                *count += 1;
            }
            all.push(crossing);
        }
    }
    debug_assert_eq!(all.len(), fabric.ports().len(), "every directed link between routers is in the list");
    all
}

/// How often queues are published for a routing that reads them.
fn info_period(setup: &Setup) -> Ps {
    let between = setup.links.iter().skip(1).map(|l| l.latency).min().unwrap_or(0).max(1);
    match (Routes::new(setup).needs_published(), setup.packet.info_delay) {
        (false, _) => 0,
        (true, 0) => between,
        (true, delay) => delay,
    }
}

fn timing(link: &LinkParams, router_delay: Ps, config: &PacketConfig, shortest: u32) -> Timing {
    debug_assert!((1..=config.chunk).contains(&shortest), "no chunk is longer than a full one");
    let time = |bytes: u32| link.bandwidth.time(u64::from(bytes)).unwrap_or_default();
    Timing {
        bandwidth: link.bandwidth,
        denominator: link.bandwidth.denominator(),
        chunk: time(config.chunk),
        delay: router_delay + link.latency,
        latency: link.latency,
        shortest: time(shortest).whole,
        credit_delay: link.credit_delay,
        slack: 0,
        capacity: (link.vc_buffer / u64::from(config.chunk)).min(1 << 24) as u32,
    }
}

/// Unit in which 2^12 times the longest chunk or wire still fits 32 bits, as a power of two.
fn part_shift(timings: &[Timing]) -> u32 {
    let longest = timings.iter().map(|t| t.chunk.whole.max(t.latency)).max().unwrap_or(0);
    (longest.max(1).ilog2() + 1 + 12).saturating_sub(32)
}

/// Most routers of a network in which detours are counted: a table of their distances is small against the rest.
pub const MOST_COMPARED: u32 = 4096;

/// True if the run counts packets that take detours. What a predictor brings has no way.
#[must_use]
pub fn counts_detours(setup: &Setup) -> bool {
    setup.measure.window > 0 && setup.hybrid.is_none() && setup.fabric.routers() <= MOST_COMPARED
}

/// Bytes of the shortest chunk that can occur.
fn shortest_chunk(jobs: &[JobSetup], config: &PacketConfig) -> u32 {
    let of = |message: u64| {
        let rest = message % u64::from(config.packet);
        let packet = if rest > 0 || message == 0 { rest } else { u64::from(config.packet) };
        packet.clamp(1, u64::from(config.chunk)) as u32
    };
    jobs.iter().map(|j| j.message.map_or(1, of)).min().unwrap_or(config.chunk)
}
