//! The flow model on the engine: sources and the sharing of links, in one partition; a carrier of those who live on its terminals.
//!
//! Whoever sends begins a flow; one alarm is set for the next moment of the [`Sharing`]. When it rings, all moments up to this picosecond
//! are done one after another: a message that is whole is handed over, or answered by its traffic, before the next one is looked for, because an
//! answer may begin flows that end at this very picosecond.

use super::{
    by_load,
    context::Context,
    fine_time::FineTime,
    kind::Kind,
    network::{self, Lost, Network, Pair},
    received::Received,
    sharing::{Over, Sharing},
    turns::{Row, Turns},
};
use base::{
    index::TerminalId,
    sorted::{SortedMap, SortedSet},
    time::{NEVER, Ps},
};
use engine::{
    domain::{Domain, Effects},
    key::Class,
    state::Journal,
};
use ranks::{
    carrier::{Ahead, Alarm, Carrier, Delivery, Posting, Ring},
    finished::{Finished, Met},
    messages::Seen,
};
use std::sync::Arc;
use workload::{registry::Work, traffic::Message as Upcoming};

/// Something to be measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Record {
    /// A message begins.
    Begun {
        /// Virtual time at which it happens.
        time: Ps,
        /// The message that begins.
        message: Seen,
    },
    /// A message is whole.
    Delivered {
        /// Virtual time at which it happens.
        time: Ps,
        /// The same with its fraction.
        exact: f64,
        /// What it was.
        message: Seen,
        /// Routers or links on its way.
        hops: u32,
    },
    /// What the message of the next [`Record::Delivered`] would have taken alone; 0 for a host's. Only where that is measured.
    Alone(Ps),
    /// A rank finished an operation.
    Operation(Finished),
    /// A receive has its message.
    Met(Met),
}

const _: () = assert!(size_of::<Record>() <= 64, "a record is a cache line at most");

/// A message under way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Message {
    /// Number of the terminal that it comes from.
    pub source: TerminalId,
    /// Number of the terminal that it is for.
    pub destination: TerminalId,
    /// The source's number of it.
    pub number: u32,
    /// Its pair, as the network numbers pairs.
    pub pair: u32,
    /// Number of the route that it takes.
    pub route: u32,
    /// Its payload in bytes, without headers.
    pub bytes: u64,
    /// When it was sent.
    pub created: Ps,
    /// It answers a request.
    pub reply: bool,
    /// What the host posted with it; none for traffic.
    pub ahead: Option<Ahead>,
}

/// What is sent.
struct What {
    bytes: u64,
    /// The most that it may flow at.
    rate: Option<f64>,
    reply: bool,
}

impl Message {
    /// What must be the same at both its ends.
    #[must_use]
    pub fn seen(&self) -> Seen {
        let Self { source, destination, number, bytes, created, .. } = *self;
        Seen { from: source.number(), to: destination.number(), number, bytes, time: created }
    }
}

impl From<Finished> for Record {
    fn from(finished: Finished) -> Self {
        Self::Operation(finished)
    }
}

impl From<Met> for Record {
    fn from(met: Met) -> Self {
        Self::Met(met)
    }
}

/// The position of a rank of traffic in its messages.
#[derive(Clone, Copy, Debug)]
struct Source {
    index: u64,
    next: Option<Upcoming>,
}

/// Messages of traffic that answers, between two terminals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Exchange {
    source: TerminalId,
    destination: TerminalId,
    /// Replies, not requests.
    reply: bool,
}

/// All of a run.
pub struct FlowDomain {
    pub(super) cx: Arc<Context>,
    /// Links and flows.
    pub sharing: Sharing,
    pub(super) network: Network,
    turns: Turns,
    messages: Vec<Message>,
    /// What each would take alone, if that is measured; else empty.
    alone: Vec<Ps>,
    free: Vec<u32>,
    /// What is kept of each terminal, by number.
    sources: Vec<Source>,
    numbers: Vec<u32>,
    /// Messages that arrived, by pair, requests and replies apart: for traffic that answers.
    arrived: SortedMap<Exchange, u64>,
    /// What is whole, from `handed` on not yet handed over. All is, between events.
    over: Vec<Over>,
    received: Received,
    handed: usize,
    /// The sharing is asked for more at this instant.
    sharing_on: bool,
    /// The alarm of the sharing that counts.
    alarm: Ps,
    alarms: u64,
    /// Something was left out because it lay beyond the end.
    pub cut: bool,
    /// There were more flows than allowed.
    pub overflow: bool,
    /// A message had no way.
    pub lost: Option<Lost>,
}

impl FlowDomain {
    /// Before anything has happened.
    #[must_use]
    pub fn new(cx: Arc<Context>) -> Self {
        let mut sharing = Sharing::new(cx.config.rules.clone(), cx.measure.window);
        sharing.set_accuracy(cx.config.accuracy);
        if let Some(wide) = cx.config.wide {
            sharing.set_accuracy_when_wide(wide.accuracy, wide.links);
        }
        if cx.check {
            sharing.keep_audit();
        }
        let network = Network::new(&cx, &mut sharing);
        let terminals = cx.fabric.terminals() as usize;
        Self {
            sharing,
            network,
            turns: Turns::default(),
            messages: Vec::new(),
            alone: Vec::new(),
            free: Vec::new(),
            sources: vec![Source { index: 0, next: None }; terminals],
            numbers: vec![0; terminals],
            arrived: SortedMap::new(),
            over: Vec::new(),
            received: Received::new(cx.warmup),
            handed: 0,
            sharing_on: false,
            alarm: NEVER,
            alarms: 0,
            cut: false,
            overflow: false,
            lost: None,
            cx,
        }
    }

    /// Solver's link of a directed link.
    #[must_use]
    pub fn shared(&self, link: u32) -> u32 {
        self.network.shared(link)
    }

    /// Messages that each terminal has sent.
    #[must_use]
    pub fn sent(&self) -> &[u32] {
        &self.numbers
    }

    /// True if the run cannot go on.
    #[must_use]
    pub fn stopped(&self) -> bool {
        self.overflow || self.lost.is_some()
    }

    /// True if sources have messages to come.
    #[must_use]
    pub fn has_more(&self) -> bool {
        self.sources.iter().any(|s| s.next.is_some())
    }

    /// True if something was still to come when the limit did.
    #[must_use]
    pub fn is_cut_short(&self) -> bool {
        self.sharing.active() > 0 || self.cut || self.has_more()
    }

    /// Sends a message of traffic now.
    fn send_plain(
        &mut self,
        source: TerminalId,
        destination: TerminalId,
        what: What,
        fx: &mut impl Effects<Self>,
    ) {
        self.send_now(source, destination, what, None, fx);
    }

    /// Sends a message now, from and to.
    fn send_now(
        &mut self,
        source: TerminalId,
        destination: TerminalId,
        What { bytes, rate, reply }: What,
        ahead: Option<Ahead>,
        fx: &mut impl Effects<Self>,
    ) {
        if self.stopped() {
            return;
        }
        if self.sharing.active() >= self.cx.config.max_flows {
            self.overflow = true;
            return;
        }
        let number = self.numbers[source.index()];
        self.numbers[source.index()] = number.wrapping_add(1);
        let identity = u64::from(source) << 32 | u64::from(number);
        let pair = self.network.pair(source, destination);
        let ends = Pair { source, destination, row: pair };
        let asks = network::Message { identity, packets: by_load::packets(bytes) };
        let route = match self.network.route(&self.cx, &mut self.sharing, ends, asks) {
            Ok(route) => route,
            Err(lost) => {
                self.lost = Some(lost);
                return;
            }
        };
        let now = fx.now();
        let message = Message { source, destination, number, pair, route, bytes, created: now, reply, ahead };
        let tag = self.free.pop().unwrap_or_else(|| {
            self.messages.push(message);
            (self.messages.len() - 1) as u32
        });
        self.messages[tag as usize] = message;
        self.network.count(&self.sharing, route, true);
        let flow = self.sharing.begin(FineTime::at(now), route, bytes, rate, tag);
        if self.cx.measure.slow_down {
            self.alone.resize(self.messages.len(), 0);
            let alone = || self.sharing.alone(FineTime::at(now), route, bytes, rate).rounded() - now;
            self.alone[tag as usize] = if ahead.is_none() { alone() } else { 0 };
        }
        if self.network.follows_load() {
            let again = self.network.may_ask_again(ends, asks);
            self.turns.begins(tag, again.then_some(Row::new(flow, ends, asks)));
        }
        fx.record(Record::Begun { time: now, message: message.seen() });
    }

    /// Rows of messages under way, with what they are.
    #[must_use]
    pub fn under_way(&self) -> Vec<(u32, Seen)> {
        let free: SortedSet<u32> = self.free.iter().copied().collect();
        let rows = (0u32..).zip(&self.messages).filter(|(row, _)| !free.contains(row));
        rows.map(|(row, message)| (row, message.seen())).collect()
    }

    /// The route of a message under way, by its row.
    #[must_use]
    pub fn route_of_row(&self, row: u32) -> u32 {
        self.messages[row as usize].route
    }

    /// Where the message of a row comes from, and whom it is for.
    #[must_use]
    pub fn pair_of_row(&self, row: u32) -> (TerminalId, TerminalId) {
        let message = &self.messages[row as usize];
        (message.source, message.destination)
    }

    /// Who is asked again, and when.
    #[must_use]
    pub fn turns(&self) -> &Turns {
        &self.turns
    }

    /// Messages that a terminal's source of traffic has sent, if it is one that nobody answers.
    #[must_use]
    pub fn sent_by_source(&self, terminal: TerminalId) -> Option<u64> {
        let setup = self.cx.jobs.get(self.cx.rank[terminal].0 as usize)?;
        let Work::Traffic(traffic) = &setup.work else { return None };
        (!traffic.closed_loop()).then(|| self.sources[terminal.index()].index)
    }

    /// The sharing goes on to a moment.
    #[inline]
    fn look_at_received(&mut self, next: Option<FineTime>) {
        let Some(next) = next else { return };
        let bytes = |tag: u32| self.messages[tag as usize].bytes;
        self.received.passes(next, &self.sharing, &self.cx.config.rules, bytes);
    }

    /// Bytes that arrived from the end of the warm-up to `end`; `whole` are those of messages that became whole in that time.
    #[must_use]
    pub fn received(&self, end: Ps, whole: u64) -> u64 {
        let bytes = |tag: u32| self.messages[tag as usize].bytes;
        self.received.until(end, &self.sharing, &self.cx.config.rules, bytes, whole)
    }

    /// Sets the alarm for the next moment of the sharing, if it is not set.
    fn watch(&mut self, fx: &mut impl Effects<Self>) {
        let Some(next) = self.sharing.next().filter(|_| !self.stopped()) else { return };
        let at = next.rounded().max(fx.now());
        if at >= self.alarm {
            return;
        }
        if at >= self.cx.end {
            self.cut = true;
            return;
        }
        self.alarm = at;
        self.alarms += 1;
        fx.wake(at, Class::Ordinary, Kind::Share.identity() | self.alarms, Kind::Share.token(0));
    }

    /// Takes a message that is whole off the network; its delivery if it is the host's. Traffic is answered.
    fn complete(&mut self, over: Over, fx: &mut impl Effects<Self>) -> Option<Delivery> {
        let message = self.messages[over.tag as usize];
        debug_assert!(message.created <= fx.now(), "a message is whole after it was sent");
        self.free.push(over.tag);
        self.network.count(&self.sharing, message.route, false);
        let hops = self.sharing.route_of(message.route).hops;
        self.sharing.forget(message.route);
        if let Some(&alone) = self.alone.get(over.tag as usize) {
            fx.record(Record::Alone(alone));
        }
        fx.record(Record::Delivered {
            time: fx.now(),
            exact: over.at.exact_ps(),
            message: message.seen(),
            hops,
        });
        let Message { source, destination, .. } = message;
        match message.ahead {
            Some(ahead) => Some(Delivery { source, destination, ahead }),
            None => {
                self.answer(&message, fx);
                None
            }
        }
    }

    /// Traffic in a closed loop answers a message.
    fn answer(&mut self, message: &Message, fx: &mut impl Effects<Self>) {
        let cx = Arc::clone(&self.cx);
        let (job, from) = cx.rank[message.source];
        let (own, to) = cx.rank[message.destination];
        debug_assert_eq!(job, own, "traffic stays within its job");
        let setup = &cx.jobs[job as usize];
        let Work::Traffic(traffic) = &setup.work else { return };
        if !traffic.closed_loop() {
            return;
        }
        // Replies are counted over all sources: a row that no request has.
        let source = if message.reply { message.destination } else { message.source };
        let exchange = Exchange { source, destination: message.destination, reply: message.reply };
        let index = self.arrived.entry(exchange).or_default();
        *index += 1;
        let (answer, reply) = if message.reply {
            (traffic.next_request(to, *index - 1), false)
        } else {
            (traffic.reply(to, from, *index - 1), traffic.requests())
        };
        if let Some((rank, bytes)) = answer {
            let to = setup.placement[rank.index()];
            self.send_plain(message.destination, to, What { bytes, rate: None, reply }, fx);
        }
    }

    /// Reads a source's next message and sets its alarm.
    fn look_ahead(&mut self, terminal: TerminalId, previous: Ps, fx: &mut impl Effects<Self>) {
        let cx = Arc::clone(&self.cx);
        let (job, rank) = cx.rank[terminal];
        let Some(setup) = cx.jobs.get(job as usize) else { return };
        let Work::Traffic(traffic) = &setup.work else { return };
        let source = &mut self.sources[terminal.index()];
        source.next = traffic.message(rank, source.index, previous);
        if let Some(message) = source.next {
            let at = message.time.saturating_add(setup.start);
            if at < cx.end {
                let identity = Kind::Source.identity() | u64::from(terminal);
                fx.wake(at.max(fx.now()), Class::Ordinary, identity, Kind::Source.token(terminal.number()));
            }
        }
    }

    /// A source sends all that is due.
    fn send(&mut self, terminal: TerminalId, fx: &mut impl Effects<Self>) {
        let cx = Arc::clone(&self.cx);
        let (job, rank) = cx.rank[terminal];
        let setup = &cx.jobs[job as usize];
        let Work::Traffic(traffic) = &setup.work else { return };
        while let Some(message) = self.sources[terminal.index()].next {
            if message.time.saturating_add(setup.start) > fx.now() || self.stopped() {
                return;
            }
            let index = self.sources[terminal.index()].index;
            let rate = traffic.rate(rank, index);
            let destination = setup.placement[message.destination.index()];
            self.send_plain(terminal, destination, What { bytes: message.bytes, rate, reply: false }, fx);
            self.sources[terminal.index()].index += 1;
            let next = traffic.message(rank, index + 1, message.time);
            if next.is_some_and(|n| n.time == message.time) {
                self.sources[terminal.index()].next = next;
            } else {
                self.look_ahead(terminal, message.time, fx);
                return;
            }
        }
    }

    /// Takes the next step of the sharing up to now; false if there is none. Messages may be divided anew before their shares are found.
    fn step(&mut self, now: Ps) -> bool {
        // Only what happens now: until something later does, shares may become others.
        let border = FineTime::after_rounding_to(now);
        self.look_at_received(self.sharing.next().filter(|&next| next < border));
        let Some(instant) = self.sharing.happen(now, &mut self.over) else { return false };
        if self.network.follows_load() {
            // Those that are over wait to be handed on; nobody asks for them again.
            self.over.iter().for_each(|over| self.turns.ends(over.tag));
            if instant.finds {
                let messages = &mut self.messages;
                let mut moved = |tag: u32, route| messages[tag as usize].route = route;
                let (network, sharing) = (&mut self.network, &mut self.sharing);
                network.divide_again(&self.cx, sharing, &mut self.turns, instant.at, &mut moved);
            }
        }
        self.sharing.settle(instant);
        true
    }

    /// Links fail: flows that cross them take another way.
    fn fail(&mut self, fx: &mut impl Effects<Self>) {
        let gone = self.network.fail(&self.cx);
        let now = FineTime::at(fx.now());
        self.look_at_received(Some(now));
        for (flow, tag) in self.sharing.crossing(|link| gone[link as usize]) {
            let Message { source, destination, number, pair, route, bytes, .. } = self.messages[tag as usize];
            let identity = u64::from(source) << 32 | u64::from(number);
            let ends = Pair { source, destination, row: pair };
            let packets = by_load::packets(bytes);
            let asks = network::Message { identity, packets };
            match self.network.route(&self.cx, &mut self.sharing, ends, asks) {
                Ok(new) => {
                    self.network.count(&self.sharing, route, false);
                    self.network.count(&self.sharing, new, true);
                    self.messages[tag as usize].route = new;
                    self.sharing.divert(now, flow, bytes, new);
                    self.sharing.forget(route);
                }
                Err(lost) => self.lost = Some(lost),
            }
        }
        self.sharing.refresh(now);
    }
}

impl Domain for FlowDomain {
    /// All is in one partition: nothing is sent.
    type Message = ();
    type Record = Record;

    fn start(&mut self, fx: &mut impl Effects<Self>) {
        for terminal in TerminalId::first(self.cx.fabric.terminals()) {
            self.look_ahead(terminal, 0, fx);
        }
        if let Some(change) = &self.cx.change {
            fx.wake(change.at, Class::Early, Kind::Failure.identity(), Kind::Failure.token(0));
        }
    }

    fn wake(&mut self, token: u32, fx: &mut impl Effects<Self>) {
        if self.stopped() {
            return;
        }
        match Kind::of(token) {
            (Kind::Share, _) => {
                if self.alarm != fx.now() {
                    return;
                }
                self.alarm = NEVER;
                self.sharing_on = true;
            }
            (Kind::Source, terminal) => self.send(TerminalId::new(terminal), fx),
            (Kind::Failure, _) => self.fail(fx),
            (Kind::Host, _) => unreachable!("the host takes its alarms itself"),
        }
    }

    fn receive(&mut self, (): &(), _fx: &mut impl Effects<Self>) {}

    /// The run has one partition and its scheduler takes nothing back: nothing is journalled.
    fn visit_journals(&mut self, _visit: &mut dyn FnMut(&mut dyn Journal)) {}

    fn lookahead(&self, _to: u32) -> Option<Ps> {
        None
    }
}

impl Carrier for FlowDomain {
    fn post(&mut self, posting: Posting, fx: &mut impl Effects<Self>) {
        let Posting { source, destination, bytes, ahead, .. } = posting;
        self.send_now(source, destination, What { bytes, rate: None, reply: false }, Some(ahead), fx);
    }

    fn next_delivery(&mut self, fx: &mut impl Effects<Self>) -> Option<Delivery> {
        loop {
            while let Some(&over) = self.over.get(self.handed) {
                self.handed += 1;
                if let Some(delivery) = self.complete(over, fx) {
                    return Some(delivery);
                }
            }
            self.over.clear();
            self.handed = 0;
            if !self.sharing_on || self.stopped() || !self.step(fx.now()) {
                break;
            }
        }
        self.sharing_on = false;
        self.watch(fx);
        None
    }

    fn set_alarm(&mut self, alarm: Alarm, fx: &mut impl Effects<Self>) {
        let Alarm { at, terminal, processor, ring, number } = alarm;
        if ring == Ring::Done && at >= self.cx.end {
            self.cut = true;
            return;
        }
        // Where ranks share a terminal there may be more than 256.
        let (low, high) = (u64::from(processor & 0xff), u64::from(processor >> 8));
        let identity = Kind::Host.identity() | high << 40 | u64::from(terminal) << 8 | low;
        fx.wake(at, Class::Ordinary, identity, Kind::Host.token(number));
    }

    fn host_alarm(&self, token: u32, _fx: &mut impl Effects<Self>) -> Option<u32> {
        let (kind, number) = Kind::of(token);
        (kind == Kind::Host && !self.stopped()).then_some(number)
    }
}

#[cfg(test)]
mod planted;
#[cfg(test)]
mod wide;
