//! The second look of `--check` at the transport: senders, receivers and what is under way must fit each other, and the ledger of records.
//!
//! Of each partition plain data is kept ([`Books`]), named by terminals and messages, so that it can come from another process. What a sender knows
//! to have arrived must be there; what it does not know must wait, be under way or have a timer that runs; what a receiver counts must
//! be what the records counted.

use super::{
    Arrival, DatagramRow, PairState, Peer, Sender, TimerRow, Transfer, Transport, Word, sender::mask,
};
use crate::{
    check::Pending,
    event::Alarm,
    ledger::Ledger,
    net::{Router, Static},
    places::pair,
    state::PacketDomain,
};
use base::{
    index::TerminalId,
    sorted::{SortedMap, SortedSet},
    time::NEVER,
};
use engine::{agenda::Due, state::mode::Mode};
use serde::{Deserialize, Serialize};

/// A message: source and destination in one number, and the sender's number of it.
type Name = (u64, u32);

/// A message that its sender has under way.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Outgoing {
    packets: u64,
    window: u32,
    acked: u32,
}

/// What transports of a partition say, or of several.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Books {
    /// Packets of a window, and true where they are coded.
    rules: (u32, bool),
    outgoing: SortedMap<Name, Outgoing>,
    /// Messages begun by pair.
    begun: SortedMap<u64, u32>,
    /// Messages on their way in.
    incoming: SortedMap<Name, Arrival>,
    /// All messages of a pair below are complete.
    floors: SortedMap<u64, u32>,
    faults: Vec<String>,
}

fn named((key, number): Name) -> String {
    format!("message {number} from {} to {}", key >> 32, key & 0xffff_ffff)
}

/// Packets under way that will bring news of a window: a bit for each place.
#[derive(Default)]
struct Alive {
    places: SortedMap<(Name, u32), u32>,
    /// Packets that have not left their terminal.
    waiting: SortedMap<(Name, u32), u32>,
}

impl Books {
    /// Of one partition, settled, with what is pending in it; none without a transport.
    #[must_use]
    pub fn of<R: Router>(domain: &PacketDomain<R>, pending: &Pending) -> Option<Self> {
        let (cx, transport) = (&domain.cx, &domain.state.transport);
        let resilience = cx.net.resilience.as_ref()?;
        let mut books = Self { rules: (resilience.window, resilience.protocol.codes()), ..Self::default() };
        let wakes = || {
            pending.iter().filter_map(|(_, key, due)| match due {
                Due::Wake(token) => Some((key.time, Alarm::of(*token))),
                Due::Message(_) => None,
            })
        };
        let mut alive = Alive::default();
        let timers: Vec<u32> =
            wakes().filter_map(|w| if let Alarm::Timer(row) = w.1 { Some(row) } else { None }).collect();
        books.timers(cx, transport, &timers, &mut alive);
        let offers: SortedSet<(u64, u32)> =
            wakes().filter_map(|w| if let Alarm::Offer(i) = w.1 { Some((w.0, i)) } else { None }).collect();
        for (i, &terminal) in (0..).zip(&cx.local.terminals) {
            let sender = transport.senders.get(i);
            if sender.due != NEVER && !offers.contains(&(sender.due, i)) {
                books.faults.push(format!("terminal {terminal} waits for an alarm that is not set"));
            }
            books.datagrams(cx, transport, terminal, sender, &mut alive);
            let row = domain.state.terminals.get(i);
            // The first of them may have started: then its timer runs, or it has none because it brings no news.
            let mut left = row.sent > 0;
            for packet in row.queue.iter(&domain.state.net.packets) {
                let p = domain.state.net.packets.get(packet);
                let (to, number, word) = (p.destination, p.message, Word(p.message_packets));
                books.lives(&mut alive, terminal, to, number, word, !left);
                left = false;
            }
        }
        books.transfers(cx, transport, &alive);
        transport.flows.each(|key, _, flow: &PairState| books.begun.extend([(key, flow.begun)]));
        transport.peers.each(|key, _, peer: &Peer| books.floors.extend([(key, peer.floor)]));
        transport.arrivals.each(|key, number, row: &Arrival| books.incoming.extend([((key, number), *row)]));
        Some(books)
    }

    /// A packet, which may still wait in its terminal, or its timer.
    fn lives(
        &self,
        alive: &mut Alive,
        from: TerminalId,
        to: TerminalId,
        number: u32,
        word: Word,
        waits: bool,
    ) {
        if !word.is_ack() {
            let window = ((pair(from, to), number), word.window());
            *alive.places.entry(window).or_default() |= 1 << word.place();
            *alive.waiting.entry(window).or_default() += u32::from(waits);
        }
    }

    /// Each timer has a row of its own, of a message that was begun.
    fn timers<M: Mode>(&mut self, cx: &Static, t: &Transport<M>, timers: &[u32], alive: &mut Alive) {
        let rows: SortedSet<u32> = timers.iter().copied().collect();
        // Two alarms of one row, or a row that no alarm will free, both break the count.
        if rows.len() != timers.len() || rows.len() as u32 != t.timers.in_use() {
            let (set, kept) = (timers.len(), t.timers.in_use());
            self.faults.push(format!("{set} timers are set, {kept} rows are kept for them"));
        }
        for row in rows {
            let timer = t.timers.get(TimerRow::new(row));
            let Some(&terminal) = cx.local.terminals.get(timer.terminal as usize) else {
                self.faults.push("a timer runs for a terminal that is not here".to_owned());
                continue;
            };
            let key = pair(terminal, timer.destination);
            let begun = t.flows.get(key, 0).unwrap_or_default().begun;
            if timer.number >= begun {
                self.faults.push(format!("a timer runs for {}, not begun", named((key, timer.number))));
            }
            self.lives(alive, terminal, timer.destination, timer.number, Word(timer.word), false);
        }
    }

    /// What waits in a terminal is of its messages, of the size that it should have.
    fn datagrams<M: Mode>(
        &mut self,
        cx: &Static,
        t: &Transport<M>,
        terminal: TerminalId,
        sender: &Sender,
        alive: &mut Alive,
    ) {
        let (payload, window) = (u64::from(cx.net.payload()), u64::from(self.rules.0));
        let head = cx.net.resilience.as_ref().map_or(0, |r| r.head);
        let rows: Vec<DatagramRow> = sender.packets.iter(&t.datagrams).collect();
        for datagram in rows.into_iter().map(|row| t.datagrams.get(row)) {
            let (word, name) = (Word(datagram.word), (pair(terminal, datagram.destination), datagram.number));
            // Copies may still wait when their message is over; they are of one that was begun.
            let Some(transfer) = t.open.get(name.0, name.1) else {
                if datagram.number >= t.flows.get(name.0, 0).unwrap_or_default().begun {
                    self.faults.push(format!("a packet waits of {}, not begun", named(name)));
                }
                continue;
            };
            let Transfer { bytes, packets, .. } = *t.transfers.get(transfer);
            // Coded packets are all as large as the first of their window, whatever their place.
            let place = if self.rules.1 { 0 } else { u64::from(word.place()) };
            let before = u64::from(word.window()) * window + place;
            let right = payload.min(bytes.saturating_sub(before * payload)) as u32 + head;
            if datagram.bytes != right || before >= packets || word.is_ack() {
                self.faults.push(format!("a packet of {} B waits of {}", datagram.bytes, named(name)));
            }
            self.lives(alive, terminal, datagram.destination, datagram.number, word, true);
        }
    }

    /// Every message under way is known by its name, and whatever it lacks is under way or has a timer.
    fn transfers<M: Mode>(&mut self, cx: &Static, t: &Transport<M>, alive: &Alive) {
        let (window, codes) = self.rules;
        let mut open: SortedMap<TerminalId, u32> = SortedMap::new();
        let mut found = Vec::new();
        t.open.each(|key, number, &row| found.push(((key, number), row)));
        // Two names for one row, or a row without a name, both break the count.
        let distinct: SortedSet<u32> = found.iter().map(|(_, row)| row.number()).collect();
        if distinct.len() != found.len() || distinct.len() as u32 != t.transfers.in_use() {
            self.faults.push(format!("{} messages are open, {} are kept", found.len(), t.transfers.in_use()));
        }
        for (name, row) in found {
            let transfer = t.transfers.get(row);
            *open.entry(TerminalId::new((name.0 >> 32) as u32)).or_default() += 1;
            let Transfer { bytes, packets, acked, .. } = *transfer;
            if u64::from(transfer.window) * u64::from(window) >= packets {
                self.faults.push(format!("{} is beyond its last window", named(name)));
                continue;
            }
            let size = transfer.size(window);
            let needed = bytes.div_ceil(u64::from(cx.net.payload())).max(1);
            let apart = u64::from(transfer.destination) != name.0 & 0xffff_ffff || transfer.number != name.1;
            if apart || needed != packets {
                self.faults.push(format!("{} is kept as another", named(name)));
            }
            // Coding begins its timer when the last packet of a round leaves: a wrong count would never begin it.
            let waiting = alive.waiting.get(&(name, transfer.window)).copied().unwrap_or(0);
            if codes && waiting != transfer.leaving {
                let leaving = transfer.leaving;
                self.faults.push(format!("{}: {leaving} packets are to leave, {waiting} wait", named(name)));
            }
            let alive = alive.places.get(&(name, transfer.window)).copied().unwrap_or(0);
            // What codes asks for any packet of the window; what repeats asks for each that is not acknowledged.
            let lacks =
                if codes { u32::from(acked < size && alive == 0) } else { mask(size) & !acked & !alive };
            if lacks != 0 {
                self.faults.push(format!("{} lacks packets that nobody will send", named(name)));
            }
            self.outgoing.insert(name, Outgoing { packets, window: transfer.window, acked });
        }
        for (i, &terminal) in (0..).zip(&cx.local.terminals) {
            let (counted, there) = (t.senders.get(i).open, open.get(&terminal).copied().unwrap_or(0));
            if counted != there {
                self.faults.push(format!("terminal {terminal} counts {counted} messages, {there} are open"));
            }
        }
    }

    /// Adds another partition's.
    pub fn merge(&mut self, other: Self) {
        self.outgoing.extend(other.outgoing);
        self.begun.extend(other.begun);
        self.incoming.extend(other.incoming);
        self.floors.extend(other.floors);
        self.faults.extend(other.faults);
    }

    fn floor(&self, key: u64) -> u32 {
        self.floors.get(&key).copied().unwrap_or(0)
    }

    /// What is wrong, once all partitions' are there; `ledger` has read the records.
    #[must_use]
    pub fn verdict(&self, ledger: &Ledger) -> Vec<String> {
        let mut faults = self.faults.clone();
        for (&name, out) in &self.outgoing {
            faults.extend(self.behind(name, out).map(|what| format!("{}: {what}", named(name))));
        }
        for (&(key, number), row) in &self.incoming {
            let name = (key, number);
            if number >= self.begun.get(&key).copied().unwrap_or(0) || number < self.floor(key) {
                faults.push(format!("{} comes in, not begun or over", named(name)));
            }
            let got = if self.rules.1 { row.got } else { row.got.count_ones() };
            let counted = ledger.counted_of(key, number);
            if !row.complete && counted != u64::from(row.window) * u64::from(self.rules.0) + u64::from(got) {
                let window = row.window;
                faults.push(format!("{}: {got} of window {window} came, {counted} counted", named(name)));
            }
        }
        for (&key, &begun) in &self.begun {
            let floor = self.floor(key);
            let done = |number: u32| self.incoming.get(&(key, number)).is_some_and(|row| row.complete);
            // Those above the floor are complete out of order.
            let complete = floor + (floor..begun).filter(|&n| done(n)).count() as u32;
            if floor > begun || complete != ledger.complete_of(key) {
                let recorded = ledger.complete_of(key);
                let ends = named((key, floor));
                faults.push(format!("{ends} is next, {complete} of {begun} complete, {recorded} recorded"));
            }
            // A sender forgets a message when all of it is acknowledged, so the receiver has it.
            let ended = (floor..begun).find(|&n| !done(n) && !self.outgoing.contains_key(&(key, n)));
            faults.extend(ended.map(|n| format!("{} is over and did not arrive", named((key, n)))));
        }
        faults
    }

    /// What a sender knows and the receiver does not.
    fn behind(&self, (key, number): Name, out: &Outgoing) -> Option<String> {
        if number >= self.begun.get(&key).copied().unwrap_or(0) {
            return Some("under way and not begun".to_owned());
        }
        let last = out.packets.div_ceil(u64::from(self.rules.0)) - 1;
        let there = self.incoming.get(&(key, number)).copied().unwrap_or_default();
        // The last acknowledgement of a complete message is still on its way back.
        if number < self.floor(key) || there.complete {
            return (u64::from(out.window) != last).then(|| "complete before its last window".to_owned());
        }
        let known = match self.rules.1 {
            true => out.acked <= there.got,
            false => out.acked & !there.got == 0,
        };
        // The receiver may be a window ahead, while the acknowledgement travels back, and never behind.
        let sound = there.window == out.window + 1 || (there.window == out.window && known);
        (!sound).then(|| format!("the sender is at window {}, the receiver at {}", out.window, there.window))
    }
}
