//! What a partition did ahead of its commitment: the events, and all that followed from each.

use crate::{
    agenda::{Due, Stamp},
    domain::{Domain, Envelope, Lane},
    key::Key,
};
use std::collections::VecDeque;

/// An event that was handled and may be taken back.
pub(crate) struct Done<M> {
    pub lane: Lane,
    /// On the clock of its lane.
    pub key: Key,
    /// In virtual time.
    pub place: Key,
    pub due: Due<M>,
    /// Who may take it back, if it is a message.
    pub stamp: Stamp,
    /// Wakes, sends and records of all events before it.
    before: [u64; 3],
}

/// A message that was sent.
#[derive(Clone, Copy)]
pub(crate) struct Sent<M> {
    pub envelope: Envelope<M>,
    pub stamp: Stamp,
}

/// An alarm that was set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Alarm {
    pub key: Key,
    pub steady: bool,
    pub token: u32,
}

/// What an event takes with the largest messages: TIMEWARP.md tells.
const _: () = {
    type Largest = [u64; crate::MESSAGE_BYTES / 8];
    assert!(
        size_of::<Done<Largest>>() == 184 && size_of::<Sent<Largest>>() == 128 && size_of::<Alarm>() == 32
    );
};

/// A queue whose places are counted from the beginning of the run.
struct Queue<T> {
    items: VecDeque<T>,
    /// Number of those that left at the front.
    gone: u64,
}

impl<T> Queue<T> {
    const fn new() -> Self {
        Self { items: VecDeque::new(), gone: 0 }
    }

    fn total(&self) -> u64 {
        self.gone + self.items.len() as u64
    }

    /// Takes the latest ones off the end, down to a total.
    fn cut(&mut self, total: u64) -> impl Iterator<Item = T> {
        debug_assert!((self.gone..=self.total()).contains(&total), "only what is open is taken back");
        self.items.drain((total - self.gone) as usize..)
    }

    /// Takes the oldest ones off the front, up to a total.
    fn pass(&mut self, total: u64) -> impl Iterator<Item = T> {
        debug_assert!(
            (self.gone..=self.total()).contains(&total),
            "only what is open is committed, and once"
        );
        let count = total - std::mem::replace(&mut self.gone, total);
        self.items.drain(..count as usize)
    }
}

/// Events in the order of their keys, from the first one that is not committed.
pub(crate) struct Past<D: Domain> {
    done: Queue<Done<D::Message>>,
    alarms: Queue<Alarm>,
    sends: Queue<Sent<D::Message>>,
    records: Queue<D::Record>,
}

impl<D: Domain> Past<D> {
    pub const fn new() -> Self {
        Self { done: Queue::new(), alarms: Queue::new(), sends: Queue::new(), records: Queue::new() }
    }

    /// Number of events that may be taken back.
    pub fn len(&self) -> usize {
        self.done.items.len()
    }

    /// Number of the oldest event that may be taken back; events of a partition are numbered as they are handled.
    pub fn first(&self) -> u64 {
        self.done.gone
    }

    /// The latest event that is open.
    pub fn last(&self) -> Option<&Done<D::Message>> {
        self.done.items.back()
    }

    /// Begins an event; gives its number. What follows from it is added after it.
    pub fn begin(&mut self, lane: Lane, key: Key, place: Key, due: Due<D::Message>, stamp: Stamp) -> u64 {
        let ordered = self.last().is_none_or(|last| last.place <= place);
        let number = self.done.total();
        let before = [self.alarms.total(), self.sends.total(), self.records.total()];
        self.done.items.push_back(Done { lane, key, place, due, stamp, before });
        // Told once the event is open: a handler's fault is caught, and what is open is taken back.
        debug_assert!(ordered, "events are handled in their order");
        number
    }

    pub fn add_alarm(&mut self, alarm: Alarm) {
        debug_assert!(self.last().is_some(), "an alarm is set by an event");
        self.alarms.items.push_back(alarm);
    }

    pub fn add_send(&mut self, sent: Sent<D::Message>) {
        debug_assert!(self.last().is_some(), "a message is sent by an event");
        self.sends.items.push_back(sent);
    }

    pub fn add_record(&mut self, record: D::Record) {
        debug_assert!(self.last().is_some(), "a record is emitted by an event");
        self.records.items.push_back(record);
    }

    /// Takes back the events at `place` and after it. `alarm` gets the alarms that they set, `sent` the place of each event that sent with what it
    /// sent, `done` the events, latest first. Gives the number of the first of them.
    pub fn cut(
        &mut self,
        place: Key,
        alarm: impl FnMut(Alarm),
        mut sent: impl FnMut(Key, Sent<D::Message>),
        mut done: impl FnMut(Done<D::Message>),
    ) -> u64 {
        let kept = self.done.items.partition_point(|d| d.place < place);
        let Some(first) = self.done.items.get(kept) else { return self.done.total() };
        // Each event knows how much there was before it, so cutting the lists needs no search.
        let [alarms, _, records] = first.before;
        self.alarms.cut(alarms).for_each(alarm);
        drop(self.records.cut(records));
        // Messages must know the event that sent them, so they leave with it, one event at a time.
        while self.done.items.len() > kept {
            if let Some(event) = self.done.items.pop_back() {
                self.sends.cut(event.before[1]).for_each(|s| sent(event.place, s));
                done(event);
            }
        }
        debug_assert!(self.last().is_none_or(|last| last.place < place), "what is left precedes the cut");
        self.done.total()
    }

    /// Commits the events before an instant of virtual time; `record` gets what they measured, in order.
    pub fn pass(&mut self, time: base::time::Ps, record: impl FnMut(D::Record)) -> u64 {
        // Strictly before: a message may still come that is due at this very instant.
        let count = self.done.items.partition_point(|d| d.place.time < time);
        let [alarms, sends, records] = match self.done.items.get(count) {
            Some(next) => next.before,
            None => [self.alarms.total(), self.sends.total(), self.records.total()],
        };
        // Alarms and messages of committed events are certain: nothing needs to name them any more.
        drop(self.alarms.pass(alarms));
        drop(self.sends.pass(sends));
        self.records.pass(records).for_each(record);
        drop(self.done.pass(self.done.gone + count as u64));
        count as u64
    }

    /// Place of the event in the middle.
    pub fn middle(&self) -> Option<Key> {
        self.done.items.get(self.done.items.len() / 2).map(|event| event.place)
    }

    /// Bytes that all of it takes.
    pub fn bytes(&self) -> usize {
        self.done.items.len() * size_of::<Done<D::Message>>()
            + self.alarms.items.len() * size_of::<Alarm>()
            + self.sends.items.len() * size_of::<Sent<D::Message>>()
            + self.records.items.len() * size_of::<D::Record>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{domain::Effects, state::Journal};

    /// A domain of which only the types matter.
    struct Idle;

    impl Domain for Idle {
        type Message = u64;
        type Record = u64;
        fn start(&mut self, _: &mut impl Effects<Self>) {}
        fn wake(&mut self, _: u32, _: &mut impl Effects<Self>) {}
        fn receive(&mut self, _: &u64, _: &mut impl Effects<Self>) {}
        fn visit_journals(&mut self, _: &mut dyn FnMut(&mut dyn Journal)) {}
        fn lookahead(&self, _: u32) -> Option<base::time::Ps> {
            None
        }
    }

    /// Of what is committed nothing is kept, whatever it was: memory is that of what may be taken back.
    #[test]
    fn what_is_committed_is_forgotten() {
        let mut past = Past::<Idle>::new();
        let event = |past: &mut Past<Idle>, time| {
            let key = Key::new(time, 0, 1, 0);
            let number = past.begin(Lane::Network, key, key, Due::Wake(0), Stamp::FINAL);
            past.add_alarm(Alarm { key, steady: false, token: 0 });
            let envelope = Envelope { to: 1, lane: Lane::Network, key, message: time };
            past.add_send(Sent { envelope, stamp: Stamp { from: 0, number } });
            past.add_record(time);
        };
        event(&mut past, 1);
        let one = past.bytes();
        (2..10).for_each(|time| event(&mut past, time));
        assert_eq!(past.bytes(), 9 * one);
        let mut records = Vec::new();
        assert_eq!(past.pass(8, |record| records.push(record)), 7);
        assert_eq!((records, past.len(), past.first(), past.bytes()), ((1..8).collect(), 2, 7, 2 * one));
        let (mut alarms, mut sends) = (Vec::new(), Vec::new());
        let kept =
            past.cut(Key::floor(9), |a| alarms.push(a.key.time), |_, s| sends.push(s.envelope.message), drop);
        assert_eq!((kept, alarms, sends, past.bytes()), (8, vec![9], vec![9], one));
    }
}
