//! Terminals: cutting messages into packets, injection under a window, reassembly, and workloads that answer.

use super::{
    config::Injects,
    effects::{Fx, Record, record_delivered},
    hybrid::predicted::Predicted,
    net::{Complete, Net, Output, Router, Static},
    network::End,
    rows::{Chunk, Cutting, Packet, Post, REPLY_NUMBER, Signs},
    state::State,
    surrogate::Mode,
};
use crate::{
    identity::PacketId,
    places::{Ends, LocalPort},
    pools::{PostRow, RowNumber},
};
use base::{
    index::{ChannelId, TerminalId},
    time::{NEVER, Ps},
};
use workload::registry::Work;

/// Most messages that a terminal reads at a time in search of one of its own.
const READ_AHEAD: u32 = 64;

/// A message about to be posted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Posting {
    /// Number of the terminal that it leaves from, counted within the partition.
    pub local: u32,
    /// Terminal that it leaves from.
    pub source: TerminalId,
    /// Terminal that it goes to.
    pub destination: TerminalId,
    /// Its number among the posts of the terminal.
    pub number: u32,
}

impl<R: Router> State<R> {
    /// Reads the node's next open-loop message for local terminal `i`; `previous` is the time of the one before.
    ///
    /// Other rails' messages are passed over. If one is never found soon, the last one read stands for it until its time.
    pub(super) fn read_ahead(&mut self, cx: &Static, i: u32, previous: Ps) {
        let terminal = cx.local.terminals[i as usize];
        let (job, rank) = cx.net.rank[terminal];
        if job == u32::MAX {
            return;
        }
        let (node, plane) = (cx.net.fabric.node_of(terminal), cx.net.fabric.plane_of(terminal));
        let start = cx.net.start[job as usize];
        let row = self.terminals.edit(i);
        row.upcoming = previous;
        for _ in 0..READ_AHEAD {
            let message = match &cx.net.work[job as usize] {
                Work::Traffic(t) => t.message(rank, row.index, row.upcoming.saturating_sub(start)),
                Work::Program(_) => None,
            };
            let Some(m) = message else {
                (row.upcoming, row.elsewhere) = (NEVER, false);
                return;
            };
            let destination = cx.net.placement[job as usize][m.destination.index()];
            row.upcoming = m.time.saturating_add(start);
            debug_assert!(row.upcoming >= previous, "messages of a source come in the order of time");
            row.upcoming_destination = cx.net.fabric.terminal_in(destination, plane);
            if let Some(root) = Net::<R>::trees(cx).and_then(|trees| trees.root(terminal)) {
                row.upcoming_destination = root;
            }
            row.upcoming_bytes = m.bytes;
            row.elsewhere = cx.net.rails.choose(node, destination, row.index) != plane;
            row.index += 1;
            if !row.elsewhere {
                return;
            }
        }
    }

    /// Instant of the next packet's hand-over; `NEVER` if there is none or the queue is full.
    #[inline]
    fn next_handover(&self, cx: &Static, i: u32) -> Ps {
        let row = self.terminals.get(i);
        // Beyond saturation a queue is mostly full; only messages of other rails are passed over then.
        if !Net::<R>::FULL && row.request == NEVER && !row.elsewhere {
            return NEVER;
        }
        self.next_unless_full(cx, i)
    }

    #[inline(never)]
    fn next_unless_full(&self, cx: &Static, i: u32) -> Ps {
        let phase = self.surrogate.phase();
        if Net::<R>::FULL && phase.mode != Mode::Fidelity {
            return NEVER;
        }
        let row = self.terminals.get(i);
        if Net::<R>::is_lossy(cx) {
            return self.waiting_since(i).max(row.request);
        }
        if Net::<R>::is_queued(cx) {
            return self.next_paced(cx, i);
        }
        let control = self.control_ready(cx, i);
        if control == NEVER {
            return self.next_in_order(cx, i);
        }
        self.next_in_order(cx, i).min(control.saturating_sub(phase.offset).max(row.request))
    }

    /// As [`State::next_handover`], but for messages that go ahead.
    #[inline]
    fn next_in_order(&self, cx: &Static, i: u32) -> Ps {
        let phase = self.surrogate.phase();
        let row = self.terminals.get(i);
        let created = if row.cutting.active {
            row.cutting.created
        } else {
            let posted = if row.posts.is_empty() { NEVER } else { self.posts.get(row.posts.head).time };
            if row.elsewhere && row.upcoming < posted {
                return row.upcoming.saturating_sub(phase.offset);
            }
            posted.min(row.upcoming)
        };
        // A workload that has nothing more stays at the end of time.
        let offset = if Net::<R>::FULL && created != NEVER { phase.offset } else { 0 };
        // Where the queue before the link decides anyhow, nothing is drawn.
        if Net::<R>::FULL
            && created.saturating_add(cx.net.adapter_delay.most()).saturating_sub(offset) <= row.request
        {
            return row.request;
        }
        created.saturating_add(self.adapter_time(cx, i)).saturating_sub(offset).max(row.request)
    }

    /// How long the adapter takes for the message in hand, or for the next one.
    #[inline]
    pub(crate) fn adapter_time(&self, cx: &Static, i: u32) -> Ps {
        if !Net::<R>::FULL {
            return cx.net.adapter_delay.least();
        }
        let row = self.terminals.get(i);
        let number = if row.cutting.active && !Net::<R>::resequences(cx) {
            row.cutting.number & !REPLY_NUMBER
        } else if row.cutting.active {
            row.messages.wrapping_sub(Net::<R>::copies(cx, row.cutting.destination))
        } else {
            self.named(row).unwrap_or(row.messages)
        };
        cx.net.adapter_delay.of(cx.local.terminals[i as usize], number)
    }

    /// Instant at which a chunk could start onto the terminal's link if its packet was handed over at `created`.
    #[inline]
    fn start_of(&self, cx: &Static, out: Output<'_>, created: Ps) -> Ps {
        debug_assert!(!cx.local.is_routers(out.port), "only terminals have packets to start");
        let port = self.net.ports.get(out.port);
        let start = port.clock.rounded(out.timing.denominator).max(created);
        if start == NEVER || self.injection_vc(cx, out).is_some() {
            return start;
        }
        port.next_release().map_or(NEVER, |release| start.max(release))
    }

    /// VC for the terminal's next chunk: that of its packet, for a new packet the next one with room; none if there is none.
    #[inline]
    fn injection_vc(&self, cx: &Static, out: Output<'_>) -> Option<ChannelId> {
        let (u, capacity) = (out.port, out.timing.capacity);
        let room = |&vc: &ChannelId| self.net.vcs.get(self.net.vc_row(u, vc)).occupancy < capacity;
        if R::RULES.injects == Injects::First {
            return Some(ChannelId::FIRST).filter(room);
        }
        let (last, vcs) = (self.net.ports.get(u).last_vc, cx.net.config.vcs);
        if self.terminals.get(cx.local.terminal_of(u)).sent > 0 {
            return Some(last).filter(room);
        }
        let all = |&vc: &ChannelId| {
            let used = self.net.vcs.get(self.net.vc_row(u, vc)).occupancy;
            used + R::packet_room(&self.net, cx) <= capacity
        };
        let mut next = (1..=vcs).map(|k| ChannelId::new((last.number() + k) % vcs));
        if Net::<R>::has_services(cx) {
            let own = self.injection_set(cx, u);
            return next.find(|vc| own & vc.bit() != 0 && all(vc));
        }
        next.find(all)
    }

    /// Virtual channels of a terminal's service class, a bit each.
    fn injection_set(&self, cx: &Static, u: LocalPort) -> u16 {
        let terminal = cx.local.terminals[cx.local.terminal_of(u) as usize];
        let services = cx.net.services.as_ref();
        services.map_or(u16::MAX, |s| s.set(s.of_terminal(cx.net.rank[terminal].0)))
    }

    /// Instant of the next chunk's start as far as is known; `NEVER` if it waits for a message or a credit.
    pub(super) fn next_start(&self, cx: &Static, u: LocalPort) -> Ps {
        let i = cx.local.terminal_of(u);
        let queue = self.terminals.get(i).queue;
        let created = if queue.is_empty() {
            self.next_handover(cx, i)
        } else {
            self.net.packets.get(queue.head).created
        };
        self.start_of(cx, Output::of(cx, u), created)
    }

    /// Rule 4: all hand-overs and chunk starts of a terminal before `t`, in order; a hand-over goes first at a tie.
    pub(super) fn catch_up_terminal(&mut self, cx: &Static, u: LocalPort, t: Ps, fx: &mut impl Fx) {
        let (i, out) = (cx.local.terminal_of(u), Output::of(cx, u));
        loop {
            let queue = self.terminals.get(i).queue;
            let start = if queue.is_empty() {
                NEVER
            } else {
                self.start_of(cx, out, self.net.packets.get(queue.head).created)
            };
            let handover = self.next_handover(cx, i);
            if start.min(handover) >= t {
                return;
            }
            if handover <= start {
                self.hand_over(cx, i, handover, fx);
            } else {
                self.inject(cx, out, i, start, fx);
            }
        }
    }

    /// Takes the next message in hand: a posted one, or the one read ahead. False if that is another rail's.
    pub(super) fn begin_message(&mut self, cx: &Static, i: u32) -> bool {
        let row = *self.terminals.get(i);
        let posted = if row.posts.is_empty() { NEVER } else { self.posts.get(row.posts.head).time };
        debug_assert!(!row.cutting.active, "a terminal cuts one message at a time");
        debug_assert!(posted.min(row.upcoming) != NEVER, "there is a message to begin");
        let (mut reply, named) = (0, self.named(&row));
        let (created, destination, bytes) = if posted <= row.upcoming {
            let post = *self.posts.get(row.posts.head);
            self.terminals.edit(i).posts.pop(&self.posts);
            self.posts.give(row.posts.head);
            reply = if post.bytes & Post::REPLY == 0 { 0 } else { REPLY_NUMBER };
            (post.time, post.destination, post.payload())
        } else {
            self.read_ahead(cx, i, row.upcoming);
            if row.elsewhere {
                return false;
            }
            (row.upcoming, row.upcoming_destination, row.upcoming_bytes)
        };
        let packets = cx.net.packets_of(bytes);
        let name = if Net::<R>::resequences(cx) {
            self.adapters.begin(cx.local.terminals[i as usize], destination)
        } else {
            named.unwrap_or(row.messages)
        };
        let row = self.terminals.edit(i);
        let number = name | reply;
        row.cutting = Cutting { created, left: bytes, destination, number, packets, active: true };
        row.messages += Net::<R>::copies(cx, destination);
        true
    }

    /// Hands the next packet over at `time`.
    fn hand_over(&mut self, cx: &Static, i: u32, time: Ps, fx: &mut impl Fx) {
        if Net::<R>::is_lossy(cx) {
            return self.hand_over_datagram(cx, i, time, fx);
        }
        if Net::<R>::is_queued(cx) {
            return self.hand_over_paced(cx, i, time, fx);
        }
        if self.control_ready(cx, i).saturating_sub(self.surrogate.phase().offset) <= time {
            let in_hand = self.begin_control(i);
            self.cut_packet(cx, i, time, fx);
            self.terminals.edit(i).cutting = in_hand;
        } else if self.terminals.get(i).cutting.active || self.begin_message(cx, i) {
            self.cut_packet(cx, i, time, fx);
        }
    }

    /// Hands the next packet of the message in hand over at `time`.
    pub(super) fn cut_packet(&mut self, cx: &Static, i: u32, time: Ps, fx: &mut impl Fx) {
        let config = &cx.net.config;
        let terminal = cx.local.terminals[i as usize];
        let row = self.terminals.edit(i);
        let bytes = row.cutting.left.min(u64::from(config.packet)) as u32;
        let chunks = bytes.div_ceil(config.chunk).max(1);
        let id = PacketId::new(terminal, row.packets);
        let cutting = row.cutting;
        debug_assert!(
            time + Net::<R>::suspended(fx) >= cutting.created,
            "a packet is not older than its message"
        );
        row.cutting.left -= u64::from(bytes);
        row.cutting.active = row.cutting.left > 0;
        // Copies that routers will make have numbers of their own.
        row.packets = row.packets.wrapping_add(Net::<R>::copies(cx, cutting.destination));
        let full = u64::from(row.queued + chunks) * u64::from(config.chunk) >= cx.net.injection_buffer;
        row.request = if full { NEVER } else { time + cx.net.pace_of(bytes) };
        let packet = Predicted {
            id,
            created: time,
            message_created: cutting.created,
            bytes: u64::from(bytes),
            destination: cutting.destination,
            message: cutting.number,
            message_packets: cutting.packets,
            packets: 1,
        };
        self.enqueue_packet(cx, i, &packet, bytes, time);
        if Net::<R>::resequences(cx) {
            let whole = cx.net.packets_of(cutting.left) == cutting.packets;
            self.sign_place(i, whole, cutting.left <= u64::from(bytes));
        }
        let time = time + Net::<R>::suspended(fx);
        if Net::<R>::is_hybrid(cx) {
            let delay = cx.net.adapter_delay.of(terminal, cutting.number & !REPLY_NUMBER);
            let ready = cutting.created.saturating_add(delay);
            let (size, link) = (cx.net.size_of(&packet), cx.net.pace_of(bytes));
            self.surrogate.paces.edit(i).learn(time, ready, size, link);
        }
        let (destination, packets) = (cutting.destination, cutting.packets);
        let Some(members) = Net::<R>::trees(cx).and_then(|trees| trees.members(destination)) else {
            return fx.record(Record::Created { time, id, bytes, destination, packets });
        };
        for (n, &destination) in members.iter().enumerate() {
            fx.record(Record::Created { time, id: id.plus(n as u32), bytes, destination, packets });
        }
    }

    /// Starts the next chunk onto the terminal's link at `start`.
    #[inline]
    fn inject(&mut self, cx: &Static, out: Output<'_>, i: u32, start: Ps, fx: &mut impl Fx) {
        let Output { port: u, timing, .. } = out;
        self.net.drain_credits(u, start);
        // The first credit may have been another VC's.
        let Some(vc) = self.injection_vc(cx, out) else { return };
        if R::RULES.injects == Injects::WithRoom {
            self.net.ports.edit(u).last_vc = vc;
        }
        let row = self.terminals.edit(i);
        let packet = row.queue.head;
        let p = self.net.packets.edit(packet);
        let index = row.sent;
        debug_assert!(row.queued > 0 && index < p.chunks, "what starts was handed over");
        debug_assert!(start >= p.created, "a packet starts after it was handed over");
        if index == 0 {
            p.start = start;
        }
        let last = index + 1 == p.chunks;
        if last {
            row.queue.head = p.next;
            row.sent = 0;
        } else {
            row.sent += 1;
        }
        row.queued -= 1;
        let (bytes, chunk) = (p.bytes, cx.net.config.chunk);
        if row.request == NEVER && u64::from(row.queued) * u64::from(chunk) < cx.net.injection_buffer {
            row.request = start + timing.span(bytes.clamp(1, chunk), chunk).whole;
            if Net::<R>::is_hybrid(cx) {
                let (last, after) = self.surrogate.paces.get(i).kept(Net::<R>::suspended(fx));
                if last > start {
                    row.request = row.request.max(after);
                }
            }
        }
        let v = self.net.vc_row(u, vc);
        self.net.vcs.edit(v).occupancy += 1;
        debug_assert!(self.net.vcs.get(v).occupancy <= timing.capacity, "a buffer is not overfilled");
        self.net.ports.edit(u).backlog += 1;
        let c = self.net.chunks.take(Chunk::new(packet, index, last));
        self.net.notes.set(c, 0);
        if index == 0 && Net::<R>::is_lossy(cx) {
            self.packet_leaves(cx, i, packet, fx);
        }
        self.net.put_on(cx, c, out, vc, start, fx);
    }

    /// Takes up what the network left for the edge: complete packets, and credits that terminals wait for.
    #[inline]
    pub(super) fn take_up_network(&mut self, cx: &Static, fx: &mut impl Fx) {
        while !self.net.complete.is_empty() {
            self.take_up_complete(cx, fx);
        }
        while let Some(u) = self.net.credited.pop() {
            debug_assert!(!cx.local.is_routers(u), "routers take their credits themselves");
            if self.net.ports.get(u).due == NEVER {
                self.set_due(cx, u, fx);
            }
        }
    }

    #[inline(never)]
    fn take_up_complete(&mut self, cx: &Static, fx: &mut impl Fx) {
        let mut complete = std::mem::take(&mut self.net.complete);
        for done in complete.drain(..) {
            self.packet_complete(cx, done, fx);
        }
        // What these completed in turn waits in another list; the longer one's room is kept.
        if self.net.complete.is_empty() {
            self.net.complete = complete;
        }
    }

    /// A packet is complete at its terminal.
    fn packet_complete(&mut self, cx: &Static, done: Complete, fx: &mut impl Fx) {
        let Complete { mut packet, port, time } = done;
        debug_assert!(packet.delivered == packet.chunks, "a complete packet has all its chunks");
        debug_assert!(
            packet.created <= packet.start
                && packet.start < packet.last_arrival
                && packet.last_arrival <= time,
            "a packet is handed over, starts and arrives in this order"
        );
        if Net::<R>::FULL && self.surrogate.is_zombie(packet.created) {
            self.surrogate.phase.edit(0).discarded += 1;
            if cx.net.hybrid.as_ref().is_none_or(|h| !h.deliver_zombies) {
                return;
            }
        }
        let offset = Net::<R>::suspended(fx);
        let time = time + offset;
        packet.created += offset;
        packet.start += offset;
        packet.last_arrival += offset;
        if Net::<R>::is_lossy(cx) {
            return self.arrived(cx, &packet, port, time, fx);
        }
        let End::Terminal { terminal, local } = cx.local.lines[port].end else { return };
        if Net::<R>::is_controlled(cx) && packet.signs.has(Signs::MARKED) {
            self.inform(cx, local, Ends { source: packet.source(), destination: terminal }, time, fx);
        }
        debug_assert_eq!(cx.local.terminals[local as usize], terminal, "terminals are numbered");
        if Net::<R>::is_adapted(cx) {
            return self.pass_adapter(cx, local, &packet, time, fx);
        }
        self.hand_on(cx, &packet, terminal, time, fx);
    }

    /// A packet is delivered at a terminal.
    #[inline]
    pub(super) fn hand_on(
        &mut self,
        cx: &Static,
        packet: &Packet,
        terminal: TerminalId,
        time: Ps,
        fx: &mut impl Fx,
    ) {
        // Whether it is the right one, the ledger looks at.
        record_delivered(packet, terminal, time, fx);
        self.packet_done(cx, &Predicted::of(packet), packet.message_packets == 1, time, fx);
    }

    /// A packet, or a `whole` message, is complete: the workload may answer. `time` is virtual.
    pub(super) fn packet_done(
        &mut self,
        cx: &Static,
        packet: &Predicted,
        whole: bool,
        time: Ps,
        fx: &mut impl Fx,
    ) {
        debug_assert!(time >= packet.created, "nothing arrives before it is sent");
        let source = packet.source();
        if !whole {
            // Numbers of messages are the source's, or the pair's.
            let pair = if Net::<R>::resequences(cx) { u64::from(packet.destination) << 32 } else { 0 };
            let key = u64::from(source) | pair;
            let left = self.open.get(key, packet.message).unwrap_or(packet.message_packets) - 1;
            if left > 0 {
                self.open.set(key, packet.message, left);
                return;
            }
            self.open.remove(key, packet.message);
        }
        let (created, number) = (packet.message_created, packet.message);
        let destination = packet.destination;
        fx.record(Record::Message { time, created, source, destination, number });
        if !Net::<R>::reacts(cx) {
            return;
        }
        let (job, rank) = cx.net.rank[destination];
        if job != u32::MAX && cx.net.work[job as usize].program().is_some() {
            self.completed(cx, Ends { source, destination }, number);
            return;
        }
        let local =
            cx.local.terminals.binary_search(&destination).expect("it arrived in its partition") as u32;
        self.terminals.edit(local).received += 1;
        let (from, to) = (cx.net.fabric.node_of(source), cx.net.fabric.node_of(destination));
        // Replies are counted over all sources: a row that no pair has.
        let (pair, replies) = match number & REPLY_NUMBER {
            0 => (u64::from(to) << 32 | u64::from(from), 0),
            _ => (u64::from(to) << 32 | u64::from(to), 1),
        };
        let index = self.received.get(pair, replies).unwrap_or(0);
        self.received.set(pair, replies, index + 1);
        let (_, source_rank) = cx.net.rank[source];
        if job == u32::MAX {
            return;
        }
        let Work::Traffic(traffic) = &cx.net.work[job as usize] else { return };
        let (answer, mark) = if replies == 1 {
            (traffic.next_request(rank, u64::from(index)), 0)
        } else {
            let mark = if traffic.requests() { Post::REPLY } else { 0 };
            (traffic.reply(rank, source_rank, u64::from(index)), mark)
        };
        if let Some((to, bytes)) = answer {
            let posting = self.posting(cx, local, cx.net.placement[job as usize][to.index()]);
            self.post(cx, posting, bytes | mark, fx);
        }
    }

    /// The next message from the node of local terminal `i` to node `destination`: its rail and its number there.
    pub(super) fn posting(&mut self, cx: &Static, i: u32, destination: TerminalId) -> Posting {
        let (fabric, rails) = (&cx.net.fabric, &cx.net.rails);
        let node = fabric.node_of(cx.local.terminals[i as usize]);
        let plane = if rails.several() {
            let on = |plane| self.terminals.get(cx.local.on_plane(&cx.net, i, plane)).posted;
            rails.choose(node, destination, (0..fabric.planes()).map(|p| u64::from(on(p))).sum())
        } else {
            0
        };
        let local = cx.local.on_plane(&cx.net, i, plane);
        let posted = self.terminals.get(local).posted;
        self.terminals.edit(local).posted = posted.wrapping_add(1);
        let (source, destination) = (fabric.terminal_in(node, plane), fabric.terminal_in(destination, plane));
        let number = if Net::<R>::is_lossy(cx) {
            self.transport.name(source, destination)
        } else if Net::<R>::resequences(cx) {
            self.adapters.post(source, destination)
        } else {
            posted
        };
        Posting { local, source, destination, number }
    }

    /// Someone outside sends a message of one packet at most from local terminal `i`, now: its number there.
    pub(super) fn hand_in(
        &mut self,
        cx: &Static,
        i: u32,
        destination: TerminalId,
        bytes: u64,
        fx: &mut impl Fx,
    ) -> u32 {
        debug_assert!(bytes <= u64::from(cx.net.config.packet), "it is one packet at most");
        let posting = self.posting(cx, i, destination);
        self.post(cx, posting, bytes, fx);
        posting.number
    }

    /// Chunks that local terminal `i` holds, or has been informed of, and not started onto its link before now.
    pub(super) fn held(&mut self, cx: &Static, i: u32, fx: &mut impl Fx) -> u32 {
        let u = cx.local.port_of(i);
        self.catch_up_terminal(cx, u, fx.now(), fx);
        self.set_due(cx, u, fx);
        let row = self.terminals.get(i);
        let chunks = |bytes: u64| bytes.div_ceil(u64::from(cx.net.config.chunk)).max(1) as u32;
        let posts = row.posts.iter(&self.posts).chain(row.controls.iter(&self.posts));
        let posted = posts.map(|p| chunks(self.posts.get(p).payload())).sum::<u32>();
        let cut = if row.cutting.active { chunks(row.cutting.left) } else { 0 };
        row.queued + posted + cut
    }

    /// A workload sends a message now, of so many bytes, marked as [`Post::bytes`] are.
    pub(super) fn post(&mut self, cx: &Static, posting: Posting, bytes: u64, fx: &mut impl Fx) {
        let Posting { local: i, destination, number, .. } = posting;
        let u = cx.local.port_of(i);
        let fidelity = self.surrogate.phase().mode == Mode::Fidelity;
        if fidelity {
            self.catch_up_terminal(cx, u, fx.now(), fx);
        }
        let post = Post { time: fx.instant(), bytes, destination, number, next: PostRow::NIL };
        let post = self.posts.take(post);
        let row = self.terminals.edit(i);
        let list = if bytes & Post::CONTROL == 0 { &mut row.posts } else { &mut row.controls };
        list.push(&mut self.posts, post);
        if Net::<R>::is_lossy(cx) {
            self.offer(cx, i, fx);
        } else if fidelity {
            self.set_due(cx, u, fx);
        } else {
            self.set_bypass(cx, i, fx);
        }
    }
}
