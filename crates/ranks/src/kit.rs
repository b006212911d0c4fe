//! The checks that every carrier must pass, for the tests of models: a host that posts what it is given and keeps what it is handed, what must hold of
//! that, and carriers with planted faults, which show that the checks find what they look for.

use super::{
    carrier::{Ahead, Alarm, Carrier, Delivery, Posting, Ring},
    hosted::{Host, HostEffects, Hosted},
};
use base::{
    index::TerminalId,
    rng::{Purpose, Stream},
    sorted::SortedMap,
    time::Ps,
};
use engine::{
    director::Pauses,
    domain::{Domain, Effects, Observer},
    executor::{Executor, Options},
    state::Journal,
};
use std::sync::Arc;

/// A message that is to be posted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Planned {
    /// Virtual time at which it happens.
    pub at: Ps,
    /// Terminal that sends.
    pub source: TerminalId,
    /// Terminal that it is for.
    pub destination: TerminalId,
    /// Its size in bytes.
    pub bytes: u64,
}

/// What is posted, and what the carrier promises of it.
pub struct Plan<F> {
    /// The messages that hosts will send.
    pub messages: Vec<Planned>,
    /// End of the run.
    pub end: Ps,
    /// It leaves time for all messages.
    pub whole: bool,
    /// Messages of a pair of terminals arrive in the order in which they were posted.
    pub ordered: bool,
    /// No message is faster than this: the closed form without contention.
    pub least: F,
}

/// At most so many messages of a terminal, so that their alarms have names of their own in every model.
const MOST: u32 = 200;

/// Random messages between all pairs of terminals, many of them at the same instants.
#[must_use]
pub fn random(terminals: u32, count: u32, bytes: u64, within: Ps, seed: u64) -> Vec<Planned> {
    assert!(count <= terminals * MOST, "a terminal posts {MOST} messages at most");
    assert!(terminals > 1, "a message goes from one terminal to another");
    let mut random = Stream::new(seed, Purpose::Test, 0);
    let message = |n: u32| {
        let source = n % terminals;
        let other = random.below(u64::from(terminals) - 1) as u32;
        let destination = if other >= source { other + 1 } else { other };
        // A few instants only: simultaneous posts are what goes wrong.
        let at = random.below(16) * (within / 16);
        let (source, destination) = (TerminalId::new(source), TerminalId::new(destination));
        Planned { at, source, destination, bytes: random.below(bytes + 1) }
    };
    (0..count).map(message).collect()
}

/// A message that was handed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Virtual time at which it happens.
    pub at: Ps,
    /// What the carrier reported.
    pub delivery: Delivery,
}

/// The host: posts its part of a plan and keeps what it is handed.
#[derive(Clone, PartialEq)]
struct Prober {
    /// Number and message of each.
    part: Arc<Vec<(u32, Planned)>>,
    seen: Vec<Seen>,
}

/// What goes ahead of message `n`: words that depend on all there is to know.
fn stamp(n: u32, message: &Planned) -> Ahead {
    let ends = u64::from(message.source) << 32 | u64::from(message.destination);
    Ahead([u64::from(n), ends, message.bytes, message.at, !u64::from(n)])
}

impl Host for Prober {
    fn start(&mut self, fx: &mut dyn HostEffects) {
        let mut posts = SortedMap::<TerminalId, u32>::new();
        for (place, (_, m)) in (0u32..).zip(&*self.part) {
            let processor = posts.entry(m.source).or_default();
            let (terminal, ring) = (m.source, Ring::Done);
            fx.alarm(Alarm { at: m.at, terminal, processor: *processor, ring, number: place });
            *processor += 1;
        }
    }

    fn alarm(&mut self, number: u32, fx: &mut dyn HostEffects) {
        let (n, m) = &self.part[number as usize];
        assert_eq!(fx.now(), m.at, "an alarm rings when it was set");
        let Planned { source, destination, bytes, .. } = *m;
        fx.post(Posting { source, destination, bytes, control: false, ahead: stamp(*n, m) });
    }

    fn delivered(&mut self, delivery: &Delivery, fx: &mut dyn HostEffects) {
        self.seen.push(Seen { at: fx.now(), delivery: *delivery });
    }

    fn visit_journals(&mut self, _: &mut dyn FnMut(&mut dyn Journal)) {}
}

/// An observer that measures nothing at all.
struct Nobody;

impl<R> Observer<R> for Nobody {
    fn commit(&mut self, _: &R) {}
}

/// Runs a plan through a network in one or several partitions; `home` says which of them a terminal belongs to.
#[must_use]
pub fn run<C: Carrier, F>(carriers: Vec<C>, home: impl Fn(TerminalId) -> usize, plan: &Plan<F>) -> Vec<Seen> {
    let part = |p: usize| {
        let all = (0u32..).zip(plan.messages.iter().copied());
        Arc::new(all.filter(|(_, m)| home(m.source) == p).collect::<Vec<_>>())
    };
    let hosted =
        |(p, carrier)| (Hosted { carrier, host: Prober { part: part(p), seen: Vec::new() } }, Nobody);
    let options = Options { tie_seed: 1, wheel_shift: 10 };
    let mut executor = Executor::new(carriers.into_iter().enumerate().map(hosted), options);
    executor.run_directed(plan.end, &mut (), Pauses::NONE, |_, ()| true);
    executor.partitions.into_iter().flat_map(|p| p.domain.host.seen).collect()
}

/// What is wrong with what was handed over; nothing if the carrier keeps the contract.
#[must_use]
pub fn faults<F: Fn(&Planned) -> Ps>(plan: &Plan<F>, seen: &[Seen]) -> Vec<String> {
    let mut faults = Vec::new();
    let mut places = vec![Vec::new(); plan.messages.len()];
    for (place, Seen { at, delivery }) in seen.iter().enumerate() {
        let n = delivery.ahead.0[0] as u32;
        let Some(m) = plan.messages.get(n as usize).filter(|m| stamp(n, m) == delivery.ahead) else {
            faults.push(format!("nobody posted {delivery:?}"));
            continue;
        };
        if (delivery.source, delivery.destination) != (m.source, m.destination) {
            faults.push(format!("message {n} came from or to another terminal: {delivery:?}"));
        }
        if *at < m.at + (plan.least)(m) {
            faults.push(format!("message {n} took {} ps; {} is the least", at - m.at, (plan.least)(m)));
        }
        if *at >= plan.end {
            faults.push(format!("message {n} came at {at} ps, after the end"));
        }
        places[n as usize].push(place);
    }
    for (n, places) in places.iter().enumerate() {
        match places.len() {
            1 => {}
            0 if !plan.whole => {}
            0 => faults.push(format!("message {n} never came")),
            count => faults.push(format!("message {n} came {count} times")),
        }
    }
    if plan.ordered {
        disordered(plan, &places, &mut faults);
    }
    faults
}

/// Finds messages of a pair that overtook each other. Those posted at one instant have no order.
fn disordered<F>(plan: &Plan<F>, places: &[Vec<usize>], faults: &mut Vec<String>) {
    let mut pairs = SortedMap::<(TerminalId, TerminalId), Vec<(Ps, usize)>>::new();
    for (m, places) in plan.messages.iter().zip(places) {
        let pair = pairs.entry((m.source, m.destination)).or_default();
        pair.extend(places.first().map(|&place| (m.at, place)));
    }
    for (pair, mut messages) in pairs {
        messages.sort_unstable();
        if messages.windows(2).any(|w| w[0].0 < w[1].0 && w[0].1 > w[1].1) {
            faults.push(format!("messages of the pair {pair:?} overtook each other"));
        }
    }
}

/// What is planted in a [`Faulty`] carrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A message is handed over twice.
    Twice,
    /// A message is never handed over.
    Never,
    /// A message is handed over as soon as it is posted.
    AtOnce,
    /// A message waits until the next one of its pair has been handed over.
    Overtaken,
    /// Two words of what went ahead are exchanged.
    Garbled,
}

impl Fault {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Twice, Self::Never, Self::AtOnce, Self::Overtaken, Self::Garbled];
}

/// A carrier that does one thing wrong, once.
pub struct Faulty<C> {
    inner: C,
    fault: Fault,
    /// Deliveries, or posts, that are still to go well.
    left: u32,
    held: Option<Delivery>,
    extra: Option<Delivery>,
}

impl<C> Faulty<C> {
    /// A carrier that does its `after`-th thing wrong.
    pub fn new(inner: C, fault: Fault, after: u32) -> Self {
        Self { inner, fault, left: after, held: None, extra: None }
    }

    /// True if it is time.
    fn strikes(&mut self) -> bool {
        self.left = self.left.wrapping_sub(1);
        self.left == 0
    }
}

impl<C: Carrier> Domain for Faulty<C> {
    type Message = C::Message;
    type Record = C::Record;
    fn start(&mut self, fx: &mut impl Effects<Self>) {
        self.inner.start(fx);
    }
    fn wake(&mut self, token: u32, fx: &mut impl Effects<Self>) {
        self.inner.wake(token, fx);
    }
    fn receive(&mut self, message: &C::Message, fx: &mut impl Effects<Self>) {
        self.inner.receive(message, fx);
    }
    fn settle(&mut self, now: Ps, fx: &mut impl Effects<Self>) {
        self.inner.settle(now, fx);
    }
    fn visit_journals(&mut self, visit: &mut dyn FnMut(&mut dyn Journal)) {
        self.inner.visit_journals(visit);
    }
    fn lookahead(&self, to: u32) -> Option<Ps> {
        self.inner.lookahead(to)
    }
}

impl<C: Carrier> Carrier for Faulty<C> {
    fn post(&mut self, posting: Posting, fx: &mut impl Effects<Self>) {
        let Posting { source, destination, ahead, .. } = posting;
        if self.fault == Fault::AtOnce && self.strikes() {
            self.extra = Some(Delivery { source, destination, ahead });
            return;
        }
        self.inner.post(posting, fx);
    }

    fn next_delivery(&mut self, fx: &mut impl Effects<Self>) -> Option<Delivery> {
        if let Some(extra) = self.extra.take() {
            return Some(extra);
        }
        let mut delivery = self.inner.next_delivery(fx)?;
        let pair = |d: &Delivery| (d.source, d.destination);
        if self.held.is_some_and(|held| pair(&held) == pair(&delivery)) {
            self.extra = self.held.take();
            return Some(delivery);
        }
        if self.fault == Fault::AtOnce || !self.strikes() {
            return Some(delivery);
        }
        match self.fault {
            Fault::AtOnce => {}
            Fault::Twice => self.extra = Some(delivery),
            Fault::Never => return self.next_delivery(fx),
            Fault::Overtaken => {
                self.held = Some(delivery);
                return self.next_delivery(fx);
            }
            Fault::Garbled => delivery.ahead.0.swap(0, 4),
        }
        Some(delivery)
    }

    fn set_alarm(&mut self, alarm: Alarm, fx: &mut impl Effects<Self>) {
        self.inner.set_alarm(alarm, fx);
    }

    fn host_alarm(&self, token: u32, fx: &mut impl Effects<Self>) -> Option<u32> {
        self.inner.host_alarm(token, fx)
    }
}

/// Runs a plan as it is, and with every fault if all its messages arrive.
///
/// # Panics
/// If the carrier breaks the contract, or a planted fault is not found.
pub fn check<C: Carrier, F: Fn(&Planned) -> Ps>(
    carrier: impl Fn() -> Vec<C>,
    home: impl Fn(TerminalId) -> usize,
    plan: Plan<F>,
) {
    let seen = run(carrier(), &home, &plan);
    assert_eq!(faults(&plan, &seen), [""; 0], "{} of {} messages", seen.len(), plan.messages.len());
    assert!(plan.whole || seen.len() < plan.messages.len(), "the end cuts nothing off");
    for fault in Fault::ALL {
        if !plan.whole || (fault == Fault::Overtaken && !plan.ordered) {
            continue;
        }
        let found = |after| {
            let faulty = carrier().into_iter().map(|c| Faulty::new(c, fault, after)).collect();
            !faults(&plan, &run(faulty, &home, &plan)).is_empty()
        };
        // Messages that were posted at one instant may overtake each other: another place shows it.
        let places = if fault == Fault::Overtaken { 1..50 } else { 5..6 };
        assert!(places.into_iter().any(found), "{fault:?} was not found");
    }
}
