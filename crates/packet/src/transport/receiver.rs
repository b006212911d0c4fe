//! Receiving: what is new, what is complete, what the sender hears; and where lost packets end. See `TRANSPORT.md`.

use super::{AckNews, Arrival, How, MessageWith, Word, config::Ack, pair, sender::mask};
use crate::places::{Ends, LocalPort};
use crate::{
    effects::{Fx, Record, Wire, record_delivered},
    event::Name,
    hybrid::predicted::Predicted,
    net::{Router, Static},
    network::End,
    rows::{Packet, Signs},
    state::State,
};
use base::{index::TerminalId, time::Ps};
use engine::key::Class;

/// What a packet brought.
struct Found {
    new: bool,
    complete: bool,
    /// Its place; in coding the rank after it.
    rank: u32,
}

impl<R: Router> State<R> {
    /// A packet is complete at the terminal behind port `u`.
    pub(crate) fn arrived(&mut self, cx: &Static, packet: &Packet, u: LocalPort, time: Ps, fx: &mut impl Fx) {
        let End::Terminal { terminal, local } = cx.local.lines[u].end else { return };
        let (source, number) = (packet.source(), packet.message);
        let word = Word(packet.message_packets);
        let (id, ack) = (packet.id, word.is_ack());
        // A receiver cannot know whom a changed packet came from, so it is not answered: the sender's timer takes care of it.
        if packet.signs.has(Signs::TAMPERED) {
            return fx.record(Record::Ended { time, id, ack, how: How::Tampered });
        }
        if ack {
            fx.record(Record::Ended { time, id, ack, how: How::Acknowledged });
            let news = AckNews { word, stamp: packet.message_created };
            return self.acknowledged(cx, local, MessageWith { peer: source, number }, news, fx);
        }
        let found = self.take_in(cx, Ends { source, destination: terminal }, packet);
        if found.new || cx.resilience().count_duplicates {
            record_delivered(packet, terminal, time, fx);
        } else {
            fx.record(Record::Ended { time, id, ack, how: How::Duplicate });
        }
        self.acknowledge(cx, local, packet, found.rank, fx);
        // Answered before the message is handed on: what a workload sends in return goes behind the acknowledgement.
        if found.complete {
            self.packet_done(cx, &Predicted::of(packet), true, time, fx);
        }
    }

    /// Takes a packet's place among those of its message.
    fn take_in(&mut self, cx: &Static, ends: Ends, packet: &Packet) -> Found {
        let key = pair(ends.source, ends.destination);
        let (number, word) = (packet.message, Word(packet.message_packets));
        let mut peer = self.transport.peers.get(key, 0).unwrap_or_default();
        peer.received = peer.received.wrapping_add(1);
        let codes = cx.resilience().protocol.codes();
        let place = word.place();
        // What an old packet is answered with.
        let old = Found { new: false, complete: false, rank: place + u32::from(codes) };
        let mut row = self.transport.arrivals.get(key, number).unwrap_or_default();
        // Acknowledgements get lost too. Whatever is here already is answered again, else its sender would repeat it for ever.
        let gone = number < peer.floor || row.complete || word.window() < row.window;
        let known = !codes && row.got >> place & 1 == 1;
        if gone || known {
            self.transport.peers.set(key, 0, peer);
            return old;
        }
        debug_assert_eq!(word.window(), row.window, "a window follows when the one before is acknowledged");
        debug_assert!(!codes || row.got <= place, "a generation that lacks nothing is old");
        let (size, new) = if codes {
            let losses = cx.net.losses.as_ref().expect("there are losses where there is a transport");
            // In coding a packet is new if it is no combination of those before: a draw by the packet's number, with the field's probability.
            (place + 1, !losses.is_worthless(packet.id, place + 1 - row.got))
        } else {
            (if word.is_last() { place + 1 } else { row.last }, true)
        };
        let full = if codes {
            row.got += u32::from(new);
            row.got == size
        } else {
            row.got |= 1 << place;
            row.last = size;
            // How long the last window is only its last packet says; until that is there it counts as full-sized, and so as incomplete.
            row.got == mask(if size > 0 { size } else { cx.resilience().window })
        };
        let rank = if codes { row.got } else { place };
        let last = if codes { word.is_last() } else { row.last > 0 };
        row.complete = full && last;
        if full && !last {
            row = Arrival { window: row.window + 1, ..Arrival::default() };
        }
        self.transport.arrivals.set(key, number, row);
        // Complete messages are kept until all before them are: then one number, the floor, stands for all of them.
        while self.transport.arrivals.get(key, peer.floor).is_some_and(|a| a.complete) {
            self.transport.arrivals.remove(key, peer.floor);
            peer.floor += 1;
        }
        self.transport.peers.set(key, 0, peer);
        Found { new, complete: row.complete, rank }
    }

    /// Informs the sender of a packet that it came, and how many have come from there.
    fn acknowledge(&mut self, cx: &Static, i: u32, packet: &Packet, rank: u32, fx: &mut impl Fx) {
        let (to, number) = (packet.source(), packet.message);
        let terminal = cx.local.terminals[i as usize];
        let received = self.transport.peers.get(pair(to, terminal), 0).unwrap_or_default().received;
        debug_assert!(received > 0, "what is answered was counted");
        let word = Word::ack(Word(packet.message_packets).window(), rank);
        let stamp = u64::from(received) << 32 | u64::from(packet.id.number());
        match cx.resilience().ack {
            Ack::Packet(bytes) => {
                let u = cx.local.port_of(i);
                self.catch_up_terminal(cx, u, fx.now(), fx);
                self.send_ack(i, MessageWith { peer: to, number }, AckNews { word, stamp }, bytes, fx);
                self.set_due(cx, u, fx);
            }
            Ack::OutOfBand(delay) => {
                let sender = self.transport.senders.edit(i);
                sender.names = sender.names.wrapping_add(1);
                let name = Name::Ack.of(terminal.number(), sender.names);
                let wire = Wire::Ack { from: terminal, to, number, word: word.0, stamp };
                let partition = cx.net.owner[cx.net.fabric.router_at(to)];
                fx.send(partition, cx.net.lane, fx.now() + delay, Class::Ordinary, name, wire);
            }
        }
    }

    /// An out-of-band acknowledgement for terminal `to`, which lives here.
    pub(crate) fn ack_from_afar(
        &mut self,
        cx: &Static,
        to: TerminalId,
        about: MessageWith,
        news: AckNews,
        fx: &mut impl Fx,
    ) {
        let i = cx.local.terminals.binary_search(&to).expect("it reached the sender's partition") as u32;
        self.acknowledged(cx, i, about, news, fx);
    }
}
