//! Sending: messages to windows, windows to packets, timers. See `TRANSPORT.md`.

use super::{
    AckNews, Datagram, DatagramRow, How, MOST_WINDOWS, MessageWith, PairState, Sort, Timer, TimerRow,
    Transfer, TransferRow, Word, config::Resilience, pair,
};
use crate::{
    effects::{Fx, Record},
    event::{Alarm, Name},
    hybrid::predicted::Predicted,
    identity::PacketId,
    net::{Router, Static},
    pools::{PacketRow, RowNumber},
    rows::Cutting,
    state::State,
};
use base::{
    index::TerminalId,
    time::{NEVER, Ps},
};
use engine::key::Class;
use resilience::Protocol;

/// Doublings of a timer at most.
const MOST_DOUBLINGS: u32 = 6;
/// Packets for each that is missing at most.
const MOST_COPIES: u64 = 16;

impl Static {
    /// The section; only asked where it is there.
    pub(super) fn resilience(&self) -> &Resilience {
        self.net.resilience.as_ref().expect("only runs with [resilience] get here")
    }
}

impl<R: Router> State<R> {
    /// It is time for a terminal's next message, or a stale alarm rings.
    pub(crate) fn offer_alarm(&mut self, cx: &Static, index: u32, fx: &mut impl Fx) {
        debug_assert!(
            self.transport.senders.get(index).due >= fx.now(),
            "a sender misses no alarm that counts"
        );
        if self.transport.senders.get(index).due == fx.now() {
            self.transport.senders.edit(index).due = NEVER;
            self.offer(cx, index, fx);
        }
    }

    /// Begins the messages of a terminal that are there now, as many as may be under way; sets its alarm for the next.
    pub(crate) fn offer(&mut self, cx: &Static, i: u32, fx: &mut impl Fx) {
        // Terminals are lazy: what their link has taken since is done first, else this would see packets that have long left.
        let (u, now) = (cx.local.port_of(i), fx.now());
        self.catch_up_terminal(cx, u, now, fx);
        while self.transport.senders.get(i).open < cx.resilience().messages {
            let (created, read_on) = self.offered(self.terminals.get(i));
            let delay = if read_on { 0 } else { self.adapter_time(cx, i) };
            let at = created.saturating_add(delay);
            if at > now {
                self.set_alarm(cx, i, at, fx);
                break;
            }
            if self.begin_message(cx, i) {
                let row = self.terminals.edit(i);
                row.cutting.active = false;
                let cutting = row.cutting;
                self.begin_transfer(cx, i, &cutting, fx);
            }
        }
        self.set_due(cx, u, fx);
    }

    fn set_alarm(&mut self, cx: &Static, i: u32, at: Ps, fx: &mut impl Fx) {
        if at >= self.transport.senders.get(i).due {
            return;
        }
        let sender = self.transport.senders.edit(i);
        sender.due = at;
        // An alarm that an earlier one replaces is not taken back: it rings, finds another `due`, and does nothing. Each has a name of its own, so that
        // ties are ordered alike in every partitioning.
        sender.names = sender.names.wrapping_add(1);
        let name = Name::Offer.of(cx.local.terminals[i as usize].number(), sender.names);
        fx.wake(at, Class::Ordinary, name, Alarm::Offer(i).token());
    }

    fn begin_transfer(&mut self, cx: &Static, i: u32, message: &Cutting, fx: &mut impl Fx) {
        let resilience = cx.resilience();
        let packets = message.left.div_ceil(u64::from(cx.net.payload())).max(1);
        // A packet names its window in few bits: a message that has more windows is refused, and counted, instead of numbers that wrap.
        if packets.div_ceil(u64::from(resilience.window)) > MOST_WINDOWS {
            return fx.record(Record::Ended {
                time: fx.now(),
                id: PacketId::NONE,
                ack: false,
                how: How::TooLong,
            });
        }
        let terminal = cx.local.terminals[i as usize];
        let key = pair(terminal, message.destination);
        let flow = self.transport.flows.get(key, 0).unwrap_or_default();
        self.transport.flows.set(key, 0, PairState { begun: flow.begun + 1, ..flow });
        let transfer = self.transport.transfers.take(Transfer {
            created: message.created,
            bytes: message.left,
            destination: message.destination,
            number: flow.begun,
            packets,
            window: 0,
            acked: 0,
            leaving: 0,
            round: None,
            sent: 0,
            tries: 0,
            next: TransferRow::NIL,
        });
        self.transport.open.set(key, flow.begun, transfer);
        self.transport.senders.edit(i).open += 1;
        self.send_window(cx, i, transfer, fx);
    }

    /// The transfer of a message from local terminal `i`, if it is under way.
    fn transfer(&self, cx: &Static, i: u32, destination: TerminalId, number: u32) -> Option<TransferRow> {
        self.transport.open.get(pair(cx.local.terminals[i as usize], destination), number)
    }

    /// Sends the window in hand for the first time.
    fn send_window(&mut self, cx: &Static, i: u32, transfer: TransferRow, fx: &mut impl Fx) {
        let row = self.transport.transfers.edit(transfer);
        (row.acked, row.tries) = (0, 0);
        let size = row.size(cx.resilience().window);
        if cx.resilience().protocol.codes() {
            return self.send_round(cx, i, transfer, true, fx);
        }
        for place in 0..size {
            self.send_data(cx, i, transfer, place, Sort::First, fx);
        }
    }

    /// Sends combinations for what is missing of a generation.
    fn send_round(&mut self, cx: &Static, i: u32, transfer: TransferRow, first: bool, fx: &mut impl Fx) {
        let row = *self.transport.transfers.get(transfer);
        let size = row.size(cx.resilience().window);
        debug_assert!(row.acked <= size, "the rank of a generation is its size at most");
        let missing = u64::from(size - row.acked);
        let key = pair(cx.local.terminals[i as usize], row.destination);
        let count = match self.transport.flows.get(key, 0) {
            Some(PairState { of, received, .. })
                if cx.resilience().protocol == Protocol::Ncd && received < of =>
            {
                // NCD sends as many more as the last round's losses suggest: missing x sent / received, rounded up, and bounded should next to nothing arrive.
                let most = missing * MOST_COPIES;
                (missing * u64::from(of)).div_ceil(u64::from(received.max(1))).min(most)
            }
            _ => missing,
        };
        let row = self.transport.transfers.edit(transfer);
        (row.round, row.leaving) = (None, count as u32);
        for n in 0..count {
            let sort = match first {
                // The sorts are for the books alone: what redundancy costs is kept apart from what losses cost.
                true if n < missing => Sort::First,
                true => Sort::Redundant,
                false => Sort::Again,
            };
            self.send_data(cx, i, transfer, size - 1, sort, fx);
        }
    }

    /// Puts a packet of the window in hand into the terminal.
    fn send_data(
        &mut self,
        cx: &Static,
        i: u32,
        transfer: TransferRow,
        place: u32,
        sort: Sort,
        fx: &mut impl Fx,
    ) {
        let (window, payload) = (cx.resilience().window, u64::from(cx.net.payload()));
        debug_assert!(place < window, "a window has so many places");
        let row = self.transport.transfers.get(transfer);
        let codes = cx.resilience().protocol.codes();
        // Combinations are as long as the longest packet of their generation.
        let before = u64::from(row.window) * u64::from(window) + if codes { 0 } else { u64::from(place) };
        let bytes = payload.min(row.bytes.saturating_sub(before * payload));
        // A combination counts as the last of its generation: the receiver learns the generation's size from it.
        let end = u64::from(row.window) * u64::from(window) + u64::from(place) + 1;
        let last = end == row.packets;
        let datagram = Datagram {
            time: fx.now(),
            stamp: row.created,
            destination: row.destination,
            number: row.number,
            word: Word::data(row.window, place, last).0,
            bytes: bytes as u32 + cx.resilience().head,
            next: DatagramRow::NIL,
            sort,
        };
        let datagram = self.transport.datagrams.take(datagram);
        self.transport.senders.edit(i).packets.push(&mut self.transport.datagrams, datagram);
    }

    /// Puts an acknowledgement into the terminal, before data.
    pub(super) fn send_ack(
        &mut self,
        i: u32,
        about: MessageWith,
        news: AckNews,
        bytes: u32,
        fx: &mut impl Fx,
    ) {
        let (MessageWith { peer: destination, number }, AckNews { word, stamp }) = (about, news);
        let time = fx.now();
        let row = Datagram {
            time,
            stamp,
            destination,
            number,
            word: word.0,
            bytes,
            next: DatagramRow::NIL,
            sort: Sort::Ack,
        };
        let datagram = self.transport.datagrams.take(row);
        self.transport.senders.edit(i).acks.push(&mut self.transport.datagrams, datagram);
    }

    /// Since when something waits for its hand-over; `NEVER` if nothing does.
    pub(crate) fn waiting_since(&self, i: u32) -> Ps {
        let sender = self.transport.senders.get(i);
        let head =
            |row: DatagramRow| if row.is_nil() { NEVER } else { self.transport.datagrams.get(row).time };
        head(sender.acks.head).min(head(sender.packets.head))
    }

    /// The packet that is handed over at `time`; those that have become needless are left out.
    fn next_datagram(&mut self, cx: &Static, i: u32, time: Ps) -> Option<Datagram> {
        loop {
            let sender = self.transport.senders.get(i);
            let head = sender.acks.head;
            let acks = !head.is_nil() && self.transport.datagrams.get(head).time <= time;
            let (sender, pool) = (self.transport.senders.edit(i), &self.transport.datagrams);
            let list = if acks { &mut sender.acks } else { &mut sender.packets };
            if list.is_empty() || pool.get(list.head).time > time {
                return None;
            }
            let datagram = list.pop(pool)?;
            let row = *pool.get(datagram);
            self.transport.datagrams.give(datagram);
            // It may have been acknowledged while it waited for the link. Looking again here spares the link a packet that nobody needs.
            if acks || self.is_needed(cx, i, &row) {
                return Some(row);
            }
        }
    }

    fn is_needed(&self, cx: &Static, i: u32, datagram: &Datagram) -> bool {
        let Some(transfer) = self.transfer(cx, i, datagram.destination, datagram.number) else {
            return false;
        };
        let (row, word) = (self.transport.transfers.get(transfer), Word(datagram.word));
        let codes = cx.resilience().protocol.codes();
        row.window == word.window() && (codes || row.acked >> word.place() & 1 == 0)
    }

    /// Hands the next packet over at `time`.
    pub(crate) fn hand_over_datagram(&mut self, cx: &Static, i: u32, time: Ps, fx: &mut impl Fx) {
        let Some(datagram) = self.next_datagram(cx, i, time) else { return };
        let Datagram { bytes, destination, sort, .. } = datagram;
        let row = self.terminals.edit(i);
        // A packet sent again is another packet, with a number of its own: losses are drawn by it, and must not repeat.
        let id = PacketId::new(cx.local.terminals[i as usize], row.packets);
        row.packets = row.packets.wrapping_add(1);
        let chunks = bytes.div_ceil(cx.net.config.chunk).max(1);
        let full = u64::from(row.queued + chunks) * u64::from(cx.net.config.chunk) >= cx.net.injection_buffer;
        row.request = if full { NEVER } else { time + cx.net.pace_of(bytes) };
        let packet = Predicted {
            id,
            created: time,
            message_created: datagram.stamp,
            bytes: u64::from(bytes),
            destination,
            message: datagram.number,
            message_packets: datagram.word,
            packets: 1,
        };
        self.enqueue_packet(cx, i, &packet, bytes, time);
        fx.record(Record::Created { time, id, bytes, destination, packets: 1 });
        fx.record(Record::Sent { sort, bytes });
    }

    /// A packet starts onto the terminal's link: its timer runs from here on.
    pub(crate) fn packet_leaves(&mut self, cx: &Static, i: u32, packet: PacketRow, fx: &mut impl Fx) {
        let (destination, number, word, id, start) = {
            let p = self.net.packets.get(packet);
            (p.destination, p.message, Word(p.message_packets), p.id, p.start)
        };
        if word.is_ack() {
            return;
        }
        let resilience = cx.resilience();
        let sent = if resilience.protocol.codes() { self.count_sent(cx, i, destination) } else { 0 };
        let Some(transfer) = self.transfer(cx, i, destination, number) else { return };
        if self.transport.transfers.get(transfer).window != word.window() {
            return;
        }
        let row = self.transport.transfers.edit(transfer);
        let tries = if resilience.backoff { row.tries.min(MOST_DOUBLINGS) } else { 0 };
        if resilience.protocol.codes() {
            debug_assert!(row.leaving > 0, "each packet of a round leaves once");
            // A round has one timer, which runs from its last packet on: earlier ones would ring while the round still leaves.
            row.leaving -= 1;
            if row.leaving > 0 {
                return;
            }
            (row.round, row.sent) = (Some(id.number()), sent);
        }
        let packet = id.number();
        let timer = Timer { terminal: i, destination, number, word: word.0, packet, next: TimerRow::NIL };
        let timer = self.transport.timers.take(timer);
        let name = Name::Timer.of(cx.local.terminals[i as usize].number(), packet);
        debug_assert!(tries <= MOST_DOUBLINGS);
        let at = start + (resilience.timeout << tries);
        fx.wake(at, Class::Ordinary, name, Alarm::Timer(timer.number()).token());
    }

    fn count_sent(&mut self, cx: &Static, i: u32, destination: TerminalId) -> u32 {
        let key = pair(cx.local.terminals[i as usize], destination);
        let flow = self.transport.flows.get(key, 0).unwrap_or_default();
        let sent = flow.sent.wrapping_add(1);
        self.transport.flows.set(key, 0, PairState { sent, ..flow });
        sent
    }

    /// A packet was not acknowledged in time.
    pub(crate) fn timer_ends(&mut self, cx: &Static, timer: TimerRow, fx: &mut impl Fx) {
        let Timer { terminal: i, destination, number, word, packet, .. } = *self.transport.timers.get(timer);
        self.transport.timers.give(timer);
        debug_assert!(cx.net.resilience.is_some(), "only transports have timers");
        let Some(transfer) = self.transfer(cx, i, destination, number) else { return };
        let word = Word(word);
        let u = cx.local.port_of(i);
        self.catch_up_terminal(cx, u, fx.now(), fx);
        let row = self.transport.transfers.get(transfer);
        let codes = cx.resilience().protocol.codes();
        // Timers are not taken back either. One is stale if its window is over, its round was followed by another, or its packet was acknowledged.
        let news = if codes { row.round == Some(packet) } else { row.acked >> word.place() & 1 == 0 };
        if row.window != word.window() || !news {
            return self.set_due(cx, u, fx);
        }
        self.transport.transfers.edit(transfer).tries += 1;
        // Repeating sends this packet alone. Coding cannot know which ones got lost, and need not: any new combination helps.
        if codes {
            self.send_round(cx, i, transfer, false, fx);
        } else {
            self.send_data(cx, i, transfer, word.place(), Sort::Again, fx);
        }
        self.set_due(cx, u, fx);
    }

    /// The receiver of a message of local terminal `i` reported what it has of it.
    pub(super) fn acknowledged(
        &mut self,
        cx: &Static,
        i: u32,
        about: MessageWith,
        news: AckNews,
        fx: &mut impl Fx,
    ) {
        let (MessageWith { peer: from, number }, AckNews { word, stamp }) = (about, news);
        let Some(transfer) = self.transfer(cx, i, from, number) else { return };
        let u = cx.local.port_of(i);
        self.catch_up_terminal(cx, u, fx.now(), fx);
        let (window, codes) = (cx.resilience().window, cx.resilience().protocol.codes());
        let row = self.transport.transfers.edit(transfer);
        // An answer to a window that is over: that one has all it needs, and copies and spare combinations are answered too.
        if row.window != word.window() {
            return self.set_due(cx, u, fx);
        }
        let known = row.acked;
        row.acked = if codes { row.acked.max(word.rank()) } else { row.acked | 1 << word.place() };
        // Whatever news there is shows that the way is open: the next timer is as short as the first.
        if row.acked != known {
            row.tries = 0;
        }
        let (size, round_over) = (row.size(window), codes && row.round == Some(stamp as u32));
        debug_assert!(
            if codes { row.acked <= size } else { row.acked & !mask(size) == 0 },
            "no more is acknowledged than was sent"
        );
        let full = if codes { row.acked == size } else { row.acked == mask(size) };
        let (sent, received) = (row.sent, (stamp >> 32) as u32);
        if round_over {
            let key = pair(cx.local.terminals[i as usize], from);
            let flow = self.transport.flows.get(key, 0).unwrap_or_default();
            self.transport.flows.set(key, 0, PairState { of: sent, received, ..flow });
        }
        if full {
            self.next_window(cx, i, transfer, fx);
        } else if round_over {
            self.send_round(cx, i, transfer, false, fx);
        }
        self.offer(cx, i, fx);
    }

    /// All of a window is there: the next one, or the message is over.
    fn next_window(&mut self, cx: &Static, i: u32, transfer: TransferRow, fx: &mut impl Fx) {
        let row = self.transport.transfers.edit(transfer);
        row.window += 1;
        let row = *row;
        if u64::from(row.window) * u64::from(cx.resilience().window) < row.packets {
            return self.send_window(cx, i, transfer, fx);
        }
        let key = pair(cx.local.terminals[i as usize], row.destination);
        self.transport.open.remove(key, row.number);
        self.transport.transfers.give(transfer);
        debug_assert!(self.transport.senders.get(i).open > 0, "a message that is over was begun");
        self.transport.senders.edit(i).open -= 1;
    }
}

impl Transfer {
    /// Packets of the window in hand.
    pub(super) fn size(&self, window: u32) -> u32 {
        debug_assert!(
            u64::from(self.window) * u64::from(window) < self.packets,
            "an open message has a window in hand"
        );
        (self.packets - u64::from(self.window) * u64::from(window)).min(u64::from(window)) as u32
    }
}

/// So many ones.
pub(super) fn mask(size: u32) -> u32 {
    debug_assert!((1..=32).contains(&size), "a window has a bit for each packet");
    (u64::MAX >> (64 - size)) as u32
}
