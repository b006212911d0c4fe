//! Handing packets and messages over past the network, and their delivery.

use super::{
    super::{
        effects::{Fx, Record, Wire},
        event::{Alarm, Name},
        net::{Net, Router, Static},
        rows::{Chunk, Packet, Terminal},
        state::State,
    },
    Mode, Predicted,
};
use crate::{hybrid::Level, identity::PacketId};
use base::time::{NEVER, Ps};
use engine::{domain::Lane, key::Class};

impl Static {
    /// What is predicted of a packet, or message, without the queue of its destination; so many packets of its message follow it.
    #[inline]
    pub(super) fn predicted(&self, packet: &Predicted, follow: u32) -> Ps {
        let predictor = self.predictor.as_ref().expect("a surrogate has its predictor");
        let size = self.net.size_of(packet);
        let said = |number| {
            let latency = predictor.latency(size, packet.source(), packet.destination, number);
            if predictor.knows(size) { latency } else { latency.max(self.net.alone(packet)) }
        };
        if !self.net.has_programs() {
            return said(Some(packet.id.number()));
        }
        // A rank waits for the slowest of several messages. What is drawn for each on its own has a slowest one that is slower than it would be, as
        // latencies of a program mostly differ by place and not by chance. So a message takes the mean, and its spread is among its packets.
        let (mean, after) = (said(None), Ps::from(follow) * self.net.packet_pace);
        if follow == 0 { mean } else { said(Some(packet.id.number())).min(mean + after) }
    }

    /// A predicted latency, longer or shorter by what the queue of the destination is, and nowhere below what the packet takes in an empty network.
    #[inline]
    pub(super) fn with_wait(&self, packet: &Predicted, latency: Ps) -> Ps {
        let wait = self.waits.get(packet.destination.index());
        let then = wait.map_or(latency, |&wait| latency.saturating_add_signed(wait));
        // Most latencies are above that of a full packet between the two that are farthest: they need no look at the table of distances.
        let most = self.net.hybrid.as_ref().map_or(0, |h| h.shape.most()) + self.net.packet_pace;
        if then >= most { then } else { then.max(self.net.alone(packet)) }
    }
}

impl<R: Router> State<R> {
    #[inline]
    pub(super) fn latency(&self, cx: &Static, packet: &Predicted, follow: u32) -> Ps {
        cx.with_wait(packet, cx.predicted(packet, follow))
    }

    /// Oldest thing that a terminal could hand over: when it was created; and whether it is only to be read on.
    #[inline]
    pub(crate) fn offered(&self, row: &Terminal) -> (Ps, bool) {
        if row.cutting.active {
            // A message that is begun goes on before another one starts, as in the network.
            return (row.cutting.created, false);
        }
        let posted = if row.posts.is_empty() { NEVER } else { self.posts.get(row.posts.head).time };
        (posted.min(row.upcoming), row.elsewhere && row.upcoming < posted)
    }

    /// Next hand-over of a terminal past the network.
    #[inline]
    fn next_bypass(&self, cx: &Static, i: u32) -> Ps {
        let (created, read_on) = self.offered(self.terminals.get(i));
        let pace = self.surrogate.paces.get(i).next;
        let control = self.control_ready(cx, i).max(pace);
        if read_on {
            return created.min(control);
        }
        created.saturating_add(self.adapter_time(cx, i)).max(pace).min(control)
    }

    /// Sets a terminal's alarm.
    pub(in super::super) fn set_bypass(&mut self, cx: &Static, i: u32, fx: &mut impl Fx) {
        let due = self.next_bypass(cx, i);
        if due == NEVER {
            return;
        }
        // Instant 0 stands for no alarm; no run begins in the surrogate.
        let due = due.max(fx.instant()).max(1);
        if self.surrogate.paces.get(i).due != due {
            self.surrogate.paces.edit(i).due = due;
            let name = Name::Bypass.of(cx.local.terminals[i as usize].number(), 0);
            fx.wake_on(Lane::Steady, due, Class::Ordinary, name, Alarm::Bypass(i).token());
        }
    }

    /// A terminal's alarm rings.
    pub(in super::super) fn bypass_alarm(&mut self, cx: &Static, i: u32, fx: &mut impl Fx) {
        let now = fx.instant();
        // Alarms are not taken back: one that was replaced, or that rings after the return, does nothing.
        if self.surrogate.paces.get(i).due != now || self.surrogate.phase().mode == Mode::Fidelity {
            return;
        }
        self.surrogate.paces.edit(i).due = 0;
        self.bypass_until(cx, i, now + 1, fx);
        self.set_bypass(cx, i, fx);
    }

    /// All hand-overs of a terminal past the network before `t`.
    pub(super) fn bypass_until(&mut self, cx: &Static, i: u32, t: Ps, fx: &mut impl Fx) {
        loop {
            let at = self.next_bypass(cx, i);
            if at >= t {
                return;
            }
            self.bypass(cx, i, at, t, fx);
        }
    }

    /// Hands the next packet, or message, over at `at`; everything before `settled` is being done.
    fn bypass(&mut self, cx: &Static, i: u32, at: Ps, settled: Ps, fx: &mut impl Fx) {
        debug_assert!(at < settled, "only what is due is handed over");
        let in_hand = (self.control_ready(cx, i) <= at).then(|| self.begin_control(i));
        let begun = in_hand.is_some() || !self.terminals.get(i).cutting.active;
        if in_hand.is_none() && begun && !self.begin_message(cx, i) {
            return;
        }
        let most = cx.net.config.packet;
        let row = self.terminals.edit(i);
        let cutting = row.cutting;
        // At message level one prediction stands for all packets of a message; the pace still counts each, since the link would carry them all.
        let whole = begun && cx.net.hybrid.as_ref().is_some_and(|h| h.level == Level::Message);
        let packets = if whole { cutting.packets } else { 1 };
        let bytes = if whole { cutting.left } else { cutting.left.min(u64::from(most)) };
        let number = row.packets;
        row.cutting.left -= bytes;
        row.cutting.active = row.cutting.left > 0;
        row.cutting = in_hand.unwrap_or(row.cutting);
        row.packets = number.wrapping_add(packets);
        let pace = self.surrogate.paces.edit(i);
        let mut last = at;
        for _ in 1..packets {
            last += pace.step(cx.net.packet_pace, cx.slowness);
        }
        let rest = bytes - u64::from(packets - 1) * u64::from(most);
        let free = if rest == u64::from(most) { cx.net.packet_pace } else { cx.net.pace_of(rest as u32) };
        (pace.last, pace.next, pace.link) = (last, last + pace.step(free, cx.slowness), free);
        let packet = Predicted {
            id: PacketId::new(cx.local.terminals[i as usize], number),
            created: at,
            message_created: cutting.created,
            bytes,
            destination: cutting.destination,
            message: cutting.number,
            message_packets: cutting.packets,
            packets,
        };
        if packets == 1 {
            fx.record(Record::Created {
                time: at,
                id: packet.id,
                bytes: bytes as u32,
                destination: packet.destination,
                packets: packet.message_packets,
            });
        } else {
            fx.record(Record::Bypassed {
                time: at,
                id: packet.id,
                bytes,
                packets,
                destination: packet.destination,
            });
        }
        let follow = (cutting.left - bytes).div_ceil(u64::from(most)) as u32;
        let due = last + self.latency(cx, &packet, follow);
        debug_assert!(self.surrogate.phase().mode != Mode::Fidelity, "the network delivers then");
        if self.surrogate.phase().mode == Mode::Reheat {
            self.deliver_later(cx, packet, due, fx);
            self.copy(cx, i, &packet, fx);
        } else if !cx.net.runs_by_tick() {
            self.deliver_later(cx, packet, due, fx);
        } else if due < settled {
            fx.record(Record::Alone { time: due, packet });
        } else {
            let used = self.surrogate.phase().held;
            self.surrogate.hold(used, due, packet);
            self.surrogate.phase.edit(0).held = used + 1;
        }
    }

    /// Makes events of the deliveries that are held.
    pub(super) fn release_held(&mut self, cx: &Static, fx: &mut impl Fx) {
        // From here on deliveries are events in order with those of the network.
        let held: Vec<(Ps, Predicted)> = self.surrogate.held().to_vec();
        self.surrogate.phase.edit(0).held = 0;
        for (due, packet) in held {
            self.deliver_later(cx, packet, due, fx);
        }
    }

    /// Plans a delivery: an event of the destination's partition, or of this one if nobody answers.
    pub(super) fn deliver_later(&mut self, cx: &Static, packet: Predicted, due: Ps, fx: &mut impl Fx) {
        debug_assert!(due >= fx.instant(), "a delivery lies ahead");
        let to = if cx.net.runs_by_tick() {
            cx.local.partition
        } else {
            cx.net.owner[cx.net.fabric.router_at(packet.destination)]
        };
        let name = Name::Prediction.of(packet.source().number(), packet.id.number());
        fx.send(to, Lane::Steady, due, Class::Ordinary, name, Wire::Predicted(packet));
    }

    /// Puts copies of a predicted packet into the network, as far as the terminal's queue has room.
    fn copy(&mut self, cx: &Static, i: u32, packet: &Predicted, fx: &mut impl Fx) {
        let u = cx.local.port_of(i);
        // Whether there is room must not depend on what is put off.
        self.catch_up_terminal(cx, u, fx.now(), fx);
        let room = cx.net.injection_buffer;
        self.ghosts_of(cx, i, packet, fx.now(), |row| {
            u64::from(row.queued) * u64::from(cx.net.config.chunk) < room
        });
        self.set_due(cx, u, fx);
    }

    /// Puts copies of a predicted packet, or of the packets of a message, at the end of a terminal's queue, while it has `room`.
    pub(super) fn ghosts_of(
        &mut self,
        cx: &Static,
        i: u32,
        packet: &Predicted,
        created: Ps,
        room: impl Fn(&Terminal) -> bool,
    ) {
        let mut left = packet.bytes;
        for n in 0..packet.packets {
            let bytes = left.min(u64::from(cx.net.config.packet)) as u32;
            left -= u64::from(bytes);
            if !room(self.terminals.get(i)) {
                break;
            }
            let part = Predicted { id: packet.id.plus(n), ..*packet };
            self.enqueue_packet(cx, i, &part, bytes, created);
            self.surrogate.phase.edit(0).copied += 1;
        }
    }

    /// Puts a packet at the end of a terminal's queue, at `created` of network time.
    pub(in super::super) fn enqueue_packet(
        &mut self,
        cx: &Static,
        i: u32,
        p: &Predicted,
        bytes: u32,
        created: Ps,
    ) {
        let chunks = bytes.div_ceil(cx.net.config.chunk).max(1);
        debug_assert!(chunks <= Chunk::MAX_INDEX, "larger packets are refused");
        let packet = self.net.packets.take(Packet {
            id: p.id,
            created,
            message_created: p.message_created,
            destination: p.destination,
            bytes,
            message: p.message,
            message_packets: p.message_packets,
            chunks: chunks as u16,
            here: chunks as u16,
            ..Packet::NONE
        });
        let row = self.terminals.edit(i);
        row.queued += chunks;
        row.queue.push(&mut self.net.packets, packet);
        // Another partition knows the packet by its id alone.
        if Net::<R>::knows(cx) {
            self.net.known.set(p.id.key(), Net::<R>::part(cx, p.destination), packet);
        }
    }

    /// A predicted packet or message arrives.
    pub(in super::super) fn arrive_predicted(&mut self, cx: &Static, packet: &Predicted, fx: &mut impl Fx) {
        let now = fx.instant();
        debug_assert!(packet.created <= now, "nothing arrives before it is sent");
        if cx.net.runs_by_tick() {
            return fx.record(Record::Alone { time: now, packet: *packet });
        }
        fx.record(Record::Predicted { time: now, packet: *packet });
        let whole = packet.packets == packet.message_packets;
        self.packet_done(cx, packet, whole, now, fx);
    }
}
