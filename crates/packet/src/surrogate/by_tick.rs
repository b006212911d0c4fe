//! The surrogate without events: where nobody answers and each message is one packet, all that is handed over before a tick is done at the
//! tick, terminal by terminal. What is due before a tick that asks for it is reported with its hand-over; the rest is held.
//!
//! This is what a surrogate packet costs, so it works on copies of the terminal's rows and divides once per terminal. It does what
//! `bypass.rs` does, packet by packet, which terminals with something unusual in hand still take.

use super::{
    super::{
        effects::{Fx, Record},
        net::{Router, Static},
        rows::{Cutting, Terminal},
        state::State,
    },
    Mode, Pace, Predicted, Sizes,
};
use crate::{hybrid::size::SizeClass, identity::PacketId};
use base::{
    index::RankId,
    time::{NEVER, Ps},
};
use workload::{
    registry::Work,
    traffic::{Message, Traffic},
};

/// Steps of a [`Pace`], divided in advance.
struct Steps {
    whole: Ps,
    part: u32,
    of: u32,
    rest: u32,
    /// Of a source of several sizes.
    shares: Option<(Pace, u64)>,
}

impl Steps {
    fn of(pace: &Pace, slowness: u64) -> Self {
        let (sum, count) = (pace.sum_at(slowness), u64::from(pace.count.max(1)));
        let shares = (pace.size == Sizes::Several).then_some((*pace, slowness));
        Self { whole: sum / count, part: (sum % count) as u32, of: pace.count, rest: pace.rest, shares }
    }

    /// Time to the next hand-over, and the remainder that is left: as [`Pace::step`] has them.
    #[inline]
    fn next(&mut self, free: Ps) -> Ps {
        if self.of == 0 {
            return free;
        }
        if let Some(share) = self.shares.and_then(|(pace, slowness)| pace.share(free, slowness)) {
            return share;
        }
        let parts = u64::from(self.part) + u64::from(self.rest);
        // The division of `Pace::step` done once: per packet an addition and a comparison are left.
        let carry = parts >= u64::from(self.of);
        self.rest = (parts - if carry { u64::from(self.of) } else { 0 }) as u32;
        debug_assert!(self.rest < self.of, "what is left over is less than a share");
        self.whole + u64::from(carry)
    }
}

/// Messages of a source, read several at a time but for the first: mostly many are handed over until the next tick, or one.
#[derive(Default)]
struct Ahead {
    begun: bool,
    messages: [Message; 8],
    /// How many are read, and how many of them are used.
    known: usize,
    used: usize,
}

impl Ahead {
    /// The `index`-th message of a rank, after those that were asked for before.
    #[inline]
    fn next(&mut self, traffic: &dyn Traffic, rank: RankId, index: u64, previous: Ps) -> Option<Message> {
        if !std::mem::replace(&mut self.begun, true) {
            return traffic.message(rank, index, previous);
        }
        if self.used == self.known {
            self.known = traffic.messages(rank, index, previous, &mut self.messages);
            self.used = 0;
        }
        let next = self.messages[..self.known].get(self.used).copied();
        self.used += 1;
        next
    }
}

impl<R: Router> State<R> {
    /// What is handed over before `t` without events, and what of it is delivered before the next tick that asks.
    pub(in super::super) fn settle_surrogate(&mut self, cx: &Static, t: Ps, fx: &mut impl Fx) {
        if self.surrogate.phase().mode != Mode::Surrogate || !cx.net.runs_by_tick() {
            return;
        }
        self.settle_held(t.max(cx.asked), fx);
        for i in 0..cx.local.terminals.len() as u32 {
            let row = self.terminals.get(i);
            let (job, _) = cx.net.rank[cx.local.terminals[i as usize]];
            // One message, one packet, nobody who answers: what makes the short form equal to `bypass.rs`.
            let alone = row.posts.is_empty() && row.controls.is_empty();
            let usual = !row.cutting.active && alone && !cx.net.rails.several();
            match cx.net.work.get(job as usize) {
                Some(Work::Traffic(traffic)) if usual => self.stream(cx, i, &**traffic, t, fx),
                _ => self.bypass_until(cx, i, t, fx),
            }
        }
    }

    /// Delivers what was held and is due before `asked`.
    fn settle_held(&mut self, asked: Ps, fx: &mut impl Fx) {
        let (mut at, mut used) = (0, self.surrogate.phase().held);
        debug_assert!(used as usize <= self.surrogate.held.len(), "what is held has a row");
        while at < used {
            let (due, packet) = *self.surrogate.held.get(at);
            if due < asked {
                used -= 1;
                // The last takes its place: their order does not matter, records are summed whatever order they come in.
                *self.surrogate.held.edit(at) = *self.surrogate.held.get(used);
                fx.record(Record::Alone { time: due, packet });
            } else {
                at += 1;
            }
        }
        self.surrogate.phase.edit(0).held = used;
    }

    /// All that terminal `i` hands over before `t`.
    fn stream(&mut self, cx: &Static, i: u32, traffic: &dyn Traffic, t: Ps, fx: &mut impl Fx) {
        let net = &*cx.net;
        let terminal = cx.local.terminals[i as usize];
        let (job, rank) = net.rank[terminal];
        let (placement, start) = (&net.placement[job as usize], net.start[job as usize]);
        let predictor = cx.predictor.as_ref().expect("a surrogate has its predictor");
        let plane = net.fabric.plane_of(terminal);
        let asked = t.max(cx.asked);
        // Copies, written back once: with undo each edit of a row in a table would be noted in its journal.
        let mut row: Terminal = *self.terminals.get(i);
        let mut pace = *self.surrogate.paces.get(i);
        let (mut steps, mut held) = (Steps::of(&pace, cx.slowness), self.surrogate.phase().held);
        // The pace of messages of one size, which most are.
        let mut usual = (u64::from(net.config.packet), net.packet_pace);
        // Most predictors have a row per source: one look for all packets of the terminal, as long as they are of one size.
        let row_of = |bytes| predictor.of_source(SizeClass::of(bytes, 1, net.config.packet), terminal);
        let mut table = row_of(usual.0);
        let (mut last, mut ahead) = (None, Ahead::default());
        loop {
            let created =
                row.upcoming.saturating_add(net.adapter_delay.of(terminal, row.messages)).max(pace.next);
            if created >= t {
                break;
            }
            let packet = Predicted {
                id: PacketId::new(terminal, row.packets),
                created,
                message_created: row.upcoming,
                bytes: row.upcoming_bytes,
                destination: row.upcoming_destination,
                message: row.messages,
                message_packets: 1,
                packets: 1,
            };
            (row.packets, row.messages) = (row.packets.wrapping_add(1), row.messages + 1);
            match ahead.next(traffic, rank, row.index, row.upcoming.saturating_sub(start)) {
                Some(m) => {
                    row.upcoming = m.time.saturating_add(start);
                    let destination = placement[m.destination.index()];
                    row.upcoming_destination = net.fabric.terminal_in(destination, plane);
                    row.upcoming_bytes = m.bytes;
                    row.index += 1;
                }
                None => row.upcoming = NEVER,
            }
            if packet.bytes != usual.0 {
                usual = (packet.bytes, net.pace_of(packet.bytes as u32));
                table = row_of(packet.bytes);
            }
            (pace.last, pace.next, pace.link) = (created, created + steps.next(usual.1), usual.1);
            let latency = match table {
                Some(table) => table[packet.destination.index()],
                None => cx.predicted(&packet, 0),
            };
            let due = created + cx.with_wait(&packet, latency);
            if due < asked {
                fx.record(Record::Through { time: due, packet });
            } else {
                let Predicted { id, bytes, destination, .. } = packet;
                let bytes = bytes as u32;
                fx.record(Record::Created { time: created, id, bytes, destination, packets: 1 });
                self.surrogate.hold(held, due, packet);
                held += 1;
            }
            last = Some(packet);
        }
        let Some(packet) = last else { return };
        row.cutting = cut(&packet);
        pace.rest = steps.rest;
        *self.terminals.edit(i) = row;
        *self.surrogate.paces.edit(i) = pace;
        self.surrogate.phase.edit(0).held = held;
    }
}

/// What a terminal has in hand after a packet that was its message.
fn cut(packet: &Predicted) -> Cutting {
    Cutting {
        created: packet.message_created,
        left: 0,
        destination: packet.destination,
        number: packet.message,
        packets: 1,
        active: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Divided in advance or not, sources step alike.
    #[test]
    fn steps_are_those_of_the_pace() {
        let paces = [(0, 0), (10, 3), (1_000_003, 7), (5, 5), (u64::from(u32::MAX) * 3 + 1, 2), (2, 9)];
        for ((sum, count), slowness) in
            paces.into_iter().zip([1 << 20, 3 << 19, 1_234_567].into_iter().cycle())
        {
            let mut pace = Pace { sum, count, ..Pace::default() };
            let mut steps = Steps::of(&pace, slowness);
            let both: Vec<(Ps, Ps)> = (0..50).map(|_| (pace.step(4, slowness), steps.next(4))).collect();
            assert!(both.iter().all(|(a, b)| a == b), "{sum} / {count}: {both:?}");
            assert_eq!(pace.rest, steps.rest);
        }
    }
}
