//! A partition that runs ahead: handles events that may be taken back, takes them back, commits them.

use super::{
    doubt::{Again, Dead, Doubt},
    past::{Alarm, Past, Sent},
};
use crate::{
    agenda::{Agenda, Due, Stamp},
    domain::{Domain, Envelope, Lane, Observer, PREFETCH_DISTANCES},
    key::Key,
    partition::{Handling, Partition, Sink},
    state::Epoch,
    wheel::Entry,
};
use base::{threads::Fault, time::Ps};
use std::collections::{BTreeMap, BTreeSet};

/// What partitions send each other.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Post<M> {
    /// A message that its sender may take back.
    Message(Envelope<M>, Stamp),
    /// Takes a message back.
    Cancel(Cancelled),
}

/// A message that is taken back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cancelled {
    pub to: u32,
    pub lane: Lane,
    pub key: Key,
    pub stamp: Stamp,
}

impl<M> Post<M> {
    /// The partition that receives it.
    pub const fn to(&self) -> u32 {
        match self {
            Self::Message(envelope, _) => envelope.to,
            Self::Cancel(cancelled) => cancelled.to,
        }
    }

    /// Lane and key of the message that it brings or takes back.
    pub const fn place(&self) -> (Lane, Key) {
        match self {
            Self::Message(envelope, _) => (envelope.lane, envelope.key),
            Self::Cancel(cancelled) => (cancelled.lane, cancelled.key),
        }
    }
}

/// What running ahead came to.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub handled: u64,
    pub committed: u64,
    pub rollbacks: u64,
    pub rolled_back: u64,
    pub failures: u64,
}

/// A partition that runs ahead.
pub(crate) struct Member<'a, D: Domain, O> {
    pub index: u32,
    part: &'a mut Partition<D, O>,
    past: Past<D>,
    dead: Dead,
    doubt: Doubt<D::Message>,
    epoch: Epoch,
    /// Messages sent so far: their stamps' numbers.
    sent: u64,
    pub outbox: Vec<Post<D::Message>>,
    pub counts: Counts,
    /// A handler failed at this instant in a state that may be wrong: the event waits until it is certain.
    pub failed_at: Option<Ps>,
    tie_seed: u64,
    large: bool,
    /// What is before this instant is committed.
    certain: Ps,
    /// Most events that were ever committed or open: for tests.
    furthest: u64,
}

impl<'a, D: Domain, O: Observer<D::Record>> Member<'a, D, O> {
    pub fn new(index: u32, part: &'a mut Partition<D, O>, tie_seed: u64, fault: Option<Fault>) -> Self {
        let epoch = Epoch::default();
        let mut place = 0;
        part.domain.visit_journals(&mut |table| {
            // A table without a journal, planted: what is changed in it stays changed.
            let lost = fault == Some(Fault::LostUndo) && place == 0;
            table.record((!lost).then_some(&epoch));
            place += 1;
        });
        let large = part.domain.large();
        let (past, dead, doubt) = (Past::new(), Dead::default(), Doubt::default());
        let (outbox, counts) = (Vec::new(), Counts::default());
        let failed_at = None;
        Self {
            index,
            part,
            past,
            dead,
            doubt,
            epoch,
            sent: 0,
            outbox,
            counts,
            failed_at,
            tie_seed,
            large,
            certain: 0,
            furthest: 0,
        }
    }

    /// Virtual time of the next event.
    pub fn next_time(&mut self) -> Ps {
        self.part.agenda.next_time()
    }

    /// Virtual time of a key on the clock of `lane`.
    pub fn virtual_time(&self, lane: Lane, key: Key) -> Ps {
        key.time + self.part.agenda.offset_of(lane)
    }

    /// Shortest lookahead to any of `others`.
    pub fn lookahead(&self, others: impl Iterator<Item = u32>) -> Option<Ps> {
        others.filter(|&to| to != self.index).filter_map(|to| self.part.domain.lookahead(to)).min()
    }

    /// Events that may be taken back.
    pub fn open(&self) -> usize {
        self.past.len()
    }

    /// Bytes of all that is kept to take them back.
    pub fn history_bytes(&mut self) -> usize {
        let mut bytes = self.past.bytes();
        self.part.domain.visit_journals(&mut |table| bytes += table.logged());
        bytes
    }

    /// Handles the next event before `bound`; false if there is none.
    pub fn handle_next(&mut self, bound: Ps) -> bool {
        let Some((lane, entry)) = self.next_valid(bound) else { return false };
        let offset = self.part.agenda.offset_of(lane);
        let (key, place) = (entry.key, entry.key.shifted(offset));
        self.resolve(place);
        let stamp = self.part.agenda.stamp(&entry).unwrap_or(Stamp::FINAL);
        let due = self.part.agenda.open(entry.token);
        // Begun as soon as it has left the agenda: whatever fails from here on, it and all that it did are taken back like any other event.
        let number = self.past.begin(lane, key, place, due, stamp);
        if self.large {
            for (stage, ahead) in PREFETCH_DISTANCES.into_iter().enumerate() {
                if let Some(token) = self.part.agenda.ahead(ahead - 1) {
                    self.part.domain.prefetch(stage, token);
                }
            }
        }
        self.epoch.set(number);
        self.counts.handled += 1;
        let sink = Speculative {
            index: self.index,
            agenda: &mut self.part.agenda,
            past: &mut self.past,
            dead: &mut self.dead,
            doubt: &mut self.doubt,
            sent: &mut self.sent,
            outbox: &mut self.outbox,
        };
        let mut effects = Handling { key, lane, index: self.index, tie_seed: self.tie_seed, sink };
        match &due {
            Due::Wake(token) => self.part.domain.wake(*token, &mut effects),
            Due::Message(message) => self.part.domain.receive(message, &mut effects),
        }
        true
    }

    /// Takes the next event off the agenda that is not taken back already.
    fn next_valid(&mut self, bound: Ps) -> Option<(Lane, Entry)> {
        loop {
            let (lane, entry) = self.part.agenda.take_before(bound)?;
            if self.dead.is_empty() {
                return Some((lane, entry));
            }
            let dead = match self.part.agenda.stamp(&entry) {
                Some(stamp) => self.dead.take_message(stamp),
                None => self.dead.take_alarm(Alarm {
                    key: entry.key,
                    steady: lane == Lane::Steady,
                    token: entry.token,
                }),
            };
            if !dead {
                return Some((lane, entry));
            }
            // Gives the place of its payload back.
            let _ = self.part.agenda.open(entry.token);
        }
    }

    /// Cancels the messages of events before `place` that were taken back and did not come again.
    fn resolve(&mut self, place: Key) {
        let outbox = &mut self.outbox;
        self.doubt.before(place, |sent| outbox.push(Post::Cancel(cancelled(&sent))));
    }

    /// The same of all events before the next one: whoever waits for this partition need not wait for these.
    pub fn resolve_passed(&mut self) {
        let next = self.next_time();
        self.resolve(Key::floor(next));
    }

    /// Takes what another partition sent; what was handled after it is taken back first.
    pub fn take(&mut self, post: &Post<D::Message>) {
        debug_assert_eq!(post.to(), self.index, "mail comes to its receiver");
        let (lane, key) = post.place();
        let place = key.shifted(self.part.agenda.offset_of(lane));
        assert!(place.time >= self.certain, "{post:?} precedes what is committed, up to {}", self.certain);
        if self.past.last().is_some_and(|last| last.place >= place) {
            self.roll_back(place);
        }
        match post {
            Post::Message(envelope, stamp) => self.part.agenda.deliver_stamped(envelope, *stamp),
            // It is pending now, whether it was handled or not.
            Post::Cancel(cancelled) => self.dead.add_message(cancelled.stamp),
        }
    }

    /// Takes back every event at `place` and after it.
    pub fn roll_back(&mut self, place: Key) {
        let (mut alarms, mut own) = (BTreeMap::<Alarm, u32>::new(), BTreeSet::new());
        let mut undone = Vec::new();
        let (me, doubt, outbox) = (self.index, &mut self.doubt, &mut self.outbox);
        let first = self.past.cut(
            place,
            |alarm| *alarms.entry(alarm).or_default() += 1,
            |parent, sent| {
                if sent.envelope.to == me {
                    own.insert(sent.stamp);
                } else if let Some(other) = doubt.add(parent, sent) {
                    outbox.push(Post::Cancel(cancelled(&other)));
                }
            },
            |done| undone.push(done),
        );
        if undone.is_empty() {
            return;
        }
        self.counts.rollbacks += 1;
        self.counts.rolled_back += undone.len() as u64;
        // State first, agenda second: neither looks at the other, and both must be back before the next event.
        self.part.domain.visit_journals(&mut |table| table.undo_from(first));
        // An event whose cause is taken back as well is gone; the others are pending again.
        for done in undone {
            match done.due {
                Due::Wake(token) => {
                    let alarm = Alarm { key: done.key, steady: done.lane == Lane::Steady, token };
                    match alarms.get_mut(&alarm).filter(|count| **count > 0) {
                        Some(count) => *count -= 1,
                        None => self.part.agenda.wake(done.lane, done.key, token),
                    }
                }
                Due::Message(message) => {
                    if !own.remove(&done.stamp) {
                        let envelope = Envelope { to: me, lane: done.lane, key: done.key, message };
                        self.part.agenda.deliver_stamped(&envelope, done.stamp);
                    }
                }
            }
        }
        // What is left is pending, and dead.
        for (alarm, count) in alarms {
            (0..count).for_each(|_| self.dead.add_alarm(alarm));
        }
        own.into_iter().for_each(|stamp| self.dead.add_message(stamp));
    }

    /// The latest event failed: takes it back.
    pub fn fail(&mut self) {
        let place = self.past.last().map(|last| last.place);
        if let Some(place) = place {
            self.failed_at = Some(place.time);
            self.counts.failures += 1;
            self.part.domain.abandon();
            self.roll_back(place);
        }
    }

    /// Commits the events before an instant.
    pub fn commit(&mut self, time: Ps) {
        // A message that is due before would come too late: `take` refuses it.
        self.certain = time;
        let observer = &mut self.part.observer;
        let count = self.past.pass(time, |record| observer.commit(&record));
        if count > 0 {
            let first = self.past.first();
            self.part.events += count;
            self.counts.committed += count;
            self.part.domain.visit_journals(&mut |table| table.forget_before(first));
        }
        // What failed ahead of time may be tried again: its past has changed or become certain.
        self.failed_at = None;
    }

    /// True when it is further than ever by `every` events.
    pub fn stumbles(&mut self, every: u64) -> bool {
        let total = self.past.first() + self.past.len() as u64;
        let further = total >= self.furthest + every;
        if further {
            self.furthest = total;
        }
        further
    }

    /// Takes back the latest half of what is open, as if a message had come: for tests.
    pub fn stumble(&mut self) {
        if let Some(place) = self.past.middle() {
            self.roll_back(place);
        }
    }

    /// Takes back all that is not committed and cancels what it sent.
    pub fn withdraw(&mut self) {
        // What is committed has left the past, so going back to the beginning of time takes back the rest alone.
        self.roll_back(Key::floor(0));
        let outbox = &mut self.outbox;
        self.doubt.before(Key::floor(Ps::MAX), |sent| outbox.push(Post::Cancel(cancelled(&sent))));
    }

    /// Ends running ahead: nothing is open, and what is dead leaves the agenda.
    pub fn end(mut self) -> Counts {
        debug_assert!(self.past.len() == 0, "all is committed or taken back");
        let dead = &mut self.dead;
        if !dead.is_empty() {
            self.part.agenda.purge(|lane, entry, stamp| match stamp {
                Some(stamp) => dead.take_message(stamp),
                None => dead.take_alarm(Alarm {
                    key: entry.key,
                    steady: lane == Lane::Steady,
                    token: entry.token,
                }),
            });
        }
        assert!(dead.is_empty(), "something was taken back that is not there");
        self.part.agenda.finalise();
        self.part.domain.visit_journals(&mut |table| table.record(None));
        self.counts
    }
}

fn cancelled<M: Copy>(sent: &Sent<M>) -> Cancelled {
    let Envelope { to, lane, key, .. } = sent.envelope;
    Cancelled { to, lane, key, stamp: sent.stamp }
}

/// Where effects go that may be taken back.
struct Speculative<'a, D: Domain> {
    index: u32,
    agenda: &'a mut Agenda<D::Message>,
    past: &'a mut Past<D>,
    dead: &'a mut Dead,
    doubt: &'a mut Doubt<D::Message>,
    sent: &'a mut u64,
    outbox: &'a mut Vec<Post<D::Message>>,
}

impl<D: Domain> Speculative<'_, D> {
    fn stamp(&mut self) -> Stamp {
        *self.sent += 1;
        Stamp { from: self.index, number: *self.sent }
    }
}

impl<D: Domain> Sink for Speculative<'_, D> {
    type Message = D::Message;
    type Record = D::Record;

    #[inline]
    fn agenda(&self) -> &Agenda<D::Message> {
        self.agenda
    }

    #[inline]
    fn wake(&mut self, lane: Lane, key: Key, token: u32) {
        let alarm = Alarm { key, steady: lane == Lane::Steady, token };
        // The same alarm set again: the one that is pending lives on, and the agenda is not touched.
        if !self.dead.take_alarm(alarm) {
            self.agenda.wake(lane, key, token);
        }
        // After the agenda has it: what the agenda refuses was never set, and is not taken back.
        self.past.add_alarm(alarm);
    }

    fn send(&mut self, envelope: &Envelope<D::Message>, own: bool) {
        let stamp = match if own { Again::New } else { self.doubt.again(envelope) } {
            // The receiver has it. It keeps the stamp under which it was sent first, so that it can still be cancelled.
            Again::Same(stamp) => stamp,
            again => {
                if let Again::Other(sent) = again {
                    self.outbox.push(Post::Cancel(cancelled(&sent)));
                }
                let stamp = self.stamp();
                if own {
                    self.agenda.deliver_stamped(envelope, stamp);
                } else {
                    self.outbox.push(Post::Message(*envelope, stamp));
                }
                stamp
            }
        };
        self.past.add_send(Sent { envelope: *envelope, stamp });
    }

    #[inline]
    fn record(&mut self, record: D::Record) {
        self.past.add_record(record);
    }
}
