//! The checks that every handler can be undone: forward, undo, forward on every event of a run; and rollbacks over many
//! events with cancelled sends and a forgotten past, as an optimistic scheduler does them.

use crate::{
    agenda::{Agenda, Due},
    domain::{Actions, Domain, Envelope, Lane, Observer},
    key::{Class, Key},
    state::Epoch,
    words::Message,
};
use base::{
    rng::{Purpose, Stream},
    time::Ps,
};

/// All effects of one event.
#[derive(Debug, PartialEq)]
struct Buffered<M, R> {
    key: Key,
    lane: Lane,
    offset: Ps,
    tie_seed: u64,
    wakes: Vec<(Lane, Key, u32)>,
    sends: Vec<Envelope<M>>,
    records: Vec<R>,
}

impl<M, R> Buffered<M, R> {
    fn new(key: Key, lane: Lane, tie_seed: u64) -> Self {
        Self { key, lane, offset: 0, tie_seed, wakes: Vec::new(), sends: Vec::new(), records: Vec::new() }
    }
}

impl<M: Message + PartialEq + std::fmt::Debug, R> Actions for Buffered<M, R> {
    type Message = M;
    type Record = R;

    fn now(&self) -> Ps {
        self.key.time
    }

    fn identity(&self) -> u64 {
        self.key.identity
    }

    fn suspended(&self) -> Ps {
        self.offset
    }

    fn instant(&self) -> Ps {
        self.key.time
    }

    fn turn(&mut self, lane: Lane) {
        // The network is never suspended here: both clocks are one.
        self.lane = lane;
    }

    fn wake(&mut self, at: Ps, class: Class, identity: u64, token: u32) {
        self.wakes.push((self.lane, self.key.child(at, class, identity, self.tie_seed), token));
    }

    fn wake_on(&mut self, lane: Lane, at: Ps, class: Class, identity: u64, token: u32) {
        self.wakes.push((lane, self.key.child(at, class, identity, self.tie_seed), token));
    }

    fn send(&mut self, to: u32, lane: Lane, at: Ps, class: Class, identity: u64, message: M) {
        let key = self.key.child(at, class, identity, self.tie_seed);
        assert_eq!(M::from_words(&message.to_words()), Ok(message), "a message does not come back");
        self.sends.push(Envelope { to, lane, key, message });
    }

    fn record(&mut self, record: R) {
        self.records.push(record);
    }
}

/// Events after which all is compared again, and after which a copy is kept that a rollback must restore. What is not restored stays wrong, so it
/// is found some events later; the first events, with most that is new, are looked at one by one.
const EVERY: u64 = 8;
const FIRST: u64 = 1000;

/// True of an event whose undoing is compared at once.
fn looked_at(number: u64) -> bool {
    number <= FIRST || number.is_multiple_of(EVERY)
}

/// Runs one partition to `end` in virtual time; before each event is committed it is handled, undone, and handled again, beside a second one that
/// is never undone. Returns the number of events.
///
/// # Panics
/// If undo does not restore the domain, or the second run differs from the first.
pub fn run_with_undo<D, O>(mut domain: D, observer: &mut O, tie_seed: u64, end: Ps) -> (D, u64)
where
    D: Domain + Clone + PartialEq,
    O: Observer<D::Record>,
{
    let mut agenda = Agenda::new(8);
    let effects = |key, lane| Buffered::<D::Message, D::Record>::new(key, lane, tie_seed);
    let mut first = effects(Key::floor(0), Lane::Network);
    domain.start(&mut first);
    commit::<D, O>(first, &mut agenda, observer);
    let mut events = 0;
    let mut plain = domain.clone();
    while let Some((lane, key, due)) = agenda.pop_before(end) {
        events += 1;
        // One number for all: everything that this event logs is undone.
        domain.visit_journals(&mut |t| t.record(Some(&Epoch::default())));
        let mut forward = effects(key, lane);
        handle(&mut domain, &due, &mut forward);
        domain.visit_journals(&mut |t| t.undo_from(0));
        domain.visit_journals(&mut |t| t.record(None));
        // Compared by value, not by its log: a row that was changed without being logged shows.
        assert!(
            !looked_at(events) || domain == plain,
            "event {key:?} ({due:?}) or one before it was not undone"
        );
        let mut again = effects(key, lane);
        handle(&mut domain, &due, &mut again);
        assert!(forward == again, "event {key:?} ({due:?}) did something else after undo");
        handle(&mut plain, &due, &mut effects(key, lane));
        commit::<D, O>(again, &mut agenda, observer);
    }
    assert!(domain == plain, "an event was not undone");
    (domain, events)
}

fn handle<D: Domain>(domain: &mut D, due: &Due<D::Message>, effects: &mut Buffered<D::Message, D::Record>) {
    match due {
        Due::Wake(token) => domain.wake(*token, effects),
        Due::Message(message) => domain.receive(message, effects),
    }
}

fn commit<D: Domain, O: Observer<D::Record>>(
    done: Buffered<D::Message, D::Record>,
    agenda: &mut Agenda<D::Message>,
    observer: &mut O,
) {
    schedule::<D>(&done, agenda);
    for record in &done.records {
        observer.commit(record);
    }
}

fn schedule<D: Domain>(done: &Buffered<D::Message, D::Record>, agenda: &mut Agenda<D::Message>) {
    for (lane, key, token) in &done.wakes {
        agenda.wake(*lane, *key, *token);
    }
    for envelope in &done.sends {
        agenda.deliver(envelope);
    }
}

/// An event that was handled and may still be rolled back.
struct Step<D: Domain> {
    lane: Lane,
    key: Key,
    due: Due<D::Message>,
    number: u64,
    /// What it found, where that is compared.
    before: Option<D>,
    done: Buffered<D::Message, D::Record>,
}

/// Runs one partition to `end`, handling events ahead of their commitment. Each time `depth` events are open, a seeded number of
/// the latest is rolled back (state undone, their wakes and sends cancelled, the events put back), and the older half of
/// the rest is committed and its log forgotten. Returns the domain and the number of events committed.
///
/// # Panics
/// If a rollback does not restore the domain, or something that was scheduled is not there to be cancelled.
pub fn run_with_rollbacks<D, O>(
    mut domain: D,
    observer: &mut O,
    tie_seed: u64,
    end: Ps,
    depth: usize,
    seed: u64,
) -> (D, u64)
where
    D: Domain + Clone + PartialEq,
    O: Observer<D::Record>,
{
    let mut random = Stream::new(seed, Purpose::Test, 0);
    let mut agenda = Agenda::new(8);
    let mut first = Buffered::<D::Message, D::Record>::new(Key::floor(0), Lane::Network, tie_seed);
    domain.start(&mut first);
    commit::<D, O>(first, &mut agenda, observer);
    let epoch = Epoch::default();
    domain.visit_journals(&mut |t| t.record(Some(&epoch)));
    let mut open: Vec<Step<D>> = Vec::new();
    let mut events = 0;
    loop {
        let next = agenda.pop_before(end);
        if let Some((lane, key, due)) = next {
            let number = events + open.len() as u64;
            epoch.set(number);
            // A copy of everything: slow, but independent of the logs that are checked.
            let before = looked_at(number).then(|| domain.clone());
            let mut done = Buffered::new(key, lane, tie_seed);
            handle(&mut domain, &due, &mut done);
            schedule::<D>(&done, &mut agenda);
            open.push(Step { lane, key, due, number, before, done });
        }
        if next.is_some() && open.len() < depth {
            continue;
        }
        // As if a message had come that precedes the latest events: they are taken back and will be handled again.
        let back = if next.is_none() { 0 } else { random.below(depth as u64 + 1) as usize };
        for _ in 0..back {
            if let Some(step) = open.pop() {
                roll_back(&mut domain, &mut agenda, &step);
            }
        }
        // As if every partition had passed the older half: nothing can take these back any more.
        let settled = if next.is_none() { open.len() } else { open.len() / 2 };
        for step in open.drain(..settled) {
            events += 1;
            step.done.records.iter().for_each(|r| observer.commit(r));
        }
        domain.visit_journals(&mut |t| t.forget_before(events));
        if next.is_none() {
            return (domain, events);
        }
    }
}

fn roll_back<D: Domain + PartialEq>(domain: &mut D, agenda: &mut Agenda<D::Message>, step: &Step<D>) {
    for (lane, key, token) in &step.done.wakes {
        assert!(agenda.cancel(*lane, *key, Some(*token)), "an alarm of {:?} is gone", step.key);
    }
    for envelope in &step.done.sends {
        assert!(agenda.cancel(envelope.lane, envelope.key, None), "a message of {:?} is gone", step.key);
    }
    // Its effects are gone; what it changed goes back now, and only then can states be compared.
    domain.visit_journals(&mut |t| t.undo_from(step.number));
    let restored = step.before.as_ref().is_none_or(|before| *domain == *before);
    assert!(restored, "rolling back to {:?} did not restore the state", step.key);
    match step.due {
        Due::Wake(token) => agenda.wake(step.lane, step.key, token),
        Due::Message(message) => agenda.deliver(&Envelope { to: 0, lane: step.lane, key: step.key, message }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Effects;
    use std::{ops::Range, panic::catch_unwind};

    /// Has an event each picosecond, and counts some of them behind the tables' back.
    #[derive(Clone, PartialEq)]
    struct Forgetful {
        forgets: Range<Ps>,
        count: u32,
    }

    impl Domain for Forgetful {
        type Message = ();
        type Record = ();
        fn start(&mut self, effects: &mut impl Effects<Self>) {
            effects.wake(1, Class::Ordinary, 0, 0);
        }
        fn wake(&mut self, _: u32, effects: &mut impl Effects<Self>) {
            let now = effects.now();
            self.count += u32::from(self.forgets.contains(&now));
            effects.wake(now + 1, Class::Ordinary, 0, 0);
        }
        fn receive(&mut self, (): &(), _: &mut impl Effects<Self>) {}
        fn visit_journals(&mut self, _: &mut dyn FnMut(&mut dyn crate::state::Journal)) {}
        fn lookahead(&self, _: u32) -> Option<Ps> {
            None
        }
    }

    /// A handler that cannot be undone is caught: among the first events, and late, where not each is compared.
    #[test]
    fn a_handler_that_cannot_be_undone_is_caught() {
        let undone = |domain| run_with_undo(domain, &mut Vec::new(), 0, 3_000).1;
        let rolled = |domain| run_with_rollbacks(domain, &mut Vec::new(), 0, 3_000, 40, 5).1;
        for (check, length) in [(undone as fn(Forgetful) -> u64, 1), (rolled, 100)] {
            let caught = |from: Ps| {
                let domain = Forgetful { forgets: from..from + length, count: 0 };
                catch_unwind(|| check(domain)).is_err()
            };
            assert!(!caught(5_000), "nothing is forgotten so late");
            for from in [1, 500, 1_003, 2_001] {
                assert!(caught(from), "forgotten from event {from}");
            }
        }
    }
}
