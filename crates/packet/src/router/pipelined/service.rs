//! Service classes at an output: who goes first, and who may not go yet.
//!
//! An output keeps a *virtual time* and, per class, the time at which its last chunk ends in it, and the instant from which its cap allows the next
//! one. Under weights a chunk begins at the end of its class's last one, not before the present virtual time, and lasts its time on the link
//! divided by the weight; the chunk that begins first is served first, and its begin is the virtual time. A cap is the virtual scheduling
//! algorithm with a packet's tolerance. Without service classes there is none of this.

use super::{Pipelined, shares::Shares};
use crate::{
    net::{Net, Static, channels},
    places::LocalPort,
    pools::ChunkRow,
    services::classes::Order,
};
use base::{
    index::ChannelId,
    time::{NEVER, Ps},
};
use engine::state::{Table, mode::Mode};

/// Virtual time of a picosecond on the link at weight 1.
const UNIT: u64 = 16;

/// What an output keeps of the classes.
struct Books {
    row: u32,
    classes: u32,
}

impl Books {
    fn of(shares: &Shares, out: LocalPort) -> Self {
        Self { row: out.number() * shares.words() as u32, classes: shares.caps.len() as u32 }
    }

    /// End of a class's last chunk in virtual time.
    fn end(&self, class: u32) -> u32 {
        self.row + 1 + class
    }

    /// Instant at which a class that sends steadily would send next.
    fn due(&self, class: u32) -> u32 {
        self.row + 1 + self.classes + class
    }

    /// Virtual channel of the class that the link served last.
    fn last(&self, class: u32) -> u32 {
        self.row + 1 + 2 * self.classes + class
    }
}

impl<M: Mode> Pipelined<M> {
    /// The table of what outputs keep of service classes, of a router's ports.
    pub(super) fn new_books(shares: Option<&Shares>, ports: usize) -> Table<u64, M> {
        Table::new(shares.map_or(0, |s| ports * s.words()), 0)
    }

    /// Where the sets of a virtual channel's service class begin.
    #[inline]
    pub(super) fn offset(&self, vc: ChannelId) -> u8 {
        if M::FEATURES { self.offsets[usize::from(vc.number())] } else { 0 }
    }

    /// How many classes have turns of their own.
    #[inline]
    pub(super) fn memories(&self) -> u32 {
        if M::FEATURES { self.shares.as_ref().map_or(1, Shares::memories) } else { 1 }
    }

    /// Which turns those of a virtual channel are: its class's, if classes have their own.
    #[inline]
    pub(super) fn memory(&self, vc: ChannelId) -> u8 {
        match &self.shares {
            Some(shares) if M::FEATURES && shares.order != Order::Turns => {
                shares.of_vc[usize::from(vc.number())]
            }
            _ => 0,
        }
    }

    /// Row of the turns of a way into the switch.
    #[inline]
    pub(super) fn turn(&self, lane: u32, memory: u8) -> u32 {
        if M::FEATURES { lane * self.memories() + u32::from(memory) } else { lane }
    }

    /// Begin of a class's next chunk in an output's virtual time.
    fn begin(&self, books: &Books, class: u32) -> u64 {
        (*self.books.get(books.row)).max(*self.books.get(books.end(class)))
    }

    /// Place of a class among those of an output: 0 goes first.
    fn place_of(&self, shares: &Shares, out: LocalPort, class: usize) -> u8 {
        match shares.order {
            Order::Turns => 0,
            Order::Strict => class as u8,
            Order::Weighted(_) => {
                let (books, class) = (Books::of(shares, out), class as u32);
                let own = (self.begin(&books, class), class);
                (0..books.classes).filter(|&c| (self.begin(&books, c), c) < own).count() as u8
            }
        }
    }

    /// Place at the switch of what came in by a virtual channel, for an output.
    #[inline]
    pub(super) fn precedence(&self, vc: ChannelId, out: LocalPort) -> u8 {
        let Some(shares) = self.shares.as_ref().filter(|_| M::FEATURES) else { return 0 };
        // Where outputs have queues, the link shares by weight, and what stands in them is each class's own.
        if self.rules.output_queue.is_some() && shares.order != Order::Strict {
            return 0;
        }
        self.place_of(shares, out, usize::from(shares.of_vc[usize::from(vc.number())]))
    }

    /// From when on a class may use an output.
    fn allowed(&self, shares: &Shares, out: LocalPort, class: usize, span: Ps) -> Ps {
        if shares.caps[class] >= 100 {
            return 0;
        }
        let due = *self.books.get(Books::of(shares, out).due(class as u32));
        due.saturating_sub(shares.burst * shares.spacing(class, span))
    }

    /// From when on what came in by a virtual channel may cross the switch to an output; where outputs have queues, always.
    pub(super) fn opens(&self, vc: ChannelId, out: LocalPort, span: Ps) -> Ps {
        match &self.shares {
            Some(shares) if M::FEATURES && self.rules.output_queue.is_none() => {
                self.allowed(shares, out, usize::from(shares.of_vc[usize::from(vc.number())]), span)
            }
            _ => 0,
        }
    }
}

impl<M: Mode> Net<Pipelined<M>> {
    /// Time of a full chunk on the link of an output, rounded down.
    fn full_span(cx: &Static, out: LocalPort) -> Ps {
        cx.net.timings[Self::line(cx, out).timing as usize].chunk.whole
    }

    /// From when on the cap of its class lets something that came in by a virtual channel cross to an output.
    #[inline]
    pub(super) fn opens(&self, cx: &Static, vc: ChannelId, out: LocalPort) -> Ps {
        if M::FEATURES && self.router.shares.is_some() {
            self.router.opens(vc, out, Self::full_span(cx, out))
        } else {
            0
        }
    }

    /// A chunk is served at `s`: its class's turn and cap move on. Where outputs have queues the link serves, else the switch.
    pub(super) fn serve(&mut self, cx: &Static, out: LocalPort, vc: ChannelId, c: ChunkRow, s: Ps) {
        let Some(shares) = self.router.shares.as_ref().filter(|_| M::FEATURES) else { return };
        let timing = &cx.net.timings[Self::line(cx, out).timing as usize];
        let bytes = self.packets.get(self.chunks.get(c).packet).bytes.clamp(1, cx.net.config.chunk);
        let span = timing.span(bytes, cx.net.config.chunk).whole;
        let class = usize::from(shares.of_vc[usize::from(vc.number())]);
        let books = Books::of(shares, out);
        // Read before anything is written: turn and cap are of the instant before this chunk.
        let begin = self.router.begin(&books, class as u32);
        let end = match &shares.order {
            Order::Weighted(weights) => Some(begin + span * UNIT / u64::from(weights[class])),
            _ => None,
        };
        let due = (shares.caps[class] < 100).then(|| {
            let due = *self.router.books.get(books.due(class as u32));
            due.max(s) + shares.spacing(class, span)
        });
        if let Some(end) = end {
            *self.router.books.edit(books.row) = begin;
            *self.router.books.edit(books.end(class as u32)) = end;
        }
        if let Some(due) = due {
            *self.router.books.edit(books.due(class as u32)) = due;
        }
        // Only queues at outputs ask whose turn it is in a class.
        if self.router.rules.output_queue.is_some() && shares.order != Order::Turns {
            *self.router.books.edit(books.last(class as u32)) = u64::from(vc.number());
        }
    }

    /// Of the virtual channels that could start at an output's link at `start`, the one whose turn it is in the class whose turn it is.
    pub(super) fn served_first(
        &self,
        cx: &Static,
        out: LocalPort,
        ready: u16,
        start: Ps,
    ) -> Option<ChannelId> {
        let next = |ready: u16, last| (ready != 0).then(|| channels::after(ready, last));
        let last = self.ports.get(out).last_vc;
        let Some(shares) = self.router.shares.as_ref().filter(|_| M::FEATURES) else {
            return next(ready, last);
        };
        // A class at its cap counts as one that has nothing to send, so the others share what it leaves.
        let span = Self::full_span(cx, out);
        let may = |class: &usize| {
            ready & shares.sets[*class] != 0 && self.router.allowed(shares, out, *class, span) <= start
        };
        let open = (0..shares.sets.len()).filter(may);
        if shares.order == Order::Turns {
            return next(open.fold(0, |set, class| set | ready & shares.sets[class]), last);
        }
        let first = open.min_by_key(|&class| self.router.place_of(shares, out, class))?;
        let last = *self.router.books.get(Books::of(shares, out).last(first as u32));
        next(ready & shares.sets[first], ChannelId::new(last as u8))
    }

    /// When an output's queues start something at its link, which is free at `free`, if `ready` have room; `NEVER` if that is not known.
    pub(super) fn start_by_class(&self, cx: &Static, out: LocalPort, ready: u16, free: Ps) -> Ps {
        let port = self.ports.get(out);
        let release = || port.next_release().map_or(NEVER, |release| free.max(release));
        let Some(shares) = self.router.shares.as_ref().filter(|_| M::FEATURES) else {
            return if ready != 0 { free } else { release() };
        };
        let span = Self::full_span(cx, out);
        let classes = (0..shares.sets.len()).filter(|&class| ready & shares.sets[class] != 0);
        let start = classes.map(|class| self.router.allowed(shares, out, class, span).max(free)).min();
        // Who lacks room may have it before a class with room is allowed.
        let others = if channels::each(port.own).any(|vc| ready & vc.bit() == 0) { release() } else { NEVER };
        start.unwrap_or(NEVER).min(others)
    }
}
