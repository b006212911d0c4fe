//! Clocked routers with everything that BookSim's and MARS' have: allocators, speed-ups, delays, speculation, queues at inputs and outputs.
//!
//! State, stages, messages, invariants and cost are in `ROUTERS.md`. One type serves three names: `input-queued` and `output-queued`
//! with a section `[router]`, and `combined`. Source: BookSim 2 `iq_router`; MARS, section 2.3.1. Not modelled: look-ahead in the queues of
//! the next router, pipeline registers of their own, VC allocation together with that of the switch.

mod branches;
mod copies;
mod cycle;
mod exit;
mod options;
mod service;
mod shape;
mod shares;
mod stages;

use super::{
    allocator::{Matching, Request},
    clock::{Clocked, CycleClock, Stage},
};
use crate::{
    config::{Injects, PacketConfig, Rules},
    congestion_control::marks::Queue,
    effects::Fx,
    event::RouterAlarm,
    multicast::trees,
    net::{Channel, Net, Router, Static},
    network::{End, Line, Network},
    pipeline::{FlowControl, Pipeline, Sharing},
    rows::Chunk,
    setup::Setup,
};
use crate::{
    local::Local,
    places::{LocalPort, Upstream, VcRow},
    pools::{ChunkRow, List},
};
use base::{
    hash::{Fingerprint, mix64},
    index::{ChannelId, Column, LinkId, RouterId},
    registry::About,
    time::{NEVER, Ps},
};
use branches::Along;
use engine::state::{
    Journal, NIL, Table,
    mode::{Mode, Undo},
};
use fabric::routing::Choice;
use serde::{Deserialize, Serialize};
use shape::Shape;
use shares::{Sets, Shares};

/// A queue at an input: a virtual channel's, or a virtual channel's for one output.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Unit {
    fifo: List<ChunkRow>,
    /// Output port (local) of the packet in front.
    out: LocalPort,
    /// Routing's memory for the packet.
    state: u32,
    /// No request before this instant; one that is a picosecond after a cycle's leaves that cycle's first step out.
    ready: Ps,
    /// Class of VCs while routed, VC once active.
    vc: ChannelId,
    stage: Stage,
    /// It keeps its way through the switch.
    held: bool,
    /// Its packet enters a ring, and must leave a bubble behind.
    enters: bool,
}

/// Where chunks of an input VC arrive that are to be sorted by output.
#[derive(Clone, Copy, Debug, PartialEq, Default, Serialize, Deserialize)]
struct Entry {
    fifo: List<ChunkRow>,
    /// Queue of the packet whose chunks come.
    queue: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Input {
    /// When the first chunk on its way here arrives, `NEVER` if none is (where arrivals are events: always).
    arrival: Ps,
    /// VCs with chunks to be sorted.
    entering: u16,
}

/// Requests of a step; nothing is left between events.
#[derive(Clone, Default)]
struct Work {
    vcs: Matching,
    switch: Matching,
    /// Of the present input: requests for the switch and their turn within the input.
    tail: Vec<(Request, u32)>,
    /// Outputs whose books are of this instant.
    prepared: Vec<bool>,
    /// Held rows, held columns.
    rows: Vec<bool>,
    columns: Vec<bool>,
    /// What the routing could answer for the head that asks.
    options: Vec<Choice>,
    /// Held units that send.
    sends: Vec<(LocalPort, u32)>,
    /// Copies that cross together with granted ones.
    along: Vec<Along>,
}

/// State of pipelined routers.
#[derive(Clone)]
pub struct Pipelined<M: Mode = Undo> {
    clock: CycleClock<M>,
    inputs: Table<Input, M, LocalPort>,
    /// VCs that belong to a packet, a bit each.
    taken: Table<u16, M, LocalPort>,
    /// VC of an output that was last taken with the switch.
    picked: Table<ChannelId, M, LocalPort>,
    units: Table<Unit, M>,
    /// Units with chunks, a bit each: words of an input follow each other.
    busy: Table<u64, M>,
    /// By input VC, if outputs have queues at inputs.
    entries: Table<Entry, M, VcRow>,
    /// VC whose turn it is, by way into the switch, and by service class where these have turns of their own.
    turns: Table<u32, M>,
    /// Words of allocators.
    words: Table<u64, M>,
    /// Chunks in queues at outputs, by VC, if there are any.
    lengths: Table<u32, M, VcRow>,
    rules: Pipeline,
    /// Time by which flits leave earlier that a step before the last of a cycle grants: see [`Pipeline::early`].
    early: Ps,
    shapes: Vec<Shape>,
    /// First port of each router.
    first_port: Vec<u32>,
    /// First word of `busy`, and how many, by input.
    bits: Column<LocalPort, (u32, u32)>,
    /// Class of VCs.
    class_of: [u8; 16],
    /// VCs of classes, a bit each: of service classes one after another.
    groups: [u16; 16],
    /// The same toward terminals, where packets may use any.
    ejects: [u16; 16],
    /// Number of the first class of each VC's service class.
    offsets: [u8; 16],
    /// How service classes share outputs, if there are any.
    shares: Option<Shares>,
    /// What outputs keep of service classes.
    books: Table<u64, M>,
    /// Ports below this number of a router lead along rings that have bubbles: see [`fabric::routing::Facts::rings`].
    rings: u32,
    /// Taken out while a cycle runs.
    work: Option<Box<Work>>,
    /// Most units and ports of a router.
    widest: (usize, usize),
}

impl<M: Mode> PartialEq for Pipelined<M> {
    fn eq(&self, other: &Self) -> bool {
        self.clock == other.clock
            && self.inputs == other.inputs
            && self.taken == other.taken
            && self.picked == other.picked
            && self.units == other.units
            && self.busy == other.busy
            && self.entries == other.entries
            && self.turns == other.turns
            && self.words == other.words
            && self.lengths == other.lengths
            && self.books == other.books
    }
}

/// VCs of classes and class of each VC, where there are no service classes.
fn classes(rules: &Pipeline, classes: u8, vcs: u8) -> Sets {
    let (mut groups, mut class_of, mut first) = ([0; 16], [0; 16], 0);
    for class in 0..classes.min(16) {
        let count = rules.vcs_per_class.map_or(vcs / classes, |all| all[usize::from(class)]);
        for vc in first..(first + count).min(16) {
            groups[usize::from(class)] |= 1 << vc;
            class_of[usize::from(vc)] = class;
        }
        first += count;
    }
    debug_assert!(first <= vcs, "classes share the virtual channels");
    Sets { groups, ejects: [u16::MAX >> (16 - vcs.min(16)); 16], class_of, offset: [0; 16] }
}

impl<M: Mode> Pipelined<M> {
    fn new_work(&self) -> Option<Box<Work>> {
        let (units, ports) = self.widest;
        let lanes = ports * self.rules.input_speedup.most().max(self.rules.output_speedup.most()) as usize;
        Some(Box::new(Work {
            vcs: Matching::new(units, ports * 16),
            switch: Matching::new(lanes, lanes),
            prepared: vec![false; ports],
            rows: vec![false; lanes],
            columns: vec![false; lanes],
            ..Work::default()
        }))
    }

    /// Units of an input that have chunks.
    fn busy_units(&self, input: LocalPort) -> impl Iterator<Item = u32> {
        let (first, words) = self.bits[input];
        let unit = self.first_unit(input);
        (0..words).flat_map(move |w| {
            let word = *self.busy.get(first + w);
            (0..64).filter(move |b| word >> b & 1 == 1).map(move |b| unit + w * 64 + b)
        })
    }

    fn first_unit(&self, input: LocalPort) -> u32 {
        let local = self.clock.owner[input];
        let shape = &self.shapes[local as usize];
        shape.unit + self.port_in_router(input) * shape.each
    }

    /// Virtual channel by which the chunks of a unit came in.
    fn channel_of(&self, input: LocalPort, unit: u32) -> ChannelId {
        self.shapes[self.clock.owner[input] as usize].channel(unit - self.first_unit(input))
    }

    /// Number of a port in its router.
    fn port_in_router(&self, port: LocalPort) -> u32 {
        debug_assert!(port.number() >= self.bases(self.clock.owner[port]), "the port is its router's");
        port.number() - self.bases(self.clock.owner[port])
    }

    fn bases(&self, local: u32) -> u32 {
        self.first_port[local as usize]
    }

    fn set_busy(&mut self, input: LocalPort, unit: u32, busy: bool) {
        let n = unit - self.first_unit(input);
        debug_assert!(n / 64 < self.bits[input].1, "the queue is one of the input's");
        // Words of an input are its own: sets of two inputs never share one, so a search of an input stops at its words.
        let word = self.busy.edit(self.bits[input].0 + n / 64);
        if busy { *word |= 1 << (n % 64) } else { *word &= !(1 << (n % 64)) }
    }

    /// A chunk comes to the end of a queue at an input.
    fn append(&mut self, input: LocalPort, unit: u32, push: impl FnOnce(&mut List<ChunkRow>)) {
        let row = self.units.edit(unit);
        let empty = row.fifo.is_empty();
        push(&mut row.fifo);
        if empty {
            self.set_busy(input, unit, true);
        }
    }

    /// Whether a packet that goes on from an input to an output, by their numbers in the router, enters a ring with a bubble.
    #[inline]
    fn enters_ring(&self, input: u32, out: u32) -> bool {
        out < self.rings && input ^ 1 != out
    }

    /// VCs that a packet may get: those of its class, toward a terminal perhaps all.
    fn group(&self, line: &Line, class: u8) -> u16 {
        debug_assert!(class < 16, "there are 16 classes at most");
        match line.end {
            End::Terminal { .. } if self.rules.ejection_any => self.ejects[usize::from(class)],
            _ => self.groups[usize::from(class)],
        }
    }
}

impl<M: Mode> Router for Pipelined<M> {
    type Mode = M;
    type In<N: Mode> = Pipelined<N>;
    const ABOUT: About = About {
        name: "combined",
        summary: "Queues at inputs and outputs, a switch with speed-up between them",
        doc: "Combined input and output queued: chunks wait at their input for the switch, cross it in one of several steps of a cycle, and wait at their output for the link and for \
              buffer behind it. Section `[router]` gives allocators, arbiters, speed-ups, delays and queues; without it iSLIP, a speed-up of 2 and 4 chunks of each \
              virtual channel at outputs. A cycle is the time of a chunk on the fastest link. Routers are clocked as `input-queued` ones are, and whole packets are routed. Not modelled: VC allocation \
              together with that of the switch.",
        source: "MARS, section 2.3.1; BookSim 2 `iq_router`; Dally and Towles, chapters 16 to 19.",
        params: &[],
    };
    // A cycle's alarm comes a picosecond after its decisions.
    const RULES: Rules = Rules {
        lag: 1,
        heads_only: true,
        keeps_order: true,
        injects: Injects::WithRoom,
        ripens: false,
        buffered: true,
        compared_unsaturated: true,
    };
    const QUEUES: bool = true;
    /// VCs with something waiting at the output, a bit each.
    type Port = u16;
    /// Chunks that wait at the output.
    type Vc = List<ChunkRow>;

    fn new(net: &Network, local: &Local) -> Self {
        let ports = local.router_ports() as usize;
        let (rules, vcs) = (net.pipeline(), net.config.vcs);
        let span = |r: usize| local.base[r].number()..local.base[r + 1].number();
        let (mut shapes, mut bits) = (Vec::new(), Column::default());
        let (mut units, mut words, mut sets) = (0, 0, 0);
        let shares = Shares::new(net);
        let memories = shares.as_ref().map_or(1, Shares::memories);
        let mut widest = (0, 0);
        for (r, router) in local.routers.iter().enumerate() {
            let count = span(r).len() as u32;
            let copies = net.trees.as_ref().map_or(0, |trees| trees.most(*router));
            let queues = if rules.virtual_output_queues { count } else { 1 + copies };
            let name = mix64(net.lots ^ u64::from(router.number()));
            // Rows of a router follow each other; how many an input has depends on the router where queues are by output.
            let shape = Shape { unit: units, word: words, name, ..Shape::of(count, queues, vcs) };
            let [for_vcs, for_switch] = shape.words(&rules, vcs, memories);
            let (each, shape) = (shape.each, Shape { switch_word: words + for_vcs, ..shape });
            words += for_vcs + for_switch;
            units += count * each;
            for _ in 0..count {
                bits.push((sets, each.div_ceil(64)));
                sets += each.div_ceil(64);
            }
            widest = (widest.0.max((count * each) as usize), widest.1.max(count as usize));
            shapes.push(shape);
        }
        let unit = Unit {
            fifo: List::default(),
            out: LocalPort::new(NIL),
            state: 0,
            ready: 0,
            vc: ChannelId::FIRST,
            stage: Stage::Idle,
            held: false,
            enters: false,
        };
        let Sets { groups, ejects, class_of, offset: offsets } =
            Sets::new(net).unwrap_or_else(|| classes(&rules, net.routes.vcs().max(1), vcs));
        let per_vc = |wanted: bool| if wanted { ports * usize::from(vcs) } else { 0 };
        let mut new = Self {
            clock: CycleClock::new(local),
            inputs: Table::new(ports, Input { arrival: NEVER, entering: 0 }),
            taken: Table::new(ports, 0),
            picked: Table::new(ports, ChannelId::new(15)),
            units: Table::new(units as usize, unit),
            busy: Table::new(sets as usize, 0),
            entries: Table::new(per_vc(rules.virtual_output_queues), Entry::default()),
            turns: Table::new(ports * rules.input_speedup.most() as usize * memories as usize, 0),
            words: Table::new(words as usize, 0),
            lengths: Table::new(per_vc(rules.output_queue.is_some()), 0),
            rules,
            early: rules.early(net.config.router_delay, net.cycle),
            first_port: local.base.iter().map(|b| b.number()).collect(),
            shapes,
            bits,
            class_of,
            groups,
            ejects,
            offsets,
            books: Self::new_books(shares.as_ref(), ports),
            shares,
            rings: if rules.flow_control == FlowControl::Bubble { net.routes.rings() } else { 0 },
            work: None,
            widest,
        };
        new.work = new.new_work();
        new
    }

    fn abandon(&mut self) {
        // A cycle that ended in a panic took it along.
        self.work = self.new_work();
    }

    fn visit_journals(&mut self, visit: &mut dyn FnMut(&mut dyn Journal)) {
        visit(&mut self.clock.routers);
        visit(&mut self.inputs);
        visit(&mut self.taken);
        visit(&mut self.picked);
        visit(&mut self.units);
        visit(&mut self.busy);
        visit(&mut self.entries);
        visit(&mut self.turns);
        visit(&mut self.words);
        visit(&mut self.lengths);
        visit(&mut self.books);
        visit(&mut self.clock.awake);
        visit(&mut self.clock.together);
    }

    /// Queues for each output at inputs, or for copies, and chunks in queues at outputs.
    fn more_bytes(setup: &Setup) -> u64 {
        let (fabric, config) = (&*setup.fabric, &setup.packet);
        let rules = &config.pipeline.unwrap_or(Pipeline::of(config.router.name));
        let most = if rules.virtual_output_queues { u64::MAX } else { trees::most_members(&setup.jobs) };
        let memories = setup.services.as_ref().map_or(1, |services| services.names.len() as u32);
        let mut bytes = 0;
        for ports in RouterId::first(fabric.routers()).map(|r| fabric.ports_of(r).len() as u32) {
            let (more, vcs) = (u64::from(ports).min(most) as u32, config.vcs);
            let words = Shape::of(ports, 1 + more, vcs).words(rules, vcs, memories);
            // Of most kinds an arbiter has a word, which is counted with its channel; a matrix has more.
            let words = (u64::from(words[0]) + u64::from(words[1]))
                .saturating_sub(u64::from(2 * ports) * u64::from(vcs));
            let units = u64::from(ports) * u64::from(vcs) * u64::from(more);
            bytes += units * size_of::<Unit>() as u64 + 8 * words;
        }
        let chunks =
            u64::from(rules.output_queue.unwrap_or(0)) * u64::from(config.vcs) * fabric.ports().len() as u64;
        bytes + chunks * 2 * size_of::<Chunk>() as u64
    }

    fn no_copies(config: &PacketConfig, buffer: u64) -> Option<(String, &'static str)> {
        branches::no_copies(config, buffer)
    }

    fn bytes(ports: u64, vcs: u64) -> u64 {
        let each = size_of::<Input>() + 2 + 8 + 8 + 32;
        ports * (each as u64 + vcs * (size_of::<Unit>() as u64 + 16 + 4))
    }

    fn arrive(
        n: &mut Net<Self>,
        cx: &Static,
        c: ChunkRow,
        line: &Line,
        from: Upstream,
        vc: ChannelId,
        fx: &mut impl Fx,
    ) {
        let End::Router { base, in_port, local, .. } = line.end else { unreachable!("only routers buffer") };
        let input = base.plus(in_port.number());
        debug_assert_eq!(cx.local.upstream[input], from, "an input has one upstream port");
        Self::buffer(n, c, input, vc);
        n.wake_router(cx, local, fx.now(), fx);
    }

    fn credit(n: &mut Net<Self>, cx: &Static, u: LocalPort, _: bool, fx: &mut impl Fx) {
        let local = n.router.clock.owner[u];
        let held = n.held_by(local) > 0;
        if n.router.rules.output_queue.is_none() {
            // An empty router has nothing to send: it wakes with its next arrival and sees the credit then.
            if held {
                n.wake_at_release(cx, u, fx);
            }
            return;
        }
        n.set_due(cx, u, fx);
        if !held {
            return;
        }
        // A start at the output makes room in its queue, for which somebody at an input may wait.
        let start = Self::next_start(n, cx, u);
        if start != NEVER {
            n.wake_router(cx, local, start.max(fx.now()), fx);
        }
        // Or for the credit itself, whatever starts later.
        if n.router.rules.wait_for_tail_credit {
            n.wake_at_release(cx, u, fx);
        }
    }

    fn alarm(n: &mut Net<Self>, cx: &Static, alarm: RouterAlarm, fx: &mut impl Fx) {
        n.ring(cx, alarm, fx);
    }

    fn advance(n: &mut Net<Self>, cx: &Static, u: LocalPort, t: Ps, fx: &mut impl Fx) {
        n.advance_queue(cx, u, t, fx);
    }

    fn next_start(n: &Net<Self>, cx: &Static, u: LocalPort) -> Ps {
        n.next_start_of_queue(cx, u)
    }

    #[inline]
    fn pressed(n: &Net<Self>, u: LocalPort) -> bool {
        n.ports.get(u).own != 0
    }

    /// Starts before `t` must not see credits that came after them.
    fn count(n: &mut Net<Self>, cx: &Static, u: LocalPort, t: Ps, fx: &mut impl Fx) {
        n.advance_queue(cx, u, t, fx);
        n.drain_credits(u, t);
        let port = n.ports.get(u);
        if port.own != 0 && port.since < t {
            n.ports.edit(u).since = t;
        }
    }

    fn waits(n: &Net<Self>, u: LocalPort) -> bool {
        n.ports.get(u).own != 0
    }

    fn settle(n: &mut Net<Self>, cx: &Static, now: Ps) {
        n.settle_arrivals(cx, now);
    }

    fn held(n: &Net<Self>, cx: &Static, u: LocalPort, visit: &mut dyn FnMut(LinkId, ChannelId, ChunkRow)) {
        n.visit_held(cx, u, &mut |unit, vc, chunk| {
            if unit.is_none_or(|unit| n.stands_for_buffers(cx, u, unit)) {
                visit(n.input_link(cx, u), vc, chunk);
            }
        });
    }

    fn chunks(n: &Net<Self>, cx: &Static, u: LocalPort, visit: &mut dyn FnMut(ChunkRow)) {
        n.visit_held(cx, u, &mut |_, _, chunk| visit(chunk));
        for (_, v) in n.vcs_of(u) {
            n.vcs.get(v).own.iter(&n.chunks).for_each(&mut *visit);
        }
    }

    fn bufferless(n: &Net<Self>, u: LocalPort) -> u32 {
        n.vcs_of(u).map(|(_, v)| n.vcs.get(v).own.iter(&n.chunks).count() as u32).sum()
    }

    fn waiting(n: &Net<Self>, cx: &Static, u: LocalPort, visit: &mut dyn FnMut(Channel, u32, &[Channel])) {
        n.visit_waiting(cx, u, visit);
    }

    fn packet_room(n: &Net<Self>, cx: &Static) -> u32 {
        match n.router.rules.flow_control {
            FlowControl::Wormhole => 1,
            FlowControl::CutThrough | FlowControl::Bubble => {
                cx.net.config.packet.div_ceil(cx.net.config.chunk)
            }
        }
    }

    fn bound(n: &Net<Self>, cx: &Static, u: LocalPort, capacity: u32) -> u32 {
        // Shared buffers are one pool: a channel alone may hold all of it.
        let shared = cx.local.is_routers(u) && n.router.rules.input_sharing != Sharing::Private;
        if shared { capacity * u32::from(cx.net.config.vcs) } else { capacity }
    }

    fn fault(n: &Net<Self>, u: LocalPort, vc: ChannelId, _: u32) -> Option<String> {
        n.queue_fault(u, vc)
    }

    fn queue(n: &Net<Self>, cx: &Static, u: LocalPort, vc: ChannelId, most: u32) -> Queue {
        n.queue_of(cx, u, vc, most)
    }

    fn hash(n: &Net<Self>, cx: &Static, u: LocalPort, sum: &mut Fingerprint) {
        n.hash_held(cx, u, sum);
    }
}

#[cfg(test)]
mod tests;
