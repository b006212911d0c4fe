//! From the network to the surrogate and back, in one partition; and what the network holds.

use super::{
    super::{
        effects::{Fx, Wire},
        net::{Router, Static},
        state::{PacketDomain, State},
    },
    Mode, Pace, Predicted, Sizes,
};
use crate::{
    hybrid::predict::Predictors,
    identity::PacketId,
    pools::{ChunkRow, PacketRow, RowNumber},
};
use base::time::{NEVER, Ps};
use engine::agenda::Agenda;
use std::sync::Arc;

/// What a partition has to do at a switch.
pub struct Switch<'a> {
    /// The predictor from this switch on.
    pub predictor: &'a Arc<Predictors>,
    /// At an entry the packets in a network that is suspended, by id; those that are zombies already left out. At a return those that the network
    /// lacks.
    pub flying: &'a [Predicted],
}

impl<R: Router> PacketDomain<R> {
    /// Packets bypass the network from now on. A network that is suspended is so already.
    pub fn enter(&mut self, switch: &Switch<'_>, suspended: bool, fx: &mut impl Fx) {
        self.cx.predictor = Some(Arc::clone(switch.predictor));
        let Self { cx, state } = self;
        let now = fx.instant();
        let phase = state.surrogate.phase.edit(0);
        debug_assert!(phase.mode == Mode::Fidelity, "a stay begins where none is");
        (phase.mode, phase.suspended) = (Mode::Surrogate, suspended);
        if suspended {
            debug_assert!(now >= phase.offset, "the network's clock is behind virtual time");
            // Zombies are known by when they were created in network time: one interval stands for all of them, and no list of packets is kept.
            let frozen = now - phase.offset;
            phase.ghosts = 0;
            state.surrogate.add_ghosts((0, frozen));
        }
        for packet in switch.flying {
            let to = cx.net.owner[cx.net.fabric.router_at(packet.destination)];
            // Every partition gets the whole list; the owner of the destination delivers, so each is delivered once.
            if to == cx.local.partition {
                let due = (packet.created + state.latency(cx, packet, 0)).max(now);
                state.deliver_later(cx, *packet, due, fx);
            }
        }
        for i in 0..cx.local.terminals.len() as u32 {
            let request = state.terminals.get(i).request;
            let free = if request == NEVER { None } else { Some(request + fx.suspended()) };
            let pace = state.surrogate.paces.edit(i);
            // A source that never waited goes on when its link is free; one that was held back keeps the pace at which the network took its packets.
            let next = match free {
                Some(free) if pace.count == 0 => free,
                _ => {
                    let one = pace.size != Sizes::Several;
                    pace.last + pace.step(if one { cx.net.packet_pace } else { pace.link }, cx.slowness)
                }
            };
            pace.next = next.max(now);
            pace.due = 0;
            if !cx.net.runs_by_tick() {
                state.set_bypass(cx, i, fx);
            }
        }
    }

    /// The pace of sources is learned anew from now on: what was before is no part of the window.
    pub fn learn_anew(&mut self) {
        let paces = &mut self.state.surrogate.paces;
        for i in 0..paces.len() as u32 {
            let pace = paces.edit(i);
            (pace.sum, pace.links, pace.count, pace.size) = (0, 0, 0, Sizes::None);
        }
    }

    /// Copies of what is predicted fill the network from now on.
    pub fn reheat(&mut self, fx: &mut impl Fx) {
        let Self { cx, state } = self;
        debug_assert!(
            state.surrogate.phase().mode == Mode::Surrogate,
            "the network is re-heated during a stay"
        );
        state.surrogate.phase.edit(0).mode = Mode::Reheat;
        state.surrogate.add_ghosts((fx.now(), NEVER));
        state.release_held(cx, fx);
        for i in 0..cx.local.terminals.len() as u32 {
            state.set_bypass(cx, i, fx);
        }
    }

    /// The network, running again, delivers from now on; what it lacks enters it as ghosts, before anything else is handed over.
    pub fn back(&mut self, lacking: &[Predicted], fx: &mut impl Fx) {
        let Self { cx, state } = self;
        let now = fx.now();
        let phase = state.surrogate.phase.edit(0);
        let heated = phase.mode == Mode::Reheat;
        debug_assert!(phase.mode != Mode::Fidelity, "who comes back was away");
        debug_assert!(fx.suspended() >= phase.offset, "a network only falls behind virtual time");
        (phase.mode, phase.suspended, phase.offset) = (Mode::Fidelity, false, fx.suspended());
        let last = phase.ghosts.wrapping_sub(1);
        // While re-heating, ghosts were made all along: their interval ends with it.
        if heated {
            state.surrogate.ghosts.edit(last).1 = now;
        }
        state.release_held(cx, fx);
        let ghosts = !lacking.is_empty();
        if ghosts {
            // What is lacking is created at this very instant, so the interval includes it; real packets then start a picosecond later.
            state.surrogate.ghosts.edit(last).1 = now + 1;
            state.add_ghosts(cx, lacking, now);
        }
        for i in 0..cx.local.terminals.len() as u32 {
            let pace = *state.surrogate.paces.get(i);
            *state.surrogate.paces.edit(i) = Pace { last: pace.last, link: pace.link, ..Pace::default() };
            let buffer = cx.net.injection_buffer;
            let row = state.terminals.edit(i);
            let full = u64::from(row.queued) * u64::from(cx.net.config.chunk) >= buffer;
            // Paces are in virtual time, terminals in network time, which lags by the time of all stays.
            let next = pace.next.saturating_sub(fx.suspended()).max(now + Ps::from(ghosts));
            row.request = if full {
                NEVER
            } else if row.request == NEVER {
                next
            } else {
                row.request.max(next)
            };
            state.set_due(cx, cx.local.port_of(i), fx);
        }
    }

    /// The packets that have a chunk here or on its way to here and are no zombies; some partitions may report the same one.
    #[must_use]
    pub fn flying(&self, agenda: &Agenda<Wire>) -> Vec<Predicted> {
        let mut flying = Vec::new();
        let surrogate = &self.state.surrogate;
        let offset = surrogate.phase().offset;
        self.each_packet(agenda, |created, packet| {
            if !surrogate.is_zombie(created) {
                flying.push(Predicted { created: created + offset, ..packet });
            }
        });
        flying
    }

    /// Packets that were handed over past the network from here and are not delivered yet, or are to be delivered here.
    #[must_use]
    pub fn under_way(&self, agenda: &Agenda<Wire>) -> Vec<Predicted> {
        let planned = agenda.messages().filter_map(|m| match m {
            Wire::Predicted(packet) => Some(*packet),
            _ => None,
        });
        self.state.surrogate.held().iter().map(|h| h.1).chain(planned).collect()
    }

    /// Ids of the zombies that have a chunk here or on its way to here.
    #[must_use]
    pub fn zombies(&self, agenda: &Agenda<Wire>) -> Vec<PacketId> {
        let mut zombies = Vec::new();
        if self.state.surrogate.phase().ghosts > 0 {
            self.each_packet(agenda, |created, packet| {
                if self.state.surrogate.is_zombie(created) {
                    zombies.push(packet.id);
                }
            });
        }
        zombies.sort_unstable();
        zombies.dedup();
        zombies
    }

    /// Visits the packet of every chunk here and on its way to here; a packet may be visited often.
    fn each_packet(&self, agenda: &Agenda<Wire>, mut visit: impl FnMut(Ps, Predicted)) {
        let (state, cx) = (&self.state, &self.cx);
        let mut last = PacketRow::NIL;
        let mut row = |p: PacketRow| {
            // Neighbours in a list are mostly of one packet.
            if p != last {
                last = p;
                let packet = state.net.packets.get(p);
                visit(packet.created, Predicted::of(packet));
            }
        };
        let packet_of = |c: ChunkRow| state.net.chunks.get(c).packet;
        for u in cx.local.ports() {
            let flight = state.net.ports.get(u).flight;
            flight.iter(&state.net.flights).for_each(|f| row(packet_of(state.net.flights.get(f).chunk)));
            R::chunks(&state.net, cx, u, &mut |c| row(packet_of(c)));
        }
        for i in 0..cx.local.terminals.len() as u32 {
            state.terminals.get(i).queue.iter(&state.net.packets).for_each(&mut row);
        }
        for message in agenda.messages() {
            if let Wire::Chunk(t) = message {
                let packet = Predicted {
                    id: t.id,
                    created: t.created,
                    message_created: t.message_created,
                    bytes: u64::from(t.bytes),
                    destination: t.destination,
                    message: t.message,
                    message_packets: t.message_packets,
                    packets: 1,
                };
                visit(t.created, packet);
            }
        }
    }
}

impl<R: Router> State<R> {
    /// Copies of packets enter the queues of the terminals here, at `created` of network time: the instant at which it goes on.
    fn add_ghosts(&mut self, cx: &Static, packets: &[Predicted], created: Ps) {
        for packet in packets {
            if let Ok(i) = cx.local.terminals.binary_search(&packet.source()) {
                self.ghosts_of(cx, i as u32, packet, created, |_| true);
            }
        }
    }
}
