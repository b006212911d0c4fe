//! Terminals with `[adapter]`: packets that are complete are noted, held until they are next, and handed on.

use super::{
    config::Adapter,
    order::{Held, Place},
};
use crate::{
    effects::{Fx, Record},
    net::{Router, Static},
    rows::{Packet, Signs},
    state::State,
};
use base::time::Ps;

impl Static {
    /// The section; only asked where it is there.
    fn adapter(&self) -> &Adapter {
        self.net.adapter.as_ref().expect("only runs with [adapter] get here")
    }
}

impl<R: Router> State<R> {
    /// A packet is complete at local terminal `i`: it is handed on, and what waited for it, or it waits itself.
    pub(crate) fn pass_adapter(&mut self, cx: &Static, i: u32, packet: &Packet, time: Ps, fx: &mut impl Fx) {
        let terminal = cx.local.terminals[i as usize];
        debug_assert_eq!(packet.destination, terminal, "a packet arrives where it was sent");
        let created = packet.created;
        if self.adapters.note(packet) {
            fx.record(Record::Overtaken { created });
        }
        let &Adapter { resequencing, buffer, leaks, .. } = cx.adapter();
        if !resequencing || self.adapters.place(packet) == Place::Now {
            self.take_out(cx, i, packet, time, fx);
            return self.release(cx, i, packet, time, fx);
        }
        let bytes = u64::from(packet.bytes);
        let mut planted = leaks && packet.id.number().is_multiple_of(100);
        while self.adapters.room(i).bytes + bytes > buffer || std::mem::take(&mut planted) {
            fx.record(Record::Gap { created });
            let earlier = self.adapters.give_up(i, packet);
            if let Some(held) = earlier {
                self.hand_on_held(cx, i, &held, time, fx);
                self.release(cx, i, packet, time, fx);
            }
            // What was missing for this one may be behind now, and is if it comes before all that are held.
            if earlier.is_none() || self.adapters.place(packet) == Place::Now {
                self.take_out(cx, i, packet, time, fx);
                return self.release(cx, i, packet, time, fx);
            }
        }
        self.adapters.hold(i, packet, time);
        let room = self.adapters.room(i);
        fx.record(Record::Held { created, packets: room.packets, bytes: room.bytes });
    }

    /// Hands on what waits for nothing any more of a packet's pair.
    fn release(&mut self, cx: &Static, i: u32, packet: &Packet, time: Ps, fx: &mut impl Fx) {
        while let Some(held) = self.adapters.release(i, packet) {
            self.hand_on_held(cx, i, &held, time, fx);
        }
    }

    fn hand_on_held(&mut self, cx: &Static, i: u32, held: &Held, time: Ps, fx: &mut impl Fx) {
        let Held { packet, since, .. } = held;
        fx.record(Record::Released { created: packet.created, waited: time - since });
        self.take_out(cx, i, packet, time, fx);
    }

    /// A packet leaves the adapter of local terminal `i` for its rank, and its source is to know.
    fn take_out(&mut self, cx: &Static, i: u32, packet: &Packet, time: Ps, fx: &mut impl Fx) {
        self.report_taken(cx, i, packet, time, fx);
        self.hand_on(cx, packet, packet.destination, time, fx);
    }

    /// Signs of the packet that a terminal just queued: where it stands in its message.
    pub(crate) fn sign_place(&mut self, i: u32, first: bool, last: bool) {
        let packet = self.terminals.get(i).queue.tail;
        let signs = &mut self.net.packets.edit(packet).signs;
        if first {
            signs.set(Signs::FIRST);
        }
        if last {
            signs.set(Signs::LAST);
        }
    }
}
