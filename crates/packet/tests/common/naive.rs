//! The window rules once more, as plainly as can be: one heap of arrivals, credits, hand-overs and starts, each an event
//! of its own, and one structure for the whole network. Nothing is put off, nothing is shared with the model but the
//! fabric, the routing, the traffic, and the order of simultaneous arrivals.

use super::Seen;
use base::{
    index::{ChannelId, PortId, RankId, RouterId, TerminalId},
    rng::{Purpose, Stream},
    time::Ps,
};
use engine::key::Key;
use fabric::{
    graph::Peer,
    routing::{Choice, Congestion, Hop},
};
use model::setup::LinkParams;
use packet::{Setup, adapter::delay::Delay, config::RoutePer};
use std::{
    cmp::Reverse,
    collections::{BTreeMap, BinaryHeap, VecDeque},
};

/// Marks the size of a reply that waits.
const REPLY: u64 = 1 << 63;

/// What happens. At one instant: credits, then arrivals by key, then hand-overs, then starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Credit { link: usize, vc: usize },
    Arrive { key: Key, chunk: usize },
    HandOver { terminal: usize },
    Start { link: usize },
}

#[derive(Default)]
struct Vc {
    /// Chunks that are accepted, then those that wait for room.
    pending: VecDeque<usize>,
    queued: VecDeque<usize>,
    occupancy: u64,
}

struct Port {
    link: LinkParams,
    delay: Ps,
    capacity: u64,
    vcs: Vec<Vc>,
    /// When it is free, in picoseconds times the rate's numerator.
    free: u128,
    last_vc: usize,
    start_set: bool,
    sent: u32,
}

impl Port {
    fn per_ps(&self) -> u128 {
        u128::from(self.link.bandwidth.ratio().0)
    }

    fn rounded(&self) -> Ps {
        ((2 * self.free + self.per_ps()) / (2 * self.per_ps())) as Ps
    }

    /// Time of some bytes in the units of `free`.
    fn span(&self, bytes: u64) -> u128 {
        u128::from(bytes) * 1_000_000_000_000 * u128::from(self.link.bandwidth.ratio().1)
    }

    fn backlog(&self) -> u64 {
        self.vcs.iter().map(|v| v.occupancy + v.queued.len() as u64).sum()
    }
}

struct Chunk {
    packet: usize,
    index: u64,
    state: u32,
    visited: u16,
    /// Link and VC of the buffer that it is in, or that is reserved for it.
    buffer: (usize, usize),
}

struct Packet {
    id: u64,
    destination: u32,
    bytes: u64,
    chunks: u64,
    message: (u32, u64, Ps),
    start: Ps,
    delivered: u64,
    disordered: bool,
    hops: u16,
    last_arrival: Ps,
}

/// A message that waits: created, destination terminal, bytes.
type Waiting = (Ps, u32, u64);

#[derive(Default)]
struct Terminal {
    upcoming: Option<Waiting>,
    index: u64,
    posts: VecDeque<Waiting>,
    /// Message being cut: created, destination, bytes left, number, packets.
    cutting: Option<(Ps, u32, u64, u32, u64)>,
    queue: VecDeque<usize>,
    /// `None` while the queue is full.
    request: Option<Ps>,
    handover_set: Option<Ps>,
    packets: u64,
    messages: u32,
    received: BTreeMap<u32, u64>,
}

/// The naive simulator.
pub struct Naive<'a> {
    setup: &'a Setup,
    tie_seed: u64,
    heap: BinaryHeap<Reverse<(Ps, Event)>>,
    ports: Vec<Port>,
    terminals: Vec<Terminal>,
    chunks: Vec<Chunk>,
    packets: Vec<Packet>,
    trails: BTreeMap<(u64, u16), Choice>,
    open: BTreeMap<(u32, u32), u64>,
    rank: BTreeMap<u32, (usize, RankId)>,
    /// What happened, in order of time.
    pub seen: Vec<Seen>,
}

struct View<'a> {
    ports: &'a [Port],
    chunk: u64,
}

impl Congestion for View<'_> {
    fn backlog(&mut self, port: PortId) -> u64 {
        self.ports[port.index()].backlog() * self.chunk
    }
}

impl<'a> Naive<'a> {
    pub fn new(setup: &'a Setup, tie_seed: u64) -> Self {
        let fabric = &*setup.fabric;
        let port = |link: LinkParams, router_delay: Ps| Port {
            link,
            delay: router_delay + link.latency,
            capacity: link.vc_buffer / u64::from(setup.packet.chunk),
            vcs: (0..setup.packet.vcs).map(|_| Vc::default()).collect(),
            free: 0,
            last_vc: usize::from(setup.packet.vcs) - 1,
            start_set: false,
            sent: 0,
        };
        let outputs =
            fabric.ports().iter().map(|p| port(setup.links[usize::from(p.class)], setup.packet.router_delay));
        let injection = fabric.attachments().iter().map(|_| port(setup.links[0], 0));
        let mut naive = Self {
            tie_seed,
            heap: BinaryHeap::new(),
            ports: outputs.chain(injection).collect(),
            terminals: fabric
                .attachments()
                .iter()
                .map(|_| Terminal { request: Some(0), ..Terminal::default() })
                .collect(),
            chunks: Vec::new(),
            packets: Vec::new(),
            trails: BTreeMap::new(),
            open: BTreeMap::new(),
            rank: BTreeMap::new(),
            seen: Vec::new(),
            setup,
        };
        for (job, j) in setup.jobs.iter().enumerate() {
            for (rank, &terminal) in j.placement.iter().enumerate() {
                naive.rank.insert(terminal.number(), (job, RankId::from_index(rank)));
            }
        }
        for terminal in 0..naive.terminals.len() {
            naive.read(terminal, 0);
            naive.set_handover(terminal);
        }
        naive
    }

    /// Everything before `end`; true if nothing is left to happen.
    pub fn run(&mut self, end: Ps) -> bool {
        while let Some(&Reverse((time, event))) = self.heap.peek() {
            if time >= end {
                return false;
            }
            self.heap.pop();
            match event {
                Event::Credit { link, vc } => self.credit(link, vc, time),
                Event::Arrive { chunk, .. } => self.arrive(chunk, time),
                Event::HandOver { terminal } => self.hand_over(terminal, time),
                Event::Start { link } => self.start(link, time),
            }
        }
        true
    }

    /// Occupancy by link and VC.
    pub fn occupancy(&self) -> Vec<Vec<u64>> {
        self.ports.iter().map(|p| p.vcs.iter().map(|v| v.occupancy).collect()).collect()
    }

    /// Chunks put on each link.
    pub fn sent(&self) -> Vec<u32> {
        self.ports.iter().map(|p| p.sent).collect()
    }

    fn push(&mut self, time: Ps, event: Event) {
        self.heap.push(Reverse((time, event)));
    }

    fn injection(&self, terminal: usize) -> usize {
        self.setup.fabric.ports().len() + terminal
    }

    fn ranked(&self, terminal: usize) -> Option<(usize, RankId)> {
        self.rank.get(&(terminal as u32)).copied()
    }

    /// Reads the next message of a terminal's rank; `previous` is when the one before was created.
    fn read(&mut self, terminal: usize, previous: Ps) {
        let Some((job, rank)) = self.ranked(terminal) else { return };
        let job = &self.setup.jobs[job];
        let t = &mut self.terminals[terminal];
        let message = job.work.traffic().expect("patterns only").message(rank, t.index, previous);
        t.index += 1;
        t.upcoming =
            message.map(|m| (m.time + job.start, job.placement[m.destination.index()].number(), m.bytes));
    }

    fn set_handover(&mut self, terminal: usize) {
        let t = &self.terminals[terminal];
        let waiting = t.posts.iter().chain(&t.upcoming).map(|w| w.0).min();
        let Some(created) = t.cutting.map(|c| c.0).or(waiting) else { return };
        let Some(request) = t.request else { return };
        let config = &self.setup.packet;
        let adapter = Delay::new(config.adapter_delay, config.adapter_jitter, self.setup.seed);
        let number = t.messages - u32::from(t.cutting.is_some());
        let at = (created + adapter.of(TerminalId::new(terminal as u32), number)).max(request);
        self.terminals[terminal].handover_set = Some(at);
        self.push(at, Event::HandOver { terminal });
    }

    fn hand_over(&mut self, terminal: usize, now: Ps) {
        let (packet_size, chunk_size) =
            (u64::from(self.setup.packet.packet), u64::from(self.setup.packet.chunk));
        let injection = self.injection(terminal);
        if self.terminals[terminal].handover_set != Some(now) {
            return; // an earlier plan
        }
        if self.terminals[terminal].cutting.is_none() {
            let t = &mut self.terminals[terminal];
            let posted = t.posts.front().map_or(Ps::MAX, |p| p.0);
            let (created, destination, bytes) = match t.upcoming {
                Some(next) if next.0 < posted => {
                    let start = self.ranked(terminal).map_or(0, |(job, _)| self.setup.jobs[job].start);
                    self.read(terminal, next.0 - start);
                    next
                }
                _ => t.posts.pop_front().expect("a hand-over has a message"),
            };
            let t = &mut self.terminals[terminal];
            let (reply, bytes) = (bytes >> 63, bytes & !REPLY);
            let packets = bytes.div_ceil(packet_size).max(1);
            t.cutting = Some((created, destination, bytes, t.messages | (reply as u32) << 31, packets));
            t.messages += 1;
        }
        let t = &mut self.terminals[terminal];
        let (created, destination, left, number, packets) = t.cutting.expect("just taken");
        let bytes = left.min(packet_size);
        t.cutting = (left > bytes).then_some((created, destination, left - bytes, number, packets));
        let id = (terminal as u64) << 32 | t.packets;
        t.packets += 1;
        let chunks = bytes.div_ceil(chunk_size).max(1);
        for index in 0..chunks {
            let packet = self.packets.len();
            t.queue.push_back(self.chunks.len());
            self.chunks.push(Chunk { packet, index, state: 0, visited: 0, buffer: (injection, 0) });
        }
        self.packets.push(Packet {
            id,
            destination,
            bytes,
            chunks,
            message: (number, packets, created),
            start: 0,
            delivered: 0,
            disordered: false,
            hops: 0,
            last_arrival: 0,
        });
        self.seen.push(Seen::Created { time: now, id, bytes });
        let port = &self.ports[injection];
        let full = t.queue.len() as u64 * chunk_size >= port.link.vc_buffer;
        t.request = if full { None } else { Some(now + (port.span(bytes) / port.per_ps()) as Ps) };
        t.handover_set = None;
        self.set_handover(terminal);
        self.set_start(injection, now);
    }

    /// Bytes that a chunk takes on links: whole chunks, unless the packet is smaller than one.
    fn length(&self, chunk: usize) -> u64 {
        self.packets[self.chunks[chunk].packet].bytes.clamp(1, u64::from(self.setup.packet.chunk))
    }

    /// Plans the next start of a port, if it has something to start and no plan.
    fn set_start(&mut self, link: usize, now: Ps) {
        let ports = self.setup.fabric.ports().len();
        let port = &self.ports[link];
        let ready = if link < ports {
            port.vcs.iter().any(|v| !v.pending.is_empty())
        } else {
            !self.terminals[link - ports].queue.is_empty() && port.vcs[0].occupancy < port.capacity
        };
        if ready && !port.start_set {
            let at = port.rounded().max(now);
            self.ports[link].start_set = true;
            self.push(at, Event::Start { link });
        }
    }

    fn start(&mut self, link: usize, now: Ps) {
        let ports = self.setup.fabric.ports().len();
        let count = self.ports[link].vcs.len();
        let chunk = if link < ports {
            let port = &mut self.ports[link];
            let vc =
                (1..=count).map(|n| (port.last_vc + n) % count).find(|&vc| !port.vcs[vc].pending.is_empty());
            port.last_vc = vc.expect("a start has a chunk");
            port.vcs[port.last_vc].pending.pop_front().expect("not empty")
        } else {
            self.ports[link].vcs[0].occupancy += 1;
            self.terminals[link - ports].queue.pop_front().expect("a start has a chunk")
        };
        let length = self.length(chunk);
        let port = &mut self.ports[link];
        port.start_set = false;
        if port.rounded() < now {
            port.free = u128::from(now) * port.per_ps();
        }
        port.free += port.span(length);
        let at = port.rounded() + port.delay;
        let identity = (link as u64) << 32 | u64::from(port.sent);
        port.sent += 1;
        let one = (port.span(length) / port.per_ps()) as Ps;
        let key = Key::new(at, 1, identity, self.tie_seed);
        self.push(at, Event::Arrive { key, chunk });
        if link >= ports {
            let c = &self.chunks[chunk];
            if c.index == 0 {
                self.packets[c.packet].start = now;
            }
            let (buffer, chunk_size) = (self.ports[link].link.vc_buffer, u64::from(self.setup.packet.chunk));
            let t = &mut self.terminals[link - ports];
            if t.request.is_none() && (t.queue.len() as u64) * chunk_size < buffer {
                t.request = Some(now + one);
                self.set_handover(link - ports);
            }
        }
        self.set_start(link, now);
    }

    fn credit(&mut self, link: usize, vc: usize, now: Ps) {
        let row = &mut self.ports[link].vcs[vc];
        row.occupancy -= 1;
        if let Some(chunk) = row.queued.pop_front() {
            self.accept(link, vc, chunk, now);
        }
        self.set_start(link, now);
    }

    fn accept(&mut self, link: usize, vc: usize, chunk: usize, now: Ps) {
        let (port, c) = (&mut self.ports[link], &mut self.chunks[chunk]);
        port.vcs[vc].occupancy += 1;
        assert!(port.vcs[vc].occupancy <= port.capacity);
        port.vcs[vc].pending.push_back(chunk);
        let before = std::mem::replace(&mut c.buffer, (link, vc));
        let (id, index) = (self.packets[c.packet].id, c.index);
        let vc = ChannelId::new(vc as u8);
        self.seen.push(Seen::Accepted { time: now, link: link as u32, vc, id, index });
        self.set_start(link, now);
        self.release(before, now);
    }

    fn release(&mut self, buffer: (usize, usize), now: Ps) {
        let (link, vc) = buffer;
        self.push(now + self.ports[link].link.credit_delay, Event::Credit { link, vc });
    }

    fn arrive(&mut self, chunk: usize, now: Ps) {
        let fabric = &*self.setup.fabric;
        let buffer = self.chunks[chunk].buffer;
        let link = buffer.0;
        let end = match fabric.ports().get(link) {
            Some(port) => port.peer,
            None => {
                let (router, port) = fabric.attachments()[link - fabric.ports().len()];
                Peer::Router { router, port }
            }
        };
        let (router, in_port) = match end {
            Peer::Router { router, port } => (router, port),
            Peer::Terminal(t) => {
                self.release(buffer, now);
                return self.deliver(t.number(), chunk, now);
            }
            Peer::None => unreachable!("nothing is there"),
        };
        let choice = self.route(router.number(), in_port.number(), chunk);
        let out = fabric.port_index(router, choice.port).index();
        self.chunks[chunk].state = choice.state;
        self.chunks[chunk].visited += 1;
        let (capacity, vc) = (self.ports[out].capacity, choice.vc.index());
        let row = &mut self.ports[out].vcs[vc];
        if row.queued.is_empty() && row.occupancy < capacity {
            self.accept(out, vc, chunk, now);
        } else {
            row.queued.push_back(chunk);
        }
    }

    fn route(&mut self, router: u32, in_port: u32, chunk: usize) -> Choice {
        let setup = self.setup;
        let c = &self.chunks[chunk];
        let packet = &self.packets[c.packet];
        let follow = setup.packet.route_per == RoutePer::Packet;
        if follow && c.index > 0 && !setup.routing.facts().oblivious {
            return self.trails[&(packet.id, c.visited)];
        }
        let decision = if follow { 0 } else { c.index };
        let mut hop = Hop {
            router: RouterId::new(router),
            in_port: PortId::new(in_port),
            vc: ChannelId::new(c.buffer.1 as u8),
            visited: c.visited,
            source: TerminalId::new((packet.id >> 32) as u32),
            destination: TerminalId::new(packet.destination),
            state: c.state,
            random: Stream::new(setup.seed, Purpose::Route, packet.id)
                .at(decision << 32 | u64::from(c.visited) << 16),
        };
        let base = setup.fabric.first_port(RouterId::new(router)).index();
        let mut view = View { ports: &self.ports[base..], chunk: u64::from(setup.packet.chunk) };
        let choice = setup.routing.route(&mut hop, &mut view);
        if follow {
            self.trails.insert((packet.id, c.visited), choice);
        }
        choice
    }

    fn deliver(&mut self, terminal: u32, chunk: usize, now: Ps) {
        let c = &self.chunks[chunk];
        let p = &mut self.packets[c.packet];
        assert_eq!(p.destination, terminal);
        p.disordered |= c.index != p.delivered;
        p.delivered += 1;
        if c.index + 1 == p.chunks {
            (p.hops, p.last_arrival) = (c.visited, now);
        }
        if p.delivered < p.chunks {
            return;
        }
        let Packet { id, start, hops, last_arrival, disordered, message, .. } = *p;
        let (source, (number, packets, created)) = ((id >> 32) as u32, message);
        self.seen.push(Seen::Delivered { time: now, id, start, last_arrival, hops, disordered });
        let left = self.open.entry((source, number)).or_insert(packets);
        *left -= 1;
        if *left > 0 {
            return;
        }
        self.seen.push(Seen::Message { time: now, created, source, destination: terminal, number });
        let Some((job, rank)) = self.ranked(terminal as usize) else { return };
        let job = &self.setup.jobs[job];
        let from = self.rank[&source].1;
        // Replies are counted over all sources.
        let is_reply = number >> 31 == 1;
        let from_whom = if is_reply { u32::MAX } else { source };
        let index = self.terminals[terminal as usize].received.entry(from_whom).or_default();
        *index += 1;
        let traffic = job.work.traffic().expect("patterns only");
        let (answer, mark) = match is_reply {
            _ if !traffic.closed_loop() => (None, 0),
            true => (traffic.next_request(rank, *index - 1), 0),
            false => (traffic.reply(rank, from, *index - 1), u64::from(traffic.requests()) * REPLY),
        };
        if let Some((to, bytes)) = answer {
            let to = job.placement[to.index()].number();
            self.terminals[terminal as usize].posts.push_back((now, to, bytes | mark));
            self.set_handover(terminal as usize);
        }
    }
}
