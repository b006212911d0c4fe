//! Asking the routing: what it sees of the router that it is asked at, and what it answered before.

use super::{Net, Router, Static};
use crate::{
    config::RoutePer,
    effects::Fx,
    network::{End, Line},
    rows::Answer,
};
use crate::{
    places::LocalPort,
    pools::{ChunkRow, FlightRow},
};
use base::index::{ChannelId, LinkId, PortId};
use fabric::routing::{Choice, Congestion, Hop};

/// What an adaptive routing sees of the router it is asked at.
struct View<'a, R: Router, F> {
    net: &'a mut Net<R>,
    cx: &'a Static,
    base: LocalPort,
    /// The asking routing's virtual channel 0.
    first_vc: u8,
    fx: &'a mut F,
}

impl<R: Router, F: Fx> Congestion for View<'_, R, F> {
    fn backlog(&mut self, port: PortId) -> u64 {
        // An architecture's alarm may come after the instant that its decisions belong to.
        debug_assert!(self.fx.now() >= R::RULES.lag, "decisions are not taken before the run begins");
        let (u, now) = (self.base.plus(port.number()), self.fx.now() - R::RULES.lag);
        if let End::Terminal { .. } = Net::<R>::line(self.cx, u).end {
            self.net.touch(self.cx, u, now, self.fx);
        }
        R::count(self.net, self.cx, u, now, self.fx);
        u64::from(self.net.ports.get(u).backlog) * u64::from(self.cx.net.config.chunk)
    }

    fn credits(&mut self, port: PortId, vc: ChannelId) -> u64 {
        // Brings the port's books to this instant.
        self.backlog(port);
        let u = self.base.plus(port.number());
        let capacity = self.cx.net.timings[Net::<R>::line(self.cx, u).timing as usize].capacity;
        let v = self.net.vc_row(u, vc.plus(self.first_vc));
        let used = self.net.vcs.get(v).occupancy;
        u64::from(capacity.saturating_sub(used)) * u64::from(self.cx.net.config.chunk)
    }

    fn published(&mut self, link: LinkId) -> u64 {
        // One partition: local ports are numbered as the fabric's.
        u64::from(self.net.published.seen(LocalPort::new(link.number())))
            * u64::from(self.cx.net.config.chunk)
    }
}

/// Shown to routings that never look.
struct Blind;

impl Congestion for Blind {
    fn backlog(&mut self, _: PortId) -> u64 {
        0
    }
}

impl<R: Router> Net<R> {
    /// Asks the routing where a chunk at a router goes next, or the packet where a chunk of it went before.
    #[inline]
    pub fn decide(
        &mut self,
        cx: &Static,
        c: ChunkRow,
        line: &Line,
        vc: ChannelId,
        fx: &mut impl Fx,
    ) -> Choice {
        self.wake_publisher(cx, fx);
        // Heads alone are asked for: none of their packets follows.
        let follows = !R::RULES.heads_only && cx.net.follows;
        let chunk = self.chunks.get(c);
        let (packet, visited) = (chunk.packet, usize::from(chunk.visited()));
        if follows && let Some(choice) = self.packets.get(packet).answer(visited) {
            debug_assert_eq!(
                choice,
                self.route_chunk(cx, c, line, vc, fx),
                "all chunks of a packet go one way"
            );
            return choice;
        }
        let choice = self.route_chunk(cx, c, line, vc, fx);
        if follows && let Some(answer) = self.packets.edit(packet).answers.get_mut(visited) {
            *answer = Answer::of(choice);
        }
        choice
    }

    /// The question of a chunk at the router to which `line` leads.
    #[inline]
    fn hop(&self, cx: &Static, c: ChunkRow, line: &Line, vc: ChannelId) -> Hop {
        let End::Router { router, in_port, .. } = line.end else { unreachable!("only routers route") };
        let chunk = self.chunks.get(c);
        let (packet, visited) = (self.packets.get(chunk.packet), chunk.visited());
        // With one way per packet all its chunks ask as the first one does, and draw the same random numbers.
        let index = if cx.net.config.route_per == RoutePer::Packet { 0 } else { chunk.index() };
        let counter = u64::from(index) << 32 | u64::from(visited) << 16;
        Hop {
            router,
            in_port,
            vc,
            visited,
            source: packet.source(),
            destination: packet.destination,
            state: self.notes.get(c),
            random: cx.net.route_stream.owned_by(packet.id.key()).at(counter),
        }
    }

    #[inline]
    fn route_chunk(
        &mut self,
        cx: &Static,
        c: ChunkRow,
        line: &Line,
        vc: ChannelId,
        fx: &mut impl Fx,
    ) -> Choice {
        let End::Router { router, base, in_port, .. } = line.end else { unreachable!("only routers route") };
        debug_assert!(
            cx.local.lines[base.plus(in_port.number())].own_base == base,
            "it comes in by a port of the router"
        );
        let mut hop = self.hop(cx, c, line, vc);
        let chunk = self.chunks.get(c);
        let packet = self.packets.get(chunk.packet);
        let (id, visited) = (packet.id, chunk.visited());
        let (many, first, last) = (packet.chunks > 1, chunk.index() == 0, chunk.is_last());
        let routes = &cx.net.routes;
        let route_of = if Self::FULL { routes.route_of(packet.start, vc) } else { routes.only() };
        let follow = cx.net.config.route_per == RoutePer::Packet;
        // Diverted chunks all go one path.
        let trail = follow && many && !R::RULES.heads_only && !route_of.diverted && !route_of.oblivious;
        // An adaptive routing sees other queues by the time that later chunks come, so its first answer is kept for them.
        let choice = if trail && !first {
            let known = if last {
                self.trails.remove(id.key(), u32::from(visited))
            } else {
                self.trails.get(id.key(), u32::from(visited))
            };
            known.expect("the first chunk went before")
        } else {
            let choice =
                route_of.route(&mut hop, &mut View { net: self, cx, base, first_vc: route_of.first_vc, fx });
            if trail {
                self.trails.set(id.key(), u32::from(visited), choice);
            }
            choice
        };
        debug_assert!(
            choice.port.index() < cx.net.fabric.ports_of(router).len()
                && choice.vc.number() < cx.net.config.vcs,
            "a routing answers with a port of the router and a virtual channel of its link"
        );
        if !(Self::FULL && cx.net.routes.change()) {
            return choice;
        }
        let link = cx.net.fabric.port_index(router, choice.port);
        match cx.net.routes.divert(fx.now() - R::RULES.lag, router, link) {
            // As if it began here.
            Some(around) => {
                around.route(&mut Hop { vc: ChannelId::FIRST, visited: 0, state: 0, ..hop }, &mut Blind)
            }
            None => choice,
        }
    }

    /// All that the routing could answer for a head chunk at a router, for routings whose heads ask for all of it at once.
    pub fn options(&self, cx: &Static, c: ChunkRow, line: &Line, vc: ChannelId, out: &mut Vec<Choice>) {
        let End::Router { router, in_port, .. } = line.end else { unreachable!("only routers route") };
        let chunk = self.chunks.get(c);
        let packet = self.packets.get(chunk.packet);
        let hop = Hop {
            router,
            in_port,
            vc,
            visited: chunk.visited(),
            source: packet.source(),
            destination: packet.destination,
            state: self.notes.get(c),
            random: cx.net.route_stream,
        };
        cx.net.routes.route_of(packet.start, vc).routing.options(&hop, out);
        debug_assert!(!out.is_empty(), "a routing has an answer for every head");
    }

    /// Touches the output that the chunk of a flight on link `u` will take, if that is known ahead.
    #[inline]
    pub fn prefetch_output(&self, cx: &Static, u: LocalPort, flight: FlightRow) {
        let line = Self::line(cx, u);
        let End::Router { base, .. } = line.end else { return };
        // Where heads alone are routed, channels come in classes, which this does not know: any channel of the routing's shows the same port.
        if !cx.net.routes.oblivious() || (R::RULES.heads_only && cx.net.routes.change()) {
            return;
        }
        let flight = self.flights.get(flight);
        let chunk = self.chunks.get(flight.chunk);
        let packet = self.packets.get(chunk.packet);
        if self.branches(cx, flight.chunk).is_some() {
            return;
        }
        // As in [`Self::decide`]: chunks that follow nobody leave no answers.
        let known = packet.answer(usize::from(chunk.visited()));
        let choice = known.unwrap_or_else(|| {
            let vc = if R::RULES.heads_only { ChannelId::FIRST } else { flight.vc };
            let mut hop = self.hop(cx, flight.chunk, line, vc);
            cx.net.routes.route_of(packet.start, vc).route(&mut hop, &mut Blind)
        });
        self.ports.prefetch(base.plus(choice.port.number()));
        self.vcs.prefetch(self.first_vc(base.plus(choice.port.number())));
    }
}
