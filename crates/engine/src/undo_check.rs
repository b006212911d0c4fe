//! The check that every handler can be undone: forward, undo, forward, on every event of a run.

use crate::{
    agenda::{Agenda, Due},
    domain::{Domain, Effects, Envelope, Lane, Observer},
    key::{Class, Key},
};
use base::time::Ps;

/// All effects of one event.
#[derive(Debug, PartialEq)]
struct Buffered<M, R> {
    key: Key,
    lane: Lane,
    offset: Ps,
    tie_seed: u64,
    wakes: Vec<(Key, u32)>,
    sends: Vec<Envelope<M>>,
    records: Vec<R>,
}

impl<D: Domain> Effects<D> for Buffered<D::Message, D::Record> {
    fn now(&self) -> Ps {
        self.key.time
    }

    fn suspended(&self) -> Ps {
        self.offset
    }

    fn wake(&mut self, at: Ps, class: Class, identity: u64, token: u32) {
        self.wakes.push((self.key.child(at, class, identity, self.tie_seed), token));
    }

    fn send(&mut self, to: u32, lane: Lane, at: Ps, class: Class, identity: u64, message: D::Message) {
        let key = self.key.child(at, class, identity, self.tie_seed);
        self.sends.push(Envelope { to, lane, key, message });
    }

    fn record(&mut self, record: D::Record) {
        self.records.push(record);
    }
}

/// Runs one partition to `end` in virtual time; before each event is committed it is handled, undone, and handled again.
/// Returns the number of events.
///
/// # Panics
/// If undo does not restore the domain, or the second run differs from the first.
pub fn run_with_undo<D, O>(mut domain: D, observer: &mut O, tie_seed: u64, end: Ps) -> (D, u64)
where
    D: Domain + Clone + PartialEq,
    O: Observer<D::Record>,
{
    let mut agenda = Agenda::new(8);
    let effects = |key, lane| Buffered::<D::Message, D::Record> {
        key,
        lane,
        offset: 0,
        tie_seed,
        wakes: Vec::new(),
        sends: Vec::new(),
        records: Vec::new(),
    };
    let mut first = effects(Key::floor(0), Lane::Network);
    domain.start(&mut first);
    commit::<D, O>(first, &mut agenda, observer);
    let mut events = 0;
    while let Some((lane, key, due)) = agenda.pop_before(end) {
        events += 1;
        let before = domain.clone();
        domain.tables(&mut |t| t.record(true));
        let mut forward = effects(key, lane);
        handle(&mut domain, &due, &mut forward);
        domain.tables(&mut |t| t.undo_to(0));
        domain.tables(&mut |t| t.record(false));
        assert!(domain == before, "event {key:?} ({due:?}) was not undone");
        let mut again = effects(key, lane);
        handle(&mut domain, &due, &mut again);
        assert!(forward == again, "event {key:?} ({due:?}) did something else after undo");
        commit::<D, O>(again, &mut agenda, observer);
    }
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
    for (key, token) in done.wakes {
        agenda.wake(done.lane, key, token);
    }
    for envelope in &done.sends {
        agenda.deliver(envelope);
    }
    for record in &done.records {
        observer.commit(record);
    }
}
